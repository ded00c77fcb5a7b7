/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused_internal.h - a fusion group at run time,
 * for the files that each do one thing with it:
 *
 *     fused.c            its life, and a call: which of the ways below it takes
 *     fused_keys.c       the specialisation cache: keys seen, kernels made, which of them fits
 *     fused_compile.c    when a kernel is made, and what waits for it
 *     fused_launch.c     a kernel is given its buffers and numbers, and runs
 *     fused_fallback.c   the operators instead: in smaller groups, or one by one
 *     fused_device.c     tensors that are on a device
 */
#ifndef CTSC_RUNTIME_EXEC_FUSED_INTERNAL_H
#define CTSC_RUNTIME_EXEC_FUSED_INTERNAL_H

#include "codegen/cache/cache.h"
#include "codegen/lower/group.h"
#include "runtime/cuda/launch.h"
#include "runtime/exec/fused.h"
#include "runtime/interp/interp_internal.h"

#include <pthread.h>

enum { FUSED_MAX_KEYS = 16, FUSED_MAX_SLOTS = 256 };

typedef struct fused_kernel {
    const group_plan *plan;
    const kernel *kernel;
    int key_at;
    atomic_bool negative; /* it has failed, which has been said */
    /* Does the plan write to arguments, need scratch buffers, give numbers? Most do not. */
    bool writes, scratch, scalars;
    struct fused_kernel *_Atomic next;
} fused_kernel;

/* A specialisation key that was seen (group_key); negative: there is no kernel for it. */
typedef struct fused_key {
    uint64_t key;
    atomic_bool negative;
} fused_key;

typedef struct fused {
    code_group group; /* what code knows of it */
    graph *g;
    code *fallback;
    /* The same in smaller groups, once there was no kernel for one key; NULL: no such thing. */
    code *_Atomic split;
    bool has_loop;
    cuda_group *_Atomic on_device; /* for tensors that are on one; NULL: there was none yet */
    fused_kernel *_Atomic first;
    pthread_mutex_t lock; /* of what follows */
    arena arena;          /* plans */
    int nkernels;
    bool tried_split;
    graph *parts; /* of split */
    /* No more kernels are made. This and the keys are written under the lock, and read without. */
    atomic_bool closed;
    atomic_int nkeys;
    fused_key keys[FUSED_MAX_KEYS];
} fused;

/* ---- the cache (fused_keys.c) ---------------------------------------------------------------- */

/* Is it known that there will be no kernel for these arguments? Looked at in every call that finds
 * none, and so without a lock. */
bool fused_is_negative(const fused *f, const value *args);
/* Is a kernel to be made for these arguments now? Counts the call. Under the lock. */
bool fused_wants_key(fused *f, const value *args, int opt, int *key_at);
/* The kernel whose guards hold, and its plan's slots for these arguments; NULL: there is none. */
static inline fused_kernel *fused_find(const fused *f, const value *args, int64_t *slots) {
    for (fused_kernel *k = atomic_load_explicit(&f->first, memory_order_acquire); k;
         k = atomic_load_explicit(&k->next, memory_order_acquire))
        if (plan_guards_hold(k->plan, args, slots)) return k;
    return NULL;
}
/* Adds a kernel, the last one to be looked at. Under the lock. */
void fused_publish(fused *f, fused_kernel *made);

/* ---- compiling (fused_compile.c) ------------------------------------------------------------- */

/* Called when no kernel fits: one more, if it is time for it. Another thread may have made it
 * meanwhile. */
fused_kernel *fused_add(fused *f, interp *in, const value *args, int64_t *slots);
/* k, or NULL if it is in the making, or has failed. */
const fused_kernel *fused_await(fused *f, interp *in, fused_kernel *k);

/* ---- launching (fused_launch.c) -------------------------------------------------------------- */

/* *fits: false if the kernel found that it is not for these arguments; nothing
 * has happened then. */
ctsc_status fused_launch(const fused *f, const fused_kernel *k, const int64_t *slots,
                         const value *args, const interp *in, value *results, bool *fits);
void fused_drop(const fused *f, value *results);

/* ---- without a kernel (fused_fallback.c), on a device (fused_device.c) ----------------------- */

/* The group's operators one by one, or in smaller groups. */
ctsc_status fused_interpret(fused *f, interp *in, const value *args, value *results);
/* What no kernel does as a whole may go in parts: makes them, once. Under the lock. */
void fused_make_split(fused *f);
/* There will be no kernel for this key. Under the lock. */
void fused_give_up(fused *f, int key_at, diag *d);
ctsc_status fused_run_on_device(fused *f, interp *in, const value *args, value *results,
                                bool *native);

#endif
