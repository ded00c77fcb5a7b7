/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.c - parameters in groups, and a step that changes all that have gradients.
 *
 * A step first makes what can fail: missing state of parameters, private memory for those
 * in a mapped file. Then it writes a table of jobs, and runs them. float32, float64 and
 * complex parameters (pairs of these) are updated in place; those of other dtypes, or
 * whose elements or gradients differ from the state in layout, in float32 copies.
 * Tests: tests/unit/test_optimizer.c
 */
#include "runtime/autograd/autograd.h"
#include "runtime/train/train.h"
#include "tensor/device.h"

#include <math.h>
#include <string.h>

/* ---- tensors --------------------------------------------------------------------------------- */

tensor *train_grad(const tensor *t) { return t->autograd ? t->autograd->grad : NULL; }

void train_drop_grad(tensor *t) {
    tensor *g = train_grad(t);
    if (!g) return;
    t->autograd->grad = NULL;
    tensor_unref(g);
}

bool train_is_dense(const tensor *t) {
    if (!t->numel || tensor_is_contiguous(t)) return true;
    int64_t span = 1;
    for (int i = 0; i < t->ndim; i++) span += (t->sizes[i] - 1) * t->strides[i];
    return span == t->numel && !tensor_may_overlap(t);
}

bool train_same_layout(const tensor *a, const tensor *b) {
    if (!tensor_same_shape(a, b)) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->sizes[i] > 1 && a->strides[i] != b->strides[i]) return false;
    return true;
}

ctsc_status train_new_like(diag *d, const tensor *t, dtype dt, tensor **out) {
    TRY(tensor_new(d, dt, t->ndim, t->sizes, out));
    if (t->ndim && train_is_dense(t))
        memcpy((*out)->strides, t->strides, (size_t)t->ndim * sizeof *t->strides);
    return CTSC_OK;
}

ctsc_status train_check(diag *d, const tensor *t) {
    if (!dtype_is_float((dtype)t->dtype) && t->dtype != DT_COMPLEX64 && t->dtype != DT_COMPLEX128)
        return diag_fail(d, CTSC_UNSUPPORTED, "parameters of dtype %s cannot be trained",
                         dtype_table[t->dtype].torch_name);
    if (t->storage->device != DEVICE_HOST)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "optimisers work on the CPU only; the parameters are on a device");
    return CTSC_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

ctsc_status optimizer_new(diag *d, const char *name, optimizer **out) {
    int id = 0;
    while (id < OPTIMIZER_COUNT && strcmp(optimizer_rows[id].name, name)) id++;
    if (id == OPTIMIZER_COUNT) {
        strbuf known = STRBUF_INIT;
        for (int i = 0; i < OPTIMIZER_COUNT; i++)
            sb_printf(&known, "%s%s", i ? ", " : "", optimizer_rows[i].name);
        ctsc_status s = diag_fail(d, CTSC_USAGE, "there is no optimiser '%s' (there are: %s)", name,
                                  sb_str(&known));
        sb_free(&known);
        return s;
    }
    optimizer *o = mem_zalloc(sizeof *o);
    if (!o) return diag_no_memory(d);
    o->id = (optimizer_id)id;
    o->row = &optimizer_rows[id];
    *out = o;
    return CTSC_OK;
}

static void param_clear(optimizer_param *p) {
    for (int i = 0; i < OPTIMIZER_STATES; i++) {
        tensor_unref(p->state[i]);
        p->state[i] = NULL;
    }
    p->started = false;
}

void optimizer_free(optimizer *o) {
    if (!o) return;
    for (size_t i = 0; i < o->params.len; i++) {
        param_clear(&o->params.data[i]);
        tensor_unref(o->params.data[i].t);
    }
    lbfgs_free(o->lbfgs);
    vec_free(&o->params);
    vec_free(&o->groups);
    vec_free(&o->jobs);
    mem_free(o);
}

static bool optimizer_has(const optimizer *o, const tensor *t) {
    for (size_t i = 0; i < o->params.len; i++)
        if (o->params.data[i].t == t) return true;
    return false;
}

/* What PyTorch's constructors refuse. */
static ctsc_status optimizer_check_value(diag *d, const optimizer *o, const hyper_row *h,
                                         double v) {
    bool beta = !strncmp(h->name, "beta", 4) || !strcmp(h->name, "rho") ||
                !strcmp(h->name, "alpha");
    bool size = !strcmp(h->name, "lr") || !strcmp(h->name, "eps") ||
                !strcmp(h->name, "weight_decay") || !strcmp(h->name, "momentum");
    bool fits = h->kind == HYPER_FLAG || h->kind == HYPER_CHOICE ? v == 0 || v == 1
                : h->kind == HYPER_INT ? v >= 0 && v <= INT32_MAX && v == floor(v)
                : beta && o->id != OPTIMIZER_ASGD && o->id != OPTIMIZER_RMSPROP
                    ? v >= 0 && v <= 1 && (v < 1 || !strcmp(h->name, "rho"))
                : size ? v >= 0
                       : v == v;
    if (h->kind == HYPER_FIXED || h->kind == HYPER_ABSENT) fits = v == 0;
    return fits
               ? CTSC_OK
               : diag_fail(d, CTSC_USAGE, "%s: %g is not a value for %s", o->row->name, v, h->name);
}

static int optimizer_find(const optimizer_row *row, const char *name) {
    for (int i = 0; i < row->nhypers; i++)
        if (row->hypers[i].kind != HYPER_ABSENT && !strcmp(row->hypers[i].name, name)) return i;
    return -1;
}

const double *optimizer_hyper(const optimizer *o, size_t group, const char *name) {
    int i = group < o->groups.len ? optimizer_find(o->row, name) : -1;
    return i < 0 ? NULL : &o->groups.data[group].h[i];
}

static ctsc_status group_set(diag *d, const optimizer *o, optimizer_group *g, const char *name,
                             double v) {
    int i = optimizer_find(o->row, name);
    if (i < 0) {
        strbuf known = STRBUF_INIT;
        for (int k = 0, n = 0; k < o->row->nhypers; k++)
            if (o->row->hypers[k].kind != HYPER_ABSENT && o->row->hypers[k].kind != HYPER_FIXED)
                sb_printf(&known, "%s%s", n++ ? ", " : "", o->row->hypers[k].name);
        ctsc_status s = diag_fail(d, CTSC_USAGE, "%s has no setting '%s' (it has: %s)",
                                  o->row->name, name, sb_str(&known));
        sb_free(&known);
        return s;
    }
    TRY(optimizer_check_value(d, o, &o->row->hypers[i], v));
    g->h[i] = v;
    return CTSC_OK;
}

ctsc_status optimizer_set(diag *d, optimizer *o, size_t group, const char *name, double v) {
    if (group >= o->groups.len)
        return diag_fail(d, CTSC_USAGE, "there is no group %zu among %zu", group, o->groups.len);
    return group_set(d, o, &o->groups.data[group], name, v);
}

static ctsc_status group_check(diag *d, const optimizer *o, const optimizer_group *g) {
    const double *nesterov = &g->h[HYPER_SGD_nesterov - FIRST_SGD];
    if (o->id == OPTIMIZER_SGD && *nesterov != 0 &&
        (g->h[HYPER_SGD_momentum - FIRST_SGD] <= 0 || g->h[HYPER_SGD_dampening - FIRST_SGD] != 0))
        return diag_fail(d, CTSC_USAGE, "Nesterov momentum requires a momentum and zero dampening");
    return CTSC_OK;
}

static ctsc_status group_check_params(diag *d, const optimizer *o, const list *params) {
    if (params->len && params->kind != LIST_TENSOR) /* a group may be empty, as PyTorch's may */
        return diag_fail(d, CTSC_USAGE, "an optimizer's parameters are tensors");
    if (o->id == OPTIMIZER_LBFGS && o->groups.len)
        return diag_fail(d, CTSC_USAGE,
                         "LBFGS doesn't support per-parameter options (parameter groups)");
    for (size_t i = 0; i < params->len; i++) {
        TRY(train_check(d, params->u.tensors[i]));
        if (!autograd_is_leaf(params->u.tensors[i]))
            return diag_fail(d, CTSC_USAGE, "can't optimize a non-leaf Tensor");
        if (optimizer_has(o, params->u.tensors[i]))
            return diag_fail(d, CTSC_USAGE,
                             "some parameters appear in more than one parameter group");
    }
    return CTSC_OK;
}

ctsc_status optimizer_add_group(diag *d, optimizer *o, const list *params, size_t nsettings,
                                const train_setting *settings) {
    optimizer_group g = {.count = params->len};
    TRY(group_check_params(d, o, params));
    for (int i = 0; i < o->row->nhypers; i++)
        g.h[i] = o->groups.len ? o->groups.data[0].h[i] : o->row->hypers[i].standard;
    for (size_t i = 0; i < nsettings; i++)
        TRY(group_set(d, o, &g, settings[i].name, settings[i].value));
    TRY(group_check(d, o, &g));
    if (o->id == OPTIMIZER_LBFGS && g.h[HYPER_LBFGS_max_eval - FIRST_LBFGS] == 0)
        g.h[HYPER_LBFGS_max_eval - FIRST_LBFGS] = floor(g.h[HYPER_LBFGS_max_iter - FIRST_LBFGS] *
                                                        5 / 4);
    if (!vec_reserve(&o->params, o->params.len + params->len) || !vec_push(&o->groups, g))
        return diag_no_memory(d);
    for (size_t i = 0; i < params->len; i++)
        o->params.data[o->params.len++] = (optimizer_param){.t = tensor_ref(params->u.tensors[i]),
                                                            .group = o->groups.len - 1};
    return CTSC_OK;
}

void optimizer_zero_grad(optimizer *o) {
    for (size_t i = 0; i < o->params.len; i++) train_drop_grad(o->params.data[i].t);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void fill(tensor *t, double v) {
    size_t size = dtype_size((dtype)t->dtype);
    if (v == 0) {
        memset(tensor_data(t), 0, (size_t)t->numel * size);
        return;
    }
    /* of complex numbers both parts: they are two parameters here */
    for (int64_t i = 0; i < t->numel; i++) {
        char *at = (char *)tensor_data(t) + (size_t)i * size;
        if (dtype_is_complex((dtype)t->dtype)) dtype_store_complex((dtype)t->dtype, at, v, v);
        else dtype_store_float((dtype)t->dtype, at, v);
    }
}

/* State that settings ask for and p does not have yet. */
static ctsc_status param_complete(diag *d, const optimizer *o, optimizer_param *p) {
    double start;
    for (int i = 0; i < OPTIMIZER_STATES; i++) {
        if (p->state[i] || !optimizer_uses(o, &o->groups.data[p->group], i, &start)) continue;
        TRY(train_new_like(d, p->t, (dtype)p->t->dtype, &p->state[i]));
        fill(p->state[i], start);
    }
    if (!p->started) optimizer_start(o, p);
    p->started = true;
    return CTSC_OK;
}

/* Copies of a parameter that cannot be updated in place. */
typedef struct detour {
    optimizer_param *p;
    tensor *t, *g, *state[OPTIMIZER_STATES];
} detour;
typedef VEC(detour) detours;

static ctsc_status detour_copy(diag *d, const tensor *from, dtype dt, tensor **out) {
    TRY(tensor_new(d, dt, from->ndim, from->sizes, out));
    return tensor_copy(d, *out, from);
}

static ctsc_status detour_in(diag *d, optimizer_param *p, tensor *g, detour *v) {
    dtype dt = dtype_is_half((dtype)p->t->dtype) ? DT_FLOAT32 : (dtype)p->t->dtype;
    TRY(detour_copy(d, p->t, dt, &v->t));
    TRY(detour_copy(d, g, dt, &v->g));
    for (int i = 0; i < OPTIMIZER_STATES; i++)
        if (p->state[i]) TRY(detour_copy(d, p->state[i], dt, &v->state[i]));
    return CTSC_OK;
}

static ctsc_status detour_out(diag *d, const detour *v) {
    TRY(tensor_copy(d, v->p->t, v->t));
    for (int i = 0; i < OPTIMIZER_STATES; i++)
        if (v->p->state[i]) TRY(tensor_copy(d, v->p->state[i], v->state[i]));
    return CTSC_OK;
}

static void detours_free(detours *v) {
    for (size_t i = 0; i < v->len; i++) {
        tensor_unref(v->data[i].t);
        tensor_unref(v->data[i].g);
        for (int k = 0; k < OPTIMIZER_STATES; k++) tensor_unref(v->data[i].state[k]);
    }
    vec_free(v);
}

static bool param_is_direct(const optimizer_param *p, const tensor *g) {
    bool direct = !dtype_is_half((dtype)p->t->dtype) && g->dtype == p->t->dtype &&
                  train_is_dense(p->t) && train_same_layout(p->t, g);
    for (int i = 0; i < OPTIMIZER_STATES; i++)
        direct = direct && (!p->state[i] || train_same_layout(p->t, p->state[i]));
    return direct;
}

/* The job of p, for its own arrays or for the copies. */
static void param_job(const optimizer *o, optimizer_param *p, tensor *t, const tensor *g,
                      tensor *const *state, int64_t begin, optimizer_job *j) {
    *j = (optimizer_job){.dt = dtype_part((dtype)t->dtype),
                         .p = tensor_data(t),
                         .g = tensor_data(g),
                         .begin = begin,
                         .n = t->numel * (dtype_is_complex((dtype)t->dtype) ? 2 : 1)};
    for (int i = 0; i < OPTIMIZER_STATES; i++)
        j->state[i] = state[i] ? tensor_data(state[i]) : NULL;
    optimizer_prepare(o, p, j);
}

/* Everything that can fail, before anything is changed. */
static ctsc_status step_begin(diag *d, optimizer *o, detours *ways) {
    if (!vec_reserve(&o->jobs, o->params.len)) return diag_no_memory(d);
    for (size_t i = 0; i < o->params.len; i++) {
        optimizer_param *p = &o->params.data[i];
        tensor *g = train_grad(p->t);
        if (!g) continue;
        TRY(train_check(d, p->t)); /* it may have been moved */
        if (g->storage->device != DEVICE_HOST)
            return diag_fail(d, CTSC_UNSUPPORTED, "a gradient is on a device");
        if (!tensor_same_shape(p->t, g))
            return diag_fail(d, CTSC_FAILED, "a gradient has another shape than its parameter");
        TRY(tensor_make_writable(d, p->t));
        TRY(param_complete(d, o, p));
        if (param_is_direct(p, g)) continue;
        if (!vec_push(ways, ((detour){.p = p}))) return diag_no_memory(d);
        TRY(detour_in(d, p, g, &vec_last(ways)));
    }
    return CTSC_OK;
}

static ctsc_status step_all(diag *d, optimizer *o) {
    detours ways = {0};
    size_t way = 0;
    int64_t begin = 0;
    ctsc_status s = step_begin(d, o, &ways);
    o->jobs.len = 0;
    for (size_t i = 0; i < o->params.len && s == CTSC_OK; i++) {
        optimizer_param *p = &o->params.data[i];
        tensor *g = train_grad(p->t);
        if (!g) continue;
        optimizer_job *j = &o->jobs.data[o->jobs.len++];
        bool around = way < ways.len && ways.data[way].p == p;
        const detour *v = around ? &ways.data[way++] : NULL;
        if (v) param_job(o, p, v->t, v->g, v->state, begin, j);
        else param_job(o, p, p->t, g, p->state, begin, j);
        begin += j->n;
        p->t->storage->version++;
    }
    if (s == CTSC_OK) optimizer_run(o->jobs.data, o->jobs.len);
    for (size_t i = 0; i < ways.len && s == CTSC_OK; i++) s = detour_out(d, &ways.data[i]);
    detours_free(&ways);
    return s;
}

ctsc_status optimizer_step(diag *d, optimizer *o, train_closure closure, void *ctx, double *loss) {
    double found = 0;
    for (size_t i = 0; i < o->groups.len; i++) TRY(group_check(d, o, &o->groups.data[i]));
    if (o->id == OPTIMIZER_LBFGS) {
        if (!closure) return diag_fail(d, CTSC_USAGE, "lbfgs needs a closure");
        return lbfgs_step(d, o, closure, ctx, loss);
    }
    if (closure) TRY(closure(ctx, d, &found));
    TRY(step_all(d, o));
    if (closure && loss) *loss = found;
    return CTSC_OK;
}
