/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_suggest.c - "did you mean" for names that a running program gets wrong: attributes, variables, imports, keyword arguments.
 *
 * Each adds a note to the failure in p->diag, which the caller has just recorded.
 * Tests: tests/lang/errors_names_*.py
 */
#include "frontend/py_internal.h"

static void suggest_keys(suggestion *s, const py_dict *d) {
    for (size_t i = 0; d && i < d->entries.len; i++) {
        const char *key = d->entries.data[i].key ? py_as_text(d->entries.data[i].key) : NULL;
        if (key && (key[0] != '_' || s->wanted[0] == '_')) suggest_try(s, key);
    }
}

static void suggest_texts(suggestion *s, const py_object *list) {
    if (!list || (list->kind != PY_LIST && list->kind != PY_TUPLE)) return;
    for (size_t i = 0; i < list->u.seq.items.len; i++) {
        const char *text = py_as_text(list->u.seq.items.data[i]);
        if (text) suggest_try(s, text);
    }
}

static void suggest_class(suggestion *s, const py_object *cls) {
    for (size_t i = 0; i < cls->u.cls->mro.len; i++) suggest_keys(s, cls->u.cls->mro.data[i]->u.cls->attrs);
}

/* A module's parameters, buffers and submodules stand in dicts of their own. */
static void suggest_instance(suggestion *s, const py_object *o) {
    static const char *const dicts[] = {"_parameters", "_buffers", "_modules"};
    suggest_keys(s, o->u.inst.attrs);
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
        const py_object *d = py_dict_get(o->u.inst.attrs, dicts[i]);
        if (d && d->kind == PY_DICT) suggest_keys(s, d->u.dict);
    }
    suggest_class(s, o->u.inst.cls);
}

void py_suggest_members(suggestion *s, const py_object *o) {
    switch (o->kind) {
    case PY_MODULE:
        suggest_keys(s, o->u.mod.globals);
        suggest_texts(s, py_dict_get(o->u.mod.globals, "__all__"));
        if (!strncmp(o->u.mod.name, "torch", 5) && !s->best) suggest_operators(s);
        break;
    case PY_CLASS: suggest_class(s, o); break;
    case PY_INSTANCE: suggest_instance(s, o); break;
    case PY_VALUE:
        if (o->u.v.tag == V_TENSOR) suggest_operators(s);
        break;
    default: break;
    }
}

bool py_suggest_attribute(py *p, const py_object *o, const char *name) {
    suggestion s = {.wanted = name};
    py_suggest_members(&s, o);
    suggest_note(p->diag, &s);
    return s.best != NULL;
}

void py_suggest_variable(py *p, const py_env *env, const char *name) {
    suggestion s = {.wanted = name};
    const py_object *module = env->module;
    for (const py_env *at = env; at; at = at->outer) suggest_keys(&s, at->vars);
    if (module && module->kind == PY_MODULE) suggest_keys(&s, module->u.mod.globals);
    if (p->builtins) suggest_keys(&s, p->builtins->u.mod.globals);
    suggest_note(p->diag, &s);
}

void py_suggest_module(py *p, const char *name) {
    static const char *const known[] = {"torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.jit",
                                        "torch.utils", "math", "typing", "collections", "functools", "itertools", "dataclasses",
                                        "numpy", "copy", "enum", "abc", "random", "argparse", "warnings", "os", "sys"};
    suggestion s = {.wanted = name};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) suggest_try(&s, known[i]);
    suggest_note(p->diag, &s);
}

void py_suggest_parameter(py *p, const func_def *def, const char *name) {
    suggestion s = {.wanted = name};
    for (size_t i = 0; i < def->params.len; i++)
        if (!def->params.data[i].star && !def->params.data[i].star_star) suggest_try(&s, def->params.data[i].name);
    suggest_note(p->diag, &s);
}
