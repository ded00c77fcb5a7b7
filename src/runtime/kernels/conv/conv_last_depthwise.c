/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last_depthwise.c - see conv_last_depthwise.h: images are cut into bands of rows and blocks
 * of channels, which threads may do in any order. Activations that are bounds are applied in
 * registers, others to whole rows.
 * Tests: tests/unit/test_conv_last_depthwise.c
 */
#include "runtime/kernels/conv/conv_last_depthwise.h"

#include "runtime/kernels/engine/kernel_tuning.h"

#include <math.h>

typedef struct depthwise_last_job {
    const depthwise_kernels *k;
    const conv_shape *s;
    const float *in, *packed, *bias;
    const dense_epilogue *after;
    float *out, low, high;
    int64_t pitch; /* of out's pixels */
    bool bounds;   /* the epilogue is low and high */
    /* of rows in a plane, of channels; how many, and of what size (the last block: what is left) */
    int64_t bands, band, blocks, block;
} depthwise_last_job;

/* One chunk of an image: output rows [begin, end) of plane z of an item, channels [first,
 * first + channels). */
typedef struct depthwise_chunk {
    int64_t item, z, begin, end, first, channels;
} depthwise_chunk;

static int64_t depthwise_row_taps(const conv_shape *s) { return s->kernel[0] * s->kernel[1]; }

/* The taps of dim i that lie inside for output o: [*begin, *end). Returns where tap 0 is. */
static int64_t depthwise_valid(const conv_shape *s, int i, int64_t o, int64_t *begin,
                               int64_t *end) {
    int64_t d = s->dilation[i], x = o * s->stride[i] - s->pad[i], room = s->in[i] - x;
    *begin = x < 0 ? (-x + d - 1) / d : 0;
    *end = room <= 0 ? 0 : (room + d - 1) / d;
    if (*end > s->kernel[i]) *end = s->kernel[i];
    return x;
}

/* The input rows that output rows y and, if rows is 2, y + 1 are made of. Both are walked in the
 * order of their taps; which rows they share follows from where they are. */
static int64_t depthwise_lines(const depthwise_last_job *j, const depthwise_chunk *p, int64_t y,
                               int rows, depthwise_line *lines) {
    const conv_shape *s = j->s;
    int64_t tap[2], end[2], at[2], z_begin, z_end,
        n = 0, z0 = depthwise_valid(s, 0, p->z, &z_begin, &z_end), row = s->in[2] * s->in_channels;
    for (int64_t kz = z_begin; kz < z_end; kz++) {
        const float *plane =
            j->in + (p->item * s->in[0] + z0 + kz * s->dilation[0]) * s->in[1] * row + p->first;
        const float *weight = j->packed + kz * s->kernel[1] * s->kernel[2] * s->in_channels +
                              p->first;
        end[1] = tap[1] = at[1] = 0;
        for (int r = 0; r < rows; r++) at[r] = depthwise_valid(s, 1, y + r, &tap[r], &end[r]);
        while (tap[0] < end[0] || tap[1] < end[1]) {
            int64_t in[2], first = INT64_MAX;
            for (int r = 0; r < 2; r++) {
                in[r] = tap[r] < end[r] ? at[r] + tap[r] * s->dilation[1] : INT64_MAX;
                if (in[r] < first) first = in[r];
            }
            lines[n].in = plane + first * row;
            for (int r = 0; r < 2; r++)
                lines[n].weight[r] = in[r] == first
                                         ? weight + tap[r]++ * s->kernel[2] * s->in_channels
                                         : NULL;
            n++;
        }
    }
    return n;
}

/* The element of the result that column 0 of row y has for the chunk's first channel. */
static int64_t depthwise_at(const depthwise_last_job *j, const depthwise_chunk *p, int64_t y) {
    const conv_shape *s = j->s;
    return ((p->item * s->out[0] + p->z) * s->out[1] + y) * s->out[2] * j->pitch + p->first;
}

/* The rest of the epilogue for a row's channels, which are in the cache still. */
static void depthwise_finish(const depthwise_last_job *j, const depthwise_chunk *p, int64_t at) {
    const conv_shape *s = j->s;
    if (p->channels == j->pitch)
        epilogue_rows(j->after, j->out + at, at, s->out[2] * s->out_channels);
    else
        for (int64_t x = 0; x < s->out[2]; x++, at += j->pitch)
            epilogue_rows(j->after, j->out + at, at, p->channels);
}

static void depthwise_rows(const depthwise_last_job *j, const depthwise_chunk *p) {
    const conv_shape *s = j->s;
    depthwise_line lines[2 * DEPTHWISE_LAST_ROWS];
    for (int64_t y = p->begin; y < p->end; y += j->k->rows) {
        depthwise_span span = {.s = s,
                               .lines = lines,
                               .end = s->out[2],
                               .channels = p->channels,
                               .low = j->low,
                               .high = j->high};
        int rows = p->end - y < j->k->rows ? 1 : j->k->rows;
        span.nlines = depthwise_lines(j, p, y, rows, lines);
        span.bias = j->bias ? j->bias + p->first : NULL;
        for (int r = 0; r < rows; r++) span.out[r] = j->out + depthwise_at(j, p, y + r);
        span.out_step = j->pitch;
        j->k->span(&span);
        for (int r = 0; !j->bounds && r < rows; r++)
            depthwise_finish(j, p, depthwise_at(j, p, y + r));
    }
}

/* Chunks are numbered by item, plane, band and block, the last varying fastest. */
static void depthwise_last_chunks(void *ctx, int64_t begin, int64_t end) {
    const depthwise_last_job *j = ctx;
    const conv_shape *s = j->s;
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i % j->blocks, band = i / j->blocks % j->bands,
                plane = i / j->blocks / j->bands;
        depthwise_chunk p = {plane / s->out[0],    plane % s->out[0], band * j->band,
                             (band + 1) * j->band, block * j->block,  j->block};
        if (p.end > s->out[1]) p.end = s->out[1];
        if (block == j->blocks - 1) p.channels = s->out_channels - p.first;
        depthwise_rows(j, &p);
    }
}

/* Bands that stay in the second cache, and, of images that are one or two of them, as many that the
 * threads have as much to do: blocks of channels where there are enough, for bands read some of
 * their neighbours' rows. */
static void depthwise_cut(depthwise_last_job *j) {
    const conv_shape *s = j->s;
    int64_t threads = pool_threads(), planes = s->batch * s->out[0],
            most = DEPTHWISE_LAST_BAND / (s->out[2] * s->out_channels + 1) + 1;
    if (most < DEPTHWISE_LAST_LEAST_ROWS) most = DEPTHWISE_LAST_LEAST_ROWS;
    j->bands = conv_parts(s->out[1], most);
    j->blocks = 1;
    if (planes * j->bands % threads) {
        if (s->out_channels / threads >= DEPTHWISE_LAST_BLOCK) j->blocks = threads;
        else j->bands = conv_parts(j->bands, threads) * threads;
    }
    j->band = conv_parts(s->out[1], j->bands);
    if (j->k->rows > 1 && j->band > 1) j->band += j->band % 2;
    j->bands = conv_parts(s->out[1], j->band);
    j->block = conv_parts(s->out_channels, j->blocks * DEPTHWISE_LAST_LINE) * DEPTHWISE_LAST_LINE;
    j->blocks = conv_parts(s->out_channels, j->block);
}

ctsc_status conv_last_depthwise_with(const depthwise_kernels *k, diag *d, const conv_shape *s,
                                     const float *in, const float *packed,
                                     const dense_epilogue *after, float *out) {
    depthwise_last_job j = {.k = k,
                            .s = s,
                            .in = in,
                            .packed = packed,
                            .bias = after->bias,
                            .after = after,
                            .out = out,
                            .low = -INFINITY,
                            .high = INFINITY,
                            .pitch = after->pitch ? after->pitch : s->out_channels};
    if (s->batch * s->out_size * s->out_channels == 0) return CTSC_OK;
    j.bounds = !after->other && activation_bounds(after->activation, &j.low, &j.high);
    depthwise_cut(&j);
    int64_t work = j.band * s->out[2] * j.block * s->kernel_size;
    bool whole = pool_for_limited(s->batch * s->out[0] * j.bands * j.blocks,
                                  DEPTHWISE_LAST_WORK / (work + 1) + 1, depthwise_last_chunks, &j);
    return whole ? CTSC_OK : limits_fail(d);
}

/* The widest that fit into the channels. */
static const depthwise_kernels *depthwise_choose(const conv_shape *s) {
    for (const ukernel *u = ukernel_first(UKERNEL_DEPTHWISE, UKERNEL_F32); u; u = ukernel_next(u)) {
        const depthwise_kernels *k = u->record;
        if (isa_has(u->isa) && s->out_channels >= k->lanes) return k;
    }
    return NULL;
}

bool conv_last_depthwise_fits(const conv_shape *s) {
    return s->groups == s->in_channels && s->groups == s->out_channels &&
           depthwise_row_taps(s) <= DEPTHWISE_LAST_ROWS && depthwise_choose(s);
}

void conv_last_depthwise_pack(const conv_shape *s, const float *weight, float *packed) {
    for (int64_t k = 0; k < s->kernel_size; k++)
        for (int64_t c = 0; c < s->out_channels; c++) *packed++ = weight[c * s->kernel_size + k];
}

ctsc_status conv_last_depthwise(diag *d, const conv_shape *s, const float *in, const float *packed,
                                const dense_epilogue *after, float *out) {
    const depthwise_kernels *k = depthwise_choose(s);
    if (!k) return diag_fail(d, CTSC_INTERNAL, "conv_last_depthwise: no kernels");
    return conv_last_depthwise_with(k, d, s, in, packed, after, out);
}
