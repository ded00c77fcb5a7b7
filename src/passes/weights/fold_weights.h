/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold_weights.h - where a weight comes from that fold_weights.c made.
 *
 * A kernel that packs its weights multiplies while it packs, of the original, which the module has
 * anyway: the folded copy is not needed then.
 */
#ifndef CTSC_PASSES_FOLD_WEIGHTS_H
#define CTSC_PASSES_FOLD_WEIGHTS_H

#include "tensor/tensor.h"

/* w = from * factors, a product in float64 that is rounded once: factors has a number for each of
 * from's rows. Both are borrowed from w. False: that is not known of w. */
bool folded_weight_origin(const tensor *w, tensor **from, tensor **factors);

#endif
