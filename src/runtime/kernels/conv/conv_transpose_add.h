/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_transpose_add.h - columns added to an output plane of a transposed convolution, for
 * one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

/* Adds one row of columns (input positions [begin, end) at one tap) to an output plane. Here the
 * roles of conv_shape's in and out are exchanged: a position of the input lands at p * stride - pad
 * + tap * dilation. */
static void NAME(convt_add)(const conv_shape *s, const int64_t *tap, int64_t begin, int64_t end,
                            const void *row, void *plane) {
    const T *src = row;
    T *out = plane;
    for (int64_t p = begin; p < end;) {
        int64_t line = p / s->in[2], w = p % s->in[2];
        int64_t n = end - p < s->in[2] - w ? end - p : s->in[2] - w;
        int64_t oh = line % s->in[1] * s->stride[1] - s->pad[1] + tap[1] * s->dilation[1];
        int64_t od = line / s->in[1] * s->stride[0] - s->pad[0] + tap[0] * s->dilation[0];
        if (oh >= 0 && oh < s->out[1] && od >= 0 && od < s->out[0]) {
            T *to = out + (od * s->out[1] + oh) * s->out[2];
            int64_t ow = w * s->stride[2] - s->pad[2] + tap[2] * s->dilation[2];
            for (int64_t i = 0; i < n; i++, ow += s->stride[2])
                if (ow >= 0 && ow < s->out[2]) to[ow] = (T)(to[ow] + src[i]);
        }
        src += n;
        p += n;
    }
}

static void NAME(convt_start)(const void *bias, int64_t channel, int64_t n, void *plane) {
    T *out = plane, b = bias ? ((const T *)bias)[channel] : 0;
    for (int64_t i = 0; i < n; i++) out[i] = b;
}

#undef T
#undef NAME
