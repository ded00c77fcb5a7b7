/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_tiles.c - rows of one head of attention on the micro-kernels of matrix
 * products (gemm_micro.h).
 *
 * Method: everything is transposed, so that queries run
 * across the vectors, as many as a tile has columns (nr):
 *
 *     S' [keys][nr]  = scale K Q' + mask'    tiles of mr keys
 *     P' [keys][nr]  = e^(S' - its columns' maxima)
 *     O' [width][nr] = V' P'                 tiles of mr elements of the result; P' is read as it was made
 *
 * Softmax runs down columns: there are no sums across a vector, and sequences of any
 * length fill the vectors. Columns of O' are divided by those of P' in the end, and
 * transposed back. Keys and values of a head are packed once for all the queries that an
 * item has. Keys that no query of a tile sees are skipped, where their weights are 0: in
 * causal heads, and where the fill value of hidden keys is far enough below the largest
 * score of each query. Each element is a separate sum, in the order of the keys.
 *
 * float16 and bfloat16 are converted to floats before packing, a
 * head's keys or values at a time, and results are rounded once.
 * Tests: tests/unit/test_attention.c
 */
#include "runtime/kernels/attention/attention_job.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/wide.h"

#include "base/memory/recycle.h"
#include "cpu/vector.h"

#include <math.h>
#include <string.h>

/* Memory of one thread. */
typedef struct tiles {
    const gemm_micro *u;
    const attention_job *job;
    /* packed; s: [cols][nr], mask: the same or NULL, o: [width][nr] */
    float *k, *v, *q, *s, *mask, *o;
    float *wide;               /* rows that become floats, or do no more */
    unsigned char *some, *all; /* are the keys hidden to some of a tile's queries, to all? */
    int64_t head;              /* whose keys and values are packed; -1: nobody's */
} tiles;

/* Queries [begin, begin + n) of a head, at most nr of them, and the keys that are looked at. */
typedef struct tiles_part {
    int64_t head, begin, n;
    int64_t first, end;
    int lanes;
} tiles_part;

static int64_t tiles_round(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

static bool tiles_fit(attention_job *job) {
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    if (!u || wide_dtype(job->dt) != DT_FLOAT32 || job->call->weights ||
        job->rows < TILES_FEW_ROWS || job->cols < 1 || job->depth < 1)
        return false;
    attention_cut(job, u->nr);
    return true;
}

/* A matrix of elements of dt from p on as floats: where it is, or as rows of n at t->wide. */
static gemm_matrix tiles_floats(const tiles *t, dtype dt, gemm_matrix m, int64_t rows, int64_t n) {
    if (dt == DT_FLOAT32) return m;
    const uint16_t *from = m.p;
    for (int64_t i = 0; i < rows; i++, from += m.rs) {
        float *to = t->wide + i * n;
        if (m.cs == 1) halves_to_floats(dt, from, to, n);
        else
            for (int64_t j = 0; j < n; j++) halves_to_floats(dt, from + j * m.cs, to + j, 1);
    }
    return (gemm_matrix){.p = t->wide, .rs = n, .cs = 1};
}

enum { TILES_LANES = 8 }; /* columns that the following are for, at least */

/* ---- softmax down the columns ---------------------------------------------------------------- */

#define LANES 8
#define NAME(x) x##_8
#include "runtime/kernels/attention/attention_columns.h"

#define LANES 16
#define NAME(x) x##_16
#include "runtime/kernels/attention/attention_columns.h"

#define LANES 32
#define NAME(x) x##_32
#include "runtime/kernels/attention/attention_columns.h"

/* Scores to weights that are still to be multiplied by factor[0 ... lanes). */
static void tiles_softmax(const tiles *t, const tiles_part *p, const float *max, float *factor) {
    float from[GEMM_MAX_COLS], sum[GEMM_MAX_COLS];
    int64_t nr = t->u->nr;
    bool safe = t->job->call->safe;
    for (int i = 0; i < p->lanes; i++) from[i] = safe && max[i] == -INFINITY ? 0 : max[i];
    (p->lanes == 8    ? tiles_weigh_8
     : p->lanes == 16 ? tiles_weigh_16
                      : tiles_weigh_32)(t->s + p->first * nr, p->end - p->first, nr, from, sum);
    for (int i = 0; i < p->lanes; i++) factor[i] = safe && sum[i] == 0 ? 0 : 1 / sum[i];
}

/* ---- keys that are hidden -------------------------------------------------------------------- */

VECTOR_LOOPS static void tiles_hidden_rows(const attention_mask *m, int64_t rows, int64_t keys,
                                           bool shown, unsigned char *restrict some,
                                           unsigned char *restrict all) {
    memset(some, 0, (size_t)keys), memset(all, 1, (size_t)keys);
    for (int64_t i = 0; i < rows; i++) {
        const char *restrict row = m->p + i * m->rs;
        if (m->cs == 1)
            for (int64_t j = 0; j < keys; j++) {
                unsigned char hides = (row[j] != 0) ^ shown;
                some[j] |= hides, all[j] &= hides;
            }
        else
            for (int64_t j = 0; j < keys; j++) {
                unsigned char hides = (row[j * m->cs] != 0) ^ shown;
                some[j] |= hides, all[j] &= hides;
            }
    }
}

/* All keys that any of the part's queries sees are [*first, *end); none: all keys. */
static void tiles_span(const tiles *t, const tiles_part *p, const attention_mask *m, int64_t *first,
                       int64_t *end) {
    int64_t keys = t->job->cols;
    tiles_hidden_rows(m, m->rs ? p->n : 1, keys, t->job->call->shown, t->some, t->all);
    *first = 0, *end = keys;
    while (*first < keys && t->all[*first]) ++*first;
    if (*first == keys) *first = 0;
    while (*end > *first + 1 && t->all[*end - 1]) --*end;
    *first -= *first % t->u->mr;
}

/* 1 where the part's queries do not see the part's keys, transposed to t->mask. */
static void tiles_hidden(const tiles *t, const tiles_part *p, const attention_mask *m) {
    int64_t keys = p->end - p->first;
    bool shown = t->job->call->shown;
    for (int64_t i = 0; i < p->n; i++) {
        const char *row = m->p + i * m->rs + p->first * m->cs;
        float *to = t->wide + i * keys;
        for (int64_t j = 0; j < keys; j++) to[j] = (row[j * m->cs] != 0) != shown;
    }
    t->u->pack(t->wide, p->n, keys, keys, 1, (int)t->u->nr, t->mask);
}

static void tiles_hide(const tiles *t, const tiles_part *p, const attention_mask *m) {
    int64_t nr = t->u->nr;
    float fill = (float)t->job->call->fill;
    bool differ = false;
    for (int64_t j = p->first; j < p->end; j++) {
        if (t->all[j])
            for (int i = 0; i < p->lanes; i++) t->s[j * nr + i] = fill;
        differ = differ || (t->some[j] && !t->all[j]);
    }
    if (!differ) return;
    tiles_hidden(t, p, m);
    (p->lanes == 8    ? tiles_fill_8
     : p->lanes == 16 ? tiles_fill_16
                      : tiles_fill_32)(t->s + p->first * nr, t->mask, p->end - p->first, nr, fill);
}

/* Is the weight of a score of `fill` 0 for each query, whose largest scores these are? */
static bool tiles_fill_is_far(const tiles *t, const tiles_part *p, const float *max) {
    bool far = true;
    for (int64_t i = 0; i < p->n; i++)
        far = far && (float)t->job->call->fill - max[i] < -ATTENTION_EXP_MOST;
    return far;
}

/* ---- queries --------------------------------------------------------------------------------- */

static void tiles_pack_head(tiles *t, int64_t head) {
    const attention_job *job = t->job;
    size_t size = dtype_size(job->dt);
    gemm_matrix k = attention_at(job->call->k, job->k[head], size),
                v = attention_at(job->call->v, job->v[head], size);
    if (t->head >= 0 && job->k[t->head] == job->k[head] && job->v[t->head] == job->v[head]) return;
    t->head = head;
    k = tiles_floats(t, job->dt, k, job->cols, job->depth);
    t->u->pack(k.p, job->cols, job->depth, k.rs, k.cs, t->u->mr, t->k);
    v = tiles_floats(t, job->dt, v, job->cols, job->width);
    t->u->pack(v.p, job->width, job->cols, v.cs, v.rs, t->u->mr, t->v);
}

/* t->s: scores of the part's keys with its queries, packed at t->q. */
static void tiles_products(const tiles *t, const tiles_part *p) {
    const gemm_micro *u = t->u;
    int64_t depth = t->job->depth, nr = u->nr;
    for (int64_t j = p->first; j < p->end; j += u->mr)
        u->tile[p->end - j < u->mr ? p->end - j : u->mr](
            depth, t->k + j * depth, t->q, nr, t->s + j * nr, nr, p->lanes, t->job->call->scale, 0);
    for (int64_t j = p->begin + 1; t->job->call->causal && j < p->end; j++)
        for (int64_t i = 0; i < p->lanes && i < j - p->begin; i++) t->s[j * nr + i] = -INFINITY;
}

/* The mask, if there is one, is transposed to t->mask first. */
static void tiles_add_mask(const tiles *t, const tiles_part *p) {
    int64_t nr = t->u->nr, keys = p->end - p->first;
    attention_mask m = attention_mask_at(t->job->call->mask, t->job->mask, p->head, p->begin);
    if (!m.p) return;
    gemm_matrix f = {m.p + p->first * m.cs * (int64_t)dtype_size(t->job->dt), m.rs, m.cs};
    f = tiles_floats(t, t->job->dt, f, p->n, keys);
    t->u->pack(f.p, p->n, keys, f.rs, f.cs, (int)nr, t->mask);
    (p->lanes == 8    ? tiles_add_8
     : p->lanes == 16 ? tiles_add_16
                      : tiles_add_32)(t->s + p->first * nr, t->mask, keys, nr);
}

/* t->s, and the maxima of its columns. */
static void tiles_scores(const tiles *t, const tiles_part *p, const attention_mask *hidden,
                         float *max) {
    int64_t nr = t->u->nr;
    tiles_products(t, p);
    tiles_add_mask(t, p);
    if (hidden->p) tiles_hide(t, p, hidden);
    (p->lanes == 8    ? tiles_max_8
     : p->lanes == 16 ? tiles_max_16
                      : tiles_max_32)(t->s + p->first * nr, p->end - p->first, nr, max);
}

/* t->o: the part's values, weighed. Sums are cut at the same keys whichever are looked at. */
static void tiles_weighed(const tiles *t, const tiles_part *p, const float *factor) {
    const gemm_micro *u = t->u;
    int64_t cols = t->job->cols, width = t->job->width, nr = u->nr;
    for (int64_t w = 0; w < width; w += u->mr)
        for (int64_t x = p->first, end; x < p->end; x = end) {
            end = (x / TILES_KEYS + 1) * TILES_KEYS;
            if (end > p->end) end = p->end;
            u->tile[width - w < u->mr ? width - w : u->mr](end - x, t->v + w * cols + x * u->mr,
                                                           t->s + x * nr, nr, t->o + w * nr, nr,
                                                           p->lanes, 1, x > p->first ? 1 : 0);
        }
    for (int64_t w = 0; w < width; w++)
        for (int i = 0; i < p->lanes; i++) t->o[w * nr + i] *= factor[i];
}

static void tiles_store(const tiles *t, int64_t head, int64_t begin, int64_t n) {
    const attention_job *job = t->job;
    size_t size = dtype_size(job->dt);
    gemm_matrix out = attention_at(job->call->out, job->out[head], size);
    char *to = (char *)out.p + begin * out.rs * (int64_t)size;
    if (job->dt == DT_FLOAT32) {
        t->u->unpack(t->o, n, job->width, out.rs, t->u->nr, (float *)(void *)to);
        return;
    }
    t->u->unpack(t->o, n, job->width, job->width, t->u->nr, t->wide);
    for (int64_t i = 0; i < n; i++, to += out.rs * (int64_t)size)
        floats_to_halves(job->dt, t->wide + i * job->width, to, job->width);
}

/* Rows [begin, begin + n) of a head, at most nr of them. */
static void tiles_rows(const tiles *t, int64_t head, int64_t begin, int64_t n) {
    const attention_job *job = t->job;
    const gemm_micro *u = t->u;
    size_t size = dtype_size(job->dt);
    gemm_matrix q = attention_at(job->call->q, job->q[head], size);
    attention_mask hidden = attention_mask_at(job->call->hidden, job->hidden, head, begin);
    bool half = u->nr > TILES_LANES && 2 * n <= u->nr;
    tiles_part p = {head, begin, n, 0, job->cols, half ? u->nr / 2 : u->nr};
    float max[GEMM_MAX_COLS], factor[GEMM_MAX_COLS];
    if (job->call->causal && begin + n < job->cols) p.end = begin + n;
    if (hidden.p) tiles_span(t, &p, &hidden, &p.first, &p.end);
    q.p = (const char *)q.p + begin * q.rs * (int64_t)size;
    q = tiles_floats(t, job->dt, q, n, job->depth);
    u->pack(q.p, n, job->depth, q.rs, q.cs, u->nr, t->q);
    tiles_scores(t, &p, &hidden, max);
    if (hidden.p && p.end - p.first < job->cols && !tiles_fill_is_far(t, &p, max)) {
        p.first = 0, p.end = job->cols;
        tiles_scores(t, &p, &hidden, max);
    }
    tiles_softmax(t, &p, max, factor);
    tiles_weighed(t, &p, factor);
    tiles_store(t, head, begin, n);
}

static bool tiles_memory(tiles *t, char **memory, size_t *total) {
    const attention_job *job = t->job;
    const attention_call *c = job->call;
    int64_t mr = t->u->mr, nr = t->u->nr, most = int64_max(job->depth, job->width);
    bool half = job->dt != DT_FLOAT32;
    /* wide: keys or values of a head, queries, results, or rows of a mask */
    int64_t rows = half ? int64_max(job->cols, nr) : 0, masks = c->mask || c->hidden ? nr : 0;
    bool by_rows = rows * most > masks * job->cols;
    const attention_part parts[] = {
        {&t->k, tiles_round(job->cols, mr), job->depth, sizeof(float)},
        {&t->v, tiles_round(job->width, mr), job->cols, sizeof(float)},
        {&t->q, nr, job->depth, sizeof(float)},
        {&t->s, nr, job->cols, sizeof(float)},
        {&t->mask, masks, job->cols, sizeof(float)},
        {&t->o, nr, tiles_round(job->width, mr), sizeof(float)},
        {&t->wide, by_rows ? rows : masks, by_rows ? most : job->cols, sizeof(float)},
        {&t->some, c->hidden ? 1 : 0, job->cols, sizeof *t->some},
        {&t->all, c->hidden ? 1 : 0, job->cols, sizeof *t->all},
    };
    return attention_memory(parts, sizeof parts / sizeof *parts, memory, total);
}

static ctsc_status tiles_run(const attention_job *job, diag *d, int64_t begin, int64_t end) {
    tiles t = {.u = gemm_micro_best(DT_FLOAT32), .job = job, .head = -1};
    char *memory;
    size_t total;
    if (!tiles_memory(&t, &memory, &total)) return diag_no_memory(d);
    for (int64_t item = begin; item < end; item++) {
        int64_t head = item / job->blocks, first = item % job->blocks * job->step;
        int64_t last = job->rows - first < job->step ? job->rows : first + job->step;
        tiles_pack_head(&t, head);
        for (int64_t row = first; row < last; row += t.u->nr)
            tiles_rows(&t, head, row, last - row < t.u->nr ? last - row : t.u->nr);
    }
    recycle_free(memory, total);
    return CTSC_OK;
}

const attention_way attention_tiles = {tiles_fit, tiles_run};
