/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfold.c - sliding blocks (im2col, col2im) and the rearrangements of channels: pixel_shuffle,
 * channel_shuffle.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/engine/wide.h"

#include <string.h>

/* ---- sliding blocks -------------------------------------------------------------------------- */

typedef struct fold_shape {
    int64_t batch, channels;
    int64_t size[2], kernel[2], dilation[2], pad[2], stride[2], blocks[2];
    bool batched;
} fold_shape;

/* args: kernel_size, dilation, padding, stride */
static ctsc_status fold_read(op_ctx *cx, const value *args, fold_shape *f) {
    static const char *const names[] = {"kernel_size", "dilation", "padding", "stride"};
    static const char *const words[] = {"kernel size", "dilation", "padding", "stride"};
    static const char *const fields[] = {"kernel", "dilation", "pad", "stride"};
    int64_t *to[] = {f->kernel, f->dilation, f->pad, f->stride};
    const int64_t *data;
    for (int i = 0; i < 4; i++) {
        int n = arg_ints(&args[i], &data);
        if (n != 2)
            return kernel_fail(cx, "It is expected %s equals to 2, but got size %d", names[i], n);
        to[i][0] = data[0], to[i][1] = data[1];
    }
    const int order[] = {0, 1, 3, 2}; /* the order of PyTorch's checks */
    for (int k = 0; k < 4; k++) {
        int i = order[k];
        int64_t least = i == 2 ? 0 : 1;
        if (to[i][0] >= least && to[i][1] >= least) {
            if (to[i][0] <= INT32_MAX && to[i][1] <= INT32_MAX) continue;
            return kernel_fail(cx, "%s is too large", words[i]);
        }
        return kernel_fail(cx, "%s should be %s, but got %s_height: %lld %s_width: %lld", words[i],
                           i == 2 ? "non-negative" : "greater than zero", fields[i],
                           (long long)to[i][0], fields[i], (long long)to[i][1]);
    }
    return CTSC_OK;
}

static void fold_blocks(fold_shape *f) {
    for (int i = 0; i < 2; i++) {
        int64_t room = f->size[i] + 2 * f->pad[i] - (f->dilation[i] * (f->kernel[i] - 1) + 1);
        int64_t q = room / f->stride[i];
        f->blocks[i] = q - (room % f->stride[i] != 0 && room < 0) + 1; /* the floor */
    }
}

/* Calls for every row of the columns: (channel, kernel row, kernel column) of one batch item. */
typedef struct fold_job {
    const fold_shape *f;
    const char *x;
    char *y;
    size_t item;
    dtype dt;
    int parts; /* col2im: numbers of type dt in an element, two in a complex one */
} fold_job;

/* n elements, each a stride after the other. */
static void fold_copy_row(const fold_job *j, const char *src, char *dst, int64_t n) {
    int64_t stride = j->f->stride[1];
    if (stride == 1) {
        memcpy(dst, src, (size_t)n * j->item);
        return;
    }
    DISPATCH_BITS(j->dt, {
        const T *p = (const T *)(const void *)src;
        T *q = (T *)(void *)dst;
        for (int64_t i = 0; i < n; i++) q[i] = p[i * stride];
    })
}

static void fold_im2col_range(void *ctx, int64_t begin, int64_t end) {
    const fold_job *j = ctx;
    const fold_shape *f = j->f;
    int64_t kernel = f->kernel[0] * f->kernel[1];
    for (int64_t r = begin; r < end; r++) {
        int64_t kw = r % f->kernel[1], kh = r / f->kernel[1] % f->kernel[0], plane = r / kernel;
        const char *x = j->x + (size_t)(plane * f->size[0] * f->size[1]) * j->item;
        char *y = j->y + (size_t)(r * f->blocks[0] * f->blocks[1]) * j->item;
        int64_t w = kw * f->dilation[1] - f->pad[1], stride = f->stride[1];
        /* Blocks [lo, hi) read inside the row. */
        int64_t lo = int64_min(w < 0 ? (-w + stride - 1) / stride : 0, f->blocks[1]);
        int64_t hi = w >= f->size[1] ? lo
                                     : int64_min((f->size[1] - 1 - w) / stride + 1, f->blocks[1]);
        hi = int64_max(lo, hi);
        for (int64_t a = 0; a < f->blocks[0]; a++, y += (size_t)f->blocks[1] * j->item) {
            int64_t h = a * f->stride[0] - f->pad[0] + kh * f->dilation[0];
            if (h < 0 || h >= f->size[0]) {
                memset(y, 0, (size_t)f->blocks[1] * j->item);
                continue;
            }
            memset(y, 0, (size_t)lo * j->item);
            memset(y + (size_t)hi * j->item, 0, (size_t)(f->blocks[1] - hi) * j->item);
            if (lo < hi)
                fold_copy_row(j, x + (size_t)(h * f->size[1] + lo * stride + w) * j->item,
                              y + (size_t)lo * j->item, hi - lo);
        }
    }
}

/* A chunk is a channel of a batch item, which all its blocks are added up into. */
static void fold_col2im_range(void *ctx, int64_t begin, int64_t end) {
    const fold_job *j = ctx;
    const fold_shape *f = j->f;
    int64_t blocks = f->blocks[0] * f->blocks[1], kernel = f->kernel[0] * f->kernel[1];
    int64_t parts = j->parts;
    WIDE_DISPATCH(j->dt, {
        for (int64_t plane = begin; plane < end; plane++) {
            const T *x = (const T *)(const void *)j->x + plane * kernel * blocks * parts;
            T *y = (T *)(void *)j->y + plane * f->size[0] * f->size[1] * parts;
            memset(y, 0, sizeof *y * (size_t)(f->size[0] * f->size[1] * parts));
            for (int64_t k = 0; k < kernel; k++)
                for (int64_t a = 0; a < f->blocks[0]; a++) {
                    int64_t h = a * f->stride[0] - f->pad[0] + k / f->kernel[1] * f->dilation[0];
                    int64_t w = k % f->kernel[1] * f->dilation[1] - f->pad[1];
                    const T *row = x + (k * f->blocks[0] + a) * f->blocks[1] * parts;
                    if (h < 0 || h >= f->size[0]) continue;
                    for (int64_t b = 0; b < f->blocks[1]; b++, w += f->stride[1])
                        for (int64_t c = 0; c < parts && w >= 0 && w < f->size[1]; c++)
                            y[(h * f->size[1] + w) * parts + c] += row[b * parts + c];
                }
        }
    });
}

ctsc_status op_im2col(op_ctx *cx, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]), *x = NULL, *y = NULL;
    fold_shape f = {.batch = 1};
    sizes_text text;
    ctsc_status st;
    int dim;
    TRY(fold_read(cx, args + 1, &f));
    if (input->ndim < 3) TRY(tensor_wrap_dim(cx->diag, 2, input->ndim, &dim));
    f.batched = input->ndim == 4;
    bool ok = input->ndim == 3 || input->ndim == 4;
    for (int i = f.batched; i < input->ndim; i++) ok &= input->sizes[i] != 0;
    if (!ok)
        return kernel_fail(
            cx,
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
            "non-zero dimensions for input, but got: %s",
            shape_print(input, &text));
    f.batch = f.batched ? input->sizes[0] : 1;
    f.channels = input->sizes[f.batched];
    for (int i = 0; i < 2; i++) f.size[i] = input->sizes[f.batched + 1 + i];
    fold_blocks(&f);
    if (f.blocks[0] < 1 || f.blocks[1] < 1)
        return kernel_fail(
            cx,
            "Given input with spatial size (%lld, %lld), kernel_size=(%lld, %lld), dilation=(%lld, "
            "%lld), padding=(%lld, %lld), calculated shape of the array of sliding blocks as "
            "(%lld, %lld), but its components must be at least one.",
            (long long)f.size[0], (long long)f.size[1], (long long)f.kernel[0],
            (long long)f.kernel[1], (long long)f.dilation[0], (long long)f.dilation[1],
            (long long)f.pad[0], (long long)f.pad[1], (long long)f.blocks[0],
            (long long)f.blocks[1]);
    int64_t sizes[3] = {f.batch, 0, 0};
    if (__builtin_mul_overflow(f.kernel[0] * f.kernel[1], f.channels, &sizes[1]) ||
        __builtin_mul_overflow(f.blocks[0], f.blocks[1], &sizes[2]))
        return kernel_fail(cx, "numel: integer multiplication overflow");
    if (dtype_is_int((dtype)input->dtype))
        return op_refuse_dtype(cx, "im2col_out_cpu", (dtype)input->dtype);
    TRY(tensor_contiguous(cx->diag, input, &x));
    TRY_OUT(tensor_new(cx->diag, (dtype)x->dtype, f.batched ? 3 : 2, f.batched ? sizes : sizes + 1,
                       &y));
    fold_job j = {.f = &f,
                  .x = tensor_data(x),
                  .y = tensor_data(y),
                  .item = dtype_size((dtype)x->dtype),
                  .dt = (dtype)x->dtype};
    if (y->numel)
        TRY_OUT(op_for(cx, f.batch * sizes[1], kernel_grain(sizes[2]), fold_im2col_range, &j));
    st = op_finish(cx, args, y, results), y = NULL;
out:
    tensor_unref(y);
    tensor_unref(x);
    return st;
}

static ctsc_status fold_check_columns(op_ctx *cx, const tensor *t, const fold_shape *f) {
    sizes_text text;
    bool ok = t->ndim == 2 || t->ndim == 3;
    for (int i = t->ndim == 3; i < t->ndim; i++) ok &= t->sizes[i] != 0;
    if (!ok)
        return kernel_fail(
            cx,
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size "
            "and non-zero dimensions for input, but got: %s",
            shape_print(t, &text));
    int64_t rows = t->sizes[f->batched], columns = t->sizes[f->batched + 1];
    if (rows % (f->kernel[0] * f->kernel[1]))
        return kernel_fail(cx,
                           "Expected size of input's dimension 1 to be divisible by the product of "
                           "kernel_size, but got input.size(1)=%lld and kernel_size=(%lld, %lld).",
                           (long long)rows, (long long)f->kernel[0], (long long)f->kernel[1]);
    int64_t blocks;
    bool fits = !__builtin_mul_overflow(f->blocks[0], f->blocks[1], &blocks);
    if (fits && columns == blocks && f->blocks[0] > 0 && f->blocks[1] > 0 && f->size[0] > 0 &&
        f->size[1] > 0)
        return CTSC_OK;
    return kernel_fail(
        cx,
        "Given output_size=(%lld, %lld), kernel_size=(%lld, %lld), dilation=(%lld, %lld), "
        "padding=(%lld, %lld), stride=(%lld, %lld), expected size of input's dimension 2 to match "
        "the calculated number of sliding blocks %lld * %lld = %lld, but got input.size(2)=%lld.",
        (long long)f->size[0], (long long)f->size[1], (long long)f->kernel[0],
        (long long)f->kernel[1], (long long)f->dilation[0], (long long)f->dilation[1],
        (long long)f->pad[0], (long long)f->pad[1], (long long)f->stride[0],
        (long long)f->stride[1], (long long)f->blocks[0], (long long)f->blocks[1],
        (long long)blocks, (long long)columns);
}

ctsc_status op_col2im(op_ctx *cx, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]), *x = NULL, *y = NULL;
    fold_shape f = {.batched = input->ndim == 3};
    const int64_t *size;
    ctsc_status st;
    int n = arg_ints(&args[1], &size);
    if (n != 2)
        return kernel_fail(cx, "It is expected output_size equals to 2, but got size %d", n);
    TRY(fold_read(cx, args + 2, &f));
    for (int i = 0; i < 2; i++) {
        if (size[i] > INT64_MAX / 4 || size[i] < -INT64_MAX / 4)
            return kernel_fail(cx, "output_size is out of range");
        f.size[i] = size[i];
    }
    fold_blocks(&f);
    TRY(fold_check_columns(cx, input, &f));
    f.batch = f.batched ? input->sizes[0] : 1;
    f.channels = input->sizes[f.batched] / (f.kernel[0] * f.kernel[1]);
    int64_t sizes[4] = {f.batch, f.channels, f.size[0], f.size[1]};
    bool is_complex = dtype_is_complex((dtype)input->dtype);
    TRY(is_complex ? tensor_contiguous(cx->diag, input, &x)
                   : wide_input(cx, "col2im_out_cpu", input, &x));
    TRY_OUT(tensor_new(cx->diag, (dtype)x->dtype, f.batched ? 4 : 3, f.batched ? sizes : sizes + 1,
                       &y));
    fold_job j = {.f = &f,
                  .x = tensor_data(x),
                  .y = tensor_data(y),
                  .dt = dtype_part((dtype)x->dtype),
                  .parts = 1 + is_complex};
    int64_t work = input->sizes[f.batched + 1] * f.kernel[0] * f.kernel[1];
    if (y->numel)
        TRY_OUT(op_for(cx, f.batch * f.channels, kernel_grain(work), fold_col2im_range, &j));
    st = is_complex ? op_finish(cx, args, y, results)
                    : wide_finish(cx, args, y, (dtype)input->dtype, results);
    y = NULL;
out:
    tensor_unref(y);
    tensor_unref(x);
    return st;
}

/* ---- rearranging channels -------------------------------------------------------------------- */

/* t seen as `n` dims of the given sizes, those permuted, and the result seen as (m, to). Contiguous
 * and new. */
static ctsc_status fold_rearrange(op_ctx *cx, tensor *t, int n, const int64_t *sizes,
                                  const int64_t *order, int m, const int64_t *to, tensor **out) {
    tensor *split = NULL, *permuted = NULL, *copy = NULL;
    ctsc_status st;
    TRY(tensor_reshape(cx->diag, t, n, sizes, &split));
    TRY_OUT(tensor_permute(cx->diag, split, n, order, &permuted));
    TRY_OUT(tensor_clone(cx->diag, permuted, &copy));
    TRY_OUT(tensor_view(cx->diag, copy, m, to, out));
out:
    tensor_unref(split);
    tensor_unref(permuted);
    tensor_unref(copy);
    return st;
}

static ctsc_status fold_check_pixels(op_ctx *cx, const char *name, const tensor *t,
                                     const char *factor_name, int64_t factor) {
    if (t->ndim < 3)
        return kernel_fail(
            cx,
            "%s expects input to have at least 3 dimensions, but got input with %d dimension(s)",
            name, t->ndim);
    return factor > 0 ? CTSC_OK
                      : kernel_fail(cx, "%s expects a positive %s, but got %lld", name, factor_name,
                                    (long long)factor);
}

ctsc_status op_pixel_shuffle(op_ctx *cx, const value *args, value *results) {
    tensor *t = arg_tensor(&args[0]), *y = NULL;
    int64_t factor = arg_int(&args[1]), square;
    TRY(fold_check_pixels(cx, "pixel_shuffle", t, "upscale_factor", factor));
    const int64_t *s = t->sizes + t->ndim - 3;
    if (__builtin_mul_overflow(factor, factor, &square) || s[0] % square)
        return kernel_fail(
            cx,
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            "of upscale_factor, but input.size(-3)=%lld is not divisible by %lld",
            (long long)s[0], (long long)square);
    int64_t split[6] = {
        sizes_product(t, 0, t->ndim - 3), s[0] / square, factor, factor, s[1], s[2]};
    const int64_t order[6] = {0, 1, 4, 2, 5, 3};
    int64_t to[TENSOR_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) to[i] = t->sizes[i];
    to[t->ndim - 3] = s[0] / square, to[t->ndim - 2] = s[1] * factor,
                 to[t->ndim - 1] = s[2] * factor;
    TRY(fold_rearrange(cx, t, 6, split, order, t->ndim, to, &y));
    return op_finish(cx, args, y, results);
}

ctsc_status op_pixel_unshuffle(op_ctx *cx, const value *args, value *results) {
    tensor *t = arg_tensor(&args[0]), *y = NULL;
    int64_t factor = arg_int(&args[1]), channels;
    TRY(fold_check_pixels(cx, "pixel_unshuffle", t, "downscale_factor", factor));
    const int64_t *s = t->sizes + t->ndim - 3;
    if (s[1] % factor)
        return kernel_fail(
            cx,
            "pixel_unshuffle expects height to be divisible by downscale_factor, but "
            "input.size(-2)=%lld is not divisible by %lld",
            (long long)s[1], (long long)factor);
    if (s[2] % factor)
        return kernel_fail(cx,
                           "pixel_unshuffle expects width to be divisible by downscale_factor, but "
                           "input.size(-1)=%lld is not divisible by %lld",
                           (long long)s[2], (long long)factor);
    if (__builtin_mul_overflow(s[0], factor, &channels) ||
        __builtin_mul_overflow(channels, factor, &channels))
        return kernel_fail(cx, "numel: integer multiplication overflow");
    int64_t split[6] = {
        sizes_product(t, 0, t->ndim - 3), s[0], s[1] / factor, factor, s[2] / factor, factor};
    const int64_t order[6] = {0, 1, 3, 5, 2, 4};
    int64_t to[TENSOR_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) to[i] = t->sizes[i];
    to[t->ndim - 3] = channels, to[t->ndim - 2] = s[1] / factor, to[t->ndim - 1] = s[2] / factor;
    TRY(fold_rearrange(cx, t, 6, split, order, t->ndim, to, &y));
    return op_finish(cx, args, y, results);
}

ctsc_status op_channel_shuffle(op_ctx *cx, const value *args, value *results) {
    tensor *t = arg_tensor(&args[0]), *y = NULL;
    int64_t groups = arg_int(&args[1]);
    sizes_text text;
    if (t->ndim <= 2)
        return kernel_fail(
            cx, "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
            shape_print(t, &text));
    if (groups <= 0)
        return kernel_fail(
            cx, "Number of groups to divide channels in must be positive. Value of groups:%lld",
            (long long)groups);
    if (t->sizes[1] % groups)
        return kernel_fail(
            cx,
            "Number of channels must be divisible by groups. Got %lld channels and %lld groups.",
            (long long)t->sizes[1], (long long)groups);
    int64_t split[4] = {t->sizes[0], groups, t->sizes[1] / groups, sizes_product(t, 2, t->ndim)};
    const int64_t order[4] = {0, 2, 1, 3};
    TRY(fold_rearrange(cx, t, 4, split, order, t->ndim, t->sizes, &y));
    return op_finish(cx, args, y, results);
}
