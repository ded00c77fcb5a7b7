/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise_dynamic.c - products of integers whose scale the numbers chose, with constant weights
 * (quantise.h).
 *
 *     %q, %s, %z = ctsc::onnx_dynamic_quantize(%x)
 *     %i : Tensor = ctsc::onnx_matmul_integer(%q, %w, %z, %zw)
 *     %f : Tensor = aten::to(%i, %float32, ...)                 ->  %by = aten::mul(%s, %sw)
 *     %by : Tensor = aten::mul(%s, %sw)                             %o = ctsc::integer_linear(%q, %packed, %z, %by, %b)
 *     %y : Tensor = aten::mul(%f, %by)
 *     %o : Tensor = aten::add(%y, %b)
 *
 * Likewise ctsc::onnx_conv_integer, whose scales and biases are along the channels
 * of images. aten::_int_mm, which torchao writes, is a product without zero
 * points. Without what follows, the product alone: sums of 32 bits. The weight is
 * packed while compiling; its zero points, one or per column, become a part of it.
 */
#include "passes/quantise/quantise.h"

/* One reader of n's result, in its block; NULL: others, or none. */
static node *dynamic_reader(const node *n) {
    const ir_value *v = n->outputs.data[0];
    node *by = v->uses.len == 1 ? v->uses.data[0].user : NULL;
    return by && by->kind == N_OP && by->op && by->owner == n->owner && by->outputs.len == 1 ? by
                                                                                             : NULL;
}

/* Required sums: this many columns, along the last dim but `behind`. */
typedef struct dynamic_sums { int64_t columns; int behind; } dynamic_sums;

/* A constant vector of floats along the columns, or, one, a single float of any shape. */
static bool dynamic_is_vector(const ir_value *v, dynamic_sums s, bool one) {
    value c = quantise_constant(v);
    const tensor *t = c.tag == V_TENSOR ? c.u.tensor : NULL;
    bool is = t && t->dtype == DT_FLOAT32 && tensor_is_contiguous(t) &&
              ((t->ndim > s.behind && t->numel == s.columns &&
                t->sizes[t->ndim - 1 - s.behind] == s.columns && (s.behind || t->ndim == 1)) ||
               (one && t->numel == 1 && t->ndim <= 1));
    value_unref(c);
    return is;
}

/* The scale that a dynamic quantisation chose: one number. */
static bool dynamic_is_chosen(const ir_value *v) {
    return v->def && v->index == 1 && node_is_overload(v->def, SYM_CTSC_ONNX_DYNAMIC_QUANTIZE);
}

/* One float, or one for each column: a scale that was chosen, times constants. */
static bool dynamic_is_scale(const ir_value *v, dynamic_sums n) {
    const node *d = v->def;
    value number;
    if (dynamic_is_chosen(v) || dynamic_is_vector(v, n, true)) return true;
    if (d && node_is_overload(d, SYM_MUL_SCALAR)) /* a tensor without dims was one */
        return dynamic_is_chosen(d->inputs.data[0]) &&
               ir_value_constant(d->inputs.data[1], &number) && number.tag == V_FLOAT;
    if (!d || !node_is_overload(d, SYM_MUL_TENSOR)) return false;
    return (dynamic_is_chosen(d->inputs.data[0]) &&
            dynamic_is_vector(d->inputs.data[1], n, true)) ||
           (dynamic_is_chosen(d->inputs.data[1]) && dynamic_is_vector(d->inputs.data[0], n, true));
}

/* To float32 without a copy that somebody asks for. */
static bool dynamic_is_cast(const node *n) {
    int64_t dt;
    return (node_is_overload(n, SYM_TO_DTYPE) || node_is_overload(n, SYM_TO_PRIM_DTYPE)) &&
           known_int(n->inputs.data[1], &dt) && dt == DT_FLOAT32;
}

typedef struct dynamic_end {
    node *last;             /* whose result it is */
    ir_value *scale, *bias; /* NULL: none */
} dynamic_end;

static dynamic_end dynamic_find_end(node *n, dynamic_sums columns) {
    dynamic_end e = {.last = n};
    node *cast = dynamic_reader(n),
         *mul = cast && dynamic_is_cast(cast) ? dynamic_reader(cast) : NULL;
    if (!mul || !node_is_overload(mul, SYM_MUL_TENSOR)) return e;
    int i = mul->inputs.data[0] == cast->outputs.data[0];
    if (!dynamic_is_scale(mul->inputs.data[i], columns)) return e;
    e.last = mul;
    e.scale = mul->inputs.data[i];
    node *add = dynamic_reader(mul);
    if (!add || !node_is_overload(add, SYM_ADD_TENSOR) || !known_number_is(add->inputs.data[2], 1))
        return e;
    i = add->inputs.data[0] == mul->outputs.data[0];
    if (!dynamic_is_vector(add->inputs.data[i], columns, false)) return e;
    e.last = add;
    e.bias = add->inputs.data[i];
    return e;
}

/* The weight's integers, whose columns are along `axis`, and their zero points as dequantised by
 * 1. */
static bool dynamic_weight(const node *n, int axis, quantise_form *f, value *ints, value *zeros) {
    *f = (quantise_form){.x = n->inputs.data[1], .scale_number = 1, .axis = axis};
    bool zero = n->inputs.len > 3;
    *ints = quantise_constant(n->inputs.data[1]);
    *zeros = zero ? quantise_constant(n->inputs.data[3]) : value_none();
    const tensor *w = ints->tag == V_TENSOR ? ints->u.tensor : NULL;
    if (!w || w->ndim <= axis || !w->numel || (w->dtype != DT_INT8 && w->dtype != DT_UINT8))
        return false;
    f->dt = (dtype)w->dtype;
    if (!zero || known_is_none(n->inputs.data[3])) return true;
    f->zero = zeros->tag == V_TENSOR ? zeros->u.tensor : NULL;
    return f->zero && f->zero->dtype == w->dtype && tensor_is_contiguous(f->zero) &&
           (f->zero->numel == 1 || (f->zero->ndim == 1 && f->zero->numel == w->sizes[axis]));
}

bool quantise_dynamic(node *n) {
    bool conv = node_is_overload(n, SYM_CTSC_ONNX_CONV_INTEGER);
    int axis = conv ? 0 : 1;
    quantise_form f;
    dynamic_sums columns = {0};
    value ints, zeros, packed = value_none();
    if (dynamic_weight(n, axis, &f, &ints, &zeros)) {
        tensor *w = ints.u.tensor;
        columns = (dynamic_sums){w->sizes[axis], conv ? w->ndim - 2 : 0};
        packed = conv ? quantise_pack_conv(n, &f, w) : quantise_pack_matrix(&f, w);
    }
    value_unref(ints);
    value_unref(zeros);
    if (packed.tag != V_OBJECT) return value_unref(packed), false;
    dynamic_end e = dynamic_find_end(n, columns);
    ir_value *args[] = {n->inputs.data[0], graph_constant_before_take(e.last, packed, NULL),
                        n->inputs.len > 2 ? n->inputs.data[2] : rewrite_none(e.last),
                        e.scale ? e.scale : rewrite_none(e.last),
                        e.bias ? e.bias : rewrite_none(e.last)};
    if (!args[1]) return false;
    ir_value *y = rewrite_op(
        e.last, conv ? op_find("ctsc::integer_conv") : op_of(SYM_CTSC_INTEGER_LINEAR), 5, args);
    if (y) rewrite_result(e.last, y);
    return y != NULL;
}
