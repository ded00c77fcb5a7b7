/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.c - tensors with strides, to and from contiguous memory.
 *
 * Method. The last dimensions that are contiguous are one run of bytes; an odometer goes through
 * the others.
 */
#include "distributed/dist.h"

#include <string.h>

enum { PACK_DIMS = 64 }; /* the most that a tensor has */

int64_t dist_count(const ctsc_dist_tensor *t) {
    int64_t n = 1;
    if (t->ndim < 0 || t->ndim > PACK_DIMS) return -1;
    for (int i = 0; i < t->ndim; i++) {
        if (t->sizes[i] < 0) return -1;
        if (t->sizes[i] == 0) return 0;
    }
    for (int i = 0; i < t->ndim; i++)
        if (__builtin_mul_overflow(n, t->sizes[i], &n) || n > INT64_MAX / DIST_WIDEST) return -1;
    return n;
}

/* How many of the first dimensions are not part of the contiguous end; elements of that end. */
static int pack_outer(const ctsc_dist_tensor *t, int64_t *run) {
    int outer = t->ndim;
    *run = 1;
    while (outer > 0 && (t->sizes[outer - 1] == 1 || t->strides[outer - 1] == *run))
        *run *= t->sizes[--outer];
    return outer;
}

bool dist_is_contiguous(const ctsc_dist_tensor *t) {
    int64_t run;
    return !t->strides || pack_outer(t, &run) == 0;
}

static void pack_move(const ctsc_dist_tensor *t, char *flat, bool pack) {
    int64_t run, at[PACK_DIMS] = {0}, count = dist_count(t);
    size_t bytes = dist_dtype_bytes(t->dtype);
    if (count <= 0) return;
    int outer = t->strides ? pack_outer(t, &run) : 0;
    if (outer == 0) run = count;
    char *place = t->data;
    for (;;) {
        if (pack) memcpy(flat, place, (size_t)run * bytes);
        else memcpy(place, flat, (size_t)run * bytes);
        flat += (size_t)run * bytes;
        int i = outer - 1;
        for (; i >= 0; i--) {
            place += t->strides[i] * (int64_t)bytes;
            if (++at[i] < t->sizes[i]) break;
            place -= t->strides[i] * t->sizes[i] * (int64_t)bytes;
            at[i] = 0;
        }
        if (i < 0) return;
    }
}

void dist_pack(void *to, const ctsc_dist_tensor *from) { pack_move(from, to, true); }
void dist_unpack(const ctsc_dist_tensor *to, const void *from) {
    pack_move(to, (char *)from, false);
}
