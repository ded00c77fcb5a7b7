/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg_factor.c - cholesky, QR and LDL factors, and triangular systems.
 * Tests: tests/unit/test_linalg.c
 */
#include "runtime/kernels/linalg/linalg.h"

#include <stdio.h>
#include <string.h>

LAPACK_DECLARE(potrf, const char *uplo, const int *n, void *a, const int *lda, int *info);
LAPACK_DECLARE(potri, const char *uplo, const int *n, void *a, const int *lda, int *info);
LAPACK_DECLARE(potrs, const char *uplo, const int *n, const int *nrhs, const void *a,
               const int *lda, void *b, const int *ldb, int *info);
LAPACK_DECLARE(geqrf, const int *m, const int *n, void *a, const int *lda, void *tau, void *work,
               const int *lwork, int *info);
#define ORGQR_ARGS                                                                                 \
    const int *m, const int *n, const int *k, void *a, const int *lda, const void *tau,            \
        void *work, const int *lwork, int *info
LAPACK_DECLARE_REAL(orgqr, ORGQR_ARGS);
LAPACK_DECLARE_COMPLEX(ungqr, ORGQR_ARGS);
#define ORMQR_ARGS                                                                                 \
    const char *side, const char *trans, const int *m, const int *n, const int *k, const void *a,  \
        const int *lda, const void *tau, void *c, const int *ldc, void *work, const int *lwork,    \
        int *info
LAPACK_DECLARE_REAL(ormqr, ORMQR_ARGS);
LAPACK_DECLARE_COMPLEX(unmqr, ORMQR_ARGS);
#define SYTRF_ARGS                                                                                 \
    const char *uplo, const int *n, void *a, const int *lda, int *pivots, void *work,              \
        const int *lwork, int *info
LAPACK_DECLARE(sytrf, SYTRF_ARGS);
LAPACK_DECLARE_COMPLEX(hetrf, SYTRF_ARGS);
#define SYTRS_ARGS                                                                                 \
    const char *uplo, const int *n, const int *nrhs, const void *a, const int *lda,                \
        const int *pivots, void *b, const int *ldb, int *info
LAPACK_DECLARE(sytrs, SYTRS_ARGS);
LAPACK_DECLARE_COMPLEX(hetrs, SYTRS_ARGS);
LAPACK_DECLARE(trsm, const char *side, const char *uplo, const char *trans, const char *unit,
               const int *m, const int *n, const void *alpha, const void *a, const int *lda,
               void *b, const int *ldb);

static int factor_ld(int n) { return n > 1 ? n : 1; }

/* ---- cholesky -------------------------------------------------------------------------------- */

/* r: the factor, info */
static ctsc_status cholesky_compute(diag *d, const tensor *a, bool upper, tensor **r) {
    linalg_batch b;
    TRY(linalg_describe(d, a, &b));
    tensor *f = NULL, *info = NULL;
    ctsc_status st = linalg_columns(d, a, &f);
    if (st == CTSC_OK) st = linalg_new(d, a, DT_INT32, 0, NULL, &info);
    if (st != CTSC_OK) {
        tensor_unref(f);
        return st;
    }
    int lda = factor_ld(b.n);
    for (int64_t i = 0; i < b.count; i++) {
        int failed = 0;
        if (b.n)
            LAPACK(&b, potrf, upper ? "U" : "L", &b.n, linalg_at(&b, f, i, (int64_t)b.n * b.n),
                   &lda, &failed);
        TENSOR_AT(info, int32_t)[i] = failed;
    }
    linalg_keep_triangle(f, b.n, b.n, upper);
    st = linalg_rows(d, f, &r[0]);
    r[1] = info;
    if (st != CTSC_OK) tensor_unref(info);
    return st;
}

static ctsc_status cholesky_run(op_ctx *cx, const value *args, const char *name, bool check,
                                int nresults, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *r[2];
    TRY(linalg_check_square(d, a, name));
    TRY(linalg_check_inexact(cx, a, strcmp(name, "cholesky") == 0 ? NULL : name, "cholesky_cpu"));
    TRY(cholesky_compute(d, a, arg_bool(&args[1]), r));
    int64_t index;
    int error = check ? linalg_first_error(r[1], &index) : 0;
    if (error) {
        char batch[48] = "";
        if (r[1]->ndim) snprintf(batch, sizeof batch, "(Batch element %lld): ", (long long)index);
        tensor_unref(r[0]);
        tensor_unref(r[1]);
        return diag_fail(
            d, CTSC_FAILED,
            "%s: %sThe factorization could not be completed because the input is not "
            "positive-definite (the leading minor of order %d is not positive-definite).",
            name, batch, error);
    }
    if (nresults == 1) tensor_unref(r[1]);
    return linalg_finish(cx, args, nresults, r, results);
}

/* (self, upper) */
ctsc_status op_cholesky(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_cholesky);
    tensor *a = arg_tensor(&args[0]), *empty;
    if (a->numel == 0) { /* PyTorch looks no further */
        TRY(tensor_new_like(cx->diag, a, (dtype)a->dtype, &empty));
        return op_finish(cx, args, empty, results);
    }
    return cholesky_run(cx, args, "cholesky", true, 1, results);
}
ctsc_status op_linalg_cholesky(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_linalg_cholesky);
    return cholesky_run(cx, args, "linalg.cholesky", true, 1, results);
}
/* (self, upper, check_errors) */
ctsc_status op_linalg_cholesky_ex(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_linalg_cholesky_ex);
    return cholesky_run(cx, args, "linalg.cholesky_ex", arg_bool(&args[2]), 2, results);
}

/* (self, upper): the inverse of the matrix whose factor is given */
ctsc_status op_cholesky_inverse(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_cholesky_inverse);
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *f, *r;
    bool upper = arg_bool(&args[1]);
    linalg_batch b;
    TRY(linalg_check_square(d, a, "cholesky_inverse"));
    TRY(linalg_check_inexact(cx, a, NULL, "cholesky_inverse_out_cpu"));
    TRY(linalg_describe(d, a, &b));
    TRY(linalg_columns(d, a, &f));
    int lda = factor_ld(b.n), n = b.n, failed;
    for (int64_t i = 0; n && i < b.count; i++) {
        char *p = linalg_at(&b, f, i, (int64_t)n * n);
        LAPACK(&b, potri, upper ? "U" : "L", &n, p, &lda, &failed);
        for (int64_t c = 0; c < n; c++) /* only one triangle was written */
            for (int64_t row = 0; row < c; row++) {
                int64_t high = c * n + row, low = row * n + c, to = upper ? low : high;
                linalg_move(b.item, p, to, p, upper ? high : low);
                if (b.paired) linalg_put(b.wide, p, 2 * to + 1, -linalg_get(b.wide, p, 2 * to + 1));
            }
    }
    TRY(linalg_rows(d, f, &r));
    return linalg_finish(cx, args, 1, &r, results);
}

/* Do the matrices of A x = b fit? op: its name in PyTorch's words. */
static ctsc_status factor_check_solve(diag *d, const tensor *a, const tensor *b, const char *op) {
    long long m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1], rows = b->sizes[b->ndim - 2],
              cols = b->sizes[b->ndim - 1];
    if (m != n)
        return diag_fail(d, CTSC_FAILED,
                         "A must be batches of square matrices, but they are %lld by %lld matrices",
                         m, n);
    if (rows == n) return CTSC_OK;
    return diag_fail(d, CTSC_FAILED,
                     "Incompatible matrix sizes for %s: each A matrix is %lld by %lld but each b "
                     "matrix is %lld by %lld",
                     op, n, n, rows, cols);
}

/* (self, input2, upper): solves A x = self, input2 the factor of A */
ctsc_status op_cholesky_solve(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_cholesky_solve);
    diag *d = cx->diag;
    tensor *x = arg_tensor(&args[0]), *a = arg_tensor(&args[1]), *wa, *wx, *fa = NULL, *fx = NULL,
           *r;
    if (x->ndim < 2 || a->ndim < 2)
        return diag_fail(d, CTSC_FAILED,
                         "%s should have at least 2 dimensions, but has %d dimensions instead",
                         x->ndim < 2 ? "b" : "u", x->ndim < 2 ? x->ndim : a->ndim);
    TRY(factor_check_solve(d, a, x, "cholesky_solve"));
    TRY(linalg_check_inexact(cx, x, NULL, "cholesky_solve_cpu"));
    TRY(linalg_check_same_dtype(d, a, x, "cholesky_solve"));
    TRY(linalg_broadcast(d, a, x, &wa, &wx));
    linalg_batch b;
    ctsc_status st = linalg_describe(d, wx, &b);
    if (st == CTSC_OK) st = linalg_columns(d, wa, &fa);
    if (st == CTSC_OK) st = linalg_columns(d, wx, &fx);
    if (st == CTSC_OK) {
        int lda = factor_ld(b.m), failed;
        for (int64_t i = 0; b.m && b.n && i < b.count; i++)
            LAPACK(&b, potrs, arg_bool(&args[2]) ? "U" : "L", &b.m, &b.n,
                   linalg_at(&b, fa, i, (int64_t)b.m * b.m), &lda,
                   linalg_at(&b, fx, i, (int64_t)b.m * b.n), &lda, &failed);
    }
    tensor_unref(wa);
    tensor_unref(wx);
    tensor_unref(fa);
    if (st == CTSC_OK) st = linalg_rows(d, fx, &r);
    else tensor_unref(fx);
    return st == CTSC_OK ? op_finish(cx, args, r, results) : st;
}

/* ---- QR -------------------------------------------------------------------------------------- */

/* Householder form of all matrices of A: f column-major [.., n, m], tau [.., k] */
static ctsc_status qr_factor(diag *d, const tensor *a, tensor **f, tensor **tau) {
    linalg_batch b;
    TRY(linalg_describe(d, a, &b));
    int k = b.m < b.n ? b.m : b.n, lda = factor_ld(b.m), lwork = factor_ld(b.n) * 32, failed;
    int64_t tail = k;
    TRY(linalg_columns(d, a, f));
    ctsc_status st = linalg_new(d, a, (dtype)a->dtype, 1, &tail, tau);
    void *work = st == CTSC_OK ? mem_alloc((size_t)lwork * b.item) : NULL;
    if (st == CTSC_OK && !work) {
        st = diag_no_memory(d);
        tensor_unref(*tau);
    }
    if (st != CTSC_OK) {
        tensor_unref(*f);
        return st;
    }
    for (int64_t i = 0; k && i < b.count; i++)
        LAPACK(&b, geqrf, &b.m, &b.n, linalg_at(&b, *f, i, (int64_t)b.m * b.n), &lda,
               linalg_at(&b, *tau, i, k), work, &lwork, &failed);
    mem_free(work);
    return CTSC_OK;
}

/* q: column-major [.., cols, m] whose first columns hold reflectors, tau.sizes[-1] of them; becomes
 * Q. */
static ctsc_status qr_expand(diag *d, tensor *q, const tensor *tau, int64_t count) {
    int m = (int)q->sizes[q->ndim - 1], n = (int)q->sizes[q->ndim - 2];
    int k = (int)tau->sizes[tau->ndim - 1], lda = factor_ld(m), lwork = factor_ld(n) * 32, failed;
    linalg_batch b;
    TRY(linalg_describe(d, q, &b));
    void *work = mem_alloc((size_t)lwork * b.item);
    if (!work) return diag_no_memory(d);
    for (int64_t i = 0; m && n && !geometry_only() && i < count; i++)
        LAPACK_PAIR(&b, orgqr, ungqr, &m, &n, &k, linalg_at(NULL, q, i, (int64_t)m * n), &lda,
                    linalg_at(NULL, tau, i, k), work, &lwork, &failed);
    mem_free(work);
    return CTSC_OK;
}

/* Copies the first min columns of every column-major matrix. */
static void qr_copy_columns(const tensor *from, tensor *to, int64_t rows, int64_t from_cols,
                            int64_t to_cols, int64_t count) {
    size_t item = dtype_size((dtype)from->dtype);
    int64_t cols = from_cols < to_cols ? from_cols : to_cols;
    if (geometry_only()) return;
    memset(tensor_data(to), 0, (size_t)to->numel * item);
    for (int64_t i = 0; i < count; i++)
        memcpy(linalg_at(NULL, to, i, rows * to_cols), linalg_at(NULL, from, i, rows * from_cols),
               (size_t)(rows * cols) * item);
}

/* The upper triangle of the first `rows` rows of f (column-major [.., n, m]) as [.., rows, n],
 * column-major as well. */
static ctsc_status qr_make_r(diag *d, const tensor *f, int64_t rows, tensor **out) {
    int64_t n = f->sizes[f->ndim - 2], m = f->sizes[f->ndim - 1], size[2] = {n, rows};
    size_t item = dtype_size((dtype)f->dtype);
    tensor *t;
    TRY(linalg_new(d, f, (dtype)f->dtype, 2, size, &t));
    memset(tensor_data(t), 0, (size_t)t->numel * item);
    for (int64_t i = 0; t->numel && i < t->numel / (rows * n); i++) {
        const char *p = linalg_at(NULL, f, i, m * n);
        char *q = linalg_at(NULL, t, i, rows * n);
        for (int64_t c = 0; c < n; c++)
            memcpy(q + (size_t)(c * rows) * item, p + (size_t)(c * m) * item,
                   (size_t)(c < rows ? c + 1 : rows) * item);
    }
    return linalg_rows(d, t, out);
}

/* r: Q, R. mode: 'r'educed, 'c'omplete, or 'R': no Q */
static ctsc_status qr_compute(diag *d, const tensor *a, char mode, tensor **r) {
    tensor *f, *tau, *q = NULL;
    TRY(qr_factor(d, a, &f, &tau));
    int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1], k = m < n ? m : n, none = 0;
    int64_t cols = mode == 'c' ? m : k, size[2] = {cols, m}, count = 1;
    for (int i = 0; i < a->ndim - 2; i++) count *= a->sizes[i];
    ctsc_status st;
    if (mode == 'R') {
        st = tensor_new(d, (dtype)a->dtype, 1, &none, &r[0]);
    } else {
        st = linalg_new(d, a, (dtype)a->dtype, 2, size, &q);
        if (st == CTSC_OK) {
            qr_copy_columns(f, q, m, n, cols, count);
            st = qr_expand(d, q, tau, count);
        }
        if (st == CTSC_OK) st = linalg_rows(d, q, &r[0]);
        else tensor_unref(q);
    }
    if (st == CTSC_OK) {
        st = qr_make_r(d, f, cols, &r[1]);
        if (st != CTSC_OK) tensor_unref(r[0]);
    }
    tensor_unref(f);
    tensor_unref(tau);
    return st;
}

/* (A, mode) */
ctsc_status op_linalg_qr(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_linalg_qr);
    tensor *a = arg_tensor(&args[0]), *r[2];
    const char *mode = args[1].u.str->bytes;
    TRY(linalg_check_matrix(cx->diag, a, "linalg.qr", "A"));
    TRY(linalg_check_inexact(cx, a, "linalg.qr", "geqrf_cpu"));
    char m = strcmp(mode, "reduced") == 0    ? 'r'
             : strcmp(mode, "complete") == 0 ? 'c'
             : strcmp(mode, "r") == 0        ? 'R'
                                             : 0;
    if (!m)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "qr received unrecognized mode '%s' but expected one of 'reduced' (default), "
            "'r', or 'complete'",
            mode);
    TRY(qr_compute(cx->diag, a, m, r));
    return linalg_finish(cx, args, 2, r, results);
}

/* (self, some) */
ctsc_status op_qr(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_qr);
    tensor *a = arg_tensor(&args[0]), *r[2];
    TRY(linalg_check_matrix(cx->diag, a, "linalg.qr", "A"));
    TRY(linalg_check_inexact(cx, a, "linalg.qr", "geqrf_cpu"));
    TRY(qr_compute(cx->diag, a, arg_bool(&args[1]) ? 'r' : 'c', r));
    return linalg_finish(cx, args, 2, r, results);
}

ctsc_status op_geqrf(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_geqrf);
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *f, *r[2];
    TRY(linalg_check_matrix(d, a, "torch.geqrf", "input"));
    TRY(linalg_check_inexact(cx, a, NULL, "geqrf_cpu"));
    TRY(qr_factor(d, a, &f, &r[1]));
    ctsc_status st = linalg_rows(d, f, &r[0]);
    if (st != CTSC_OK) {
        tensor_unref(r[1]);
        return st;
    }
    return linalg_finish(cx, args, 2, r, results);
}

static ctsc_status householder_check(op_ctx *cx, const tensor *a, const tensor *tau,
                                     const char *name) {
    diag *d = cx->diag;
    if (a->ndim < 2)
        return diag_fail(d, CTSC_FAILED, "%s: input must have at least 2 dimensions.", name);
    long long m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
    if (m < n)
        return diag_fail(d, CTSC_FAILED,
                         "%s: input.shape[-2] must be greater than or equal to input.shape[-1]",
                         name);
    bool fits = tau->ndim == a->ndim - 1;
    if (fits && n < tau->sizes[tau->ndim - 1])
        return diag_fail(d, CTSC_FAILED,
                         "%s: input.shape[-1] must be greater than or equal to tau.shape[-1]",
                         name);
    for (int i = 0; fits && i < tau->ndim - 1; i++) fits = tau->sizes[i] == a->sizes[i];
    if (!fits)
        return diag_fail(d, CTSC_FAILED,
                         "%s: Expected tau to have one dimension less than input, with equal batch "
                         "dimensions",
                         name);
    if (tau->dtype != a->dtype)
        return diag_fail(d, CTSC_FAILED, "%s: tau dtype %s does not match input dtype %s", name,
                         dtype_table[tau->dtype].torch_name, dtype_table[a->dtype].torch_name);
    return linalg_check_inexact(cx, a, NULL, "orgqr_cpu");
}

/* (input, tau) */
ctsc_status op_householder_product(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_householder_product);
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *tau = arg_tensor(&args[1]), *flat, *q = NULL, *r;
    linalg_batch b;
    TRY(householder_check(cx, a, tau, "torch.linalg.householder_product"));
    TRY(linalg_describe(d, a, &b));
    TRY(tensor_contiguous(d, tau, &flat));
    ctsc_status st = linalg_columns(d, a, &q);
    if (st == CTSC_OK) st = qr_expand(d, q, flat, b.count);
    tensor_unref(flat);
    if (st == CTSC_OK) st = linalg_rows(d, q, &r);
    else tensor_unref(q);
    return st == CTSC_OK ? linalg_finish(cx, args, 1, &r, results) : st;
}

/* (self, input2 = tau, input3 = C, left, transpose): Q C, Q' C, C Q or C Q' */
ctsc_status op_ormqr(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_ormqr);
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *tau = arg_tensor(&args[1]), *c = arg_tensor(&args[2]);
    tensor *fa = NULL, *fc = NULL, *flat = NULL, *r = NULL;
    bool left = arg_bool(&args[3]), trans = arg_bool(&args[4]);
    if (a->ndim < 2 || c->ndim != a->ndim || tau->ndim != a->ndim - 1 || c->dtype != a->dtype ||
        tau->dtype != a->dtype)
        return diag_fail(d, CTSC_FAILED, "torch.ormqr: input, tau and other do not fit");
    TRY(linalg_check_inexact(cx, a, NULL, "ormqr_cpu"));
    linalg_batch b;
    TRY(linalg_describe(d, c, &b));
    int64_t rows = a->sizes[a->ndim - 2], k64 = tau->sizes[tau->ndim - 1];
    bool fits = rows == (left ? b.m : b.n) && k64 <= rows && k64 <= a->sizes[a->ndim - 1];
    for (int i = 0; i < a->ndim - 2; i++)
        fits = fits && a->sizes[i] == c->sizes[i] && a->sizes[i] == tau->sizes[i];
    if (!fits) return diag_fail(d, CTSC_FAILED, "torch.ormqr: input, tau and other do not fit");
    int k = (int)k64, lda = factor_ld((int)rows), ldc = factor_ld(b.m), failed;
    int lwork = factor_ld(b.m > b.n ? b.m : b.n) * 64;
    ctsc_status st = linalg_columns(d, a, &fa);
    if (st == CTSC_OK) st = linalg_columns(d, c, &fc);
    if (st == CTSC_OK) st = tensor_contiguous(d, tau, &flat);
    void *work = st == CTSC_OK ? mem_alloc((size_t)lwork * b.item) : NULL;
    if (st == CTSC_OK && !work) st = diag_no_memory(d);
    for (int64_t i = 0; st == CTSC_OK && b.m && b.n && i < b.count; i++)
        LAPACK_PAIR(&b, ormqr, unmqr, left ? "L" : "R",
                    !trans     ? "N"
                    : b.paired ? "C"
                               : "T",
                    &b.m, &b.n, &k, linalg_at(&b, fa, i, rows * a->sizes[a->ndim - 1]), &lda,
                    linalg_at(&b, flat, i, k), linalg_at(&b, fc, i, (int64_t)b.m * b.n), &ldc, work,
                    &lwork, &failed);
    mem_free(work);
    tensor_unref(fa);
    tensor_unref(flat);
    if (st == CTSC_OK) st = linalg_rows(d, fc, &r);
    else tensor_unref(fc);
    return st == CTSC_OK ? linalg_finish(cx, args, 1, &r, results) : st;
}

/* ---- LDL ------------------------------------------------------------------------------------- */

/* r: LD, pivots, info */
static ctsc_status ldl_compute(diag *d, const tensor *a, bool hermitian, tensor **r) {
    linalg_batch b;
    TRY(linalg_describe(d, a, &b));
    int64_t tail = b.n;
    int lda = factor_ld(b.n), lwork = factor_ld(b.n) * 64;
    tensor *f = NULL, *p = NULL, *info = NULL;
    ctsc_status st = linalg_columns(d, a, &f);
    if (st == CTSC_OK) st = linalg_new(d, a, DT_INT32, 1, &tail, &p);
    if (st == CTSC_OK) st = linalg_new(d, a, DT_INT32, 0, NULL, &info);
    void *work = st == CTSC_OK ? mem_alloc((size_t)lwork * b.item) : NULL;
    if (st == CTSC_OK && !work) st = diag_no_memory(d);
    for (int64_t i = 0; st == CTSC_OK && i < b.count; i++) {
        int failed = 0;
        void *matrix = linalg_at(&b, f, i, (int64_t)b.n * b.n);
        int32_t *pivots = TENSOR_AT(p, int32_t) + i * b.n;
        if (b.n && b.paired && hermitian)
            LAPACK_COMPLEX(hetrf, "L", &b.n, matrix, &lda, pivots, work, &lwork, &failed);
        else if (b.n) LAPACK(&b, sytrf, "L", &b.n, matrix, &lda, pivots, work, &lwork, &failed);
        TENSOR_AT(info, int32_t)[i] = failed;
    }
    mem_free(work);
    if (st == CTSC_OK) {
        linalg_keep_triangle(f, b.n, b.n, false);
        st = linalg_rows(d, f, &r[0]);
        f = NULL;
    }
    if (st != CTSC_OK) {
        tensor_unref(f);
        tensor_unref(p);
        tensor_unref(info);
        return st;
    }
    r[1] = p;
    r[2] = info;
    return CTSC_OK;
}

/* (self, hermitian[, check_errors]) */
static ctsc_status ldl_run(op_ctx *cx, const value *args, int nresults, bool check,
                           value *results) {
    tensor *a = arg_tensor(&args[0]), *r[3];
    int64_t index;
    TRY(linalg_check_square(cx->diag, a, "torch.linalg.ldl_factor_ex"));
    TRY(linalg_check_inexact(cx, a, "torch.linalg.ldl_factor_ex", "ldl_factor_cpu"));
    TRY(ldl_compute(cx->diag, a, arg_bool(&args[1]), r));
    if (check && linalg_first_error(r[2], &index)) {
        int code = TENSOR_AT(r[2], int32_t)[index];
        for (int i = 0; i < 3; i++) tensor_unref(r[i]);
        return diag_fail(cx->diag, CTSC_FAILED, "torch.linalg.ldl_factor: Unknown error code: %d.",
                         code);
    }
    if (nresults == 2) tensor_unref(r[2]);
    return linalg_finish(cx, args, nresults, r, results);
}

ctsc_status op_linalg_ldl_factor(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_linalg_ldl_factor);
    return ldl_run(cx, args, 2, true, results);
}
ctsc_status op_linalg_ldl_factor_ex(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_linalg_ldl_factor_ex);
    return ldl_run(cx, args, 3, arg_bool(&args[2]), results);
}

static ctsc_status ldl_solve_check(op_ctx *cx, const tensor *ld, const tensor *pivots,
                                   const tensor *b) {
    diag *d = cx->diag;
    const char *name = "torch.linalg.ldl_solve";
    TRY(linalg_check_square(d, ld, name));
    TRY(linalg_check_matrix(d, b, name, "B"));
    TRY(linalg_check_inexact(cx, ld, name, "ldl_solve_cpu"));
    if (b->sizes[b->ndim - 2] != ld->sizes[ld->ndim - 1])
        return diag_fail(
            d, CTSC_FAILED,
            "%s: Incompatible matrix sizes: each LD matrix is %lld by %lld but each B matrix "
            "has %lld rows",
            name, (long long)ld->sizes[ld->ndim - 1], (long long)ld->sizes[ld->ndim - 1],
            (long long)b->sizes[b->ndim - 2]);
    bool fits = pivots->ndim == ld->ndim - 1;
    for (int i = 0; fits && i < pivots->ndim; i++) fits = pivots->sizes[i] == ld->sizes[i];
    if (!fits)
        return diag_fail(d, CTSC_FAILED,
                         "%s: Expected LD.shape[:-1] and pivots.shape to be the same", name);
    if (!dtype_is_int((dtype)pivots->dtype))
        return diag_fail(d, CTSC_FAILED, "%s: Expected pivots to be integers. Got %s", name,
                         dtype_table[pivots->dtype].ir_name);
    return linalg_check_same_dtype(d, ld, b, name);
}

/* Pivots from outside: every index inside the matrix, 2 x 2 blocks in pairs. */
static bool ldl_pivots_valid(const tensor *pivots, int64_t n) {
    for (int64_t i = 0; i < pivots->numel; i += n)
        for (int64_t k = 0; k < n; k++) {
            const int32_t *p = TENSOR_AT(pivots, int32_t) + i;
            if (p[k] == 0 || p[k] > n || p[k] < -n) return false;
            if (p[k] < 0 && (k + 1 >= n || p[k + 1] != p[k])) return false;
            if (p[k] < 0) k++;
        }
    return true;
}

/* (LD, pivots, B, hermitian) */
ctsc_status op_linalg_ldl_solve(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_linalg_ldl_solve);
    diag *d = cx->diag;
    tensor *ld = arg_tensor(&args[0]), *pivots = arg_tensor(&args[1]), *rhs = arg_tensor(&args[2]);
    tensor *wl, *wb, *fl = NULL, *fb = NULL, *p = NULL, *wp = NULL, *flat = NULL, *r = NULL;
    TRY(ldl_solve_check(cx, ld, pivots, rhs));
    TRY(linalg_broadcast(d, ld, rhs, &wl, &wb));
    linalg_batch b;
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int i = 0; i < wl->ndim - 1; i++) sizes[i] = wl->sizes[i];
    ctsc_status st = linalg_describe(d, wb, &b);
    if (st == CTSC_OK) st = linalg_columns(d, wl, &fl);
    if (st == CTSC_OK) st = linalg_columns(d, wb, &fb);
    if (st == CTSC_OK) st = tensor_to_dtype(d, pivots, DT_INT32, &p);
    if (st == CTSC_OK) st = tensor_expand(d, p, wl->ndim - 1, sizes, &wp);
    if (st == CTSC_OK) st = tensor_contiguous(d, wp, &flat);
    if (st == CTSC_OK && b.m && !ldl_pivots_valid(flat, b.m))
        st = diag_fail(d, CTSC_FAILED, "torch.linalg.ldl_solve: pivots are not those of a factor");
    int lda = factor_ld(b.m), failed;
    for (int64_t i = 0; st == CTSC_OK && b.m && b.n && i < b.count; i++) {
        const void *factor = linalg_at(&b, fl, i, (int64_t)b.m * b.m);
        const int32_t *pivot = TENSOR_AT(flat, int32_t) + i * b.m;
        void *x = linalg_at(&b, fb, i, (int64_t)b.m * b.n);
        if (b.paired && arg_bool(&args[3]))
            LAPACK_COMPLEX(hetrs, "L", &b.m, &b.n, factor, &lda, pivot, x, &lda, &failed);
        else LAPACK(&b, sytrs, "L", &b.m, &b.n, factor, &lda, pivot, x, &lda, &failed);
    }
    tensor_unref(wl);
    tensor_unref(wb);
    tensor_unref(fl);
    tensor_unref(p);
    tensor_unref(wp);
    tensor_unref(flat);
    if (st == CTSC_OK) st = linalg_rows(d, fb, &r);
    else tensor_unref(fb);
    return st == CTSC_OK ? linalg_finish(cx, args, 1, &r, results) : st;
}

/* ---- triangular systems ---------------------------------------------------------------------- */

typedef struct triangular_call {
    bool left, upper, transposed, unit;
} triangular_call;

/* *x: solution (rows); *coefficient, if not NULL: A broadcast and copied */
static ctsc_status triangular_solve(diag *d, tensor *a, tensor *b, triangular_call c, tensor **x,
                                    tensor **coefficient) {
    tensor *wa, *wb, *fa = NULL, *fb = NULL;
    TRY(linalg_broadcast(d, a, b, &wa, &wb));
    linalg_batch s;
    ctsc_status st = linalg_describe(d, wb, &s);
    if (st == CTSC_OK) st = linalg_columns(d, wa, &fa);
    if (st == CTSC_OK) st = linalg_columns(d, wb, &fb);
    int na = c.left ? s.m : s.n, lda = factor_ld(na), ldb = factor_ld(s.m);
    const double one_d[2] = {1, 0};
    const float one_f[2] = {1, 0};
    for (int64_t i = 0; st == CTSC_OK && s.m && s.n && i < s.count; i++)
        LAPACK_ALL(&s, trsm, c.left ? "L" : "R", c.upper ? "U" : "L", c.transposed ? "T" : "N",
                   c.unit ? "U" : "N", &s.m, &s.n,
                   s.wide ? (const void *)one_d : (const void *)one_f,
                   linalg_at(&s, fa, i, (int64_t)na * na), &lda,
                   linalg_at(&s, fb, i, (int64_t)s.m * s.n), &ldb);
    tensor_unref(wa);
    tensor_unref(wb);
    if (st == CTSC_OK) {
        st = linalg_rows(d, fb, x);
        fb = NULL;
        if (st == CTSC_OK && coefficient) {
            st = linalg_rows(d, fa, coefficient);
            fa = NULL;
            if (st != CTSC_OK) tensor_unref(*x);
        }
    }
    tensor_unref(fa);
    tensor_unref(fb);
    return st;
}

/* (self = A, B, upper, left, unitriangular) */
ctsc_status op_linalg_solve_triangular(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *x;
    triangular_call c = {
        .upper = arg_bool(&args[2]), .left = arg_bool(&args[3]), .unit = arg_bool(&args[4])};
    const char *name = "linalg.solve_triangular";
    TRY(linalg_check_matrix(d, a, name, "A"));
    TRY(linalg_check_matrix(d, b, name, "B"));
    TRY(linalg_check_square(d, a, name));
    long long n = a->sizes[a->ndim - 1], m = b->sizes[b->ndim - 2], k = b->sizes[b->ndim - 1];
    if ((c.left ? m : k) != n)
        return diag_fail(d, CTSC_FAILED,
                         "%s: Incompatible shapes of A and B for the equation %s (%lldx%lld and "
                         "%lldx%lld)",
                         name, c.left ? "AX = B" : "XA = B", n, n, m, k);
    TRY(linalg_check_same_dtype(d, a, b, name));
    TRY(linalg_check_inexact(cx, a, NULL, "triangular_solve_cpu"));
    TRY(triangular_solve(d, a, b, c, &x, NULL));
    return linalg_finish(cx, args, 1, &x, results);
}

/* (self = b, A, upper, transpose, unitriangular) -> solution, copy of A */
ctsc_status op_triangular_solve(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *b = arg_tensor(&args[0]), *a = arg_tensor(&args[1]), *r[2];
    triangular_call c = {.left = true,
                         .upper = arg_bool(&args[2]),
                         .transposed = arg_bool(&args[3]),
                         .unit = arg_bool(&args[4])};
    if (a->dtype != b->dtype)
        return diag_fail(
            d, CTSC_FAILED,
            "Expected b and A to have the same dtype, but found b of type %s and A of type "
            "%s instead.",
            dtype_table[b->dtype].ir_name, dtype_table[a->dtype].ir_name);
    for (int i = 0; i < 2; i++) {
        const tensor *t = i ? a : b;
        if (t->ndim < 2)
            return diag_fail(
                d, CTSC_FAILED,
                "torch.triangular_solve: Expected %s to have at least 2 dimensions, but it "
                "has %d dimensions instead",
                i ? "A" : "b", t->ndim);
    }
    TRY(factor_check_solve(d, a, b, "triangular_solve"));
    TRY(linalg_check_inexact(cx, a, NULL, "triangular_solve_cpu"));
    TRY(triangular_solve(d, a, b, c, &r[0], &r[1]));
    return linalg_finish(cx, args, 2, r, results);
}
