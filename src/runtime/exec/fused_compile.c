/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused_compile.c - when a kernel of a fusion group is
 * made, and which calls wait for it (fused.h says when).
 *
 * Tests: tests/unit/test_background.c, test_steady.c
 */
#include "runtime/exec/fused_internal.h"

#include "base/log.h"

/* Lowering allocates a little everywhere; with this much at hand nothing of it fails. */
enum { FUSED_SCRATCH = 8 << 20 };

fused_listener *fused_listening;

/* What a launch need not look for each time. */
static void fused_describe(fused_kernel *k) {
    const group_plan *p = k->plan;
    for (size_t i = 0; i < p->arguments.len; i++) k->writes |= p->arguments.data[i].written;
    for (size_t i = 0; i < p->buffers.len; i++)
        k->scratch |= p->buffers.data[i].kind == BUFFER_SCRATCH;
    for (size_t i = 0; i < p->outputs.len; i++)
        k->scalars |= p->outputs.data[i].alias < 0 && p->outputs.data[i].tag != V_TENSOR;
}

/* The plan and its kernel; the nest and all that led to it are not kept. */
static fused_kernel *fused_make(fused *f, const value *args, bool now, diag *d) {
    arena scratch;
    group_plan *plan = NULL;
    const kernel *k = NULL;
    fused_kernel *made = NULL;
    codegen *cg = codegen_shared();
    if (!cg || !codegen_runnable(cg) || !codegen_available(cg, d)) return NULL;
    bool generic = f->nkernels >= FUSED_MAX_KERNELS - FUSED_GENERIC_KERNELS;
    float_mode outer = float_mode_plain(); /* numbers in the kernel's text are what they are */
    if (arena_init(&scratch) && arena_ensure(&scratch, FUSED_SCRATCH) &&
        group_lower(&scratch, f->g, args, &(group_options){.generic = generic}, &plan, d) ==
            CTSC_OK &&
        plan && plan->slots.len <= FUSED_MAX_SLOTS &&
        (now ? codegen_kernel : codegen_request)(cg, plan->nest, &k, d) == CTSC_OK) {
        made = arena_new(&f->arena, fused_kernel);
        made->plan = plan_copy(&f->arena, plan);
        made->kernel = k;
        if (!arena_failed(&f->arena)) {
            fused_describe(made);
            if (fused_listening)
                fused_listening->made(fused_listening, &f->group, plan->nest, made->plan);
        }
    }
    arena_free(&scratch);
    float_mode_end(outer);
    return arena_failed(&f->arena) ? NULL : made;
}

/* One more kernel, compiled in the background unless `now`; NULL: none, or not yet. */
static fused_kernel *fused_compile(fused *f, const value *args, bool now, int key_at) {
    diag d = {0};
    fused_kernel *made = fused_make(f, args, now, &d);
    if (!made) {
        fused_give_up(f, key_at, &d);
        diag_clear(&d);
        return NULL;
    }
    diag_clear(&d);
    made->key_at = key_at;
    if (now)
        log_event(CTSC_LOG_INFO, "%s: kernel of %zu bytes %s in %.1f ms", f->fallback->name,
                  made->kernel->code_bytes,
                  made->kernel->origin == KERNEL_COMPILED ? "compiled" : "loaded",
                  made->kernel->milliseconds);
    fused_publish(f, made);
    return made;
}

static bool fused_waits(const interp *in) { return in->rt->opt >= 3 || codegen_in_calls(); }

/* Until when a call may wait for a kernel (codegen_wait); *start: to be given to
 * fused_waited afterwards. */
static uint64_t fused_until(const fused *f, const interp *in, uint64_t *start) {
    const runtime *rt = in->rt;
    if (fused_waits(in)) return UINT64_MAX;
    if (!f->has_loop || !rt->patience_us) return 0;
    uint64_t until = (*start = clock_now()) + rt->patience_us * UINT64_C(1000);
    return rt->deadline && rt->deadline < until ? rt->deadline : until;
}

static void fused_waited(interp *in, uint64_t start) {
    uint64_t us = start ? (clock_now() - start) / 1000 : 0;
    in->rt->patience_us -= us < in->rt->patience_us ? (uint32_t)us : in->rt->patience_us;
}

/* Is the compiler there, or known not to be? */
static bool fused_prepare(const fused *f, interp *in) {
    uint64_t start = 0, until = fused_until(f, in, &start);
    codegen *cg = codegen_shared();
    bool ready = !cg || until == UINT64_MAX || codegen_prepare(cg, until);
    fused_waited(in, start);
    return ready;
}

fused_kernel *fused_add(fused *f, interp *in, const value *args, int64_t *slots) {
    int key_at = 0;
    if (fused_is_negative(f, args)) return NULL;
    pthread_mutex_lock(&f->lock);
    fused_kernel *k = fused_find(f, args, slots);
    bool wanted = !k && fused_wants_key(f, args, in->rt->opt, &key_at);
    if (!k && !wanted && codegen_shared()) codegen_expect(codegen_shared());
    if (wanted && fused_prepare(f, in)) {
        fused_kernel *made = fused_compile(f, args, fused_waits(in), key_at);
        if (made && plan_guards_hold(made->plan, args, slots)) k = made;
    }
    pthread_mutex_unlock(&f->lock);
    return k;
}

const fused_kernel *fused_await(fused *f, interp *in, fused_kernel *k) {
    uint64_t start = 0;
    diag d = {0};
    if (atomic_load_explicit(&k->negative, memory_order_relaxed)) return NULL;
    kernel_state state = codegen_wait(codegen_shared(), k->kernel, fused_until(f, in, &start));
    fused_waited(in, start);
    if (state == KERNEL_READY) return k;
    if (state == KERNEL_WORKING) return NULL;
    pthread_mutex_lock(&f->lock);
    codegen_failure(k->kernel, &d);
    if (!atomic_exchange(&k->negative, true)) fused_give_up(f, k->key_at, &d);
    pthread_mutex_unlock(&f->lock);
    diag_clear(&d);
    return NULL;
}
