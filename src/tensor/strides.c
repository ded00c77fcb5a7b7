/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strides.c - PyTorch's rules for the strides of results (strides.h).
 *
 * Dims are sorted by insertion with a comparison that is not a total order: a stride of 0 (a
 * broadcast dim) says nothing, and equal strides are ordered by size. The result depends
 * on the order in which pairs are compared, so this follows PyTorch's steps one by one.
 */
#include "tensor/strides.h"

#include <string.h>

/* ---- asking ---------------------------------------------------------------------------------- */

/* Dims from the innermost outwards, as a format has them; 0: it has no tensors with
 * this number of dims. */
static int format_order(memory_format format, int ndim, int *order) {
    static const int last_2d[] = {1, 3, 2, 0}, last_3d[] = {1, 4, 3, 2, 0};
    if (format == FORMAT_CHANNELS_LAST || format == FORMAT_CHANNELS_LAST_3D) {
        int wants = format == FORMAT_CHANNELS_LAST ? 4 : 5;
        if (ndim != wants) return 0;
        memcpy(order, wants == 4 ? last_2d : last_3d, (size_t)ndim * sizeof *order);
    } else {
        for (int i = 0; i < ndim; i++) order[i] = ndim - 1 - i;
    }
    return ndim;
}

static bool strides_are_in_order(const tensor *t, int n, const int *order) {
    int64_t expected = 1;
    for (int i = 0; i < n; i++) {
        int dim = order[i];
        if (t->sizes[dim] == 1) continue;
        if (t->strides[dim] != expected) return false;
        expected *= t->sizes[dim];
    }
    return true;
}

bool tensor_has_row_strides(const tensor *t) {
    int64_t step = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->strides[i] != step) return false;
        step *= t->sizes[i] > 1 ? t->sizes[i] : 1;
    }
    return true;
}

bool tensor_is_in_format(const tensor *t, memory_format format) {
    int order[TENSOR_MAX_DIMS];
    if (format <= FORMAT_PRESERVE) return tensor_is_contiguous(t);
    int n = format_order(format, t->ndim, order);
    return n > 0 && strides_are_in_order(t, n, order);
}

bool tensor_is_dense(const tensor *t) {
    int order[TENSOR_MAX_DIMS], n = 0;
    if (t->ndim == 1) return t->sizes[0] < 2 || t->strides[0] == 1;
    for (int i = 0; i < t->ndim; i++) {
        if (t->sizes[i] == 0) return true;
        if (t->sizes[i] == 1) continue;
        int at = n++;
        for (; at > 0 && t->strides[order[at - 1]] > t->strides[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    return strides_are_in_order(t, n, order);
}

memory_format tensor_suggested_format(const tensor *t) {
    int order[TENSOR_MAX_DIMS];
    memory_format format = t->ndim == 4   ? FORMAT_CHANNELS_LAST
                           : t->ndim == 5 ? FORMAT_CHANNELS_LAST_3D
                                          : FORMAT_CONTIGUOUS;
    if (format == FORMAT_CONTIGUOUS || t->strides[1] == 0) return FORMAT_CONTIGUOUS;
    int64_t least = 0;
    int n = format_order(format, t->ndim, order);
    for (int i = 0; i < n; i++) {
        int dim = order[i];
        /* (N, 1, 1, 1) and (N, C, 1, 1) whose strides are those of a row-major tensor */
        if (t->sizes[dim] == 0 || t->strides[dim] < least || (dim == 0 && least == t->strides[1]))
            return FORMAT_CONTIGUOUS;
        least = t->strides[dim];
        if (t->sizes[dim] > 1) least *= t->sizes[dim];
    }
    return format;
}

/* ---- strides of new tensors ------------------------------------------------------------------ */

/* order: dims, the innermost first. A size of 0 counts as `of_empty`. */
static void strides_in_order(int n, const int64_t *sizes, const int *order, int64_t of_empty,
                             int64_t *strides) {
    int64_t step = 1;
    for (int i = 0; i < n; i++) {
        strides[order[i]] = step;
        step *= sizes[order[i]] ? sizes[order[i]] : of_empty;
    }
}

ctsc_status format_strides(diag *d, memory_format format, int ndim, const int64_t *sizes,
                           int64_t *strides) {
    int order[TENSOR_MAX_DIMS];
    if (format_order(format, ndim, order) < ndim)
        return diag_fail(d, CTSC_FAILED, "required rank %d tensor to use channels_last%s format",
                         format == FORMAT_CHANNELS_LAST ? 4 : 5,
                         format == FORMAT_CHANNELS_LAST ? "" : "_3d");
    strides_in_order(ndim, sizes, order, format <= FORMAT_PRESERVE, strides);
    return CTSC_OK;
}

typedef struct strides_operand { int64_t strides[TENSOR_MAX_DIMS]; } strides_operand;

/* < 0: a belongs inside b; > 0: outside; 0: nobody tells. */
static int strides_compare(int a, int b, const int64_t *sizes, int n, const strides_operand *of) {
    for (int k = 0; k < n; k++) {
        int64_t x = of[k].strides[a], y = of[k].strides[b];
        if (x == 0 || y == 0) continue;
        if (x != y) return x < y ? -1 : 1;
        if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
}

/* True if the order is not that of a row-major tensor. */
static bool strides_sort(int ndim, const int64_t *sizes, int n, const strides_operand *of,
                         int *order) {
    bool other = false;
    for (int i = 0; i < ndim; i++) order[i] = ndim - 1 - i;
    for (int i = 1; i < ndim; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int which = strides_compare(order[j], order[at], sizes, n, of);
            if (which < 0) break;
            if (which == 0) continue;
            int moved = order[j];
            order[j] = order[at], order[at] = moved;
            at = j;
            other = true;
        }
    }
    return other;
}

void tensor_like_strides(const tensor *t, int64_t *strides) {
    int order[TENSOR_MAX_DIMS];
    if (tensor_is_dense(t)) {
        if (t->ndim) memcpy(strides, t->strides, (size_t)t->ndim * sizeof *strides);
        return;
    }
    strides_operand own;
    memcpy(own.strides, t->strides, (size_t)t->ndim * sizeof *strides);
    strides_sort(t->ndim, t->sizes, 1, &own, order);
    strides_in_order(t->ndim, t->sizes, order, 1, strides);
}

/* Operands of one shape that agree need no sorting. */
static bool strides_agree(int ndim, const int64_t *sizes, int n, tensor *const *operands,
                          int64_t *strides) {
    const tensor *first = NULL;
    bool rows = true, last = true, equal = true;
    memory_format format = ndim == 4 ? FORMAT_CHANNELS_LAST : FORMAT_CHANNELS_LAST_3D;
    for (int k = 0; k < n; k++) {
        const tensor *t = operands[k];
        if (!t) continue;
        if (t->ndim != ndim || (ndim && memcmp(t->sizes, sizes, (size_t)ndim * sizeof *sizes)))
            return false;
        if (!first) first = t;
        rows = rows && tensor_is_contiguous(t);
        last = last && (ndim == 4 || ndim == 5) && tensor_is_in_format(t, format);
        equal = equal && !memcmp(t->strides, first->strides, (size_t)ndim * sizeof *sizes);
    }
    if (!first) return false;
    if (rows || last)
        return format_strides(NULL, rows ? FORMAT_CONTIGUOUS : format, ndim, sizes, strides) ==
               CTSC_OK;
    if (!equal || !tensor_is_dense(first)) return false;
    memcpy(strides, first->strides, (size_t)ndim * sizeof *strides);
    return true;
}

void broadcast_strides(int ndim, const int64_t *sizes, int n, tensor *const *operands,
                       int64_t *strides) {
    enum { MOST = 8 };
    strides_operand of[MOST];
    int order[TENSOR_MAX_DIMS], count = 0;
    if (strides_agree(ndim, sizes, n, operands, strides)) return;
    for (int k = 0; k < n && count < MOST; k++) {
        const tensor *t = operands[k];
        if (!t) continue;
        int lead = ndim - t->ndim;
        int64_t *own = of[count++].strides;
        for (int i = 0; i < ndim; i++) {
            int dim = i - lead;
            bool spread = dim < 0 || (t->sizes[dim] == 1 && sizes[i] != 1);
            own[i] = spread ? 0 : t->strides[dim];
        }
    }
    bool other = count && strides_sort(ndim, sizes, count, of, order);
    if (!other) format_order(FORMAT_CONTIGUOUS, ndim, order);
    strides_in_order(ndim, sizes, order, other ? 0 : 1, strides);
}

ctsc_status tensor_new_strided(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                               const int64_t *strides, tensor **out) {
    TRY(tensor_new_on(d, device, dt, ndim, sizes, out));
    if (ndim) memcpy((*out)->strides, strides, (size_t)ndim * sizeof *strides);
    return CTSC_OK;
}

ctsc_status tensor_restrided_take(diag *d, tensor *t, const int64_t *strides, tensor **out) {
    bool same = true;
    for (int i = 0; i < t->ndim; i++) same = same && t->strides[i] == strides[i];
    if (same) return *out = t, CTSC_OK;
    bool lies_so = true;
    for (int i = 0; i < t->ndim; i++)
        lies_so = lies_so && (t->sizes[i] == 1 || t->strides[i] == strides[i] || !t->numel);
    tensor *made;
    ctsc_status st = lies_so ? tensor_view_raw(d, t, t->ndim, t->sizes, strides, t->offset, &made)
                             : tensor_new_strided(d, tensor_device(t), (dtype)t->dtype, t->ndim,
                                                  t->sizes, strides, &made);
    if (st == CTSC_OK && !lies_so) {
        made->requires_grad = t->requires_grad;
        if ((st = tensor_copy(d, made, t)) != CTSC_OK) tensor_unref(made);
    }
    tensor_unref(t);
    if (st == CTSC_OK) *out = made;
    return st;
}

static ctsc_status clone_strided(diag *d, const tensor *t, const int64_t *strides, tensor **out) {
    tensor *made;
    TRY(tensor_new_strided(d, tensor_device(t), (dtype)t->dtype, t->ndim, t->sizes, strides,
                           &made));
    made->requires_grad = t->requires_grad;
    ctsc_status st = tensor_copy(d, made, t);
    if (st != CTSC_OK) tensor_unref(made);
    else *out = made;
    return st;
}

ctsc_status tensor_clone_like(diag *d, const tensor *t, tensor **out) {
    int64_t strides[TENSOR_MAX_DIMS];
    if (tensor_has_row_strides(t)) return tensor_clone(d, t, out);
    tensor_like_strides(t, strides);
    return clone_strided(d, t, strides, out);
}

ctsc_status tensor_clone_in(diag *d, const tensor *t, memory_format format, tensor **out) {
    int64_t strides[TENSOR_MAX_DIMS];
    if (format == FORMAT_PRESERVE) return tensor_clone_like(d, t, out);
    if (format == FORMAT_CONTIGUOUS) return tensor_clone(d, t, out);
    TRY(format_strides(d, format, t->ndim, t->sizes, strides));
    return clone_strided(d, t, strides, out);
}
