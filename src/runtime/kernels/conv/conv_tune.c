/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_tune.c - see conv_tune.h.
 *
 * Method. By default a model of instructions and bytes (conv_winograd_best) selects among
 * implicit GEMM and the two tiles of Winograd; it knows neither a processor's throughput of
 * multiply-adds nor its caches. If a program asks for it (ctsc_set_tuning) each is timed
 * instead, with a weight, an image and a result of the convolution's own size. The winner
 * is kept for the process, and in the folder of compiled kernels (base/disk.h) for later
 * ones, under the shape, the processor's name and its kernels'. The number of threads is
 * not part of the key: one form serves any number, so that results do not depend on it.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_tune.h"

#include "base/clock.h"
#include "base/disk.h"
#include "base/map.h"
#include "base/text/strbuf.h"
#include "runtime/kernels/conv/conv_rows.h"
#include "runtime/kernels/conv/conv_winograd.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/matmul/gemm_block.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const conv_form tune_forms[] = {CONV_ROWS, CONV_WINOGRAD_4, CONV_WINOGRAD_2};
enum { TUNE_FORMS = sizeof tune_forms / sizeof *tune_forms, TUNE_BRAND = 48, TUNE_VERSION = 2 };

static pthread_mutex_t tune_lock = PTHREAD_MUTEX_INITIALIZER;
static strmap tune_known; /* conv_shape -> an element of tune_forms; until the process ends */

/* ---- keys ------------------------------------------------------------------------------------ */

static void tune_put_brand(strbuf *key) {
#if defined(__x86_64__)
    unsigned brand[TUNE_BRAND / sizeof(unsigned)] = {0};
    bool known = true;
    for (unsigned i = 0; i < 3 && known; i++)
        known = __get_cpuid(0x80000002 + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2],
                            &brand[4 * i + 3]);
    if (known) sb_printf(key, "%.*s", TUNE_BRAND, (const char *)brand);
#else
    (void)key;
#endif
}

static void tune_put_key(strbuf *key, const conv_shape *s) {
    sb_printf(key, "conv %d %s ", TUNE_VERSION, isa_table[gemm_micro_best(DT_FLOAT32)->isa].name);
    tune_put_brand(key);
    sb_printf(key, " %lld %lld %lld %lld", (long long)s->batch, (long long)s->groups,
              (long long)s->in_channels, (long long)s->out_channels);
    for (int i = 0; i < CONV_DIMS; i++)
        sb_printf(key, " %lld %lld %lld %lld %lld %lld", (long long)s->in[i], (long long)s->out[i],
                  (long long)s->kernel[i], (long long)s->stride[i], (long long)s->pad[i],
                  (long long)s->dilation[i]);
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct tune_work {
    const conv_shape *s;
    tensor *in, *weight, *out;
    char *others; /* what the rest of a network would have put into the caches */
} tune_work;

/* Numbers of medium size: no denormals, which would slow the measurement down. */
static tensor *tune_tensor(int ndim, const int64_t *sizes) {
    tensor *t;
    if (tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t) != CTSC_OK) return NULL;
    float *p = tensor_data(t);
    for (int64_t i = 0; i < t->numel; i++) p[i] = (float)((i * 7) % 23 - 11) / 16;
    return t;
}

static bool tune_begin(tune_work *w, const conv_shape *s) {
    const int64_t in = s->batch * s->in_size * s->in_channels,
                  out = s->batch * s->out_size * s->out_channels,
                  weight[] = {s->out_channels, s->in_channels / s->groups, s->kernel[0],
                              s->kernel[1], s->kernel[2]};
    tensor *plain = tune_tensor(5, weight);
    *w = (tune_work){.s = s,
                     .in = tune_tensor(1, &in),
                     .out = tune_tensor(1, &out),
                     .others = mem_alloc_pages(CONV_TUNE_OTHERS)};
    bool ok = plain && w->in && w->out && w->others &&
              tensor_constant(NULL, plain, &w->weight) == CTSC_OK;
    tensor_unref(plain);
    return ok;
}

static void tune_end(tune_work *w) {
    tensor_unref(w->in), tensor_unref(w->weight), tensor_unref(w->out);
    mem_free_pages(w->others, CONV_TUNE_OTHERS);
}

/* As in a network: the image has just been made, weights come from memory. */
static void tune_caches(const tune_work *w, int turn) {
    memset(w->others, turn, CONV_TUNE_OTHERS);
    float *in = tensor_data(w->in);
    for (int64_t i = 0; i < w->in->numel; i++) in[i] = -in[i];
}

/* Nanoseconds of the fastest of some calls; infinite without memory, and where a limit came
 * between. */
static double tune_time(const tune_work *w, conv_form form) {
    const conv_packed *p = conv_packed_of(w->s, w->weight, NULL, form);
    const dense_epilogue plain = {0};
    double least = INFINITY;
    bool finite, ok = p != NULL;
    for (int i = 0; ok && i < CONV_TUNE_CALLS; i++) {
        tune_caches(w, i);
        uint64_t since = clock_now();
        ok = (form == CONV_ROWS
                  ? conv_rows(NULL, w->s, p, tensor_data(w->in), NULL, &plain, tensor_data(w->out))
                  : conv_winograd(NULL, w->s, p, tensor_data(w->in), &plain, tensor_data(w->out),
                                  &finite)) == CTSC_OK;
        double took = (double)(clock_now() - since);
        if (took < least) least = took;
    }
    return ok ? least : INFINITY;
}

/* NULL: not all forms could be tried. */
static const conv_form *tune_measure(const conv_shape *s) {
    tune_work w;
    const conv_form *best = NULL;
    double least = INFINITY;
    bool all = tune_begin(&w, s);
    for (int i = 0; all && i < TUNE_FORMS; i++) {
        double time = tune_time(&w, tune_forms[i]);
        all = time < INFINITY;
        if (time < least) least = time, best = &tune_forms[i];
    }
    tune_end(&w);
    return all ? best : NULL;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static const conv_form *tune_read(const disk *k, const char *name, const strbuf *key) {
    void *data = NULL;
    size_t size;
    const conv_form *form = NULL;
    if (!k->folder || !disk_read(k, name, sb_str(key), key->len, &data, &size)) return NULL;
    unsigned char at = size == 1 ? *(unsigned char *)data : TUNE_FORMS;
    if (at < TUNE_FORMS) form = &tune_forms[at];
    mem_free(data);
    return form;
}

static const conv_form *tune_find(const conv_shape *s) {
    disk folder;
    char name[DISK_NAME];
    strbuf key = STRBUF_INIT;
    tune_put_key(&key, s);
    disk_open(&folder, NULL, 0);
    disk_name(name, 't', sb_str(&key), key.len);
    const conv_form *form = key.failed ? NULL : tune_read(&folder, name, &key);
    if (!form && (form = tune_measure(s)) && folder.folder && !key.failed) {
        unsigned char at = (unsigned char)(form - tune_forms);
        disk_write(&folder, name, sb_str(&key), key.len, &at, 1);
    }
    disk_close(&folder);
    sb_free(&key);
    return form;
}

static void tune_keep(const conv_shape *s, const conv_form *form) {
    conv_shape *own = mem_alloc(sizeof *own);
    if (!own) return;
    *own = *s;
    if (!strmap_putn(&tune_known, (const char *)own, sizeof *own, (void *)(uintptr_t)form))
        mem_free(own);
}

conv_form conv_tune(const conv_shape *s) {
    pthread_mutex_lock(&tune_lock);
    const conv_form *form = strmap_getn(&tune_known, (const char *)s, sizeof *s);
    if (!form && (form = tune_find(s))) tune_keep(s, form);
    pthread_mutex_unlock(&tune_lock);
    if (form) return *form;
    conv_form likely = conv_winograd_best(s);
    return likely == CONV_FORMS ? CONV_ROWS : likely;
}
