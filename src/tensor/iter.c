/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iter.c - the order in which operands of a common shape are walked, and the walk.
 *
 * Method: dimensions are sorted so that the first operand's smallest stride comes first (later
 * operands decide between dimensions the first does not distinguish), then neighbours that all
 * operands step through evenly are merged. The walk over the rest is an odometer of byte offsets.
 * A range of it is cut by element number, so a thread can start in the middle of a run.
 * Invariants: dims[0] is the innermost; sizes are all above 1, unless there is one dimension only.
 * Tests: tests/unit/test_tensor.c
 */
#include "tensor/iter.h"

#include "base/memory/unbacked.h"
#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"

#include <string.h>

enum { ITER_GRAIN = 32768, ITER_ORDERED_CHUNK = 1 << 16 };

typedef struct iter_dim {
    int64_t size;
    int64_t stride[ITER_MAX_OPERANDS]; /* bytes */
} iter_dim;

typedef struct iter_plan {
    int ndim, noperands;
    iter_dim dims[TENSOR_MAX_DIMS];
    char *base[ITER_MAX_OPERANDS];
    iter_kernel kernel;
    void *ctx;
} iter_plan;

/* The dimensions longer than 1, innermost first, with 0 strides where an operand is broadcast. */
static void iter_collect(iter_plan *p, int ndim, const int64_t *sizes, tensor *const *operands) {
    for (int i = ndim - 1; i >= 0; i--) {
        if (sizes[i] == 1) continue;
        iter_dim *dim = &p->dims[p->ndim++];
        dim->size = sizes[i];
        for (int k = 0; k < p->noperands; k++) {
            const tensor *t = operands[k];
            int own = i - (ndim - t->ndim);
            dim->stride[k] = own < 0 || t->sizes[own] == 1
                                 ? 0
                                 : t->strides[own] * (int64_t)dtype_size((dtype)t->dtype);
        }
    }
    if (p->ndim > 0) return;
    p->ndim = 1;
    p->dims[0].size = 1;
    for (int k = 0; k < p->noperands; k++)
        p->dims[0].stride[k] = (int64_t)dtype_size((dtype)operands[k]->dtype);
}

/* < 0: a belongs inside b; 0: no operand tells. */
static int iter_compare(const iter_dim *a, const iter_dim *b, int noperands) {
    for (int k = 0; k < noperands; k++) {
        int64_t x = a->stride[k], y = b->stride[k];
        if (x == 0 || y == 0 || x == y) continue;
        return x < y ? -1 : 1;
    }
    return 0;
}

/* Insertion sort: the comparison is not a total order, and dimensions that compare equal
 * stay in shape order. A dimension moves inwards past those it knows to be larger. */
static void iter_sort(iter_plan *p) {
    for (int i = 1; i < p->ndim; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int order = iter_compare(&p->dims[at], &p->dims[j], p->noperands);
            if (order > 0) break;
            if (order == 0) continue;
            iter_dim moving = p->dims[at];
            memmove(&p->dims[j + 1], &p->dims[j], (size_t)(at - j) * sizeof moving);
            p->dims[j] = moving;
            at = j;
        }
    }
}

static bool iter_can_merge(const iter_dim *inner, const iter_dim *outer, int noperands) {
    for (int k = 0; k < noperands; k++)
        if (outer->stride[k] != inner->stride[k] * inner->size) return false;
    return true;
}

static void iter_merge(iter_plan *p) {
    int n = 0;
    for (int i = 1; i < p->ndim; i++) {
        if (iter_can_merge(&p->dims[n], &p->dims[i], p->noperands))
            p->dims[n].size *= p->dims[i].size;
        else if (++n != i) p->dims[n] = p->dims[i];
    }
    p->ndim = n + 1;
}

/* False if there is nothing to walk. */
static bool iter_prepare(iter_plan *p, int ndim, const int64_t *sizes, int noperands,
                         tensor *const *operands, int64_t *numel) {
    *numel = 1;
    if (geometry_only()) return false;
    for (int i = 0; i < ndim; i++)
        if (sizes[i] == 0) return false;
    for (int i = 0; i < ndim; i++) *numel *= sizes[i];
    p->ndim = 0;
    p->noperands = noperands;
    for (int k = 0; k < noperands; k++) p->base[k] = tensor_data(operands[k]);
    iter_collect(p, ndim, sizes, operands);
    return true;
}

/* Walks the elements [begin, end) of the plan's order. */
static void iter_walk(void *ctx, int64_t begin, int64_t end) {
    const iter_plan *p = ctx;
    int noperands = p->noperands;
    int64_t index[TENSOR_MAX_DIMS];
    char *at[ITER_MAX_OPERANDS],
        *row[ITER_MAX_OPERANDS]; /* the run; element 0 of its dimension 0 */
    memcpy(row, p->base, sizeof row);
    int64_t rest = begin;
    for (int i = 0; i < p->ndim; i++) {
        index[i] = rest % p->dims[i].size;
        rest /= p->dims[i].size;
        if (i > 0)
            for (int k = 0; k < noperands; k++) row[k] += index[i] * p->dims[i].stride[k];
    }
    const iter_dim *inner = &p->dims[0];
    while (begin < end) {
        int64_t n = inner->size - index[0];
        if (n > end - begin) n = end - begin;
        for (int k = 0; k < noperands; k++) at[k] = row[k] + index[0] * inner->stride[k];
        p->kernel(p->ctx, n, at, inner->stride);
        begin += n;
        index[0] = 0;
        for (int i = 1; i < p->ndim; i++) {
            const iter_dim *dim = &p->dims[i];
            if (++index[i] < dim->size) {
                for (int k = 0; k < noperands; k++) row[k] += dim->stride[k];
                break;
            }
            index[i] = 0;
            for (int k = 0; k < noperands; k++) row[k] -= (dim->size - 1) * dim->stride[k];
        }
    }
}

/* false: it was to end before all was done. */
static bool iter_spread(int ndim, const int64_t *sizes, int noperands, tensor *const *operands,
                        iter_kernel kernel, void *ctx, int64_t grain, bool limited) {
    iter_plan p;
    p.kernel = kernel;
    p.ctx = ctx;
    int64_t numel;
    if (!iter_prepare(&p, ndim, sizes, noperands, operands, &numel)) return true;
    iter_sort(&p);
    iter_merge(&p);
    if (grain <= 0) grain = ITER_GRAIN;
    if (numel > grain && limited) return pool_for_limited(numel, grain, iter_walk, &p);
    if (numel > grain) pool_for(numel, grain, iter_walk, &p);
    else iter_walk(&p, 0, numel);
    return true;
}

void iter_run(int ndim, const int64_t *sizes, int noperands, tensor *const *operands,
              iter_kernel kernel, void *ctx, int64_t grain) {
    iter_spread(ndim, sizes, noperands, operands, kernel, ctx, grain, false);
}

bool iter_run_limited(int ndim, const int64_t *sizes, int noperands, tensor *const *operands,
                      iter_kernel kernel, void *ctx, int64_t grain) {
    return iter_spread(ndim, sizes, noperands, operands, kernel, ctx, grain, true);
}

static bool iter_spread_ordered(int ndim, const int64_t *sizes, int noperands,
                                tensor *const *operands, iter_kernel kernel, void *ctx,
                                int64_t chunk) {
    iter_plan p;
    p.kernel = kernel;
    p.ctx = ctx;
    int64_t numel;
    if (!iter_prepare(&p, ndim, sizes, noperands, operands, &numel)) return true;
    iter_merge(&p);
    for (int64_t begin = 0; begin < numel; begin = numel - begin < chunk ? numel : begin + chunk) {
        if (begin && limits_stop()) return false;
        iter_walk(&p, begin, numel - begin < chunk ? numel : begin + chunk);
    }
    return true;
}

void iter_run_ordered(int ndim, const int64_t *sizes, int noperands, tensor *const *operands,
                      iter_kernel kernel, void *ctx) {
    iter_spread_ordered(ndim, sizes, noperands, operands, kernel, ctx, INT64_MAX);
}

bool iter_run_ordered_limited(int ndim, const int64_t *sizes, int noperands,
                              tensor *const *operands, iter_kernel kernel, void *ctx) {
    return iter_spread_ordered(ndim, sizes, noperands, operands, kernel, ctx, ITER_ORDERED_CHUNK);
}
