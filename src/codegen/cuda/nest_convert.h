/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest_convert.h - the conversions that loads, stores and casts of a loop nest need: of kernels for
 * the CPU (scalar_bitcode.c) and for CUDA (nest_cuda.h), where the processor's own instructions do
 * what there is one for.
 * Tests: tests/unit/test_codegen.c, test_cuda_emit.c
 */
#ifndef CTSC_CODEGEN_CUDA_NEST_CONVERT_H
#define CTSC_CODEGEN_CUDA_NEST_CONVERT_H

#include "ir/scalar/scalar_ops.h"
#include "tensor/element.h"

SCALAR_FN int64_t nest_to_i64_f64(double x) { return element_to_int64(x); }
SCALAR_FN int32_t nest_to_i32_f64(double x) { return element_to_int32(x); }
SCALAR_FN int64_t nest_to_i64_f32(float x) {
    return x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : INT64_MIN;
}
SCALAR_FN int32_t nest_to_i32_f32(float x) {
    return x >= -0x1p31f && x < 0x1p31f ? (int32_t)x : INT32_MIN;
}

SCALAR_FN float nest_load_bf16(uint16_t h) { return scalar_from_bits_f32((uint32_t)h << 16); }

#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 800
SCALAR_FN uint16_t nest_store_bf16(float x) {
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
#else
/* Round to nearest even; a NaN stays one. */
SCALAR_FN uint16_t nest_store_bf16(float x) {
    uint32_t bits = scalar_bits_f32(x);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (uint16_t)(x != x ? 0x7fc0u : rounded);
}
#endif

#ifdef __CUDACC_RTC__
SCALAR_FN float nest_load_f16(uint16_t h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
SCALAR_FN uint16_t nest_store_f16(float x) {
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
#else
/* binary16 without the processor's help: the exponent is moved by a multiplication, which also
 * takes care of denormals. */
SCALAR_FN float nest_load_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, body = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t bits = scalar_bits_f32(scalar_from_bits_f32(body) * 0x1p112f);
    bits = body >= 0x0f800000u ? body | 0x7f800000u : bits; /* inf and NaN */
    return scalar_from_bits_f32(bits | sign);
}

/* Normal results: round in the integer domain. Denormal ones: adding 2^-1 lets the
 * float unit do it. */
SCALAR_FN uint16_t nest_store_f16(float x) {
    uint32_t bits = scalar_bits_f32(x), sign = (bits >> 16) & 0x8000u, a = bits & 0x7fffffffu;
    uint32_t normal = (a - 0x38000000u + 0x0fffu + ((a >> 13) & 1u)) >> 13;
    uint32_t small = scalar_bits_f32(scalar_from_bits_f32(a) + 0.5f) - 0x3f000000u;
    uint32_t r = a < 0x38800000u ? small : normal;
    r = a >= 0x477ff000u ? 0x7c00u : r; /* rounds to infinity */
    r = a > 0x7f800000u ? 0x7e00u : r;
    return (uint16_t)(r | sign);
}
#endif

/* What memory of the smaller types would keep. */
SCALAR_FN float scalar_round_f16_f32(float x) { return nest_load_f16(nest_store_f16(x)); }
SCALAR_FN float scalar_round_bf16_f32(float x) { return nest_load_bf16(nest_store_bf16(x)); }

#endif
