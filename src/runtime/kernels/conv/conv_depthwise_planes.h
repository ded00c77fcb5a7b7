/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_depthwise_planes.h - the planes of a depthwise convolution, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

/* out[p] = bias + the sum of weight[k] * in[p + offsets[k]] */
static CONV_HOT void NAME(depthwise_sum)(const T *in, int64_t run, int64_t taps,
                                         const int64_t *offsets, const T *weight, T bias,
                                         T *restrict out) {
    for (int64_t p = 0; p < run; p += DEPTHWISE_CHUNK) {
        T sum[DEPTHWISE_CHUNK];
        for (int j = 0; j < DEPTHWISE_CHUNK; j++) sum[j] = bias;
        for (int64_t k = 0; k < taps; k++) {
            const T *from = in + p + offsets[k];
            T w = weight[k];
            for (int j = 0; j < DEPTHWISE_CHUNK; j++) sum[j] += w * from[j];
        }
        for (int j = 0; j < DEPTHWISE_CHUNK; j++) out[p + j] = sum[j];
    }
}

/* Copies one input row to the buffer: element x goes to phase and cell of x + pad. */
static void NAME(depthwise_row)(const depthwise_job *job, const T *row, T *to) {
    const conv_shape *s = job->s;
    int64_t stride = s->stride[2], pad = s->pad[2], cells = job->cells[2];
    for (int64_t phase = 0; phase < stride; phase++, to += job->part) {
        int64_t first = phase < pad ? (pad - phase + stride - 1) / stride : 0;
        int64_t end = (s->in[2] + pad - phase + stride - 1) / stride;
        if (end > cells) end = cells;
        if (first >= end) continue;
        const T *from = row + first * stride + phase - pad;
        if (stride == 1) memcpy(to + first, from, (size_t)(end - first) * sizeof(T));
        else
            for (int64_t c = first; c < end; c++, from += stride) to[c] = *from;
    }
}

static void NAME(depthwise_fill)(const depthwise_job *job, const T *in, T *buffer) {
    const conv_shape *s = job->s;
    for (int64_t z = 0; z < s->in[0]; z++)
        for (int64_t y = 0; y < s->in[1]; y++, in += s->in[2]) {
            int64_t pz = z + s->pad[0], py = y + s->pad[1];
            int64_t cz = pz / s->stride[0], cy = py / s->stride[1];
            if (cz >= job->cells[0] || cy >= job->cells[1]) continue;
            int64_t phase = pz % s->stride[0] * s->stride[1] + py % s->stride[1];
            NAME(depthwise_row)(job, in,
                                buffer + phase * s->stride[2] * job->part +
                                    (cz * job->cells[1] + cy) * job->cells[2]);
        }
}

/* Planes [begin, end) of batch * out_channels. */
static ctsc_status NAME(depthwise_planes)(const depthwise_job *job, int64_t begin, int64_t end) {
    const conv_shape *s = job->s;
    size_t parts = (size_t)(job->part * job->phases) + 2 * DEPTHWISE_CHUNK;
    T *buffer = mem_zalloc((parts + (size_t)job->run) * sizeof(T));
    if (!buffer) return CTSC_LIMIT;
    int64_t multiplier = s->out_channels / s->groups, filled = -1;
    for (int64_t i = begin; i < end; i++) {
        int64_t n = i / s->out_channels, c = i % s->out_channels;
        int64_t plane = n * s->groups + c / multiplier;
        const T *weight = (const T *)job->weight + c * s->kernel_size;
        T *out = (T *)job->out + i * s->out_size, *sums = buffer + parts;
        if (plane != filled)
            NAME(depthwise_fill)(job, (const T *)job->input + plane * s->in_size, buffer);
        filled = plane;
        NAME(depthwise_sum)(buffer, job->run, s->kernel_size, job->offsets, weight,
                            job->bias ? ((const T *)job->bias)[c] : 0, sums);
        for (int64_t z = 0; z < s->out[0]; z++)
            for (int64_t y = 0; y < s->out[1]; y++, out += s->out[2])
                memcpy(out, sums + (z * job->cells[1] + y) * job->cells[2],
                       (size_t)s->out[2] * sizeof(T));
    }
    mem_free(buffer);
    return CTSC_OK;
}

static void NAME(depthwise_chunk)(void *ctx, int64_t begin, int64_t end) {
    depthwise_job *job = ctx;
    ctsc_status st = NAME(depthwise_planes)(job, begin, end);
    if (st != CTSC_OK) atomic_store(&job->failed, (int)st);
}

#undef T
#undef NAME
