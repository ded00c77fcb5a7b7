/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_nbits.c - linear layers and embeddings whose constant weights have few bits:
 * those that the pass "reduce-precision" makes from float ones (ctsc::linear_int8w
 * and the like), and those of files (ctsc::linear_nbits, ctsc::embedding_nbits).
 *
 * Layers that are not packed (nbits_weight.h) compute with the weights as floats.
 * Tests: tests/unit/test_precision.c, tests/unit/test_linear_nbits.c, tests/cli/precision.test
 */
#include "base/memory/recycle.h"
#include "base/threads/thread_pool.h"
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/matmul/nbits_weight.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* ---- linear layers --------------------------------------------------------------------------- */

static bool linear_nbits_is_float(const tensor *t) {
    return t->dtype == DT_FLOAT32 || dtype_is_half((dtype)t->dtype);
}

/* y = x m + b, of x's dtype. */
static ctsc_status linear_by_nbits(op_ctx *cx, tensor *x, const nbits_matrix *m, nbits_rows as,
                                   tensor *b, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *rows = NULL, *bias = NULL, *y = NULL;
    for (int i = 0; i < x->ndim; i++) sizes[i] = x->sizes[i];
    sizes[x->ndim - 1] = m->n;
    ctsc_status st = tensor_contiguous(cx->diag, x, &rows);
    if (st == CTSC_OK && b) st = wide_as(cx, b, DT_FLOAT32, &bias);
    if (st == CTSC_OK) st = tensor_new(cx->diag, (dtype)x->dtype, x->ndim, sizes, &y);
    if (st == CTSC_OK)
        st = nbits_product(cx->diag, m, as, (dtype)x->dtype, tensor_data(rows), x->numel / m->k,
                           bias ? tensor_data(bias) : NULL, tensor_data(y));
    tensor_unref(rows);
    tensor_unref(bias);
    if (st == CTSC_OK) *out = y;
    else tensor_unref(y);
    return st;
}

static bool linear_nbits_fits(const tensor *x, const tensor *b, int64_t n, int64_t k) {
    return x->storage->device == DEVICE_HOST && x->ndim >= 1 && x->numel > 0 &&
           linear_nbits_is_float(x) && x->sizes[x->ndim - 1] == k &&
           (!b || (b->dtype == x->dtype && b->ndim == 1 && b->sizes[0] == n &&
                   b->storage->device == DEVICE_HOST));
}

/* (input, weight, bias, ...) */
static ctsc_status linear_reduced(op_ctx *cx, const value *args, nbits_reduction how, nbits_rows as,
                                  value *results) {
    tensor *x = arg_tensor(&args[0]), *w = arg_tensor(&args[1]), *b = arg_tensor_or_null(&args[2]),
           *out = NULL;
    bool fits = w->ndim == 2 && w->dtype == x->dtype &&
                linear_nbits_fits(x, b, w->sizes[0], w->sizes[1]);
    const nbits_matrix *m = fits ? nbits_reduced(w, how) : NULL;
    if (m) TRY(linear_by_nbits(cx, x, m, as, b, &out));
    else TRY(matmul_linear(cx, x, w, b, &out));
    return op_return_tensor(results, out);
}

OPERATOR(linear_int8w) {
    return linear_reduced(cx, args, (nbits_reduction){.bits = 8}, NBITS_AS_BRAINS, results);
}

OPERATOR(linear_int4w) {
    nbits_reduction how = {.bits = 4, .group = arg_int(&args[3]), .zeros = arg_bool(&args[4])};
    return linear_reduced(cx, args, how, NBITS_AS_BYTES, results);
}

/* ---- embeddings ------------------------------------------------------------------------------ */

/* Rows of a table at `at`, by whichever of the three is there. */
typedef struct nbits_lookup {
    const nbits_matrix *m;
    const nbits_file *file;
    const int64_t *at;
    int64_t k;
    dtype dt;
    char *out;
    _Atomic(bool) failed;
} nbits_lookup;

static void nbits_lookup_range(void *ctx, int64_t begin, int64_t end) {
    nbits_lookup *l = ctx;
    size_t row = (size_t)l->k * dtype_size(l->dt);
    float *floats = mem_alloc((size_t)l->k * sizeof *floats);
    if (!floats) atomic_store(&l->failed, true);
    for (int64_t i = begin; i < end && floats; i++) {
        if (l->m) nbits_column(l->m, l->at[i], floats);
        else nbits_file_column(l->file, l->at[i], floats);
        if (l->dt == DT_FLOAT32) memcpy(l->out + (size_t)i * row, floats, row);
        else floats_to_halves(l->dt, floats, l->out + (size_t)i * row, l->k);
    }
    mem_free(floats);
}

/* Rows of l, which has n. Takes y, of l's dtype. */
static ctsc_status nbits_lookup_run(op_ctx *cx, nbits_lookup *l, int64_t n, tensor *indices,
                                    value *results) {
    tensor *at, *y = NULL;
    int64_t sizes[TENSOR_MAX_DIMS];
    if (indices->dtype != DT_INT64 && indices->dtype != DT_INT32)
        return kernel_fail(cx, "indices of an embedding must be of int32 or int64");
    if (indices->ndim == TENSOR_MAX_DIMS)
        return kernel_fail(cx, "tensor has too many (>%d) dims", TENSOR_MAX_DIMS);
    TRY(wide_indices(cx, indices, &at));
    l->at = tensor_data(at);
    ctsc_status st = CTSC_OK;
    for (int64_t i = 0; i < at->numel && st == CTSC_OK; i++)
        if (l->at[i] < 0 || l->at[i] >= n) st = kernel_fail(cx, "index out of range in self");
    for (int i = 0; i < indices->ndim; i++) sizes[i] = indices->sizes[i];
    sizes[indices->ndim] = l->k;
    if (st == CTSC_OK) st = tensor_new(cx->diag, l->dt, indices->ndim + 1, sizes, &y);
    if (st == CTSC_OK && y->numel) {
        l->out = tensor_data(y);
        pool_for(at->numel, kernel_grain(l->k), nbits_lookup_range, l);
        if (atomic_load(&l->failed)) st = diag_no_memory(cx->diag);
    }
    tensor_unref(at);
    if (st == CTSC_OK) return op_return_tensor(results, y);
    tensor_unref(y);
    return st;
}

/* (weight, indices, ...) */
static ctsc_status embedding_reduced(op_ctx *cx, const value *args, nbits_reduction how,
                                     value *results) {
    tensor *w = arg_tensor(&args[0]);
    const nbits_matrix *m = nbits_reduced(w, how);
    if (!m) {
        value plain[] = {args[0], args[1], value_int(-1), value_bool(false), value_bool(false)};
        return op_call(cx, "aten::embedding", 5, plain, results);
    }
    nbits_lookup l = {.m = m, .k = m->k, .dt = (dtype)w->dtype};
    return nbits_lookup_run(cx, &l, m->n, arg_tensor(&args[1]), results);
}

OPERATOR(embedding_int8w) {
    return embedding_reduced(cx, args, (nbits_reduction){.bits = 8}, results);
}

OPERATOR(embedding_int4w) {
    nbits_reduction how = {.bits = 4, .group = arg_int(&args[2]), .zeros = arg_bool(&args[3])};
    return embedding_reduced(cx, args, how, results);
}

/* ---- weights of files ------------------------------------------------------------------------ */

/* The tensors of f contiguous: references, which nbits_file_release gives back. */
static ctsc_status nbits_file_open(op_ctx *cx, const char *name, nbits_file *f) {
    tensor *data = NULL, *scale = NULL, *zero = NULL;
    ctsc_status st = tensor_contiguous(cx->diag, (tensor *)f->data, &data);
    if (st == CTSC_OK) st = tensor_contiguous(cx->diag, (tensor *)f->scale, &scale);
    if (st == CTSC_OK && f->zero) st = tensor_contiguous(cx->diag, (tensor *)f->zero, &zero);
    f->data = data, f->scale = scale, f->zero = zero;
    return st == CTSC_OK ? nbits_file_check(cx, name, f) : st;
}

static void nbits_file_release(nbits_file *f) {
    tensor_unref((tensor *)f->data);
    tensor_unref((tensor *)f->scale);
    tensor_unref((tensor *)f->zero);
}

typedef struct nbits_file_rows {
    const nbits_file *f;
    float *to;
} nbits_file_rows;

static void nbits_file_range(void *ctx, int64_t begin, int64_t end) {
    const nbits_file_rows *r = ctx;
    for (int64_t j = begin; j < end; j++) nbits_file_column(r->f, j, r->to + j * r->f->k);
}

/* The product with the weights as floats of x's dtype. */
static ctsc_status linear_unpacked(op_ctx *cx, tensor *x, const nbits_file *f, tensor *b,
                                   tensor **out) {
    tensor *w, *narrow;
    TRY(tensor_new(cx->diag, DT_FLOAT32, 2, (int64_t[]){f->n, f->k}, &w));
    nbits_file_rows r = {f, tensor_data(w)};
    pool_for(f->n, kernel_grain(f->k), nbits_file_range, &r);
    ctsc_status st = tensor_to_dtype(cx->diag, w, (dtype)x->dtype, &narrow);
    tensor_unref(w);
    if (st != CTSC_OK) return st;
    st = matmul_linear(cx, x, narrow, b, out);
    tensor_unref(narrow);
    return st;
}

/* (input, weight, scales, zeros, bias, bits, group, features, level) */
OPERATOR(linear_nbits) {
    enum { LEVEL_FLOAT32 = 1, LEVEL_BFLOAT16 = 3, LEVEL_INT8 = 4 };
    tensor *x = arg_tensor(&args[0]), *b = arg_tensor_or_null(&args[4]), *out = NULL;
    nbits_file f = {.data = arg_tensor(&args[1]),
                    .scale = arg_tensor(&args[2]),
                    .zero = arg_tensor_or_null(&args[3]),
                    .bits = (int)arg_int(&args[5]),
                    .group = arg_int(&args[6]),
                    .k = arg_int(&args[7])};
    int64_t level = arg_int(&args[8]);
    nbits_rows as = level >= LEVEL_INT8       ? NBITS_AS_BYTES
                    : level <= LEVEL_FLOAT32  ? NBITS_AS_FLOATS
                    : level == LEVEL_BFLOAT16 ? NBITS_AS_BRAINS
                                              : NBITS_AS_WIDE;
    ctsc_status st = nbits_file_open(cx, "linear_nbits", &f);
    if (st == CTSC_OK) {
        const nbits_matrix *m = linear_nbits_fits(x, b, f.n, f.k) ? nbits_filed(&f) : NULL;
        st = m ? linear_by_nbits(cx, x, m, as, b, &out) : linear_unpacked(cx, x, &f, b, &out);
    }
    nbits_file_release(&f);
    return st == CTSC_OK ? op_return_tensor(results, out) : st;
}

/* Rows of integers with a scale each, as tensors of their own. */
typedef struct row_ints {
    tensor *q, *scale, *zero;
} row_ints;

static ctsc_status row_ints_open(op_ctx *cx, const value *args, row_ints *r) {
    tensor *q = arg_tensor(&args[0]), *scale = arg_tensor(&args[1]),
           *zero = arg_tensor_or_null(&args[2]), *ints = NULL;
    int64_t rows = q->ndim && q->numel ? q->numel / q->sizes[q->ndim - 1] : 0;
    if (q->dtype != DT_INT8 || scale->dtype != DT_FLOAT32 || scale->numel != rows ||
        (zero && (zero->numel != rows || !dtype_is_int((dtype)zero->dtype))) ||
        q->storage->device != DEVICE_HOST)
        return kernel_fail(cx, "%s: expected integers with a scale and a zero point for each row",
                           cx->op->key);
    TRY(tensor_contiguous(cx->diag, q, &r->q));
    TRY(tensor_contiguous(cx->diag, scale, &r->scale));
    if (!zero) return CTSC_OK;
    TRY(tensor_to_dtype(cx->diag, zero, DT_INT32, &ints));
    ctsc_status st = tensor_contiguous(cx->diag, ints, &r->zero);
    tensor_unref(ints);
    return st;
}

static void row_ints_release(row_ints *r) {
    tensor_unref(r->q);
    tensor_unref(r->scale);
    tensor_unref(r->zero);
}

/* Their real values. */
static ctsc_status row_ints_numbers(op_ctx *cx, const row_ints *r, tensor **out) {
    TRY(tensor_new(cx->diag, DT_FLOAT32, r->q->ndim, r->q->sizes, out));
    int64_t k = r->q->sizes[r->q->ndim - 1];
    for (int64_t i = 0; i < r->q->numel; i++) {
        int32_t zero = r->zero ? TENSOR_AT(r->zero, int32_t)[i / k] : 0;
        TENSOR_AT(*out, float)
        [i] = (float)(TENSOR_AT(r->q, int8_t)[i] - zero) * TENSOR_AT(r->scale, float)[i / k];
    }
    return CTSC_OK;
}

static ctsc_status linear_by_ints(op_ctx *cx, const row_ints *r, const nbits_matrix *m, tensor *b,
                                  tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *bias = NULL, *y = NULL;
    const tensor *q = r->q;
    for (int i = 0; i < q->ndim; i++) sizes[i] = q->sizes[i];
    sizes[q->ndim - 1] = m->n;
    nbits_ints ints = {tensor_data(q), tensor_data(r->scale),
                       r->zero ? tensor_data(r->zero) : NULL};
    ctsc_status st = tensor_new(cx->diag, DT_FLOAT32, q->ndim, sizes, &y);
    if (st == CTSC_OK && b) st = tensor_contiguous(cx->diag, b, &bias);
    if (st == CTSC_OK)
        st = nbits_product_ints(cx->diag, m, &ints, q->numel / m->k,
                                bias ? tensor_data(bias) : NULL, tensor_data(y));
    tensor_unref(bias);
    if (st == CTSC_OK) *out = y;
    else tensor_unref(y);
    return st;
}

/* (input, scale, zero, weight, scales, zeros, bias, bits, group, features): rows of integers */
OPERATOR(linear_nbits_rows) {
    tensor *b = arg_tensor_or_null(&args[6]), *out = NULL, *x = NULL;
    nbits_file f = {.data = arg_tensor(&args[3]),
                    .scale = arg_tensor(&args[4]),
                    .zero = arg_tensor_or_null(&args[5]),
                    .bits = (int)arg_int(&args[7]),
                    .group = arg_int(&args[8]),
                    .k = arg_int(&args[9])};
    row_ints r = {0};
    ctsc_status st = nbits_file_open(cx, "linear_nbits_rows", &f);
    if (st == CTSC_OK) st = row_ints_open(cx, args, &r);
    if (st == CTSC_OK) {
        bool fits = r.q->numel && r.q->sizes[r.q->ndim - 1] == f.k &&
                    (!b || (b->dtype == DT_FLOAT32 && b->ndim == 1 && b->sizes[0] == f.n));
        const nbits_matrix *m = fits ? nbits_filed(&f) : NULL;
        if (m) st = linear_by_ints(cx, &r, m, b, &out);
        else {
            st = row_ints_numbers(cx, &r, &x);
            if (st == CTSC_OK) st = linear_unpacked(cx, x, &f, b, &out);
        }
    }
    tensor_unref(x);
    row_ints_release(&r);
    nbits_file_release(&f);
    return st == CTSC_OK ? op_return_tensor(results, out) : st;
}

/* (weight, scales, zeros, indices, bits, group, features): rows of the scales' dtype */
OPERATOR(embedding_nbits) {
    nbits_file f = {.data = arg_tensor(&args[0]),
                    .scale = arg_tensor(&args[1]),
                    .zero = arg_tensor_or_null(&args[2]),
                    .bits = (int)arg_int(&args[4]),
                    .group = arg_int(&args[5]),
                    .k = arg_int(&args[6])};
    ctsc_status st = nbits_file_open(cx, "embedding_nbits", &f);
    if (st == CTSC_OK) {
        nbits_lookup l = {.file = &f, .k = f.k, .dt = (dtype)f.scale->dtype};
        st = nbits_lookup_run(cx, &l, f.n, arg_tensor(&args[3]), results);
    }
    nbits_file_release(&f);
    return st;
}
