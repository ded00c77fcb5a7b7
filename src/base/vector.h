/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector.h - which functions become vector code.
 *
 * The compiler makes vectors of loops of any length only where it is told to: vector code is
 * large, and most of a file of kernels is not worth it. So the functions that hold the loops are
 * marked, one by one. The build turns ?: into selects in all kernels (-fno-trapping-math), which
 * changes no result.
 */
#ifndef CTSC_BASE_VECTOR_H
#define CTSC_BASE_VECTOR_H

#if defined(__GNUC__) && !defined(__clang__)
#define VECTOR_LOOPS __attribute__((optimize("O3")))
#else
#define VECTOR_LOOPS
#endif

/* The same with one more copy for processors with AVX2, chosen when the library is loaded; the
 * sanitizers' start-up does not bear resolvers. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONES VECTOR_LOOPS __attribute__((target_clones("avx2", "default")))
#else
#define VECTOR_CLONES VECTOR_LOOPS
#endif

/* For loops of fma(): the same with a copy for processors that have it as an instruction. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_FUSED_CLONES VECTOR_LOOPS __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define VECTOR_FUSED_CLONES VECTOR_LOOPS
#endif

#endif
