/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interp_ops.c - instructions on objects, containers, output and exceptions.
 * Tests: tests/unit/test_interp.c
 */
#include "runtime/interp/interp_internal.h"

#include <inttypes.h>

/* ---- objects --------------------------------------------------------------------------------- */

/* The slot that a site's attribute has in the object; the class was fixed at translation, the
 * object's size is checked all the same. */
static ctsc_status object_slot(frame *f, const site *s, value **slot) {
    const value *v = site_arg(f, s, 0);
    if (v->tag != V_OBJECT || (uint64_t)s->imm >= v->u.object->nslots)
        return diag_fail(f->in->d, CTSC_INTERNAL, "the value has no attribute '%s'", s->name);
    *slot = &v->u.object->slots[s->imm];
    return CTSC_OK;
}

ctsc_status bc_get_attr(frame *f, const site *s) {
    value *slot;
    TRY(object_slot(f, s, &slot));
    if (slot->tag == V_UNINIT)
        return diag_fail(f->in->d, CTSC_FAILED, "attribute '%s' was read before it was assigned",
                         s->name);
    value v = value_ref(*slot);
    site_release(f, s);
    site_result(f, s, 0, v);
    return CTSC_OK;
}

ctsc_status bc_set_attr(frame *f, const site *s) {
    value *slot;
    TRY(object_slot(f, s, &slot));
    value v = site_take(f, s, 1);
    value_set(slot, v);
    site_release(f, s);
    return CTSC_OK;
}

ctsc_status bc_new_object(frame *f, const site *s) {
    if (s->type->kind != T_CLASS)
        return diag_fail(f->in->d, CTSC_INTERNAL, "prim::CreateObject needs a class");
    object *o = object_new(s->type, s->type->cls->attributes.len);
    if (!o) return diag_no_memory(f->in->d);
    site_result(f, s, 0, value_object_take(o));
    return CTSC_OK;
}

ctsc_status bc_container_index(frame *f, const site *s) {
    const value *container = site_arg(f, s, 0), *index = site_arg(f, s, 1);
    strbuf name = STRBUF_INIT;
    if (index->tag == V_INT) sb_printf(&name, "%" PRId64, index->u.i);
    else if (index->tag == V_STR) sb_write(&name, index->u.str->bytes, index->u.str->len);
    ctsc_status st = CTSC_OK;
    value v = value_none();
    if (name.failed) {
        st = diag_no_memory(f->in->d);
    } else {
        const object *o = container->tag == V_OBJECT ? container->u.object : NULL;
        int slot = o ? class_find_attribute(o->cls, sb_str(&name)) : -1;
        if (slot >= 0 && (size_t)slot < o->nslots) v = value_ref(o->slots[slot]);
        else
            st = diag_fail(f->in->d, CTSC_FAILED, "the module container has no member '%s'",
                           sb_str(&name));
    }
    sb_free(&name);
    if (st != CTSC_OK) return st;
    site_release(f, s);
    site_result(f, s, 0, v);
    return CTSC_OK;
}

static bool site_isinstance(frame *f, const site *s) {
    bool fits = false;
    for (int i = 0; i < s->ntypes && !fits; i++)
        fits = type_admits_value(f->c->types.data[s->types + i], *site_arg(f, s, 0));
    return fits;
}

ctsc_status bc_isinstance(frame *f, const site *s) {
    bool fits = site_isinstance(f, s);
    site_release(f, s);
    site_result(f, s, 0, value_bool(fits));
    return CTSC_OK;
}

ctsc_status bc_cast(frame *f, const site *s) {
    const value *v = site_arg(f, s, 0);
    bool fits = s->ntypes ? site_isinstance(f, s) : v->tag != V_NONE;
    value taken = site_take(f, s, 0);
    if (!fits) {
        value_unref(taken);
        taken = value_uninit();
    }
    site_result(f, s, 0, taken);
    return CTSC_OK;
}

ctsc_status bc_check(frame *f, const site *s) {
    if (site_arg(f, s, 0)->tag != V_UNINIT) return CTSC_OK;
    return diag_fail(
        f->in->d, CTSC_BAD_FILE,
        "this reads a value that is not initialized, or not of the type that it is cast to");
}

/* ---- lists, tuples, dicts -------------------------------------------------------------------- */

ctsc_status bc_new_list(frame *f, const site *s) {
    type *elem = s->type->kind == T_LIST ? type_elem(s->type) : NULL;
    list_kind kind = elem ? type_list_kind(elem) : LIST_VALUE;
    list *l = list_new(kind, elem, (size_t)s->nargs);
    if (!l) return diag_no_memory(f->in->d);
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < s->nargs && st == CTSC_OK; i++) {
        if (!list_fits(kind, *site_arg(f, s, i)))
            st = diag_fail(f->in->d, CTSC_INTERNAL, "element %d does not fit the list's type", i);
        else if (!list_append_take(l, site_take(f, s, i))) st = diag_no_memory(f->in->d);
    }
    if (st != CTSC_OK) value_unref(value_list_take(l));
    else site_result(f, s, 0, value_list_take(l));
    return st;
}

ctsc_status bc_new_tuple(frame *f, const site *s) {
    bool named = s->type && s->type->kind == T_TUPLE && s->type->field_names;
    tuple *t = tuple_new((size_t)s->nargs, named ? s->type : NULL);
    if (!t) return diag_no_memory(f->in->d);
    for (int i = 0; i < s->nargs; i++) t->items[i] = site_take(f, s, i);
    site_result(f, s, 0, value_tuple_take(t));
    return CTSC_OK;
}

ctsc_status bc_new_dict(frame *f, const site *s) {
    bool typed = s->type->kind == T_DICT;
    dict *d = dict_new(typed ? s->type->elems[0] : NULL, typed ? s->type->elems[1] : NULL);
    if (!d) return diag_no_memory(f->in->d);
    for (int i = 0; i + 1 < s->nargs; i += 2) {
        value key = site_take(f, s, i);
        if (dict_set_take(d, key, site_take(f, s, i + 1))) continue;
        value_unref(value_dict_take(d));
        return diag_no_memory(f->in->d);
    }
    site_result(f, s, 0, value_dict_take(d));
    return CTSC_OK;
}

ctsc_status bc_unpack_list(frame *f, const site *s) {
    const value *v = site_arg(f, s, 0);
    if (v->tag != V_LIST)
        return diag_fail(f->in->d, CTSC_INTERNAL, "prim::ListUnpack needs a list");
    list *l = v->u.list;
    if (l->len != (size_t)s->nresults)
        return diag_fail(f->in->d, CTSC_FAILED, "Expected %d elements in a list but found %zu",
                         s->nresults, l->len);
    for (int i = 0; i < s->nresults; i++) site_result(f, s, i, list_get(l, (size_t)i));
    site_release(f, s);
    return CTSC_OK;
}

static ctsc_status site_tuple(frame *f, const site *s, const tuple **t) {
    const value *v = site_arg(f, s, 0);
    if (v->tag != V_TUPLE) return diag_fail(f->in->d, CTSC_INTERNAL, "the value is not a tuple");
    *t = v->u.tuple;
    return CTSC_OK;
}

ctsc_status bc_unpack_tuple(frame *f, const site *s) {
    const tuple *t = NULL;
    TRY(site_tuple(f, s, &t));
    if (t->len != (size_t)s->nresults)
        return diag_fail(f->in->d, CTSC_FAILED, "Expected %d elements in a tuple but found %zu",
                         s->nresults, t->len);
    for (int i = 0; i < s->nresults; i++) site_result(f, s, i, value_ref(t->items[i]));
    site_release(f, s);
    return CTSC_OK;
}

ctsc_status bc_tuple_index(frame *f, const site *s) {
    const tuple *t = NULL;
    TRY(site_tuple(f, s, &t));
    const value *index = site_arg(f, s, 1);
    int64_t n = (int64_t)t->len, k = index->tag == V_INT ? index->u.i : n;
    if (k < 0) k += n;
    if (k < 0 || k >= n) return diag_fail(f->in->d, CTSC_FAILED, "Tuple list index out of range");
    value v = value_ref(t->items[k]);
    site_release(f, s);
    site_result(f, s, 0, v);
    return CTSC_OK;
}

static int64_t slice_bound(int64_t k, int64_t n) {
    if (k < 0) k += n;
    return k < 0 ? 0 : k > n ? n : k;
}

ctsc_status bc_tuple_slice(frame *f, const site *s) {
    const tuple *t = NULL;
    TRY(site_tuple(f, s, &t));
    int64_t n = (int64_t)t->len, begin = slice_bound(s->imm, n), end = slice_bound(s->imm2, n);
    size_t len = end > begin ? (size_t)(end - begin) : 0;
    tuple *out = tuple_new(len, NULL);
    if (!out) return diag_no_memory(f->in->d);
    for (size_t i = 0; i < len; i++) out->items[i] = value_ref(t->items[begin + (int64_t)i]);
    site_release(f, s);
    site_result(f, s, 0, value_tuple_take(out));
    return CTSC_OK;
}

/* ---- tolist ---------------------------------------------------------------------------------- */

typedef struct tolist {
    const char *data;
    const tensor *t; /* contiguous */
    size_t at;       /* element reached */
} tolist;

/* false: out of memory. */
static bool tolist_complex(double re, double im, value *out) {
    complex_box *c = complex_new(re, im);
    if (c) *out = (value){.tag = V_COMPLEX, .u.complex = c};
    return c != NULL;
}

static value tolist_number(const tolist *w, size_t i) {
    switch (w->t->dtype) {
    case DT_UINT8: return value_int(((const uint8_t *)w->data)[i]);
    case DT_INT8: return value_int(((const int8_t *)w->data)[i]);
    case DT_INT16: return value_int(((const int16_t *)w->data)[i]);
    case DT_INT32: return value_int(((const int32_t *)w->data)[i]);
    case DT_INT64: return value_int(((const int64_t *)w->data)[i]);
    case DT_BOOL: return value_bool(((const uint8_t *)w->data)[i] != 0);
    case DT_FLOAT16: return value_float(float16_to_float(((const float16 *)w->data)[i]));
    case DT_BFLOAT16: return value_float(bfloat16_to_float(((const bfloat16 *)w->data)[i]));
    case DT_FLOAT32: return value_float(((const float *)w->data)[i]);
    default: return value_float(((const double *)w->data)[i]);
    }
}

static bool tolist_element(tolist *w, value *out) {
    size_t i = w->at++;
    const float *f = (const void *)w->data;
    const double *d = (const void *)w->data;
    if (w->t->dtype == DT_COMPLEX64) return tolist_complex(f[2 * i], f[2 * i + 1], out);
    if (w->t->dtype == DT_COMPLEX128) return tolist_complex(d[2 * i], d[2 * i + 1], out);
    *out = tolist_number(w, i);
    return true;
}

/* The part of the tensor from dimension dim on. false: out of memory. */
static bool tolist_build(tolist *w, type *t, int dim, value *out) {
    if (dim == w->t->ndim) return tolist_element(w, out);
    type *elem = type_elem(t);
    int64_t n = w->t->sizes[dim];
    list *l = list_new(type_list_kind(elem), elem, (size_t)n);
    if (!l) return false;
    for (int64_t i = 0; i < n; i++) {
        value v;
        if (tolist_build(w, elem, dim + 1, &v) && list_append_take(l, v)) continue;
        value_unref(value_list_take(l));
        return false;
    }
    *out = value_list_take(l);
    return true;
}

static bool tolist_dtype_fits(dtype dt, type_kind k) {
    if (k == T_FLOAT) return dtype_is_float(dt);
    if (k == T_COMPLEX) return dt == DT_COMPLEX64 || dt == DT_COMPLEX128;
    if (k == T_BOOL) return dt == DT_BOOL;
    return k == T_INT && dt == DT_INT64;
}

/* The result's static type says how deep and of what the lists are to be. */
ctsc_status bc_tolist(frame *f, const site *s) {
    const value *v = s->nargs ? site_arg(f, s, 0) : NULL;
    if (!v || v->tag != V_TENSOR)
        return diag_fail(f->in->d, CTSC_FAILED, "tolist() of None (or an undefined Tensor in C++)");
    const tensor *t = v->u.tensor;
    type *base = s->type;
    int dims = 0;
    for (; base->kind == T_LIST; base = type_elem(base)) dims++;
    if (!tolist_dtype_fits(t->dtype, base->kind))
        return diag_fail(f->in->d, CTSC_FAILED,
                         "Output annotation element type and runtime tensor element "
                         "type must match for tolist()");
    if (dims != t->ndim)
        return diag_fail(f->in->d, CTSC_FAILED,
                         "Output annotation list dimension and runtime tensor "
                         "dimension must match for tolist()");
    tensor *here = NULL, *c = NULL;
    TRY(tensor_to_device(f->in->d, v->u.tensor, DEVICE_HOST, &here));
    ctsc_status st = tensor_contiguous(f->in->d, here, &c);
    tensor_unref(here);
    if (st != CTSC_OK) return st;
    tolist w = {.data = tensor_data(c), .t = c};
    value out;
    bool ok = tolist_build(&w, s->type, 0, &out);
    tensor_unref(c);
    if (!ok) return diag_no_memory(f->in->d);
    site_release(f, s);
    site_result(f, s, 0, out);
    return CTSC_OK;
}

/* ---- output, exceptions ---------------------------------------------------------------------- */

ctsc_status bc_print(frame *f, const site *s) {
    strbuf text = STRBUF_INIT;
    for (int i = 0; i < s->nargs; i++) {
        if (i) sb_putc(&text, ' ');
        value_print(*site_arg(f, s, i), &text);
    }
    sb_putc(&text, '\n');
    runtime *rt = f->in->rt;
    bool ok = !text.failed;
    if (ok && rt->print) rt->print(rt->sink_ctx, text.data, text.len);
    sb_free(&text);
    if (!ok) return diag_no_memory(f->in->d);
    site_release(f, s);
    for (int i = 0; i < s->nresults; i++) site_result(f, s, i, value_none());
    return CTSC_OK;
}

/* (message, qualified class name or None) */
ctsc_status bc_raise(frame *f, const site *s) {
    diag *d = f->in->d;
    const value *msg = s->nargs > 0 ? site_arg(f, s, 0) : NULL;
    const value *cls = s->nargs > 1 ? site_arg(f, s, 1) : NULL;
    strbuf text = STRBUF_INIT;
    if (msg) value_print(*msg, &text);
    ctsc_status st = text.failed ? diag_no_memory(d)
                                 : diag_fail(d, CTSC_FAILED, "%s", sb_str(&text));
    sb_free(&text);
    if (cls && cls->tag == V_STR && !d->exception) d->exception = mem_strdup(cls->u.str->bytes);
    return st;
}
