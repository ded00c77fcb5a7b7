/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_future.c - futures between Python and scripts, which futures.py has as its own.
 *
 * A future that Python gives to a script holds an object, whose method _ctsc_wait_ is called with
 * the interpreter's lock for each wait. What it raises ends the call, and is raised again by it.
 * Python gets the future back as that object.
 */
#include "bind.h"

static ctsc_status future_wait(void *ctx, ctsc_value **result, ctsc_error *e) {
    PyGILState_STATE s = PyGILState_Ensure();
    PyObject *o = PyObject_CallMethod(ctx, "_ctsc_wait_", NULL);
    bool ok = o && bind_give(o, result);
    if (!ok) bind_stash_exception(e, "a future of Python failed");
    Py_XDECREF(o);
    PyGILState_Release(s);
    return ok ? CTSC_OK : CTSC_FAILED;
}

static void future_free(void *ctx) {
    if (!Py_IsInitialized()) return; /* it goes with the process */
    PyGILState_STATE s = PyGILState_Ensure();
    Py_DECREF((PyObject *)ctx);
    PyGILState_Release(s);
}

/* _future_owner(future): the object that it holds; None: it is not one of Python's */
static PyObject *future_owner(PyObject *self, PyObject *o) {
    ctsc_value *v = bind_object_value(o);
    (void)self;
    if (!v) return NULL;
    PyObject *owner = ctsc_future_context(v, future_wait);
    return bind_ref(owner ? owner : Py_None);
}

/* _future(object): what a script sees as a future */
static PyObject *future_new(PyObject *self, PyObject *owner) {
    (void)self;
    ctsc_value *v = ctsc_future_new(future_wait, future_free, bind_ref(owner));
    if (v) return bind_object_take(v);
    Py_DECREF(owner);
    return PyErr_NoMemory();
}

static PyObject *future_done(PyObject *self, PyObject *o) {
    ctsc_value *v = bind_object_value(o);
    (void)self;
    return v ? PyBool_FromLong(ctsc_future_done(v)) : NULL;
}

static PyObject *future_result(PyObject *self, PyObject *o) {
    ctsc_value *v = bind_object_value(o), *result = NULL;
    ctsc_error *e = v ? bind_error() : NULL;
    (void)self;
    if (!e) return NULL;
    PyThreadState *s = PyEval_SaveThread();
    ctsc_status st = ctsc_future_wait(v, &result, e);
    PyEval_RestoreThread(s);
    return st == CTSC_OK ? bind_from_value(result) : bind_raise(e, NULL);
}

PyMethodDef bind_future_methods[] = {
    {"_future", future_new, METH_O, NULL},
    {"_future_owner", future_owner, METH_O, NULL},
    {"_future_done", future_done, METH_O, NULL},
    {"_future_result", future_result, METH_O, NULL},
    {0},
};
