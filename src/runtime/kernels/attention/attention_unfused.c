/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_unfused.c - ctsc::attention: attention as programs write it out, softmax(scale(q k') +
 * bias, filled where hidden) v.
 *
 * The pass fuse-attention makes it from these operators. It is one kernel, or the few
 * that attention takes on a device (cuda/cuda_attention.c), if dtypes and shapes are
 * usual for attention. In 16 bits the softmax may be one of float32 whose weights are
 * converted back: the kernels keep scores as floats anyway. Repeated heads of keys and
 * values (key_sizes, value_sizes) become one more dim of the query, over which keys
 * and values broadcast. With a safe softmax it was scaled_dot_product_attention, and
 * is turned back into it. In all other cases the operators are called one after the
 * other, as the program did, with all their conversions, broadcasting and messages.
 * Tests: tests/unit/test_attention.c, tests/unit/test_cuda_dense.c, tests/ir/fuse-attention
 */
#include "runtime/kernels/attention/attention.h"

#include <math.h>

typedef struct written_attention {
    tensor *q, *transposed, *v, *bias, *hidden; /* transposed: k'; bias, hidden: may be NULL */
    value fill, scale;                          /* scale: a number or a tensor */
    /* scores are divided by scale, not multiplied; products are of three dims (bmm); weights of
     * rows whose scores are all -inf are 0 */
    bool divide, batches, safe;
    value softmax_dtype, weights_dtype; /* may be None */
} written_attention;

/* (query, transposed_key, value, bias, hidden, fill, scale, divide, batches, safe, softmax_dtype,
 * weights_dtype, key_sizes, value_sizes): with the sizes keys are still to be reshaped, and
 * transposed then, and values to be reshaped */
static written_attention written_arguments(const value *args) {
    return (written_attention){.q = arg_tensor(&args[0]),
                               .transposed = arg_tensor(&args[1]),
                               .v = arg_tensor(&args[2]),
                               .bias = arg_tensor_or_null(&args[3]),
                               .hidden = arg_tensor_or_null(&args[4]),
                               .fill = args[5],
                               .scale = args[6],
                               .divide = arg_bool(&args[7]),
                               .batches = arg_bool(&args[8]),
                               .safe = arg_bool(&args[9]),
                               .softmax_dtype = args[10],
                               .weights_dtype = args[11]};
}

/* The scale as a number, if it is one, or a tensor of no dims, which promotes no floats. */
static bool written_scale(const written_attention *w, double *scale) {
    if (w->scale.tag == V_TENSOR) {
        const tensor *t = w->scale.u.tensor;
        dtype dt = (dtype)t->dtype;
        if (t->ndim || tensor_device(t) != DEVICE_HOST || !(dtype_is_float(dt) || dtype_is_int(dt)))
            return false;
        *scale = dtype_is_float(dt) ? tensor_item_float(t) : (double)tensor_item_int(t);
        return true;
    }
    if (w->scale.tag != V_FLOAT && w->scale.tag != V_INT) return false;
    *scale = arg_float(&w->scale);
    return true;
}

/* ---- in steps -------------------------------------------------------------------------------- */

/* *x = key(*x, ...) with args after *x. */
static ctsc_status written_step(op_ctx *cx, const char *key, int nargs, value *args, value *x) {
    value result = value_none();
    args[0] = *x;
    TRY(op_call(cx, key, nargs, args, &result));
    value_set(x, result);
    return CTSC_OK;
}

static value written_tensor(tensor *t) { return (value){.tag = V_TENSOR, .u.tensor = t}; }

static ctsc_status written_in_steps(op_ctx *cx, const written_attention *w, value *x) {
    const char *product = w->batches ? "aten::bmm" : "aten::matmul";
    double scale;
    bool by_tensor = w->scale.tag == V_TENSOR,
         scaled = by_tensor || !written_scale(w, &scale) || scale != 1;
    const char *scales = by_tensor ? (w->divide ? "aten::div.Tensor" : "aten::mul.Tensor")
                                   : (w->divide ? "aten::div.Scalar" : "aten::mul.Scalar");
    TRY(op_call(cx, product, 2, (value[]){written_tensor(w->q), written_tensor(w->transposed)}, x));
    if (scaled) TRY(written_step(cx, scales, 2, (value[]){value_none(), w->scale}, x));
    if (w->bias)
        TRY(written_step(cx, "aten::add.Tensor", 3,
                         (value[]){value_none(), written_tensor(w->bias), value_int(1)}, x));
    if (w->hidden)
        TRY(written_step(cx, "aten::masked_fill.Scalar", 3,
                         (value[]){value_none(), written_tensor(w->hidden), w->fill}, x));
    TRY(written_step(cx, w->safe ? "aten::_safe_softmax" : "aten::softmax.int", 3,
                     (value[]){value_none(), value_int(-1), w->softmax_dtype}, x));
    if (w->weights_dtype.tag != V_NONE)
        TRY(written_step(cx, "aten::to.dtype", 5,
                         (value[]){value_none(), w->weights_dtype, value_bool(false),
                                   value_bool(false), value_none()},
                         x));
    return written_step(cx, product, 2, (value[]){value_none(), written_tensor(w->v)}, x);
}

/* ---- as scaled_dot_product_attention --------------------------------------------------------- */

/* Arguments that this operator refuses are left to the steps. */
static bool written_was_operator(const written_attention *w) {
    const tensor *parts[] = {w->q, w->transposed, w->v, w->bias};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i] && (parts[i]->dtype != w->q->dtype || parts[i]->ndim > w->q->ndim ||
                         tensor_device(parts[i]) != tensor_device(w->q)))
            return false;
    if (w->transposed->ndim != w->q->ndim || w->v->ndim != w->q->ndim) return false;
    double scale;
    return w->safe && !w->hidden && w->q->ndim >= 2 && dtype_is_float((dtype)w->q->dtype) &&
           written_scale(w, &scale);
}

static ctsc_status written_as_operator(op_ctx *cx, const written_attention *w, value *x) {
    tensor *k;
    double scale = 1;
    written_scale(w, &scale);
    TRY(tensor_transpose(cx->diag, w->transposed, -2, -1, &k));
    value args[] = {written_tensor(w->q),
                    written_tensor(k),
                    written_tensor(w->v),
                    w->bias ? written_tensor(w->bias) : value_none(),
                    value_float(0),
                    value_bool(false),
                    value_float(w->divide ? 1 / scale : scale),
                    value_bool(false)};
    ctsc_status st = op_call(cx, "aten::scaled_dot_product_attention", 8, args, x);
    tensor_unref(k);
    return st;
}

/* ---- as one kernel --------------------------------------------------------------------------- */

/* Can every score hold this number? */
static bool written_fill_fits(const written_attention *w) {
    double f = arg_float(&w->fill);
    return w->q->dtype != DT_FLOAT16 || isinf(f) || fabs(f) <= 65504;
}

static bool written_matrices(const written_attention *w) {
    int least = w->batches ? 3 : 2;
    return w->q->ndim >= least && w->transposed->ndim >= least && w->v->ndim >= least &&
           (!w->batches || (w->q->ndim == 3 && w->transposed->ndim == 3 && w->v->ndim == 3));
}

/* k: transposed back. Of batches no dim broadcasts. */
static bool written_shapes_fit(const written_attention *w, const tensor *k) {
    const tensor *q = w->q, *v = w->v;
    int64_t sizes[TENSOR_MAX_DIMS];
    int nb;
    if (k->sizes[k->ndim - 1] != q->sizes[q->ndim - 1] ||
        v->sizes[v->ndim - 2] != k->sizes[k->ndim - 2])
        return false;
    if (w->batches && (k->sizes[0] != q->sizes[0] || v->sizes[0] != q->sizes[0])) return false;
    return attention_sizes(NULL, q, k, v, w->bias, &nb, sizes) == CTSC_OK &&
           attention_sizes(NULL, q, k, v, w->hidden, &nb, sizes) == CTSC_OK;
}

/* Is the softmax one of the operands' dtype, or of 16 bits one of float32? */
static bool written_dtypes_fit(const written_attention *w) {
    int64_t dt = w->q->dtype, softmax = arg_int_or(&w->softmax_dtype, dt),
            weights = arg_int_or(&w->weights_dtype, softmax);
    return weights == dt && (softmax == dt || (softmax == DT_FLOAT32 && dtype_is_half((dtype)dt)));
}

static bool written_fits(const written_attention *w) {
    dtype dt = (dtype)w->q->dtype;
    double scale;
    if (w->safe || !dtype_is_float(dt) || !written_matrices(w) || !written_dtypes_fit(w))
        return false;
    if ((dtype)w->transposed->dtype != dt || (dtype)w->v->dtype != dt || !written_scale(w, &scale))
        return false;
    if (w->bias && ((dtype)w->bias->dtype != dt || w->bias->ndim < 2)) return false;
    return !w->hidden ||
           (w->hidden->dtype == DT_BOOL && w->hidden->ndim >= 2 && written_fill_fits(w));
}

/* *done: false if shapes do not fit after all. */
static ctsc_status written_as_kernel(op_ctx *cx, const written_attention *w, value *x, bool *done) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int nb;
    tensor *k, *out = NULL;
    TRY(tensor_transpose(cx->diag, w->transposed, -2, -1, &k));
    ctsc_status st = CTSC_OK;
    *done = written_shapes_fit(w, k);
    if (*done) st = attention_sizes(cx->diag, w->q, k, w->v, NULL, &nb, sizes);
    if (*done && st == CTSC_OK) {
        sizes[nb + 1] = w->v->sizes[w->v->ndim - 1];
        st = tensor_new_on(cx->diag, tensor_device(w->q), (dtype)w->q->dtype, nb + 2, sizes, &out);
    }
    if (*done && st == CTSC_OK) {
        double scale = 1;
        written_scale(w, &scale);
        attention_call call = {.q = w->q,
                               .k = k,
                               .v = w->v,
                               .mask = w->bias,
                               .hidden = w->hidden,
                               .fill = w->hidden ? arg_float(&w->fill) : 0,
                               .scale = w->divide ? 1 / scale : scale,
                               .out = out};
        st = attention_compute(cx->diag, &call);
    }
    tensor_unref(k);
    if (*done && st == CTSC_OK) *x = value_tensor_take(out);
    else tensor_unref(out);
    return st;
}

static ctsc_status written_compute(op_ctx *cx, const written_attention *w, value *x) {
    bool done = written_was_operator(w);
    ctsc_status st = done              ? written_as_operator(cx, w, x)
                     : written_fits(w) ? written_as_kernel(cx, w, x, &done)
                                       : CTSC_OK;
    return st == CTSC_OK && !done ? written_in_steps(cx, w, x) : st;
}

/* ---- repeated heads -------------------------------------------------------------------------- */

/* A mask's dims of heads and rows after the groups' one. *fits: false if it has other heads. */
static ctsc_status written_split_mask(diag *d, tensor *mask, int64_t heads, int64_t group,
                                      tensor **out, bool *fits) {
    int64_t of = mask && mask->ndim > 2 ? mask->sizes[mask->ndim - 3] : 1;
    if (mask && mask->ndim > 4) *fits = false;
    if (of != 1 && of != heads) *fits = false;
    return *fits ? attention_split(d, mask, of == 1 ? 1 : group, out) : CTSC_OK;
}

/* k, v: [b, h, s, d] that serve `group` heads of the query each. */
static ctsc_status written_in_groups(op_ctx *cx, const written_attention *w, tensor *k, tensor *v,
                                     int64_t group, value *x, bool *done) {
    diag *d = cx->diag;
    written_attention g = *w;
    tensor *wide = NULL, *result = NULL;
    const tensor *q = w->q;
    int64_t heads = q->sizes[1];
    bool fits = true;
    g.q = g.transposed = g.v = g.bias = g.hidden = NULL;
    ctsc_status st = written_split_mask(d, w->bias, heads, group, &g.bias, &fits);
    if (st == CTSC_OK) st = written_split_mask(d, w->hidden, heads, group, &g.hidden, &fits);
    if (st == CTSC_OK) st = attention_split(d, w->q, group, &g.q);
    if (st == CTSC_OK) st = tensor_unsqueeze(d, v, 2, &g.v);
    if (st == CTSC_OK) st = tensor_unsqueeze(d, k, 2, &wide);
    if (st == CTSC_OK) st = tensor_transpose(d, wide, -2, -1, &g.transposed);
    if (st == CTSC_OK && fits && written_fits(&g)) st = written_as_kernel(cx, &g, x, done);
    if (st == CTSC_OK && *done) {
        int64_t sizes[4] = {q->sizes[0], heads, q->sizes[2], v->sizes[3]};
        st = tensor_view(d, x->u.tensor, 4, sizes, &result);
        if (st == CTSC_OK) value_set(x, value_tensor_take(result));
    }
    tensor *held[] = {g.q, g.transposed, g.v, g.bias, g.hidden, wide};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) tensor_unref(held[i]);
    return st;
}

/* As the program does it. */
static ctsc_status written_reshaped(op_ctx *cx, written_attention w, const value *args, value *x) {
    value k = value_none(), v = value_none();
    ctsc_status st = op_call(cx, "aten::reshape", 2, (value[]){args[1], args[12]}, &k);
    if (st == CTSC_OK)
        st = written_step(cx, "aten::transpose.int", 3,
                          (value[]){value_none(), value_int(2), value_int(3)}, &k);
    if (st == CTSC_OK) st = op_call(cx, "aten::reshape", 2, (value[]){args[2], args[13]}, &v);
    if (st == CTSC_OK) {
        w.transposed = arg_tensor(&k), w.v = arg_tensor(&v);
        st = written_compute(cx, &w, x);
    }
    value_unref(k);
    value_unref(v);
    return st;
}

static ctsc_status written_repeated(op_ctx *cx, const written_attention *w, const value *args,
                                    value *x) {
    const tensor *q = w->q;
    tensor *k = NULL, *v = NULL;
    bool done = false;
    ctsc_status st = attention_repeated(cx->diag, w->transposed, &args[12], &k);
    if (st == CTSC_OK) st = attention_repeated(cx->diag, w->v, &args[13], &v);
    if (st == CTSC_OK && k && v && q->ndim == 4 && k->sizes[1] == v->sizes[1] &&
        q->sizes[1] == k->sizes[1] * w->transposed->sizes[2] &&
        q->sizes[1] == v->sizes[1] * w->v->sizes[2] && q->sizes[0] == k->sizes[0])
        st = written_in_groups(cx, w, k, v, w->v->sizes[2], x, &done);
    tensor_unref(k);
    tensor_unref(v);
    return st == CTSC_OK && !done ? written_reshaped(cx, *w, args, x) : st;
}

ctsc_status op_unfused_attention(op_ctx *cx, const value *args, value *results) {
    written_attention w = written_arguments(args);
    value x = value_none();
    ctsc_status st = arg_is_none(&args[12]) ? written_compute(cx, &w, &x)
                                            : written_repeated(cx, &w, args, &x);
    if (st == CTSC_OK) return op_return(results, x);
    value_unref(x);
    return st;
}
