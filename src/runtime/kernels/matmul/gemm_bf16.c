/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_bf16.c - products of bfloat16 matrices neither of which is a constant (gemm_bf16.h).
 *
 * Method. The second operand is packed into panels of quads (k-groups, cpu/quad/quad.h)
 * in every call, so packing has to be cheap: two contiguous rows are interleaved; of
 * contiguous columns, words of two elements are transposed in registers. Rows of the
 * first operand are read in place if they are contiguous and whole steps of the kernels;
 * else they are copied, with zeros after them, and transposed like the panels. The rest
 * is that of constant weights (linear_half.c): blocks of rows pass pairs of panels.
 *
 * A few rows with a weight with contiguous columns, as in a step of a
 * recurrent layer: packing it would cost more than the product. Then the
 * transpose is computed, whose first factor is the weight, read in place.
 *
 * Tests: tests/unit/test_gemm_bf16.c
 */
#include "runtime/kernels/matmul/gemm_bf16.h"

#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "base/threads/thread_pool.h"
#include "cpu/convert/half.h"
#include "cpu/convert/transpose.h"
#include "cpu/vector.h"
#include "runtime/kernels/matmul/quad_matrix.h"

#include <string.h>

enum {
    BF16_ALIGN = 64,
    BF16_QUADS = 16, /* interleaved together: a line of each row is used up */
    BF16_WIDER = 4,  /* this many times more columns than few rows can be */
};

typedef struct bf16_job {
    const gemm_bf16_product *p;
    quad_matrix b;
    const uint16_t *a; /* rows at stride lda, in elements */
    uint16_t *copy;
    int64_t lda, block, shares;
    uint32_t *pairs; /* two rows of the transpose of A interleaved; `pitch` words */
    int64_t pitch;
} bf16_job;

/* ---- pairs of k ------------------------------------------------------------------------------ */

/* Words of one element of two lines each. */
static VECTOR_CLONES void bf16_interleave(const uint16_t *low, const uint16_t *high, int64_t n,
                                          uint32_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = (uint32_t)low[i] | (uint32_t)high[i] << 16;
}

static void bf16_widen_line(const uint16_t *line, int64_t n, uint32_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = line[i];
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* Rows without gaps: some at a time, of all panels, so that lines of memory are used up. */
static void bf16_pack_rows(const gemm_bf16_product *p, int64_t first, int64_t panels, int64_t words,
                           uint32_t *to) {
    int64_t quads = p->k / QUAD_PAIR;
    const uint16_t *b = (const uint16_t *)p->b.p + first;
    for (int64_t q = 0; q < quads; q += BF16_QUADS)
        for (int64_t i = 0; i < panels; i++) {
            int64_t cols = int64_min(QUAD_COLUMNS, p->n - first - i * QUAD_COLUMNS),
                    some = int64_min(BF16_QUADS, quads - q);
            const uint16_t *from = b + q * QUAD_PAIR * p->b.rs + i * QUAD_COLUMNS;
            uint32_t *out = to + i * words + q * QUAD_COLUMNS;
            if (cols == QUAD_COLUMNS) {
                halves_pair_rows(from, p->b.rs, some, out);
                continue;
            }
            for (int64_t r = 0; r < some; r++, from += QUAD_PAIR * p->b.rs, out += QUAD_COLUMNS)
                bf16_interleave(from, from + p->b.rs, cols, out);
        }
    for (int64_t i = 0; p->k % QUAD_PAIR && i < panels; i++)
        bf16_widen_line(b + (p->k - 1) * p->b.rs + i * QUAD_COLUMNS,
                        int64_min(QUAD_COLUMNS, p->n - first - i * QUAD_COLUMNS),
                        to + i * words + quads * QUAD_COLUMNS);
}

static void bf16_pack_any(const gemm_bf16_product *p, int64_t first, int64_t cols, uint32_t *to) {
    uint16_t *out = (uint16_t *)(void *)to;
    for (int64_t c = 0; c < cols; c++, out += QUAD_PAIR) {
        const uint16_t *from = (const uint16_t *)p->b.p + (first + c) * p->b.cs;
        for (int64_t i = 0; i < p->k; i++)
            out[i / QUAD_PAIR * QUAD_COLUMNS * QUAD_PAIR + i % QUAD_PAIR] = from[i * p->b.rs];
        if (p->k % QUAD_PAIR) out[p->k / QUAD_PAIR * QUAD_COLUMNS * QUAD_PAIR + 1] = 0;
    }
}

/* Columns without gaps, whose pairs are words of memory. */
static bool bf16_is_words(const gemm_bf16_product *p) {
    return p->b.rs == 1 && p->b.cs % QUAD_PAIR == 0 && p->k % QUAD_PAIR == 0 &&
           (uintptr_t)p->b.p % sizeof(uint32_t) == 0 && transpose_usable();
}

static void bf16_pack_panels(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    const gemm_bf16_product *p = j->p;
    int64_t words = j->b.filled * QUAD_COLUMNS, used = (p->k + 1) / QUAD_PAIR * QUAD_COLUMNS;
    uint32_t *all = (uint32_t *)(void *)j->b.data;
    for (int64_t panel = begin; panel < end; panel++) {
        int64_t first = panel * QUAD_COLUMNS, cols = int64_min(QUAD_COLUMNS, p->n - first);
        uint32_t *to = all + panel * words;
        if (cols < QUAD_COLUMNS) memset(to, 0, (size_t)words * sizeof *to);
        else memset(to + used, 0, (size_t)(words - used) * sizeof *to);
        if (p->b.cs == 1) continue;
        if (cols < QUAD_COLUMNS || !bf16_is_words(p)) bf16_pack_any(p, first, cols, to);
        else
            transpose_words(to, QUAD_COLUMNS,
                            (const uint32_t *)p->b.p + first * (p->b.cs / QUAD_PAIR),
                            p->b.cs / QUAD_PAIR, p->k / QUAD_PAIR, QUAD_COLUMNS);
    }
    if (p->b.cs == 1)
        bf16_pack_rows(p, begin * QUAD_COLUMNS, end - begin, words, all + begin * words);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Two columns of A at a time, which have no gaps, become a line of words. */
static void bf16_pair_columns(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    const gemm_bf16_product *p = j->p;
    for (int64_t q = begin; q < end; q++) {
        const uint16_t *from = (const uint16_t *)p->a.p + q * QUAD_PAIR * p->a.cs;
        if ((q + 1) * QUAD_PAIR <= p->k)
            bf16_interleave(from, from + p->a.cs, p->m, j->pairs + q * j->pitch);
        else bf16_widen_line(from, p->m, j->pairs + q * j->pitch);
    }
}

static void bf16_turn_rows(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    const gemm_bf16_product *p = j->p;
    int64_t quads = (p->k + 1) / QUAD_PAIR, ld = j->lda / QUAD_PAIR;
    uint32_t *to = (uint32_t *)(void *)j->copy + begin * ld;
    transpose_words(to, ld, j->pairs + begin, j->pitch, end - begin, quads);
    for (int64_t r = begin; r < end; r++, to += ld)
        memset(to + quads, 0, (size_t)(ld - quads) * sizeof *to);
}

static void bf16_copy_rows(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    const gemm_bf16_product *p = j->p;
    for (int64_t r = begin; r < end; r++) {
        uint16_t *to = j->copy + r * j->lda;
        const uint16_t *from = (const uint16_t *)p->a.p + r * p->a.rs;
        if (p->a.cs == 1) memcpy(to, from, (size_t)p->k * sizeof *to);
        else
            for (int64_t i = 0; i < p->k; i++) to[i] = from[i * p->a.cs];
        memset(to + p->k, 0, (size_t)(j->lda - p->k) * sizeof *to);
    }
}

/* Contiguous columns, enough of them adjacent to fill registers. */
static bool bf16_is_turned(const gemm_bf16_product *p) {
    return p->a.rs == 1 && p->a.cs != 1 && p->k >= BF16_QUADS && p->m >= BF16_QUADS &&
           transpose_usable();
}

/* *room, *pairs: bytes to give back. */
static bool bf16_rows(bf16_job *j, size_t *room, size_t *pairs) {
    const gemm_bf16_product *p = j->p;
    int64_t width = (int64_t)sizeof *j->a;
    *room = *pairs = 0;
    bool lies = p->a.cs == 1 && p->k == j->b.k && p->a.rs >= p->k &&
                quad_pitch(j->b.kernels, p->m, p->a.rs * width) == p->a.rs * width;
    j->lda = lies ? p->a.rs : quad_pitch(j->b.kernels, p->m, j->b.k * width) / width;
    j->a = p->a.p;
    if (lies) return true;
    bool turned = bf16_is_turned(p);
    if (!size_mul((size_t)p->m, (size_t)j->lda * sizeof *j->a, room)) return *room = 0, false;
    j->a = j->copy = recycle_alloc(*room);
    if (!j->copy) return *room = 0, false;
    if (!turned) {
        pool_for(p->m, 1 + 32768 / j->lda, bf16_copy_rows, j);
        return true;
    }
    j->pitch = p->m;
    if (!size_mul((size_t)(p->k + 1) / QUAD_PAIR * sizeof *j->pairs, (size_t)p->m, pairs))
        return *pairs = 0, false;
    j->pairs = recycle_alloc(*pairs);
    if (!j->pairs) return *pairs = 0, false;
    pool_for((p->k + 1) / QUAD_PAIR, 1 + 32768 / p->m, bf16_pair_columns, j);
    pool_for(p->m, int64_max(TRANSPOSE_ROWS, 32768 / j->lda), bf16_turn_rows, j);
    return true;
}

/* ---- the product ----------------------------------------------------------------------------- */

static void bf16_chunks(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    const gemm_bf16_product *p = j->p;
    static const int64_t segment[1] = {0};
    size_t width = p->floats ? sizeof(float) : sizeof(uint16_t);
    quad_hold hold = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i % j->shares * QUAD_MAX_PANELS, row = i / j->shares * j->block,
                column = panel * QUAD_COLUMNS;
        quad_strip s = {.a = j->a + row * j->lda,
                        .rows = int64_min(p->m - row, j->block),
                        .of = p->m,
                        .lda = j->lda * (int64_t)sizeof *j->a,
                        .segment = segment,
                        .start = p->start ? p->start + column : NULL,
                        .halves = !p->floats,
                        .out = (char *)p->c + (size_t)(row * p->ldc + column) * width,
                        .ldc = p->ldc};
        quad_strip_run(&j->b, 0, panel, int64_min(panel + QUAD_MAX_PANELS, j->b.panels), &s, &hold);
    }
    quad_release(&hold);
}

bool gemm_bf16_usable(void) { return ukernel_quad(UKERNEL_BF16) != NULL; }

static ctsc_status bf16_product(diag *d, const gemm_bf16_product *p) {
    const quad_kernels *u = ukernel_quad(UKERNEL_BF16);
    bf16_job j = {
        .p = p,
        .b = {.kernels = u, .n = p->n, .groups = 1, .segments = 1, .k = quad_whole_k(u, p->k)}};
    size_t bytes, room = 0, pairs = 0;
    if (!quad_matrix_bf16(&j.b, &bytes) || bytes > PTRDIFF_MAX - BF16_ALIGN)
        return diag_no_memory(d);
    char *panels = recycle_alloc(bytes + BF16_ALIGN);
    ctsc_status st = panels && bf16_rows(&j, &room, &pairs) ? CTSC_OK : diag_no_memory(d);
    if (st == CTSC_OK) {
        j.b.data = (int8_t *)panels + (-(uintptr_t)panels & (BF16_ALIGN - 1));
        pool_for(j.b.panels, 1 + 32768 / (j.b.k * QUAD_COLUMNS), bf16_pack_panels, &j);
        j.block = quad_block_rows(&j.b, j.lda * (int64_t)sizeof *j.a);
        j.shares = (j.b.panels + QUAD_MAX_PANELS - 1) / QUAD_MAX_PANELS;
        int64_t work = int64_min(p->m, j.block) * j.lda * QUAD_MAX_PANELS * QUAD_COLUMNS;
        pool_for((p->m + j.block - 1) / j.block * j.shares, 1 + GEMM_CHUNK / work, bf16_chunks, &j);
    }
    if (pairs) recycle_free(j.pairs, pairs);
    if (room) recycle_free(j.copy, room);
    if (panels) recycle_free(panels, bytes + BF16_ALIGN);
    return st;
}

/* ---- few rows -------------------------------------------------------------------------------- */

static bool bf16_is_few(const gemm_bf16_product *p) {
    return p->m <= GEMM_BF16_FEW && p->n >= GEMM_BF16_FEW * BF16_WIDER && p->b.rs == 1 &&
           p->b.cs >= p->k && p->k % QUAD_PAIR == 0 && transpose_usable();
}

/* Rows of sums become those of the result. */
static void bf16_finish_row(const gemm_bf16_product *p, float *sums, int64_t row) {
    for (int64_t j = 0; p->start && j < p->n; j++) sums[j] += p->start[j];
    if (p->floats) memcpy((float *)p->c + row * p->ldc, sums, (size_t)p->n * sizeof *sums);
    else bfloat16_from_floats(sums, (bfloat16 *)p->c + row * p->ldc, (size_t)p->n);
}

static ctsc_status bf16_few(diag *d, const gemm_bf16_product *p) {
    size_t bytes;
    if (!size_mul((size_t)p->n * 2 * sizeof(float), (size_t)p->m, &bytes)) return diag_no_memory(d);
    float *turned = recycle_alloc(bytes);
    if (!turned) return diag_no_memory(d);
    float *sums = turned + p->n * p->m;
    gemm_bf16_product t = {.m = p->n,
                           .n = p->m,
                           .k = p->k,
                           .a = {.p = p->b.p, .rs = p->b.cs, .cs = 1},
                           .b = {.p = p->a.p, .rs = p->a.cs, .cs = p->a.rs},
                           .c = turned,
                           .ldc = p->m,
                           .floats = true};
    ctsc_status st = bf16_product(d, &t);
    if (st == CTSC_OK) {
        transpose_words((uint32_t *)(void *)sums, p->n, (const uint32_t *)(const void *)turned,
                        p->m, p->m, p->n);
        for (int64_t i = 0; i < p->m; i++) bf16_finish_row(p, sums + i * p->n, i);
    }
    recycle_free(turned, bytes);
    return st;
}

ctsc_status gemm_bf16(diag *d, const gemm_bf16_product *p) {
    return bf16_is_few(p) ? bf16_few(d, p) : bf16_product(d, p);
}
