/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_depthwise.c - computes depthwise convolutions: one input channel per group.
 *
 * Method: matrix products would be one row thin, so each output plane is summed directly. The input
 * plane is copied to a buffer with its padding, and split by stride: what the outputs of one tap
 * read lies together there, and a whole output plane (rows as wide as the buffer's; the surplus is
 * dropped) is one run of sums over taps at constant offsets, which stay in vector registers.
 * Alternative: loops over output rows; their runs are short where planes are small, as late in
 * networks. Tests: tests/unit/test_conv.c
 */
#include "runtime/kernels/conv/conv.h"

#include <string.h>

enum { DEPTHWISE_CHUNK = 32, DEPTHWISE_MAX_TAPS = 512 };

typedef struct depthwise_job {
    const conv_shape *s;
    const char *input, *weight, *bias;
    char *out;
    int64_t cells[CONV_DIMS]; /* extent of a part of the buffer; there is one per phase of the
                                 strides */
    int64_t part, phases;     /* elements of a part; parts */
    int64_t run;              /* outputs computed, surplus included; a multiple of the chunk */
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

#define DEPTHWISE(T)                                                                               \
    /* out[p] = bias + the sum of weight[k] * in[p + offsets[k]] */                                \
    static CONV_HOT void depthwise_sum_##T(const T *in, int64_t run, int64_t taps,                 \
                                           const int64_t *offsets, const T *weight, T bias,        \
                                           T *restrict out) {                                      \
        for (int64_t p = 0; p < run; p += DEPTHWISE_CHUNK) {                                       \
            T sum[DEPTHWISE_CHUNK];                                                                \
            for (int j = 0; j < DEPTHWISE_CHUNK; j++) sum[j] = bias;                               \
            for (int64_t k = 0; k < taps; k++) {                                                   \
                const T *from = in + p + offsets[k];                                               \
                T w = weight[k];                                                                   \
                for (int j = 0; j < DEPTHWISE_CHUNK; j++) sum[j] += w * from[j];                   \
            }                                                                                      \
            for (int j = 0; j < DEPTHWISE_CHUNK; j++) out[p + j] = sum[j];                         \
        }                                                                                          \
    }                                                                                              \
    /* Copies one input row to the buffer: element x goes to phase and cell of x + pad. */         \
    static void depthwise_row_##T(const depthwise_job *job, const T *row, T *to) {                 \
        const conv_shape *s = job->s;                                                              \
        int64_t stride = s->stride[2], pad = s->pad[2], cells = job->cells[2];                     \
        for (int64_t phase = 0; phase < stride; phase++, to += job->part) {                        \
            int64_t first = phase < pad ? (pad - phase + stride - 1) / stride : 0;                 \
            int64_t end = (s->in[2] + pad - phase + stride - 1) / stride;                          \
            if (end > cells) end = cells;                                                          \
            if (first >= end) continue;                                                            \
            const T *from = row + first * stride + phase - pad;                                    \
            if (stride == 1)                                                                       \
                memcpy(to + first, from, (size_t)(end - first) * sizeof(T));                       \
            else                                                                                   \
                for (int64_t c = first; c < end; c++, from += stride) to[c] = *from;               \
        }                                                                                          \
    }                                                                                              \
    static void depthwise_fill_##T(const depthwise_job *job, const T *in, T *buffer) {             \
        const conv_shape *s = job->s;                                                              \
        for (int64_t z = 0; z < s->in[0]; z++)                                                     \
            for (int64_t y = 0; y < s->in[1]; y++, in += s->in[2]) {                               \
                int64_t pz = z + s->pad[0], py = y + s->pad[1];                                    \
                int64_t cz = pz / s->stride[0], cy = py / s->stride[1];                            \
                if (cz >= job->cells[0] || cy >= job->cells[1]) continue;                          \
                int64_t phase = pz % s->stride[0] * s->stride[1] + py % s->stride[1];              \
                depthwise_row_##T(job, in,                                                         \
                                  buffer + phase * s->stride[2] * job->part +                      \
                                      (cz * job->cells[1] + cy) * job->cells[2]);                  \
            }                                                                                      \
    }                                                                                              \
    /* Planes [begin, end) of batch * out_channels. */                                             \
    static ctsc_status depthwise_planes_##T(const depthwise_job *job, int64_t begin,               \
                                            int64_t end) {                                         \
        const conv_shape *s = job->s;                                                              \
        size_t parts = (size_t)(job->part * job->phases) + 2 * DEPTHWISE_CHUNK;                    \
        T *buffer = mem_zalloc((parts + (size_t)job->run) * sizeof(T));                            \
        if (!buffer) return CTSC_LIMIT;                                                            \
        int64_t multiplier = s->out_channels / s->groups, filled = -1;                             \
        for (int64_t i = begin; i < end; i++) {                                                    \
            int64_t n = i / s->out_channels, c = i % s->out_channels;                              \
            int64_t plane = n * s->groups + c / multiplier;                                        \
            const T *weight = (const T *)job->weight + c * s->kernel_size;                         \
            T *out = (T *)job->out + i * s->out_size, *sums = buffer + parts;                      \
            if (plane != filled)                                                                   \
                depthwise_fill_##T(job, (const T *)job->input + plane * s->in_size, buffer);       \
            filled = plane;                                                                        \
            depthwise_sum_##T(buffer, job->run, s->kernel_size, job->offsets, weight,              \
                              job->bias ? ((const T *)job->bias)[c] : 0, sums);                    \
            for (int64_t z = 0; z < s->out[0]; z++)                                                \
                for (int64_t y = 0; y < s->out[1]; y++, out += s->out[2])                          \
                    memcpy(out, sums + (z * job->cells[1] + y) * job->cells[2],                    \
                           (size_t)s->out[2] * sizeof(T));                                         \
        }                                                                                          \
        mem_free(buffer);                                                                          \
        return CTSC_OK;                                                                            \
    }                                                                                              \
    static void depthwise_piece_##T(void *ctx, int64_t begin, int64_t end) {                       \
        depthwise_job *job = ctx;                                                                  \
        ctsc_status st = depthwise_planes_##T(job, begin, end);                                    \
        if (st != CTSC_OK) atomic_store(&job->failed, (int)st);                                    \
    }

DEPTHWISE(float)
DEPTHWISE(double)

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
    if (!pool_for_limited(s->batch * s->out_channels, grain, dt == DT_FLOAT32 ? depthwise_piece_float : depthwise_piece_double, &job))
        return limits_fail(d);
    return atomic_load(&job.failed) == CTSC_OK ? CTSC_OK : diag_no_memory(d);
}
