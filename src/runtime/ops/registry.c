/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - binds the rows of the operator tables (src/ir/op/ops.def) to their functions, and
 * registers with the layers below what they ask of the runtime.
 * Tests: tests/unit/test_ops.c
 */
#include "runtime/ops/registry.h"

#include "ir/native.h"
#include "runtime/autograd/autograd.h"
#include "runtime/cuda/dense.h"
#include "runtime/cuda/dispatch.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/fused.h"
#include "runtime/interp/interp.h"
#include "runtime/names/names.h"
#include "runtime/program/native_classes.h"

#define OP(key, fn, ...) ctsc_status fn(op_ctx *cx, const value *args, value *results);
#define QUANTISED(key, fn) ctsc_status fn(op_ctx *cx, const value *args, value *results);
#define COMPOSITE(key, ...)
#define OP_SPECIAL_ROW(key, ...)
#include "ir/op/ops.def"
#include "ir/ops/quantised_tensors.def"
#undef OP
#undef QUANTISED
#undef COMPOSITE
#undef OP_SPECIAL_ROW

static const op_fn builtin_functions[] = {
#define OP(key, fn, ...) fn,
#define COMPOSITE(key, ...) op_composite,
#define OP_SPECIAL_ROW(key, ...) NULL,
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
};
static const op_traits builtin_traits[] = {
#define OP(key, fn, ...) {__VA_ARGS__},
#define COMPOSITE(key, ...) {__VA_ARGS__, OP_COMPOSITE},
#define OP_SPECIAL_ROW(key, ...) {__VA_ARGS__, OP_SPECIAL},
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
};
static const char builtin_keys[] =
#define OP(key, fn, ...) key "\0"
#define COMPOSITE(key, ...) key "\0"
#define OP_SPECIAL_ROW(key, ...) key "\0"
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW
    ;

static const op_fn quantised_functions[] = {
#define QUANTISED(key, fn) fn,
#include "ir/ops/quantised_tensors.def"
#undef QUANTISED
};
static const char quantised_keys[] =
#define QUANTISED(key, fn) key "\0"
#include "ir/ops/quantised_tensors.def"
#undef QUANTISED
    ;

static const op_host host = {
    .builtin = {builtin_keys, builtin_functions, builtin_traits},
    .quantised = {quantised_keys, quantised_functions, NULL},
    .derived_write = op_derived_write,
    .derived_copy = op_derived_copy,
    .composite = op_composite,
    .on_device = op_on_device,
    .with_names = names_function,
    .by_name = op_by_name,
    .composite_body = op_composite_body,
    .derivative = composite_derivative,
    .library_function = composite_library_function,
    .written_body = op_written_body,
    .call = interp_call_from_op,
};

static const code_host for_code = {
    .ensure = code_ensure, .group_new = fused_new, .call_taped = tape_call_site};

void registry_install(void) {
    op_host_installed = &host;
    native_class = native_class_find;
    code_host_installed = &for_code;
    device_host = &cuda_device_functions;
    on_device = &cuda_kernels;
}
