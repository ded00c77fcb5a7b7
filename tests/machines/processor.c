/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processor.c - makes a program believe that it runs on an older processor:
 * -DPROCESSOR=sse2 or avx2.
 *
 * Method: the program is linked again, with this file before the compiler's own library. What
 * decides which code runs is then here: the words behind __builtin_cpu_supports and target_clones
 * (libgcc's __cpu_model and __cpu_features2, filled by __cpu_indicator_init), and LLVM's
 * description of the host, which kernels are compiled for. Which bit means which feature is not
 * written down but found: the compiler tests the bits, so each is set in turn until the question of
 * its name is answered with yes. OpenBLAS and libm have variables of their own (tests/machines.py).
 * An emulator would not need any of this, and would need an hour.
 *
 * Invariant: __cpu_indicator_init is called by resolvers, before relocations are done, so it
 * touches nothing outside this file.
 */
#include <string.h>

#define WORDS 8
__attribute__((
    visibility("hidden"))) struct { unsigned vendor, type, subtype, features[1]; } __cpu_model;
__attribute__((visibility("hidden"))) unsigned __cpu_features2[WORDS];

#define PROCESSOR_sse2(X) X("cmov") X("mmx") X("sse") X("sse2")
#define PROCESSOR_avx2(X)                                                                          \
    PROCESSOR_sse2(X) X("sse3") X("ssse3") X("sse4.1") X("sse4.2") X("popcnt") X("aes")            \
        X("pclmul") X("avx") X("avx2") X("fma") X("bmi") X("bmi2") X("f16c") X("movbe") X("lzcnt") \
            X("x86-64") X("x86-64-v2") X("x86-64-v3")

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define QUOTE2(a) #a
#define QUOTE(a) QUOTE2(a)

static unsigned *processor_word(int i) {
    return i == 0 ? &__cpu_model.features[0] : &__cpu_features2[i - 1];
}

#define FIND(name)                                                                                 \
    for (int bit = 0; !__builtin_cpu_supports(name) && bit < 32 * (WORDS + 1); bit++) {            \
        volatile unsigned *word = processor_word(bit / 32);                                        \
        unsigned before = *word;                                                                   \
        *word = before | 1u << bit % 32;                                                           \
        __asm__ volatile("" ::: "memory");                                                         \
        if (!__builtin_cpu_supports(name)) *word = before;                                         \
        __asm__ volatile("" ::: "memory");                                                         \
    }

__attribute__((visibility("hidden"))) int __cpu_indicator_init(void) {
    if (__cpu_model.vendor) return 0;
    __cpu_model.vendor = 1;
    JOIN(PROCESSOR_, PROCESSOR)(FIND) return 0;
}

/* ---- what LLVM takes the host for: exported, so that libctsc-jit.so finds these first -------- */

__attribute__((visibility("default"))) char *LLVMGetHostCPUName(void);
__attribute__((visibility("default"))) char *LLVMGetHostCPUFeatures(void);

char *LLVMGetHostCPUName(void) {
    return strdup(!strcmp(QUOTE(PROCESSOR), "sse2") ? "x86-64" : "haswell");
}

char *LLVMGetHostCPUFeatures(void) {
    return strdup(!strcmp(QUOTE(PROCESSOR), "sse2")
                      ? "+sse2"
                      : "+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe");
}
