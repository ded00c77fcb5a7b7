/* SPDX-License-Identifier: Apache-2.0 */
/* rt_sort.c - in place of qsort, which may allocate: a sort by a heap. */
#include "rt/rt_internal.h"

static void sort_swap(char *a, char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        char x = a[i];
        a[i] = b[i];
        b[i] = x;
    }
}

void rt_sort(void *items, size_t n, size_t size, int (*order)(const void *a, const void *b)) {
    char *x = items;
    size_t first = n / 2, end = n;
    while (end > 1) {
        if (first) first--;
        else sort_swap(x, x + --end * size, size); /* the largest goes after the rest */
        for (size_t i = first, child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && order(x + child * size, x + (child + 1) * size) < 0) child++;
            if (order(x + i * size, x + child * size) >= 0) break;
            sort_swap(x + i * size, x + child * size, size);
        }
    }
}
