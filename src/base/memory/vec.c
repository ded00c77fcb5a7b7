/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.c - how the arrays of vec.h grow: by doubling, from eight elements.
 *
 * Tests: tests/unit/test_base.c
 */
#include "base/memory/vec.h"

/* The capacity to grow to, and its size in bytes; false if it does not fit. */
static bool vec_plan(size_t cap, size_t want, size_t item, size_t *new_cap, size_t *bytes) {
    size_t n = cap < 4 ? 8 : cap > SIZE_MAX / 2 ? want : cap * 2;
    if (n < want) n = want;
    *new_cap = n;
    return size_mul(n, item, bytes);
}

bool vec_reserve_raw(void **data, size_t *cap, size_t want, size_t item) {
    if (want <= *cap) return true;
    size_t n, bytes;
    if (!vec_plan(*cap, want, item, &n, &bytes)) return false;
    void *p = mem_resize(*data, bytes);
    if (!p) return false;
    *data = p;
    *cap = n;
    return true;
}

bool avec_reserve_raw(arena *a, void **data, size_t *cap, size_t len, size_t want, size_t item) {
    if (want <= *cap) return true;
    size_t n, bytes;
    if (!vec_plan(*cap, want, item, &n, &bytes)) {
        a->failed = true;
        return false;
    }
    void *p = arena_grow(a, *data, len * item, bytes);
    /* A block from the reserve is only good for code that looks at arena_failed soon. A new array
     * is in the hands of such code; an older one keeps its block and drops the element. */
    if (!p || (a->failed && *data)) return false;
    *data = p;
    *cap = n;
    return true;
}
