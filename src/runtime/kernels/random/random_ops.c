/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_ops.c - the random operators: rand and the like, in-place fills, sampling, dropout.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/create/create.h"
#include "runtime/kernels/engine/move.h"
#include "runtime/kernels/random/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

OPERATOR(manual_seed) {
    (void)results;
    generator_seed(&cx->rt->rng, (uint64_t)arg_int(&args[0]));
    return CTSC_OK;
}

/* What an overload of form (self, ...) fills: self in place, or a new tensor like it. Takes
 * nothing. */
static ctsc_status random_target(op_ctx *cx, const value *args, tensor **out) {
    tensor *self = args[0].u.tensor;
    int index;
    if (!op_target(cx, args, &index) || index != 0)
        return tensor_new_like(cx->diag, self, (dtype)self->dtype, out);
    TRY(tensor_make_writable(cx->diag, self));
    *out = tensor_ref(self);
    return CTSC_OK;
}
/* Takes t, which st says is filled or not. */
static ctsc_status random_finish(op_ctx *cx, const value *args, tensor *t, ctsc_status st,
                                 value *results) {
    if (st == CTSC_OK) return op_finish(cx, args, t, results);
    tensor_unref(t);
    return st;
}

/* ---- by size or example: rand, randn, randint ------------------------------------------------ */

/* rand(size), rand_like(self), and the like: args[0] is a tensor or `size` names the sizes. */
static ctsc_status random_shaped(op_ctx *cx, const value *args, dtype fallback, tensor **out) {
    dtype dt;
    const tensor *like = args[0].tag == V_TENSOR ? args[0].u.tensor : NULL;
    TRY(create_options(cx, args, like ? (dtype)like->dtype : fallback, &dt));
    if (like) return tensor_new_like(cx->diag, like, dt, out);
    return create_sized(cx, create_arg(cx, args, "size"), dt, out);
}
OPERATOR(rand) {
    tensor *t;
    TRY(random_shaped(cx, args, DT_FLOAT32, &t));
    return random_finish(cx, args, t, random_fill_uniform(cx, t, 0, 1), results);
}
OPERATOR(randn) {
    tensor *t;
    TRY(random_shaped(cx, args, DT_FLOAT32, &t));
    return random_finish(cx, args, t, random_fill_normal(cx, t, 0, 1), results);
}

/* Largest integer that random_ and randint may write to dt: the dtype's maximum, or 2^digits. */
static int64_t random_largest(dtype dt) {
    switch (dt) {
    case DT_BOOL: return 1;
    case DT_UINT8: return UINT8_MAX;
    case DT_INT8: return INT8_MAX;
    case DT_INT16: return INT16_MAX;
    case DT_INT32: return INT32_MAX;
    case DT_FLOAT16: return 1 << 11;
    case DT_BFLOAT16: return 1 << 8;
    case DT_FLOAT32: return 1 << 24;
    case DT_FLOAT64: return INT64_C(1) << 53;
    default: return INT64_MAX;
    }
}
static int64_t random_lowest(dtype dt) {
    if (dt == DT_BOOL || dt == DT_UINT8) return 0;
    return dtype_is_float(dt) ? -random_largest(dt) : -random_largest(dt) - 1;
}
static const char *random_type_name(dtype dt) {
    return dt == DT_UINT8   ? "unsigned char"
           : dt == DT_INT8  ? "signed char"
           : dt == DT_INT16 ? "short"
           : dt == DT_INT32 ? "int"
           : dt == DT_INT64 ? "long"
           : dt == DT_BOOL  ? "bool"
                            : dtype_table[dt].ir_name;
}

/* Integers in [from, to). */
static ctsc_status random_fill_between(op_ctx *cx, tensor *t, int64_t from, int64_t to) {
    dtype dt = (dtype)t->dtype;
    if (from >= to)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
            (long long)from, (long long)to);
    if (!dtype_is_float(dt) && (from < random_lowest(dt) || from > random_largest(dt)))
        return diag_fail(cx->diag, CTSC_FAILED, "from is out of bounds for %s",
                         random_type_name(dt));
    if (!dtype_is_float(dt) && (to - 1 < random_lowest(dt) || to - 1 > random_largest(dt)))
        return diag_fail(cx->diag, CTSC_FAILED, "to - 1 is out of bounds for %s",
                         random_type_name(dt));
    return random_fill_integers(cx, t, from, (uint64_t)to - (uint64_t)from);
}

/* randint(high, size), randint(low, high, size), randint_like(self, high), (self, low, high) */
OPERATOR(randint) {
    const value *low = create_arg(cx, args, "low");
    tensor *t;
    TRY(random_shaped(cx, args, DT_INT64, &t));
    ctsc_status st = random_fill_between(cx, t, low ? arg_int(low) : 0,
                                         arg_int(create_arg(cx, args, "high")));
    return random_finish(cx, args, t, st, results);
}

/* randperm(n): Fisher and Yates' shuffle. */
OPERATOR(randperm) {
    int64_t n = arg_int(&args[0]);
    dtype dt;
    tensor *t;
    TRY(create_options(cx, args, DT_INT64, &dt));
    if (n < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "n must be non-negative, got%lld", (long long)n);
    TRY(tensor_new(cx->diag, DT_INT64, 1, &n, &t));
    int64_t *p = tensor_data(t);
    generator *g = random_generator(cx);
    ctsc_status st = CTSC_OK;
    int64_t count = geometry_only() ? 0 : n;
    for (int64_t i = 0; i < count && (st = op_go_on(cx, i)) == CTSC_OK; i++) p[i] = i;
    for (int64_t i = 0; st == CTSC_OK && i < count - 1 && (st = op_go_on(cx, i)) == CTSC_OK; i++) {
        int64_t k = i + generator_u32(g) % (n - i), old = p[i];
        p[i] = p[k];
        p[k] = old;
    }
    tensor *converted;
    if (st == CTSC_OK) st = tensor_to_dtype(cx->diag, t, dt, &converted);
    tensor_unref(t);
    return st == CTSC_OK ? op_finish(cx, args, converted, results) : st;
}

/* ---- fills of the form (self, parameters) ---------------------------------------------------- */

OPERATOR(uniform) {
    tensor *t;
    TRY(random_target(cx, args, &t));
    return random_finish(
        cx, args, t, random_fill_uniform(cx, t, arg_float(&args[1]), arg_float(&args[2])), results);
}
OPERATOR(normal_fill) {
    tensor *t;
    TRY(random_target(cx, args, &t));
    return random_finish(
        cx, args, t, random_fill_normal(cx, t, arg_float(&args[1]), arg_float(&args[2])), results);
}
OPERATOR(exponential) {
    tensor *t;
    TRY(random_target(cx, args, &t));
    return random_finish(cx, args, t, random_fill_exponential(cx, t, arg_float(&args[1])), results);
}

static double random_draw_geometric(generator *g, const void *ctx) {
    return ceil(log(random_uniform(g, DT_FLOAT64)) / log1p(-*(const double *)ctx));
}
OPERATOR(geometric) {
    double p = arg_float(&args[1]);
    tensor *t;
    if (!(p > 0 && p < 1))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "geometric_ expects p to be in (0, 1), but got p=%g", p);
    TRY(random_target(cx, args, &t));
    return random_finish(cx, args, t, random_fill(cx, t, random_draw_geometric, &p), results);
}

static double random_draw_cauchy(generator *g, const void *ctx) {
    const double *median_sigma = ctx;
    double u = random_uniform(g, DT_FLOAT64);
    return median_sigma[0] + median_sigma[1] * tan(3.14159265358979323846 * (u - 0.5));
}
static double random_draw_log_normal(generator *g, const void *ctx) {
    const double *mean_std = ctx;
    return exp(random_normal(g) * mean_std[1] + mean_std[0]);
}
static ctsc_status random_two_parameters(op_ctx *cx, const value *args, const char *name,
                                         const char *scale, random_draw draw, value *results) {
    const double parameters[2] = {arg_float(&args[1]), arg_float(&args[2])};
    tensor *t;
    if (!dtype_is_float((dtype)args[0].u.tensor->dtype))
        return op_refuse_dtype(cx, name, (dtype)args[0].u.tensor->dtype);
    if (!(parameters[1] > 0))
        return diag_fail(cx->diag, CTSC_FAILED, "%s expects %s > 0.0, but found %s=%g", name, scale,
                         scale, parameters[1]);
    TRY(random_target(cx, args, &t));
    return random_finish(cx, args, t, random_fill(cx, t, draw, parameters), results);
}
OPERATOR(cauchy) {
    return random_two_parameters(cx, args, "cauchy_", "sigma", random_draw_cauchy, results);
}
OPERATOR(log_normal) {
    return random_two_parameters(cx, args, "log_normal_", "std", random_draw_log_normal, results);
}

/* random_(self), random_(self, to), random_(self, from, to=None) */
OPERATOR(random) {
    const value *from = create_arg(cx, args, "from"), *to = create_arg(cx, args, "to");
    tensor *t;
    TRY(random_target(cx, args, &t));
    dtype dt = (dtype)t->dtype;
    ctsc_status st;
    if (to) {
        st = random_fill_between(cx, t, from ? arg_int(from) : 0, arg_int(to));
    } else if (from) { /* up to the largest, inclusive */
        uint64_t span = (uint64_t)random_largest(dt) - (uint64_t)arg_int(from) + 1;
        st = random_fill_integers(cx, t, arg_int(from), span);
    } else {
        st = random_fill_integers(cx, t, 0, (uint64_t)random_largest(dt) + 1);
    }
    return random_finish(cx, args, t, st, results);
}

/* ---- bernoulli, poisson, normal with tensors of parameters ----------------------------------- */

typedef struct random_parameters {
    generator *g;
    dtype dt;    /* of the output */
    dtype draws; /* of the uniforms */
    bool failed; /* a parameter is out of range */
    double (*draw)(struct random_parameters *job, double parameter);
} random_parameters;

static void random_parameters_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    random_parameters *job = ctx;
    for (int64_t i = 0; i < n; i++) {
        double parameter = *(const double *)(const void *)(p[1] + i * s[1]);
        dtype_store_float(job->dt, p[0] + i * s[0], job->draw(job, parameter));
    }
}
/* Writes job->draw of each element of parameters (broadcast to t's shape). */
static ctsc_status random_fill_parameters(op_ctx *cx, tensor *t, tensor *parameters,
                                          random_parameters *job) {
    tensor *wide;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    TRY(broadcast_sizes(cx->diag, t->ndim, t->sizes, parameters->ndim, parameters->sizes, &ndim,
                        sizes));
    TRY(op_check_inplace_shape(cx, t, ndim, sizes));
    if (t->numel) TRY(move_refuse_internal_overlap(cx, t));
    TRY(tensor_to_dtype(cx->diag, parameters, DT_FLOAT64, &wide));
    job->g = random_generator(cx);
    job->dt = (dtype)t->dtype;
    tensor *both[2] = {t, wide};
    bool whole = iter_run_ordered_limited(t->ndim, t->sizes, 2, both, random_parameters_loop, job);
    tensor_unref(wide);
    return whole ? CTSC_OK : limits_fail(cx->diag);
}

static double random_draw_chance(random_parameters *job, double p) {
    if (!(p >= 0 && p <= 1)) job->failed = true;
    return random_uniform(job->g, job->draws) < p;
}
static ctsc_status random_bernoulli_tensor(op_ctx *cx, tensor *t, tensor *p) {
    random_parameters job = {.draws = p->dtype == DT_FLOAT64 ? DT_FLOAT64 : DT_FLOAT32,
                             .draw = random_draw_chance};
    if (!dtype_is_float((dtype)p->dtype))
        return op_refuse_dtype(cx, "bernoulli_tensor_cpu_p_", (dtype)p->dtype);
    TRY(random_fill_parameters(cx, t, p, &job));
    if (!job.failed) return CTSC_OK;
    return diag_fail(
        cx->diag, CTSC_FAILED,
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
        "message be improved?  If so, please report an enhancement request to "
        "PyTorch.)");
}
/* bernoulli(self): self holds the chances; bernoulli(self, p), bernoulli_(self, p): p does. */
OPERATOR(bernoulli) {
    const value *p = create_arg(cx, args, "p");
    tensor *t;
    TRY(random_target(cx, args, &t));
    ctsc_status st = !p                   ? random_bernoulli_tensor(cx, t, args[0].u.tensor)
                     : p->tag == V_TENSOR ? random_bernoulli_tensor(cx, t, p->u.tensor)
                                          : random_fill_bernoulli(cx, t, arg_float(p));
    return random_finish(cx, args, t, st, results);
}

/* W. Hoermann, "The transformed rejection method for generating Poisson random variables" (1993).
 */
static double random_poisson_large(generator *g, double lambda) {
    double b = 0.931 + 2.53 * sqrt(lambda), a = -0.059 + 0.02483 * b;
    double alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = random_uniform(g, DT_FLOAT64) - 0.5, v = random_uniform(g, DT_FLOAT64);
        double us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + lambda + 0.43);
        int sign;
        if (us >= 0.07 && v <= v_r) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(alpha) - log(a / (us * us) + b) <=
            -lambda + k * log(lambda) - lgamma_r(k + 1, &sign))
            return k;
    }
}
static double random_draw_poisson(random_parameters *job, double lambda) {
    if (!(lambda >= 0) || lambda > 1e15) { /* infinite rates would never end */
        job->failed = true;
        return 0;
    }
    if (lambda >= 10) return random_poisson_large(job->g, lambda);
    if (lambda == 0) return 0;
    double limit = exp(-lambda), product = 1, k = 0;
    for (;; k++) {
        product *= random_uniform(job->g, DT_FLOAT64);
        if (product <= limit) return k;
    }
}
OPERATOR(poisson) {
    random_parameters job = {.draw = random_draw_poisson};
    tensor *t, *self = args[0].u.tensor;
    if (!dtype_is_float((dtype)self->dtype))
        return op_refuse_dtype(cx, "poisson_cpu", (dtype)self->dtype);
    TRY(tensor_new_like(cx->diag, self, (dtype)self->dtype, &t));
    ctsc_status st = random_fill_parameters(cx, t, self, &job);
    if (st == CTSC_OK && job.failed)
        st = diag_fail(cx->diag, CTSC_FAILED,
                       "invalid Poisson rate, expected rate to be non-negative");
    return random_finish(cx, args, t, st, results);
}

/* normal(mean, std): each a tensor or a number; normal(mean, std, size) of two numbers. */
OPERATOR(normal) {
    const value *mean = &args[0], *std = &args[1];
    const tensor *m = mean->tag == V_TENSOR ? mean->u.tensor : NULL;
    const tensor *s = std->tag == V_TENSOR ? std->u.tensor : NULL;
    tensor *t;
    if (!m && !s) {
        TRY(random_shaped(cx, args, DT_FLOAT32, &t));
        return random_finish(cx, args, t,
                             random_fill_normal(cx, t, arg_float(mean), arg_float(std)), results);
    }
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = (m ? m : s)->ndim;
    memcpy(sizes, (m ? m : s)->sizes, sizeof *sizes * (size_t)ndim);
    if (m && s) TRY(broadcast_sizes(cx->diag, ndim, sizes, s->ndim, s->sizes, &ndim, sizes));
    TRY(tensor_new(cx->diag, (dtype)(m ? m : s)->dtype, ndim, sizes, &t));
    ctsc_status st = random_fill_normal(cx, t, 0, s ? 1 : arg_float(std));
    value in[2] = {value_tensor_take(t)}, ignored = value_none();
    if (st == CTSC_OK && s) {
        in[1] = *std;
        st = op_call(cx, "aten::mul_.Tensor", 2, in, &ignored);
        value_set(&ignored, value_none());
    }
    if (st == CTSC_OK) {
        in[1] = *mean;
        st = op_call(cx, m ? "aten::add_.Tensor" : "aten::add_.Scalar", 2, in, &ignored);
        value_set(&ignored, value_none());
    }
    return random_finish(cx, args, t, st, results);
}

/* ---- multinomial ----------------------------------------------------------------------------- */

static ctsc_status random_check_weights(op_ctx *cx, const double *w, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(w[i] >= 0) || w[i] - w[i] != 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "probability tensor contains either `inf`, `nan` or element < 0");
        sum += w[i];
    }
    if (sum <= 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "invalid multinomial distribution (sum of probabilities <= 0)");
    return CTSC_OK;
}

/* The larger first; of equal ones the earlier. */
static int random_compare(const void *a, const void *b, void *weights) {
    const double *w = weights;
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    return w[i] > w[k] ? -1 : w[i] < w[k] ? 1 : i < k ? -1 : 1;
}
/* Without replacement: the `count` largest of weight / exponential variate. Overwrites w; order has
 * n elements. */
static void random_pick_largest(generator *g, double *w, int64_t n, dtype dt, int64_t count,
                                int64_t *order, int64_t *out) {
    for (int64_t i = 0; i < n; i++) {
        double q = -log1p(-random_uniform(g, DT_FLOAT64));
        w[i] = dt == DT_FLOAT64 ? w[i] / q : (float)((float)w[i] / (float)q);
        if (w[i] != w[i]) w[i] = 0; /* 0 / 0 */
        order[i] = i;
    }
    qsort_r(order, (size_t)n, sizeof *order, random_compare, w);
    memcpy(out, order, sizeof *out * (size_t)count);
}
/* With replacement: search in the running sums. Overwrites w. */
static ctsc_status random_pick_repeated(op_ctx *cx, generator *g, double *w, int64_t n,
                                        int64_t count, int64_t *out) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) w[i] = sum += w[i];
    for (int64_t i = 0; i < n; i++) w[i] /= sum;
    w[n - 1] = 1;
    OP_LOOP(cx, k, count, {
        double u = random_uniform(g, DT_FLOAT64);
        int64_t low = 0, high = n;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (w[middle] < u) low = middle + 1;
            else high = middle;
        }
        out[k] = low;
    })
    return CTSC_OK;
}

/* multinomial(self, num_samples, replacement=False) */
OPERATOR(multinomial) {
    tensor *self = args[0].u.tensor, *wide, *weights, *t;
    int64_t count = arg_int(&args[1]);
    bool again = arg_bool(&args[2]);
    if (self->ndim < 1 || self->ndim > 2)
        return diag_fail(cx->diag, CTSC_FAILED, "prob_dist must be 1 or 2 dim");
    if (!dtype_is_float((dtype)self->dtype))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "multinomial only supports floating-point dtypes for input, got: %s",
                         dtype_table[self->dtype].ir_name);
    int64_t n = self->sizes[self->ndim - 1], rows = self->ndim == 2 ? self->sizes[0] : 1;
    if (count <= 0) return diag_fail(cx->diag, CTSC_FAILED, "cannot sample n_sample <= 0 samples");
    if (!again && count > n)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    if (n == 0 && rows > 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "invalid multinomial distribution (sum of probabilities <= 0)");
    int64_t sizes[2] = {rows, count};
    TRY(tensor_new(cx->diag, DT_INT64, self->ndim, self->ndim == 2 ? sizes : sizes + 1, &t));
    ctsc_status st = tensor_to_dtype(cx->diag, self, DT_FLOAT64, &wide);
    if (st == CTSC_OK) {
        st = tensor_clone(cx->diag, wide, &weights);
        tensor_unref(wide);
    }
    if (st != CTSC_OK) return random_finish(cx, args, t, st, results);
    double *w = tensor_data(weights);
    int64_t *order = mem_alloc((size_t)n * sizeof *order);
    if (!order) st = diag_no_memory(cx->diag);
    generator *g = random_generator(cx);
    if (geometry_only()) rows = 0; /* from here on they are counted alone */
    for (int64_t i = 0; i < rows && st == CTSC_OK; i++) st = random_check_weights(cx, w + i * n, n);
    for (int64_t i = 0; i < rows && st == CTSC_OK; i++) {
        int64_t *out = TENSOR_AT(t, int64_t) + i * count;
        if (again) st = random_pick_repeated(cx, g, w + i * n, n, count, out);
        else random_pick_largest(g, w + i * n, n, (dtype)self->dtype, count, order, out);
    }
    mem_free(order);
    tensor_unref(weights);
    return random_finish(cx, args, t, st, results);
}

/* ---- dropout --------------------------------------------------------------------------------- */

typedef struct random_dropout {
    bool feature; /* one draw for each channel */
    bool alpha;   /* keeps mean and variance of selu outputs */
} random_dropout;

/* The dims of x from the slowest in memory to the fastest. */
static void random_order(const tensor *x, int64_t *order) {
    for (int i = 0; i < x->ndim; i++) {
        int k = i;
        for (; k > 0 && x->strides[i] && x->strides[order[k - 1]] < x->strides[i] &&
               x->strides[order[k - 1]];
             k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

/* 1 where kept, 0 where dropped, for x: drawn in memory order, which for a
 * transposed x is not its logical order. *memory: the same, in drawing order. */
static ctsc_status random_mask(op_ctx *cx, const tensor *x, dtype dt, double keep, tensor **memory,
                               tensor **out) {
    int64_t order[TENSOR_MAX_DIMS], back[TENSOR_MAX_DIMS], sizes[TENSOR_MAX_DIMS];
    random_order(x, order);
    for (int i = 0; i < x->ndim; i++) {
        sizes[i] = x->sizes[order[i]];
        back[order[i]] = i;
    }
    TRY(tensor_new(cx->diag, dt, x->ndim, sizes, memory));
    ctsc_status st = random_fill_bernoulli(cx, *memory, keep);
    if (st == CTSC_OK) st = tensor_permute(cx->diag, *memory, x->ndim, back, out);
    if (st != CTSC_OK) tensor_unref(*memory);
    return st;
}

/* A noise tensor for x: 1 where kept, 0 where dropped. */
static ctsc_status random_noise(op_ctx *cx, const tensor *x, bool feature, double keep,
                                tensor **memory, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    if (!feature) return random_mask(cx, x, (dtype)x->dtype, keep, memory, out);
    if (x->ndim < 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Feature dropout requires at least 2 dimensions in the input");
    for (int i = 0; i < x->ndim; i++) sizes[i] = i < 2 ? x->sizes[i] : 1;
    TRY(tensor_new(cx->diag, (dtype)x->dtype, x->ndim, sizes, memory));
    ctsc_status st = random_fill_bernoulli(cx, *memory, keep);
    if (st == CTSC_OK) *out = tensor_ref(*memory);
    else tensor_unref(*memory);
    return st;
}

/* x * scale + shift, elementwise, into a new tensor or into x. */
static ctsc_status random_scale(op_ctx *cx, bool inplace, const value *x, const value *scale,
                                const value *shift, value *results) {
    value in[2] = {*x, *scale}, product = value_none(), ignored = value_none();
    TRY(op_call(cx, inplace ? "aten::mul_.Tensor" : "aten::mul.Tensor", 2, in, &product));
    ctsc_status st = CTSC_OK;
    if (shift) {
        value sum[2] = {product, *shift};
        st = op_call(cx, "aten::add_.Tensor", 2, sum, &ignored);
        value_unref(ignored);
    }
    if (st != CTSC_OK) {
        value_unref(product);
        return st;
    }
    return op_return(results, product);
}

/* noise *= factor; noise += addend (both rounded to the tensor's dtype, as PyTorch's in-place
 * operators do). */
static void random_affine(tensor *noise, double factor, double addend, double base) {
    dtype dt = (dtype)noise->dtype;
    size_t size = dtype_size(dt);
    for (int64_t i = 0; !geometry_only() && i < noise->numel; i++) {
        char *p = (char *)tensor_data(noise) + (size_t)i * size;
        dtype_store_float(dt, p, (dtype_load_float(dt, p) + base) * factor + addend);
    }
}

static ctsc_status random_dropout_run(op_ctx *cx, const value *args, random_dropout how,
                                      value *results) {
    double p = arg_float(&args[1]);
    const tensor *x = args[0].u.tensor;
    bool inplace = op_target(cx, args, NULL) != NULL;
    tensor *noise = NULL, *memory = NULL, *shift = NULL;
    if (!(p >= 0 && p <= 1))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "dropout probability has to be between 0 and 1, but got %g", p);
    if (p == 0 || !arg_bool(&args[2]) || x->numel == 0) return op_return_self(results, args);
    if (p == 1) {
        value in[2] = {args[0], value_int(0)};
        return op_call(cx, inplace ? "aten::mul_.Scalar" : "aten::mul.Scalar", 2, in, results);
    }
    if (!dtype_is_float((dtype)x->dtype))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "result type Float can't be cast to the desired output type %s",
                         dtype_table[x->dtype].ir_name);
    TRY(random_noise(cx, x, how.feature, 1 - p, &memory, &noise));
    ctsc_status st = CTSC_OK;
    if (how.alpha) {
        /* Klambauer et al., "Self-Normalizing Neural Networks" (2017) */
        const double alpha = 1.7580993408473766;
        double a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
        st = tensor_clone(cx->diag, noise, &shift);
        if (st == CTSC_OK) {
            random_affine(shift, alpha * a, alpha * a * p, -1);
            random_affine(memory, a, 0, 0);
        }
    } else {
        random_affine(memory, 1 / (1 - p), 0, 0);
    }
    if (st == CTSC_OK) {
        value scale = value_tensor_take(noise), add = value_tensor_take(shift);
        st = random_scale(cx, inplace, args, &scale, shift ? &add : NULL, results);
    }
    tensor_unref(memory);
    tensor_unref(noise);
    tensor_unref(shift);
    return st;
}
OPERATOR(dropout) { return random_dropout_run(cx, args, (random_dropout){false, false}, results); }
OPERATOR(feature_dropout) {
    return random_dropout_run(cx, args, (random_dropout){true, false}, results);
}
OPERATOR(alpha_dropout) {
    return random_dropout_run(cx, args, (random_dropout){false, true}, results);
}
OPERATOR(feature_alpha_dropout) {
    return random_dropout_run(cx, args, (random_dropout){true, true}, results);
}

/* native_dropout(input, p, train) -> (output, mask) */
OPERATOR(native_dropout) {
    const tensor *x = args[0].u.tensor;
    double p = arg_float(&args[1]), keep = 1 - p;
    bool train = arg_is_none(&args[2]) || arg_bool(&args[2]);
    tensor *mask, *memory = NULL;
    ctsc_status st = CTSC_OK;
    value one = value_int(1), scale = value_float(keep == 0 ? 0 : 1 / keep);
    if (train) {
        TRY(random_mask(cx, x, DT_BOOL, keep, &memory, &mask));
        tensor_unref(memory);
    } else {
        TRY(tensor_new_like(cx->diag, x, DT_BOOL, &mask));
        st = create_fill(cx, mask, &one);
    }
    value in[2] = {args[0], value_tensor_take(mask)}, product = value_none();
    if (st == CTSC_OK) st = op_call(cx, "aten::mul.Tensor", 2, in, &product);
    if (st == CTSC_OK && train) {
        value again[2] = {product, scale}, ignored = value_none();
        st = op_call(cx, "aten::mul_.Scalar", 2, again, &ignored);
        value_unref(ignored);
    }
    if (st != CTSC_OK) {
        value_unref(product);
        tensor_unref(mask);
        return st;
    }
    results[0] = product;
    results[1] = value_tensor_take(mask);
    return CTSC_OK;
}

/* ---- rrelu ----------------------------------------------------------------------------------- */

/* A contiguous tensor of slopes: uniform for elements <= 0, else 1. */
static ctsc_status random_slopes(op_ctx *cx, tensor *x, double lower, double upper, tensor **out) {
    tensor *copy;
    dtype dt = (dtype)x->dtype;
    size_t size = dtype_size(dt);
    TRY(tensor_clone(cx->diag, x, &copy));
    generator *g = random_generator(cx);
    for (int64_t i = 0; !geometry_only() && i < copy->numel; i++) {
        char *p = (char *)tensor_data(copy) + (size_t)i * size;
        double slope = 1;
        if (dtype_load_float(dt, p) <= 0)
            slope = random_uniform(g, DT_FLOAT64) * (upper - lower) + lower;
        dtype_store_float(dt, p, slope);
    }
    *out = copy;
    return CTSC_OK;
}

static ctsc_status random_rrelu(op_ctx *cx, const value *args, const value *noise,
                                const value *lower, const value *upper, const value *training,
                                value *results) {
    double low = arg_float(lower), high = arg_float(upper);
    tensor *x = args[0].u.tensor;
    if (!dtype_is_float((dtype)x->dtype))
        return op_refuse_dtype(cx, "rrelu_with_noise_out_cpu", (dtype)x->dtype);
    int index;
    bool inplace = op_target(cx, args, &index) && index == 0;
    if (!arg_bool(training)) {
        value in[2] = {args[0], value_float((low + high) / 2)}, result = value_none();
        TRY(op_call(cx, inplace ? "aten::leaky_relu_" : "aten::leaky_relu", 2, in, &result));
        return op_finish(cx, args, result.u.tensor, results);
    }
    if (low > high)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Lower bound should be less than or equal to the upper bound");
    tensor *slopes;
    TRY(random_slopes(cx, x, low, high, &slopes));
    ctsc_status st = noise ? tensor_copy(cx->diag, noise->u.tensor, slopes) : CTSC_OK;
    value in[2] = {args[0], value_tensor_take(slopes)}, result = value_none();
    if (st == CTSC_OK)
        st = op_call(cx, inplace ? "aten::mul_.Tensor" : "aten::mul.Tensor", 2, in, &result);
    tensor_unref(slopes);
    return st == CTSC_OK ? op_finish(cx, args, result.u.tensor, results) : st;
}
/* rrelu(self, lower, upper, training), rrelu_with_noise(self, noise, lower, upper, training) */
OPERATOR(rrelu) { return random_rrelu(cx, args, NULL, &args[1], &args[2], &args[3], results); }
OPERATOR(rrelu_with_noise) {
    return random_rrelu(cx, args, &args[1], &args[2], &args[3], &args[4], results);
}
