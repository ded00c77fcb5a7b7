/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_activation.c - activation functions; PyTorch admits real tensors only, with a few
 * exceptions.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/pointwise/pointwise.h"
#include "tensor/promote.h"

#include <float.h>

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* ---- without numbers ------------------------------------------------------------------------- */

/* kind, kind64: of the loops of float and of double */
#define ACTIVATION0(op, kind, kind64, label)                                                       \
    PW_REAL_LOOPS_OF(kind, kind64, op, 1, 0)                                                       \
    static const pw_op pw_##op = {label, PW_SAME, {PW_REAL_ROW(op)}};                              \
    OPERATOR(op) { return pw_run(cx, args, 1, args, &pw_##op, NULL, results); }

PW_REAL_LOOPS_OF(MATH, MATH, silu, 1, 0)
PW_COMPLEX_LOOPS(PLAIN, silu, 1, 0)
static const pw_op pw_silu = {"silu_cpu", PW_SAME, {PW_REAL_ROW(silu), PW_COMPLEX_ROW(silu)}};
OPERATOR(silu) { return pw_run(cx, args, 1, args, &pw_silu, NULL, results); }
ACTIVATION0(mish, MATH, PLAIN, "mish_cpu")
ACTIVATION0(hardswish, CHEAP, CHEAP, "hardswish_cpu")
ACTIVATION0(hardsigmoid, CHEAP, CHEAP, "hardsigmoid_cpu")
ACTIVATION0(log_sigmoid, MATH, PLAIN, "log_sigmoid_cpu")

/* gelu(self, *, str approximate='none') */
PW_REAL_LOOPS_OF(MATH, PLAIN, gelu, 1, 0)
PW_REAL_LOOPS_OF(MATH, MATH, gelu_tanh, 1, 0)
static const pw_op pw_gelu = {"GeluKernelImpl", PW_SAME, {PW_REAL_ROW(gelu)}};
static const pw_op pw_gelu_tanh = {"GeluKernelImpl", PW_SAME, {PW_REAL_ROW(gelu_tanh)}};
OPERATOR(gelu) {
    const pw_op *op = NULL;
    const value *how = &args[1];
    if (how->tag != V_STR || !strcmp(how->u.str->bytes, "none")) op = &pw_gelu;
    else if (!strcmp(how->u.str->bytes, "tanh")) op = &pw_gelu_tanh;
    if (!op)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "approximate argument must be either none or tanh.");
    return pw_run(cx, args, 1, args, op, NULL, results);
}

/* log_sigmoid_forward(self) -> (Tensor output, Tensor buffer); the buffer, exp(-|self|), serves
 * gradients. */
PW_PLAIN_LOOP(1, log_sigmoid_buffer_loop, double, double, , *o = exp(-fabs(x)))
OPERATOR(log_sigmoid_forward) {
    tensor *self = args[0].u.tensor, *buffer;
    pw_operand operand;
    value wide = value_none();
    if (!pw_log_sigmoid.loops[self->dtype])
        return op_refuse_dtype(cx, pw_log_sigmoid.name, (dtype)self->dtype);
    TRY(pw_operand_init(cx, &operand, args, DT_FLOAT64));
    ctsc_status st = pw_loop(cx, args, 1, &operand, DT_FLOAT64, log_sigmoid_buffer_loop, NULL,
                             &wide);
    pw_operand_free(&operand);
    TRY(st);
    st = tensor_to_dtype(cx->diag, wide.u.tensor, (dtype)self->dtype, &buffer);
    value_unref(wide);
    TRY(st);
    st = pw_run(cx, args, 1, args, &pw_log_sigmoid, NULL, results);
    if (st == CTSC_OK) results[1] = value_tensor_take(buffer);
    else tensor_unref(buffer);
    return st;
}

/* ---- with numbers ---------------------------------------------------------------------------- */

/* leaky_relu(self, negative_slope=0.01) */
PW_REAL_LOOPS(leaky_relu, 1, 1)
static const pw_op pw_leaky_relu = {"leaky_relu_cpu", PW_SAME, {PW_REAL_ROW(leaky_relu)}};
OPERATOR(leaky_relu) {
    pw_numbers numbers;
    pw_number(&numbers, 0, &args[1]);
    return pw_run(cx, args, 1, args, &pw_leaky_relu, &numbers, results);
}

PW_REAL_LOOPS_OF(MATH, PLAIN, elu, 1, 3)
static const pw_op pw_elu = {"elu_cpu", PW_SAME, {PW_REAL_ROW(elu)}};

static ctsc_status activation_elu(op_ctx *cx, const value *args, double negative, double positive,
                                  double input, value *results) {
    pw_numbers numbers;
    pw_number_float(&numbers, 0, negative);
    pw_number_float(&numbers, 1, positive);
    pw_number_float(&numbers, 2, input);
    return pw_run(cx, args, 1, args, &pw_elu, &numbers, results);
}
/* elu(self, alpha=1, scale=1, input_scale=1) */
OPERATOR(elu) {
    double alpha = arg_float(&args[1]), scale = arg_float(&args[2]);
    return activation_elu(cx, args, alpha * scale, scale, arg_float(&args[3]), results);
}
/* Klambauer et al., "Self-Normalizing Neural Networks" (2017): scale and alpha. */
OPERATOR(selu) {
    const double alpha = 1.6732632423543772848170429916717;
    const double scale = 1.0507009873554804934193349852946;
    return activation_elu(cx, args, alpha * scale, scale, 1, results);
}
/* celu(self, alpha=1.0) */
OPERATOR(celu) {
    double alpha = arg_float(&args[1]);
    if (alpha == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return activation_elu(cx, args, alpha, 1, 1 / alpha, results);
}

/* softplus(self, beta=1, threshold=20) */
PW_REAL_LOOPS_OF(MATH, PLAIN, softplus, 1, 2)
static const pw_op pw_softplus = {"softplus_cpu", PW_SAME, {PW_REAL_ROW(softplus)}};
OPERATOR(softplus) {
    pw_numbers numbers;
    pw_number(&numbers, 0, &args[1]);
    pw_number(&numbers, 1, &args[2]);
    return pw_run(cx, args, 1, args, &pw_softplus, &numbers, results);
}

/* softshrink(self, lambd=0.5), hardshrink(self, lambd=0.5) */
PW_REAL_LOOPS(softshrink, 1, 1)
static const pw_op pw_softshrink = {"softshrink_cpu", PW_SAME, {PW_REAL_ROW(softshrink)}};
OPERATOR(softshrink) {
    const dtype dt = (dtype)args[0].u.tensor->dtype;
    const double lambda = arg_float(&args[1]),
                 most = dt == DT_FLOAT64 ? DBL_MAX : dtype_largest(dt);
    if (dtype_is_float(dt) && !(lambda >= 0 && lambda <= most)) {
        strbuf text = STRBUF_INIT;
        sb_printf(&text, "lambda must be in range [0, %g] for input dtype %s, but found %g", most,
                  dtype_table[dt].ir_name, lambda);
        ctsc_status st = diag_fail(cx->diag, CTSC_FAILED, "%s", sb_str(&text));
        sb_free(&text);
        return st;
    }
    pw_numbers numbers;
    pw_number_float(&numbers, 0, dtype_is_half(dt) ? dtype_round(dt, lambda) : lambda);
    return pw_run(cx, args, 1, args, &pw_softshrink, &numbers, results);
}
PW_REAL_LOOPS(hardshrink, 1, 1)
static const pw_op pw_hardshrink = {"hardshrink_cpu", PW_SAME, {PW_REAL_ROW(hardshrink)}};
OPERATOR(hardshrink) {
    pw_numbers numbers;
    const dtype dt = (dtype)args[0].u.tensor->dtype;
    TRY(pw_require_fits(cx, &args[1], dt));
    pw_number_float(&numbers, 0, dtype_round(dt, arg_float(&args[1])));
    return pw_run(cx, args, 1, args, &pw_hardshrink, &numbers, results);
}

/* threshold(self, threshold, value) */
PW_REAL_LOOPS(threshold, 1, 2)
PW_INT_LOOPS(threshold, 1, 2)
static const pw_op pw_threshold = {
    "threshold_cpu", PW_SAME, {PW_REAL_ROW(threshold), PW_INT_ROW(threshold)}};
OPERATOR(threshold) {
    pw_numbers numbers;
    dtype dt = (dtype)args[0].u.tensor->dtype;
    for (int k = 1; k <= 2; k++) {
        if (k == 2 || !dtype_is_half(dt)) TRY(pw_require_fits(cx, &args[k], dt));
        pw_number(&numbers, k - 1, &args[k]);
        if (k == 2 && dtype_is_half(dt)) numbers.f[k - 1] = dtype_round(dt, numbers.f[k - 1]);
    }
    return pw_run(cx, args, 1, args, &pw_threshold, &numbers, results);
}

/* hardtanh(self, min_val=-1, max_val=1), relu6(self) = hardtanh(self, 0, 6) */
PW_REAL_LOOPS(clamp, 1, 2)
PW_INT_LOOPS(clamp, 1, 2)
static const pw_op pw_hardtanh = {
    "clamp_scalar_cpu", PW_SAME, {PW_REAL_ROW(clamp), PW_INT_ROW(clamp)}};

static ctsc_status activation_hardtanh(op_ctx *cx, const value *args, const value *low,
                                       const value *high, value *results) {
    dtype dt = (dtype)args[0].u.tensor->dtype;
    if (dt == DT_BOOL)
        return diag_fail(cx->diag, CTSC_FAILED, "Bool inputs not supported for hardtanh");
    pw_numbers numbers;
    TRY(pw_clamp_bound(cx, dt, low, 0, &numbers));
    TRY(pw_clamp_bound(cx, dt, high, 1, &numbers));
    return pw_run(cx, args, 1, args, &pw_hardtanh, &numbers, results);
}
OPERATOR(hardtanh) { return activation_hardtanh(cx, args, &args[1], &args[2], results); }
OPERATOR(relu6) {
    value low = value_int(0), high = value_int(6);
    return activation_hardtanh(cx, args, &low, &high, results);
}

/* ---- two tensors ----------------------------------------------------------------------------- */

/* prelu(self, weight): one weight, or one per channel (dimension 1). */
PW_REAL_LOOPS(prelu, 2, 0)
static const pw_op pw_prelu = {"prelu_cpu", PW_SAME, {PW_REAL_ROW(prelu)}};

static ctsc_status activation_prelu_check(op_ctx *cx, const tensor *x, const tensor *weight) {
    int64_t channels = x->ndim > 1 ? x->sizes[1] : 1;
    if (weight->numel != 1 && x->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "Not allow zero-dim input tensor.");
    if (weight->numel != 1 && weight->numel != channels)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Mismatch of parameter numbers and input channel size. Found parameter "
                         "numbers = %lld and channel size = %lld.",
                         (long long)weight->numel, (long long)channels);
    if (weight->ndim > 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "prelu: Expected `weight` to be a scalar or 1D tensor, but got ndim = %d",
                         weight->ndim);
    if (weight->dtype != x->dtype)
        return diag_fail(cx->diag, CTSC_FAILED, "Found dtype %s but expected %s",
                         dtype_table[weight->dtype].ir_name, dtype_table[x->dtype].ir_name);
    return CTSC_OK;
}
OPERATOR(prelu) {
    tensor *x = args[0].u.tensor, *weight = args[1].u.tensor, *shaped;
    TRY(activation_prelu_check(cx, x, weight));
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    for (int i = 0; i < x->ndim; i++) {
        sizes[i] = i == 1 ? weight->numel : 1;
        strides[i] = i == 1 && weight->ndim ? weight->strides[0] : 0;
    }
    int ndim = x->ndim < 2 ? 0 : x->ndim;
    TRY(tensor_view_raw(cx->diag, weight, ndim, sizes, strides, weight->offset, &shaped));
    value operands[2] = {args[0], value_tensor_take(shaped)};
    ctsc_status st = pw_run(cx, args, 2, operands, &pw_prelu, NULL, results);
    tensor_unref(shaped);
    return st;
}

/* glu(self, dim=-1): the first half times the sigmoid of the second. */
PW_REAL_LOOPS_OF(MATH, MATH, glu, 2, 0)
static const pw_op pw_glu = {"glu_cpu", PW_SAME, {PW_REAL_ROW(glu)}};
OPERATOR(glu) {
    tensor *x = args[0].u.tensor, *first, *second;
    int dim;
    if (x->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "glu does not support scalars because halving size must be even");
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), x->ndim, &dim));
    int64_t size = x->sizes[dim];
    if (size % 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Halving dimension must be even, but dimension %d is size %lld", dim,
                         (long long)size);
    TRY(tensor_slice(cx->diag, x, dim, 0, size / 2, 1, &first));
    ctsc_status st = tensor_slice(cx->diag, x, dim, size / 2, size, 1, &second);
    if (st == CTSC_OK) {
        value operands[2] = {value_tensor_take(first), value_tensor_take(second)};
        st = pw_run(cx, args, 2, operands, &pw_glu, NULL, results);
        tensor_unref(second);
    }
    tensor_unref(first);
    return st;
}
