/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assert.c - operators that check something and have no result: what exported programs say of their inputs.
 * Tests: tests/unit/test_recent.c
 */
#include "runtime/kernels/engine/kernel.h"

#include <inttypes.h>

static ctsc_status assert_failed(op_ctx *cx, const value *args) {
    bool message = cx->op->schema->nargs > 1;
    return diag_fail(cx->diag, CTSC_FAILED, "%s", message ? args[1].u.str->bytes : "Expected Tensor with single nonzero value, but got zero");
}

/* (self[, message]) */
ctsc_status op_assert_async(op_ctx *cx, const value *args, value *results) {
    value truth = value_none();
    (void)results;
    TRY(op_call(cx, "aten::Bool.Tensor", 1, args, &truth));
    return truth.u.b ? CTSC_OK : assert_failed(cx, args);
}

ctsc_status op_assert_scalar(op_ctx *cx, const value *args, value *results) {
    (void)results;
    bool truth = args[0].tag == V_BOOL ? args[0].u.b : arg_float(&args[0]) != 0;
    return truth ? CTSC_OK : assert_failed(cx, args);
}

static ctsc_status constrain(op_ctx *cx, const value *args, int64_t low) {
    int64_t size = arg_int(&args[0]), min = arg_int_or(&args[1], low), max = arg_int_or(&args[2], INT64_MAX);
    if (max < min)
        return diag_fail(cx->diag, CTSC_FAILED, "Max must be greater than or equal to min. Got min=%" PRId64 " max=%" PRId64, min, max);
    if (size >= min && size <= max) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "Invalid value range for %" PRId64 " between [%" PRId64 ", %" PRId64 "].", size, min, max);
}

/* (size, min, max) */
ctsc_status op_constrain_range(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return constrain(cx, args, INT64_MIN);
}

ctsc_status op_constrain_size(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return constrain(cx, args, 0);
}
