/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_trace.h - tracing: what the evaluator computes while a recorder is in place becomes nodes of a
 * trace (trace.h).
 *
 *     def forward(self, x):                          graph(%self : __torch__.Net, %x : Tensor):
 *         b = x.shape[0]                               %2 : int = aten::size(%x, 0)
 *         for layer in self.layers:                    ...one aten::linear per layer...
 *             x = layer(x)                             %9 : int = aten::mul(%2, 2)
 *         return x.view(b * 2, -1)                     %10 : int[] = prim::ListConstruct(%9, -1)
 *                                                      %11 : Tensor = aten::view(%8, %10)
 *
 * Method. All operators of Python code are called in one place (py_ops.c), which knows the
 * overload, the objects that the arguments came from and their values. Tensors are known by
 * what they are. Numbers are known by their objects, which are never shared nor freed:
 * sizes of tensors that follow the inputs (x.shape, x.size(), x.numel()) are recorded as
 * aten::size, arithmetic on such numbers (+ - * / // % **, unary minus, float()) as
 * operators of numbers, also inside lists and tuples of arguments. A 0-dim tensor in the
 * place of a number is recorded as aten::Int and the like. PyTorch has 0-dim tensors in the
 * place of such numbers, which are type-promoted as tensors and fail isinstance(n, int).
 *
 * Everything else that leaves the world of tensors is a constant: the truth of a tensor, item(),
 * int(), float(), tolist(), len(), comparisons of sizes, range(size), and whatever Python's library
 * (math, min, round) makes of a number. Each of these is warned of in PyTorch's words
 * (TracerWarning), once per place. Operators without a tensor in their result are not recorded.
 *
 * Tests: tests/cli/trace.test, tests/interop/traces.py
 */
#ifndef CTSC_FRONTEND_PYEVAL_TORCH_PY_TRACE_H
#define CTSC_FRONTEND_PYEVAL_TORCH_PY_TRACE_H

#include "frontend/pyeval/core/py.h"
#include "frontend/trace/trace.h"

/* An operator's call. Before it: the graph's values for its arguments, which came from the objects
 * `of` (NULL: a default). Nothing is to be recorded where *records is false. */
bool py_trace_arguments(py *p, source_range r, const op *o, const py_object *const *of,
                        const value *full, bool *records, ir_value **in);
/* After it: results are objects. */
bool py_trace_results(py *p, source_range r, const op *o, ir_value *const *in,
                      py_object *const *results);
/* The graph's value for object o, whose value as an argument of type t is v. NULL: an error. */
ir_value *py_trace_value(py *p, const py_object *o, type *t, value v);
/* A call of a function or method of the graph is there: its result is o. */
bool py_trace_node(py *p, const char *name, const node *n, py_object *o);
/* size = t.shape[dim]; dim -1: t.numel(). Returns size, NULL with an error. */
py_object *py_trace_size(py *p, source_range r, const py_object *t, int dim, py_object *size);
/* result = a op b ("aten::add"), or op a where b is NULL; where both are numbers.
 * Returns result. */
py_object *py_trace_number(py *p, source_range r, const char *op_name, const py_object *a,
                           const py_object *b, py_object *result);
/* Python code reads o, as "Python boolean": warns if o is a tensor, or a number that
 * the trace follows. */
bool py_trace_read(py *p, source_range r, const py_object *o, const char *as);
/* A warning that is there anyway. */
bool py_trace_warn(py *p, source_range r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* An operator that reads a tensor into Python, with the warning. */
py_object *py_trace_item(py *p, source_range r, py_object *t, const char *op_name, const char *as);

#endif
