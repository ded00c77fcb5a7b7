/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_norm.c - variances, and norms of vectors: var, std, var_mean, std_mean, norm,
 * frobenius_norm, linalg_vector_norm, dist, renorm.
 *
 * Method: variances are taken block by block, two passes over a block that is in the cache, and the
 * blocks are joined (T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise
 * algorithm for computing sample variances, 1979).
 * Tests: tests/unit/test_reduce.c
 */
#include "runtime/kernels/reduce/reduce_norm.h"
#include "runtime/kernels/reduce/reduce_complex.h"
#include "runtime/kernels/reduce/reduce_vec.h"

#include <math.h>

/* ---- variance: f mean, g sum of squared differences, n count; p the correction --------------- */

enum { VAR_BLOCK = 1024 };

#define VAR_VEC_SQUARE(v, VI) ((v) * (v))
#define VAR_SQUARE(v) ((v) * (v))
static REDUCE_VECTOR_SUM(norm_squares_f32, float, reduce_v8f, reduce_v8i, 8, VAR_VEC_SQUARE,
                         VAR_SQUARE) static REDUCE_VECTOR_SUM(norm_squares_f64, double, reduce_v4d,
                                                              reduce_v4l, 4, VAR_VEC_SQUARE,
                                                              VAR_SQUARE)

    static void var_join(reduce_acc *a, double mean, double squares, int64_t n) {
    double d = mean - a->f, all = (double)(a->n + n);
    a->g += squares + d * d * ((double)a->n * (double)n / all);
    a->f = a->n ? a->f + d * ((double)n / all) : mean;
    a->n += n;
}

/* Differences from a rounded mean, which the sum of the differences then corrects. */
#define VAR_STEP(name, T, SUM, SQUARES)                                                            \
    REDUCE_STEP(name, T, {                                                                         \
        T diff[VAR_BLOCK];                                                                         \
        for (int64_t b = 0; b < n; b += VAR_BLOCK) {                                               \
            int64_t size = reduce_min_i64(n - b, VAR_BLOCK);                                       \
            T mean = (T)(SUM(x + b, size) / (double)size);                                         \
            for (int64_t k = 0; k < size; k++) diff[k] = x[b + k] - mean;                          \
            double rest = SUM(diff, size), squares = SQUARES(diff, size);                          \
            var_join(a, (double)mean + rest / (double)size, squares - rest * rest / (double)size,  \
                     size);                                                                        \
        }                                                                                          \
    })
VAR_STEP(var_step_f32, float, reduce_total_f32, norm_squares_f32)
VAR_STEP(var_step_f64, double, reduce_total_f64, norm_squares_f64)

static void var_combine(reduce_acc *a, const reduce_acc *b) {
    if (b->n) var_join(a, b->f, b->g, b->n);
}

static void var_store_mean(const reduce_job *j, const reduce_acc *a, int64_t result) {
    if (!j->indices) return; /* the second result, here: the mean */
    dtype dt = (dtype)j->indices->dtype;
    dtype_store_float(dt, (char *)tensor_data(j->indices) + (size_t)result * dtype_size(dt),
                      a->n ? a->f : (double)NAN);
}
static double var_of(const reduce_job *j, const reduce_acc *a) {
    double n = (double)a->n - j->p;
    return (a->g < 0 ? 0 : a->g) / (n > 0 ? n : 0);
}
static void var_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    var_store_mean(j, a, result);
    reduce_store(j, result, var_of(j, a), 0);
}
static void std_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    var_store_mean(j, a, result);
    reduce_store(j, result, sqrt(var_of(j, a)), 0);
}

static const reduce_kind norm_kind_var = {"var_cpu",   {0},        {var_step_f32, var_step_f64},
                                          var_combine, var_finish, NULL};
static const reduce_kind norm_kind_std = {"std_cpu",   {0},        {var_step_f32, var_step_f64},
                                          var_combine, std_finish, NULL};

static double var_correction(const op_ctx *cx, const value *args) {
    const value *unbiased = reduce_arg(cx, args, "unbiased");
    if (unbiased->tag != V_NONE) return arg_bool(unbiased) ? 1 : 0;
    const value *correction = reduce_arg(cx, args, "correction");
    return correction->tag == V_NONE ? 1 : arg_float(correction);
}

/* mean: NULL where it is not asked for. */
static ctsc_status var_real(op_ctx *cx, const value *args, tensor *in, const reduce_kind *kind,
                            dtype dt, tensor **out, tensor **mean) {
    bool mask[TENSOR_MAX_DIMS], keepdim = reduce_keepdim(cx, args);
    reduce_job j = {.kind = kind, .p = var_correction(cx, args)};
    tensor *wide;
    TRY(reduce_mask(cx, reduce_arg(cx, args, "dim"), in->ndim, mask));
    TRY(reduce_new_out(cx, in, mask, keepdim, dt, &j.out));
    ctsc_status st = CTSC_OK;
    if (mean) st = reduce_new_out(cx, in, mask, keepdim, dt, &j.indices);
    /* a wider target is computed in its own precision */
    if (st == CTSC_OK)
        st = tensor_to_dtype(cx->diag, in, dt == DT_FLOAT64 ? dt : (dtype)in->dtype, &wide);
    if (st == CTSC_OK) {
        st = reduce_run(cx, &j, wide, mask, false);
        tensor_unref(wide);
    }
    if (st != CTSC_OK) {
        tensor_unref(j.out);
        tensor_unref(j.indices);
        return st;
    }
    *out = j.out;
    if (mean) *mean = j.indices;
    return CTSC_OK;
}

/* a += b, both contiguous and of one shape; root: then the square root. */
static void var_add(tensor *a, const tensor *b, bool root) {
    dtype dt = (dtype)a->dtype;
    size_t size = dtype_size(dt);
    for (int64_t i = 0; i < a->numel; i++) {
        char *p = (char *)tensor_data(a) + (size_t)i * size;
        double sum = dtype_load_float(dt, p) +
                     dtype_load_float(dt, (const char *)tensor_data(b) + (size_t)i * size);
        dtype_store_float(dt, p, root ? sqrt(sum) : sum);
    }
}

/* Of complex numbers: the sum of the variances of both parts; the mean is complex. */
static ctsc_status var_complex(op_ctx *cx, const value *args, const reduce_kind *kind, dtype dt,
                               tensor **out, tensor **mean) {
    tensor *in = arg_tensor(&args[0]), *part[2] = {NULL, NULL}, *var[2] = {NULL, NULL},
           *means[2] = {NULL, NULL};
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < 2 && st == CTSC_OK; i++) {
        st = reduce_part(cx, in, i, &part[i]);
        if (st == CTSC_OK)
            st = var_real(cx, args, part[i], &norm_kind_var, dt, &var[i], mean ? &means[i] : NULL);
    }
    if (st == CTSC_OK && mean) {
        value parts[2] = {value_tensor_take(means[0]), value_tensor_take(means[1])},
              joined = value_none();
        st = op_call(cx, "aten::complex", 2, parts, &joined);
        if (st == CTSC_OK) *mean = joined.u.tensor;
    }
    if (st == CTSC_OK) {
        var_add(var[0], var[1], kind == &norm_kind_std);
        *out = tensor_ref(var[0]);
    }
    for (int i = 0; i < 2; i++) {
        tensor_unref(part[i]);
        tensor_unref(var[i]);
        tensor_unref(means[i]);
    }
    return st;
}

static bool var_is_finite(const tensor *t) {
    bool finite = true;
    for (int64_t i = 0; i < t->numel && finite; i++)
        finite = isfinite(dtype_load_float((dtype)t->dtype, (const char *)tensor_data(t) +
                                                                i * dtype_size((dtype)t->dtype)));
    return finite;
}

/* The root of a variance that is too large for a float is not: it is taken in double. */
static ctsc_status std_in_double(op_ctx *cx, const value *args, tensor *in, tensor **out) {
    dtype dt = (dtype)(*out)->dtype;
    tensor *wide, *narrow;
    TRY(var_real(cx, args, in, &norm_kind_std, DT_FLOAT64, &wide, NULL));
    ctsc_status st = tensor_to_dtype(cx->diag, wide, dt, &narrow);
    tensor_unref(wide);
    if (st != CTSC_OK) return st;
    tensor_unref(*out);
    *out = narrow;
    return CTSC_OK;
}

static ctsc_status var_run(op_ctx *cx, const value *args, const reduce_kind *kind, dtype dt,
                           tensor **out, tensor **mean) {
    tensor *in = arg_tensor(&args[0]);
    if (in->dtype == DT_COMPLEX64 || in->dtype == DT_COMPLEX128)
        return var_complex(cx, args, kind, dt, out, mean);
    TRY(var_real(cx, args, in, kind, dt, out, mean));
    if (kind != &norm_kind_std || dt == DT_FLOAT64 || geometry_only() ||
        tensor_device(*out) != DEVICE_HOST || var_is_finite(*out))
        return CTSC_OK;
    ctsc_status st = std_in_double(cx, args, in, out);
    if (st == CTSC_OK) return CTSC_OK;
    tensor_unref(*out);
    if (mean) tensor_unref(*mean);
    return st;
}

static ctsc_status var_one(op_ctx *cx, const value *args, const reduce_kind *kind, value *results) {
    tensor *var, *out;
    dtype dt = (dtype)args[0].u.tensor->dtype;
    if (dtype_is_integral(dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "std and var only support floating point and complex dtypes");
    TRY(reduce_dtype(cx, args, dtype_part(dt), &dt));
    if (!dtype_is_float(dtype_part(dt))) return op_refuse_dtype(cx, "std_cpu", dt);
    TRY(var_run(cx, args, kind, dtype_part(dt), &var, NULL));
    ctsc_status st = tensor_to_dtype(cx->diag, var, dt, &out);
    tensor_unref(var);
    return st == CTSC_OK ? op_finish(cx, args, out, results) : st;
}

ctsc_status op_var(op_ctx *cx, const value *args, value *results) {
    return var_one(cx, args, &norm_kind_var, results);
}
ctsc_status op_std(op_ctx *cx, const value *args, value *results) {
    return var_one(cx, args, &norm_kind_std, results);
}

static ctsc_status var_two(op_ctx *cx, const value *args, const reduce_kind *kind, const char *name,
                           value *results) {
    tensor *out, *mean;
    dtype dt = (dtype)args[0].u.tensor->dtype;
    if (dtype_is_integral(dt))
        return diag_fail(cx->diag, CTSC_FAILED, "%s only support floating point and complex dtypes",
                         name);
    TRY(var_run(cx, args, kind, dtype_part(dt), &out, &mean));
    return reduce_finish_two(cx, args, out, mean, results);
}

ctsc_status op_var_mean(op_ctx *cx, const value *args, value *results) {
    return var_two(cx, args, &norm_kind_var, "var_mean", results);
}
ctsc_status op_std_mean(op_ctx *cx, const value *args, value *results) {
    return var_two(cx, args, &norm_kind_std, "std_mean", results);
}

/* ---- norms: f the sum (or minimum, maximum) of powers; p the order --------------------------- */

/* |x| of a vector: the sign bit masked off. */
#define NORM_VEC_ABS32(v, VI) ((__typeof__(v))((VI)(v) & 0x7fffffff))
#define NORM_VEC_ABS64(v, VI) ((__typeof__(v))((VI)(v) & INT64_MAX))
static REDUCE_VECTOR_SUM(norm_abs_f32, float, reduce_v8f, reduce_v8i, 8, NORM_VEC_ABS32,
                         fabsf) static REDUCE_VECTOR_SUM(norm_abs_f64, double, reduce_v4d,
                                                         reduce_v4l, 4, NORM_VEC_ABS64, fabs)

#define NORM_EACH(...)                                                                             \
    for (int64_t k = 0; k < n; k++) {                                                              \
        double v = fabs((double)x[k]);                                                             \
        __VA_ARGS__;                                                                               \
    }
#define NORM_STEPS(name, ONE, OTHER)                                                               \
    REDUCE_STEP(name##_f32, float, ONE)                                                            \
    REDUCE_STEP(name##_f64, double, OTHER)
    NORM_STEPS(
        norm_step_two, { a->f += norm_squares_f32(x, n); }, { a->f += norm_squares_f64(x, n); })
        NORM_STEPS(
            norm_step_one, { a->f += norm_abs_f32(x, n); }, { a->f += norm_abs_f64(x, n); })
/* clang-format off */
#define NORM_POWER    NORM_EACH(a->f += pow(v, j->p))
#define NORM_POWER_F32 NORM_EACH(a->f += (double)(float)pow(v, j->p)) /* beyond float's range at both ends, as in PyTorch */
#define NORM_ZERO  NORM_EACH(a->f += v != 0)
#define NORM_TOP   NORM_EACH(if (v > a->f || isnan(v)) a->f = v)
#define NORM_LOW   NORM_EACH(if (v < a->f || isnan(v)) a->f = v)
    /* clang-format on */
    NORM_STEPS(norm_step_power, {NORM_POWER_F32}, {NORM_POWER})
        NORM_STEPS(norm_step_zero, {NORM_ZERO}, {NORM_ZERO})
            NORM_STEPS(norm_step_top, {NORM_TOP}, {NORM_TOP})
                NORM_STEPS(norm_step_low, {NORM_LOW}, {NORM_LOW})

                    static void norm_combine_sum(reduce_acc *a, const reduce_acc *b) {
    a->f += b->f;
}
static void norm_combine_top(reduce_acc *a, const reduce_acc *b) {
    if (b->f > a->f || isnan(b->f)) a->f = b->f;
}
static void norm_combine_low(reduce_acc *a, const reduce_acc *b) {
    if (b->f < a->f || isnan(b->f)) a->f = b->f;
}

/* The sum, in the dtype computed in: a root does not bring it back from infinity. */
static double norm_sum(const reduce_job *j, const reduce_acc *a) {
    return j->row == REDUCE_F32 ? (double)(float)a->f : a->f;
}
static void norm_finish_root(const reduce_job *j, const reduce_acc *a, int64_t result) {
    reduce_store(j, result, sqrt(norm_sum(j, a)), 0);
}
static void norm_finish_power(const reduce_job *j, const reduce_acc *a, int64_t result) {
    reduce_store(j, result, pow(norm_sum(j, a), 1 / j->p), 0);
}
static void norm_finish_self(const reduce_job *j, const reduce_acc *a, int64_t result) {
    reduce_store(j, result, a->f, 0);
}

#define NORM_KIND(which, init, combine, finish)                                                    \
    {"norm_cpu", init, {norm_step_##which##_f32, norm_step_##which##_f64}, combine, finish, NULL}
static const reduce_kind norm_kind_two = NORM_KIND(two, {0}, norm_combine_sum, norm_finish_root);
static const reduce_kind norm_kind_one = NORM_KIND(one, {0}, norm_combine_sum, norm_finish_self);
static const reduce_kind norm_kind_zero = NORM_KIND(zero, {0}, norm_combine_sum, norm_finish_self);
static const reduce_kind norm_kind_top = NORM_KIND(top, {0}, norm_combine_top, norm_finish_self);
static const reduce_kind norm_kind_low = NORM_KIND(low, {.f = INFINITY}, norm_combine_low,
                                                   norm_finish_self);
static const reduce_kind norm_kind_power = NORM_KIND(power, {0}, norm_combine_sum,
                                                     norm_finish_power);

static const reduce_kind *norm_pick(double p) {
    if (p == 2) return &norm_kind_two;
    if (p == 1) return &norm_kind_one;
    if (p == 0) return &norm_kind_zero;
    if (p == INFINITY) return &norm_kind_top;
    return p == -INFINITY ? &norm_kind_low : &norm_kind_power;
}

/* |in| if it is complex, in the precision of dt; else in. */
static ctsc_status norm_lengths(op_ctx *cx, const tensor *in, dtype dt, tensor **out) {
    tensor *wide;
    if (!dtype_is_complex((dtype)in->dtype)) return *out = tensor_ref((tensor *)in), CTSC_OK;
    TRY(tensor_to_dtype(cx->diag, (tensor *)in, dtype_to_complex(dt), &wide));
    ctsc_status st = reduce_lengths(cx, wide, out);
    tensor_unref(wide);
    return st;
}

ctsc_status norm_vector(op_ctx *cx, const tensor *in, double p, const bool *mask, bool keepdim,
                        dtype dt, tensor **out) {
    tensor *length, *input;
    TRY(norm_lengths(cx, in, dt, &length));
    ctsc_status st = tensor_to_dtype(cx->diag, length, dt, &input);
    tensor_unref(length);
    TRY(st);
    st = reduce_to_new(cx, norm_pick(p), p, input, mask, keepdim, dt, out);
    tensor_unref(input);
    /* PyTorch's norm() of nothing is 0 whatever the order; linalg's refuses before it comes here.
     */
    if (st == CTSC_OK && in->numel == 0 && (*out)->numel && (p < 0 || isnan(p)))
        memset(tensor_data(*out), 0, (size_t)(*out)->numel * dtype_size(dt));
    return st;
}

/* ---- norm(), dist() -------------------------------------------------------------------------- */

static ctsc_status norm_run(op_ctx *cx, const value *args, const tensor *in, double p,
                            const value *dim, tensor **out) {
    bool mask[TENSOR_MAX_DIMS];
    dtype from = (dtype)in->dtype, dt = from;
    const value *given = reduce_arg(cx, args, "dtype");
    TRY(arg_dtype(cx, given, from, &dt));
    if (dtype_is_integral(dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "norm(): %s dtype should be either floating point or complex. Got %s "
                         "instead.",
                         given->tag == V_NONE ? "input" : "the desired output",
                         dtype_table[dt].ir_name);
    TRY(reduce_mask(cx, dim, in->ndim, mask));
    tensor *norm;
    TRY(norm_vector(cx, in, p, mask, reduce_keepdim(cx, args), dtype_part(dt), &norm));
    if (given->tag == V_NONE || !dtype_is_complex(dt)) return *out = norm, CTSC_OK;
    /* an odd wish, but PyTorch grants it */
    ctsc_status st = tensor_to_dtype(cx->diag, norm, dt, out);
    tensor_unref(norm);
    return st;
}

ctsc_status op_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    double p = arg_is_none(&args[1]) ? 2 : arg_float(&args[1]);
    TRY(norm_run(cx, args, arg_tensor(&args[0]), p, reduce_arg(cx, args, "dim"), &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_frobenius_norm(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *out;
    const value *dim = reduce_arg(cx, args, "dim");
    const int64_t *dims;
    int n = arg_ints(dim, &dims), a, b;
    if (n > 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Expected at most 2 dimensions, but got %d dimensions instead.", n);
    if (n == 2) {
        TRY(tensor_wrap_dim(cx->diag, dims[0], in->ndim, &a));
        TRY(tensor_wrap_dim(cx->diag, dims[1], in->ndim, &b));
        if (a == b)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "Expected dims to be different, got [%lld, %lld] instead",
                             (long long)dims[0], (long long)dims[1]);
    }
    TRY(norm_run(cx, args, in, 2, dim, &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_dist(op_ctx *cx, const value *args, value *results) {
    value difference = value_none();
    tensor *out;
    TRY(op_call(cx, "aten::sub.Tensor", 2, args, &difference));
    ctsc_status st = norm_run(cx, args, difference.u.tensor, arg_float(&args[2]),
                              &(value){.tag = V_NONE}, &out);
    value_unref(difference);
    return st == CTSC_OK ? op_finish(cx, args, out, results) : st;
}

/* ---- renorm: slices along dim whose p-norm exceeds maxnorm are scaled down to it ------------- */

static ctsc_status renorm_check(op_ctx *cx, const tensor *in, double p, double maxnorm) {
    if (!(p > 0))
        return diag_fail(cx->diag, CTSC_FAILED, "renorm: non-positive-norm not supported");
    if (!(maxnorm >= 0))
        return diag_fail(cx->diag, CTSC_FAILED, "renorm: expected maxnorm to be >= 0 but got %g",
                         maxnorm);
    if (in->ndim < 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "renorm: input needs at least 2 dimensions, got %d dimensions", in->ndim);
    if (dtype_is_integral((dtype)in->dtype))
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "linalg.vector_norm: Expected a floating point or complex tensor as input. "
            "Got %s",
            dtype_table[in->dtype].ir_name);
    return CTSC_OK;
}

/* Norms become factors; 1e-7 as in PyTorch, which adds and divides in the norms' dtype. */
static void renorm_factors(tensor *norms, double maxnorm) {
    double *doubles = tensor_data(norms);
    float *floats = tensor_data(norms), most = (float)maxnorm;
    for (int64_t i = 0; i < norms->numel; i++) {
        if (norms->dtype == DT_FLOAT64)
            doubles[i] = doubles[i] > maxnorm ? maxnorm / (doubles[i] + 1e-7) : 1;
        else floats[i] = floats[i] > most ? most / (floats[i] + 1e-7F) : 1;
    }
}

ctsc_status op_renorm(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *norms;
    double p = arg_float(&args[1]), maxnorm = arg_float(&args[3]);
    bool mask[TENSOR_MAX_DIMS];
    int dim;
    TRY(renorm_check(cx, in, p, maxnorm));
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), in->ndim, &dim));
    for (int i = 0; i < in->ndim; i++) mask[i] = i != dim;
    dtype dt = (dtype)in->dtype, wide = dtype_part(dt) == DT_FLOAT64 ? DT_FLOAT64 : DT_FLOAT32;
    if (!dtype_is_float(dt) && dt != DT_COMPLEX64 && dt != DT_COMPLEX128)
        return op_refuse_dtype(cx, "renorm_cpu", dt);
    TRY(norm_vector(cx, in, p, mask, true, wide, &norms));
    renorm_factors(norms, maxnorm);
    tensor *factors; /* those of 16 bits are rounded, as well as the products */
    ctsc_status st = tensor_to_dtype(cx->diag, norms, dtype_part(dt), &factors);
    tensor_unref(norms);
    if (st != CTSC_OK) return st;
    value operands[2] = {args[0], value_tensor_take(factors)}, scaled = value_none();
    st = op_call(cx, "aten::mul.Tensor", 2, operands, &scaled);
    tensor_unref(factors);
    if (st != CTSC_OK) return st;
    tensor *out;
    st = tensor_to_dtype(cx->diag, scaled.u.tensor, dt, &out);
    value_unref(scaled);
    return st == CTSC_OK ? op_finish(cx, args, out, results) : st;
}
