/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_core.c - softmax(scale * q k' + mask, filled where hidden) v.
 *
 * Method: some rows of one head at a time: their scores go to a scratch buffer (or to the weights,
 * if these are wanted), become weights there and multiplied by v, so that the whole matrix
 * of scores never exists. Threads share heads and blocks of rows. Floats are left to
 * attention_tiles.c, but for a few rows and where weights are wanted.
 * Tests: tests/unit/test_attention.c
 */
#include "base/memory/recycle.h"
#include "runtime/kernels/attention/attention_job.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <math.h>

/* x[i] = e^(x[i] - max); returns the sum. */
static ATTENTION_HOT float attention_weigh_float(float *x, int64_t n, float max) {
    float part[8] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++) x[i] = attention_exp(x[i] - max);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) part[j] += x[i + j];
    for (; i < n; i++) sum += x[i];
    for (int j = 0; j < 8; j++) sum += part[j];
    return sum;
}

static double attention_weigh_double(double *x, int64_t n, double max) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] = exp(x[i] - max);
    return sum;
}

#define T float
#define NAME(x) x##_float
#include "runtime/kernels/attention/attention_softmax.h"

#define T double
#define NAME(x) x##_double
#include "runtime/kernels/attention/attention_softmax.h"

static ctsc_status attention_item(const attention_job *job, diag *d, int64_t item, char *scratch) {
    const attention_call *c = job->call;
    size_t size = dtype_size(job->dt);
    int64_t head = item / job->blocks, begin = item % job->blocks * job->step;
    int64_t end = job->rows - begin < job->step ? job->rows : begin + job->step;
    gemm_matrix q = attention_at(c->q, job->q[head], size),
                k = attention_at(c->k, job->k[head], size);
    gemm_matrix v = attention_at(c->v, job->v[head], size),
                out = attention_at(c->out, job->out[head], size);
    gemm_matrix transposed = {k.p, k.cs, k.rs}, s = {scratch, job->cols, 1};
    if (c->weights)
        s.p = (char *)tensor_data(c->weights) +
              (size_t)((head * job->rows + begin) * job->cols) * size;
    q.p = (const char *)q.p + begin * q.rs * (int64_t)size;
    TRY(gemm_run(d, job->dt, end - begin, job->cols, job->depth, (gemm_scale){c->scale, 0}, q,
                 transposed, gemm_zero, (void *)s.p, job->cols));
    if (job->dt == DT_FLOAT32) attention_softmax_float(job, head, begin, end, (float *)s.p);
    else attention_softmax_double(job, head, begin, end, (double *)s.p);
    return gemm_run(d, job->dt, end - begin, job->width, job->cols, gemm_one, s, v, gemm_zero,
                    (char *)out.p + begin * out.rs * (int64_t)size, out.rs);
}

static ctsc_status attention_items(const attention_job *job, diag *d, int64_t begin, int64_t end) {
    size_t n = 0;
    char *scratch = NULL;
    if (!job->call->weights &&
        (!size_mul(ATTENTION_CORE_ROWS * dtype_size(job->dt), (size_t)job->cols, &n) ||
         !(scratch = recycle_alloc(n))))
        return diag_no_memory(d);
    ctsc_status st = CTSC_OK;
    for (int64_t i = begin; st == CTSC_OK && i < end; i++) st = attention_item(job, d, i, scratch);
    recycle_free(scratch, n);
    return st;
}

static void attention_chunk(void *ctx, int64_t begin, int64_t end) {
    attention_job *job = ctx;
    ctsc_status st = (job->tiles ? attention_tiles_run : attention_items)(job, NULL, begin, end);
    if (st != CTSC_OK) atomic_store(&job->failed, (int)st);
}

ctsc_status attention_compute(diag *d, const attention_call *call) {
    const tensor *out = call->out;
    int nb = out->ndim - 2;
    int64_t heads = 1;
    for (int i = 0; i < nb; i++) heads *= out->sizes[i];
    if (heads == 0 || out->numel == 0) return CTSC_OK;
    if (tensor_cuda(out)) return on_device->attention(d, call);
    size_t bytes;
    const tensor *operands[] = {call->q, call->k, call->v, call->out, call->mask, call->hidden};
    enum { OPERANDS = sizeof operands / sizeof *operands };
    if (!size_mul((size_t)heads, OPERANDS * sizeof(int64_t), &bytes)) return diag_no_memory(d);
    int64_t *offsets = recycle_alloc(bytes);
    if (!offsets) return diag_no_memory(d);
    for (int i = 0; i < OPERANDS; i++)
        if (operands[i]) gemm_offsets(operands[i], nb, out->sizes, heads, offsets + i * heads);
    attention_job job = {.call = call,
                         .dt = (dtype)call->q->dtype,
                         .heads = heads,
                         .rows = out->sizes[nb],
                         .cols = call->k->sizes[call->k->ndim - 2],
                         .depth = call->q->sizes[call->q->ndim - 1],
                         .width = out->sizes[nb + 1],
                         .q = offsets,
                         .k = offsets + heads,
                         .v = offsets + 2 * heads,
                         .out = offsets + 3 * heads,
                         .mask = offsets + 4 * heads,
                         .hidden = offsets + 5 * heads,
                         .step = ATTENTION_CORE_ROWS};
    job.tiles = attention_tiles_fit(&job);
    job.blocks = (job.rows + job.step - 1) / job.step;
    double cost = (double)(job.rows < job.step ? job.rows : job.step) * (double)(job.cols + 1) *
                  (double)(job.depth + job.width);
    bool whole = pool_for_limited(heads * job.blocks, (int64_t)(100000 / (cost + 1)) + 1,
                                  attention_chunk, &job);
    recycle_free(offsets, bytes);
    if (!whole) return limits_fail(d);
    int failed = atomic_load(&job.failed);
    if (failed == CTSC_OK) return CTSC_OK;
    return failed == CTSC_LIMIT ? diag_no_memory(d)
                                : diag_fail(d, (ctsc_status)failed, "attention failed");
}
