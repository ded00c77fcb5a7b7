/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amx.h - AMX's instructions on tile registers, for amx_tile.h.
 *
 * There are eight registers, TMM0 to TMM7, of up to 16 rows of 64 bytes; a thread configures
 * their rows and bytes (amx_configure) before it uses them, and releases them afterwards
 * (amx_release), since they make the context that the kernel saves 8 KiB larger. Compilers
 * have intrinsics for these, but gcc 12's for ldtilecfg says that it reads 8 of the 64 bytes,
 * so that stores to the others are dropped. In assembly, operands say what is read and
 * written; no compiler allocates tile registers by itself, so their numbers are fixed here
 * and nothing has to be clobbered. Everything is volatile, and so stays in order; a load may
 * depend on any store before it, and a store changes what is read later: both say "memory".
 */
#ifndef CTSC_CPU_QUAD_AMX_H
#define CTSC_CPU_QUAD_AMX_H

#include "cpu/isa.h"

/* What ldtilecfg reads. */
typedef struct amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} amx_config;
_Static_assert(sizeof(amx_config) == 64, "as the instruction has it");

#if defined(__x86_64__)
#include <immintrin.h>

static inline void amx_configure(const amx_config *c) {
    __asm__ volatile("ldtilecfg %0" ::"m"(*c));
}
static inline void amx_release(void) { __asm__ volatile("tilerelease" ::: "memory"); }

/* Loads and stores register n; rows at `stride` bytes (0: all rows are the same). */
#define AMX_LOAD(n, p, stride)                                                                     \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #n ::"r"(p), "r"((int64_t)(stride)) : "memory")
#define AMX_STORE(n, p, stride)                                                                    \
    __asm__ volatile("tilestored %%tmm" #n ", (%0,%1,1)" ::"r"(p), "r"((int64_t)(stride))          \
                     : "memory")
/* c += a b: pairs of bfloat16; unsigned bytes of a and signed ones of b */
#define AMX_DOT_BF16(c, a, b) __asm__ volatile("tdpbf16ps %tmm" #b ", %tmm" #a ", %tmm" #c)
#define AMX_DOT_BYTES(c, a, b) __asm__ volatile("tdpbusd %tmm" #b ", %tmm" #a ", %tmm" #c)

/* 64 bytes: the first n < 64 of `from`, the only ones that are read, then zeros. */
static inline TARGET_AVX512 void amx_fill(uint8_t *to, const uint8_t *from, int64_t n) {
    __mmask64 there = ((__mmask64)1 << n) - 1;
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(there, from));
}
/* To the second cache. */
#define AMX_PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)

#endif
#endif
