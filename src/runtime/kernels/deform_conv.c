/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deform_conv.c - torchvision's deformable convolution: a convolution whose taps are moved by
 * offsets that the program computed, and optionally weighted by a mask.
 *
 * Method: the moved taps are read by bilinear interpolation into the columns of a matrix, one per
 * output position, which the weights are multiplied with. Source: J. Dai et al., "Deformable
 * Convolutional Networks", 2017.
 * Tests: tests/unit/test_vision.c
 */
#include "runtime/kernels/nn.h"

#include "runtime/kernels/gemm.h"

#include <math.h>

typedef struct deform_shape {
    int64_t batch, channels, size[2]; /* of the input */
    int64_t out_channels, weight_channels, kernel[2];
    int64_t stride[2], pad[2], dilation[2], out[2];
    int64_t groups, offset_groups;
    bool masked;
} deform_shape;

typedef struct deform_job {
    const deform_shape *s;
    dtype dt;
    const void *x, *offset, *mask; /* of one batch item */
    void *columns;                 /* [channels * kernel, out positions] */
} deform_job;

#define DEFORM_SAMPLE(T, FLOOR)                                                                    \
    static T deform_sample_##T(const T *x, int64_t height, int64_t width, T h, T w) {              \
        if (!(h > -1 && w > -1 && h < (T)height && w < (T)width)) return 0;                        \
        int64_t h0 = (int64_t)FLOOR(h), w0 = (int64_t)FLOOR(w), h1 = h0 + 1, w1 = w0 + 1;          \
        T lh = h - (T)h0, lw = w - (T)w0, hh = 1 - lh, hw = 1 - lw;                                \
        T a = h0 >= 0 && w0 >= 0 ? x[h0 * width + w0] : 0;                                         \
        T b = h0 >= 0 && w1 < width ? x[h0 * width + w1] : 0;                                      \
        T c = h1 < height && w0 >= 0 ? x[h1 * width + w0] : 0;                                     \
        T d = h1 < height && w1 < width ? x[h1 * width + w1] : 0;                                  \
        return hh * hw * a + hh * lw * b + lh * hw * c + lh * lw * d;                              \
    }
DEFORM_SAMPLE(float, floorf)
DEFORM_SAMPLE(double, floor)
#define deform_sample(x, height, width, h, w)                                                      \
    _Generic(*(x), float                                                                           \
             : deform_sample_float, double                                                         \
             : deform_sample_double)((const void *)(x), height, width, h, w)

/* A piece is a row of the columns: one channel and one tap. */
static void deform_range(void *ctx, int64_t begin, int64_t end) {
    const deform_job *j = ctx;
    const deform_shape *s = j->s;
    int64_t taps = s->kernel[0] * s->kernel[1], positions = s->out[0] * s->out[1];
    NN_WIDE(j->dt, {
        for (int64_t r = begin; r < end; r++) {
            int64_t channel = r / taps;
            int64_t tap = r % taps;
            int64_t group = channel / (s->channels / s->offset_groups);
            const T *x = (const T *)j->x + channel * s->size[0] * s->size[1];
            const T *dy = (const T *)j->offset + (group * taps + tap) * 2 * positions;
            const T *dx = dy + positions;
            const T *mask =
                s->masked ? (const T *)j->mask + (group * taps + tap) * positions : NULL;
            T *y = (T *)j->columns + r * positions;
            for (int64_t p = 0; p < positions; p++) {
                T h = (T)(p / s->out[1] * s->stride[0] - s->pad[0] +
                          tap / s->kernel[1] * s->dilation[0]);
                T w = (T)(p % s->out[1] * s->stride[1] - s->pad[1] +
                          tap % s->kernel[1] * s->dilation[1]);
                T v = deform_sample(x, s->size[0], s->size[1], h + dy[p], w + dx[p]);
                y[p] = mask ? mask[p] * v : v;
            }
        }
    });
}

/* ---- checks ---------------------------------------------------------------------------------- */

static ctsc_status deform_expect(op_ctx *cx, bool ok, const char *what) {
    if (ok) return CTSC_OK;
    return nn_fail(
        cx,
        "Expected %s to be true, but got false.  (Could this error message be improved?  If so, "
        "please report an enhancement request to PyTorch.)",
        what);
}

/* args[5..13]: stride, pad, dilation (h and w each), groups, offset_groups; args[13]: use_mask */
static ctsc_status deform_read(op_ctx *cx, const value *args, deform_shape *s) {
    const tensor *x = arg_tensor(&args[0]), *weight = arg_tensor(&args[1]);
    TRY(deform_expect(cx, x->ndim == 4, "input_c.ndimension() == 4"));
    TRY(deform_expect(cx, arg_tensor(&args[2])->ndim == 4, "offset_c.ndimension() == 4"));
    TRY(deform_expect(cx, !arg_bool(&args[13]) || arg_tensor(&args[3])->ndim == 4,
                      "mask_c.ndimension() == 4"));
    TRY(deform_expect(cx, weight->ndim == 4, "weight_c.ndimension() == 4"));
    int64_t *pairs[3] = {s->stride, s->pad, s->dilation};
    for (int i = 0; i < 6; i++) {
        int64_t v = arg_int(&args[5 + i]);
        if (v > INT32_MAX || v < INT32_MIN)
            return nn_fail(cx, "deform_conv2d: parameter %lld is out of range", (long long)v);
        pairs[i / 2][i % 2] = v;
    }
    s->groups = arg_int(&args[11]), s->offset_groups = arg_int(&args[12]),
    s->masked = arg_bool(&args[13]);
    s->batch = x->sizes[0], s->channels = x->sizes[1];
    s->out_channels = weight->sizes[0], s->weight_channels = weight->sizes[1];
    for (int i = 0; i < 2; i++) s->size[i] = x->sizes[2 + i], s->kernel[i] = weight->sizes[2 + i];
    return CTSC_OK;
}

static ctsc_status deform_check_numbers(op_ctx *cx, const deform_shape *s) {
    static const char *const names[] = {"weight", "stride", "dilation"};
    const int64_t *const pairs[] = {s->kernel, s->stride, s->dilation};
    for (int i = 0; i < 3; i++)
        if (pairs[i][0] <= 0 || pairs[i][1] <= 0)
            return nn_fail(cx, "%s_h: %lld %s_w: %lld", names[i], (long long)pairs[i][0], names[i],
                           (long long)pairs[i][1]);
    if (s->pad[0] < 0 || s->pad[1] < 0)
        return nn_fail(cx, "pad_h: %lld pad_w: %lld", (long long)s->pad[0], (long long)s->pad[1]);
    TRY(deform_expect(cx, s->groups > 0 && s->offset_groups > 0,
                      "n_weight_grps > 0 && n_offset_grps > 0"));
    TRY(deform_expect(cx,
                      s->channels % s->groups == 0 && s->weight_channels == s->channels / s->groups,
                      "weight_c.size(1) * n_weight_grps == input_c.size(1)"));
    TRY(deform_expect(cx, s->out_channels % s->groups == 0,
                      "weight_c.size(0) % n_weight_grps == 0"));
    return CTSC_OK;
}

static ctsc_status deform_check_sizes(op_ctx *cx, const value *args, const deform_shape *s) {
    const tensor *offset = arg_tensor(&args[2]), *mask = arg_tensor(&args[3]);
    int64_t taps = s->kernel[0] * s->kernel[1], expected;
    if (__builtin_mul_overflow(taps, s->offset_groups, &expected) || expected > INT64_MAX / 2)
        return nn_fail(cx, "offset.shape[1] is not valid");
    if (offset->sizes[1] != 2 * expected)
        return nn_fail(cx, "offset.shape[1] is not valid: got: %lld expected: %lld",
                       (long long)offset->sizes[1], (long long)(2 * expected));
    if (s->masked && mask->sizes[1] != expected)
        return nn_fail(cx, "mask.shape[1] is not valid: got: %lld expected: %lld",
                       (long long)mask->sizes[1], (long long)expected);
    TRY(deform_expect(cx, s->channels % s->offset_groups == 0,
                      "input_c.size(1) % n_offset_grps == 0"));
    if (offset->sizes[0] != s->batch) return nn_fail(cx, "invalid batch size of offset");
    if (offset->sizes[2] != s->out[0] || offset->sizes[3] != s->out[1])
        return nn_fail(cx, "offset output dims: (%lld, %lld) - computed output dims: (%lld, %lld)",
                       (long long)offset->sizes[2], (long long)offset->sizes[3],
                       (long long)s->out[0], (long long)s->out[1]);
    if ((mask->ndim ? mask->sizes[0] : 0) != s->batch)
        return nn_fail(cx, "invalid batch size of mask");
    if (s->masked && (mask->sizes[2] != s->out[0] || mask->sizes[3] != s->out[1]))
        return nn_fail(cx, "mask output dims: (%lld, %lld) - computed output dims: (%lld, %lld)",
                       (long long)mask->sizes[2], (long long)mask->sizes[3], (long long)s->out[0],
                       (long long)s->out[1]);
    if (s->out[0] <= 0 || s->out[1] <= 0)
        return nn_fail(cx, "Calculated output size too small - out_h: %lld out_w: %lld",
                       (long long)s->out[0], (long long)s->out[1]);
    return CTSC_OK;
}

static void deform_out_size(deform_shape *s) {
    for (int i = 0; i < 2; i++)
        s->out[i] = (s->size[i] + 2 * s->pad[i] - (s->dilation[i] * (s->kernel[i] - 1) + 1)) /
                        s->stride[i] +
                    1;
}

/* ---- running --------------------------------------------------------------------------------- */

/* One batch item: columns, then a product per group of channels; y starts out with the bias. */
static ctsc_status deform_item(op_ctx *cx, const deform_job *j, const tensor *weight, void *y) {
    const deform_shape *s = j->s;
    int64_t taps = s->kernel[0] * s->kernel[1], positions = s->out[0] * s->out[1];
    int64_t rows = s->out_channels / s->groups, inner = s->channels / s->groups * taps;
    size_t item = dtype_size(j->dt);
    pool_for(s->channels * taps, nn_grain(positions * 8), deform_range, (void *)j);
    for (int64_t g = 0; g < s->groups; g++) {
        gemm_matrix a = {(char *)tensor_data(weight) + (size_t)(g * rows * inner) * item, inner, 1};
        gemm_matrix b = {(char *)j->columns + (size_t)(g * inner * positions) * item, positions, 1};
        TRY(gemm_run(cx->diag, j->dt, rows, positions, inner, gemm_one, a, b, gemm_one,
                     (char *)y + (size_t)(g * rows * positions) * item, positions));
    }
    return CTSC_OK;
}

static void deform_fill_bias(const deform_shape *s, const tensor *bias, tensor *y) {
    int64_t positions = s->out[0] * s->out[1];
    NN_WIDE(y->dtype, {
        T *p = tensor_data(y);
        for (int64_t i = 0; i < y->numel; i++)
            p[i] = TENSOR_AT(bias, T)[i / positions % s->out_channels];
    });
}

static ctsc_status deform_run(op_ctx *cx, const deform_shape *s, tensor *const *in, tensor **out) {
    /* in: input, weight, offset, mask, bias - contiguous, of one dtype */
    int64_t sizes[4] = {s->batch, s->out_channels, s->out[0], s->out[1]}, wide[2];
    tensor *columns = NULL, *y = NULL;
    ctsc_status st;
    dtype dt = (dtype)in[0]->dtype;
    size_t item = dtype_size(dt);
    wide[0] = s->channels * s->kernel[0] * s->kernel[1], wide[1] = s->out[0] * s->out[1];
    gemm_setup();
    TRY(tensor_new(cx->diag, dt, 4, sizes, &y));
    TRY_OUT(tensor_new(cx->diag, dt, 2, wide, &columns));
    deform_fill_bias(s, in[4], y);
    for (int64_t b = 0; b < s->batch; b++) {
        deform_job j = {.s = s, .dt = dt, .columns = tensor_data(columns)};
        j.x = (char *)tensor_data(in[0]) + (size_t)(b * nn_product(in[0], 1, 4)) * item;
        j.offset = (char *)tensor_data(in[2]) + (size_t)(b * nn_product(in[2], 1, 4)) * item;
        if (s->masked)
            j.mask = (char *)tensor_data(in[3]) + (size_t)(b * nn_product(in[3], 1, 4)) * item;
        TRY_OUT(deform_item(cx, &j, in[1],
                            (char *)tensor_data(y) + (size_t)(b * nn_product(y, 1, 4)) * item));
    }
    *out = y, y = NULL;
out:
    tensor_unref(columns);
    tensor_unref(y);
    return st;
}

ctsc_status op_vision_deform_conv2d(op_ctx *cx, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]), *in[5] = {NULL}, *y = NULL;
    deform_shape s = {0};
    nn_text text;
    ctsc_status st = CTSC_OK;
    TRY(deform_read(cx, args, &s));
    TRY(deform_check_numbers(cx, &s));
    deform_out_size(&s);
    TRY(deform_check_sizes(cx, args, &s));
    if (arg_tensor(&args[4])->numel != s.out_channels)
        return nn_fail(cx, "shape '[1, %lld, 1, 1]' is invalid for input of size %lld",
                       (long long)s.out_channels, (long long)arg_tensor(&args[4])->numel);
    for (int i = 0; i < 5; i++) {
        const tensor *t = arg_tensor(&args[i]);
        if (i == 3 && !s.masked) continue;
        if (t->dtype != input->dtype)
            return nn_fail(cx, "expected scalar type %s but found %s (tensor of shape %s)",
                           dtype_table[input->dtype].ir_name, dtype_table[t->dtype].ir_name,
                           nn_shape(t, &text));
    }
    for (int i = 0; i < 5 && st == CTSC_OK; i++)
        if (i != 3 || s.masked)
            st = nn_input(cx, "deformable_im2col", arg_tensor(&args[i]), &in[i]);
    if (st == CTSC_OK) st = deform_run(cx, &s, in, &y);
    for (int i = 0; i < 5; i++) tensor_unref(in[i]);
    return st == CTSC_OK ? nn_finish(cx, args, y, (dtype)input->dtype, results) : st;
}
