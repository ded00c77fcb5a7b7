/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_inline.c - which function a call calls, where its body is to be compiled anew for the
 * call's arguments (irgen_inline.c).
 *
 * Functions of the program, methods of its modules, and modules without hooks. Left alone are
 * functions that are marked in a way that the body does not show: unused, ignored, exported,
 * overloaded, without gradients, within autocast.
 * Tests: tests/lang/accepted_inlined.py
 */
#include "frontend/program/source.h"
#include "frontend/pyeval/torch/py_torch.h"

static bool inline_plain(const py_object *fn) {
    const py_function *pf = fn && fn->kind == PY_FUNCTION ? fn->u.fn : NULL;
    return pf && pf->def && !pf->def->is_generator && !source_dropped(fn) && !pf->overloads.len &&
           pf->gradients == PY_GRADIENTS_KEPT && !pf->autocast && !py_is_overload(fn);
}

static const py_object *inline_bound(const module_type *m, const char *name) {
    for (size_t i = 0; i < m->bound.len; i++)
        if (!strcmp(m->bound.data[i].name, name)) return NULL;
    return py_class_find(m->py_class, name);
}

/* The method that value.name is. */
static const py_object *inline_method(const ir_value *v, const char *name, module_type **home) {
    const type *t = v->type;
    module_type *m = t->kind == T_CLASS ? t->cls->source : NULL;
    if (!m || m->traced || !m->py_class) return NULL;
    *home = m;
    const function *f = class_find_method(t, name);
    const scope *s = f ? f->scope : NULL;
    return s ? s->fn : inline_bound(m, name);
}

static bool inline_to(emitter *e, const py_object *fn, module_type *m, sugar *self, inlinee *out) {
    if (!inline_plain(fn)) return false;
    scope *s = arena_new(&e->unit->arena, scope);
    if (!s) return diag_no_memory(e->diag), false;
    *s = (scope){.ops = &source_scope_ops,
                 .prog = e->scope->prog,
                 .env = fn->u.fn->closure,
                 .module = m,
                 .fn = (py_object *)fn};
    *out = (inlinee){.def = fn->u.fn->def, .fn = fn, .scope = s, .self = self};
    return true;
}

bool source_inlined(emitter *e, source_range r, sugar *callee, inlinee *out) {
    module_type *m = NULL;
    const py_object *fn;
    (void)r;
    switch (callee->kind) {
    case SUGAR_CLOSURE: *out = (inlinee){.closure = callee, .only = true}; return callee->home;
    case SUGAR_FUNCTION: {
        const scope *s = callee->fn && !callee->nitems ? callee->fn->scope : NULL;
        if (!s || s->module || !inline_to(e, s->fn, NULL, NULL, out)) return false;
        out->declared = callee->fn;
        return true;
    }
    case SUGAR_METHOD:
        if (callee->nitems) return false;
        fn = inline_method(callee->value, callee->name, &m);
        if (!fn || !inline_to(e, fn, m, sugar_of_value(e, callee->value), out)) return false;
        out->declared = class_find_method(callee->value->type, callee->name);
        return true;
    case SUGAR_VALUE: {
        const class_info *c = callee->value->type->kind == T_CLASS ? callee->value->type->cls
                                                                   : NULL;
        if (!c || !c->is_module || c->forward_hooks.len || c->forward_pre_hooks.len) return false;
        fn = inline_method(callee->value, "forward", &m);
        if (!fn || !inline_to(e, fn, m, callee, out)) return false;
        out->declared = class_find_method(callee->value->type, "forward");
        return true;
    }
    case SUGAR_PY:
        if (!source_is_applied(callee) || !inline_to(e, callee->py, NULL, source_context(e), out))
            return false;
        return out->only = true;
    default: return false;
    }
}

sugar *source_default_of(emitter *e, source_range r, const py_object *fn, size_t i) {
    py_object *o = fn->u.fn->defaults ? fn->u.fn->defaults[i] : NULL;
    return o ? source_sugar(e, r, o) : NULL;
}
