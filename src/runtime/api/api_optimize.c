/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_optimize.c - the part of ctsc.h about optimisation: the level, and the graph that is run for
 * given arguments.
 *
 * Method of ctsc_module_graph_for: the graph of the module's level is what executor.c makes. It
 * is run once with probes (instrument.c), which note the type of every tensor in it, those
 * inside fusion groups included, and the arguments of each group when it was first reached. The
 * noted types are written into the graph and it is printed; for kernels, each group is lowered
 * for the arguments it had. PyTorch shows what its profiler saw in earlier runs; here the one
 * run is what one sees.
 * Tests: tests/cli/graph-for.test, tests/unit/test_optimize.c
 */
#include "codegen/cache/cache.h"
#include "ctsc_compiler.h"
#include "ir/graph/graph_dot.h"
#include "runtime/api/api.h"
#include "runtime/exec/executor.h"
#include "runtime/kernels/matmul/gemm_bf16.h"
#include "runtime/observe/graph_kernels.h"
#include "runtime/observe/instrument.h"

#include <string.h>

ctsc_status ctsc_module_set_opt(ctsc_module *m, int level, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = CTSC_OK;
    if (level >= 0 && level <= MODULE_OPT_MAX) m->m->opt = level;
    else
        s = diag_fail(d, CTSC_USAGE, "there is no optimisation level %d, only 0 to %d", level,
                      MODULE_OPT_MAX);
    return api_leave(e, &own, s);
}

static const struct {
    const char *name, *pass; /* pass NULL: none */
    bool (*usable)(void);    /* NULL: always */
    const char *needs;
} optimize_precisions[] = {
    {"float32", NULL, NULL, NULL},
    {"bf16", "reduce-bf16", gemm_bf16_usable, "a processor with AVX512-BF16"},
    {"int8w", "reduce-int8w", NULL, NULL},
};

ctsc_status ctsc_module_set_precision(ctsc_module *m, const char *name, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    for (size_t i = 0; name && i < sizeof optimize_precisions / sizeof *optimize_precisions; i++) {
        if (strcmp(name, optimize_precisions[i].name)) continue;
        if (optimize_precisions[i].usable && !optimize_precisions[i].usable())
            return api_leave(e, &own,
                             diag_fail(d, CTSC_UNSUPPORTED, "precision %s needs %s", name,
                                       optimize_precisions[i].needs));
        m->m->unit->reduce = optimize_precisions[i].pass;
        unit_drop_codes(m->m->unit);
        return api_leave(e, &own, CTSC_OK);
    }
    return api_leave(e, &own,
                     diag_fail(d, CTSC_USAGE,
                               "'%s' is no precision: float32, bf16 and int8w are possible",
                               name ? name : "(null)"));
}

/* ---- types of what came by ------------------------------------------------------------------- */

/* What is known of a tensor value after the ones seen so far. */
typedef struct seen {
    tensor_info info;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
} seen;

typedef struct observer {
    diag *d;
    arena arena;
    ptrmap seen; /* ir_value -> seen */
    group_records groups;
} observer;

static void observe_first(seen *s, const tensor *t) {
    s->info = (tensor_info){.dtype = (int8_t)t->dtype,
                            .ndim = (int8_t)t->ndim,
                            .requires_grad = t->requires_grad,
                            .device = (int8_t)tensor_device(t),
                            .has_strides = true,
                            .sizes = s->sizes,
                            .strides = s->strides};
    memcpy(s->sizes, t->sizes, t->ndim * sizeof *s->sizes);
    memcpy(s->strides, t->strides, t->ndim * sizeof *s->strides);
}

/* What differs is not known. */
static void observe_again(seen *s, const tensor *t) {
    if (s->info.dtype != (int8_t)t->dtype) s->info.dtype = -1;
    if (s->info.requires_grad != t->requires_grad) s->info.requires_grad = -1;
    if (s->info.device != (int8_t)tensor_device(t)) s->info.device = -1;
    if (s->info.ndim != (int8_t)t->ndim) {
        s->info.ndim = -1;
        s->info.has_strides = false;
        return;
    }
    for (int i = 0; i < t->ndim; i++) {
        if (s->sizes[i] != t->sizes[i]) s->sizes[i] = -1;
        if (s->strides[i] != t->strides[i]) s->strides[i] = -1;
    }
}

static ctsc_status observe_value(observer *o, const ir_value *v, value x) {
    if (v->type->kind != T_TENSOR || x.tag != V_TENSOR) return CTSC_OK;
    seen *s = ptrmap_get(&o->seen, v);
    if (s) {
        observe_again(s, x.u.tensor);
        return CTSC_OK;
    }
    s = arena_new(&o->arena, seen);
    if (arena_failed(&o->arena) || !ptrmap_put(&o->seen, v, s)) return diag_no_memory(o->d);
    observe_first(s, x.u.tensor);
    return CTSC_OK;
}

static ctsc_status observe_node(void *ctx, const node *n, const value *inputs,
                                const value *outputs) {
    observer *o = ctx;
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; i < n->outputs.len && st == CTSC_OK; i++)
        st = observe_value(o, n->outputs.data[i], outputs[i]);
    if (st == CTSC_OK && n->kind == N_FUSION_GROUP) st = group_record(&o->groups, n, inputs, o->d);
    return st;
}

static ctsc_status observe_block(void *ctx, const block *b, const value *params) {
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; i < b->params.len && st == CTSC_OK; i++)
        st = observe_value(ctx, b->params.data[i], params[i]);
    return st;
}

/* Writes the types into the graph. */
static void observe_apply(observer *o) {
    for (size_t i = 0; i < o->seen.cap; i++) {
        ir_value *v = (ir_value *)o->seen.slots[i].key;
        const seen *s = v ? o->seen.slots[i].value : NULL;
        if (v) v->type = type_tensor_details(&s->info);
    }
}

static ctsc_status observe_run(observer *o, const function *f, graph *g, int nargs,
                               const value *args) {
    instrument in = {.node = observe_node, .block = observe_block, .ctx = o};
    runtime *rt = mem_alloc(sizeof *rt);
    value result = value_none();
    if (!rt) return diag_no_memory(o->d);
    runtime_init(rt);
    ctsc_status st = instrument_run(&in, f, g, rt, nargs, args, o->d, &result);
    value_unref(result);
    mem_free(rt);
    if (st == CTSC_OK) observe_apply(o);
    return st;
}

/* ---- arguments ------------------------------------------------------------------------------- */

ctsc_status api_arguments(const ctsc_module *m, const function *f, size_t nargs,
                          ctsc_value *const *args, diag *d, value **out) {
    value *full = mem_zalloc(((size_t)f->schema->nargs + 1) * sizeof *full);
    value *given = mem_zalloc((nargs + 1) * sizeof *given);
    ctsc_status s = full && given ? CTSC_OK : diag_no_memory(d);
    if (s == CTSC_OK) {
        given[0] = m->m->root;
        for (size_t i = 0; i < nargs; i++) given[i + 1] = args[i]->v;
        s = interp_check_args(f, (int)nargs + 1, given, d, full);
    }
    mem_free(given);
    *out = full;
    return s;
}

void api_free_arguments(const function *f, value *full) {
    for (int i = 0; full && i < f->schema->nargs; i++) value_unref(full[i]);
    mem_free(full);
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* A copy of the graph that f runs as at the module's level: as written where the passes fail, as
 * executor.c has it. */
static ctsc_status graph_for_level(const ctsc_module *m, function *f, diag *d, graph **out) {
    int level = executor_level(m->m->opt);
    diag own = {0};
    ctsc_status s = function_ensure_compiled(f, d);
    if (s != CTSC_OK) return s;
    if (level) s = executor_optimise(f, level, m->m->root.u.object, &own, out);
    /* no memory, or a bug of ours */
    if (s == CTSC_LIMIT || s == CTSC_INTERNAL || s == CTSC_USAGE) {
        diag_append(d, &own);
        return s;
    }
    diag_clear(&own);
    if (level && s == CTSC_OK) return CTSC_OK;
    *out = graph_clone(f->graph);
    return *out ? CTSC_OK : diag_no_memory(d);
}

static bool graph_for_needs_arguments(const function *f) {
    for (int i = 1; i < f->schema->nargs; i++)
        if (!f->schema->args[i].has_default) return true;
    return false;
}

static ctsc_status graph_for_print(const observer *o, const graph *g, unsigned flags, bool ran,
                                   strbuf *out) {
    graph_print_options po = {.locations = (flags & CTSC_GRAPH_LOCATIONS) != 0};
    ctsc_status s = CTSC_OK;
    if (flags & CTSC_GRAPH_DOT) graph_dot(g, out);
    else graph_print(g, &po, out);
    if (flags & CTSC_GRAPH_DOT || !ran) return s;
    static const struct {
        unsigned flag;
        group_text text;
    } kernels[] = {
        {CTSC_GRAPH_KERNELS, GROUP_TEXT_LLVM}, {CTSC_GRAPH_ASM, GROUP_TEXT_ASSEMBLY},
        {CTSC_GRAPH_CUDA, GROUP_TEXT_CUDA},    {CTSC_GRAPH_PTX, GROUP_TEXT_PTX},
        {CTSC_GRAPH_SASS, GROUP_TEXT_SASS},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && s == CTSC_OK; i++)
        if (flags & kernels[i].flag) s = group_describe(&o->groups, g, kernels[i].text, out, o->d);
    return s;
}

static ctsc_status graph_for(const ctsc_module *m, const char *method, size_t nargs,
                             ctsc_value *const *args, unsigned flags, strbuf *text, diag *d) {
    observer o = {.d = d};
    function *f = NULL;
    graph *g = NULL;
    value *full = NULL;
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK && !api_all_given(nargs, args))
        s = diag_fail(d, CTSC_USAGE, "%s: an argument is NULL", method);
    if (s == CTSC_OK && !arena_init(&o.arena)) s = diag_no_memory(d);
    if (s == CTSC_OK) s = graph_for_level(m, f, d, &g);
    bool run = s == CTSC_OK && (nargs || !graph_for_needs_arguments(f));
    if (run) s = api_arguments(m, f, nargs, args, d, &full);
    if (s == CTSC_OK && run) s = observe_run(&o, f, g, f->schema->nargs, full);
    if (s == CTSC_OK) s = graph_for_print(&o, g, flags, run, text);
    if (full) api_free_arguments(f, full);
    group_records_free(&o.groups);
    ptrmap_free(&o.seen);
    arena_free(&o.arena);
    graph_free(g);
    return s;
}

ctsc_status ctsc_module_graph_for(const ctsc_module *m, const char *method, size_t nargs,
                                  ctsc_value *const *args, unsigned flags, char **out,
                                  ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    strbuf text = STRBUF_INIT;
    ctsc_status s = graph_for(m, method, nargs, args, flags, &text, d);
    char *taken = s == CTSC_OK ? sb_take(&text) : NULL;
    if (taken) *out = taken;
    else if (s == CTSC_OK) s = diag_no_memory(d);
    sb_free(&text);
    return api_leave(e, &own, s);
}
