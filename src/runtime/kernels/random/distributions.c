/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distributions.c - numbers of gamma and binomial distributions, with tensors of parameters: what
 * torch.distributions' Gamma, Beta, Dirichlet, Chi2, StudentT and Binomial draw. PyTorch's CPU
 * sequence, element after element.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/random/random.h"

#include <float.h>
#include <math.h>

typedef struct random_job {
    generator *g;
    bool floats; /* else doubles */
    bool binomial;
} random_job;

static double random_parameter(const random_job *r, const void *p) {
    return r->floats ? (double)*(const float *)p : *(const double *)p;
}

/* G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000); smaller
 * shapes are those of one more, times a power of a uniform number. Constants and shapes are floats
 * where PyTorch's are. */
static double random_gamma(generator *g, double shape, bool floats) {
    double scale = 1;
    if (shape == 0) return 0;
    if (shape < 1) {
        double power = floats ? (double)(1.0f / (float)shape) : 1 / shape;
        scale = pow(1 - random_uniform(g, DT_FLOAT64), power);
        shape = floats ? (double)((float)shape + 1) : shape + 1;
    }
    double third = (double)(1.0f / 3.0f),
           d = floats ? (double)((float)shape - 1.0f / 3.0f) : shape - third, c = 1 / sqrt(9 * d);
    if (!(d > 0)) return NAN; /* would never end */
    for (;;) {
        double x, y;
        do {
            x = random_normal(g);
            y = 1 + c * x;
        } while (y <= 0);
        double v = y * y * y, u = 1 - random_uniform(g, DT_FLOAT64), xx = x * x;
        if (u < 1 - (double)0.0331f * xx * xx || log(u) < 0.5 * xx + d * (1 - v + log(v)))
            return scale * d * v;
    }
}

/* ---- binomial -------------------------------------------------------------------------------- */

/* What Stirling's series leaves of log(k!). */
static double random_stirling_rest(double k) {
    static const double rest[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                  0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                  0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                  0.00833056343336287};
    if (k <= 9) return rest[(int)k];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* W. Hoermann, "The generation of binomial random variates" (1993): algorithm BTRS. */
static double random_binomial_large(random_job *r, double count, double p) {
    double q = 1 - p, variance = count * p * q;
    if (r->floats) variance = (double)((float)count * (float)p * (1 - (float)p));
    double deviation = r->floats ? (double)sqrtf((float)variance) : sqrt(variance),
           b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5,
           v_r = 0.92 - 4.2 / b, odds = p / q, alpha = (2.83 + 5.1 / b) * deviation,
           mode = floor((count + 1) * p);
    for (;;) {
        double u = random_uniform(r->g, DT_FLOAT64) - 0.5, v = random_uniform(r->g, DT_FLOAT64),
               us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
        if (!(k >= 0 && k <= count)) continue;
        if (us >= 0.07 && v <= v_r) return k;
        double bound = (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1))) +
                       (count + 1) * log((count - mode + 1) / (count - k + 1)) +
                       (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) +
                       random_stirling_rest(mode) + random_stirling_rest(count - mode) -
                       random_stirling_rest(k) - random_stirling_rest(count - k);
        if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
    }
}

/* The gap between successes is a geometric number of trials. */
static double random_binomial_small(random_job *r, double count, double p) {
    double failing = log1p(-p), trials = 0;
    for (double n = 0;; n++) {
        trials += ceil(log(random_uniform(r->g, DT_FLOAT64)) / failing);
        if (trials > count) return n;
    }
}

static double random_binomial(random_job *r, double count, double p) {
    if (isnan(count) || isnan(p) || (isinf(count) && count > 0 && p > 0 && p < 1))
        return NAN; /* would never end */
    if (count <= 0 || p <= 0) return 0;
    if (p >= 1) return count;
    bool few = p <= 0.5;
    double rare = few ? p : r->floats ? (double)(float)(1 - p) : 1 - p;
    double n = count * rare >= 10 ? random_binomial_large(r, count, rare)
                                  : random_binomial_small(r, count, rare);
    return few ? n : count - n;
}

/* ---- operators ------------------------------------------------------------------------------- */

static void random_job_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    random_job *r = ctx;
    double least = r->floats ? (double)FLT_MIN : DBL_MIN;
    for (int64_t i = 0; i < n; i++) {
        double first = random_parameter(r, p[1] + i * s[1]),
               drawn = r->binomial ? random_binomial(r, first, random_parameter(r, p[2] + i * s[2]))
                                   : random_gamma(r->g, first, r->floats);
        if (!r->binomial && drawn < least) drawn = least; /* its logarithm is needed */
        if (r->floats) *(float *)(void *)(p[0] + i * s[0]) = (float)drawn;
        else *(double *)(void *)(p[0] + i * s[0]) = drawn;
    }
}

/* Of the first parameter's shape and dtype. */
static ctsc_status random_draw_all(op_ctx *cx, const value *args, const char *name, bool binomial,
                                   value *results) {
    tensor *first = args[0].u.tensor, *t,
           *all[3] = {NULL, first, binomial ? args[1].u.tensor : NULL};
    if (first->dtype != DT_FLOAT32 && first->dtype != DT_FLOAT64)
        return op_refuse_dtype(cx, name, (dtype)first->dtype);
    TRY(tensor_new_like(cx->diag, first, (dtype)first->dtype, &t));
    all[0] = t;
    random_job r = {random_generator(cx), first->dtype == DT_FLOAT32, binomial};
    if (iter_run_ordered_limited(t->ndim, t->sizes, binomial ? 3 : 2, all, random_job_loop, &r))
        return op_return_tensor(results, t);
    tensor_unref(t);
    return limits_fail(cx->diag);
}

ctsc_status op_standard_gamma(op_ctx *cx, const value *args, value *results);
ctsc_status op_standard_gamma(op_ctx *cx, const value *args, value *results) {
    return random_draw_all(cx, args, "gamma_cpu", false, results);
}

/* binomial(count, prob), of count's shape. */
ctsc_status op_binomial(op_ctx *cx, const value *args, value *results);
ctsc_status op_binomial(op_ctx *cx, const value *args, value *results) {
    const tensor *count = args[0].u.tensor, *chance = args[1].u.tensor;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    if (chance->dtype != count->dtype)
        return diag_fail(cx->diag, CTSC_FAILED, "Found dtype %s but expected %s",
                         dtype_table[chance->dtype].ir_name, dtype_table[count->dtype].ir_name);
    TRY(broadcast_sizes(cx->diag, count->ndim, count->sizes, chance->ndim, chance->sizes, &ndim,
                        sizes));
    TRY(op_check_inplace_shape(cx, count, ndim, sizes));
    return random_draw_all(cx, args, "binomial_cpu", true, results);
}
