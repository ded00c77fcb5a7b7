/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv.c - convolutions of quantised tensors.
 *
 * Method. Implicit GEMM: input and result are channels-last, so that what a kernel row
 * reads for one output position is one segment of the input, at a fixed stride between
 * neighbouring positions: strips of positions times panels of weights
 * (matmul/quad_matrix.c). A chunk of work is a band of rows of the output; where there is
 * padding, its input is first copied, surrounded by the zero point. Where register tiles
 * would lack rows, a band's rows form a single one: the results between them are computed
 * too, and dropped. A transposed convolution, and one whose band would be far larger than
 * what is read of it, gathers the elements of all taps of some positions instead: output
 * position o reads input position (o + padding - tap * dilation) / stride where that is
 * an integer. Everything is treated as three-dimensional, with leading dims of 1.
 * Tests: tests/unit/test_quantized_bytes.c, tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "base/minmax.h"
#include "base/threads/limits.h"
#include "runtime/kernels/engine/slots.h"
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

enum {
    QCONV_ROW_MOST = 4 << 20, /* of one row's, beyond which taps are gathered */
    QCONV_PLACES = 224,       /* of a row, where rows are cut as one likes */
    QCONV_CHUNKS = 8,         /* to aim for in all */
    QCONV_WORK = 1 << 20,     /* multiplications worth a thread of their own */
    QCONV_SLACK = 16,         /* bytes that may be read after the last element */
    QCONV_MOST_PRODUCTS = INT32_MAX / (255 * 256), /* whose sum fits 32 bits */
};

/* How rows of places come from the input. */
typedef enum qconv_way {
    QCONV_DIRECT,   /* in place */
    QCONV_COPIED,   /* a band of it, with padding */
    QCONV_GATHERED, /* the elements of all taps, place by place */
} qconv_way;

typedef struct qconv_job {
    qconv c;
    qconv_way way;
    bool flat;           /* places are as the pixels are: rows are cut as one likes */
    int64_t period;      /* places from one row's first to the next one's, if a band's are one; 0 */
    int64_t width;       /* places of a row */
    int64_t rows;        /* of a plane, */
    int64_t planes;      /* and planes */
    int64_t band;        /* rows of a chunk */
    int64_t bands;       /* of a plane */
    int64_t shares;      /* of the panels */
    int64_t share;       /* panels */
    int64_t line, slice; /* bytes from one input row, and plane, to the next, as they are read */
    int64_t column;      /* bytes of a gathered place */
    int64_t bytes;       /* of scratch memory, where rows are copied or gathered */
    bool clips;          /* rows are clipped there, if few enough outliers are found, */
    int64_t lists;       /* which are listed from this byte on */
    int64_t *segment;
    int64_t *units; /* of each segment, where rows are clipped: as quad_outliers has them */
    slots slots;
} qconv_job;

/* ---- gathering ------------------------------------------------------------------------------- */

/* The input coordinate that tap t of output coordinate o reads along one dim; -1: none. */
static int64_t qconv_source(const qconv *c, int dim, int64_t o, int64_t t) {
    const packed *p = c->p;
    int64_t at;
    if (p->transposed) {
        at = o + p->padding[dim] - t * p->dilation[dim];
        if (at < 0 || at % p->stride[dim]) return -1;
        at /= p->stride[dim];
    } else {
        at = o * p->stride[dim] - p->padding[dim] + t * p->dilation[dim];
    }
    return at >= 0 && at < c->in[dim] ? at : -1;
}

/* Which batch and coordinates an output place has. */
static void qconv_place(const qconv *c, int64_t k, int64_t at[4]) {
    for (int dim = 2; dim >= 0; dim--) {
        at[dim + 1] = k % c->place[dim];
        k /= c->place[dim];
    }
    at[0] = k;
}

/* The start of the run that taps (t0, t1, t2) read at a place; NULL: beside the input. */
static const uint8_t *qconv_run(const qconv *c, const int64_t at[4], int64_t t0, int64_t t1,
                                int64_t t2) {
    int64_t i0 = qconv_source(c, 0, at[1], t0), i1 = qconv_source(c, 1, at[2], t1),
            i2 = qconv_source(c, 2, at[3], t2);
    if (i0 < 0 || i1 < 0 || i2 < 0) return NULL;
    return c->x + (((at[0] * c->in[0] + i0) * c->in[1] + i1) * c->in[2] + i2) * c->in_channels;
}

/* All taps of one place, for one group. */
static void qconv_gather(const qconv_job *j, int64_t place, int64_t group, uint8_t *to) {
    const packed *p = j->c.p;
    int64_t at[4], n = j->c.inputs, segment = p->panels.quads * QUAD_BYTES,
                   step = packed_whole_rows(p) ? n : segment;
    qconv_place(&j->c, place, at);
    for (int64_t t0 = 0; t0 < p->kernel[0]; t0++)
        for (int64_t t1 = 0; t1 < p->kernel[1]; t1++) {
            uint8_t *tap = to;
            for (int64_t t2 = 0; t2 < p->kernel[2]; t2++, tap += step) {
                const uint8_t *x = qconv_run(&j->c, at, t0, t1, t2);
                if (x) memcpy(tap, x + group * n, (size_t)n);
                else memset(tap, j->c.zero, (size_t)n);
            }
            to += packed_whole_rows(p) ? segment : segment * p->kernel[2];
        }
}

/* ---- bands ----------------------------------------------------------------------------------- */

/* Rows of the input that n rows of the output see. */
static int64_t qconv_lines(const packed *p, int dim, int64_t n) {
    return (n - 1) * p->stride[dim] + (p->kernel[dim] - 1) * p->dilation[dim] + 1;
}

/* Row y of plane d of the input, from column -padding on, or the zero point beside it. */
static void qconv_copy_line(const qconv_job *j, int64_t batch, int64_t d, int64_t y, uint8_t *to) {
    const qconv *c = &j->c;
    int64_t left = c->p->padding[2] * c->in_channels,
            inside = int64_min(c->in[2] * c->in_channels, j->line - left);
    if (d < 0 || d >= c->in[0] || y < 0 || y >= c->in[1] || inside <= 0) {
        memset(to, c->zero, (size_t)j->line);
        return;
    }
    const uint8_t *from = c->x +
                          ((batch * c->in[0] + d) * c->in[1] + y) * c->in[2] * c->in_channels;
    memset(to, c->zero, (size_t)left);
    memcpy(to + left, from, (size_t)inside);
    memset(to + left + inside, c->zero, (size_t)(j->line - left - inside));
}

/* The first place's first element of a row in the input. */
static const uint8_t *qconv_lying(const qconv_job *j, int64_t plane, int64_t row) {
    const qconv *c = &j->c;
    if (j->flat) return c->x + row * j->width * c->in_channels;
    int64_t batch = plane / c->place[0], d = plane % c->place[0] * c->p->stride[0];
    return c->x +
           ((batch * c->in[0] + d) * c->in[1] + row * c->p->stride[1]) * c->in[2] * c->in_channels;
}

static void qconv_copy(const qconv_job *j, int64_t plane, int64_t row, int64_t rows, uint8_t *to) {
    const packed *p = j->c.p;
    if (j->flat) {
        int64_t first = row * j->width, places = int64_min(rows * j->width, j->c.places - first);
        memcpy(to, qconv_lying(j, plane, row), (size_t)(places * j->c.in_channels));
        return;
    }
    int64_t batch = plane / j->c.place[0], lines = qconv_lines(p, 1, rows),
            d = plane % j->c.place[0] * p->stride[0] - p->padding[0],
            y = row * p->stride[1] - p->padding[1];
    for (int64_t k = 0; k < p->kernel[0]; k++)
        for (int64_t i = 0; i < lines; i++)
            qconv_copy_line(j, batch, d + k * p->dilation[0], y + i,
                            to + k * j->slice + i * j->line);
}

typedef struct qconv_chunk { int64_t plane, row, rows, first, last; } qconv_chunk;

static qconv_chunk qconv_chunk_of(const qconv_job *j, int64_t i) {
    int64_t share = i % j->shares, band = i / j->shares % j->bands;
    qconv_chunk t = {
        .plane = i / j->shares / j->bands, .row = band * j->band, .first = share * j->share};
    t.rows = int64_min(j->band, j->rows - t.row);
    t.last = int64_min(t.first + j->share, j->c.p->panels.panels);
    return t;
}

/* Where row y of a chunk has its first place, for one group, and from one to the next. */
static const uint8_t *qconv_first(const qconv_job *j, const qconv_chunk *t, int64_t group,
                                  int64_t y, const uint8_t *scratch, int64_t *lda) {
    const packed *p = j->c.p;
    *lda = j->way == QCONV_GATHERED ? j->column : p->stride[2] * j->c.in_channels;
    if (j->way == QCONV_GATHERED) return scratch;
    if (j->way == QCONV_COPIED && j->flat)
        return scratch + y * j->width * j->c.in_channels + group * j->c.inputs;
    if (j->way == QCONV_COPIED) return scratch + y * p->stride[1] * j->line + group * j->c.inputs;
    return qconv_lying(j, t->plane, t->row + y) + group * j->c.inputs;
}

/* Places of row y of a chunk, */
static int64_t qconv_width(const qconv_job *j, const qconv_chunk *t, int64_t y) {
    return int64_min(j->width, j->c.places / j->planes - (t->row + y) * j->width);
}

/* and of all of its rows. */
static int64_t qconv_places(const qconv_job *j, const qconv_chunk *t) {
    return (t->rows - 1) * j->width + qconv_width(j, t, t->rows - 1);
}

/* Copies a chunk's part of the input, clipped, with what that lacks in *o. False: that is too much,
 * and the copy is lost. */
static bool qconv_clip(const qconv_job *j, const qconv_chunk *t, uint8_t *scratch,
                       quad_outliers *o) {
    const packed *p = j->c.p;
    const quad_matrix *m = &p->panels;
    int64_t unit = j->c.inputs, n[2] = {0},
            all = j->flat ? qconv_places(j, t) * j->c.in_channels
                          : qconv_lines(p, 1, t->rows) * j->line;
    const uint8_t *from = j->flat ? qconv_lying(j, t->plane, t->row) : scratch;
    if (!j->flat) qconv_copy(j, t->plane, t->row, t->rows, scratch);
    *o = quad_outliers_in(j->bytes / unit, unit, j->c.zero, scratch + j->lists);
    o->width = m->k / unit;
    o->step = p->stride[2] * m->groups;
    o->segment = j->units;
    o->segments = m->sets * m->segments;
    for (int64_t k = 0; k < p->kernel[0]; k++) {
        int64_t at = k * j->slice;
        if (!m->kernels->clip(o, at / unit, (at + all) / unit, from + at, scratch + at, n))
            return false;
    }
    return true;
}

/* The rows of a chunk times two panels of a group. */
static void qconv_rows(const qconv_job *j, const qconv_chunk *t, int64_t group, int64_t panel,
                       const uint8_t *scratch, const quad_outliers *outliers, quad_hold *hold) {
    const packed *p = j->c.p;
    const quad_matrix *m = &p->panels;
    int64_t column = group * m->n + panel * QUAD_COLUMNS,
            place = (group * m->panels + panel) * QUAD_COLUMNS, total = j->c.places / j->planes;
    /* padding adds nothing, and sums of a row are those of one plane */
    bool zeros = j->way == QCONV_COPIED && !j->flat && !j->c.zero && !j->period &&
                 p->kernel[0] == 1 && m->sets == 1;
    quant_bytes to = {0};
    if (!j->c.start) {
        to = j->c.ready->to;
        to.scale += place;
        to.steps += place;
    }
    quad_strip s = {.end = j->way == QCONV_DIRECT ? j->c.end : scratch + j->bytes,
                    .segment = j->segment,
                    .small = j->c.small,
                    .outliers = outliers,
                    .start = (j->c.start ? j->c.start : j->c.ready->start) + place,
                    .bytes = j->c.start ? NULL : &to,
                    .floats = j->c.floats,
                    .column = column,
                    .period = j->period,
                    .keep = j->width,
                    .ldc = p->out_features};
    for (int64_t y = 0; y < (j->period ? 1 : t->rows); y++) {
        int64_t at = (t->row + y) * j->width;
        s.before = y;
        if (zeros)
            quad_strip_see(m, (t->row + y) * p->stride[1] - p->padding[1], p->dilation[1],
                           p->kernel[1], j->c.in[1], &s);
        s.rows = j->period ? (t->rows - 1) * j->period + j->width : qconv_width(j, t, y);
        s.out = j->c.out +
                ((t->plane * total + at) * p->out_features + column) * (j->c.start ? 4 : 1);
        s.a = qconv_first(j, t, group, y, scratch, &s.lda);
        if (outliers) s.clipped = ((const uint8_t *)s.a - scratch) / j->c.inputs;
        quad_strip_run(m, group, panel, int64_min(panel + m->kernels->panels, t->last), &s, hold);
    }
}

static void qconv_chunks(void *ctx, int64_t begin, int64_t end) {
    qconv_job *j = ctx;
    const quad_matrix *m = &j->c.p->panels;
    slot taken = slots_take(&j->slots);
    uint8_t *scratch = taken.memory;
    quad_hold hold = {0};
    quad_outliers outliers;
    bool clipped = false;
    for (int64_t i = begin; i < end; i++) {
        qconv_chunk t = qconv_chunk_of(j, i);
        bool first = i == begin || i % j->shares == 0;
        if (j->way == QCONV_COPIED && first) {
            clipped = j->clips && qconv_clip(j, &t, scratch, &outliers);
            if (!clipped) qconv_copy(j, t.plane, t.row, t.rows, scratch);
        }
        for (int64_t g = 0; g < m->groups; g++) {
            int64_t places = qconv_width(j, &t, 0);
            for (int64_t k = 0; j->way == QCONV_GATHERED && k < places; k++)
                qconv_gather(j, t.row * j->width + k, g, scratch + k * j->column);
            for (int64_t panel = t.first; panel < t.last; panel += m->kernels->panels)
                qconv_rows(j, &t, g, panel, scratch, clipped ? &outliers : NULL, &hold);
        }
    }
    quad_release(&hold);
    slots_give(&j->slots, taken);
}

/* ---- how a call is done ---------------------------------------------------------------------- */

/* A product of factors that are not negative; INT64_MAX where it is larger. */
static int64_t qconv_times(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static bool qconv_is_flat(const packed *p) {
    if (p->transposed) return false;
    for (int i = 0; i < 3; i++)
        if (p->kernel[i] != 1 || p->stride[i] != 1 || p->padding[i]) return false;
    return true;
}

/* Bytes of what a chunk of n rows copies. */
static int64_t qconv_band_bytes(const qconv_job *j, int64_t n) {
    const packed *p = j->c.p;
    int64_t line = qconv_times(qconv_lines(p, 2, j->c.place[2]), j->c.in_channels);
    return qconv_times(qconv_times(line, qconv_lines(p, 1, n)), p->kernel[0]);
}

/* Bytes of the input that a chunk reads, roughly. */
static int64_t qconv_room(const qconv_job *j) { return j->c.p->panels.kernels->block * 3 / 8; }

static void qconv_choose(qconv_job *j) {
    const packed *p = j->c.p;
    const quad_matrix *m = &p->panels;
    bool padded = p->padding[0] || p->padding[1] || p->padding[2];
    j->column = m->segments * m->quads * QUAD_BYTES;
    j->flat = qconv_is_flat(p) && m->k % QUAD_BYTES == 0;
    j->way = j->flat                                                    ? QCONV_DIRECT
             : p->transposed || qconv_band_bytes(j, 1) > QCONV_ROW_MOST ? QCONV_GATHERED
             : padded || m->k % QUAD_BYTES                              ? QCONV_COPIED
                                                                        : QCONV_DIRECT;
    j->clips = quad_clips(m, j->c.inputs) && !j->c.small && j->way != QCONV_GATHERED;
    if (j->clips) j->way = QCONV_COPIED;
    if (j->flat || j->way == QCONV_GATHERED) {
        j->width = j->flat ? QCONV_PLACES
                           : int64_max(QUAD_MAX_ROWS,
                                       int64_min(QCONV_PLACES, qconv_room(j) / j->column));
        j->width = int64_min(j->width, j->c.places);
        j->planes = 1;
        j->rows = (j->c.places + j->width - 1) / j->width;
    } else {
        j->width = j->c.place[2];
        j->planes = j->c.batch * j->c.place[0];
        j->rows = j->c.place[1];
    }
}

static void qconv_cut(qconv_job *j) {
    const packed *p = j->c.p;
    const quad_matrix *m = &p->panels;
    int64_t room = qconv_room(j);
    if (j->way == QCONV_GATHERED) j->band = 1;
    else if (j->flat) j->band = int64_max(1, room / (j->width * j->c.in_channels));
    else {
        int64_t one = qconv_band_bytes(j, 1), two = qconv_band_bytes(j, 2);
        j->band = one >= room ? 1 : 1 + (room - one) / (two - one);
    }
    j->band = int64_min(j->band, j->rows);
    j->bands = (j->rows + j->band - 1) / j->band;
    j->band = (j->rows + j->bands - 1) / j->bands;
    j->bands = (j->rows + j->band - 1) / j->band;
    int64_t pairs = (m->panels + m->kernels->panels - 1) / m->kernels->panels,
            chunks = j->planes * j->bands,
            shares = int64_min(pairs, (QCONV_CHUNKS + chunks - 1) / chunks);
    if (j->way == QCONV_GATHERED) shares = 1;
    j->share = (pairs + shares - 1) / shares * m->kernels->panels;
    j->shares = (m->panels + j->share - 1) / j->share;
}

/* Offsets of the segments from a position's first element. */
static void qconv_segments(qconv_job *j) {
    const packed *p = j->c.p;
    const quad_matrix *m = &p->panels;
    int64_t n = m->sets * m->segments, *to = j->segment,
            taps = packed_whole_rows(p) ? 1 : p->kernel[2];
    bool copied = j->way == QCONV_COPIED;
    j->line = copied ? qconv_lines(p, 2, j->c.place[2]) * j->c.in_channels
                     : j->c.in[2] * j->c.in_channels;
    j->slice = copied ? qconv_lines(p, 1, j->band) * j->line
                      : p->dilation[0] * j->c.in[1] * j->line;
    for (int64_t set = 0; set < m->sets; set++)
        for (int64_t s = 0; s < m->segments; s++)
            *to++ = j->way == QCONV_GATHERED
                        ? s * m->quads * QUAD_BYTES
                        : s / taps / p->kernel[1] * j->slice +
                              s / taps % p->kernel[1] * p->dilation[1] * j->line +
                              s % taps * p->dilation[2] * j->c.in_channels;
    j->units = j->segment + n;
    for (int64_t i = 0; j->clips && i < n; i++) j->units[i] = j->segment[i] / j->c.inputs;
}

/* A band's rows are one where that fills more tiles of registers than it adds. */
static int64_t qconv_period(const qconv_job *j) {
    const packed *p = j->c.p;
    const quad_kernels *u = p->panels.kernels;
    int64_t down = p->stride[1] * j->line, along = p->stride[2] * j->c.in_channels;
    bool rows = j->way == QCONV_COPIED || (j->way == QCONV_DIRECT && !j->flat);
    if (!u->begin || !rows || down % along || down / along < j->width) return 0;
    int64_t period = down / along, half = u->rows / 2,
            together = ((j->band - 1) * period + j->width + half - 1) / half;
    return together < j->band * ((j->width + half - 1) / half) ? period : 0;
}

static ctsc_status qconv_compute(op_ctx *cx, const qconv *c) {
    const quad_matrix *m = &c->p->panels;
    if (!c->places) return CTSC_OK;
    if (c->p->taps.data) return quant_depthwise_run(cx, c);
    qconv_job j = {.c = *c};
    size_t segments = 2 * (size_t)(m->sets * m->segments) * sizeof *j.segment;
    j.segment = recycle_alloc(segments);
    if (!j.segment) return diag_no_memory(cx->diag);
    qconv_choose(&j);
    qconv_cut(&j);
    qconv_segments(&j);
    j.period = qconv_period(&j);
    j.bytes = j.way == QCONV_COPIED     ? j.flat ? qconv_times(j.band, j.width * c->in_channels)
                                                 : qconv_times(j.slice, c->p->kernel[0])
                  : j.way == QCONV_GATHERED ? qconv_times(j.width, j.column)
                                        : 0;
    int64_t chunks = j.planes * j.bands * j.shares,
            work = qconv_times(j.band * j.width * j.share * QUAD_COLUMNS, j.column * m->groups);
    int64_t lists = j.clips ? quad_outliers_bytes(j.bytes / c->inputs, c->inputs) : 0;
    j.lists = (int64_min(j.bytes, PTRDIFF_MAX / 4) + QCONV_SLACK) / QCONV_SLACK * QCONV_SLACK;
    if (j.bytes > PTRDIFF_MAX / 4 || lists > PTRDIFF_MAX / 4 ||
        !slots_begin(&j.slots, (size_t)(j.lists + lists + QCONV_SLACK), chunks)) {
        recycle_free(j.segment, segments);
        return diag_no_memory(cx->diag);
    }
    bool whole = pool_for_limited(chunks, int64_max(1, QCONV_WORK / int64_max(work, 1)),
                                  qconv_chunks, &j);
    slots_end(&j.slots);
    recycle_free(j.segment, segments);
    return whole ? CTSC_OK : limits_fail(cx->diag);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static ctsc_status qconv_sizes(op_ctx *cx, const packed *p, const tensor *x, qconv *c,
                               int64_t *sizes) {
    int ndim = x->ndim, dims = p->dims;
    c->p = p;
    c->batch = x->sizes[0];
    c->in_channels = x->sizes[1];
    c->outputs = p->out_features / p->groups;
    c->inputs = p->transposed ? p->weight->sizes[0] / p->groups : p->weight->sizes[1];
    if (c->in_channels != c->inputs * p->groups)
        return kernel_fail(cx,
                           "quantized::conv%dd: Given groups=%lld, expected input to have %lld "
                           "channels, but got %lld "
                           "channels instead",
                           dims, (long long)p->groups, (long long)(c->inputs * p->groups),
                           (long long)c->in_channels);
    sizes[0] = c->batch;
    sizes[1] = p->out_features;
    for (int i = 0; i < 3; i++) {
        int k = i - (3 - dims);
        int64_t reach = p->dilation[i] * (p->kernel[i] - 1) + 1;
        c->in[i] = k < 0 ? 1 : x->sizes[ndim - dims + k];
        int64_t room = c->in[i] + 2 * p->padding[i] - reach;
        if (c->in[i] > INT32_MAX)
            return kernel_fail(cx, "quantized::conv%dd: the input is too large", dims);
        if (p->transposed)
            c->place[i] = (c->in[i] - 1) * p->stride[i] - 2 * p->padding[i] + reach +
                          p->output_padding[i];
        else c->place[i] = room < 0 ? 0 : room / p->stride[i] + 1;
        if (k >= 0) sizes[ndim - dims + k] = c->place[i];
        if (c->place[i] <= 0)
            return kernel_fail(
                cx, "quantized::conv%dd: each dimension of output tensor should be greater than 0",
                dims);
    }
    return CTSC_OK;
}

/* The input, channels-last and unsigned. */
static void qconv_take_input(qconv *c, const tensor *bytes) {
    const packed *p = c->p;
    const quad_kernels *u = quad_vectors(p->taps.data ? p->taps.kernels : p->panels.kernels);
    c->x = tensor_data(bytes);
    c->end = c->x + bytes->numel;
    c->places = c->batch * c->place[0] * c->place[1] * c->place[2];
    c->small = u->small && c->zero <= INT8_MAX && u->small(c->x, bytes->numel);
}

/* The result is channels-last. */
static ctsc_status qconv_run_static(op_ctx *cx, const packed *p, tensor *x, const quant_target *to,
                                    tensor **out) {
    qconv c = {.zero = (uint8_t)quant_unsigned_zero(x)};
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *last = NULL, *bytes = NULL, *made = NULL;
    TRY(qconv_sizes(cx, p, x, &c, sizes));
    ctsc_status st = CTSC_OK;
    TRY_OUT(tensor_new(cx->diag, to->dt, x->ndim, sizes, &made));
    quant_last_strides(made->ndim, sizes, made->strides);
    made->quantiser = quantiser_new(to->scale, to->zero);
    if (!made->quantiser) TRY_OUT(diag_no_memory(cx->diag));
    TRY_OUT(quant_to_channels_last(cx, x, &last));
    TRY_OUT(quant_unsigned(cx, last, &bytes));
    TRY_OUT(quant_ready_take(cx, p, x->quantiser->scale, c.zero, to, &c.ready));
    qconv_take_input(&c, bytes);
    c.out = tensor_data(made);
    TRY_OUT(qconv_compute(cx, &c));
out:
    tensor_unref(last);
    tensor_unref(bytes);
    quant_ready_give(p, c.ready);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

/* ---- operators ------------------------------------------------------------------------------- */

static ctsc_status qconv_check(op_ctx *cx, const packed *p, const tensor *x, double scale,
                               int64_t zero, int dims, bool transposed) {
    char what[40];
    snprintf(what, sizeof what, "quantized::conv%s%dd", transposed ? "_transpose" : "", dims);
    TRY(quant_need_affine(cx, x, what));
    if (x->dtype != DT_QUINT8 && x->dtype != DT_QINT8)
        return kernel_fail(cx, "%s: Expected activation data type QUInt8 but got %s", what,
                           dtype_table[x->dtype].ir_name);
    if (x->ndim != dims + 2)
        return kernel_fail(cx, "%s: Expected activation tensor to have %d dimensions, got %d", what,
                           dims + 2, x->ndim);
    if (p->transposed != transposed)
        return kernel_fail(cx, "%s: the packed parameters are %s transposed", what,
                           p->transposed ? "" : "not");
    if (p->dims != (dims == 1 ? 2 : dims))
        return kernel_fail(cx, "%s: the packed parameters have %d dimensions", what, p->dims);
    if (x->quantiser->zero_point < dtype_qmin((dtype)x->dtype) ||
        x->quantiser->zero_point > dtype_qmax((dtype)x->dtype))
        return kernel_fail(cx, "%s: input zero point out of range", what);
    if (!(scale > 0)) return kernel_fail(cx, "%s: output scale must be positive", what);
    if (zero < dtype_qmin((dtype)x->dtype) || zero > dtype_qmax((dtype)x->dtype))
        return kernel_fail(cx, "%s: output zero point out of range", what);
    return CTSC_OK;
}

static ctsc_status qconv_result(op_ctx *cx, const packed *p, tensor *x, int dims,
                                const quant_target *to, value *results) {
    tensor *wide = NULL, *out = NULL, *thin;
    if (dims != 1) {
        TRY(qconv_run_static(cx, p, x, to, &out));
        return op_return_tensor(results, out);
    }
    TRY(tensor_unsqueeze(cx->diag, x, 2, &wide));
    ctsc_status s = qconv_run_static(cx, p, wide, to, &out);
    tensor_unref(wide);
    TRY(s);
    s = tensor_squeeze_dim(cx->diag, out, 2, &thin);
    tensor_unref(out);
    TRY(s);
    return op_return_tensor(results, thin);
}

/* conv(x, packed, scale, zero_point) */
static ctsc_status qconv_op(op_ctx *cx, const value *args, const value *scale_arg, value *results,
                            int dims, bool transposed, bool relu) {
    const packed *p;
    tensor *x = args[0].u.tensor;
    double scale = arg_float(&scale_arg[0]);
    int64_t zero = arg_int(&scale_arg[1]);
    TRY(packed_of(cx, &args[1], PACKED_CONV, &p));
    TRY(qconv_check(cx, p, x, scale, zero, dims, transposed));
    quant_target to = quant_target_of((dtype)x->dtype, scale, zero, relu);
    return qconv_result(cx, p, x, dims, &to, results);
}

/* quantised_conv(self, packed, scale, zero_point, least, most): whatever the packed parameters are
 * of; where a dim is missing it is one of Conv1d */
OPERATOR(quantised_conv) {
    const packed *p;
    tensor *x = args[0].u.tensor;
    quant_target to = {.dt = DT_QUINT8, .fbgemm = true};
    TRY(quant_target_args(cx, args + 2, &to));
    TRY(packed_of(cx, &args[1], PACKED_CONV, &p));
    int dims = p->dims == 2 && x->ndim == 3 ? 1 : p->dims;
    TRY(qconv_check(cx, p, x, to.scale, to.zero, dims, p->transposed));
    return qconv_result(cx, p, x, dims, &to, results);
}

/* The sums of plain integers, or their numbers: channels last. */
static ctsc_status qconv_run_numbers(op_ctx *cx, const packed *p, tensor *x, qconv *c, dtype dt,
                                     tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *last = NULL, *bytes = NULL, *made = NULL;
    TRY(qconv_sizes(cx, p, x, c, sizes));
    ctsc_status st = CTSC_OK;
    TRY_OUT(tensor_new(cx->diag, dt, x->ndim, sizes, &made));
    quant_last_strides(made->ndim, sizes, made->strides);
    TRY_OUT(quant_to_channels_last(cx, x, &last));
    TRY_OUT(quant_unsigned(cx, last, &bytes));
    qconv_take_input(c, bytes);
    c->out = tensor_data(made);
    TRY_OUT(qconv_compute(cx, c));
out:
    tensor_unref(last);
    tensor_unref(bytes);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

/* Plain integers x less the zero point z (NULL: 0) times p's weights: sums, or with a scale in
 * numbers_args their numbers. */
static ctsc_status qconv_integers(op_ctx *cx, const packed *p, tensor *x, const tensor *z,
                                  const value *numbers_args, tensor **result) {
    tensor *wide = NULL, *out = NULL, *thin = NULL;
    bool moved = x->dtype == DT_INT8, numbers = !arg_is_none(&numbers_args[0]);
    bool line = p->dims == 2 && x->ndim == 3;
    if ((x->dtype != DT_UINT8 && !moved) || (z && (z->numel != 1 || z->dtype != x->dtype)))
        return kernel_fail(cx, "%s: expected integers of 8 bits and a zero point of theirs",
                           cx->op->key);
    if (!line && x->ndim != p->dims + 2)
        return kernel_fail(cx, "%s: the packed parameters are of another layer", cx->op->key);
    int64_t zero = (z ? tensor_item_int(z) : 0) + (moved ? 128 : 0),
            places = p->taps.data ? p->taps.blocks * 4 * p->taps.kernels->lanes
                                  : p->panels.groups * p->panels.panels * QUAD_COLUMNS;
    const int32_t *sums = p->taps.data ? p->taps.sums : p->panels.sums;
    size_t room = (size_t)(places + 2 * p->out_features) * sizeof(int32_t);
    int32_t *start = recycle_alloc(room);
    if (!start) return diag_no_memory(cx->diag);
    quant_floats to;
    qconv c = {.zero = (uint8_t)zero, .start = start, .floats = numbers ? &to : NULL};
    ctsc_status s = quant_numbers(cx, sums, places, p->out_features, zero, numbers_args, start,
                                  (float *)(void *)(start + places), &to);
    if (s == CTSC_OK && line) s = tensor_unsqueeze(cx->diag, x, 2, &wide);
    if (s == CTSC_OK)
        s = qconv_run_numbers(cx, p, wide ? wide : x, &c, numbers ? DT_FLOAT32 : DT_INT32, &out);
    if (s == CTSC_OK && line) {
        s = tensor_squeeze_dim(cx->diag, out, 2, &thin);
        tensor_unref(out);
        out = thin;
    }
    tensor_unref(wide);
    recycle_free(start, room);
    if (s == CTSC_OK) *result = out;
    return s;
}

/* integer_conv(self, packed, zero_point, scale, bias): as integer_linear */
OPERATOR(integer_conv) {
    const packed *p;
    tensor *out;
    TRY(packed_of(cx, &args[1], PACKED_CONV, &p));
    TRY(qconv_integers(cx, p, args[0].u.tensor, arg_tensor_or_null(&args[2]), args + 3, &out));
    return op_return_tensor(results, out);
}

/* ---- ONNX's ConvInteger ---------------------------------------------------------------------- */

/* Is z the zero point of bytes t, or, n > 1, one for each of n channels? */
static bool onnx_is_zero(const tensor *z, const tensor *t, int64_t n) {
    return !z || (z->dtype == t->dtype && tensor_is_contiguous(z) &&
                  (z->numel == 1 || (z->ndim == 1 && z->numel == n)));
}

/* The weight w less its zero points, as quantised by 1; signed. */
static ctsc_status onnx_weight(op_ctx *cx, tensor *w, const tensor *zero, tensor **out) {
    int moved = w->dtype == DT_UINT8 ? 128 : 0;
    int64_t n = zero && zero->numel > 1 ? zero->numel : 1;
    tensor *from = NULL, *made = NULL, *scales = NULL, *zeros = NULL;
    ctsc_status st = CTSC_OK;
    TRY_OUT(tensor_contiguous(cx->diag, w, &from));
    TRY_OUT(tensor_new(cx->diag, DT_QINT8, w->ndim, w->sizes, &made));
    TRY_OUT(tensor_new(cx->diag, DT_FLOAT64, 1, &n, &scales));
    TRY_OUT(tensor_new(cx->diag, DT_INT64, 1, &n, &zeros));
    for (int64_t i = 0; i < w->numel; i++)
        TENSOR_AT(made, uint8_t)[i] = (uint8_t)(TENSOR_AT(from, uint8_t)[i] - moved);
    for (int64_t i = 0; i < n; i++) {
        TENSOR_AT(scales, double)[i] = 1;
        TENSOR_AT(zeros, int64_t)
        [i] = (zero ? dtype_load_int((dtype)zero->dtype, (const char *)tensor_data(zero) + i) : 0) -
              moved;
    }
    made->quantiser = n > 1 ? quantiser_new_channels(QSCHEME_CHANNEL_AFFINE, scales, zeros, 0)
                            : quantiser_new(1, TENSOR_AT(zeros, int64_t)[0]);
    if (!made->quantiser) st = diag_no_memory(cx->diag);
out:
    tensor_unref(from);
    tensor_unref(scales);
    tensor_unref(zeros);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

/* A list of n ints. */
static value onnx_ints(int n, const int64_t *ints) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    for (int i = 0; l && i < n; i++) list_append_take(l, value_int(ints[i]));
    return l ? value_list_take(l) : value_none();
}

/* x with the zero point around it where pads (those before, then those after)
 * differ from side to side; *own: the pads that are left to the convolution. */
static ctsc_status onnx_padded(op_ctx *cx, const value *x, const tensor *z, const int64_t *pads,
                               int dims, value *own, value *out) {
    int64_t none[3] = {0}, sides[6];
    bool even = true;
    for (int i = 0; i < dims; i++) {
        even &= pads[i] >= 0 && pads[i] == pads[dims + i];
        sides[2 * (dims - 1 - i)] = pads[i];
        sides[2 * (dims - 1 - i) + 1] = pads[dims + i];
    }
    *own = onnx_ints(dims, even ? pads : none);
    if (even) return *out = value_ref(*x), own->tag == V_LIST ? CTSC_OK : diag_no_memory(cx->diag);
    value given[] = {*x, onnx_ints(2 * dims, sides), value_int(z ? tensor_item_int(z) : 0)};
    ctsc_status s = own->tag == V_LIST && given[1].tag == V_LIST
                        ? op_call(cx, "aten::constant_pad_nd", 3, given, out)
                        : diag_no_memory(cx->diag);
    value_unref(given[1]);
    return s;
}

/* onnx_conv_integer(x, w, x_zero, w_zero, stride, pads, dilation, groups): pads as ONNX has them.
 * Weights are packed at each call; the pass `quantise` packs constant ones once. */
OPERATOR(onnx_conv_integer) {
    static const char *const prepack[] = {"quantized::conv1d_prepack", "quantized::conv2d_prepack",
                                          "quantized::conv3d_prepack"};
    tensor *x = args[0].u.tensor, *w = args[1].u.tensor, *xz = arg_tensor_or_null(&args[2]),
           *wz = arg_tensor_or_null(&args[3]), *bytes = NULL, *out = NULL;
    const int64_t *stride, *pads, *dilation;
    int dims = x->ndim - 2;
    bool fits = (x->dtype == DT_UINT8 || x->dtype == DT_INT8) &&
                (w->dtype == DT_UINT8 || w->dtype == DT_INT8) && dims >= 1 && dims <= 3 &&
                w->ndim == x->ndim && w->numel && x->numel && onnx_is_zero(xz, x, 1) &&
                onnx_is_zero(wz, w, w->sizes[0]) && arg_ints(&args[4], &stride) == dims &&
                arg_ints(&args[5], &pads) == 2 * dims && arg_ints(&args[6], &dilation) == dims &&
                w->numel / w->sizes[0] <= QCONV_MOST_PRODUCTS &&
                x->storage->device == DEVICE_HOST && w->storage->device == DEVICE_HOST;
    if (!fits) return op_host_installed->composite(cx, args, results);
    value pack[] = {value_none(), value_none(), args[4], value_none(), args[6], args[7]},
          padded = value_none(), object = value_none(), none[2] = {value_none(), value_none()};
    const packed *p;
    ctsc_status st = CTSC_OK;
    TRY_OUT(onnx_padded(cx, &args[0], xz, pads, dims, &pack[3], &padded));
    TRY_OUT(onnx_weight(cx, w, wz, &bytes));
    pack[0] = (value){.tag = V_TENSOR, .u.tensor = bytes};
    TRY_OUT(op_call(cx, prepack[dims - 1], 6, pack, &object));
    TRY_OUT(packed_of(cx, &object, PACKED_CONV, &p));
    TRY_OUT(qconv_integers(cx, p, padded.u.tensor, xz, none, &out));
out:
    value_unref(object);
    value_unref(padded);
    value_unref(pack[3]);
    tensor_unref(bytes);
    return st == CTSC_OK ? op_return_tensor(results, out) : st;
}

#define QCONV(name, dims, transposed, relu)                                                        \
    OPERATOR(quantized_##name) {                                                                   \
        return qconv_op(cx, args, args + 2, results, dims, transposed, relu);                      \
    }
QCONV(conv1d, 1, false, false)
QCONV(conv1d_relu, 1, false, true)
QCONV(conv2d, 2, false, false)
QCONV(conv2d_relu, 2, false, true)
QCONV(conv3d, 3, false, false)
QCONV(conv3d_relu, 3, false, true)
QCONV(conv_transpose1d, 1, true, false)
QCONV(conv_transpose2d, 2, true, false)
QCONV(conv_transpose3d, 3, true, false)

/* The older form: conv(x, packed, stride, padding, dilation, groups,
 * scale, zero_point), whose geometry is also in the packed parameters */
#define QCONV_OLD(name, dims, relu)                                                                \
    OPERATOR(quantized_##name##_old) {                                                             \
        return qconv_op(cx, args, args + 6, results, dims, false, relu);                           \
    }
QCONV_OLD(conv2d, 2, false)
QCONV_OLD(conv2d_relu, 2, true)
QCONV_OLD(conv3d, 3, false)
QCONV_OLD(conv3d_relu, 3, true)
