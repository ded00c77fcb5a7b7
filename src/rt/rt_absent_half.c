/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_absent_half.c - convolutions of float16 and bfloat16 for programs that have none: conv_half.c
 * is in libctsc-rt-more.a, which is searched before this library, and the objects of programs that
 * need it refer to it (runtime/aot/aot_tables.c).
 */
#include "rt/rt_internal.h"
#include "runtime/kernels/conv/conv_half.h"

bool conv_half_bounds(const dense_epilogue *after) { return (void)after, false; }
void conv_half_scale(dtype dt, const half_scale *by, const void *in, int64_t first, int64_t n,
                     void *out) {
    (void)dt, (void)by, (void)in, (void)first, (void)n, (void)out;
}
ctsc_status conv_half(diag *d, const conv_shape *s, dtype dt, const void *in, const float *scale,
                      const dense_epilogue *after, void *out, conv_of_floats *run, void *ctx) {
    (void)s, (void)dt, (void)in, (void)scale, (void)after, (void)out, (void)run, (void)ctx;
    return rt_fail(d, CTSC_UNSUPPORTED);
}
