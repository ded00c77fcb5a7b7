/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - the signature of an operator or function, parsed from and printed as ATen schema text:
 *
 *     aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
 *     aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
 *
 * It is the one source for overload resolution, defaults, aliasing and documentation.
 * schema_print(schema_parse(text)) == text for every line of ir/op/schemas.txt
 * (tests/unit/test_schema.c).
 */
#ifndef CTSC_IR_SCHEMA_H
#define CTSC_IR_SCHEMA_H

#include "ir/type.h"

/* Tensor(a! -> *): `before` = "a", write, `after` = "*"; several sets are joined by '|'. */
typedef struct alias_info {
    const char *before, *after; /* after: NULL when the same as before */
    bool write;
    struct alias_info *elem; /* of the contained type: Tensor(a)[], or NULL */
} alias_info;

typedef struct argument {
    const char *name; /* "" for unnamed returns */
    type *type;
    /* as written in the schema when it says more than the IR type does ("SymInt[2]", "ScalarType",
     * "MemoryFormat"); else NULL */
    const char *type_text;
    const char *leaf_text; /* the innermost name of type_text: "ScalarType"; NULL with it */
    int fixed_size;        /* int[2]: 2, a single int is broadcast to it; 0: none */
    bool kwarg_only;
    bool has_default;
    bool inferred; /* a Tensor only because the source gives no type: said in error messages */
    value default_value;      /* owned by the schema */
    const char *default_text; /* as written */
    const alias_info *alias;  /* NULL: no annotation */
} argument;

typedef struct schema {
    const char *name;     /* "aten::add" */
    const char *overload; /* "Tensor", or "" */
    int nargs, nreturns;
    argument *args, *returns;
    bool vararg, varret;       /* "..." */
    bool parenthesised_return; /* a single return written in parentheses */
    bool has_alias_write;      /* some argument is written: Tensor(a!) */
} schema;

/* Parses into arena a. Types go to the process-wide table; ScalarType, Layout and
 * MemoryFormat are int, SymInt is int, as in PyTorch 1.13's IR; class names in a schema
 * become Any with type_text kept. */
ctsc_status schema_parse(diag *d, arena *a, const char *text, size_t len, schema **out);
void schema_print(const schema *s, strbuf *out);
void schema_free_values(schema *s); /* releases default values; the rest is the arena's */
int schema_find_arg(const schema *s, const char *name); /* -1: none */

#endif
