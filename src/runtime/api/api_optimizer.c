/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_optimizer.c - the part of ctsc.h about optimisers, schedulers, clipping and batches.
 *
 * Tests: tests/unit/test_optimizer.c
 */
#include "base/threads/float_mode.h"
#include "runtime/api/api.h"
#include "runtime/train/train.h"

#include <math.h>
#include <string.h>

struct ctsc_optimizer { optimizer *o; };
struct ctsc_scheduler { scheduler *s; };
struct ctsc_loader { loader *l; };

_Static_assert(sizeof(ctsc_setting) == sizeof(train_setting), "settings are passed on as they are");

static ctsc_status train_list(diag *d, const ctsc_value *v, const list **out) {
    TRY(api_given(d, v, "the list of parameters"));
    if (v->v.tag != V_LIST || (v->v.u.list->kind != LIST_TENSOR && v->v.u.list->len))
        return diag_fail(d, CTSC_USAGE, "the parameters are no list of tensors");
    *out = v->v.u.list;
    return CTSC_OK;
}

static ctsc_status train_settings(diag *d, size_t n, const ctsc_setting *settings) {
    if (n) TRY(api_given(d, settings, "the settings"));
    for (size_t i = 0; i < n; i++) TRY(api_given(d, settings[i].name, "a setting's name"));
    return CTSC_OK;
}

/* A new handle of v, whose reference is taken where s is CTSC_OK. */
static ctsc_status train_give(diag *d, ctsc_status s, value v, ctsc_value **out) {
    if (s != CTSC_OK) return s;
    ctsc_value *h = api_wrap_take(v);
    if (!h) return diag_no_memory(d);
    *out = h;
    return CTSC_OK;
}

/* ---- optimisers ------------------------------------------------------------------------------ */

ctsc_status ctsc_optimizer_new(const char *name, const ctsc_value *parameters, size_t n,
                               const ctsc_setting *settings, ctsc_optimizer **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    const list *params = NULL;
    optimizer *o = NULL;
    ctsc_status s = api_given(d, name, "the optimiser's name");
    if (s == CTSC_OK) s = train_list(d, parameters, &params);
    if (s == CTSC_OK) s = train_settings(d, n, settings);
    if (s == CTSC_OK) s = optimizer_new(d, name, &o);
    if (s == CTSC_OK) s = optimizer_add_group(d, o, params, n, (const train_setting *)settings);
    ctsc_optimizer *h = s == CTSC_OK ? mem_alloc(sizeof *h) : NULL;
    if (s == CTSC_OK && !h) s = diag_no_memory(d);
    if (s == CTSC_OK) *h = (ctsc_optimizer){o}, *out = h;
    else optimizer_free(o);
    return api_leave(e, &own, s);
}

void ctsc_optimizer_free(ctsc_optimizer *o) {
    if (!o) return;
    optimizer_free(o->o);
    mem_free(o);
}

ctsc_status ctsc_optimizer_add_group(ctsc_optimizer *o, const ctsc_value *parameters, size_t n,
                                     const ctsc_setting *settings, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    const list *params = NULL;
    ctsc_status s = api_given(d, o, "the optimiser");
    if (s == CTSC_OK) s = train_list(d, parameters, &params);
    if (s == CTSC_OK) s = train_settings(d, n, settings);
    if (s == CTSC_OK) s = optimizer_add_group(d, o->o, params, n, (const train_setting *)settings);
    return api_leave(e, &own, s);
}

size_t ctsc_optimizer_group_count(const ctsc_optimizer *o) { return o ? o->o->groups.len : 0; }

ctsc_status ctsc_optimizer_set(ctsc_optimizer *o, size_t group, const char *name, double v,
                               ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = api_given(d, o, "the optimiser");
    if (s == CTSC_OK) s = api_given(d, name, "the setting's name");
    if (s == CTSC_OK) s = optimizer_set(d, o->o, group, name, v);
    return api_leave(e, &own, s);
}

double ctsc_optimizer_get(const ctsc_optimizer *o, size_t group, const char *name) {
    const double *v = o && name ? optimizer_hyper(o->o, group, name) : NULL;
    return v ? *v : NAN;
}

typedef struct train_call { ctsc_closure_fn fn; void *ctx; } train_call;

static ctsc_status train_closure_call(void *ctx, diag *d, double *loss) {
    const train_call *c = ctx;
    ctsc_error e = {.d = {0}};
    ctsc_status s = c->fn(c->ctx, loss, &e);
    if (s != CTSC_OK && e.d.status != CTSC_OK) diag_append(d, &e.d);
    else if (s != CTSC_OK) diag_fail(d, s, "the closure failed");
    diag_clear(&e.d);
    return s;
}

ctsc_status ctsc_optimizer_step_closure(ctsc_optimizer *o, ctsc_closure_fn closure, void *ctx,
                                        double *loss, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    train_call call = {closure, ctx};
    ctsc_status s = api_given(d, o, "the optimiser");
    float_mode outer = float_mode_begin();
    if (s == CTSC_OK) s = optimizer_step(d, o->o, closure ? train_closure_call : NULL, &call, loss);
    float_mode_end(outer);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_optimizer_step(ctsc_optimizer *o, ctsc_error *e) {
    return ctsc_optimizer_step_closure(o, NULL, NULL, NULL, e);
}

void ctsc_optimizer_zero_grad(ctsc_optimizer *o) {
    if (o) optimizer_zero_grad(o->o);
}

ctsc_status ctsc_optimizer_state(const ctsc_optimizer *o, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value v = value_none();
    ctsc_status s = api_given(d, o, "the optimiser");
    if (s == CTSC_OK) s = optimizer_state(d, o->o, &v);
    return api_leave(e, &own, train_give(d, s, v, out));
}

ctsc_status ctsc_optimizer_load_state(ctsc_optimizer *o, const ctsc_value *state, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = api_given(d, o, "the optimiser");
    if (s == CTSC_OK) s = api_given(d, state, "the state");
    if (s == CTSC_OK) s = optimizer_load_state(d, o->o, state->v);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_clip_grad_norm(ctsc_value *parameters, double max_norm, double norm_type,
                                double *norm, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    const list *params = NULL;
    ctsc_status s = train_list(d, parameters, &params);
    float_mode outer = float_mode_begin();
    if (s == CTSC_OK) s = clip_grad_norm(d, params, max_norm, norm_type, norm);
    float_mode_end(outer);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_clip_grad_value(ctsc_value *parameters, double limit, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    const list *params = NULL;
    ctsc_status s = train_list(d, parameters, &params);
    float_mode outer = float_mode_begin();
    if (s == CTSC_OK) s = clip_grad_value(d, params, limit);
    float_mode_end(outer);
    return api_leave(e, &own, s);
}

/* ---- schedulers ------------------------------------------------------------------------------ */

ctsc_status ctsc_scheduler_new(const char *name, ctsc_optimizer *o, size_t n,
                               const ctsc_setting *settings, ctsc_lambda_fn fn, void *ctx,
                               ctsc_scheduler **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_scheduler *h = NULL;
    ctsc_status s = api_given(d, name, "the schedule's name");
    if (s == CTSC_OK) s = api_given(d, o, "the optimiser");
    if (s == CTSC_OK) s = train_settings(d, n, settings);
    if (s == CTSC_OK && !(h = mem_zalloc(sizeof *h))) s = diag_no_memory(d);
    if (s == CTSC_OK)
        s = scheduler_new(d, name, o->o, n, (const train_setting *)settings, fn, ctx, &h->s);
    if (s == CTSC_OK) *out = h;
    else mem_free(h);
    return api_leave(e, &own, s);
}

void ctsc_scheduler_free(ctsc_scheduler *s) {
    if (!s) return;
    scheduler_free(s->s);
    mem_free(s);
}

ctsc_status ctsc_scheduler_step(ctsc_scheduler *s, double metric, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status st = api_given(d, s, "the schedule");
    if (st == CTSC_OK) st = scheduler_step(d, s->s, metric);
    return api_leave(e, &own, st);
}

ctsc_status ctsc_scheduler_state(const ctsc_scheduler *s, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value v = value_none();
    ctsc_status st = api_given(d, s, "the schedule");
    if (st == CTSC_OK) st = scheduler_state(d, s->s, &v);
    return api_leave(e, &own, train_give(d, st, v, out));
}

ctsc_status ctsc_scheduler_load_state(ctsc_scheduler *s, const ctsc_value *state, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status st = api_given(d, s, "the schedule");
    if (st == CTSC_OK) st = api_given(d, state, "the state");
    if (st == CTSC_OK) st = scheduler_load_state(d, s->s, state->v);
    return api_leave(e, &own, st);
}

/* ---- batches --------------------------------------------------------------------------------- */

ctsc_status ctsc_loader_new(const ctsc_value *data, const ctsc_loader_options *given,
                            ctsc_loader **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_loader_options o = {.size = sizeof o};
    if (given) memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
    loader_options lo = {o.batch ? o.batch : 1, o.shuffle, o.drop_last, !o.no_prefetch, o.seed};
    ctsc_loader *h = NULL;
    ctsc_status s = api_given(d, data, "the data");
    if (s == CTSC_OK && !(h = mem_zalloc(sizeof *h))) s = diag_no_memory(d);
    if (s == CTSC_OK) s = loader_new(d, data->v, &lo, &h->l);
    if (s == CTSC_OK) *out = h;
    else mem_free(h);
    return api_leave(e, &own, s);
}

void ctsc_loader_free(ctsc_loader *l) {
    if (!l) return;
    loader_free(l->l);
    mem_free(l);
}

int64_t ctsc_loader_batches(const ctsc_loader *l) { return l ? loader_batches(l->l) : 0; }

ctsc_status ctsc_loader_begin(ctsc_loader *l, int64_t epoch, int64_t batch, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = api_given(d, l, "the loader");
    if (s == CTSC_OK) s = loader_begin(d, l->l, epoch, batch);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_loader_next(ctsc_loader *l, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value v = value_none();
    ctsc_status s = api_given(d, l, "the loader");
    if (s == CTSC_OK) s = loader_next(d, l->l, &v);
    if (s == CTSC_OK && v.tag == V_NONE) *out = NULL;
    else s = train_give(d, s, v, out);
    return api_leave(e, &own, s);
}
