/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_trace_check.c - ctsc_trace: traces a function, and checks that the trace computes what the
 * function computes.
 *
 * Method. A check runs the function once more, in a scope of its own, and keeps a copy of each
 * call's result, which the trace is compared with (trace_check.h). Inputs are copied for each run,
 * since both may change them.
 * Tests: tests/unit/test_trace.c
 */
#include "runtime/api/api_scope.h"
#include "runtime/program/trace_check.h"

#include <stdio.h>
#include <string.h>

enum { TRACE_NAME = 32 };

typedef struct tracer {
    ctsc_trace_fn fn;
    void *ctx;
    size_t n;
    const ctsc_trace_options *o;
    diag *d;
} tracer;

/* ---- one run of the function ----------------------------------------------------------------- */

/* Runs the function, recording, in a new scope; *result is the scope's. */
static ctsc_status tracer_run(const tracer *t, ctsc_scope *s, ctsc_value *const *inputs,
                              trace_sink sink, bool results, ctsc_value **result) {
    scope_init(s);
    TRY(scope_trace_begin(s, t->d, t->o->name, sink));
    if (results) trace_keep_results(s->trace);
    else if (!t->o->skip_check) trace_keep_graph(s->trace);
    ctsc_value **own = mem_alloc((t->n + 1) * sizeof *own);
    if (!own) return diag_no_memory(t->d);
    for (size_t i = 0; i < t->n; i++) {
        char name[TRACE_NAME];
        snprintf(name, sizeof name, t->n == 1 ? "input" : "input_%zu", i + 1);
        own[i] = ctsc_input(s, t->o->input_names ? t->o->input_names[i] : name, inputs[i]);
    }
    *result = scope_failed(s) ? NULL : t->fn(t->ctx, s, t->n, own);
    mem_free(own);
    if (scope_failed(s)) scope_copy_error(t->d, s);
    else if (!*result) diag_fail(t->d, CTSC_USAGE, "the traced function returned NULL");
    return t->d->status;
}

/* ---- copies of inputs ------------------------------------------------------------------------ */

static void check_free_copies(size_t n, ctsc_value **copies) {
    for (size_t i = 0; copies && i < n; i++) ctsc_value_free(copies[i]);
    mem_free(copies);
}

static ctsc_value **check_copies(diag *d, size_t n, ctsc_value *const *inputs) {
    ctsc_value **copies = mem_zalloc((n + 1) * sizeof *copies);
    if (!copies) diag_no_memory(d);
    for (size_t i = 0; copies && i < n && d->status == CTSC_OK; i++) {
        value v = value_none();
        if (value_clone(d, inputs[i]->v, &v) == CTSC_OK && !(copies[i] = api_wrap_take(v)))
            diag_no_memory(d);
    }
    if (d->status == CTSC_OK) return copies;
    check_free_copies(n, copies);
    return NULL;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The recorded graph runs with inputs, and each call is compared. */
static ctsc_status check_graph(const tracer *t, const trace *recorded, const trace *fresh,
                               const module *m, ctsc_value *const *inputs) {
    value *args = mem_alloc((t->n + 1) * sizeof *args);
    if (!args) return diag_no_memory(t->d);
    args[0] = m->root;
    for (size_t i = 0; i < t->n; i++) args[i + 1] = inputs[i]->v;
    trace_check c = {.recorded = recorded,
                     .again = fresh,
                     .forward = module_method(m, "forward"),
                     .n = t->n + 1,
                     .args = args,
                     .rtol = t->o->rtol,
                     .atol = t->o->atol};
    ctsc_status s = trace_check_run(&c, t->d);
    mem_free(args);
    return s;
}

/* set: which of the inputs, for the message. */
static ctsc_status check_inputs(const tracer *t, const trace *recorded, const module *m,
                                ctsc_value *const *inputs, int set) {
    ctsc_scope *s = mem_zalloc(sizeof *s);
    ctsc_value *result = NULL;
    trace_sink quiet = {0};
    if (!s) return diag_no_memory(t->d);
    ctsc_value **first = check_copies(t->d, t->n, inputs),
               **second = first ? check_copies(t->d, t->n, inputs) : NULL;
    if (second && tracer_run(t, s, first, quiet, true, &result) == CTSC_OK) {
        check_graph(t, recorded, s->trace, m, second);
    }
    source_range nowhere = {0};
    if (t->d->status != CTSC_OK && set < 0)
        diag_note(t->d, nowhere, "found when checking with the example inputs");
    else if (t->d->status != CTSC_OK)
        diag_note(t->d, nowhere, "found when checking with set %d of check inputs", set);
    check_free_copies(t->n, first);
    check_free_copies(t->n, second);
    scope_close(s);
    mem_free(s);
    return t->d->status;
}

/* ---- ctsc_trace ------------------------------------------------------------------------------ */

static ctsc_status tracer_trace(const tracer *t, ctsc_scope *s, ctsc_value *const *inputs,
                                ctsc_module **out) {
    ctsc_value *result = NULL,
               **copies = t->o->skip_check ? NULL : check_copies(t->d, t->n, inputs);
    if (!copies && !t->o->skip_check) return t->d->status;
    ctsc_module *m = NULL;
    ctsc_status st = tracer_run(t, s, inputs, (trace_sink){t->o->warn, t->o->ctx}, false, &result);
    if (st == CTSC_OK) st = scope_trace_finish(s, t->d, result, &m);
    if (st == CTSC_OK && !t->o->skip_check) st = check_inputs(t, s->trace, m->m, copies, -1);
    for (size_t i = 0; i < t->o->check_count && st == CTSC_OK && !t->o->skip_check; i++)
        st = check_inputs(t, s->trace, m->m, t->o->check_inputs[i], (int)i);
    check_free_copies(t->n, copies);
    scope_trace_drop(s);
    if (st == CTSC_OK) *out = m;
    else ctsc_module_free(m);
    return st;
}

ctsc_status ctsc_trace(ctsc_trace_fn fn, void *ctx, size_t n, ctsc_value *const *inputs,
                       const ctsc_trace_options *given, ctsc_module **out, ctsc_error *e) {
    ctsc_trace_options o;
    diag own, *d = api_enter(e, &own);
    scope_trace_options(given, &o);
    tracer t = {fn, ctx, n, &o, d};
    ctsc_scope *s = mem_zalloc(sizeof *s);
    if (!s) return api_leave(e, &own, diag_no_memory(d));
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; i < n && st == CTSC_OK; i++)
        if (!inputs[i]) st = diag_fail(d, CTSC_USAGE, "input %zu of the trace is NULL", i);
    if (st == CTSC_OK) st = tracer_trace(&t, s, inputs, out);
    scope_close(s);
    mem_free(s);
    return api_leave(e, &own, st);
}
