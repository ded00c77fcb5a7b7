/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_together.c - see conv_together.h.
 * Tests: tests/unit/test_conv.c
 */
#include "runtime/kernels/conv/conv_together.h"
#include "base/minmax.h"

#include "base/memory/recycle.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <string.h>

bool conv_together_fits(const conv_shape *s) {
    return s->batch > 1 && s->in[0] == 1 && s->kernel[0] == 1 && s->out[0] == 1 && s->pad[0] == 0 &&
           s->in_size > 0 && s->out_size > 0 && s->in_size <= CONV_TOGETHER_PLANE &&
           s->out_size <= CONV_TOGETHER_PLANE;
}

int64_t conv_together_images(const conv_shape *s) {
    int64_t image = s->in_channels * s->in_size + s->out_channels * s->out_size;
    int64_t n = CONV_TOGETHER_ELEMENTS / (image ? image : 1);
    int64_t least = conv_parts(CONV_TOGETHER_COLUMNS, s->out_size);
    n = n < least ? least : n;
    return conv_parts(s->batch, conv_parts(s->batch, n));
}

conv_shape conv_together_shape(const conv_shape *s, int64_t images) {
    conv_shape t = *s;
    t.batch = 1;
    t.in[0] = t.out[0] = images;
    t.stride[0] = t.dilation[0] = 1;
    t.in_size *= images;
    t.out_size *= images;
    return t;
}

void conv_together_gather(const void *from, int64_t images, int64_t channels, int64_t n,
                          size_t size, void *to) {
    size_t plane = (size_t)n * size;
    const char *x = from;
    char *y = to;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < images; i++, y += plane)
            memcpy(y, x + (size_t)(i * channels + c) * plane, plane);
}

/* Room for the elements of the images that are done at a time: in, and out. */
static bool together_room(const conv_shape *s, int64_t images, dtype dt, size_t *in, size_t *out) {
    size_t n = (size_t)images * dtype_size(dt);
    return size_mul((size_t)(s->in_channels * s->in_size), n, in) &&
           size_mul((size_t)(s->out_channels * s->out_size), n, out) && *in + *out >= *in;
}

ctsc_status conv_together(diag *d, const conv_shape *s, dtype dt, const void *input,
                          const void *weight, const void *bias, void *out, conv_fn *compute) {
    int64_t most = conv_together_images(s);
    size_t in_bytes, out_bytes, size = dtype_size(dt);
    char *in = NULL;
    if (together_room(s, most, dt, &in_bytes, &out_bytes)) in = recycle_alloc(in_bytes + out_bytes);
    if (!in) return diag_no_memory(d);
    ctsc_status st = CTSC_OK;
    for (int64_t i = 0, n; i < s->batch && st == CTSC_OK; i += n) {
        n = int64_min(most, s->batch - i);
        conv_shape t = conv_together_shape(s, n);
        conv_together_gather((const char *)input + (size_t)(i * s->in_channels * s->in_size) * size,
                             n, s->in_channels, s->in_size, size, in);
        st = compute(d, &t, dt, in, weight, bias, in + in_bytes);
        conv_together_gather(in + in_bytes, s->out_channels, n, s->out_size, size,
                             (char *)out + (size_t)(i * s->out_channels * s->out_size) * size);
    }
    recycle_free(in, in_bytes + out_bytes);
    return st;
}
