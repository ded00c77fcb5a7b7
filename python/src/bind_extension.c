/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_extension.c - the extension module: its types and functions, and the settings
 * of the library.
 */
#include "bind.h"

static PyObject *set_hooks(PyObject *self, PyObject *hooks) {
    (void)self;
    if (!PyDict_Check(hooks)) return PyErr_SetString(PyExc_TypeError, "hooks must be a dict"), NULL;
    PyObject *k, *v;
    Py_ssize_t at = 0;
    while (PyDict_Next(hooks, &at, &k, &v))
        if (PyDict_SetItem(bind.hooks, k, v) < 0) return NULL;
    bind.int_type = PyDict_GetItemString(bind.hooks, "traced_int");
    return bind_ref(Py_None);
}

/* ---- what is missing from the installation --------------------------------------------------- */

static int alert_tell(void *text) {
    PyObject *hook = PyDict_GetItemString(bind.hooks, "alert"),
             *done = hook ? PyObject_CallFunction(hook, "s", text) : NULL;
    if (hook && !done) PyErr_WriteUnraisable(hook);
    Py_XDECREF(done);
    free(text);
    return 0;
}

/* Any thread may say it, also one that has no interpreter and holds locks of the library: Python's
 * main thread tells it, as soon as it can. */
static void alert_note(void *ctx, ctsc_log_level level, const char *text) {
    (void)ctx, (void)level;
    char *copy = Py_IsInitialized() ? strdup(text) : NULL;
    if (copy && Py_AddPendingCall(alert_tell, copy) != 0) free(copy);
}

/* ---- settings -------------------------------------------------------------------------------- */

static PyObject *set_threads(PyObject *self, PyObject *args) {
    int n;
    (void)self;
    if (!PyArg_ParseTuple(args, "i", &n)) return NULL;
    ctsc_set_threads(n);
    return bind_ref(Py_None);
}
static PyObject *set_compiling(PyObject *self, PyObject *args) {
    int in_calls;
    (void)self;
    if (!PyArg_ParseTuple(args, "p", &in_calls)) return NULL;
    ctsc_set_compiling(in_calls ? CTSC_COMPILE_IN_CALLS : CTSC_COMPILE_BACKGROUND);
    return bind_ref(Py_None);
}
static PyObject *wait_for_kernels(PyObject *self, PyObject *args) {
    double seconds = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "|d", &seconds)) return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    bool done = ctsc_wait_for_kernels((uint64_t)(seconds * 1e6));
    PyEval_RestoreThread(saved);
    return PyBool_FromLong(done);
}
static PyObject *set_flush_denormals(PyObject *self, PyObject *args) {
    int on;
    (void)self;
    if (!PyArg_ParseTuple(args, "p", &on)) return NULL;
    return PyBool_FromLong(ctsc_set_flush_denormals(on));
}
static PyObject *set_quantized_engine(PyObject *self, PyObject *args) {
    const char *name;
    ctsc_error *e = bind_error();
    (void)self;
    if (!e || !PyArg_ParseTuple(args, "s", &name)) return NULL;
    return ctsc_set_quantized_engine(name, e) == CTSC_OK ? bind_ref(Py_None)
                                                         : bind_raise(e, "set_quantized_engine");
}
static PyObject *cuda_devices(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return PyLong_FromLong(ctsc_cuda_device_count(NULL));
}
static PyObject *value_close(PyObject *self, PyObject *args) {
    PyObject *got, *want;
    double rtol, atol;
    bind_arg a, b;
    char *why = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOdd", &got, &want, &rtol, &atol) || !bind_to_value(got, true, &a))
        return NULL;
    if (!bind_to_value(want, true, &b)) return bind_free_args(1, &a), NULL;
    bool same = ctsc_value_close(a.v, b.v, rtol, atol, &why);
    bind_free_args(1, &a);
    bind_free_args(1, &b);
    PyObject *o = same ? bind_ref(Py_None) : PyUnicode_FromString(why ? why : "they differ");
    ctsc_string_free(why);
    return o;
}

static PyMethodDef methods[] = {
    {"set_hooks", set_hooks, METH_O, NULL},
    {"set_num_threads", set_threads, METH_VARARGS, NULL},
    {"set_compiling", set_compiling, METH_VARARGS, NULL},
    {"wait_for_kernels", wait_for_kernels, METH_VARARGS,
     "wait_for_kernels(seconds=0, /)\n--\n\nWaits until kernels that are being compiled are "
     "there."},
    {"set_flush_denormals", set_flush_denormals, METH_VARARGS, NULL},
    {"set_quantized_engine", set_quantized_engine, METH_VARARGS,
     "set_quantized_engine(name, /)\n--\n\nWhich of PyTorch's engines quantised operators compute "
     "as: 'x86', 'fbgemm', 'qnnpack', ..."},
    {"cuda_device_count", cuda_devices, METH_NOARGS, NULL},
    {"_close", value_close, METH_VARARGS, NULL},
    {"_as_subclass", bind_as_subclass, METH_VARARGS, NULL},
    {0},
};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_C", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__C(void) {
    if (!ctsc_compatible(CTSC_VERSION_STRING, CTSC_ABI_VERSION)) {
        PyErr_SetString(PyExc_ImportError, "ctsc._C was built for another version of libctsc");
        return NULL;
    }
    PyObject *m = PyModule_Create(&definition);
    if (!m) return NULL;
    bind.hooks = PyDict_New();
    bind.handle_name = PyUnicode_InternFromString("_ctsc_handle_");
    bind.value_name = PyUnicode_InternFromString("_ctsc_value_");
    bind_init_value();
    PyMethodDef *const more[] = {
        bind_make_methods,     bind_share_methods, bind_operator_methods, bind_module_functions,
        bind_register_methods, bind_grad_methods,  bind_train_methods,    bind_weights_methods,
        bind_hook_methods,     bind_future_methods};
    bool ok = bind.hooks && bind.handle_name && bind.value_name;
    for (size_t i = 0; ok && i < sizeof more / sizeof *more; i++)
        ok = PyModule_AddFunctions(m, more[i]) == 0;
    ok = ok && bind_init_error(m) == 0 && bind_init_dtype(m) == 0 && bind_init_tensor(m) == 0 &&
         bind_init_object(m) == 0 && bind_init_operator(m) == 0 && bind_init_module(m) == 0 &&
         bind_init_trace(m) == 0 && bind_init_generator(m) == 0 && bind_init_train(m) == 0 &&
         bind_init_profile(m) == 0 &&
         PyModule_AddStringConstant(m, "__version__", ctsc_version()) == 0;
    if (ok) return ctsc_set_log(CTSC_LOG_ALERT, alert_note, NULL), m;
    Py_DECREF(m);
    return NULL;
}
