/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse_weight.c - products of rows with constant weights that are mostly zero.
 *
 * Method. There are two forms (cpu/gemm/sparse.h), each made where it is faster than the dense
 * kernels:
 *
 *     lookup   few rows: panels of 16 outputs that take their factors from tables of 32 numbers.
 *              Reading the weights is what counts, and it reads 5 bytes a step instead of 4 an element
 *     rows     many rows: each tile of rows is transposed, so that one weight multiplies vectors of
 *              them, and the results are transposed back while they are in the first cache. Where
 *              there is no lookup, few rows are a product with a vector each.
 *
 * Which one pays follows from what packing counts: steps and blocks, or elements, times what they
 * cost against a dense element (sparse_costs). It is not timed, since results must not depend on
 * what else the machine does: sums are in another order than dense ones. The figures are those of
 * bench/sparse.py.
 *
 * Zeros times infinity or NaN are NaN: rows are looked at first, and products with such go to the
 * dense kernels.
 * Tests: tests/unit/test_sparse.c
 */
#include "runtime/kernels/sparse/sparse_weight.h"

#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "base/threads/thread_pool.h"
#include "cpu/convert/transpose.h"
#include "cpu/ukernel.h"
#include "cpu/vector.h"

#include <string.h>

enum {
    WEIGHT_LOOKS = 4096,
    WEIGHT_ALIGN = 64,
    WEIGHT_FEW = 8,              /* rows that lookups do, */
    WEIGHT_FEW_BESIDE = 2,       /* where more rows are multiplied by the dense form */
    WEIGHT_TILE = 64,            /* rows that are transposed together, */
    WEIGHT_TILE_CACHE = 1 << 19, /* if they have this many bytes at most */
    WEIGHT_TILE_LEAST = 16,
    WEIGHT_OUTPUTS = 32,   /* of a piece of the result */
    WEIGHT_WORK = 1 << 18, /* multiplications worth a thread of their own */
};

struct sparse_weight {
    const sparse_micro *micro;
    int64_t n, k, nnz;
    /* rows; start NULL: not made */
    int64_t *start;
    int32_t *columns;
    float *values;
    /* lookup; counts NULL: not made */
    int64_t blocks, panels, steps;
    int64_t *first; /* of a panel: its first step */
    uint8_t *counts, *lookup_columns;
    float *lookup_values;
    void *lookup_memory;
};

/* What is counted, against an element of the dense kernels for as many rows. */
static const struct {
    double step, block; /* lookup: of SPARSE_LANES elements, of as many rows of SPARSE_BLOCK */
    double one, many;   /* rows: an element */
} sparse_costs = {.step = 22, .block = 60, .one = 5.5, .many = 2.6};

void sparse_weight_free(sparse_weight *s) {
    if (!s) return;
    mem_free(s->start);
    mem_free(s->columns);
    mem_free(s->values);
    mem_free(s->first);
    mem_free(s->counts);
    mem_free(s->lookup_memory);
    mem_free(s);
}

static float weight_at(const tensor *w, int64_t i, int64_t j) {
    return ((const float *)tensor_data(w))[i * w->strides[0] + j * w->strides[1]];
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Is it worth counting? Looks at some elements all over it. */
static bool weight_may_pay(const tensor *w) {
    int64_t n = int64_min(w->numel, WEIGHT_LOOKS), zeros = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = w->numel / n * i + i % (w->numel / n);
        zeros += weight_at(w, at / w->sizes[1], at % w->sizes[1]) == 0;
    }
    return zeros > n / 3;
}

/* Elements, and steps of the lookup. */
static void weight_count(const tensor *w, sparse_weight *s) {
    for (int64_t panel = 0; panel < s->panels; panel++)
        for (int64_t b = 0; b < s->blocks; b++) {
            int64_t end = int64_min((b + 1) * SPARSE_BLOCK, s->k), steps = 0,
                    last = int64_min((panel + 1) * SPARSE_LANES, s->n);
            for (int64_t i = panel * SPARSE_LANES; i < last; i++) {
                int64_t count = 0;
                for (int64_t j = b * SPARSE_BLOCK; j < end; j++) count += weight_at(w, i, j) != 0;
                s->nnz += count;
                steps = int64_max(steps, count);
            }
            s->steps += steps;
        }
}

static bool weight_fill_rows(const tensor *w, sparse_weight *s) {
    int64_t at = 0;
    s->start = mem_alloc((size_t)(s->n + 1) * sizeof *s->start);
    s->columns = mem_alloc((size_t)(s->nnz + 1) * sizeof *s->columns);
    s->values = mem_alloc((size_t)(s->nnz + 1) * sizeof *s->values);
    if (!s->start || !s->columns || !s->values) return false;
    for (int64_t i = 0; i < s->n; i++) {
        s->start[i] = at;
        for (int64_t j = 0; j < s->k; j++) {
            float x = weight_at(w, i, j);
            if (x != 0) s->columns[at] = (int32_t)j, s->values[at++] = x;
        }
    }
    s->start[s->n] = at;
    return true;
}

/* A block of a panel: lane i has the elements of output `first` + i. Returns its steps. */
static int64_t weight_fill_block(const tensor *w, const sparse_weight *s, int64_t first, int64_t b,
                                 uint8_t *columns, float *values) {
    int64_t begin = b * SPARSE_BLOCK, end = int64_min(begin + SPARSE_BLOCK, s->k), steps = 0;
    for (int64_t i = first; i < int64_min(first + SPARSE_LANES, s->n); i++) {
        int64_t step = 0;
        for (int64_t j = begin; j < end; j++) {
            float x = weight_at(w, i, j);
            if (x == 0) continue;
            values[step * SPARSE_LANES + i - first] = x;
            columns[step++ * SPARSE_LANES + i - first] = (uint8_t)(j - begin);
        }
        steps = int64_max(steps, step);
    }
    return steps;
}

static bool weight_fill_lookup(const tensor *w, sparse_weight *s) {
    size_t elements = (size_t)s->steps * SPARSE_LANES,
           bytes = elements * (sizeof(float) + 1) + WEIGHT_ALIGN;
    s->first = mem_alloc((size_t)(s->panels + 1) * sizeof *s->first);
    s->counts = mem_alloc((size_t)(s->panels * s->blocks));
    s->lookup_memory = mem_zalloc(bytes);
    if (!s->first || !s->counts || !s->lookup_memory) return false;
    char *at = (char *)s->lookup_memory + (-(uintptr_t)s->lookup_memory & (WEIGHT_ALIGN - 1));
    s->lookup_values = (float *)(void *)at;
    s->lookup_columns = (uint8_t *)(s->lookup_values + elements);
    int64_t step = 0;
    for (int64_t panel = 0; panel < s->panels; panel++) {
        s->first[panel] = step;
        for (int64_t b = 0; b < s->blocks; b++) {
            int64_t steps = weight_fill_block(w, s, panel * SPARSE_LANES, b,
                                              s->lookup_columns + step * SPARSE_LANES,
                                              s->lookup_values + step * SPARSE_LANES);
            s->counts[panel * s->blocks + b] = (uint8_t)steps;
            step += steps;
        }
    }
    return true;
}

sparse_weight *sparse_weight_make(const tensor *w) {
    sparse_weight *s = weight_may_pay(w) ? mem_zalloc(sizeof *s) : NULL;
    if (!s) return NULL;
    s->micro = ukernel_sparse(UKERNEL_F32);
    s->n = w->sizes[0], s->k = w->sizes[1];
    s->blocks = (s->k + SPARSE_BLOCK - 1) / SPARSE_BLOCK;
    s->panels = (s->n + SPARSE_LANES - 1) / SPARSE_LANES;
    if (s->k <= INT32_MAX) weight_count(w, s);
    double dense = (double)s->n * (double)s->k, nnz = (double)s->nnz;
    bool many = s->k <= INT32_MAX && nnz * sparse_costs.many < dense,
         one = s->k <= INT32_MAX && s->micro->lookup &&
               (double)s->steps * sparse_costs.step +
                       (double)(s->blocks * s->panels) * sparse_costs.block <
                   dense,
         made = many || one;
    if (one) made &= weight_fill_lookup(w, s);
    if (made && many) made &= weight_fill_rows(w, s);
    if (made) return s;
    sparse_weight_free(s);
    return NULL;
}

/* Does a product with a vector pay, for a row each? */
static bool weight_has_dots(const sparse_weight *s) {
    return s->start && (double)s->nnz * sparse_costs.one < (double)s->n * (double)s->k;
}

bool sparse_weight_pays(const sparse_weight *s, int64_t rows) {
    if (rows > WEIGHT_FEW) return s->start != NULL;
    if (!s->start && rows > WEIGHT_FEW_BESIDE) return false;
    return s->counts || weight_has_dots(s);
}

bool sparse_weight_is_whole(const sparse_weight *s) { return s->start && sparse_weight_pays(s, 1); }

/* ---- products -------------------------------------------------------------------------------- */

typedef struct weight_job {
    const sparse_weight *s;
    gemm_matrix a;
    const float *x; /* few: rows of whole blocks; many: tiles, each [k][width] */
    int64_t ldx;
    const dense_epilogue *after;
    float *c;
    int64_t ldc, m;
    int64_t tile, pieces; /* rows of a tile, pieces of outputs of one */
    float *tiles;
    atomic_bool *odd;
} weight_job;

VECTOR_CLONES static bool weight_finite(const float *x, int64_t n) {
    uint32_t odd = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        odd |= (bits & 0x7f800000) == 0x7f800000;
    }
    return !odd;
}

/* n elements of row r from column `first` on are sums: what comes after. */
static void weight_finish(const weight_job *j, int64_t r, int64_t first, int64_t n) {
    float *row = j->c + r * j->ldc + first;
    const float *bias = j->after ? j->after->bias : NULL;
    for (int64_t i = 0; bias && i < n; i++) row[i] += bias[first + i];
    if (j->after) epilogue_rows(j->after, row, r * j->ldc + first, n);
}

/* Panels [begin, end) of all rows. */
static void weight_lookup_panels(void *ctx, int64_t begin, int64_t end) {
    const weight_job *j = ctx;
    const sparse_weight *s = j->s;
    for (int64_t panel = begin; panel < end; panel++) {
        int64_t first = panel * SPARSE_LANES, at = s->first[panel] * SPARSE_LANES;
        sparse_lookup l = {.counts = s->counts + panel * s->blocks,
                           .columns = s->lookup_columns + at,
                           .values = s->lookup_values + at,
                           .blocks = s->blocks,
                           .ldx = j->ldx,
                           .ldo = j->ldc,
                           .lanes = (int)int64_min(SPARSE_LANES, s->n - first)};
        for (int64_t r = 0; r < j->m; r += SPARSE_LOOKUP_ROWS) {
            l.x = j->x + r * j->ldx, l.out = j->c + r * j->ldc + first;
            s->micro->lookup((int)int64_min(SPARSE_LOOKUP_ROWS, j->m - r), &l);
        }
    }
    for (int64_t r = 0; r < j->m; r++)
        weight_finish(j, r, begin * SPARSE_LANES,
                      int64_min(end * SPARSE_LANES, s->n) - begin * SPARSE_LANES);
}

/* Outputs [begin, end) of all rows. */
static void weight_dots(void *ctx, int64_t begin, int64_t end) {
    const weight_job *j = ctx;
    const sparse_weight *s = j->s;
    for (int64_t r = 0; r < j->m; r++) {
        sparse_part p = {.start = s->start + begin,
                         .columns = s->columns + s->start[begin],
                         .values = s->values + s->start[begin],
                         .b = j->x + r * j->ldx,
                         .out = j->c + r * j->ldc + begin,
                         .ldo = 1};
        s->micro->dots(&p, end - begin);
        weight_finish(j, r, begin, end - begin);
    }
}

static ctsc_status weight_few(diag *d, weight_job *j, bool *done) {
    const sparse_weight *s = j->s;
    int64_t whole = s->blocks * SPARSE_BLOCK, work = s->nnz / s->panels * j->m + 1;
    size_t bytes = 0;
    float *copy = NULL;
    j->x = j->a.p, j->ldx = j->a.rs;
    if (j->a.cs != 1 || (s->counts && whole != s->k)) {
        if (!size_mul((size_t)(j->m * whole), sizeof *copy, &bytes)) return diag_no_memory(d);
        copy = recycle_alloc(bytes);
        if (!copy) return diag_no_memory(d);
        for (int64_t r = 0; r < j->m; r++) {
            const float *from = (const float *)j->a.p + r * j->a.rs;
            float *to = copy + r * whole;
            for (int64_t i = 0; i < s->k; i++) to[i] = from[i * j->a.cs];
            memset(to + s->k, 0, (size_t)(whole - s->k) * sizeof *to);
        }
        j->x = copy, j->ldx = whole;
    }
    bool finite = true;
    for (int64_t r = 0; r < j->m; r++) finite &= weight_finite(j->x + r * j->ldx, s->k);
    if (finite && s->counts) pool_for(s->panels, 1 + WEIGHT_WORK / work, weight_lookup_panels, j);
    else if (finite) pool_for(s->n, 1 + WEIGHT_WORK / (s->nnz / s->n * j->m + 1), weight_dots, j);
    recycle_free(copy, bytes);
    *done = finite;
    return CTSC_OK;
}

/* Rows of a tile, rounded up: kernels have vectors of eight at least. */
static int64_t weight_width(const weight_job *j, int64_t tile) {
    return (int64_min(j->tile, j->m - tile * j->tile) + 7) & ~(int64_t)7;
}

/* dst[i * ld + c] = src[c * step + i] for i < rows, c < cols */
static void weight_turn(float *dst, int64_t ld, const float *src, int64_t step, int64_t rows,
                        int64_t cols) {
    if (cols >= 8 && transpose_usable()) {
        transpose_words((uint32_t *)dst, ld, (const uint32_t *)src, step, rows, cols);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < cols; c++) dst[i * ld + c] = src[c * step + i];
}

/* Tiles [begin, end) of the transposed rows. */
static void weight_tiles(void *ctx, int64_t begin, int64_t end) {
    const weight_job *j = ctx;
    int64_t k = j->s->k;
    for (int64_t t = begin; t < end; t++) {
        int64_t first = t * j->tile, rows = int64_min(j->tile, j->m - first),
                width = weight_width(j, t);
        const float *from = (const float *)j->a.p + first * j->a.rs;
        float *to = j->tiles + first * k;
        for (int64_t i = 0; rows < width && i < k; i++)
            memset(to + i * width + rows, 0, (size_t)(width - rows) * sizeof *to);
        if (j->a.cs == 1) weight_turn(to, width, from, j->a.rs, k, rows);
        for (int64_t i = 0; j->a.cs != 1 && i < k; i++)
            for (int64_t r = 0; r < rows; r++) to[i * width + r] = from[r * j->a.rs + i * j->a.cs];
        if (!weight_finite(to, k * width))
            atomic_store_explicit(j->odd, true, memory_order_relaxed);
    }
}

/* Pieces, those of a tile one after the other. */
static void weight_pieces(void *ctx, int64_t begin, int64_t end) {
    const weight_job *j = ctx;
    const sparse_weight *s = j->s;
    float sums[WEIGHT_OUTPUTS * WEIGHT_TILE];
    for (int64_t i = begin; i < end; i++) {
        int64_t t = i / j->pieces, o = i % j->pieces * WEIGHT_OUTPUTS, first = t * j->tile,
                rows = int64_min(j->tile, j->m - first), width = weight_width(j, t),
                outputs = int64_min(WEIGHT_OUTPUTS, s->n - o);
        sparse_part p = {.start = s->start + o,
                         .columns = s->columns + s->start[o],
                         .values = s->values + s->start[o],
                         .b = j->tiles + first * s->k,
                         .ldb = width,
                         .n = width,
                         .out = sums,
                         .ldo = width};
        s->micro->product(&p, outputs);
        weight_turn(j->c + first * j->ldc + o, j->ldc, sums, width, rows, outputs);
        for (int64_t r = 0; r < rows; r++) weight_finish(j, first + r, o, outputs);
    }
}

static ctsc_status weight_many(diag *d, weight_job *j, bool *done) {
    const sparse_weight *s = j->s;
    atomic_bool odd = false;
    size_t bytes;
    j->tile = WEIGHT_TILE;
    while (j->tile > WEIGHT_TILE_LEAST &&
           j->tile * s->k * (int64_t)sizeof(float) > WEIGHT_TILE_CACHE)
        j->tile /= 2;
    int64_t tiles = (j->m + j->tile - 1) / j->tile;
    if (!size_mul((size_t)(tiles * j->tile), (size_t)s->k * sizeof(float), &bytes))
        return diag_no_memory(d);
    j->tiles = recycle_alloc(bytes);
    if (!j->tiles) return diag_no_memory(d);
    j->odd = &odd;
    j->pieces = (s->n + WEIGHT_OUTPUTS - 1) / WEIGHT_OUTPUTS;
    pool_for(tiles, 1 + WEIGHT_WORK / (j->tile * s->k), weight_tiles, j);
    int64_t work = s->nnz / s->n * WEIGHT_OUTPUTS * j->tile + 1;
    *done = !odd;
    if (!odd) pool_for(tiles * j->pieces, 1 + WEIGHT_WORK / work, weight_pieces, j);
    recycle_free(j->tiles, bytes);
    return CTSC_OK;
}

ctsc_status sparse_weight_run(diag *d, const sparse_weight *s, int64_t m, gemm_matrix a,
                              const dense_epilogue *after, void *c, int64_t ldc, bool *done) {
    weight_job j = {.s = s, .a = a, .after = after, .c = c, .ldc = ldc, .m = m};
    return m <= WEIGHT_FEW ? weight_few(d, &j, done) : weight_many(d, &j, done);
}
