/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd_tile.h - the transforms of winograd.h as text, for one set of vectors; a
 * vector holds channels.
 *
 * Included with these defined, and undefined afterwards:
 *     V, LANES                          vector, its elements
 *     NAME(x), TARGET                   names of what is defined here; function attribute that permits the instructions
 *     VLOAD(p) VSTORE(p, v) VLOAD_PART(p, n) VSTORE_PART(p, v, n)     zeros after the first n
 *     SET1(x) ADD(a, b) SUB(a, b) FMA(a, b, c) FNMA(a, b, c) MUL(a, b) MAX(a, b) MIN(a, b) ZERO()     FNMA: c - a * b; b where either is nan
 *     KERNELS, KERNELS_HEAD             the record that is defined, its first members
 */

#define ROOT 1.41421356237309504880f

/* v = B' d: evaluation at 0, +-1/sqrt 2, +-sqrt 2 and infinity, transposed. The pairs share their
 * even and odd halves. */
static inline __attribute__((always_inline)) TARGET void NAME(in_line_4)(const V *d, V *v,
                                                                         int step) {
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

/* The same at 0, +-1 and infinity. */
static inline __attribute__((always_inline)) TARGET void NAME(in_line_2)(const V *d, V *v,
                                                                         int step) {
    V d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    v[0] = SUB(d0, d2), v[1] = ADD(d1, d2), v[2] = SUB(d2, d1), v[3] = SUB(d3, d1);
}

/* in: side of a tile of pixels, of products as well. */
static inline __attribute__((always_inline)) TARGET void NAME(in_vector)(const float *const *pixel,
                                                                         int in, int64_t c,
                                                                         int64_t n, float *to,
                                                                         int64_t apart) {
    V t[6 * 6], d[6], v[6];
    for (int y = 0; y < in; y++) {
        for (int x = 0; x < in; x++)
            d[x] = n < LANES ? VLOAD_PART(pixel[in * y + x] + c, n) : VLOAD(pixel[in * y + x] + c);
        if (in == 6) NAME(in_line_4)(d, t + in * y, 1);
        else NAME(in_line_2)(d, t + in * y, 1);
    }
    for (int x = 0; x < in; x++) {
        if (in == 6) NAME(in_line_4)(t + x, v, in);
        else NAME(in_line_2)(t + x, v, in);
        for (int y = 0; y < in; y++) VSTORE(to + (in * y + x) * apart + c, v[y]);
    }
}

/* o = A' m */
static inline __attribute__((always_inline)) TARGET void NAME(out_line_4)(const V *m, V *o,
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

static inline __attribute__((always_inline)) TARGET void NAME(out_line_2)(const V *m, V *o,
                                                                          int step) {
    V m1 = m[step], m2 = m[2 * step];
    o[0] = ADD(m[0], ADD(m1, m2)), o[1] = ADD(m[3 * step], SUB(m1, m2));
}

/* odd: 0 as long as all results are finite. Of those in a line the first has all products but the
 * last, the last all but the first. */
static inline __attribute__((always_inline)) TARGET V NAME(out_vector)(const float *from,
                                                                       int64_t apart, int in,
                                                                       int64_t c, int64_t n,
                                                                       const winograd_result *r,
                                                                       V odd) {
    const int out = in - 2;
    V t[6 * 4], m[6], o[4], bias = ZERO();
    for (int y = 0; y < in; y++) {
        for (int x = 0; x < in; x++) m[x] = VLOAD(from + (in * y + x) * apart + c);
        if (in == 6) NAME(out_line_4)(m, t + out * y, 1);
        else NAME(out_line_2)(m, t + out * y, 1);
    }
    if (r->bias) bias = n < LANES ? VLOAD_PART(r->bias + c, n) : VLOAD(r->bias + c);
    for (int x = 0; x < r->columns; x++) {
        if (in == 6) NAME(out_line_4)(t + x, o, out);
        else NAME(out_line_2)(t + x, o, out);
        if (x == 0 || x == out - 1) odd = FMA(o[out - 1], ZERO(), FMA(o[0], ZERO(), odd));
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

static inline __attribute__((always_inline)) TARGET void NAME(input)(const float *const *pixel,
                                                                     int in, int64_t n, float *to,
                                                                     int64_t apart) {
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) NAME(in_vector)(pixel, in, c, LANES, to, apart);
    if (c < n) NAME(in_vector)(pixel, in, c, n - c, to, apart);
}

static inline __attribute__((always_inline)) TARGET bool NAME(output)(const float *from,
                                                                      int64_t apart, int in,
                                                                      int64_t n,
                                                                      const winograd_result *r) {
    V odd = ZERO();
    float lanes[LANES], sum = 0;
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) odd = NAME(out_vector)(from, apart, in, c, LANES, r, odd);
    if (c < n) odd = NAME(out_vector)(from, apart, in, c, n - c, r, odd);
    VSTORE(lanes, odd);
    for (int i = 0; i < LANES; i++) sum += lanes[i];
    return sum == 0;
}

static TARGET void NAME(input_4)(const float *const *pixel, int64_t n, float *to, int64_t apart) {
    NAME(input)(pixel, 6, n, to, apart);
}
static TARGET void NAME(input_2)(const float *const *pixel, int64_t n, float *to, int64_t apart) {
    NAME(input)(pixel, 4, n, to, apart);
}
static TARGET bool NAME(output_4)(const float *from, int64_t apart, int64_t n,
                                  const winograd_result *r) {
    return NAME(output)(from, apart, 6, n, r);
}
static TARGET bool NAME(output_2)(const float *from, int64_t apart, int64_t n,
                                  const winograd_result *r) {
    return NAME(output)(from, apart, 4, n, r);
}

KERNELS = {KERNELS_HEAD, LANES, {NAME(input_4), NAME(output_4)}, {NAME(input_2), NAME(output_2)}};

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
