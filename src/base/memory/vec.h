/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - growable arrays of any element type.
 *
 *     VEC(int) v = {0};
 *     if (!vec_push(&v, 3)) ...no memory...
 *     for (size_t i = 0; i < v.len; i++) use(v.data[i]);
 *     vec_free(&v);
 *
 * The avec_* forms live in an arena: they are never freed, and a push that finds no memory is
 * dropped after marking the arena as failed.
 */
#ifndef CTSC_BASE_MEMORY_VEC_H
#define CTSC_BASE_MEMORY_VEC_H

#include "base/memory/mem.h"

#include <string.h>

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t len, cap;                                                                           \
    }

/* Makes room for `want` elements of `item` bytes; false if out of memory. */
bool vec_reserve_raw(void **data, size_t *cap, size_t want, size_t item);
bool avec_reserve_raw(arena *a, void **data, size_t *cap, size_t len, size_t want, size_t item);

#define vec_reserve(v, n)                                                                          \
    vec_reserve_raw((void **)&(v)->data, &(v)->cap, (size_t)(n), sizeof *(v)->data)
/* x is evaluated only where there is room for it: a reference that it takes is not taken
 * when a push fails. */
#define vec_push(v, x)                                                                             \
    (vec_reserve((v), (v)->len + 1) ? ((v)->data[(v)->len++] = (x), true) : false)
#define vec_pop(v) ((v)->data[--(v)->len])
#define vec_last(v) ((v)->data[(v)->len - 1])
#define vec_free(v) (mem_free((v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0)

#define avec_push(a, v, x)                                                                         \
    (avec_reserve_raw((a), (void **)&(v)->data, &(v)->cap, (v)->len, (v)->len + 1,                 \
                      sizeof *(v)->data)                                                           \
         ? ((v)->data[(v)->len++] = (x), true)                                                     \
         : false)

#endif
