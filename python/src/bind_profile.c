/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_profile.c - profilers: while one is entered, the thread's calls of modules report to it.
 */
#include "bind.h"

typedef struct Profiler {
    PyObject_HEAD ctsc_profiler *p;
    PyObject *outer;
} Profiler;

static __thread Profiler *current;

ctsc_profiler *bind_profiler(void) { return current ? current->p : NULL; }

static PyObject *profiler_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    unsigned long long events = 0;
    (void)kw;
    if (!PyArg_ParseTuple(args, "|K", &events)) return NULL;
    Profiler *p = (Profiler *)PyType_GenericAlloc(type, 0);
    if (!p) return NULL;
    ctsc_profiler_options o = {.size = sizeof o, .max_events = (size_t)events};
    if ((p->p = ctsc_profiler_new(&o))) return (PyObject *)p;
    Py_DECREF(p);
    return PyErr_NoMemory();
}
static void profiler_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ctsc_profiler_free(((Profiler *)self)->p);
    PyObject_Free(self);
    Py_DECREF(type);
}
static PyObject *profiler_enter(PyObject *self, PyObject *unused) {
    (void)unused;
    Profiler *p = (Profiler *)self;
    if (p->outer)
        return PyErr_SetString(PyExc_RuntimeError, "the profiler is running already"), NULL;
    p->outer = current ? (PyObject *)current : bind_ref(Py_None);
    current = (Profiler *)bind_ref(self);
    return bind_ref(Py_None);
}
static PyObject *profiler_leave(PyObject *self, PyObject *unused) {
    (void)unused;
    Profiler *p = (Profiler *)self;
    if (current != p)
        return PyErr_SetString(PyExc_RuntimeError, "the profiler is not running on this thread"),
               NULL;
    current = p->outer == Py_None ? NULL : (Profiler *)p->outer;
    if (p->outer == Py_None) Py_DECREF(Py_None);
    p->outer = NULL;
    Py_DECREF(self);
    return bind_ref(Py_None);
}
static PyObject *profiler_text(PyObject *self, PyObject *args) {
    const char *what;
    if (!PyArg_ParseTuple(args, "s", &what)) return NULL;
    const ctsc_profiler *p = ((Profiler *)self)->p;
    char *s = *what == 't' ? ctsc_profiler_trace(p) : ctsc_profiler_json(p);
    PyObject *o = s ? PyUnicode_FromString(s) : PyErr_NoMemory();
    ctsc_string_free(s);
    return o;
}
static PyObject *profiler_reset(PyObject *self, PyObject *unused) {
    (void)unused;
    ctsc_profiler_reset(((Profiler *)self)->p);
    return bind_ref(Py_None);
}

static PyMethodDef methods[] = {
    {"_enter", profiler_enter, METH_NOARGS, NULL},
    {"_leave", profiler_leave, METH_NOARGS, NULL},
    {"_text", profiler_text, METH_VARARGS, NULL},
    {"reset", profiler_reset, METH_NOARGS, NULL},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_new, profiler_new},
    {Py_tp_dealloc, profiler_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"ctsc._C.Profiler", sizeof(Profiler), 0, Py_TPFLAGS_DEFAULT, slots};

int bind_init_profile(PyObject *m) {
    bind.profiler = (PyTypeObject *)PyType_FromSpec(&spec);
    return bind.profiler ? PyObject_SetAttrString(m, "Profiler", (PyObject *)bind.profiler) : -1;
}
