/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_object.c - the evaluator's objects: making them, their classes, failures.
 *
 * Method: objects are arena memory and never freed before the evaluator; counted values inside
 * PY_VALUE are noted in p->held.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

#include <math.h>
#include <stdarg.h>

/* ---- failures -------------------------------------------------------------------------------- */

py_object *py_fail(py *p, source_range r, const char *exception, const char *fmt, ...) {
    if (p->diag->status != CTSC_OK) return NULL;
    strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&text, fmt, ap);
    va_end(ap);
    p->raised = NULL;
    diag_fail_at(p->diag, CTSC_FAILED, r, text.len ? "%s: %s" : "%s%s", exception, sb_str(&text));
    char name[96];
    snprintf(name, sizeof name, "builtins.%s", exception);
    py_name_exception(p, name);
    sb_free(&text);
    return NULL;
}

void py_name_exception(py *p, const char *name) {
    diag *d = p->diag;
    if (d->status != CTSC_FAILED) return;
    mem_free(d->exception);
    d->exception = mem_strdup(name);
    if (d->exception && d->items.len) return;
    diag_clear(d); /* a handler could not distinguish it from others */
    diag_no_memory(d);
}

bool py_failed(const py *p) { return p->diag->status != CTSC_OK; }

bool py_memory(py *p) {
    if (!arena_failed(p->a)) return true;
    diag_no_memory(p->diag);
    return false;
}

uint64_t py_max_steps(const py *p) { return p->host.max_steps ? p->host.max_steps : PY_MAX_STEPS; }

bool py_budget_exhausted(const py *p) { return p->steps > py_max_steps(p); }

bool py_work(py *p, source_range r, uint64_t steps) {
    p->steps += steps;
    if (py_budget_exhausted(p)) {
        diag_fail_at(p->diag, CTSC_LIMIT, r,
                     "the module-level code runs for too long (more than %llu steps)",
                     (unsigned long long)py_max_steps(p));
        return false;
    }
    if (p->a->total > PY_MAX_BYTES || p->held_bytes > p->host.max_bytes) {
        diag_fail_at(p->diag, CTSC_LIMIT, r, "the module-level code needs too much memory");
        return false;
    }
    return py_memory(p);
}

bool py_step(py *p, source_range r) { return py_work(p, r, 1); }

bool py_deeper(py *p, source_range r) {
    if (p->depth < PY_MAX_DEPTH) {
        p->depth++;
        return true;
    }
    py_fail(p, r, "RecursionError", "maximum recursion depth exceeded");
    return false;
}

bool py_room(py *p, source_range r, int64_t items) {
    if (items <= PY_MAX_ITEMS) return true;
    py_fail(p, r, "MemoryError", "more than %d items", PY_MAX_ITEMS);
    return false;
}

/* ---- makers ---------------------------------------------------------------------------------- */

py_object *py_new(py *p, py_kind k) {
    py_object *o = arena_new(p->a, py_object);
    o->kind = k;
    return o;
}

/* The bytes that only this value keeps: a view of a tensor that is held already has none. */
static size_t object_bytes(value v) {
    switch (v.tag) {
    case V_STR: return v.u.str->len;
    case V_TENSOR:
        if (atomic_load_explicit(&v.u.tensor->refs, memory_order_relaxed) > 1 ||
            atomic_load_explicit(&v.u.tensor->storage->refs, memory_order_relaxed) > 1)
            return 0;
        return v.u.tensor->storage->nbytes;
    case V_LIST: return v.u.list->len * sizeof(value);
    default: return 0;
    }
}

py_object *py_value_take(py *p, value v) {
    py_object *o = py_new(p, PY_VALUE);
    if (value_is_counted(v)) {
        size_t bytes = object_bytes(v);
        p->held_bytes += bytes;
        p->diag->max_tensor = p->held_bytes < p->host.max_bytes ? p->host.max_bytes - p->held_bytes
                                                                : 1;
        if (!py_work(p, (source_range){0}, bytes / PY_STEP_BYTES) ||
            !vec_push(&p->held, ((py_held){o, bytes}))) {
            value_unref(v);
            diag_no_memory(p->diag);
            return NULL;
        }
        if (v.tag == V_TENSOR) p->made_bytes += v.u.tensor->storage->nbytes;
    }
    o->u.v = v;
    return o;
}

py_object *py_int(py *p, int64_t i) {
    py_object *o = py_new(p, PY_VALUE);
    o->u.v = value_int(i);
    return o;
}

py_object *py_float(py *p, double f) {
    py_object *o = py_new(p, PY_VALUE);
    o->u.v = value_float(f);
    return o;
}

py_object *py_bool(py *p, bool b) { return b ? p->true_ : p->false_; }

py_object *py_string(py *p, const char *s, size_t n) {
    str *t = str_new(s, n);
    if (!t) {
        diag_no_memory(p->diag);
        return NULL;
    }
    return py_value_take(p, value_str_take(t));
}

py_object *py_text(py *p, const char *s) {
    py_object *o = strmap_get(&p->strings, s);
    if (o) return o;
    const char *name = intern(p->names, s);
    o = py_string(p, name, strlen(name));
    if (!o || !py_memory(p)) return NULL;
    if (!strmap_put(&p->strings, name, o)) {
        diag_no_memory(p->diag);
        return NULL;
    }
    return o;
}

static py_object *py_sequence(py *p, py_kind k, int n, py_object **items) {
    py_object *o = py_new(p, k);
    if (n <= 0) return o;
    py_object **copy = arena_array(p->a, py_object *, n);
    if (!copy) {
        diag_no_memory(p->diag);
        return NULL;
    }
    memcpy(copy, items, sizeof *items * (size_t)n);
    o->u.seq.items.data = copy;
    o->u.seq.items.len = o->u.seq.items.cap = (size_t)n;
    return o;
}

py_object *py_list(py *p, int n, py_object **items) { return py_sequence(p, PY_LIST, n, items); }

py_object *py_tuple(py *p, int n, py_object **items) { return py_sequence(p, PY_TUPLE, n, items); }

py_object *py_iterator(py *p, int n, py_object **items) {
    return py_sequence(p, PY_ITERATOR, n, items);
}

bool py_append(py *p, py_object *list, py_object *item) {
    if (avec_push(p->a, &list->u.seq.items, item)) return true;
    diag_no_memory(p->diag);
    return false;
}

py_object *py_builtin(py *p, const char *name, py_builtin_fn fn) {
    py_object *o = py_new(p, PY_BUILTIN);
    o->u.builtin.name = name;
    o->u.builtin.fn = fn;
    return o;
}

py_object *py_method(py *p, py_object *self, py_object *fn) {
    py_object *o = py_new(p, PY_METHOD);
    o->u.method.self = self;
    o->u.method.fn = fn;
    return o;
}

py_object *py_dict_object(py *p, py_dict *d) {
    py_object *o = py_new(p, PY_DICT);
    o->u.dict = d;
    return o;
}

py_object *py_instance(py *p, py_object *cls) {
    py_object *o = py_new(p, PY_INSTANCE);
    o->u.inst.cls = cls;
    o->u.inst.attrs = py_dict_new(p);
    return o;
}

/* ---- classes of objects ---------------------------------------------------------------------- */

py_object *py_builtin_class(py *p, const char *name) {
    py_object *c = py_builtin_named(p, name);
    return c && c->kind == PY_CLASS ? c : p->object_class;
}

static const char *const py_value_names[] = {
    [V_NONE] = "NoneType", [V_BOOL] = "bool",         [V_INT] = "int",
    [V_FLOAT] = "float",   [V_DEVICE] = "device",     [V_FUNCTION] = "ScriptFunction",
    [V_UNINIT] = "object", [V_COMPLEX] = "complex",   [V_STR] = "str",
    [V_TENSOR] = "Tensor", [V_LIST] = "list",         [V_DICT] = "dict",
    [V_TUPLE] = "tuple",   [V_OBJECT] = "object",     [V_ENUM] = "Enum",
    [V_FUTURE] = "Future", [V_CAPSULE] = "Generator",
};

static const char *const py_kind_names[PY_KIND_COUNT] = {
    [PY_LIST] = "list",
    [PY_TUPLE] = "tuple",
    [PY_SET] = "set",
    [PY_DICT] = "dict",
    [PY_RANGE] = "range",
    [PY_SLICE] = "slice",
    [PY_ELLIPSIS] = "ellipsis",
    [PY_NOT_IMPLEMENTED] = "NotImplementedType",
    [PY_MODULE] = "module",
    [PY_FUNCTION] = "function",
    [PY_METHOD] = "method",
    [PY_BUILTIN] = "builtin_function_or_method",
    [PY_OPERATOR] = "builtin_function_or_method",
    [PY_CLASS] = "type",
    [PY_PROPERTY] = "property",
    [PY_STATICMETHOD] = "staticmethod",
    [PY_CLASSMETHOD] = "classmethod",
    [PY_TYPE] = "_GenericAlias",
    [PY_SUPER] = "super",
    [PY_ITERATOR] = "generator",
};

const char *py_type_name(const py_object *o) {
    static const char *const symbols[] = {"dtype", "layout", "memory_format", "qscheme"};
    switch (o->kind) {
    case PY_VALUE:
        return o->u.v.tag == V_TENSOR && o->u.param ? "Parameter" : py_value_names[o->u.v.tag];
    case PY_SYMBOL: return symbols[o->u.symbol];
    case PY_INSTANCE: return o->u.inst.cls->u.cls->name;
    case PY_TUPLE: return o->u.seq.seq_cls ? o->u.seq.seq_cls->u.cls->name : "tuple";
    default: return py_kind_names[o->kind];
    }
}

const py_object *py_class_of(py *p, const py_object *o) {
    switch (o->kind) {
    case PY_INSTANCE: return o->u.inst.cls;
    case PY_TUPLE:
        if (o->u.seq.seq_cls) return o->u.seq.seq_cls;
        break;
    case PY_VALUE:
        if (o->u.v.tag == V_TENSOR || o->u.v.tag == V_DEVICE || o->u.v.tag == V_CAPSULE)
            return p->library->torch_class(p, o);
        break;
    case PY_SYMBOL: return p->library->torch_class(p, o);
    default: break;
    }
    /* which has the classes of functions, methods, modules, ... under these names, too */
    const py_object *types = strmap_get(&p->modules, "types");
    const py_object *named = types && o->kind != PY_VALUE
                                 ? py_dict_get(types->u.mod.globals, py_type_name(o))
                                 : NULL;
    return named && named->kind == PY_CLASS ? named : py_builtin_class(p, py_type_name(o));
}

bool py_is_subclass(const py_object *cls, const py_object *base) {
    if (cls == base) return true;
    if (cls->kind != PY_CLASS || base->kind != PY_CLASS) return false;
    for (size_t i = 0; i < cls->u.cls->mro.len; i++)
        if (cls->u.cls->mro.data[i] == base) return true;
    return base->u.cls->module == NULL && !strcmp(base->u.cls->name, "object");
}

/* The method that makes an instance one of an abstract class. */
static const char *py_abstract_method(const char *name) {
    static const struct { const char *name, *method; } classes[] = {
        {"Callable", "__call__"},
        {"Hashable", "__hash__"},
        {"Sized", "__len__"},
        {"AsyncContextManager", "__aexit__"},
        {"AsyncIterable", "__aiter__"},
        {"AsyncIterator", "__aiter__"},
        {"AsyncGenerator", "__aiter__"},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(name, classes[i].name)) return classes[i].method;
    return "__iter__";
}

/* isinstance with the abstract classes of typing and collections.abc. */
static bool py_is_abstract(const py_object *o, const char *name) {
    const char *dot = strrchr(name, '.');
    if (dot) name = dot + 1;
    bool sequence = o->kind == PY_LIST || o->kind == PY_TUPLE || o->kind == PY_RANGE ||
                    py_str_of(o);
    if (!strcmp(name, "Any")) return true;
    if (!strcmp(name, "Sequence")) return sequence;
    if (!strcmp(name, "MutableSequence") || !strcmp(name, "List")) return o->kind == PY_LIST;
    if (!strcmp(name, "Mapping") || !strcmp(name, "MutableMapping") || !strcmp(name, "Dict") ||
        !strcmp(name, "OrderedDict"))
        return o->kind == PY_DICT;
    if (!strcmp(name, "Tuple")) return o->kind == PY_TUPLE;
    if (!strcmp(name, "Set") || !strcmp(name, "FrozenSet")) return o->kind == PY_SET;
    if (!strcmp(name, "Iterator") || !strcmp(name, "Generator")) return o->kind == PY_ITERATOR;
    if (o->kind == PY_INSTANCE)
        return py_class_find(o->u.inst.cls, py_abstract_method(name)) != NULL;
    if (!strcmp(name, "Callable"))
        return o->kind == PY_FUNCTION || o->kind == PY_METHOD || o->kind == PY_BUILTIN ||
               o->kind == PY_OPERATOR || o->kind == PY_CLASS;
    if (!strcmp(name, "Hashable")) {
        uint64_t hash;
        return py_hash(NULL, (source_range){0}, o, &hash);
    }
    bool sized = sequence || o->kind == PY_DICT || o->kind == PY_SET || py_is_tensor(o);
    if (!strcmp(name, "Sized") || !strcmp(name, "Container") || !strcmp(name, "Collection"))
        return sized;
    return !strcmp(name, "Iterable") && (sized || o->kind == PY_ITERATOR);
}

bool py_isinstance(py *p, const py_object *o, const py_object *cls) {
    if (cls->kind == PY_TUPLE) {
        for (size_t i = 0; i < cls->u.seq.items.len; i++)
            if (py_isinstance(p, o, cls->u.seq.items.data[i])) return true;
        return false;
    }
    if (py_is_none(cls)) return py_is_none(o);
    if (cls->kind == PY_TYPE) {
        if (!strcmp(cls->u.type.name, "Union") || !strcmp(cls->u.type.name, "typing.Union")) {
            for (int i = 0; i < cls->u.type.nargs; i++)
                if (py_isinstance(p, o, cls->u.type.args[i])) return true;
            return false;
        }
        return py_is_abstract(o, cls->u.type.name);
    }
    if (cls->kind != PY_CLASS) return false;
    if (o->kind == PY_CLASS && o->u.cls->kind == PYC_ENUM &&
        (!strcmp(cls->u.cls->name, "EnumMeta") || !strcmp(cls->u.cls->name, "EnumType")))
        return true;
    if (o->kind == PY_TUPLE && !cls->u.cls->module && !strcmp(cls->u.cls->name, "tuple"))
        return true; /* named ones too */
    return py_is_subclass(py_class_of(p, o), cls);
}

py_object *py_unsupported(py *p, source_range r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    diag_fail_v(p->diag, CTSC_UNSUPPORTED, r, fmt, ap);
    va_end(ap);
    return NULL;
}
