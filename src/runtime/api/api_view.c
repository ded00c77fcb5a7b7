/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_view.c - the part of ctsc_compiler.h about drawings: graphs as JSON, with what is seen and
 * measured of a call.
 *
 * Tests: tests/unit/test_view.c, tests/cli/view.test
 */
#include "ctsc_compiler.h"
#include "ir/graph/graph_json.h"
#include "passes/passes.h"
#include "runtime/api/api.h"
#include "runtime/observe/node_times.h"
#include "runtime/observe/seen.h"
#include "runtime/program/exported.h"

#include <string.h>

/* A copy of f's graph: as the module's level runs it, or as written, its calls inlined where all
 * that they call compiles. */
static ctsc_status view_graph(const ctsc_module *m, function *f, bool as_run, diag *d,
                              graph **out) {
    if (as_run && m->m->opt > 0) return api_graph_for_level(m, f, d, out);
    diag own = {0};
    TRY(function_ensure_compiled(f, d));
    graph *g = graph_clone(f->graph);
    if (!g) return diag_no_memory(d);
    ctsc_status s = pipeline_inline(g, false, &own);
    if (s == CTSC_LIMIT || s == CTSC_INTERNAL) {
        graph_free(g);
        diag_append(d, &own);
        return s;
    }
    diag_clear(&own);
    if (s != CTSC_OK) { /* it may be inlined in parts */
        graph_free(g);
        if (!(g = graph_clone(f->graph))) return diag_no_memory(d);
    }
    *out = g;
    return CTSC_OK;
}

static ctsc_status view_write(const ctsc_module *m, const function *f, const graph *g,
                              const node_times *t, const node_work *w, char **out, diag *d) {
    strbuf text = STRBUF_INIT;
    strmap declared = {0};
    bool all = true;
    for (const declared_value *v = f->declared; v && v->name && all; v++)
        all = strmap_put(&declared, v->name, (void *)(uintptr_t)v->type);
    graph_json_options o = {.self = m->m->root.u.object,
                            .ns = t->ns,
                            .nns = t->n,
                            .total_ns = t->total_ns,
                            .flops = w->flops,
                            .nflops = w->n,
                            .declared = &declared};
    if (all) graph_json(g, &o, &text);
    strmap_free(&declared);
    char *taken = all ? sb_take(&text) : NULL;
    sb_free(&text);
    if (!taken) return diag_no_memory(d);
    *out = taken;
    return CTSC_OK;
}

static ctsc_status view_of(const ctsc_module *m, function *f, size_t nargs, ctsc_value *const *args,
                           const ctsc_graph_json_options *o, diag *d, char **out) {
    graph *g = NULL;
    value *full = NULL;
    node_times times = {0};
    node_work work = {0};
    bool run = nargs || (o->calls && !api_needs_arguments(f));
    ctsc_status s = view_graph(m, f, o->as_run, d, &g);
    if (s == CTSC_OK && run) s = api_arguments(m, f, nargs, args, d, &full);
    if (s == CTSC_OK && run) s = seen_run(f, g, f->schema->nargs, full, NULL, &work, d);
    if (s == CTSC_OK && run && o->calls > 0)
        s = node_times_measure(&m->m->workspaces, f, g, f->schema->nargs, full, o->warmup, o->calls,
                               d, &times);
    if (s == CTSC_OK) s = view_write(m, f, g, &times, &work, out, d);
    node_work_free(&work);
    node_times_free(&times);
    if (full) api_free_arguments(f, full);
    graph_free(g);
    return s;
}

ctsc_status ctsc_module_graph_json(const ctsc_module *m, const char *method, size_t nargs,
                                   ctsc_value *const *args, const ctsc_graph_json_options *o,
                                   char **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    function *f = NULL;
    ctsc_graph_json_options given = {0};
    if (o) memcpy(&given, o, o->size < sizeof given ? o->size : sizeof given);
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK && !api_all_given(nargs, args))
        s = diag_fail(d, CTSC_USAGE, "%s: an argument is NULL", method);
    if (s == CTSC_OK && (given.calls < 0 || given.warmup < 0))
        s = diag_fail(d, CTSC_USAGE, "calls and warmup are not negative");
    if (s == CTSC_OK) s = view_of(m, f, nargs, args, &given, d, out);
    return api_leave(e, &own, s);
}

/* ((args...), {name: arg}), as torch.export writes it. */
static bool view_is_sample(value v) {
    return v.tag == V_TUPLE && v.u.tuple->len == 2 && v.u.tuple->items[0].tag == V_TUPLE &&
           v.u.tuple->items[1].tag == V_DICT;
}

ctsc_status ctsc_archive_sample_inputs(const char *path, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    reader r;
    archive *a = NULL;
    value v = value_none();
    ctsc_status s = api_given(d, path, "the path");
    if (s == CTSC_OK) s = reader_open_file(d, path, &r);
    if (s == CTSC_OK) s = archive_open(d, r, &a);
    if (s == CTSC_OK && exported_is(a)) s = exported_sample(d, a, &v);
    archive_unref(a);
    ctsc_value *h = NULL;
    if (s == CTSC_OK && view_is_sample(v)) {
        if (!(h = api_wrap_take(v))) s = diag_no_memory(d);
    } else {
        value_unref(v);
    }
    if (s == CTSC_OK) *out = h;
    return api_leave(e, &own, s);
}
