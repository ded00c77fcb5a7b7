/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile_archives.c - reads and freezes archives for module-level code.
 *
 * Freezing changes a module, and Python's torch.jit.freeze gives a new one: what is frozen is a
 * copy in a unit of its own.
 * Ownership: the list owns the modules; roots handed out are references.
 * Tests: tests/cli/jit-load.test, tests/interop/archives.py
 */
#include "runtime/program/compile_archives.h"
#include "ir/graph/unit_copy.h"
#include "passes/passes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static ctsc_status archives_keep(compile_archives *a, diag *d, module *m, value *root) {
    if (!vec_push(&a->modules, m)) {
        module_free(m);
        return diag_no_memory(d);
    }
    *root = value_ref(m->root);
    return CTSC_OK;
}

/* Both in PyTorch's words. */
static ctsc_status archives_check_path(diag *d, const char *path) {
    struct stat st;
    const char *why = stat(path, &st) != 0  ? errno == ENOENT ? "does not exist" : NULL
                      : S_ISDIR(st.st_mode) ? "is a directory"
                                            : NULL;
    if (!why) return CTSC_OK;
    diag_fail(d, CTSC_FAILED, "ValueError: The provided filename %s %s", path, why);
    d->exception = mem_strdup("builtins.ValueError");
    return d->status;
}

ctsc_status compile_archives_load(compile_archives *a, diag *d, const char *path, value *root) {
    reader r;
    module *m = NULL;
    ctsc_status s = archives_check_path(d, path);
    if (s == CTSC_OK) s = reader_open_file(d, path, &r);
    if (s == CTSC_OK) s = module_load(d, r, &m);
    return s == CTSC_OK ? archives_keep(a, d, m, root) : s;
}

static ctsc_status archives_copy(diag *d, object *o, module *m) {
    unit_copy *c = (m->unit = unit_new()) ? unit_copy_new(m->unit) : NULL;
    if (!c) return diag_no_memory(d);
    m->unit->simplify = pipeline_simplify;
    ctsc_status s = unit_copy_value(c, d, value_object_take(o), &m->root);
    unit_copy_free(c);
    return s;
}

ctsc_status compile_archives_freeze(compile_archives *a, diag *d, object *o, bool fold,
                                    value *frozen) {
    module *m = mem_zalloc(sizeof *m);
    if (!m) return diag_no_memory(d);
    m->root = value_none();
    ctsc_status s = archives_copy(d, o, m);
    if (s == CTSC_OK) s = module_freeze(d, m, fold);
    if (s == CTSC_OK) return archives_keep(a, d, m, frozen);
    module_free(m);
    return s;
}

void compile_archives_free(compile_archives *a) {
    for (size_t i = 0; i < a->modules.len; i++) module_free(a->modules.data[i]);
    vec_free(&a->modules);
}
