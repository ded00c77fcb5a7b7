/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_suggest.c - "did you mean" for names that a running program gets wrong: attributes, variables,
 * imports, keyword arguments.
 *
 * Each adds a note to the failure in p->diag, which the caller has just recorded.
 * Tests: tests/lang/errors_names_*.py
 */
#include "frontend/pyeval/core/py_internal.h"

#include <stdio.h>

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
    for (size_t i = 0; i < cls->u.cls->mro.len; i++)
        suggest_keys(s, cls->u.cls->mro.data[i]->u.cls->attrs);
}

/* A module's parameters, buffers and submodules are in separate dicts. */
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
        if (!strncmp(o->u.mod.name, "torch", 5) && !s->best) suggest_operators(s, -1);
        break;
    case PY_CLASS: suggest_class(s, o); break;
    case PY_INSTANCE: suggest_instance(s, o); break;
    case PY_VALUE:
        if (o->u.v.tag == V_TENSOR) suggest_operators(s, -1);
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

/* Without importing what a module imports lazily. */
static bool suggest_has(const py_object *module, const char *name) {
    const py_dict *globals = module->u.mod.globals;
    if (!globals || py_dict_get(globals, name)) return globals != NULL;
    const py_object *all = py_dict_get(globals, "__all__");
    for (size_t i = 0;
         all && (all->kind == PY_LIST || all->kind == PY_TUPLE) && i < all->u.seq.items.len; i++) {
        const char *text = py_as_text(all->u.seq.items.data[i]);
        if (text && !strcmp(text, name)) return true;
    }
    return false;
}

/* Is name in a module that one of globals' names refers
 * to, or in a module there ("nn.functional.gelu")? */
static bool suggest_in_modules(diag *d, const py_dict *globals, const char *prefix,
                               const char *name, int depth) {
    for (size_t i = 0; globals && i < globals->entries.len; i++) {
        const py_object *o = globals->entries.data[i].val, *key = globals->entries.data[i].key;
        const char *alias = key ? py_as_text(key) : NULL;
        if (!alias || alias[0] == '_' || !o || o->kind != PY_MODULE) continue;
        char path[96];
        int n = snprintf(path, sizeof path, "%s%s.", prefix, alias);
        if (n < 0 || (size_t)n >= sizeof path) continue;
        if (depth) {
            if (suggest_in_modules(d, o->u.mod.globals, path, name, depth - 1)) return true;
        } else if (suggest_has(o, name)) {
            diag_note(d, (source_range){0}, "did you mean '%s%s'?", path, name);
            return true;
        }
    }
    return false;
}

/* Names that denote modules by convention, and "self". */
static bool suggest_usual(diag *d, const char *name) {
    static const struct { const char *name, *note; } usual[] = {
        {"F", "'F' usually is 'import torch.nn.functional as F', which the file does not have"},
        {"nn", "'nn' usually is 'import torch.nn as nn', which the file does not have"},
        {"np", "'np' usually is 'import numpy as np', which the file does not have"},
        {"torch", "the file has no 'import torch'"},
        {"math", "the file has no 'import math'"},
        {"self", "'self' is the first parameter of methods, which this function does not have"},
        {"Tensor", "the file has no 'from torch import Tensor'"},
        {"List", "the file has no 'from typing import List'"},
        {"Dict", "the file has no 'from typing import Dict'"},
        {"Tuple", "the file has no 'from typing import Tuple'"},
        {"Optional", "the file has no 'from typing import Optional'"},
        {"true", "did you mean 'True'?"},
        {"false", "did you mean 'False'?"},
        {"null", "did you mean 'None'?"},
    };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(name, usual[i].name))
            return diag_note(d, (source_range){0}, "%s", usual[i].note), true;
    return false;
}

/* A module of almost this name that was imported but not found. */
static bool suggest_import(diag *d, const py_dict *globals, const char *name) {
    for (size_t i = 0; globals && i < globals->entries.len; i++) {
        const char *given = globals->entries.data[i].key ? py_as_text(globals->entries.data[i].key)
                                                         : NULL;
        suggestion s = {.wanted = name};
        if (!given || !py_is_missing(globals->entries.data[i].val)) continue;
        suggest_try(&s, given);
        if (s.best)
            return diag_note(d, (source_range){0},
                             "the file imports '%s', which is not found: did you mean '%s'?", given,
                             name),
                   true;
    }
    return false;
}

bool py_suggest_qualified(diag *d, const py_env *env, const char *name) {
    const py_object *module = env->module;
    const py_dict *globals = module && module->kind == PY_MODULE ? module->u.mod.globals : NULL;
    if (suggest_import(d, globals, name) || suggest_usual(d, name)) return true;
    return suggest_in_modules(d, globals, "", name, 0) ||
           suggest_in_modules(d, globals, "", name, 1);
}

void py_suggest_variable(py *p, const py_env *env, const char *name) {
    suggestion s = {.wanted = name};
    const py_object *module = env->module;
    if (py_suggest_qualified(p->diag, env, name)) return;
    for (const py_env *at = env; at; at = at->outer) suggest_keys(&s, at->vars);
    if (module && module->kind == PY_MODULE) suggest_keys(&s, module->u.mod.globals);
    if (p->builtins) suggest_keys(&s, p->builtins->u.mod.globals);
    suggest_note(p->diag, &s);
}

void py_suggest_module(py *p, const char *name) {
    static const char *const known[] = {"torch",
                                        "torch.nn",
                                        "torch.nn.functional",
                                        "torch.nn.init",
                                        "torch.nn.utils",
                                        "torch.jit",
                                        "torch.utils",
                                        "math",
                                        "typing",
                                        "collections",
                                        "functools",
                                        "itertools",
                                        "dataclasses",
                                        "numpy",
                                        "copy",
                                        "enum",
                                        "abc",
                                        "random",
                                        "argparse",
                                        "warnings",
                                        "os",
                                        "sys"};
    suggestion s = {.wanted = name};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) suggest_try(&s, known[i]);
    suggest_note(p->diag, &s);
}

void py_suggest_parameter(py *p, const func_def *def, const char *name) {
    suggestion s = {.wanted = name};
    for (size_t i = 0; i < def->params.len; i++)
        if (!def->params.data[i].star && !def->params.data[i].star_star)
            suggest_try(&s, def->params.data[i].name);
    suggest_note(p->diag, &s);
}
