/* SPDX-License-Identifier: Apache-2.0 */
/* fft_engine.c - fft_engine.h for float and for double, and jobs over the pool. Tests:
 * tests/unit/test_fft.c */
#include "runtime/kernels/fft/fft.h"

#include <stdatomic.h>
#include <string.h>

#define FFT_HOT VECTOR_CLONES

#define FFT_GRAIN (1 << 14) /* numbers worth a chunk of their own */

typedef float fft_v8f __attribute__((vector_size(FFT_VECTOR_BYTES), may_alias));
typedef double fft_v4d __attribute__((vector_size(FFT_VECTOR_BYTES), may_alias));

/* Rows and columns of a square of vectors exchanged: pairs of numbers first, then
 * pairs of these. */
#define FFT_ROW(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
__attribute__((always_inline)) static inline void fft_transpose_double(fft_v4d *v) {
    fft_v4d a = FFT_ROW(v[0], v[1], 0, 4, 2, 6), b = FFT_ROW(v[0], v[1], 1, 5, 3, 7);
    fft_v4d c = FFT_ROW(v[2], v[3], 0, 4, 2, 6), d = FFT_ROW(v[2], v[3], 1, 5, 3, 7);
    v[0] = FFT_ROW(a, c, 0, 1, 4, 5), v[1] = FFT_ROW(b, d, 0, 1, 4, 5);
    v[2] = FFT_ROW(a, c, 2, 3, 6, 7), v[3] = FFT_ROW(b, d, 2, 3, 6, 7);
}
__attribute__((always_inline)) static inline void fft_transpose_float(fft_v8f *v) {
    fft_v8f a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = FFT_ROW(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[i + 1] = FFT_ROW(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            b[i + 2 * k] = FFT_ROW(a[i + k], a[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + 2 * k + 1] = FFT_ROW(a[i + k], a[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        v[i] = FFT_ROW(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = FFT_ROW(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* clang-format off */
#define FFT_T          float
#define FFT_V          fft_v8f
#define FFT_REVERSE(v) FFT_ROW(v, v, 7, 6, 5, 4, 3, 2, 1, 0)
#define FFT_FN(name)   fft_##name##_float
/* clang-format on */
#include "runtime/kernels/fft/fft_engine.h"
#undef FFT_T
#undef FFT_V
#undef FFT_FN
#undef FFT_REVERSE

/* clang-format off */
#define FFT_T          double
#define FFT_V          fft_v4d
#define FFT_REVERSE(v) FFT_ROW(v, v, 3, 2, 1, 0)
#define FFT_FN(name)   fft_##name##_double
/* clang-format on */
#include "runtime/kernels/fft/fft_engine.h"

typedef struct fft_work {
    const fft_job *job;
    const fft_plan *plan;
    int64_t lines, width;
    atomic_bool failed;
} fft_work;

static void fft_range(void *ctx, int64_t begin, int64_t end) {
    fft_work *w = ctx;
    int64_t last = end * w->width < w->lines ? end * w->width : w->lines;
    if (!(w->job->wide ? fft_lines_double : fft_lines_float)(w->job, w->plan, begin * w->width,
                                                             last))
        atomic_store_explicit(&w->failed, true, memory_order_relaxed);
}

ctsc_status fft_run(op_ctx *cx, const fft_job *job) {
    fft_work w = {.job = job, .lines = 1};
    for (int i = 0; i < job->ndim; i++) w.lines *= job->sizes[i];
    if (w.lines == 0 || job->out_len == 0) return CTSC_OK;
    bool kept;
    fft_plan *p = fft_plan_get(cx, job->n, job->wide, job->kind != FFT_C2C, w.lines, &kept);
    if (!p) return diag_no_memory(cx->diag);
    w.plan = p;
    w.width = p->line ? 1 : fft_lanes_of(job->wide);
    bool whole = true;
    int64_t items = (w.lines + w.width - 1) / w.width, grain = FFT_GRAIN / (job->n * w.width);
    if (p->line && items < pool_threads()) /* the threads share every line */
        for (int64_t i = 0; i < items; i++) fft_range(&w, i, i + 1);
    else whole = pool_for_limited(items, grain > 1 ? grain : 1, fft_range, &w);
    if (!kept) fft_plan_free(p);
    if (!whole) return limits_fail(cx->diag);
    return atomic_load(&w.failed) ? diag_no_memory(cx->diag) : CTSC_OK;
}
