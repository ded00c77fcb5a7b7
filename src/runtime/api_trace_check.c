/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_trace_check.c - ctsc_trace: traces a function, and checks that the trace computes what the function computes.
 *
 * Method. A check runs the function once more, in a scope of its own, and keeps a copy of each call's result. Then the
 * trace's graph, as it was recorded, is run with the same inputs under instrument.h, which shows every node's outputs in
 * order: a recorded call's node is compared with the call that the function made at that place. The first that differs
 * is the error; so is a call that only one of them makes. Inputs are copied for each run, since both may change them.
 * Tests: tests/unit/test_trace.c
 */
#include "runtime/api_scope.h"
#include "runtime/instrument.h"
#include "runtime/interp.h"

#include <stdio.h>
#include <string.h>

enum { CHECK_NAME = 32 };

typedef struct tracer {
    ctsc_trace_fn fn;
    void *ctx;
    size_t n;
    const ctsc_trace_options *o;
    diag *d;
} tracer;

/* ---- one run of the function ------------------------------------------------------------------------------------ */

/* Runs the function, recording, in a new scope; *result is the scope's. */
static ctsc_status tracer_run(const tracer *t, ctsc_scope *s, ctsc_value *const *inputs, trace_sink sink, bool results, ctsc_value **result) {
    scope_init(s);
    ctsc_status st = scope_trace_begin(s, t->d, t->o->name, sink);
    if (st != CTSC_OK) return st;
    if (results) trace_keep_results(s->trace);
    else if (!t->o->skip_check) trace_keep_graph(s->trace);
    ctsc_value **own = mem_alloc((t->n + 1) * sizeof *own);
    if (!own) return diag_no_memory(t->d);
    for (size_t i = 0; i < t->n; i++) {
        char name[CHECK_NAME];
        snprintf(name, sizeof name, t->n == 1 ? "input" : "input_%zu", i + 1);
        own[i] = ctsc_input(s, t->o->input_names ? t->o->input_names[i] : name, inputs[i]);
    }
    *result = scope_failed(s) ? NULL : t->fn(t->ctx, s, t->n, own);
    mem_free(own);
    if (scope_failed(s)) scope_copy_error(t->d, s);
    else if (!*result) diag_fail(t->d, CTSC_USAGE, "the traced function returned NULL");
    return t->d->status;
}

/* ---- copies of inputs --------------------------------------------------------------------------------------------- */

static ctsc_status check_copy(diag *d, value v, value *out) {
    if (v.tag == V_TENSOR) {
        tensor *c = NULL;
        ctsc_status s = tensor_clone(d, v.u.tensor, &c);
        if (s == CTSC_OK) *out = value_tensor_take(c);
        return s;
    }
    ctsc_status s = CTSC_OK;
    if (v.tag == V_TUPLE) {
        tuple *t = tuple_new(v.u.tuple->len, v.u.tuple->type);
        if (!t) return diag_no_memory(d);
        for (size_t i = 0; i < t->len && s == CTSC_OK; i++) s = check_copy(d, v.u.tuple->items[i], &t->items[i]);
        *out = value_tuple_take(t);
    } else if (v.tag == V_LIST) {
        list *l = list_new((list_kind)v.u.list->kind, v.u.list->elem, v.u.list->len);
        if (!l) return diag_no_memory(d);
        for (size_t i = 0; i < v.u.list->len && s == CTSC_OK; i++) {
            value item = list_get(v.u.list, i), copy = value_none();
            s = check_copy(d, item, &copy);
            value_unref(item);
            if (s == CTSC_OK && !list_append_take(l, copy)) s = diag_no_memory(d);
        }
        *out = value_list_take(l);
    } else {
        *out = value_ref(v);
    }
    return s;
}

static void check_free_copies(size_t n, ctsc_value **copies) {
    for (size_t i = 0; copies && i < n; i++) ctsc_value_free(copies[i]);
    mem_free(copies);
}

static ctsc_value **check_copies(diag *d, size_t n, ctsc_value *const *inputs) {
    ctsc_value **copies = mem_zalloc((n + 1) * sizeof *copies);
    if (!copies) diag_no_memory(d);
    for (size_t i = 0; copies && i < n && d->status == CTSC_OK; i++) {
        value v = value_none();
        if (check_copy(d, inputs[i]->v, &v) != CTSC_OK) value_unref(v);
        else if (!(copies[i] = api_wrap_take(v))) diag_no_memory(d);
    }
    if (d->status == CTSC_OK) return copies;
    check_free_copies(n, copies);
    return NULL;
}

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

typedef struct check {
    const tracer *t;
    const trace *recorded, *fresh;
    ptrmap calls; /* node -> number of the recorded call whose result it makes, from 1 */
} check;

/* Tuples and lists count as equal, item by item: copies are tuples. */
static bool check_close(const tracer *t, value got, value want, strbuf *why) {
    if (got.tag != V_LIST || want.tag != V_TUPLE) return value_close(got, want, t->o->rtol, t->o->atol, why);
    if (got.u.list->len != want.u.tuple->len) {
        sb_printf(why, "%zu items instead of %zu", got.u.list->len, want.u.tuple->len);
        return false;
    }
    bool same = true;
    for (size_t i = 0; i < got.u.list->len && same; i++) {
        value item = list_get(got.u.list, i);
        same = check_close(t, item, want.u.tuple->items[i], why);
        value_unref(item);
    }
    return same;
}

static ctsc_status check_node(void *ctx, const node *n, const value *inputs, const value *outputs) {
    const check *c = ctx;
    diag *d = c->t->d;
    size_t k = (size_t)(uintptr_t)ptrmap_get(&c->calls, n);
    (void)inputs;
    if (!k) return CTSC_OK;
    const trace_call *was = trace_call_at(c->recorded, k - 1);
    if (k > trace_call_count(c->fresh))
        return diag_fail(d, CTSC_FAILED, "the trace has a call that the function did not make again: number %zu, %s", k, was->op);
    const trace_call *now = trace_call_at(c->fresh, k - 1);
    if (strcmp(was->op, now->op))
        return diag_fail(d, CTSC_FAILED, "the function took another path: its call number %zu is %s, where the trace has %s", k, now->op, was->op);
    strbuf why = STRBUF_INIT;
    bool same = now->result.tag == V_NONE || check_close(c->t, outputs[was->value->index], now->result, &why);
    if (!same)
        diag_fail(d, CTSC_FAILED, "the trace computes something else than the function: call number %zu, %s, is the first that differs: %s", k,
                  was->op, sb_str(&why));
    sb_free(&why);
    return same ? CTSC_OK : CTSC_FAILED;
}

/* The recorded graph runs with inputs, and each call is compared. */
static ctsc_status check_graph(check *c, const module *m, ctsc_value *const *inputs) {
    diag *d = c->t->d;
    size_t n = c->t->n;
    for (size_t i = 0; i < trace_call_count(c->recorded); i++) {
        const node *def = trace_call_at(c->recorded, i)->value->def;
        if (def && !ptrmap_get(&c->calls, def) && !ptrmap_put(&c->calls, def, (void *)(uintptr_t)(i + 1))) return diag_no_memory(d);
    }
    runtime *rt = mem_alloc(sizeof *rt);
    value *args = mem_alloc((n + 1) * sizeof *args), out = value_none();
    ctsc_status s = rt && args ? CTSC_OK : diag_no_memory(d);
    if (s == CTSC_OK) {
        runtime_init(rt);
        args[0] = m->root;
        for (size_t i = 0; i < n; i++) args[i + 1] = inputs[i]->v;
        instrument in = {.node = check_node, .ctx = c};
        s = instrument_run(&in, module_method(m, "forward"), trace_graph(c->recorded), rt, (int)n + 1, args, d, &out);
    }
    value_unref(out);
    mem_free(args);
    mem_free(rt);
    if (s == CTSC_OK && trace_call_count(c->fresh) > trace_call_count(c->recorded))
        s = diag_fail(d, CTSC_FAILED, "the function made a call that the trace does not have: number %zu, %s", trace_call_count(c->recorded) + 1,
                      trace_call_at(c->fresh, trace_call_count(c->recorded))->op);
    return s;
}

/* set: which of the inputs, for the message. */
static ctsc_status check_inputs(const tracer *t, const trace *recorded, const module *m, ctsc_value *const *inputs, int set) {
    ctsc_scope *s = mem_zalloc(sizeof *s);
    ctsc_value *result = NULL;
    trace_sink quiet = {0};
    if (!s) return diag_no_memory(t->d);
    ctsc_value **first = check_copies(t->d, t->n, inputs), **second = first ? check_copies(t->d, t->n, inputs) : NULL;
    if (second && tracer_run(t, s, first, quiet, true, &result) == CTSC_OK) {
        check c = {.t = t, .recorded = recorded, .fresh = s->trace};
        check_graph(&c, m, second);
        ptrmap_free(&c.calls);
    }
    source_range nowhere = {0};
    if (t->d->status != CTSC_OK && set < 0) diag_note(t->d, nowhere, "found when checking with the example inputs");
    else if (t->d->status != CTSC_OK) diag_note(t->d, nowhere, "found when checking with set %d of check inputs", set);
    check_free_copies(t->n, first);
    check_free_copies(t->n, second);
    scope_close(s);
    mem_free(s);
    return t->d->status;
}

/* ---- ctsc_trace -------------------------------------------------------------------------------------------------------- */

static ctsc_status tracer_trace(const tracer *t, ctsc_scope *s, ctsc_value *const *inputs, ctsc_module **out) {
    ctsc_value *result = NULL, **copies = t->o->skip_check ? NULL : check_copies(t->d, t->n, inputs);
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

ctsc_status ctsc_trace(ctsc_trace_fn fn, void *ctx, size_t n, ctsc_value *const *inputs, const ctsc_trace_options *given, ctsc_module **out,
                       ctsc_error *e) {
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
