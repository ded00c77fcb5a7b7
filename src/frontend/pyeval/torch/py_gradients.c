/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_gradients.c - module-level code that trains: what is recorded, gradients of tensors,
 * optimisers, the state of random numbers.
 *
 * Method. Operators are recorded from the moment a file of the program is read
 * that mentions a function for gradients: other programs pay nothing. All is
 * done by the code that runs operators (py_host.training); here are the objects.
 * Ownership: an optimiser is a capsule's, which the evaluator holds like a tensor.
 * Tests: tests/lang/training*.py, tests/interop/module_level.py
 */
#include "frontend/pyeval/torch/py_torch.h"

#include <math.h>

/* ---- what is recorded ------------------------------------------------------------------------ */

void py_gradients_look(py *p, const source *src) {
    static const char *const words[] = {".backward(",  "autograd.grad(", "autograd import grad",
                                        "torch.optim", "import optim",   ", optim"};
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
    return p->host.training->set_grad(p->diag, t->u.v.u.tensor, none ? NULL : grad->u.v.u.tensor) ==
               CTSC_OK ||
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

/* In compiled functions these names are operators; here they are Python. */
static py_object *gradients_engine(PY_ARGS, const char *name) {
    py_object *mod = py_import(p, r, "torch.autograd._engine"),
              *fn = mod ? py_getattr(p, r, mod, name) : NULL;
    (void)self;
    return fn ? py_call(p, r, fn, PY_GIVEN) : NULL;
}
static py_object *gradients_grad_function(PY_ARGS) {
    return gradients_engine(p, r, self, PY_GIVEN, "grad");
}
static py_object *gradients_backward_function(PY_ARGS) {
    return gradients_engine(p, r, self, PY_GIVEN, "backward");
}

/* _decorate_gradients(f, mode): calls of f run with gradients enabled (True) or not. */
static py_object *gradients_decorate(PY_ARGS) {
    py_object *a[2], *o;
    bool on;
    (void)self;
    if (!py_bind(p, r, "_decorate_gradients", "f mode", PY_GIVEN, a) || !py_truth(p, r, a[1], &on))
        return NULL;
    o = a[0]->kind == PY_METHOD ? a[0]->u.method.fn : a[0];
    if (o->kind == PY_FUNCTION) o->u.fn->gradients = on ? PY_GRADIENTS_ON : PY_GRADIENTS_OFF;
    return a[0];
}

/* ---- functions with a backward of their own -------------------------------------------------- */

/* Nodes of the graph may outlive the evaluator; their objects do not. */
typedef struct py_alive { int refs; py *p; } py_alive;

typedef struct gradients_call {
    py_alive *alive;
    py_root fn; /* list of gradients -> list of gradients */
    int ninputs, noutputs;
} gradients_call;

static void gradients_unref_alive(py_alive *a) {
    if (a && --a->refs == 0) mem_free(a);
}

void py_gradients_end(py *p) {
    if (p->alive) p->alive->p = NULL;
    gradients_unref_alive(p->alive);
    p->alive = NULL;
}

static void gradients_release(void *ctx) {
    gradients_call *c = ctx;
    if (c->alive->p) { /* the others' list goes with the evaluator */
        *c->fn.at = c->fn.next;
        if (c->fn.next) c->fn.next->at = c->fn.at;
    }
    gradients_unref_alive(c->alive);
    mem_free(c);
}

static py_object *gradients_as_list(py *p, int n, tensor *const *grads) {
    py_object *l = py_list(p, 0, NULL);
    for (int i = 0; l && i < n; i++) {
        py_object *g = grads[i] ? py_tensor_take(p, tensor_ref(grads[i])) : p->none;
        if (!g || !py_append(p, l, g)) return NULL;
    }
    return l;
}

static ctsc_status gradients_of_call(void *ctx, diag *d, tensor *const *grads, bool create_graph,
                                     tensor **out) {
    const gradients_call *c = ctx;
    py *p = c->alive->p;
    source_range nowhere = {0};
    if (!p)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "the gradients of a torch.autograd.Function are known only while the "
                         "module-level code runs that has called it");
    bool before = !p->no_grad;
    py_object *given = gradients_as_list(p, c->noutputs, grads);
    py_set_gradients(p, create_graph);
    py_object *l = given ? py_call(p, nowhere, c->fn.o, 1, &given, 0, NULL, NULL) : NULL;
    py_set_gradients(p, before);
    bool ok = l && l->kind == PY_LIST && l->u.seq.items.len == (size_t)c->ninputs;
    for (int i = 0; ok && i < c->ninputs; i++) {
        const py_object *g = l->u.seq.items.data[i];
        if (py_is_tensor(g)) out[i] = tensor_ref(g->u.v.u.tensor);
    }
    if (l && !ok) py_fail(p, nowhere, "RuntimeError", "a function returned wrong gradients");
    if (p->diag->status != CTSC_OK && p->diag != d) /* the pass has a diagnostic of its own */
        return diag_fail(d, p->diag->status, "%s", diag_message(p->diag));
    return p->diag->status;
}

/* The tensors of a list, borrowed, in the arena. */
static tensor **gradients_tensors(py *p, source_range r, const py_object *l, int *n) {
    bool ok = l->kind == PY_LIST;
    *n = ok ? (int)l->u.seq.items.len : 0;
    tensor **ts = arena_array(p->a, tensor *, *n + 1);
    for (int i = 0; ts && ok && i < *n; i++) {
        ok = py_is_tensor(l->u.seq.items.data[i]);
        ts[i] = l->u.seq.items.data[i]->u.v.u.tensor;
    }
    if (!ok) return py_fail(p, r, "TypeError", "expected a list of Tensors"), NULL;
    if (!ts) diag_no_memory(p->diag);
    return ts;
}

/* _record_call(fn, inputs, outputs): outputs come of inputs, and fn gives the gradients. */
static py_object *gradients_record(PY_ARGS) {
    py_object *a[3];
    int nin, nout;
    (void)self;
    if (!py_bind(p, r, "_record_call", "fn inputs outputs", PY_GIVEN, a)) return NULL;
    tensor **in = gradients_tensors(p, r, a[1], &nin);
    tensor **out = in ? gradients_tensors(p, r, a[2], &nout) : NULL;
    if (!out) return NULL;
    if (!p->alive && (p->alive = mem_alloc(sizeof *p->alive))) *p->alive = (py_alive){1, p};
    gradients_call *c = p->alive ? mem_alloc(sizeof *c) : NULL;
    if (!c) return diag_no_memory(p->diag), NULL;
    *c = (gradients_call){p->alive, {a[0], p->roots, &p->roots}, nin, nout};
    if (p->roots) p->roots->at = &c->fn.next;
    p->roots = &c->fn;
    c->alive->refs++;
    return p->host.training->record(p->diag, nin, in, nout, out, c, gradients_of_call,
                                    gradients_release) == CTSC_OK
               ? p->none
               : py_kernel_failed(p, r);
}

static py_object *gradients_records(PY_ARGS) {
    (void)self;
    if (!py_bind(p, r, "_records", "", PY_GIVEN, NULL)) return NULL;
    return py_bool(p, p->records && !p->no_grad && !py_tracing(p));
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
    return gradients_done(p, r,
                          p->host.training->optimizer_set(p->diag, o, (size_t)group, name, v));
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

static bool gradients_plain(py *p, source_range r, const py_object *o, int depth, value *out);

static bool gradients_plain_dict(py *p, source_range r, const py_dict *from, int depth, dict *to) {
    bool ok = true;
    for (size_t i = 0; ok && i < from->entries.len; i++) {
        value k, v;
        if (!from->entries.data[i].key) continue;
        if (!gradients_plain(p, r, from->entries.data[i].key, depth + 1, &k)) return false;
        if (!gradients_plain(p, r, from->entries.data[i].val, depth + 1, &v)) {
            value_unref(k);
            return false;
        }
        ok = dict_set_take(to, k, v);
    }
    if (!ok) diag_no_memory(p->diag);
    return ok;
}

static bool gradients_plain_list(py *p, source_range r, const py_object *o, int depth, list *to) {
    bool ok = true;
    for (size_t i = 0; ok && i < o->u.seq.items.len; i++) {
        value v;
        if (!gradients_plain(p, r, o->u.seq.items.data[i], depth + 1, &v)) return false;
        ok = list_append_take(to, v);
    }
    if (!ok) diag_no_memory(p->diag);
    return ok;
}

/* Dicts, lists and tuples (as lists) of whatever; other things than values are None. */
static bool gradients_plain(py *p, source_range r, const py_object *o, int depth, value *out) {
    enum { DEEPEST = 64 };
    if (depth > DEEPEST) return py_fail(p, r, "ValueError", "a state_dict is too deep"), false;
    bool is_list = o->kind == PY_LIST || o->kind == PY_TUPLE;
    if (o->kind != PY_DICT && !is_list)
        return *out = o->kind == PY_VALUE ? value_ref(o->u.v) : value_none(), true;
    dict *d = is_list ? NULL : dict_new(TYPE_ANY, TYPE_ANY);
    list *l = is_list ? list_new(type_list_kind(TYPE_ANY), TYPE_ANY, o->u.seq.items.len) : NULL;
    if (!d && !l) return diag_no_memory(p->diag), false;
    *out = d ? value_dict_take(d) : value_list_take(l);
    if (d ? gradients_plain_dict(p, r, o->u.dict, depth, d)
          : gradients_plain_list(p, r, o, depth, l))
        return true;
    value_unref(*out);
    return false;
}

/* _optimizer_load_state(o, state) */
static py_object *gradients_load_state(PY_ARGS) {
    py_object *a[2];
    value v;
    (void)self;
    if (!py_bind(p, r, "_optimizer_load_state", "o state", PY_GIVEN, a)) return NULL;
    struct optimizer *o = gradients_optimizer_of(p, r, a[0]);
    if (!o || !gradients_plain(p, r, a[1], 0, &v)) return NULL;
    ctsc_status s = p->host.training->optimizer_load_state(p->diag, o, v);
    value_unref(v);
    return gradients_done(p, r, s);
}

const py_row py_gradients_rows[] = {
    {"torch.get_rng_state", gradients_rng_state},
    {"torch.set_rng_state", gradients_set_rng_state},
    {"torch.random.get_rng_state", gradients_rng_state},
    {"torch.random.set_rng_state", gradients_set_rng_state},
    {"torch.autograd.grad", gradients_grad_function},
    {"torch.autograd.backward", gradients_backward_function},
    {"torch._C._backward", gradients_backward},
    {"torch._C._decorate_gradients", gradients_decorate},
    {"torch._C._record_call", gradients_record},
    {"torch._C._records", gradients_records},
    {"torch._C._optimizer", gradients_new},
    {"torch._C._optimizer_add_group", gradients_add_group},
    {"torch._C._optimizer_set", gradients_set},
    {"torch._C._optimizer_step", gradients_step},
    {"torch._C._optimizer_zero_grad", gradients_zero},
    {"torch._C._optimizer_state", gradients_state},
    {"torch._C._optimizer_load_state", gradients_load_state},
    {NULL, NULL},
};
