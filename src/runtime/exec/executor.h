/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.h - from a function to what runs: how much is optimised, and when.
 *
 * A function has up to three codes, made when they are first needed. Level 0 is its graph as
 * written: the reference. Level 1 is a copy of the graph with every call inlined, after the passes
 * that need no knowledge of the arguments. Level 2 has fusion groups besides (fused.h): each group
 * makes kernels for the specialisation keys that come, so nothing is specialised before it is
 * known, nothing needs a guard outside a group, and a new batch size compiles nothing. Level 3 is
 * level 2 with kernels made by the first call that can use them: which calls are native depends on
 * no clock and on no earlier call. A function whose callees do not all compile, or whose graph the
 * passes cannot handle, runs as at level 0.
 * Tests: tests/corpus at every level, tests/unit/test_steady.c, test_api.c, tests/run.py (every
 * group at every level), tests/diff
 */
#ifndef CTSC_RUNTIME_EXEC_EXECUTOR_H
#define CTSC_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/code/bytecode.h"

/* Makes sure that f->code[level] exists: level 0 translates f's graph as it is, compiling it first
 * if need be; FUNCTION_TAPED + level is the code of programs that take gradients. self: the module
 * that f is a method of, or NULL. Idempotent, thread-safe. */
ctsc_status code_ensure(function *f, int level, const object *self, diag *d);
/* A copy of f's graph as level `level` (1 or 2) runs it; the caller's. self: the module f is a
 * method of: attributes that nothing changes become constants; NULL: not known. */
ctsc_status executor_optimise(function *f, int level, const object *self, diag *d, graph **out);

#endif
