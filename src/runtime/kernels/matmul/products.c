/* SPDX-License-Identifier: Apache-2.0 */
/*
 * products.c - products made of other products: multi_dot, kron, bilinear, cross, vecdot, matrix
 * powers. Tests: tests/unit/test_matmul.c
 */
#include "runtime/kernels/matmul/gemm.h"

/* key(a, b) where both are tensors; the result is a tensor. */
static ctsc_status products_call2(op_ctx *cx, const char *key, tensor *a, tensor *b, tensor **out) {
    value args[2] = {value_tensor_take(a), value_tensor_take(b)}, r = value_none();
    TRY(op_call(cx, key, 2, args, &r));
    *out = r.u.tensor;
    return CTSC_OK;
}

/* ---- chains ---------------------------------------------------------------------------------- */

enum { CHAIN_MAX = 128 };

/* The cheapest order: best[i][j] of the product of
 * matrices i to j splits it after matrix split[i][j]. */
typedef struct chain_plan {
    double best[CHAIN_MAX][CHAIN_MAX];
    uint8_t split[CHAIN_MAX][CHAIN_MAX];
} chain_plan;

static void chain_order(chain_plan *p, tensor *const *m, int n) {
    for (int i = 0; i < n; i++) p->best[i][i] = 0;
    for (int len = 2; len <= n; len++)
        for (int i = 0; i + len <= n; i++) {
            int j = i + len - 1;
            p->best[i][j] = -1;
            for (int k = i; k < j; k++) {
                double cost = p->best[i][k] + p->best[k + 1][j] +
                              (double)m[i]->sizes[0] * (double)m[k]->sizes[1] *
                                  (double)m[j]->sizes[1];
                if (p->best[i][j] >= 0 && cost >= p->best[i][j]) continue;
                p->best[i][j] = cost;
                p->split[i][j] = (uint8_t)k;
            }
        }
}

/* Recursion is as deep as there are matrices: at most CHAIN_MAX. */
static ctsc_status chain_multiply(diag *d, const chain_plan *p, tensor *const *m, int i, int j,
                                  tensor **out) {
    if (i == j) {
        *out = tensor_ref(m[i]);
        return CTSC_OK;
    }
    tensor *a, *b;
    int k = p->split[i][j];
    TRY(chain_multiply(d, p, m, i, k, &a));
    ctsc_status st = chain_multiply(d, p, m, k + 1, j, &b);
    if (st == CTSC_OK) {
        st = matmul_batched(d, a, b, out);
        tensor_unref(b);
    }
    tensor_unref(a);
    return st;
}

static ctsc_status chain_product(diag *d, tensor *const *m, int n, tensor **out) {
    if (n > CHAIN_MAX) return diag_fail(d, CTSC_LIMIT, "multi_dot(): too many tensors");
    chain_plan *p = mem_alloc(sizeof *p);
    if (!p) return diag_no_memory(d);
    chain_order(p, m, n);
    ctsc_status st = chain_multiply(d, p, m, 0, n - 1, out);
    mem_free(p);
    return st;
}

static ctsc_status chain_check(op_ctx *cx, tensor *const *m, int n, tensor *const *given) {
    diag *d = cx->diag;
    for (int i = 0; i < n; i++) {
        if (m[i]->ndim != 2)
            return diag_fail(d, CTSC_FAILED, "multi_dot(): tensor %d must be 2D but got %dD", i,
                             m[i]->ndim);
        if (m[i]->dtype != m[0]->dtype) {
            return diag_fail(
                d, CTSC_FAILED,
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is %s and "
                "tensor %d %s",
                dtype_table[m[0]->dtype].torch_name, i, dtype_table[m[i]->dtype].torch_name);
        }
    }
    if (!gemm_supports((dtype)m[0]->dtype))
        return op_refuse_dtype(cx, "addmm_impl_cpu_", (dtype)m[0]->dtype);
    for (int i = 0; i + 1 < n; i++)
        if (m[i]->sizes[1] != m[i + 1]->sizes[0]) {
            strbuf a = STRBUF_INIT, b = STRBUF_INIT;
            tensor_print_sizes(given[i]->ndim, given[i]->sizes, &a);
            tensor_print_sizes(given[i + 1]->ndim, given[i + 1]->sizes, &b);
            diag_fail(d, CTSC_FAILED,
                      "multi_dot(): tensors %d and %d with shapes %s and %s cannot be multiplied",
                      i, i + 1, sb_str(&a), sb_str(&b));
            sb_free(&a);
            sb_free(&b);
            return CTSC_FAILED;
        }
    return CTSC_OK;
}

/* The ends may be vectors: a row first, a column last. *first, *last: owned views of them. */
static ctsc_status chain_ends(diag *d, const list *l, tensor **first, tensor **last) {
    tensor *a = l->u.tensors[0], *b = l->u.tensors[l->len - 1];
    if (a->ndim != 1 && a->ndim != 2)
        return diag_fail(d, CTSC_FAILED,
                         "multi_dot(): the first tensor must be 1D or 2D but got %dD", a->ndim);
    if (b->ndim != 1 && b->ndim != 2)
        return diag_fail(d, CTSC_FAILED,
                         "multi_dot(): the last tensor must be 1D or 2D but got %dD", b->ndim);
    TRY(a->ndim == 1 ? tensor_unsqueeze(d, a, 0, first) : tensor_alias(d, a, first));
    return b->ndim == 1 ? tensor_unsqueeze(d, b, 1, last) : tensor_alias(d, b, last);
}

/* (tensors) */
ctsc_status op_linalg_multi_dot(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    const list *l = args[0].u.list;
    int n = (int)l->len;
    if (n < 2)
        return diag_fail(d, CTSC_FAILED, "multi_dot(): expected at least 2 tensors but got %d", n);
    if (l->len > CHAIN_MAX) return diag_fail(d, CTSC_LIMIT, "multi_dot(): too many tensors");
    tensor *m[CHAIN_MAX], *first = NULL, *last = NULL, *t = NULL;
    ctsc_status st = chain_ends(d, l, &first, &last);
    if (st == CTSC_OK) {
        for (int i = 1; i + 1 < n; i++) m[i] = l->u.tensors[i];
        m[0] = first;
        m[n - 1] = last;
        st = chain_check(cx, m, n, l->u.tensors);
    }
    if (st == CTSC_OK) st = chain_product(d, m, n, &t);
    tensor_unref(first);
    tensor_unref(last);
    if (st != CTSC_OK) return st;
    int64_t sizes[2];
    int ndim = 0;
    if (l->u.tensors[0]->ndim == 2) sizes[ndim++] = t->sizes[0];
    if (l->u.tensors[n - 1]->ndim == 2) sizes[ndim++] = t->sizes[1];
    tensor *shaped;
    st = tensor_view(d, t, ndim, sizes, &shaped);
    tensor_unref(t);
    return st == CTSC_OK ? op_finish(cx, args, shaped, results) : st;
}

ctsc_status op_chain_matmul(op_ctx *cx, const value *args, value *results) {
    const list *l = args[0].u.list;
    if (l->len == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "chain_matmul(): Expected one or more matrices");
    for (size_t i = 0; i < l->len; i++)
        if (l->u.tensors[i]->ndim != 2)
            return diag_fail(cx->diag, CTSC_FAILED, "Tensor dimension is %d, expected 2 instead.",
                             l->u.tensors[i]->ndim);
    if (l->len == 1) { /* a copy */
        tensor *t;
        TRY(tensor_clone(cx->diag, l->u.tensors[0], &t));
        return op_finish(cx, args, t, results);
    }
    return op_linalg_multi_dot(cx, args, results);
}

/* ---- kron ------------------------------------------------------------------------------------ */

/* (self, other): dim by dim, a[i] next to b[j] becomes index i * |b| + j */
ctsc_status op_kron(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *va = NULL, *vb = NULL, *p = NULL;
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    if (2 * n > TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "kron: too many dimensions");
    int64_t sa[TENSOR_MAX_DIMS], sb[TENSOR_MAX_DIMS], sizes[TENSOR_MAX_DIMS];
    for (int i = 0; i < n; i++) {
        int ia = i - (n - a->ndim), ib = i - (n - b->ndim);
        sa[2 * i] = ia < 0 ? 1 : a->sizes[ia];
        sa[2 * i + 1] = sb[2 * i] = 1;
        sb[2 * i + 1] = ib < 0 ? 1 : b->sizes[ib];
        if (__builtin_mul_overflow(sa[2 * i], sb[2 * i + 1], &sizes[i]))
            return diag_fail(d, CTSC_LIMIT, "kron: result too large");
    }
    ctsc_status st = tensor_reshape(d, a, 2 * n, sa, &va);
    if (st == CTSC_OK) st = tensor_reshape(d, b, 2 * n, sb, &vb);
    if (st == CTSC_OK) st = products_call2(cx, "aten::mul.Tensor", va, vb, &p);
    tensor_unref(va);
    tensor_unref(vb);
    if (st != CTSC_OK) return st;
    tensor *t;
    st = tensor_reshape(d, p, n, sizes, &t);
    tensor_unref(p);
    return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
}

/* ---- bilinear -------------------------------------------------------------------------------- */

static ctsc_status bilinear_check(op_ctx *cx, const tensor *x, const tensor *y, const tensor *w,
                                  const tensor *bias) {
    diag *d = cx->diag;
    if (x->ndim != y->ndim)
        return diag_fail(d, CTSC_FAILED, "bilinear(): input dimensions do not match: got %d and %d",
                         x->ndim, y->ndim);
    if (x->ndim == 0 || w->ndim != 3)
        return diag_fail(d, CTSC_FAILED, "bilinear(): expected a 3-dimensional weight");
    for (int i = 0; i < x->ndim - 1; i++)
        if (x->sizes[i] != y->sizes[i])
            return diag_fail(
                d, CTSC_FAILED,
                "bilinear(): input batch dimensions do not match at dim %d: got %lld and "
                "%lld",
                i, (long long)x->sizes[i], (long long)y->sizes[i]);
    for (int i = 1; i <= 2; i++) {
        const tensor *t = i == 1 ? x : y;
        if (t->sizes[t->ndim - 1] != w->sizes[i])
            return diag_fail(
                d, CTSC_FAILED,
                "bilinear(): input%d size does not match weight size: got %lld but expected "
                "%lld",
                i, (long long)t->sizes[t->ndim - 1], (long long)w->sizes[i]);
    }
    if (bias && (bias->ndim != 1 || bias->sizes[0] != w->sizes[0]))
        return diag_fail(
            d, CTSC_FAILED,
            "bilinear(): bias size does not match weight size: got %lld but expected %lld",
            bias->ndim ? (long long)bias->sizes[0] : 1LL, (long long)w->sizes[0]);
    if (x->dtype != w->dtype || y->dtype != w->dtype || (bias && bias->dtype != w->dtype))
        return diag_fail(d, CTSC_FAILED,
                         "All tensors must have the same dtype, got input1: %s, "
                         "input2: %s, weight: %s",
                         dtype_table[x->dtype].torch_name, dtype_table[y->dtype].torch_name,
                         dtype_table[w->dtype].torch_name);
    return gemm_supports((dtype)w->dtype) ? CTSC_OK : op_refuse_dtype(cx, "bmm", (dtype)w->dtype);
}

/* x: [n, i], y: [n, j], w: [o, i, j] -> [n, o]: x times w is [n, o, j], whose rows meet y. */
static ctsc_status bilinear_product(diag *d, tensor *x, tensor *y, tensor *w, tensor **out) {
    int64_t n = x->sizes[0], o = w->sizes[0], i = w->sizes[1], j = w->sizes[2];
    const int64_t order[3] = {1, 0, 2}, flat[2] = {i, o * j}, split[3] = {n, o, j},
                  size[2] = {n, o};
    tensor *permuted = NULL, *wide = NULL, *xw = NULL, *rows = NULL, *col = NULL, *t = NULL;
    ctsc_status st = tensor_permute(d, w, 3, order, &permuted);
    if (st == CTSC_OK) st = tensor_reshape(d, permuted, 2, flat, &wide);
    if (st == CTSC_OK) st = matmul_batched(d, x, wide, &xw);
    if (st == CTSC_OK) st = tensor_view(d, xw, 3, split, &rows);
    if (st == CTSC_OK) st = tensor_unsqueeze(d, y, 2, &col);
    if (st == CTSC_OK) st = matmul_batched(d, rows, col, &t);
    if (st == CTSC_OK) st = tensor_view(d, t, 2, size, out);
    tensor_unref(permuted);
    tensor_unref(wide);
    tensor_unref(xw);
    tensor_unref(rows);
    tensor_unref(col);
    tensor_unref(t);
    return st;
}

/* (input1, input2, weight, bias) */
ctsc_status op_bilinear(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *x = arg_tensor(&args[0]), *y = arg_tensor(&args[1]), *w = arg_tensor(&args[2]);
    tensor *bias = arg_tensor_or_null(&args[3]), *fx = NULL, *fy = NULL, *p = NULL, *t = NULL;
    TRY(bilinear_check(cx, x, y, w, bias));
    int64_t sizes[TENSOR_MAX_DIMS], n = 1;
    for (int i = 0; i < x->ndim - 1; i++) n *= sizes[i] = x->sizes[i];
    sizes[x->ndim - 1] = w->sizes[0];
    const int64_t sx[2] = {n, w->sizes[1]}, sy[2] = {n, w->sizes[2]};
    ctsc_status st = tensor_reshape(d, x, 2, sx, &fx);
    if (st == CTSC_OK) st = tensor_reshape(d, y, 2, sy, &fy);
    if (st == CTSC_OK) st = bilinear_product(d, fx, fy, w, &p);
    if (st == CTSC_OK) st = tensor_view(d, p, x->ndim, sizes, &t);
    tensor_unref(fx);
    tensor_unref(fy);
    tensor_unref(p);
    if (st == CTSC_OK && bias) {
        tensor *sum;
        st = products_call2(cx, "aten::add.Tensor", t, bias, &sum);
        tensor_unref(t);
        t = sum;
    }
    return st == CTSC_OK ? op_return_tensor(results, t) : st;
}

/* ---- cross ----------------------------------------------------------------------------------- */

static ctsc_status cross_check(diag *d, const tensor *a, const tensor *b, int64_t dim,
                               int *wrapped) {
    if (a->ndim != b->ndim)
        return diag_fail(d, CTSC_FAILED,
                         "linalg.cross: inputs must have the same number of dimensions.");
    TRY(tensor_wrap_dim(d, dim, a->ndim, wrapped));
    if (a->ndim == 0 || a->sizes[*wrapped] != 3 || b->sizes[*wrapped] != 3)
        return diag_fail(d, CTSC_FAILED,
                         "linalg.cross: inputs dimension %d must have length 3. Got %lld and %lld",
                         *wrapped, a->ndim ? (long long)a->sizes[*wrapped] : 1LL,
                         b->ndim ? (long long)b->sizes[*wrapped] : 1LL);
    if (a->dtype != b->dtype)
        return diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    return CTSC_OK;
}

/* a[i] * b[j] along dim */
static ctsc_status cross_product(op_ctx *cx, tensor *a, int i, tensor *b, int j, int dim,
                                 tensor **out) {
    tensor *x, *y;
    TRY(tensor_select(cx->diag, a, dim, i, &x));
    ctsc_status st = tensor_select(cx->diag, b, dim, j, &y);
    if (st == CTSC_OK) {
        st = products_call2(cx, "aten::mul.Tensor", x, y, out);
        tensor_unref(y);
    }
    tensor_unref(x);
    return st;
}

static ctsc_status cross_component(op_ctx *cx, tensor *a, tensor *b, int dim, int k, tensor *out) {
    tensor *p = NULL, *m = NULL, *diff = NULL, *slot = NULL;
    int i = (k + 1) % 3, j = (k + 2) % 3;
    ctsc_status st = cross_product(cx, a, i, b, j, dim, &p);
    if (st == CTSC_OK) st = cross_product(cx, a, j, b, i, dim, &m);
    if (st == CTSC_OK) st = products_call2(cx, "aten::sub.Tensor", p, m, &diff);
    if (st == CTSC_OK) st = tensor_select(cx->diag, out, dim, k, &slot);
    if (st == CTSC_OK) st = tensor_copy(cx->diag, slot, diff);
    tensor_unref(p);
    tensor_unref(m);
    tensor_unref(diff);
    tensor_unref(slot);
    return st;
}

static ctsc_status cross_compute(op_ctx *cx, const value *args, int64_t dim, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *t;
    int at, ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    TRY(broadcast_sizes(d, a->ndim, a->sizes, b->ndim, b->sizes, &ndim, sizes));
    TRY(cross_check(d, a, b, dim, &at));
    TRY(tensor_new(d, (dtype)a->dtype, ndim, sizes, &t));
    ctsc_status st = CTSC_OK;
    for (int k = 0; st == CTSC_OK && k < 3; k++) st = cross_component(cx, a, b, at, k, t);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    return op_finish(cx, args, t, results);
}

/* (self, other, dim=None): the first dim of size 3 by default */
ctsc_status op_cross(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]);
    if (args[2].tag != V_NONE) return cross_compute(cx, args, arg_int(&args[2]), results);
    int dim = 0;
    while (dim < a->ndim && a->sizes[dim] != 3) dim++;
    if (dim == a->ndim && a->ndim == b->ndim)
        return diag_fail(cx->diag, CTSC_FAILED, "no dimension of size 3 in input");
    return cross_compute(cx, args, dim == a->ndim ? 0 : dim, results);
}

ctsc_status op_linalg_cross(op_ctx *cx, const value *args, value *results) {
    return cross_compute(cx, args, arg_int(&args[2]), results);
}

/* ---- vecdot ---------------------------------------------------------------------------------- */

/* Sum of t over the dims of an int list, or over one dim. Takes nothing. */
static ctsc_status products_sum(op_ctx *cx, tensor *t, int n, const int64_t *dims, tensor **out) {
    list *l = list_new(LIST_INT, NULL, (size_t)n);
    bool ok = l != NULL;
    for (int i = 0; ok && i < n; i++) ok = list_append_take(l, value_int(dims[i]));
    ctsc_status st = ok ? CTSC_OK : diag_no_memory(cx->diag);
    value sum = value_none();
    if (ok) {
        value args[2] = {value_tensor_take(t), value_list_take(l)};
        st = op_call(cx, "aten::sum.dim_IntList", 2, args, &sum);
    }
    if (l) value_unref(value_list_take(l));
    if (st == CTSC_OK) *out = sum.u.tensor;
    return st;
}

/* (x, y, dim) */
ctsc_status op_linalg_vecdot(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *p, *t;
    if (a->dtype != b->dtype)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type %s "
            "and y of type %s instead",
            dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    if (!dtype_is_float((dtype)a->dtype) && !dtype_is_complex((dtype)a->dtype))
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got %s",
            dtype_table[a->dtype].ir_name);
    value conjugate = value_none();
    if (dtype_is_complex((dtype)a->dtype)) {
        TRY(op_call(cx, "aten::conj_physical", 1, args, &conjugate));
        a = conjugate.u.tensor;
    }
    ctsc_status st = products_call2(cx, "aten::mul.Tensor", a, b, &p);
    value_unref(conjugate);
    int64_t dim = arg_int(&args[2]);
    if (st == CTSC_OK) {
        st = products_sum(cx, p, 1, &dim, &t);
        tensor_unref(p);
    }
    return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
}

/* ---- trilinear ------------------------------------------------------------------------------- */

/* Views t with dims of size 1 put in at the (sorted) places of an int list. */
static ctsc_status trilinear_expand(diag *d, tensor *t, const value *dims, tensor **out) {
    const int64_t *at;
    int n = arg_ints(dims, &at);
    tensor *v = tensor_ref(t), *next;
    for (int i = 0; i < n; i++) {
        ctsc_status st = tensor_unsqueeze(d, v, at[i], &next);
        tensor_unref(v);
        if (st != CTSC_OK) return st;
        v = next;
    }
    *out = v;
    return CTSC_OK;
}

/* (i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim) */
ctsc_status op_trilinear(op_ctx *cx, const value *args, value *results) {
    tensor *v[3] = {NULL}, *p = NULL, *q = NULL, *t = NULL;
    const int64_t *dims;
    int n = arg_ints(&args[6], &dims);
    ctsc_status st = CTSC_OK;
    for (int i = 0; st == CTSC_OK && i < 3; i++)
        st = trilinear_expand(cx->diag, arg_tensor(&args[i]), &args[3 + i], &v[i]);
    if (st == CTSC_OK) st = products_call2(cx, "aten::mul.Tensor", v[0], v[1], &p);
    if (st == CTSC_OK) st = products_call2(cx, "aten::mul.Tensor", p, v[2], &q);
    if (st == CTSC_OK && n) st = products_sum(cx, q, n, dims, &t);
    else if (st == CTSC_OK) t = tensor_ref(q);
    for (int i = 0; i < 3; i++) tensor_unref(v[i]);
    tensor_unref(p);
    tensor_unref(q);
    return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
}
