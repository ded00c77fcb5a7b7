/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort.h - elements as unsigned keys, and sorting them.
 *
 * A key orders as PyTorch orders elements: NaN is the greatest and equals NaN, -0 equals 0.
 */
#ifndef CTSC_RUNTIME_KERNELS_INDEX_SORT_H
#define CTSC_RUNTIME_KERNELS_INDEX_SORT_H

#include "runtime/kernels/engine/move.h"

typedef struct sort_pair {
    uint64_t key;
    int64_t index;
} sort_pair;

/* Has dt an order? (Complex and quantised types have none.) */
bool sort_has_order(dtype dt);
/* Keys of n elements at stride `stride`, with positions; descending inverts the order. */
void sort_make_keys(dtype dt, const char *src, int64_t stride, int64_t n, bool descending,
                    sort_pair *out);
/* The key all NaNs of dt have (ascending); false if dt has no NaN. */
bool sort_nan_key(dtype dt, uint64_t *key);
/* Sorts by key, stably. scratch: room for n. item: bytes of the dtype the keys came from. */
void sort_pairs(sort_pair *a, sort_pair *scratch, int64_t n, size_t item);

/* Selections that put equal elements in the same order as the C++ library PyTorch is built with,
 * because programs see the indices (select.c). */
/* All in order. */
void select_sort(sort_pair *a, int64_t n);
/* The first k in order. */
void select_first_sorted(sort_pair *a, int64_t n, int64_t k);
/* The first k of the order in front; in order if `sorted`. */
void select_first(sort_pair *a, int64_t n, int64_t k, bool sorted);
/* Moves the element of rank k to place k, as PyTorch's kthvalue does. */
void select_rank(sort_pair *a, int64_t n, int64_t k);

#endif
