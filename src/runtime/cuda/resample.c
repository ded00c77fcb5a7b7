/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample.c - pooling, padding by a rule and resizing on a CUDA device. Which places an output is
 * made of comes as tables from the host's functions (dense_table_get).
 * Tests: tests/unit/test_cuda_dense.c
 */
#include "runtime/cuda/dense.h"
#include "runtime/kernels/pool/pool.h"

DENSE_FILE(resample)
DENSE_FILE(gather3)

ctsc_status dense_pool_run(diag *d, cuda *c, dtype dt, const pool_geometry *g, dense_pooling how,
                           const void *x, void *y, int64_t *places, int64_t divisor,
                           bool count_padding) {
    dense_pool p = {.x = x,
                    .y = y,
                    .places = (dense_int *)places,
                    .planes = g->planes,
                    .divisor = divisor,
                    .count_padding = count_padding,
                    .average = how == DENSE_AVERAGE || how == DENSE_ADAPTIVE_AVERAGE,
                    .adaptive = how == DENSE_ADAPTIVE_MAX || how == DENSE_ADAPTIVE_AVERAGE};
    int64_t n = g->planes;
    for (int i = 0; i < 3; i++) {
        p.in[i] = g->in[i], p.out[i] = g->out[i], p.kernel[i] = g->kernel[i];
        p.stride[i] = g->stride[i], p.pad[i] = g->pad[i], p.dilation[i] = g->dilation[i];
        n *= g->out[i] > 0 ? g->out[i] : 0;
    }
    return dense_each(d, c, &cuda_file_resample, dense_defines(dt), "pool", n, &p, sizeof p);
}

ctsc_status dense_gather3_run(diag *d, const tensor *src, tensor *dst, int64_t planes,
                              const int64_t in[3], const int64_t out[3], int64_t *const at[3]) {
    cuda *c = cuda_of(dst);
    dense_table tables[3] = {{0}};
    dense_gather3 p = {.x = tensor_data(src), .y = tensor_data(dst), .planes = planes};
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < 3 && st == CTSC_OK; i++) {
        st = dense_table_get(d, c, at[i], (size_t)out[i] * sizeof *at[i], &tables[i]);
        p.at[i] = tables[i].at, p.in[i] = in[i], p.out[i] = out[i];
    }
    if (st == CTSC_OK)
        st = dense_each(d, c, &cuda_file_gather3,
                        dense_defines_of_size(dtype_size((dtype)src->dtype)), "gather3", dst->numel,
                        &p, sizeof p);
    for (int i = 0; i < 3; i++) dense_table_end(c, &tables[i]);
    return st;
}

ctsc_status dense_resample_run(diag *d, const tensor *x, tensor *y, int64_t planes,
                               const dense_taps dims[3]) {
    cuda *c = cuda_of(y);
    dense_table at[3] = {{0}}, weights[3] = {{0}};
    dense_resample p = {.x = tensor_data(x), .y = tensor_data(y), .planes = planes};
    size_t weight_size = x->dtype == DT_FLOAT64 ? sizeof(double) : sizeof(float);
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < 3 && st == CTSC_OK; i++) {
        const dense_taps *t = &dims[i];
        size_t n = (size_t)(t->out * t->taps);
        st = dense_table_get(d, c, t->at, n * sizeof *t->at, &at[i]);
        if (st == CTSC_OK) st = dense_table_get(d, c, t->weight, n * weight_size, &weights[i]);
        p.at[i] = at[i].at, p.weight[i] = weights[i].at, p.in[i] = t->in, p.out[i] = t->out,
        p.taps[i] = t->taps;
    }
    if (st == CTSC_OK)
        st = dense_each(d, c, &cuda_file_resample, dense_defines((dtype)x->dtype), "resample",
                        y->numel, &p, sizeof p);
    for (int i = 0; i < 3; i++) dense_table_end(c, &at[i]), dense_table_end(c, &weights[i]);
    return st;
}
