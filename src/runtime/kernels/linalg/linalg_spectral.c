/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg_spectral.c - singular values and eigenvalues, and what is decided by them: pinv,
 * matrix_rank, cond. Tests: tests/unit/test_linalg.c
 */
#include "base/text/text.h"
#include "runtime/kernels/linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GESDD_ARGS                                                                                 \
    const char *jobz, const int *m, const int *n, void *a, const int *lda, void *s, void *u,       \
        const int *ldu, void *vt, const int *ldvt, void *work, const int *lwork
LAPACK_DECLARE_REAL(gesdd, GESDD_ARGS, int *iwork, int *info);
LAPACK_DECLARE_COMPLEX(gesdd, GESDD_ARGS, void *rwork, int *iwork, int *info);
#define SYEVD_ARGS                                                                                 \
    const char *jobz, const char *uplo, const int *n, void *a, const int *lda, void *w,            \
        void *work, const int *lwork
LAPACK_DECLARE_REAL(syevd, SYEVD_ARGS, int *iwork, const int *liwork, int *info);
LAPACK_DECLARE_COMPLEX(heevd, SYEVD_ARGS, void *rwork, const int *lrwork, int *iwork,
                       const int *liwork, int *info);
LAPACK_DECLARE_REAL(geev, const char *jobvl, const char *jobvr, const int *n, void *a,
                    const int *lda, void *wr, void *wi, void *vl, const int *ldvl, void *vr,
                    const int *ldvr, void *work, const int *lwork, int *info);
LAPACK_DECLARE_COMPLEX(geev, const char *jobvl, const char *jobvr, const int *n, void *a,
                       const int *lda, void *w, void *vl, const int *ldvl, void *vr,
                       const int *ldvr, void *work, const int *lwork, void *rwork, int *info);

static int spectral_ld(int64_t n) { return n > 1 ? (int)n : 1; }

/* The length LAPACK asked for, left in work[0]. */
static int spectral_lwork(bool wide, const void *work) {
    double n = linalg_get(wide, work, 0);
    return n > INT32_MAX - 1 ? INT32_MAX : (int)n + 1;
}

/* ---- singular values ------------------------------------------------------------------------- */

/* The room for reals that complex gesdd wants, in elements: for every job and version of LAPACK. */
static size_t svd_reals(int m, int n) {
    size_t k = (size_t)(m < n ? m : n), longer = (size_t)(m < n ? n : m);
    return k * (2 * longer + 5 * k + 7) + 1;
}

static void svd_one(const linalg_batch *b, const char *job, void *a, const int *lda, void *s,
                    void *u, const int *ldu, void *vh, const int *ldvh, void *work,
                    const int *lwork, void *reals, int *iwork, int *failed) {
    if (b->paired)
        LAPACK_COMPLEX(gesdd, job, &b->m, &b->n, a, lda, s, u, ldu, vh, ldvh, work, lwork, reals,
                       iwork, failed);
    else
        LAPACK_REAL(b->wide, gesdd, job, &b->m, &b->n, a, lda, s, u, ldu, vh, ldvh, work, lwork,
                    iwork, failed);
}

/* a is overwritten. Returns LAPACK's code. */
static ctsc_status svd_batches(diag *d, const linalg_batch *b, char job, tensor *a, tensor *u,
                               tensor *s, tensor *vh, int *failed, int64_t *index) {
    int k = b->m < b->n ? b->m : b->n, lda = spectral_ld(b->m), ucols = job == 'A' ? b->m : k;
    int ldvt = spectral_ld(job == 'A' ? b->n : k), lwork = -1, one = 1;
    char text[2] = {job, 0};
    size_t bytes;
    double asked[2] = {0}; /* of one element */
    int *iwork = mem_alloc((size_t)k * 8 * sizeof(int));
    void *reals = b->paired ? mem_alloc(svd_reals(b->m, b->n) * b->item / 2) : NULL;
    if (!iwork || (b->paired && !reals)) {
        mem_free(iwork);
        mem_free(reals);
        return diag_no_memory(d);
    }
    svd_one(b, text, tensor_data(a), &lda, tensor_data(s), NULL, &lda, NULL, &ldvt, asked, &lwork,
            reals, iwork, failed);
    lwork = spectral_lwork(b->wide, asked);
    void *work = size_mul((size_t)lwork, b->item, &bytes) ? mem_alloc(bytes) : NULL;
    *failed = 0;
    bool stopped = false;
    for (int64_t i = 0; work && *failed == 0 && i < b->count && !(stopped = limits_stop()); i++) {
        void *pu = job == 'N' ? NULL : linalg_at(b, u, i, (int64_t)b->m * ucols);
        void *pv = job == 'N' ? NULL : linalg_at(b, vh, i, (int64_t)b->n * ldvt);
        svd_one(b, text, linalg_at(b, a, i, (int64_t)b->m * b->n), &lda, linalg_at(b, s, i, k), pu,
                job == 'N' ? &one : &lda, pv, job == 'N' ? &one : &ldvt, work, &lwork, reals, iwork,
                failed);
        *index = i;
    }
    mem_free(iwork);
    mem_free(reals);
    ctsc_status st = stopped ? limits_fail(d) : work ? CTSC_OK : diag_no_memory(d);
    mem_free(work);
    return st;
}

static ctsc_status svd_report(diag *d, const tensor *a, int failed, int64_t index) {
    char batch[48] = "";
    if (a->ndim > 2) snprintf(batch, sizeof batch, "(Batch element %lld): ", (long long)index);
    if (failed < 0)
        return diag_fail(d, CTSC_FAILED,
                         "linalg.svd: %sThe algorithm failed to converge because the input matrix "
                         "contained non-finite values.",
                         batch);
    return diag_fail(d, CTSC_FAILED,
                     "linalg.svd: %sThe algorithm failed to converge because the input matrix is "
                     "ill-conditioned or has too many repeated singular values (error code: %d).",
                     batch, failed);
}

/* gesdd does not look for NaN in all releases. */
static bool svd_finite(const tensor *t) {
    bool wide = dtype_part((dtype)t->dtype) == DT_FLOAT64;
    int64_t numbers = dtype_is_complex((dtype)t->dtype) ? 2 * t->numel : t->numel;
    for (int64_t i = 0; i < numbers; i++)
        if (!isfinite(linalg_get(wide, tensor_data(t), i))) return false;
    return true;
}

static ctsc_status svd_in_double(op_ctx *cx, const tensor *a, bool full, tensor **u, tensor **s,
                                 tensor **vh) {
    tensor *wide;
    TRY(tensor_to_dtype(cx->diag, (tensor *)a, DT_COMPLEX128, &wide));
    ctsc_status st = linalg_svd_compute(cx, wide, full, u, s, vh);
    tensor_unref(wide);
    TRY(st);
    return linalg_all_to_single(cx->diag, 3, (tensor * *[]){u, s, vh});
}

ctsc_status linalg_svd_compute(op_ctx *cx, const tensor *a, bool full, tensor **u, tensor **s,
                               tensor **vh) {
    diag *d = cx->diag;
    linalg_batch b;
    if (a->dtype == DT_COMPLEX64) return svd_in_double(cx, a, full, u, s, vh);
    TRY(linalg_describe(d, a, &b));
    int64_t k = b.m < b.n ? b.m : b.n, index = 0;
    int64_t su[2] = {full ? b.m : k, b.m}, sv[2] = {b.n, full ? b.n : k};
    tensor *copy = NULL, *tu = NULL, *ts = NULL, *tv = NULL;
    int failed = 0;
    ctsc_status st = linalg_columns(d, a, &copy);
    if (st == CTSC_OK) st = linalg_new(d, a, dtype_part((dtype)a->dtype), 1, &k, &ts);
    if (st == CTSC_OK && u) st = linalg_new(d, a, (dtype)a->dtype, 2, su, &tu);
    if (st == CTSC_OK && u) st = linalg_new(d, a, (dtype)a->dtype, 2, sv, &tv);
    if (st == CTSC_OK && k == 0 && u && full) {
        linalg_identity(tu, b.m);
        linalg_identity(tv, b.n);
    } else if (st == CTSC_OK && k && !svd_finite(copy)) {
        failed = -4;
    } else if (st == CTSC_OK && k) {
        st = svd_batches(d, &b, u ? (full ? 'A' : 'S') : 'N', copy, tu, ts, tv, &failed, &index);
    }
    if (st == CTSC_OK && failed) st = svd_report(d, a, failed, index);
    tensor_unref(copy);
    if (st != CTSC_OK) {
        tensor_unref(tu);
        tensor_unref(ts);
        tensor_unref(tv);
        return st;
    }
    if (u) *u = tu, *vh = tv;
    *s = ts;
    return CTSC_OK;
}

static ctsc_status svd_check(op_ctx *cx, const tensor *a) {
    TRY(linalg_check_matrix(cx->diag, a, "linalg.svd", "A"));
    return linalg_check_inexact(cx, a, "linalg.svd", "linalg_svd_cpu");
}

/* r: U, S, Vh as rows */
static ctsc_status svd_run(op_ctx *cx, const tensor *a, bool full, tensor **r) {
    tensor *u, *s, *vh;
    TRY(svd_check(cx, a));
    TRY(linalg_svd_compute(cx, a, full, &u, &s, &vh));
    ctsc_status st = linalg_rows(cx->diag, u, &r[0]);
    if (st != CTSC_OK) {
        tensor_unref(s);
        tensor_unref(vh);
        return st;
    }
    st = linalg_rows(cx->diag, vh, &r[2]);
    if (st != CTSC_OK) {
        tensor_unref(r[0]);
        tensor_unref(s);
        return st;
    }
    r[1] = s;
    return CTSC_OK;
}

/* (A, full_matrices, driver) */
ctsc_status op_linalg_svd(op_ctx *cx, const value *args, value *results) {
    tensor *r[3];
    TRY(svd_run(cx, arg_tensor(&args[0]), arg_bool(&args[1]), r));
    return linalg_finish(cx, args, 3, r, results);
}

ctsc_status op_linalg_svdvals(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *s;
    TRY(svd_check(cx, a));
    TRY(linalg_svd_compute(cx, a, false, NULL, &s, NULL));
    return linalg_finish(cx, args, 1, &s, results);
}

/* (self, some, compute_uv): V in place of Vh; without vectors, square ones of zeros */
ctsc_status op_svd(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *r[3] = {NULL}, *v;
    if (arg_bool(&args[2])) {
        TRY(svd_run(cx, a, !arg_bool(&args[1]), r));
        linalg_conjugate(r[2]);
        ctsc_status st = tensor_transpose(d, r[2], -2, -1, &v);
        tensor_unref(r[2]);
        if (st != CTSC_OK) {
            tensor_unref(r[0]);
            tensor_unref(r[1]);
            return st;
        }
        r[2] = v;
        return linalg_finish(cx, args, 3, r, results);
    }
    TRY(svd_check(cx, a));
    int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
    int64_t su[2] = {m, m}, sv[2] = {n, n};
    TRY(linalg_svd_compute(cx, a, false, NULL, &r[1], NULL));
    ctsc_status st = linalg_new(d, a, (dtype)a->dtype, 2, su, &r[0]);
    if (st == CTSC_OK) st = linalg_new(d, a, (dtype)a->dtype, 2, sv, &r[2]);
    if (st != CTSC_OK) {
        tensor_unref(r[0]);
        tensor_unref(r[1]);
        return st;
    }
    for (int i = 0; i < 3; i += 2)
        memset(tensor_data(r[i]), 0, (size_t)r[i]->numel * dtype_size((dtype)r[i]->dtype));
    return linalg_finish(cx, args, 3, r, results);
}

/* ---- symmetric eigenvalues ------------------------------------------------------------------- */

static void eigh_one(const linalg_batch *b, const char *job, const char *uplo, void *a, void *w,
                     void *work, void *reals, int *iwork, const int *lengths, int *failed) {
    int lda = spectral_ld(b->n);
    if (b->paired)
        LAPACK_COMPLEX(heevd, job, uplo, &b->n, a, &lda, w, work, &lengths[0], reals, &lengths[1],
                       iwork, &lengths[2], failed);
    else
        LAPACK_REAL(b->wide, syevd, job, uplo, &b->n, a, &lda, w, work, &lengths[0], iwork,
                    &lengths[2], failed);
}

static ctsc_status eigh_batches(diag *d, const linalg_batch *b, const char *job, const char *uplo,
                                tensor *f, tensor *w, int *failed) {
    int lengths[3] = {-1, -1, -1}, iasked = 0; /* of work, of reals, of iwork */
    double asked[2] = {0}, reals_asked = 0;
    size_t bytes;
    eigh_one(b, job, uplo, tensor_data(f), tensor_data(w), asked, &reals_asked, &iasked, lengths,
             failed);
    lengths[0] = spectral_lwork(b->wide, asked);
    lengths[1] = b->paired ? spectral_lwork(b->wide, &reals_asked) : 1;
    lengths[2] = iasked > 1 ? iasked : 1;
    void *work = size_mul((size_t)lengths[0], b->item, &bytes) ? mem_alloc(bytes) : NULL;
    void *reals = size_mul((size_t)lengths[1], b->item, &bytes) ? mem_alloc(bytes) : NULL;
    int *iwork = mem_alloc((size_t)lengths[2] * sizeof(int));
    *failed = 0;
    bool stopped = false, room = work && reals && iwork;
    for (int64_t i = 0; room && *failed == 0 && i < b->count && !(stopped = limits_stop()); i++)
        eigh_one(b, job, uplo, linalg_at(b, f, i, (int64_t)b->n * b->n), linalg_at(b, w, i, b->n),
                 work, reals, iwork, lengths, failed);
    ctsc_status st = stopped ? limits_fail(d) : room ? CTSC_OK : diag_no_memory(d);
    mem_free(work);
    mem_free(reals);
    mem_free(iwork);
    return st;
}

static ctsc_status eigh_in_double(op_ctx *cx, const tensor *a, bool upper, tensor **values,
                                  tensor **vectors) {
    tensor *wide;
    TRY(tensor_to_dtype(cx->diag, (tensor *)a, DT_COMPLEX128, &wide));
    ctsc_status st = linalg_eigh_compute(cx, wide, upper, values, vectors);
    tensor_unref(wide);
    TRY(st);
    return linalg_all_to_single(cx->diag, 2, (tensor * *[]){values, vectors});
}

ctsc_status linalg_eigh_compute(op_ctx *cx, const tensor *a, bool upper, tensor **values,
                                tensor **vectors) {
    diag *d = cx->diag;
    linalg_batch b;
    if (a->dtype == DT_COMPLEX64) return eigh_in_double(cx, a, upper, values, vectors);
    TRY(linalg_describe(d, a, &b));
    int64_t n = b.n;
    tensor *f = NULL, *w = NULL;
    int failed = 0;
    ctsc_status st = linalg_columns(d, a, &f);
    if (st == CTSC_OK) st = linalg_new(d, a, dtype_part((dtype)a->dtype), 1, &n, &w);
    if (st == CTSC_OK && n)
        st = eigh_batches(d, &b, vectors ? "V" : "N", upper ? "U" : "L", f, w, &failed);
    if (st == CTSC_OK && failed > 0)
        st = diag_fail(d, CTSC_FAILED,
                       "linalg.eigh: The algorithm failed to converge because the input matrix is "
                       "ill-conditioned or has too many repeated eigenvalues (error code: %d).",
                       failed);
    if (st != CTSC_OK || !vectors) tensor_unref(f);
    if (st != CTSC_OK) {
        tensor_unref(w);
        return st;
    }
    if (vectors) *vectors = f;
    *values = w;
    return CTSC_OK;
}

static ctsc_status eigh_run(op_ctx *cx, const tensor *a, bool upper, bool vectors, tensor **r) {
    TRY(linalg_check_square(cx->diag, a, "linalg.eigh"));
    TRY(linalg_check_inexact(cx, a, NULL, "linalg_eigh_cpu"));
    tensor *v = NULL;
    TRY(linalg_eigh_compute(cx, a, upper, &r[0], vectors ? &v : NULL));
    if (!vectors) return CTSC_OK;
    ctsc_status st = linalg_rows(cx->diag, v, &r[1]);
    if (st != CTSC_OK) tensor_unref(r[0]);
    return st;
}

static ctsc_status eigh_uplo(op_ctx *cx, const value *v, bool *upper) {
    const str *s = v->u.str;
    char c = s->len ? s->bytes[0] : 0;
    if (s->len != 1 || (c != 'L' && c != 'l' && c != 'U' && c != 'u'))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Expected UPLO argument to be 'L' or 'U', but got %s", s->bytes);
    *upper = c == 'U' || c == 'u';
    return CTSC_OK;
}

/* (self, UPLO) */
ctsc_status op_linalg_eigh(op_ctx *cx, const value *args, value *results) {
    bool upper = false;
    tensor *r[2];
    TRY(eigh_uplo(cx, &args[1], &upper));
    TRY(eigh_run(cx, arg_tensor(&args[0]), upper, true, r));
    return linalg_finish(cx, args, 2, r, results);
}
ctsc_status op_linalg_eigvalsh(op_ctx *cx, const value *args, value *results) {
    bool upper = false;
    tensor *r[2];
    TRY(eigh_uplo(cx, &args[1], &upper));
    TRY(eigh_run(cx, arg_tensor(&args[0]), upper, false, r));
    return linalg_finish(cx, args, 1, r, results);
}
/* (self, eigenvectors, upper): an empty second result without vectors */
ctsc_status op_symeig(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *r[2];
    bool vectors = arg_bool(&args[1]);
    int64_t none = 0;
    TRY(eigh_run(cx, a, arg_bool(&args[2]), vectors, r));
    if (!vectors) {
        ctsc_status st = a->numel ? tensor_new(cx->diag, (dtype)a->dtype, 1, &none, &r[1])
                                  : tensor_new_like(cx->diag, a, (dtype)a->dtype, &r[1]);
        if (st != CTSC_OK) {
            tensor_unref(r[0]);
            return st;
        }
    }
    return linalg_finish(cx, args, 2, r, results);
}

/* ---- general eigenvalues: complex ------------------------------------------------------------ */

static void eig_store(bool wide, tensor *t, int64_t i, double re, double im) {
    if (wide) TENSOR_AT(t, complex128)[i] = (complex128){re, im};
    else TENSOR_AT(t, complex64)[i] = (complex64){(float)re, (float)im};
}

/* Real eigenvectors come in pairs of columns, real and imaginary part, for a pair of conjugate
 * values. */
static void eig_vectors(bool wide, int64_t n, const void *wi, const void *vr, tensor *out,
                        int64_t base) {
    for (int64_t c = 0; c < n; c++) {
        bool pair = linalg_get(wide, wi, c) != 0 && c + 1 < n;
        for (int64_t r = 0; r < n; r++) {
            double re = linalg_get(wide, vr, c * n + r);
            double im = pair ? linalg_get(wide, vr, (c + 1) * n + r) : 0;
            eig_store(wide, out, base + c * n + r, re, im);
            if (pair) eig_store(wide, out, base + (c + 1) * n + r, re, -im);
        }
        if (pair) c++;
    }
}

/* One matrix. room: of eig_room elements. Returns LAPACK's code. */
static int64_t eig_room(int64_t n) { return n * n + 2 * n + 64 * n + 8; } /* n < 2^29 */
static int eig_one(const linalg_batch *b, void *a, char *room, tensor *w, tensor *v, int64_t i) {
    int64_t n = b->n;
    int lda = spectral_ld(n), one = 1, lwork = 64 * b->n + 8, failed = 0;
    char *wr = room, *wi = wr + (size_t)n * b->item, *vr = wi + (size_t)n * b->item;
    char *work = vr + (size_t)(n * n) * b->item;
    if (b->paired) { /* wi: room for 2n reals */
        LAPACK_COMPLEX(geev, "N", v ? "V" : "N", &b->n, a, &lda, wr, NULL, &one, vr, &lda, work,
                       &lwork, wi, &failed);
        memcpy(linalg_at(b, w, i, n), wr, (size_t)n * b->item);
        if (v) memcpy(linalg_at(b, v, i, n * n), vr, (size_t)(n * n) * b->item);
        return failed;
    }
    LAPACK_REAL(b->wide, geev, "N", v ? "V" : "N", &b->n, a, &lda, wr, wi, NULL, &one, vr, &lda,
                work, &lwork, &failed);
    for (int64_t k = 0; k < n; k++)
        eig_store(b->wide, w, i * n + k, linalg_get(b->wide, wr, k), linalg_get(b->wide, wi, k));
    if (v) eig_vectors(b->wide, n, wi, vr, v, i * n * n);
    return failed;
}

static ctsc_status eig_run(op_ctx *cx, const tensor *a, tensor **values, tensor **vectors) {
    diag *d = cx->diag;
    linalg_batch b;
    TRY(linalg_check_square(d, a, "linalg.eig"));
    TRY(linalg_check_inexact(cx, a, NULL, "linalg_eig_out_cpu"));
    TRY(linalg_describe(d, a, &b));
    int64_t n = b.n, square[2] = {n, n};
    dtype dt = b.wide ? DT_COMPLEX128 : DT_COMPLEX64;
    tensor *f = NULL, *w = NULL, *v = NULL;
    ctsc_status st = linalg_columns(d, a, &f);
    if (st == CTSC_OK && !svd_finite(f))
        st = diag_fail(d, CTSC_FAILED,
                       "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    if (st == CTSC_OK) st = linalg_new(d, a, dt, 1, &n, &w);
    if (st == CTSC_OK && vectors) st = linalg_new(d, a, dt, 2, square, &v);
    char *room = st == CTSC_OK ? mem_alloc((size_t)eig_room(n) * b.item) : NULL;
    if (st == CTSC_OK && !room) st = diag_no_memory(d);
    for (int64_t i = 0; st == CTSC_OK && n && i < b.count; i++) {
        int failed = eig_one(&b, linalg_at(&b, f, i, n * n), room, w, v, i);
        if (failed > 0)
            st = diag_fail(
                d, CTSC_FAILED,
                "linalg.eig: The algorithm failed to converge because the input matrix is "
                "ill-conditioned or has too many repeated eigenvalues (error code: %d).",
                failed);
    }
    mem_free(room);
    tensor_unref(f);
    if (st == CTSC_OK && vectors) st = linalg_rows(d, v, vectors);
    else tensor_unref(v);
    if (st == CTSC_OK) *values = w;
    else tensor_unref(w);
    return st;
}

ctsc_status op_linalg_eig(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_linalg_eig);
    tensor *r[2];
    TRY(eig_run(cx, arg_tensor(&args[0]), &r[0], &r[1]));
    return linalg_finish(cx, args, 2, r, results);
}
ctsc_status op_linalg_eigvals(op_ctx *cx, const value *args, value *results) {
    LINALG_IN_DOUBLE(op_linalg_eigvals);
    tensor *r[1];
    TRY(eig_run(cx, arg_tensor(&args[0]), &r[0], NULL));
    return linalg_finish(cx, args, 1, r, results);
}

/* ---- tolerances ------------------------------------------------------------------------------ */

/* Singular values up to max(absolute, relative * largest) count as zero. NULL members: not given.
 */
typedef struct rank_tolerance {
    const value *absolute, *relative;
    bool hermitian;
} rank_tolerance;

/* The i-th of a tolerance that is a number or a tensor that broadcasts to the batch. */
static ctsc_status rank_read(diag *d, const value *v, const tensor *a, int64_t i, double *out) {
    if (v->tag != V_TENSOR) {
        *out = arg_float(v);
        return CTSC_OK;
    }
    tensor *wide, *flat;
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int k = 0; k < a->ndim - 2; k++) sizes[k] = a->sizes[k];
    TRY(tensor_expand(d, v->u.tensor, a->ndim - 2, sizes, &wide));
    ctsc_status st = tensor_contiguous(d, wide, &flat);
    tensor_unref(wide);
    if (st != CTSC_OK) return st;
    dtype dt = (dtype)flat->dtype;
    *out = dtype_load_float(dt, (char *)tensor_data(flat) + (size_t)i * dtype_size(dt));
    tensor_unref(flat);
    return CTSC_OK;
}

static bool rank_given(const value *v) { return v && v->tag != V_NONE; }

/* a, expanded to the batch that it and the tolerances broadcast to. */
static ctsc_status rank_widen(diag *d, const rank_tolerance *t, const char *name, tensor *a,
                              tensor **out) {
    const value *given[2] = {t->absolute, t->relative};
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = a->ndim - 2;
    for (int k = 0; k < ndim; k++) sizes[k] = a->sizes[k];
    for (int i = 0; i < 2; i++) {
        if (!given[i] || given[i]->tag != V_TENSOR) continue;
        const tensor *limit = given[i]->u.tensor;
        if (dtype_is_complex((dtype)limit->dtype))
            return diag_fail(d, CTSC_FAILED,
                             "torch.%s: %s tensor of complex type is not supported. Got %s", name,
                             i ? "rtol" : "atol", dtype_table[limit->dtype].ir_name);
        int64_t batch[TENSOR_MAX_DIMS];
        for (int k = 0; k < ndim; k++) batch[k] = sizes[k];
        TRY(broadcast_sizes(d, ndim, batch, limit->ndim, limit->sizes, &ndim, sizes));
    }
    if (ndim + 2 > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_FAILED, "tensor has too many (>%d) dims", TENSOR_MAX_DIMS);
    for (int k = 0; k < 2; k++) sizes[ndim + k] = a->sizes[a->ndim - 2 + k];
    return tensor_expand(d, a, ndim + 2, sizes, out);
}

static ctsc_status rank_cutoff(diag *d, const rank_tolerance *t, const tensor *a, int64_t i,
                               double largest, double *out) {
    int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
    double absolute = 0;
    double relative = (dtype_part((dtype)a->dtype) == DT_FLOAT64 ? DBL_EPSILON
                                                                 : (double)FLT_EPSILON) *
                      (double)(m > n ? m : n);
    if (rank_given(t->absolute)) TRY(rank_read(d, t->absolute, a, i, &absolute));
    if (rank_given(t->relative)) TRY(rank_read(d, t->relative, a, i, &relative));
    else if (rank_given(t->absolute) && absolute > 0) relative = 0;
    *out = fmax(absolute, relative * largest);
    return CTSC_OK;
}

/* Values [.., k] of a matrix: singular values, or eigenvalues of a hermitian one. */
static ctsc_status rank_values(op_ctx *cx, const tensor *a, bool hermitian, tensor **s) {
    if (hermitian) return eigh_run(cx, a, false, false, s);
    TRY(svd_check(cx, a));
    return linalg_svd_compute(cx, a, false, NULL, s, NULL);
}

static ctsc_status rank_run(op_ctx *cx, const value *args, const rank_tolerance *t,
                            value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *s = NULL, *r = NULL;
    TRY(linalg_check_matrix(d, a, "torch.linalg.matrix_rank", "input"));
    if (!dtype_is_float((dtype)a->dtype) && !dtype_is_complex((dtype)a->dtype))
        return diag_fail(d, CTSC_FAILED,
                         "This function doesn't handle types other than float and double");
    TRY(rank_widen(d, t, "linalg.matrix_rank", a, &a));
    ctsc_status st = rank_values(cx, a, t->hermitian, &s);
    if (st == CTSC_OK) st = linalg_new(d, a, DT_INT64, 0, NULL, &r);
    if (st != CTSC_OK) {
        tensor_unref(s);
        tensor_unref(a);
        return st;
    }
    int64_t k = s->sizes[s->ndim - 1];
    bool wide = s->dtype == DT_FLOAT64;
    for (int64_t i = 0; st == CTSC_OK && i < r->numel; i++) {
        const void *p = linalg_at(NULL, s, i, k);
        double largest = 0, cut = 0;
        int64_t rank = 0;
        for (int64_t j = 0; j < k; j++) largest = fmax(largest, fabs(linalg_get(wide, p, j)));
        st = rank_cutoff(d, t, a, i, largest, &cut);
        for (int64_t j = 0; j < k; j++) rank += fabs(linalg_get(wide, p, j)) > cut;
        TENSOR_AT(r, int64_t)[i] = rank;
    }
    tensor_unref(s);
    tensor_unref(a);
    if (st != CTSC_OK) {
        tensor_unref(r);
        return st;
    }
    return linalg_finish(cx, args, 1, &r, results);
}

/* (self, tol, hermitian): tol is absolute and alone counts */
ctsc_status op_linalg_matrix_rank_tol(op_ctx *cx, const value *args, value *results) {
    value zero = value_float(0);
    rank_tolerance t = {&args[1], &zero, arg_bool(&args[2])};
    return rank_run(cx, args, &t, results);
}
/* (self, atol, rtol, hermitian) */
ctsc_status op_linalg_matrix_rank(op_ctx *cx, const value *args, value *results) {
    rank_tolerance t = {&args[1], &args[2], arg_bool(&args[3])};
    return rank_run(cx, args, &t, results);
}

/* ---- pseudo-inverse -------------------------------------------------------------------------- */

/* u: column-major [.., k, m], v: [.., k, n] with the adjoint's vectors as rows; out[n, m] = sum of
 * v s^-1 u' */
static ctsc_status pinv_products(diag *d, const rank_tolerance *t, const tensor *a, tensor *u,
                                 const tensor *s, const tensor *v, tensor *out) {
    int64_t k = s->sizes[s->ndim - 1], m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
    bool wide = s->dtype == DT_FLOAT64;
    int64_t count = out->numel / (m * n), parts = dtype_is_complex((dtype)a->dtype) ? 2 : 1;
    for (int64_t i = 0; i < count; i++) {
        const void *ps = linalg_at(NULL, s, i, k);
        void *pu = linalg_at(NULL, u, i, k * m);
        double largest = 0, cut = 0;
        for (int64_t j = 0; j < k; j++) largest = fmax(largest, fabs(linalg_get(wide, ps, j)));
        TRY(rank_cutoff(d, t, a, i, largest, &cut));
        for (int64_t j = 0; j < k; j++) {
            double value = linalg_get(wide, ps, j), f = fabs(value) > cut ? 1 / value : 0;
            for (int64_t r = j * m * parts; r < (j + 1) * m * parts; r++)
                linalg_put(wide, pu, r, linalg_get(wide, pu, r) * f);
        }
        gemm_matrix left = {linalg_at(NULL, v, i, k * n), 1, n}, right = {pu, m, 1};
        TRY(gemm_run(d, (dtype)a->dtype, n, m, k, gemm_one, left, right, gemm_zero,
                     linalg_at(NULL, out, i, m * n), m));
    }
    linalg_conjugate(out);
    return CTSC_OK;
}

static ctsc_status pinv_vectors(op_ctx *cx, const tensor *a, bool hermitian, tensor **u, tensor **s,
                                tensor **v) {
    diag *d = cx->diag;
    if (hermitian) {
        TRY(linalg_check_square(d, a, "linalg.eigh"));
        TRY(linalg_eigh_compute(cx, a, false, s, u));
        TRY(tensor_clone(d, *u, v));
        linalg_conjugate(*v);
        return CTSC_OK;
    }
    tensor *vh, *transposed;
    TRY(linalg_svd_compute(cx, a, false, u, s, &vh));
    /* vh is column-major: its transpose has the vectors as rows */
    ctsc_status st = tensor_transpose(d, vh, -2, -1, &transposed);
    if (st == CTSC_OK) {
        st = tensor_clone(d, transposed, v);
        tensor_unref(transposed);
    }
    tensor_unref(vh);
    return st;
}

static ctsc_status pinv_run(op_ctx *cx, const value *args, const rank_tolerance *t,
                            value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *u = NULL, *s = NULL, *v = NULL, *out = NULL;
    dtype part = dtype_part((dtype)a->dtype);
    if (a->ndim < 2 || (part != DT_FLOAT32 && part != DT_FLOAT64)) {
        strbuf sb = STRBUF_INIT;
        tensor_print_sizes(a->ndim, a->sizes, &sb);
        diag_fail(
            d, CTSC_FAILED,
            "linalg.pinv(%s{%s}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types",
            dtype_table[a->dtype].ir_name, sb_str(&sb));
        sb_free(&sb);
        return CTSC_FAILED;
    }
    int64_t size[2] = {a->sizes[a->ndim - 1], a->sizes[a->ndim - 2]};
    if (a->numel) TRY(rank_widen(d, t, "linalg.pinv", a, &a));
    else tensor_ref(a); /* PyTorch looks at no tolerance then */
    ctsc_status st = linalg_new(d, a, (dtype)a->dtype, 2, size, &out);
    if (st == CTSC_OK && out->numel) {
        st = pinv_vectors(cx, a, t->hermitian, &u, &s, &v);
        if (st == CTSC_OK) st = pinv_products(d, t, a, u, s, v, out);
        tensor_unref(u);
        tensor_unref(s);
        tensor_unref(v);
    }
    tensor_unref(a);
    if (st != CTSC_OK) {
        tensor_unref(out);
        return st;
    }
    return linalg_finish(cx, args, 1, &out, results);
}

/* (self, rcond, hermitian) */
ctsc_status op_linalg_pinv_rcond(op_ctx *cx, const value *args, value *results) {
    rank_tolerance t = {NULL, &args[1], arg_bool(&args[2])};
    return pinv_run(cx, args, &t, results);
}
/* (self, atol, rtol, hermitian) */
ctsc_status op_linalg_pinv(op_ctx *cx, const value *args, value *results) {
    rank_tolerance t = {&args[1], &args[2], arg_bool(&args[3])};
    return pinv_run(cx, args, &t, results);
}
/* (self, rcond) */
ctsc_status op_pinverse(op_ctx *cx, const value *args, value *results) {
    rank_tolerance t = {NULL, &args[1], false};
    return pinv_run(cx, args, &t, results);
}

/* ---- condition ------------------------------------------------------------------------------- */

static ctsc_status cond_by_values(op_ctx *cx, const value *args, bool inverted, value *results) {
    tensor *a = arg_tensor(&args[0]), *s, *r;
    TRY(svd_check(cx, a));
    TRY(linalg_svd_compute(cx, a, false, NULL, &s, NULL));
    ctsc_status st = linalg_new(cx->diag, a, (dtype)s->dtype, 0, NULL, &r);
    if (st == CTSC_OK) {
        int64_t k = s->sizes[s->ndim - 1];
        bool wide = s->dtype == DT_FLOAT64;
        for (int64_t i = 0; i < r->numel; i++) {
            const void *p = linalg_at(NULL, s, i, k);
            double first = k ? linalg_get(wide, p, 0) : 0,
                   last = k ? linalg_get(wide, p, k - 1) : 0;
            double v = inverted ? last / first : first / last;
            linalg_put(wide, tensor_data(r), i, k == 0 ? 0 : v);
        }
        st = linalg_finish(cx, args, 1, &r, results);
    }
    tensor_unref(s);
    return st;
}

static ctsc_status cond_norm(op_ctx *cx, tensor *a, const value *p, tensor **out) {
    value args[2] = {value_tensor_take(a), *p}, r = value_none();
    TRY(op_call(cx,
                p->tag == V_STR ? "aten::linalg_matrix_norm.str_ord" : "aten::linalg_matrix_norm",
                2, args, &r));
    *out = r.u.tensor;
    return CTSC_OK;
}

/* norm(A) * norm(inverse of A); infinite for singular matrices */
static ctsc_status cond_by_inverse(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *inverse = NULL, *info = NULL, *na = NULL, *ni = NULL;
    if (a->numel == 0) {
        TRY(linalg_new(d, a, dtype_part((dtype)a->dtype), 0, NULL, &na));
        memset(tensor_data(na), 0, (size_t)na->numel * dtype_size((dtype)na->dtype));
        return linalg_finish(cx, args, 1, &na, results);
    }
    TRY(linalg_inverse_compute(d, a, &inverse, &info));
    ctsc_status st = cond_norm(cx, a, &args[1], &na);
    if (st == CTSC_OK) st = cond_norm(cx, inverse, &args[1], &ni);
    bool wide = dtype_part((dtype)a->dtype) == DT_FLOAT64;
    for (int64_t i = 0; st == CTSC_OK && i < na->numel; i++) {
        double v = linalg_get(wide, tensor_data(na), i) * linalg_get(wide, tensor_data(ni), i);
        linalg_put(wide, tensor_data(na), i, TENSOR_AT(info, int32_t)[i] ? INFINITY : v);
    }
    tensor_unref(inverse);
    tensor_unref(info);
    tensor_unref(ni);
    if (st != CTSC_OK) {
        tensor_unref(na);
        return st;
    }
    return linalg_finish(cx, args, 1, &na, results);
}

/* (self, p) */
ctsc_status op_linalg_cond(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]);
    const value *p = &args[1];
    if (a->ndim < 2)
        return diag_fail(d, CTSC_FAILED,
                         "linalg.cond: The input tensor must have at least 2 dimensions.");
    char name[40];
    if (p->tag == V_STR) {
        if (strcmp(p->u.str->bytes, "fro") != 0 && strcmp(p->u.str->bytes, "nuc") != 0)
            return diag_fail(d, CTSC_FAILED, "linalg.cond got an invalid norm type: %s",
                             p->u.str->bytes);
        snprintf(name, sizeof name, "linalg.cond(ord=%s)", p->u.str->bytes);
    } else if (p->tag != V_NONE) {
        double v = arg_float(p);
        if (v == 2 || v == -2) return cond_by_values(cx, args, v < 0, results);
        if (v != 1 && v != -1 && !isinf(v))
            return diag_fail(d, CTSC_FAILED, "linalg.cond got an invalid norm type: %g", v);
        text_print(name, sizeof name, "linalg.cond(ord=%g)", v);
    } else {
        return cond_by_values(cx, args, false, results);
    }
    TRY(linalg_check_square(d, a, name));
    TRY(linalg_check_inexact(cx, a, "linalg.cond", "lu_cpu"));
    return cond_by_inverse(cx, args, results);
}
