/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_fold.h - rows and windows folded by an operation of two numbers, for one type.
 *
 * Included with these defined, once for each pair; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of the functions: into, along
 *     FOLD(m, v)  the operation
 */

VECTOR_CLONES static void NAME(into)(T *acc, const T *row, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        T v = row[i], m = acc[i];
        acc[i] = FOLD(m, v);
    }
}

static inline __attribute__((always_inline)) void NAME(along_step)(T *restrict y,
                                                                   const T *restrict line,
                                                                   int64_t n, int64_t step,
                                                                   int64_t kernel,
                                                                   int64_t dilation) {
    for (int64_t o = 0; o < n; o++) y[o] = line[o * step];
    for (int64_t k = 1; k < kernel; k++) {
        const T *x = line + k * dilation;
        for (int64_t o = 0; o < n; o++) {
            T v = x[o * step], m = y[o];
            y[o] = FOLD(m, v);
        }
    }
}

/* y[o] = FOLD over k of line[o * stride + k * dilation]; the usual strides get
 * code of their own. */
VECTOR_CLONES static void NAME(along)(T *restrict y, const T *restrict line, int64_t n,
                                      int64_t stride, int64_t kernel, int64_t dilation) {
    if (stride == 1) NAME(along_step)(y, line, n, 1, kernel, dilation);
    else if (stride == 2) NAME(along_step)(y, line, n, 2, kernel, dilation);
    else NAME(along_step)(y, line, n, stride, kernel, dilation);
}

#undef T
#undef NAME
#undef FOLD
