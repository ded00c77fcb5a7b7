/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused.c - runs fusion groups: finds or makes the kernel for the arguments at hand, and launches it.
 *
 * Method. The plan's conditions are checked on each call (plan_guards_hold, which computes its slots on the way): a few comparisons per argument, no
 * allocation. The kernel gets pointers to the arguments' elements and to new outputs; the range of its parallel loop is cut by pool_for at
 * borders that depend on sizes alone. Kernels of loops ask on the way whether the program was cancelled or its time is over.
 * Tests: tests/corpus at every level, tests/unit/test_steady.c, test_api.c
 */
#include "runtime/exec/fused.h"

#include "base/log.h"
#include "base/thread_pool.h"
#include "codegen/cache/cache.h"
#include "codegen/lower/group.h"
#include "passes/passes.h"
#include "runtime/cuda/launch.h"
#include "runtime/observe/profile.h"

#include <pthread.h>
#include <string.h>

typedef struct fused_kernel {
    const group_plan *plan;
    const kernel *kernel;
    int kind_at;
    atomic_bool negative; /* it has failed, which has been said */
    bool writes, scratch, scalars; /* does the plan write to arguments, need scratch buffers, give numbers? Most do not */
    struct fused_kernel *_Atomic next;
} fused_kernel;

enum { FUSED_KINDS = 16, FUSED_MAX_SLOTS = 256 };

struct fused {
    graph *g;
    code *fallback;
    code *_Atomic split;  /* the same in smaller groups, once there was no kernel for one specialisation key; NULL: no such thing */
    int nparams, nresults;
    bool has_loop;
    cuda_group *_Atomic on_device; /* for tensors that are on one; NULL: there was none yet */
    fused_kernel *_Atomic first;
    pthread_mutex_t lock; /* of what follows */
    arena arena;          /* plans */
    int nkernels;
    bool tried_split;
    graph *parts;         /* of split */
    atomic_bool closed;   /* no more kernels are made. This and the kinds are written under the lock, and read without */
    atomic_int nkinds;
    struct { uint64_t kind; atomic_bool negative; } kinds[FUSED_KINDS]; /* keys seen; negative: there is no kernel for it */
};

/* ---- making ------------------------------------------------------------------------------------------------ */

ctsc_status fused_new(diag *d, graph *g, fused **out) {
    fused *f = mem_zalloc(sizeof *f);
    if (!f) return diag_no_memory(d);
    f->g = g;
    f->nparams = (int)g->root->params.len;
    f->nresults = (int)g->root->returns.len;
    f->has_loop = block_holds(g->root, N_LOOP);
    pthread_mutex_init(&f->lock, NULL);
    ctsc_status s = arena_init(&f->arena) ? code_new(d, "FusionGroup", g, &f->fallback) : diag_no_memory(d);
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

void fused_set_name(fused *f, const char *function) {
    f->fallback->name = function;
}

const graph *fused_graph(const fused *f) {
    return f->g;
}
int fused_params(const fused *f) {
    return f->nparams;
}
int fused_results(const fused *f) {
    return f->nresults;
}

/* ---- kinds of arguments -------------------------------------------------------------------------------------- */

/* Where a kind of arguments is among those seen; -1: it is not. */
static int fused_kind_at(const fused *f, uint64_t kind) {
    int n = atomic_load_explicit(&f->nkinds, memory_order_acquire);
    for (int i = 0; i < n; i++)
        if (f->kinds[i].kind == kind) return i;
    return -1;
}

/* Is it known that there will be no kernel for these arguments? Looked at in every call that finds none, and so without a lock. */
static bool fused_is_negative(const fused *f, const value *args) {
    if (atomic_load_explicit(&f->closed, memory_order_relaxed)) return true;
    if (!atomic_load_explicit(&f->nkinds, memory_order_relaxed)) return false;
    int at = fused_kind_at(f, group_kind(f->nparams, args));
    return at >= 0 && atomic_load_explicit(&f->kinds[at].negative, memory_order_relaxed);
}

/* Is a kernel to be made for these arguments now? Counts the call. */
static bool fused_wants_kernel(fused *f, const value *args, int opt, int *kind_at) {
    if (fused_is_negative(f, args)) return false;
    uint64_t kind = group_kind(f->nparams, args);
    if ((*kind_at = fused_kind_at(f, kind)) >= 0) return true;
    int n = atomic_load_explicit(&f->nkinds, memory_order_relaxed);
    if (n == FUSED_KINDS) {
        atomic_store_explicit(&f->closed, true, memory_order_relaxed);
        return false;
    }
    f->kinds[n].kind = kind;
    atomic_store_explicit(&f->nkinds, n + 1, memory_order_release);
    *kind_at = n;
    return opt >= 3 || f->has_loop;
}

/* Lowering allocates in small pieces everywhere; with this much at hand none of them fails. */
enum { FUSED_SCRATCH = 8 << 20 };

/* What a launch need not look for each time. */
static void fused_describe(fused_kernel *k) {
    const group_plan *p = k->plan;
    for (size_t i = 0; i < p->arguments.len; i++) k->writes |= p->arguments.data[i].written;
    for (size_t i = 0; i < p->buffers.len; i++) k->scratch |= p->buffers.data[i].kind == BUFFER_SCRATCH;
    for (size_t i = 0; i < p->outputs.len; i++) k->scalars |= p->outputs.data[i].alias < 0 && p->outputs.data[i].tag != V_TENSOR;
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
    if (arena_init(&scratch) && arena_ensure(&scratch, FUSED_SCRATCH) &&
        group_lower(&scratch, f->g, args, &(group_options){.generic = generic}, &plan, d) == CTSC_OK &&
        plan && plan->slots.len <= FUSED_MAX_SLOTS && (now ? codegen_kernel : codegen_request)(cg, plan->nest, &k, d) == CTSC_OK) {
        made = arena_new(&f->arena, fused_kernel);
        made->plan = plan_copy(&f->arena, plan);
        made->kernel = k;
        if (!arena_failed(&f->arena)) fused_describe(made);
    }
    arena_free(&scratch);
    return arena_failed(&f->arena) ? NULL : made;
}

/* What no kernel does as a whole may go in parts. Without them the operators are called one by one. */
static void fused_make_split(fused *f) {
    diag d = {0};
    code *split = NULL;
    if (f->tried_split || f->has_loop) return;
    f->tried_split = true;
    if ((f->parts = graph_clone(f->g)) && pass_split_group(&(pass_ctx){.diag = &d}, f->parts) && !arena_failed(&f->parts->arena) &&
        code_new(&d, f->fallback->name, f->parts, &split) == CTSC_OK)
        atomic_store_explicit(&f->split, split, memory_order_release);
    diag_clear(&d);
}

/* There will be no kernel for arguments of this kind. */
static void fused_give_up(fused *f, int kind_at, diag *d) {
    log_event(CTSC_LOG_WARNING, "%s: no kernel for these arguments, its operators are called: %s", f->fallback->name, diag_message(d));
    fused_make_split(f);
    atomic_store_explicit(&f->kinds[kind_at].negative, true, memory_order_relaxed);
}

/* One more kernel, in the making unless `now`; NULL: there is none, or it is too early to say. */
static fused_kernel *fused_compile(fused *f, const value *args, bool now, int kind_at) {
    diag d = {0};
    fused_kernel *made = fused_make(f, args, now, &d);
    if (!made) {
        fused_give_up(f, kind_at, &d);
        diag_clear(&d);
        return NULL;
    }
    diag_clear(&d);
    made->kind_at = kind_at;
    if (now)
        log_event(CTSC_LOG_INFO, "%s: kernel of %zu bytes %s in %.1f ms", f->fallback->name, made->kernel->code_bytes,
                  made->kernel->origin == KERNEL_COMPILED ? "compiled" : "loaded", made->kernel->milliseconds);
    fused_kernel *_Atomic *at = &f->first;
    for (fused_kernel *x; (x = atomic_load_explicit(at, memory_order_relaxed));) at = &x->next;
    atomic_store_explicit(at, made, memory_order_release);
    if (++f->nkernels == FUSED_MAX_KERNELS) atomic_store_explicit(&f->closed, true, memory_order_relaxed);
    return made;
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

typedef struct fused_launch {
    kernel_fn fn;
    void *buffers[NEST_MAX_BUFFERS];
    int64_t ints[FUSED_MAX_SLOTS];
    double floats[FUSED_MAX_VALUES];
    int64_t scalars[FUSED_MAX_VALUES]; /* outputs that are no tensors */
    int64_t first;                     /* round of the parallel loop that piece 0 is */
    tensor *scratch;                   /* bytes that buffers share for the time of the call; NULL: none */
    int64_t result;
    kernel_call call;                  /* of the kernel that gave `result` */
} fused_launch;

static void fused_piece(void *ctx, int64_t begin, int64_t end) {
    fused_launch *l = ctx;
    l->fn(l->buffers, l->ints, l->floats, l->first + begin, l->first + end, NULL);
}

/* Reading the clock takes longer than a round of a small loop. */
typedef struct fused_watch { const interp *in; unsigned asked; } fused_watch;
enum { FUSED_ASK_CLOCK = 16 };

static bool fused_stop(void *ctx) {
    fused_watch *w = ctx;
    return w->asked++ % FUSED_ASK_CLOCK == 0 && interp_watch(w->in) != CTSC_OK;
}

/* Only kernels of loops end early, and these have no parallel loop. */
static void fused_whole(fused_launch *l, const interp *in) {
    fused_watch w = {.in = in};
    l->call.stop = runtime_is_watched(in->rt) ? fused_stop : NULL;
    l->call.ctx = &w;
    l->result = l->fn(l->buffers, l->ints, l->floats, 0, 0, &l->call);
}

/* A round only begins when those before the stop between them are done. false: a limit came between. */
static bool fused_stages(fused_launch *l, const group_plan *p, const int64_t *slots) {
    int64_t grain = slots[p->grain] > 0 ? slots[p->grain] : 1;
    for (size_t i = 0; i < p->stops.len; i++) {
        int64_t rounds = slots[p->stops.data[i]] - l->first;
        if (rounds > grain && !pool_for_limited(rounds, grain, fused_piece, l)) return false;
        if (rounds > 0 && rounds <= grain) fused_piece(l, 0, rounds);
        l->first += rounds;
    }
    return true;
}

enum { FUSED_ALIGN = 64 };

/* Bytes of a scratch buffer, rounded up. */
static int64_t fused_scratch_bytes(const group_buffer *b, const int64_t *slots) {
    int64_t bytes = b->kind == BUFFER_SCRATCH ? slots[b->index] : 0;
    return bytes > 0 ? (bytes + FUSED_ALIGN - 1) / FUSED_ALIGN * FUSED_ALIGN : 0;
}

static ctsc_status fused_bind_scratch(fused_launch *l, const group_plan *p, const int64_t *slots, diag *d) {
    int64_t bytes = 0;
    for (size_t i = 0; i < p->buffers.len; i++) bytes += fused_scratch_bytes(&p->buffers.data[i], slots);
    if (!bytes) return CTSC_OK;
    TRY(tensor_new(d, DT_UINT8, 1, &bytes, &l->scratch));
    char *at = tensor_data(l->scratch);
    for (size_t i = 0; i < p->buffers.len; i++) {
        if (p->buffers.data[i].kind != BUFFER_SCRATCH) continue;
        l->buffers[i] = at;
        at += fused_scratch_bytes(&p->buffers.data[i], slots);
    }
    return CTSC_OK;
}

/* New tensors for the outputs, into results; None where the output is no tensor. */
static ctsc_status fused_outputs(const group_plan *p, const int64_t *slots, const value *args, diag *d, value *results) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        int64_t sizes[TENSOR_MAX_DIMS];
        tensor *t;
        results[i] = o->alias >= 0 ? value_ref(args[o->alias]) : value_none();
        if (o->alias >= 0 || o->tag != V_TENSOR) continue;
        for (int k = 0; k < o->ndim; k++) sizes[k] = slots[o->sizes[k]];
        TRY(tensor_new(d, o->dt, o->ndim, sizes, &t));
        results[i] = value_tensor_take(t);
    }
    return CTSC_OK;
}

static ctsc_status fused_bind(fused_launch *l, const fused_kernel *k, const int64_t *slots, const value *args, diag *d, value *results) {
    const group_plan *p = k->plan;
    for (size_t i = 0; k->writes && i < p->arguments.len; i++) {
        if (!p->arguments.data[i].written) continue;
        TRY(tensor_make_writable(d, args[i].u.tensor));
    }
    TRY(fused_outputs(p, slots, args, d, results));
    for (size_t i = 0; i < p->buffers.len; i++) {
        const group_buffer *b = &p->buffers.data[i];
        if (b->kind == BUFFER_SCRATCH) continue;
        if (b->kind == BUFFER_ARGUMENT) l->buffers[i] = tensor_data(args[b->index].u.tensor);
        else if (p->outputs.data[b->index].tag == V_TENSOR) l->buffers[i] = tensor_data(results[b->index].u.tensor);
        else l->buffers[i] = &l->scalars[b->index];
    }
    for (size_t i = 0; i < p->ints.len; i++) l->ints[i] = slots[p->ints.data[i]];
    for (size_t i = 0; i < p->floats.len; i++) l->floats[i] = args[p->floats.data[i]].u.f;
    return k->scratch ? fused_bind_scratch(l, p, slots, d) : CTSC_OK;
}

static void fused_read_scalars(const fused_launch *l, const group_plan *p, value *results) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        double f;
        memcpy(&f, &l->scalars[i], sizeof f);
        if (o->alias >= 0 || o->tag == V_TENSOR) continue;
        results[i] = o->tag == V_INT ? value_int(l->scalars[i]) : o->tag == V_FLOAT ? value_float(f) : value_bool(l->scalars[i] & 1);
    }
}

static void fused_drop(const fused *f, value *results) {
    for (int i = 0; i < f->nresults; i++) {
        value_unref(results[i]);
        results[i] = value_none();
    }
}

/* What the interpreter would report, the calls that were inlined included. */
static ctsc_status fused_fault(const fused *f, const group_plan *p, const int64_t *slots, const fused_launch *l, diag *d) {
    ctsc_status s = group_describe_fault(p, slots, l->result, l->call.fault, d);
    for (size_t i = 0; i < p->faults.len; i++)
        if (p->faults.data[i].code == l->result) interp_note_calls(d, p->faults.data[i].call, f->fallback->name);
    return s;
}

/* *fits: false if the kernel found that it is not for these arguments; nothing has happened then. */
static ctsc_status fused_launch_kernel(const fused *f, const fused_kernel *k, const int64_t *slots, const value *args, const interp *in,
                                       value *results, bool *fits) {
    const group_plan *p = k->plan;
    diag *d = in->d;
    fused_launch l;
    l.fn = k->kernel->fn;
    l.result = l.first = 0;
    l.scratch = NULL;
    for (int i = 0; i < f->nresults; i++) results[i] = value_none();
    if (k->scalars) memset(l.scalars, 0, (size_t)f->nresults * sizeof *l.scalars);
    ctsc_status s = fused_bind(&l, k, slots, args, d, results);
    if (s == CTSC_OK) {
        if (p->stops.len) {
            if (!fused_stages(&l, p, slots)) s = limits_fail(d);
        } else if (p->range_begin < 0) {
            fused_whole(&l, in);
        } else {
            int64_t begin = slots[p->range_begin], end = slots[p->range_end], grain = slots[p->grain];
            if (begin != 0 || end <= grain) {
                if (end > begin) fused_piece(&l, begin, end);
            } else if (!pool_for_limited(end, grain > 0 ? grain : 1, fused_piece, &l)) {
                s = limits_fail(d);
            }
        }
        *fits = l.result != GROUP_UNFIT;
        if (l.result == GROUP_STOPPED) s = d->status;
        else if (s == CTSC_OK && l.result && *fits) s = fused_fault(f, p, slots, &l, d);
    }
    tensor_unref(l.scratch);
    if (s != CTSC_OK || !*fits) fused_drop(f, results);
    else if (k->scalars) fused_read_scalars(&l, p, results);
    return s;
}

/* ---- calls --------------------------------------------------------------------------------------------------------- */

/* The group's operators one by one. */
static ctsc_status fused_interpret(fused *f, interp *in, const value *args, value *results) {
    value own[FUSED_MAX_VALUES], out = value_none();
    for (int i = 0; i < f->nparams; i++) own[i] = value_ref(args[i]);
    code *split = atomic_load_explicit(&f->split, memory_order_acquire);
    TRY(interp_run(in, split ? split : f->fallback, f->nparams, own, &out));
    if (f->nresults == 1) {
        results[0] = out;
        return CTSC_OK;
    }
    for (int i = 0; i < f->nresults; i++) results[i] = value_ref(out.u.tuple->items[i]);
    value_unref(out);
    return CTSC_OK;
}

/* Native loops count no steps. */
static bool fused_is_counted(const fused *f, const interp *in) {
    return f->has_loop && in->rt->steps_left != UINT64_MAX;
}

/* A kernel's rounds are not left once they have begun, and a view has any number of elements without memory: where a program has limits, what could be a
 * round of seconds is the operators', who look at them. Numbers near the largest are no sizes but open ends. */
enum { FUSED_LONG_BITS = 31 };
static bool fused_is_endless(const fused *f, const group_plan *p, const int64_t *slots) {
    if (!limits_current || f->has_loop) return false;
    for (size_t i = 0; i < p->slots.len; i++)
        if (slots[i] >> FUSED_LONG_BITS > 0 && slots[i] < INT64_MAX / 2) return true;
    return false;
}

static fused_kernel *fused_find(const fused *f, const value *args, int64_t *slots) {
    for (fused_kernel *k = atomic_load_explicit(&f->first, memory_order_acquire); k;
         k = atomic_load_explicit(&k->next, memory_order_acquire))
        if (plan_guards_hold(k->plan, args, slots)) return k;
    return NULL;
}

static bool fused_waits(const interp *in) {
    return in->rt->opt >= 3 || codegen_in_calls();
}

/* Until when a call may wait for a kernel (codegen_wait); *start: to be given to fused_waited afterwards. */
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

/* Called when no kernel fits: one more, if it is time for it. Another thread may have made it meanwhile. */
static fused_kernel *fused_add(fused *f, interp *in, const value *args, int64_t *slots) {
    int kind_at = 0;
    if (fused_is_negative(f, args)) return NULL;
    pthread_mutex_lock(&f->lock);
    fused_kernel *k = fused_find(f, args, slots);
    if (!k && fused_wants_kernel(f, args, in->rt->opt, &kind_at) && fused_prepare(f, in)) {
        fused_kernel *made = fused_compile(f, args, fused_waits(in), kind_at);
        if (made && plan_guards_hold(made->plan, args, slots)) k = made;
    }
    pthread_mutex_unlock(&f->lock);
    return k;
}

/* k, or NULL if it is in the making, or has failed. */
static const fused_kernel *fused_await(fused *f, interp *in, fused_kernel *k) {
    uint64_t start = 0;
    diag d = {0};
    if (atomic_load_explicit(&k->negative, memory_order_relaxed)) return NULL;
    kernel_state state = codegen_wait(codegen_shared(), k->kernel, fused_until(f, in, &start));
    fused_waited(in, start);
    if (state == KERNEL_READY) return k;
    if (state == KERNEL_WORKING) return NULL;
    pthread_mutex_lock(&f->lock);
    codegen_failure(k->kernel, &d);
    if (!atomic_exchange(&k->negative, true)) fused_give_up(f, k->kind_at, &d);
    pthread_mutex_unlock(&f->lock);
    diag_clear(&d);
    return NULL;
}

static ctsc_status fused_device_group(fused *f, diag *d, cuda_group **out) {
    ctsc_status s = CTSC_OK;
    if ((*out = atomic_load_explicit(&f->on_device, memory_order_acquire))) return s;
    pthread_mutex_lock(&f->lock);
    *out = atomic_load_explicit(&f->on_device, memory_order_relaxed);
    if (!*out) s = cuda_group_new(d, f->g, f->fallback->name, out);
    if (s == CTSC_OK) atomic_store_explicit(&f->on_device, *out, memory_order_release);
    pthread_mutex_unlock(&f->lock);
    return s;
}

/* Loops wait for what they read, so that a device has nothing to give them. */
static ctsc_status fused_run_on_device(fused *f, interp *in, const value *args, value *results, bool *native) {
    cuda_group *group;
    *native = false;
    if (f->has_loop) return fused_interpret(f, in, args, results);
    ctsc_status s = fused_device_group(f, in->d, &group);
    if (s == CTSC_OK) s = cuda_group_run(group, in->d, args, results, native);
    if (s != CTSC_OK || *native) return s;
    pthread_mutex_lock(&f->lock);
    fused_make_split(f);
    pthread_mutex_unlock(&f->lock);
    return fused_interpret(f, in, args, results);
}

ctsc_status fused_run(fused *f, interp *in, const value *args, value *results, bool *native) {
    int64_t slots[FUSED_MAX_SLOTS];
    bool fits = true;
    if (device_in_use() && cuda_group_device(f->nparams, args) != DEVICE_HOST) return fused_run_on_device(f, in, args, results, native);
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
    ctsc_status s = k ? fused_launch_kernel(f, k, slots, args, in, results, &fits) : CTSC_OK;
    *native = k && fits;
    return *native ? s : fused_interpret(f, in, args, results);
}

bool fused_profile_run(fused *f, interp *in, value *args) {
    value results[FUSED_MAX_VALUES];
    diag own = {0};
    for (int i = 0; i < f->nresults; i++) results[i] = value_none();
    if (f->has_loop) return false;
    diag *outer = diag_redirect(&in->d, &own);
    ctsc_status s = fused_interpret(f, in, args, results);
    diag_restore(&in->d, outer);
    if (s == CTSC_OK) fused_drop(f, results);
    diag_clear(&own);
    return s == CTSC_OK;
}
