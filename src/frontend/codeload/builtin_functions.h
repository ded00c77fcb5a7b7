/* SPDX-License-Identifier: Apache-2.0 */
/* builtin_functions.h - builtins written in TorchScript (prelude/builtin_functions.py). */
#ifndef CTSC_FRONTEND_CODELOAD_BUILTIN_FUNCTIONS_H
#define CTSC_FRONTEND_CODELOAD_BUILTIN_FUNCTIONS_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

/* The functions that are further overloads of an operator, such as aten::sub of a number and a
 * tensor, up to max; they take the call's place. */
int builtin_functions(unit *u, diag *d, const char *op_name, function **out, int max);
/* A function for what no operator does: round(x, n), format specs. Called like the
 * program's own functions. */
function *builtin_helper(unit *u, diag *d, const char *name);
/* The same by its full name; NULL without an error: it is none. */
function *builtin_qualified(unit *u, diag *d, const char *name);

#endif
