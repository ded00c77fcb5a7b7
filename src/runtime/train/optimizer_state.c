/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer_state.c - state_dict() of torch.optim, and back:
 *
 *     {"state": {0: {"step": tensor(2.), "exp_avg": ..., "exp_avg_sq": ...}, 1: ...},
 *      "param_groups": [{"lr": 0.001, "betas": (0.9, 0.999), ..., "params": [0, 1]}]}
 *
 * Parameters are numbered consecutively, group after group. Optimisers of 1.13
 * and of later versions load it; what either of them wrote is loaded here:
 * steps may be ints, lists may replace tuples, unknown keys are skipped.
 * Tests: tests/unit/test_optimizer.c, tests/interop/optimizers.py
 */
#include "ir/type.h"
#include "runtime/train/train.h"

#include <math.h>
#include <string.h>

/* ---- dicts ----------------------------------------------------------------------------------- */

ctsc_status train_put(diag *d, dict *into, const char *key, value v) {
    str *s = str_new(key, strlen(key));
    if (!s) {
        value_unref(v);
        return diag_no_memory(d);
    }
    return dict_set_take(into, value_str_take(s), v) ? CTSC_OK : diag_no_memory(d);
}

bool train_get(const dict *from, const char *key, value *out) {
    for (size_t i = 0; i < from->used; i++) { /* they are short, and this needs no memory */
        const dict_entry *x = &from->entries[i];
        if (x->key.tag != V_STR || strcmp(x->key.u.str->bytes, key)) continue;
        *out = x->val;
        return true;
    }
    return false;
}

bool train_number(value v, double *out) {
    switch (v.tag) {
    case V_INT: *out = (double)v.u.i; return true;
    case V_FLOAT: *out = v.u.f; return true;
    case V_BOOL: *out = v.u.b; return true;
    case V_TENSOR:
        if (v.u.tensor->numel != 1 || v.u.tensor->storage->device) return false;
        *out = tensor_item_float(v.u.tensor);
        return true;
    default: return false;
    }
}

ctsc_status train_scalar(diag *d, double v, value *out) {
    tensor *t;
    TRY(tensor_scalar_float(d, DT_FLOAT32, v, &t));
    *out = value_tensor_take(t);
    return CTSC_OK;
}

static ctsc_status put_scalar(diag *d, dict *into, const char *key, double x) {
    value v;
    TRY(train_scalar(d, x, &v));
    return train_put(d, into, key, v);
}

/* ---- saving ---------------------------------------------------------------------------------- */

static ctsc_status put_pair(diag *d, dict *into, const char *key, double a, double b) {
    tuple *t = tuple_new(2, NULL);
    if (!t) return diag_no_memory(d);
    t->items[0] = value_float(a);
    t->items[1] = value_float(b);
    return train_put(d, into, key, value_tuple_take(t));
}

static ctsc_status put_hyper(diag *d, dict *into, const hyper_row *h, const double *v) {
    switch (h->kind) {
    case HYPER_INT: return train_put(d, into, h->key, value_int((int64_t)*v));
    case HYPER_FLAG:
    case HYPER_FIXED: return train_put(d, into, h->key, value_bool(*v != 0));
    case HYPER_FIRST: return put_pair(d, into, h->key, v[0], v[1]);
    case HYPER_SECOND: return CTSC_OK;
    case HYPER_ABSENT: return train_put(d, into, h->key, value_none());
    case HYPER_CHOICE: {
        str *s = *v != 0 ? str_new("strong_wolfe", 12) : NULL;
        if (*v != 0 && !s) return diag_no_memory(d);
        return train_put(d, into, h->key, s ? value_str_take(s) : value_none());
    }
    default: return train_put(d, into, h->key, value_float(*v));
    }
}

static ctsc_status put_group(diag *d, const optimizer *o, size_t group, size_t first, dict *into) {
    const optimizer_group *g = &o->groups.data[group];
    for (int i = 0; i < o->row->nhypers; i++) TRY(put_hyper(d, into, &o->row->hypers[i], &g->h[i]));
    if (g->has_initial_lr) TRY(train_put(d, into, "initial_lr", value_float(g->initial_lr)));
    list *l = list_new(LIST_INT, TYPE_INT, g->count);
    if (!l) return diag_no_memory(d);
    /* there is room */
    for (size_t i = 0; i < g->count; i++)
        (void)list_append_take(l, value_int((int64_t)(first + i)));
    return train_put(d, into, "params", value_list_take(l));
}

static ctsc_status put_param(diag *d, const optimizer *o, const optimizer_param *p, dict *into) {
    if (o->id != OPTIMIZER_SGD) TRY(put_scalar(d, into, "step", p->step));
    for (int i = 0; i < 2 && o->row->scalars[i]; i++)
        TRY(put_scalar(d, into, o->row->scalars[i], p->scalars[i]));
    for (int i = 0; i < OPTIMIZER_STATES && o->row->tensors[i]; i++)
        if (p->state[i])
            TRY(train_put(d, into, o->row->tensors[i], value_tensor_take(tensor_ref(p->state[i]))));
    return CTSC_OK;
}

static ctsc_status put_states(diag *d, const optimizer *o, dict *into) {
    for (size_t i = 0; i < o->params.len; i++) {
        const optimizer_param *p = &o->params.data[i];
        bool lbfgs = o->id == OPTIMIZER_LBFGS && i == 0 && o->lbfgs;
        if (!lbfgs && (!p->started || (o->id == OPTIMIZER_SGD && !p->state[0]))) continue;
        dict *own = dict_new(NULL, NULL);
        if (!own) return diag_no_memory(d);
        ctsc_status s = lbfgs ? lbfgs_state(d, o, own) : put_param(d, o, p, own);
        if (s != CTSC_OK) {
            value_unref(value_dict_take(own));
            return s;
        }
        if (!dict_set_take(into, value_int((int64_t)i), value_dict_take(own)))
            return diag_no_memory(d);
    }
    return CTSC_OK;
}

static ctsc_status put_groups(diag *d, const optimizer *o, list *into) {
    for (size_t i = 0, first = 0; i < o->groups.len; first += o->groups.data[i++].count) {
        dict *g = dict_new(NULL, NULL);
        if (!g) return diag_no_memory(d);
        ctsc_status s = put_group(d, o, i, first, g);
        if (s != CTSC_OK) {
            value_unref(value_dict_take(g));
            return s;
        }
        if (!list_append_take(into, value_dict_take(g))) return diag_no_memory(d);
    }
    return CTSC_OK;
}

ctsc_status optimizer_state(diag *d, const optimizer *o, value *out) {
    dict *all = dict_new(NULL, NULL), *states = dict_new(NULL, NULL);
    list *groups = list_new(LIST_VALUE, NULL, o->groups.len);
    ctsc_status s = all && states && groups ? put_states(d, o, states) : diag_no_memory(d);
    if (s == CTSC_OK) s = put_groups(d, o, groups);
    if (s == CTSC_OK) s = train_put(d, all, "state", value_ref(value_dict_take(states)));
    if (s == CTSC_OK) s = train_put(d, all, "param_groups", value_ref(value_list_take(groups)));
    if (states) value_unref(value_dict_take(states));
    if (groups) value_unref(value_list_take(groups));
    if (s == CTSC_OK) *out = value_dict_take(all);
    else if (all) value_unref(value_dict_take(all));
    return s;
}

/* ---- loading --------------------------------------------------------------------------------- */

static value pair_item(value v, int i) {
    if (v.tag == V_TUPLE && v.u.tuple->len == 2) return value_ref(v.u.tuple->items[i]);
    return v.tag == V_LIST && v.u.list->len == 2 ? list_get(v.u.list, (size_t)i) : value_none();
}

static ctsc_status get_hyper(diag *d, const hyper_row *h, const dict *from, double *out) {
    value v;
    double x;
    if (h->kind == HYPER_FIXED || h->kind == HYPER_ABSENT || !train_get(from, h->key, &v))
        return CTSC_OK;
    if (h->kind == HYPER_CHOICE) {
        *out = v.tag == V_STR && !strcmp(v.u.str->bytes, "strong_wolfe");
        return CTSC_OK;
    }
    bool pair = h->kind == HYPER_FIRST || h->kind == HYPER_SECOND;
    value item = pair ? pair_item(v, h->kind == HYPER_SECOND) : value_ref(v);
    bool ok = train_number(item, &x);
    value_unref(item);
    if (!ok) return diag_fail(d, CTSC_FAILED, "the optimiser's state has no number for %s", h->key);
    *out = x;
    return CTSC_OK;
}

static ctsc_status get_group(diag *d, const optimizer *o, value from, optimizer_group *g) {
    value params;
    if (from.tag != V_DICT || !train_get(from.u.dict, "params", &params) || params.tag != V_LIST)
        return diag_fail(d, CTSC_FAILED,
                         "a parameter group of the optimiser's state is not a dict with params");
    if (params.u.list->len != g->count)
        return diag_fail(d, CTSC_FAILED,
                         "loaded state dict contains a parameter group that doesn't match the size "
                         "of optimizer's group");
    for (int i = 0; i < o->row->nhypers; i++)
        TRY(get_hyper(d, &o->row->hypers[i], from.u.dict, &g->h[i]));
    g->has_initial_lr = train_get(from.u.dict, "initial_lr", &params) &&
                        train_number(params, &g->initial_lr);
    return CTSC_OK;
}

/* A state's tensor with its parameter's dtype and layout: copied, since the file's may be
 * read-only or shared. */
static ctsc_status get_tensor(diag *d, const tensor *t, const char *name, value v, tensor **out) {
    if (v.tag != V_TENSOR)
        return diag_fail(d, CTSC_FAILED, "the optimiser's %s is not a tensor", name);
    if (!tensor_same_shape(v.u.tensor, t) || v.u.tensor->storage->device)
        return diag_fail(d, CTSC_FAILED, "the optimiser's %s has another shape than its parameter",
                         name);
    TRY(train_new_like(d, t, (dtype)t->dtype, out));
    return tensor_copy(d, *out, v.u.tensor);
}

static ctsc_status get_param(diag *d, const optimizer *o, const dict *from, optimizer_param *p) {
    value v;
    if (train_get(from, "step", &v) && !train_number(v, &p->step))
        return diag_fail(d, CTSC_FAILED, "the optimiser's step is not a number");
    if (o->id == OPTIMIZER_SGD) p->step = 1; /* it only matters whether there was one */
    for (int i = 0; i < 2 && o->row->scalars[i]; i++)
        if (train_get(from, o->row->scalars[i], &v) && !train_number(v, &p->scalars[i]))
            return diag_fail(d, CTSC_FAILED, "the optimiser's %s is not a number",
                             o->row->scalars[i]);
    for (int i = 0; i < OPTIMIZER_STATES && o->row->tensors[i]; i++)
        if (train_get(from, o->row->tensors[i], &v) && v.tag != V_NONE)
            TRY(get_tensor(d, p->t, o->row->tensors[i], v, &p->state[i]));
    p->started = true;
    return CTSC_OK;
}

/* A fresh parameter from what the state says of it, if anything. */
static ctsc_status get_state(diag *d, const optimizer *o, const dict *states, size_t i,
                             optimizer_param *p) {
    value v;
    *p = (optimizer_param){.t = o->params.data[i].t, .group = o->params.data[i].group};
    if (o->id == OPTIMIZER_LBFGS || !dict_get(states, value_int((int64_t)i), &v)) return CTSC_OK;
    if (v.tag != V_DICT)
        return diag_fail(d, CTSC_FAILED, "the optimiser's state of a parameter is not a dict");
    optimizer_start(o, p);
    return get_param(d, o, v.u.dict, p);
}

static void param_drop(optimizer_param *p) {
    for (int i = 0; i < OPTIMIZER_STATES; i++) tensor_unref(p->state[i]);
}

static ctsc_status load_params(diag *d, optimizer *o, const dict *states, optimizer_param *made) {
    ctsc_status s = CTSC_OK;
    size_t n = 0;
    while (n < o->params.len && s == CTSC_OK) s = get_state(d, o, states, n, &made[n]), n++;
    value v;
    if (s == CTSC_OK && o->id == OPTIMIZER_LBFGS && dict_get(states, value_int(0), &v))
        s = v.tag == V_DICT
                ? lbfgs_load_state(d, o, v.u.dict)
                : diag_fail(d, CTSC_FAILED, "the optimiser's state of a parameter is not a dict");
    for (size_t i = 0; i < n; i++) {
        optimizer_param *p = &o->params.data[i], was = *p;
        if (s == CTSC_OK) *p = made[i];
        param_drop(s == CTSC_OK ? &was : &made[i]);
    }
    return s;
}

ctsc_status optimizer_load_state(diag *d, optimizer *o, value state) {
    value states, groups;
    if (state.tag != V_DICT || !train_get(state.u.dict, "state", &states) || states.tag != V_DICT ||
        !train_get(state.u.dict, "param_groups", &groups) || groups.tag != V_LIST)
        return diag_fail(d, CTSC_FAILED,
                         "the optimiser's state is not a dict with state and param_groups");
    if (groups.u.list->len != o->groups.len)
        return diag_fail(d, CTSC_FAILED,
                         "loaded state dict has a different number of parameter groups");
    optimizer_group *gs = mem_alloc((o->groups.len + 1) * sizeof *gs);
    optimizer_param *made = mem_alloc((o->params.len + 1) * sizeof *made);
    ctsc_status s = gs && made ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < o->groups.len && s == CTSC_OK; i++) {
        value g = list_get(groups.u.list, i);
        gs[i] = o->groups.data[i];
        s = get_group(d, o, g, &gs[i]);
        value_unref(g);
    }
    if (s == CTSC_OK) s = load_params(d, o, states.u.dict, made);
    if (s == CTSC_OK) memcpy(o->groups.data, gs, o->groups.len * sizeof *gs);
    mem_free(gs);
    mem_free(made);
    return s;
}
