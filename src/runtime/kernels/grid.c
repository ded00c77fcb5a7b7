/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid.c - sampling at the positions of a grid (grid_sampler), and affine grids.
 *
 * A grid position is (x, y) or (x, y, z) in [-1, 1] per dim, the last dim of the input first. For
 * each output position the elements to read and their weights are the same in all channels and are
 * found once.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/nn.h"

#include <math.h>

enum { GRID_BILINEAR, GRID_NEAREST, GRID_BICUBIC };
enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };
enum { GRID_MAX_TAPS = 16 };

typedef struct grid_job {
    dtype dt;
    const void *x, *grid;
    void *y;
    int dims;                        /* 2 or 3 */
    int64_t channels, in[3], out[3]; /* sizes of D, H, W; D is 1 for two dims */
    int mode, padding;
    bool align;
} grid_job;

/* ---- coordinates ----------------------------------------------------------------------------- */

#define GRID_COORDINATES(T, SUFFIX, FABS, FMOD, FLOOR)                                             \
    static T grid_unnormalize_##SUFFIX(T v, int64_t size, bool align) {                            \
        return align ? (v + 1) / 2 * (T)(size - 1) : ((v + 1) * (T)size - 1) / 2;                  \
    }                                                                                              \
    /* Mirrors v at low / 2 and high / 2 until it lies between. */                                 \
    static T grid_reflect_##SUFFIX(T v, int64_t low, int64_t high) {                               \
        if (low == high) return 0;                                                                 \
        T min = (T)low / 2, span = (T)(high - low) / 2;                                            \
        v = FABS(v - min);                                                                         \
        T extra = FMOD(v, span);                                                                   \
        T flips = FLOOR(v / span);                                                                 \
        return FMOD(flips, 2) == 0 ? extra + min : span - extra + min;                             \
    }                                                                                              \
    static T grid_pad_##SUFFIX(T v, int64_t size, int padding, bool align) {                       \
        if (padding == GRID_REFLECTION)                                                            \
            v = align ? grid_reflect_##SUFFIX(v, 0, 2 * (size - 1))                                \
                      : grid_reflect_##SUFFIX(v, -1, 2 * size - 1);                                \
        if (padding == GRID_BORDER || padding == GRID_REFLECTION) {                                \
            v = v > 0 ? v : 0; /* NaN too */                                                       \
            v = v < (T)(size - 1) ? v : (T)(size - 1);                                             \
        }                                                                                          \
        /* What no index can hold lies outside all the same. */                                    \
        return v > -2147483648.0 && v < 2147483647.0 ? v : -100;                                   \
    }
GRID_COORDINATES(float, f32, fabsf, fmodf, floorf)
GRID_COORDINATES(double, f64, fabs, fmod, floor)

static double grid_source(const grid_job *j, double v, int i) {
    if (j->dt == DT_FLOAT64) return grid_unnormalize_f64(v, j->in[i], j->align);
    return (double)grid_unnormalize_f32((float)v, j->in[i], j->align);
}
static double grid_pad(const grid_job *j, double v, int i) {
    if (j->dt == DT_FLOAT64) return grid_pad_f64(v, j->in[i], j->padding, j->align);
    return (double)grid_pad_f32((float)v, j->in[i], j->padding, j->align);
}

/* ---- taps: what one output position reads ---------------------------------------------------- */

typedef struct grid_taps {
    int n;
    int64_t at[GRID_MAX_TAPS]; /* element of the channel */
    double weight[GRID_MAX_TAPS];
} grid_taps;

/* Adds position p (D, H, W) if it lies inside. */
static void grid_add_tap(const grid_job *j, grid_taps *t, const int64_t p[3], double weight) {
    for (int i = 0; i < 3; i++)
        if (p[i] < 0 || p[i] >= j->in[i]) return;
    t->at[t->n] = (p[0] * j->in[1] + p[1]) * j->in[2] + p[2];
    t->weight[t->n++] = weight;
}

static void grid_linear_taps(const grid_job *j, const double c[3], grid_taps *t) {
    int first = 3 - j->dims;
    int64_t low[3] = {0}, p[3] = {0};
    double part[3] = {0};
    for (int i = first; i < 3; i++) {
        double v = grid_pad(j, c[i], i);
        low[i] = (int64_t)floor(v);
        part[i] = v - (double)low[i];
    }
    for (int corner = 0; corner < 1 << j->dims; corner++) {
        double weight = 1;
        for (int i = first; i < 3; i++) {
            int high = corner >> (2 - i) & 1;
            p[i] = low[i] + high;
            weight *= high ? part[i] : 1 - part[i];
        }
        grid_add_tap(j, t, p, weight);
    }
}

static void grid_nearest_taps(const grid_job *j, const double c[3], grid_taps *t) {
    int64_t p[3] = {0};
    for (int i = 3 - j->dims; i < 3; i++) p[i] = (int64_t)nearbyint(grid_pad(j, c[i], i));
    grid_add_tap(j, t, p, 1);
}

static void grid_cubic_weights(double t, double w[4]) {
    const double a = -0.75;
    double x[4] = {t + 1, t, 1 - t, 2 - t};
    for (int i = 0; i < 4; i++)
        w[i] = i == 1 || i == 2 ? ((a + 2) * x[i] - (a + 3)) * x[i] * x[i] + 1
                                : ((a * x[i] - 5 * a) * x[i] + 8 * a) * x[i] - 4 * a;
}

/* Padding applies to each of the 16 neighbours by itself. */
VECTOR_LOOPS static void grid_cubic_taps(const grid_job *j, const double c[3], grid_taps *t) {
    double wy[4], wx[4], y = floor(c[1]), x = floor(c[2]);
    grid_cubic_weights(c[1] - y, wy);
    grid_cubic_weights(c[2] - x, wx);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            int64_t p[3] = {0, (int64_t)grid_pad(j, y - 1 + a, 1),
                            (int64_t)grid_pad(j, x - 1 + b, 2)};
            grid_add_tap(j, t, p, wy[a] * wx[b]);
        }
}

/* ---- sampling -------------------------------------------------------------------------------- */

/* A piece is a row of output positions of one batch item. */
static void grid_range(void *ctx, int64_t begin, int64_t end) {
    const grid_job *j = ctx;
    int64_t rows = j->out[0] * j->out[1], plane = j->in[0] * j->in[1] * j->in[2];
    int64_t out_plane = rows * j->out[2];
    NN_WIDE(j->dt, {
        for (int64_t r = begin; r < end; r++) {
            int64_t item = r / rows;
            const T *grid = (const T *)j->grid + r * j->out[2] * j->dims;
            const T *x = (const T *)j->x + item * j->channels * plane;
            T *y = (T *)j->y + item * j->channels * out_plane + r % rows * j->out[2];
            for (int64_t o = 0; o < j->out[2]; o++, grid += j->dims) {
                double c[3] = {0};
                grid_taps t = {0};
                for (int i = 0; i < j->dims; i++) c[2 - i] = grid_source(j, (double)grid[i], 2 - i);
                if (j->mode == GRID_BILINEAR)
                    grid_linear_taps(j, c, &t);
                else if (j->mode == GRID_NEAREST)
                    grid_nearest_taps(j, c, &t);
                else
                    grid_cubic_taps(j, c, &t);
                for (int64_t k = 0; k < j->channels; k++) {
                    T sum = 0;
                    for (int i = 0; i < t.n; i++) sum += x[k * plane + t.at[i]] * (T)t.weight[i];
                    y[k * out_plane + o] = sum;
                }
            }
        }
    });
}

static ctsc_status grid_check(op_ctx *cx, const tensor *x, const tensor *grid, int64_t mode) {
    nn_text a, b;
    if (x->ndim < 1 || grid->ndim < 1 || x->sizes[0] != grid->sizes[0])
        return nn_fail(cx,
                       "grid_sampler(): expected grid and input to have same batch size, but got "
                       "input with sizes %s and grid with sizes %s",
                       nn_shape(x, &a), nn_shape(grid, &b));
    if (grid->sizes[grid->ndim - 1] != x->ndim - 2)
        return nn_fail(cx,
                       "grid_sampler(): expected grid to have size %d in last dimension, but got "
                       "grid with sizes %s",
                       x->ndim - 2, nn_shape(grid, &b));
    for (int i = 2; i < x->ndim; i++)
        if (x->sizes[i] == 0)
            return nn_fail(cx,
                           "grid_sampler(): expected input to have non-empty spatial dimensions, "
                           "but input has sizes %s with dimension %d being empty",
                           nn_shape(x, &a), i);
    if ((x->ndim != 4 && x->ndim != 5) || x->ndim != grid->ndim)
        return nn_fail(cx,
                       "grid_sampler(): expected 4D or 5D input and grid with same number of "
                       "dimensions, but got input with sizes %s and grid with sizes %s",
                       nn_shape(x, &a), nn_shape(grid, &b));
    if (x->ndim == 5 && mode == GRID_BICUBIC)
        return nn_fail(cx, "grid_sampler(): bicubic interpolation only supports 4D input");
    if (mode < GRID_BILINEAR || mode > GRID_BICUBIC)
        return nn_fail(cx, "grid_sampler(): unknown interpolation mode %lld", (long long)mode);
    if (!dtype_is_float((dtype)x->dtype))
        return diag_fail(cx->diag,
                         dtype_is_integral((dtype)x->dtype) ? CTSC_FAILED : CTSC_UNSUPPORTED,
                         "grid_sampler_%dd_cpu not implemented for %s", x->ndim - 2,
                         dtype_table[x->dtype].ir_name);
    if (x->dtype != grid->dtype)
        return nn_fail(cx, "expected scalar type %s but found %s", dtype_table[x->dtype].ir_name,
                       dtype_table[grid->dtype].ir_name);
    return CTSC_OK;
}

/* input, grid, interpolation_mode, padding_mode, align_corners */
ctsc_status op_grid_sampler(op_ctx *cx, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]), *grid = arg_tensor(&args[1]);
    tensor *x = NULL, *g = NULL, *y = NULL;
    ctsc_status st;
    TRY(grid_check(cx, input, grid, arg_int(&args[2])));
    int n = input->ndim - 2;
    int64_t sizes[5] = {input->sizes[0], input->sizes[1]};
    grid_job j = {.dims = n,
                  .channels = input->sizes[1],
                  .in = {1, 1, 1},
                  .out = {1, 1, 1},
                  .mode = (int)arg_int(&args[2]),
                  .align = arg_bool(&args[4])};
    j.padding = arg_int(&args[3]) == GRID_BORDER       ? GRID_BORDER
                : arg_int(&args[3]) == GRID_REFLECTION ? GRID_REFLECTION
                                                       : GRID_ZEROS;
    for (int i = 0; i < n; i++) {
        j.in[3 - n + i] = input->sizes[2 + i];
        j.out[3 - n + i] = sizes[2 + i] = grid->sizes[1 + i];
    }
    TRY(nn_input(cx, "grid_sampler", input, &x));
    TRY_OUT(nn_input(cx, "grid_sampler", grid, &g));
    TRY_OUT(tensor_new(cx->diag, (dtype)x->dtype, input->ndim, sizes, &y));
    j.dt = (dtype)x->dtype, j.x = tensor_data(x), j.grid = tensor_data(g), j.y = tensor_data(y);
    if (y->numel)
        pool_for(sizes[0] * j.out[0] * j.out[1], nn_grain(j.out[2] * (j.channels * 8 + 32)),
                 grid_range, &j);
    st = nn_finish(cx, args, y, (dtype)input->dtype, results);
out:
    tensor_unref(x);
    tensor_unref(g);
    return st;
}

/* ---- affine grids ---------------------------------------------------------------------------- */

/* The i-th of n positions from -1 to 1, as linspace computes them; without aligned corners they are
 * the centres of n cells. */
static double affine_position(dtype dt, int64_t i, int64_t n, bool align) {
    if (n <= 1) return 0;
    if (dt == DT_FLOAT64) {
        double step = 2.0 / (double)(n - 1);
        double v = i < n / 2 ? -1 + step * (double)i : 1 - step * (double)(n - i - 1);
        return align ? v : v * (double)(n - 1) / (double)n;
    }
    float step = 2.0f / (float)(n - 1);
    float v = i < n / 2 ? -1 + step * (float)i : 1 - step * (float)(n - i - 1);
    return align ? v : v * (float)(n - 1) / (float)n;
}

ctsc_status op_affine_grid_generator(op_ctx *cx, const value *args, value *results) {
    tensor *theta = arg_tensor(&args[0]), *x, *y = NULL;
    const int64_t *size;
    int n = arg_ints(&args[1], &size) - 2;
    bool align = arg_bool(&args[2]);
    nn_text text;
    if (n != 2 && n != 3)
        return nn_fail(cx, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
    if (theta->ndim != 3 || theta->sizes[0] != size[0] || theta->sizes[1] != n ||
        theta->sizes[2] != n + 1)
        return nn_fail(cx, "Expected a batch of affine matrices of shape %lldx%dx%d, but got %s.",
                       (long long)size[0], n, n + 1, nn_shape(theta, &text));
    int64_t sizes[5] = {size[0]}, in[3] = {1, 1, 1};
    for (int i = 0; i < n; i++) sizes[1 + i] = in[3 - n + i] = size[2 + i];
    sizes[1 + n] = n;
    TRY(nn_input(cx, "affine_grid_generator", theta, &x));
    ctsc_status st = tensor_new(cx->diag, (dtype)x->dtype, n + 2, sizes, &y);
    dtype dt = (dtype)x->dtype;
    if (st == CTSC_OK && y->numel) {
        NN_WIDE(dt, {
            T *out = tensor_data(y);
            for (int64_t r = 0, all = y->numel / n; r < all; r++) {
                int64_t w = r % in[2];
                int64_t h = r / in[2] % in[1];
                int64_t d = r / in[2] / in[1] % in[0];
                const T *m = TENSOR_AT(x, T) + r / in[2] / in[1] / in[0] * n * (n + 1);
                T p[4] = {(T)affine_position(dt, w, in[2], align),
                          (T)affine_position(dt, h, in[1], align),
                          (T)(n == 3 ? affine_position(dt, d, in[0], align) : 1), 1};
                for (int i = 0; i < n; i++) {
                    T sum = 0;
                    for (int k = 0; k <= n; k++) sum += p[k] * m[i * (n + 1) + k];
                    *out++ = sum;
                }
            }
        });
    }
    tensor_unref(x);
    return st == CTSC_OK ? nn_finish(cx, args, y, (dtype)theta->dtype, results) : st;
}
