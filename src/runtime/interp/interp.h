/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interp.h - runs functions: graph -> register bytecode -> result.
 *
 * A function's graph is compiled to bytecode once (function->code); the code is immutable and
 * shared by threads. Each call gets a frame of registers on the interpreter's stack. Control flow
 * and scalars allocate nothing; a register's last use moves its value instead of copying it.
 * Tests: tests/unit/test_interp.c, tests/corpus
 */
#ifndef CTSC_RUNTIME_INTERP_INTERP_H
#define CTSC_RUNTIME_INTERP_INTERP_H

#include "runtime/code/bytecode.h"
#include "runtime/context/runtime.h"

/* Calls f. args: as many as the schema has arguments (self first, for methods), borrowed, of the
 * right types (interp_check_args makes sure for calls from outside). *out: the result, owned by the
 * caller. A raised exception is CTSC_FAILED with d->exception set, the place, and the chain of
 * calls as frames. */
ctsc_status interp_call(runtime *rt, function *f, int nargs, const value *args, diag *d,
                        value *out);
/* The same with arguments whose references are taken, also on failure. */
ctsc_status interp_call_take(runtime *rt, function *f, int nargs, value *args, diag *d, value *out);
/* Runs c, of whatever it was made, with n borrowed arguments. */
ctsc_status interp_call_code(runtime *rt, const code *c, int n, const value *args, diag *d,
                             value *out);
/* From inside an operator: calls a method of a script class (cx->interp). */
ctsc_status interp_call_from_op(op_ctx *cx, function *f, int nargs, const value *args, value *out);
/* Are all arguments given, and are they what f takes as they are? False may also mean that finding
 * out takes longer: interp_check_args knows. */
bool interp_args_fit(const function *f, int nargs, const value *args);
/* Fills in defaults and checks args against f's schema. full: room for schema->nargs values, each a
 * new reference; on failure none is. */
ctsc_status interp_check_args(const function *f, int nargs, const value *args, diag *d,
                              value *full);

/* What aten::wait gives: the result, a new reference, or the error, of a future that no frame still
 * has a body of. Blocks until it is there. */
ctsc_status future_result(const future *fu, value *out, diag *d);

#endif
