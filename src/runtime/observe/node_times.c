/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_times.c - times each node of a graph with the profiler.
 *
 * Method. The profiler knows lines, not nodes. So in a copy of the graph node
 * k is given line k + 1 of a synthetic text, and its table of lines is the
 * table of nodes. Fusion groups are kept: a kernel's time is the group's, and
 * the nodes of its body get times only where they are run one by one.
 * Tests: tests/unit/test_view.c, tests/cli/view.test
 */
#include "runtime/observe/node_times.h"

#include "ir/graph/graph_json.h"
#include "runtime/interp/interp.h"
#include "runtime/observe/profile.h"

#include <string.h>

static const char times_file[] = "<nodes>";

static void times_count(void *ctx, node *n, size_t number) {
    (void)n;
    *(size_t *)ctx = number + 1;
}

static void times_place(void *ctx, node *n, size_t number) {
    source *src = ctx;
    graph_hold_source(n->g, src);
    n->range = (source_range){src, (uint32_t)number, (uint32_t)number};
    n->call = NULL;
}

/* The copy in which each node has a line. */
static graph *times_graph(const graph *g, size_t *n) {
    graph *copy = graph_clone(g);
    if (!copy) return NULL;
    *n = 0;
    graph_number(copy, times_count, n);
    char *lines = mem_alloc(*n + 1);
    if (lines) memset(lines, '\n', *n + 1);
    source *src = lines ? source_new(times_file, lines, *n + 1) : NULL;
    if (src) graph_number(copy, times_place, src);
    bool ok = src && !arena_failed(&copy->arena);
    source_unref(src);
    mem_free(lines);
    if (ok) return copy;
    graph_free(copy);
    return NULL;
}

static ctsc_status times_call(workspace_pool *pool, function *f, profiler *p, int nargs,
                              const value *args, diag *d) {
    value result = value_none();
    workspace *w = workspace_take(pool);
    if (!w) return diag_no_memory(d);
    runtime_init(&w->rt);
    w->rt.ws = w;
    ctsc_status s = CTSC_OK;
    if (p && !(w->rt.watch = profiler_begin(p, f, &w->blocks))) s = diag_no_memory(d);
    if (s == CTSC_OK) {
        s = interp_call(&w->rt, f, nargs, args, d, &result);
        if (p) profiler_end(p, w->rt.watch, &w->blocks);
    }
    value_unref(result);
    workspace_give(pool, w);
    return s;
}

static void times_read(const profiler *p, int calls, node_times *t) {
    for (size_t i = 0; i < p->list[PROFILE_LINES].len; i++) {
        const profile_row *r = p->list[PROFILE_LINES].data[i];
        if (!r->file || strcmp(r->file, times_file) || !r->line || r->line > t->n) continue;
        if (r->sums.count) t->ns[r->line - 1] = r->sums.self_ns / calls;
    }
    t->total_ns = p->total_ns / calls;
}

ctsc_status node_times_measure(workspace_pool *pool, const function *f, const graph *g, int nargs,
                               const value *args, int warmup, int calls, diag *d, node_times *out) {
    node_times t = {0};
    graph *copy = times_graph(g, &t.n);
    profiler *p = profiler_new(0);
    size_t bytes;
    if (size_mul(t.n + 1, sizeof *t.ns, &bytes)) t.ns = mem_alloc(bytes);
    ctsc_status s = copy && p && t.ns ? CTSC_OK : diag_no_memory(d);
    function timed = *f; /* never seen by others: its graph is run as it is */
    timed.graph = copy;
    memset(timed.code, 0, sizeof timed.code);
    for (size_t i = 0; s == CTSC_OK && i < t.n; i++) t.ns[i] = -1;
    for (int i = 0; i < warmup && s == CTSC_OK; i++)
        s = times_call(pool, &timed, NULL, nargs, args, d);
    for (int i = 0; i < calls && s == CTSC_OK; i++) s = times_call(pool, &timed, p, nargs, args, d);
    if (s == CTSC_OK) times_read(p, calls, &t);
    profiler_free(p);
    for (int i = 0; i < FUNCTION_CODES; i++) code_free(timed.code[i]);
    graph_free(copy);
    if (s == CTSC_OK) *out = t;
    else mem_free(t.ns);
    return s;
}

void node_times_free(node_times *t) {
    mem_free(t->ns);
    *t = (node_times){0};
}
