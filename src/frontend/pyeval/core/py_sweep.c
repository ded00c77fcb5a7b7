/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_sweep.c - tensors that a loop of module-level code has made and nothing refers to any more.
 *
 * Method. Objects are not reference-counted (py.h), so the tensors of a training loop
 * would pile up. At the end of an iteration, when there are many, everything reachable is
 * marked: from the modules, the running frames, exceptions, and what a backward pass may
 * call. Unmarked tensors made since the loop began are released. Older ones stay: C code
 * further out may hold them. Only objects that hold a tensor are examined; each holds its
 * own reference. An object that was released and yet is still referenced no longer holds
 * a value. Reference counting instead would slow down every line of the evaluator.
 * Tests: tests/lang/training_long.py
 */
#include "frontend/pyeval/core/py_internal.h"

enum { SWEEP_COUNT = 4096, SWEEP_BYTES = 64 << 20 };

typedef struct sweep {
    py *p;
    ptrmap seen;           /* objects, environments, dicts, tensors */
    VEC(py_object *) todo; /* marked; what they refer to is not */
    bool failed;
} sweep;

/* Is x met for the first time? */
static bool sweep_first(sweep *s, const void *x) {
    if (!x || s->failed || ptrmap_get(&s->seen, x)) return false;
    s->failed = !ptrmap_put(&s->seen, x, s);
    return !s->failed;
}

static void sweep_object(sweep *s, py_object *o) {
    if (sweep_first(s, o) && !vec_push(&s->todo, o)) s->failed = true;
}

static void sweep_objects(sweep *s, size_t n, py_object *const *all) {
    for (size_t i = 0; all && i < n; i++) sweep_object(s, all[i]);
}

static void sweep_dict(sweep *s, const py_dict *d) {
    for (; sweep_first(s, d); d = d->attrs) {
        for (size_t i = 0; i < d->entries.len; i++) {
            if (!d->entries.data[i].key) continue;
            sweep_object(s, d->entries.data[i].key);
            sweep_object(s, d->entries.data[i].val);
        }
        sweep_object(s, d->missing);
    }
}

static void sweep_env(sweep *s, const py_env *env) {
    for (; sweep_first(s, env); env = env->outer) {
        if (env->vars) sweep_dict(s, env->vars);
        sweep_object(s, env->module);
        sweep_object(s, env->cls);
        sweep_object(s, env->result);
        sweep_object(s, env->yields);
    }
}

static void sweep_function(sweep *s, const py_function *f) {
    if (!sweep_first(s, f)) return;
    sweep_env(s, f->closure);
    sweep_object(s, f->module);
    sweep_objects(s, f->def->params.len, f->defaults);
    sweep_object(s, f->cls);
    sweep_objects(s, f->overloads.len, f->overloads.data);
    sweep_dict(s, f->attrs);
}

static void sweep_class(sweep *s, const py_class *c) {
    if (!sweep_first(s, c)) return;
    sweep_object(s, c->module);
    sweep_objects(s, c->bases.len, c->bases.data);
    sweep_objects(s, c->mro.len, c->mro.data);
    sweep_objects(s, c->subclasses.len, c->subclasses.data);
    sweep_dict(s, c->attrs);
    sweep_env(s, c->env);
    sweep_objects(s, c->fields.len, c->field_defaults);
}

/* What o refers to. */
static void sweep_parts(sweep *s, const py_object *o) {
    switch (o->kind) {
    case PY_VALUE:
        if (o->u.v.tag == V_TENSOR) (void)sweep_first(s, o->u.v.u.tensor);
        break;
    case PY_LIST:
    case PY_TUPLE:
    case PY_SET:
    case PY_ITERATOR:
        sweep_objects(s, o->u.seq.items.len, o->u.seq.items.data);
        if (o->kind == PY_TUPLE) sweep_object(s, o->u.seq.seq_cls);
        break;
    case PY_DICT: sweep_dict(s, o->u.dict); break;
    case PY_SLICE:
        sweep_object(s, o->u.slice.start);
        sweep_object(s, o->u.slice.stop);
        sweep_object(s, o->u.slice.step);
        break;
    case PY_MODULE: sweep_dict(s, o->u.mod.globals); break;
    case PY_FUNCTION: sweep_function(s, o->u.fn); break;
    case PY_METHOD:
        sweep_object(s, o->u.method.self);
        sweep_object(s, o->u.method.fn);
        break;
    case PY_BUILTIN: sweep_object(s, o->u.builtin.cls); break;
    case PY_CLASS: sweep_class(s, o->u.cls); break;
    case PY_INSTANCE:
        sweep_object(s, o->u.inst.cls);
        sweep_dict(s, o->u.inst.attrs);
        break;
    case PY_PROPERTY:
        sweep_object(s, o->u.property.getter);
        sweep_object(s, o->u.property.setter);
        break;
    case PY_STATICMETHOD:
    case PY_CLASSMETHOD: sweep_object(s, o->u.fn_object); break;
    case PY_TYPE:
        sweep_objects(s, o->u.type.nargs > 0 ? (size_t)o->u.type.nargs : 0, o->u.type.args);
        break;
    case PY_SUPER:
        sweep_object(s, o->u.super.cls);
        sweep_object(s, o->u.super.self);
        break;
    case PY_SYMBOL:
    case PY_RANGE:
    case PY_ELLIPSIS:
    case PY_NOT_IMPLEMENTED:
    case PY_OPERATOR:
    case PY_KIND_COUNT: break;
    }
}

static void sweep_mark(sweep *s) {
    py *p = s->p;
    for (size_t i = 0; i < p->modules.cap; i++)
        if (p->modules.slots[i].key) sweep_object(s, p->modules.slots[i].value);
    const py_env *env = p->frame;
    for (int i = 0; env && i < PY_MAX_DEPTH; i++, env = env->caller) sweep_env(s, env);
    for (size_t i = 0; i < p->traced.cap; i++) {
        sweep_object(s, (py_object *)p->traced.slots[i].key);
        sweep_object(s, p->traced.slots[i].value);
    }
    sweep_object(s, p->sys_modules);
    sweep_object(s, p->raised);
    sweep_object(s, p->handled);
    for (const py_root *r = p->roots; r; r = r->next) sweep_object(s, r->o);
    while (s->todo.len && !s->failed) sweep_parts(s, s->todo.data[--s->todo.len]);
}

/* Releases tensors from entry `from` on that have no mark. */
static void sweep_release(sweep *s, size_t from) {
    py *p = s->p;
    size_t kept = from;
    for (size_t i = from; i < p->held.len; i++) {
        py_held *h = &p->held.data[i];
        bool dead = h->o->u.v.tag == V_TENSOR && !ptrmap_get(&s->seen, h->o->u.v.u.tensor);
        if (!dead) {
            p->held.data[kept++] = *h;
            continue;
        }
        value v = h->o->u.v;
        h->o->u.v = value_uninit();
        p->held_bytes -= h->bytes;
        value_unref(v);
    }
    p->held.len = kept;
}

py_iteration py_iteration_begin(const py *p) {
    return (py_iteration){p->held.len, p->held.len, p->made_bytes};
}

void py_iteration_end(py *p, py_iteration *r) {
    bool may = p->records && !p->recorder && !p->host.skip_init;
    if (!may || (p->held.len < r->looked + SWEEP_COUNT && p->made_bytes < r->made + SWEEP_BYTES))
        return;
    sweep s = {.p = p};
    sweep_mark(&s);
    if (!s.failed) sweep_release(&s, r->from);
    ptrmap_free(&s.seen);
    vec_free(&s.todo);
    r->looked = p->held.len;
    r->made = p->made_bytes;
}
