/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_core.c - softmax(scale * q k' + mask, filled where hidden) v.
 *
 * Method: some rows of one head at a time: their scores go to a scratch buffer (or to the
 * weights, if requested), become weights there and are multiplied by v, so the whole matrix
 * of scores never exists. Threads share heads and blocks of rows. This is for double, a few
 * rows of floats, and where weights are requested; attention_job.h lists the other methods.
 * Tests: tests/unit/test_attention.c
 */
#include "base/memory/recycle.h"
#include "runtime/kernels/attention/attention_job.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <math.h>
#include <string.h>

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

static bool attention_items_fit(attention_job *job) {
    job->step = ATTENTION_CORE_ROWS;
    return job->dt == DT_FLOAT32 || job->dt == DT_FLOAT64;
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

/* ---- calls ----------------------------------------------------------------------------------- */

static const attention_way attention_rows = {attention_items_fit, attention_items};

/* The first that fits. */
static const attention_way *const attention_ways[] = {&attention_quads, &attention_tiles,
                                                      &attention_rows, &attention_few};

void attention_cut(attention_job *job, int64_t multiple) {
    job->step = (job->queries + multiple - 1) / multiple * multiple;
    while (job->groups * ((job->queries + job->step - 1) / job->step) < TILES_ITEMS &&
           job->step >= 2 * TILES_LEAST_ROWS)
        job->step = (job->step / 2 + multiple - 1) / multiple * multiple;
}

bool attention_memory(const attention_part *parts, size_t n, char **memory, size_t *total) {
    enum { ALIGN = 64, SLACK = 16 }; /* elements that packing may write after the last panel */
    size_t bytes, all = ALIGN;
    for (size_t i = 0; i < n; i++) {
        if (!size_mul((size_t)parts[i].rows, (size_t)parts[i].length, &bytes) ||
            !size_mul(bytes + SLACK, parts[i].size, &bytes) || bytes > SIZE_MAX / 2 - all)
            return false;
        all += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    if (!(*memory = recycle_alloc(all))) return false;
    char *at = *memory + (-(uintptr_t)*memory & (ALIGN - 1));
    for (size_t i = 0; i < n; i++) {
        memcpy(parts[i].at, &at, sizeof at);
        bytes = ((size_t)parts[i].rows * (size_t)parts[i].length + SLACK) * parts[i].size;
        at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    *total = all;
    return true;
}

static void attention_chunk(void *ctx, int64_t begin, int64_t end) {
    attention_job *job = ctx;
    ctsc_status st = job->way->run(job, NULL, begin, end);
    if (st != CTSC_OK) atomic_store(&job->failed, (int)st);
}

/* How many heads after one another have the same keys and values, everywhere. */
static int64_t attention_share(const attention_job *job) {
    int64_t share = 1;
    while (share < job->heads && job->k[share] == job->k[0] && job->v[share] == job->v[0]) share++;
    if (job->heads % share) return 1;
    for (int64_t h = 0; h < job->heads; h++)
        if (job->k[h] != job->k[h - h % share] || job->v[h] != job->v[h - h % share]) return 1;
    return share;
}

static void attention_choose(attention_job *job) {
    job->share = attention_share(job);
    for (size_t i = 0; !job->way; i++) {
        job->groups = job->heads, job->queries = job->rows;
        if (attention_ways[i]->fit(job)) job->way = attention_ways[i];
    }
    job->blocks = (job->queries + job->step - 1) / job->step;
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
                         .hidden = offsets + 5 * heads};
    attention_choose(&job);
    double cost = (double)(job.queries < job.step ? job.queries : job.step) *
                  (double)(job.cols + 1) * (double)(job.depth + job.width);
    bool whole = pool_for_limited(job.groups * job.blocks, (int64_t)(100000 / (cost + 1)) + 1,
                                  attention_chunk, &job);
    recycle_free(offsets, bytes);
    if (!whole) return limits_fail(d);
    int failed = atomic_load(&job.failed);
    if (failed == CTSC_OK) return CTSC_OK;
    return failed == CTSC_LIMIT ? diag_no_memory(d)
                                : diag_fail(d, (ctsc_status)failed, "attention failed");
}
