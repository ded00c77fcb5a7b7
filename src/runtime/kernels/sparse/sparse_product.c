/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse_product.c - products with matrices whose stored elements are three tensors: starts of rows
 * [m + 1], columns [nnz], values [nnz] (CSR). What the Python package's sparse tensors are made of.
 *
 *     ctsc::sparse_mm          S B, or S x
 *     ctsc::sparse_sampled     of A B' the elements that S has
 *     ctsc::sparse_transposed  the form of S': counted, then moved, so that the order within a row
 *                              is that of rows before
 *     aten::_convert_indices_from_coo_to_csr, aten::_convert_indices_from_csr_to_coo
 *
 * Indices are checked in each call, while they become 32 bits wide in pieces that stay in the first
 * cache: kernels (cpu/gemm/sparse.h) have one form. Rows are divided among threads, never sums.
 * Tests: tests/unit/test_sparse.c, tests/python/test_py_sparse.py
 */
#include "base/minmax.h"
#include "cpu/ukernel.h"
#include "runtime/kernels/engine/kernel.h"
#include "tensor/tensor.h"

#include <inttypes.h>
#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

enum {
    SPARSE_PIECE = 1024,    /* elements whose columns are converted together */
    SPARSE_GRAIN = 1 << 16, /* multiplications worth a chunk of their own */
};

/* A sparse matrix: tensors without gaps. */
typedef struct sparse_matrix {
    tensor *start_t, *columns_t, *values_t;
    const int64_t *start;
    const void *columns; /* int64_t or int32_t */
    const char *values;
    bool wide;
    int64_t rows, nnz;
    size_t size; /* of a value */
} sparse_matrix;

static ctsc_status sparse_need_index(op_ctx *cx, const tensor *t, const char *what) {
    if (t->ndim != 1)
        return diag_fail(cx->diag, CTSC_FAILED, "Expected %s to be a vector, but got %d dimensions",
                         what, t->ndim);
    if (t->dtype == DT_INT64 || t->dtype == DT_INT32) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "%s must be an int32 or int64 type, but got: %s", what,
                     dtype_table[t->dtype].torch_name);
}

static void sparse_close(sparse_matrix *s) {
    tensor_unref(s->start_t);
    tensor_unref(s->columns_t);
    tensor_unref(s->values_t);
}

/* values: NULL for a pattern alone. */
static ctsc_status sparse_open(op_ctx *cx, tensor *start, tensor *columns, tensor *values,
                               sparse_matrix *s) {
    ctsc_status st;
    *s = (sparse_matrix){0};
    TRY(sparse_need_index(cx, start, "crow_indices"));
    TRY(sparse_need_index(cx, columns, "col_indices"));
    if (start->numel < 1 || (values && (values->ndim != 1 || values->numel != columns->numel)))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "crow_indices, col_indices and values are not those of a matrix");
    TRY(tensor_to_dtype(cx->diag, start, DT_INT64, &s->start_t));
    tensor *whole = NULL;
    TRY_OUT(tensor_contiguous(cx->diag, s->start_t, &whole));
    tensor_unref(s->start_t);
    s->start_t = whole;
    TRY_OUT(tensor_contiguous(cx->diag, columns, &s->columns_t));
    if (values) TRY_OUT(tensor_contiguous(cx->diag, values, &s->values_t));
    s->start = tensor_data(s->start_t), s->columns = tensor_data(s->columns_t);
    s->values = values ? tensor_data(s->values_t) : NULL;
    s->wide = columns->dtype == DT_INT64;
    s->rows = start->numel - 1, s->nnz = columns->numel;
    s->size = values ? dtype_size((dtype)values->dtype) : 0;
    bool ordered = geometry_only() || (s->start[0] == 0 && s->start[s->rows] == s->nnz);
    for (int64_t i = 0; !geometry_only() && i < s->rows; i++)
        ordered &= s->start[i] <= s->start[i + 1];
    if (ordered) return CTSC_OK;
    st = diag_fail(cx->diag, CTSC_FAILED,
                   "crow_indices must begin with 0, not fall, and end with the number of values");
out:
    sparse_close(s);
    return st;
}

/* Columns [at, at + n) as 32 bits; false: one is not in [0, size), which fits 31 bits. */
static bool sparse_narrow(const sparse_matrix *s, int64_t at, int64_t n, int64_t size,
                          int32_t *to) {
    uint64_t worst = 0;
    if (s->wide) {
        const int64_t *from = (const int64_t *)s->columns + at;
        for (int64_t i = 0; i < n; i++) {
            worst |= (uint64_t)from[i] >= (uint64_t)size;
            to[i] = (int32_t)from[i];
        }
    } else {
        const int32_t *from = (const int32_t *)s->columns + at;
        for (int64_t i = 0; i < n; i++) {
            worst |= (uint32_t)from[i] >= (uint64_t)size;
            to[i] = from[i];
        }
    }
    return !worst;
}

typedef struct sparse_job {
    const sparse_matrix *s;
    void (*run)(const sparse_part *p, int64_t rows);
    sparse_part part; /* of the whole matrix */
    int64_t size;     /* columns of the matrix */
    size_t element;   /* bytes */
    bool by_element;  /* the result has an element for each of the matrix, not rows */
    atomic_bool *odd; /* a column is none */
} sparse_job;

static void sparse_piece(const sparse_job *j, int64_t row, int64_t rows, const int64_t *start,
                         bool add) {
    int32_t columns[SPARSE_PIECE];
    sparse_part p = j->part;
    int64_t at = start[0];
    if (!sparse_narrow(j->s, at, start[rows] - at, j->size, columns)) {
        atomic_store_explicit(j->odd, true, memory_order_relaxed);
        return;
    }
    p.start = start, p.columns = columns, p.add = add;
    if (p.values) p.values = j->s->values + (size_t)at * j->s->size;
    if (p.a) p.a = (const char *)p.a + (size_t)(row * p.lda) * j->element;
    p.out = (char *)p.out + (size_t)(j->by_element ? at : row * p.ldo) * j->element;
    j->run(&p, rows);
}

/* As many rows at a time as have a piece's elements; longer rows in parts. */
static void sparse_range(void *ctx, int64_t begin, int64_t end) {
    const sparse_job *j = ctx;
    const int64_t *start = j->s->start;
    while (begin < end) {
        int64_t rows = 0;
        while (begin + rows < end && start[begin + rows + 1] - start[begin] <= SPARSE_PIECE) rows++;
        if (rows) {
            sparse_piece(j, begin, rows, start + begin, false);
            begin += rows;
            continue;
        }
        for (int64_t at = start[begin], last = start[begin + 1]; at < last; at += SPARSE_PIECE) {
            int64_t part[2] = {at, int64_min(at + SPARSE_PIECE, last)};
            sparse_piece(j, begin, 1, part, at > start[begin]);
        }
        begin++;
    }
}

static ctsc_status sparse_run(op_ctx *cx, sparse_job *j, int64_t each) {
    atomic_bool odd = false;
    int64_t rows = j->s->rows, work = j->s->nnz / (rows ? rows : 1) * each + each + 1;
    if (j->size > INT32_MAX)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                         "sparse matrices with more than 2^31 columns are not supported");
    if (geometry_only()) return CTSC_OK;
    j->odd = &odd;
    TRY(op_for(cx, rows, 1 + SPARSE_GRAIN / work, sparse_range, j));
    return !odd ? CTSC_OK
                : diag_fail(cx->diag, CTSC_FAILED, "col_indices must be in [0, %" PRId64 ")",
                            j->size);
}

static const sparse_micro *sparse_kernels(op_ctx *cx, dtype dt, const char *name,
                                          ctsc_status *refused) {
    if (dt == DT_FLOAT32 || dt == DT_FLOAT64)
        return ukernel_sparse(dt == DT_FLOAT32 ? UKERNEL_F32 : UKERNEL_F64);
    *refused = op_refuse_dtype(cx, name, dt);
    return NULL;
}

/* ctsc::sparse_mm: (crow, columns, values, dense) */
OPERATOR(sparse_mm) {
    tensor *values = arg_tensor(&args[2]), *dense = arg_tensor(&args[3]), *b = NULL, *out = NULL;
    sparse_matrix s;
    ctsc_status st = CTSC_OK;
    if (dense->ndim != 1 && dense->ndim != 2)
        return diag_fail(cx->diag, CTSC_FAILED, "mat2 must be a matrix, got %d-D tensor",
                         dense->ndim);
    if (dense->dtype != values->dtype)
        return diag_fail(cx->diag, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[values->dtype].ir_name, dtype_table[dense->dtype].ir_name);
    const sparse_micro *u = sparse_kernels(cx, (dtype)values->dtype, "addmm_sparse_dense", &st);
    if (!u) return st;
    TRY(sparse_open(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), values, &s));
    int64_t n = dense->ndim == 2 ? dense->sizes[1] : 1, sizes[2] = {s.rows, n};
    bool turned = dense->ndim == 2 && dense->strides[1] == 1 && dense->strides[0] >= n;
    TRY_OUT(turned ? (b = tensor_ref(dense), CTSC_OK) : tensor_contiguous(cx->diag, dense, &b));
    TRY_OUT(tensor_new(cx->diag, (dtype)values->dtype, dense->ndim, sizes, &out));
    sparse_job j = {.s = &s,
                    .run = n == 1 ? u->dots : u->product,
                    .size = dense->sizes[0],
                    .element = s.size,
                    .part = {.values = s.values,
                             .b = tensor_data(b),
                             .ldb = turned ? dense->strides[0] : n,
                             .n = n,
                             .out = tensor_data(out),
                             .ldo = n}};
    if (n == 1 && j.part.ldb != 1) j.run = u->product;
    if (out->numel) TRY_OUT(sparse_run(cx, &j, n));
    results[0] = value_tensor_take(tensor_ref(out));
out:
    sparse_close(&s);
    tensor_unref(b);
    tensor_unref(out);
    return st;
}

/* ctsc::sparse_sampled: (crow, columns, a, b) -> values */
OPERATOR(sparse_sampled) {
    tensor *left = arg_tensor(&args[2]), *right = arg_tensor(&args[3]), *a = NULL, *b = NULL,
           *out = NULL;
    sparse_matrix s;
    ctsc_status st = CTSC_OK;
    if (left->ndim != 2 || right->ndim != 2 || left->sizes[1] != right->sizes[1] ||
        left->dtype != right->dtype || left->sizes[0] != arg_tensor(&args[0])->numel - 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "sampled: the factors are not those of such a product");
    const sparse_micro *u = sparse_kernels(cx, (dtype)left->dtype, "sampled_addmm", &st);
    if (!u) return st;
    TRY(sparse_open(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), NULL, &s));
    TRY_OUT(tensor_contiguous(cx->diag, left, &a));
    TRY_OUT(tensor_contiguous(cx->diag, right, &b));
    TRY_OUT(tensor_new(cx->diag, (dtype)left->dtype, 1, &s.nnz, &out));
    int64_t n = left->sizes[1];
    sparse_job j = {.s = &s,
                    .run = u->sampled,
                    .size = right->sizes[0],
                    .element = dtype_size((dtype)left->dtype),
                    .by_element = true,
                    .part = {.b = tensor_data(b),
                             .a = tensor_data(a),
                             .ldb = n,
                             .lda = n,
                             .n = n,
                             .out = tensor_data(out)}};
    if (s.nnz) TRY_OUT(sparse_run(cx, &j, n));
    results[0] = value_tensor_take(tensor_ref(out));
out:
    sparse_close(&s);
    tensor_unref(a);
    tensor_unref(b);
    tensor_unref(out);
    return st;
}

/* ---- indices --------------------------------------------------------------------------------- */

static int64_t sparse_at(const void *indices, bool wide, int64_t i) {
    return wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}
static void sparse_put(tensor *t, int64_t i, int64_t x) {
    if (t->dtype == DT_INT64) TENSOR_AT(t, int64_t)[i] = x;
    else TENSOR_AT(t, int32_t)[i] = (int32_t)x;
}

/* start[i] = how many of the n indices are less than i, for i in [0, size]; start has size + 2
 * elements, and the last one is free then. False: an index is not in [0, size). */
static bool sparse_count(const void *indices, bool wide, int64_t n, int64_t size, int64_t *start) {
    memset(start, 0, (size_t)(size + 2) * sizeof *start);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sparse_at(indices, wide, i);
        if (at < 0 || at >= size) return false;
        start[at + 1]++;
    }
    for (int64_t i = 0; i < size; i++) start[i + 1] += start[i];
    return true;
}

static ctsc_status sparse_outside(op_ctx *cx, int64_t size) {
    return diag_fail(cx->diag, CTSC_FAILED, "indices must be in [0, %" PRId64 ")", size);
}

static ctsc_status sparse_counts(op_ctx *cx, int64_t size, int64_t **start) {
    size_t bytes;
    if (size < 0) return diag_fail(cx->diag, CTSC_FAILED, "size must not be negative");
    if (!size_mul((size_t)size + 2, sizeof **start, &bytes)) return diag_no_memory(cx->diag);
    *start = mem_alloc(bytes);
    return *start ? CTSC_OK : diag_no_memory(cx->diag);
}

/* ctsc::sparse_transposed: (crow, columns, size) -> crow', columns', order: element i of the result
 * is element order[i]. */
OPERATOR(sparse_transposed) {
    sparse_matrix s;
    int64_t size = arg_int(&args[2]), *start = NULL, sizes[1] = {size + 1};
    dtype dt = (dtype)arg_tensor(&args[1])->dtype;
    tensor *made[3] = {0};
    ctsc_status st;
    TRY(sparse_open(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), NULL, &s));
    TRY_OUT(sparse_counts(cx, size, &start));
    TRY_OUT(tensor_new(cx->diag, dt, 1, sizes, &made[0]));
    TRY_OUT(tensor_new(cx->diag, dt, 1, &s.nnz, &made[1]));
    TRY_OUT(tensor_new(cx->diag, DT_INT64, 1, &s.nnz, &made[2]));
    if (!geometry_only()) {
        if (!sparse_count(s.columns, s.wide, s.nnz, size, start)) {
            st = sparse_outside(cx, size);
            goto out;
        }
        for (int64_t i = 0; i <= size; i++) sparse_put(made[0], i, start[i]);
        int64_t *order = TENSOR_AT(made[2], int64_t);
        for (int64_t r = 0; r < s.rows; r++)
            for (int64_t j = s.start[r]; j < s.start[r + 1]; j++) {
                int64_t to = start[sparse_at(s.columns, s.wide, j)]++;
                sparse_put(made[1], to, r);
                order[to] = j;
            }
    }
    for (int i = 0; i < 3; i++) results[i] = value_tensor_take(made[i]), made[i] = NULL;
out:
    for (int i = 0; i < 3; i++) tensor_unref(made[i]);
    mem_free(start);
    sparse_close(&s);
    return st;
}

OPERATOR(_convert_indices_from_coo_to_csr) {
    tensor *in = arg_tensor(&args[0]), *whole = NULL, *out = NULL;
    int64_t size = arg_int(&args[1]), *start = NULL, sizes[1] = {size + 1};
    ctsc_status st;
    TRY(sparse_need_index(cx, in, "Input"));
    TRY(tensor_contiguous(cx->diag, in, &whole));
    TRY_OUT(sparse_counts(cx, size, &start));
    TRY_OUT(tensor_new(cx->diag, arg_bool(&args[2]) ? DT_INT32 : DT_INT64, 1, sizes, &out));
    if (!geometry_only()) {
        if (!sparse_count(tensor_data(whole), in->dtype == DT_INT64, in->numel, size, start)) {
            st = sparse_outside(cx, size);
            goto out;
        }
        for (int64_t i = 0; i <= size; i++) sparse_put(out, i, start[i]);
    }
    st = op_finish(cx, args, tensor_ref(out), results);
out:
    mem_free(start);
    tensor_unref(whole);
    tensor_unref(out);
    return st;
}

OPERATOR(_convert_indices_from_csr_to_coo) {
    sparse_matrix s;
    bool turned = arg_bool(&args[3]);
    tensor *out = NULL;
    ctsc_status st;
    TRY(sparse_open(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), NULL, &s));
    TRY_OUT(tensor_new(cx->diag, arg_bool(&args[2]) ? DT_INT32 : DT_INT64, 2, (int64_t[]){2, s.nnz},
                       &out));
    for (int64_t r = 0; !geometry_only() && r < s.rows; r++)
        for (int64_t j = s.start[r]; j < s.start[r + 1]; j++) {
            sparse_put(out, turned ? s.nnz + j : j, r);
            sparse_put(out, turned ? j : s.nnz + j, sparse_at(s.columns, s.wide, j));
        }
    st = op_finish(cx, args, tensor_ref(out), results);
out:
    tensor_unref(out);
    sparse_close(&s);
    return st;
}
