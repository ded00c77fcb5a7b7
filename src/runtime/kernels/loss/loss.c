/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.c - loss functions that compare element by element, or vector by vector.
 *
 * Method: a loss is a function of one element of each operand. It is computed in double, whatever
 * the dtypes, and rounded once. Elements are converted a block at a time, so that the loop over a
 * block has nothing but the function in it. Means and sums of dense operands are made block by
 * block, without writing the elements; those of a few operations (loss_rows) run in float, whose
 * blocks are added in double.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/loss/loss.h"
#include "runtime/kernels/nn/nn.h"

#include "ir/scalar/scalar_ops.h"

#include <float.h>
#include <math.h>

enum { LOSS_MAX_OPERANDS = 4, LOSS_BLOCK = 256, LOSS_ROW = 1024, LOSS_CHUNK = 1 << 15 };

/* ---- reductions ------------------------------------------------------------------------------ */

ctsc_status loss_check_reduction(op_ctx *cx, int64_t reduction) {
    if (reduction >= LOSS_NONE && reduction <= LOSS_SUM) return CTSC_OK;
    return kernel_fail(cx, "%lld is not a valid value for reduction", (long long)reduction);
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
    ctsc_status st = CTSC_OK;
    /* any other number is as good as LOSS_NONE to PyTorch */
    if (reduction != LOSS_MEAN && reduction != LOSS_SUM) {
        *out = t;
        return CTSC_OK;
    }
    if (st == CTSC_OK && dtype_is_integral(dt) && reduction == LOSS_MEAN)
        st = kernel_fail(
            cx,
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            "complex dtype. Got: %s",
            dtype_table[dt].ir_name);
    if (st == CTSC_OK && dtype_is_integral(dt)) {
        uint64_t total = 0;
        for (int64_t i = 0; i < t->numel; i++)
            total += (uint64_t)dtype_load_int(dt,
                                              (char *)tensor_data(t) + (size_t)i * dtype_size(dt));
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

/* n elements of each operand; p: the numbers of the loss. The results take the
 * place of the first. */
typedef void (*loss_fn)(int64_t n, double (*block)[LOSS_BLOCK], const double *p);

/* Makes a loss_fn of what follows, the body of a function of x, one element of
 * each operand, and p. */
#define LOSS(name)                                                                                 \
    static inline double name##_of(const double *x, const double *p);                              \
    VECTOR_CLONES static void name(int64_t n, double(*block)[LOSS_BLOCK], const double *p) {       \
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

VECTOR_CLONES static void loss_load(dtype dt, int64_t n, const char *p, int64_t s, double *x) {
    if (dt == DT_FLOAT32 && s == sizeof(float))
        for (int64_t i = 0; i < n; i++) x[i] = ((const float *)p)[i];
    else if (dt == DT_FLOAT32)
        for (int64_t i = 0; i < n; i++) x[i] = *(const float *)(p + i * s);
    else
        for (int64_t i = 0; i < n; i++) x[i] = dtype_load_float(dt, p + i * s);
}

VECTOR_CLONES static void loss_store(dtype dt, int64_t n, char *p, int64_t s, const double *x) {
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

/* ---- the total without the elements ---------------------------------------------------------- */

typedef struct loss_sums {
    const loss_job *j;
    tensor *const *operands;
    double *parts; /* one of LOSS_CHUNK elements each */
} loss_sums;

/* The sum of n values as the output's dtype would hold them. */
VECTOR_CLONES static double loss_block_sum(dtype dt, int64_t n, double *x) {
    double lane[8] = {0};
    for (int64_t i = 0; dt == DT_FLOAT32 && i < n; i++) x[i] = (double)(float)x[i];
    for (; n >= 8; n -= 8, x += 8)
        for (int l = 0; l < 8; l++) lane[l] += x[l];
    for (int64_t l = 0; l < n; l++) lane[l] += x[l];
    for (int h = 4; h > 0; h /= 2)
        for (int l = 0; l < h; l++) lane[l] += lane[l + h];
    return lane[0];
}

static void loss_mse(int64_t n, double (*block)[LOSS_BLOCK], const double *p);
static void loss_l1(int64_t n, double (*block)[LOSS_BLOCK], const double *p);
static void loss_smooth_l1(int64_t n, double (*block)[LOSS_BLOCK], const double *p);
static void loss_huber(int64_t n, double (*block)[LOSS_BLOCK], const double *p);

/* The losses that are a few operations have a form for two rows of floats, added up in
 * float over blocks. */
typedef double (*loss_rows)(const float *a, const float *b, int64_t n, float p);
#define LOSS_ROWS(name, EXPR)                                                                      \
    VECTOR_CLONES static double name(const float *a, const float *b, int64_t n, float p) {         \
        float lane[16] = {0};                                                                      \
        (void)p;                                                                                   \
        for (; n >= 16; n -= 16, a += 16, b += 16)                                                 \
            for (int l = 0; l < 16; l++) {                                                         \
                float z = a[l] - b[l];                                                             \
                lane[l] += EXPR;                                                                   \
            }                                                                                      \
        for (int64_t l = 0; l < n; l++) {                                                          \
            float z = a[l] - b[l];                                                                 \
            lane[l] += EXPR;                                                                       \
        }                                                                                          \
        double total = 0;                                                                          \
        for (int l = 0; l < 16; l++) total += (double)lane[l];                                     \
        return total;                                                                              \
    }
LOSS_ROWS(loss_mse_rows, z *z)
LOSS_ROWS(loss_l1_rows, fabsf(z))
LOSS_ROWS(loss_smooth_l1_rows, (fabsf(z) < p ? 0.5f * z * z / p : fabsf(z) - 0.5f * p))
LOSS_ROWS(loss_huber_rows, (fabsf(z) < p ? 0.5f * z * z : p * (fabsf(z) - 0.5f * p)))

static loss_rows loss_find_rows(const loss_job *j) {
    static const struct { loss_fn fn; loss_rows rows; } table[] = {
        {loss_mse, loss_mse_rows},
        {loss_l1, loss_l1_rows},
        {loss_smooth_l1, loss_smooth_l1_rows},
        {loss_huber, loss_huber_rows},
    };
    for (int k = 0; k <= j->n; k++)
        if (j->dt[k] != DT_FLOAT32) return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].fn == j->fn) return table[i].rows;
    return NULL;
}

static void loss_sum_rows(const loss_sums *sums, loss_rows rows, int64_t begin, int64_t end) {
    const float *a = tensor_data(sums->operands[0]), *b = tensor_data(sums->operands[1]);
    const double *p = sums->j->numbers;
    for (int64_t at = begin; at < end; at += LOSS_ROW) {
        int64_t part = end - at < LOSS_ROW ? end - at : LOSS_ROW;
        sums->parts[begin / LOSS_CHUNK] += rows(a + at, b + at, part, p ? (float)*p : 0);
    }
}

static void loss_sum_range(void *ctx, int64_t begin, int64_t end) {
    const loss_sums *sums = ctx;
    const loss_job *j = sums->j;
    loss_rows rows = loss_find_rows(j);
    _Alignas(32) double block[LOSS_MAX_OPERANDS][LOSS_BLOCK] = {{0}};
    for (int64_t c = begin; c < end; c++) {
        int64_t stop = (c + 1) * LOSS_CHUNK < sums->operands[0]->numel ? (c + 1) * LOSS_CHUNK
                                                                       : sums->operands[0]->numel;
        sums->parts[c] = 0;
        if (rows) {
            loss_sum_rows(sums, rows, c * LOSS_CHUNK, stop);
            continue;
        }
        for (int64_t at = c * LOSS_CHUNK; at < stop; at += LOSS_BLOCK) {
            int64_t part = stop - at < LOSS_BLOCK ? stop - at : LOSS_BLOCK;
            for (int k = 0; k < j->n; k++) {
                int64_t size = (int64_t)dtype_size(j->dt[k + 1]);
                loss_load(j->dt[k + 1], part,
                          (const char *)tensor_data(sums->operands[k]) + at * size, size, block[k]);
            }
            j->fn(part, block, j->numbers);
            sums->parts[c] += loss_block_sum(j->dt[0], part, block[0]);
        }
    }
}

static bool loss_is_plain(int n, tensor *const *operands, dtype dt) {
    if (dt != DT_FLOAT32 && dt != DT_FLOAT64) return false;
    for (int k = 0; k < n; k++)
        if (!tensor_is_contiguous(operands[k]) || !tensor_same_shape(operands[k], operands[0]))
            return false;
    return operands[0]->numel > 0;
}

/* What loss_map and loss_reduce give together, for operands of one shape without gaps: no
 * element is written. */
static ctsc_status loss_total_of(op_ctx *cx, int n, tensor *const *operands, dtype dt, loss_fn fn,
                                 const double *numbers, int64_t reduction, tensor **out) {
    loss_job j = {.fn = fn, .numbers = numbers, .n = n, .dt = {dt}};
    int64_t numel = operands[0]->numel, chunks = (numel + LOSS_CHUNK - 1) / LOSS_CHUNK;
    double one, total = 0, *parts = chunks > 1 ? mem_alloc(sizeof *parts * (size_t)chunks) : &one;
    if (!parts) return diag_no_memory(cx->diag);
    for (int k = 0; k < n; k++) j.dt[k + 1] = (dtype)operands[k]->dtype;
    pool_for(chunks, 1, loss_sum_range, &(loss_sums){&j, operands, parts});
    for (int64_t c = 0; c < chunks; c++) total += parts[c];
    if (parts != &one) mem_free(parts);
    if (reduction == LOSS_MEAN) total /= (double)numel;
    return tensor_scalar_float(cx->diag, dt, total, out);
}

/* Maps, reduces and finishes the operator. */
static ctsc_status loss_finish(op_ctx *cx, const value *args, int n, tensor *const *operands,
                               dtype dt, loss_fn fn, const double *numbers, int64_t reduction,
                               value *results) {
    tensor *t, *reduced;
    if ((reduction == LOSS_MEAN || reduction == LOSS_SUM) && loss_is_plain(n, operands, dt)) {
        TRY(loss_total_of(cx, n, operands, dt, fn, numbers, reduction, &reduced));
        return op_finish(cx, args, reduced, results);
    }
    TRY(loss_map(cx, n, operands, dt, fn, numbers, &t));
    TRY(loss_reduce(cx, t, reduction, &reduced));
    return op_finish(cx, args, reduced, results);
}

/* A loss of dtype dt of (self, target, ...), which are rounded to the dtype that they meet in
 * first: an integer beyond half's range is infinite. */
static ctsc_status loss_of_pair(op_ctx *cx, const value *args, dtype dt, loss_fn fn,
                                const double *numbers, int64_t reduction, value *results) {
    dtype meet = promote_operands(2, args);
    tensor *operands[2] = {NULL};
    ctsc_status st = tensor_to_dtype(cx->diag, arg_tensor(&args[0]), meet, &operands[0]);
    if (st == CTSC_OK) st = tensor_to_dtype(cx->diag, arg_tensor(&args[1]), meet, &operands[1]);
    if (st == CTSC_OK) st = loss_finish(cx, args, 2, operands, dt, fn, numbers, reduction, results);
    tensor_unref(operands[0]);
    tensor_unref(operands[1]);
    return st;
}

/* Losses of (self, target, reduction, ...) for floating point types only. */
static ctsc_status loss_pair(op_ctx *cx, const value *args, const char *name, loss_fn fn,
                             const double *numbers, int64_t reduction, value *results) {
    dtype dt = promote_operands(2, args);
    if (name && !dtype_is_float(dt)) return op_refuse_dtype(cx, name, dt);
    return loss_of_pair(cx, args, dt, fn, numbers, reduction, results);
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
    if (beta < 0)
        return kernel_fail(cx, "smooth_l1_loss does not support negative values for beta.");
    return loss_pair(cx, args, "smooth_l1_cpu", loss_smooth_l1, &beta, arg_int(&args[2]), results);
}

LOSS(loss_huber) {
    double z = fabs(x[0] - x[1]), delta = p[0];
    return z < delta ? 0.5 * z * z : delta * (z - 0.5 * delta);
}
ctsc_status op_huber_loss(op_ctx *cx, const value *args, value *results) {
    double delta = arg_float(&args[3]);
    if (delta <= 0)
        return kernel_fail(cx, "huber_loss does not support non-positive values for delta.");
    dtype dt = (dtype)arg_tensor(&args[0])->dtype; /* of the result: the target's does not count */
    if (!dtype_is_float(dt)) return op_refuse_dtype(cx, "huber_cpu", dt);
    return loss_of_pair(cx, args, dt, loss_huber, &delta, arg_int(&args[2]), results);
}

/* The largest number of the dtype, beyond which exp is infinite. */
static double loss_top(dtype dt) {
    return dt == DT_FLOAT64 ? INFINITY : dt == DT_FLOAT16 ? 65504 : FLT_MAX;
}
static double loss_exp(double x, double top) {
    double e = scalar_exp_f64(x);
    return e > top ? INFINITY : e;
}

/* log(exp(-x y) + 1). p[0]: loss_top. */
LOSS(loss_soft_margin) { return scalar_log_f64(loss_exp(-x[0] * x[1], p[0]) + 1); }
ctsc_status op_soft_margin_loss(op_ctx *cx, const value *args, value *results) {
    dtype dt = promote_operands(2, args);
    double top = loss_top(dt);
    /* PyTorch computes in place in a copy of it */
    dtype input = (dtype)arg_tensor(&args[0])->dtype;
    if (dtype_is_integral(input))
        return kernel_fail(cx, "result type %s can't be cast to the desired output type %s",
                           dtype_table[dtype_is_integral(dt) ? DT_FLOAT32 : dt].ir_name,
                           dtype_table[input].ir_name);
    return loss_pair(cx, args, "soft_margin_loss", loss_soft_margin, &top, arg_int(&args[2]),
                     results);
}

LOSS(loss_kl_div) {
    (void)p;
    double entropy = x[1] * scalar_log_f64(x[1]);
    entropy = x[1] == 0 ? 0 : entropy;
    return entropy - x[1] * x[0];
}
/* p[0]: loss_top */
LOSS(loss_kl_div_log) { return loss_exp(x[1], p[0]) * (x[1] - x[0]); }
ctsc_status op_kl_div(op_ctx *cx, const value *args, value *results) {
    for (int i = 0; i < 2; i++)
        if (dtype_is_integral((dtype)arg_tensor(&args[i])->dtype))
            return kernel_fail(cx, "kl_div: Integral inputs not supported.");
    double top = loss_top(promote_operands(2, args));
    return loss_pair(cx, args, "kl_div", arg_bool(&args[3]) ? loss_kl_div_log : loss_kl_div, &top,
                     arg_int(&args[2]), results);
}

/* p: log_input, full, eps */
LOSS(loss_poisson) {
    double loss = p[0] != 0 ? scalar_exp_f64(x[0]) - x[1] * x[0]
                            : x[0] - x[1] * scalar_log_f64(x[0] + p[2]);
    if (p[1] != 0 && x[1] > 1) /* Stirling's approximation of log(target!) */
        loss += x[1] * scalar_log_f64(x[1]) - x[1] + 0.5 * scalar_log_f64(2 * M_PI * x[1]);
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
    double a = scalar_log_f64(x[0]), b = log1p(-x[0]);
    double v = (x[1] - 1) * (b > -100 ? b : -100) - x[1] * (a > -100 ? a : -100);
    return p[0] != 0 ? v * x[2] : v;
}

static ctsc_status loss_bce_check(op_ctx *cx, const tensor *input, const tensor *t,
                                  bool same_dtype) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim;
    if (same_dtype && t->dtype != input->dtype)
        return kernel_fail(cx, "Found dtype %s but expected %s", dtype_table[t->dtype].ir_name,
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
    for (int64_t i = 0; !geometry_only() && i < x->numel && st == CTSC_OK; i++) {
        double v = dtype_load_float(dt, (char *)tensor_data(x) + (size_t)i * dtype_size(dt));
        if (!(v >= 0 && v <= 1))
            st = kernel_fail(cx, "all elements of input should be between 0 and 1");
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

/* x: input, target, weight, pos_weight; p: are the last two there? log(e^-max + e^(-x-max)) is
 * log(1 + e^-|x|), but NaN for -inf. */
LOSS(loss_bce_logits) {
    double weight = p[0] != 0 ? x[2] : 1, positive = p[1] != 0 ? (x[3] - 1) * x[1] + 1 : 1;
    double max = x[0] < 0 ? -x[0] : 0;
    double e = x[0] == -INFINITY ? (double)NAN : scalar_exp_f64(-fabs(x[0]));
    double v = (1 - x[1]) * x[0] + positive * (scalar_log_f64(1 + e) + max);
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
    if (dtype_is_integral((dtype)target->dtype)) /* PyTorch computes in place in a copy of it */
        return kernel_fail(cx, "result type %s can't be cast to the desired output type %s",
                           dtype_table[dtype_is_integral(dt) ? DT_FLOAT32 : dt].ir_name,
                           dtype_table[target->dtype].ir_name);
    if (!dtype_is_float(dt)) return op_refuse_dtype(cx, "binary_cross_entropy_with_logits", dt);
    return loss_finish(cx, args, 4, operands, dt, loss_bce_logits, numbers, arg_int(&args[4]),
                       results);
}
