/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_last.c - channels-last max and average
 * pooling over two dims (engine/channels_last.h).
 *
 * Method: a window is folded channel by channel, 64 of them at a time in vector registers, over its
 * pixels in memory order. Sums over more than POOL_LAST_PIXELS pixels are flushed to double at
 * intervals. Where a window is all of an image, threads share its rows; the order of addition does
 * not depend on them. 16-bit images are widened, and results rounded, but for maxima, which are
 * found among their bits. Checks are those of pool.c, on a view with channels first; other dtypes,
 * and tensors on devices, go to its operators.
 * Tests: tests/unit/test_pool_last.c
 */
#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "runtime/kernels/engine/channels_last.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/pool/pool.h"

#include <math.h>

/* Eight channels; last_lanes in memory, where they begin anywhere. */
typedef float last_vector __attribute__((vector_size(32)));
typedef int32_t last_mask __attribute__((vector_size(32)));
typedef float last_lanes __attribute__((vector_size(32), aligned(4), may_alias));
/* Sixteen channels of 16 bits. */
typedef int16_t last_shorts __attribute__((vector_size(32)));
typedef int16_t last_bits __attribute__((vector_size(32), aligned(2), may_alias));
enum { POOL_LAST_SHORTS = sizeof(last_shorts) / sizeof(int16_t) };
#define POOL_LAST_INLINE static inline __attribute__((always_inline))

typedef struct last_pool_job {
    const pool_geometry *g;
    /* blocks of channels that chunks do; how many, of what size (the last: what is left) */
    int64_t channels, blocks, block;
    int16_t infinity; /* its bits, where x and y are of 16 bits; else 0 */
    const float *x;
    float *y;
    bool average, adaptive, count_padding;
    int64_t divisor;
} last_pool_job;

/* The pixels of a window: rows of columns, from x on, at strides `row` and `column` in elements. */
typedef struct last_window {
    const float *x;
    int64_t rows, columns, row, column;
} last_window;

/* Vectors [at, at + 8 * vectors) of the channels. */
POOL_LAST_INLINE void last_max(const last_window *w, float *y, int64_t at, const int vectors) {
    last_vector most[8];
#pragma GCC unroll 8
    for (int i = 0; i < vectors; i++) most[i] = (last_vector){0} - INFINITY;
    for (int64_t a = 0; a < w->rows; a++)
        for (int64_t b = 0; b < w->columns; b++) {
            const float *p = w->x + a * w->row + b * w->column + at;
#pragma GCC unroll 8
            for (int i = 0; i < vectors; i++) {
                last_vector x = *(const last_lanes *)(p + 8 * i);
                last_mask more = (x > most[i]) | (x != x);
                most[i] = (last_vector)((more & (last_mask)x) | (~more & (last_mask)most[i]));
            }
        }
#pragma GCC unroll 8
    for (int i = 0; i < vectors; i++) *(last_lanes *)(y + at + 8 * i) = most[i];
}

POOL_LAST_INLINE void last_max_one(const last_window *w, float *y, int64_t at) {
    float most = -INFINITY;
    for (int64_t a = 0; a < w->rows; a++)
        for (int64_t b = 0; b < w->columns; b++) {
            float x = w->x[a * w->row + b * w->column + at];
            most = x > most || x != x ? x : most;
        }
    y[at] = most;
}

/* The last vector is moved back over channels that are done. */
VECTOR_CLONES static void last_max_channels(const last_window *w, float *y, int64_t n) {
    int64_t c = 0;
    for (; c + 64 <= n; c += 64) last_max(w, y, c, 8);
    for (; c + 8 <= n; c += 8) last_max(w, y, c, 1);
    if (c < n && n >= 8) last_max(w, y, n - 8, 1);
    for (; c < n && n < 8; c++) last_max_one(w, y, c);
}

/* Bits of 16-bit floats as integers in the order of the floats, and back. NaN is the largest. */
POOL_LAST_INLINE void last_order(last_shorts *v) { *v ^= *v >> 15 & INT16_MAX; }

/* last_max of bits, 16 channels at a time, n >= 16. */
VECTOR_CLONES static void last_max_bits(const last_window *w, const int16_t *x, int16_t infinity,
                                        int16_t *y, int64_t n) {
    for (int64_t c = 0; c < n; c += POOL_LAST_SHORTS) {
        c = int64_min(c, n - POOL_LAST_SHORTS);
        last_shorts most = {0}; /* -inf: ~infinity */
        most += (int16_t)~infinity;
        for (int64_t a = 0; a < w->rows; a++)
            for (int64_t b = 0; b < w->columns; b++) {
                last_shorts v = *(const last_bits *)(x + a * w->row + b * w->column + c),
                            nan = (v & INT16_MAX) > infinity;
                last_order(&v);
                v = (v & ~nan) | (nan & INT16_MAX);
                last_shorts more = v > most;
                most = (more & v) | (~more & most);
            }
        last_order(&most);
        *(last_bits *)(y + c) = most;
    }
}

/* Of at most POOL_LAST_PIXELS pixels. */
POOL_LAST_INLINE void last_mean(const last_window *w, float *y, int64_t at, float by,
                                const int vectors) {
    last_vector sum[8] = {{0}};
    for (int64_t a = 0; a < w->rows; a++)
        for (int64_t b = 0; b < w->columns; b++) {
            const float *p = w->x + a * w->row + b * w->column + at;
#pragma GCC unroll 8
            for (int i = 0; i < vectors; i++) sum[i] += *(const last_lanes *)(p + 8 * i);
        }
#pragma GCC unroll 8
    for (int i = 0; i < vectors; i++) *(last_lanes *)(y + at + 8 * i) = sum[i] / by;
}

POOL_LAST_INLINE void last_mean_one(const last_window *w, float *y, int64_t at, float by) {
    float sum = 0;
    for (int64_t a = 0; a < w->rows; a++)
        for (int64_t b = 0; b < w->columns; b++) sum += w->x[a * w->row + b * w->column + at];
    y[at] = sum / by;
}

VECTOR_CLONES static void last_mean_channels(const last_window *w, float *y, int64_t n, float by) {
    int64_t c = 0;
    for (; c + 64 <= n; c += 64) last_mean(w, y, c, by, 8);
    for (; c + 8 <= n; c += 8) last_mean(w, y, c, by, 1);
    if (c < n && n >= 8) last_mean(w, y, n - 8, by, 1);
    for (; c < n && n < 8; c++) last_mean_one(w, y, c, by);
}

VECTOR_CLONES static void last_add_channels(double *total, const float *sum, int64_t n) {
    for (int64_t c = 0; c < n; c++) total[c] += (double)sum[c];
}

/* Any number of pixels, n <= POOL_LAST_BLOCK channels. */
static void last_sum_large(const last_window *w, double *total, int64_t n) {
    float sum[POOL_LAST_BLOCK];
    for (int64_t c = 0; c < n; c++) total[c] = 0;
    for (int64_t a = 0; a < w->rows; a++)
        for (int64_t b = 0; b < w->columns; b += POOL_LAST_PIXELS) {
            last_window part = {w->x + a * w->row + b * w->column, 1,
                                int64_min(w->columns - b, POOL_LAST_PIXELS), 0, w->column};
            last_mean_channels(&part, sum, n, 1);
            last_add_channels(total, sum, n);
        }
}

static void last_mean_large(const last_window *w, float *y, int64_t n, double by) {
    double total[POOL_LAST_BLOCK];
    last_sum_large(w, total, n);
    for (int64_t c = 0; c < n; c++) y[c] = (float)(total[c] / by);
}

static void last_average(const last_window *w, float *y, int64_t n, int64_t by) {
    if (by == 0)
        for (int64_t c = 0; c < n; c++) y[c] = 0;
    else if (w->rows * w->columns <= POOL_LAST_PIXELS) last_mean_channels(w, y, n, (float)by);
    else
        for (int64_t c = 0; c < n; c += POOL_LAST_BLOCK) {
            last_window part = *w;
            part.x += c;
            last_mean_large(&part, y + c, int64_min(n - c, POOL_LAST_BLOCK), (double)by);
        }
}

/* The window of output (oh, ow): the part that is inside, and what its sum is divided by. */
static int64_t last_window_at(const last_pool_job *j, int64_t oh, int64_t ow, int64_t *h,
                              int64_t *w, last_window *win) {
    const pool_geometry *g = j->g;
    const int64_t at[3] = {0, oh, ow};
    if (j->adaptive) {
        int64_t h_end, w_end;
        adaptive_window(g, 1, oh, h, &h_end);
        adaptive_window(g, 2, ow, w, &w_end);
        win->rows = h_end - *h, win->columns = w_end - *w;
        return win->rows * win->columns;
    }
    pool_window(g, 1, oh, h, &win->rows);
    pool_window(g, 2, ow, w, &win->columns);
    return j->average ? pool_divisor(g, j->divisor, j->count_padding, at, win->rows * win->columns)
                      : 0;
}

/* Chunks are numbered by image, row of outputs and block of channels, the last varying fastest. */
static void last_pool_chunks(void *ctx, int64_t begin, int64_t end) {
    const last_pool_job *j = ctx;
    const pool_geometry *g = j->g;
    int64_t row = g->in[2] * j->channels;
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i % j->blocks, oh = i / j->blocks % g->out[1],
                image = i / j->blocks / g->out[1], first = block * j->block;
        int64_t n = block == j->blocks - 1 ? j->channels - first : j->block;
        int64_t to = (image * g->out[1] + oh) * g->out[2] * j->channels + first;
        for (int64_t ow = 0; ow < g->out[2]; ow++, to += j->channels) {
            int64_t h, w, d_h = j->adaptive ? 1 : g->dilation[1],
                          d_w = j->adaptive ? 1 : g->dilation[2];
            last_window win = {.row = d_h * row, .column = d_w * j->channels};
            int64_t by = last_window_at(j, oh, ow, &h, &w, &win);
            int64_t from = image * g->in[1] * row + h * row + w * j->channels + first;
            if (j->infinity) {
                last_max_bits(&win, (const int16_t *)(const void *)j->x + from, j->infinity,
                              (int16_t *)(void *)j->y + to, n);
                continue;
            }
            win.x = j->x + from;
            if (j->average) last_average(&win, j->y + to, n, by);
            else last_max_channels(&win, j->y + to, n);
        }
    }
}

/* Rows of outputs, unless there are few of them: blocks of channels, too. */
static void last_pool_cut(last_pool_job *j, int64_t images) {
    bool few = images * j->g->out[1] < POOL_LAST_ROWS;
    j->block = few && j->channels > POOL_LAST_BLOCK ? POOL_LAST_BLOCK : j->channels;
    j->blocks = j->channels / j->block;
}

/* ---- means of whole images ------------------------------------------------------------------- */

typedef struct last_whole_job {
    const float *x;
    int64_t rows, columns, channels; /* of an image */
    int64_t parts;                   /* of its rows */
    double *total;                   /* of each image, part and channel */
} last_whole_job;

static void last_whole_parts(void *ctx, int64_t begin, int64_t end) {
    const last_whole_job *j = ctx;
    int64_t row = j->columns * j->channels;
    for (int64_t i = begin; i < end; i++) {
        int64_t part = i % j->parts, first = j->rows * part / j->parts,
                rows = j->rows * (part + 1) / j->parts - first;
        last_window w = {j->x + (i / j->parts * j->rows + first) * row, rows, j->columns, row,
                         j->channels};
        for (int64_t c = 0; c < j->channels; c += POOL_LAST_BLOCK, w.x += POOL_LAST_BLOCK)
            last_sum_large(&w, j->total + i * j->channels + c,
                           int64_min(j->channels - c, POOL_LAST_BLOCK));
    }
}

/* Whether images are large enough for that. */
static bool last_is_whole(const last_pool_job *j) {
    const pool_geometry *g = j->g;
    return j->adaptive && g->out[1] == 1 && g->out[2] == 1 &&
           g->in[1] * g->in[2] > POOL_LAST_PIXELS &&
           g->in[1] * g->in[2] * j->channels > POOL_LAST_PART;
}

static ctsc_status last_whole(op_ctx *cx, const last_pool_job *j, int64_t images) {
    const pool_geometry *g = j->g;
    int64_t rows = g->in[1], columns = g->in[2], n = j->channels,
            parts = int64_min(rows, rows * columns * n / POOL_LAST_PART);
    size_t bytes = (size_t)(images * parts * n) * sizeof(double);
    last_whole_job job = {j->x, rows, columns, n, parts, recycle_alloc(bytes)};
    if (!job.total) return diag_no_memory(cx->diag);
    ctsc_status st = op_for(cx, images * parts, 1, last_whole_parts, &job);
    for (int64_t i = 0; i < images && st == CTSC_OK; i++) {
        double *sum = job.total + i * parts * n;
        for (int64_t part = 1; part < parts; part++)
            for (int64_t c = 0; c < n; c++) sum[c] += sum[part * n + c];
        for (int64_t c = 0; c < n; c++)
            j->y[i * n + c] = (float)(sum[c] / (double)(rows * columns));
    }
    recycle_free(job.total, bytes);
    return st;
}

/* input: [..., H, W, C], as last_pool_fits; j: all but what is known from it. */
static ctsc_status last_pool_run(op_ctx *cx, tensor *input, last_pool_job *j, value *results) {
    const pool_geometry *g = j->g;
    tensor *x, *y;
    int64_t sizes[4] = {input->sizes[0]}, n = input->ndim, images = n == 4 ? input->sizes[0] : 1;
    sizes[n - 3] = g->out[1], sizes[n - 2] = g->out[2],
              sizes[n - 1] = j->channels = input->sizes[n - 1];
    dtype dt = DT_FLOAT32;
    if (!j->average && dtype_is_half((dtype)input->dtype) && j->channels >= POOL_LAST_SHORTS) {
        dt = (dtype)input->dtype;
        j->infinity = dt == DT_BFLOAT16 ? 0x7f80 : 0x7c00;
        TRY(tensor_contiguous(cx->diag, input, &x));
    } else TRY(wide_as(cx, input, dt, &x));
    ctsc_status st = tensor_new(cx->diag, dt, (int)n, sizes, &y);
    if (st == CTSC_OK && y->numel) {
        j->x = tensor_data(x), j->y = tensor_data(y);
        last_pool_cut(j, images);
        int64_t pixels = j->adaptive ? g->in[1] * g->in[2] / g->out[1]
                                     : g->out[2] * int64_min(g->kernel[1] * g->kernel[2],
                                                             g->in[1] * g->in[2]);
        st = last_is_whole(j) ? last_whole(cx, j, images)
                              : op_for(cx, images * g->out[1] * j->blocks,
                                       kernel_grain(pixels * j->block), last_pool_chunks, j);
        if (st != CTSC_OK) tensor_unref(y);
    }
    tensor_unref(x);
    if (st == CTSC_OK && !j->infinity) st = wide_round(cx, &y, (dtype)input->dtype);
    return st == CTSC_OK ? op_return_tensor(results, y) : st;
}

static bool last_pool_fits(const tensor *t) {
    return wide_dtype((dtype)t->dtype) == DT_FLOAT32 && tensor_device(t) == DEVICE_HOST &&
           (t->ndim == 3 || t->ndim == 4);
}

/* max_pool2d and avg_pool2d: what they check, they check with channels first. */
static ctsc_status last_pool(op_ctx *cx, const value *args, int nargs, bool average,
                             value *results) {
    tensor *input = arg_tensor(&args[0]), *first;
    value call[7];
    pool_geometry g;
    last_pool_job j = {.g = &g, .average = average};
    if (!last_pool_fits(input))
        return channels_last_by_first(cx, average ? "aten::avg_pool2d" : "aten::max_pool2d", 2,
                                      nargs, args, results);
    TRY(channels_first_view(cx->diag, input, 2, &first));
    call[0] = value_tensor_take(first);
    for (int i = 1; i < nargs; i++) call[i] = args[i];
    ctsc_status st = average ? pool_check_avg2d(cx, call, &g, &j.divisor)
                             : pool_check_max2d(cx, call, &g);
    tensor_unref(first);
    j.count_padding = average && arg_bool(&args[5]);
    return st == CTSC_OK ? last_pool_run(cx, input, &j, results) : st;
}

ctsc_status op_max_pool2d_channels_last(op_ctx *cx, const value *args, value *results) {
    return last_pool(cx, args, 6, false, results);
}

ctsc_status op_avg_pool2d_channels_last(op_ctx *cx, const value *args, value *results) {
    return last_pool(cx, args, 7, true, results);
}

/* Whatever is wrong with the arguments is said by the operator with channels first. */
ctsc_status op_adaptive_avg_pool2d_channels_last(op_ctx *cx, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]);
    const int64_t *size;
    int len = arg_ints(&args[1], &size);
    if (!last_pool_fits(input) || input->numel == 0 || len != 2 || size[0] < 1 || size[1] < 1)
        return channels_last_by_first(cx, "aten::adaptive_avg_pool2d", 2, 2, args, results);
    int n = input->ndim;
    pool_geometry g = {.in = {1, input->sizes[n - 3], input->sizes[n - 2]},
                       .out = {1, size[0], size[1]}};
    last_pool_job j = {.g = &g, .average = true, .adaptive = true};
    return last_pool_run(cx, input, &j, results);
}
