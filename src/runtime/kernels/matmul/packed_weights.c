/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_weights.c - see packed_weights.h.
 *
 * storage.derived goes from NULL through two marks to the packed weight: used
 * once, and not to be packed. The thread that packs is chosen by exchanging
 * the mark, so that no lock is held while others use the unpacked weight.
 */
#include "runtime/kernels/matmul/packed_weights.h"

#include "base/memory/pages.h"
#include "runtime/kernels/engine/kernel_settings.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/sparse/sparse_weight.h"

#ifndef CTSC_RT
#include <pthread.h>
#endif

enum { PREPACK_ALIGN = 64 };

#ifdef CTSC_RT

void *prepack_derived(storage *s, void *(*make)(const void *from), const void *from,
                      void (*release)(void *made)) {
    (void)make, (void)from;
    void *seen = atomic_load_explicit(&s->derived, memory_order_relaxed);
    return seen && s->derived_free == release ? seen : NULL;
}

void *prepack_derived_now(storage *s, void *(*make)(const void *from), const void *from,
                          void (*release)(void *made)) {
    return prepack_derived(s, make, from, release);
}

#else

static char prepack_used_once, prepack_never; /* their addresses are the marks */

void *prepack_derived(storage *s, void *(*make)(const void *from), const void *from,
                      void (*release)(void *made)) {
    void *seen = atomic_load_explicit(&s->derived, memory_order_acquire);
    if (seen == &prepack_never || atomic_load_explicit(&kernel_no_packing, memory_order_relaxed))
        return NULL;
    /* else something else is kept there */
    if (seen && seen != &prepack_used_once) return s->derived_free == release ? seen : NULL;
    if (!seen) {
        atomic_compare_exchange_strong(&s->derived, &seen, &prepack_used_once);
        return NULL;
    }
    /* another thread is at it */
    if (!atomic_compare_exchange_strong(&s->derived, &seen, &prepack_never)) return NULL;
    void *made = make(from);
    if (!made) return NULL;
    s->derived_free = release;
    atomic_store_explicit(&s->derived, made, memory_order_release);
    return made;
}

void *prepack_derived_now(storage *s, void *(*make)(const void *from), const void *from,
                          void (*release)(void *made)) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    void *seen = atomic_load_explicit(&s->derived, memory_order_acquire);
    if (!seen) {
        pthread_mutex_lock(&lock);
        seen = atomic_load_explicit(&s->derived, memory_order_acquire);
        void *made = seen ? NULL : make(from);
        if (!seen && made) s->derived_free = release;
        if (!seen)
            atomic_store_explicit(&s->derived, made ? made : &prepack_never, memory_order_release);
        if (!seen) seen = made;
        pthread_mutex_unlock(&lock);
    }
    bool made = seen && seen != &prepack_never && seen != &prepack_used_once;
    return made && s->derived_free == release ? seen : NULL;
}

#endif

void prepack_drop(const tensor *w) {
    if (w->storage->of_file) pages_drop(w->storage->data, w->storage->nbytes);
}

/* ---- as floats ------------------------------------------------------------------------------- */

void prepack_floats_free(void *derived) {
    prepack_floats *f = derived;
    tensor_unref(f->floats);
    mem_free(f);
}

static void *prepack_floats_make(const void *from) {
    tensor *w = (tensor *)from, *wide, *own = NULL;
    prepack_floats *f = mem_alloc(sizeof *f);
    if (!f || tensor_to_dtype(NULL, w, DT_FLOAT32, &wide) != CTSC_OK) {
        mem_free(f);
        return NULL;
    }
    ctsc_status st = tensor_constant(NULL, wide, &own);
    tensor_unref(wide);
    if (st != CTSC_OK) {
        mem_free(f);
        return NULL;
    }
    *f = (prepack_floats){.floats = own, .offset = w->offset, .ndim = w->ndim};
    for (int i = 0; i < w->ndim; i++) f->strides[i] = w->strides[i], f->sizes[i] = w->sizes[i];
    prepack_drop(w);
    return f;
}

ctsc_status prepack_widened(diag *d, tensor *w, tensor **out) {
    bool keeps = w->storage->constant && w->ndim <= 2 && w->numel &&
                 !atomic_load_explicit(&kernel_no_packing, memory_order_relaxed);
    const prepack_floats *f =
        keeps ? prepack_derived_now(w->storage, prepack_floats_make, w, prepack_floats_free) : NULL;
    bool same = f && f->offset == w->offset && f->ndim == w->ndim;
    for (int i = 0; same && i < w->ndim; i++)
        same = f->strides[i] == w->strides[i] && f->sizes[i] == w->sizes[i];
    if (!same) return tensor_to_dtype(d, w, DT_FLOAT32, out);
    *out = tensor_ref(f->floats);
    return CTSC_OK;
}

/* ---- panels ---------------------------------------------------------------------------------- */

void prepack_free(void *derived) {
    gemm_prepacked *b = derived;
    page_pool_free(b->memory, b->room);
    sparse_weight_free(b->sparse);
    mem_free(b);
}

/* False: out of memory. */
static bool prepack_panels(gemm_prepacked *b, const tensor *w, size_t bytes) {
    b->room = bytes + PREPACK_ALIGN;
    b->memory = page_pool_alloc(b->room);
    if (!b->memory) return false;
    b->panels = (char *)b->memory + (-(uintptr_t)b->memory & (PREPACK_ALIGN - 1));
    gemm_block_prepack(b->micro, b->n, b->k,
                       (gemm_matrix){tensor_data(w), w->strides[1], w->strides[0]}, b->panels);
    return true;
}

static void *prepack_make(const void *from) {
    const tensor *w = from;
    const gemm_micro *u = gemm_micro_best((dtype)w->dtype);
    size_t bytes;
    if (!u || !size_mul((size_t)gemm_block_prepacked_size(u, w->sizes[0], w->sizes[1]),
                        dtype_size((dtype)w->dtype), &bytes))
        return NULL;
    gemm_prepacked *b = mem_alloc(sizeof *b);
    if (!b) return NULL;
    *b = (gemm_prepacked){.micro = u,
                          .n = w->sizes[0],
                          .k = w->sizes[1],
                          .of = tensor_data(w),
                          .strides = {w->strides[0], w->strides[1]},
                          .sparse = w->dtype == DT_FLOAT32 ? sparse_weight_make(w) : NULL};
    if (!(b->sparse && sparse_weight_is_whole(b->sparse)) && !prepack_panels(b, w, bytes)) {
        prepack_free(b);
        return NULL;
    }
    prepack_drop(w);
    return b;
}

const gemm_prepacked *prepack_linear(const tensor *w) {
    const gemm_prepacked *b = w->numel == 0
                                  ? NULL
                                  : prepack_derived(w->storage, prepack_make, w, prepack_free);
    bool same = b && b->of == tensor_data(w) && b->n == w->sizes[0] && b->k == w->sizes[1] &&
                b->strides[0] == w->strides[0] && b->strides[1] == w->strides[1];
    return same ? b : NULL;
}
