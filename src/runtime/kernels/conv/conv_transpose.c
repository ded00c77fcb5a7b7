/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_transpose.c - computes transposed convolutions.
 *
 * Method: transposed weights times the image give, for every input position, what each kernel tap
 * adds to the output (the columns of im2col); col2im adds them up. The work is cut into groups of
 * output channels, so that no two threads add to the same element, and in each of them into blocks
 * of input positions, added in order. Small images are batched (conv_together.h).
 * Tests: tests/unit/test_conv.c
 */
#include "runtime/kernels/conv/conv.h"

#include "base/memory/recycle.h"
#include "runtime/kernels/conv/conv_together.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <string.h>

typedef struct convt_job {
    const conv_shape *s;
    dtype dt;
    const char *input, *weight, *bias;
    char *out;
    int64_t chunk, chunks; /* output channels taken together; of those, in a group */
    int64_t block;         /* input positions taken together */
    atomic_int failed;     /* a ctsc_status */
} convt_job;

#define T float
#define NAME(x) x##_float
#include "runtime/kernels/conv/conv_transpose_add.h"

#define T double
#define NAME(x) x##_double
#include "runtime/kernels/conv/conv_transpose_add.h"

#define T uint8_t
#define NAME(x) x##_uint8_t
#include "runtime/kernels/conv/conv_transpose_add.h"

#define T uint16_t
#define NAME(x) x##_uint16_t
#include "runtime/kernels/conv/conv_transpose_add.h"

#define T uint32_t
#define NAME(x) x##_uint32_t
#include "runtime/kernels/conv/conv_transpose_add.h"

#define T uint64_t
#define NAME(x) x##_uint64_t
#include "runtime/kernels/conv/conv_transpose_add.h"

typedef struct convt_ops {
    void (*add)(const conv_shape *, const int64_t *, int64_t, int64_t, const void *, void *);
    void (*start)(const void *, int64_t, int64_t, void *);
} convt_ops;

static convt_ops convt_ops_of(dtype dt) {
    if (dt == DT_FLOAT32) return (convt_ops){convt_add_float, convt_start_float};
    if (dt == DT_FLOAT64) return (convt_ops){convt_add_double, convt_start_double};
    switch (dtype_size(dt)) { /* sums that wrap around are the same, signed or not */
    case 1: return (convt_ops){convt_add_uint8_t, convt_start_uint8_t};
    case 2: return (convt_ops){convt_add_uint16_t, convt_start_uint16_t};
    case 4: return (convt_ops){convt_add_uint32_t, convt_start_uint32_t};
    default: return (convt_ops){convt_add_uint64_t, convt_start_uint64_t};
    }
}

/* Adds the columns of `channels` output planes, starting at out. */
static void convt_add_columns(const convt_job *job, convt_ops ops, int64_t channels, int64_t begin,
                              int64_t end, const char *cols, char *out) {
    const conv_shape *s = job->s;
    int64_t size = (int64_t)dtype_size(job->dt), tap[CONV_DIMS];
    for (int64_t c = 0; c < channels; c++, out += s->out_size * size)
        for (tap[0] = 0; tap[0] < s->kernel[0]; tap[0]++)
            for (tap[1] = 0; tap[1] < s->kernel[1]; tap[1]++)
                for (tap[2] = 0; tap[2] < s->kernel[2]; tap[2]++, cols += (end - begin) * size)
                    ops.add(s, tap, begin, end, cols, out);
}

/* Some output channels of one group of one image. */
static ctsc_status convt_item(const convt_job *job, diag *d, int64_t item, void *cols) {
    const conv_shape *s = job->s;
    convt_ops ops = convt_ops_of(job->dt);
    int64_t size = (int64_t)dtype_size(job->dt), index = item / job->chunks;
    int64_t n = index / s->groups, g = index % s->groups;
    int64_t ci = s->in_channels / s->groups, co = s->out_channels / s->groups;
    int64_t first = item % job->chunks * job->chunk;
    int64_t channels = co - first < job->chunk ? co - first : job->chunk;
    int64_t taps = s->kernel_size, weight_row = co * taps;
    const char *image = job->input + (n * s->in_channels + g * ci) * s->in_size * size;
    char *out = job->out + (n * s->out_channels + g * co + first) * s->out_size * size;
    for (int64_t c = 0; c < channels; c++)
        ops.start(job->bias, g * co + first + c, s->out_size, out + c * s->out_size * size);
    gemm_matrix a = {job->weight + (g * ci * weight_row + first * taps) * size, 1, weight_row};
    for (int64_t begin = 0; begin < s->in_size; begin += job->block) {
        int64_t end = s->in_size - begin < job->block ? s->in_size : begin + job->block;
        gemm_matrix b = {image + begin * size, s->in_size, 1};
        TRY(gemm_run(d, job->dt, channels * taps, end - begin, ci, gemm_one, a, b, gemm_zero, cols,
                     end - begin));
        convt_add_columns(job, ops, channels, begin, end, cols, out);
    }
    return CTSC_OK;
}

static ctsc_status convt_items(const convt_job *job, diag *d, int64_t begin, int64_t end) {
    size_t n;
    void *cols = NULL;
    if (!size_mul((size_t)job->chunk, (size_t)job->s->kernel_size, &n) ||
        !size_mul(n, (size_t)job->block, &n) || !size_mul(n, dtype_size(job->dt), &n) ||
        !(cols = mem_alloc(n)))
        return diag_no_memory(d);
    ctsc_status st = CTSC_OK;
    for (int64_t i = begin; st == CTSC_OK && i < end; i++) st = convt_item(job, d, i, cols);
    mem_free(cols);
    return st;
}

static void convt_chunk(void *ctx, int64_t begin, int64_t end) {
    convt_job *job = ctx;
    ctsc_status st = convt_items(job, NULL, begin, end);
    if (st != CTSC_OK) atomic_store(&job->failed, (int)st);
}

/* ---- as a convolution ------------------------------------------------------------------------ */

/* Of stride 1 it is the convolution with the kernels flipped, padded by what theirs lacks. */
static bool convt_as_conv(const conv_shape *s, conv_shape *t) {
    *t = *s;
    for (int i = 0; i < CONV_DIMS; i++) {
        t->pad[i] = s->dilation[i] * (s->kernel[i] - 1) - s->pad[i];
        if (s->stride[i] != 1 || t->pad[i] < 0) return false;
    }
    return true;
}

/* [in][out][taps] of each group as [out][in][taps], from the last tap to the first. */
static void convt_flip(const conv_shape *s, size_t size, const char *w, char *to) {
    int64_t ci = s->in_channels / s->groups, co = s->out_channels / s->groups;
    for (int64_t o = 0; o < s->out_channels; o++)
        for (int64_t i = 0; i < ci; i++)
            for (int64_t tap = s->kernel_size; tap-- > 0; to += size)
                memcpy(to,
                       w + (size_t)(((o / co * ci + i) * co + o % co) * s->kernel_size + tap) *
                               size,
                       size);
}

static ctsc_status convt_together(diag *d, const conv_shape *s, dtype dt, const void *input,
                                  const void *weight, const void *bias, void *out) {
    conv_shape t;
    size_t bytes;
    if (!convt_as_conv(s, &t))
        return conv_together(d, s, dt, input, weight, bias, out, conv_transpose_compute);
    char *flipped = NULL;
    if (size_mul((size_t)(s->in_channels * s->kernel_size), (size_t)(s->out_channels / s->groups),
                 &bytes) &&
        size_mul(bytes, dtype_size(dt), &bytes))
        flipped = recycle_alloc(bytes);
    if (!flipped) return diag_no_memory(d);
    convt_flip(s, dtype_size(dt), weight, flipped);
    ctsc_status st = conv_compute(d, &t, dt, input, flipped, bias, out);
    recycle_free(flipped, bytes);
    return st;
}

ctsc_status conv_transpose_compute(diag *d, const conv_shape *s, dtype dt, const void *input,
                                   const void *weight, const void *bias, void *out) {
    if (s->batch == 0 || s->out_size == 0 || s->out_channels == 0) return CTSC_OK;
    if (conv_together_fits(s)) return convt_together(d, s, dt, input, weight, bias, out);
    convt_job job = {.s = s, .dt = dt, .input = input, .weight = weight, .bias = bias, .out = out};
    int64_t co = s->out_channels / s->groups;
    job.chunk = co < CONVT_CHANNELS ? co : CONVT_CHANNELS;
    job.chunks = (co + job.chunk - 1) / job.chunk;
    job.block = CONVT_BLOCK / (job.chunk * s->kernel_size);
    if (job.block < CONVT_MIN_COLUMNS) job.block = CONVT_MIN_COLUMNS;
    if (job.block > s->in_size) job.block = s->in_size;
    if (!pool_for_limited(s->batch * s->groups * job.chunks, 1, convt_chunk, &job))
        return limits_fail(d);
    int failed = atomic_load(&job.failed);
    if (failed == CTSC_OK) return CTSC_OK;
    return failed == CTSC_LIMIT ? diag_no_memory(d)
                                : diag_fail(d, (ctsc_status)failed, "convolution failed");
}
