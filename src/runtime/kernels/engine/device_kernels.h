/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels.h - what kernels ask of a device: one table of functions.
 *
 * An operator's function reads and checks its arguments and makes its results, on the device of its
 * arguments, and then calls the loops for the host or a function of this table. So one function
 * serves both, and shapes and errors are the same.
 *
 * runtime/cuda/dense.h fills the table; it is registered once, at start (runtime/ops/registry.c).
 * It is not looked at where no tensor is on a device.
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_DEVICE_KERNELS_H
#define CTSC_RUNTIME_KERNELS_ENGINE_DEVICE_KERNELS_H

#include "cuda/cuda.h"
#include "runtime/kernels/engine/dense_params.h"
#include "runtime/kernels/engine/kernel.h"
#include "runtime/kernels/engine/matrix.h"
#include "tensor/device.h"

/* The device of a tensor that is on one. */
static inline cuda *cuda_of(const tensor *t) { return t->storage->release_ctx; }
/* The device that a tensor is on; NULL: on the host. */
static inline cuda *tensor_cuda(const tensor *t) {
    return tensor_device(t) == DEVICE_HOST ? NULL : cuda_of(t);
}

struct attention_call;
struct conv_shape;
struct epilogue;
struct index_plan;
struct move_geometry;
struct pool_geometry;
typedef enum dense_pooling {
    DENSE_MAX,
    DENSE_AVERAGE,
    DENSE_ADAPTIVE_MAX,
    DENSE_ADAPTIVE_AVERAGE
} dense_pooling;
typedef enum dense_region {
    DENSE_ROI_ALIGN,
    DENSE_ROI_POOL,
    DENSE_PS_ROI_ALIGN,
    DENSE_PS_ROI_POOL
} dense_region;
/* One dim of dense_resample. */
typedef struct dense_taps {
    int64_t in, out, taps;
    const int64_t *at;
    const void *weight;
} dense_taps;

typedef struct device_kernels {
    /* As gemm_run, for memory of the device; e: what is done to each element then, or NULL. */
    ctsc_status (*gemm)(diag *d, cuda *c, dtype dt, int64_t m, int64_t n, int64_t k,
                        gemm_scale alpha, gemm_matrix a, gemm_matrix b, gemm_scale beta, void *out,
                        int64_t ldc, const dense_epilogue *e);
    /* out = e(alpha * a b + beta * out) over the last two dims; the others of a and b broadcast to
     * the nb sizes of batch. out is contiguous. */
    ctsc_status (*gemm_batch)(diag *d, const tensor *a, const tensor *b, int nb,
                              const int64_t *batch, gemm_scale alpha, gemm_scale beta, tensor *out,
                              const dense_epilogue *e);
    /* As conv_compute and conv_transpose_compute, for contiguous tensors of the device; bias may be
     * NULL. e: what fits out, or NULL. */
    ctsc_status (*conv)(diag *d, const struct conv_shape *s, bool transposed, const tensor *input,
                        const tensor *weight, const tensor *bias, const struct epilogue *e,
                        tensor *out);
    /* x and y are contiguous, of dtype dt; places: the maxima's, or NULL. divisor, count_padding:
     * as in avg_pool2d; 0 for none. */
    ctsc_status (*pool)(diag *d, cuda *c, dtype dt, const struct pool_geometry *g,
                        dense_pooling how, const void *x, void *y, int64_t *places, int64_t divisor,
                        bool count_padding);
    /* As gather3. */
    ctsc_status (*gather3)(diag *d, const tensor *src, tensor *dst, int64_t planes,
                           const int64_t in[3], const int64_t out[3], int64_t *const at[3]);
    ctsc_status (*resample)(diag *d, const tensor *x, tensor *y, int64_t planes,
                            const dense_taps dims[3]);
    /* Results of out's dtype; all tensors are contiguous and of one dtype. */
    ctsc_status (*grid)(diag *d, const tensor *out, const dense_grid *p);
    ctsc_status (*affine)(diag *d, const tensor *out, const dense_affine *p);
    ctsc_status (*deform)(diag *d, const tensor *columns, const dense_deform *p);
    /* Fills in where faults go. */
    ctsc_status (*regions)(diag *d, const tensor *out, dense_region kind, dense_regions *p);
    /* The boxes that are kept, best score first: overlaps are found
     * on the device; which box suppresses which, on the host. */
    ctsc_status (*nms)(diag *d, const tensor *boxes, const tensor *scores, double threshold,
                       tensor **out);
    /* As move_copy, for elements of `item` bytes on the device. */
    ctsc_status (*move)(diag *d, cuda *c, const struct move_geometry *g, size_t item, void *dst,
                        const void *src);
    /* offsets[i] += index[i] * step for a contiguous index into a dim of that size. */
    ctsc_status (*offsets_add)(diag *d, const tensor *index, int dim, int64_t size, int64_t step,
                               int64_t *offsets);
    /* As index_plan_read and index_plan_write, for a plan whose offsets are on the device. dense:
     * contiguous, or one element. */
    ctsc_status (*blocks_read)(diag *d, const tensor *self, const struct index_plan *p,
                               tensor *dense);
    ctsc_status (*blocks_write)(diag *d, tensor *self, const struct index_plan *p,
                                const tensor *dense, enum dense_combination how);
    /* line and other have index's shape; line does not move along dim, which has `size`
     * elements at stride step. Gathers line into other, or combines other with line. */
    ctsc_status (*gather)(diag *d, const tensor *line, tensor *other, const tensor *index, int dim,
                          int64_t size, int64_t step);
    ctsc_status (*scatter)(diag *d, tensor *line, const tensor *other, const tensor *index, int dim,
                           int64_t size, int64_t step, enum dense_combination how);
    /* out[i] = table[index[i]] for contiguous tensors; table has that many rows. */
    ctsc_status (*rows)(diag *d, const tensor *table, int64_t rows, const tensor *index,
                        tensor *out, bool wrap, enum dense_fault_kind kind);
    ctsc_status (*bags)(diag *d, const tensor *table, dense_bags *b);
    /* Where a contiguous bool tensor is true, counted in row-major order: int64, 1-dim.
     * Waits for the device. */
    ctsc_status (*places)(diag *d, const tensor *flags, tensor **out);
    /* [places, ndim] */
    ctsc_status (*coordinates)(diag *d, const tensor *places, const tensor *of, tensor *out);
    /* As attention_compute, for any real floating dtype. */
    ctsc_status (*attention)(diag *d, const struct attention_call *call);
    ctsc_status (*cell)(diag *d, cuda *c, dtype dt, const dense_cell *p);
    /* x, y, places: contiguous, on the device of y. */
    ctsc_status (*scan)(diag *d, const tensor *x, tensor *y, tensor *places,
                        enum dense_scan_kind what, int dim);
    /* Elements of rank [first, first + count) of each line along dim, stably sorted, and
     * where they were. */
    ctsc_status (*sort)(diag *d, const tensor *t, int dim, bool descending, int64_t first,
                        int64_t count, tensor *values, tensor *indices);
    /* Contiguous t. */
    ctsc_status (*triangle)(diag *d, tensor *t, int64_t diagonal, bool lower);
} device_kernels;
/* Of the devices there are. */
extern const device_kernels *on_device;

#endif
