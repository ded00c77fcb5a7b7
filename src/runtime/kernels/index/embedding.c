/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedding.c - rows of a table by index: embedding, embedding_bag, embedding_renorm_, one_hot.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/engine/wide.h"

#include "runtime/kernels/engine/device_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static ctsc_status embedding_check_indices(op_ctx *cx, const tensor *t, int place, const char *op) {
    if (t->dtype == DT_INT64 || t->dtype == DT_INT32) return CTSC_OK;
    return kernel_fail(
        cx,
        "Expected tensor for argument #%d 'indices' to have one of the following scalar types: "
        "Long, Int; but got torch.%sTensor instead (while checking arguments for %s)",
        place, dtype_table[t->dtype].ir_name, op);
}

/* ---- embedding ------------------------------------------------------------------------------- */

typedef struct embedding_job {
    const char *table;
    char *out;
    const int64_t *at;
    size_t row;
} embedding_job;

static void embedding_range(void *ctx, int64_t begin, int64_t end) {
    const embedding_job *j = ctx;
    for (int64_t i = begin; i < end; i++)
        memcpy(j->out + (size_t)i * j->row, j->table + (size_t)j->at[i] * j->row, j->row);
}

ctsc_status op_embedding(op_ctx *cx, const value *args, value *results) {
    tensor *weight = arg_tensor(&args[0]), *indices = arg_tensor(&args[1]);
    tensor *at = NULL, *table = NULL, *y = NULL;
    int64_t sizes[TENSOR_MAX_DIMS];
    ctsc_status st;
    if (weight->ndim != 2) return kernel_fail(cx, "'weight' must be 2-D");
    TRY(embedding_check_indices(cx, indices, 1, "embedding"));
    if (indices->ndim == TENSOR_MAX_DIMS)
        return kernel_fail(cx, "tensor has too many (>%d) dims", TENSOR_MAX_DIMS);
    TRY(wide_indices(cx, indices, &at));
    bool there = tensor_cuda(weight) != NULL; /* the kernel looks at the indices */
    for (int64_t i = 0; !there && !geometry_only() && i < at->numel; i++) {
        int64_t k = TENSOR_AT(at, int64_t)[i];
        if (k >= 0 && k < weight->sizes[0]) continue;
        st = kernel_fail(cx, "index out of range in self");
        goto out;
    }
    TRY_OUT(tensor_contiguous(cx->diag, weight, &table));
    for (int i = 0; i < indices->ndim; i++) sizes[i] = indices->sizes[i];
    sizes[indices->ndim] = weight->sizes[1];
    TRY_OUT(tensor_new_on(cx->diag, tensor_device(weight), (dtype)weight->dtype, indices->ndim + 1,
                          sizes, &y));
    if (there)
        TRY_OUT(on_device->rows(cx->diag, table, weight->sizes[0], at, y, false, DENSE_FAULT_ROW));
    embedding_job j = {tensor_data(table), tensor_data(y), tensor_data(at),
                       (size_t)weight->sizes[1] * dtype_size((dtype)weight->dtype)};
    if (y->numel && !there)
        pool_for(at->numel, kernel_grain(weight->sizes[1] / 4), embedding_range, &j);
    st = op_finish(cx, args, y, results);
    y = NULL;
out:
    tensor_unref(at);
    tensor_unref(table);
    tensor_unref(y);
    return st;
}

/* ---- renormalisation ------------------------------------------------------------------------- */

static int embedding_compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Scales row r of table down to max_norm. */
static void embedding_renorm_row(const tensor *table, int64_t r, double max_norm, double p) {
    dtype dt = (dtype)table->dtype;
    size_t item = dtype_size(dt);
    char *row = (char *)tensor_data(table) + (size_t)(r * table->strides[0]) * item;
    size_t step = (size_t)table->strides[1] * item;
    double norm = 0;
    for (int64_t i = 0; i < table->sizes[1]; i++) {
        double v = fabs(dtype_load_float(dt, row + (size_t)i * step));
        if (isinf(p)) norm = v > norm ? v : norm;
        else norm += p == 0 ? v != 0 : p == 1 ? v : p == 2 ? v * v : pow(v, p);
    }
    if (p == 2) norm = sqrt(norm);
    else if (p != 0 && p != 1 && !isinf(p)) norm = pow(norm, 1 / p);
    if (dt == DT_FLOAT32) norm = (double)(float)norm;
    if (!(norm > max_norm)) return;
    double scale = max_norm / (norm + 1e-7);
    for (int64_t i = 0; i < table->sizes[1]; i++) {
        char *q = row + (size_t)i * step;
        double v = dtype_load_float(dt, q);
        dtype_store_float(dt, q, dt == DT_FLOAT32 ? (double)((float)v * (float)scale) : v * scale);
    }
}

static ctsc_status embedding_renorm(op_ctx *cx, tensor *table, tensor *indices, double max_norm,
                                    double p) {
    tensor *at;
    sizes_text text;
    if (table->ndim != 2)
        return kernel_fail(
            cx,
            "Expected 2-dimensional tensor, but got %d-dimensional tensor for argument #1 'self' "
            "(while checking arguments for embedding_renorm_)",
            table->ndim);
    TRY(embedding_check_indices(cx, indices, 2, "embedding_renorm_"));
    if (!dtype_is_float((dtype)table->dtype) && table->numel && indices->numel)
        return op_refuse_dtype(cx, "embedding_renorm_", (dtype)table->dtype);
    TRY(tensor_make_writable(cx->diag, table));
    if (indices->dtype == DT_INT64) /* sorted below: not in the caller's tensor */
        TRY(tensor_clone(cx->diag, indices, &at));
    else TRY(wide_indices(cx, indices, &at));
    int64_t *rows = tensor_data(at);
    ctsc_status st = CTSC_OK;
    if (at->numel) qsort(rows, (size_t)at->numel, sizeof *rows, embedding_compare);
    for (int64_t i = 0; i < at->numel && st == CTSC_OK; i++) {
        if (i && rows[i] == rows[i - 1]) continue;
        if (rows[i] < -table->sizes[0] || rows[i] >= table->sizes[0])
            st = kernel_fail(
                cx, "select(): index %lld out of range for tensor of size %s at dimension 0",
                (long long)rows[i], shape_print(table, &text));
        else
            embedding_renorm_row(table, rows[i] < 0 ? rows[i] + table->sizes[0] : rows[i], max_norm,
                                 p);
    }
    tensor_unref(at);
    return st;
}

ctsc_status op_embedding_renorm_(op_ctx *cx, const value *args, value *results) {
    TRY(embedding_renorm(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), arg_float(&args[2]),
                         arg_float(&args[3])));
    return op_return_self(results, &args[0]);
}

ctsc_status op_embedding_renorm(op_ctx *cx, const value *args, value *results) {
    tensor *copy;
    TRY(tensor_clone(cx->diag, arg_tensor(&args[0]), &copy));
    ctsc_status st = embedding_renorm(cx, copy, arg_tensor(&args[1]), arg_float(&args[2]),
                                      arg_float(&args[3]));
    if (st == CTSC_OK) return op_finish(cx, args, copy, results);
    tensor_unref(copy);
    return st;
}

/* ---- bags ------------------------------------------------------------------------------------ */

enum { EMBEDDING_SUM, EMBEDDING_MEAN, EMBEDDING_MAX };

typedef struct embedding_bags {
    tensor *weight, *indices, *offsets; /* indices, offsets: contiguous int64 */
    tensor *scale;                      /* per sample, in the compute dtype; or NULL */
    tensor *table;                      /* weight, contiguous, in its own dtype */
    int mode;
    bool last_offset;
    int64_t padding, bags; /* padding: -1 for none */
} embedding_bags;

static ctsc_status embedding_bag_types(op_ctx *cx, const tensor *weight, const tensor *indices,
                                       const tensor *offsets) {
    TRY(embedding_check_indices(cx, indices, 1, "embedding_bag"));
    if (offsets->dtype != DT_INT64 && offsets->dtype != DT_INT32)
        return kernel_fail(
            cx,
            "Expected tensor for argument #1 'offsets' to have one of the following scalar types: "
            "Long, Int; but got torch.%sTensor instead (while checking arguments for "
            "embedding_bag)",
            dtype_table[offsets->dtype].ir_name);
    if (!dtype_is_float((dtype)weight->dtype))
        return kernel_fail(
            cx,
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            "Half, Float, Double; but got torch.%sTensor instead (while checking arguments for "
            "embedding_bag)",
            dtype_table[weight->dtype].ir_name);
    return CTSC_OK;
}

static ctsc_status embedding_bag_check(op_ctx *cx, const embedding_bags *b) {
    const int64_t *offsets = tensor_data(b->offsets), *rows = tensor_data(b->indices);
    int64_t n = b->offsets->numel, count = b->indices->numel;
    if (b->last_offset && n < 1)
        return kernel_fail(cx, "include_last_offset: number of offset should be at least 1");
    if (tensor_cuda(b->weight)) return CTSC_OK; /* the kernel looks at the rest */
    if (n > 0) {
        if (offsets[0] != 0)
            return kernel_fail(
                cx,
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has "
                "to start from position 0. However, got %lld",
                (long long)offsets[0]);
        if (offsets[n - 1] > count)
            return kernel_fail(cx,
                               "offsets[-1] can not be greater than input's length %lld but got "
                               "offsets[-1] of %lld",
                               (long long)count, (long long)offsets[n - 1]);
    }
    for (int64_t i = 1; i < n; i++)
        if (offsets[i] < offsets[i - 1] || offsets[i] > count)
            return kernel_fail(
                cx,
                "embedding_bag: offsets should be non-decreasing and within the input's length");
    for (int64_t i = 0; i < count; i++)
        if (rows[i] < 0 || rows[i] >= b->weight->sizes[0])
            return kernel_fail(
                cx,
                "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be %lld",
                (long long)rows[i]);
    return CTSC_OK;
}

static ctsc_status embedding_bag_scale(op_ctx *cx, embedding_bags *b, tensor *scale) {
    if (!scale) return CTSC_OK;
    if (b->mode != EMBEDDING_SUM)
        return kernel_fail(cx, "embedding_bag: per_sample_weights only supported with mode='sum'");
    if (scale->dtype != b->weight->dtype)
        return kernel_fail(
            cx,
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            "#1 'per_sample_weights'; but type torch.%sTensor does not equal torch.%sTensor (while "
            "checking arguments for embedding_bag)",
            dtype_table[b->weight->dtype].ir_name, dtype_table[scale->dtype].ir_name);
    const char *what = scale->ndim != 1                    ? "dim() == 1"
                       : scale->numel != b->indices->numel ? "numel() == indices.numel()"
                                                           : NULL;
    if (what)
        return kernel_fail(
            cx,
            "Expected per_sample_weights.value().%s to be true, but got false.  (Could this "
            "error message be improved?  If so, please report an enhancement request to "
            "PyTorch.)",
            what);
    return wide_input(cx, "embedding_bag", scale, &b->scale);
}

static inline float embedding_load_f32(dtype dt, const void *row, int64_t i) {
    switch (dt) {
    case DT_FLOAT16: return float16_to_float(((const float16 *)row)[i]);
    case DT_BFLOAT16: return bfloat16_to_float(((const bfloat16 *)row)[i]);
    default: return ((const float *)row)[i];
    }
}
#define embedding_load(T, dt, row, i)                                                              \
    (sizeof(T) == 8 ? (T)((const double *)(row))[i] : (T)embedding_load_f32(dt, row, i))

VECTOR_CLONES static void embedding_add_f32(float *restrict y, const float *restrict row, int64_t n,
                                            float scale) {
    for (int64_t k = 0; k < n; k++) y[k] += row[k] * scale;
}

typedef struct embedding_bag_job {
    const embedding_bags *b;
    void *y;
    int64_t *max_at, *sizes; /* max mode: the chosen rows; all modes: rows that counted */
    dtype dt;                /* compute dtype */
} embedding_bag_job;

static void embedding_bag_range(void *ctx, int64_t begin, int64_t end) {
    const embedding_bag_job *j = ctx;
    const embedding_bags *b = j->b;
    const int64_t *offsets = tensor_data(b->offsets), *rows = tensor_data(b->indices);
    int64_t width = b->weight->sizes[1];
    dtype from = (dtype)b->weight->dtype;
    size_t stride = (size_t)width * dtype_size(from);
    WIDE_DISPATCH(j->dt, {
        const T *scale = b->scale ? tensor_data(b->scale) : NULL;
        for (int64_t bag = begin; bag < end; bag++) {
            int64_t stop = bag + 1 < b->offsets->numel ? offsets[bag + 1] : b->indices->numel;
            int64_t used = 0;
            T *y = (T *)j->y + bag * width;
            for (int64_t k = 0; k < width; k++) y[k] = 0;
            for (int64_t i = offsets[bag]; i < stop; i++) {
                if (rows[i] == b->padding) continue;
                const void *row = (const char *)tensor_data(b->table) + (size_t)rows[i] * stride;
                if (from == DT_FLOAT32 && b->mode != EMBEDDING_MAX) {
                    embedding_add_f32((float *)(void *)y, row, width, scale ? (float)scale[i] : 1);
                    used++;
                    continue;
                }
                for (int64_t k = 0; k < width; k++) {
                    T v = embedding_load(T, from, row, k);
                    if (b->mode != EMBEDDING_MAX) {
                        y[k] += scale ? v * scale[i] : v;
                    } else if (used == 0 || v > y[k]) {
                        y[k] = v;
                        j->max_at[bag * width + k] = rows[i];
                    }
                }
                used++;
            }
            j->sizes[bag] = used;
            for (int64_t k = 0; b->mode == EMBEDDING_MEAN && used && k < width; k++)
                y[k] /= (T)used;
        }
    });
}

static void embedding_bag_of_index(const embedding_bags *b, int64_t *out) {
    const int64_t *offsets = tensor_data(b->offsets);
    for (int64_t bag = 0; !geometry_only() && bag < b->bags; bag++) {
        int64_t stop = bag + 1 < b->offsets->numel ? offsets[bag + 1] : b->indices->numel;
        for (int64_t i = offsets[bag]; i < stop; i++) out[i] = bag;
    }
}

/* PyTorch's fast path does not make offset2bag. */
static bool embedding_bag_is_fast(const embedding_bags *b) {
    return b->mode == EMBEDDING_SUM && b->padding < 0 && b->weight->dtype != DT_FLOAT64 &&
           b->weight->strides[1] == 1;
}

/* out as in embedding_bag_run; those that were made stay there on failure. */
static ctsc_status embedding_bag_on_device(op_ctx *cx, const embedding_bags *b, tensor **out) {
    int device = tensor_device(b->weight);
    bool sum = b->mode == EMBEDDING_SUM, max = b->mode == EMBEDDING_MAX,
         fast = embedding_bag_is_fast(b);
    int64_t shape[2] = {b->bags, b->weight->sizes[1]}, count = b->indices->numel, none = 0,
            kept = sum ? b->offsets->numel : b->bags;
    TRY(tensor_new_on(cx->diag, device, (dtype)b->weight->dtype, 2, shape, &out[0]));
    TRY(tensor_zeros_on(cx->diag, device, DT_INT64, 1, fast ? &none : &count, &out[1]));
    TRY(tensor_zeros_on(cx->diag, device, DT_INT64, 1, &kept, &out[2]));
    TRY(tensor_zeros_on(cx->diag, device, DT_INT64, max ? 2 : 1, max ? shape : &kept, &out[3]));
    dense_bags p = {.scale = b->scale ? tensor_data(b->scale) : NULL,
                    .index = tensor_data(b->indices),
                    .offsets = tensor_data(b->offsets),
                    .y = tensor_data(out[0]),
                    .max_at = max ? tensor_data(out[3]) : NULL,
                    .sizes = sum ? NULL : tensor_data(out[2]),
                    .bag_of = fast ? NULL : tensor_data(out[1]),
                    .count = count,
                    .bags = b->bags,
                    .noffsets = b->offsets->numel,
                    .width = shape[1],
                    .rows = b->weight->sizes[0],
                    .padding = b->padding,
                    .mode = b->mode};
    TRY(on_device->bags(cx->diag, b->table, &p));
    return b->mode == EMBEDDING_MEAN ? tensor_copy(cx->diag, out[3], out[2]) : CTSC_OK;
}

/* out[0..4): the bags, then what PyTorch keeps for the backward pass: the bag of each index, the
 * sizes of the bags, the rows of the maxima. */
static ctsc_status embedding_bag_run(op_ctx *cx, const embedding_bags *b, tensor **out) {
    int64_t width = b->weight->sizes[1], count = b->indices->numel, none = 0;
    dtype dt = wide_dtype((dtype)b->weight->dtype);
    int64_t shape[2] = {b->bags, width};
    bool sum = b->mode == EMBEDDING_SUM, max = b->mode == EMBEDDING_MAX;
    /* In sum mode nothing is kept: as many zeros as there are offsets. */
    int64_t kept = sum ? b->offsets->numel : b->bags;
    ctsc_status st = CTSC_OK;
    int64_t *sizes = mem_alloc(sizeof *sizes * (size_t)int64_max(b->bags, 1));
    if (!sizes) return diag_no_memory(cx->diag);
    TRY_OUT(tensor_new(cx->diag, dt, 2, shape, &out[0]));
    bool fast = embedding_bag_is_fast(b);
    TRY_OUT(tensor_zeros(cx->diag, DT_INT64, 1, fast ? &none : &count, &out[1]));
    TRY_OUT(tensor_zeros(cx->diag, DT_INT64, 1, &kept, &out[2]));
    TRY_OUT(tensor_zeros(cx->diag, DT_INT64, max ? 2 : 1, max ? shape : &kept, &out[3]));
    embedding_bag_job j = {b, tensor_data(out[0]), max ? tensor_data(out[3]) : NULL, sizes, dt};
    if (b->bags)
        pool_for(b->bags, kernel_grain(width * (count / b->bags + 1)), embedding_bag_range, &j);
    if (!fast) embedding_bag_of_index(b, tensor_data(out[1]));
    for (int64_t i = 0; !sum && !geometry_only() && i < b->bags; i++) {
        TENSOR_AT(out[2], int64_t)[i] = sizes[i];
        if (!max) TENSOR_AT(out[3], int64_t)[i] = sizes[i];
    }
    TRY_OUT(wide_round(cx, &out[0], (dtype)b->weight->dtype));
out:
    mem_free(sizes);
    return st;
}

/* args: weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 * include_last_offset, in every overload; padding is wrapped already, -1 for none. */
static ctsc_status embedding_bag_op(op_ctx *cx, const value *args, int64_t padding,
                                    value *results) {
    tensor *weight = arg_tensor(&args[0]), *indices = arg_tensor(&args[1]),
           *offsets = arg_tensor(&args[2]);
    embedding_bags b = {.weight = weight,
                        .mode = (int)arg_int(&args[4]),
                        .last_offset = arg_bool(&args[7]),
                        .padding = padding};
    tensor *out[4] = {NULL};
    ctsc_status st;
    int dim;
    TRY(embedding_bag_types(cx, weight, indices, offsets));
    if (arg_int(&args[4]) < EMBEDDING_SUM || arg_int(&args[4]) > EMBEDDING_MAX)
        return kernel_fail(cx, "embedding_bag: unknown mode %lld", (long long)arg_int(&args[4]));
    TRY(tensor_wrap_dim(cx->diag, 1, weight->ndim, &dim));
    if (weight->ndim != 2) return kernel_fail(cx, "'weight' must be 2-D");
    TRY(wide_indices(cx, indices, &b.indices));
    TRY_OUT(wide_indices(cx, offsets, &b.offsets));
    TRY_OUT(embedding_bag_check(cx, &b));
    TRY_OUT(embedding_bag_scale(cx, &b, arg_tensor_or_null(&args[6])));
    TRY_OUT(tensor_contiguous(cx->diag, weight, &b.table));
    b.bags = b.offsets->numel - (b.last_offset ? 1 : 0);
    TRY_OUT(tensor_cuda(weight) ? embedding_bag_on_device(cx, &b, out)
                                : embedding_bag_run(cx, &b, out));
out:
    tensor_unref(b.indices);
    tensor_unref(b.offsets);
    tensor_unref(b.scale);
    tensor_unref(b.table);
    if (st == CTSC_OK) return op_finish_all(cx, args, 4, out, results);
    for (int i = 0; i < 4; i++) tensor_unref(out[i]);
    return st;
}

ctsc_status op_embedding_bag(op_ctx *cx, const value *args, value *results) {
    return embedding_bag_op(cx, args, -1, results);
}

ctsc_status op_embedding_bag_padding(op_ctx *cx, const value *args, value *results) {
    int64_t rows = arg_tensor(&args[0])->ndim ? arg_tensor(&args[0])->sizes[0] : 0;
    int64_t padding = arg_int_or(&args[8], -1);
    if (arg_is_none(&args[8])) return embedding_bag_op(cx, args, -1, results);
    if (padding < -rows || padding >= rows)
        return kernel_fail(
            cx,
            "padding_idx must be within the number of embeddings, %lld through %lld, but got %lld",
            (long long)-rows, (long long)rows - 1, (long long)padding);
    return embedding_bag_op(cx, args, padding < 0 ? padding + rows : padding, results);
}

/* _embedding_bag: padding_idx is not wrapped, -1 means none. */
ctsc_status op_embedding_bag_internal(op_ctx *cx, const value *args, value *results) {
    return embedding_bag_op(cx, args, int64_max(arg_int(&args[8]), -1), results);
}

/* ---- one hot --------------------------------------------------------------------------------- */

ctsc_status op_one_hot(op_ctx *cx, const value *args, value *results) {
    tensor *t = arg_tensor(&args[0]), *at, *y;
    int64_t classes = arg_int(&args[1]), top = -1, sizes[TENSOR_MAX_DIMS];
    if (t->dtype != DT_INT64)
        return kernel_fail(cx, "one_hot is only applicable to index tensor of type LongTensor.");
    if (t->numel == 0 && classes <= 0)
        return kernel_fail(cx, "Can not infer total number of classes from empty tensor.");
    if (t->ndim == TENSOR_MAX_DIMS)
        return kernel_fail(cx, "tensor has too many (>%d) dims", TENSOR_MAX_DIMS);
    TRY(tensor_contiguous(cx->diag, t, &at));
    const int64_t *p = tensor_data(at);
    ctsc_status st = CTSC_OK;
    for (int64_t i = 0; i < t->numel && st == CTSC_OK; i++) {
        top = int64_max(top, p[i]);
        if (p[i] < 0) st = kernel_fail(cx, "Class values must be non-negative.");
    }
    if (classes == -1) classes = top == INT64_MAX ? top : top + 1;
    else if (top >= classes && st == CTSC_OK)
        st = kernel_fail(cx, "Class values must be smaller than num_classes.");
    for (int i = 0; i < t->ndim; i++) sizes[i] = t->sizes[i];
    sizes[t->ndim] = classes;
    if (st == CTSC_OK) st = tensor_zeros(cx->diag, DT_INT64, t->ndim + 1, sizes, &y);
    if (st == CTSC_OK)
        for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(y, int64_t)[i * classes + p[i]] = 1;
    tensor_unref(at);
    return st == CTSC_OK ? op_return_tensor(results, y) : st;
}
