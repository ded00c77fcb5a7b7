/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg.h - what the linear algebra operators share: LAPACK, batches of column-major copies,
 * checks.
 *
 * LAPACK needs contiguous columns. linalg_columns makes such a copy of a batch: the
 * tensor it returns is the transpose, contiguous, and linalg_rows transposes it back by a
 * view. Matrices are float, double, or complex of either. Tests: tests/unit/test_linalg.c
 */
#ifndef CTSC_RUNTIME_KERNELS_LINALG_LINALG_H
#define CTSC_RUNTIME_KERNELS_LINALG_LINALG_H

#include "runtime/kernels/matmul/gemm.h"

#include <string.h>

/* Fortran entry points, for float (s), double (d) and complex numbers of these (c, z). Arrays are
 * untyped so that one call serves all. */
#define LAPACK_DECLARE_REAL(name, ...)                                                             \
    void s##name##_(__VA_ARGS__);                                                                  \
    void d##name##_(__VA_ARGS__)
#define LAPACK_DECLARE_COMPLEX(name, ...)                                                          \
    void c##name##_(__VA_ARGS__);                                                                  \
    void z##name##_(__VA_ARGS__)
#define LAPACK_DECLARE(name, ...)                                                                  \
    LAPACK_DECLARE_REAL(name, __VA_ARGS__);                                                        \
    LAPACK_DECLARE_COMPLEX(name, __VA_ARGS__)
#define LAPACK_REAL(wide, name, ...) ((wide) ? d##name##_(__VA_ARGS__) : s##name##_(__VA_ARGS__))
/* Complex numbers of floats are computed with those of doubles (linalg_in_double): twice as many
 * routines, with all that they call, are not worth their place. */
#define LAPACK_COMPLEX(name, ...) z##name##_(__VA_ARGS__)
/* Of a linalg_batch b, by its dtype; PAIR: where complex numbers have another name; ALL: of complex
 * floats as well. */
#define LAPACK_PAIR(b, real, unitary, ...)                                                         \
    ((b)->paired ? LAPACK_COMPLEX(unitary, __VA_ARGS__) : LAPACK_REAL((b)->wide, real, __VA_ARGS__))
#define LAPACK(b, name, ...) LAPACK_PAIR(b, name, name, __VA_ARGS__)
#define LAPACK_ALL(b, name, ...)                                                                   \
    ((b)->paired && !(b)->wide ? c##name##_(__VA_ARGS__) : LAPACK(b, name, __VA_ARGS__))

/* The matrices of a batch: count of them, m by n each. */
typedef struct linalg_batch {
    int64_t count; /* that are computed: none where geometry alone is wanted */
    int m, n;
    bool wide;   /* double, or complex of doubles */
    bool paired; /* complex */
    size_t item; /* bytes of an element */
} linalg_batch;

/* Matrix i of a contiguous batch of m x n (or n x m) matrices. */
static inline void *linalg_at(const linalg_batch *b, const tensor *t, int64_t i, int64_t elements) {
    (void)b;
    return (char *)tensor_data(t) + (size_t)(i * elements) * dtype_size((dtype)t->dtype);
}
static inline double linalg_get(bool wide, const void *p, int64_t i) {
    return wide ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static inline void linalg_put(bool wide, void *p, int64_t i, double v) {
    if (wide) ((double *)p)[i] = v;
    else ((float *)p)[i] = (float)v;
}
/* Element i of an array of items: out[to] = in[from], or 0. */
static inline void linalg_move(size_t item, void *out, int64_t to, const void *in, int64_t from) {
    memcpy((char *)out + (size_t)to * item, (const char *)in + (size_t)from * item, item);
}
static inline void linalg_clear(size_t item, void *p, int64_t i) {
    memset((char *)p + (size_t)i * item, 0, item);
}

/* Of a tensor with at least two dims; fails beyond LAPACK's 31-bit sizes. Makes LAPACK serial. */
ctsc_status linalg_describe(diag *d, const tensor *t, linalg_batch *out);
ctsc_status linalg_columns(diag *d, const tensor *t, tensor **out);
/* Takes t. */
ctsc_status linalg_rows(diag *d, tensor *t, tensor **out);
/* A tensor of t's batch dims followed by the n sizes of `tail`. */
ctsc_status linalg_new(diag *d, const tensor *t, dtype dt, int n, const int64_t *tail,
                       tensor **out);
/* Ones on the diagonals of the n x n matrices of t, zeros elsewhere. */
void linalg_identity(tensor *t, int64_t n);
/* In place, of a contiguous tensor; nothing to do for real ones. */
void linalg_conjugate(tensor *t);
/* Zeroes the part below (or above) the diagonal of the
 * column-major matrices of t: rows by cols each. */
void linalg_keep_triangle(tensor *t, int64_t rows, int64_t cols, bool upper);

ctsc_status linalg_check_matrix(diag *d, const tensor *t, const char *op, const char *arg);
ctsc_status linalg_check_square(diag *d, const tensor *t, const char *op);
/* Float, double or complex of these; others as PyTorch words it: integers by `op`, half by the CPU
 * kernel's name. */
ctsc_status linalg_check_inexact(op_ctx *cx, const tensor *t, const char *op, const char *kernel);
ctsc_status linalg_check_same_dtype(diag *d, const tensor *a, const tensor *b, const char *op);

/* Are the tensors among the inputs complex numbers of floats? */
bool linalg_is_single_complex(const op_ctx *cx, const value *args);
/* The operator fn with such inputs as complex128, its results in their precision again. */
ctsc_status linalg_in_double(op_ctx *cx, const value *args, value *results, op_fn fn);
#define LINALG_IN_DOUBLE(fn)                                                                       \
    do {                                                                                           \
        if (linalg_is_single_complex(cx, args)) return linalg_in_double(cx, args, results, fn);    \
    } while (0)
/* *t, double or complex128, as float or complex64; others, and NULL, stay. *t is
 * NULL on failure. */
ctsc_status linalg_to_single(diag *d, tensor **t);
/* The same for n tensors: all, or none is left. */
ctsc_status linalg_all_to_single(diag *d, int n, tensor **const *t);

/* The batch dims of a and b broadcast; each expanded to them (views). */
ctsc_status linalg_broadcast(diag *d, tensor *a, tensor *b, tensor **wide_a, tensor **wide_b);

/* Returns the n computed tensors (taken), or writes them to the n out= arguments at the schema's
 * end. */
ctsc_status linalg_finish(op_ctx *cx, const value *args, int n, tensor **computed, value *results);

/* LU factors of all matrices of A. lu: column-major [.., n, m]; pivots int32 [.., min(m, n)], info
 * int32 [..]. */
ctsc_status linalg_lu_compute(diag *d, const tensor *a, tensor **lu, tensor **pivots,
                              tensor **info);
/* Solves A x = b in place, or with A transposed ('T') or adjoint ('C') instead of as it is ('N'):
 * b is column-major with the batch of lu. */
ctsc_status linalg_lu_solve_columns(diag *d, const tensor *lu, const tensor *pivots, tensor *b,
                                    char how);
/* The first nonzero of an int32 tensor, and its index; 0 if there is none. */
int linalg_first_error(const tensor *info, int64_t *index);

/* Singular values, and vectors if u and vh are not NULL: u column-major [.., k or m, m], vh
 * column-major
 * [.., n, k or n]. Refuses NaN in the name of op. */
ctsc_status linalg_svd_compute(op_ctx *cx, const tensor *a, bool full, tensor **u, tensor **s,
                               tensor **vh);
/* Eigenvalues, ascending; vectors column-major [.., n, n] if wanted. */
ctsc_status linalg_eigh_compute(op_ctx *cx, const tensor *a, bool upper, tensor **values,
                                tensor **vectors);
/* inverse of A, with info, as inv_ex returns it */
ctsc_status linalg_inverse_compute(diag *d, const tensor *a, tensor **out, tensor **info);

#endif
