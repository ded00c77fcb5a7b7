/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_derive.h - finds the overload that another one follows from (op_derive.c). Of op.c alone.
 */
#ifndef CTSC_IR_OP_OP_DERIVE_H
#define CTSC_IR_OP_OP_DERIVE_H

#include "ir/op/op.h"

/* One line of schemas.txt. */
typedef struct op_text {
    const char *text;
    size_t len;
} op_text;

typedef struct op_derive_host {
    void *ctx;
    /* the i-th of that name; false: there is none */
    bool (*overload)(void *ctx, const char *name, int i, op_text *out);
} op_derive_host;

typedef enum op_derivation {
    DERIVED_NOT,
    DERIVED_NAME,  /* the base under another name */
    DERIVED_WRITE, /* what the base returns, written into the arguments that the schema marks */
    DERIVED_COPY,  /* copies of the tensors that the base returns */
    DERIVED_DIMS,  /* the base, with names in place of dims, or with names for the result */
} op_derivation;

op_derivation op_derive(const op_derive_host *h, const op_text *t, op_text *base);

#endif
