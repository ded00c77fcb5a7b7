/* SPDX-License-Identifier: Apache-2.0 */
/* conv_shape.h - the sizes of a convolution. Over fewer than three dims, leading dims are 1. */
#ifndef CTSC_CPU_CONV_CONV_SHAPE_H
#define CTSC_CPU_CONV_CONV_SHAPE_H

#include <stdint.h>

enum { CONV_DIMS = 3 };

/* Input [batch, in_channels, in...], output [batch, out_channels, out...]; weight [out_channels,
 * in_channels / groups, kernel...], or, transposed, [in_channels, out_channels / groups,
 * kernel...]. Everything contiguous. */
typedef struct conv_shape {
    int64_t batch, groups, in_channels, out_channels;
    int64_t in[CONV_DIMS], kernel[CONV_DIMS], out[CONV_DIMS];
    int64_t stride[CONV_DIMS], pad[CONV_DIMS], dilation[CONV_DIMS]; /* pad: in front of each dim */
    int64_t in_size, kernel_size, out_size;                         /* products of the above */
} conv_shape;

#endif
