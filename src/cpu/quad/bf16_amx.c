/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16_amx.c - products of bfloat16 with AMX: tdpbf16ps, tiles of 32 x 32.
 *
 * The instruction takes denormal factors, products and sums for zero, whatever the thread's mode.
 * Few rows wait for the weights' way from memory, which vdpbf16ps does as well.
 * Tests: tests/unit/test_amx.c
 */
#include "cpu/quad/quad.h"

#if defined(__x86_64__)
#include "cpu/quad/amx.h"

#define NAME(x) amx_bf16_##x
#define TARGET TARGET_AVX512
#define CONFIGURE amx_configure
#define RELEASE amx_release
#define LOAD AMX_LOAD
#define STORE AMX_STORE
#define DOT AMX_DOT_BF16
#define FILL amx_fill
#define PREFETCH AMX_PREFETCH
#include "cpu/quad/amx_tile.h"

extern const quad_kernels quad_bf16_avx512;

const quad_kernels quad_bf16_amx = {.isa = ISA_AMXBF16,
                                    .rows = 32,
                                    .panels = 2,
                                    .depth = 16,
                                    .lanes = 16,
                                    .block = 1 << 20,
                                    .tile = amx_bf16_tile,
                                    .begin = amx_bf16_begin,
                                    .end = amx_bf16_end,
                                    .vectors = &quad_bf16_avx512,
                                    .least_rows = 4,
                                    .least_quads = 1};

#endif
