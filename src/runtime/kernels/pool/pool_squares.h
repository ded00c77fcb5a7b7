/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_squares.h - maxima of squares of two by two, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

/* Output rows [begin, end) where pool_is_squares: the rows of small images are a few elements, so
 * that finding a row must not cost more than its maxima. */
VECTOR_CLONES static void NAME(pool_squares)(const pool_geometry *g, const T *x, T *y,
                                             int64_t begin, int64_t end) {
    int64_t w = g->in[2], n = g->out[2], oh = begin % g->out[1];
    x += (begin / g->out[1] * g->in[1] + 2 * oh) * w;
    y += begin * n;
    for (int64_t r = begin; r < end; r++, y += n) {
        for (int64_t o = 0; o < n; o++) {
            T a = x[2 * o], b = x[2 * o + 1], c = x[w + 2 * o], d = x[w + 2 * o + 1];
            T upper = POOL_MAX(a, b), lower = POOL_MAX(c, d);
            y[o] = POOL_MAX(upper, lower);
        }
        bool last = ++oh == g->out[1];
        x += last ? (g->in[1] - 2 * (g->out[1] - 1)) * w : 2 * w;
        if (last) oh = 0;
    }
}

#undef T
#undef NAME
