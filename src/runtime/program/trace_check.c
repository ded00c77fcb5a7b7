/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_check.c - does a trace compute what the traced program computes? (trace_check.h)
 *
 * Tests: tests/unit/test_trace.c, tests/cli/trace.test
 */
#include "runtime/program/trace_check.h"

#include "runtime/observe/instrument.h"

#include <string.h>

typedef struct checking {
    const trace_check *c;
    diag *d;
    ptrmap calls; /* node -> number of the recorded call whose result it makes, from 1 */
} checking;

/* Tuples and lists count as equal, item by item: copies are tuples. */
static bool check_close(const trace_check *c, value got, value want, strbuf *why) {
    if (got.tag != V_LIST || want.tag != V_TUPLE)
        return value_close(got, want, c->rtol, c->atol, why);
    if (got.u.list->len != want.u.tuple->len) {
        sb_printf(why, "%zu items instead of %zu", got.u.list->len, want.u.tuple->len);
        return false;
    }
    bool same = true;
    for (size_t i = 0; i < got.u.list->len && same; i++) {
        value item = list_get(got.u.list, i);
        same = check_close(c, item, want.u.tuple->items[i], why);
        value_unref(item);
    }
    return same;
}

static ctsc_status check_node(void *ctx, const node *n, const value *inputs, const value *outputs) {
    const checking *k = ctx;
    const trace_check *c = k->c;
    diag *d = k->d;
    size_t i = (size_t)(uintptr_t)ptrmap_get(&k->calls, n);
    (void)inputs;
    if (!i) return CTSC_OK;
    const trace_call *was = trace_call_at(c->recorded, i - 1);
    if (i > trace_call_count(c->again))
        return diag_fail_at(
            d, CTSC_FAILED, n->range,
            "the trace has a call that the function did not make again: number %zu, %s", i,
            was->op);
    const trace_call *now = trace_call_at(c->again, i - 1);
    if (strcmp(was->op, now->op))
        return diag_fail_at(
            d, CTSC_FAILED, n->range,
            "the function took another path: its call number %zu is %s, where the trace has %s", i,
            now->op, was->op);
    strbuf why = STRBUF_INIT;
    bool same = now->result.tag == V_NONE ||
                check_close(c, outputs[was->value->index], now->result, &why);
    if (!same)
        diag_fail_at(d, CTSC_FAILED, n->range,
                     "the trace computes something else than the function: call number %zu, %s, is "
                     "the first that differs: %s",
                     i, was->op, sb_str(&why));
    sb_free(&why);
    return same ? CTSC_OK : CTSC_FAILED;
}

static ctsc_status check_result(const trace_check *c, diag *d, value got) {
    size_t now = trace_call_count(c->again), was = trace_call_count(c->recorded);
    if (now > was)
        return diag_fail(d, CTSC_FAILED,
                         "the function made a call that the trace does not have: number %zu, %s",
                         was + 1, trace_call_at(c->again, was)->op);
    strbuf why = STRBUF_INIT;
    if (c->result && !check_close(c, got, *c->result, &why))
        diag_fail(d, CTSC_FAILED, "the trace returns something else than the function: %s",
                  sb_str(&why));
    sb_free(&why);
    return d->status;
}

ctsc_status trace_check_run(const trace_check *c, diag *d) {
    checking k = {.c = c, .d = d};
    value out = value_none();
    runtime *rt = mem_alloc(sizeof *rt);
    ctsc_status s = rt ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < trace_call_count(c->recorded) && s == CTSC_OK; i++) {
        const node *def = trace_call_at(c->recorded, i)->value->def;
        if (def && !ptrmap_get(&k.calls, def) &&
            !ptrmap_put(&k.calls, def, (void *)(uintptr_t)(i + 1)))
            s = diag_no_memory(d);
    }
    if (s == CTSC_OK) {
        runtime_init(rt);
        if (c->seed) generator_seed(&rt->rng, *c->seed);
        instrument in = {.node = check_node, .ctx = &k};
        s = instrument_run(&in, c->forward, trace_graph(c->recorded), rt, (int)c->n, c->args, d,
                           &out);
    }
    if (s == CTSC_OK) s = check_result(c, d, out);
    value_unref(out);
    mem_free(rt);
    ptrmap_free(&k.calls);
    return s;
}
