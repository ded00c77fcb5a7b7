/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nested.c - nested tensors, as far as transformer encoders make them: from a padded batch and
 * a mask, and back.
 *
 * Method: the data stay padded, the lengths are attached to the storage.
 * Operators on a nested tensor compute on padding too and mask it out
 * where sequences mix (attention), so results agree with PyTorch's.
 * Ownership: the storage of a nested tensor holds the tensor that owns the memory, and the lengths.
 * Tests: tests/unit/test_nested.c
 */
#include "runtime/kernels/engine/nested.h"

#include <string.h>

typedef struct nested {
    tensor *data, *lengths;
} nested;

static void nested_release(void *ctx, void *data) {
    nested *n = ctx;
    (void)data;
    tensor_unref(n->data);
    tensor_unref(n->lengths);
    mem_free(n);
}

tensor *nested_lengths(const tensor *t) {
    const storage *s = t->storage;
    return s && s->release == nested_release && t->ndim == 3 ? ((nested *)s->release_ctx)->lengths
                                                             : NULL;
}

/* Takes data (contiguous). */
static ctsc_status nested_wrap(diag *d, tensor *data, tensor *lengths, tensor **out) {
    nested *n = mem_alloc(sizeof *n);
    if (!n) {
        tensor_unref(data);
        return diag_no_memory(d);
    }
    *n = (nested){data, tensor_ref(lengths)};
    size_t bytes = (size_t)data->numel * dtype_size((dtype)data->dtype);
    storage *s = storage_borrow(tensor_data(data), bytes, nested_release, n);
    if (!s) {
        nested_release(n, NULL);
        return diag_no_memory(d);
    }
    ctsc_status st = tensor_on_storage(d, s, (dtype)data->dtype, data->ndim, data->sizes,
                                       data->strides, 0, out);
    storage_unref(s);
    return st;
}

ctsc_status nested_new(diag *d, const tensor *padded, tensor *lengths, tensor **out) {
    tensor *data;
    TRY(tensor_clone(d, padded, &data));
    size_t row = dtype_size((dtype)data->dtype) * (size_t)data->sizes[2];
    char *p = tensor_data(data);
    for (int64_t i = 0; i < data->sizes[0]; i++, p += (size_t)data->sizes[1] * row) {
        int64_t length = TENSOR_AT(lengths, int64_t)[i];
        size_t behind = (size_t)(data->sizes[1] - length) * row;
        if (behind) memset(p + (size_t)length * row, 0, behind);
    }
    return nested_wrap(d, data, lengths, out);
}

ctsc_status nested_padding(diag *d, const tensor *t, tensor **out) {
    tensor *lengths = nested_lengths(t);
    TRY(tensor_new(d, DT_BOOL, 2, t->sizes, out));
    uint8_t *p = tensor_data(*out);
    for (int64_t i = 0; i < t->sizes[0]; i++)
        for (int64_t j = 0; j < t->sizes[1]; j++) *p++ = j >= TENSOR_AT(lengths, int64_t)[i];
    return CTSC_OK;
}

static ctsc_status nested_check_mask(diag *d, const tensor *t, const tensor *mask) {
    if (mask->dtype != DT_BOOL)
        return diag_fail(d, CTSC_FAILED,
                         "Expected mask to be of ScalarType Bool, but got %s instead.",
                         dtype_table[mask->dtype].ir_name);
    if (mask->ndim != 2) return diag_fail(d, CTSC_FAILED, "Padding mask should be 2D");
    if (t->ndim != 3) return diag_fail(d, CTSC_FAILED, "Input should be a 3D tensor, N * L * D");
    if (mask->sizes[0] != t->sizes[0] || mask->sizes[1] != t->sizes[1])
        return diag_fail(d, CTSC_FAILED, "Mask size should match input size");
    return CTSC_OK;
}

/* How many are true in each row; *longest: in any. *aligned: no true follows a false. */
static ctsc_status nested_count(diag *d, tensor *mask, tensor **lengths, int64_t *longest,
                                bool *aligned) {
    tensor *flat;
    TRY(tensor_contiguous(d, mask, &flat));
    ctsc_status st = tensor_new(d, DT_INT64, 1, mask->sizes, lengths);
    *longest = 0;
    *aligned = true;
    for (int64_t i = 0; st == CTSC_OK && i < mask->sizes[0]; i++) {
        const uint8_t *row = (const uint8_t *)tensor_data(flat) + i * mask->sizes[1];
        int64_t n = 0;
        for (int64_t j = 0; j < mask->sizes[1]; j++) {
            if (row[j] && n < j) *aligned = false;
            n += row[j] != 0;
        }
        TENSOR_AT(*lengths, int64_t)[i] = n;
        if (n > *longest) *longest = n;
    }
    tensor_unref(flat);
    return st;
}

/* (t, mask, mask_check) */
ctsc_status op_nested_from_mask(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *t = arg_tensor(&args[0]), *mask = arg_tensor(&args[1]), *lengths, *cut = NULL, *out;
    int64_t longest;
    bool aligned;
    TRY(nested_check_mask(d, t, mask));
    TRY(nested_count(d, mask, &lengths, &longest, &aligned));
    ctsc_status st = CTSC_OK;
    if (arg_bool(&args[2]) && !aligned)
        st = diag_fail(d, CTSC_FAILED, "Mask must be left-aligned without gaps");
    if (st == CTSC_OK) st = tensor_slice(d, t, 1, 0, longest, 1, &cut);
    if (st == CTSC_OK) st = nested_new(d, cut, lengths, &out);
    tensor_unref(cut);
    tensor_unref(lengths);
    return st == CTSC_OK ? op_return_tensor(results, out) : st;
}

/* (t, mask) */
ctsc_status op_nested_mask_left_aligned(op_ctx *cx, const value *args, value *results) {
    tensor *mask = arg_tensor(&args[1]), *lengths;
    int64_t longest;
    bool aligned;
    TRY(nested_check_mask(cx->diag, arg_tensor(&args[0]), mask));
    TRY(nested_count(cx->diag, mask, &lengths, &longest, &aligned));
    tensor_unref(lengths);
    return op_return(results, value_bool(aligned));
}

static ctsc_status nested_padded_sizes(diag *d, const tensor *t, const value *wanted,
                                       int64_t *sizes) {
    const int64_t *given;
    int n = arg_ints(wanted, &given);
    memcpy(sizes, t->sizes, 3 * sizeof *sizes);
    if (arg_is_none(wanted)) return CTSC_OK;
    if (n != 3)
        return diag_fail(
            d, CTSC_FAILED,
            "Length of output_size does not match NestedTensor dims. Broadcasting is not "
            "supported.");
    for (int i = 0; i < 3; i++) {
        if (given[i] < sizes[i])
            return diag_fail(
                d, CTSC_FAILED,
                "Value in output_size is less than NestedTensor padded size. Truncation is "
                "not supported.");
        sizes[i] = given[i];
    }
    return CTSC_OK;
}

/* Copies the sequences of t, one by one, to the corner of out. */
static ctsc_status nested_copy_rows(diag *d, const tensor *t, const tensor *out) {
    tensor *lengths = nested_lengths(t);
    for (int64_t i = 0; i < t->sizes[0]; i++) {
        int64_t sizes[2] = {TENSOR_AT(lengths, int64_t)[i], t->sizes[2]};
        tensor *to, *from = NULL;
        TRY(tensor_view_raw(d, out, 2, sizes, out->strides + 1, out->offset + i * out->strides[0],
                            &to));
        ctsc_status st = tensor_view_raw(d, t, 2, sizes, t->strides + 1,
                                         t->offset + i * t->strides[0], &from);
        if (st == CTSC_OK) st = tensor_copy(d, to, from);
        tensor_unref(to);
        tensor_unref(from);
        TRY(st);
    }
    return CTSC_OK;
}

/* (self, padding, output_size) */
ctsc_status op_to_padded_tensor(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *t = arg_tensor(&args[0]), *out, *padding;
    int64_t sizes[3];
    if (!nested_lengths(t))
        return diag_fail(
            d, CTSC_FAILED,
            "Could not run '%s' with arguments from the 'CPU' backend: the tensor is not "
            "nested",
            cx->op->key);
    TRY(nested_padded_sizes(d, t, &args[2], sizes));
    TRY(tensor_scalar_float(d, (dtype)t->dtype, arg_float(&args[1]), &padding));
    ctsc_status st = tensor_new(d, (dtype)t->dtype, 3, sizes, &out);
    if (st == CTSC_OK) {
        st = tensor_copy(d, out, padding);
        if (st == CTSC_OK) st = nested_copy_rows(d, t, out);
        if (st != CTSC_OK) tensor_unref(out);
    }
    tensor_unref(padding);
    return st == CTSC_OK ? op_finish(cx, args, out, results) : st;
}

ctsc_status op_is_nested(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(nested_lengths(arg_tensor(&args[0])) != NULL));
}
