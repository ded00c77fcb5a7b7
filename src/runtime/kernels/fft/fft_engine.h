/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft_engine.h - running plans on lines in memory, for one type of number: fft_engine.c includes it
 * once for float and once for double, with FFT_T, FFT_V and FFT_FN(name) defined.
 *
 * Method. Lines are gathered into two arrays (real parts, imaginary parts) of shape [n][lanes],
 * transformed there, and scattered. A backward transform is a forward one with the two arrays
 * exchanged before and after. Padding, trimming, scaling and conjugation happen while numbers are
 * gathered and scattered.
 */
#include "runtime/kernels/fft/fft_passes.h"

static inline fft_pair FFT_FN(swap)(fft_pair x, bool yes) {
    return yes ? (fft_pair){x.im, x.re} : x;
}

/* ---- split in two factors -------------------------------------------------------------------- */

typedef struct FFT_FN(split_job) {
    const fft_plan *p;
    fft_pair x, tmp;
    atomic_bool failed;
} FFT_FN(split_job);

enum {
    FFT_FN(width) = FFT_LANES_BYTES / (int)sizeof(FFT_T),
    FFT_FN(vector) = (int)(sizeof(FFT_V) / sizeof(FFT_T))
};

/* Columns of [rows][stride] numbers from `from` on into [rows][lanes]; those beyond
 * the last are zero. */
FFT_HOT static void FFT_FN(take_columns)(const FFT_T *from, int64_t rows, int64_t stride,
                                         int64_t count, FFT_T *to, int64_t lanes) {
    if (count == FFT_FN(width)) {
        for (int64_t i = 0; i < rows; i++, from += stride, to += lanes)
            memcpy(to, from, FFT_FN(width) * sizeof(FFT_T));
        return;
    }
    for (int64_t i = 0; i < rows; i++, from += stride, to += lanes)
        for (int64_t b = 0; b < lanes; b++) to[b] = b < count ? from[b] : 0;
}
/* And back. */
FFT_HOT static void FFT_FN(give_columns)(FFT_T *to, int64_t rows, int64_t stride, int64_t count,
                                         const FFT_T *from, int64_t lanes) {
    if (count == FFT_FN(width)) {
        for (int64_t i = 0; i < rows; i++, from += lanes, to += stride)
            memcpy(to, from, FFT_FN(width) * sizeof(FFT_T));
        return;
    }
    for (int64_t i = 0; i < rows; i++, from += lanes, to += stride)
        for (int64_t b = 0; b < count; b++) to[b] = from[b];
}

/* Rows [k, k + count) of [..][lanes] numbers as columns of to [lanes][stride]. */
__attribute__((always_inline)) static inline void FFT_FN(rows_to_columns)(const FFT_T *from,
                                                                          int64_t k, int64_t rows,
                                                                          int64_t lanes,
                                                                          int64_t count, FFT_T *to,
                                                                          int64_t stride) {
    int64_t b = 0;
    for (; rows == FFT_FN(vector) && b + FFT_FN(vector) <= count; b += FFT_FN(vector)) {
        FFT_V v[FFT_FN(vector)];
        for (int i = 0; i < FFT_FN(vector); i++)
            v[i] = *(const FFT_V *)(from + (k + i) * lanes + b);
        FFT_FN(transpose)(v);
        for (int i = 0; i < FFT_FN(vector); i++)
            memcpy(to + (b + i) * stride + k, &v[i], sizeof v[i]);
    }
    for (; b < count; b++)
        for (int64_t i = k; i < k + rows; i++) to[b * stride + i] = from[i * lanes + b];
}

/* [n1][n2]: transforms of the columns, transposed, stored as rows: [n2][n1]. */
FFT_HOT static void FFT_FN(split_turn)(fft_pair y, const FFT_T *c, const FFT_T *s, int64_t n1,
                                       int64_t row, int64_t lanes, int64_t count, FFT_T *re,
                                       FFT_T *im) {
    FFT_T *yr = y.re, *yi = y.im;
    for (int64_t k = 0; k < n1; k += FFT_FN(vector)) {
        int64_t rows = n1 - k < FFT_FN(vector) ? n1 - k : FFT_FN(vector);
        for (int64_t i = k; i < k + rows; i++) {
            FFT_V *vr = (FFT_V *)(yr + i * lanes), *vi = (FFT_V *)(yi + i * lanes);
            for (int64_t b = 0; b < lanes / FFT_FN(vector); b++) {
                FFT_V wr, wi, a = vr[b], d = vi[b];
                memcpy(&wr, c + i * row + b * FFT_FN(vector), sizeof wr);
                memcpy(&wi, s + i * row + b * FFT_FN(vector), sizeof wi);
                vr[b] = a * wr - d * wi;
                vi[b] = a * wi + d * wr;
            }
        }
        FFT_FN(rows_to_columns)(yr, k, rows, lanes, count, re, n1);
        FFT_FN(rows_to_columns)(yi, k, rows, lanes, count, im, n1);
    }
}

static void FFT_FN(split_range)(FFT_FN(split_job) * j, const fft_plan *p, bool second,
                                int64_t begin, int64_t end) {
    int64_t n1 = j->p->a->n, n2 = j->p->b->n, columns = second ? n1 : n2, rows = p->n;
    int64_t row = fft_round_up(n2, FFT_FN(vector));
    size_t area = (size_t)(rows * FFT_FN(width));
    void *base;
    FFT_T *room = fft_room(sizeof(FFT_T) == sizeof(double), 4 * area, &base);
    if (!room) {
        atomic_store(&j->failed, true);
        return;
    }
    fft_pair block = {room, room + area}, other = {room + 2 * area, room + 3 * area};
    fft_pair from = second ? j->tmp : j->x, to = second ? j->x : j->tmp;
    const FFT_T *turns = j->p->table;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        int64_t at = chunk * FFT_FN(width), left = columns - at,
                count = left < FFT_FN(width) ? left : FFT_FN(width);
        int64_t lanes = fft_round_up(count, FFT_FN(vector));
        FFT_FN(take_columns)((FFT_T *)from.re + at, rows, columns, count, block.re, lanes);
        FFT_FN(take_columns)((FFT_T *)from.im + at, rows, columns, count, block.im, lanes);
        fft_pair y = FFT_FN(passes)(p, block, other, lanes);
        if (!second) {
            FFT_FN(split_turn)(y, turns + at, turns + n1 * row + at, n1, row, lanes, count,
                               (FFT_T *)to.re + at * n1, (FFT_T *)to.im + at * n1);
        } else {
            FFT_FN(give_columns)((FFT_T *)to.re + at, n2, n1, count, y.re, lanes);
            FFT_FN(give_columns)((FFT_T *)to.im + at, n2, n1, count, y.im, lanes);
        }
    }
    mem_free(base);
}
static void FFT_FN(split_first)(void *ctx, int64_t begin, int64_t end) {
    FFT_FN(split_job) *j = ctx;
    FFT_FN(split_range)(j, j->p->a, false, begin, end);
}
static void FFT_FN(split_second)(void *ctx, int64_t begin, int64_t end) {
    FFT_FN(split_job) *j = ctx;
    FFT_FN(split_range)(j, j->p->b, true, begin, end);
}

static int64_t FFT_FN(split_grain)(const fft_plan *p) {
    int64_t grain = FFT_GRAIN / (p->n * FFT_FN(width));
    return grain > 1 ? grain : 1;
}

static fft_pair FFT_FN(split)(const fft_plan *p, fft_pair x, fft_pair tmp) {
    FFT_FN(split_job) j = {.p = p, .x = x, .tmp = tmp};
    int64_t n1 = p->a->n, n2 = p->b->n;
    pool_for((n2 + FFT_FN(width) - 1) / FFT_FN(width), FFT_FN(split_grain)(p->a),
             FFT_FN(split_first), &j);
    pool_for((n1 + FFT_FN(width) - 1) / FFT_FN(width), FFT_FN(split_grain)(p->b),
             FFT_FN(split_second), &j);
    return atomic_load(&j.failed) ? (fft_pair){0} : x;
}

/* ---- any length as a convolution ------------------------------------------------------------- */

/* y[k][b] = x[k][b] * w[k] for k < n */
FFT_HOT static void FFT_FN(turn)(fft_pair x, fft_pair y, const FFT_T *c, const FFT_T *s, int64_t n,
                                 int64_t lanes) {
    const FFT_T *xr = x.re, *xi = x.im;
    FFT_T *yr = y.re, *yi = y.im;
    for (int64_t k = 0; lanes == 1 && k < n; k++) {
        FFT_T re = xr[k], im = xi[k];
        yr[k] = re * c[k] - im * s[k];
        yi[k] = re * s[k] + im * c[k];
    }
    for (int64_t k = 0; lanes > 1 && k < n; k++)
        for (int64_t b = k * lanes; b < (k + 1) * lanes; b += FFT_FN(vector)) {
            FFT_V re = *(const FFT_V *)(xr + b), im = *(const FFT_V *)(xi + b);
            *(FFT_V *)(yr + b) = re * c[k] - im * s[k];
            *(FFT_V *)(yi + b) = re * s[k] + im * c[k];
        }
}

static fft_pair FFT_FN(chirp)(const fft_plan *p, fft_pair x, fft_pair tmp, int64_t lanes) {
    int64_t n = p->n, m = p->a->n;
    size_t area = (size_t)(m * lanes), used = (size_t)(n * lanes);
    const FFT_T *chirp = p->table, *filter = chirp + 2 * n;
    void *base;
    FFT_T *room = fft_room(sizeof(FFT_T) == sizeof(double), 4 * area, &base);
    if (!room) return (fft_pair){0};
    fft_pair a = {room, room + area}, b = {room + 2 * area, room + 3 * area};
    FFT_FN(turn)(x, a, chirp, chirp + n, n, lanes);
    memset((FFT_T *)a.re + used, 0, (area - used) * sizeof(FFT_T));
    memset((FFT_T *)a.im + used, 0, (area - used) * sizeof(FFT_T));
    fft_pair y = FFT_FN(exec)(p->a, a, b, lanes), z = y.re == a.re ? b : a;
    if (y.re) {
        FFT_FN(turn)(y, y, filter, filter + m, m, lanes);
        y = FFT_FN(exec)(p->a, FFT_FN(swap)(y, true), FFT_FN(swap)(z, true), lanes);
    }
    if (y.re) FFT_FN(turn)(FFT_FN(swap)(y, true), tmp, chirp, chirp + n, n, lanes);
    mem_free(base);
    return y.re ? tmp : y;
}

fft_pair FFT_FN(exec)(const fft_plan *p, fft_pair x, fft_pair tmp, int64_t lanes) {
    switch (p->how) {
    case FFT_SPLIT: return FFT_FN(split)(p, x, tmp);
    case FFT_CHIRP: return FFT_FN(chirp)(p, x, tmp, lanes);
    default: return FFT_FN(passes)(p, x, tmp, lanes);
    }
}

/* ---- lines in memory ------------------------------------------------------------------------- */

/* Where the lines of a block are: offsets of their first numbers, the step to the next
 * one, both in FFT_T. */
typedef struct FFT_FN(place) {
    FFT_T *data;
    const int64_t *offsets;
    int64_t count, step;
    int64_t imaginary; /* from a real part to its imaginary part */
    bool side_by_side; /* line b is `unit` after line b - 1 */
} FFT_FN(place);

enum { FFT_FN(tile) = FFT_LANES_BYTES / (int)sizeof(FFT_T) };

/* Numbers i < n of the lines into x [n][lanes]: re of nre numbers, im of nim; the rest is zero. */
FFT_HOT static void FFT_FN(gather)(const FFT_FN(place) * at, fft_pair x, int64_t n, int64_t nre,
                                   int64_t nim, int64_t lanes) {
    FFT_T *re = x.re, *im = x.im;
    int64_t both = nre < nim ? nre : nim, step = at->step, far = at->imaginary;
    if (at->count < lanes || nre < n || nim < n) {
        memset(re, 0, (size_t)(n * lanes) * sizeof(FFT_T));
        memset(im, 0, (size_t)(n * lanes) * sizeof(FFT_T));
    }
    if (at->side_by_side && far == 1) {
        const FFT_T *p = at->data + at->offsets[0];
        for (int64_t i = 0; i < both; i++)
            for (int64_t b = 0; b < at->count; b++) {
                re[i * lanes + b] = p[i * step + 2 * b];
                im[i * lanes + b] = p[i * step + 2 * b + 1];
            }
    } else if (at->count == 1 && lanes == 1 && step == 2 && far == 1) {
        const FFT_T *p = at->data + at->offsets[0];
        for (int64_t i = 0; i < both; i++) re[i] = p[2 * i], im[i] = p[2 * i + 1];
    } else {
        for (int64_t tile = 0; tile < both; tile += FFT_FN(tile)) {
            int64_t end = tile + FFT_FN(tile) < both ? tile + FFT_FN(tile) : both, b = 0;
            /* whole squares of vectors: a line's vector holds real and imaginary parts in turn, a
             * row of the block one part of all lines */
            for (; step == 2 && far == 1 && end - tile == FFT_FN(tile) &&
                   b + FFT_FN(vector) <= at->count;
                 b += FFT_FN(vector))
                for (int64_t i = tile; i < end; i += FFT_FN(vector) / 2) {
                    FFT_V v[FFT_FN(vector)];
                    for (int k = 0; k < FFT_FN(vector); k++)
                        memcpy(&v[k], at->data + at->offsets[b + k] + 2 * i, sizeof v[k]);
                    FFT_FN(transpose)(v);
                    for (int k = 0; k < FFT_FN(vector); k += 2) {
                        *(FFT_V *)(re + (i + k / 2) * lanes + b) = v[k];
                        *(FFT_V *)(im + (i + k / 2) * lanes + b) = v[k + 1];
                    }
                }
            for (; b < at->count; b++) {
                const FFT_T *p = at->data + at->offsets[b];
                for (int64_t i = tile; i < end; i++) {
                    re[i * lanes + b] = p[i * step];
                    im[i * lanes + b] = p[i * step + far];
                }
            }
        }
    }
    for (int64_t i = both; i < nre; i++)
        for (int64_t b = 0; b < at->count; b++)
            re[i * lanes + b] = at->data[at->offsets[b] + i * step];
    for (int64_t i = both; i < nim; i++)
        for (int64_t b = 0; b < at->count; b++)
            im[i * lanes + b] = at->data[at->offsets[b] + i * step + far];
}

/* The opposite: numbers [0, n), times scale (imaginary parts: im_scale). */
FFT_HOT static void FFT_FN(scatter)(const FFT_FN(place) * at, fft_pair x, int64_t nre, int64_t nim,
                                    int64_t lanes, FFT_T scale, FFT_T im_scale) {
    const FFT_T *re = x.re, *im = x.im;
    int64_t both = nre < nim ? nre : nim, step = at->step, far = at->imaginary;
    if (at->side_by_side && far == 1) {
        FFT_T *p = at->data + at->offsets[0];
        for (int64_t i = 0; i < both; i++)
            for (int64_t b = 0; b < at->count; b++) {
                p[i * step + 2 * b] = re[i * lanes + b] * scale;
                p[i * step + 2 * b + 1] = im[i * lanes + b] * im_scale;
            }
    } else if (at->count == 1 && lanes == 1 && step == 2 && far == 1) {
        FFT_T *p = at->data + at->offsets[0];
        for (int64_t i = 0; i < both; i++)
            p[2 * i] = re[i] * scale, p[2 * i + 1] = im[i] * im_scale;
    } else {
        for (int64_t tile = 0; tile < both; tile += FFT_FN(tile)) {
            int64_t end = tile + FFT_FN(tile) < both ? tile + FFT_FN(tile) : both, b = 0;
            for (; step == 2 && far == 1 && end - tile == FFT_FN(tile) &&
                   b + FFT_FN(vector) <= at->count;
                 b += FFT_FN(vector))
                for (int64_t i = tile; i < end; i += FFT_FN(vector) / 2) {
                    FFT_V v[FFT_FN(vector)];
                    for (int k = 0; k < FFT_FN(vector); k += 2) {
                        v[k] = *(const FFT_V *)(re + (i + k / 2) * lanes + b) * scale;
                        v[k + 1] = *(const FFT_V *)(im + (i + k / 2) * lanes + b) * im_scale;
                    }
                    FFT_FN(transpose)(v);
                    for (int k = 0; k < FFT_FN(vector); k++)
                        memcpy(at->data + at->offsets[b + k] + 2 * i, &v[k], sizeof v[k]);
                }
            for (; b < at->count; b++) {
                FFT_T *p = at->data + at->offsets[b];
                for (int64_t i = tile; i < end; i++) {
                    p[i * step] = re[i * lanes + b] * scale;
                    p[i * step + far] = im[i * lanes + b] * im_scale;
                }
            }
        }
    }
    for (int64_t i = both; i < nre; i++)
        for (int64_t b = 0; b < at->count; b++)
            at->data[at->offsets[b] + i * step] = re[i * lanes + b] * scale;
}

/* ---- real numbers ---------------------------------------------------------------------------- */

/*
 * In place, from k = 0 and h upwards and downwards, with W = exp(-2 pi i / n), n = 2 h:
 *
 *     forward:  e = (z[k] + conj z[h - k]) / 2, v = -i W^k (z[k] - conj z[h - k]) / 2
 *     inverse:  e = x[k] + conj x[h - k],       v = i W^-k (x[k] - conj x[h - k])
 *     both:     result k is e + v, result h - k is conj (e - v)
 *
 * where z are the even numbers plus i times the odd ones, z[h] = z[0]; x is their transform.
 */
#define FFT_UNTANGLE(c, s)                                                                         \
    er = (xr + yr) * half, ei = (xi - yi) * half, dr = xr - yr, di = xi + yi,                      \
    vr = dr * (c) - di * (s), vi = dr * (s) + di * (c)

/* The same for one line: a vector of numbers upwards with the one downwards that belongs to it.
 * Returns the first k that is left. */
FFT_HOT static int64_t FFT_FN(untangle_line)(FFT_T *re, FFT_T *im, const FFT_T *w, int64_t h,
                                             FFT_T half, FFT_T sign) {
    enum { N = FFT_FN(vector) };
    int64_t k = 0;
    for (; 2 * (k + N) <= h; k += N) {
        FFT_V xr, xi, yr, yi, c, s, er, ei, dr, di, vr, vi;
        FFT_T *downr = re + h - k - N + 1, *downi = im + h - k - N + 1;
        memcpy(&xr, re + k, sizeof xr), memcpy(&xi, im + k, sizeof xi),
            memcpy(&yr, downr, sizeof yr), memcpy(&yi, downi, sizeof yi);
        memcpy(&c, w + h + 1 + k, sizeof c), memcpy(&s, w + k, sizeof s);
        yr = FFT_REVERSE(yr), yi = FFT_REVERSE(yi), c = c * half, s = s * sign * half;
        FFT_UNTANGLE(c, s);
        xr = er + vr, xi = ei + vi, yr = er - vr, yi = vi - ei;
        yr = FFT_REVERSE(yr), yi = FFT_REVERSE(yi);
        memcpy(re + k, &xr, sizeof xr), memcpy(im + k, &xi, sizeof xi),
            memcpy(downr, &yr, sizeof yr), memcpy(downi, &yi, sizeof yi);
    }
    return k;
}

/* w: the roots' real parts, then their imaginary ones. */
FFT_HOT static void FFT_FN(untangle)(fft_pair x, const FFT_T *w, int64_t h, int64_t lanes,
                                     bool forward) {
    FFT_T *re = x.re, *im = x.im, half = forward ? (FFT_T)0.5 : (FFT_T)1, sign = forward ? -1 : 1;
    for (int64_t k = lanes == 1 ? FFT_FN(untangle_line)(re, im, w, h, half, sign) : 0; 2 * k <= h;
         k++) {
        FFT_T c = w[h + 1 + k] * half, s = w[k] * sign * half; /* -i W^k / 2, or i W^-k */
        for (int64_t b = 0; lanes > 1 && b < lanes; b += FFT_FN(vector)) {
            FFT_V *ir = (FFT_V *)(re + k * lanes + b), *ii = (FFT_V *)(im + k * lanes + b);
            FFT_V *or = (FFT_V *)(re + (h - k) * lanes + b),
                  *oi = (FFT_V *)(im + (h - k) * lanes + b);
            FFT_V xr = *ir, xi = *ii, yr = *or, yi = *oi, er, ei, dr, di, vr, vi;
            FFT_UNTANGLE(c, s);
            *ir = er + vr, *ii = ei + vi;
            *or = er - vr, *oi = vi - ei;
        }
        if (lanes == 1) {
            FFT_T xr = re[k], xi = im[k], yr = re[h - k], yi = im[h - k], er, ei, dr, di, vr, vi;
            FFT_UNTANGLE(c, s);
            re[k] = er + vr, im[k] = ei + vi;
            re[h - k] = er - vr, im[h - k] = vi - ei;
        }
    }
}
#undef FFT_UNTANGLE

/* The numbers beyond the middle of n from those before it. */
static void FFT_FN(mirror)(fft_pair x, int64_t n, int64_t lanes) {
    FFT_T *re = x.re, *im = x.im;
    for (int64_t k = 1; 2 * k < n; k++)
        for (int64_t b = 0; b < lanes; b++) {
            re[(n - k) * lanes + b] = re[k * lanes + b];
            im[(n - k) * lanes + b] = -im[k * lanes + b];
        }
}

static bool FFT_FN(real_forward)(const fft_job *j, const fft_plan *p, const FFT_FN(place) * in,
                                 const FFT_FN(place) * out, fft_pair x, fft_pair tmp,
                                 int64_t lanes) {
    int64_t n = j->n, h = n / 2, len = j->in_len < n ? j->in_len : n;
    FFT_FN(place) from = *in, to = *out;
    FFT_T sign = j->backward ? -1 : 1, scale = (FFT_T)j->scale;
    fft_pair y;
    if (p->how == FFT_HALF) {
        from.imaginary = in->step;
        from.step = 2 * in->step;
        from.side_by_side = false;
        FFT_FN(gather)(&from, x, h, (len + 1) / 2, len / 2, lanes);
        y = FFT_FN(exec)(p->a, x, tmp, lanes);
        if (!y.re) return false;
        memcpy((FFT_T *)y.re + h * lanes, y.re, (size_t)lanes * sizeof(FFT_T));
        memcpy((FFT_T *)y.im + h * lanes, y.im, (size_t)lanes * sizeof(FFT_T));
        FFT_FN(untangle)(y, p->table, h, lanes, true);
    } else {
        from.side_by_side = false;
        FFT_FN(gather)(&from, x, n, len, 0, lanes);
        y = FFT_FN(exec)(p->a, x, tmp, lanes);
        if (!y.re) return false;
    }
    /* real whatever the numbers; the sign of zero decides an angle of pi or -pi */
    memset(y.im, 0, (size_t)lanes * sizeof(FFT_T));
    if (n % 2 == 0) memset((FFT_T *)y.im + h * lanes, 0, (size_t)lanes * sizeof(FFT_T));
    int64_t part = j->out_len < h + 1 ? j->out_len : h + 1;
    FFT_FN(scatter)(&to, y, part, part, lanes, scale, sign * scale);
    if (j->out_len > h + 1) { /* both sides: result n - k is the conjugate of result k */
        fft_pair rest = {(FFT_T *)y.re + lanes, (FFT_T *)y.im + lanes};
        to.data += (n - 1) * to.step;
        to.step = -to.step;
        FFT_FN(scatter)(&to, rest, (n - 1) / 2, (n - 1) / 2, lanes, scale, -sign * scale);
    }
    return true;
}

static bool FFT_FN(real_inverse)(const fft_job *j, const fft_plan *p, const FFT_FN(place) * in,
                                 const FFT_FN(place) * out, fft_pair x, fft_pair tmp,
                                 int64_t lanes) {
    int64_t n = j->n, h = n / 2, len = j->in_len < h + 1 ? j->in_len : h + 1;
    FFT_FN(place) to = *out;
    FFT_T scale = (FFT_T)j->scale;
    FFT_FN(place) from = *in;
    if (j->in_real) from.side_by_side = false;
    FFT_FN(gather)(&from, x, h + 1, len, j->in_real ? 0 : len, lanes);
    if (j->backward) /* of the conjugates */
        for (int64_t i = 0; i < (h + 1) * lanes; i++) ((FFT_T *)x.im)[i] = -((FFT_T *)x.im)[i];
    /* the transform of real numbers is real there; what was given instead does not count */
    memset(x.im, 0, (size_t)lanes * sizeof(FFT_T));
    if (n % 2 == 0) memset((FFT_T *)x.im + h * lanes, 0, (size_t)lanes * sizeof(FFT_T));
    if (p->how == FFT_HALF) FFT_FN(untangle)(x, p->table, h, lanes, false);
    else FFT_FN(mirror)(x, n, lanes);
    fft_pair y = FFT_FN(exec)(p->a, FFT_FN(swap)(x, true), FFT_FN(swap)(tmp, true), lanes);
    if (!y.re) return false;
    y = FFT_FN(swap)(y, true);
    to.side_by_side = false;
    if (p->how == FFT_HALF) {
        to.imaginary = to.step;
        to.step *= 2;
        FFT_FN(scatter)(&to, y, h, h, lanes, scale, scale);
    } else {
        FFT_FN(scatter)(&to, y, n, 0, lanes, scale, scale);
    }
    return true;
}

static bool FFT_FN(complex_lines)(const fft_job *j, const fft_plan *p, const FFT_FN(place) * in,
                                  const FFT_FN(place) * out, fft_pair x, fft_pair tmp,
                                  int64_t lanes) {
    int64_t len = j->in_len < j->n ? j->in_len : j->n;
    FFT_FN(place) from = *in;
    if (j->in_real) from.side_by_side = false;
    FFT_FN(gather)(&from, x, j->n, len, j->in_real ? 0 : len, lanes);
    fft_pair y = FFT_FN(exec)(p, FFT_FN(swap)(x, j->backward), FFT_FN(swap)(tmp, j->backward),
                              lanes);
    if (!y.re) return false;
    FFT_FN(scatter)(out, FFT_FN(swap)(y, j->backward), j->out_len, j->out_len, lanes,
                    (FFT_T)j->scale, (FFT_T)j->scale);
    return true;
}

/* Offsets, in FFT_T, of lines [first, first + count). True if they are side by side. */
static bool FFT_FN(offsets)(const fft_job *j, const int64_t *strides, int64_t first, int64_t count,
                            int64_t unit, int64_t *offsets) {
    bool side_by_side = count > 1;
    for (int64_t b = 0; b < count; b++) {
        int64_t rest = first + b, at = 0;
        for (int i = j->ndim - 1; i >= 0; i--) {
            at += rest % j->sizes[i] * strides[i];
            rest /= j->sizes[i];
        }
        offsets[b] = at * unit;
        side_by_side &= offsets[b] == offsets[0] + b * unit;
    }
    return side_by_side;
}

bool FFT_FN(lines)(const fft_job *j, const fft_plan *p, int64_t begin, int64_t end) {
    int64_t width = p->line ? 1 : FFT_FN(width), in_offsets[FFT_FN(width)],
            out_offsets[FFT_FN(width)];
    int64_t in_unit = j->kind == FFT_R2C || j->in_real ? 1 : 2,
            out_unit = j->kind == FFT_C2R ? 1 : 2;
    size_t area = (size_t)fft_round_up((j->n + 1) * width, FFT_FN(vector));
    FFT_FN(place) in = {(FFT_T *)j->in, in_offsets, 0, j->in_stride * in_unit, in_unit - 1, false};
    FFT_FN(place) out = {j->out, out_offsets, 0, j->out_stride * out_unit, out_unit - 1, false};
    void *base;
    FFT_T *room = fft_room(sizeof(FFT_T) == sizeof(double), 4 * area, &base);
    bool ok = room != NULL;
    fft_pair x = {room, room + area}, tmp = {room + 2 * area, room + 3 * area};
    for (int64_t at = begin; ok && at < end; at += width) {
        int64_t count = end - at < width ? end - at : width,
                lanes = p->line ? 1 : fft_round_up(count, FFT_FN(vector));
        in.count = out.count = count;
        in.side_by_side = FFT_FN(offsets)(j, j->in_strides, at, count, in_unit, in_offsets);
        out.side_by_side = FFT_FN(offsets)(j, j->out_strides, at, count, out_unit, out_offsets);
        ok = (j->kind == FFT_C2C   ? FFT_FN(complex_lines)
              : j->kind == FFT_R2C ? FFT_FN(real_forward)
                                   : FFT_FN(real_inverse))(j, p, &in, &out, x, tmp, lanes);
    }
    mem_free(base);
    return ok;
}
