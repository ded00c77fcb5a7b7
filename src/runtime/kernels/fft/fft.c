/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft.c - the operators of torch.fft: arguments, dtypes and shapes; fft_engine.c computes.
 *
 * Every operator is one of three kinds (fft.h) with a sign; the table at the end says which. Real
 * input of a complex transform is transformed as real numbers along its last axis.
 * Tests: tests/unit/test_fft.c
 */
#include "runtime/kernels/fft/fft.h"

#include "tensor/strides.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define fft_fail(cx, ...) diag_fail((cx)->diag, CTSC_FAILED, __VA_ARGS__)

/* ---- transforms along several axes ----------------------------------------------------------- */

static dtype fft_complex_of(dtype dt) {
    return dt == DT_FLOAT64 || dt == DT_COMPLEX128 ? DT_COMPLEX128 : DT_COMPLEX64;
}
static dtype fft_real_of(dtype dt) {
    return dt == DT_FLOAT64 || dt == DT_COMPLEX128 ? DT_FLOAT64 : DT_FLOAT32;
}

/* One axis; the lines are what `from` and `to` have in common in the other dimensions. */
static ctsc_status fft_along(op_ctx *cx, const tensor *from, tensor *to, fft_axis a, fft_kind kind,
                             bool backward, double scale) {
    fft_job j = {.kind = kind,
                 .wide = fft_real_of((dtype)to->dtype) == DT_FLOAT64,
                 .backward = backward,
                 .in_real = kind != FFT_R2C && !dtype_is_complex((dtype)from->dtype),
                 .n = a.size,
                 .in_len = from->sizes[a.dim],
                 .out_len = to->sizes[a.dim],
                 .scale = scale,
                 .in = tensor_data(from),
                 .out = tensor_data(to),
                 .in_stride = from->strides[a.dim],
                 .out_stride = to->strides[a.dim]};
    for (int i = 0; i < from->ndim; i++) {
        if (i == a.dim) continue;
        j.sizes[j.ndim] = from->sizes[i] < to->sizes[i] ? from->sizes[i] : to->sizes[i];
        j.in_strides[j.ndim] = from->strides[i];
        j.out_strides[j.ndim++] = to->strides[i];
    }
    return fft_run(cx, &j);
}

/* Axes n - 1 down to 0 of `at`, in place, as complex numbers; the first pass reads `from`, whose
 * sizes say how much of each axis is there. `at` has the final sizes, so every pass fills up its
 * own axis and leaves the missing part of the later ones alone. */
static ctsc_status fft_axes(op_ctx *cx, const tensor *from, tensor *at, int n, const fft_axis *axes,
                            const int64_t *there, bool backward, double scale) {
    int64_t have[TENSOR_MAX_DIMS];
    memcpy(have, there, sizeof *have * at->ndim);
    for (int i = n - 1; i >= 0; i--) {
        tensor *part = NULL;
        int d = axes[i].dim;
        if (from != at) {
            TRY(fft_along(cx, from, at, axes[i], FFT_C2C, backward, i ? 1 : scale));
        } else {
            TRY(tensor_view_raw(cx->diag, at, at->ndim, have, at->strides, at->offset, &part));
            ctsc_status st = fft_along(cx, part, at, axes[i], FFT_C2C, backward, i ? 1 : scale);
            tensor_unref(part);
            TRY(st);
        }
        have[d] = at->sizes[d];
        from = at;
    }
    return CTSC_OK;
}

static ctsc_status fft_forward_real(op_ctx *cx, const tensor *in, int n, const fft_axis *axes,
                                    bool backward, double scale, const int64_t *there,
                                    tensor *out) {
    fft_axis last = axes[n - 1];
    int64_t have[TENSOR_MAX_DIMS];
    TRY(fft_along(cx, in, out, last, FFT_R2C, backward, n > 1 ? 1 : scale));
    memcpy(have, there, sizeof *have * out->ndim);
    have[last.dim] = out->sizes[last.dim];
    return fft_axes(cx, out, out, n - 1, axes, have, backward, scale);
}

static ctsc_status fft_inverse_real(op_ctx *cx, const tensor *in, int n, const fft_axis *axes,
                                    bool backward, double scale, const int64_t *there,
                                    tensor *out) {
    fft_axis last = axes[n - 1];
    tensor *middle = NULL;
    int64_t sizes[TENSOR_MAX_DIMS];
    if (n == 1) return fft_along(cx, in, out, last, FFT_C2R, backward, scale);
    memcpy(sizes, out->sizes, sizeof *sizes * out->ndim);
    sizes[last.dim] = there[last.dim];
    TRY(tensor_new(cx->diag, fft_complex_of((dtype)out->dtype), out->ndim, sizes, &middle));
    ctsc_status st = fft_axes(cx, in, middle, n - 1, axes, there, !backward, 1);
    if (st == CTSC_OK) st = fft_along(cx, middle, out, last, FFT_C2R, backward, scale);
    tensor_unref(middle);
    return st;
}

/* ---- layout of results ----------------------------------------------------------------------- */

/* By insertion, the largest strides first. */
static void fft_sort_dims(int n, int *dims, const int64_t *strides) {
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && strides[dims[k]] > strides[dims[k - 1]]; k--) {
            int moved = dims[k];
            dims[k] = dims[k - 1], dims[k - 1] = moved;
        }
}

/* One of PyTorch's transforms: unchanged dims keep their order, outermost;
 * then the transformed ones, all but `kept` at their end in the order of their
 * strides. strides: the operand's, then the result's, of these sizes. */
static void fft_lay_out(int ndim, const int64_t *sizes, int n, const fft_axis *axes, int kept,
                        int64_t *strides) {
    int order[TENSOR_MAX_DIMS], batch = 0, end = ndim;
    bool transformed[TENSOR_MAX_DIMS] = {false};
    int64_t step = 1;
    for (int i = 0; i < n; i++) transformed[axes[i].dim] = true;
    for (int i = 0; i < ndim; i++) order[i] = i;
    /* C++'s partition; equal strides stay in the order that it leaves */
    for (;; batch++) {
        while (batch < end && !transformed[order[batch]]) batch++;
        while (batch < end && transformed[order[end - 1]]) end--;
        if (batch >= end) break;
        int moved = order[batch];
        order[batch] = order[--end], order[end] = moved;
    }
    batch = ndim - n;
    fft_sort_dims(batch, order, strides);
    for (int i = 0; i < n; i++) order[batch + i] = axes[i].dim;
    fft_sort_dims(n - kept, order + batch, strides);
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = step;
        /* may overflow for sizes of which there is no tensor: refused when it is made */
        (void)__builtin_mul_overflow(step, sizes[order[i]] ? sizes[order[i]] : 1, &step);
    }
}

/* sizes: of the input padded and trimmed; result: of the output. */
static ctsc_status fft_strides(diag *d, const tensor *in, const int64_t *sizes,
                               const int64_t *result, int n, const fft_axis *axes, fft_kind kind,
                               bool backward, int64_t *strides) {
    bool pads = false, real = !dtype_is_complex((dtype)in->dtype);
    for (int i = 0; i < in->ndim; i++) pads |= sizes[i] > in->sizes[i];
    memcpy(strides, in->strides, sizeof *strides * in->ndim);
    if (pads) TRY(format_strides(d, tensor_suggested_format(in), in->ndim, sizes, strides));
    else if (n == 0 || (real && (kind == FFT_C2R || (kind == FFT_C2C && n > 1))))
        tensor_like_strides(in, strides); /* of real numbers made complex */
    if (n == 0) return CTSC_OK;
    if (kind == FFT_C2C) {
        fft_lay_out(in->ndim, result, n, axes, 0, strides);
    } else if (n == 1 || (kind == FFT_R2C && !backward)) {
        fft_lay_out(in->ndim, result, n, axes, 1, strides);
    } else { /* in two steps */
        const fft_axis *last = axes + n - 1;
        if (kind == FFT_R2C) fft_lay_out(in->ndim, result, 1, last, 1, strides);
        fft_lay_out(in->ndim, kind == FFT_R2C ? result : sizes, n - 1, axes, 0, strides);
        if (kind == FFT_C2R) fft_lay_out(in->ndim, result, 1, last, 1, strides);
    }
    return CTSC_OK;
}

ctsc_status fft_transform(op_ctx *cx, const tensor *in, int n, const fft_axis *axes, fft_kind kind,
                          bool both_sides, bool backward, double scale, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS], there[TENSOR_MAX_DIMS], whole[TENSOR_MAX_DIMS],
        strides[TENSOR_MAX_DIMS];
    dtype dt = (dtype)in->dtype;
    tensor *result = NULL;
    memcpy(sizes, in->sizes, sizeof *sizes * in->ndim);
    for (int i = 0; i < n; i++) sizes[axes[i].dim] = axes[i].size;
    memcpy(whole, sizes, sizeof *sizes * in->ndim);
    if (n && kind == FFT_C2R) whole[axes[n - 1].dim] = axes[n - 1].size / 2 + 1;
    if (n && kind == FFT_R2C && !both_sides) sizes[axes[n - 1].dim] = axes[n - 1].size / 2 + 1;
    for (int i = 0; i < in->ndim; i++) there[i] = in->sizes[i] < sizes[i] ? in->sizes[i] : sizes[i];
    if (n && kind == FFT_C2R) {
        int last = axes[n - 1].dim;
        there[last] = in->sizes[last] < whole[last] ? in->sizes[last] : whole[last];
    }
    TRY(fft_strides(cx->diag, in, whole, sizes, n, axes, kind, backward, strides));
    TRY(tensor_new_strided(cx->diag, DEVICE_HOST,
                           kind == FFT_C2R ? fft_real_of(dt) : fft_complex_of(dt), in->ndim, sizes,
                           strides, &result));
    ctsc_status st;
    if (n == 0) st = tensor_copy(cx->diag, result, in);
    else if (kind == FFT_C2R)
        st = fft_inverse_real(cx, in, n, axes, backward, scale, there, result);
    else if (!dtype_is_complex(dt))
        st = fft_forward_real(cx, in, n, axes, backward, scale, there, result);
    else st = fft_axes(cx, in, result, n, axes, there, backward, scale);
    if (st == CTSC_OK) *out = result;
    else tensor_unref(result);
    return st;
}

/* ---- what the operators share ---------------------------------------------------------------- */

typedef struct fft_family {
    const char *name;
    fft_kind kind;
    bool both_sides, backward;
} fft_family;

/* The input as float, double or their complex numbers: integers become floats. */
static ctsc_status fft_input(op_ctx *cx, const value *arg, tensor **out) {
    tensor *t = arg_tensor(arg);
    dtype dt = (dtype)t->dtype;
    if (dt == DT_COMPLEX32)
        return fft_fail(cx, "expected scalar type ComplexDouble but found ComplexHalf");
    if (dtype_is_half(dt) || dtype_is_quantised(dt))
        return fft_fail(cx, "Unsupported dtype %s", dtype_table[dt].ir_name);
    if (!dtype_is_integral(dt)) return *out = tensor_ref(t), CTSC_OK;
    int64_t strides[TENSOR_MAX_DIMS]; /* the result is in their order */
    tensor_like_strides(t, strides);
    TRY(tensor_new_strided(cx->diag, tensor_device(t), DT_FLOAT32, t->ndim, t->sizes, strides,
                           out));
    ctsc_status st = tensor_copy(cx->diag, *out, t);
    if (st != CTSC_OK) tensor_unref(*out);
    return st;
}

/* count: all the numbers of a transform. */
static ctsc_status fft_scale(op_ctx *cx, const value *norm, bool inverse, double count,
                             double *scale) {
    static const char *const modes[] = {"backward", "forward", "ortho"};
    const char *mode = arg_is_none(norm) ? modes[0] : norm->u.str->bytes;
    if (strcmp(mode, modes[2]) == 0) *scale = 1 / sqrt(count);
    else if (strcmp(mode, modes[inverse ? 0 : 1]) == 0) *scale = 1 / count;
    else if (strcmp(mode, modes[inverse ? 1 : 0]) == 0) *scale = 1;
    else return fft_fail(cx, "Invalid normalization mode: \"%s\"", mode);
    return CTSC_OK;
}

static ctsc_status fft_check_points(op_ctx *cx, int64_t n) {
    return n >= 1 ? CTSC_OK
                  : fft_fail(cx, "Invalid number of data points (%" PRId64 ") specified", n);
}

/* Is the transform of the kind one from frequencies to a signal, scaled by 1/n unless
 * asked otherwise? */
static bool fft_is_inverse(const fft_family *f) {
    return f->kind == FFT_C2R ? !f->backward : f->backward;
}

static ctsc_status fft_check_out(op_ctx *cx, const value *args, const fft_family *f) {
    int index;
    const tensor *out = op_target(cx, args, &index);
    if (!out) return CTSC_OK;
    const char *got = dtype_table[out->dtype].ir_name;
    if (f->kind == FFT_C2R)
        return dtype_is_float((dtype)out->dtype)
                   ? CTSC_OK
                   : fft_fail(cx, "%s expects a floating point output tensor, but got %s", f->name,
                              got);
    return dtype_is_complex((dtype)out->dtype)
               ? CTSC_OK
               : fft_fail(cx, "%s expects a complex output tensor, but got %s", f->name, got);
}

/* Takes in. */
static ctsc_status fft_finish(op_ctx *cx, const value *args, const fft_family *f, tensor *in, int n,
                              const fft_axis *axes, const value *norm, value *results) {
    double count = 1, scale = 1;
    tensor *out = NULL;
    for (int i = 0; i < n; i++) count *= (double)axes[i].size;
    ctsc_status st = fft_scale(cx, norm, fft_is_inverse(f), count, &scale);
    if (st == CTSC_OK)
        st = fft_transform(cx, in, n, axes, f->kind, f->both_sides, f->backward, scale, &out);
    tensor_unref(in);
    return st == CTSC_OK ? op_finish(cx, args, out, results) : st;
}

/* ---- along one dimension: (self, n, dim, norm) ----------------------------------------------- */

static ctsc_status fft_line(op_ctx *cx, const value *args, const fft_family *f, value *results) {
    const tensor *self = arg_tensor(&args[0]), *out;
    fft_axis axis;
    tensor *in;
    int index;
    if (f->kind == FFT_R2C && dtype_is_complex((dtype)self->dtype))
        return fft_fail(cx, "%s expects a real input tensor, but got %s", f->name,
                        dtype_table[self->dtype].ir_name);
    TRY(fft_check_out(cx, args, f));
    TRY(fft_input(cx, &args[0], &in));
    ctsc_status st = tensor_wrap_dim(cx->diag, arg_int(&args[2]), self->ndim, &axis.dim);
    if (st == CTSC_OK) {
        int64_t size = self->ndim ? self->sizes[axis.dim] : 0,
                length = f->kind == FFT_C2R ? 2 * (size - 1) : size;
        /* a number has no points, whatever is requested */
        axis.size = self->ndim ? arg_int_or(&args[1], length) : length;
        st = fft_check_points(cx, axis.size);
    }
    if (st != CTSC_OK) {
        tensor_unref(in);
        return st;
    }
    /* PyTorch conjugates into `out`, for which the dtypes must agree */
    out = op_target(cx, args, &index);
    if (out && f->backward && f->kind != FFT_C2R && !dtype_is_complex((dtype)in->dtype) &&
        out->dtype != fft_complex_of((dtype)in->dtype)) {
        dtype want = fft_complex_of((dtype)in->dtype);
        tensor_unref(in);
        return fft_fail(cx, "Found dtype %s but expected %s", dtype_table[out->dtype].ir_name,
                        dtype_table[want].ir_name);
    }
    return fft_finish(cx, args, f, in, 1, &axis, &args[3], results);
}

/* ---- along several: (self, s, dim, norm) ----------------------------------------------------- */

/* Which dimensions, and the length along each: *n of axes[TENSOR_MAX_DIMS]. */
static ctsc_status fft_read_axes(op_ctx *cx, const value *args, int *n, fft_axis *axes) {
    const tensor *self = arg_tensor(&args[0]);
    const int64_t *sizes, *dims;
    int nsizes = arg_ints(&args[1], &sizes), ndims = arg_ints(&args[2], &dims);
    bool have_sizes = !arg_is_none(&args[1]), have_dims = !arg_is_none(&args[2]),
         seen[TENSOR_MAX_DIMS] = {false};
    if (have_dims && ndims > TENSOR_MAX_DIMS) return fft_fail(cx, "FFT dims must be unique");
    for (int i = 0; have_dims && i < ndims; i++)
        TRY(tensor_wrap_dim(cx->diag, dims[i], self->ndim, &axes[i].dim));
    for (int i = 0; have_dims && i < ndims; i++) {
        if (seen[axes[i].dim]) return fft_fail(cx, "FFT dims must be unique");
        seen[axes[i].dim] = true;
    }
    if (have_sizes && have_dims && nsizes != ndims)
        return fft_fail(cx, "When given, dim and shape arguments must have the same length");
    if (have_sizes && nsizes > self->ndim)
        return fft_fail(cx, "Got shape with %d values but input tensor only has %d dimensions.",
                        nsizes, self->ndim);
    *n = have_dims ? ndims : have_sizes ? nsizes : self->ndim;
    for (int i = 0; i < *n; i++) {
        if (!have_dims) axes[i].dim = self->ndim - *n + i;
        int64_t length = self->ndim ? self->sizes[axes[i].dim] : 1;
        axes[i].size = have_sizes && sizes[i] != -1 ? sizes[i] : length;
    }
    return CTSC_OK;
}

static ctsc_status fft_grid(op_ctx *cx, const value *args, const fft_family *f, value *results) {
    const tensor *self = arg_tensor(&args[0]);
    const int64_t *sizes;
    fft_axis axes[TENSOR_MAX_DIMS];
    int n = 0, nsizes = arg_ints(&args[1], &sizes);
    bool refused = f->kind == FFT_R2C && dtype_is_complex((dtype)self->dtype);
    if (refused && !f->backward)
        return fft_fail(cx, "%s expects a real-valued input tensor, but got %s", f->name,
                        dtype_table[self->dtype].ir_name);
    TRY(fft_check_out(cx, args, f));
    TRY(fft_read_axes(cx, args, &n, axes));
    if (n == 0 && f->kind != FFT_C2C)
        return fft_fail(cx, "%s must transform at least one axis", f->name);
    if (self->ndim == 0) return fft_fail(cx, "ndim must be >= 1");
    for (int i = 0; i < n; i++) TRY(fft_check_points(cx, axes[i].size));
    if (refused)
        return fft_fail(cx, "Expected self.is_floating_point() to be true, but got false.");
    if (f->kind == FFT_C2R && (nsizes == 0 || sizes[nsizes - 1] == -1)) {
        axes[n - 1].size = 2 * (axes[n - 1].size - 1);
        TRY(fft_check_points(cx, axes[n - 1].size));
    }
    tensor *in;
    TRY(fft_input(cx, &args[0], &in));
    return fft_finish(cx, args, f, in, n, axes, &args[3], results);
}

/*            operator     shape  name       kind      both   backward */
/* clang-format off */
#define FFT_OPERATORS(X)                                                                           \
    X(fft_fft,     line, "fft",     FFT_C2C, true,  false)                                         \
    X(fft_ifft,    line, "ifft",    FFT_C2C, true,  true)                                          \
    X(fft_rfft,    line, "rfft",    FFT_R2C, false, false)                                         \
    X(fft_ihfft,   line, "ihfft",   FFT_R2C, false, true)                                          \
    X(fft_irfft,   line, "irfft",   FFT_C2R, false, false)                                         \
    X(fft_hfft,    line, "hfft",    FFT_C2R, false, true)                                          \
    X(fft_fftn,    grid, "fftn",    FFT_C2C, true,  false)                                         \
    X(fft_ifftn,   grid, "fftn",    FFT_C2C, true,  true)                                          \
    X(fft_rfftn,   grid, "rfftn",   FFT_R2C, false, false)                                         \
    X(fft_ihfftn,  grid, "ihfftn",  FFT_R2C, false, true)                                          \
    X(fft_irfftn,  grid, "irfftn",  FFT_C2R, false, false)                                         \
    X(fft_hfftn,   grid, "hfftn",   FFT_C2R, false, true)
/* clang-format on */
#define FFT_OPERATOR(op, shape, name, kind, both, backward)                                        \
    ctsc_status op_##op(op_ctx *cx, const value *args, value *results);                            \
    ctsc_status op_##op(op_ctx *cx, const value *args, value *results) {                           \
        static const fft_family f = {name, kind, both, backward};                                  \
        return fft_##shape(cx, args, &f, results);                                                 \
    }
FFT_OPERATORS(FFT_OPERATOR)

/* ---- _fft_c2c, _fft_r2c, _fft_c2r ------------------------------------------------------------ */

/* Axes as PyTorch's library takes them: no negative ones. */
static ctsc_status fft_raw_axes(op_ctx *cx, const value *args, int *n, fft_axis *axes) {
    const tensor *self = arg_tensor(&args[0]);
    const int64_t *dims;
    bool seen[TENSOR_MAX_DIMS] = {false};
    int64_t normalization = arg_int(&args[2]);
    *n = arg_ints(&args[1], &dims);
    if (normalization < 0 || normalization > 2)
        return fft_fail(cx, "Unsupported normalization type%" PRId64, normalization);
    for (int i = 0; i < *n; i++) {
        if (dims[i] < 0 || dims[i] >= self->ndim) return fft_fail(cx, "bad axis number");
        if (seen[dims[i]]) return fft_fail(cx, "axis specified repeatedly");
        seen[dims[i]] = true;
        axes[i] = (fft_axis){(int)dims[i], self->sizes[dims[i]]};
    }
    return CTSC_OK;
}

/* Are there results to make of no elements? PyTorch's library cannot tell how many signals it has
 * then. */
static ctsc_status fft_check_elements(op_ctx *cx, const tensor *self, int n, const fft_axis *axes,
                                      fft_kind kind, bool both_sides) {
    bool none = false;
    for (int d = 0; d < self->ndim; d++) {
        int64_t size = self->sizes[d];
        none |= size == 0;
        if (n && d == axes[n - 1].dim && kind == FFT_C2R) size = axes[n - 1].size;
        else if (n && d == axes[n - 1].dim && kind == FFT_R2C && !both_sides) size = size / 2 + 1;
        if (size == 0) return CTSC_OK;
    }
    if (!none) return CTSC_OK;
    strbuf shape = STRBUF_INIT;
    for (int i = 0; i < n; i++) sb_printf(&shape, ", %" PRId64, self->sizes[axes[i].dim]);
    ctsc_status st = fft_fail(cx,
                              "cannot reshape tensor of 0 elements into shape [-1%s] because the "
                              "unspecified dimension size -1 can be any value and is ambiguous",
                              sb_str(&shape));
    sb_free(&shape);
    return st;
}

static ctsc_status fft_raw(op_ctx *cx, const value *args, int n, const fft_axis *axes,
                           fft_kind kind, bool both_sides, bool backward, value *results) {
    tensor *self = arg_tensor(&args[0]), *out;
    double count = 1;
    int64_t normalization = arg_int(&args[2]);
    if (self->dtype != DT_FLOAT32 && self->dtype != DT_FLOAT64 && self->dtype != DT_COMPLEX64 &&
        self->dtype != DT_COMPLEX128)
        return fft_fail(cx, "expected scalar type ComplexDouble but found ComplexHalf");
    TRY(fft_check_elements(cx, self, n, axes, kind, both_sides));
    for (int i = 0; i < n; i++) count *= (double)axes[i].size;
    double scale = normalization == 0 ? 1 : normalization == 1 ? 1 / sqrt(count) : 1 / count;
    TRY(fft_transform(cx, self, n, axes, kind, both_sides, backward, scale, &out));
    return op_finish(cx, args, out, results);
}

/* (self, dim, normalization, forward) */
ctsc_status op__fft_c2c(op_ctx *cx, const value *args, value *results) {
    fft_axis axes[TENSOR_MAX_DIMS];
    int n = 0;
    if (!dtype_is_complex((dtype)arg_tensor(&args[0])->dtype))
        return fft_fail(cx, "Expected self.is_complex() to be true, but got false.");
    TRY(fft_raw_axes(cx, args, &n, axes));
    return fft_raw(cx, args, n, axes, FFT_C2C, true, !arg_bool(&args[3]), results);
}

/* (self, dim, normalization, onesided) */
ctsc_status op__fft_r2c(op_ctx *cx, const value *args, value *results) {
    fft_axis axes[TENSOR_MAX_DIMS];
    int n = 0;
    if (!dtype_is_float((dtype)arg_tensor(&args[0])->dtype))
        return fft_fail(cx, "Expected self.is_floating_point() to be true, but got false.");
    TRY(fft_raw_axes(cx, args, &n, axes));
    if (n == 0) return fft_fail(cx, "ArrayRef: attempted to access back() of empty list");
    return fft_raw(cx, args, n, axes, FFT_R2C, !arg_bool(&args[3]), false, results);
}

/* (self, dim, normalization, last_dim_size) */
ctsc_status op__fft_c2r(op_ctx *cx, const value *args, value *results) {
    const tensor *self = arg_tensor(&args[0]);
    fft_axis axes[TENSOR_MAX_DIMS];
    int n = 0;
    if (!dtype_is_complex((dtype)self->dtype))
        return fft_fail(cx, "expected scalar type ComplexFloat but found %s",
                        dtype_table[self->dtype].ir_name);
    TRY(fft_raw_axes(cx, args, &n, axes));
    if (n == 0) return fft_fail(cx, "ArrayRef: attempted to access back() of empty list");
    axes[n - 1].size = arg_int(&args[3]);
    return fft_raw(cx, args, n, axes, FFT_C2R, false, false, results);
}
