/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_future.c - the part of ctsc.h about futures: those that scripts give, and those that a
 * program's own operators give to scripts.
 *
 * Tests: tests/unit/test_api_future.c
 */
#include "runtime/api/api.h"
#include "runtime/interp/interp.h"

typedef struct api_future {
    future_source source;
    ctsc_status (*wait)(void *ctx, ctsc_value **result, ctsc_error *e);
    void (*free)(void *ctx);
    void *ctx;
} api_future;

static ctsc_status api_future_wait(future_source *s, value *out, diag *d) {
    const api_future *f = (const api_future *)s;
    ctsc_error said = {{0}};
    ctsc_value *made = NULL;
    ctsc_status st = f->wait(f->ctx, &made, &said);
    *out = value_none();
    if (st == CTSC_OK && !made)
        st = diag_fail(d, CTSC_USAGE, "the function of a future gave nothing");
    else if (st == CTSC_OK) *out = value_ref(made->v);
    else api_fail_as(d, "a future", st, &said);
    ctsc_value_free(made);
    diag_clear(&said.d);
    return st;
}

static void api_future_free(future_source *s) {
    api_future *f = (api_future *)s;
    if (f->free) f->free(f->ctx);
    mem_free(f);
}

ctsc_value *ctsc_future_new(ctsc_status (*wait)(void *ctx, ctsc_value **result, ctsc_error *e),
                            void (*free)(void *ctx), void *ctx) {
    future *made = wait ? mem_zalloc(sizeof *made) : NULL;
    api_future *f = made ? mem_zalloc(sizeof *f) : NULL;
    ctsc_value *v = f ? mem_zalloc(sizeof *v) : NULL;
    if (!v) return mem_free(f), mem_free(made), NULL;
    *f = (api_future){.source = {.wait = api_future_wait, .free = api_future_free},
                      .wait = wait,
                      .free = free,
                      .ctx = ctx};
    atomic_init(&made->refs, 1);
    made->source = &f->source;
    v->v = (value){.tag = V_FUTURE, .u.future = made};
    return v;
}

void *ctsc_future_context(const ctsc_value *v,
                          ctsc_status (*wait)(void *ctx, ctsc_value **result, ctsc_error *e)) {
    const future_source *s = v && v->v.tag == V_FUTURE ? v->v.u.future->source : NULL;
    if (!s || s->wait != api_future_wait) return NULL;
    const api_future *f = (const api_future *)s;
    return f->wait == wait ? f->ctx : NULL;
}

bool ctsc_future_done(const ctsc_value *v) {
    return v && v->v.tag == V_FUTURE && v->v.u.future->done;
}

ctsc_status ctsc_future_wait(const ctsc_value *v, ctsc_value **result, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value got = value_none();
    ctsc_status s = api_given(d, result, "the result");
    if (s == CTSC_OK && (!v || v->v.tag != V_FUTURE))
        s = diag_fail(d, CTSC_USAGE, "the value is not a future");
    if (s == CTSC_OK) s = future_result(v->v.u.future, &got, d);
    if (s == CTSC_OK && !(*result = api_wrap_take(got))) s = diag_no_memory(d);
    return api_leave(e, &own, s);
}
