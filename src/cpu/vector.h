/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector.h - which functions the compiler vectorises.
 *
 * The compiler vectorises loops of any length only on request: vector code
 * is large, and most of a file of kernels is not worth it. So the functions
 * that hold the loops are marked, one by one. The build turns ?: into
 * selects in all kernels (-fno-trapping-math), which changes no result.
 *
 * Cloned functions have a copy for each of some instruction sets, which the loader chooses among:
 * no limit (isa.h) reaches them. All copies compute the same bits, except for those of attention's
 * softmax, which fuse multiplications with sums where the processor does that.
 */
#ifndef CTSC_CPU_VECTOR_H
#define CTSC_CPU_VECTOR_H

#if defined(__GNUC__) && !defined(__clang__)
#define VECTOR_OPTIMISED(...) __attribute__((optimize(__VA_ARGS__)))
#else
#define VECTOR_OPTIMISED(...)
#endif
#ifdef CTSC_RT_SMALL /* rarely run parts of the run-time library of compiled programs */
#define VECTOR_LOOPS
#else
#define VECTOR_LOOPS VECTOR_OPTIMISED("O3")
#endif

/* Copies for these sets; the sanitizers' start-up does not bear resolvers. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(CTSC_RT) &&        \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONED(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define VECTOR_CLONED(...)
#endif

#define VECTOR_CLONES VECTOR_LOOPS VECTOR_CLONED("avx2", "default")
/* For loops of fma(): with a copy for processors that have it as an instruction. */
#define VECTOR_FUSED_CLONES VECTOR_LOOPS VECTOR_CLONED("arch=x86-64-v3", "default")

#endif
