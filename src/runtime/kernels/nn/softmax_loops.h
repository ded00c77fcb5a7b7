/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_loops.h - rows and columns of softmax, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here, and scalar definitions' of that type
 *     HOT         attribute of inner loops
 */

HOT static T NAME(softmax_max)(const T *x, int64_t n) {
    T lanes[SOFTMAX_LANES];
    int64_t i = 0;
    for (int k = 0; k < SOFTMAX_LANES; k++) lanes[k] = (T)-INFINITY;
    for (; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES)
        for (int k = 0; k < SOFTMAX_LANES; k++)
            lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
    for (int k = 0; i < n; i++, k++) lanes[k] = x[i] > lanes[k] ? x[i] : lanes[k];
    for (int k = 1; k < SOFTMAX_LANES; k++) lanes[0] = lanes[k] > lanes[0] ? lanes[k] : lanes[0];
    return lanes[0];
}

HOT static void NAME(softmax_exp)(const T *x, T *y, int64_t n, T max) {
    for (int64_t i = 0; i < n; i++) y[i] = NAME(scalar_exp)(x[i] - max);
}

HOT static void NAME(softmax_scale)(T *y, int64_t n, T by) {
    for (int64_t i = 0; i < n; i++) y[i] *= by;
}

HOT static void NAME(softmax_shift)(const T *x, T *y, int64_t n, T max, T log_sum) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] - max - log_sum;
}

/* One step of each pass over the columns: m = max(m, x), y = exp(x - m) and s += y, ... */
HOT static void NAME(softmax_column_max)(const T *x, T *m, int64_t n) {
    for (int64_t i = 0; i < n; i++) m[i] = x[i] > m[i] ? x[i] : m[i];
}

HOT static void NAME(softmax_column_exp)(const T *x, T *y, const T *m, T *s, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        T e = NAME(scalar_exp)(x[i] - m[i]);
        y[i] = e;
        s[i] += e;
    }
}

HOT static void NAME(softmax_column_scale)(T *y, const T *s, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] /= s[i];
}

HOT static void NAME(softmax_column_shift)(const T *x, T *y, const T *m, const T *s, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] - m[i] - s[i];
}

static void NAME(softmax_row)(const softmax_job *j, int64_t row) {
    const T *x = (const T *)j->x + row * j->dim;
    T *y = (T *)j->y + row * j->dim;
    T max = NAME(softmax_max)(x, j->dim);
    NAME(softmax_exp)(x, y, j->dim, max);
    double sum = nn_sum(y, j->dim);
    if (j->log) NAME(softmax_shift)(x, y, j->dim, max, (T)log(sum));
    else NAME(softmax_scale)(y, j->dim, (T)(1 / sum));
}

static void NAME(softmax_columns)(const softmax_job *j, int64_t at, int64_t n) {
    const T *x = (const T *)j->x + at;
    T *y = (T *)j->y + at;
    T max[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS];
    for (int64_t i = 0; i < n; i++) max[i] = (T)-INFINITY, sum[i] = 0;
    for (int64_t k = 0; k < j->dim; k++) NAME(softmax_column_max)(x + k * j->inner, max, n);
    for (int64_t k = 0; k < j->dim; k++)
        NAME(softmax_column_exp)(x + k * j->inner, y + k * j->inner, max, sum, n);
    for (int64_t i = 0; j->log && i < n; i++) sum[i] = (T)log((double)sum[i]);
    for (int64_t k = 0; k < j->dim; k++) {
        if (j->log) NAME(softmax_column_shift)(x + k * j->inner, y + k * j->inner, max, sum, n);
        else NAME(softmax_column_scale)(y + k * j->inner, sum, n);
    }
}

#undef T
#undef NAME
#undef HOT
