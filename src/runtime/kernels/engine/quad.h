/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quad.h - products whose factors are smaller than their sums: four bytes, or two bfloat16, to a
 * lane of 32 bits.
 *
 * A quad is the four bytes of k that one lane multiplies and adds. A panel is QUAD_COLUMNS columns
 * of the weights, quad after quad: [quad][column][4 bytes]. A tile is some rows times one or two
 * panels. What the factors are is the kernel's matter (quad_tile.h is its text).
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_QUAD_H
#define CTSC_RUNTIME_KERNELS_ENGINE_QUAD_H

#include <stdbool.h>
#include <stdint.h>

enum { QUAD_COLUMNS = 16, QUAD_BYTES = 4, QUAD_MAX_ROWS = 14, QUAD_MAX_PANELS = 2 };
enum { QUAD_PANEL = QUAD_COLUMNS * QUAD_BYTES }; /* bytes of a quad of a panel */

/* Rows of activations lda bytes apart, each read in stretches of quads; what a stretch reads
 * behind its last element meets weights of zero. */
typedef struct quad_tile {
    const uint8_t *a;
    int64_t lda;
    const int64_t *stretch; /* where each begins, from a row's begin; bytes */
    int64_t stretches, quads;
    const int8_t *b;
    int64_t panel;     /* bytes from one panel to the next */
    const void *start; /* what sums begin with: QUAD_COLUMNS of 32 bits per panel */
    void *sums;        /* 32 bits each, */
    int64_t ld;        /* so many from one row to the next */
    /* per stretch, for each two quads: whether their products may be added before they are
     * widened; NULL: none (read where quad_tile.h has PAIR) */
    const uint8_t *narrow;
    bool small; /* bytes known to be at most 127, by whoever has looked */
} quad_tile;

/* What a stretch has of quad_tile.narrow: one for each two quads, and a 0 behind them. */
static inline int64_t quad_pairs(int64_t quads) { return quads / 2 + 1; }

#endif
