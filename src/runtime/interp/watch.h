/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - observers of a program, instruction by instruction: a profile
 * (observe/profile.h), or the recording of a call on a device (cuda/record.h).
 *
 * A call has one watch at most (runtime.watch). The interpreter asks once per instruction with a
 * site whether there is one; it knows nothing else of it. A watch begins with this struct.
 */
#ifndef CTSC_RUNTIME_INTERP_WATCH_H
#define CTSC_RUNTIME_INTERP_WATCH_H

#include "runtime/interp/interp_internal.h"

typedef struct watch watch;

typedef struct watch_functions {
    /* What the interpreter does instead of fn(f, s) for instruction i, whose site is s. */
    ctsc_status (*site)(watch *w, frame *f, const instr *i, site_fn fn);
    /* From operators and kernels that ran, before their arguments are released, where `site` chose
     * bc_call_op_watched or bc_fused_watched; else NULL. native: a kernel ran, not the operators
     * one by one. */
    void (*operator)(watch *w, const op *o, int nargs, const value *args, int nresults,
                     const value *results);
    void (*kernel)(watch *w, interp *in, const site *s, value *args, const value *results,
                   bool native);
    /* Around work that is not an instruction, "(compiling kernels)"; pause gives what resume takes.
     * NULL: it does not matter. */
    uint64_t (*pause)(const watch *w);
    void (*resume)(watch *w, uint64_t since, const char *what);
} watch_functions;

struct watch { const watch_functions *fn; };

/* w may be NULL. */
static inline uint64_t watch_pause(const watch *w) {
    return w && w->fn->pause ? w->fn->pause(w) : 0;
}
static inline void watch_resume(watch *w, uint64_t since, const char *what) {
    if (w && w->fn->resume) w->fn->resume(w, since, what);
}

#endif
