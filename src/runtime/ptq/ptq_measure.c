/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptq_measure.c - results of the float and the quantised program compared, and times of layers
 * (ptq.h).
 *
 * Times. In copies of both graphs layer i is given line i + 1 of a synthetic text, with the
 * bound after it, and all else gets the last line. Passes and the insertion preserve locations,
 * so that the profiler's table of lines is the table of layers, whatever a layer has become.
 */
#include "passes/passes.h"
#include "runtime/exec/executor.h"
#include "runtime/interp/interp.h"
#include "runtime/observe/profile.h"
#include "runtime/ptq/ptq.h"

#include <math.h>
#include <string.h>

/* ---- graphs that run ------------------------------------------------------------------------- */

/* A function of its own for a graph; nothing else sees it. */
typedef struct ptq_program { function f; graph *optimised; } ptq_program;

static ctsc_status program_open(const ptq *p, const graph *g, ptq_program *out) {
    function f = *p->f;
    memset(f.code, 0, sizeof f.code);
    *out = (ptq_program){.f = f};
    if (!(f.graph = graph_clone(g))) return diag_no_memory(p->d);
    ctsc_status s = executor_optimise(&f, MODULE_OPT_DEFAULT, p->m->root.u.object, p->d,
                                      &out->optimised);
    graph_free(f.graph);
    out->f.graph = out->optimised;
    return s;
}

static void program_close(ptq_program *q) {
    for (int i = 0; i < FUNCTION_CODES; i++) code_free(q->f.code[i]);
    graph_free(q->optimised);
}

static ctsc_status program_call(const ptq *p, ptq_program *q, const ptq_call *c, profiler *prof,
                                value *out) {
    workspace *w = workspace_take(&p->m->workspaces);
    if (!w) return diag_no_memory(p->d);
    runtime_init(&w->rt);
    w->rt.ws = w;
    ctsc_status s = CTSC_OK;
    if (prof && !(w->rt.watch = profiler_begin(prof, &q->f, &w->blocks))) s = diag_no_memory(p->d);
    if (s == CTSC_OK) {
        s = interp_call(&w->rt, &q->f, c->n, c->args, p->d, out);
        if (prof) profiler_end(prof, w->rt.watch, &w->blocks);
    }
    workspace_give(&p->m->workspaces, w);
    return s;
}

ctsc_status ptq_run(ptq *p, const graph *g, value *out) {
    ptq_program q;
    ctsc_status s = program_open(p, g, &q);
    for (size_t i = 0; s == CTSC_OK && i < p->ncalls; i++)
        s = program_call(p, &q, &p->calls[i], NULL, &out[i]);
    program_close(&q);
    for (size_t i = 0; s != CTSC_OK && i < p->ncalls; i++) value_set(&out[i], value_none());
    return s;
}

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct compared { double lost, whole; bool any; } compared;

static void compare_tensors(compared *c, tensor *a, tensor *b) {
    tensor *x = NULL, *y = NULL;
    bool floats = dtype_is_float((dtype)a->dtype) && dtype_is_float((dtype)b->dtype) &&
                  a->numel == b->numel && tensor_to_dtype(NULL, a, DT_FLOAT64, &x) == CTSC_OK &&
                  tensor_to_dtype(NULL, b, DT_FLOAT64, &y) == CTSC_OK;
    tensor *u = NULL, *v = NULL;
    if (floats && tensor_contiguous(NULL, x, &u) == CTSC_OK &&
        tensor_contiguous(NULL, y, &v) == CTSC_OK) {
        for (int64_t i = 0; i < u->numel; i++) {
            double p = TENSOR_AT(u, double)[i], q = TENSOR_AT(v, double)[i];
            if (!isfinite(p) && (p == q || (isnan(p) && isnan(q)))) continue;
            c->whole += p * p;
            c->lost += (p - q) * (p - q);
        }
        c->any = true;
    }
    tensor_unref(u);
    tensor_unref(v);
    tensor_unref(x);
    tensor_unref(y);
}

static void compare_values(compared *c, value a, value b, int depth) {
    enum { DEEPEST = 32 };
    if (a.tag != b.tag || depth > DEEPEST) return;
    if (a.tag == V_TENSOR) {
        compare_tensors(c, a.u.tensor, b.u.tensor);
    } else if (a.tag == V_TUPLE && a.u.tuple->len == b.u.tuple->len) {
        for (size_t i = 0; i < a.u.tuple->len; i++)
            compare_values(c, a.u.tuple->items[i], b.u.tuple->items[i], depth + 1);
    } else if (a.tag == V_LIST && a.u.list->len == b.u.list->len) {
        for (size_t i = 0; i < a.u.list->len; i++) {
            value x = list_get(a.u.list, i), y = list_get(b.u.list, i);
            compare_values(c, x, y, depth + 1);
            value_unref(x);
            value_unref(y);
        }
    } else if (a.tag == V_DICT) {
        for (size_t i = 0; i < a.u.dict->used; i++) {
            value other;
            if (a.u.dict->entries[i].key.tag != V_UNINIT &&
                dict_get(b.u.dict, a.u.dict->entries[i].key, &other))
                compare_values(c, a.u.dict->entries[i].val, other, depth + 1);
        }
    }
}

double ptq_error(const ptq *p, const value *results) {
    compared c = {0};
    for (size_t i = 0; i < p->ncalls; i++) compare_values(&c, p->expected[i], results[i], 0);
    if (!c.any) return -1;
    return c.whole > 0 ? sqrt(c.lost / c.whole) : c.lost > 0 ? INFINITY : 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

static const char lines_file[] = "<layers>";

typedef struct lines { source *src; uint32_t other; } lines;

static void lines_place(node *n, source *src, uint32_t line) {
    n->range = (source_range){src, line, line};
    n->call = NULL;
}

static void lines_other(block *b, const lines *l) {
    for (node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++) lines_other(n->blocks.data[i], l);
        lines_place(n, l->src, l->other);
    }
}

/* A copy of the float graph in which layers have lines. */
static graph *lines_graph(const ptq *p) {
    graph *g = graph_clone(p->g);
    quantise_layers layers = {0};
    size_t n = p->layers.len;
    char *text = mem_alloc(n + 2);
    if (text) memset(text, '\n', n + 2);
    source *src = text ? source_new(lines_file, text, n + 2) : NULL;
    bool ok = g && src && quantise_find_layers(g, p->o->style, &layers) && layers.len == n;
    if (ok) {
        lines l = {src, (uint32_t)n};
        graph_hold_source(g, src);
        lines_other(g->root, &l);
        for (uint32_t i = 0; i < n; i++) {
            node *tail = quantise_tail(layers.data[i].n);
            lines_place(layers.data[i].n, src, i);
            if (tail) lines_place(tail, src, i);
        }
        ok = !arena_failed(&g->arena);
    }
    vec_free(&layers);
    source_unref(src);
    mem_free(text);
    if (ok) return g;
    graph_free(g);
    return NULL;
}

/* Times of a call of g: ns[i] of layer i. */
static ctsc_status lines_time(const ptq *p, const graph *g, int64_t *ns, int64_t *total) {
    enum { WARM = 3 };
    ptq_program q;
    value result = value_none();
    profiler *prof = profiler_new(0);
    ctsc_status s = prof ? program_open(p, g, &q) : diag_no_memory(p->d);
    bool opened = prof != NULL;
    for (int i = 0; s == CTSC_OK && i < WARM + p->o->timed; i++) {
        ptq_tell(p, "times of layers, call %d of %d", i + 1, WARM + p->o->timed);
        s = program_call(p, &q, &p->calls[0], i < WARM ? NULL : prof, &result);
        value_set(&result, value_none());
    }
    for (size_t i = 0; s == CTSC_OK && i < prof->list[PROFILE_LINES].len; i++) {
        const profile_row *r = prof->list[PROFILE_LINES].data[i];
        if (r->file && !strcmp(r->file, lines_file) && r->line && r->line <= p->layers.len)
            ns[r->line - 1] += r->sums.self_ns / p->o->timed;
    }
    if (s == CTSC_OK) *total = prof->total_ns / p->o->timed;
    if (opened) program_close(&q);
    profiler_free(prof);
    return s;
}

ctsc_status ptq_time(ptq *p, const quantise_plan *plan) {
    size_t n = p->layers.len;
    ptq_report *r = p->report;
    int64_t *before = mem_zalloc((n + 1) * sizeof *before),
            *after = mem_zalloc((n + 1) * sizeof *after);
    graph *g = lines_graph(p), *q = lines_graph(p);
    ctsc_status s = before && after && g && q ? CTSC_OK : diag_no_memory(p->d);
    if (s == CTSC_OK) s = lines_time(p, g, before, &r->ns);
    if (s == CTSC_OK) s = quantise_insert(p->d, q, plan, NULL);
    if (s == CTSC_OK) s = pass_run_list(&(pass_ctx){.diag = p->d}, q, "dce", NULL);
    if (s == CTSC_OK) s = lines_time(p, q, after, &r->ns_after);
    for (size_t i = 0; s == CTSC_OK && i < n; i++)
        r->layers[i].ns = before[i], r->layers[i].ns_after = after[i];
    graph_free(g);
    graph_free(q);
    mem_free(before);
    mem_free(after);
    return s;
}
