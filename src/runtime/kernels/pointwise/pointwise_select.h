/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_select.h - the loop of where, for one size of elements.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           unsigned integer of that size
 *     NAME        of the loop
 */

/* Operands: output, mask (one byte), value where set, value where not. Elements move by size alone.
 */
PW_CLONES static void NAME(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    const uint8_t *mask = (const uint8_t *)p[1];
    if (s[0] == sizeof(T) && s[1] == 1 && s[2] == 0 && s[3] == sizeof(T)) {
        T *out = (T *)(void *)p[0];
        const T a = *(const T *)(const void *)p[2], *b = (const T *)(const void *)p[3];
        PW_IVDEP
        for (int64_t i = 0; i < n; i++) {
            T y = b[i];
            out[i] = mask[i] ? a : y;
        }
    } else if (s[0] == sizeof(T) && s[1] == 1 && s[2] == sizeof(T) && s[3] == sizeof(T)) {
        T *out = (T *)(void *)p[0];
        const T *a = (const T *)(const void *)p[2], *b = (const T *)(const void *)p[3];
        PW_IVDEP
        for (int64_t i = 0; i < n; i++) {
            T x = a[i], y = b[i];
            out[i] = mask[i] ? x : y;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            T x = *(const T *)(const void *)(p[2] + i * s[2]);
            T y = *(const T *)(const void *)(p[3] + i * s[3]);
            *(T *)(void *)(p[0] + i * s[0]) = mask[i * s[1]] ? x : y;
        }
    }
}

#undef T
#undef NAME
