/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distance_rows.h - distances of rows, and cosines, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 *     FABS, POW, SQRT  functions of the type
 */

static T NAME(distance)(const T *x, const T *y, int64_t n, double p) {
    T sum = 0;
    if (p == 2) {
        for (int64_t i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
        return SQRT(sum);
    }
    if (p == 1) {
        for (int64_t i = 0; i < n; i++) sum += FABS(x[i] - y[i]);
        return sum;
    }
    if (p == 0) {
        for (int64_t i = 0; i < n; i++) sum += x[i] != y[i];
        return sum;
    }
    if (isinf(p)) {
        for (int64_t i = 0; i < n; i++) {
            T a = FABS(x[i] - y[i]);
            sum = a > sum || a != a ? a : sum;
        }
        return sum;
    }
    for (int64_t i = 0; i < n; i++) sum += POW(FABS(x[i] - y[i]), (T)p);
    return POW(sum, (T)(1 / p));
}

static T NAME(distance_square)(const T *x, int64_t n) {
    T sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* Rows [begin, end) of all batches of x1. */
static void NAME(cdist_chunk)(void *ctx, int64_t begin, int64_t end) {
    const cdist_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / j->rows1;
        const T *x = (const T *)j->x1 + j->offsets1[batch] + i % j->rows1 * j->width;
        const T *y = (const T *)j->x2 + j->offsets2[batch];
        T *out = (T *)j->out + i * j->rows2;
        for (int64_t k = 0; k < j->rows2; k++)
            out[k] = NAME(distance)(x, y + k * j->width, j->width, j->p);
    }
}

/* out holds -2 x.y */
static void NAME(cdist_from_products)(void *ctx, int64_t begin, int64_t end) {
    const cdist_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / j->rows1;
        const T *x = (const T *)j->x1 + j->offsets1[batch] + i % j->rows1 * j->width;
        T *out = (T *)j->out + i * j->rows2, square = NAME(distance_square)(x, j->width);
        for (int64_t k = 0; k < j->rows2; k++) out[k] += square;
    }
}

static void NAME(cdist_finish_products)(const cdist_job *j, int64_t batches) {
    for (int64_t b = 0; b < batches; b++)
        for (int64_t k = 0; k < j->rows2; k++) {
            const T *y = (const T *)j->x2 + j->offsets2[b] + k * j->width;
            T square = NAME(distance_square)(y, j->width);
            T *out = (T *)j->out + b * j->rows1 * j->rows2 + k;
            for (int64_t i = 0; i < j->rows1; i++, out += j->rows2) {
                T v = *out + square;
                *out = v < 0 ? 0 : (T)sqrt((double)v);
            }
        }
}

/* a, b: contiguous, of one shape, float or double; out: that shape without dim. Sums in double. */
static void NAME(cosine)(const tensor *a, const tensor *b, int dim, double eps, tensor *out) {
    int64_t outer = 1, inner = 1, n = a->sizes[dim];
    for (int i = 0; i < dim; i++) outer *= a->sizes[i];
    for (int i = dim + 1; i < a->ndim; i++) inner *= a->sizes[i];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            const T *x = TENSOR_AT(a, T) + o * n * inner + i;
            const T *y = TENSOR_AT(b, T) + o * n * inner + i;
            double xy = 0, xx = 0, yy = 0;
            for (int64_t k = 0; k < n; k++) {
                double u = (double)x[k * inner], v = (double)y[k * inner];
                xy += u * v, xx += u * u, yy += v * v;
            }
            xx = xx < eps * eps ? eps * eps : xx;
            yy = yy < eps * eps ? eps * eps : yy;
            TENSOR_AT(out, T)[o * inner + i] = (T)(xy / (sqrt(xx) * sqrt(yy)));
        }
}

#undef T
#undef NAME
#undef FABS
#undef POW
#undef SQRT
