/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_few.c - attention of float16 and bfloat16 for few queries, as when
 * a model generates one token after another: keys and values are read once.
 *
 * Method. Some keys at a time are converted to floats in the L1 cache, then their values;
 * the queries of all heads that share them use them there. Results are rounded once.
 * Tests: tests/unit/test_attention.c
 */
#include "base/memory/recycle.h"
#include "runtime/kernels/attention/attention_online.h"
#include "runtime/kernels/engine/wide.h"

enum { FEW_QUERIES = 8, FEW_KEYS = 64 }; /* of a block */

/* Memory of one thread. Rows are `depth` or `width` elements long: whole vectors, zero-padded. */
typedef struct few {
    const attention_job *job;
    int64_t depth, width;
    /* [FEW_QUERIES][depth], [FEW_KEYS][depth], [FEW_KEYS][width], [FEW_QUERIES][FEW_KEYS],
     * [FEW_QUERIES][width] */
    float *q, *k, *v, *s, *o;
} few;

/* s[j] = q k[j] */
static ATTENTION_HOT void few_products(const float *restrict q, const float *restrict k,
                                       int64_t depth, int64_t keys, float *restrict s) {
    for (int64_t j = 0; j < keys; j++, k += depth) {
        float sum[ONLINE_LANES] = {0};
        for (int64_t i = 0; i < depth; i += ONLINE_LANES)
            for (int l = 0; l < ONLINE_LANES; l++) sum[l] += q[i + l] * k[i + l];
        for (int half = ONLINE_LANES / 2; half; half /= 2)
            for (int l = 0; l < half; l++) sum[l] += sum[l + half];
        s[j] = sum[0];
    }
}

/* o = o * factor + p v; as many columns at a time as sums do not wait for one another. */
static ATTENTION_HOT void few_weighed(float *restrict o, float factor, const float *restrict p,
                                      const float *restrict v, int64_t width, int64_t keys) {
    int64_t i = 0;
    for (; i + 4 * ONLINE_LANES <= width; i += 4 * ONLINE_LANES) {
        float a[ONLINE_LANES], b[ONLINE_LANES], c[ONLINE_LANES], d[ONLINE_LANES];
        float *restrict to = o + i;
        const float *restrict row = v + i;
        for (int l = 0; l < ONLINE_LANES; l++) a[l] = to[l] * factor;
        for (int l = 0; l < ONLINE_LANES; l++) b[l] = to[l + ONLINE_LANES] * factor;
        for (int l = 0; l < ONLINE_LANES; l++) c[l] = to[l + 2 * ONLINE_LANES] * factor;
        for (int l = 0; l < ONLINE_LANES; l++) d[l] = to[l + 3 * ONLINE_LANES] * factor;
        for (int64_t j = 0; j < keys; j++, row += width) {
            for (int l = 0; l < ONLINE_LANES; l++) a[l] += p[j] * row[l];
            for (int l = 0; l < ONLINE_LANES; l++) b[l] += p[j] * row[l + ONLINE_LANES];
            for (int l = 0; l < ONLINE_LANES; l++) c[l] += p[j] * row[l + 2 * ONLINE_LANES];
            for (int l = 0; l < ONLINE_LANES; l++) d[l] += p[j] * row[l + 3 * ONLINE_LANES];
        }
        for (int l = 0; l < ONLINE_LANES; l++) to[l] = a[l];
        for (int l = 0; l < ONLINE_LANES; l++) to[l + ONLINE_LANES] = b[l];
        for (int l = 0; l < ONLINE_LANES; l++) to[l + 2 * ONLINE_LANES] = c[l];
        for (int l = 0; l < ONLINE_LANES; l++) to[l + 3 * ONLINE_LANES] = d[l];
    }
    for (; i < width; i += ONLINE_LANES) {
        float sum[ONLINE_LANES];
        for (int l = 0; l < ONLINE_LANES; l++) sum[l] = o[i + l] * factor;
        for (int64_t j = 0; j < keys; j++)
            for (int l = 0; l < ONLINE_LANES; l++) sum[l] += p[j] * v[j * width + i + l];
        for (int l = 0; l < ONLINE_LANES; l++) o[i + l] = sum[l];
    }
}

static bool few_fit(attention_job *job) {
    attention_group_heads(job);
    job->step = FEW_QUERIES;
    return true;
}

/* Rows of t from a head's on as floats. */
static void few_load(const few *f, const tensor *t, int64_t offset, int64_t first, int64_t rows,
                     int64_t n, float *to, int64_t ld) {
    gemm_matrix m = attention_at(t, offset + first * t->strides[t->ndim - 2], sizeof(uint16_t));
    online_floats(f->job->dt, m.p, m.rs, m.cs, rows, n, to, ld);
}

static void few_block(const few *f, online_query *queries, int64_t n, int64_t first, int64_t keys) {
    const attention_job *job = f->job;
    const attention_call *c = job->call;
    int64_t head = queries[0].head;
    few_load(f, c->k, job->k[head], first, keys, job->depth, f->k, f->depth);
    few_load(f, c->v, job->v[head], first, keys, job->width, f->v, f->width);
    for (int64_t i = 0; i < n; i++) {
        float *s = f->s + i * FEW_KEYS;
        few_products(f->q + i * f->depth, f->k, f->depth, keys, s);
        float factor = online_weigh(job, &queries[i], first, keys, s);
        few_weighed(f->o + i * f->width, factor, s, f->v, f->width, keys);
    }
}

static void few_item(const few *f, int64_t item) {
    const attention_job *job = f->job;
    online_query queries[FEW_QUERIES];
    int64_t group = item / job->blocks, begin = item % job->blocks * job->step,
            n = int64_min(job->step, job->queries - begin), first, end;
    online_begin(job, group, begin, n, queries);
    online_span(job, queries, n, &first, &end);
    memset(f->o, 0, (size_t)(n * f->width) * sizeof *f->o);
    for (int64_t i = 0; i < n; i++)
        few_load(f, job->call->q, job->q[queries[i].head], queries[i].row, 1, job->depth,
                 f->q + i * f->depth, f->depth);
    for (int64_t j = first; j < end; j += FEW_KEYS)
        few_block(f, queries, n, j, int64_min(FEW_KEYS, end - j));
    for (int64_t i = 0; i < n; i++) online_finish(job, &queries[i], f->o + i * f->width);
}

static ctsc_status few_run(const attention_job *job, diag *d, int64_t begin, int64_t end) {
    few f = {.job = job, .depth = online_round(job->depth), .width = online_round(job->width)};
    const attention_part parts[] = {
        {&f.q, FEW_QUERIES, f.depth, sizeof(float)}, {&f.k, FEW_KEYS, f.depth, sizeof(float)},
        {&f.v, FEW_KEYS, f.width, sizeof(float)},    {&f.s, FEW_QUERIES, FEW_KEYS, sizeof(float)},
        {&f.o, FEW_QUERIES, f.width, sizeof(float)},
    };
    char *memory;
    size_t total;
    if (!attention_memory(parts, sizeof parts / sizeof *parts, &memory, &total))
        return diag_no_memory(d);
    memset(memory, 0, total);
    for (int64_t item = begin; item < end; item++) few_item(&f, item);
    recycle_free(memory, total);
    return CTSC_OK;
}

const attention_way attention_few = {few_fit, few_run};
