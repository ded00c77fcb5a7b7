/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_places.h - maxima and their positions, of windows
 * that are inside the input, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

/* n <= POOL_TILE windows: window i begins at
 * x[start[i]], its taps are at offsets tap[0..taps) in
 * elements. Ties go to the first, NaN to the last. */
VECTOR_CLONES static void NAME(pool_places)(const T *x, const int32_t *start, const int32_t *tap,
                                            int64_t taps, int64_t n, T *y, int32_t *at) {
    T most[POOL_TILE];
    int32_t best[POOL_TILE];
    for (int64_t i = 0; i < n; i++) most[i] = x[start[i]], best[i] = 0;
    for (int64_t k = 1; k < taps; k++) {
        const T *under = x + tap[k];
        int32_t by = tap[k];
        for (int64_t i = 0; i < n; i++) {
            T v = under[start[i]], m = most[i];
            bool more = v > m || v != v;
            most[i] = more ? v : m;
            best[i] = more ? by : best[i];
        }
    }
    for (int64_t i = 0; i < n; i++) y[i] = most[i], at[i] = best[i];
}

#undef T
#undef NAME
