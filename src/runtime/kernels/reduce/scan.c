/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - running results along a dim: cumsum, cumprod, cummax, cummin, logcumsumexp.
 *
 * Method: a contiguous copy is [outer, n, inner]; a lane is one line along n. Neighbouring lanes
 * run together, so that memory is read in order. Floats run in double, as in PyTorch; integers wrap
 * in their own width.
 * Tests: tests/unit/test_reduce.c
 */
#include "ir/scalar/scalar_ops_complex.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/reduce/reduce.h"

#include <math.h>
#include <string.h>

typedef struct scan_job {
    op_ctx *cx;
    enum { SCAN_SUM, SCAN_PROD, SCAN_LOGSUMEXP, SCAN_MAX, SCAN_MIN } what;
    const tensor *in; /* contiguous */
    tensor *out, *indices;
    int64_t n, inner, tiles; /* tiles: groups of SCAN_LANES lanes in `inner` */
} scan_job;

/* The type a scan of ACC runs in. */
#define SCAN_WIDE(ACC)                                                                             \
    __typeof__(_Generic((ACC)0, float: (double)0, double: (double)0, default: (uint64_t)0))

#define SCAN_BODY(START, STEP)                                                                     \
    {                                                                                              \
        typedef SCAN_WIDE(ACC) W;                                                                  \
        W run[SCAN_LANES];                                                                         \
        const T *x = (const T *)tensor_data(j->in) + base;                                         \
        T *y = (T *)tensor_data(j->out) + base;                                                    \
        for (int64_t c = 0; c < lanes; c++) run[c] = (W)(START);                                   \
        if (lanes == 1 && j->inner == 1) { /* one line: the running value in a register */         \
            W one = (W)(START);                                                                    \
            for (int64_t k = 0; k < j->n; k++) {                                                   \
                one = STEP(one, (W)LOAD(x[k]));                                                    \
                STORE(y + k, (ACC)one);                                                            \
            }                                                                                      \
            return CTSC_OK;                                                                        \
        }                                                                                          \
        for (int64_t k = 0; k < j->n; k++, x += j->inner, y += j->inner) {                         \
            for (int64_t c = 0; c < lanes; c++) {                                                  \
                W v = (W)LOAD(x[c]);                                                               \
                run[c] = STEP(run[c], v);                                                          \
                STORE(y + c, (ACC)run[c]);                                                         \
            }                                                                                      \
        }                                                                                          \
    }
#define SCAN_ADD(a, v) ((a) + (v))
#define SCAN_MUL(a, v) ((a) * (v))

static double scan_log_add(double a, double v) {
    double low = isnan(a) || a < v ? a : v, high = isnan(a) || a > v ? a : v;
    if (isnan(v)) low = high = v;
    return low != high || isfinite(low) ? log1p(exp(low - high)) + high : v;
}

/* The latest of equals counts; a NaN stays, and a later NaN is later. */
#define SCAN_MINMAX_LINE(OP)                                                                       \
    const T *line = (const T *)tensor_data(j->in) + base;                                          \
    T *to = (T *)tensor_data(j->out) + base;                                                       \
    int64_t *places = TENSOR_AT(j->indices, int64_t) + base, last = 0;                             \
    ACC best = (ACC)LOAD(line[0]);                                                                 \
    for (int64_t k = 0, n = j->n; k < n; k++) {                                                    \
        ACC v = (ACC)LOAD(line[k]);                                                                \
        bool better = (v != v) | ((best == best) & (v OP best));                                   \
        best = better ? v : best;                                                                  \
        last = better ? k : last;                                                                  \
        STORE(to + k, best);                                                                       \
        places[k] = last;                                                                          \
    }
#define SCAN_MINMAX(OP)                                                                            \
    {                                                                                              \
        ACC run[SCAN_LANES];                                                                       \
        if (lanes == 1 && j->inner == 1) { /* one line: in registers */                            \
            SCAN_MINMAX_LINE(OP)                                                                   \
            return CTSC_OK;                                                                        \
        }                                                                                          \
        int64_t at[SCAN_LANES] = {0}, *place = TENSOR_AT(j->indices, int64_t) + base;              \
        const T *x = (const T *)tensor_data(j->in) + base;                                         \
        T *y = (T *)tensor_data(j->out) + base;                                                    \
        for (int64_t c = 0; c < lanes; c++) run[c] = (ACC)LOAD(x[c]);                              \
        for (int64_t k = 0; k < j->n; k++, x += j->inner, y += j->inner, place += j->inner) {      \
            for (int64_t c = 0; c < lanes; c++) {                                                  \
                ACC v = (ACC)LOAD(x[c]);                                                           \
                if (v != v || (run[c] == run[c] && v OP run[c])) run[c] = v, at[c] = k;            \
                STORE(y + c, run[c]);                                                              \
                place[c] = at[c];                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

/* Complex sums and products run in double, like real ones. */
#define SCAN_COMPLEX(T, PART, START, STEP)                                                         \
    {                                                                                              \
        complex128 run[SCAN_LANES];                                                                \
        const T *x = (const T *)tensor_data(j->in) + base;                                         \
        T *y = (T *)tensor_data(j->out) + base;                                                    \
        for (int64_t c = 0; c < lanes; c++) run[c] = (complex128){START, 0};                       \
        for (int64_t k = 0; lanes && k < j->n; k++, x += j->inner, y += j->inner) {                \
            for (int64_t c = 0; c < lanes; c++) {                                                  \
                run[c] = STEP(run[c], (complex128){(double)x[c].re, (double)x[c].im});             \
                y[c] = (T){(PART)run[c].re, (PART)run[c].im};                                      \
            }                                                                                      \
        }                                                                                          \
    }

static void scan_complex(const scan_job *j, int64_t base, int64_t lanes) {
    bool sum = j->what == SCAN_SUM, logs = j->what == SCAN_LOGSUMEXP;
    if (j->in->dtype == DT_COMPLEX64) {
        if (sum) SCAN_COMPLEX(complex64, float, 0, scalar_add_c128)
        else if (logs) SCAN_COMPLEX(complex64, float, -INFINITY, scalar_logaddexp_c128)
        else SCAN_COMPLEX(complex64, float, 1, scalar_mul_c128)
    } else {
        if (sum) SCAN_COMPLEX(complex128, double, 0, scalar_add_c128)
        else if (logs) SCAN_COMPLEX(complex128, double, -INFINITY, scalar_logaddexp_c128)
        else SCAN_COMPLEX(complex128, double, 1, scalar_mul_c128)
    }
}

static ctsc_status scan_lanes(const scan_job *j, int64_t base, int64_t lanes) {
    op_ctx *cx = j->cx;
    dtype dt = (dtype)j->in->dtype;
    if ((dt == DT_COMPLEX64 || dt == DT_COMPLEX128) &&
        (j->what == SCAN_SUM || j->what == SCAN_PROD || j->what == SCAN_LOGSUMEXP)) {
        scan_complex(j, base, lanes);
        return CTSC_OK;
    }
    switch (j->what) {
    case SCAN_SUM: DISPATCH_REAL(dt, cx, "cumsum_out_cpu", SCAN_BODY(0, SCAN_ADD)) break;
    case SCAN_PROD: DISPATCH_REAL(dt, cx, "cumprod_out_cpu", SCAN_BODY(1, SCAN_MUL)) break;
    case SCAN_LOGSUMEXP:
        DISPATCH_FLOAT(dt, cx, "logcumsumexp_out_cpu", SCAN_BODY(-INFINITY, scan_log_add))
        break;
    case SCAN_MAX: DISPATCH_ALL(dt, cx, "cummax_cpu", SCAN_MINMAX(>=)) break;
    case SCAN_MIN: DISPATCH_ALL(dt, cx, "cummin_cpu", SCAN_MINMAX(<=)) break;
    }
    return CTSC_OK;
}

static void scan_range(void *ctx, int64_t begin, int64_t end) {
    const scan_job *j = ctx;
    for (int64_t u = begin; u < end; u++) {
        int64_t first = u % j->tiles * SCAN_LANES;
        int64_t lanes = reduce_min_i64(j->inner - first, SCAN_LANES);
        scan_lanes(j, u / j->tiles * j->n * j->inner + first, lanes); /* dtype was checked */
    }
}

static ctsc_status scan_run(scan_job *j, const tensor *in, int dim) {
    tensor *dense;
    TRY(tensor_contiguous(j->cx->diag, (tensor *)in, &dense));
    j->in = dense;
    j->n = in->ndim ? in->sizes[dim] : 1;
    j->inner = 1;
    for (int i = dim + 1; i < in->ndim; i++) j->inner *= in->sizes[i];
    bool fold = j->what == SCAN_SUM || j->what == SCAN_PROD, alone = fold && !in->ndim;
    ctsc_status st = CTSC_OK;
    if (alone) /* copied, whatever its dtype */
        st = tensor_copy(j->cx->diag, j->out, dense);
    else if (in->numel || !fold) st = scan_lanes(j, 0, 0); /* refuses a dtype */
    if (st == CTSC_OK && !alone && tensor_cuda(dense)) {
        st = on_device->scan(j->cx->diag, dense, j->out, j->indices, (enum dense_scan_kind)j->what,
                             dim);
    } else if (st == CTSC_OK && !alone && in->numel) {
        j->tiles = (j->inner + SCAN_LANES - 1) / SCAN_LANES;
        int64_t outer = in->numel / (j->n * j->inner);
        int64_t work = j->n * reduce_min_i64(j->inner, SCAN_LANES);
        st = op_for(j->cx, outer * j->tiles, reduce_max_i64(SCAN_GRAIN / work, 1), scan_range, j);
    }
    tensor_unref(dense);
    return st;
}

/* ---- cumsum, cumprod, logcumsumexp ----------------------------------------------------------- */

/* In place there is one dtype only. */
static ctsc_status scan_dtype(op_ctx *cx, const value *args, dtype *dt) {
    dtype self = (dtype)args[0].u.tensor->dtype;
    int index = 1, dim;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), args[0].u.tensor->ndim, &dim));
    if (!op_target(cx, args, &index) || index > 0)
        return reduce_dtype(cx, args, dtype_is_integral(self) ? DT_INT64 : self, dt);
    TRY(arg_dtype(cx, reduce_arg(cx, args, "dtype"), self, dt));
    if (*dt != self)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Bad in-place call: input tensor dtype %s and output tensor dtype %s "
                         "should match",
                         dtype_cpp_name(self), dtype_cpp_name(*dt));
    return CTSC_OK;
}

static ctsc_status scan_fold(op_ctx *cx, const value *args, int what, dtype dt, value *results) {
    tensor *in = arg_tensor(&args[0]), *input;
    int dim;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), in->ndim, &dim));
    TRY(tensor_to_dtype(cx->diag, in, dt, &input));
    scan_job j = {.cx = cx, .what = what};
    ctsc_status st = tensor_new_like(cx->diag, input, dt, &j.out);
    if (st == CTSC_OK) {
        st = scan_run(&j, input, dim);
        if (st != CTSC_OK) tensor_unref(j.out);
    }
    tensor_unref(input);
    return st == CTSC_OK ? op_finish(cx, args, j.out, results) : st;
}

ctsc_status op_cumsum(op_ctx *cx, const value *args, value *results) {
    dtype dt;
    TRY(scan_dtype(cx, args, &dt));
    return scan_fold(cx, args, SCAN_SUM, dt, results);
}
ctsc_status op_cumprod(op_ctx *cx, const value *args, value *results) {
    dtype dt;
    TRY(scan_dtype(cx, args, &dt));
    return scan_fold(cx, args, SCAN_PROD, dt, results);
}
ctsc_status op_logcumsumexp(op_ctx *cx, const value *args, value *results) {
    return scan_fold(cx, args, SCAN_LOGSUMEXP, (dtype)args[0].u.tensor->dtype, results);
}

/* ---- cummax, cummin -------------------------------------------------------------------------- */

static ctsc_status scan_minmax(op_ctx *cx, const value *args, int what, value *results) {
    tensor *in = arg_tensor(&args[0]);
    int dim;
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), in->ndim, &dim));
    scan_job j = {.cx = cx, .what = what};
    TRY(tensor_new_like(cx->diag, in, (dtype)in->dtype, &j.out));
    ctsc_status st = tensor_new_like(cx->diag, in, DT_INT64, &j.indices);
    if (st == CTSC_OK) st = scan_run(&j, in, dim);
    if (st == CTSC_OK) return reduce_finish_two(cx, args, j.out, j.indices, results);
    tensor_unref(j.out);
    tensor_unref(j.indices);
    return st;
}

ctsc_status op_cummax(op_ctx *cx, const value *args, value *results) {
    return scan_minmax(cx, args, SCAN_MAX, results);
}
ctsc_status op_cummin(op_ctx *cx, const value *args, value *results) {
    return scan_minmax(cx, args, SCAN_MIN, results);
}
