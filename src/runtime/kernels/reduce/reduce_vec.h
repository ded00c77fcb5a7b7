/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_vec.h - vectors and loop templates of the reduction kinds.
 */
#ifndef CTSC_RUNTIME_KERNELS_REDUCE_REDUCE_VEC_H
#define CTSC_RUNTIME_KERNELS_REDUCE_REDUCE_VEC_H

#include "runtime/kernels/reduce/reduce.h"

#include <string.h>

typedef float reduce_v8f __attribute__((vector_size(32)));
typedef int32_t reduce_v8i __attribute__((vector_size(32)));
typedef double reduce_v4d __attribute__((vector_size(32)));
typedef int64_t reduce_v4l __attribute__((vector_size(32)));

enum {
    REDUCE_LANES = 64, /* at least as many as a tile has results */
    REDUCE_STEPS = 16, /* vectors that a lane adds up before it is widened */
};

/* A step function: body sees x (const T *), n, a, j, first. */
#define REDUCE_STEP(name, T, ...)                                                                  \
    static void name(const reduce_job *j, reduce_acc *a, const void *data, int64_t n,              \
                     int64_t first) {                                                              \
        const T *x = data;                                                                         \
        (void)j, (void)first;                                                                      \
        __VA_ARGS__                                                                                \
    }

/* The sum of the n elements of a, n a power of 2, by halves: fewer additions wait
 * for each other. */
static inline double reduce_halves(double *a, int n) {
    for (int h = n / 2; h > 0; h /= 2)
        for (int k = 0; k < h; k++) a[k] += a[k + h];
    return a[0];
}

/* double name(const T *x, int64_t n): the sum of EXPR over the values. Each of 4 vectors adds
 * REDUCE_STEPS terms in T (the first a few more at the end); what comes out is added in double.
 * VEXPR is EXPR on a vector V, VI the integer vector of its shape. */
#define REDUCE_VECTOR_SUM(name, T, V, VI, L, VEXPR, EXPR)                                          \
    REDUCE_HOT double name(const T *x, int64_t n) {                                                \
        double total = 0;                                                                          \
        while (n >= (L)) {                                                                         \
            int64_t steps = reduce_min_i64(n / (4 * (L)), REDUCE_STEPS);                           \
            V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, v0, v1, v2, v3;                              \
            for (int64_t k = 0; k < steps; k++, x += 4 * (L)) {                                    \
                memcpy(&v0, x, sizeof v0), memcpy(&v1, x + (L), sizeof v1);                        \
                memcpy(&v2, x + 2 * (L), sizeof v2), memcpy(&v3, x + 3 * (L), sizeof v3);          \
                s0 += VEXPR(v0, VI), s1 += VEXPR(v1, VI);                                          \
                s2 += VEXPR(v2, VI), s3 += VEXPR(v3, VI);                                          \
            }                                                                                      \
            n -= steps * 4 * (L);                                                                  \
            for (; steps < REDUCE_STEPS && n >= (L); n -= (L), x += (L)) {                         \
                memcpy(&v0, x, sizeof v0);                                                         \
                s0 += VEXPR(v0, VI);                                                               \
            }                                                                                      \
            s0 = (s0 + s1) + (s2 + s3);                                                            \
            double lane[L];                                                                        \
            for (int k = 0; k < (L); k++) lane[k] = (double)s0[k];                                 \
            total += reduce_halves(lane, L);                                                       \
        }                                                                                          \
        for (int64_t k = 0; k < n; k++) total += (double)EXPR(x[k]);                               \
        return total;                                                                              \
    }

/* The sum of n values (reduce_sum.c). */
double reduce_total_f32(const float *x, int64_t n);
double reduce_total_f64(const double *x, int64_t n);

#endif
