/* SPDX-License-Identifier: Apache-2.0 */
/*
 * combine_copy.h - copies, scatters and gathers of one size of elements.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           type of that size
 *     NAME(x)     names of what is defined here
 */

static void NAME(combine_run)(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss) {
    if (ds == (int64_t)sizeof(T) && ss == ds) {
        memcpy(dst, src, (size_t)n * sizeof(T));
        return;
    }
    for (int64_t i = 0; i < n; i++) *(T *)(dst + i * ds) = *(const T *)(src + i * ss);
}

static void NAME(combine_scatter)(int64_t n, char *dst, int64_t ds, const char *index, int64_t is,
                                  int64_t scale, const char *src, int64_t ss) {
    for (int64_t i = 0; i < n; i++)
        *(T *)(dst + i * ds + *(const int64_t *)(index + i * is) * scale) = *(const T *)(src +
                                                                                         i * ss);
}

static void NAME(combine_gather)(int64_t n, char *dst, int64_t ds, const char *index, int64_t is,
                                 int64_t scale, const char *src, int64_t ss) {
    for (int64_t i = 0; i < n; i++)
        *(T *)(dst + i * ds) = *(const T *)(src + i * ss +
                                            *(const int64_t *)(index + i * is) * scale);
}

#undef T
#undef NAME
