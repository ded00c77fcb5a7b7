/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_torch.h - what the files that give the evaluator its library share: tables of builtins, arguments,
 * tensors.
 *
 * Every function of C that Python code can see is one row of a table: its full dotted name and its function.
 * Compiling a function's body asks for those names (source_names.c), so they are as stable as an interface.
 */
#ifndef CTSC_FRONTEND_PYEVAL_TORCH_PY_TORCH_H
#define CTSC_FRONTEND_PYEVAL_TORCH_PY_TORCH_H

#include "frontend/pyeval/core/py.h"

#define PY_UNUSED_PARAMS                                                                                     \
    (void)p, (void)r, (void)self, (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs

/* Adds the rows "MODULE.name" of a table to the globals of mod, whose dotted name is MODULE. */
bool py_add_rows(py *p, py_object *mod, const py_row *rows);
bool py_module_set(py *p, py_object *mod, const char *name, py_object *v);
bool py_module_set_take(py *p, py_object *mod, const char *name, py_object *v); /* v NULL: false */
bool py_is_number(const py_object *o);                                      /* bool, int, float, complex */
bool py_is_string(const py_object *o);
/* Is o the builtin class of that name ("float"), of Python itself? */
bool py_is_builtin_class(const py_object *o, const char *name);
py_object *py_unsupported(py *p, source_range r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* An operator or kernel has failed: gives the error its place and its Python class. Returns NULL. */
py_object *py_kernel_failed(py *p, source_range r);
/* Calls an operator by key with values. */
bool py_run_op(py *p, source_range r, const char *key, int nargs, const value *args, value *result);
py_object *py_module_member(py *p, const char *module,
                            const char *name); /* of a module that is loaded; NULL: none */

/* py_tensor.c */
py_object *py_tensor_take(py *p, tensor *t);
py_object *py_cast(py *p, source_range r, py_object *t, int64_t dt); /* t.to(dt) */
value py_tensor_item(const tensor *t, diag *d); /* the only element as bool, int, float or complex */
py_object *py_symbol_object(py *p, source_range r, py_symbol kind, int64_t v); /* torch.float32 */

/* py_tensor_data.c: nested sequences of numbers <-> tensors */
/* The tensor of a numpy.ndarray (prelude/numpy); NULL: o is none. */
py_object *py_array_tensor(const py_object *o);
bool py_tensor_from_data(py *p, source_range r, const py_object *data, int64_t dtype /* -1: by the data */,
                         tensor **out);

/* The modules of one file: fills mod and answers true if it is one of them. */
bool py_torch_module(py *p, const char *dotted, py_object *mod);   /* py_torch.c */
bool py_torch_set_engine(py *p, source_range r, const py_object *v); /* torch.backends.quantized.engine = v */
bool py_jit_module(py *p, const char *dotted, py_object *mod);     /* py_jit.c */
bool py_typing_module(py *p, const char *dotted, py_object *mod);  /* py_typing.c */
bool py_math_module(py *p, const char *dotted, py_object *mod);    /* py_math.c */
bool py_classes_module(py *p, const char *dotted,
                       py_object *mod); /* py_classes.c: enum, collections.namedtuple, dataclasses, copy */
extern const py_row py_script_rows[]; /* py_script.c: of torch.jit and torch._C */
py_object *py_jit_missing(py *p, py_object *mod, const char *name);
py_object *py_plain_type(py *p, const char *name); /* a PY_TYPE without subscript */
py_object *py_named_tuple_base(py *p, py_object *mod); /* typing.NamedTuple */
py_object *py_tuple_class(py *p, py_object *mod,
                          const char *name); /* a named tuple's class, without fields so far */
/* MODULE.NAME of a module that may be imported only: using it fails, and says so. */
py_object *py_absent(py *p, const char *module, const char *name);
py_object *py_torch_missing(py *p, py_object *mod, const char *name);

#endif
