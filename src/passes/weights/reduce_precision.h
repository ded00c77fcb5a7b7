/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_precision.h - what is going to be reduced, for passes that run before. */
#ifndef CTSC_PASSES_WEIGHTS_REDUCE_PRECISION_H
#define CTSC_PASSES_WEIGHTS_REDUCE_PRECISION_H

#include "passes/pass/pass.h"

/* Will "reduce-auto" reduce convolutions? */
bool reduce_auto_convs(const pass_ctx *cx);

/* What follows the name of a precision of groups, "int4w": ":32", ":64,asym", ":sym". *group and
 * *zeros stay what they are where it does not say. */
bool reduce_read_groups(const char *text, int *group, bool *zeros);

#endif
