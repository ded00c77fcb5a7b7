/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_embedding.c - embeddings and embedding bags of packed rows, uint8 with a float scale
 * and zero point for each row.
 *
 * Method. The rows that are asked for become floats; a bag is then one of aten::embedding_bag
 * over these rows.
 * Tests: tests/corpus/quantized
 */
#include "runtime/kernels/quantised/quantized.h"

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* As fbgemm has it: a row is integers * scale + bias. */
static VECTOR_CLONES void embedding_row(const uint8_t *from, int64_t n, float scale, float bias,
                                        float *to) {
    for (int64_t j = 0; j < n; j++) to[j] = (float)from[j] * scale + bias;
}

/* The rows of indices as floats, [number of indices, row's length]. */
static ctsc_status embedding_rows(op_ctx *cx, const packed *p, tensor *indices, tensor **out) {
    const tensor *w = p->weight;
    int64_t rows = w->sizes[0], n = w->sizes[1], sizes[2] = {indices->numel, n};
    tensor *flat = NULL, *made = NULL;
    if (indices->dtype != DT_INT64 && indices->dtype != DT_INT32)
        return kernel_fail(cx, "Expect 32 or 64 bit indices, but found %s instead.",
                           dtype_table[indices->dtype].ir_name);
    ctsc_status st = wide_indices(cx, indices, &flat);
    if (st == CTSC_OK) st = tensor_new(cx->diag, DT_FLOAT32, 2, sizes, &made);
    const float *scales = TENSOR_AT(w->quantiser->scales, float),
                *zeros = TENSOR_AT(w->quantiser->zero_points, float);
    for (int64_t i = 0; st == CTSC_OK && i < sizes[0]; i++) {
        int64_t k = TENSOR_AT(flat, int64_t)[i];
        if (k < 0 || k >= rows) {
            st = kernel_fail(
                cx, "Expected idx >= 0 && idx < num_embeddings, but got index %lld of %lld",
                (long long)k, (long long)rows);
            break;
        }
        embedding_row(TENSOR_AT(w, uint8_t) + k * n, n, scales[k], -zeros[k] * scales[k],
                      TENSOR_AT(made, float) + i * n);
    }
    tensor_unref(flat);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

/* embedding_byte(weight, indices, pruned_weights) */
OPERATOR(quantized_embedding_byte) {
    const packed *p;
    tensor *indices = args[1].u.tensor, *rows, *out;
    int64_t sizes[TENSOR_MAX_DIMS];
    TRY(packed_of(cx, &args[0], PACKED_EMBEDDING, &p));
    if (arg_bool(&args[2]))
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "%s: pruned weights are not supported",
                         cx->op->key);
    if (indices->ndim >= TENSOR_MAX_DIMS)
        return kernel_fail(cx, "%s: the indices have too many dimensions", cx->op->key);
    TRY(embedding_rows(cx, p, indices, &rows));
    for (int i = 0; i < indices->ndim; i++) sizes[i] = indices->sizes[i];
    sizes[indices->ndim] = p->weight->sizes[1];
    ctsc_status s = tensor_view(cx->diag, rows, indices->ndim + 1, sizes, &out);
    tensor_unref(rows);
    return s == CTSC_OK ? op_return_tensor(results, out) : s;
}

/* embedding_bag_byte(weight, indices, offsets, scale_grad_by_freq, mode, pruned_weights,
 * per_sample_weights, compressed_indices_mapping, include_last_offset). As in PyTorch, mode is not
 * looked at: bags are sums. */
OPERATOR(quantized_embedding_bag_byte) {
    const packed *p;
    tensor *indices = args[1].u.tensor, *rows, *places = NULL;
    TRY(packed_of(cx, &args[0], PACKED_EMBEDDING, &p));
    if (arg_bool(&args[5]) || !arg_is_none(&args[7]))
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "%s: pruned weights are not supported",
                         cx->op->key);
    if (indices->ndim == 1 && arg_is_none(&args[2]))
        return kernel_fail(cx,
                           "embedding_bag_byte operator expects offsets to be set for 1D indices.");
    if (indices->ndim != 1 && indices->ndim != 2)
        return kernel_fail(cx,
                           "embedding_bag_byte operator only supports 1D and 2D indices, got %d",
                           indices->ndim);
    TRY(embedding_rows(cx, p, indices, &rows));
    ctsc_status s = tensor_new(cx->diag, DT_INT64, indices->ndim, indices->sizes, &places);
    for (int64_t i = 0; s == CTSC_OK && i < places->numel; i++) TENSOR_AT(places, int64_t)[i] = i;
    tensor *offsets = NULL, *weights = NULL;
    if (s == CTSC_OK && indices->ndim == 2) { /* a bag for each row */
        int64_t bags = indices->sizes[0], flat = indices->numel;
        tensor *one = NULL;
        s = tensor_new(cx->diag, DT_INT64, 1, &bags, &offsets);
        for (int64_t i = 0; s == CTSC_OK && i < bags; i++)
            TENSOR_AT(offsets, int64_t)[i] = i * indices->sizes[1];
        if (s == CTSC_OK) s = tensor_view(cx->diag, places, 1, &flat, &one);
        if (s == CTSC_OK) tensor_unref(places), places = one;
        if (s == CTSC_OK && !arg_is_none(&args[6]))
            s = tensor_reshape(cx->diag, args[6].u.tensor, 1, &flat, &weights);
    } else if (s == CTSC_OK) {
        s = wide_indices(cx, args[2].u.tensor, &offsets);
        if (s == CTSC_OK && !arg_is_none(&args[6])) weights = tensor_ref(args[6].u.tensor);
    }
    value made[4] = {0};
    value given[] = {value_tensor_take(rows),
                     value_tensor_take(places),
                     value_tensor_take(offsets),
                     value_bool(false),
                     value_int(0),
                     value_bool(false),
                     weights ? value_tensor_take(weights) : value_none(),
                     value_bool(indices->ndim == 1 && arg_bool(&args[8]))};
    if (s == CTSC_OK) s = op_call(cx, "aten::embedding_bag", 8, given, made);
    if (s == CTSC_OK) results[0] = value_ref(made[0]);
    for (int i = 0; i < 4; i++) value_unref(made[i]);
    tensor_unref(rows);
    tensor_unref(places);
    tensor_unref(offsets);
    tensor_unref(weights);
    return s;
}
