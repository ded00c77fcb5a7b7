/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_online.c - online softmax, over some keys of a query at a time (attention_online.h).
 *
 * Scores, weights and sums are floats. A block in which a query sees nothing adds
 * nothing, so blocks with only hidden keys are skipped: hidden by a flag, by -inf,
 * or by an added mask so low that no score within a float's range makes up for it.
 * Tests: tests/unit/test_attention.c
 */
#include "runtime/kernels/attention/attention_online.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/wide.h"

#include <math.h>

/* ---- loops; those with lanes: n is a multiple of ONLINE_LANES -------------------------------- */

static ATTENTION_HOT void online_scale(float *restrict s, float scale, int64_t n) {
    for (int64_t i = 0; i < n; i++) s[i] *= scale;
}

static ATTENTION_HOT void online_scale_add(float *restrict s, float scale,
                                           const float *restrict more, int64_t n) {
    for (int64_t i = 0; i < n; i++) s[i] = s[i] * scale + more[i];
}

static CONV_HOT void online_hide(float *restrict s, const unsigned char *restrict hidden,
                                 unsigned char shown, float fill, int64_t n) {
    for (int64_t i = 0; i < n; i++) s[i] = (hidden[i] != 0) != shown ? fill : s[i];
}

static CONV_HOT float online_max(const float *restrict s, int64_t n) {
    float m[ONLINE_LANES];
    for (int l = 0; l < ONLINE_LANES; l++) m[l] = -INFINITY;
    for (int64_t i = 0; i < n; i += ONLINE_LANES)
        for (int l = 0; l < ONLINE_LANES; l++) m[l] = s[i + l] > m[l] ? s[i + l] : m[l];
    for (int half = ONLINE_LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) m[l] = m[l + half] > m[l] ? m[l + half] : m[l];
    return m[0];
}

static ATTENTION_HOT float online_exp(float *restrict s, int64_t n, float max) {
    float sum[ONLINE_LANES] = {0};
    for (int64_t i = 0; i < n; i += ONLINE_LANES)
        for (int l = 0; l < ONLINE_LANES; l++) sum[l] += s[i + l] = attention_exp(s[i + l] - max);
    for (int half = ONLINE_LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) sum[l] += sum[l + half];
    return sum[0];
}

ATTENTION_HOT void online_add(float *restrict o, const float *restrict more, float factor,
                              int64_t n) {
    for (int64_t i = 0; i < n; i++) o[i] = o[i] * factor + more[i];
}

static CONV_HOT void online_bfloat16(const uint16_t *restrict from, int64_t rs, int64_t rows,
                                     int64_t n, float *restrict to, int64_t ld) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++)
            to[i * ld + j] = float_of_bits((uint32_t)from[i * rs + j] << 16);
}

enum { ONLINE_LOOKED_AT = 16 }; /* queries whose additive masks are looked at, at most */

/* ---- queries --------------------------------------------------------------------------------- */

void online_begin(const attention_job *job, int64_t group, int64_t begin, int64_t n,
                  online_query *queries) {
    for (int64_t i = 0; i < n; i++)
        queries[i] = (online_query){.head = group * job->share + (begin + i) / job->rows,
                                    .row = (begin + i) % job->rows,
                                    .max = -INFINITY};
}

/* Is element i of a mask so low that its weight is 0 beside any that is not? The lowest numbers of
 * float32 and bfloat16 are, which programs write for -inf. */
static bool online_is_low(dtype dt, const attention_mask *m, int64_t i) {
    const float low = -1e38f;
    if (dt == DT_FLOAT32) return ((const float *)(const void *)m->p)[i * m->cs] <= low;
    uint16_t bits = ((const uint16_t *)(const void *)m->p)[i * m->cs];
    return dt == DT_FLOAT16 ? bits == 0xfc00 : float_of_bits((uint32_t)bits << 16) <= low;
}

/* Can a query see key i? p of a mask is NULL: it hides nothing. */
static bool online_sees(const attention_call *c, const attention_mask *hidden,
                        const attention_mask *mask, int64_t i) {
    if (hidden->p && (hidden->p[i * hidden->cs] != 0) != c->shown) return false;
    return !mask->p || !online_is_low((dtype)c->mask->dtype, mask, i);
}

/* Widens [*first, *end) to the keys that a query sees; to all where all are low, whose weights are
 * equal then. */
static void online_widen(const attention_job *job, const attention_mask *hidden,
                         const attention_mask *mask, int64_t *first, int64_t *end) {
    const attention_call *c = job->call;
    int64_t i = 0, j = job->cols, most = mask->p ? job->cols : *first;
    while (i < most && !online_sees(c, hidden, mask, i)) i++;
    if (i == job->cols) {
        if (mask->p) *first = 0, *end = job->cols;
        return;
    }
    *first = int64_min(*first, i);
    while (j > *end && j > i && !online_sees(c, hidden, mask, j - 1)) j--;
    *end = int64_max(*end, j);
}

void online_span(const attention_job *job, const online_query *queries, int64_t n, int64_t *first,
                 int64_t *end) {
    const attention_call *c = job->call;
    /* to look at what is added costs many queries as much as their keys */
    const tensor *hides = c->fill == -INFINITY ? c->hidden : NULL,
                 *added = job->queries <= ONLINE_LOOKED_AT ? c->mask : NULL;
    *first = 0, *end = job->cols;
    if (c->causal) {
        *end = 0;
        for (int64_t i = 0; i < n; i++) *end = int64_max(*end, queries[i].row + 1);
        *end = int64_min(*end, job->cols);
    }
    /* another fill than -inf takes the place of what is low */
    if (c->causal || (c->hidden && !hides) || (!hides && !added)) return;
    const char *last[2] = {NULL, NULL};
    *first = job->cols, *end = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t head = queries[i].head, row = queries[i].row;
        attention_mask hidden = attention_mask_at(hides, job->hidden, head, row),
                       mask = attention_mask_at(added, job->mask, head, row);
        if (hidden.p != last[0] || mask.p != last[1] || !i)
            online_widen(job, &hidden, &mask, first, end);
        last[0] = hidden.p, last[1] = mask.p;
    }
    *end = int64_max(*first, *end);
}

/* n elements of a row of a mask as floats: where they are, or at `room`. */
static const float *online_mask(dtype dt, const char *p, int64_t cs, int64_t n, float *room) {
    if (dt == DT_FLOAT32 && cs == 1) return (const float *)(const void *)p;
    if (dt == DT_FLOAT32)
        for (int64_t i = 0; i < n; i++) room[i] = ((const float *)(const void *)p)[i * cs];
    else online_floats(dt, p, 0, cs, 1, n, room, n);
    return room;
}

static void online_apply_masks(const attention_job *job, const online_query *q, int64_t first,
                               int64_t keys, float *s) {
    const attention_call *c = job->call;
    attention_mask mask = attention_mask_at(c->mask, job->mask, q->head, q->row),
                   hidden = attention_mask_at(c->hidden, job->hidden, q->head, q->row);
    float room[ONLINE_KEYS];
    unsigned char hides[ONLINE_KEYS];
    if (mask.p) {
        const char *p = mask.p + first * mask.cs * (int64_t)dtype_size((dtype)c->mask->dtype);
        online_scale_add(s, (float)c->scale,
                         online_mask((dtype)c->mask->dtype, p, mask.cs, keys, room), keys);
    } else {
        online_scale(s, (float)c->scale, keys);
    }
    if (hidden.p) {
        const unsigned char *p = (const unsigned char *)hidden.p + first * hidden.cs;
        for (int64_t i = 0; hidden.cs != 1 && i < keys; i++) hides[i] = p[i * hidden.cs];
        online_hide(s, hidden.cs == 1 ? p : hides, c->shown, (float)c->fill, keys);
    }
    for (int64_t i = int64_max(0, q->row + 1 - first); c->causal && i < keys; i++) s[i] = -INFINITY;
}

float online_weigh(const attention_job *job, online_query *q, int64_t first, int64_t keys,
                   float *s) {
    int64_t whole = online_round(keys);
    online_apply_masks(job, q, first, keys, s);
    for (int64_t i = keys; i < whole; i++) s[i] = -INFINITY;
    float before = q->max, most = online_max(s, whole);
    q->max = most > before ? most : before;
    float factor = before == q->max ? 1 : attention_exp(before - q->max);
    q->sum = q->sum * factor + online_exp(s, whole, q->max == -INFINITY ? 0 : q->max);
    return factor;
}

void online_finish(const attention_job *job, const online_query *q, float *o) {
    const tensor *out = job->call->out;
    uint16_t *to = (uint16_t *)tensor_data(out) + job->out[q->head] +
                   q->row * out->strides[out->ndim - 2];
    /* without `safe` what sees nothing is 0 / 0 */
    float factor = job->call->safe && q->sum == 0 ? 0 : 1 / q->sum;
    online_scale(o, factor, job->width);
    floats_to_halves(job->dt, o, to, job->width);
}

void online_floats(dtype dt, const void *p, int64_t rs, int64_t cs, int64_t rows, int64_t n,
                   float *to, int64_t ld) {
    const uint16_t *from = p;
    if (cs == 1 && dt == DT_BFLOAT16) {
        online_bfloat16(from, rs, rows, n, to, ld);
        return;
    }
    if (cs == 1 && n % 8 == 0) {
        float16_rows_to_floats((const float16 *)(const void *)from, rs, to, ld, rows, n);
        return;
    }
    for (int64_t i = 0; i < rows; i++, from += rs, to += ld) {
        if (cs == 1) halves_to_floats(dt, from, to, n);
        else
            for (int64_t j = 0; j < n; j++) halves_to_floats(dt, from + j * cs, to + j, 1);
    }
}
