/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - max and average pooling over fixed windows in one to three dims, and max unpooling.
 *
 * Method: one and two dims are three with sizes of 1. Without indices a window is pooled in two
 * steps, first the rows of the window into one row (long loops that vectorise), then along that
 * row. With indices each window is walked in memory order, which is the order that decides ties;
 * many neighbouring windows at once where all are inside the input.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/pool/pool.h"
#include "base/minmax.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include "base/memory/recycle.h"
#include "base/threads/limits.h"
#include "runtime/kernels/engine/device_kernels.h"

#include <math.h>
#include <string.h>

/* ---- geometry -------------------------------------------------------------------------------- */

/* How an operator words its complaints about its arguments. */
typedef struct pool_words {
    const char *name;
    int dims;
    const char *kernel, *stride, *padding, *dilation;
} pool_words;

static const pool_words pool_max1d = {
    "max_pool1d",
    1,
    "max_pool1d() kernel_size must be an int, list of ints or tuple of ints of size 1 but got size "
    "%d",
    "max_pool1d() stride must be None, an int, list of ints, or tuple of ints of size 1 but got "
    "size %d",
    "max_pool1d() padding must be an int, list of ints, or tuple of ints of size 1 but got size %d",
    "max_pool1d() dilation must be an int, list of ints or tuple of ints of size 1 but got size "
    "%d"};
static const pool_words pool_max2d = {
    "max_pool2d",
    2,
    "max_pool2d: kernel_size must either be a single int, or a tuple of two ints",
    "max_pool2d: stride must either be omitted, a single int, or a tuple of two ints",
    "max_pool2d: padding must be either be a single int, or a tuple of two ints",
    "max_pool2d: dilation must be either a single int, or a tuple of two ints"};
static const pool_words pool_max3d = {
    "max_pool3d_with_indices_cpu",
    3,
    "max_pool3d: kernel_size must either be a single int, or a tuple of three ints",
    "max_pool3d: stride must either be omitted, a single int, or a tuple of three ints",
    "max_pool3d: padding must either be a single int, or a tuple of three ints",
    "max_pool3d: dilation must be either a single int, or a tuple of three ints"};
static const pool_words pool_avg1d = {
    "avg_pool2d",
    1,
    "avg_pool1d() argument 'kernel_size' should contain one int (got %d)",
    "avg_pool1d() argument 'stride' should contain one int (got %d)",
    "avg_pool1d() argument 'padding' should contain one int (got %d)",
    ""};
static const pool_words pool_avg2d = {
    "avg_pool2d",
    2,
    "avg_pool2d: kernel_size must either be a single int, or a tuple of two ints",
    "avg_pool2d: stride must either be omitted, a single int, or a tuple of two ints",
    "avg_pool2d: padding must either be a single int, or a tuple of two ints",
    ""};
static const pool_words pool_avg3d = {
    "avg_pool3d_out_frame",
    3,
    "avg_pool3d: kernel_size must be a single int, or a tuple of three ints",
    "avg_pool3d: stride must be omitted, a single int, or a tuple of three ints",
    "avg_pool3d: padding must be a single int, or a tuple of three ints",
    ""};

static ctsc_status pool_bad_list(op_ctx *cx, const char *words, const value *v) {
    const int64_t *data;
    int n = arg_ints(v, &data);
    const char *at = strstr(words, "%d");
    if (!at) return kernel_fail(cx, "%s", words);
    return kernel_fail(cx, "%.*s%d%s", (int)(at - words), words, n, at + 2);
}

/* args: kernel_size, stride, padding and, for the max poolings, dilation. */
static ctsc_status pool_read(op_ctx *cx, const pool_words *w, const value *args, bool dilated,
                             pool_geometry *g) {
    int n = w->dims, at = 3 - n;
    const int64_t *data;
    *g = (pool_geometry){.kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    if (!arg_ints_or_one(&args[0], n, g->kernel + at))
        return pool_bad_list(cx, w->kernel, &args[0]);
    if (arg_ints(&args[1], &data) == 0) memcpy(g->stride, g->kernel, sizeof g->stride);
    else if (!arg_ints_or_one(&args[1], n, g->stride + at))
        return pool_bad_list(cx, w->stride, &args[1]);
    if (!arg_ints_or_one(&args[2], n, g->pad + at)) return pool_bad_list(cx, w->padding, &args[2]);
    if (dilated && !arg_ints_or_one(&args[3], n, g->dilation + at))
        return pool_bad_list(cx, w->dilation, &args[3]);
    return CTSC_OK;
}

static ctsc_status pool_bad_dilation(op_ctx *cx, const pool_geometry *g, int n) {
    long long t = g->dilation[0], h = g->dilation[1], w = g->dilation[2];
    if (n == 3)
        return kernel_fail(
            cx,
            "dilation should be greater than zero, but got dilationT: %lld dilationH: "
            "%lld dilationW: %lld",
            t, h, w);
    return kernel_fail(
        cx, "dilation should be greater than zero, but got dilationH: %lld dilationW: %lld", h, w);
}

static ctsc_status pool_bad_kernel(op_ctx *cx, const pool_geometry *g, int n) {
    long long t = g->kernel[0], h = g->kernel[1], w = g->kernel[2];
    if (n == 3)
        return kernel_fail(
            cx, "kernel size should be greater than zero, but got kT: %lld kH: %lld kW: %lld", t, h,
            w);
    return kernel_fail(cx, "kernel size should be greater than zero, but got kH: %lld kW: %lld", h,
                       w);
}

static ctsc_status pool_bad_stride(op_ctx *cx, const pool_geometry *g, int n) {
    long long t = g->stride[0], h = g->stride[1], w = g->stride[2];
    if (!t || !h || !w) return kernel_fail(cx, "stride should not be zero");
    if (n == 3)
        return kernel_fail(
            cx, "stride should be greater than zero, but got dT: %lld dH: %lld dW: %lld", t, h, w);
    return kernel_fail(cx, "stride should be greater than zero, but got dH: %lld dW: %lld", h, w);
}

static int64_t pool_floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Output size of dim i; false on overflow. */
static bool pool_out_size(pool_geometry *g, int i, bool ceil_mode) {
    int64_t span, room;
    if (__builtin_mul_overflow(g->dilation[i], g->kernel[i] - 1, &span) ||
        __builtin_sub_overflow(g->in[i] + 2 * g->pad[i] - 1, span, &room) ||
        __builtin_add_overflow(room, ceil_mode ? g->stride[i] - 1 : 0, &room))
        return false;
    int64_t out = pool_floor_div(room, g->stride[i]) + 1;
    /* The last window starts inside the input or its left padding. */
    if (ceil_mode && out > 0 && (out - 1) * g->stride[i] >= g->in[i] + g->pad[i]) out--;
    g->out[i] = out;
    return true;
}

static ctsc_status pool_sizes(op_ctx *cx, const tensor *input, int n, bool ceil_mode,
                              pool_geometry *g) {
    int64_t limit = INT32_MAX;
    for (int i = 3 - n; i < 3; i++) {
        if (g->stride[i] <= 0) return pool_bad_stride(cx, g, n);
        if (g->kernel[i] <= 0) return pool_bad_kernel(cx, g, n);
        if (g->dilation[i] <= 0) return pool_bad_dilation(cx, g, n);
        if (g->pad[i] < 0)
            return kernel_fail(cx, "pad must be non-negative, but got pad: %lld",
                               (long long)g->pad[i]);
        if (g->pad[i] > g->kernel[i] / 2)
            return kernel_fail(
                cx,
                "pad should be at most half of kernel size, but got pad=%lld and kernel_size=%lld",
                (long long)g->pad[i], (long long)g->kernel[i]);
        if (g->kernel[i] > limit || g->stride[i] > limit || g->dilation[i] > limit)
            return kernel_fail(cx, "pooling window is too large");
    }
    g->planes = sizes_product(input, 0, input->ndim - n);
    for (int i = 0; i < 3; i++) {
        g->in[i] = i < 3 - n ? 1 : input->sizes[input->ndim - (3 - i)];
        if (!pool_out_size(g, i, ceil_mode)) return kernel_fail(cx, "pooling window is too large");
    }
    return CTSC_OK;
}

static ctsc_status pool_too_small(op_ctx *cx, const tensor *input, int n, const pool_geometry *g) {
    long long c = input->sizes[input->ndim - n - 1];
    const int64_t *in = g->in, *out = g->out;
    if (n == 3)
        return kernel_fail(cx,
                           "Given input size: (%lldx%lldx%lldx%lld). Calculated output size: "
                           "(%lldx%lldx%lldx%lld). Output size is too small",
                           c, (long long)in[0], (long long)in[1], (long long)in[2], c,
                           (long long)out[0], (long long)out[1], (long long)out[2]);
    return kernel_fail(
        cx,
        "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). "
        "Output size is too small",
        c, (long long)in[1], (long long)in[2], c, (long long)out[1], (long long)out[2]);
}

/* The batch may be empty, nothing else. */
static bool pool_has_empty_dim(const tensor *input, int n) {
    for (int i = input->ndim == n + 2; i < input->ndim; i++)
        if (input->sizes[i] == 0) return true;
    return false;
}

static ctsc_status pool_check_shape(op_ctx *cx, const char *name, const tensor *input, int n,
                                    pool_geometry *g) {
    sizes_text text;
    if (n == 2 && pool_has_empty_dim(input, n))
        return kernel_fail(
            cx,
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for "
            "input, but got:%s",
            shape_print(input, &text));
    if (n == 3 && pool_has_empty_dim(input, n))
        return kernel_fail(
            cx,
            "%s(): Expected input's non-batch dimensions to have positive length, but "
            "input has a shape of %s and non-batch dimension 0 has length zero!",
            name, shape_print(input, &text));
    for (int i = 3 - n; i < 3; i++)
        if (g->out[i] < 1) return pool_too_small(cx, input, n, g);
    return CTSC_OK;
}

ctsc_status pool_check_1d(op_ctx *cx, const tensor *input, const char *name) {
    if (input->ndim == 2 || input->ndim == 3) return CTSC_OK;
    return kernel_fail(
        cx,
        "Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 'self' "
        "(while checking arguments for %s)",
        input->ndim, name);
}

/* Everything up to the output sizes. */
static ctsc_status pool_prepare(op_ctx *cx, const pool_words *w, const value *args, bool dilated,
                                bool ceil_mode, pool_geometry *g) {
    const tensor *input = arg_tensor(&args[0]);
    TRY(pool_read(cx, w, args + 1, dilated, g));
    int n = w->dims;
    if (n == 1) TRY(pool_check_1d(cx, input, dilated ? "max_pool1d" : "avg_pool1d"));
    else if (input->ndim != n + 1 && input->ndim != n + 2)
        return kernel_fail(cx, "non-empty %dD or %dD (batch mode) tensor expected for input", n + 1,
                           n + 2);
    return pool_sizes(cx, input, n, ceil_mode, g);
}

/* ---- the kernels ----------------------------------------------------------------------------- */

typedef struct pool_job {
    const pool_geometry *g;
    dtype dt;
    const void *x;
    void *y;
    int64_t *indices; /* max pooling only; may be NULL */
    bool average, count_padding;
    int64_t divisor; /* 0: the window's size */
} pool_job;

/* Windows may be as large as the input. Has the call been told to stop?
 * Tested once for about this many elements; skipped results are not read. */
enum { POOL_LOOK = 1 << 16 };

static inline bool pool_told(int64_t *done, int64_t more) {
    if ((*done += more) < POOL_LOOK) return false;
    *done = 0;
    return limits_stop();
}

/* Outputs [*lo, *hi) of dim i have their whole window inside the input. */
static void pool_interior(const pool_geometry *g, int i, int64_t *lo, int64_t *hi) {
    int64_t room = g->in[i] - 1 - (g->kernel[i] - 1) * g->dilation[i] + g->pad[i];
    *lo = int64_min((g->pad[i] + g->stride[i] - 1) / g->stride[i], g->out[i]);
    *hi = room < 0 ? *lo : int64_max(int64_min(room / g->stride[i] + 1, g->out[i]), *lo);
}

#define POOL_MAX(m, v) ((v) > (m) || (v) != (v) ? (v) : (m))
#define POOL_ADD(m, v) ((m) + (v))

#define T float
#define NAME(x) pool_max_##x##_float
#define FOLD POOL_MAX
#include "runtime/kernels/pool/pool_fold.h"

#define T double
#define NAME(x) pool_max_##x##_double
#define FOLD POOL_MAX
#include "runtime/kernels/pool/pool_fold.h"

#define T float
#define NAME(x) pool_add_##x##_float
#define FOLD POOL_ADD
#include "runtime/kernels/pool/pool_fold.h"

#define T double
#define NAME(x) pool_add_##x##_double
#define FOLD POOL_ADD
#include "runtime/kernels/pool/pool_fold.h"

#define pool_into(name, acc, row, n)                                                               \
    _Generic(*(acc), float: pool_##name##_into_float, double: pool_##name##_into_double)(          \
        (void *)(acc), (const void *)(row), n)
#define pool_along(name, y, line, n, stride, kernel, dilation)                                     \
    _Generic(*(y), float: pool_##name##_along_float, double: pool_##name##_along_double)(          \
        (void *)(y), (const void *)(line), n, stride, kernel, dilation)

/* One output row of max pooling without indices: `acc` receives the maximum of the window's rows.
 */
static void pool_max_row(const pool_job *j, int64_t plane, int64_t od, int64_t oh, void *acc,
                         void *dst) {
    const pool_geometry *g = j->g;
    int64_t d0, dn, h0, hn, w0, wn;
    pool_window(g, 0, od, &d0, &dn);
    pool_window(g, 1, oh, &h0, &hn);
    WIDE_DISPATCH(j->dt, {
        const T *base = (const T *)j->x + plane * g->in[0] * g->in[1] * g->in[2];
        const T *line = NULL;
        T *y = dst;
        int64_t done = 0;
        for (int64_t a = 0; a < dn; a++)
            for (int64_t b = 0; b < hn; b++) {
                if (pool_told(&done, g->in[2])) return;
                const T *row = base +
                               ((d0 + a * g->dilation[0]) * g->in[1] + h0 + b * g->dilation[1]) *
                                   g->in[2];
                if (dn * hn == 1) {
                    line = row;
                } else if (a + b == 0) {
                    memcpy(acc, row, sizeof *row * (size_t)g->in[2]);
                    line = acc;
                } else {
                    pool_into(max, (T *)acc, row, g->in[2]);
                }
            }
        int64_t lo;
        int64_t hi;
        pool_interior(g, 2, &lo, &hi);
        if (!line) lo = hi = 0;
        if (lo < hi)
            pool_along(max, y + lo, line + lo * g->stride[2] - g->pad[2], hi - lo, g->stride[2],
                       g->kernel[2], g->dilation[2]);
        for (int64_t o = 0; o < g->out[2]; o++) {
            if (o == lo && lo < hi) o = hi;
            if (o == g->out[2]) break;
            pool_window(g, 2, o, &w0, &wn);
            T m = (T)-INFINITY;
            for (int64_t k = 0; line && k < wn; k++) {
                T v = line[w0 + k * g->dilation[2]];
                m = POOL_MAX(m, v);
            }
            y[o] = m;
        }
    });
}

/* Windows of two by two, side by side and inside the input. */
static bool pool_is_squares(const pool_geometry *g) {
    if (g->in[0] != 1 || g->out[0] != 1 || g->kernel[0] != 1 || g->pad[0] != 0) return false;
    for (int i = 1; i < 3; i++)
        if (g->kernel[i] != 2 || g->stride[i] != 2 || g->dilation[i] != 1 || g->pad[i] != 0 ||
            g->in[i] < 2 * g->out[i])
            return false;
    return true;
}

#define T float
#define NAME(x) x##_float
#include "runtime/kernels/pool/pool_squares.h"

#define T double
#define NAME(x) x##_double
#include "runtime/kernels/pool/pool_squares.h"

static void pool_squares(void *ctx, int64_t begin, int64_t end) {
    const pool_job *j = ctx;
    if (j->dt == DT_FLOAT64) pool_squares_double(j->g, j->x, j->y, begin, end);
    else pool_squares_float(j->g, j->x, j->y, begin, end);
}

/* One output row of max pooling with the place of each maximum. */
static void pool_max_row_indices(const pool_job *j, int64_t plane, int64_t od, int64_t oh,
                                 void *dst, int64_t *indices) {
    const pool_geometry *g = j->g;
    int64_t d0, dn, h0, hn, w0, wn;
    pool_window(g, 0, od, &d0, &dn);
    pool_window(g, 1, oh, &h0, &hn);
    WIDE_DISPATCH(j->dt, {
        const T *base = (const T *)j->x + plane * g->in[0] * g->in[1] * g->in[2];
        T *y = dst;
        int64_t done = 0;
        bool large = dn * hn > POOL_LOOK / 16;
        for (int64_t o = 0; o < g->out[2]; o++) {
            pool_window(g, 2, o, &w0, &wn);
            if (pool_told(&done, dn * hn * wn)) return;
            T m = (T)-INFINITY;
            int64_t best = (d0 * g->in[1] + h0) * g->in[2] + w0;
            for (int64_t a = 0; a < dn; a++)
                for (int64_t b = 0; b < hn; b++) {
                    if (large && pool_told(&done, wn)) return;
                    int64_t at = ((d0 + a * g->dilation[0]) * g->in[1] + h0 + b * g->dilation[1]) *
                                     g->in[2] +
                                 w0;
                    for (int64_t k = 0; k < wn; k++, at += g->dilation[2]) {
                        T v = base[at];
                        if (v > m || v != v) m = v, best = at;
                    }
                }
            y[o] = m;
            if (indices) indices[o] = best;
        }
    });
}

enum { POOL_TILE = 64, POOL_TAPS = 64 };

static void pool_range(void *ctx, int64_t begin, int64_t end);

#define T float
#define NAME(x) x##_float
#include "runtime/kernels/pool/pool_places.h"

#define T double
#define NAME(x) x##_double
#include "runtime/kernels/pool/pool_places.h"

/* Are all windows inside the input, and places within some planes 32-bit numbers? */
static bool pool_is_inside(const pool_geometry *g) {
    int64_t in = g->in[0] * g->in[1] * g->in[2], taps = 1;
    for (int i = 0; i < 3; i++) {
        int64_t lo, hi;
        pool_interior(g, i, &lo, &hi);
        if (lo != 0 || hi != g->out[i] || g->kernel[i] > POOL_TAPS) return false;
        taps *= g->kernel[i];
    }
    return taps <= POOL_TAPS && in <= INT32_MAX / POOL_TILE;
}

/* Where the windows of `planes` planes begin, and how many of these are whole planes. */
static void pool_starts(const pool_geometry *g, int64_t planes, int32_t *start, int32_t *whole) {
    int64_t in = g->in[0] * g->in[1] * g->in[2];
    for (int64_t p = 0; p < planes; p++)
        for (int64_t d = 0; d < g->out[0]; d++)
            for (int64_t h = 0; h < g->out[1]; h++)
                for (int64_t w = 0; w < g->out[2]; w++) {
                    int64_t at = (d * g->stride[0] * g->in[1] + h * g->stride[1]) * g->in[2] +
                                 w * g->stride[2];
                    *start++ = (int32_t)(p * in + at);
                    *whole++ = (int32_t)(p * in);
                }
}

static int64_t pool_taps(const pool_geometry *g, int32_t *tap) {
    int64_t n = 0;
    for (int64_t d = 0; d < g->kernel[0]; d++)
        for (int64_t h = 0; h < g->kernel[1]; h++)
            for (int64_t w = 0; w < g->kernel[2]; w++)
                tap[n++] = (int32_t)((d * g->dilation[0] * g->in[1] + h * g->dilation[1]) *
                                         g->in[2] +
                                     w * g->dilation[2]);
    return n;
}

/* The windows of some planes, x and what is made of it being the first's. */
static void pool_some_planes(const pool_job *j, const int32_t *start, const int32_t *whole,
                             int64_t windows, int64_t first, const int32_t *tap, int64_t taps) {
    const pool_geometry *g = j->g;
    int32_t at[POOL_TILE];
    int64_t in = first * g->in[0] * g->in[1] * g->in[2],
            out = first * g->out[0] * g->out[1] * g->out[2];
    for (int64_t i = 0, n; i < windows; i += n) {
        n = int64_min(POOL_TILE, windows - i);
        if (j->dt == DT_FLOAT64)
            pool_places_double((const double *)j->x + in, start + i, tap, taps, n,
                               (double *)j->y + out + i, at);
        else
            pool_places_float((const float *)j->x + in, start + i, tap, taps, n,
                              (float *)j->y + out + i, at);
        for (int64_t k = 0; k < n; k++)
            j->indices[out + i + k] = start[i + k] - whole[i + k] + at[k];
    }
}

/* Planes [begin, end) where pool_is_inside; small ones several at a time, so that vectors fill. */
static void pool_planes_places(void *ctx, int64_t begin, int64_t end) {
    const pool_job *j = ctx;
    const pool_geometry *g = j->g;
    int64_t windows = g->out[0] * g->out[1] * g->out[2];
    int64_t planes = int64_min(end - begin, int64_max(POOL_TILE / windows, 1)),
            n = planes * windows;
    int32_t tap[POOL_TAPS];
    size_t bytes = (size_t)n * 2 * sizeof(int32_t);
    int32_t *start = recycle_alloc(bytes);
    int64_t taps = pool_taps(g, tap);
    if (!start) { /* row by row needs no memory */
        int64_t rows = g->out[0] * g->out[1];
        pool_range(ctx, begin * rows, end * rows);
        return;
    }
    pool_starts(g, planes, start, start + n);
    for (int64_t p = begin; p < end; p += planes)
        pool_some_planes(j, start, start + n, int64_min(planes, end - p) * windows, p, tap, taps);
    recycle_free(start, bytes);
}

/* The same for integers, as int64: no value is below the smallest
 * int64, so the first of a window serves as the initial maximum. */
__attribute__((noinline)) static void pool_max_row_int(const pool_job *j, int64_t plane, int64_t od,
                                                       int64_t oh, int64_t *y, int64_t *indices) {
    const pool_geometry *g = j->g;
    const int64_t *base = (const int64_t *)j->x + plane * g->in[0] * g->in[1] * g->in[2];
    int64_t d0, dn, h0, hn, w0, wn;
    pool_window(g, 0, od, &d0, &dn);
    pool_window(g, 1, oh, &h0, &hn);
    int64_t done = 0;
    for (int64_t o = 0; o < g->out[2]; o++) {
        pool_window(g, 2, o, &w0, &wn);
        if (pool_told(&done, dn * hn * wn)) return;
        int64_t best = (d0 * g->in[1] + h0) * g->in[2] + w0;
        for (int64_t a = 0; a < dn; a++)
            for (int64_t b = 0; b < hn; b++)
                for (int64_t k = 0; k < wn; k++) {
                    int64_t at = ((d0 + a * g->dilation[0]) * g->in[1] + h0 + b * g->dilation[1]) *
                                     g->in[2] +
                                 w0 + k * g->dilation[2];
                    if (base[at] > base[best]) best = at;
                }
        y[o] = base[best];
        if (indices) indices[o] = best;
    }
}

static void pool_avg_row(const pool_job *j, int64_t plane, int64_t od, int64_t oh, void *acc,
                         void *dst) {
    const pool_geometry *g = j->g;
    int64_t d0, dn, h0, hn, w0, wn;
    pool_window(g, 0, od, &d0, &dn);
    pool_window(g, 1, oh, &h0, &hn);
    WIDE_DISPATCH(j->dt, {
        const T *base = (const T *)j->x + plane * g->in[0] * g->in[1] * g->in[2];
        const T *line = acc;
        T *y = dst;
        int64_t lo;
        int64_t hi;
        pool_interior(g, 2, &lo, &hi);
        int64_t done = 0;
        if (acc) memset(acc, 0, sizeof *line * (size_t)g->in[2]);
        for (int64_t a = 0; acc && a < dn; a++)
            for (int64_t b = 0; b < hn; b++) {
                if (pool_told(&done, g->in[2])) return;
                pool_into(add, (T *)acc, base + ((d0 + a) * g->in[1] + h0 + b) * g->in[2],
                          g->in[2]);
            }
        if (acc && lo < hi) {
            const int64_t at[3] = {od, oh, lo}; /* all of them have the same divisor */
            int64_t by = pool_divisor(g, j->divisor, j->count_padding, at, dn * hn * g->kernel[2]);
            pool_along(add, y + lo, line + lo * g->stride[2] - g->pad[2], hi - lo, g->stride[2],
                       g->kernel[2], 1);
            for (int64_t o = lo; o < hi; o++) y[o] = by ? y[o] / (T)by : 0;
        }
        for (int64_t o = 0; o < g->out[2]; o++) {
            if (acc && o == lo && lo < hi) o = hi;
            if (o == g->out[2]) break;
            pool_window(g, 2, o, &w0, &wn);
            if (pool_told(&done, acc ? wn : dn * hn * wn)) return;
            T sum = 0;
            for (int64_t k = 0; acc && k < wn; k++) sum += line[w0 + k];
            for (int64_t a = 0; !acc && a < dn; a++)
                for (int64_t b = 0; b < hn; b++)
                    for (int64_t k = 0; k < wn; k++)
                        sum += base[((d0 + a) * g->in[1] + h0 + b) * g->in[2] + w0 + k];
            const int64_t at[3] = {od, oh, o};
            int64_t by = pool_divisor(g, j->divisor, j->count_padding, at, dn * hn * wn);
            y[o] = by ? sum / (T)by : 0;
        }
    });
}

/* Average pooling of int64: integer division, as C++ does it. */
static void pool_avg_row_int(const pool_job *j, int64_t plane, int64_t od, int64_t oh, int64_t *y) {
    const pool_geometry *g = j->g;
    int64_t d0, dn, h0, hn, w0, wn;
    pool_window(g, 0, od, &d0, &dn);
    pool_window(g, 1, oh, &h0, &hn);
    const int64_t *base = (const int64_t *)j->x + plane * g->in[0] * g->in[1] * g->in[2];
    int64_t done = 0;
    for (int64_t o = 0; o < g->out[2]; o++) {
        pool_window(g, 2, o, &w0, &wn);
        if (pool_told(&done, dn * hn * wn)) return;
        uint64_t sum = 0; /* wraps without being undefined */
        for (int64_t a = 0; a < dn; a++)
            for (int64_t b = 0; b < hn; b++)
                for (int64_t k = 0; k < wn; k++)
                    sum += (uint64_t)base[((d0 + a) * g->in[1] + h0 + b) * g->in[2] + w0 + k];
        const int64_t at[3] = {od, oh, o};
        int64_t by = pool_divisor(g, j->divisor, j->count_padding, at, dn * hn * wn);
        y[o] = !by ? 0 : by == -1 ? (int64_t)(0 - sum) : (int64_t)sum / by;
    }
}

/* Are the rows of a window folded into one first? */
static bool pool_folds(const pool_job *j) {
    const pool_geometry *g = j->g;
    /* needs no place for it */
    bool one_row = !j->average && g->kernel[0] == 1 && g->kernel[1] == 1;
    bool fits = g->in[2] <= POOL_ROW && g->out[2] * 4 >= g->in[2];
    return j->dt != DT_INT64 && !j->indices && (fits || one_row);
}

VECTOR_LOOPS static void pool_range(void *ctx, int64_t begin, int64_t end) {
    const pool_job *j = ctx;
    const pool_geometry *g = j->g;
    _Alignas(32) double acc[POOL_ROW];
    bool folds = pool_folds(j);
    size_t item = dtype_size(j->dt);
    for (int64_t r = begin; r < end; r++) {
        int64_t oh = r % g->out[1], od = r / g->out[1] % g->out[0],
                plane = r / g->out[1] / g->out[0];
        void *y = (char *)j->y + (size_t)(r * g->out[2]) * item;
        if (j->average && j->dt == DT_INT64) pool_avg_row_int(j, plane, od, oh, y);
        else if (j->dt == DT_INT64)
            pool_max_row_int(j, plane, od, oh, y, j->indices ? j->indices + r * g->out[2] : NULL);
        else if (j->average) pool_avg_row(j, plane, od, oh, folds ? acc : NULL, y);
        else if (!folds)
            pool_max_row_indices(j, plane, od, oh, y,
                                 j->indices ? j->indices + r * g->out[2] : NULL);
        else pool_max_row(j, plane, od, oh, acc, y);
    }
}

/* Elements that a row of the result reads, about. */
static int64_t pool_work(const pool_job *j) {
    const pool_geometry *g = j->g;
    double rows = (double)int64_min(g->kernel[0], g->in[0]) *
                  (double)int64_min(g->kernel[1], g->in[1]),
           taps = (double)g->out[2] * (double)int64_min(g->kernel[2], g->in[2]),
           all = pool_folds(j) ? taps + rows * (double)g->in[2] : taps * rows;
    return all < 0x1p40 ? (int64_t)all : (int64_t)1 << 40;
}

static ctsc_status pool_run(op_ctx *cx, const tensor *x, pool_job *j) {
    const pool_geometry *g = j->g;
    if (tensor_cuda(x))
        return on_device->pool(cx->diag, tensor_cuda(x), j->dt, g,
                               j->average ? DENSE_AVERAGE : DENSE_MAX, j->x, j->y, j->indices,
                               j->divisor, j->count_padding);
    bool any = g->planes && g->out[0] > 0 && g->out[1] > 0 && g->out[2] > 0;
    if (!any) return CTSC_OK;
    int64_t work = pool_work(j);
    if (j->indices && j->dt != DT_INT64 && pool_is_inside(g))
        return op_for(cx, g->planes, kernel_grain(work * g->out[0] * g->out[1]), pool_planes_places,
                      j);
    bool squares = !j->average && !j->indices && j->dt != DT_INT64 && pool_is_squares(g);
    TRY(op_for(cx, g->planes * g->out[0] * g->out[1], kernel_grain(work),
               squares ? pool_squares : pool_range, j));
    /* a row that was told to stop says nothing itself */
    return work >= POOL_LOOK && limits_stop() ? limits_fail(cx->diag) : CTSC_OK;
}

/* ---- max pooling ----------------------------------------------------------------------------- */

/* out[0]: maxima; out[1]: their places, if wanted. */
static ctsc_status pool_max(op_ctx *cx, const pool_words *w, const value *args,
                            const pool_geometry *g, bool with_indices, tensor **out) {
    tensor *input = arg_tensor(&args[0]), *x;
    int64_t sizes[TENSOR_MAX_DIMS];
    ctsc_status st;
    pool_result_sizes(input, w->dims, g, sizes);
    const char *name = w->dims == 1 && !with_indices ? "max_pool1d_impl"
                       : w->dims == 1                ? "max_pool2d"
                                                     : w->name;
    /* PyTorch takes integers since 2.0, except for max_pool1d alone. */
    bool ints = dtype_is_integral((dtype)input->dtype) && input->dtype != DT_BOOL &&
                (w->dims > 1 || with_indices) && !tensor_cuda(input);
    TRY(ints ? wide_as(cx, input, DT_INT64, &x) : wide_input(cx, name, input, &x));
    TRY_OUT(
        tensor_new_on(cx->diag, tensor_device(x), (dtype)x->dtype, input->ndim, sizes, &out[0]));
    if (with_indices)
        TRY_OUT(tensor_new_on(cx->diag, tensor_device(x), DT_INT64, input->ndim, sizes, &out[1]));
    pool_job j = {.g = g,
                  .dt = (dtype)x->dtype,
                  .x = tensor_data(x),
                  .y = tensor_data(out[0]),
                  .indices = with_indices ? tensor_data(out[1]) : NULL};
    TRY_OUT(pool_run(cx, x, &j));
    TRY_OUT(wide_round(cx, &out[0], (dtype)input->dtype));
out:
    tensor_unref(x);
    if (st != CTSC_OK) {
        tensor_unref(out[0]);
        tensor_unref(out[1]);
    }
    return st;
}

static ctsc_status pool_max_op(op_ctx *cx, const pool_words *w, const value *args,
                               bool with_indices, value *results) {
    pool_geometry g;
    tensor *out[2] = {NULL};
    TRY(pool_prepare(cx, w, args, true, arg_bool(&args[5]), &g));
    if (w->dims == 1 && with_indices && (arg_tensor(&args[0])->numel == 0)) {
        const tensor *t = arg_tensor(&args[0]);
        int64_t wide[4];
        sizes_text text;
        for (int i = 0; i < t->ndim; i++) wide[i + (i == t->ndim - 1)] = t->sizes[i];
        wide[t->ndim - 1] = 1;
        if (t->ndim == 2 || t->sizes[1] * t->sizes[2] == 0)
            return kernel_fail(
                cx,
                "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size "
                "for input, but got:%s",
                sizes_print(t->ndim + 1, wide, &text));
    }
    if (w->dims == 1 && g.out[2] < 1) return pool_too_small(cx, arg_tensor(&args[0]), 1, &g);
    if (w->dims > 1)
        TRY(pool_check_shape(cx, "max_pool3d_with_indices_out_cpu_template", arg_tensor(&args[0]),
                             w->dims, &g));
    TRY(pool_max(cx, w, args, &g, with_indices, out));
    return op_finish_all(cx, args, with_indices ? 2 : 1, out, results);
}

ctsc_status op_max_pool2d(op_ctx *cx, const value *args, value *results) {
    return pool_max_op(cx, &pool_max2d, args, false, results);
}
ctsc_status op_max_pool3d(op_ctx *cx, const value *args, value *results) {
    return pool_max_op(cx, &pool_max3d, args, false, results);
}
ctsc_status op_max_pool1d_with_indices(op_ctx *cx, const value *args, value *results) {
    return pool_max_op(cx, &pool_max1d, args, true, results);
}
ctsc_status op_max_pool2d_with_indices(op_ctx *cx, const value *args, value *results) {
    return pool_max_op(cx, &pool_max2d, args, true, results);
}
ctsc_status op_max_pool3d_with_indices(op_ctx *cx, const value *args, value *results) {
    return pool_max_op(cx, &pool_max3d, args, true, results);
}

/* max_pool1d without indices has checks of its own, and may give an empty result. */
ctsc_status op_max_pool1d(op_ctx *cx, const value *args, value *results) {
    const tensor *x = arg_tensor(&args[0]);
    pool_geometry g;
    sizes_text text;
    if ((x->ndim != 2 && x->ndim != 3) || pool_has_empty_dim(x, 1))
        return kernel_fail(cx,
                           "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim "
                           "batch size for input, but got:%s",
                           shape_print(x, &text));
    TRY(pool_read(cx, &pool_max1d, args + 1, true, &g));
    long long kernel = g.kernel[2], pad = g.pad[2];
    if (kernel <= 0)
        return kernel_fail(cx, "max_pool1d() kernel_size must be greater than zero, but got %lld",
                           kernel);
    if (g.stride[2] <= 0)
        return kernel_fail(cx, "max_pool1d() stride must be greater than zero, but got %lld",
                           (long long)g.stride[2]);
    if (pad < 0)
        return kernel_fail(cx, "max_pool1d() padding must be non-negative, but got %lld", pad);
    if (pad > kernel / 2)
        return kernel_fail(cx,
                           "max_pool1d() padding should be at most half of kernel size, but got "
                           "padding=%lld and kernel_size=%lld",
                           pad, kernel);
    if (g.dilation[2] <= 0)
        return kernel_fail(cx, "max_pool1d() dilation must be greater than zero, but got %lld",
                           (long long)g.dilation[2]);
    TRY(pool_sizes(cx, x, 1, arg_bool(&args[5]), &g));
    if (g.out[2] < 0)
        return kernel_fail(cx, "max_pool1d() Invalid computed output size: %lld",
                           (long long)g.out[2]);
    tensor *out[2] = {NULL};
    TRY(pool_max(cx, &pool_max1d, args, &g, false, out));
    return op_return_tensor(results, out[0]);
}

/* ---- average pooling ------------------------------------------------------------------------- */

/* Checks the arguments of average pooling. *divisor: 0 for the window's size. */
static ctsc_status pool_avg_check(op_ctx *cx, const pool_words *w, const value *args,
                                  pool_geometry *g, int64_t *divisor) {
    const tensor *input = arg_tensor(&args[0]);
    TRY(pool_prepare(cx, w, args, false, arg_bool(&args[4]), g));
    bool override = w->dims > 1 && !arg_is_none(&args[6]);
    if (override && arg_int(&args[6]) == 0) return kernel_fail(cx, "divisor must be not zero");
    *divisor = override ? arg_int(&args[6]) : 0;
    if (w->dims == 3 && !pool_has_empty_dim(input, 3) &&
        (g->out[0] < 1 || g->out[1] < 1 || g->out[2] < 1))
        return kernel_fail(
            cx,
            "input image (T: %lld H: %lld W: %lld) smaller than kernel size (kT: %lld kH: %lld "
            "kW: %lld)",
            (long long)g->in[0], (long long)g->in[1], (long long)g->in[2], (long long)g->kernel[0],
            (long long)g->kernel[1], (long long)g->kernel[2]);
    if (w->dims == 1 && g->out[2] < 1) return pool_too_small(cx, input, 1, g);
    return w->dims > 1 ? pool_check_shape(cx, "avg_pool3d", input, w->dims, g) : CTSC_OK;
}

static ctsc_status pool_avg_op(op_ctx *cx, const pool_words *w, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]), *x = NULL, *y = NULL;
    int64_t sizes[TENSOR_MAX_DIMS], divisor;
    pool_geometry g;
    ctsc_status st;
    TRY(pool_avg_check(cx, w, args, &g, &divisor));
    pool_result_sizes(input, w->dims, &g, sizes);
    if (input->dtype == DT_INT64) TRY(wide_as(cx, input, DT_INT64, &x));
    else TRY(wide_input(cx, w->name, input, &x));
    TRY_OUT(tensor_new_on(cx->diag, tensor_device(x), (dtype)x->dtype, input->ndim, sizes, &y));
    pool_job j = {.g = &g,
                  .dt = (dtype)x->dtype,
                  .x = tensor_data(x),
                  .y = tensor_data(y),
                  .average = true,
                  .count_padding = arg_bool(&args[5]),
                  .divisor = divisor};
    TRY_OUT(pool_run(cx, x, &j));
    tensor_unref(x);
    return wide_finish(cx, args, y, (dtype)input->dtype, results);
out:
    tensor_unref(x);
    tensor_unref(y);
    return st;
}

ctsc_status op_avg_pool1d(op_ctx *cx, const value *args, value *results) {
    return pool_avg_op(cx, &pool_avg1d, args, results);
}
/* What PyTorch asks of the rank before all else. */
static ctsc_status pool_avg2d_rank(op_ctx *cx, const value *args) {
    const tensor *x = arg_tensor(&args[0]);
    int dim;
    return x->ndim < 3 ? tensor_wrap_dim(cx->diag, -3, x->ndim, &dim) : CTSC_OK;
}

ctsc_status op_avg_pool2d(op_ctx *cx, const value *args, value *results) {
    TRY(pool_avg2d_rank(cx, args));
    return pool_avg_op(cx, &pool_avg2d, args, results);
}
ctsc_status op_avg_pool3d(op_ctx *cx, const value *args, value *results) {
    return pool_avg_op(cx, &pool_avg3d, args, results);
}

/* ---- for pool_last.c ------------------------------------------------------------------------- */

ctsc_status pool_check_max2d(op_ctx *cx, const value *args, pool_geometry *g) {
    TRY(pool_prepare(cx, &pool_max2d, args, true, arg_bool(&args[5]), g));
    return pool_check_shape(cx, "max_pool2d", arg_tensor(&args[0]), 2, g);
}

ctsc_status pool_check_avg2d(op_ctx *cx, const value *args, pool_geometry *g, int64_t *divisor) {
    TRY(pool_avg2d_rank(cx, args));
    return pool_avg_check(cx, &pool_avg2d, args, g, divisor);
}

/* ---- max unpooling --------------------------------------------------------------------------- */

static ctsc_status pool_unpool_check(op_ctx *cx, const tensor *x, const tensor *indices, int n) {
    sizes_text a, b;
    if (indices->dtype != DT_INT64 && n == 2)
        return kernel_fail(cx, "elements in indices should be type int64 but got: %s",
                           dtype_table[indices->dtype].ir_name);
    if (indices->dtype != DT_INT64)
        return kernel_fail(cx, "elements in indices should be type int64");
    if (x->ndim != n + 1 && x->ndim != n + 2)
        return kernel_fail(
            cx,
            "Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor "
            "with %d dimensions.",
            n, n + 1, n + 2, x->ndim);
    if (!tensor_same_shape(x, indices))
        return kernel_fail(
            cx,
            "Expected shape of indices to be same as that of the input tensor (%s) but "
            "got indices tensor with shape: %s",
            shape_print(x, &a), shape_print(indices, &b));
    for (int i = 1; i < x->ndim; i++)
        if (x->sizes[i] == 0)
            return kernel_fail(
                cx,
                "max_unpooling%dd_forward_out_cpu(): Expected input to have non-zero size for "
                "non-batch dimensions, but got %s with dimension %d being empty.",
                n, shape_print(x, &a), i);
    return CTSC_OK;
}

static ctsc_status pool_unpool(op_ctx *cx, const value *args, int n, const int64_t *size,
                               value *results) {
    tensor *input = arg_tensor(&args[0]), *indices = arg_tensor(&args[1]);
    tensor *x = NULL, *at = NULL, *y = NULL;
    int64_t sizes[TENSOR_MAX_DIMS], volume = 1;
    ctsc_status st;
    TRY(pool_unpool_check(cx, input, indices, n));
    for (int i = 0; i < input->ndim; i++)
        sizes[i] = i < input->ndim - n ? input->sizes[i] : size[i - (input->ndim - n)];
    TRY(wide_input(cx, n == 2 ? "max_unpool2d" : "max_unpool3d", input, &x));
    TRY_OUT(wide_as(cx, indices, DT_INT64, &at));
    TRY_OUT(tensor_zeros(cx->diag, (dtype)x->dtype, input->ndim, sizes, &y));
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(volume, size[i], &volume)) volume = 0;
    int64_t inner = sizes_product(input, input->ndim - n, input->ndim);
    const int64_t elements = geometry_only() ? 0 : x->numel;
    for (int64_t i = 0; i < elements; i++) {
        int64_t k = TENSOR_AT(at, int64_t)[i];
        if (k >= 0 && k < volume) continue;
        st =
            n == 2
                ? kernel_fail(
                      cx, "Found an invalid max index: %lld (output volumes are of size %lldx%lld",
                      (long long)k, (long long)size[0], (long long)size[1])
                : kernel_fail(
                      cx,
                      "Found an invalid max index: %lld (output volumes are of size %lldx%lldx%lld",
                      (long long)k, (long long)size[0], (long long)size[1], (long long)size[2]);
        goto out;
    }
    WIDE_DISPATCH(x->dtype, {
        const T *src = tensor_data(x);
        T *dst = tensor_data(y);
        for (int64_t i = 0; i < elements; i++)
            dst[i / inner * volume + TENSOR_AT(at, int64_t)[i]] = src[i];
    });
    st = wide_finish(cx, args, y, (dtype)input->dtype, results);
    y = NULL;
out:
    tensor_unref(x);
    tensor_unref(at);
    tensor_unref(y);
    return st;
}

ctsc_status op_max_unpool2d(op_ctx *cx, const value *args, value *results) {
    const int64_t *size;
    int n = arg_ints(&args[2], &size);
    if (n != 2)
        return kernel_fail(
            cx,
            "There should be exactly two elements (height, width) in output_size, but "
            "got %d elements.",
            n);
    return pool_unpool(cx, args, 2, size, results);
}

ctsc_status op_max_unpool3d(op_ctx *cx, const value *args, value *results) {
    const int64_t *size, *stride, *other;
    int n = arg_ints(&args[2], &size);
    sizes_text text;
    if (n != 3)
        return kernel_fail(cx,
                           "There should be exactly three elements (depth, height, width) in "
                           "output_size, but got %d elements.",
                           n);
    if ((n = arg_ints(&args[3], &stride)) != 3)
        return kernel_fail(
            cx,
            "There should be exactly three elements (depth, height, width) in stride, "
            "but got: %d elements.",
            n);
    if ((n = arg_ints(&args[4], &other)) != 3)
        return kernel_fail(
            cx,
            "There should be exactly three elements (depth, height, width) in padding, "
            "but got: %d elements.",
            n);
    if (stride[0] <= 0 || stride[1] <= 0 || stride[2] <= 0)
        return kernel_fail(cx, "strides should be greater than zero, but got stride: %s",
                           sizes_print(3, stride, &text));
    return pool_unpool(cx, args, 3, size, results);
}
