/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_classes.c - the classes of ir/native.h: one attribute, a capsule that kernels make and
 * read, and methods in TorchScript.
 *
 * Method. The texts are read like code files of an archive, in a unit that lives as long as the
 * process: archives find the very types that the schemas of operators name. Loading and saving go
 * through __setstate__ and __getstate__, as for any class that has them. All classes are declared
 * before any is given out, so that looking one up takes no lock of the unit, whose holder may be
 * asking for operators.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "runtime/program/native_classes.h"

#include "base/text/embed.h"
#include "frontend/codeload/importer.h"
#include "frontend/irgen/irgen.h"
#include "passes/passes.h"

#include <string.h>

/* NATIVE_FILE(symbol, path): path is that of the record in an archive, and under prelude/classes */
#define NATIVE_FILES                                                                               \
    NATIVE_FILE(native_quantized, "quantized.py")                                                  \
    NATIVE_FILE(native_rnn, "rnn.py")

#define NATIVE_FILE(symbol, path) EMBED(symbol, "src/frontend/prelude/classes/" path)
NATIVE_FILES
#undef NATIVE_FILE

static const struct { const char *path; embedded *text; } native_files[] = {
#define NATIVE_FILE(symbol, path) {path, &symbol},
    NATIVE_FILES
#undef NATIVE_FILE
};

static const char *const native_names[] = {
    NATIVE_PREFIX "quantized.LinearPackedParamsBase",
    NATIVE_PREFIX "quantized.Conv2dPackedParamsBase",
    NATIVE_PREFIX "quantized.Conv3dPackedParamsBase",
    NATIVE_PREFIX "quantized.EmbeddingPackedParamsBase",
    NATIVE_PREFIX "rnn.CellParamsBase",
};
enum {
    NATIVE_COUNT = sizeof native_names / sizeof *native_names,
    NATIVE_NFILES = sizeof native_files / sizeof *native_files
};

typedef struct native_types { type *types[NATIVE_COUNT]; } native_types;

static pthread_mutex_t native_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(native_types *) native_known; /* never freed: operators' schemas point there */

static ctsc_status native_read(void *ctx, diag *d, const char *name, source **out) {
    (void)ctx;
    *out = NULL;
    const char *path = strstr(name, "torch/classes/");
    for (int i = 0; path && i < NATIVE_NFILES; i++) {
        if (strcmp(path + strlen("torch/classes/"), native_files[i].path)) continue;
        size_t len;
        const char *text = embedded_text(native_files[i].text, &len);
        *out = text ? source_new("<classes>", text, len) : NULL;
        return *out ? CTSC_OK : diag_no_memory(d);
    }
    return CTSC_OK;
}

static ctsc_status native_declare(unit *u, native_types *made) {
    static const importer_host host = {.read_code = native_read};
    ctsc_status s = importer_attach(NULL, u, &host, INT64_MAX);
    u->compile = irgen_function;
    u->simplify = pipeline_simplify;
    u->permanent = true;
    for (int i = 0; s == CTSC_OK && i < NATIVE_COUNT; i++) {
        s = unit_resolve(u, NULL, native_names[i], &made->types[i], NULL);
        if (s == CTSC_OK && !made->types[i]) s = CTSC_INTERNAL;
    }
    return s == CTSC_OK && arena_failed(&u->arena) ? CTSC_LIMIT : s;
}

static native_types *native_make(void) {
    native_types *made = mem_zalloc(sizeof *made);
    unit *u = made ? unit_new() : NULL;
    if (u && native_declare(u, made) == CTSC_OK) return made;
    unit_unref(u);
    mem_free(made);
    return NULL;
}

type *native_class_find(const char *qualified) {
    if (strncmp(qualified, NATIVE_PREFIX, sizeof NATIVE_PREFIX - 1)) return NULL;
    native_types *known = atomic_load_explicit(&native_known, memory_order_acquire);
    if (!known) {
        pthread_mutex_lock(&native_lock);
        known = atomic_load(&native_known);
        if (!known && (known = native_make()))
            atomic_store_explicit(&native_known, known, memory_order_release);
        pthread_mutex_unlock(&native_lock);
    }
    for (int i = 0; known && i < NATIVE_COUNT; i++)
        if (!strcmp(native_names[i], qualified)) return known->types[i];
    return NULL;
}
