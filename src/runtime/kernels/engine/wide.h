/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.h - what kernels that compute in float or double share: half and bfloat16 are widened on the
 * way in and rounded once on the way out (wide_input, wide_finish); tensors are contiguous.
 * Tests: tests/unit/test_nn.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_WIDE_H
#define CTSC_RUNTIME_KERNELS_ENGINE_WIDE_H

#include "base/minmax.h"
#include "cpu/vector.h"
#include "runtime/kernels/engine/kernel.h"

#define kernel_fail(cx, ...) diag_fail((cx)->diag, CTSC_FAILED, __VA_ARGS__)

/* Runs a body with T = float or double, the two types wide_input produces. */
#define WIDE_DISPATCH(dt, ...)                                                                     \
    do {                                                                                           \
        if ((dt) == DT_FLOAT64) {                                                                  \
            typedef double T;                                                                      \
            __VA_ARGS__                                                                            \
        } else {                                                                                   \
            typedef float T;                                                                       \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    } while (0)

/* Items to hand to a thread at once, when each costs `work` element operations. */
static inline int64_t kernel_grain(int64_t work) {
    return int64_max(1, 32768 / int64_max(work, 1));
}

/* The dtype to compute in: float for half and bfloat16, else dt itself. */
static inline dtype wide_dtype(dtype dt) { return dtype_is_half(dt) ? DT_FLOAT32 : dt; }
/* t as a contiguous tensor of dtype dt: itself (a reference) where it is that already. */
ctsc_status wide_as(op_ctx *cx, tensor *t, dtype dt, tensor **out);
/* t, contiguous in its compute dtype; on a device in its own, because the kernels there widen what
 * they load. Refuses dtypes that are not floating point, under `name`. */
ctsc_status wide_input(op_ctx *cx, const char *name, tensor *t, tensor **out);
/* The same for Tensor?: NULL when absent. */
ctsc_status wide_as_optional(op_ctx *cx, const value *v, dtype dt, tensor **out);
/* An int64 or int32 tensor as contiguous int64. */
ctsc_status wide_indices(op_ctx *cx, tensor *t, tensor **out) __attribute__((nonnull));

/* n elements of float16 or bfloat16 as floats, and floats as those, rounded to nearest even. */
static inline void halves_to_floats(dtype dt, const void *from, float *to, int64_t n) {
    if (dt == DT_FLOAT16) float16_to_floats(from, to, (size_t)n);
    else bfloat16_to_floats(from, to, (size_t)n);
}
static inline void floats_to_halves(dtype dt, const float *from, void *to, int64_t n) {
    if (dt == DT_FLOAT16) float16_from_floats(from, to, (size_t)n);
    else bfloat16_from_floats(from, to, (size_t)n);
}
/* n floats, rounded to numbers of 16 bits; plus other's, unless that is NULL, and rounded again if
 * `twice`. */
static inline void halves_settle(dtype dt, float *x, const void *other, bool twice, int64_t n) {
    if (dt == DT_FLOAT16) float16_settle(x, n, other, n, twice, 1, n);
    else bfloat16_settle(x, n, other, n, twice, 1, n);
}

/* Rounds computed to dt and finishes the operator as op_finish does. Takes computed. */
ctsc_status wide_finish(op_ctx *cx, const value *args, tensor *computed, dtype dt, value *results);
/* The same for operators with n results, whose out= overload has n written arguments. Takes all of
 * computed, whose dtypes are final. */
ctsc_status op_finish_all(op_ctx *cx, const value *args, int n, tensor *const *computed,
                          value *results);
/* Replaces *t by a copy of dtype dt if it has another; on failure *t is released and NULL. */
ctsc_status wide_round(op_ctx *cx, tensor **t, dtype dt);

/* Room for the text of any size list. */
typedef struct sizes_text {
    char s[1400];
} sizes_text;
/* "[2, 3]" */
const char *sizes_print(int ndim, const int64_t *sizes, sizes_text *text);
static inline const char *shape_print(const tensor *t, sizes_text *text) {
    return sizes_print(t->ndim, t->sizes, text);
}
/* An int[n] argument that may be given as one number: false when it has another length. */
bool arg_ints_or_one(const value *v, int n, int64_t *out);

/* Product of sizes[from..to). */
static inline int64_t sizes_product(const tensor *t, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= t->sizes[i];
    return n;
}

/* dst[p, d, h, w] = src[p, at[0][d], at[1][h], at[2][w]] for contiguous tensors of any dtype: what
 * padding by reflection and upsampling by the nearest neighbour have in common. */
ctsc_status gather3(diag *d, const tensor *src, tensor *dst, int64_t planes, const int64_t in[3],
                    const int64_t out[3], int64_t *const at[3]);

#endif
