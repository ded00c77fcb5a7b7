/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_operator.c - the library's operators as Python's functions and as methods of Tensor.
 *
 * An Operator is a family of overloads, "aten::add". A call converts its arguments and lets the
 * library choose the overload, by the rules of scripts; what Python's calls may do beyond these is
 * in a table that python/generate.py makes of the schemas and the operators' rows: sizes one by one
 * (zeros(2, 3), x.view(2, 3)), the names of several results, whether random numbers are drawn. What
 * fits no overload raises TypeError in PyTorch's words (hook signature_error).
 *
 * Scopes. A thread has a scope for each depth of calls within calls (an operator that is
 * Python's may call others), which remembers what names and types meant. Random operators go
 * through one scope of the process, so that there is one stream of random numbers, and keep the
 * interpreter's lock.
 *
 * What changes the meaning of all operators while it holds (autocast, another default dtype) is
 * Python's (_intercept.py): calls go to the hook "intercept" then, which makes them by _plain. So
 * do calls with tensors of classes that have something to say to it (_subclass.py).
 */
#include "bind.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* What Python's calls of a family of overloads may do. */
enum {
    ROW_METHOD = 1,
    ROW_VARARGS = 2,
    ROW_METHOD_VARARGS = 4,
    ROW_DRAWS = 8, /* draws random numbers */
    ROW_INPUT = 16,
    ROW_DTYPE = 32,
    ROW_TRUTH = 64 /* a bool beside a tensor of bools is one, not the number 1 */
};
enum { DEPTH = 8, RELEASE_NUMEL = 1 << 15 };

typedef struct Operator {
    PyObject_HEAD bind_vectorcall call;
    const char *key, *name; /* "aten::add", "add" */
    unsigned flags;
    bool method;
    const char *results; /* "values indices"; "": unnamed */
    PyObject *result_class;
} Operator;

static const struct op_row { const char *name; unsigned flags; const char *results; } rows[] = {
#define ROW(name, flags, results) {name, flags, results},
#include "op_names.h"
#undef ROW
};
enum { NROWS = sizeof rows / sizeof *rows };

/* ---- scopes ---------------------------------------------------------------------------------- */

typedef struct thread_scopes {
    ctsc_scope *scopes[DEPTH];
    int depth;
} thread_scopes;
static __thread thread_scopes *mine;
static pthread_key_t at_exit_of_thread;

static void scopes_free(void *p) {
    thread_scopes *t = p;
    for (int i = 0; i < DEPTH; i++) ctsc_scope_free(t->scopes[i]);
    free(t);
}

static ctsc_scope *scope_enter(void) {
    if (!mine) {
        if (!(mine = calloc(1, sizeof *mine))) return PyErr_NoMemory(), NULL;
        pthread_setspecific(at_exit_of_thread, mine);
    }
    if (mine->depth == DEPTH)
        return PyErr_SetString(PyExc_RecursionError, "operators call operators too deeply"), NULL;
    ctsc_scope **s = &mine->scopes[mine->depth];
    if (!*s && !(*s = ctsc_scope_new())) return PyErr_NoMemory(), NULL;
    mine->depth++;
    ctsc_scope_set_gradients(*s, bind_grad_enabled());
    return *s;
}

static bool is_large(size_t n, ctsc_value *const *args) {
    int64_t all = 0;
    for (size_t i = 0; i < n; i++)
        if (ctsc_value_kind(args[i]) == CTSC_KIND_TENSOR) all += bind_numel(args[i]);
        else if (ctsc_value_kind(args[i]) == CTSC_KIND_LIST) all += RELEASE_NUMEL;
    return all >= RELEASE_NUMEL;
}

/* What a trace records; the handle is its scope's. */
static ctsc_value *call_traced(ctsc_scope *s, const char *key, size_t n, const char *const *names,
                               ctsc_value *const *args) {
    if (!bind_trace_sees(n, args)) return NULL;
    ctsc_value *h = ctsc_scope_call(s, key, n, names, args);
    if (!h) bind_raise(ctsc_scope_error(s), key);
    return h;
}

/* generator: the scope of the Generator that was given; NULL: none */
static ctsc_value *call_plain(const char *key, size_t n, const char *const *names,
                              ctsc_value *const *args, bool random, ctsc_scope *generator) {
    ctsc_error *e = bind_error();
    ctsc_value *out = NULL;
    ctsc_status st;
    if (!e) return NULL;
    ctsc_scope *shared = random && !generator ? bind_random_take() : NULL;
    if (!shared && PyErr_Occurred()) return NULL;
    if (generator) {
        ctsc_scope_set_gradients(generator, bind_grad_enabled());
        st = ctsc_scope_invoke(generator, key, n, names, args, &out, e);
    } else if (shared) {
        st = ctsc_scope_invoke(shared, key, n, names, args, &out, e);
        bind_random_give();
    } else {
        ctsc_scope *s = scope_enter();
        if (!s) return NULL;
        if (is_large(n, args)) {
            thread_scopes *t = mine;
            PyThreadState *saved = PyEval_SaveThread();
            st = ctsc_scope_invoke(s, key, n, names, args, &out, e);
            PyEval_RestoreThread(saved);
            t->depth--;
        } else {
            st = ctsc_scope_invoke(s, key, n, names, args, &out, e);
            mine->depth--;
        }
    }
    return st == CTSC_OK ? out : (bind_raise(e, key), NULL);
}

ctsc_value *bind_call(const char *key, size_t n, const char *const *names,
                      ctsc_value *const *args) {
    return call_plain(key, n, names, args, false, NULL);
}

PyObject *bind_call_object(const char *key, size_t n, ctsc_value *const *args) {
    ctsc_scope *trace = bind_tracing();
    if (trace) {
        ctsc_value *h = call_traced(trace, key, n, NULL, args);
        return h ? bind_traced_result(h) : NULL;
    }
    ctsc_value *v = call_plain(key, n, NULL, args, false, NULL);
    return v ? bind_from_value(v) : NULL;
}

/* ---- calls that Python changes --------------------------------------------------------------- */

static bool intercepts;            /* somebody wants to see calls */
static __thread bool within_plain; /* this one is his own */

static PyObject *set_intercept(PyObject *self, PyObject *on) {
    (void)self;
    intercepts = PyObject_IsTrue(on) == 1;
    return bind_ref(Py_None);
}
static PyObject *get_intercepts(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return PyBool_FromLong(intercepts);
}
/* _plain(operator, args, kwargs): the call itself. */
static PyObject *plain(PyObject *self, PyObject *args) {
    PyObject *op, *given, *kw;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO", &op, &given, &kw)) return NULL;
    PyObject *tuple = PySequence_Tuple(given);
    if (!tuple) return NULL;
    bool before = within_plain;
    within_plain = true;
    PyObject *o = PyObject_Call(op, tuple, kw);
    within_plain = before;
    Py_DECREF(tuple);
    return o;
}

static PyObject *overriding;            /* the set of classes whose __torch_function__ is asked */
static __thread bool overriding_is_off; /* within a __torch_function__ */

/* _set_overriding(set of classes or None) */
static PyObject *set_overriding(PyObject *self, PyObject *set) {
    (void)self;
    Py_XDECREF(overriding);
    overriding = set == Py_None ? NULL : bind_ref(set);
    return bind_ref(Py_None);
}
/* _overriding_off(bool, or None to ask) -> what it was */
static PyObject *set_overriding_off(PyObject *self, PyObject *off) {
    (void)self;
    bool before = overriding_is_off;
    if (off != Py_None) overriding_is_off = PyObject_IsTrue(off) == 1;
    return PyBool_FromLong(before);
}
static bool overrides(PyObject *o) {
    if (Py_TYPE(o) == bind.tensor) return false;
    if (PyTuple_Check(o) || PyList_Check(o)) {
        bool tuple = PyTuple_Check(o), found = false;
        Py_ssize_t n = tuple ? PyTuple_Size(o) : PyList_Size(o);
        for (Py_ssize_t i = 0; i < n && !found; i++) {
            PyObject *item = tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i);
            if (i == 0 && !TensorCheck(item)) return false; /* sizes */
            found = TensorCheck(item) && overrides(item);
        }
        return found;
    }
    return TensorCheck(o) && PySet_Contains(overriding, (PyObject *)Py_TYPE(o)) == 1;
}
bool bind_overrides(PyObject *o) {
    return overriding && !overriding_is_off && !bind_tracing() && overrides(o);
}
bool bind_intercepts(Py_ssize_t n, PyObject *const *args) {
    if (within_plain || bind_tracing()) return false;
    bool found = intercepts;
    for (Py_ssize_t i = 0; overriding && !overriding_is_off && !found && i < n; i++)
        found = args[i] && overrides(args[i]);
    return found;
}

static PyObject *intercepted(PyObject *op, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *hook = PyDict_GetItemString(bind.hooks, "intercept");
    PyObject *given = PyTuple_New(n), *kw = PyDict_New(), *o = NULL;
    Py_ssize_t nk = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; given && i < n; i++) PyTuple_SetItem(given, i, bind_ref(args[i]));
    for (Py_ssize_t i = 0; kw && i < nk; i++)
        PyDict_SetItem(kw, PyTuple_GetItem(names, i), args[n + i]);
    if (hook && given && kw) o = PyObject_CallFunctionObjArgs(hook, op, given, kw, NULL);
    Py_XDECREF(given);
    Py_XDECREF(kw);
    return o;
}

static PyObject *operator_new(const char *key, unsigned flags, bool method, const char *results);
PyObject *bind_intercepted(const char *key, PyObject *a, PyObject *b) {
    PyObject *op = operator_new(key, 0, false, ""), *const args[2] = {a, b};
    PyObject *o = op ? intercepted(op, args, b ? 2 : 1, NULL) : NULL;
    Py_XDECREF(op);
    return o;
}

/* ---- calls from Python ----------------------------------------------------------------------- */

enum { CALL_OUT = 4, CALL_NAME = 24 }; /* tensors of out=, a name of one */

typedef struct call {
    size_t n;
    bind_arg args[BIND_ARGS];
    ctsc_value *handles[BIND_ARGS];
    const char *names[BIND_ARGS];
    /* by_dtype: a dtype in place of the usual size, view(dtype) */
    bool keywords, requires_grad, by_dtype, truth;
    ctsc_scope *generator; /* of generator=; NULL: the process's random numbers */
    char out_names[CALL_OUT][CALL_NAME];
} call;

static bool call_add(call *c, const char *name, PyObject *o) {
    if (c->n == BIND_ARGS) return PyErr_SetString(PyExc_TypeError, "too many arguments"), false;
    if (!(c->truth && PyBool_Check(o) ? bind_truth(o, &c->args[c->n])
                                      : bind_to_value(o, false, &c->args[c->n])))
        return false;
    c->handles[c->n] = c->args[c->n].v;
    c->names[c->n++] = name;
    c->keywords |= name != NULL;
    return true;
}

/* ---- out=(values, indices) ------------------------------------------------------------------- */

typedef struct out_search {
    const char *key; /* without overload */
    Py_ssize_t n;
    bool found;
    call *c;
} out_search;

/* The names of what a schema writes: "..., Tensor(a!) values, Tensor(b!) indices) -> ...". */
static void out_visit(void *ctx, const ctsc_operator_info *o) {
    out_search *s = ctx;
    size_t len = strlen(s->key);
    if (s->found || strncmp(o->key, s->key, len) != 0 || o->key[len] != '.') return;
    const char *stop = strstr(o->schema, ") -> "), *p = o->schema;
    Py_ssize_t n = 0;
    while ((p = strstr(p, "!) ")) && p < stop) {
        p += 3;
        size_t width = strcspn(p, ",)");
        if (n == CALL_OUT || width >= CALL_NAME) return;
        memcpy(s->c->out_names[n], p, width);
        s->c->out_names[n++][width] = 0;
    }
    s->found = n == s->n;
}

static bool call_out(const Operator *op, call *c, PyObject *tuple) {
    out_search s = {.key = op->key, .n = PyTuple_Size(tuple), .c = c};
    if (s.n == 1) return call_add(c, "out", PyTuple_GetItem(tuple, 0));
    ctsc_operators(out_visit, &s);
    if (!s.found) return PyErr_SetString(PyExc_TypeError, "out= takes one tensor"), false;
    for (Py_ssize_t i = 0; i < s.n; i++)
        if (!call_add(c, c->out_names[i], PyTuple_GetItem(tuple, i))) return false;
    return true;
}

/* names=("N", None) of a factory: "*" stands for a dim without a name. */
static bool call_names(call *c, PyObject *o) {
    if (o == Py_None) return true;
    if (!PyList_Check(o) && !PyTuple_Check(o)) return call_add(c, "names", o);
    PyObject *list = PySequence_List(o);
    for (Py_ssize_t i = 0; list && i < PyList_Size(list); i++)
        if (PyList_GetItem(list, i) == Py_None &&
            PyList_SetItem(list, i, PyUnicode_FromString("*")) < 0)
            Py_CLEAR(list);
    bool ok = list && call_add(c, "names", list);
    Py_XDECREF(list);
    return ok;
}

/* Keywords that mean something else than a schema's argument of that name. */
static bool call_keyword(const Operator *op, call *c, PyObject *name, PyObject *o) {
    static const struct { const char *name, *means; } others[] = {
        {"axis", "dim"}, {"keepdims", "keepdim"}, {"input", "self"}};
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!s) return false;
    c->by_dtype |= (op->flags & ROW_DTYPE) && !strncmp(op->name, "view", 4) && DtypeCheck(o);
    if (!strcmp(s, "requires_grad")) return c->requires_grad = PyObject_IsTrue(o) == 1, true;
    if (o == Py_None && (!strcmp(s, "out") || !strcmp(s, "generator") || !strcmp(s, "dtype") ||
                         !strcmp(s, "device") || !strcmp(s, "layout")))
        return true;
    if (!strcmp(s, "generator")) return bind_generator_scope(o, &c->generator);
    if (!strcmp(s, "out") && PyTuple_Check(o)) return call_out(op, c, o);
    if (!strcmp(s, "names")) return call_names(c, o);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(s, others[i].name) && !(i == 2 && (op->flags & ROW_INPUT))) s = others[i].means;
    return call_add(c, s, o);
}

/* The arguments from i on as one list of ints: zeros(2, 3). */
static bool call_pack(call *c, PyObject *const *args, Py_ssize_t i, Py_ssize_t n) {
    PyObject *l = PyList_New(0);
    bool ok = l != NULL;
    for (; ok && i < n; i++) ok = PyList_Append(l, args[i]) == 0;
    ok = ok && call_add(c, NULL, l);
    Py_XDECREF(l);
    return ok;
}

static bool all_ints(PyObject *const *args, Py_ssize_t i, Py_ssize_t n) {
    for (; i < n; i++)
        if (PyBool_Check(args[i]) || !PyIndex_Check(args[i])) return false;
    return true;
}

static PyObject *named_results(Operator *op, PyObject *o) {
    if (!*op->results || !o || !PyTuple_Check(o)) return o;
    PyObject *maker = op->result_class ? NULL : PyDict_GetItemString(bind.hooks, "result_class");
    if (maker && !(op->result_class = PyObject_CallFunction(maker, "ss", op->name, op->results)))
        PyErr_Clear();
    if (!op->result_class) return o;
    PyObject *named = PyObject_CallFunctionObjArgs(op->result_class, o, NULL);
    Py_DECREF(o);
    return named;
}

/* The failure of a call that fits no overload becomes Python's TypeError. */
static PyObject *operator_failed(Operator *op, PyObject *const *args, Py_ssize_t n,
                                 PyObject *names) {
    PyObject *type, *x, *trace, *hook = PyDict_GetItemString(bind.hooks, "operator_failed");
    Py_ssize_t nk = names ? PyTuple_Size(names) : 0;
    if (!hook || !PyErr_Occurred()) return NULL;
    PyErr_Fetch(&type, &x, &trace);
    PyErr_NormalizeException(&type, &x, &trace);
    PyObject *given = PyTuple_New(n), *kw = PyDict_New();
    for (Py_ssize_t i = 0; given && i < n; i++) PyTuple_SetItem(given, i, bind_ref(args[i]));
    for (Py_ssize_t i = 0; kw && i < nk; i++)
        PyDict_SetItem(kw, PyTuple_GetItem(names, i), args[n + i]);
    /* another exception, None for the one there is, or the result of a call that fits once
     * arguments are what Python lets them be */
    PyObject *other = given && kw ? PyObject_CallFunction(hook, "sOOOi", op->name, x, given, kw,
                                                          (int)op->method)
                                  : NULL,
             *result = NULL;
    if (other && PyTuple_Check(other)) {
        result = bind_ref(PyTuple_GetItem(other, 0));
        Py_XDECREF(type);
        Py_XDECREF(x);
        Py_XDECREF(trace);
    } else if (other && other != Py_None) {
        PyErr_SetObject((PyObject *)Py_TYPE(other), other);
        Py_XDECREF(type);
        Py_XDECREF(x);
        Py_XDECREF(trace);
    } else {
        PyErr_Clear();
        PyErr_Restore(type, x, trace);
    }
    Py_XDECREF(other);
    Py_XDECREF(given);
    Py_XDECREF(kw);
    return result;
}

static PyObject *operator_run(Operator *op, call *c) {
    ctsc_scope *trace = bind_tracing();
    const char *const *names = c->keywords ? c->names : NULL, *key = op->key;
    char overload[128];
    if (c->by_dtype) {
        snprintf(overload, sizeof overload, "%s.dtype", key);
        key = overload;
    }
    if (trace) {
        ctsc_value *h = call_traced(trace, key, c->n, names, c->handles);
        return h ? bind_traced_result(h) : NULL;
    }
    ctsc_value *v = call_plain(key, c->n, names, c->handles, (op->flags & ROW_DRAWS) != 0,
                               c->generator);
    return v ? bind_from_value(v) : NULL;
}

/* The tensor among the arguments that o is, too; NULL: it is none of them. */
static PyObject *operator_argument(PyObject *o, PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (TensorCheck(args[i]) && ctsc_value_is(((Tensor *)o)->v, ((Tensor *)args[i])->v))
            return args[i];
    return NULL;
}

/* Operators that return an argument give back the very object: contiguous(), in-place ones, those
 * that write to out=. */
static PyObject *operator_result(Operator *op, PyObject *o, PyObject *const *args, Py_ssize_t n,
                                 PyObject *names) {
    size_t len = strlen(op->name);
    PyObject *same = NULL;
    for (Py_ssize_t i = 0; o && PyTuple_Check(o) && names && i < PyTuple_Size(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), "out") == 0 &&
            PyTuple_Check(args[n + i])) {
            Py_DECREF(o);
            o = bind_ref(args[n + i]);
        }
    if (o && TensorCheck(o)) {
        same = operator_argument(o, args, n);
        if (n && TensorCheck(args[0]) && op->name[len - 1] == '_' && op->name[len - 2] != '_')
            same = args[0];
        for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), "out") == 0 &&
                TensorCheck(args[n + i]))
                same = args[n + i];
    }
    /* chunk, unbind */
    if (!same && o && PyList_Check(o) && PyList_Size(o) && TensorCheck(PyList_GetItem(o, 0))) {
        PyObject *t = PyList_AsTuple(o);
        Py_DECREF(o);
        return t;
    }
    if (!same) return named_results(op, o);
    Py_DECREF(o);
    return bind_ref(same);
}

static PyObject *operator_call(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *names) {
    Operator *op = (Operator *)self;
    call c;
    Py_ssize_t n = BIND_NARGS(nargsf), at = op->method ? 1 : 0,
               nk = names ? PyTuple_Size(names) : 0;
    if (bind_intercepts(n + nk, args)) return intercepted(self, args, n, names);
    c.n = 0;
    c.keywords = c.requires_grad = c.by_dtype = false;
    c.truth = (op->flags & ROW_TRUTH) && n && TensorCheck(args[0]) &&
              ctsc_tensor_dtype(((Tensor *)args[0])->v) == CTSC_BOOL;
    c.generator = NULL;
    bool varargs = (op->flags & (op->method ? ROW_METHOD_VARARGS : ROW_VARARGS)) && n > at &&
                   all_ints(args, at, n),
         ok = true;
    for (Py_ssize_t i = 0; ok && i < (varargs ? at : n); i++) {
        ok = call_add(&c, NULL, args[i]);
        c.by_dtype |= (op->flags & ROW_DTYPE) && DtypeCheck(args[i]);
    }
    if (ok && varargs) ok = call_pack(&c, args, at, n);
    for (Py_ssize_t i = 0; ok && i < nk; i++)
        ok = call_keyword(op, &c, PyTuple_GetItem(names, i), args[n + i]);
    PyObject *o = ok ? operator_run(op, &c) : NULL;
    bind_free_args(c.n, c.args);
    if (!o) o = operator_failed(op, args, n, names);
    if (!o) return NULL;
    o = operator_result(op, o, args, n, names);
    if (o && c.requires_grad && TensorCheck(o) && bind_set_requires_grad(o, Py_True, NULL) < 0)
        Py_CLEAR(o);
    return o;
}

/* ---- the type -------------------------------------------------------------------------------- */

static PyObject *operator_get(PyObject *self, PyObject *object, PyObject *type) {
    static PyObject *bound;
    (void)type;
    if (!object || !((Operator *)self)->method) return bind_ref(self);
    if (!bound) {
        PyObject *types = PyImport_ImportModule("types");
        bound = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
        Py_XDECREF(types);
        if (!bound) return NULL;
    }
    return PyObject_CallFunctionObjArgs(bound, self, object, NULL);
}

static PyObject *operator_repr(PyObject *self) {
    Operator *op = (Operator *)self;
    return PyUnicode_FromFormat("<ctsc %s %s>", op->method ? "method" : "function", op->name);
}
static PyObject *operator_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((Operator *)self)->name);
}
static PyObject *operator_key(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((Operator *)self)->key);
}
static PyObject *operator_doc(PyObject *self, void *unused) {
    (void)unused;
    PyObject *hook = PyDict_GetItemString(bind.hooks, "operator_doc");
    return hook ? PyObject_CallFunction(hook, "s", ((Operator *)self)->key) : bind_ref(Py_None);
}
/* What else programs ask of torch.ops' operators: overloads, and what they are called. */
static PyObject *operator_attribute(PyObject *self, PyObject *name) {
    PyObject *found = PyObject_GenericGetAttr(self, name), *hook;
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    if (!(hook = PyDict_GetItemString(bind.hooks, "operator_attribute"))) return NULL;
    PyErr_Clear();
    return PyObject_CallFunctionObjArgs(hook, self, name, NULL);
}
static void operator_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((Operator *)self)->result_class);
    free((char *)((Operator *)self)->key);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyGetSetDef operator_properties[] = {
    {"__name__", operator_name, NULL, NULL, NULL},
    {"key", operator_key, NULL, NULL, NULL},
    {"__doc__", operator_doc, NULL, NULL, NULL},
    {0},
};
static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Operator, call), READONLY, NULL}, {0}};
static PyType_Slot operator_slots[] = {
    {Py_tp_new, bind_no_new},
    {Py_tp_dealloc, operator_dealloc},
    {Py_tp_repr, operator_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, operator_get},
    {Py_tp_getset, operator_properties},
    {Py_tp_members, operator_members},
    {Py_tp_getattro, operator_attribute},
    {0, NULL},
};
static PyType_Spec operator_spec = {
    "ctsc.Operator", sizeof(Operator), 0,
    Py_TPFLAGS_DEFAULT | BIND_HAVE_VECTORCALL | BIND_METHOD_DESCRIPTOR, operator_slots};

static PyObject *operator_new(const char *key, unsigned flags, bool method, const char *results) {
    Operator *op = (Operator *)PyType_GenericAlloc(bind.op, 0);
    if (!op) return NULL;
    op->call = operator_call;
    op->key = strdup(key);
    if (!op->key) return Py_DECREF(op), PyErr_NoMemory();
    const char *colons = strstr(op->key, "::");
    op->name = colons ? colons + 2 : op->key;
    op->flags = flags;
    op->method = method;
    op->results = results;
    return (PyObject *)op;
}

static const struct op_row *row_find(const char *name) {
    int low = 0, high = NROWS;
    while (low < high) {
        int mid = (low + high) / 2, order = strcmp(name, rows[mid].name);
        if (!order) return &rows[mid];
        if (order < 0) high = mid;
        else low = mid + 1;
    }
    return NULL;
}

static PyObject *row_object(const struct op_row *r, bool method) {
    char key[256];
    if (strlen(r->name) > sizeof key - 8) return NULL;
    strcpy(key, "aten::");
    strcat(key, r->name);
    return operator_new(key, r->flags, method, r->results);
}

/* _operator("add"): the function; None if there is no such family.
 * _operator("torchvision::nms"): any operator. */
static PyObject *make_operator(PyObject *self, PyObject *args) {
    const char *name;
    int method = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "s|p", &name, &method)) return NULL;
    if (strstr(name, "::")) { /* flags of the family that an overload is of */
        char family[128];
        const struct op_row *of = NULL;
        if (!strncmp(name, "aten::", 6) && strlen(name) < sizeof family) {
            strcpy(family, name + 6);
            family[strcspn(family, ".")] = '\0';
            of = row_find(family);
        }
        return operator_new(name, of ? of->flags & (ROW_DRAWS | ROW_INPUT | ROW_TRUTH) : 0, method,
                            "");
    }
    const struct op_row *r = row_find(name);
    return r ? row_object(r, method) : bind_ref(Py_None);
}

static PyObject *operator_names(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    PyObject *l = PyList_New(NROWS);
    for (int i = 0; l && i < NROWS; i++)
        if (PyList_SetItem(l, i, PyUnicode_FromString(rows[i].name)) < 0) Py_CLEAR(l);
    return l;
}

/* [(key, schema, supported)] of a family, or of all. */
static void schema_visit(void *ctx, const ctsc_operator_info *o) {
    PyObject *l = ctx,
             *row = Py_BuildValue("(ssO)", o->key, o->schema, o->supported ? Py_True : Py_False);
    if (!row || PyList_Append(l, row) < 0) PyErr_Clear();
    Py_XDECREF(row);
}
static PyObject *operator_schemas(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    PyObject *l = PyList_New(0);
    if (l) ctsc_operators(schema_visit, l);
    return l;
}

static PyObject *seed(PyObject *self, PyObject *o) {
    (void)self;
    bind_arg a;
    if (!bind_to_value(o, false, &a)) return NULL;
    ctsc_value *v = call_plain("aten::manual_seed", 1, NULL, &a.v, true, NULL);
    bind_free_args(1, &a);
    if (!v) return NULL;
    ctsc_value_free(v);
    return bind_ref(Py_None);
}

PyMethodDef bind_operator_methods[] = {
    {"_operator", make_operator, METH_VARARGS, NULL},
    {"_operator_names", operator_names, METH_NOARGS, NULL},
    {"_operator_schemas", operator_schemas, METH_NOARGS, NULL},
    {"_manual_seed", seed, METH_O, NULL},
    {"_set_intercept", set_intercept, METH_O, NULL},
    {"_plain", plain, METH_VARARGS, NULL},
    {"_set_overriding", set_overriding, METH_O, NULL},
    {"_overriding_off", set_overriding_off, METH_O, NULL},
    {"_intercepts", get_intercepts, METH_NOARGS, NULL},
    {0},
};

int bind_init_operator(PyObject *m) {
    (void)m;
    pthread_key_create(&at_exit_of_thread, scopes_free);
    bind.op = (PyTypeObject *)PyType_FromSpec(&operator_spec);
    if (!bind.op) return -1;
    for (int i = 0; i < NROWS; i++) {
        if (!(rows[i].flags & ROW_METHOD) || (rows[i].name[0] == '_')) continue;
        PyObject *op = row_object(&rows[i], true);
        if (!op || PyObject_SetAttrString((PyObject *)bind.tensor, rows[i].name, op) < 0) return -1;
        Py_DECREF(op);
    }
    return PyObject_SetAttrString(m, "Operator", (PyObject *)bind.op);
}
