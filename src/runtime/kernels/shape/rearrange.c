/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rearrange.c - operators that copy elements to other places by a rule: flip, roll, repeat, diag,
 * ...
 *
 * Method: each describes source and destination as one geometry with two strides per dimension
 * (move.h) and lets move_copy do the work; a reversed dimension is a negative stride, a repeated
 * one a stride of 0.
 * Tests: tests/unit/test_shape.c
 */
#include "runtime/kernels/engine/move.h"

#include <stdlib.h>

/* Hands result over, or lets go of it. */
static ctsc_status rearrange_end(ctsc_status status, tensor *result, tensor **out) {
    if (status) tensor_unref(result);
    else *out = result;
    return status;
}

/* ---- flip and rot90 -------------------------------------------------------------------------- */

static ctsc_status rearrange_flip(op_ctx *cx, const tensor *t, const bool *flipped, tensor **out) {
    int64_t item = (int64_t)dtype_size((dtype)t->dtype), strides[TENSOR_MAX_DIMS];
    tensor *result;
    tensor_like_strides(t, strides);
    TRY(tensor_new_strided(cx->diag, tensor_device(t), (dtype)t->dtype, t->ndim, t->sizes, strides,
                           &result));
    move_geometry g = {0};
    const char *src = tensor_data(t);
    for (int i = 0; i < t->ndim && t->numel > 0; i++) {
        int64_t stride = t->strides[i] * item;
        if (flipped[i]) {
            src += (t->sizes[i] - 1) * stride;
            stride = -stride;
        }
        move_add_dim(&g, t->sizes[i], result->strides[i] * item, stride);
    }
    ctsc_status status = t->numel > 0 ? move_copy(cx->diag, result, &g, (size_t)item,
                                                  tensor_data(result), src)
                                      : CTSC_OK;
    return rearrange_end(status, result, out);
}

ctsc_status op_flip(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    const int64_t *dims;
    int n = arg_ints(&args[1], &dims);
    bool flipped[TENSOR_MAX_DIMS] = {false};
    for (int i = 0; i < n; i++) {
        int dim;
        TRY(tensor_wrap_dim(cx->diag, dims[i], t->ndim, &dim));
        if (flipped[dim])
            return diag_fail(cx->diag, CTSC_FAILED,
                             "dim %d appears multiple times in the list of dims", dim);
        flipped[dim] = true;
    }
    tensor *out;
    TRY(rearrange_flip(cx, t, flipped, &out));
    return op_finish(cx, args, out, results);
}

static ctsc_status rearrange_flip_one(op_ctx *cx, const value *args, int dim, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    bool flipped[TENSOR_MAX_DIMS] = {false};
    if (t->ndim <= dim) return diag_fail(cx->diag, CTSC_FAILED, "Input must be >= %d-d.", dim + 1);
    flipped[dim] = true;
    tensor *out;
    TRY(rearrange_flip(cx, t, flipped, &out));
    return op_return_tensor(results, out);
}

ctsc_status op_flipud(op_ctx *cx, const value *args, value *results) {
    return rearrange_flip_one(cx, args, 0, results);
}

ctsc_status op_fliplr(op_ctx *cx, const value *args, value *results) {
    return rearrange_flip_one(cx, args, 1, results);
}

static ctsc_status rearrange_check_rotation(op_ctx *cx, int ndim, int n, const int64_t *dims) {
    if (n != 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "expected total rotation dims == 2, but got dims = %d", n);
    if (ndim < 2)
        return diag_fail(cx->diag, CTSC_FAILED, "expected total dims >= 2, but got total dims = %d",
                         ndim);
    for (int i = 0; i < 2; i++) {
        /* Equal dims are refused first, but only in-range ones can be compared safely. */
        bool out = dims[i] < -ndim || dims[i] >= ndim;
        if (out && dims[0] != dims[1])
            return diag_fail(cx->diag, CTSC_FAILED, "Rotation dim%d out of range, dim%d = %" PRId64,
                             i, i, dims[i]);
    }
    if (dims[0] == dims[1] || llabs(dims[0] - dims[1]) == ndim)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "expected rotation dims to be different, but got dim0 = %" PRId64
                         " and dim1 = %" PRId64,
                         dims[0], dims[1]);
    return CTSC_OK;
}

ctsc_status op_rot90(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    const int64_t *dims;
    int n = arg_ints(&args[2], &dims), quarter = (int)(((arg_int(&args[1]) % 4) + 4) % 4);
    TRY(rearrange_check_rotation(cx, t->ndim, n, dims));
    bool flipped[TENSOR_MAX_DIMS] = {false};
    int a = (int)(dims[0] < 0 ? dims[0] + t->ndim : dims[0]);
    int b = (int)(dims[1] < 0 ? dims[1] + t->ndim : dims[1]);
    flipped[a] = quarter >= 2;
    flipped[b] = quarter == 1 || quarter == 2;
    tensor *out, *transposed;
    TRY(rearrange_flip(cx, t, flipped, &out));
    if (quarter % 2) {
        ctsc_status status = tensor_transpose(cx->diag, out, a, b, &transposed);
        tensor_unref(out);
        if (status) return status;
        out = transposed;
    }
    return op_finish(cx, args, out, results);
}

/* ---- roll ------------------------------------------------------------------------------------ */

static ctsc_status rearrange_roll(op_ctx *cx, const tensor *t, int dim, int64_t shift,
                                  tensor **out) {
    int64_t item = (int64_t)dtype_size((dtype)t->dtype), size = t->sizes[dim];
    tensor *result;
    TRY(tensor_new_like(cx->diag, t, (dtype)t->dtype, &result));
    int64_t first = ((shift % size) + size) % size; /* where element 0 goes */
    const int64_t lengths[] = {size - first, first}, from[] = {0, size - first};
    const int64_t to[] = {first, 0};
    ctsc_status status = CTSC_OK;
    for (int part = 0; part < 2 && !status; part++) {
        if (lengths[part] == 0) continue;
        move_geometry g = {0};
        for (int i = 0; i < t->ndim; i++)
            move_add_dim(&g, i == dim ? lengths[part] : t->sizes[i], result->strides[i] * item,
                         t->strides[i] * item);
        status = move_copy(cx->diag, result, &g, (size_t)item,
                           (char *)tensor_data(result) + to[part] * result->strides[dim] * item,
                           (const char *)tensor_data(t) + from[part] * t->strides[dim] * item);
    }
    return rearrange_end(status, result, out);
}

/* No dims: the elements in row-major order roll as one line. */
static ctsc_status rearrange_roll_flat(op_ctx *cx, const tensor *t, int64_t shift, tensor **out) {
    const int64_t whole = -1;
    tensor *line, *rolled;
    TRY(tensor_reshape(cx->diag, t, 1, &whole, &line));
    ctsc_status status = rearrange_roll(cx, line, 0, shift, &rolled);
    tensor_unref(line);
    if (status) return status;
    status = tensor_view(cx->diag, rolled, t->ndim, t->sizes, out);
    tensor_unref(rolled);
    return status;
}

ctsc_status op_roll(op_ctx *cx, const value *args, value *results) {
    tensor *t = arg_tensor(&args[0]), *out;
    const int64_t *shifts, *dims;
    int n = arg_ints(&args[1], &shifts), m = arg_ints(&args[2], &dims);
    if (n == 0) return diag_fail(cx->diag, CTSC_FAILED, "`shifts` required");
    bool flat = m == 0 && n == 1;
    if (n != m && !flat)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "shifts and dimensions must align. shifts: %d, dims:%d", n, m);
    if (t->numel == 0) {
        TRY(tensor_clone(cx->diag, t, &out));
        return op_finish(cx, args, out, results);
    }
    if (flat) {
        TRY(rearrange_roll_flat(cx, t, shifts[0], &out));
        return op_finish(cx, args, out, results);
    }
    tensor *now = tensor_ref(t);
    for (int i = 0; i < n; i++) {
        int dim;
        ctsc_status status = op_wrap_dim(cx, t, dims[i], &dim);
        if (!status) status = rearrange_roll(cx, now, dim, shifts[i], &out);
        tensor_unref(now);
        if (status) return status;
        now = out;
    }
    return op_finish(cx, args, now, results);
}

/* ---- repeat, tile, repeat_interleave --------------------------------------------------------- */

static ctsc_status rearrange_repeat(op_ctx *cx, const tensor *t, int n, const int64_t *repeats,
                                    tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS] = {0}, item = (int64_t)dtype_size((dtype)t->dtype);
    if (n < t->ndim)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Number of dimensions of repeat dims can not be smaller than number of "
                         "dimensions of tensor");
    if (n > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions, got %d",
                         TENSOR_MAX_DIMS, n);
    int lead = n - t->ndim, used = 0;
    for (int i = 0; i < n; i++) {
        int64_t size = i < lead ? 1 : t->sizes[i - lead];
        if (__builtin_mul_overflow(size, repeats[i], &sizes[i]))
            return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
        used += (repeats[i] != 1) + (size != 1);
    }
    if (used > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "repeat of more than %d dimensions",
                         TENSOR_MAX_DIMS / 2);
    tensor *result;
    TRY(tensor_new_on(cx->diag, tensor_device(t), (dtype)t->dtype, n, sizes, &result));
    move_geometry g = {0};
    for (int i = 0; i < n && result->numel > 0; i++) {
        int64_t size = i < lead ? 1 : t->sizes[i - lead];
        int64_t step = result->strides[i] * item;
        if (repeats[i] != 1) move_add_dim(&g, repeats[i], step * size, 0);
        if (size != 1) move_add_dim(&g, size, step, t->strides[i - lead] * item);
    }
    ctsc_status status = result->numel > 0 ? move_copy(cx->diag, result, &g, (size_t)item,
                                                       tensor_data(result), tensor_data(t))
                                           : CTSC_OK;
    return rearrange_end(status, result, out);
}

ctsc_status op_repeat(op_ctx *cx, const value *args, value *results) {
    const int64_t *repeats;
    int n = arg_ints(&args[1], &repeats);
    tensor *out;
    TRY(rearrange_repeat(cx, arg_tensor(&args[0]), n, repeats, &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_tile(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    const int64_t *given;
    int64_t repeats[TENSOR_MAX_DIMS];
    int n = arg_ints(&args[1], &given);
    tensor *out;
    if (n < t->ndim) {
        for (int i = 0; i < t->ndim; i++)
            repeats[i] = i < t->ndim - n ? 1 : given[i - (t->ndim - n)];
        given = repeats;
        n = t->ndim;
    }
    TRY(rearrange_repeat(cx, t, n, given, &out));
    return op_return_tensor(results, out);
}

/* 0 repeats[0] times, 1 repeats[1] times, ...: contiguous, of the dtype of repeats, on the
 * host as repeats. */
static ctsc_status rearrange_host_index(op_ctx *cx, tensor *repeats, const value *output_size,
                                        tensor **out) {
    if (repeats->ndim != 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "repeat_interleave only accept 1D vector as repeat");
    if (!dtype_is_int((dtype)repeats->dtype))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "\"repeat_interleave_cpu\" not implemented for '%s'",
                         dtype_table[repeats->dtype].ir_name);
    tensor *counts, *index;
    TRY(move_index_int64(cx, repeats, &counts));
    const int64_t *count = TENSOR_AT(counts, int64_t);
    int64_t total = 0;
    ctsc_status status = CTSC_OK;
    for (int64_t i = 0; !status && i < counts->numel; i++) {
        if (count[i] < 0) status = diag_fail(cx->diag, CTSC_FAILED, "repeats can not be negative");
        else if (__builtin_add_overflow(total, count[i], &total))
            status = diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
    }
    if (!status && output_size->tag != V_NONE && arg_int(output_size) != total)
        status = diag_fail(cx->diag, CTSC_FAILED, "allocated size does not match required size");
    if (!status) status = tensor_new(cx->diag, (dtype)repeats->dtype, 1, &total, &index);
    if (!status) {
        int64_t at = 0;
        for (int64_t i = 0; i < counts->numel; i++)
            for (int64_t k = 0; k < count[i]; k++, at++) {
                dtype_store_int(
                    (dtype)index->dtype,
                    (char *)tensor_data(index) + (size_t)at * dtype_size((dtype)index->dtype), i);
            }
        *out = index;
    }
    tensor_unref(counts);
    return status;
}

/* The same where repeats is: how many there are has to be known. */
static ctsc_status rearrange_interleave_index(op_ctx *cx, tensor *repeats, const value *output_size,
                                              tensor **out) {
    tensor *here, *index = NULL;
    TRY(tensor_to_device(cx->diag, repeats, DEVICE_HOST, &here));
    ctsc_status status = rearrange_host_index(cx, here, output_size, &index);
    tensor_unref(here);
    if (status) return status;
    status = tensor_to_device(cx->diag, index, tensor_device(repeats), out);
    tensor_unref(index);
    return status;
}

ctsc_status op_repeat_interleave(op_ctx *cx, const value *args, value *results) {
    tensor *repeats = arg_tensor(&args[0]), *out;
    TRY(rearrange_interleave_index(cx, repeats, &args[1], &out));
    return op_finish(cx, args, out, results);
}

/* Every element of a dimension `repeat` times. */
static ctsc_status rearrange_interleave_evenly(op_ctx *cx, const tensor *t, int dim, int64_t repeat,
                                               tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS] = {1}, item = (int64_t)dtype_size((dtype)t->dtype);
    int n = t->ndim ? t->ndim : 1;
    if (repeat < 0) return diag_fail(cx->diag, CTSC_FAILED, "repeats can not be negative");
    memcpy(sizes, t->sizes, t->ndim * sizeof *sizes);
    if (__builtin_mul_overflow(sizes[dim], repeat, &sizes[dim]))
        return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
    if (n == TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "repeat_interleave of %d dimensions", n);
    tensor *result;
    TRY(tensor_new_on(cx->diag, tensor_device(t), (dtype)t->dtype, n, sizes, &result));
    move_geometry g = {0};
    for (int i = 0; i < t->ndim && result->numel > 0; i++) {
        int64_t step = result->strides[i] * item;
        move_add_dim(&g, t->sizes[i], i == dim ? step * repeat : step, t->strides[i] * item);
        if (i == dim) move_add_dim(&g, repeat, step, 0);
    }
    if (t->ndim == 0) move_add_dim(&g, repeat, item, 0);
    ctsc_status status = result->numel > 0 ? move_copy(cx->diag, result, &g, (size_t)item,
                                                       tensor_data(result), tensor_data(t))
                                           : CTSC_OK;
    return rearrange_end(status, result, out);
}

/* self flattened unless dim is given. */
static ctsc_status rearrange_interleave_input(op_ctx *cx, const value *args, tensor **input,
                                              int *dim) {
    tensor *self = arg_tensor(&args[0]);
    if (args[2].tag != V_NONE) {
        TRY(op_wrap_dim(cx, self, arg_int(&args[2]), dim));
        *input = tensor_ref(self);
        return CTSC_OK;
    }
    *dim = 0;
    return tensor_reshape(cx->diag, self, 1, &self->numel, input);
}

static ctsc_status rearrange_check_output_size(op_ctx *cx, const value *wanted, int64_t size) {
    if (wanted->tag == V_NONE || arg_int(wanted) == size) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "allocated size does not match required size");
}

ctsc_status op_repeat_interleave_int(op_ctx *cx, const value *args, value *results) {
    tensor *input, *out = NULL;
    int dim;
    TRY(rearrange_interleave_input(cx, args, &input, &dim));
    ctsc_status status = rearrange_interleave_evenly(cx, input, dim, arg_int(&args[1]), &out);
    tensor_unref(input);
    if (!status) status = rearrange_check_output_size(cx, &args[3], out->sizes[dim]);
    if (!status) return op_return_tensor(results, out);
    tensor_unref(out);
    return status;
}

ctsc_status op_repeat_interleave_tensor(op_ctx *cx, const value *args, value *results) {
    tensor *repeats = arg_tensor(&args[1]), *input, *index, *out = NULL;
    int dim;
    if (repeats->ndim > 1)
        return diag_fail(cx->diag, CTSC_FAILED, "repeats must be 0-dim or 1-dim tensor");
    TRY(rearrange_interleave_input(cx, args, &input, &dim));
    int64_t length = input->ndim ? input->sizes[dim] : 1;
    bool one = repeats->ndim == 0 || repeats->sizes[0] == 1;
    ctsc_status status = CTSC_OK;
    if (one && dtype_is_int((dtype)repeats->dtype)) {
        int64_t times = 0;
        status = op_read_int(cx, repeats, &times);
        if (!status) status = rearrange_interleave_evenly(cx, input, dim, times, &out);
        if (!status) status = rearrange_check_output_size(cx, &args[3], out->sizes[dim]);
    } else if (!one && repeats->sizes[0] != length) {
        status = diag_fail(cx->diag, CTSC_FAILED,
                           "repeats must have the same size as input along dim");
    } else {
        tensor *narrow;
        status = rearrange_interleave_index(cx, repeats, &args[3], &narrow);
        if (!status) {
            status = tensor_to_dtype(cx->diag, narrow, DT_INT64, &index);
            tensor_unref(narrow);
        }
        if (!status) {
            value inner[] = {value_tensor_take(input), value_int(dim), value_tensor_take(index)};
            value picked = value_none();
            status = op_call(cx, "aten::index_select", 3, inner, &picked);
            out = status ? NULL : picked.u.tensor;
            tensor_unref(index);
        }
    }
    tensor_unref(input);
    if (!status) return op_return_tensor(results, out);
    tensor_unref(out);
    return status;
}

/* ---- diagonals ------------------------------------------------------------------------------- */

ctsc_status op_diagonal(op_ctx *cx, const value *args, value *results); /* view.c */

/* Zeros of the given shape whose diagonal is `line`. */
static ctsc_status rearrange_on_diagonal(op_ctx *cx, const tensor *line, int n,
                                         const int64_t *sizes, int64_t shift, int a, int b,
                                         tensor **out) {
    tensor *result;
    TRY(tensor_zeros_on(cx->diag, tensor_device(line), (dtype)line->dtype, n, sizes, &result));
    const value inner[] = {value_tensor_take(result), value_int(shift), value_int(a), value_int(b)};
    value view = value_none();
    ctsc_status status = op_diagonal(cx, inner, &view);
    if (!status) status = tensor_copy(cx->diag, view.u.tensor, line);
    value_unref(view);
    if (status) tensor_unref(result);
    else *out = result;
    return status;
}

/* length + |shift| */
static ctsc_status rearrange_diagonal_size(op_ctx *cx, int64_t length, int64_t shift,
                                           int64_t *out) {
    if (shift != INT64_MIN && !__builtin_add_overflow(length, llabs(shift), out)) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
}

static ctsc_status rearrange_diag(op_ctx *cx, tensor *t, int64_t shift, tensor **out) {
    if (t->ndim == 1) {
        int64_t n = 0;
        TRY(rearrange_diagonal_size(cx, t->sizes[0], shift, &n));
        const int64_t sizes[] = {n, n};
        return rearrange_on_diagonal(cx, t, 2, sizes, shift, 0, 1, out);
    }
    if (t->ndim != 2) return diag_fail(cx->diag, CTSC_FAILED, "matrix or a vector expected");
    if (shift > t->sizes[1] || shift < -t->sizes[0])
        return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
    const value inner[] = {value_tensor_take(t), value_int(shift), value_int(0), value_int(1)};
    value view = value_none();
    TRY(op_diagonal(cx, inner, &view));
    ctsc_status status = tensor_clone(cx->diag, view.u.tensor, out);
    value_unref(view);
    return status;
}

ctsc_status op_diag(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    TRY(rearrange_diag(cx, arg_tensor(&args[0]), arg_int(&args[1]), &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_diagflat(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    tensor *line, *out;
    TRY(tensor_reshape(cx->diag, t, 1, &t->numel, &line));
    ctsc_status status = rearrange_diag(cx, line, arg_int(&args[1]), &out);
    tensor_unref(line);
    return status ? status : op_finish(cx, args, out, results);
}

ctsc_status op_diag_embed(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int64_t sizes[TENSOR_MAX_DIMS], side = 0;
    int a, b, n = t->ndim + 1;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), n, &a));
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[3]), n, &b));
    if (a == b)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "diagonal dimensions cannot be identical %" PRId64 ", %" PRId64,
                         arg_int(&args[2]), arg_int(&args[3]));
    if (n > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions",
                         TENSOR_MAX_DIMS);
    TRY(rearrange_diagonal_size(cx, t->sizes[t->ndim - 1], arg_int(&args[1]), &side));
    for (int i = 0, from = 0; i < n; i++) sizes[i] = i == a || i == b ? side : t->sizes[from++];
    tensor *out;
    TRY(rearrange_on_diagonal(cx, t, n, sizes, arg_int(&args[1]), a, b, &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_trace(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    dtype dt = (dtype)t->dtype;
    bool whole = dtype_is_int(dt), pairs = dt == DT_COMPLEX64 || dt == DT_COMPLEX128;
    if (t->ndim != 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "trace: expected a matrix, but got tensor with dim %d", t->ndim);
    if (!whole && !pairs && !dtype_is_float(dt)) return op_refuse_dtype(cx, "trace", dt);
    int64_t n = t->sizes[0] < t->sizes[1] ? t->sizes[0] : t->sizes[1];
    int64_t step = (t->strides[0] + t->strides[1]) * (int64_t)dtype_size(dt);
    const char *at = tensor_data(t);
    dtype part = dt == DT_COMPLEX64 ? DT_FLOAT32 : dt == DT_COMPLEX128 ? DT_FLOAT64 : dt;
    uint64_t count = 0;
    double sum[2] = {0, 0};
    for (int64_t i = 0; !geometry_only() && i < n; i++, at += step) {
        if (whole) {
            count += (uint64_t)dtype_load_int(dt, at);
            continue;
        }
        sum[0] += dtype_load_float(part, at);
        if (pairs) sum[1] += dtype_load_float(part, at + dtype_size(part));
    }
    tensor *out;
    TRY(tensor_new(cx->diag, whole ? DT_INT64 : dt, 0, NULL, &out));
    char *to = tensor_data(out);
    if (whole) {
        dtype_store_int(DT_INT64, to, (int64_t)count);
    } else {
        dtype_store_float(part, to, sum[0]);
        if (pairs) dtype_store_float(part, to + dtype_size(part), sum[1]);
    }
    return op_finish(cx, args, out, results);
}
