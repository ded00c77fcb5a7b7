/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move.h - what the shape and index operators share: strided copies by element size, combining
 * kernels (add, multiply, ...) that write through an index, and results that are lists.
 *
 * Copies never look at what an element means, only at its
 * size; complex and quantised tensors need no special code.
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_MOVE_H
#define CTSC_RUNTIME_KERNELS_ENGINE_MOVE_H

#include "runtime/kernels/engine/kernel.h"

#include <inttypes.h>
#include <string.h>

/* ---- runs of elements ------------------------------------------------------------------------ */

/* dst[i * ds] op= src[i * ss] for i in [0, n); strides in bytes, of any sign. */
typedef void (*move_run)(int64_t n, char *dst, int64_t ds, const char *src, int64_t ss);
/* dst[i * ds + index[i * is] * scale] op= src[i * ss]; scale and strides in bytes, index is int64.
 */
typedef void (*move_scatter)(int64_t n, char *dst, int64_t ds, const char *index, int64_t is,
                             int64_t scale, const char *src, int64_t ss);

typedef enum move_op { MOVE_SET, MOVE_ADD, MOVE_MUL, MOVE_MAX, MOVE_MIN } move_op;

typedef struct move_kernel {
    move_run run;
    move_scatter scatter;
} move_kernel;

/* MOVE_SET works on every dtype; the others return NULLs where they mean nothing (complex maximum).
 * Integers wrap; maximum and minimum propagate NaN; half and bfloat16 round after each step. */
move_kernel move_kernel_for(move_op op, dtype dt);
/* dst[i * ds] = src[i * ss + index[i * is] * scale], by element size. */
move_scatter move_gather_for(size_t item);

/* ---- whole geometries ------------------------------------------------------------------------ */

/* A shape with a byte stride per dimension for two operands. */
typedef struct move_geometry {
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS], ds[TENSOR_MAX_DIMS], ss[TENSOR_MAX_DIMS];
} move_geometry;

void move_add_dim(move_geometry *g, int64_t size, int64_t ds, int64_t ss);
void move_collapse(move_geometry *g); /* drops dimensions of size 1 and joins those in step */
int64_t move_count(const move_geometry *g);
/* Applies run to every innermost line; g must be collapsed. */
void move_apply(const move_geometry *g, move_run run, char *dst, const char *src);
/* The same as a copy of elements of `item` bytes, over several threads when large, or on
 * the device of dst_tensor, which contains dst. dst must not overlap itself or src. */
ctsc_status move_copy(diag *d, const tensor *dst_tensor, const move_geometry *g, size_t item,
                      char *dst, const char *src);

/* ---- forms of operators ---------------------------------------------------------------------- */

/* An out= tensor of another shape than `computed` gets its sizes and strides, as most results have
 * that LAPACK computed. op_finish_out, which copies, is then called as always. */
ctsc_status move_shape_out(op_ctx *cx, tensor *out, const tensor *computed);
/* Does the operator being run write its first argument (relu_, not relu)? */
bool move_in_place(const op_ctx *cx);
/* What an operator that changes some elements of self writes to: self made writable, or a copy. */
ctsc_status move_target(op_ctx *cx, const value *args, tensor **out);
/* Sums and products of many half or bfloat16 in one element are made in float: *wide_target and
 * *wide_source are float copies then, and references otherwise. move_narrow writes the target's
 * back. */
ctsc_status move_widen(op_ctx *cx, move_op op, tensor *target, tensor *source, tensor **wide_target,
                       tensor **wide_source);
ctsc_status move_narrow(op_ctx *cx, tensor *target, tensor *wide_target);
/* Hands the target over as the result of the form being run. Takes target. */
ctsc_status move_finish(op_ctx *cx, const value *args, tensor *target, value *results);
/* Finishes an operator of several tensor results; with out arguments (the last n of the schema)
 * copies into them. Takes the tensors. */
ctsc_status move_finish_many(op_ctx *cx, const value *args, int n, tensor *const *computed,
                             value *results);

ctsc_status move_list_new(op_ctx *cx, size_t reserve, list **out);
ctsc_status move_list_add(op_ctx *cx, list *l, tensor *t); /* takes t */
ctsc_status move_return_ints(op_ctx *cx, int n, const int64_t *ints, value *results);
/* Tensor i of a Tensor[] or Tensor?[] argument; NULL for None. */
tensor *arg_list_tensor(const value *v, size_t i);
/* Fails with "before[2, 3]after". */
ctsc_status move_fail_sizes(op_ctx *cx, const char *before, const tensor *t, const char *after);
/* Written tensors whose elements share memory, or overlap with what is read, are refused as
 * PyTorch does. */
ctsc_status move_refuse_internal_overlap(op_ctx *cx, const tensor *written);
ctsc_status move_refuse_overlap(op_ctx *cx, const tensor *written, const tensor *read);
/* Contiguous int64 copy (or a reference) of an index tensor of dtype int32 or int64. */
ctsc_status move_index_int64(op_ctx *cx, tensor *index, tensor **out);

#endif
