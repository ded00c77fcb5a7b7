/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_kernels.c - computes convolutions.
 *
 * Method: the columns of an image's unfolded matrix (one per output position, one row per
 * channel and kernel tap) are made block by block in a scratch buffer and multiplied by
 * the weights (im2col). Convolutions of kernel size 1 multiply the image itself. Threads
 * share images, groups and blocks, or, when these are few, the single products. Small
 * images are batched (conv_together.h). Depthwise convolutions are in conv_depthwise.c.
 * Tests: tests/unit/test_conv.c
 */
#include "base/minmax.h"
#include "runtime/kernels/conv/conv.h"

#include "cpu/vector.h"
#include "runtime/kernels/conv/conv_together.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <string.h>

static int64_t conv_ceil_div(int64_t a, int64_t b) { /* b > 0 */
    return a > 0 ? (a - 1) / b + 1 : -(-a / b);
}

void conv_valid_range(const conv_shape *s, int dim, int64_t tap, int64_t *lo, int64_t *hi) {
    int64_t shift = s->pad[dim] - tap * s->dilation[dim]; /* input = o * stride - shift */
    int64_t first = conv_ceil_div(shift, s->stride[dim]);
    int64_t end = conv_ceil_div(s->in[dim] + shift, s->stride[dim]);
    *lo = first < 0 ? 0 : first > s->out[dim] ? s->out[dim] : first;
    *hi = end < *lo ? *lo : end > s->out[dim] ? s->out[dim] : end;
}

/* ---- im2col ---------------------------------------------------------------------------------- */

#define U uint8_t
#define NAME(x) x##_uint8_t
#include "runtime/kernels/conv/conv_unfold.h"

#define U uint16_t
#define NAME(x) x##_uint16_t
#include "runtime/kernels/conv/conv_unfold.h"

#define U uint32_t
#define NAME(x) x##_uint32_t
#include "runtime/kernels/conv/conv_unfold.h"

#define U uint64_t
#define NAME(x) x##_uint64_t
#include "runtime/kernels/conv/conv_unfold.h"

static int64_t conv_between(int64_t x, int64_t lo, int64_t hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

/* Does output position p read, at each tap, the input at p and a distance that is the same for all
 * p? */
static bool conv_keeps_rows(const conv_shape *s) {
    return s->in[0] == s->out[0] && s->kernel[0] == 1 && s->pad[0] == 0 &&
           (s->in[0] == 1 || s->stride[0] == 1) && s->stride[1] == 1 && s->stride[2] == 1 &&
           s->in[1] == s->out[1] && s->in[2] == s->out[2];
}

/* One row of the unfolded matrix where conv_keeps_rows, of 4-byte elements: the plane, moved; what
 * came from the other end of a neighbouring row is 0. */
static void conv_move_row(const conv_shape *s, const uint32_t *in, int64_t down, int64_t right,
                          int64_t begin, int64_t end, uint32_t *dst) {
    int64_t w = s->in[2], h = s->in[1];
    right = conv_between(right, -w, w); /* further is nothing but 0, too */
    int64_t by = conv_between(down, -h, h) * w + right;
    int64_t lo = conv_between(-by, begin, end), hi = conv_between(s->in_size - by, lo, end);
    if (lo > begin) memset(dst, 0, (size_t)(lo - begin) * sizeof *dst);
    if (hi > lo) memcpy(dst + (lo - begin), in + (lo + by), (size_t)(hi - lo) * sizeof *dst);
    if (end > hi) memset(dst + (hi - begin), 0, (size_t)(end - hi) * sizeof *dst);
    int64_t first = right < 0 ? 0 : w - right, last = right < 0 ? -right : w;
    for (int64_t row = begin / w * w; right && row < end; row += w)
        for (int64_t c = first; c < last; c++)
            if (row + c >= begin && row + c < end) dst[row + c - begin] = 0;
}

static void conv_move(const conv_shape *s, const uint32_t *in, int64_t channels, int64_t begin,
                      int64_t end, uint32_t *dst) {
    for (int64_t c = 0; c < channels; c++, in += s->in_size)
        for (int64_t kh = 0; kh < s->kernel[1]; kh++)
            for (int64_t kw = 0; kw < s->kernel[2]; kw++, dst += end - begin)
                conv_move_row(s, in, kh * s->dilation[1] - s->pad[1],
                              kw * s->dilation[2] - s->pad[2], begin, end, dst);
}

VECTOR_CLONES static void conv_copy_masked(const uint32_t *from, const uint32_t *mask, int64_t n,
                                           uint32_t *to) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i] & mask[i];
}

/* All bits of the positions [begin, end) whose pixel, at this distance, is in the same plane. */
static void conv_same_plane(const conv_shape *s, int64_t down, int64_t right, int64_t begin,
                            int64_t end, uint32_t *mask) {
    int64_t h = s->in[1], w = s->in[2], x = begin % w, y = begin / w % h;
    for (int64_t p = begin; p < end; p++) {
        mask[p - begin] = y + down >= 0 && y + down < h && x + right >= 0 && x + right < w
                              ? UINT32_MAX
                              : 0;
        if (++x < w) continue;
        x = 0;
        if (++y == h) y = 0;
    }
}

/* The same of several planes, small ones: which positions see a pixel of their own plane is the
 * same for all channels. */
static void conv_move_planes(const conv_shape *s, const uint32_t *in, int64_t channels,
                             int64_t begin, int64_t end, uint32_t *dst) {
    enum { AT_ONCE = 1024 };
    uint32_t mask[AT_ONCE];
    int64_t h = s->in[1], w = s->in[2], taps = s->kernel_size;
    for (int64_t tap = 0; tap < taps; tap++) {
        int64_t down = conv_between(tap / s->kernel[2] * s->dilation[1] - s->pad[1], -h, h),
                right = conv_between(tap % s->kernel[2] * s->dilation[2] - s->pad[2], -w, w),
                by = down * w + right;
        for (int64_t a = begin, b; a < end; a = b) {
            b = int64_min(end, a + AT_ONCE);
            conv_same_plane(s, down, right, a, b, mask);
            int64_t lo = conv_between(-by, a, b), hi = conv_between(s->in_size - by, lo, b);
            for (int64_t c = 0; c < channels; c++) {
                const uint32_t *x = in + c * s->in_size;
                uint32_t *to = dst + (c * taps + tap) * (end - begin) + (a - begin);
                if (lo > a) memset(to, 0, (size_t)(lo - a) * sizeof *to);
                if (hi > lo) conv_copy_masked(x + lo + by, mask + (lo - a), hi - lo, to + (lo - a));
                if (b > hi) memset(to + (hi - a), 0, (size_t)(b - hi) * sizeof *to);
            }
        }
    }
}

void conv_unfold(const conv_shape *s, size_t size, const void *image, int64_t channels,
                 int64_t begin, int64_t end, void *cols) {
    if (size == 4 && conv_keeps_rows(s)) {
        (s->in[0] == 1 ? conv_move : conv_move_planes)(s, image, channels, begin, end, cols);
        return;
    }
    switch (size) {
    case 1: conv_unfold_uint8_t(s, image, channels, begin, end, cols); break;
    case 2: conv_unfold_uint16_t(s, image, channels, begin, end, cols); break;
    case 4: conv_unfold_uint32_t(s, image, channels, begin, end, cols); break;
    default: conv_unfold_uint64_t(s, image, channels, begin, end, cols); break;
    }
}

typedef struct conv_job {
    const conv_shape *s;
    dtype dt;
    const char *input, *weight, *bias;
    char *out;
    bool pointwise;        /* the image is its own unfolded matrix */
    int64_t block, blocks; /* columns of a block, blocks of an image */
    atomic_int failed;     /* a ctsc_status */
} conv_job;

#define CONV_ADD_BIAS(T)                                                                           \
    do {                                                                                           \
        const T *bias = (const T *)job->bias + channel;                                            \
        for (int64_t c = 0; c < channels; c++) {                                                   \
            T *row = (T *)out + c * s->out_size, b = bias[c];                                      \
            for (int64_t i = 0; i < n; i++) row[i] = (T)(row[i] + b);                              \
        }                                                                                          \
    } while (0)

/* Adds bias to n positions of `channels` planes; out is the first, and has that number. */
static void conv_add_bias(const conv_job *job, char *out, int64_t channel, int64_t channels,
                          int64_t n) {
    const conv_shape *s = job->s;
    if (!job->bias) return;
    switch (job->dt) {
    case DT_FLOAT32: CONV_ADD_BIAS(float); break;
    case DT_FLOAT64: CONV_ADD_BIAS(double); break;
    case DT_UINT8: CONV_ADD_BIAS(uint8_t); break;
    case DT_INT8: CONV_ADD_BIAS(int8_t); break;
    case DT_INT16: CONV_ADD_BIAS(int16_t); break;
    case DT_INT32: CONV_ADD_BIAS(uint32_t); break;
    default: CONV_ADD_BIAS(uint64_t); break;
    }
}

/* One block of columns of one group of one image. */
static ctsc_status conv_item(const conv_job *job, diag *d, int64_t item, void *cols) {
    const conv_shape *s = job->s;
    int64_t size = (int64_t)dtype_size(job->dt), index = item / job->blocks;
    int64_t n = index / s->groups, g = index % s->groups;
    int64_t begin = item % job->blocks * job->block;
    int64_t end = s->out_size - begin < job->block ? s->out_size : begin + job->block;
    int64_t ci = s->in_channels / s->groups, co = s->out_channels / s->groups;
    int64_t k = ci * s->kernel_size;
    const char *image = job->input + (n * s->in_channels + g * ci) * s->in_size * size;
    char *out = job->out + ((n * s->out_channels + g * co) * s->out_size + begin) * size;
    gemm_matrix a = {job->weight + g * co * k * size, k, 1}, b = {cols, end - begin, 1};
    if (job->pointwise) b = (gemm_matrix){image + begin * size, s->in_size, 1};
    else conv_unfold(s, (size_t)size, image, ci, begin, end, cols);
    TRY(gemm_run(d, job->dt, co, end - begin, k, gemm_one, a, b, gemm_zero, out, s->out_size));
    conv_add_bias(job, out, g * co, co, end - begin);
    return CTSC_OK;
}

static ctsc_status conv_items(const conv_job *job, diag *d, int64_t begin, int64_t end) {
    const conv_shape *s = job->s;
    void *cols = NULL;
    if (!job->pointwise) {
        size_t n;
        if (!size_mul((size_t)(s->in_channels / s->groups), (size_t)s->kernel_size, &n) ||
            !size_mul(n, (size_t)job->block, &n) || !size_mul(n, dtype_size(job->dt), &n) ||
            !(cols = mem_alloc(n)))
            return diag_no_memory(d);
    }
    ctsc_status st = CTSC_OK;
    for (int64_t i = begin; st == CTSC_OK && i < end; i++) st = conv_item(job, d, i, cols);
    mem_free(cols);
    return st;
}

static void conv_chunk(void *ctx, int64_t begin, int64_t end) {
    conv_job *job = ctx;
    ctsc_status st = conv_items(job, NULL, begin, end);
    if (st != CTSC_OK) atomic_store(&job->failed, (int)st);
}

/* Columns of a block: as many as the scratch buffer has room for, fewer to have enough blocks. */
static int64_t conv_block_columns(const conv_shape *s) {
    int64_t k = s->in_channels / s->groups * s->kernel_size;
    int64_t room = CONV_BLOCK / (k ? k : 1);
    int64_t share = s->out_size / (CONV_ITEMS / s->batch / s->groups + 1) + 1;
    int64_t block = room < share ? room : share;
    if (block < CONV_MIN_COLUMNS) block = CONV_MIN_COLUMNS;
    block = (block + 15) / 16 * 16;
    return block > s->out_size ? s->out_size : block;
}

/* ---- entry ----------------------------------------------------------------------------------- */

bool conv_is_pointwise(const conv_shape *s) {
    for (int i = 0; i < CONV_DIMS; i++)
        if (s->kernel[i] != 1 || s->stride[i] != 1 || s->pad[i] != 0 || s->in[i] != s->out[i])
            return false;
    return true;
}

ctsc_status conv_compute(diag *d, const conv_shape *s, dtype dt, const void *input,
                         const void *weight, const void *bias, void *out) {
    if (s->batch == 0 || s->out_size == 0 || s->out_channels == 0) return CTSC_OK;
    conv_job job = {.s = s, .dt = dt, .input = input, .weight = weight, .bias = bias, .out = out};
    bool done;
    ctsc_status st = conv_depthwise(d, s, dt, input, weight, bias, out, &done);
    if (done) return st;
    if (conv_together_fits(s))
        return conv_together(d, s, dt, input, weight, bias, out, conv_compute);
    job.pointwise = conv_is_pointwise(s);
    job.block = conv_block_columns(s);
    job.blocks = conv_ceil_div(s->out_size, job.block);
    int64_t items = s->batch * s->groups * job.blocks;
    if (items <= CONV_FEW_ITEMS) return conv_items(&job, d, 0, items);
    if (!pool_for_limited(items, 1, conv_chunk, &job)) return limits_fail(d);
    int failed = atomic_load(&job.failed);
    if (failed == CTSC_OK) return CTSC_OK;
    return failed == CTSC_LIMIT ? diag_no_memory(d)
                                : diag_fail(d, (ctsc_status)failed, "convolution failed");
}
