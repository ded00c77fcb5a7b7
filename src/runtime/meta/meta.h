/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.h - what operators do with tensors of device meta: sizes, strides and dtypes of results,
 * without elements.
 *
 * Method. An operator's own function is run: what it checks, what it allocates and how it lays that
 * out *is* its shape rule, and there is no second one. For the time of a call each storage of
 * device meta among the arguments is replaced by addresses without memory (storage_unbacked), and
 * the thread is told that geometry alone is wanted (base/memory/unbacked.h): the loops over
 * elements are left out. Of what the call returns, storages are replaced again: those of arguments
 * by what they stood for, so that views are views and writes are writes, new ones by storages of
 * device meta of the same size. Nothing of that depends on the operator, so it holds for every row
 * of ops.def, for operators of programs too, and for what is added later.
 *
 *     made of others             composites, in-place and out= overloads: they run as they are, and
 *                                the operators that they call ask again
 *     views, DEVICE_BLIND        run as they are: they touch no element
 *     SIZED_BY_DATA, and those
 *     that return numbers        refused: without elements there is no answer
 *     all else                   as above
 *
 * Generators of random numbers are left as they were: nothing is drawn.
 *
 * Rejected:
 * - A rule per operator (PyTorch's meta functions, ir/op/op_traits.h's RANK and dtype words made
 *   complete): two thousand rules beside the checks that the functions have anyway. They would
 *   differ.
 * - Running functions on real zeros, as it were on lazily mapped pages alone: right, but a product
 *   of two matrices of a large language model takes as long as the product.
 * - Arguments that are one element, expanded: their strides are 0, and results follow strides.
 * - Small stand-ins, whose results are scaled: sizes are not linear (floors of convolutions and
 *   pools, checks of groups and of divisibility), and errors would name sizes that nobody gave.
 * - Types of the compiler (passes, codegen/lower's plans): they know the operators that kernels are
 *   made of, and only those.
 *
 * What is not known here is what a function finds in elements and does not say in its row: such
 * functions see zeros. Indices are therefore not checked, as in PyTorch.
 * Tests: tests/unit/test_meta.c, tests/against/meta.py (make against-torch-meta)
 */
#ifndef CTSC_RUNTIME_META_META_H
#define CTSC_RUNTIME_META_META_H

#include "ir/op/op.h"

/* Is one of the arguments a tensor of device meta, or that device? */
bool meta_wanted(const op *o, const value *args);
/* Calls cx->op, for arguments that meta_wanted says so of. */
ctsc_status meta_call(op_ctx *cx, const value *args, value *results);

#endif
