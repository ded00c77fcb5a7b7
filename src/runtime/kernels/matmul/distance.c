/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distance.c - distances and similarities of vectors: cdist, pdist, pairwise_distance,
 * cosine_similarity.
 *
 * Method: p-norms of differences, row against row. As in PyTorch, euclidean distances of many rows
 * are |x|^2 + |y|^2 - 2 x.y with the last term a matrix product, which is fast but loses digits
 * where rows nearly agree. Tests: tests/unit/test_matmul.c
 */
#include "runtime/kernels/matmul/gemm.h"

#include <math.h>

/* ---- row against row ------------------------------------------------------------------------- */

typedef struct cdist_job {
    bool is_double;
    int64_t rows1, rows2, width;
    double p;
    const char *x1, *x2; /* contiguous */
    const int64_t *offsets1, *offsets2;
    char *out;
} cdist_job;

#define T float
#define NAME(x) x##_float
#define FABS fabsf
#define POW powf
#define SQRT sqrtf
#include "runtime/kernels/matmul/distance_rows.h"

#define T double
#define NAME(x) x##_double
#define FABS fabs
#define POW pow
#define SQRT sqrt
#include "runtime/kernels/matmul/distance_rows.h"

/* ---- cdist ----------------------------------------------------------------------------------- */

static ctsc_status cdist_check(op_ctx *cx, const tensor *a, const tensor *b, double p) {
    diag *d = cx->diag;
    const tensor *both[2] = {a, b};
    for (int i = 0; i < 2; i++)
        if (both[i]->ndim < 2)
            return diag_fail(d, CTSC_FAILED,
                             "cdist only supports at least 2D tensors, X%d got: %dD", i + 1,
                             both[i]->ndim);
    if (a->sizes[a->ndim - 1] != b->sizes[b->ndim - 1])
        return diag_fail(d, CTSC_FAILED,
                         "X1 and X2 must have the same number of columns. X1: %lld X2: %lld",
                         (long long)a->sizes[a->ndim - 1], (long long)b->sizes[b->ndim - 1]);
    for (int i = 0; i < 2; i++)
        if (!dtype_is_float((dtype)both[i]->dtype))
            return diag_fail(d, CTSC_FAILED,
                             "cdist only supports floating-point dtypes, X%d got: %s", i + 1,
                             dtype_table[both[i]->dtype].ir_name);
    if (!(p >= 0)) return diag_fail(d, CTSC_FAILED, "cdist only supports non-negative p values");
    if (a->dtype != b->dtype)
        return diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    return CTSC_OK;
}

static ctsc_status cdist_run(diag *d, const tensor *a, const tensor *b, double p, bool products,
                             int64_t batches, int nb, tensor *out) {
    size_t bytes;
    if (!size_mul((size_t)batches, 2 * sizeof(int64_t), &bytes)) return diag_no_memory(d);
    int64_t *offsets = mem_alloc(bytes);
    if (!offsets) return diag_no_memory(d);
    gemm_offsets(a, nb, out->sizes, batches, offsets);
    gemm_offsets(b, nb, out->sizes, batches, offsets + batches);
    bool wide = a->dtype == DT_FLOAT64, whole = true;
    cdist_job job = {wide,
                     a->sizes[a->ndim - 2],
                     b->sizes[b->ndim - 2],
                     a->sizes[a->ndim - 1],
                     p,
                     tensor_data(a),
                     tensor_data(b),
                     offsets,
                     offsets + batches,
                     tensor_data(out)};
    int64_t rows = batches * job.rows1;
    int64_t grain = 16384 / (job.rows2 * (job.width + 1)) + 1;
    ctsc_status st = CTSC_OK;
    if (products) {
        gemm_matrix mb = gemm_of(b), transposed = {mb.p, mb.cs, mb.rs};
        st = gemm_batch(d, (dtype)a->dtype, batches, job.rows1, job.rows2, job.width,
                        (gemm_scale){-2, -2}, gemm_of(a), offsets, transposed, offsets + batches,
                        gemm_zero, tensor_data(out));
        if (st == CTSC_OK) {
            whole = pool_for_limited(
                rows, grain, wide ? cdist_from_products_double : cdist_from_products_float, &job);
            wide ? cdist_finish_products_double(&job, batches)
                 : cdist_finish_products_float(&job, batches);
        }
    } else {
        whole = pool_for_limited(rows, grain, wide ? cdist_chunk_double : cdist_chunk_float, &job);
    }
    mem_free(offsets);
    return whole ? st : limits_fail(d);
}

/* Contiguous, and float in place of the half types. */
static ctsc_status distance_prepare(diag *d, tensor *t, dtype dt, tensor **out) {
    dtype work = dt == DT_FLOAT64 ? dt : DT_FLOAT32;
    if ((dtype)t->dtype != work) return tensor_to_dtype(d, t, work, out);
    return tensor_contiguous(d, t, out);
}

/* Replaces *t by its conversion back. */
static ctsc_status distance_round(diag *d, dtype dt, tensor **t) {
    tensor *rounded;
    TRY(tensor_to_dtype(d, *t, dt, &rounded));
    tensor_unref(*t);
    *t = rounded;
    return CTSC_OK;
}

static ctsc_status cdist_compute(op_ctx *cx, tensor *x1, tensor *x2, double p, int64_t mode,
                                 tensor **result) {
    diag *d = cx->diag;
    TRY(cdist_check(cx, x1, x2, p));
    int nb;
    int64_t sizes[TENSOR_MAX_DIMS], batches = 1;
    TRY(broadcast_sizes(d, x1->ndim - 2, x1->sizes, x2->ndim - 2, x2->sizes, &nb, sizes));
    for (int i = 0; i < nb; i++) batches *= sizes[i];
    sizes[nb] = x1->sizes[x1->ndim - 2];
    sizes[nb + 1] = x2->sizes[x2->ndim - 2];
    bool products = p == 2 && (mode == 1 || (mode == 0 && (sizes[nb] > 25 || sizes[nb + 1] > 25)));
    tensor *a = NULL, *b = NULL, *t = NULL;
    dtype dt = (dtype)x1->dtype;
    ctsc_status st = distance_prepare(d, x1, dt, &a);
    if (st == CTSC_OK) st = distance_prepare(d, x2, dt, &b);
    if (st == CTSC_OK) st = tensor_new(d, (dtype)a->dtype, nb + 2, sizes, &t);
    if (st == CTSC_OK && t->numel && !geometry_only())
        st = cdist_run(d, a, b, p, products, batches, nb, t);
    if (st == CTSC_OK) st = distance_round(d, dt, &t);
    tensor_unref(a);
    tensor_unref(b);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    *result = t;
    return CTSC_OK;
}

/* (x1, x2, p, compute_mode) */
ctsc_status op_cdist(op_ctx *cx, const value *args, value *results) {
    tensor *t;
    int64_t mode = arg_int_or(&args[3], 0);
    if (mode < 0 || mode > 2)
        return diag_fail(cx->diag, CTSC_FAILED, "possible modes: 0, 1, 2, but was: %lld",
                         (long long)mode);
    TRY(cdist_compute(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), arg_float(&args[2]), mode,
                      &t));
    return op_finish(cx, args, t, results);
}

/* (x1, x2) */
ctsc_status op_euclidean_dist(op_ctx *cx, const value *args, value *results) {
    tensor *t;
    TRY(cdist_compute(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), 2, 1, &t));
    return op_finish(cx, args, t, results);
}

/* ---- pdist ----------------------------------------------------------------------------------- */

/* (self, p): distances of all pairs of rows, (0, 1), (0, 2), ... */
ctsc_status op_pdist(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *x = arg_tensor(&args[0]), *a, *t;
    double p = arg_float(&args[1]);
    if (x->ndim != 2)
        return diag_fail(d, CTSC_FAILED, "pdist only supports 2D tensors, got: %dD", x->ndim);
    if (!dtype_is_float((dtype)x->dtype))
        return diag_fail(d, CTSC_FAILED, "pdist only supports floating-point dtypes");
    if (!(p >= 0)) return diag_fail(d, CTSC_FAILED, "pdist only supports non-negative p values");
    int64_t n = x->sizes[0], width = x->sizes[1], pairs = 0;
    if (n > 1 && (n % 2 ? __builtin_mul_overflow(n, (n - 1) / 2, &pairs)
                        : __builtin_mul_overflow(n / 2, n - 1, &pairs)))
        return diag_fail(d, CTSC_LIMIT, "pdist: result too large");
    TRY(distance_prepare(d, x, (dtype)x->dtype, &a));
    ctsc_status st = tensor_new(d, (dtype)a->dtype, 1, &pairs, &t);
    if (st == CTSC_OK) {
        int64_t at = 0;
        for (int64_t i = 0; !geometry_only() && i < n; i++)
            for (int64_t j = i + 1; j < n; j++, at++)
                if (a->dtype == DT_FLOAT64) {
                    const double *rows = tensor_data(a);
                    TENSOR_AT(t, double)
                    [at] = distance_double(rows + i * width, rows + j * width, width, p);
                } else {
                    const float *rows = tensor_data(a);
                    TENSOR_AT(t, float)
                    [at] = distance_float(rows + i * width, rows + j * width, width, p);
                }
        st = distance_round(d, (dtype)x->dtype, &t);
        if (st != CTSC_OK) tensor_unref(t);
    }
    tensor_unref(a);
    return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* (x1, x2, p, eps, keepdim): norm(x1 - x2 + eps) over the last dim */
ctsc_status op_pairwise_distance(op_ctx *cx, const value *args, value *results) {
    value diff = value_none(), moved = value_none(), out = value_none();
    value pair[2] = {args[0], args[1]};
    TRY(op_call(cx, "aten::sub.Tensor", 2, pair, &diff));
    value add[2] = {diff, args[3]};
    ctsc_status st = op_call(cx, "aten::add.Scalar", 2, add, &moved);
    value_unref(diff);
    if (st != CTSC_OK) return st;
    list *dims = list_new(LIST_INT, NULL, 1);
    if (!dims || !list_append_take(dims, value_int(-1))) {
        st = diag_no_memory(cx->diag);
    } else {
        value norm[4] = {moved, args[2], value_list_take(dims), args[4]};
        st = op_call(cx, "aten::norm.ScalarOpt_dim", 4, norm, &out);
    }
    if (dims) value_unref(value_list_take(dims));
    value_unref(moved);
    return st == CTSC_OK ? op_return(results, out) : st;
}

/* t converted to dt, broadcast and made contiguous (in float for the half types) */
static ctsc_status cosine_prepare(diag *d, tensor *t, dtype dt, int ndim, const int64_t *sizes,
                                  tensor **out) {
    tensor *converted = NULL, *wide = NULL;
    ctsc_status st = tensor_to_dtype(d, t, dt, &converted);
    if (st == CTSC_OK) st = tensor_expand(d, converted, ndim, sizes, &wide);
    if (st == CTSC_OK) st = distance_prepare(d, wide, dt, out);
    tensor_unref(converted);
    tensor_unref(wide);
    return st;
}

/* (x1, x2, dim, eps) */
ctsc_status op_cosine_similarity(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *x1 = arg_tensor(&args[0]), *x2 = arg_tensor(&args[1]), *a = NULL, *b = NULL, *t = NULL;
    int ndim, dim, n = 0;
    int64_t sizes[TENSOR_MAX_DIMS], reduced[TENSOR_MAX_DIMS];
    TRY(broadcast_sizes(d, x1->ndim, x1->sizes, x2->ndim, x2->sizes, &ndim, sizes));
    dtype dt = promote_operands(2, args);
    if (!dtype_is_float(dt))
        return diag_fail(d, CTSC_FAILED,
                         "expected common dtype to be floating point, yet common dtype is %s",
                         dtype_table[dt].ir_name);
    TRY(tensor_wrap_dim(d, arg_int(&args[2]), ndim, &dim));
    if (ndim == 0) sizes[ndim++] = 1; /* as one element; the result has no dims all the same */
    for (int i = 0; i < ndim; i++)
        if (i != dim) reduced[n++] = sizes[i];
    ctsc_status st = cosine_prepare(d, x1, dt, ndim, sizes, &a);
    if (st == CTSC_OK) st = cosine_prepare(d, x2, dt, ndim, sizes, &b);
    if (st == CTSC_OK) st = tensor_new(d, (dtype)a->dtype, n, reduced, &t);
    if (st == CTSC_OK) {
        double eps = arg_float(&args[3]);
        (a->dtype == DT_FLOAT64 ? cosine_double : cosine_float)(a, b, dim, eps, t);
        st = distance_round(d, dt, &t);
    }
    tensor_unref(a);
    tensor_unref(b);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    return op_return_tensor(results, t);
}
