/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_group.c - runs fusion groups, and operators: functions of the library, or kernels.
 *
 * A kernel gets pointers to the arguments' elements and to new outputs. Ranges of parallel loops
 * are cut where the interpreter cuts them: a reduction's partial sums depend on that.
 * Tests: tests/aot/
 */
#include "base/threads/thread_pool.h"
#include "rt/rt_internal.h"
#include "runtime/kernels/engine/kernel.h"

enum { RT_SLOTS = 256, RT_VALUES = CODE_GROUP_VALUES };

typedef struct rt_launch {
    kernel_fn fn;
    void *buffers[NEST_MAX_BUFFERS];
    int64_t ints[RT_SLOTS];
    double floats[RT_VALUES];
    int64_t scalars[RT_VALUES]; /* outputs that are not tensors */
    int64_t first;
    void *scratch;
    int64_t result;
    kernel_call call;
} rt_launch;

static void rt_chunk(void *ctx, int64_t begin, int64_t end) {
    rt_launch *l = ctx;
    l->fn(l->buffers, l->ints, l->floats, l->first + begin, l->first + end, NULL);
}

static void rt_stages(rt_launch *l, const group_plan *p, const int64_t *slots) {
    int64_t grain = slots[p->grain_size] > 0 ? slots[p->grain_size] : 1;
    for (size_t i = 0; i < p->barriers.len; i++) {
        int64_t n = slots[p->barriers.data[i]] - l->first;
        if (n > grain) pool_for(n, grain, rt_chunk, l);
        else if (n > 0) rt_chunk(l, 0, n);
        l->first += n;
    }
}

static void rt_start(rt_launch *l, const group_plan *p, const int64_t *slots) {
    if (p->barriers.len) {
        rt_stages(l, p, slots);
    } else if (p->range_begin < 0) {
        l->call = (kernel_call){0};
        l->result = l->fn(l->buffers, l->ints, l->floats, 0, 0, &l->call);
    } else {
        int64_t begin = slots[p->range_begin], end = slots[p->range_end],
                grain = slots[p->grain_size];
        if (begin != 0 || end <= grain) {
            if (end > begin) rt_chunk(l, begin, end);
        } else {
            pool_for(end, grain > 0 ? grain : 1, rt_chunk, l);
        }
    }
}

static ctsc_status rt_bind(rt_launch *l, const rt_kernel *k, const int64_t *slots,
                           const value *args, diag *d, value *results) {
    const group_plan *p = k->plan;
    const plan_frame frame = {l->buffers, l->ints, l->floats, l->scalars};
    TRY(plan_bind(p, slots, args, &frame, d, results));
    int64_t bytes = plan_scratch_bytes(p, slots);
    if (!bytes) return CTSC_OK;
    if (!(l->scratch = mem_alloc((size_t)bytes + PLAN_SCRATCH_ALIGN))) return diag_no_memory(d);
    char *at = l->scratch;
    plan_bind_scratch(p, slots, at + (-(uintptr_t)at & (PLAN_SCRATCH_ALIGN - 1)), &frame);
    return CTSC_OK;
}

static void rt_drop(int n, value *results) {
    for (int i = 0; i < n; i++) value_set(&results[i], value_none());
}

/* *fits: false if the kernel found that it is not for these arguments; nothing has happened. */
static ctsc_status rt_run_kernel(op_ctx *cx, const rt_group *g, const rt_kernel *k,
                                 const int64_t *slots, const value *args, value *results,
                                 bool *fits) {
    rt_launch l;
    l.fn = k->fn;
    l.result = l.first = 0;
    l.scratch = NULL;
    for (int i = 0; i < g->nresults; i++) results[i] = value_none();
    memset(l.scalars, 0, (size_t)g->nresults * sizeof *l.scalars);
    ctsc_status s = rt_bind(&l, k, slots, args, cx->diag, results);
    if (s == CTSC_OK) {
        rt_start(&l, k->plan, slots);
        *fits = l.result != GROUP_UNFIT;
        if (l.result && *fits)
            s = rt_say(cx->diag, CTSC_FAILED, "an index is out of range, or a number is 0");
    }
    mem_free(l.scratch);
    if (s != CTSC_OK || !*fits) rt_drop(g->nresults, results);
    else plan_read_scalars(k->plan, l.scalars, results);
    return s;
}

static ctsc_status rt_fallback(op_ctx *cx, const rt_group *g, const value *args, value *results) {
    value own[RT_VALUES], out = value_none();
    if (!g->fallback)
        return rt_say(cx->diag, CTSC_UNSUPPORTED, "no kernel was compiled for such arguments");
    for (int i = 0; i < g->nparams; i++) own[i] = value_ref(args[i]);
    TRY(rt_run_code(cx, g->fallback, own, &out));
    if (g->nresults == 1) {
        results[0] = out;
        return CTSC_OK;
    }
    for (int i = 0; i < g->nresults; i++) results[i] = value_ref(out.u.tuple->items[i]);
    value_unref(out);
    return CTSC_OK;
}

ctsc_status rt_run_group(op_ctx *cx, const rt_group *g, const value *args, value *results) {
    int64_t slots[RT_SLOTS];
    for (int i = 0; i < g->nkernels; i++) {
        bool fits = true;
        if (!plan_guards_hold(g->kernels[i].plan, args, slots)) continue;
        ctsc_status s = rt_run_kernel(cx, g, &g->kernels[i], slots, args, results, &fits);
        if (s != CTSC_OK || fits) return s;
    }
    return rt_fallback(cx, g, args, results);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Are the arguments those that the kernels of o are for? */
static bool rt_is_for(const rt_op *o, const value *args) {
    for (int i = 0; o->group && i < o->nargs; i++)
        if (!(o->params >> i & 1) &&
            (o->constants[i].tag != args[i].tag || !value_equal(o->constants[i], args[i])))
            return false;
    return true;
}

/* Another one of the same key that is for them. */
static const rt_op *rt_find(const char *key, const value *args) {
    for (const rt_op *const *o = (*ctsc_rt_current())->program->ops; *o; o++)
        if (!strcmp((*o)->op->key, key) && (!args || rt_is_for(*o, args))) return *o;
    return NULL;
}

static ctsc_status rt_run_kernels(op_ctx *cx, const rt_op *o, const value *args, value *result) {
    value params[RT_VALUES];
    int n = 0;
    for (int i = 0; i < o->nargs; i++)
        if (o->params >> i & 1) params[n++] = args[i];
    return rt_run_group(cx, o->group, params, result);
}

ctsc_status rt_run_op(op_ctx *cx, const rt_op *o, int nargs, const value *args, value *results) {
    if (!rt_is_for(o, args)) o = rt_find(o->op->key, args);
    if (!o)
        return rt_say(cx->diag, CTSC_UNSUPPORTED,
                      "an operator has arguments it was not compiled for");
    op_ctx inner = *cx;
    inner.op = o->does;
    inner.nargs = nargs;
    value computed = value_none(), *into = o->written < 0 ? results : &computed;
    if (o->group) {
        TRY(rt_run_kernels(&inner, o, args, into));
    } else {
        op_fn fn = o->does->traits.strides ? op_function_in_order(o->does, nargs, args)
                                           : o->does->fn;
        TRY(fn(&inner, args, into));
    }
    if (o->written < 0) return CTSC_OK;
    inner.op = o->op;
    return o->written == 0 ? op_finish_inplace(&inner, &args[0], computed.u.tensor, results)
                           : op_finish_out(&inner, &args[o->written], computed.u.tensor, results);
}

/* What operators call by name: those that the compiler saw being called. */
ctsc_status op_call(op_ctx *cx, const char *key, int nargs, const value *args, value *results) {
    value full[RT_VALUES];
    const rt_op *o = rt_find(key, NULL);
    if (!o || nargs > o->nargs)
        return rt_say(cx->diag, CTSC_UNSUPPORTED, "an operator calls one that was not compiled");
    for (int i = 0; i < o->nargs; i++) full[i] = i < nargs ? args[i] : o->defaults[i];
    for (int i = 0; i < o->op->schema->nreturns; i++) results[i] = value_none();
    ctsc_status s = rt_run_op(cx, o, o->nargs, full, results);
    if (s != CTSC_OK) rt_drop(o->op->schema->nreturns, results);
    return s;
}

const op *op_find(const char *key) {
    const rt_op *o = rt_find(key, NULL);
    return o ? o->op : NULL;
}
