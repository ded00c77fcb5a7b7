/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_slices.h - how many images of a batch are done together (image_slices.c).
 */
#ifndef CTSC_RUNTIME_KERNELS_SHAPE_IMAGE_SLICES_H
#define CTSC_RUNTIME_KERNELS_SHAPE_IMAGE_SLICES_H

#include <stdint.h>

/* Sets the number of bytes, read and made by one operator of a chain, that fit,
 * instead of IMAGE_SLICE_BYTES: for tests, which use small images. Before any call. */
void image_slices_set_bytes(int64_t bytes);

#endif
