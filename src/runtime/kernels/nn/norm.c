/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm.c - batch, layer, group and instance normalisation, and weight normalisation.
 *
 * Method: every normalisation is y = x * scale + shift over rows of a contiguous tensor;
 * what differs is which elements the mean and the variance are taken over. Statistics are two
 * passes with sums in blocks: as exact as Welford's method here, and simple loops.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/engine/channels_last.h"
#include "runtime/kernels/nn/nn.h"

#include <math.h>
#include <string.h>

/* ---- rows: y = x * scale + shift ------------------------------------------------------------- */

/* Row r of `inner` elements takes scale[r % period] and shift[r % period] (dtype of the data). */
typedef struct norm_rows {
    dtype dt;
    const void *x;
    void *y;
    const void *scale, *shift;
    int64_t period, inner;
} norm_rows;

VECTOR_CLONES static void norm_row_f32(const float *x, float *y, int64_t n, float a, float b) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * a + b;
}
VECTOR_LOOPS static void norm_row_f64(const double *x, double *y, int64_t n, double a, double b) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * a + b;
}
#define norm_row(x, y, n, a, b)                                                                    \
    _Generic(*(x), float: norm_row_f32, double: norm_row_f64)((const void *)(x), (void *)(y), n,   \
                                                              a, b)

VECTOR_CLONES static void norm_each_f32(const float *x, float *y, int64_t n, const float *a,
                                        const float *b) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * a[i] + b[i];
}
VECTOR_LOOPS static void norm_each_f64(const double *x, double *y, int64_t n, const double *a,
                                       const double *b) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * a[i] + b[i];
}
#define norm_each(x, y, n, a, b)                                                                   \
    _Generic(*(x), float: norm_each_f32, double: norm_each_f64)(                                   \
        (const void *)(x), (void *)(y), n, (const void *)(a), (const void *)(b))

static void norm_rows_range(void *ctx, int64_t begin, int64_t end) {
    const norm_rows *j = ctx;
    WIDE_DISPATCH(j->dt, {
        const T *x = j->x;
        T *y = j->y;
        const T *scale = j->scale;
        const T *shift = j->shift;
        if (j->inner ==
            1) { /* one element per row: consecutive rows run through all scales and shifts */
            for (int64_t r = begin; r < end;) {
                int64_t at = r % j->period;
                int64_t n = int64_min(end - r, j->period - at);
                norm_each(x + r, y + r, n, scale + at, shift + at);
                r += n;
            }
        } else {
            for (int64_t r = begin; r < end; r++)
                norm_row(x + r * j->inner, y + r * j->inner, j->inner, scale[r % j->period],
                         shift[r % j->period]);
        }
    });
}

static void norm_rows_run(norm_rows *j, int64_t rows) {
    pool_for(rows, kernel_grain(j->inner), norm_rows_range, j);
}

/* ---- batch norm: statistics per channel ------------------------------------------------------ */

typedef struct norm_stats {
    dtype dt;
    const void *x;
    int64_t batch, channels, inner;
    double *mean, *square; /* per channel: mean, sum of squared differences */
} norm_stats;

static void norm_stats_range(void *ctx, int64_t begin, int64_t end) {
    const norm_stats *j = ctx;
    double count = (double)j->batch * (double)j->inner;
    WIDE_DISPATCH(j->dt, {
        const T *x = j->x;
        for (int64_t c = begin; c < end; c++) j->mean[c] = j->square[c] = 0;
        if (j->inner == 1) {
            for (int64_t n = 0; n < j->batch; n++)
                for (int64_t c = begin; c < end; c++) j->mean[c] += (double)x[n * j->channels + c];
            for (int64_t c = begin; c < end; c++) j->mean[c] /= count;
            for (int64_t n = 0; n < j->batch; n++) {
                for (int64_t c = begin; c < end; c++) {
                    double v = (double)x[n * j->channels + c] - j->mean[c];
                    j->square[c] += v * v;
                }
            }
        } else {
            for (int64_t c = begin; c < end; c++) {
                for (int64_t n = 0; n < j->batch; n++)
                    j->mean[c] += nn_sum(x + (n * j->channels + c) * j->inner, j->inner);
                j->mean[c] /= count;
                for (int64_t n = 0; n < j->batch; n++)
                    j->square[c] += nn_square_sum(x + (n * j->channels + c) * j->inner, j->inner,
                                                  (T)j->mean[c]);
            }
        }
    });
}

static void norm_stats_run(norm_stats *j) {
    pool_for(j->channels, kernel_grain(2 * j->batch * j->inner), norm_stats_range, j);
}

/* ---- batch norm ------------------------------------------------------------------------------ */

/* The arguments of batch_norm and instance_norm, and intermediate values. */
typedef struct norm_batch {
    tensor *input, *weight, *bias, *mean, *var; /* mean, var: running statistics; NULL: none */
    bool training;
    double momentum, eps;
    int64_t channels;
    int64_t instances; /* how often PyTorch repeats the parameters: instance norm */
} norm_batch;

static int64_t norm_channels(const tensor *input) { return input->ndim > 1 ? input->sizes[1] : 0; }

static ctsc_status norm_check_channels(op_ctx *cx, const char *name, const tensor *t,
                                       const norm_batch *b) {
    if (!t || t->numel == b->channels) return CTSC_OK;
    return kernel_fail(cx, "%s should contain %lld elements not %lld", name,
                       (long long)(b->channels * b->instances),
                       (long long)(t->numel * b->instances));
}

/* Parameters have the input's dtype; beside half and bfloat16 inputs they may also be float. */
static ctsc_status norm_check_param_dtype(op_ctx *cx, const norm_batch *b, const tensor *t) {
    dtype in = (dtype)b->input->dtype;
    if (!t || t->dtype == in) return CTSC_OK;
    if (wide_dtype(in) != in && t->dtype == DT_FLOAT32) return CTSC_OK;
    if (wide_dtype(in) != in)
        return kernel_fail(cx, "mixed dtype (CPU): expect parameter to have scalar type of Float");
    return kernel_fail(cx, "mixed dtype (CPU): expect input to have scalar type of BFloat16");
}

/* So that norm_at finds each element. Only running statistics have to be vectors; of the others the
 * number of elements counts. */
static ctsc_status norm_check_layout(op_ctx *cx, const norm_batch *b) {
    const tensor *running[] = {b->mean, b->var}, *affine[] = {b->weight, b->bias};
    for (int i = 0; i < 2; i++) {
        if (running[i] && running[i]->ndim != 1)
            return kernel_fail(cx, "TensorAccessor expected 1 dims but tensor has %d",
                               running[i]->ndim);
        if (affine[i] && affine[i]->ndim > 1 && !tensor_is_contiguous(affine[i]))
            return kernel_fail(cx, "weight and bias should be 1-dimensional or contiguous");
    }
    return CTSC_OK;
}

static ctsc_status norm_batch_check(op_ctx *cx, const norm_batch *b) {
    if (b->mean) TRY(norm_check_channels(cx, "running_mean", b->mean, b));
    else if (!b->training)
        return kernel_fail(cx, "running_mean must be defined in evaluation mode");
    if (b->var) TRY(norm_check_channels(cx, "running_var", b->var, b));
    else if (!b->training) return kernel_fail(cx, "running_var must be defined in evaluation mode");
    TRY(norm_check_channels(cx, "weight", b->weight, b));
    TRY(norm_check_channels(cx, "bias", b->bias, b));
    TRY(norm_check_layout(cx, b));
    if (!dtype_is_float((dtype)b->input->dtype))
        return op_refuse_dtype(cx, "batch_norm", (dtype)b->input->dtype);
    TRY(norm_check_param_dtype(cx, b, b->weight));
    TRY(norm_check_param_dtype(cx, b, b->bias));
    TRY(norm_check_param_dtype(cx, b, b->mean));
    return norm_check_param_dtype(cx, b, b->var);
}

/* Element i of a vector of any dtype and stride, or of a contiguous tensor; `other`
 * without a tensor. */
static double norm_at(const tensor *t, int64_t i, double other) {
    if (!t) return other;
    size_t size = dtype_size((dtype)t->dtype);
    int64_t stride = t->ndim == 1 ? t->strides[0] : 1;
    return dtype_load_float((dtype)t->dtype, (char *)tensor_data(t) + (size_t)(i * stride) * size);
}

static ctsc_status norm_store_all(op_ctx *cx, tensor *t, const double *values) {
    TRY(tensor_make_writable(cx->diag, t));
    size_t size = dtype_size((dtype)t->dtype);
    for (int64_t i = 0; i < t->numel; i++)
        dtype_store_float((dtype)t->dtype,
                          (char *)tensor_data(t) + (size_t)(i * t->strides[0]) * size, values[i]);
    return CTSC_OK;
}

/* running = momentum * mean over the instances + (1 - momentum) * running, both statistics. `stats`
 * has `instances` values per channel. */
static ctsc_status norm_update_running(op_ctx *cx, const norm_batch *b, const norm_stats *s,
                                       int64_t instances) {
    double count = (double)s->batch * (double)s->inner;
    for (int which = 0; which < 2; which++) {
        tensor *t = which ? b->var : b->mean;
        if (!t) continue;
        double *fresh = mem_alloc(sizeof *fresh * (size_t)int64_max(b->channels, 1));
        if (!fresh) return diag_no_memory(cx->diag);
        for (int64_t c = 0; c < b->channels; c++) {
            double old = norm_at(t, c, 0), sum = 0;
            for (int64_t n = 0; n < instances; n++) {
                int64_t at = n * b->channels + c;
                double now = which ? s->square[at] / (count - 1) : s->mean[at];
                sum += b->momentum * now + (1 - b->momentum) * old;
            }
            fresh[c] = sum / (double)instances;
        }
        ctsc_status st = norm_store_all(cx, t, fresh);
        mem_free(fresh);
        TRY(st);
    }
    return CTSC_OK;
}

/* Fills scale and shift, `rows` values each, of dtype dt: row r belongs to channel r % channels. */
static void norm_batch_affine(const norm_batch *b, const norm_stats *s, dtype dt, int64_t rows,
                              void *scale, void *shift) {
    double count = (double)s->batch * (double)s->inner;
    WIDE_DISPATCH(dt, {
        T *alpha = scale;
        T *beta = shift;
        for (int64_t r = 0; r < rows; r++) {
            int64_t c = r % b->channels;
            T mean = s->mean ? (T)s->mean[r] : (T)norm_at(b->mean, c, 0);
            T var = s->mean ? (T)(s->square[r] / count) : (T)norm_at(b->var, c, 0);
            T invstd = (T)1 / (T)sqrt((double)(var + (T)b->eps));
            if (s->mean) s->square[r] = 1 / sqrt(s->square[r] / count + b->eps);
            alpha[r] = invstd * (T)norm_at(b->weight, c, 1);
            beta[r] = (T)norm_at(b->bias, c, 0) - mean * alpha[r];
        }
    });
}

/* Normalises b->input seen as [batch, rows, inner]; rows = channels * instances. In training the
 * statistics are left in stats: the means, and in place of the squares the inverse standard
 * deviations. */
static ctsc_status norm_batch_run(op_ctx *cx, const norm_batch *b, int64_t batch, int64_t rows,
                                  int64_t inner, norm_stats *stats, tensor **out) {
    tensor *x = NULL, *y = NULL;
    ctsc_status st;
    void *affine = NULL;
    TRY(wide_input(cx, "batch_norm", b->input, &x));
    TRY_OUT(tensor_new_like(cx->diag, x, (dtype)x->dtype, &y));
    if (!(affine = mem_alloc(2 * sizeof(double) * (size_t)int64_max(rows, 1)))) {
        st = diag_no_memory(cx->diag);
        goto out;
    }
    *stats = (norm_stats){.dt = (dtype)x->dtype,
                          .x = tensor_data(x),
                          .batch = batch,
                          .channels = rows,
                          .inner = inner,
                          .mean = stats->mean,
                          .square = stats->square};
    if (b->training) {
        norm_stats_run(stats);
        TRY_OUT(norm_update_running(cx, b, stats, rows / int64_max(b->channels, 1)));
    }
    void *shift = (double *)affine + rows;
    norm_batch_affine(b, stats, (dtype)x->dtype, rows, affine, shift);
    norm_rows j = {(dtype)x->dtype, tensor_data(x), tensor_data(y), affine, shift, rows, inner};
    norm_rows_run(&j, batch * rows);
    TRY_OUT(wide_round(cx, &y, (dtype)b->input->dtype));
    *out = y, y = NULL;
out:
    mem_free(affine);
    tensor_unref(x);
    tensor_unref(y);
    return st;
}

/* The statistics as tensors; empty ones in evaluation. */
static ctsc_status norm_saved(op_ctx *cx, dtype dt, int64_t n, const double *values, tensor **out) {
    int64_t size = values ? n : 0;
    TRY(tensor_new(cx->diag, dt, 1, &size, out));
    for (int64_t i = 0; i < size; i++)
        dtype_store_float(dt, (char *)tensor_data(*out) + (size_t)i * dtype_size(dt), values[i]);
    return CTSC_OK;
}

/* out[0..3): normalised input, saved mean, saved inverse standard deviation. */
static ctsc_status norm_batch_all(op_ctx *cx, const value *args, tensor **out) {
    norm_batch b = {.input = arg_tensor(&args[0]),
                    .weight = arg_tensor_or_null(&args[1]),
                    .bias = arg_tensor_or_null(&args[2]),
                    .mean = arg_tensor_or_null(&args[3]),
                    .var = arg_tensor_or_null(&args[4]),
                    .training = arg_bool(&args[5]),
                    .momentum = arg_float(&args[6]),
                    .eps = arg_float(&args[7])};
    norm_stats stats = {.mean = NULL};
    ctsc_status st;
    double *memory = NULL;
    int dim;
    if (b.input->numel) TRY(op_wrap_dim(cx, b.input, 1, &dim));
    b.channels = norm_channels(b.input);
    b.instances = 1;
    TRY(norm_batch_check(cx, &b));
    bool empty = b.input->numel == 0;
    if (b.training && !empty) {
        if (!(memory = mem_alloc(2 * sizeof *memory * (size_t)b.channels)))
            return diag_no_memory(cx->diag);
        stats.mean = memory, stats.square = memory + b.channels;
    }
    if (empty) TRY_OUT(tensor_clone(cx->diag, b.input, &out[0]));
    else
        TRY_OUT(norm_batch_run(cx, &b, b.input->sizes[0], b.channels,
                               sizes_product(b.input, 2, b.input->ndim), &stats, &out[0]));
    dtype in = (dtype)b.input->dtype;
    const tensor *params[] = {b.weight, b.bias, b.mean, b.var};
    bool mixed = false;
    for (int i = 0; i < 4; i++) mixed |= params[i] && params[i]->dtype != in;
    dtype saved = mixed ? wide_dtype(in) : in;
    TRY_OUT(norm_saved(cx, saved, b.channels, stats.mean, &out[1]));
    TRY_OUT(norm_saved(cx, saved, b.channels, stats.square, &out[2]));
out:
    mem_free(memory);
    return st;
}

static void norm_release(int n, tensor **t) {
    for (int i = 0; i < n; i++) tensor_unref(t[i]);
}

/* Where st says that n results were made: the operator returns the first of them, for which the
 * others are by the way. Takes all. */
static ctsc_status norm_return_first(ctsc_status st, int n, tensor **out, value *results) {
    norm_release(n - 1, out + 1);
    if (st == CTSC_OK) return op_return_tensor(results, out[0]);
    tensor_unref(out[0]);
    return st;
}

/* The same where it returns all of them, or writes them to its out= arguments. */
static ctsc_status norm_return_all(op_ctx *cx, const value *args, ctsc_status st, int n,
                                   tensor **out, value *results) {
    if (st == CTSC_OK) return op_finish_all(cx, args, n, out, results);
    norm_release(n, out);
    return st;
}

/* batch_norm of nothing: PyTorch multiplies and adds the first weight and bias, and asks
 * no more of them. */
static ctsc_status norm_batch_empty(op_ctx *cx, const value *args, value *results) {
    dtype dt = (dtype)arg_tensor(&args[0])->dtype;
    tensor *out;
    for (int k = 1; k <= 2; k++)
        if (arg_tensor_or_null(&args[k]))
            dt = dtype_promote(dt, (dtype)arg_tensor(&args[k])->dtype);
    TRY(tensor_new_like(cx->diag, arg_tensor(&args[0]), dt, &out));
    return op_return_tensor(results, out);
}

ctsc_status op_batch_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out[3] = {NULL};
    if (arg_tensor(&args[0])->numel == 0) return norm_batch_empty(cx, args, results);
    ctsc_status st = norm_batch_all(cx, args, out);
    return norm_return_first(st, 3, out, results);
}

/* ---- ctsc::scale_channels_last: a batch norm of constants, of images whose channels come last  */

/* Is x of the dtype that the parameters had (dt), or of 16 bits where they were float32? */
static bool norm_scale_fits(const tensor *x, const tensor *scale, const tensor *shift,
                            int64_t spatial, dtype dt) {
    dtype in = (dtype)x->dtype;
    return wide_dtype(in) == DT_FLOAT32 && (dt == in || dt == DT_FLOAT32) &&
           tensor_device(x) == DEVICE_HOST && x->ndim == spatial + 2 &&
           x->sizes[x->ndim - 1] == scale->numel && scale->ndim == 1 &&
           scale->dtype == DT_FLOAT32 && shift->ndim == 1 && shift->numel == scale->numel &&
           shift->dtype == DT_FLOAT32;
}

/* Anything else: the batch norm itself, for what it says of its arguments. Mean and variance are
 * 0, and eps is 1. */
static ctsc_status norm_scale_slowly(op_ctx *cx, const value *args, int spatial, dtype dt,
                                     value *results) {
    diag *d = cx->diag;
    tensor *x = NULL, *params[3] = {NULL}, *last = NULL, *t = NULL;
    value y = value_none();
    const tensor *scale = arg_tensor(&args[1]);
    if (dt == DT_FLOAT32) dt = (dtype)scale->dtype;
    ctsc_status st = channels_first_view(d, arg_tensor(&args[0]), spatial, &x);
    for (int i = 0; i < 2 && st == CTSC_OK; i++)
        st = tensor_to_dtype(d, arg_tensor(&args[i + 1]), dt, &params[i]);
    if (st == CTSC_OK) st = tensor_zeros(d, dt, scale->ndim, scale->sizes, &params[2]);
    if (st == CTSC_OK) {
        value p[3];
        for (int i = 0; i < 3; i++) p[i] = value_tensor_take(params[i]);
        value all[] = {value_tensor_take(x),
                       p[0],
                       p[1],
                       p[2],
                       p[2],
                       value_bool(false),
                       value_float(0),
                       value_float(1),
                       value_bool(false)};
        st = op_call(cx, "aten::batch_norm", 9, all, &y);
    }
    if (st == CTSC_OK) st = channels_last_view(d, y.u.tensor, spatial, &last);
    if (st == CTSC_OK) st = tensor_contiguous(d, last, &t);
    tensor_unref(x);
    for (int i = 0; i < 3; i++) tensor_unref(params[i]);
    tensor_unref(last);
    value_unref(y);
    return st == CTSC_OK ? op_return_tensor(results, t) : st;
}

/* (self, scale, shift, spatial, dtype): dtype is that of the batch norm's
 * parameters, from which the float32 scale and shift were made; None: float32. */
ctsc_status op_scale_channels_last(op_ctx *cx, const value *args, value *results) {
    int spatial = 0;
    tensor *x = arg_tensor(&args[0]), *wide;
    dtype dt = arg_dtype_or(&args[4], DT_FLOAT32);
    TRY(channels_spatial(cx, &args[3], &spatial));
    if (!norm_scale_fits(x, arg_tensor(&args[1]), arg_tensor(&args[2]), spatial, dt))
        return norm_scale_slowly(cx, args, spatial, dt, results);
    TRY(wide_as(cx, x, DT_FLOAT32, &wide));
    value product = value_none(), sum = value_none(),
          factors[] = {value_tensor_take(wide), args[1]};
    ctsc_status st = op_call(cx, "aten::mul.Tensor", 2, factors, &product);
    tensor_unref(wide);
    if (st == CTSC_OK)
        st = op_call(cx, "aten::add_.Tensor", 3, (value[]){product, args[2], value_int(1)}, &sum);
    value_unref(product);
    if (st != CTSC_OK) return st;
    tensor *y = sum.u.tensor;
    TRY(wide_round(cx, &y, (dtype)x->dtype));
    return op_return_tensor(results, y);
}

ctsc_status op_native_batch_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out[3] = {NULL};
    ctsc_status st = norm_batch_all(cx, args, out);
    return norm_return_all(cx, args, st, 3, out, results);
}

ctsc_status op_batch_norm_impl_index(op_ctx *cx, const value *args, value *results) {
    tensor *out[4] = {NULL};
    int64_t none = 0;
    ctsc_status st = norm_batch_all(cx, args, out);
    if (st == CTSC_OK) st = tensor_new(cx->diag, DT_UINT8, 1, &none, &out[3]);
    if (st != CTSC_OK) {
        norm_release(4, out);
        return st;
    }
    for (int i = 0; i < 4; i++) results[i] = value_tensor_take(out[i]);
    results[4] = value_int(0);
    return CTSC_OK;
}

ctsc_status op_instance_norm(op_ctx *cx, const value *args, value *results) {
    norm_batch b = {.input = arg_tensor(&args[0]),
                    .weight = arg_tensor_or_null(&args[1]),
                    .bias = arg_tensor_or_null(&args[2]),
                    .mean = arg_tensor_or_null(&args[3]),
                    .var = arg_tensor_or_null(&args[4]),
                    .training = arg_bool(&args[5]),
                    .momentum = arg_float(&args[6]),
                    .eps = arg_float(&args[7])};
    if (!b.training && (!b.mean || !b.var))
        return kernel_fail(
            cx,
            "Expected running_mean and running_var to be defined when use_input_stats is false");
    int dim;
    TRY(op_wrap_dim(cx, b.input, 0, &dim));
    TRY(op_wrap_dim(cx, b.input, 1, &dim));
    const tensor *repeated[] = {b.weight, b.bias, b.mean, b.var};
    for (int i = 0; i < 4; i++)
        if (repeated[i] && repeated[i]->ndim > 1)
            return kernel_fail(cx,
                               "Number of dimensions of repeat dims can not be smaller than number "
                               "of dimensions of tensor");
    b.channels = norm_channels(b.input);
    b.instances = b.input->sizes[0];
    TRY(norm_batch_check(cx, &b));
    tensor *y;
    if (b.input->numel == 0) {
        TRY(tensor_clone(cx->diag, b.input, &y));
        return op_return_tensor(results, y);
    }
    int64_t rows = b.input->sizes[0] * b.channels;
    norm_stats stats = {.mean = NULL};
    double *memory = mem_alloc(2 * sizeof *memory * (size_t)rows);
    if (!memory) return diag_no_memory(cx->diag);
    if (b.training) stats.mean = memory, stats.square = memory + rows;
    ctsc_status st = norm_batch_run(cx, &b, 1, rows, sizes_product(b.input, 2, b.input->ndim),
                                    &stats, &y);
    mem_free(memory);
    return st == CTSC_OK ? op_return_tensor(results, y) : st;
}

/* ---- layer norm ------------------------------------------------------------------------------ */

typedef struct norm_layer {
    dtype dt;
    const void *x, *weight, *bias;
    void *y, *mean, *rstd;
    int64_t inner;
    double eps;
    int64_t groups, channel; /* group norm: groups per item, elements of a channel; 0: layer norm */
} norm_layer;

VECTOR_CLONES static void norm_layer_row_f32(const float *x, float *y, int64_t n, float a, float b,
                                             const float *w, const float *v) {
    if (w && v)
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] * a + b) * w[i] + v[i];
    else
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] * a + b) * (w ? w[i] : 1) + (v ? v[i] : 0);
}
VECTOR_LOOPS static void norm_layer_row_f64(const double *x, double *y, int64_t n, double a,
                                            double b, const double *w, const double *v) {
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] * a + b) * (w ? w[i] : 1) + (v ? v[i] : 0);
}
#define norm_layer_row(x, y, n, a, b, w, v)                                                        \
    _Generic(*(x), float: norm_layer_row_f32, double: norm_layer_row_f64)(                         \
        (const void *)(x), (void *)(y), n, a, b, (const void *)(w), (const void *)(v))

static void norm_layer_range(void *ctx, int64_t begin, int64_t end) {
    const norm_layer *j = ctx;
    int64_t n = j->inner;
    WIDE_DISPATCH(j->dt, {
        const T *weight = j->weight;
        const T *bias = j->bias;
        for (int64_t r = begin; r < end; r++) {
            const T *x = (const T *)j->x + r * n;
            T *y = (T *)j->y + r * n;
            double mean = n ? nn_sum(x, n) / (double)n : 0;
            double var = nn_square_sum(x, n, (T)mean) / (double)n;
            T spread = (T)sqrt((double)((T)var + (T)j->eps));
            T scale = 1 / spread;
            T shift = -scale * (T)mean;
            ((T *)j->mean)[r] = (T)mean;
            ((T *)j->rstd)[r] = scale;
            /* what is left of the only element is rounding: rounded as PyTorch does, once */
            if (!j->groups && n == 1) {
                T only = (T)((double)*x * (double)scale + (double)shift);
                *y = (T)((double)only * (double)(weight ? *weight : 1) +
                         (double)(bias ? *bias : 0));
                continue;
            }
            if (!j->groups) {
                norm_layer_row(x, y, n, scale, shift, weight, bias);
                continue;
            }
            int64_t channels = n / int64_max(j->channel, 1);
            int64_t c = r % j->groups * channels;
            for (int64_t k = 0; k < channels; k++, c++) {
                T a = weight ? scale * weight[c] : scale;
                T b = bias ? -a * (T)mean + bias[c] : -a * (T)mean;
                norm_row(x + k * j->channel, y + k * j->channel, j->channel, a, b);
            }
        }
    });
}

/* Weight and bias are of the input's type; those of half precision may all be of single precision
 * instead, as modules are under autocast: then the statistics are, too. */
static ctsc_status norm_check_dtypes(op_ctx *cx, const tensor *input, const value *weight,
                                     const value *bias, dtype *statistics) {
    const tensor *t[] = {arg_tensor_or_null(weight), arg_tensor_or_null(bias)};
    bool half = dtype_is_half((dtype)input->dtype);
    *statistics = (dtype)input->dtype;
    for (int i = 0; i < 2; i++)
        if (t[i] && half && t[i]->dtype == DT_FLOAT32) *statistics = DT_FLOAT32;
    for (int i = 0; i < 2; i++)
        if (t[i] && t[i]->dtype != *statistics)
            return kernel_fail(cx, "expected scalar type %s but found %s",
                               dtype_table[*statistics].ir_name, dtype_table[t[i]->dtype].ir_name);
    return CTSC_OK;
}

/* The common part of layer and group norm: `rows` rows with statistics of shape (nd, sizes).
 * out[0..3): normalised input, means, reciprocal standard deviations. */
static ctsc_status norm_layer_run(op_ctx *cx, const char *name, tensor *input, const value *weight,
                                  const value *bias, norm_layer *j, int64_t rows, int nd,
                                  const int64_t *sizes, tensor **out) {
    tensor *x = NULL, *w = NULL, *b = NULL;
    ctsc_status st;
    dtype statistics;
    TRY(norm_check_dtypes(cx, input, weight, bias, &statistics));
    TRY(wide_input(cx, name, input, &x));
    dtype dt = (dtype)x->dtype;
    TRY_OUT(wide_as_optional(cx, weight, dt, &w));
    TRY_OUT(wide_as_optional(cx, bias, dt, &b));
    TRY_OUT(tensor_new_like(cx->diag, x, dt, &out[0]));
    TRY_OUT(tensor_new(cx->diag, dt, nd, sizes, &out[1]));
    TRY_OUT(tensor_new(cx->diag, dt, nd, sizes, &out[2]));
    j->dt = dt, j->x = tensor_data(x), j->y = tensor_data(out[0]);
    j->weight = w ? tensor_data(w) : NULL, j->bias = b ? tensor_data(b) : NULL;
    j->mean = tensor_data(out[1]), j->rstd = tensor_data(out[2]);
    if (rows) pool_for(rows, kernel_grain(j->inner) / 4 + 1, norm_layer_range, j);
    TRY_OUT(wide_round(cx, &out[0], (dtype)input->dtype));
    for (int i = 1; i < 3; i++) TRY_OUT(wide_round(cx, &out[i], statistics));
out:
    tensor_unref(x);
    tensor_unref(w);
    tensor_unref(b);
    return st;
}

static ctsc_status norm_layer_param(op_ctx *cx, const char *name, const value *v, int n,
                                    const int64_t *shape) {
    const tensor *t = arg_tensor_or_null(v);
    if (!t || (t->ndim == n && memcmp(t->sizes, shape, sizeof *shape * (size_t)n) == 0))
        return CTSC_OK;
    sizes_text have, want;
    return kernel_fail(
        cx,
        "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
        "normalized_shape = %s",
        name, name, shape_print(t, &have), sizes_print(n, shape, &want));
}

static ctsc_status norm_layer_check(op_ctx *cx, const tensor *x, int n, const int64_t *shape) {
    if (n <= x->ndim && memcmp(x->sizes + x->ndim - n, shape, sizeof *shape * (size_t)n) == 0)
        return CTSC_OK;
    sizes_text have, want;
    return kernel_fail(
        cx, "Given normalized_shape=%s, expected input with shape [*, %s, but got input of size%s",
        sizes_print(n, shape, &want), want.s + 1, shape_print(x, &have));
}

/* args: input, normalized_shape, weight, bias, eps - the same places in both overloads. */
static ctsc_status norm_layer_all(op_ctx *cx, const value *args, tensor **out) {
    tensor *input = arg_tensor(&args[0]);
    const int64_t *shape;
    int n = arg_ints(&args[1], &shape);
    if (n < 1)
        return kernel_fail(
            cx, "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
                "least one element, but got normalized_shape = []");
    TRY(norm_layer_param(cx, "weight", &args[2], n, shape));
    TRY(norm_layer_param(cx, "bias", &args[3], n, shape));
    TRY(norm_layer_check(cx, input, n, shape));
    int outer = input->ndim - n;
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int i = 0; i < input->ndim; i++) sizes[i] = i < outer ? input->sizes[i] : 1;
    norm_layer j = {.inner = sizes_product(input, outer, input->ndim), .eps = arg_float(&args[4])};
    return norm_layer_run(cx, "LayerNormKernelImpl", input, &args[2], &args[3], &j,
                          sizes_product(input, 0, outer), input->ndim, sizes, out);
}

ctsc_status op_layer_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out[3] = {NULL};
    ctsc_status st = norm_layer_all(cx, args, out);
    return norm_return_first(st, 3, out, results);
}

ctsc_status op_native_layer_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out[3] = {NULL};
    ctsc_status st = norm_layer_all(cx, args, out);
    return norm_return_all(cx, args, st, 3, out, results);
}

/* ---- group norm ------------------------------------------------------------------------------ */

/* PyTorch tells the shape of the weight in both cases. */
static ctsc_status norm_group_param(op_ctx *cx, const char *name, const value *v, int64_t channels,
                                    const tensor *weight, const tensor *input) {
    const tensor *t = arg_tensor_or_null(v);
    if (!t || (t->ndim == 1 && t->numel == channels)) return CTSC_OK;
    sizes_text have, in;
    return kernel_fail(
        cx,
        "Expected %s to be a vector of size equal to the number of channels in input, but "
        "got %s of shape %s and input of shape %s",
        name, name, weight ? shape_print(weight, &have) : "[0]", shape_print(input, &in));
}

static ctsc_status norm_group_all(op_ctx *cx, tensor *input, const value *weight, const value *bias,
                                  int64_t batch, int64_t channels, int64_t inner, int64_t groups,
                                  double eps, tensor **out) {
    if (groups <= 0)
        return kernel_fail(cx, "Expected num groups to be greater than 0, got %lld",
                           (long long)groups);
    sizes_text text;
    if (channels % groups)
        return kernel_fail(
            cx,
            "Expected number of channels in input to be divisible by num_groups, but got "
            "input of shape %s and num_groups=%lld",
            shape_print(input, &text), (long long)groups);
    TRY(norm_group_param(cx, "weight", weight, channels, arg_tensor_or_null(weight), input));
    TRY(norm_group_param(cx, "bias", bias, channels, arg_tensor_or_null(weight), input));
    int64_t count;
    if (batch < 0 || channels < 0 || inner < 0 || __builtin_mul_overflow(batch, channels, &count) ||
        __builtin_mul_overflow(count, inner, &count) || count != input->numel)
        return kernel_fail(cx, "Expected X.numel() == N * C * HxW to be true, but got false.");
    int64_t sizes[2] = {batch, groups}, rows, row;
    /* without elements the sizes of what is there are any numbers */
    if (__builtin_mul_overflow(batch, groups, &rows) ||
        __builtin_mul_overflow(channels / groups, inner, &row))
        return diag_no_memory(cx->diag);
    norm_layer j = {.inner = row, .eps = eps, .groups = groups, .channel = inner};
    return norm_layer_run(cx, "GroupNormKernelImpl", input, weight, bias, &j, rows, 2, sizes, out);
}

ctsc_status op_group_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out[3] = {NULL}, *input = arg_tensor(&args[0]);
    int dim;
    TRY(op_wrap_dim(cx, input, 0, &dim));
    TRY(op_wrap_dim(cx, input, 1, &dim));
    ctsc_status st = norm_group_all(cx, input, &args[2], &args[3], input->sizes[0], input->sizes[1],
                                    sizes_product(input, 2, input->ndim), arg_int(&args[1]),
                                    arg_float(&args[4]), out);
    return norm_return_first(st, 3, out, results);
}

ctsc_status op_native_group_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out[3] = {NULL};
    ctsc_status st = norm_group_all(cx, arg_tensor(&args[0]), &args[1], &args[2], arg_int(&args[3]),
                                    arg_int(&args[4]), arg_int(&args[5]), arg_int(&args[6]),
                                    arg_float(&args[7]), out);
    return norm_return_all(cx, args, st, 3, out, results);
}

/* ---- weight norm ----------------------------------------------------------------------------- */

static double norm_power(double v, double p) {
    if (p == 2) return v * v;
    if (p == 0) return v != 0;
    return pow(fabs(v), p);
}

/* Norms of v over all dims but `dim` (-1: over all), in v's compute dtype and of shape [1, .., n,
 * .., 1]. x: v made contiguous. */
static ctsc_status norm_except(op_ctx *cx, const tensor *x, double p, int dim, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int i = 0; i < x->ndim; i++) sizes[i] = i == dim ? x->sizes[i] : 1;
    int64_t len = dim < 0 ? 1 : x->sizes[dim];
    int64_t inner = dim < 0 ? x->numel : sizes_product(x, dim + 1, x->ndim);
    int64_t outer = dim < 0 ? 1 : sizes_product(x, 0, dim);
    TRY(tensor_new(cx->diag, (dtype)x->dtype, dim < 0 ? 0 : x->ndim, sizes, out));
    double *sums = mem_zalloc(sizeof *sums * (size_t)int64_max(len, 1));
    if (!sums) {
        tensor_unref(*out);
        *out = NULL;
        return diag_no_memory(cx->diag);
    }
    WIDE_DISPATCH(x->dtype, {
        const T *v = tensor_data(x);
        T *norm = tensor_data(*out);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < len; i++)
                for (int64_t k = 0; k < inner; k++) {
                    double a = fabs((double)*v++);
                    if (isinf(p)) sums[i] = a > sums[i] || isnan(a) ? a : sums[i];
                    else sums[i] += norm_power(a, p);
                }
        for (int64_t i = 0; i < len; i++)
            norm[i] = (T)(p == 2               ? sqrt(sums[i])
                          : p == 0 || isinf(p) ? sums[i]
                                               : pow(sums[i], 1 / p));
    });
    mem_free(sums);
    return CTSC_OK;
}

ctsc_status op_norm_except_dim(op_ctx *cx, const value *args, value *results) {
    tensor *v = arg_tensor(&args[0]), *x, *norm;
    int dim = -1;
    if (arg_int(&args[2]) != -1) TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), v->ndim, &dim));
    TRY(wide_input(cx, "norm_except_dim", v, &x));
    if (v->ndim == 0) dim = -1;
    ctsc_status st = norm_except(cx, x, (double)arg_int(&args[1]), dim, &norm);
    tensor_unref(x);
    return st == CTSC_OK ? wide_finish(cx, args, norm, (dtype)v->dtype, results) : st;
}

/* w = v * (g / norm). out[0]: w, out[1]: the norms. */
static ctsc_status norm_weight_all(op_ctx *cx, const value *args, tensor **out) {
    tensor *v = arg_tensor(&args[0]), *g = arg_tensor(&args[1]);
    tensor *x = NULL, *fit = NULL, *factor = NULL;
    ctsc_status st;
    int dim = -1;
    if (arg_int(&args[2]) != -1) TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), v->ndim, &dim));
    if (v->ndim == 0) dim = -1;
    TRY(wide_input(cx, "weight_norm", v, &x));
    TRY_OUT(norm_except(cx, x, 2, dim, &out[1]));
    TRY_OUT(tensor_expand(cx->diag, g, out[1]->ndim, out[1]->sizes, &fit));
    TRY_OUT(wide_as(cx, fit, (dtype)x->dtype, &factor));
    TRY_OUT(tensor_new_like(cx->diag, x, (dtype)x->dtype, &out[0]));
    int64_t len = out[1]->numel, inner = dim < 0 ? x->numel : sizes_product(x, dim + 1, x->ndim);
    WIDE_DISPATCH(x->dtype, {
        const T *a = tensor_data(x);
        const T *gain = tensor_data(factor);
        const T *norm = tensor_data(out[1]);
        T *y = tensor_data(out[0]);
        for (int64_t r = 0, rows = inner ? x->numel / inner : 0; r < rows; r++)
            norm_row(a + r * inner, y + r * inner, inner, gain[r % len] / norm[r % len], (T)0);
    });
    for (int i = 0; i < 2; i++) TRY_OUT(wide_round(cx, &out[i], (dtype)v->dtype));
out:
    tensor_unref(x);
    tensor_unref(fit);
    tensor_unref(factor);
    return st;
}

ctsc_status op_weight_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out[2] = {NULL};
    ctsc_status st = norm_weight_all(cx, args, out);
    return norm_return_first(st, 2, out, results);
}

ctsc_status op_weight_norm_interface(op_ctx *cx, const value *args, value *results) {
    tensor *out[2] = {NULL};
    ctsc_status st = norm_weight_all(cx, args, out);
    return norm_return_all(cx, args, st, 2, out, results);
}
