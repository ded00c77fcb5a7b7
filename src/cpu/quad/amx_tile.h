/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amx_tile.h - tiles of products of quads (quad.h) on tile registers as text, for one kind of
 * factors.
 *
 * Included with these defined:
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     CONFIGURE(c) RELEASE()  amx.h, or a model of it (tests/unit/amx_model.h)
 *     LOAD(n, p, stride) STORE(n, p, stride) DOT(c, a, b)   likewise
 *     FILL(to, from, n)       64 bytes: the first n < 64 of `from`, then zeros
 *     PREFETCH(p)             the line at p
 *     ANY_BYTES               if defined: bytes outside a row may meet the weights' zeros;
 *                             a NaN among them would spoil sums of floats
 * Defines NAME(begin), NAME(end) and NAME(tile) of a record; those of above stay.
 *
 * Method. A tile is 32 x 32: its sums are registers 0 to 3, which begin as copies of the
 * row at t->start, rows 4 and 5, weights 6 and 7, so that a step of 16 quads loads four
 * registers for four products. Rows are read in place. For 17 to 31 rows the two halves
 * overlap, and values computed twice are equal: all registers keep their 16 rows. Only
 * tiles of fewer than 16 rows configure smaller registers (NAME(begin)), because the rows
 * above or below may be out of bounds. The quads of a segment that remain after whole
 * steps are copied between zeros, unless the bytes after them exist and are harmless.
 *
 * bfloat16: a step adds to each sum that of two chains, of the even and of
 * the odd ones of its 32 products; the division into steps depends only on
 * the matrix, so results depend neither on rows nor on tiles nor on threads.
 */

enum {
    NAME(ROWS) = 16,
    NAME(QUADS) = 16,
    NAME(LINE) = NAME(QUADS) * QUAD_BYTES, /* bytes of a row's step */
    NAME(STEP) = NAME(QUADS) * QUAD_PANEL, /* and of a panel's */
};

static TARGET void NAME(begin)(int rows) {
    amx_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.bytes[i] = NAME(LINE);
        c.rows[i] = (uint8_t)(i < 6 && rows < NAME(ROWS) ? rows : NAME(ROWS));
    }
    CONFIGURE(&c);
}

static TARGET void NAME(end)(void) { RELEASE(); }

/* One step: rows a and, `below`, c; panels b and, `right`, d. */
static inline __attribute__((always_inline)) TARGET void NAME(step)(
    const uint8_t *a, int64_t as, const uint8_t *c, int64_t cs, const int8_t *b, const int8_t *d,
    const bool below, const bool right) {
    LOAD(6, b, QUAD_PANEL);
    LOAD(4, a, as);
    DOT(0, 4, 6);
    if (right) {
        LOAD(7, d, QUAD_PANEL);
        DOT(1, 4, 7);
    }
    if (below) {
        LOAD(5, c, cs);
        DOT(2, 5, 6);
        if (right) DOT(3, 5, 7);
    }
}

/* The last n bytes of `rows` rows' segments, in whole lines at stride *stride bytes. */
static TARGET const uint8_t *NAME(rest)(const quad_tile *t, const uint8_t *a, int rows, int64_t n,
                                        uint8_t *room, int64_t *stride) {
    *stride = t->lda;
#ifdef ANY_BYTES
    if (t->end && t->end - a >= (rows - 1) * t->lda + NAME(LINE)) return a;
#endif
    for (int r = 0; r < rows; r++) FILL(room + r * NAME(LINE), a + r * t->lda, n);
    *stride = NAME(LINE);
    return room;
}

static inline __attribute__((always_inline)) TARGET void NAME(body)(int rows, const quad_tile *t,
                                                                    const bool below,
                                                                    const bool right) {
    _Alignas(64) uint8_t room[2][NAME(ROWS) * NAME(LINE)];
    const int upper = below ? NAME(ROWS) : rows;
    const int64_t down = below ? rows - NAME(ROWS) : 0, lda = t->lda, panel = t->panel,
                  lines = t->lines, ld = t->ld * (int64_t)sizeof(int32_t);
    const int8_t *b = t->b, *next = t->next;
    const int32_t *start = t->start;
    LOAD(0, start, 0);
    if (right) LOAD(1, start + QUAD_COLUMNS, 0);
    if (below) LOAD(2, start, 0);
    if (below && right) LOAD(3, start + QUAD_COLUMNS, 0);
    for (int64_t s = 0; s < t->segments; s++) {
        const uint8_t *a = t->a + t->segment[s];
        for (int64_t left = t->quads; left > 0; left -= NAME(QUADS)) {
            const uint8_t *x = a, *y = a + down * lda;
            int64_t xs = lda, ys = lda;
            for (int64_t i = 0; i < lines; i++, next += NAME(LINE)) PREFETCH(next);
            if (left < NAME(QUADS)) {
                if (below) y = NAME(rest)(t, y, upper, left * QUAD_BYTES, room[1], &ys);
                x = NAME(rest)(t, x, upper, left * QUAD_BYTES, room[0], &xs);
            }
            NAME(step)(x, xs, y, ys, b, b + panel, below, right);
            a += NAME(LINE), b += NAME(STEP);
        }
    }
    int32_t *sums = t->sums, *under = sums + down * t->ld;
    STORE(0, sums, ld);
    if (right) STORE(1, sums + QUAD_COLUMNS, ld);
    if (below) STORE(2, under, ld);
    if (below && right) STORE(3, under + QUAD_COLUMNS, ld);
}

static TARGET void NAME(tile)(int rows, int panels, const quad_tile *t) {
    if (rows > NAME(ROWS)) {
        if (panels > 1) NAME(body)(rows, t, true, true);
        else NAME(body)(rows, t, true, false);
    } else {
        if (panels > 1) NAME(body)(rows, t, false, true);
        else NAME(body)(rows, t, false, false);
    }
}
