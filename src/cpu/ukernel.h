/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ukernel.h - the table of micro-kernels, and which one of a family this processor runs best.
 *
 * ukernel.def is the only list: callers select by it, tests iterate over it, `ctsc doctor` and
 * docs/precision.md print it. A record is a const object; code that packs weights for one keeps
 * it with them. Kernels that isa_limit excludes or that are slow here (isa_pays) are skipped.
 * Tests: tests/unit/test_isa.c
 */
#ifndef CTSC_CPU_UKERNEL_H
#define CTSC_CPU_UKERNEL_H

#include "cpu/conv/depthwise.h"
#include "cpu/conv/winograd.h"
#include "cpu/gemm/gemm_micro.h"
#include "cpu/gemm/nbits.h"
#include "cpu/gemm/sparse.h"
#include "cpu/gemm/widen.h"
#include "cpu/quad/quad.h"
#include "cpu/rows/activation.h"
#include "cpu/rows/byte_rows.h"

/* UKERNEL_FAMILY(id, name, struct): name as people read it. */
#define UKERNEL_FAMILY_TABLE(UKERNEL_FAMILY)                                                       \
    UKERNEL_FAMILY(GEMM, "gemm", gemm_micro)               /* products of panels */                \
    UKERNEL_FAMILY(WIDEN, "widen", widen_micro)            /* narrow weights, few rows */          \
    UKERNEL_FAMILY(NBITS, "nbits", nbits_micro)            /* weights of 4 and 8 bits in groups */ \
    UKERNEL_FAMILY(SPARSE, "sparse", sparse_micro)         /* few elements are stored */           \
    UKERNEL_FAMILY(QUAD, "quad", quad_kernels)             /* bytes and bfloat16 */                \
    UKERNEL_FAMILY(WINOGRAD, "winograd", winograd_kernels) /* transforms */                        \
    UKERNEL_FAMILY(DEPTHWISE, "depthwise", depthwise_kernels)                                      \
    UKERNEL_FAMILY(ACTIVATION, "activation", activation_kernels)                                   \
    UKERNEL_FAMILY(BYTE_ROWS, "byte rows", byte_rows)

typedef enum ukernel_family {
#define UKERNEL_FAMILY(id, name, type) UKERNEL_##id,
    UKERNEL_FAMILY_TABLE(UKERNEL_FAMILY)
#undef UKERNEL_FAMILY
    UKERNEL_FAMILIES
} ukernel_family;

typedef enum ukernel_type {
    UKERNEL_F64,
    UKERNEL_F32,
    UKERNEL_F16,
    UKERNEL_BF16,
    UKERNEL_BYTES,
    UKERNEL_TYPES
} ukernel_type;

typedef struct ukernel {
    ukernel_family family;
    ukernel_type type;
    isa isa;
    const char *name; /* the record's, in C */
    const void *record;
} ukernel;

extern const char *const ukernel_family_names[UKERNEL_FAMILIES];
extern const char *const ukernel_type_names[UKERNEL_TYPES];

/* The first row of these; NULL: none. */
const ukernel *ukernel_first(ukernel_family family, ukernel_type type);
/* The next one of u's family and type; NULL: none. */
const ukernel *ukernel_next(const ukernel *u);
/* The i-th row of all; NULL after the last. */
const ukernel *ukernel_at(int i);
/* The record of the fastest that may run and is worth it; NULL: none. Thread-safe. */
const void *ukernel_best(ukernel_family family, ukernel_type type);
/* For tests and compilers, while nothing else runs: from now on `record` is the only one of its
 * family and type, whatever the processor has; NULL ends that. */
void ukernel_pretend(ukernel_family family, ukernel_type type, const void *record);

/* NULL: none for this processor. type: F32 or F64. */
static inline const gemm_micro *ukernel_gemm(ukernel_type type) {
    return ukernel_best(UKERNEL_GEMM, type);
}
/* type: F16 or BF16. */
static inline const widen_micro *ukernel_widen(ukernel_type type) {
    return ukernel_best(UKERNEL_WIDEN, type);
}
static inline const nbits_micro *ukernel_nbits(void) {
    return ukernel_best(UKERNEL_NBITS, UKERNEL_BYTES);
}
/* type: F32 or F64. */
static inline const sparse_micro *ukernel_sparse(ukernel_type type) {
    return ukernel_best(UKERNEL_SPARSE, type);
}
/* type: BF16 (NULL: none) or BYTES. */
static inline const quad_kernels *ukernel_quad(ukernel_type type) {
    return ukernel_best(UKERNEL_QUAD, type);
}
/* NULL: none. */
static inline const winograd_kernels *ukernel_winograd(void) {
    return ukernel_best(UKERNEL_WINOGRAD, UKERNEL_F32);
}
static inline const activation_kernels *ukernel_activation(void) {
    return ukernel_best(UKERNEL_ACTIVATION, UKERNEL_F32);
}
static inline const byte_rows *ukernel_byte_rows(void) {
    return ukernel_best(UKERNEL_BYTE_ROWS, UKERNEL_BYTES);
}

#endif
