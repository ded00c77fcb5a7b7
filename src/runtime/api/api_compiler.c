/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_compiler.c - ctsc_compiler.h: passes on graphs, as text or of a module's methods.
 *
 * Tests: tests/ir, tests/cli/opt.test
 */
#include "codegen/cache/cache.h"
#include "cpu/isa.h"
#include "cpu/ukernel.h"
#include "ctsc_compiler.h"
#include "passes/passes.h"
#include "runtime/api/api.h"
#include "runtime/observe/graph_kernels_cuda.h"
#include "runtime/observe/work.h"

#include <limits.h>
#include <string.h>

/* Runs what o says on g, shows the times, and prints the graph into *out. */
static ctsc_status api_optimise(pass_ctx *cx, graph *g, const ctsc_opt_options *o, char **out) {
    pass_time times[PASS_COUNT] = {0};
    pass_options po = {o->print_after_all, o->print_after, o->verify_each, o->print, o->ctx};
    cx->options = &po;
    cx->times = o->time_passes ? times : NULL;
    if (o->print_after && !pass_find(o->print_after))
        return diag_fail(cx->diag, CTSC_USAGE, "there is no pass '%s'", o->print_after);
    ctsc_status s = pass_run_list(cx, g, o->passes ? o->passes : "", NULL);
    if (s == CTSC_OK) s = graph_verify(cx->diag, g);
    strbuf sb = STRBUF_INIT;
    pass_print_times(cx, &sb);
    if (sb.len && o->print) o->print(o->ctx, sb_str(&sb), sb.len);
    sb_clear(&sb);
    if (s == CTSC_OK) {
        graph_print_options p = {.locations = true};
        graph_print(g, &p, &sb);
        char *text = sb_take(&sb);
        if (text) *out = text;
        else s = diag_no_memory(cx->diag);
    }
    sb_free(&sb);
    return s;
}

ctsc_status ctsc_opt_text(const char *name, const char *text, size_t len, const ctsc_opt_options *o,
                          char **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    graph *g = NULL;
    pass_ctx cx = {.diag = d, .shown = true};
    ctsc_status s = graph_parse(d, name, text, len, &g);
    if (s == CTSC_OK) s = graph_verify(d, g);
    if (s == CTSC_OK) s = api_optimise(&cx, g, o, out);
    if (g) graph_free(g);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_opt_module(const ctsc_module *m, const char *method, const ctsc_opt_options *o,
                            char **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    pass_ctx cx = {.diag = d, .self = m->m->root.u.object, .shown = true};
    graph *g = NULL;
    function *f = module_method(m->m, method);
    ctsc_status s = f ? function_ensure_compiled(f, d)
                      : diag_fail(d, CTSC_USAGE, "the module has no method '%s'", method);
    if (s == CTSC_OK && !(g = graph_clone(f->graph))) s = diag_no_memory(d);
    if (s == CTSC_OK) s = pipeline_inline(g, true, d);
    if (s == CTSC_OK) s = api_optimise(&cx, g, o, out);
    graph_free(g);
    return api_leave(e, &own, s);
}

static ctsc_status api_replace_graph(const ctsc_module *m, function *f, const char *passes,
                                     diag *d) {
    pass_options po = {.verify_each = true};
    pass_ctx cx = {.diag = d, .self = m->m->root.u.object, .options = &po};
    for (int i = 0; i < FUNCTION_CODES; i++)
        if (f->code[i]) return diag_fail(d, CTSC_USAGE, "method '%s' has run already", f->name);
    ctsc_status s = function_ensure_compiled(f, d);
    graph *g = s == CTSC_OK ? graph_clone(f->graph) : NULL;
    if (s == CTSC_OK && !g) s = diag_no_memory(d);
    if (s == CTSC_OK) s = pipeline_inline(g, false, d);
    if (s == CTSC_OK) s = pass_run_list(&cx, g, passes, NULL);
    if (s == CTSC_OK) s = graph_verify(d, g);
    if (s == CTSC_OK) {
        graph_free(f->graph);
        f->graph = g;
    } else {
        graph_free(g);
    }
    return s;
}

ctsc_status ctsc_module_apply_passes(ctsc_module *m, const char *method, const char *passes,
                                     ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    function *f = module_method(m->m, method);
    if (!f)
        return api_leave(e, &own,
                         diag_fail(d, CTSC_USAGE, "the module has no method '%s'", method));
    pthread_mutex_lock(&f->unit->lock);
    ctsc_status s = api_replace_graph(m, f, passes, d);
    pthread_mutex_unlock(&f->unit->lock);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_module_to_float64(ctsc_module *m, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    return api_leave(e, &own, module_widen(d, m->m));
}

ctsc_status ctsc_value_to_float64(ctsc_value *v, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    return api_leave(e, &own, value_widen(d, v->v));
}

void ctsc_passes(void (*visit)(void *ctx, const char *name, const char *text), void *ctx) {
    for (const pass *p = pass_table; p->name; p++) visit(ctx, p->name, p->text);
}

/* ---- kernels and work ------------------------------------------------------------------------ */

ctsc_status ctsc_module_count_work(const ctsc_module *m, const char *method, size_t nargs,
                                   ctsc_value *const *args, ctsc_work *out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_work work = {.size = sizeof work};
    function *f = NULL;
    graph *g = NULL;
    value *full = NULL;
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK) s = function_ensure_compiled(f, d);
    if (s == CTSC_OK && !(g = graph_clone(f->graph))) s = diag_no_memory(d);
    if (s == CTSC_OK) s = pipeline_inline(g, false, d);
    if (s == CTSC_OK) s = api_arguments(m, f, nargs, args, d, &full);
    if (s == CTSC_OK) s = work_of_graph(d, f, g, f->schema->nargs, full, &work);
    if (full) api_free_arguments(f, full);
    graph_free(g);
    if (s == CTSC_OK) {
        size_t size = out->size < sizeof work ? out->size : sizeof work;
        work.size = out->size;
        memcpy(out, &work, size);
    }
    return api_leave(e, &own, s);
}

ctsc_status ctsc_set_cpu(const char *name, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = codegen_share(d, name);
    if (s == CTSC_OK && isa_find(name) != ISA_COUNT) isa_limit(isa_find(name));
    return api_leave(e, &own, s);
}

bool ctsc_isa_at(size_t i, ctsc_isa *out) {
    for (int id = 0; id < ISA_COUNT; id++) {
        if (!isa_table[id].here || i-- > 0) continue;
        ctsc_isa row = {out->size, isa_table[id].name, isa_detected() >> id & 1, isa_has((isa)id)};
        memcpy(out, &row, out->size < sizeof row ? out->size : sizeof row);
        return true;
    }
    return false;
}

bool ctsc_ukernel_at(size_t i, ctsc_ukernel *out) {
    const ukernel *u = i < INT_MAX ? ukernel_at((int)i) : NULL;
    if (!u) return false;
    ctsc_ukernel row = {out->size,
                        ukernel_family_names[u->family],
                        ukernel_type_names[u->type],
                        isa_table[u->isa].name,
                        u->name,
                        isa_has(u->isa),
                        ukernel_best(u->family, u->type) == u->record};
    memcpy(out, &row, out->size < sizeof row ? out->size : sizeof row);
    return true;
}

bool ctsc_precision_way_at(size_t i, ctsc_precision_way *out) {
    for (narrow_kind kind = 0; kind < NARROW_KINDS; kind++) {
        const narrow_row *n = narrow_best(kind);
        if (!n || i-- > 0) continue;
        ctsc_precision_way row = {out->size, narrow_names[kind], n->bits, n->rate, n->columns};
        memcpy(out, &row, out->size < sizeof row ? out->size : sizeof row);
        return true;
    }
    return false;
}

static const struct { op_symbol op; size_t count; } compiler_layers[] = {
    {SYM_CTSC_LINEAR_PREPACKED, offsetof(ctsc_precision_counts, written)},
    {SYM_CTSC_LINEAR_EPILOGUE, offsetof(ctsc_precision_counts, written)},
    {SYM_CTSC_CONV_CHANNELS_LAST, offsetof(ctsc_precision_counts, written)},
    {SYM_CTSC_CONV_CHANNELS_LAST_PLACED, offsetof(ctsc_precision_counts, written)},
    {SYM_CTSC_CONV_CHANNELS_LAST_SCALED, offsetof(ctsc_precision_counts, written)},
    {SYM_CTSC_LINEAR_BF16, offsetof(ctsc_precision_counts, bf16)},
    {SYM_CTSC_CONV_CHANNELS_LAST_BF16, offsetof(ctsc_precision_counts, bf16)},
    {SYM_CTSC_LINEAR_INT8W, offsetof(ctsc_precision_counts, int8w)},
    {SYM_CTSC_LINEAR_INT4W, offsetof(ctsc_precision_counts, int4w)},
};

static void compiler_count_layers(const block *b, ctsc_precision_counts *c) {
    for (const node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < sizeof compiler_layers / sizeof *compiler_layers; i++)
            if (node_is_overload(n, compiler_layers[i].op))
                ++*(int64_t *)(void *)((char *)c + compiler_layers[i].count);
        for (size_t i = 0; i < n->blocks.len; i++) compiler_count_layers(n->blocks.data[i], c);
    }
}

ctsc_status ctsc_module_count_precisions(const ctsc_module *m, const char *method,
                                         ctsc_precision_counts *out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_precision_counts counts = {.size = out->size};
    function *f = NULL;
    graph *g = NULL;
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK) s = api_graph_for_level(m, f, d, &g);
    if (s == CTSC_OK) compiler_count_layers(g->root, &counts);
    if (s == CTSC_OK) memcpy(out, &counts, out->size < sizeof counts ? out->size : sizeof counts);
    graph_free(g);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_set_cuda_arch(const char *name, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    return api_leave(e, &own, group_cuda_set_arch(name, d));
}

void ctsc_get_kernel_stats(ctsc_kernel_stats *out) {
    codegen *c = codegen_shared();
    codegen_stats st = c ? codegen_get_stats(c) : (codegen_stats){0};
    ctsc_kernel_stats k = {out->size,      st.compiled,         st.from_disk,
                           st.from_memory, st.compile_ms * 1e3, st.working};
    memcpy(out, &k, out->size < sizeof k ? out->size : sizeof k);
}
