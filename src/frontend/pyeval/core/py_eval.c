/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_eval.c - expressions, and assignment to targets.
 *
 * Comprehensions run in a scope of their own, as in Python; generator expressions are run to
 * their end at once.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

static py_object *py_eval_text(py *p, py_env *env, source_range r, const char *text);

/* ---- names ----------------------------------------------------------------------------------- */

/* The scope of the function, class body or module that contains a comprehension. */
py_env *py_function_env(const py_env *env) {
    while (env->is_comprehension && env->outer) env = env->outer;
    return (py_env *)env;
}

static bool eval_declared(const py_env *env, const char *name, bool global) {
    if (global) {
        for (size_t i = 0; i < env->globals.len; i++)
            if (!strcmp(env->globals.data[i], name)) return true;
        return false;
    }
    for (size_t i = 0; i < env->nonlocals.len; i++)
        if (!strcmp(env->nonlocals.data[i], name)) return true;
    return false;
}

bool py_store(py *p, py_env *env, const char *name, py_object *v) {
    if (env->globals.len && eval_declared(env, name, true))
        return py_dict_set(p, env->module->u.mod.globals, name, v);
    if (env->nonlocals.len && eval_declared(env, name, false))
        for (py_env *at = env->outer; at; at = at->outer)
            if (!at->is_class && py_dict_get(at->vars, name))
                return py_dict_set(p, at->vars, name, v);
    return py_dict_set(p, env->vars, name, v);
}

static py_object *eval_name(py *p, py_env *env, const expr *x) {
    py_object *o = py_lookup(p, env, x->name);
    if (o) return o;
    if (!strcmp(x->name, "__class__"))
        for (const py_env *at = env; at; at = at->outer)
            if (at->cls) return at->cls;
    py_fail(p, x->range, "NameError", "name '%s' is not defined", x->name);
    py_suggest_variable(p, env, x->name);
    return NULL;
}

/* ---- literals -------------------------------------------------------------------------------- */

static py_object *eval_int(py *p, py_env *env, const expr *x) {
    (void)env;
    return py_int(p, x->i);
}

static py_object *eval_float(py *p, py_env *env, const expr *x) {
    (void)env;
    return py_float(p, x->f);
}

static py_object *eval_imaginary(py *p, py_env *env, const expr *x) {
    (void)env;
    complex_box *c = complex_new(0, x->f);
    if (c) return py_value_take(p, (value){.tag = V_COMPLEX, .u.complex = c});
    diag_no_memory(p->diag);
    return NULL;
}

static py_object *eval_str(py *p, py_env *env, const expr *x) {
    (void)env;
    /* Short ones are shared, so that a loop does not make them anew. */
    return x->slen <= 64 && strlen(x->s) == x->slen ? py_text(p, x->s)
                                                    : py_string(p, x->s, x->slen);
}

static py_object *eval_true(py *p, py_env *env, const expr *x) {
    (void)env, (void)x;
    return p->true_;
}

static py_object *eval_false(py *p, py_env *env, const expr *x) {
    (void)env, (void)x;
    return p->false_;
}

static py_object *eval_none(py *p, py_env *env, const expr *x) {
    (void)env, (void)x;
    return p->none;
}

static py_object *eval_ellipsis(py *p, py_env *env, const expr *x) {
    (void)env, (void)x;
    return p->ellipsis;
}

/* A format spec may hold fields of its own: f"{x:{width}}". */
static bool eval_spec(py *p, py_env *env, const expr *part, strbuf *out) {
    const char *s = part->s;
    for (size_t i = 0; i < part->slen; i++) {
        if (s[i] != '{') {
            sb_putc(out, s[i]);
            continue;
        }
        size_t end = i + 1;
        while (end < part->slen && s[end] != '}') end++;
        char *text = arena_strndup(p->a, s + i + 1, end - i - 1);
        py_object *o = text ? py_eval_text(p, env, part->range, text) : NULL;
        if (!o || !py_str(p, part->range, o, false, out)) return false;
        i = end;
    }
    return true;
}

static bool eval_format_part(py *p, py_env *env, const expr *part, strbuf *out) {
    if (part->kind == E_STR) {
        sb_write(out, part->s, part->slen);
        return true;
    }
    py_object *o = py_eval(p, env, part->a);
    if (!o) return false;
    if (part->name && !part->s) return py_str(p, part->range, o, part->name[0] != 's', out);
    if (part->name) {
        strbuf text = STRBUF_INIT;
        if (!py_str(p, part->range, o, part->name[0] != 's', &text)) {
            sb_free(&text);
            return false;
        }
        if (!(o = py_from_buffer(p, &text))) return false;
    }
    strbuf spec = STRBUF_INIT;
    bool ok = !part->s || eval_spec(p, env, part, &spec);
    ok = ok && py_format_value(p, part->range, o, sb_str(&spec), spec.len, out);
    sb_free(&spec);
    return ok;
}

static py_object *eval_fstring(py *p, py_env *env, const expr *x) {
    strbuf out = STRBUF_INIT;
    bool ok = true;
    for (size_t i = 0; ok && i < x->items.len; i++)
        ok = eval_format_part(p, env, x->items.data[i], &out);
    if (ok) return py_from_buffer(p, &out);
    sb_free(&out);
    return NULL;
}

/* ---- containers ------------------------------------------------------------------------------ */

/* Appends the values of the expressions; *a spreads. */
static bool eval_items(py *p, py_env *env, const expr_list *list, py_object *out) {
    for (size_t i = 0; i < list->len; i++) {
        const expr *x = list->data[i];
        py_object *o = py_eval(p, env, x->kind == E_STARRED ? x->a : x);
        if (!o) return false;
        if (x->kind != E_STARRED) {
            if (!py_append(p, out, o)) return false;
            continue;
        }
        py_object **items;
        int n;
        if (!py_iterate(p, x->range, o, &items, &n)) return false;
        for (int k = 0; k < n; k++)
            if (!py_append(p, out, items[k])) return false;
    }
    return true;
}

static py_object *eval_tuple(py *p, py_env *env, const expr *x) {
    py_object *o = py_new(p, PY_TUPLE);
    return eval_items(p, env, &x->items, o) ? o : NULL;
}

static py_object *eval_list(py *p, py_env *env, const expr *x) {
    py_object *o = py_new(p, PY_LIST);
    return eval_items(p, env, &x->items, o) ? o : NULL;
}

static py_object *eval_set(py *p, py_env *env, const expr *x) {
    py_object *items = eval_list(p, env, x), *o = py_set_new(p);
    for (size_t i = 0; items && i < items->u.seq.items.len; i++)
        if (!py_set_add(p, x->range, o, items->u.seq.items.data[i])) return NULL;
    return items ? o : NULL;
}

static bool eval_merge(py *p, source_range r, py_dict *into, py_object *o) {
    bool mapping = o->kind == PY_DICT || (o->kind == PY_INSTANCE && py_find(p, r, o, "keys"));
    if (mapping) return py_dict_merge(p, r, into, o);
    if (!py_failed(p)) py_fail(p, r, "TypeError", "'%s' object is not a mapping", py_type_name(o));
    return false;
}

static py_object *eval_dict(py *p, py_env *env, const expr *x) {
    py_dict *d = py_dict_new(p);
    for (size_t i = 0; i < x->items.len; i++) {
        const expr *k = x->keys.data[i];
        bool merge = k->kind == E_UNPACK;
        py_object *key = py_eval(p, env, merge ? k->a : k);
        if (!key) return NULL;
        if (merge) {
            if (!eval_merge(p, k->range, d, key)) return NULL;
            continue;
        }
        py_object *v = py_eval(p, env, x->items.data[i]);
        if (!v) return NULL;
        if (!py_dict_set_key(p, d, key, v)) {
            diag_locate(p->diag, k->range);
            return NULL;
        }
    }
    return py_dict_object(p, d);
}

/* ---- comprehensions -------------------------------------------------------------------------- */

typedef struct eval_loop {
    py *p;
    py_env *env;       /* the comprehension's own */
    const expr *whole; /* has the element, and the key of a dict */
    py_object *out;    /* LIST, SET, DICT or ITERATOR */
} eval_loop;

static bool eval_loop_element(eval_loop *l) {
    py_object *key = l->out->kind == PY_DICT ? py_eval(l->p, l->env, l->whole->keys.data[0]) : NULL;
    if (l->out->kind == PY_DICT && !key) return false;
    py_object *o = py_eval(l->p, l->env, l->whole->a);
    if (!o) return false;
    if (l->out->kind == PY_DICT) return py_dict_set_key(l->p, l->out->u.dict, key, o);
    if (l->out->kind == PY_SET) return py_set_add(l->p, l->whole->range, l->out, o);
    return py_append(l->p, l->out, o);
}

/* One `for ... in ... if ...` and those that follow it. source: what it goes over. */
static bool eval_loop_clause(eval_loop *l, const expr *clause, py_object *source) {
    py *p = l->p;
    py_object **items;
    int n;
    if (!py_iterate(p, clause->b->range, source, &items, &n)) return false;
    for (int i = 0; i < n; i++) {
        if (!py_step(p, clause->range) || !py_assign(p, l->env, clause->target, items[i]))
            return false;
        bool wanted = true;
        for (size_t k = 0; wanted && k < clause->items.len; k++) {
            py_object *c = py_eval(p, l->env, clause->items.data[k]);
            if (!c || !py_truth(p, clause->items.data[k]->range, c, &wanted)) return false;
        }
        if (!wanted) continue;
        if (!clause->c) {
            if (!eval_loop_element(l)) return false;
            continue;
        }
        py_object *inner = py_eval(p, l->env, clause->c->b);
        if (!inner || !py_deeper(p, clause->range)) return false;
        bool ok = eval_loop_clause(l, clause->c, inner);
        p->depth--;
        if (!ok) return false;
    }
    return true;
}

static py_object *eval_comprehension(py *p, py_env *env, const expr *x) {
    py_object *source = py_eval(p, env, x->b);
    if (!source) return NULL;
    py_env *own = arena_new(p->a, py_env);
    *own = (py_env){.vars = py_dict_new(p),
                    .outer = env,
                    .module = env->module,
                    .is_comprehension = true,
                    .qualname = env->qualname};
    py_object *out = x->kind == E_DICT_COMP   ? py_dict_object(p, py_dict_new(p))
                     : x->kind == E_SET_COMP  ? py_set_new(p)
                     : x->kind == E_LIST_COMP ? py_new(p, PY_LIST)
                                              : py_new(p, PY_ITERATOR);
    eval_loop l = {p, own, x, out};
    return eval_loop_clause(&l, x, source) ? out : NULL;
}

static py_object *eval_yield(py *p, py_env *env, const expr *x) {
    py_env *f = py_function_env(env);
    py_object *o = x->a ? py_eval(p, env, x->a) : p->none;
    if (!o) return NULL;
    if (!f->yields) return py_fail(p, x->range, "SyntaxError", "'yield' outside function");
    if (f->body) return py_with_yield(p, x->range, f->body, o);
    if (x->kind == E_YIELD) return py_append(p, f->yields, o) ? p->none : NULL;
    py_object **items;
    int n;
    if (!py_iterate(p, x->range, o, &items, &n)) return NULL;
    for (int i = 0; i < n; i++)
        if (!py_append(p, f->yields, items[i])) return NULL;
    return p->none;
}

static py_object *eval_unsupported(py *p, py_env *env, const expr *x) {
    (void)env;
    diag_fail_at(p->diag, CTSC_UNSUPPORTED, x->range, "%s", x->s);
    return NULL;
}

/* ---- operators ------------------------------------------------------------------------------- */

static py_object *eval_unary(py *p, py_env *env, const expr *x) {
    py_object *a = py_eval(p, env, x->a);
    return a ? py_unary(p, x->range, x->op, a) : NULL;
}

static py_object *eval_binary(py *p, py_env *env, const expr *x) {
    py_object *a = py_eval(p, env, x->a), *b = a ? py_eval(p, env, x->b) : NULL;
    return b ? py_binary(p, x->range, x->op, a, b) : NULL;
}

static py_object *eval_boolop(py *p, py_env *env, const expr *x) {
    py_object *a = py_eval(p, env, x->a);
    bool truth;
    if (!a || !py_truth(p, x->a->range, a, &truth)) return NULL;
    return truth == (x->op == O_BOOL_OR) ? a : py_eval(p, env, x->b);
}

static py_object *eval_chain(py *p, py_env *env, const expr *x) {
    py_object *a = py_eval(p, env, x->items.data[0]), *result = NULL;
    for (size_t i = 1; a && i < x->items.len; i++) {
        py_object *b = py_eval(p, env, x->items.data[i]);
        bool truth;
        result = b ? py_binary(p, x->range, x->ops.data[i - 1], a, b) : NULL;
        if (!result || !py_truth(p, x->range, result, &truth)) return NULL;
        if (!truth) return result;
        a = b;
    }
    return a ? result : NULL;
}

static py_object *eval_ternary(py *p, py_env *env, const expr *x) {
    py_object *c = py_eval(p, env, x->b);
    bool truth;
    if (!c || !py_truth(p, x->b->range, c, &truth)) return NULL;
    return py_eval(p, env, truth ? x->a : x->c);
}

static py_object *eval_walrus(py *p, py_env *env, const expr *x) {
    py_object *o = py_eval(p, env, x->a);
    return o && py_store(p, py_function_env(env), x->name, o) ? o : NULL;
}

static py_object *eval_lambda(py *p, py_env *env, const expr *x) {
    func_def *def = arena_new(p->a, func_def);
    stmt *s = arena_new(p->a, stmt);
    *s = (stmt){.kind = S_RETURN, .range = x->range, .value = x->a};
    def->name = intern(p->names, "<lambda>");
    memcpy(&def->params, &x->params, sizeof def->params);
    def->range = def->name_range = x->range;
    def->src = x->range.src;
    def->is_generator = x->i;
    (void)avec_push(p->a, &def->body, s);
    return py_memory(p) ? py_function_new(p, env, def) : NULL;
}

/* ---- attributes, subscripts ------------------------------------------------------------------ */

static py_object *eval_attr(py *p, py_env *env, const expr *x) {
    py_object *o = py_eval(p, env, x->a);
    return o ? py_getattr(p, x->range, o, x->name) : NULL;
}

static py_object *eval_slice(py *p, py_env *env, const expr *x) {
    py_object *o = py_new(p, PY_SLICE);
    o->u.slice.start = x->a ? py_eval(p, env, x->a) : p->none;
    o->u.slice.stop = o->u.slice.start && x->b ? py_eval(p, env, x->b) : p->none;
    o->u.slice.step = o->u.slice.stop && x->c ? py_eval(p, env, x->c) : p->none;
    return o->u.slice.start && o->u.slice.stop && o->u.slice.step ? o : NULL;
}

py_object *py_eval_index(py *p, py_env *env, const expr *x) {
    return x->tuple_index ? eval_tuple(p, env, x) : py_eval(p, env, x->items.data[0]);
}

static py_object *eval_subscript(py *p, py_env *env, const expr *x) {
    py_object *o = py_eval(p, env, x->a), *index = o ? py_eval_index(p, env, x) : NULL;
    return index ? py_subscript(p, x->range, o, index) : NULL;
}

static py_object *eval_starred(py *p, py_env *env, const expr *x) {
    (void)env;
    return py_fail(p, x->range, "SyntaxError", "can't use starred expression here");
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Calls with *args or **kwargs. */
static py_object *eval_spread_call(py *p, py_env *env, const expr *x, py_object *callee) {
    py_object *args = py_new(p, PY_LIST);
    py_dict *d = py_dict_new(p);
    if (!eval_items(p, env, &x->items, args)) return NULL;
    for (size_t i = 0; i < x->kwargs.len; i++) {
        const keyword *k = &x->kwargs.data[i];
        py_object *v = py_eval(p, env, k->value);
        if (!v || !(k->name ? py_dict_set(p, d, k->name, v) : eval_merge(p, k->range, d, v)))
            return NULL;
    }
    const char **names = arena_array(p->a, const char *, d->len + 1);
    py_object **values = arena_array(p->a, py_object *, d->len + 1);
    int n = 0;
    if (!names || !values || !py_memory(p)) {
        diag_no_memory(p->diag);
        return NULL;
    }
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry *e = &d->entries.data[i];
        if (!e->key) continue;
        const str *s = py_str_of(e->key);
        if (!s) return py_fail(p, x->range, "TypeError", "keywords must be strings");
        names[n] = intern_n(p->names, s->bytes, s->len);
        values[n++] = e->val;
    }
    return py_call(p, x->range, callee, (int)args->u.seq.items.len, args->u.seq.items.data, n,
                   names, values);
}

enum { EVAL_FEW = 8 };

static py_object *eval_call(py *p, py_env *env, const expr *x) {
    py_object *callee = py_eval(p, env, x->a);
    if (!callee) return NULL;
    bool spread = x->items.len > EVAL_FEW || x->kwargs.len > EVAL_FEW;
    for (size_t i = 0; !spread && i < x->items.len; i++)
        spread = x->items.data[i]->kind == E_STARRED;
    for (size_t i = 0; !spread && i < x->kwargs.len; i++) spread = !x->kwargs.data[i].name;
    if (spread) return eval_spread_call(p, env, x, callee);
    py_object *args[EVAL_FEW], *kwargs[EVAL_FEW];
    const char *names[EVAL_FEW];
    for (size_t i = 0; i < x->items.len; i++)
        if (!(args[i] = py_eval(p, env, x->items.data[i]))) return NULL;
    for (size_t i = 0; i < x->kwargs.len; i++) {
        names[i] = x->kwargs.data[i].name;
        if (!(kwargs[i] = py_eval(p, env, x->kwargs.data[i].value))) return NULL;
    }
    return py_call(p, x->range, callee, (int)x->items.len, args, (int)x->kwargs.len, names, kwargs);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

typedef py_object *(*eval_fn)(py *p, py_env *env, const expr *x);

static const eval_fn eval_table[E_KIND_COUNT] = {
    [E_NAME] = eval_name,
    [E_INT] = eval_int,
    [E_FLOAT] = eval_float,
    [E_IMAGINARY] = eval_imaginary,
    [E_STR] = eval_str,
    [E_FSTRING] = eval_fstring,
    [E_TRUE] = eval_true,
    [E_FALSE] = eval_false,
    [E_NONE] = eval_none,
    [E_ELLIPSIS] = eval_ellipsis,
    [E_UNARY] = eval_unary,
    [E_BINARY] = eval_binary,
    [E_BOOLOP] = eval_boolop,
    [E_COMPARE] = eval_binary,
    [E_CHAIN] = eval_chain,
    [E_TERNARY] = eval_ternary,
    [E_ATTR] = eval_attr,
    [E_SUBSCRIPT] = eval_subscript,
    [E_SLICE] = eval_slice,
    [E_CALL] = eval_call,
    [E_STARRED] = eval_starred,
    [E_TUPLE] = eval_tuple,
    [E_LIST] = eval_list,
    [E_DICT] = eval_dict,
    [E_SET] = eval_set,
    [E_LIST_COMP] = eval_comprehension,
    [E_DICT_COMP] = eval_comprehension,
    [E_SET_COMP] = eval_comprehension,
    [E_GENERATOR] = eval_comprehension,
    [E_YIELD] = eval_yield,
    [E_YIELD_FROM] = eval_yield,
    [E_LAMBDA] = eval_lambda,
    [E_WALRUS] = eval_walrus,
    [E_CAPTURE] = py_eval_capture,
    [E_SHAPE] = py_eval_shape,
    [E_FIELD] = py_eval_field,
    [E_UNSUPPORTED] = eval_unsupported,
};

py_object *py_eval(py *p, py_env *env, const expr *x) {
    eval_fn fn = eval_table[x->kind];
    if (!fn) return py_fail(p, x->range, "SyntaxError", "invalid syntax");
    if (!py_deeper(p, x->range)) return NULL;
    py_object *o = fn(p, env, x);
    p->depth--;
    if (!o) {
        if (!py_failed(p))
            diag_fail_at(p->diag, CTSC_INTERNAL, x->range,
                         "the evaluation failed without a reason");
        diag_locate(p->diag, x->range);
    }
    return o;
}

/* Evaluates the text of an expression in env. */
static py_object *py_eval_text(py *p, py_env *env, source_range r, const char *text) {
    source *src = source_new(r.src ? r.src->name : "<string>", text, strlen(text));
    if (!py_hold_source(p, src)) return NULL;
    expr *x = NULL;
    if (parse_expression(p->diag, p->a, p->names, src, 0, (uint32_t)src->len, &x) != CTSC_OK)
        return NULL;
    return py_eval(p, env, x);
}

/* ---- targets --------------------------------------------------------------------------------- */

static bool assign_unpack(py *p, py_env *env, const expr *target, py_object *v) {
    py_object **items;
    int n, star = -1, want = (int)target->items.len;
    for (int i = 0; i < want; i++)
        if (target->items.data[i]->kind == E_STARRED) star = i;
    if (py_type_name(v) && v->kind == PY_VALUE && (v->u.v.tag <= V_FLOAT)) {
        py_fail(p, target->range, "TypeError", "cannot unpack non-iterable %s object",
                py_type_name(v));
        return false;
    }
    if (!py_iterate(p, target->range, v, &items, &n)) return false;
    if (star < 0 ? n != want : n < want - 1) {
        if (n < want)
            py_fail(p, target->range, "ValueError",
                    "not enough values to unpack (expected %s%d, got %d)",
                    star < 0 ? "" : "at least ", star < 0 ? want : want - 1, n);
        else
            py_fail(p, target->range, "ValueError", "too many values to unpack (expected %d)",
                    want);
        return false;
    }
    int extra = n - (want - 1);
    for (int i = 0, at = 0; i < want; i++) {
        const expr *t = target->items.data[i];
        py_object *o = i == star ? py_list(p, extra, items + at) : items[at];
        if (!o || !py_assign(p, env, i == star ? t->a : t, o)) return false;
        at += i == star ? extra : 1;
    }
    return true;
}

bool py_assign(py *p, py_env *env, const expr *target, py_object *v) {
    switch (target->kind) {
    case E_NAME: return py_store(p, env, target->name, v);
    case E_ATTR: {
        py_object *o = py_eval(p, env, target->a);
        return o && py_setattr(p, target->range, o, target->name, v);
    }
    case E_SUBSCRIPT: {
        py_object *o = py_eval(p, env, target->a),
                  *index = o ? py_eval_index(p, env, target) : NULL;
        return index && py_set_subscript(p, target->range, o, index, v);
    }
    case E_TUPLE:
    case E_LIST: return assign_unpack(p, env, target, v);
    default:
        py_fail(p, target->range, "SyntaxError", "cannot assign to this expression");
        return false;
    }
}
