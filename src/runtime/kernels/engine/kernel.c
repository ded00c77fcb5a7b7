/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c - what operator functions share: dtype checks, promotion, and the in-place and out=
 * forms.
 *
 * Method: an operator is written once, as a function of its inputs. Which form runs follows from
 * the schema of the overload: the argument marked as written, if any, is the target. Most operators
 * compute a fresh tensor and let op_finish copy it; pointwise ones ask op_target first and write in
 * place.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/engine/kernel.h"

#include "runtime/kernels/engine/device_kernels.h"

#include "tensor/promote.h"

#include <inttypes.h>
#include <string.h>

const device_kernels *on_device; /* NULL: nothing is on a device */

/* ---- arguments ------------------------------------------------------------------------------- */

ctsc_status op_wrap_dim(op_ctx *cx, const tensor *t, int64_t dim, int *out) {
    if (t->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Dimension specified as %" PRId64 " but tensor has no dimensions", dim);
    return tensor_wrap_dim(cx->diag, dim, t->ndim, out);
}

memory_format arg_format(const value *v, memory_format other) {
    int64_t format = v->tag == V_NONE ? (int64_t)other : arg_int(v);
    return (memory_format)(format >= 0 && format < FORMAT_COUNT ? format : (int64_t)other);
}

ctsc_status arg_dtype(op_ctx *cx, const value *v, dtype other, dtype *out) {
    if (v->tag == V_NONE) {
        *out = other;
        return CTSC_OK;
    }
    int64_t code = arg_int(v);
    if (!dtype_valid(code))
        return diag_fail(cx->diag, CTSC_FAILED, "invalid dtype %lld", (long long)code);
    if (dtype_is_quantised((dtype)code) ||
        (dtype_is_stored((dtype)code) && !(cx->op && op_traits_take_stored(cx->op->traits))))
        return op_refuse_dtype(cx, cx->op ? cx->op->key : "dtype", (dtype)code);
    *out = (dtype)code;
    return CTSC_OK;
}

ctsc_status op_read_int(op_ctx *cx, tensor *t, int64_t *out) {
    tensor *here;
    TRY(tensor_to_device(cx->diag, t, DEVICE_HOST, &here));
    *out = tensor_item_int(here);
    tensor_unref(here);
    return CTSC_OK;
}

ctsc_status arg_dim_mask(op_ctx *cx, const value *dims, int ndim, bool *mask) {
    const int64_t *data;
    int n = arg_ints(dims, &data);
    memset(mask, n == 0 && ndim > 0, sizeof *mask * TENSOR_MAX_DIMS);
    for (int i = 0; i < n; i++) {
        int dim;
        TRY(tensor_wrap_dim(cx->diag, data[i], ndim, &dim));
        if (mask[dim])
            return diag_fail(cx->diag, CTSC_FAILED,
                             "dim %d appears multiple times in the list of dims", dim);
        mask[dim] = true;
    }
    return CTSC_OK;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

ctsc_status op_refuse_dtype(op_ctx *cx, const char *name, dtype dt) {
    bool missing = dtype_is_complex(dt) || dtype_is_quantised(dt) ||
                   dtype_is_stored(dt); /* PyTorch has these, we do not */
    return diag_fail(cx->diag, missing ? CTSC_UNSUPPORTED : CTSC_FAILED,
                     "\"%s\" not implemented for '%s'", name, dtype_table[dt].ir_name);
}

bool dtype_can_cast(dtype from, dtype to) {
    if (dtype_is_complex(from)) return dtype_is_complex(to);
    bool float8 = dtype_is_float8(to);
    if (dtype_is_float(from) || dtype_is_float8(from))
        return dtype_is_float(to) || float8 || dtype_is_complex(to);
    return from == DT_BOOL || to != DT_BOOL;
}

dtype promote_operands(int n, const value *operands) {
    promotion p = PROMOTION_INIT;
    for (int i = 0; i < n; i++) {
        const value *v = &operands[i];
        if (v->tag == V_TENSOR)
            promotion_add(&p, (dtype)v->u.tensor->dtype,
                          v->u.tensor->ndim > 0 ? OPERAND_TENSOR : OPERAND_ZERO_DIM);
        else if (v->tag != V_NONE)
            promotion_add(&p,
                          v->tag == V_BOOL      ? DT_BOOL
                          : v->tag == V_INT     ? DT_INT64
                          : v->tag == V_COMPLEX ? DT_COMPLEX64
                                                : DT_FLOAT32,
                          OPERAND_NUMBER);
    }
    return promotion_result(&p);
}

ctsc_status operand_to_tensor(op_ctx *cx, const value *operand, dtype dt, tensor **out) {
    if (operand->tag == V_TENSOR) return tensor_to_dtype(cx->diag, operand->u.tensor, dt, out);
    if (operand->tag == V_COMPLEX && !dtype_is_complex(dt)) {
        if (operand->u.complex->im != 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "value cannot be converted to type %s without overflow",
                             dtype_table[dt].torch_name);
        return tensor_scalar_float(cx->diag, dt, operand->u.complex->re, out);
    }
    if (operand->tag == V_COMPLEX) {
        tensor *t;
        TRY(tensor_new(cx->diag, dt, 0, NULL, &t));
        dtype_store_complex(dt, tensor_data(t), operand->u.complex->re, operand->u.complex->im);
        *out = t;
        return CTSC_OK;
    }
    if (operand->tag == V_FLOAT) return tensor_scalar_float(cx->diag, dt, operand->u.f, out);
    return tensor_scalar_int(cx->diag, dt, arg_int(operand), out);
}

/* ---- overlap --------------------------------------------------------------------------------- */

/* Bytes [*begin, *end) of the storage that t reaches. */
static void kernel_extent(const tensor *t, int64_t *begin, int64_t *end) {
    int64_t last = t->offset, size = (int64_t)dtype_size((dtype)t->dtype);
    for (int i = 0; i < t->ndim; i++) last += (t->sizes[i] - 1) * t->strides[i];
    *begin = t->offset * size;
    *end = (last + 1) * size;
}

bool tensor_partial_overlap(const tensor *t, const tensor *other) {
    if (t == other || t->storage->data != other->storage->data || !t->numel || !other->numel)
        return false;
    int64_t b0, e0, b1, e1;
    kernel_extent(t, &b0, &e0);
    kernel_extent(other, &b1, &e1);
    if (e0 <= b1 || e1 <= b0) return false;
    if (t->offset != other->offset || t->dtype != other->dtype || !tensor_same_shape(t, other))
        return true;
    for (int i = 0; i < t->ndim; i++)
        if (t->sizes[i] != 1 && t->strides[i] != other->strides[i]) return true;
    return false;
}

ctsc_status op_refuse_partial_overlap(op_ctx *cx) {
    return diag_fail(cx->diag, CTSC_FAILED,
                     "unsupported operation: some elements of the input tensor and the written-to "
                     "tensor refer to a single memory location. Please clone() the tensor before "
                     "performing the operation.");
}

/* ---- in-place and out= ----------------------------------------------------------------------- */

tensor *op_target(const op_ctx *cx, const value *args, int *index) {
    const schema *s = cx->op ? cx->op->schema : NULL;
    if (!s || !s->has_alias_write) return NULL;
    for (int i = 0; i < s->nargs; i++) {
        if (!s->args[i].alias || !s->args[i].alias->write || args[i].tag != V_TENSOR) continue;
        if (index) *index = i;
        return args[i].u.tensor;
    }
    return NULL;
}

static ctsc_status kernel_check_cast(op_ctx *cx, const tensor *computed, const tensor *target) {
    if (dtype_can_cast((dtype)computed->dtype, (dtype)target->dtype)) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "result type %s can't be cast to the desired output type %s",
                     dtype_table[computed->dtype].ir_name, dtype_table[target->dtype].ir_name);
}

ctsc_status op_check_inplace_shape(op_ctx *cx, const tensor *self, int ndim, const int64_t *sizes) {
    if (self->ndim == ndim &&
        (!ndim || memcmp(self->sizes, sizes, sizeof *sizes * (size_t)ndim) == 0))
        return CTSC_OK;
    strbuf have = STRBUF_INIT, want = STRBUF_INIT;
    tensor_print_sizes(self->ndim, self->sizes, &have);
    tensor_print_sizes(ndim, sizes, &want);
    ctsc_status st = diag_fail(cx->diag, CTSC_FAILED,
                               "output with shape %s doesn't match the broadcast shape %s",
                               sb_str(&have), sb_str(&want));
    sb_free(&have);
    sb_free(&want);
    return st;
}

ctsc_status op_finish_inplace(op_ctx *cx, const value *self, tensor *computed, value *results) {
    tensor *target = self->u.tensor;
    if (computed == target) return op_return_tensor(results, computed);
    ctsc_status st = kernel_check_cast(cx, computed, target);
    if (st == CTSC_OK) st = op_check_inplace_shape(cx, target, computed->ndim, computed->sizes);
    if (st == CTSC_OK) st = tensor_make_writable(cx->diag, target);
    if (st == CTSC_OK) st = tensor_copy(cx->diag, target, computed);
    tensor_unref(computed);
    return st == CTSC_OK ? op_return_self(results, self) : st;
}

/* t, just resized, gets the memory order of `as`, if that is dense. */
static ctsc_status kernel_restride(op_ctx *cx, tensor *t, const tensor *as) {
    tensor *shaped;
    if (!tensor_is_dense(as)) return CTSC_OK;
    TRY(tensor_view_raw(cx->diag, t, t->ndim, t->sizes, as->strides, t->offset, &shaped));
    tensor_swap_geometry(t, shaped);
    tensor_unref(shaped);
    return CTSC_OK;
}

ctsc_status op_refuse_out_dtype(op_ctx *cx, dtype want, const tensor *out) {
    return diag_fail(cx->diag, CTSC_FAILED,
                     "Expected out tensor to have dtype %s, but got %s instead",
                     dtype_cpp_name(want), dtype_cpp_name((dtype)out->dtype));
}

ctsc_status op_finish_out(op_ctx *cx, const value *out, tensor *computed, value *results) {
    tensor *target = out->u.tensor;
    if (computed == target) return op_return_tensor(results, computed);
    ctsc_status st = kernel_check_cast(cx, computed, target);
    if (st == CTSC_OK && computed->dtype != target->dtype && !cx->op->traits.orders_out &&
        cx->op->traits.out_dtype != OUT_DTYPE_CONVERTED)
        st = op_refuse_out_dtype(cx, (dtype)computed->dtype, target);
    if (st == CTSC_OK && !tensor_same_shape(target, computed)) {
        st = tensor_resize(cx->diag, target, computed->ndim, computed->sizes);
        if (st == CTSC_OK && cx->op->traits.orders_out) st = kernel_restride(cx, target, computed);
    }
    if (st == CTSC_OK) st = tensor_make_writable(cx->diag, target);
    if (st == CTSC_OK) st = tensor_copy(cx->diag, target, computed);
    tensor_unref(computed);
    return st == CTSC_OK ? op_return_self(results, out) : st;
}

ctsc_status op_finish(op_ctx *cx, const value *args, tensor *computed, value *results) {
    int index;
    if (!op_target(cx, args, &index)) return op_return_tensor(results, computed);
    return index == 0 ? op_finish_inplace(cx, &args[0], computed, results)
                      : op_finish_out(cx, &args[index], computed, results);
}

static ctsc_status kernel_new_storage(diag *d, int device, size_t nbytes, storage **out) {
    if (device != DEVICE_HOST) return device_alloc(d, device, nbytes, out);
    *out = storage_new(nbytes);
    return *out ? CTSC_OK : diag_no_memory(d);
}

/* Gives storage s room for nbytes, keeping its contents, under all views on it. */
static ctsc_status kernel_grow_storage(diag *d, storage *s, size_t nbytes) {
    storage *fresh;
    if (s->nbytes >= nbytes) return CTSC_OK;
    TRY(kernel_new_storage(d, s->device, nbytes, &fresh));
    ctsc_status st = storage_copy_bytes(d, fresh, s);
    if (st != CTSC_OK) {
        storage_unref(fresh);
        return st;
    }
    storage old = {.data = s->data,
                   .nbytes = s->nbytes,
                   .release = s->release,
                   .release_ctx = s->release_ctx,
                   .borrowed = s->borrowed,
                   .read_only = s->read_only};
    s->data = fresh->data, s->nbytes = fresh->nbytes, s->release = fresh->release;
    s->release_ctx = fresh->release_ctx, s->read_only = fresh->read_only;
    s->borrowed = fresh->borrowed, fresh->borrowed = old.borrowed;
    fresh->data = old.data, fresh->nbytes = old.nbytes, fresh->release = old.release;
    fresh->release_ctx = old.release_ctx, fresh->read_only = old.read_only;
    storage_unref(fresh);
    return CTSC_OK;
}

ctsc_status tensor_resize(diag *d, tensor *t, int ndim, const int64_t *sizes) {
    int64_t strides[TENSOR_MAX_DIMS], numel = 1, bytes;
    if (ndim > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_FAILED, "tensor has too many (>%d) dims", TENSOR_MAX_DIMS);
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] < 0) {
            strbuf text = STRBUF_INIT;
            tensor_print_sizes(ndim, sizes, &text);
            ctsc_status st = diag_fail(d, CTSC_FAILED,
                                       "Trying to create tensor with negative dimension %lld: %s",
                                       (long long)sizes[i], sb_str(&text));
            sb_free(&text);
            return st;
        }
    }
    bool overflow = false, empty = false;
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = step;
        empty |= sizes[i] == 0;
        overflow |= __builtin_mul_overflow(step, sizes[i] > 1 ? sizes[i] : 1, &step);
    }
    numel = empty ? 0 : step;
    overflow |= __builtin_add_overflow(numel, t->offset, &numel);
    overflow |= __builtin_mul_overflow(numel, (int64_t)dtype_size((dtype)t->dtype), &bytes);
    if (overflow) return diag_fail(d, CTSC_FAILED, "numel: integer multiplication overflow");
    if (!empty) TRY(kernel_grow_storage(d, t->storage, (size_t)bytes));
    tensor *shaped;
    TRY(tensor_view_raw(d, t, ndim, sizes, strides, t->offset, &shaped));
    tensor_swap_geometry(t, shaped);
    tensor_unref(shaped);
    return CTSC_OK;
}
