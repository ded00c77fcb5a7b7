/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conjugate.h - tensors whose elements are the
 * conjugates, or the negatives, of the values in memory.
 *
 * x.conj() of a complex tensor is a view in PyTorch: it shares x's memory, and writing to it
 * writes the conjugates to x. x.conj().imag is a view of floats that are negated in the same way.
 * Two bits of the handle say so (tensor.conjugated, tensor.negated); views of such a tensor have
 * them as well (tensor_view_raw).
 *
 * Few functions know the bits: these here, tensor_copy and all that copies
 * through it, and the operators that show, query or copy without reading the
 * elements. All other operators get resolved arguments (ir/op/op_lazy.c).
 * Code that reads tensor_data without an operator in between resolves first.
 *
 * Thread safety and ownership: as for other views (tensor.h).
 * Tests: tests/unit/test_tensor.c, tests/python/test_py_lazy.py
 */
#ifndef CTSC_TENSOR_CONJUGATE_H
#define CTSC_TENSOR_CONJUGATE_H

#include "tensor/tensor.h"

static inline bool tensor_is_lazy(const tensor *t) { return t->conjugated | t->negated; }

/* A view of t that is conjugated, negated, or both, in addition to what t is: twice is not at all.
 * Conjugating real numbers has no effect. */
ctsc_status tensor_lazy_view(diag *d, const tensor *t, bool conjugate, bool negate, tensor **out);
/* t itself (a reference) if memory has its elements, else a copy in t's order. */
ctsc_status tensor_resolve(diag *d, tensor *t, tensor **out);

#endif
