/* SPDX-License-Identifier: Apache-2.0 */
/* rt_internal.h - what the files of the run-time library share. */
#ifndef CTSC_RT_RT_INTERNAL_H
#define CTSC_RT_RT_INTERNAL_H

#include "rt/rt_heap.h"
#include "rt/rt_program.h"

/* A call. Everything that it needs is in its workspace. */
typedef struct rt_state {
    rt_heap heap;
    const rt_program *program;
    const char *message;
    bool full; /* the heap could not serve a request */
} rt_state;

/* Where the calling thread's state is. Programs without thread-local variables define it
 * themselves, and the library's (rt_thread.c) is not linked. */
rt_state **ctsc_rt_current(void);

/* A failure with a message, which is borrowed. */
ctsc_status rt_say(diag *d, ctsc_status status, const char *message);

/* The group's results, or RT_UNSUPPORTED where no kernel fits and there is no fallback. */
ctsc_status rt_run_group(op_ctx *cx, const rt_group *g, const value *args, value *results);
ctsc_status rt_run_op(op_ctx *cx, const rt_op *o, int nargs, const value *args, value *results);
ctsc_status rt_run_code(op_ctx *cx, const rt_code *c, value *args_take, value *out);

#endif
