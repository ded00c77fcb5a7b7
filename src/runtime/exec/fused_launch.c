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

#include <string.h>

typedef struct fused_frame {
    kernel_fn fn;
    void *buffers[NEST_MAX_BUFFERS];
    int64_t ints[FUSED_MAX_SLOTS];
    double floats[FUSED_MAX_VALUES];
    int64_t scalars[FUSED_MAX_VALUES]; /* outputs that are not tensors */
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

static ctsc_status fused_bind(fused_frame *l, const fused_kernel *k, const int64_t *slots,
                              const value *args, diag *d, value *results) {
    const group_plan *p = k->plan;
    for (size_t i = 0; k->writes && i < p->arguments.len; i++) {
        if (!p->arguments.data[i].written) continue;
        TRY(tensor_make_writable(d, args[i].u.tensor));
    }
    const plan_frame frame = {l->buffers, l->ints, l->floats, l->scalars};
    TRY(plan_bind(p, slots, args, &frame, d, results));
    int64_t bytes = k->scratch ? plan_scratch_bytes(p, slots) : 0;
    if (!bytes) return CTSC_OK;
    TRY(tensor_new(d, DT_UINT8, 1, &bytes, &l->scratch));
    plan_bind_scratch(p, slots, tensor_data(l->scratch), &frame);
    return CTSC_OK;
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
    else if (k->scalars) plan_read_scalars(p, l.scalars, results);
    return s;
}
