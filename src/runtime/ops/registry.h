/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - callbacks of this folder for lower layers (ir/op/op.h, op_host), for its neighbours.
 */
#ifndef CTSC_RUNTIME_OPS_REGISTRY_H
#define CTSC_RUNTIME_OPS_REGISTRY_H

#include "ir/op/op.h"

/* Functions of derived overloads (derived.c). */
ctsc_status op_derived_write(op_ctx *cx, const value *args, value *results);
ctsc_status op_derived_copy(op_ctx *cx, const value *args, value *results);
/* Function of OP_COMPOSITE overloads, and what it runs (composite.c): op_host.composite_body. */
ctsc_status op_composite(op_ctx *cx, const value *args, value *results);
struct function *op_composite_body(const op *o, diag *d);
/* op_host.derivative and library_function. */
const char *composite_derivative(const char *key, int i);
struct function *composite_library_function(const char *name, diag *d);
/* op_host.written_body */
struct function *op_written_body(const op *o, const char *prefix, diag *d);

/* Registers with the layers below what they ask of this one: op_host, code_host, device_host,
 * on_device. Runs before main or when the library is opened; every file of the public interface
 * mentions it (runtime/api/api.h), so that a program linked with libctsc.a has it. */
void registry_install(void) __attribute__((constructor));

#endif
