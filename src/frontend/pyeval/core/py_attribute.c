/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_attribute.c - o.name, o.name = v, del o.name and variables, with Python's rules.
 *
 * Method: instances look for a property in the class, then in their own attributes, then for
 * anything else in the class (functions are bound), then ask __getattr__. Classes bind class
 * methods; modules may load a submodule.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

/* ---- variables ------------------------------------------------------------------------------- */

py_object *py_lookup(py *p, const py_env *env, const char *name) {
    size_t len = strlen(name);
    uint64_t hash = hash_bytes(name, len);
    const py_env *at = env;
    for (size_t i = 0; env && i < env->globals.len; i++)
        if (!strcmp(env->globals.data[i], name)) at = NULL;
    const py_object *module = env ? env->module : NULL;
    for (; at; at = at->outer) {
        py_object *o = !at->vars || (at->is_class && at != env)
                           ? NULL
                           : py_dict_find(at->vars, name, len, hash);
        if (o) return o;
    }
    py_object *o = module ? py_dict_find(module->u.mod.globals, name, len, hash) : NULL;
    if (o) return o;
    return p->builtins ? py_builtin_named(p, name) : NULL;
}

/* ---- classes --------------------------------------------------------------------------------- */

py_object *py_class_find(const py_object *cls, const char *name) {
    if (cls->kind != PY_CLASS) return NULL;
    size_t len = strlen(name);
    uint64_t hash = hash_bytes(name, len);
    for (size_t i = 0; i < cls->u.cls->mro.len; i++) {
        py_object *o = py_dict_find(cls->u.cls->mro.data[i]->u.cls->attrs, name, len, hash);
        if (o) return o;
    }
    return NULL;
}

/* What a class attribute becomes when looked up through an instance (self) or the
 * class (self NULL). */
static py_object *attribute_bind(py *p, source_range r, py_object *found, py_object *self,
                                 py_object *cls) {
    switch (found->kind) {
    case PY_FUNCTION: return self ? py_method(p, self, found) : found;
    case PY_BUILTIN: return self && found->u.builtin.method ? py_method(p, self, found) : found;
    case PY_PROPERTY:
        return self && found->u.property.getter ? py_call1(p, r, found->u.property.getter, self)
                                                : found;
    case PY_STATICMETHOD: return found->u.fn_object;
    case PY_CLASSMETHOD: return py_method(p, cls, found->u.fn_object);
    case PY_INSTANCE: {
        /* A descriptor of the program's own. */
        py_object *get = py_class_find(found->u.inst.cls, "__get__");
        if (!get) return found;
        py_object *args[] = {found, self ? self : p->none, cls};
        return py_call(p, r, get, 3, args, 0, NULL, NULL);
    }
    default: return found;
    }
}

py_object *py_find_special(py *p, py_object *o, const char *name) {
    if (o->kind != PY_INSTANCE && !(o->kind == PY_TUPLE && o->u.seq.seq_cls)) return NULL;
    py_object *cls = (py_object *)py_class_of(p, o), *found = py_class_find(cls, name);
    if (found && found == py_dict_get(p->object_class->u.cls->attrs, name)) return NULL;
    return found ? attribute_bind(p, (source_range){0}, found, o, cls) : NULL;
}

static py_object *attribute_module_name(py *p, const py_object *cls) {
    return py_text(p, cls->u.cls->module ? cls->u.cls->module->u.mod.name : "builtins");
}

py_object *py_annotation_object(py *p, py_env *env, const expr *x) {
    if (!x) return p->none;
    const py_object *home = strmap_get(&p->modules, "__future__"),
                    *future = home ? py_dict_get(home->u.mod.globals, "annotations") : NULL;
    bool as_text = future && x->range.src &&
                   py_dict_get(env->module->u.mod.globals, "annotations") == future;
    if (!as_text) return py_eval(p, env, x);
    return py_string(p, x->range.src->text + x->range.begin, x->range.end - x->range.begin);
}

static py_object *attribute_annotations(py *p, const py_object *cls) {
    py_dict *d = py_dict_new(p);
    const py_class *c = cls->u.cls;
    for (size_t i = 0; i < c->annotations.len; i++) {
        py_object *t = py_annotation_object(p, c->env, c->annotations.data[i].type);
        if (!t || !py_dict_set(p, d, c->annotations.data[i].name, t)) return NULL;
    }
    return py_dict_object(p, d);
}

static py_object *attribute_make(PY_ARGS) {
    (void)nkw, (void)names, (void)kwargs;
    py_object **items;
    int n;
    if (nargs != 1) return py_fail(p, r, "TypeError", "_make() expects one iterable");
    return py_iterate(p, r, args[0], &items, &n) ? py_construct(p, r, self, n, items, 0, NULL, NULL)
                                                 : NULL;
}

static py_object *attribute_of_named_tuple(py *p, py_object *o, const char *name) {
    const py_class *c = o->u.cls;
    if (!strcmp(name, "_make")) return py_method(p, o, py_builtin(p, "_make", attribute_make));
    if (!strcmp(name, "_fields")) {
        py_object *t = py_new(p, PY_TUPLE);
        for (size_t i = 0; i < c->fields.len; i++) {
            py_object *text = py_text(p, c->fields.data[i]);
            if (!text || !py_append(p, t, text)) return NULL;
        }
        return t;
    }
    if (strcmp(name, "_field_defaults")) return NULL;
    py_dict *d = py_dict_new(p);
    for (size_t i = 0; i < c->fields.len; i++)
        if (c->field_defaults && c->field_defaults[i] &&
            !py_dict_set(p, d, c->fields.data[i], c->field_defaults[i]))
            return NULL;
    return py_dict_object(p, d);
}

/* dict.__getitem__ and the like, which a class derived from
 * dict may name: the substitute's (prelude/derived.py). */
static py_object *attribute_of_container(py *p, source_range r, const py_object *o,
                                         const char *name) {
    static const char *const names[] = {"__new__",     "__init__",     "__getitem__", "__setitem__",
                                        "__delitem__", "__contains__", "__iter__",    "__len__",
                                        "__eq__",      "__repr__"};
    const char *stand_in = py_derived_name(o);
    if (!stand_in || name[0] != '_') return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name)) continue;
        py_object *mod = py_import(p, r, "_derived"),
                  *cls = mod ? py_getattr(p, r, mod, stand_in) : NULL;
        return cls ? py_class_find(cls, name) : NULL;
    }
    return NULL;
}

static py_object *attribute_subclasses(PY_ARGS) {
    (void)r, (void)args, (void)nkw, (void)names, (void)kwargs, (void)nargs;
    return py_list(p, (int)self->u.cls->subclasses.len, self->u.cls->subclasses.data);
}

static py_object *attribute_of_class(py *p, source_range r, py_object *o, const char *name) {
    const py_class *c = o->u.cls;
    py_object *found = attribute_of_container(p, r, o, name);
    if (!found && !py_failed(p)) found = py_class_find(o, name);
    if (found) return attribute_bind(p, r, found, NULL, o);
    if (c->kind == PYC_NAMED_TUPLE && name[0] == '_' && name[1] != '_')
        return attribute_of_named_tuple(p, o, name);
    if (strncmp(name, "__", 2)) return NULL;
    if (!strcmp(name, "__name__")) return py_text(p, c->name);
    if (!strcmp(name, "__qualname__")) return py_text(p, c->qualname ? c->qualname : c->name);
    if (!strcmp(name, "__module__")) return attribute_module_name(p, o);
    if (!strcmp(name, "__dict__")) return py_dict_object(p, c->attrs);
    if (!strcmp(name, "__mro__")) return py_tuple(p, (int)c->mro.len, c->mro.data);
    if (!strcmp(name, "__subclasses__"))
        return py_method(p, o, py_builtin(p, name, attribute_subclasses));
    if (!strcmp(name, "__bases__")) return py_tuple(p, (int)c->bases.len, c->bases.data);
    if (!strcmp(name, "__class__")) return py_builtin_class(p, "type");
    if (!strcmp(name, "__doc__")) return p->none;
    if (!strcmp(name, "__annotations__")) return attribute_annotations(p, o);
    if (!strcmp(name, "__members__") && c->kind == PYC_ENUM) {
        py_dict *d = py_dict_new(p);
        for (size_t i = 0; i < c->attrs->entries.len; i++) { /* aliases too */
            const py_dict_entry e = c->attrs->entries.data[i];
            bool member = e.key && e.val->kind == PY_INSTANCE && e.val->u.inst.cls == o;
            if (member && !py_dict_set_key(p, d, e.key, e.val)) return NULL;
        }
        return py_dict_object(p, d);
    }
    return NULL;
}

/* As object.__getattribute__ finds it. */
py_object *py_find_plain(py *p, source_range r, py_object *o, const char *name) {
    py_object *cls = o->u.inst.cls, *found = py_class_find(cls, name);
    if (found && found->kind == PY_PROPERTY) return attribute_bind(p, r, found, o, cls);
    py_object *own = py_dict_get(o->u.inst.attrs, name);
    if (own) return own;
    if (found) return attribute_bind(p, r, found, o, cls);
    if (name[0] == '_' && name[1] == '_') {
        if (!strcmp(name, "__dict__")) return py_dict_object(p, o->u.inst.attrs);
        if (!strcmp(name, "__class__")) return cls;
        if (!strcmp(name, "__module__")) return attribute_module_name(p, cls);
        if (!strcmp(name, "__doc__")) return p->none;
    }
    return NULL;
}

/* Takes an AttributeError out of the diag, if there is one. */
static bool attribute_forgive(py *p) {
    if (!p->diag->exception || strcmp(p->diag->exception, "builtins.AttributeError")) return false;
    diag_clear(p->diag);
    p->raised = NULL;
    return true;
}

static py_object *attribute_of_instance(py *p, source_range r, py_object *o, const char *name) {
    const py_object *cls = o->u.inst.cls;
    py_object *own = cls->u.cls->own_lookup ? py_class_find(cls, "__getattribute__") : NULL,
              *text = own ? py_text(p, name) : NULL;
    bool before = py_failed(p);
    py_object *found = !own   ? py_find_plain(p, r, o, name)
                       : text ? py_call2(p, r, own, o, text)
                              : NULL;
    if (found || (py_failed(p) && (before || !text || !attribute_forgive(p)))) return found;
    bool traced = cls->u.cls->kind == PYC_EXCEPTION &&
                  (!strcmp(name, "__traceback__") || !strcmp(name, "__context__"));
    if (traced) return p->none; /* none is kept */
    py_object *get = py_class_find(cls, "__getattr__");
    if (!get || !(text = py_text(p, name))) return NULL;
    return py_call2(p, r, get, o, text);
}

static const char *attribute_doc(const py_function *f) { return f->def ? f->def->docstring : NULL; }

static py_object *attribute_of_function(py *p, py_object *o, const char *name) {
    const py_function *f = o->u.fn;
    py_object *own = f->attrs ? py_dict_get(f->attrs, name) : NULL;
    if (own) return own;
    if (!strcmp(name, "save") && (f->mode == PY_SCRIPT || ptrmap_get(&p->traced, o))) {
        py_object *jit = py_import(p, (source_range){0}, "torch.jit"),
                  *save = jit ? py_getattr(p, (source_range){0}, jit, name) : NULL;
        return save ? py_method(p, o, save) : NULL;
    }
    if (strncmp(name, "__", 2)) return NULL;
    if (!strcmp(name, "__name__")) return py_text(p, f->def->name);
    if (!strcmp(name, "__qualname__")) return py_text(p, f->qualname);
    if (!strcmp(name, "__module__"))
        return py_text(p, f->module ? f->module->u.mod.name : "builtins");
    if (!strcmp(name, "__doc__")) {
        const char *doc = attribute_doc(f);
        return doc ? py_string(p, doc, strlen(doc)) : p->none;
    }
    if (!strcmp(name, "__dict__")) {
        if (!f->attrs) o->u.fn->attrs = py_dict_new(p);
        return py_dict_object(p, f->attrs);
    }
    if (!strcmp(name, "__defaults__")) {
        py_object *all = py_tuple(p, 0, NULL);
        for (size_t i = 0; i < f->def->params.len; i++)
            if (f->defaults && f->defaults[i] && !f->def->params.data[i].kwarg_only &&
                !py_append(p, all, f->defaults[i]))
                return NULL;
        return all->u.seq.items.len ? all : p->none;
    }
    if (!strcmp(name, "__globals__")) return py_dict_object(p, f->module->u.mod.globals);
    if (!strcmp(name, "__closure__")) return p->none;
    if (!strcmp(name, "__kwdefaults__")) {
        py_dict *d = py_dict_new(p);
        for (size_t i = 0; i < f->def->params.len; i++)
            if (f->defaults && f->defaults[i] && f->def->params.data[i].kwarg_only &&
                !py_dict_set(p, d, f->def->params.data[i].name, f->defaults[i]))
                return NULL;
        return d->len ? py_dict_object(p, d) : p->none;
    }
    if (!strcmp(name, "__code__")) {
        py_object *types = py_import(p, (source_range){0}, "types"), *names = py_tuple(p, 0, NULL);
        py_object *make = types ? py_getattr(p, (source_range){0}, types, "CodeType") : NULL,
                  *args[] = {o, py_text(p, f->def->name), names};
        for (size_t i = 0; make && i < f->def->params.len; i++) {
            py_object *text = py_text(p, f->def->params.data[i].name);
            if (!text || !py_append(p, names, text)) return NULL;
        }
        return make && names && args[1]
                   ? py_call(p, (source_range){0}, make, 3, args, 0, NULL, NULL)
                   : NULL;
    }
    if (!strcmp(name, "__annotations__")) {
        py_dict *d = py_dict_new(p);
        for (size_t i = 0; i < f->def->params.len; i++) {
            const expr *t = f->def->params.data[i].annotation;
            py_object *v = t ? py_annotation_object(p, f->closure, t) : NULL;
            if (t && (!v || !py_dict_set(p, d, f->def->params.data[i].name, v))) return NULL;
        }
        return py_dict_object(p, d);
    }
    return NULL;
}

static py_object *attribute_of_super(py *p, source_range r, const py_object *o, const char *name) {
    py_object *self = o->u.super.self;
    py_object *cls = self->kind == PY_CLASS ? self : (py_object *)py_class_of(p, self);
    const py_class *c = cls->u.cls;
    size_t i = 0;
    while (i < c->mro.len && c->mro.data[i] != o->u.super.cls) i++;
    for (i++; i < c->mro.len; i++) {
        py_object *found = py_dict_get(c->mro.data[i]->u.cls->attrs, name);
        if (found) return attribute_bind(p, r, found, self->kind == PY_CLASS ? NULL : self, cls);
    }
    return NULL;
}

static py_object *property_setter(PY_ARGS) {
    (void)nkw, (void)names, (void)kwargs;
    if (nargs != 1 || !self) return py_fail(p, r, "TypeError", "setter expects one function");
    py_object *o = py_new(p, PY_PROPERTY);
    o->u.property.getter = self->u.property.getter;
    o->u.property.setter = args[0];
    return o;
}

static py_object *property_getter(PY_ARGS) {
    (void)nkw, (void)names, (void)kwargs;
    if (nargs != 1 || !self) return py_fail(p, r, "TypeError", "getter expects one function");
    py_object *o = py_new(p, PY_PROPERTY);
    o->u.property.getter = args[0];
    o->u.property.setter = self->u.property.setter;
    return o;
}

static py_object *property_deleter(PY_ARGS) {
    (void)r, (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs, (void)p;
    return self;
}

static py_object *attribute_of_property(py *p, py_object *o, const char *name) {
    py_builtin_fn fn = !strcmp(name, "setter")    ? property_setter
                       : !strcmp(name, "getter")  ? property_getter
                       : !strcmp(name, "deleter") ? property_deleter
                                                  : NULL;
    if (fn) return py_method(p, o, py_builtin(p, name, fn));
    if (!strcmp(name, "fget")) return o->u.property.getter ? o->u.property.getter : p->none;
    if (!strcmp(name, "fset")) return o->u.property.setter ? o->u.property.setter : p->none;
    return NULL;
}

static py_object *attribute_of_tuple(py *p, source_range r, py_object *o, const char *name) {
    py_object *cls = o->u.seq.seq_cls;
    if (!cls) return NULL;
    int field = py_field_index(cls->u.cls, name);
    if (field >= 0 && (size_t)field < o->u.seq.items.len) return o->u.seq.items.data[field];
    py_object *found = py_class_find(cls, name);
    if (found) return attribute_bind(p, r, found, o, cls);
    return !strcmp(name, "__class__") ? cls : attribute_of_named_tuple(p, cls, name);
}

static const py_method_row *const attribute_tables[] = {py_container_methods, py_string_methods};

static bool py_method_of_type(py *p, const char *type, const char *name, py_object **out) {
    for (size_t t = 0; t < sizeof attribute_tables / sizeof *attribute_tables; t++)
        for (const py_method_row *m = attribute_tables[t]; m->type; m++)
            if (!strcmp(m->name, name) && !strcmp(m->type, type)) {
                *out = py_builtin(p, m->name, m->fn);
                (*out)->u.builtin.method = true;
                (*out)->u.builtin.of = m->type;
                return true;
            }
    return false;
}

/* Attributes of numbers, and the methods of the builtin types. */
static py_object *py_value_attribute(py *p, source_range r, py_object *o, const char *name) {
    if (o->kind == PY_VALUE &&
        (o->u.v.tag == V_TENSOR || o->u.v.tag == V_DEVICE || o->u.v.tag == V_CAPSULE))
        return p->library->tensor_attribute(p, r, o, name);
    if (o->kind == PY_SYMBOL) return p->library->tensor_attribute(p, r, o, name);
    const char *type = o->kind == PY_TUPLE ? "tuple" : py_type_name(o);
    py_object *fn = o->kind == PY_DICT && o->u.dict->attrs ? py_dict_get(o->u.dict->attrs, name)
                                                           : NULL;
    if (fn) return fn;
    if (py_method_of_type(p, type, name, &fn)) return py_method(p, o, fn);
    int64_t i;
    double f;
    int rank;
    if (o->kind == PY_VALUE && o->u.v.tag == V_COMPLEX) {
        const complex_box *c = o->u.v.u.complex;
        if (!strcmp(name, "real")) return py_float(p, c->re);
        if (!strcmp(name, "imag")) return py_float(p, c->im);
    } else if (py_number(o, &i, &f, &rank)) {
        if (!strcmp(name, "real")) return rank == 2 ? o : py_int(p, i);
        if (!strcmp(name, "imag")) return rank == 2 ? py_float(p, 0) : py_int(p, 0);
        if (rank < 2 && !strcmp(name, "numerator")) return py_int(p, i);
        if (rank < 2 && !strcmp(name, "denominator")) return py_int(p, 1);
    } else if (o->kind == PY_RANGE) {
        if (!strcmp(name, "start")) return py_int(p, o->u.range.start);
        if (!strcmp(name, "stop")) return py_int(p, o->u.range.stop);
        if (!strcmp(name, "step")) return py_int(p, o->u.range.step);
    } else if (o->kind == PY_SLICE) {
        if (!strcmp(name, "start")) return o->u.slice.start;
        if (!strcmp(name, "stop")) return o->u.slice.stop;
        if (!strcmp(name, "step")) return o->u.slice.step;
    }
    return NULL;
}

static py_object *attribute_of_method(py *p, source_range r, py_object *o, const char *name) {
    if (!strcmp(name, "__self__")) return o->u.method.self;
    if (!strcmp(name, "__func__")) return o->u.method.fn;
    return py_find(p, r, o->u.method.fn, name);
}

static py_object *attribute_of_builtin(py *p, const char *dotted, const char *name) {
    const char *dot = strrchr(dotted, '.');
    if (!dot) dot = strrchr(dotted, ':');
    if (!strcmp(name, "__name__") || !strcmp(name, "__qualname__"))
        return py_text(p, dot ? dot + 1 : dotted);
    if (!strcmp(name, "__module__")) return py_text(p, "builtins");
    static const char *const nothing[] = {"__doc__", "__defaults__", "__kwdefaults__"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (!strcmp(name, nothing[i])) return p->none;
    return NULL;
}

static py_object *attribute_of_type(py *p, const py_object *o, const char *name) {
    if (!strcmp(name, "__origin__")) return py_text(p, o->u.type.name);
    if (!strcmp(name, "__name__") || !strcmp(name, "_name")) return py_text(p, o->u.type.name);
    if (!strcmp(name, "__args__"))
        return py_tuple(p, o->u.type.nargs < 0 ? 0 : o->u.type.nargs, o->u.type.args);
    return NULL;
}

/* NULL without an error: there is none; with one: a property or __getattr__ failed. */
static py_object *attribute_find(py *p, source_range r, py_object *o, const char *name) {
    py_object *found = NULL;
    switch (o->kind) {
    case PY_INSTANCE: return attribute_of_instance(p, r, o, name);
    case PY_CLASS: return attribute_of_class(p, r, o, name);
    case PY_MODULE: return py_module_attribute(p, r, o, name);
    case PY_FUNCTION: found = attribute_of_function(p, o, name); break;
    case PY_METHOD: found = attribute_of_method(p, r, o, name); break;
    case PY_SUPER: return attribute_of_super(p, r, o, name);
    case PY_PROPERTY: found = attribute_of_property(p, o, name); break;
    case PY_STATICMETHOD:
    case PY_CLASSMETHOD:
        if (!strcmp(name, "__func__")) return o->u.fn_object;
        return py_find(p, r, o->u.fn_object, name);
    case PY_TUPLE:
        found = attribute_of_tuple(p, r, o, name);
        if (!found && !py_failed(p)) found = py_value_attribute(p, r, o, name);
        break;
    case PY_BUILTIN: found = attribute_of_builtin(p, o->u.builtin.name, name); break;
    case PY_OPERATOR: found = attribute_of_builtin(p, o->u.op_name, name); break;
    case PY_TYPE: found = attribute_of_type(p, o, name); break;
    default: found = py_value_attribute(p, r, o, name); break;
    }
    if (!found && !py_failed(p) && !strcmp(name, "__class__"))
        return (py_object *)py_class_of(p, o);
    return found;
}

py_object *py_find(py *p, source_range r, py_object *o, const char *name) {
    bool before = py_failed(p);
    py_object *found = attribute_find(p, r, o, name);
    if (!found && !before && py_failed(p)) (void)attribute_forgive(p);
    return found;
}

/* Did a __getattr__ that ctsc brings along say that there is no such attribute? */
static bool attribute_refused(const py *p) {
    if (!p->diag->exception || strcmp(p->diag->exception, "builtins.AttributeError")) return false;
    for (size_t i = 0; i < p->diag->items.len; i++) {
        const source *src = p->diag->items.data[i].range.src;
        if (p->diag->items.data[i].kind == DIAG_ERROR) return src && src->library;
    }
    return false;
}

static void attribute_missing(py *p, source_range r, const py_object *o, const char *name) {
    r = suggest_word(r, name);
    if (o->kind == PY_MODULE)
        py_fail(p, r, "AttributeError", "module '%s' has no attribute '%s'", o->u.mod.name, name);
    else if (o->kind == PY_CLASS)
        py_fail(p, r, "AttributeError", "type object '%s' has no attribute '%s'", o->u.cls->name,
                name);
    else
        py_fail(p, r, "AttributeError", "'%s' object has no attribute '%s'", py_type_name(o), name);
    py_suggest_attribute(p, o, name);
}

py_object *py_getattr(py *p, source_range r, py_object *o, const char *name) {
    bool before = py_failed(p);
    py_object *found = attribute_find(p, r, o, name);
    if (found || (py_failed(p) && (before || !attribute_refused(p)))) return found;
    if (py_failed(p)) {
        diag_clear(p->diag);
        p->raised = NULL;
    }
    attribute_missing(p, r, o, name);
    return NULL;
}

/* ---- assignment ------------------------------------------------------------------------------ */

bool py_set_plain(py *p, source_range r, py_object *o, const char *name, py_object *v) {
    switch (o->kind) {
    case PY_INSTANCE: {
        py_object *found = py_class_find(o->u.inst.cls, name);
        if (found && found->kind == PY_PROPERTY) {
            if (!found->u.property.setter) {
                py_fail(p, r, "AttributeError", "can't set attribute '%s'", name);
                return false;
            }
            return py_call2(p, r, found->u.property.setter, o, v) != NULL;
        }
        if (!strcmp(name, "__class__") && v->kind == PY_CLASS) {
            o->u.inst.cls = v;
            return true;
        }
        if (found && found->kind == PY_INSTANCE) {
            py_object *set = py_class_find(found->u.inst.cls, "__set__"), *args[] = {found, o, v};
            if (set) return py_call(p, r, set, 3, args, 0, NULL, NULL) != NULL;
        }
        return py_dict_set(p, o->u.inst.attrs, name, v);
    }
    case PY_CLASS:
        if (!o->u.cls->module) break;
        if (o->u.cls->kind == PYC_NAMED_TUPLE && v->kind == PY_DICT &&
            !strcmp(name, "__annotations__"))
            return p->library->named_tuple_annotate(p, r, o, v);
        return py_dict_set(p, o->u.cls->attrs, name, v);
    case PY_MODULE:
        if (!p->library->module_assigned(p, r, o, name, v)) return false;
        return py_dict_set(p, o->u.mod.globals, name, v);
    case PY_FUNCTION:
        if (!o->u.fn->attrs) o->u.fn->attrs = py_dict_new(p);
        return py_dict_set(p, o->u.fn->attrs, name, v);
    case PY_BUILTIN:
        /* of a dataclass's __init__ */
        if (o->u.builtin.cls && !strcmp(name, "__doc__")) return true;
        break;
    case PY_DICT:
        if (!o->u.dict->attrs) o->u.dict->attrs = py_dict_new(p);
        return py_dict_set(p, o->u.dict->attrs, name, v);
    case PY_SUPER: return py_set_plain(p, r, o->u.super.self, name, v);
    case PY_VALUE:
        if (o->u.v.tag == V_TENSOR) return p->library->tensor_setattr(p, r, o, name, v);
        break;
    default: break;
    }
    if (o->kind == PY_CLASS)
        py_fail(p, r, "TypeError", "can't set attributes of built-in/extension type '%s'",
                o->u.cls->name);
    else if (py_find(p, r, o, name))
        py_fail(p, r, "AttributeError", "'%s' object attribute '%s' is read-only", py_type_name(o),
                name);
    else
        py_fail(p, r, "AttributeError", "'%s' object has no attribute '%s'", py_type_name(o), name);
    return false;
}

/* What a class statement itself defines, kept separate
 * from `object`, whose methods are the default ones. */
static py_object *attribute_hook(py *p, const py_object *o, const char *name) {
    if (o->kind != PY_INSTANCE) return NULL;
    py_object *found = py_class_find(o->u.inst.cls, name);
    return found && found != py_dict_get(p->object_class->u.cls->attrs, name) ? found : NULL;
}

bool py_setattr(py *p, source_range r, py_object *o, const char *name, py_object *v) {
    py_object *hook = attribute_hook(p, o, "__setattr__");
    if (!hook) return py_set_plain(p, r, o, name, v);
    py_object *args[] = {o, py_text(p, name), v};
    return args[1] && py_call(p, r, hook, 3, args, 0, NULL, NULL);
}

bool py_delattr(py *p, source_range r, py_object *o, const char *name) {
    py_object *hook = attribute_hook(p, o, "__delattr__"), *text = py_text(p, name);
    if (!text) return false;
    if (hook) return py_call2(p, r, hook, o, text) != NULL;
    py_dict *d = o->kind == PY_INSTANCE   ? o->u.inst.attrs
                 : o->kind == PY_CLASS    ? o->u.cls->attrs
                 : o->kind == PY_MODULE   ? o->u.mod.globals
                 : o->kind == PY_FUNCTION ? o->u.fn->attrs
                 : o->kind == PY_VALUE    ? o->u.value_attrs
                                          : NULL;
    if (d && py_dict_remove(p, d, text)) return true;
    py_fail(p, r, "AttributeError", "'%s' object has no attribute '%s'", py_type_name(o), name);
    return false;
}
