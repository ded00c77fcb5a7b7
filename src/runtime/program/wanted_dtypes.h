/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wanted_dtypes.h - which dtypes a method's tensors have, where its signature only says Tensor.
 *
 * The operators that arguments reach say it: indices of an embedding are int64, the image of a
 * convolution is of its weight's dtype. What the results are follows from that. These are likely
 * dtypes, for metadata, not checked ones: an embedding takes int32 as well.
 * Tests: tests/unit/test_signature.c
 */
#ifndef CTSC_RUNTIME_PROGRAM_WANTED_DTYPES_H
#define CTSC_RUNTIME_PROGRAM_WANTED_DTYPES_H

#include "ir/unit.h"

/* arguments: one per argument of f's schema after self; results: one per item of its
 * result, if that is a tuple, else one. -1 where nothing is known, and for values that
 * are not tensors. root: the module, whose attributes that never change are known. */
ctsc_status wanted_dtypes(function *f, object *root, int *arguments, int *results, diag *d);

#endif
