/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft.h - discrete Fourier transforms of many lines at once: plans, and jobs that run them.
 *
 * A line is a sequence of numbers at equal distances in memory; a job transforms all lines of a
 * tensor along one dimension. Numbers are float or double (wide), complex ones interleaved pairs.
 * Unless said otherwise lengths, strides and offsets count elements of the tensor they belong to.
 */
#ifndef CTSC_RUNTIME_KERNELS_FFT_FFT_H
#define CTSC_RUNTIME_KERNELS_FFT_FFT_H

#include "runtime/kernels/engine/kernel.h"

/*
 * How a plan transforms n numbers:
 *
 *     LANES   passes of small radix over FFT_LANES lines side by side (Stockham's order, so that nothing is permuted)
 *     SPLIT   n = n1 * n2: n2 lanes of length n1, a turn by roots of unity, n1 lanes of length n2; works on one line
 *     CHIRP   any n, as a convolution of a length that the others can do (Bluestein)
 *     HALF    real numbers of even n as n/2 complex ones
 *     WHOLE   real numbers of odd n as complex ones
 */
typedef enum fft_how { FFT_LANES, FFT_SPLIT, FFT_CHIRP, FFT_HALF, FFT_WHOLE } fft_how;

enum {
    FFT_MAX_PASSES = 64,
    FFT_MAX_RADIX = 61,    /* larger primes are done by CHIRP */
    FFT_LANES_BYTES = 64,  /* of the lines side by side: 16 floats, 8 doubles */
    FFT_VECTOR_BYTES = 32, /* lanes are a multiple of that */
    FFT_LANES_MAX = 1024,  /* longer ones are split */
};

/* Immutable once made; may be shared by threads. */
typedef struct fft_plan {
    int64_t n;
    fft_how how;
    bool wide;
    bool line; /* takes one line at a time (of one lane); else any multiple of a vector's lanes */
    int npasses;
    int radix[FFT_MAX_PASSES];
    /* LANES: the turns of every pass, then cos and sin of 2 pi i / r for each odd radix above 5, in
     * order; SPLIT: roots of order n, real parts [n1][n2 rounded up to a vector], then imaginary
     * ones; CHIRP: exp(-pi i k k / n) and the filter's transform, real and imaginary parts; HALF:
     * roots of order n, the same way. */
    void *table;
    /* SPLIT: of n1, n2; CHIRP: of the convolution; HALF, WHOLE: of the complex numbers */
    struct fft_plan *a, *b;
} fft_plan;

/* A plan for that many lines of n (complex, or real) numbers: few lines are better split.
 * NULL if out of memory. */
fft_plan *fft_plan_new(int64_t n, bool wide, bool real, int64_t lines);
void fft_plan_free(fft_plan *p);

/* The plans that calls of a module leave for the next call (runtime/context/workspace.h): used by
 * one thread at a time. */
enum { FFT_CACHE_PLANS = 8, FFT_CACHE_LENGTH = 1 << 18 /* longer ones are not kept */ };
typedef struct fft_cache {
    struct {
        fft_plan *plan;
        bool real, few;
    } rows[FFT_CACHE_PLANS]; /* the latest used first */
} fft_cache;
/* fft_plan_new, or a plan kept in the runtime's workspace; *kept: the caller does not free it. */
fft_plan *fft_plan_get(op_ctx *cx, int64_t n, bool wide, bool real, int64_t lines, bool *kept);

typedef enum fft_kind {
    FFT_C2C, /* n complex numbers to n */
    FFT_R2C, /* n real numbers to the first out_len (n / 2 + 1, or all n) of their transform */
    FFT_C2R, /* the first n / 2 + 1 of the transform of n real numbers to these */
} fft_kind;

typedef struct fft_job {
    fft_kind kind;
    bool wide;
    bool backward; /* exponent of positive sign (C2R: of the usual sign reversed, as for hfft) */
    bool in_real;  /* C2C, C2R: the input is real numbers all the same */
    int64_t n;
    /* numbers of a line that are there; what is missing is zero, surplus is not read */
    int64_t in_len;
    int64_t out_len;
    double scale;
    const void *in;
    void *out; /* may be `in` itself, in the same geometry */
    int64_t in_stride, out_stride;
    int ndim; /* the lines: their sizes, and strides from line to line */
    int64_t sizes[TENSOR_MAX_DIMS], in_strides[TENSOR_MAX_DIMS], out_strides[TENSOR_MAX_DIMS];
} fft_job;

/* Lines of the job are spread over the pool; results do not depend on the threads. */
ctsc_status fft_run(op_ctx *cx, const fft_job *job);

/* An axis of a tensor, and the length of the transform along it. */
typedef struct fft_axis {
    int dim;
    int64_t size;
} fft_axis;

/*
 * The transform of `in` (float, double, or the complex numbers of these) along n axes, each padded
 * with zeros or trimmed to its size. C2C takes real numbers too. FFT_R2C and FFT_C2R halve the last
 * axis, whose size counts the real numbers; both_sides: FFT_R2C gives all of it. backward:
 * exponents of the other sign than usual (plus for C2C and R2C, minus for C2R).
 */
ctsc_status fft_transform(op_ctx *cx, const tensor *in, int n, const fft_axis *axes, fft_kind kind,
                          bool both_sides, bool backward, double scale, tensor **out);

/* ---- shared by the files fft_*.c ------------------------------------------------------------- */

/* Numbers as two arrays. */
typedef struct fft_pair {
    void *re, *im;
} fft_pair;

/* Transforms [n][lanes] numbers at x, with tmp as room of the same size: returns the one that
 * holds the result, re NULL if out of memory. Forward; exchange re and im of x and of the
 * result for backward. */
fft_pair fft_exec_float(const fft_plan *p, fft_pair x, fft_pair tmp, int64_t lanes);
fft_pair fft_exec_double(const fft_plan *p, fft_pair x, fft_pair tmp, int64_t lanes);
/* Runs lines [begin, end) of the job; false if out of memory. */
bool fft_lines_float(const fft_job *j, const fft_plan *p, int64_t begin, int64_t end);
bool fft_lines_double(const fft_job *j, const fft_plan *p, int64_t begin, int64_t end);

static inline int64_t fft_lanes_of(bool wide) {
    return FFT_LANES_BYTES / (wide ? (int)sizeof(double) : (int)sizeof(float));
}
static inline int64_t fft_vector_of(bool wide) {
    return FFT_VECTOR_BYTES / (wide ? (int)sizeof(double) : (int)sizeof(float));
}
static inline int64_t fft_round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/* An aligned block for count numbers; *base is what to free. NULL if out of memory. */
void *fft_room(bool wide, size_t count, void **base);

#endif
