/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind.h - the extension module ctsc._C: what its files share.
 *
 * The extension is made of ctsc.h and of CPython's limited API of 3.9, so that one binary serves
 * every later version. What is hot is here: tensors, calls of operators and of modules, conversion
 * of values, indexing. What is broad is Python (python/ctsc/).
 *
 * Lifetimes. A Tensor owns one ctsc_value handle; results of calls become Tensors without another
 * copy. Arguments that are Tensors lend their handle, everything else becomes a value for the
 * call (bind_arg).
 * Threads. Each thread has scopes of its own for operators (bind_operator.c). The interpreter's
 * lock is released while modules run, and while operators work on large tensors; callbacks of the
 * library take it again.
 * Tests: tests/python
 */
#ifndef CTSC_BIND_H
#define CTSC_BIND_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "bind_compat.h"
#include "ctsc.h"

typedef struct Tensor {
    PyObject_HEAD ctsc_value *v;
    PyObject *weak;
    PyObject *program; /* the Module whose parameter it is; NULL: none */
    PyObject *dict;    /* attributes that Python sets; NULL: none */
} Tensor;

typedef struct Dtype {
    PyObject_HEAD int number; /* ctsc_dtype */
} Dtype;

/* One row per dtype: what conversions ask. */
typedef struct dtype_row {
    int number;
    const char *name, *other_name;         /* "float32", "float" */
    const char *type_name, *method, *wire; /* ctsc_dtype_info's */
    int size;
    const char *format;  /* of the buffer protocol; NULL: it has none (bfloat16) */
    const char *typestr; /* of __array_interface__ */
    char kind;           /* 'b' bool, 'u', 'i', 'f', 'c'; 'q', 'C': a name only; 'U', 'F': stored */
    uint8_t dl_code;
} dtype_row;

/* An argument of a call: a handle, and whether it was made for the call. */
typedef struct bind_arg {
    ctsc_value *v;
    bool own;
} bind_arg;

enum { BIND_ARGS = 24 }; /* arguments of an operator */

/* Objects that files look for; filled by bind_init_*, and by _C.set_hooks for those
 * that Python makes. */
typedef struct bind_state {
    PyTypeObject *tensor, *dtype, *op, *module, *trace, *profiler, *object;
    PyObject *error, *limit_error, *unsupported_error, *file_error, *environment_error,
        *script_error;
    PyObject *hooks;       /* dict: what Python answers (python/ctsc/_hooks.py) */
    PyObject *int_type;    /* of numbers that a trace follows */
    PyObject *handle_name; /* "_ctsc_handle_" */
    PyObject *value_name;  /* "_ctsc_value_" */
} bind_state;
extern bind_state bind;

/* ---- bind_error.c */
int bind_init_error(PyObject *m);
/* Raises what a call came to; returns NULL. what: the operator or method, may be NULL. */
PyObject *bind_raise(const ctsc_error *e, const char *what);
/* The thread's error object for calls; NULL with MemoryError. */
ctsc_error *bind_error(void);
/* tp_new of types whose objects only the extension makes. */
PyObject *bind_no_new(PyTypeObject *type, PyObject *args, PyObject *kw);
/* Keeps the exception that Python code raised below a call, to raise it again
 * when the call fails. */
void bind_stash_exception(ctsc_error *e, const char *what);

/* ---- bind_dtype.c */
enum { BIND_DTYPES = 48 }; /* their numbers are below */
int bind_init_dtype(PyObject *m);
const dtype_row *bind_dtype_row(int number); /* NULL: none */
PyObject *bind_dtype_object(int number);     /* borrowed */
#define DtypeCheck(o) (Py_TYPE(o) == bind.dtype)

/* ---- bind_handle.c */
static inline bool TensorCheck(PyObject *o) {
    return Py_TYPE(o) == bind.tensor || PyType_IsSubtype(Py_TYPE(o), bind.tensor);
}
PyObject *bind_tensor_take(ctsc_value *v);        /* NULL: v is freed */
PyObject *bind_sizes(const int64_t *n, int ndim); /* a Size */
int64_t bind_numel(const ctsc_value *v);
PyObject *bind_element(int dtype, const void *at);
/* A trace: what it is of is a scope (bind_trace.c). */
typedef struct Trace {
    PyObject_HEAD ctsc_scope *s;
    PyObject *outside; /* list: tensors that require gradients, none of the inputs */
} Trace;
extern __thread Trace *bind_current_trace;
ctsc_scope *bind_tracing(void); /* the scope of the thread's trace, NULL: none */
/* Warns that a trace does not see what the program does with a tensor. -1 with an exception. */
int bind_trace_warns(const char *what);
ctsc_value *bind_traced_handle(PyObject *o); /* of a number; borrowed; NULL: it is none */

/* ---- bind_tensor.c */
int bind_init_tensor(PyObject *m);
PyObject *bind_as_subclass(PyObject *self, PyObject *args);

/* ---- bind_make.c */
extern PyMethodDef bind_make_methods[];
PyObject *bind_tensor_of(PyObject *data, int dtype /* -1: as the data says */);
PyObject *bind_tolist(Tensor *t);
/* a tensor on the CPU with t's elements, in a dtype that bind_element knows: a new handle; NULL
 * with an exception */
ctsc_value *bind_readable(Tensor *t);

/* ---- bind_share.c */
extern PyMethodDef bind_share_methods[];
extern PyType_Slot bind_buffer_slots[2];
/* a Tensor on the memory of o; where may_copy, of a copy if that is not aligned */
PyObject *bind_from_buffer(PyObject *o, bool may_copy);
PyObject *bind_dlpack(Tensor *t, bool versioned);
PyObject *bind_array_interface(Tensor *t);

/* ---- bind_value.c */
bool bind_is_number(PyObject *o); /* Python's, NumPy's scalars */
/* Python's object as an argument. wide: for modules, which take arrays for tensors. false
 * with an exception. */
bool bind_to_value(PyObject *o, bool wide, bind_arg *out);
/* A bool as a 0-dim tensor. */
bool bind_truth(PyObject *o, bind_arg *out);
void bind_free_args(size_t n, bind_arg *args);
/* What a function of Python gave to the library: a handle that is the library's. false with an
 * exception. */
bool bind_give(PyObject *o, ctsc_value **out);
PyObject *bind_object_take(ctsc_value *v); /* a ScriptObject; NULL: v is freed */
/* of a ScriptObject, borrowed; NULL with an exception */
ctsc_value *bind_object_value(PyObject *o);
PyObject *bind_from_value(ctsc_value *v_take);
ctsc_value *bind_small_int(int64_t i, bool *own);
void bind_init_value(void);
int bind_init_object(PyObject *m);

/* ---- bind_operator.c */
extern PyMethodDef bind_operator_methods[];
int bind_init_operator(PyObject *m);
/* Calls an operator; NULL with an exception. */
ctsc_value *bind_call(const char *key, size_t n, const char *const *names, ctsc_value *const *args);
PyObject *bind_call_object(const char *key, size_t n, ctsc_value *const *args);
/* Whether calls are Python's to change, and such a call of one operand (b NULL) or two. */
bool bind_intercepts(Py_ssize_t n, PyObject *const *args);
PyObject *bind_intercepted(const char *key, PyObject *a, PyObject *b);
bool bind_overrides(PyObject *o); /* a class that its functions are asked of (_subclass.py) */

/* ---- bind_generator.c */
int bind_init_generator(PyObject *m);
/* The scope of the process that random operators go through, for one call; NULL: it is busy, or
 * (with an exception) there is no memory. */
ctsc_scope *bind_random_take(void);
void bind_random_give(void);
/* The scope of a Generator; NULL with TypeError. default_scope: represents the process's. */
bool bind_generator_scope(PyObject *o, ctsc_scope **out);

/* ---- bind_grad.c */
extern PyMethodDef bind_grad_methods[];
bool bind_grad_enabled(void); /* of the thread */
bool bind_grad_set(bool on);  /* the mode before */
PyObject *bind_get_requires_grad(PyObject *self, void *unused);
int bind_set_requires_grad(PyObject *self, PyObject *v, void *unused);
PyObject *bind_get_grad(PyObject *self, void *unused);
int bind_set_grad(PyObject *self, PyObject *v, void *unused);
PyObject *bind_get_is_leaf(PyObject *self, void *unused);
PyObject *bind_get_grad_fn(PyObject *self, void *unused);
/* The handles of a tuple of tensors, and None where that may be: NULL. Free with PyMem_Free. NULL
 * with an exception, which says what they are. */
ctsc_value **bind_handles(PyObject *tuple, bool none, const char *what);

/* ---- bind_hook.c */
extern PyMethodDef bind_hook_methods[];

/* ---- bind_train.c */
extern PyMethodDef bind_train_methods[];
int bind_init_train(PyObject *m);

/* ---- bind_index.c */
PyObject *bind_getitem(PyObject *self, PyObject *index);
int bind_setitem(PyObject *self, PyObject *index, PyObject *v);

/* ---- bind_limits.c */
PyObject *bind_set_limits(PyObject *self, PyObject *args);
/* What a script prints and warns goes where Python's does. */
void bind_on_print(void *ctx, const char *text, size_t len);
void bind_on_warn(void *ctx, const char *text);
/* What ctsc.limits() says, c, and where scripts print and warn. */
ctsc_run_options bind_limits(const ctsc_cancel *c);

/* ---- bind_module.c */
int bind_init_module(PyObject *m);
PyObject *bind_module_take(ctsc_module *m, PyObject *keep);
extern PyMethodDef bind_module_functions[];

/* ---- bind_weights.c */
extern PyMethodDef bind_weights_methods[];

/* ---- bind_traced.c */
bool bind_trace_sees(size_t n, ctsc_value *const *args); /* false with an exception */
PyObject *bind_traced_result(ctsc_value *h);             /* h: the trace's scope's */

/* ---- bind_trace.c */
int bind_init_trace(PyObject *m);

/* ---- bind_profile.c */
int bind_init_profile(PyObject *m);
ctsc_profiler *bind_profiler(void); /* that calls of this thread report to; NULL: none */
/* ---- bind_register.c */
extern PyMethodDef bind_register_methods[];
/* ---- bind_future.c */
extern PyMethodDef bind_future_methods[];
/* ---- bind_interrupt.c */
const ctsc_cancel *bind_interrupt_enter(void); /* for a call on the main thread; NULL elsewhere */
/* After the call: true if a signal ended it, with the exception that its handler raised. */
bool bind_interrupt_leave(const ctsc_cancel *c, bool failed);

#endif
