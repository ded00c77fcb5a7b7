/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - page.html, the status page; openapi.json, which describes all paths; and docs.html,
 * which shows that: as bytes in the command, built from the project's root. And a shape that the
 * page may send to a model that does not say which it takes.
 *
 * Method. The first weight of several dimensions says how many dims and channels an input has. A
 * copy of the model on device meta, where a call costs its shapes, is called with that and with
 * usual sizes, then with all others, until it takes one.
 * Tests: tests/serve/client.py
 */
#include "serve/isolate/call_outputs.h"
#include "serve/protocol.h"

#include <stdlib.h>
#include <string.h>

#define BYTES(name, file)                                                                          \
    __asm__(".section .rodata\n"                                                                   \
            ".global " name "\n" name ":\n"                                                        \
            ".incbin \"src/serve/" file "\"\n"                                                     \
            ".global " name "_end\n" name "_end:\n"                                                \
            ".byte 0\n"                                                                            \
            ".previous\n")

BYTES("page_html", "page.html");
BYTES("openapi_json", "openapi.json");
BYTES("docs_html", "docs.html");

/* ---- a shape to try -------------------------------------------------------------------------- */

enum {
    PAGE_LARGEST = 512,       /* size of an image's side */
    PAGE_TRIALS_US = 1000000, /* of all calls */
    PAGE_TOKENS = 8,
};

typedef struct page_weight { int ndim; int64_t sizes[MODEL_SHAPE_DIMS]; } page_weight;

static void page_first_weight(void *ctx, const ctsc_attribute_info *a) {
    page_weight *w = ctx;
    int n = ctsc_value_kind(a->value) == CTSC_KIND_TENSOR ? ctsc_tensor_ndim(a->value) : 0;
    if (w->ndim || !a->is_parameter || n < 2 || n > MODEL_SHAPE_DIMS) return;
    w->ndim = n;
    memcpy(w->sizes, ctsc_tensor_sizes(a->value), (size_t)n * sizeof *w->sizes);
}

/* Does the copy take it? */
static bool page_takes(const model *m, const ctsc_module *copy, ctsc_dtype dtype, int ndim,
                       const int64_t *sizes, uint64_t deadline) {
    ctsc_value *v = NULL, *x = NULL, *result = NULL;
    uint64_t now = clock_ns();
    if (now >= deadline) return false;
    ctsc_run_options o = {.size = sizeof o,
                          .print = outputs_drop_print,
                          .cancel = m->cancel,
                          .timeout_us = (deadline - now) / 1000 + 1,
                          .max_bytes = m->config.max_bytes};
    bool ok = ctsc_tensor_new(dtype, ndim, sizes, &v, NULL) == CTSC_OK &&
              ctsc_value_to(v, "meta", &x, NULL) == CTSC_OK &&
              ctsc_module_run(copy, m->config.method, 1, &x, &o, &result, NULL) == CTSC_OK;
    ctsc_value_free(result);
    ctsc_value_free(x);
    ctsc_value_free(v);
    return ok;
}

/* The k-th size that is tried; 0: no more. */
static int64_t page_size(int k) {
    static const short usual[] = {32, 28, 64, 224, 16, 96, 128, 256, 299, 384, 512};
    int n = (int)(sizeof usual / sizeof *usual);
    return k < n ? usual[k] : k - n < PAGE_LARGEST ? k - n + 1 : 0;
}

static int page_search(const model *m, const ctsc_module *copy, ctsc_dtype dtype, int64_t *sizes) {
    page_weight w = {0};
    uint64_t deadline = clock_ns() + (uint64_t)PAGE_TRIALS_US * 1000;
    ctsc_module_attributes(copy, page_first_weight, &w);
    sizes[0] = 1;
    if (dtype == CTSC_INT64 || dtype == CTSC_INT32) {
        sizes[1] = PAGE_TOKENS;
        return page_takes(m, copy, dtype, 2, sizes, deadline) ? 2 : 0;
    }
    /* of a convolution the second, of one that is transposed or depthwise the first */
    for (int c = 1; c >= 0 && w.ndim; c--) {
        sizes[1] = w.sizes[c];
        for (int k = 0; (sizes[2] = page_size(k)) && (w.ndim > 2 || !k); k++) {
            for (int i = 3; i < w.ndim; i++) sizes[i] = sizes[2];
            if (page_takes(m, copy, dtype, w.ndim, sizes, deadline)) return w.ndim;
        }
    }
    return 0;
}

static int page_look(const model *m, int64_t sizes[MODEL_SHAPE_DIMS]) {
    const model_input *in = m->inputs;
    ctsc_module *copy = NULL;
    int ndim = 0;
    for (size_t i = 1; i < m->ninputs; i++)
        if (!m->inputs[i].arg->default_value) return 0;
    if (m->processes) return 0; /* it is not to be called here */
    if (!m->ninputs || in->form != INPUT_TENSOR || in->arg->ndim >= 0 ||
        (in->config && in->config->ndim >= 0))
        return 0;
    const datatype *t = model_tensor_type(in);
    if (ctsc_module_load_memory(m->bytes, m->size, &copy, NULL) == CTSC_OK &&
        ctsc_module_to(copy, "meta", NULL) == CTSC_OK &&
        ctsc_module_set_opt(copy, 0, NULL) == CTSC_OK)
        ndim = page_search(m, copy, t ? t->dtype : CTSC_FLOAT32, sizes);
    ctsc_module_free(copy);
    return ndim;
}

int page_shape(model *m, const int64_t **sizes) {
    pthread_mutex_lock(&m->shape_lock);
    if (m->shape_ndim < 0) m->shape_ndim = page_look(m, m->shape);
    pthread_mutex_unlock(&m->shape_lock);
    *sizes = m->shape;
    return m->shape_ndim;
}
