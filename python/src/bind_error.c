/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_error.c - failures of the library as Python's exceptions.
 *
 * ctsc.Error is a RuntimeError, as PyTorch's are; what a limit, a missing operator or a
 * damaged file is has a class of its own. An exception that a script raised is also of the
 * Python class it names. message is one line, diagnostic everything: the script's line with a
 * caret, the chain of calls.
 */
#include "bind.h"

bind_state bind;

#include <pthread.h>
#include <string.h>

static __thread ctsc_error *own_error;
static pthread_key_t at_exit_of_thread;
static __thread PyObject *stashed; /* exception of Python code that a call ran */

static void error_free(void *e) { ctsc_error_free(e); }

ctsc_error *bind_error(void) {
    if (own_error) return own_error;
    if (!(own_error = ctsc_error_new())) PyErr_NoMemory();
    pthread_setspecific(at_exit_of_thread, own_error);
    return own_error;
}

PyObject *bind_no_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    (void)args;
    (void)kw;
    PyErr_Format(PyExc_TypeError, "cannot create %R instances", (PyObject *)type);
    return NULL;
}

static PyObject *error_class(const ctsc_error *e) {
    /* "name" not implemented for 'Long': of a dtype that no kernel has, as in PyTorch */
    const char *message = ctsc_error_message(e);
    if (message && ((*message == '"' && strstr(message, "\" not implemented for '")) ||
                    !strncmp(message, "Subtraction, the `-`", 20)))
        return bind.unsupported_error;
    switch (ctsc_error_status(e)) {
    case CTSC_LIMIT: return bind.limit_error;
    case CTSC_UNSUPPORTED: return bind.unsupported_error;
    case CTSC_BAD_FILE: return bind.file_error;
    case CTSC_ENVIRONMENT: return bind.environment_error;
    default: return bind.error;
    }
}

/* The class that Python has made for an exception of this name ("builtins.IndexError"); NULL
 * without an exception: none. */
static PyObject *error_named(const char *name) {
    PyObject *maker = PyDict_GetItemString(bind.hooks, "exception_class");
    return maker ? PyObject_CallFunction(maker, "s", name) : NULL;
}

static PyObject *text_of(const char *s) {
    return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace");
}

PyObject *bind_raise(const ctsc_error *e, const char *what) {
    if (PyErr_Occurred()) return NULL;
    if (stashed) {
        PyObject *x = stashed;
        stashed = NULL;
        PyErr_SetObject((PyObject *)Py_TYPE(x), x);
        Py_DECREF(x);
        return NULL;
    }
    const char *name = ctsc_error_exception(e);
    PyObject *cls = name ? error_named(name) : NULL;
    PyErr_Clear();
    if (!cls) cls = bind_ref(error_class(e));
    char *rendered = ctsc_error_render(e, false);
    PyObject *message = text_of(ctsc_error_message(e)), *all = text_of(rendered ? rendered : ""),
             *x = NULL;
    ctsc_string_free(rendered);
    if (message && all) x = PyObject_CallFunction(cls, "OO", message, all);
    if (x) {
        PyObject *status = PyLong_FromLong(ctsc_error_status(e)),
                 *origin = PyUnicode_FromString(what ? what : "");
        if (status && origin && PyObject_SetAttrString(x, "status", status) == 0 &&
            PyObject_SetAttrString(x, "origin", origin) == 0)
            PyErr_SetObject((PyObject *)Py_TYPE(x), x);
        Py_XDECREF(status);
        Py_XDECREF(origin);
    }
    Py_XDECREF(x);
    Py_XDECREF(message);
    Py_XDECREF(all);
    Py_DECREF(cls);
    return NULL;
}

void bind_stash_exception(ctsc_error *e, const char *what) {
    PyObject *type, *x, *trace;
    PyErr_Fetch(&type, &x, &trace);
    PyErr_NormalizeException(&type, &x, &trace);
    if (x && trace) PyException_SetTraceback(x, trace);
    PyObject *text = x ? PyObject_Str(x) : NULL;
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    ctsc_error_set(e, CTSC_FAILED, "%s: %s", what, s ? s : "an exception was raised");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    Py_XDECREF(stashed);
    stashed = x;
}

int bind_init_error(PyObject *m) {
    pthread_key_create(&at_exit_of_thread, error_free);
    PyObject *dict = Py_BuildValue("{s:O,s:O,s:O,s:O}", "message", Py_None, "diagnostic", Py_None,
                                   "status", Py_None, "origin", Py_None);
    if (!dict) return -1;
    bind.error = PyErr_NewExceptionWithDoc(
        "ctsc.Error", "A call of the library failed: message, diagnostic, status.",
        PyExc_RuntimeError, dict);
    Py_DECREF(dict);
    if (!bind.error) return -1;
    PyObject *both = PyTuple_Pack(2, bind.error, PyExc_NotImplementedError);
    if (!both) return -1;
    bind.limit_error = PyErr_NewExceptionWithDoc(
        "ctsc.LimitError", "A limit was reached, or a call was cancelled.", bind.error, NULL);
    bind.unsupported_error = PyErr_NewExceptionWithDoc(
        "ctsc.UnsupportedError", "An operator or a feature that ctsc lacks.", both, NULL);
    bind.file_error = PyErr_NewExceptionWithDoc(
        "ctsc.FileError", "A file is damaged or not what it should be.", bind.error, NULL);
    bind.environment_error = PyErr_NewExceptionWithDoc(
        "ctsc.EnvironmentLacks", "The machine lacks something.", bind.error, NULL);
    bind.script_error = PyErr_NewExceptionWithDoc(
        "ctsc.ScriptError", "An exception that a script raised.", bind.error, NULL);
    Py_DECREF(both);
    const struct { const char *name; PyObject *o; } all[] = {
        {"Error", bind.error},
        {"LimitError", bind.limit_error},
        {"UnsupportedError", bind.unsupported_error},
        {"FileError", bind.file_error},
        {"EnvironmentLacks", bind.environment_error},
        {"ScriptError", bind.script_error},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i].o || PyObject_SetAttrString(m, all[i].name, all[i].o) < 0) return -1;
    return 0;
}
