/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_index.c - elements by index on a CUDA device: moves, gathers, scatters, rows of tables,
 * positions of flags.
 * Tests: tests/unit/test_cuda_dense.c
 */
#include "runtime/cuda/dense.h"
#include "runtime/kernels/index/index.h"

DENSE_FILE(move)
DENSE_FILE(combine)
DENSE_FILE(places)
DENSE_FILE(bags)

static const char *index_defines(const tensor *t) {
    return dense_defines_of_size(dtype_size((dtype)t->dtype));
}

static ctsc_status index_too_many(diag *d) {
    return diag_fail(d, CTSC_LIMIT, "a tensor of more than %d dimensions that do not adjoin",
                     DENSE_DIMS);
}

/* ---- moves ----------------------------------------------------------------------------------- */

ctsc_status dense_move_run(diag *d, cuda *c, const move_geometry *g, size_t item, void *dst,
                           const void *src) {
    move_geometry joined = *g;
    move_collapse(&joined);
    if (joined.ndim > DENSE_DIMS) return index_too_many(d);
    dense_move p = {.src = src, .dst = dst, .n = move_count(&joined), .ndim = joined.ndim};
    for (int i = 0; i < joined.ndim; i++)
        p.sizes[i] = joined.sizes[i], p.dst_steps[i] = joined.ds[i], p.src_steps[i] = joined.ss[i];
    return dense_each(d, c, &cuda_file_move, dense_defines_of_size(item), "move", p.n, &p,
                      sizeof p);
}

/* ---- plans ----------------------------------------------------------------------------------- */

ctsc_status dense_offsets_add(diag *d, const tensor *index, int dim, int64_t size, int64_t step,
                              int64_t *offsets) {
    cuda *c = cuda_of(index);
    dense_offsets p = {.index = tensor_data(index),
                       .offsets = (dense_int *)offsets,
                       .count = index->numel,
                       .size = size,
                       .step = step,
                       .dim = dim};
    TRY(dense_faults(d, c, &p.fault));
    return dense_each(d, c, &cuda_file_places, dense_defines(DT_UINT8), "offsets_add", p.count, &p,
                      sizeof p);
}

/* Dims [first, last) of a plan, those in step joined. */
static ctsc_status index_part(diag *d, const index_plan *p, int first, int last, dense_int *n,
                              dense_int *sizes, dense_int *steps) {
    move_geometry g = {0};
    for (int i = first; i < last; i++) move_add_dim(&g, p->sizes[i], p->steps[i], p->steps[i]);
    move_collapse(&g);
    if (g.ndim > DENSE_DIMS) return index_too_many(d);
    *n = g.ndim;
    for (int i = 0; i < g.ndim; i++) sizes[i] = g.sizes[i], steps[i] = g.ds[i];
    return CTSC_OK;
}

static ctsc_status index_blocks(diag *d, const tensor *self, const index_plan *plan,
                                const tensor *dense, dense_blocks *p) {
    *p = (dense_blocks){.self = tensor_data(self),
                        .dense = tensor_data(dense),
                        .offsets = (const dense_int *)plan->offsets,
                        .n = plan->numel,
                        .count = plan->count,
                        .scalar = dense->numel == 1};
    TRY(index_part(d, plan, 0, plan->nfront, &p->nfront, p->front, p->front_steps));
    return index_part(d, plan, plan->nfront + plan->nindex, plan->ndim, &p->nblock, p->block,
                      p->block_steps);
}

ctsc_status dense_blocks_read(diag *d, const tensor *self, const index_plan *plan, tensor *dense) {
    dense_blocks p;
    TRY(index_blocks(d, self, plan, dense, &p));
    return dense_each(d, cuda_of(self), &cuda_file_move, index_defines(self), "blocks_read", p.n,
                      &p, sizeof p);
}

static ctsc_status index_refuse(diag *d, const tensor *t) {
    return diag_fail(d, CTSC_UNSUPPORTED,
                     "combining elements of dtype %s is not supported on CUDA devices",
                     dtype_table[t->dtype].torch_name);
}

ctsc_status dense_blocks_write(diag *d, tensor *self, const index_plan *plan, const tensor *dense,
                               enum dense_combination how) {
    dense_blocks p;
    TRY(index_blocks(d, self, plan, dense, &p));
    p.combination = (int)how;
    if (how == DENSE_SET)
        return dense_each(d, cuda_of(self), &cuda_file_move, index_defines(self), "blocks_write",
                          p.n, &p, sizeof p);
    const char *defines = dense_defines((dtype)self->dtype);
    return defines ? dense_each(d, cuda_of(self), &cuda_file_combine, defines, "blocks_combine",
                                p.n, &p, sizeof p)
                   : index_refuse(d, self);
}

/* ---- gather, scatter ------------------------------------------------------------------------- */

static ctsc_status index_scatter(diag *d, const tensor *line, const tensor *other,
                                 const tensor *index, int dim, int64_t size, int64_t step,
                                 dense_scatter *p) {
    if (index->ndim > DENSE_DIMS) return index_too_many(d);
    *p = (dense_scatter){.self = tensor_data(line),
                         .other = tensor_data(other),
                         .index = tensor_data(index),
                         .n = index->numel,
                         .ndim = index->ndim,
                         .size = size,
                         .step = step,
                         .dim = dim};
    for (int i = 0; i < index->ndim; i++) {
        p->sizes[i] = index->sizes[i], p->self_steps[i] = line->strides[i];
        p->index_steps[i] = index->strides[i], p->other_steps[i] = other->strides[i];
    }
    return dense_faults(d, cuda_of(index), &p->fault);
}

ctsc_status dense_gather_run(diag *d, const tensor *line, tensor *other, const tensor *index,
                             int dim, int64_t size, int64_t step) {
    dense_scatter p;
    TRY(index_scatter(d, line, other, index, dim, size, step, &p));
    return dense_each(d, cuda_of(index), &cuda_file_move, index_defines(line), "gather", p.n, &p,
                      sizeof p);
}

ctsc_status dense_scatter_run(diag *d, tensor *line, const tensor *other, const tensor *index,
                              int dim, int64_t size, int64_t step, enum dense_combination how) {
    dense_scatter p;
    TRY(index_scatter(d, line, other, index, dim, size, step, &p));
    p.combination = (int)how;
    if (how == DENSE_SET)
        return dense_each(d, cuda_of(index), &cuda_file_move, index_defines(line), "scatter", p.n,
                          &p, sizeof p);
    const char *defines = dense_defines((dtype)line->dtype);
    return defines ? dense_each(d, cuda_of(index), &cuda_file_combine, defines, "scatter_combine",
                                p.n, &p, sizeof p)
                   : index_refuse(d, line);
}

/* ---- rows of tables -------------------------------------------------------------------------- */

ctsc_status dense_rows_run(diag *d, const tensor *table, int64_t rows, const tensor *index,
                           tensor *out, bool wrap, enum dense_fault_kind kind) {
    cuda *c = cuda_of(table);
    size_t item = dtype_size((dtype)table->dtype), unit = 16;
    if (out->numel == 0) return CTSC_OK;
    /* The largest units that rows are made of. */
    int64_t bytes = out->numel / index->numel * (int64_t)item;
    uintptr_t bits = (uintptr_t)tensor_data(table) | (uintptr_t)tensor_data(out) | (uintptr_t)bytes;
    while (unit > item && bits % unit) unit /= 2;
    dense_rows p = {.table = tensor_data(table),
                    .out = tensor_data(out),
                    .index = tensor_data(index),
                    .count = index->numel,
                    .width = bytes / (int64_t)unit,
                    .rows = rows,
                    .wrap = wrap,
                    .fault_kind = (int)kind};
    TRY(dense_faults(d, c, &p.fault));
    return dense_each(d, c, &cuda_file_move, dense_defines_of_size(unit), "rows", p.count * p.width,
                      &p, sizeof p);
}

ctsc_status dense_bags_run(diag *d, const tensor *table, dense_bags *b) {
    cuda *c = cuda_of(table);
    b->table = tensor_data(table);
    TRY(dense_faults(d, c, &b->fault));
    return dense_each(d, c, &cuda_file_bags, dense_defines((dtype)table->dtype), "bags",
                      b->bags * b->width, b, sizeof *b);
}

/* ---- flags ----------------------------------------------------------------------------------- */

static ctsc_status index_count_flags(diag *d, cuda *c, const dense_flags *p, int64_t *total) {
    const char *defines = dense_defines(DT_UINT8);
    TRY(dense_launch(d, c, &cuda_file_places, defines, "flags_count", p->chunks, FLAGS_THREADS, p,
                     sizeof *p));
    TRY(dense_launch(d, c, &cuda_file_places, defines, "flags_scan", 1, FLAGS_THREADS, p,
                     sizeof *p));
    return cuda_read(c, d, total, p->before + p->chunks, sizeof *total);
}

ctsc_status dense_places(diag *d, const tensor *flags, tensor **out) {
    cuda *c = cuda_of(flags);
    dense_flags p = {.flags = tensor_data(flags),
                     .n = flags->numel,
                     .chunks = (flags->numel + FLAGS_CHUNK - 1) / FLAGS_CHUNK};
    int64_t total = 0;
    void *before;
    tensor *t = NULL;
    TRY(cuda_alloc(c, d, (size_t)(p.chunks + 1) * sizeof *p.before, &before));
    p.before = before;
    ctsc_status st = p.n ? index_count_flags(d, c, &p, &total) : CTSC_OK;
    if (st == CTSC_OK) st = tensor_new_on(d, tensor_device(flags), DT_INT64, 1, &total, &t);
    if (st == CTSC_OK && total) {
        p.places = tensor_data(t);
        st = dense_launch(d, c, &cuda_file_places, dense_defines(DT_UINT8), "flags_places",
                          p.chunks, FLAGS_THREADS, &p, sizeof p);
        if (st != CTSC_OK) tensor_unref(t);
    }
    cuda_free(c, before);
    if (st == CTSC_OK) *out = t;
    return st;
}

ctsc_status dense_coordinates_run(diag *d, const tensor *places, const tensor *of, tensor *out) {
    dense_coordinates p = {.places = tensor_data(places),
                           .out = tensor_data(out),
                           .count = places->numel,
                           .ndim = of->ndim};
    for (int i = 0; i < of->ndim; i++) p.sizes[i] = of->sizes[i];
    return dense_each(d, cuda_of(places), &cuda_file_places, dense_defines(DT_UINT8), "coordinates",
                      p.ndim ? p.count : 0, &p, sizeof p);
}
