/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upsample_last.c - resizing images whose channels come last (engine/channels_last.h): by the
 * nearest neighbour, and bilinearly.
 *
 * Method: the tables are upsample.c's, an output pixel is a copy of an input pixel, or the weighted
 * sum of four: in a row first, as there, so that the bits are the same. Bilinearly for float32 on
 * the host; the rest goes to the operators with channels first.
 * Tests: tests/unit/test_upsample_last.c
 */
#include "runtime/kernels/engine/channels_last.h"
#include "runtime/kernels/vision/upsample.h"

#include <string.h>

typedef struct upsample_last_job {
    const upsample_table *h, *w;
    int64_t channels;
    size_t item;
    const char *x;
    char *y;
} upsample_last_job;

/* Rows [begin, end) of all images. One that reads what the one before it reads is a copy of it. */
static void upsample_last_nearest(void *ctx, int64_t begin, int64_t end) {
    const upsample_last_job *j = ctx;
    size_t pixel = (size_t)j->channels * j->item, row = pixel * (size_t)j->w->out,
           in_row = pixel * (size_t)j->w->in;
    for (int64_t r = begin; r < end; r++) {
        int64_t image = r / j->h->out, oh = r % j->h->out, at = j->h->at[oh];
        char *y = j->y + (size_t)r * row;
        const char *x = j->x + (size_t)(image * j->h->in + at) * in_row;
        if (r > begin && oh > 0 && j->h->at[oh - 1] == at) memcpy(y, y - row, row);
        else
            for (int64_t ow = 0; ow < j->w->out; ow++)
                memcpy(y + (size_t)ow * pixel, x + (size_t)j->w->at[ow] * pixel, pixel);
    }
}

/* One pixel: of two rows a and b, the weights of their columns v[0], v[1], and w[0],
 * w[1] of the rows. */
VECTOR_CLONES static void upsample_last_mix4(const float *const a[2], const float *const b[2],
                                             float *y, int64_t n, const float v[2],
                                             const float w[2]) {
    const float *a0 = a[0], *a1 = a[1], *b0 = b[0], *b1 = b[1];
    float v0 = v[0], v1 = v[1], w0 = w[0], w1 = w[1];
    for (int64_t i = 0; i < n; i++)
        y[i] = w0 * (v0 * a0[i] + v1 * a1[i]) + w1 * (v0 * b0[i] + v1 * b1[i]);
}

VECTOR_CLONES static void upsample_last_mix2(const float *a, const float *b, float *y, int64_t n,
                                             float v, float w) {
    for (int64_t i = 0; i < n; i++) y[i] = v * a[i] + w * b[i];
}

/* Dims that stay as they are have one tap. */
static void upsample_last_linear(void *ctx, int64_t begin, int64_t end) {
    const upsample_last_job *j = ctx;
    int64_t n = j->channels;
    int nh = j->h->taps, nw = j->w->taps;
    for (int64_t r = begin; r < end; r++) {
        int64_t image = r / j->h->out, oh = r % j->h->out;
        const float *rows[2], *v, *w = (const float *)j->h->weight + oh * nh;
        float *y = (float *)(void *)j->y + r * j->w->out * n;
        for (int i = 0; i < 2; i++)
            rows[i] = (const float *)(const void *)j->x +
                      (image * j->h->in + j->h->at[oh * nh + (i < nh ? i : 0)]) * j->w->in * n;
        for (int64_t ow = 0; ow < j->w->out; ow++, y += n) {
            const int64_t *at = j->w->at + ow * nw;
            v = (const float *)j->w->weight + ow * nw;
            const float *a[2] = {rows[0] + at[0] * n, rows[0] + at[nw - 1] * n},
                        *b[2] = {rows[1] + at[0] * n, rows[1] + at[nw - 1] * n};
            if (nh == 1 && nw == 1) memcpy(y, a[0], (size_t)n * sizeof *y);
            else if (nh == 1) upsample_last_mix2(a[0], a[1], y, n, v[0], v[1]);
            else if (nw == 1) upsample_last_mix2(a[0], b[0], y, n, w[0], w[1]);
            else upsample_last_mix4(a, b, y, n, v, w);
        }
    }
}

/* input: [N, H, W, C] */
static ctsc_status upsample_last_run(op_ctx *cx, tensor *input, const upsample_table *t,
                                     bool linear, value *results) {
    tensor *x, *y;
    int64_t sizes[4] = {input->sizes[0], t[1].out, t[2].out, input->sizes[3]};
    TRY(tensor_contiguous(cx->diag, input, &x));
    ctsc_status st = tensor_new(cx->diag, (dtype)x->dtype, 4, sizes, &y);
    if (st == CTSC_OK && y->numel) {
        upsample_last_job j = {&t[1],          &t[2],         sizes[3], dtype_size((dtype)x->dtype),
                               tensor_data(x), tensor_data(y)};
        st = op_for(cx, sizes[0] * sizes[1], kernel_grain(sizes[2] * sizes[3]),
                    linear ? upsample_last_linear : upsample_last_nearest, &j);
        if (st != CTSC_OK) tensor_unref(y);
    }
    tensor_unref(x);
    return st == CTSC_OK ? op_return_tensor(results, y) : st;
}

static ctsc_status upsample_last(op_ctx *cx, const value *args, bool linear, value *results) {
    tensor *input = arg_tensor(&args[0]), *first;
    if (tensor_device(input) != DEVICE_HOST || input->quantiser || input->ndim != 4 ||
        (linear && input->dtype != DT_FLOAT32))
        return channels_last_by_first(
            cx, linear ? "aten::upsample_bilinear2d.vec" : "aten::upsample_nearest2d.vec", 2,
            linear ? 4 : 3, args, results);
    upsample_table t[3] = {{0}};
    TRY(channels_first_view(cx->diag, input, 2, &first));
    ctsc_status st = upsample_tables_2d(cx, first, linear, args, t);
    tensor_unref(first);
    if (st == CTSC_OK) st = upsample_last_run(cx, input, t, linear, results);
    upsample_tables_free(t);
    return st;
}

ctsc_status op_upsample_nearest2d_channels_last(op_ctx *cx, const value *args, value *results) {
    return upsample_last(cx, args, false, results);
}

ctsc_status op_upsample_bilinear2d_channels_last(op_ctx *cx, const value *args, value *results) {
    return upsample_last(cx, args, true, results);
}
