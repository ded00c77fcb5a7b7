/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_recover.c - going on after a statement that does not compile, so that one run shows all
 * independent errors.
 *
 * Method. The failure is put aside and the emitter returns to where the statement began; what it
 * had emitted so far does not matter, for the function has failed. Names that the statement assigns
 * become variables with an error of their own, EMIT_SILENT: what uses them fails in turn, and is
 * not reported. (A variable from before a compound statement keeps its type in it, unless the type
 * can be refined, so it stays as it is.) A compound statement whose body had errors fails as a
 * whole, in silence, after its body has been gone through.
 * Invariants: a function whose errors are put aside fails: irgen_report turns them
 * into its failure.
 * Tests: tests/lang/errors_several.py
 */
#include "frontend/irgen/irgen.h"

#define EMIT_SILENT "this depends on an earlier error"
enum { RECOVER_MAX_ERRORS = 20 };

irgen_mark irgen_here(const emitter *e) {
    return (irgen_mark){.env = e->env,
                        .blk = e->g->insert_block,
                        .before = e->g->insert_before,
                        .loops = e->loops,
                        .unrolled = e->unrolled,
                        .depth = e->depth,
                        .returned = e->returned};
}

static void recover_poison_name(emitter *e, const char *name, source_range r) {
    variable *v = arena_new(e->scratch, variable);
    *v = (variable){.error = EMIT_SILENT, .where = r};
    /* without memory the name is unknown, and the function fails all the same */
    strmap_put(&e->env->vars, name, v);
}

static void recover_poison_target(emitter *e, const expr *x, bool inner) {
    if (!x) return;
    if (x->kind == E_STARRED) recover_poison_target(e, x->a, inner);
    for (size_t i = 0; (x->kind == E_TUPLE || x->kind == E_LIST) && i < x->items.len; i++)
        recover_poison_target(e, x->items.data[i], inner);
    if (x->kind != E_NAME) return;
    const variable *before = inner ? irgen_find_variable(e, x->name) : NULL;
    if (before && before->type && before->type->kind != T_OPTIONAL && before->type->kind != T_UNION)
        return;
    recover_poison_name(e, x->name, x->range);
}

/* Variables whose types a condition may have refined for what follows: `if x is
 * None: return ...`. */
static void recover_poison_refined(emitter *e, const expr *x) {
    if (!x) return;
    const variable *v = x->kind == E_NAME ? irgen_find_variable(e, x->name) : NULL;
    if (v && v->type &&
        (v->type->kind == T_OPTIONAL || v->type->kind == T_UNION || v->type->kind == T_ANY))
        recover_poison_name(e, x->name, x->range);
    recover_poison_refined(e, x->a);
    recover_poison_refined(e, x->b);
    for (size_t i = 0; i < x->items.len; i++) recover_poison_refined(e, x->items.data[i]);
}

/* What definitions and imports within a function would have named. */
static void recover_poison_defined(emitter *e, const stmt *st) {
    const char *name = st->def ? st->def->name : st->cls ? st->cls->name : NULL;
    if (name) recover_poison_name(e, name, st->range);
    for (size_t i = 0; i < st->imports.len; i++) {
        const import_name *m = &st->imports.data[i];
        name = m->alias ? m->alias : m->name ? m->name : m->module;
        if (name)
            recover_poison_name(e, arena_printf(e->scratch, "%.*s", (int)strcspn(name, "."), name),
                                st->range);
    }
}

static void recover_poison(emitter *e, const stmt *st, bool inner) {
    inner = inner || st->kind == S_FOR;
    if (st->kind == S_IF || st->kind == S_ASSERT || st->kind == S_WHILE)
        recover_poison_refined(e, st->value);
    recover_poison_defined(e, st);
    for (size_t i = 0; st->kind != S_DELETE && i < st->targets.len; i++)
        recover_poison_target(e, st->targets.data[i], inner);
    for (size_t i = 0; st->kind == S_WITH && i < st->items.len; i++)
        recover_poison_target(e, st->items.data[i].target, inner);
    for (size_t i = 0; i < st->body.len; i++) recover_poison(e, st->body.data[i], true);
    for (size_t i = 0; i < st->orelse.len; i++) recover_poison(e, st->orelse.data[i], true);
}

/* Is all of it the consequence of errors that are known? */
static bool recover_is_silent(const diag *d) { return !strcmp(diag_message(d), EMIT_SILENT); }

/* What a statement of the program mentions of ctsc's own may be what cannot be compiled: the
 * statement is the place to show then. */
static void recover_blame(emitter *e, const stmt *st) {
    bool inside = e->diag->items.len && st->range.src && !st->range.src->library;
    for (size_t i = 0; inside && i < e->diag->items.len; i++) {
        const source *src = e->diag->items.data[i].range.src;
        inside = src ? src->library : i > 0;
    }
    if (inside) diag_frame(e->diag, st->range, e->fn ? e->fn->name : "");
}

bool irgen_recover(emitter *e, const irgen_mark *at, const stmt *st) {
    ctsc_status s = e->diag->status;
    if (!e->scope || (s != CTSC_FAILED && s != CTSC_UNSUPPORTED)) return false;
    if (e->errors.items.len > 8 * RECOVER_MAX_ERRORS) return false;
    recover_blame(e, st);
    if (recover_is_silent(e->diag)) diag_clear(e->diag);
    else diag_append(&e->errors, e->diag);
    while (e->env != at->env) irgen_pop_frame(e);
    graph_set_insert(e->g, at->blk, at->before);
    e->loops = at->loops;
    e->unrolled = at->unrolled;
    e->depth = at->depth;
    e->returned = at->returned;
    recover_poison(e, st, false);
    return true;
}

bool irgen_fail_silently(emitter *e) {
    irgen_fail(e, (source_range){0}, EMIT_SILENT);
    return false;
}

void irgen_report(emitter *e) {
    if (e->errors.status == CTSC_OK) return;
    if (recover_is_silent(e->diag)) diag_clear(e->diag);
    else if (e->diag->status != CTSC_OK) diag_append(&e->errors, e->diag);
    diag_append(e->diag, &e->errors);
}
