/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit_stmt.c - statements.
 *
 * A prim::If gets its outputs, and a prim::Loop its carried values, only in ssa.c, from the
 * Loads and Stores in their blocks. What is decided here is which variables stay visible after the
 * statement, and with which type.
 * Tests: tests/corpus
 */
#include "frontend/emit.h"

#include <stdlib.h>

/* ---- assignment ------------------------------------------------------------------------------------ */

static bool stmt_assign_items(emitter *e, const expr *target, sugar *s) {
    source_range r = target->range;
    ir_value *v = emit_as_value(e, r, s);
    if (!v) return false;
    int n = 0, star = -1;
    for (size_t i = 0; i < target->items.len; i++)
        if (target->items.data[i]->kind == E_STARRED) star = (int)i;
    ir_value **parts = NULL;
    size_t want = star < 0 ? target->items.len : 0;
    if (!emit_unpack(e, r, v, want, &parts, &n)) return false;
    int ntargets = (int)target->items.len;
    if (star < 0 ? n != ntargets : n < ntargets - 1) {
        emit_fail(e, r, "Provided %d values, but %d were expected", n, ntargets);
        return false;
    }
    for (int i = 0, k = 0; i < ntargets; i++) {
        const expr *t = target->items.data[i];
        ir_value *part;
        if (i == star) {
            int rest = n - (ntargets - 1);
            part = emit_tuple(e, r, NULL, rest, parts + k);
            k += rest;
            t = t->a;
        } else {
            part = parts[k++];
        }
        if (!part || !emit_assign_target(e, t, sugar_of_value(e, part), NULL)) return false;
    }
    return true;
}

static bool stmt_assign_attribute(emitter *e, const expr *target, sugar *s) {
    ir_value *obj = emit_expr(e, target->a, NULL);
    if (!obj) return false;
    if (obj->type->kind != T_CLASS) {
        emit_fail(e, target->range, "Tried to set an attribute: %s on a value that has none", target->name);
        return false;
    }
    int slot = class_find_attribute(obj->type, target->name);
    if (slot < 0) {
        emit_fail(e, target->range,
                  "Tried to set nonexistent attribute: %s. Did you forget to initialize it in __init__()?",
                  target->name);
        return false;
    }
    type *want = obj->type->cls->attributes.data[slot].type;
    ir_value *v = emit_as_value(e, target->range, s);
    if (v) v = match_convert(e, target->range, want, v, true);
    if (!v) return false;
    if (!type_is_subtype(v->type, want)) {
        strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        type_print_python(want, &a);
        type_print_python(v->type, &b);
        emit_fail(e, target->range, "Wrong type for attribute assignment. Expected %s but got %s",
                  sb_str(&a), sb_str(&b));
        sb_free(&a);
        sb_free(&b);
        return false;
    }
    ir_value *in[] = {obj, v};
    node *n = node_new(e->g, N_SET_ATTR, 2, in, 0);
    node_set_str(n, "name", target->name);
    graph_insert(e->g, n);
    return true;
}

static bool stmt_assign_subscript(emitter *e, const expr *target, sugar *s) {
    ir_value *base = emit_expr(e, target->a, NULL);
    ir_value *v = base ? emit_as_value(e, target->range, s) : NULL;
    if (!v) return false;
    if (target->items.len != 1 || target->items.data[0]->kind == E_SLICE) {
        emit_fail(e, target->range, "Sliced expression not yet supported for subscripted assignment");
        return false;
    }
    ir_value *index = emit_expr(e, target->items.data[0], NULL);
    if (!index) return false;
    if (base->type->kind == T_CLASS) {
        actual args[] = {{NULL, index, target->range}, {NULL, v, target->range}};
        return emit_method(e, target->range, base, "__setitem__", 2, args) != NULL;
    }
    ir_value *args[] = {base, index, v};
    if (base->type->kind == T_TENSOR) { /* x[i] = v: write through the view */
        ir_value *zero = graph_constant_int(e->g, 0);
        ir_value *sel[] = {base, zero, index};
        ir_value *view = emit_builtin_values(e, target->range, "aten::select", 3, sel);
        if (!view) return false;
        if (v->type->kind != T_TENSOR) {
            ir_value *fill[] = {view, v};
            return emit_builtin_values(e, target->range, "aten::fill_", 2, fill) != NULL;
        }
        ir_value *copy[] = {view, v};
        return emit_builtin_values(e, target->range, "aten::copy_", 2, copy) != NULL;
    }
    return emit_builtin_values(e, target->range, "aten::_set_item", 3, args) != NULL;
}

bool emit_assign_target(emitter *e, const expr *target, sugar *s, type *annotated) {
    switch (target->kind) {
    case E_NAME: return emit_set_sugar(e, target->range, target->name, s, annotated);
    case E_TUPLE:
    case E_LIST: return stmt_assign_items(e, target, s);
    case E_ATTR: return stmt_assign_attribute(e, target, s);
    case E_SUBSCRIPT: return stmt_assign_subscript(e, target, s);
    default: emit_fail(e, target->range, "this cannot be assigned to"); return false;
    }
}

/* a, b = x, y without a tuple in between */
static bool stmt_assign_pairwise(emitter *e, const expr *target, const expr *value) {
    size_t n = value->items.len;
    sugar **vals = arena_array(e->scratch, sugar *, n);
    if (!vals) return diag_no_memory(e->diag), false;
    for (size_t i = 0; i < n; i++)
        if (!(vals[i] = emit_sugar(e, value->items.data[i], NULL))) return false;
    for (size_t i = 0; i < n; i++)
        if (!emit_assign_target(e, target->items.data[i], vals[i], NULL)) return false;
    return true;
}

static bool stmt_has_star(const expr_list *xs) {
    for (size_t i = 0; i < xs->len; i++)
        if (xs->data[i]->kind == E_STARRED) return true;
    return false;
}

static bool stmt_assign(emitter *e, const stmt *st) {
    const expr *target = st->targets.data[0];
    if (st->targets.len == 1 && target->kind == E_TUPLE && st->value->kind == E_TUPLE &&
        target->items.len == st->value->items.len && !stmt_has_star(&target->items) &&
        !stmt_has_star(&st->value->items))
        return stmt_assign_pairwise(e, target, st->value);
    sugar *s = emit_sugar(e, st->value, NULL);
    if (!s) return false;
    for (size_t i = 0; i < st->targets.len; i++)
        if (!emit_assign_target(e, st->targets.data[i], s, NULL)) return false;
    return true;
}

/* x: I = modules[i] indexes a module container at run time */
static sugar *stmt_container_index(emitter *e, const expr *x, type *t) {
    if (x->kind != E_SUBSCRIPT || x->items.len != 1 || t->kind != T_INTERFACE) return NULL;
    ir_value *base = emit_expr(e, x->a, NULL);
    ir_value *index = base ? emit_expr(e, x->items.data[0], NULL) : NULL;
    if (!index) return NULL;
    ir_value *in[] = {base, index};
    node *n = graph_insert(e->g, node_new(e->g, N_CONTAINER_INDEX, 2, in, 1));
    n->outputs.data[0]->type = t;
    return sugar_of_value(e, n->outputs.data[0]);
}

static bool stmt_ann_assign(emitter *e, const stmt *st) {
    type *t = NULL;
    if (annotation_type(e->unit, e->diag, st->annotation, &t) != CTSC_OK) return false;
    if (!st->value) {
        emit_fail(e, st->range, "a variable cannot be declared without a value");
        return false;
    }
    sugar *s = NULL;
    if (t->kind == T_INTERFACE) s = stmt_container_index(e, st->value, t);
    if (!s && !emit_failed(e)) s = emit_sugar(e, st->value, t);
    return s && emit_assign_target(e, st->targets.data[0], s, t);
}

static bool stmt_aug_assign(emitter *e, const stmt *st) {
    static const char *const inplace[O_COUNT] = {
        [O_ADD] = "aten::add_", [O_SUB] = "aten::sub_", [O_MUL] = "aten::mul_", [O_DIV] = "aten::div_",
        [O_MOD] = "aten::fmod_", [O_POW] = "aten::pow_", [O_AND] = "aten::__iand__",
        [O_OR] = "aten::__ior__", [O_XOR] = "aten::__ixor__", [O_LSHIFT] = "aten::__lshift__",
        [O_RSHIFT] = "aten::__rshift__", [O_FLOORDIV] = "aten::floor_divide_"};
    static const char *const plain[O_COUNT] = {
        [O_ADD] = "aten::add", [O_SUB] = "aten::sub", [O_MUL] = "aten::mul", [O_DIV] = "aten::div",
        [O_MOD] = "aten::fmod", [O_POW] = "aten::pow", [O_AND] = "aten::__and__",
        [O_OR] = "aten::__or__", [O_XOR] = "aten::__xor__", [O_LSHIFT] = "aten::__lshift__",
        [O_RSHIFT] = "aten::__rshift__", [O_FLOORDIV] = "aten::floordiv"};
    const expr *target = st->targets.data[0];
    ir_value *old = emit_expr(e, target, NULL);
    ir_value *rhs = old ? emit_expr(e, st->value, NULL) : NULL;
    if (!rhs) return false;
    bool mutable = old->type->kind == T_TENSOR || (old->type->kind == T_LIST && (st->op == O_ADD || st->op == O_MUL));
    const char *name = (mutable ? inplace : plain)[st->op];
    if (!name) {
        emit_fail(e, st->range, "unsupported kind of augmented assignment: %s=", operator_text(st->op));
        return false;
    }
    ir_value *args[] = {old, rhs};
    ir_value *v = emit_builtin_values(e, st->range, name, 2, args);
    if (!v) return false;
    if (mutable && target->kind != E_NAME) return true;
    return emit_assign_target(e, target, sugar_of_value(e, v), NULL);
}

/* ---- if ----------------------------------------------------------------------------------------------- */

typedef struct branch { frame env; bool returned; } branch;

static bool stmt_branch(emitter *e, block *b, const stmt_list *body, branch *out) {
    bool before = e->returned;
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, b, NULL);
    e->returned = false;
    emit_push_frame(e, b);
    bool ok = emit_statements(e, body);
    out->returned = e->returned;
    out->env = *e->env;     /* keeps the variables; freed by the caller */
    e->env = e->env->next;
    e->returned = before;
    graph_set_insert(e->g, ib, in);
    return ok;
}

static int stmt_compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Makes variables set in the branches visible after the If, where both define them (or one leaves). */
static bool stmt_join_branches(emitter *e, branch *b) {
    VEC(const char *) names = {0};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < b[k].env.vars.cap; i++) {
            const char *name = b[k].env.vars.slots[i].key;
            if (name && !(k == 1 && strmap_get(&b[0].env.vars, name)))
                avec_push(e->scratch, &names, name);
        }
    if (names.len) qsort(names.data, names.len, sizeof *names.data, stmt_compare_names);
    for (size_t i = 0; i < names.len; i++) {
        const char *name = names.data[i];
        variable *v[2];
        for (int k = 0; k < 2; k++) {
            v[k] = strmap_get(&b[k].env.vars, name);
            if (!v[k]) v[k] = emit_find_variable(e, name);
        }
        if (b[0].returned && b[1].returned) continue;
        if (b[0].returned) v[0] = v[1];
        if (b[1].returned) v[1] = v[0];
        variable *joined = arena_new(e->scratch, variable);
        const variable *outer = emit_find_variable(e, name);
        if (!v[0] || !v[1]) {
            joined->error = arena_printf(e->scratch, "%s is not defined in the %s branch", name,
                                         v[0] ? "false" : "true");
        } else if (v[0]->error || v[1]->error) {
            joined->error = v[0]->error ? v[0]->error : v[1]->error;
        } else if (v[0]->sugar || v[1]->sugar) {
            if (v[0]->sugar != v[1]->sugar)
                joined->error = arena_printf(e->scratch, "%s is not a first-class value", name);
            else joined->sugar = v[0]->sugar;
        } else {
            joined->type = outer && outer->type ? outer->type : type_unify(v[0]->type, v[1]->type, false);
            if (!joined->type) {
                strbuf t = STRBUF_INIT, f = STRBUF_INIT;
                type_print_python(v[0]->type, &t);
                type_print_python(v[1]->type, &f);
                joined->error = arena_printf(
                    e->scratch,
                    "Type mismatch: %s is set to type %s in the true branch and type %s in the false branch",
                    name, sb_str(&t), sb_str(&f));
                sb_free(&t);
                sb_free(&f);
            }
        }
        if (!strmap_put(&e->env->vars, name, joined)) return diag_no_memory(e->diag), false;
    }
    return true;
}

static bool stmt_if(emitter *e, const stmt *st) {
    ir_value *cond = emit_condition(e, st->value);
    if (!cond) return false;
    e->g->range = st->range;
    node *n = graph_insert(e->g, node_new(e->g, N_IF, 1, &cond, 0));
    block *blocks[2] = {node_add_block(n), node_add_block(n)};
    branch b[2] = {0};
    bool ok = stmt_branch(e, blocks[0], &st->body, &b[0]) &&
              stmt_branch(e, blocks[1], &st->orelse, &b[1]) && stmt_join_branches(e, b);
    strmap_free(&b[0].env.vars);
    strmap_free(&b[1].env.vars);
    if (b[0].returned && b[1].returned) e->returned = true;
    return ok;
}

/* ---- loops ---------------------------------------------------------------------------------------------- */

/* What `for target in iterable` steps through: the trip count and how to get an element. */
typedef struct iteration { ir_value *count; sugar *range; ir_value *sequence; } iteration;

static bool stmt_iteration(emitter *e, const expr *x, iteration *it) {
    sugar *s = emit_sugar(e, x, NULL);
    if (!s) return false;
    if (s->kind == SUGAR_RANGE) {
        it->range = s;
        it->count = s->length;
        return true;
    }
    ir_value *v = emit_as_value(e, x->range, s);
    if (!v) return false;
    if (v->type->kind == T_DICT) v = emit_builtin_values(e, x->range, "aten::keys", 1, &v);
    if (!v) return false;
    it->sequence = v;
    it->count = emit_builtin_values(e, x->range, "aten::len", 1, &v);
    return it->count != NULL;
}

static ir_value *stmt_iteration_element(emitter *e, const iteration *it, ir_value *i, source_range r) {
    if (it->range) {
        if (!it->range->start) return i;
        ir_value *args[] = {i, it->range->start, it->range->step};
        return emit_builtin_values(e, r, "aten::__derive_index", 3, args);
    }
    if (it->sequence->type->kind == T_TENSOR) {
        ir_value *args[] = {it->sequence, graph_constant_int(e->g, 0), i};
        return emit_builtin_values(e, r, "aten::select", 3, args);
    }
    ir_value *args[] = {it->sequence, i};
    return emit_builtin_values(e, r, "aten::__getitem__", 2, args);
}

/* The condition is emitted into a second block, which ssa.c moves in front of the loop and to the end of its
 * body, so that it sees the variables of both places. */
static bool stmt_loop(emitter *e, const stmt *st, iteration *it) {
    graph *g = e->g;
    ir_value *trip = it ? it->count : emit_constant_take(e, value_int(INT64_MAX), NULL);
    if (!trip) return false;
    g->range = st->range;
    node *n = node_new(g, N_LOOP, 1, &trip, 0);
    graph_insert(g, n);
    block *body = node_add_block(n), *condition = node_add_block(n);
    block *ib = g->insert_block;
    node *in = g->insert_before;
    bool ok = true;
    emit_push_frame(e, condition);
    ir_value *cond;
    if (it) {
        graph_set_insert(g, n->owner, n);
        cond = emit_constant_take(e, value_bool(true), NULL);
    } else {
        graph_set_insert(g, condition, NULL);
        cond = emit_condition(e, st->value);
    }
    emit_pop_frame(e);
    ok = cond != NULL;
    if (ok) {
        block_add_return(condition, cond);
        ir_value *i = block_add_param(body, TYPE_INT);
        graph_set_insert(g, body, NULL);
        bool before = e->returned;
        e->returned = false;
        emit_push_frame(e, body);
        if (it) {
            ir_value *elem = stmt_iteration_element(e, it, i, st->targets.data[0]->range);
            ok = elem && emit_assign_target(e, st->targets.data[0], sugar_of_value(e, elem), NULL);
        }
        ok = ok && emit_statements(e, &st->body);
        emit_pop_frame(e);
        e->returned = before;
    }
    graph_set_insert(g, ib, in);
    return ok;
}

static bool stmt_for(emitter *e, const stmt *st) {
    iteration it = {0};
    if (st->orelse.len) {
        emit_fail(e, st->range, "else branches of for loops aren't supported");
        return false;
    }
    return stmt_iteration(e, st->value, &it) && stmt_loop(e, st, &it);
}

static bool stmt_while(emitter *e, const stmt *st) {
    if (st->orelse.len) {
        emit_fail(e, st->range, "else branches of while loops aren't supported");
        return false;
    }
    return stmt_loop(e, st, NULL);
}

/* ---- the others ---------------------------------------------------------------------------------------------- */

static bool stmt_return(emitter *e, const stmt *st) {
    ir_value *v = st->value ? emit_expr(e, st->value, e->return_type) : graph_constant_none(e->g);
    if (!v) return false;
    if (e->env->blk != e->g->root) {
        diag_fail_at(e->diag, CTSC_UNSUPPORTED, st->range,
                     "a return statement inside a branch or loop is not supported in archives");
        return false;
    }
    if (e->return_type && e->return_type->kind != T_ANY) {
        v = match_convert(e, st->range, e->return_type, v, true);
        if (!v) return false;
        if (!type_is_subtype(v->type, e->return_type)) {
            strbuf a = STRBUF_INIT, b = STRBUF_INIT;
            type_print_python(e->return_type, &a);
            type_print_python(v->type, &b);
            emit_fail(e, st->range, "Return value was annotated as having type %s but is actually of type %s",
                      sb_str(&a), sb_str(&b));
            sb_free(&a);
            sb_free(&b);
            return false;
        }
    }
    if (!e->return_type) e->return_type = v->type;
    block_add_return(e->g->root, v);
    e->returned = true;
    return true;
}

static bool stmt_raise(emitter *e, const stmt *st) {
    const expr *x = st->value;
    ir_value *args[2];
    const char *cls = "RuntimeError";
    const expr *msg = NULL;
    if (x && x->kind == E_NAME) cls = x->name;
    if (x && x->kind == E_CALL && x->a->kind == E_NAME) {
        cls = x->a->name;
        if (x->items.len) msg = x->items.data[0];
    }
    args[0] = msg ? emit_expr(e, msg, NULL) : graph_constant_str(e->g, "", 0);
    if (!args[0]) return false;
    if (args[0]->type->kind != T_STR) args[0] = emit_builtin_values(e, st->range, "aten::str", 1, args);
    const char *q = arena_printf(e->scratch, "builtins.%s", cls);
    args[1] = graph_constant_str(e->g, q, strlen(q));
    if (!args[0] || !args[1]) return false;
    graph_insert(e->g, node_new(e->g, N_RAISE, 2, args, 0));
    e->returned = true;
    return true;
}

static bool stmt_assert(emitter *e, const stmt *st) {
    ir_value *cond = emit_condition(e, st->value);
    if (!cond) return false;
    node *n = graph_insert(e->g, node_new(e->g, N_IF, 1, &cond, 0));
    node_add_block(n);
    block *fails = node_add_block(n);
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, fails, NULL);
    ir_value *args[2];
    args[0] = st->message ? emit_expr(e, st->message, NULL) : graph_constant_str(e->g, "", 0);
    args[1] = graph_constant_str(e->g, "builtins.AssertionError", 23);
    if (args[0] && args[1]) graph_insert(e->g, node_new(e->g, N_RAISE, 2, args, 0));
    graph_set_insert(e->g, ib, in);
    return args[0] && args[1];
}

static bool stmt_delete(emitter *e, const stmt *st) {
    for (size_t i = 0; i < st->targets.len; i++) {
        const expr *t = st->targets.data[i];
        if (t->kind == E_NAME) continue; /* the name merely goes out of use */
        if (t->kind != E_SUBSCRIPT || t->items.len != 1) {
            emit_fail(e, t->range, "'del' is only supported for local variables and elements of lists and dicts");
            return false;
        }
        ir_value *args[2];
        args[0] = emit_expr(e, t->a, NULL);
        args[1] = args[0] ? emit_expr(e, t->items.data[0], NULL) : NULL;
        if (!args[1] || !emit_builtin_values(e, t->range, "aten::Delete", 2, args)) return false;
    }
    return true;
}

static bool stmt_with(emitter *e, const stmt *st) {
    VEC(ir_value *) entered = {0};
    for (size_t i = 0; i < st->items.len; i++) {
        const with_item *w = &st->items.data[i];
        ir_value *obj = emit_expr(e, w->context, NULL);
        if (!obj) return false;
        function *enter = obj->type->kind == T_CLASS ? class_find_method(obj->type, "__enter__") : NULL;
        if (!enter || !class_find_method(obj->type, "__exit__")) {
            emit_fail(e, w->context->range, "With item expression must return an object with __enter__ and __exit__");
            return false;
        }
        if (function_ensure_compiled(enter, e->diag) != CTSC_OK) return false;
        node *n = graph_insert(e->g, node_new(e->g, N_ENTER, 1, &obj, 1));
        n->outputs.data[0]->type = enter->schema->returns[0].type;
        if (w->target &&
            !emit_assign_target(e, w->target, sugar_of_value(e, n->outputs.data[0]), NULL))
            return false;
        avec_push(e->scratch, &entered, obj);
    }
    if (!emit_statements(e, &st->body)) return false;
    for (size_t i = entered.len; i-- > 0;) {
        node *n = graph_insert(e->g, node_new(e->g, N_EXIT, 1, &entered.data[i], 1));
        n->outputs.data[0]->type = TYPE_NONE;
    }
    return true;
}

static bool stmt_def(emitter *e, const stmt *st) {
    sugar *s = sugar_new(e, SUGAR_CLOSURE);
    s->def = st->def;
    return emit_set_sugar(e, st->range, st->def->name, s, NULL);
}

static bool emit_statement(emitter *e, const stmt *st) {
    e->g->range = st->range;
    switch (st->kind) {
    case S_EXPR: return st->value->kind == E_STR || emit_sugar(e, st->value, NULL) != NULL;
    case S_ASSIGN: return stmt_assign(e, st);
    case S_ANN_ASSIGN: return stmt_ann_assign(e, st);
    case S_AUG_ASSIGN: return stmt_aug_assign(e, st);
    case S_IF: return stmt_if(e, st);
    case S_WHILE: return stmt_while(e, st);
    case S_FOR: return stmt_for(e, st);
    case S_RETURN: return stmt_return(e, st);
    case S_RAISE: return stmt_raise(e, st);
    case S_ASSERT: return stmt_assert(e, st);
    case S_PASS: return true;
    case S_DELETE: return stmt_delete(e, st);
    case S_WITH: return stmt_with(e, st);
    case S_DEF: return stmt_def(e, st);
    default:
        diag_fail_at(e->diag, CTSC_UNSUPPORTED, st->range, "this statement is not supported");
        return false;
    }
}

bool emit_statements(emitter *e, const stmt_list *body) {
    for (size_t i = 0; i < body->len; i++) {
        if (e->returned) return true; /* unreachable */
        if (!emit_statement(e, body->data[i])) return false;
        if (emit_failed(e)) {
            diag_no_memory(e->diag);
            return false;
        }
    }
    return true;
}
