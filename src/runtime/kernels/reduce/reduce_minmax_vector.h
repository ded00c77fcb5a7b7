/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_minmax_vector.h - the minimum or maximum of a range, for one type and comparison.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME        of the function
 *     I           signed integer of its size
 *     OP          the comparison
 */

/* T name(const T *x, int64_t n) for n >= 1. The comparison leaves NaN aside, as the processor's
 * maximum does; whether there is one is seen at the same time, and then it is the result. */
REDUCE_HOT static T NAME(const T *x, int64_t n) {
    T best = x[0], lane[32];
    I odd[32] = {0}, any = 0;
    int64_t k = 0;
    if (n >= 32) {
        for (int l = 0; l < 32; l++) lane[l] = best;
        for (; k + 32 <= n; k += 32)
            for (int l = 0; l < 32; l++) {
                lane[l] = x[k + l] OP lane[l] ? x[k + l] : lane[l];
                odd[l] |= x[k + l] != x[k + l];
            }
        for (int l = 0; l < 32; l++) {
            best = lane[l] OP best ? lane[l] : best;
            any |= odd[l];
        }
    }
    for (; k < n; k++) {
        best = x[k] OP best ? x[k] : best;
        any |= x[k] != x[k];
    }
    return any ? (T)NAN : best;
}

#undef T
#undef NAME
#undef I
#undef OP
