/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_range.c - tensors with a pattern: arange, linspace, logspace, eye, triangles, window
 * functions.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/create/create.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/pointwise/pointwise.h"

#include <complex.h>
#undef complex /* a member of value's */
#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* ---- arange, range --------------------------------------------------------------------------- */

typedef struct range_spec {
    value start, end, step;
} range_spec;

static bool range_is_float(const range_spec *r) {
    return r->start.tag == V_FLOAT || r->end.tag == V_FLOAT || r->step.tag == V_FLOAT;
}

/* Number of elements; end itself counts when inclusive. */
static ctsc_status range_length(op_ctx *cx, const range_spec *r, dtype dt, bool inclusive,
                                int64_t *out) {
    double start = arg_float(&r->start), end = arg_float(&r->end), step = arg_float(&r->step), n;
    if (dt == DT_INT64) {
        TRY(pw_require_fits(cx, &r->start, dt));
        TRY(pw_require_fits(cx, &r->end, dt));
        TRY(pw_require_fits(cx, &r->step, dt));
    }
    if (step == 0 || step != step) return diag_fail(cx->diag, CTSC_FAILED, "step must be nonzero");
    if (start - start != 0 || end - end != 0)
        return diag_fail(cx->diag, CTSC_FAILED, "unsupported range: %g -> %g", start, end);
    if ((step > 0 && end < start) || (step < 0 && end > start))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "upper bound and lower bound inconsistent with step sign");
    if (dt == DT_INT64 && !inclusive && !range_is_float(r)) {
        int64_t a = arg_int(&r->start), b = arg_int(&r->end), s = arg_int(&r->step);
        uint64_t distance = s > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
        uint64_t width = s > 0 ? (uint64_t)s : 0 - (uint64_t)s;
        n = ceil((double)(distance / width)) + (distance % width != 0);
    } else {
        n = inclusive ? floor((end - start) / step) + 1 : ceil((end - start) / step);
    }
    if (!(n >= 0 && n <= 9.0e18))
        return diag_fail(cx->diag, CTSC_FAILED, "invalid size, possible overflow?");
    *out = (int64_t)n;
    return CTSC_OK;
}

static ctsc_status range_fill(op_ctx *cx, const range_spec *r, tensor *t) {
    double start = arg_float(&r->start), step = arg_float(&r->step);
    int64_t first = r->start.tag == V_FLOAT ? (int64_t)start : arg_int(&r->start);
    int64_t by = r->step.tag == V_FLOAT ? (int64_t)step : arg_int(&r->step), n = t->numel;
    if (dtype_is_integral((dtype)t->dtype)) {
        DISPATCH_INT(t->dtype, cx, "arange_cpu", {
            T *p = tensor_data(t);
            OP_LOOP(cx, i, n, p[i] = (T)((uint64_t)first + (uint64_t)by * (uint64_t)i);)
        })
        return CTSC_OK;
    }
    DISPATCH_FLOAT(t->dtype, cx, "arange_cpu", {
        T *p = tensor_data(t);
        OP_LOOP(cx, i, n, STORE(&p[i], (ACC)(start + step * (double)i));)
    })
    return CTSC_OK;
}

/* Integer ranges count in integers: 2.7 is 2. What does not fit stays, and is refused. How many
 * there are the numbers as they are say, but those of range in int64. */
static void range_truncate(value *v) {
    if (v->tag == V_FLOAT && v->u.f >= -0x1p63 && v->u.f < 0x1p63) *v = value_int((int64_t)v->u.f);
}

static ctsc_status range_make(op_ctx *cx, const value *args, const range_spec *r, bool inclusive,
                              value *results) {
    range_spec whole = *r;
    dtype dt;
    int64_t n;
    TRY(create_options(cx, args, inclusive || range_is_float(r) ? DT_FLOAT32 : DT_INT64, &dt));
    if (dtype_is_integral(dt)) {
        range_truncate(&whole.start);
        range_truncate(&whole.end);
        range_truncate(&whole.step);
    }
    TRY(range_length(cx, dt == DT_INT64 && inclusive ? &whole : r, dt, inclusive, &n));
    tensor *t;
    TRY(tensor_new(cx->diag, dt, 1, &n, &t));
    ctsc_status st = range_fill(cx, &whole, t);
    if (st == CTSC_OK) return op_finish(cx, args, t, results);
    tensor_unref(t);
    return st;
}

/* Overloads: (end), (start, end), (start, end, step) */
static range_spec range_args(op_ctx *cx, const value *args) {
    const value *start = create_arg(cx, args, "start"), *step = create_arg(cx, args, "step");
    return (range_spec){start ? *start : value_int(0), *create_arg(cx, args, "end"),
                        step ? *step : value_int(1)};
}
OPERATOR(arange) {
    range_spec r = range_args(cx, args);
    return range_make(cx, args, &r, false, results);
}
OPERATOR(range) {
    range_spec r = range_args(cx, args);
    return range_make(cx, args, &r, true, results);
}

/* ---- linspace, logspace ---------------------------------------------------------------------- */

/* Symmetric, so that both ends are exact: the first half counts from start, the second from end. */
VECTOR_LOOPS static void range_spread_floats(float start, float end, float *p, int64_t n,
                                             int64_t from, int64_t to) {
    float step = n > 1 ? (end - start) / (float)(n - 1) : 0;
    for (int64_t i = from; i < to; i++)
        p[i] = i < n / 2 || n == 1 ? start + step * (float)i : end - step * (float)(n - i - 1);
}

/* base: NULL for linspace. */
static ctsc_status range_spread(op_ctx *cx, double start, double end, const double *base,
                                tensor *t) {
    int64_t n = t->numel;
    if (geometry_only()) return CTSC_OK;
    if (t->dtype == DT_FLOAT32 && !base) {
        for (int64_t i = 0; i < n; i += OP_CHUNK) {
            TRY(op_go_on(cx, i));
            range_spread_floats((float)start, (float)end, tensor_data(t), n, i,
                                n - i < OP_CHUNK ? n : i + OP_CHUNK);
        }
        return CTSC_OK;
    }
    bool integral = dtype_is_integral((dtype)t->dtype);
    if (integral) start = trunc(start), end = trunc(end);
    double step = n > 1 ? (end - start) / (double)(n - 1) : 0;
    DISPATCH_REAL(t->dtype, cx, base ? "logspace_cpu" : "linspace_cpu", {
        T *p = tensor_data(t);
        OP_LOOP(cx, i, n, {
            double v = i < n / 2 || n == 1 ? start + step * (double)i
                                           : end - step * (double)(n - i - 1);
            if (base) v = pow(*base, v);
            STORE(&p[i], integral ? (ACC)(int64_t)v : (ACC)v);
        })
    })
    return CTSC_OK;
}

static double _Complex range_complex(const value *v) {
    return v->tag == V_COMPLEX ? __builtin_complex(v->u.complex->re, v->u.complex->im)
                               : __builtin_complex(arg_float(v), 0.0);
}

static void range_spread_complex(double _Complex start, double _Complex end, const double *base,
                                 tensor *t) {
    int64_t n = t->numel;
    size_t size = dtype_size((dtype)t->dtype);
    double _Complex step = n > 1 ? (end - start) / (double)(n - 1) : 0;
    for (int64_t i = 0; !geometry_only() && i < n; i++) {
        double _Complex v = i < n / 2 || n == 1 ? start + step * (double)i
                                                : end - step * (double)(n - i - 1);
        if (base) v = cpow(*base, v);
        dtype_store_complex((dtype)t->dtype, (char *)tensor_data(t) + (size_t)i * size, creal(v),
                            cimag(v));
    }
}

/* Complex ends want a complex result, which is complex64 unless it is said. */
static ctsc_status range_spread_op(op_ctx *cx, const value *args, const char *name,
                                   const double *base, value *results) {
    dtype dt;
    int64_t n = arg_int_or(&args[2], 100);
    bool complex_ends = args[0].tag == V_COMPLEX || args[1].tag == V_COMPLEX;
    TRY(create_options(cx, args, complex_ends ? DT_COMPLEX64 : DT_FLOAT32, &dt));
    if (complex_ends && !dtype_is_complex(dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.%s(): inferred dtype c10::complex<float> can't be safely cast to "
                         "passed dtype %s",
                         name, dtype_table[dt].ir_name);
    if (n < 0) return diag_fail(cx->diag, CTSC_FAILED, "number of steps must be non-negative");
    for (int i = 0; i < 2 && n > 0; i++) TRY(pw_require_fits(cx, &args[i], dt));
    tensor *t;
    ctsc_status st = CTSC_OK;
    TRY(tensor_new(cx->diag, dt, 1, &n, &t));
    if (dtype_is_complex(dt))
        range_spread_complex(range_complex(&args[0]), range_complex(&args[1]), base, t);
    else st = range_spread(cx, arg_float(&args[0]), arg_float(&args[1]), base, t);
    if (st == CTSC_OK) return op_finish(cx, args, t, results);
    tensor_unref(t);
    return st;
}
/* linspace(start, end, steps), logspace(start, end, steps, base=10) */
OPERATOR(linspace) { return range_spread_op(cx, args, "linspace", NULL, results); }
OPERATOR(logspace) {
    double base = arg_float(&args[3]);
    return range_spread_op(cx, args, "logspace", &base, results);
}

/* ---- eye, triangles -------------------------------------------------------------------------- */

/* eye(n), eye(n, m) */
OPERATOR(eye) {
    const value *columns = create_arg(cx, args, "m");
    int64_t sizes[2] = {arg_int(&args[0]), columns ? arg_int(columns) : arg_int(&args[0])};
    dtype dt;
    for (int i = 0; i < 2; i++)
        if (sizes[i] < 0)
            return diag_fail(cx->diag, CTSC_FAILED, "%s must be greater or equal to 0, got %lld",
                             i ? "m" : "n", (long long)sizes[i]);
    TRY(create_options(cx, args, DT_FLOAT32, &dt));
    tensor *t;
    TRY(tensor_zeros(cx->diag, dt, 2, sizes, &t));
    size_t size = dtype_size(dt);
    for (int64_t i = 0; i < sizes[0] && i < sizes[1]; i++) {
        char *p = (char *)tensor_data(t) + (size_t)(i * (sizes[1] + 1)) * size;
        if (dtype_is_integral(dt)) dtype_store_int(dt, p, 1);
        else dtype_store_float(dt, p, 1);
    }
    return op_finish(cx, args, t, results);
}

/* Zeroes what is above (lower) or below (upper) the diagonal of each matrix of contiguous t. */
static void range_zero_triangle(tensor *t, int64_t diagonal, bool lower) {
    int64_t rows = t->sizes[t->ndim - 2], cols = t->sizes[t->ndim - 1];
    int64_t size = (int64_t)dtype_size((dtype)t->dtype), area = rows * cols;
    int64_t matrices = area > 0 ? t->numel / area : 0;
    for (int64_t k = 0; !geometry_only() && k < matrices * rows; k++) {
        int64_t row = k % rows;
        /* the columns in [begin, end) go */
        int64_t edge = diagonal > cols ? cols : diagonal < -rows ? -rows : diagonal;
        int64_t begin = lower ? row + edge + 1 : 0, end = lower ? cols : row + edge;
        begin = begin < 0 ? 0 : begin;
        end = end > cols ? cols : end;
        if (begin < end)
            memset((char *)tensor_data(t) + (k * cols + begin) * size, 0,
                   (size_t)((end - begin) * size));
    }
}

static ctsc_status range_triangle(op_ctx *cx, const value *args, bool lower, value *results) {
    tensor *self = args[0].u.tensor, *t;
    int rows;
    TRY(tensor_wrap_dim(cx->diag, -2, self->ndim, &rows));
    TRY(tensor_clone(cx->diag, self, &t));
    if (tensor_cuda(t)) {
        ctsc_status st = on_device->triangle(cx->diag, t, arg_int(&args[1]), lower);
        if (st == CTSC_OK) return op_finish(cx, args, t, results);
        tensor_unref(t);
        return st;
    }
    range_zero_triangle(t, arg_int(&args[1]), lower);
    return op_finish(cx, args, t, results);
}
OPERATOR(tril) { return range_triangle(cx, args, true, results); }
OPERATOR(triu) { return range_triangle(cx, args, false, results); }

/* The columns of a row that belong to a triangle: [*begin, *end). */
static void range_triangle_row(int64_t row, int64_t cols, int64_t offset, bool lower,
                               int64_t *begin, int64_t *end) {
    int64_t edge = row + offset + lower;
    edge = edge < 0 ? 0 : edge > cols ? cols : edge;
    *begin = lower ? 0 : edge;
    *end = lower ? edge : cols;
}

/* How many places a triangle's first `rows` rows have. Below the first of them edges grow by one a
 * row, up to cols. */
static int64_t range_triangle_count(int64_t rows, int64_t cols, int64_t offset, bool lower) {
    /* rows whose edge is 0, and cols, are before and after these */
    int64_t first = -offset - lower, full = cols - offset - lower;
    int64_t from = first < 0      ? 0
                   : first > rows ? rows
                                  : first,
            to = full < from   ? from
                 : full > rows ? rows
                               : full;
    int64_t low = from + offset + lower, edges = to - from;
    int64_t below = (rows - to) * cols + (edges > 0 ? edges * low + edges * (edges - 1) / 2 : 0);
    return lower ? below : rows * cols - below;
}

/* tril_indices(row, col, offset=0), triu_indices: (2, n) in row order. Rows without a place are not
 * looked at, however many. */
static ctsc_status range_triangle_indices(op_ctx *cx, const value *args, bool lower,
                                          value *results) {
    int64_t rows = arg_int(&args[0]), cols = arg_int(&args[1]), offset = arg_int(&args[2]);
    dtype dt;
    TRY(create_options(cx, args, DT_INT64, &dt));
    if (rows < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "row must be non-negative, got%lld",
                         (long long)rows);
    if (cols < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "col must be non-negative, got%lld",
                         (long long)cols);
    offset = offset > cols ? cols : offset < -rows ? -rows : offset;
    if (rows > INT32_MAX || cols > INT32_MAX)
        return diag_fail(cx->diag, CTSC_FAILED, "invalid size, possible overflow?");
    int64_t n = range_triangle_count(rows, cols, offset, lower), sizes[2] = {2, n}, at = 0, begin,
            end;
    tensor *t;
    TRY(tensor_new(cx->diag, dt, 2, sizes, &t));
    ctsc_status st = CTSC_OK;
    size_t size = dtype_size(dt);
    char *p = tensor_data(t);
    for (int64_t row = lower && offset < 0 ? -offset : 0;
         !geometry_only() && at < n && st == CTSC_OK; row++) {
        range_triangle_row(row, cols, offset, lower, &begin, &end);
        for (int64_t col = begin; col < end && (st = op_go_on(cx, at)) == CTSC_OK; col++, at++) {
            dtype_store_int(dt, p + (size_t)at * size, row);
            dtype_store_int(dt, p + (size_t)(n + at) * size, col);
        }
    }
    if (st == CTSC_OK) return op_finish(cx, args, t, results);
    tensor_unref(t);
    return st;
}
OPERATOR(tril_indices) { return range_triangle_indices(cx, args, true, results); }
OPERATOR(triu_indices) { return range_triangle_indices(cx, args, false, results); }

/* ---- windows --------------------------------------------------------------------------------- */

/* x runs over [0, last], a, b are the window's parameters. */
typedef double (*range_window)(double x, double last, double a, double b);

static double range_cosine_window(double x, double last, double alpha, double beta) {
    return alpha - beta * cos(2 * SCALAR_PI * x / last);
}
static double range_blackman(double x, double last, double a, double b) {
    (void)a, (void)b;
    double w = 2 * SCALAR_PI * x / last;
    return 0.42 - 0.5 * cos(w) + 0.08 * cos(2 * w);
}
static double range_bartlett(double x, double last, double a, double b) {
    (void)a, (void)b;
    return x <= last / 2 ? 2 * x / last : 2 - 2 * x / last;
}
static double range_kaiser(double x, double last, double beta, double b) {
    (void)b;
    double r = 2 * x / last - 1, inside = 1 - r * r;
    return scalar_i0_f64(beta * sqrt(inside > 0 ? inside : 0)) / scalar_i0_f64(beta);
}

static ctsc_status range_make_window(op_ctx *cx, const value *args, const char *name,
                                     range_window window, double a, double b, value *results) {
    int64_t n = arg_int(&args[0]);
    const value *periodic = create_arg(cx, args, "periodic");
    dtype dt;
    TRY(create_options(cx, args, DT_FLOAT32, &dt));
    if (!dtype_is_float(dt))
        return diag_fail(cx->diag, CTSC_FAILED, "%s expects floating point dtypes, got: %s", name,
                         dtype_table[dt].ir_name);
    if (n < 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s requires non-negative window_length, got "
                         "window_length=%lld",
                         name, (long long)n);
    tensor *t;
    TRY(tensor_new(cx->diag, dt, 1, &n, &t));
    /* a periodic window is one longer, and loses its last element */
    double last = (double)(!periodic || arg_bool(periodic) ? n : n - 1);
    ctsc_status st = CTSC_OK;
    for (int64_t i = 0; !geometry_only() && i < n && (st = op_go_on(cx, i)) == CTSC_OK; i++)
        dtype_store_float(dt, (char *)tensor_data(t) + (size_t)i * dtype_size(dt),
                          n == 1 ? 1 : window((double)i, last, a, b));
    if (st == CTSC_OK) return op_finish(cx, args, t, results);
    tensor_unref(t);
    return st;
}
OPERATOR(hann_window) {
    return range_make_window(cx, args, "hann_window", range_cosine_window, 0.5, 0.5, results);
}
OPERATOR(hamming_window) {
    const value *alpha = create_arg(cx, args, "alpha"), *beta = create_arg(cx, args, "beta");
    return range_make_window(cx, args, "hamming_window", range_cosine_window,
                             alpha ? arg_float(alpha) : 0.54, beta ? arg_float(beta) : 0.46,
                             results);
}
OPERATOR(blackman_window) {
    return range_make_window(cx, args, "blackman_window", range_blackman, 0, 0, results);
}
OPERATOR(bartlett_window) {
    return range_make_window(cx, args, "bartlett_window", range_bartlett, 0, 0, results);
}
OPERATOR(kaiser_window) {
    const value *beta = create_arg(cx, args, "beta");
    return range_make_window(cx, args, "kaiser_window", range_kaiser, beta ? arg_float(beta) : 12,
                             0, results);
}
