/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quad.h - products whose factors are narrower than their sums: a k-group of
 * four bytes, or two bfloat16, per lane of 32 bits; as records of functions.
 *
 * A quad is the four bytes of k that one lane multiplies and adds (elsewhere a k-group, or VNNI
 * layout). A panel is QUAD_COLUMNS columns of the weights, quad after quad: [quad][column][4
 * bytes]. A tile is some rows times one or two panels; quad_tile.h is its text.
 *
 * AMX multiplies by 16 quads of a panel at a time, which are exactly one of its tile registers
 * (amx_tile.h). Its records have a second set, `vectors`, for few rows and for everything but
 * products: both read the same panels, whose segments are padded to the depth of a step.
 *
 * Bytes: activations are unsigned, weights signed, sums int32 that wrap. Processors without
 * vpdpbusd multiply in 16 bits and get the same sums: no kernel saturates in between.
 *
 * In a depthwise convolution of bytes, four rows of the kernel at a time are a
 * k-group: `spread` interleaves the bytes of four input rows, once for all taps
 * along a row. Its channels come in blocks of 4 * lanes, in the order that
 * interleaving produces: channel quant_place_channel(lanes, p) at place p.
 *
 * bfloat16: sums are float32, rounded as the instruction rounds them.
 * Tests: tests/unit/test_quantized_bytes.c, tests/unit/test_quad_bf16.c, tests/unit/test_amx.c
 */
#ifndef CTSC_CPU_QUAD_QUAD_H
#define CTSC_CPU_QUAD_QUAD_H

#include "cpu/convert/half.h"
#include "cpu/isa.h"

enum { QUAD_COLUMNS = 16, QUAD_BYTES = 4, QUAD_MAX_ROWS = 32, QUAD_MAX_PANELS = 2 };
enum { QUAD_HEIGHTS = 28 };   /* rows from which on a tile takes as many as it can */
enum { QUAD_LANES = 8 };      /* quads of a segment that `groups` takes */
enum { QUAD_ROW_PANELS = 4 }; /* that one row meets together: more chains of sums */
enum { QUAD_PANEL = QUAD_COLUMNS * QUAD_BYTES }; /* bytes of a quad of a panel */

/* Outliers: what bytes lack that were moved by -low and clipped to 0 .. 127, for kernels to which
 * seven bits are faster (quad_kernels.clip). Activations are units of whole quads, one after the
 * other; a row's segment s is `width` of them, from segment[s] units after the row's first on, and
 * the next row begins `step` units later. Entries are quads to add, or to subtract. */
typedef struct quad_outliers {
    uint32_t *at;   /* of an entry: bytes from the first unit's, without what lies between units */
    uint32_t *quad; /* its bytes */
    /* [unit][4]: the first of its entries to add and the one after its last, and of those to
     * subtract; of units in a row these follow one another */
    int32_t *span;
    int64_t most; /* entries there is room for, of each kind */
    int64_t unit, width, step;
    const int64_t *segment;
    int64_t segments;
    uint8_t low;
} quad_outliers;

/* Requantisation of sums: round((sum + steps) * scale), clamped to lo .. hi, plus zero.
 * lo and hi are integers, so that clamping before rounding is the same as after it. */
typedef struct quant_bytes {
    const float *scale, *steps; /* per column */
    float lo, hi;
    int32_t zero;
    uint8_t flip; /* of signed bytes 128, and all that is above is moved by 128 */
    bool whole;   /* steps are all 0 */
    bool plain;   /* whole, all unsigned bytes are results, and the others fit 32 bits */
} quant_bytes;

/* Rows of activations at stride lda in bytes, each read in segments of quads
 * (k-groups); bytes that a segment reads after its last element meet zero weights. */
typedef struct quad_tile {
    const uint8_t *a;
    int64_t lda;
    const uint8_t *end;     /* of what may be read of a; NULL: of what the segments need */
    const int64_t *segment; /* where each begins, from a row's begin; bytes */
    int64_t segments, quads;
    const int8_t *b;
    int64_t panel;     /* bytes from one panel to the next */
    int64_t filled;    /* quads of a segment of b: a multiple of the depth, zeros at the end */
    const void *start; /* what sums begin with: QUAD_COLUMNS of 32 bits per panel */
    void *sums;        /* 32 bits each, */
    int64_t ld;        /* distance from one row to the next */
    /* not NULL, of quad_kernels.direct: sums of full panels become bytes in `out` instead */
    const quant_bytes *bytes;
    uint8_t *out;
    int64_t ldc;
    const int32_t *lanes; /* of `groups`: which quad of a segment a column begins with */
    /* per segment, for each two quads: QUAD_NARROW, and QUAD_SAFE of the first and, one bit to the
     * left, of the second (read where quad_tile.h has PAIR or SAFE) */
    const uint8_t *narrow;
    int64_t narrows; /* of them, from one panel's to the next one's */
    bool small;      /* bytes known to be at most 127, if they were checked */
    /* lines of 64 bytes to prefetch in each step, from `next` on: the panels that are next. Without
     * a depth at most one, and none where quad_tile.h has PAIR */
    const int8_t *next;
    int64_t lines;
} quad_tile;

/* `rows` rows by kernels of falling heights, down to 1. */
static inline void quad_by_heights(int rows, const quad_tile *t,
                                   void (*const *of)(const quad_tile *), const int *height) {
    quad_tile part = *t;
    for (int i = 0; rows > 0; i++)
        for (; rows >= height[i]; rows -= height[i]) {
            of[i](&part);
            part.a += height[i] * part.lda;
            part.sums = (int32_t *)part.sums + height[i] * part.ld;
        }
}

/* Marks of weights: of two quads, that four of their products with seven bits fit 16 bits, and of
 * one, that two products with eight bits do. */
enum { QUAD_NARROW = 1, QUAD_SAFE = 2 };
/* Entries of quad_tile.narrow for a segment: one for each two quads, and one that is not
 * QUAD_NARROW. */
static inline int64_t quad_pairs(int64_t quads) { return quads / 2 + 1; }

/* Of the sums that `store` reads, from one row to the next. */
enum { QUAD_TILE_COLUMNS = QUAD_MAX_PANELS * QUAD_COLUMNS };

/* Results from o to o + count of one row of a convolution with one channel per group; in and out
 * count bytes from one to the next. */
typedef struct quant_depthwise {
    const void *spread; /* what `spread` made of the columns of the input, */
    int64_t size;       /* its size in bytes, */
    bool small;         /* known to be at most 127, if they were checked */
    int64_t step;       /* bytes of it from one result to the next */
    const int64_t *tap; /* bytes of it from the first */
    const int8_t *b;    /* per tap a block's bytes */
    int64_t taps, count;
    const int32_t *start; /* a block's */
    quant_bytes to;       /* a block's */
    uint8_t *out;
    int64_t out_step, channels; /* channels: of the block, that are there */
    int32_t *sums;              /* not NULL: sums by place, 4 * lanes a result, instead of bytes */
} quant_depthwise;

typedef struct quad_kernels quad_kernels;
struct quad_kernels {
    isa isa;
    int rows, panels; /* of a tile, at most */
    int depth;        /* quads of a step, to which segments of weights are filled up */
    int lanes;
    /* How many rows the next tile takes where that many are left, QUAD_HEIGHTS entries; NULL: so
     * many that tiles are as even as can be */
    const uint8_t *heights;
    bool direct;   /* tiles of all panels do what quad_tile.bytes says */
    int64_t block; /* bytes of rows that stay in the second cache while panels pass them */
    void (*tile)(int rows, int panels, const quad_tile *t);
    /* one panel whose columns each have quads of their own: column c multiplies quads lanes[c],
     * lanes[c] + 1, ... < QUAD_LANES of a segment, of which all are read; NULL: none */
    void (*groups)(int rows, const quad_tile *t);
    /* one row times QUAD_ROW_PANELS panels, summed as `tile` does; NULL: none */
    void (*row)(const quad_tile *t);

    /* ---- of tile registers; NULL and 0 without ----------------------------------------------- */
    /* Before tiles of at most `rows` rows, or of at least 16, which is what begin gets then, and
     * after the last of them: once for many tiles, and always by the same thread. */
    void (*begin)(int rows);
    void (*end)(void);
    /* What computes strips of fewer rows, or of segments of fewer quads, from the same panels; and
     * all that follows, in its own record. */
    const quad_kernels *vectors;
    int least_rows, least_quads;

    /* ---- of bytes ---------------------------------------------------------------------------- */
    /* rows x cols sums become bytes, rows at stride ldc */
    void (*store)(const int32_t *sums, int rows, int cols, const quant_bytes *to, uint8_t *out,
                  int64_t ldc);
    /* `channels` bytes of each of four rows, for `count` places at stride step[i]
     * in row i, interleaved: `next` bytes from one place's block to the next's */
    void (*spread)(const uint8_t *const row[4], const int64_t step[4], int64_t count,
                   int64_t channels, uint8_t *to, int64_t next);
    void (*depthwise)(const quant_depthwise *d);
    /* Are n bytes all at most 127? NULL: nothing is faster for these (quad_tile.small) */
    bool (*small)(const uint8_t *p, int64_t n);
    /* Where they are, what makes bytes so (quad_outliers); else NULL. Clips units [first, last),
     * which lie one after the other, from `from` to `to`, which may be the same, with entries from
     * n on of either kind. False: there are too many; `to` is undefined. */
    bool (*clip)(const quad_outliers *o, int64_t first, int64_t last, const uint8_t *from,
                 uint8_t *to, int64_t n[2]);
    /* Adds what rows from the one at unit `first` on lack, times `panels` panels, the first of
     * which begins at b, to t->sums. */
    void (*amend)(int rows, int panels, const quad_tile *t, const int8_t *b, const quad_outliers *o,
                  int64_t first);
};

/* The record for everything but products. */
static inline const quad_kernels *quad_vectors(const quad_kernels *u) {
    return u->vectors ? u->vectors : u;
}

static inline int64_t quant_place_channel(int lanes, int64_t place) {
    int64_t vector = place / lanes, lane = place % lanes;
    return lane / 4 * 16 + vector * 4 + lane % 4;
}

#endif
