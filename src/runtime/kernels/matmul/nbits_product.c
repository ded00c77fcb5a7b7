/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_product.c - products of rows with weights of 4 or 8 bits (nbits_matrix.h).
 *
 * Method. For a single row, reading the weights dominates: integers are multiplied by
 * integer instructions, floats by weights converted to floats in registers. Many rows
 * of integers work the same way, a block of rows passing each panel, which stays in
 * the L2 cache. Many rows of floats, and of two-byte integers where there are no byte
 * dot products, take some columns at a time as float panels, for the float kernels. Where
 * pairs of bfloat16 are multiplied faster than all these, many rows of what becomes integers
 * are rounded to it, and some columns at a time become panels of quads (cpu/quad/quad.h): scaled,
 * or as the integers that they are, which are exact, where sums can be scaled instead.
 * Tests: tests/unit/test_nbits.c
 */
#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "base/threads/thread_pool.h"
#include "cpu/convert/half.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/matmul/nbits_matrix.h"
#include "runtime/kernels/matmul/packed_weights.h"
#include "runtime/kernels/matmul/quad_matrix.h"

#include <math.h>
#include <string.h>

enum { NBITS_ALIGN = 64, NBITS_PAIRS = 256 << 10 /* bytes of quads that are made together */ };

typedef struct nbits_job {
    const nbits_matrix *m;
    nbits_rows as;
    dtype dt;
    const void *x;
    const nbits_ints *ints; /* instead of x */
    int64_t rows;
    const float *bias;
    void *out;
    /* rows as floats, at stride form.k, followed by zeros */
    const float *floats;
    float *wide; /* those, where they are not x itself */
    float *float_sum;
    /* rows as whole numbers, and their scales and sums of segments */
    int8_t *bytes;
    int64_t ldx;
    float *scale;
    int32_t *sum;
    int64_t segments, block; /* block: rows that pass a panel together */
    /* float panels of nr columns from column `first` on; what they give for `some` columns */
    float *panels, *sums;
    int64_t first, some, nr;
    /* the same of bfloat16, and rows */
    quad_matrix quads;
    bfloat16 *pairs;
    int64_t pairs_ld, shares;
    float *scales; /* of the columns, for sums of integers */
    void *memory;
    size_t room;
} nbits_job;

/* ---- rows ------------------------------------------------------------------------------------ */

/* The bits of the largest magnitude: what is not finite has the largest. */
static VECTOR_CLONES int32_t nbits_most(const float *x, int64_t k) {
    int32_t most = 0;
    for (int64_t i = 0; i < k; i++) {
        int32_t bits = (int32_t)(float_bits(x[i]) & INT32_MAX);
        most = bits > most ? bits : most;
    }
    return most;
}

/* Adding and taking away this rounds a float below 2^22 to nearest even. */
#define NBITS_ROUND 0x1.8p23f

static VECTOR_CLONES int32_t nbits_to_bytes(const float *x, int64_t k, float steps, int8_t *to) {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; i++) {
        int32_t q = (int32_t)((x[i] * steps + NBITS_ROUND) - NBITS_ROUND);
        to[i] = (int8_t)q;
        sum += q;
    }
    return sum;
}

static VECTOR_CLONES int32_t nbits_to_wide(const float *x, int64_t k, float steps, int8_t *low,
                                           int8_t *high) {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; i++) {
        float q = (x[i] * steps + NBITS_ROUND) - NBITS_ROUND,
              h = (q * (1.0f / NBITS_BASE) + NBITS_ROUND) - NBITS_ROUND;
        high[i] = (int8_t)(int32_t)h;
        low[i] = (int8_t)((int32_t)q - NBITS_BASE * (int32_t)h);
        sum += (int32_t)q;
    }
    return sum;
}

/* If the largest magnitude is this small, all are zeros: their scale would be denormal. */
#define NBITS_LEAST 0x1p-100f

static void nbits_number_rows(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    const nbits_form *f = &j->m->form;
    bool wide = j->as == NBITS_AS_WIDE;
    float largest = wide ? NBITS_WIDE : INT8_MAX;
    for (int64_t r = begin; r < end; r++)
        for (int64_t s = 0; s < j->segments; s++) {
            int64_t at = s * f->segment, k = int64_min(f->segment, f->k - at);
            const float *x = j->floats + r * f->k + at;
            int8_t *to = j->bytes + r * j->ldx + at;
            float most = float_of_bits((uint32_t)nbits_most(x, k)), steps = 0,
                  scale = most - most; /* NaN of what is not finite: nbits_odd_rows */
            if (most >= NBITS_LEAST && scale == 0) steps = largest / most, scale = most / largest;
            if (!(scale > 0)) memset(to, 0, (size_t)k);
            if (!(scale > 0) && wide) memset(to + f->k, 0, (size_t)k);
            int32_t sum = !(scale > 0) ? 0
                          : wide       ? nbits_to_wide(x, k, steps, to, to + f->k)
                                       : nbits_to_bytes(x, k, steps, to);
            j->scale[r * j->segments + s] = scale;
            j->sum[r * j->segments + s] = sum;
        }
}

/* Integers of a row as whole numbers: exact, being at most 255 in magnitude. */
static int32_t nbits_take_ints(const int8_t *q, int32_t zero, int64_t k, int8_t *low,
                               int8_t *high) {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; i++) {
        int32_t v = q[i] - zero, h = v > INT8_MAX ? 1 : v < -INT8_MAX ? -1 : 0;
        high[i] = (int8_t)h;
        low[i] = (int8_t)(v - NBITS_BASE * h);
        sum += v;
    }
    return sum;
}

static void nbits_int_rows(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    const nbits_form *f = &j->m->form;
    int64_t k = j->m->k;
    for (int64_t r = begin; r < end; r++) {
        int8_t *to = j->bytes + r * j->ldx;
        memset(to + k, 0, (size_t)(f->k - k));
        memset(to + f->k + k, 0, (size_t)(f->k - k));
        for (int64_t s = 0; s < j->segments; s++) {
            int64_t at = s * f->segment;
            j->scale[r * j->segments + s] = j->ints->scale[r];
            j->sum[r * j->segments + s] = nbits_take_ints(
                j->ints->q + r * k + at, j->ints->zero ? j->ints->zero[r] : 0,
                int64_min(f->segment, k - at), to + at, to + f->k + at);
        }
    }
}

static void nbits_sum_rows(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    const nbits_form *f = &j->m->form;
    for (int64_t r = begin; r < end && f->zeros != NBITS_NO_ZEROS; r++)
        for (int64_t s = 0; s < j->segments; s++) {
            const float *x = j->floats + r * f->k + s * f->segment;
            int64_t k = int64_min(f->segment, f->k - s * f->segment);
            float sum = 0;
            for (int64_t i = 0; i < k; i++) sum += x[i];
            j->float_sum[r * j->segments + s] = sum;
        }
}

/* Rows as floats with zeros up to form.k. */
static void nbits_float_rows(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    int64_t k = j->m->k, padded = j->m->form.k;
    for (int64_t r = begin; r < end; r++) {
        float *to = j->wide + r * padded;
        if (j->ints) {
            float zero = j->ints->zero ? (float)j->ints->zero[r] : 0;
            for (int64_t i = 0; i < k; i++)
                to[i] = ((float)j->ints->q[r * k + i] - zero) * j->ints->scale[r];
        } else if (j->dt == DT_FLOAT32)
            memcpy(to, (const float *)j->x + r * k, (size_t)k * sizeof *to);
        else halves_to_floats(j->dt, (const uint16_t *)j->x + r * k, to, k);
        memset(to + k, 0, (size_t)(padded - k) * sizeof *to);
    }
}

/* ---- panels ---------------------------------------------------------------------------------- */

static void nbits_store(const nbits_job *j, float *sums, int64_t row, int64_t column) {
    int64_t cols = int64_min(j->m->form.columns, j->m->n - column), at = row * j->m->n + column;
    if (j->bias)
        for (int64_t c = 0; c < cols; c++) sums[c] += j->bias[column + c];
    if (j->dt == DT_FLOAT32) memcpy((float *)j->out + at, sums, (size_t)cols * sizeof *sums);
    else floats_to_halves(j->dt, sums, (uint16_t *)j->out + at, cols);
}

/* Chunk i: a panel, a block of rows. */
static void nbits_chunks(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    const nbits_form *f = &j->m->form;
    _Alignas(64) float sums[NBITS_ROWS * NBITS_MOST_COLUMNS];
    int64_t most = j->as == NBITS_AS_WIDE ? 1 : NBITS_ROWS;
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i % j->m->panels, first = i / j->m->panels * j->block,
                last = int64_min(first + j->block, j->rows);
        nbits_tile t = {.form = f,
                        .panel = j->m->data + panel * nbits_panel_bytes(f),
                        .bytes = j->as == NBITS_AS_WIDE ? 2 : 1,
                        .ldx = j->as == NBITS_AS_FLOATS ? f->k : j->ldx,
                        .lds = j->segments,
                        .out = sums,
                        .ldc = f->columns};
        for (int64_t r = first, rows; r < last; r += rows) {
            rows = int64_min(most, last - r);
            if (j->as == NBITS_AS_FLOATS) {
                t.floats = j->floats + r * f->k;
                if (j->float_sum) t.float_sum = j->float_sum + r * j->segments;
                j->m->micro->floats((int)rows, &t);
            } else {
                t.x = j->bytes + r * j->ldx;
                t.scale = j->scale + r * j->segments;
                t.sum = j->sum + r * j->segments;
                j->m->micro->whole((int)rows, &t);
            }
            for (int64_t k = 0; k < rows; k++)
                nbits_store(j, sums + k * f->columns, r + k, panel * f->columns);
        }
    }
}

static void nbits_by_tiles(nbits_job *j) {
    int64_t bytes = j->as == NBITS_AS_FLOATS ? j->m->form.k * 4 : j->ldx;
    j->block = int64_max(NBITS_ROWS, int64_min(j->rows, NBITS_BLOCK / bytes));
    int64_t work = j->block * j->m->form.k * j->m->form.columns,
            load = j->m->form.k * j->m->form.columns * GEMM_LOAD,
            blocks = (j->rows + j->block - 1) / j->block;
    pool_for(blocks * j->m->panels, 1 + GEMM_CHUNK / int64_max(work, load), nbits_chunks, j);
}

/* ---- many rows of floats --------------------------------------------------------------------- */

/* k elements of nr columns, of a block's data from one of its columns on, `step` columns wide. */
static VECTOR_CLONES void nbits_widen4(const uint8_t *b, int64_t step, const float *scale,
                                       const float *less, int64_t k, int64_t nr, float *to) {
    for (int64_t i = 0; i < k; i += NBITS_EIGHT, b += step * 4, to += nr * NBITS_EIGHT)
        for (int e = 0; e < NBITS_EIGHT; e++) {
            const uint32_t *w = (const uint32_t *)(const void *)b;
            float *row = to + (e % 2 * 4 + e / 2) * nr;
            for (int64_t c = 0; c < nr; c++)
                row[c] = ((float)(int32_t)(w[c] >> 4 * e & 15) - less[c]) * scale[c];
        }
}

static VECTOR_CLONES void nbits_widen8(const uint8_t *b, int64_t step, const float *scale,
                                       const float *less, int64_t k, int64_t nr, float *to) {
    for (int64_t i = 0; i < k; i += 4, b += step * 4, to += nr * 4)
        for (int e = 0; e < 4; e++) {
            const uint32_t *w = (const uint32_t *)(const void *)b;
            for (int64_t c = 0; c < nr; c++)
                to[e * nr + c] = ((float)(int32_t)(w[c] >> 8 * e & 255) - less[c]) * scale[c];
        }
}

static void nbits_numbers(const nbits_form *f, const uint8_t *rest, int64_t at, int64_t nr,
                          float *scale, float *less) {
    if (f->half) float16_to_floats((const float16 *)(const void *)rest + at, scale, (size_t)nr);
    else memcpy(scale, rest + at * 4, (size_t)nr * sizeof *scale);
    rest += nbits_scale_bytes(f);
    for (int64_t c = 0; c < nr; c++) {
        float zero = 0;
        if (f->zeros == NBITS_BYTE_ZEROS) zero = (float)(int8_t)rest[at + c];
        if (f->zeros == NBITS_FLOAT_ZEROS) memcpy(&zero, rest + (at + c) * 4, sizeof zero);
        less[c] = zero + (f->bits == 4 ? 8 : 128);
    }
}

static void nbits_widen_panels(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    const nbits_form *f = &j->m->form;
    float scale[NBITS_MOST_COLUMNS], less[NBITS_MOST_COLUMNS];
    for (int64_t p = begin; p < end; p++) {
        int64_t column = j->first + p * j->nr, panel = column / f->columns,
                at = column % f->columns;
        const uint8_t *b = j->m->data + panel * nbits_panel_bytes(f);
        float *to = j->panels + p * j->nr * f->k;
        for (int64_t x = 0, k; x < f->k; x += k, to += k * j->nr) {
            k = int64_min(f->segment, f->k - x);
            const uint8_t *rest = b + nbits_data_bytes(f, k);
            nbits_numbers(f, rest, at, j->nr, scale, less);
            if (f->bits == 4) nbits_widen4(b + at * 4, f->columns, scale, less, k, j->nr, to);
            else nbits_widen8(b + at * 4, f->columns, scale, less, k, j->nr, to);
            b = rest + nbits_scale_bytes(f) + nbits_zero_bytes(f);
        }
    }
}

static void nbits_round_rows(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    for (int64_t r = begin; r < end; r++)
        floats_to_halves(j->dt, j->sums + r * j->some, (uint16_t *)j->out + r * j->m->n + j->first,
                         j->some);
}

static ctsc_status nbits_by_panels(diag *d, nbits_job *j, const gemm_micro *u) {
    const nbits_matrix *m = j->m;
    int64_t k = m->form.k, columns = NBITS_MOST_COLUMNS;
    while (columns * 2 * k * (int64_t)sizeof(float) <= NBITS_PANELS) columns *= 2;
    size_t panels, sums;
    if (!size_mul((size_t)k * sizeof(float), (size_t)columns, &panels) ||
        !size_mul((size_t)j->rows * sizeof(float), (size_t)columns, &sums))
        return diag_no_memory(d);
    char *memory = recycle_alloc(panels + NBITS_ALIGN);
    bool halves = j->dt != DT_FLOAT32;
    j->sums = halves ? recycle_alloc(sums) : NULL;
    ctsc_status st = memory && (j->sums || !halves) ? CTSC_OK : diag_no_memory(d);
    if (memory) j->panels = (float *)(void *)(memory + (-(uintptr_t)memory & (NBITS_ALIGN - 1)));
    j->nr = u->nr;
    gemm_matrix a = {.p = j->floats, .rs = k, .cs = 1};
    for (j->first = 0; j->first < m->n && st == CTSC_OK; j->first += columns) {
        j->some = int64_min(columns, m->n - j->first);
        pool_for((j->some + j->nr - 1) / j->nr, 1 + 32768 / (j->nr * k), nbits_widen_panels, j);
        gemm_prepacked b = {.micro = u, .n = j->some, .k = k, .panels = j->panels};
        dense_epilogue after = {.bias = j->bias ? j->bias + j->first : NULL};
        st = gemm_run_prepacked(d, &b, j->rows, a, &after,
                                halves ? j->sums : (float *)j->out + j->first,
                                halves ? j->some : m->n);
        if (halves && st == CTSC_OK) pool_for(j->rows, 1 + 32768 / j->some, nbits_round_rows, j);
    }
    if (memory) recycle_free(memory, panels + NBITS_ALIGN);
    if (j->sums) recycle_free(j->sums, sums);
    return st;
}

/* ---- many rows as bfloat16 ------------------------------------------------------------------- */

/* Rows with zeros up to whole steps of the kernels. */
static void nbits_pair_rows(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    int64_t k = j->m->k;
    for (int64_t r = begin; r < end; r++) {
        bfloat16 *to = j->pairs + r * j->pairs_ld;
        const uint16_t *halves = (const uint16_t *)j->x + r * k;
        if (j->dt == DT_BFLOAT16) memcpy(to, halves, (size_t)k * sizeof *to);
        else if (j->dt == DT_FLOAT32)
            bfloat16_from_floats((const float *)j->x + r * k, to, (size_t)k);
        else {
            float some[NBITS_SEGMENT];
            for (int64_t i = 0, n; i < k; i += n) {
                n = int64_min(NBITS_SEGMENT, k - i);
                halves_to_floats(j->dt, halves + i, some, n);
                bfloat16_from_floats(some, to + i, (size_t)n);
            }
        }
        memset(to + k, 0, (size_t)(j->pairs_ld - k) * sizeof *to);
    }
}

/* k elements of a block, 16 columns each `apart` elements from those before. */
static void nbits_pairs(const nbits_form *f, const uint8_t *b, const float *scale,
                        const float *less, int64_t k, bfloat16 *to, int64_t apart) {
#if defined(__x86_64__)
    if (isa_has(ISA_AVX512BF16) && f->columns == NBITS_MOST_COLUMNS) {
        nbits_pairs_avx512(f, b, scale, less, k, to, apart);
        return;
    }
#endif
    float floats[NBITS_SEGMENT * QUAD_COLUMNS];
    for (int64_t c = 0; c < f->columns; c += QUAD_COLUMNS, to += apart) {
        (f->bits == 4 ? nbits_widen4 : nbits_widen8)(b + c * 4, f->columns, scale + c, less + c, k,
                                                     QUAD_COLUMNS, floats);
        for (int64_t i = 0; i < k * QUAD_COLUMNS; i++)
            to[i] = bfloat16_from_float(floats[i / 32 * 32 + i % 2 * QUAD_COLUMNS + i % 32 / 2]);
    }
}

/* Panels of the weights, each of which is some of quads. */
static void nbits_pair_panels(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    const nbits_form *f = &j->m->form;
    float scale[NBITS_MOST_COLUMNS], less[NBITS_MOST_COLUMNS];
    int64_t apart = j->quads.filled * QUAD_COLUMNS * QUAD_PAIR, some = f->columns / QUAD_COLUMNS;
    for (int64_t p = begin; p < end; p++) {
        const uint8_t *b = j->m->data + (j->first / f->columns + p) * nbits_panel_bytes(f);
        bfloat16 *all = (bfloat16 *)(void *)j->quads.data + p * some * apart, *to = all;
        for (int64_t x = 0, k; x < f->k; x += k, to += k * QUAD_COLUMNS) {
            k = int64_min(f->segment, f->k - x);
            const uint8_t *rest = b + nbits_data_bytes(f, k);
            nbits_numbers(f, rest, 0, f->columns, scale, less);
            for (int64_t c = 0; j->m->one && c < f->columns; c++) {
                j->scales[p * f->columns + c] = scale[c];
                scale[c] = 1;
            }
            nbits_pairs(f, b, scale, less, k, to, apart);
            b = rest + nbits_scale_bytes(f) + nbits_zero_bytes(f);
        }
        int64_t used = f->k * QUAD_COLUMNS;
        for (int64_t i = 0; i < some; i++)
            memset(all + i * apart + used, 0, (size_t)(apart - used) * sizeof *all);
    }
}

static void nbits_pair_chunks(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    static const int64_t segment[1] = {0};
    bool halves = j->dt == DT_BFLOAT16 && !j->sums;
    int64_t size = halves ? (int64_t)sizeof(bfloat16) : (int64_t)sizeof(float),
            ld = j->sums ? j->some : j->m->n;
    quad_hold hold = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i % j->shares * QUAD_MAX_PANELS, row = i / j->shares * j->block,
                column = panel * QUAD_COLUMNS;
        char *out = j->sums ? (char *)j->sums : (char *)j->out + j->first * size;
        quad_strip s = {.a = j->pairs + row * j->pairs_ld,
                        .rows = int64_min(j->rows - row, j->block),
                        .of = j->rows,
                        .lda = j->pairs_ld * (int64_t)sizeof *j->pairs,
                        .segment = segment,
                        .start = j->bias && !j->scales ? j->bias + j->first + column : NULL,
                        .halves = halves,
                        .out = out + (row * ld + column) * size,
                        .ldc = ld};
        quad_strip_run(&j->quads, 0, panel, int64_min(panel + QUAD_MAX_PANELS, j->quads.panels), &s,
                       &hold);
    }
    quad_release(&hold);
}

/* The kernels for that; NULL: others are faster. Bytes are multiplied as fast as bfloat16 but on
 * tile registers, which integers would leave after every segment. */
static const quad_kernels *nbits_quads(const nbits_job *j) {
    const quad_kernels *u = ukernel_quad(UKERNEL_BF16);
    bool fits = u && (u->begin || isa_has(ISA_AVX512BF16)) && j->rows >= NBITS_QUADS && !j->ints &&
                j->m->form.columns % QUAD_COLUMNS == 0;
    return fits && (j->as == NBITS_AS_BRAINS || (j->as == NBITS_AS_BYTES && u->begin)) ? u : NULL;
}

static VECTOR_CLONES void nbits_scale_sums(const float *sums, const float *scale, const float *bias,
                                           int64_t n, float *out) {
    if (bias)
        for (int64_t c = 0; c < n; c++) out[c] = sums[c] * scale[c] + bias[c];
    else
        for (int64_t c = 0; c < n; c++) out[c] = sums[c] * scale[c];
}

/* Sums of integers become results. */
static void nbits_scale_rows(void *ctx, int64_t begin, int64_t end) {
    const nbits_job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        const float *bias = j->bias ? j->bias + j->first : NULL;
        float *sums = j->sums + r * j->some, *out = sums;
        if (j->dt == DT_FLOAT32) out = (float *)j->out + r * j->m->n + j->first;
        nbits_scale_sums(sums, j->scales, bias, j->some, out);
    }
    if (j->dt != DT_FLOAT32) nbits_round_rows(ctx, begin, end);
}

static ctsc_status nbits_by_quads(diag *d, nbits_job *j, const quad_kernels *u) {
    const nbits_matrix *m = j->m;
    int64_t columns = m->form.columns, k = quad_whole_k(u, m->form.k);
    while (columns * 2 * k * (int64_t)sizeof(bfloat16) <= NBITS_PAIRS) columns *= 2;
    j->quads = (quad_matrix){.kernels = u, .n = columns, .groups = 1, .segments = 1, .k = k};
    j->pairs_ld = quad_pitch(u, j->rows, k * (int64_t)sizeof *j->pairs) / (int64_t)sizeof *j->pairs;
    size_t panels, rows, sums = 0;
    bool apart = m->one || j->dt == DT_FLOAT16; /* sums are worked on later */
    if (!quad_matrix_bf16(&j->quads, &panels) || !size_add(panels, NBITS_ALIGN, &panels) ||
        !size_mul((size_t)j->rows * sizeof *j->pairs, (size_t)j->pairs_ld, &rows) ||
        (apart && !size_mul((size_t)(j->rows + 1) * sizeof(float), (size_t)columns, &sums)))
        return diag_no_memory(d);
    char *memory = recycle_alloc(panels);
    j->pairs = recycle_alloc(rows);
    j->sums = apart ? recycle_alloc(sums) : NULL;
    ctsc_status st = memory && j->pairs && (j->sums || !apart) ? CTSC_OK : diag_no_memory(d);
    if (st == CTSC_OK && m->one) j->scales = j->sums + j->rows * columns;
    if (st == CTSC_OK) pool_for(j->rows, kernel_grain(k), nbits_pair_rows, j);
    if (memory) j->quads.data = (int8_t *)memory + (-(uintptr_t)memory & (NBITS_ALIGN - 1));
    j->block = quad_block_rows(&j->quads, j->pairs_ld * (int64_t)sizeof *j->pairs);
    int64_t work = int64_min(j->rows, j->block) * k * QUAD_MAX_PANELS * QUAD_COLUMNS;
    for (j->first = 0; j->first < m->n && st == CTSC_OK; j->first += columns) {
        j->some = int64_min(columns, m->n - j->first);
        j->quads.n = j->some;
        j->quads.panels = (j->some + QUAD_COLUMNS - 1) / QUAD_COLUMNS;
        j->shares = (j->quads.panels + QUAD_MAX_PANELS - 1) / QUAD_MAX_PANELS;
        pool_for((j->some + m->form.columns - 1) / m->form.columns, 1, nbits_pair_panels, j);
        pool_for((j->rows + j->block - 1) / j->block * j->shares, 1 + GEMM_CHUNK / work,
                 nbits_pair_chunks, j);
        if (apart)
            pool_for(j->rows, 1 + 32768 / j->some, m->one ? nbits_scale_rows : nbits_round_rows, j);
    }
    if (memory) recycle_free(memory, panels);
    if (j->pairs) recycle_free(j->pairs, rows);
    if (j->sums) recycle_free(j->sums, sums);
    return st;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Room for what rows become: floats, and whole numbers with what belongs to them. */
static bool nbits_room(nbits_job *j, bool floats) {
    const nbits_form *f = &j->m->form;
    j->ldx = f->k * (j->as == NBITS_AS_WIDE ? 2 : 1);
    int64_t wide = floats ? f->k * (int64_t)sizeof(float) : 0,
            numbers = j->segments * (int64_t)(sizeof *j->scale + sizeof *j->sum),
            bytes = j->as == NBITS_AS_FLOATS ? 0 : j->ldx;
    if (!size_mul((size_t)j->rows, (size_t)(wide + numbers + bytes), &j->room)) return false;
    j->memory = recycle_alloc(j->room);
    if (!j->memory) return false;
    char *at = j->memory;
    if (floats) j->wide = (float *)(void *)at;
    at += wide * j->rows;
    j->scale = j->float_sum = (float *)(void *)at;
    at += j->rows * j->segments * (int64_t)sizeof *j->scale;
    j->sum = (int32_t *)(void *)at;
    at += j->rows * j->segments * (int64_t)sizeof *j->sum;
    j->bytes = (int8_t *)at;
    return true;
}

/* Rows that are not finite have no scale: as floats, one by one, so that those beside them stay
 * what they are. */
static ctsc_status nbits_odd_rows(diag *d, const nbits_job *j) {
    int64_t size = (int64_t)dtype_size(j->dt);
    ctsc_status st = CTSC_OK;
    for (int64_t r = 0; r < j->rows && st == CTSC_OK; r++) {
        bool odd = false;
        for (int64_t s = 0; s < j->segments; s++) odd |= isnan(j->scale[r * j->segments + s]);
        if (odd)
            st = nbits_product(d, j->m, NBITS_AS_FLOATS, j->dt,
                               (const char *)j->x + r * j->m->k * size, 1, j->bias,
                               (char *)j->out + r * j->m->n * size);
    }
    return st;
}

static ctsc_status nbits_run(diag *d, nbits_job *j) {
    const nbits_matrix *m = j->m;
    const quad_kernels *quads = nbits_quads(j);
    if (quads && j->rows > 0) return nbits_by_quads(d, j, quads);
    if (j->as == NBITS_AS_BRAINS) j->as = NBITS_AS_WIDE;
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    bool panels = u && m->form.columns % u->nr == 0 && j->rows > NBITS_FEW &&
                  (j->as == NBITS_AS_FLOATS || (j->as == NBITS_AS_WIDE && !m->micro->dots)),
         copied = j->ints ? panels : j->dt != DT_FLOAT32 || m->k != m->form.k;
    j->segments = nbits_segments(&m->form);
    if (panels) j->as = NBITS_AS_FLOATS;
    if (j->rows == 0) return CTSC_OK;
    if (!nbits_room(j, copied)) return diag_no_memory(d);
    int64_t grain = kernel_grain(m->k);
    j->floats = copied ? j->wide : j->x;
    if (copied) pool_for(j->rows, grain, nbits_float_rows, j);
    ctsc_status st = CTSC_OK;
    if (panels) {
        st = nbits_by_panels(d, j, u);
    } else {
        pool_for(j->rows, grain,
                 j->ints                    ? nbits_int_rows
                 : j->as == NBITS_AS_FLOATS ? nbits_sum_rows
                                            : nbits_number_rows,
                 j);
        nbits_by_tiles(j);
        if (j->as != NBITS_AS_FLOATS && !j->ints) st = nbits_odd_rows(d, j);
    }
    recycle_free(j->memory, j->room);
    return st;
}

ctsc_status nbits_product(diag *d, const nbits_matrix *m, nbits_rows as, dtype dt, const void *x,
                          int64_t rows, const float *bias, void *out) {
    return nbits_run(
        d,
        &(nbits_job){.m = m, .as = as, .dt = dt, .x = x, .rows = rows, .bias = bias, .out = out});
}

ctsc_status nbits_product_ints(diag *d, const nbits_matrix *m, const nbits_ints *x, int64_t rows,
                               const float *bias, float *out) {
    return nbits_run(d, &(nbits_job){.m = m,
                                     .as = NBITS_AS_WIDE,
                                     .dt = DT_FLOAT32,
                                     .ints = x,
                                     .rows = rows,
                                     .bias = bias,
                                     .out = out});
}
