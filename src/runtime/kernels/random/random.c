/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.c - the distributions, in the very sequence of PyTorch's CPU code (the generator is in
 * runtime.c).
 *
 * Method: how many words a draw takes is part of the contract. float32 values take one word (24
 * bits of it), double ones two; bernoulli with a number, exponential, geometric, Cauchy and small
 * normal fills draw doubles whatever the tensor's dtype. Contiguous normal fills of 16 elements and
 * more first draw uniforms, then transform blocks of 16.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/random/random.h"

#include "runtime/kernels/engine/move.h"

#include <math.h>

enum { RANDOM_WORDS = 1024 }; /* drawn at once */

static const uint64_t RANDOM_DEFAULT_SEED = 67280421310721u;
static const double RANDOM_PI = 3.14159265358979323846;

generator *random_generator(op_ctx *cx) {
    generator *g = &cx->rt->rng;
    if (!g->seeded) generator_seed(g, RANDOM_DEFAULT_SEED);
    return g;
}

/* ---- single draws ---------------------------------------------------------------------------- */

static double random_uniform_bits(generator *g, int bits) {
    return (double)(generator_u32(g) & ((1u << bits) - 1)) / (double)(1u << bits);
}

double random_uniform(generator *g, dtype dt) {
    switch (dt) {
    case DT_FLOAT32: return random_uniform_bits(g, 24);
    case DT_FLOAT16: return random_uniform_bits(g, 11);
    case DT_BFLOAT16: return random_uniform_bits(g, 8);
    default: return (double)(generator_u64(g) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
    }
}

double random_normal(generator *g) {
    if (g->has_next_double_normal) {
        g->has_next_double_normal = false;
        return g->next_double_normal;
    }
    double u1 = random_uniform(g, DT_FLOAT64), u2 = random_uniform(g, DT_FLOAT64);
    double radius = sqrt(-2 * log1p(-u2)), theta = 2 * RANDOM_PI * u1;
    g->next_double_normal = radius * sin(theta);
    g->has_next_double_normal = true;
    return radius * cos(theta);
}

/* ---- filling --------------------------------------------------------------------------------- */

/* A view of t with its dimensions in the order of their strides. */
static ctsc_status random_memory_order(op_ctx *cx, tensor *t, tensor **out) {
    int64_t dims[TENSOR_MAX_DIMS];
    if (tensor_is_contiguous(t)) {
        *out = tensor_ref(t);
        return CTSC_OK;
    }
    for (int i = 0; i < t->ndim; i++) {
        int k = i;
        for (; k > 0 && t->strides[dims[k - 1]] < t->strides[i]; k--) dims[k] = dims[k - 1];
        dims[k] = i;
    }
    return tensor_permute(cx->diag, t, t->ndim, dims, out);
}

typedef struct random_job {
    generator *g;
    dtype dt;
    random_draw draw;
    const void *ctx;
} random_job;

static void random_draw_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const random_job *job = ctx;
    for (int64_t i = 0; i < n; i++)
        dtype_store_float(job->dt, p[0] + i * s[0], job->draw(job->g, job->ctx));
}

static ctsc_status random_walk(op_ctx *cx, tensor *t, iter_kernel loop, void *ctx) {
    tensor *view;
    if (t->numel) TRY(move_refuse_internal_overlap(cx, t));
    TRY(random_memory_order(cx, t, &view));
    bool whole = iter_run_ordered_limited(view->ndim, view->sizes, 1, &view, loop, ctx);
    tensor_unref(view);
    return whole ? CTSC_OK : limits_fail(cx->diag);
}

ctsc_status random_fill(op_ctx *cx, tensor *t, random_draw draw, const void *ctx) {
    random_job job = {random_generator(cx), (dtype)t->dtype, draw, ctx};
    return random_walk(cx, t, random_draw_loop, &job);
}

/* x as dtype dt keeps it: every step is rounded to the tensor's precision. */
static double random_round(dtype dt, double x) {
    if (dt == DT_FLOAT64) return x;
    if (dt == DT_FLOAT32) return (float)x;
    return dt == DT_FLOAT16 ? float16_to_float(float16_from_float((float)x))
                            : bfloat16_to_float(bfloat16_from_float((float)x));
}

/* x * scale + shift with one rounding, in float except for float64: PyTorch's kernels are compiled
 * with fused multiply-add. */
static double random_affine(dtype dt, double x, double scale, double shift) {
    return dt == DT_FLOAT64 ? fma(x, scale, shift) : fmaf((float)x, (float)scale, (float)shift);
}

typedef struct random_range {
    dtype dt;
    double from, length; /* as dt keeps them */
} random_range;

static double random_draw_uniform(generator *g, const void *ctx) {
    const random_range *r = ctx;
    return random_affine(r->dt, random_uniform(g, r->dt), r->length, r->from);
}

/* The parts of a complex tensor, which are drawn one after the other. */
static ctsc_status random_parts(op_ctx *cx, tensor *t, tensor **out) {
    value whole = {.tag = V_TENSOR, .u.tensor = t}, parts = value_none();
    TRY(op_call(cx, "aten::view_as_real", 1, &whole, &parts));
    *out = parts.u.tensor;
    return CTSC_OK;
}

static bool random_is_complex(const tensor *t) {
    return t->dtype == DT_COMPLEX64 || t->dtype == DT_COMPLEX128;
}

/* The numbers of random_draw_uniform, one after the other. */
RANDOM_HOT static void random_scale_words(const uint32_t *words, float *p, int64_t n, float length,
                                          float from) {
    for (int64_t i = 0; i < n; i++)
        p[i] = fmaf((float)(int32_t)(words[i] & 0xffffff) * 0x1p-24f, length, from);
}
static ctsc_status random_uniform_floats(op_ctx *cx, generator *g, float *p, int64_t n,
                                         const random_range *range) {
    uint32_t words[RANDOM_WORDS];
    if (geometry_only()) return CTSC_OK;
    for (int64_t i = 0; i < n; i += RANDOM_WORDS) {
        TRY(op_go_on(cx, i));
        int64_t part = n - i < RANDOM_WORDS ? n - i : RANDOM_WORDS;
        generator_words(g, words, part);
        random_scale_words(words, p + i, part, (float)range->length, (float)range->from);
    }
    return CTSC_OK;
}

ctsc_status random_fill_uniform(op_ctx *cx, tensor *t, double from, double to) {
    if (random_is_complex(t)) {
        tensor *parts;
        TRY(random_parts(cx, t, &parts));
        ctsc_status st = random_fill_uniform(cx, parts, from, to);
        tensor_unref(parts);
        return st;
    }
    random_range range = {(dtype)t->dtype, 0, 0};
    if (!dtype_is_float(range.dt)) return op_refuse_dtype(cx, "check_uniform_bounds", range.dt);
    if (from > to)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "uniform_ expects to return a [from, to) range, but found from=%g > to=%g",
                         from, to);
    range.from = random_round(range.dt, from);
    range.length = random_round(range.dt, random_round(range.dt, to) - range.from);
    if (t->dtype == DT_FLOAT32 && tensor_is_contiguous(t))
        return random_uniform_floats(cx, random_generator(cx), tensor_data(t), t->numel, &range);
    return random_fill(cx, t, random_draw_uniform, &range);
}

static double random_draw_bernoulli(generator *g, const void *ctx) {
    return random_uniform(g, DT_FLOAT64) < *(const double *)ctx;
}
ctsc_status random_fill_bernoulli(op_ctx *cx, tensor *t, double p) {
    if (!(p >= 0 && p <= 1))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    return random_fill(cx, t, random_draw_bernoulli, &p);
}

static double random_draw_exponential(generator *g, const void *ctx) {
    return -1 / *(const double *)ctx * log1p(-random_uniform(g, DT_FLOAT64));
}
ctsc_status random_fill_exponential(op_ctx *cx, tensor *t, double lambda) {
    if (!dtype_is_float((dtype)t->dtype))
        return op_refuse_dtype(cx, "exponential_cpu", (dtype)t->dtype);
    if (!(lambda >= 0))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "exponential_ expects lambda >= 0.0, but found lambda=%g", lambda);
    return random_fill(cx, t, random_draw_exponential, &lambda);
}

/* ---- normal ---------------------------------------------------------------------------------- */

static double random_draw_normal(generator *g, const void *ctx) {
    const double *mean_std = ctx;
    return fma(random_normal(g), mean_std[1], mean_std[0]);
}

static ctsc_status random_normal_blocks(op_ctx *cx, generator *g, tensor *t, double mean,
                                        double std) {
    static const random_range unit = {DT_FLOAT32, 0, 1};
    dtype dt = (dtype)t->dtype;
    int64_t n = t->numel, size = (int64_t)dtype_size(dt);
    char *p = tensor_data(t);
    if (geometry_only()) return CTSC_OK;
    if (dt == DT_FLOAT32) TRY(random_uniform_floats(cx, g, (float *)(void *)p, n, &unit));
    else OP_LOOP(cx, i, n, dtype_store_float(dt, p + i * size, random_uniform(g, dt));)
    for (int64_t i = 0; i < n / 16; i += OP_CHUNK) {
        TRY(op_go_on(cx, i));
        random_normal_block(p + i * 16 * size, n / 16 - i < OP_CHUNK ? n / 16 - i : OP_CHUNK, dt,
                            mean, std);
    }
    if (n % 16 == 0) return CTSC_OK;
    p += (n - 16) * size; /* the last 16 are drawn again */
    for (int64_t i = 0; i < 16; i++) dtype_store_float(dt, p + i * size, random_uniform(g, dt));
    random_normal_block(p, 1, dt, mean, std);
    return CTSC_OK;
}

ctsc_status random_fill_normal(op_ctx *cx, tensor *t, double mean, double std) {
    if (random_is_complex(t)) { /* each part has half of the variance */
        tensor *parts;
        TRY(random_parts(cx, t, &parts));
        ctsc_status st = random_fill_normal(cx, parts, mean, std / sqrt(2.0));
        tensor_unref(parts);
        return st;
    }
    if (!dtype_is_float((dtype)t->dtype))
        return op_refuse_dtype(cx, "normal_kernel_cpu", (dtype)t->dtype);
    if (!(std >= 0))
        return diag_fail(cx->diag, CTSC_FAILED, "normal expects std >= 0.0, but found std %g", std);
    if (t->numel >= 16 && tensor_is_contiguous(t)) {
        return random_normal_blocks(cx, random_generator(cx), t, mean, std);
    }
    const double mean_std[2] = {mean, std};
    return random_fill(cx, t, random_draw_normal, mean_std);
}

/* ---- integers -------------------------------------------------------------------------------- */

typedef struct random_integers {
    generator *g;
    dtype dt;
    int64_t from;
    uint64_t span; /* 0: all 64 bits */
    bool wide;     /* two words a draw */
} random_integers;

static void random_integers_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const random_integers *job = ctx;
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = job->wide ? generator_u64(job->g) : generator_u32(job->g);
        if (job->span) x %= job->span;
        int64_t v = (int64_t)(x + (uint64_t)job->from);
        if (dtype_is_float(job->dt)) dtype_store_float(job->dt, p[0] + i * s[0], (double)v);
        else dtype_store_int(job->dt, p[0] + i * s[0], v);
    }
}

ctsc_status random_fill_integers(op_ctx *cx, tensor *t, int64_t from, uint64_t span) {
    random_integers job = {random_generator(cx), (dtype)t->dtype, from, span,
                           span == 0 || span >= UINT64_C(1) << 32};
    if (dtype_is_complex(job.dt) || dtype_is_quantised(job.dt))
        return op_refuse_dtype(cx, "random_from_to", job.dt);
    return random_walk(cx, t, random_integers_loop, &job);
}
