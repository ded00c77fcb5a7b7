/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling.c - pictures read between their elements, and torchvision's regions, on a CUDA device.
 * Tests: tests/unit/test_cuda_dense.c
 */
#include "runtime/cuda/dense.h"

#include <string.h>

DENSE_FILE_WITH(sampling, "vision/sampling.h")
DENSE_FILE_WITH(regions, "vision/regions.h")

static const char *sampling_defines(const tensor *t) { return dense_defines((dtype)t->dtype); }

ctsc_status dense_grid_run(diag *d, const tensor *out, const dense_grid *p) {
    return dense_each(d, cuda_of(out), &cuda_file_sampling, sampling_defines(out), "grid_sample",
                      out->numel ? p->batch * p->out[0] * p->out[1] * p->out[2] : 0, p, sizeof *p);
}

ctsc_status dense_affine_run(diag *d, const tensor *out, const dense_affine *p) {
    return dense_each(d, cuda_of(out), &cuda_file_sampling, sampling_defines(out), "affine_grid",
                      out->numel, p, sizeof *p);
}

ctsc_status dense_deform_run(diag *d, const tensor *columns, const dense_deform *p) {
    return dense_each(d, cuda_of(columns), &cuda_file_sampling, sampling_defines(columns),
                      "deform_columns", columns->numel, p, sizeof *p);
}

ctsc_status dense_regions_run(diag *d, const tensor *out, dense_region kind, dense_regions *p) {
    static const char *const symbols[] = {"roi_align", "roi_pool", "roi_align", "ps_roi_pool"};
    cuda *c = cuda_of(out);
    TRY(dense_faults(d, c, &p->fault));
    return dense_each(d, c, &cuda_file_regions, sampling_defines(out), symbols[kind], out->numel, p,
                      sizeof *p);
}

/* ---- nms ------------------------------------------------------------------------------------- */

/* A box is kept unless a better one that is kept overlaps it. Puts the positions of those kept in
 * front of order's n; how many. */
static int64_t nms_keep(int64_t n, int64_t words, const uint64_t *mask, uint64_t *gone,
                        int64_t *order) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (gone[i / 64] >> (i % 64) & 1) continue;
        order[kept++] = order[i]; /* kept <= i */
        for (int64_t w = i / 64; w < words; w++) gone[w] |= mask[i * words + w];
    }
    return kept;
}

/* order, mask: read from the device. */
static ctsc_status nms_finish(diag *d, int device, tensor *order, const tensor *mask,
                              tensor **out) {
    int64_t n = order->numel, words = n ? mask->numel / n : 0;
    uint64_t *gone = mem_zalloc((size_t)(words ? words : 1) * sizeof *gone);
    tensor *kept;
    if (!gone) return diag_no_memory(d);
    int64_t count = nms_keep(n, words, tensor_data(mask), gone, tensor_data(order));
    mem_free(gone);
    TRY(tensor_slice(d, order, 0, 0, count, 1, &kept));
    ctsc_status st = tensor_to_device(d, kept, device, out);
    tensor_unref(kept);
    return st;
}

static ctsc_status nms_mask(diag *d, const tensor *boxes, const tensor *order, double threshold,
                            tensor *mask) {
    dense_overlaps p = {.boxes = tensor_data(boxes),
                        .order = tensor_data(order),
                        .mask = tensor_data(mask),
                        .n = mask->sizes[0],
                        .words = mask->sizes[1],
                        .threshold = threshold};
    return dense_each(d, cuda_of(mask), &cuda_file_regions, sampling_defines(boxes), "overlaps",
                      mask->numel, &p, sizeof p);
}

ctsc_status dense_nms(diag *d, const tensor *boxes, const tensor *scores, double threshold,
                      tensor **out) {
    enum { SORTED, ORDER, MASK, ORDER_HERE, MASK_HERE, TENSORS };
    tensor *t[TENSORS] = {NULL};
    int device = tensor_device(scores);
    int64_t n = scores->numel, sizes[2] = {n, (n + 63) / 64};
    ctsc_status st = tensor_new_on(d, device, (dtype)scores->dtype, 1, &n, &t[SORTED]);
    if (st == CTSC_OK) st = tensor_new_on(d, device, DT_INT64, 1, &n, &t[ORDER]);
    if (st == CTSC_OK) st = tensor_new_on(d, device, DT_INT64, 2, sizes, &t[MASK]);
    if (st == CTSC_OK) st = dense_sort_run(d, scores, 0, true, 0, n, t[SORTED], t[ORDER]);
    if (st == CTSC_OK) st = nms_mask(d, boxes, t[ORDER], threshold, t[MASK]);
    if (st == CTSC_OK) st = tensor_to_device(d, t[ORDER], DEVICE_HOST, &t[ORDER_HERE]);
    if (st == CTSC_OK) st = tensor_to_device(d, t[MASK], DEVICE_HOST, &t[MASK_HERE]);
    if (st == CTSC_OK) st = nms_finish(d, device, t[ORDER_HERE], t[MASK_HERE], out);
    for (int i = 0; i < TENSORS; i++) tensor_unref(t[i]);
    return st;
}
