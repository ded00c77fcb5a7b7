/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_online.c - softmax over the keys of a query some at a time (attention_online.h).
 *
 * Scores, weights and sums are floats. A block in which a query sees nothing adds nothing, so that
 * blocks may be left out whose keys are hidden by -inf.
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

/* ---- queries --------------------------------------------------------------------------------- */

void online_begin(const attention_job *job, int64_t group, int64_t begin, int64_t n,
                  online_query *queries) {
    for (int64_t i = 0; i < n; i++)
        queries[i] = (online_query){.head = group * job->share + (begin + i) / job->rows,
                                    .row = (begin + i) % job->rows,
                                    .max = -INFINITY};
}

/* Widens [*first, *end) to the keys that a row of a bool mask shows. */
static void online_widen(const attention_job *job, const attention_mask *m, int64_t *first,
                         int64_t *end) {
    bool shown = job->call->shown;
    int64_t i = 0, j = job->cols;
    while (i < *first && (m->p[i * m->cs] != 0) != shown) i++;
    if (i == job->cols) return;
    *first = i;
    while (j > *end && j > i && (m->p[(j - 1) * m->cs] != 0) != shown) j--;
    *end = int64_max(*end, j);
}

void online_span(const attention_job *job, const online_query *queries, int64_t n, int64_t *first,
                 int64_t *end) {
    const attention_call *c = job->call;
    *first = 0, *end = job->cols;
    if (c->causal) {
        *end = 0;
        for (int64_t i = 0; i < n; i++) *end = int64_max(*end, queries[i].row + 1);
        *end = int64_min(*end, job->cols);
    }
    if (!c->hidden || c->fill != -INFINITY) return;
    const char *last = NULL;
    *first = job->cols, *end = 0;
    for (int64_t i = 0; i < n; i++) {
        attention_mask m = attention_mask_at(c->hidden, job->hidden, queries[i].head,
                                             queries[i].row);
        if (m.p != last) online_widen(job, &m, first, end);
        last = m.p;
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
