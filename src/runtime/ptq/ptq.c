/* SPDX-License-Identifier: Apache-2.0 */
/* ptq.c - a module quantised: freezing, observing, choosing, inserting, measuring (ptq.h). */
#include "runtime/ptq/ptq.h"

#include "base/text/text.h"
#include "passes/passes.h"
#include "passes/weights/reduce_precision.h"
#include "runtime/interp/interp.h"
#include "runtime/program/module_keep.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options as text ------------------------------------------------------------------------- */

static const struct ptq_method {
    const char *name;
    quantise_style style;
    int bits;
    int64_t group;
} ptq_methods[] = {
    {"static", QUANTISE_STATIC, 8, 0}, {"dynamic", QUANTISE_DYNAMIC, 8, 0},
    {"int8w", QUANTISE_WEIGHTS, 8, 0}, {"int4w", QUANTISE_WEIGHTS, 4, 32},
    {"bf16", QUANTISE_BF16, 16, 0},
};

static bool method_groups(const char *text, quantise_weights *w) {
    int group = (int)w->group;
    if (!reduce_read_groups(text, &group, &w->zeros)) return false;
    w->group = group;
    return true;
}

ctsc_status ptq_parse_method(diag *d, const char *text, ptq_options *o) {
    if (!text) text = "static";
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < sizeof ptq_methods / sizeof *ptq_methods; i++) {
        const struct ptq_method *m = &ptq_methods[i];
        if (strlen(m->name) != n || strncmp(m->name, text, n) != 0) continue;
        o->style = m->style;
        o->weights.bits = m->bits;
        o->weights.group = m->group;
        if (m->bits == 4 ? method_groups(text + n, &o->weights) : !text[n]) return CTSC_OK;
    }
    return diag_fail(d, CTSC_USAGE,
                     "'%s' is not a method of quantisation: static, dynamic, int8w, "
                     "int4w[:32|64|128[,asym]], bf16",
                     text);
}

ctsc_status ptq_parse_observer(diag *d, const char *text, observer_options *o) {
    char *end;
    if (!text || !strcmp(text, "minmax")) return o->kind = OBSERVER_MINMAX, CTSC_OK;
    if (!strcmp(text, "entropy")) return o->kind = OBSERVER_ENTROPY, CTSC_OK;
    if (!strncmp(text, "percentile", 10)) {
        o->kind = OBSERVER_PERCENTILE;
        o->percentile = 99.999;
        if (!text[10]) return CTSC_OK;
        if (text[10] == ':') {
            o->percentile = text_double(text + 11, &end);
            if (end != text + 11 && !*end && o->percentile > 0 && o->percentile <= 100)
                return CTSC_OK;
        }
    }
    return diag_fail(
        d, CTSC_USAGE,
        "'%s' is not an observer: minmax, percentile[:P] (P above 0, up to 100), entropy", text);
}

/* ---- progress -------------------------------------------------------------------------------- */

void ptq_tell(const ptq *p, const char *fmt, ...) {
    char text[256];
    va_list ap;
    if (!p->o->progress) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->o->progress(p->o->progress_ctx, text);
}

/* ---- the report ------------------------------------------------------------------------------ */

void ptq_report_free(ptq_report *r) {
    if (!r) return;
    value_unref(r->state);
    arena_free(&r->arena);
    mem_free(r);
}

static ctsc_status report_new(ptq *p) {
    ptq_report *r = mem_zalloc(sizeof *r);
    if (!r) return diag_no_memory(p->d);
    bool ok = arena_init(&r->arena);
    p->report = r;
    r->n = p->layers.len;
    r->layers = ok ? arena_array(&r->arena, ptq_layer, r->n + 1) : NULL;
    r->error = -1;
    r->ns = r->ns_after = -1;
    r->examples = p->ncalls;
    if (!ok || arena_failed(&r->arena)) return diag_no_memory(p->d);
    return ptq_name_layers(p);
}

static int64_t tensor_bytes(const tensor *t) {
    return t->numel * (int64_t)dtype_size((dtype)t->dtype);
}

static int64_t layer_bytes(const quantise_layer *l) {
    tensor *b;
    quantise_layer part;
    int64_t n = 0;
    for (size_t i = 0; i < l->nparts; i++)
        if (quantise_part(l, i, &part) || part.w) n += tensor_bytes(part.w);
    if (l->parts) return n;
    return tensor_bytes(l->w) + (l->bias && known_tensor(l->bias, &b) ? tensor_bytes(b) : 0);
}

static int64_t layer_bytes_after(const ptq *p, const quantise_layer *l) {
    tensor *b;
    quantise_layer part;
    int64_t bias = l->bias && known_tensor(l->bias, &b) ? tensor_bytes(b) : 0, n = 0;
    for (size_t i = 0; i < l->nparts; i++)
        if (quantise_part(l, i, &part)) n += quantise_weight_size(&part, &p->o->weights);
        else if (part.w) n += tensor_bytes(part.w);
    if (l->parts) return n;
    if (p->o->style == QUANTISE_BF16) return (tensor_bytes(l->w) + bias) / 2;
    return quantise_weight_size(l, &p->o->weights) + bias;
}

/* Constant tensors of a graph, each storage once. */
static int64_t graph_bytes(const block *b, ptrmap *seen) {
    int64_t n = 0;
    value v;
    for (const node *x = b->first; x; x = x->next) {
        for (size_t i = 0; i < x->blocks.len; i++) n += graph_bytes(x->blocks.data[i], seen);
        if (x->kind != N_CONSTANT || !ir_value_constant(x->outputs.data[0], &v) ||
            v.tag != V_TENSOR || ptrmap_get(seen, v.u.tensor))
            continue;
        n += tensor_bytes(v.u.tensor);
        if (!ptrmap_put(seen, v.u.tensor, v.u.tensor)) return n;
    }
    return n;
}

static void report_fill(ptq *p) {
    ptq_report *r = p->report;
    ptrmap seen = {0}, changed = {0};
    r->bytes = r->bytes_after = graph_bytes(p->g->root, &seen);
    for (size_t i = 0; i < r->n; i++) {
        ptq_layer *l = &r->layers[i];
        const tensor *w = p->layers.data[i].w;
        l->bytes = layer_bytes(&p->layers.data[i]);
        l->bytes_after = l->quantised ? layer_bytes_after(p, &p->layers.data[i]) : l->bytes;
        l->error = p->errors[i];
        r->quantised += l->quantised;
        if (l->ns == 0 && l->ns_after == 0 && r->ns < 0) l->ns = l->ns_after = -1;
        /* a weight of several layers counts once */
        if (l->quantised && !ptrmap_get(&changed, w) && ptrmap_put(&changed, w, l))
            r->bytes_after += l->bytes_after - l->bytes;
    }
    ptrmap_free(&seen);
    ptrmap_free(&changed);
}

/* ---- choosing -------------------------------------------------------------------------------- */

quantise_plan ptq_plan(const ptq *p) {
    return (quantise_plan){.style = p->o->style,
                           .weights = p->o->weights,
                           .reduce_range = p->o->observer.reduce_range,
                           .decomposed = p->o->decomposed,
                           .keep = p->keep,
                           .ranges = p->ranges,
                           .nranges = p->nvalues};
}

static ctsc_status ptq_convert(ptq *p, graph **out) {
    quantise_plan plan = ptq_plan(p);
    graph *g = graph_clone(p->g);
    if (!g) return diag_no_memory(p->d);
    ctsc_status s = quantise_insert(p->d, g, &plan, p->made);
    if (s == CTSC_OK) s = pass_run_list(&(pass_ctx){.diag = p->d}, g, "dce,pool-constants", NULL);
    if (s == CTSC_OK) *out = g;
    else graph_free(g);
    return s;
}

/* The error with p->keep as it is. */
static ctsc_status ptq_try(ptq *p, double *error) {
    graph *g = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < p->layers.len; i++) kept += p->keep[i];
    ptq_tell(p, "error of the results, %zu of %zu layers float", kept, p->layers.len);
    value *results = mem_zalloc((p->ncalls + 1) * sizeof *results);
    ctsc_status s = results ? ptq_convert(p, &g) : diag_no_memory(p->d);
    if (s == CTSC_OK) s = ptq_run(p, g, results);
    if (s == CTSC_OK) *error = ptq_error(p, results);
    for (size_t i = 0; results && i < p->ncalls; i++) value_unref(results[i]);
    mem_free(results);
    graph_free(g);
    return s;
}

typedef struct candidate { double error; size_t layer; } candidate;

static int candidate_order(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->error > y->error   ? -1
           : x->error < y->error ? 1
                                 : (x->layer > y->layer) - (x->layer < y->layer);
}

static void choose_keep(ptq *p, const candidate *c, size_t n, size_t kept) {
    for (size_t i = 0; i < n; i++) p->keep[c[i].layer] = i < kept;
}

/* As few layers as are needed stay float, those of the largest errors. */
static ctsc_status ptq_choose(ptq *p, double *error) {
    size_t n = 0, low = 0;
    ctsc_status s = ptq_try(p, error);
    if (s != CTSC_OK || p->o->max_error <= 0 || *error <= p->o->max_error) return s;
    candidate *c = mem_zalloc((p->layers.len + 1) * sizeof *c);
    if (!c) return diag_no_memory(p->d);
    for (size_t i = 0; i < p->layers.len; i++)
        if (!p->keep[i]) c[n++] = (candidate){p->errors[i], i};
    qsort(c, n, sizeof *c, candidate_order);
    size_t high = n; /* is enough if anything is; `low` is not */
    while (s == CTSC_OK && high - low > 1) {
        size_t middle = low + (high - low) / 2;
        choose_keep(p, c, n, middle);
        s = ptq_try(p, error);
        if (*error <= p->o->max_error) high = middle;
        else low = middle;
    }
    choose_keep(p, c, n, high);
    if (s == CTSC_OK) s = ptq_try(p, error);
    if (s == CTSC_OK && (*error > p->o->max_error || high == n))
        s = diag_fail(p->d, CTSC_FAILED, "an error of %.3g is not reached with any layer quantised",
                      p->o->max_error);
    mem_free(c);
    return s;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static ctsc_status calls_make(ptq *p, size_t n, const value *examples) {
    if (!(p->calls = mem_zalloc((n + 1) * sizeof *p->calls)) ||
        !(p->expected = mem_zalloc((n + 1) * sizeof *p->expected)))
        return diag_no_memory(p->d);
    for (size_t i = 0; i < n; i++) {
        const tuple *t = examples[i].u.tuple;
        value *given = mem_zalloc((t->len + 1) * sizeof *given);
        value *full = mem_zalloc((size_t)(p->f->schema->nargs + 1) * sizeof *full);
        ctsc_status s = given && full ? CTSC_OK : diag_no_memory(p->d);
        if (s == CTSC_OK) {
            given[0] = p->m->root;
            memcpy(given + 1, t->items, t->len * sizeof *given);
            s = interp_check_args(p->f, (int)t->len + 1, given, p->d, full);
        }
        mem_free(given);
        if (s != CTSC_OK) return mem_free(full), s;
        p->calls[p->ncalls++] = (ptq_call){full, p->f->schema->nargs};
    }
    return CTSC_OK;
}

static void ptq_free(ptq *p) {
    for (size_t i = 0; i < p->ncalls; i++) {
        for (int k = 0; k < p->calls[i].n; k++) value_unref(p->calls[i].args[k]);
        mem_free(p->calls[i].args);
        value_unref(p->expected[i]);
    }
    vec_free(&p->layers);
    value_unref(p->state);
    mem_free(p->calls);
    mem_free(p->expected);
    mem_free(p->keep);
    mem_free(p->named);
    mem_free(p->made);
    mem_free(p->ranges);
    mem_free(p->errors);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The float graph: frozen, nothing written that need not be. */
static ctsc_status ptq_float(ptq *p, size_t nexamples, const value *examples) {
    TRY(module_tensors(p->m, p->d, true, true, &p->state));
    TRY(module_freeze(p->d, p->m, true));
    p->f = module_method(p->m, "forward");
    p->g = p->f->graph;
    TRY(calls_make(p, nexamples, examples));
    pass_ctx cx = {.diag = p->d, .self = p->m->root.u.object};
    TRY(pass_run_list(&cx, p->g, "remove-mutation,[peephole,fold-constants,fuse-linear,dce]",
                      NULL));
    TRY(ptq_specialise(p));
    return pass_run_list(
        &cx, p->g, "[peephole,fold-constants,fuse-linear,fold-weights,dce],pool-constants", NULL);
}

static ctsc_status ptq_prepare(ptq *p) {
    if (!quantise_find_layers(p->g, p->o->style, &p->layers)) return diag_no_memory(p->d);
    if (!p->layers.len)
        return diag_fail(p->d, CTSC_UNSUPPORTED,
                         "forward has no layer that could be quantised: %s with a constant weight "
                         "of float32",
                         p->o->style == QUANTISE_STATIC || p->o->style == QUANTISE_BF16
                             ? "a convolution, a linear layer or a product"
                             : "a linear or recurrent layer or a product");
    size_t n = p->layers.len + 1;
    p->keep = mem_zalloc(n);
    p->named = mem_zalloc(n);
    p->made = mem_zalloc(n);
    p->errors = mem_zalloc(n * sizeof *p->errors);
    if (!p->keep || !p->named || !p->made || !p->errors) return diag_no_memory(p->d);
    for (size_t i = 0; i < p->layers.len; i++) p->errors[i] = -1;
    TRY(report_new(p));
    for (size_t i = 0; i < p->layers.len; i++) p->keep[i] = p->named[i];
    return CTSC_OK;
}

static void ptq_outcome(ptq *p) {
    for (size_t i = 0; i < p->layers.len; i++) {
        ptq_layer *l = &p->report->layers[i];
        l->quantised = p->made[i];
        if (p->named[i]) l->reason = "its name";
        else if (p->keep[i]) l->reason = "its error";
        else if (!p->made[i] &&
                 !(l->reason = quantise_unfit(&p->layers.data[i], p->o->style, &p->o->weights)))
            l->reason = p->ncalls && p->errors[i] < 0 ? "not reached" : "its numbers";
    }
}

static ctsc_status ptq_measured(ptq *p) {
    double error = -1;
    TRY(ptq_layer_errors(p));
    TRY(ptq_run(p, p->g, p->expected));
    TRY(ptq_choose(p, &error));
    p->report->error = error;
    quantise_plan plan = ptq_plan(p);
    return p->o->timed > 0 ? ptq_time(p, &plan) : CTSC_OK;
}

static ctsc_status ptq_all(ptq *p, size_t nexamples, const value *examples) {
    module_kept kept = {0};
    graph *g = NULL;
    TRY(ptq_float(p, nexamples, examples));
    TRY(ptq_prepare(p));
    TRY(module_keep(p->m, p->d, &kept));
    ctsc_status s = p->o->style == QUANTISE_STATIC ? ptq_observe(p) : CTSC_OK;
    if (s == CTSC_OK && p->ncalls) s = ptq_measured(p);
    ctsc_status back = module_put_back(&kept, s == CTSC_OK ? p->d : &(diag){0});
    if (s == CTSC_OK) s = back;
    if (s == CTSC_OK) s = ptq_convert(p, &g);
    if (s != CTSC_OK) return s;
    ptq_outcome(p);
    report_fill(p);
    if (!p->report->quantised) {
        graph_free(g);
        return diag_fail(p->d, CTSC_USAGE, "all layers stay float: nothing is quantised");
    }
    s = ptq_state(p, p->state, &p->report->state);
    if (s != CTSC_OK) return graph_free(g), s;
    graph_free(p->f->graph);
    p->f->graph = g;
    return CTSC_OK;
}

ctsc_status ptq_quantise(diag *d, module *m, size_t nexamples, const value *examples,
                         const ptq_options *o, ptq_report **out) {
    ptq p = {.d = d, .m = m, .o = o};
    for (size_t i = 0; i < nexamples; i++)
        if (examples[i].tag != V_TUPLE)
            return diag_fail(d, CTSC_USAGE, "example %zu is not a tuple of arguments", i);
    if (!nexamples && (o->style == QUANTISE_STATIC || o->max_error > 0))
        return diag_fail(d, CTSC_USAGE, "%s needs examples of arguments",
                         o->style == QUANTISE_STATIC ? "static quantisation" : "a largest error");
    ctsc_status s = ptq_all(&p, nexamples, examples);
    ptq_free(&p);
    if (s == CTSC_OK) *out = p.report;
    else ptq_report_free(p.report);
    return s;
}
