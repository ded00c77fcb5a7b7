/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - binds the rows of the operator tables (src/ir/ops.def) to their functions.
 */
#include "ir/op.h"

#define OP(key, fn, flags) ctsc_status fn(op_ctx *cx, const value *args, value *results);
#define QUANTISED(key, fn) ctsc_status fn(op_ctx *cx, const value *args, value *results);
#define COMPOSITE(key, flags)
#define OP_SPECIAL_ROW(key, flags)
#include "ir/ops.def"
#include "ir/ops/quantised_tensors.def"
#undef OP
#undef QUANTISED
#undef COMPOSITE
#undef OP_SPECIAL_ROW

static const op_binding builtin_bindings[] = {
#define OP(key, fn, flags) {key, fn, flags},
#define COMPOSITE(key, flags) {key, op_composite, (flags) | OP_COMPOSITE},
#define OP_SPECIAL_ROW(key, flags) {key, NULL, (flags) | OP_SPECIAL},
#include "ir/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
    {NULL, NULL, 0},
};

static const op_binding quantised_bindings[] = {
#define QUANTISED(key, fn) {key, fn, 0},
#include "ir/ops/quantised_tensors.def"
#undef QUANTISED
    {NULL, NULL, 0},
};

const op_binding *op_builtin_bindings = builtin_bindings;
const op_binding *op_quantised_bindings = quantised_bindings;
