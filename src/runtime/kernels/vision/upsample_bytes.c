/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upsample_bytes.c - resizing uint8 images, in whole numbers.
 *
 * Method: PyTorch's since 2.1 (1.13 refuses uint8), which is Pillow's: the weights of
 * a dim are rounded to 16 bits, with as many fractional bits as the largest weight
 * allows; a sum of bytes is rounded to nearest, halves up, and clamped to 0..255. The
 * columns are made first and are bytes again before the rows are: two roundings, which
 * a computation in float would not have. An unchanged dim has none. The order of sums
 * makes no difference, so all of PyTorch's paths (layouts, numbers of channels) agree.
 * Tests: tests/unit/test_resample.c
 */
#include "base/minmax.h"
#include "runtime/kernels/vision/upsample.h"

#include <math.h>

/* weight[o * taps + k] belongs to input begin[o] + k; k < n[o]. */
typedef struct bytes_table {
    int64_t in, out;
    int taps, shift; /* bits after the point */
    int64_t *begin;
    int *n;
    int16_t *weight;
} bytes_table;

static void bytes_table_free(bytes_table *b) {
    mem_free(b->begin);
    mem_free(b->n);
    mem_free(b->weight);
}

/* The weights of output o, one per input position: taps beyond
 * the border are moved onto it, and their weights are summed. */
static void bytes_collect(const upsample_table *t, int64_t o, bytes_table *b, double *sums) {
    const int64_t *at = t->at + o * t->taps;
    const double *w = (const double *)t->weight + o * t->taps;
    b->begin[o] = at[0];
    b->n[o] = 0;
    for (int k = 0; k < t->taps; k++) sums[k] = 0;
    for (int k = 0; k < t->taps; k++) {
        int i = (int)(at[k] - at[0]);
        sums[i] += w[k];
        if (i >= b->n[o]) b->n[o] = i + 1;
    }
}

/* As many bits as leave the greatest weight below 2^15. */
static int bytes_shift(double greatest) {
    int shift = 0;
    while (shift < 22 && (int)(0.5 + greatest * (double)(1 << (shift + 1))) < 1 << 15) shift++;
    return shift;
}

static ctsc_status bytes_table_make(op_ctx *cx, const upsample_table *t, bytes_table *b) {
    size_t rows = (size_t)t->out, count = rows * (size_t)t->taps; /* t has arrays of this size */
    double greatest = 0, *sums = mem_alloc(count * sizeof *sums);
    *b = (bytes_table){t->in,
                       t->out,
                       t->taps,
                       0,
                       mem_alloc(rows * sizeof *b->begin),
                       mem_alloc(rows * sizeof *b->n),
                       mem_alloc(count * sizeof *b->weight)};
    if (!sums || !b->begin || !b->n || !b->weight) {
        mem_free(sums);
        return diag_no_memory(cx->diag);
    }
    for (int64_t o = 0; o < t->out; o++) bytes_collect(t, o, b, sums + o * t->taps);
    for (size_t i = 0; i < count; i++) greatest = fmax(greatest, sums[i]);
    b->shift = bytes_shift(greatest);
    for (size_t i = 0; i < count; i++) {
        double v = sums[i] * (double)(1 << b->shift);
        b->weight[i] = (int16_t)(int)(v < 0 ? v - 0.5 : v + 0.5);
    }
    mem_free(sums);
    return CTSC_OK;
}

static inline uint8_t bytes_round(int sum, int shift) {
    int v = sum >> shift;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* ---- resampling one dim ---------------------------------------------------------------------- */

/* x is [outer, in, inner], y is [outer, out, inner]. */
typedef struct bytes_pass {
    const uint8_t *x;
    uint8_t *y;
    int64_t inner;
    const bytes_table *t;
} bytes_pass;

static void bytes_columns(void *ctx, int64_t begin, int64_t end) {
    const bytes_pass *j = ctx;
    const bytes_table *t = j->t;
    for (int64_t r = begin; r < end; r++)
        for (int64_t o = 0; o < t->out; o++) {
            const uint8_t *x = j->x + r * t->in + t->begin[o];
            const int16_t *w = t->weight + o * t->taps;
            int sum = 1 << t->shift >> 1;
            for (int k = 0; k < t->n[o]; k++) sum += x[k] * w[k];
            j->y[r * t->out + o] = bytes_round(sum, t->shift);
        }
}

enum { BYTES_BLOCK = 256 }; /* sums of a part of a line, which stay in the first-level cache */

VECTOR_CLONES static void bytes_add(const uint8_t *x, int w, int n, int *sums) {
    for (int i = 0; i < n; i++) sums[i] += x[i] * w;
}

static void bytes_rows(void *ctx, int64_t begin, int64_t end) {
    const bytes_pass *j = ctx;
    const bytes_table *t = j->t;
    int sums[BYTES_BLOCK];
    for (int64_t r = begin; r < end; r++) {
        int64_t o = r % t->out;
        const uint8_t *x = j->x + (r / t->out * t->in + t->begin[o]) * j->inner;
        uint8_t *y = j->y + r * j->inner;
        for (int64_t i = 0; i < j->inner; i += BYTES_BLOCK) {
            int n = (int)int64_min(j->inner - i, BYTES_BLOCK);
            for (int k = 0; k < n; k++) sums[k] = 1 << t->shift >> 1;
            for (int k = 0; k < t->n[o]; k++)
                bytes_add(x + k * j->inner + i, t->weight[o * t->taps + k], n, sums);
            for (int k = 0; k < n; k++) y[i + k] = bytes_round(sums[k], t->shift);
        }
    }
}

/* Resamples dim 2 or 3 of *x. Replaces *x. */
static ctsc_status bytes_dim(op_ctx *cx, tensor **x, int dim, const upsample_table *t) {
    if (t->in == t->out) return CTSC_OK; /* whatever the scale */
    bytes_table b;
    tensor *y;
    int64_t sizes[4];
    for (int i = 0; i < 4; i++) sizes[i] = i == dim ? t->out : (*x)->sizes[i];
    ctsc_status st = bytes_table_make(cx, t, &b);
    if (st == CTSC_OK && (st = tensor_new(cx->diag, DT_UINT8, 4, sizes, &y)) == CTSC_OK) {
        bytes_pass j = {tensor_data(*x), tensor_data(y), dim == 3 ? 1 : sizes[3], &b};
        int64_t planes = sizes[0] * sizes[1];
        if (y->numel && dim == 3)
            pool_for(planes * sizes[2], kernel_grain(t->out * t->taps), bytes_columns, &j);
        else if (y->numel)
            pool_for(planes * t->out, kernel_grain(j.inner * t->taps), bytes_rows, &j);
        tensor_unref(*x);
        *x = y;
    }
    bytes_table_free(&b);
    return st;
}

ctsc_status upsample_bytes(op_ctx *cx, tensor *input, const upsample_table *rows,
                           const upsample_table *columns, tensor **out) {
    tensor *x;
    TRY(tensor_contiguous(cx->diag, input, &x));
    ctsc_status st = bytes_dim(cx, &x, 3, columns);
    if (st == CTSC_OK) st = bytes_dim(cx, &x, 2, rows);
    /* nothing to do gives a copy, never the input itself */
    if (st == CTSC_OK && x->storage == input->storage) {
        tensor *copy;
        st = tensor_clone(cx->diag, x, &copy);
        tensor_unref(x);
        x = st == CTSC_OK ? copy : NULL;
    }
    if (st == CTSC_OK) *out = x;
    else tensor_unref(x);
    return st;
}
