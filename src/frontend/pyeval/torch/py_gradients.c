/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_gradients.c - module-level code that trains: what is recorded, gradients of tensors,
 * optimisers, the state of random numbers.
 *
 * Method. Operators are recorded from the time on when a file of the program is read that mentions
 * what gradients are asked for with: other programs pay nothing. All is done by whoever runs
 * operators (py_host.training); here are the objects.
 * Ownership: an optimiser is a capsule's, which the evaluator holds like a tensor.
 * Tests: tests/lang/training*.py, tests/interop/module_level.py
 */
#include "frontend/pyeval/torch/py_torch.h"

#include <math.h>

/* ---- what is recorded ------------------------------------------------------------------------ */

void py_gradients_look(py *p, const source *src) {
    static const char *const words[] = {".backward(", "autograd.grad(", "autograd import grad",
                                        "torch.optim", "import optim"};
    if (p->records || !p->host.training || !p->host.ops) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        p->records |= strstr(src->text, words[i]) != NULL;
    if (p->records) p->host.training->begin(p->host.ops);
}

void py_set_gradients(py *p, bool on) {
    p->no_grad = !on;
    if (!p->records) return;
    value arg = value_bool(on), none = value_none();
    source_range nowhere = {0};
    py_run_op(p, nowhere, "aten::set_grad_enabled", 1, &arg, &none);
}

static py_object *gradients_refused(py *p, source_range r, const char *what) {
    return py_unsupported(p, r,
                          "%s is not available: nothing in this program's files asks for gradients "
                          "(tensor.backward(), torch.autograd.grad, torch.optim)",
                          what);
}

/* ---- of tensors ------------------------------------------------------------------------------ */

py_object *py_tensor_asked(py *p, source_range r, const py_object *t, const char *key) {
    value v;
    return py_run_op(p, r, key, 1, &t->u.v, &v) ? py_from_value(p, v) : NULL;
}

bool py_tensor_set_grad(py *p, source_range r, py_object *t, const py_object *grad) {
    if (!p->records) return true; /* there are none */
    bool none = py_is_none(grad);
    if (!none && !py_is_tensor(grad))
        return py_fail(p, r, "TypeError",
                       "assigned grad expected to be a Tensor or None but got grad of %s",
                       py_type_name(grad)),
               false;
    return p->host.training->set_grad(p->diag, t->u.v.u.tensor,
                                      none ? NULL : grad->u.v.u.tensor) == CTSC_OK ||
           py_kernel_failed(p, r);
}

/* _backward(t, gradient, retain_graph, create_graph) */
static py_object *gradients_backward(PY_ARGS) {
    py_object *a[4];
    bool create;
    (void)self;
    if (!py_bind(p, r, "_backward", "t gradient retain_graph create_graph", PY_GIVEN, a) ||
        !py_truth(p, r, a[3], &create))
        return NULL;
    if (!p->records) return gradients_refused(p, r, "Tensor.backward");
    if (!py_is_tensor(a[0]) || !(py_is_tensor(a[1]) || py_is_none(a[1])))
        return py_fail(p, r, "TypeError", "gradients can be either Tensors or None");
    value in[] = {a[0]->u.v, a[1]->u.v, a[2]->u.v, value_bool(create)}, none = value_none();
    return py_run_op(p, r, "aten::backward", 4, in, &none) ? p->none : NULL;
}

/* _decorate_gradients(f, mode): calls of f run with gradients enabled (True) or not. */
static py_object *gradients_decorate(PY_ARGS) {
    py_object *a[2], *o;
    bool on;
    (void)self;
    if (!py_bind(p, r, "_decorate_gradients", "f mode", PY_GIVEN, a) ||
        !py_truth(p, r, a[1], &on))
        return NULL;
    o = a[0]->kind == PY_METHOD ? a[0]->u.method.fn : a[0];
    if (o->kind == PY_FUNCTION) o->u.fn->gradients = on ? PY_GRADIENTS_ON : PY_GRADIENTS_OFF;
    return a[0];
}

/* ---- random numbers -------------------------------------------------------------------------- */

static py_object *gradients_rng_state(PY_ARGS) {
    tensor *t;
    (void)self;
    if (!py_bind(p, r, "get_rng_state", "", PY_GIVEN, NULL)) return NULL;
    if (!p->host.training) return py_unsupported(p, r, "torch.get_rng_state is not available");
    if (p->host.training->random_state(p->host.ops, p->diag, &t) != CTSC_OK)
        return py_kernel_failed(p, r);
    return py_tensor_take(p, t);
}

static py_object *gradients_set_rng_state(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "set_rng_state", "new_state", PY_GIVEN, a)) return NULL;
    if (!p->host.training) return py_unsupported(p, r, "torch.set_rng_state is not available");
    if (!py_is_tensor(a[0])) return py_fail(p, r, "TypeError", "expected a torch.ByteTensor");
    return p->host.training->set_random_state(p->host.ops, p->diag, a[0]->u.v) == CTSC_OK
               ? p->none
               : py_kernel_failed(p, r);
}

/* ---- optimisers ------------------------------------------------------------------------------ */

static const char gradients_optimizer[] = "optimizer";

enum { GRADIENTS_MAX_SETTINGS = 64 };
typedef struct gradients_settings {
    const char *names[GRADIENTS_MAX_SETTINGS];
    double numbers[GRADIENTS_MAX_SETTINGS];
    size_t n;
} gradients_settings;

/* [(name, number)] */
static bool gradients_read_settings(py *p, source_range r, const py_object *l,
                                    gradients_settings *s) {
    s->n = 0;
    bool ok = l->kind == PY_LIST && l->u.seq.items.len <= GRADIENTS_MAX_SETTINGS;
    for (size_t i = 0; ok && i < l->u.seq.items.len; i++) {
        const py_object *row = l->u.seq.items.data[i];
        ok = row->kind == PY_TUPLE && row->u.seq.items.len == 2 &&
             (s->names[i] = py_as_text(row->u.seq.items.data[0]));
        if (ok && !py_as_float(p, r, row->u.seq.items.data[1], &s->numbers[s->n++])) return false;
    }
    return ok || py_fail(p, r, "TypeError", "settings are pairs of a name and a number");
}

/* The optimiser in o; NULL with a TypeError. */
static struct optimizer *gradients_optimizer_of(py *p, source_range r, const py_object *o) {
    if (o->kind == PY_VALUE && o->u.v.tag == V_CAPSULE &&
        o->u.v.u.capsule->kind == gradients_optimizer)
        return o->u.v.u.capsule->ptr;
    return py_fail(p, r, "TypeError", "expected an optimizer, not %s", py_type_name(o)), NULL;
}

static py_object *gradients_done(py *p, source_range r, ctsc_status s) {
    return s == CTSC_OK ? p->none : py_kernel_failed(p, r);
}

/* _optimizer(name) */
static py_object *gradients_new(PY_ARGS) {
    py_object *a[1];
    struct optimizer *o;
    (void)self;
    if (!py_bind(p, r, "_optimizer", "name", PY_GIVEN, a)) return NULL;
    if (!p->records) return gradients_refused(p, r, "torch.optim");
    const char *name = py_as_text(a[0]);
    if (p->host.training->optimizer_new(p->diag, name ? name : "", &o) != CTSC_OK)
        return py_kernel_failed(p, r);
    capsule *c = mem_zalloc(sizeof *c);
    if (!c) {
        p->host.training->optimizer_free(o);
        return diag_no_memory(p->diag), NULL;
    }
    atomic_init(&c->refs, 1);
    c->kind = gradients_optimizer;
    c->ptr = o;
    c->free = p->host.training->optimizer_free;
    return py_value_take(p, (value){.tag = V_CAPSULE, .u.capsule = c});
}

/* _optimizer_add_group(o, parameters, settings) */
static py_object *gradients_add_group(PY_ARGS) {
    py_object *a[3];
    gradients_settings s;
    value params;
    (void)self;
    if (!py_bind(p, r, "_optimizer_add_group", "o params settings", PY_GIVEN, a)) return NULL;
    struct optimizer *o = gradients_optimizer_of(p, r, a[0]);
    if (!o || !gradients_read_settings(p, r, a[2], &s) ||
        !py_to_value(p, r, a[1], type_list(TYPE_TENSOR), &params))
        return NULL;
    ctsc_status st = p->host.training->optimizer_add_group(p->diag, o, params.u.list, s.n, s.names,
                                                           s.numbers);
    value_unref(params);
    return gradients_done(p, r, st);
}

/* _optimizer_set(o, group, name, number) */
static py_object *gradients_set(PY_ARGS) {
    py_object *a[4];
    int64_t group;
    double v;
    (void)self;
    if (!py_bind(p, r, "_optimizer_set", "o group name number", PY_GIVEN, a)) return NULL;
    struct optimizer *o = gradients_optimizer_of(p, r, a[0]);
    const char *name = py_as_text(a[2]);
    if (!o || !name || !py_as_int(p, r, a[1], &group) || !py_as_float(p, r, a[3], &v)) return NULL;
    return gradients_done(
        p, r, p->host.training->optimizer_set(p->diag, o, (size_t)group, name, v));
}

typedef struct gradients_closure {
    py *p;
    source_range r;
    py_object *fn;
} gradients_closure;

static ctsc_status gradients_call_closure(void *ctx, diag *d, double *loss) {
    const gradients_closure *c = ctx;
    (void)d; /* the evaluator's own */
    py_object *o = py_call(c->p, c->r, c->fn, 0, NULL, 0, NULL, NULL);
    value v = o && py_is_tensor(o) && o->u.v.u.tensor->numel == 1
                  ? py_tensor_item(o->u.v.u.tensor, c->p->diag)
                  : value_uninit();
    if (v.tag == V_FLOAT) return *loss = v.u.f, CTSC_OK;
    value_unref(v);
    if (o && py_as_float(c->p, c->r, o, loss)) return CTSC_OK;
    return c->p->diag->status;
}

/* _optimizer_step(o, closure) */
static py_object *gradients_step(PY_ARGS) {
    py_object *a[2];
    double loss;
    (void)self;
    if (!py_bind(p, r, "_optimizer_step", "o closure", PY_GIVEN, a)) return NULL;
    struct optimizer *o = gradients_optimizer_of(p, r, a[0]);
    gradients_closure c = {p, r, a[1]};
    if (!o) return NULL;
    return gradients_done(
        p, r,
        p->host.training->optimizer_step(
            p->diag, o, py_is_none(a[1]) ? NULL : gradients_call_closure, &c, &loss));
}

static py_object *gradients_zero(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "_optimizer_zero_grad", "o", PY_GIVEN, a)) return NULL;
    struct optimizer *o = gradients_optimizer_of(p, r, a[0]);
    if (o) p->host.training->optimizer_zero_grad(o);
    return o ? p->none : NULL;
}

static py_object *gradients_state(PY_ARGS) {
    py_object *a[1];
    value v;
    (void)self;
    if (!py_bind(p, r, "_optimizer_state", "o", PY_GIVEN, a)) return NULL;
    const struct optimizer *o = gradients_optimizer_of(p, r, a[0]);
    if (!o) return NULL;
    return p->host.training->optimizer_state(p->diag, o, &v) == CTSC_OK ? py_from_value(p, v)
                                                                        : py_kernel_failed(p, r);
}

static py_object *gradients_load_state(PY_ARGS) {
    py_object *a[2];
    value v;
    (void)self;
    if (!py_bind(p, r, "_optimizer_load_state", "o state", PY_GIVEN, a)) return NULL;
    struct optimizer *o = gradients_optimizer_of(p, r, a[0]);
    if (!o || !py_to_value(p, r, a[1], type_dict(TYPE_STR, TYPE_ANY), &v)) return NULL;
    ctsc_status s = p->host.training->optimizer_load_state(p->diag, o, v);
    value_unref(v);
    return gradients_done(p, r, s);
}

const py_row py_gradients_rows[] = {
    {"torch.get_rng_state", gradients_rng_state},
    {"torch.set_rng_state", gradients_set_rng_state},
    {"torch.random.get_rng_state", gradients_rng_state},
    {"torch.random.set_rng_state", gradients_set_rng_state},
    {"torch._C._backward", gradients_backward},
    {"torch._C._decorate_gradients", gradients_decorate},
    {"torch._C._optimizer", gradients_new},
    {"torch._C._optimizer_add_group", gradients_add_group},
    {"torch._C._optimizer_set", gradients_set},
    {"torch._C._optimizer_step", gradients_step},
    {"torch._C._optimizer_zero_grad", gradients_zero},
    {"torch._C._optimizer_state", gradients_state},
    {"torch._C._optimizer_load_state", gradients_load_state},
    {NULL, NULL},
};
