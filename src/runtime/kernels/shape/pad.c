/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pad.c - padding by a constant, by reflection, by replication and in a circle.
 *
 * Method: all but the constant one are gathers: output position o of a dim is input position o -
 * left, moved back inside by the mode's rule. Negative padding crops.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/pointwise/pointwise.h"

#include <string.h>

/* The numbers of at::native::padding_mode. */
enum { PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR, PAD_CONSTANT };

/* ---- constant -------------------------------------------------------------------------------- */

static void pad_store(dtype dt, char *p, const value *v) {
    if (v->tag == V_FLOAT) dtype_store_float(dt, p, v->u.f);
    else if (v->tag == V_NONE) memset(p, 0, dtype_size(dt));
    else if (v->tag == V_COMPLEX && dtype_is_complex(dt))
        dtype_store_complex(dt, p, v->u.complex->re, v->u.complex->im);
    else if (v->tag == V_COMPLEX) dtype_store_float(dt, p, v->u.complex->re);
    else dtype_store_int(dt, p, arg_int(v));
}

static ctsc_status pad_fill(diag *d, tensor *t, const value *v) { /* t is new: contiguous */
    dtype dt = (dtype)t->dtype;
    size_t item = dtype_size(dt), done = item, all = item * (size_t)t->numel;
    if (!t->numel) return CTSC_OK;
    if (tensor_device(t) != DEVICE_HOST) {
        tensor *one;
        TRY(tensor_new(d, dt, 0, NULL, &one));
        pad_store(dt, tensor_data(one), v);
        ctsc_status st = tensor_copy(d, t, one);
        tensor_unref(one);
        return st;
    }
    char *p = tensor_data(t);
    pad_store(dt, p, v);
    while (done < all) { /* doubling copies fill with a pattern of any size */
        size_t n = done < all - done ? done : all - done;
        n = n < 1 << 20 ? n : 1 << 20;
        memcpy(p + done, p, n / item * item);
        done += n / item * item;
    }
    return CTSC_OK;
}

/* Negative padding cuts off at most what is there. */
static ctsc_status pad_check_crop(op_ctx *cx, const tensor *self, int n, const int64_t *pad) {
    for (int dim = self->ndim - n / 2; dim < self->ndim; dim++) {
        int64_t size = self->sizes[dim];
        for (int side = 0; side < 2; side++) {
            int64_t by = pad[2 * (self->ndim - 1 - dim) + side];
            if (by >= 0) continue;
            if (by < -size)
                return kernel_fail(cx,
                                   "start (%lld) + length (%lld) exceeds dimension size (%lld).",
                                   side ? 0LL : (long long)(0 - (uint64_t)by),
                                   (long long)(size + by), (long long)size);
            size += by;
        }
    }
    return CTSC_OK;
}

static ctsc_status pad_constant(op_ctx *cx, tensor *self, int n, const int64_t *pad,
                                const value *fill, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS], from[TENSOR_MAX_DIMS] = {0}, to[TENSOR_MAX_DIMS];
    if (n % 2) return kernel_fail(cx, "Length of pad must be even but instead it equals %d", n);
    if (n / 2 > self->ndim)
        return kernel_fail(
            cx,
            "Length of pad should be no more than twice the number of dimensions of the "
            "input. Pad length is %dwhile the input has %ddimensions.",
            n, self->ndim);
    if (fill->tag != V_NONE) TRY(pw_require_fits(cx, fill, (dtype)self->dtype));
    for (int i = 0; i < self->ndim; i++) sizes[i] = to[i] = self->sizes[i];
    TRY(pad_check_crop(cx, self, n, pad));
    for (int dim = self->ndim - n / 2; dim < self->ndim; dim++) {
        int64_t left = pad[2 * (self->ndim - 1 - dim)], right = pad[2 * (self->ndim - 1 - dim) + 1],
                size;
        bool fits = !__builtin_add_overflow(self->sizes[dim], left, &size) &&
                    !__builtin_add_overflow(size, right, &size);
        if (!fits) return kernel_fail(cx, "padding size is too large");
        if (size < 0)
            return kernel_fail(
                cx,
                "The input size %lld, plus negative padding %lld and %lld resulted in a negative "
                "output size, which is invalid. Check dimension %d of your input.",
                (long long)self->sizes[dim], (long long)left, (long long)right,
                dim - (self->ndim - n / 2));
        from[dim] = left, to[dim] = left + self->sizes[dim], sizes[dim] = size;
    }
    tensor *y;
    TRY(tensor_new_on(cx->diag, tensor_device(self), (dtype)self->dtype, self->ndim, sizes, &y));
    /* from, to: the place of the input in the output, beyond its borders where it is cropped. */
    int64_t inside[TENSOR_MAX_DIMS], src_at = self->offset, dst_at = y->offset;
    for (int i = 0; i < self->ndim; i++) {
        int64_t begin = int64_max(from[i], 0);
        inside[i] = int64_max(int64_min(to[i], sizes[i]) - begin, 0);
        if (inside[i])
            src_at += (begin - from[i]) * self->strides[i], dst_at += begin * y->strides[i];
    }
    tensor *src = NULL, *dst = NULL;
    ctsc_status st;
    bool any = true;
    TRY_OUT(pad_fill(cx->diag, y, fill));
    for (int i = 0; i < self->ndim; i++) any &= inside[i] > 0;
    if (any) {
        TRY_OUT(tensor_view_raw(cx->diag, self, self->ndim, inside, self->strides, src_at, &src));
        TRY_OUT(tensor_view_raw(cx->diag, y, y->ndim, inside, y->strides, dst_at, &dst));
        TRY_OUT(tensor_copy(cx->diag, dst, src));
    }
    *out = y, y = NULL;
    st = CTSC_OK;
out:
    tensor_unref(src);
    tensor_unref(dst);
    tensor_unref(y);
    return st;
}

ctsc_status op_constant_pad_nd(op_ctx *cx, const value *args, value *results) {
    const int64_t *pad;
    int n = arg_ints(&args[1], &pad);
    tensor *y = NULL;
    TRY(pad_constant(cx, arg_tensor(&args[0]), n, pad, &args[2], &y));
    return op_finish(cx, args, y, results);
}

/* ---- gathers --------------------------------------------------------------------------------- */

/* Pads the last n dims (n <= 3), pad[0], pad[1] belonging to the last. Sizes and modes are checked
 * already. */
static ctsc_status pad_gather(op_ctx *cx, tensor *self, int n, const int64_t *pad, int mode,
                              tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS], in[3] = {1, 1, 1}, size[3] = {1, 1, 1}, *at[3] = {NULL};
    tensor *x = NULL, *y = NULL;
    ctsc_status st;
    for (int i = 0; i < self->ndim; i++) sizes[i] = self->sizes[i];
    for (int k = 0; k < n; k++) {
        int dim = self->ndim - 1 - k;
        in[2 - k] = self->sizes[dim];
        if (__builtin_add_overflow(self->sizes[dim], pad[2 * k], &sizes[dim]) ||
            __builtin_add_overflow(sizes[dim], pad[2 * k + 1], &sizes[dim]))
            return kernel_fail(cx, "padding size is too large");
        size[2 - k] = sizes[dim];
    }
    TRY(tensor_new_on(cx->diag, tensor_device(self), (dtype)self->dtype, self->ndim, sizes, &y));
    TRY_OUT(tensor_contiguous(cx->diag, self, &x));
    if (y->numel && !x->numel) {
        st = kernel_fail(cx, "padding of an empty dimension");
        goto out;
    }
    for (int i = 0; y->numel && i < 3; i++) {
        int64_t left = i >= 3 - n ? pad[2 * (2 - i)] : 0,
                right = i >= 3 - n ? pad[2 * (2 - i) + 1] : 0;
        /* What is cropped does not take part in the circle. */
        int64_t crop = int64_max(-left, 0), kept = in[i] - crop - int64_max(-right, 0);
        if (mode == PAD_CIRCULAR && kept <= 0) {
            st = kernel_fail(cx, "Padding value causes wrapping around more than once.");
            goto out;
        }
        if (!(at[i] = mem_alloc(sizeof *at[i] * (size_t)size[i]))) {
            st = diag_no_memory(cx->diag);
            goto out;
        }
        for (int64_t o = 0; o < size[i]; o++) {
            int64_t v = o - left;
            if (mode == PAD_REPLICATE) v = int64_max(int64_min(v, in[i] - 1), 0);
            else if (mode == PAD_CIRCULAR) v = ((v - crop) % kept + kept) % kept + crop;
            else v = v < 0 ? -v : v >= in[i] ? 2 * (in[i] - 1) - v : v;
            at[i][o] = v;
        }
    }
    st = gather3(cx->diag, x, y, sizes_product(y, 0, y->ndim - n), in, size, at);
    if (st == CTSC_OK) *out = y, y = NULL;
out:
    for (int i = 0; i < 3; i++) mem_free(at[i]);
    tensor_unref(x);
    tensor_unref(y);
    return st;
}

/* Non-batch dims must not be empty. */
static bool pad_shape_ok(const tensor *t, int n) {
    if (t->ndim != n + 1 && t->ndim != n + 2) return false;
    for (int i = t->ndim == n + 2; i < t->ndim; i++)
        if (t->sizes[i] == 0) return false;
    return true;
}

static ctsc_status pad_bad_shape(op_ctx *cx, const tensor *t, int n, int mode) {
    sizes_text text;
    const char *middle =
        mode == PAD_REFLECT && n < 3
            ? "tensor expected for input, but got:"
            : "tensor with possibly 0 batch size and other non-zero dimensions for input, but got:";
    return kernel_fail(cx, "%s%dD or %dD (batch mode) %s %s",
                       mode == PAD_REFLECT && n < 3 ? "" : "Expected ", n + 1, n + 2, middle,
                       shape_print(t, &text));
}

static ctsc_status pad_check_reflect(op_ctx *cx, const tensor *t, int n, const int64_t *pad) {
    sizes_text text;
    for (int k = 0; k < n; k++) {
        int dim = t->ndim - 1 - k;
        int64_t size = t->sizes[dim], left = pad[2 * k], right = pad[2 * k + 1];
        if (left < size && right < size) continue;
        if (n == 2)
            return kernel_fail(
                cx,
                "Argument #%d: Padding size should be less than the corresponding input "
                "dimension, but got: padding (%lld, %lld) at dimension %d of input %d",
                4 + 2 * k, (long long)left, (long long)right, dim, t->ndim);
        return kernel_fail(cx,
                           "Argument #%d: Padding size should be less than the corresponding input "
                           "dimension, but got: padding (%lld, %lld) at dimension %d of input %s",
                           4 + 2 * k, (long long)left, (long long)right, dim,
                           shape_print(t, &text));
    }
    return CTSC_OK;
}

static ctsc_status pad_check_result(op_ctx *cx, const tensor *t, int n, const int64_t *pad) {
    int64_t in[3] = {1, 1, 1};
    double out[3];
    for (int k = 0; k < n; k++) {
        in[k] = t->sizes[t->ndim - 1 - k];
        out[k] = (double)in[k] + (double)pad[2 * k] + (double)pad[2 * k + 1];
    }
    if (n == 1 && out[0] < 1)
        return kernel_fail(cx, "input (W: %lld) is too small. Calculated output W: %.0f",
                           (long long)in[0], out[0]);
    if (n == 2 && out[0] < 1 && out[1] < 1)
        return kernel_fail(
            cx, "input (H: %lld, W: %lld) is too small. Calculated output H: %.0f W: %.0f",
            (long long)in[1], (long long)in[0], out[1], out[0]);
    if (n == 3 && out[0] < 1 && out[1] < 1 && out[2] < 1)
        return kernel_fail(
            cx,
            "input (D: %lld H: %lld, W: %lld) is too small. Calculated output D: %.0f "
            "H: %.0f W: %.0f",
            (long long)in[2], (long long)in[1], (long long)in[0], out[2], out[1], out[0]);
    return CTSC_OK;
}

static ctsc_status pad_mirror(op_ctx *cx, tensor *self, const value *padding, int n, int mode,
                              tensor **out) {
    static const char *const names[2][3] = {
        {"reflection_pad1d", "reflection_pad2d", "reflection_pad3d"},
        {"replication_pad1d", "replication_pad2d", "replication_pad3d"},
    };
    const int64_t *pad;
    int dim;
    if (arg_ints(padding, &pad) != 2 * n)
        return kernel_fail(cx, "padding size is expected to be %d", 2 * n);
    if (n > 1 && self->ndim <= n) TRY(tensor_wrap_dim(cx->diag, n, self->ndim, &dim));
    if (!pad_shape_ok(self, n)) return pad_bad_shape(cx, self, n, mode);
    if (mode == PAD_REFLECT) TRY(pad_check_reflect(cx, self, n, pad));
    TRY(pad_check_result(cx, self, n, pad));
    if (self->dtype == DT_BOOL || dtype_is_stored((dtype)self->dtype))
        return op_refuse_dtype(cx, names[mode][n - 1], (dtype)self->dtype);
    return pad_gather(cx, self, n, pad, mode, out);
}

#define PAD_OP(fn, n, mode)                                                                        \
    ctsc_status op_##fn(op_ctx *cx, const value *args, value *results) {                           \
        tensor *y = NULL;                                                                          \
        TRY(pad_mirror(cx, arg_tensor(&args[0]), &args[1], n, mode, &y));                          \
        return op_finish(cx, args, y, results);                                                    \
    }
PAD_OP(reflection_pad1d, 1, PAD_REFLECT)
PAD_OP(reflection_pad2d, 2, PAD_REFLECT)
PAD_OP(reflection_pad3d, 3, PAD_REFLECT)
PAD_OP(replication_pad1d, 1, PAD_REPLICATE)
PAD_OP(replication_pad2d, 2, PAD_REPLICATE)
PAD_OP(replication_pad3d, 3, PAD_REPLICATE)

static ctsc_status pad_circular(op_ctx *cx, tensor *self, const value *padding, tensor **out) {
    const int64_t *pad;
    int len = arg_ints(padding, &pad), n = len / 2;
    if (len % 2 || (n != self->ndim - 2 && n != self->ndim - 1))
        return kernel_fail(cx,
                           "Invalid padding size, expected 1 or 2 non-padded dimensions, which "
                           "would be equivalent to padding of length %d or %d respectively but got "
                           "%d",
                           2 * (self->ndim - 1), 2 * (self->ndim - 2), len);
    if (n > 3)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "circular padding of more than 3 dimensions");
    for (int k = 0; k < n; k++) {
        int64_t size = self->sizes[self->ndim - 1 - k], left = pad[2 * k], right = pad[2 * k + 1];
        if (left > size || right > size)
            return kernel_fail(cx, "Padding value causes wrapping around more than once.");
        if ((double)left + (double)right + (double)size < 0)
            return kernel_fail(cx, "Negative padding value is resulting in an empty dimension");
    }
    return pad_gather(cx, self, n, pad, PAD_CIRCULAR, out);
}

ctsc_status op_pad_circular(op_ctx *cx, const value *args, value *results) {
    tensor *y = NULL;
    TRY(pad_circular(cx, arg_tensor(&args[0]), &args[1], &y));
    return op_return_tensor(results, y);
}

/* ---- pad: all modes by name or number -------------------------------------------------------- */

static const char *const pad_mode_names[] = {"reflect", "replicate", "circular", "constant"};

/* In the memory format of self. Takes y. */
static ctsc_status pad_ordered(op_ctx *cx, const tensor *self, tensor *y, value *results) {
    int64_t strides[TENSOR_MAX_DIMS];
    memory_format format = tensor_suggested_format(self);
    if (format == FORMAT_CONTIGUOUS || y->storage == self->storage)
        return op_return_tensor(results, y);
    (void)format_strides(NULL, format, y->ndim, y->sizes, strides);
    TRY(tensor_restrided_take(cx->diag, y, strides, &y));
    return op_return_tensor(results, y);
}

static ctsc_status pad_any(op_ctx *cx, const value *args, int64_t mode, value *results) {
    tensor *self = arg_tensor(&args[0]), *y = NULL;
    const int64_t *pad;
    int len = arg_ints(&args[1], &pad), n = len / 2;
    if (len % 2) return kernel_fail(cx, "Padding length must be divisible by 2");
    if (n > self->ndim) return kernel_fail(cx, "Padding length too large");
    if (mode == PAD_CONSTANT) {
        TRY(pad_constant(cx, self, len, pad, &args[3], &y));
        return pad_ordered(cx, self, y, results);
    }
    if (!arg_is_none(&args[3]) && arg_float(&args[3]) != 0)
        return kernel_fail(cx, "Padding mode \"%s\" doesn't take in value argument",
                           mode >= 0 && mode < PAD_CONSTANT ? pad_mode_names[mode] : "");
    if (mode < 0 || mode > PAD_CONSTANT || n < 1 || n > 3 ||
        (self->ndim != n + 1 && self->ndim != n + 2))
        return kernel_fail(
            cx,
            "Padding size %d is not supported for %dD input tensor.\nSupported combinations for "
            "non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  "
            "- 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: "
            "padding size = 6 (pads last 3 dimensions)",
            len, self->ndim);
    if (mode == PAD_CIRCULAR) {
        TRY(pad_circular(cx, self, &args[1], &y));
        return op_return_tensor(results, y);
    }
    TRY(pad_mirror(cx, self, &args[1], n, (int)mode, &y));
    return pad_ordered(cx, self, y, results);
}

ctsc_status op_pad(op_ctx *cx, const value *args, value *results) {
    const char *name = args[2].u.str->bytes;
    for (int mode = 0; mode <= PAD_CONSTANT; mode++)
        if (strcmp(name, pad_mode_names[mode]) == 0) return pad_any(cx, args, mode, results);
    return kernel_fail(cx, "Unrecognised padding mode %s", name);
}

ctsc_status op_pad_enum(op_ctx *cx, const value *args, value *results) {
    return pad_any(cx, args, arg_int(&args[2]), results);
}
