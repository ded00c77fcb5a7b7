/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_complex.c - what reductions do with complex values.
 *
 * Method: a sum adds pairs of lanes, the even ones real and the odd ones imaginary, over blocks in
 * float and the blocks in double, like the real sums. Products are double throughout.
 * Tests: tests/unit/test_complex.c
 */
#include "runtime/kernels/reduce/reduce_complex.h"

#include "ir/scalar/scalar_ops_complex.h"
#include "runtime/kernels/reduce/reduce_vec.h"

/* ---- steps ----------------------------------------------------------------------------------- */

enum { COMPLEX_LANES_F32 = 8, COMPLEX_LANES_F64 = 4, COMPLEX_VECTORS = 4 };

#define T complex64
#define V reduce_v8f
#define LANES COMPLEX_LANES_F32
#define NAME(x) x##_c64
#define PART float
#include "runtime/kernels/reduce/reduce_complex_steps.h"

#define T complex128
#define V reduce_v4d
#define LANES COMPLEX_LANES_F64
#define NAME(x) x##_c128
#define PART double
#include "runtime/kernels/reduce/reduce_complex_steps.h"

/* ---- results --------------------------------------------------------------------------------- */

void reduce_store_complex(const reduce_job *j, int64_t result, double f, double g, double n) {
    if (j->out->dtype == DT_COMPLEX64) {
        complex64 v = {(float)f, (float)g};
        TENSOR_AT(j->out, complex64)
        [result] = n == 1 ? v : scalar_div_c64(v, (complex64){(float)n, 0});
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
