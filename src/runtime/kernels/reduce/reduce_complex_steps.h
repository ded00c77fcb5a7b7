/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_complex_steps.h - steps of reductions, for one complex type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     V           vector of the parts' type
 *     LANES       parts in a vector
 *     NAME(x)     names of what is defined here, and scalar definitions' of that type
 *     PART        the parts' type
 */

/* Adds n numbers, a pair of parts each, to total[2]. */
REDUCE_HOT static void NAME(complex_sum)(const PART *x, int64_t n, double *total) {
    n *= 2;
    while (n >= COMPLEX_VECTORS * LANES) {
        int64_t steps = reduce_min_i64(n / (COMPLEX_VECTORS * LANES), REDUCE_STEPS);
        V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, v0, v1, v2, v3;
        for (int64_t k = 0; k < steps; k++, x += COMPLEX_VECTORS * LANES) {
            memcpy(&v0, x, sizeof v0), memcpy(&v1, x + LANES, sizeof v1);
            memcpy(&v2, x + 2 * LANES, sizeof v2), memcpy(&v3, x + 3 * LANES, sizeof v3);
            s0 += v0, s1 += v1, s2 += v2, s3 += v3;
        }
        s0 = (s0 + s1) + (s2 + s3);
        for (int k = 0; k < LANES; k++) total[k & 1] += (double)s0[k];
        n -= steps * COMPLEX_VECTORS * LANES;
    }
    for (int64_t k = 0; k < n; k++) total[k & 1] += (double)x[k];
}

REDUCE_COMPLEX_STEP(NAME(reduce_sum)) {
    (void)j, (void)first;
    double total[2] = {0, 0};
    NAME(complex_sum)((const PART *)data, n, total);
    a->f += total[0];
    a->g += total[1];
}

REDUCE_COMPLEX_STEP(NAME(reduce_prod)) {
    (void)j, (void)first;
    const T *x = data;
    complex128 product = {a->f, a->g};
    for (int64_t k = 0; k < n; k++)
        product = scalar_mul_c128(product, (complex128){(double)x[k].re, (double)x[k].im});
    a->f = product.re, a->g = product.im;
    a->n += n;
}

REDUCE_COMPLEX_STEP(NAME(reduce_count)) {
    (void)j, (void)first;
    const T *x = data;
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) count += NAME(scalar_set)(x[k]);
    a->i += count;
    a->n += n;
}

#undef T
#undef V
#undef LANES
#undef NAME
#undef PART
