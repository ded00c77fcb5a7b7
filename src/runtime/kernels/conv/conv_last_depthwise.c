/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last_depthwise.c - see conv_last_depthwise.h: images are cut into bands of rows and blocks
 * of channels, which threads may do in any order. Activations that are bounds are applied in
 * registers, others to whole rows.
 * Tests: tests/unit/test_conv_last_depthwise.c
 */
#include "runtime/kernels/conv/conv_last_depthwise.h"

#include "base/minmax.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/slots.h"
#include "runtime/kernels/engine/wide.h"

#include <math.h>

typedef struct depthwise_last_job {
    const depthwise_kernels *k;
    const conv_shape *s;
    dtype dt; /* of in and out */
    const char *in;
    const float *packed, *bias;
    dense_epilogue after; /* what low and high are not */
    char *out;
    float low, high;
    int64_t size, pitch; /* bytes of an element, elements of out from pixel to pixel */
    /* of rows in a plane, of channels; how many, and of what size (the last block: what is left) */
    int64_t bands, band, blocks, block;
    int64_t ring; /* of 16 bits: rows of a plane that are kept as floats */
    slots slots;
} depthwise_last_job;

/* One chunk of an image: output rows [begin, end) of plane z of an item, channels [first,
 * first + channels). */
typedef struct depthwise_chunk {
    int64_t item, z, begin, end, first, channels;
    /* of 16 bits: rows as floats, what each of them is (-1: nothing), rows of results */
    float *lines, *sums;
    int64_t *held;
} depthwise_chunk;

static int64_t depthwise_row_taps(const conv_shape *s) { return s->kernel[0] * s->kernel[1]; }

/* The taps of dim i that are inside for output o: [*begin, *end). Returns where tap 0 is. */
static int64_t depthwise_valid(const conv_shape *s, int i, int64_t o, int64_t *begin,
                               int64_t *end) {
    int64_t d = s->dilation[i], x = o * s->stride[i] - s->pad[i], room = s->in[i] - x;
    *begin = x < 0 ? (-x + d - 1) / d : 0;
    *end = room <= 0 ? 0 : (room + d - 1) / d;
    if (*end > s->kernel[i]) *end = s->kernel[i];
    return x;
}

/* Row y of a plane of the input, for tap kz: where the chunk's first channel of column 0 is. */
static const float *depthwise_row(const depthwise_last_job *j, const depthwise_chunk *p,
                                  int64_t plane, int64_t kz, int64_t y) {
    const conv_shape *s = j->s;
    int64_t width = s->in[2], slot = kz * j->ring + (j->ring ? y % j->ring : 0);
    const char *from = j->in +
                       ((plane * s->in[1] + y) * width * s->in_channels + p->first) * j->size;
    if (j->dt == DT_FLOAT32) return (const float *)(const void *)from;
    float *to = p->lines + slot * width * p->channels;
    if (p->held[slot] == y) return to;
    p->held[slot] = y;
    if (p->channels == s->in_channels) halves_to_floats(j->dt, from, to, width * p->channels);
    else
        for (int64_t x = 0; x < width; x++)
            halves_to_floats(j->dt, from + x * s->in_channels * j->size, to + x * p->channels,
                             p->channels);
    return to;
}

/* The input rows that output rows y and, if rows is 2, y + 1 are made of. Both are walked in the
 * order of their taps; which rows they share follows from where they are. */
static int64_t depthwise_lines(const depthwise_last_job *j, const depthwise_chunk *p, int64_t y,
                               int rows, depthwise_line *lines) {
    const conv_shape *s = j->s;
    int64_t tap[2], end[2], at[2], z_begin, z_end,
        n = 0, z0 = depthwise_valid(s, 0, p->z, &z_begin, &z_end);
    for (int64_t kz = z_begin; kz < z_end; kz++) {
        int64_t plane = p->item * s->in[0] + z0 + kz * s->dilation[0];
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
            lines[n].in = depthwise_row(j, p, plane, kz, first);
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

/* The rest of the epilogue for a row of results, which is in the cache still. */
static void depthwise_finish(const depthwise_last_job *j, const depthwise_chunk *p, int64_t at,
                             float *sums) {
    int64_t columns = j->s->out[2], n = p->channels, step = j->pitch;
    bool floats = j->dt == DT_FLOAT32;
    if (floats && !j->after.other && j->after.activation == DENSE_PLAIN) return;
    if (n == step) n *= columns, columns = 1;
    for (; columns > 0; columns--, at += step, sums += floats ? step : n)
        if (floats) epilogue_rows(&j->after, sums, at, n);
        else epilogue_halves(&j->after, j->dt, sums, at, n, j->out + at * j->size);
}

static void depthwise_rows(const depthwise_last_job *j, const depthwise_chunk *p) {
    const conv_shape *s = j->s;
    bool floats = j->dt == DT_FLOAT32;
    depthwise_line lines[2 * DEPTHWISE_LAST_ROWS];
    for (int64_t y = p->begin; y < p->end; y += j->k->rows) {
        depthwise_span span = {.s = s,
                               .lines = lines,
                               .in_step = floats ? s->in_channels : p->channels,
                               .end = s->out[2],
                               .channels = p->channels,
                               .out_step = floats ? j->pitch : p->channels,
                               .low = j->low,
                               .high = j->high};
        int rows = p->end - y < j->k->rows ? 1 : j->k->rows;
        span.nlines = depthwise_lines(j, p, y, rows, lines);
        span.bias = j->bias ? j->bias + p->first : NULL;
        for (int r = 0; r < rows; r++)
            span.out[r] = floats ? (float *)(void *)j->out + depthwise_at(j, p, y + r)
                                 : p->sums + r * s->out[2] * p->channels;
        j->k->span(&span);
        for (int r = 0; r < rows; r++)
            depthwise_finish(j, p, depthwise_at(j, p, y + r), span.out[r]);
    }
}

/* Chunks are numbered by item, plane, band and block, the last varying fastest. */
static void depthwise_last_chunks(void *ctx, int64_t begin, int64_t end) {
    depthwise_last_job *j = ctx;
    const conv_shape *s = j->s;
    int64_t rows = s->kernel[0] * j->ring;
    slot taken = slots_take(&j->slots);
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i % j->blocks, band = i / j->blocks % j->bands,
                plane = i / j->blocks / j->bands;
        depthwise_chunk p = {.item = plane / s->out[0],
                             .z = plane % s->out[0],
                             .begin = band * j->band,
                             .end = int64_min((band + 1) * j->band, s->out[1]),
                             .first = block * j->block,
                             .channels = j->block,
                             .lines = taken.memory};
        if (block == j->blocks - 1) p.channels = s->out_channels - p.first;
        if (j->ring && p.channels < j->k->lanes) {
            p.first = s->out_channels - j->k->lanes;
            p.channels = j->k->lanes;
        }
        p.sums = p.lines + rows * s->in[2] * p.channels;
        int64_t floats = (rows * s->in[2] + j->k->rows * s->out[2]) * p.channels;
        p.held = (int64_t *)(void *)(p.lines + (floats + 1) / 2 * 2);
        for (int64_t r = 0; r < rows; r++) p.held[r] = -1;
        depthwise_rows(j, &p);
    }
    slots_give(&j->slots, taken);
}

/* Bands that stay in the second cache, and, of images that are one or two of them, as many that the
 * threads have as much to do: blocks of channels where there are enough, for bands read some of
 * their neighbours' rows. */
static void depthwise_cut(depthwise_last_job *j) {
    const conv_shape *s = j->s;
    int64_t threads = pool_threads(), planes = s->batch * s->out[0],
            most = DEPTHWISE_LAST_BAND / (s->out[2] * s->out_channels + 1) + 1;
    if (most < DEPTHWISE_LAST_LEAST_ROWS) most = DEPTHWISE_LAST_LEAST_ROWS;
    if (j->ring) most = s->out[1]; /* which stays there anyway */
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

/* Rows of a plane that `rows` rows of results see. */
static int64_t depthwise_ring(const conv_shape *s, int64_t rows) {
    return (rows - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] + 1;
}

/* Bytes of a chunk of 16-bit elements with this many channels. */
static size_t depthwise_room(const conv_shape *s, const depthwise_kernels *k, int64_t channels) {
    int64_t lines = s->kernel[0] * depthwise_ring(s, k->rows),
            floats = (lines * s->in[2] + k->rows * s->out[2]) * channels + 1;
    return (size_t)floats * sizeof(float) + (size_t)lines * sizeof(int64_t);
}

ctsc_status conv_last_depthwise_with(const depthwise_kernels *k, diag *d, const conv_shape *s,
                                     dtype dt, const void *in, const float *packed,
                                     const dense_epilogue *after, void *out) {
    bool half = dt != DT_FLOAT32;
    depthwise_last_job j = {.k = k,
                            .s = s,
                            .dt = dt,
                            .in = in,
                            .packed = packed,
                            .bias = after->bias,
                            .after = *after,
                            .out = out,
                            .low = -INFINITY,
                            .high = INFINITY,
                            .size = (int64_t)dtype_size(dt),
                            .pitch = after->pitch ? after->pitch : s->out_channels,
                            .ring = half ? depthwise_ring(s, k->rows) : 0};
    if (s->batch * s->out_size * s->out_channels == 0) return CTSC_OK;
    if (!after->other && activation_bounds(after->activation, &j.low, &j.high))
        j.after.activation = DENSE_PLAIN;
    depthwise_cut(&j);
    int64_t work = j.band * s->out[2] * j.block * s->kernel_size,
            chunks = s->batch * s->out[0] * j.bands * j.blocks;
    if (!slots_begin(&j.slots, half ? depthwise_room(s, k, int64_max(j.block, k->lanes)) : 0,
                     chunks))
        return diag_no_memory(d);
    bool whole = pool_for_limited(chunks, DEPTHWISE_LAST_WORK / (work + 1) + 1,
                                  depthwise_last_chunks, &j);
    slots_end(&j.slots);
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

bool conv_last_depthwise_fits_half(const conv_shape *s) {
    const depthwise_kernels *k = depthwise_choose(s);
    int64_t most = DEPTHWISE_LAST_RING / s->kernel[0] / int64_max(s->in[2], s->out[2]);
    return k && s->stride[1] + s->kernel[1] * s->dilation[1] + k->rows <= most / s->out_channels;
}

ctsc_status conv_last_depthwise(diag *d, const conv_shape *s, dtype dt, const void *in,
                                const float *packed, const dense_epilogue *after, void *out) {
    const depthwise_kernels *k = depthwise_choose(s);
    if (!k) return diag_fail(d, CTSC_INTERNAL, "conv_last_depthwise: no kernels");
    return conv_last_depthwise_with(k, d, s, dt, in, packed, after, out);
}
