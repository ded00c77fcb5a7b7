/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strides.h - the memory order of a new tensor's elements: PyTorch's rules, in one place.
 *
 * A program sees strides: by stride() and is_contiguous(), and because reshape(), contiguous() and
 * flatten() share memory or copy by them. A result follows one of these rules (STRIDES(rule) in a
 * row of ir/ops):
 *
 *     operands    pointwise operators: the order of the operands' strides (TensorIterator's)
 *     like        clone, to, zeros_like, ...: that of one tensor (memory_format preserve)
 *     format      pooling, batch norm, interpolation, ...: channels last if the image has them so
 *     row-major   all others
 *
 * In all cases the result is dense: gaps and expanded dims of an operand are not kept.
 *
 * Strides count elements. Nothing here can fail unless it says so; all functions are pure.
 * Source of the rules: torch 2.15, TensorIteratorBase::reorder_dimensions, empty_like and
 * TensorImpl's memory formats; docs/differs.md says where ctsc does not follow.
 * Tests: tests/unit/test_strides.c, tests/python/test_py_strides.py
 */
#ifndef CTSC_TENSOR_STRIDES_H
#define CTSC_TENSOR_STRIDES_H

#include "tensor/device.h"

/* torch.memory_format, by the numbers that archives and schemas have for it. */
typedef enum memory_format {
    FORMAT_CONTIGUOUS,
    FORMAT_PRESERVE,
    FORMAT_CHANNELS_LAST,    /* of 4 dims: (N, C, H, W) stored as (N, H, W, C) */
    FORMAT_CHANNELS_LAST_3D, /* of 5 dims */
    FORMAT_COUNT
} memory_format;

/* ---- asking ---------------------------------------------------------------------------------- */

/* Neither gaps nor elements that share a place, in whatever order. */
bool tensor_is_dense(const tensor *t);
/* Contiguous, and dims of size 1 have the strides of such a tensor, too. */
bool tensor_has_row_strides(const tensor *t);
/* is_contiguous(memory_format=format): dims of size 1 may have any stride. */
bool tensor_is_in_format(const tensor *t, memory_format format);
/* The channels-last format by the order of t's strides (gaps are no matter), or contiguous. */
memory_format tensor_suggested_format(const tensor *t);

/* ---- strides of new tensors ------------------------------------------------------------------ */

/* Fails for a format that has other dims, in PyTorch's words. format: not preserve. */
ctsc_status format_strides(diag *d, memory_format format, int ndim, const int64_t *sizes,
                           int64_t *strides);
/* t's own if it is dense, else dense ones in their order. */
void tensor_like_strides(const tensor *t, int64_t *strides);
/* The result of a pointwise operator: n operands broadcast to (ndim, sizes). NULL operands are
 * skipped. */
void broadcast_strides(int ndim, const int64_t *sizes, int n, tensor *const *operands,
                       int64_t *strides);

/* Of a view of t in other sizes, of as many elements; false: there is none. */
bool strides_of_view(const tensor *t, int ndim, const int64_t *sizes, int64_t *strides);

/* Uninitialised, with strides of a dense tensor. */
ctsc_status tensor_new_strided(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                               const int64_t *strides, tensor **out);
/* t in these strides, dense ones: itself if it has them, a view where they differ in dims of one
 * element alone or t is empty, else a copy. Takes t. */
ctsc_status tensor_restrided_take(diag *d, tensor *t, const int64_t *strides, tensor **out);
/* A copy, in t's order. */
ctsc_status tensor_clone_like(diag *d, const tensor *t, tensor **out);
/* A copy in a format; preserve: tensor_clone_like. */
ctsc_status tensor_clone_in(diag *d, const tensor *t, memory_format format, tensor **out);

#endif
