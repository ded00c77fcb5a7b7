/* SPDX-License-Identifier: Apache-2.0 */
/* lowered.c - the names of rules (lowered.h). */
#include "ir/op/lowered.h"

static const char *const lowered_texts[LOWERED_COUNT] = {
    "",
#define LOWERED_POINTWISE(name) #name,
#define LOWERED_VIEW(name) #name,
#define LOWERED_REDUCTION(name) #name,
#include "ir/op/lowered.def"
};

const char *lowered_text(lowered_op rule) { return lowered_texts[rule]; }
