/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_quads.c - attention of bfloat16 on processors that
 * multiply pairs of it (cpu/quad/quad.h), for many queries.
 *
 * Method. Keys and values of a head are packed once for the queries of an item, as weights of
 * linear layers are: keys as columns of pairs along their depth, values as columns of pairs of
 * keys, ONLINE_KEYS keys at a time. Some queries pass them block by block:
 *
 *     S [queries][keys]  = Q K'          floats
 *     P [queries][keys]  = softmax so far, rounded to bfloat16
 *     O [queries][width] = O * factor + P V
 *
 * Only keys that some query of an item sees are packed. Heads that
 * share keys and values are one group, with consecutive queries.
 * Tests: tests/unit/test_attention.c
 */
#include "base/memory/recycle.h"
#include "runtime/kernels/attention/attention_online.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/matmul/quad_matrix.h"

enum {
    QUADS_QUERIES = 32, /* that pass the keys together */
    QUADS_PAIRS = ONLINE_KEYS / QUAD_PAIR,
};

/* Memory of one thread. */
typedef struct quads {
    const attention_job *job;
    int64_t depth, width; /* depth: of whole steps; width: of whole panels */
    int64_t head;         /* whose keys and values are packed; -1: nobody's, */
    int64_t first, end;   /* of these keys */
    quad_matrix k, v;     /* v: of one block */
    quad_hold hold;
    uint32_t *keys, *values; /* packed */
    bfloat16 *q, *p;         /* [QUADS_QUERIES][depth], [QUADS_QUERIES][ONLINE_KEYS] */
    float *s, *o, *more;     /* [QUADS_QUERIES][ONLINE_KEYS], [QUADS_QUERIES][width] twice */
} quads;

static bool quads_fit(attention_job *job) {
    if (job->dt != DT_BFLOAT16 || !ukernel_quad(UKERNEL_BF16) || job->cols < 1 || job->depth < 1 ||
        job->rows * job->share < QUADS_LEAST)
        return false;
    attention_group_heads(job);
    attention_cut(job, QUADS_QUERIES);
    return true;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* The pair of elements at p and p + step; all: is there a second one? */
static inline uint32_t quads_pair(const uint16_t *p, int64_t step, bool all) {
    return p[0] | (all ? (uint32_t)p[step] << 16 : 0);
}

/* Keys [first, end): pairs of depth, QUAD_COLUMNS keys side by side. */
static void quads_pack_keys(const quads *t, gemm_matrix k) {
    int64_t depth = t->job->depth, pairs = t->depth / QUAD_PAIR, n = t->end - t->first;
    for (int64_t j = 0; j < n; j++) {
        const uint16_t *from = (const uint16_t *)k.p + (t->first + j) * k.rs;
        uint32_t *to = t->keys + j / QUAD_COLUMNS * pairs * QUAD_COLUMNS + j % QUAD_COLUMNS;
        for (int64_t i = 0; i * QUAD_PAIR < depth; i++)
            to[i * QUAD_COLUMNS] = quads_pair(from + i * QUAD_PAIR * k.cs, k.cs,
                                              (i + 1) * QUAD_PAIR <= depth);
    }
}

/* Values of keys [first, first + n): pairs of keys, QUAD_COLUMNS elements side by side, and zeros
 * up to whole steps. */
VECTOR_LOOPS static void quads_pack_values(const quads *t, gemm_matrix v, int64_t first, int64_t n,
                                           uint32_t *to) {
    int64_t width = t->job->width, pairs = (n + 1) / QUAD_PAIR,
            whole = quad_whole_k(t->v.kernels, n) / QUAD_PAIR;
    for (int64_t w = 0; w < width; w += QUAD_COLUMNS, to += whole * QUAD_COLUMNS) {
        memset(to + pairs * QUAD_COLUMNS, 0, (size_t)((whole - pairs) * QUAD_COLUMNS) * sizeof *to);
        for (int64_t i = 0; i < pairs; i++) {
            const uint16_t *from = (const uint16_t *)v.p + (first + i * QUAD_PAIR) * v.rs +
                                   w * v.cs;
            int64_t columns = int64_min(QUAD_COLUMNS, width - w);
            bool all = (i + 1) * QUAD_PAIR <= n;
            if (all && v.cs == 1 && columns == QUAD_COLUMNS)
                for (int c = 0; c < QUAD_COLUMNS; c++)
                    to[i * QUAD_COLUMNS + c] = from[c] | (uint32_t)from[v.rs + c] << 16;
            else
                for (int64_t c = 0; c < columns; c++)
                    to[i * QUAD_COLUMNS + c] = quads_pair(from + c * v.cs, v.rs, all);
        }
    }
}

/* The packed values of the block of keys from `first` on. */
static uint32_t *quads_values(const quads *t, int64_t first) {
    return t->values + (first - t->first) / ONLINE_KEYS * QUADS_PAIRS * t->width;
}

/* Keys and values of a head that these queries see. */
static void quads_pack(quads *t, int64_t head, int64_t first, int64_t end) {
    const attention_job *job = t->job;
    gemm_matrix k = attention_at(job->call->k, job->k[head], sizeof(bfloat16)),
                v = attention_at(job->call->v, job->v[head], sizeof(bfloat16));
    size_t bytes;
    if (t->head >= 0 && job->k[t->head] == job->k[head] && job->v[t->head] == job->v[head] &&
        t->first == first && t->end == end)
        return;
    t->head = head, t->first = first, t->end = end;
    t->k.n = end - first;
    quad_matrix_bf16(&t->k, &bytes);
    quads_pack_keys(t, k);
    for (int64_t j = first; j < end; j += ONLINE_KEYS)
        quads_pack_values(t, v, j, int64_min(ONLINE_KEYS, end - j), quads_values(t, j));
}

/* ---- queries --------------------------------------------------------------------------------- */

static void quads_load(const quads *t, const online_query *queries, int64_t n) {
    const attention_job *job = t->job;
    for (int64_t i = 0; i < n; i++) {
        gemm_matrix q = attention_at(job->call->q, job->q[queries[i].head], sizeof(bfloat16));
        const bfloat16 *from = (const bfloat16 *)q.p + queries[i].row * q.rs;
        bfloat16 *to = t->q + i * t->depth;
        if (q.cs == 1) memcpy(to, from, (size_t)job->depth * sizeof *to);
        else
            for (int64_t e = 0; e < job->depth; e++) to[e] = from[e * q.cs];
    }
}

/* What some queries see of a block of keys: [first, end), of `all` that are packed; the first
 * `skipped` are not looked at. */
typedef struct quads_block {
    int64_t first, end, all, skipped;
} quads_block;

static const int64_t quads_segment[1] = {0};

/* Scores of n queries, then weights. */
static void quads_weights(quads *t, online_query *queries, int64_t n, const quads_block *b,
                          float *factors) {
    int64_t begin = b->first - t->first, seen = b->end - b->first - b->skipped,
            whole = quad_whole_k(t->v.kernels, b->all);
    quad_strip s = {.a = t->q,
                    .rows = n,
                    .lda = t->depth * (int64_t)sizeof *t->q,
                    .segment = quads_segment,
                    .out = t->s + b->skipped,
                    .ldc = ONLINE_KEYS};
    quad_strip_run(&t->k, 0, (begin + b->skipped) / QUAD_COLUMNS,
                   (begin + b->end - b->first + QUAD_COLUMNS - 1) / QUAD_COLUMNS, &s, &t->hold);
    for (int64_t i = 0; i < n; i++) {
        float *weights = t->s + i * ONLINE_KEYS + b->skipped;
        bfloat16 *p = t->p + i * ONLINE_KEYS;
        factors[i] = online_weigh(t->job, &queries[i], b->first + b->skipped, seen, weights);
        memset(p, 0, (size_t)whole * sizeof *p);
        bfloat16_from_floats(weights, p + b->skipped, (size_t)seen);
    }
}

static void quads_add_block(quads *t, online_query *queries, int64_t n, const quads_block *b) {
    float factors[QUADS_QUERIES];
    size_t bytes;
    quads_weights(t, queries, n, b, factors);
    t->v.k = quad_whole_k(t->v.kernels, b->all);
    quad_matrix_bf16(&t->v, &bytes);
    t->v.data = (int8_t *)quads_values(t, b->first);
    quad_strip s = {.a = t->p,
                    .rows = n,
                    .lda = ONLINE_KEYS * (int64_t)sizeof *t->p,
                    .segment = quads_segment,
                    .out = t->more,
                    .ldc = t->width};
    quad_strip_run(&t->v, 0, 0, t->v.panels, &s, &t->hold);
    for (int64_t i = 0; i < n; i++)
        online_add(t->o + i * t->width, t->more + i * t->width, factors[i], t->width);
}

/* n queries of a group from `begin` on. */
static void quads_queries(quads *t, int64_t group, int64_t begin, int64_t n) {
    online_query queries[QUADS_QUERIES];
    int64_t first, end;
    online_begin(t->job, group, begin, n, queries);
    online_span(t->job, queries, n, &first, &end);
    quads_load(t, queries, n);
    memset(t->o, 0, (size_t)(n * t->width) * sizeof *t->o);
    for (int64_t j = t->first; j < end; j += ONLINE_KEYS) {
        quads_block b = {j, int64_min(j + ONLINE_KEYS, end), int64_min(ONLINE_KEYS, t->end - j),
                         int64_max(first - j, 0) / QUAD_COLUMNS * QUAD_COLUMNS};
        if (j + ONLINE_KEYS > first) quads_add_block(t, queries, n, &b);
    }
    for (int64_t i = 0; i < n; i++) online_finish(t->job, &queries[i], t->o + i * t->width);
}

/* The keys that queries [begin, begin + n) of a group see. */
static void quads_span(const quads *t, int64_t group, int64_t begin, int64_t n, int64_t *first,
                       int64_t *end) {
    online_query queries[QUADS_QUERIES];
    *first = t->job->cols, *end = 0;
    for (int64_t i = 0, some; i < n; i += some) {
        int64_t from, to;
        some = int64_min(QUADS_QUERIES, n - i);
        online_begin(t->job, group, begin + i, some, queries);
        online_span(t->job, queries, some, &from, &to);
        if (from == to) continue;
        *first = int64_min(*first, from);
        *end = int64_max(*end, to);
    }
    *end = int64_max(*first, *end);
}

static void quads_item(quads *t, int64_t item) {
    const attention_job *job = t->job;
    int64_t group = item / job->blocks, begin = item % job->blocks * job->step,
            n = int64_min(job->step, job->queries - begin), first, end;
    quads_span(t, group, begin, n, &first, &end);
    quads_pack(t, group * job->share, first, end);
    for (int64_t i = 0; i < n; i += QUADS_QUERIES)
        quads_queries(t, group, begin + i, int64_min(QUADS_QUERIES, n - i));
}

static ctsc_status quads_run(const attention_job *job, diag *d, int64_t begin, int64_t end) {
    const quad_kernels *u = ukernel_quad(UKERNEL_BF16);
    quads t = {.job = job,
               .head = -1,
               .depth = quad_whole_k(u, job->depth),
               .width = (job->width + QUAD_COLUMNS - 1) / QUAD_COLUMNS * QUAD_COLUMNS};
    int64_t keys = (job->cols + ONLINE_KEYS - 1) / ONLINE_KEYS * ONLINE_KEYS;
    const attention_part parts[] = {
        {&t.keys, keys, t.depth / QUAD_PAIR, sizeof *t.keys},
        {&t.values, keys / QUAD_PAIR, t.width, sizeof *t.values},
        {&t.q, QUADS_QUERIES, t.depth, sizeof *t.q},
        {&t.p, QUADS_QUERIES, ONLINE_KEYS, sizeof *t.p},
        {&t.s, QUADS_QUERIES, ONLINE_KEYS, sizeof *t.s},
        {&t.o, QUADS_QUERIES, t.width, sizeof *t.o},
        {&t.more, QUADS_QUERIES, t.width, sizeof *t.more},
    };
    char *memory;
    size_t total;
    if (!attention_memory(parts, sizeof parts / sizeof *parts, &memory, &total))
        return diag_no_memory(d);
    memset(memory, 0, total);
    t.k = (quad_matrix){
        .kernels = u, .groups = 1, .segments = 1, .k = t.depth, .data = (int8_t *)t.keys};
    t.v = (quad_matrix){.kernels = u, .n = job->width, .groups = 1, .segments = 1};
    for (int64_t item = begin; item < end; item++) quads_item(&t, item);
    quad_release(&t.hold);
    recycle_free(memory, total);
    return CTSC_OK;
}

const attention_way attention_quads = {quads_fit, quads_run};
