/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_tune.h - how 3x3 convolutions of stride 1 are done, by measurement: see conv_tune.c.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_TUNE_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_TUNE_H

#include "runtime/kernels/conv/conv_packed.h"

/* The fastest of the forms that can do s, which conv_winograd_fits; the first call for a shape
 * measures, for a tenth of a second, unless the folder on disk knows. conv_winograd_best's where
 * there is no memory to measure with. Thread-safe. */
conv_form conv_tune(const conv_shape *s);

#endif
