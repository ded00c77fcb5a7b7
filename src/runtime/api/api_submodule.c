/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_submodule.c - the part of ctsc.h about what a module is made of: its object, its submodules,
 * attributes that are given another value.
 *
 * Ownership: a submodule's handle holds a reference to the handle of the whole, which alone
 * closes the unit.
 * Tests: tests/unit/test_submodule.c
 */
#include "ir/type.h"
#include "runtime/api/api.h"

#include <string.h>

void ctsc_module_free(ctsc_module *m) {
    while (m) {
        if (atomic_fetch_sub_explicit(&m->more, 1, memory_order_acq_rel) > 0) return;
        ctsc_module *whole = m->whole;
        if (whole) {
            workspace_pool_free(&m->m->workspaces);
            value_unref(m->m->root);
            mem_free(m->m);
        } else {
            module_free(m->m);
        }
        mem_free(m);
        m = whole;
    }
}

ctsc_value *ctsc_module_object(const ctsc_module *m) {
    return m ? api_wrap_take(value_ref(m->m->root)) : NULL;
}

/* The slot that a dotted name leads to, and the object it is of; NULL: there is none. */
static value *submodule_find(object *o, const char *name, object **of, int *slot) {
    for (;;) {
        const char *dot = strchr(name, '.');
        char part[256];
        size_t n = dot ? (size_t)(dot - name) : strlen(name);
        if (n >= sizeof part) return NULL;
        memcpy(part, name, n);
        part[n] = '\0';
        *of = o;
        *slot = class_find_attribute(o->cls, part);
        if (*slot < 0 || (size_t)*slot >= o->nslots || o->slots[*slot].tag == V_UNINIT) return NULL;
        if (!dot) return &o->slots[*slot];
        if (o->slots[*slot].tag != V_OBJECT) return NULL;
        o = o->slots[*slot].u.object;
        name = dot + 1;
    }
}

static ctsc_status submodule_missing(diag *d, const ctsc_module *m, const char *name) {
    return diag_fail(d, CTSC_USAGE, "'%s' object has no attribute '%s'",
                     class_name(m->m->root.u.object->cls), name);
}

ctsc_status ctsc_module_submodule(const ctsc_module *m, const char *name, ctsc_module **out,
                                  ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    object *of;
    int slot;
    ctsc_status s = api_given(d, m, "the module");
    if (s == CTSC_OK) s = api_given(d, name, "the submodule's name");
    if (s != CTSC_OK) return api_leave(e, &own, s);
    const value *v = submodule_find(m->m->root.u.object, name, &of, &slot);
    if (!v) return api_leave(e, &own, submodule_missing(d, m, name));
    if (v->tag != V_OBJECT)
        return api_leave(e, &own, diag_fail(d, CTSC_USAGE, "'%s' is not a module", name));
    ctsc_module *h = mem_zalloc(sizeof *h);
    module *part = h ? mem_zalloc(sizeof *part) : NULL;
    if (!part) {
        mem_free(h);
        return api_leave(e, &own, diag_no_memory(d));
    }
    ctsc_module *whole = m->whole ? m->whole : (ctsc_module *)m;
    *part = (module){.unit = m->m->unit,
                     .root = value_ref(*v),
                     .version = m->m->version,
                     .opt = m->m->opt,
                     .gradients = m->m->gradients};
    h->m = part;
    h->whole = whole;
    atomic_fetch_add_explicit(&whole->more, 1, memory_order_relaxed);
    *out = h;
    return api_leave(e, &own, CTSC_OK);
}

ctsc_status ctsc_module_set_attribute(ctsc_module *m, const char *name, const ctsc_value *v,
                                      ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    object *of;
    int slot;
    ctsc_status s = api_given(d, m, "the module");
    if (s == CTSC_OK) s = api_given(d, name, "the attribute's name");
    if (s == CTSC_OK) s = api_given(d, v, "the value");
    if (s != CTSC_OK) return api_leave(e, &own, s);
    value *at = submodule_find(m->m->root.u.object, name, &of, &slot);
    if (!at) return api_leave(e, &own, submodule_missing(d, m, name));
    const attribute *a = &of->cls->cls->attributes.data[slot];
    value in = v->v;
    if (a->type->kind == T_FLOAT && in.tag == V_INT) in = value_float((double)in.u.i);
    if (!type_takes_value(a->type, in)) {
        strbuf want = STRBUF_INIT, got = STRBUF_INIT;
        type_print_python(a->type, &want);
        type_print_python(type_of_value(in), &got);
        s = want.failed || got.failed ? diag_no_memory(d)
                                      : diag_fail(d, CTSC_USAGE,
                                                  "expected a value of type '%s' for attribute "
                                                  "'%s' but instead found type '%s'",
                                                  sb_str(&want), name, sb_str(&got));
        sb_free(&want);
        sb_free(&got);
        return api_leave(e, &own, s);
    }
    value_set(at, value_ref(in));
    unit_drop_codes(m->m->unit);
    return api_leave(e, &own, CTSC_OK);
}
