/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - what a call of an operator, or of a method, has to do: floating-point operations, bytes,
 * parameters read.
 *
 * Each operator's count follows from the sizes of its arguments and results, by its row (WORK in
 * ir/op/op_traits.h). Operators on other than floating-point values, and those that only move data,
 * count no operations. An operator whose row does not say and that makes floating-point values is
 * reported as not counted: no number is made up for it. For a method, its graph as written, calls
 * inlined, is run once with probes (instrument.c). Products, convolutions, attention and recurrent
 * networks: work_dense.c.
 * Tests: tests/unit/test_work.c, tests/unit/test_optimize.c, tests/unit/test_profile.c,
 * tests/cli/bench.test
 */
#include "runtime/observe/work.h"

#include "runtime/observe/instrument.h"
#include "runtime/observe/work_dense.h"

#include <string.h>

static bool work_is_real(value v) {
    if (v.tag != V_TENSOR) return v.tag == V_FLOAT;
    return dtype_is_float((dtype)v.u.tensor->dtype) || dtype_is_complex((dtype)v.u.tensor->dtype);
}

/* The elements of a pooling window: argument 1, a list of one or more ints. */
static int64_t work_window(const op *o, value v) {
    int64_t size = 1, one = v.tag == V_LIST && v.u.list->len ? list_get(v.u.list, 0).u.i : 1;
    int dims = strstr(o->schema->name, "1d") ? 1 : strstr(o->schema->name, "2d") ? 2 : 3;
    for (int i = 0; i < dims; i++)
        size *= v.tag == V_LIST && v.u.list->len == (size_t)dims ? list_get(v.u.list, (size_t)i).u.i
                                                                 : one;
    return size;
}

/* Products of integers that represent real numbers count, other operations on them do not. */
static bool work_is_quantised(const op *o, value v) {
    return o->traits.work >= WORK_PRODUCT && o->traits.work != WORK_POOL && v.tag == V_TENSOR &&
           v.u.tensor->quantiser;
}

static int64_t work_flops(const op *o, int nargs, const value *in, value out) {
    int64_t results = work_numel(out);
    int a = o->traits.work_arg;
    switch (o->traits.work) {
    case WORK_UNKNOWN:
    case WORK_MOVE:
    case WORK_NEW:
    case WORK_NONE:
    case WORK_LOOKUP: break;
    case WORK_POINTWISE: return a * results;
    case WORK_REDUCE: return work_numel(in[a]);
    case WORK_POOL: return nargs > 1 ? results * work_window(o, in[1]) : 0;
    default: return work_dense(&(work_call){.o = o, .nargs = nargs, .in = in, .out = out});
    }
    return 0;
}

static bool work_is_view(const op *o) {
    if (o->schema->nreturns < 1 || o->schema->has_alias_write) return false;
    return o->schema->returns[0].alias != NULL;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* An expanded view has more elements than memory. */
static int64_t work_tensor_bytes(const tensor *t) {
    int64_t bytes, all = (int64_t)t->storage->nbytes;
    bool fits = !__builtin_mul_overflow(t->numel, (int64_t)dtype_size((dtype)t->dtype), &bytes);
    return fits && bytes < all ? bytes : all;
}

int64_t work_value_bytes(value v) {
    int64_t bytes = 0;
    if (v.tag == V_TENSOR) return work_tensor_bytes(v.u.tensor);
    if (v.tag == V_LIST && v.u.list->kind == LIST_TENSOR)
        for (size_t i = 0; i < v.u.list->len; i++)
            bytes += work_tensor_bytes(v.u.list->u.tensors[i]);
    return bytes;
}

/* Views share their argument's memory. */
static bool work_shares(value v, int nargs, const value *args) {
    const tensor *t = v.tag == V_TENSOR ? v.u.tensor
                      : v.tag == V_LIST && v.u.list->kind == LIST_TENSOR && v.u.list->len
                          ? v.u.list->u.tensors[0]
                          : NULL;
    for (int i = 0; t && i < nargs; i++)
        if (args[i].tag == V_TENSOR && args[i].u.tensor->storage == t->storage) return true;
    return false;
}

static int64_t work_bytes(const op *o, int nargs, const value *args, int nresults,
                          const value *results) {
    int64_t bytes = 0;
    work_kind kind = o->traits.work;
    if (nresults < 1 || kind == WORK_NONE) return 0;
    if (!o->schema->has_alias_write && work_shares(results[0], nargs, args)) return 0;
    for (int i = 0; i < nresults; i++) bytes += work_value_bytes(results[i]);
    if (kind == WORK_NEW) return bytes;
    if (kind == WORK_LOOKUP) bytes *= 2;
    for (int i = kind == WORK_LOOKUP ? o->traits.work_arg + 1 : 0; i < nargs; i++)
        bytes += work_value_bytes(args[i]);
    return bytes;
}

work_cost work_of_call(const op *o, int nargs, const value *args, int nresults,
                       const value *results) {
    work_cost c = {.known = true};
    bool makes = false, takes = false;
    for (int i = 0; i < nresults; i++) makes |= work_is_real(results[i]);
    for (int i = 0; i < nargs; i++) takes |= work_is_real(args[i]) || work_is_quantised(o, args[i]);
    c.bytes = work_bytes(o, nargs, args, nresults, results);
    if (!(makes || takes) || nresults < 1 || work_is_view(o)) return c;
    if (o->traits.work) c.flops = work_flops(o, nargs, args, results[0]);
    if (c.flops < 0) return (work_cost){.bytes = c.bytes};
    if (!o->traits.work) c.known = !makes || strncmp(o->schema->name, "aten::", 6) != 0;
    return c;
}

/* ---- methods --------------------------------------------------------------------------------- */

typedef struct work_counter {
    diag *d;
    ctsc_work *out;
    ptrmap tensors; /* storages of parameters counted already */
} work_counter;

static ctsc_status work_parameter(work_counter *c, const tensor *t) {
    if (ptrmap_get(&c->tensors, t->storage)) return CTSC_OK;
    c->out->parameter_bytes += work_tensor_bytes(t);
    return ptrmap_put(&c->tensors, t->storage, t->storage) ? CTSC_OK : diag_no_memory(c->d);
}

static ctsc_status work_node(void *ctx, const node *n, const value *inputs, const value *outputs) {
    work_counter *c = ctx;
    if (n->kind == N_GET_ATTR && outputs[0].tag == V_TENSOR)
        return work_parameter(c, outputs[0].u.tensor);
    bool call = n->kind == N_CALL_FUNCTION || n->kind == N_CALL_METHOD || n->kind == N_FORK;
    if (call && n->outputs.len && !c->out->uncounted)
        c->out->uncounted = "calls that cannot be inlined";
    if (n->kind != N_OP || !n->op) return CTSC_OK;
    work_cost cost = work_of_call(n->op, (int)n->inputs.len, inputs, (int)n->outputs.len, outputs);
    c->out->flops += cost.flops;
    if (!cost.known && !c->out->uncounted) c->out->uncounted = n->op->schema->name;
    return CTSC_OK;
}

/* Constant tensors that something uses, read or not. */
static ctsc_status work_constants(work_counter *c, const block *b) {
    ctsc_status s = CTSC_OK;
    value v;
    for (const node *n = b->first; n && s == CTSC_OK; n = n->next) {
        for (size_t i = 0; i < n->blocks.len && s == CTSC_OK; i++)
            s = work_constants(c, n->blocks.data[i]);
        if (s == CTSC_OK && n->kind == N_CONSTANT && ir_value_constant(n->outputs.data[0], &v) &&
            v.tag == V_TENSOR)
            s = work_parameter(c, v.u.tensor);
    }
    return s;
}

ctsc_status work_of_graph(diag *d, const function *f, const graph *g, int nargs, const value *args,
                          ctsc_work *out) {
    work_counter c = {.d = d, .out = out};
    instrument in = {.node = work_node, .ctx = &c};
    runtime *rt = mem_alloc(sizeof *rt);
    value result = value_none();
    if (!rt) return diag_no_memory(d);
    runtime_init(rt);
    ctsc_status s = instrument_run(&in, f, g, rt, nargs, args, d, &result);
    value_unref(result);
    mem_free(rt);
    if (s == CTSC_OK) s = work_constants(&c, g->root);
    ptrmap_free(&c.tensors);
    return s;
}
