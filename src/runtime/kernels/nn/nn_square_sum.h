/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nn_square_sum.h - the sum of squared differences from a mean, for one type.
 *
 * Included with these defined, once for each; both are undefined afterwards:
 *     T           element
 *     NAME        of the function: double name(const T *p, int64_t n, T mean)
 *
 * A block is summed in NN_LANES lanes of T; the lanes, by halves, and the blocks' sums are added in
 * double, so a long row loses nothing to float.
 */
#define NN_PASTE_(name) name##_block
#define NN_PASTE(name) NN_PASTE_(name)
#define BLOCK NN_PASTE(NAME)

VECTOR_CLONES static void BLOCK(const T *p, int64_t n, double *lanes, T mean) {
    T acc[NN_LANES] = {0};
    int64_t i = 0;
    for (; i + NN_LANES <= n; i += NN_LANES)
        for (int k = 0; k < NN_LANES; k++) {
            T v = p[i + k];
            acc[k] += (v - mean) * (v - mean);
        }
    for (int k = 0; i < n; i++, k++) {
        T v = p[i];
        acc[k] += (v - mean) * (v - mean);
    }
    for (int k = 0; k < NN_LANES; k++) lanes[k] = (double)acc[k];
    for (int h = NN_LANES / 2; h > 0; h /= 2)
        for (int k = 0; k < h; k++) lanes[k] += lanes[k + h];
}

double NAME(const T *p, int64_t n, T mean) {
    double total = 0;
    for (int64_t at = 0; at < n; at += NN_BLOCK) {
        double lanes[NN_LANES];
        BLOCK(p + at, int64_min(NN_BLOCK, n - at), lanes, mean);
        total += lanes[0];
    }
    return total;
}

#undef T
#undef NAME
#undef BLOCK
#undef NN_PASTE
#undef NN_PASTE_
