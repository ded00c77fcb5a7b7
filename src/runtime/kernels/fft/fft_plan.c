/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft_plan.c - plans of Fourier transforms of n numbers, and their roots of unity.
 *
 * Method. The packaged FFT libraries with a permissive licence have no double precision (KISS
 * FFT as Debian builds it), take p^2 steps for a prime p, and are two to three times slower
 * than the one in PyTorch, so the transform is ours. Radix 4, 2, 3, 5 and odd primes up to
 * FFT_MAX_RADIX, Bluestein's algorithm for lengths with a larger prime factor, a split into
 * two factors where the numbers would not fit the cache or one line must fill the vectors.
 *
 * Roots come from sin and cos of an angle reduced to an octant; tables of many roots are products
 * of two short tables, in double precision, so that making a plan costs a fraction of running it.
 * Tests: tests/unit/test_fft.c
 */
#include "runtime/kernels/fft/fft.h"

#include "runtime/context/workspace.h"

#include <math.h>
#include <string.h>

#define FFT_PI 3.14159265358979323846264338327950288

/* ---- roots of unity -------------------------------------------------------------------------- */

/* exp(-2 pi i k / n) for 0 <= k < n. */
static void plan_root(int64_t k, int64_t n, double *re, double *im) {
    /* the angle is octant * pi/4 + rest, in units of 2 pi / (8 n) */
    int64_t octant = (int64_t)(8 * (__int128)k / n),
            rest = (int64_t)(8 * (__int128)k - (__int128)octant * n);
    bool odd = octant & 1;
    double x = FFT_PI / 4 * (double)(odd ? n - rest : rest) / (double)n, c = cos(x), s = sin(x),
           swap;
    /* an odd octant is the next quarter turn minus x, an even one its quarter turn plus x */
    int64_t quarter = (octant + odd) / 2 & 3;
    if (odd) s = -s;
    for (; quarter; quarter--) swap = c, c = -s, s = swap;
    *re = c;
    *im = -s;
}

/* Roots of order n by index: root(k) = high[k >> shift] * low[k & mask]. */
typedef struct plan_roots {
    int64_t n, mask;
    int shift;
    double *high, *low; /* re, im */
} plan_roots;

static void plan_roots_free(plan_roots *r) { mem_free(r->high); }

static bool plan_roots_init(plan_roots *r, int64_t n) {
    r->n = n;
    r->shift = 0;
    while ((int64_t)1 << 2 * r->shift < n) r->shift++;
    r->mask = ((int64_t)1 << r->shift) - 1;
    int64_t highs = (n >> r->shift) + 1, lows = r->mask + 1;
    r->high = mem_alloc((size_t)(highs + lows) * 2 * sizeof(double));
    if (!r->high) return false;
    r->low = r->high + 2 * highs;
    for (int64_t i = 0; i < highs && i << r->shift < n; i++)
        plan_root(i << r->shift, n, &r->high[2 * i], &r->high[2 * i + 1]);
    for (int64_t i = 0; i < lows; i++) plan_root(i % n, n, &r->low[2 * i], &r->low[2 * i + 1]);
    return true;
}

static inline void plan_roots_get(const plan_roots *r, int64_t k, double *re, double *im) {
    const double *h = r->high + 2 * (k >> r->shift), *l = r->low + 2 * (k & r->mask);
    *re = h[0] * l[0] - h[1] * l[1];
    *im = h[0] * l[1] + h[1] * l[0];
}

static inline void plan_put(const fft_plan *p, int64_t i, double v) {
    if (p->wide) ((double *)p->table)[i] = v;
    else ((float *)p->table)[i] = (float)v;
}

static bool plan_table(fft_plan *p, int64_t count) {
    p->table = mem_alloc((size_t)(count ? count : 1) * (p->wide ? sizeof(double) : sizeof(float)));
    return p->table != NULL;
}

/* ---- the kinds of plans ---------------------------------------------------------------------- */

/* Radices of n in *p, with the largest first: late passes have long runs, which suits cheap ones.
 * False if n has a large prime. */
static bool plan_factor(fft_plan *p, int64_t n) {
    int count = 0, small[FFT_MAX_PASSES], nsmall = 0;
    while (n % 4 == 0) small[nsmall++] = 4, n /= 4;
    if (n % 2 == 0) small[nsmall++] = 2, n /= 2;
    for (int r = 3; r <= FFT_MAX_RADIX && n > 1; r += 2)
        while (n % r == 0) small[nsmall++] = r, n /= r;
    while (nsmall) p->radix[count++] = small[--nsmall];
    p->npasses = count;
    return n == 1;
}

/* A pass of radix r over m groups takes the turns root(r * m, p * j), p < m, 0 < j < r. */
static bool plan_lanes(fft_plan *p) {
    plan_roots roots;
    int64_t count = 0, at = 0, m = p->n;
    for (int i = 0; i < p->npasses; i++) {
        m /= p->radix[i];
        count += 2 * m * (p->radix[i] - 1) + (p->radix[i] > 5 ? 2 * p->radix[i] : 0);
    }
    p->how = FFT_LANES;
    if (!plan_table(p, count) || !plan_roots_init(&roots, p->n)) return false;
    m = p->n;
    for (int i = 0; i < p->npasses; i++) {
        int64_t step = p->n / m, r = p->radix[i];
        m /= r;
        for (int64_t q = 0; q < m; q++)
            for (int64_t j = 1; j < r; j++, at += 2) {
                double re, im;
                plan_roots_get(&roots, q * j * step, &re, &im);
                plan_put(p, at, re);
                plan_put(p, at + 1, im);
            }
    }
    for (int i = 0; i < p->npasses; i++)
        for (int k = 0; p->radix[i] > 5 && k < p->radix[i]; k++, at += 2) {
            double re, im;
            plan_root(k, p->radix[i], &re, &im);
            plan_put(p, at, re);
            plan_put(p, at + 1, -im);
        }
    plan_roots_free(&roots);
    return true;
}

static fft_plan *plan_complex(int64_t n, bool wide, int64_t lines);

/* The factor of n (of its radices) that is nearest to its root from below. */
static int64_t plan_middle(const fft_plan *p) {
    int64_t best = 1;
    for (int64_t f = 1; f * f <= p->n; f++)
        if (p->n % f == 0) best = f;
    return best;
}

static bool plan_split(fft_plan *p, int64_t n1) {
    plan_roots roots;
    int64_t n2 = p->n / n1, row = fft_round_up(n2, fft_vector_of(p->wide));
    p->how = FFT_SPLIT;
    p->line = true;
    p->a = plan_complex(n1, p->wide, INT64_MAX);
    p->b = plan_complex(n2, p->wide, INT64_MAX);
    if (!p->a || !p->b || !plan_table(p, 2 * n1 * row) || !plan_roots_init(&roots, p->n))
        return false;
    for (int64_t k = 0; k < n1; k++)
        for (int64_t j = 0; j < row; j++) {
            double re = 1, im = 0;
            if (j < n2) plan_roots_get(&roots, k * j, &re, &im);
            plan_put(p, k * row + j, re);
            plan_put(p, (n1 + k) * row + j, im);
        }
    plan_roots_free(&roots);
    return true;
}

/* The least m >= n of few small factors. */
static int64_t plan_smooth(int64_t n) {
    static const int odd[] = {1, 3, 5, 9, 15};
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        int64_t m = odd[i];
        while (m < n) m *= 2;
        if (m < best) best = m;
    }
    return best;
}

/* The filter of the convolution: conjugates of the chirp, wrapped around,
 * transformed; 1/m is put in. */
static bool plan_filter(fft_plan *p) {
    int64_t n = p->n, m = p->a->n, lanes = p->line ? 1 : fft_vector_of(p->wide), i;
    size_t item = p->wide ? sizeof(double) : sizeof(float), area = (size_t)(m * lanes);
    void *base;
    char *room = fft_room(p->wide, 4 * area, &base);
    if (!room) return false;
    memset(room, 0, 4 * area * item);
    fft_pair x = {room, room + area * item}, tmp = {room + 2 * area * item, room + 3 * area * item};
    for (int64_t k = 0; k < n; k++)
        for (int side = 0; side < (k ? 2 : 1); side++) {
            size_t at = (size_t)((side ? m - k : k) * lanes);
            if (p->wide) {
                ((double *)x.re)[at] = ((double *)p->table)[k] / (double)m;
                ((double *)x.im)[at] = -((double *)p->table)[n + k] / (double)m;
            } else {
                ((float *)x.re)[at] = ((float *)p->table)[k] / (float)m;
                ((float *)x.im)[at] = -((float *)p->table)[n + k] / (float)m;
            }
        }
    fft_pair y = p->wide ? fft_exec_double(p->a, x, tmp, lanes)
                         : fft_exec_float(p->a, x, tmp, lanes);
    for (i = 0; y.re && i < m; i++) {
        const char *re = (const char *)y.re + (size_t)(i * lanes) * item,
                   *im = (const char *)y.im + (size_t)(i * lanes) * item;
        memcpy((char *)p->table + (size_t)(2 * n + i) * item, re, item);
        memcpy((char *)p->table + (size_t)(2 * n + m + i) * item, im, item);
    }
    mem_free(base);
    return y.re != NULL;
}

static bool plan_chirp(fft_plan *p, int64_t lines) {
    int64_t n = p->n;
    p->how = FFT_CHIRP;
    p->a = plan_complex(plan_smooth(2 * n - 1), p->wide, lines);
    if (!p->a || !plan_table(p, 2 * (n + p->a->n))) return false;
    p->line = p->a->line;
    for (int64_t k = 0, square = 0; k < n; k++) { /* k * k modulo 2 n */
        double re, im;
        plan_root(square, 2 * n, &re, &im);
        plan_put(p, k, re);
        plan_put(p, n + k, im);
        square = (square + 2 * k + 1) % (2 * n);
    }
    return plan_filter(p);
}

static fft_plan *plan_complex(int64_t n, bool wide, int64_t lines) {
    fft_plan *p = mem_zalloc(sizeof *p);
    if (!p) return NULL;
    p->n = n;
    p->wide = wide;
    bool smooth = plan_factor(p, n), few = lines < fft_vector_of(wide) && n >= 32;
    int64_t n1 = smooth && lines != INT64_MAX && (few || n > FFT_LANES_MAX) ? plan_middle(p) : 1;
    bool done = !smooth ? plan_chirp(p, lines) : n1 > 1 ? plan_split(p, n1) : plan_lanes(p);
    if (done) return p;
    fft_plan_free(p);
    return NULL;
}

fft_plan *fft_plan_new(int64_t n, bool wide, bool real, int64_t lines) {
    if (!real) return plan_complex(n, wide, lines);
    plan_roots roots;
    fft_plan *p = mem_zalloc(sizeof *p);
    if (!p) return NULL;
    p->n = n;
    p->wide = wide;
    p->how = n % 2 ? FFT_WHOLE : FFT_HALF;
    p->a = plan_complex(n % 2 ? n : n / 2, wide, lines);
    bool done = p->a != NULL;
    if (done) p->line = p->a->line;
    if (done && p->how == FFT_HALF && (done = plan_table(p, n + 2) && plan_roots_init(&roots, n))) {
        for (int64_t k = 0; k <= n / 2; k++) {
            double re, im;
            plan_roots_get(&roots, k, &re, &im);
            plan_put(p, k, re);
            plan_put(p, n / 2 + 1 + k, im);
        }
        plan_roots_free(&roots);
    }
    if (done) return p;
    fft_plan_free(p);
    return NULL;
}

void fft_plan_free(fft_plan *p) {
    if (!p) return;
    fft_plan_free(p->a);
    fft_plan_free(p->b);
    mem_free(p->table);
    mem_free(p);
}

/* ---- plans kept from call to call ------------------------------------------------------------ */

static void fft_cache_free(fft_cache *c) {
    for (int i = 0; c && i < FFT_CACHE_PLANS; i++) fft_plan_free(c->rows[i].plan);
    mem_free(c);
}

fft_plan *fft_plan_get(op_ctx *cx, int64_t n, bool wide, bool real, int64_t lines, bool *kept) {
    workspace *ws = cx->rt ? cx->rt->ws : NULL;
    bool few = lines < fft_vector_of(wide);
    *kept = false;
    if (ws && !ws->fft && n <= FFT_CACHE_LENGTH) {
        ws->fft = mem_zalloc(sizeof *ws->fft);
        ws->fft_free = fft_cache_free;
    }
    if (!ws || !ws->fft || n > FFT_CACHE_LENGTH) return fft_plan_new(n, wide, real, lines);
    fft_cache *c = ws->fft;
    int at = 0;
    while (at < FFT_CACHE_PLANS - 1 && c->rows[at].plan &&
           !(c->rows[at].plan->n == n && c->rows[at].plan->wide == wide &&
             c->rows[at].real == real && c->rows[at].few == few))
        at++;
    fft_plan *p = c->rows[at].plan;
    if (!p || p->n != n || p->wide != wide || c->rows[at].real != real || c->rows[at].few != few) {
        fft_plan *fresh = fft_plan_new(n, wide, real, lines);
        if (!fresh) return NULL;
        fft_plan_free(p);
        p = fresh;
    }
    memmove(&c->rows[1], &c->rows[0], (size_t)at * sizeof c->rows[0]);
    c->rows[0].plan = p;
    c->rows[0].real = real;
    c->rows[0].few = few;
    *kept = true;
    return p;
}

void *fft_room(bool wide, size_t count, void **base) {
    size_t bytes;
    if (!size_mul(count, wide ? sizeof(double) : sizeof(float), &bytes) ||
        !size_add(bytes, TENSOR_ALIGNMENT, &bytes))
        return NULL;
    *base = mem_alloc(bytes);
    return *base ? (char *)*base + (-(uintptr_t)*base & (TENSOR_ALIGNMENT - 1)) : NULL;
}
