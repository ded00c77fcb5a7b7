/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clip.c - gradients held within bounds.
 *
 * The norm of all gradients is that of the vector of each one's norm, as in PyTorch; sums are of
 * doubles, in chunks whose borders do not depend on threads.
 * Tests: tests/unit/test_optimizer.c
 */
#include "base/threads/thread_pool.h"
#include "runtime/train/train.h"
#include "tensor/device.h"

#include <math.h>
#include <string.h>

enum { CLIP_CHUNK = 1 << 14 };

typedef struct norm_job {
    dtype dt;
    const char *x;
    int64_t n;
    double p;      /* INFINITY: the largest */
    double *parts; /* per chunk */
} norm_job;

static double norm_element(dtype dt, const char *x, int64_t i) {
    return dt == DT_FLOAT32 ? ((const float *)x)[i] : ((const double *)x)[i];
}

static double norm_chunk(const norm_job *j, int64_t begin, int64_t n) {
    const char *x = j->x + (size_t)begin * dtype_size(j->dt);
    double sum = 0;
    if (j->p == 2) return loop_dot(j->dt, x, x, n);
    for (int64_t i = 0; i < n; i++) {
        double a = fabs(norm_element(j->dt, x, i));
        if (j->p != INFINITY) sum += j->p == 1 ? a : pow(a, j->p);
        else if (a > sum || a != a) sum = a;
    }
    return sum;
}

static void norm_chunks(void *ctx, int64_t begin, int64_t end) {
    const norm_job *j = ctx;
    for (int64_t i = begin; i < end; i++)
        j->parts[i] = norm_chunk(j, i * CLIP_CHUNK,
                                 j->n - i * CLIP_CHUNK < CLIP_CHUNK ? j->n - i * CLIP_CHUNK
                                                                    : CLIP_CHUNK);
}

/* Sum of |x|^p, or the largest |x|, of n elements. */
static ctsc_status norm_sum(diag *d, dtype dt, const void *x, int64_t n, double p, double *out) {
    int64_t chunks = (n + CLIP_CHUNK - 1) / CLIP_CHUNK;
    double few[16], *parts = chunks <= 16 ? few : mem_alloc((size_t)chunks * sizeof *parts),
                    sum = 0;
    if (!parts) return diag_no_memory(d);
    norm_job j = {dt, x, n, p, parts};
    pool_for(chunks, 4, norm_chunks, &j);
    for (int64_t i = 0; i < chunks; i++)
        if (p != INFINITY) sum += parts[i];
        else if (parts[i] > sum || parts[i] != parts[i]) sum = parts[i];
    if (parts != few) mem_free(parts);
    *out = sum;
    return CTSC_OK;
}

/* A gradient as a dense array of float32 or float64: itself, or a copy. *wide: complex
 * numbers are pairs. */
static ctsc_status clip_array(diag *d, tensor *g, tensor **out, dtype *dt, int64_t *n) {
    TRY(train_check(d, g));
    bool narrow = dtype_is_half((dtype)g->dtype), direct = !narrow && train_is_dense(g);
    *dt = narrow ? DT_FLOAT32 : dtype_part((dtype)g->dtype);
    *n = g->numel * (dtype_is_complex((dtype)g->dtype) ? 2 : 1);
    if (direct) {
        *out = tensor_ref(g);
        return CTSC_OK;
    }
    TRY(tensor_new(d, narrow ? DT_FLOAT32 : (dtype)g->dtype, g->ndim, g->sizes, out));
    ctsc_status s = tensor_copy(d, *out, g);
    if (s != CTSC_OK) tensor_unref(*out);
    return s;
}

static ctsc_status clip_norm_of(diag *d, tensor *g, double p, double *out) {
    tensor *x;
    dtype dt;
    int64_t n;
    double sum = 0;
    if (dtype_is_complex((dtype)g->dtype) && p != 2)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "of complex gradients the norm can be of type 2 only");
    TRY(clip_array(d, g, &x, &dt, &n));
    ctsc_status s = norm_sum(d, dt, tensor_data(x), n, p, &sum);
    tensor_unref(x);
    if (s == CTSC_OK)
        *out = p == INFINITY ? sum : p == 2 ? sqrt(sum) : p == 1 ? sum : pow(sum, 1 / p);
    return s;
}

typedef struct clip_job { dtype dt; char *x; double by; bool clamps; } clip_job;

static void clip_range(void *ctx, int64_t begin, int64_t end) {
    const clip_job *j = ctx;
    char *x = j->x + (size_t)begin * dtype_size(j->dt);
    if (j->clamps) loop_clamp(j->dt, x, j->by, end - begin);
    else loop_scale(j->dt, x, j->by, end - begin);
}

/* g *= by, or g is clamped to -by .. by. */
static ctsc_status clip_change(diag *d, tensor *g, double by, bool clamps) {
    tensor *x;
    dtype dt;
    int64_t n;
    TRY(tensor_make_writable(d, g));
    TRY(clip_array(d, g, &x, &dt, &n));
    clip_job j = {dt, tensor_data(x), by, clamps};
    pool_for(n, CLIP_CHUNK, clip_range, &j);
    ctsc_status s = x == g ? CTSC_OK : tensor_copy(d, g, x);
    g->storage->version++;
    tensor_unref(x);
    return s;
}

ctsc_status clip_grad_norm(diag *d, const list *params, double max_norm, double p, double *norm) {
    double total = 0, one = 0;
    if (!(p > 0) || !(max_norm >= 0))
        return diag_fail(
            d, CTSC_USAGE,
            "norms are clipped to a number that is not negative, and their type is positive");
    for (size_t i = 0; i < params->len; i++) {
        tensor *g = train_grad(params->u.tensors[i]);
        if (!g) continue;
        TRY(clip_norm_of(d, g, p, &one));
        if (p != INFINITY) total += p == 2 ? one * one : pow(one, p);
        else if (one > total || one != one) total = one;
    }
    total = p == INFINITY ? total : p == 2 ? sqrt(total) : pow(total, 1 / p);
    double factor = max_norm / (total + 1e-6);
    if (factor > 1) factor = 1;
    for (size_t i = 0; i < params->len && factor != 1; i++) {
        tensor *g = train_grad(params->u.tensors[i]);
        if (g) TRY(clip_change(d, g, factor, false));
    }
    if (norm) *norm = total;
    return CTSC_OK;
}

ctsc_status clip_grad_value(diag *d, const list *params, double limit) {
    for (size_t i = 0; i < params->len; i++) {
        tensor *g = train_grad(params->u.tensors[i]);
        if (g && dtype_is_complex((dtype)g->dtype))
            return diag_fail(d, CTSC_UNSUPPORTED, "complex gradients cannot be clamped");
        if (g) TRY(clip_change(d, g, limit, true));
    }
    return CTSC_OK;
}
