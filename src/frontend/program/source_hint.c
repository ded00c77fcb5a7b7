/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_hint.c - notes about attributes: where a class gives one its value, and what would give
 * it another type.
 *
 * The type of a module's attribute comes from the value that __init__ left in it, unless the class
 * body declares it: the note is what a reader of an error about it needs.
 * Tests: tests/lang/errors_attributes.py
 */
#include "frontend/program/source.h"

static bool hint_is_target(const expr *x, const char *name) {
    if (x->kind == E_TUPLE || x->kind == E_LIST) {
        for (size_t i = 0; i < x->items.len; i++)
            if (hint_is_target(x->items.data[i], name)) return true;
        return false;
    }
    return x->kind == E_ATTR && x->a->kind == E_NAME && !strcmp(x->a->name, "self") &&
           !strcmp(x->name, name);
}

/* The first `self.name = ...` in body. */
static const stmt *hint_assignment(const stmt_list *body, const char *name) {
    for (size_t i = 0; i < body->len; i++) {
        const stmt *st = body->data[i];
        bool assigns = st->kind == S_ASSIGN || st->kind == S_ANN_ASSIGN;
        for (size_t k = 0; assigns && k < st->targets.len; k++)
            if (hint_is_target(st->targets.data[k], name)) return st;
        const stmt *inner = hint_assignment(&st->body, name);
        if (!inner) inner = hint_assignment(&st->orelse, name);
        if (inner) return inner;
    }
    return NULL;
}

static const stmt *hint_in_class(const py_object *cls, const char *name) {
    const py_object *init = py_dict_get(cls->u.cls->attrs, "__init__");
    return init && init->kind == PY_FUNCTION && init->u.fn->def
               ? hint_assignment(&init->u.fn->def->body, name)
               : NULL;
}

static const stmt *hint_find(const py_object *cls, const char *name) {
    for (size_t i = 0; cls && i < cls->u.cls->mro.len; i++) {
        const stmt *st = hint_in_class(cls->u.cls->mro.data[i], name);
        if (st) return st->range.src && st->range.src->library ? NULL : st;
    }
    return NULL;
}

static const py_object *hint_class(const emitter *e, const type *cls) {
    const module_type *m = cls->cls->source;
    if (m) return m->py_class;
    const class_source *cs = source_class_of(e->scope->prog, cls);
    return cs ? cs->cls : NULL;
}

void source_hint_assigned(emitter *e, const type *cls, const char *name, const type *was,
                          const type *is) {
    const stmt *st = e->scope ? hint_find(hint_class(e, cls), name) : NULL;
    if (!st) return;
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    type_print_python(was, &a);
    type_print_python(is, &b);
    if (was->kind == T_NONE)
        diag_note(e->diag, st->range,
                  "'%s' is None here, so that its type is NoneType: declare %s: Optional[%s] in "
                  "the class body",
                  name, name, sb_str(&b));
    else diag_note(e->diag, st->range, "'%s' gets its type, %s, here", name, sb_str(&a));
    sb_free(&a);
    sb_free(&b);
}

static bool hint_all_modules(const py_object *o) {
    if (o->kind == PY_LIST || o->kind == PY_TUPLE) {
        for (size_t i = 0; i < o->u.seq.items.len; i++)
            if (!source_is_module(o->u.seq.items.data[i])) return false;
        return o->u.seq.items.len > 0;
    }
    if (o->kind != PY_DICT) return false;
    for (size_t i = 0; i < o->u.dict->entries.len; i++)
        if (o->u.dict->entries.data[i].key && !source_is_module(o->u.dict->entries.data[i].val))
            return false;
    return o->u.dict->len > 0;
}

static bool hint_empty(const py_object *o) {
    return (o->kind == PY_LIST && !o->u.seq.items.len) || (o->kind == PY_DICT && !o->u.dict->len);
}

void source_hint_untyped(emitter *e, const module_type *m, const char *name) {
    const py_object *o = py_dict_get(m->instance->u.inst.attrs, name);
    const stmt *st = hint_find(m->py_class, name);
    source_range at = st ? st->range : (source_range){0};
    bool dict = o && o->kind == PY_DICT;
    if (!o) return;
    if (hint_all_modules(o))
        diag_note(e->diag, at, "a %s of modules is not part of the model: make it an nn.Module%s",
                  dict ? "dict" : "list", dict ? "Dict" : "List");
    else if (hint_empty(o))
        diag_note(e->diag, at,
                  "it is empty here: declare its type in the class body, as in '%s: %s'", name,
                  dict ? "Dict[str, Tensor]" : "List[Tensor]");
    else if (st) diag_note(e->diag, at, "'%s' gets its value here", name);
}

bool source_has_member(const emitter *e, const char *name) {
    const module_type *m = e->scope ? e->scope->module : NULL;
    return m && (class_find_attribute(m->cls, name) >= 0 || py_class_find(m->py_class, name));
}
