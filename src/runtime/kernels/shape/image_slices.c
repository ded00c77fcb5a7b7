/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_slices.c - some images of a batch at a time: what loops of the pass slice-images are made
 * of. A batch that is one slice is neither cut nor joined.
 * Tests: tests/unit/test_image_slices.c
 */
#include "runtime/kernels/shape/image_slices.h"

#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/move.h"

#include <string.h>

static int64_t slice_bytes = IMAGE_SLICE_BYTES;

void image_slices_set_bytes(int64_t bytes) { slice_bytes = bytes; }

/* The images from *first on that slice `index` of `slices` has. */
static int64_t slice_images(int64_t images, int64_t index, int64_t slices, int64_t *first) {
    int64_t each = images / slices, more = images % slices; /* the first ones have one more */
    *first = index * each + (index < more ? index : more);
    return each + (index < more);
}

/* The images of a slice: t is the batch, or has as many images as it. */
static ctsc_status slice_view(op_ctx *cx, const tensor *t, int64_t index, int64_t slices,
                              tensor **out) {
    int64_t first;
    if (t->ndim < 1 || slices < 1 || index < 0 || index >= slices)
        return diag_fail(cx->diag, CTSC_FAILED, "%s: slice %lld of %lld of a tensor with %d dims",
                         cx->op->key, (long long)index, (long long)slices, t->ndim);
    int64_t n = slice_images(t->sizes[0], index, slices, &first);
    return tensor_slice(cx->diag, t, 0, first, first + n, 1, out);
}

/* ctsc::image_slices(self, density): into how many slices a batch is cut. density: how many
 * elements per pixel of self one operator of the chain reads and makes. */
ctsc_status op_image_slices(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    const tensor *t = arg_tensor(&args[0]);
    double density = arg_float(&args[1]);
    int64_t images = t->ndim > 1 ? t->sizes[0] : 1, slices = 1;
    if (images > 1 && t->numel > 0 && density > 0) {
        double pixels = (double)(t->numel / images / t->sizes[t->ndim - 1]);
        double fit = (double)slice_bytes / (pixels * density * (double)dtype_size((dtype)t->dtype));
        if (fit < 1) slices = images;
        else if (fit < (double)images) slices = (images + (int64_t)fit - 1) / (int64_t)fit;
    }
    return op_return(results, value_int(slices));
}

/* ctsc::image_slice(self, index, slices): a view */
ctsc_status op_image_slice(op_ctx *cx, const value *args, value *results) {
    tensor *t = arg_tensor(&args[0]), *view;
    if (arg_int(&args[2]) == 1) return op_return_tensor(results, tensor_ref(t));
    TRY(slice_view(cx, t, arg_int(&args[1]), arg_int(&args[2]), &view));
    return op_return_tensor(results, view);
}

/* ctsc::image_join(whole, slice, images, index, slices): `slice` in its place of a tensor that has
 * as many images as `images`: of a new one for the first slice, of `whole` for others */
ctsc_status op_image_join(op_ctx *cx, const value *args, value *results) {
    tensor *whole = arg_tensor(&args[0]), *slice = arg_tensor(&args[1]), *place;
    const tensor *images = arg_tensor(&args[2]);
    int64_t index = arg_int(&args[3]), slices = arg_int(&args[4]), sizes[TENSOR_MAX_DIMS];
    if (slices == 1) return op_return_tensor(results, tensor_ref(slice));
    if (images->ndim < 1 || slice->ndim < 1)
        return diag_fail(cx->diag, CTSC_FAILED, "%s: a tensor without dims", cx->op->key);
    memcpy(sizes, slice->sizes, (size_t)slice->ndim * sizeof *sizes);
    sizes[0] = images->sizes[0];
    if (index == 0) TRY(tensor_new(cx->diag, (dtype)slice->dtype, slice->ndim, sizes, &whole));
    else tensor_ref(whole);
    ctsc_status st = slice_view(cx, whole, index, slices, &place);
    if (st == CTSC_OK) {
        st = tensor_copy(cx->diag, place, slice);
        tensor_unref(place);
    }
    if (st == CTSC_OK) return op_return_tensor(results, whole);
    tensor_unref(whole);
    return st;
}
