/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen.c - the types of the tensors that come by when a graph is run, written into it, and what
 * its nodes had to do.
 *
 * Tests: tests/cli/graph-for.test, tests/unit/test_optimize.c, tests/unit/test_view.c
 */
#include "runtime/observe/seen.h"

#include "ir/graph/graph_json.h"
#include "runtime/observe/instrument.h"
#include "runtime/observe/work.h"

#include <string.h>

/* What is known of a tensor value after the ones seen so far. */
typedef struct seen {
    tensor_info info;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
} seen;

typedef struct observer {
    diag *d;
    arena arena;
    ptrmap seen;           /* ir_value -> seen */
    group_records *groups; /* NULL: not wanted */
    node_work *work;       /* NULL: not wanted */
    ptrmap numbers;        /* node -> its number + 1, for `work` */
} observer;

static void observe_first(seen *s, const tensor *t) {
    s->info = (tensor_info){.dtype = (int8_t)t->dtype,
                            .ndim = (int8_t)t->ndim,
                            .requires_grad = t->requires_grad,
                            .device = (int8_t)tensor_device(t),
                            .has_strides = true,
                            .sizes = s->sizes,
                            .strides = s->strides};
    memcpy(s->sizes, t->sizes, t->ndim * sizeof *s->sizes);
    memcpy(s->strides, t->strides, t->ndim * sizeof *s->strides);
}

/* What differs is not known. */
static void observe_again(seen *s, const tensor *t) {
    if (s->info.dtype != (int8_t)t->dtype) s->info.dtype = -1;
    if (s->info.requires_grad != t->requires_grad) s->info.requires_grad = -1;
    if (s->info.device != (int8_t)tensor_device(t)) s->info.device = -1;
    if (s->info.ndim != (int8_t)t->ndim) {
        s->info.ndim = -1;
        s->info.has_strides = false;
        return;
    }
    for (int i = 0; i < t->ndim; i++) {
        if (s->sizes[i] != t->sizes[i]) s->sizes[i] = -1;
        if (s->strides[i] != t->strides[i]) s->strides[i] = -1;
    }
}

static ctsc_status observe_value(observer *o, const ir_value *v, value x) {
    if (v->type->kind != T_TENSOR || x.tag != V_TENSOR) return CTSC_OK;
    seen *s = ptrmap_get(&o->seen, v);
    if (s) {
        observe_again(s, x.u.tensor);
        return CTSC_OK;
    }
    s = arena_new(&o->arena, seen);
    if (arena_failed(&o->arena) || !ptrmap_put(&o->seen, v, s)) return diag_no_memory(o->d);
    observe_first(s, x.u.tensor);
    return CTSC_OK;
}

static void observe_number(void *ctx, node *n, size_t number) {
    observer *o = ctx;
    o->work->n = number + 1;
    if (!ptrmap_put(&o->numbers, n, (void *)(uintptr_t)(number + 1))) o->arena.failed = true;
}

/* Room for the work of each node of g. */
static ctsc_status observe_count(observer *o, const graph *g) {
    size_t bytes;
    graph_number(g, observe_number, o);
    if (!size_mul(o->work->n + 1, sizeof *o->work->flops, &bytes) ||
        !(o->work->flops = mem_zalloc(bytes)) || arena_failed(&o->arena))
        return diag_no_memory(o->d);
    return CTSC_OK;
}

static void observe_work(observer *o, const node *n, const value *inputs, const value *outputs) {
    size_t number = (size_t)(uintptr_t)ptrmap_get(&o->numbers, n);
    bool call = n->kind == N_CALL_FUNCTION || n->kind == N_CALL_METHOD || n->kind == N_FORK;
    if (!number || (!call && (n->kind != N_OP || !n->op))) return;
    work_cost c = {.known = !n->outputs.len};
    if (!call) c = work_of_call(n->op, (int)n->inputs.len, inputs, (int)n->outputs.len, outputs);
    int64_t *flops = &o->work->flops[number - 1];
    if (!c.known || *flops < 0 || __builtin_add_overflow(*flops, c.flops, flops)) *flops = -1;
}

static ctsc_status observe_node(void *ctx, const node *n, const value *inputs,
                                const value *outputs) {
    observer *o = ctx;
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; i < n->outputs.len && st == CTSC_OK; i++)
        st = observe_value(o, n->outputs.data[i], outputs[i]);
    if (st == CTSC_OK && n->kind == N_FUSION_GROUP && o->groups)
        st = group_record(o->groups, n, inputs, o->d);
    if (st == CTSC_OK && o->work) observe_work(o, n, inputs, outputs);
    return st;
}

static ctsc_status observe_block(void *ctx, const block *b, const value *params) {
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; i < b->params.len && st == CTSC_OK; i++)
        st = observe_value(ctx, b->params.data[i], params[i]);
    return st;
}

/* Writes the types into the graph. */
static void observe_apply(observer *o) {
    for (size_t i = 0; i < o->seen.cap; i++) {
        ir_value *v = (ir_value *)o->seen.slots[i].key;
        const seen *s = v ? o->seen.slots[i].value : NULL;
        if (v) v->type = type_tensor_details(&s->info);
    }
}

ctsc_status seen_run(const function *f, graph *g, int nargs, const value *args,
                     group_records *groups, node_work *work, diag *d) {
    observer o = {.d = d, .groups = groups, .work = work};
    instrument in = {.node = observe_node, .block = observe_block, .ctx = &o};
    value result = value_none();
    if (!arena_init(&o.arena)) return diag_no_memory(d);
    runtime *rt = mem_alloc(sizeof *rt);
    ctsc_status st = rt ? CTSC_OK : diag_no_memory(d);
    if (st == CTSC_OK && work) st = observe_count(&o, g);
    if (st == CTSC_OK) {
        runtime_init(rt);
        st = instrument_run(&in, f, g, rt, nargs, args, d, &result);
    }
    if (st == CTSC_OK) observe_apply(&o);
    value_unref(result);
    mem_free(rt);
    ptrmap_free(&o.seen);
    ptrmap_free(&o.numbers);
    arena_free(&o.arena);
    return st;
}

void node_work_free(node_work *w) {
    mem_free(w->flops);
    *w = (node_work){0};
}
