/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused.c - a fusion group at run time: its life, and which way a call of it takes.
 *
 * Method. The plan's guards are looked at on each call (plan_guards_hold, which computes its slots
 * on the way): a few comparisons per argument, no allocation.
 * Tests: tests/corpus at every level, tests/unit/test_steady.c, test_api.c
 */
#include "runtime/exec/fused_internal.h"

#include "runtime/observe/profile.h"

ctsc_status fused_new(diag *d, graph *g, fused **out) {
    fused *f = mem_zalloc(sizeof *f);
    if (!f) return diag_no_memory(d);
    f->g = g;
    f->nparams = (int)g->root->params.len;
    f->nresults = (int)g->root->returns.len;
    f->has_loop = block_holds(g->root, N_LOOP);
    pthread_mutex_init(&f->lock, NULL);
    ctsc_status s = arena_init(&f->arena) ? code_new(d, "FusionGroup", g, &f->fallback)
                                          : diag_no_memory(d);
    if (s != CTSC_OK) fused_free(f);
    else *out = f;
    return s;
}

void fused_free(fused *f) {
    if (!f) return;
    code_free(atomic_load_explicit(&f->split, memory_order_relaxed));
    graph_free(f->parts);
    code_free(f->fallback);
    cuda_group_free(atomic_load_explicit(&f->on_device, memory_order_relaxed));
    arena_free(&f->arena);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}

void fused_set_name(fused *f, const char *function) { f->fallback->name = function; }

const graph *fused_graph(const fused *f) { return f->g; }
int fused_params(const fused *f) { return f->nparams; }
int fused_results(const fused *f) { return f->nresults; }

/* Native loops count no steps. */
static bool fused_is_counted(const fused *f, const interp *in) {
    return f->has_loop && in->rt->steps_left != UINT64_MAX;
}

/* A kernel's iterations are not left once they have begun, and a view has any number of elements
 * without memory: where a program has limits, what could be an iteration of seconds is the
 * operators', who look at them. Numbers near the largest are no sizes but open ends. */
enum { FUSED_LONG_BITS = 31 };
static bool fused_is_endless(const fused *f, const group_plan *p, const int64_t *slots) {
    if (!limits_current || f->has_loop) return false;
    for (size_t i = 0; i < p->slots.len; i++)
        if (slots[i] >> FUSED_LONG_BITS > 0 && slots[i] < INT64_MAX / 2) return true;
    return false;
}

ctsc_status fused_run(fused *f, interp *in, const value *args, value *results, bool *native) {
    int64_t slots[FUSED_MAX_SLOTS];
    bool fits = true;
    if (device_in_use() && cuda_group_device(f->nparams, args) != DEVICE_HOST)
        return fused_run_on_device(f, in, args, results, native);
    if (fused_is_counted(f, in)) return fused_interpret(f, in, args, results);
    fused_kernel *found = fused_find(f, args, slots);
    const fused_kernel *k = found;
    if (!found || kernel_get_state(found->kernel) != KERNEL_READY) {
        uint64_t since = profile_pause(in->rt->profile);
        if (!found) found = fused_add(f, in, args, slots);
        k = found ? fused_await(f, in, found) : NULL;
        if (k) profile_resume(in->rt->profile, since, "(compiling kernels)");
    }
    if (k && fused_is_endless(f, k->plan, slots)) k = NULL;
    ctsc_status s = k ? fused_launch(f, k, slots, args, in, results, &fits) : CTSC_OK;
    *native = k && fits;
    return *native ? s : fused_interpret(f, in, args, results);
}
