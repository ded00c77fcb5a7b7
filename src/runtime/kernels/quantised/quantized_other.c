/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_other.c - operators on quantised tensors that are made of the ones on plain tensors.
 *
 * Two ways. Operators that only move elements run on the integers, as a tensor of uint8, int8 or
 * int32, and the result gets the quantiser (quantised_moved). Operators that compute run on the
 * real numbers in float, and the result is quantised: with the input's scale (quantised_in_float),
 * the arguments' (the normalisations), or not at all where it is bool (quantised_compared).
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

enum { OTHER_ARGS = 24 };

static bool other_is_quantised(value v) { return v.tag == V_TENSOR && v.u.tensor->quantiser; }

/* ---- on the integers ------------------------------------------------------------------------- */

static dtype other_ints(dtype dt) {
    return dt == DT_QUINT8 ? DT_UINT8 : dt == DT_QINT8 ? DT_INT8 : DT_INT32;
}

static dtype other_bytes(dtype dt) { return dt == DT_QINT32 ? DT_FLOAT32 : DT_UINT8; }

/* A view of t's elements as plain ones. */
static ctsc_status other_raw(op_ctx *cx, const tensor *t, dtype (*plain)(dtype dt), tensor **out) {
    TRY(tensor_alias(cx->diag, t, out));
    (*out)->dtype = (uint8_t)plain((dtype)t->dtype);
    tensor_set_quantiser_take(*out, NULL);
    return CTSC_OK;
}

/* Results of the integers' dtype become quantised as x is. */
static ctsc_status other_give_quantiser(op_ctx *cx, value *v, const tensor *x,
                                        dtype (*plain)(dtype dt)) {
    if (v->tag == V_LIST && v->u.list->kind == LIST_TENSOR) {
        for (size_t i = 0; i < v->u.list->len; i++) {
            value item = {.tag = V_TENSOR, .u.tensor = v->u.list->u.tensors[i]};
            TRY(other_give_quantiser(cx, &item, x, plain));
        }
        return CTSC_OK;
    }
    if (v->tag != V_TENSOR || v->u.tensor->dtype != plain((dtype)x->dtype) ||
        v->u.tensor->quantiser)
        return CTSC_OK;
    v->u.tensor->dtype = x->dtype;
    v->u.tensor->quantiser = quantiser_ref(x->quantiser);
    return CTSC_OK;
}

/* Same scale and zero point wherever several tensors are quantised. */
static ctsc_status other_one_quantiser(op_ctx *cx, int n, const value *args, const tensor **x) {
    *x = NULL;
    for (int i = 0; i < n; i++) {
        if (!other_is_quantised(args[i])) continue;
        if (!*x) *x = args[i].u.tensor;
        if ((*x)->dtype != args[i].u.tensor->dtype ||
            !quantiser_equal((*x)->quantiser, args[i].u.tensor->quantiser))
            return kernel_fail(cx, "%s: the quantized tensors have different scales or zero points",
                               cx->op->key);
    }
    return *x ? quant_need_affine(cx, *x, cx->op->key)
              : kernel_fail(cx, "%s: expected a quantized tensor", cx->op->key);
}

/* plain: the dtype that the elements are moved as */
static ctsc_status other_moved(op_ctx *cx, const value *args, dtype (*plain)(dtype dt),
                               value *results) {
    const op *o = cx->op;
    int n = o->schema->nargs;
    value raw[OTHER_ARGS];
    const tensor *x;
    ctsc_status s = CTSC_OK;
    if (n > OTHER_ARGS) return kernel_fail(cx, "%s: too many arguments", o->key);
    TRY(other_one_quantiser(cx, n, args, &x));
    for (int i = 0; i < n; i++) {
        raw[i] = value_none();
        if (!other_is_quantised(args[i])) raw[i] = value_ref(args[i]);
        else if (s == CTSC_OK) {
            tensor *t;
            s = other_raw(cx, args[i].u.tensor, plain, &t);
            if (s == CTSC_OK) raw[i] = value_tensor_take(t);
        }
    }
    if (s == CTSC_OK) s = o->fn(cx, raw, results);
    for (int i = 0; i < n; i++) value_unref(raw[i]);
    for (int i = 0; i < o->schema->nreturns && s == CTSC_OK; i++)
        s = other_give_quantiser(cx, &results[i], x, plain);
    return s;
}

OPERATOR(quantised_moved) { return other_moved(cx, args, other_ints, results); }
/* Elements are not even compared. */
OPERATOR(quantised_moved_bytes) { return other_moved(cx, args, other_bytes, results); }

/* ---- in float -------------------------------------------------------------------------------- */

/* Runs the operator (op: which one) with numbers in the place of quantised tensors. */
static ctsc_status other_in_float(op_ctx *cx, const op *o, int n, const value *args,
                                  value *results) {
    value plain[OTHER_ARGS];
    ctsc_status s = CTSC_OK;
    if (n > OTHER_ARGS || !o || !o->fn)
        return kernel_fail(cx, "%s: not supported for quantized tensors", cx->op->key);
    for (int i = 0; i < n; i++) {
        plain[i] = value_none();
        if (!other_is_quantised(args[i])) plain[i] = value_ref(args[i]);
        else if (s == CTSC_OK) {
            tensor *t;
            s = quant_dequantise(cx, args[i].u.tensor, &t);
            if (s == CTSC_OK) plain[i] = value_tensor_take(t);
        }
    }
    op_ctx inner = *cx;
    inner.op = o;
    inner.nargs = n;
    if (s == CTSC_OK) s = o->fn(&inner, plain, results);
    for (int i = 0; i < n; i++) value_unref(plain[i]);
    return s;
}

/* A float tensor in v becomes a quantised one. */
static ctsc_status other_quantise(op_ctx *cx, value *v, dtype dt, double scale, int64_t zero) {
    tensor *out;
    if (v->tag != V_TENSOR) return CTSC_OK;
    if (!(scale > 0)) return kernel_fail(cx, "%s: output scale must be positive", cx->op->key);
    TRY(quant_quantise(cx, v->u.tensor, dt, scale, zero, &out));
    value_set(v, value_tensor_take(out));
    return CTSC_OK;
}

/* PyTorch keeps channels last where it finds it. */
static ctsc_status other_order(op_ctx *cx, value *v, bool last) {
    tensor *out;
    if (!last || v->tag != V_TENSOR || v->u.tensor->ndim < 4 || v->u.tensor->ndim > 5)
        return CTSC_OK;
    TRY(quant_to_channels_last(cx, v->u.tensor, &out));
    value_set(v, value_tensor_take(out));
    return CTSC_OK;
}

static bool other_is_last(const tensor *x) {
    return quant_channels_last(x) && !tensor_is_contiguous(x);
}

OPERATOR(quantised_in_float) {
    const tensor *x = args[0].u.tensor;
    TRY(quant_need_affine(cx, x, cx->op->key));
    TRY(other_in_float(cx, cx->op, cx->op->schema->nargs, args, results));
    TRY(other_quantise(cx, &results[0], (dtype)x->dtype, x->quantiser->scale,
                       x->quantiser->zero_point));
    return other_order(cx, &results[0],
                       other_is_last(x) && results[0].tag == V_TENSOR &&
                           results[0].u.tensor->ndim == x->ndim);
}

/* pad(self, pad, mode, value), constant_pad_nd(self, pad, value): value becomes an integer */
OPERATOR(quantised_pad) {
    const tensor *x = args[0].u.tensor;
    int at = cx->op->schema->nargs - 1;
    value given[4];
    TRY(quant_need_affine(cx, x, cx->op->key));
    memcpy(given, args, (size_t)(at + 1) * sizeof *given);
    dtype dt = (dtype)x->dtype;
    bool constant = at == 2 || !strcmp(args[2].u.str->bytes, "constant");
    double number = args[at].tag == V_NONE ? 0 : arg_float(&args[at]);
    int64_t q = quant_round((float)number, 1 / (float)x->quantiser->scale, x->quantiser->zero_point,
                            dtype_qmin(dt), dtype_qmax(dt));
    if (!constant) return op_quantised_in_float(cx, args, results); /* the same numbers come back */
    given[at] = value_float((double)q);
    return other_moved(cx, given, other_ints, results);
}

OPERATOR(quantised_compared) {
    return other_in_float(cx, cx->op, cx->op->schema->nargs, args, results);
}

/* In evaluation nothing happens. */
OPERATOR(quantised_dropout) {
    if (arg_bool(&args[2]))
        return kernel_fail(cx, "%s: training with quantized tensors is not supported", cx->op->key);
    return op_return(results, value_ref(args[0]));
}

/* self.fill_(number) */
OPERATOR(quantised_fill) {
    tensor *t = args[0].u.tensor, *one, *q;
    TRY(quant_need_affine(cx, t, cx->op->key));
    double number = args[1].tag == V_TENSOR ? tensor_item_float(args[1].u.tensor)
                                            : arg_float(&args[1]);
    TRY(tensor_scalar_float(cx->diag, DT_FLOAT32, number, &one));
    ctsc_status s = quant_quantise(cx, one, (dtype)t->dtype, t->quantiser->scale,
                                   t->quantiser->zero_point, &q);
    tensor_unref(one);
    TRY(s);
    s = tensor_copy(cx->diag, t, q);
    tensor_unref(q);
    return s == CTSC_OK ? op_return_self(results, &args[0]) : s;
}

/* full_like(self, number, ...), empty_like(self, ...): the latter is zeros, so that it is
 * the same each time */
static ctsc_status other_like(op_ctx *cx, const tensor *t, const value *number,
                              const value *dtype_arg, value *results) {
    tensor *out, *one, *q;
    TRY(quant_need_affine(cx, t, cx->op->key));
    if (dtype_arg->tag == V_INT && dtype_arg->u.i != t->dtype)
        return kernel_fail(cx, "%s: a quantized tensor keeps its dtype here", cx->op->key);
    TRY(tensor_scalar_float(cx->diag, DT_FLOAT32, number ? arg_float(number) : 0, &one));
    ctsc_status s = quant_quantise(cx, one, (dtype)t->dtype, t->quantiser->scale,
                                   t->quantiser->zero_point, &q);
    tensor_unref(one);
    TRY(s);
    s = quant_new_like(cx, t, (dtype)t->dtype, t->quantiser, &out);
    if (s == CTSC_OK && (s = tensor_copy(cx->diag, out, q)) != CTSC_OK) tensor_unref(out);
    tensor_unref(q);
    return s == CTSC_OK ? op_return_tensor(results, out) : s;
}

OPERATOR(quantised_full_like) {
    return other_like(cx, args[0].u.tensor, &args[1], &args[2], results);
}
OPERATOR(quantised_empty_like) { return other_like(cx, args[0].u.tensor, NULL, &args[1], results); }

/* copy_(self, src, non_blocking): a float source is quantised */
OPERATOR(quantised_copy) {
    tensor *t = args[0].u.tensor, *src = args[1].u.tensor, *q = NULL;
    ctsc_status s = CTSC_OK;
    if (t->quantiser && !src->quantiser && src->dtype == DT_FLOAT32) {
        TRY(quant_need_affine(cx, t, cx->op->key));
        TRY(quant_quantise(cx, src, (dtype)t->dtype, t->quantiser->scale, t->quantiser->zero_point,
                           &q));
    }
    s = tensor_copy(cx->diag, t, q ? q : src);
    tensor_unref(q);
    return s == CTSC_OK ? op_return_self(results, &args[0]) : s;
}

/* contiguous(self, memory_format), clone(self, memory_format): 2 and 3 are channels last */
static ctsc_status other_ordered(op_ctx *cx, tensor *t, const value *format, bool copy,
                                 value *results) {
    int64_t order = arg_int_or(format, copy ? 1 : 0);
    bool last = order >= 2 ? t->ndim == order + 2
                           : order == 1 && quant_channels_last(t) && !tensor_is_contiguous(t);
    tensor *out;
    if (order >= 2 && !last)
        return kernel_fail(cx, "required rank %lld tensor to use channels_last format",
                           (long long)order + 2);
    if (!copy)
        TRY(last ? quant_to_channels_last(cx, t, &out) : tensor_contiguous(cx->diag, t, &out));
    else if (!last) TRY(tensor_clone(cx->diag, t, &out));
    else {
        TRY(tensor_new_quantised(cx->diag, (dtype)t->dtype, t->ndim, t->sizes, t->quantiser, &out));
        quant_last_strides(t->ndim, t->sizes, out->strides);
        TRY(tensor_copy(cx->diag, out, t));
    }
    return op_return_tensor(results, out);
}

OPERATOR(quantised_contiguous) {
    return other_ordered(cx, args[0].u.tensor, &args[1], false, results);
}
OPERATOR(quantised_clone) { return other_ordered(cx, args[0].u.tensor, &args[1], true, results); }

/* to(...): to the dtype it has, in another order perhaps */
OPERATOR(quantised_to) {
    const schema *s = cx->op->schema;
    tensor *t = args[0].u.tensor;
    const value *format = NULL, *copy = NULL;
    for (int i = 1; i < s->nargs; i++) {
        if (!strcmp(s->args[i].name, "memory_format")) format = &args[i];
        if (!strcmp(s->args[i].name, "copy")) copy = &args[i];
        if (!strcmp(s->args[i].name, "dtype") && args[i].tag == V_INT && args[i].u.i != t->dtype)
            return kernel_fail(
                cx, "Creation of quantized tensor requires quantized dtype like torch.quint8");
        if (!strcmp(s->args[i].name, "other") && args[i].tag == V_TENSOR &&
            args[i].u.tensor->dtype != t->dtype)
            return kernel_fail(
                cx, "Creation of quantized tensor requires quantized dtype like torch.quint8");
    }
    bool copied = copy && copy->tag == V_BOOL && copy->u.b,
         reordered = format && format->tag == V_INT && format->u.i != 1;
    if (copied) return other_ordered(cx, t, format ? format : &(value){0}, true, results);
    if (reordered) return other_ordered(cx, t, format, false, results);
    return op_return(results, value_ref(args[0]));
}

/* ---- normalisations -------------------------------------------------------------------------- */

/* Runs the named operator in float; scale and zero point of the result are the
 * two last arguments. */
static ctsc_status other_scaled(op_ctx *cx, const char *key, int n, const value *args,
                                const value *params, bool relu, value *results) {
    const tensor *x = args[0].u.tensor;
    value made[3] = {0};
    TRY(quant_need_affine(cx, x, cx->op->key));
    const op *o = op_find(key);
    ctsc_status s = other_in_float(cx, o, n, args, made);
    int64_t zero = arg_int(&params[1]);
    if (s == CTSC_OK && relu) { /* before rounding or after it is the same */
        float *p = TENSOR_AT(made[0].u.tensor, float);
        if (!tensor_is_contiguous(made[0].u.tensor))
            s = kernel_fail(cx, "%s: unexpected result", cx->op->key);
        for (int64_t i = 0; s == CTSC_OK && i < made[0].u.tensor->numel; i++)
            p[i] = p[i] > 0 ? p[i] : 0;
    }
    if (s == CTSC_OK)
        s = other_quantise(cx, &made[0], (dtype)x->dtype, arg_float(&params[0]), zero);
    bool spread = !strcmp(key, "aten::batch_norm"),
         kept = !strcmp(key, "aten::group_norm"); /* channels last in any case; as x */
    if (s == CTSC_OK) s = other_order(cx, &made[0], spread || (kept && other_is_last(x)));
    if (s == CTSC_OK) results[0] = value_ref(made[0]);
    for (int i = 0; i < 3; i++) value_unref(made[i]);
    return s;
}

/* batch_norm(qx, weight, bias, mean, var, eps, scale, zero_point) */
static ctsc_status other_batch_norm(op_ctx *cx, const value *args, int dims, bool relu,
                                    value *results) {
    const tensor *x = args[0].u.tensor;
    if (dims && x->ndim != dims + 2 && !(dims == 1 && x->ndim == 2))
        return kernel_fail(cx, "Expecting the input tensor of rank %d.", dims + 2);
    value plain[] = {args[0],           args[1],          args[2], args[3],          args[4],
                     value_bool(false), value_float(0.1), args[5], value_bool(false)};
    return other_scaled(cx, "aten::batch_norm", 9, plain, args + 6, relu, results);
}

OPERATOR(quantized_batch_norm) { return other_batch_norm(cx, args, 0, false, results); }
OPERATOR(quantized_batch_norm_relu) { return other_batch_norm(cx, args, 0, true, results); }
OPERATOR(quantized_batch_norm1d) { return other_batch_norm(cx, args, 1, false, results); }
OPERATOR(quantized_batch_norm1d_relu) { return other_batch_norm(cx, args, 1, true, results); }
OPERATOR(quantized_batch_norm2d) { return other_batch_norm(cx, args, 2, false, results); }
OPERATOR(quantized_batch_norm2d_relu) { return other_batch_norm(cx, args, 2, true, results); }
OPERATOR(quantized_batch_norm3d) { return other_batch_norm(cx, args, 3, false, results); }
OPERATOR(quantized_batch_norm3d_relu) { return other_batch_norm(cx, args, 3, true, results); }

/* layer_norm(input, normalized_shape, weight, bias, eps, scale, zero_point) */
OPERATOR(quantized_layer_norm) {
    value plain[] = {args[0], args[1], args[2], args[3], args[4], value_bool(false)};
    return other_scaled(cx, "aten::layer_norm", 6, plain, args + 5, false, results);
}

/* group_norm(input, num_groups, weight, bias, eps, scale, zero_point) */
OPERATOR(quantized_group_norm) {
    value plain[] = {args[0], args[1], args[2], args[3], args[4], value_bool(false)};
    return other_scaled(cx, "aten::group_norm", 6, plain, args + 5, false, results);
}

/* instance_norm(input, weight, bias, eps, scale, zero_point): a group for each channel */
OPERATOR(quantized_instance_norm) {
    const tensor *x = args[0].u.tensor;
    if (x->ndim < 2)
        return kernel_fail(cx, "Expected normalized_shape to be at least 2-dimensional");
    value plain[] = {args[0], value_int(x->sizes[1]), args[1], args[2], args[3], value_bool(false)};
    return other_scaled(cx, "aten::group_norm", 6, plain, args + 4, false, results);
}

/* softmax(qx, dim, scale, zero_point) */
OPERATOR(quantized_softmax) {
    value plain[] = {args[0], args[1], value_none()};
    return other_scaled(cx, "aten::softmax.int", 3, plain, args + 2, false, results);
}

/* prelu(qx, weight, scale, zero_point) */
OPERATOR(quantized_prelu) {
    return other_scaled(cx, "aten::prelu", 2, args, args + 2, false, results);
}

/* matmul(qa, qb, scale, zero_point) */
OPERATOR(quantized_matmul) {
    TRY(quant_need_affine(cx, args[1].u.tensor, cx->op->key));
    return other_scaled(cx, "aten::matmul", 2, args, args + 2, false, results);
}
