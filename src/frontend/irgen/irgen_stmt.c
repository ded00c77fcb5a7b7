/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_stmt.c - statements, except assignments and loops.
 *
 * A prim::If gets its outputs only in ssa.c, from the Loads and Stores in its blocks. What is
 * decided here is which variables stay visible after the statement, and with which type. return,
 * break and continue are nodes of their own until exits.c.
 * Tests: tests/lang, tests/corpus
 */
#include "frontend/irgen/irgen.h"
#include "frontend/pyeval/core/py.h"

#include <stdlib.h>

/* ---- if -------------------------------------------------------------------------------------- */

typedef struct branch { block *blk; strmap vars; bool exits; } branch;

/* What a branch runs: statements, or the failure of an assertion. */
typedef bool (*branch_fn)(emitter *e, const void *ctx);

static bool stmt_branch_statements(emitter *e, const void *ctx) { return irgen_statements(e, ctx); }

static bool stmt_branch(emitter *e, source_range r, const refinement *learnt, branch_fn body,
                        const void *ctx, branch *out) {
    bool before = e->returned;
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, out->blk, NULL);
    e->returned = false;
    irgen_push_frame(e, out->blk);
    bool ok = irgen_refine(e, r, learnt) && (!body || body(e, ctx));
    out->exits = e->returned;
    out->vars = e->env->vars; /* freed by the caller */
    e->env = e->env->next;
    e->returned = before;
    graph_set_insert(e->g, ib, in);
    return ok;
}

static int stmt_compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void irgen_store_nothing(emitter *e, block *b, const variable *like, const char *name) {
    node *n = node_new(e->g, N_UNINITIALIZED, 0, NULL, 1);
    n->outputs.data[0]->type = like->type;
    block_append(b, n);
    node *st = node_new(e->g, N_STORE, 1, n->outputs.data, 0);
    node_set_str(st, "name", like->slot ? like->slot : name);
    block_append(b, st);
}

static const char *stmt_assigned_here(emitter *e, const char *name, const type *t) {
    strbuf sb = STRBUF_INIT;
    if (t) type_print_python(t, &sb);
    const char *text = t ? arena_printf(e->scratch, "'%s' is assigned a value of type %s here",
                                        name, sb_str(&sb))
                         : arena_printf(e->scratch, "'%s' is assigned here", name);
    sb_free(&sb);
    return text;
}

/* A variable that cannot be used after the If at r, and why. */
static void stmt_disagree(emitter *e, source_range r, const char *name, variable *const v[2],
                          variable *out) {
    int n = 0;
    for (int k = 0; k < 2; k++)
        if (v[k] && v[k]->error) {
            *out = *v[k];
            return;
        }
    *out = (variable){.where = r};
    out->notes[n].range = r;
    out->notes[n++].text = "the branches of this statement do not agree";
    for (int k = 0; k < 2; k++) {
        if (!v[k] || !v[k]->where.src) continue;
        out->notes[n].range = v[k]->where;
        out->notes[n++].text = stmt_assigned_here(e, name, v[k]->type);
    }
    if (!v[0] || !v[1]) {
        out->error = arena_printf(e->scratch, "%s is not defined in the %s branch", name,
                                  v[0] ? "false" : "true");
    } else if (v[0]->sugar || v[1]->sugar) {
        out->error = arena_printf(e->scratch, "%s is not a first-class value", name);
    } else {
        strbuf t = STRBUF_INIT, f = STRBUF_INIT;
        type_print_python(v[0]->type, &t);
        type_print_python(v[1]->type, &f);
        out->error = arena_printf(e->scratch,
                                  "Type mismatch: %s is set to type %s in the true branch and type "
                                  "%s in the false branch",
                                  name, sb_str(&t), sb_str(&f));
        sb_free(&t);
        sb_free(&f);
    }
}

/* The variable `name` after an If whose branches do not both leave. */
static bool stmt_join_variable(emitter *e, source_range r, branch *b, const char *name) {
    variable *v[2], *outer = irgen_find_variable(e, name),
                    *joined = arena_new(e->scratch, variable);
    for (int k = 0; k < 2; k++) {
        v[k] = strmap_get(&b[k].vars, name);
        if (!v[k]) v[k] = outer;
    }
    for (int k = 0; k < 2; k++) {
        variable *other = v[1 - k];
        if (!b[k].exits || !other) continue; /* as they are where the other branch ends */
        if (other->type) irgen_store_nothing(e, b[k].blk, other, name);
        v[k] = other;
    }
    bool simple = v[0] && v[1] && v[0]->type && v[1]->type && !v[0]->error && !v[1]->error;
    type *t = simple ? type_unify(v[0]->type, v[1]->type, false) : NULL;
    if (simple && !t && outer) t = outer->type; /* both are subtypes of what it is annotated as */
    if (t)
        *joined = (variable){.type = t, .slot = v[0]->slot, .where = v[b[0].exits ? 1 : 0]->where};
    else if (v[0] && v[0] == v[1]) *joined = *v[0];
    else stmt_disagree(e, r, name, v, joined);
    return strmap_put(&e->env->vars, name, joined) || (diag_no_memory(e->diag), false);
}

/* Makes variables set in the branches visible after the If, where both define them
 * (or one leaves). */
static bool stmt_join_branches(emitter *e, source_range r, branch *b) {
    VEC(const char *) names = {0};
    if (b[0].exits && b[1].exits) return true;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < b[k].vars.cap; i++) {
            const char *name = b[k].vars.slots[i].key;
            if (name && !(k == 1 && strmap_get(&b[0].vars, name)))
                avec_push(e->scratch, &names, name);
        }
    if (irgen_failed(e)) return diag_no_memory(e->diag), false;
    if (names.len) qsort(names.data, names.len, sizeof *names.data, stmt_compare_names);
    for (size_t i = 0; i < names.len; i++)
        if (!stmt_join_variable(e, r, b, names.data[i])) return false;
    return true;
}

static bool stmt_branches(emitter *e, source_range r, const condition *c, branch_fn then_body,
                          const void *then_ctx, branch_fn else_body, const void *else_ctx) {
    if (c->known >= 0) { /* the other branch is not even looked at */
        if (!irgen_refine(e, r, c->known ? c->when_true : c->when_false)) return false;
        branch_fn body = c->known ? then_body : else_body;
        return !body || body(e, c->known ? then_ctx : else_ctx);
    }
    e->g->range = r;
    ir_value *cond = c->value;
    node *n = graph_insert(e->g, node_new(e->g, N_IF, 1, &cond, 0));
    branch b[2] = {{.blk = node_add_block(n)}, {.blk = node_add_block(n)}};
    bool ok = stmt_branch(e, r, c->when_true, then_body, then_ctx, &b[0]) &&
              stmt_branch(e, r, c->when_false, else_body, else_ctx, &b[1]) &&
              stmt_join_branches(e, r, b);
    strmap_free(&b[0].vars);
    strmap_free(&b[1].vars);
    if (b[0].exits && b[1].exits) e->returned = true;
    return ok;
}

static bool stmt_if(emitter *e, const stmt *st) {
    condition c;
    return irgen_condition_parts(e, st->value, &c) &&
           stmt_branches(e, st->range, &c, stmt_branch_statements, &st->body,
                         stmt_branch_statements, &st->orelse);
}

/* ---- leaving --------------------------------------------------------------------------------- */

/* A value returned where the return type is declared. */
static ir_value *stmt_declared_return(emitter *e, const stmt *st, ir_value *v) {
    type *t = e->return_type;
    if (t->kind != T_ANY) v = match_convert(e, st->range, t, v, true);
    if (!v || type_is_subtype(v->type, t)) return v;
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    type_print_python(t, &a);
    type_print_python(v->type, &b);
    irgen_fail(e, st->range,
               "Return value was annotated as having type %s but is actually of type %s",
               sb_str(&a), sb_str(&b));
    const func_def *def = e->fn ? e->fn->def : NULL;
    if (e->scope && def && def->returns && def->returns->range.src)
        diag_note(e->diag, def->returns->range, "the result's type is declared here");
    sb_free(&a);
    sb_free(&b);
    return NULL;
}

static type *stmt_merged_return(emitter *e, const stmt *st, type *t) {
    type *before = e->merged_return, *u = before ? type_unify(before, t, false) : t;
    if (!before) e->first_return = st->range;
    if (u) return u;
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    bool fresh = e->diag->status == CTSC_OK;
    type_print_python(before, &a);
    type_print_python(t, &b);
    irgen_fail(
        e, st->range,
        "Previous return statement returned a value of type %s but this return statement returns a "
        "value of type %s",
        sb_str(&a), sb_str(&b));
    if (fresh)
        diag_note(e->diag, e->first_return, "a value of type %s is returned here", sb_str(&a));
    sb_free(&a);
    sb_free(&b);
    return NULL;
}

static bool stmt_return(emitter *e, const stmt *st) {
    ir_value *v = st->value ? irgen_expr(e, st->value, e->return_type) : graph_constant_none(e->g);
    if (!v) return false;
    if (e->return_type) {
        v = stmt_declared_return(e, st, v);
        if (!v) return false;
        e->merged_return = e->return_type;
    } else {
        e->merged_return = stmt_merged_return(e, st, v->type);
        if (!e->merged_return) return false;
    }
    e->g->range = st->range;
    /* so that all returns have one type */
    if (e->merged_return->kind == T_ANY && v->type->kind != T_ANY) {
        node *n = graph_insert(e->g, node_new(e->g, N_UNCHECKED_CAST, 1, &v, 1));
        v = n->outputs.data[0];
        v->type = TYPE_ANY;
    }
    graph_insert(e->g, node_new(e->g, N_RETURN, 1, &v, 0));
    e->returned = true;
    return true;
}

static bool stmt_jump(emitter *e, const stmt *st) {
    const char *what = st->kind == S_BREAK ? "break" : "continue";
    if (e->unrolled) {
        irgen_fail(e, st->range,
                   "Because we emit iteration over modulelists or tuples as unrolled loops, we do "
                   "not support "
                   "break or continue inside the body of these loops");
        return false;
    }
    if (!e->loops) {
        irgen_fail(e, st->range, "SyntaxError: '%s' outside loop", what);
        return false;
    }
    graph_insert(e->g, node_new(e->g, st->kind == S_BREAK ? N_BREAK : N_CONTINUE, 0, NULL, 0));
    e->returned = true;
    return true;
}

/* The qualified name of the exception class that x names; false: it names none. */
static bool stmt_exception(emitter *e, const expr *x, const char **out) {
    if (!e->scope) { /* archives name builtin ones alone */
        *out = x->kind == E_NAME ? arena_printf(e->scratch, "builtins.%s", x->name) : NULL;
        return *out != NULL;
    }
    if (x->kind != E_NAME && x->kind != E_ATTR) return false;
    const sugar *s = irgen_sugar(e, x, NULL);
    if (!s || s->kind != SUGAR_PY || !s->py || s->py->kind != PY_CLASS ||
        s->py->u.cls->kind != PYC_EXCEPTION)
        return false;
    const py_class *c = s->py->u.cls;
    *out = arena_printf(e->scratch, "%s.%s", c->module ? c->module->u.mod.name : "builtins",
                        c->name);
    return true;
}

/* E("text"), E(a, b): what the exception says. */
static ir_value *stmt_exception_message(emitter *e, const expr *call) {
    actual *args;
    int n;
    if (!irgen_arguments(e, call, 0, &args, &n)) return NULL;
    if (n == 0) return graph_constant_str(e->g, "", 0);
    if (n == 1) return args[0].value;
    ir_value **values = arena_array(e->scratch, ir_value *, n);
    if (!values) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < n; i++) values[i] = args[i].value;
    return irgen_tuple(e, call->range, NULL, n, values);
}

static bool stmt_insert_raise(emitter *e, source_range r, ir_value *message, ir_value *cls) {
    if (message->type->kind != T_STR)
        message = irgen_builtin_values(e, r, "aten::str", 1, &message);
    if (!message) return false;
    ir_value *in[] = {message, cls};
    e->g->range = r;
    graph_insert(e->g, node_new(e->g, N_RAISE, 2, in, 0));
    e->returned = true;
    return true;
}

/* "AssertionError: " in front of a message: PyTorch 1.13 raises that one without a class. */
static ir_value *stmt_assertion_message(emitter *e, source_range r, ir_value *message) {
    static const char prefix[] = "AssertionError: ";
    if (message->type->kind != T_STR)
        message = irgen_builtin_values(e, r, "aten::str", 1, &message);
    if (!message) return NULL;
    e->g->range = r;
    ir_value *both[] = {graph_constant_str(e->g, prefix, sizeof prefix - 1), message};
    return irgen_builtin_values(e, r, "aten::add", 2, both);
}

static bool stmt_raise(emitter *e, const stmt *st) {
    const expr *x = st->value;
    const char *name = NULL;
    if (!x || !stmt_exception(e, x->kind == E_CALL ? x->a : x, &name)) {
        irgen_fail(e, st->range, "exceptions must derive from BaseException");
        return false;
    }
    bool call = x->kind == E_CALL;
    ir_value *message = call ? stmt_exception_message(e, x) : graph_constant_str(e->g, "", 0);
    if (!message) return false;
    e->g->range = x->range;
    if (call && e->scope && !strcmp(name, "builtins.AssertionError")) {
        message = stmt_assertion_message(e, x->range, message);
        return message && stmt_insert_raise(e, st->range, message, graph_constant_none(e->g));
    }
    ir_value *cls = call ? graph_constant_str(e->g, name, strlen(name)) : graph_constant_none(e->g);
    return stmt_insert_raise(e, st->range, message, cls);
}

static bool stmt_assertion_fails(emitter *e, const void *ctx) {
    const stmt *st = ctx;
    e->g->range = st->range;
    ir_value *message = st->message ? irgen_expr(e, st->message, NULL)
                                    : graph_constant_str(e->g, "", 0);
    if (message) message = stmt_assertion_message(e, st->range, message);
    return message && stmt_insert_raise(e, st->range, message, graph_constant_none(e->g));
}

static bool stmt_assert(emitter *e, const stmt *st) {
    condition c;
    return irgen_condition_parts(e, st->value, &c) &&
           stmt_branches(e, st->range, &c, NULL, NULL, stmt_assertion_fails, st);
}

/* ---- the others ------------------------------------------------------------------------------ */

static bool stmt_delete_element(emitter *e, const expr *t) {
    if (t->items.len != 1 || t->items.data[0]->kind == E_SLICE) {
        irgen_fail(
            e, t->range,
            "del statements only support deletion at a single index, slicing is not supported");
        return false;
    }
    ir_value *args[2];
    args[0] = irgen_expr(e, t->a, NULL);
    args[1] = args[0] ? irgen_expr(e, t->items.data[0], NULL) : NULL;
    if (!args[1]) return false;
    if (args[0]->type->kind != T_CLASS)
        return irgen_builtin_values(e, t->range, "aten::Delete", 2, args) != NULL;
    if (!irgen_find_method(e, args[0]->type, "__delitem__")) {
        irgen_fail(e, t->range, "Class does not define __delitem__");
        return false;
    }
    actual index = {.value = args[1], .range = t->items.data[0]->range};
    return irgen_method(e, t->range, args[0], "__delitem__", 1, &index) != NULL;
}

static bool stmt_delete_target(emitter *e, const expr *t) {
    if (t->kind == E_TUPLE || t->kind == E_LIST) {
        for (size_t i = 0; i < t->items.len; i++)
            if (!stmt_delete_target(e, t->items.data[i])) return false;
        return true;
    }
    if (t->kind == E_SUBSCRIPT) return stmt_delete_element(e, t);
    if (t->kind != E_NAME) {
        irgen_fail(
            e, t->range,
            "del statements are only supported for deleting list and dict items and variables");
        return false;
    }
    if (!irgen_find_variable(e, t->name)) {
        irgen_fail(e, t->range, "undefined value %s", t->name);
        return false;
    }
    variable *gone = arena_new(e->scratch, variable);
    *gone = (variable){.error = arena_printf(e->scratch, "undefined value %s", t->name)};
    gone->notes[0].range = t->range;
    gone->notes[0].text = "it is deleted here";
    return strmap_put(&e->env->vars, t->name, gone) || (diag_no_memory(e->diag), false);
}

static bool stmt_delete(emitter *e, const stmt *st) {
    for (size_t i = 0; i < st->targets.len; i++)
        if (!stmt_delete_target(e, st->targets.data[i])) return false;
    return true;
}

/* __enter__ of an object that can be used in a with statement. */
static function *stmt_enter_method(emitter *e, source_range r, type *t) {
    function *enter = NULL, *leave = NULL;
    if (t->kind != T_CLASS)
        return irgen_fail(e, r, "With item expression must return an object"), NULL;
    enter = irgen_find_method(e, t, "__enter__");
    leave = enter ? irgen_find_method(e, t, "__exit__") : NULL;
    if (irgen_failed(e)) return NULL;
    if (!enter || !leave)
        return irgen_fail(e, r,
                          "Object returned by with item expression does not define __enter__ and "
                          "__exit__ methods"),
               NULL;
    if (enter->schema->nargs != 1)
        return irgen_fail(e, r, "__enter__ must have only one argument and one return value"), NULL;
    if (leave->schema->nargs != 4)
        return irgen_fail(e, r, "__exit__ must have four arguments"), NULL;
    for (int i = 1; i < 4; i++)
        if (leave->schema->args[i].type->kind != T_ANY)
            return irgen_fail(
                       e, r,
                       "argument %d of __exit__ must have Any type; TorchScript does not support "
                       "passing exception type, value, or traceback to the __exit__ function.",
                       i),
                   NULL;
    if (function_ensure_compiled(enter, e->diag) != CTSC_OK ||
        function_ensure_compiled(leave, e->diag) != CTSC_OK)
        return NULL;
    return enter;
}

static bool stmt_with(emitter *e, const stmt *st) {
    VEC(ir_value *) entered = {0};
    for (size_t i = 0; i < st->items.len; i++) {
        const with_item *w = &st->items.data[i];
        ir_value *obj = irgen_expr(e, w->context, NULL);
        function *enter = obj ? stmt_enter_method(e, w->context->range, obj->type) : NULL;
        if (!enter) return false;
        e->g->range = st->range;
        node *n = graph_insert(e->g, node_new(e->g, N_ENTER, 1, &obj, 1));
        n->outputs.data[0]->type = enter->schema->returns[0].type;
        if (w->target &&
            !irgen_assign_target(e, w->target, sugar_of_value(e, n->outputs.data[0]), NULL))
            return false;
        avec_push(e->scratch, &entered, obj);
    }
    if (irgen_failed(e)) return diag_no_memory(e->diag), false;
    if (!irgen_statements(e, &st->body)) return false;
    e->g->range = st->range;
    for (size_t i = entered.len; i-- > 0;)
        graph_insert(e->g, node_new(e->g, N_EXIT, 1, &entered.data[i], 1));
    return true;
}

static bool stmt_def(emitter *e, const stmt *st) {
    bool plain = e->lenient && !st->def->decorators.len && !st->def->is_generator;
    if (e->scope && !plain)
        return irgen_fail(e, st->range, "function definitions aren't supported"), false;
    sugar *s = e->scope ? irgen_closure(e, st->def) : sugar_new(e, SUGAR_CLOSURE);
    if (!s) return false;
    s->def = st->def;
    return irgen_set_sugar(e, st->range, st->def->name, s, NULL);
}

static bool stmt_expr(emitter *e, const stmt *st) {
    expr_kind k = st->value->kind;
    return k == E_STR || k == E_ELLIPSIS || irgen_sugar(e, st->value, NULL) != NULL;
}

static bool stmt_pass(emitter *e, const stmt *st) {
    (void)e, (void)st;
    return true;
}

/* Statements of Python that TorchScript does not have. */
static bool stmt_refused(emitter *e, const stmt *st) {
    static const char *const names[S_KIND_COUNT] = {
        [S_CLASS] = "class definitions",
        [S_IMPORT] = "import statements",
        [S_GLOBAL] = "global variables",
        [S_TRY] = "try blocks",
    };
    const char *name = st->nonlocal ? "nonlocal variables" : names[st->kind];
    irgen_fail(e, st->range, "%s aren't supported", name ? name : "these statements");
    return false;
}

static bool irgen_statement(emitter *e, const stmt *st) {
    static bool (*const table[S_KIND_COUNT])(emitter *, const stmt *) = {
        [S_EXPR] = stmt_expr,
        [S_ASSIGN] = irgen_assign,
        [S_ANN_ASSIGN] = irgen_annotated_assign,
        [S_IF] = stmt_if,
        [S_WHILE] = irgen_while,
        [S_AUG_ASSIGN] = irgen_augmented_assign,
        [S_FOR] = irgen_for,
        [S_RETURN] = stmt_return,
        [S_RAISE] = stmt_raise,
        [S_ASSERT] = stmt_assert,
        [S_PASS] = stmt_pass,
        [S_BREAK] = stmt_jump,
        [S_WITH] = stmt_with,
        [S_DELETE] = stmt_delete,
        [S_CONTINUE] = stmt_jump,
        [S_DEF] = stmt_def,
    };
    e->g->range = st->range;
    return table[st->kind] ? table[st->kind](e, st) : stmt_refused(e, st);
}

bool irgen_statements(emitter *e, const stmt_list *body) {
    bool ok = true;
    for (size_t i = 0; i < body->len; i++) {
        if (e->returned) break; /* unreachable */
        irgen_mark at = irgen_here(e);
        bool done = irgen_statement(e, body->data[i]);
        if (done && irgen_failed(e)) {
            diag_no_memory(e->diag);
            return false;
        }
        if (!done && !irgen_recover(e, &at, body->data[i])) return false;
        ok = ok && done;
    }
    return ok || irgen_fail_silently(e);
}
