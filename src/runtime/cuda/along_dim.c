/* SPDX-License-Identifier: Apache-2.0 */
/*
 * along_dim.c - what goes along the lines of a tensor on a CUDA device: recurrent cells, running
 * results, sorting, triangles of matrices.
 * Tests: tests/unit/test_cuda_dense.c
 */
#include "runtime/cuda/dense.h"

DENSE_FILE(cell)
DENSE_FILE(scan)
DENSE_FILE(sort)
DENSE_FILE(triangle)

ctsc_status dense_cell_run(diag *d, cuda *c, dtype dt, const dense_cell *p) {
    return dense_each(d, c, &cuda_file_cell, dense_defines(dt), "cell", p->rows * p->hidden, p,
                      sizeof *p);
}

/* ---- running results ------------------------------------------------------------------------- */

enum { SCAN_SHORT = 64 }; /* lines no longer than that are a thread's */

ctsc_status dense_scan_run(diag *d, const tensor *x, tensor *y, tensor *places,
                           enum dense_scan_kind what, int dim) {
    dense_scan p = {.x = tensor_data(x),
                    .y = tensor_data(y),
                    .places = places ? tensor_data(places) : NULL,
                    .n = x->ndim ? x->sizes[dim] : 1,
                    .outer = 1,
                    .inner = 1,
                    .what = (int)what};
    const char *defines = dense_defines((dtype)x->dtype);
    if (x->numel == 0) return CTSC_OK;
    for (int i = dim + 1; i < x->ndim; i++) p.inner *= x->sizes[i];
    p.outer = x->numel / (p.n * p.inner);
    if (!defines)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "running results of dtype %s are not supported on CUDA devices",
                         dtype_table[x->dtype].torch_name);
    if (p.inner == 1 && p.n > SCAN_SHORT && what <= DENSE_SCAN_PROD)
        return dense_launch(d, cuda_of(y), &cuda_file_scan, defines, "scan_lines", p.outer,
                            SCAN_THREADS, &p, sizeof p);
    return dense_each(d, cuda_of(y), &cuda_file_scan, defines, "scan_lanes", p.outer * p.inner, &p,
                      sizeof p);
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* Keys and positions of all lines, twice: what is merged, and where to. */
static ctsc_status sort_in(diag *d, cuda *c, const char *defines, dense_sort *p, char *memory) {
    int64_t n = p->lines * p->n;
    p->keys = (unsigned long long *)(void *)memory;
    p->keys_to = p->keys + n;
    p->at = (dense_int *)(p->keys_to + n);
    p->at_to = p->at + n;
    int64_t tiles = (p->n + SORT_TILE - 1) / SORT_TILE;
    TRY(dense_launch(d, c, &cuda_file_sort, defines, "sort_begin", p->lines * tiles, SORT_THREADS,
                     p, sizeof *p));
    for (p->run = SORT_TILE; p->run < p->n; p->run *= 2) {
        TRY(dense_each(d, c, &cuda_file_sort, defines, "sort_merge", n, p, sizeof *p));
        unsigned long long *keys = p->keys;
        dense_int *at = p->at;
        p->keys = p->keys_to, p->at = p->at_to;
        p->keys_to = keys, p->at_to = at;
    }
    return dense_each(d, c, &cuda_file_sort, defines, "sort_end", p->lines * p->count, p,
                      sizeof *p);
}

ctsc_status dense_sort_run(diag *d, const tensor *t, int dim, bool descending, int64_t first,
                           int64_t count, tensor *values, tensor *indices) {
    dense_sort p = {.x = tensor_data(t),
                    .values = tensor_data(values),
                    .indices = tensor_data(indices),
                    .lines = 1,
                    .n = t->ndim ? t->sizes[dim] : 1,
                    .x_step = t->ndim ? t->strides[dim] : 1,
                    .first = first,
                    .count = count,
                    .out_step = t->ndim ? values->strides[dim] : 1,
                    .descending = descending};
    size_t bytes;
    void *memory;
    if (t->ndim - 1 > DENSE_DIMS)
        return diag_fail(d, CTSC_LIMIT, "sorting a tensor of more than %d dimensions",
                         DENSE_DIMS + 1);
    for (int i = 0; i < t->ndim; i++) {
        if (i == dim) continue;
        p.sizes[p.nd] = t->sizes[i], p.x_steps[p.nd] = t->strides[i],
        p.out_steps[p.nd] = values->strides[i];
        p.lines *= p.sizes[p.nd++];
    }
    if (values->numel == 0) return CTSC_OK;
    if (!size_mul((size_t)(p.lines * p.n), 2 * (sizeof *p.keys + sizeof *p.at), &bytes))
        return diag_no_memory(d);
    cuda *c = cuda_of(values);
    TRY(cuda_alloc(c, d, bytes, &memory));
    ctsc_status st = sort_in(d, c, dense_defines((dtype)t->dtype), &p, memory);
    cuda_free(c, memory);
    return st;
}

/* ---- triangles ------------------------------------------------------------------------------- */

ctsc_status dense_triangle_run(diag *d, tensor *t, int64_t diagonal, bool lower) {
    dense_triangle p = {.t = tensor_data(t),
                        .matrices = 1,
                        .rows = t->sizes[t->ndim - 2],
                        .cols = t->sizes[t->ndim - 1],
                        .diagonal = diagonal,
                        .lower = lower};
    for (int i = 0; i < t->ndim - 2; i++) p.matrices *= t->sizes[i];
    return dense_each(d, cuda_of(t), &cuda_file_triangle,
                      dense_defines_of_size(dtype_size((dtype)t->dtype)), "triangle", t->numel, &p,
                      sizeof p);
}
