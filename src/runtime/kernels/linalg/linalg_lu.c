/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg_lu.c - LU factors and what comes of them: det, slogdet, inv, solve, lu_unpack.
 * Tests: tests/unit/test_linalg.c
 */
#include "runtime/kernels/linalg/linalg.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

LAPACK_DECLARE(getrf, const int *m, const int *n, void *a, const int *lda, int *pivots, int *info);
LAPACK_DECLARE(getrs, const char *trans, const int *n, const int *nrhs, const void *a,
               const int *lda, const int *pivots, void *b, const int *ldb, int *info);

ctsc_status linalg_lu_compute(diag *d, const tensor *a, tensor **lu, tensor **pivots,
                              tensor **info) {
    linalg_batch b;
    TRY(linalg_describe(d, a, &b));
    int k = b.m < b.n ? b.m : b.n, lda = b.m > 1 ? b.m : 1;
    int64_t tail = k;
    tensor *f = NULL, *p = NULL, *e = NULL;
    ctsc_status st = linalg_columns(d, a, &f);
    if (st == CTSC_OK) st = linalg_new(d, a, DT_INT32, 1, &tail, &p);
    if (st == CTSC_OK) st = linalg_new(d, a, DT_INT32, 0, NULL, &e);
    if (st != CTSC_OK) {
        tensor_unref(f);
        tensor_unref(p);
        return st;
    }
    for (int64_t i = 0; i < b.count; i++) {
        int failed = 0;
        if (k)
            LAPACK_ALL(&b, getrf, &b.m, &b.n, linalg_at(&b, f, i, (int64_t)b.m * b.n), &lda,
                       TENSOR_AT(p, int32_t) + i * k, &failed);
        TENSOR_AT(e, int32_t)[i] = failed;
    }
    *lu = f;
    *pivots = p;
    *info = e;
    return CTSC_OK;
}

ctsc_status linalg_lu_solve_columns(diag *d, const tensor *lu, const tensor *pivots, tensor *b,
                                    char how) {
    linalg_batch f;
    const char trans[2] = {how, 0};
    TRY(linalg_describe(d, lu, &f));
    int n = f.n, lda = n > 1 ? n : 1, failed;
    int64_t nrhs64 = b->sizes[b->ndim - 2];
    if (nrhs64 > INT32_MAX) return diag_fail(d, CTSC_LIMIT, "matrix too large for LAPACK");
    int nrhs = (int)nrhs64;
    if (n == 0 || nrhs == 0) return CTSC_OK;
    for (int64_t i = 0; i < f.count; i++)
        LAPACK_ALL(&f, getrs, trans, &n, &nrhs, linalg_at(&f, lu, i, (int64_t)n * n), &lda,
                   TENSOR_AT(pivots, int32_t) + i * n, linalg_at(&f, b, i, nrhs64 * n), &lda,
                   &failed);
    return CTSC_OK;
}

/* ---- factors as results ---------------------------------------------------------------------- */

static ctsc_status lu_check(op_ctx *cx, const tensor *a, bool pivot, const char *name) {
    if (a->ndim < 2) {
        strbuf sb = STRBUF_INIT;
        tensor_print_sizes(a->ndim, a->sizes, &sb);
        diag_fail(cx->diag, CTSC_FAILED,
                  "%s: Expected tensor with 2 or more dimensions. Got size: %s instead", name,
                  sb_str(&sb));
        sb_free(&sb);
        return CTSC_FAILED;
    }
    if (!pivot)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
    return linalg_check_inexact(cx, a, NULL, "lu_cpu");
}

static ctsc_status lu_check_info(diag *d, const tensor *info, const char *name) {
    int64_t index;
    int error = linalg_first_error(info, &index);
    if (!error) return CTSC_OK;
    char batch[48] = "";
    if (info->ndim) snprintf(batch, sizeof batch, "(Batch element %lld): ", (long long)index);
    return diag_fail(
        d, CTSC_FAILED,
        "%s: %sU[%d,%d] is zero and using it on lu_solve would result in a division by "
        "zero. If you still want to perform the factorization, consider calling "
        "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        name, batch, error, error);
}

/* nresults: 2 (LU, pivots) or 3 (and info) */
static ctsc_status lu_factor(op_ctx *cx, const value *args, int nresults, const char *checked,
                             value *results) {
    tensor *a = arg_tensor(&args[0]), *r[3] = {NULL};
    TRY(lu_check(cx, a, arg_bool(&args[1]), checked ? checked : "torch.lu_factor"));
    TRY(linalg_lu_compute(cx->diag, a, &r[0], &r[1], &r[2]));
    ctsc_status st = checked ? lu_check_info(cx->diag, r[2], checked) : CTSC_OK;
    tensor *rows = NULL;
    if (st == CTSC_OK) {
        st = linalg_rows(cx->diag, r[0], &rows);
        r[0] = rows;
    }
    if (st != CTSC_OK) {
        for (int i = 0; i < 3; i++) tensor_unref(r[i]);
        return st;
    }
    if (nresults == 2) tensor_unref(r[2]);
    return linalg_finish(cx, args, nresults, r, results);
}

/* (A, pivot) */
ctsc_status op_linalg_lu_factor(op_ctx *cx, const value *args, value *results) {
    return lu_factor(cx, args, 2, "torch.linalg.lu_factor", results);
}
/* (A, pivot, check_errors) */
ctsc_status op_linalg_lu_factor_ex(op_ctx *cx, const value *args, value *results) {
    return lu_factor(cx, args, 3, arg_bool(&args[2]) ? "torch.linalg.lu_factor_ex" : NULL, results);
}
/* The same, never checking. */
ctsc_status op_lu_with_info(op_ctx *cx, const value *args, value *results) {
    return lu_factor(cx, args, 3, NULL, results);
}

/* Permutation matrices of pivots: P such that P L U = A. */
static ctsc_status lu_permutation(diag *d, const tensor *pivots, int64_t count, int64_t m,
                                  tensor *p) {
    int64_t k = pivots->sizes[pivots->ndim - 1];
    size_t bytes;
    if (!size_mul((size_t)m, sizeof(int64_t), &bytes)) return diag_no_memory(d);
    int64_t *order = mem_alloc(bytes);
    if (!order) return diag_no_memory(d);
    dtype dt = (dtype)p->dtype;
    memset(tensor_data(p), 0, (size_t)p->numel * dtype_size(dt));
    for (int64_t i = 0; !geometry_only() && i < count; i++) {
        const int32_t *pivot = TENSOR_AT(pivots, int32_t) + i * k;
        for (int64_t r = 0; r < m; r++) order[r] = r;
        for (int64_t r = 0; r < k && r < m; r++) {
            if (pivot[r] < 1 || pivot[r] > m) {
                mem_free(order);
                return diag_fail(d, CTSC_FAILED,
                                 "pivots passed to lu_unpack must be between 1 and LU.size(-2) "
                                 "inclusive.Did you properly pass the result of lu_factor?");
            }
            int64_t other = pivot[r] - 1, t = order[r];
            order[r] = order[other];
            order[other] = t;
        }
        char *matrix = linalg_at(NULL, p, i, m * m);
        for (int64_t r = 0; r < m; r++)
            dtype_store_float(dt, matrix + (size_t)(order[r] * m + r) * dtype_size(dt), 1);
    }
    mem_free(order);
    return CTSC_OK;
}

/* lu: rows contiguous [.., m, n] */
static void lu_triangles(const tensor *lu, int64_t m, int64_t n, tensor *l, tensor *u) {
    int64_t k = m < n ? m : n, count = m > 0 && n > 0 ? lu->numel / (m * n) : 0;
    dtype dt = (dtype)lu->dtype;
    size_t item = dtype_size(dt);
    memset(tensor_data(l), 0, (size_t)l->numel * item);
    memset(tensor_data(u), 0, (size_t)u->numel * item);
    for (int64_t i = 0; i < count; i++) {
        const void *p = linalg_at(NULL, lu, i, m * n);
        char *pl = linalg_at(NULL, l, i, m * k), *pu = linalg_at(NULL, u, i, k * n);
        for (int64_t r = 0; r < m; r++) {
            for (int64_t c = 0; c < k && c < r; c++) linalg_move(item, pl, r * k + c, p, r * n + c);
            if (r >= k) continue;
            dtype_store_float(dt, pl + (size_t)(r * k + r) * item, 1);
            for (int64_t c = r; c < n; c++) linalg_move(item, pu, r * n + c, p, r * n + c);
        }
    }
}

/* r: P, L, U; an unwanted one is an empty tensor of one dim */
static ctsc_status lu_unpack(diag *d, tensor *lu, tensor *pivots, bool data, bool permute,
                             tensor **r) {
    int64_t m = lu->sizes[lu->ndim - 2], n = lu->sizes[lu->ndim - 1], k = m < n ? m : n, none = 0;
    int64_t square[2] = {m, m}, left[2] = {m, k}, right[2] = {k, n}, count = 1;
    for (int i = 0; i < lu->ndim - 2; i++) count *= lu->sizes[i];
    dtype dt = (dtype)lu->dtype;
    tensor *rows = NULL, *flat = NULL;
    ctsc_status st = permute ? linalg_new(d, lu, dt, 2, square, &r[0])
                             : tensor_new(d, dt, 1, &none, &r[0]);
    if (st == CTSC_OK)
        st = data ? linalg_new(d, lu, dt, 2, left, &r[1]) : tensor_new(d, dt, 1, &none, &r[1]);
    if (st == CTSC_OK)
        st = data ? linalg_new(d, lu, dt, 2, right, &r[2]) : tensor_new(d, dt, 1, &none, &r[2]);
    if (st == CTSC_OK && data) {
        st = tensor_contiguous(d, lu, &rows);
        if (st == CTSC_OK) lu_triangles(rows, m, n, r[1], r[2]);
    }
    if (st == CTSC_OK && permute) {
        st = tensor_contiguous(d, pivots, &flat);
        if (st == CTSC_OK) st = lu_permutation(d, flat, count, m, r[0]);
    }
    tensor_unref(rows);
    tensor_unref(flat);
    for (int i = 0; st != CTSC_OK && i < 3; i++) {
        tensor_unref(r[i]);
        r[i] = NULL;
    }
    return st;
}

/* (A, pivot) -> P, L, U */
ctsc_status op_linalg_lu(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *lu, *pivots, *info, *rows, *r[3] = {NULL};
    TRY(lu_check(cx, a, arg_bool(&args[1]), "linalg.lu"));
    TRY(linalg_lu_compute(cx->diag, a, &lu, &pivots, &info));
    tensor_unref(info);
    ctsc_status st = linalg_rows(cx->diag, lu, &rows);
    if (st == CTSC_OK) {
        st = lu_unpack(cx->diag, rows, pivots, true, true, r);
        tensor_unref(rows);
    }
    tensor_unref(pivots);
    return st == CTSC_OK ? linalg_finish(cx, args, 3, r, results) : st;
}

/* (LU_data, LU_pivots, unpack_data, unpack_pivots) */
ctsc_status op_lu_unpack(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *lu = arg_tensor(&args[0]), *pivots = arg_tensor(&args[1]), *r[3] = {NULL};
    bool data = arg_bool(&args[2]), permute = arg_bool(&args[3]);
    TRY(linalg_check_matrix(d, lu, "torch.lu_unpack", "LU_data"));
    if (permute && pivots->dtype != DT_INT32)
        return diag_fail(d, CTSC_FAILED,
                         "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of "
                         "torch.int32 dtype.");
    TRY(linalg_check_inexact(cx, lu, NULL, "lu_unpack"));
    bool fits = pivots->ndim == lu->ndim - 1; /* the pivots need not be min(m, n) */
    for (int i = 0; fits && i < pivots->ndim - 1; i++) fits = pivots->sizes[i] == lu->sizes[i];
    if (permute && !fits)
        return diag_fail(d, CTSC_FAILED, "torch.lu_unpack: LU_data and LU_pivots do not fit");
    TRY(lu_unpack(d, lu, pivots, data, permute, r));
    return linalg_finish(cx, args, 3, r, results);
}

/* ---- determinants ---------------------------------------------------------------------------- */

/* det, or sign and log |det|, of the factors of each matrix */
static void lu_determinants(const tensor *lu, const tensor *pivots, tensor *det, tensor *sign,
                            tensor *logabs) {
    int64_t n = lu->sizes[lu->ndim - 1];
    const tensor *any = det ? det : sign;
    bool wide = lu->dtype == DT_FLOAT64;
    for (int64_t i = 0; i < any->numel; i++) {
        const void *p = linalg_at(NULL, lu, i, n * n);
        const int32_t *pivot = TENSOR_AT(pivots, int32_t) + i * n;
        double product = 1, s = 1, log_sum = 0;
        for (int64_t k = 0; k < n; k++) {
            double u = linalg_get(wide, p, k * n + k);
            if (pivot[k] != k + 1) u = -u;
            product *= u;
            if (!wide) product = (double)(float)product;
            s *= u > 0 ? 1 : u < 0 ? -1 : u;
            log_sum += log(fabs(u));
        }
        if (det) linalg_put(wide, tensor_data(det), i, product);
        if (sign) linalg_put(wide, tensor_data(sign), i, s);
        if (logabs) linalg_put(wide, tensor_data(logabs), i, log_sum);
    }
}

/* The same of complex matrices: the sign is a number of absolute value 1, or 0. */
static void lu_complex_determinants(const tensor *lu, const tensor *pivots, tensor *det,
                                    tensor *sign, tensor *logabs) {
    int64_t n = lu->sizes[lu->ndim - 1], count = det ? det->numel : sign->numel;
    bool wide = lu->dtype == DT_COMPLEX128;
    for (int64_t i = 0; i < count; i++) {
        const void *p = linalg_at(NULL, lu, i, n * n);
        const int32_t *pivot = TENSOR_AT(pivots, int32_t) + i * n;
        double complex product = 1, s = 1;
        double log_sum = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t at = 2 * (k * n + k);
            double complex u = __builtin_complex(linalg_get(wide, p, at),
                                                 linalg_get(wide, p, at + 1));
            if (pivot[k] != k + 1) u = -u;
            double length = cabs(u);
            product *= u;
            s = length > 0 ? s * (u / length) : length == 0 ? 0 : length; /* nan stays */
            log_sum += log(length);
        }
        tensor *numbers[] = {det, sign};
        double complex values[] = {product, s};
        for (int k = 0; k < 2; k++) {
            if (!numbers[k]) continue;
            linalg_put(wide, tensor_data(numbers[k]), 2 * i, creal(values[k]));
            linalg_put(wide, tensor_data(numbers[k]), 2 * i + 1, cimag(values[k]));
        }
        if (logabs) linalg_put(wide, tensor_data(logabs), i, log_sum);
    }
}

/* r: det (or sign, logabsdet), LU, pivots */
static ctsc_status lu_det(op_ctx *cx, const tensor *a, const char *name, bool logarithm,
                          tensor **r) {
    diag *d = cx->diag;
    TRY(linalg_check_square(d, a, name));
    TRY(linalg_check_inexact(cx, a, name, "lu_cpu"));
    bool complex_matrix = dtype_is_complex((dtype)a->dtype);
    int n = logarithm ? 2 : 1;
    tensor *info = NULL;
    ctsc_status st = linalg_lu_compute(d, a, &r[n], &r[n + 1], &info);
    tensor_unref(info);
    for (int i = 0; st == CTSC_OK && i < n; i++)
        st = linalg_new(d, a, i ? dtype_part((dtype)a->dtype) : (dtype)a->dtype, 0, NULL, &r[i]);
    if (st == CTSC_OK)
        (complex_matrix ? lu_complex_determinants
                        : lu_determinants)(r[n], r[n + 1], logarithm ? NULL : r[0],
                                           logarithm ? r[0] : NULL, logarithm ? r[1] : NULL);
    if (st == CTSC_OK) {
        tensor *rows = NULL;
        st = linalg_rows(d, r[n], &rows);
        r[n] = rows;
    }
    for (int i = 0; st != CTSC_OK && i < n + 2; i++) tensor_unref(r[i]);
    return st;
}

static ctsc_status lu_det_results(op_ctx *cx, const value *args, const char *name, bool logarithm,
                                  int wanted, value *results) {
    tensor *r[4] = {NULL};
    TRY(lu_det(cx, arg_tensor(&args[0]), name, logarithm, r));
    for (int i = wanted; i < (logarithm ? 4 : 3); i++) tensor_unref(r[i]);
    return linalg_finish(cx, args, wanted, r, results);
}

ctsc_status op_linalg_det(op_ctx *cx, const value *args, value *results) {
    return lu_det_results(cx, args, "linalg.det", false, 1, results);
}
ctsc_status op_linalg_det_full(op_ctx *cx, const value *args, value *results) {
    return lu_det_results(cx, args, "linalg.det", false, 3, results);
}
ctsc_status op_linalg_slogdet(op_ctx *cx, const value *args, value *results) {
    return lu_det_results(cx, args, "linalg.slogdet", true, 2, results);
}
ctsc_status op_linalg_slogdet_full(op_ctx *cx, const value *args, value *results) {
    return lu_det_results(cx, args, "linalg.slogdet", true, 4, results);
}

ctsc_status op_logdet(op_ctx *cx, const value *args, value *results) {
    tensor *r[4] = {NULL};
    TRY(lu_det(cx, arg_tensor(&args[0]), "logdet", true, r));
    bool wide = r[1]->dtype == DT_FLOAT64, paired = dtype_is_complex((dtype)r[0]->dtype);
    void *sign = tensor_data(r[0]), *logabs = tensor_data(r[1]);
    for (int64_t i = 0; i < r[1]->numel; i++) {
        double v = linalg_get(wide, logabs, i);
        if (paired) { /* the sign's logarithm is added, in its place */
            double re = linalg_get(wide, sign, 2 * i), im = linalg_get(wide, sign, 2 * i + 1);
            linalg_put(wide, sign, 2 * i, log(hypot(re, im)) + v);
            linalg_put(wide, sign, 2 * i + 1, atan2(im, re));
        } else if (linalg_get(wide, sign, i) < 0) {
            linalg_put(wide, logabs, i, NAN);
        }
    }
    tensor_unref(r[paired ? 1 : 0]);
    tensor_unref(r[2]);
    tensor_unref(r[3]);
    return op_return_tensor(results, r[paired ? 0 : 1]);
}

/* ---- inverse --------------------------------------------------------------------------------- */

ctsc_status linalg_inverse_compute(diag *d, const tensor *a, tensor **out, tensor **info) {
    tensor *lu = NULL, *pivots = NULL, *e = NULL, *x = NULL;
    int64_t n = a->sizes[a->ndim - 1];
    ctsc_status st = linalg_lu_compute(d, a, &lu, &pivots, &e);
    if (st == CTSC_OK) st = tensor_new_like(d, lu, (dtype)a->dtype, &x);
    if (st == CTSC_OK) {
        linalg_identity(x, n);
        st = linalg_lu_solve_columns(d, lu, pivots, x, 'N');
    }
    tensor_unref(lu);
    tensor_unref(pivots);
    if (st != CTSC_OK) {
        tensor_unref(x);
        tensor_unref(e);
        return st;
    }
    st = linalg_rows(d, x, out);
    if (st != CTSC_OK) tensor_unref(e);
    else *info = e;
    return st;
}

static ctsc_status inverse_run(op_ctx *cx, const tensor *a, bool check, const char *name,
                               tensor **r) {
    diag *d = cx->diag;
    TRY(linalg_check_square(d, a, "linalg.inv"));
    if (dtype_is_integral((dtype)a->dtype))
        return diag_fail(d, CTSC_FAILED,
                         "linalg.inv: Expected a floating point or complex tensor as input. Got %s",
                         dtype_table[a->dtype].ir_name);
    if (a->dtype != DT_FLOAT32 && a->dtype != DT_FLOAT64 && a->dtype != DT_COMPLEX64 &&
        a->dtype != DT_COMPLEX128)
        return diag_fail(d, CTSC_FAILED, "linalg.inv: Low precision dtypes not supported. Got %s",
                         dtype_table[a->dtype].ir_name);
    TRY(linalg_inverse_compute(d, a, &r[0], &r[1]));
    int64_t index;
    int error = check ? linalg_first_error(r[1], &index) : 0;
    if (!error) return CTSC_OK;
    char batch[48] = "";
    if (r[1]->ndim) snprintf(batch, sizeof batch, "(Batch element %lld): ", (long long)index);
    tensor_unref(r[0]);
    tensor_unref(r[1]);
    return diag_fail(d, CTSC_FAILED,
                     "%s: %sThe diagonal element %d is zero, the inversion could not be completed "
                     "because the input matrix is singular.",
                     name, batch, error);
}

ctsc_status op_linalg_inv(op_ctx *cx, const value *args, value *results) {
    tensor *r[2];
    TRY(inverse_run(cx, arg_tensor(&args[0]), true, "linalg.inv", r));
    tensor_unref(r[1]);
    return linalg_finish(cx, args, 1, r, results);
}
/* (A, check_errors) */
ctsc_status op_linalg_inv_ex(op_ctx *cx, const value *args, value *results) {
    tensor *r[2];
    TRY(inverse_run(cx, arg_tensor(&args[0]), arg_bool(&args[1]), "linalg.inv_ex", r));
    return linalg_finish(cx, args, 2, r, results);
}

/* ---- solving --------------------------------------------------------------------------------- */

static bool solve_is_vector(const tensor *a, const tensor *b) {
    if (b->ndim == 1) return true;
    if (b->ndim != a->ndim - 1) return false;
    for (int i = 0; i < b->ndim; i++)
        if (a->sizes[i] != b->sizes[i]) return false;
    return true;
}

static ctsc_status solve_check_shapes(diag *d, const tensor *a, const tensor *b, bool left,
                                      const char *name) {
    TRY(linalg_check_matrix(d, b, name, "B"));
    TRY(linalg_check_square(d, a, name));
    long long n = a->sizes[a->ndim - 1], m = b->sizes[b->ndim - 2], k = b->sizes[b->ndim - 1];
    if ((left ? m : k) == n) return CTSC_OK;
    return diag_fail(
        d, CTSC_FAILED,
        "%s: Incompatible shapes of A and B for the equation %s (%lldx%lld and %lldx%lld)", name,
        left ? "AX = B" : "XA = B", n, n, m, k);
}

/* b as columns to solve for (of its transpose for a system from the right), and back. */
static ctsc_status solve_load(diag *d, tensor *b, bool left, tensor **out) {
    return left ? linalg_columns(d, b, out) : tensor_clone(d, b, out);
}
static ctsc_status solve_unload(diag *d, tensor *x, bool left, tensor **out) { /* takes x */
    if (left) return linalg_rows(d, x, out);
    *out = x;
    return CTSC_OK;
}

/* r: result, LU (column-major), pivots, info */
static ctsc_status solve_matrix(diag *d, tensor *a, tensor *b, bool left, tensor **r) {
    tensor *wide_a = NULL, *wide_b = NULL, *x = NULL;
    ctsc_status st = linalg_broadcast(d, a, b, &wide_a, &wide_b);
    if (st == CTSC_OK) st = linalg_lu_compute(d, wide_a, &r[1], &r[2], &r[3]);
    if (st == CTSC_OK) st = solve_load(d, wide_b, left, &x);
    if (st == CTSC_OK) st = linalg_lu_solve_columns(d, r[1], r[2], x, left ? 'N' : 'T');
    if (st == CTSC_OK) {
        st = solve_unload(d, x, left, &r[0]);
        x = NULL;
    }
    tensor_unref(x);
    tensor_unref(wide_a);
    tensor_unref(wide_b);
    for (int i = 0; st != CTSC_OK && i < 4; i++) {
        tensor_unref(r[i]);
        r[i] = NULL;
    }
    return st;
}

/* Without the last dim; PyTorch lays a batch of vectors out as if it were matrices. */
static ctsc_status solve_vector(diag *d, tensor **x) {
    tensor *flat, *rows, *columns;
    TRY(tensor_squeeze_dim(d, *x, -1, &flat));
    ctsc_status st = CTSC_OK;
    if (flat->ndim > 1) {
        st = linalg_columns(d, flat, &rows);
        if (st == CTSC_OK) st = linalg_rows(d, rows, &columns);
        tensor_unref(flat);
        TRY(st);
        flat = columns;
    }
    tensor_unref(*x);
    *x = flat;
    return CTSC_OK;
}

static ctsc_status solve_run(op_ctx *cx, tensor *a, tensor *b, bool left, const char *checked,
                             tensor **r) {
    diag *d = cx->diag;
    TRY(linalg_check_same_dtype(d, a, b, "linalg.solve"));
    TRY(linalg_check_square(d, a, "linalg.solve"));
    bool vector = solve_is_vector(a, b);
    if (vector && !left)
        return diag_fail(
            d, CTSC_FAILED,
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            "left=False");
    tensor *matrix;
    TRY(vector ? tensor_unsqueeze(d, b, -1, &matrix) : tensor_alias(d, b, &matrix));
    ctsc_status st = solve_check_shapes(d, a, matrix, left, "linalg.solve");
    if (st == CTSC_OK) st = linalg_check_inexact(cx, a, "linalg.solve", "lu_cpu");
    if (st == CTSC_OK) st = solve_matrix(d, a, matrix, left, r);
    tensor_unref(matrix);
    if (st != CTSC_OK) return st;
    int64_t index;
    char batch[48] = "";
    if (checked && linalg_first_error(r[3], &index)) {
        if (r[3]->ndim) snprintf(batch, sizeof batch, "(Batch element %lld): ", (long long)index);
        st = diag_fail(d, CTSC_FAILED,
                       "%s: %sThe solver failed because the input matrix is singular.", checked,
                       batch);
    }
    if (st == CTSC_OK && vector) st = solve_vector(d, &r[0]);
    for (int i = 0; st != CTSC_OK && i < 4; i++) tensor_unref(r[i]);
    return st;
}

/* (A, B, left) */
ctsc_status op_linalg_solve(op_ctx *cx, const value *args, value *results) {
    tensor *r[4] = {NULL};
    TRY(solve_run(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), arg_bool(&args[2]),
                  "torch.linalg.solve", r));
    for (int i = 1; i < 4; i++) tensor_unref(r[i]);
    return linalg_finish(cx, args, 1, r, results);
}
/* (A, B, left, check_errors) -> result, info */
ctsc_status op_linalg_solve_ex(op_ctx *cx, const value *args, value *results) {
    tensor *r[4] = {NULL};
    TRY(solve_run(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), arg_bool(&args[2]),
                  arg_bool(&args[3]) ? "torch.linalg.solve_ex" : NULL, r));
    tensor_unref(r[1]);
    tensor_unref(r[2]);
    r[1] = r[3];
    return linalg_finish(cx, args, 2, r, results);
}
/* -> result, LU, pivots, info */
ctsc_status op_linalg_solve_ex_full(op_ctx *cx, const value *args, value *results) {
    tensor *r[4] = {NULL}, *rows = NULL;
    TRY(solve_run(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), arg_bool(&args[2]),
                  arg_bool(&args[3]) ? "torch.linalg.solve_ex" : NULL, r));
    ctsc_status st = linalg_rows(cx->diag, r[1], &rows);
    r[1] = rows;
    for (int i = 0; st != CTSC_OK && i < 4; i++) tensor_unref(r[i]);
    return st == CTSC_OK ? linalg_finish(cx, args, 4, r, results) : st;
}

static ctsc_status lu_solve_check(op_ctx *cx, const tensor *lu, const tensor *pivots,
                                  const tensor *b, bool left) {
    diag *d = cx->diag;
    TRY(linalg_check_inexact(cx, lu, "linalg.lu_solve", "linalg.lu_solve"));
    if (lu->dtype != b->dtype)
        return diag_fail(
            d, CTSC_FAILED,
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            "%s and B of type %s instead",
            dtype_table[lu->dtype].ir_name, dtype_table[b->dtype].ir_name);
    if (pivots->dtype != DT_INT32)
        return diag_fail(d, CTSC_FAILED,
                         "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
    TRY(solve_check_shapes(d, lu, b, left, "linalg.lu_solve"));
    bool fits = pivots->ndim == lu->ndim - 1;
    for (int i = 0; fits && i < pivots->ndim; i++) fits = pivots->sizes[i] == lu->sizes[i];
    if (!fits) {
        strbuf sb = STRBUF_INIT;
        tensor_print_sizes(pivots->ndim, pivots->sizes, &sb);
        diag_fail(
            d, CTSC_FAILED,
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            "pivots with shape %s instead",
            sb_str(&sb));
        sb_free(&sb);
        return CTSC_FAILED;
    }
    return CTSC_OK;
}

/* Pivots from outside must stay inside their matrix. */
static ctsc_status lu_check_pivots(diag *d, const tensor *pivots, int64_t n) {
    for (int64_t i = 0; i < pivots->numel; i++) {
        int32_t v = TENSOR_AT(pivots, int32_t)[i];
        if (v < 1 || v > n)
            return diag_fail(d, CTSC_FAILED,
                             "Pivots given to lu_solve must all be greater or equal to 1 "
                             "and not beyond LU.size(-2). Did you properly pass the result "
                             "of lu_factor?");
    }
    return CTSC_OK;
}

static ctsc_status lu_solve(op_ctx *cx, const value *args, tensor *lu, tensor *pivots, tensor *b,
                            bool left, bool adjoint, value *results) {
    diag *d = cx->diag;
    TRY(lu_solve_check(cx, lu, pivots, b, left));
    tensor *wide_lu = NULL, *wide_b = NULL, *f = NULL, *p = NULL, *wide_p = NULL, *x = NULL,
           *r = NULL;
    ctsc_status st = linalg_broadcast(d, lu, b, &wide_lu, &wide_b);
    if (st == CTSC_OK) st = linalg_columns(d, wide_lu, &f);
    if (st == CTSC_OK) { /* pivots broadcast along */
        int64_t sizes[TENSOR_MAX_DIMS];
        for (int i = 0; i < wide_lu->ndim - 1; i++) sizes[i] = wide_lu->sizes[i];
        st = tensor_expand(d, pivots, wide_lu->ndim - 1, sizes, &wide_p);
    }
    if (st == CTSC_OK) st = tensor_contiguous(d, wide_p, &p);
    if (st == CTSC_OK) st = lu_check_pivots(d, p, lu->sizes[lu->ndim - 1]);
    if (st == CTSC_OK) st = solve_load(d, wide_b, left, &x);
    /* X A' = B is A conj(X)^T = conj(B)^T */
    bool turned = !left && adjoint;
    if (st == CTSC_OK && turned) linalg_conjugate(x);
    if (st == CTSC_OK)
        st = linalg_lu_solve_columns(d, f, p, x, left == adjoint ? (left ? 'C' : 'T') : 'N');
    if (st == CTSC_OK && turned) linalg_conjugate(x);
    if (st == CTSC_OK) {
        st = solve_unload(d, x, left, &r);
        x = NULL;
    }
    tensor_unref(wide_lu);
    tensor_unref(wide_b);
    tensor_unref(f);
    tensor_unref(p);
    tensor_unref(wide_p);
    tensor_unref(x);
    return st == CTSC_OK ? linalg_finish(cx, args, 1, &r, results) : st;
}

/* (LU, pivots, B, left, adjoint) */
ctsc_status op_linalg_lu_solve(op_ctx *cx, const value *args, value *results) {
    return lu_solve(cx, args, arg_tensor(&args[0]), arg_tensor(&args[1]), arg_tensor(&args[2]),
                    arg_bool(&args[3]), arg_bool(&args[4]), results);
}
/* (self, LU_data, LU_pivots) */
ctsc_status op_lu_solve(op_ctx *cx, const value *args, value *results) {
    return lu_solve(cx, args, arg_tensor(&args[1]), arg_tensor(&args[2]), arg_tensor(&args[0]),
                    true, false, results);
}
