/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refine.c - conditions: their value if known at compile time,
 * and what a branch learns about the types of variables.
 *
 * Method. A condition is a bool value and three facts: whether it is known already (then the branch
 * not taken is never looked at, so it may hold code that has no type here), and which variables
 * have narrower types where it is true and where it is false. `x is None` and isinstance are the
 * sources of facts; `and`, `or` and `not` combine them. Only variables are refined: an attribute or
 * an element may be another object at the next look. Known are constants: literals, Final
 * attributes, hasattr, is_scripting(), `is None` of what always or never is None, isinstance that
 * the static types decide.
 *
 * Tests: tests/lang, tests/corpus
 */
#include "frontend/irgen/irgen.h"

/* ---- sets of refinements --------------------------------------------------------------------- */

static const refinement *refine_find(const refinement *l, const char *name) {
    for (; l; l = l->next)
        if (!strcmp(l->name, name)) return l;
    return NULL;
}

static refinement *refine_add(emitter *e, refinement *l, const char *name, type *t) {
    refinement *r = arena_new(e->scratch, refinement);
    *r = (refinement){.name = name, .type = t, .next = l};
    return r;
}

static refinement **refine_append(emitter *e, refinement **end, const refinement *r) {
    *end = refine_add(e, NULL, r->name, r->type);
    (*end)->assigned = r->assigned;
    return &(*end)->next;
}

/* What holds where both a and b do, those of a first; a variable refined in two ways
 * is not refined. */
static refinement *refine_both(emitter *e, const refinement *a, const refinement *b) {
    refinement *out = NULL, **end = &out;
    for (const refinement *r = a; r; r = r->next) {
        const refinement *other = refine_find(b, r->name);
        if (!other || other->type == r->type) end = refine_append(e, end, r);
    }
    for (const refinement *r = b; r; r = r->next)
        if (!refine_find(a, r->name)) end = refine_append(e, end, r);
    return out;
}

/* What holds where a or b does. */
static refinement *refine_either(emitter *e, const refinement *a, const refinement *b) {
    refinement *out = NULL, **end = &out;
    for (const refinement *r = a; r; r = r->next) {
        const refinement *other = refine_find(b, r->name);
        if (other && other->type == r->type) end = refine_append(e, end, r);
    }
    return out;
}

bool irgen_refine(emitter *e, source_range r, const refinement *list) {
    for (; list; list = list->next) {
        if (list->assigned) {
            if (!strmap_put(&e->env->vars, list->name, (void *)list->assigned))
                return diag_no_memory(e->diag), false;
            continue;
        }
        const sugar *s = irgen_get_variable(e, r, list->name);
        if (!s) return !irgen_failed(e);
        if (s->kind != SUGAR_VALUE) continue;
        e->g->range = r;
        ir_value *v = s->value;
        node *n = graph_insert(e->g, node_new(e->g, N_UNCHECKED_CAST, 1, &v, 1));
        n->outputs.data[0]->type = list->type;
        if (!irgen_set_value(e, r, list->name, n->outputs.data[0])) return false;
    }
    return true;
}

static void refine_known(emitter *e, source_range r, bool known, condition *out) {
    e->g->range = r;
    out->known = known;
    out->value = graph_constant_bool(e->g, known);
}

/* ---- is None --------------------------------------------------------------------------------- */

typedef enum none_status { NONE_ALWAYS, NONE_MAYBE, NONE_NEVER } none_status;

static none_status refine_none_status(const ir_value *v) {
    if (v->type->kind == T_NONE) return NONE_ALWAYS;
    if (v->type->kind == T_OPTIONAL) return NONE_MAYBE;
    if (v->type->kind == T_UNION)
        for (int i = 0; i < v->type->nelems; i++)
            if (v->type->elems[i]->kind == T_NONE) return NONE_MAYBE;
    return NONE_NEVER;
}

static bool refine_is(emitter *e, const expr *x, condition *out) {
    ir_value *a = irgen_expr(e, x->a, NULL);
    ir_value *b = a ? irgen_expr(e, x->b, NULL) : NULL;
    if (!b) return false;
    bool is = x->op == O_IS;
    none_status an = refine_none_status(a), bn = refine_none_status(b);
    if (an == NONE_ALWAYS && bn == NONE_ALWAYS) {
        refine_known(e, x->range, is, out);
        return true;
    }
    if ((an == NONE_ALWAYS && bn == NONE_NEVER) || (an == NONE_NEVER && bn == NONE_ALWAYS)) {
        refine_known(e, x->range, !is, out);
        return true;
    }
    ir_value *args[] = {a, b};
    out->value = irgen_builtin_values(e, x->range, is ? "aten::__is__" : "aten::__isnot__", 2,
                                      args);
    if (!out->value) return false;
    const expr *var = bn == NONE_ALWAYS ? x->a : an == NONE_ALWAYS ? x->b : NULL;
    const ir_value *v = bn == NONE_ALWAYS ? a : b;
    if (!var || var->kind != E_NAME || !type_admits_none(v->type)) return true;
    /* where x is None it keeps its type: it may be assigned something else there */
    refinement *present = refine_add(e, NULL, var->name, type_without_none(v->type));
    *(is ? &out->when_false : &out->when_true) = present;
    return true;
}

/* ---- isinstance ------------------------------------------------------------------------------ */

typedef VEC(type *) type_vector;

static bool refine_type(emitter *e, const expr *x, type **out) {
    if (x->kind == E_NAME && !strcmp(x->name, "list")) *out = type_of_kind(T_ANY_LIST);
    else if (x->kind == E_NAME && !strcmp(x->name, "tuple")) *out = type_of_kind(T_ANY_TUPLE);
    else return irgen_annotation(e, x, out) == CTSC_OK;
    return true;
}

/* Optional and Union count as their members. */
static void refine_flatten(emitter *e, type *t, type_vector *out) {
    if (t->kind == T_OPTIONAL) {
        refine_flatten(e, type_elem(t), out);
        t = TYPE_NONE;
    }
    if (t->kind == T_UNION) {
        for (int i = 0; i < t->nelems; i++) refine_flatten(e, t->elems[i], out);
        return;
    }
    for (size_t i = 0; i < out->len; i++)
        if (out->data[i] == t) return;
    avec_push(e->scratch, out, t);
}

/* isinstance(x, (A, (B, C))) */
static bool refine_gather(emitter *e, const expr *x, type_vector *out, int depth) {
    if (depth > PARSE_MAX_DEPTH)
        return irgen_fail(e, x->range, "expressions nest too deeply"), false;
    if (x->kind == E_TUPLE) {
        for (size_t i = 0; i < x->items.len; i++)
            if (!refine_gather(e, x->items.data[i], out, depth + 1)) return false;
        return true;
    }
    type *t = NULL;
    if (!refine_type(e, x, &t)) return false;
    refine_flatten(e, t, out);
    return true;
}

/* In the order a Union has them, as PyTorch's graphs show them. */
static void refine_sort(emitter *e, type_vector *v) {
    if (v->len < 2) return;
    type *u = type_union((int)v->len, v->data);
    if (u->kind != T_UNION && u->kind != T_OPTIONAL) return;
    v->len = 0;
    refine_flatten(e, u, v);
}

static type *refine_united(const type_vector *v) {
    return v->len == 0 ? NULL : v->len == 1 ? v->data[0] : type_union((int)v->len, v->data);
}

/* Splits what x may be into what passes the test and what fails it; true if no member can fail. */
static bool refine_split(emitter *e, const type_vector *is, const type_vector *asked,
                         type_vector *pass, type_vector *fail) {
    bool all = true;
    for (size_t i = 0; i < is->len; i++) {
        type *t = is->data[i];
        if (t->kind == T_ANY) {
            for (size_t k = 0; k < asked->len; k++) refine_flatten(e, asked->data[k], pass);
            refine_flatten(e, t, fail);
            return pass->len == 1 && pass->data[0] == t;
        }
        bool certain = false;
        for (size_t k = 0; k < asked->len; k++)
            if (type_is_subtype(t, asked->data[k])) certain = true;
        for (size_t k = 0; k < asked->len && !certain; k++)
            if (type_is_subtype(asked->data[k], t)) refine_flatten(e, asked->data[k], pass);
        if (certain) refine_flatten(e, t, pass);
        else refine_flatten(e, t, fail);
        if (!certain) all = false;
    }
    return all;
}

/* Modules are what their Python classes say, which is known; nothing more is
 * learnt of their types. */
static bool refine_module(emitter *e, const expr *call, const ir_value *v, condition *out) {
    int is = e->scope->ops->isinstance(e, v->type, call->items.data[1]);
    if (is >= 0) refine_known(e, call->range, is == 1, out);
    return is >= 0;
}

static bool refine_isinstance(emitter *e, const expr *call, condition *out) {
    if (call->items.len != 2 || call->kwargs.len) {
        irgen_fail(e, call->range, "isinstance expected exactly 2 arguments but found %zu",
                   call->items.len + call->kwargs.len);
        return false;
    }
    const expr *x = call->items.data[0];
    ir_value *v = irgen_expr(e, x, NULL);
    type_vector is = {0}, asked = {0}, pass = {0}, fail = {0};
    if (!v) return false;
    if (e->scope && v->type->kind == T_CLASS && v->type->cls->is_module && v->type->cls->source)
        return refine_module(e, call, v, out);
    if (!refine_gather(e, call->items.data[1], &asked, 0)) return false;
    refine_sort(e, &asked);
    refine_flatten(e, v->type, &is);
    bool all = refine_split(e, &is, &asked, &pass, &fail);
    if (irgen_failed(e)) return diag_no_memory(e->diag), false;
    if (x->kind == E_NAME && irgen_find_variable(e, x->name)) {
        if (pass.len) out->when_true = refine_add(e, NULL, x->name, refine_united(&pass));
        if (fail.len) out->when_false = refine_add(e, NULL, x->name, refine_united(&fail));
    }
    if (all || !pass.len) {
        refine_known(e, call->range, pass.len != 0, out);
        return true;
    }
    e->g->range = call->range;
    node *n = node_new(e->g, N_ISINSTANCE, 1, &v, 1);
    node_set_types(n, "types", (int)asked.len, asked.data);
    n->outputs.data[0]->type = TYPE_BOOL;
    graph_insert(e->g, n);
    out->value = n->outputs.data[0];
    return true;
}

ir_value *irgen_isinstance(emitter *e, const expr *call) {
    condition c = {.known = -1};
    return refine_isinstance(e, call, &c) ? c.value : NULL;
}

/* A call of isinstance or torch.jit.isinstance? */
static bool refine_calls_isinstance(emitter *e, const expr *x) {
    if (x->kind != E_CALL) return false;
    const expr *f = x->a;
    if ((f->kind != E_NAME && f->kind != E_ATTR) || strcmp(f->name, "isinstance") != 0)
        return false;
    if (f->kind == E_NAME) return !irgen_find_variable(e, f->name);
    const sugar *s = irgen_sugar(e, f, NULL);
    return s && s->kind == SUGAR_SPECIAL;
}

/* ---- and, or, not ---------------------------------------------------------------------------- */

/* A variable that the right operand assigns, after the whole expression:
 * as a refinement of where that operand was evaluated. Where it was not
 * (block `decided`), an existing variable keeps its value. */
static bool refine_assigned(emitter *e, block *decided, const char *name, source_range r,
                            const variable *v, refinement **learnt) {
    variable *before = irgen_find_variable(e, name), *after = arena_new(e->scratch, variable);
    if (before && !before->error && before->type && v->type) {
        *after = *v;
        after->type = type_unify(before->type, v->type, false);
        if (!after->type) after->type = before->type;
        return strmap_put(&e->env->vars, name, after) || (diag_no_memory(e->diag), false);
    }
    if (v->type) irgen_store_nothing(e, decided, v, name);
    *after = (variable){
        .error = arena_printf(e->scratch, "%s is assigned in an operand that may not be evaluated",
                              name),
        .where = r};
    *learnt = refine_add(e, *learnt, name, v->type);
    (*learnt)->assigned = v;
    return strmap_put(&e->env->vars, name, after) || (diag_no_memory(e->diag), false);
}

static bool refine_all_assigned(emitter *e, block *decided, const expr *x, const frame *own,
                                refinement **learnt) {
    name_vector names = {0};
    if (!irgen_assigned_names(e, x, &names)) return false;
    for (size_t i = 0; i < names.len; i++) {
        const variable *v = strmap_get(&own->vars, names.data[i]);
        if (!v || v->error || refine_find(*learnt, names.data[i])) continue;
        if (!refine_assigned(e, decided, names.data[i], x->range, v, learnt)) return false;
    }
    return true;
}

/* What the right operand assigns within operands of its own needs a value in block
 * `decided` too, unless the left one has assigned it there (learnt): (n == 1 and (y := a))
 * or (n == 2 and (y := b)). */
static void refine_nested(emitter *e, block *decided, const refinement *list,
                          const refinement *learnt) {
    for (; list; list = list->next) {
        const refinement *left = refine_find(learnt, list->name);
        if (!list->assigned || !list->type || (left && left->assigned && left->type == list->type))
            continue;
        irgen_store_nothing(e, decided, list->assigned, list->name);
    }
}

/* The right operand, in block `open`, where the left one (a) did not decide. *assigned:
 * what it assigns. */
static bool refine_right(emitter *e, block *open, block *decided, const expr *x, const condition *a,
                         condition *out, refinement **assigned) {
    bool is_or = x->op == O_BOOL_OR;
    const refinement *learnt = is_or ? a->when_false : a->when_true,
                     *there = is_or ? a->when_true : a->when_false;
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, open, NULL);
    irgen_push_frame(e, open);
    frame *own = e->env;
    bool ok = irgen_refine(e, x->b->range, learnt) && irgen_condition_parts(e, x->b, out);
    e->env = own->next;
    if (ok) refine_nested(e, decided, out->when_true, there);
    if (ok) refine_nested(e, decided, out->when_false, there);
    ok = ok && refine_all_assigned(e, decided, x->b, own, assigned);
    strmap_free(&own->vars);
    graph_set_insert(e->g, ib, in);
    return ok;
}

static bool refine_boolop(emitter *e, const expr *x, condition *out) {
    bool is_or = x->op == O_BOOL_OR;
    condition a = {.known = -1}, b = {.known = -1};
    if (!irgen_condition_parts(e, x->a, &a)) return false;
    if (a.known == is_or) { /* the right operand is never evaluated */
        *out = a;
        return true;
    }
    if (a.known >= 0) return irgen_condition_parts(e, x->b, out);
    e->g->range = x->range;
    node *n = graph_insert(e->g, node_new(e->g, N_IF, 1, &a.value, 0));
    block *blocks[2] = {node_add_block(n), node_add_block(n)}; /* for true, for false */
    block *decided = blocks[is_or ? 0 : 1], *open = blocks[is_or ? 1 : 0];
    refinement *assigned = NULL;
    if (!refine_right(e, open, decided, x, &a, &b, &assigned)) return false;
    e->g->range = x->range;
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, decided, NULL);
    irgen_push_frame(e, decided);
    /* PyTorch's graphs have it, though nothing uses it */
    bool ok = irgen_refine(e, x->range, is_or ? a.when_true : a.when_false);
    irgen_pop_frame(e);
    block_add_return(decided, graph_constant_bool(e->g, is_or));
    graph_set_insert(e->g, ib, in);
    if (!ok) return false;
    block_add_return(open, b.value);
    out->value = node_add_output(n, TYPE_BOOL);
    if (b.known == is_or) out->known = b.known;
    if (is_or) {
        out->when_true = refine_either(e, a.when_true, b.when_true);
        out->when_false = refine_both(e, assigned, refine_both(e, a.when_false, b.when_false));
    } else {
        out->when_true = refine_both(e, assigned, refine_both(e, a.when_true, b.when_true));
        out->when_false = refine_either(e, a.when_false, b.when_false);
    }
    return true;
}

static bool refine_not(emitter *e, const expr *x, condition *out) {
    condition c = {.known = -1};
    if (!irgen_condition_parts(e, x->a, &c)) return false;
    if (c.known >= 0) refine_known(e, x->range, !c.known, out);
    else out->value = irgen_builtin_values(e, x->range, "aten::__not__", 1, &c.value);
    out->when_true = c.when_false;
    out->when_false = c.when_true;
    return out->value != NULL;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

/* x is not None and x */
static bool refine_present(emitter *e, const expr *x, condition *out) {
    expr *both = arena_array(e->scratch, expr, 3);
    if (!both) return diag_no_memory(e->diag), false;
    both[0] = (expr){.kind = E_BOOLOP, .op = O_BOOL_AND, .range = x->range, .b = (expr *)x};
    both[0].a = &both[1];
    both[1] = (expr){.kind = E_COMPARE, .op = O_ISNOT, .range = x->range, .a = (expr *)x};
    both[1].b = &both[2];
    both[2] = (expr){.kind = E_NONE, .range = x->range};
    return refine_boolop(e, both, out);
}

/* Beyond PyTorch: None is false, a module true unless it is an empty container. 1, 0; -1:
 * another value. */
static int refine_static_truth(emitter *e, const ir_value *v) {
    type *t = v->type;
    module_container c;
    if (t->kind == T_NONE) return 0;
    if (t->kind != T_CLASS || !t->cls->is_module || !t->cls->source) return -1;
    if (e->scope->ops->container(t, &c)) return c.nkeys > 0;
    bool asks = irgen_find_method(e, t, "__bool__") || irgen_find_method(e, t, "__len__");
    return asks || irgen_failed(e) ? -1 : 1;
}

static bool refine_value(emitter *e, const expr *x, condition *out) {
    ir_value *v = irgen_expr(e, x, NULL);
    if (v && e->lenient && e->scope) {
        int truth = refine_static_truth(e, v);
        if (truth >= 0) return refine_known(e, x->range, truth, out), true;
        if (v->type->kind == T_OPTIONAL && x->kind == E_NAME) return refine_present(e, x, out);
    }
    if (v) v = irgen_truth(e, x->range, v);
    if (!v) return false;
    value c;
    out->value = v;
    if (ir_value_constant(v, &c) && c.tag == V_BOOL) out->known = c.u.b;
    else if (v->def && node_is_op(v->def, SYM_IS_SCRIPTING)) out->known = 1;
    return true;
}

bool irgen_condition_parts(emitter *e, const expr *x, condition *out) {
    *out = (condition){.known = -1};
    if (irgen_failed(e)) return diag_no_memory(e->diag), false;
    if (++e->depth > PARSE_MAX_DEPTH * 2) {
        irgen_fail(e, x->range, "expressions nest too deeply");
        e->depth--;
        return false;
    }
    const expr *test = e->lenient && e->scope && x->kind == E_CALL ? e->scope->ops->predicate(e, x)
                                                                   : NULL;
    if (test) x = test;
    bool ok;
    int known = e->lenient && e->scope ? e->scope->ops->static_truth(e, x) : -1;
    if (known >= 0) refine_known(e, x->range, known, out), ok = true;
    else if (x->kind == E_BOOLOP) ok = refine_boolop(e, x, out);
    else if (x->kind == E_UNARY && x->op == O_NOT) ok = refine_not(e, x, out);
    else if (x->kind == E_COMPARE && (x->op == O_IS || x->op == O_ISNOT)) ok = refine_is(e, x, out);
    else if (x->kind == E_CAPTURE) ok = irgen_match_capture(e, x, out);
    else if (x->kind == E_SHAPE) ok = irgen_match_shape(e, x, out);
    else if (refine_calls_isinstance(e, x)) ok = refine_isinstance(e, x, out);
    else ok = !irgen_failed(e) && refine_value(e, x, out);
    e->depth--;
    return ok;
}
