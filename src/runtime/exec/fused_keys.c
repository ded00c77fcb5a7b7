/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused_keys.c - the specialisation cache of a fusion group: which keys were seen,
 * which kernels made.
 *
 * A key is all that the lowering may look at in arguments but their sizes (group_key). One key may
 * have several kernels, whose guards differ (plan_guards_hold). There are at most FUSED_MAX_KEYS
 * keys and FUSED_MAX_KERNELS kernels; when there would be more, no more kernels are made.
 * Tests: tests/unit/test_steady.c, test_background.c
 */
#include "runtime/exec/fused_internal.h"

/* The index of a key among those seen; -1: it is new. */
static int fused_key_at(const fused *f, uint64_t key) {
    int n = atomic_load_explicit(&f->nkeys, memory_order_acquire);
    for (int i = 0; i < n; i++)
        if (f->keys[i].key == key) return i;
    return -1;
}

bool fused_is_negative(const fused *f, const value *args) {
    if (atomic_load_explicit(&f->closed, memory_order_relaxed)) return true;
    if (!atomic_load_explicit(&f->nkeys, memory_order_relaxed)) return false;
    int at = fused_key_at(f, group_key(f->group.nparams, args));
    return at >= 0 && atomic_load_explicit(&f->keys[at].negative, memory_order_relaxed);
}

bool fused_wants_key(fused *f, const value *args, int opt, int *key_at) {
    if (fused_is_negative(f, args)) return false;
    uint64_t key = group_key(f->group.nparams, args);
    if ((*key_at = fused_key_at(f, key)) >= 0) return true;
    int n = atomic_load_explicit(&f->nkeys, memory_order_relaxed);
    if (n == FUSED_MAX_KEYS) {
        atomic_store_explicit(&f->closed, true, memory_order_relaxed);
        return false;
    }
    f->keys[n].key = key;
    atomic_store_explicit(&f->nkeys, n + 1, memory_order_release);
    *key_at = n;
    return opt >= 3 || f->has_loop;
}

void fused_publish(fused *f, fused_kernel *made) {
    fused_kernel *_Atomic *at = &f->first;
    for (fused_kernel *x; (x = atomic_load_explicit(at, memory_order_relaxed));) at = &x->next;
    atomic_store_explicit(at, made, memory_order_release);
    if (++f->nkernels == FUSED_MAX_KERNELS)
        atomic_store_explicit(&f->closed, true, memory_order_relaxed);
}
