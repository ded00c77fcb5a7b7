/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - what operators make of the names of dims (tensor/dim_names.h), by PyTorch 1.13's rules.
 *
 * Method. Operators' functions know nothing of names, and what they return has none. Where an
 * argument has some, op_function finds names_function in the place of the operator's own
 * (ir/op/op_dtypes.c):
 *
 *     1. the rule of the operator's family (rules.def) says from the names of the arguments what
 *        those of the results are, or why there are none: nothing has been computed yet;
 *     2. names of what is written (out=, self of an in-place operator) are compared with these;
 *     3. the function runs, and whatever it calls does not ask for names (names_suspend);
 *     4. the results get their names.
 *
 * Programs that take gradients come here before their tape does (runtime/autograd/tape.c), so that
 * a derivative's formulas see no names; a backward pass has none at all.
 *
 * Overloads that take names in place of dims ("sum.dim_DimnameList") are derived from those with
 * dims (ir/op/op_derive.c) and share one function, op_by_name, which looks the names up. What is
 * about names alone is in named_ops.c.
 *
 * A family without a rule is refused, in PyTorch's words. So are the operators that came after
 * 1.13, and those of programs.
 *
 * Rejected: rules as a trait of each row (ir/op/op_traits.h): of two thousand rows a tenth has one,
 * and derived overloads and aliases have no rows; names that views inherit in the tensor layer:
 * half of the operators would have to forget them again.
 *
 * Cost: a process that makes no named tensor has one bit that is not set among those which
 * op_function tests anyway (tensor_kinds).
 * Tests: tests/unit/test_names.c, tests/python/test_py_named.py
 */
#ifndef CTSC_RUNTIME_NAMES_NAMES_H
#define CTSC_RUNTIME_NAMES_NAMES_H

#include "ir/op/op.h"
#include "tensor/dim_names.h"

/* ---- rows of names (name_rows.c) ------------------------------------------------------------- */

/* Two dims match if their names are equal or one of them has none; what is known of either is known
 * of both. Broadcasting matches from the right, and refuses a name that both have in
 * different places. */

/* Names being computed: they belong to whom they were taken from. */
typedef struct names_row {
    int n;
    const char *of[TENSOR_MAX_DIMS];
} names_row;

names_row names_of(const tensor *t);
bool names_equal(const char *a, const char *b); /* both may be NULL */

/* Names for t: none where all of them are NULL. Refuses duplicates, words that are no identifiers,
 * and another number than t has dims, as PyTorch does. */
ctsc_status tensor_set_names(diag *d, tensor *t, const names_row *names);
/* The checks alone, for a tensor of ndim dims. */
ctsc_status names_check(diag *d, const names_row *names, int ndim);

/* The dim of that name; fails with "Name 'X' not found in Tensor['N', 'C']." */
ctsc_status names_find(diag *d, const tensor *t, const char *name, int *out);
/* a joined with b from the right, into a. action: "broadcast", "cat". */
ctsc_status names_unify(diag *d, names_row *a, const names_row *b, const char *action);
/* "['N', None]" */
void names_print(const names_row *names, strbuf *out);
/* "'N'", or "None" */
void names_print_one(const char *name, strbuf *out);

/* ---- rules ----------------------------------------------------------------------------------- */

typedef enum names_rule {
    NAMES_REFUSED,
    NAMES_PASSED, /* made of others, which ask for themselves */
#define NAMES(rule, families) NAMES_##rule,
#define NAMES_UNSUPPORTED(keys)
#define NAMES_REFUSED_AS(key, name)
#define NAMES_NO_LOOKUP(families)
#include "runtime/names/rules.def"
#undef NAMES
#undef NAMES_UNSUPPORTED
#undef NAMES_REFUSED_AS
#undef NAMES_NO_LOOKUP
} names_rule;

names_rule names_rule_of(const op *o);
/* Refuses an operator without a rule, by the name of the one that PyTorch makes it of. */
ctsc_status names_refuse(op_ctx *cx, const op *o);
const char *names_refused_key(const op *o);

/* A call, and the names that its rule finds. */
typedef struct names_call {
    op_ctx *cx;
    const op *o;
    const value *args;
    /* of each result, from the right where it has more dims; known: false where
     * results have none */
    names_row row;
    bool known;
} names_call;

/* Fills row and known; fails where the names do not fit. */
ctsc_status names_infer(names_call *c, names_rule rule);
/* The argument of that name; NULL: the overload has none. */
const value *names_arg(const names_call *c, const char *name);

/* How the call itself is made. */
typedef ctsc_status (*names_next)(op_ctx *cx, const op *o, int nargs, const value *args,
                                  int returns, value *results);
ctsc_status names_run(op_ctx *cx, const op *o, int nargs, const value *args, int returns,
                      value *results, names_next next);
/* op_host.with_names and op_host.by_name */
ctsc_status names_function(op_ctx *cx, const value *args, value *results);
ctsc_status op_by_name(op_ctx *cx, const value *args, value *results);

/* The names in a str[] argument: "*" and None are no name. */
ctsc_status names_given(op_ctx *cx, const value *v, names_row *out);

#endif
