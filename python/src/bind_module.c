/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_module.c - programs: loading and compiling them, calling their methods, what is in them.
 *
 * A Module is callable, and its forward; other methods are bound objects (Method). Names that are
 * neither are looked up in the program: submodules are Modules of their own, other attributes
 * values. The breadth (state_dict, save, to, ...) is python/ctsc/_module.py's.
 *
 * Gradients. A program is recorded from when somebody asks for it on: train(), requires_grad_(), an
 * optimiser of its parameters, a call with arguments that require gradients (record). Until then it
 * runs as optimised code with its weights as constants; after that its weights may change at any
 * time, and it does not, until requires_grad_(False) ends it. Parts share that with their whole.
 */
#include "bind.h"

#include <string.h>

typedef struct Module {
    PyObject_HEAD bind_vectorcall call;
    ctsc_module *m;
    PyObject *keep; /* the bytes that the archive is read from */
    PyObject *weak;
    ctsc_signature *forward; /* made at the first call with keywords */
    struct Module *whole;    /* of a part; NULL: none */
    bool gradients;          /* calls are recorded, where the thread's mode says so */
    int running;             /* calls under way */
} Module;

typedef struct Method {
    PyObject_HEAD bind_vectorcall call;
    Module *module;
    char *name;
    ctsc_signature *signature;
} Method;

static PyTypeObject *method_type;

/* ---- gradients ------------------------------------------------------------------------------- */

static Module *whole_of(Module *m) { return m->whole ? m->whole : m; }

static bool set_gradients(Module *m, bool on) {
    if (m->gradients == on) return true;
    if (m->running)
        return PyErr_SetString(
                   PyExc_RuntimeError,
                   "the program is running on another thread, and cannot begin or end to record "
                   "gradients meanwhile: call requires_grad_() or train() before"),
               false;
    ctsc_error *e = bind_error();
    if (!e || ctsc_module_set_gradients(m->m, on, e) != CTSC_OK)
        return e && bind_raise(e, "requires_grad_") != NULL;
    m->gradients = on;
    return true;
}

/* Calls are recorded from now on, or no longer. */
static bool record(Module *m, bool on) {
    return set_gradients(whole_of(m), on) && set_gradients(m, on);
}

/* Does a tensor among the arguments, or in a list, tuple or dict of them, require a gradient? */
static bool requires_grad(const ctsc_value *v, int depth) {
    ctsc_kind kind = ctsc_value_kind(v);
    if (kind == CTSC_KIND_TENSOR) return ctsc_value_requires_grad(v);
    if (depth == 8 || (kind != CTSC_KIND_LIST && kind != CTSC_KIND_TUPLE && kind != CTSC_KIND_DICT))
        return false;
    bool yes = false;
    for (size_t i = 0; !yes && i < ctsc_value_len(v); i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        yes = item && requires_grad(item, depth + 1);
        ctsc_value_free(item);
    }
    return yes;
}

/* Whether a call with these arguments is to be recorded; 0: no, 1: yes, -1 with an exception. */
static int is_recorded(Module *m, size_t n, ctsc_value *const *args) {
    if (!bind_grad_enabled()) return 0;
    bool wanted = whole_of(m)->gradients;
    for (size_t i = 0; !wanted && i < n; i++) wanted = requires_grad(args[i], 0);
    return !wanted ? 0 : record(m, true) ? 1 : -1;
}

/* _record(on) */
static PyObject *module_record(PyObject *self, PyObject *on) {
    int yes = PyObject_IsTrue(on);
    if (yes < 0) return NULL;
    return record((Module *)self, yes) ? bind_ref(Py_None) : NULL;
}

/* _train(mode): `training` of the module and all its parts */
static PyObject *module_train(PyObject *self, PyObject *mode) {
    int yes = PyObject_IsTrue(mode);
    if (yes < 0 || (yes && !record((Module *)self, true))) return NULL;
    (yes ? ctsc_module_train : ctsc_module_eval)(((Module *)self)->m);
    return bind_ref(Py_None);
}

/* _state(): parameters and buffers by all their names */
static PyObject *module_state(PyObject *self, PyObject *unused) {
    (void)unused;
    ctsc_error *e = bind_error();
    ctsc_value *state = NULL;
    if (!e) return NULL;
    ctsc_status st = ctsc_module_state(((Module *)self)->m, &state, e);
    return st == CTSC_OK ? bind_from_value(state) : bind_raise(e, "state_dict");
}

/* _load_state(dict) copies tensors into the module's. */
static PyObject *module_load_state(PyObject *self, PyObject *state) {
    bind_arg a;
    ctsc_error *e = bind_error();
    if (!e || !bind_to_value(state, false, &a)) return NULL;
    ctsc_status st = ctsc_module_load_state(((Module *)self)->m, a.v, e);
    bind_free_args(1, &a);
    return st == CTSC_OK ? bind_ref(Py_None) : bind_raise(e, "load_state_dict");
}

/* ---- calls ----------------------------------------------------------------------------------- */

static PyObject *run_traced(ctsc_scope *s, const Module *self, const char *method, size_t n,
                            ctsc_value *const *args) {
    ctsc_value *h = ctsc_run(s, self->m, method, n, args);
    return h ? bind_traced_result(h) : bind_raise(ctsc_scope_error(s), method);
}

static PyObject *run(Module *self, const char *method, size_t n, ctsc_value *const *args) {
    ctsc_scope *trace = bind_tracing(), *random = NULL;
    if (trace) return run_traced(trace, self, method, n, args);
    ctsc_error *e = bind_error();
    int recorded = e ? is_recorded(self, n, args) : -1;
    if (recorded < 0) return NULL;
    if (recorded && !(random = bind_random_take()) && PyErr_Occurred()) return NULL;
    const ctsc_cancel *c = bind_interrupt_enter();
    ctsc_run_options o = bind_limits(c);
    o.profiler = bind_profiler();
    o.no_gradients = !recorded;
    o.random = random;
    o.lazy_results = true;
    ctsc_value *out = NULL;
    Module *whole = whole_of(self);
    self->running++;
    whole->running += whole != self;
    PyThreadState *saved = PyEval_SaveThread();
    ctsc_status st = ctsc_module_run(self->m, method, n, args, &o, &out, e);
    PyEval_RestoreThread(saved);
    self->running--;
    whole->running -= whole != self;
    if (random) bind_random_give();
    if (bind_interrupt_leave(c, st != CTSC_OK)) return ctsc_value_free(out), NULL;
    return st == CTSC_OK ? bind_from_value(out) : bind_raise(e, method);
}

static bool given(const char *name, PyObject *names, Py_ssize_t *at) {
    for (*at = 0; *at < PyTuple_Size(names); ++*at)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, *at), name) == 0) return true;
    return false;
}

/* Keywords in the places that the signature gives them; what is left out in between
 * has its default. */
static bool place_keywords(const Module *self, const char *method, ctsc_signature **sig,
                           PyObject *const *args, Py_ssize_t n, PyObject *names, bind_arg *out,
                           size_t *count) {
    ctsc_error *e = bind_error();
    if (!e || (!*sig && ctsc_module_signature(self->m, method, sig, e) != CTSC_OK))
        return e && bind_raise(e, method) != NULL;
    Py_ssize_t used = 0, nk = PyTuple_Size(names), at;
    for (size_t i = (size_t)n; i < ctsc_signature_argument_count(*sig) && used < nk; i++) {
        const ctsc_argument *a = ctsc_signature_argument(*sig, i);
        if (*count == 64) return PyErr_SetString(PyExc_TypeError, "too many arguments"), false;
        bool named = given(a->name, names, &at);
        if (!named && !a->default_value) {
            PyErr_Format(bind.error, "%s() is missing value for argument '%s'.", method, a->name);
            return false;
        }
        if (named && !bind_to_value(args[n + at], true, &out[*count])) return false;
        if (!named) out[*count] = (bind_arg){(ctsc_value *)a->default_value, false};
        ++*count;
        used += named;
    }
    if (used == nk) return true;
    for (Py_ssize_t k = 0; k < nk; k++) {
        bool known = false;
        for (size_t i = (size_t)n; i < ctsc_signature_argument_count(*sig); i++)
            known |= PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, k),
                                                      ctsc_signature_argument(*sig, i)->name) == 0;
        if (!known)
            return PyErr_Format(bind.error, "Unknown keyword argument '%U' for operator '%s'",
                                PyTuple_GetItem(names, k), method),
                   false;
    }
    return true;
}

static PyObject *call_method(Module *self, const char *method, ctsc_signature **sig,
                             PyObject *const *args, size_t nargsf, PyObject *names) {
    Py_ssize_t n = BIND_NARGS(nargsf);
    bind_arg given_args[64];
    ctsc_value *handles[64];
    size_t count = 0;
    bool ok = n <= 64;
    if (!ok) PyErr_SetString(PyExc_TypeError, "too many arguments");
    for (Py_ssize_t i = 0; ok && i < n; i++)
        if ((ok = bind_to_value(args[i], true, &given_args[count]))) count++;
    if (ok && names && PyTuple_Size(names))
        ok = place_keywords(self, method, sig, args, n, names, given_args, &count);
    for (size_t i = 0; ok && i < count; i++) handles[i] = given_args[i].v;
    Py_INCREF(self); /* callbacks may drop the last reference */
    PyObject *o = ok ? run(self, method, count, handles) : NULL;
    bind_free_args(count, given_args);
    Py_DECREF(self);
    return o;
}

static PyObject *module_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *names) {
    return call_method((Module *)self, "forward", &((Module *)self)->forward, args, nargsf, names);
}

static PyObject *method_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *names) {
    Method *f = (Method *)self;
    return call_method(f->module, f->name, &f->signature, args, nargsf, names);
}

/* ---- methods as objects ---------------------------------------------------------------------- */

static void method_dealloc(PyObject *self) {
    Method *f = (Method *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF((PyObject *)f->module);
    ctsc_signature_free(f->signature);
    PyMem_Free(f->name);
    PyObject_Free(self);
    Py_DECREF(type);
}
static PyObject *method_repr(PyObject *self) {
    return PyUnicode_FromFormat("<ctsc.ScriptMethod %s>", ((Method *)self)->name);
}
static PyObject *method_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((Method *)self)->name);
}
static PyObject *method_owner(PyObject *self, void *unused) {
    (void)unused;
    return bind_ref((PyObject *)((Method *)self)->module);
}
static PyObject *text_take(char *s) {
    PyObject *t = s ? PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace") : PyErr_NoMemory();
    ctsc_string_free(s);
    return t;
}
static PyObject *method_text(PyObject *self, void *what) {
    Method *f = (Method *)self;
    ctsc_error *e = bind_error();
    char *s = NULL;
    if (!e) return NULL;
    if (!strcmp(what, "schema")) return text_take(ctsc_module_method_schema(f->module->m, f->name));
    ctsc_status st = !strcmp(what, "code") ? ctsc_module_code(f->module->m, f->name, &s, e)
                                           : ctsc_module_graph(f->module->m, f->name, 0, &s, e);
    return st == CTSC_OK ? text_take(s) : bind_raise(e, f->name);
}
static PyGetSetDef method_properties[] = {
    {"__name__", method_name, NULL, NULL, NULL},
    {"owner", method_owner, NULL, "The module that it is a method of.", NULL},
    {"graph", method_text, NULL, "Its graph, as a text.", "graph"},
    {"code", method_text, NULL, "Its source, made of its graph.", "code"},
    {"schema", method_text, NULL, "Its arguments and results.", "schema"},
    {0},
};
static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Method, call), READONLY, NULL}, {0}};
static PyType_Slot method_slots[] = {
    {Py_tp_doc, "ScriptMethod(*args, **kwargs)\n--\n\nA method of a program."},
    {Py_tp_new, bind_no_new},
    {Py_tp_dealloc, method_dealloc},
    {Py_tp_repr, method_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, method_properties},
    {Py_tp_members, method_members},
    {0, NULL},
};
static PyType_Spec method_spec = {"ctsc.ScriptMethod", sizeof(Method), 0,
                                  Py_TPFLAGS_DEFAULT | BIND_HAVE_VECTORCALL, method_slots};

static PyObject *method_new(Module *m, const char *name) {
    Method *f = (Method *)PyType_GenericAlloc(method_type, 0);
    if (!f) return NULL;
    f->call = method_vectorcall;
    f->module = (Module *)bind_ref((PyObject *)m);
    f->name = PyMem_Malloc(strlen(name) + 1);
    if (!f->name) return Py_DECREF(f), PyErr_NoMemory();
    strcpy(f->name, name);
    return (PyObject *)f;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool has_method(const ctsc_module *m, const char *name) {
    for (size_t i = 0; i < ctsc_module_method_count(m); i++)
        if (!strcmp(ctsc_module_method_name(m, i), name)) return true;
    return false;
}

static bool is_module(const ctsc_value *v) {
    ctsc_value *t = ctsc_value_kind(v) == CTSC_KIND_OBJECT ? ctsc_value_get(v, "training") : NULL;
    ctsc_value_free(t);
    return t != NULL;
}

static PyObject *attribute(Module *self, const char *name) {
    ctsc_value *root = ctsc_module_object(self->m), *v = root ? ctsc_value_get(root, name) : NULL;
    ctsc_value_free(root);
    if (!v) return NULL;
    ctsc_scope *trace = bind_tracing();
    if (trace && ctsc_value_kind(v) == CTSC_KIND_TENSOR) {
        ctsc_value_free(v);
        ctsc_value *h = ctsc_attribute(trace, self->m, name);
        return h ? bind_traced_result(h) : bind_raise(ctsc_scope_error(trace), name);
    }
    if (!is_module(v)) return bind_from_value(v);
    ctsc_module *part = NULL;
    ctsc_error *e = bind_error();
    ctsc_value_free(v);
    if (!e || ctsc_module_submodule(self->m, name, &part, e) != CTSC_OK)
        return e ? bind_raise(e, name) : NULL;
    PyObject *o = bind_module_take(part, self->keep);
    if (!o) return NULL;
    Module *whole = whole_of(self);
    ((Module *)o)->whole = (Module *)bind_ref((PyObject *)whole);
    ((Module *)o)->gradients = self->gradients; /* the library's handle begins with it, too */
    return o;
}

static PyObject *module_getattr(PyObject *self, PyObject *name) {
    PyObject *o = PyObject_GenericGetAttr(self, name), *type, *x, *trace;
    if (o || !PyErr_ExceptionMatches(PyExc_AttributeError)) return o;
    Module *m = (Module *)self;
    PyErr_Fetch(&type, &x, &trace);
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL);
    if (s) o = has_method(m->m, s) ? method_new(m, s) : attribute(m, s);
    if (!o && !PyErr_Occurred())
        PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'",
                     ctsc_module_class(m->m), s ? s : "?");
    Py_XDECREF(type);
    Py_XDECREF(x);
    Py_XDECREF(trace);
    return o;
}

static int module_setattr(PyObject *self, PyObject *name, PyObject *v) {
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL);
    Module *m = (Module *)self;
    bind_arg a;
    ctsc_error *e = bind_error();
    if (!s || !e) return -1;
    if (!v)
        return PyErr_SetString(PyExc_AttributeError, "attributes of a program cannot be deleted"),
               -1;
    if (!bind_to_value(v, true, &a)) return -1;
    ctsc_status st = ctsc_module_set_attribute(m->m, s, a.v, e);
    bind_free_args(1, &a);
    if (st == CTSC_OK) return 0;
    if (st == CTSC_USAGE && strstr(ctsc_error_message(e), "has no attribute"))
        PyErr_SetString(PyExc_AttributeError, ctsc_error_message(e));
    else bind_raise(e, s);
    return -1;
}

/* ---- the type -------------------------------------------------------------------------------- */

PyObject *bind_module_take(ctsc_module *m, PyObject *keep) {
    Module *o = (Module *)PyType_GenericAlloc(bind.module, 0);
    if (!o) return ctsc_module_free(m), NULL;
    o->call = module_vectorcall;
    o->m = m;
    o->keep = keep;
    Py_XINCREF(keep);
    return (PyObject *)o;
}

static void module_dealloc(PyObject *self) {
    Module *m = (Module *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (m->weak) PyObject_ClearWeakRefs(self);
    ctsc_signature_free(m->forward);
    ctsc_module_free(m->m);
    Py_XDECREF((PyObject *)m->whole);
    Py_XDECREF(m->keep);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *get_methods(PyObject *self, void *unused) {
    (void)unused;
    const ctsc_module *m = ((Module *)self)->m;
    PyObject *l = PyList_New((Py_ssize_t)ctsc_module_method_count(m));
    for (size_t i = 0; l && i < ctsc_module_method_count(m); i++)
        PyList_SetItem(l, (Py_ssize_t)i, PyUnicode_FromString(ctsc_module_method_name(m, i)));
    return l;
}
static PyObject *get_class(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(ctsc_module_class(((Module *)self)->m));
}

/* The class that isinstance() takes a program for: a subclass of ctsc.nn.Module, once that has been
 * imported (_set_module_class). */
static PyObject *seen_class;
static PyObject *get_seen_class(PyObject *self, void *unused) {
    (void)unused;
    return bind_ref(seen_class ? seen_class : (PyObject *)Py_TYPE(self));
}
static PyObject *set_module_class(PyObject *module, PyObject *cls) {
    (void)module;
    PyObject *before = seen_class;
    seen_class = bind_ref(cls);
    Py_XDECREF(before);
    return bind_ref(Py_None);
}

static PyObject *get_records(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(whole_of((Module *)self)->gradients);
}

/* _attributes() -> [(name, value, is_parameter, is_buffer)], all that holds data, depth first. */
typedef struct attributes {
    PyObject *list;
    Module *of;
} attributes;
static void attribute_visit(void *ctx, const ctsc_attribute_info *a) {
    attributes *to = ctx;
    PyObject *l = to->list, *v = bind_from_value(ctsc_value_copy(a->value)), *row = NULL;
    if (v && a->is_parameter && TensorCheck(v))
        ((Tensor *)v)->program = bind_ref((PyObject *)to->of);
    if (v)
        row = Py_BuildValue("(sNOO)", a->name, v, a->is_parameter ? Py_True : Py_False,
                            a->is_buffer ? Py_True : Py_False);
    if (!row || PyList_Append(l, row) < 0) PyErr_Clear();
    Py_XDECREF(row);
}
static PyObject *module_attributes(PyObject *self, PyObject *unused) {
    (void)unused;
    attributes to = {PyList_New(0), (Module *)self};
    if (to.list) ctsc_module_attributes(((Module *)self)->m, attribute_visit, &to);
    return to.list;
}
/* Names of the module's own attributes, and which of them are modules. */
static PyObject *module_names(PyObject *self, PyObject *unused) {
    (void)unused;
    ctsc_value *root = ctsc_module_object(((Module *)self)->m);
    PyObject *l = PyList_New(0);
    for (size_t i = 0; l && i < ctsc_value_len(root); i++) {
        ctsc_value *v = ctsc_value_item(root, i);
        PyObject *row = Py_BuildValue("(sO)", ctsc_value_name(root, i),
                                      v && is_module(v) ? Py_True : Py_False);
        ctsc_value_free(v);
        if (!row || PyList_Append(l, row) < 0) Py_CLEAR(l);
        Py_XDECREF(row);
    }
    ctsc_value_free(root);
    return l;
}

static PyObject *failed_or_none(ctsc_status st, const ctsc_error *e, const char *what) {
    return st == CTSC_OK ? bind_ref(Py_None) : bind_raise(e, what);
}

static PyObject *module_save(PyObject *self, PyObject *args) {
    const char *path;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "s", &path)) return NULL;
    return failed_or_none(ctsc_module_save(((Module *)self)->m, path, e), e, "save");
}

/* The texts of a tuple of them; they live as long as it. Free with PyMem_Free. */
static const char **texts_of(PyObject *tuple, size_t *n) {
    *n = (size_t)PyTuple_Size(tuple);
    const char **out = PyMem_Malloc((*n + 1) * sizeof *out);
    if (!out) return PyErr_NoMemory(), NULL;
    for (size_t i = 0; i < *n; i++)
        if (!(out[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, (Py_ssize_t)i), NULL)))
            return PyMem_Free(out), NULL;
    return out;
}
static ctsc_onnx_axis *axes_of(PyObject *tuple, size_t *n) {
    *n = (size_t)PyTuple_Size(tuple);
    ctsc_onnx_axis *out = PyMem_Malloc((*n + 1) * sizeof *out);
    if (!out) return PyErr_NoMemory(), NULL;
    for (size_t i = 0; i < *n; i++)
        if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, (Py_ssize_t)i), "iis", &out[i].input,
                              &out[i].dim, &out[i].name))
            return PyMem_Free(out), NULL;
    return out;
}
/* _save_onnx(path, arguments, opset, ((input, dim, name), ...), input names, output names,
 * tolerance): a tolerance of 0 or more checks the file */
static PyObject *module_save_onnx(PyObject *self, PyObject *args) {
    PyObject *given, *axes, *inputs, *outputs, *result = NULL;
    const char *path;
    size_t n = 0;
    ctsc_onnx_options o = {.size = sizeof o, .warn = bind_on_warn, .tolerance = -1};
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "sO!iO!O!O!|d", &path, &PyTuple_Type, &given, &o.opset,
                                &PyTuple_Type, &axes, &PyTuple_Type, &inputs, &PyTuple_Type,
                                &outputs, &o.tolerance))
        return NULL;
    o.check = o.tolerance >= 0;
    size_t count = (size_t)PyTuple_Size(given);
    bind_arg *own = PyMem_Malloc((count + 1) * sizeof *own);
    ctsc_value **values = PyMem_Malloc((count + 1) * sizeof *values);
    ctsc_onnx_axis *dims = axes_of(axes, &o.naxes);
    const char **in = texts_of(inputs, &o.ninput_names),
               **out = texts_of(outputs, &o.noutput_names);
    bool ok = own && values && dims && in && out;
    while (ok && n < count) {
        ok = bind_to_value(PyTuple_GetItem(given, (Py_ssize_t)n), false, &own[n]);
        if (ok) values[n] = own[n].v, n++;
    }
    o.axes = dims;
    o.input_names = in;
    o.output_names = out;
    if (ok)
        result = failed_or_none(ctsc_module_save_onnx(((Module *)self)->m, path, n, values, &o, e),
                                e, "export");
    else if (!PyErr_Occurred()) PyErr_NoMemory();
    if (own) bind_free_args(n, own);
    PyMem_Free(own);
    PyMem_Free(values);
    PyMem_Free(dims);
    PyMem_Free(in);
    PyMem_Free(out);
    return result;
}
static PyObject *module_to(PyObject *self, PyObject *args) {
    const char *device;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "s", &device)) return NULL;
    return failed_or_none(ctsc_module_to(((Module *)self)->m, device, e), e, "to");
}
static PyObject *module_set_opt(PyObject *self, PyObject *args) {
    int level;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "i", &level)) return NULL;
    return failed_or_none(ctsc_module_set_opt(((Module *)self)->m, level, e), e, "set_opt");
}
static PyObject *module_set_precision(PyObject *self, PyObject *args) {
    const char *name;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "s", &name)) return NULL;
    return failed_or_none(ctsc_module_set_precision(((Module *)self)->m, name, e), e,
                          "set_precision");
}
static PyObject *module_freeze(PyObject *self, PyObject *args) {
    int fold;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "p", &fold)) return NULL;
    return failed_or_none(ctsc_module_freeze(((Module *)self)->m, fold, e), e, "freeze");
}

/* ---- quantisation ---------------------------------------------------------------------------- */

/* The examples, each a tuple of arguments. handles: room for all. */
static bool quantize_examples(PyObject *examples, size_t n, bind_arg *args, ctsc_value **handles,
                              size_t *made) {
    for (*made = 0; *made < n; ++*made) {
        PyObject *t = PyTuple_GetItem(examples, (Py_ssize_t)*made);
        if (!PyTuple_Check(t))
            return PyErr_SetString(PyExc_TypeError, "an example is a tuple of arguments"), false;
        if (!bind_to_value(t, true, &args[*made])) return false;
        handles[*made] = args[*made].v;
    }
    return true;
}

static PyObject *quantize_known(double x) {
    if (x < 0) Py_RETURN_NONE;
    return PyFloat_FromDouble(x);
}

/* {"error": ..., "layers": [{"name": ...}]}, takes r */
static PyObject *quantize_report(ctsc_quantize_report *r) {
    ctsc_quantize_summary s = {.size = sizeof s};
    ctsc_quantize_layer l = {.size = sizeof l};
    ctsc_quantize_report_summary(r, &s);
    PyObject *layers = PyList_New(0);
    for (size_t i = 0; layers && ctsc_quantize_report_layer(r, i, &l); i++) {
        PyObject *row = Py_BuildValue(
            "{s:s,s:s,s:O,s:z,s:L,s:L,s:N,s:N,s:N}", "name", l.name, "kind", l.kind, "quantized",
            l.quantized ? Py_True : Py_False, "reason", l.reason, "bytes", (long long)l.bytes,
            "bytes_quantized", (long long)l.bytes_quantized, "error", quantize_known(l.error), "us",
            quantize_known(l.us), "us_quantized", quantize_known(l.us_quantized));
        if (!row || PyList_Append(layers, row) < 0) Py_CLEAR(layers);
        Py_XDECREF(row);
    }
    PyObject *all = !layers ? NULL
                            : Py_BuildValue("{s:n,s:n,s:L,s:L,s:N,s:N,s:N,s:N}", "quantized",
                                            (Py_ssize_t)s.quantized, "examples",
                                            (Py_ssize_t)s.examples, "bytes", (long long)s.bytes,
                                            "bytes_quantized", (long long)s.bytes_quantized,
                                            "error", quantize_known(s.error), "us",
                                            quantize_known(s.us), "us_quantized",
                                            quantize_known(s.us_quantized), "layers", layers);
    ctsc_quantize_report_free(r);
    return all;
}

/* _quantize(examples, method, observer, per_tensor, symmetric, reduce_range, for_onnx, keep,
 * max_error, calls) */
static PyObject *module_quantize(PyObject *self, PyObject *args) {
    ctsc_quantize_options o = {.size = sizeof o};
    PyObject *examples, *keep;
    int per_tensor, symmetric, reduce, onnx;
    ctsc_quantize_report *r = NULL;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "O!zzppppO!di", &PyTuple_Type, &examples, &o.method,
                                &o.observer, &per_tensor, &symmetric, &reduce, &onnx, &PyTuple_Type,
                                &keep, &o.max_error, &o.timed_calls))
        return NULL;
    o.per_tensor = per_tensor, o.symmetric = symmetric;
    o.reduce_range = reduce, o.for_onnx = onnx;
    size_t n = (size_t)PyTuple_Size(examples), made = 0, patterns = (size_t)PyTuple_Size(keep);
    bind_arg *values = PyMem_Calloc(n + 1, sizeof *values);
    ctsc_value **handles = PyMem_Calloc(n + 1, sizeof *handles);
    const char **names = PyMem_Calloc(patterns + 1, sizeof *names);
    bool ok = (values && handles && names) || (PyErr_NoMemory(), false);
    for (size_t i = 0; ok && i < patterns; i++)
        ok = (names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(keep, (Py_ssize_t)i), NULL)) !=
             NULL;
    ok = ok && quantize_examples(examples, n, values, handles, &made);
    ctsc_status st = CTSC_OK;
    if (ok) {
        o.nkeep_float = patterns;
        o.keep_float = names;
        PyThreadState *saved = PyEval_SaveThread();
        st = ctsc_module_quantize(((Module *)self)->m, n, handles, &o, &r, e);
        PyEval_RestoreThread(saved);
    }
    if (values) bind_free_args(made, values);
    PyMem_Free(values);
    PyMem_Free(handles);
    PyMem_Free(names);
    if (!ok) return NULL;
    return st == CTSC_OK ? quantize_report(r) : bind_raise(e, "quantize");
}

/* _text("graph" | "inlined_graph" | "code", method) */
static PyObject *module_text(PyObject *self, PyObject *args) {
    const char *what, *method;
    char *s = NULL;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "ss", &what, &method)) return NULL;
    const ctsc_module *m = ((Module *)self)->m;
    ctsc_status st = !strcmp(what, "code")
                         ? ctsc_module_code(m, method, &s, e)
                         : ctsc_module_graph(
                               m, method, !strcmp(what, "inlined_graph") ? CTSC_GRAPH_INLINED : 0,
                               &s, e);
    return st == CTSC_OK ? text_take(s) : bind_raise(e, what);
}

/* _graph_for(method, flags, args) */
static PyObject *module_graph_for(PyObject *self, PyObject *args) {
    const char *method;
    unsigned flags;
    PyObject *given_args;
    bind_arg values[64];
    ctsc_value *handles[64];
    size_t n = 0;
    char *s = NULL;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "sIO!", &method, &flags, &PyTuple_Type, &given_args))
        return NULL;
    if (PyTuple_Size(given_args) > 64)
        return PyErr_SetString(PyExc_TypeError, "too many arguments"), NULL;
    for (; n < (size_t)PyTuple_Size(given_args); n++) {
        if (!bind_to_value(PyTuple_GetItem(given_args, (Py_ssize_t)n), true, &values[n]))
            return bind_free_args(n, values), NULL;
        handles[n] = values[n].v;
    }
    PyThreadState *saved = PyEval_SaveThread();
    ctsc_status st = ctsc_module_graph_for(((Module *)self)->m, method, n, handles, flags, &s, e);
    PyEval_RestoreThread(saved);
    bind_free_args(n, values);
    return st == CTSC_OK ? text_take(s) : bind_raise(e, "graph_for");
}

static void use_visit(void *ctx, const ctsc_operator_use *u) {
    PyObject *l = ctx, *row = Py_BuildValue("(sOszI)", u->key, u->supported ? Py_True : Py_False,
                                            u->function, u->file, u->line);
    if (!row || PyList_Append(l, row) < 0) PyErr_Clear();
    Py_XDECREF(row);
}
static PyObject *module_operators(PyObject *self, PyObject *unused) {
    (void)unused;
    ctsc_error *e = bind_error();
    PyObject *l = e ? PyList_New(0) : NULL;
    if (!l || ctsc_module_operators(((Module *)self)->m, use_visit, l, e) == CTSC_OK) return l;
    Py_DECREF(l);
    return bind_raise(e, "operators");
}

typedef const ctsc_argument *signature_get(const ctsc_signature *, size_t);
typedef size_t signature_count(const ctsc_signature *);
typedef PyObject *signature_row(const ctsc_argument *);

static PyObject *signature_rows(const ctsc_signature *s, size_t n, signature_get *get,
                                signature_row *row) {
    PyObject *l = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; l && i < n; i++) {
        PyObject *r = row(get(s, i));
        if (!r || PyList_SetItem(l, (Py_ssize_t)i, r) < 0) Py_CLEAR(l);
    }
    return l;
}

/* ([a row for each argument], [one for each of what count and get give]) */
static PyObject *signature_pair(PyObject *self, PyObject *args, signature_count *count,
                                signature_get *get, signature_row *row) {
    const char *method;
    ctsc_signature *s = NULL;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "s", &method)) return NULL;
    if (ctsc_module_signature(((Module *)self)->m, method, &s, e) != CTSC_OK)
        return bind_raise(e, method);
    PyObject *in = signature_rows(s, ctsc_signature_argument_count(s), ctsc_signature_argument,
                                  row);
    PyObject *out = signature_rows(s, count(s), get, row),
             *both = in && out ? PyTuple_Pack(2, in, out) : NULL;
    Py_XDECREF(in);
    Py_XDECREF(out);
    ctsc_signature_free(s);
    return both;
}

static PyObject *argument_row(const ctsc_argument *a) {
    PyObject *d = a->default_value ? bind_from_value(ctsc_value_copy(a->default_value))
                                   : bind_ref(Py_Ellipsis);
    return d ? Py_BuildValue("(ssN)", a->name, a->type, d) : NULL;
}

/* _signature(method) -> ([(name, type, default or ...)], [results]) */
static PyObject *module_signature(PyObject *self, PyObject *args) {
    return signature_pair(self, args, ctsc_signature_result_count, ctsc_signature_result,
                          argument_row);
}

static PyObject *port_shape(const ctsc_argument *a) {
    if (a->ndim < 0) return bind_ref(Py_None);
    PyObject *l = PyList_New(a->ndim);
    for (int i = 0; l && i < a->ndim; i++) {
        PyObject *size = a->sizes[i] < 0 ? bind_ref(Py_None) : PyLong_FromLongLong(a->sizes[i]);
        if (!size || PyList_SetItem(l, i, size) < 0) Py_CLEAR(l);
    }
    return l;
}

static PyObject *port_row(const ctsc_argument *a) {
    PyObject *shape = port_shape(a),
             *dtype = bind_ref(a->typed ? bind_dtype_object((int)a->dtype) : Py_None);
    if (shape && dtype) return Py_BuildValue("(sNN)", a->label ? a->label : a->name, dtype, shape);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return NULL;
}

/* _ports(method) -> ([(name, dtype or None, [size or None] or None)], [outputs]): what programs of
 * torch.export and ONNX say; no outputs of others */
static PyObject *module_ports(PyObject *self, PyObject *args) {
    return signature_pair(self, args, ctsc_signature_output_count, ctsc_signature_output, port_row);
}

static PyMethodDef module_methods[] = {
    {"_attributes", module_attributes, METH_NOARGS, NULL},
    {"_names", module_names, METH_NOARGS, NULL},
    {"_save", module_save, METH_VARARGS, NULL},
    {"_save_onnx", module_save_onnx, METH_VARARGS, NULL},
    {"_to", module_to, METH_VARARGS, NULL},
    {"_set_opt", module_set_opt, METH_VARARGS, NULL},
    {"_set_precision", module_set_precision, METH_VARARGS, NULL},
    {"_freeze", module_freeze, METH_VARARGS, NULL},
    {"_quantize", module_quantize, METH_VARARGS, NULL},
    {"_record", module_record, METH_O, NULL},
    {"_train", module_train, METH_O, NULL},
    {"_state", module_state, METH_NOARGS, NULL},
    {"_load_state", module_load_state, METH_O, NULL},
    {"_text", module_text, METH_VARARGS, NULL},
    {"_graph_for", module_graph_for, METH_VARARGS, NULL},
    {"_operators", module_operators, METH_NOARGS, NULL},
    {"_signature", module_signature, METH_VARARGS, NULL},
    {"_ports", module_ports, METH_VARARGS, NULL},
    {0},
};
static PyGetSetDef module_properties[] = {
    {"_methods", get_methods, NULL, NULL, NULL},
    {"original_name", get_class, NULL, "The name of its class.", NULL},
    {"_records", get_records, NULL, NULL, NULL},
    {"__class__", get_seen_class, NULL, NULL, NULL},
    {0},
};
static PyMemberDef module_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Module, call), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Module, weak), READONLY, NULL},
    {0},
};
static PyType_Slot module_slots[] = {
    {Py_tp_doc, "ScriptModule(*args, **kwargs)\n--\n\nA program: a module of an archive, or what "
                "script and trace have made."},
    {Py_tp_new, bind_no_new},
    {Py_tp_dealloc, module_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, module_getattr},
    {Py_tp_setattro, module_setattr},
    {Py_tp_methods, module_methods},
    {Py_tp_getset, module_properties},
    {Py_tp_members, module_members},
    {0, NULL},
};
static PyType_Spec module_spec = {"ctsc.ScriptModule", sizeof(Module), 0,
                                  Py_TPFLAGS_DEFAULT | BIND_HAVE_VECTORCALL, module_slots};

int bind_init_module(PyObject *m) {
    bind.module = (PyTypeObject *)PyType_FromSpec(&module_spec);
    method_type = (PyTypeObject *)PyType_FromSpec(&method_spec);
    if (!bind.module || !method_type) return -1;
    if (PyObject_SetAttrString(m, "ScriptMethod", (PyObject *)method_type) < 0) return -1;
    return PyObject_SetAttrString(m, "ScriptModule", (PyObject *)bind.module);
}

/* ---- programs -------------------------------------------------------------------------------- */

static PyObject *load(PyObject *self, PyObject *source) {
    (void)self;
    ctsc_module *m = NULL;
    ctsc_error *e = bind_error();
    ctsc_status st;
    if (!e) return NULL;
    if (PyBytes_Check(source)) {
        st = ctsc_module_load_memory(PyBytes_AsString(source), (size_t)PyBytes_Size(source), &m, e);
        return st == CTSC_OK ? bind_module_take(m, source) : bind_raise(e, "load");
    }
    const char *path = PyUnicode_AsUTF8AndSize(source, NULL);
    if (!path) return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    st = ctsc_module_load(path, &m, e);
    PyEval_RestoreThread(saved);
    return st == CTSC_OK ? bind_module_take(m, NULL) : bind_raise(e, "load");
}

/* _compile(path or None, name, text, entry, path of imports, training, seed[, globals]) */
static PyObject *compile(PyObject *self, PyObject *args) {
    const char *file, *name, *text, *entry, *imports;
    Py_ssize_t len;
    int training;
    unsigned long long number;
    (void)self;
    PyObject *globals = Py_None;
    if (!PyArg_ParseTuple(args, "zzz#zzpK|O", &file, &name, &text, &len, &entry, &imports,
                          &training, &number, &globals))
        return NULL;
    ctsc_module *m = NULL;
    bind_arg given;
    ctsc_error *e = bind_error();
    if (!e || !bind_to_value(globals, false, &given)) return NULL;
    ctsc_compile_options o = {.size = sizeof o,
                              .entry = entry,
                              .training = training,
                              .seed = number,
                              .print = bind_on_print,
                              .warn = bind_on_warn,
                              .path = imports,
                              .globals = given.v,
                              .archives = true};
    PyThreadState *saved = PyEval_SaveThread();
    ctsc_status st = file ? ctsc_module_compile(file, &o, &m, e)
                          : ctsc_module_compile_text(name, text, (size_t)len, &o, &m, e);
    PyEval_RestoreThread(saved);
    bind_free_args(1, &given);
    return st == CTSC_OK ? bind_module_take(m, NULL) : bind_raise(e, "script");
}

static PyObject *value_load(PyObject *self, PyObject *args) {
    const char *path;
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    (void)self;
    if (!e || !PyArg_ParseTuple(args, "s", &path)) return NULL;
    return ctsc_value_load(path, &v, e) == CTSC_OK ? bind_from_value(v) : bind_raise(e, "load");
}
static PyObject *value_save(PyObject *self, PyObject *args) {
    const char *path;
    PyObject *o;
    bind_arg a;
    ctsc_error *e = bind_error();
    (void)self;
    if (!e || !PyArg_ParseTuple(args, "Os", &o, &path) || !bind_to_value(o, false, &a)) return NULL;
    ctsc_status st = ctsc_value_save(a.v, path, e);
    bind_free_args(1, &a);
    return failed_or_none(st, e, "save");
}
static PyObject *value_to(PyObject *self, PyObject *args) {
    const char *device;
    PyObject *o;
    bind_arg a;
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    (void)self;
    if (!e || !PyArg_ParseTuple(args, "Os", &o, &device) || !bind_to_value(o, false, &a))
        return NULL;
    ctsc_status st = ctsc_value_to(a.v, device, &v, e);
    bind_free_args(1, &a);
    return st == CTSC_OK ? bind_from_value(v) : bind_raise(e, "to");
}

PyMethodDef bind_module_functions[] = {
    {"_load", load, METH_O, NULL},
    {"_compile", compile, METH_VARARGS, NULL},
    {"_value_load", value_load, METH_VARARGS, NULL},
    {"_set_module_class", set_module_class, METH_O, NULL},
    {"_value_save", value_save, METH_VARARGS, NULL},
    {"_value_to", value_to, METH_VARARGS, NULL},
    {"_set_limits", bind_set_limits, METH_VARARGS, NULL},
    {0},
};
