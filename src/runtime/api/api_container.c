/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_container.c - the part of ctsc.h about dicts, objects and complex numbers, and about what
 * type a value has.
 *
 * Tests: tests/unit/test_library.c
 */
#include "ir/type.h"
#include "runtime/api/api.h"

#include <string.h>

ctsc_value *ctsc_complex_new(double real, double imaginary) {
    complex_box *c = complex_new(real, imaginary);
    return c ? api_wrap_take((value){.tag = V_COMPLEX, .u.complex = c}) : NULL;
}

double ctsc_value_real(const ctsc_value *v) {
    api_reads(v, "ctsc_value_real");
    return v && v->v.tag == V_COMPLEX ? v->v.u.complex->re : 0;
}

double ctsc_value_imaginary(const ctsc_value *v) {
    api_reads(v, "ctsc_value_imaginary");
    return v && v->v.tag == V_COMPLEX ? v->v.u.complex->im : 0;
}

static bool api_is_key(value v) {
    return v.tag == V_STR || v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL ||
           v.tag == V_COMPLEX || v.tag == V_TENSOR;
}

/* The type of all items, Any if they differ. */
static type *api_common_type(size_t n, ctsc_value *const *items) {
    type *t = n ? type_of_value(items[0]->v) : TYPE_ANY;
    for (size_t i = 1; i < n; i++)
        if (type_of_value(items[i]->v) != t) return TYPE_ANY;
    return t;
}

ctsc_value *ctsc_dict_new(size_t n, ctsc_value *const *keys, ctsc_value *const *items) {
    if (!api_all_given(n, keys) || !api_all_given(n, items)) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!api_is_key(keys[i]->v)) return NULL;
    dict *d = dict_new(api_common_type(n, keys), api_common_type(n, items));
    if (!d) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!dict_set_take(d, value_ref(keys[i]->v), value_ref(items[i]->v))) {
            value_unref(value_dict_take(d));
            return NULL;
        }
    return api_wrap_take(value_dict_take(d));
}

static const value *api_slot(const object *o, const char *name) {
    const class_info *c = o->cls->cls;
    for (size_t i = 0; i < c->attributes.len && i < o->nslots; i++)
        if (!strcmp(c->attributes.data[i].name, name) && o->slots[i].tag != V_UNINIT)
            return &o->slots[i];
    return NULL;
}

static const value *api_field(const tuple *t, const char *name) {
    for (size_t i = 0; t->type && t->type->field_names && i < t->len; i++)
        if (!strcmp(t->type->field_names[i], name)) return &t->items[i];
    return NULL;
}

ctsc_value *ctsc_value_get(const ctsc_value *v, const char *name) {
    const value *found = NULL;
    value item, key;
    switch (v && name ? (int)v->v.tag : V_NONE) {
    case V_OBJECT:
        found = api_slot(v->v.u.object, name);
        if (!found) {
            const constant_attribute *c = class_find_constant(v->v.u.object->cls, name);
            found = c ? &c->val : NULL;
        }
        break;
    case V_TUPLE: found = api_field(v->v.u.tuple, name); break;
    case V_DICT: {
        str *s = str_new(name, strlen(name));
        if (!s) return NULL;
        key = value_str_take(s);
        if (dict_get(v->v.u.dict, key, &item)) found = &item;
        value_unref(key);
        break;
    }
    default: break;
    }
    return found ? api_wrap_take(value_ref(*found)) : NULL;
}

const char *ctsc_value_name(const ctsc_value *v, size_t i) {
    if (i >= ctsc_value_len(v)) return NULL;
    if (v->v.tag == V_OBJECT) {
        const class_info *c = v->v.u.object->cls->cls;
        return i < c->attributes.len ? c->attributes.data[i].name : NULL;
    }
    if (v->v.tag != V_TUPLE || !v->v.u.tuple->type || !v->v.u.tuple->type->field_names) return NULL;
    return v->v.u.tuple->type->field_names[i];
}

char *ctsc_value_type(const ctsc_value *v) {
    strbuf sb = STRBUF_INIT;
    if (v) type_print_python(type_of_value(v->v), &sb);
    return sb_take(&sb);
}
