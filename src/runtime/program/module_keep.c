/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_keep.c - see module_keep.h.
 * Tests: tests/unit/test_grad_program.c
 */
#include "runtime/program/module_keep.h"

enum { KEEP_MAX_DEPTH = 200 };

static ctsc_status keep_object(module_kept *k, diag *d, object *o, int depth) {
    if (depth > KEEP_MAX_DEPTH || ptrmap_get(&k->seen, o)) return CTSC_OK;
    if (!ptrmap_put(&k->seen, o, o)) return diag_no_memory(d);
    for (size_t i = 0; i < o->nslots; i++) {
        value v = o->slots[i];
        kept_slot s = {.at = &o->slots[i]};
        if (v.tag == V_TENSOR) TRY(tensor_clone(d, v.u.tensor, &s.copy));
        s.before = value_ref(v);
        if (!vec_push(&k->slots, s)) {
            value_unref(s.before);
            tensor_unref(s.copy);
            return diag_no_memory(d);
        }
        if (v.tag == V_OBJECT) TRY(keep_object(k, d, v.u.object, depth + 1));
    }
    return CTSC_OK;
}

ctsc_status module_keep(const module *m, diag *d, module_kept *out) {
    *out = (module_kept){0};
    if (m->root.tag != V_OBJECT) return CTSC_OK;
    ctsc_status s = keep_object(out, d, m->root.u.object, 0);
    if (s == CTSC_OK) return s;
    diag lost = {0};
    (void)module_put_back(out, &lost);
    diag_clear(&lost);
    return s;
}

ctsc_status module_put_back(module_kept *k, diag *d) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < k->slots.len; i++) {
        kept_slot *x = &k->slots.data[i];
        value was = *x->at;
        *x->at = x->before;
        value_unref(was);
        tensor *t = x->copy ? x->before.u.tensor : NULL;
        /* running statistics are written without a new version */
        if (t && s == CTSC_OK) s = tensor_copy(d, t, x->copy);
        tensor_unref(x->copy);
    }
    vec_free(&k->slots);
    ptrmap_free(&k->seen);
    return s;
}
