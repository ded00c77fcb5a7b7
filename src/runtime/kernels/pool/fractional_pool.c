/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fractional_pool.c - max pooling over windows that start at pseudo-random places, in
 * two or three dims.
 *
 * Method. Two dims are three with a size of 1. The places of a plane's windows follow from one
 * random sample per dim: steps of alpha, the average distance, shifted by the sample and
 * rounded down. They are computed in the dtype of the samples, as PyTorch does, because
 * rounding decides them.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/pool/pool.h"

#include <math.h>

typedef struct fractional_job {
    const pool_geometry *g;
    int n; /* dims that are pooled */
    dtype dt;
    dtype own; /* of the arguments: half and bfloat16 are computed with as floats (dt) */
    const char *x, *samples;
    char *y;
    int64_t *indices;
    int64_t *starts; /* of each plane: where windows start along each dim */
} fractional_job;

static double fractional_sample(const fractional_job *j, int64_t i) {
    return j->dt == DT_FLOAT64 ? ((const double *)j->samples)[i] : ((const float *)j->samples)[i];
}

/* A step of the arithmetic of places, which PyTorch does in the arguments' dtype. */
static float fractional_round(const fractional_job *j, float v) {
    return dtype_is_half(j->own) ? (float)dtype_round(j->own, (double)v) : v;
}

/* Start of window i along a dim; outside of the input where the sample is not in [0, 1). */
static int64_t fractional_start(const fractional_job *j, double sample, int64_t i, int64_t in,
                                int64_t out, int64_t kernel) {
    double at, shift;
    if (i == out - 1) return in - kernel;
    if (j->dt == DT_FLOAT64) {
        double alpha = (double)(in - kernel) / (double)(out - 1);
        at = ((double)i + sample) * alpha;
        shift = sample * alpha;
    } else {
        float alpha = fractional_round(j, fractional_round(j, (float)(in - kernel)) /
                                              fractional_round(j, (float)(out - 1)));
        float from = fractional_round(j, fractional_round(j, (float)i) + (float)sample);
        at = fractional_round(j, from * alpha);
        shift = fractional_round(j, (float)sample * alpha);
    }
    return fabs(at) < 0x1p31 && fabs(shift) < 0x1p31 ? (int64_t)at - (int64_t)shift : -1;
}

static int64_t fractional_starts_of_plane(const pool_geometry *g) {
    return g->out[0] + g->out[1] + g->out[2];
}

/* Fills j->starts. The first sample of two is the width's, as PyTorch has it; of
 * three the depth's. */
static bool fractional_place(const fractional_job *j) {
    const pool_geometry *g = j->g;
    for (int64_t p = 0; p < g->planes; p++) {
        int64_t *at = j->starts + p * fractional_starts_of_plane(g);
        for (int d = 0; d < 3; d++) {
            int k = j->n == 3 ? d : 2 - d;
            double sample = k < j->n ? fractional_sample(j, p * j->n + k) : 0;
            for (int64_t i = 0; i < g->out[d]; i++, at++) {
                *at = fractional_start(j, sample, i, g->in[d], g->out[d], g->kernel[d]);
                if (*at < 0 || *at > g->in[d] - g->kernel[d]) return false;
            }
        }
    }
    return true;
}

static void fractional_plane(const fractional_job *j, int64_t plane) {
    const pool_geometry *g = j->g;
    const int64_t *ds = j->starts + plane * fractional_starts_of_plane(g), *hs = ds + g->out[0],
                  *ws = hs + g->out[1];
    int64_t at = plane * g->out[0] * g->out[1] * g->out[2];
    WIDE_DISPATCH(j->dt, {
        const T *x = (const T *)j->x + plane * g->in[0] * g->in[1] * g->in[2];
        for (int64_t od = 0; od < g->out[0]; od++)
            for (int64_t oh = 0; oh < g->out[1]; oh++)
                for (int64_t ow = 0; ow < g->out[2]; ow++, at++) {
                    T most = (T)-INFINITY;
                    int64_t best = (ds[od] * g->in[1] + hs[oh]) * g->in[2] + ws[ow];
                    for (int64_t d = ds[od]; d < ds[od] + g->kernel[0]; d++)
                        for (int64_t h = hs[oh]; h < hs[oh] + g->kernel[1]; h++)
                            for (int64_t w = ws[ow]; w < ws[ow] + g->kernel[2]; w++) {
                                int64_t k = (d * g->in[1] + h) * g->in[2] + w;
                                if (x[k] > most || x[k] != x[k]) most = x[k], best = k;
                            }
                    ((T *)j->y)[at] = most;
                    j->indices[at] = best;
                }
    });
}

static void fractional_range(void *ctx, int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) fractional_plane(ctx, p);
}

static const char *const fractional_dims[] = {"time", "height", "width"};

static ctsc_status fractional_check_input(op_ctx *cx, const tensor *input, int n,
                                          const pool_geometry *g) {
    sizes_text text;
    if (input->ndim != n + 1 && input->ndim != n + 2)
        return kernel_fail(cx,
                           n == 2 ? "fractional_max_pool%dd(): Expected %s tensor, but got: %s"
                                  : "fractional_max_pool%dd_out(): Expected %s tensor, but got: %s",
                           n, n == 2 ? "3D or 4D" : "4D or 5D", shape_print(input, &text));
    for (int k = 3 - n; k < 3; k++) {
        /* of three dims the width is looked at before the height */
        int i = n == 3 && k > 0 ? 3 - k : k;
        if (g->kernel[i] < 1 || g->out[i] < 0)
            return kernel_fail(
                cx, "fractional_max_pool%dd(): kernel_size and output_size must be positive", n);
        /* three dims need one more, as in PyTorch */
        if (g->out[i] > g->in[i] || g->kernel[i] > g->in[i] ||
            g->out[i] + g->kernel[i] - (n == 2) > g->in[i])
            return kernel_fail(
                cx,
                n == 2
                    ? "fractional_max_pool%dd(): pool %s %lld too large relative to input %s %lld"
                    : "fractional_max_pool%dd_out(): pool %s %lld too large relative to input %s "
                      "%lld",
                n, fractional_dims[i], (long long)g->kernel[i], fractional_dims[i],
                (long long)g->in[i]);
    }
    return CTSC_OK;
}

static ctsc_status fractional_check_samples(op_ctx *cx, const tensor *input, const tensor *samples,
                                            int n) {
    int64_t batch = input->ndim == n + 1 ? 1 : input->sizes[0];
    if (samples->dtype != input->dtype)
        return kernel_fail(cx, "expected scalar type %s but found %s",
                           dtype_table[input->dtype].ir_name, dtype_table[samples->dtype].ir_name);
    if (samples->ndim != 3)
        return kernel_fail(cx, "Expect _random samples to have 3 dimensions got, %d",
                           samples->ndim);
    if (samples->sizes[0] < batch)
        return kernel_fail(cx, "Expect _random_samples.size(0) no less then input batch size.");
    if (samples->sizes[1] != input->sizes[input->ndim - n - 1])
        return kernel_fail(cx, "Expect _random_samples.size(1) equals to input channel size.");
    if (samples->sizes[2] != n)
        return kernel_fail(cx, "Expect _random_samples.size(2) equals to %d; got %lld.", n,
                           (long long)samples->sizes[2]);
    return CTSC_OK;
}

static ctsc_status fractional_read(op_ctx *cx, const value *args, int n, pool_geometry *g) {
    const tensor *input = arg_tensor(&args[0]);
    *g = (pool_geometry){.in = {1, 1, 1}, .out = {1, 1, 1}, .kernel = {1, 1, 1}};
    if (!arg_ints_or_one(&args[1], n, g->kernel + 3 - n))
        return kernel_fail(
            cx, "fractional_max_pool%dd: kernel_size must either be a single Int or tuple of Ints",
            n);
    if (!arg_ints_or_one(&args[2], n, g->out + 3 - n))
        return kernel_fail(
            cx, "fractional_max_pool%dd: output_size must either be a single Int or tuple of Ints",
            n);
    for (int i = 0; i < n && i < input->ndim; i++) g->in[2 - i] = input->sizes[input->ndim - 1 - i];
    TRY(fractional_check_input(cx, input, n, g));
    TRY(fractional_check_samples(cx, input, arg_tensor(&args[3]), n));
    g->planes = sizes_product(input, 0, input->ndim - n);
    return CTSC_OK;
}

/* (self, kernel_size, output_size, random_samples) -> (output, indices into the plane) */
static ctsc_status fractional_pool(op_ctx *cx, const value *args, int n, value *results) {
    tensor *input = arg_tensor(&args[0]), *x = NULL, *samples = NULL, *out = NULL, *indices = NULL,
           *starts = NULL;
    pool_geometry g;
    int64_t sizes[TENSOR_MAX_DIMS];
    const dtype own = (dtype)input->dtype, dt = wide_dtype(own);
    if (!dtype_is_float(own))
        return op_refuse_dtype(
            cx, n == 2 ? "fractional_max_pool2d_out_frame" : "fractional_max_pool3d_out_frame",
            own);
    TRY(fractional_read(cx, args, n, &g));
    pool_result_sizes(input, n, &g, sizes);
    ctsc_status st = wide_as(cx, input, dt, &x);
    if (st == CTSC_OK) st = wide_as(cx, arg_tensor(&args[3]), dt, &samples);
    if (st == CTSC_OK) st = tensor_new(cx->diag, dt, input->ndim, sizes, &out);
    if (st == CTSC_OK) st = tensor_new(cx->diag, DT_INT64, input->ndim, sizes, &indices);
    const int64_t table[] = {g.planes, fractional_starts_of_plane(&g)};
    if (st == CTSC_OK) st = tensor_new(cx->diag, DT_INT64, 2, table, &starts);
    if (st == CTSC_OK && out->numel > 0) {
        fractional_job j = {.g = &g,
                            .n = n,
                            .dt = dt,
                            .own = own,
                            .x = tensor_data(x),
                            .samples = tensor_data(samples),
                            .y = tensor_data(out),
                            .indices = tensor_data(indices),
                            .starts = tensor_data(starts)};
        if (!fractional_place(&j))
            st = kernel_fail(
                cx, "fractional_max_pool%dd: a random sample puts a window outside of the input",
                n);
        else
            pool_for(g.planes,
                     kernel_grain(out->numel / g.planes * g.kernel[0] * g.kernel[1] * g.kernel[2]),
                     fractional_range, &j);
    }
    if (st == CTSC_OK) st = wide_round(cx, &out, own);
    tensor_unref(starts);
    tensor_unref(x);
    tensor_unref(samples);
    if (st != CTSC_OK) {
        tensor_unref(out);
        tensor_unref(indices);
        return st;
    }
    return op_finish_all(cx, args, 2, (tensor *[]){out, indices}, results);
}

ctsc_status op_fractional_max_pool2d(op_ctx *cx, const value *args, value *results) {
    return fractional_pool(cx, args, 2, results);
}
ctsc_status op_fractional_max_pool3d(op_ctx *cx, const value *args, value *results) {
    return fractional_pool(cx, args, 3, results);
}
