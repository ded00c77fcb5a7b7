/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_quant.c - operators on quantised tensors, written as the
 * corresponding float operators between DequantizeLinear and QuantizeLinear.
 *
 *     %y = quantized::conv2d_relu(%x, %packed, %scale, %zero)
 *
 *     x' = DequantizeLinear(x)         w' = DequantizeLinear(int8 weights, of channels)
 *     b' = DequantizeLinear(int32 bias, of scale x's * w's)
 *     y  = QuantizeLinear(Relu(Conv(x', w', b')))
 *
 * A quantised tensor has the name of its integers (uint8, int8); scale and zero point are
 * constant, known from the example (tensor.quantiser). aten operators on quantised tensors
 * are the float ones with a DequantizeLinear before and, where their result is quantised,
 * a QuantizeLinear after: those that only move elements give the same integers that way.
 */
#include "frontend/onnx/onnx_out_internal.h"

#include "tensor/quantiser.h"

#include <math.h>
#include <stdio.h>

/* ---- what is computed here ------------------------------------------------------------------- */

static bool quant_run(onnx_out *o, const char *key, int nargs, const value *args, int nres,
                      value *res) {
    const op *op = op_find(key);
    op_fn fn = op ? op_function(op, nargs, args) : NULL;
    op_ctx cx = {.diag = o->d, .op = op, .rt = o->opt->rt, .nargs = nargs};
    (void)nres;
    return fn ? fn(&cx, args, res) == CTSC_OK : out_refuse(o, "%s is missing", key);
}

static bool quant_is(value v) {
    return v.tag == V_TENSOR && dtype_is_quantised((dtype)v.u.tensor->dtype);
}

bool out_is_quantised(const out_call *c) {
    bool is = !strncmp(c->key, "quantized::", 11) || !strncmp(c->key, "_quantized::", 12) ||
              !strncmp(c->key, "aten::quantize_per_", 19);
    for (int i = 0; i < c->nargs; i++) {
        is = is || quant_is(c->args[i]->v[0]);
        for (int k = 0; k < c->args[i]->nitems; k++)
            is = is || quant_is(c->args[i]->items[k]->v[0]);
    }
    return is;
}

static out_value *quant_constant(onnx_out *o, value v_take) { return out_constant(o, v_take); }

/* ---- the two operators ----------------------------------------------------------------------- */

static bool quant_parameters(onnx_out *o, const tensor *t, const char **scale, const char **zero) {
    const quantiser *q = t->quantiser;
    dtype dt = t->dtype == DT_QINT8 ? DT_INT8 : t->dtype == DT_QUINT8 ? DT_UINT8 : DT_INT32;
    if (t->dtype != DT_QINT8 && t->dtype != DT_QUINT8 && t->dtype != DT_QINT32)
        return out_refuse(o, "quantised tensors of %s", dtype_table[t->dtype].torch_name);
    if (quantiser_per_tensor(q)) {
        *scale = out_const(o, DT_FLOAT32, q->scale);
        *zero = out_const(o, dt, (double)q->zero_point);
        return *scale && *zero;
    }
    if (q->scheme != QSCHEME_CHANNEL_AFFINE) return out_refuse(o, "%s", qscheme_name(q->scheme));
    tensor *s = NULL, *z = NULL;
    bool ok = tensor_to_dtype(o->d, q->scales, DT_FLOAT32, &s) == CTSC_OK &&
              tensor_to_dtype(o->d, q->zero_points, dt, &z) == CTSC_OK;
    *scale = ok ? out_tensor(o, s) : NULL;
    *zero = ok ? out_tensor(o, z) : NULL;
    tensor_unref(s);
    tensor_unref(z);
    return *scale && *zero;
}

static const char *quant_node(onnx_out *o, const char *type, const char *x, const tensor *t) {
    const char *scale = NULL, *zero = NULL;
    if (!x || !quant_parameters(o, t, &scale, &zero)) return NULL;
    const char *y = OUT(o, type, x, scale, zero);
    if (!quantiser_per_tensor(t->quantiser)) out_int(o, "axis", t->quantiser->axis);
    return y;
}

/* The integers' name. */
static const char *quant_name(onnx_out *o, out_value *x) {
    value r = value_none();
    if (x->name) return out_name(o, x);
    if (!x->init) {
        if (!quant_run(o, "aten::int_repr", 1, x->v, 1, &r)) return NULL;
        const char *name = out_tensor(o, r.u.tensor);
        value_unref(r);
        x->init = name;
    }
    return x->init;
}

/* x as floats: a value of its own. */
static out_value *quant_floats(onnx_out *o, out_value *x) {
    out_value *y = out_new(o);
    if (!y) return NULL;
    for (int w = 0; w < o->worlds; w++)
        if (!quant_run(o, "aten::dequantize.self", 1, &x->v[w], 1, &y->v[w])) return NULL;
    y->name = quant_node(o, "DequantizeLinear", quant_name(o, x), x->v[0].u.tensor);
    return y->name ? y : NULL;
}

/* An argument, with floats in the place of what is quantised. */
static out_value *quant_argument(onnx_out *o, out_value *x) {
    if (quant_is(x->v[0])) return quant_floats(o, x);
    bool any = false;
    for (int i = 0; i < x->nitems; i++) any = any || quant_is(x->items[i]->v[0]);
    if (!any || x->v[0].tag != V_LIST) return x;
    out_value **items = arena_array(&o->scratch, out_value *, x->nitems + 1);
    if (!items) return out_no_memory(o), NULL;
    for (int i = 0; i < x->nitems; i++)
        if (!(items[i] = quant_argument(o, x->items[i]))) return NULL;
    return out_container(o, false, TYPE_TENSOR, (size_t)x->nitems, items);
}

/* What a result is where nothing is quantised. */
static out_value *quant_result(onnx_out *o, const out_value *x) {
    out_value *y = out_new(o);
    for (int w = 0; y && w < o->worlds; w++) {
        value v = x->v[w];
        bool items = v.tag == V_LIST && v.u.list->kind == LIST_TENSOR && v.u.list->len &&
                     dtype_is_quantised((dtype)v.u.list->u.tensors[0]->dtype);
        if (!quant_is(v) && !items) {
            y->v[w] = value_ref(v);
        } else if (!quant_run(o, items ? "aten::dequantize.tensors" : "aten::dequantize.self", 1,
                              &v, 1, &y->v[w])) {
            return NULL;
        }
    }
    return y;
}

/* x: a result as it is, y: the same as floats, with a name. */
static bool quant_set(onnx_out *o, out_value *x, out_value *y) {
    bool numbers = x->v[0].tag != V_TENSOR &&
                   (x->v[0].tag != V_LIST || x->v[0].u.list->kind != LIST_TENSOR);
    if (numbers) {
        x->name = y->name;
        x->items = y->items;
        x->nitems = y->nitems;
        x->cap = y->cap;
        return true;
    }
    if (y->items) {
        if (!(x->items = arena_array(&o->scratch, out_value *, y->nitems + 4)))
            return out_no_memory(o);
        x->cap = y->nitems + 4;
        for (x->nitems = 0; x->nitems < y->nitems; x->nitems++) {
            out_value *item = x->items[x->nitems] = out_new(o);
            if (!item) return false;
            for (int w = 0; w < o->worlds; w++)
                item->v[w] = list_get(x->v[w].u.list, (size_t)x->nitems);
            if (!quant_set(o, item, y->items[x->nitems])) return false;
        }
        return true;
    }
    x->name = !y->name || !*y->name || !quant_is(x->v[0])
                  ? y->name
                  : quant_node(o, "QuantizeLinear", y->name, x->v[0].u.tensor);
    return x->name != NULL;
}

/* A row on floats, for the results of c. */
static bool quant_row(out_call *c, const char *key, int nargs, out_value **args, bool relu) {
    onnx_out *o = c->o;
    char name[OP_KEY_LENGTH];
    size_t n = 0;
    for (const char *p = strstr(key, "::") + 2; *p && *p != '.'; p++) n++;
    n += (size_t)(strstr(key, "::") + 2 - key);
    if (n >= sizeof name) return out_refuse(o, "a name too long");
    memcpy(name, key, n);
    name[n] = '\0';
    const out_row *row = out_find_row(name);
    if (!row) return out_refuse(o, "the operator has no form in ONNX");
    out_call floats = {.o = o,
                       .key = key,
                       .nargs = nargs,
                       .nres = c->nres,
                       .args = args,
                       .res = arena_array(&o->scratch, out_value *, c->nres + 1),
                       .out_types = c->out_types};
    if (!floats.res) return out_no_memory(o);
    for (int i = 0; i < c->nres; i++)
        if (!(floats.res[i] = quant_result(o, c->res[i]))) return false;
    if (!row->fn(&floats, row->text) || out_failed(o)) return out_no_memory(o);
    if (relu && floats.res[0]->name) floats.res[0]->name = OUT(o, "Relu", floats.res[0]->name);
    for (int i = 0; i < c->nres; i++)
        if ((floats.res[i]->name || floats.res[i]->items) &&
            !quant_set(o, c->res[i], floats.res[i]))
            return false;
    return true;
}

static bool quant_zeros(const tensor *zero_points) {
    for (int64_t i = 0; i < zero_points->numel; i++)
        if (TENSOR_AT(zero_points, int64_t)[i]) return false;
    return true;
}

/* ---- layers with packed weights -------------------------------------------------------------- */

/* Integers at the scale of x times that of the weights, as engines want them. */
static out_value *quant_bias(onnx_out *o, const tensor *x, const tensor *w, const tensor *b) {
    const quantiser *xq = x->quantiser, *wq = w->quantiser;
    tensor *ints = NULL, *scales = NULL;
    int64_t n = b->numel;
    out_value *y = quant_constant(o, value_tensor_take(tensor_ref((tensor *)(uintptr_t)b)));
    if (!y || !xq || !quantiser_per_tensor(xq) ||
        (!quantiser_per_tensor(wq) && wq->scheme != QSCHEME_CHANNEL_AFFINE))
        return y;
    if (tensor_new(o->d, DT_INT32, 1, &n, &ints) != CTSC_OK ||
        tensor_new(o->d, DT_FLOAT32, 1, &n, &scales) != CTSC_OK)
        return tensor_unref(ints), NULL;
    bool fits = true;
    for (int64_t i = 0; i < n; i++) {
        double ws = quantiser_per_tensor(wq) ? wq->scale : TENSOR_AT(wq->scales, double)[i],
               q = nearbyint((double)TENSOR_AT(b, float)[i] / (xq->scale * ws));
        fits = fits && fabs(q) < 0x1p31;
        TENSOR_AT(ints, int32_t)[i] = fits ? (int32_t)q : 0;
        TENSOR_AT(scales, float)[i] = (float)(xq->scale * ws);
    }
    const char *in = fits ? out_tensor(o, ints) : NULL, *s = in ? out_tensor(o, scales) : NULL;
    tensor_unref(ints);
    tensor_unref(scales);
    if (!fits) return y;
    y->name = s ? OUT(o, "DequantizeLinear", in, s) : NULL;
    out_int(o, "axis", 0);
    return y->name ? y : NULL;
}

/* Weights (as floats) and bias of an object. unpack: the operator that gives them */
static bool quant_unpack(out_call *c, const char *unpack, out_value **w, out_value **b) {
    onnx_out *o = c->o;
    value out[2] = {value_none(), value_none()};
    if (out_is_dynamic(c->args[1]) || c->args[1]->v[0].tag != V_OBJECT)
        return out_refuse(o, "weights that are not constants");
    if (!quant_run(o, unpack, 1, &c->args[1]->v[0], 2, out)) return false;
    out_value *q = quant_constant(o, out[0]);
    if (q && !quant_is(out[0])) q = (out_refuse(o, "weights that are not quantised"), NULL);
    *w = q ? quant_floats(o, q) : NULL;
    *b = !*w ? NULL
         : out[1].tag != V_TENSOR
             ? quant_constant(o, value_none())
             : quant_bias(o, c->args[0]->v[0].u.tensor, out[0].u.tensor, out[1].u.tensor);
    value_unref(out[1]);
    return *w && *b;
}

static out_value *quant_ask(out_call *c, const char *what, int n) {
    char key[64];
    value v = value_none();
    int dims = n < 2 ? 2 : n;
    memcpy(key, "quantized::conv2d_", 19);
    key[15] = (char)('0' + dims);
    strncat(key, what, sizeof key - strlen(key) - 1);
    if (!quant_run(c->o, key, 1, &c->args[1]->v[0], 1, &v)) return NULL;
    /* those of one dim are kept as of two, the first of size 1 */
    if (n == 1 && v.tag == V_LIST && v.u.list->len == 2) {
        list *one = list_new(LIST_INT, TYPE_INT, 1);
        if (!one || !list_append_take(one, value_int(v.u.list->u.ints[1])))
            return value_unref(v), out_no_memory(c->o), NULL;
        value_unref(v);
        v = value_list_take(one);
    }
    return quant_constant(c->o, v);
}

static bool quant_conv(out_call *c, const char *name, bool relu) {
    onnx_out *o = c->o;
    bool transposed = strstr(name, "transpose") != NULL;
    int n = name[strcspn(name, "123")] - '0';
    out_value *w, *b;
    char unpack[64];
    snprintf(unpack, sizeof unpack, "quantized::conv%s%dd_unpack", transposed ? "_transpose" : "",
             n);
    if (!quant_is(c->args[0]->v[0])) return out_refuse(o, "of what is not quantised");
    if (!quant_unpack(c, unpack, &w, &b)) return false;
    out_value *args[] = {quant_floats(o, c->args[0]),
                         w,
                         b,
                         quant_ask(c, "stride", n),
                         quant_ask(c, "padding", n),
                         quant_ask(c, "dilation", n),
                         quant_constant(o, value_bool(transposed)),
                         quant_ask(c, "output_padding", n),
                         quant_ask(c, "groups", n)};
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        if (!args[i]) return false;
    return quant_row(c, "aten::convolution", 9, args, relu);
}

static bool quant_linear(out_call *c, bool relu) {
    out_value *w, *b;
    if (!quant_is(c->args[0]->v[0])) return out_refuse(c->o, "of what is not quantised");
    if (!quant_unpack(c, "quantized::linear_unpack", &w, &b)) return false;
    out_value *x = quant_floats(c->o, c->args[0]);
    return x && quant_row(c, "aten::linear", 3, (out_value *[]){x, w, b}, relu);
}

/*     q, s, z = DynamicQuantizeLinear(x)
 *     y = Cast(MatMulInteger(q, w, z)) * (s * scales of w) + bias */
static bool quant_linear_dynamic(out_call *c) {
    onnx_out *o = c->o;
    value out[2] = {value_none(), value_none()}, ints = value_none();
    tensor *w = NULL, *scales = NULL;
    const char *x = out_arg(c, 0), *q[3], *y = NULL;
    if (!x || out_is_dynamic(c->args[1]) || c->args[1]->v[0].tag != V_OBJECT)
        return out_refuse(o, "weights that are not constants");
    if (!quant_run(o, "quantized::linear_unpack", 1, &c->args[1]->v[0], 2, out)) return false;
    const quantiser *wq = quant_is(out[0]) ? out[0].u.tensor->quantiser : NULL;
    bool ok = wq && out[0].u.tensor->dtype == DT_QINT8 &&
              (quantiser_per_tensor(wq) ? wq->zero_point == 0 : quant_zeros(wq->zero_points)) &&
              quant_run(o, "aten::int_repr", 1, &out[0], 1, &ints) &&
              tensor_transpose(o->d, ints.u.tensor, 0, 1, &w) == CTSC_OK &&
              (quantiser_per_tensor(wq)
                   ? tensor_scalar_float(o->d, DT_FLOAT32, wq->scale, &scales)
                   : tensor_to_dtype(o->d, wq->scales, DT_FLOAT32, &scales)) == CTSC_OK;
    if (ok && out_nodes(o, "DynamicQuantizeLinear", 1, &x, 3, q)) {
        const char *sums = OUT(o, "MatMulInteger", q[0], out_tensor(o, w), q[2]),
                   *scale = OUT(o, "Mul", q[1], out_tensor(o, scales));
        y = OUT(o, "Mul", out_cast(o, sums, DT_INT32, DT_FLOAT32), scale);
        if (y && out[1].tag == V_TENSOR) y = OUT(o, "Add", y, out_tensor(o, out[1].u.tensor));
    } else if (!ok) {
        out_refuse(o, "weights that are not symmetric int8");
    }
    tensor_unref(w);
    tensor_unref(scales);
    value_unref(ints);
    value_unref(out[0]);
    value_unref(out[1]);
    return y && out_done(c, y);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* args: of the operator on floats, each a digit, the argument of that number, or a constant: n
 * None, f False, i 1, m 0.1, l the None of a dtype. */
static const struct quant_op { const char *name, *key, *args; } quant_ops[] = {
    {"add", "aten::add.Tensor", "01i"},
    {"add_scalar", "aten::add.Scalar", "01i"},
    {"batch_norm", "aten::batch_norm", "01234fm5f"},
    {"batch_norm1d", "aten::batch_norm", "01234fm5f"},
    {"batch_norm2d", "aten::batch_norm", "01234fm5f"},
    {"batch_norm3d", "aten::batch_norm", "01234fm5f"},
    {"cat", "aten::cat", "01"},
    {"celu", "aten::celu", "03"},
    {"clamp", "aten::clamp", "012"},
    {"elu", "aten::elu", "0345"},
    {"group_norm", "aten::group_norm", "01234f"},
    {"hardswish", "aten::hardswish", "0"},
    {"layer_norm", "aten::layer_norm", "01234f"},
    {"leaky_relu", "aten::leaky_relu", "01"},
    {"matmul", "aten::matmul", "01"},
    {"max_pool1d", "aten::max_pool1d", "012345"},
    {"max_pool2d", "aten::max_pool2d", "012345"},
    {"mul", "aten::mul.Tensor", "01"},
    {"mul_scalar", "aten::mul.Scalar", "01"},
    {"prelu", "aten::prelu", "01"},
    {"relu6", "aten::relu6", "0"},
    {"sigmoid", "aten::sigmoid", "0"},
    {"softmax", "aten::softmax.int", "01n"},
};

static bool quant_mapped(out_call *c, const struct quant_op *q, bool relu) {
    out_value *args[16];
    int n = 0;
    for (const char *p = q->args; *p; p++, n++) {
        if (*p >= '0' && *p <= '9' && *p - '0' >= c->nargs)
            return out_refuse(c->o, "argument %d is missing", *p - '0');
        args[n] = *p == 'n'   ? quant_constant(c->o, value_none())
                  : *p == 'f' ? quant_constant(c->o, value_bool(false))
                  : *p == 'i' ? quant_constant(c->o, value_int(1))
                  : *p == 'm' ? quant_constant(c->o, value_float(0.1))
                              : quant_argument(c->o, c->args[*p - '0']);
        if (!args[n]) return false;
    }
    return quant_row(c, q->key, n, args, relu);
}

static bool quant_named(out_call *c, const char *name) {
    size_t n = strcspn(name, ".");
    bool relu = n > 5 && !memcmp(name + n - 5, "_relu", 5) && strncmp(name, "leaky", 5) != 0;
    char own[64];
    if (relu) n -= 5;
    if (n >= sizeof own) return out_refuse(c->o, "a name too long");
    memcpy(own, name, n);
    own[n] = '\0';
    if (!strcmp(own, "linear")) return quant_linear(c, relu);
    if (!strcmp(own, "linear_dynamic")) return quant_linear_dynamic(c);
    if (!strncmp(own, "conv", 4) && own[n - 1] == 'd' && n < 17) return quant_conv(c, own, relu);
    /* with Scalar2 and the like scale and zero point come after: results say them */
    for (size_t i = 0; i < sizeof quant_ops / sizeof *quant_ops; i++)
        if (!strcmp(quant_ops[i].name, own)) return quant_mapped(c, &quant_ops[i], relu);
    return out_refuse(c->o, "the operator has no form in ONNX");
}

/* x as integers: QuantizeLinear, its scale and zero point being constants. */
static bool quant_make(out_call *c) {
    for (int i = 1; i < c->nargs; i++)
        if (out_is_dynamic(c->args[i]))
            return out_refuse(c->o, "a scale or zero point is not a constant");
    if (c->args[0]->v[0].tag != V_TENSOR || c->res[0]->v[0].tag != V_TENSOR)
        return out_refuse(c->o, "of a list of tensors");
    const tensor *t = c->res[0]->v[0].u.tensor;
    if (t->dtype == DT_QINT32)
        return out_refuse(c->o, "QuantizeLinear gives no integers of 32 bits");
    return out_done(c, quant_node(c->o, "QuantizeLinear", out_arg(c, 0), t));
}

bool out_quantised(out_call *c) {
    onnx_out *o = c->o;
    const char *key = c->key;
    if (!strncmp(key, "quantized::", 11)) return quant_named(c, key + 11);
    if (!strncmp(key, "_quantized::", 12)) return quant_named(c, key + 12);
    if (!strncmp(key, "aten::quantize_per_", 19)) return quant_make(c);
    if (!strncmp(key, "aten::int_repr", 14)) return out_done(c, quant_name(o, c->args[0]));
    if (!strcmp(key, "aten::dequantize.self") || !strcmp(key, "aten::dequantize.tensor")) {
        out_value *x = quant_floats(o, c->args[0]);
        return x && out_done(c, x->name);
    }
    out_value **args = arena_array(&o->scratch, out_value *, c->nargs + 1);
    if (!args) return out_no_memory(o);
    for (int i = 0; i < c->nargs; i++)
        if (!(args[i] = quant_argument(o, c->args[i]))) return false;
    return quant_row(c, key, c->nargs, args, false);
}
