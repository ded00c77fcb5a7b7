/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.c - an operator of one's own: cv::warp_perspective, which views an image
 * through a 3x3 matrix.
 *
 *     cc -shared -fPIC -o libwarp.so warp.c $(pkg-config --cflags ctsc)
 *     ctsc --load-library ./libwarp.so run warp.py --input 'float32[1,8,8]:rand' --input 'float32[3,3]:rand'
 *
 * image: float32 [..., height, width]; warp: float32 [3, 3], which takes a pixel of the result to
 * where it comes from: (x', y', w') = warp (x, y, 1), read at (x'/w', y'/w') by bilinear
 * interpolation. Outside the image there is 0, as with OpenCV's warpPerspective and
 * WARP_INVERSE_MAP.
 */
#include <ctsc.h>

#include <math.h>

typedef struct image { const float *data; int64_t height, width, row, column; /* strides */ } image;

static float image_at(const image *p, int64_t y, int64_t x) {
    return y < 0 || x < 0 || y >= p->height || x >= p->width ? 0
                                                             : p->data[y * p->row + x * p->column];
}

static float image_sample(const image *p, float y, float x) {
    float fy = floorf(y), fx = floorf(x), dy = y - fy, dx = x - fx;
    /* nan as well */
    if (!(fy >= -1 && fy <= (float)p->height && fx >= -1 && fx <= (float)p->width)) return 0;
    int64_t iy = (int64_t)fy, ix = (int64_t)fx;
    float above = image_at(p, iy, ix) * (1 - dx) + image_at(p, iy, ix + 1) * dx;
    float below = image_at(p, iy + 1, ix) * (1 - dx) + image_at(p, iy + 1, ix + 1) * dx;
    return above * (1 - dy) + below * dy;
}

static void warp_image(const image *p, const float m[9], float *out) {
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++) {
            float w = m[6] * (float)x + m[7] * (float)y + m[8], scale = w ? 1 / w : 0;
            *out++ = image_sample(p, (m[3] * (float)x + m[4] * (float)y + m[5]) * scale,
                                  (m[0] * (float)x + m[1] * (float)y + m[2]) * scale);
        }
}

/* The result is as large as the image. */
static ctsc_status warp_shape(void *ctx, size_t nargs, ctsc_value *const *args, size_t i,
                              ctsc_tensor_shape *out, ctsc_error *e) {
    const ctsc_value *in = args[0], *m = args[1];
    int n = ctsc_tensor_ndim(in);
    (void)ctx, (void)nargs, (void)i;
    if (ctsc_tensor_dtype(in) != CTSC_FLOAT32 || n < 2)
        return ctsc_error_set(e, CTSC_FAILED, "the image must be float32 [..., height, width]");
    if (ctsc_tensor_dtype(m) != CTSC_FLOAT32 || ctsc_tensor_ndim(m) != 2 ||
        ctsc_tensor_sizes(m)[0] != 3 || ctsc_tensor_sizes(m)[1] != 3)
        return ctsc_error_set(e, CTSC_FAILED, "the matrix must be float32 [3, 3]");
    out->dtype = CTSC_FLOAT32;
    out->ndim = n;
    for (int k = 0; k < n; k++) out->sizes[k] = ctsc_tensor_sizes(in)[k];
    return CTSC_OK;
}

/* Shapes and dtypes are as warp_shape wants them; results[0] is there to be written. */
static ctsc_status warp(void *ctx, size_t nargs, ctsc_value *const *args, ctsc_value **results,
                        ctsc_error *e) {
    const ctsc_value *in = args[0], *matrix = args[1];
    const int64_t *sizes = ctsc_tensor_sizes(in), *strides = ctsc_tensor_strides(in),
                  *ms = ctsc_tensor_strides(matrix);
    const float *data = ctsc_tensor_data(in), *md = ctsc_tensor_data(matrix);
    float *out = ctsc_tensor_data(results[0]), m[9];
    int n = ctsc_tensor_ndim(in);
    image p = {data, sizes[n - 2], sizes[n - 1], strides[n - 2], strides[n - 1]};
    int64_t images = 1;
    (void)ctx, (void)nargs, (void)e;
    for (int i = 0; i < 9; i++) m[i] = md[i / 3 * ms[0] + i % 3 * ms[1]];
    for (int k = 0; k < n - 2; k++) images *= sizes[k];
    for (int64_t i = 0; i < images; i++) {
        int64_t rest = i, offset = 0; /* image i, counted row by row over the leading dimensions */
        for (int k = n - 3; k >= 0; k--) offset += rest % sizes[k] * strides[k], rest /= sizes[k];
        p.data = data + offset;
        warp_image(&p, m, out + i * p.height * p.width);
    }
    return CTSC_OK;
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
ctsc_status
ctsc_library_init(ctsc_error *e);
ctsc_status ctsc_library_init(ctsc_error *e) {
    ctsc_op_options options = {.size = sizeof options, .shape = warp_shape};
    return ctsc_register_op("cv::warp_perspective(Tensor image, Tensor warp) -> Tensor", warp, NULL,
                            &options, e);
}
