/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importer.h - brings the code of an archive into a unit: code files are parsed when a name in
 * them is first needed, classes are declared with their attributes, methods and functions are
 * compiled on demand.
 */
#ifndef CTSC_FRONTEND_CODELOAD_IMPORTER_H
#define CTSC_FRONTEND_CODELOAD_IMPORTER_H

#include "frontend/syntax/ast.h"
#include "ir/graph/graph.h"
#include "ir/unit.h"

/* Where the code comes from. */
typedef struct importer_host {
    void *ctx;
    /* The text of record "code/NAME" (NAME = "__torch__/torch/nn.py"), as a source named like the
     * record. *out = NULL if there is no such record. Its `origin` maps back to the original file
     * where a debug_pkl record says so. */
    ctsc_status (*read_code)(void *ctx, diag *d, const char *name, source **out);
    void (*free)(void *ctx);
} importer_host;

/* Attaches host to u (which owns it from then on, also on failure). version: the archive's operator
 * version, for the upgraders. What compiles a function, unit.compile, is for the caller to set. */
ctsc_status importer_attach(diag *d, unit *u, const importer_host *host, int64_t version);
/* Parses a Python type expression ("List[str]", "Dict[int, __torch__.C]") in u. */
ctsc_status importer_parse_type(unit *u, diag *d, const char *text, type **out);
/* The type that an expression names, in the names of an archive's code. */
ctsc_status annotation_type(unit *u, diag *d, const expr *x, type **out);
/* A function, or a method of cls, with the schema that its annotations say; its body
 * stays uncompiled. */
ctsc_status importer_declare_function(unit *u, diag *d, const func_def *def, const char *qualified,
                                      type *cls, function **out);
/* An expression for a value of type t in a place where nothing is executed. */
ctsc_status importer_literal(unit *u, diag *d, const expr *x, type *t, value *out);

#endif
