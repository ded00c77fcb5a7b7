/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scaled_dot_product.c - the operators scaled_dot_product_attention.
 *
 * Heads that serve several of the query's are one more dim, over which keys and values broadcast:
 * nothing is repeated. A bool mask is passed on as it is.
 * Tests: tests/unit/test_attention.c
 */
#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/engine/wide.h"
#include "tensor/strides.h"

#include <math.h>

dtype attention_work(const tensor *q, bool weights) {
    dtype dt = (dtype)q->dtype;
    return weights && tensor_device(q) == DEVICE_HOST ? wide_dtype(dt) : dt;
}

ctsc_status attention_convert(diag *d, tensor **t, dtype dt) {
    tensor *converted;
    TRY(tensor_to_dtype(d, *t, dt, &converted));
    tensor_unref(*t);
    *t = converted;
    return CTSC_OK;
}

static ctsc_status attention_additive_on_device(op_ctx *cx, tensor *mask, bool hidden, dtype work,
                                                tensor **out) {
    value where = value_ref(value_tensor_take(mask)), filled = value_none();
    tensor *zeros = NULL;
    ctsc_status st = hidden ? CTSC_OK
                            : op_call(cx, "aten::logical_not", 1,
                                      &(value){.tag = V_TENSOR, .u.tensor = mask}, &filled);
    if (st == CTSC_OK && !hidden) value_set(&where, filled), filled = value_none();
    if (st == CTSC_OK)
        st = tensor_zeros_on(cx->diag, tensor_device(mask), work, mask->ndim, mask->sizes, &zeros);
    if (st == CTSC_OK) {
        value args[3] = {value_tensor_take(zeros), where, value_float(-INFINITY)};
        st = op_call(cx, "aten::masked_fill.Scalar", 3, args, &filled);
    }
    tensor_unref(zeros);
    value_unref(where);
    if (st == CTSC_OK) *out = filled.u.tensor;
    return st;
}

ctsc_status attention_additive(op_ctx *cx, tensor *mask, bool hidden, dtype work, tensor **out) {
    if (mask->dtype != DT_BOOL) return tensor_to_dtype(cx->diag, mask, work, out);
    return attention_additive_on_device(cx, mask, hidden, work, out);
}

/* ---- scaled dot product ---------------------------------------------------------------------- */

static ctsc_status sdpa_check(op_ctx *cx, const tensor *q, const tensor *k, const tensor *v,
                              const tensor *mask, bool causal) {
    diag *d = cx->diag;
    const char *name = "_scaled_dot_product_attention";
    if (mask && causal)
        return diag_fail(d, CTSC_FAILED,
                         "%s: Explicit attn_mask should not be set when is_causal=True", name);
    if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2)
        return diag_fail(d, CTSC_FAILED, "%s: query, key and value must be at least 2-dimensional",
                         name);
    if (!dtype_is_float((dtype)q->dtype))
        return diag_fail(d, CTSC_FAILED, "expected scalar type Float but found %s",
                         dtype_table[q->dtype].ir_name);
    if (k->dtype != q->dtype || v->dtype != q->dtype)
        return diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[q->dtype].ir_name,
                         dtype_table[k->dtype != q->dtype ? k->dtype : v->dtype].ir_name);
    long long e = q->sizes[q->ndim - 1], ke = k->sizes[k->ndim - 1], s = k->sizes[k->ndim - 2];
    if (e != ke || v->sizes[v->ndim - 2] != s)
        return diag_fail(d, CTSC_FAILED,
                         "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                         (long long)q->sizes[q->ndim - 2], e, ke, s);
    return CTSC_OK;
}

ctsc_status attention_sizes(diag *d, const tensor *q, const tensor *k, const tensor *v,
                            const tensor *mask, int *nb, int64_t *sizes) {
    int64_t two[TENSOR_MAX_DIMS], scores[TENSOR_MAX_DIMS];
    int n;
    TRY(broadcast_sizes(d, q->ndim - 2, q->sizes, k->ndim - 2, k->sizes, &n, two));
    TRY(broadcast_sizes(d, n, two, v->ndim - 2, v->sizes, nb, sizes));
    if (*nb + 2 > TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    sizes[*nb] = q->sizes[q->ndim - 2];
    sizes[*nb + 1] = k->sizes[k->ndim - 2];
    if (!mask) return CTSC_OK;
    TRY(broadcast_sizes(d, *nb + 2, sizes, mask->ndim, mask->sizes, &n, scores));
    for (int i = 0; i < n; i++)
        if (n != *nb + 2 || scores[i] != sizes[i])
            return diag_fail(d, CTSC_FAILED,
                             "output with shape of the scores doesn't match the broadcast shape");
    return CTSC_OK;
}

/* attn = dropout(weights); out = attn v */
static ctsc_status sdpa_drop(op_ctx *cx, double p, tensor *v, tensor **out, tensor **weights) {
    value args[3] = {value_tensor_take(*weights), value_float(p), value_bool(true)};
    value dropped = value_none();
    TRY(op_call(cx, "aten::dropout", 3, args, &dropped));
    tensor_unref(*weights);
    *weights = dropped.u.tensor;
    tensor *product;
    TRY(matmul_batched(cx->diag, *weights, v, &product));
    tensor_unref(*out);
    *out = product;
    return CTSC_OK;
}

/* One call, with references to its tensors. */
typedef struct sdpa_call {
    attention_call of;
    int64_t group; /* this many heads of the query share keys and values */
    double drop;
    const tensor *query; /* as it was given */
    tensor *out, *weights;
} sdpa_call;

/* Does PyTorch's kernel for the CPU take these? Not where heads broadcast, or widths differ. */
static bool sdpa_is_flash(const sdpa_call *c) {
    const tensor *q = c->of.q, *k = c->of.k, *v = c->of.v;
    if (!c->of.safe || c->drop > 0 || c->query->ndim != 4) return false;
    for (int i = 0; i < q->ndim - 2; i++)
        if (k->sizes[i] != v->sizes[i] || (k->sizes[i] != q->sizes[i] && i != 2)) return false;
    int last = q->ndim - 1;
    return v->sizes[last] == q->sizes[last] && q->strides[last] == 1 && k->strides[last] == 1 &&
           v->strides[last] == 1;
}

ctsc_status attention_split(diag *d, tensor *t, int64_t group, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    if (!t || t->ndim < 3) return *out = t ? tensor_ref(t) : NULL, CTSC_OK;
    int at = t->ndim - 3;
    if (t->ndim == TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    for (int i = 0; i < t->ndim; i++) {
        sizes[i + (i > at)] = t->sizes[i];
        strides[i + (i > at)] = t->strides[i];
    }
    sizes[at] = t->sizes[at] / group, sizes[at + 1] = group;
    strides[at] = t->strides[at] * group, strides[at + 1] = t->strides[at];
    return tensor_view_raw(d, t, t->ndim + 1, sizes, strides, t->offset, out);
}

/* The mask in two dims at least: to be added, or as what it shows. */
static ctsc_status sdpa_mask(op_ctx *cx, sdpa_call *c, tensor *mask, dtype work) {
    tensor *m, *wider;
    bool shown = mask->dtype == DT_BOOL && tensor_device(mask) == DEVICE_HOST;
    if (shown) m = tensor_ref(mask);
    else TRY(attention_additive(cx, mask, false, work, &m));
    while (m->ndim < 2) {
        ctsc_status st = tensor_unsqueeze(cx->diag, m, 0, &wider);
        tensor_unref(m);
        if (st != CTSC_OK) return st;
        m = wider;
    }
    *(shown ? &c->of.hidden : &c->of.mask) = m;
    c->of.shown = shown;
    c->of.fill = -INFINITY;
    return CTSC_OK;
}

/* Views with one more dim, if heads are grouped. */
static ctsc_status sdpa_group(diag *d, sdpa_call *c) {
    tensor **parts[] = {&c->of.q, &c->of.k, &c->of.v, &c->of.mask, &c->of.hidden};
    int64_t heads = c->group > 1 ? c->of.q->sizes[c->of.q->ndim - 3] : 0;
    for (size_t i = 0; c->group > 1 && i < sizeof parts / sizeof *parts; i++) {
        tensor *t = *parts[i], *split;
        int64_t of_t = t && t->ndim > 2 ? t->sizes[t->ndim - 3] : 1;
        bool all = i == 1 || i == 2 || of_t == 1;
        if (!all && of_t != heads)
            return diag_fail(d, CTSC_FAILED,
                             "output with shape of the scores doesn't match the broadcast shape");
        TRY(attention_split(d, t, all ? 1 : c->group, &split));
        tensor_unref(t);
        *parts[i] = split;
    }
    return CTSC_OK;
}

/* out, and weights if they are wanted. */
static ctsc_status sdpa_results(diag *d, sdpa_call *c, bool wanted) {
    int device = tensor_device(c->of.q), nb;
    dtype work = (dtype)c->of.q->dtype;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    const tensor *mask = c->of.mask ? c->of.mask : c->of.hidden;
    TRY(attention_sizes(d, c->of.q, c->of.k, c->of.v, mask, &nb, sizes));
    if (wanted) TRY(tensor_new_on(d, device, work, nb + 2, sizes, &c->weights));
    sizes[nb + 1] = c->of.v->sizes[c->of.v->ndim - 1];
    bool like = sdpa_is_flash(c);
    if (c->group > 1) { /* [..., heads / group, group, rows, width] */
        sizes[nb - 2] *= sizes[nb - 1];
        sizes[nb - 1] = sizes[nb], sizes[nb] = sizes[nb + 1];
        nb--;
    }
    if (!like || device != DEVICE_HOST)
        return tensor_new_on(d, device, work, nb + 2, sizes, &c->out);
    tensor_like_strides(c->query, strides);
    return tensor_new_strided(d, device, work, nb + 2, sizes, strides, &c->out);
}

static ctsc_status sdpa_compute(op_ctx *cx, sdpa_call *c, tensor *mask, bool attention) {
    diag *d = cx->diag;
    dtype dt = (dtype)c->of.q->dtype, work = attention_work(c->of.q, attention || c->drop > 0);
    TRY(attention_convert(d, &c->of.q, work));
    TRY(attention_convert(d, &c->of.k, work));
    TRY(attention_convert(d, &c->of.v, work));
    if (mask) TRY(sdpa_mask(cx, c, mask, work));
    TRY(sdpa_group(d, c));
    TRY(sdpa_results(d, c, attention || c->drop > 0));
    c->of.weights = c->weights;
    if (c->group > 1) TRY(attention_split(d, c->out, c->group, &c->of.out));
    else c->of.out = tensor_ref(c->out);
    TRY(attention_compute(d, &c->of));
    if (c->drop > 0) TRY(sdpa_drop(cx, c->drop, c->of.v, &c->out, &c->weights));
    TRY(attention_convert(d, &c->out, dt));
    return attention ? attention_convert(d, &c->weights, dt) : CTSC_OK;
}

/* Result and weights of softmax(q k^T scale + mask) v, both new references; attention: NULL if
 * they are not needed. call: has what no tensor is. */
static ctsc_status sdpa_run(op_ctx *cx, sdpa_call call, tensor *q, tensor *k, tensor *v,
                            tensor *mask, tensor **result, tensor **attention) {
    TRY(sdpa_check(cx, q, k, v, mask, call.of.causal));
    call.query = q;
    call.of.q = tensor_ref(q), call.of.k = tensor_ref(k), call.of.v = tensor_ref(v);
    ctsc_status st = sdpa_compute(cx, &call, mask, attention);
    tensor *held[] = {call.of.q, call.of.k, call.of.v, call.of.mask, call.of.hidden, call.of.out};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) tensor_unref(held[i]);
    if (st == CTSC_OK) *result = call.out;
    else tensor_unref(call.out);
    if (st == CTSC_OK && attention) *attention = call.weights;
    else tensor_unref(call.weights);
    return st;
}

static double sdpa_scale(const tensor *q) {
    return q->ndim ? 1 / sqrt((double)q->sizes[q->ndim - 1]) : 1;
}

/* (query, key, value, attn_mask, dropout_p, need_attn_weights, is_causal). PyTorch's CPU kernel
 * returns the weights whether they are asked for or not, and so do we. */
ctsc_status op_scaled_dot_product_attention(op_ctx *cx, const value *args, value *results) {
    tensor *q = arg_tensor(&args[0]), *out, *weights;
    sdpa_call call = {.of = {.causal = arg_bool(&args[6]), .scale = sdpa_scale(q)},
                      .group = 1,
                      .drop = arg_float(&args[4])};
    TRY(sdpa_run(cx, call, q, arg_tensor(&args[1]), arg_tensor(&args[2]),
                 arg_tensor_or_null(&args[3]), &out, &weights));
    results[0] = value_tensor_take(out);
    results[1] = value_tensor_take(weights);
    return CTSC_OK;
}

/* ---- grouped queries ------------------------------------------------------------------------- */

/* How many heads of q each of t's serves. */
static ctsc_status sdpa_heads(op_ctx *cx, const tensor *q, const tensor *t, int64_t *group) {
    int64_t heads[2];
    const tensor *both[2] = {q, t};
    for (int i = 0; i < 2; i++) {
        int dim;
        TRY(tensor_wrap_dim(cx->diag, -3, both[i]->ndim, &dim));
        heads[i] = both[i]->sizes[dim];
    }
    if (heads[1] == 0 || heads[0] % heads[1])
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "Number of heads in key and value must divide the number of heads in query");
    *group = heads[0] / heads[1];
    return CTSC_OK;
}

static ctsc_status sdpa_repeat(op_ctx *cx, value *t, int64_t group) {
    value args[] = {*t, value_int(group), value_int(-3)}, repeated = value_none();
    if (group == 1) return CTSC_OK;
    TRY(op_call(cx, "aten::repeat_interleave.self_int", 3, args, &repeated));
    value_set(t, repeated);
    return CTSC_OK;
}

/* *group: 1 where k and v, references, have to be repeated, and are now. */
static ctsc_status sdpa_grouped(op_ctx *cx, const tensor *q, value *k, value *v, bool repeat,
                                int64_t *group) {
    int64_t of_k, of_v;
    TRY(sdpa_heads(cx, q, k->u.tensor, &of_k));
    TRY(sdpa_heads(cx, q, v->u.tensor, &of_v));
    *group = 1;
    if (of_k == of_v && !repeat) return *group = of_k, CTSC_OK;
    TRY(sdpa_repeat(cx, k, of_k));
    return sdpa_repeat(cx, v, of_v);
}

/* Rows of a result on a device whose mask hides everything become 0. */
static ctsc_status sdpa_clear_hidden(op_ctx *cx, tensor *mask, tensor **out) {
    value hidden = value_none(), rows = value_none(), cleared = value_none(),
          all[3] = {value_none(), value_int(-1), value_bool(true)};
    value one[2] = {value_tensor_take(mask), value_float(-INFINITY)};
    bool flags = mask->dtype == DT_BOOL;
    ctsc_status st = op_call(cx, flags ? "aten::logical_not" : "aten::eq.Scalar", flags ? 1 : 2,
                             one, &hidden);
    all[0] = hidden;
    if (st == CTSC_OK) st = op_call(cx, "aten::all.dim", 3, all, &rows);
    value fill[3] = {value_tensor_take(*out), rows, value_int(0)};
    if (st == CTSC_OK) st = op_call(cx, "aten::masked_fill.Scalar", 3, fill, &cleared);
    value_unref(hidden);
    value_unref(rows);
    if (st != CTSC_OK) return st;
    tensor_unref(*out);
    *out = cleared.u.tensor;
    return CTSC_OK;
}

/* PyTorch 2's public form: (query, key, value, attn_mask, dropout_p, is_causal,
 * scale, enable_gqa). */
ctsc_status op_attention_of_heads(op_ctx *cx, const value *args, value *results) {
    tensor *q = arg_tensor(&args[0]), *out = NULL, *mask = arg_tensor_or_null(&args[3]);
    sdpa_call call = {.of = {.causal = arg_bool(&args[5]),
                             .scale = args[6].tag == V_NONE ? sdpa_scale(q) : arg_float(&args[6]),
                             .safe = true},
                      .group = 1,
                      .drop = arg_float(&args[4])};
    value k = value_ref(args[1]), v = value_ref(args[2]);
    bool device = tensor_device(q) != DEVICE_HOST;
    ctsc_status st = CTSC_OK;
    if (arg_bool(&args[7])) st = sdpa_grouped(cx, q, &k, &v, device || call.drop > 0, &call.group);
    if (st == CTSC_OK) st = sdpa_run(cx, call, q, arg_tensor(&k), arg_tensor(&v), mask, &out, NULL);
    if (st == CTSC_OK && mask && tensor_device(out) != DEVICE_HOST &&
        (st = sdpa_clear_hidden(cx, mask, &out)) != CTSC_OK)
        tensor_unref(out);
    value_unref(k);
    value_unref(v);
    if (st == CTSC_OK) results[0] = value_tensor_take(out);
    return st;
}

/* ---- repeated heads (fuse_attention.c) ------------------------------------------------------- */

ctsc_status attention_repeated(diag *d, const tensor *t, const value *sizes, tensor **out) {
    const int64_t *to, *n = t->sizes, *st = t->strides;
    *out = NULL;
    if (t->ndim != 5 || arg_ints(sizes, &to) != 4 || n[1] == 0 || (st[2] != 0 && n[2] != 1))
        return CTSC_OK;
    int64_t want[4] = {n[0], n[1] * n[2], n[3], n[4]};
    for (int i = 0, open = 0; i < 4; i++)
        if (to[i] != want[i] && (to[i] != -1 || open++)) return CTSC_OK;
    return tensor_view_raw(d, t, 4, (int64_t[]){n[0], n[1], n[3], n[4]},
                           (int64_t[]){st[0], st[1], st[3], st[4]}, t->offset, out);
}

/* aten::scaled_dot_product_attention(query, k, v, attn_mask, dropout_p, is_causal, scale) */
static ctsc_status grouped_call(op_ctx *cx, const value *args, value k, value v, bool grouped,
                                value *results) {
    value all[] = {args[0], k, v, args[5], args[6], args[7], args[8], value_bool(grouped)};
    return op_attention_of_heads(cx, all, results);
}

static ctsc_status grouped_reshaped(op_ctx *cx, const value *args, value *results) {
    value k = value_none(), v = value_none();
    ctsc_status st = op_call(cx, "aten::reshape", 2, (value[]){args[1], args[3]}, &k);
    if (st == CTSC_OK) st = op_call(cx, "aten::reshape", 2, (value[]){args[2], args[4]}, &v);
    if (st == CTSC_OK) st = grouped_call(cx, args, k, v, false, results);
    value_unref(k);
    value_unref(v);
    return st;
}

/* (query, key, value, key_sizes, value_sizes, attn_mask, dropout_p, is_causal, scale): attention
 * with key and value reshaped, which have expanded dims. */
ctsc_status op_grouped_attention(op_ctx *cx, const value *args, value *results) {
    const tensor *q = arg_tensor(&args[0]);
    tensor *k = NULL, *v = NULL;
    ctsc_status st = attention_repeated(cx->diag, arg_tensor(&args[1]), &args[3], &k);
    if (st == CTSC_OK) st = attention_repeated(cx->diag, arg_tensor(&args[2]), &args[4], &v);
    if (st == CTSC_OK) {
        bool fits = k && v && q->ndim == 4 && k->sizes[1] == v->sizes[1] &&
                    q->sizes[1] == k->sizes[1] * arg_tensor(&args[1])->sizes[2] &&
                    q->sizes[1] == v->sizes[1] * arg_tensor(&args[2])->sizes[2];
        st = fits
                 ? grouped_call(cx, args, value_tensor_take(k), value_tensor_take(v), true, results)
                 : grouped_reshaped(cx, args, results);
    }
    tensor_unref(k);
    tensor_unref(v);
    return st;
}
