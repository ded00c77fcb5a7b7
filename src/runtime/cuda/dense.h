/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense.h - what operators that are no fusion groups compute on a CUDA device.
 *
 * These functions take the place of the loops of runtime/kernels/ and of nothing else: an
 * operator's function there reads and checks its arguments and makes its results, on the device of
 * its arguments, and then calls the loops for the host or the function here. Their rows say
 * ON_DEVICE (ir/op/op_traits.h): one function serves both, and shapes and errors are the same.
 *
 * Kernels are in kernels/NAME.cu; with the definitions of an element type before it each
 * file is one program per type. Their parameters are the structs of engine/dense_params.h.
 *
 * Values that are positions (indices) cannot be checked before the kernel
 * runs. A kernel that meets one out of bounds skips the element and records
 * it; copies from the device to the host call dense_check_faults, so the error
 * shows where the host waits for the device anyway, and the device goes on.
 *
 * Files: dense.c, programs and faults; blas.c, cuBLASLt; dnn.c, cuDNN; and one per family.
 * Tests: tests/unit/test_cuda_dense.c
 */
#ifndef CTSC_RUNTIME_CUDA_DENSE_H
#define CTSC_RUNTIME_CUDA_DENSE_H

#include "runtime/cuda/cuda_ops.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/matmul/gemm.h"

/* As CUDA_FILE, with the parameters and the element types in front. */
extern embedded *const dense_before[];
#define DENSE_FILE(file) CUDA_FILE_AFTER(dense_before, file)
/* The same with a template between them, which the host reads as well (engine/each_real.h). */
#define DENSE_FILE_WITH(file, template_file)                                                       \
    EMBED(dense_template_##file, "src/runtime/kernels/" template_file)                             \
    CUDA_FILE_MADE(file, dense_before, &dense_template_##file)

/* What device_host and on_device are where there is CUDA. */
extern const device_functions cuda_device_functions;
extern const device_kernels cuda_kernels;

/* The definitions of an element type; NULL for those without (complex, quantised). */
const char *dense_defines(dtype dt);
/* The same for kernels that only move elements: by size. */
const char *dense_defines_of_size(size_t bytes);

/* Blocks of this many threads; their work is in params. Nothing is launched for 0 blocks;
 * where there are more than the grid is wide, the kernel continues in steps of the grid. */
ctsc_status dense_launch(diag *d, cuda *c, const cuda_file *file, const char *defines,
                         const char *symbol, int64_t blocks, int threads, const void *params,
                         size_t nbytes);
/* A thread for each item, or as many as the device runs at once where that is less. */
ctsc_status dense_each(diag *d, cuda *c, const cuda_file *file, const char *defines,
                       const char *symbol, int64_t items, const void *params, size_t nbytes);

/* ---- tables ---------------------------------------------------------------------------------- */

/* Bytes that kernels read and that the host computed from sizes alone. They are kept on the device
 * under their content, so that calls of the steady state send nothing; beyond some megabytes they
 * are sent each time. */
typedef struct dense_table { void *at; bool own; } dense_table;
ctsc_status dense_table_get(diag *d, cuda *c, const void *bytes, size_t n, dense_table *out);
void dense_table_end(cuda *c, dense_table *t);

/* ---- faults ---------------------------------------------------------------------------------- */

/* Where kernels note them. */
ctsc_status dense_faults(diag *d, cuda *c, dense_fault **out);
/* Fails with what was noted, and forgets it. Waits for the device if kernels that may note
 * something ever ran on it. */
ctsc_status dense_check_faults(diag *d, cuda *c);

/* ---- products (gemm.c, blas.c) --------------------------------------------------------------- */

/* As gemm_run, for memory of the device; e: what is done to each element then, or NULL. */
ctsc_status dense_gemm_run(diag *d, cuda *c, dtype dt, int64_t m, int64_t n, int64_t k,
                           gemm_scale alpha, gemm_matrix a, gemm_matrix b, gemm_scale beta,
                           void *out, int64_t ldc, const dense_epilogue *e);
/* out = e(alpha * a b + beta * out) over the last two dims; the others of a and b broadcast to the
 * nb sizes of batch. out is contiguous. */
ctsc_status dense_gemm_batch(diag *d, const tensor *a, const tensor *b, int nb,
                             const int64_t *batch, gemm_scale alpha, gemm_scale beta, tensor *out,
                             const dense_epilogue *e);
/* The stride of t along dim i of nb batch dims that it broadcasts to; its last two
 * dims are a matrix. */
int64_t dense_batch_step(const tensor *t, int nb, int i);
/* The files of cuBLASLt and cuDNN, which are opened for it; "": there is none. */
const char *blas_file(void);
const char *dnn_file(void);
/* By cuBLASLt. False: not done, because the library is not there or has no way for this. */
bool blas_gemm(diag *d, cuda *c, dtype dt, const dense_gemm *g, ctsc_status *status);

/* ---- convolutions (conv.c, dnn.c) ------------------------------------------------------------ */

struct conv_shape;
/* As conv_compute and conv_transpose_compute, for contiguous tensors of the device; bias may be
 * NULL. e: what fits out, or NULL. */
ctsc_status dense_conv_run(diag *d, const struct conv_shape *s, bool transposed,
                           const tensor *input, const tensor *weight, const tensor *bias,
                           const epilogue *e, tensor *out);
/* By cuDNN, not transposed. False: not done, because the library is not there or has
 * no way for this. */
bool dnn_conv(diag *d, cuda *c, dtype dt, const dense_conv *conv, ctsc_status *status);

/* ---- windows and positions (resample.c) ------------------------------------------------------ */

struct pool_geometry;
/* x and y are contiguous, of dtype dt; places: the maxima's, or NULL. divisor, count_padding: as in
 * avg_pool2d; 0 for none. */
ctsc_status dense_pool_run(diag *d, cuda *c, dtype dt, const struct pool_geometry *g,
                           dense_pooling how, const void *x, void *y, int64_t *places,
                           int64_t divisor, bool count_padding);
/* As gather3. */
ctsc_status dense_gather3_run(diag *d, const tensor *src, tensor *dst, int64_t planes,
                              const int64_t in[3], const int64_t out[3], int64_t *const at[3]);
ctsc_status dense_resample_run(diag *d, const tensor *x, tensor *y, int64_t planes,
                               const dense_taps dims[3]);

/* ---- positions between elements, regions (sampling.c) ---------------------------------------- */

/* Results of out's dtype; all tensors are contiguous and of one dtype. */
ctsc_status dense_grid_run(diag *d, const tensor *out, const dense_grid *p);
ctsc_status dense_affine_run(diag *d, const tensor *out, const dense_affine *p);
ctsc_status dense_deform_run(diag *d, const tensor *columns, const dense_deform *p);
/* Fills in where faults go. */
ctsc_status dense_regions_run(diag *d, const tensor *out, dense_region kind, dense_regions *p);
/* The boxes that are kept, best score first: overlaps are found
 * on the device; which box suppresses which, on the host. */
ctsc_status dense_nms(diag *d, const tensor *boxes, const tensor *scores, double threshold,
                      tensor **out);

/* ---- indices (index.c) ----------------------------------------------------------------------- */

struct move_geometry;
struct index_plan;
/* As move_copy, for elements of `item` bytes on the device. */
ctsc_status dense_move_run(diag *d, cuda *c, const struct move_geometry *g, size_t item, void *dst,
                           const void *src);
/* offsets[i] += index[i] * step for a contiguous index into a dim of that size. */
ctsc_status dense_offsets_add(diag *d, const tensor *index, int dim, int64_t size, int64_t step,
                              int64_t *offsets);
/* As index_plan_read and index_plan_write, for a plan whose offsets are on the device. dense:
 * contiguous, or one element. */
ctsc_status dense_blocks_read(diag *d, const tensor *self, const struct index_plan *p,
                              tensor *dense);
ctsc_status dense_blocks_write(diag *d, tensor *self, const struct index_plan *p,
                               const tensor *dense, enum dense_combination how);
/* line and other have index's shape; line does not move along dim, which has `size`
 * elements at stride step. Gathers line into other, or combines other with line. */
ctsc_status dense_gather_run(diag *d, const tensor *line, tensor *other, const tensor *index,
                             int dim, int64_t size, int64_t step);
ctsc_status dense_scatter_run(diag *d, tensor *line, const tensor *other, const tensor *index,
                              int dim, int64_t size, int64_t step, enum dense_combination how);
/* out[i] = table[index[i]] for contiguous tensors; table has that many rows. */
ctsc_status dense_rows_run(diag *d, const tensor *table, int64_t rows, const tensor *index,
                           tensor *out, bool wrap, enum dense_fault_kind kind);
ctsc_status dense_bags_run(diag *d, const tensor *table, dense_bags *b);
/* Where a contiguous bool tensor is true, counted in row-major order: int64, 1-dim.
 * Waits for the device. */
ctsc_status dense_places(diag *d, const tensor *flags, tensor **out);
/* [places, ndim] */
ctsc_status dense_coordinates_run(diag *d, const tensor *places, const tensor *of, tensor *out);

/* ---- attention (attention.c) ----------------------------------------------------------------- */

struct attention_call;
/* As attention_compute, for any real floating dtype. */
ctsc_status dense_attention_run(diag *d, const struct attention_call *call);

/* ---- lines (along_dim.c) --------------------------------------------------------------------- */

ctsc_status dense_cell_run(diag *d, cuda *c, dtype dt, const dense_cell *p);
/* x, y, places: contiguous, on the device of y. */
ctsc_status dense_scan_run(diag *d, const tensor *x, tensor *y, tensor *places,
                           enum dense_scan_kind what, int dim);
/* Elements of rank [first, first + count) of each line along dim, stably sorted, and
 * where they were. */
ctsc_status dense_sort_run(diag *d, const tensor *t, int dim, bool descending, int64_t first,
                           int64_t count, tensor *values, tensor *indices);
/* Contiguous t. */
ctsc_status dense_triangle_run(diag *d, tensor *t, int64_t diagonal, bool lower);

#endif
