/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_family.h - what is said about operators in lists and documents: which family they belong to,
 * where they come from.
 *
 * Nothing that compiles or runs programs asks this.
 */
#ifndef CTSC_IR_OP_OP_FAMILY_H
#define CTSC_IR_OP_OP_FAMILY_H

#include "ir/op/op.h"

/* "pooling"; also of operators that ctsc lacks. */
const char *op_family(const op *o);
/* The families in the order of documents; NULL after the last. */
const char *op_family_name(int i);
/* The overload has a row of its own in src/ir/ops: which file, without ".def"; else NULL. */
const char *op_row_file(const char *key);
/* The overload that o is derived from (op_derive.h), by key; false: it is not derived. In op.c. */
bool op_derived_from(const op *o, char key[OP_KEY_LENGTH]);

#endif
