/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_copy.h - copies within a device.
 */
#ifndef CTSC_RUNTIME_CUDA_CUDA_COPY_H
#define CTSC_RUNTIME_CUDA_CUDA_COPY_H

#include "runtime/cuda/cuda_ops.h"

/* dst[...] = src, of any geometry and dtypes, both on one device; src broadcasts to dst. They
 * share no memory. */
ctsc_status copy_on_device(diag *d, tensor *dst, const tensor *src);
/* dst[...] = the one element of dst's dtype at `element`, on the host. */
ctsc_status copy_fill(diag *d, tensor *dst, const void *element);

#endif
