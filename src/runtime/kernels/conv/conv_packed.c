/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_packed.c - see conv_packed.h.
 *
 * storage.derived goes from NULL to a mark while one thread packs, so that no lock is held; the others do without meanwhile.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_packed.h"

#include "base/pages.h"
#include "runtime/kernels/matmul/gemm_block.h"

#include <string.h>

enum { PACKED_ALIGN = 64, PACKED_WASTE = 16, PACKED_CHANNELS = 16 };
static char packed_busy; /* its address is the mark */

static void packed_free(void *derived) {
    conv_packed *p = derived;
    if (!p || derived == &packed_busy) return;
    mem_free(p->memory);
    mem_free(p);
}

/* The smallest number of groups that fills a vector of outputs; as many zeros are multiplied for each weight. */
int64_t conv_packed_set(const conv_shape *s) {
    int64_t out = s->out_channels / s->groups;
    for (int64_t n = 1; n <= s->groups && n <= PACKED_WASTE; n++)
        if (s->groups % n == 0 && (n * out >= PACKED_CHANNELS || n == s->groups)) return n;
    return 0;
}

/* Lane `lane` of a panel gets the weights from w of one output, [in][taps], for input channels [c, end) of its group; first: its group's first channel. */
static void packed_lane(const conv_packed *p, const float *w, int64_t first, int64_t c, int64_t end, float *lane) {
    int64_t nr = p->micro->nr;
    for (; c < end; c++)
        for (int64_t tap = 0; tap < p->taps; tap++) lane[(tap * p->in + first + c) * nr] = w[c * p->taps + tap];
}

/* Some channels at a time, so that what is written stays in the first cache. */
static void packed_panel(const conv_packed *p, const float *w, int64_t set, int64_t panel, float *to) {
    int64_t nr = p->micro->nr, groups = p->groups / p->sets, in = p->in / groups, out = p->out / groups;
    for (int64_t c = 0; c < in; c += PACKED_CHANNELS) {
        int64_t end = in - c < PACKED_CHANNELS ? in : c + PACKED_CHANNELS;
        for (int64_t lane = 0; lane < nr && panel * nr + lane < p->out; lane++) {
            int64_t o = panel * nr + lane;
            packed_lane(p, w + (set * p->out + o) * in * p->taps, o / out * in, c, end, to + lane);
        }
    }
}

static conv_packed *packed_make(const conv_shape *s, const tensor *w) {
    conv_packed p = {.micro = gemm_micro_best(DT_FLOAT32), .groups = s->groups, .taps = s->kernel_size, .offset = w->offset};
    for (int i = 0; i < w->ndim; i++) p.strides[i] = w->strides[i];
    int64_t together = conv_packed_set(s);
    tensor *whole;
    if (!p.micro || !together || tensor_contiguous(NULL, (tensor *)w, &whole) != CTSC_OK) return NULL;
    p.sets = s->groups / together;
    p.in = s->in_channels / p.sets;
    p.out = s->out_channels / p.sets;
    p.panels = (p.out + p.micro->nr - 1) / p.micro->nr;
    p.steps = p.taps * p.in;
    size_t bytes;
    bool fits = size_mul((size_t)(p.sets * p.panels * p.micro->nr), (size_t)p.steps, &bytes) && size_mul(bytes, sizeof *p.weights, &bytes);
    conv_packed *made = fits ? mem_alloc(sizeof *made) : NULL;
    p.memory = made ? mem_alloc(bytes + PACKED_ALIGN) : NULL;
    if (p.memory) {
        char *at = (char *)p.memory + (-(uintptr_t)p.memory & (PACKED_ALIGN - 1));
        p.weights = (float *)(void *)at;
        pages_prefer_large(at, bytes);
        if (together > 1 || p.out % p.micro->nr) memset(at, 0, bytes);
        for (int64_t i = 0; i < p.sets * p.panels; i++)
            packed_panel(&p, tensor_data(whole), i / p.panels, i % p.panels, p.weights + i * p.steps * p.micro->nr);
        *made = p;
    } else {
        mem_free(made);
        made = NULL;
    }
    tensor_unref(whole);
    return made;
}

static bool packed_is_of(const conv_packed *p, const conv_shape *s, const tensor *w) {
    if (p->offset != w->offset || w->ndim > CONV_DIMS + 2) return false;
    for (int i = 0; i < w->ndim; i++)
        if (p->strides[i] != w->strides[i]) return false;
    return p->groups == s->groups && p->taps == s->kernel_size && p->sets * p->in == s->in_channels && p->sets * p->out == s->out_channels;
}

const conv_packed *conv_packed_of(const conv_shape *s, const tensor *w) {
    storage *in = w->storage;
    void *seen = atomic_load_explicit(&in->derived, memory_order_acquire);
    if (!in->read_only || seen == &packed_busy) return NULL;
    if (seen) return in->derived_free == packed_free && packed_is_of(seen, s, w) ? seen : NULL;
    if (!atomic_compare_exchange_strong(&in->derived, &seen, &packed_busy)) return NULL; /* another thread is at it */
    conv_packed *made = packed_make(s, w);
    if (made) in->derived_free = packed_free;
    atomic_store_explicit(&in->derived, made, memory_order_release);
    if (made && in->of_file) pages_drop(in->data, in->nbytes);
    return made;
}
