/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes_amx.c - products of bytes with AMX: tdpbusd, tiles of 32 x 32.
 *
 * Segments of so few quads that most of a step would be zeros are faster with vpdpbusd, as are few
 * rows.
 * Tests: tests/unit/test_amx.c
 */
#include "cpu/quad/quad.h"

#if defined(__x86_64__)
#include "cpu/quad/amx.h"

#define NAME(x) amx_bytes_##x
#define TARGET TARGET_AVX512
#define CONFIGURE amx_configure
#define RELEASE amx_release
#define LOAD AMX_LOAD
#define STORE AMX_STORE
#define DOT AMX_DOT_BYTES
#define FILL amx_fill
#define PREFETCH AMX_PREFETCH
#define ANY_BYTES
#include "cpu/quad/amx_tile.h"

extern const quad_kernels quad_bytes_avx512;

const quad_kernels quad_bytes_amx = {.isa = ISA_AMXINT8,
                                     .rows = 32,
                                     .panels = 2,
                                     .depth = 16,
                                     .lanes = 16,
                                     .block = 1 << 20,
                                     .tile = amx_bytes_tile,
                                     .begin = amx_bytes_begin,
                                     .end = amx_bytes_end,
                                     .vectors = &quad_bytes_avx512,
                                     .least_rows = 4,
                                     .least_quads = 4};

#endif
