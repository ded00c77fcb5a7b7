/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_static.c - what is known of expressions because attributes of modules do not change.
 *
 * PyTorch's own front end takes `self.stride == 2` for a value like any other, compiles both
 * branches, and refuses a module whose other branch mentions what this instance does not have.
 * People write such modules all the same. So where a function cannot be compiled as PyTorch would
 * compile it, the emitter tries again (emitter.lenient), and then asks here: an expression of
 * literals, globals and attributes that no method assigns has the value that Python gives it now.
 *
 * Method. Instances with equal plans share a type, and thus the function: all of them have to
 * agree. Where they do not, the inspected attributes distinguish them (program.distinctions), and
 * if the program cannot be compiled, it is retried with separate types. The evaluator computes;
 * this file decides whether it may. `training` and tensors can change, and are never known.
 * Tests: tests/lang/accepted_static.py, tests/lang/accepted_config.py
 */
#include "frontend/program/source.h"
#include "frontend/pyeval/torch/py_torch.h"

enum { STATIC_MAX_DEPTH = 50, STATIC_MAX_INSTANCES = 4096, STATIC_MAX_RANGE = 1024 };

/* ---- which attributes change ----------------------------------------------------------------- */

static bool static_listed(const char *const *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}

static bool static_assigns(const stmt_list *body, const char *self, const char *name, int depth);

static bool static_is_target(const expr *t, const char *self, const char *name) {
    if (!t) return false;
    if (t->kind == E_TUPLE || t->kind == E_LIST) {
        for (size_t i = 0; i < t->items.len; i++)
            if (static_is_target(t->items.data[i], self, name)) return true;
        return false;
    }
    /* of what it holds */
    if (t->kind == E_STARRED || t->kind == E_SUBSCRIPT) return static_is_target(t->a, self, name);
    return t->kind == E_ATTR && !strcmp(t->name, name) && t->a->kind == E_NAME &&
           !strcmp(t->a->name, self);
}

/* self.name.append(x), x = self.name.pop() */
static bool static_calls_to_change(const expr *x, const char *self, const char *name) {
    static const char *const methods[] = {"append",  "extend",     "insert", "pop",
                                          "popitem", "remove",     "clear",  "sort",
                                          "update",  "setdefault", "reverse"};
    return x && x->kind == E_CALL && x->a->kind == E_ATTR &&
           static_is_target(x->a->a, self, name) &&
           static_listed(methods, sizeof methods / sizeof *methods, x->a->name);
}

static bool static_assigns(const stmt_list *body, const char *self, const char *name, int depth) {
    if (depth > PARSE_MAX_DEPTH) return true;
    for (size_t i = 0; i < body->len; i++) {
        const stmt *s = body->data[i];
        if (static_calls_to_change(s->value, self, name)) return true;
        for (size_t k = 0; k < s->targets.len; k++)
            if (static_is_target(s->targets.data[k], self, name)) return true;
        for (size_t k = 0; k < s->items.len; k++)
            if (static_is_target(s->items.data[k].target, self, name)) return true;
        if (static_assigns(&s->body, self, name, depth + 1) ||
            static_assigns(&s->orelse, self, name, depth + 1))
            return true;
    }
    return false;
}

/* Does a method of the class other than __init__ assign self.name, or change what it holds? Those
 * of torch.nn do not count: what they assign is theirs. */
static bool static_changes(const py_object *cls, const char *name) {
    const py_class *c = cls->u.cls;
    if (!strcmp(name, "training")) return true;
    for (size_t i = 0; i < c->mro.len; i++) {
        const py_dict *attrs = c->mro.data[i]->u.cls->attrs;
        for (size_t k = 0; k < attrs->entries.len; k++) {
            const py_dict_entry *en = &attrs->entries.data[k];
            const func_def *def = en->key && en->val->kind == PY_FUNCTION ? en->val->u.fn->def
                                                                          : NULL;
            if (!def || !def->params.len || !strcmp(def->name, "__init__") || def->src->library)
                continue;
            if (static_assigns(&def->body, def->params.data[0].name, name, 0)) return true;
        }
    }
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct static_eval {
    emitter *e;
    program *g;
    py_env env;             /* of the method, with self */
    const char *self;       /* its name; NULL: a function */
    VEC(distinction) reads; /* attributes of modules */
} static_eval;

static bool static_holds(const py_object *o) { return !py_is_tensor(o); }

static py_object *static_value(static_eval *s, const expr *x, int depth);

static bool static_all(static_eval *s, const expr_list *xs, int depth) {
    for (size_t i = 0; i < xs->len; i++)
        if (!static_value(s, xs->data[i], depth)) return false;
    return true;
}

/* Methods of Python's own types, and functions of modules, that only look. */
static bool static_may_call_member(static_eval *s, const expr *x, int depth) {
    static const char *const methods[] = {"format", "get",   "keys",       "values",   "items",
                                          "index",  "count", "lower",      "upper",    "split",
                                          "join",   "strip", "startswith", "endswith", "replace"};
    static const char *const functions[] = {"torch.cuda.is_available"};
    py_object *base = static_value(s, x->a->a, depth);
    if (!base || x->kwargs.len || !static_all(s, &x->items, depth)) return false;
    if (base->kind == PY_MODULE) {
        const py_object *fn = py_find(&s->g->py, x->range, base, x->a->name);
        return fn && fn->kind == PY_BUILTIN &&
               static_listed(functions, sizeof functions / sizeof *functions, fn->u.builtin.name);
    }
    return (base->kind == PY_DICT || base->kind == PY_LIST || base->kind == PY_TUPLE ||
            py_as_text(base)) &&
           static_listed(methods, sizeof methods / sizeof *methods, x->a->name);
}

/* Calls that only look. */
static bool static_may_call(static_eval *s, const expr *x, int depth) {
    static const char *const names[] = {"len",  "isinstance", "hasattr", "range", "min",   "max",
                                        "bool", "int",        "abs",     "any",   "all",   "type",
                                        "str",  "float",      "list",    "tuple", "sorted"};
    if (x->a->kind == E_ATTR) return static_may_call_member(s, x, depth);
    if (x->a->kind != E_NAME || x->kwargs.len || irgen_find_variable(s->e, x->a->name))
        return false;
    return static_listed(names, sizeof names / sizeof *names, x->a->name) &&
           py_lookup(&s->g->py, &s->env, x->a->name) == py_builtin_named(&s->g->py, x->a->name) &&
           static_all(s, &x->items, depth);
}

/* A variable of the function: an unrolled loop's counter or key. */
static bool static_variable(static_eval *s, const char *name) {
    value v;
    if (!irgen_known_variable(s->e, name, &v)) return false;
    py_object *o = py_from_value(&s->g->py, value_ref(v));
    return o && py_dict_set(&s->g->py, s->env.vars, name, o);
}

static bool static_known(static_eval *s, const expr *x, int depth) {
    switch (x->kind) {
    case E_INT:
    case E_FLOAT:
    case E_STR:
    case E_TRUE:
    case E_FALSE:
    case E_NONE: return true;
    case E_NAME: {
        if (s->self && !strcmp(x->name, s->self)) return true;
        if (irgen_find_variable(s->e, x->name)) return static_variable(s, x->name);
        py_object *o = py_lookup(&s->g->py, &s->env, x->name);
        return o && static_holds(o) && (!source_is_module(o) || source_is_layer(s->g, o));
    }
    case E_ATTR: {
        py_object *base = static_value(s, x->a, depth);
        if (!base || (base->kind == PY_INSTANCE && static_changes(base->u.inst.cls, x->name)))
            return false;
        if (source_is_module(base))
            (void)avec_push(s->e->scratch, &s->reads, ((distinction){base->u.inst.cls, x->name}));
        py_object *o = py_find(&s->g->py, x->range, base, x->name);
        return o && static_holds(o) && o->kind != PY_METHOD;
    }
    case E_UNARY: return static_value(s, x->a, depth) != NULL;
    case E_BINARY:
    case E_COMPARE: return static_value(s, x->a, depth) && static_value(s, x->b, depth);
    case E_BOOLOP: { /* the right operand may not be reached */
        py_object *a = static_value(s, x->a, depth);
        bool truth;
        if (!a || !py_truth(&s->g->py, x->range, a, &truth)) return false;
        return truth == (x->op == O_BOOL_OR) || static_value(s, x->b, depth);
    }
    case E_TUPLE:
    case E_LIST:
    case E_FSTRING: return static_all(s, &x->items, depth);
    case E_FORMAT: return static_value(s, x->a, depth) != NULL;
    case E_SUBSCRIPT:
        return x->items.data[0]->kind != E_SLICE && static_value(s, x->a, depth) &&
               static_all(s, &x->items, depth);
    case E_CALL: return static_may_call(s, x, depth);
    default: return false;
    }
}

static py_object *static_value(static_eval *s, const expr *x, int depth) {
    if (depth > STATIC_MAX_DEPTH || !static_known(s, x, depth + 1)) return NULL;
    if (x->kind == E_FORMAT) return s->g->py.none; /* a part of an f-string, which is evaluated */
    py_object *o = py_eval(&s->g->py, &s->env, x);
    return o && static_holds(o) ? o : NULL;
}

/* ---- all instances --------------------------------------------------------------------------- */

static bool static_distinguish(program *g, const distinction *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < g->distinctions.len && (g->distinctions.data[k].cls != list[i].cls ||
                                           strcmp(g->distinctions.data[k].name, list[i].name)))
            k++;
        if (k == g->distinctions.len && !avec_push(&g->unit->arena, &g->distinctions, list[i]))
            return diag_no_memory(g->py.diag), false;
    }
    return true;
}

bool source_static_same(program *g, py_object *a, py_object *b) {
    for (size_t i = 0; i < g->distinctions.len; i++) {
        const distinction *d = &g->distinctions.data[i];
        if (a->u.inst.cls != d->cls) continue;
        py_object *x = py_find(&g->py, (source_range){0}, a, d->name),
                  *y = py_find(&g->py, (source_range){0}, b, d->name);
        if (x != y && (!x || !y || !static_holds(x) || !static_holds(y) ||
                       (!source_is_module(x) && !py_equal(&g->py, x, y))))
            return false;
    }
    return true;
}

/* The value for one instance (NULL: a function's), without
 * setting an error; its outcome goes into *out. */
static py_object *static_for(emitter *e, py_object *instance, const expr *x, static_eval *out) {
    program *g = e->scope->prog;
    diag why = {0};
    const func_def *def = e->fn ? e->fn->def : NULL;
    static_eval s = {.e = e,
                     .g = g,
                     .env = {.vars = py_dict_new(&g->py),
                             .outer = e->scope->env,
                             .module = e->scope->env->module}};
    if (instance && def && def->params.len) {
        s.self = def->params.data[0].name;
        if (!py_dict_set(&g->py, s.env.vars, s.self, instance)) return NULL;
    }
    diag *outer = diag_redirect(&g->py.diag, &why);
    py_object *o = static_value(&s, x, 0);
    if (why.status != CTSC_OK) o = NULL;
    diag_restore(&g->py.diag, outer);
    g->py.raised = NULL;
    diag_clear(&why);
    *out = s;
    return o;
}

/* Calls `agrees` for the values of all instances that share the function; the first
 * of them, or NULL. */
static py_object *static_agreed(emitter *e, const expr *x,
                                bool (*agrees)(program *g, py_object *a, py_object *b)) {
    program *g = e->scope->prog;
    module_type *m = e->scope->module;
    if (!e->lenient) return NULL;
    static_eval s = {0}, first_eval = {0};
    if (!m) return static_for(e, NULL, x, &s);
    py_object *first = NULL;
    int n = 0;
    for (size_t i = 0; i < g->modules.cap; i++) {
        if (!g->modules.slots[i].key || g->modules.slots[i].value != m) continue;
        py_object *o = n++ < STATIC_MAX_INSTANCES
                           ? static_for(e, (py_object *)g->modules.slots[i].key, x, &s)
                           : NULL;
        if (!o) return NULL;
        if (first && !agrees(g, first, o)) {
            if (static_distinguish(g, s.reads.data, s.reads.len))
                static_distinguish(g, first_eval.reads.data, first_eval.reads.len);
            return NULL;
        }
        if (!first) first_eval = s;
        first = first ? first : o;
    }
    return first;
}

static bool static_same_truth(program *g, py_object *a, py_object *b) {
    bool x, y;
    return py_truth(&g->py, (source_range){0}, a, &x) &&
           py_truth(&g->py, (source_range){0}, b, &y) && x == y;
}

static bool static_same_range(program *g, py_object *a, py_object *b) {
    (void)g;
    return a->kind == PY_RANGE && b->kind == PY_RANGE &&
           !memcmp(&a->u.range, &b->u.range, sizeof a->u.range);
}

static bool static_same_int(program *g, py_object *a, py_object *b) {
    (void)g;
    return a->kind == PY_VALUE && b->kind == PY_VALUE && a->u.v.tag == V_INT &&
           b->u.v.tag == V_INT && a->u.v.u.i == b->u.v.u.i;
}

bool source_static_int(emitter *e, const char *name, int64_t *out) {
    const func_def *def = e->fn ? e->fn->def : NULL;
    if (!def || !def->params.len || !e->scope->module) return false;
    expr self = {.kind = E_NAME, .name = def->params.data[0].name},
         x = {.kind = E_ATTR, .name = name, .a = &self};
    py_object *o = static_agreed(e, &x, static_same_int);
    if (!o || o->kind != PY_VALUE || o->u.v.tag != V_INT) return false;
    *out = o->u.v.u.i;
    return true;
}

static bool static_same(program *g, py_object *a, py_object *b) {
    return a == b || (!source_is_module(a) && !source_is_module(b) && py_equal(&g->py, a, b));
}

bool source_static_text(emitter *e, const expr *x, const char **out) {
    const py_object *o = static_agreed(e, x, static_same);
    const char *text = o ? py_as_text(o) : NULL;
    if (text) *out = text;
    return text != NULL;
}

py_object *source_static_value(emitter *e, const expr *x) {
    return static_agreed(e, x, static_same);
}

sugar *source_static_sugar(emitter *e, const expr *x) {
    py_object *o = static_agreed(e, x, static_same);
    return o ? source_sugar(e, x->range, o) : NULL;
}

sugar *source_elements(emitter *e, source_range r, py_object *o) {
    py_object **items;
    int n;
    if ((o->kind != PY_LIST && o->kind != PY_TUPLE && o->kind != PY_DICT &&
         o->kind != PY_ITERATOR) ||
        !py_iterate(&e->scope->prog->py, r, o, &items, &n) || n > STATIC_MAX_RANGE)
        return NULL;
    sugar *s = irgen_new_sequence(e, n);
    for (int i = 0; s && i < n; i++)
        if (!(s->items[s->nitems++] = source_sugar(e, r, items[i]))) return NULL;
    return s;
}

int source_static_truth(emitter *e, const expr *x) {
    py_object *o = static_agreed(e, x, static_same_truth);
    bool truth;
    return o && py_truth(&e->scope->prog->py, x->range, o, &truth) ? truth : -1;
}

/* The value of `def f(x): return VALUE` with a docstring or without; NULL: another function. */
static const expr *static_only_value(const func_def *def) {
    const stmt_list *body = &def->body;
    size_t last = body->len - 1;
    if (!body->len || last > 1 || body->data[last]->kind != S_RETURN || def->params.len != 1 ||
        def->params.data[0].star || def->params.data[0].star_star)
        return NULL;
    if (last && (body->data[0]->kind != S_EXPR || body->data[0]->value->kind != E_STR)) return NULL;
    return body->data[last]->value;
}

/* exists(x) where the program has `def exists(x): return x is not None`: the known
 * value and the refined type of x are only found if the test is inlined at the call. */
const expr *source_predicate(emitter *e, const expr *call) {
    if (call->a->kind != E_NAME || call->items.len != 1 || call->kwargs.len ||
        call->items.data[0]->kind == E_STARRED || irgen_find_variable(e, call->a->name))
        return NULL;
    py_object *fn = py_lookup(&e->scope->prog->py, e->scope->env, call->a->name);
    const func_def *def = fn && fn->kind == PY_FUNCTION && !py_is_overload(fn) ? fn->u.fn->def
                                                                               : NULL;
    const expr *value = def ? static_only_value(def) : NULL;
    if (!value || value->kind != E_COMPARE || (value->op != O_IS && value->op != O_ISNOT) ||
        value->b->kind != E_NONE || value->a->kind != E_NAME ||
        strcmp(value->a->name, def->params.data[0].name))
        return NULL;
    expr *test = arena_new(e->scratch, expr);
    *test = *value;
    test->range = call->range;
    test->a = call->items.data[0];
    return test;
}

static bool static_is_sequence(const py_object *o) {
    return o->kind == PY_LIST || o->kind == PY_TUPLE;
}

sugar *source_static_range(emitter *e, const expr *x) {
    if (x->kind == E_ATTR) { /* a list of numbers that is never assigned again */
        py_object *list = static_agreed(e, x, static_same);
        return list && static_is_sequence(list) ? source_elements(e, x->range, list) : NULL;
    }
    py_object *o = x->kind == E_CALL ? static_agreed(e, x, static_same_range) : NULL;
    if (!o || o->kind != PY_RANGE) return NULL;
    int64_t at = o->u.range.start, step = o->u.range.step, stop = o->u.range.stop, n = 0;
    for (int64_t i = at; step > 0 ? i < stop : i > stop; i += step)
        if (++n > STATIC_MAX_RANGE) return NULL;
    sugar *s = irgen_new_sequence(e, (int)n);
    for (int64_t i = 0; s && i < n; i++) {
        e->g->range = x->range;
        s->items[s->nitems++] = sugar_of_value(e, irgen_hidden_int(e, at + i * step));
    }
    return s;
}

/* Has a list or dict no type, and none either once its objects' classes are script classes? */
static bool static_untyped(program *g, const py_object *o) {
    size_t wanted = g->wanted.len;
    return source_want_classes(g, o) && g->wanted.len == wanted;
}

py_object *source_static_object(emitter *e, const module_type *m, const char *name) {
    program *g = e->scope->prog;
    py_object *first = NULL;
    if (!e->lenient || static_changes(m->py_class, name)) return NULL;
    for (size_t i = 0; i < g->modules.cap; i++) {
        if (!g->modules.slots[i].key || g->modules.slots[i].value != m) continue;
        py_object *o = py_dict_get(((const py_object *)g->modules.slots[i].key)->u.inst.attrs,
                                   name);
        /* a named tuple that holds no tensors where it says so */
        bool fields = o && o->kind == PY_TUPLE && o->u.seq.seq_cls;
        bool mixed = o && (o->kind == PY_LIST || o->kind == PY_DICT) && static_untyped(g, o);
        if (!o || (o->kind != PY_INSTANCE && !fields && !mixed) || source_is_module(o)) return NULL;
        if (first && first != o && !(mixed && py_equal(&g->py, first, o)))
            return static_distinguish(g, &(distinction){m->py_class, name}, 1), NULL;
        first = o;
    }
    return first;
}
