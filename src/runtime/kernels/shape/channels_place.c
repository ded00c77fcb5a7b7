/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channels_place.c - see channels_place.h, and the operators that place and join such tensors.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/engine/channels_place.h"

#include "runtime/kernels/engine/move.h"
#include "tensor/device.h"

#include <string.h>

channels_place channels_place_read(const value *args) {
    return (channels_place){arg_tensor_or_null(&args[0]), arg_int(&args[1]), arg_int(&args[2])};
}

/* Strides of a block that is `width` wide; *pixels: what it has of them. False: too many. */
static bool place_strides(int ndim, const int64_t *sizes, int64_t width, int64_t *strides,
                          int64_t *pixels) {
    int64_t n = width;
    *pixels = 1;
    strides[ndim - 1] = 1;
    for (int i = ndim - 2; i >= 0; i--) {
        strides[i] = n;
        if (__builtin_mul_overflow(n, sizes[i], &n)) return false;
        *pixels *= sizes[i];
    }
    return true;
}

bool channels_place_is(const tensor *t, int64_t width) {
    int64_t strides[TENSOR_MAX_DIMS], pixels, last = t->ndim ? t->sizes[t->ndim - 1] : 0;
    if (t->ndim < 2 || t->numel == 0 || width < last || t->offset > width - last || t->quantiser ||
        tensor_device(t) != DEVICE_HOST ||
        !place_strides(t->ndim, t->sizes, width, strides, &pixels))
        return false;
    for (int i = 0; i < t->ndim; i++)
        if (t->sizes[i] != 1 && t->strides[i] != strides[i]) return false;
    return (size_t)pixels * (size_t)width * dtype_size((dtype)t->dtype) == t->storage->nbytes;
}

/* Is there room for such a tensor in the block of p->beside? */
static bool place_beside(const channels_place *p, dtype dt, int ndim, const int64_t *sizes) {
    const tensor *b = p->beside;
    if (!b || (dtype)b->dtype != dt || b->ndim != ndim || !channels_place_is(b, p->width))
        return false;
    for (int i = 0; i < ndim - 1; i++)
        if (b->sizes[i] != sizes[i]) return false;
    return p->at >= b->offset + b->sizes[ndim - 1] || b->offset >= p->at + sizes[ndim - 1];
}

ctsc_status channels_place_new(diag *d, const channels_place *p, dtype dt, int ndim,
                               const int64_t *sizes, tensor **out) {
    int64_t wide[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS], pixels;
    int64_t last = ndim ? sizes[ndim - 1] : 0;
    if (ndim < 2 || last <= 0 || p->at < 0 || p->width < last || p->at > p->width - last ||
        p->width == last || !place_strides(ndim, sizes, p->width, strides, &pixels) || pixels <= 0)
        return tensor_new(d, dt, ndim, sizes, out);
    if (place_beside(p, dt, ndim, sizes))
        return tensor_view_raw(d, p->beside, ndim, sizes, strides, p->at, out);
    memcpy(wide, sizes, (size_t)ndim * sizeof *wide);
    wide[ndim - 1] = p->width;
    tensor *block;
    TRY(tensor_new(d, dt, ndim, wide, &block));
    ctsc_status st = tensor_view_raw(d, block, ndim, sizes, strides, p->at, out);
    tensor_unref(block);
    return st;
}

ctsc_status channels_place_put(diag *d, const channels_place *p, tensor *t, tensor **out) {
    bool there = channels_place_is(t, p->width) && t->offset == p->at &&
                 (!p->beside || p->beside->storage == t->storage);
    if (there || t->quantiser || tensor_device(t) != DEVICE_HOST) {
        *out = tensor_ref(t);
        return CTSC_OK;
    }
    tensor *made;
    TRY(channels_place_new(d, p, (dtype)t->dtype, t->ndim, t->sizes, &made));
    ctsc_status st = tensor_copy(d, made, t);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

/* ctsc::place_channels: (self, beside, width, at) */
ctsc_status op_place_channels(op_ctx *cx, const value *args, value *results) {
    channels_place p = channels_place_read(&args[1]);
    tensor *t;
    TRY(channels_place_put(cx->diag, &p, arg_tensor(&args[0]), &t));
    return op_return_tensor(results, t);
}

/* Are they adjacent in one block? */
static bool place_joined(const value *tensors, int64_t dim, int64_t width, int64_t *last) {
    size_t n = tensors->u.list->len;
    const tensor *first = n ? arg_list_tensor(tensors, 0) : NULL;
    if (!first || (dim != -1 && dim != first->ndim - 1)) return false;
    *last = 0;
    for (size_t i = 0; i < n; i++) {
        const tensor *t = arg_list_tensor(tensors, i);
        if (t->storage != first->storage || t->dtype != first->dtype || t->ndim != first->ndim ||
            t->requires_grad || t->offset != first->offset + *last || !channels_place_is(t, width))
            return false;
        for (int k = 0; k < t->ndim - 1; k++)
            if (t->sizes[k] != first->sizes[k]) return false;
        *last += t->sizes[t->ndim - 1];
    }
    return true;
}

/* ctsc::cat_placed: (tensors, dim, width): aten::cat of tensors that are in their places as a
 * rule. */
ctsc_status op_cat_placed(op_ctx *cx, const value *args, value *results) {
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS], pixels, last,
        width = arg_int(&args[2]);
    if (!place_joined(&args[0], arg_int(&args[1]), width, &last))
        return op_call(cx, "aten::cat", 2, args, results);
    const tensor *first = arg_list_tensor(&args[0], 0);
    memcpy(sizes, first->sizes, (size_t)first->ndim * sizeof *sizes);
    sizes[first->ndim - 1] = last;
    (void)place_strides(first->ndim, sizes, width, strides, &pixels); /* fits: it is there */
    tensor *t;
    TRY(tensor_view_raw(cx->diag, first, first->ndim, sizes, strides, first->offset, &t));
    return op_return_tensor(results, t);
}
