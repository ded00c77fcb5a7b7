/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_class.c - class statements, making instances, enums, named tuples, and exceptions.
 *
 * The order of bases is Python's (C3). A class takes its kind from its bases; that of torch.nn's
 * Module starts with the class itself, which the prelude defines.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

/* ---- method resolution order ----------------------------------------------------------------- */

enum { CLASS_MAX_BASES = 32, CLASS_MAX_MRO = 256 };

typedef struct class_row {
    py_object **data;
    size_t len;
} class_row;

static bool class_in_tail(const class_row *rows, size_t n, const py_object *c) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 1; k < rows[i].len; k++)
            if (rows[i].data[k] == c) return true;
    return false;
}

/* The next class of the merged order: the first head that is in no tail; NULL: none. */
static py_object *class_next(const class_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].len && !class_in_tail(rows, n, rows[i].data[0])) return rows[i].data[0];
    return NULL;
}

static bool class_merge(py *p, source_range r, py_object *cls) {
    py_class *c = cls->u.cls;
    class_row rows[CLASS_MAX_BASES + 1];
    size_t n = 0, left = 0;
    for (; n < c->bases.len; n++)
        rows[n] = (class_row){c->bases.data[n]->u.cls->mro.data, c->bases.data[n]->u.cls->mro.len};
    rows[n++] = (class_row){c->bases.data, c->bases.len};
    (void)avec_push(p->a, &c->mro, cls);
    for (size_t i = 0; i < n; i++) left += rows[i].len;
    while (left > 0) {
        py_object *next = class_next(rows, n);
        if (!next) {
            py_fail(p, r, "TypeError",
                    "Cannot create a consistent method resolution order (MRO) for bases of '%s'",
                    c->name);
            return false;
        }
        if (c->mro.len >= CLASS_MAX_MRO) {
            py_fail(p, r, "RecursionError", "class '%s' has too many bases", c->name);
            return false;
        }
        (void)avec_push(p->a, &c->mro, next);
        for (size_t i = 0; i < n; i++)
            if (rows[i].len && rows[i].data[0] == next) {
                rows[i].data++;
                rows[i].len--;
                left--;
            }
    }
    return py_memory(p);
}

static void class_inherit(py_class *c) {
    for (size_t i = 0; i < c->bases.len; i++) {
        const py_class *b = c->bases.data[i]->u.cls;
        c->is_module = c->is_module || b->is_module;
        if (c->kind == PYC_PLAIN && (b->kind == PYC_MODULE || b->kind == PYC_ENUM ||
                                     b->kind == PYC_NAMED_TUPLE || b->kind == PYC_EXCEPTION))
            c->kind = b->kind;
        if (b->fields.len && !c->fields.len && !c->is_dataclass && b->kind == PYC_NAMED_TUPLE) {
            memcpy(&c->fields, &b->fields, sizeof c->fields);
            c->fields.cap = c->fields.len; /* shared: grows by copying */
            c->field_defaults = b->field_defaults;
            c->field_types = b->field_types;
        }
    }
    bool is_root = c->module && !strcmp(c->module->u.mod.name, "torch.nn.modules.module") &&
                   !strcmp(c->name, "Module");
    if (is_root) c->kind = PYC_MODULE;
    c->is_module = c->is_module || c->kind == PYC_MODULE;
}

bool py_class_finish(py *p, source_range r, py_object *cls) {
    py_class *c = cls->u.cls;
    if (c->bases.len > CLASS_MAX_BASES) {
        py_fail(p, r, "TypeError", "class '%s' has too many bases", c->name);
        return false;
    }
    for (size_t i = 0; i < c->bases.len; i++)
        for (size_t k = 0; k < i; k++)
            if (c->bases.data[i] == c->bases.data[k]) {
                py_fail(p, r, "TypeError", "duplicate base class %s",
                        c->bases.data[i]->u.cls->name);
                return false;
            }
    if (c->bases.len == 0 && p->object_class && cls != p->object_class)
        (void)avec_push(p->a, &c->bases, p->object_class);
    class_inherit(c);
    if (!class_merge(p, r, cls)) return false;
    for (size_t i = 0; i < c->bases.len; i++)
        if (!avec_push(p->a, &c->bases.data[i]->u.cls->subclasses, cls))
            return diag_no_memory(p->diag), false;
    return true;
}

py_object *py_class_new(py *p, py_object *module, const char *name, int nbases, py_object **bases,
                        py_class_kind k) {
    py_object *o = py_new(p, PY_CLASS);
    py_class *c = o->u.cls = arena_new(p->a, py_class);
    c->name = name;
    c->module = module;
    c->kind = k;
    c->attrs = py_dict_new(p);
    for (int i = 0; i < nbases; i++) (void)avec_push(p->a, &c->bases, bases[i]);
    if (!py_class_finish(p, (source_range){0}, o)) return NULL;
    c->kind = k;
    py_object *into = module ? module : p->builtins;
    return !into || py_dict_set(p, into->u.mod.globals, name, o) ? o : NULL;
}

/* ---- fields of named tuples ------------------------------------------------------------------ */

static bool class_take_fields(py *p, source_range r, py_object *cls) {
    py_class *c = cls->u.cls;
    size_t n = c->annotations.len;
    if (n == 0) return true;
    memset(&c->fields, 0, sizeof c->fields);
    c->field_defaults = arena_array(p->a, py_object *, n);
    c->field_types = arena_array(p->a, const expr *, n);
    if (!c->field_defaults || !c->field_types) return diag_no_memory(p->diag), false;
    for (size_t i = 0; i < n; i++) {
        const char *name = c->annotations.data[i].name;
        (void)avec_push(p->a, &c->fields, name);
        c->field_types[i] = c->annotations.data[i].type;
        py_object *text = py_text(p, name);
        if (!text) return false;
        c->field_defaults[i] = py_dict_get(c->attrs, name);
        if (c->field_defaults[i]) py_dict_remove(p, c->attrs, text);
        else if (i && c->field_defaults[i - 1]) {
            py_fail(p, r, "TypeError",
                    "non-default namedtuple field %s cannot follow default field %s", name,
                    c->fields.data[i - 1]);
            return false;
        }
    }
    return py_memory(p);
}

int py_field_index(const py_class *c, const char *name) {
    for (size_t i = 0; i < c->fields.len; i++)
        if (!strcmp(c->fields.data[i], name)) return (int)i;
    return -1;
}

/* ---- enums ----------------------------------------------------------------------------------- */

static bool enum_is_member(const char *name, const py_object *v) {
    if (name[0] == '_' && (name[1] == '_' || !strcmp(name, "_ignore_") || !strcmp(name, "_order_")))
        return false;
    return v->kind != PY_FUNCTION && v->kind != PY_PROPERTY && v->kind != PY_STATICMETHOD &&
           v->kind != PY_CLASSMETHOD && v->kind != PY_BUILTIN && v->kind != PY_CLASS;
}

static py_object *enum_member_with(py *p, const py_object *cls, const py_object *val) {
    const py_dict *d = cls->u.cls->attrs;
    for (size_t i = 0; i < d->entries.len; i++) {
        py_object *o = d->entries.data[i].key ? d->entries.data[i].val : NULL;
        if (o && o->kind == PY_INSTANCE && o->u.inst.cls == cls &&
            py_equal(p, py_dict_get(o->u.inst.attrs, "value"), val))
            return o;
    }
    return NULL;
}

/* The class's plain attributes become members. */
static bool enum_make_members(py *p, py_object *cls) {
    py_dict *d = cls->u.cls->attrs;
    int64_t next = 1;
    bool is_flag = py_class_find(cls, "__invert__");
    for (size_t i = 0; i < d->entries.len; i++) {
        py_dict_entry *e = &d->entries.data[i];
        if (!e->key || !enum_is_member(py_as_text(e->key), e->val)) continue;
        py_object *val = e->val;
        bool automatic = val->kind == PY_INSTANCE && !strcmp(val->u.inst.cls->u.cls->name, "auto");
        if (automatic) val = py_int(p, next);
        int64_t number;
        double f;
        int rank;
        if (py_number(val, &number, &f, &rank) && rank == 1 && number < INT64_MAX / 2)
            for (next = is_flag ? next : number + 1; is_flag && next <= number;) next *= 2;
        py_object *same = enum_member_with(p, cls, val);
        if (same) {
            e->val = same;
            continue;
        }
        py_object *o = py_instance(p, cls);
        if (!py_dict_set(p, o->u.inst.attrs, "name", e->key) ||
            !py_dict_set(p, o->u.inst.attrs, "value", val) ||
            !py_dict_set(p, o->u.inst.attrs, "_name_", e->key) ||
            !py_dict_set(p, o->u.inst.attrs, "_value_", val))
            return false;
        d->entries.data[i].val = o;
    }
    return true;
}

bool py_enum_members(py *p, const py_object *cls, py_object ***items, int *n) {
    const py_dict *d = cls->u.cls->attrs;
    py_object *list = py_new(p, PY_LIST);
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry *e = &d->entries.data[i];
        if (!e->key || e->val->kind != PY_INSTANCE || e->val->u.inst.cls != cls) continue;
        /* an alias */
        if (!py_equal(p, py_dict_get(e->val->u.inst.attrs, "name"), e->key)) continue;
        if (!py_append(p, list, e->val)) return false;
    }
    *items = list->u.seq.items.data;
    *n = (int)list->u.seq.items.len;
    return true;
}

static py_object *py_enum_lookup(py *p, source_range r, py_object *cls, py_object *val) {
    if (val->kind == PY_INSTANCE && val->u.inst.cls == cls) return val;
    py_object *o = enum_member_with(p, cls, val);
    if (o) return o;
    strbuf text = STRBUF_INIT;
    if (py_str(p, r, val, true, &text))
        py_fail(p, r, "ValueError", "%s is not a valid %s", sb_str(&text), cls->u.cls->name);
    sb_free(&text);
    return NULL;
}

/* ---- class statements ------------------------------------------------------------------------ */

const char *py_derived_name(const py_object *cls) {
    static const struct {
        const char *base, *stand_in;
    } table[] = {
        {"dict", "Dict"},   {"OrderedDict", "Dict"},  {"list", "List"},
        {"tuple", "Tuple"}, {"property", "Property"},
    };
    if (cls->kind != PY_CLASS || cls->u.cls->kind != PYC_BUILTIN) return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(cls->u.cls->name, table[i].base)) return table[i].stand_in;
    return NULL;
}

static bool class_add_stand_in(py *p, source_range r, py_class *c, const char *name) {
    py_object *mod = py_import(p, r, "_derived"),
              *stand_in = mod ? py_getattr(p, r, mod, name) : NULL;
    return stand_in && avec_push(p->a, &c->bases, stand_in);
}

static bool class_add_base(py *p, source_range r, py_class *c, py_object *base) {
    if (base->kind == PY_TYPE) { /* typing's: Generic[T], Protocol, NamedTuple, List[int] */
        const char *name = base->u.type.name;
        bool list = !strcmp(name, "List"),
             dict = !strcmp(name, "Dict") || !strcmp(name, "OrderedDict");
        if (!strcmp(name, "NamedTuple")) c->kind = PYC_NAMED_TUPLE;
        if (!strcmp(name, "Mapping") || !strcmp(name, "MutableMapping"))
            return class_add_stand_in(p, r, c, "Mapping");
        if (!list && !dict) return true;
        base = py_builtin_class(p, list ? "list" : "dict");
    }
    if (p->library->is_lacking(base) && !(base = p->library->lacking_class(p, base))) return false;
    if (base->kind != PY_CLASS) {
        py_fail(p, r, "TypeError", "the base of class '%s' is not a class but a %s", c->name,
                py_type_name(base));
        return false;
    }
    if (base->u.cls->kind == PYC_BUILTIN && !strcmp(base->u.cls->name, "bool"))
        return py_fail(p, r, "TypeError", "type 'bool' is not an acceptable base type"), false;
    /* dict, list and tuple cannot be base
     * classes: their substitutes come first */
    const char *derived = py_derived_name(base);
    if (derived && !class_add_stand_in(p, r, c, derived)) return false;
    return avec_push(p->a, &c->bases, base);
}

static py_object *class_begin(py *p, py_env *env, const class_def *def) {
    py_object *o = py_new(p, PY_CLASS);
    py_class *c = o->u.cls = arena_new(p->a, py_class);
    c->name = def->name;
    c->module = env->module;
    c->def = def;
    c->attrs = py_dict_new(p);
    const char *outer = env->qualname && strcmp(env->qualname, "<module>") ? env->qualname : NULL;
    c->qualname = !outer ? def->name
                         : arena_printf(p->a, env->is_class ? "%s.%s" : "%s.<locals>.%s", outer,
                                        def->name);
    for (size_t i = 0; i < def->bases.len; i++) {
        const expr *x = def->bases.data[i];
        py_object *base = py_eval(p, env, x);
        if (!base || !class_add_base(p, x->range, c, base)) return NULL;
    }
    return py_class_finish(p, def->range, o) ? o : NULL;
}

/* Calls the hook of its bases with the keywords of the class statement. Of classes of the program's
 * own alone is it known that nothing else needs these (typing's and metaclasses do). */
static bool class_announce_to(py *p, py_env *env, const class_def *def, py_object *cls,
                              py_object *hook) {
    const py_class *c = cls->u.cls;
    size_t n = def->keywords.len;
    py_object **values = arena_array(p->a, py_object *, n + 1);
    const char **names = arena_array(p->a, const char *, n + 1);
    if (!values || !names) return diag_no_memory(p->diag), false;
    for (size_t i = 0; hook && i < n; i++) {
        names[i] = def->keywords.data[i].name;
        if (!(values[i] = py_eval(p, env, def->keywords.data[i].value))) return false;
    }
    if (hook) return py_call(p, def->range, hook, 1, &cls, (int)n, names, values) != NULL;
    bool own = c->mro.len > 2;
    for (size_t i = 1; i + 1 < c->mro.len; i++) own = own && c->mro.data[i]->u.cls->def;
    if (!n || !own) return true;
    py_fail(p, def->range, "TypeError", "%s.__init_subclass__() takes no keyword arguments",
            c->name);
    return false;
}

/* __set_name__ of descriptors in the class, __init_subclass__ of its bases. */
static bool class_announce(py *p, py_env *env, const class_def *def, py_object *cls) {
    const py_class *c = cls->u.cls;
    source_range r = def->range;
    for (size_t i = 0; i < c->attrs->entries.len; i++) {
        const py_dict_entry e = c->attrs->entries.data[i];
        if (!e.key || e.val->kind != PY_INSTANCE || c->kind == PYC_ENUM) continue;
        py_object *set = py_class_find(e.val->u.inst.cls, "__set_name__"),
                  *args[] = {e.val, cls, e.key};
        if (set && !py_call(p, r, set, 3, args, 0, NULL, NULL)) return false;
    }
    /* a class method without saying so */
    py_object *own = py_dict_get(c->attrs, "__init_subclass__");
    if (own && own->kind == PY_FUNCTION) {
        py_object *wrapped = py_new(p, PY_CLASSMETHOD);
        wrapped->u.fn_object = own;
        if (!py_dict_set(p, c->attrs, "__init_subclass__", wrapped)) return false;
    }
    for (size_t i = 1; i < c->mro.len && c->mro.data[i] != p->object_class; i++) {
        py_object *hook = py_dict_get(c->mro.data[i]->u.cls->attrs, "__init_subclass__");
        if (!hook) continue;
        if (hook->kind == PY_CLASSMETHOD) hook = hook->u.fn_object;
        return class_announce_to(p, env, def, cls, hook);
    }
    return class_announce_to(p, env, def, cls, NULL);
}

py_object *py_class_statement(py *p, py_env *env, const class_def *def) {
    py_object *o = class_begin(p, env, def);
    if (!o) return NULL;
    py_class *c = o->u.cls;
    py_env *body = arena_new(p->a, py_env);
    *body = (py_env){.vars = c->attrs,
                     .outer = env,
                     .module = env->module,
                     .cls = o,
                     .is_class = true,
                     .qualname = c->qualname};
    c->env = body;
    const char *caller = p->where;
    p->where = c->qualname;
    bool ok = py_exec(p, body, &def->body);
    p->where = caller;
    if (!ok) {
        diag_frame(p->diag, def->range, caller ? caller : "<module>");
        return NULL;
    }
    py_object *lookup = py_class_find(o, "__getattribute__");
    c->own_lookup = lookup && lookup->kind == PY_FUNCTION;
    if (c->kind == PYC_NAMED_TUPLE && !class_take_fields(p, def->range, o)) return NULL;
    if (c->kind == PYC_ENUM && !enum_make_members(p, o)) return NULL;
    if (!class_announce(p, env, def, o)) return NULL;
    const stmt *first = def->body.len ? def->body.data[0] : NULL;
    if (first && first->kind == S_EXPR && first->value->kind == E_STR &&
        !py_dict_get(c->attrs, "__doc__")) {
        py_object *doc = py_string(p, first->value->s, first->value->slen);
        if (!doc || !py_dict_set(p, c->attrs, "__doc__", doc)) return NULL;
    }
    return py_memory(p) ? o : NULL;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* The arguments by field, defaults filled in. */
static bool class_bind_fields(PY_ARGS, py_object **out) {
    const py_class *c = self->u.cls;
    int n = (int)c->fields.len;
    if (nargs > n) {
        py_fail(p, r, "TypeError", "%s() takes %d positional arguments but %d were given", c->name,
                n, nargs);
        return false;
    }
    for (int i = 0; i < nargs; i++) out[i] = args[i];
    for (int k = 0; k < nkw; k++) {
        int i = py_field_index(c, names[k]);
        if (i < 0 || out[i]) {
            py_fail(p, r, "TypeError", "%s() got %s argument '%s'", c->name,
                    i < 0 ? "an unexpected keyword" : "multiple values for", names[k]);
            return false;
        }
        out[i] = kwargs[k];
    }
    for (int i = 0; i < n; i++)
        if (!out[i] && !(out[i] = c->field_defaults ? c->field_defaults[i] : NULL)) {
            py_fail(p, r, "TypeError", "%s() missing required argument: '%s'", c->name,
                    c->fields.data[i]);
            return false;
        }
    return true;
}

static py_object *construct_named_tuple(PY_ARGS) {
    size_t n = self->u.cls->fields.len;
    py_object **items = arena_array(p->a, py_object *, n + 1);
    if (!items) return diag_no_memory(p->diag), NULL;
    if (!class_bind_fields(p, r, self, nargs, args, nkw, names, kwargs, items)) return NULL;
    py_object *o = py_tuple(p, (int)n, items);
    if (o) o->u.seq.seq_cls = self;
    return o;
}

static bool construct_init(PY_ARGS, py_object *o) {
    py_object *init = py_class_find(self, "__init__");
    if (init && init != py_dict_get(p->object_class->u.cls->attrs, "__init__")) {
        if (init->kind == PY_STATICMETHOD) init = init->u.fn_object;
        py_object *done = py_call(p, r, py_method(p, o, init), nargs, args, nkw, names, kwargs);
        if (done && !py_is_none(done)) {
            py_fail(p, r, "TypeError", "__init__() should return None, not '%s'",
                    py_type_name(done));
            return false;
        }
        return done != NULL;
    }
    /* object.__init__ takes what a __new__ of the class's own has taken */
    if (nargs + nkw == 0 ||
        py_class_find(self, "__new__") != py_dict_get(p->object_class->u.cls->attrs, "__new__"))
        return true;
    py_fail(p, r, "TypeError", "%s() takes no arguments", self->u.cls->name);
    return false;
}

/* Classes derived from complex, set, Tensor, ... have no representation. */
static bool construct_is_derived_builtin(const py_class *c) {
    for (size_t i = 1; i < c->mro.len; i++) {
        const py_object *home = c->mro.data[i]->u.cls->module;
        if (home && !strcmp(home->u.mod.name, "_derived")) return false;
    }
    for (size_t i = 1; i < c->mro.len; i++)
        if (c->mro.data[i]->u.cls->make && c->mro.data[i]->u.cls->kind == PYC_BUILTIN &&
            strcmp(c->mro.data[i]->u.cls->name, "object"))
            return true;
    return false;
}

py_object *py_construct(PY_ARGS) {
    py_class *c = self->u.cls;
    if (c->kind == PYC_ENUM && c->fields.len == 0) {
        if (nargs != 1 || nkw) return py_fail(p, r, "TypeError", "%s() expects one value", c->name);
        return py_enum_lookup(p, r, self, args[0]);
    }
    if (c->make) return c->make(p, r, self, nargs, args, nkw, names, kwargs);
    py_object *make = py_class_find(self, "__new__");
    if (make && make != py_dict_get(p->object_class->u.cls->attrs, "__new__")) {
        if (make->kind == PY_STATICMETHOD) make = make->u.fn_object;
        py_object **all = arena_array(p->a, py_object *, nargs + 1);
        if (!all) return diag_no_memory(p->diag), NULL;
        all[0] = self;
        if (nargs) memcpy(all + 1, args, sizeof *args * (size_t)nargs);
        py_object *o = py_call(p, r, make, nargs + 1, all, nkw, names, kwargs);
        if (!o || o->kind != PY_INSTANCE || !py_is_subclass(o->u.inst.cls, self)) return o;
        return construct_init(p, r, self, nargs, args, nkw, names, kwargs, o) ? o : NULL;
    }
    if (c->kind == PYC_NAMED_TUPLE)
        return construct_named_tuple(p, r, self, nargs, args, nkw, names, kwargs);
    if (construct_is_derived_builtin(c)) {
        diag_fail_at(p->diag, CTSC_UNSUPPORTED, r,
                     "class '%s' derives from a builtin type, which is not supported", c->name);
        return NULL;
    }
    py_object *o = py_instance(p, self);
    if (c->kind == PYC_EXCEPTION) {
        py_object *all = py_tuple(p, nargs, args);
        if (!all || !py_dict_set(p, o->u.inst.attrs, "args", all)) return NULL;
    }
    return construct_init(p, r, self, nargs, args, nkw, names, kwargs, o) ? o : NULL;
}

/* ---- exceptions ------------------------------------------------------------------------------ */

static const char *exception_qualified(py *p, const py_object *cls) {
    const py_class *c = cls->u.cls;
    return arena_printf(p->a, "%s.%s", c->module ? c->module->u.mod.name : "builtins",
                        c->qualname ? c->qualname : c->name);
}

bool py_throw(py *p, source_range r, py_object *e) {
    if (py_failed(p)) return false;
    if (e->kind != PY_INSTANCE || e->u.inst.cls->u.cls->kind != PYC_EXCEPTION) {
        py_fail(p, r, "TypeError", "exceptions must derive from BaseException");
        return false;
    }
    strbuf text = STRBUF_INIT;
    if (!py_str(p, r, e, false, &text)) {
        sb_free(&text);
        return false;
    }
    const char *name = exception_qualified(p, e->u.inst.cls);
    py_fail(p, r, e->u.inst.cls->u.cls->name, "%s", sb_str(&text));
    if (name) py_name_exception(p, name);
    p->raised = p->diag->status == CTSC_FAILED ? e : NULL;
    sb_free(&text);
    return false;
}

py_object *py_caught(py *p) {
    if (p->diag->status != CTSC_FAILED) return NULL;
    if (p->raised) return p->raised;
    const char *name = p->diag->exception ? p->diag->exception : "builtins.RuntimeError";
    const char *text = diag_message(p->diag), *dot = strrchr(name, '.');
    name = dot ? dot + 1 : name;
    py_object *cls = py_builtin_named(p, name);
    if (!cls || cls->kind != PY_CLASS || cls->u.cls->kind != PYC_EXCEPTION)
        cls = py_builtin_class(p, "RuntimeError");
    size_t len = strlen(name);
    if (!strncmp(text, name, len) && (!text[len] || !strncmp(text + len, ": ", 2)))
        text += text[len] ? len + 2 : len;
    py_object *e = py_instance(p, cls), *message = py_string(p, text, strlen(text));
    py_object *args = message ? py_tuple(p, *text ? 1 : 0, &message) : NULL;
    return args && py_dict_set(p, e->u.inst.attrs, "args", args) ? e : NULL;
}
