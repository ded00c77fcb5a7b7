/* SPDX-License-Identifier: Apache-2.0 */
/* api_scope.h - what a ctsc_scope is made of: shared by api_call.c (calls) and api_trace.c
 * (recording them). */
#ifndef CTSC_RUNTIME_API_API_SCOPE_H
#define CTSC_RUNTIME_API_API_SCOPE_H

#include "frontend/trace/call_graph.h"
#include "frontend/trace/trace.h"
#include "runtime/api/api.h"
#include "runtime/context/runtime.h"

struct ctsc_scope {
    ctsc_error error; /* the first failure */
    unit *unit;       /* of the functions that calls have become; NULL until the first */
    strmap calls;     /* operator and types of arguments -> call_site_known */
    VEC(ctsc_value *) owned;
    runtime rt;               /* random numbers go on from call to call */
    trace *trace;             /* NULL: nothing is recorded */
    unit *trace_unit;         /* of the module that is traced */
    struct unit_copy *copier; /* of modules that are called while tracing */
    trace_sink sink;
    ptrmap read; /* handles whose value was read while tracing */
};

bool scope_failed(const ctsc_scope *s);
/* The scope's handle of v, whose reference it takes; NULL if out of memory, which is
 * the scope's error. */
ctsc_value *scope_own_take(ctsc_scope *s, value v);
/* Is there an argument to use? NULL is an error, unless an earlier one explains it. */
bool scope_given(ctsc_scope *s, const char *op, const ctsc_value *v);
void scope_init(ctsc_scope *s);
void scope_close(ctsc_scope *s);

/* api_trace.c */
static inline trace_operand scope_operand(const ctsc_value *v) {
    return (trace_operand){v->traced ? v : NULL, v->v};
}
/* Marks a handle of the scope as known to the trace. */
void scope_mark(ctsc_scope *s, ctsc_value *h);
ctsc_status scope_trace_begin(ctsc_scope *s, diag *d, const char *name, trace_sink sink);
/* The module of what was recorded. The trace stays, for looking at it. */
ctsc_status scope_trace_finish(ctsc_scope *s, diag *d, const ctsc_value *result, ctsc_module **out);
/* with defaults */
void scope_trace_options(const ctsc_trace_options *given, ctsc_trace_options *o);
void scope_copy_error(diag *d, const ctsc_scope *s);
void scope_trace_drop(ctsc_scope *s);

#endif
