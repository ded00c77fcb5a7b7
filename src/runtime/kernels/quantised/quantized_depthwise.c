/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_depthwise.c - convolutions of quantised tensors with one channel per group.
 *
 * Method. For a block of channels and some results of a row, the input rows that they read are
 * interleaved, four bytes to a lane (quad_kernels.spread), with the zero point for columns
 * outside the input; a tap along the row is then one multiplication of a lane's four bytes. The
 * interleaved data stays in the L1 cache, and each column of it serves all taps along the row.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "base/minmax.h"
#include "runtime/kernels/engine/slots.h"
#include "runtime/kernels/quantised/quantized.h"

#include "base/threads/limits.h"

#include <string.h>

enum {
    DEPTHWISE_SPREAD = 32 << 10, /* bytes of what is spread, roughly */
    DEPTHWISE_WORK = 200000,     /* multiplications worth a thread */
};

typedef struct depthwise_job {
    qconv c;
    const quad_taps *t;
    int64_t size, quad; /* channels of a block; bytes of a quad of it */
    int64_t results;    /* of a row that are made together */
    int64_t columns;    /* of the input that these see */
    int64_t shares;     /* of a row */
    int64_t room;       /* bytes of what is spread */
    int64_t *tap;
    slots slots;
} depthwise_job;

/* Input of the kernel's row r at a place of the output: NULL outside the input. */
static const uint8_t *depthwise_row(const depthwise_job *j, const int64_t at[3], int64_t r) {
    const packed *p = j->c.p;
    const int64_t *in = j->c.in;
    if (r >= j->t->rows) return NULL;
    int64_t d = at[1] * p->stride[0] - p->padding[0] + r / p->kernel[1] * p->dilation[0],
            y = at[2] * p->stride[1] - p->padding[1] + r % p->kernel[1] * p->dilation[1];
    if (d < 0 || d >= in[0] || y < 0 || y >= in[1]) return NULL;
    return j->c.x + ((at[0] * in[0] + d) * in[1] + y) * in[2] * j->c.in_channels;
}

/* Columns [first, first + n) of four rows; those beside the input as the zero point. */
static void depthwise_spread(const depthwise_job *j, const uint8_t *const row[4],
                             const uint8_t *beside, int64_t first, int64_t n, int64_t channel,
                             int64_t channels, uint8_t *to) {
    int64_t width = j->c.in[2], next = j->t->quads * j->quad, step[4] = {0},
            left = int64_min(n, int64_max(0, -first)),
            inside = int64_min(n, int64_max(left, width - first));
    const uint8_t *none[4] = {beside, beside, beside, beside}, *at[4];
    const quad_kernels *u = j->t->kernels;
    if (left) u->spread(none, step, left, channels, to, next);
    if (inside < n) u->spread(none, step, n - inside, channels, to + inside * next, next);
    for (int i = 0; i < 4; i++) {
        at[i] = row[i] ? row[i] + (first + left) * j->c.in_channels + channel : beside;
        step[i] = row[i] ? j->c.in_channels : 0;
    }
    if (inside > left) u->spread(at, step, inside - left, channels, to + left * next, next);
}

/* n results of sums by place, as numbers of their own or floats. */
static void depthwise_numbers(const depthwise_job *j, const int32_t *sums, int64_t n,
                              int64_t channel, int64_t channels, int32_t *out) {
    enum { MOST = 64 };
    const quant_floats *to = j->c.floats;
    int32_t row[MOST];
    uint8_t at[MOST];
    for (int64_t p = 0; p < j->size; p++)
        at[p] = (uint8_t)quant_place_channel(j->t->kernels->lanes, p);
    for (int64_t i = 0; i < n; i++, sums += j->size, out += j->t->channels) {
        for (int64_t p = 0; p < j->size; p++) row[at[p]] = sums[p];
        if (to) quant_store_floats(to, row, channel, channels, (float *)(void *)out);
        else memcpy(out, row, (size_t)channels * sizeof *out);
    }
}

/* Results [first, first + n) of a row, for a block of channels. */
static void depthwise_part(const depthwise_job *j, const int64_t at[3], int64_t first, int64_t n,
                           int64_t block, uint8_t *scratch) {
    const packed *p = j->c.p;
    const quad_taps *t = j->t;
    int64_t channel = block * j->size, channels = int64_min(j->size, t->channels - channel),
            line = ((at[0] * j->c.place[0] + at[1]) * j->c.place[1] + at[2]) * j->c.place[2] +
                   first,
            columns = (n - 1) * p->stride[2] + (p->kernel[2] - 1) * p->dilation[2] + 1;
    uint8_t *spread = scratch + j->size;
    for (int64_t q = 0; q < t->quads; q++) {
        const uint8_t *row[4];
        for (int i = 0; i < 4; i++) row[i] = depthwise_row(j, at, q * 4 + i);
        depthwise_spread(j, row, scratch, first * p->stride[2] - p->padding[2], columns, channel,
                         channels, spread + q * j->quad);
    }
    const quant_ready *r = j->c.ready;
    int64_t out = line * t->channels + channel;
    quant_depthwise d = {.spread = spread,
                         .size = columns * t->quads * j->quad,
                         .small = j->c.small,
                         .step = p->stride[2] * t->quads * j->quad,
                         .tap = j->tap,
                         .taps = t->sets * t->quads * t->width,
                         .count = n,
                         .start = (r ? r->start : j->c.start) + channel,
                         .out_step = t->channels,
                         .channels = channels};
    d.b = t->data + block * d.taps * j->quad;
    if (r) {
        d.to = r->to;
        d.to.scale += channel;
        d.to.steps += channel;
        d.out = j->c.out + out;
    } else {
        d.sums = (int32_t *)(void *)(scratch + j->room);
    }
    t->kernels->depthwise(&d);
    if (!r) depthwise_numbers(j, d.sums, n, channel, channels, (int32_t *)(void *)j->c.out + out);
}

static void depthwise_chunks(void *ctx, int64_t begin, int64_t end) {
    depthwise_job *j = ctx;
    slot taken = slots_take(&j->slots);
    uint8_t *scratch = taken.memory;
    memset(scratch, j->c.zero, (size_t)j->size);
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, at[3], block = rest % j->t->blocks;
        rest /= j->t->blocks;
        int64_t first = rest % j->shares * j->results;
        rest /= j->shares;
        at[2] = rest % j->c.place[1];
        rest /= j->c.place[1];
        at[1] = rest % j->c.place[0];
        at[0] = rest / j->c.place[0];
        depthwise_part(j, at, first, int64_min(j->results, j->c.place[2] - first), block, scratch);
    }
    slots_give(&j->slots, taken);
}

static void depthwise_taps(const depthwise_job *j) {
    int64_t *to = j->tap;
    for (int64_t set = 0; set < j->t->sets; set++)
        for (int64_t q = 0; q < j->t->quads; q++)
            for (int64_t x = 0; x < j->t->width; x++)
                *to++ = (x * j->c.p->dilation[2] * j->t->quads + q) * j->quad;
}

ctsc_status quant_depthwise_run(op_ctx *cx, const qconv *c) {
    const packed *p = c->p;
    depthwise_job j = {.c = *c, .t = &p->taps, .size = 4 * p->taps.kernels->lanes};
    j.quad = j.size * QUAD_BYTES;
    int64_t reach = (p->kernel[2] - 1) * p->dilation[2] + 1,
            room = DEPTHWISE_SPREAD / (j.quad * j.t->quads);
    j.results = int64_min(c->place[2], room <= reach ? 1 : (room - reach) / p->stride[2] + 1);
    j.shares = (c->place[2] + j.results - 1) / j.results;
    j.columns = (j.results - 1) * p->stride[2] + reach;
    size_t taps = (size_t)(j.t->sets * j.t->quads * j.t->width) * sizeof *j.tap;
    int64_t chunks = c->batch * c->place[0] * c->place[1] * j.shares * j.t->blocks,
            work = j.results * j.size * j.t->rows * j.t->width;
    j.tap = recycle_alloc(taps);
    if (!j.tap) return diag_no_memory(cx->diag);
    depthwise_taps(&j);
    j.room = j.size + j.columns * j.t->quads * j.quad;
    int64_t sums = c->ready ? 0 : j.results * j.size * (int64_t)sizeof(int32_t);
    if (!slots_begin(&j.slots, (size_t)(j.room + sums), chunks)) {
        recycle_free(j.tap, taps);
        return diag_no_memory(cx->diag);
    }
    bool whole = pool_for_limited(chunks, int64_max(1, DEPTHWISE_WORK / int64_max(1, work)),
                                  depthwise_chunks, &j);
    slots_end(&j.slots);
    recycle_free(j.tap, taps);
    return whole ? CTSC_OK : limits_fail(cx->diag);
}
