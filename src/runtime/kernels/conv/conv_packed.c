/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_packed.c - see conv_packed.h.
 *
 * One thread packs at a time; those that need the weights wait, since
 * the result of a convolution must not depend on which came first.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_packed.h"
#include "base/minmax.h"

#include "base/memory/pages.h"
#include "base/memory/recycle.h"
#include "cpu/vector.h"
#include "runtime/kernels/conv/conv_bf16.h"
#include "runtime/kernels/conv/conv_last_depthwise.h"
#include "runtime/kernels/conv/conv_winograd.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "runtime/kernels/matmul/packed_weights.h"
#include "runtime/kernels/sparse/sparse_weight.h"

#include <string.h>

enum { PACKED_ALIGN = 64, PACKED_CHANNELS = 16 };

#ifdef CTSC_RT /* nothing is packed, so nothing is written */
static void packed_enter(void) {}
static void packed_leave(void) {}
#else
#include <pthread.h>
static pthread_mutex_t packed_lock = PTHREAD_MUTEX_INITIALIZER;
static void packed_enter(void) { pthread_mutex_lock(&packed_lock); }
static void packed_leave(void) { pthread_mutex_unlock(&packed_lock); }
#endif

void conv_packed_free(void *derived) {
    conv_packed_forms *f = derived;
    for (int i = 0; f && i < CONV_FORMS; i++) {
        conv_packed *p = atomic_load_explicit(&f->form[i], memory_order_relaxed);
        if (p) page_pool_free(p->memory, p->room);
        if (p) sparse_weight_free(p->sparse);
        mem_free(p);
    }
    mem_free(f);
}

int64_t conv_packed_groups(const conv_shape *s) {
    const gemm_micro *u = gemm_micro_best(DT_FLOAT32);
    int64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups,
            most = in > out ? in : out;
    return u && u->group_rows ? int64_min(s->groups, u->lanes / most) : 0;
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* A lane of a panel gets the weights from w of one output, [in][taps], for channels [c, end). */
static void packed_lane(const conv_packed *p, const float *w, int64_t c, int64_t end, float *lane) {
    for (; c < end; c++)
        for (int64_t tap = 0; tap < p->taps; tap++)
            lane[(tap * p->depth + c) * p->nr] = w[c * p->taps + tap];
}

/* Some channels at a time, so that what is written stays in the first cache. */
static void packed_panel(const conv_packed *p, const float *w, int64_t first, int64_t outputs,
                         float *to) {
    for (int64_t c = 0; c < p->depth; c += PACKED_CHANNELS) {
        int64_t end = int64_min(p->depth, c + PACKED_CHANNELS);
        for (int64_t lane = 0; lane < int64_min(p->nr, outputs); lane++)
            packed_lane(p, w + (first + lane) * p->depth * p->taps, c, end, to + lane);
    }
}

VECTOR_CLONES static void packed_multiply(const float *restrict w, double by, int64_t n,
                                          float *restrict to) {
    for (int64_t i = 0; i < n; i++) to[i] = (float)((double)w[i] * by);
}

void conv_packed_factors(const float *w, const double *factors, int64_t rows, int64_t n,
                         float *to) {
    int64_t row = rows ? n / rows : 0;
    for (int64_t r = 0; r < rows; r++) packed_multiply(w + r * row, factors[r], row, to + r * row);
}

/* Outputs [first, first + n) of w, which are a panel. factors: NULL, or what they are multiplied by
 * first, to `scaled`, so that what was multiplied is still in the caches. */
static void packed_fill_panel(const conv_packed *p, const float *w, const double *factors,
                              int64_t first, int64_t n, float *scaled, float *to) {
    int64_t row = p->depth * p->taps;
    if (n <= 0) return;
    w += first * row;
    if (factors) conv_packed_factors(w, factors + first, n, n * row, scaled);
    if (factors) w = scaled;
    if (!conv_winograd_products(p->form)) {
        packed_panel(p, w, 0, n, to);
        return;
    }
    conv_packed one = *p;
    one.panels = 1, one.out = n, one.weights = to;
    conv_winograd_pack(&one, w);
}

/* False if out of memory. */
static bool packed_fill(const conv_packed *p, const conv_shape *s, const float *w,
                        const double *factors) {
    size_t bytes = (size_t)(p->nr * p->depth * p->taps) * sizeof(float);
    float *scaled = factors ? mem_alloc_pages(bytes) : NULL;
    if (factors && !scaled) return false;
    for (int64_t set = 0; set < p->sets; set++)
        for (int64_t panel = 0; panel < p->panels; panel++) {
            int64_t first = set * p->out + panel * p->nr,
                    end = int64_min((set + 1) * p->out, s->out_channels);
            packed_fill_panel(p, w, factors, first, int64_min(p->nr, end - first), scaled,
                              p->weights + (set * p->panels + panel) * p->steps * p->nr);
        }
    mem_free_pages(scaled, bytes);
    return true;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Elements; -1: too many. */
static int64_t packed_size(conv_packed *p, const conv_shape *s) {
    int64_t n, in = s->in_channels / s->groups, out = s->out_channels / s->groups, together = 1;
    p->groups = s->groups, p->taps = s->kernel_size;
    if (p->form == CONV_DEPTHWISE) return __builtin_mul_overflow(p->taps, p->groups, &n) ? -1 : n;
    p->tiles = p->micro->rows, p->mr = p->micro->mr, p->nr = p->micro->nr;
    if (p->form != CONV_GROUPS && out <= p->micro->lanes && p->micro->narrow[1])
        p->tiles = p->micro->narrow, p->mr = p->micro->group_rows, p->nr = p->micro->lanes;
    if (p->form == CONV_GROUPS) {
        p->tiles = p->micro->groups, p->mr = p->micro->group_rows, p->nr = p->micro->lanes;
        together = conv_packed_groups(s);
        for (int64_t lane = 0; lane < together * out; lane++)
            p->lanes[lane] = (int32_t)(lane / out * in);
    }
    p->sets = conv_parts(s->groups, together);
    p->in = together * in, p->out = together * out;
    p->panels = conv_parts(p->out, p->nr);
    p->depth = in;
    int products = conv_winograd_products(p->form);
    p->steps = (products ? products * s->kernel[0] : p->taps) * p->depth;
    return __builtin_mul_overflow(p->sets * p->panels * p->nr, p->steps, &n) ? -1 : n;
}

/* w as floats without gaps. */
static ctsc_status packed_floats(diag *d, const tensor *w, tensor **out) {
    return w->dtype == DT_FLOAT32 ? tensor_contiguous(d, (tensor *)w, out)
                                  : tensor_to_dtype(d, (tensor *)w, DT_FLOAT32, out);
}

/* The same times its factors. */
static ctsc_status packed_source(const tensor *w, const tensor *factors, tensor **out) {
    tensor *whole;
    TRY(packed_floats(NULL, w, &whole));
    if (!factors) {
        *out = whole;
        return CTSC_OK;
    }
    ctsc_status st = tensor_new(NULL, DT_FLOAT32, w->ndim, w->sizes, out);
    if (st == CTSC_OK)
        conv_packed_factors(tensor_data(whole), tensor_data(factors), w->sizes[0], w->numel,
                            tensor_data(*out));
    tensor_unref(whole);
    return st;
}

static conv_packed *packed_make(const conv_shape *s, const tensor *w, const tensor *factors,
                                conv_form form) {
    conv_packed p = {.micro = gemm_micro_best(DT_FLOAT32), .form = form};
    int64_t n = p.micro ? packed_size(&p, s) : -1;
    size_t bytes;
    tensor *whole;
    bool filled = false;
    if (n < 0 || !size_mul((size_t)n, sizeof *p.weights, &bytes) ||
        packed_source(w, form == CONV_DEPTHWISE ? factors : NULL, &whole) != CTSC_OK)
        return NULL;
    conv_packed *made = mem_alloc(sizeof *made);
    p.memory = made ? page_pool_alloc(p.room = bytes + PACKED_ALIGN) : NULL;
    if (p.memory) {
        char *at = (char *)p.memory + (-(uintptr_t)p.memory & (PACKED_ALIGN - 1));
        p.weights = (float *)(void *)at;
        if (form != CONV_DEPTHWISE && p.out % p.nr) memset(at, 0, bytes);
        if (form == CONV_DEPTHWISE) conv_last_depthwise_pack(s, tensor_data(whole), p.weights);
        filled = form == CONV_DEPTHWISE ||
                 packed_fill(&p, s, tensor_data(whole), factors ? tensor_data(factors) : NULL);
    }
    if (filled) *made = p;
    else {
        if (made) page_pool_free(p.memory, p.room);
        mem_free(made);
        made = NULL;
    }
    tensor_unref(whole);
    return made;
}

static conv_packed *packed_make_bf16(const conv_shape *s, const tensor *w, const tensor *factors) {
    quad_matrix m;
    size_t bytes;
    tensor *whole;
    const quad_kernels *u = ukernel_quad(UKERNEL_BF16);
    if (!u || !conv_bf16_layout(s, u, &m, &bytes) || bytes > PTRDIFF_MAX - PACKED_ALIGN ||
        packed_source(w, factors, &whole) != CTSC_OK)
        return NULL;
    conv_packed *made = mem_zalloc(sizeof *made);
    size_t room = bytes + PACKED_ALIGN;
    char *memory = made ? page_pool_alloc(room) : NULL;
    if (memory) memset(memory, 0, room);
    m.data = (int8_t *)memory + (-(uintptr_t)memory & (PACKED_ALIGN - 1));
    bool packed = memory && conv_bf16_pack(s, &m, tensor_data(whole));
    tensor_unref(whole);
    if (packed) {
        made->form = CONV_BF16;
        made->memory = memory;
        made->room = room;
        made->quads = m;
        return made;
    }
    page_pool_free(memory, room);
    mem_free(made);
    return NULL;
}

static conv_packed *packed_make_sparse(const conv_shape *s, const tensor *w,
                                       const tensor *factors) {
    tensor *whole, *matrix;
    conv_packed *made = mem_zalloc(sizeof *made);
    if (!made || packed_source(w, factors, &whole) != CTSC_OK) {
        mem_free(made);
        return NULL;
    }
    made->form = CONV_SPARSE;
    if (tensor_view(NULL, whole, 2, (int64_t[]){s->out_channels, s->in_channels}, &matrix) ==
        CTSC_OK) {
        made->sparse = sparse_weight_make(matrix);
        tensor_unref(matrix);
    }
    tensor_unref(whole);
    return made;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static bool packed_is_of(const conv_packed_forms *f, const conv_shape *s, const tensor *w) {
    bool same = f->groups == s->groups && f->offset == w->offset && f->ndim == w->ndim;
    for (int i = 0; same && i < w->ndim; i++) same = f->strides[i] == w->strides[i];
    return same;
}

/* The forms of a weight, none of them made yet. */
typedef struct packed_key {
    const conv_shape *s;
    const tensor *w;
} packed_key;

static void *packed_begin(const void *from) {
    const packed_key *k = from;
    conv_packed_forms *f = mem_zalloc(sizeof *f);
    if (!f) return NULL;
    f->offset = k->w->offset, f->ndim = k->w->ndim, f->groups = k->s->groups;
    for (int i = 0; i < k->w->ndim; i++) f->strides[i] = k->w->strides[i];
    return f;
}

/* NULL: something else is kept there. */
static conv_packed_forms *packed_forms_of(const conv_shape *s, const tensor *w) {
    packed_key key = {s, w};
    conv_packed_forms *f = prepack_derived_now(w->storage, packed_begin, &key, conv_packed_free);
    return f && packed_is_of(f, s, w) ? f : NULL;
}

static const conv_packed *packed_locked(const conv_shape *s, const tensor *w, const tensor *factors,
                                        conv_form form) {
    conv_packed_forms *f = packed_forms_of(s, w);
    if (!f) return NULL;
    conv_packed *p = atomic_load_explicit(&f->form[form], memory_order_relaxed);
    if (p) return form == CONV_BF16 && !conv_bf16_suits(s, &p->quads) ? NULL : p;
    if (!PREPACK_MAKES) return NULL;
    p = form == CONV_BF16     ? packed_make_bf16(s, w, factors)
        : form == CONV_SPARSE ? packed_make_sparse(s, w, factors)
                              : packed_make(s, w, factors, form);
    atomic_store_explicit(&f->form[form], p, memory_order_release);
    if (p && (form != CONV_SPARSE || p->sparse)) prepack_drop(w);
    return p;
}

const conv_packed *conv_packed_of(const conv_shape *s, const tensor *w, const tensor *factors,
                                  conv_form form) {
    if (!w->storage->constant || w->ndim > CONV_DIMS + 2) return NULL;
    packed_enter();
    const conv_packed *p = packed_locked(s, w, factors, form);
    packed_leave();
    return p;
}

/* ---- the first time -------------------------------------------------------------------------- */

bool conv_packed_is_first(const conv_shape *s, const tensor *w, conv_form form) {
    bool panels = form == CONV_ROWS || conv_winograd_products(form);
    if (!panels || s->groups > 1 || !w->storage->constant || w->ndim > CONV_DIMS + 2) return false;
    packed_enter();
    conv_packed_forms *f = packed_forms_of(s, w);
    bool first = PREPACK_MAKES ? f && !f->used[form] : !f || !f->form[form];
    if (first && PREPACK_MAKES) f->used[form] = true;
    packed_leave();
    return first;
}

/* The panels of *some, whose first output is `first`, of w. */
static void turn_fill(const conv_packed *some, const float *w, const double *factors, int64_t first,
                      float *scaled) {
    int64_t panel = some->steps * some->nr;
    if (some->out % some->nr)
        memset(some->weights + (some->panels - 1) * panel, 0, (size_t)panel * sizeof(float));
    for (int64_t i = 0; i < some->panels; i++)
        packed_fill_panel(some, w, factors, first + i * some->nr,
                          int64_min(some->nr, some->out - i * some->nr), scaled,
                          some->weights + i * panel);
}

/* What few convolutions need is not kept for the others. */
static void *turn_alloc(size_t bytes) {
    return (bytes > CONV_TURN_KEPT ? mem_alloc_pages : recycle_alloc)(bytes);
}

static void turn_free(void *p, size_t bytes) {
    (bytes > CONV_TURN_KEPT ? mem_free_pages : recycle_free)(p, bytes);
}

ctsc_status conv_packed_in_turn(diag *d, const conv_shape *s, const tensor *w,
                                const tensor *factors, conv_form form, conv_packed_use *use,
                                void *ctx) {
    conv_packed p = {.micro = gemm_micro_best(DT_FLOAT32), .form = form};
    int64_t n = p.micro ? packed_size(&p, s) : -1, panel = p.steps * p.nr;
    if (n < 0) return diag_no_memory(d);
    p.panels = int64_min(p.panels, conv_parts(CONV_TURN_WEIGHTS, panel));
    p.out = p.panels * p.nr;
    size_t bytes = (size_t)(p.panels * panel) * sizeof(float) + PACKED_ALIGN,
           row = (size_t)(p.nr * p.depth * p.taps) * sizeof(float);
    tensor *whole;
    TRY(packed_floats(d, w, &whole));
    char *memory = turn_alloc(bytes);
    float *scaled = memory && factors ? turn_alloc(row) : NULL;
    ctsc_status st = memory && (scaled || !factors) ? CTSC_OK : diag_no_memory(d);
    for (int64_t first = 0; st == CTSC_OK && first < s->out_channels; first += p.out) {
        conv_packed some = p;
        some.weights = (float *)(void *)(memory + (-(uintptr_t)memory & (PACKED_ALIGN - 1)));
        some.out = int64_min(p.out, s->out_channels - first);
        some.panels = conv_parts(some.out, p.nr);
        turn_fill(&some, tensor_data(whole), factors ? tensor_data(factors) : NULL, first, scaled);
        st = use(ctx, &some, first);
    }
    turn_free(scaled, row);
    turn_free(memory, bytes);
    tensor_unref(whole);
    prepack_drop(w);
    return st;
}
