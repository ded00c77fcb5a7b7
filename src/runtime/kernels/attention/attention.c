/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.c - the attention operators of layers: multi-head, and the encoder layer made of it.
 *
 * They prepare views of the heads, so that attention_core.c reads the projections in place and
 * writes its result in the layout that the next product needs. Tests: tests/unit/test_attention.c
 */
#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/nested.h"

#include <math.h>

/* ---- multi-head ------------------------------------------------------------------------------ */

typedef struct mha_call {
    tensor *query, *key, *value;
    int64_t dim, heads;
    tensor *qkv_weight, *qkv_bias, *proj_weight, *proj_bias, *mask;
    int64_t mask_type; /* -1: none given */
    bool need_weights, average;
} mha_call;

static ctsc_status mha_check(op_ctx *cx, const mha_call *c) {
    diag *d = cx->diag;
    const tensor *q = c->query, *k = c->key, *v = c->value;
    if (q->ndim != 3)
        return diag_fail(d, CTSC_FAILED, "expected 3-D `query`, got %d-D tensor", q->ndim);
    if (c->dim != q->sizes[2])
        return diag_fail(d, CTSC_FAILED,
                         "passed-in embed_dim %lld didn't match last dim of query %lld",
                         (long long)c->dim, (long long)q->sizes[2]);
    if (k->ndim != 3)
        return diag_fail(d, CTSC_FAILED, "expected 3-D `key`, got %d-D tensor", k->ndim);
    if (v->ndim != 3)
        return diag_fail(d, CTSC_FAILED, "expected 3-D `value`, got %d-D tensor", v->ndim);
    if (k->sizes[0] != q->sizes[0] || v->sizes[0] != q->sizes[0] || k->sizes[1] != v->sizes[1] ||
        k->sizes[2] != c->dim || v->sizes[2] != c->dim)
        return diag_fail(d, CTSC_FAILED, "expected `key`/`value` shapes to match `query`");
    if (c->qkv_weight->ndim != 2)
        return diag_fail(d, CTSC_FAILED, "expected 2-D `qkv_weight`, got %d-D tensor",
                         c->qkv_weight->ndim);
    if (c->dim * 3 != c->qkv_weight->sizes[0])
        return diag_fail(d, CTSC_FAILED,
                         "expected `qkv_weight` first dim to be 3x embed_dim, got %lld",
                         (long long)c->qkv_weight->sizes[0]);
    if (c->dim != c->qkv_weight->sizes[1])
        return diag_fail(d, CTSC_FAILED, "expected `qkv_weight` second dim to be embed_Dim");
    if (c->qkv_bias->ndim != 1)
        return diag_fail(d, CTSC_FAILED, "expected 1-D `qkv_bias`, got %d-D tensor",
                         c->qkv_bias->ndim);
    if (c->qkv_bias->sizes[0] != 3 * c->dim)
        return diag_fail(d, CTSC_FAILED,
                         "expected `qkv_bias` first dim and first dim of query to be equal");
    if (c->heads <= 0 || c->dim % c->heads != 0)
        return diag_fail(d, CTSC_FAILED, "`embed_dim` must divide evenly by `num_heads`");
    if (!dtype_is_float((dtype)q->dtype))
        return op_refuse_dtype(cx, "addmm_impl_cpu_", (dtype)q->dtype);
    if (c->mask && c->mask_type < 0)
        return diag_fail(d, CTSC_FAILED, "Mask Type should be defined");
    return CTSC_OK;
}

/* The mask as [1, 1, L, S], [B, 1, 1, S] or [B, H, L, S]: of the host true where scores are hidden,
 * else to be added. */
static ctsc_status mha_mask(op_ctx *cx, const mha_call *c, dtype work, tensor **out) {
    diag *d = cx->diag;
    int64_t b = c->query->sizes[0], l = c->query->sizes[1], s = c->key->sizes[1];
    const int64_t wanted[3][4] = {{1, 1, l, s}, {b, 1, 1, s}, {b, c->heads, l, s}};
    const int64_t *sizes = wanted[c->mask_type > 1 ? 2 : c->mask_type];
    tensor *mask = c->mask, *flags, *add = NULL;
    int64_t numel = sizes[0] * sizes[1] * sizes[2] * sizes[3];
    if (mask->ndim != (c->mask_type > 1 ? 4 : 2) || mask->numel != numel)
        return diag_fail(d, CTSC_FAILED, "Mask shape should match input shape");
    TRY(tensor_to_dtype(d, mask, DT_BOOL, &flags));
    ctsc_status st = CTSC_OK;
    if (tensor_device(flags) != DEVICE_HOST) st = attention_additive(cx, flags, true, work, &add);
    if (st == CTSC_OK) st = tensor_view(d, add ? add : flags, 4, sizes, out);
    tensor_unref(flags);
    tensor_unref(add);
    return st;
}

/* Rows [first, first + n) of weight and bias applied to x, as [B, H, T, dim / H] per third. */
static ctsc_status mha_project(op_ctx *cx, const mha_call *c, tensor *x, int64_t first, int64_t n,
                               dtype work, tensor **out) {
    diag *d = cx->diag;
    tensor *w = NULL, *b = NULL;
    ctsc_status st = tensor_slice(d, c->qkv_weight, 0, first, first + n, 1, &w);
    if (st == CTSC_OK) st = tensor_slice(d, c->qkv_bias, 0, first, first + n, 1, &b);
    if (st == CTSC_OK) st = matmul_linear(cx, x, w, b, out);
    if (st == CTSC_OK) {
        st = attention_convert(d, out, work);
        if (st != CTSC_OK) tensor_unref(*out), *out = NULL;
    }
    tensor_unref(w);
    tensor_unref(b);
    return st;
}

/* The part-th of the projections side by side in t [B, T, parts * dim], seen as [B, H, T, dim / H].
 */
static ctsc_status mha_heads(diag *d, const mha_call *c, const tensor *t, int64_t part,
                             tensor **out) {
    int64_t width = c->dim / c->heads, row = t->sizes[2];
    int64_t sizes[4] = {t->sizes[0], c->heads, t->sizes[1], width};
    int64_t strides[4] = {t->sizes[1] * row, width, row, 1};
    return tensor_view_raw(d, t, 4, sizes, strides, t->offset + part * c->dim, out);
}

static bool mha_same(const tensor *a, const tensor *b) {
    if (a == b) return true;
    if (tensor_data(a) != tensor_data(b) || a->dtype != b->dtype || !tensor_same_shape(a, b))
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->strides[i] != b->strides[i]) return false;
    return true;
}

static ctsc_status mha_qkv(op_ctx *cx, const mha_call *c, dtype work, tensor **heads) {
    diag *d = cx->diag;
    tensor *const inputs[3] = {c->query, c->key, c->value};
    ctsc_status st = CTSC_OK;
    if (mha_same(c->query, c->key) && mha_same(c->key, c->value)) {
        tensor *all;
        TRY(mha_project(cx, c, c->query, 0, 3 * c->dim, work, &all));
        for (int i = 0; st == CTSC_OK && i < 3; i++) st = mha_heads(d, c, all, i, &heads[i]);
        tensor_unref(all);
        return st;
    }
    for (int i = 0; st == CTSC_OK && i < 3; i++) {
        tensor *one;
        TRY(mha_project(cx, c, inputs[i], i * c->dim, c->dim, work, &one));
        st = mha_heads(d, c, one, 0, &heads[i]);
        tensor_unref(one);
    }
    return st;
}

/* weights [B, H, L, S] to their mean over the heads, in place of *weights. */
static ctsc_status mha_average(op_ctx *cx, tensor **weights) {
    list *dims = list_new(LIST_INT, NULL, 1);
    if (!dims || !list_append_take(dims, value_int(1))) {
        if (dims) value_unref(value_list_take(dims));
        return diag_no_memory(cx->diag);
    }
    value args[2] = {value_tensor_take(*weights), value_list_take(dims)}, mean = value_none();
    ctsc_status st = op_call(cx, "aten::mean.dim", 2, args, &mean);
    value_unref(args[1]);
    if (st != CTSC_OK) return st;
    tensor_unref(*weights);
    *weights = mean.u.tensor;
    return CTSC_OK;
}

static ctsc_status mha_compute(op_ctx *cx, const mha_call *c, tensor **out, tensor **weights) {
    diag *d = cx->diag;
    dtype dt = (dtype)c->query->dtype, work = attention_work(c->query, c->need_weights);
    int device = tensor_device(c->query);
    int64_t b = c->query->sizes[0], l = c->query->sizes[1], s = c->key->sizes[1];
    int64_t sizes[3] = {b, l, c->dim}, square[4] = {b, c->heads, l, s};
    tensor *heads[3] = {NULL}, *mask = NULL, *joined = NULL, *view = NULL, *w = NULL,
           *result = NULL;
    ctsc_status st = mha_qkv(cx, c, work, heads);
    if (st == CTSC_OK && c->mask) st = mha_mask(cx, c, work, &mask);
    if (st == CTSC_OK) st = tensor_new_on(d, device, work, 3, sizes, &joined);
    if (st == CTSC_OK) st = mha_heads(d, c, joined, 0, &view);
    if (st == CTSC_OK && c->need_weights) st = tensor_new_on(d, device, work, 4, square, &w);
    if (st == CTSC_OK) {
        double scale = 1 / sqrt((double)(c->dim / c->heads));
        bool hides = mask && mask->dtype == DT_BOOL;
        attention_call call = {.q = heads[0],
                               .k = heads[1],
                               .v = heads[2],
                               .mask = hides ? NULL : mask,
                               .hidden = hides ? mask : NULL,
                               .fill = -INFINITY,
                               .scale = scale,
                               .out = view,
                               .weights = w};
        st = attention_compute(d, &call);
    }
    if (st == CTSC_OK) st = attention_convert(d, &joined, dt);
    if (st == CTSC_OK) st = matmul_linear(cx, joined, c->proj_weight, c->proj_bias, &result);
    if (st == CTSC_OK && w) st = attention_convert(d, &w, dt);
    if (st == CTSC_OK && w && c->average) st = mha_average(cx, &w);
    for (int i = 0; i < 3; i++) tensor_unref(heads[i]);
    tensor_unref(mask);
    tensor_unref(view);
    tensor_unref(joined);
    if (st != CTSC_OK) {
        tensor_unref(w);
        tensor_unref(result);
        return st;
    }
    *out = result;
    *weights = w;
    return CTSC_OK;
}

/* (query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
 * need_weights, average_attn_weights, mask_type) */
ctsc_status op_native_multi_head_attention(op_ctx *cx, const value *args, value *results) {
    mha_call c = {arg_tensor(&args[0]),      arg_tensor(&args[1]),
                  arg_tensor(&args[2]),      arg_int(&args[3]),
                  arg_int(&args[4]),         arg_tensor(&args[5]),
                  arg_tensor(&args[6]),      arg_tensor(&args[7]),
                  arg_tensor(&args[8]),      arg_tensor_or_null(&args[9]),
                  arg_int_or(&args[12], -1), arg_bool(&args[10]),
                  arg_bool(&args[11])};
    tensor *out, *weights;
    TRY(mha_check(cx, &c));
    TRY(mha_compute(cx, &c, &out, &weights));
    results[0] = value_tensor_take(out);
    if (weights) results[1] = value_tensor_take(weights);
    return CTSC_OK;
}

/* (qkv, qkv_bias, num_heads): biased projections as heads, queries scaled */
ctsc_status op_transform_bias_rescale_qkv(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *qkv = arg_tensor(&args[0]), *bias = arg_tensor(&args[1]);
    mha_call c = {.heads = arg_int(&args[2])};
    if (qkv->ndim != 3 || bias->ndim != 1 || bias->sizes[0] != qkv->sizes[2] ||
        qkv->sizes[2] % 3 != 0 || c.heads <= 0 || qkv->sizes[2] / 3 % c.heads != 0)
        return diag_fail(d, CTSC_FAILED, "qkv and qkv_bias do not fit the number of heads");
    c.dim = qkv->sizes[2] / 3;
    value sum = value_none(), pair[2] = {args[0], args[1]};
    TRY(op_call(cx, "aten::add.Tensor", 2, pair, &sum));
    ctsc_status st = CTSC_OK;
    for (int i = 0; st == CTSC_OK && i < 3; i++) {
        tensor *view = NULL, *copy = NULL;
        st = mha_heads(d, &c, sum.u.tensor, i, &view);
        if (st == CTSC_OK) st = tensor_clone(d, view, &copy);
        tensor_unref(view);
        if (st == CTSC_OK) results[i] = value_tensor_take(copy);
    }
    if (st == CTSC_OK) {
        value scaled = value_none();
        value factors[2] = {results[0], value_float(1 / sqrt((double)(c.dim / c.heads)))};
        st = op_call(cx, "aten::mul.Scalar", 2, factors, &scaled);
        if (st == CTSC_OK) value_set(&results[0], scaled);
    }
    value_unref(sum);
    for (int i = 0; st != CTSC_OK && i < 3; i++) value_set(&results[i], value_none());
    return st;
}

/* (self, mask, dim, mask_type): softmax over what the mask does not hide */
ctsc_status op_masked_softmax(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *self = arg_tensor(&args[0]), *mask = arg_tensor(&args[1]), *wide;
    if (mask->dtype != DT_BOOL) return diag_fail(d, CTSC_FAILED, "Mask should be a boolean tensor");
    if (args[3].tag == V_NONE) return diag_fail(d, CTSC_FAILED, "Mask Type should be defined");
    int64_t type = arg_int(&args[3]);
    const int64_t *n = self->sizes;
    if (type < 2 && (self->ndim != 4 || mask->ndim != 2 || mask->sizes[1] != n[3] ||
                     mask->sizes[0] != n[type == 1 ? 0 : 2]))
        return diag_fail(d, CTSC_FAILED, "Mask shape should match input shape");
    if (type >= 2 && !tensor_same_shape(self, mask))
        return diag_fail(d, CTSC_FAILED, "Mask shape should match input shape");
    if (type == 1) {
        int64_t sizes[4] = {n[0], 1, 1, n[3]};
        TRY(tensor_reshape(d, mask, 4, sizes, &wide));
    } else {
        wide = tensor_ref(mask);
    }
    value hide[3] = {args[0], value_tensor_take(wide), value_float(-INFINITY)};
    value hidden = value_none();
    ctsc_status st = op_call(cx, "aten::masked_fill.Scalar", 3, hide, &hidden);
    tensor_unref(wide);
    if (st != CTSC_OK) return st;
    value soft[2] = {hidden, args[2].tag == V_NONE ? value_int(-1) : args[2]}, out = value_none();
    st = op_call(cx, "aten::softmax.int", 2, soft, &out);
    value_unref(hidden);
    if (st != CTSC_OK) return st;
    return op_finish(cx, args, out.u.tensor, results);
}

/* ---- encoder layer --------------------------------------------------------------------------- */

static ctsc_status encoder_norm(op_ctx *cx, value *x, int64_t dim, const value *weight,
                                const value *bias, double eps) {
    list *shape = list_new(LIST_INT, NULL, 1);
    if (!shape || !list_append_take(shape, value_int(dim))) {
        if (shape) value_unref(value_list_take(shape));
        return diag_no_memory(cx->diag);
    }
    value args[5] = {*x, value_list_take(shape), *weight, *bias, value_float(eps)};
    value out = value_none();
    ctsc_status st = op_call(cx, "aten::layer_norm", 5, args, &out);
    value_unref(args[1]);
    if (st == CTSC_OK) value_set(x, out);
    return st;
}

static ctsc_status encoder_add(op_ctx *cx, value *x, value other) {
    value args[2] = {*x, other}, out = value_none();
    TRY(op_call(cx, "aten::add.Tensor", 2, args, &out));
    value_set(x, out);
    return CTSC_OK;
}

static ctsc_status encoder_linear(op_ctx *cx, value *x, const value *weight, const value *bias) {
    tensor *t;
    TRY(matmul_linear(cx, x->u.tensor, weight->u.tensor, bias->u.tensor, &t));
    value_set(x, value_tensor_take(t));
    return CTSC_OK;
}

static ctsc_status encoder_attend(op_ctx *cx, value *x, const value *args) {
    tensor *in = x->u.tensor, *out, *weights;
    mha_call c = {in,
                  in,
                  in,
                  arg_int(&args[1]),
                  arg_int(&args[2]),
                  arg_tensor(&args[3]),
                  arg_tensor(&args[4]),
                  arg_tensor(&args[5]),
                  arg_tensor(&args[6]),
                  arg_tensor_or_null(&args[18]),
                  arg_int_or(&args[19], -1),
                  false,
                  true};
    TRY(mha_check(cx, &c));
    TRY(mha_compute(cx, &c, &out, &weights));
    value_set(x, value_tensor_take(out));
    return CTSC_OK;
}

/* *x: the input, then the result; *kept: room for the input of the feed-forward part */
static ctsc_status encoder_layer(op_ctx *cx, const value *args, value *x, value *kept) {
    int64_t dim = arg_int(&args[1]);
    bool gelu = arg_bool(&args[7]), first = arg_bool(&args[8]);
    double eps = arg_float(&args[9]);
    if (first) TRY(encoder_norm(cx, x, dim, &args[10], &args[11], eps));
    TRY(encoder_attend(cx, x, args));
    TRY(encoder_add(cx, x, args[0]));
    if (!first) TRY(encoder_norm(cx, x, dim, &args[10], &args[11], eps));
    *kept = value_ref(*x);
    if (first) TRY(encoder_norm(cx, x, dim, &args[12], &args[13], eps));
    TRY(encoder_linear(cx, x, &args[14], &args[15]));
    value act = value_none();
    TRY(op_call(cx, gelu ? "aten::gelu" : "aten::relu", 1, x, &act));
    value_set(x, act);
    TRY(encoder_linear(cx, x, &args[16], &args[17]));
    TRY(encoder_add(cx, x, *kept));
    if (!first) TRY(encoder_norm(cx, x, dim, &args[12], &args[13], eps));
    return CTSC_OK;
}

/* A nested batch: computed with its padding, which attention does not see. */
static ctsc_status encoder_layer_nested(op_ctx *cx, const value *args, value *x, value *kept) {
    tensor *padding, *out;
    value with_mask[20];
    if (!arg_is_none(&args[18]))
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "a mask for a nested tensor is not supported");
    memcpy(with_mask, args, sizeof with_mask);
    TRY(nested_padding(cx->diag, args[0].u.tensor, &padding));
    with_mask[18] = value_tensor_take(padding);
    with_mask[19] = value_int(1);
    ctsc_status st = encoder_layer(cx, with_mask, x, kept);
    tensor_unref(padding);
    if (st != CTSC_OK) return st;
    TRY(nested_new(cx->diag, x->u.tensor, nested_lengths(args[0].u.tensor), &out));
    value_set(x, value_tensor_take(out));
    return CTSC_OK;
}

/* (src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
 * eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
 * ffn_weight_2, ffn_bias_2, mask, mask_type) */
ctsc_status op_transformer_encoder_layer_fwd(op_ctx *cx, const value *args, value *results) {
    value x = value_ref(args[0]), kept = value_none();
    bool nested = nested_lengths(x.u.tensor) != NULL;
    ctsc_status st = nested ? encoder_layer_nested(cx, args, &x, &kept)
                            : encoder_layer(cx, args, &x, &kept);
    value_unref(kept);
    if (st != CTSC_OK) {
        value_unref(x);
        return st;
    }
    return op_finish(cx, args, x.u.tensor, results);
}
