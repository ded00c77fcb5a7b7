/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.c - the selection algorithms of topk and kthvalue, and the unstable sort.
 *
 * Which of several equal elements topk reports, and in which order sort leaves them, depends on
 * the algorithm, and programs use those indices; so the algorithms here are, step for step, those
 * of PyTorch on the CPU: heap selection for a small k (partial_sort of GNU's C++ library),
 * introselect followed by introsort otherwise (its nth_element and sort), and a median-of-three
 * quickselect for kthvalue. The textbook form of each leaves the order of equal elements open; the
 * choices made here (which of two children, which median, where a partition stops) are the ones
 * that fix it.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/index/sort.h"

static bool select_before(const sort_pair *a, const sort_pair *b) { return a->key < b->key; }

static void select_swap(sort_pair *a, sort_pair *b) {
    sort_pair t = *a;
    *a = *b;
    *b = t;
}

static int64_t select_log2(int64_t n) {
    int64_t log = 0;
    while (n >>= 1) log++;
    return log;
}

/* ---- heaps (greatest on top) ----------------------------------------------------------------- */

/* Moves the hole to a leaf along the greater children, then lets v rise from there, not above the
 * start. */
static void select_sift(sort_pair *heap, int64_t hole, int64_t n, sort_pair v) {
    const int64_t top = hole;
    int64_t child = hole;
    while (child < (n - 1) / 2) {
        child = 2 * child + 2;
        if (select_before(&heap[child], &heap[child - 1])) child--;
        heap[hole] = heap[child];
        hole = child;
    }
    if (n % 2 == 0 && child == (n - 2) / 2) {
        child = 2 * child + 1;
        heap[hole] = heap[child];
        hole = child;
    }
    while (hole > top && select_before(&heap[(hole - 1) / 2], &v)) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = v;
}

/* The k first elements of a[0, n) end up in a[0, k), as a heap. */
static void select_heap(sort_pair *a, int64_t k, int64_t n) {
    for (int64_t i = (k - 2) / 2; k > 1 && i >= 0; i--) select_sift(a, i, k, a[i]);
    for (int64_t i = k; i < n; i++) {
        if (!select_before(&a[i], &a[0])) continue;
        sort_pair v = a[i];
        a[i] = a[0];
        select_sift(a, 0, k, v);
    }
}

void select_first_sorted(sort_pair *a, int64_t n, int64_t k) {
    if (k <= 0) return;
    select_heap(a, k, n);
    for (int64_t last = k - 1; last > 0; last--) {
        sort_pair v = a[last];
        a[last] = a[0];
        select_sift(a, 0, last, v);
    }
}

/* ---- partitions ------------------------------------------------------------------------------ */

/* Lets a[i] sink to its place among the sorted ones in front; one of them is known not to be
 * greater. */
static void select_sink(sort_pair *a, int64_t i) {
    sort_pair v = a[i];
    for (; select_before(&v, &a[i - 1]); i--) a[i] = a[i - 1];
    a[i] = v;
}

static void select_insertion(sort_pair *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        if (select_before(&a[i], &a[0])) {
            sort_pair v = a[i];
            memmove(a + 1, a, (size_t)i * sizeof *a);
            a[0] = v;
        } else {
            select_sink(a, i);
        }
    }
}

/* Puts the median of a[1], the middle and the last in front and partitions the rest around it; the
 * start of the upper part. n > 3. */
static int64_t select_partition(sort_pair *a, int64_t n) {
    sort_pair *x = a + 1, *y = a + n / 2, *z = a + n - 1, *median;
    if (select_before(x, y)) median = select_before(y, z) ? y : select_before(x, z) ? z : x;
    else median = select_before(x, z) ? x : select_before(y, z) ? z : y;
    select_swap(a, median);
    int64_t low = 1, high = n;
    for (;;) {
        while (select_before(&a[low], &a[0])) low++;
        high--;
        while (select_before(&a[0], &a[high])) high--;
        if (low >= high) return low;
        select_swap(&a[low], &a[high]);
        low++;
    }
}

/* a[0, n) becomes sorted up to runs shorter than SELECT_SMALL. */
static void select_sort_coarse(sort_pair *a, int64_t n, int64_t depth) {
    while (n > SELECT_SMALL) {
        if (depth-- == 0) {
            select_first_sorted(a, n, n);
            return;
        }
        int64_t cut = select_partition(a, n);
        select_sort_coarse(a + cut, n - cut, depth);
        n = cut;
    }
}

void select_sort(sort_pair *a, int64_t n) {
    if (n < 2) return;
    select_sort_coarse(a, n, 2 * select_log2(n));
    select_insertion(a, n > SELECT_SMALL ? SELECT_SMALL : n);
    for (int64_t i = SELECT_SMALL; i < n; i++) select_sink(a, i);
}

/* The element of rank k to place k; smaller ones in front of it. */
static void select_nth(sort_pair *a, int64_t n, int64_t k) {
    int64_t depth = 2 * select_log2(n);
    while (n > 3) {
        if (depth-- == 0) {
            select_heap(a, k + 1, n);
            select_swap(&a[0], &a[k]);
            return;
        }
        int64_t cut = select_partition(a, n);
        if (cut <= k) {
            a += cut;
            n -= cut;
            k -= cut;
        } else {
            n = cut;
        }
    }
    select_insertion(a, n);
}

void select_first(sort_pair *a, int64_t n, int64_t k, bool sorted) {
    if (k <= 0) return;
    select_nth(a, n, k - 1);
    if (sorted) select_sort(a, k - 1);
}

/* ---- kthvalue -------------------------------------------------------------------------------- */

static bool select_after(const sort_pair *a, const sort_pair *b) { return a->key > b->key; }

void select_rank(sort_pair *a, int64_t n, int64_t k) {
    int64_t left = 0, right = n - 1;
    while (right > left + 1) {
        sort_pair *first = &a[left], *second = first + 1, *last = &a[right];
        select_swap(&a[left + (right - left) / 2], second);
        if (select_after(second, last)) select_swap(second, last);
        if (select_after(first, last)) select_swap(first, last);
        if (select_after(second, first)) select_swap(second, first);
        /* second <= first <= last: first is the pivot, the others stop the scans. */
        int64_t i = left + 1, j = right;
        for (;;) {
            do i++;
            while (select_after(first, &a[i]));
            do j--;
            while (select_after(&a[j], first));
            if (j < i) break;
            select_swap(&a[i], &a[j]);
        }
        select_swap(first, &a[j]);
        if (j <= k) left = i;
        if (j >= k) right = j - 1;
    }
    if (right == left + 1 && select_after(&a[left], &a[right])) select_swap(&a[left], &a[right]);
}
