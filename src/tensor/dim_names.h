/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dim_names.h - names of a tensor's dims, as PyTorch 1.13 has them.
 *
 * A tensor has no names (tensor.names is NULL: nearly every one), or one for each dim, where NULL
 * stands for a dim without a name, PyTorch's wildcard. Names are a matter of the handle: views do
 * not inherit them here, operators give them to their results (runtime/names/names.h).
 *
 *     ['N', None, 'C']      how errors show them
 *
 * Ownership: a dim_names never changes and is counted, handles share it.
 * Tests: tests/unit/test_names.c
 */
#ifndef CTSC_TENSOR_DIM_NAMES_H
#define CTSC_TENSOR_DIM_NAMES_H

#include "tensor/tensor.h"

typedef struct dim_names {
    atomic_int refs;
    int n;
    const char *of[]; /* NULL: none; the text follows */
} dim_names;

/* A handle whose number of dims has changed since has none. */
static inline bool tensor_has_names(const tensor *t) { return t->names && t->names->n == t->ndim; }
static inline const char *tensor_dim_name(const tensor *t, int dim) {
    return tensor_has_names(t) ? t->names->of[dim] : NULL;
}
void tensor_drop_names(tensor *t);

/* Within these an operator's own function runs: what it calls computes no names. They nest. */
extern __thread int names_suspended;
static inline void names_suspend(void) { names_suspended++; }
static inline void names_resume(void) { names_suspended--; }

#endif
