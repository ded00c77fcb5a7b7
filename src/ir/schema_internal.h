/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_internal.h - what the parser of schema text carries along.
 */
#ifndef CTSC_IR_SCHEMA_INTERNAL_H
#define CTSC_IR_SCHEMA_INTERNAL_H

#include "ir/schema.h"

typedef struct schema_parser {
    diag *diag;
    arena *arena;
    const char *text, *at, *end;
    int depth;
} schema_parser;

typedef struct schema_type_info {
    type *type;
    const char *text; /* as written, where it says more than the type; else NULL */
    const char *leaf; /* the name in it that does so: "ScalarType" */
    int fixed_size;
    alias_info *alias;
} schema_type_info;

#endif
