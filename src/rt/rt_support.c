/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_support.c - what operators use of the layers below them, as small as a compiled program needs
 * it: errors without texts, one thread, no limits, no devices.
 *
 * Tests: tests/aot/
 */
#include "base/map.h"
#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"
#include "base/threads/thread_steps.h"
#include "cuda/cuda.h"
#include "rt/rt_internal.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/kernel_settings.h"
#include "tensor/conjugate.h"
#include "tensor/device.h"
#include "tensor/quantiser.h"

/* ---- errors ---------------------------------------------------------------------------------- */

ctsc_status rt_fail(diag *d, ctsc_status status) {
    if (d && d->status == CTSC_OK) d->status = status;
    return status;
}
ctsc_status diag_no_memory(diag *d) { return rt_fail(d, CTSC_LIMIT); }
void diag_drop(diag *d) { *d = (diag){.max_tensor = d->max_tensor}; }

/* Texts are parts of messages. */
void sb_putc(strbuf *sb, char c) { (void)sb, (void)c; }
void sb_puts(strbuf *sb, const char *s) { (void)sb, (void)s; }
void sb_write(strbuf *sb, const char *s, size_t len) { (void)sb, (void)s, (void)len; }
void sb_free(strbuf *sb) { (void)sb; }
const char *sb_str(const strbuf *sb) { return (void)sb, ""; }
void tensor_print(const tensor *t, strbuf *out) { (void)t, (void)out; }
void value_print(value v, strbuf *out) { (void)v, (void)out; }

/* ---- one thread, no limits ------------------------------------------------------------------- */

limits *limits_current;
bool limits_met(limits *l) {
    (void)l;
    return false;
}
bool limits_take(limits *l, uint64_t steps) {
    (void)l, (void)steps;
    return true;
}
ctsc_status limits_fail(diag *d) { return rt_fail(d, CTSC_LIMIT); }

int pool_threads(void) { return 1; }
void *pool_scratch_take(void) { return NULL; }
void pool_scratch_give(void *scratch) { (void)scratch; }

bool pool_for_limited(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
                      void *ctx) {
    if (n <= 0) return true;
    int64_t chunk = pool_chunk_size(n, grain);
    for (int64_t begin = 0; begin < n; begin += chunk)
        fn(ctx, begin, n - begin < chunk ? n : begin + chunk);
    return true;
}
bool pool_steps(int64_t steps, int64_t chunks, void (*fn)(void *ctx, int64_t step, int64_t chunk),
                void *ctx) {
    for (int64_t s = 0; s < steps; s++)
        for (int64_t c = 0; c < chunks; c++) fn(ctx, s, c);
    return true;
}
void pool_for(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
              void *ctx) {
    pool_for_limited(n, grain, fn, ctx);
}

atomic_bool kernel_no_winograd, kernel_no_packing, kernel_tunes;

/* ---- no devices, no other kinds of tensors --------------------------------------------------- */

const device_functions *device_host;

ctsc_status tensor_to_device(diag *d, tensor *t, int device, tensor **out) {
    if (device != DEVICE_HOST) return rt_fail(d, CTSC_UNSUPPORTED);
    *out = tensor_ref(t);
    return CTSC_OK;
}
ctsc_status tensor_new_on(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                          tensor **out) {
    return device != DEVICE_HOST ? rt_fail(d, CTSC_UNSUPPORTED)
                                 : tensor_new(d, dt, ndim, sizes, out);
}
ctsc_status tensor_zeros_on(diag *d, int device, dtype dt, int ndim, const int64_t *sizes,
                            tensor **out) {
    return device != DEVICE_HOST ? rt_fail(d, CTSC_UNSUPPORTED)
                                 : tensor_zeros(d, dt, ndim, sizes, out);
}
ctsc_status device_alloc(diag *d, int device, size_t nbytes, storage **out) {
    return (void)device, (void)nbytes, (void)out, rt_fail(d, CTSC_UNSUPPORTED);
}
ctsc_status device_copy(diag *d, tensor *dst, const tensor *src) {
    return (void)dst, (void)src, rt_fail(d, CTSC_UNSUPPORTED);
}
ctsc_status cuda_alloc(cuda *c, diag *d, size_t size, void **out) {
    return (void)c, (void)size, (void)out, rt_fail(d, CTSC_UNSUPPORTED);
}
ctsc_status cuda_zero(cuda *c, diag *d, void *p, size_t size) {
    return (void)c, (void)p, (void)size, rt_fail(d, CTSC_UNSUPPORTED);
}
void cuda_free(cuda *c, void *p) { (void)c, (void)p; }
ctsc_status storage_copy_bytes(diag *d, storage *dst, storage *src) {
    (void)d;
    memcpy(dst->data, src->data, dst->nbytes < src->nbytes ? dst->nbytes : src->nbytes);
    return CTSC_OK;
}
ctsc_status device_parse(diag *d, const char *text, size_t len, int64_t *out) {
    (void)text, (void)len, (void)out;
    return rt_fail(d, CTSC_UNSUPPORTED);
}

quantiser *quantiser_ref(quantiser *q) { return q; }
void quantiser_unref(quantiser *q) { (void)q; }
void tensor_set_quantiser_take(tensor *t, quantiser *q) { (void)t, (void)q; }

/* ---- hashes of dicts ------------------------------------------------------------------------- */

uint64_t hash_u64(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    return x ^ x >> 33;
}
uint64_t hash_bytes(const void *p, size_t len) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++) h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3u;
    return h;
}
