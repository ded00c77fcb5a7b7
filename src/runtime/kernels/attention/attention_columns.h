/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_columns.h - softmax down the columns of a tile, for one width.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     LANES       columns
 *     NAME(x)     names of what is defined here
 */

/* s += mask */
static CONV_HOT void NAME(tiles_add)(float *restrict s, const float *restrict mask, int64_t keys,
                                     int64_t nr) {
    for (int64_t j = 0; j < keys; j++)
        for (int i = 0; i < LANES; i++) s[j * nr + i] += mask[j * nr + i];
}

/* s = fill where hidden is not 0 */
static CONV_HOT void NAME(tiles_fill)(float *restrict s, const float *restrict hidden, int64_t keys,
                                      int64_t nr, float fill) {
    for (int64_t j = 0; j < keys; j++)
        for (int i = 0; i < LANES; i++)
            s[j * nr + i] = hidden[j * nr + i] != 0 ? fill : s[j * nr + i];
}

/* The maxima of the columns. */
static CONV_HOT void NAME(tiles_max)(const float *restrict s, int64_t keys, int64_t nr,
                                     float *restrict max) {
    float m[LANES];
    for (int i = 0; i < LANES; i++) m[i] = -INFINITY;
    for (int64_t j = 0; j < keys; j++)
        for (int i = 0; i < LANES; i++) m[i] = s[j * nr + i] > m[i] ? s[j * nr + i] : m[i];
    for (int i = 0; i < LANES; i++) max[i] = m[i];
}

/* e^(s - max), and the sums of the columns. */
static ATTENTION_HOT void NAME(tiles_weigh)(float *restrict s, int64_t keys, int64_t nr,
                                            const float *restrict max, float *restrict sum) {
    float total[LANES] = {0};
    for (int64_t j = 0; j < keys; j++, s += nr)
        for (int i = 0; i < LANES; i++) total[i] += s[i] = attention_exp(s[i] - max[i]);
    for (int i = 0; i < LANES; i++) sum[i] = total[i];
}

#undef LANES
#undef NAME
