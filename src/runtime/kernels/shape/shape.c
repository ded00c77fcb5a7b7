/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape.c - operators that ask for a tensor's geometry, change it in place, or split a tensor into
 * views.
 *
 * Tests: tests/unit/test_shape.c
 */
#include "runtime/kernels/engine/move.h"

#include <stdio.h>

/* ---- asking ---------------------------------------------------------------------------------- */

ctsc_status op_size(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    return move_return_ints(cx, t->ndim, t->sizes, results);
}

ctsc_status op_stride(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    return move_return_ints(cx, t->ndim, t->strides, results);
}

ctsc_status op_size_int(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int dim;
    TRY(op_wrap_dim(cx, t, arg_int(&args[1]), &dim));
    return op_return(results, value_int(t->sizes[dim]));
}

ctsc_status op_stride_int(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int dim;
    TRY(op_wrap_dim(cx, t, arg_int(&args[1]), &dim));
    return op_return(results, value_int(t->strides[dim]));
}

ctsc_status op_storage_offset(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_int(arg_tensor(&args[0])->offset));
}

ctsc_status op_is_contiguous(op_ctx *cx, const value *args, value *results) {
    memory_format format = FORMAT_CONTIGUOUS;
    if (cx->op->schema->nargs > 1) format = arg_format(&args[1], FORMAT_CONTIGUOUS);
    return op_return(results, value_bool(tensor_is_in_format(arg_tensor(&args[0]), format)));
}

ctsc_status op_same_size(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results,
                     value_bool(tensor_same_shape(arg_tensor(&args[0]), arg_tensor(&args[1]))));
}

ctsc_status op_is_set_to(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    const tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]);
    bool same = a->storage == b->storage && a->offset == b->offset && tensor_same_shape(a, b);
    for (int i = 0; same && i < a->ndim; i++) same = a->strides[i] == b->strides[i];
    return op_return(results, value_bool(same));
}

ctsc_status op_has_same_storage_numel(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    const tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]);
    return op_return(results, value_bool(a->storage->nbytes / dtype_size((dtype)a->dtype) ==
                                         b->storage->nbytes / dtype_size((dtype)b->dtype)));
}

ctsc_status op_sizes_tensor(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    const int64_t n = t->ndim;
    tensor *shape;
    TRY(tensor_new(cx->diag, DT_INT64, 1, &n, &shape));
    if (n) memcpy(tensor_data(shape), t->sizes, (size_t)n * sizeof *t->sizes);
    return op_return_tensor(results, shape);
}

ctsc_status op_infer_size(op_ctx *cx, const value *args, value *results) {
    const int64_t *a, *b;
    int an = arg_ints(&args[0], &a), bn = arg_ints(&args[1], &b), n;
    int64_t sizes[TENSOR_MAX_DIMS];
    if (an > TENSOR_MAX_DIMS || bn > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions",
                         TENSOR_MAX_DIMS);
    TRY(broadcast_sizes(cx->diag, an, a, bn, b, &n, sizes));
    return move_return_ints(cx, n, sizes, results);
}

/* ---- resize_ and set_ ------------------------------------------------------------------------ */

static ctsc_status shape_resize(op_ctx *cx, const value *args, int n, const int64_t *sizes,
                                value *results) {
    tensor *target;
    if (op_target(cx, args, NULL) == arg_tensor(&args[0])) {
        TRY(tensor_resize(cx->diag, arg_tensor(&args[0]), n, sizes));
        return op_return_self(results, &args[0]);
    }
    TRY(tensor_clone(cx->diag, arg_tensor(&args[0]), &target));
    ctsc_status status = tensor_resize(cx->diag, target, n, sizes);
    if (!status) return op_finish(cx, args, target, results);
    tensor_unref(target);
    return status;
}

ctsc_status op_resize(op_ctx *cx, const value *args, value *results) {
    const int64_t *sizes;
    int n = arg_ints(&args[1], &sizes);
    return shape_resize(cx, args, n, sizes, results);
}

ctsc_status op_resize_as(op_ctx *cx, const value *args, value *results) {
    const tensor *like = arg_tensor(&args[1]);
    return shape_resize(cx, args, like->ndim, like->sizes, results);
}

/* Gives self (or the result) the geometry and storage of `as`. Takes as. */
static ctsc_status shape_become(op_ctx *cx, const value *args, tensor *as, value *results) {
    if (op_target(cx, args, NULL) != arg_tensor(&args[0])) return op_finish(cx, args, as, results);
    tensor *self = arg_tensor(&args[0]);
    if (self->dtype != as->dtype) {
        ctsc_status status = diag_fail(
            cx->diag, CTSC_FAILED, "Could not set tensor of type %s to a tensor of type %s",
            dtype_table[as->dtype].ir_name, dtype_table[self->dtype].ir_name);
        tensor_unref(as);
        return status;
    }
    tensor_swap_geometry(self, as);
    tensor_unref(as);
    return op_return_self(results, &args[0]);
}

ctsc_status op_set_empty(op_ctx *cx, const value *args, value *results) {
    const int64_t none = 0;
    tensor *empty;
    TRY(tensor_new(cx->diag, (dtype)arg_tensor(&args[0])->dtype, 1, &none, &empty));
    return shape_become(cx, args, empty, results);
}

ctsc_status op_set_tensor(op_ctx *cx, const value *args, value *results) {
    tensor *view;
    TRY(tensor_alias(cx->diag, arg_tensor(&args[1]), &view));
    return shape_become(cx, args, view, results);
}

ctsc_status op_set_tensor_geometry(op_ctx *cx, const value *args, value *results) {
    const int64_t *sizes, *strides;
    int64_t dense[TENSOR_MAX_DIMS], step = 1;
    int n = arg_ints(&args[3], &sizes), m = arg_ints(&args[4], &strides);
    if (m > 0 && n != m)
        return diag_fail(cx->diag, CTSC_FAILED, "mismatch in length of strides and shape");
    if (n > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions",
                         TENSOR_MAX_DIMS);
    for (int i = n - 1; i >= 0 && m == 0; i--) {
        dense[i] = step;
        if (__builtin_mul_overflow(step, sizes[i] > 1 ? sizes[i] : 1, &step))
            return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
    }
    tensor *view;
    TRY(tensor_as_strided(cx->diag, arg_tensor(&args[1]), n, sizes, m ? strides : dense,
                          arg_int(&args[2]), &view));
    return shape_become(cx, args, view, results);
}

/* More chunks than this are an attack, not a program. */
enum { SHAPE_MAX_PIECES = 1 << 24 };

/* ---- splitting ------------------------------------------------------------------------------- */

/* A list under construction with the tensor it takes slices of. */
typedef struct shape_chunks {
    op_ctx *cx;
    const tensor *t;
    int dim;
    bool copy; /* the chunks are clones */
    list *l;
} shape_chunks;

/* Are the results of this overload copies (split_copy, unbind_copy)? */
static bool shape_chunks_copied(const op_ctx *cx) {
    const char *name = cx->op->schema->name;
    size_t n = strlen(name), end = sizeof "_copy" - 1;
    return n > end && !strcmp(name + n - end, "_copy");
}

static ctsc_status shape_chunks_add(shape_chunks *p, tensor *chunk) { /* takes chunk */
    if (p->copy) {
        tensor *copy;
        ctsc_status status = tensor_clone(p->cx->diag, chunk, &copy);
        tensor_unref(chunk);
        if (status) return status;
        chunk = copy;
    }
    return move_list_add(p->cx, p->l, chunk);
}

/* A view takes about as long as a step. Empty tensors can be cut into any number of them. */
static ctsc_status shape_chunks_slice(shape_chunks *p, int64_t start, int64_t end) {
    tensor *chunk;
    TRY(op_charge(p->cx, LIMITS_ITERATIONS));
    TRY(tensor_slice(p->cx->diag, p->t, p->dim, start, end, 1, &chunk));
    return shape_chunks_add(p, chunk);
}

/* Out forms copy into the tensors given; the others return the list. */
static ctsc_status shape_chunks_finish(shape_chunks *p, ctsc_status status, const value *args,
                                       value *results) {
    value made = value_list_take(p->l);
    const schema *s = p->cx->op->schema;
    if (!status && s->nreturns > 0) return op_return(results, made);
    if (!status) {
        const value *out = &args[s->nargs - 1];
        if (out->u.list->len != p->l->len)
            status = diag_fail(p->cx->diag, CTSC_FAILED,
                               "%s(): expected an out= list of %zu tensors, got %zu", s->name,
                               p->l->len, out->u.list->len);
        for (size_t i = 0; !status && i < p->l->len; i++) {
            tensor *to = arg_list_tensor(out, i), *from = p->l->u.tensors[i];
            if (!tensor_same_shape(to, from))
                status = tensor_resize(p->cx->diag, to, from->ndim, from->sizes);
            if (!status) status = tensor_make_writable(p->cx->diag, to);
            if (!status) status = tensor_copy(p->cx->diag, to, from);
        }
    }
    value_unref(made);
    return status;
}

static ctsc_status shape_chunks_begin(op_ctx *cx, const value *args, int64_t dim, size_t reserve,
                                      shape_chunks *p) {
    *p = (shape_chunks){.cx = cx, .t = arg_tensor(&args[0]), .copy = shape_chunks_copied(cx)};
    TRY(op_wrap_dim(cx, p->t, dim, &p->dim));
    if (reserve > SHAPE_MAX_PIECES)
        return diag_fail(cx->diag, CTSC_LIMIT, "cannot split a tensor into %zu pieces", reserve);
    return move_list_new(cx, reserve, &p->l);
}

static ctsc_status shape_split_evenly(op_ctx *cx, const value *args, int64_t size, int64_t dim,
                                      value *results) {
    shape_chunks p;
    const tensor *t = arg_tensor(&args[0]);
    if (t->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "split expects at least a 1-dimensional tensor");
    if (size < 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "split expects split_size be non-negative, but got split_size=%" PRId64,
                         size);
    TRY(shape_chunks_begin(cx, args, dim, 4, &p));
    int64_t length = t->sizes[p.dim], start = 0;
    ctsc_status status = CTSC_OK;
    if (size == 0 && length != 0)
        status = diag_fail(
            cx->diag, CTSC_FAILED,
            "split_size can only be 0 if dimension size is 0, but got dimension size "
            "of %" PRId64,
            length);
    do {
        int64_t end = size < length - start ? start + size : length;
        if (!status) status = shape_chunks_slice(&p, start, end);
        start = end;
    } while (!status && start < length);
    return shape_chunks_finish(&p, status, args, results);
}

ctsc_status op_split_tensor(op_ctx *cx, const value *args, value *results) {
    return shape_split_evenly(cx, args, arg_int(&args[1]), arg_int(&args[2]), results);
}

static ctsc_status shape_fail_split_sizes(op_ctx *cx, const char *before, int n,
                                          const int64_t *sizes) {
    strbuf sb = STRBUF_INIT;
    tensor_print_sizes(n, sizes, &sb);
    ctsc_status status = diag_fail(cx->diag, CTSC_FAILED,
                                   "split_with_sizes expects split_sizes %s, "
                                   "but got split_sizes=%s",
                                   before, sb_str(&sb));
    sb_free(&sb);
    return status;
}

ctsc_status op_split_with_sizes(op_ctx *cx, const value *args, value *results) {
    shape_chunks p;
    const int64_t *sizes;
    int n = arg_ints(&args[1], &sizes);
    if (arg_tensor(&args[0])->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "split expects at least a 1-dimensional tensor");
    TRY(shape_chunks_begin(cx, args, arg_int(&args[2]), (size_t)n, &p));
    int64_t length = p.t->sizes[p.dim], sum = 0;
    ctsc_status status = CTSC_OK;
    for (int i = 0; !status && i < n; i++) {
        if (sizes[i] < 0)
            status = shape_fail_split_sizes(cx, "have only non-negative entries", n, sizes);
        else if (sum <= length && sizes[i] <= length - sum) sum += sizes[i];
        else sum = length + 1; /* too much, whatever follows */
    }
    if (!status && sum != length) {
        char text[128];
        snprintf(text, sizeof text,
                 "to sum exactly to %" PRId64 " (input tensor's size at dimension %" PRId64 ")",
                 length, arg_int(&args[2]));
        status = shape_fail_split_sizes(cx, text, n, sizes);
    }
    for (int64_t i = 0, start = 0; !status && i < n; i++) {
        status = shape_chunks_slice(&p, start, start + sizes[i]);
        start += sizes[i];
    }
    return shape_chunks_finish(&p, status, args, results);
}

ctsc_status op_chunk(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int64_t chunks = arg_int(&args[1]);
    int dim;
    if (t->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "chunk expects at least a 1-dimensional tensor");
    if (chunks <= 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "chunk expects `chunks` to be greater than 0, got: %" PRId64, chunks);
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), t->ndim, &dim));
    int64_t length = t->sizes[dim];
    if (length > 0)
        return shape_split_evenly(cx, args, length / chunks + (length % chunks != 0), dim, results);
    shape_chunks p;
    TRY(shape_chunks_begin(cx, args, dim, (size_t)chunks, &p));
    ctsc_status status = CTSC_OK;
    for (int64_t i = 0; !status && i < chunks; i++) status = shape_chunks_slice(&p, 0, 0);
    return shape_chunks_finish(&p, status, args, results);
}

static ctsc_status shape_split_sections(op_ctx *cx, const value *args, int64_t sections,
                                        int64_t dim, value *results) {
    shape_chunks p;
    if (sections <= 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "number of sections must be larger than 0, got %" PRId64, sections);
    TRY(shape_chunks_begin(cx, args, dim, (size_t)sections, &p));
    int64_t length = p.t->sizes[p.dim], start = 0;
    ctsc_status status = CTSC_OK;
    for (int64_t i = 0; !status && i < sections; i++) {
        int64_t end = start + length / sections + (i < length % sections);
        status = shape_chunks_slice(&p, start, end);
        start = end;
    }
    return shape_chunks_finish(&p, status, args, results);
}

static ctsc_status shape_split_indices(op_ctx *cx, const value *args, int64_t n,
                                       const int64_t *indices, int64_t dim, value *results) {
    shape_chunks p;
    TRY(shape_chunks_begin(cx, args, dim, (size_t)n + 1, &p));
    ctsc_status status = CTSC_OK;
    int64_t start = 0;
    for (int64_t i = 0; !status && i <= n; i++) {
        int64_t end = i < n ? indices[i] : p.t->sizes[p.dim];
        status = shape_chunks_slice(&p, start, end);
        start = end;
    }
    return shape_chunks_finish(&p, status, args, results);
}

static ctsc_status shape_refuse_scalar(op_ctx *cx, const value *args) {
    if (arg_tensor(&args[0])->ndim > 0) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "tensor_split expected at least a 1-dimensional tensor, but got a tensor with "
                     "0 dims");
}

ctsc_status op_tensor_split_sections(op_ctx *cx, const value *args, value *results) {
    TRY(shape_refuse_scalar(cx, args));
    return shape_split_sections(cx, args, arg_int(&args[1]), arg_int(&args[2]), results);
}

ctsc_status op_tensor_split_indices(op_ctx *cx, const value *args, value *results) {
    const int64_t *indices;
    int n = arg_ints(&args[1], &indices);
    TRY(shape_refuse_scalar(cx, args));
    return shape_split_indices(cx, args, n, indices, arg_int(&args[2]), results);
}

ctsc_status op_tensor_split_tensor(op_ctx *cx, const value *args, value *results) {
    tensor *by = arg_tensor(&args[1]), *here, *indices;
    TRY(shape_refuse_scalar(cx, args));
    if (by->dtype != DT_INT64)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "tensor_split expected tensor_indices_or_sections to have dtype of long, "
                         "but got %s",
                         dtype_table[by->dtype].ir_name);
    if (by->ndim > 1)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional "
            "or one-dimensional tensor, but got a tensor with %d dims",
            by->ndim);
    if (by->ndim == 0) {
        int64_t sections;
        TRY(op_read_int(cx, by, &sections));
        return shape_split_sections(cx, args, sections, arg_int(&args[2]), results);
    }
    TRY(tensor_to_device(cx->diag, by, DEVICE_HOST, &here));
    ctsc_status status = tensor_contiguous(cx->diag, here, &indices);
    tensor_unref(here);
    if (status) return status;
    status = shape_split_indices(cx, args, indices->numel, TENSOR_AT(indices, int64_t),
                                 arg_int(&args[2]), results);
    tensor_unref(indices);
    return status;
}

/* hsplit, vsplit, dsplit: `name` needs at least `least` dimensions; indices, or that many equal
 * parts. */
static ctsc_status shape_split_along(op_ctx *cx, const value *args, const char *name, int least,
                                     int dim, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    if (t->ndim < least)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.%s requires a tensor with at least %d dimension, but got a tensor "
                         "with %d dimensions!",
                         name, least, t->ndim);
    if (args[1].tag == V_LIST) {
        const int64_t *indices;
        int n = arg_ints(&args[1], &indices);
        return shape_split_indices(cx, args, n, indices, dim, results);
    }
    int64_t parts = arg_int(&args[1]);
    if (parts == 0 || t->sizes[dim] % parts != 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.%s attempted to split along dimension %d, but the size of the "
                         "dimension %" PRId64 " is not divisible by the split_size %" PRId64 "!",
                         name, dim, t->sizes[dim], parts);
    return shape_split_sections(cx, args, parts, dim, results);
}

ctsc_status op_hsplit(op_ctx *cx, const value *args, value *results) {
    return shape_split_along(cx, args, "hsplit", 1, arg_tensor(&args[0])->ndim == 1 ? 0 : 1,
                             results);
}

ctsc_status op_vsplit(op_ctx *cx, const value *args, value *results) {
    return shape_split_along(cx, args, "vsplit", 2, 0, results);
}

ctsc_status op_dsplit(op_ctx *cx, const value *args, value *results) {
    return shape_split_along(cx, args, "dsplit", 3, 2, results);
}

ctsc_status op_unbind(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    shape_chunks p;
    int dim;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), t->ndim, &dim));
    TRY(shape_chunks_begin(cx, args, dim, t->ndim ? (size_t)t->sizes[dim] : 0, &p));
    ctsc_status status = CTSC_OK;
    for (int64_t i = 0; !status && i < p.t->sizes[p.dim]; i++) {
        tensor *chunk;
        status = tensor_select(cx->diag, p.t, p.dim, i, &chunk);
        if (!status) status = shape_chunks_add(&p, chunk);
    }
    return shape_chunks_finish(&p, status, args, results);
}

/* ---- lists of views -------------------------------------------------------------------------- */

/* At least `least` dimensions, placed as atleast_1d, _2d and _3d do. */
static ctsc_status shape_at_least(op_ctx *cx, tensor *t, int least, tensor **out) {
    if (t->ndim >= least) {
        *out = tensor_ref(t);
        return CTSC_OK;
    }
    static const int64_t ones[] = {1, 1, 1};
    if (t->ndim == 0) return tensor_reshape(cx->diag, t, least, ones, out);
    if (t->ndim == 2) return tensor_unsqueeze(cx->diag, t, 2, out);
    tensor *row;
    TRY(tensor_unsqueeze(cx->diag, t, 0, &row));
    if (least == 2) {
        *out = row;
        return CTSC_OK;
    }
    ctsc_status status = tensor_unsqueeze(cx->diag, row, 2, out);
    tensor_unref(row);
    return status;
}

static ctsc_status shape_at_least_op(op_ctx *cx, const value *args, int least, value *results) {
    tensor *t;
    if (args[0].tag == V_TENSOR) {
        TRY(shape_at_least(cx, arg_tensor(&args[0]), least, &t));
        return op_return_tensor(results, t);
    }
    list *l;
    TRY(move_list_new(cx, args[0].u.list->len, &l));
    ctsc_status status = CTSC_OK;
    for (size_t i = 0; !status && i < args[0].u.list->len; i++) {
        status = shape_at_least(cx, arg_list_tensor(&args[0], i), least, &t);
        if (!status) status = move_list_add(cx, l, t);
    }
    if (!status) return op_return(results, value_list_take(l));
    value_unref(value_list_take(l));
    return status;
}

ctsc_status op_atleast_1d(op_ctx *cx, const value *args, value *results) {
    return shape_at_least_op(cx, args, 1, results);
}

ctsc_status op_atleast_2d(op_ctx *cx, const value *args, value *results) {
    return shape_at_least_op(cx, args, 2, results);
}

ctsc_status op_atleast_3d(op_ctx *cx, const value *args, value *results) {
    return shape_at_least_op(cx, args, 3, results);
}

ctsc_status op_broadcast_tensors(op_ctx *cx, const value *args, value *results) {
    size_t n = args[0].u.list->len;
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = 0;
    for (size_t i = 0; i < n; i++) {
        const tensor *t = arg_list_tensor(&args[0], i);
        TRY(broadcast_sizes(cx->diag, ndim, sizes, t->ndim, t->sizes, &ndim, sizes));
    }
    list *l;
    TRY(move_list_new(cx, n, &l));
    ctsc_status status = CTSC_OK;
    for (size_t i = 0; !status && i < n; i++) {
        tensor *view;
        status = tensor_expand(cx->diag, arg_list_tensor(&args[0], i), ndim, sizes, &view);
        if (!status) status = move_list_add(cx, l, view);
    }
    if (!status) return op_return(results, value_list_take(l));
    value_unref(value_list_take(l));
    return status;
}
