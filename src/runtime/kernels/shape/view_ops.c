/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_ops.c - operators that show the same elements in another geometry: view, reshape, transpose,
 * slice, ...
 *
 * Method: each op_X here computes a view and returns it. The in-place forms (squeeze_, t_, ...)
 * exchange the geometry of self with that of the view; the ..._copy forms clone it (view_copy
 * never fails for strides: it is a reshape). Both are made from the plain form by VIEW_IN_PLACE
 * and VIEW_COPY.
 * Tests: tests/unit/test_shape.c
 */
#include "runtime/kernels/engine/move.h"
#include "tensor/conjugate.h"
#include "tensor/strides.h"

/* Like tensor_wrap_dim, for operators that refuse 0-dim tensors. */
/* view: where the call that gave the status put the tensor. */
static ctsc_status view_return(value *results, ctsc_status status, tensor *const *view) {
    return status ? status : op_return_tensor(results, *view);
}

/* ---- view and reshape ------------------------------------------------------------------------ */

ctsc_status op_view_alias(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    return view_return(results, tensor_alias(cx->diag, arg_tensor(&args[0]), &view), &view);
}

ctsc_status op_view(op_ctx *cx, const value *args, value *results) {
    const int64_t *sizes;
    int n = arg_ints(&args[1], &sizes);
    tensor *view;
    return view_return(results, tensor_view(cx->diag, arg_tensor(&args[0]), n, sizes, &view),
                       &view);
}

ctsc_status op_reshape(op_ctx *cx, const value *args, value *results) {
    const int64_t *sizes;
    int n = arg_ints(&args[1], &sizes);
    tensor *view;
    return view_return(results, tensor_reshape(cx->diag, arg_tensor(&args[0]), n, sizes, &view),
                       &view);
}

/* view_as, reshape_as: the sizes of a template. */
ctsc_status op_view_as(op_ctx *cx, const value *args, value *results) {
    const tensor *like = arg_tensor(&args[1]);
    tensor *view;
    return view_return(results,
                       tensor_view(cx->diag, arg_tensor(&args[0]), like->ndim, like->sizes, &view),
                       &view);
}

ctsc_status op_reshape_as(op_ctx *cx, const value *args, value *results) {
    const tensor *like = arg_tensor(&args[1]);
    tensor *view;
    return view_return(
        results, tensor_reshape(cx->diag, arg_tensor(&args[0]), like->ndim, like->sizes, &view),
        &view);
}

ctsc_status op_reshape_from_tensor(op_ctx *cx, const value *args, value *results) {
    tensor *shape, *view = NULL;
    if (arg_tensor(&args[1])->ndim != 1)
        return diag_fail(cx->diag, CTSC_FAILED, "shape must be a 1-D tensor");
    TRY(move_index_int64(cx, arg_tensor(&args[1]), &shape));
    ctsc_status status = tensor_reshape(cx->diag, arg_tensor(&args[0]), (int)shape->numel,
                                        TENSOR_AT(shape, int64_t), &view);
    tensor_unref(shape);
    return view_return(results, status, &view);
}

/* Sizes of a view of another element size: only the last dimension changes. */
static ctsc_status view_dtype_geometry(op_ctx *cx, const tensor *t, dtype dt, int64_t *sizes,
                                       int64_t *strides, int64_t *offset) {
    const char *from = dtype_table[t->dtype].ir_name, *to = dtype_table[dt].ir_name;
    int64_t old_size = (int64_t)dtype_size((dtype)t->dtype), new_size = (int64_t)dtype_size(dt);
    int last = t->ndim - 1;
    if (t->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "self.dim() cannot be 0 to view %s as %s (different element sizes)", from,
                         to);
    if (t->strides[last] != 1)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "self.stride(-1) must be 1 to view %s as %s (different element sizes), but "
            "got %" PRId64,
            from, to, t->strides[last]);
    if (new_size < old_size) {
        int64_t ratio = old_size / new_size;
        for (int i = 0; i < last; i++) strides[i] *= ratio;
        *offset *= ratio;
        if (!__builtin_mul_overflow(sizes[last], ratio, &sizes[last])) return CTSC_OK;
        return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
    }
    int64_t ratio = new_size / old_size;
    if (sizes[last] % ratio)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "self.size(-1) must be divisible by %" PRId64 " to view %s as %s "
                         "(different element sizes), but got %" PRId64,
                         ratio, from, to, sizes[last]);
    if (*offset % ratio)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "self.storage_offset() must be divisible by %" PRId64 " to view %s as %s "
                         "(different element sizes), but got %" PRId64,
                         ratio, from, to, *offset);
    for (int i = 0; i < last; i++) {
        if (strides[i] % ratio)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "self.stride(%d) must be divisible by %" PRId64 " to view %s as %s "
                             "(different element sizes), but got %" PRId64,
                             i, ratio, from, to, strides[i]);
        strides[i] /= ratio;
    }
    sizes[last] /= ratio;
    *offset /= ratio;
    return CTSC_OK;
}

ctsc_status op_view_dtype(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    dtype dt;
    TRY(arg_dtype(cx, &args[1], (dtype)t->dtype, &dt));
    if (tensor_is_lazy(t))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.Tensor.view is not supported for %s when converting to a different "
                         "dtype.",
                         t->conjugated ? "conjugate view tensors"
                                       : "tensors with negative bit set");
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS], offset = t->offset;
    memcpy(sizes, t->sizes, t->ndim * sizeof *sizes);
    memcpy(strides, t->strides, t->ndim * sizeof *strides);
    if (dtype_size(dt) != dtype_size((dtype)t->dtype))
        TRY(view_dtype_geometry(cx, t, dt, sizes, strides, &offset));
    tensor as = {.dtype = (uint8_t)dt, .storage = t->storage};
    tensor *view;
    return view_return(
        results, tensor_view_raw(cx->diag, &as, t->ndim, sizes, strides, offset, &view), &view);
}

ctsc_status op_flatten(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int start, end, n = 0;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), t->ndim, &start));
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), t->ndim, &end));
    if (start > end)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "flatten() has invalid args: start_dim cannot come after end_dim");
    if (t->ndim > 0 && start == end) return op_return_self(results, &args[0]);
    int64_t sizes[TENSOR_MAX_DIMS + 1], joined = 1;
    for (int i = 0; i < start; i++) sizes[n++] = t->sizes[i];
    for (int i = start; i <= end && i < t->ndim; i++) joined *= t->sizes[i];
    sizes[n++] = joined;
    for (int i = end + 1; i < t->ndim; i++) sizes[n++] = t->sizes[i];
    tensor *view;
    return view_return(results, tensor_reshape(cx->diag, t, n, sizes, &view), &view);
}

ctsc_status op_unflatten(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    const int64_t *inner;
    int dim, inferred = -1, count = arg_ints(&args[2], &inner), n = 0;
    TRY(op_wrap_dim(cx, t, arg_int(&args[1]), &dim));
    if (count == 0) return diag_fail(cx->diag, CTSC_FAILED, "unflatten: sizes must be non-empty");
    if (count + t->ndim - 1 > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions, got %d",
                         TENSOR_MAX_DIMS, count + t->ndim - 1);
    int64_t sizes[TENSOR_MAX_DIMS], known = 1;
    bool bad = false;
    for (int i = 0; i < dim; i++) sizes[n++] = t->sizes[i];
    for (int i = 0; i < count; i++) {
        if (inner[i] == -1 && inferred < 0) inferred = n;
        else bad |= inner[i] < 0 || __builtin_mul_overflow(known, inner[i], &known);
        sizes[n++] = inner[i];
    }
    for (int i = dim + 1; i < t->ndim; i++) sizes[n++] = t->sizes[i];
    if (inferred >= 0 && !bad && known > 0 && t->sizes[dim] % known == 0)
        sizes[inferred] = t->sizes[dim] / known;
    else if (bad || inferred >= 0 || known != t->sizes[dim]) {
        strbuf sb = STRBUF_INIT;
        tensor_print_sizes(count, inner, &sb);
        ctsc_status status = diag_fail(cx->diag, CTSC_FAILED,
                                       "unflatten: Provided sizes %s don't multiply up to the size "
                                       "of dim %d (%" PRId64 ") in the input tensor",
                                       sb_str(&sb), dim, t->sizes[dim]);
        sb_free(&sb);
        return status;
    }
    tensor *view;
    return view_return(results, tensor_view(cx->diag, t, n, sizes, &view), &view);
}

ctsc_status op_ravel(op_ctx *cx, const value *args, value *results) {
    tensor *rows, *view; /* a view of what is row-major alone, where reshape makes others, too */
    tensor *t = arg_tensor(&args[0]);
    if (tensor_is_contiguous(t)) rows = tensor_ref(t); /* lazily conjugated ones, too */
    else TRY(tensor_contiguous(cx->diag, t, &rows));
    ctsc_status status = tensor_reshape(cx->diag, rows, 1, &rows->numel, &view);
    tensor_unref(rows);
    return view_return(results, status, &view);
}

/* ---- dimensions come, go and move ------------------------------------------------------------ */

ctsc_status op_squeeze(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    return view_return(results, tensor_squeeze(cx->diag, arg_tensor(&args[0]), &view), &view);
}

ctsc_status op_squeeze_dim(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    return view_return(results,
                       tensor_squeeze_dim(cx->diag, arg_tensor(&args[0]), arg_int(&args[1]), &view),
                       &view);
}

ctsc_status op_squeeze_dims(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    const int64_t *dims;
    int n = arg_ints(&args[1], &dims);
    return view_return(results, tensor_squeeze_dims(cx->diag, arg_tensor(&args[0]), n, dims, &view),
                       &view);
}

ctsc_status op_unsqueeze(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    return view_return(
        results, tensor_unsqueeze(cx->diag, arg_tensor(&args[0]), arg_int(&args[1]), &view), &view);
}

ctsc_status op_transpose(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    return view_return(results,
                       tensor_transpose(cx->diag, arg_tensor(&args[0]), arg_int(&args[1]),
                                        arg_int(&args[2]), &view),
                       &view);
}

ctsc_status op_t(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    if (t->ndim > 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s() expects a tensor with <= 2 dimensions, but self is %dD",
                         move_in_place(cx) ? "t_" : "t", t->ndim);
    tensor *view;
    return view_return(results, tensor_transpose(cx->diag, t, 0, t->ndim < 2 ? 0 : 1, &view),
                       &view);
}

/* The last two dimensions exchanged; name: what the error calls it. */
static ctsc_status view_adjoint(op_ctx *cx, const value *args, const char *name, bool conjugate,
                                value *results) {
    const tensor *t = arg_tensor(&args[0]);
    if (t->ndim == 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "tensor.%s is only supported on matrices or batches of matrices. Got 1-D "
                         "tensor.",
                         name);
    tensor *view;
    if (t->ndim == 0) {
        TRY(tensor_alias(cx->diag, t, &view));
    } else {
        TRY(tensor_transpose(cx->diag, t, -2, -1, &view));
    }
    if (!conjugate || !dtype_is_complex((dtype)t->dtype)) return op_return_tensor(results, view);
    value swapped = value_tensor_take(view);
    ctsc_status status = op_call(cx, "aten::conj", 1, &swapped, results);
    value_unref(swapped);
    return status;
}

ctsc_status op_adjoint(op_ctx *cx, const value *args, value *results) {
    return view_adjoint(cx, args, "adjoint()", true, results);
}

ctsc_status op_mT(op_ctx *cx, const value *args, value *results) {
    return view_adjoint(cx, args, "mT", false, results);
}

ctsc_status op_mH(op_ctx *cx, const value *args, value *results) {
    return view_adjoint(cx, args, "mH", true, results);
}

ctsc_status op_matrix_H(op_ctx *cx, const value *args, value *results) {
    int n = arg_tensor(&args[0])->ndim;
    if (n != 0 && n != 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s",
                         n, n > 2 ? " For batches of matrices, consider using tensor.mH" : "");
    return view_adjoint(cx, args, "H", true, results);
}

ctsc_status op_numpy_T(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int64_t dims[TENSOR_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) dims[i] = t->ndim - 1 - i;
    tensor *view;
    return view_return(results, tensor_permute(cx->diag, t, t->ndim, dims, &view), &view);
}

ctsc_status op_permute(op_ctx *cx, const value *args, value *results) {
    const int64_t *dims;
    int n = arg_ints(&args[1], &dims);
    tensor *view;
    return view_return(results, tensor_permute(cx->diag, arg_tensor(&args[0]), n, dims, &view),
                       &view);
}

/* "[0, 1]" twice into a message. */
static ctsc_status view_fail_dims(op_ctx *cx, const char *fmt, int an, const int64_t *a, int bn,
                                  const int64_t *b) {
    strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    tensor_print_sizes(an, a, &first);
    tensor_print_sizes(bn, b, &second);
    strbuf text = STRBUF_INIT;
    for (const char *at = fmt; *at; at++) {
        if (*at == '1') sb_puts(&text, sb_str(&first));
        else if (*at == '2') sb_puts(&text, sb_str(&second));
        else sb_putc(&text, *at);
    }
    ctsc_status status = diag_fail(cx->diag, CTSC_FAILED, "%s", sb_str(&text));
    sb_free(&text);
    sb_free(&first);
    sb_free(&second);
    return status;
}

static ctsc_status view_movedim(op_ctx *cx, const tensor *t, int n, const int64_t *from, int m,
                                const int64_t *to, value *results) {
    if (n != m)
        return view_fail_dims(cx,
                              "movedim: Invalid source or destination dims: source (1 dims) should "
                              "contain the same number of dims as destination (2 dims)",
                              n, from, m, to);
    int64_t order[TENSOR_MAX_DIMS];
    bool taken[TENSOR_MAX_DIMS + 1] = {false}, placed[TENSOR_MAX_DIMS + 1] = {false};
    bool twice_from = false, twice_to = false;
    for (int i = 0; i < n; i++) {
        int a, b;
        TRY(tensor_wrap_dim(cx->diag, from[i], t->ndim, &a));
        TRY(tensor_wrap_dim(cx->diag, to[i], t->ndim, &b));
        twice_from |= taken[a];
        twice_to |= placed[b];
        taken[a] = placed[b] = true;
        order[b] = a;
    }
    if (twice_from)
        return view_fail_dims(cx, "movedim: repeated dim in `source` (1)", n, from, 0, NULL);
    if (twice_to)
        return view_fail_dims(cx, "movedim: repeated dim in `destination` (1)", m, to, 0, NULL);
    for (int at = 0, next = 0; at < t->ndim; at++) {
        if (placed[at]) continue;
        while (taken[next]) next++;
        order[at] = next++;
    }
    tensor *view;
    return view_return(results, tensor_permute(cx->diag, t, t->ndim, order, &view), &view);
}

ctsc_status op_movedim(op_ctx *cx, const value *args, value *results) {
    const int64_t *from, *to;
    int n = arg_ints(&args[1], &from), m = arg_ints(&args[2], &to);
    return view_movedim(cx, arg_tensor(&args[0]), n, from, m, to, results);
}

ctsc_status op_movedim_int(op_ctx *cx, const value *args, value *results) {
    int64_t from = arg_int(&args[1]), to = arg_int(&args[2]);
    return view_movedim(cx, arg_tensor(&args[0]), 1, &from, 1, &to, results);
}

/* ---- expand ---------------------------------------------------------------------------------- */

ctsc_status op_expand(op_ctx *cx, const value *args, value *results) {
    const int64_t *sizes;
    int n = arg_ints(&args[1], &sizes);
    tensor *view;
    return view_return(results, tensor_expand(cx->diag, arg_tensor(&args[0]), n, sizes, &view),
                       &view);
}

ctsc_status op_expand_as(op_ctx *cx, const value *args, value *results) {
    const tensor *like = arg_tensor(&args[1]);
    tensor *view;
    return view_return(
        results, tensor_expand(cx->diag, arg_tensor(&args[0]), like->ndim, like->sizes, &view),
        &view);
}

/* ---- parts of a dimension -------------------------------------------------------------------- */

ctsc_status op_select_int(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    return view_return(
        results,
        tensor_select(cx->diag, arg_tensor(&args[0]), arg_int(&args[1]), arg_int(&args[2]), &view),
        &view);
}

ctsc_status op_slice_tensor(op_ctx *cx, const value *args, value *results) {
    int64_t start = arg_int_or(&args[2], 0), end = arg_int_or(&args[3], INT64_MAX);
    tensor *view;
    return view_return(results,
                       tensor_slice(cx->diag, arg_tensor(&args[0]), arg_int(&args[1]), start, end,
                                    arg_int(&args[4]), &view),
                       &view);
}

/* A start beyond the end is refused as an index, or (narrow_copy) as a range. */
static ctsc_status view_narrow(op_ctx *cx, const tensor *t, int64_t dim, int64_t start,
                               int64_t length, bool may_start_beyond, tensor **out) {
    int k;
    if (t->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "narrow() cannot be applied to a 0-dim tensor.");
    TRY(tensor_wrap_dim(cx->diag, dim, t->ndim, &k));
    int64_t size = t->sizes[k], n = size > 0 ? size : 1;
    bool too_large = start >= n && start != size && !may_start_beyond;
    if (start < -n || too_large)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Dimension out of range (expected to be in range of [%" PRId64 ", %" PRId64
                         "], but got %" PRId64 ")",
                         -n, n - 1, start);
    if (start < 0) start += n;
    if (length < 0 || start < 0 || start > size || length > size - start)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "start (%" PRId64 ") + length (%" PRId64
                         ") exceeds dimension size (%" PRId64 ").",
                         start, length, size);
    return tensor_slice(cx->diag, t, k, start, start + length, 1, out);
}

ctsc_status op_narrow(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    return view_return(results,
                       view_narrow(cx, arg_tensor(&args[0]), arg_int(&args[1]), arg_int(&args[2]),
                                   arg_int(&args[3]), false, &view),
                       &view);
}

ctsc_status op_narrow_tensor(op_ctx *cx, const value *args, value *results) {
    tensor *start = arg_tensor(&args[2]), *view;
    int64_t first;
    if (start->ndim != 0 || !dtype_is_int((dtype)start->dtype))
        return diag_fail(cx->diag, CTSC_FAILED, "start must be an 0-dim integral Tensor.");
    TRY(op_read_int(cx, start, &first));
    return view_return(results,
                       view_narrow(cx, arg_tensor(&args[0]), arg_int(&args[1]), first,
                                   arg_int(&args[3]), false, &view),
                       &view);
}

ctsc_status op_narrow_copy(op_ctx *cx, const value *args, value *results) {
    tensor *view, *copy;
    TRY(view_narrow(cx, arg_tensor(&args[0]), arg_int(&args[1]), arg_int(&args[2]),
                    arg_int(&args[3]), true, &view));
    ctsc_status status = tensor_clone(cx->diag, view, &copy);
    tensor_unref(view);
    return status ? status : op_finish(cx, args, copy, results);
}

/* ---- geometry given by numbers --------------------------------------------------------------- */

ctsc_status op_as_strided(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    const int64_t *sizes, *strides;
    int n = arg_ints(&args[1], &sizes), m = arg_ints(&args[2], &strides);
    if (n != m) return diag_fail(cx->diag, CTSC_FAILED, "mismatch in length of strides and shape");
    tensor *view;
    return view_return(
        results,
        tensor_as_strided(cx->diag, t, n, sizes, strides, arg_int_or(&args[3], t->offset), &view),
        &view);
}

/* _reshape_alias: reshape, whose strides the caller worked out already. */
ctsc_status op_reshape_alias(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    const int64_t *sizes, *strides;
    int n = arg_ints(&args[1], &sizes), m = arg_ints(&args[2], &strides);
    if (n != m) return diag_fail(cx->diag, CTSC_FAILED, "mismatch in length of strides and shape");
    tensor *view;
    return view_return(results, tensor_as_strided(cx->diag, t, n, sizes, strides, t->offset, &view),
                       &view);
}

ctsc_status op_diagonal(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int64_t shift = arg_int(&args[1]);
    int a, b, n = 0;
    TRY(op_wrap_dim(cx, t, arg_int(&args[2]), &a));
    TRY(op_wrap_dim(cx, t, arg_int(&args[3]), &b));
    if (a == b)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "diagonal dimensions cannot be identical %" PRId64 ", %" PRId64,
                         arg_int(&args[2]), arg_int(&args[3]));
    int64_t rows = t->sizes[a], columns = t->sizes[b], offset = t->offset;
    /* Clamped: a shift past the matrix is as empty as any other. */
    if (shift > columns) shift = columns;
    if (shift < -rows) shift = -rows;
    if (shift >= 0) columns -= shift;
    else rows += shift;
    int64_t length = rows < columns ? rows : columns;
    if (length > 0) offset += shift >= 0 ? shift * t->strides[b] : -shift * t->strides[a];
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) {
        if (i == a || i == b) continue;
        sizes[n] = t->sizes[i];
        strides[n++] = t->strides[i];
    }
    sizes[n] = length;
    strides[n++] = t->strides[a] + t->strides[b];
    tensor *view;
    return view_return(results, tensor_view_raw(cx->diag, t, n, sizes, strides, offset, &view),
                       &view);
}

ctsc_status op_unfold(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int64_t size = arg_int(&args[2]), step = arg_int(&args[3]);
    int dim, n = t->ndim;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), n, &dim));
    int64_t length = n ? t->sizes[dim] : 1, stride = n ? t->strides[dim] : 1;
    if (size > length)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "maximum size for tensor at dimension %d is %" PRId64
                         " but size is %" PRId64,
                         dim, length, size);
    if (step <= 0)
        return diag_fail(cx->diag, CTSC_FAILED, "step is %" PRId64 " but must be > 0", step);
    if (n == TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions",
                         TENSOR_MAX_DIMS);
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    memcpy(sizes, t->sizes, n * sizeof *sizes);
    memcpy(strides, t->strides, n * sizeof *strides);
    if (n > 0) {
        sizes[dim] = (length - (size < -INT32_MAX ? -1 : size)) / step + 1;
        if (__builtin_mul_overflow(stride, step, &strides[dim])) strides[dim] = stride;
    }
    sizes[n] = size;
    strides[n] = stride;
    tensor *view;
    /* Checked against the storage only where the size makes no sense: otherwise it is inside t.
     */
    ctsc_status status =
        size < 0 ? tensor_as_strided(cx->diag, t, n + 1, sizes, strides, t->offset, &view)
                 : tensor_view_raw(cx->diag, t, n + 1, sizes, strides, t->offset, &view);
    return view_return(results, status, &view);
}

/* ---- complex numbers as pairs ---------------------------------------------------------------- */

ctsc_status op_view_as_real(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    dtype dt = (dtype)t->dtype;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    int n = t->ndim;
    if (!dtype_is_complex(dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "view_as_real is only supported for complex tensors");
    if (t->conjugated)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original.");
    if (n == TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions",
                         TENSOR_MAX_DIMS);
    for (int i = 0; i < n; i++) {
        sizes[i] = t->sizes[i];
        strides[i] = 2 * t->strides[i];
    }
    sizes[n] = 2;
    strides[n] = 1;
    tensor as = {.dtype = (uint8_t)dtype_part(dt), .negated = t->negated, .storage = t->storage};
    tensor *view;
    return view_return(results,
                       tensor_view_raw(cx->diag, &as, n + 1, sizes, strides, 2 * t->offset, &view),
                       &view);
}

ctsc_status op_view_as_complex(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int64_t strides[TENSOR_MAX_DIMS];
    int n = t->ndim - 1;
    dtype dt = t->dtype == DT_FLOAT64   ? DT_COMPLEX128
               : t->dtype == DT_FLOAT32 ? DT_COMPLEX64
                                        : DT_COMPLEX32;
    if (!dtype_is_float((dtype)t->dtype) || t->dtype == DT_BFLOAT16)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "view_as_complex is only supported for half, float and double tensors, but "
            "got a tensor of scalar type: %s",
            dtype_table[t->dtype].ir_name);
    if (n < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "Input tensor must have one or more dimensions");
    if (t->sizes[n] != 2)
        return diag_fail(cx->diag, CTSC_FAILED, "Tensor must have a last dimension of size 2");
    if (t->strides[n] != 1)
        return diag_fail(cx->diag, CTSC_FAILED, "Tensor must have a last dimension with stride 1");
    for (int i = 0; i < n; i++) {
        strides[i] = t->strides[i] / 2;
        if (t->strides[i] % 2)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "Tensor must have a stride divisible by 2 for all but last dimension");
    }
    if (t->offset % 2)
        return diag_fail(cx->diag, CTSC_FAILED, "Tensor must have a storage_offset divisible by 2");
    tensor as = {.dtype = (uint8_t)dt, .negated = t->negated, .storage = t->storage};
    tensor *view;
    return view_return(
        results, tensor_view_raw(cx->diag, &as, n, t->sizes, strides, t->offset / 2, &view), &view);
}

/* ---- in-place and copying forms -------------------------------------------------------------- */

static ctsc_status view_in_place(op_ctx *cx, op_fn plain, const value *args, value *results) {
    value view = value_none();
    TRY(plain(cx, args, &view));
    tensor_swap_geometry(arg_tensor(&args[0]), view.u.tensor);
    value_unref(view);
    return op_return_self(results, &args[0]);
}

#define VIEW_IN_PLACE(name, plain)                                                                 \
    ctsc_status name(op_ctx *cx, const value *args, value *results) {                              \
        return view_in_place(cx, plain, args, results);                                            \
    }
VIEW_IN_PLACE(op_squeeze_, op_squeeze)
VIEW_IN_PLACE(op_squeeze_dim_, op_squeeze_dim)
VIEW_IN_PLACE(op_squeeze_dims_, op_squeeze_dims)
VIEW_IN_PLACE(op_unsqueeze_, op_unsqueeze)
VIEW_IN_PLACE(op_transpose_, op_transpose)
VIEW_IN_PLACE(op_t_, op_t)
VIEW_IN_PLACE(op_as_strided_, op_as_strided)

static ctsc_status view_copy(op_ctx *cx, op_fn plain, const value *args, value *results) {
    value view = value_none();
    tensor *copy;
    TRY(plain(cx, args, &view));
    ctsc_status status = tensor_clone(cx->diag, view.u.tensor, &copy);
    value_unref(view);
    return status ? status : op_finish(cx, args, copy, results);
}

#define VIEW_COPY(name, plain)                                                                     \
    ctsc_status name(op_ctx *cx, const value *args, value *results) {                              \
        return view_copy(cx, plain, args, results);                                                \
    }
VIEW_COPY(op_alias_copy, op_view_alias)
VIEW_COPY(op_view_copy, op_reshape)
VIEW_COPY(op_reshape_copy, op_reshape)
VIEW_COPY(op_flatten_copy, op_flatten)
VIEW_COPY(op_view_dtype_copy, op_view_dtype)
VIEW_COPY(op_reshape_alias_copy, op_reshape_alias)
VIEW_COPY(op_squeeze_copy, op_squeeze)
VIEW_COPY(op_squeeze_dim_copy, op_squeeze_dim)
VIEW_COPY(op_unsqueeze_copy, op_unsqueeze)
VIEW_COPY(op_transpose_copy, op_transpose)
VIEW_COPY(op_t_copy, op_t)
VIEW_COPY(op_permute_copy, op_permute)
VIEW_COPY(op_expand_copy, op_expand)
VIEW_COPY(op_expand_as_copy, op_expand_as)
VIEW_COPY(op_select_copy, op_select_int)
VIEW_COPY(op_slice_copy, op_slice_tensor)
VIEW_COPY(op_as_strided_copy, op_as_strided)
VIEW_COPY(op_diagonal_copy, op_diagonal)
VIEW_COPY(op_unfold_copy, op_unfold)
VIEW_COPY(op_view_as_real_copy, op_view_as_real)
VIEW_COPY(op_view_as_complex_copy, op_view_as_complex)

/* ---- writing into a view: select_scatter and the like ---------------------------------------- */

/* PyTorch copies all of self's memory: gaps stay gaps, and as_strided counts
 * from its start. Where neither is observable, only self is copied. */
static ctsc_status view_clone_whole(op_ctx *cx, const tensor *self, bool counts, tensor **out) {
    bool seen = !tensor_is_dense(self) || (counts && self->offset);
    if (!seen || !self->numel || tensor_may_overlap(self) || tensor_is_lazy(self) ||
        tensor_device(self) != DEVICE_HOST)
        return tensor_clone_like(cx->diag, self, out);
    size_t item = dtype_size((dtype)self->dtype), n = self->storage->nbytes / item;
    tensor *all;
    TRY(tensor_new(cx->diag, (dtype)self->dtype, 1, (int64_t[]){(int64_t)n}, &all));
    memcpy(tensor_data(all), self->storage->data, n * item);
    ctsc_status s = tensor_view_raw(cx->diag, all, self->ndim, self->sizes, self->strides,
                                    self->offset, out);
    tensor_unref(all);
    return s;
}

/* self with src in the place of a view of it. args: self, src, then the view's own arguments. */
static ctsc_status view_scatter(op_ctx *cx, op_fn plain, int extra, const value *args,
                                value *results) {
    const tensor *src = arg_tensor(&args[1]);
    tensor *copy;
    TRY(view_clone_whole(cx, arg_tensor(&args[0]), plain == op_as_strided, &copy));
    value inner[6] = {value_tensor_take(copy)}, part = value_none();
    for (int i = 0; i < extra; i++) inner[1 + i] = args[2 + i];
    ctsc_status status = plain(cx, inner, &part);
    if (!status && !tensor_same_shape(part.u.tensor, src)) {
        strbuf sb = STRBUF_INIT;
        tensor_print_sizes(src->ndim, src->sizes, &sb);
        sb_puts(&sb, ", slice size = ");
        tensor_print_sizes(part.u.tensor->ndim, part.u.tensor->sizes, &sb);
        status = diag_fail(cx->diag, CTSC_FAILED,
                           "expected src to have a size equal to the slice of self. src size = %s",
                           sb_str(&sb));
        sb_free(&sb);
    }
    if (!status) status = tensor_copy(cx->diag, part.u.tensor, src);
    value_unref(part);
    if (!status) return op_finish(cx, args, copy, results);
    tensor_unref(copy);
    return status;
}

#define VIEW_SCATTER(name, plain, extra)                                                           \
    ctsc_status name(op_ctx *cx, const value *args, value *results) {                              \
        return view_scatter(cx, plain, extra, args, results);                                      \
    }
VIEW_SCATTER(op_select_scatter, op_select_int, 2)
VIEW_SCATTER(op_slice_scatter, op_slice_tensor, 4)
VIEW_SCATTER(op_diagonal_scatter, op_diagonal, 3)
VIEW_SCATTER(op_as_strided_scatter, op_as_strided, 3)
