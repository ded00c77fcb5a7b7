/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_conv.c - convolutions on a CUDA device.
 *
 * Depthwise convolutions have their own kernel, and so do transposed ones; cuDNN (dnn.c)
 * is tried for all others. Cases that it does not support are matrix products (gemm.c), if
 * a kernel of one element neither skips nor adds anything, and else go to kernels/conv.cu.
 * Tests: tests/unit/test_cuda_dense.c, test_cuda_dnn.c
 */
#include "runtime/cuda/dense.h"
#include "runtime/kernels/conv/conv.h"

DENSE_FILE(conv)

static bool conv_is_product(const conv_shape *s) {
    bool plain = s->kernel_size == 1;
    for (int i = 0; i < CONV_DIMS; i++)
        plain &= s->stride[i] == 1 && s->pad[i] == 0 && s->in[i] == s->out[i];
    return plain;
}

/* out[image, group] = weight[group] times input[image, group], added to the bias: that is one
 * number per row here. */
static ctsc_status conv_product(diag *d, const conv_shape *s, const tensor *input,
                                const tensor *weight, const tensor *bias, const epilogue *e,
                                tensor *out) {
    dense_epilogue after = epilogue_of(NULL, e);
    int64_t ci = s->in_channels / s->groups, co = s->out_channels / s->groups;
    int64_t batch[2] = {s->batch, s->groups}, row = s->out_size;
    tensor *a = NULL, *b = NULL, *wide = NULL;
    int64_t a_sizes[4] = {s->batch, s->groups, co, ci}, a_strides[4] = {0, co * ci, ci, 1};
    int64_t b_sizes[4] = {s->batch, s->groups, ci, row},
            b_strides[4] = {s->in_channels * row, ci * row, row, 1};
    ctsc_status st = tensor_view_raw(d, weight, 4, a_sizes, a_strides, weight->offset, &a);
    if (st == CTSC_OK) st = tensor_view_raw(d, input, 4, b_sizes, b_strides, input->offset, &b);
    if (st == CTSC_OK && bias) {
        int64_t strides[TENSOR_MAX_DIMS] = {0};
        strides[1] = bias->strides[0];
        st = tensor_view_raw(d, bias, out->ndim, out->sizes, strides, bias->offset, &wide);
        if (st == CTSC_OK) st = tensor_copy(d, out, wide);
    }
    if (st == CTSC_OK)
        st = dense_gemm_batch(d, a, b, 2, batch, gemm_one, bias ? gemm_one : gemm_zero, out,
                              &after);
    tensor_unref(a);
    tensor_unref(b);
    tensor_unref(wide);
    return st;
}

static int64_t conv_tiles(int64_t n) { return (n + CONV_TILE - 1) / CONV_TILE; }

static dense_conv conv_params(const conv_shape *s, const tensor *input, const tensor *weight,
                              const tensor *bias, const epilogue *e, const tensor *out) {
    dense_conv p = {.input = tensor_data(input),
                    .weight = tensor_data(weight),
                    .out = tensor_data(out),
                    .epilogue = epilogue_of(bias ? tensor_data(bias) : NULL, e),
                    .batch = s->batch,
                    .groups = s->groups,
                    .ci = s->in_channels / s->groups,
                    .co = s->out_channels / s->groups,
                    .in_size = s->in_size,
                    .kernel_size = s->kernel_size,
                    .out_size = s->out_size};
    for (int i = 0; i < CONV_DIMS; i++) {
        p.in[i] = s->in[i], p.kernel[i] = s->kernel[i], p.outs[i] = s->out[i];
        p.stride[i] = s->stride[i], p.pad[i] = s->pad[i], p.dilation[i] = s->dilation[i];
    }
    return p;
}

/* With the epilogue, or the epilogue as a kernel over the result. False: not done. */
static bool conv_by_dnn(diag *d, cuda *c, dtype dt, const dense_conv *p, ctsc_status *status) {
    if (dnn_conv(d, c, dt, p, status)) return true;
    if (!p->epilogue.bias && !p->epilogue.other && p->epilogue.activation == DENSE_PLAIN)
        return false;
    dense_conv plain = *p;
    plain.epilogue = (dense_epilogue){0};
    if (!dnn_conv(d, c, dt, &plain, status)) return false;
    if (*status == CTSC_OK)
        *status = dense_each(d, c, &cuda_file_conv, dense_defines(dt), "conv_epilogue",
                             p->batch * p->groups * p->co * p->out_size, p, sizeof *p);
    return true;
}

ctsc_status dense_conv_run(diag *d, const conv_shape *s, bool transposed, const tensor *input,
                           const tensor *weight, const tensor *bias, const epilogue *e,
                           tensor *out) {
    cuda *c = cuda_of(out);
    dtype dt = (dtype)out->dtype;
    const char *defines = dense_defines(dt);
    ctsc_status st;
    if (out->numel == 0) return CTSC_OK;
    dense_conv p = conv_params(s, input, weight, bias, e, out);
    if (!transposed && p.ci == 1 && p.groups > 1)
        return dense_each(d, c, &cuda_file_conv, defines, "conv_depthwise", out->numel, &p,
                          sizeof p);
    if (!transposed && conv_by_dnn(d, c, dt, &p, &st)) return st;
    if (!transposed && conv_is_product(s)) return conv_product(d, s, input, weight, bias, e, out);
    int64_t blocks = conv_tiles(p.co) * conv_tiles(s->batch * s->out_size) * s->groups;
    return dense_launch(d, c, &cuda_file_conv, defines, transposed ? "conv_transposed" : "conv",
                        blocks, CONV_THREADS, &p, sizeof p);
}
