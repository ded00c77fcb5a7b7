/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vision.c - torchvision's operators on regions: nms, roi_align, roi_pool, ps_roi_align,
 * ps_roi_pool.
 *
 * A region is a row (batch index, x1, y1, x2, y2). Regions are independent of one another and are
 * spread over the threads.
 * Tests: tests/unit/test_vision.c
 */
#include "runtime/kernels/nn.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

ctsc_status op_vision_cuda_version(op_ctx *cx, const value *args, value *results) {
    (void)cx, (void)args;
    return op_return(results, value_int(-1)); /* built without CUDA */
}

/* ---- nms ------------------------------------------------------------------------------------- */

typedef struct vision_score {
    double score;
    int64_t at;
} vision_score;

/* Descending, NaN first, equal ones in their order. */
static int vision_compare(const void *a, const void *b) {
    const vision_score *x = a, *y = b;
    bool xn = isnan(x->score), yn = isnan(y->score);
    if (xn != yn) return xn ? -1 : 1;
    if (!xn && x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Boxes by coordinate, in the order of their scores: x1, y1, x2, y2 and the area, n each. */
#define VISION_SUPPRESS(T)                                                                         \
    NN_HOT static void vision_suppress_##T(const T *box, int64_t n, int64_t i, T threshold,        \
                                           uint8_t *gone) {                                        \
        const T *x1 = box, *y1 = box + n, *x2 = box + 2 * n, *y2 = box + 3 * n;                    \
        const T *area = box + 4 * n;                                                               \
        T a1 = x1[i], b1 = y1[i], a2 = x2[i], b2 = y2[i], own = area[i];                           \
        for (int64_t j = i + 1; j < n; j++) {                                                      \
            T w = (a2 < x2[j] ? a2 : x2[j]) - (a1 > x1[j] ? a1 : x1[j]);                           \
            T h = (b2 < y2[j] ? b2 : y2[j]) - (b1 > y1[j] ? b1 : y1[j]);                           \
            T both = (w > 0 ? w : 0) * (h > 0 ? h : 0);                                            \
            gone[j] |= both / (own + area[j] - both) > threshold;                                  \
        }                                                                                          \
    }
VISION_SUPPRESS(float)
VISION_SUPPRESS(double)

static ctsc_status vision_nms_check(op_ctx *cx, const tensor *boxes, const tensor *scores) {
    if (boxes->ndim != 2) return nn_fail(cx, "boxes should be a 2d tensor, got %dD", boxes->ndim);
    if (boxes->sizes[1] != 4)
        return nn_fail(cx, "boxes should have 4 elements in dimension 1, got %lld",
                       (long long)boxes->sizes[1]);
    if (scores->ndim != 1)
        return nn_fail(cx, "scores should be a 1d tensor, got %dD", scores->ndim);
    if (boxes->sizes[0] != scores->sizes[0])
        return nn_fail(cx,
                       "boxes and scores should have same number of elements in dimension 0, got "
                       "%lld and %lld",
                       (long long)boxes->sizes[0], (long long)scores->sizes[0]);
    if (boxes->dtype != scores->dtype)
        return nn_fail(cx, "dets should have the same type as scores");
    return CTSC_OK;
}

/* Fills order[n] and the coordinates in that order. */
static void vision_sort(const tensor *x, const tensor *scores, vision_score *order, void *box) {
    int64_t n = scores->numel;
    NN_WIDE(x->dtype, {
        const T *s = tensor_data(scores);
        const T *p = tensor_data(x);
        T *to = box;
        for (int64_t i = 0; i < n; i++) order[i] = (vision_score){(double)s[i], i};
        if (n) qsort(order, (size_t)n, sizeof *order, vision_compare);
        for (int64_t i = 0; i < n; i++) {
            const T *from = p + order[i].at * 4;
            for (int k = 0; k < 4; k++) to[k * n + i] = from[k];
            to[4 * n + i] = (from[2] - from[0]) * (from[3] - from[1]);
        }
    });
}

ctsc_status op_vision_nms(op_ctx *cx, const value *args, value *results) {
    tensor *boxes = arg_tensor(&args[0]), *scores = arg_tensor(&args[1]), *x = NULL, *s = NULL,
           *y = NULL;
    double threshold = arg_float(&args[2]);
    vision_score *order = NULL;
    void *box = NULL;
    uint8_t *gone = NULL;
    ctsc_status st;
    TRY(vision_nms_check(cx, boxes, scores));
    TRY(nn_input(cx, "nms_kernel", boxes, &x));
    TRY_OUT(nn_input(cx, "nms_kernel", scores, &s));
    int64_t n = scores->numel, kept = 0;
    order = mem_alloc(sizeof *order * (size_t)nn_max(n, 1));
    box = mem_alloc(5 * sizeof(double) * (size_t)nn_max(n, 1));
    gone = mem_zalloc((size_t)nn_max(n, 1));
    if (!order || !box || !gone) {
        st = diag_no_memory(cx->diag);
        goto out;
    }
    vision_sort(x, s, order, box);
    for (int64_t i = 0; i < n; i++) {
        if (gone[i]) continue;
        order[kept++].at = order[i].at; /* kept <= i */
        if (x->dtype == DT_FLOAT64)
            vision_suppress_double(box, n, i, threshold, gone);
        else
            vision_suppress_float(box, n, i, (float)threshold, gone);
    }
    TRY_OUT(tensor_new(cx->diag, DT_INT64, 1, &kept, &y));
    for (int64_t i = 0; i < kept; i++) TENSOR_AT(y, int64_t)[i] = order[i].at;
    results[0] = value_tensor_take(y);
out:
    mem_free(order);
    mem_free(box);
    mem_free(gone);
    tensor_unref(x);
    tensor_unref(s);
    return st;
}

/* ---- regions --------------------------------------------------------------------------------- */

typedef struct vision_job {
    dtype dt;
    const void *x, *rois;
    void *y;
    int32_t *map; /* second result: places of the maxima, or channels; may be NULL */
    int64_t batch, channels, height, width; /* of the input */
    int64_t out_channels, ph, pw;
    double scale;
    int64_t sampling; /* samples per bin and dim; <= 0: as many as fit */
    bool aligned;
    atomic_bool no_memory;
} vision_job;

enum { VISION_MAX_SAMPLES = 1 << 24 }; /* per region: more than a picture has pixels is a mistake */

/* Samples per bin in a dim for a region `size` long. */
static int64_t vision_grid(const vision_job *j, double size, int64_t bins) {
    if (j->sampling > 0) return nn_min(j->sampling, VISION_MAX_SAMPLES + 1);
    double n = ceil(size / (double)bins);
    return n >= 1 ? (n < VISION_MAX_SAMPLES ? (int64_t)n : VISION_MAX_SAMPLES) : 0;
}

/* Bilinear interpolation at (y, x): four elements and weights. Outside by more than one element:
 * nothing. */
typedef struct vision_tap {
    int32_t at[4];
    float weight[4];
} vision_tap;
typedef struct vision_tap_wide {
    int32_t at[4];
    double weight[4];
} vision_tap_wide;

#define VISION_TAP(T, TAP)                                                                         \
    static void vision_tap_##T(TAP *t, int64_t height, int64_t width, T y, T x) {                  \
        *t = (TAP){.at = {0}};                                                                     \
        if (!(y >= -1 && y <= (T)height && x >= -1 && x <= (T)width)) return;                      \
        y = y > 0 ? y : 0;                                                                         \
        x = x > 0 ? x : 0;                                                                         \
        int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;                        \
        if (y0 >= height - 1) y = (T)(y0 = y1 = height - 1);                                       \
        if (x0 >= width - 1) x = (T)(x0 = x1 = width - 1);                                         \
        T ly = y - (T)y0, lx = x - (T)x0, hy = 1 - ly, hx = 1 - lx;                                \
        t->at[0] = (int32_t)(y0 * width + x0), t->at[1] = (int32_t)(y0 * width + x1);              \
        t->at[2] = (int32_t)(y1 * width + x0), t->at[3] = (int32_t)(y1 * width + x1);              \
        t->weight[0] = hy * hx, t->weight[1] = hy * lx;                                            \
        t->weight[2] = ly * hx, t->weight[3] = ly * lx;                                            \
    }
VISION_TAP(float, vision_tap)
VISION_TAP(double, vision_tap_wide)

/* The samples of one region: ph * pw bins of count_h * count_w taps. NULL without memory. */
#define VISION_TAPS(T, TAP)                                                                        \
    static TAP *vision_taps_##T(const vision_job *j, T y0, T x0, T bin_h, T bin_w,                 \
                                int64_t count_h, int64_t count_w) {                                \
        size_t n = (size_t)(j->ph * j->pw * count_h * count_w);                                    \
        TAP *taps = mem_alloc(sizeof *taps * (n ? n : 1)), *t = taps;                              \
        for (int64_t ph = 0; taps && ph < j->ph; ph++)                                             \
            for (int64_t pw = 0; pw < j->pw; pw++)                                                 \
                for (int64_t iy = 0; iy < count_h; iy++) {                                         \
                    T y = y0 + (T)ph * bin_h + ((T)iy + (T)0.5) * bin_h / (T)count_h;              \
                    for (int64_t ix = 0; ix < count_w; ix++)                                       \
                        vision_tap_##T(t++, j->height, j->width, y,                                \
                                       x0 + (T)pw * bin_w +                                        \
                                           ((T)ix + (T)0.5) * bin_w / (T)count_w);                 \
                }                                                                                  \
        return taps;                                                                               \
    }                                                                                              \
    /* The mean of bin b's samples in the channel at x. */                                         \
    static T vision_bin_##T(const T *x, const TAP *t, int64_t n) {                                 \
        T sum = 0;                                                                                 \
        for (int64_t i = 0; i < n; i++, t++)                                                       \
            sum += t->weight[0] * x[t->at[0]] + t->weight[1] * x[t->at[1]] +                       \
                   t->weight[2] * x[t->at[2]] + t->weight[3] * x[t->at[3]];                        \
        return sum / (T)(n > 1 ? n : 1);                                                           \
    }
VISION_TAPS(float, vision_tap)
VISION_TAPS(double, vision_tap_wide)

/* roi_align, and ps_roi_align where the channel depends on the bin (j->map then). */
#define VISION_ALIGN(T, TAP)                                                                       \
    static void vision_align_##T(vision_job *j, int64_t r) {                                       \
        const T *roi = (const T *)j->rois + r * 5;                                                 \
        int64_t plane = j->height * j->width, bins = j->ph * j->pw;                                \
        const T *x = (const T *)j->x + (int64_t)roi[0] * j->channels * plane;                      \
        T *y = (T *)j->y + r * j->out_channels * bins;                                             \
        T scale = (T)j->scale, shift = j->aligned ? (T)0.5 : 0;                                    \
        T x0 = roi[1] * scale - shift, y0 = roi[2] * scale - shift;                                \
        T w = roi[3] * scale - shift - x0, h = roi[4] * scale - shift - y0;                        \
        if (!j->aligned) w = w > 1 ? w : 1, h = h > 1 ? h : 1;                                     \
        int64_t nh = vision_grid(j, (double)h, j->ph), nw = vision_grid(j, (double)w, j->pw);      \
        TAP *taps = NULL;                                                                          \
        if (bins * nh <= VISION_MAX_SAMPLES && bins * nh * nw <= VISION_MAX_SAMPLES)               \
            taps = vision_taps_##T(j, y0, x0, h / (T)j->ph, w / (T)j->pw, nh, nw);                 \
        if (!taps) {                                                                               \
            atomic_store(&j->no_memory, true);                                                     \
            return;                                                                                \
        }                                                                                          \
        /* ps_roi_align divides by the number of samples even where that is 0. */                  \
        bool none = j->map &&                                                                      \
                    (ceil((double)(h / (T)j->ph)) == 0 || ceil((double)(w / (T)j->pw)) == 0) &&    \
                    j->sampling <= 0;                                                              \
        for (int64_t c = 0; c < j->out_channels; c++)                                              \
            for (int64_t b = 0; b < bins; b++) {                                                   \
                int64_t from = j->map ? c * bins + b : c, at = c * bins + b;                       \
                y[at] = vision_bin_##T(x + from * plane, taps + b * nh * nw, nh * nw);             \
                if (none) y[at] = (T)NAN;                                                          \
                if (j->map) j->map[r * j->out_channels * bins + at] = (int32_t)from;               \
            }                                                                                      \
        mem_free(taps);                                                                            \
    }
VISION_ALIGN(float, vision_tap)
VISION_ALIGN(double, vision_tap_wide)

static void vision_align_range(void *ctx, int64_t begin, int64_t end) {
    vision_job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        if (j->dt == DT_FLOAT64)
            vision_align_double(j, r);
        else
            vision_align_float(j, r);
    }
}

/* ---- pooled regions -------------------------------------------------------------------------- */

/* v as an int where it is one, else a number that is outside of any picture. */
static int64_t vision_int(double v) {
    return v > -1e9 && v < 1e9 ? (int64_t)v : v > 0 ? 1000000000 : -1000000000;
}

static inline double vision_narrow(const vision_job *j, double v) {
    return j->dt == DT_FLOAT64 ? v : (double)(float)v;
}

/* Bin p of `bins` over [start, start + size): clipped to [0, limit]. */
static void vision_span(const vision_job *j, int64_t p, double bin, int64_t start, int64_t limit,
                        int64_t *begin, int64_t *end) {
    int64_t b = vision_int(floor(vision_narrow(j, (double)p * bin))) + start;
    int64_t e = vision_int(ceil(vision_narrow(j, (double)(p + 1) * bin))) + start;
    *begin = nn_min(nn_max(b, 0), limit);
    *end = nn_min(nn_max(e, 0), limit);
}

static void vision_pool_region(const vision_job *j, int64_t r) {
    int64_t plane = j->height * j->width;
    NN_WIDE(j->dt, {
        const T *roi = (const T *)j->rois + r * 5;
        T scale = (T)j->scale;
        int64_t x0 = vision_int((double)round((double)(roi[1] * scale)));
        int64_t y0 = vision_int((double)round((double)(roi[2] * scale)));
        int64_t w = nn_max(vision_int(round((double)(roi[3] * scale))) - x0 + 1, 1);
        int64_t h = nn_max(vision_int(round((double)(roi[4] * scale))) - y0 + 1, 1);
        double bin_h = vision_narrow(j, (double)h / (double)j->ph);
        double bin_w = vision_narrow(j, (double)w / (double)j->pw);
        const T *x = (const T *)j->x + (int64_t)roi[0] * j->channels * plane;
        for (int64_t a = 0; a < j->ph; a++)
            for (int64_t b = 0; b < j->pw; b++) {
                int64_t h0, h1, w0, w1;
                vision_span(j, a, bin_h, y0, j->height, &h0, &h1);
                vision_span(j, b, bin_w, x0, j->width, &w0, &w1);
                bool empty = h1 <= h0 || w1 <= w0;
                for (int64_t c = 0; c < j->channels; c++) {
                    T best = empty ? 0 : (T)-FLT_MAX;
                    int64_t at = -1;
                    for (int64_t k = h0; k < h1; k++)
                        for (int64_t l = w0; l < w1; l++)
                            if (x[c * plane + k * j->width + l] > best) {
                                best = x[c * plane + k * j->width + l];
                                at = k * j->width + l;
                            }
                    int64_t to = ((r * j->channels + c) * j->ph + a) * j->pw + b;
                    ((T *)j->y)[to] = best;
                    j->map[to] = (int32_t)at;
                }
            }
    });
}

/* The bin of ps_roi_pool: rounding comes after the start is added, and the last row and column do
 * not count. */
static void vision_ps_span(const vision_job *j, int64_t p, double bin, double start, int64_t size,
                           int64_t *begin, int64_t *end) {
    int64_t b = vision_int(floor(vision_narrow(j, vision_narrow(j, (double)p * bin) + start)));
    int64_t e = vision_int(ceil(vision_narrow(j, vision_narrow(j, (double)(p + 1) * bin) + start)));
    *begin = nn_min(nn_max(b, 0), size - 1);
    *end = nn_min(nn_max(e, 0), size - 1);
}

static void vision_ps_pool_region(const vision_job *j, int64_t r) {
    int64_t plane = j->height * j->width;
    NN_WIDE(j->dt, {
        const T *roi = (const T *)j->rois + r * 5;
        T scale = (T)j->scale;
        int64_t x0 = vision_int(round((double)(roi[1] * scale)));
        int64_t y0 = vision_int(round((double)(roi[2] * scale)));
        int64_t w = nn_max(vision_int(round((double)(roi[3] * scale))) - x0, 1);
        int64_t h = nn_max(vision_int(round((double)(roi[4] * scale))) - y0, 1);
        double bin_h = vision_narrow(j, (double)h / (double)j->ph);
        double bin_w = vision_narrow(j, (double)w / (double)j->pw);
        const T *x = (const T *)j->x + (int64_t)roi[0] * j->channels * plane;
        for (int64_t a = 0; a < j->ph; a++)
            for (int64_t b = 0; b < j->pw; b++) {
                int64_t h0, h1, w0, w1;
                vision_ps_span(j, a, bin_h, (double)y0, j->height, &h0, &h1);
                vision_ps_span(j, b, bin_w, (double)x0, j->width, &w0, &w1);
                for (int64_t c = 0; c < j->out_channels; c++) {
                    int64_t from = (c * j->ph + a) * j->pw + b;
                    T sum = 0;
                    for (int64_t k = h0; k < h1; k++)
                        for (int64_t l = w0; l < w1; l++) sum += x[from * plane + k * j->width + l];
                    int64_t to = r * j->out_channels * j->ph * j->pw + from;
                    bool empty = h1 <= h0 || w1 <= w0;
                    ((T *)j->y)[to] = empty ? 0 : sum / (T)((h1 - h0) * (w1 - w0));
                    j->map[to] = (int32_t)from;
                }
            }
    });
}

static void vision_pool_range(void *ctx, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) vision_pool_region(ctx, r);
}
static void vision_ps_pool_range(void *ctx, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) vision_ps_pool_region(ctx, r);
}

/* ---- operators ------------------------------------------------------------------------------- */

typedef enum vision_kind { ROI_ALIGN, ROI_POOL, PS_ROI_ALIGN, PS_ROI_POOL } vision_kind;

/* What the four share: input, rois, spatial_scale, pooled_height, pooled_width, then their own. */
static ctsc_status vision_check(op_ctx *cx, const value *args, vision_kind kind) {
    static const char *const names[] = {"roi_align_forward_kernel", "roi_pool_forward_kernel",
                                        "ps_roi_align_forward_kernel",
                                        "ps_roi_pool_forward_kernel"};
    const tensor *x = arg_tensor(&args[0]), *rois = arg_tensor(&args[1]);
    int64_t ph = arg_int(&args[3]), pw = arg_int(&args[4]), bins;
    bool ps = kind >= PS_ROI_ALIGN;
    if (rois->ndim != 2 || rois->sizes[1] != 5)
        return nn_fail(cx, ps ? "Tensor rois should have shape as Tensor[K, 5]"
                              : "rois must have shape as Tensor[K, 5]");
    if (x->dtype != rois->dtype)
        return nn_fail(cx,
                       "Expected tensor for argument #1 'input' to have the same type as tensor "
                       "for argument #2 'rois'; but type torch.%sTensor does not equal "
                       "torch.%sTensor (while checking arguments for %s)",
                       dtype_table[x->dtype].ir_name, dtype_table[rois->dtype].ir_name,
                       names[kind]);
    if (x->ndim != 4)
        return nn_fail(
            cx,
            "Expected 4-dimensional input, but got %d dimensions (while checking arguments for %s)",
            x->ndim, names[kind]);
    if (ph <= 0 || pw <= 0 || __builtin_mul_overflow(ph, pw, &bins) || bins > VISION_MAX_SAMPLES)
        return nn_fail(cx, "pooled size %lld x %lld is out of range", (long long)ph, (long long)pw);
    if (ps && x->sizes[1] % bins)
        return nn_fail(cx, "input channels must be a multiple of pooling height * pooling width");
    if (x->sizes[2] * x->sizes[3] > INT32_MAX) return nn_fail(cx, "input is too large");
    if (!dtype_is_float((dtype)x->dtype)) return op_refuse_dtype(cx, names[kind], (dtype)x->dtype);
    return CTSC_OK;
}

static ctsc_status vision_check_rois(op_ctx *cx, const tensor *rois, const tensor *x) {
    for (int64_t i = 0; i < rois->sizes[0]; i++) {
        double b = rois->dtype == DT_FLOAT64 ? TENSOR_AT(rois, double)[i * 5]
                                             : (double)TENSOR_AT(rois, float)[i * 5];
        if (!(b > -1 && b < (double)x->sizes[0]))
            return nn_fail(cx, "roi %lld belongs to image %g of a batch of %lld", (long long)i, b,
                           (long long)x->sizes[0]);
        if (x->sizes[2] == 0 || x->sizes[3] == 0) return nn_fail(cx, "regions of an empty image");
    }
    return CTSC_OK;
}

/* out[1] stays NULL for roi_align. */
static ctsc_status vision_run(op_ctx *cx, const value *args, vision_kind kind, int64_t sampling,
                              bool aligned, tensor **out) {
    tensor *input = arg_tensor(&args[0]), *x = NULL, *rois = NULL;
    bool ps = kind >= PS_ROI_ALIGN;
    ctsc_status st;
    TRY(vision_check(cx, args, kind));
    TRY(nn_input(cx, "roi", input, &x));
    TRY_OUT(nn_input(cx, "roi", arg_tensor(&args[1]), &rois));
    TRY_OUT(vision_check_rois(cx, rois, x));
    vision_job j = {.dt = (dtype)x->dtype,
                    .x = tensor_data(x),
                    .rois = tensor_data(rois),
                    .batch = x->sizes[0],
                    .channels = x->sizes[1],
                    .height = x->sizes[2],
                    .width = x->sizes[3],
                    .scale = arg_float(&args[2]),
                    .ph = arg_int(&args[3]),
                    .pw = arg_int(&args[4]),
                    .sampling = sampling,
                    .aligned = aligned};
    j.out_channels = ps ? j.channels / (j.ph * j.pw) : j.channels;
    int64_t sizes[4] = {rois->sizes[0], j.out_channels, j.ph, j.pw};
    TRY_OUT(tensor_new(cx->diag, j.dt, 4, sizes, &out[0]));
    if (kind != ROI_ALIGN) TRY_OUT(tensor_new(cx->diag, DT_INT32, 4, sizes, &out[1]));
    j.y = tensor_data(out[0]);
    j.map = out[1] ? tensor_data(out[1]) : NULL;
    if (out[0]->numel)
        pool_for(rois->sizes[0], nn_grain(j.out_channels * j.ph * j.pw * 16),
                 kind == ROI_POOL      ? vision_pool_range
                 : kind == PS_ROI_POOL ? vision_ps_pool_range
                                       : vision_align_range,
                 &j);
    if (atomic_load(&j.no_memory)) {
        st = diag_fail(cx->diag, CTSC_LIMIT, "out of memory: a region needs too many samples");
        goto out;
    }
    TRY_OUT(nn_round(cx, &out[0], (dtype)input->dtype));
out:
    tensor_unref(x);
    tensor_unref(rois);
    if (st != CTSC_OK) {
        tensor_unref(out[0]);
        tensor_unref(out[1]);
    }
    return st;
}

ctsc_status op_vision_roi_align(op_ctx *cx, const value *args, value *results) {
    tensor *out[2] = {NULL};
    TRY(vision_run(cx, args, ROI_ALIGN, arg_int(&args[5]), arg_bool(&args[6]), out));
    return op_return_tensor(results, out[0]);
}

static ctsc_status vision_two(op_ctx *cx, const value *args, vision_kind kind, int64_t sampling,
                              value *results) {
    tensor *out[2] = {NULL};
    /* ps_roi_align always counts from the pixels' centres. */
    TRY(vision_run(cx, args, kind, sampling, true, out));
    results[0] = value_tensor_take(out[0]);
    results[1] = value_tensor_take(out[1]);
    return CTSC_OK;
}

ctsc_status op_vision_roi_pool(op_ctx *cx, const value *args, value *results) {
    return vision_two(cx, args, ROI_POOL, 0, results);
}
ctsc_status op_vision_ps_roi_align(op_ctx *cx, const value *args, value *results) {
    return vision_two(cx, args, PS_ROI_ALIGN, arg_int(&args[5]), results);
}
ctsc_status op_vision_ps_roi_pool(op_ctx *cx, const value *args, value *results) {
    return vision_two(cx, args, PS_ROI_POOL, 0, results);
}
