/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg_lstsq.c - linear least squares, with LAPACK's four drivers.
 * Tests: tests/unit/test_linalg.c
 */
#include "runtime/kernels/linalg/linalg.h"

#include <float.h>
#include <string.h>

LAPACK_DECLARE(gels, const char *trans, const int *m, const int *n, const int *nrhs, void *a,
               const int *lda, void *b, const int *ldb, void *work, const int *lwork, int *info);
/* Complex ones want room for reals besides. */
#define LSTSQ_ARGS(values)                                                                         \
    const int *m, const int *n, const int *nrhs, void *a, const int *lda, void *b, const int *ldb, \
        values, const void *rcond, int *rank, void *work, const int *lwork
LAPACK_DECLARE_REAL(gelsy, LSTSQ_ARGS(int *jpvt), int *info);
LAPACK_DECLARE_COMPLEX(gelsy, LSTSQ_ARGS(int *jpvt), void *rwork, int *info);
LAPACK_DECLARE_REAL(gelss, LSTSQ_ARGS(void *s), int *info);
LAPACK_DECLARE_COMPLEX(gelss, LSTSQ_ARGS(void *s), void *rwork, int *info);
LAPACK_DECLARE_REAL(gelsd, LSTSQ_ARGS(void *s), int *iwork, int *info);
LAPACK_DECLARE_COMPLEX(gelsd, LSTSQ_ARGS(void *s), void *rwork, int *iwork, int *info);

typedef enum lstsq_driver { LSTSQ_GELS, LSTSQ_GELSY, LSTSQ_GELSD, LSTSQ_GELSS } lstsq_driver;

typedef struct lstsq_call {
    lstsq_driver driver;
    linalg_batch size; /* of A */
    int nrhs, rows;    /* rows of the buffer for B and the solution: max(m, n) */
    double rcond;
    tensor *a, *b;    /* column-major, overwritten */
    tensor *rank, *s; /* may be NULL */
} lstsq_call;

/* One matrix, or, with lwork == -1, the question for the room needed (answered in work[0],
 * reals[0], iwork[0]). */
static int lstsq_one(const lstsq_call *c, int64_t i, void *work, int lwork, void *reals,
                     int *iwork) {
    const linalg_batch *z = &c->size;
    int lda = z->m > 1 ? z->m : 1, ldb = c->rows > 1 ? c->rows : 1, failed = 0, rank = 0;
    float rcond_f = (float)c->rcond;
    const void *rcond = z->wide ? (const void *)&c->rcond : (const void *)&rcond_f;
    void *a = linalg_at(z, c->a, i, (int64_t)z->m * z->n);
    void *b = linalg_at(z, c->b, i, (int64_t)c->rows * c->nrhs);
    void *s = c->s ? linalg_at(z, c->s, i, z->m < z->n ? z->m : z->n) : NULL;
    switch (c->driver) {
    case LSTSQ_GELS:
        LAPACK(z, gels, "N", &z->m, &z->n, &c->nrhs, a, &lda, b, &ldb, work, &lwork, &failed);
        break;
    case LSTSQ_GELSY:
        if (lwork != -1) memset(iwork, 0, (size_t)z->n * sizeof(int));
        if (z->paired)
            LAPACK_COMPLEX(gelsy, &z->m, &z->n, &c->nrhs, a, &lda, b, &ldb, iwork, rcond, &rank,
                           work, &lwork, reals, &failed);
        else
            LAPACK_REAL(z->wide, gelsy, &z->m, &z->n, &c->nrhs, a, &lda, b, &ldb, iwork, rcond,
                        &rank, work, &lwork, &failed);
        break;
    case LSTSQ_GELSS:
        if (z->paired)
            LAPACK_COMPLEX(gelss, &z->m, &z->n, &c->nrhs, a, &lda, b, &ldb, s, rcond, &rank, work,
                           &lwork, reals, &failed);
        else
            LAPACK_REAL(z->wide, gelss, &z->m, &z->n, &c->nrhs, a, &lda, b, &ldb, s, rcond, &rank,
                        work, &lwork, &failed);
        break;
    case LSTSQ_GELSD:
        if (z->paired)
            LAPACK_COMPLEX(gelsd, &z->m, &z->n, &c->nrhs, a, &lda, b, &ldb, s, rcond, &rank, work,
                           &lwork, reals, iwork, &failed);
        else
            LAPACK_REAL(z->wide, gelsd, &z->m, &z->n, &c->nrhs, a, &lda, b, &ldb, s, rcond, &rank,
                        work, &lwork, iwork, &failed);
        break;
    }
    if (lwork != -1 && c->driver != LSTSQ_GELS) TENSOR_AT(c->rank, int64_t)[i] = rank;
    return failed;
}

static ctsc_status lstsq_solve(diag *d, lstsq_call *c) {
    double asked[2] = {0}, reals_asked = 0;
    int iasked = 0, failed = 0;
    size_t bytes;
    if (c->size.m == 0 || c->size.n == 0 || c->nrhs == 0 || c->size.count == 0) {
        /* without columns, b is what is left of itself */
        if (c->size.m == 0) memset(tensor_data(c->b), 0, (size_t)c->b->numel * c->size.item);
        if (c->driver != LSTSQ_GELS)
            memset(tensor_data(c->rank), 0, (size_t)c->rank->numel * sizeof(int64_t));
        return CTSC_OK;
    }
    lstsq_one(c, 0, asked, -1, &reals_asked, &iasked);
    double want = linalg_get(c->size.wide, asked, 0);
    int lwork = want > INT32_MAX - 1 ? INT32_MAX : (int)want + 1;
    if (iasked < c->size.n) iasked = c->size.n;
    void *work = size_mul((size_t)lwork, c->size.item, &bytes) ? mem_alloc(bytes) : NULL;
    int *iwork = mem_alloc((size_t)iasked * sizeof(int));
    /* gelsy wants 2n reals, gelss 5 min(m, n); gelsd says how many */
    size_t count = 5 * (size_t)c->rows;
    double want_reals = c->driver == LSTSQ_GELSD ? linalg_get(c->size.wide, &reals_asked, 0) : 0;
    if (want_reals > (double)count) count = (size_t)want_reals;
    void *reals = mem_alloc(count * sizeof(double));
    bool room = work && iwork && reals;
    for (int64_t i = 0; room && !failed && i < c->size.count; i++)
        failed = lstsq_one(c, i, work, lwork, reals, iwork);
    ctsc_status st = room ? CTSC_OK : diag_no_memory(d);
    mem_free(work);
    mem_free(reals);
    mem_free(iwork);
    if (st == CTSC_OK && failed)
        st = diag_fail(
            d, CTSC_FAILED,
            "torch.linalg.lstsq: The least squares solution could not be computed because the "
            "input matrix does not have full rank (error code: %d).",
            failed);
    return st;
}

/* Sums of squares of the residuals below the solution, if any and if all matrices have full rank.
 */
static ctsc_status lstsq_residuals(diag *d, const lstsq_call *c, const tensor *like, tensor **out) {
    int64_t none = 0, nrhs = c->nrhs;
    bool full = c->size.m > c->size.n && c->driver != LSTSQ_GELSY;
    int parts = c->size.paired ? 2 : 1;
    for (int64_t i = 0; full && c->driver != LSTSQ_GELS && i < c->rank->numel; i++)
        full = TENSOR_AT(c->rank, int64_t)[i] == c->size.n;
    dtype real = dtype_part((dtype)like->dtype);
    if (!full) return tensor_new(d, real, 1, &none, out);
    TRY(linalg_new(d, like, real, 1, &nrhs, out));
    for (int64_t i = 0; i < (*out)->numel; i++) {
        const void *col = linalg_at(NULL, c->b, i, c->rows);
        double sum = 0;
        for (int r = parts * c->size.n; r < parts * c->size.m; r++) {
            double v = linalg_get(c->size.wide, col, r);
            sum += v * v;
        }
        linalg_put(c->size.wide, tensor_data(*out), i, sum);
    }
    return CTSC_OK;
}

static ctsc_status lstsq_driver_of(diag *d, const value *v, lstsq_driver *out) {
    static const char *const names[] = {"gels", "gelsy", "gelsd", "gelss"};
    *out = LSTSQ_GELSY;
    if (v->tag == V_NONE) return CTSC_OK;
    for (int i = 0; i < 4; i++)
        if (strcmp(v->u.str->bytes, names[i]) == 0) {
            *out = (lstsq_driver)i;
            return CTSC_OK;
        }
    return diag_fail(
        d, CTSC_FAILED,
        "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
}

/* B in a column-major buffer of max(m, n) rows. */
static ctsc_status lstsq_buffer(diag *d, const tensor *b, int rows, tensor **out) {
    int64_t m = b->sizes[b->ndim - 2], n = b->sizes[b->ndim - 1], size[2] = {n, rows};
    tensor *cols, *t;
    TRY(linalg_columns(d, b, &cols));
    ctsc_status st = linalg_new(d, b, (dtype)b->dtype, 2, size, &t);
    if (st == CTSC_OK) {
        size_t item = dtype_size((dtype)b->dtype);
        memset(tensor_data(t), 0, (size_t)t->numel * item);
        for (int64_t i = 0; m && i < cols->numel / m; i++)
            memcpy((char *)tensor_data(t) + (size_t)(i * rows) * item,
                   (char *)tensor_data(cols) + (size_t)(i * m) * item, (size_t)m * item);
        *out = t;
    }
    tensor_unref(cols);
    return st;
}

/* The first n rows of the buffer; of a vector problem, without the last dim. */
static ctsc_status lstsq_solution(diag *d, const lstsq_call *c, bool vector, tensor **out) {
    tensor *rows, *cut;
    TRY(tensor_transpose(d, c->b, -2, -1, &rows));
    ctsc_status st = tensor_slice(d, rows, -2, 0, c->size.n, 1, &cut);
    tensor_unref(rows);
    if (st != CTSC_OK || !vector) {
        if (st == CTSC_OK) *out = cut;
        return st;
    }
    st = tensor_squeeze_dim(d, cut, -1, out);
    tensor_unref(cut);
    return st;
}

static ctsc_status lstsq_run(diag *d, const tensor *a, const tensor *b, lstsq_driver driver,
                             const value *rcond, bool vector, tensor **r) {
    lstsq_call c = {.driver = driver};
    TRY(linalg_describe(d, a, &c.size));
    if (b->sizes[b->ndim - 1] > INT32_MAX)
        return diag_fail(d, CTSC_LIMIT, "matrix too large for LAPACK");
    c.nrhs = (int)b->sizes[b->ndim - 1];
    c.rows = c.size.m > c.size.n ? c.size.m : c.size.n;
    c.rcond = rcond->tag != V_NONE ? arg_float(rcond)
                                   : (c.size.wide ? DBL_EPSILON : (double)FLT_EPSILON) * c.rows;
    int64_t none = 0, k = c.size.m < c.size.n ? c.size.m : c.size.n;
    bool values = driver == LSTSQ_GELSD || driver == LSTSQ_GELSS;
    ctsc_status st = linalg_columns(d, a, &c.a);
    if (st == CTSC_OK) st = lstsq_buffer(d, b, c.rows, &c.b);
    if (st == CTSC_OK)
        st = driver == LSTSQ_GELS ? tensor_new(d, DT_INT64, 1, &none, &c.rank)
                                  : linalg_new(d, a, DT_INT64, 0, NULL, &c.rank);
    if (st == CTSC_OK)
        st = values ? linalg_new(d, a, dtype_part((dtype)a->dtype), 1, &k, &c.s)
                    : tensor_new(d, dtype_part((dtype)a->dtype), 1, &none, &c.s);
    if (st == CTSC_OK) st = lstsq_solve(d, &c);
    if (st == CTSC_OK) st = lstsq_residuals(d, &c, a, &r[1]);
    if (st == CTSC_OK) {
        st = lstsq_solution(d, &c, vector, &r[0]);
        if (st != CTSC_OK) tensor_unref(r[1]);
    }
    tensor_unref(c.a);
    tensor_unref(c.b);
    if (st != CTSC_OK) {
        tensor_unref(c.rank);
        tensor_unref(c.s);
        return st;
    }
    r[2] = c.rank;
    r[3] = c.s;
    return CTSC_OK;
}

static ctsc_status lstsq_in_double(diag *d, const tensor *a, const tensor *b, lstsq_driver driver,
                                   const value *rcond, bool vector, tensor **r) {
    int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
    value own = rcond->tag != V_NONE ? *rcond
                                     : value_float((double)FLT_EPSILON * (double)(m > n ? m : n));
    tensor *wa = NULL, *wb = NULL;
    ctsc_status st = tensor_to_dtype(d, (tensor *)a, DT_COMPLEX128, &wa);
    if (st == CTSC_OK) st = tensor_to_dtype(d, (tensor *)b, DT_COMPLEX128, &wb);
    if (st == CTSC_OK) st = lstsq_run(d, wa, wb, driver, &own, vector, r);
    tensor_unref(wa);
    tensor_unref(wb);
    if (st != CTSC_OK) return st;
    return linalg_all_to_single(d, 4, (tensor * *[]){&r[0], &r[1], &r[2], &r[3]});
}

/* (self = A, b, rcond, driver) -> solution, residuals, rank, singular_values */
ctsc_status op_linalg_lstsq(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *matrix, *wa, *wb, *r[4] = {NULL};
    const char *name = "torch.linalg.lstsq";
    if (a->ndim < 2)
        return diag_fail(d, CTSC_FAILED, "%s: input must have at least 2 dimensions.", name);
    if (b->ndim < 1)
        return diag_fail(d, CTSC_FAILED, "%s: other must have at least 1 dimension.", name);
    if (a->dtype != b->dtype)
        return diag_fail(
            d, CTSC_FAILED,
            "%s: Expected input and other to have the same dtype, but got input's dtype %s "
            "and other's dtype %s",
            name, dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    TRY(linalg_check_inexact(cx, a, NULL, "torch.linalg.lstsq_cpu"));
    lstsq_driver driver;
    TRY(lstsq_driver_of(d, &args[3], &driver));
    bool vector = b->ndim == a->ndim - 1;
    if (b->ndim != a->ndim && !vector)
        return diag_fail(
            d, CTSC_FAILED,
            "%s: input.dim() must be greater or equal to other.dim() and (input.dim() - "
            "other.dim()) <= 1",
            name);
    if (b->sizes[vector ? b->ndim - 1 : b->ndim - 2] != a->sizes[a->ndim - 2])
        return diag_fail(d, CTSC_FAILED,
                         vector ? "%s: input.size(-2) should match other.size(-1)"
                                : "%s: input.size(-2) should match other.size(-2)",
                         name);
    TRY(vector ? tensor_unsqueeze(d, b, -1, &matrix) : tensor_alias(d, b, &matrix));
    ctsc_status st = linalg_broadcast(d, a, matrix, &wa, &wb);
    tensor_unref(matrix);
    if (st != CTSC_OK) return st;
    st = (a->dtype == DT_COMPLEX64 ? lstsq_in_double : lstsq_run)(d, wa, wb, driver, &args[2],
                                                                  vector, r);
    tensor_unref(wa);
    tensor_unref(wb);
    return st == CTSC_OK ? linalg_finish(cx, args, 4, r, results) : st;
}
