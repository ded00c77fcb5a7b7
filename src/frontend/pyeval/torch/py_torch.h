/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_torch.h - torch for the evaluator: operators, tensors, modules.
 */
#ifndef CTSC_FRONTEND_PYEVAL_TORCH_PY_TORCH_H
#define CTSC_FRONTEND_PYEVAL_TORCH_PY_TORCH_H

#include "frontend/pyeval/lib/py_lib.h"

/* What py_init is given: all modules made in C. */
extern const struct py_library py_torch_library;

/* An operator or kernel has failed: gives the error its place and its Python
 * class. Returns NULL. */
py_object *py_kernel_failed(py *p, source_range r);
/* Calls an operator by key with values. */
bool py_run_op(py *p, source_range r, const char *key, int nargs, const value *args, value *result);
bool py_torch_warn(py *p, source_range r, const char *text); /* aten::warn */

/* py_tensor.c */
py_object *py_tensor_take(py *p, tensor *t);
py_object *py_cast(py *p, source_range r, py_object *t, int64_t dt); /* t.to(dt) */
/* the only element as bool, int, float or complex */
value py_tensor_item(const tensor *t, diag *d);
py_object *py_symbol_object(py *p, source_range r, py_symbol kind, int64_t v); /* torch.float32 */

/* py_autocast.c */
/* Of a call of o: what it is given, full[i] and the object that came from, of[i], is converted as
 * an autocast that holds asks for. */
bool py_autocast_arguments(py *p, source_range r, const op *o, const py_object **of, value *full);
extern const py_row py_autocast_rows[];

/* py_gradients.c */
/* What operator `key` answers about t. */
py_object *py_tensor_asked(py *p, source_range r, const py_object *t, const char *key);
bool py_tensor_set_grad(py *p, source_range r, py_object *t, const py_object *grad);
extern const py_row py_gradients_rows[];
/* Members of py_library. */
void py_gradients_look(py *p, const source *src);
void py_gradients_end(py *p);
void py_set_gradients(py *p, bool on);

/* py_tensor_data.c: nested sequences of numbers <-> tensors */
/* The tensor of a numpy.ndarray (prelude/numpy); NULL: o is none. */
py_object *py_array_tensor(const py_object *o);
bool py_tensor_from_data(py *p, source_range r, const py_object *data,
                         int64_t dtype /* -1: by the data */, tensor **out);

/* The modules of one file: fills mod and answers true if it is one of them. */
bool py_torch_module(py *p, const char *dotted, py_object *mod); /* py_torch.c */
bool py_jit_module(py *p, const char *dotted, py_object *mod);   /* py_jit.c */
extern const py_row py_script_rows[]; /* py_script.c: of torch.jit and torch._C */
py_object *py_jit_missing(py *p, py_object *mod, const char *name);
py_object *py_torch_missing(py *p, py_object *mod, const char *name);

/* Members of py_library (core/py_internal.h says what they do). */
py_object *py_call_operator(py *p, source_range r, const char *op_name, int nargs, py_object **args,
                            int nkw, const char *const *names, py_object **kwargs);
bool py_is_overload(const py_object *o);
bool py_torch_assigned(py *p, source_range r, const py_object *mod, const char *name,
                       const py_object *v);
py_object *py_size_take(py *p, py_object *tuple);
py_object *py_tensor_attribute(py *p, source_range r, py_object *o, const char *name);
bool py_tensor_setattr(py *p, source_range r, py_object *o, const char *name, py_object *v);
py_object *py_tensor_getitem(py *p, source_range r, py_object *t, py_object *key);
bool py_tensor_setitem(py *p, source_range r, py_object *t, py_object *key, py_object *v);
py_object *py_tensor_operator(py *p, source_range r, const char *op, py_object *a, py_object *b);
const py_object *py_torch_class(py *p, const py_object *o);

#endif
