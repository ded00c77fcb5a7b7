/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_module.c - loads an ONNX model: its bytes, and the files with
 * weights next to it, from which frontend/onnx/ makes a module.
 *
 * The files that a model names have to be in its own folder or below:
 * a name that leads out of it is refused, and so is a link that does.
 * Tests: tests/onnx
 */
#include "runtime/program/onnx_module.h"

#include "runtime/archive/archive_internal.h"
#ifdef CTSC_ONNX
#include "frontend/onnx/onnx.h"
#endif

#include <limits.h>
#include <stdlib.h>

#ifdef CTSC_ONNX

/* A file that weights are in, mapped once. */
typedef struct onnx_file { char *name; storage *st; } onnx_file;

typedef struct onnx_files {
    const char *path; /* of the model; NULL: it is not known */
    VEC(onnx_file) files;
} onnx_files;

/* The folder of the model, resolved; free() it. NULL: there is none. */
static char *files_folder(const onnx_files *x) {
    const char *slash = x->path ? strrchr(x->path, '/') : NULL;
    if (!x->path) return NULL;
    char *folder = slash ? mem_strndup(x->path, slash == x->path ? 1 : (size_t)(slash - x->path))
                         : mem_strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL;
    mem_free(folder);
    return real;
}

static bool files_name_fits(const char *name) {
    if (!*name || *name == '/' || strlen(name) > 1000) return false;
    for (const char *p = name; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
        if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2])) return false;
    return true;
}

static ctsc_status files_open(onnx_files *x, diag *d, const char *name, storage **out) {
    if (!files_name_fits(name))
        return diag_fail(d, CTSC_BAD_FILE,
                         "weights are in the file '%.200s', which is not in the model's folder",
                         name);
    char *folder = files_folder(x);
    if (!folder)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "weights are in another file, '%.200s', and the model came without a "
                         "folder: load it by its path",
                         name);
    strbuf path = STRBUF_INIT;
    sb_printf(&path, "%s/%s", folder, name);
    char *real = path.failed ? NULL : realpath(sb_str(&path), NULL);
    size_t n = strlen(folder);
    bool inside = real && !strncmp(real, folder, n) && (real[n] == '/' || n == 1);
    reader r;
    ctsc_status s = path.failed ? diag_no_memory(d)
                    : !real     ? diag_fail(d, CTSC_BAD_FILE, "cannot open %s", sb_str(&path))
                    : !inside   ? diag_fail(d, CTSC_BAD_FILE,
                                            "weights are in the file '%.200s', which is not in the "
                                              "model's folder",
                                            name)
                                : reader_open_file(d, real, &r);
    if (s == CTSC_OK) s = reader_contents(d, r, out);
    if (s == CTSC_OK) (*out)->of_file = true;
    free(real);
    free(folder);
    sb_free(&path);
    return s;
}

static ctsc_status files_external(void *ctx, diag *d, const char *location, storage **out) {
    onnx_files *x = ctx;
    storage *st = NULL;
    for (size_t i = 0; i < x->files.len; i++)
        if (!strcmp(x->files.data[i].name, location))
            return *out = storage_ref(x->files.data[i].st), CTSC_OK;
    TRY(files_open(x, d, location, &st));
    onnx_file f = {mem_strdup(location), st};
    if (!f.name || !vec_push(&x->files, f)) {
        mem_free(f.name);
        storage_unref(st);
        return diag_no_memory(d);
    }
    *out = storage_ref(st);
    return CTSC_OK;
}

static void files_close(onnx_files *x) {
    for (size_t i = 0; i < x->files.len; i++) {
        mem_free(x->files.data[i].name);
        storage_unref(x->files.data[i].st);
    }
    vec_free(&x->files);
}

ctsc_status onnx_module_load(diag *d, reader r, module **out) {
    onnx_files files = {.path = r.path};
    onnx_host host = {&files, files_external};
    storage *st = NULL;
    module *m = NULL;
    ctsc_status s = reader_contents(d, r, &st);
    if (s == CTSC_OK && !(m = module_new_empty())) s = diag_no_memory(d);
    if (s == CTSC_OK)
        s = onnx_import(d, m->unit, "the ONNX model", st->data, st->nbytes, &host, &m->root);
    storage_unref(st);
    files_close(&files);
    if (s == CTSC_OK) *out = m;
    else module_free(m);
    return s;
}

#else

ctsc_status onnx_module_load(diag *d, reader r, module **out) {
    (void)out;
    reader_close(&r);
    return diag_fail(d, CTSC_UNSUPPORTED,
                     "the file is a model of ONNX, and this build of ctsc is without them (it was "
                     "made without libprotobuf-c)");
}

#endif
