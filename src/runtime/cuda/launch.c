/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - lowers a graph for tensors on a device, has the nest compiled as CUDA,
 * and launches it.
 *
 * Method. The plan's guards are checked at each call, which computes its slots on the way. A
 * launch is one struct of parameters (cuda_emit.h) and a grid of as many blocks as the range needs,
 * or as the device runs at once where that is less. The stages of a plan are launches one after the
 * other. Nothing waits for the device.
 * Tests: tests/unit/test_cuda_tensor.c, tests/cuda
 */
#include "runtime/cuda/launch.h"

#include "base/log.h"
#include "base/threads/float_mode.h"
#include "codegen/cuda/cuda_emit.h"
#include "codegen/lower/group.h"
#include "runtime/cuda/cuda_ops.h"

#include "tensor/strides.h"

#include <pthread.h>
#include <string.h>

typedef struct launch_kernel {
    int device;
    const group_plan *plan;
    const cuda_kernel *kernel;
    cuda_kernel_shape shape;
    int resident; /* blocks that the device runs at once */
    struct launch_kernel *_Atomic next;
} launch_kernel;

enum {
    LAUNCH_MAX_KERNELS = 16,
    LAUNCH_GENERIC_KERNELS = 4, /* the last of them take any size */
    LAUNCH_MAX_KEYS = 32,
    LAUNCH_MAX_SLOTS = 256,
    LAUNCH_MAX_VALUES = 64,
    LAUNCH_PARAMS = 4000,
    /* lowering allocates in small pieces everywhere; with this much at hand none of them fails */
    LAUNCH_SCRATCH = 8 << 20,
};

struct cuda_group {
    const graph *g;
    char *name;
    int nparams, nresults;
    launch_kernel *_Atomic first;
    pthread_mutex_t lock; /* of what follows */
    arena arena;          /* plans */
    int nkernels;
    int nnegative;
    uint64_t negative[LAUNCH_MAX_KEYS]; /* specialisation keys that cannot be lowered */
};

ctsc_status cuda_group_new(diag *d, const graph *g, const char *name, cuda_group **out) {
    cuda_group *f = mem_zalloc(sizeof *f);
    if (!f) return diag_no_memory(d);
    pthread_mutex_init(&f->lock, NULL);
    f->g = g;
    f->nparams = (int)g->root->params.len;
    f->nresults = (int)g->root->returns.len;
    f->name = mem_strdup(name);
    if (!f->name || !arena_init(&f->arena)) {
        cuda_group_free(f);
        return diag_no_memory(d);
    }
    *out = f;
    return CTSC_OK;
}

void cuda_group_free(cuda_group *f) {
    if (!f) return;
    arena_free(&f->arena);
    pthread_mutex_destroy(&f->lock);
    mem_free(f->name);
    mem_free(f);
}

int cuda_group_device(int n, const value *args) {
    for (int i = 0; i < n; i++)
        if (args[i].tag == V_TENSOR && tensor_device(args[i].u.tensor) != DEVICE_HOST)
            return tensor_device(args[i].u.tensor);
    return DEVICE_HOST;
}

/* ---- making kernels -------------------------------------------------------------------------- */

static bool launch_is_negative(const cuda_group *f, uint64_t key) {
    for (int i = 0; i < f->nnegative; i++)
        if (f->negative[i] == key) return true;
    return f->nnegative == LAUNCH_MAX_KEYS || f->nkernels == LAUNCH_MAX_KERNELS;
}

static bool launch_plan_serves(const group_plan *p) {
    if (p->slots.len > LAUNCH_MAX_SLOTS) return false;
    for (size_t i = 0; i < p->outputs.len; i++)
        if (p->outputs.data[i].tag != V_TENSOR || p->outputs.data[i].alias >= 0) return false;
    return p->faults.len == 0;
}

static ctsc_status launch_compile(diag *d, cuda *c, const char *name, nest *n, launch_kernel *k) {
    strbuf text = STRBUF_INIT;
    ctsc_status s = nest_emit_cuda(n, &text, &k->shape, d);
    if (s == CTSC_OK && text.failed) s = diag_no_memory(d);
    if (s == CTSC_OK) {
        cuda_source source = {.text = sb_str(&text),
                              .len = text.len,
                              .name = "group.cu",
                              .headers = cuda_emit_headers()};
        s = source.headers
                ? cuda_kernel_get(c, d, &source, "kernel", (size_t)k->shape.shared, &k->kernel)
                : diag_no_memory(d);
    }
    if (s == CTSC_OK) log_event(CTSC_LOG_INFO, "%s: a kernel of %zu bytes of CUDA", name, text.len);
    sb_free(&text);
    return s;
}

/* *out: NULL if the graph cannot be lowered for these arguments. Fails where compiling does. */
static ctsc_status launch_make(cuda_group *f, diag *d, int device, const value *args,
                               launch_kernel **out) {
    cuda *c;
    arena scratch;
    group_plan *plan = NULL;
    launch_kernel k = {.device = device};
    *out = NULL;
    TRY(cuda_of_device(d, device, &c));
    bool generic = f->nkernels >= LAUNCH_MAX_KERNELS - LAUNCH_GENERIC_KERNELS;
    if (!arena_init(&scratch)) return diag_no_memory(d);
    float_mode outer = float_mode_plain(); /* numbers in the kernel's text are what they are */
    ctsc_status s = arena_ensure(&scratch, LAUNCH_SCRATCH) ? CTSC_OK : diag_no_memory(d);
    if (s == CTSC_OK)
        s = group_lower(&scratch, f->g, args,
                        &(group_options){.generic = generic, .target = GROUP_CUDA}, &plan, d);
    bool serves = s == CTSC_OK && plan && launch_plan_serves(plan);
    if (serves) s = launch_compile(d, c, f->name, plan->nest, &k);
    if (serves && s == CTSC_OK) {
        k.resident = cuda_resident_blocks(c, k.kernel, k.shape.block, (size_t)k.shape.shared);
        k.plan = plan_copy(&f->arena, plan);
        launch_kernel *made = arena_new(&f->arena, launch_kernel);
        *made = k;
        if (arena_failed(&f->arena)) s = diag_no_memory(d);
        else *out = made;
    }
    arena_free(&scratch);
    float_mode_end(outer);
    return s;
}

/* With the lock held. */
static ctsc_status launch_add(cuda_group *f, diag *d, int device, const value *args,
                              const launch_kernel **out) {
    launch_kernel *made;
    uint64_t key = group_key(f->nparams, args);
    *out = NULL;
    if (launch_is_negative(f, key)) return CTSC_OK;
    TRY(launch_make(f, d, device, args, &made));
    if (!made) {
        log_event(CTSC_LOG_INFO, "%s: no CUDA kernel for these arguments, its operators are called",
                  f->name);
        f->negative[f->nnegative++] = key;
        return CTSC_OK;
    }
    launch_kernel *_Atomic *at = &f->first;
    for (launch_kernel *x; (x = atomic_load_explicit(at, memory_order_relaxed));) at = &x->next;
    atomic_store_explicit(at, made, memory_order_release);
    f->nkernels++;
    *out = made;
    return CTSC_OK;
}

static const launch_kernel *launch_find(const cuda_group *f, int device, const value *args,
                                        int64_t *slots) {
    for (launch_kernel *k = atomic_load_explicit(&f->first, memory_order_acquire); k;
         k = atomic_load_explicit(&k->next, memory_order_acquire))
        if (k->device == device && plan_guards_hold(k->plan, args, slots)) return k;
    return NULL;
}

/* *out: NULL if there is no kernel for these arguments. */
static ctsc_status launch_get(cuda_group *f, diag *d, int device, const value *args, int64_t *slots,
                              const launch_kernel **out) {
    *out = launch_find(f, device, args, slots);
    if (*out) return CTSC_OK;
    pthread_mutex_lock(&f->lock);
    *out = launch_find(f, device, args, slots); /* meanwhile another thread may have been here */
    ctsc_status s = *out ? CTSC_OK : launch_add(f, d, device, args, out);
    pthread_mutex_unlock(&f->lock);
    if (s == CTSC_OK && *out && !plan_guards_hold((*out)->plan, args, slots)) *out = NULL;
    return s;
}

/* ---- launching ------------------------------------------------------------------------------- */

typedef struct launch {
    cuda *c;
    const launch_kernel *k;
    const int64_t *slots;
    void *scratch;
    size_t nbytes; /* of params, except for begin and end */
    _Alignas(8) char params[LAUNCH_PARAMS];
} launch;

static bool launch_put(launch *l, const void *p, size_t n) {
    if (l->nbytes + n > sizeof l->params - 2 * sizeof(int64_t)) return false;
    memcpy(l->params + l->nbytes, p, n);
    l->nbytes += n;
    return true;
}

enum { LAUNCH_ALIGN = 256 };

static size_t launch_scratch_bytes(const group_buffer *b, const int64_t *slots) {
    int64_t bytes = b->kind == BUFFER_SCRATCH ? slots[b->index] : 0;
    return bytes > 0 ? ((size_t)bytes + LAUNCH_ALIGN - 1) / LAUNCH_ALIGN * LAUNCH_ALIGN : 0;
}

static ctsc_status launch_outputs(launch *l, diag *d, value *results) {
    const group_plan *p = l->k->plan;
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
        tensor *t;
        plan_output_layout(o, l->slots, sizes, strides);
        TRY(tensor_new_strided(d, l->k->device, o->dt, o->ndim, sizes, strides, &t));
        results[i] = value_tensor_take(t);
    }
    return CTSC_OK;
}

/* The parameters: buffers, ints, floats. */
static ctsc_status launch_bind(launch *l, diag *d, const value *args, const value *results) {
    const group_plan *p = l->k->plan;
    size_t total = 0;
    bool fits = true;
    for (size_t i = 0; i < p->buffers.len; i++)
        total += launch_scratch_bytes(&p->buffers.data[i], l->slots);
    TRY(cuda_alloc(l->c, d, total, &l->scratch));
    char *at = l->scratch;
    for (size_t i = 0; i < p->buffers.len; i++) {
        const group_buffer *b = &p->buffers.data[i];
        void *data = b->kind == BUFFER_SCRATCH
                         ? at
                         : tensor_data(
                               (b->kind == BUFFER_ARGUMENT ? args : results)[b->index].u.tensor);
        at += launch_scratch_bytes(b, l->slots);
        fits &= launch_put(l, &data, sizeof data);
    }
    for (size_t i = 0; i < p->ints.len; i++)
        fits &= launch_put(l, &l->slots[p->ints.data[i]], sizeof *l->slots);
    for (size_t i = 0; i < p->floats.len; i++)
        fits &= launch_put(l, &args[p->floats.data[i]].u.f, sizeof(double));
    return fits ? CTSC_OK : diag_fail(d, CTSC_INTERNAL, "a kernel has too many parameters");
}

/* Iterations [begin, end) of the parallel loop. */
static ctsc_status launch_range(launch *l, diag *d, int64_t begin, int64_t end) {
    const cuda_kernel_shape *s = &l->k->shape;
    if (end <= begin) return CTSC_OK;
    int64_t coops = s->block / s->coop, blocks = (end - begin + coops - 1) / coops;
    if (l->k->resident > 0 && blocks > l->k->resident) blocks = l->k->resident;
    memcpy(l->params + l->nbytes, &begin, sizeof begin);
    memcpy(l->params + l->nbytes + sizeof begin, &end, sizeof end);
    cuda_shape shape = {.grid = {(unsigned)blocks, 1, 1},
                        .block = {(unsigned)s->block, 1, 1},
                        .shared = (size_t)s->shared};
    return cuda_launch(l->c, d, l->k->kernel, &shape, l->params, l->nbytes + 2 * sizeof(int64_t));
}

static ctsc_status launch_ranges(launch *l, diag *d) {
    const group_plan *p = l->k->plan;
    /* no parallel loop: as if it had one iteration */
    if (p->range_begin < 0) return launch_range(l, d, 0, 1);
    int64_t begin = l->slots[p->range_begin];
    if (!p->barriers.len) return launch_range(l, d, begin, l->slots[p->range_end]);
    for (size_t i = 0; i < p->barriers.len; i++) {
        int64_t stop = l->slots[p->barriers.data[i]];
        TRY(launch_range(l, d, begin, stop));
        if (stop > begin) begin = stop;
    }
    return CTSC_OK;
}

static ctsc_status launch_run(const cuda_group *f, diag *d, const launch_kernel *k,
                              const int64_t *slots, const value *args, value *results) {
    launch l; /* most of it is room for parameters */
    l.k = k, l.slots = slots, l.scratch = NULL, l.nbytes = 0;
    TRY(cuda_of_device(d, k->device, &l.c));
    for (int i = 0; i < f->nresults; i++) results[i] = value_none();
    ctsc_status s = launch_outputs(&l, d, results);
    if (s == CTSC_OK) s = launch_bind(&l, d, args, results);
    if (s == CTSC_OK) s = launch_ranges(&l, d);
    cuda_free(l.c, l.scratch);
    for (int i = 0; s != CTSC_OK && i < f->nresults; i++) value_set(&results[i], value_none());
    return s;
}

/* args with those 0-dim tensors on the device that are on the host; each a new reference. *fits:
 * false if a larger tensor is elsewhere. */
static ctsc_status launch_gather(diag *d, int device, int n, const value *args, value *own,
                                 bool *fits) {
    *fits = true;
    for (int i = 0; i < n; i++) {
        tensor *t = args[i].tag == V_TENSOR ? args[i].u.tensor : NULL, *moved;
        own[i] = value_none();
        if (t && tensor_device(t) != device && (t->ndim || tensor_device(t) != DEVICE_HOST))
            return *fits = false, CTSC_OK;
        if (!t || tensor_device(t) == device) {
            own[i] = value_ref(args[i]);
            continue;
        }
        TRY(tensor_to_device(d, t, device, &moved));
        own[i] = value_tensor_take(moved);
    }
    return CTSC_OK;
}

ctsc_status cuda_group_run(cuda_group *f, diag *d, const value *args, value *results, bool *ran) {
    int64_t slots[LAUNCH_MAX_SLOTS];
    value own[LAUNCH_MAX_VALUES] = {{V_NONE, {0}}};
    const launch_kernel *k = NULL;
    bool fits;
    int device = cuda_group_device(f->nparams, args);
    *ran = false;
    if (f->nparams > LAUNCH_MAX_VALUES) return CTSC_OK;
    ctsc_status s = launch_gather(d, device, f->nparams, args, own, &fits);
    if (s == CTSC_OK && fits) s = launch_get(f, d, device, own, slots, &k);
    if (s == CTSC_OK && k) s = launch_run(f, d, k, slots, own, results);
    *ran = k && s == CTSC_OK;
    for (int i = 0; i < f->nparams; i++) value_unref(own[i]);
    return s;
}
