/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa.h - which instruction sets the processor has, and which of them may be used.
 *
 * The rows are in isa.def. This is the only code that asks the processor and the operating
 * system: everything else calls isa_has, a load and a test, each time, so that a limit
 * takes effect at once. Data made earlier for a wider set (packed weights) keeps it.
 *
 * Functions vectorised by the compiler (vector.h) are selected when the
 * library is loaded and know no limit: their copies compute the same bits.
 * Tests: tests/unit/test_isa.c
 */
#ifndef CTSC_CPU_ISA_H
#define CTSC_CPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

/* Is code for this set wanted in this build? The run-time library of compiled programs (src/rt) is
 * built for one. */
#ifdef RT_ISA
#define ISA_BUILDS_SAME_(a, b) ISA_IS_##a##_##b
#define ISA_BUILDS_(a, b) ISA_BUILDS_SAME_(a, b)
#define ISA_BUILDS(id) ISA_BUILDS_(RT_ISA, id)
#define ISA_IS_AVX2_AVX2 1
#define ISA_IS_AVX512_AVX512 1
#define ISA_IS_AVX512_AVX2 1 /* of depthwise convolutions with few channels */
#else
#define ISA_BUILDS(id) 1
#endif

typedef enum isa {
#define ISA(id, name, arch, needs, lanes, llvm, has) ISA_##id,
#include "cpu/isa.def"
    ISA_COUNT
} isa;

typedef struct isa_row {
    const char *name;
    isa needs; /* itself: nothing */
    int lanes;
    const char *llvm;
    bool here; /* of this architecture */
} isa_row;

extern const isa_row isa_table[ISA_COUNT];

/* A bit per row. 0 before anybody has asked; no processor is without its weakest set. */
extern uint32_t isa_allowed_bits;
/* Those whose instructions are slower here than float32's (ISA_RATE). */
extern uint32_t isa_slow_bits;
/* What there is, whatever the limit. */
uint32_t isa_detected(void);
/* Detects, and applies CTSC_MAX_ISA. Returns isa_allowed_bits. */
uint32_t isa_start(void);

/* May code for this set run? Thread-safe. */
static inline bool isa_has(isa id) {
    uint32_t bits = __atomic_load_n(&isa_allowed_bits, __ATOMIC_RELAXED);
    if (__builtin_expect(!bits, 0)) bits = isa_start();
    return bits >> id & 1;
}

/* May it run, and is it worth it? */
static inline bool isa_pays(isa id) {
    return isa_has(id) && !(__atomic_load_n(&isa_slow_bits, __ATOMIC_RELAXED) >> id & 1);
}
/* What isa.def says of a set's rate on processors of a vendor ("intel", "amd"); 1: nothing. */
double isa_rate(isa id, const char *vendor);

/* The row of that name, of this architecture; ISA_COUNT: none. */
isa isa_find(const char *name);
/* The strongest set that may be used. */
isa isa_best(void);
/* From now on only this set is used and what it needs, as far as the processor has them; ISA_COUNT:
 * no limit. For the start of a program: what runs at the same time may see either. */
void isa_limit(isa id);
/* The set that isa_limit or CTSC_MAX_ISA named; ISA_COUNT: no limit. */
isa isa_get_limit(void);

/* What functions of a set are compiled with. UBSan makes compilation of unrolled kernels take
 * minutes. */
#if defined(__x86_64__)
#define TARGET_AVX2 __attribute__((target("avx2,fma,f16c"), no_sanitize("undefined")))
#define TARGET_AVXVNNI __attribute__((target("avx2,fma,f16c,avxvnni"), no_sanitize("undefined")))
#define TARGET_AVX512                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"), no_sanitize("undefine"   \
                                                                                      "d")))
#define TARGET_AVX512VNNI                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma"),               \
                   no_sanitize("undefined")))
#define TARGET_AVX512VBMI                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512vbmi,avx2,fma"),    \
                   no_sanitize("undefined")))
#define TARGET_AVX512BF16                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16,avx2,fma"),    \
                   no_sanitize("undefined")))
#elif defined(__aarch64__)
/* Every ARM64 processor has NEON, so its functions need no flags. */
#define TARGET_NEON __attribute__((no_sanitize("undefined")))
#define TARGET_CRC __attribute__((target("arch=armv8-a+crc")))
#define TARGET_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod"), no_sanitize("undefined")))
#define TARGET_I8MM __attribute__((target("arch=armv8.2-a+dotprod+i8mm"), no_sanitize("undefined")))
#define TARGET_NEONBF16 __attribute__((target("arch=armv8.2-a+bf16"), no_sanitize("undefined")))
#endif

#endif
