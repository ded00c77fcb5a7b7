/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_autocast.c - torch.autocast at module level: what operators are given is converted as their
 * rows say (AUTOCAST), by operators that a trace or a tape records like any other.
 *
 * Compiled functions have a pass for it (passes/autocast.c).
 * Tests: tests/lang/autocast.py
 */
#include "frontend/pyeval/torch/py_torch.h"
#include "ir/op/autocast.h"

#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------- */

static bool autocast_has(const py_object *o, dtype dt) {
    if (py_is_tensor(o)) return o->u.v.u.tensor->dtype == dt;
    bool found = false;
    for (size_t i = 0; (o->kind == PY_LIST || o->kind == PY_TUPLE) && i < o->u.seq.items.len; i++)
        found |= autocast_has(o->u.seq.items.data[i], dt);
    return found;
}

static py_object *autocast_tensor(py *p, source_range r, py_object *o, dtype to) {
    if (!py_is_tensor(o)) return o;
    dtype have = (dtype)o->u.v.u.tensor->dtype,
          dt = autocast_dtype(SYM_CTSC_AUTOCAST, have, true, to);
    return dt == have ? o : py_cast(p, r, o, dt);
}

static py_object *autocast_list(py *p, source_range r, const py_object *o, dtype to, value *out) {
    int n = (int)o->u.seq.items.len;
    py_object *made = o->kind == PY_LIST ? py_list(p, n, o->u.seq.items.data)
                                         : py_tuple(p, n, o->u.seq.items.data);
    list *l = made ? list_new(LIST_TENSOR, TYPE_TENSOR, (size_t)n) : NULL;
    bool ok = l != NULL;
    for (int i = 0; ok && i < n; i++) {
        py_object *x = autocast_tensor(p, r, made->u.seq.items.data[i], to);
        ok = x && py_is_tensor(x) && list_append_take(l, value_ref(x->u.v));
        if (ok) made->u.seq.items.data[i] = x;
    }
    if (!ok) {
        if (l) value_unref(value_list_take(l));
        if (p->diag->status == CTSC_OK) diag_no_memory(p->diag);
        return NULL;
    }
    *out = value_list_take(l);
    return made;
}

static bool autocast_is_list(const py_object *o) {
    return (o->kind == PY_LIST || o->kind == PY_TUPLE) && o->u.seq.items.len &&
           py_is_tensor(o->u.seq.items.data[0]);
}

bool py_autocast_arguments(py *p, source_range r, const op *o, const py_object **of, value *full) {
    autocast_class class = p->autocast.on ? o->traits.autocast : AUTOCAST_NONE;
    dtype to = class == AUTOCAST_LOWER ? p->autocast.lower : DT_FLOAT32;
    bool wide = false;
    for (int i = 0; i < o->schema->nargs; i++) wide |= of[i] && autocast_has(of[i], DT_FLOAT32);
    /* numbers of 16 bits alone stay as they are */
    if (class == AUTOCAST_NONE || (class == AUTOCAST_WIDEST && !wide)) return true;
    for (int i = 0; i < o->schema->nargs; i++) {
        value made = value_none();
        py_object *x = (py_object *)of[i];
        if (!x || !(py_is_tensor(x) || (autocast_is_list(x) && full[i].tag == V_LIST &&
                                        full[i].u.list->kind == LIST_TENSOR)))
            continue;
        if (py_is_tensor(x)) {
            if (!(x = autocast_tensor(p, r, x, to))) return false;
            made = value_ref(x->u.v);
        } else if (!(x = autocast_list(p, r, x, to, &made))) {
            return false;
        }
        of[i] = x;
        value_unref(full[i]);
        full[i] = made;
    }
    return true;
}

/* ---- functions of torch ---------------------------------------------------------------------- */

static bool autocast_is_cpu(const py_object *device) {
    const char *name = py_as_text(device);
    return name && !strcmp(name, "cpu");
}

static bool autocast_dtype_of(py *p, source_range r, const py_object *o, dtype *out) {
    if (o->kind != PY_SYMBOL || o->u.symbol != PY_DTYPE)
        return py_fail(p, r, "TypeError", "dtype must be a torch.dtype, not %s", py_type_name(o)),
               false;
    return *out = (dtype)o->u.v.u.i, true;
}

static py_object *autocast_enabled(PY_ARGS) {
    (void)self, (void)r, (void)kwargs, (void)names;
    return py_bool(p,
                   nargs + nkw && autocast_is_cpu(nargs ? args[0] : kwargs[0]) && p->autocast.on);
}
static py_object *autocast_cpu_enabled(PY_ARGS) {
    PY_UNUSED_PARAMS;
    return py_bool(p, p->autocast.on);
}
static py_object *autocast_get_dtype(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "get_autocast_dtype", "device_type", PY_GIVEN, a)) return NULL;
    dtype lower = p->autocast.lower ? p->autocast.lower : DT_BFLOAT16;
    return py_symbol_object(p, r, PY_DTYPE, autocast_is_cpu(a[0]) ? lower : DT_FLOAT16);
}
static py_object *autocast_set_enabled(PY_ARGS) {
    py_object *a[2];
    bool on;
    (void)self;
    if (!py_bind(p, r, "set_autocast_enabled", "device_type enabled", PY_GIVEN, a) ||
        !py_truth(p, r, a[1], &on))
        return NULL;
    if (autocast_is_cpu(a[0])) p->autocast.on = on;
    if (!p->autocast.lower) p->autocast.lower = DT_BFLOAT16;
    return p->none;
}
static py_object *autocast_set_dtype(PY_ARGS) {
    py_object *a[2];
    dtype dt;
    (void)self;
    if (!py_bind(p, r, "set_autocast_dtype", "device_type dtype", PY_GIVEN, a) ||
        !autocast_dtype_of(p, r, a[1], &dt))
        return NULL;
    if (autocast_is_cpu(a[0])) p->autocast.lower = dt;
    return p->none;
}
/* _decorate_autocast(f, a): calls of f run within `a`, compiled ones too. */
static py_object *autocast_decorate(PY_ARGS) {
    py_object *a[2], *o;
    (void)self;
    if (!py_bind(p, r, "_decorate_autocast", "f a", PY_GIVEN, a)) return NULL;
    o = a[0]->kind == PY_METHOD ? a[0]->u.method.fn : a[0];
    if (o->kind == PY_FUNCTION) o->u.fn->autocast = a[1];
    return a[0];
}

const py_row py_autocast_rows[] = {
    {"torch.is_autocast_enabled", autocast_enabled},
    {"torch.is_autocast_cpu_enabled", autocast_cpu_enabled},
    {"torch.get_autocast_dtype", autocast_get_dtype},
    {"torch.set_autocast_enabled", autocast_set_enabled},
    {"torch.set_autocast_dtype", autocast_set_dtype},
    {"torch._C._decorate_autocast", autocast_decorate},
    {NULL, NULL},
};
