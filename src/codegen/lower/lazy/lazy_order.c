/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy_order.c - the memory order that the elements of a lazy tensor would
 * have if each operator wrote its result as PyTorch does (tensor/strides.h).
 *
 * Code does not depend on it except for two things: what the outputs of a kernel look like, and
 * whether view() would refuse. Most tensors are row-major, which `contiguous` says without numbers.
 * Of the others strides are kept as the arguments at hand give them. That they come in the same
 * order for all arguments a plan is for follows from its conditions: strides of arguments are
 * compared there (group_read_strides in group.c), and views keep the order of dims longer than 1.
 * Tests: tests/unit/test_group.c, tests/python/test_py_strides.py
 */
#include "codegen/lower/lazy/lazy_internal.h"
#include "tensor/strides.h"

#include <string.h>

bool lazy_shape_of(lazy *l, const lazy_tensor *t, lazy_shape *room) {
    room->t = (tensor){
        .ndim = (uint8_t)t->ndim, .numel = 1, .sizes = room->sizes, .strides = room->strides};
    for (int d = t->ndim - 1; d >= 0; d--) {
        int64_t *size = &room->sizes[d];
        if (!lazy_is_const(t->sizes[d], size) && !(l->peek && l->peek(l->ctx, t->sizes[d], size)))
            return false;
        room->strides[d] = t->contiguous ? room->t.numel : t->strides[d];
        if (*size > 0) room->t.numel *= *size;
    }
    for (int d = 0; d < t->ndim; d++)
        if (room->sizes[d] == 0) room->t.numel = 0;
    return true;
}

bool lazy_set_strides(lazy *l, lazy_tensor *t, const int64_t *strides) {
    lazy_shape own;
    int order[LAZY_MAX_DIMS];
    if (!lazy_shape_of(l, t, &own)) return false;
    t->contiguous = false;
    if (t->ndim) memcpy(t->strides, strides, sizeof *strides * (size_t)t->ndim);
    t->contiguous = !lazy_order(l, t, order);
    /* what a size of 1 leaves undecided is decided for this size */
    for (int d = 0; d < t->ndim; d++)
        if (own.sizes[d] == 1 && !lazy_is_one(l, t->sizes[d])) return false;
    return true;
}

/* Is dim a outside b in memory? A dim of size 1 may have any stride, but formats depend on it. */
static bool order_outside(const lazy_shape *of, const int64_t *strides, int a, int b) {
    return strides[a] != strides[b] ? strides[a] > strides[b] : of->sizes[a] > of->sizes[b];
}

bool lazy_order(lazy *l, const lazy_tensor *t, int *order) {
    lazy_shape own;
    int64_t strides[LAZY_MAX_DIMS];
    bool other = false;
    if (t->contiguous || !lazy_shape_of(l, t, &own)) return false;
    tensor_like_strides(&own.t, strides);
    for (int d = 0; d < t->ndim; d++) {
        int at = d;
        for (; at > 0 && order_outside(&own, strides, d, order[at - 1]); at--) {
            other = other || (own.sizes[d] != 1 && own.sizes[order[at - 1]] != 1);
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    return other;
}

bool lazy_set_order(lazy *l, strides_rule rule, int n, const lazy_arg *args, lazy_tensor *t) {
    enum { MOST = 8 };
    lazy_shape shapes[MOST], own;
    tensor *operands[MOST];
    int64_t strides[LAZY_MAX_DIMS];
    int count = 0;
    bool rows = true;
    t->contiguous = true;
    for (int i = 0; i < n; i++) rows = rows && (!args[i].t || args[i].t->contiguous);
    if (rows || rule == STRIDES_ROWS) return true;
    if (!lazy_shape_of(l, t, &own)) return false;
    for (int i = 0; i < n && count < MOST; i++) {
        if (!args[i].t || args[i].t->is_number || args[i].t->ndim > t->ndim) continue;
        if (!lazy_shape_of(l, args[i].t, &shapes[count])) return false;
        operands[count] = &shapes[count].t;
        count++;
        if (rule != STRIDES_OPERANDS) break;
    }
    if (rule == STRIDES_FORMAT) {
        memory_format format = count ? tensor_suggested_format(operands[0]) : FORMAT_CONTIGUOUS;
        if (format == FORMAT_CONTIGUOUS ||
            format_strides(NULL, format, t->ndim, own.sizes, strides) != CTSC_OK)
            return true;
    } else if (rule == STRIDES_LIKE || rule == STRIDES_OPERANDS) {
        broadcast_strides(t->ndim, own.sizes, count, operands, strides);
    } else {
        return false;
    }
    return lazy_set_strides(l, t, strides);
}
