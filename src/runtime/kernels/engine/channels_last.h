/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channels_last.h - tensors whose channels follow the spatial dims.
 *
 * PyTorch's images are [..., C, H, W]; the pass "layout" turns regions of a graph to [..., H,
 * W, C] (dims in that order, contiguous: an ordinary tensor), the layout of the kernels of
 * convolutions and pools. `spatial` says how many dims are spatial: 1 to 3. A tensor with too
 * few dims for channels and spatial dims is unchanged: the operator that gets it reports it.
 * Tests: tests/unit/test_channels_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_CHANNELS_LAST_H
#define CTSC_RUNTIME_KERNELS_ENGINE_CHANNELS_LAST_H

#include "runtime/kernels/engine/kernel.h"

/* An argument that says how many dims are spatial; fails for others than 1 to 3. */
ctsc_status channels_spatial(op_ctx *cx, const value *v, int *spatial);
/* Views of the same elements: [..., C, spatial...] as [..., spatial..., C], and back. */
ctsc_status channels_last_view(diag *d, const tensor *t, int spatial, tensor **out);
ctsc_status channels_first_view(diag *d, const tensor *t, int spatial, tensor **out);

/* The way of an operator with channels last that has no kernel for its arguments: the operator
 * `name`, which has the same arguments and whose result has as many dims, on args[0] with channels
 * first, contiguous, and the result permuted back, contiguous. */
ctsc_status channels_last_by_first(op_ctx *cx, const char *name, int spatial, int nargs,
                                   const value *args, value *results);

#endif
