/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_optimize.c - the part of ctsc.h about optimisation: the level, and the graph that is run for
 * given arguments.
 *
 * Method of ctsc_module_graph_for: the graph of the module's level is what executor.c makes. It
 * is run once with probes (seen.c), which note the type of every tensor in it, those
 * inside fusion groups included, and the arguments of each group when it was first reached. The
 * noted types are written into the graph and it is printed; for kernels, each group is lowered
 * for the arguments it had. PyTorch shows what its profiler saw in earlier runs; here the one
 * run is what one sees. Where gradients are taken there is a program for calls of this kind, and
 * that is shown (grad_graph.c).
 * Tests: tests/cli/graph-for.test, tests/unit/test_optimize.c
 */
#include "base/text/text.h"
#include "codegen/cache/cache.h"
#include "cpu/ukernel.h"
#include "ctsc_compiler.h"
#include "ir/graph/graph_dot.h"
#include "passes/weights/reduce_precision.h"
#include "runtime/api/api.h"
#include "runtime/api/grad_graph.h"
#include "runtime/autograd/autograd.h"
#include "runtime/exec/executor.h"
#include "runtime/interp/interp.h"
#include "runtime/observe/seen.h"

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
    isa needs;
    bool groups; /* ":GROUP,asym" may follow the name */
} optimize_precisions[] = {
    {"float32", NULL, ISA_PLAIN, false},
    {"bf16", "reduce-bf16", ISA_AVX512BF16, false},
    {"int8w", "reduce-int8w", ISA_PLAIN, false},
    {"int4w", "reduce-int4w", ISA_PLAIN, true},
};

/* The error that "auto" allows if none is named: bfloat16's is below. */
#define OPTIMIZE_AUTO_ERROR 0.01

/* "auto", "auto:ERROR". */
static bool optimize_read_auto(const char *text, reduction *r) {
    if (strncmp(text, "auto", 4) || (text[4] && text[4] != ':')) return false;
    char *end = (char *)text + 4;
    r->error = text[4] ? text_double(text + 5, &end) : OPTIMIZE_AUTO_ERROR;
    if (*end || end == text + 5 || !(r->error > 0 && r->error <= 1)) return false;
    for (narrow_kind i = 0; i < NARROW_KINDS; i++)
        if ((r->ways[i] = narrow_best(i))) r->pass = "reduce-auto";
    return true;
}

static void optimize_reduce(ctsc_module *m, const reduction *r) {
    m->m->unit->reduce = *r;
    unit_drop_codes(m->m->unit);
}

ctsc_status ctsc_module_set_precision(ctsc_module *m, const char *name, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    reduction automatic = {0};
    if (name && optimize_read_auto(name, &automatic)) {
        optimize_reduce(m, &automatic);
        return api_leave(e, &own, CTSC_OK);
    }
    for (size_t i = 0; name && i < sizeof optimize_precisions / sizeof *optimize_precisions; i++) {
        size_t n = strlen(optimize_precisions[i].name);
        int group = 0;
        bool zeros = false;
        if (strncmp(name, optimize_precisions[i].name, n) ||
            (optimize_precisions[i].groups ? !reduce_read_groups(name + n, &group, &zeros)
                                           : name[n] != '\0'))
            continue;
        if (!isa_has(optimize_precisions[i].needs))
            return api_leave(e, &own,
                             diag_fail(d, CTSC_UNSUPPORTED,
                                       "precision %s needs a processor with %s", name,
                                       isa_table[optimize_precisions[i].needs].name));
        if (optimize_precisions[i].needs == ISA_AVX512BF16 && !ukernel_quad(UKERNEL_BF16))
            return api_leave(e, &own,
                             diag_fail(d, CTSC_UNSUPPORTED,
                                       "precision %s needs a processor with avx512bf16 that is "
                                       "faster than float32, or amxbf16",
                                       name));
        optimize_reduce(
            m, &(reduction){.pass = optimize_precisions[i].pass, .group = group, .zeros = zeros});
        return api_leave(e, &own, CTSC_OK);
    }
    return api_leave(e, &own,
                     diag_fail(d, CTSC_USAGE,
                               "'%s' is not a precision: it is one of float32, bf16, int8w, int4w "
                               "and auto, also as int4w:GROUP (32, 64 or 128), int4w:GROUP,asym "
                               "and auto:ERROR (up to 1)",
                               name ? name : "(null)"));
}

ctsc_status ctsc_module_set_autocast(ctsc_module *m, ctsc_dtype to, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    if (to != CTSC_BFLOAT16 && to != CTSC_FLOAT16 && to != CTSC_FLOAT32)
        return api_leave(e, &own,
                         diag_fail(d, CTSC_USAGE, "autocast computes in bfloat16 or float16"));
    m->m->unit->autocast = to == CTSC_FLOAT32 ? 0 : (int)to;
    unit_drop_codes(m->m->unit);
    return api_leave(e, &own, CTSC_OK);
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

ctsc_status api_graph_for_level(const ctsc_module *m, function *f, diag *d, graph **out) {
    int level = runtime_level(m->m->opt);
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

bool api_needs_arguments(const function *f) {
    for (int i = 1; i < f->schema->nargs; i++)
        if (!f->schema->args[i].has_default) return true;
    return false;
}

static ctsc_status graph_for_print(const group_records *groups, const graph *g, unsigned flags,
                                   bool ran, strbuf *out, diag *d) {
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
        if (flags & kernels[i].flag) s = group_describe(groups, g, kernels[i].text, out, d);
    return s;
}

/* For a call whose gradients are taken, by the function itself or by its caller: the
 * program that such calls run. *out stays NULL where there is no such program. */
static ctsc_status graph_for_gradients(const ctsc_module *m, function *f, const value *args,
                                       unsigned flags, strbuf *text, diag *d, graph **out) {
    bool asks = false;
    graph *backward = NULL;
    TRY(autograd_wanted(f, d, &asks));
    if (!asks && !m->m->gradients) return CTSC_OK;
    runtime *rt = mem_alloc(sizeof *rt);
    if (!rt) return diag_no_memory(d);
    runtime_init(rt);
    rt->opt = m->m->opt;
    rt->root = m->whole ? NULL : m->m->root.u.object;
    rt->taped = rt->grad_enabled = m->m->gradients;
    ctsc_status s = grad_graph_for(f, rt, f->schema->nargs, args, d, out, &backward);
    mem_free(rt);
    if (s == CTSC_OK && *out) s = graph_for_print(NULL, *out, flags, false, text, d);
    if (s == CTSC_OK && backward && !(flags & CTSC_GRAPH_DOT)) {
        sb_puts(text, "\n; gradients of prim::DifferentiableGraph_0\n");
        s = graph_for_print(NULL, backward, flags, false, text, d);
    }
    graph_free(backward);
    return s;
}

static ctsc_status graph_for(const ctsc_module *m, const char *method, size_t nargs,
                             ctsc_value *const *args, unsigned flags, strbuf *text, diag *d) {
    group_records groups = {0};
    function *f = NULL;
    graph *g = NULL, *program = NULL;
    value *full = NULL;
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK && !api_all_given(nargs, args))
        s = diag_fail(d, CTSC_USAGE, "%s: an argument is NULL", method);
    if (s == CTSC_OK) s = api_graph_for_level(m, f, d, &g);
    bool run = s == CTSC_OK && (nargs || !api_needs_arguments(f));
    if (run) s = api_arguments(m, f, nargs, args, d, &full);
    if (s == CTSC_OK && run) s = graph_for_gradients(m, f, full, flags, text, d, &program);
    if (s != CTSC_OK || program) goto out;
    if (run) s = seen_run(f, g, f->schema->nargs, full, &groups, NULL, d);
    if (s == CTSC_OK) s = graph_for_print(&groups, g, flags, run, text, d);
out:
    if (full) api_free_arguments(f, full);
    group_records_free(&groups);
    graph_free(program);
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
