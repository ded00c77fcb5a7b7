/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_inline.c - calls whose callee is compiled anew into its caller; beyond PyTorch.
 *
 * Functions defined in functions, lambdas, functions whose arguments are functions, modules
 * or other things that are not values, *args and **kwargs, parameters that have another type
 * in each call: none of them is one function of a schema. Where a call cannot be compiled
 * as one, its callee's body is emitted with the arguments of this call: constants are
 * constants in it, and arguments that are not values are kept as they are (emitter.lenient).
 *
 * Method. The body gets a graph of its own, which takes the call's place once its returns are
 * gone. A value of another graph that the body mentions becomes a parameter of its graph
 * (irgen_import), a constant is made anew. The free variables of a function defined in another are
 * those that the other one has where the call is emitted, as in Python.
 * Rejected: emitting into the caller's graph, whose returns would not be those of the callee.
 *
 * Tests: tests/lang/accepted_inlined.py
 */
#include "frontend/irgen/irgen.h"

enum { INLINE_MAX_DEPTH = 64, INLINE_MAX_CALLS = 5000 };

/* ---- values of other graphs ------------------------------------------------------------------ */

static ir_value *inline_constant(emitter *e, const ir_value *v, value c) {
    ir_value *made = graph_constant_take(e->g, value_ref(c), v->type);
    if (made && made->def && c.tag == V_FUNCTION)
        node_set_str(made->def, "name", c.u.function->name);
    return made;
}

static ir_value *inline_import_value(emitter *e, source_range r, ir_value *v) {
    const block *home = v->def ? v->def->owner : v->owner;
    value c;
    if (home->g == e->g) return v;
    if (ir_value_constant(v, &c)) return inline_constant(e, v, c);
    if (!e->caller) return irgen_fail(e, r, "a variable of another function cannot be used here");
    ir_value *from = inline_import_value(e->caller, r, v);
    if (!from) return NULL;
    for (size_t i = 0; i < e->imported.len; i++)
        if (e->imported.data[i] == from) return e->g->root->params.data[i];
    ir_value *p = block_add_param(e->g->root, from->type);
    if (arena_failed(&e->g->arena) || !avec_push(e->scratch, &e->imported, from))
        return diag_no_memory(e->diag), NULL;
    if (value_has_name(from)) value_set_name(p, from->name);
    return p;
}

static bool inline_import_part(emitter *e, source_range r, ir_value **v) {
    return !*v || (*v = inline_import_value(e, r, *v));
}

sugar *irgen_import(emitter *e, source_range r, const sugar *s) {
    sugar *out = sugar_new(e, s->kind);
    *out = *s;
    if (!inline_import_part(e, r, &out->value) || !inline_import_part(e, r, &out->start) ||
        !inline_import_part(e, r, &out->step) || !inline_import_part(e, r, &out->length))
        return NULL;
    if (!s->nitems) return out;
    out->items = arena_array(e->scratch, sugar *, s->nitems);
    if (!out->items) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < s->nitems; i++) {
        out->items[i] = s->items[i] ? irgen_import(e, r, s->items[i]) : NULL;
        if (s->items[i] && !out->items[i]) return NULL;
    }
    return out;
}

/* ---- functions defined in functions ---------------------------------------------------------- */

sugar *irgen_closure(emitter *e, const func_def *def) {
    size_t n = def->params.len;
    sugar *s = sugar_new(e, SUGAR_CLOSURE);
    s->def = def;
    s->home = e;
    s->names = e->env->names;
    s->items = arena_array(e->scratch, sugar *, n + 1);
    if (!s->items) return diag_no_memory(e->diag), NULL;
    s->nitems = (int)n;
    for (size_t i = 0; i < n; i++) {
        const param *p = &def->params.data[i];
        s->items[i] = NULL;
        if (p->default_value && !(s->items[i] = irgen_sugar(e, p->default_value, NULL)))
            return NULL;
    }
    return s;
}

sugar *irgen_lambda(emitter *e, const expr *x) {
    func_def *def = arena_new(e->scratch, func_def);
    stmt *st = arena_new(e->scratch, stmt);
    if (irgen_failed(e)) return diag_no_memory(e->diag), NULL;
    *st = (stmt){.kind = S_RETURN, .range = x->a->range, .value = x->a};
    *def = (func_def){
        .name = "<lambda>", .range = x->range, .name_range = x->range, .src = x->range.src};
    for (size_t i = 0; i < x->params.len; i++)
        if (!avec_push(e->scratch, &def->params, x->params.data[i]))
            return diag_no_memory(e->diag), NULL;
    if (!avec_push(e->scratch, &def->body, st)) return diag_no_memory(e->diag), NULL;
    return irgen_closure(e, def);
}

/* ---- arguments ------------------------------------------------------------------------------- */

typedef struct inline_arg {
    const char *name;
    sugar *s;
    source_range range;
    bool used;
} inline_arg;
typedef VEC(inline_arg) inline_args;

static bool inline_push(emitter *e, inline_args *out, const char *name, sugar *s, source_range r) {
    inline_arg a = {name, s, r, false};
    return s && (avec_push(e->scratch, out, a) || (diag_no_memory(e->diag), false));
}

/* An argument: a number or a text that is known while compiling is a constant. */
static sugar *inline_argument(emitter *e, const expr *x) {
    sugar *s = irgen_sugar(e, x, NULL);
    value c;
    if (!s || s->kind != SUGAR_VALUE || ir_value_constant(s->value, &c)) return s;
    switch (s->value->type->kind) {
    case T_INT:
    case T_FLOAT:
    case T_BOOL:
    case T_STR: break;
    default: return s;
    }
    sugar *known = e->scope->ops->static_sugar(e, x);
    bool fits = known && known->kind == SUGAR_VALUE && known->value->type == s->value->type;
    return fits ? known : irgen_failed(e) ? NULL : s;
}

static bool inline_spread(emitter *e, inline_args *out, const expr *x) {
    sugar *s = irgen_sugar(e, x->a, NULL);
    ir_value **parts = NULL;
    int n = 0;
    if (!s) return false;
    if (s->kind == SUGAR_TUPLE && !s->keys) {
        for (int i = 0; i < s->nitems; i++)
            if (!inline_push(e, out, NULL, s->items[i], x->range)) return false;
        return true;
    }
    if (!irgen_spread(e, x->range, s, &parts, &n)) return false;
    for (int i = 0; i < n; i++)
        if (!inline_push(e, out, NULL, sugar_of_value(e, parts[i]), x->range)) return false;
    return true;
}

static bool inline_keywords(emitter *e, inline_args *out, const keyword *k) {
    if (k->name) return inline_push(e, out, k->name, inline_argument(e, k->value), k->range);
    sugar *s = irgen_sugar(e, k->value, NULL);
    if (!s) return false;
    if (s->kind != SUGAR_TUPLE || (s->nitems && !s->keys))
        return irgen_fail(e, k->range, "keyword-arg expansion is not supported"), false;
    for (int i = 0; i < s->nitems; i++)
        if (!inline_push(e, out, s->keys[i], s->items[i], k->range)) return false;
    return true;
}

static bool inline_arguments(emitter *e, const expr *x, inline_args *out) {
    for (size_t i = 0; i < x->items.len; i++) {
        const expr *it = x->items.data[i];
        bool ok = it->kind == E_STARRED
                      ? inline_spread(e, out, it)
                      : inline_push(e, out, NULL, inline_argument(e, it), it->range);
        if (!ok) return false;
    }
    for (size_t i = 0; i < x->kwargs.len; i++)
        if (!inline_keywords(e, out, &x->kwargs.data[i])) return false;
    return true;
}

/* The arguments that no parameter has taken: what *args or **kwargs is. */
static sugar *inline_rest(emitter *e, inline_args *args, bool named) {
    sugar *s = irgen_new_sequence(e, (int)args->len);
    if (!s) return NULL;
    if (named && !(s->keys = arena_array(e->scratch, const char *, args->len + 1)))
        return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < args->len; i++) {
        inline_arg *a = &args->data[i];
        if (a->used || (a->name != NULL) != named) continue;
        a->used = true;
        if (named) s->keys[s->nitems] = a->name;
        s->items[s->nitems++] = a->s;
    }
    return s;
}

static inline_arg *inline_find(inline_args *args, const param *p) {
    for (size_t i = 0; i < args->len; i++) {
        inline_arg *a = &args->data[i];
        if (a->used) continue;
        if (a->name ? !strcmp(a->name, p->name) : !p->kwarg_only) return a;
    }
    return NULL;
}

/* ---- the body -------------------------------------------------------------------------------- */

typedef struct inline_call {
    emitter *caller;
    const inlinee *to;
    const func_def *def;
    inline_args args;
    source_range range;
} inline_call;

/* What an annotation declares; NULL: nothing, or nothing that TorchScript has. */
static type *inline_declared(emitter *e, const expr *annotation) {
    type *t = NULL;
    diag why = {0}, *outer = diag_redirect(&e->diag, &why);
    if (!annotation || irgen_annotation(e, annotation, &t) != CTSC_OK) t = NULL;
    diag_restore(&e->diag, outer);
    if (why.status == CTSC_LIMIT) diag_append(e->diag, &why);
    diag_clear(&why);
    return t;
}

/* The value for a declared parameter keeps its own type, which may be narrower. */
static bool inline_fits(emitter *e, const inline_call *c, const param *p, sugar *s) {
    type *t = s->kind == SUGAR_VALUE ? inline_declared(e, p->annotation) : NULL;
    ir_value *v = t ? match_convert(e, c->range, t, s->value, true) : NULL;
    if (!t) return !irgen_failed(e);
    if (v && type_is_subtype(v->type, t)) return s->value = v, true;
    irgen_fail(e, c->range, "argument '%s' of %s() is of another type than it is declared", p->name,
               c->def->name);
    return false;
}

static bool inline_bind(emitter *e, const inline_call *c, const param *p, sugar *s, bool self) {
    sugar *mine = s ? irgen_import(e, c->range, s) : NULL;
    if (!mine || (!self && !inline_fits(e, c, p, mine))) return false;
    /* never stored, as in a method of its own */
    if (self) return irgen_bind(e, p->range, p->name, mine);
    return irgen_set_sugar(e, p->range, p->name, mine, NULL);
}

static sugar *inline_default(emitter *e, const inline_call *c, size_t i) {
    const sugar *closure = c->to->closure;
    sugar *s = closure ? closure->items[i] : e->scope->ops->default_of(e, c->range, c->to->fn, i);
    if (!s && !irgen_failed(e))
        irgen_fail(e->caller, c->range, "%s() missing the argument '%s'", c->def->name,
                   c->def->params.data[i].name);
    return s;
}

static bool inline_parameters(emitter *e, void *ctx) {
    inline_call *c = ctx;
    const func_def *def = c->def;
    for (size_t i = 0; i < def->params.len; i++) {
        const param *p = &def->params.data[i];
        sugar *s = NULL;
        bool self = !i && c->to->self && c->to->self->kind == SUGAR_VALUE;
        if (!i && c->to->self) {
            s = c->to->self;
        } else if (p->star || p->star_star) {
            s = inline_rest(e, &c->args, p->star_star);
        } else {
            inline_arg *a = inline_find(&c->args, p);
            if (a) a->used = true;
            s = a ? a->s : inline_default(e, c, i);
        }
        if (!inline_bind(e, c, p, s, self)) return false;
    }
    for (size_t i = 0; i < c->args.len; i++) {
        const inline_arg *a = &c->args.data[i];
        if (a->used) continue;
        if (a->name) irgen_fail(e, a->range, "Unknown keyword argument '%s'", a->name);
        else irgen_fail(e, a->range, "%s() takes fewer arguments", def->name);
        return false;
    }
    return true;
}

static sugar *inline_emit(inline_call *c) {
    emitter *e = c->caller, *top = e;
    const inlinee *to = c->to;
    const emitter *home = to->closure ? to->closure->home : NULL;
    while (top->caller) top = top->caller;
    if (e->inlined >= INLINE_MAX_DEPTH || ++top->calls > INLINE_MAX_CALLS)
        return irgen_fail(e, c->range, "'%s' calls itself too often to be compiled", c->def->name),
               NULL;
    graph *g = graph_new();
    if (!g) return diag_no_memory(e->diag), NULL;
    function *f = arena_new(e->scratch, function);
    if (home) *f = home->fn ? *home->fn : (function){.unit = e->unit};
    else
        *f = (function){.name = c->def->name,
                        .qualified = c->def->name,
                        .unit = e->unit,
                        .cls = to->self && to->scope->module ? to->self->value->type : NULL,
                        .def = c->def};
    emitter inner = {.unit = e->unit,
                     .fn = f,
                     .g = g,
                     .diag = e->diag,
                     .scratch = e->scratch,
                     .scope = home ? home->scope : to->scope,
                     .depth = e->depth,
                     .lenient = true,
                     .caller = e,
                     .inlined = e->inlined + 1,
                     .home = (emitter *)home,
                     .home_names = home ? to->closure->names : 0};
    g->range = c->range;
    inner.return_type = inline_declared(&inner, c->def->returns);
    ctsc_status s = irgen_inlined_body(&inner, c->def, inline_parameters, c);
    ir_value *out = NULL;
    if (s == CTSC_OK) {
        e->g->range = c->range;
        graph_inline(e->g, e->g->insert_block, e->g->insert_before, g, inner.imported.data, &out);
    }
    graph_free(g);
    if (s != CTSC_OK) return diag_frame(e->diag, c->range, e->fn ? e->fn->name : ""), NULL;
    return irgen_failed(e) ? (diag_no_memory(e->diag), NULL) : sugar_of_value(e, out);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* As a call of a function that has a schema, with what the arguments are as values. */
static sugar *inline_ordinary(emitter *e, const expr *x, sugar *callee, const inline_args *args,
                              type *hint) {
    actual *all = arena_array(e->scratch, actual, args->len + 1);
    if (!all) return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < args->len; i++) {
        const inline_arg *a = &args->data[i];
        all[i] = (actual){
            .name = a->name, .value = irgen_as_value(e, a->range, a->s), .range = a->range};
        if (!all[i].value) return NULL;
    }
    return irgen_call_sugar(e, x->a->range, callee, (int)args->len, all, hint);
}

static sugar *inline_try(emitter *e, diag *d, sugar *(*emit)(emitter *e, void *ctx), void *ctx) {
    diag **evaluator = e->scope->ops->diag(e->scope);
    diag *outer = diag_redirect(&e->diag, d), *evaluators = diag_redirect(evaluator, d);
    sugar *s = emit(e, ctx);
    diag_restore(evaluator, evaluators);
    diag_restore(&e->diag, outer);
    return s;
}

typedef struct inline_attempt {
    const expr *x;
    sugar *callee;
    inline_call *call;
    type *hint;
} inline_attempt;

static sugar *inline_attempt_ordinary(emitter *e, void *ctx) {
    const inline_attempt *a = ctx;
    return inline_ordinary(e, a->x, a->callee, &a->call->args, a->hint);
}

static sugar *inline_attempt_body(emitter *e, void *ctx) {
    (void)e;
    return inline_emit(((const inline_attempt *)ctx)->call);
}

sugar *irgen_inline_call(emitter *e, const expr *x, sugar *callee, const inlinee *to, type *hint) {
    inline_call c = {
        .caller = e, .to = to, .def = to->closure ? to->closure->def : to->def, .range = x->range};
    inline_attempt a = {x, callee, &c, hint};
    diag first = {0}, second = {0};
    if (!inline_arguments(e, x, &c.args)) return NULL;
    sugar *s = to->only ? NULL : inline_try(e, &first, inline_attempt_ordinary, &a);
    if (!s && first.status <= CTSC_FAILED) {
        s = inline_try(e, &second, inline_attempt_body, &a);
        /* which need not be compiled for others, then */
        if (s && to->declared) e->scope->ops->refused(e, to->declared);
        if (!s) diag_append(e->diag, to->only || second.status > CTSC_FAILED ? &second : &first);
    } else if (!s) {
        diag_append(e->diag, &first);
    }
    diag_clear(&first);
    diag_clear(&second);
    return s;
}
