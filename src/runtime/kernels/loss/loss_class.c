/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_class.c - loss functions over classes: nll_loss, cross entropy, multi-class and multi-label
 * margins.
 *
 * The inputs are seen as [batch, classes, inner]; a target is a class per (batch, inner).
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/loss/loss.h"
#include "runtime/kernels/nn/nn.h"

#include <math.h>

typedef struct class_shape {
    int64_t batch, classes, inner;
} class_shape;

/* [C], [N, C] and [N, C, ...]: */
static class_shape class_shape_of(const tensor *t) {
    if (t->ndim < 2) return (class_shape){1, t->ndim ? t->sizes[0] : 1, 1};
    return (class_shape){t->sizes[0], t->sizes[1], sizes_product(t, 2, t->ndim)};
}

/* Element i of a contiguous compute-dtype tensor. */
static inline double class_at(const tensor *t, int64_t i) {
    return t->dtype == DT_FLOAT64 ? TENSOR_AT(t, double)[i] : (double)TENSOR_AT(t, float)[i];
}
static inline void class_put(tensor *t, int64_t i, double v) {
    if (t->dtype == DT_FLOAT64) TENSOR_AT(t, double)[i] = v;
    else TENSOR_AT(t, float)[i] = (float)v;
}

static ctsc_status class_check_target(op_ctx *cx, const tensor *target) {
    if (target->dtype == DT_INT64 || target->dtype == DT_UINT8) return CTSC_OK;
    return kernel_fail(cx, "expected target dtype to be Long or Byte, but got %s",
                       dtype_table[target->dtype].ir_name);
}

/* ---- negative log likelihood ----------------------------------------------------------------- */

typedef struct class_nll {
    tensor *x, *target, *weight; /* contiguous: compute dtype, int64, compute dtype or NULL */
    int64_t reduction, ignore;
    class_shape shape;
} class_nll;

static void class_nll_free(class_nll *n) {
    tensor_unref(n->x);
    tensor_unref(n->target);
    tensor_unref(n->weight);
}

/* y: one value per target, or a single one. Returns the total weight through *total. */
static ctsc_status class_nll_sum(op_ctx *cx, const class_nll *n, tensor *y, double *total) {
    const class_shape *s = &n->shape;
    double sum = 0;
    for (int64_t i = 0, count = geometry_only() ? 0 : s->batch * s->inner; i < count; i++) {
        int64_t k = TENSOR_AT(n->target, int64_t)[i];
        if (k == n->ignore) {
            if (n->reduction == LOSS_NONE) class_put(y, i, 0);
            continue;
        }
        if (k < 0 || k >= s->classes)
            return kernel_fail(cx, "Target %lld is out of bounds.", (long long)k);
        double w = n->weight ? class_at(n->weight, k) : 1;
        double v = -w * class_at(n->x, (i / s->inner * s->classes + k) * s->inner + i % s->inner);
        if (n->reduction == LOSS_NONE) class_put(y, i, v);
        else sum += v;
        *total += w;
    }
    if (n->reduction == LOSS_MEAN) sum /= *total;
    if (n->reduction != LOSS_NONE) class_put(y, 0, sum);
    return CTSC_OK;
}

/* The loss of checked arguments, in input's dtype: out[0] has target's shape without a reduction;
 * out[1], if not NULL, is the total weight. */
static ctsc_status class_nll_run(op_ctx *cx, tensor *input, tensor *target, tensor *weight,
                                 int64_t reduction, int64_t ignore, tensor **out) {
    class_nll n = {.reduction = reduction, .ignore = ignore, .shape = class_shape_of(input)};
    double total = 0;
    ctsc_status st;
    TRY(loss_check_reduction(cx, reduction));
    if (!dtype_is_float((dtype)input->dtype))
        return op_refuse_dtype(
            cx, input->ndim > 2 ? "nll_loss2d_forward_out_frame" : "nll_loss_out_frame",
            (dtype)input->dtype);
    TRY(class_check_target(cx, target));
    if (weight && weight->dtype != input->dtype)
        return kernel_fail(cx, "expected scalar type %s but found %s",
                           dtype_table[input->dtype].ir_name, dtype_table[weight->dtype].ir_name);
    TRY(wide_input(cx, "nll_loss_out_frame", input, &n.x));
    TRY_OUT(wide_as(cx, target, DT_INT64, &n.target));
    if (weight) TRY_OUT(wide_as(cx, weight, (dtype)n.x->dtype, &n.weight));
    TRY_OUT(tensor_new(cx->diag, (dtype)n.x->dtype, reduction == LOSS_NONE ? target->ndim : 0,
                       target->sizes, &out[0]));
    TRY_OUT(class_nll_sum(cx, &n, out[0], &total));
    TRY_OUT(wide_round(cx, &out[0], (dtype)input->dtype));
    if (reduction == LOSS_NONE && input->ndim > 1) total = 0;
    TRY_OUT(tensor_scalar_float(cx->diag, (dtype)input->dtype, total, &out[1]));
out:
    class_nll_free(&n);
    if (st != CTSC_OK) tensor_unref(out[0]);
    return st;
}

static ctsc_status class_nll_1d(op_ctx *cx, tensor *input, tensor *target, tensor *weight,
                                int64_t reduction, int64_t ignore, tensor **out) {
    sizes_text a, b;
    if (input->ndim < 1 || input->ndim > 2)
        return kernel_fail(cx, "input tensor should be 1D or 2D");
    if (target->ndim > 1)
        return kernel_fail(cx, "0D or 1D target tensor expected, multi-target not supported");
    bool single = input->ndim == 1 && target->ndim == 0;
    if (!single && (target->ndim != 1 || input->ndim != 2 || input->sizes[0] != target->sizes[0]))
        return kernel_fail(cx, "size mismatch (got input: %s, target: %s)", shape_print(input, &a),
                           shape_print(target, &b));
    int64_t classes = input->sizes[input->ndim - 1];
    if (weight && (weight->ndim != 1 || weight->numel != classes))
        return kernel_fail(
            cx,
            "weight tensor should be defined either for all %lld classes or no classes "
            "but got weight tensor of shape: %s",
            (long long)classes, shape_print(weight, &a));
    return class_nll_run(cx, input, target, weight, reduction, ignore, out);
}

static ctsc_status class_nll_2d(op_ctx *cx, tensor *input, tensor *target, tensor *weight,
                                int64_t reduction, int64_t ignore, tensor **out) {
    sizes_text a, b;
    if (target->ndim != 3)
        return kernel_fail(
            cx,
            "only batches of spatial targets supported (3D tensors) but got targets of "
            "dimension: %d",
            target->ndim);
    if (input->ndim != 4)
        return kernel_fail(
            cx,
            "only batches of spatial inputs supported (4D tensors), but got input of dimension: %d",
            input->ndim);
    if (weight && weight->numel != input->sizes[1])
        return kernel_fail(cx, "weight tensor should be defined either for all or no classes");
    if (input->sizes[0] != target->sizes[0] || input->sizes[2] != target->sizes[1] ||
        input->sizes[3] != target->sizes[2])
        return kernel_fail(cx, "size mismatch (got input: %s , target: %s", shape_print(input, &a),
                           shape_print(target, &b));
    return class_nll_run(cx, input, target, weight, reduction, ignore, out);
}

/* Any number of dims. */
static ctsc_status class_nll_nd(op_ctx *cx, tensor *input, tensor *target, tensor *weight,
                                int64_t reduction, int64_t ignore, tensor **out) {
    sizes_text a, b;
    if (input->ndim < 1)
        return kernel_fail(cx, "Expected 1 or more dimensions (got %d)", input->ndim);
    if (input->ndim != 1 && (target->ndim < 1 || input->sizes[0] != target->sizes[0]))
        return kernel_fail(
            cx, "Expected input batch_size (%lld) to match target batch_size (%lld).",
            (long long)input->sizes[0], (long long)(target->ndim ? target->sizes[0] : 0));
    if (input->ndim <= 2) return class_nll_1d(cx, input, target, weight, reduction, ignore, out);
    if (input->ndim == 4) return class_nll_2d(cx, input, target, weight, reduction, ignore, out);
    int64_t sizes[TENSOR_MAX_DIMS];
    bool fits = target->ndim == input->ndim - 1;
    for (int i = 0; i < input->ndim - 1; i++) {
        sizes[i] = input->sizes[i ? i + 1 : 0];
        fits = fits && target->sizes[i] == sizes[i];
    }
    if (!fits)
        return kernel_fail(cx, "Expected target size %s, got %s",
                           sizes_print(input->ndim - 1, sizes, &a), shape_print(target, &b));
    if (weight && weight->numel != input->sizes[1])
        return kernel_fail(cx, "weight tensor should be defined either for all or no classes");
    return class_nll_run(cx, input, target, weight, reduction, ignore, out);
}

typedef ctsc_status (*class_nll_fn)(op_ctx *cx, tensor *input, tensor *target, tensor *weight,
                                    int64_t reduction, int64_t ignore, tensor **out);

/* self, target, weight, reduction, ignore_index in every overload */
static ctsc_status class_nll_op(op_ctx *cx, const value *args, class_nll_fn fn, int nresults,
                                value *results) {
    tensor *out[2] = {NULL};
    TRY(fn(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), arg_tensor_or_null(&args[2]),
           arg_int(&args[3]), arg_int(&args[4]), out));
    if (nresults == 1) tensor_unref(out[1]);
    return op_finish_all(cx, args, nresults, out, results);
}

ctsc_status op_nll_loss(op_ctx *cx, const value *args, value *results) {
    return class_nll_op(cx, args, class_nll_1d, 1, results);
}
ctsc_status op_nll_loss_forward(op_ctx *cx, const value *args, value *results) {
    return class_nll_op(cx, args, class_nll_1d, 2, results);
}
ctsc_status op_nll_loss2d(op_ctx *cx, const value *args, value *results) {
    return class_nll_op(cx, args, class_nll_2d, 1, results);
}
ctsc_status op_nll_loss2d_forward(op_ctx *cx, const value *args, value *results) {
    return class_nll_op(cx, args, class_nll_2d, 2, results);
}
ctsc_status op_nll_loss_nd(op_ctx *cx, const value *args, value *results) {
    return class_nll_op(cx, args, class_nll_nd, 1, results);
}

/* ---- cross entropy --------------------------------------------------------------------------- */

typedef struct class_entropy {
    tensor *input, *target, *weight;
    int64_t reduction, ignore;
    double smoothing;
    tensor *logs;  /* log_softmax of input, contiguous, compute dtype */
    tensor *scale; /* weight likewise; or NULL */
    class_shape shape;
} class_entropy;

/* -sum over the classes of weight * p * log(input) at (batch, inner) = i; p: the target's
 * probabilities, contiguous double, or NULL for p = 1. */
static double class_entropy_at(const class_entropy *e, int64_t i, const double *p) {
    const class_shape *s = &e->shape;
    int64_t at = i / s->inner * s->classes * s->inner + i % s->inner;
    double sum = 0;
    for (int64_t c = 0; c < s->classes; c++, at += s->inner) {
        double v = class_at(e->logs, at) * (p ? p[at] : 1);
        sum -= e->scale ? v * class_at(e->scale, c) : v;
    }
    return sum;
}

/* The shape of the loss without a reduction: input's without the classes. */
static int class_entropy_sizes(const tensor *input, int64_t *sizes) {
    int n = 0;
    for (int i = 0; i < input->ndim; i++)
        if (i != (input->ndim > 1)) sizes[n++] = input->sizes[i];
    return n;
}

static ctsc_status class_entropy_probabilities(op_ctx *cx, class_entropy *e, tensor **out) {
    tensor *p = NULL, *y = NULL;
    int64_t sizes[TENSOR_MAX_DIMS];
    ctsc_status st;
    double sum = 0;
    dtype dt = dtype_promote((dtype)e->input->dtype, (dtype)e->target->dtype);
    int ndim = e->reduction == LOSS_NONE ? class_entropy_sizes(e->input, sizes) : 0;
    TRY(wide_as(cx, e->target, DT_FLOAT64, &p));
    TRY_OUT(tensor_new(cx->diag, wide_dtype(dt), ndim, sizes, &y));
    double *q = tensor_data(p);
    if (e->smoothing > 0) {
        if (p == e->target) { /* not to be changed */
            tensor *copy;
            TRY_OUT(tensor_clone(cx->diag, p, &copy));
            tensor_unref(p);
            q = tensor_data(p = copy);
        }
        for (int64_t i = 0; !geometry_only() && i < p->numel; i++)
            q[i] = q[i] * (1 - e->smoothing) + e->smoothing / (double)e->shape.classes;
    }
    int64_t count = e->shape.batch * e->shape.inner;
    for (int64_t i = 0; !geometry_only() && i < count; i++) {
        double v = class_entropy_at(e, i, q);
        if (e->reduction == LOSS_NONE) class_put(y, i, v);
        else sum += v;
    }
    if (e->reduction == LOSS_MEAN) sum /= e->shape.classes ? (double)count : 0;
    if (e->reduction != LOSS_NONE) class_put(y, 0, sum);
    TRY_OUT(wide_round(cx, &y, dt));
    *out = y, y = NULL;
out:
    tensor_unref(p);
    tensor_unref(y);
    return st;
}

/* (1 - smoothing) * nll + smoothing / classes * (-sum of all log probabilities); nll is
 * overwritten. */
static ctsc_status class_entropy_smooth(op_ctx *cx, const class_entropy *e, tensor *nll) {
    tensor *target;
    TRY(wide_as(cx, e->target, DT_INT64, &target));
    double sum = 0, total = 0, share = e->smoothing / (double)e->shape.classes;
    for (int64_t i = 0; !geometry_only() && i < target->numel; i++) {
        int64_t k = TENSOR_AT(target, int64_t)[i];
        double v = k == e->ignore ? 0 : class_entropy_at(e, i, NULL);
        if (e->reduction == LOSS_NONE)
            class_put(nll, i, (1 - e->smoothing) * class_at(nll, i) + share * v);
        sum += v;
        total += k == e->ignore ? 0 : e->scale ? class_at(e->scale, k) : 1;
    }
    if (e->reduction == LOSS_MEAN) sum /= total;
    if (e->reduction != LOSS_NONE)
        class_put(nll, 0, (1 - e->smoothing) * class_at(nll, 0) + share * sum);
    tensor_unref(target);
    return CTSC_OK;
}

static ctsc_status class_entropy_classes(op_ctx *cx, class_entropy *e, tensor **out) {
    tensor *nll[2] = {NULL};
    /* The weight's dtype is checked against the input's; the logs are that dtype widened. */
    tensor *weight = e->scale ? e->scale : NULL;
    TRY(class_nll_nd(cx, e->logs, e->target, weight, e->reduction, e->ignore, nll));
    tensor_unref(nll[1]);
    ctsc_status st = e->smoothing > 0 ? class_entropy_smooth(cx, e, nll[0]) : CTSC_OK;
    if (st == CTSC_OK) st = wide_round(cx, &nll[0], (dtype)e->input->dtype);
    if (st == CTSC_OK) *out = nll[0];
    else tensor_unref(nll[0]);
    return st;
}

static ctsc_status class_entropy_check(op_ctx *cx, const class_entropy *e, bool probabilities) {
    sizes_text text;
    if (probabilities && !dtype_is_float((dtype)e->target->dtype))
        return kernel_fail(
            cx, "Expected floating point type for target with class probabilities, got %s",
            dtype_table[e->target->dtype].ir_name);
    if (probabilities && e->ignore >= 0)
        return kernel_fail(cx, "ignore_index is not supported for floating point target");
    if (probabilities && e->weight &&
        (e->weight->ndim != 1 || e->weight->numel != e->shape.classes))
        return kernel_fail(
            cx,
            "cross_entropy: weight tensor should be defined either for all %lld classes "
            "or no classes but got weight tensor of shape: %s",
            (long long)e->shape.classes, shape_print(e->weight, &text));
    if (e->smoothing > 1)
        return kernel_fail(cx, "label_smoothing must be between 0.0 and 1.0. Got: %g",
                           e->smoothing);
    if (e->weight && !probabilities && e->weight->dtype != e->input->dtype)
        return kernel_fail(cx, "expected scalar type %s but found %s",
                           dtype_table[e->input->dtype].ir_name,
                           dtype_table[e->weight->dtype].ir_name);
    return loss_check_reduction(cx, e->reduction);
}

ctsc_status op_cross_entropy_loss(op_ctx *cx, const value *args, value *results) {
    class_entropy e = {.input = arg_tensor(&args[0]),
                       .target = arg_tensor(&args[1]),
                       .weight = arg_tensor_or_null(&args[2]),
                       .reduction = arg_int(&args[3]),
                       .ignore = arg_int(&args[4]),
                       .smoothing = arg_float(&args[5])};
    bool probabilities = tensor_same_shape(e.input, e.target);
    tensor *logs = NULL, *y = NULL;
    ctsc_status st;
    if (e.input->ndim == 0 && probabilities)
        return kernel_fail(cx, "Dimension specified as 1 but tensor has no dimensions");
    e.shape = class_shape_of(e.input);
    TRY(class_entropy_check(cx, &e, probabilities));
    TRY(nn_softmax(cx, e.input, e.input->ndim > 1, (dtype)e.input->dtype, true, &logs));
    TRY_OUT(wide_input(cx, "cross_entropy_loss", logs, &e.logs));
    if (e.weight) TRY_OUT(wide_as(cx, e.weight, (dtype)e.logs->dtype, &e.scale));
    TRY_OUT(probabilities ? class_entropy_probabilities(cx, &e, &y)
                          : class_entropy_classes(cx, &e, &y));
out:
    tensor_unref(logs);
    tensor_unref(e.logs);
    tensor_unref(e.scale);
    return st == CTSC_OK ? op_return_tensor(results, y) : st;
}

/* ---- margins --------------------------------------------------------------------------------- */

/* One loss per row of `rows`, reduced; a 0-dim result where scalar. Takes nothing; finishes the
 * operator. */
static ctsc_status class_margin_finish(op_ctx *cx, tensor *rows, int64_t reduction, bool scalar,
                                       dtype dt, tensor **out) {
    tensor *reduced = NULL;
    ctsc_status st;
    if (reduction == LOSS_NONE && scalar)
        st = tensor_scalar_float(cx->diag, (dtype)rows->dtype, class_at(rows, 0), &reduced);
    else st = loss_reduce(cx, tensor_ref(rows), reduction, &reduced);
    if (st == CTSC_OK) st = wide_round(cx, &reduced, dt);
    *out = reduced;
    return st;
}

static bool class_margin_shape_ok(const tensor *input) {
    return input->ndim < 2 || (input->ndim == 2 && input->sizes[1] != 0);
}

static double class_margin_row(const tensor *x, int64_t row, int64_t classes, int64_t target,
                               double p, double margin, double weight) {
    double sum = 0, own = class_at(x, row * classes + target);
    for (int64_t c = 0; c < classes; c++) {
        double z = margin - own + class_at(x, row * classes + c);
        if (c != target && z > 0) sum += (p == 1 ? z : z * z) * weight;
    }
    return sum / (double)classes;
}

ctsc_status op_multi_margin_loss(op_ctx *cx, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]), *target = arg_tensor(&args[1]);
    double p = arg_float(&args[2]), margin = arg_float(&args[3]);
    int64_t reduction = arg_int(&args[5]);
    tensor *x = NULL, *at = NULL, *weight = NULL, *rows = NULL, *y = NULL;
    sizes_text text;
    ctsc_status st;
    if (p != 1 && p != 2) return kernel_fail(cx, "only p == 1 and p == 2 supported");
    TRY(loss_check_reduction(cx, reduction));
    if (!class_margin_shape_ok(input))
        return kernel_fail(
            cx, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s",
            shape_print(input, &text));
    class_shape s = class_shape_of(input);
    if (target->ndim > 1 || target->numel != s.batch)
        return kernel_fail(cx, "inconsistent target size, got: %s", shape_print(target, &text));
    if (!dtype_is_float((dtype)input->dtype))
        return op_refuse_dtype(cx, "multi_margin_loss_cpu_kernel", (dtype)input->dtype);
    if (target->dtype != DT_INT64)
        return kernel_fail(cx, "expected scalar type Long but found %s",
                           dtype_table[target->dtype].ir_name);
    TRY(wide_input(cx, "multi_margin_loss_cpu_kernel", input, &x));
    TRY_OUT(wide_as(cx, target, DT_INT64, &at));
    TRY_OUT(wide_as_optional(cx, &args[4], (dtype)x->dtype, &weight));
    if (weight && weight->numel < s.classes) {
        st = kernel_fail(cx, "inconsistent weight size, got: %s", shape_print(weight, &text));
        goto out;
    }
    TRY_OUT(tensor_new(cx->diag, (dtype)x->dtype, 1, &s.batch, &rows));
    for (int64_t r = 0; !geometry_only() && r < s.batch; r++) {
        int64_t k = TENSOR_AT(at, int64_t)[r];
        if (k < 0 || k >= s.classes) {
            st = kernel_fail(cx, "target out of range");
            goto out;
        }
        class_put(
            rows, r,
            class_margin_row(x, r, s.classes, k, p, margin, weight ? class_at(weight, k) : 1));
    }
    TRY_OUT(class_margin_finish(cx, rows, reduction, target->ndim == 0, (dtype)input->dtype, &y));
out:
    tensor_unref(x);
    tensor_unref(at);
    tensor_unref(weight);
    tensor_unref(rows);
    return st == CTSC_OK ? op_finish(cx, args, y, results) : st;
}

/* The targets of a row end at the first -1. marks: 1 for each class that is a target. */
static double class_multilabel_row(const tensor *x, int64_t row, int64_t classes,
                                   const int64_t *targets, tensor *marks) {
    double sum = 0;
    int64_t n = 0;
    for (int64_t c = 0; c < classes; c++) class_put(marks, row * classes + c, 0);
    for (; n < classes && targets[n] >= 0; n++) class_put(marks, row * classes + targets[n], 1);
    for (int64_t i = 0; i < n; i++) {
        double own = class_at(x, row * classes + targets[i]);
        for (int64_t c = 0; c < classes; c++) {
            double z = 1 - own + class_at(x, row * classes + c);
            if (class_at(marks, row * classes + c) == 0 && z > 0) sum += z;
        }
    }
    return sum / (double)classes;
}

/* out[0]: the loss; out[1]: which classes are targets. */
static ctsc_status class_multilabel(op_ctx *cx, const value *args, tensor **out) {
    tensor *input = arg_tensor(&args[0]), *target = arg_tensor(&args[1]);
    tensor *x = NULL, *at = NULL, *rows = NULL;
    sizes_text text;
    ctsc_status st;
    TRY(loss_check_reduction(cx, arg_int(&args[2])));
    if (!class_margin_shape_ok(input))
        return kernel_fail(
            cx, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s",
            shape_print(input, &text));
    class_shape s = class_shape_of(input);
    if (input->ndim < 2 ? target->ndim > 1 || target->numel != s.classes
                        : !tensor_same_shape(input, target))
        return kernel_fail(cx, "inconsistent size %s for argument #2 'target'",
                           shape_print(target, &text));
    if (target->dtype != DT_INT64)
        return kernel_fail(cx, "expected scalar type Long but found %s",
                           dtype_table[target->dtype].ir_name);
    TRY(wide_input(cx, "multilabel_margin_loss_forward_out_frame", input, &x));
    TRY_OUT(wide_as(cx, target, DT_INT64, &at));
    for (int64_t i = 0; !geometry_only() && i < at->numel; i++) {
        int64_t k = TENSOR_AT(at, int64_t)[i];
        if (k >= -1 && k < s.classes) continue;
        st = kernel_fail(cx, "argument #2 'target' is out of range");
        goto out;
    }
    TRY_OUT(tensor_new_like(cx->diag, target, (dtype)x->dtype, &out[1]));
    TRY_OUT(tensor_new(cx->diag, (dtype)x->dtype, 1, &s.batch, &rows));
    for (int64_t r = 0; !geometry_only() && r < s.batch; r++)
        class_put(
            rows, r,
            class_multilabel_row(x, r, s.classes, TENSOR_AT(at, int64_t) + r * s.classes, out[1]));
    TRY_OUT(wide_round(cx, &out[1], (dtype)input->dtype));
    TRY_OUT(class_margin_finish(cx, rows, arg_int(&args[2]), input->ndim < 2, (dtype)input->dtype,
                                &out[0]));
out:
    tensor_unref(x);
    tensor_unref(at);
    tensor_unref(rows);
    if (st != CTSC_OK) tensor_unref(out[1]);
    return st;
}

ctsc_status op_multilabel_margin_loss(op_ctx *cx, const value *args, value *results) {
    tensor *out[2] = {NULL};
    TRY(class_multilabel(cx, args, out));
    tensor_unref(out[1]);
    return op_finish(cx, args, out[0], results);
}

ctsc_status op_multilabel_margin_loss_forward(op_ctx *cx, const value *args, value *results) {
    tensor *out[2] = {NULL};
    TRY(class_multilabel(cx, args, out));
    return op_finish_all(cx, args, 2, out, results);
}
