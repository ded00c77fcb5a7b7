/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_unfold.h - im2col, for one size of elements.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     U           unsigned integer of that size
 *     NAME(x)     names of what is defined here
 */

/* One row of the unfolded matrix: channel plane `in`, tap (kd, kh, kw), output positions [begin,
 * end). Rows of small images are a few elements each: what finds the next one is most of the work,
 * so its place is counted on, not divided out. */
static void NAME(conv_unfold_row)(const conv_shape *s, const U *in, const int64_t *tap,
                                  int64_t begin, int64_t end, U *dst) {
    int64_t lo, hi, ow_size = s->out[2], sw = s->stride[2];
    conv_valid_range(s, 2, tap[2], &lo, &hi);
    int64_t shift = tap[2] * s->dilation[2] - s->pad[2];
    int64_t row = begin / ow_size, oh = row % s->out[1], od = row / s->out[1];
    for (int64_t w0 = begin % ow_size, left = end - begin; left > 0; w0 = 0) {
        int64_t w1 = left < ow_size - w0 ? w0 + left : ow_size;
        int64_t ih = oh * s->stride[1] - s->pad[1] + tap[1] * s->dilation[1];
        int64_t id = od * s->stride[0] - s->pad[0] + tap[0] * s->dilation[0];
        int64_t a = lo < w0 ? w0 : lo > w1 ? w1 : lo, b = hi < a ? a : hi > w1 ? w1 : hi;
        if (ih < 0 || ih >= s->in[1] || id < 0 || id >= s->in[0]) a = b = w1;
        if (a > w0) memset(dst, 0, (size_t)(a - w0) * sizeof(U));
        if (b > a) {
            const U *src = in + (id * s->in[1] + ih) * s->in[2] + a * sw + shift;
            U *to = dst + (a - w0);
            if (sw == 1) memcpy(to, src, (size_t)(b - a) * sizeof(U));
            else
                for (int64_t i = 0; i < b - a; i++) to[i] = src[i * sw];
        }
        if (w1 > b) memset(dst + (b - w0), 0, (size_t)(w1 - b) * sizeof(U));
        dst += w1 - w0;
        left -= w1 - w0;
        if (++oh == s->out[1]) oh = 0, od++;
    }
}

static void NAME(conv_unfold)(const conv_shape *s, const void *image, int64_t channels,
                              int64_t begin, int64_t end, void *cols) {
    const U *in = image;
    U *dst = cols;
    int64_t tap[CONV_DIMS];
    for (int64_t c = 0; c < channels; c++, in += s->in_size)
        for (tap[0] = 0; tap[0] < s->kernel[0]; tap[0]++)
            for (tap[1] = 0; tap[1] < s->kernel[1]; tap[1]++)
                for (tap[2] = 0; tap[2] < s->kernel[2]; tap[2]++, dst += end - begin)
                    NAME(conv_unfold_row)(s, in, tap, begin, end, dst);
}

#undef U
#undef NAME
