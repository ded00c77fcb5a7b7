/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - binds the rows of the operator tables (src/ir/op/ops.def) to their functions.
 */
#include "ir/op/op.h"

#define OP(key, fn, flags) ctsc_status fn(op_ctx *cx, const value *args, value *results);
#define QUANTISED(key, fn) ctsc_status fn(op_ctx *cx, const value *args, value *results);
#define COMPOSITE(key, flags)
#define OP_SPECIAL_ROW(key, flags)
#include "ir/op/ops.def"
#include "ir/ops/quantised_tensors.def"
#undef OP
#undef QUANTISED
#undef COMPOSITE
#undef OP_SPECIAL_ROW

static const op_binding builtin_rows[] = {
#define OP(key, fn, flags) {fn, flags},
#define COMPOSITE(key, flags) {op_composite, (flags) | OP_COMPOSITE},
#define OP_SPECIAL_ROW(key, flags) {NULL, (flags) | OP_SPECIAL},
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
};
static const char builtin_keys[] =
#define OP(key, fn, flags) key "\0"
#define COMPOSITE(key, flags) key "\0"
#define OP_SPECIAL_ROW(key, flags) key "\0"
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
    ;

static const op_binding quantised_rows[] = {
#define QUANTISED(key, fn) {fn, 0},
#include "ir/ops/quantised_tensors.def"
#undef QUANTISED
};
static const char quantised_keys[] =
#define QUANTISED(key, fn) key "\0"
#include "ir/ops/quantised_tensors.def"
#undef QUANTISED
    ;

static const op_bindings builtin_bindings = {builtin_keys, builtin_rows}, quantised_bindings = {quantised_keys, quantised_rows};
const op_bindings *op_builtin_bindings = &builtin_bindings;
const op_bindings *op_quantised_bindings = &quantised_bindings;
