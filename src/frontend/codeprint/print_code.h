/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_code.h - TorchScript source from graphs and classes: the code of an archive.
 *
 * A code_program collects the code files of one program. What is printed mentions other classes and
 * functions; these are noted in the order in which they are met, and printed in that order, each
 * into the file of its qualified name: __torch__.a.b.C goes to the file of module __torch__.a.b.
 * Tensors, objects and strings that source text cannot carry go to a table of constants,
 * CONSTANTS.c0, c1, ...
 *
 *   print_code.c        functions: names, which expressions are written in place
 *   print_code_stmt.c   statements
 *   print_code_expr.c   expressions, constants, types
 *   print_code_class.c  classes, files, the table of constants
 *
 * Ownership: a code_program owns its texts and holds references on its constants; it keeps neither
 * graphs nor classes alive: the unit does.
 * Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#ifndef CTSC_FRONTEND_CODEPRINT_PRINT_CODE_H
#define CTSC_FRONTEND_CODEPRINT_PRINT_CODE_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

/* From `offset` on, up to the next place, text was printed for `range`: the person's
 * source if it is known. */
typedef struct code_place {
    size_t offset;
    source_range range;
} code_place;

typedef struct code_text {
    strbuf text;
    VEC(code_place) places;
} code_text;

typedef struct code_file {
    const char *module; /* "__torch__.a.b" */
    code_text text;
    /* name -> last number appended to it (as intptr): numbers go on from function to function */
    strmap suffixes;
} code_file;

/* A class, enum, interface or named tuple; or a function. */
typedef struct code_named {
    type *t;
    function *f;
} code_named;

typedef struct code_constant {
    value v; /* a reference */
    uint64_t hash;
} code_constant;

typedef struct code_program {
    diag *d;
    arena arena;
    VEC(code_file *) files; /* in the order in which they were begun */
    strmap by_module;
    VEC(code_named) found; /* what has been mentioned */
    ptrmap found_set, printed;
    strmap names; /* qualified name -> type or function: each is taken once */
    size_t next;  /* of found: not yet looked at */
    VEC(code_constant) constants;
    /* the lowest file version whose readers understand the operators used */
    int64_t version;
    ctsc_status status; /* the first failure, described in d */
} code_program;

ctsc_status code_program_init(code_program *p, diag *d);
void code_program_free(code_program *p);
/* Notes every class that t mentions. */
void code_note_type(code_program *p, type *t);
/* Prints one class now. */
ctsc_status code_print_class(code_program *p, type *t);
/* Prints everything that has been noted, and what that mentions in turn. */
ctsc_status code_print_found(code_program *p);
/* The text of t as an annotation. */
void code_print_type(const type *t, strbuf *out);

/* One function alone, as PyTorch's `.code` shows it: self without its type. */
ctsc_status code_print_method(diag *d, function *f, strbuf *out);

#endif
