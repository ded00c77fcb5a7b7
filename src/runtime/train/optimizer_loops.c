/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer_loops.c - one pass over all parameters: the elements of all jobs are numbered through,
 * threads take ranges of numbers.
 *
 * Method. A step is bound by memory: Adam reads four arrays and writes three. So each element is
 * visited once, by a loop that does all of its optimiser's arithmetic, and small tensors cost no
 * call each. PyTorch makes eight to twelve passes.
 * Tests: tests/unit/test_optimizer.c
 */
#include "runtime/train/optimizer_loops.h"
#include "base/threads/thread_pool.h"
#include "cpu/vector.h"

#include <math.h>

#define T float
#define SQRT sqrtf
#define ABS fabsf
#define MAX(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))
#define LOOP(name) name##_float
#include "runtime/train/optimizer_elements.h"

#define T double
#define SQRT sqrt
#define ABS fabs
#define MAX(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))
#define LOOP(name) name##_double
#include "runtime/train/optimizer_elements.h"

typedef struct jobs {
    const optimizer_job *data;
    size_t n;
} jobs;

static void job_float(const optimizer_job *j, float *p, const float *g, float *const *s,
                      int64_t n) {
#define LOOP_ROW(name) name##_float,
    static void (*const loops[])(const double *, float *restrict, const float *restrict,
                                 float *restrict, float *restrict, float *restrict,
                                 int64_t) = {OPTIMIZER_LOOPS(LOOP_ROW)};
#undef LOOP_ROW
    loops[j->loop](j->k, p, g, s[0], s[1], s[2], n);
}

static void job_double(const optimizer_job *j, double *p, const double *g, double *const *s,
                       int64_t n) {
#define LOOP_ROW(name) name##_double,
    static void (*const loops[])(const double *, double *restrict, const double *restrict,
                                 double *restrict, double *restrict, double *restrict,
                                 int64_t) = {OPTIMIZER_LOOPS(LOOP_ROW)};
#undef LOOP_ROW
    loops[j->loop](j->k, p, g, s[0], s[1], s[2], n);
}

/* n elements from number `at` on, with gradients that are given. */
static void job_range(const optimizer_job *j, const void *g, int64_t at, int64_t n) {
    size_t size = dtype_size(j->dt);
    char *p = (char *)j->p + (size_t)at * size;
    void *s[OPTIMIZER_STATES];
    for (int i = 0; i < OPTIMIZER_STATES; i++)
        s[i] = j->state[i] ? (char *)j->state[i] + (size_t)at * size : NULL;
    if (j->dt == DT_FLOAT32) job_float(j, (float *)p, g, (float *const *)s, n);
    else job_double(j, (double *)p, g, (double *const *)s, n);
}

/* With another sign, or with weight decay: a block at a time, while it is in the cache. */
static void job_adjusted(const optimizer_job *j, int64_t at, int64_t n) {
    union { float f[OPTIMIZER_BLOCK]; double d[OPTIMIZER_BLOCK]; } room;
    for (int64_t end = at + n, m; at < end; at += m) {
        m = end - at < OPTIMIZER_BLOCK ? end - at : OPTIMIZER_BLOCK;
        double sign = j->maximize ? -1 : 1;
        if (j->dt == DT_FLOAT32) {
            const float *g = (const float *)j->g + at, *p = (const float *)j->p + at;
            if (j->weight_decay == 0) negate_float(g, room.f, m);
            else decay_float(sign, j->weight_decay, p, g, room.f, m);
        } else {
            const double *g = (const double *)j->g + at, *p = (const double *)j->p + at;
            if (j->weight_decay == 0) negate_double(g, room.d, m);
            else decay_double(sign, j->weight_decay, p, g, room.d, m);
        }
        job_range(j, &room, at, m);
    }
}

static void jobs_range(void *ctx, int64_t begin, int64_t end) {
    const jobs *js = ctx;
    size_t low = 0, high = js->n;
    while (high - low > 1) { /* the last job that begins at or before `begin` */
        size_t middle = low + (high - low) / 2;
        if (js->data[middle].begin <= begin) low = middle;
        else high = middle;
    }
    for (; begin < end && low < js->n; low++) {
        const optimizer_job *j = &js->data[low];
        int64_t at = begin - j->begin, n = (end - j->begin < j->n ? end - j->begin : j->n) - at;
        if (n <= 0) continue;
        if (j->maximize || j->weight_decay != 0) job_adjusted(j, at, n);
        else job_range(j, (const char *)j->g + (size_t)at * dtype_size(j->dt), at, n);
        begin += n;
    }
}

void optimizer_run(const optimizer_job *data, size_t n) {
    enum { GRAIN = 1 << 15 };
    jobs js = {data, n};
    if (n) pool_for(data[n - 1].begin + data[n - 1].n, GRAIN, jobs_range, &js);
}

void loop_scale(dtype dt, void *x, double factor, int64_t n) {
    if (dt == DT_FLOAT32) scale_float(x, factor, n);
    else scale_double(x, factor, n);
}

void loop_clamp(dtype dt, void *x, double limit, int64_t n) {
    if (dt == DT_FLOAT32) clamp_float(x, limit, n);
    else clamp_double(x, limit, n);
}

void loop_axpy(dtype dt, void *y, double factor, const void *x, int64_t n) {
    if (dt == DT_FLOAT32) axpy_float(y, factor, x, n);
    else axpy_double(y, factor, x, n);
}

double loop_dot(dtype dt, const void *x, const void *y, int64_t n) {
    return dt == DT_FLOAT32 ? dot_float(x, y, n) : dot_double(x, y, n);
}
