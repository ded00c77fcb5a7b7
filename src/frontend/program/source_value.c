/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_value.c - the evaluator's objects as runtime values of a given type.
 *
 * Ownership: results are references. One instance of a script class or a module makes one object,
 * however often it is mentioned.
 * Tests: tests/lang
 */
#include "frontend/program/source.h"

enum { VALUE_MAX_DEPTH = 60 };

static bool value_convert(program *g, source_range r, py_object *o, type *t, value *out, int depth);

static bool value_mismatch(program *g, source_range r, const py_object *o, const type *t) {
    strbuf sb = STRBUF_INIT;
    type_print_python(t, &sb);
    source_fail(g, r, "Expected a value of type '%s' but got an object of type '%s'", sb_str(&sb),
                py_type_name(o));
    sb_free(&sb);
    return false;
}

static bool value_no_memory(program *g) {
    diag_no_memory(g->py.diag);
    return false;
}

static bool value_of_list(program *g, source_range r, py_object *o, type *elem, value *out,
                          int depth) {
    size_t n = o->u.seq.items.len;
    list *l = list_new(type_list_kind(elem), elem, n);
    if (!l) return value_no_memory(g);
    for (size_t i = 0; i < n; i++) {
        value v = value_none();
        bool ok = value_convert(g, r, o->u.seq.items.data[i], elem, &v, depth + 1);
        if (ok && !list_fits((list_kind)l->kind, v)) {
            value_unref(v);
            ok = value_mismatch(g, r, o->u.seq.items.data[i], elem);
        } else if (ok && !list_append_take(l, v)) {
            ok = value_no_memory(g);
        }
        if (!ok) return value_unref(value_list_take(l)), false;
    }
    *out = value_list_take(l);
    return true;
}

static bool value_of_tuple(program *g, source_range r, py_object *o, type *t, value *out,
                           int depth) {
    size_t n = o->u.seq.items.len;
    if ((size_t)t->nelems != n) return value_mismatch(g, r, o, t);
    tuple *tp = tuple_new(n, t->field_names ? t : NULL);
    if (!tp) return value_no_memory(g);
    for (size_t i = 0; i < n; i++)
        if (!value_convert(g, r, o->u.seq.items.data[i], t->elems[i], &tp->items[i], depth + 1))
            return value_unref(value_tuple_take(tp)), false;
    *out = value_tuple_take(tp);
    return true;
}

static bool value_of_dict(program *g, source_range r, py_object *o, type *t, value *out,
                          int depth) {
    dict *d = dict_new(t->elems[0], t->elems[1]);
    if (!d) return value_no_memory(g);
    for (size_t i = 0; i < o->u.dict->entries.len; i++) {
        const py_dict_entry *en = &o->u.dict->entries.data[i];
        value k = value_none(), v = value_none();
        if (!en->key) continue;
        bool ok = value_convert(g, r, en->key, t->elems[0], &k, depth + 1);
        if (ok && !value_convert(g, r, en->val, t->elems[1], &v, depth + 1)) {
            value_unref(k);
            ok = false;
        } else if (ok && !dict_set_take(d, k, v)) {
            ok = value_no_memory(g);
        }
        if (!ok) return value_unref((value){.tag = V_DICT, .u.dict = d}), false;
    }
    *out = value_dict_take(d);
    return true;
}

static bool value_of_enum(program *g, source_range r, py_object *o, type *t, value *out) {
    const py_object *member = o->kind == PY_INSTANCE ? py_dict_get(o->u.inst.attrs, "_name_")
                                                     : NULL;
    if (!member && o->kind == PY_INSTANCE) member = py_dict_get(o->u.inst.attrs, "name");
    const char *name = py_as_text(member);
    for (size_t i = 0; name && i < t->cls->constants.len; i++)
        if (!strcmp(t->cls->constants.data[i].name, name)) {
            *out = value_ref(t->cls->enum_members[i]);
            return true;
        }
    return value_mismatch(g, r, o, t);
}

/* An instance of a script class: its attributes, as they are now. One instance makes one object. */
static bool value_of_object(program *g, source_range r, py_object *o, type *t, value *out,
                            int depth) {
    if (o->kind != PY_INSTANCE) return value_mismatch(g, r, o, t);
    if (t->cls->is_module) return source_module_object(g, r, o, out);
    object *known = ptrmap_get(&g->objects, o);
    if (known) {
        *out = value_ref(value_object_take(known));
        return true;
    }
    object *made = object_new(t, t->cls->attributes.len);
    if (!made) return value_no_memory(g);
    value v = value_object_take(made);
    if (!vec_push(&g->held, v)) return value_unref(v), value_no_memory(g);
    if (!ptrmap_put(&g->objects, o, made)) return value_no_memory(g);
    for (size_t i = 0; i < made->nslots; i++) {
        const attribute *a = &t->cls->attributes.data[i];
        py_object *av = py_dict_get(o->u.inst.attrs, a->name);
        if (!av) {
            source_fail(g, r, "the '%s' object has no attribute '%s'", class_name(t), a->name);
            return false;
        }
        if (!value_convert(g, r, av, a->type, &made->slots[i], depth + 1)) return false;
    }
    *out = value_ref(v);
    return true;
}

static bool value_of_plain(program *g, source_range r, py_object *o, type *t, value *out) {
    if (o->kind == PY_SYMBOL && t->kind == T_INT) {
        *out = value_ref(o->u.v);
        return true;
    }
    if (o->kind != PY_VALUE) return value_mismatch(g, r, o, t);
    value v = o->u.v;
    if (t->kind == T_FLOAT && v.tag == V_INT) {
        *out = value_float((double)v.u.i);
        return true;
    }
    if (!type_takes_value(t, v)) return value_mismatch(g, r, o, t);
    *out = value_ref(v);
    return true;
}

/* An object that the evaluator knows nothing of: it came with a module that was loaded. */
static bool value_of_archive(program *g, source_range r, py_object *o, type *t, value *out) {
    value v;
    if (!source_archive_value(g, o->u.v, &v)) return false;
    if (!type_admits_value(t, v)) return value_unref(v), value_mismatch(g, r, o, t);
    *out = v;
    return true;
}

static bool value_convert(program *g, source_range r, py_object *o, type *t, value *out,
                          int depth) {
    if (depth > VALUE_MAX_DEPTH) return source_fail(g, r, "the value nests too deeply");
    if (t->kind != T_OPTIONAL && o->kind == PY_VALUE &&
        (o->u.v.tag == V_OBJECT || o->u.v.tag == V_ENUM))
        return value_of_archive(g, r, o, t, out);
    switch (t->kind) {
    case T_ANY:
    case T_UNION:
    case T_NUMBER: {
        strbuf why = STRBUF_INIT;
        type *own = py_is_none(o) ? TYPE_NONE : source_infer_type(g, o, &why);
        sb_free(&why);
        if (!own || own->kind == T_UNION || !type_is_subtype(own, t))
            return value_mismatch(g, r, o, t);
        return value_convert(g, r, o, own, out, depth + 1);
    }
    case T_OPTIONAL:
        if (!py_is_none(o)) return value_convert(g, r, o, type_elem(t), out, depth + 1);
        *out = value_none();
        return true;
    case T_LIST:
        if (o->kind != PY_LIST && o->kind != PY_TUPLE) return value_mismatch(g, r, o, t);
        return value_of_list(g, r, o, type_elem(t), out, depth);
    case T_TUPLE:
        if (o->kind != PY_LIST && o->kind != PY_TUPLE) return value_mismatch(g, r, o, t);
        return value_of_tuple(g, r, o, t, out, depth);
    case T_DICT:
        if (o->kind != PY_DICT) return value_mismatch(g, r, o, t);
        return value_of_dict(g, r, o, t, out, depth);
    case T_ENUM: return value_of_enum(g, r, o, t, out);
    case T_CLASS: return value_of_object(g, r, o, t, out, depth);
    case T_INTERFACE: {
        const py_class *c = o->kind == PY_INSTANCE ? o->u.inst.cls->u.cls : NULL;
        if (c && (c->kind == PYC_MODULE || c->is_module)) return source_module_object(g, r, o, out);
        type *own = c ? source_class(g, r, o->u.inst.cls) : NULL;
        return own ? value_of_object(g, r, o, own, out, depth) : value_mismatch(g, r, o, t);
    }
    default: return value_of_plain(g, r, o, t, out);
    }
}

bool source_value(program *g, source_range r, py_object *o, type *t, value *out) {
    return value_convert(g, r, o, t, out, 0);
}
