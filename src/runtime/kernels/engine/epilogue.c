/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.c - what a product or a convolution does to its result besides (epilogue.h): with
 * micro-kernels, and as operators of their own where no kernel does it.
 * Tests: tests/unit/test_cuda_dense.c, tests/unit/test_epilogue.c
 */
#include "runtime/kernels/engine/epilogue.h"

#include "base/minmax.h"
#include "cpu/ukernel.h"
#include "runtime/kernels/engine/wide.h"

#include <math.h>
#include <string.h>

static const struct epilogue_name { const char *name, *op, *approximate; } epilogue_names[] = {
    [DENSE_PLAIN] = {"none", NULL, NULL},
    [DENSE_RELU] = {"relu", "aten::relu", NULL},
    [DENSE_GELU] = {"gelu", "aten::gelu", "none"},
    [DENSE_GELU_TANH] = {"gelu_tanh", "aten::gelu", "tanh"},
    [DENSE_RELU6] = {"relu6", "aten::relu6", NULL},
    [DENSE_HARDSIGMOID] = {"hardsigmoid", "aten::hardsigmoid", NULL},
    [DENSE_HARDSWISH] = {"hardswish", "aten::hardswish", NULL},
    [DENSE_SIGMOID] = {"sigmoid", "aten::sigmoid", NULL},
    [DENSE_SILU] = {"silu", "aten::silu", NULL},
};

dense_epilogue epilogue_of(const void *bias, const epilogue *e) {
    if (!e) return (dense_epilogue){.bias = bias};
    return (dense_epilogue){.bias = bias,
                            .other = e->other ? tensor_data(e->other) : NULL,
                            .activation = e->activation};
}

ctsc_status epilogue_read(op_ctx *cx, const value *other, const value *activation, epilogue *out) {
    for (size_t i = 0; i < sizeof epilogue_names / sizeof *epilogue_names; i++)
        if (!strcmp(epilogue_names[i].name, activation->u.str->bytes)) {
            *out = (epilogue){.other = arg_tensor_or_null(other),
                              .activation = (enum dense_activation)i};
            return CTSC_OK;
        }
    return diag_fail(cx->diag, CTSC_FAILED, "%s: there is no activation '%s'", cx->op->key,
                     activation->u.str->bytes);
}

static bool epilogue_other_fits(const tensor *o, const tensor *result) {
    return !o || (o->dtype == result->dtype && tensor_same_shape(o, result) &&
                  tensor_is_contiguous(o) && tensor_device(o) == tensor_device(result));
}

bool epilogue_fits(const epilogue *e, const tensor *result) {
    if (!e || tensor_device(result) == DEVICE_HOST || e->activation > DENSE_GELU_TANH ||
        !dtype_is_float((dtype)result->dtype))
        return false;
    return epilogue_other_fits(e->other, result);
}

bool epilogue_fits_host(const epilogue *e, const tensor *result) {
    return e && tensor_device(result) == DEVICE_HOST && result->dtype == DT_FLOAT32 &&
           epilogue_other_fits(e->other, result);
}

bool epilogue_fits_half(const epilogue *e, const tensor *result) {
    return e && tensor_device(result) == DEVICE_HOST && dtype_is_half((dtype)result->dtype) &&
           epilogue_other_fits(e->other, result);
}

/* *t = op(*t, ...); args[0] is *t. */
static ctsc_status epilogue_call(op_ctx *cx, const char *op, int nargs, const value *args,
                                 tensor **t) {
    value result = value_none();
    TRY(op_call(cx, op, nargs, args, &result));
    tensor_unref(*t);
    *t = result.u.tensor;
    return CTSC_OK;
}

static ctsc_status epilogue_activate(op_ctx *cx, const struct epilogue_name *row, tensor **t) {
    value args[2] = {value_tensor_take(*t), value_none()};
    if (!row->op) return CTSC_OK;
    if (!row->approximate) return epilogue_call(cx, row->op, 1, args, t);
    str *approximate = str_new(row->approximate, strlen(row->approximate));
    if (!approximate) return diag_no_memory(cx->diag);
    args[1] = value_str_take(approximate);
    ctsc_status st = epilogue_call(cx, row->op, 2, args, t);
    value_unref(args[1]);
    return st;
}

ctsc_status epilogue_finish(op_ctx *cx, const epilogue *e, tensor *t, value *results) {
    ctsc_status st = CTSC_OK;
    if (!e->done && e->other) {
        value args[3] = {value_tensor_take(t), value_tensor_take(e->other), value_int(1)};
        st = epilogue_call(cx, e->written ? "aten::add_.Tensor" : "aten::add.Tensor", 3, args, &t);
    }
    if (st == CTSC_OK && !e->done) st = epilogue_activate(cx, &epilogue_names[e->activation], &t);
    if (st == CTSC_OK) return op_return_tensor(results, t);
    tensor_unref(t);
    return st;
}

/* ---- on the host, floats --------------------------------------------------------------------- */

void activation_apply(enum dense_activation a, float *rows, int64_t n) {
    if (a != DENSE_PLAIN) ukernel_activation()->apply(a, rows, n);
}

void epilogue_rows(const dense_epilogue *e, float *rows, int64_t at, int64_t n) {
    if (e->other) ukernel_activation()->add(rows, epilogue_other(e, at), n);
    activation_apply((enum dense_activation)e->activation, rows, n);
}

void epilogue_halves(const dense_epilogue *e, dtype dt, float *rows, int64_t at, int64_t n,
                     void *out) {
    enum { SOME = 1024, SIZE = sizeof(bfloat16) };
    float low = -INFINITY, high = INFINITY;
    enum dense_activation a = (enum dense_activation)e->activation;
    /* a bound that is a number of 16 bits may be put before or after rounding */
    bool bounds = activation_bounds(a, &low, &high);
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t some = int64_min(SOME, n - i);
        const void *other = e->other ? (const char *)e->other + (at + i) * SIZE : NULL;
        bfloat16 *to = (bfloat16 *)out + i;
        if (bounds && dt == DT_BFLOAT16) {
            bfloat16_rows_from_floats(rows + i, 0, other, to, 0, 1, some, low, high);
            continue;
        }
        if (other || !bounds) halves_settle(dt, rows + i, other, !bounds, some);
        activation_apply(a, rows + i, some);
        floats_to_halves(dt, rows + i, to, some);
    }
}

bool activation_bounds(enum dense_activation a, float *low, float *high) {
    if (a != DENSE_PLAIN && a != DENSE_RELU && a != DENSE_RELU6) return false;
    *low = a == DENSE_PLAIN ? -INFINITY : 0.0f;
    *high = a == DENSE_RELU6 ? 6.0f : INFINITY;
    return true;
}
