/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_match.c - the expressions that match statements are made of (parser_match.c).
 *
 * Tests: tests/lang/match_module.py
 */
#include "frontend/pyeval/core/py_internal.h"

bool py_match_field(py *p, source_range r, const py_object *cls, int64_t i, const char **name) {
    *name = NULL;
    if (cls->kind != PY_CLASS)
        return py_fail(p, r, "TypeError", "called match pattern must be a class"), false;
    const py_object *given = py_class_find(cls, "__match_args__");
    const py_class *c = cls->u.cls;
    int64_t n = c->kind == PYC_BUILTIN ? 1 : 0;
    if (given && given->kind == PY_TUPLE) {
        n = (int64_t)given->u.seq.items.len;
        if (i < n) *name = py_as_text(given->u.seq.items.data[i]);
    } else {
        for (size_t k = 0; k < c->mro.len && n == 0; k++) {
            const py_class *home = c->mro.data[k]->u.cls;
            n = (int64_t)home->fields.len;
            if (i < n) *name = home->fields.data[i];
        }
    }
    if (i < n) return true;
    py_fail(p, r, "TypeError", "%s() accepts %lld positional sub-pattern%s (%lld given)", c->name,
            (long long)n, n == 1 ? "" : "s", (long long)i + 1);
    return false;
}

py_object *py_eval_field(py *p, py_env *env, const expr *x) {
    py_object *o = py_eval(p, env, x->a), *cls = o ? py_eval(p, env, x->b) : NULL;
    const char *name;
    if (!cls || !py_match_field(p, x->range, cls, x->i, &name)) return NULL;
    return name ? py_getattr(p, x->range, o, name) : o;
}

py_object *py_eval_capture(py *p, py_env *env, const expr *x) {
    py_object *o = py_eval(p, env, x->a);
    return o && py_store(p, env, x->name, o) ? p->true_ : NULL;
}

py_object *py_eval_shape(py *p, py_env *env, const expr *x) {
    py_object *o = py_eval(p, env, x->a);
    if (!o) return NULL;
    if (!strcmp(x->name, "mapping")) return py_bool(p, o->kind == PY_DICT);
    if (o->kind == PY_RANGE)
        return py_bool(p, x->tuple_index ? py_range_len(o) >= x->i : py_range_len(o) == x->i);
    if (o->kind != PY_LIST && o->kind != PY_TUPLE) return p->false_;
    int64_t n = (int64_t)o->u.seq.items.len;
    return py_bool(p, x->tuple_index ? n >= x->i : n == x->i);
}
