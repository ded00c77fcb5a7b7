/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_value.c - Python's objects as the library's values, and back.
 *
 *     None, bool, int, float, complex, str      themselves; small ints, None and bools are made once
 *     Tensor                                    its handle is lent
 *     list, tuple, dict                         of what their items are; named tuples are tuples
 *     dtype, layout, memory_format, device      what their _ctsc_value_ is
 *     an object of a script                     its handle
 *     ndarray, other buffers, what has __dlpack__   where `wide`: a tensor on their memory
 *     anything with __index__ or __float__      a number (NumPy's scalars)
 */
#include "bind.h"

#include <string.h>

enum { SMALL_LOW = -64, SMALL_HIGH = 1024, DEEP = 100 };
static ctsc_value *small[SMALL_HIGH - SMALL_LOW + 1], *none, *yes, *no;
static __thread int depth;

void bind_init_value(void) {
    for (int i = SMALL_LOW; i <= SMALL_HIGH; i++) small[i - SMALL_LOW] = ctsc_int_new(i);
    none = ctsc_none_new();
    yes = ctsc_bool_new(true);
    no = ctsc_bool_new(false);
}

ctsc_value *bind_small_int(int64_t i, bool *own) {
    *own = i < SMALL_LOW || i > SMALL_HIGH;
    return *own ? ctsc_int_new(i) : small[i - SMALL_LOW];
}

bool bind_is_number(PyObject *o) {
    if (PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o)) return true;
    if (TensorCheck(o) || PyUnicode_Check(o)) return false;
    if (PyIndex_Check(o)) return true;
    return PyObject_HasAttrString(o, "__float__") && PyObject_HasAttrString(o, "dtype") &&
           !PyObject_HasAttrString(o, "__len__");
}

void bind_free_args(size_t n, bind_arg *args) {
    for (size_t i = 0; i < n; i++)
        if (args[i].own) ctsc_value_free(args[i].v);
}

static bool made(bind_arg *out, ctsc_value *v) {
    *out = (bind_arg){v, true};
    if (!v && !PyErr_Occurred()) PyErr_NoMemory();
    return v != NULL;
}

static bool int_value(PyObject *o, bind_arg *out) {
    long long i = PyLong_AsLongLong(o);
    if (i == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError))
            PyErr_SetString(PyExc_OverflowError, "Overflow when unpacking long");
        return false;
    }
    out->v = bind_small_int(i, &out->own);
    return out->v || made(out, NULL);
}

/* A list or tuple while a trace follows its items: the trace's scope makes it, and owns what
 * was made for it. */
static bool traced_sequence(bool list, size_t n, bind_arg *items, ctsc_value **handles,
                            bind_arg *out) {
    ctsc_scope *s = bind_tracing();
    for (size_t i = 0; i < n; i++)
        if (items[i].own) {
            items[i].own = false;
            if (!ctsc_take(s, items[i].v)) return bind_raise(ctsc_scope_error(s), "trace") != NULL;
        }
    *out = (bind_arg){list ? ctsc_list(s, n, handles) : ctsc_tuple(s, n, handles), false};
    return out->v || bind_raise(ctsc_scope_error(s), "trace") != NULL;
}

/* n items, borrowed from a list or tuple. */
static bool sequence_value(PyObject *o, bool list, bool wide, bind_arg *out) {
    Py_ssize_t n = list ? PyList_Size(o) : PyTuple_Size(o);
    bind_arg few[16], *items = n <= 16 ? few : PyMem_Malloc((size_t)n * sizeof *items);
    ctsc_value *few_handles[16],
        **handles = n <= 16 ? few_handles : PyMem_Malloc((size_t)n * sizeof *handles);
    Py_ssize_t i = 0;
    bool ok = items && handles;
    if (!ok) PyErr_NoMemory();
    for (; ok && i < n; i++) {
        if (list && PyList_Size(o) != n) {
            PyErr_SetString(PyExc_RuntimeError, "the list changed while it was read");
            break;
        }
        PyObject *item = bind_ref(list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i));
        bool good = bind_to_value(item, wide, &items[i]);
        Py_DECREF(item);
        if (!good) break;
        handles[i] = items[i].v;
    }
    if (ok && i == n && bind_tracing()) ok = traced_sequence(list, (size_t)n, items, handles, out);
    else
        ok = ok && i == n &&
             made(out,
                  list ? ctsc_list_new((size_t)n, handles) : ctsc_tuple_new((size_t)n, handles));
    if (items) bind_free_args((size_t)i, items);
    if (items != few) PyMem_Free(items);
    if (handles != few_handles) PyMem_Free(handles);
    return ok;
}

static bool dict_value(PyObject *o, bool wide, bind_arg *out) {
    Py_ssize_t n = PyDict_Size(o), at = 0, i = 0;
    bind_arg *items = PyMem_Malloc((size_t)(2 * n + 1) * sizeof *items);
    ctsc_value **handles = PyMem_Malloc((size_t)(2 * n + 1) * sizeof *handles);
    PyObject *key, *item;
    bool ok = items && handles;
    if (!ok) PyErr_NoMemory();
    while (ok && i < n && PyDict_Next(o, &at, &key, &item)) {
        Py_INCREF(key);
        Py_INCREF(item);
        bind_arg *k = &items[2 * i], *v = k + 1;
        *k = *v = (bind_arg){0};
        ok = bind_to_value(key, wide, k) && bind_to_value(item, wide, v);
        handles[i] = k->v;
        handles[n + i++] = v->v;
        Py_DECREF(key);
        Py_DECREF(item);
    }
    if (ok) {
        ctsc_value *d = ctsc_dict_new((size_t)i, handles, handles + n);
        ok = d != NULL;
        *out = (bind_arg){d, true};
        if (!ok)
            PyErr_SetString(PyExc_TypeError, "a dict's keys must be strings, numbers or tensors");
    }
    if (items) bind_free_args((size_t)(2 * i), items);
    PyMem_Free(items);
    PyMem_Free(handles);
    return ok;
}

static bool number_value(PyObject *o, bind_arg *out) {
    PyObject *x = PyNumber_Index(o);
    if (x) {
        bool ok = int_value(x, out);
        Py_DECREF(x);
        return ok;
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyErr_Clear();
    if (PyObject_HasAttrString(o, "imag") && PyObject_HasAttrString(o, "__complex__")) {
        double real = PyComplex_RealAsDouble(o), imaginary = PyComplex_ImagAsDouble(o);
        if (!PyErr_Occurred() && imaginary != 0)
            return made(out, ctsc_complex_new(real, imaginary));
        PyErr_Clear();
    }
    double f = PyFloat_AsDouble(o);
    if (f == -1 && PyErr_Occurred()) return false;
    return made(out, ctsc_float_new(f));
}

/* An object of a script: a class instance, an enum, a future. */
typedef struct Object {
    PyObject_HEAD ctsc_value *v;
} Object;

static bool other_value(PyObject *o, bool wide, bind_arg *out) {
    if (Py_TYPE(o) == bind.object) return *out = (bind_arg){((Object *)o)->v, false}, true;
    PyObject *x = PyObject_GetAttr(o, bind.value_name);
    if (x) {
        bool ok = bind_to_value(x, wide, out);
        if (ok && !out->own) ok = made(out, ctsc_value_copy(out->v)); /* x may be its only owner */
        Py_DECREF(x);
        return ok;
    }
    PyErr_Clear();
    bool buffer = wide && PyObject_CheckBuffer(o) && !PyBytes_Check(o);
    if (buffer || (wide && PyObject_HasAttrString(o, "__dlpack__"))) {
        PyObject *from = PyDict_GetItemString(bind.hooks, "from_dlpack");
        PyObject *t = buffer ? bind_from_buffer(o, true)
                      : from ? PyObject_CallFunctionObjArgs(from, o, NULL)
                             : NULL;
        bool ok = t && made(out, ctsc_value_copy(((Tensor *)t)->v));
        Py_XDECREF(t);
        return ok;
    }
    if (bind_is_number(o)) return number_value(o, out);
    PyErr_Format(PyExc_TypeError, "a value of type %S cannot be given to ctsc",
                 (PyObject *)Py_TYPE(o));
    return false;
}

static bool container_value(PyObject *o, bool wide, bind_arg *out) {
    bool ok;
    if (depth >= DEEP) {
        PyErr_SetString(PyExc_RecursionError, "the value is nested too deeply");
        return false;
    }
    depth++;
    if (PyList_Check(o)) ok = sequence_value(o, true, wide, out);
    else if (PyTuple_Check(o)) ok = sequence_value(o, false, wide, out);
    else if (PyDict_Check(o)) ok = dict_value(o, wide, out);
    else ok = other_value(o, wide, out);
    depth--;
    return ok;
}

bool bind_truth(PyObject *o, bind_arg *out) {
    *out = (bind_arg){NULL, true};
    ctsc_error *e = bind_error();
    if (!e) return false;
    if (ctsc_tensor_new(CTSC_BOOL, 0, NULL, &out->v, e) != CTSC_OK)
        return bind_raise(e, "tensor"), false;
    *(bool *)ctsc_tensor_data(out->v) = o == Py_True;
    return true;
}

bool bind_to_value(PyObject *o, bool wide, bind_arg *out) {
    if (TensorCheck(o)) return *out = (bind_arg){((Tensor *)o)->v, false}, true;
    if (o == Py_None) return *out = (bind_arg){none, false}, true;
    if (o == Py_True) return *out = (bind_arg){yes, false}, true;
    if (o == Py_False) return *out = (bind_arg){no, false}, true;
    if (PyLong_Check(o)) {
        ctsc_value *traced = Py_TYPE(o) == &PyLong_Type ? NULL : bind_traced_handle(o);
        if (traced) return *out = (bind_arg){traced, false}, true;
        return int_value(o, out);
    }
    if (PyFloat_Check(o)) return made(out, ctsc_float_new(PyFloat_AsDouble(o)));
    if (PyUnicode_Check(o)) {
        Py_ssize_t n;
        const char *s = PyUnicode_AsUTF8AndSize(o, &n);
        return s && made(out, ctsc_string_new(s, (size_t)n));
    }
    if (PyComplex_Check(o))
        return made(out, ctsc_complex_new(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
    return container_value(o, wide, out);
}

/* ---- back ------------------------------------------------------------------------------------ */

static void object_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ctsc_value_free(((Object *)self)->v);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *object_getattr(PyObject *self, PyObject *name) {
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL);
    ctsc_value *v = s ? ctsc_value_get(((Object *)self)->v, s) : NULL;
    return v ? bind_from_value(v) : PyObject_GenericGetAttr(self, name);
}

static PyObject *object_repr(PyObject *self) {
    char *type = ctsc_value_type(((Object *)self)->v);
    PyObject *s = PyUnicode_FromFormat("<ctsc object of %s>", type ? type : "?");
    ctsc_string_free(type);
    return s;
}

static PyObject *object_dir(PyObject *self, PyObject *unused) {
    (void)unused;
    ctsc_value *v = ((Object *)self)->v;
    PyObject *l = PyList_New(0);
    for (size_t i = 0; l && i < ctsc_value_len(v); i++) {
        PyObject *s = PyUnicode_FromString(ctsc_value_name(v, i) ? ctsc_value_name(v, i) : "");
        if (!s || PyList_Append(l, s) < 0) Py_CLEAR(l);
        Py_XDECREF(s);
    }
    return l;
}

static PyMethodDef object_methods[] = {{"__dir__", object_dir, METH_NOARGS, NULL}, {0}};
static PyType_Slot object_slots[] = {
    {Py_tp_doc, "ScriptObject(*args, **kwargs)\n--\n\nAn object of a class that a program has."},
    {Py_tp_new, bind_no_new},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_getattro, object_getattr},
    {Py_tp_repr, object_repr},
    {Py_tp_methods, object_methods},
    {0, NULL},
};
static PyType_Spec object_spec = {"ctsc.ScriptObject", sizeof(Object), 0, Py_TPFLAGS_DEFAULT,
                                  object_slots};

int bind_init_object(PyObject *m) {
    bind.object = (PyTypeObject *)PyType_FromSpec(&object_spec);
    return bind.object ? PyObject_SetAttrString(m, "ScriptObject", (PyObject *)bind.object) : -1;
}

bool bind_give(PyObject *o, ctsc_value **out) {
    bind_arg a;
    if (!bind_to_value(o, true, &a)) return false;
    *out = a.own ? a.v : ctsc_value_copy(a.v);
    return *out != NULL;
}

ctsc_value *bind_object_value(PyObject *o) {
    if (Py_TYPE(o) == bind.object) return ((Object *)o)->v;
    return PyErr_SetString(PyExc_TypeError, "a value of a script is wanted"), NULL;
}

PyObject *bind_object_take(ctsc_value *v) {
    Object *o = (Object *)PyType_GenericAlloc(bind.object, 0);
    if (!o) return ctsc_value_free(v), NULL;
    o->v = v;
    return (PyObject *)o;
}

/* v, a future, as one of futures.py; it is taken. */
static PyObject *future_take(ctsc_value *v) {
    PyObject *held = bind_object_take(v),
             *futures = held ? PyImport_ImportModule("ctsc.futures") : NULL,
             *made = futures ? PyObject_CallMethod(futures, "_of_script", "O", held) : NULL;
    Py_XDECREF(futures);
    Py_XDECREF(held);
    return made;
}

static PyObject *list_from(const ctsc_value *v) {
    size_t n = ctsc_value_len(v);
    PyObject *l = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; l && i < n; i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        PyObject *o = item ? bind_from_value(item) : PyErr_NoMemory();
        if (!o || PyList_SetItem(l, (Py_ssize_t)i, o) < 0) Py_CLEAR(l);
    }
    return l;
}

static PyObject *tuple_from(const ctsc_value *v) {
    size_t n = ctsc_value_len(v);
    PyObject *t = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; t && i < n; i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        PyObject *o = item ? bind_from_value(item) : PyErr_NoMemory();
        if (!o || PyTuple_SetItem(t, (Py_ssize_t)i, o) < 0) Py_CLEAR(t);
    }
    if (!t || !n || !ctsc_value_name(v, 0)) return t;
    /* a NamedTuple: Python has a class for these fields */
    PyObject *maker = PyDict_GetItemString(bind.hooks, "named_tuple"),
             *names = PyTuple_New((Py_ssize_t)n), *result = NULL;
    char *type = ctsc_value_type(v);
    if (type && !strncmp(type, "Tuple[", 6)) { /* of an operator, which names them itself */
        ctsc_string_free(type);
        Py_XDECREF(names);
        return t;
    }
    for (size_t i = 0; names && i < n; i++) {
        PyObject *name = PyUnicode_FromString(ctsc_value_name(v, i));
        if (!name || PyTuple_SetItem(names, (Py_ssize_t)i, name) < 0) Py_CLEAR(names);
    }
    if (maker && names) result = PyObject_CallFunction(maker, "sOO", type ? type : "", names, t);
    ctsc_string_free(type);
    Py_XDECREF(names);
    Py_DECREF(t);
    return result;
}

static PyObject *dict_from(const ctsc_value *v) {
    size_t n = ctsc_value_len(v);
    PyObject *d = PyDict_New();
    for (size_t i = 0; d && i < n; i++) {
        ctsc_value *key = ctsc_value_key(v, i), *item = ctsc_value_item(v, i);
        PyObject *k = key ? bind_from_value(key) : PyErr_NoMemory(),
                 *o = item && k ? bind_from_value(item) : NULL;
        if (!k || !o || PyDict_SetItem(d, k, o) < 0) Py_CLEAR(d);
        Py_XDECREF(k);
        Py_XDECREF(o);
    }
    return d;
}

PyObject *bind_from_value(ctsc_value *v) {
    PyObject *o;
    size_t n;
    const char *s;
    switch (ctsc_value_kind(v)) {
    case CTSC_KIND_TENSOR: return bind_tensor_take(v);
    case CTSC_KIND_OBJECT:
    case CTSC_KIND_OTHER: return bind_object_take(v);
    case CTSC_KIND_FUTURE: return future_take(v);
    case CTSC_KIND_NONE: o = bind_ref(Py_None); break;
    case CTSC_KIND_BOOL: o = PyBool_FromLong(ctsc_value_bool(v)); break;
    case CTSC_KIND_INT: o = PyLong_FromLongLong(ctsc_value_int(v)); break;
    case CTSC_KIND_FLOAT: o = PyFloat_FromDouble(ctsc_value_float(v)); break;
    case CTSC_KIND_COMPLEX:
        o = PyComplex_FromDoubles(ctsc_value_real(v), ctsc_value_imaginary(v));
        break;
    case CTSC_KIND_STRING:
        s = ctsc_value_string(v, &n);
        o = PyUnicode_DecodeUTF8(s, (Py_ssize_t)n, "surrogateescape");
        break;
    case CTSC_KIND_LIST: o = list_from(v); break;
    case CTSC_KIND_TUPLE: o = tuple_from(v); break;
    case CTSC_KIND_DICT: o = dict_from(v); break;
    default: o = bind_ref(Py_None); break;
    }
    ctsc_value_free(v);
    return o;
}
