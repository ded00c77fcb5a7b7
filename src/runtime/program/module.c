/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - a module, whatever it was read from: made empty, given back, its methods.
 *
 * Ownership: a module owns its unit and its root object.
 * Tests: tests/unit/test_archive.c, tests/corpus
 */
#include "runtime/program/module.h"

#include "passes/passes.h"

module *module_new_empty(void) {
    module *m = mem_zalloc(sizeof *m);
    if (!m) return NULL;
    if (!(m->unit = unit_new())) return module_free(m), NULL;
    m->unit->simplify = pipeline_simplify;
    m->version = MODULE_EXPORTED_VERSION;
    m->opt = MODULE_OPT_DEFAULT;
    return m;
}

void module_free(module *m) {
    if (!m) return;
    workspace_pool_free(&m->workspaces);
    value_unref(m->root);
    if (m->unit) {
        unit_close(m->unit);
        unit_unref(m->unit);
    }
    mem_free(m->checkpoints);
    mem_free(m);
}

struct function *module_method(const module *m, const char *name) {
    return class_find_method(m->root.u.object->cls, name);
}
