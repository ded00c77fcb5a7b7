/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_script.c - torch.jit.load and torch.jit.freeze at module level: modules of archives
 * as Python objects.
 *
 *     archive's object                        instance of RecursiveScriptModule (prelude/torch/jit/_script.py)
 *       weight: Tensor (parameter)              _parameters["weight"]
 *       fc: __torch__.Linear             ->     _modules["fc"]: such an instance
 *       calls: int                              calls
 *                                               _c: the archive's object
 *
 * Method. The host reads the archive and runs its methods; this file has only what both sides
 * have to agree on. Python code may change attributes in any way that it likes (m.training,
 * p.data, a registry), and so may methods, so each call begins by writing the attributes into
 * the archive's objects and ends by reading back those that the method has replaced. When a
 * program that mentions such a module is compiled, source_archive.c handles it.
 * Ownership: `_c` holds a reference to the object, which keeps its unit.
 * Tests: tests/cli/jit-load.test, tests/interop/archives.py
 */
#include "frontend/pyeval/core/py_internal.h"
#include "frontend/pyeval/torch/py_torch.h"
#include "frontend/pyeval/torch/py_trace.h"

#define SCRIPT_SELF "_c"

static object *script_module(value v) {
    return v.tag == V_OBJECT && v.u.object->cls->cls->is_module ? v.u.object : NULL;
}

object *py_archive_object(const py_object *o) {
    const py_object *c = o->kind == PY_INSTANCE ? py_dict_get(o->u.inst.attrs, SCRIPT_SELF) : NULL;
    return c && c->kind == PY_VALUE ? script_module(c->u.v) : NULL;
}

/* The dict that has an attribute of a module: a registry, or that of its other attributes. */
static py_dict *script_registry(const py_object *instance, const char *name) {
    static const char *const registries[] = {"_parameters", "_buffers", "_modules"};
    for (size_t i = 0; i < sizeof registries / sizeof *registries; i++) {
        const py_object *d = py_dict_get(instance->u.inst.attrs, registries[i]);
        if (d && d->kind == PY_DICT && py_dict_get(d->u.dict, name)) return d->u.dict;
    }
    return instance->u.inst.attrs;
}

py_object *py_module_data(const py_object *instance, const char *name) {
    return py_dict_get(script_registry(instance, name), name);
}

/* ---- from the archive to Python -------------------------------------------------------------- */

typedef struct script_wrapping {
    py *p;
    source_range r;
    py_object *cls; /* RecursiveScriptModule */
    ptrmap wrapped; /* object * -> instance: a module with two names is one */
} script_wrapping;

static py_object *script_wrap(script_wrapping *w, object *o);

/* Module.__init__, with the object. */
static py_object *script_instance(script_wrapping *w, object *o) {
    py *p = w->p;
    py_object *instance = py_call(p, w->r, w->cls, 0, NULL, 0, NULL, NULL);
    py_object *self = instance ? py_value_take(p, value_ref(value_object_take(o))) : NULL;
    if (!self || !py_dict_set(p, instance->u.inst.attrs, SCRIPT_SELF, self)) return NULL;
    if (!ptrmap_put(&w->wrapped, o, instance)) return diag_no_memory(p->diag), NULL;
    return instance;
}

static bool script_wrap_slot(script_wrapping *w, py_object *instance, const attribute *a, value v) {
    py *p = w->p;
    object *module = script_module(v);
    py_object *o = module ? script_wrap(w, module) : py_from_value(p, value_ref(v));
    const char *registry = module            ? "_modules"
                           : a->is_parameter ? "_parameters"
                           : a->is_buffer    ? "_buffers"
                                             : NULL;
    py_object *into = registry ? py_dict_get(instance->u.inst.attrs, registry) : NULL;
    return o &&
           py_dict_set(p, into && into->kind == PY_DICT ? into->u.dict : instance->u.inst.attrs,
                       a->name, o);
}

static py_object *script_wrap(script_wrapping *w, object *o) {
    py *p = w->p;
    const class_info *c = o->cls->cls;
    py_object *known = ptrmap_get(&w->wrapped, o), *instance = NULL;
    if (known) return known;
    if (!py_deeper(p, w->r)) return NULL;
    bool ok = (instance = script_instance(w, o)) != NULL;
    for (size_t i = 0; i < c->attributes.len && ok; i++)
        ok = script_wrap_slot(w, instance, &c->attributes.data[i], o->slots[i]);
    for (size_t i = 0; i < c->constants.len && ok; i++) {
        py_object *v = py_from_value(p, value_ref(c->constants.data[i].val));
        ok = v && py_dict_set(p, instance->u.inst.attrs, c->constants.data[i].name, v);
    }
    p->depth--;
    return ok ? instance : NULL;
}

/* Takes root. */
static py_object *script_wrap_root(py *p, source_range r, value root) {
    py_object *mod = py_import(p, r, "torch.jit._script");
    script_wrapping w = {
        .p = p, .r = r, .cls = mod ? py_getattr(p, r, mod, "RecursiveScriptModule") : NULL};
    py_object *instance = w.cls ? script_wrap(&w, root.u.object) : NULL;
    ptrmap_free(&w.wrapped);
    value_unref(root);
    return instance;
}

/* ---- before and after a call ----------------------------------------------------------------- */

static bool script_write(py *p, source_range r, const py_object *instance, int depth);

static bool script_write_module(py *p, source_range r, const attribute *a, const py_object *part,
                                value *slot, int depth) {
    object *o = py_archive_object(part);
    value v = value_object_take(o);
    if (!o || !type_admits_value(a->type, v))
        return py_fail(p, r, "RuntimeError",
                       "Cannot re-assign modules in a ScriptModule with non-scripted module, tried "
                       "to replace existing module '%s'",
                       a->name),
               false;
    if (slot->tag != V_OBJECT || slot->u.object != o) value_set(slot, value_ref(v));
    return script_write(p, r, part, depth + 1);
}

/* Python's attributes into the objects. */
static bool script_write(py *p, source_range r, const py_object *instance, int depth) {
    object *o = py_archive_object(instance);
    if (depth > PY_MAX_DEPTH)
        return py_fail(p, r, "RecursionError", "modules nest too deeply"), false;
    for (size_t i = 0; i < o->nslots; i++) {
        const attribute *a = &o->cls->cls->attributes.data[i];
        py_object *now = py_module_data(instance, a->name);
        if (!py_step(p, r)) return false;
        if (!now) continue;
        value v;
        if (script_module(o->slots[i])) {
            if (!script_write_module(p, r, a, now, &o->slots[i], depth)) return false;
        } else if (py_to_value(p, r, now, a->type, &v)) {
            value_set(&o->slots[i], v);
        } else {
            return false;
        }
    }
    return true;
}

/* What the method has exchanged, into Python's attributes. */
static bool script_read(py *p, source_range r, py_object *instance) {
    const object *o = py_archive_object(instance);
    for (size_t i = 0; i < o->nslots; i++) {
        const char *name = o->cls->cls->attributes.data[i].name;
        py_dict *in = script_registry(instance, name);
        py_object *was = py_dict_get(in, name), *now;
        if (!py_step(p, r)) return false;
        if (was && script_module(o->slots[i])) {
            if (py_archive_object(was) && !script_read(p, r, was)) return false;
        } else if (was && (was->kind != PY_VALUE || !value_is(was->u.v, o->slots[i]))) {
            now = py_from_value(p, value_ref(o->slots[i]));
            if (!now || !py_dict_set(p, in, name, now)) return false;
        }
    }
    return true;
}

/* ---- methods --------------------------------------------------------------------------------- */

enum { SCRIPT_MAX_ARGS = 255 };

static int script_keyword(const char *name, int nkw, const char *const *names) {
    int k = 0;
    while (k < nkw && strcmp(names[k], name) != 0) k++;
    return k < nkw ? k : -1;
}

static bool script_known_keywords(py *p, source_range r, const function *f, int nargs, int nkw,
                                  const char *const *names) {
    for (int k = 0; k < nkw; k++) {
        int at = schema_find_arg(f->schema, names[k]);
        if (at > nargs) continue;
        strbuf declared = STRBUF_INIT;
        schema_print(f->schema, &declared);
        py_fail(p, r, "RuntimeError",
                at > 0
                    ? "Argument '%s' specified both as positional and keyword argument. Schema: %s"
                    : "Unknown keyword argument '%s' for operator. Schema: %s",
                names[k], sb_str(&declared));
        sb_free(&declared);
        return false;
    }
    return true;
}

/* Plain values are converted where the call is checked; containers have to become some kind of
 * container first. */
static bool script_argument(py *p, source_range r, const py_object *o, type *t, value *out) {
    if (o->kind != PY_VALUE) return py_to_value(p, r, o, t, out);
    *out = value_ref(o->u.v);
    return true;
}

/* The arguments in the schema's order, self first. A missing one ends them,
 * a surplus one follows: the code that runs the method counts them. */
static bool script_arguments(PY_ARGS, const function *f, value *given, size_t *n) {
    const schema *s = f->schema;
    (void)self;
    if (nargs > SCRIPT_MAX_ARGS || s->nargs > SCRIPT_MAX_ARGS)
        return py_fail(p, r, "RuntimeError", "%s(): too many arguments", f->name), false;
    if (!script_known_keywords(p, r, f, nargs, nkw, names)) return false;
    for (int i = 1; i < s->nargs || i <= nargs; i++) {
        const argument *a = i < s->nargs ? &s->args[i] : NULL;
        int k = i > nargs ? script_keyword(a->name, nkw, names) : -1;
        const py_object *o = i <= nargs ? args[i - 1] : k >= 0 ? kwargs[k] : NULL;
        if (!o && !a->has_default) break;
        if (!o) given[*n] = value_ref(a->default_value);
        else if (!script_argument(p, r, o, a ? a->type : NULL, &given[*n])) return false;
        ++*n;
    }
    return true;
}

static py_object *script_run(PY_ARGS, function *f) {
    value given[SCRIPT_MAX_ARGS + 1], result = value_none();
    size_t n = 1;
    given[0] = value_object_take(py_archive_object(self));
    bool ok = script_write(p, r, self, 0) && script_arguments(p, r, self, PY_GIVEN, f, given, &n);
    if (ok && p->host.call_method(p->host.ctx, p->diag, f, n, given, &result) != CTSC_OK) {
        /* wrong arguments: to Python, an exception like others */
        if (p->diag->status == CTSC_USAGE) p->diag->status = CTSC_FAILED;
        ok = py_kernel_failed(p, r);
    }
    for (size_t i = 1; i < n; i++) value_unref(given[i]);
    if (!ok) return NULL;
    py_object *out = py_from_value(p, result);
    return out && script_read(p, r, self) ? out : NULL;
}

/* self: (the module, the method's name) */
static py_object *script_call(PY_ARGS) {
    py_object *module = self->u.seq.items.data[0];
    const object *o = py_archive_object(module);
    const char *name = py_as_text(self->u.seq.items.data[1]);
    if (o && py_tracing(p))
        return p->recorder->script(p->recorder->ctx, r, NULL, module, name, nargs, args, nkw, names,
                                   kwargs);
    function *f = o ? class_find_method(o->cls, name) : NULL;
    return f ? script_run(p, r, module, PY_GIVEN, f)
             : py_fail(p, r, "RuntimeError", "the module has lost its object");
}

/* _script_method(module, name): the method, bound; None if its class has none. */
static py_object *script_method(PY_ARGS) {
    py_object *a[2];
    (void)self;
    PY_TAKE("_script_method", "module name", a);
    const object *o = py_archive_object(a[0]);
    const char *name = py_as_text(a[1]);
    if (!o || !name || !class_find_method(o->cls, name)) return p->none;
    py_object *bound = py_tuple(p, 2, a);
    return bound ? py_method(p, bound, py_builtin(p, "torch.jit.ScriptMethod", script_call)) : NULL;
}

/* _script_name(module): "Net" of __torch__.a.___torch_mangle_0.Net */
static py_object *script_name(PY_ARGS) {
    py_object *a[1];
    (void)self;
    PY_TAKE("_script_name", "module", a);
    const object *o = py_archive_object(a[0]);
    if (!o) return p->none;
    const char *dot = strrchr(class_name(o->cls), '.');
    return py_text(p, intern(p->names, dot ? dot + 1 : class_name(o->cls)));
}

/* ---- load, freeze ---------------------------------------------------------------------------- */

static py_object *script_load(PY_ARGS) {
    py_object *a[3];
    (void)self;
    PY_TAKE("torch.jit.load", "f map_location? _extra_files?", a);
    const char *path = py_as_text(a[0]);
    value root = value_none();
    if (!path)
        return py_unsupported(
            p, r,
            "torch.jit.load: only the path of a file can be loaded, not an object of type '%s'",
            py_type_name(a[0]));
    if (a[2] && !py_is_none(a[2]))
        return py_unsupported(p, r, "torch.jit.load: _extra_files is not supported");
    if (!p->host.load_archive)
        return py_unsupported(p, r, "torch.jit.load: this program may not read files");
    if (p->host.load_archive(p->host.ctx, p->diag, path, &root) != CTSC_OK)
        return py_kernel_failed(p, r);
    return script_wrap_root(p, r, root);
}

/* torch.load: tensors are on the CPU whatever map_location says, as everything is here. */
static py_object *script_load_file(PY_ARGS) {
    py_object *a[6];
    (void)self;
    PY_TAKE("torch.load", "f map_location? pickle_module? weights_only? mmap? encoding?", a);
    py_object *as_text = py_call1(p, r, py_builtin_class(p, "str"), a[0]); /* of a Path, too */
    const char *path = as_text ? py_as_text(as_text) : NULL;
    value v = value_none();
    if (!path)
        return as_text ? py_unsupported(p, r, "torch.load: only the path of a file can be loaded")
                       : NULL;
    if (!p->host.load_file)
        return py_unsupported(p, r, "torch.load: this program may not read files");
    if (p->host.load_file(p->host.ctx, p->diag, path, &v) != CTSC_OK) return py_kernel_failed(p, r);
    return py_from_value(p, v);
}

/* ---- save: what the program would write is ctsc compile's to write --------------------------- */

static py_object *script_save(PY_ARGS) {
    (void)self, (void)nkw, (void)names, (void)kwargs;
    const char *path = nargs > 1 ? py_as_text(args[1]) : NULL;
    py_object *warn = py_import(p, r, "warnings"), *message;
    if (!warn || !(warn = py_getattr(p, r, warn, "warn"))) return NULL;
    message = py_text(p, arena_printf(p->a,
                                      "%s%s%s is not written while a program is being compiled: "
                                      "`ctsc compile -o FILE` writes the "
                                      "archive of the entry",
                                      path ? "'" : "a file", path ? path : "", path ? "'" : ""));
    return message && py_call1(p, r, warn, message) ? p->none : NULL;
}

static py_object *script_freeze(PY_ARGS) {
    py_object *a[4], *training;
    (void)self;
    bool fold = true;
    PY_TAKE("torch.jit.freeze", "mod preserved_attrs? optimize_numerics? preserve_parameters?", a);
    object *o = py_archive_object(a[0]);
    if (!o)
        return py_unsupported(p, r,
                              "torch.jit.freeze: only modules of archives (torch.jit.load) can be "
                              "frozen while a program is being compiled");
    if ((a[1] && !py_is_none(a[1])) || a[3])
        return py_unsupported(p, r,
                              "torch.jit.freeze: only mod and optimize_numerics are supported");
    if (a[2] && !py_truth(p, r, a[2], &fold)) return NULL;
    training = py_dict_get(a[0]->u.inst.attrs, "training");
    if (training == p->true_)
        return py_fail(p, r, "RuntimeError",
                       "Freezing is currently only implemented for modules in eval mode. Please "
                       "call .eval() on your module before freezing.");
    value root = value_none();
    if (!script_write(p, r, a[0], 0)) return NULL;
    if (p->host.freeze(p->host.ctx, p->diag, o, fold, &root) != CTSC_OK)
        return py_kernel_failed(p, r);
    return script_wrap_root(p, r, root);
}

const py_row py_script_rows[] = {
    {"torch.jit.load", script_load},        {"torch.jit.freeze", script_freeze},
    {"torch.jit.save", script_save},        {"torch.save", script_save},
    {"torch.load", script_load_file},       {"torch._C._script_method", script_method},
    {"torch._C._script_name", script_name}, {NULL, NULL},
};
