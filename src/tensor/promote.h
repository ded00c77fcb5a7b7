/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promote.h - the dtype that operands meet in (torch.result_type), from their dtypes alone.
 *
 *     promotion p = PROMOTION_INIT;
 *     promotion_add(&p, DT_INT64, OPERAND_TENSOR);
 *     promotion_add(&p, DT_FLOAT32, OPERAND_NUMBER);
 *     promotion_result(&p) == DT_FLOAT32
 *
 * Tests: tests/unit/test_pointwise.c
 */
#ifndef CTSC_TENSOR_PROMOTE_H
#define CTSC_TENSOR_PROMOTE_H

#include "tensor/dtype.h"

/* From the first to the last, less say: a 0-dim tensor or a Python number counts only if its
 * category (bool < int < float < complex) is higher than that of all before. */
typedef enum operand_rank {
    OPERAND_TENSOR,
    OPERAND_ZERO_DIM,
    OPERAND_NUMBER,
    OPERAND_RANKS
} operand_rank;

typedef struct promotion {
    int met[OPERAND_RANKS];
} promotion; /* dtypes; -1: none */
#define PROMOTION_INIT {{-1, -1, -1}}

/* Of a number: DT_BOOL, DT_INT64, DT_FLOAT32 or DT_COMPLEX64. */
void promotion_add(promotion *p, dtype dt, operand_rank rank);
/* float32 if there were no operands. */
dtype promotion_result(const promotion *p);

/* May a floating-point number become dt without a complaint (c10's overflows())? A negative one may
 * wrap in an unsigned type. */
bool dtype_fits(dtype dt, double x);
/* The largest number of an int type of less than 64 bits, or of a float type of less; else 0. */
double dtype_largest(dtype dt);
/* The C++ type, as PyTorch's messages name it: "uint8_t", "c10::Half". */
const char *dtype_ctype_name(dtype dt);

#endif
