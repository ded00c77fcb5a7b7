/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_program.h - calls that take gradients, as optimised programs without a tape.
 *
 * Method. The calls of a function that takes gradients are distinguished by the signature of
 * their arguments (runtime/context/signature.h) and the state of the module (its attributes).
 * The second call of a kind is captured while it runs (grad_capture.h: its operators, and
 * those of its backward passes, in one graph); that graph goes through the usual passes, is
 * fused, and is what later calls of the kind run. Calls that cannot be captured keep running
 * as taped code. At level 3 the first call is captured, at 0 and 1 none. A function has at
 * most PROGRAM_MAX programs: one with other sizes in each call runs taped.
 *
 * A caller that continues to differentiate (runtime.grad_requested) gets results with a history:
 * such calls are a pair of programs (grad_pair.h).
 * Threads: programs are made under a lock and not changed after that.
 * Tests: tests/corpus/grad at every level, tests/autograd
 */
#ifndef CTSC_RUNTIME_AUTOGRAD_GRAD_PROGRAM_H
#define CTSC_RUNTIME_AUTOGRAD_GRAD_PROGRAM_H

#include "runtime/context/signature.h"
#include "runtime/interp/interp.h"

enum { PROGRAM_MAX = 16 };

/* Optimises g, which is taken, also on failure, and makes code of it. device: where the tensors
 * are that it works on. */
ctsc_status program_compile(const char *name, graph *g, int device, diag *d, struct code **out);
/* The state of the module that is the first of a call's arguments, if one is; false: it has
 * something that could change without being seen. */
bool program_state(int n, const value *args, uint64_t *out);

/* What a call like this one runs by now. Everything is borrowed: from the function's code, and from
 * args. */
typedef struct program_view {
    const graph *forward;  /* NULL: it runs as taped code */
    const graph *backward; /* of its gradients; NULL: its results have no history */
    int ntensors;          /* the first parameters of both: the arguments' tensors, */
    tensor *tensors[SIGNATURE_TENSORS];
    size_t nexternals; /* and what the call finds elsewhere */
    tensor *const *externals;
} program_view;
/* As of a call with these arguments; false: calls like this one are no program. */
bool program_seen(const runtime *rt, const function *f, int n, const value *args,
                  program_view *out);

/* Calls f with n arguments (all of them, of the right types), which are taken, also on failure.
 * rt->taped is set. */
ctsc_status program_call(runtime *rt, function *f, int n, value *args_take, diag *d, value *out);

#endif
