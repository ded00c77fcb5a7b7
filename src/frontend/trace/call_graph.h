/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_graph.h - one call, written in C instead of TorchScript, as a graph.
 *
 *     call_graph("aten::add", {Tensor, float})  ->  graph(%0 : Tensor, %1 : float):
 *                                                     %2 : int = prim::Constant[value=1]()
 *                                                     %3 : Tensor = aten::add(%0, %1, %2)
 *                                                     return (%3)
 *
 * The compiler's own overload resolution makes it, so a call from C means what the same call means
 * in a script: order of overloads, implicit conversions, defaults, one int for int[2]. The graph
 * runs (runtime/api/api_call.c) and is what a trace takes in (trace.h).
 * Tests: tests/unit/test_trace.c
 */
#ifndef CTSC_FRONTEND_TRACE_CALL_GRAPH_H
#define CTSC_FRONTEND_TRACE_CALL_GRAPH_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

typedef struct call_arg {
    const char *name; /* of a keyword argument, which come after the others; NULL: positional */
    type *type;
    bool empty; /* an empty list of no known type: it fits any list */
} call_arg;

/* A unit for such calls: it knows the operators and
 * nothing else. NULL if out of memory (d says so). */
unit *call_unit_new(diag *d);

/* op: "aten::add", or one overload, "aten::add.Tensor". Parameter i is argument i, in the order
 * given; what the graph returns is the call's result, several results being a tuple. A parameter's
 * type may be wider than what was asked for: List[Optional[Tensor]] where List[Tensor] fits
 * nothing. u's lock must be held, or u be the caller's alone. */
ctsc_status call_graph(unit *u, diag *d, const char *op, int n, const call_arg *args, graph **out);
/* The call of a method of argument 0, an object. */
ctsc_status call_graph_method(unit *u, diag *d, const char *method, int n, const call_arg *args,
                              graph **out);

#endif
