/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nested.h - nested tensors: batches of sequences of differing length, as transformer encoders use
 * them to leave padding out of the computation.
 *
 * A nested tensor is a padded tensor [B, L, D] whose
 * storage also remembers the B lengths; L is the largest.
 * Rows after a sequence's end are zeros. Operators that
 * know nothing of nesting see the padded tensor.
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_NESTED_H
#define CTSC_RUNTIME_KERNELS_ENGINE_NESTED_H

#include "runtime/kernels/engine/kernel.h"

/* int64 [B], borrowed; NULL: t is an ordinary tensor. */
tensor *nested_lengths(const tensor *t);
/* padded [B, L, D] (any strides) as a nested tensor; lengths: int64 [B], contiguous, none above
 * L. Borrows both. */
ctsc_status nested_new(diag *d, const tensor *padded, tensor *lengths, tensor **out);
/* Bool [B, L]: true after the ends of the sequences. */
ctsc_status nested_padding(diag *d, const tensor *nested, tensor **out);

#endif
