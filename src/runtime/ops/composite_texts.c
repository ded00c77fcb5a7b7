/* SPDX-License-Identifier: Apache-2.0 */
/*
 * composite_texts.c - the TorchScript of operators, embedded: frontend/prelude/operators.py,
 * operators/NAME.py and derivatives/NAME.py (composite.def).
 *
 * Method. Which file has a function is in an index that the build makes (scripts/embed): a line
 * per file, the path and then the names of its functions, in the order of the text. So no file is
 * inflated but the one that is needed.
 * Tests: tests/unit/test_composite.c
 */
#include "runtime/ops/composite_texts.h"

#include "base/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/text/embed.h"

#include <pthread.h>
#include <string.h>

EMBED(composite_functions, "src/runtime/ops/composite.index")

/* A row's text is named after its line. */
#define COMPOSITE_NAME(line) COMPOSITE_NAME_OF(line)
#define COMPOSITE_NAME_OF(line) composite_##line
#define COMPOSITE_FILE(path) EMBED(COMPOSITE_NAME(__LINE__), "src/frontend/prelude/" path)
#include "runtime/ops/composite.def"
#undef COMPOSITE_FILE

static const struct { const char *path; embedded *text; } composite_files[] = {
#define COMPOSITE_FILE(path) {path, &COMPOSITE_NAME(__LINE__)},
#include "runtime/ops/composite.def"
#undef COMPOSITE_FILE
};
enum { COMPOSITE_FILES = sizeof composite_files / sizeof *composite_files };

const char *composite_text(const char *path, size_t *len) {
    for (int i = 0; i < COMPOSITE_FILES; i++)
        if (!strcmp(composite_files[i].path, path))
            return embedded_text(composite_files[i].text, len);
    return NULL;
}

/* ---- the index ------------------------------------------------------------------------------- */

/* Read once. The derivatives of one overload are one after the other. */
typedef struct composite_index {
    strmap paths;                  /* a function's name -> its file's path */
    strmap first;                  /* an overload's -> its first derivative, as an index + 1 */
    VEC(const char *) derivatives; /* all functions that are, in the order of the files */
    arena arena;
} composite_index;

static pthread_once_t composite_once = PTHREAD_ONCE_INIT;
static composite_index *composite_known; /* NULL if out of memory */

/* The overload's part of "mul__Tensor__d_self": 0 if the function is none of these. */
static size_t index_stem(const char *name, size_t n) {
    for (size_t i = 1; i + 4 <= n; i++)
        if (!strncmp(name + i, "__d_", 4) || (i + 4 == n && !strncmp(name + i, "__as", 4)))
            return i;
    return 0;
}

static bool index_derivative(composite_index *x, const char *name) {
    size_t stem = index_stem(name, strlen(name));
    if (!stem) return true;
    return vec_push(&x->derivatives, name) &&
           (strmap_getn(&x->first, name, stem) ||
            strmap_putn(&x->first, name, stem, (void *)(uintptr_t)x->derivatives.len));
}

static bool index_line(composite_index *x, const char *line, const char *end) {
    size_t n = strcspn(line, " \n");
    const char *path = arena_strndup(&x->arena, line, n);
    bool ok = path != NULL, derives = ok && !strncmp(path, "derivatives/", 12);
    for (const char *p = line + n; ok && p < end; p += n) {
        n = strcspn(++p, " \n");
        const char *name = arena_strndup(&x->arena, p, n);
        ok = name && (strmap_getn(&x->paths, p, n) || strmap_put(&x->paths, name, (void *)path)) &&
             (!derives || index_derivative(x, name));
    }
    return ok;
}

static void index_read(void) {
    size_t len;
    composite_index *x = mem_zalloc(sizeof *x);
    const char *text = embedded_text(&composite_functions, &len);
    bool ok = x && text && arena_init(&x->arena);
    for (const char *end; ok && *text; text = end + (*end == '\n')) {
        end = text + strcspn(text, "\n");
        ok = index_line(x, text, end);
    }
    composite_known = ok ? x : NULL;
}

static const composite_index *index_get(void) {
    pthread_once(&composite_once, index_read);
    return composite_known;
}

const char *composite_path(const char *function) {
    const composite_index *x = index_get();
    return x ? strmap_get(&x->paths, function) : NULL;
}

const char *composite_derivative_of(const char *stem, int i) {
    const composite_index *x = index_get();
    size_t first = x ? (size_t)(uintptr_t)strmap_get(&x->first, stem) : 0, n = strlen(stem);
    if (!first || first - 1 + (size_t)i >= x->derivatives.len) return NULL;
    const char *name = x->derivatives.data[first - 1 + (size_t)i];
    return !strncmp(name, stem, n) && index_stem(name, strlen(name)) == n ? name : NULL;
}
