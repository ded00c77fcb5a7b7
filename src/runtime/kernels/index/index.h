/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.h - a plan for reading or writing the elements of a tensor that indices name.
 */
#ifndef CTSC_RUNTIME_KERNELS_INDEX_INDEX_H
#define CTSC_RUNTIME_KERNELS_INDEX_INDEX_H

#include "runtime/kernels/engine/move.h"

/* The result of indexing: kept dimensions, the
 * shape of the indices, kept dimensions. */
typedef struct index_plan {
    int nfront, nindex; /* dimensions of the first two parts; the rest come last */
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS]; /* of the result */
    int64_t steps[TENSOR_MAX_DIMS]; /* bytes in self, of the kept dimensions */
    int64_t count;                  /* positions of the index shape */
    int64_t *offsets;               /* bytes, count of them; owned */
    struct cuda *device;            /* where the offsets are; NULL: on the host */
    int64_t numel;                  /* of the result */
} index_plan;

/* Position of the first index outside [0, size), or, if wrap, [-size, size); n if there is none. On
 * a device indices are not checked before the plan is made. */
int64_t index_find_outside(const tensor *index, int64_t size, bool wrap);
/* self indexed along one dimension (self has at least one) by a contiguous int64 tensor, all of
 * whose values are in bounds. */
ctsc_status index_plan_dim(op_ctx *cx, const tensor *self, int dim, const tensor *index,
                           index_plan *p);
void index_plan_end(index_plan *p);
/* A new tensor with the elements of the plan. */
ctsc_status index_plan_read(op_ctx *cx, const tensor *self, const index_plan *p, tensor **out);
/* self[...] op= values, which broadcast to the result and have self's dtype. */
ctsc_status index_plan_write(op_ctx *cx, tensor *self, const index_plan *p, tensor *values,
                             move_op op);

/* index_reduce, its index spread over source's shape: scatter_reduce whose half and bfloat16 are
 * reduced one by one. */
ctsc_status index_reduce_spread(op_ctx *cx, const value *args, value *results);

#endif
