/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_reflect.c - the builtins about objects themselves: isinstance, getattr, type, super, property,
 * print, and the methods of the class `object`.
 *
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

/* ---- attributes, classes --------------------------------------------------------------------- */

static bool reflect_is_class(const py *p, const py_object *o) {
    if (o->kind != PY_TUPLE)
        return o->kind == PY_CLASS || o->kind == PY_TYPE || py_is_none(o) ||
               p->library->is_lacking(o);
    for (size_t i = 0; i < o->u.seq.items.len; i++)
        if (!reflect_is_class(p, o->u.seq.items.data[i])) return false;
    return true;
}

static py_object *reflect_isinstance(PY_ARGS) {
    py_object *a[2];
    (void)self;
    PY_TAKE("isinstance", "obj class_or_tuple", a);
    if (reflect_is_class(p, a[1])) return py_bool(p, py_isinstance(p, a[0], a[1]));
    return py_fail(p, r, "TypeError",
                   "isinstance() arg 2 must be a type, a tuple of types, or a union");
}

/* Named tuples, and torch.Size, are tuples. */
static bool reflect_derives(const py_object *cls, const py_object *base) {
    const py_class *c = cls->u.cls;
    bool tuple = base->kind == PY_CLASS && !base->u.cls->module &&
                 !strcmp(base->u.cls->name, "tuple");
    return py_is_subclass(cls, base) ||
           (tuple && (c->kind == PYC_NAMED_TUPLE || (c->module && !strcmp(c->name, "Size"))));
}

static py_object *reflect_issubclass(PY_ARGS) {
    py_object *a[2];
    (void)self;
    PY_TAKE("issubclass", "cls class_or_tuple", a);
    if (a[0]->kind != PY_CLASS)
        return py_fail(p, r, "TypeError", "issubclass() arg 1 must be a class");
    if (a[1]->kind != PY_TUPLE) return py_bool(p, reflect_derives(a[0], a[1]));
    for (size_t i = 0; i < a[1]->u.seq.items.len; i++)
        if (reflect_derives(a[0], a[1]->u.seq.items.data[i])) return p->true_;
    return p->false_;
}

static const char *reflect_name(py *p, source_range r, const char *function, const py_object *o) {
    const str *s = py_str_of(o);
    if (!s)
        return py_fail(p, r, "TypeError", "%s(): attribute name must be string", function), NULL;
    return intern_n(p->names, s->bytes, s->len);
}

static py_object *reflect_hasattr(PY_ARGS) {
    py_object *a[2];
    (void)self;
    PY_TAKE("hasattr", "obj name", a);
    const char *name = reflect_name(p, r, "hasattr", a[1]);
    py_object *o = name ? py_find(p, r, a[0], name) : NULL;
    return py_failed(p) ? NULL : py_bool(p, o != NULL);
}

static py_object *reflect_getattr(PY_ARGS) {
    py_object *a[3];
    (void)self;
    PY_TAKE("getattr", "obj name default?", a);
    const char *name = reflect_name(p, r, "getattr", a[1]);
    if (!name) return NULL;
    if (!a[2]) return py_getattr(p, r, a[0], name);
    py_object *o = py_find(p, r, a[0], name);
    return o || py_failed(p) ? o : a[2];
}

static py_object *reflect_setattr(PY_ARGS) {
    py_object *a[3];
    (void)self;
    PY_TAKE("setattr", "obj name value", a);
    const char *name = reflect_name(p, r, "setattr", a[1]);
    return name && py_setattr(p, r, a[0], name, a[2]) ? p->none : NULL;
}

static py_object *reflect_delattr(PY_ARGS) {
    py_object *a[2];
    (void)self;
    PY_TAKE("delattr", "obj name", a);
    const char *name = reflect_name(p, r, "delattr", a[1]);
    return name && py_delattr(p, r, a[0], name) ? p->none : NULL;
}

static py_object *reflect_callable(PY_ARGS) {
    py_object *a[1];
    (void)self;
    PY_TAKE("callable", "obj", a);
    switch (a[0]->kind) {
    case PY_FUNCTION:
    case PY_METHOD:
    case PY_BUILTIN:
    case PY_OPERATOR:
    case PY_CLASS: return p->true_;
    case PY_INSTANCE: return py_bool(p, py_class_find(a[0]->u.inst.cls, "__call__") != NULL);
    default: return p->false_;
    }
}

static py_object *reflect_id(PY_ARGS) {
    py_object *a[1];
    (void)self;
    PY_TAKE("id", "obj", a);
    const py_object *o = a[0];
    bool counted = o->kind == PY_VALUE && value_is_counted(o->u.v);
    return py_int(p, (int64_t)(uintptr_t)(counted              ? (const void *)o->u.v.u.refs
                                          : o->kind == PY_DICT ? (const void *)o->u.dict
                                                               : o));
}

static py_object *reflect_hash(PY_ARGS) {
    py_object *a[1];
    uint64_t hash;
    (void)self;
    PY_TAKE("hash", "obj", a);
    py_object *own = py_find_special(p, a[0], "__hash__");
    if (own || py_failed(p)) return own ? py_call0(p, r, own) : NULL;
    return py_hash(p, r, a[0], &hash) ? py_int(p, (int64_t)(hash >> 1)) : NULL;
}

/* type(name, bases, dict) */
static py_object *reflect_new_type(py *p, source_range r, py_object *const *a) {
    const char *name = reflect_name(p, r, "type", a[0]);
    if (!name) return NULL;
    if (a[1]->kind != PY_TUPLE || a[2]->kind != PY_DICT)
        return py_fail(p, r, "TypeError", "type() expects a tuple and a dict");
    py_object *o = py_new(p, PY_CLASS);
    py_class *c = o->u.cls = arena_new(p->a, py_class);
    c->name = name;
    c->module = p->env ? p->env->module : p->builtins;
    c->env = p->env;
    c->attrs = py_dict_new(p);
    for (size_t i = 0; i < a[1]->u.seq.items.len; i++) {
        py_object *base = a[1]->u.seq.items.data[i];
        if (base->kind != PY_CLASS)
            return py_fail(p, r, "TypeError", "the bases of a class must be classes");
        (void)avec_push(p->a, &c->bases, base);
    }
    return py_dict_merge(p, r, c->attrs, a[2]) && py_class_finish(p, r, o) ? o : NULL;
}

static py_object *make_type(PY_ARGS) {
    py_object *a[3];
    (void)self;
    PY_TAKE("type", "object bases? dict?", a);
    if (a[1] && a[2]) return reflect_new_type(p, r, a);
    return (py_object *)py_class_of(p, a[0]);
}

/* super(), super(cls, self) */
static py_object *make_super(PY_ARGS) {
    py_object *a[2];
    (void)self;
    PY_TAKE("super", "type? obj?", a);
    py_object *o = py_new(p, PY_SUPER);
    if (a[0] && a[1]) {
        if (a[0]->kind != PY_CLASS)
            return py_fail(p, r, "TypeError", "super() argument 1 must be a type");
        const py_object *of = a[1]->kind == PY_CLASS ? a[1] : py_class_of(p, a[1]);
        if (!py_is_subclass(of, a[0]))
            return py_fail(p, r, "TypeError",
                           "super(type, obj): obj must be an instance or subtype of type");
        o->u.super.cls = a[0];
        o->u.super.self = a[1];
        return o;
    }
    const py_env *env = p->env;
    while (env && !(env->def && env->cls)) env = env->outer;
    if (!env || env->def->params.len == 0)
        return py_fail(p, r, "RuntimeError", "super(): no arguments");
    o->u.super.cls = env->cls;
    o->u.super.self = py_dict_get(env->vars, env->def->params.data[0].name);
    return o->u.super.self ? o : py_fail(p, r, "RuntimeError", "super(): arg[0] deleted");
}

static py_object *make_property(PY_ARGS) {
    py_object *a[4];
    (void)self;
    PY_TAKE("property", "fget? fset? fdel? doc?", a);
    py_object *o = py_new(p, PY_PROPERTY);
    o->u.property.getter = a[0] && !py_is_none(a[0]) ? a[0] : NULL;
    o->u.property.setter = a[1] && !py_is_none(a[1]) ? a[1] : NULL;
    return o;
}

static py_object *reflect_wrap(PY_ARGS, const char *name, py_kind k) {
    py_object *a[1], *o = py_new(p, k);
    (void)self;
    PY_TAKE(name, "function", a);
    o->u.fn_object = a[0];
    return o;
}

static py_object *make_staticmethod(PY_ARGS) {
    return reflect_wrap(p, r, self, nargs, args, nkw, names, kwargs, "staticmethod",
                        PY_STATICMETHOD);
}

static py_object *make_classmethod(PY_ARGS) {
    return reflect_wrap(p, r, self, nargs, args, nkw, names, kwargs, "classmethod", PY_CLASSMETHOD);
}

/* ---- scopes, output -------------------------------------------------------------------------- */

static py_object *reflect_vars(PY_ARGS) {
    py_object *a[1];
    (void)self;
    PY_TAKE("vars", "object?", a);
    if (!a[0]) return py_dict_object(p, py_function_env(p->env)->vars);
    if (a[0]->kind == PY_MODULE) return py_dict_object(p, a[0]->u.mod.globals);
    return py_getattr(p, r, a[0], "__dict__");
}

static py_object *reflect_globals(PY_ARGS) {
    (void)self;
    PY_TAKE("globals", "", NULL);
    return py_dict_object(p, p->env->module->u.mod.globals);
}

static py_object *reflect_import(PY_ARGS) {
    py_object *a[5];
    (void)self;
    PY_TAKE("__import__", "name globals? locals? fromlist? level?", a);
    const char *name = reflect_name(p, r, "__import__", a[0]);
    if (!name || !py_import(p, r, name)) return NULL;
    return py_import(p, r, a[3] ? name : intern_n(p->names, name, strcspn(name, ".")));
}

static bool reflect_dir_add(py *p, py_object *set, const py_dict *d) {
    for (size_t i = 0; d && i < d->entries.len; i++)
        if (d->entries.data[i].key &&
            !py_set_add(p, (source_range){0}, set, d->entries.data[i].key))
            return false;
    return true;
}

static py_object *reflect_dir(PY_ARGS) {
    py_object *a[1], *set = py_set_new(p);
    (void)self;
    PY_TAKE("dir", "object?", a);
    const py_object *o = a[0], *cls = o && o->kind == PY_INSTANCE ? o->u.inst.cls
                                      : o && o->kind == PY_CLASS  ? o
                                                                  : NULL;
    bool ok = reflect_dir_add(p, set,
                              !o                       ? p->env->vars
                              : o->kind == PY_MODULE   ? o->u.mod.globals
                              : o->kind == PY_INSTANCE ? o->u.inst.attrs
                                                       : NULL);
    for (size_t i = 0; ok && cls && i < cls->u.cls->mro.len; i++)
        ok = reflect_dir_add(p, set, cls->u.cls->mro.data[i]->u.cls->attrs);
    return ok ? py_sorted(p, r, NULL, 1, &set, 0, NULL, NULL) : NULL;
}

static py_object *reflect_print(PY_ARGS) {
    const char *sep = " ", *end = "\n";
    (void)self;
    for (int i = 0; i < nkw; i++) {
        const char *text = py_as_text(kwargs[i]);
        if (!strcmp(names[i], "sep") && text) sep = text;
        if (!strcmp(names[i], "end") && text) end = text;
    }
    strbuf out = STRBUF_INIT;
    bool ok = true;
    for (int i = 0; ok && i < nargs; i++) {
        if (i) sb_puts(&out, sep);
        ok = py_str(p, r, args[i], false, &out);
    }
    sb_puts(&out, end);
    if (ok && out.failed) diag_no_memory(p->diag);
    if (ok && p->host.print && !out.failed) p->host.print(p->host.ctx, sb_str(&out), out.len);
    sb_free(&out);
    return py_failed(p) ? NULL : p->none;
}

/* ---- the class object ------------------------------------------------------------------------ */

static py_object *object_init(PY_ARGS) {
    (void)r, (void)self, (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs;
    return p->none;
}

static py_object *object_init_subclass(PY_ARGS) {
    (void)names, (void)kwargs;
    const py_object *cls = nargs ? args[0] : self;
    const char *name = cls && cls->kind == PY_CLASS ? cls->u.cls->name : "object";
    if (!nkw) return p->none;
    return py_fail(p, r, "TypeError", "%s.__init_subclass__() takes no keyword arguments", name);
}

static py_object *object_make(PY_ARGS) {
    (void)self, (void)nkw, (void)names, (void)kwargs;
    if (nargs < 1 || args[0]->kind != PY_CLASS)
        return py_fail(p, r, "TypeError", "object.__new__(X): X is not a type object");
    py_object *cls = args[0];
    if (cls->u.cls->kind != PYC_NAMED_TUPLE) return py_instance(p, cls);
    py_object *o = py_tuple(p, nargs - 1, args + 1);
    if (o) o->u.seq.seq_cls = cls;
    return o;
}

static py_object *object_setattr(PY_ARGS) {
    py_object *a[2];
    PY_TAKE("__setattr__", "name value", a);
    const char *name = reflect_name(p, r, "__setattr__", a[0]);
    return name && py_set_plain(p, r, self, name, a[1]) ? p->none : NULL;
}

static py_object *object_delattr(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("__delattr__", "name", a);
    if (self->kind == PY_INSTANCE && py_dict_remove(p, self->u.inst.attrs, a[0])) return p->none;
    const char *name = reflect_name(p, r, "__delattr__", a[0]);
    return name ? py_fail(p, r, "AttributeError", "%s", name) : NULL;
}

/* Without __getattr__. */
static py_object *object_getattribute(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("__getattribute__", "name", a);
    const char *name = reflect_name(p, r, "__getattribute__", a[0]);
    if (!name) return NULL;
    if (self->kind != PY_INSTANCE) return py_getattr(p, r, self, name);
    py_object *o = py_find_plain(p, r, self, name);
    return o || py_failed(p) ? o
                             : py_fail(p, r, "AttributeError", "'%s' object has no attribute '%s'",
                                       py_type_name(self), name);
}

static py_object *object_repr(PY_ARGS) {
    PY_TAKE("__repr__", "", NULL);
    strbuf out = STRBUF_INIT;
    if (self->kind == PY_INSTANCE)
        sb_printf(&out, "<%s object at %p>", self->u.inst.cls->u.cls->name, (void *)self);
    else if (self->kind == PY_TUPLE ? !py_tuple_repr(p, r, self, &out)
                                    : !py_str(p, r, self, true, &out))
        return sb_free(&out), NULL;
    return py_from_buffer(p, &out);
}

static py_object *object_eq(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("__eq__", "other", a);
    return py_same(self, a[0]) ? p->true_ : p->not_implemented;
}

static py_object *object_ne(PY_ARGS) {
    py_object *a[1];
    PY_TAKE("__ne__", "other", a);
    return py_same(self, a[0]) ? p->false_ : p->not_implemented;
}

static py_object *object_hash(PY_ARGS) {
    PY_TAKE("__hash__", "", NULL);
    return py_int(p, (int64_t)((uintptr_t)self >> 4));
}

static py_object *object_dir(PY_ARGS) {
    return nargs ? py_fail(p, r, "TypeError", "__dir__() takes no arguments")
                 : reflect_dir(p, r, NULL, 1, &self, nkw, names, kwargs);
    (void)args;
}

/* ---- inspect (prelude/inspect.py) ------------------------------------------------------------ */

/* A function, or the dataclass whose __init__ it would be. */
static py_object *reflect_function_of(py_object *o, bool *bound) {
    if (o->kind == PY_CLASS) {
        *bound = true;
        o = py_class_find(o, "__init__");
    }
    if (o && o->kind == PY_INSTANCE) {
        *bound = true;
        o = py_class_find(o->u.inst.cls, "__call__");
    }
    if (o && o->kind == PY_METHOD) {
        *bound = true;
        o = o->u.method.fn;
    }
    if (o && (o->kind == PY_STATICMETHOD || o->kind == PY_CLASSMETHOD)) o = o->u.fn_object;
    /* functools.wraps */
    for (int i = 0; i < 16 && o && o->kind == PY_FUNCTION && o->u.fn->attrs; i++) {
        py_object *inner = py_dict_get(o->u.fn->attrs, "__wrapped__");
        if (!inner) break;
        o = inner;
    }
    if (o && o->kind == PY_BUILTIN && o->u.builtin.cls) return o->u.builtin.cls;
    return o && o->kind == PY_FUNCTION && o->u.fn->def ? o : NULL;
}

/* Of a dataclass or named tuple; none of other classes without __init__. */
static py_object *reflect_field_parameters(py *p, const py_class *c, py_object *empty) {
    py_object *list = py_list(p, 0, NULL);
    for (size_t i = 0; list && i < c->fields.len; i++) {
        py_object *row[] = {py_text(p, c->fields.data[i]), py_int(p, 1),
                            c->field_defaults[i] ? c->field_defaults[i] : empty};
        py_object *one = row[0] && row[1] ? py_tuple(p, 3, row) : NULL;
        if (!one || !py_append(p, list, one)) return NULL;
    }
    return list;
}

/* _parameters(o, bound, empty): (name, kind, default) of each; without self where o is
 * bound, if so wanted. */
static py_object *reflect_parameters(PY_ARGS) {
    py_object *a[3];
    (void)self;
    PY_TAKE("signature", "obj bound empty", a);
    bool bound = false, drop = false;
    const py_object *fn = reflect_function_of(a[0], &bound);
    if (!fn && a[0]->kind == PY_CLASS) fn = a[0];
    if (fn && fn->kind == PY_CLASS) return reflect_field_parameters(p, fn->u.cls, a[2]);
    if (!fn)
        return py_fail(p, r, "ValueError", "no signature found for an object of type '%s'",
                       py_type_name(a[0]));
    if (!py_truth(p, r, a[1], &drop)) return NULL;
    const func_def *def = fn->u.fn->def;
    py_object *list = py_list(p, 0, NULL);
    for (size_t i = bound && drop; list && i < def->params.len; i++) {
        const param *q = &def->params.data[i];
        if (q->star && !q->name) continue;
        py_object *given = fn->u.fn->defaults ? fn->u.fn->defaults[i] : NULL;
        py_object *row[] = {py_text(p, q->name),
                            py_int(p, q->star         ? 2
                                      : q->star_star  ? 4
                                      : q->kwarg_only ? 3
                                                      : 1),
                            given ? given : a[2]};
        py_object *one = row[0] && row[1] ? py_tuple(p, 3, row) : NULL;
        if (!one || !py_append(p, list, one)) return NULL;
    }
    return list;
}

/* Of a module its file, of a function or class its definition. */
static py_object *reflect_source(PY_ARGS) {
    py_object *a[1];
    (void)self;
    PY_TAKE("getsource", "object", a);
    const py_object *o = a[0]->kind == PY_METHOD ? a[0]->u.method.fn : a[0];
    source_range at = {0};
    if (o->kind == PY_MODULE && o->u.mod.src)
        at = (source_range){o->u.mod.src, 0, (uint32_t)o->u.mod.src->len};
    if (o->kind == PY_FUNCTION && o->u.fn->def) at = o->u.fn->def->range;
    if (o->kind == PY_CLASS && o->u.cls->def) at = o->u.cls->def->range;
    return at.src ? py_string(p, at.src->text + at.begin, at.end - at.begin)
                  : py_fail(p, r, "OSError", "could not get source code");
}

static py_object *reflect_kind(PY_ARGS) {
    py_object *a[1];
    (void)self;
    PY_TAKE("kind", "obj", a);
    switch (a[0]->kind) {
    case PY_MODULE: return py_text(p, "module");
    case PY_FUNCTION: return py_text(p, "function");
    case PY_METHOD: return py_text(p, "method");
    case PY_BUILTIN:
    case PY_OPERATOR: return py_text(p, "builtin");
    default: return py_text(p, "other");
    }
}

enum { INSPECT_FRAMES = 64 };

/* _frames(): name, locals and globals of what runs, the innermost first. */
static py_object *inspect_frames(PY_ARGS) {
    py_object *frames[INSPECT_FRAMES];
    size_t n = 0;
    (void)self;
    PY_TAKE("_frames", "", NULL);
    for (const py_env *env = p->frame; env && n < INSPECT_FRAMES; env = env->caller) {
        const char *name = env->qualname ? env->qualname : "<module>", *dot = strrchr(name, '.');
        py_dict *globals = env->module->u.mod.globals;
        py_object *parts[] = {py_text(p, dot ? dot + 1 : name),
                              py_dict_object(p, env->vars ? env->vars : globals),
                              py_dict_object(p, globals)};
        frames[n++] = py_tuple(p, 3, parts);
    }
    return py_list(p, n, frames);
}

const py_row py_inspect_rows[] = {
    {"inspect._frames", inspect_frames},
    {"inspect._parameters", reflect_parameters},
    {"inspect._kind", reflect_kind},
    {"inspect.getsource", reflect_source},
    {NULL, NULL},
};

static const py_method_row py_object_methods[] = {
    {"object", "__init__", object_init},
    {"object", "__setattr__", object_setattr},
    {"object", "__delattr__", object_delattr},
    {"object", "__getattribute__", object_getattribute},
    {"object", "__repr__", object_repr},
    {"object", "__str__", object_repr},
    {"object", "__eq__", object_eq},
    {"object", "__ne__", object_ne},
    {"object", "__hash__", object_hash},
    {"object", "__dir__", object_dir},
    {"object", "__init_subclass__", object_init_subclass},
    {0},
};

/* Where eval() and exec() look for names: in the dicts they were given, else where they are
 * called. */
static py_env *reflect_eval_env(py *p, py_object *const *a) {
    bool globals = a[1] && !py_is_none(a[1]), locals = a[2] && !py_is_none(a[2]);
    if ((globals && a[1]->kind != PY_DICT) || (locals && a[2]->kind != PY_DICT)) return NULL;
    if (!globals && !locals) return p->env;
    py_env *env = arena_new(p->a, py_env);
    *env = (py_env){.module = p->env->module};
    if (globals) {
        env->module = py_new(p, PY_MODULE);
        env->module->u.mod.name = "<string>";
        env->module->u.mod.globals = a[1]->u.dict;
    }
    env->vars = a[locals ? 2 : 1]->u.dict;
    return env;
}

/* eval() of an expression's text, exec() of statements'. */
static py_object *reflect_text(py *p, source_range r, py_object *const *a, bool statements) {
    const char *text = py_as_text(a[0]);
    if (!text)
        return py_fail(p, r, "TypeError", "%s() arg 1 must be a string, bytes or code object",
                       statements ? "exec" : "eval");
    while (!statements && (*text == ' ' || *text == '\t')) text++;
    size_t n = strlen(text);
    source *src = source_new("<string>", text, n);
    expr *x = NULL;
    stmt_list *body = arena_new(p->a, stmt_list);
    if (!py_hold_source(p, src) || !body) return NULL;
    ctsc_status st = statements
                         ? parse_module(p->diag, p->a, p->names, src, body)
                         : parse_expression(p->diag, p->a, p->names, src, 0, (uint32_t)n, &x);
    if (st != CTSC_OK) {
        if (p->diag->status == CTSC_FAILED) py_name_exception(p, "builtins.SyntaxError");
        return NULL;
    }
    py_env *env = reflect_eval_env(p, a);
    if (!env) return py_fail(p, r, "TypeError", "globals must be a dict");
    if (!statements) return py_eval(p, env, x);
    return py_exec(p, env, body) ? p->none : NULL;
}
static py_object *reflect_eval(PY_ARGS) {
    py_object *a[3];
    (void)self;
    PY_TAKE("eval", "source globals? locals?", a);
    return reflect_text(p, r, a, false);
}
static py_object *reflect_exec(PY_ARGS) {
    py_object *a[3];
    (void)self;
    PY_TAKE("exec", "source globals? locals?", a);
    return reflect_text(p, r, a, true);
}

/* open(): a module of the prelude has it. */
static py_object *reflect_open(PY_ARGS) {
    py_object *home = py_import(p, r, "_files"), *fn = home ? py_getattr(p, r, home, "open") : NULL;
    (void)self;
    return fn ? py_call(p, r, fn, nargs, args, nkw, names, kwargs) : NULL;
}

static const struct {
    const char *name;
    py_builtin_fn fn;
} reflect_types[] = {
    {"type", make_type},
    {"super", make_super},
    {"property", make_property},
    {"staticmethod", make_staticmethod},
    {"classmethod", make_classmethod},
};

static const struct {
    const char *name;
    py_builtin_fn fn;
} reflect_functions[] = {
    {"isinstance", reflect_isinstance},
    {"issubclass", reflect_issubclass},
    {"hasattr", reflect_hasattr},
    {"getattr", reflect_getattr},
    {"setattr", reflect_setattr},
    {"delattr", reflect_delattr},
    {"callable", reflect_callable},
    {"id", reflect_id},
    {"hash", reflect_hash},
    {"vars", reflect_vars},
    {"locals", reflect_vars},
    {"globals", reflect_globals},
    {"dir", reflect_dir},
    {"print", reflect_print},
    {"open", reflect_open},
    {"eval", reflect_eval},
    {"exec", reflect_exec},
    {"__import__", reflect_import},
};

bool py_objects_init(py *p) {
    for (const py_method_row *m = py_object_methods; m->type; m++) {
        py_object *fn = py_builtin(p, m->name, m->fn);
        fn->u.builtin.method = true;
        if (!strcmp(m->name, "__init_subclass__")) {
            py_object *wrapped = py_new(p, PY_CLASSMETHOD);
            wrapped->u.fn_object = fn;
            fn = wrapped;
        }
        if (!py_dict_set(p, p->object_class->u.cls->attrs, m->name, fn)) return false;
    }
    if (!py_dict_set(p, p->object_class->u.cls->attrs, "__new__",
                     py_builtin(p, "__new__", object_make)))
        return false;
    return true;
}

py_object *py_reflect_make(py *p, const char *name) {
    for (size_t i = 0; i < sizeof reflect_types / sizeof *reflect_types; i++) {
        if (strcmp(reflect_types[i].name, name)) continue;
        py_object *cls = py_class_new(p, NULL, reflect_types[i].name, 0, NULL, PYC_BUILTIN);
        if (cls) cls->u.cls->make = reflect_types[i].fn;
        return cls;
    }
    for (size_t i = 0; i < sizeof reflect_functions / sizeof *reflect_functions; i++)
        if (!strcmp(reflect_functions[i].name, name))
            return py_builtin(p, reflect_functions[i].name, reflect_functions[i].fn);
    return NULL;
}
