/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adaptive_pool.c - adaptive average and max pooling in one to three dims.
 *
 * Window o of dim i covers [floor(o * in / out), ceil((o + 1) * in / out)). As in pool.c, one and
 * two dims are three with sizes of 1.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/nn/nn.h"
#include "runtime/kernels/pool/pool.h"

#include "runtime/kernels/engine/device_kernels.h"

#include <math.h>

typedef struct adaptive_job {
    const pool_geometry *g;
    dtype dt;
    const void *x;
    void *y;
    int64_t *indices; /* max pooling only */
    bool average;
} adaptive_job;

VECTOR_CLONES static void adaptive_add_f32(float *acc, const float *row, int64_t n) {
    for (int64_t i = 0; i < n; i++) acc[i] += row[i];
}
VECTOR_LOOPS static void adaptive_add_f64(double *acc, const double *row, int64_t n) {
    for (int64_t i = 0; i < n; i++) acc[i] += row[i];
}
#define adaptive_add(acc, row, n)                                                                  \
    _Generic(*(acc), float: adaptive_add_f32, double: adaptive_add_f64)((void *)(acc),             \
                                                                        (const void *)(row), n)

/* The window's rows are added up into one, then that row's segments; a row that
 * does not fit into acc, or that is needed as a whole, is summed in place. */
VECTOR_LOOPS static void adaptive_avg_row(const adaptive_job *j, int64_t plane, int64_t od,
                                          int64_t oh, int64_t at) {
    const pool_geometry *g = j->g;
    int64_t d0, d1, h0, h1, w0, w1, width = g->in[2];
    _Alignas(32) double memory[ADAPTIVE_ROW];
    bool fold = width <= ADAPTIVE_ROW && g->out[2] > 1;
    adaptive_window(g, 0, od, &d0, &d1);
    adaptive_window(g, 1, oh, &h0, &h1);
    WIDE_DISPATCH(j->dt, {
        const T *base = (const T *)j->x + plane * g->in[0] * g->in[1] * width;
        T *y = (T *)j->y + at;
        T *acc = (T *)(void *)memory;
        for (int64_t i = 0; fold && i < width; i++) acc[i] = 0;
        for (int64_t d = d0; fold && d < d1; d++)
            for (int64_t h = h0; h < h1; h++)
                adaptive_add(acc, base + (d * g->in[1] + h) * width, width);
        for (int64_t o = 0; o < g->out[2]; o++) {
            adaptive_window(g, 2, o, &w0, &w1);
            T row = 0;
            double sum = 0;
            for (int64_t w = w0; fold && w < w1; w++) row += acc[w];
            for (int64_t d = d0; !fold && d < d1; d++) {
                if (w1 - w0 == width) { /* whole rows are contiguous */
                    sum += nn_sum(base + (d * g->in[1] + h0) * width, (h1 - h0) * width);
                    continue;
                }
                for (int64_t h = h0; h < h1; h++)
                    sum += nn_sum(base + (d * g->in[1] + h) * width + w0, w1 - w0);
            }
            int64_t count = (d1 - d0) * (h1 - h0) * (w1 - w0);
            y[o] = fold ? row / (T)count : (T)(sum / (double)count);
        }
    });
}

static void adaptive_max_row(const adaptive_job *j, int64_t plane, int64_t od, int64_t oh,
                             int64_t at) {
    const pool_geometry *g = j->g;
    int64_t d0, d1, h0, h1, w0, w1;
    adaptive_window(g, 0, od, &d0, &d1);
    adaptive_window(g, 1, oh, &h0, &h1);
    WIDE_DISPATCH(j->dt, {
        const T *base = (const T *)j->x + plane * g->in[0] * g->in[1] * g->in[2];
        T *y = (T *)j->y + at;
        for (int64_t o = 0; o < g->out[2]; o++) {
            adaptive_window(g, 2, o, &w0, &w1);
            T m = (T)-INFINITY;
            int64_t best = (d0 * g->in[1] + h0) * g->in[2] + w0;
            for (int64_t d = d0; d < d1; d++)
                for (int64_t h = h0; h < h1; h++)
                    for (int64_t w = w0; w < w1; w++) {
                        int64_t k = (d * g->in[1] + h) * g->in[2] + w;
                        if (base[k] > m || base[k] != base[k]) m = base[k], best = k;
                    }
            y[o] = m;
            j->indices[at + o] = best;
        }
    });
}

static void adaptive_range(void *ctx, int64_t begin, int64_t end) {
    const adaptive_job *j = ctx;
    const pool_geometry *g = j->g;
    for (int64_t r = begin; r < end; r++) {
        int64_t plane = r / g->out[1] / g->out[0], od = r / g->out[1] % g->out[0];
        if (j->average) adaptive_avg_row(j, plane, od, r % g->out[1], r * g->out[2]);
        else adaptive_max_row(j, plane, od, r % g->out[1], r * g->out[2]);
    }
}

static ctsc_status adaptive_run(op_ctx *cx, const tensor *x, adaptive_job *j) {
    const pool_geometry *g = j->g;
    if (tensor_cuda(x))
        return on_device->pool(cx->diag, tensor_cuda(x), j->dt, g,
                               j->average ? DENSE_ADAPTIVE_AVERAGE : DENSE_ADAPTIVE_MAX, j->x, j->y,
                               j->indices, 0, false);
    int64_t rows = g->planes * g->out[0] * g->out[1];
    if (rows && g->out[2])
        return op_for(cx, rows,
                      kernel_grain(g->in[0] * g->in[1] * g->in[2] / (g->out[0] * g->out[1])),
                      adaptive_range, j);
    return CTSC_OK;
}

static void adaptive_sizes(const tensor *input, int n, const int64_t *out, pool_geometry *g) {
    *g = (pool_geometry){.in = {1, 1, 1}, .out = {1, 1, 1}};
    g->planes = sizes_product(input, 0, input->ndim - n);
    for (int i = 0; i < n; i++) {
        g->in[3 - n + i] = input->sizes[input->ndim - n + i];
        g->out[3 - n + i] = out[i];
    }
}

/* out[1] is made for max pooling only. */
static ctsc_status adaptive_pool(op_ctx *cx, const char *name, tensor *input, int n,
                                 const int64_t *size, bool average, tensor **out) {
    pool_geometry g;
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *x;
    ctsc_status st;
    adaptive_sizes(input, n, size, &g);
    pool_result_sizes(input, n, &g, sizes);
    /* A dtype that no kernel is for does not matter where there is nothing to compute. */
    bool empty = average && !dtype_is_float((dtype)input->dtype) &&
                 sizes_product(input, 0, input->ndim - n) == 0;
    TRY(empty ? wide_as(cx, input, (dtype)input->dtype, &x) : wide_input(cx, name, input, &x));
    TRY_OUT(
        tensor_new_on(cx->diag, tensor_device(x), (dtype)x->dtype, input->ndim, sizes, &out[0]));
    if (!average)
        TRY_OUT(tensor_new_on(cx->diag, tensor_device(x), DT_INT64, input->ndim, sizes, &out[1]));
    adaptive_job j = {.g = &g,
                      .dt = (dtype)x->dtype,
                      .x = tensor_data(x),
                      .y = tensor_data(out[0]),
                      .indices = average ? NULL : tensor_data(out[1]),
                      .average = average};
    if (!empty) TRY_OUT(adaptive_run(cx, x, &j));
    TRY_OUT(wide_round(cx, &out[0], (dtype)input->dtype));
out:
    tensor_unref(x);
    if (st != CTSC_OK) {
        tensor_unref(out[0]);
        tensor_unref(out[1]);
    }
    return st;
}

/* ---- average --------------------------------------------------------------------------------- */

/* The mean of the last n dims, which are kept. */
static ctsc_status adaptive_mean(op_ctx *cx, const value *args, int n, value *results) {
    tensor *out[2] = {NULL};
    value mean = value_none(), call[4] = {args[0], value_none(), value_bool(true), value_none()};
    list *dims = list_new(LIST_INT, TYPE_INT, 3);
    if (!dims) return diag_no_memory(cx->diag);
    for (int i = 0; i < n; i++) dims->u.ints[dims->len++] = -1 - i;
    call[1] = value_list_take(dims);
    ctsc_status st = op_call(cx, "aten::mean.dim", 4, call, &mean);
    value_unref(call[1]);
    if (st != CTSC_OK) return st;
    out[0] = mean.u.tensor;
    return op_finish_all(cx, args, 1, out, results);
}

static ctsc_status adaptive_avg(op_ctx *cx, const value *args, int n, value *results) {
    tensor *input = arg_tensor(&args[0]), *out[2] = {NULL};
    const int64_t *size;
    int len = arg_ints(&args[1], &size);
    sizes_text text;
    if (n == 1) {
        TRY(pool_check_1d(cx, input, "adaptive_avg_pool1d"));
        if (len != 1)
            return kernel_fail(
                cx, "adaptive_avg_pool1d() argument 'output_size' should contain one int (got %d)",
                len);
        if (size[0] < 0)
            return kernel_fail(
                cx,
                "adaptive_avg_pool2d: elements of output_size must be greater than or "
                "equal to 0 but received {1, %lld}",
                (long long)size[0]);
    } else if (len != n) {
        return kernel_fail(cx, "adaptive_avg_pool%dd: output_size must be %d", n, n);
    }
    bool one = true;
    for (int i = 0; i < n; i++) {
        if (size[i] < 0 && n == 2)
            return kernel_fail(
                cx,
                "adaptive_avg_pool2d: elements of output_size must be greater than or "
                "equal to 0 but received {%lld, %lld}",
                (long long)size[0], (long long)size[1]);
        if (size[i] < 0)
            return kernel_fail(
                cx,
                "adaptive_avg_pool2d: elements of output_size must be greater than or "
                "equal to 0 but received {%lld, %lld,%lld}",
                (long long)size[0], (long long)size[1], (long long)size[2]);
        one &= size[i] == 1;
    }
    /* Pooling to a single value is a mean to PyTorch, which asks nothing of the leading dims. */
    if (one ? input->ndim < n : n > 1 && input->ndim != n + 1 && input->ndim != n + 2)
        return kernel_fail(cx, "adaptive_avg_pool%dd(): Expected %dD or %dD tensor, but got %s", n,
                           n + 1, n + 2, shape_print(input, &text));
    if (one && dtype_is_integral((dtype)input->dtype))
        return kernel_fail(
            cx,
            "mean(): could not infer output dtype. Input dtype must be either a floating point "
            "or complex dtype. Got: %s",
            dtype_table[input->dtype].ir_name);
    if (one && (dtype_is_float((dtype)input->dtype) || dtype_is_complex((dtype)input->dtype)))
        return adaptive_mean(cx, args, n, results);
    for (int i = n == 2 ? input->ndim - 2 : 1; !one && n > 1 && i < input->ndim; i++)
        if (input->sizes[i] == 0)
            return kernel_fail(
                cx,
                "adaptive_avg_pool%dd(): Expected input to have non-zero size for non-batch "
                "dimensions, but input has sizes %s with dimension %d being empty",
                n, shape_print(input, &text), i);
    TRY(adaptive_pool(cx, n == 3 ? "adaptive_avg_pool3d_cpu" : "adaptive_avg_pool2d", input, n,
                      size, true, out));
    return op_finish_all(cx, args, 1, out, results);
}

ctsc_status op_adaptive_avg_pool1d(op_ctx *cx, const value *args, value *results) {
    return adaptive_avg(cx, args, 1, results);
}
ctsc_status op_adaptive_avg_pool2d(op_ctx *cx, const value *args, value *results) {
    return adaptive_avg(cx, args, 2, results);
}
ctsc_status op_adaptive_avg_pool3d(op_ctx *cx, const value *args, value *results) {
    return adaptive_avg(cx, args, 3, results);
}

/* ---- max ------------------------------------------------------------------------------------- */

static ctsc_status adaptive_max(op_ctx *cx, const value *args, int n, value *results) {
    tensor *input = arg_tensor(&args[0]), *out[2] = {NULL};
    const int64_t *size;
    int len = arg_ints(&args[1], &size);
    sizes_text text;
    if (n == 1) {
        TRY(pool_check_1d(cx, input, "adaptive_max_pool1d"));
        if (len != 1)
            return kernel_fail(
                cx, "adaptive_max_pool1d() argument 'output_size' should contain one int (got %d)",
                len);
    }
    if (n > 1 && input->ndim != n + 1 && input->ndim != n + 2)
        return kernel_fail(cx, "adaptive_max_pool%dd(): Expected %dD or %dD tensor, but got: %s", n,
                           n + 1, n + 2, shape_print(input, &text));
    for (int i = 1; i < input->ndim; i++)
        if (input->sizes[i] == 0)
            return kernel_fail(
                cx,
                "adaptive_max_pool%dd(): Expected input to have non-zero size for non-batch "
                "dimensions, but input has sizes %s with dimension %d being empty",
                n, shape_print(input, &text), i);
    if (len != n)
        return kernel_fail(
            cx, "adaptive_max_pool%dd(): internal error: output_size.size() must be %d", n, n);
    for (int i = 0; i < n; i++)
        if (size[i] < 0) {
            pool_geometry g;
            int64_t sizes[TENSOR_MAX_DIMS];
            adaptive_sizes(input, n, size, &g);
            pool_result_sizes(input, n, &g, sizes);
            return kernel_fail(cx, "Trying to create tensor with negative dimension %lld: %s",
                               (long long)size[i], sizes_print(input->ndim, sizes, &text));
        }
    TRY(adaptive_pool(cx, n == 3 ? "adaptive_max_pool3d_cpu" : "adaptive_max_pool2d", input, n,
                      size, false, out));
    return op_finish_all(cx, args, 2, out, results);
}

ctsc_status op_adaptive_max_pool1d(op_ctx *cx, const value *args, value *results) {
    return adaptive_max(cx, args, 1, results);
}
ctsc_status op_adaptive_max_pool2d(op_ctx *cx, const value *args, value *results) {
    return adaptive_max(cx, args, 2, results);
}
ctsc_status op_adaptive_max_pool3d(op_ctx *cx, const value *args, value *results) {
    return adaptive_max(cx, args, 3, results);
}
