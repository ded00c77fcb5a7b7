/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_precision.h - what is going to be reduced, for passes that run before. */
#ifndef CTSC_PASSES_WEIGHTS_REDUCE_PRECISION_H
#define CTSC_PASSES_WEIGHTS_REDUCE_PRECISION_H

#include "passes/pass/pass.h"

/* Will "reduce-auto" reduce convolutions? */
bool reduce_auto_convs(const pass_ctx *cx);

#endif
