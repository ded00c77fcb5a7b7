/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft_extra.c - what goes with Fourier transforms: sample frequencies, shifts of the origin,
 * complex tensors from real ones, and their parts.
 * Tests: tests/unit/test_fft.c
 */
#include "runtime/kernels/create/create.h"

#include <inttypes.h>
#include <math.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)
#define extra_fail(cx, ...) diag_fail((cx)->diag, CTSC_FAILED, __VA_ARGS__)

/* ---- frequencies: (n, d) --------------------------------------------------------------------- */

/* size numbers k / (n d), the ones from `negative` on with k - n for k. */
static ctsc_status extra_frequencies(op_ctx *cx, const value *args, const char *name, int64_t size,
                                     int64_t negative, value *results) {
    int64_t n = arg_int(&args[0]);
    double by = 1.0 / ((double)n * arg_float(&args[1]));
    dtype dt;
    tensor *out;
    TRY(create_options(cx, args, DT_FLOAT32, &dt));
    if (!dtype_is_float(dt) && !dtype_is_complex(dt))
        return extra_fail(cx, "%s requires a floating point or complex dtype", name);
    if (dtype_is_complex(dt))
        return extra_fail(cx, "\"arange_cpu\" not implemented for '%s'", dtype_table[dt].ir_name);
    TRY(tensor_new(cx->diag, dt, 1, &size, &out));
    DISPATCH_FLOAT(dt, cx, name, {
        T *p = tensor_data(out);
        for (int64_t k = 0; k < size; k++) {
            STORE(&p[k], (ACC)(k < negative ? k : k - n));
            STORE(&p[k], LOAD(p[k]) * (ACC)by);
        }
    })
    return op_finish(cx, args, out, results);
}
OPERATOR(fft_fftfreq) {
    int64_t n = arg_int(&args[0]);
    return extra_frequencies(cx, args, "fftfreq", n, n < 0 ? 0 : n / 2 + n % 2, results);
}
OPERATOR(fft_rfftfreq) {
    int64_t size = arg_int(&args[0]) / 2 + 1;
    return extra_frequencies(cx, args, "rfftfreq", size, size, results);
}

/* ---- shifts: (self, dim) --------------------------------------------------------------------- */

/* Rolls by half of each size, rounded up or down. */
static ctsc_status extra_shift(op_ctx *cx, const value *args, bool up, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    const int64_t *given;
    bool all = arg_is_none(&args[1]);
    int n = arg_ints(&args[1], &given), dim = 0;
    list *shifts = list_new(LIST_INT, TYPE_INT, 4), *dims = list_new(LIST_INT, TYPE_INT, 4);
    ctsc_status st = shifts && dims ? CTSC_OK : diag_no_memory(cx->diag);
    for (int i = 0; st == CTSC_OK && i < (all ? t->ndim : n); i++) {
        int64_t asked = all ? i : given[i];
        st = tensor_wrap_dim(cx->diag, asked, t->ndim, &dim);
        if (st == CTSC_OK && !t->ndim)
            st = extra_fail(cx, "Dimension specified as %" PRId64 " but tensor has no dimensions",
                            asked);
        if (st == CTSC_OK && (!list_append_take(shifts, value_int((t->sizes[dim] + up) / 2)) ||
                              !list_append_take(dims, value_int(dim))))
            st = diag_no_memory(cx->diag);
    }
    if (st == CTSC_OK) {
        value roll[3] = {args[0], value_list_take(shifts), value_list_take(dims)};
        st = op_call(cx, "aten::roll", 3, roll, results);
    }
    if (shifts) value_unref(value_list_take(shifts));
    if (dims) value_unref(value_list_take(dims));
    return st;
}
OPERATOR(fft_fftshift) { return extra_shift(cx, args, false, results); }
OPERATOR(fft_ifftshift) { return extra_shift(cx, args, true, results); }

/* ---- complex numbers from two real ones ------------------------------------------------------ */

static void extra_complex_float(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++)
        *(complex64 *)(void *)(p[0] + i * s[0]) = (complex64){
            *(const float *)(const void *)(p[1] + i * s[1]),
            *(const float *)(const void *)(p[2] + i * s[2])};
}
static void extra_complex_double(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++)
        *(complex128 *)(void *)(p[0] + i * s[0]) = (complex128){
            *(const double *)(const void *)(p[1] + i * s[1]),
            *(const double *)(const void *)(p[2] + i * s[2])};
}
static void extra_complex_half(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++)
        *(complex32 *)(void *)(p[0] + i * s[0]) = (complex32){
            *(const float16 *)(const void *)(p[1] + i * s[1]),
            *(const float16 *)(const void *)(p[2] + i * s[2])};
}
static void extra_polar_half(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) {
        float r = float16_to_float(*(const float16 *)(const void *)(p[1] + i * s[1])),
              angle = float16_to_float(*(const float16 *)(const void *)(p[2] + i * s[2]));
        *(complex32 *)(void *)(p[0] + i * s[0]) = (complex32){float16_from_float(r * cosf(angle)),
                                                              float16_from_float(r * sinf(angle))};
    }
}
static void extra_polar_float(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) {
        float r = *(const float *)(const void *)(p[1] + i * s[1]),
              angle = *(const float *)(const void *)(p[2] + i * s[2]);
        *(complex64 *)(void *)(p[0] + i * s[0]) = (complex64){r * cosf(angle), r * sinf(angle)};
    }
}
static void extra_polar_double(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) {
        double r = *(const double *)(const void *)(p[1] + i * s[1]),
               angle = *(const double *)(const void *)(p[2] + i * s[2]);
        *(complex128 *)(void *)(p[0] + i * s[0]) = (complex128){r * cos(angle), r * sin(angle)};
    }
}

static bool extra_is_part(dtype dt) {
    return dt == DT_FLOAT16 || dt == DT_FLOAT32 || dt == DT_FLOAT64;
}

/* kernels: for half, float, double. */
static ctsc_status extra_combine(op_ctx *cx, const value *args, const iter_kernel *kernels,
                                 value *results) {
    static const dtype results_of[] = {DT_COMPLEX32, DT_COMPLEX64, DT_COMPLEX128};
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *out;
    const tensor *target;
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim, index;
    if (!extra_is_part((dtype)a->dtype) || !extra_is_part((dtype)b->dtype))
        return extra_fail(
            cx, "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
            dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    if (a->dtype != b->dtype)
        return extra_fail(
            cx, "Expected object of scalar type %s but got scalar type %s for second argument",
            dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    int which = a->dtype - DT_FLOAT16;
    target = op_target(cx, args, &index);
    if (target && target->dtype != results_of[which])
        return extra_fail(
            cx, "Expected object of scalar type %s but got scalar type %s for argument 'out'",
            dtype_table[results_of[which]].ir_name, dtype_table[target->dtype].ir_name);
    TRY(broadcast_sizes(cx->diag, a->ndim, a->sizes, b->ndim, b->sizes, &ndim, sizes));
    TRY(tensor_new(cx->diag, results_of[which], ndim, sizes, &out));
    tensor *operands[3] = {out, a, b};
    iter_run(ndim, sizes, 3, operands, kernels[which], NULL, 0);
    return op_finish(cx, args, out, results);
}
OPERATOR(complex_tensor) {
    static const iter_kernel kernels[] = {extra_complex_half, extra_complex_float,
                                          extra_complex_double};
    return extra_combine(cx, args, kernels, results);
}
OPERATOR(polar_tensor) {
    static const iter_kernel kernels[] = {extra_polar_half, extra_polar_float, extra_polar_double};
    return extra_combine(cx, args, kernels, results);
}

/* ---- parts: views of every other real number ------------------------------------------------- */

/* Imaginary parts of lazily conjugated numbers are lazily negated ones. */
static ctsc_status extra_part(op_ctx *cx, const tensor *t, int which, value *results) {
    int64_t strides[TENSOR_MAX_DIMS];
    dtype dt = dtype_part((dtype)t->dtype);
    tensor as = {.dtype = (uint8_t)dt, .storage = t->storage}, *view;
    for (int i = 0; i < t->ndim; i++) strides[i] = 2 * t->strides[i];
    as.negated = t->negated != (which && t->conjugated);
    TRY(tensor_view_raw(cx->diag, &as, t->ndim, t->sizes, strides, 2 * t->offset + which, &view));
    if (view->negated) tensor_note_kind(TENSOR_KIND_LAZY);
    return op_return_tensor(results, view);
}
OPERATOR(imag) {
    const tensor *t = arg_tensor(&args[0]);
    if (!dtype_is_complex((dtype)t->dtype))
        return extra_fail(cx, "imag is not implemented for tensors with non-complex dtypes.");
    return extra_part(cx, t, 1, results);
}
OPERATOR(real) {
    const tensor *t = arg_tensor(&args[0]);
    return dtype_is_complex((dtype)t->dtype) ? extra_part(cx, t, 0, results)
                                             : op_return_self(results, args);
}

/* ---- angle: real tensors have one in the pointwise operators --------------------------------- */

static void extra_angle_float(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) {
        complex64 z = *(const complex64 *)(const void *)(p[1] + i * s[1]);
        *(float *)(void *)(p[0] + i * s[0]) = atan2f(z.im, z.re);
    }
}
static void extra_angle_double(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) {
        complex128 z = *(const complex128 *)(const void *)(p[1] + i * s[1]);
        *(double *)(void *)(p[0] + i * s[0]) = atan2(z.im, z.re);
    }
}
ctsc_status op_angle(op_ctx *cx, const value *args, value *results);
OPERATOR(angle_tensor) {
    tensor *t = arg_tensor(&args[0]), *out;
    if (t->dtype != DT_COMPLEX64 && t->dtype != DT_COMPLEX128) return op_angle(cx, args, results);
    TRY(tensor_new_like(cx->diag, t, t->dtype == DT_COMPLEX128 ? DT_FLOAT64 : DT_FLOAT32, &out));
    tensor *operands[2] = {out, t};
    iter_run(t->ndim, t->sizes, 2, operands,
             t->dtype == DT_COMPLEX128 ? extra_angle_double : extra_angle_float, NULL, 0);
    return op_finish(cx, args, out, results);
}
