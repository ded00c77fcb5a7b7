/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform.c - makes unpickled values what the static types of a program say they are.
 *
 * A pickle says little about types: before file version 3 a List[int] is a plain list, a named
 * tuple is always a plain tuple, an untagged list loads at any version. Compiled code relies on
 * static types without looking again, so whatever enters an attribute is checked here, deeply, and
 * adjusted where the type asks for a representation: flat lists, element types of containers, names
 * of tuples.
 *
 * Invariant: a list or dict that is reachable under two static types is refused unless they are the
 * same; else code compiled for one would see what code compiled for the other stored. Tests:
 * tests/unit/test_pickle.c, tests/corpus
 */
#include "runtime/archive/pickle_internal.h"

typedef struct conform_settled {
    value from; /* a reference, so that its address stays taken */
    type *t;
    value to; /* tuples: what it became, a reference; else None */
} conform_settled;

typedef struct conform_at {
    conformer *c;
    const char *owner, *name;
    int depth;
} conform_at;

static ctsc_status conform_value(conform_at *at, type *t, value *v);

void conformer_free(conformer *c) {
    for (size_t i = 0; i < c->all.len; i++) {
        value_unref(c->all.data[i]->from);
        value_unref(c->all.data[i]->to);
        mem_free(c->all.data[i]);
    }
    vec_free(&c->all);
    ptrmap_free(&c->settled);
}

static ctsc_status conform_mismatch(conform_at *at, const type *t, value v) {
    strbuf want = STRBUF_INIT, got = STRBUF_INIT;
    type_print_python(t, &want);
    type *found = type_of_value(v);
    if (found) type_print_python(found, &got);
    ctsc_status s = diag_fail(
        at->c->d, CTSC_BAD_FILE,
        "%s: attribute '%s' of %s should be of type '%s', but the value is of type '%s'",
        at->c->record, at->name, at->owner, sb_str(&want), sb_str(&got));
    sb_free(&want);
    sb_free(&got);
    return s;
}

/* Notes that v is a t from now on; takes no references of the caller's. */
static ctsc_status conform_settle(conform_at *at, value from, type *t, value to) {
    conform_settled *e = mem_alloc(sizeof *e);
    if (!e) return diag_no_memory(at->c->d);
    *e = (conform_settled){value_ref(from), t, value_ref(to)};
    if (!vec_push(&at->c->all, e)) {
        value_unref(e->from);
        value_unref(e->to);
        mem_free(e);
        return diag_no_memory(at->c->d);
    }
    return ptrmap_put(&at->c->settled, from.u.refs, e) ? CTSC_OK : diag_no_memory(at->c->d);
}

static ctsc_status conform_list(conform_at *at, type *t, value *v) {
    if (v->tag != V_LIST) return conform_mismatch(at, t, *v);
    const conform_settled *seen = ptrmap_get(&at->c->settled, v->u.refs);
    if (seen) return seen->t == t ? CTSC_OK : conform_mismatch(at, t, *v);
    list *l = v->u.list;
    bool ok;
    ctsc_status s = list_retype(at->c->d, l, type_list_kind(type_elem(t)), type_elem(t), &ok);
    if (s == CTSC_OK && !ok) s = conform_mismatch(at, t, *v);
    if (s == CTSC_OK) s = conform_settle(at, *v, t, value_none());
    for (size_t i = 0; s == CTSC_OK && l->kind == LIST_VALUE && i < l->len; i++)
        s = conform_value(at, type_elem(t), &l->u.values[i]);
    return s;
}

static ctsc_status conform_dict(conform_at *at, type *t, value *v) {
    if (v->tag != V_DICT) return conform_mismatch(at, t, *v);
    const conform_settled *seen = ptrmap_get(&at->c->settled, v->u.refs);
    if (seen) return seen->t == t ? CTSC_OK : conform_mismatch(at, t, *v);
    dict *di = v->u.dict;
    dict_set_types(di, t->elems[0], t->elems[1]);
    ctsc_status s = conform_settle(at, *v, t, value_none());
    for (size_t i = 0; s == CTSC_OK && i < di->used; i++) {
        dict_entry *e = &di->entries[i];
        if (e->key.tag == V_UNINIT) continue;
        if (!type_admits_value(t->elems[0], e->key)) s = conform_mismatch(at, t->elems[0], e->key);
        if (s == CTSC_OK) s = conform_value(at, t->elems[1], &e->val);
    }
    return s;
}

/* Tuples cannot be changed: one with a name, or with parts that became something else, is made
 * anew. */
static ctsc_status conform_tuple(conform_at *at, type *t, value *v) {
    if (v->tag != V_TUPLE || v->u.tuple->len != (size_t)t->nelems)
        return conform_mismatch(at, t, *v);
    const conform_settled *seen = ptrmap_get(&at->c->settled, v->u.refs);
    if (seen && seen->t == t) {
        value_set(v, value_ref(seen->to));
        return CTSC_OK;
    }
    const tuple *from = v->u.tuple;
    tuple *made = tuple_new(from->len, t->field_names ? t : NULL);
    if (!made) return diag_no_memory(at->c->d);
    bool same = from->type == made->type;
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < from->len; i++) made->items[i] = value_ref(from->items[i]);
    for (size_t i = 0; i < from->len && s == CTSC_OK; i++) {
        s = conform_value(at, t->elems[i], &made->items[i]);
        if (value_is_counted(from->items[i]) && made->items[i].u.refs != from->items[i].u.refs)
            same = false;
    }
    value result = same ? value_ref(*v) : value_tuple_take(made);
    if (same) value_unref(value_tuple_take(made));
    if (s == CTSC_OK && !seen) s = conform_settle(at, *v, t, result);
    if (s == CTSC_OK) value_set(v, result);
    else value_unref(result);
    return s;
}

/* The first member that fits as it is, else the first container type that can be made to fit. */
static ctsc_status conform_union(conform_at *at, type *t, value *v) {
    for (int i = 0; i < t->nelems; i++)
        if (type_admits_value(t->elems[i], *v)) return conform_value(at, t->elems[i], v);
    for (int i = 0; i < t->nelems; i++) {
        type *m = t->elems[i];
        if ((m->kind == T_LIST && v->tag == V_LIST) || (m->kind == T_DICT && v->tag == V_DICT) ||
            (m->kind == T_TUPLE && v->tag == V_TUPLE)) {
            diag *outer = diag_redirect(&at->c->d, NULL);
            ctsc_status s = conform_value(at, m, v);
            diag_restore(&at->c->d, outer);
            if (s == CTSC_OK) return s;
        }
    }
    return conform_mismatch(at, t, *v);
}

/* Under Any a value keeps the type it has. That is noted as well: the program may find out by
 * isinstance, and use it under that type. */
static ctsc_status conform_any(conform_at *at, value v) {
    if ((v.tag != V_LIST && v.tag != V_DICT && v.tag != V_TUPLE) ||
        ptrmap_get(&at->c->settled, v.u.refs))
        return CTSC_OK;
    type *t = NULL; /* not known: no static type will equal it */
    if (v.tag == V_LIST && v.u.list->elem) t = type_list(v.u.list->elem);
    else if (v.tag == V_DICT && v.u.dict->key_type && v.u.dict->val_type)
        t = type_dict(v.u.dict->key_type, v.u.dict->val_type);
    ctsc_status s = conform_settle(at, v, t, v.tag == V_TUPLE ? v : value_none());
    if (v.tag == V_LIST && v.u.list->kind == LIST_VALUE)
        for (size_t i = 0; i < v.u.list->len && s == CTSC_OK; i++)
            s = conform_value(at, TYPE_ANY, &v.u.list->u.values[i]);
    if (v.tag == V_TUPLE)
        for (size_t i = 0; i < v.u.tuple->len && s == CTSC_OK; i++)
            s = conform_value(at, TYPE_ANY, &v.u.tuple->items[i]);
    if (v.tag == V_DICT)
        for (size_t i = 0; i < v.u.dict->used && s == CTSC_OK; i++)
            if (v.u.dict->entries[i].key.tag != V_UNINIT)
                s = conform_value(at, TYPE_ANY, &v.u.dict->entries[i].val);
    return s;
}

static ctsc_status conform_value(conform_at *at, type *t, value *v) {
    if (at->depth >= 2 * PICKLE_MAX_DEPTH)
        return diag_fail(at->c->d, CTSC_LIMIT, "%s: attribute '%s' of %s is nested too deeply",
                         at->c->record, at->name, at->owner);
    ctsc_status s = CTSC_OK;
    at->depth++;
    switch (t->kind) {
    case T_LIST: s = conform_list(at, t, v); break;
    case T_DICT: s = conform_dict(at, t, v); break;
    case T_TUPLE: s = conform_tuple(at, t, v); break;
    case T_UNION: s = conform_union(at, t, v); break;
    case T_OPTIONAL:
        if (v->tag != V_NONE) s = conform_value(at, type_elem(t), v);
        break;
    case T_ANY: s = conform_any(at, *v); break;
    default:
        if (!type_admits_value(t, *v)) s = conform_mismatch(at, t, *v);
    }
    at->depth--;
    return s;
}

ctsc_status conform(conformer *c, type *t, value *v, const char *owner, const char *name) {
    return conform_value(&(conform_at){c, owner, name, 0}, t, v);
}
