/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_complex.c - what reductions do with complex values.
 *
 * Method: a sum adds pairs of lanes, the even ones real and the odd ones imaginary, over blocks in float and the blocks in
 * double, like the real sums. Products are double throughout.
 * Tests: tests/unit/test_complex.c
 */
#include "runtime/kernels/reduce/reduce_complex.h"

#include "ir/scalar/scalar_ops_complex.h"
#include "runtime/kernels/reduce/reduce_vec.h"

/* ---- steps ----------------------------------------------------------------------------------- */

enum { COMPLEX_LANES_F32 = 8, COMPLEX_LANES_F64 = 4, COMPLEX_VECTORS = 4 };

/* Adds n numbers, a pair of T each, to total[2]. */
#define COMPLEX_SUM(name, T, V, L)                                                                                     \
    REDUCE_HOT static void name(const T *x, int64_t n, double *total) {                                                \
        n *= 2;                                                                                                        \
        while (n >= COMPLEX_VECTORS * (L)) {                                                                           \
            int64_t steps = reduce_min_i64(n / (COMPLEX_VECTORS * (L)), REDUCE_STEPS);                                 \
            V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, v0, v1, v2, v3;                                                  \
            for (int64_t k = 0; k < steps; k++, x += COMPLEX_VECTORS * (L)) {                                          \
                memcpy(&v0, x, sizeof v0), memcpy(&v1, x + (L), sizeof v1);                                            \
                memcpy(&v2, x + 2 * (L), sizeof v2), memcpy(&v3, x + 3 * (L), sizeof v3);                              \
                s0 += v0, s1 += v1, s2 += v2, s3 += v3;                                                                \
            }                                                                                                          \
            s0 = (s0 + s1) + (s2 + s3);                                                                                \
            for (int k = 0; k < (L); k++) total[k & 1] += (double)s0[k];                                               \
            n -= steps * COMPLEX_VECTORS * (L);                                                                        \
        }                                                                                                              \
        for (int64_t k = 0; k < n; k++) total[k & 1] += (double)x[k];                                                  \
    }
COMPLEX_SUM(complex_sum_f32, float, reduce_v8f, COMPLEX_LANES_F32)
COMPLEX_SUM(complex_sum_f64, double, reduce_v4d, COMPLEX_LANES_F64)

#define COMPLEX_STEPS(sfx, T, PART, SUM)                                                                               \
    REDUCE_COMPLEX_STEP(reduce_sum_##sfx) {                                                                            \
        (void)j, (void)first;                                                                                          \
        double total[2] = {0, 0};                                                                                      \
        SUM((const PART *)data, n, total);                                                                             \
        a->f += total[0];                                                                                              \
        a->g += total[1];                                                                                              \
    }                                                                                                                  \
    REDUCE_COMPLEX_STEP(reduce_prod_##sfx) {                                                                           \
        (void)j, (void)first;                                                                                          \
        const T *x = data;                                                                                             \
        complex128 product = {a->f, a->g};                                                                             \
        for (int64_t k = 0; k < n; k++)                                                                                \
            product = scalar_mul_c128(product, (complex128){(double)x[k].re, (double)x[k].im});                        \
        a->f = product.re, a->g = product.im;                                                                          \
        a->n += n;                                                                                                     \
    }                                                                                                                  \
    REDUCE_COMPLEX_STEP(reduce_count_##sfx) {                                                                          \
        (void)j, (void)first;                                                                                          \
        const T *x = data;                                                                                             \
        int64_t count = 0;                                                                                             \
        for (int64_t k = 0; k < n; k++) count += scalar_set_##sfx(x[k]);                                               \
        a->i += count;                                                                                                 \
        a->n += n;                                                                                                     \
    }                                                                                                                  \
    REDUCE_COMPLEX_STEP(reduce_truth_##sfx) {                                                                          \
        (void)j, (void)first;                                                                                          \
        const T *x = data;                                                                                             \
        int64_t count = 0;                                                                                             \
        for (int64_t k = 0; k < n; k++) count += x[k].re != 0;                                                         \
        a->i += count;                                                                                                 \
        a->n += n;                                                                                                     \
    }
COMPLEX_STEPS(c64, complex64, float, complex_sum_f32)
COMPLEX_STEPS(c128, complex128, double, complex_sum_f64)

/* ---- results --------------------------------------------------------------------------------- */

void reduce_store_complex(const reduce_job *j, int64_t result, double f, double g, double n) {
    if (j->out->dtype == DT_COMPLEX64) {
        complex64 v = {(float)f, (float)g};
        TENSOR_AT(j->out, complex64)[result] = n == 1 ? v : scalar_div_c64(v, (complex64){(float)n, 0});
    } else {
        complex128 v = {f, g};
        TENSOR_AT(j->out, complex128)[result] = n == 1 ? v : scalar_div_c128(v, (complex128){n, 0});
    }
}

ctsc_status reduce_lengths(op_ctx *cx, tensor *in, tensor **out) {
    if (!dtype_is_complex((dtype)in->dtype)) return *out = tensor_ref(in), CTSC_OK;
    value arg = {.tag = V_TENSOR, .u.tensor = in}, length = value_none();
    TRY(op_call(cx, "aten::abs", 1, &arg, &length));
    *out = length.u.tensor;
    return CTSC_OK;
}

ctsc_status reduce_part(op_ctx *cx, const tensor *in, int part, tensor **out) {
    int64_t strides[TENSOR_MAX_DIMS];
    for (int i = 0; i < in->ndim; i++) strides[i] = 2 * in->strides[i];
    tensor as = {.dtype = (uint8_t)dtype_part((dtype)in->dtype), .storage = in->storage};
    return tensor_view_raw(cx->diag, &as, in->ndim, in->sizes, strides, 2 * in->offset + part, out);
}
