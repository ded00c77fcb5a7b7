/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_call.c - calls: binding arguments to parameters, running functions, and calling everything
 * else that can be called.
 *
 * A call of a generator function runs it to its end and gives an iterator over what it yielded.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

/* ---- making functions ------------------------------------------------------------------------ */

/* What Python's compiler says of parameters. */
static bool function_check(py *p, const func_def *def) {
    bool optional = false;
    for (size_t i = 0; i < def->params.len && i < 256; i++) {
        const param *a = &def->params.data[i];
        if (optional && !a->default_value && !a->star && !a->star_star && !a->kwarg_only)
            return py_fail(p, a->range, "SyntaxError",
                           "non-default argument follows default argument"),
                   false;
        optional |= a->default_value != NULL;
        for (size_t k = 0; a->name && k < i; k++)
            if (def->params.data[k].name == a->name)
                return py_fail(p, a->range, "SyntaxError",
                               "duplicate argument '%s' in function definition", a->name),
                       false;
    }
    return true;
}

py_object *py_function_new(py *p, py_env *env, const func_def *def) {
    if (!function_check(p, def)) return NULL;
    py_object *o = py_new(p, PY_FUNCTION);
    py_function *f = arena_new(p->a, py_function);
    o->u.fn = f;
    f->def = def;
    f->closure = env->is_class && env->outer ? env->outer : env;
    f->module = env->module;
    f->cls = env->is_class ? env->cls : NULL;
    size_t n = def->params.len;
    if (n) f->defaults = arena_array(p->a, py_object *, n);
    if (!f->defaults && n) {
        diag_no_memory(p->diag);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const expr *x = def->params.data[i].default_value;
        if (x && !(f->defaults[i] = py_eval(p, env, x))) return NULL;
    }
    if (env->qualname && strcmp(env->qualname, "<module>"))
        f->qualname = arena_printf(p->a, env->is_class ? "%s.%s" : "%s.<locals>.%s", env->qualname,
                                   def->name);
    else f->qualname = def->name;
    return py_memory(p) ? o : NULL;
}

/* ---- binding --------------------------------------------------------------------------------- */

typedef struct call_binding {
    py *p;
    source_range r;
    const py_function *f;
    py_object **slots;   /* per parameter */
    int star, star_star; /* parameters *args and **kwargs; -1: none */
    int positional;      /* parameters that positional arguments fill */
} call_binding;

/* As Python's messages name it since 3.10: "Linear.__init__". */
static const char *call_name(const call_binding *b) {
    return b->f->qualname ? b->f->qualname : b->f->def->name;
}

static bool call_too_many(const call_binding *b, int given) {
    int needed = b->positional, least = needed;
    for (int i = needed - 1; i >= 0 && b->f->defaults[i]; i--) least--;
    if (least < needed)
        py_fail(b->p, b->r, "TypeError",
                "%s() takes from %d to %d positional arguments but %d %s given", call_name(b),
                least, needed, given, given == 1 ? "was" : "were");
    else
        py_fail(b->p, b->r, "TypeError", "%s() takes %d positional argument%s but %d %s given",
                call_name(b), needed, needed == 1 ? "" : "s", given, given == 1 ? "was" : "were");
    return false;
}

static bool call_bind_positional(call_binding *b, int nargs, py_object **args) {
    int n = nargs < b->positional ? nargs : b->positional;
    for (int i = 0; i < n; i++) b->slots[i] = args[i];
    if (b->star >= 0) b->slots[b->star] = py_tuple(b->p, nargs - n, args + n);
    else if (nargs > n) return call_too_many(b, nargs);
    return b->star < 0 || b->slots[b->star];
}

static bool call_bind_keyword(call_binding *b, const char *name, py_object *v) {
    size_t n = b->f->def->params.len;
    for (size_t i = 0; i < n; i++) {
        const param *q = &b->f->def->params.data[i];
        if (q->star || q->star_star || (q->name != name && strcmp(q->name, name))) continue;
        if (b->slots[i]) {
            py_fail(b->p, b->r, "TypeError", "%s() got multiple values for argument '%s'",
                    call_name(b), name);
            return false;
        }
        b->slots[i] = v;
        return true;
    }
    if (b->star_star >= 0) return py_dict_set(b->p, b->slots[b->star_star]->u.dict, name, v);
    py_fail(b->p, suggest_word(b->r, name), "TypeError",
            "%s() got an unexpected keyword argument '%s'", call_name(b), name);
    py_suggest_parameter(b->p, b->f->def, name);
    return false;
}

static bool call_missing(const call_binding *b, bool keyword_only) {
    strbuf names = STRBUF_INIT;
    int count = 0, seen = 0;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < b->f->def->params.len; i++) {
            const param *q = &b->f->def->params.data[i];
            if (b->slots[i] || b->f->defaults[i] || q->kwarg_only != keyword_only) continue;
            if (round == 0) {
                count++;
                continue;
            }
            sb_printf(&names, "%s'%s'",
                      seen == 0          ? ""
                      : seen < count - 1 ? ", "
                      : count > 2        ? ", and "
                                         : " and ",
                      q->name);
            seen++;
        }
    py_fail(b->p, b->r, "TypeError", "%s() missing %d required %s argument%s: %s", call_name(b),
            count, keyword_only ? "keyword-only" : "positional", count == 1 ? "" : "s",
            sb_str(&names));
    sb_free(&names);
    return false;
}

static bool call_fill_defaults(call_binding *b) {
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < b->f->def->params.len; i++) {
            if (b->slots[i]) continue;
            if (b->f->defaults[i]) b->slots[i] = b->f->defaults[i];
            else if (b->f->def->params.data[i].kwarg_only == (round == 1))
                return call_missing(b, round == 1);
        }
    return true;
}

static bool call_bind(call_binding *b, int nargs, py_object **args, int nkw,
                      const char *const *names, py_object **kwargs) {
    b->star = b->star_star = -1;
    for (size_t i = 0; i < b->f->def->params.len; i++) {
        const param *q = &b->f->def->params.data[i];
        if (q->star_star) b->star_star = (int)i;
        else if (q->star) b->star = (int)i;
        else if (!q->kwarg_only) b->positional++;
    }
    if (b->star_star >= 0) b->slots[b->star_star] = py_dict_object(b->p, py_dict_new(b->p));
    if (!call_bind_positional(b, nargs, args)) return false;
    for (int i = 0; i < nkw; i++)
        if (!call_bind_keyword(b, names[i], kwargs[i])) return false;
    return call_fill_defaults(b);
}

/* ---- functions ------------------------------------------------------------------------------- */

static py_object *call_body(py *p, const py_function *f, py_env *env) {
    env->qualname = f->qualname;
    if (f->def->is_generator) {
        env->yields = py_new(p, PY_ITERATOR);
        env->body = p->body;
        p->body = NULL;
    }
    if (!py_exec(p, env, &f->def->body)) return NULL;
    if (env->yields) return env->yields;
    return env->result ? env->result : p->none;
}

/* A decorator that is a context: entered for the call. Its caller undoes that. */
static bool call_enter(py *p, source_range r, py_object *context) {
    py_object *enter = py_getattr(p, r, context, "__enter__");
    return enter && py_call0(p, r, enter);
}

static py_object *call_function(py *p, source_range r, py_object *fn, int nargs, py_object **args,
                                int nkw, const char *const *names, py_object **kwargs) {
    const py_function *f = fn->u.fn;
    size_t n = f->def->params.len;
    py_env *env = arena_new(p->a, py_env);
    *env = (py_env){.vars = py_dict_new(p),
                    .outer = f->closure,
                    .module = f->module,
                    .def = f->def,
                    .cls = f->cls};
    if (env->outer && f->module && env->outer->vars == f->module->u.mod.globals) env->outer = NULL;
    call_binding b = {p, r, f, .slots = n ? arena_array(p->a, py_object *, n) : NULL};
    if ((n && !b.slots) || !py_memory(p)) {
        diag_no_memory(p->diag);
        return NULL;
    }
    if (!call_bind(&b, nargs, args, nkw, names, kwargs)) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!py_dict_set(p, env->vars, f->def->params.data[i].name, b.slots[i])) return NULL;
    const char *caller = p->where;
    p->where = f->qualname;
    bool before = !p->no_grad, changes = f->gradients != PY_GRADIENTS_KEPT;
    if (changes) p->library->set_gradients(p, f->gradients == PY_GRADIENTS_ON);
    py_autocast cast = p->autocast;
    py_object *result = f->autocast && !call_enter(p, r, f->autocast) ? NULL : call_body(p, f, env);
    if (f->autocast) p->autocast = cast;
    if (changes) p->library->set_gradients(p, before);
    p->where = caller;
    if (!result) diag_frame(p->diag, r, caller ? caller : "<module>");
    return result;
}

/* Builtins may look at every byte of a string they are given. */
static uint64_t call_weight(const py_object *o) {
    const str *s = o ? py_str_of(o) : NULL;
    return s ? s->len / (PY_STEP_BYTES / 16) : 0;
}

static py_object *call_builtin(PY_ARGS, py_builtin_fn fn) {
    uint64_t weight = call_weight(self);
    for (int i = 0; i < nargs; i++) weight += call_weight(args[i]);
    return py_work(p, r, weight) ? fn(p, r, self, nargs, args, nkw, names, kwargs) : NULL;
}

static bool call_self_fits(const char *of, const py_object *o) {
    switch (o->kind) {
    case PY_DICT: return !strcmp(of, "dict");
    case PY_LIST: return !strcmp(of, "list");
    case PY_TUPLE: return !strcmp(of, "tuple");
    case PY_SET: return !strcmp(of, "set");
    case PY_RANGE: return !strcmp(of, "range");
    case PY_ITERATOR: return !strcmp(of, "generator");
    case PY_INSTANCE:
        return o->u.inst.cls->u.cls->kind == PYC_EXCEPTION && !strcmp(of, "BaseException");
    case PY_VALUE:
        switch (o->u.v.tag) {
        case V_STR: return !strcmp(of, "str");
        case V_BOOL: return !strcmp(of, "bool") || !strcmp(of, "int");
        case V_INT: return !strcmp(of, "int");
        case V_FLOAT: return !strcmp(of, "float");
        case V_COMPLEX: return !strcmp(of, "complex");
        default: return false;
        }
    default: return false;
    }
}

py_object *py_derived_plain(py *p, source_range r, py_object *o) {
    py_object *plain = o->kind == PY_INSTANCE ? py_class_find(o->u.inst.cls, "_plain") : NULL;
    bool derived = plain && plain->kind == PY_FUNCTION && plain->u.fn->module &&
                   !strcmp(plain->u.fn->module->u.mod.name, "_derived");
    return derived ? py_call(p, r, plain, 1, &o, 0, NULL, NULL) : (py_object *)py_plain(o);
}

/* The object that a builtin method works on: o, or what an object of a class derived from
 * dict or list holds. */
static py_object *call_self(py *p, source_range r, const py_object *fn, py_object *o) {
    const char *of = fn->u.builtin.of;
    if (!of || call_self_fits(of, o)) return o;
    py_object *held = py_derived_plain(p, r, o);
    if (!held || call_self_fits(of, held)) return held;
    return py_fail(p, r, "TypeError", "descriptor '%s' requires a '%s' object but received '%s'",
                   fn->u.builtin.name, of, py_type_name(o));
}

static py_object *call_shifted(PY_ARGS) {
    /* callee in self's place: a builtin method taken from its class */
    py_object *fn = self;
    if (nargs < 1)
        return py_fail(p, r, "TypeError", "unbound method %s() needs an argument",
                       fn->u.builtin.name);
    if (!(self = call_self(p, r, fn, args[0]))) return NULL;
    return call_builtin(p, r, self, nargs - 1, args + 1, nkw, names, kwargs, fn->u.builtin.fn);
}

static py_object *call_method(py *p, source_range r, py_object *m, int nargs, py_object **args,
                              int nkw, const char *const *names, py_object **kwargs) {
    py_object *fn = m->u.method.fn, *few[8], **all = few;
    if (fn->kind == PY_BUILTIN) {
        py_object *self = call_self(p, r, fn, m->u.method.self);
        return self ? call_builtin(p, r, self, nargs, args, nkw, names, kwargs, fn->u.builtin.fn)
                    : NULL;
    }
    if (nargs + 1 > 8 && !(all = arena_array(p->a, py_object *, nargs + 1))) {
        diag_no_memory(p->diag);
        return NULL;
    }
    all[0] = m->u.method.self;
    if (nargs) memcpy(all + 1, args, sizeof *args * (size_t)nargs);
    return py_call(p, r, fn, nargs + 1, all, nkw, names, kwargs);
}

/* While a trace is recorded, what torch.jit.script was given keeps its branches and loops: it is
 * called in the graph. */
static bool call_is_scripted(const py *p, const py_object *callee) {
    if (!py_tracing(p)) return false;
    if (callee->kind == PY_INSTANCE) return callee->u.inst.scripted;
    return callee->kind == PY_FUNCTION &&
           (callee->u.fn->mode == PY_SCRIPT || callee->u.fn->is_script_if_tracing) &&
           !callee->u.fn->cls;
}

static py_object *call_any(py *p, source_range r, py_object *callee, int nargs, py_object **args,
                           int nkw, const char *const *names, py_object **kwargs) {
    if (call_is_scripted(p, callee)) {
        bool function = callee->kind == PY_FUNCTION;
        return p->recorder->script(p->recorder->ctx, r, function ? callee : NULL,
                                   function ? NULL : callee, "forward", nargs, args, nkw, names,
                                   kwargs);
    }
    switch (callee->kind) {
    case PY_FUNCTION: return call_function(p, r, callee, nargs, args, nkw, names, kwargs);
    case PY_METHOD: return call_method(p, r, callee, nargs, args, nkw, names, kwargs);
    case PY_BUILTIN:
        if (callee->u.builtin.method)
            return call_shifted(p, r, callee, nargs, args, nkw, names, kwargs);
        return call_builtin(p, r, NULL, nargs, args, nkw, names, kwargs, callee->u.builtin.fn);
    case PY_OPERATOR:
        return p->library->call_operator(p, r, callee->u.op_name, nargs, args, nkw, names, kwargs);
    case PY_CLASS: return py_construct(p, r, callee, nargs, args, nkw, names, kwargs);
    case PY_STATICMETHOD:
        return py_call(p, r, callee->u.fn_object, nargs, args, nkw, names, kwargs);
    case PY_TYPE:
        /* typing.List[int]() and the like make the plain container. */
        if (!strcmp(callee->u.type.name, "List") || !strcmp(callee->u.type.name, "Dict"))
            return py_construct(
                p, r, py_builtin_class(p, callee->u.type.name[0] == 'L' ? "list" : "dict"), nargs,
                args, nkw, names, kwargs);
        break;
    default: break;
    }
    if (py_is_missing(callee)) return py_fail_missing(p, r, callee);
    py_object *call = py_find_special(p, callee, "__call__");
    if (call) return py_call(p, r, call, nargs, args, nkw, names, kwargs);
    if (py_failed(p)) return NULL;
    return py_fail(p, r, "TypeError", "'%s' object is not callable", py_type_name(callee));
}

py_object *py_call(py *p, source_range r, py_object *callee, int nargs, py_object **args, int nkw,
                   const char *const *names, py_object **kwargs) {
    if (!py_step(p, r) || !py_deeper(p, r)) return NULL;
    py_object *o = call_any(p, r, callee, nargs, args, nkw, names, kwargs);
    p->depth--;
    if (!o && !py_failed(p))
        diag_fail_at(p->diag, CTSC_INTERNAL, r, "a call of %s failed without a reason",
                     py_type_name(callee));
    if (!o) diag_locate(p->diag, r);
    return o;
}

py_object *py_call0(py *p, source_range r, py_object *callee) {
    return py_call(p, r, callee, 0, NULL, 0, NULL, NULL);
}

py_object *py_call1(py *p, source_range r, py_object *callee, py_object *a) {
    return py_call(p, r, callee, 1, &a, 0, NULL, NULL);
}

py_object *py_call2(py *p, source_range r, py_object *callee, py_object *a, py_object *b) {
    py_object *args[] = {a, b};
    return py_call(p, r, callee, 2, args, 0, NULL, NULL);
}

/* ---- arguments of builtins ------------------------------------------------------------------- */

static const char *bind_word(const char *spec, size_t *len) {
    while (*spec == ' ') spec++;
    *len = strcspn(spec, " ");
    return spec;
}

bool py_bind(py *p, source_range r, const char *function, const char *spec, int nargs,
             py_object **args, int nkw, const char *const *names, py_object **kwargs,
             py_object **out) {
    int n = 0, used = 0;
    size_t len;
    for (const char *w = bind_word(spec, &len); len; w = bind_word(w + len, &len), n++) {
        bool optional = w[len - 1] == '?';
        size_t word = optional ? len - 1 : len;
        out[n] = n < nargs ? args[n] : NULL;
        for (int k = 0; k < nkw; k++) {
            if (strlen(names[k]) != word || strncmp(names[k], w, word)) continue;
            if (out[n]) {
                py_fail(p, r, "TypeError", "%s() got multiple values for argument '%s'", function,
                        names[k]);
                return false;
            }
            out[n] = kwargs[k];
            used++;
        }
        if (!out[n] && !optional) {
            py_fail(p, r, "TypeError", "%s() missing required argument '%.*s' (pos %d)", function,
                    (int)word, w, n + 1);
            return false;
        }
    }
    if (nargs > n) {
        py_fail(p, r, "TypeError", "%s() takes at most %d argument%s (%d given)", function, n,
                n == 1 ? "" : "s", nargs);
        return false;
    }
    for (int k = 0; k < nkw && used < nkw; k++) {
        bool known = false;
        for (const char *w = bind_word(spec, &len); len; w = bind_word(w + len, &len)) {
            size_t word = w[len - 1] == '?' ? len - 1 : len;
            known = known || (strlen(names[k]) == word && !strncmp(names[k], w, word));
        }
        if (known) continue;
        py_fail(p, r, "TypeError", "%s() got an unexpected keyword argument '%s'", function,
                names[k]);
        return false;
    }
    return true;
}
