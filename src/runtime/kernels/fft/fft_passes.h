/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft_passes.h - the passes of a Fourier transform over lanes, for one type of number. fft_engine.h
 * includes it with FFT_T (the number), FFT_V (a vector of them) and FFT_FN(name) defined.
 *
 * A pass of radix r reads groups x[(p + i m) s + q], i < r, and writes y[(r p + j) s + q]; its
 * result j is rotated by root(r m, p j). m: groups; s: vectors in a run (lanes times what earlier
 * passes have done). After all passes the numbers are in order (T. G. Stockham, 1966).
 */

/* Runs the statements once per vector, for the groups without a twiddle factor
 * (p == 0) and for the others: TURN(j, re, im) stores result j. xr, xi: the
 * group's first vectors, at stride `far`; yr, yi: the results', at stride s. */
#define FFT_PASS(r, ...)                                                                           \
    const FFT_V *xr = x.re, *xi = x.im;                                                            \
    FFT_V *yr = y.re, *yi = y.im;                                                                  \
    const int64_t far = m * s;                                                                     \
    for (int64_t q = 0; q < s; q++, xr++, xi++, yr++, yi++) {                                      \
        __VA_ARGS__(FFT_STORE)                                                                     \
    }                                                                                              \
    yr += ((r) - 1) * s, yi += ((r) - 1) * s;                                                      \
    w += 2 * ((r) - 1);                                                                            \
    for (int64_t p = 1; p < m; p++, yr += ((r) - 1) * s, yi += ((r) - 1) * s, w += 2 * ((r) - 1))  \
        for (int64_t q = 0; q < s; q++, xr++, xi++, yr++, yi++) {                                  \
            __VA_ARGS__(FFT_TURN)                                                                  \
        }
#define FFT_STORE(j, re, im) yr[(j) * s] = (re), yi[(j) * s] = (im)
#define FFT_TURN(j, re, im)                                                                        \
    do {                                                                                           \
        FFT_V re_ = (re), im_ = (im);                                                              \
        FFT_T c_ = w[2 * (j) - 2], s_ = w[2 * (j) - 1];                                            \
        yr[(j) * s] = re_ * c_ - im_ * s_;                                                         \
        yi[(j) * s] = re_ * s_ + im_ * c_;                                                         \
    } while (0)

#define FFT_TWO(PUT)                                                                               \
    FFT_V ar = xr[0], ai = xi[0], br = xr[far], bi = xi[far];                                      \
    FFT_STORE(0, ar + br, ai + bi);                                                                \
    PUT(1, ar - br, ai - bi);
FFT_HOT static void FFT_FN(pass2)(fft_pair x, fft_pair y, int64_t m, int64_t s,
                                  const FFT_T *w){FFT_PASS(2, FFT_TWO)}

#define FFT_THREE(PUT)                                                                             \
    FFT_V ar = xr[0], ai = xi[0], br = xr[far], bi = xi[far], cr = xr[2 * far], ci = xi[2 * far];  \
    FFT_V tr = br + cr, ti = bi + ci, dr = (br - cr) * sin60, di = (bi - ci) * sin60;              \
    FFT_V er = ar - tr * half, ei = ai - ti * half;                                                \
    FFT_STORE(0, ar + tr, ai + ti);                                                                \
    PUT(1, er + di, ei - dr);                                                                      \
    PUT(2, er - di, ei + dr);
FFT_HOT static void FFT_FN(pass3)(fft_pair x, fft_pair y, int64_t m, int64_t s, const FFT_T *w) {
    const FFT_T sin60 = (FFT_T)0.866025403784438646763723170752936183, half = (FFT_T)0.5;
    FFT_PASS(3, FFT_THREE)
}

#define FFT_FOUR(PUT)                                                                              \
    FFT_V ar = xr[0] + xr[2 * far], ai = xi[0] + xi[2 * far], br = xr[0] - xr[2 * far],            \
          bi = xi[0] - xi[2 * far];                                                                \
    FFT_V cr = xr[far] + xr[3 * far], ci = xi[far] + xi[3 * far], dr = xr[far] - xr[3 * far],      \
          di = xi[far] - xi[3 * far];                                                              \
    FFT_STORE(0, ar + cr, ai + ci);                                                                \
    PUT(1, br + di, bi - dr);                                                                      \
    PUT(2, ar - cr, ai - ci);                                                                      \
    PUT(3, br - di, bi + dr);
FFT_HOT static void FFT_FN(pass4)(fft_pair x, fft_pair y, int64_t m, int64_t s,
                                  const FFT_T *w){FFT_PASS(4, FFT_FOUR)}

#define FFT_FIVE(PUT)                                                                              \
    FFT_V ar = xr[0], ai = xi[0];                                                                  \
    FFT_V tr = xr[far] + xr[4 * far], ti = xi[far] + xi[4 * far], dr = xr[far] - xr[4 * far],      \
          di = xi[far] - xi[4 * far];                                                              \
    FFT_V ur = xr[2 * far] + xr[3 * far], ui = xi[2 * far] + xi[3 * far];                          \
    FFT_V er = xr[2 * far] - xr[3 * far], ei = xi[2 * far] - xi[3 * far];                          \
    FFT_V gr = ar + tr * c1 + ur * c2, gi = ai + ti * c1 + ui * c2, hr = ar + tr * c2 + ur * c1,   \
          hi = ai + ti * c2 + ui * c1;                                                             \
    FFT_V kr = dr * s1 + er * s2, ki = di * s1 + ei * s2, lr = dr * s2 - er * s1,                  \
          li = di * s2 - ei * s1;                                                                  \
    FFT_STORE(0, ar + tr + ur, ai + ti + ui);                                                      \
    PUT(1, gr + ki, gi - kr);                                                                      \
    PUT(2, hr + li, hi - lr);                                                                      \
    PUT(3, hr - li, hi + lr);                                                                      \
    PUT(4, gr - ki, gi + kr);
FFT_HOT static void FFT_FN(pass5)(fft_pair x, fft_pair y, int64_t m, int64_t s, const FFT_T *w) {
    const FFT_T c1 = (FFT_T)0.309016994374947424102293417182819059,
                s1 = (FFT_T)0.951056516295153572116439333379382143;
    const FFT_T c2 = (FFT_T)-0.809016994374947424102293417182819059,
                s2 = (FFT_T)0.587785252292473129168705954639072769;
    FFT_PASS(5, FFT_FIVE)
}

/* Any odd radix, by sums and differences of the numbers i and r - i. turns: cos and
 * sin of 2 pi i / r. */
FFT_HOT static void FFT_FN(pass_odd)(fft_pair x, fft_pair y, int64_t m, int64_t s, const FFT_T *w,
                                     int r, const FFT_T *turns) {
    const FFT_V *xr = x.re, *xi = x.im;
    FFT_V *yr = y.re, *yi = y.im, tr[FFT_MAX_RADIX / 2], ti[FFT_MAX_RADIX / 2],
          dr[FFT_MAX_RADIX / 2], di[FFT_MAX_RADIX / 2];
    const int64_t far = m * s;
    const int half = r / 2;
    for (int64_t p = 0; p < m; p++, yr += (r - 1) * s, yi += (r - 1) * s, w += 2 * (r - 1))
        for (int64_t q = 0; q < s; q++, xr++, xi++, yr++, yi++) {
            FFT_V sumr = xr[0], sumi = xi[0];
            for (int i = 1; i <= half; i++) {
                FFT_V br = xr[i * far], bi = xi[i * far], cr = xr[(r - i) * far],
                      ci = xi[(r - i) * far];
                tr[i - 1] = br + cr, ti[i - 1] = bi + ci, dr[i - 1] = br - cr, di[i - 1] = bi - ci;
                sumr += tr[i - 1], sumi += ti[i - 1];
            }
            FFT_STORE(0, sumr, sumi);
            for (int j = 1; j <= half; j++) {
                FFT_V ar = xr[0], ai = xi[0], br = ar - ar, bi = br;
                for (int i = 0, at = j; i < half; i++, at += j, at -= at >= r ? r : 0) {
                    FFT_T c_ = turns[2 * at], s_ = turns[2 * at + 1];
                    ar += tr[i] * c_, ai += ti[i] * c_, br += dr[i] * s_, bi += di[i] * s_;
                }
                FFT_TURN(j, ar + bi, ai - br);
                FFT_TURN(r - j, ar - bi, ai + br);
            }
        }
}

static fft_pair FFT_FN(passes)(const fft_plan *p, fft_pair x, fft_pair tmp, int64_t lanes) {
    int64_t s = lanes / (int64_t)(sizeof(FFT_V) / sizeof(FFT_T)), m = p->n;
    const FFT_T *w = p->table, *turns = w;
    for (int i = 0; i < p->npasses; i++) turns += 2 * (m /= p->radix[i]) * (p->radix[i] - 1);
    m = p->n;
    for (int i = 0; i < p->npasses; i++) {
        int r = p->radix[i];
        m /= r;
        switch (r) {
        case 2: FFT_FN(pass2)(x, tmp, m, s, w); break;
        case 3: FFT_FN(pass3)(x, tmp, m, s, w); break;
        case 4: FFT_FN(pass4)(x, tmp, m, s, w); break;
        case 5: FFT_FN(pass5)(x, tmp, m, s, w); break;
        default: FFT_FN(pass_odd)(x, tmp, m, s, w, r, turns), turns += 2 * r;
        }
        w += 2 * m * (r - 1);
        s *= r;
        fft_pair swap = x;
        x = tmp, tmp = swap;
    }
    return x;
}
#undef FFT_PASS
#undef FFT_STORE
#undef FFT_TURN
#undef FFT_TWO
#undef FFT_THREE
#undef FFT_FOUR
#undef FFT_FIVE
