/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_softmax.h - scores to weights, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

static CONV_HOT T NAME(attention_max)(const T *x, int64_t n) {
    T max = -(T)INFINITY;
    for (int64_t i = 0; i < n; i++) max = x[i] > max ? x[i] : max;
    return max;
}

static CONV_HOT void NAME(attention_scale)(T *x, int64_t n, T f) {
    for (int64_t i = 0; i < n; i++) x[i] *= f;
}

/* Scores to weights, rows [begin, end) of one head; s is the first of these. */
static void NAME(attention_softmax)(const attention_job *job, int64_t head, int64_t begin,
                                    int64_t end, T *s) {
    const attention_call *c = job->call;
    int64_t n = job->cols;
    for (int64_t row = begin; row < end; row++, s += n) {
        attention_mask mask = attention_mask_at(c->mask, job->mask, head, row),
                       hidden = attention_mask_at(c->hidden, job->hidden, head, row);
        const T *add = (const T *)(const void *)mask.p;
        for (int64_t i = 0; add && i < n; i++) s[i] += add[i * mask.cs];
        for (int64_t i = 0; hidden.p && i < n; i++)
            if ((hidden.p[i * hidden.cs] != 0) != c->shown) s[i] = (T)c->fill;
        for (int64_t i = row + 1; c->causal && i < n; i++) s[i] = -(T)INFINITY;
        T max = NAME(attention_max)(s, n);
        bool none = c->safe && max == -(T)INFINITY;
        T sum = NAME(attention_weigh)(s, n, none ? 0 : max);
        NAME(attention_scale)(s, n, none ? 0 : 1 / sum);
    }
}

#undef T
#undef NAME
