/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_gemm.c - the product of integer matrices: weights in panels, strips of rows, and what
 * becomes of sums.
 *
 * Method. Activations are multiplied as the unsigned bytes they are; their zero point, times the
 * sum of a column's weights, is what the sums begin with. What lies beside the input of a
 * convolution is therefore the zero point, not 0. Weights less their zero point are bytes where
 * that is 0, as it is in PyTorch's archives; of others the rest goes to a second set, and a third.
 * Invariant: sums are exact modulo 2^32, and wrap as PyTorch's do.
 * Tests: tests/unit/test_quantized_bytes.c, tests/unit/test_quantized.c
 */
#include "runtime/kernels/quantised/quantized.h"

#include <stdlib.h>
#include <string.h>

enum { QUANT_WIDE_PART = 2 };

/* ---- packing --------------------------------------------------------------------------------- */

/* Room for data and sums, aligned and zeroed. */
static bool quant_room(int64_t columns, int64_t bytes_each, void **block, int8_t **data,
                       int32_t **sums) {
    int64_t bytes, head = columns * (int64_t)sizeof **sums;
    if (__builtin_mul_overflow(columns, bytes_each, &bytes) ||
        bytes > INT64_MAX / 2 - head - TENSOR_ALIGNMENT)
        return false;
    *block = mem_zalloc((size_t)(bytes + head) + TENSOR_ALIGNMENT);
    if (!*block) return false;
    *data = (int8_t *)(((uintptr_t)*block + TENSOR_ALIGNMENT - 1) &
                       ~(uintptr_t)(TENSOR_ALIGNMENT - 1));
    *sums = (int32_t *)(void *)(*data + bytes);
    return true;
}

/* How many bytes the largest of n elements takes. */
static int64_t quant_sets(const int16_t *v, int64_t n, int64_t sets) {
    for (int64_t i = 0; i < n; i++)
        while (v[i] > sets * INT8_MAX || v[i] < sets * INT8_MIN) sets++;
    return sets;
}

/* Takes from v what fits into a byte. */
static int8_t quant_part(int16_t *v) {
    int8_t part = (int8_t)nn_max(INT8_MIN, nn_min(INT8_MAX, *v));
    *v = (int16_t)(*v - part);
    return part;
}

static int32_t quant_sum(const int16_t *v, int64_t n) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (uint32_t)v[i];
    return (int32_t)sum;
}

static void quant_panels_put(quant_panels *m, int64_t group, int64_t j, int16_t *v) {
    int64_t panel = group * m->panels + j / QUAD_COLUMNS, c = j % QUAD_COLUMNS,
            set_bytes = m->stretches * m->quads * QUAD_PANEL;
    m->sums[panel * QUAD_COLUMNS + c] = quant_sum(v, m->stretches * m->k);
    for (int64_t set = 0; set < m->sets; set++) {
        int8_t *to = m->data + (panel * m->sets + set) * set_bytes + c * QUAD_BYTES;
        for (int64_t s = 0; s < m->stretches; s++, to += m->quads * QUAD_PANEL)
            for (int64_t i = 0; i < m->k; i++)
                to[i / QUAD_BYTES * QUAD_PANEL + i % QUAD_BYTES] = quant_part(&v[s * m->k + i]);
    }
}

/* Can the sums of two products at a time, of these two quads of a panel with bytes of at most 127,
 * be added in 16 bits? */
static bool quant_is_narrow(const int8_t *quads) {
    for (int i = 0; i < QUAD_PANEL; i += 2) {
        const int8_t *a = quads + i, *b = a + QUAD_PANEL;
        if ((abs(a[0]) + abs(a[1]) + abs(b[0]) + abs(b[1])) * 127 > INT16_MAX) return false;
    }
    return true;
}

/* Of a panel of which many pairs are not narrow none is: a branch that is hard to predict costs
 * more than it saves. */
static void quant_panel_narrow(const int8_t *data, int64_t stretches, int64_t quads, uint8_t *to) {
    int64_t pairs = quad_pairs(quads), wide = 0;
    for (int64_t s = 0; s < stretches; s++)
        for (int64_t q = 0; q + 1 < quads; q += 2) {
            bool narrow = quant_is_narrow(data + (s * quads + q) * QUAD_PANEL);
            to[s * pairs + q / 2] = narrow;
            wide += !narrow;
        }
    if (wide > stretches * (quads / 2) / QUANT_WIDE_PART)
        memset(to, 0, (size_t)(stretches * pairs));
}

static bool quant_panels_narrow(quant_panels *m) {
    int64_t stretches = m->sets * m->stretches, each = stretches * quad_pairs(m->quads),
            panels = m->groups * m->panels;
    m->narrow = mem_zalloc((size_t)(panels * each) + 1);
    for (int64_t p = 0; m->narrow && p < panels; p++)
        quant_panel_narrow(m->data + p * stretches * m->quads * QUAD_PANEL, stretches, m->quads,
                           m->narrow + p * each);
    return m->narrow != NULL;
}

bool quant_panels_make(quant_panels *m, int64_t groups, int64_t n, int64_t stretches, int64_t k,
                       void (*column)(const void *ctx, int64_t group, int64_t j, int16_t *to),
                       const void *ctx) {
    *m = (quant_panels){.micro = quant_micro_best(),
                        .n = n,
                        .groups = groups,
                        .stretches = stretches,
                        .k = k,
                        .quads = (k + QUAD_BYTES - 1) / QUAD_BYTES,
                        .sets = 1,
                        .panels = (n + QUAD_COLUMNS - 1) / QUAD_COLUMNS};
    int64_t columns, each;
    int16_t *v = mem_alloc((size_t)(stretches * k) * sizeof *v + 1);
    bool made = v != NULL;
    for (int64_t j = 0; made && j < groups * n; j++) {
        column(ctx, j / n, j % n, v);
        m->sets = quant_sets(v, stretches * k, m->sets);
    }
    made = made && !__builtin_mul_overflow(groups, m->panels * QUAD_COLUMNS, &columns) &&
           !__builtin_mul_overflow(stretches, m->quads * m->sets * QUAD_BYTES, &each) &&
           quant_room(columns, each, &m->block, &m->data, &m->sums);
    for (int64_t j = 0; made && j < groups * n; j++) {
        column(ctx, j / n, j % n, v);
        quant_panels_put(m, j / n, j % n, v);
    }
    mem_free(v);
    return made && quant_panels_narrow(m);
}

void quant_panels_free(quant_panels *m) {
    mem_free(m->narrow);
    mem_free(m->block);
    *m = (quant_panels){0};
}

static void quant_taps_put(quant_taps *t, int64_t c, int16_t *v) {
    int lanes = t->micro->lanes;
    int64_t size = 4 * lanes, block = c / size, place = 0;
    while (quant_place_channel(lanes, place) != c % size) place++;
    t->sums[block * size + place] = quant_sum(v, t->rows * t->width);
    for (int64_t set = 0; set < t->sets; set++)
        for (int64_t r = 0; r < t->rows; r++) {
            int64_t quad = (block * t->sets + set) * t->quads + r / QUAD_BYTES;
            for (int64_t x = 0; x < t->width; x++)
                t->data[((quad * t->width + x) * size + place) * QUAD_BYTES + r % QUAD_BYTES] =
                    quant_part(&v[r * t->width + x]);
        }
}

bool quant_taps_make(quant_taps *t, int64_t channels, int64_t rows, int64_t width,
                     void (*channel)(const void *ctx, int64_t c, int64_t zero, int16_t *to),
                     const void *ctx) {
    *t = (quant_taps){.micro = quant_micro_best(),
                      .channels = channels,
                      .rows = rows,
                      .width = width,
                      .quads = (rows + QUAD_BYTES - 1) / QUAD_BYTES,
                      .sets = 1};
    int64_t size = 4 * t->micro->lanes, each;
    t->blocks = (channels + size - 1) / size;
    int16_t *v = mem_alloc((size_t)(rows * width) * sizeof *v + 1);
    bool made = v != NULL;
    for (int64_t c = 0; made && c < channels; c++) {
        channel(ctx, c, 0, v);
        t->sets = quant_sets(v, rows * width, t->sets);
    }
    made = made && !__builtin_mul_overflow(width, t->quads * t->sets * QUAD_BYTES, &each) &&
           quant_room(t->blocks * size, each, &t->block, &t->data, &t->sums);
    for (int64_t c = 0; made && c < channels; c++) {
        channel(ctx, c, 0, v);
        quant_taps_put(t, c, v);
    }
    mem_free(v);
    return made;
}

void quant_taps_free(quant_taps *t) {
    mem_free(t->block);
    *t = (quant_taps){0};
}

/* ---- sums that stay numbers ------------------------------------------------------------------ */

static NN_FUSED void quant_floats_fused(const int32_t *sums, const float *scale, const float *bias,
                                        bool relu, int64_t n, float *out) {
    for (int64_t i = 0; i < n; i++) {
        float v = fmaf((float)sums[i], scale[i], bias[i]);
        out[i] = relu && v < 0 ? 0 : v;
    }
}

static NN_HOT void quant_floats_plain(const int32_t *sums, const float *scale, const float *bias,
                                      bool relu, int64_t n, float *out) {
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

/* ---- strips ---------------------------------------------------------------------------------- */

static void quant_strip_store(const quant_strip *s, const quant_micro *u, const int32_t *sums,
                              int64_t row, int rows, int64_t column, int cols) {
    if (s->bytes) {
        quant_bytes to = *s->bytes;
        to.scale += column;
        to.steps += column;
        u->store(sums, rows, cols, &to, (uint8_t *)s->out + row * s->ldc + column, s->ldc);
        return;
    }
    for (int i = 0; i < rows; i++)
        quant_store_floats(s->floats, sums + i * QUAD_MAX_PANELS * QUAD_COLUMNS, s->column + column,
                           cols, (float *)s->out + (row + i) * s->ldc + column);
}

void quant_strip_run(const quant_panels *m, int64_t group, int64_t first, int64_t last,
                     const quant_strip *s) {
    _Alignas(64) int32_t sums[QUAD_MAX_ROWS * QUAD_MAX_PANELS * QUAD_COLUMNS];
    const quant_micro *u = m->micro;
    int64_t panel = m->sets * m->stretches * m->quads * QUAD_PANEL,
            tiles = (s->rows + u->rows - 1) / u->rows;
    quad_tile t = {.lda = s->lda,
                   .stretch = s->stretch,
                   .stretches = m->sets * m->stretches,
                   .quads = m->quads,
                   .small = s->small,
                   .panel = panel,
                   .sums = sums,
                   .ld = QUAD_MAX_PANELS * QUAD_COLUMNS};
    for (int64_t p = first; p < last; p += u->panels) {
        int panels = (int)nn_min(u->panels, last - p);
        int64_t column = (p - first) * QUAD_COLUMNS;
        int cols = (int)nn_min((int64_t)panels * QUAD_COLUMNS, m->n - p * QUAD_COLUMNS);
        t.b = m->data + (group * m->panels + p) * panel;
        t.narrow = m->narrow + (group * m->panels + p) * t.stretches * quad_pairs(m->quads);
        t.start = s->start + column;
        for (int64_t i = 0, row = 0; i < tiles; i++) {
            int rows = (int)((s->rows - row) / (tiles - i));
            t.a = s->a + row * s->lda;
            u->tile(rows, panels, &t);
            quant_strip_store(s, u, sums, row, rows, column, cols);
            row += rows;
        }
    }
}
