/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused.c - a fusion group at run time: its life, and which way a call of it takes.
 *
 * Method. The plan's guards are looked at on each call (plan_guards_hold, which computes its slots
 * on the way): a few comparisons per argument, no allocation.
 * Tests: tests/corpus at every level, tests/unit/test_steady.c, test_api.c
 */
#include "runtime/exec/fused_internal.h"

#include "runtime/interp/watch.h"
#include "tensor/conjugate.h"

static void fused_free(code_group *g) {
    fused *f = (fused *)g;
    code_free(atomic_load_explicit(&f->split, memory_order_relaxed));
    graph_free(f->parts);
    code_free(f->fallback);
    cuda_group_free(atomic_load_explicit(&f->on_device, memory_order_relaxed));
    arena_free(&f->arena);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}

const graph *fused_graph(const code_group *g) { return ((const fused *)g)->g; }

/* Native loops count no steps. */
static bool fused_is_counted(const fused *f, const interp *in) {
    return f->has_loop && in->rt->steps_left != UINT64_MAX;
}

/* A kernel cannot be stopped once it runs, and a view may have any number of elements without
 * memory: where a program has limits, a kernel that might take seconds is left to the
 * operators, which check the limits. Numbers close to the largest are open ends, not sizes. */
enum { FUSED_LONG_BITS = 31 };
static bool fused_is_endless(const fused *f, const group_plan *p, const int64_t *slots) {
    if (!limits_current || f->has_loop) return false;
    for (size_t i = 0; i < p->slots.len; i++)
        if (slots[i] >> FUSED_LONG_BITS > 0 && slots[i] < INT64_MAX / 2) return true;
    return false;
}

/* Kernels know nothing of lazily conjugated and negated tensors, nor of undefined ones and of names
 * of dims; operators do. */
static bool fused_has_rare(const fused *f, const value *args) {
    if (!(tensor_kinds() & (TENSOR_KIND_LAZY | TENSOR_KIND_UNDEFINED | TENSOR_KIND_NAMED)))
        return false;
    for (int i = 0; i < f->group.nparams; i++)
        if (args[i].tag == V_NONE ? f->g->root->params.data[i]->type->kind == T_TENSOR
                                  : args[i].tag == V_TENSOR && (tensor_is_lazy(args[i].u.tensor) ||
                                                                args[i].u.tensor->names))
            return true;
    return false;
}

static ctsc_status fused_run(code_group *g, interp *in, const value *args, value *results,
                             bool *native) {
    fused *f = (fused *)g;
    int64_t slots[FUSED_MAX_SLOTS];
    bool fits = true;
    if (device_in_use() && cuda_group_device(f->group.nparams, args) != DEVICE_HOST)
        return fused_run_on_device(f, in, args, results, native);
    if (fused_is_counted(f, in) || fused_has_rare(f, args))
        return fused_interpret(f, in, args, results);
    fused_kernel *found = fused_find(f, args, slots);
    const fused_kernel *k = found;
    if (!found || kernel_get_state(found->kernel) != KERNEL_READY) {
        uint64_t since = watch_pause(in->rt->watch);
        if (!found) found = fused_add(f, in, args, slots);
        k = found ? fused_await(f, in, found) : NULL;
        if (k) watch_resume(in->rt->watch, since, "(compiling kernels)");
    }
    if (k && fused_is_endless(f, k->plan, slots)) k = NULL;
    ctsc_status s = k ? fused_launch(f, k, slots, args, in, results, &fits) : CTSC_OK;
    *native = k && fits;
    return *native ? s : fused_interpret(f, in, args, results);
}

ctsc_status fused_new(diag *d, const char *name, graph *g, code_group **out) {
    fused *f = mem_zalloc(sizeof *f);
    if (!f) return diag_no_memory(d);
    f->group = (code_group){.run = fused_run,
                            .free = fused_free,
                            .nparams = (int)g->root->params.len,
                            .nresults = (int)g->root->returns.len};
    f->g = g;
    f->has_loop = block_holds(g->root, N_LOOP);
    pthread_mutex_init(&f->lock, NULL);
    ctsc_status s = arena_init(&f->arena) ? code_new(d, name, g, &f->fallback) : diag_no_memory(d);
    if (s != CTSC_OK) fused_free(&f->group);
    else *out = &f->group;
    return s;
}
