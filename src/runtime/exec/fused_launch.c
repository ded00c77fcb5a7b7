/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused_launch.c - runs a kernel of a fusion group.
 *
 * The kernel gets pointers to the arguments' elements and to new outputs; the range of its parallel
 * loop is cut by pool_for at borders that depend on sizes alone. Kernels of loops ask on the way
 * whether the program was cancelled or its time is over.
 * Tests: tests/corpus at every level, tests/unit/test_steady.c, test_limits.c
 */
#include "runtime/exec/fused_internal.h"

#include "base/threads/thread_pool.h"
#include "tensor/strides.h"

#include <string.h>

typedef struct fused_frame {
    kernel_fn fn;
    void *buffers[NEST_MAX_BUFFERS];
    int64_t ints[FUSED_MAX_SLOTS];
    double floats[FUSED_MAX_VALUES];
    int64_t scalars[FUSED_MAX_VALUES]; /* outputs that are no tensors */
    int64_t first;                     /* iteration of the parallel loop that chunk 0 begins with */
    /* bytes that buffers share for the time of the call; NULL: none */
    tensor *scratch;
    int64_t result;
    kernel_call call; /* of the kernel that gave `result` */
} fused_frame;

static void fused_chunk(void *ctx, int64_t begin, int64_t end) {
    fused_frame *l = ctx;
    l->fn(l->buffers, l->ints, l->floats, l->first + begin, l->first + end, NULL);
}

/* Reading the clock takes longer than an iteration of a small loop. */
typedef struct fused_watch { const interp *in; unsigned asked; } fused_watch;
enum { FUSED_ASK_CLOCK = 16 };

static bool fused_stop(void *ctx) {
    fused_watch *w = ctx;
    return w->asked++ % FUSED_ASK_CLOCK == 0 && interp_check_time(w->in) != CTSC_OK;
}

/* Only kernels of loops end early, and these have no parallel loop. */
static void fused_whole(fused_frame *l, const interp *in) {
    fused_watch w = {.in = in};
    l->call.stop = runtime_is_watched(in->rt) ? fused_stop : NULL;
    l->call.ctx = &w;
    l->result = l->fn(l->buffers, l->ints, l->floats, 0, 0, &l->call);
}

/* A stage only begins when the one before is done. False: a limit came between. */
static bool fused_stages(fused_frame *l, const group_plan *p, const int64_t *slots) {
    int64_t grain_size = slots[p->grain_size] > 0 ? slots[p->grain_size] : 1;
    for (size_t i = 0; i < p->barriers.len; i++) {
        int64_t iterations = slots[p->barriers.data[i]] - l->first;
        if (iterations > grain_size && !pool_for_limited(iterations, grain_size, fused_chunk, l))
            return false;
        if (iterations > 0 && iterations <= grain_size) fused_chunk(l, 0, iterations);
        l->first += iterations;
    }
    return true;
}

enum { FUSED_ALIGN = 64 };

/* Bytes of a scratch buffer, rounded up. */
static int64_t fused_scratch_bytes(const group_buffer *b, const int64_t *slots) {
    int64_t bytes = b->kind == BUFFER_SCRATCH ? slots[b->index] : 0;
    return bytes > 0 ? (bytes + FUSED_ALIGN - 1) / FUSED_ALIGN * FUSED_ALIGN : 0;
}

static ctsc_status fused_bind_scratch(fused_frame *l, const group_plan *p, const int64_t *slots,
                                      diag *d) {
    int64_t bytes = 0;
    for (size_t i = 0; i < p->buffers.len; i++)
        bytes += fused_scratch_bytes(&p->buffers.data[i], slots);
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
static ctsc_status fused_outputs(const group_plan *p, const int64_t *slots, const value *args,
                                 diag *d, value *results) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
        tensor *t;
        results[i] = o->alias >= 0 ? value_ref(args[o->alias]) : value_none();
        if (o->alias >= 0 || o->tag != V_TENSOR) continue;
        if (o->permuted) {
            plan_output_layout(o, slots, sizes, strides);
            TRY(tensor_new_strided(d, DEVICE_HOST, o->dt, o->ndim, sizes, strides, &t));
        } else {
            for (int k = 0; k < o->ndim; k++) sizes[k] = slots[o->sizes[k]];
            TRY(tensor_new(d, o->dt, o->ndim, sizes, &t));
        }
        results[i] = value_tensor_take(t);
    }
    return CTSC_OK;
}

static ctsc_status fused_bind(fused_frame *l, const fused_kernel *k, const int64_t *slots,
                              const value *args, diag *d, value *results) {
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
        else if (p->outputs.data[b->index].tag == V_TENSOR)
            l->buffers[i] = tensor_data(results[b->index].u.tensor);
        else l->buffers[i] = &l->scalars[b->index];
    }
    for (size_t i = 0; i < p->ints.len; i++) l->ints[i] = slots[p->ints.data[i]];
    for (size_t i = 0; i < p->floats.len; i++) l->floats[i] = args[p->floats.data[i]].u.f;
    return k->scratch ? fused_bind_scratch(l, p, slots, d) : CTSC_OK;
}

static void fused_read_scalars(const fused_frame *l, const group_plan *p, value *results) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        double f;
        memcpy(&f, &l->scalars[i], sizeof f);
        if (o->alias >= 0 || o->tag == V_TENSOR) continue;
        results[i] = o->tag == V_INT     ? value_int(l->scalars[i])
                     : o->tag == V_FLOAT ? value_float(f)
                                         : value_bool(l->scalars[i] & 1);
    }
}

void fused_drop(const fused *f, value *results) {
    for (int i = 0; i < f->group.nresults; i++) {
        value_unref(results[i]);
        results[i] = value_none();
    }
}

/* What the interpreter would report, the calls that were inlined included. */
static ctsc_status fused_fault(const fused *f, const group_plan *p, const int64_t *slots,
                               const fused_frame *l, diag *d) {
    ctsc_status s = group_describe_fault(p, slots, l->result, l->call.fault, d);
    for (size_t i = 0; i < p->faults.len; i++)
        if (p->faults.data[i].code == l->result)
            interp_note_calls(d, p->faults.data[i].call, f->fallback->name);
    return s;
}

ctsc_status fused_launch(const fused *f, const fused_kernel *k, const int64_t *slots,
                         const value *args, const interp *in, value *results, bool *fits) {
    const group_plan *p = k->plan;
    diag *d = in->d;
    fused_frame l;
    l.fn = k->kernel->fn;
    l.result = l.first = 0;
    l.scratch = NULL;
    for (int i = 0; i < f->group.nresults; i++) results[i] = value_none();
    if (k->scalars) memset(l.scalars, 0, (size_t)f->group.nresults * sizeof *l.scalars);
    ctsc_status s = fused_bind(&l, k, slots, args, d, results);
    if (s == CTSC_OK) {
        if (p->barriers.len) {
            if (!fused_stages(&l, p, slots)) s = limits_fail(d);
        } else if (p->range_begin < 0) {
            fused_whole(&l, in);
        } else {
            int64_t begin = slots[p->range_begin], end = slots[p->range_end],
                    grain_size = slots[p->grain_size];
            if (begin != 0 || end <= grain_size) {
                if (end > begin) fused_chunk(&l, begin, end);
            } else if (!pool_for_limited(end, grain_size > 0 ? grain_size : 1, fused_chunk, &l)) {
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
