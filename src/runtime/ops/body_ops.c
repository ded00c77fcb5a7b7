/* SPDX-License-Identifier: Apache-2.0 */
/*
 * body_ops.c - operators for the TorchScript that others are written in (composite.c).
 * Tests: tests/unit/test_composite.c
 */
#include "cpu/isa.h"
#include "runtime/kernels/engine/kernel.h"

#include <string.h>

/* ctsc::fail(message): how a body refuses its arguments. */
ctsc_status op_fail(op_ctx *cx, const value *args, value *results);
ctsc_status op_fail(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return diag_fail(cx->diag, CTSC_FAILED, "%s", args[0].u.str->bytes);
}

/* ctsc::float_lanes(): how many floats PyTorch's vectors have on this processor;
 * 0: it uses none. */
ctsc_status op_float_lanes(op_ctx *cx, const value *args, value *results);
ctsc_status op_float_lanes(op_ctx *cx, const value *args, value *results) {
    int lanes = isa_table[isa_best()].lanes;
    (void)cx, (void)args;
    *results = value_int(lanes > isa_table[ISA_SSE2].lanes ? lanes : 0);
    return CTSC_OK;
}

/* ctsc::type_name(t): "Float", as messages name dtypes. */
ctsc_status op_type_name(op_ctx *cx, const value *args, value *results);
ctsc_status op_type_name(op_ctx *cx, const value *args, value *results) {
    const char *name = dtype_table[args[0].u.tensor->dtype].ir_name;
    str *s = str_new(name, strlen(name));
    if (!s) return diag_no_memory(cx->diag);
    return op_return(results, value_str_take(s));
}
