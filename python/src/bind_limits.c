/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_limits.c - what calls of programs may take (ctsc.limits), and where scripts print and warn.
 */
#include "bind.h"

#include <string.h>

static __thread struct { uint64_t steps, timeout_us, bytes; } limits;

PyObject *bind_set_limits(PyObject *self, PyObject *args) {
    unsigned long long steps, bytes, us;
    (void)self;
    if (!PyArg_ParseTuple(args, "KKK", &steps, &us, &bytes)) return NULL;
    PyObject *old = Py_BuildValue("(KKK)", (unsigned long long)limits.steps,
                                  (unsigned long long)limits.timeout_us,
                                  (unsigned long long)limits.bytes);
    limits.steps = steps;
    limits.timeout_us = us;
    limits.bytes = bytes;
    return old;
}

static void call_hook(const char *name, const char *text, size_t len) {
    PyGILState_STATE s = PyGILState_Ensure();
    PyObject *hook = PyDict_GetItemString(bind.hooks, name),
             *t = PyUnicode_DecodeUTF8(text, (Py_ssize_t)len, "replace");
    PyObject *done = hook && t ? PyObject_CallFunctionObjArgs(hook, t, NULL) : NULL;
    if (!done) PyErr_WriteUnraisable(hook);
    Py_XDECREF(done);
    Py_XDECREF(t);
    PyGILState_Release(s);
}
void bind_on_print(void *ctx, const char *text, size_t len) {
    (void)ctx;
    call_hook("script_print", text, len);
}
void bind_on_warn(void *ctx, const char *text) {
    (void)ctx;
    call_hook("script_warn", text, strlen(text));
}

ctsc_run_options bind_limits(const ctsc_cancel *c) {
    return (ctsc_run_options){.size = sizeof(ctsc_run_options),
                              .print = bind_on_print,
                              .warn = bind_on_warn,
                              .cancel = c,
                              .max_steps = limits.steps,
                              .timeout_us = limits.timeout_us,
                              .max_bytes = limits.bytes};
}
