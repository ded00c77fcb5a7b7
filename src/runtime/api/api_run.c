/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_run.c - the part of ctsc.h about calls of methods, their limits and their cancellation.
 *
 * Tests: tests/unit/test_api.c
 */
#include "runtime/api/api_scope.h"
#include "runtime/autograd/grad_checkpoint.h"
#include "runtime/observe/profile.h"
#include "runtime/program/module_keep.h"
#include "tensor/conjugate.h"

#include <stdatomic.h>
#include <string.h>

struct ctsc_cancel { atomic_bool set; };

ctsc_cancel *ctsc_cancel_new(void) { return mem_zalloc(sizeof(ctsc_cancel)); }

void ctsc_cancel_free(ctsc_cancel *c) { mem_free(c); }

void ctsc_cancel_set(ctsc_cancel *c) { atomic_store_explicit(&c->set, true, memory_order_relaxed); }

void ctsc_cancel_clear(ctsc_cancel *c) {
    atomic_store_explicit(&c->set, false, memory_order_relaxed);
}

bool ctsc_cancel_is_set(const ctsc_cancel *c) {
    return atomic_load_explicit(&c->set, memory_order_relaxed);
}

static void run_print_stdout(void *ctx, const char *text, size_t len) {
    (void)ctx;
    fwrite(text, 1, len, stdout);
}

const ctsc_run_options *api_run_options(const ctsc_run_options *given, ctsc_run_options *own) {
    static const ctsc_run_options standard = {.print = run_print_stdout};
    if (!given) return &standard;
    if (given->size >= sizeof *own && given->print) return given;
    *own = (ctsc_run_options){0};
    memcpy(own, given, given->size < sizeof *own ? given->size : sizeof *own);
    if (!own->print) own->print = run_print_stdout;
    return own;
}

static inline __attribute__((always_inline)) void run_limits(runtime *rt,
                                                             const ctsc_run_options *o) {
    rt->print = o->print;
    rt->warn = o->warn;
    rt->sink_ctx = o->ctx;
    if (o->max_steps) rt->steps_left = o->max_steps;
    if (o->cancel) rt->cancelled = &o->cancel->set;
    if (o->timeout_us)
        rt->deadline = clock_now() +
                       (o->timeout_us < UINT64_MAX / 2000 ? o->timeout_us * 1000 : UINT64_MAX / 2);
}

void api_run_limits(runtime *rt, const ctsc_run_options *o) { run_limits(rt, o); }

static inline __attribute__((always_inline)) void run_prepare(workspace *w, const ctsc_module *m,
                                                              const ctsc_run_options *o) {
    runtime *rt = &w->rt;
    runtime_init(rt);
    rt->ws = w;
    /* code is made of a class, and kept: only of the whole there is one object */
    rt->root = m->whole ? NULL : m->m->root.u.object;
    rt->opt = m->m->opt;
    if (__builtin_expect(m->m->gradients, 0)) {
        rt->taped = true;
        rt->grad_enabled = !o->no_gradients;
    }
    run_limits(rt, o);
}

enum { RUN_FEW = 16 }; /* arguments and self that need no allocation */

static ctsc_status run_call(const ctsc_module *m, function *f, runtime *rt, size_t nargs,
                            ctsc_value *const *args, diag *d, value *result) {
    size_t bytes = (nargs + 1) * sizeof(value);
    value few[RUN_FEW], *given = nargs < RUN_FEW ? few : recycle_alloc(bytes);
    if (!given) return diag_no_memory(d);
    given[0] = m->m->root;
    for (size_t i = 0; i < nargs; i++) given[i + 1] = args[i]->v;
    checkpoints *outer = checkpoints_current;
    checkpoints_current = m->m->checkpoints;
    ctsc_status s = module_call(f, rt, nargs + 1, given, d, result);
    checkpoints_current = outer;
    if (given != few) recycle_free(given, bytes);
    return s;
}

/* With what counts along: a bound on memory, a profiler. */
static ctsc_status run_counted(const ctsc_module *m, function *f, workspace *w,
                               const ctsc_run_options *o, size_t nargs, ctsc_value *const *args,
                               diag *d, value *result) {
    profiler *p = api_profiler(o->profiler);
    mem_budget budget = {.left = o->max_bytes < INT64_MAX ? (int64_t)o->max_bytes : INT64_MAX},
               *outer = NULL;
    if (p && !(w->rt.watch = profiler_begin(p, f, &w->blocks))) return diag_no_memory(d);
    if (o->max_bytes) outer = mem_budget_use(&budget);
    ctsc_status s = run_call(m, f, &w->rt, nargs, args, d, result);
    if (o->max_bytes) mem_budget_use(outer);
    if (p) profiler_end(p, w->rt.watch, &w->blocks);
    return s;
}

ctsc_status api_run_in_scope(const ctsc_module *m, function *f, runtime *from, size_t nargs,
                             ctsc_value *const *args, diag *d, value *result) {
    static const ctsc_run_options standard = {.print = run_print_stdout};
    workspace *w = workspace_take(&m->m->workspaces);
    if (!w) return diag_no_memory(d);
    run_prepare(w, m, &standard);
    w->rt.rng = from->rng;
    w->rt.grad_enabled = w->rt.taped && from->grad_enabled;
    ctsc_status s = run_call(m, f, &w->rt, nargs, args, d, result);
    from->rng = w->rt.rng;
    workspace_give(&m->m->workspaces, w);
    return s;
}

/* Tensors of a result, in tuples and lists as well, as their memory shows them. */
static ctsc_status run_resolve(diag *d, value *v) {
    ctsc_status s = CTSC_OK;
    if (v->tag == V_TENSOR && tensor_is_lazy(v->u.tensor)) {
        tensor *t;
        TRY(tensor_resolve(d, v->u.tensor, &t));
        value_set(v, value_tensor_take(t));
    } else if (v->tag == V_TUPLE) {
        tuple *made = tuple_new(v->u.tuple->len, v->u.tuple->type);
        if (!made) return diag_no_memory(d);
        for (size_t i = 0; i < made->len && s == CTSC_OK; i++) {
            made->items[i] = value_ref(v->u.tuple->items[i]);
            s = run_resolve(d, &made->items[i]);
        }
        value_set(v, value_tuple_take(made));
    } else if (v->tag == V_LIST &&
               (v->u.list->kind == LIST_TENSOR || v->u.list->kind == LIST_VALUE)) {
        const list *l = v->u.list;
        list *made = list_new(l->kind, l->elem, l->len);
        if (!made) return diag_no_memory(d);
        for (size_t i = 0; i < l->len && s == CTSC_OK; i++) {
            value item = list_get(l, i);
            s = run_resolve(d, &item);
            if (!list_append_take(made, item)) s = diag_no_memory(d);
        }
        value_set(v, value_list_take(made));
    }
    return s;
}

/* Code that did not name the dims itself may have been optimised, which loses names. */
static ctsc_status run_refuse_names(diag *d, size_t nargs, ctsc_value *const *args) {
    for (size_t i = 0; i < nargs; i++)
        if (args[i]->v.tag == V_TENSOR && args[i]->v.u.tensor->names)
            return diag_fail(d, CTSC_FAILED,
                             "NYI: Named tensors are currently unsupported in TorchScript. As a  "
                             "workaround please drop names via `tensor = tensor.rename(None)`.");
    return CTSC_OK;
}

ctsc_status ctsc_module_run(const ctsc_module *m, const char *method, size_t nargs,
                            ctsc_value *const *args, const ctsc_run_options *o, ctsc_value **out,
                            ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    function *f = NULL;
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK && !api_all_given(nargs, args))
        s = diag_fail(d, CTSC_USAGE, "%s: an argument is NULL", method);
    if (s == CTSC_OK && tensor_kinds() & TENSOR_KIND_NAMED) s = run_refuse_names(d, nargs, args);
    if (s != CTSC_OK) return api_leave(e, &own, s);
    workspace *w = workspace_take(&m->m->workspaces);
    if (!w) return api_leave(e, &own, diag_no_memory(d));
    ctsc_run_options filled;
    value result = value_none();
    o = api_run_options(o, &filled);
    run_prepare(w, m, o);
    if (o->random) w->rt.rng = o->random->rt.rng;
    s = o->profiler || o->max_bytes ? run_counted(m, f, w, o, nargs, args, d, &result)
                                    : run_call(m, f, &w->rt, nargs, args, d, &result);
    if (o->random) o->random->rt.rng = w->rt.rng;
    workspace_give(&m->m->workspaces, w);
    if (s == CTSC_OK && tensor_kinds() & TENSOR_KIND_LAZY && !o->lazy_results)
        s = run_resolve(d, &result);
    if (s != CTSC_OK) {
        value_unref(result);
        return api_leave(e, &own, s);
    }
    ctsc_value *h = api_wrap_take(result);
    if (h) *out = h;
    else s = diag_no_memory(d);
    return api_leave(e, &own, s);
}

static void warm_up_drop(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}
static void warm_up_drop_warning(void *ctx, const char *text) { (void)ctx, (void)text; }

ctsc_status ctsc_module_warm_up(ctsc_module *m, const char *method, size_t nargs,
                                ctsc_value *const *args, bool gradients, ctsc_error *e) {
    diag own, *d = api_enter(e, &own), lost = {0};
    ctsc_run_options o = {.size = sizeof o,
                          .print = warm_up_drop,
                          .warn = warm_up_drop_warning,
                          .no_gradients = !gradients};
    module_kept kept;
    ctsc_value *result = NULL;
    ctsc_status s = api_given(d, m, "the module");
    if (s == CTSC_OK) s = module_keep(m->m, d, &kept);
    if (s != CTSC_OK) return api_leave(e, &own, s);
    if (m->m->checkpoints) m->m->checkpoints->dry = true;
    s = ctsc_module_run(m, method, nargs, args, &o, &result, e);
    if (m->m->checkpoints) m->m->checkpoints->dry = false;
    ctsc_value_free(result);
    ctsc_status back = module_put_back(&kept, s == CTSC_OK ? d : &lost); /* its error stays */
    diag_clear(&lost);
    return api_leave(e, &own, s == CTSC_OK ? back : s);
}
