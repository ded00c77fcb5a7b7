/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_half.c - linear layers whose weight is a constant of float16 or bfloat16.
 *
 * Method. The weight is packed at the first call and keeps its 16 bits: no call
 * converts all of it. Each matrix in a storage that is used is kept: those of
 * experts are views of one tensor. Sums are float32, begin with the bias, and
 * are rounded once. There are two forms, chosen when the weight is packed:
 *
 *     quads    bfloat16 where the processor multiplies pairs of it (quad_matrix.h), any number of
 *              rows
 *     panels   else. Few rows: weights become floats in registers (cpu/gemm/widen.h), so that a row
 *              costs one read of the weights. More rows: some columns at a time are
 *              converted to float panels, for the float kernels; many rows amortise that.
 *
 * Tests: tests/unit/test_linear_half.c
 */
#include "runtime/kernels/matmul/linear_half.h"

#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "base/threads/thread_pool.h"
#include "runtime/kernels/engine/kernel_settings.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/matmul/gemm_bf16.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/matmul/packed_weights.h"

#include <string.h>

enum {
    HALF_ALIGN = 64,
    HALF_PACK_K = 32, /* steps of k that are transposed together: what a line of a row holds */
};

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct half_pack {
    half_weight *h;
    const tensor *w;
} half_pack;

/* Panels [begin, end). */
static void half_pack_panels(void *ctx, int64_t begin, int64_t end) {
    const half_pack *p = ctx;
    const half_weight *h = p->h;
    int64_t rs = p->w->strides[0], cs = p->w->strides[1];
    for (int64_t panel = begin; panel < end; panel++) {
        int64_t first = panel * WIDEN_COLUMNS, cols = int64_min(WIDEN_COLUMNS, h->n - first);
        const uint16_t *from = (const uint16_t *)tensor_data(p->w) + first * rs;
        uint16_t *to = h->panels + panel * h->k * WIDEN_COLUMNS;
        for (int64_t x = 0; x < h->k; x += HALF_PACK_K)
            for (int64_t c = 0; c < cols; c++)
                for (int64_t i = x; i < int64_min(x + HALF_PACK_K, h->k); i++)
                    to[i * WIDEN_COLUMNS + c] = from[c * rs + i * cs];
    }
}

/* Panels [begin, end) of quads: pairs of k side by side. */
static void half_pack_quads(void *ctx, int64_t begin, int64_t end) {
    const half_pack *p = ctx;
    const half_weight *h = p->h;
    int64_t rs = p->w->strides[0], cs = p->w->strides[1];
    for (int64_t panel = begin; panel < end; panel++) {
        int64_t first = panel * QUAD_COLUMNS, cols = int64_min(QUAD_COLUMNS, h->n - first);
        const uint16_t *from = (const uint16_t *)tensor_data(p->w) + first * rs;
        uint16_t *to = (uint16_t *)(void *)h->quads.data +
                       panel * h->quads.quads * QUAD_COLUMNS * QUAD_PAIR;
        for (int64_t x = 0; x < h->k; x += HALF_PACK_K)
            for (int64_t c = 0; c < cols; c++)
                for (int64_t i = x; i < int64_min(x + HALF_PACK_K, h->k); i++)
                    to[(i / QUAD_PAIR * QUAD_COLUMNS + c) * QUAD_PAIR + i % QUAD_PAIR] =
                        from[c * rs + i * cs];
    }
}

static void half_free(half_weight *h) {
    mem_free(h->memory);
    mem_free(h);
}

void linear_half_free(void *made) {
    half_weights *all = made;
    for (half_weight *h = atomic_load(&all->first), *next; h; h = next) {
        next = h->next;
        half_free(h);
    }
    pthread_mutex_destroy(&all->lock);
    mem_free(all);
}

static void *half_make_all(const void *from) {
    (void)from;
    half_weights *all = mem_zalloc(sizeof *all);
    if (all) pthread_mutex_init(&all->lock, NULL);
    return all;
}

/* Room for the packed weight, zeroed and aligned. */
static void *half_room(half_weight *h, size_t bytes) {
    h->memory = bytes <= PTRDIFF_MAX - HALF_ALIGN ? mem_zalloc(bytes + HALF_ALIGN) : NULL;
    return h->memory ? (char *)h->memory + (-(uintptr_t)h->memory & (HALF_ALIGN - 1)) : NULL;
}

static bool half_fill(half_weight *h, const tensor *w) {
    half_pack p = {h, w};
    size_t bytes;
    const quad_kernels *u = h->dt == DT_BFLOAT16 ? ukernel_quad(UKERNEL_BF16) : NULL;
    if (u)
        h->quads = (quad_matrix){
            .kernels = u, .n = h->n, .groups = 1, .segments = 1, .k = quad_whole_k(u, h->k)};
    if (u && quad_matrix_bf16(&h->quads, &bytes)) {
        h->quads.data = half_room(h, bytes);
        if (!h->quads.data) return false;
        pool_for(h->quads.panels, 1 + GEMM_CHUNK / (h->k * QUAD_COLUMNS), half_pack_quads, &p);
        return true;
    }
    int64_t panels = (h->n + WIDEN_COLUMNS - 1) / WIDEN_COLUMNS;
    h->quads.kernels = NULL;
    h->widen = ukernel_widen(h->dt == DT_FLOAT16 ? UKERNEL_F16 : UKERNEL_BF16);
    if (!size_mul((size_t)panels * WIDEN_COLUMNS * sizeof *h->panels, (size_t)h->k, &bytes))
        return false;
    h->panels = half_room(h, bytes);
    if (!h->panels) return false;
    pool_for(panels, 1 + GEMM_CHUNK / (h->k * WIDEN_COLUMNS), half_pack_panels, &p);
    return true;
}

static half_weight *half_make(const tensor *w) {
    half_weight *h = mem_zalloc(sizeof *h);
    if (!h) return NULL;
    h->dt = (dtype)w->dtype;
    h->n = w->sizes[0], h->k = w->sizes[1];
    h->of = tensor_data(w);
    h->strides[0] = w->strides[0], h->strides[1] = w->strides[1];
    if (half_fill(h, w)) return h;
    half_free(h);
    return NULL;
}

static const half_weight *half_find(half_weights *all, const tensor *w) {
    const half_weight *h = atomic_load_explicit(&all->first, memory_order_acquire);
    while (h && (h->of != tensor_data(w) || h->n != w->sizes[0] || h->k != w->sizes[1] ||
                 h->strides[0] != w->strides[0] || h->strides[1] != w->strides[1]))
        h = h->next;
    return h;
}

/* One more, unless what is kept would be more than all of the storage twice: matrices that overlap
 * are not weights. The pages of the original go when all of it is packed. */
static const half_weight *half_add(half_weights *all, const tensor *w) {
    int64_t there = (int64_t)(w->storage->nbytes / 2);
    pthread_mutex_lock(&all->lock);
    const half_weight *known = half_find(all, w);
    half_weight *h = known || w->numel > 2 * there - all->elements ? NULL : half_make(w);
    if (h) {
        all->elements += w->numel;
        h->next = atomic_load_explicit(&all->first, memory_order_relaxed);
        atomic_store_explicit(&all->first, h, memory_order_release);
        if (all->elements >= there) prepack_drop(w);
    }
    pthread_mutex_unlock(&all->lock);
    return known ? known : h;
}

/* NULL: w is used unpacked. */
static const half_weight *half_of(const tensor *w) {
    if (!w->storage->constant || w->numel == 0 ||
        atomic_load_explicit(&kernel_no_packing, memory_order_relaxed))
        return NULL;
    half_weights *all = prepack_derived_now(w->storage, half_make_all, w, linear_half_free);
    const half_weight *h = all ? half_find(all, w) : NULL;
    return all && !h && PREPACK_MAKES ? half_add(all, w) : h;
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct half_job {
    const half_weight *h;
    const void *x; /* rows of k elements */
    int64_t rows;
    const float *bias;    /* n, and zeros up to whole panels */
    dense_epilogue after; /* all but the bias */
    uint16_t *out;
    int64_t at; /* element of the result that out is */
    /* of quads: rows lda elements apart, in blocks; shares: this many panels together */
    const bfloat16 *a;
    bfloat16 *copy;
    int64_t lda, block, shares, panels;
    /* of panels: the rows as floats */
    float *wide;
    /* of many rows: float panels of nr columns from column `first` on, and what they give */
    float *floats, *sums;
    int64_t first, some, nr;
} half_job;

static void half_quad_chunks(void *ctx, int64_t begin, int64_t end) {
    const half_job *j = ctx;
    const half_weight *h = j->h;
    static const int64_t segment[1] = {0};
    quad_hold hold = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i % j->shares * j->panels, row = i / j->shares * j->block,
                column = panel * QUAD_COLUMNS;
        quad_strip s = {.a = j->a + row * j->lda,
                        .rows = int64_min(j->rows - row, j->block),
                        .of = j->rows,
                        .lda = j->lda * (int64_t)sizeof *j->a,
                        .segment = segment,
                        .start = j->bias + column,
                        .halves = true,
                        .half_other = true,
                        .activation = (enum dense_activation)j->after.activation,
                        .out = j->out + row * h->n + column,
                        .ldc = h->n};
        if (j->after.other) s.other = (const uint16_t *)j->after.other + row * h->n + column;
        quad_strip_run(&h->quads, 0, panel, int64_min(panel + j->panels, h->quads.panels), &s,
                       &hold);
    }
    quad_release(&hold);
}

static void half_copy_rows(void *ctx, int64_t begin, int64_t end) {
    const half_job *j = ctx;
    int64_t k = j->h->k;
    for (int64_t r = begin; r < end; r++) {
        bfloat16 *to = j->copy + r * j->lda;
        memcpy(to, (const bfloat16 *)j->x + r * k, (size_t)k * sizeof *to);
        memset(to + k, 0, (size_t)(j->lda - k) * sizeof *to);
    }
}

/* Rows that are not whole steps are copied, zero-padded; so are rows with too large a stride. */
static bool half_quad_rows(half_job *j, size_t *room) {
    const half_weight *h = j->h;
    j->lda = quad_pitch(h->quads.kernels, j->rows, h->quads.k * (int64_t)sizeof *j->a) /
             (int64_t)sizeof *j->a;
    j->a = j->x;
    *room = 0;
    if (j->lda == h->k) return true;
    if (!size_mul((size_t)j->rows, (size_t)j->lda * sizeof *j->a, room)) return false;
    j->a = j->copy = recycle_alloc(*room);
    if (!j->copy) return false;
    pool_for(j->rows, 1 + 32768 / j->lda, half_copy_rows, j);
    return true;
}

static bool half_by_quads(half_job *j) {
    size_t room;
    if (!half_quad_rows(j, &room)) return false;
    j->block = quad_block_rows(&j->h->quads, j->lda * (int64_t)sizeof *j->a);
    j->panels = j->rows == 1 ? QUAD_ROW_PANELS : QUAD_MAX_PANELS;
    j->shares = (j->h->quads.panels + j->panels - 1) / j->panels;
    int64_t work = int64_min(j->rows, j->block) * j->lda * j->panels * QUAD_COLUMNS;
    pool_for((j->rows + j->block - 1) / j->block * j->shares, 1 + GEMM_CHUNK / (work * HALF_LOAD),
             half_quad_chunks, j);
    if (room) recycle_free(j->copy, room);
    return true;
}

/* n sums become elements of row r, from `column` on. */
static void half_finish(const half_job *j, int64_t r, int64_t column, float *sums, int64_t n) {
    int64_t to = r * j->h->n + column;
    epilogue_halves(&j->after, j->h->dt, sums, j->at + to, n, j->out + to);
}

static void half_wide_rows(void *ctx, int64_t begin, int64_t end) {
    const half_job *j = ctx;
    int64_t k = j->h->k;
    halves_to_floats(j->h->dt, (const uint16_t *)j->x + begin * k, j->wide + begin * k,
                     (end - begin) * k);
}

/* Few rows: a chunk is a panel. */
static void half_few_chunks(void *ctx, int64_t begin, int64_t end) {
    const half_job *j = ctx;
    const half_weight *h = j->h;
    float sums[HALF_FEW * WIDEN_COLUMNS], ones[WIDEN_COLUMNS];
    for (int i = 0; i < WIDEN_COLUMNS; i++) ones[i] = 1;
    for (int64_t p = begin; p < end; p++) {
        int64_t column = p * WIDEN_COLUMNS, cols = int64_min(WIDEN_COLUMNS, h->n - column),
                tiles = (j->rows + h->widen->rows - 1) / h->widen->rows;
        widen_tile t = {.ldx = h->k,
                        .k = h->k,
                        .b = h->panels + column * h->k,
                        .scale = ones,
                        .bias = j->bias + column,
                        .ldc = WIDEN_COLUMNS,
                        .cols = (int)cols};
        for (int64_t i = 0, r = 0, rows; i < tiles; i++, r += rows) {
            rows = (j->rows - r) / (tiles - i);
            t.x = j->wide + r * h->k;
            t.out = sums + r * WIDEN_COLUMNS;
            h->widen->tile((int)rows, &t);
        }
        for (int64_t r = 0; r < j->rows; r++)
            half_finish(j, r, column, sums + r * WIDEN_COLUMNS, cols);
    }
}

/* Float panels of the columns from `first` on. */
static void half_widen_panels(void *ctx, int64_t begin, int64_t end) {
    const half_job *j = ctx;
    const half_weight *h = j->h;
    for (int64_t p = begin; p < end; p++) {
        int64_t column = j->first + p * j->nr, at = column % WIDEN_COLUMNS;
        const uint16_t *from = h->panels + (column - at) * h->k + at;
        float *to = j->floats + p * j->nr * h->k;
        if (h->dt == DT_FLOAT16)
            float16_rows_to_floats((const float16 *)from, WIDEN_COLUMNS, to, j->nr, h->k, j->nr);
        else bfloat16_rows_to_floats((const bfloat16 *)from, WIDEN_COLUMNS, to, j->nr, h->k, j->nr);
    }
}

static void half_round_rows(void *ctx, int64_t begin, int64_t end) {
    const half_job *j = ctx;
    for (int64_t r = begin; r < end; r++)
        half_finish(j, r, j->first, j->sums + r * j->some, j->some);
}

static ctsc_status half_many(diag *d, half_job *j, const gemm_micro *u) {
    const half_weight *h = j->h;
    size_t panels, sums;
    j->nr = u->nr;
    if (!size_mul((size_t)h->k * sizeof(float), HALF_COLUMNS, &panels) ||
        !size_mul((size_t)j->rows * sizeof(float), HALF_COLUMNS, &sums))
        return diag_no_memory(d);
    char *memory = recycle_alloc(panels + HALF_ALIGN);
    j->sums = recycle_alloc(sums);
    ctsc_status st = memory && j->sums ? CTSC_OK : diag_no_memory(d);
    if (memory) j->floats = (float *)(void *)(memory + (-(uintptr_t)memory & (HALF_ALIGN - 1)));
    gemm_matrix a = {.p = j->wide, .rs = h->k, .cs = 1};
    for (j->first = 0; j->first < h->n && st == CTSC_OK; j->first += HALF_COLUMNS) {
        j->some = int64_min(HALF_COLUMNS, h->n - j->first);
        pool_for((j->some + j->nr - 1) / j->nr, 1 + 32768 / (j->nr * h->k), half_widen_panels, j);
        gemm_prepacked b = {.micro = u, .n = j->some, .k = h->k, .panels = j->floats};
        st = gemm_run_prepacked(d, &b, j->rows, a, &(dense_epilogue){.bias = j->bias + j->first},
                                j->sums, j->some);
        if (st == CTSC_OK) pool_for(j->rows, 1 + 32768 / j->some, half_round_rows, j);
    }
    if (memory) recycle_free(memory, panels + HALF_ALIGN);
    if (j->sums) recycle_free(j->sums, sums);
    return st;
}

/* Without kernels for float panels some rows at a time are few. */
static void half_in_turn(half_job *j) {
    half_job some = *j;
    int64_t panels = (j->h->n + WIDEN_COLUMNS - 1) / WIDEN_COLUMNS;
    for (int64_t r = 0; r < j->rows; r += HALF_FEW) {
        some.rows = int64_min(HALF_FEW, j->rows - r);
        some.wide = j->wide + r * j->h->k;
        some.out = j->out + r * j->h->n;
        some.at = j->at + r * j->h->n;
        pool_for(panels, 1 + GEMM_CHUNK / (some.rows * j->h->k * WIDEN_COLUMNS * HALF_LOAD),
                 half_few_chunks, &some);
    }
}

static ctsc_status half_by_panels(diag *d, half_job *j) {
    const half_weight *h = j->h;
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    ctsc_status st = CTSC_OK;
    size_t bytes;
    if (!size_mul((size_t)j->rows, (size_t)h->k * sizeof(float), &bytes)) return diag_no_memory(d);
    j->wide = recycle_alloc(bytes);
    if (!j->wide) return diag_no_memory(d);
    pool_for(j->rows, 1 + 32768 / h->k, half_wide_rows, j);
    if (j->rows > HALF_FEW && u && WIDEN_COLUMNS % u->nr == 0) st = half_many(d, j, u);
    else half_in_turn(j);
    recycle_free(j->wide, bytes);
    return st;
}

/* A weight that is not a constant, of bfloat16. */
static ctsc_status half_by_pairs(diag *d, tensor *input, const tensor *weight, tensor *bias,
                                 tensor *out, bool *done) {
    int64_t n = weight->sizes[0], k = weight->sizes[1], rows = k ? input->numel / k : 0;
    if (weight->dtype != DT_BFLOAT16 || weight->numel == 0 || rows < GEMM_BF16_ROWS ||
        !gemm_bf16_usable())
        return CTSC_OK;
    tensor *x, *added = NULL;
    TRY(tensor_contiguous(d, input, &x));
    ctsc_status st = bias ? tensor_contiguous(d, bias, &added) : CTSC_OK;
    size_t bytes = (size_t)n * sizeof(float);
    float *start = st == CTSC_OK && added ? recycle_alloc(bytes) : NULL;
    if (start) halves_to_floats(DT_BFLOAT16, tensor_data(added), start, n);
    else if (st == CTSC_OK && added) st = diag_no_memory(d);
    gemm_bf16_product p = {.m = rows,
                           .n = n,
                           .k = k,
                           .a = {.p = tensor_data(x), .rs = k, .cs = 1},
                           .b = {tensor_data(weight), weight->strides[1], weight->strides[0]},
                           .start = start,
                           .c = tensor_data(out),
                           .ldc = n};
    if (st == CTSC_OK) st = gemm_bf16(d, &p);
    *done = st == CTSC_OK;
    if (start) recycle_free(start, bytes);
    tensor_unref(added);
    tensor_unref(x);
    return st;
}

ctsc_status linear_half(diag *d, tensor *input, const tensor *weight, tensor *bias, epilogue *e,
                        tensor *out, bool *done) {
    *done = false;
    if (input->numel == 0 || (bias && bias->ndim != 1)) return CTSC_OK;
    const half_weight *h = half_of(weight);
    if (!h) return half_by_pairs(d, input, weight, bias, out, done);
    tensor *x, *added = NULL;
    TRY(tensor_contiguous(d, input, &x));
    ctsc_status st = bias ? tensor_contiguous(d, bias, &added) : CTSC_OK;
    int64_t columns = (h->n + WIDEN_COLUMNS - 1) / WIDEN_COLUMNS * WIDEN_COLUMNS;
    size_t bytes = (size_t)columns * sizeof(float);
    float *wide_bias = st == CTSC_OK ? recycle_alloc(bytes) : NULL;
    if (st == CTSC_OK && !wide_bias) st = diag_no_memory(d);
    if (st == CTSC_OK) {
        memset(wide_bias, 0, bytes);
        if (added) halves_to_floats(h->dt, tensor_data(added), wide_bias, h->n);
        half_job j = {.h = h,
                      .x = tensor_data(x),
                      .rows = x->numel / h->k,
                      .bias = wide_bias,
                      .out = tensor_data(out)};
        bool with = epilogue_fits_half(e, out);
        if (with) j.after = epilogue_of(NULL, e);
        if (!h->quads.kernels) st = half_by_panels(d, &j);
        else if (!half_by_quads(&j)) st = diag_no_memory(d);
        *done = st == CTSC_OK;
        if (with) e->done = true;
    }
    if (wide_bias) recycle_free(wide_bias, bytes);
    tensor_unref(added);
    tensor_unref(x);
    return st;
}
