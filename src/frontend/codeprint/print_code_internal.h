/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_code_internal.h - what the files of the code printer share.
 */
#ifndef CTSC_FRONTEND_CODEPRINT_PRINT_CODE_INTERNAL_H
#define CTSC_FRONTEND_CODEPRINT_PRINT_CODE_INTERNAL_H

#include "frontend/codeprint/print_code.h"
#include "ir/graph/alias.h"

/* A finished piece of an expression, in the scratch arena. */
typedef struct code_expr {
    const char *s;
    size_t len;
    const code_place *places;
    size_t nplaces;
} code_expr;

typedef struct code_printer {
    code_program *prog;
    code_file *file;
    code_text *out;     /* statements go here */
    arena scratch;      /* of one function */
    ptrmap exprs;       /* ir_value -> code_expr: how it is written where it is used */
    ptrmap inlined;     /* node -> non-NULL: written where it is used */
    ptrmap split;       /* node -> inputs given names so far (as intptr), see code_split */
    strmap used;        /* names taken in this function */
    graph *graph;       /* of this function */
    alias_db *aliases;  /* NULL: nobody has asked */
    source_range range; /* of the node being printed */
    int level, depth;
    VEC(size_t) bodies; /* of open `with` statements: where their text begins */
} code_printer;

enum { CODE_MAX_DEPTH = 400 }; /* of expressions and blocks */

/* print_code.c: text */
void code_no_memory(code_printer *p);
void code_indent(code_printer *p);
const code_expr *code_take(code_printer *p, code_text *t); /* finished text; frees t */
/* names, and how values are written where they are used */
/* candidate, candidate0, ...: not used so far */
const char *code_unique(code_printer *p, const char *candidate);
const char *code_base_name(code_printer *p, const ir_value *v);
const code_expr *code_use(code_printer *p, const ir_value *v);
void code_assign_expr(code_printer *p, const ir_value *v, const code_expr *x);
/* text stays where it is */
void code_assign_text(code_printer *p, const ir_value *v, const char *text);
void code_assign_names(code_printer *p, size_t n, ir_value *const *vs);
/* which values are written in place */
bool code_is_constant(const node *n);
void code_scan_block(code_printer *p, const block *b);
/* outputs = x */
void code_print_definition(code_printer *p, const node *n, const code_expr *x);
/* A node that is an expression: kept for where it is used, or given a name here. */
void code_print_expression(code_printer *p, const node *n);
ctsc_status code_fail(code_printer *p, ctsc_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool code_failed(const code_printer *p);
void code_write(code_printer *p, code_text *t, const char *s, size_t len);
void code_puts(code_printer *p, code_text *t, const char *s);
void code_put_value(code_printer *p, code_text *t, const ir_value *v);
bool code_is_name(code_printer *p, const ir_value *v); /* written as one name */
void code_put_values(code_printer *p, code_text *t, size_t n, ir_value *const *vs, const char *open,
                     const char *close);
void code_printer_init(code_printer *p, code_program *prog, code_file *f);
void code_printer_free(code_printer *p);
/* self_type: write the type of the first argument. */
void code_print_function(code_printer *p, function *f, bool self_type);

/* print_code_stmt.c: the statements of a function's or a fork's body */
void code_print_body(code_printer *p, const block *b);

/* print_code_expr.c */
bool code_is_identifier(const char *name);
void code_put_type(code_printer *p, code_text *t, type *ty);
void code_put_constant(code_printer *p, code_text *t, value v, const type *static_type);
/* The right-hand side of a node that is an expression. */
void code_put_node(code_printer *p, code_text *t, const node *n);

/* print_code_class.c */
void code_note_function(code_program *p, function *f);
int code_constant_index(code_printer *p, value v); /* -1: failed */
ctsc_status code_program_fail(code_program *p, ctsc_status s);

#endif
