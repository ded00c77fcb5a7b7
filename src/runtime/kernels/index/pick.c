/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pick.c - operators that index along one dimension with a vector: index_select, index_add,
 * index_copy, index_fill and index_reduce.
 *
 * Method: the checks of each operator, then a plan of index.c.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/index/index.h"
#include "runtime/kernels/pointwise/pointwise.h"

/* self or, of a 0-dim tensor, a view with one dimension. */
static ctsc_status pick_at_least_1d(op_ctx *cx, tensor *t, tensor **out) {
    if (t->ndim == 0) return tensor_unsqueeze(cx->diag, t, 0, out);
    *out = tensor_ref(t);
    return CTSC_OK;
}

/* ---- index_select ---------------------------------------------------------------------------- */

ctsc_status op_index_select(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *given = arg_tensor(&args[2]), *index, *base, *out = NULL;
    int dim;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), self->ndim, &dim));
    if (given->ndim > 1)
        return diag_fail(cx->diag, CTSC_FAILED, "index_select(): Index is supposed to be a vector");
    if (given->dtype != DT_INT64 && given->dtype != DT_INT32)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_select(): Expected dtype int32 or int64 for index");
    int64_t size = self->ndim ? self->sizes[dim] : 1;
    if (size == 0 && given->numel > 0 && self->ndim > 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_select(): self indexing axis dim should be positive");
    TRY(move_index_int64(cx, given, &index));
    ctsc_status status = CTSC_OK;
    int64_t bad = index_find_outside(index, size, false);
    if (bad < index->numel && self->ndim > 1 && (dim == 1 || self->numel == 0))
        status = diag_fail(cx->diag, CTSC_FAILED,
                           "INDICES element is out of DATA bounds, id=%" PRId64
                           " axis_dim=%" PRId64,
                           TENSOR_AT(index, int64_t)[bad], size);
    else if (bad < index->numel)
        status = diag_fail(cx->diag, CTSC_FAILED, "index out of range in self");
    if (!status && self->ndim == 0) {
        status = tensor_clone(cx->diag, self, &out);
    } else if (!status) {
        index_plan p;
        base = self;
        status = index_plan_dim(cx, base, dim, index, &p);
        if (!status) {
            status = index_plan_read(cx, base, &p, &out);
            index_plan_end(&p);
        }
    }
    tensor_unref(index);
    return status ? status : op_finish(cx, args, out, results);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* target[..., index, ...] op= source along dim; everything is checked. */
static ctsc_status pick_write(op_ctx *cx, tensor *target, int dim, const tensor *index,
                              tensor *source, move_op op) {
    tensor *base, *src = NULL;
    index_plan p;
    TRY(pick_at_least_1d(cx, target, &base));
    ctsc_status status = pick_at_least_1d(cx, source, &src);
    if (!status) {
        status = index_plan_dim(cx, base, dim, index, &p);
        if (!status) {
            status = index_plan_write(cx, base, &p, src, op);
            index_plan_end(&p);
        }
        tensor_unref(src);
    }
    tensor_unref(base);
    return status;
}

/* What index_add and index_reduce check, called by name. */
static ctsc_status pick_check(op_ctx *cx, const char *name, const tensor *self, int dim,
                              const tensor *index, const tensor *source) {
    int64_t length = source->ndim ? source->sizes[dim < source->ndim ? dim : 0] : 1;
    if (index->ndim > 1) {
        strbuf sb = STRBUF_INIT;
        tensor_print_sizes(index->ndim, index->sizes, &sb);
        ctsc_status status = diag_fail(
            cx->diag, CTSC_FAILED,
            "%s(): Index is supposed to be a vector, but got dim: %d with "
            "type: %s and size: %s",
            name, index->ndim, dtype_table[index->dtype].ir_name, sb_str(&sb));
        sb_free(&sb);
        return status;
    }
    if (index->dtype != DT_INT64 && index->dtype != DT_INT32)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s(): Expected dtype int32/int64 for index but got: %s", name,
                         dtype_table[index->dtype].ir_name);
    if (self->dtype != source->dtype)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s(): self (%s) and source (%s) must have the same scalar type", name,
                         dtype_table[self->dtype].ir_name, dtype_table[source->dtype].ir_name);
    if (dim > 0 && dim >= source->ndim)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s(): Indexing dim %d is out of bounds of the source tensor with dim %d",
                         name, dim, source->ndim);
    if (index->numel != length)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s(): Number of indices (%" PRId64 ") should be equal to "
                         "source.size(dim): (%" PRId64 "), for dim: %d",
                         name, index->numel, length, dim);
    if (self->ndim > 1 && source->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "select() cannot be applied to a 0-dim tensor.");
    return CTSC_OK;
}

/* The slices of source must broadcast to those of self. */
static ctsc_status pick_check_slices(op_ctx *cx, const tensor *self, int dim,
                                     const tensor *source) {
    int64_t a[TENSOR_MAX_DIMS], b[TENSOR_MAX_DIMS], joint[TENSOR_MAX_DIMS];
    int an = 0, bn = 0, n;
    for (int i = 0; i < self->ndim; i++)
        if (i != dim) a[an++] = self->sizes[i];
    for (int i = 0; i < source->ndim; i++)
        if (i != dim) b[bn++] = source->sizes[i];
    TRY(broadcast_sizes(cx->diag, an, a, bn, b, &n, joint));
    tensor slice = {.ndim = (uint8_t)an, .sizes = a};
    return op_check_inplace_shape(cx, &slice, n, joint);
}

/* The slices of source aligned with self's dimensions: leading dimensions of size 1 where it has
 * fewer. */
static ctsc_status pick_align(op_ctx *cx, const tensor *self, int dim, tensor *source,
                              tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    int missing = self->ndim - source->ndim;
    if (missing <= 0 || source->ndim == 0) {
        *out = tensor_ref(source);
        return CTSC_OK;
    }
    for (int i = self->ndim - 1, from = source->ndim - 1; i >= 0; i--) {
        if (i == dim) {
            sizes[i] = source->sizes[dim];
            strides[i] = source->strides[dim];
            continue;
        }
        if (from == dim) from--;
        bool has = from >= 0;
        sizes[i] = has ? source->sizes[from] : 1;
        strides[i] = has ? source->strides[from] : 0;
        from--;
    }
    return tensor_view_raw(cx->diag, source, self->ndim, sizes, strides, source->offset, out);
}

/* source * alpha in source's dtype; source itself when alpha is 1. */
static ctsc_status pick_scale(op_ctx *cx, tensor *source, const value *alpha, tensor **out) {
    dtype dt = (dtype)source->dtype;
    tensor *factor, *product;
    bool whole = dtype_is_integral(dt);
    value number = whole && alpha->tag == V_FLOAT ? value_int((int64_t)alpha->u.f) : *alpha;
    if (number.tag != V_COMPLEX && arg_float(&number) == 1) {
        *out = tensor_ref(source);
        return CTSC_OK;
    }
    if (tensor_device(source) != DEVICE_HOST) {
        value product_value = value_none(),
              pair[2] = {{.tag = V_TENSOR, .u.tensor = source}, number};
        TRY(op_call(cx, "aten::mul.Scalar", 2, pair, &product_value));
        *out = product_value.u.tensor;
        return CTSC_OK;
    }
    TRY(operand_to_tensor(cx, &number, dt, &factor));
    ctsc_status status = tensor_clone(cx->diag, source, &product);
    if (!status) {
        int64_t item = (int64_t)dtype_size(dt);
        move_kernel_for(MOVE_MUL, dt)
            .run(product->numel, tensor_data(product), item, tensor_data(factor), 0);
        *out = product;
    }
    tensor_unref(factor);
    return status;
}

/* Adds source to target; whole rows of half and bfloat16 in float, but those that were scaled: as
 * PyTorch, which adds such rows, and single elements, one by one. */
static ctsc_status pick_add(op_ctx *cx, tensor *target, int dim, const tensor *index,
                            tensor *source, bool scaled) {
    tensor *sums, *terms;
    if (target->ndim < 2 || scaled) return pick_write(cx, target, dim, index, source, MOVE_ADD);
    TRY(move_widen(cx, MOVE_ADD, target, source, &sums, &terms));
    ctsc_status status = pick_write(cx, sums, dim, index, terms, MOVE_ADD);
    if (!status) status = move_narrow(cx, target, sums);
    tensor_unref(sums);
    tensor_unref(terms);
    return status;
}

ctsc_status op_index_add(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *given = arg_tensor(&args[2]), *source;
    tensor *index = NULL, *target = NULL, *aligned = NULL, *scaled = NULL;
    int dim;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), self->ndim, &dim));
    source = arg_tensor(&args[3]);
    TRY(pick_check(cx, "index_add_", self, dim, given, source));
    if (self->ndim > 1) TRY(pick_check_slices(cx, self, dim, source));
    if (!move_kernel_for(MOVE_ADD, (dtype)self->dtype).run)
        return op_refuse_dtype(cx, "index_add", (dtype)self->dtype);
    TRY(pick_scale(cx, source, &args[4], &scaled));
    ctsc_status status = move_index_int64(cx, given, &index);
    if (!status &&
        index_find_outside(index, self->ndim ? self->sizes[dim] : 1, false) < index->numel)
        status = diag_fail(cx->diag, CTSC_FAILED, "index out of range in self");
    if (!status) status = pick_align(cx, self, dim, scaled, &aligned);
    if (!status && aligned->storage == self->storage && move_in_place(cx)) {
        tensor *copy;
        status = tensor_clone(cx->diag, aligned, &copy);
        tensor_unref(aligned);
        aligned = status ? NULL : copy;
    }
    if (!status) status = move_target(cx, args, &target);
    if (!status) status = pick_add(cx, target, dim, index, aligned, scaled != source);
    tensor_unref(index);
    tensor_unref(aligned);
    tensor_unref(scaled);
    if (!status) return move_finish(cx, args, target, results);
    tensor_unref(target);
    return status;
}

/* ---- index_copy ------------------------------------------------------------------------------ */

static ctsc_status pick_check_copy(op_ctx *cx, const tensor *self, int dim, const tensor *index,
                                   const tensor *source) {
    if (index->ndim >= 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_copy_(): Index should have dimension 1 or 0 (got %d)", index->ndim);
    if (source->ndim == 0 && index->numel != 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_copy_(): When source is scalar, index should have one element (got "
                         "%" PRId64 ")",
                         index->numel);
    if (source->ndim != self->ndim && source->ndim != 0 && self->ndim != 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_copy_(): When source and destination are not scalars, their "
                         "dimensionality must match. Source dimensionality (%d), destination "
                         "dimensionality (%d)",
                         source->ndim, self->ndim);
    if (index->dtype != DT_INT64)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_copy_(): Expected a long tensor for index, but got %s",
                         dtype_table[index->dtype].ir_name);
    if (self->dtype != source->dtype)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_copy_(): self and source expected to have the same dtype, but got "
                         "(self) %s and (source) %s",
                         dtype_table[self->dtype].ir_name, dtype_table[source->dtype].ir_name);
    int64_t a[TENSOR_MAX_DIMS], b[TENSOR_MAX_DIMS];
    int an = 0, bn = 0;
    for (int i = 0; i < self->ndim; i++)
        if (i != dim) a[an++] = self->sizes[i];
    for (int i = 0; i < source->ndim; i++)
        if (i != dim) b[bn++] = source->sizes[i];
    if (an != bn || (an && memcmp(a, b, (size_t)an * sizeof *a))) {
        strbuf to = STRBUF_INIT, from = STRBUF_INIT;
        for (int i = 0; i < an; i++) sb_printf(&to, i ? " %" PRId64 : "%" PRId64, a[i]);
        for (int i = 0; i < bn; i++) sb_printf(&from, i ? " %" PRId64 : "%" PRId64, b[i]);
        ctsc_status status = diag_fail(cx->diag, CTSC_FAILED,
                                       "index_copy_(): Source/destination tensor must have same "
                                       "slice shapes. Destination slice shape: %s at dimension %d "
                                       "and source slice shape: %s at dimension 0.",
                                       sb_str(&to), dim, sb_str(&from));
        sb_free(&to);
        sb_free(&from);
        return status;
    }
    if (source->ndim > 0 && index->numel != source->sizes[self->ndim ? dim : 0])
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_copy_(): Number of indices (%" PRId64 ") should be equal to "
                         "source.size(dim) (%" PRId64 ")",
                         index->numel, source->sizes[self->ndim ? dim : 0]);
    return CTSC_OK;
}

ctsc_status op_index_copy(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *source = arg_tensor(&args[3]), *index, *target = NULL;
    int dim;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), self->ndim, &dim));
    TRY(pick_check_copy(cx, self, dim, arg_tensor(&args[2]), source));
    if (move_in_place(cx)) TRY(move_refuse_overlap(cx, self, source));
    TRY(move_index_int64(cx, arg_tensor(&args[2]), &index));
    int64_t size = self->ndim ? self->sizes[dim] : 1, bad = index_find_outside(index, size, false);
    ctsc_status status = CTSC_OK;
    if (bad < index->numel)
        status = diag_fail(cx->diag, CTSC_FAILED,
                           "index_copy_(): index %" PRId64
                           " is out of bounds for dimension %d with "
                           "size %" PRId64,
                           TENSOR_AT(index, int64_t)[bad], dim, size);
    if (!status) status = move_target(cx, args, &target);
    if (!status) status = pick_write(cx, target, dim, index, source, MOVE_SET);
    tensor_unref(index);
    if (!status) return move_finish(cx, args, target, results);
    tensor_unref(target);
    return status;
}

/* ---- index_fill ------------------------------------------------------------------------------ */

ctsc_status op_index_fill(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *given = arg_tensor(&args[2]);
    tensor *index = NULL, *target = NULL, *given_fill = NULL, *fill = NULL;
    int dim;
    if (args[3].tag == V_TENSOR && arg_tensor(&args[3])->ndim > 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_fill_ only supports a 0-dimensional value tensor, but got tensor "
                         "with %d dimension(s).",
                         arg_tensor(&args[3])->ndim);
    if (args[3].tag == V_COMPLEX && !dtype_is_complex((dtype)self->dtype))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "index_fill_(): Converting complex Scalar to non-complex type is not "
                         "supported");
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), self->ndim, &dim));
    if (given->dtype != DT_INT64)
        return diag_fail(cx->diag, CTSC_FAILED, "index_fill_(): Expected dtype int64 for index.");
    if (given->ndim > 1) return diag_fail(cx->diag, CTSC_FAILED, "Index has to be a vector/scalar");
    TRY(move_index_int64(cx, given, &index));
    int64_t size = self->ndim ? self->sizes[dim] : 1, bad = index_find_outside(index, size, true);
    ctsc_status status = CTSC_OK;
    if (bad < index->numel)
        status = diag_fail(cx->diag, CTSC_FAILED,
                           "index %" PRId64 " is out of bounds for dimension %d with size %" PRId64,
                           TENSOR_AT(index, int64_t)[bad], dim, size);
    if (!status) status = pw_require_fits_value(cx, &args[3], (dtype)self->dtype);
    if (!status) status = operand_to_tensor(cx, &args[3], (dtype)self->dtype, &given_fill);
    if (!status) status = tensor_to_device(cx->diag, given_fill, tensor_device(self), &fill);
    tensor_unref(given_fill);
    if (!status && move_in_place(cx)) {
        status = tensor_make_writable(cx->diag, self);
        target = tensor_ref(self);
    } else if (!status) {
        status = tensor_clone(cx->diag, self, &target);
    }
    if (!status) status = pick_write(cx, target, dim, index, fill, MOVE_SET);
    tensor_unref(index);
    tensor_unref(fill);
    if (!status) return move_finish(cx, args, target, results);
    tensor_unref(target);
    return status;
}

/* ---- index_reduce ---------------------------------------------------------------------------- */

/* index_reduce is scatter_reduce with the index spread over source's shape. */
ctsc_status op_index_reduce(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *given = arg_tensor(&args[2]);
    tensor *source = arg_tensor(&args[3]), *index, *spread = NULL;
    const char *reduce = args[4].u.str->bytes;
    int dim;
    if (strcmp(reduce, "prod") && strcmp(reduce, "mean") && strcmp(reduce, "amax") &&
        strcmp(reduce, "amin"))
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but "
            "got %s.",
            reduce);
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), self->ndim, &dim));
    TRY(pick_check(cx, "index_reduce", self, dim, given, source));
    if (self->ndim > 1) TRY(pick_check_slices(cx, self, dim, source));
    TRY(move_index_int64(cx, given, &index));
    int64_t size = self->ndim ? self->sizes[dim] : 1;
    ctsc_status status = CTSC_OK;
    if (index_find_outside(index, size, false) < index->numel)
        status = diag_fail(cx->diag, CTSC_FAILED, "index out of range in self");
    if (!status) {
        int64_t strides[TENSOR_MAX_DIMS] = {0};
        strides[dim] = 1;
        status = tensor_view_raw(cx->diag, index, source->ndim, source->sizes, strides,
                                 index->offset, &spread);
    }
    if (!status) {
        const bool writes = cx->op->schema->nargs > 6; /* out= */
        const value inner[] = {args[0], value_int(dim), value_tensor_take(spread),      args[3],
                               args[4], args[5],        writes ? args[6] : value_none()};
        if (tensor_device(self) == DEVICE_HOST) {
            status = index_reduce_spread(cx, inner, results);
            tensor_unref(spread);
            tensor_unref(index);
            return status;
        }
        const char *key = move_in_place(cx) ? "aten::scatter_reduce_.two"
                                            : "aten::scatter_reduce.two";
        value made = value_none();
        status = op_call(cx, key, 6, inner, &made);
        if (!status && move_in_place(cx)) op_return(results, made);
        else if (!status) status = op_finish(cx, args, made.u.tensor, results);
    }
    tensor_unref(spread);
    tensor_unref(index);
    return status;
}
