/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lowered.h - the rules by which operators become parts of kernels, as numbers: op.lowered indexes
 * the tables of codegen/lower.
 * Tests: tests/unit/test_op_traits.c
 */
#ifndef CTSC_IR_OP_LOWERED_H
#define CTSC_IR_OP_LOWERED_H

typedef enum lowered_op {
    LOWER_NONE,
#define LOWERED_POINTWISE(name) LOWER_##name,
#define LOWERED_VIEW(name) LOWER_##name,
#define LOWERED_REDUCTION(name) LOWER_##name,
#include "ir/op/lowered.def"
    LOWERED_COUNT,
    /* where the kinds begin */
    LOWERED_VIEWS = LOWER_identity,
    LOWERED_REDUCTIONS = LOWER_sum
} lowered_op;

/* "max_dim"; "" of LOWER_NONE. */
const char *lowered_text(lowered_op rule);

#endif
