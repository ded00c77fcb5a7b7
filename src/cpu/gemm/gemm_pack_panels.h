/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_pack_panels.h - packing and unpacking of panels, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 *     STEP        elements of a vector
 */

/* Panels side by side, no gaps along them: long segments of each row are read together. */
static inline __attribute__((always_inline)) PACK_TARGET void NAME(pack_copy)(
    const T *from, int64_t panels, int64_t depth, int64_t stride, int width, T *to) {
    for (int64_t d = 0; d < depth; d++)
        for (int64_t i = 0; i < panels; i++) {
            const T *at = from + d * stride + i * width;
            if (d + PACK_PREFETCH < depth) __builtin_prefetch(at + PACK_PREFETCH * stride);
            memcpy(to + i * depth * width + d * width, at, (size_t)width * sizeof(T));
        }
}

/* One panel of `side` rows that are there, no gaps along k. */
static PACK_TARGET void NAME(pack_transposed)(const T *from, int side, int64_t depth,
                                              int64_t stride, int width, T *to) {
    int64_t whole = depth / ((STEP) / 2) * ((STEP) / 2);
    for (int s = (side - 1) / (STEP) * (STEP); s >= 0; s -= (STEP))
        NAME(pack_rows)(from + s * stride, whole, stride, side - 1 - s, width * stride, width,
                        to + s);
    for (int64_t d = whole; d < depth; d++)
        for (int s = 0; s < side; s++) to[d * width + s] = from[s * stride + d];
    for (int64_t d = 0; side < width && d < depth; d++)
        for (int s = side; s < width; s++) to[d * width + s] = 0;
}

#define PACK_COPY(width)                                                                           \
    case width: NAME(pack_copy)(from, panels, depth, depth_stride, width, to); break;
PACK_TARGET void NAME(gemm_pack)(const void *source, int64_t side, int64_t depth,
                                 int64_t side_stride, int64_t depth_stride, int width,
                                 void *target) {
    const T *from = source;
    T *to = target;
    for (int64_t panels = 1; side > 0; side -= panels * width, from += panels * width * side_stride,
                 to += panels * width * depth) {
        panels = 1;
        if (side >= width && side_stride == 1) {
            panels = side / width < PACK_PANELS ? side / width : PACK_PANELS;
            switch (width) {
                PACK_WIDTHS(PACK_COPY)
            default: NAME(pack_copy)(from, panels, depth, depth_stride, width, to); break;
            }
        } else if (depth_stride == 1 && (side >= width || width >= (STEP))) {
            NAME(pack_transposed)(from, side < width ? (int)side : width, depth, side_stride, width,
                                  to);
        } else {
            int here = side < width ? (int)side : width;
            for (int64_t d = 0; d < depth; d++)
                for (int s = 0; s < width; s++)
                    to[d * width + s] = s < here ? from[s * side_stride + d * depth_stride] : 0;
        }
    }
}

#undef PACK_COPY

PACK_TARGET void NAME(gemm_unpack)(const void *source, int64_t side, int64_t depth,
                                   int64_t side_stride, int width, void *target) {
    const T *from = source;
    T *to = target;
    int64_t whole = side / ((STEP) / 2) * ((STEP) / 2), d = 0;
    for (; d + (STEP) <= depth; d += (STEP)) {
        NAME(pack_rows)(from + d * width, whole, width, (STEP)-1, (STEP)*width, side_stride,
                        to + d);
        for (int64_t s = whole; s < side; s++)
            for (int i = 0; i < (STEP); i++)
                to[s * side_stride + d + i] = from[(d + i) * width + s];
    }
    for (; d < depth; d++)
        for (int64_t s = 0; s < side; s++) to[s * side_stride + d] = from[d * width + s];
}

#undef T
#undef NAME
#undef STEP
