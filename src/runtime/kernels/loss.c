/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.c - loss functions that compare element by element, or vector by vector.
 *
 * Method: a loss is a function of one element of each operand. It is computed in double, whatever
 * the dtypes, and rounded once: losses are small and rare, so that exactness is worth more here
 * than the last bit of speed. Elements are converted a block at a time, so that the loop over a
 * block has nothing but the function in it.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/loss.h"

#include <float.h>
#include <math.h>

enum { LOSS_MAX_OPERANDS = 4, LOSS_BLOCK = 256 };

/* ---- reductions ------------------------------------------------------------------------------ */

ctsc_status loss_check_reduction(op_ctx *cx, int64_t reduction) {
    if (reduction >= LOSS_NONE && reduction <= LOSS_SUM) return CTSC_OK;
    return nn_fail(cx, "%lld is not a valid value for reduction", (long long)reduction);
}

static double loss_total(const tensor *t) { /* t is contiguous */
    const char *p = tensor_data(t);
    size_t item = dtype_size((dtype)t->dtype);
    double total = 0;
    if (t->dtype == DT_FLOAT32) return nn_sum_f32((const float *)p, t->numel);
    if (t->dtype == DT_FLOAT64) return nn_sum_f64((const double *)p, t->numel);
    for (int64_t i = 0; i < t->numel; i++)
        total += dtype_load_float((dtype)t->dtype, p + (size_t)i * item);
    return total;
}

ctsc_status loss_reduce(op_ctx *cx, tensor *t, int64_t reduction, tensor **out) {
    dtype dt = (dtype)t->dtype;
    ctsc_status st = loss_check_reduction(cx, reduction);
    if (st == CTSC_OK && reduction == LOSS_NONE) {
        *out = t;
        return CTSC_OK;
    }
    if (st == CTSC_OK && dtype_is_integral(dt) && reduction == LOSS_MEAN)
        st = nn_fail(
            cx,
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            "complex dtype. Got: %s",
            dtype_table[dt].ir_name);
    if (st == CTSC_OK && dtype_is_integral(dt)) {
        uint64_t total = 0;
        for (int64_t i = 0; i < t->numel; i++)
            total +=
                (uint64_t)dtype_load_int(dt, (char *)tensor_data(t) + (size_t)i * dtype_size(dt));
        st = tensor_scalar_int(cx->diag, DT_INT64, (int64_t)total, out);
    } else if (st == CTSC_OK) {
        double total = loss_total(t);
        if (reduction == LOSS_MEAN) total /= (double)t->numel;
        st = tensor_scalar_float(cx->diag, dt, total, out);
    }
    tensor_unref(t);
    return st;
}

/* ---- element by element ---------------------------------------------------------------------- */

/* n elements of each operand; p: the numbers of the loss. The results take the place of the first. */
typedef void (*loss_fn)(int64_t n, double (*block)[LOSS_BLOCK], const double *p);

/* Makes a loss_fn of what follows, the body of a function of x, one element of each operand, and p. */
#define LOSS(name)                                                                                 \
    static inline double name##_of(const double *x, const double *p);                              \
    NN_HOT static void name(int64_t n, double (*block)[LOSS_BLOCK], const double *p) {             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const double x[] = {block[0][i], block[1][i], block[2][i], block[3][i]};               \
            block[0][i] = name##_of(x, p);                                                         \
        }                                                                                          \
    }                                                                                              \
    static inline double name##_of(const double *x, const double *p)

typedef struct loss_job {
    loss_fn fn;
    const double *numbers;
    int n;
    dtype dt[LOSS_MAX_OPERANDS + 1]; /* of the output, then of the operands */
} loss_job;

NN_HOT static void loss_load(dtype dt, int64_t n, const char *p, int64_t s, double *x) {
    if (dt == DT_FLOAT32 && s == sizeof(float))
        for (int64_t i = 0; i < n; i++) x[i] = ((const float *)p)[i];
    else if (dt == DT_FLOAT32)
        for (int64_t i = 0; i < n; i++) x[i] = *(const float *)(p + i * s);
    else
        for (int64_t i = 0; i < n; i++) x[i] = dtype_load_float(dt, p + i * s);
}

NN_HOT static void loss_store(dtype dt, int64_t n, char *p, int64_t s, const double *x) {
    if (dt == DT_FLOAT32 && s == sizeof(float))
        for (int64_t i = 0; i < n; i++) ((float *)p)[i] = (float)x[i];
    else if (dtype_is_integral(dt))
        for (int64_t i = 0; i < n; i++) dtype_store_int(dt, p + i * s, (int64_t)x[i]);
    else
        for (int64_t i = 0; i < n; i++) dtype_store_float(dt, p + i * s, x[i]);
}

static void loss_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const loss_job *j = ctx;
    _Alignas(32) double block[LOSS_MAX_OPERANDS][LOSS_BLOCK] = {{0}};
    for (int64_t at = 0; at < n; at += LOSS_BLOCK) {
        int64_t part = n - at < LOSS_BLOCK ? n - at : LOSS_BLOCK;
        for (int k = 0; k < j->n; k++)
            loss_load(j->dt[k + 1], part, p[k + 1] + at * s[k + 1], s[k + 1], block[k]);
        j->fn(part, block, j->numbers);
        loss_store(j->dt[0], part, p[0] + at * s[0], s[0], block[0]);
    }
}

/* fn over n operands, broadcast together, as a contiguous tensor of dtype dt. */
static ctsc_status loss_map(op_ctx *cx, int n, tensor *const *operands, dtype dt, loss_fn fn,
                            const double *numbers, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = operands[0]->ndim;
    tensor *all[LOSS_MAX_OPERANDS + 1];
    loss_job j = {.fn = fn, .numbers = numbers, .n = n, .dt = {dt}};
    for (int i = 0; i < ndim; i++) sizes[i] = operands[0]->sizes[i];
    for (int k = 1; k < n; k++) {
        int64_t joint[TENSOR_MAX_DIMS];
        TRY(broadcast_sizes(cx->diag, ndim, sizes, operands[k]->ndim, operands[k]->sizes, &ndim,
                            joint));
        for (int i = 0; i < ndim; i++) sizes[i] = joint[i];
    }
    TRY(tensor_new(cx->diag, dt, ndim, sizes, out));
    all[0] = *out;
    for (int k = 0; k < n; k++) {
        all[k + 1] = operands[k];
        j.dt[k + 1] = (dtype)operands[k]->dtype;
    }
    iter_run(ndim, sizes, n + 1, all, loss_run, &j, 0);
    return CTSC_OK;
}

/* Maps, reduces and finishes the operator. */
static ctsc_status loss_finish(op_ctx *cx, const value *args, int n, tensor *const *operands,
                               dtype dt, loss_fn fn, const double *numbers, int64_t reduction,
                               value *results) {
    tensor *t, *reduced;
    TRY(loss_check_reduction(cx, reduction));
    TRY(loss_map(cx, n, operands, dt, fn, numbers, &t));
    TRY(loss_reduce(cx, t, reduction, &reduced));
    return op_finish(cx, args, reduced, results);
}

/* Losses of (self, target, reduction, ...) for floating point types only. */
static ctsc_status loss_pair(op_ctx *cx, const value *args, const char *name, loss_fn fn,
                             const double *numbers, int64_t reduction, value *results) {
    dtype dt = promote_operands(2, args);
    tensor *operands[2] = {arg_tensor(&args[0]), arg_tensor(&args[1])};
    if (name && !dtype_is_float(dt)) return op_refuse_dtype(cx, name, dt);
    return loss_finish(cx, args, 2, operands, dt, fn, numbers, reduction, results);
}

LOSS(loss_mse) {
    (void)p;
    return (x[0] - x[1]) * (x[0] - x[1]);
}
ctsc_status op_mse_loss(op_ctx *cx, const value *args, value *results) {
    return loss_pair(cx, args, "mse_cpu", loss_mse, NULL, arg_int(&args[2]), results);
}

LOSS(loss_l1) {
    (void)p;
    return fabs(x[0] - x[1]);
}
/* The lengths of complex differences are real. */
static ctsc_status loss_l1_complex(op_ctx *cx, const value *args, value *results) {
    value difference = value_none(), length = value_none();
    tensor *reduced;
    TRY(loss_check_reduction(cx, arg_int(&args[2])));
    TRY(op_call(cx, "aten::sub.Tensor", 2, args, &difference));
    ctsc_status st = op_call(cx, "aten::abs", 1, &difference, &length);
    value_unref(difference);
    TRY(st);
    TRY(loss_reduce(cx, length.u.tensor, arg_int(&args[2]), &reduced));
    return op_finish(cx, args, reduced, results);
}

ctsc_status op_l1_loss(op_ctx *cx, const value *args, value *results) {
    if (dtype_is_complex(promote_operands(2, args))) return loss_l1_complex(cx, args, results);
    return loss_pair(cx, args, NULL, loss_l1, NULL, arg_int(&args[2]), results);
}

LOSS(loss_smooth_l1) {
    double z = fabs(x[0] - x[1]), beta = p[0];
    return z < beta ? 0.5 * z * z / beta : z - 0.5 * beta;
}
ctsc_status op_smooth_l1_loss(op_ctx *cx, const value *args, value *results) {
    double beta = arg_float(&args[3]);
    if (beta < 0) return nn_fail(cx, "smooth_l1_loss does not support negative values for beta.");
    return loss_pair(cx, args, "smooth_l1_cpu", loss_smooth_l1, &beta, arg_int(&args[2]), results);
}

LOSS(loss_huber) {
    double z = fabs(x[0] - x[1]), delta = p[0];
    return z < delta ? 0.5 * z * z : delta * (z - 0.5 * delta);
}
ctsc_status op_huber_loss(op_ctx *cx, const value *args, value *results) {
    double delta = arg_float(&args[3]);
    if (delta <= 0)
        return nn_fail(cx, "huber_loss does not support non-positive values for delta.");
    tensor *operands[2] = {arg_tensor(&args[0]), arg_tensor(&args[1])};
    dtype dt = (dtype)operands[0]->dtype; /* the target's does not count here */
    if (!dtype_is_float(dt)) return op_refuse_dtype(cx, "huber_cpu", dt);
    return loss_finish(cx, args, 2, operands, dt, loss_huber, &delta, arg_int(&args[2]), results);
}

/* log(exp(-x y) + 1). p[0]: the largest number of the dtype, beyond which exp is infinite. */
LOSS(loss_soft_margin) {
    double e = exp(-x[0] * x[1]);
    return e > p[0] ? INFINITY : log(e + 1);
}
ctsc_status op_soft_margin_loss(op_ctx *cx, const value *args, value *results) {
    dtype dt = promote_operands(2, args);
    double top = dt == DT_FLOAT64 ? INFINITY : dt == DT_FLOAT16 ? 65504 : FLT_MAX;
    if (dtype_is_integral(dt))
        return nn_fail(cx, "result type Float can't be cast to the desired output type %s",
                       dtype_table[dt].ir_name);
    return loss_pair(cx, args, "soft_margin_loss", loss_soft_margin, &top, arg_int(&args[2]),
                     results);
}

LOSS(loss_kl_div) {
    (void)p;
    double entropy = x[1] == 0 ? 0 : x[1] * log(x[1]);
    return entropy - x[1] * x[0];
}
LOSS(loss_kl_div_log) {
    (void)p;
    return exp(x[1]) * (x[1] - x[0]);
}
ctsc_status op_kl_div(op_ctx *cx, const value *args, value *results) {
    for (int i = 0; i < 2; i++)
        if (dtype_is_integral((dtype)arg_tensor(&args[i])->dtype))
            return nn_fail(cx, "kl_div: Integral inputs not supported.");
    return loss_pair(cx, args, "kl_div", arg_bool(&args[3]) ? loss_kl_div_log : loss_kl_div, NULL,
                     arg_int(&args[2]), results);
}

/* p: log_input, full, eps */
LOSS(loss_poisson) {
    double loss = p[0] != 0 ? exp(x[0]) - x[1] * x[0] : x[0] - x[1] * log(x[0] + p[2]);
    if (p[1] != 0 && x[1] > 1) /* Stirling's approximation of log(target!) */
        loss += x[1] * log(x[1]) - x[1] + 0.5 * log(2 * M_PI * x[1]);
    return loss;
}
ctsc_status op_poisson_nll_loss(op_ctx *cx, const value *args, value *results) {
    double numbers[3] = {arg_bool(&args[2]), arg_bool(&args[3]), arg_float(&args[4])};
    dtype dt = promote_operands(2, args);
    tensor *operands[2] = {arg_tensor(&args[0]), arg_tensor(&args[1])};
    if (dtype_is_integral(dt)) dt = DT_FLOAT32;
    if (!dtype_is_float(dt)) return op_refuse_dtype(cx, "poisson_nll_loss", dt);
    return loss_finish(cx, args, 2, operands, dt, loss_poisson, numbers, arg_int(&args[5]),
                       results);
}

/* ---- binary cross entropy -------------------------------------------------------------------- */

/* p[0]: is there a weight (x[2])? The logarithms are cut off at -100 to stay finite. */
LOSS(loss_bce) {
    double a = log(x[0]), b = log1p(-x[0]);
    double v = (x[1] - 1) * (b > -100 ? b : -100) - x[1] * (a > -100 ? a : -100);
    return p[0] != 0 ? v * x[2] : v;
}

static ctsc_status loss_bce_check(op_ctx *cx, const tensor *input, const tensor *t,
                                  bool same_dtype) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim;
    if (same_dtype && t->dtype != input->dtype)
        return nn_fail(cx, "Found dtype %s but expected %s", dtype_table[t->dtype].ir_name,
                       dtype_table[input->dtype].ir_name);
    TRY(broadcast_sizes(cx->diag, input->ndim, input->sizes, t->ndim, t->sizes, &ndim, sizes));
    return op_check_inplace_shape(cx, input, ndim, sizes);
}

/* The input must be a probability. NaN is not. */
static ctsc_status loss_bce_range(op_ctx *cx, tensor *input) {
    tensor *x;
    TRY(tensor_contiguous(cx->diag, input, &x));
    dtype dt = (dtype)x->dtype;
    ctsc_status st = CTSC_OK;
    for (int64_t i = 0; i < x->numel && st == CTSC_OK; i++) {
        double v = dtype_load_float(dt, (char *)tensor_data(x) + (size_t)i * dtype_size(dt));
        if (!(v >= 0 && v <= 1))
            st = nn_fail(cx, "all elements of input should be between 0 and 1");
    }
    tensor_unref(x);
    return st;
}

ctsc_status op_binary_cross_entropy(op_ctx *cx, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]), *weight = arg_tensor_or_null(&args[2]);
    tensor *operands[3] = {input, arg_tensor(&args[1]), weight};
    double weighted = weight != NULL;
    if (!dtype_is_float((dtype)input->dtype))
        return op_refuse_dtype(cx, "binary_cross_entropy", (dtype)input->dtype);
    TRY(loss_bce_check(cx, input, operands[1], true));
    if (weight) TRY(loss_bce_check(cx, input, weight, false));
    TRY(loss_bce_range(cx, input));
    return loss_finish(cx, args, weight ? 3 : 2, operands, (dtype)input->dtype, loss_bce, &weighted,
                       arg_int(&args[3]), results);
}

/* x: input, target, weight, pos_weight; p: are the last two there? */
LOSS(loss_bce_logits) {
    double weight = p[0] != 0 ? x[2] : 1, positive = p[1] != 0 ? (x[3] - 1) * x[1] + 1 : 1;
    double max = x[0] < 0 ? -x[0] : 0;
    double v = (1 - x[1]) * x[0] + positive * (log(exp(-max) + exp(-x[0] - max)) + max);
    return v * weight;
}
ctsc_status op_binary_cross_entropy_with_logits(op_ctx *cx, const value *args, value *results) {
    tensor *target = arg_tensor(&args[1]);
    tensor *weight = arg_tensor_or_null(&args[2]), *positive = arg_tensor_or_null(&args[3]);
    tensor *operands[4] = {arg_tensor(&args[0]), target, weight ? weight : target,
                           positive ? positive : target};
    double numbers[2] = {weight != NULL, positive != NULL};
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim;
    /* PyTorch computes in place in a tensor of the target's shape. */
    for (int i = 0; i < 4; i++) {
        const tensor *t = operands[i];
        TRY(broadcast_sizes(cx->diag, target->ndim, target->sizes, t->ndim, t->sizes, &ndim,
                            sizes));
        TRY(op_check_inplace_shape(cx, target, ndim, sizes));
    }
    dtype dt = promote_operands(2, args);
    if (dtype_is_integral(dt))
        return nn_fail(cx, "result type Float can't be cast to the desired output type %s",
                       dtype_table[dt].ir_name);
    if (!dtype_is_float(dt)) return op_refuse_dtype(cx, "binary_cross_entropy_with_logits", dt);
    return loss_finish(cx, args, 4, operands, dt, loss_bce_logits, numbers, arg_int(&args[4]),
                       results);
}
