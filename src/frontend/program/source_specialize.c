/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_specialize.c - functions whose parameters have no annotations, for arguments
 * that are not tensors.
 *
 * PyTorch takes such a parameter for a Tensor. Where a call gives something else (a list of
 * features, an int), and the function cannot be compiled as PyTorch would, it is declared once more
 * with the types of the call's arguments (emitter.lenient). The one for tensors is given up if it
 * does not compile: nobody calls it.
 * Tests: tests/lang/accepted_parameters.py
 */
#include "frontend/program/source.h"

/* The argument for parameter i; NULL: none. */
static const actual *special_argument(const function *f, int i, int nargs, const actual *args) {
    int at = 0;
    for (int k = 0; k < nargs; k++) {
        if (args[k].name ? !strcmp(args[k].name, f->schema->args[i].name) : at == i)
            return &args[k];
        at += !args[k].name;
    }
    return NULL;
}

/* The types that f's parameters have for such a call; NULL: those that they have. */
static type **special_types(emitter *e, const function *f, int nargs, const actual *args) {
    type **types = arena_array(e->scratch, type *, f->schema->nargs + 1);
    bool other = false;
    if (!types) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < f->schema->nargs; i++) {
        const argument *p = &f->schema->args[i];
        const actual *a = p->inferred && !p->has_default ? special_argument(f, i, nargs, args)
                                                         : NULL;
        types[i] = a ? a->value->type : p->type;
        other |= types[i] != p->type && types[i]->kind != T_TENSOR;
    }
    return other ? types : NULL;
}

static function *special_known(const program *g, const function *f, type *const *types) {
    for (size_t i = 0; i < g->specializations.len; i++) {
        const specialization *s = &g->specializations.data[i];
        bool same = s->of == f;
        for (int k = 0; same && k < f->schema->nargs; k++)
            same = s->made->schema->args[k].type == types[k];
        if (same) return s->made;
    }
    return NULL;
}

static function *special_declare(program *g, function *f, type *const *types) {
    enum { MOST = 1000 };
    const scope *s = f->scope;
    unit *u = g->unit;
    if (g->specializations.len >= MOST)
        return source_fail(g, f->range, "'%s' is called with too many kinds of arguments", f->name);
    const char *name = f->cls ? arena_printf(&u->arena, "%s__typed_%zu", f->qualified,
                                             g->specializations.len)
                              : source_qualify(g, s->fn->u.fn->module, f->name);
    function *made = source_declare(g, s->fn, name, f->cls, s->module);
    if (!made) return NULL;
    for (int i = 0; i < made->schema->nargs; i++) {
        made->schema->args[i].type = types[i];
        made->schema->args[i].inferred = false;
    }
    specialization one = {f, made};
    if ((f->cls && !avec_push(&u->arena, &f->cls->cls->methods, made)) ||
        !avec_push(&u->arena, &g->specializations, one))
        return diag_no_memory(g->py.diag), NULL;
    return made;
}

function *source_specialized(emitter *e, function *f, int nargs, const actual *args) {
    if (!f->scope || !f->schema || (f->cls && f->cls->kind == T_INTERFACE)) return NULL;
    type **types = special_types(e, f, nargs, args);
    if (!types) return NULL;
    program *g = ((const scope *)f->scope)->prog;
    function *known = special_known(g, f, types);
    if (known) return known;
    diag d = {0}, *outer = diag_redirect(&g->py.diag, &d);
    function *made = special_declare(g, f, types);
    diag_restore(&g->py.diag, outer);
    diag_clear(&d);
    return made;
}

void source_refused(emitter *e, const function *f) {
    program *g = ((const scope *)e->scope)->prog;
    while (e->caller) e = e->caller;
    if (e->fn && !ptrmap_get(&g->callers, f) && !ptrmap_put(&g->callers, f, e->fn))
        diag_no_memory(e->diag);
}

bool source_given_up(program *g, function *f) {
    bool given_up = false;
    for (size_t i = 0; i < g->specializations.len && !given_up; i++) {
        const specialization *s = &g->specializations.data[i];
        given_up = s->made == f || (s->of == f && s->made->state == FUNCTION_READY);
    }
    const function *caller = ptrmap_get(&g->callers, f);
    const scope *s = f->scope;
    if (caller && caller->state == FUNCTION_READY && s->fn->u.fn->mode != PY_EXPORT)
        given_up = true;
    if (!given_up) return false;
    for (size_t k = 0; f->cls && k < f->cls->cls->methods.len; k++) {
        if (f->cls->cls->methods.data[k] != f) continue;
        f->cls->cls->methods.len--;
        memmove(f->cls->cls->methods.data + k, f->cls->cls->methods.data + k + 1,
                (f->cls->cls->methods.len - k) * sizeof(function *));
    }
    return true;
}
