/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sorted.h - finds a row of a constant table whose rows begin with a text and are sorted by it, as
 * strcmp does (tests/check_layers.py sees to that).
 *
 *     static const struct { const char *name; op_fn fn; } rows[] = {...};
 *     int at = sorted_find(rows, sizeof rows, sizeof *rows, "aten::relu");
 * Tests: tests/unit/test_base.c
 */
#ifndef CTSC_BASE_SORTED_H
#define CTSC_BASE_SORTED_H

#include <stddef.h>
#include <string.h>

/* The number of the row with that text; -1: there is none. size: of all rows, row: of one. */
static inline int sorted_find(const void *rows, size_t size, size_t row, const char *text) {
    size_t low = 0, high = size / row;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *name;
        memcpy(&name, (const char *)rows + middle * row, sizeof name);
        int order = strcmp(text, name);
        if (!order) return (int)middle;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return -1;
}

#endif
