/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - the next token from a model's logits. */
#ifndef CTSC_SERVE_SAMPLE_H
#define CTSC_SERVE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sampler {
    double temperature; /* 0: always the most likely one */
    size_t top_k;       /* only of this many, the most likely ones; 0: of all */
    uint64_t state;     /* of the random numbers; the seed */
} sampler;

/* *out: which of n logits. False: there is no number among them, or no memory. */
bool sample_pick(sampler *s, const double *logits, size_t n, size_t *out);

#endif
