/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upsample_loops.h - lines of interpolation, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 *     FUSED       fused multiply-add
 */

VECTOR_CLONES static void NAME(upsample_gather)(const T *x, T *y, int64_t n, int taps,
                                                const int64_t *at, const T *w) {
    for (int64_t o = 0; taps == 2 && o < n; o++)
        y[o] = w[2 * o] * x[at[2 * o]] + w[2 * o + 1] * x[at[2 * o + 1]];
    for (int64_t o = 0; taps != 2 && o < n; o++, at += taps, w += taps) {
        T sum = 0;
        for (int k = 0; k < taps; k++) sum += w[k] * x[at[k]];
        y[o] = sum;
    }
}

VECTOR_CLONES static void NAME(upsample_mix2)(const T *a, const T *b, T *y, int64_t n, T v, T w) {
    for (int64_t i = 0; i < n; i++) y[i] = v * a[i] + w * b[i];
}

VECTOR_CLONES static void NAME(upsample_mix)(const T *a, T *y, int64_t n, T w) {
    for (int64_t i = 0; i < n; i++) y[i] += w * a[i];
}

VECTOR_FUSED_CLONES static void NAME(upsample_gather_aa)(const T *x, T *y,
                                                         const upsample_table *t) {
    for (int64_t o = 0; o < t->out; o++) {
        const T *w = (const T *)t->weight + o * t->taps, *from = x + t->at[o * t->taps];
        int k = 1, n = t->used[o], fused = upsample_fused_from(n, sizeof *w);
        T sum = n > 0 ? w[0] * from[0] : 0;
        for (; k < fused; k++) sum += w[k] * from[k];
        for (; k < n; k++) sum = FUSED(w[k], from[k], sum);
        y[o] = sum;
    }
}

VECTOR_FUSED_CLONES static void NAME(upsample_row_aa)(const T *x, T *y, int64_t inner,
                                                      const upsample_table *t, int64_t o) {
    const T *w = (const T *)t->weight + o * t->taps, *from = x + t->at[o * t->taps] * inner;
    int k = 1, n = t->used[o], fused = upsample_fused_from(n, sizeof *w);
    for (int64_t i = 0; i < inner; i++) y[i] = n > 0 ? w[0] * from[i] : 0;
    for (; k < fused; k++)
        for (int64_t i = 0; i < inner; i++) y[i] += w[k] * from[k * inner + i];
    for (; k < n; k++)
        for (int64_t i = 0; i < inner; i++) y[i] = FUSED(w[k], from[k * inner + i], y[i]);
}

#undef T
#undef NAME
#undef FUSED
