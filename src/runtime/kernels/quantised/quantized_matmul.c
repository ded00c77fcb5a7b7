/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_matmul.c - products of matrices of 8-bit integers: of two tensors, or of one with
 * packed weights, and integers whose scale is chosen by the numbers (ONNX's MatMulInteger and
 * DynamicQuantizeLinear).
 *
 * Method. The right factor is packed as signed bytes, b' = b - 128 where it is unsigned, with its
 * zero point moved likewise; the left one is multiplied as unsigned bytes:
 *
 *     sum (a - az)(b' - bz) = sum a b' - az sum b' + k az bz - bz sum a
 *
 * Terms that depend only on the column are the initial value of the tiles' sums; the
 * last term, which depends on the row, is added where sums become results. For tensors,
 * each chunk packs its own factor: as much work as a row or two of the product.
 * Tests: tests/unit/test_quantized_plain.c, tests/onnx
 */
#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "base/threads/limits.h"
#include "runtime/kernels/engine/slots.h"
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

enum {
    QMATMUL_ROWS = 128,       /* of a chunk, where few matrices leave threads without work */
    QMATMUL_BATCHES = 8,      /* that are not few */
    QMATMUL_MOST_K = 1 << 15, /* sums of this many products, and their corrections, fit 32 bits */
    QMATMUL_WORK = 1 << 20,   /* multiplications worth a thread of their own */
    QMATMUL_ALIGN = 64,
};

/* ---- two tensors ----------------------------------------------------------------------------- */

typedef struct qmatmul_job {
    const uint8_t *a, *b; /* of the first matrices */
    int64_t m, k, n;
    int64_t a_row, a_step, b_row, b_step; /* bytes from one row, and one element of it, on */
    uint8_t a_flip, b_flip;               /* 128: of signed a, of unsigned b */
    int32_t a_zero, b_zero;               /* as they are multiplied */
    int ndim;                             /* of the batch */
    int64_t batch[TENSOR_MAX_DIMS], a_strides[TENSOR_MAX_DIMS], b_strides[TENSOR_MAX_DIMS];
    int64_t batches, block, blocks; /* rows of a chunk, chunks of a matrix */
    quad_matrix panels;             /* except for its data */
    int64_t lda;                    /* of rows as they are multiplied */
    /* what is made of the sums: bytes, or, out_sums, themselves */
    bool out_sums;
    float scale, lo, hi;
    int32_t zero;
    char *out;
    slots slots;
} qmatmul_job;

/* Scratch of a chunk. */
typedef struct qmatmul_room {
    int8_t *panels;
    uint8_t *rows;
    int32_t *start, *sums, *row_sums;
    uint8_t *narrow; /* quad_matrix.narrow: none is looked for */
} qmatmul_room;

static size_t qmatmul_pairs(const qmatmul_job *j) {
    return (size_t)(j->panels.panels * quad_pairs(j->panels.quads));
}

static size_t qmatmul_bytes(const qmatmul_job *j) {
    size_t columns = (size_t)j->panels.panels * QUAD_COLUMNS;
    return columns * (size_t)j->panels.filled * QUAD_BYTES + columns * sizeof(int32_t) +
           (size_t)(j->block * j->lda) + (size_t)(j->block * (j->n + 1)) * sizeof(int32_t) +
           qmatmul_pairs(j) + (size_t)6 * QMATMUL_ALIGN;
}

static void *qmatmul_take(char **at, size_t bytes) {
    void *p = *at;
    *at += (bytes + QMATMUL_ALIGN - 1) / QMATMUL_ALIGN * QMATMUL_ALIGN;
    return p;
}

static qmatmul_room qmatmul_room_in(const qmatmul_job *j, void *memory) {
    char *at = memory;
    size_t columns = (size_t)j->panels.panels * QUAD_COLUMNS;
    qmatmul_room r;
    r.panels = qmatmul_take(&at, columns * (size_t)j->panels.filled * QUAD_BYTES);
    r.start = qmatmul_take(&at, columns * sizeof *r.start);
    r.rows = qmatmul_take(&at, (size_t)(j->block * j->lda));
    r.sums = qmatmul_take(&at, (size_t)(j->block * j->n) * sizeof *r.sums);
    r.row_sums = qmatmul_take(&at, (size_t)j->block * sizeof *r.row_sums);
    r.narrow = qmatmul_take(&at, qmatmul_pairs(j));
    memset(r.narrow, 0, qmatmul_pairs(j));
    return r;
}

/* The bytes of four rows of b beside each other, for n columns. */
static VECTOR_CLONES void qmatmul_quad(const uint8_t *const row[4], int64_t step, int64_t n,
                                       uint8_t flip, uint8_t *to, int32_t *sums) {
    if (step == 1 && n == QUAD_COLUMNS) {
        for (int64_t c = 0; c < QUAD_COLUMNS; c++)
            for (int i = 0; i < 4; i++) to[c * 4 + i] = row[i][c] ^ flip;
    } else {
        for (int64_t c = 0; c < n; c++)
            for (int i = 0; i < 4; i++) to[c * 4 + i] = row[i][c * step] ^ flip;
    }
    for (int64_t c = 0; c < n; c++) {
        const int8_t *b = (const int8_t *)to + c * 4;
        sums[c] += b[0] + b[1] + b[2] + b[3];
    }
}

/* The same for contiguous columns. */
static VECTOR_CLONES void qmatmul_quad_turned(const uint8_t *b, int64_t column, int64_t n,
                                              uint32_t flip, uint8_t *to, int32_t *sums) {
    for (int64_t c = 0; c < n; c++) {
        uint32_t four;
        memcpy(&four, b + c * column, sizeof four);
        four ^= flip;
        memcpy(to + c * 4, &four, sizeof four);
    }
    for (int64_t c = 0; c < n; c++) {
        const int8_t *q = (const int8_t *)to + c * 4;
        sums[c] += q[0] + q[1] + q[2] + q[3];
    }
}

/* Columns from `first` on, a panel's. */
static void qmatmul_panel(const qmatmul_job *j, const uint8_t *b, int64_t first, int8_t *to,
                          int32_t *sums) {
    int64_t n = int64_min(QUAD_COLUMNS, j->n - first);
    memset(sums, 0, QUAD_COLUMNS * sizeof *sums);
    memset(to, 0, (size_t)(j->panels.filled * QUAD_PANEL));
    for (int64_t k = 0; k < j->k; k += QUAD_BYTES, to += QUAD_PANEL) {
        const uint8_t *at = b + k * j->b_row + first * j->b_step;
        int64_t left = int64_min(QUAD_BYTES, j->k - k);
        if (left == QUAD_BYTES && j->b_row == 1 && j->b_step != 1) {
            qmatmul_quad_turned(at, j->b_step, n, j->b_flip * 0x01010101u, (uint8_t *)to, sums);
            continue;
        }
        uint8_t none[QUAD_COLUMNS];
        const uint8_t *row[QUAD_BYTES];
        memset(none, j->b_flip, sizeof none); /* which becomes 0 */
        for (int i = 0; i < QUAD_BYTES; i++) row[i] = i < left ? at + i * j->b_row : none;
        if (left == QUAD_BYTES) {
            qmatmul_quad(row, j->b_step, n, j->b_flip, (uint8_t *)to, sums);
            continue;
        }
        for (int64_t c = 0; c < n; c++)
            for (int i = 0; i < left; i++) {
                to[c * 4 + i] = (int8_t)(row[i][c * j->b_step] ^ j->b_flip);
                sums[c] += to[c * 4 + i];
            }
    }
}

static VECTOR_CLONES int32_t qmatmul_row(const uint8_t *a, int64_t k, uint8_t flip, uint8_t *to) {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; i++) {
        uint8_t v = a[i] ^ flip;
        to[i] = v;
        sum += v;
    }
    return sum;
}

/* Rows [first, first + n) of a, without gaps and filled up to whole quads. */
static void qmatmul_rows(const qmatmul_job *j, const uint8_t *a, int64_t first, int64_t n,
                         const qmatmul_room *r) {
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *from = a + (first + i) * j->a_row;
        uint8_t *to = r->rows + i * j->lda;
        if (j->a_step == 1) r->row_sums[i] = qmatmul_row(from, j->k, j->a_flip, to);
        else {
            for (int64_t k = 0; k < j->k; k++) to[k] = from[k * j->a_step];
            r->row_sums[i] = qmatmul_row(to, j->k, j->a_flip, to);
        }
        memset(to + j->k, 0, (size_t)(j->lda - j->k));
    }
}

static VECTOR_CLONES void qmatmul_store_bytes(const qmatmul_job *j, const int32_t *sums,
                                              int32_t more, uint8_t *out) {
    float scale = j->scale, lo = j->lo, hi = j->hi;
    int32_t zero = j->zero;
    for (int64_t i = 0; i < j->n; i++) {
        float v = (float)(sums[i] + more) * scale;
        v = v > hi ? hi : v;
        v = v > lo ? v : lo;
        out[i] = (uint8_t)((int32_t)rintf(v) + zero);
    }
}

static VECTOR_CLONES void qmatmul_store_sums(const int32_t *sums, int64_t n, int32_t more,
                                             int32_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = sums[i] + more;
}

static void qmatmul_chunk(const qmatmul_job *j, int64_t batch, int64_t first, const qmatmul_room *r,
                          quad_hold *hold) {
    static const int64_t segment[1] = {0};
    const uint8_t *a = j->a, *b = j->b;
    int64_t rows = int64_min(j->block, j->m - first), at = batch;
    for (int d = j->ndim - 1; d >= 0; d--) {
        a += at % j->batch[d] * j->a_strides[d];
        b += at % j->batch[d] * j->b_strides[d];
        at /= j->batch[d];
    }
    quad_matrix m = j->panels;
    m.data = r->panels;
    m.narrow = r->narrow;
    for (int64_t p = 0; p < m.panels; p++) {
        int32_t sums[QUAD_COLUMNS], *start = r->start + p * QUAD_COLUMNS;
        qmatmul_panel(j, b, p * QUAD_COLUMNS, m.data + p * m.filled * QUAD_PANEL, sums);
        for (int c = 0; c < QUAD_COLUMNS; c++)
            start[c] = (int32_t)((uint32_t)j->a_zero * (uint32_t)j->b_zero * (uint32_t)j->k -
                                 (uint32_t)j->a_zero * (uint32_t)sums[c]);
    }
    qmatmul_rows(j, a, first, rows, r);
    const quad_kernels *u = quad_vectors(m.kernels);
    quad_strip s = {.a = r->rows,
                    .small = u->small && u->small(r->rows, rows * j->lda),
                    .end = r->rows + rows * j->lda,
                    .rows = rows,
                    .lda = j->lda,
                    .segment = segment,
                    .start = r->start,
                    .out = r->sums,
                    .ldc = j->n};
    quad_strip_run(&m, 0, 0, m.panels, &s, hold);
    for (int64_t i = 0; i < rows; i++) {
        int32_t more = (int32_t)(0 - (uint32_t)j->b_zero * (uint32_t)r->row_sums[i]);
        int64_t to = (batch * j->m + first + i) * j->n;
        if (j->out_sums)
            qmatmul_store_sums(r->sums + i * j->n, j->n, more, (int32_t *)(void *)j->out + to);
        else qmatmul_store_bytes(j, r->sums + i * j->n, more, (uint8_t *)j->out + to);
    }
}

static void qmatmul_chunks(void *ctx, int64_t begin, int64_t end) {
    qmatmul_job *j = ctx;
    slot taken = slots_take(&j->slots);
    qmatmul_room room = qmatmul_room_in(j, taken.memory);
    quad_hold hold = {0};
    for (int64_t i = begin; i < end; i++)
        qmatmul_chunk(j, i / j->blocks, i % j->blocks * j->block, &room, &hold);
    quad_release(&hold);
    slots_give(&j->slots, taken);
}

static ctsc_status qmatmul_run(op_ctx *cx, qmatmul_job *j) {
    quad_matrix *m = &j->panels;
    *m = (quad_matrix){.kernels = ukernel_quad(UKERNEL_BYTES),
                       .n = j->n,
                       .groups = 1,
                       .segments = 1,
                       .k = j->k,
                       .quads = (j->k + QUAD_BYTES - 1) / QUAD_BYTES,
                       .sets = 1,
                       .panels = (j->n + QUAD_COLUMNS - 1) / QUAD_COLUMNS};
    m->filled = (m->quads + m->kernels->depth - 1) / m->kernels->depth * m->kernels->depth;
    j->lda = m->quads * QUAD_BYTES;
    j->block = j->batches >= QMATMUL_BATCHES ? j->m : int64_min(j->m, QMATMUL_ROWS);
    j->blocks = (j->m + j->block - 1) / j->block;
    int64_t chunks = j->batches * j->blocks, work = j->block * j->n * j->k;
    if (j->n > INT32_MAX || j->block > INT32_MAX ||
        !slots_begin(&j->slots, qmatmul_bytes(j), chunks))
        return diag_no_memory(cx->diag);
    bool whole = pool_for_limited(chunks, int64_max(1, QMATMUL_WORK / int64_max(work, 1)),
                                  qmatmul_chunks, j);
    slots_end(&j->slots);
    return whole ? CTSC_OK : limits_fail(cx->diag);
}

/* Matrices of a and b and how their batches go together; out: of dtype dt. Both have two dims at
 * least. */
static ctsc_status qmatmul_begin(op_ctx *cx, const tensor *a, const tensor *b, dtype dt,
                                 qmatmul_job *j, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int an = a->ndim - 2, bn = b->ndim - 2;
    j->m = a->sizes[an], j->k = a->sizes[an + 1], j->n = b->sizes[bn + 1];
    if (b->sizes[bn] != j->k)
        return kernel_fail(cx, "%s: %lld columns on the left meet %lld rows on the right",
                           cx->op->key, (long long)j->k, (long long)b->sizes[bn]);
    TRY(broadcast_sizes(cx->diag, an, a->sizes, bn, b->sizes, &j->ndim, sizes));
    j->batches = 1;
    for (int d = 0; d < j->ndim; d++) {
        int ad = d - (j->ndim - an), bd = d - (j->ndim - bn);
        j->batch[d] = sizes[d];
        j->a_strides[d] = ad < 0 || a->sizes[ad] == 1 ? 0 : a->strides[ad];
        j->b_strides[d] = bd < 0 || b->sizes[bd] == 1 ? 0 : b->strides[bd];
        j->batches *= sizes[d];
    }
    j->a = tensor_data(a), j->b = tensor_data(b);
    j->a_row = a->strides[an], j->a_step = a->strides[an + 1];
    j->b_row = b->strides[bn], j->b_step = b->strides[bn + 1];
    sizes[j->ndim] = j->m, sizes[j->ndim + 1] = j->n;
    TRY(tensor_new(cx->diag, dt, j->ndim + 2, sizes, out));
    j->out = tensor_data(*out);
    return CTSC_OK;
}

/* One matrix of all rows, where the right factor has no batch. */
static void qmatmul_flatten(qmatmul_job *j, const tensor *a, const tensor *b) {
    if (b->ndim != 2 || a->ndim == 2 || !tensor_is_contiguous(a)) return;
    j->m *= j->batches;
    j->batches = 1;
    j->ndim = 0;
}

/* Vectors, and sums that 32 bits may not hold. */
static ctsc_status qmatmul_in_float(op_ctx *cx, const value *args, const quant_target *to,
                                    value *results) {
    value r = value_none();
    TRY(op_call(cx, "quantized::matmul", 4, args, &r));
    uint8_t *p = tensor_data(r.u.tensor);
    for (int64_t i = 0; i < r.u.tensor->numel; i++)
        p[i] = (uint8_t)(p[i] < to->lo ? to->lo : p[i] > to->hi ? to->hi : p[i]);
    return op_return(results, r);
}

/* quantised_matmul(self, other, scale, zero_point, least, most) */
OPERATOR(quantised_matmul) {
    tensor *a = args[0].u.tensor, *b = args[1].u.tensor, *out = NULL;
    quant_target to = {.dt = DT_QUINT8};
    TRY(quant_target_args(cx, args + 2, &to));
    TRY(quant_need_affine(cx, a, cx->op->key));
    TRY(quant_need_affine(cx, b, cx->op->key));
    if (a->dtype != DT_QUINT8 || b->dtype != DT_QUINT8)
        return kernel_fail(cx, "%s: expected quint8", cx->op->key);
    if (a->ndim < 2 || b->ndim < 2 || a->sizes[a->ndim - 1] > QMATMUL_MOST_K)
        return qmatmul_in_float(cx, args, &to, results);
    float scale = (float)a->quantiser->scale * (float)b->quantiser->scale / (float)to.scale;
    qmatmul_job j = {.b_flip = 128,
                     .a_zero = (int32_t)a->quantiser->zero_point,
                     .b_zero = (int32_t)b->quantiser->zero_point - 128,
                     .scale = scale,
                     .lo = (float)(to.lo - to.zero),
                     .hi = (float)(to.hi - to.zero),
                     .zero = (int32_t)to.zero};
    TRY(qmatmul_begin(cx, a, b, DT_QUINT8, &j, &out));
    qmatmul_flatten(&j, a, b);
    out->quantiser = quantiser_new(to.scale, to.zero);
    ctsc_status s = !out->quantiser ? diag_no_memory(cx->diag)
                    : out->numel    ? qmatmul_run(cx, &j)
                                    : CTSC_OK;
    if (s == CTSC_OK) return op_return_tensor(results, out);
    tensor_unref(out);
    return s;
}

/* ---- MatMulInteger --------------------------------------------------------------------------- */

static bool qmatmul_is_byte(const tensor *t) { return t->dtype == DT_UINT8 || t->dtype == DT_INT8; }

/* A zero point of the whole tensor; false: it is none, or of another dtype than t. */
static bool qmatmul_zero(const value *v, const tensor *t, int64_t *zero) {
    const tensor *z = arg_tensor_or_null(v);
    *zero = 0;
    if (!z) return true;
    if (z->numel != 1 || z->dtype != t->dtype) return false;
    *zero = tensor_item_int(z);
    return true;
}

static bool qmatmul_are_bytes(const tensor *a, const tensor *b) {
    return qmatmul_is_byte(a) && qmatmul_is_byte(b) && a->ndim >= 2 && b->ndim >= 2 &&
           a->sizes[a->ndim - 1] <= QMATMUL_MOST_K;
}

/* The sums of (a - az) (b - bz). */
static ctsc_status qmatmul_sums(op_ctx *cx, tensor *a, tensor *b, int64_t az, int64_t bz,
                                value *results) {
    tensor *out = NULL;
    bool a_signed = a->dtype == DT_INT8, b_unsigned = b->dtype == DT_UINT8;
    qmatmul_job j = {.a_flip = a_signed ? 128 : 0,
                     .b_flip = b_unsigned ? 128 : 0,
                     .a_zero = (int32_t)az + (a_signed ? 128 : 0),
                     .b_zero = (int32_t)bz - (b_unsigned ? 128 : 0),
                     .out_sums = true};
    TRY(qmatmul_begin(cx, a, b, DT_INT32, &j, &out));
    qmatmul_flatten(&j, a, b);
    ctsc_status s = out->numel ? qmatmul_run(cx, &j) : CTSC_OK;
    if (s == CTSC_OK) return op_return_tensor(results, out);
    tensor_unref(out);
    return s;
}

/* onnx_matmul_integer(a, b, a_zero, b_zero) */
OPERATOR(onnx_matmul_integer) {
    tensor *a = args[0].u.tensor, *b = args[1].u.tensor;
    int64_t az, bz;
    if (!qmatmul_are_bytes(a, b) || !qmatmul_zero(&args[2], a, &az) ||
        !qmatmul_zero(&args[3], b, &bz))
        return op_host_installed->composite(cx, args, results);
    return qmatmul_sums(cx, a, b, az, bz, results);
}

/* _int_mm(a, b): what does not fit is refused by the body */
OPERATOR(int_mm) {
    tensor *a = args[0].u.tensor, *b = args[1].u.tensor;
    if (!qmatmul_are_bytes(a, b) || a->ndim != 2 || b->ndim != 2 || b->dtype != DT_INT8 ||
        a->sizes[1] != b->sizes[0] || !a->numel || !b->numel)
        return op_host_installed->composite(cx, args, results);
    return qmatmul_sums(cx, a, b, 0, 0, results);
}

/* ---- DynamicQuantizeLinear ------------------------------------------------------------------- */

static VECTOR_CLONES void dynamic_quantise(const float *x, int64_t n, float scale, float zero,
                                           uint8_t *out) {
    for (int64_t i = 0; i < n; i++) {
        float v = rintf(x[i] / scale) + zero;
        v = v > 255 ? 255 : v;
        out[i] = (uint8_t)(int32_t)(v > 0 ? v : 0);
    }
}

typedef struct dynamic_job { const float *x; uint8_t *out; float scale, zero; } dynamic_job;

static void dynamic_chunks(void *ctx, int64_t begin, int64_t end) {
    const dynamic_job *j = ctx;
    dynamic_quantise(j->x + begin, end - begin, j->scale, j->zero, j->out + begin);
}

static ctsc_status dynamic_results(op_ctx *cx, tensor *y, float scale, uint8_t zero,
                                   value *results) {
    tensor *s = NULL, *z = NULL;
    TRY(tensor_scalar_float(cx->diag, DT_FLOAT32, scale, &s));
    ctsc_status st = tensor_scalar_int(cx->diag, DT_UINT8, zero, &z);
    if (st != CTSC_OK) return tensor_unref(s), st;
    results[0] = value_tensor_take(y);
    results[1] = value_tensor_take(s);
    results[2] = value_tensor_take(z);
    return CTSC_OK;
}

/* onnx_dynamic_quantize(x): integers, scale, zero point */
OPERATOR(onnx_dynamic_quantize) {
    tensor *x = args[0].u.tensor, *flat, *y = NULL;
    float lo, hi;
    if (x->dtype != DT_FLOAT32 || !x->numel) return op_host_installed->composite(cx, args, results);
    TRY(tensor_contiguous(cx->diag, x, &flat));
    quant_range(flat, &lo, &hi);
    if (!isfinite(lo) || !isfinite(hi)) {
        tensor_unref(flat);
        return op_host_installed->composite(cx, args, results);
    }
    lo = lo < 0 ? lo : 0;
    hi = hi > 0 ? hi : 0;
    float scale = (lo == hi ? 1 : hi - lo) / 255, zero = -lo / scale;
    zero = rintf(zero > 255 ? 255 : zero > 0 ? zero : 0);
    ctsc_status s = tensor_new(cx->diag, DT_UINT8, x->ndim, x->sizes, &y);
    if (s == CTSC_OK) {
        dynamic_job j = {TENSOR_AT(flat, float), TENSOR_AT(y, uint8_t), scale, zero};
        pool_for(y->numel, kernel_grain(1), dynamic_chunks, &j);
        s = dynamic_results(cx, y, scale, (uint8_t)zero, results);
        if (s != CTSC_OK) tensor_unref(y);
    }
    tensor_unref(flat);
    return s;
}
