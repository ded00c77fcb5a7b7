/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_reduced.c - linear layers of reduced precision: ctsc::linear_bf16 and ctsc::linear_int8w,
 * which the pass "reduce-precision" makes of layers with constant weights.
 *
 * Weights are packed at the first call, so that all calls compute alike; the pages of the original
 * are given back. What the kernels do not cover (other dtypes, weights that are not finite as
 * bytes) is computed by aten::linear, errors among it.
 * Tests: tests/unit/test_precision.c, tests/cli/precision.test
 */
#include "base/memory/pages.h"
#include "base/memory/recycle.h"
#include "base/threads/thread_pool.h"
#include "cpu/ukernel.h"
#include "cpu/vector.h"
#include "runtime/kernels/engine/slots.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/matmul/packed_weights.h"
#include "runtime/kernels/matmul/quad_matrix.h"

#include <math.h>
#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

enum {
    REDUCED_ALIGN = 64,
    REDUCED_WORK = 1 << 20, /* multiplications worth a thread of their own */
    INT8W_FEW = 24,         /* rows up to which bytes become floats in registers, */
    INT8W_CHUNK = 256,      /* and columns of those that become floats in memory for more */
};

/* ---- what both need -------------------------------------------------------------------------- */

/* A call that the kernels can do. */
typedef struct reduced_call {
    const float *x, *bias; /* contiguous; bias NULL: none */
    int64_t rows, n, k;
    float *out;
    tensor *input, *added, *result;
} reduced_call;

static bool reduced_fits(const tensor *x, const tensor *w, const tensor *b) {
    return x->dtype == DT_FLOAT32 && w->dtype == DT_FLOAT32 && x->ndim >= 1 && w->ndim == 2 &&
           x->storage->device == DEVICE_HOST && w->storage->device == DEVICE_HOST &&
           w->storage->constant && w->numel > 0 && x->numel > 0 &&
           x->sizes[x->ndim - 1] == w->sizes[1] &&
           (!b || (b->dtype == DT_FLOAT32 && b->ndim == 1 && b->sizes[0] == w->sizes[0] &&
                   b->storage->device == DEVICE_HOST));
}

static ctsc_status reduced_begin(op_ctx *cx, tensor *x, const tensor *w, tensor *b,
                                 reduced_call *c) {
    int64_t sizes[TENSOR_MAX_DIMS];
    *c = (reduced_call){.n = w->sizes[0], .k = w->sizes[1]};
    c->rows = x->numel / c->k;
    for (int i = 0; i < x->ndim; i++) sizes[i] = x->sizes[i];
    sizes[x->ndim - 1] = c->n;
    ctsc_status st = tensor_contiguous(cx->diag, x, &c->input);
    if (st == CTSC_OK && b) st = tensor_contiguous(cx->diag, b, &c->added);
    if (st == CTSC_OK) st = tensor_new(cx->diag, DT_FLOAT32, x->ndim, sizes, &c->result);
    if (st != CTSC_OK) return st;
    c->x = tensor_data(c->input);
    c->bias = b ? tensor_data(c->added) : NULL;
    c->out = tensor_data(c->result);
    return CTSC_OK;
}

static ctsc_status reduced_end(reduced_call *c, ctsc_status st, tensor **out) {
    tensor_unref(c->input);
    tensor_unref(c->added);
    if (st == CTSC_OK) *out = c->result;
    else tensor_unref(c->result);
    return st;
}

/* Weights of a byte: w is round(w / scale) * scale, scale = the column's largest
 * magnitude / 127. */
typedef struct gemm_int8w {
    int64_t n, k, panels;
    int8_t *data; /* [panel][k][WIDEN_COLUMNS] */
    float *scale; /* [panel][column] */
} gemm_int8w;

/* What is kept with a weight. */
typedef struct reduced_weight {
    quad_matrix bf16;
    gemm_int8w int8w;
    void *memory;
    /* the weight: another view of its storage is another one */
    const void *of;
    int64_t strides[2];
} reduced_weight;

static void *reduced_memory(reduced_weight *r, size_t bytes) {
    r->memory = bytes <= PTRDIFF_MAX - REDUCED_ALIGN ? mem_zalloc(bytes + REDUCED_ALIGN) : NULL;
    return r->memory ? (char *)r->memory + (-(uintptr_t)r->memory & (REDUCED_ALIGN - 1)) : NULL;
}

static reduced_weight *reduced_new(const tensor *w) {
    reduced_weight *r = mem_zalloc(sizeof *r);
    if (!r) return NULL;
    r->of = tensor_data(w);
    r->strides[0] = w->strides[0], r->strides[1] = w->strides[1];
    return r;
}

static void reduced_free(void *made) {
    reduced_weight *r = made;
    mem_free(r->memory);
    mem_free(r);
}

static bool reduced_same(const reduced_weight *r, const tensor *w, int64_t n, int64_t k) {
    return r->of == tensor_data(w) && r->strides[0] == w->strides[0] &&
           r->strides[1] == w->strides[1] && n == w->sizes[0] && k == w->sizes[1];
}

/* ---- bfloat16 -------------------------------------------------------------------------------- */

static void bf16_free(void *made) { reduced_free(made); }

static bool bf16_fill(reduced_weight *r, const tensor *w) {
    quad_matrix *m = &r->bf16;
    int64_t k = w->sizes[1];
    size_t bytes;
    const quad_kernels *u = ukernel_quad(UKERNEL_BF16);
    if (!u) return false;
    *m = (quad_matrix){
        .kernels = u, .n = w->sizes[0], .groups = 1, .segments = 1, .k = quad_whole_k(u, k)};
    if (!quad_matrix_bf16(m, &bytes)) return false;
    float *column = mem_zalloc((size_t)m->k * sizeof *column);
    m->data = column ? reduced_memory(r, bytes) : NULL;
    for (int64_t j = 0; m->data && j < m->n; j++) {
        const float *from = (const float *)tensor_data(w) + j * w->strides[0];
        for (int64_t i = 0; i < k; i++) column[i] = from[i * w->strides[1]];
        quad_matrix_put(m, 0, j, column);
    }
    mem_free(column);
    return m->data != NULL;
}

static void *bf16_make(const void *from) {
    reduced_weight *r = reduced_new(from);
    if (r && bf16_fill(r, from)) return prepack_drop(from), r;
    if (r) reduced_free(r);
    return NULL;
}

typedef struct bf16_job {
    const reduced_call *c;
    const quad_matrix *m;
    bfloat16 *a;
    int64_t lda; /* elements */
    int64_t block, shares;
} bf16_job;

static void bf16_rows(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        bfloat16 *to = j->a + r * j->lda;
        quad_vectors(j->m->kernels)->round(j->c->x + r * j->c->k, j->c->k, to);
        memset(to + j->c->k, 0, (size_t)(j->lda - j->c->k) * sizeof *to);
    }
}

static void bf16_chunks(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    static const int64_t segment[1] = {0};
    quad_hold hold = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i % j->shares * QUAD_MAX_PANELS, row = i / j->shares * j->block,
                left = j->c->rows - row, last = panel + QUAD_MAX_PANELS,
                column = panel * QUAD_COLUMNS;
        quad_strip s = {.a = j->a + row * j->lda,
                        .rows = left < j->block ? left : j->block,
                        .lda = j->lda * (int64_t)sizeof *j->a,
                        .segment = segment,
                        .start = j->c->bias ? j->c->bias + column : NULL,
                        .out = j->c->out + row * j->c->n + column,
                        .ldc = j->c->n};
        quad_strip_run(j->m, 0, panel, last < j->m->panels ? last : j->m->panels, &s, &hold);
    }
    quad_release(&hold);
}

static ctsc_status bf16_linear(diag *d, const reduced_call *c, const quad_matrix *m) {
    bf16_job j = {.c = c, .m = m, .lda = m->k};
    size_t bytes;
    if (!size_mul((size_t)c->rows, (size_t)j.lda * sizeof *j.a, &bytes)) return diag_no_memory(d);
    j.a = recycle_alloc(bytes);
    if (!j.a) return diag_no_memory(d);
    j.block = quad_block_rows(m, j.lda * (int64_t)sizeof *j.a);
    j.shares = (m->panels + QUAD_MAX_PANELS - 1) / QUAD_MAX_PANELS;
    int64_t rows = c->rows < j.block ? c->rows : j.block,
            work = rows * m->k * QUAD_COLUMNS * QUAD_MAX_PANELS;
    pool_for(c->rows, 1 + 32768 / j.lda, bf16_rows, &j);
    pool_for((c->rows + j.block - 1) / j.block * j.shares, 1 + REDUCED_WORK / work, bf16_chunks,
             &j);
    recycle_free(j.a, bytes);
    return CTSC_OK;
}

static const quad_matrix *bf16_of(const tensor *w) {
    const reduced_weight *r = ukernel_quad(UKERNEL_BF16)
                                  ? prepack_derived_now(w->storage, bf16_make, w, bf16_free)
                                  : NULL;
    return r && reduced_same(r, w, r->bf16.n, w->sizes[1]) ? &r->bf16 : NULL;
}

OPERATOR(linear_bf16) {
    tensor *x = arg_tensor(&args[0]), *w = arg_tensor(&args[1]), *b = arg_tensor_or_null(&args[2]),
           *out = NULL;
    const quad_matrix *m = reduced_fits(x, w, b) ? bf16_of(w) : NULL;
    if (!m) {
        TRY(matmul_linear(cx, x, w, b, &out));
        return op_return_tensor(results, out);
    }
    reduced_call c;
    ctsc_status st = reduced_begin(cx, x, w, b, &c);
    if (st == CTSC_OK) st = bf16_linear(cx->diag, &c, m);
    TRY(reduced_end(&c, st, &out));
    return op_return_tensor(results, out);
}

/* ---- weights of a byte ----------------------------------------------------------------------- */

/* A column of weights, `apart` elements apart, into its place; false: one of them is not finite.
 * data and scale begin as zeros. */
static bool int8w_put(const gemm_int8w *m, int64_t j, const float *column, int64_t apart) {
    float most = 0;
    for (int64_t i = 0; i < m->k; i++) {
        if (!isfinite(column[i * apart])) return false;
        if (fabsf(column[i * apart]) > most) most = fabsf(column[i * apart]);
    }
    float scale = most / INT8_MAX;
    int8_t *to = m->data + j / WIDEN_COLUMNS * m->k * WIDEN_COLUMNS + j % WIDEN_COLUMNS;
    m->scale[j] = scale;
    for (int64_t i = 0; i < m->k && scale > 0; i++) {
        float steps = rintf(column[i * apart] / scale);
        to[i * WIDEN_COLUMNS] = (int8_t)fminf(INT8_MAX, fmaxf(-INT8_MAX, steps));
    }
    return true;
}

static bool int8w_fill(reduced_weight *r, const tensor *w) {
    gemm_int8w *m = &r->int8w;
    *m = (gemm_int8w){.n = w->sizes[0],
                      .k = w->sizes[1],
                      .panels = (w->sizes[0] + WIDEN_COLUMNS - 1) / WIDEN_COLUMNS};
    int64_t columns = m->panels * WIDEN_COLUMNS, bytes;
    if (__builtin_mul_overflow(columns, m->k + (int64_t)sizeof *m->scale, &bytes)) return false;
    m->data = reduced_memory(r, (size_t)bytes);
    if (!m->data) return false;
    m->scale = (float *)(void *)(m->data + columns * m->k);
    for (int64_t j = 0; j < m->n; j++)
        if (!int8w_put(m, j, (const float *)tensor_data(w) + j * w->strides[0], w->strides[1]))
            return false;
    return true;
}

static void *int8w_make(const void *from) {
    reduced_weight *r = reduced_new(from);
    if (r && int8w_fill(r, from)) return prepack_drop(from), r;
    if (r) reduced_free(r);
    return NULL;
}

typedef struct int8w_job {
    const reduced_call *c;
    const gemm_int8w *m;
    const widen_micro *micro;
    /* as floats, panels of nr columns from column `first` on */
    float *panels;
    int64_t first, nr;
} int8w_job;

static void int8w_chunks(void *ctx, int64_t begin, int64_t end) {
    const int8w_job *j = ctx;
    const reduced_call *c = j->c;
    for (int64_t p = begin; p < end; p++) {
        float bias[WIDEN_COLUMNS] = {0};
        int64_t column = p * WIDEN_COLUMNS, cols = c->n - column;
        if (cols > WIDEN_COLUMNS) cols = WIDEN_COLUMNS;
        if (c->bias) memcpy(bias, c->bias + column, (size_t)cols * sizeof *bias);
        widen_tile t = {.ldx = c->k,
                        .k = c->k,
                        .b = j->m->data + column * c->k,
                        .scale = j->m->scale + column,
                        .bias = bias,
                        .ldc = c->n,
                        .cols = (int)cols};
        int64_t tiles = (c->rows + j->micro->rows - 1) / j->micro->rows;
        for (int64_t i = 0, r = 0, rows; i < tiles; i++, r += rows) {
            rows = (c->rows - r) / (tiles - i);
            t.x = c->x + r * c->k;
            t.out = c->out + r * c->n + column;
            j->micro->tile((int)rows, &t);
        }
    }
}

/* Panel p of the floats. */
VECTOR_CLONES static void int8w_floats(const int8_t *from, const float *scale, int64_t k,
                                       int64_t cols, int64_t nr, float *to) {
    for (int64_t i = 0; i < k; i++, from += WIDEN_COLUMNS, to += nr) {
        for (int64_t c = 0; c < cols; c++) to[c] = (float)from[c] * scale[c];
        for (int64_t c = cols; c < nr; c++) to[c] = 0;
    }
}

static void int8w_widen(void *ctx, int64_t begin, int64_t end) {
    const int8w_job *j = ctx;
    int64_t k = j->m->k;
    for (int64_t p = begin; p < end; p++) {
        int64_t column = j->first + p * j->nr, panel = column / WIDEN_COLUMNS,
                at = column % WIDEN_COLUMNS;
        int8w_floats(j->m->data + panel * WIDEN_COLUMNS * k + at, j->m->scale + column, k,
                     column + j->nr > j->m->n ? j->m->n - column : j->nr, j->nr,
                     j->panels + p * j->nr * k);
    }
}

/* Many rows: some columns at a time become floats, for the kernels of those. */
static ctsc_status int8w_many(diag *d, const gemm_micro *u, int8w_job *j) {
    const reduced_call *c = j->c;
    j->nr = u->nr;
    size_t bytes;
    if (!size_mul((size_t)c->k * sizeof(float), INT8W_CHUNK, &bytes)) return diag_no_memory(d);
    char *memory = recycle_alloc(bytes + REDUCED_ALIGN);
    if (!memory) return diag_no_memory(d);
    j->panels = (float *)(void *)(memory + (-(uintptr_t)memory & (REDUCED_ALIGN - 1)));
    gemm_matrix a = {.p = c->x, .rs = c->k, .cs = 1};
    ctsc_status st = CTSC_OK;
    for (; j->first < c->n && st == CTSC_OK; j->first += INT8W_CHUNK) {
        int64_t n = c->n - j->first < INT8W_CHUNK ? c->n - j->first : INT8W_CHUNK;
        pool_for((n + j->nr - 1) / j->nr, 1 + 32768 / (j->nr * c->k), int8w_widen, j);
        gemm_prepacked b = {.micro = u, .n = n, .k = c->k, .panels = j->panels};
        dense_epilogue after = {.bias = c->bias ? c->bias + j->first : NULL};
        st = gemm_run_prepacked(d, &b, c->rows, a, &after, c->out + j->first, c->n);
    }
    recycle_free(memory, bytes + REDUCED_ALIGN);
    return st;
}

static ctsc_status int8w_linear(diag *d, const reduced_call *c, const gemm_int8w *m) {
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    int8w_job j = {.c = c, .m = m, .micro = ukernel_widen(UKERNEL_BYTES)};
    if (c->rows > INT8W_FEW && u && WIDEN_COLUMNS % u->nr == 0) return int8w_many(d, u, &j);
    int64_t rows = c->rows < INT8W_FEW ? c->rows : INT8W_FEW,
            work = rows * c->k * WIDEN_COLUMNS * 4; /* few rows wait for memory */
    pool_for(m->panels, 1 + REDUCED_WORK / work, int8w_chunks, &j);
    return CTSC_OK;
}

static const gemm_int8w *int8w_of(const tensor *w) {
    const reduced_weight *r = prepack_derived_now(w->storage, int8w_make, w, reduced_free);
    return r && reduced_same(r, w, r->int8w.n, r->int8w.k) ? &r->int8w : NULL;
}

OPERATOR(linear_int8w) {
    tensor *x = arg_tensor(&args[0]), *w = arg_tensor(&args[1]), *b = arg_tensor_or_null(&args[2]),
           *out = NULL;
    const gemm_int8w *m = reduced_fits(x, w, b) ? int8w_of(w) : NULL;
    if (!m) {
        TRY(matmul_linear(cx, x, w, b, &out));
        return op_return_tensor(results, out);
    }
    reduced_call c;
    ctsc_status st = reduced_begin(cx, x, w, b, &c);
    if (st == CTSC_OK) st = int8w_linear(cx->diag, &c, m);
    TRY(reduced_end(&c, st, &out));
    return op_return_tensor(results, out);
}
