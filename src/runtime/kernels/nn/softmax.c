/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax.c - softmax and log_softmax over one dim.
 *
 * Method: over the last dim a row at a time: maximum, exponentials, sum. Over another dim the same,
 * for a stretch of neighbouring columns at once, so that memory is read in order.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/nn/nn.h"

#include "ir/scalar/scalar_ops.h"

#include <math.h>

enum { SOFTMAX_COLUMNS = 64, SOFTMAX_LANES = 16 };

typedef struct softmax_job {
    dtype dt;
    const void *x;
    void *y;
    int64_t dim, inner;
    bool log;
} softmax_job;

/* ---- loops ----------------------------------------------------------------------------------- */

#define SOFTMAX_LOOPS(T, SUFFIX, HOT)                                                              \
    HOT static T softmax_max_##SUFFIX(const T *x, int64_t n) {                                     \
        T lanes[SOFTMAX_LANES];                                                                    \
        int64_t i = 0;                                                                             \
        for (int k = 0; k < SOFTMAX_LANES; k++) lanes[k] = (T)-INFINITY;                           \
        for (; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES)                                         \
            for (int k = 0; k < SOFTMAX_LANES; k++)                                                \
                lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];                              \
        for (int k = 0; i < n; i++, k++) lanes[k] = x[i] > lanes[k] ? x[i] : lanes[k];             \
        for (int k = 1; k < SOFTMAX_LANES; k++)                                                    \
            lanes[0] = lanes[k] > lanes[0] ? lanes[k] : lanes[0];                                  \
        return lanes[0];                                                                           \
    }                                                                                              \
    HOT static void softmax_exp_##SUFFIX(const T *x, T *y, int64_t n, T max) {                     \
        for (int64_t i = 0; i < n; i++) y[i] = scalar_exp_##SUFFIX(x[i] - max);                    \
    }                                                                                              \
    HOT static void softmax_scale_##SUFFIX(T *y, int64_t n, T by) {                                \
        for (int64_t i = 0; i < n; i++) y[i] *= by;                                                \
    }                                                                                              \
    HOT static void softmax_shift_##SUFFIX(const T *x, T *y, int64_t n, T max, T log_sum) {        \
        for (int64_t i = 0; i < n; i++) y[i] = x[i] - max - log_sum;                               \
    }                                                                                              \
    /* One step of each pass over the columns: m = max(m, x), y = exp(x - m) and s += y, ... */    \
    HOT static void softmax_column_max_##SUFFIX(const T *x, T *m, int64_t n) {                     \
        for (int64_t i = 0; i < n; i++) m[i] = x[i] > m[i] ? x[i] : m[i];                          \
    }                                                                                              \
    HOT static void softmax_column_exp_##SUFFIX(const T *x, T *y, const T *m, T *s, int64_t n) {   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T e = scalar_exp_##SUFFIX(x[i] - m[i]);                                                \
            y[i] = e;                                                                              \
            s[i] += e;                                                                             \
        }                                                                                          \
    }                                                                                              \
    HOT static void softmax_column_scale_##SUFFIX(T *y, const T *s, int64_t n) {                   \
        for (int64_t i = 0; i < n; i++) y[i] /= s[i];                                              \
    }                                                                                              \
    HOT static void softmax_column_shift_##SUFFIX(const T *x, T *y, const T *m, const T *s,        \
                                                  int64_t n) {                                     \
        for (int64_t i = 0; i < n; i++) y[i] = x[i] - m[i] - s[i];                                 \
    }                                                                                              \
                                                                                                   \
    static void softmax_row_##SUFFIX(const softmax_job *j, int64_t row) {                          \
        const T *x = (const T *)j->x + row * j->dim;                                               \
        T *y = (T *)j->y + row * j->dim;                                                           \
        T max = softmax_max_##SUFFIX(x, j->dim);                                                   \
        softmax_exp_##SUFFIX(x, y, j->dim, max);                                                   \
        double sum = nn_sum(y, j->dim);                                                            \
        if (j->log)                                                                                \
            softmax_shift_##SUFFIX(x, y, j->dim, max, (T)log(sum));                                \
        else                                                                                       \
            softmax_scale_##SUFFIX(y, j->dim, (T)(1 / sum));                                       \
    }                                                                                              \
                                                                                                   \
    static void softmax_columns_##SUFFIX(const softmax_job *j, int64_t at, int64_t n) {            \
        const T *x = (const T *)j->x + at;                                                         \
        T *y = (T *)j->y + at;                                                                     \
        T max[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS];                                              \
        for (int64_t i = 0; i < n; i++) max[i] = (T)-INFINITY, sum[i] = 0;                         \
        for (int64_t k = 0; k < j->dim; k++)                                                       \
            softmax_column_max_##SUFFIX(x + k * j->inner, max, n);                                 \
        for (int64_t k = 0; k < j->dim; k++)                                                       \
            softmax_column_exp_##SUFFIX(x + k * j->inner, y + k * j->inner, max, sum, n);          \
        for (int64_t i = 0; j->log && i < n; i++) sum[i] = (T)log((double)sum[i]);                 \
        for (int64_t k = 0; k < j->dim; k++) {                                                     \
            if (j->log)                                                                            \
                softmax_column_shift_##SUFFIX(x + k * j->inner, y + k * j->inner, max, sum, n);    \
            else                                                                                   \
                softmax_column_scale_##SUFFIX(y + k * j->inner, sum, n);                           \
        }                                                                                          \
    }

SOFTMAX_LOOPS(float, f32, NN_HOT)
SOFTMAX_LOOPS(double, f64, VECTOR_LOOPS)

/* ---- jobs ------------------------------------------------------------------------------------ */

static void softmax_row_range(void *ctx, int64_t begin, int64_t end) {
    const softmax_job *j = ctx;
    for (int64_t row = begin; row < end; row++) {
        if (j->dt == DT_FLOAT64)
            softmax_row_f64(j, row);
        else
            softmax_row_f32(j, row);
    }
}

/* A piece is a stretch of SOFTMAX_COLUMNS columns of one outer index. */
static void softmax_column_range(void *ctx, int64_t begin, int64_t end) {
    const softmax_job *j = ctx;
    int64_t stretches = (j->inner + SOFTMAX_COLUMNS - 1) / SOFTMAX_COLUMNS;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t column = piece % stretches * SOFTMAX_COLUMNS;
        int64_t at = piece / stretches * j->dim * j->inner + column;
        int64_t n = nn_min(SOFTMAX_COLUMNS, j->inner - column);
        if (j->dt == DT_FLOAT64)
            softmax_columns_f64(j, at, n);
        else
            softmax_columns_f32(j, at, n);
    }
}

static void softmax_run(softmax_job *j, int64_t outer) {
    if (j->inner == 1) {
        pool_for(outer, nn_grain(8 * j->dim), softmax_row_range, j);
        return;
    }
    int64_t stretches = (j->inner + SOFTMAX_COLUMNS - 1) / SOFTMAX_COLUMNS;
    pool_for(outer * stretches, nn_grain(8 * j->dim * nn_min(j->inner, SOFTMAX_COLUMNS)),
             softmax_column_range, j);
}

ctsc_status nn_softmax(op_ctx *cx, tensor *input, int64_t dim_arg, dtype dt, bool logarithm,
                       tensor **out) {
    tensor *x = NULL, *y = NULL;
    ctsc_status st;
    int dim;
    TRY(tensor_wrap_dim(cx->diag, dim_arg, input->ndim, &dim));
    bool last = dim >= input->ndim - 1;
    if (dtype_is_integral(dt) && input->numel == 0) return tensor_new_like(cx->diag, input, dt, out);
    if (!dtype_is_float(dt))
        return op_refuse_dtype(cx,
                               !last       ? "softmax_kernel_impl"
                               : logarithm ? "log_softmax_lastdim_kernel_impl"
                                           : "softmax_lastdim_kernel_impl",
                               dt);
    /* Converting twice rounds as PyTorch does when dt is narrower than the input. */
    tensor *typed;
    TRY(tensor_to_dtype(cx->diag, input, dt, &typed));
    st = nn_input(cx, "softmax", typed, &x);
    tensor_unref(typed);
    TRY(st);
    TRY_OUT(tensor_new_like(cx->diag, x, (dtype)x->dtype, &y));
    if (x->numel) {
        softmax_job j = {.dt = (dtype)x->dtype,
                         .x = tensor_data(x),
                         .y = tensor_data(y),
                         .dim = x->ndim ? x->sizes[dim] : 1,
                         .inner = nn_product(x, dim + 1, x->ndim),
                         .log = logarithm};
        softmax_run(&j, x->numel / j.dim / j.inner);
    }
    TRY_OUT(nn_round(cx, &y, dt));
    *out = y, y = NULL;
out:
    tensor_unref(x);
    tensor_unref(y);
    return st;
}

/* softmax(self, dim, dtype=None) */
static ctsc_status softmax_op(op_ctx *cx, const value *args, bool logarithm, value *results) {
    tensor *input = arg_tensor(&args[0]), *y = NULL;
    dtype dt;
    TRY(arg_dtype(cx, &args[2], (dtype)input->dtype, &dt));
    TRY(nn_softmax(cx, input, arg_int(&args[1]), dt, logarithm, &y));
    return op_finish(cx, args, y, results);
}

/* _softmax(self, dim, half_to_float) */
static ctsc_status softmax_internal_op(op_ctx *cx, const value *args, bool logarithm,
                                       value *results) {
    tensor *input = arg_tensor(&args[0]), *y = NULL;
    if (arg_bool(&args[2]))
        return nn_fail(cx, "softmax with half to float conversion is not supported on CPU");
    TRY(nn_softmax(cx, input, arg_int(&args[1]), (dtype)input->dtype, logarithm, &y));
    return op_finish(cx, args, y, results);
}

ctsc_status op_softmax(op_ctx *cx, const value *args, value *results) {
    return softmax_op(cx, args, false, results);
}
ctsc_status op_log_softmax(op_ctx *cx, const value *args, value *results) {
    return softmax_op(cx, args, true, results);
}
ctsc_status op_softmax_internal(op_ctx *cx, const value *args, value *results) {
    return softmax_internal_op(cx, args, false, results);
}
ctsc_status op_log_softmax_internal(op_ctx *cx, const value *args, value *results) {
    return softmax_internal_op(cx, args, true, results);
}
