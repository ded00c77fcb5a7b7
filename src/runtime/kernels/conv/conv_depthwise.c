/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_depthwise.c - computes depthwise convolutions: one input channel per group.
 *
 * Method: matrix products would be one row thin, so each output plane is summed directly.
 * The input plane is copied to a buffer with its padding, and split by stride: the values
 * that the outputs of one tap read are contiguous there, and a whole output plane (rows as
 * wide as the buffer's; the surplus is dropped) is one run of sums over taps at constant
 * offsets, which stay in vector registers. Alternative: loops over output rows; their runs
 * are short where planes are small, as late in networks. Tests: tests/unit/test_conv.c
 */
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <string.h>

enum { DEPTHWISE_MAX_TAPS = 512 };

typedef struct depthwise_job {
    const conv_shape *s;
    const char *input, *weight, *bias;
    char *out;
    /* extent of a part of the buffer; there is one per phase of the strides */
    int64_t cells[CONV_DIMS];
    int64_t part, phases; /* elements of a part; parts */
    int64_t run;          /* outputs computed, surplus included; a multiple of the chunk */
    int64_t offsets[DEPTHWISE_MAX_TAPS];
    atomic_int failed; /* a ctsc_status */
} depthwise_job;

/* Lays the buffer out. False if it would be out of proportion (great dilations), or taps too many.
 */
static bool depthwise_plan(const conv_shape *s, depthwise_job *job) {
    job->s = s;
    job->part = job->phases = 1;
    if (s->kernel_size > DEPTHWISE_MAX_TAPS) return false;
    for (int i = 0; i < CONV_DIMS; i++) {
        if (s->stride[i] > 16) return false;
        job->cells[i] = s->out[i] + (s->kernel[i] - 1) * s->dilation[i] / s->stride[i] + 1;
        if (job->cells[i] > 4 * (s->out[i] + s->in[i]) + 16) return false;
        job->part *= job->cells[i];
        job->phases *= s->stride[i];
    }
    if (job->part > 8 * (s->in_size + s->out_size) + 4096) return false;
    int64_t row = job->cells[2], slice = job->cells[1] * row;
    int64_t last = (s->out[0] - 1) * slice + (s->out[1] - 1) * row + s->out[2];
    job->run = (last + DEPTHWISE_CHUNK - 1) / DEPTHWISE_CHUNK * DEPTHWISE_CHUNK;
    int n = 0;
    int64_t tap[CONV_DIMS];
    for (tap[0] = 0; tap[0] < s->kernel[0]; tap[0]++)
        for (tap[1] = 0; tap[1] < s->kernel[1]; tap[1]++)
            for (tap[2] = 0; tap[2] < s->kernel[2]; tap[2]++) {
                int64_t phase = 0, cell = 0;
                for (int i = 0; i < CONV_DIMS; i++) {
                    int64_t at = tap[i] * s->dilation[i];
                    phase = phase * s->stride[i] + at % s->stride[i];
                    cell = cell * job->cells[i] + at / s->stride[i];
                }
                job->offsets[n++] = phase * job->part + cell;
            }
    return true;
}

#define T float
#define NAME(x) x##_float
#include "runtime/kernels/conv/conv_depthwise_planes.h"

#define T double
#define NAME(x) x##_double
#include "runtime/kernels/conv/conv_depthwise_planes.h"

ctsc_status conv_depthwise(diag *d, const conv_shape *s, dtype dt, const void *input,
                           const void *weight, const void *bias, void *out, bool *done) {
    depthwise_job job;
    *done = false;
    if (s->groups == 1 || s->groups != s->in_channels || (dt != DT_FLOAT32 && dt != DT_FLOAT64))
        return CTSC_OK;
    if (!depthwise_plan(s, &job)) return CTSC_OK;
    job.input = input;
    job.weight = weight;
    job.bias = bias;
    job.out = out;
    atomic_init(&job.failed, CTSC_OK);
    *done = true;
    int64_t grain = 131072 / (job.run * (s->kernel_size + 4) + 1) + 1;
    if (!pool_for_limited(s->batch * s->out_channels, grain,
                          dt == DT_FLOAT32 ? depthwise_chunk_float : depthwise_chunk_double, &job))
        return limits_fail(d);
    return atomic_load(&job.failed) == CTSC_OK ? CTSC_OK : diag_no_memory(d);
}
