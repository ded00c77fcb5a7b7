/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_sum.c - sums and what is made of them: sum, nansum, prod, mean, nanmean, logsumexp, any,
 * all, count_nonzero, sum_to_size.
 *
 * Method: floats are added in vectors over blocks of a few hundred values, and the blocks in
 * double: as exact as PyTorch's cascade, and simple. Integers are added in 64 bits and wrap.
 * Tests: tests/unit/test_reduce.c
 */
#include "ir/scalar/scalar_ops.h"
#include "ir/scalar/scalar_ops_complex.h"
#include "runtime/kernels/reduce/reduce_complex.h"
#include "runtime/kernels/reduce/reduce_vec.h"

#include <math.h>
#include <string.h>

/* ---- sum ------------------------------------------------------------------------------------- */

#define SUM_VEC_SELF(v, VI) (v)
#define SUM_SELF(v) (v)
/* Zeros for NaNs: as integers, without the sign, they are above infinity.
 * A comparison of vectors would be split up where AVX2 is missing. */
/* clang-format off */
#define SUM_VEC_FINITE(v, VI) ((__typeof__(v))((VI)(v) & ~((SUM_INFINITY(VI) - ((VI)(v) & SUM_LARGEST(VI))) >> (SUM_BITS(VI) - 1))))
#define SUM_BITS(VI)          (8 * (int)sizeof((VI){0}[0]))
#define SUM_LARGEST(VI)       (SUM_BITS(VI) == 32 ? INT32_MAX : INT64_MAX)
#define SUM_INFINITY(VI)      (SUM_BITS(VI) == 32 ? 0x7f800000 : 0x7ff0000000000000)
#define SUM_FINITE(v)         ((v) == (v) ? (v) : 0)
/* clang-format on */

REDUCE_VECTOR_SUM(reduce_total_f32, float, reduce_v8f, reduce_v8i, 8, SUM_VEC_SELF, SUM_SELF)
REDUCE_VECTOR_SUM(reduce_total_f64, double, reduce_v4d, reduce_v4l, 4, SUM_VEC_SELF, SUM_SELF)
static REDUCE_VECTOR_SUM(sum_finite_f32, float, reduce_v8f, reduce_v8i, 8, SUM_VEC_FINITE,
                         SUM_FINITE) static REDUCE_VECTOR_SUM(sum_finite_f64, double, reduce_v4d,
                                                              reduce_v4l, 4, SUM_VEC_FINITE,
                                                              SUM_FINITE)

    REDUCE_STEP(sum_step_f32, float, { a->f += reduce_total_f32(x, n); })
        REDUCE_STEP(sum_step_f64, double, { a->f += reduce_total_f64(x, n); })
            REDUCE_STEP(sum_step_i64, int64_t,
                        {
                            uint64_t sum = 0;
                            for (int64_t k = 0; k < n; k++) sum += (uint64_t)x[k];
                            a->i = (int64_t)((uint64_t)a->i + sum);
                        }) VECTOR_LOOPS REDUCE_STEP(sum_step_u8, uint8_t,
                                                    {
                                                        int64_t sum = 0;
                                                        for (int64_t k = 0; k < n; k++) sum += x[k];
                                                        a->i += sum;
                                                    })
                REDUCE_STEP(nansum_step_f32, float, { a->f += sum_finite_f32(x, n); })
                    REDUCE_STEP(nansum_step_f64, double, { a->f += sum_finite_f64(x, n); })

                        static void sum_combine(reduce_acc *a, const reduce_acc *b) {
    a->f += b->f;
    a->g += b->g;
    a->i = (int64_t)((uint64_t)a->i + (uint64_t)b->i);
    a->n += b->n;
}

static void sum_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    if (j->row >= REDUCE_C64) reduce_store_complex(j, result, a->f, a->g, 1);
    else reduce_store(j, result, a->f, a->i);
}

enum { SUM_COLUMN_ROWS = 64 }; /* rows added in float before the lanes go into the doubles */

/* lane[i] = the sum of column i, for 8 * vectors columns; one after the other, as below. */
static inline __attribute__((always_inline)) void sum_vectors(const float *x, int64_t rows,
                                                              int64_t stride, float *lane,
                                                              const int vectors) {
    reduce_v8f sum[8] = {{0}}, v;
    for (int i = 0; i < vectors; i++) memcpy(&sum[i], x + 8 * i, sizeof v);
    for (int64_t k = 1; k < rows; k++) {
        x += stride;
#pragma GCC unroll 8
        for (int i = 0; i < vectors; i++) memcpy(&v, x + 8 * i, sizeof v), sum[i] += v;
    }
    for (int i = 0; i < vectors; i++) memcpy(lane + 8 * i, &sum[i], sizeof v);
}

/* Columns stay in registers while the rows pass, eight vectors of them at a time where there are as
 * many. The last vector is moved back to the end. */
REDUCE_HOT static void sum_few_rows(const float *x, int64_t rows, int64_t stride, int64_t cols,
                                    float *lane) {
    int64_t c = 0;
    for (; c + 64 <= cols; c += 64) sum_vectors(x + c, rows, stride, lane + c, 8);
    for (; c + 32 <= cols; c += 32) sum_vectors(x + c, rows, stride, lane + c, 4);
    for (; c + 16 <= cols; c += 16) sum_vectors(x + c, rows, stride, lane + c, 2);
    for (; c < cols && cols >= 8; c += 8) {
        if (c + 8 > cols) c = cols - 8;
        sum_vectors(x + c, rows, stride, lane + c, 1);
    }
    if (c >= cols) return;
    for (int64_t i = 0; i < cols; i++) lane[i] = x[i];
    for (int64_t k = 1; k < rows; k++)
        for (int64_t i = 0; i < cols; i++) lane[i] += x[k * stride + i];
}

REDUCE_HOT static void sum_columns(const reduce_job *j, reduce_acc *accs, const float *x,
                                   int64_t rows, int64_t stride, int64_t cols, int64_t first) {
    (void)j, (void)first;
    float lane[REDUCE_LANES];
    for (int64_t r = 0; r < rows; r += SUM_COLUMN_ROWS) {
        sum_few_rows(x + r * stride, reduce_min_i64(rows - r, SUM_COLUMN_ROWS), stride, cols, lane);
        for (int64_t c = 0; c < cols; c++) accs[c].f += (double)lane[c];
    }
}

const reduce_kind reduce_kind_sum = {
    "sum_cpu",
    {0},
    {sum_step_f32, sum_step_f64, sum_step_i64, sum_step_u8, REDUCE_COMPLEX_ROWS(sum)},
    sum_combine,
    sum_finish,
    sum_columns};
static const reduce_kind sum_kind_nansum = {
    "nansum_cpu", {0},        {nansum_step_f32, nansum_step_f64, sum_step_i64},
    sum_combine,  sum_finish, NULL};

/* The tensor a sum with result dtype dt runs over: PyTorch converts first, which a widening row
 * does anyway. */
static ctsc_status sum_input(op_ctx *cx, tensor *in, dtype dt, tensor **out) {
    dtype from = (dtype)in->dtype;
    bool widens = (dtype_is_integral(from) && dt == DT_INT64) ||
                  (dtype_is_half(from) && dt == DT_FLOAT32);
    if (widens) return *out = tensor_ref(in), CTSC_OK;
    return tensor_to_dtype(cx->diag, in, dt, out);
}

/* Runs a kind of sum: input dtype conversion, default dtype int64 for integers. */
static ctsc_status sum_run(op_ctx *cx, const value *args, const reduce_kind *kind, tensor **out) {
    tensor *in = arg_tensor(&args[0]), *input;
    bool mask[TENSOR_MAX_DIMS];
    dtype dt;
    TRY(reduce_mask(cx, reduce_arg(cx, args, "dim"), in->ndim, mask));
    TRY(reduce_dtype(cx, args, dtype_is_integral((dtype)in->dtype) ? DT_INT64 : (dtype)in->dtype,
                     &dt));
    TRY(sum_input(cx, in, dt, &input));
    ctsc_status st = reduce_to_new(cx, kind, 0, input, mask, reduce_keepdim(cx, args), dt, out);
    tensor_unref(input);
    return st;
}

ctsc_status op_sum(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    TRY(sum_run(cx, args, &reduce_kind_sum, &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_nansum(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    dtype dt = (dtype)args[0].u.tensor->dtype, want;
    if (dtype_is_complex(dt))
        return diag_fail(cx->diag, CTSC_FAILED, "nansum does not support complex inputs");
    if (dtype_is_integral(dt)) return op_sum(cx, args, results);
    TRY(reduce_dtype(cx, args, dt, &want));
    if (dtype_is_integral(want)) return op_refuse_dtype(cx, "nansum_cpu", want);
    TRY(sum_run(cx, args, &sum_kind_nansum, &out));
    return op_finish(cx, args, out, results);
}

/* ---- prod ------------------------------------------------------------------------------------ */

#define PROD_VECTOR(name, T)                                                                       \
    REDUCE_HOT static double name(const T *x, int64_t n) {                                         \
        double lane[16];                                                                           \
        for (int l = 0; l < 16; l++) lane[l] = 1;                                                  \
        for (; n >= 16; n -= 16, x += 16)                                                          \
            for (int l = 0; l < 16; l++) lane[l] *= (double)x[l];                                  \
        for (int64_t l = 0; l < n; l++) lane[l] *= (double)x[l];                                   \
        for (int h = 8; h > 0; h /= 2)                                                             \
            for (int l = 0; l < h; l++) lane[l] *= lane[l + h];                                    \
        return lane[0];                                                                            \
    }
PROD_VECTOR(prod_plain_f32, float)
PROD_VECTOR(prod_plain_f64, double)
REDUCE_STEP(prod_step_f32, float, { a->f *= prod_plain_f32(x, n); })
REDUCE_STEP(prod_step_f64, double, { a->f *= prod_plain_f64(x, n); })
REDUCE_STEP(prod_step_i64, int64_t, {
    uint64_t product = (uint64_t)a->i;
    for (int64_t k = 0; k < n; k++) product *= (uint64_t)x[k];
    a->i = (int64_t)product;
})

static void prod_combine(reduce_acc *a, const reduce_acc *b) {
    if (a->n || b->n) { /* complex numbers are counted */
        complex128 product = scalar_mul_c128((complex128){a->f, a->g}, (complex128){b->f, b->g});
        a->f = product.re, a->g = product.im;
        a->n += b->n;
        return;
    }
    a->f *= b->f;
    a->i = (int64_t)((uint64_t)a->i * (uint64_t)b->i);
}

static const reduce_kind sum_kind_prod = {
    "prod_cpu",
    {.f = 1, .i = 1},
    {prod_step_f32, prod_step_f64, prod_step_i64, REDUCE_COMPLEX_ROWS(prod)},
    prod_combine,
    sum_finish,
    NULL};

ctsc_status op_prod(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    TRY(sum_run(cx, args, &sum_kind_prod, &out));
    return op_finish(cx, args, out, results);
}

/* ---- mean ------------------------------------------------------------------------------------ */

/* v rounded to dt, as a tensor element of that dtype would hold it. */
static double sum_round(dtype dt, double v) {
    if (dt == DT_FLOAT64) return v;
    if (dt == DT_FLOAT16) return (double)float16_to_float(float16_from_float((float)v));
    if (dt == DT_BFLOAT16) return (double)bfloat16_to_float(bfloat16_from_float((float)v));
    return (double)(float)v;
}

/* Sum and count are rounded to the computing type, which is float32 for half and bfloat16. (PyTorch
 * 1.13 rounded both to half, so that means of 65,520 halves and more were 0, or infinite; its
 * successors do this.) */
static void mean_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    dtype dt = (dtype)j->out->dtype;
    if (j->row >= REDUCE_C64) reduce_store_complex(j, result, a->f, a->g, j->p);
    else
        reduce_store(j, result,
                     dt == DT_FLOAT64 ? a->f / j->p : (double)((float)a->f / (float)j->p), 0);
}

static const reduce_kind sum_kind_mean = {
    "mean_cpu",  {0},         {sum_step_f32, sum_step_f64, REDUCE_COMPLEX_ROWS(sum)},
    sum_combine, mean_finish, sum_columns};

static ctsc_status mean_dtype(op_ctx *cx, const value *args, const tensor *in, dtype *dt) {
    const value *given = reduce_arg(cx, args, "dtype");
    TRY(arg_dtype(cx, given, (dtype)in->dtype, dt));
    if (dtype_is_integral(*dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "mean(): could not infer output dtype. %s dtype must be either a floating "
                         "point or complex dtype. Got: %s",
                         arg_is_none(given) ? "Input" : "Optional", dtype_table[*dt].ir_name);
    const tensor *target = op_target(cx, args, NULL);
    if (target && dtype_is_integral((dtype)target->dtype))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "result type %s can't be cast to the desired output type %s",
                         dtype_table[*dt].ir_name, dtype_table[target->dtype].ir_name);
    return reduce_dtype(cx, args, *dt, dt);
}

ctsc_status op_mean(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *input, *out;
    bool mask[TENSOR_MAX_DIMS];
    dtype dt;
    TRY(mean_dtype(cx, args, in, &dt));
    TRY(reduce_mask(cx, reduce_arg(cx, args, "dim"), in->ndim, mask));
    double count = 1;
    for (int i = 0; i < in->ndim; i++)
        if (mask[i]) count *= (double)in->sizes[i];
    TRY(sum_input(cx, in, dt, &input));
    ctsc_status st = reduce_to_new(cx, &sum_kind_mean, count, input, mask, reduce_keepdim(cx, args),
                                   dt, &out);
    tensor_unref(input);
    return st == CTSC_OK ? op_finish(cx, args, out, results) : st;
}

/* ---- nanmean: f sum, n values that are numbers ----------------------------------------------- */

static int64_t nanmean_count_f32(const float *x, int64_t n) {
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) count += x[k] == x[k];
    return count;
}
static int64_t nanmean_count_f64(const double *x, int64_t n) {
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) count += x[k] == x[k];
    return count;
}
REDUCE_STEP(nanmean_step_f32, float, {
    a->f += sum_finite_f32(x, n);
    a->n += nanmean_count_f32(x, n);
})
REDUCE_STEP(nanmean_step_f64, double, {
    a->f += sum_finite_f64(x, n);
    a->n += nanmean_count_f64(x, n);
})

static void nanmean_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    dtype dt = (dtype)j->out->dtype;
    reduce_store(j, result, sum_round(dt, a->f) / (double)a->n, 0);
}

static const reduce_kind sum_kind_nanmean = {
    "nanmean", {0}, {nanmean_step_f32, nanmean_step_f64}, sum_combine, nanmean_finish, NULL};

ctsc_status op_nanmean(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    dtype dt = (dtype)args[0].u.tensor->dtype, want;
    if (!dtype_is_float(dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "nanmean(): expected input to have floating point dtype but got %s",
                         dtype_table[dt].ir_name);
    TRY(reduce_dtype(cx, args, dt, &want));
    if (!dtype_is_float(want)) return op_refuse_dtype(cx, "nansum_cpu", want);
    TRY(sum_run(cx, args, &sum_kind_nanmean, &out));
    return op_finish(cx, args, out, results);
}

/* ---- count_nonzero, any, all: i counts non-zeros, n values ----------------------------------- */

#define COUNT_STEP(name, T)                                                                        \
    VECTOR_LOOPS REDUCE_STEP(name, T, {                                                            \
        int64_t count = 0;                                                                         \
        for (int64_t k = 0; k < n; k++) count += x[k] != 0;                                        \
        a->i += count;                                                                             \
        a->n += n;                                                                                 \
    })
COUNT_STEP(count_step_f32, float)
COUNT_STEP(count_step_f64, double)
COUNT_STEP(count_step_i64, int64_t)
COUNT_STEP(count_step_u8, uint8_t)

static void count_store(const reduce_job *j, int64_t result, int64_t v) {
    dtype dt = (dtype)j->out->dtype;
    dtype_store_int(dt, (char *)tensor_data(j->out) + (size_t)result * dtype_size(dt), v);
}
static void count_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    count_store(j, result, a->i);
}
static void any_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    count_store(j, result, a->i > 0);
}
static void all_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    count_store(j, result, a->i == a->n);
}

#define COUNT_STEPS                                                                                \
    {count_step_f32, count_step_f64, count_step_i64, count_step_u8, REDUCE_COMPLEX_ROWS(count)}
const reduce_kind reduce_kind_count = {"count_nonzero_cpu", {0},          COUNT_STEPS,
                                       sum_combine,         count_finish, NULL};
static const reduce_kind sum_kind_any = {"any", {0}, COUNT_STEPS, sum_combine, any_finish, NULL};
static const reduce_kind sum_kind_all = {"all", {0}, COUNT_STEPS, sum_combine, all_finish, NULL};

ctsc_status op_count_nonzero(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *out;
    bool mask[TENSOR_MAX_DIMS];
    TRY(reduce_mask(cx, reduce_arg(cx, args, "dim"), in->ndim, mask));
    TRY(reduce_to_new(cx, &reduce_kind_count, 0, in, mask, false, DT_INT64, &out));
    return op_finish(cx, args, out, results);
}

static ctsc_status sum_any_all(op_ctx *cx, const value *args, const reduce_kind *kind,
                               value *results) {
    tensor *in = arg_tensor(&args[0]), *out;
    bool mask[TENSOR_MAX_DIMS];
    TRY(reduce_mask(cx, reduce_arg(cx, args, "dim"), in->ndim, mask));
    dtype dt = in->dtype == DT_UINT8 ? DT_UINT8 : DT_BOOL;
    const tensor *target = op_target(cx, args, NULL);
    if (target && target->dtype != DT_BOOL && target->dtype != DT_UINT8)
        return diag_fail(cx->diag, CTSC_FAILED, "%s only supports bool tensor for result, got: %s",
                         kind->name, dtype_table[target->dtype].ir_name);
    if (target) dt = (dtype)target->dtype;
    TRY(reduce_to_new(cx, kind, 0, in, mask, reduce_keepdim(cx, args), dt, &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_any(op_ctx *cx, const value *args, value *results) {
    return sum_any_all(cx, args, &sum_kind_any, results);
}
ctsc_status op_all(op_ctx *cx, const value *args, value *results) {
    return sum_any_all(cx, args, &sum_kind_all, results);
}

/* ---- logsumexp: g the maximum so far, f the sum of exp(x - g) -------------------------------- */

enum { LOGSUMEXP_BLOCK = 1024 };

static void logsumexp_join(reduce_acc *a, double g, double f) {
    if (!isfinite(a->f) || !isfinite(f)) {
        a->f += f; /* nothing rescales these */
    } else if (g > a->g) {
        a->f = a->f * exp(a->g - g) + f;
        a->g = g;
    } else if (g > -INFINITY) {
        a->f += f * exp(g - a->g);
    }
}

/* The sum of e^(x - shift) of at most a block. */
REDUCE_HOT static void logsumexp_terms_f32(const float *x, int64_t n, float shift, float *out) {
    for (int64_t k = 0; k < n; k++) out[k] = scalar_exp_f32(x[k] - shift);
}
static double logsumexp_part_f32(const float *x, int64_t n, float shift) {
    float terms[LOGSUMEXP_BLOCK];
    logsumexp_terms_f32(x, n, shift, terms);
    return reduce_total_f32(terms, n);
}
REDUCE_HOT static void logsumexp_terms_f64(const double *x, int64_t n, double shift, double *out) {
    for (int64_t k = 0; k < n; k++) out[k] = scalar_exp_f64(x[k] - shift);
}
static double logsumexp_part_f64(const double *x, int64_t n, double shift) {
    double terms[LOGSUMEXP_BLOCK];
    logsumexp_terms_f64(x, n, shift, terms);
    return reduce_total_f64(terms, n);
}

/* An infinite maximum cannot be subtracted: then the sum is taken as it is, like PyTorch does. */
#define LOGSUMEXP_STEP(name, T, PART)                                                              \
    VECTOR_LOOPS REDUCE_STEP(name, T, {                                                            \
        for (int64_t b = 0; b < n; b += LOGSUMEXP_BLOCK) {                                         \
            int64_t e = reduce_min_i64(n, b + LOGSUMEXP_BLOCK);                                    \
            T top = -INFINITY;                                                                     \
            for (int64_t k = b; k < e; k++) top = x[k] > top ? x[k] : top;                         \
            T shift = top == -INFINITY || top == INFINITY ? 0 : top;                               \
            double sum = PART(x + b, e - b, shift);                                                \
            if (top == INFINITY) a->f += sum;                                                      \
            else logsumexp_join(a, (double)top, sum);                                              \
        }                                                                                          \
    })
LOGSUMEXP_STEP(logsumexp_step_f32, float, logsumexp_part_f32)
LOGSUMEXP_STEP(logsumexp_step_f64, double, logsumexp_part_f64)

static void logsumexp_combine(reduce_acc *a, const reduce_acc *b) { logsumexp_join(a, b->g, b->f); }
static void logsumexp_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    double g = a->g == -INFINITY ? 0 : a->g;
    reduce_store(j, result, log(a->f) + g, 0);
}

enum { LOGSUMEXP_ROWS = 64 }; /* rows whose terms are added in float */

/* The columns' maxima of a few rows, and their sums of e^(x - maximum). */
REDUCE_HOT static void logsumexp_few_rows(const float *x, int64_t rows, int64_t stride,
                                          int64_t cols, float *top, float *sum) {
    float shift[REDUCE_LANES];
    for (int64_t c = 0; c < cols; c++) top[c] = -INFINITY, sum[c] = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            top[c] = x[r * stride + c] > top[c] ? x[r * stride + c] : top[c];
    for (int64_t c = 0; c < cols; c++) shift[c] = fabsf(top[c]) == INFINITY ? 0 : top[c];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) sum[c] += scalar_exp_f32(x[r * stride + c] - shift[c]);
}

static void logsumexp_columns(const reduce_job *j, reduce_acc *accs, const float *x, int64_t rows,
                              int64_t stride, int64_t cols, int64_t first) {
    float top[REDUCE_LANES], sum[REDUCE_LANES];
    (void)j, (void)first;
    for (int64_t r = 0; r < rows; r += LOGSUMEXP_ROWS) {
        logsumexp_few_rows(x + r * stride, reduce_min_i64(rows - r, LOGSUMEXP_ROWS), stride, cols,
                           top, sum);
        for (int64_t c = 0; c < cols; c++)
            if (top[c] == INFINITY) accs[c].f += (double)sum[c];
            else logsumexp_join(&accs[c], (double)top[c], (double)sum[c]);
    }
}

static const reduce_kind sum_kind_logsumexp = {
    "logsumexp",       {.g = -INFINITY}, {logsumexp_step_f32, logsumexp_step_f64},
    logsumexp_combine, logsumexp_finish, logsumexp_columns};

ctsc_status op_logsumexp(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *input, *out;
    bool mask[TENSOR_MAX_DIMS];
    const tensor *target = op_target(cx, args, NULL);
    if (dtype_is_complex((dtype)in->dtype)) {
        value sums = value_none();
        TRY(op_call(cx, "ctsc::complex_logsumexp", 3, args, &sums));
        return op_finish(cx, args, sums.u.tensor, results);
    }
    if (target && !dtype_is_float(dtype_part((dtype)target->dtype)))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "logsumexp(): Expected floating point type for result tensor, but got: %s",
                         dtype_table[target->dtype].ir_name);
    TRY(reduce_mask(cx, &args[1], in->ndim, mask));
    dtype dt = dtype_is_integral((dtype)in->dtype) ? DT_FLOAT32 : (dtype)in->dtype;
    TRY(tensor_to_dtype(cx->diag, in, dt, &input));
    ctsc_status st = reduce_to_new(cx, &sum_kind_logsumexp, 0, input, mask, arg_bool(&args[2]), dt,
                                   &out);
    tensor_unref(input);
    return st == CTSC_OK ? op_finish(cx, args, out, results) : st;
}

/* ---- sum_to_size ----------------------------------------------------------------------------- */

static ctsc_status sum_refuse_size(op_ctx *cx, const tensor *in, int n, const int64_t *sizes) {
    strbuf want = STRBUF_INIT, have = STRBUF_INIT;
    tensor_print_sizes(n, sizes, &want);
    tensor_print_sizes(in->ndim, in->sizes, &have);
    ctsc_status st = diag_fail(cx->diag, CTSC_FAILED, "size {%s} is not expandable to size {%s}.",
                               sb_str(&want), sb_str(&have));
    sb_free(&want);
    sb_free(&have);
    return st;
}

ctsc_status op_sum_to_size(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *out, *shaped;
    const int64_t *sizes;
    int n = arg_ints(&args[1], &sizes), lead = in->ndim - n;
    bool mask[TENSOR_MAX_DIMS] = {false}, any = lead > 0 || n == 0;
    if (lead < 0) return sum_refuse_size(cx, in, n, sizes);
    for (int i = 0; i < in->ndim; i++) {
        int64_t want = i < lead ? 1 : sizes[i - lead];
        mask[i] = i < lead || (want == 1 && in->sizes[i] != 1);
        if (!mask[i] && want != in->sizes[i]) return sum_refuse_size(cx, in, n, sizes);
        any |= mask[i];
    }
    if (!any) return op_return_tensor(results, tensor_ref(in));
    /* integers too: sum would widen them, sum_to_size gives what sum gives */
    dtype dt = dtype_is_integral((dtype)in->dtype) ? DT_INT64 : (dtype)in->dtype;
    TRY(reduce_to_new(cx, &reduce_kind_sum, 0, in, mask, true, dt, &out));
    ctsc_status st = tensor_view(cx->diag, out, n, sizes, &shaped);
    tensor_unref(out);
    return st == CTSC_OK ? op_return_tensor(results, shaped) : st;
}
