/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deform_conv.c - torchvision's deformable convolution: a convolution whose
 * taps are shifted by computed offsets, and optionally weighted by a mask.
 *
 * Method: the moved taps are read by bilinear interpolation into the columns of a matrix, one per
 * output position, which the weights are multiplied with. Source: J. Dai et al., "Deformable
 * Convolutional Networks", 2017.
 * Tests: tests/unit/test_vision.c
 */
#include "runtime/kernels/engine/wide.h"

#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/matmul/gemm.h"

#include <math.h>

#define TEMPLATE "runtime/kernels/vision/sampling.h"
#include "runtime/kernels/engine/each_real.h"

typedef struct deform_shape {
    int64_t batch, channels, size[2]; /* of the input */
    int64_t out_channels, weight_channels, kernel[2];
    int64_t stride[2], pad[2], dilation[2], out[2];
    int64_t groups, offset_groups;
    bool masked;
} deform_shape;

typedef struct deform_job {
    dtype dt;
    dense_deform p;
} deform_job;

/* A chunk is a row of the columns: one channel and one tap. */
static void deform_range(void *ctx, int64_t begin, int64_t end) {
    const deform_job *j = ctx;
    int64_t taps = j->p.kernel[0] * j->p.kernel[1];
    for (int64_t r = begin; r < end; r++)
        for (int64_t h = 0; h < j->p.out[0]; h++)
            for (int64_t w = 0; w < j->p.out[1]; w++) {
                if (j->dt == DT_FLOAT64) deform_tap_double(&j->p, r / taps, r % taps, h, w);
                else deform_tap_float(&j->p, r / taps, r % taps, h, w);
            }
}

/* ---- checks ---------------------------------------------------------------------------------- */

static ctsc_status deform_expect(op_ctx *cx, bool ok, const char *what) {
    if (ok) return CTSC_OK;
    return kernel_fail(
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
            return kernel_fail(cx, "deform_conv2d: parameter %lld is out of range", (long long)v);
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
            return kernel_fail(cx, "%s_h: %lld %s_w: %lld", names[i], (long long)pairs[i][0],
                               names[i], (long long)pairs[i][1]);
    if (s->pad[0] < 0 || s->pad[1] < 0)
        return kernel_fail(cx, "pad_h: %lld pad_w: %lld", (long long)s->pad[0],
                           (long long)s->pad[1]);
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
        return kernel_fail(cx, "offset.shape[1] is not valid");
    if (offset->sizes[1] != 2 * expected)
        return kernel_fail(cx, "offset.shape[1] is not valid: got: %lld expected: %lld",
                           (long long)offset->sizes[1], (long long)(2 * expected));
    if (s->masked && mask->sizes[1] != expected)
        return kernel_fail(cx, "mask.shape[1] is not valid: got: %lld expected: %lld",
                           (long long)mask->sizes[1], (long long)expected);
    TRY(deform_expect(cx, s->channels % s->offset_groups == 0,
                      "input_c.size(1) % n_offset_grps == 0"));
    if (offset->sizes[0] != s->batch) return kernel_fail(cx, "invalid batch size of offset");
    if (offset->sizes[2] != s->out[0] || offset->sizes[3] != s->out[1])
        return kernel_fail(cx,
                           "offset output dims: (%lld, %lld) - computed output dims: (%lld, %lld)",
                           (long long)offset->sizes[2], (long long)offset->sizes[3],
                           (long long)s->out[0], (long long)s->out[1]);
    if ((mask->ndim ? mask->sizes[0] : 0) != s->batch)
        return kernel_fail(cx, "invalid batch size of mask");
    if (s->masked && (mask->sizes[2] != s->out[0] || mask->sizes[3] != s->out[1]))
        return kernel_fail(cx,
                           "mask output dims: (%lld, %lld) - computed output dims: (%lld, %lld)",
                           (long long)mask->sizes[2], (long long)mask->sizes[3],
                           (long long)s->out[0], (long long)s->out[1]);
    if (s->out[0] <= 0 || s->out[1] <= 0)
        return kernel_fail(cx, "Calculated output size too small - out_h: %lld out_w: %lld",
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

static ctsc_status deform_columns(op_ctx *cx, const deform_shape *s, const tensor *columns,
                                  const dense_deform *p) {
    deform_job j = {.dt = (dtype)columns->dtype, .p = *p};
    if (tensor_cuda(columns)) return on_device->deform(cx->diag, columns, p);
    return op_for(cx, columns->sizes[0], kernel_grain(s->out[0] * s->out[1] * 8), deform_range, &j);
}

/* One product per group of channels; y starts out with the bias. */
static ctsc_status deform_products(op_ctx *cx, const deform_shape *s, const tensor *weight,
                                   const tensor *columns, void *y) {
    int64_t positions = s->out[0] * s->out[1], rows = s->out_channels / s->groups,
            inner = columns->sizes[0] / s->groups;
    dtype dt = (dtype)columns->dtype;
    size_t item = dtype_size(dt);
    for (int64_t g = 0; g < s->groups; g++) {
        gemm_matrix a = {(char *)tensor_data(weight) + (size_t)(g * rows * inner) * item, inner, 1,
                         tensor_cuda(weight)};
        gemm_matrix b = {(char *)tensor_data(columns) + (size_t)(g * inner * positions) * item,
                         positions, 1, tensor_cuda(columns)};
        TRY(gemm_run(cx->diag, dt, rows, positions, inner, gemm_one, a, b, gemm_one,
                     (char *)y + (size_t)(g * rows * positions) * item, positions));
    }
    return CTSC_OK;
}

static ctsc_status deform_fill_bias(op_ctx *cx, const tensor *bias, tensor *y) {
    const int64_t shape[] = {bias->numel, 1, 1};
    tensor *column;
    TRY(tensor_view(cx->diag, bias, 3, shape, &column));
    ctsc_status st = tensor_copy(cx->diag, y, column);
    tensor_unref(column);
    return st;
}

/* Batch item b of t, whose elements have `item` bytes. */
static void *deform_item(const tensor *t, int64_t b, size_t item) {
    return (char *)tensor_data(t) + (size_t)(b * sizes_product(t, 1, 4)) * item;
}

static ctsc_status deform_run(op_ctx *cx, const deform_shape *s, tensor *const *in, tensor **out) {
    /* in: input, weight, offset, mask, bias - contiguous, of one dtype */
    int64_t sizes[4] = {s->batch, s->out_channels, s->out[0], s->out[1]}, wide[2];
    tensor *columns = NULL, *y = NULL;
    ctsc_status st;
    dtype dt = (dtype)in[0]->dtype;
    size_t item = dtype_size(dt);
    dense_deform p = {.channels = s->channels, .offset_groups = s->offset_groups};
    for (int i = 0; i < 2; i++) {
        p.size[i] = s->size[i], p.kernel[i] = s->kernel[i], p.stride[i] = s->stride[i];
        p.pad[i] = s->pad[i], p.dilation[i] = s->dilation[i], p.out[i] = s->out[i];
    }
    wide[0] = s->channels * s->kernel[0] * s->kernel[1], wide[1] = s->out[0] * s->out[1];
    gemm_setup();
    TRY(tensor_new_on(cx->diag, tensor_device(in[0]), dt, 4, sizes, &y));
    TRY_OUT(tensor_new_on(cx->diag, tensor_device(in[0]), dt, 2, wide, &columns));
    TRY_OUT(deform_fill_bias(cx, in[4], y));
    p.columns = tensor_data(columns);
    for (int64_t b = 0; b < s->batch; b++) {
        p.x = deform_item(in[0], b, item), p.offset = deform_item(in[2], b, item);
        p.mask = s->masked ? deform_item(in[3], b, item) : NULL;
        TRY_OUT(deform_columns(cx, s, columns, &p));
        TRY_OUT(deform_products(cx, s, in[1], columns, deform_item(y, b, item)));
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
    sizes_text text;
    ctsc_status st = CTSC_OK;
    TRY(deform_read(cx, args, &s));
    TRY(deform_check_numbers(cx, &s));
    deform_out_size(&s);
    TRY(deform_check_sizes(cx, args, &s));
    if (arg_tensor(&args[4])->numel != s.out_channels)
        return kernel_fail(cx, "shape '[1, %lld, 1, 1]' is invalid for input of size %lld",
                           (long long)s.out_channels, (long long)arg_tensor(&args[4])->numel);
    for (int i = 0; i < 5; i++) {
        const tensor *t = arg_tensor(&args[i]);
        if (i == 3 && !s.masked) continue;
        if (t->dtype != input->dtype)
            return kernel_fail(cx, "expected scalar type %s but found %s (tensor of shape %s)",
                               dtype_table[input->dtype].ir_name, dtype_table[t->dtype].ir_name,
                               shape_print(t, &text));
    }
    for (int i = 0; i < 5 && st == CTSC_OK; i++)
        if (i != 3 || s.masked)
            st = wide_input(cx, "deformable_im2col", arg_tensor(&args[i]), &in[i]);
    if (st == CTSC_OK) st = deform_run(cx, &s, in, &y);
    for (int i = 0; i < 5; i++) tensor_unref(in[i]);
    return st == CTSC_OK ? wide_finish(cx, args, y, (dtype)input->dtype, results) : st;
}
