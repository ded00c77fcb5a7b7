/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_winograd_tile.h - the transforms of conv_winograd.c as text, for one set of vectors; a
 * vector holds channels.
 *
 * Included with these defined, and undefined afterwards:
 *     V, LANES                          vector, its elements
 *     NAME(x), TARGET                   names of what is defined here; function attribute that permits the instructions
 *     VLOAD(p) VSTORE(p, v) VLOAD_PART(p, n) VSTORE_PART(p, v, n)     zeros behind the first n
 *     SET1(x) ADD(a, b) SUB(a, b) FMA(a, b, c) FNMA(a, b, c) MUL(a, b) MAX(a, b) MIN(a, b) ZERO()     FNMA: c - a * b; b where either is nan
 *     KERNELS, KERNELS_HEAD             the table that is defined, its first members
 */

#define ROOT 1.41421356237309504880f

/* v = B' d: evaluation at 0, +-1/sqrt 2, +-sqrt 2 and infinity, transposed. The pairs share their
 * even and odd halves. */
static inline __attribute__((always_inline)) TARGET void NAME(in_line)(const V *d, V *v, int step) {
    const V two_half = SET1(2.5f), two = SET1(2), half = SET1(0.5f), root = SET1(ROOT),
            root_half = SET1(ROOT / 2);
    V d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step],
      d5 = d[5 * step];
    V even = FNMA(two, d2, d4), odd = MUL(root_half, FNMA(two, d1, d3));
    v[0] = FNMA(two_half, d2, ADD(d0, d4));
    v[1] = ADD(even, odd), v[2] = SUB(even, odd);
    even = FNMA(half, d2, d4), odd = MUL(root, FNMA(half, d1, d3));
    v[3] = ADD(even, odd), v[4] = SUB(even, odd);
    v[5] = FNMA(two_half, d3, ADD(d1, d5));
}

static inline __attribute__((always_inline)) TARGET void NAME(in_vector)(const float *const *pixel,
                                                                         int64_t c, int64_t n,
                                                                         float *to, int64_t apart) {
    V t[6][6], d[6], v[6];
    for (int y = 0; y < 6; y++) {
        for (int x = 0; x < 6; x++)
            d[x] = n < LANES ? VLOAD_PART(pixel[6 * y + x] + c, n) : VLOAD(pixel[6 * y + x] + c);
        NAME(in_line)(d, t[y], 1);
    }
    for (int x = 0; x < 6; x++) {
        NAME(in_line)(&t[0][x], v, 6);
        for (int y = 0; y < 6; y++) VSTORE(to + (6 * y + x) * apart + c, v[y]);
    }
}

static TARGET void NAME(input)(const float *const *pixel, int64_t n, float *to, int64_t apart) {
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) NAME(in_vector)(pixel, c, LANES, to, apart);
    if (c < n) NAME(in_vector)(pixel, c, n - c, to, apart);
}

/* o = A' m */
static inline __attribute__((always_inline)) TARGET void NAME(out_line)(const V *m, V *o,
                                                                        int step) {
    const V two = SET1(2), half = SET1(0.5f), root = SET1(ROOT), root_half = SET1(ROOT / 2),
            root_quarter = SET1(ROOT / 4), root_two = SET1(2 * ROOT);
    V m1 = m[step], m2 = m[2 * step], m3 = m[3 * step], m4 = m[4 * step];
    V s1 = ADD(m1, m2), d1 = SUB(m1, m2), s2 = ADD(m3, m4), d2 = SUB(m3, m4);
    o[0] = ADD(m[0], ADD(s1, s2));
    o[1] = FMA(root_half, d1, MUL(root, d2));
    o[2] = FMA(half, s1, MUL(two, s2));
    o[3] = ADD(m[5 * step], FMA(root_quarter, d1, MUL(root_two, d2)));
}

/* odd: 0 as long as all results are finite. Of a tile's four in a line the first has all products
 * but the last, the last all but the first. */
static inline __attribute__((always_inline)) TARGET V NAME(out_vector)(
    const float *from, int64_t apart, int64_t c, int64_t n, const winograd_result *r, V odd) {
    V t[6][4], m[6], o[4], bias = ZERO();
    for (int y = 0; y < 6; y++) {
        for (int x = 0; x < 6; x++) m[x] = VLOAD(from + (6 * y + x) * apart + c);
        NAME(out_line)(m, t[y], 1);
    }
    if (r->bias) bias = n < LANES ? VLOAD_PART(r->bias + c, n) : VLOAD(r->bias + c);
    for (int x = 0; x < r->columns; x++) {
        NAME(out_line)(&t[0][x], o, 4);
        if (x % 3 == 0) odd = FMA(o[3], ZERO(), FMA(o[0], ZERO(), odd));
        for (int y = 0; y < r->rows; y++) {
            int64_t at = y * r->row + x * r->column + c;
            V v = ADD(o[y], bias);
            if (r->other)
                v = ADD(v, n < LANES ? VLOAD_PART(r->other + at, n) : VLOAD(r->other + at));
            if (r->clamp) v = MIN(SET1(r->high), MAX(SET1(r->low), v));
            if (n < LANES) VSTORE_PART(r->out + at, v, n);
            else VSTORE(r->out + at, v);
        }
    }
    return odd;
}

static TARGET bool NAME(output)(const float *from, int64_t apart, int64_t n,
                                const winograd_result *r) {
    V odd = ZERO();
    float lanes[LANES], sum = 0;
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) odd = NAME(out_vector)(from, apart, c, LANES, r, odd);
    if (c < n) odd = NAME(out_vector)(from, apart, c, n - c, r, odd);
    VSTORE(lanes, odd);
    for (int i = 0; i < LANES; i++) sum += lanes[i];
    return sum == 0;
}

KERNELS = {KERNELS_HEAD, LANES, NAME(input), NAME(output)};

#undef ROOT
#undef V
#undef LANES
#undef NAME
#undef TARGET
#undef VLOAD
#undef VSTORE
#undef VLOAD_PART
#undef VSTORE_PART
#undef SET1
#undef ADD
#undef SUB
#undef FMA
#undef FNMA
#undef MUL
#undef MAX
#undef MIN
#undef ZERO
#undef KERNELS
#undef KERNELS_HEAD
