/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - the tensors of a module by name, as PyTorch's parameters() and state_dict() have them.
 *
 * Tests: tests/unit/test_grad_api.c, tests/cli/convert.test
 */
#include "runtime/program/module.h"

enum { STATE_MAX_DEPTH = 200, STATE_MAX_OBJECTS = 1 << 20 };

/* Walks a module as PyTorch does: its own tensors, parameters first, then its submodules. */
typedef struct state_walk {
    diag *d;
    dict *names; /* what is collected, one of the two */
    list *tensors;
    bool buffers; /* those as well */
    strbuf name;
    ptrmap seen; /* of modules and tensors */
    int depth, objects;
} state_walk;

static ctsc_status walk_add(state_walk *w, const value *v) {
    bool once = !w->buffers; /* state_dict has shared tensors under all their names */
    if (once && ptrmap_get(&w->seen, v->u.tensor)) return CTSC_OK;
    bool ok = !once || ptrmap_put(&w->seen, v->u.tensor, v->u.tensor);
    if (ok && w->tensors)
        return list_append_take(w->tensors, value_ref(*v)) ? CTSC_OK : diag_no_memory(w->d);
    str *s = ok ? str_new(sb_str(&w->name), w->name.len) : NULL;
    return s && dict_set_take(w->names, value_str_take(s), value_ref(*v)) ? CTSC_OK
                                                                          : diag_no_memory(w->d);
}

static ctsc_status walk_object(state_walk *w, const object *o);

/* The attributes of one kind: 0 parameters, 1 buffers, 2 submodules. */
static ctsc_status walk_kind(state_walk *w, const object *o, int kind) {
    ctsc_status s = CTSC_OK;
    size_t base = w->name.len;
    for (size_t i = 0; i < o->nslots && s == CTSC_OK; i++) {
        const attribute *a = &o->cls->cls->attributes.data[i];
        const value *v = &o->slots[i];
        bool module = v->tag == V_OBJECT && a->type->kind == T_CLASS && a->type->cls->is_module;
        if (!(kind == 2 ? module : v->tag == V_TENSOR && (kind ? a->is_buffer : a->is_parameter)))
            continue;
        sb_printf(&w->name, "%s%s", base ? "." : "", a->name);
        s = w->name.failed ? diag_no_memory(w->d)
            : module       ? walk_object(w, v->u.object)
                           : walk_add(w, v);
        w->name.len = base;
        if (w->name.data) w->name.data[base] = '\0';
    }
    return s;
}

static ctsc_status walk_object(state_walk *w, const object *o) {
    ctsc_status s = CTSC_OK;
    if (w->depth >= STATE_MAX_DEPTH) return CTSC_OK;
    if (w->buffers) { /* state_dict has shared modules under all their names */
        if (++w->objects > STATE_MAX_OBJECTS)
            return diag_fail(w->d, CTSC_LIMIT, "the module has more than %d parts",
                             STATE_MAX_OBJECTS);
    } else {
        if (ptrmap_get(&w->seen, o)) return CTSC_OK;
        if (!ptrmap_put(&w->seen, o, (void *)o)) return diag_no_memory(w->d);
    }
    w->depth++;
    for (int kind = 0; kind < 3 && s == CTSC_OK; kind++)
        if (kind != 1 || w->buffers) s = walk_kind(w, o, kind);
    w->depth--;
    return s;
}

ctsc_status module_tensors(const module *m, diag *d, bool named, bool buffers, value *out) {
    state_walk w = {.d = d, .buffers = buffers};
    if (named) w.names = dict_new(TYPE_STR, TYPE_TENSOR);
    else w.tensors = list_new(LIST_TENSOR, TYPE_TENSOR, 16);
    ctsc_status s = w.names || w.tensors ? walk_object(&w, m->root.u.object) : diag_no_memory(d);
    value v = named ? value_dict_take(w.names) : value_list_take(w.tensors);
    if (s == CTSC_OK) *out = v;
    else if (w.names || w.tensors) value_unref(v);
    sb_free(&w.name);
    ptrmap_free(&w.seen);
    return s;
}
