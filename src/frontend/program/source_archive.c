/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_archive.c - what archives provide for a program (torch.jit.load, py_script.c): their
 * classes and objects, copied into its unit.
 *
 * The module of an archive has the class that its archive gave it, with graphs instead of source,
 * so the emitter treats it as any class of the unit. Its object is made anew from the Python
 * instance, like that of every other module (source_module.c).
 * Ownership: the program's copier remembers what has been copied, so that one class of an archive
 * stays one, until the program is compiled.
 * Tests: tests/cli/jit-load.test, tests/interop/archives.py
 */
#include "frontend/program/source.h"
#include "ir/graph/unit_copy.h"

static bool archive_copier(program *g) {
    if (!g->archives && !(g->archives = unit_copy_new(g->unit))) diag_no_memory(g->py.diag);
    return g->archives != NULL;
}

type *source_archive_type(program *g, type *t) {
    if (!t->of_class) return t;
    return archive_copier(g) && unit_copy_type(g->archives, g->py.diag, t, &t) == CTSC_OK ? t
                                                                                          : NULL;
}

bool source_archive_value(program *g, value v, value *out) {
    return archive_copier(g) && unit_copy_value(g->archives, g->py.diag, v, out) == CTSC_OK;
}

module_type *source_archive_module(program *g, const object *o, py_object *instance) {
    type *cls = source_archive_type(g, o->cls);
    module_type *m = cls ? arena_new(&g->unit->arena, module_type) : NULL;
    if (!m) return NULL;
    *m = (module_type){
        .prog = g, .cls = cls, .py_class = instance->u.inst.cls, .instance = instance};
    return m;
}
