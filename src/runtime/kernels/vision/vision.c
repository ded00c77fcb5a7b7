/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vision.c - torchvision's operators on regions: nms, roi_align, roi_pool, ps_roi_align,
 * ps_roi_pool.
 *
 * A region is a row (batch index, x1, y1, x2, y2). Regions are independent of one another and are
 * spread over the threads. What samples and bins are says regions.h; on a device
 * runtime/cuda/sampling.c takes the place of the loops here.
 * Tests: tests/unit/test_vision.c
 */
#include "runtime/kernels/engine/wide.h"

#include "runtime/kernels/engine/device_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEMPLATE "runtime/kernels/vision/regions.h"
#include "runtime/kernels/engine/each_real.h"

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
    VECTOR_CLONES static void vision_suppress_##T(const T *box, int64_t n, int64_t i, T threshold, \
                                                  uint8_t *gone) {                                 \
        const T *x1 = box, *y1 = box + n, *x2 = box + 2 * n, *y2 = box + 3 * n;                    \
        const T *area = box + 4 * n;                                                               \
        region_edges_##T own = {x1[i], y1[i], x2[i], y2[i], area[i]};                              \
        for (int64_t j = i + 1; j < n; j++) {                                                      \
            region_edges_##T other = {x1[j], y1[j], x2[j], y2[j], area[j]};                        \
            gone[j] |= region_overlap_##T(own, other) > threshold;                                 \
        }                                                                                          \
    }
VISION_SUPPRESS(float)
VISION_SUPPRESS(double)

static ctsc_status vision_nms_check(op_ctx *cx, const tensor *boxes, const tensor *scores) {
    if (boxes->ndim != 2)
        return kernel_fail(cx, "boxes should be a 2d tensor, got %dD", boxes->ndim);
    if (boxes->sizes[1] != 4)
        return kernel_fail(cx, "boxes should have 4 elements in dimension 1, got %lld",
                           (long long)boxes->sizes[1]);
    if (scores->ndim != 1)
        return kernel_fail(cx, "scores should be a 1d tensor, got %dD", scores->ndim);
    if (boxes->sizes[0] != scores->sizes[0])
        return kernel_fail(
            cx,
            "boxes and scores should have same number of elements in dimension 0, got "
            "%lld and %lld",
            (long long)boxes->sizes[0], (long long)scores->sizes[0]);
    if (boxes->dtype != scores->dtype)
        return kernel_fail(cx, "dets should have the same type as scores");
    return CTSC_OK;
}

/* Fills order[n] and the coordinates in that order. */
static void vision_sort(const tensor *x, const tensor *scores, vision_score *order, void *box) {
    int64_t n = scores->numel;
    WIDE_DISPATCH(x->dtype, {
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
    TRY(wide_input(cx, "nms_kernel", boxes, &x));
    TRY_OUT(wide_input(cx, "nms_kernel", scores, &s));
    if (tensor_cuda(x)) {
        TRY_OUT(on_device->nms(cx->diag, x, s, threshold, &y));
        results[0] = value_tensor_take(y);
        goto out;
    }
    int64_t n = scores->numel, kept = 0;
    order = mem_alloc(sizeof *order * (size_t)int64_max(n, 1));
    box = mem_alloc(5 * sizeof(double) * (size_t)int64_max(n, 1));
    gone = mem_zalloc((size_t)int64_max(n, 1));
    if (!order || !box || !gone) {
        st = diag_no_memory(cx->diag);
        goto out;
    }
    vision_sort(x, s, order, box);
    for (int64_t i = 0; i < n; i++) {
        if (gone[i]) continue;
        order[kept++].at = order[i].at; /* kept <= i */
        if (x->dtype == DT_FLOAT64) vision_suppress_double(box, n, i, threshold, gone);
        else vision_suppress_float(box, n, i, (float)threshold, gone);
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
    dense_region kind;
    dense_regions p;
    atomic_bool no_memory;
} vision_job;

#define T float
#define NAME(x) x##_float
#include "runtime/kernels/vision/vision_regions.h"

#define T double
#define NAME(x) x##_double
#include "runtime/kernels/vision/vision_regions.h"

static void vision_range(void *ctx, int64_t begin, int64_t end) {
    vision_job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        if (j->dt == DT_FLOAT64) vision_region_double(j, r);
        else vision_region_float(j, r);
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

/* What the four share: input, rois, spatial_scale, pooled_height, pooled_width, then their own. */
static ctsc_status vision_check(op_ctx *cx, const value *args, dense_region kind) {
    static const char *const names[] = {"roi_align_forward_kernel", "roi_pool_forward_kernel",
                                        "ps_roi_align_forward_kernel",
                                        "ps_roi_pool_forward_kernel"};
    const tensor *x = arg_tensor(&args[0]), *rois = arg_tensor(&args[1]);
    int64_t ph = arg_int(&args[3]), pw = arg_int(&args[4]), bins;
    bool ps = kind >= DENSE_PS_ROI_ALIGN;
    if (rois->ndim != 2 || rois->sizes[1] != 5)
        return kernel_fail(cx, ps ? "Tensor rois should have shape as Tensor[K, 5]"
                                  : "rois must have shape as Tensor[K, 5]");
    if (x->dtype != rois->dtype)
        return kernel_fail(
            cx,
            "Expected tensor for argument #1 'input' to have the same type as tensor "
            "for argument #2 'rois'; but type torch.%sTensor does not equal "
            "torch.%sTensor (while checking arguments for %s)",
            dtype_table[x->dtype].ir_name, dtype_table[rois->dtype].ir_name, names[kind]);
    if (x->ndim != 4)
        return kernel_fail(
            cx,
            "Expected 4-dimensional input, but got %d dimensions (while checking arguments for %s)",
            x->ndim, names[kind]);
    if (ph <= 0 || pw <= 0 || __builtin_mul_overflow(ph, pw, &bins) || bins > DENSE_REGION_SAMPLES)
        return kernel_fail(cx, "pooled size %lld x %lld is out of range", (long long)ph,
                           (long long)pw);
    if (ps && x->sizes[1] % bins)
        return kernel_fail(cx,
                           "input channels must be a multiple of pooling height * pooling width");
    if (x->sizes[2] * x->sizes[3] > INT32_MAX) return kernel_fail(cx, "input is too large");
    if (!dtype_is_float((dtype)x->dtype)) return op_refuse_dtype(cx, names[kind], (dtype)x->dtype);
    return CTSC_OK;
}

/* What a device holds is looked at by its kernels. */
static ctsc_status vision_check_rois(op_ctx *cx, const tensor *rois, const tensor *x) {
    if (rois->sizes[0] && (x->sizes[2] == 0 || x->sizes[3] == 0))
        return kernel_fail(cx, "regions of an empty image");
    for (int64_t i = 0; i < rois->sizes[0] && !tensor_cuda(rois); i++) {
        double b = rois->dtype == DT_FLOAT64 ? TENSOR_AT(rois, double)[i * 5]
                                             : (double)TENSOR_AT(rois, float)[i * 5];
        if (!(b > -1 && b < (double)x->sizes[0]))
            return kernel_fail(cx, "roi %lld belongs to image %g of a batch of %lld", (long long)i,
                               b, (long long)x->sizes[0]);
    }
    return CTSC_OK;
}

/* out[1] stays NULL for roi_align. */
static ctsc_status vision_run(op_ctx *cx, const value *args, dense_region kind, int64_t sampling,
                              bool aligned, tensor **out) {
    tensor *input = arg_tensor(&args[0]), *x = NULL, *rois = NULL;
    bool ps = kind >= DENSE_PS_ROI_ALIGN;
    ctsc_status st;
    TRY(vision_check(cx, args, kind));
    TRY(wide_input(cx, "roi", input, &x));
    TRY_OUT(wide_input(cx, "roi", arg_tensor(&args[1]), &rois));
    TRY_OUT(vision_check_rois(cx, rois, x));
    vision_job j = {.dt = (dtype)x->dtype,
                    .kind = kind,
                    .p = {.x = tensor_data(x),
                          .rois = tensor_data(rois),
                          .batch = x->sizes[0],
                          .channels = x->sizes[1],
                          .height = x->sizes[2],
                          .width = x->sizes[3],
                          .regions = rois->sizes[0],
                          .scale = arg_float(&args[2]),
                          .bins = {arg_int(&args[3]), arg_int(&args[4])},
                          .sampling = sampling,
                          .aligned = aligned}};
    dense_regions *p = &j.p;
    p->out_channels = ps ? p->channels / (p->bins[0] * p->bins[1]) : p->channels;
    int64_t sizes[4] = {p->regions, p->out_channels, p->bins[0], p->bins[1]};
    TRY_OUT(tensor_new_on(cx->diag, tensor_device(x), j.dt, 4, sizes, &out[0]));
    if (kind != DENSE_ROI_ALIGN)
        TRY_OUT(tensor_new_on(cx->diag, tensor_device(x), DT_INT32, 4, sizes, &out[1]));
    p->y = tensor_data(out[0]);
    p->map = out[1] ? tensor_data(out[1]) : NULL;
    if (tensor_cuda(x)) TRY_OUT(on_device->regions(cx->diag, out[0], kind, p));
    else if (out[0]->numel)
        TRY_OUT(op_for(cx, p->regions, kernel_grain(p->out_channels * p->bins[0] * p->bins[1] * 16),
                       vision_range, &j));
    if (atomic_load(&j.no_memory)) {
        st = diag_fail(cx->diag, CTSC_LIMIT, "out of memory: a region needs too many samples");
        goto out;
    }
    TRY_OUT(wide_round(cx, &out[0], (dtype)input->dtype));
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
    TRY(vision_run(cx, args, DENSE_ROI_ALIGN, arg_int(&args[5]), arg_bool(&args[6]), out));
    return op_return_tensor(results, out[0]);
}

static ctsc_status vision_two(op_ctx *cx, const value *args, dense_region kind, int64_t sampling,
                              value *results) {
    tensor *out[2] = {NULL};
    /* ps_roi_align always counts from the pixels' centres. */
    TRY(vision_run(cx, args, kind, sampling, true, out));
    results[0] = value_tensor_take(out[0]);
    results[1] = value_tensor_take(out[1]);
    return CTSC_OK;
}

ctsc_status op_vision_roi_pool(op_ctx *cx, const value *args, value *results) {
    return vision_two(cx, args, DENSE_ROI_POOL, 0, results);
}
ctsc_status op_vision_ps_roi_align(op_ctx *cx, const value *args, value *results) {
    return vision_two(cx, args, DENSE_PS_ROI_ALIGN, arg_int(&args[5]), results);
}
ctsc_status op_vision_ps_roi_pool(op_ctx *cx, const value *args, value *results) {
    return vision_two(cx, args, DENSE_PS_ROI_POOL, 0, results);
}
