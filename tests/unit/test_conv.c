/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_conv.c - convolutions, against PyTorch 1.13.1's results and against plain loops.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"
#include "runtime/kernels/conv/conv.h"

/* Convolutions large enough for several blocks, of small integers (every order of summation gives
 * the same), against plain loops, on one and on several threads. */
static float naive_in[40000], naive_weight[40000], naive_out[60000], naive_want[60000];

static void naive_complete(conv_shape *s, bool transposed) {
    s->in_size = s->kernel_size = s->out_size = 1;
    for (int i = 0; i < CONV_DIMS; i++) {
        int64_t extent = s->dilation[i] * (s->kernel[i] - 1) + 1;
        s->out[i] = transposed ? (s->in[i] - 1) * s->stride[i] - 2 * s->pad[i] + extent
                               : (s->in[i] + 2 * s->pad[i] - extent) / s->stride[i] + 1;
        s->in_size *= s->in[i];
        s->kernel_size *= s->kernel[i];
        s->out_size *= s->out[i];
    }
}

/* Adds what one input plane contributes to one output plane. */
static void naive_planes(const conv_shape *s, bool transposed, const float *in, const float *w,
                         float *out) {
    const int64_t *far = transposed ? s->out : s->in, *near = transposed ? s->in : s->out;
    for (int64_t z = 0; z < near[0]; z++)
        for (int64_t y = 0; y < near[1]; y++)
            for (int64_t x = 0; x < near[2]; x++)
                for (int64_t k = 0; k < s->kernel_size; k++) {
                    int64_t fx = x * s->stride[2] - s->pad[2] + k % s->kernel[2] * s->dilation[2];
                    int64_t fy = y * s->stride[1] - s->pad[1] +
                                 k / s->kernel[2] % s->kernel[1] * s->dilation[1];
                    int64_t fz = z * s->stride[0] - s->pad[0] +
                                 k / s->kernel[2] / s->kernel[1] * s->dilation[0];
                    if (fx < 0 || fy < 0 || fz < 0 || fx >= far[2] || fy >= far[1] || fz >= far[0])
                        continue;
                    int64_t n = (z * near[1] + y) * near[2] + x,
                            f = (fz * far[1] + fy) * far[2] + fx;
                    out[transposed ? f : n] += in[transposed ? n : f] * w[k];
                }
}

static void naive_check(conv_shape s, bool transposed) {
    naive_complete(&s, transposed);
    int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups;
    int64_t total = s.batch * s.out_channels * s.out_size;
    assert_true(s.batch * s.in_channels * s.in_size <= 40000 && total <= 60000);
    for (int64_t i = 0; i < total; i++)
        naive_want[i] = (float)(i / s.out_size % s.out_channels % 5);
    float bias[64];
    for (int i = 0; i < 64; i++) bias[i] = (float)(i % 5);
    for (int64_t n = 0; n < s.batch; n++)
        for (int64_t g = 0; g < s.groups; g++)
            for (int64_t o = 0; o < co; o++)
                for (int64_t i = 0; i < ci; i++) {
                    int64_t w = transposed ? (g * ci + i) * co + o : (g * co + o) * ci + i;
                    naive_planes(&s, transposed,
                                 naive_in + (n * s.in_channels + g * ci + i) * s.in_size,
                                 naive_weight + w * s.kernel_size,
                                 naive_want + (n * s.out_channels + g * co + o) * s.out_size);
                }
    for (int threads = 1; threads <= 3; threads++) {
        pool_set_threads(threads);
        memset(naive_out, -1, sizeof naive_out);
        assert_int_equal((transposed ? conv_transpose_compute : conv_compute)(
                             NULL, &s, DT_FLOAT32, naive_in, naive_weight, bias, naive_out),
                         CTSC_OK);
        for (int64_t i = 0; i < total; i++) assert_true(naive_out[i] == naive_want[i]);
    }
    pool_set_threads(0);
}

static void naive_fill(void) {
    for (int i = 0; i < 40000; i++) {
        naive_in[i] = (float)(i * 7 % 11 - 5);
        naive_weight[i] = (float)(i * 5 % 7 - 3);
    }
}

static void test_against_loops(void **state) {
    (void)state;
    naive_fill();
    static const conv_shape shapes[] = {
        /* batch, groups, channels in and out, {input}, {kernel}, {output: computed}, {stride},
           {pad}, {dilation} */
        {2, 1, 3, 8, {1, 40, 41}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {1, 1, 3, 16, {1, 60, 61}, {1, 7, 7}, {0}, {1, 2, 2}, {0, 3, 3}, {1, 1, 1}, 0, 0, 0},
        {1, 1, 24, 16, {1, 20, 30}, {1, 1, 1}, {0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 0, 0, 0},
        {1, 1, 24, 16, {1, 20, 30}, {1, 1, 1}, {0}, {1, 2, 3}, {0, 0, 0}, {1, 1, 1}, 0, 0, 0},
        {2, 2, 8, 12, {1, 17, 19}, {1, 2, 4}, {0}, {1, 3, 1}, {0, 0, 2}, {1, 2, 3}, 0, 0, 0},
        {2, 1, 2, 4, {5, 12, 13}, {2, 3, 2}, {0}, {1, 2, 1}, {1, 0, 1}, {2, 1, 1}, 0, 0, 0},
        {1, 1, 40, 40, {1, 7, 7}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {1, 1, 2, 3, {1, 5, 3}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 9, 4}, {1, 9, 4}, 0, 0, 0},
        {2, 1, 2, 3, {1, 90, 7}, {1, 5, 3}, {0}, {1, 1, 1}, {0, 4, 2}, {1, 2, 2}, 0, 0, 0},
        {2, 6, 6, 6, {1, 30, 31}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {2, 6, 6, 12, {1, 30, 31}, {1, 5, 3}, {0}, {1, 2, 3}, {0, 2, 0}, {1, 1, 2}, 0, 0, 0},
        {1, 4, 4, 4, {4, 9, 10}, {3, 2, 2}, {0}, {2, 1, 2}, {1, 1, 0}, {1, 2, 1}, 0, 0, 0},
        {1, 3, 3, 3, {1, 1, 9}, {1, 1, 3}, {0}, {1, 1, 1}, {0, 0, 50}, {1, 1, 50}, 0, 0, 0},
        /* several small images at a time */
        {7, 1, 5, 9, {1, 4, 4}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {70, 1, 2, 6, {1, 5, 3}, {1, 3, 5}, {0}, {1, 1, 1}, {0, 2, 2}, {1, 2, 1}, 0, 0, 0},
        {9, 2, 4, 6, {1, 6, 7}, {1, 3, 2}, {0}, {1, 2, 2}, {0, 1, 0}, {1, 1, 1}, 0, 0, 0},
        {60, 1, 6, 10, {1, 8, 8}, {1, 1, 1}, {0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 0, 0, 0},
        {5, 1, 2, 3, {1, 3, 3}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 9, 4}, {1, 9, 4}, 0, 0, 0},
        {33, 1, 3, 4, {1, 1, 20}, {1, 1, 3}, {0}, {1, 1, 1}, {0, 0, 1}, {1, 1, 1}, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) naive_check(shapes[i], false);
    static const conv_shape transposed[] = {
        {2, 1, 6, 20, {1, 9, 10}, {1, 4, 4}, {0}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {1, 2, 6, 6, {1, 15, 14}, {1, 3, 2}, {0}, {1, 1, 3}, {0, 0, 1}, {1, 2, 1}, 0, 0, 0},
        {1, 1, 3, 2, {3, 40, 10}, {2, 2, 3}, {0}, {2, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {9, 1, 6, 8, {1, 4, 5}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {9, 2, 6, 8, {1, 4, 5}, {1, 3, 2}, {0}, {1, 1, 1}, {0, 0, 1}, {1, 2, 1}, 0, 0, 0},
        {9, 2, 6, 8, {1, 4, 5}, {1, 3, 4}, {0}, {1, 2, 3}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {9, 1, 6, 8, {1, 8, 9}, {1, 2, 2}, {0}, {1, 1, 1}, {0, 3, 2}, {1, 1, 1}, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof transposed / sizeof transposed[0]; i++)
        naive_check(transposed[i], true);
}

/* The gradient of a weight: naive_weight is the gradient of the result. */
static void grad_check(conv_shape s) {
    naive_complete(&s, false);
    int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups, n = 0;
    assert_true(s.batch * s.in_channels * s.in_size <= 40000 &&
                s.batch * s.out_channels * s.out_size <= 40000);
    for (int64_t o = 0; o < s.out_channels; o++)
        for (int64_t i = 0; i < ci; i++)
            for (int64_t k = 0; k < s.kernel_size; k++, n++) {
                float sum = 0;
                for (int64_t b = 0; b < s.batch; b++) {
                    const float *in = naive_in + (b * s.in_channels + o / co * ci + i) * s.in_size,
                                *g = naive_weight + (b * s.out_channels + o) * s.out_size;
                    for (int64_t p = 0; p < s.out_size; p++) {
                        int64_t x = p % s.out[2] * s.stride[2] - s.pad[2] +
                                    k % s.kernel[2] * s.dilation[2];
                        int64_t y = p / s.out[2] % s.out[1] * s.stride[1] - s.pad[1] +
                                    k / s.kernel[2] % s.kernel[1] * s.dilation[1];
                        int64_t z = p / s.out[2] / s.out[1] * s.stride[0] - s.pad[0] +
                                    k / s.kernel[2] / s.kernel[1] * s.dilation[0];
                        if (x >= 0 && y >= 0 && z >= 0 && x < s.in[2] && y < s.in[1] && z < s.in[0])
                            sum += g[p] * in[(z * s.in[1] + y) * s.in[2] + x];
                    }
                }
                naive_want[n] = sum;
            }
    for (int threads = 1; threads <= 3; threads++) {
        pool_set_threads(threads);
        memset(naive_out, -1, sizeof naive_out);
        assert_int_equal(conv_weight_grad(NULL, &s, DT_FLOAT32, naive_in, naive_weight, naive_out),
                         CTSC_OK);
        for (int64_t i = 0; i < n; i++) assert_true(naive_out[i] == naive_want[i]);
    }
    pool_set_threads(0);
}

static void test_weight_grad(void **state) {
    (void)state;
    naive_fill();
    static const conv_shape shapes[] = {
        {2, 1, 3, 8, {1, 40, 41}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {7, 1, 50, 9, {1, 4, 4}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {70, 1, 2, 6, {1, 5, 3}, {1, 3, 5}, {0}, {1, 1, 1}, {0, 2, 2}, {1, 2, 1}, 0, 0, 0},
        {9, 2, 4, 6, {1, 6, 7}, {1, 3, 2}, {0}, {1, 2, 2}, {0, 1, 0}, {1, 1, 1}, 0, 0, 0},
        {9, 4, 4, 4, {1, 6, 7}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, 0, 0},
        {1, 1, 24, 16, {1, 20, 30}, {1, 1, 1}, {0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 0, 0, 0},
        {2, 1, 2, 4, {5, 12, 13}, {2, 3, 2}, {0}, {1, 2, 1}, {1, 0, 1}, {2, 1, 1}, 0, 0, 0},
        {2, 2, 8, 12, {1, 17, 19}, {1, 2, 4}, {0}, {1, 3, 1}, {0, 0, 2}, {1, 2, 3}, 0, 0, 0},
        {3, 1, 2, 3, {1, 1, 300}, {1, 1, 9}, {0}, {1, 1, 2}, {0, 0, 4}, {1, 1, 3}, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) grad_check(shapes[i]);
}

static const opcase forward[] = {
    {"aten::conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} f32[2]{1 3} [1 1] [0 0] [1 1] 1",
     "f32[1,2,2,2]{-12 14 20 -2 13 1 -39 -5}"},
    {"aten::conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} None [2 2] [1 1] [1 1] 1",
     "f32[1,2,2,2]{7 -5 17 -3 -11 0 5 -8}"},
    {"aten::conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} f32[2]{1 3} [1 2] [2 0] [1 1] 1",
     "f32[1,2,6,1]{5 -17 -12 20 -22 -17 -14 10 13 -39 7 17}"},
    {"aten::conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,2,2]{0 3 1 3 -2 1 -2 1 3 -2 -1 0 -1 -3 -2 -3} None [1 1] [1 1] [2 2] 1",
     "f32[1,2,4,4]{-3 6 -4 0 4 4 1 1 -10 3 -8 -10 12 7 -4 4 0 -6 1 -4 1 -4 -20 -5 -4 -19 -8 1 -15"
     " 9 0 11}"},
    {"aten::conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[4,1,3,3]{0 -3 2 1 0 -3 3 -1 3 2 -3 0 2 1 -2 3 1 -3 2 2 -2 -1 3 3 3 1 1 -3 -1 -1 -3 -2 "
     "-2 1 0 2} f32[4]{0 3 2 2} [1 1] [1 1] [1 1] 2",
     "f32[1,4,4,4]{2 14 -7 6 2 14 9 14 -26 7 -12 0 6 6 -12 -2 12 1 2 5 -3 11 16 16 9 23 -7 10 3 7"
     " -8 5 6 6 17 5 18 1 14 5 16 13 12 23 5 26 13 5 0 -6 0 -8 5 -17 9 -13 -1 3 -2 4 -7 -12 -23 "
     "-7}"},
    {"aten::conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[4,1,3,3]{2 0 1 -3 1 -1 -3 0 0 1 3 -2 -2 2 -1 -3 0 -2 -3 1 -2 1 3 1 2 3 -2 0 -2 1 -3 2 "
     "-1 -1 -3 -3} f32[4]{-1 3 2 -1} [2 2] [1 1] [1 1] 2",
     "f32[1,4,2,2]{2 8 -2 -1 9 11 17 19 12 13 5 11 4 7 -15 -35}"},
    {"aten::conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[3,2,1,1]{1 -3 -3 -1 -2 -2} f32[3]{-2 1 2} [1 1] [0 0] [1 1] 1",
     "f32[1,3,4,4]{-10 2 -12 -6 -4 -3 -3 -3 1 -8 7 -8 -2 -11 -13 -8 -5 9 1 3 -3 4 -6 4 -8 -11 -6 "
     "-1 -9 8 4 -1 -6 10 -2 2 -2 4 -4 4 -4 -10 0 -2 -6 4 0 -2}"},
    {"aten::conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[3,2,1,1]{-1 -2 -2 0 3 1} f32[3]{-1 3 3} [2 2] [0 0] [1 1] 1",
     "f32[1,3,2,2]{-8 -6 -4 0 1 5 -3 -3 9 3 12 10}"},
    {"aten::conv2d",
     "f32[2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} f32[2]{1 3} [1 1] [0 0] [1 1] 1",
     "f32[2,2,2]{-12 14 20 -2 13 1 -39 -5}"},
    {"aten::conv2d",
     "f32[1,2,4,4]^{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]^{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 "
     "3 -3 -1 -3} f32[2]{1 3} [1 1] [0 0] [1 1] 1",
     "f32[1,2,2,2]{-12 14 20 -2 13 1 -39 -5}"},
    {"aten::conv2d",
     "f64[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f64[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} None [1 1] [0 0] [1 1] 1",
     "f64[1,2,2,2]{-13 13 19 -3 10 -2 -42 -8}"},
    {"aten::conv2d",
     "i64[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "i64[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} i64[2]{1 3} [1 1] [0 0] [1 1] 1",
     "i64[1,2,2,2]{-12 14 20 -2 13 1 -39 -5}"},
    {"aten::conv2d",
     "f32[0,2,4,4]{} f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 "
     "0 1 2 1 -1 -3 3 -3 -1 -3} None [1 1] [0 0] [1 1] 1",
     "f32[0,2,2,2]{}"},
    {"aten::conv2d",
     "u8[1,2,4,4]{1 254 255 255 1 255 2 255 3 3 3 0 3 253 254 0 3 254 3 1 1 0 1 0 0 3 254 2 1 2 3"
     " 2} u8[2,2,3,3]{254 1 0 1 2 2 1 2 254 254 254 255 0 0 253 255 255 2 1 1 253 255 0 254 1 1 0"
     " 1 2 1 255 253 3 253 255 253} None [1 1] [0 0] [1 1] 1",
     "u8[1,2,2,2]{243 13 19 253 10 254 214 248}"},
    {"aten::conv2d",
     "f32[1,4,3,3]{3 -3 -1 -2 2 -1 -1 3 3 -3 3 -2 1 3 -1 -2 -3 -3 -1 1 -3 1 2 -3 2 -2 3 -2 1 0 -2"
     " 1 -2 3 0 1} f32[4,2,2,2]{-3 -2 2 1 3 2 2 -2 -1 -1 0 1 0 3 0 -1 -1 -3 1 -3 1 -3 -2 2 0 -1 3"
     " 1 -3 -3 -2 -1} None [1 1] [0 0] [1 1] 2",
     "f32[1,4,2,2]{-12 27 14 12 8 -2 15 2 -6 14 -10 5 10 3 -1 2}"},
    {"aten::conv1d",
     "f32[2,2,5]{-3 0 0 2 3 0 2 3 0 3 0 -1 -1 0 2 -2 -2 2 3 2} f32[2,2,3]{-1 2 -1 -3 -3 -1 -3 0 0"
     " -2 1 1} f32[2]{3 -2} [1] [1] [1] 1",
     "f32[2,2,5]{-5 -3 -14 -8 -2 0 12 -3 -5 -5 12 12 -1 -15 -8 -6 2 10 2 -6}"},
    {"aten::conv1d",
     "f32[2,5]{-2 1 0 -2 3 -1 -2 3 3 2} f32[2,2,3]{-2 2 0 -1 1 -2 3 1 3 2 1 0} None [2] [0] [1] 1",
     "f32[2,2]{-1 -8 -9 16}"},
    {"aten::conv3d",
     "f32[1,1,2,3,3]{3 -3 -3 -1 3 1 3 2 3 3 -3 -3 0 -2 2 -3 1 -3} f32[2,1,2,2,2]{3 2 3 0 1 2 1 0 "
     "-1 1 -2 3 -3 3 1 -1} f32[2]{3 0} [1 1 1] [0 1 0] [1 1 1] 1",
     "f32[1,2,1,4,2]{15 -9 0 -14 8 23 15 10 -9 -3 -11 -7 -6 19 11 -11}"},
    {"aten::conv2d.padding",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{1 -2 -3 1 -3 -1 -1 0 -3 2 -3 -1 -3 3 1 3 3 -2 -1 -1 2 1 -1 -2 3 -3 -3 -1 -2 -2"
     " -2 -2 0 -3 -3 -3} None [1 1] 'same' [1 1] 1",
     "f32[1,2,4,4]{12 -10 25 -3 -17 18 -18 3 -3 2 -10 38 -19 1 15 -12 -6 -3 -10 -2 -35 -22 -17 7 "
     "-23 -5 -31 -20 -2 2 -20 -17}"},
    {"aten::conv2d.padding",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,2,2]{0 -3 -1 -2 0 -1 -2 1 1 0 -2 -2 -1 -2 2 -3} None [1 1] 'same' [1 1] 1",
     "f32[1,2,4,4]{7 -2 0 1 -3 -24 6 -4 -9 -1 -4 -4 7 3 -2 0 4 -11 -6 0 -21 -3 -15 3 -7 9 5 2 -2 "
     "-11 -9 -2}"},
    {"aten::conv1d.padding",
     "f32[1,2,5]{2 2 1 1 -3 1 -3 3 0 3} f32[1,2,3]{-2 -3 1 1 3 1} None [2] 'valid' [1] 1",
     "f32[1,1,2]{-14 -2}"},
    {"aten::conv2d.padding",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} None [2 2] 'same' [1 1] 1",
     "!padding='same' is not supported for strided convolutions"},
    {"aten::conv2d.padding",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} None [1 1] 'full' [1 1] 1",
     "!Invalid padding string: 'full'"},
    {"aten::_convolution",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} f32[2]{1 3} [1 1] [0 0] [1 1] false [0 0] 1 false false false false",
     "f32[1,2,2,2]{-12 14 20 -2 13 1 -39 -5}"},
    {"aten::_convolution.deprecated",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} f32[2]{1 3} [1] [0] [1] false [0] 1 false false false",
     "f32[1,2,2,2]{-12 14 20 -2 13 1 -39 -5}"},
    {"aten::convolution",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} None [1 1] [1 1] [1 1] false [0 0] 1",
     "f32[1,2,4,4]{7 -18 -5 -4 3 -13 13 -4 17 19 -3 -11 -6 -23 -20 -8 -11 7 0 -7 4 10 -2 7 5 -42 "
     "-8 -18 6 4 5 -2}"},
    {"aten::_convolution_mode",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} f32[2]{1 3} [1 1] 'same' [1 1] 1",
     "f32[1,2,4,4]{8 -17 -4 -3 4 -12 14 -3 18 20 -2 -10 -5 -22 -19 -7 -8 10 3 -4 7 13 1 10 8 -39 "
     "-5 -15 9 7 8 1}"},
    {"aten::thnn_conv2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} [3 3] f32[2]{1 3} [1 1] [1 1]",
     "f32[1,2,4,4]{8 -17 -4 -3 4 -12 14 -3 18 20 -2 -10 -5 -22 -19 -7 -8 10 3 -4 7 13 1 10 8 -39 "
     "-5 -15 9 7 8 1}"},
    {"aten::slow_conv_dilated2d",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,2,2]{-1 0 3 1 3 3 -2 3 -3 -2 2 0 0 -1 0 3} [2 2] f32[2]{1 3} [1 1] [1 1] [2 2]",
     "f32[1,2,4,4]{0 7 -3 5 7 24 9 24 4 20 -5 -10 10 -8 13 -8 3 8 1 7 18 -1 22 12 11 10 8 -7 -6 "
     "-10 -8 -6}"},
    {"aten::mkldnn_convolution",
     "f32[1,2,4,4]{1 -2 -1 -1 1 -1 2 -1 3 3 3 0 3 -3 -2 0 3 -2 3 1 1 0 1 0 0 3 -2 2 1 2 3 2} "
     "f32[2,2,3,3]{-2 1 0 1 2 2 1 2 -2 -2 -2 -1 0 0 -3 -1 -1 2 1 1 -3 -1 0 -2 1 1 0 1 2 1 -1 -3 3"
     " -3 -1 -3} f32[2]{1 3} [0 0] [1 1] [1 1] 1",
     "f32[1,2,2,2]{-12 14 20 -2 13 1 -39 -5}"},
    {"aten::conv_tbc",
     "f32[4,1,2]{-2 1 1 -1 -2 3 -3 3} f32[3,2,2]{1 -3 -3 -2 2 -2 3 2 -1 1 -1 0} f32[2]{0 -2} 1",
     "f32[4,1,2]{-1 5 -7 -4 9 4 -8 10}"},
    {"aten::conv_tbc",
     "f32[4,1,2]{-3 1 3 -2 -3 -1 3 1} f32[3,3,2]{0 1 -2 2 2 -2 0 -1 3 -3 2 1 3 2 2 0 1 0} "
     "f32[2]{3 -2} 1",
     "!Input dim 2 (input channels) is not == dim 1 in the weight tensor"},
};

static const opcase transposed_small[] = {
    {"aten::conv_transpose2d.input",
     "f32[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "f32[2]{1 3} [1 1] [0 0] [0 0] 1 [1 1]",
     "f32[1,2,3,4]{-5 -8 -5 2 -5 -7 5 7 -1 -2 1 -2 12 9 8 3 14 9 -2 3 4 0 6 18}"},
    {"aten::conv_transpose2d.input",
     "f32[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "None [2 2] [0 0] [0 0] 1 [1 1]",
     "f32[1,2,4,6]{-6 -3 -6 -6 0 1 -6 -15 0 -6 -2 -3 0 1 6 6 6 9 -2 -3 0 6 -6 -3 9 3 3 3 2 0 9 3 "
     "6 -6 1 3 2 0 -3 -3 3 -3 1 3 -6 6 -3 15}"},
    {"aten::conv_transpose2d.input",
     "f32[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "f32[2]{1 3} [2 1] [1 0] [1 0] 1 [1 1]",
     "f32[1,2,3,4]{-5 -14 -7 -2 1 8 13 10 -1 -2 1 -2 12 12 -2 6 5 0 3 0 4 0 6 18}"},
    {"aten::conv_transpose2d.input",
     "f32[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "None [1 1] [0 0] [0 0] 1 [2 2]",
     "f32[1,2,4,5]{-6 -6 -3 -6 1 0 6 7 6 9 -6 0 -17 -6 -3 -2 0 -9 6 -3 9 3 5 3 0 2 -3 3 -3 -3 9 6"
     " 4 -6 3 1 -6 0 6 15}"},
    {"aten::conv_transpose2d.input",
     "f32[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,1,2,2]{3 -1 -2 -2 -3 0 -1 2} f32[2]{1 3} [1 "
     "1] [0 0] [0 0] 2 [1 1]",
     "f32[1,2,3,4]{10 -2 4 0 -2 -6 8 -4 -1 -1 -5 -5 12 12 3 3 6 -9 -12 3 3 0 6 9}"},
    {"aten::conv_transpose2d.input",
     "f32[2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "f32[2]{1 3} [1 1] [0 0] [0 0] 1 [1 1]",
     "f32[2,3,4]{-5 -8 -5 2 -5 -7 5 7 -1 -2 1 -2 12 9 8 3 14 9 -2 3 4 0 6 18}"},
    {"aten::conv_transpose2d.input",
     "i64[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} i64[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "None [1 1] [0 0] [0 0] 1 [1 1]",
     "i64[1,2,3,4]{-6 -9 -6 1 -6 -8 4 6 -2 -3 0 -3 9 6 5 0 11 6 -5 0 1 -3 3 15}"},
    {"aten::conv_transpose2d.input",
     "f32[1,2,2,3]^{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,2,2,2]^{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 "
     "2} None [1 1] [0 0] [0 0] 1 [1 1]",
     "f32[1,2,3,4]{-6 -9 -6 1 -6 -8 4 6 -2 -3 0 -3 9 6 5 0 11 6 -5 0 1 -3 3 15}"},
    {"aten::conv_transpose2d.input",
     "f64[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f64[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "f64[2]{1 3} [1 1] [0 0] [0 0] 1 [1 1]",
     "f64[1,2,3,4]{-5 -8 -5 2 -5 -7 5 7 -1 -2 1 -2 12 9 8 3 14 9 -2 3 4 0 6 18}"},
    {"aten::conv_transpose1d",
     "f32[1,2,3]{1 -1 -1 2 -1 -3} f32[2,2,2]{-1 3 -2 2 -3 1 -1 3} None [2] [0] [1] 1 [1]",
     "f32[1,2,7]{-7 5 4 -4 10 -6 0 -4 8 3 -5 5 -11 0}"},
    {"aten::conv_transpose3d.input",
     "f32[1,1,1,2,2]{-3 -3 1 2} f32[1,2,2,2,2]{-1 2 0 -1 -3 1 -2 3 2 -2 -2 3 0 -2 -1 -3} None [1 "
     "1 1] [0 0 0] [0 0 0] 1 [1 1 1]",
     "f32[1,2,2,3,3]{3 -3 -6 -1 3 7 0 -1 -2 9 6 -3 3 -8 -7 -2 -1 6 -6 0 6 8 -1 -13 -2 -1 6 0 6 6 "
     "3 10 5 -1 -5 -6}"},
    {"aten::_convolution",
     "f32[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "f32[2]{1 3} [1 1] [0 0] [1 1] true [0 0] 1 false false false false",
     "f32[1,2,3,4]{-5 -8 -5 2 -5 -7 5 7 -1 -2 1 -2 12 9 8 3 14 9 -2 3 4 0 6 18}"},
    {"aten::slow_conv_transpose2d",
     "f32[1,2,2,3]{3 0 1 1 0 3 -3 -3 0 0 3 3} f32[2,2,2,2]{0 1 -2 -3 2 0 1 3 2 2 0 2 -1 -1 -2 2} "
     "[2 2] f32[2]{1 3} [2 2] [0 0] [0 0] [1 1]",
     "f32[1,2,4,6]{-5 -2 -5 -5 1 2 -5 -14 1 -5 -1 -2 1 2 7 7 7 10 -1 -2 1 7 -5 -2 12 6 6 6 5 3 12"
     " 6 9 -3 4 6 5 3 0 0 6 0 4 6 -3 9 0 18}"},
};

static const opcase refusals[] = {
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,4,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None "
     "[1 1] [0 0] [1 1] 1",
     "!Given groups=1, weight of size [2, 4, 3, 3], expected input[1, 3, 4, 4] to have 4 "
     "channels, but got 3 channels instead"},
    {"aten::conv2d",
     "f32[3,4]{1 1 1 1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [1 1] 1",
     "!Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [3, 4]"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [1 1] 1",
     "!expected stride to be a single integer value or a list of 1 values to match the "
     "convolution dimensions, but got stride=[1, 1]"},
    {"aten::conv2d",
     "f32[1,3,2,2]{1 1 1 1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [1 1]"
     " 1",
     "!Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't"
     " be greater than actual input size"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} f32[3]{1 1 1} [1 1] [0 0] [1 1] 1",
     "!Given weight of size [2, 3, 3, 3], expected bias to be 1-dimensional with 2 elements, but "
     "got bias of size [3] instead"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [-1 -1] [1 1] 1",
     "!negative padding is not supported"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [0 0] [0 0] [1 1] 1",
     "!non-positive stride is not supported"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [0 0] 1",
     "!dilation should be greater than zero, but got [0, 0]"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [1 1] 0",
     "!non-positive groups is not supported"},
    {"aten::conv2d",
     "f32[1,4,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} f32[3,2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 "
     "1] [0 0] [1 1] 2",
     "!Given groups=2, expected weight to be divisible by 2 at dimension 0, but got weight of "
     "size [[3, 2, 3, 3]] instead"},
    {"aten::conv2d",
     "f32[1,4,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} f32[1,2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1} None [1 1] [0 0] [1 1] 2",
     "!Given groups=2, expected weight to be at least 2 at dimension 0, but got weight of size "
     "[1, 2, 3, 3] instead"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1 1] [0 0] [1 1] 1",
     "!expected stride to be a single integer value or a list of 2 values to match the "
     "convolution dimensions, but got stride=[1, 1, 1]"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f64[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [1 1] 1",
     "!expected scalar type Float but found Double"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} f64[2]{1 1} [1 1] [0 0] [1 1] 1",
     "!Input type (float) and bias type (double) should be the same"},
    {"aten::conv2d",
     "b[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1} b[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [1 1] 1",
     "!\"slow_conv2d_cpu\" not implemented for 'Bool'"},
    {"aten::conv2d",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[2,3,0,3]{} None [1 1] [0 0] [1 1] 1",
     "!kernel size should be greater than zero, but got kernel_height: 0 kernel_width: 3"},
    {"aten::conv1d",
     "f32[1,3,2]{1 1 1 1 1 1} f32[2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1] [0] [1] 1",
     "!Calculated padded input size per channel: (2). Kernel size: (3). Kernel size can't be "
     "greater than actual input size"},
    {"aten::conv_transpose2d.input",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[4,2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None "
     "[1 1] [0 0] [0 0] 1 [1 1]",
     "!Given transposed=1, weight of size [4, 2, 3, 3], expected input[1, 3, 4, 4] to have 4 "
     "channels, but got 3 channels instead"},
    {"aten::conv_transpose2d.input",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[3,2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} f32[3]{1 1 1} [1 1] [0 0] [0 0] 1 [1 1]",
     "!Given transposed=1, weight of size [3, 2, 3, 3], expected bias to be 1-dimensional with 2 "
     "elements, but got bias of size [3] instead"},
    {"aten::conv_transpose2d.input",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[3,2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [0 0] 2 [1 1]",
     "!Given groups=2, expected weight to be divisible by 2 at dimension 0, but got weight of "
     "size [[3, 2, 3, 3]] instead"},
    {"aten::conv_transpose2d.input",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[3,2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [1 1] 1 [1 1]",
     "!output padding must be smaller than either stride or dilation, but got "
     "output_padding_height: 1 output_padding_width: 1 stride_height: 1 stride_width: 1 "
     "dilation_height: 1 dilation_width: 1"},
    {"aten::conv_transpose2d.input",
     "f32[1,3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1} f32[3,2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [-1 -1] 1 [1 1]",
     "!negative output_padding is not supported"},
    {"aten::conv_transpose2d.input",
     "f32[1,3,1,1]{1 1 1} f32[3,2,1,1]{1 1 1 1 1 1} None [1 1] [1 1] [0 0] 1 [1 1]",
     "!Given input size per channel: (1 x 1). Calculated output size per channel: (-1 x -1). "
     "Output size is too small"},
    {"aten::conv_transpose2d.input",
     "f32[3,4]{1 1 1 1 1 1 1 1 1 1 1 1} f32[3,2,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1 1] [0 0] [0 0] 1 "
     "[1 1]",
     "!Expected 3D (unbatched) or 4D (batched) input to conv_transpose2d, but got input of size: "
     "[3, 4]"},
    {"aten::conv_transpose1d", "f32[1,3,1]{1 1 1} f32[3,2,1]{1 1 1 1 1 1} None [1] [2] [0] 1 [1]",
     "!Given input size per channel: (1 x 1). Calculated output size per channel: (1 x -3). "
     "Output size is too small"},
    {"aten::_convolution",
     "f32[3,4,4]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1} f32[2,3,3,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
     " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} None [1] [0] [1] false [0] 1 false false "
     "false false",
     "!Expected 4-dimensional input for 4-dimensional weight [2, 3, 3, 3], but got 3-dimensional "
     "input of size [3, 4, 4] instead"},
};

static void test_forward(void **state) {
    (void)state;
    opcase_run(forward, sizeof forward / sizeof forward[0]);
}

static void test_transposed_small(void **state) {
    (void)state;
    opcase_run(transposed_small, sizeof transposed_small / sizeof transposed_small[0]);
}

static void test_refusals(void **state) {
    (void)state;
    opcase_run(refusals, sizeof refusals / sizeof refusals[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),     cmocka_unit_test(test_transposed_small),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_against_loops),
        cmocka_unit_test(test_weight_grad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
