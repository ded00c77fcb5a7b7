/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_jit.c - torch.jit as module-level code sees it: decorators that say how a function
 * is to be compiled.
 *
 * Method. Nothing is compiled here: @torch.jit.script and the like leave a mark on the function
 * or class (py_function.mode, py_class.is_script), which the compiler of the program reads.
 * Inside compiled functions the names of these builtins are forms of the emitter's. An overload
 * declared by @torch.jit._overload is a function whose `overloads` end with itself; the
 * definition that follows in the same scope takes the list over (py_stmt.c), the function's own
 * name being found there.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/core/py_internal.h"
#include "frontend/pyeval/torch/py_torch.h"

/* The function of a method, static method or property's getter; NULL: o is none of them. */
static py_function *jit_function(py_object *o) {
    for (int i = 0; o && i < 8; i++) {
        if (o->kind == PY_FUNCTION) return o->u.fn;
        if (o->kind == PY_METHOD) o = o->u.method.fn;
        else if (o->kind == PY_STATICMETHOD || o->kind == PY_CLASSMETHOD) o = o->u.fn_object;
        else if (o->kind == PY_PROPERTY) o = o->u.property.getter;
        else break;
    }
    return NULL;
}

static bool jit_is_module_class(const py_object *o) {
    return o->kind == PY_CLASS && o->u.cls->is_module;
}

/* ---- script ---------------------------------------------------------------------------------- */

static py_object *jit_script_class(py *p, source_range r, py_object *cls) {
    if (jit_is_module_class(cls))
        return py_fail(
            p, r, "RuntimeError",
            "Type '<class '%s'>' cannot be compiled since it inherits from nn.Module, consider "
            "passing an instance "
            "instead",
            cls->u.cls->name);
    cls->u.cls->is_script = true;
    return cls;
}

static py_object *jit_script(PY_ARGS) {
    py_object *a[5];
    (void)self;
    if (!py_bind(p, r, "torch.jit.script", "obj optimize? _frames_up? _rcb? example_inputs?",
                 PY_GIVEN, a))
        return NULL;
    py_object *o = a[0];
    if (o->kind == PY_CLASS) return jit_script_class(p, r, o);
    if (o->kind == PY_INSTANCE) o->u.inst.scripted = true;
    if (o->kind == PY_INSTANCE || o->kind == PY_OPERATOR || o->kind == PY_BUILTIN) return o;
    py_function *fn = jit_function(o);
    if (!fn)
        return py_fail(p, r, "RuntimeError",
                       "torch.jit.script cannot compile an object of type '%s'", py_type_name(o));
    if (fn->mode == PY_DEFAULT) fn->mode = PY_SCRIPT;
    return o;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static py_object *jit_mark(py *p, source_range r, py_object *o, py_script_mode mode,
                           const char *decorator) {
    py_function *fn = jit_function(o);
    if (!fn && o->kind == PY_CLASS) return o;
    if (!fn)
        return py_fail(p, r, "RuntimeError", "Argument to @torch.jit.%s must be a function, not %s",
                       decorator, py_type_name(o));
    fn->mode = mode;
    if (o->kind == PY_PROPERTY && o->u.property.setter) {
        fn = jit_function(o->u.property.setter);
        if (fn) fn->mode = mode;
    }
    return o;
}

#define JIT_MARK(name, mode)                                                                       \
    static py_object *jit_##name(PY_ARGS) {                                                        \
        py_object *a[1];                                                                           \
        (void)self;                                                                                \
        if (!py_bind(p, r, "torch.jit." #name, "fn", PY_GIVEN, a)) return NULL;                    \
        return jit_mark(p, r, a[0], mode, #name);                                                  \
    }
JIT_MARK(export, PY_EXPORT)
JIT_MARK(unused, PY_UNUSED)
JIT_MARK(script_method, PY_EXPORT)

/* What @torch.jit.ignore(drop=...) returns; self: drop. */
static py_object *jit_ignore_decorator(PY_ARGS) {
    py_object *a[1];
    bool drop = self && self->kind == PY_VALUE && self->u.v.tag == V_BOOL && self->u.v.u.b;
    if (!py_bind(p, r, "torch.jit.ignore", "fn", PY_GIVEN, a)) return NULL;
    return jit_mark(p, r, a[0], drop ? PY_UNUSED : PY_IGNORE, "ignore");
}

static py_object *jit_ignore(PY_ARGS) {
    py_object *a[2];
    (void)self;
    bool drop = false;
    if (!py_bind(p, r, "torch.jit.ignore", "drop? drop_on_export?", PY_GIVEN, a)) return NULL;
    if (a[0] && jit_function(a[0])) return jit_mark(p, r, a[0], PY_IGNORE, "ignore");
    if (a[0] && (a[0]->kind != PY_VALUE || a[0]->u.v.tag != V_BOOL))
        return py_fail(p, r, "RuntimeError",
                       "Argument to @torch.jit.ignore must be a bool or a function but got %s",
                       py_type_name(a[0]));
    for (int i = 0; i < 2; i++) {
        bool one = false;
        if (a[i] && !py_truth(p, r, a[i], &one)) return NULL;
        drop |= one;
    }
    return py_method(p, py_bool(p, drop),
                     py_builtin(p, "torch.jit.ignore.decorator", jit_ignore_decorator));
}

static py_object *jit_script_if_tracing(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "torch.jit.script_if_tracing", "fn", PY_GIVEN, a)) return NULL;
    py_function *fn = jit_function(a[0]);
    if (fn) fn->is_script_if_tracing = true;
    return a[0];
}

static py_object *jit_interface(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "torch.jit.interface", "obj", PY_GIVEN, a)) return NULL;
    if (a[0]->kind != PY_CLASS)
        return py_fail(p, r, "RuntimeError", "interface must be applied to a class");
    a[0]->u.cls->is_module |= jit_is_module_class(a[0]);
    a[0]->u.cls->kind = PYC_INTERFACE;
    return a[0];
}

/* ---- overloads ------------------------------------------------------------------------------- */

/* Is o a declaration by @torch.jit._overload, and not an implementation? */
bool py_is_overload(const py_object *o) {
    return o && o->kind == PY_FUNCTION && o->u.fn->overloads.len &&
           vec_last(&o->u.fn->overloads) == o;
}

static py_object *jit_overload(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "torch.jit._overload", "func", PY_GIVEN, a)) return NULL;
    if (a[0]->kind != PY_FUNCTION)
        return py_fail(p, r, "TypeError", "@torch.jit._overload takes a function");
    if (!py_is_overload(a[0]) && !avec_push(p->a, &a[0]->u.fn->overloads, a[0]))
        return diag_no_memory(p->diag), NULL;
    return a[0];
}

/* ---- plain functions ------------------------------------------------------------------------- */

static py_object *jit_annotate(PY_ARGS) {
    py_object *a[2];
    (void)self;
    return py_bind(p, r, "torch.jit.annotate", "the_type the_value", PY_GIVEN, a) ? a[1] : NULL;
}

static bool jit_is(py *p, const py_object *o, const py_object *t, int depth);

static bool jit_all(py *p, const py_object *o, const py_object *t, int depth) {
    for (size_t i = 0; i < o->u.seq.items.len; i++)
        if (!jit_is(p, o->u.seq.items.data[i], t, depth + 1)) return false;
    return true;
}

static bool jit_is_dict(py *p, const py_object *o, const py_object *t, int depth) {
    if (o->kind != PY_DICT) return false;
    for (size_t i = 0; t->u.type.nargs == 2 && i < o->u.dict->entries.len; i++) {
        const py_dict_entry *e = &o->u.dict->entries.data[i];
        if (e->key && (!jit_is(p, e->key, t->u.type.args[0], depth + 1) ||
                       !jit_is(p, e->val, t->u.type.args[1], depth + 1)))
            return false;
    }
    return true;
}

static bool jit_is_tuple(py *p, const py_object *o, const py_object *t, int depth) {
    if (o->kind != PY_TUPLE) return false;
    if (t->u.type.nargs < 0) return true;
    if (o->u.seq.items.len != (size_t)t->u.type.nargs) return false;
    for (int i = 0; i < t->u.type.nargs; i++)
        if (!jit_is(p, o->u.seq.items.data[i], t->u.type.args[i], depth + 1)) return false;
    return true;
}

/* torch.jit.isinstance: List[int] looks at the elements too. */
static bool jit_is(py *p, const py_object *o, const py_object *t, int depth) {
    if (depth > 50) return false;
    if (t->kind == PY_TUPLE) {
        for (size_t i = 0; i < t->u.seq.items.len; i++)
            if (jit_is(p, o, t->u.seq.items.data[i], depth + 1)) return true;
        return false;
    }
    if (py_is_none(t)) return py_is_none(o);
    if (t->kind != PY_TYPE) return py_isinstance(p, o, t);
    const char *name = t->u.type.name;
    if (!strcmp(name, "List"))
        return o->kind == PY_LIST &&
               (t->u.type.nargs != 1 || jit_all(p, o, t->u.type.args[0], depth));
    if (!strcmp(name, "Dict")) return jit_is_dict(p, o, t, depth);
    if (!strcmp(name, "Tuple")) return jit_is_tuple(p, o, t, depth);
    if (!strcmp(name, "Any")) return true;
    if (!strcmp(name, "Optional") && py_is_none(o)) return true;
    for (int i = 0; i < t->u.type.nargs; i++)
        if (jit_is(p, o, t->u.type.args[i], depth + 1)) return true;
    return false;
}

static py_object *jit_isinstance(PY_ARGS) {
    py_object *a[2];
    (void)self;
    if (!py_bind(p, r, "torch.jit.isinstance", "obj target_type", PY_GIVEN, a)) return NULL;
    return py_bool(p, jit_is(p, a[0], a[1], 0));
}

static py_object *jit_false(PY_ARGS) { return PY_UNUSED_PARAMS, p->false_; }
static py_object *jit_none(PY_ARGS) { return PY_UNUSED_PARAMS, p->none; }

/* fork runs at once: its future is the result. */
static py_object *jit_fork(PY_ARGS) {
    (void)self;
    if (!nargs) return py_fail(p, r, "TypeError", "fork() misses the function to run");
    return py_call(p, r, args[0], nargs - 1, args + 1, nkw, names, kwargs);
}

static py_object *jit_wait(PY_ARGS) {
    py_object *a[1];
    (void)self;
    return py_bind(p, r, "torch.jit.wait", "future", PY_GIVEN, a) ? a[0] : NULL;
}

static py_object *jit_unwrap_optional(PY_ARGS) {
    py_object *a[1];
    (void)self;
    if (!py_bind(p, r, "torch.jit._unwrap_optional", "x", PY_GIVEN, a)) return NULL;
    return py_is_none(a[0]) ? py_fail(p, r, "AssertionError", "Unwrapping null optional") : a[0];
}

static py_object *jit_identity(PY_ARGS) {
    (void)r, (void)self, (void)nkw, (void)names, (void)kwargs;
    return nargs ? args[0] : p->none;
}

/* The module or function itself. Traced it is when it turns out to be the entry (source.c). */
static py_object *jit_note_trace(py *p, source_range r, py_object *of, py_object *inputs,
                                 py_object *named, py_object *check) {
    py_object *none = p->none,
              *row[] = {inputs ? inputs : none, named ? named : none, check ? check : p->true_},
              *note;
    bool module = of->kind == PY_INSTANCE && of->u.inst.cls->u.cls->is_module;
    if (!module && of->kind != PY_FUNCTION)
        return py_unsupported(
            p, r,
            "torch.jit.trace: only modules and functions can be traced, not an object of type '%s'",
            py_type_name(of));
    if (row[0]->kind != PY_TUPLE && row[0]->kind != PY_LIST)
        row[0] = py_tuple(p, inputs != NULL, &row[0]);
    if (!row[0] || !(note = py_tuple(p, 3, row))) return NULL;
    return ptrmap_put(&p->traced, of, note) ? of : (diag_no_memory(p->diag), NULL);
}

static py_object *jit_trace(PY_ARGS) {
    py_object *a[8];
    (void)self;
    PY_TAKE("torch.jit.trace",
            "func example_inputs? optimize? check_trace? check_inputs? check_tolerance? strict? "
            "example_kwarg_inputs?",
            a);
    return jit_note_trace(p, r, a[0], a[1], a[7], a[3]);
}

static py_object *jit_trace_module(PY_ARGS) {
    py_object *a[7];
    (void)self;
    PY_TAKE("torch.jit.trace_module",
            "mod inputs optimize? check_trace? check_inputs? check_tolerance? strict?", a);
    py_object *inputs = a[1]->kind == PY_DICT && a[1]->u.dict->len == 1
                            ? py_dict_get(a[1]->u.dict, "forward")
                            : NULL;
    if (!inputs) return py_unsupported(p, r, "torch.jit.trace_module: only forward can be traced");
    return jit_note_trace(p, r, a[0], inputs, NULL, a[3]);
}

/* torch.jit.Attribute(value, type): an instance that holds both. */
static py_object *jit_make_attribute(PY_ARGS) {
    py_object *a[2];
    if (!py_bind(p, r, "torch.jit.Attribute", "value type", PY_GIVEN, a)) return NULL;
    py_object *o = py_instance(p, self);
    return o && py_dict_set(p, o->u.inst.attrs, "value", a[0]) &&
                   py_dict_set(p, o->u.inst.attrs, "type", a[1])
               ? o
               : NULL;
}

static const py_row jit_rows[] = {
    {"torch.jit.script", jit_script},
    {"torch.jit.script_method", jit_script_method},
    {"torch.jit.export", jit_export},
    {"torch.jit.ignore", jit_ignore},
    {"torch.jit.unused", jit_unused},
    {"torch.jit.interface", jit_interface},
    {"torch.jit.annotate", jit_annotate},
    {"torch.jit.isinstance", jit_isinstance},
    {"torch.jit.is_scripting", jit_false},
    {"torch.jit.fork", jit_fork},
    {"torch.jit._fork", jit_fork},
    {"torch.jit.wait", jit_wait},
    {"torch.jit._wait", jit_wait},
    {"torch.jit._unwrap_optional", jit_unwrap_optional},
    {"torch.jit._overload", jit_overload},
    {"torch.jit._overload_method", jit_overload},
    {"torch.jit.script_if_tracing", jit_script_if_tracing},
    {"torch.jit._script_if_tracing", jit_script_if_tracing},
    {"torch.jit.trace", jit_trace},
    {"torch.jit.trace_module", jit_trace_module},
    {"torch.jit.optimize_for_inference", jit_identity},
    {"torch.jit.set_fusion_strategy", jit_none},
    {"torch.jit.enable_onednn_fusion", jit_none},
    {"torch.overrides.has_torch_function", jit_false},
    {"torch.overrides.has_torch_function_unary", jit_false},
    {"torch.overrides.has_torch_function_variadic", jit_false},
    {"torch.overrides.handle_torch_function", jit_none},
    {"torch.overrides.is_tensor_like", jit_false},
    {"torch._C._jit_set_profiling_executor", jit_none},
    {"torch._C._jit_set_profiling_mode", jit_none},
    {NULL, NULL},
};

static bool jit_fill(py *p, py_object *mod) {
    static const char *const types[] = {"Final", "Future", "RRef"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!py_module_set_take(p, mod, types[i], py_plain_type(p, types[i]))) return false;
    py_object *cls = py_class_new(p, mod, "Attribute", 0, NULL, PYC_BUILTIN);
    if (!cls) return false;
    cls->u.cls->make = jit_make_attribute;
    if (!py_module_set_take(p, mod, "Error", py_builtin_named(p, "RuntimeError"))) return false;
    return py_module_set(p, mod, "Attribute", cls);
}

bool py_jit_module(py *p, const char *dotted, py_object *mod) {
    if (!strcmp(dotted, "torch.jit"))
        return jit_fill(p, mod) && py_add_rows(p, mod, jit_rows) &&
               py_add_rows(p, mod, py_script_rows);
    if (!strcmp(dotted, "torch.overrides")) return py_add_rows(p, mod, jit_rows);
    return false;
}

/* torch.jit.ScriptModule is nn.Module, which is read when somebody asks. What torch._jit_internal
 * has beyond its Python part. */
py_object *py_jit_missing(py *p, py_object *mod, const char *name) {
    source_range nowhere = {0};
    if (strcmp(mod->u.mod.name, "torch.jit")) return NULL;
    static const char *const module_classes[] = {"ScriptModule", "RecursiveScriptModule"};
    for (size_t i = 0; i < sizeof module_classes / sizeof *module_classes; i++)
        if (!strcmp(name, module_classes[i])) {
            py_object *nn = py_import(p, nowhere, "torch.nn");
            return nn ? py_getattr(p, nowhere, nn, "Module") : NULL;
        }
    return NULL;
}
