/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channels_place.h - tensors that lie in a part of the channels of a wider one.
 *
 * What is joined along the last dim need not be copied if it was made where it belongs: a block
 * that is `width` channels wide, of which the tensor has those from `at` on. The first one that is
 * made allocates the block; each further one lies beside another one of them. Which tensors these
 * are is decided by the pass cat-in-place, which sees to it that they do not overlap and that
 * nobody writes them later. Where sizes or dtypes do not fit each other a tensor has memory of its
 * own, and is copied when it is joined.
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
/* Does t lie in such a block, at t->offset? */
bool channels_place_is(const tensor *t, int64_t width);
/* An uninitialised tensor in its place on the host, or, where it cannot be there, contiguous. */
ctsc_status channels_place_new(diag *d, const channels_place *p, dtype dt, int ndim,
                               const int64_t *sizes, tensor **out);
/* t, or a copy of it in its place. */
ctsc_status channels_place_put(diag *d, const channels_place *p, tensor *t, tensor **out);

#endif
