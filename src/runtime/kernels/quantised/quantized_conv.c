/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv.c - convolutions of quantised tensors.
 *
 * Method. Input and result lie channels last, so that what one tap reads of one place is one run
 * of channels. For a block of output places the runs of all taps are gathered into int16 rows,
 * less the zero point; places beside the input are zeros; the rows times the packed weights are
 * the sums. A transposed convolution gathers as well: output place o reads input place (o +
 * padding - tap * dilation) / stride where that is whole. A convolution with one channel per group
 * adds up products channel by channel instead. Everything is seen as three-dimensional, missing
 * dims in front being 1.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

typedef struct qconv {
    const packed *p;
    const uint8_t *x;                     /* channels last */
    char *out;                            /* the same */
    int64_t batch, in[3], place[3];       /* input and output sizes */
    int64_t in_channels, inputs, outputs; /* inputs, outputs: per group */
    int64_t places;                       /* output places, of all batches */
    int32_t zero_point;
    bool is_signed;
    quant_store store;
    int64_t block; /* output places to a piece */
    atomic_bool failed;
} qconv;

enum { QCONV_BLOCK_BYTES = 1 << 17, QCONV_MAX_BLOCK = 256 };

/* ---- gathering ------------------------------------------------------------------------------- */

/* The input coordinate that tap t of output coordinate o reads along one dim; -1: none. */
static int64_t qconv_source(const qconv *c, int dim, int64_t o, int64_t t) {
    const packed *p = c->p;
    int64_t at;
    if (p->transposed) {
        at = o + p->padding[dim] - t * p->dilation[dim];
        if (at < 0 || at % p->stride[dim]) return -1;
        at /= p->stride[dim];
    } else {
        at = o * p->stride[dim] - p->padding[dim] + t * p->dilation[dim];
    }
    return at >= 0 && at < c->in[dim] ? at : -1;
}

static NN_HOT void qconv_widen_unsigned(const uint8_t *x, int64_t n, int32_t zero, int16_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = (int16_t)(x[i] - zero);
}

static NN_HOT void qconv_widen_signed(const int8_t *x, int64_t n, int32_t zero, int16_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = (int16_t)(x[i] - zero);
}

static void qconv_widen(const qconv *c, const uint8_t *x, int64_t n, int16_t *out) {
    if (c->is_signed) qconv_widen_signed((const int8_t *)x, n, c->zero_point, out);
    else qconv_widen_unsigned(x, n, c->zero_point, out);
}

/* Which batch and coordinates an output place has. */
static void qconv_place(const qconv *c, int64_t k, int64_t at[4]) {
    for (int dim = 2; dim >= 0; dim--) {
        at[dim + 1] = k % c->place[dim];
        k /= c->place[dim];
    }
    at[0] = k;
}

/* The start of the run that taps (t0, t1, t2) read at a place; NULL: beside the input. */
static const uint8_t *qconv_run(const qconv *c, const int64_t at[4], int64_t t0, int64_t t1,
                                int64_t t2) {
    int64_t i0 = qconv_source(c, 0, at[1], t0), i1 = qconv_source(c, 1, at[2], t1),
            i2 = qconv_source(c, 2, at[3], t2);
    if (i0 < 0 || i1 < 0 || i2 < 0) return NULL;
    return c->x + (((at[0] * c->in[0] + i0) * c->in[1] + i1) * c->in[2] + i2) * c->in_channels;
}

/* One row: all taps of one place, for one group. */
static void qconv_gather(const qconv *c, int64_t place, int64_t group, int16_t *row, int64_t lda) {
    const packed *p = c->p;
    int64_t at[4], n = c->inputs;
    int16_t *to = row;
    qconv_place(c, place, at);
    for (int64_t t0 = 0; t0 < p->kernel[0]; t0++)
        for (int64_t t1 = 0; t1 < p->kernel[1]; t1++)
            for (int64_t t2 = 0; t2 < p->kernel[2]; t2++, to += n) {
                const uint8_t *x = qconv_run(c, at, t0, t1, t2);
                if (x) qconv_widen(c, x + group * n, n, to);
                else memset(to, 0, (size_t)n * sizeof *to);
            }
    if (to < row + lda) *to = 0;
}

/* ---- products -------------------------------------------------------------------------------- */

static void qconv_block(const qconv *c, int64_t first, int64_t last, int16_t *rows) {
    const packed *p = c->p;
    int32_t sums[QUANT_ROWS][QUANT_COLUMNS];
    int64_t item = 1;
    for (int64_t g = 0; g < p->groups; g++) {
        const quant_matrix *m = &p->matrix[g];
        int64_t lda = m->pairs * 2, panels = (m->n + QUANT_COLUMNS - 1) / QUANT_COLUMNS;
        for (int64_t k = first; k < last; k++) qconv_gather(c, k, g, rows + (k - first) * lda, lda);
        for (int64_t panel = 0; panel < panels; panel++) {
            int64_t column = panel * QUANT_COLUMNS, n = nn_min(QUANT_COLUMNS, m->n - column),
                    to = g * c->outputs + column;
            for (int64_t k = first; k < last; k += QUANT_ROWS) {
                int height = (int)nn_min(QUANT_ROWS, last - k);
                quant_tile(rows + (k - first) * lda, lda, height, m, panel, sums);
                for (int i = 0; i < height; i++)
                    quant_store_row(&c->store, sums[i], to, n,
                                    c->out + ((k + i) * p->out_features + to) * item);
            }
        }
    }
}

static void qconv_pieces(void *ctx, int64_t begin, int64_t end) {
    qconv *c = ctx;
    int64_t lda = c->p->matrix[0].pairs * 2;
    int16_t *rows = mem_alloc((size_t)(c->block * lda) * sizeof *rows);
    if (!rows) {
        atomic_store(&c->failed, true);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        qconv_block(c, i * c->block, nn_min((i + 1) * c->block, c->places), rows);
    mem_free(rows);
}

/* ---- one channel per group ------------------------------------------------------------------- */

enum { QCONV_CHANNELS = 64 }; /* whose sums are kept at a time */

static NN_HOT void qconv_add_unsigned(const uint8_t *x, const int16_t *w, int64_t n, int32_t zero,
                                      int32_t *sums) {
    for (int64_t i = 0; i < n; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)((x[i] - zero) * w[i]));
}

static NN_HOT void qconv_add_signed(const int8_t *x, const int16_t *w, int64_t n, int32_t zero,
                                    int32_t *sums) {
    for (int64_t i = 0; i < n; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)((x[i] - zero) * w[i]));
}

static void qconv_depthwise_place(const qconv *c, int64_t k) {
    const packed *p = c->p;
    int64_t at[4], channels = p->groups;
    int32_t sums[QCONV_CHANNELS];
    qconv_place(c, k, at);
    for (int64_t first = 0; first < channels; first += QCONV_CHANNELS) {
        int64_t n = nn_min(QCONV_CHANNELS, channels - first);
        const int16_t *w = p->depthwise + first;
        memset(sums, 0, sizeof sums);
        for (int64_t t0 = 0; t0 < p->kernel[0]; t0++)
            for (int64_t t1 = 0; t1 < p->kernel[1]; t1++)
                for (int64_t t2 = 0; t2 < p->kernel[2]; t2++, w += channels) {
                    const uint8_t *x = qconv_run(c, at, t0, t1, t2);
                    if (!x) continue;
                    if (c->is_signed)
                        qconv_add_signed((const int8_t *)x + first, w, n, c->zero_point, sums);
                    else qconv_add_unsigned(x + first, w, n, c->zero_point, sums);
                }
        quant_store_row(&c->store, sums, first, n, c->out + k * channels + first);
    }
}

static void qconv_depthwise_pieces(void *ctx, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) qconv_depthwise_place(ctx, k);
}

static ctsc_status qconv_compute(op_ctx *cx, qconv *c) {
    const packed *p = c->p;
    if (!c->places) return CTSC_OK;
    int64_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
    if (p->depthwise) {
        pool_for(c->places, nn_max(1, 200000 / nn_max(1, taps * p->groups)), qconv_depthwise_pieces,
                 c);
        return CTSC_OK;
    }
    int64_t lda = p->matrix[0].pairs * 2, work;
    c->block = nn_max(QUANT_ROWS, nn_min(QCONV_MAX_BLOCK,
                                         QCONV_BLOCK_BYTES / (lda * 2) / QUANT_ROWS * QUANT_ROWS));
    work = nn_max(1, lda * p->out_features) * c->block;
    atomic_init(&c->failed, false);
    pool_for((c->places + c->block - 1) / c->block, nn_max(1, 1000000 / nn_max(work, 1)),
             qconv_pieces, c);
    return atomic_load(&c->failed) ? diag_no_memory(cx->diag) : CTSC_OK;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static ctsc_status qconv_sizes(op_ctx *cx, const packed *p, const tensor *x, qconv *c,
                               int64_t *sizes) {
    int ndim = x->ndim, dims = p->dims;
    c->p = p;
    c->batch = x->sizes[0];
    c->in_channels = x->sizes[1];
    c->outputs = p->out_features / p->groups;
    c->inputs = p->transposed ? p->weight->sizes[0] / p->groups : p->weight->sizes[1];
    if (c->in_channels != c->inputs * p->groups)
        return nn_fail(cx,
                       "quantized::conv%dd: Given groups=%lld, expected input to have %lld "
                       "channels, but got %lld "
                       "channels instead",
                       dims, (long long)p->groups, (long long)(c->inputs * p->groups),
                       (long long)c->in_channels);
    sizes[0] = c->batch;
    sizes[1] = p->out_features;
    for (int i = 0; i < 3; i++) {
        int k = i - (3 - dims);
        int64_t reach = p->dilation[i] * (p->kernel[i] - 1) + 1;
        c->in[i] = k < 0 ? 1 : x->sizes[ndim - dims + k];
        int64_t room = c->in[i] + 2 * p->padding[i] - reach;
        if (c->in[i] > INT32_MAX)
            return nn_fail(cx, "quantized::conv%dd: the input is too large", dims);
        if (p->transposed)
            c->place[i] = (c->in[i] - 1) * p->stride[i] - 2 * p->padding[i] + reach +
                          p->output_padding[i];
        else c->place[i] = room < 0 ? 0 : room / p->stride[i] + 1;
        if (k >= 0) sizes[ndim - dims + k] = c->place[i];
        if (c->place[i] <= 0)
            return nn_fail(
                cx, "quantized::conv%dd: each dimension of output tensor should be greater than 0",
                dims);
    }
    return CTSC_OK;
}

/* The result has x's dtype and lies channels last. */
static ctsc_status qconv_run_static(op_ctx *cx, const packed *p, tensor *x, double scale,
                                    int64_t zero_point, bool relu, tensor **out) {
    qconv c = {.zero_point = (int32_t)x->quantiser->zero_point, .is_signed = x->dtype == DT_QINT8};
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *last = NULL, *made = NULL;
    dtype dt = (dtype)x->dtype;
    TRY(qconv_sizes(cx, p, x, &c, sizes));
    ctsc_status st = CTSC_OK;
    TRY_OUT(tensor_new(cx->diag, dt, x->ndim, sizes, &made));
    quant_last_strides(made->ndim, sizes, made->strides);
    made->quantiser = quantiser_new(scale, zero_point);
    if (!made->quantiser) TRY_OUT(diag_no_memory(cx->diag));
    TRY_OUT(quant_to_channels_last(cx, x, &last));
    TRY_OUT(quant_store_make(cx, p, x->quantiser->scale, made, relu, &c.store));
    c.x = tensor_data(last);
    c.out = tensor_data(made);
    c.places = c.batch * c.place[0] * c.place[1] * c.place[2];
    TRY_OUT(qconv_compute(cx, &c));
out:
    tensor_unref(last);
    quant_store_free(&c.store);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

/* ---- operators ------------------------------------------------------------------------------- */

static ctsc_status qconv_check(op_ctx *cx, const packed *p, const tensor *x, double scale,
                               int64_t zero, int dims, bool transposed) {
    char what[40];
    snprintf(what, sizeof what, "quantized::conv%s%dd", transposed ? "_transpose" : "", dims);
    TRY(quant_need_affine(cx, x, what));
    if (x->dtype != DT_QUINT8 && x->dtype != DT_QINT8)
        return nn_fail(cx, "%s: Expected activation data type QUInt8 but got %s", what,
                       dtype_table[x->dtype].ir_name);
    if (x->ndim != dims + 2)
        return nn_fail(cx, "%s: Expected activation tensor to have %d dimensions, got %d", what,
                       dims + 2, x->ndim);
    if (p->transposed != transposed)
        return nn_fail(cx, "%s: the packed parameters are %s transposed", what,
                       p->transposed ? "" : "not");
    if (p->dims != (dims == 1 ? 2 : dims))
        return nn_fail(cx, "%s: the packed parameters have %d dimensions", what, p->dims);
    if (!(scale > 0)) return nn_fail(cx, "%s: output scale must be positive", what);
    if (zero < dtype_qmin((dtype)x->dtype) || zero > dtype_qmax((dtype)x->dtype))
        return nn_fail(cx, "%s: output zero point out of range", what);
    return CTSC_OK;
}

/* conv(x, packed, scale, zero_point) */
static ctsc_status qconv_op(op_ctx *cx, const value *args, const value *scale_arg, value *results,
                            int dims, bool transposed, bool relu) {
    const packed *p;
    tensor *x = args[0].u.tensor, *wide = NULL, *out = NULL, *thin;
    double scale = arg_float(&scale_arg[0]);
    int64_t zero = arg_int(&scale_arg[1]);
    TRY(packed_of(cx, &args[1], PACKED_CONV, &p));
    TRY(qconv_check(cx, p, x, scale, zero, dims, transposed));
    if (dims != 1) {
        TRY(qconv_run_static(cx, p, x, scale, zero, relu, &out));
        return op_return_tensor(results, out);
    }
    TRY(tensor_unsqueeze(cx->diag, x, 2, &wide));
    ctsc_status s = qconv_run_static(cx, p, wide, scale, zero, relu, &out);
    tensor_unref(wide);
    TRY(s);
    s = tensor_squeeze_dim(cx->diag, out, 2, &thin);
    tensor_unref(out);
    TRY(s);
    return op_return_tensor(results, thin);
}

#define QCONV(name, dims, transposed, relu)                                                        \
    OPERATOR(quantized_##name) {                                                                   \
        return qconv_op(cx, args, args + 2, results, dims, transposed, relu);                      \
    }
QCONV(conv1d, 1, false, false)
QCONV(conv1d_relu, 1, false, true)
QCONV(conv2d, 2, false, false)
QCONV(conv2d_relu, 2, false, true)
QCONV(conv3d, 3, false, false)
QCONV(conv3d_relu, 3, false, true)
QCONV(conv_transpose1d, 1, true, false)
QCONV(conv_transpose2d, 2, true, false)
QCONV(conv_transpose3d, 3, true, false)

/* The older form: conv(x, packed, stride, padding, dilation, groups, scale, zero_point), whose
 * geometry stands in the packed parameters as well */
#define QCONV_OLD(name, dims, relu)                                                                \
    OPERATOR(quantized_##name##_old) {                                                             \
        return qconv_op(cx, args, args + 6, results, dims, false, relu);                           \
    }
QCONV_OLD(conv2d, 2, false)
QCONV_OLD(conv2d_relu, 2, true)
QCONV_OLD(conv3d, 3, false)
QCONV_OLD(conv3d_relu, 3, true)
