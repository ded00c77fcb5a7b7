/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_tiles.c - rows of one head of attention on the micro-kernels of matrix
 * products (gemm_micro.h).
 *
 * Method: everything is transposed, so that queries lie across the vectors, as many as a tile
 * has columns (nr):
 *
 *     S' [keys][nr]  = scale K Q' + mask'    tiles of mr keys
 *     P' [keys][nr]  = e^(S' - its columns' maxima)
 *     O' [width][nr] = V' P'                 tiles of mr elements of the result; P' is read as it was made
 *
 * Softmax runs down columns: there are no sums across a vector, and sequences of any length
 * fill the vectors. Columns of O' are divided by those of P' in the end, and transposed back. Keys
 * and values of a head are packed once for all the queries that an item has. Of a causal head
 * only the keys that somebody sees are looked at. Each element is a sum of its own, in the
 * order of the keys.
 * Tests: tests/unit/test_attention.c
 */
#include "runtime/kernels/attention/attention_job.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <math.h>

enum { TILES_SLACK = 16 }; /* elements that packing may write behind the last panel */

/* Memory of one thread. */
typedef struct tiles {
    const gemm_micro *u;
    const attention_job *job;
    /* packed; s: [cols][nr], mask: the same or NULL, o: [width][nr] */
    float *k, *v, *q, *s, *mask, *o;
    int64_t head; /* whose keys and values are packed; -1: nobody's */
} tiles;

static int64_t tiles_round(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

bool attention_tiles_fit(attention_job *job) {
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    if (!u || job->dt != DT_FLOAT32 || job->call->weights || job->rows < TILES_FEW_ROWS ||
        job->cols < 1 || job->depth < 1)
        return false;
    job->step = tiles_round(job->rows, u->nr);
    while (job->heads * ((job->rows + job->step - 1) / job->step) < TILES_ITEMS &&
           job->step >= 2 * TILES_LEAST_ROWS)
        job->step = tiles_round(job->step / 2, u->nr);
    return true;
}

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
static void tiles_softmax(const tiles *t, int64_t keys, int lanes, const float *mask,
                          float *factor) {
    float max[GEMM_MAX_COLS], sum[GEMM_MAX_COLS];
    int64_t nr = t->u->nr;
    (lanes == 8    ? tiles_max_8
     : lanes == 16 ? tiles_max_16
                   : tiles_max_32)(t->s, mask, keys, nr, max);
    for (int i = 0; t->job->call->safe && i < lanes; i++) max[i] = max[i] == -INFINITY ? 0 : max[i];
    (lanes == 8    ? tiles_weigh_8
     : lanes == 16 ? tiles_weigh_16
                   : tiles_weigh_32)(t->s, keys, nr, max, sum);
    for (int i = 0; i < lanes; i++) factor[i] = t->job->call->safe && sum[i] == 0 ? 0 : 1 / sum[i];
}

/* ---- queries --------------------------------------------------------------------------------- */

static void tiles_pack_head(tiles *t, int64_t head) {
    const attention_job *job = t->job;
    gemm_matrix k = attention_at(job->call->k, job->k[head], sizeof(float)),
                v = attention_at(job->call->v, job->v[head], sizeof(float));
    if (t->head == head) return;
    t->head = head;
    t->u->pack(k.p, job->cols, job->depth, k.rs, k.cs, t->u->mr, t->k);
    t->u->pack(v.p, job->width, job->cols, v.cs, v.rs, t->u->mr, t->v);
}

/* t->s: scores of the first `seen` keys with the queries packed at t->q, the first of
 * which is row `begin`. */
static void tiles_scores(const tiles *t, int64_t begin, int64_t seen, int lanes) {
    const gemm_micro *u = t->u;
    int64_t depth = t->job->depth, nr = u->nr;
    for (int64_t j = 0; j < seen; j += u->mr)
        u->tile[seen - j < u->mr ? seen - j : u->mr](
            depth, t->k + j * depth, t->q, nr, t->s + j * nr, nr, lanes, t->job->call->scale, 0);
    for (int64_t j = begin + 1; t->job->call->causal && j < seen; j++)
        for (int64_t i = 0; i < lanes && i < j - begin; i++) t->s[j * nr + i] = -INFINITY;
}

/* t->mask: rows [begin, begin + n) of the mask, transposed. NULL: there is none. */
static const float *tiles_mask(const tiles *t, int64_t head, int64_t begin, int64_t n,
                               int64_t seen) {
    const tensor *mask = t->job->call->mask;
    if (!mask) return NULL;
    gemm_matrix m = attention_at(mask, t->job->mask[head], sizeof(float));
    int64_t rs = mask->sizes[mask->ndim - 2] == 1 ? 0 : m.rs,
            cs = mask->sizes[mask->ndim - 1] == 1 ? 0 : m.cs;
    t->u->pack((const float *)m.p + begin * rs, n, seen, rs, cs, t->u->nr, t->mask);
    return t->mask;
}

/* t->o: the first `seen` values, weighed. */
static void tiles_weighed(const tiles *t, int64_t seen, int lanes, const float *factor) {
    const gemm_micro *u = t->u;
    int64_t cols = t->job->cols, width = t->job->width, nr = u->nr;
    for (int64_t w = 0; w < width; w += u->mr)
        for (int64_t x = 0; x < seen; x += TILES_KEYS)
            u->tile[width - w < u->mr ? width - w : u->mr](
                seen - x < TILES_KEYS ? seen - x : TILES_KEYS, t->v + w * cols + x * u->mr,
                t->s + x * nr, nr, t->o + w * nr, nr, lanes, 1, x ? 1 : 0);
    for (int64_t w = 0; w < width; w++)
        for (int i = 0; i < lanes; i++) t->o[w * nr + i] *= factor[i];
}

/* Rows [begin, begin + n) of a head, at most nr of them. */
static void tiles_rows(const tiles *t, int64_t head, int64_t begin, int64_t n) {
    const attention_job *job = t->job;
    const gemm_micro *u = t->u;
    gemm_matrix q = attention_at(job->call->q, job->q[head], sizeof(float)),
                out = attention_at(job->call->out, job->out[head], sizeof(float));
    int64_t seen = job->call->causal && begin + n < job->cols ? begin + n : job->cols;
    int lanes = 2 * n <= u->nr ? u->nr / 2 : u->nr;
    float factor[GEMM_MAX_COLS];
    u->pack((const float *)q.p + begin * q.rs, n, job->depth, q.rs, q.cs, u->nr, t->q);
    tiles_scores(t, begin, seen, lanes);
    tiles_softmax(t, seen, lanes, tiles_mask(t, head, begin, n, seen), factor);
    tiles_weighed(t, seen, lanes, factor);
    u->unpack(t->o, n, job->width, out.rs, u->nr, (float *)out.p + begin * out.rs);
}

/* One after the other in one block; false: they are too large. */
static bool tiles_memory(tiles *t, char **memory) {
    const attention_job *job = t->job;
    int64_t mr = t->u->mr, nr = t->u->nr;
    struct { float **at; int64_t rows, length; } parts[] = {
        {&t->k, tiles_round(job->cols, mr), job->depth},
        {&t->v, tiles_round(job->width, mr), job->cols},
        {&t->q, nr, job->depth},
        {&t->s, nr, job->cols},
        {&t->mask, nr, job->call->mask ? job->cols : 0},
        {&t->o, nr, tiles_round(job->width, mr)},
    };
    size_t offset[sizeof parts / sizeof *parts], total = 0, n;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        offset[i] = total;
        if (!size_mul((size_t)parts[i].rows, (size_t)parts[i].length, &n) ||
            !size_mul(n + TILES_SLACK, sizeof(float), &n))
            return false;
        if (n > SIZE_MAX / 2 - total) return false;
        total += (n + 63) / 64 * 64;
    }
    if (!(*memory = mem_alloc(total + 64))) return false;
    char *aligned = *memory + (-(uintptr_t)*memory & 63);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        *parts[i].at = (float *)(void *)(aligned + offset[i]);
    return true;
}

ctsc_status attention_tiles_run(const attention_job *job, diag *d, int64_t begin, int64_t end) {
    tiles t = {.u = gemm_micro_best(DT_FLOAT32), .job = job, .head = -1};
    char *memory;
    if (!tiles_memory(&t, &memory)) return diag_no_memory(d);
    for (int64_t item = begin; item < end; item++) {
        int64_t head = item / job->blocks, first = item % job->blocks * job->step;
        int64_t last = job->rows - first < job->step ? job->rows : first + job->step;
        tiles_pack_head(&t, head);
        for (int64_t row = first; row < last; row += t.u->nr)
            tiles_rows(&t, head, row, last - row < t.u->nr ? last - row : t.u->nr);
    }
    mem_free(memory);
    return CTSC_OK;
}
