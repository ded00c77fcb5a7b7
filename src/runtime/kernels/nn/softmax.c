/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax.c - softmax and log_softmax over one dim.
 *
 * Method: over the last dim a row at a time: maximum, exponentials, sum. Over another dim
 * the same, for several neighbouring columns at once, so that memory is read in order.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/nn/nn.h"

#include "ir/scalar/scalar_ops.h"

#include <math.h>

typedef struct softmax_job {
    dtype dt;
    const void *x;
    void *y;
    int64_t dim, inner;
    bool log;
} softmax_job;

/* ---- loops ----------------------------------------------------------------------------------- */

#define T float
#define NAME(x) x##_f32
#define HOT VECTOR_CLONES
#include "runtime/kernels/nn/softmax_loops.h"

#define T double
#define NAME(x) x##_f64
#define HOT VECTOR_LOOPS
#include "runtime/kernels/nn/softmax_loops.h"

/* ---- jobs ------------------------------------------------------------------------------------ */

static void softmax_row_range(void *ctx, int64_t begin, int64_t end) {
    const softmax_job *j = ctx;
    for (int64_t row = begin; row < end; row++) {
        if (j->dt == DT_FLOAT64) softmax_row_f64(j, row);
        else softmax_row_f32(j, row);
    }
}

/* A chunk is SOFTMAX_COLUMNS neighbouring columns of one outer index. */
static void softmax_column_range(void *ctx, int64_t begin, int64_t end) {
    const softmax_job *j = ctx;
    int64_t stretches = (j->inner + SOFTMAX_COLUMNS - 1) / SOFTMAX_COLUMNS;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        int64_t column = chunk % stretches * SOFTMAX_COLUMNS;
        int64_t at = chunk / stretches * j->dim * j->inner + column;
        int64_t n = int64_min(SOFTMAX_COLUMNS, j->inner - column);
        if (j->dt == DT_FLOAT64) softmax_columns_f64(j, at, n);
        else softmax_columns_f32(j, at, n);
    }
}

static void softmax_run(softmax_job *j, int64_t outer) {
    if (j->inner == 1) {
        pool_for(outer, kernel_grain(8 * j->dim), softmax_row_range, j);
        return;
    }
    int64_t stretches = (j->inner + SOFTMAX_COLUMNS - 1) / SOFTMAX_COLUMNS;
    pool_for(outer * stretches, kernel_grain(8 * j->dim * int64_min(j->inner, SOFTMAX_COLUMNS)),
             softmax_column_range, j);
}

ctsc_status nn_softmax(op_ctx *cx, tensor *input, int64_t dim_arg, dtype dt, bool logarithm,
                       tensor **out) {
    tensor *x = NULL, *y = NULL;
    ctsc_status st;
    int dim;
    TRY(tensor_wrap_dim(cx->diag, dim_arg, input->ndim, &dim));
    bool last = dim >= input->ndim - 1;
    if (dtype_is_integral(dt) && input->numel == 0)
        return tensor_new_like(cx->diag, input, dt, out);
    if (!dtype_is_float(dt))
        return op_refuse_dtype(cx,
                               !last       ? "softmax_kernel_impl"
                               : logarithm ? "log_softmax_lastdim_kernel_impl"
                                           : "softmax_lastdim_kernel_impl",
                               dt);
    /* Converting twice rounds as PyTorch does when dt is narrower than the input. */
    tensor *typed;
    TRY(tensor_to_dtype(cx->diag, input, dt, &typed));
    st = wide_input(cx, "softmax", typed, &x);
    tensor_unref(typed);
    TRY(st);
    TRY_OUT(tensor_new_like(cx->diag, x, (dtype)x->dtype, &y));
    if (x->numel) {
        softmax_job j = {.dt = (dtype)x->dtype,
                         .x = tensor_data(x),
                         .y = tensor_data(y),
                         .dim = x->ndim ? x->sizes[dim] : 1,
                         .inner = sizes_product(x, dim + 1, x->ndim),
                         .log = logarithm};
        softmax_run(&j, x->numel / j.dim / j.inner);
    }
    TRY_OUT(wide_round(cx, &y, dt));
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
        return kernel_fail(cx, "softmax with half to float conversion is not supported on CPU");
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
