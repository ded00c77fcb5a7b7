/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn_pack.c - packed sequences: batches of sequences of differing length without their padding.
 *
 * Packed data holds, step by step, the rows of the sequences that are long enough; batch_sizes says
 * how many. Sequences are ordered by falling length, so the rows of a step are the first ones of
 * the batch. Tests: tests/unit/test_rnn.c
 */
#include "runtime/kernels/engine/kernel.h"

#include <string.h>

static ctsc_status pack_check_index(diag *d, const tensor *t) {
    if (t->ndim != 1 || t->dtype != DT_INT64)
        return diag_fail(
            d, CTSC_FAILED,
            "'lengths' argument should be a 1D CPU int64 tensor, but got %dD cpu %s tensor",
            t->ndim, dtype_table[t->dtype].ir_name);
    return CTSC_OK;
}

static int64_t pack_index(const tensor *t, int64_t i) {
    return TENSOR_AT(t, int64_t)[i * t->strides[0]];
}

static ctsc_status pack_check_lengths(diag *d, const tensor *lengths, int64_t steps,
                                      int64_t batch) {
    int64_t n = lengths->sizes[0];
    if (n != batch)
        return diag_fail(d, CTSC_FAILED,
                         "Expected `len(lengths)` to be equal to batch_size, but got %lld "
                         "(batch_size=%lld)",
                         (long long)n, (long long)batch);
    if (n == 0 || pack_index(lengths, n - 1) <= 0)
        return diag_fail(d, CTSC_FAILED,
                         "Length of all samples has to be greater than 0, but found an element in "
                         "'lengths' that is <= 0");
    for (int64_t i = 0; i + 1 < n; i++)
        if (pack_index(lengths, i) < pack_index(lengths, i + 1))
            return diag_fail(
                d, CTSC_FAILED,
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` "
                "is True. You can pass `enforce_sorted=False` to pack_padded_sequence "
                "and/or pack_sequence to sidestep this requirement if you do not need ONNX "
                "exportability.");
    if (pack_index(lengths, 0) > steps)
        return diag_fail(d, CTSC_FAILED, "start (0) + length (%lld) exceeds dimension size (%lld).",
                         (long long)pack_index(lengths, 0), (long long)steps);
    return CTSC_OK;
}

/* timed: [steps, batch, ...], contiguous. */
static ctsc_status pack_rows(diag *d, const tensor *timed, const tensor *lengths, tensor **data,
                             tensor **batch_sizes) {
    int64_t batch = timed->sizes[1], longest = pack_index(lengths, 0), total = 0,
            sizes[TENSOR_MAX_DIMS];
    for (int64_t i = 0; i < batch; i++) total += pack_index(lengths, i);
    sizes[0] = total;
    for (int i = 2; i < timed->ndim; i++) sizes[i - 1] = timed->sizes[i];
    TRY(tensor_new(d, DT_INT64, 1, &longest, batch_sizes));
    TRY(tensor_new(d, (dtype)timed->dtype, timed->ndim - 1, sizes, data));
    size_t row = dtype_size((dtype)timed->dtype);
    for (int i = 2; i < timed->ndim; i++) row *= (size_t)timed->sizes[i];
    char *to = tensor_data(*data);
    const char *from = tensor_data(timed);
    int64_t alive = batch;
    for (int64_t step = 0; step < longest; step++, from += (size_t)batch * row) {
        while (pack_index(lengths, alive - 1) <= step) alive--;
        memcpy(to, from, (size_t)alive * row);
        to += (size_t)alive * row;
        TENSOR_AT(*batch_sizes, int64_t)[step] = alive;
    }
    return CTSC_OK;
}

/* (input, lengths, batch_first) */
ctsc_status op_pack_padded_sequence(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *input = arg_tensor(&args[0]), *lengths = arg_tensor(&args[1]);
    if (input->numel == 0) return diag_fail(d, CTSC_FAILED, "Cannot pack empty tensors.");
    TRY(pack_check_index(d, lengths));
    if (input->ndim < 2)
        return diag_fail(d, CTSC_FAILED,
                         "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    tensor *view = NULL, *timed = NULL, *data = NULL, *batch_sizes = NULL;
    ctsc_status st = arg_bool(&args[2]) ? tensor_transpose(d, input, 0, 1, &view)
                                        : tensor_alias(d, input, &view);
    if (st == CTSC_OK) st = pack_check_lengths(d, lengths, view->sizes[0], view->sizes[1]);
    if (st == CTSC_OK) st = tensor_contiguous(d, view, &timed);
    if (st == CTSC_OK) st = pack_rows(d, timed, lengths, &data, &batch_sizes);
    tensor_unref(view);
    tensor_unref(timed);
    if (st != CTSC_OK) {
        tensor_unref(data);
        tensor_unref(batch_sizes);
        return st;
    }
    results[0] = value_tensor_take(data);
    results[1] = value_tensor_take(batch_sizes);
    return CTSC_OK;
}

static ctsc_status pad_check(diag *d, const tensor *data, const tensor *batch_sizes, int64_t total,
                             int64_t *steps) {
    TRY(pack_check_index(d, batch_sizes));
    int64_t n = batch_sizes->sizes[0], rows = 0;
    if (n == 0 || data->ndim == 0) return diag_fail(d, CTSC_FAILED, "batch_sizes can not be empty");
    for (int64_t i = 0; i < n; i++) {
        int64_t alive = pack_index(batch_sizes, i);
        if (alive <= 0 || (i && alive > pack_index(batch_sizes, i - 1)) ||
            alive > data->sizes[0] - rows)
            return diag_fail(d, CTSC_FAILED, "batch_sizes does not fit the packed data");
        rows += alive;
    }
    *steps = n;
    if (total > 0) {
        if (total < n)
            return diag_fail(
                d, CTSC_FAILED,
                "Expected total_length to be at least the length of the longest sequence in "
                "input, but got total_length=%lld and max sequence length being %lld",
                (long long)total, (long long)n);
        *steps = total;
    }
    return CTSC_OK;
}

static void pad_fill(tensor *t, const value *padding) {
    size_t size = dtype_size((dtype)t->dtype);
    char *p = tensor_data(t);
    if (t->numel == 0) return;
    if (padding->tag == V_FLOAT) dtype_store_float((dtype)t->dtype, p, padding->u.f);
    else dtype_store_int((dtype)t->dtype, p, arg_int(padding));
    for (int64_t i = 1; i < t->numel; i++) memcpy(p + (size_t)i * size, p, size);
}

/* data: contiguous. out: [steps, batch, ...], filled with padding. */
static void pad_rows(const tensor *data, const tensor *batch_sizes, tensor *out, tensor *lengths) {
    size_t row = dtype_size((dtype)data->dtype);
    for (int i = 1; i < data->ndim; i++) row *= (size_t)data->sizes[i];
    const char *from = tensor_data(data);
    char *to = tensor_data(out);
    int64_t *length = tensor_data(lengths);
    for (int64_t i = 0; i < lengths->sizes[0]; i++) length[i] = 0;
    for (int64_t step = 0; step < batch_sizes->sizes[0]; step++) {
        int64_t alive = pack_index(batch_sizes, step);
        memcpy(to, from, (size_t)alive * row);
        from += (size_t)alive * row;
        to += (size_t)lengths->sizes[0] * row;
        for (int64_t i = 0; i < alive; i++) length[i]++;
    }
}

/* (data, batch_sizes, batch_first, padding_value, total_length) */
ctsc_status op_pad_packed_sequence(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *data = arg_tensor(&args[0]), *batch_sizes = arg_tensor(&args[1]);
    int64_t sizes[TENSOR_MAX_DIMS];
    TRY(pad_check(d, data, batch_sizes, arg_int(&args[4]), &sizes[0]));
    if (data->ndim >= TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    sizes[1] = pack_index(batch_sizes, 0);
    for (int i = 1; i < data->ndim; i++) sizes[i + 1] = data->sizes[i];
    tensor *flat = NULL, *out = NULL, *lengths = NULL;
    ctsc_status st = tensor_contiguous(d, data, &flat);
    if (st == CTSC_OK) st = tensor_new(d, (dtype)data->dtype, data->ndim + 1, sizes, &out);
    if (st == CTSC_OK) st = tensor_new(d, DT_INT64, 1, &sizes[1], &lengths);
    if (st == CTSC_OK) {
        pad_fill(out, &args[3]);
        pad_rows(flat, batch_sizes, out, lengths);
        if (arg_bool(&args[2])) {
            tensor *swapped;
            st = tensor_transpose(d, out, 0, 1, &swapped);
            if (st == CTSC_OK) {
                tensor_unref(out);
                out = swapped;
            }
        }
    }
    tensor_unref(flat);
    if (st != CTSC_OK) {
        tensor_unref(out);
        tensor_unref(lengths);
        return st;
    }
    results[0] = value_tensor_take(out);
    results[1] = value_tensor_take(lengths);
    return CTSC_OK;
}

/* ---- sequences of differing length, one tensor each ------------------------------------------ */

static ctsc_status pad_sequence_sizes(diag *d, const list *seqs, int64_t *sizes, dtype *dt) {
    if (seqs->len == 0) return diag_fail(d, CTSC_FAILED, "received an empty list of sequences");
    const tensor *first = seqs->u.tensors[0];
    if (first->ndim == 0)
        return diag_fail(d, CTSC_FAILED, "Dimension specified as 0 but tensor has no dimensions");
    if (first->ndim >= TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    *dt = (dtype)first->dtype;
    sizes[0] = (int64_t)seqs->len;
    sizes[1] = 0;
    for (int i = 1; i < first->ndim; i++) sizes[i + 1] = first->sizes[i];
    for (size_t i = 0; i < seqs->len; i++) {
        const tensor *t = seqs->u.tensors[i];
        if (t->ndim == 0)
            return diag_fail(d, CTSC_FAILED,
                             "Dimension specified as 0 but tensor has no dimensions");
        if (t->sizes[0] > sizes[1]) sizes[1] = t->sizes[0];
    }
    return CTSC_OK;
}

/* (sequences, batch_first, padding_value, padding_side); the dtype is that of the first sequence */
ctsc_status op_pad_sequence(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    const list *seqs = args[0].u.list;
    int64_t sizes[TENSOR_MAX_DIMS];
    dtype dt = DT_FLOAT32;
    tensor *out;
    const char *side = args[3].u.str->bytes;
    bool left = !strcmp(side, "left");
    if (!left && strcmp(side, "right"))
        return diag_fail(d, CTSC_FAILED,
                         "Expected padding_side to be one of left or right, but got %s.", side);
    TRY(pad_sequence_sizes(d, seqs, sizes, &dt));
    bool batch_first = arg_bool(&args[1]);
    const int64_t longest = sizes[1];
    if (!batch_first) sizes[1] = sizes[0], sizes[0] = longest;
    TRY(tensor_new(d, dt, seqs->u.tensors[0]->ndim + 1, sizes, &out));
    pad_fill(out, &args[2]);
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; st == CTSC_OK && i < seqs->len; i++) {
        const tensor *t = seqs->u.tensors[i];
        tensor *row = NULL, *to = NULL;
        st = tensor_select(d, out, batch_first ? 0 : 1, (int64_t)i, &row);
        if (st == CTSC_OK)
            st = tensor_slice(d, row, 0, left ? longest - t->sizes[0] : 0,
                              left ? longest : t->sizes[0], 1, &to);
        if (st == CTSC_OK) st = tensor_copy(d, to, t);
        tensor_unref(row);
        tensor_unref(to);
    }
    if (st == CTSC_OK) return op_return_tensor(results, out);
    tensor_unref(out);
    return st;
}
