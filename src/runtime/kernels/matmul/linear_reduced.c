/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_reduced.c - linear layers that round their factors:
 * ctsc::linear_bf16, which the pass "reduce-bf16" makes from layers with
 * constant weights. Those that reduce only weights are in linear_nbits.c.
 *
 * Weights are packed at the first call, so that all calls compute
 * alike; the pages of the original are released. Cases that the kernels
 * do not cover (other dtypes) go to aten::linear, including errors.
 * Tests: tests/unit/test_precision.c, tests/cli/precision.test
 */
#include "base/memory/recycle.h"
#include "base/threads/thread_pool.h"
#include "cpu/ukernel.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/matmul/packed_weights.h"
#include "runtime/kernels/matmul/quad_matrix.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

enum {
    REDUCED_ALIGN = 64,
    REDUCED_WORK = 1 << 20, /* multiplications worth a thread of their own */
};

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

/* What is kept with a weight. */
typedef struct reduced_weight {
    quad_matrix bf16;
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
    int64_t lda;                   /* elements */
    int64_t block, shares, panels; /* shares: this many panels together */
} bf16_job;

static void bf16_rows(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        bfloat16 *to = j->a + r * j->lda;
        bfloat16_from_floats(j->c->x + r * j->c->k, to, (size_t)j->c->k);
        memset(to + j->c->k, 0, (size_t)(j->lda - j->c->k) * sizeof *to);
    }
}

static void bf16_chunks(void *ctx, int64_t begin, int64_t end) {
    const bf16_job *j = ctx;
    static const int64_t segment[1] = {0};
    quad_hold hold = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i % j->shares * j->panels, row = i / j->shares * j->block,
                left = j->c->rows - row, last = panel + j->panels, column = panel * QUAD_COLUMNS;
        quad_strip s = {.a = j->a + row * j->lda,
                        .rows = left < j->block ? left : j->block,
                        .of = j->c->rows,
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
    bf16_job j = {.c = c, .m = m};
    size_t bytes;
    j.lda = quad_pitch(m->kernels, c->rows, m->k * (int64_t)sizeof *j.a) / (int64_t)sizeof *j.a;
    if (!size_mul((size_t)c->rows, (size_t)j.lda * sizeof *j.a, &bytes)) return diag_no_memory(d);
    j.a = recycle_alloc(bytes);
    if (!j.a) return diag_no_memory(d);
    j.block = quad_block_rows(m, j.lda * (int64_t)sizeof *j.a);
    j.panels = c->rows == 1 ? QUAD_ROW_PANELS : QUAD_MAX_PANELS;
    j.shares = (m->panels + j.panels - 1) / j.panels;
    int64_t rows = c->rows < j.block ? c->rows : j.block,
            work = rows * m->k * QUAD_COLUMNS * j.panels;
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
