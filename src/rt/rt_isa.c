/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_isa.c - the instruction set and the micro-kernels of a compiled program: those that it was
 * compiled for.
 *
 * Compiled once per instruction set, named by RT_ISA (AVX2) and by RT_NAME, the ending of its
 * records (avx2): packaging/rt.mk. The families are those that operators of the run-time library
 * use; an operator that asks for another one finds none, and refuses.
 */
#include "cpu/isa.h"
#include "cpu/ukernel.h"

#define RT_JOIN_(a, b, c) a##b##c
#define RT_JOIN(a, b, c) RT_JOIN_(a, b, c)
/* The set and those that it extends, as far as operators ask for them. */
#define RT_BITS_AVX2 (1u << ISA_SSE2 | 1u << ISA_SSE42 | 1u << ISA_AVX2)
#define RT_BITS_AVX512 (RT_BITS_AVX2 | 1u << ISA_AVX512)
#define RT_BITS_NEON (1u << ISA_NEON)
uint32_t isa_allowed_bits = 1u << ISA_PLAIN | RT_JOIN(RT_BITS_, RT_ISA, );
uint32_t isa_slow_bits;
uint32_t isa_start(void) { return isa_allowed_bits; }

/* No more of a row than operators ask for. */
const isa_row isa_table[ISA_COUNT] = {
#define ISA(id, called, arch, extends, width, llvm_name, has) {.lanes = width},
#include "cpu/isa.def"
};
isa isa_best(void) { return RT_JOIN(ISA_, RT_ISA, ); }

#define RT_RECORD(struct_name, before, after)                                                      \
    extern const struct_name RT_JOIN(before, RT_NAME, after)
RT_RECORD(gemm_micro, gemm_, _f32);
RT_RECORD(gemm_micro, gemm_, _f64);
RT_RECORD(winograd_kernels, winograd_, );
RT_RECORD(depthwise_kernels, depthwise_, );
RT_RECORD(activation_kernels, activation_, );
/* Programs whose weights are packed for these refer to them; for others they are not linked. */
RT_RECORD(widen_micro, widen_f16_, ) __attribute__((weak));
RT_RECORD(widen_micro, widen_bf16_, ) __attribute__((weak));

#define RT_UKERNEL(family, type, before, after)                                                    \
    {UKERNEL_##family, UKERNEL_##type, RT_JOIN(ISA_, RT_ISA, ), #family,                           \
     &RT_JOIN(before, RT_NAME, after)}
/* Images with fewer channels than lanes take the smaller vectors. */
#if ISA_BUILDS(AVX512)
extern const depthwise_kernels depthwise_avx2;
#define RT_SMALLER {UKERNEL_DEPTHWISE, UKERNEL_F32, ISA_AVX2, "DEPTHWISE", &depthwise_avx2},
#else
#define RT_SMALLER
#endif
static const ukernel rt_ukernels[] = {
    RT_UKERNEL(GEMM, F32, gemm_, _f32),
    RT_UKERNEL(GEMM, F64, gemm_, _f64),
    RT_UKERNEL(WINOGRAD, F32, winograd_, ),
    RT_UKERNEL(DEPTHWISE, F32, depthwise_, ),
    RT_SMALLER RT_UKERNEL(ACTIVATION, F32, activation_, ),
    RT_UKERNEL(WIDEN, F16, widen_f16_, ),
    RT_UKERNEL(WIDEN, BF16, widen_bf16_, ),
};
enum { RT_UKERNELS = sizeof rt_ukernels / sizeof *rt_ukernels };

const ukernel *ukernel_first(ukernel_family family, ukernel_type type) {
    for (int i = 0; i < RT_UKERNELS; i++)
        if (rt_ukernels[i].family == family && rt_ukernels[i].type == type)
            return rt_ukernels[i].record ? &rt_ukernels[i] : NULL;
    return NULL;
}

const ukernel *ukernel_next(const ukernel *u) {
    const ukernel *next = u + 1;
    bool same = next < rt_ukernels + RT_UKERNELS && next->family == u->family;
    return same && next->type == u->type ? next : NULL;
}

const void *ukernel_best(ukernel_family family, ukernel_type type) {
    const ukernel *u = ukernel_first(family, type);
    return u ? u->record : NULL;
}
