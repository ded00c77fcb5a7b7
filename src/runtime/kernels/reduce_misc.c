/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_misc.c - what is composed of other operators: diff, trapezoid, trapz,
 * cumulative_trapezoid, cov, corrcoef.
 *
 * Method: the definitions of PyTorch's documentation, written with op_call, so that dtypes,
 * promotion and broadcasting are those of the operators used. A helper takes over its operand,
 * which keeps chains of calls free of clean-up.
 * Tests: tests/unit/test_reduce.c
 */
#include "runtime/kernels/reduce.h"

#include <math.h>

/* ---- chains ---------------------------------------------------------------------------------- */

/* *t = op(*t, other): releases the old *t whatever happens; *t is None after a failure. */
static ctsc_status misc_apply(op_ctx *cx, const char *key, value *t, value other) {
    value args[2] = {*t, other}, result = value_none();
    ctsc_status st = op_call(cx, key, 2, args, &result);
    value_set(t, st == CTSC_OK ? result : value_none());
    return st;
}

/* The part [begin, end) of dim, as a value. */
static ctsc_status misc_slice(op_ctx *cx, const tensor *t, int dim, int64_t begin, int64_t end,
                              value *out) {
    tensor *part;
    TRY(tensor_slice(cx->diag, t, dim, begin, end, 1, &part));
    *out = value_tensor_take(part);
    return CTSC_OK;
}

/* t[1:] OP t[:-1] along dim. */
static ctsc_status misc_neighbours(op_ctx *cx, const char *key, const tensor *t, int dim,
                                   value *out) {
    value left = value_none(), right = value_none();
    ctsc_status st = misc_slice(cx, t, dim, 1, t->sizes[dim], &right);
    if (st == CTSC_OK) st = misc_slice(cx, t, dim, 0, t->sizes[dim] - 1, &left);
    if (st == CTSC_OK) st = misc_apply(cx, key, &right, left);
    value_unref(left);
    if (st == CTSC_OK)
        *out = right;
    else
        value_unref(right);
    return st;
}

/* ---- diff ------------------------------------------------------------------------------------ */

static ctsc_status diff_check(op_ctx *cx, const tensor *in, const tensor *more, int dim) {
    if (!more) return CTSC_OK;
    if (more->ndim != in->ndim)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "diff expects prepend or append to be the same dimension as input");
    for (int i = 0; i < in->ndim; i++)
        if (i != dim && more->sizes[i] != in->sizes[i])
            return diag_fail(cx->diag, CTSC_FAILED,
                             "diff expects the shape of tensor to prepend or append to match that "
                             "of input except along the differencing dimension; input.size(%d) = "
                             "%lld, but got tensor.size(%d) = %lld",
                             i, (long long)in->sizes[i], i, (long long)more->sizes[i]);
    return CTSC_OK;
}

/* prepend, in and append joined along dim. */
static ctsc_status diff_join(op_ctx *cx, tensor *in, tensor *prepend, tensor *append, int dim,
                             value *out) {
    tensor *parts[3] = {prepend, in, append};
    list *all = list_new(LIST_TENSOR, NULL, 3);
    if (!all) return diag_no_memory(cx->diag);
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < 3 && st == CTSC_OK; i++)
        if (parts[i] && !list_append_take(all, value_tensor_take(tensor_ref(parts[i]))))
            st = diag_no_memory(cx->diag);
    value args[2] = {value_list_take(all), value_int(dim)};
    *out = value_none();
    if (st == CTSC_OK) st = op_call(cx, "aten::cat", 2, args, out);
    value_unref(args[0]);
    return st;
}

ctsc_status op_diff(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *out;
    tensor *prepend = arg_tensor_or_null(&args[3]), *append = arg_tensor_or_null(&args[4]);
    int64_t times = arg_int(&args[1]);
    int dim;
    if (in->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "diff expects input to be at least one-dimensional");
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), in->ndim, &dim));
    TRY(diff_check(cx, in, prepend, dim));
    TRY(diff_check(cx, in, append, dim));
    value now = value_ref(args[0]);
    if (prepend || append) {
        value joined;
        ctsc_status st = diff_join(cx, in, prepend, append, dim, &joined);
        value_set(&now, joined);
        if (st != CTSC_OK) return st;
    }
    times = reduce_min_i64(times, now.u.tensor->sizes[dim]);
    bool flips = now.u.tensor->dtype == DT_BOOL;
    if (times <= 0) {
        ctsc_status st = tensor_clone(cx->diag, now.u.tensor, &out);
        value_unref(now);
        return st == CTSC_OK ? op_finish(cx, args, out, results) : st;
    }
    for (; times > 0; times--) {
        value next;
        ctsc_status st = misc_neighbours(cx, flips ? "aten::logical_xor" : "aten::sub.Tensor",
                                         now.u.tensor, dim, &next);
        value_unref(now);
        if (st != CTSC_OK) return st;
        now = next;
    }
    return op_finish(cx, args, now.u.tensor, results);
}

/* ---- trapezoid ------------------------------------------------------------------------------- */

static ctsc_status trapezoid_check(op_ctx *cx, const char *name, const tensor *y, const tensor *x) {
    if (y->dtype == DT_BOOL || (x && x->dtype == DT_BOOL))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s: received a bool input for %s, but bool is not supported", name,
                         x ? "`x` or `y`" : "`y`");
    return CTSC_OK;
}

/* Widths of the intervals: x's neighbours' differences, shaped to broadcast with y. */
static ctsc_status trapezoid_widths(op_ctx *cx, const char *name, const tensor *y, const tensor *x,
                                    int dim, value *out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *shaped;
    if (x->ndim >= y->ndim && x->ndim != 1)
        return misc_neighbours(cx, "aten::sub.Tensor", x, dim + x->ndim - y->ndim, out);
    int lead = y->ndim - x->ndim;
    for (int i = 0; i < y->ndim; i++) sizes[i] = i < lead ? 1 : x->sizes[i - lead];
    if (x->ndim == 1) {
        if (x->sizes[0] != y->sizes[dim])
            return diag_fail(cx->diag, CTSC_FAILED,
                             "%s: There must be one `x` value for each sample point", name);
        for (int i = 0; i < y->ndim; i++) sizes[i] = i == dim ? x->sizes[0] : 1;
    }
    TRY(tensor_reshape(cx->diag, x, y->ndim, sizes, &shaped));
    ctsc_status st = misc_neighbours(cx, "aten::sub.Tensor", shaped, dim, out);
    tensor_unref(shaped);
    return st;
}

/* (y[1:] + y[:-1]) * widths / 2, summed or accumulated along dim. */
static ctsc_status trapezoid_fold(op_ctx *cx, const tensor *y, int dim, value widths,
                                  bool cumulative, value *results) {
    value area = value_none();
    TRY(misc_neighbours(cx, "aten::add.Tensor", y, dim, &area));
    ctsc_status st = widths.tag == V_TENSOR ? misc_apply(cx, "aten::mul.Tensor", &area, widths)
                                            : misc_apply(cx, "aten::mul.Scalar", &area, widths);
    int64_t from_end = dim - y->ndim; /* broadcasting may add dims in front */
    if (st == CTSC_OK && cumulative)
        st = misc_apply(cx, "aten::cumsum", &area, value_int(from_end));
    if (st == CTSC_OK && !cumulative) {
        list one = {.refs = 1, .kind = LIST_INT, .len = 1, .cap = 1, .u.ints = &from_end};
        st = misc_apply(cx, "aten::sum.dim_IntList", &area, (value){.tag = V_LIST, .u.list = &one});
    }
    if (st == CTSC_OK) st = misc_apply(cx, "aten::div.Scalar", &area, value_float(2));
    if (st != CTSC_OK) return value_unref(area), st;
    return op_return(results, area);
}

static ctsc_status trapezoid_run(op_ctx *cx, const value *args, bool cumulative, value *results) {
    const char *name = cumulative ? "cumulative_trapezoid" : "trapezoid";
    tensor *y = arg_tensor(&args[0]), *x = args[1].tag == V_TENSOR ? args[1].u.tensor : NULL;
    int dim;
    TRY(trapezoid_check(cx, name, y, x));
    if (y->ndim == 0 && cumulative)
        return diag_fail(cx->diag, CTSC_FAILED, "slice() cannot be applied to a 0-dim tensor.");
    if (y->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Dimension specified as %lld but tensor has no dimensions",
                         (long long)arg_int(&args[2]));
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), y->ndim, &dim));
    if (y->sizes[dim] == 0 && !cumulative) {
        bool mask[TENSOR_MAX_DIMS] = {false};
        tensor *zero;
        mask[dim] = true;
        TRY(reduce_to_new(cx, &reduce_kind_sum, 0, y, mask, false, (dtype)y->dtype, &zero));
        return op_return_tensor(results, zero);
    }
    value widths = args[1];
    if (x) TRY(trapezoid_widths(cx, name, y, x, dim, &widths));
    ctsc_status st = trapezoid_fold(cx, y, dim, widths, cumulative, results);
    if (x) value_unref(widths);
    return st;
}

ctsc_status op_trapezoid(op_ctx *cx, const value *args, value *results) {
    return trapezoid_run(cx, args, false, results);
}
ctsc_status op_cumulative_trapezoid(op_ctx *cx, const value *args, value *results) {
    return trapezoid_run(cx, args, true, results);
}

/* ---- cov, corrcoef --------------------------------------------------------------------------- */

/* Observations in double with their weights; one block of memory. */
typedef struct cov_data {
    double *x; /* [vars, obs], centred */
    double *w; /* per observation */
    int64_t vars, obs;
    double norm;
} cov_data;

static double cov_weight(const tensor *t, int64_t i) {
    int64_t at = t->ndim ? i * t->strides[0] : 0;
    return dtype_load_float((dtype)t->dtype,
                            (char *)tensor_data(t) + at * (int64_t)dtype_size((dtype)t->dtype));
}

static ctsc_status cov_check_weights(op_ctx *cx, const tensor *t, const char *name, bool whole,
                                     int64_t obs) {
    if (!t) return CTSC_OK;
    if (t->ndim > 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "cov(): expected %s to have one or fewer dimensions but got %s with %d "
                         "dimensions",
                         name, name, t->ndim);
    if (dtype_is_complex((dtype)t->dtype)) return op_refuse_dtype(cx, "cov", (dtype)t->dtype);
    if (whole ? !dtype_is_int((dtype)t->dtype) : !dtype_is_float((dtype)t->dtype))
        return diag_fail(
            cx->diag, CTSC_FAILED, "cov(): expected %s to have %s dtype but got %s with %s dtype",
            name, whole ? "integral" : "floating point", name, dtype_table[t->dtype].ir_name);
    if (t->numel != obs)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "cov(): expected %s to have the same numel as there are observations in "
                         "the input but got %lld != %lld",
                         name, (long long)t->numel, (long long)obs);
    for (int64_t i = 0; i < obs; i++)
        if (cov_weight(t, i) < 0)
            return diag_fail(cx->diag, CTSC_FAILED, "cov(): %s cannot be negative", name);
    return CTSC_OK;
}

static ctsc_status cov_weights(op_ctx *cx, cov_data *c, const tensor *f, const tensor *a,
                               double correction) {
    double sum = 0, squares = 0;
    TRY(cov_check_weights(cx, f, "fweights", true, c->obs));
    TRY(cov_check_weights(cx, a, "aweights", false, c->obs));
    for (int64_t i = 0; i < c->obs; i++) {
        double aw = a ? cov_weight(a, i) : 1;
        c->w[i] = (f ? cov_weight(f, i) : 1) * aw;
        sum += c->w[i];
        squares += c->w[i] * aw;
    }
    if ((f || a) && c->obs && sum == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "cov(): weights sum to zero, can't be normalized");
    c->norm = a ? sum - correction * squares / sum : sum - correction;
    if (!(c->norm > 0)) c->norm = 0;
    for (int64_t v = 0; v < c->vars; v++) {
        double *row = c->x + v * c->obs, mean = 0;
        for (int64_t i = 0; i < c->obs; i++) mean += c->w[i] * row[i];
        mean /= sum;
        for (int64_t i = 0; i < c->obs; i++) row[i] -= mean;
    }
    return CTSC_OK;
}

static void cov_range(void *ctx, int64_t begin, int64_t end) {
    void **pair = ctx;
    const cov_data *c = pair[0];
    double *out = pair[1];
    for (int64_t a = begin; a < end; a++)
        for (int64_t b = 0; b < c->vars; b++) {
            const double *x = c->x + a * c->obs, *y = c->x + b * c->obs;
            double sum = 0;
            for (int64_t i = 0; i < c->obs; i++) sum += c->w[i] * x[i] * y[i];
            out[a * c->vars + b] = sum / c->norm;
        }
}

/* The covariance matrix in double, [vars, vars]. */
static ctsc_status cov_run(op_ctx *cx, tensor *in, const tensor *f, const tensor *a,
                           double correction, tensor **out) {
    tensor *wide, *dense, *matrix, *weights;
    TRY(tensor_to_dtype(cx->diag, in, DT_FLOAT64, &wide));
    ctsc_status st = tensor_clone(cx->diag, wide, &dense); /* centred in place */
    tensor_unref(wide);
    if (st != CTSC_OK) return st;
    cov_data c = {.x = tensor_data(dense)};
    c.obs = in->ndim ? in->sizes[in->ndim - 1] : 1;
    c.vars = in->ndim == 2 ? in->sizes[0] : 1;
    st = tensor_new(cx->diag, DT_FLOAT64, 2, (int64_t[]){c.vars, c.vars}, &matrix);
    if (st == CTSC_OK) {
        st = tensor_new(cx->diag, DT_FLOAT64, 1, &c.obs, &weights);
        if (st == CTSC_OK) {
            c.w = tensor_data(weights);
            st = cov_weights(cx, &c, f, a, correction);
            void *pair[2] = {&c, tensor_data(matrix)};
            if (st == CTSC_OK) pool_for(c.vars, 1, cov_range, pair);
            tensor_unref(weights);
        }
        if (st == CTSC_OK)
            *out = matrix;
        else
            tensor_unref(matrix);
    }
    tensor_unref(dense);
    return st;
}

/* The matrix (taken) in the result's dtype; of a single variable it has no dims. */
static ctsc_status cov_result(op_ctx *cx, const tensor *in, const tensor *weights, tensor *matrix,
                              tensor **out) {
    dtype dt = dtype_is_float((dtype)in->dtype) ? (dtype)in->dtype : DT_FLOAT32;
    if (weights) dt = dtype_promote(dt, (dtype)weights->dtype);
    tensor *cast;
    ctsc_status st = tensor_to_dtype(cx->diag, matrix, dt, &cast);
    tensor_unref(matrix);
    if (st != CTSC_OK) return st;
    if (in->ndim == 2) return *out = cast, CTSC_OK;
    st = tensor_view(cx->diag, cast, 0, NULL, out);
    tensor_unref(cast);
    return st;
}

static ctsc_status cov_check(op_ctx *cx, const char *name, const tensor *in) {
    if (in->ndim > 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s(): expected input to have two or fewer dimensions but got an input "
                         "with %d dimensions",
                         name, in->ndim);
    if (in->dtype == DT_BOOL)
        return diag_fail(cx->diag, CTSC_FAILED, "cov(): bool dtype is not supported for input");
    if (dtype_is_complex((dtype)in->dtype)) return op_refuse_dtype(cx, name, (dtype)in->dtype);
    return CTSC_OK;
}

ctsc_status op_cov(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *matrix, *out;
    TRY(cov_check(cx, "cov", in));
    TRY(cov_run(cx, in, arg_tensor_or_null(&args[2]), arg_tensor_or_null(&args[3]),
                (double)arg_int(&args[1]), &matrix));
    TRY(cov_result(cx, in, arg_tensor_or_null(&args[3]), matrix, &out));
    return op_return_tensor(results, out);
}

ctsc_status op_corrcoef(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *matrix, *spread, *out;
    TRY(cov_check(cx, "corrcoef", in));
    TRY(cov_run(cx, in, NULL, NULL, 1, &matrix));
    int64_t n = matrix->sizes[0];
    double *m = tensor_data(matrix);
    ctsc_status st = tensor_new(cx->diag, DT_FLOAT64, 1, &n, &spread);
    if (st != CTSC_OK) return tensor_unref(matrix), st;
    double *d = tensor_data(spread);
    for (int64_t i = 0; i < n; i++) d[i] = sqrt(m[i * n + i]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) {
            double v = m[i * n + k] / d[i] / d[k];
            m[i * n + k] = v > 1 ? 1 : v < -1 ? -1 : v;
        }
    tensor_unref(spread);
    TRY(cov_result(cx, in, NULL, matrix, &out));
    return op_return_tensor(results, out);
}
