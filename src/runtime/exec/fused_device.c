/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused_device.c - a fusion group whose tensors are on a device.
 *
 * Tests: tests/cuda, tests/unit/test_cuda_tensor.c
 */
#include "runtime/exec/fused_internal.h"

static ctsc_status fused_device_group(fused *f, diag *d, cuda_group **out) {
    ctsc_status s = CTSC_OK;
    if ((*out = atomic_load_explicit(&f->on_device, memory_order_acquire))) return s;
    pthread_mutex_lock(&f->lock);
    *out = atomic_load_explicit(&f->on_device, memory_order_relaxed);
    if (!*out) s = cuda_group_new(d, f->g, f->fallback->name, out);
    if (s == CTSC_OK) atomic_store_explicit(&f->on_device, *out, memory_order_release);
    pthread_mutex_unlock(&f->lock);
    return s;
}

static struct { atomic_llong native, interpreted; } fused_device_counts;

fused_device_stats fused_get_device_stats(void) {
    return (fused_device_stats){fused_device_counts.native, fused_device_counts.interpreted};
}

/* Loops wait for what they read, so that a device has nothing to give them. */
ctsc_status fused_run_on_device(fused *f, interp *in, const value *args, value *results,
                                bool *native) {
    cuda_group *group;
    *native = false;
    if (!f->has_loop && cuda_group_device(f->group.nparams, args) != DEVICE_META) {
        TRY(fused_device_group(f, in->d, &group));
        TRY(cuda_group_run(group, in->d, args, results, native));
    }
    atomic_fetch_add_explicit(*native ? &fused_device_counts.native
                                      : &fused_device_counts.interpreted,
                              1, memory_order_relaxed);
    if (*native) return CTSC_OK;
    if (f->has_loop) return fused_interpret(f, in, args, results);
    pthread_mutex_lock(&f->lock);
    fused_make_split(f);
    pthread_mutex_unlock(&f->lock);
    return fused_interpret(f, in, args, results);
}
