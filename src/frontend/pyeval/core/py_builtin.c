/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_builtin.c - Python's builtins: functions, types and the classes of exceptions. Each is made
 * when it is first named.
 *
 * Lazy builtins (map, zip, enumerate, ...) run to their end at once and give an iterator
 * over the results.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

/* ---- text, containers ------------------------------------------------------------------------ */

static py_object *builtin_text(py *p, source_range r, py_object *o, bool repr) {
    strbuf out = STRBUF_INIT;
    if (py_str(p, r, o, repr, &out)) return py_from_buffer(p, &out);
    sb_free(&out);
    return NULL;
}

static py_object *make_str(PY_ARGS) {
    py_object *a[3];
    (void)self;
    PY_TAKE("str", "object? encoding? errors?", a);
    return a[0] ? builtin_text(p, r, a[0], false) : py_text(p, "");
}

static py_object *builtin_repr(PY_ARGS) {
    py_object *a[1];
    (void)self;
    PY_TAKE("repr", "object", a);
    return builtin_text(p, r, a[0], true);
}

static py_object *builtin_format(PY_ARGS) {
    py_object *a[2];
    (void)self;
    PY_TAKE("format", "value format_spec?", a);
    const str *spec = a[1] ? py_str_of(a[1]) : NULL;
    strbuf out = STRBUF_INIT;
    if (py_format_value(p, r, a[0], spec ? spec->bytes : "", spec ? spec->len : 0, &out))
        return py_from_buffer(p, &out);
    sb_free(&out);
    return NULL;
}

static py_object *make_sequence(PY_ARGS, const char *name, py_kind k) {
    py_object *a[1], **items = NULL;
    int n = 0;
    (void)self;
    PY_TAKE(name, "iterable?", a);
    if (a[0] && !py_iterate(p, r, a[0], &items, &n)) return NULL;
    py_object *o = k == PY_TUPLE  ? py_tuple(p, n, items)
                   : k == PY_LIST ? py_list(p, n, items)
                                  : py_set_new(p);
    for (int i = 0; k == PY_SET && i < n; i++)
        if (!py_set_add(p, r, o, items[i])) return NULL;
    return o;
}

static py_object *make_list(PY_ARGS) {
    return make_sequence(p, r, self, nargs, args, nkw, names, kwargs, "list", PY_LIST);
}

static py_object *make_tuple(PY_ARGS) {
    return make_sequence(p, r, self, nargs, args, nkw, names, kwargs, "tuple", PY_TUPLE);
}

static py_object *make_set(PY_ARGS) {
    return make_sequence(p, r, self, nargs, args, nkw, names, kwargs, "set", PY_SET);
}

static py_object *make_dict(PY_ARGS) {
    py_dict *d = py_dict_new(p);
    (void)self;
    if (nargs > 1)
        return py_fail(p, r, "TypeError", "dict expected at most 1 argument, got %d", nargs);
    if (nargs && !py_dict_merge(p, r, d, args[0])) return NULL;
    for (int i = 0; i < nkw; i++)
        if (!py_dict_set(p, d, names[i], kwargs[i])) return NULL;
    return py_dict_object(p, d);
}

static py_object *make_range(PY_ARGS) {
    int64_t v[3] = {0, 0, 1};
    (void)self, (void)names, (void)kwargs;
    if (nargs < 1 || nargs > 3 || nkw)
        return py_fail(p, r, "TypeError", "range expected 1 to 3 arguments, got %d", nargs);
    for (int i = 0; i < nargs; i++)
        if (!py_as_int(p, r, args[i], &v[nargs == 1 ? 1 : i])) return NULL;
    if (v[2] == 0) return py_fail(p, r, "ValueError", "range() arg 3 must not be zero");
    py_object *o = py_new(p, PY_RANGE);
    o->u.range.start = v[0];
    o->u.range.stop = v[1];
    o->u.range.step = v[2];
    return o;
}

static py_object *make_slice(PY_ARGS) {
    (void)self, (void)names, (void)kwargs;
    if (nargs < 1 || nargs > 3 || nkw)
        return py_fail(p, r, "TypeError", "slice expected 1 to 3 arguments, got %d", nargs);
    py_object *o = py_new(p, PY_SLICE);
    o->u.slice.start = nargs > 1 ? args[0] : p->none;
    o->u.slice.stop = nargs > 1 ? args[1] : args[0];
    o->u.slice.step = nargs > 2 ? args[2] : p->none;
    return o;
}

static py_object *builtin_len(PY_ARGS) {
    py_object *a[1];
    int64_t n;
    (void)self;
    PY_TAKE("len", "obj", a);
    return py_length(p, r, a[0], &n) ? py_int(p, n) : NULL;
}

static py_object *builtin_enumerate(PY_ARGS) {
    py_object *a[2], **items, *out = py_new(p, PY_ITERATOR);
    int64_t start = 0;
    int n;
    (void)self;
    PY_TAKE("enumerate", "iterable start?", a);
    if ((a[1] && !py_as_int(p, r, a[1], &start)) || !py_iterate(p, r, a[0], &items, &n))
        return NULL;
    for (int i = 0; i < n; i++) {
        py_object *pair[] = {py_int(p, start + i), items[i]}, *t = py_tuple(p, 2, pair);
        if (!t || !py_step(p, r) || !py_append(p, out, t)) return NULL;
    }
    return out;
}

static py_object *builtin_zip(PY_ARGS) {
    py_object *out = py_new(p, PY_ITERATOR),
              ***columns = arena_array(p->a, py_object **, nargs + 1);
    py_object **row = arena_array(p->a, py_object *, nargs + 1);
    int least = INT32_MAX, n = 0;
    (void)self, (void)names, (void)kwargs, (void)nkw;
    if (!columns || !row) return diag_no_memory(p->diag), NULL;
    for (int k = 0; k < nargs; k++) {
        if (!py_iterate(p, r, args[k], &columns[k], &n)) return NULL;
        if (n < least) least = n;
    }
    for (int i = 0; nargs && i < least; i++) {
        for (int k = 0; k < nargs; k++) row[k] = columns[k][i];
        py_object *t = py_tuple(p, nargs, row);
        if (!t || !py_step(p, r) || !py_append(p, out, t)) return NULL;
    }
    return out;
}

static py_object *builtin_map(PY_ARGS) {
    if (nargs < 2) return py_fail(p, r, "TypeError", "map() must have at least two arguments.");
    py_object *rows = builtin_zip(p, r, self, nargs - 1, args + 1, nkw, names, kwargs);
    for (size_t i = 0; rows && i < rows->u.seq.items.len; i++) {
        py_object *row = rows->u.seq.items.data[i];
        py_object *o = py_call(p, r, args[0], nargs - 1, row->u.seq.items.data, 0, NULL, NULL);
        if (!o) return NULL;
        rows->u.seq.items.data[i] = o;
    }
    return rows;
}

static py_object *builtin_filter(PY_ARGS) {
    py_object *a[2], **items, *out = py_new(p, PY_ITERATOR);
    int n;
    (void)self;
    PY_TAKE("filter", "function iterable", a);
    if (!py_iterate(p, r, a[1], &items, &n)) return NULL;
    for (int i = 0; i < n; i++) {
        bool keep;
        py_object *v = py_is_none(a[0]) ? items[i] : py_call1(p, r, a[0], items[i]);
        if (!v || !py_truth(p, r, v, &keep) || (keep && !py_append(p, out, items[i]))) return NULL;
    }
    return out;
}

static py_object *builtin_reversed(PY_ARGS) {
    py_object *a[1], **items;
    int n;
    (void)self;
    PY_TAKE("reversed", "sequence", a);
    py_object *own = py_find_special(p, a[0], "__reversed__");
    if (own) return py_call0(p, r, own);
    if (py_failed(p) || !py_iterate(p, r, a[0], &items, &n)) return NULL;
    for (int i = 0; i < n / 2; i++) {
        py_object *swap = items[i];
        items[i] = items[n - 1 - i];
        items[n - 1 - i] = swap;
    }
    return py_iterator(p, n, items);
}

static py_object *builtin_iter(PY_ARGS) {
    py_object *a[1], **items;
    int n;
    (void)self;
    PY_TAKE("iter", "object", a);
    if (a[0]->kind == PY_ITERATOR) return a[0];
    py_object *own = py_find_special(p, a[0], "__iter__");
    py_object *it = own ? py_call0(p, r, own) : NULL;
    if (own && (!it || it->kind == PY_INSTANCE || it->kind == PY_ITERATOR)) return it;
    return !py_failed(p) && py_iterate(p, r, it ? it : a[0], &items, &n) ? py_iterator(p, n, items)
                                                                         : NULL;
}

static py_object *builtin_next(PY_ARGS) {
    py_object *a[2];
    (void)self;
    PY_TAKE("next", "iterator default?", a);
    py_object *m = a[0]->kind == PY_ITERATOR || a[0]->kind == PY_INSTANCE
                       ? py_find(p, r, a[0], "__next__")
                       : NULL;
    if (!m && !py_failed(p))
        return py_fail(p, r, "TypeError", "'%s' object is not an iterator", py_type_name(a[0]));
    py_object *o = m ? py_call0(p, r, m) : NULL;
    if (o || !a[1] || !p->diag->exception || strcmp(p->diag->exception, "builtins.StopIteration"))
        return o;
    diag_clear(p->diag);
    p->raised = NULL;
    return a[1];
}

static py_object *builtin_minmax(PY_ARGS, const char *name, operator_kind op) {
    py_object **items = args, *key = NULL, *otherwise = NULL, *best = NULL, *best_key = NULL;
    int n = nargs;
    (void)self;
    for (int i = 0; i < nkw; i++) {
        if (!strcmp(names[i], "key") && !py_is_none(kwargs[i])) key = kwargs[i];
        else if (!strcmp(names[i], "default")) otherwise = kwargs[i];
        else if (strcmp(names[i], "key"))
            return py_fail(p, r, "TypeError", "'%s' is an invalid keyword argument for %s()",
                           names[i], name);
    }
    if (nargs == 0)
        return py_fail(p, r, "TypeError", "%s expected at least 1 argument, got 0", name);
    if (nargs == 1 && !py_iterate(p, r, args[0], &items, &n)) return NULL;
    for (int i = 0; i < n; i++) {
        py_object *k = key ? py_call1(p, r, key, items[i]) : items[i];
        bool better = true;
        if (!k) return NULL;
        if (best) {
            py_object *c = py_compare(p, r, op, k, best_key);
            if (!c || !py_truth(p, r, c, &better)) return NULL;
        }
        if (better) best = items[i], best_key = k;
    }
    if (best || otherwise) return best ? best : otherwise;
    return py_fail(p, r, "ValueError", "%s() arg is an empty sequence", name);
}

static py_object *builtin_min(PY_ARGS) {
    return builtin_minmax(p, r, self, nargs, args, nkw, names, kwargs, "min", O_LT);
}

static py_object *builtin_max(PY_ARGS) {
    return builtin_minmax(p, r, self, nargs, args, nkw, names, kwargs, "max", O_GT);
}

static py_object *builtin_sum(PY_ARGS) {
    py_object *a[2], **items;
    int n;
    (void)self;
    PY_TAKE("sum", "iterable start?", a);
    if (!py_iterate(p, r, a[0], &items, &n)) return NULL;
    py_object *total = a[1] ? a[1] : py_int(p, 0);
    for (int i = 0; total && i < n; i++)
        total = py_step(p, r) ? py_binary(p, r, O_ADD, total, items[i]) : NULL;
    return total;
}

static py_object *builtin_quantifier(PY_ARGS, const char *name, bool until) {
    py_object *a[1], **items;
    int n;
    (void)self;
    PY_TAKE(name, "iterable", a);
    if (!py_iterate(p, r, a[0], &items, &n)) return NULL;
    for (int i = 0; i < n; i++) {
        bool truth;
        if (!py_truth(p, r, items[i], &truth)) return NULL;
        if (truth == until) return py_bool(p, until);
    }
    return py_bool(p, !until);
}

static py_object *builtin_any(PY_ARGS) {
    return builtin_quantifier(p, r, self, nargs, args, nkw, names, kwargs, "any", true);
}

static py_object *builtin_all(PY_ARGS) {
    return builtin_quantifier(p, r, self, nargs, args, nkw, names, kwargs, "all", false);
}

/* ---- table ----------------------------------------------------------------------------------- */

static const py_row builtin_types[] = {
    {"str", make_str},     {"list", make_list},     {"tuple", make_tuple},
    {"set", make_set},     {"frozenset", make_set}, {"dict", make_dict},
    {"range", make_range}, {"slice", make_slice},   {NULL, NULL},
};

static const py_row builtin_functions[] = {
    {"len", builtin_len},
    {"enumerate", builtin_enumerate},
    {"zip", builtin_zip},
    {"map", builtin_map},
    {"filter", builtin_filter},
    {"reversed", builtin_reversed},
    {"sorted", py_sorted},
    {"min", builtin_min},
    {"max", builtin_max},
    {"sum", builtin_sum},
    {"any", builtin_any},
    {"all", builtin_all},
    {"repr", builtin_repr},
    {"format", builtin_format},
    {"iter", builtin_iter},
    {"next", builtin_next},
    {NULL, NULL},
};

static py_builtin_fn builtin_row(const py_row *rows, const char *name) {
    while (rows->name && strcmp(rows->name, name)) rows++;
    return rows->fn;
}

/* name, base; a base comes before the classes derived from it */
static const char *const builtin_exceptions[][2] = {
    {"BaseException", NULL},
    {"Exception", "BaseException"},
    {"KeyboardInterrupt", "BaseException"},
    {"SystemExit", "BaseException"},
    {"GeneratorExit", "BaseException"},
    {"ArithmeticError", "Exception"},
    {"OverflowError", "ArithmeticError"},
    {"ZeroDivisionError", "ArithmeticError"},
    {"FloatingPointError", "ArithmeticError"},
    {"AssertionError", "Exception"},
    {"AttributeError", "Exception"},
    {"BufferError", "Exception"},
    {"EOFError", "Exception"},
    {"ImportError", "Exception"},
    {"ModuleNotFoundError", "ImportError"},
    {"LookupError", "Exception"},
    {"IndexError", "LookupError"},
    {"KeyError", "LookupError"},
    {"MemoryError", "Exception"},
    {"NameError", "Exception"},
    {"UnboundLocalError", "NameError"},
    {"OSError", "Exception"},
    {"IOError", "OSError"},
    {"EnvironmentError", "OSError"},
    {"FileNotFoundError", "OSError"},
    {"PermissionError", "OSError"},
    {"TimeoutError", "OSError"},
    {"ConnectionError", "OSError"},
    {"ReferenceError", "Exception"},
    {"RuntimeError", "Exception"},
    {"NotImplementedError", "RuntimeError"},
    {"RecursionError", "RuntimeError"},
    {"StopIteration", "Exception"},
    {"StopAsyncIteration", "Exception"},
    {"SyntaxError", "Exception"},
    {"IndentationError", "SyntaxError"},
    {"SystemError", "Exception"},
    {"TypeError", "Exception"},
    {"ValueError", "Exception"},
    {"UnicodeError", "ValueError"},
    {"UnicodeDecodeError", "UnicodeError"},
    {"UnicodeEncodeError", "UnicodeError"},
    {"Warning", "Exception"},
    {"UserWarning", "Warning"},
    {"DeprecationWarning", "Warning"},
    {"PendingDeprecationWarning", "Warning"},
    {"RuntimeWarning", "Warning"},
    {"FutureWarning", "Warning"},
    {"ImportWarning", "Warning"},
    {"UnicodeWarning", "Warning"},
    {"ResourceWarning", "Warning"},
    {"SyntaxWarning", "Warning"},
};

static py_object *exception_init(PY_ARGS) {
    (void)nkw, (void)names, (void)kwargs, (void)r;
    py_object *all = py_tuple(p, nargs, args);
    return all && py_dict_set(p, self->u.inst.attrs, "args", all) ? p->none : NULL;
}

static py_object *exception_with_traceback(PY_ARGS) {
    (void)p, (void)r, (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs;
    return self;
}

static py_object *builtin_exception(py *p, const char *name, const char *base) {
    py_object *from = base ? py_builtin_class(p, base) : p->object_class;
    py_object *cls = py_class_new(p, NULL, name, 1, &from, PYC_EXCEPTION);
    if (!cls || base) return cls;
    py_object *init = py_builtin(p, "__init__", exception_init),
              *trace = py_builtin(p, "with_traceback", exception_with_traceback);
    init->u.builtin.method = trace->u.builtin.method = true;
    init->u.builtin.of = trace->u.builtin.of = "BaseException";
    py_dict *root = cls->u.cls->attrs;
    return py_dict_set(p, root, "__init__", init) && py_dict_set(p, root, "with_traceback", trace)
               ? cls
               : NULL;
}

/* Types that are only looked at: type(None), type(f), ... */
static const char *const builtin_shadow_types[] = {
    "NoneType",
    "function",
    "method",
    "builtin_function_or_method",
    "module",
    "ellipsis",
    "NotImplementedType",
    "generator",
    "_GenericAlias",
    "ScriptFunction",
    "bytes",
};

static bool builtin_add_methods(py *p, const char *type, py_object *cls) {
    static const py_method_row *const tables[] = {py_container_methods, py_string_methods};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const py_method_row *m = tables[t]; m->type; m++) {
            if (strcmp(m->type, type)) continue;
            py_object *fn = py_builtin(p, m->name, m->fn);
            fn->u.builtin.method = true;
            fn->u.builtin.of = type;
            if (!py_dict_set(p, cls->u.cls->attrs, m->name, fn)) return false;
        }
    return true;
}

/* str.__new__(cls, ...), also of int and float: an object of a class derived from it has the value
 * as an attribute (py_plain). */
static py_object *builtin_new(PY_ARGS) {
    (void)self;
    if (nargs < 1 || args[0]->kind != PY_CLASS)
        return py_fail(p, r, "TypeError", "__new__(X): X is not a type object");
    const py_class *c = args[0]->u.cls;
    py_object *base = NULL;
    for (size_t i = 0; i < c->mro.len && !base; i++)
        if (c->mro.data[i]->u.cls->kind == PYC_BUILTIN && c->mro.data[i]->u.cls->make)
            base = c->mro.data[i];
    py_object *v = base ? base->u.cls->make(p, r, base, nargs - 1, args + 1, nkw, names, kwargs)
                        : NULL;
    if (!v || base == args[0]) return v;
    py_object *o = py_instance(p, args[0]);
    return o && py_dict_set(p, o->u.inst.attrs, intern(p->names, PY_PLAIN), v) ? o : NULL;
}

static py_object *builtin_type(py *p, const char *name, py_builtin_fn make) {
    py_object *base = !strcmp(name, "bool") ? py_builtin_class(p, "int") : p->object_class;
    py_object *cls = py_class_new(p, NULL, name, 1, &base, PYC_BUILTIN);
    if (!cls) return NULL;
    cls->u.cls->make = make;
    bool derivable = !strcmp(name, "str") || !strcmp(name, "int") || !strcmp(name, "float");
    if (derivable &&
        !py_dict_set(p, cls->u.cls->attrs, "__new__", py_builtin(p, "__new__", builtin_new)))
        return NULL;
    return builtin_add_methods(p, name, cls) ? cls : NULL;
}

/* NULL: no such builtin, or out of memory. */
static py_object *builtin_make(py *p, const char *name) {
    name = intern(p->names, name);
    py_builtin_fn fn = builtin_row(py_number_types, name);
    if (!fn) fn = builtin_row(builtin_types, name);
    if (fn) return builtin_type(p, name, fn);
    fn = builtin_row(py_number_functions, name);
    if (!fn) fn = builtin_row(builtin_functions, name);
    if (fn) return py_builtin(p, name, fn);
    for (size_t i = 0; i < sizeof builtin_shadow_types / sizeof *builtin_shadow_types; i++)
        if (!strcmp(builtin_shadow_types[i], name))
            return py_class_new(p, NULL, name, 0, NULL, PYC_BUILTIN);
    for (size_t i = 0; i < sizeof builtin_exceptions / sizeof *builtin_exceptions; i++)
        if (!strcmp(builtin_exceptions[i][0], name))
            return builtin_exception(p, builtin_exceptions[i][0], builtin_exceptions[i][1]);
    return py_reflect_make(p, name);
}

py_object *py_builtin_named(py *p, const char *name) {
    py_dict *g = p->builtins->u.mod.globals;
    py_object *o = py_dict_get(g, name);
    if (!o && (o = builtin_make(p, name)) && !py_dict_set(p, g, name, o)) return NULL;
    return o;
}

bool py_builtins_init(py *p) {
    p->object_class = NULL;
    p->object_class = py_class_new(p, NULL, "object", 0, NULL, PYC_PLAIN);
    if (!p->object_class) return false;
    py_dict *g = p->builtins->u.mod.globals;
    return py_dict_set(p, g, "Ellipsis", p->ellipsis) &&
           py_dict_set(p, g, "NotImplemented", p->not_implemented) &&
           py_dict_set(p, g, "__debug__", p->true_) && py_objects_init(p) && py_memory(p);
}
