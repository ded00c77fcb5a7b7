/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse_plain.c - products with sparse matrices (sparse.h), in plain C: vectors of one element.
 * Tests: tests/unit/test_sparse.c
 */
#include "cpu/gemm/sparse.h"

#include <stddef.h>

#define SPARSE_PLAIN_FMA(a, b, c) ((a) * (b) + (c))
#define SPARSE_PLAIN_SET(x) (x)
#define SPARSE_PLAIN_ZERO() 0
#define SPARSE_PLAIN_ADD(a, b) ((a) + (b))
#define SPARSE_PLAIN_LOAD(p) (*(p))
#define SPARSE_PLAIN_STORE(p, v) (*(p) = (v))

#define V float
#define LANES 1
#define ELEMENT float
#define NAME(x) sparse_f32_plain_##x
#define TARGET
#define SET1 SPARSE_PLAIN_SET
#define ZERO SPARSE_PLAIN_ZERO
#define FMA SPARSE_PLAIN_FMA
#define ADD SPARSE_PLAIN_ADD
#define VLOAD SPARSE_PLAIN_LOAD
#define VSTORE SPARSE_PLAIN_STORE
#include "cpu/gemm/sparse_tile.h"

#define V double
#define LANES 1
#define ELEMENT double
#define NAME(x) sparse_f64_plain_##x
#define TARGET
#define SET1 SPARSE_PLAIN_SET
#define ZERO SPARSE_PLAIN_ZERO
#define FMA SPARSE_PLAIN_FMA
#define ADD SPARSE_PLAIN_ADD
#define VLOAD SPARSE_PLAIN_LOAD
#define VSTORE SPARSE_PLAIN_STORE
#include "cpu/gemm/sparse_tile.h"

const sparse_micro sparse_f32_plain = {ISA_PLAIN, sparse_f32_plain_product, sparse_f32_plain_dots,
                                       sparse_f32_plain_sampled, NULL};
const sparse_micro sparse_f64_plain = {ISA_PLAIN, sparse_f64_plain_product, sparse_f64_plain_dots,
                                       sparse_f64_plain_sampled, NULL};
