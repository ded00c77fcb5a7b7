/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nn.h - what the kernels of neural-network layers (norm, pool, softmax, loss, upsample, vision)
 * share.
 *
 * These kernels work on contiguous tensors of float or double: half and bfloat16 are widened on the
 * way in and rounded once on the way out (nn_input, nn_finish).
 */
#ifndef CTSC_RUNTIME_KERNELS_NN_NN_H
#define CTSC_RUNTIME_KERNELS_NN_NN_H

#include "runtime/kernels/engine/kernel.h"

#define nn_fail(cx, ...) diag_fail((cx)->diag, CTSC_FAILED, __VA_ARGS__)

/* Marks inner loops worth a second copy for processors with AVX2. */
#define NN_HOT VECTOR_CLONES
#define NN_FUSED VECTOR_FUSED_CLONES

/* Runs a body with T = float or double, the two types nn_input produces. */
#define NN_WIDE(dt, ...)                                                                           \
    do {                                                                                           \
        if ((dt) == DT_FLOAT64) {                                                                  \
            typedef double T;                                                                      \
            __VA_ARGS__                                                                            \
        } else {                                                                                   \
            typedef float T;                                                                       \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    } while (0)

static inline int64_t nn_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t nn_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* Items to hand to a thread at once, when each costs `work` element operations. */
static inline int64_t nn_grain(int64_t work) { return nn_max(1, 32768 / nn_max(work, 1)); }

/* The dtype to compute in: float for half and bfloat16, else dt itself. */
static inline dtype nn_compute(dtype dt) {
    return dt == DT_FLOAT16 || dt == DT_BFLOAT16 ? DT_FLOAT32 : dt;
}
/* t as a contiguous tensor of dtype dt: itself (a reference) where it is that already. */
ctsc_status nn_as(op_ctx *cx, tensor *t, dtype dt, tensor **out);
/* t, contiguous in its compute dtype; on a device in its own, because the kernels there widen what
 * they load. Refuses dtypes that are not floating point, under `name`. */
ctsc_status nn_input(op_ctx *cx, const char *name, tensor *t, tensor **out);
/* The same for Tensor?: NULL when absent. */
ctsc_status nn_as_optional(op_ctx *cx, const value *v, dtype dt, tensor **out);
/* An int64 or int32 tensor as contiguous int64. */
ctsc_status nn_indices(op_ctx *cx, tensor *t, tensor **out) __attribute__((nonnull));

/* Rounds computed to dt and finishes the operator as op_finish does. Takes computed. */
ctsc_status nn_finish(op_ctx *cx, const value *args, tensor *computed, dtype dt, value *results);
/* The same for operators with n results, whose out= overload has n written arguments. Takes all of
 * computed, whose dtypes are final. */
ctsc_status nn_finish_all(op_ctx *cx, const value *args, int n, tensor *const *computed,
                          value *results);
/* Replaces *t by a copy of dtype dt if it has another; on failure *t is released and NULL. */
ctsc_status nn_round(op_ctx *cx, tensor **t, dtype dt);

/* Room for the text of any size list. */
typedef struct nn_text {
    char s[1400];
} nn_text;
/* "[2, 3]" */
const char *nn_sizes(int ndim, const int64_t *sizes, nn_text *text);
static inline const char *nn_shape(const tensor *t, nn_text *text) {
    return nn_sizes(t->ndim, t->sizes, text);
}
/* An int[n] argument that may be given as one number: false when it has another length. */
bool nn_ints(const value *v, int n, int64_t *out);

/* Product of sizes[from..to). */
static inline int64_t nn_product(const tensor *t, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= t->sizes[i];
    return n;
}

/* dst[p, d, h, w] = src[p, at[0][d], at[1][h], at[2][w]] for contiguous tensors of any dtype: what
 * padding by reflection and upsampling by the nearest neighbour have in common. */
ctsc_status nn_gather3(diag *d, const tensor *src, tensor *dst, int64_t planes, const int64_t in[3],
                       const int64_t out[3], int64_t *const at[3]);

/* softmax or log_softmax of input, taken as dtype dt, over a dim. */
ctsc_status nn_softmax(op_ctx *cx, tensor *input, int64_t dim, dtype dt, bool logarithm,
                       tensor **out);

/* Sums with several partial sums at once; exact enough for float by adding blocks up in double. */
double nn_sum_f32(const float *p, int64_t n);
double nn_sum_f64(const double *p, int64_t n);
/* Sum of (p[i] - mean)^2. */
double nn_square_sum_f32(const float *p, int64_t n, float mean);
double nn_square_sum_f64(const double *p, int64_t n, double mean);
#define nn_sum(p, n) _Generic(*(p), float: nn_sum_f32, double: nn_sum_f64)((const void *)(p), n)
#define nn_square_sum(p, n, mean)                                                                  \
    _Generic(*(p), float: nn_square_sum_f32, double: nn_square_sum_f64)((const void *)(p), n, mean)

#endif
