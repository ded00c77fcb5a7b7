/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quad_matrix.c - weights in panels of quads, strips
 * of rows, and the epilogues of sums (quad_matrix.h).
 *
 * Method, of bytes. Activations are multiplied as unsigned bytes; their zero point, times
 * the sum of a column's weights, is the initial value of the sums. The padding around the
 * input of a convolution is therefore the zero point, not 0. Weights minus their zero point
 * are bytes if it is 0, as in PyTorch's archives; otherwise the excess goes to a second
 * set, and a third. Invariant: sums are exact modulo 2^32, and wrap as PyTorch's do.
 *
 * Sums of bfloat16 begin with the bias; full tiles are stored directly to the result.
 * Tests: tests/unit/test_quantized_bytes.c, tests/unit/test_quantized.c,
 * tests/unit/test_precision.c
 */
#include "runtime/kernels/matmul/quad_matrix.h"
#include "base/minmax.h"

#include "base/memory/mem.h"
#include "cpu/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUAD_WIDE_PART = 2,
    QUAD_ALIGN = 64,
    QUAD_BLOCK_ROWS = 256, /* of a block, at most: there shall be several for the threads */
};

/* ---- packing bfloat16 ------------------------------------------------------------------------ */

static int64_t quad_filled(const quad_kernels *u, int64_t quads) {
    return (quads + u->depth - 1) / u->depth * u->depth;
}

bool quad_matrix_bf16(quad_matrix *m, size_t *bytes) {
    int64_t all;
    m->quads = m->k / QUAD_PAIR;
    m->filled = quad_filled(m->kernels, m->quads);
    m->sets = 1;
    m->panels = (m->n + QUAD_COLUMNS - 1) / QUAD_COLUMNS;
    if (__builtin_mul_overflow(m->segments, m->filled * QUAD_PANEL, &all) ||
        __builtin_mul_overflow(all, m->groups * m->panels, &all))
        return false;
    *bytes = (size_t)all;
    return true;
}

void quad_matrix_put(const quad_matrix *m, int64_t group, int64_t j, const float *column) {
    int64_t segment = m->filled * QUAD_PANEL,
            panel = (group * m->panels + j / QUAD_COLUMNS) * m->segments * segment;
    for (int64_t s = 0; s < m->segments; s++, column += m->k) {
        bfloat16 *to = (bfloat16 *)(void *)(m->data + panel + s * segment) +
                       j % QUAD_COLUMNS * QUAD_PAIR;
        for (int64_t i = 0; i < m->k; i += QUAD_PAIR, to += QUAD_COLUMNS * QUAD_PAIR)
            for (int e = 0; e < QUAD_PAIR; e++) to[e] = bfloat16_from_float(column[i + e]);
    }
}

/* ---- packing bytes --------------------------------------------------------------------------- */

/* Room for data and sums, aligned and zeroed. */
static bool quad_room(int64_t columns, int64_t bytes_each, void **block, int8_t **data,
                      int32_t **sums) {
    int64_t bytes, head = columns * (int64_t)sizeof **sums;
    if (__builtin_mul_overflow(columns, bytes_each, &bytes) ||
        bytes > INT64_MAX / 2 - head - QUAD_ALIGN)
        return false;
    *block = mem_zalloc((size_t)(bytes + head) + QUAD_ALIGN);
    if (!*block) return false;
    *data = (int8_t *)(((uintptr_t)*block + QUAD_ALIGN - 1) & ~(uintptr_t)(QUAD_ALIGN - 1));
    *sums = (int32_t *)(void *)(*data + bytes);
    return true;
}

/* How many bytes the largest of n elements takes. */
static int64_t quad_sets(const int16_t *v, int64_t n, int64_t sets) {
    for (int64_t i = 0; i < n; i++)
        while (v[i] > sets * INT8_MAX || v[i] < sets * INT8_MIN) sets++;
    return sets;
}

/* Takes from v what fits into a byte. */
static int8_t quad_part(int16_t *v) {
    int8_t part = (int8_t)int64_max(INT8_MIN, int64_min(INT8_MAX, *v));
    *v = (int16_t)(*v - part);
    return part;
}

static int32_t quad_sum(const int16_t *v, int64_t n) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (uint32_t)v[i];
    return (int32_t)sum;
}

static void quad_matrix_put_bytes(quad_matrix *m, int64_t group, int64_t j, int16_t *v) {
    int64_t panel = group * m->panels + j / QUAD_COLUMNS, c = j % QUAD_COLUMNS,
            set_bytes = m->segments * m->filled * QUAD_PANEL;
    m->sums[panel * QUAD_COLUMNS + c] = quad_sum(v, m->segments * m->k);
    for (int64_t set = 0; set < m->sets; set++) {
        int8_t *to = m->data + (panel * m->sets + set) * set_bytes + c * QUAD_BYTES;
        for (int64_t s = 0; s < m->segments; s++, to += m->filled * QUAD_PANEL)
            for (int64_t i = 0; i < m->k; i++)
                to[i / QUAD_BYTES * QUAD_PANEL + i % QUAD_BYTES] = quad_part(&v[s * m->k + i]);
    }
}

/* Do the products of activations of at most `most` with pairs of bytes, from `quads` quads of a
 * panel that lie one after the other, add up in 16 bits, whatever the activations are? */
static bool quad_fits(const int8_t *data, int quads, int most) {
    for (int i = 0; i < QUAD_PANEL; i += 2) {
        int above = 0, below = 0;
        for (int q = 0; q < 2 * quads; q++) {
            int v = data[i + q / 2 * QUAD_PANEL + q % 2];
            *(v > 0 ? &above : &below) += v;
        }
        if (above * most > INT16_MAX || below * most < INT16_MIN) return false;
    }
    return true;
}

/* A panel with many quads that lack a mark gets none of that kind: a branch that is hard to predict
 * costs more than it saves. */
static void quad_panel_narrow(const quad_matrix *m, const int8_t *data, int64_t segments,
                              uint8_t *to) {
    int64_t quads = m->quads, pairs = quad_pairs(quads), wide = 0, unsafe = 0;
    for (int64_t s = 0; s < segments; s++)
        for (int64_t q = 0; q < quads; q++) {
            const int8_t *at = data + (s * m->filled + q) * QUAD_PANEL;
            bool safe = quad_fits(at, 1, UINT8_MAX), first = q % 2 == 0;
            bool narrow = first && q + 1 < quads && quad_fits(at, 2, INT8_MAX);
            to[s * pairs + q / 2] |= (narrow ? QUAD_NARROW : 0) | (safe ? QUAD_SAFE << q % 2 : 0);
            wide += first && q + 1 < quads && !narrow;
            unsafe += !safe;
        }
    int keep = (wide > segments * (quads / 2) / QUAD_WIDE_PART ? 0 : QUAD_NARROW) |
               (unsafe > segments * quads / QUAD_WIDE_PART ? 0 : 3 * QUAD_SAFE);
    for (int64_t i = 0; i < segments * pairs; i++) to[i] &= (uint8_t)keep;
}

static bool quad_matrix_narrow(quad_matrix *m) {
    int64_t segments = m->sets * m->segments, each = segments * quad_pairs(m->quads),
            panels = m->groups * m->panels;
    m->narrow = mem_zalloc((size_t)(panels * each) + 1);
    for (int64_t p = 0; m->narrow && p < panels; p++)
        quad_panel_narrow(m, m->data + p * segments * m->filled * QUAD_PANEL, segments,
                          m->narrow + p * each);
    return m->narrow != NULL;
}

bool quad_matrix_make(quad_matrix *m, int64_t groups, int64_t n, int64_t segments, int64_t k,
                      void (*column)(const void *ctx, int64_t group, int64_t j, int16_t *to),
                      const void *ctx) {
    *m = (quad_matrix){.kernels = ukernel_quad(UKERNEL_BYTES),
                       .n = n,
                       .groups = groups,
                       .segments = segments,
                       .k = k,
                       .quads = (k + QUAD_BYTES - 1) / QUAD_BYTES,
                       .sets = 1,
                       .panels = (n + QUAD_COLUMNS - 1) / QUAD_COLUMNS};
    m->filled = quad_filled(m->kernels, m->quads);
    int64_t columns, each;
    int16_t *v = mem_alloc((size_t)(segments * k) * sizeof *v + 1);
    bool made = v != NULL;
    for (int64_t j = 0; made && j < groups * n; j++) {
        column(ctx, j / n, j % n, v);
        m->sets = quad_sets(v, segments * k, m->sets);
    }
    made = made && !__builtin_mul_overflow(groups, m->panels * QUAD_COLUMNS, &columns) &&
           !__builtin_mul_overflow(segments, m->filled * m->sets * QUAD_BYTES, &each) &&
           quad_room(columns, each, &m->block, &m->data, &m->sums);
    for (int64_t j = 0; made && j < groups * n; j++) {
        column(ctx, j / n, j % n, v);
        quad_matrix_put_bytes(m, j / n, j % n, v);
    }
    mem_free(v);
    return made && quad_matrix_narrow(m);
}

void quad_matrix_free(quad_matrix *m) {
    mem_free(m->narrow);
    mem_free(m->block);
    *m = (quad_matrix){0};
}

static void quad_taps_put(quad_taps *t, int64_t c, int16_t *v) {
    int lanes = t->kernels->lanes;
    int64_t size = 4 * lanes, block = c / size, place = 0;
    while (quant_place_channel(lanes, place) != c % size) place++;
    t->sums[block * size + place] = quad_sum(v, t->rows * t->width);
    for (int64_t set = 0; set < t->sets; set++)
        for (int64_t r = 0; r < t->rows; r++) {
            int64_t quad = (block * t->sets + set) * t->quads + r / QUAD_BYTES;
            for (int64_t x = 0; x < t->width; x++)
                t->data[((quad * t->width + x) * size + place) * QUAD_BYTES + r % QUAD_BYTES] =
                    quad_part(&v[r * t->width + x]);
        }
}

bool quad_taps_make(quad_taps *t, int64_t channels, int64_t rows, int64_t width,
                    void (*channel)(const void *ctx, int64_t c, int64_t zero, int16_t *to),
                    const void *ctx) {
    *t = (quad_taps){.kernels = quad_vectors(ukernel_quad(UKERNEL_BYTES)),
                     .channels = channels,
                     .rows = rows,
                     .width = width,
                     .quads = (rows + QUAD_BYTES - 1) / QUAD_BYTES,
                     .sets = 1};
    int64_t size = 4 * t->kernels->lanes, each;
    t->blocks = (channels + size - 1) / size;
    int16_t *v = mem_alloc((size_t)(rows * width) * sizeof *v + 1);
    bool made = v != NULL;
    for (int64_t c = 0; made && c < channels; c++) {
        channel(ctx, c, 0, v);
        t->sets = quad_sets(v, rows * width, t->sets);
    }
    made = made && !__builtin_mul_overflow(width, t->quads * t->sets * QUAD_BYTES, &each) &&
           quad_room(t->blocks * size, each, &t->block, &t->data, &t->sums);
    for (int64_t c = 0; made && c < channels; c++) {
        channel(ctx, c, 0, v);
        quad_taps_put(t, c, v);
    }
    mem_free(v);
    return made;
}

void quad_taps_free(quad_taps *t) {
    mem_free(t->block);
    *t = (quad_taps){0};
}

/* ---- sums that stay numbers ------------------------------------------------------------------ */

static VECTOR_FUSED_CLONES void quant_floats_fused(const int32_t *sums, const float *scale,
                                                   const float *bias, bool relu, int64_t n,
                                                   float *out) {
    for (int64_t i = 0; i < n; i++) {
        float v = fmaf((float)sums[i], scale[i], bias[i]);
        out[i] = relu && v < 0 ? 0 : v;
    }
}

static VECTOR_CLONES void quant_floats_plain(const int32_t *sums, const float *scale,
                                             const float *bias, bool relu, int64_t n, float *out) {
    for (int64_t i = 0; i < n; i++) {
        float product = (float)sums[i] * scale[i];
        float v = bias ? product + bias[i] : product;
        out[i] = relu && v < 0 ? 0 : v;
    }
}

void quant_store_floats(const quant_floats *to, const int32_t *sums, int64_t column, int64_t n,
                        float *out) {
    const float *bias = to->bias ? to->bias + column : NULL;
    if (to->fused && bias) quant_floats_fused(sums, to->scale + column, bias, to->relu, n, out);
    else quant_floats_plain(sums, to->scale + column, bias, to->relu, n, out);
}

/* ---- the sums of a tile ---------------------------------------------------------------------- */

enum { QUAD_ROW_COLUMNS = QUAD_ROW_PANELS * QUAD_COLUMNS };

/* The epilogue of a tile, ld floats from row to row. at: of out's elements, the first. */
static void quad_store_numbers(const quad_strip *s, float *sums, int64_t ld, int rows, int cols,
                               int64_t at) {
    float low = -INFINITY, high = INFINITY;
    const bfloat16 *other = s->other && s->half_other ? (const bfloat16 *)s->other + at : NULL;
    for (int i = 0; s->other && !s->half_other && i < rows; i++)
        ukernel_activation()->add(sums + i * ld, (const float *)s->other + at + i * s->ldc, cols);
    if (s->halves) {
        bfloat16 *out = (bfloat16 *)s->out + at;
        /* a bound that is a number of 16 bits may be put before or after rounding */
        bool bounds = activation_bounds(s->activation, &low, &high);
        if (!bounds) {
            bfloat16_settle(sums, ld, other, s->ldc, true, rows, cols);
            activation_apply(s->activation, sums, rows * ld);
            other = NULL;
        }
        bfloat16_rows_from_floats(sums, ld, other, out, s->ldc, rows, cols, low, high);
        return;
    }
    float *out = (float *)s->out + at;
    if (other) bfloat16_settle(sums, ld, other, s->ldc, false, rows, cols);
    activation_apply(s->activation, sums, rows * ld);
    for (int i = 0; i < rows; i++, sums += ld, out += s->ldc)
        memcpy(out, sums, (size_t)cols * sizeof *out);
}

static quant_bytes quad_bytes_at(const quant_bytes *to, int64_t column) {
    quant_bytes at = *to;
    at.scale += column;
    at.steps += column;
    return at;
}

/* Sums of a tile at row stride ld; cols of each row exist. */
static void quad_strip_store(const quad_strip *s, const quad_kernels *u, int32_t *sums, int64_t ld,
                             int64_t row, int rows, int64_t column, int cols) {
    int64_t at = row * s->ldc + column;
    if (s->bytes) {
        quant_bytes to = quad_bytes_at(s->bytes, column);
        u->store(sums, rows, cols, &to, (uint8_t *)s->out + at, s->ldc);
        return;
    }
    if (!s->floats) {
        quad_store_numbers(s, (float *)(void *)sums, ld, rows, cols, at);
        return;
    }
    float *out = (float *)s->out + at;
    for (int i = 0; i < rows; i++, sums += ld, out += s->ldc)
        quant_store_floats(s->floats, sums, s->column + column, cols, out);
}

/* The same for the rows that are results. */
static void quad_strip_kept(const quad_strip *s, const quad_kernels *u, int32_t *sums, int64_t ld,
                            int64_t row, int64_t rows, int64_t column, int cols) {
    int64_t period = s->period ? s->period : s->rows, keep = s->period ? s->keep : s->rows;
    for (int64_t some; rows > 0; row += some, rows -= some, sums += some * ld) {
        int64_t x = row % period, there = int64_min(rows, keep - x);
        some = int64_min(rows, period - x);
        if (there > 0)
            quad_strip_store(s, u, sums, ld, row / period * keep + x, (int)there, column, cols);
    }
}

/* ---- outliers -------------------------------------------------------------------------------- */

/* Cycles by measurement on Zen 3, for each row: to clip a quad of its unit, what a quad of a panel
 * takes less when clipped, some outliers included, and what a panel's outliers take at least. */
static const double clip_cost = 1.6, clip_gain = 0.5, amend_cost = 7;
enum { OUTLIER_PART = 6 }; /* of the quads, that may be outliers */

bool quad_clips(const quad_matrix *m, int64_t unit) {
    int64_t quads = m->sets * m->segments * m->quads;
    double gain = (double)m->panels * (clip_gain * (double)quads - amend_cost);
    return m->kernels->clip && unit % QUAD_BYTES == 0 &&
           gain > clip_cost * (double)(unit / QUAD_BYTES);
}

static int64_t quad_outliers_most(int64_t units, int64_t unit) {
    return units * unit / QUAD_BYTES / OUTLIER_PART + unit + QUAD_BYTES;
}

int64_t quad_outliers_bytes(int64_t units, int64_t unit) {
    int64_t bytes;
    if (__builtin_mul_overflow(units, unit, &bytes) || bytes > INT32_MAX) return INT64_MAX;
    return (4 * quad_outliers_most(units, unit) + 4 * units) * (int64_t)sizeof(uint32_t);
}

quad_outliers quad_outliers_in(int64_t units, int64_t unit, int64_t zero, void *memory) {
    quad_outliers o = {.at = memory, .unit = unit, .most = quad_outliers_most(units, unit)};
    o.quad = o.at + 2 * o.most;
    o.span = (int32_t *)(o.quad + 2 * o.most);
    /* with the zero point in its middle, as far as bytes go */
    o.low = (uint8_t)int64_min(int64_max(zero - 64, 0), INT8_MAX + 1);
    return o;
}

/* ---- strips ---------------------------------------------------------------------------------- */

/* start for clipped rows, whose elements were moved by -low. */
static const void *quad_clipped_start(const quad_matrix *m, int64_t low, int64_t place, int panels,
                                      const int32_t *start, int32_t *room) {
    if (!low) return start;
    for (int i = 0; i < panels * QUAD_COLUMNS; i++)
        room[i] = (int32_t)((uint32_t)start[i] + (uint32_t)low * (uint32_t)m->sums[place + i]);
    return room;
}

/* What the sums of some panels begin with. */
static const void *quad_strip_start(const quad_strip *s, int64_t column, int panels, int cols,
                                    int32_t *room) {
    const int32_t *start = s->start ? (const int32_t *)s->start + column : NULL;
    if (start && (s->bytes || s->floats || cols == panels * QUAD_COLUMNS)) return start;
    memset(room, 0, QUAD_ROW_COLUMNS * sizeof *room);
    if (start) memcpy(room, start, (size_t)cols * sizeof *room);
    return room;
}

/* The kernels for strips of a layer of this many rows. */
static const quad_kernels *quad_strip_kernels(const quad_matrix *m, int64_t rows) {
    const quad_kernels *u = m->kernels;
    return u->vectors && (rows < u->least_rows || m->quads < u->least_quads) ? u->vectors : u;
}

/* Rows of the first tile of those that are left. Tiles of vectors are as even as they can be; those
 * of registers have a half or all of their rows, except for the last one. */
static int quad_tile_rows(const quad_kernels *u, int64_t left) {
    int64_t most = u->rows, half = most / 2;
    if (u->heights) return left < QUAD_HEIGHTS ? u->heights[left] : u->rows;
    if (!u->begin) return (int)(left / ((left + most - 1) / most));
    return (int)(left <= most ? left : left < most + half ? half : most);
}

/* Has a tile prefetch of the panels that come next, `ahead` at most, this many lines in each
 * step that all of them are there after the first strip. Vectors take one, strip after
 * strip, until they are. */
static void quad_strip_prefetch(const quad_strip *s, const quad_kernels *u, int64_t ahead,
                                quad_tile *t) {
    int64_t tiles = (s->rows + u->rows - 1) / u->rows;
    t->lines = (int64_max(ahead, 0) * u->depth + tiles - 1) / tiles;
    if (u->depth == 1) {
        t->lines = int64_min(t->lines, 1);
        t->next += s->before * tiles * t->segments * t->filled * QUAD_PANEL;
    } else if (s->before) t->lines = 0;
}

static void quad_take(quad_hold *h, const quad_kernels *u, int64_t rows) {
    int all = (int)int64_min(rows, u->rows / 2);
    if (!u->begin || (h->kernels == u && h->rows == all)) return;
    u->begin(all);
    *h = (quad_hold){u, all};
}

void quad_release(quad_hold *h) {
    if (h->kernels) h->kernels->end();
    *h = (quad_hold){0};
}

int64_t quad_block_rows(const quad_matrix *m, int64_t bytes) {
    const quad_kernels *u = m->kernels;
    int64_t fit = int64_min(u->block / int64_max(bytes, 1), QUAD_BLOCK_ROWS) / u->rows;
    return int64_max(fit, 1) * u->rows;
}

/* Prefetches the rows that a tile's sums will be added to, while the sums are computed. */
static void quad_prefetch_other(const quad_strip *s, int64_t row, int rows, int64_t column) {
    int64_t size = s->half_other ? sizeof(bfloat16) : sizeof(float);
    const char *at = (const char *)s->other + (row * s->ldc + column) * size;
    for (int i = 0; i < rows; i++, at += s->ldc * size) {
        __builtin_prefetch(at);
        if (!s->half_other) __builtin_prefetch(at + 64);
    }
}

void quad_strip_see(const quad_matrix *m, int64_t y, int64_t step, int64_t taps, int64_t rows,
                    quad_strip *s) {
    int64_t first = y < 0 ? (step - 1 - y) / step : 0,
            last = y < rows ? int64_min(taps, (rows - y + step - 1) / step) : 0;
    if (first >= last) first = 0, last = taps;
    s->from = first * (m->segments / taps);
    s->some = (last - first) * (m->segments / taps);
}

void quad_strip_run(const quad_matrix *m, int64_t group, int64_t first, int64_t last,
                    const quad_strip *s, quad_hold *h) {
    _Alignas(64) int32_t sums[QUAD_MAX_ROWS * QUAD_TILE_COLUMNS];
    int32_t start[QUAD_ROW_COLUMNS];
    const quad_kernels *u = s->lanes ? quad_vectors(m->kernels)
                                     : quad_strip_kernels(m, s->of ? s->of : s->rows);
    int64_t segments = m->sets * m->segments, panel = segments * m->filled * QUAD_PANEL;
    quad_tile t = {.lda = s->lda,
                   .end = s->end,
                   .segment = s->segment + s->from,
                   .segments = s->some ? s->some : segments,
                   .lanes = s->lanes,
                   .quads = m->quads,
                   .filled = m->filled,
                   .narrows = segments * quad_pairs(m->quads),
                   .small = s->small || s->outliers,
                   .panel = panel};
    /* sums are the result */
    bool numbers = !s->bytes && !s->floats && !s->halves && !s->period && !s->other &&
                   s->activation == DENSE_PLAIN;
    quad_take(h, u, s->rows);
    for (int64_t p = first, panels; p < last; p += panels) {
        bool one = s->rows == 1 && u->row && last - p >= QUAD_ROW_PANELS;
        panels = one ? QUAD_ROW_PANELS : int64_min(u->panels, last - p);
        int64_t column = (p - first) * QUAD_COLUMNS,
                ahead = int64_min(u->panels, m->panels - p - panels);
        int cols = (int)int64_min(panels * QUAD_COLUMNS, m->n - p * QUAD_COLUMNS);
        if (s->lanes) cols = s->columns;
        bool full = cols == panels * QUAD_COLUMNS, direct = numbers && full;
        quant_bytes to;
        t.bytes = NULL;
        if (s->bytes && s->bytes->plain && u->direct && panels == u->panels && full && !s->period &&
            !s->outliers) {
            to = quad_bytes_at(s->bytes, column);
            t.bytes = &to;
            t.ldc = s->ldc;
        }
        const int8_t *b = m->data + (group * m->panels + p) * panel,
                     *end = b + (panels + ahead) * panel;
        t.b = b + s->from * m->filled * QUAD_PANEL;
        t.next = b + panels * panel;
        quad_strip_prefetch(s, u, ahead, &t);
        if (m->narrow)
            t.narrow = m->narrow +
                       ((group * m->panels + p) * segments + s->from) * quad_pairs(m->quads);
        t.start = quad_strip_start(s, column, (int)panels, cols, start);
        if (s->outliers)
            t.start = quad_clipped_start(m, s->outliers->low,
                                         (group * m->panels + p) * QUAD_COLUMNS, (int)panels,
                                         t.start, start);
        /* a tile's sums are contiguous, unless they are needed elsewhere */
        t.ld = direct ? s->ldc : s->bytes ? QUAD_TILE_COLUMNS : panels * QUAD_COLUMNS;
        for (int64_t row = 0, rows; row < s->rows; row += rows) {
            rows = quad_tile_rows(u, s->rows - row);
            t.a = (const uint8_t *)s->a + row * s->lda;
            if (t.bytes) t.out = (uint8_t *)s->out + row * s->ldc + column;
            t.sums = direct ? (void *)((float *)s->out + row * s->ldc + column) : sums;
            if (s->other && !s->period) quad_prefetch_other(s, row, (int)rows, column);
            if (s->lanes) u->groups((int)rows, &t);
            else if (one) u->row(&t);
            else u->tile((int)rows, (int)panels, &t);
            if (s->outliers)
                u->amend((int)rows, (int)panels, &t, b, s->outliers,
                         s->clipped + row * s->outliers->step);
            if (!direct && !t.bytes)
                quad_strip_kept(s, quad_vectors(u), sums, t.ld, row, rows, column, cols);
            t.next += t.lines * (t.segments * t.filled / u->depth) * 64;
            if (t.next >= end) t.lines = 0;
        }
    }
}
