/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channels_place.h - tensors that are a part of the channels of a wider one.
 *
 * The parts of a concatenation along the last dim need not be copied if they are
 * made in place: in a block that is `width` channels wide, where a tensor has the
 * channels from `at` on. The first tensor made allocates the block; each further one
 * is placed beside another of them. The pass cat-in-place chooses these tensors; it
 * ensures that they do not overlap and that nothing writes them later. A tensor whose
 * size or dtype does not match has separate memory, and is copied when it is joined.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_CHANNELS_PLACE_H
#define CTSC_RUNTIME_KERNELS_ENGINE_CHANNELS_PLACE_H

#include "runtime/kernels/engine/kernel.h"

typedef struct channels_place {
    const tensor *beside; /* one that is in the same block; NULL: there is no block yet */
    int64_t width, at;
} channels_place;

/* From the arguments `Tensor? beside, int width, int at`. */
channels_place channels_place_read(const value *args);
/* Is t in such a block, at t->offset? */
bool channels_place_is(const tensor *t, int64_t width);
/* An uninitialised tensor in its place on the host, or, where it cannot be there, contiguous. */
ctsc_status channels_place_new(diag *d, const channels_place *p, dtype dt, int ndim,
                               const int64_t *sizes, tensor **out);
/* t, or a copy of it in its place. */
ctsc_status channels_place_put(diag *d, const channels_place *p, tensor *t, tensor **out);

#endif
