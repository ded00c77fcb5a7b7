/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_bf16.c - see conv_bf16.h.
 *
 * Method. Implicit GEMM: a chunk of work is a band of rows of the output. The rows of the
 * input that it reads are rounded into a buffer with its zero padding; an odd number of
 * channels is padded by one. What a kernel row reads for one output position is then one
 * segment of the buffer, at a fixed stride between neighbouring positions. Kernels of size
 * 1 take rows of pixels of any length. Where register tiles would lack rows, the rows of a
 * band form a single one: the results between them are computed too, and dropped.
 */
#include "runtime/kernels/conv/conv_bf16.h"
#include "base/minmax.h"
#include "runtime/kernels/conv/conv_half.h"

#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"
#include "runtime/kernels/engine/slots.h"

#include <string.h>

enum {
    BF16_ROW_MOST = 4 << 20,  /* bytes of a row of the buffer, at most */
    BF16_PLACES = 224,        /* of a row, where rows are cut as one likes */
    BF16_CHUNKS = 8,          /* to aim for in all */
    BF16_WORK = 1 << 20,      /* multiplications worth a thread of their own */
    BF16_LEAST_CHANNELS = 16, /* outputs of a group: a vector */
    BF16_SOME = 1024,         /* elements that are rounded before they get their stride */
};

typedef struct bf16_job {
    conv_shape s;
    quad_matrix m;
    const char *in;
    const float *scale; /* of each image's channels, or NULL */
    const float *bias;
    const dense_epilogue *after;
    char *out;
    int64_t pitch;  /* elements from one pixel of out to the next */
    conv_dtypes dt; /* each float32 or bfloat16 */
    int64_t size;   /* bytes of an element of in */
    bool flat;
    bool direct;                 /* in is read where it is */
    int64_t period;              /* places from one row of a band to the next, if they are one; 0 */
    int64_t pixel;               /* elements of one in the buffer */
    int64_t width, rows, planes; /* places of a row, rows of a plane */
    int64_t band, bands, share, shares;
    int64_t together;    /* panels that a row meets at a time */
    int64_t line, slice; /* elements of a row of the input, and of a plane, in the buffer */
    int64_t *segment;
    int64_t sets;                /* groups side by side in a panel, or 1 */
    int32_t lanes[QUAD_COLUMNS]; /* of them: where a column's channels begin, pairs */
    slots slots;
} bf16_job;

typedef struct bf16_chunk { int64_t plane, row, rows, first, last; } bf16_chunk;

static int64_t bf16_even(int64_t n) { return n + (n & 1); }

/* Groups that share a panel, each column with the channels of its own group: 1, if they do not. */
static int64_t bf16_sets(const conv_shape *s, const quad_kernels *u) {
    int64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups,
            fit = QUAD_COLUMNS / int64_max(in, out);
    return s->groups > 1 && fit > 1 && in % QUAD_PAIR == 0 && quad_vectors(u)->groups ? fit : 1;
}

/* Segments are rows of the kernel where its taps, and the groups' channels, are contiguous. */
static bool bf16_whole_rows(const conv_shape *s) { return s->groups == 1 && s->dilation[2] == 1; }

static bool bf16_is_flat(const conv_shape *s) {
    for (int i = 0; i < CONV_DIMS; i++)
        if (s->kernel[i] != 1 || s->stride[i] != 1 || s->pad[i]) return false;
    return s->out_size == s->in_size; /* nothing after either */
}

/* Rows of the input that n rows of the output see. */
static int64_t bf16_lines(const conv_shape *s, int dim, int64_t n) {
    return (n - 1) * s->stride[dim] + (s->kernel[dim] - 1) * s->dilation[dim] + 1;
}

/* Elements of a pixel in the buffer. A single tap's are whole steps. */
static int64_t bf16_pixel(const conv_shape *s, const quad_kernels *u) {
    if (s->groups > 1) return s->in_channels;
    return s->kernel_size == 1 ? quad_whole_k(u, s->in_channels) : bf16_even(s->in_channels);
}

/* Elements of the buffer for n rows; INT64_MAX: too many. */
static int64_t bf16_buffer(const conv_shape *s, const quad_kernels *u, int64_t n) {
    int64_t size = bf16_pixel(s, u);
    if (__builtin_mul_overflow(size, bf16_lines(s, 2, s->out[2]), &size) ||
        __builtin_mul_overflow(size, bf16_lines(s, 1, n), &size) ||
        __builtin_mul_overflow(size, s->kernel[0], &size))
        return INT64_MAX;
    return size;
}

bool conv_bf16_fits(const conv_shape *s) {
    int64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups;
    bool even = s->groups == 1 || in % 2 == 0;
    const quad_kernels *u = ukernel_quad(UKERNEL_BF16);
    return u && even && (out >= BF16_LEAST_CHANNELS || bf16_sets(s, u) > 1) &&
           (bf16_is_flat(s) || bf16_buffer(s, u, 1) <= BF16_ROW_MOST / 2);
}

/* ---- weights --------------------------------------------------------------------------------- */

bool conv_bf16_layout(const conv_shape *s, const quad_kernels *u, quad_matrix *m, size_t *bytes) {
    int64_t in = bf16_pixel(s, u) / s->groups, rows = s->kernel[0] * s->kernel[1],
            width = s->kernel[2], sets = bf16_sets(s, u);
    *m = (quad_matrix){.kernels = u,
                       .n = s->out_channels / s->groups * sets,
                       .groups = conv_parts(s->groups, sets),
                       .segments = bf16_whole_rows(s) ? rows : rows * width,
                       .k = bf16_whole_rows(s) ? in * width : in};
    return quad_matrix_bf16(m, bytes);
}

bool conv_bf16_suits(const conv_shape *s, const quad_matrix *packed) {
    quad_matrix m;
    size_t bytes;
    return conv_bf16_layout(s, packed->kernels, &m, &bytes) &&
           (m.segments == packed->segments || packed->kernels->depth == 1);
}

bool conv_bf16_pack(const conv_shape *s, const quad_matrix *m, const float *w) {
    int64_t in = s->in_channels / s->groups, filled = bf16_pixel(s, m->kernels) / s->groups,
            taps = s->kernel_size;
    float *column = mem_zalloc((size_t)(taps * filled) * sizeof *column);
    if (!column) return false;
    for (int64_t o = 0; o < s->out_channels; o++) {
        for (int64_t i = 0; i < in; i++)
            for (int64_t t = 0; t < taps; t++) column[t * filled + i] = w[(o * in + i) * taps + t];
        quad_matrix_put(m, o / m->n, o % m->n, column);
    }
    mem_free(column);
    return true;
}

/* ---- the buffer ------------------------------------------------------------------------------ */

/* n pixels side by side, the first of them number `at` of the input. */
static void bf16_round(const bf16_job *j, int64_t at, int64_t n, bfloat16 *to) {
    int64_t elements = n * j->s.in_channels;
    const char *from = j->in + at * j->s.in_channels * j->size;
    half_scale by = {j->scale, j->s.in_channels, j->s.in_size};
    if (j->scale) conv_half_scale(DT_BFLOAT16, &by, from, at, n, to);
    else if (j->dt.in == DT_BFLOAT16) memcpy(to, from, (size_t)elements * sizeof *to);
    else bfloat16_from_floats((const float *)(const void *)from, to, (size_t)elements);
}

/* The same, at their stride in the buffer. */
static void bf16_pixels(const bf16_job *j, int64_t at, int64_t n, bfloat16 *to) {
    bfloat16 some[BF16_SOME];
    int64_t channels = j->s.in_channels, most = int64_max(BF16_SOME / channels, 1);
    if (j->pixel == channels) {
        bf16_round(j, at, n, to);
        return;
    }
    if (j->dt.in == DT_BFLOAT16 && !j->scale) {
        const bfloat16 *from = (const bfloat16 *)(const void *)j->in + at * channels;
        bfloat16_rows_padded(from, channels, to, j->pixel, n);
        return;
    }
    for (int64_t i = 0, count; i < n; i += count, to += count * j->pixel) {
        count = int64_min(most, n - i);
        bf16_round(j, at + i, count, channels > BF16_SOME ? to : some);
        if (channels <= BF16_SOME) bfloat16_rows_padded(some, channels, to, j->pixel, count);
        else memset(to + channels, 0, (size_t)(j->pixel - channels) * sizeof *to);
    }
}

/* Row y of plane d of the input, from the first column that is seen on. */
static void bf16_line(const bf16_job *j, int64_t batch, int64_t d, int64_t y, bfloat16 *to) {
    const conv_shape *s = &j->s;
    int64_t left = int64_min(s->pad[2] * j->pixel, j->line), columns = j->line / j->pixel,
            inside = int64_min(s->in[2], columns - left / j->pixel);
    if (d < 0 || d >= s->in[0] || y < 0 || y >= s->in[1]) {
        memset(to, 0, (size_t)j->line * sizeof *to);
        return;
    }
    memset(to, 0, (size_t)left * sizeof *to);
    bf16_pixels(j, ((batch * s->in[0] + d) * s->in[1] + y) * s->in[2], inside, to + left);
    int64_t done = left + inside * j->pixel;
    memset(to + done, 0, (size_t)(j->line - done) * sizeof *to);
}

static int64_t bf16_places(const bf16_job *j, int64_t row) {
    return int64_min(j->width, j->s.batch * j->s.out_size / j->planes - row * j->width);
}

static void bf16_fill(const bf16_job *j, const bf16_chunk *t, bfloat16 *to) {
    const conv_shape *s = &j->s;
    if (j->flat) {
        int64_t first = t->row * j->width,
                n = (t->rows - 1) * j->width + bf16_places(j, t->row + t->rows - 1);
        bf16_pixels(j, first, n, to);
        return;
    }
    int64_t batch = t->plane / s->out[0], lines = bf16_lines(s, 1, t->rows),
            d = t->plane % s->out[0] * s->stride[0] - s->pad[0],
            y = t->row * s->stride[1] - s->pad[1];
    for (int64_t k = 0; k < s->kernel[0]; k++)
        for (int64_t i = 0; i < lines; i++)
            bf16_line(j, batch, d + k * s->dilation[0], y + i, to + k * j->slice + i * j->line);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static bf16_chunk bf16_chunk_of(const bf16_job *j, int64_t i) {
    int64_t share = i % j->shares;
    bf16_chunk t = {.plane = i / j->shares / j->bands,
                    .row = i / j->shares % j->bands * j->band,
                    .first = share * j->share};
    t.rows = int64_min(j->band, j->rows - t.row);
    t.last = int64_min(t.first + j->share, j->m.panels);
    return t;
}

/* The first pixel of a row of the result. */
static int64_t bf16_at(const bf16_job *j, const bf16_chunk *t, int64_t y) {
    int64_t plane = j->s.batch * j->s.out_size / j->planes;
    return t->plane * plane + (t->row + y) * j->width;
}

/* The rows of a chunk times two panels of a group. */
static void bf16_panels(const bf16_job *j, const bf16_chunk *t, int64_t group, int64_t panel,
                        const bfloat16 *buffer, quad_hold *hold) {
    const conv_shape *s = &j->s;
    int64_t column = group * j->m.n + panel * QUAD_COLUMNS;
    quad_strip strip = {.lda = s->stride[2] * j->pixel * (int64_t)sizeof *buffer,
                        .of = s->batch * s->out_size,
                        .segment = j->segment,
                        .start = j->bias ? j->bias + column : NULL,
                        .halves = j->dt.out == DT_BFLOAT16,
                        .half_other = j->dt.other == DT_BFLOAT16,
                        .activation = (enum dense_activation)j->after->activation,
                        .period = j->period,
                        .keep = j->width,
                        .ldc = j->pitch};
    if (j->sets > 1) {
        strip.lanes = j->lanes;
        strip.columns = (int)int64_min(j->m.n, s->out_channels - group * j->m.n);
    }
    if (j->direct) {
        int64_t pixel = s->in_channels * j->size;
        buffer = (const bfloat16 *)(const void *)(j->in + t->row * j->width * pixel);
    }
    for (int64_t y = 0; y < (j->period ? 1 : t->rows); y++) {
        strip.a = buffer + y * (j->flat ? j->width * j->pixel : s->stride[1] * j->line) +
                  group * j->sets * (s->in_channels / s->groups);
        strip.before = y;
        if (!j->flat && !j->period && s->kernel[0] == 1)
            quad_strip_see(&j->m, (t->row + y) * s->stride[1] - s->pad[1], s->dilation[1],
                           s->kernel[1], s->in[1], &strip);
        strip.rows = j->period ? (t->rows - 1) * j->period + j->width : bf16_places(j, t->row + y);
        int64_t at = bf16_at(j, t, y) * j->pitch + column;
        strip.out = j->out + at * (int64_t)dtype_size(j->dt.out);
        if (j->after->other) /* pixels that are not contiguous have none */
            strip.other = (const char *)j->after->other + at * (int64_t)dtype_size(j->dt.other);
        quad_strip_run(&j->m, group, panel, int64_min(panel + j->together, t->last), &strip, hold);
    }
}

static void bf16_chunks(void *ctx, int64_t begin, int64_t end) {
    bf16_job *j = ctx;
    slot taken = slots_take(&j->slots);
    bfloat16 *buffer = taken.memory;
    quad_hold hold = {0};
    for (int64_t i = begin; i < end; i++) {
        bf16_chunk t = bf16_chunk_of(j, i);
        if (!j->direct && (i == begin || i % j->shares == 0)) bf16_fill(j, &t, buffer);
        for (int64_t g = 0; g < j->m.groups; g++)
            for (int64_t panel = t.first; panel < t.last; panel += j->together)
                bf16_panels(j, &t, g, panel, buffer, &hold);
    }
    quad_release(&hold);
    slots_give(&j->slots, taken);
}

/* ---- how a call is done ---------------------------------------------------------------------- */

/* Rows of a band are one where that fills more tiles of registers than it adds. */
static int64_t bf16_period(const bf16_job *j) {
    const conv_shape *s = &j->s;
    const quad_kernels *u = j->m.kernels;
    int64_t down = s->stride[1] * j->line, along = s->stride[2] * j->pixel;
    if (!u->begin || j->sets > 1 || j->flat || down % along || down / along < j->width) return 0;
    int64_t period = down / along, half = u->rows / 2,
            together = conv_parts((j->band - 1) * period + j->width, half);
    return together < j->band * conv_parts(j->width, half) ? period : 0;
}

static void bf16_cut(bf16_job *j) {
    const conv_shape *s = &j->s;
    const quad_kernels *u = j->m.kernels;
    int64_t one = bf16_buffer(s, u, 1) * 2, two = bf16_buffer(s, u, 2) * 2,
            room = u->block / 2; /* of the buffer of a chunk, roughly */
    j->flat = bf16_is_flat(s);
    j->pixel = bf16_pixel(s, u);
    if (j->flat) j->pixel = quad_pitch(u, s->batch * s->out_size, 2 * j->pixel) / 2;
    j->direct = j->flat && j->sets == 1 && j->dt.in == DT_BFLOAT16 && !j->scale &&
                j->pixel == s->in_channels;
    if (j->flat) {
        int64_t places = s->batch * s->out_size;
        j->width = int64_min(BF16_PLACES, places);
        j->planes = 1;
        j->rows = conv_parts(places, j->width);
        j->band = room / (j->width * j->pixel * 2);
    } else {
        j->width = s->out[2];
        j->planes = s->batch * s->out[0];
        j->rows = s->out[1];
        j->band = one >= room ? 1 : 1 + (room - one) / (two - one);
    }
    j->band = int64_min(j->band < 1 ? 1 : j->band, j->rows);
    j->band = conv_parts(j->rows, conv_parts(j->rows, j->band));
    j->bands = conv_parts(j->rows, j->band);
    j->together = s->batch * s->out_size == 1 ? QUAD_ROW_PANELS : QUAD_MAX_PANELS;
    int64_t pairs = conv_parts(j->m.panels, j->together),
            shares = int64_min(pairs, conv_parts(BF16_CHUNKS, j->planes * j->bands));
    j->share = conv_parts(pairs, shares) * j->together;
    j->shares = conv_parts(j->m.panels, j->share);
    j->line = bf16_lines(s, 2, s->out[2]) * j->pixel;
    j->slice = bf16_lines(s, 1, j->band) * j->line;
    j->period = bf16_period(j);
}

static void bf16_segments(bf16_job *j) {
    const conv_shape *s = &j->s;
    int64_t taps = bf16_whole_rows(s) ? 1 : s->kernel[2];
    for (int64_t i = 0; i < j->m.segments; i++)
        j->segment[i] = 2 * (i / taps / s->kernel[1] * j->slice +
                             i / taps % s->kernel[1] * s->dilation[1] * j->line +
                             i % taps * s->dilation[2] * j->pixel);
}

ctsc_status conv_bf16(diag *d, const conv_shape *s, const conv_packed *w, conv_dtypes dt,
                      const void *in, const float *scale, const dense_epilogue *after, void *out) {
    bf16_job j = {.s = *s,
                  .in = in,
                  .scale = scale,
                  .bias = after->bias,
                  .after = after,
                  .out = out,
                  .pitch = after->pitch ? after->pitch : s->out_channels,
                  .dt = dt,
                  .size = (int64_t)dtype_size(dt.in)};
    size_t bytes;
    conv_bf16_layout(s, w->quads.kernels, &j.m, &bytes);
    j.m.data = w->quads.data;
    j.sets = bf16_sets(s, w->quads.kernels);
    for (int64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups, i = 0;
         i < j.sets * out && j.sets > 1; i++)
        j.lanes[i] = (int32_t)(i / out * in / QUAD_PAIR);
    bf16_cut(&j);
    size_t segments = (size_t)j.m.segments * sizeof *j.segment;
    int64_t places = j.band * j.width,
            elements = (j.flat ? places * j.pixel : s->kernel[0] * j.slice) +
                       QUAD_LANES * QUAD_PAIR, /* those that the last set reads */
        chunks = j.planes * j.bands * j.shares,
            work = places * j.share * QUAD_COLUMNS * j.m.segments * j.m.k / 64;
    j.segment = recycle_alloc(segments);
    if (!j.segment || !slots_begin(&j.slots, (size_t)elements * sizeof(bfloat16), chunks)) {
        recycle_free(j.segment, segments);
        return diag_no_memory(d);
    }
    bf16_segments(&j);
    bool whole = pool_for_limited(chunks, 1 + BF16_WORK / 64 / (work + 1), bf16_chunks, &j);
    slots_end(&j.slots);
    recycle_free(j.segment, segments);
    return whole ? CTSC_OK : limits_fail(d);
}
