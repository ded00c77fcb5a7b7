/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_code_stmt.c - blocks as statements: branches, loops, with, forks, and the nodes that are
 * statements by themselves.
 *
 * A loop that has both a trip count and a condition has no form in Python; it is printed as
 * `while`, with a counter.
 * Constants have no order: long ones are named at the top of the function, others are written
 * where they are used.
 * Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#include "frontend/codeprint/print_code_internal.h"

/* ---- control flow ---------------------------------------------------------------------------- */

static void code_print_block(code_printer *p, const block *b);

/* What has been printed since `begin` is a body; Python wants it to hold something. */
static void code_end_body(code_printer *p, size_t begin) {
    if (p->out->text.len != begin) return;
    code_indent(p);
    code_puts(p, p->out, "pass\n");
}

/* a, b = x, y */
static void code_print_assignment(code_printer *p, size_t n, ir_value *const *to,
                                  ir_value *const *from) {
    if (!n) return;
    code_indent(p);
    code_put_values(p, p->out, n, to, "", " = ");
    code_put_values(p, p->out, n, from, "", "\n");
}

/* Does the parser need to be told the variable's type, which first gets a value of type `from`? As
 * in PyTorch, types with members are always spelled out. */
static bool code_needs_type(const ir_value *to, type *from) {
    return to->type->kind == T_OPTIONAL || to->type->kind == T_UNION ||
           type_without_details(to->type) != from;
}

/* What the parser makes of the two branches' values; NULL: nothing. */
static type *code_joined_type(const ir_value *a, const ir_value *b) {
    return type_unify(type_without_details(a->type), type_without_details(b->type), false);
}

static void code_put_result(code_printer *p, const ir_value *v, type *want, type *joined) {
    bool cast = joined != type_without_details(want);
    if (cast) {
        code_puts(p, p->out, "unchecked_cast(");
        code_put_type(p, p->out, want);
        code_puts(p, p->out, ", ");
    }
    code_put_value(p, p->out, v);
    if (cast) code_puts(p, p->out, ")");
}

/* A single output gets its type where it is first assigned. Of several, values say it themselves
 * where joining the types of both branches, which the parser does, would not find it. */
static void code_print_results(code_printer *p, const node *n, int which) {
    size_t count = n->outputs.len;
    const block *b = n->blocks.data[which], *other = n->blocks.data[!which];
    const ir_value *out = n->outputs.data[0];
    code_indent(p);
    if (count == 1) {
        bool typed = which == 0 && code_needs_type(out, code_joined_type(b->returns.data[0],
                                                                         other->returns.data[0]));
        code_put_value(p, p->out, out);
        if (typed) {
            code_puts(p, p->out, " : ");
            code_put_type(p, p->out, out->type);
        }
        code_puts(p, p->out, " = ");
        code_put_value(p, p->out, b->returns.data[0]);
    } else {
        code_put_values(p, p->out, count, n->outputs.data, "", " = ");
        for (size_t i = 0; i < count; i++) {
            if (i) code_puts(p, p->out, ", ");
            code_put_result(p, b->returns.data[i], n->outputs.data[i]->type,
                            code_joined_type(b->returns.data[i], other->returns.data[i]));
        }
    }
    code_puts(p, p->out, "\n");
}

static void code_print_branch(code_printer *p, const node *n, int which) {
    p->level++;
    size_t begin = p->out->text.len;
    code_print_block(p, n->blocks.data[which]);
    if (n->outputs.len) code_print_results(p, n, which);
    code_end_body(p, begin);
    p->level--;
}

static void code_print_if(code_printer *p, const node *n) {
    code_assign_names(p, n->outputs.len, n->outputs.data);
    code_indent(p);
    code_puts(p, p->out, "if ");
    code_put_value(p, p->out, n->inputs.data[0]);
    code_puts(p, p->out, ":\n");
    code_print_branch(p, n, 0);
    code_indent(p);
    code_puts(p, p->out, "else:\n");
    code_print_branch(p, n, 1);
}

typedef enum loop_form { LOOP_FOR, LOOP_WHILE, LOOP_BOTH } loop_form;

static bool code_is_true(const ir_value *v) {
    value c;
    return ir_value_constant(v, &c) && c.tag == V_BOOL && c.u.b;
}

static loop_form code_loop_form(const node *n) {
    value trip;
    const block *b = n->blocks.data[0];
    bool counted = !ir_value_constant(n->inputs.data[0], &trip) || trip.tag != V_INT ||
                   trip.u.i != INT64_MAX || b->params.data[0]->uses.len > 0;
    if (code_is_true(n->inputs.data[1]) && code_is_true(b->returns.data[0]))
        return counted ? LOOP_FOR : LOOP_WHILE;
    return counted ? LOOP_BOTH : LOOP_WHILE;
}

/* x : T = first value, for each carried value; the body's parameters go by the names of
 * the loop's outputs. */
static void code_print_carried(code_printer *p, const node *n) {
    const block *b = n->blocks.data[0];
    code_assign_names(p, n->outputs.len, n->outputs.data);
    for (size_t i = 0; i < n->outputs.len; i++)
        code_assign_expr(p, b->params.data[i + 1], code_use(p, n->outputs.data[i]));
    for (size_t i = 0; i < n->outputs.len; i++) {
        const ir_value *out = n->outputs.data[i], *in = n->inputs.data[i + 2];
        code_indent(p);
        code_put_value(p, p->out, out);
        if (code_needs_type(out, type_without_details(in->type))) {
            code_puts(p, p->out, ": ");
            code_put_type(p, p->out, out->type);
        }
        code_puts(p, p->out, " = ");
        code_put_value(p, p->out, in);
        code_puts(p, p->out, "\n");
    }
}

static void code_print_for(code_printer *p, const node *n) {
    const block *b = n->blocks.data[0];
    code_assign_names(p, 1, b->params.data);
    code_indent(p);
    code_puts(p, p->out, "for ");
    code_put_value(p, p->out, b->params.data[0]);
    code_puts(p, p->out, " in range(");
    code_put_value(p, p->out, n->inputs.data[0]);
    code_puts(p, p->out, "):\n");
    p->level++;
    size_t begin = p->out->text.len;
    code_print_block(p, b);
    code_print_assignment(p, b->returns.len - 1, b->params.data + 1, b->returns.data + 1);
    code_end_body(p, begin);
    p->level--;
}

/* The counter's place is free: it holds the condition. */
static void code_print_while(code_printer *p, const node *n) {
    const block *b = n->blocks.data[0];
    code_assign_names(p, 1, b->params.data);
    code_print_assignment(p, 1, b->params.data, &n->inputs.data[1]);
    code_indent(p);
    code_puts(p, p->out, "while ");
    code_put_value(p, p->out, b->params.data[0]);
    code_puts(p, p->out, ":\n");
    p->level++;
    code_print_block(p, b);
    code_print_assignment(p, b->returns.len, b->params.data, b->returns.data);
    p->level--;
}

static void code_print_line(code_printer *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void code_print_line(code_printer *p, const char *fmt, ...) {
    va_list ap;
    code_indent(p);
    va_start(ap, fmt);
    sb_vprintf(&p->out->text, fmt, ap);
    va_end(ap);
    code_puts(p, p->out, "\n");
}

/*
 *     n = trip count; go = condition; i = 0
 *     go = torch.__and__(torch.lt(i, n), go)
 *     while go:
 *       ...
 *       go, x = next condition, next x
 *       i = torch.add(i, 1)
 *       go = torch.__and__(torch.lt(i, n), go)
 */
static void code_print_counted_while(code_printer *p, const node *n) {
    const block *b = n->blocks.data[0];
    const char *limit = code_unique(p, "_"), *go = code_unique(p, "_");
    const char *i = code_unique(p, code_base_name(p, b->params.data[0]));
    const char *test = arena_printf(&p->scratch, "%s = torch.__and__(torch.lt(%s, %s), %s)", go, i,
                                    limit, go);
    code_indent(p);
    code_puts(p, p->out, arena_printf(&p->scratch, "%s, %s = ", limit, go));
    code_put_values(p, p->out, 2, n->inputs.data, "", "\n");
    code_print_line(p, "%s = 0", i);
    code_print_line(p, "%s", test);
    code_print_line(p, "while %s:", go);
    code_assign_text(p, b->params.data[0], i);
    p->level++;
    code_print_block(p, b);
    code_indent(p);
    code_puts(p, p->out, go);
    for (size_t k = 1; k < b->params.len; k++) {
        code_puts(p, p->out, ", ");
        code_put_value(p, p->out, b->params.data[k]);
    }
    code_put_values(p, p->out, b->returns.len, b->returns.data, " = ", "\n");
    code_print_line(p, "%s = torch.add(%s, 1)", i, i);
    code_print_line(p, "%s", test);
    p->level--;
}

static void code_print_loop(code_printer *p, const node *n) {
    code_print_carried(p, n);
    switch (code_loop_form(n)) {
    case LOOP_FOR: code_print_for(p, n); break;
    case LOOP_WHILE: code_print_while(p, n); break;
    case LOOP_BOTH: code_print_counted_while(p, n); break;
    }
}

/* The subgraph becomes a function of its own, which sees the names around it. */
static void code_print_fork(code_printer *p, const node *n) {
    const char *name = code_unique(p, "__forked_function");
    const attr *a = node_attr(n, "Subgraph");
    if (!a || a->kind != ATTR_GRAPH || a->u.g->root->params.len != n->inputs.len) {
        code_fail(p, CTSC_INTERNAL, "prim::fork without a body");
        return;
    }
    const block *body = a->u.g->root;
    code_indent(p);
    code_puts(p, p->out, "def ");
    code_puts(p, p->out, name);
    code_puts(p, p->out, "():\n");
    for (size_t i = 0; i < n->inputs.len; i++)
        code_assign_expr(p, body->params.data[i], code_use(p, n->inputs.data[i]));
    p->level++;
    code_print_body(p, body);
    p->level--;
    code_text t = {0};
    code_puts(p, &t, "fork(");
    code_puts(p, &t, name);
    code_puts(p, &t, ")");
    code_print_definition(p, n, code_take(p, &t));
}

static void code_print_enter(code_printer *p, const node *n) {
    code_indent(p);
    code_puts(p, p->out, "with ");
    code_put_value(p, p->out, n->inputs.data[0]);
    if (n->outputs.len && n->outputs.data[0]->uses.len) {
        code_assign_names(p, 1, n->outputs.data);
        code_puts(p, p->out, " as ");
        code_put_value(p, p->out, n->outputs.data[0]);
    } else if (n->outputs.len) {
        code_assign_text(p, n->outputs.data[0], "None");
    }
    code_puts(p, p->out, ":\n");
    p->level++;
    if (!vec_push(&p->bodies, p->out->text.len)) code_no_memory(p);
}

static void code_print_exit(code_printer *p, const node *n) {
    if (!p->bodies.len) {
        code_fail(p, CTSC_INTERNAL, "prim::Exit without prim::Enter");
        return;
    }
    code_end_body(p, vec_pop(&p->bodies));
    p->level--;
    for (size_t i = 0; i < n->outputs.len; i++) code_assign_text(p, n->outputs.data[i], "None");
}

/* ---- statements ------------------------------------------------------------------------------ */

static void code_print_unpack(code_printer *p, const node *n) {
    code_assign_names(p, n->outputs.len, n->outputs.data);
    code_indent(p);
    if (n->outputs.len) code_put_values(p, p->out, n->outputs.len, n->outputs.data, "", ", = ");
    code_put_values(p, p->out, 1, n->inputs.data, "", "\n");
}

static void code_print_set_attr(code_printer *p, const node *n) {
    const char *name = node_str(n, "name");
    if (!code_is_identifier(name)) {
        code_fail(
            p, CTSC_UNSUPPORTED,
            "assigning to attribute '%s', which is not an identifier, cannot be written as code",
            name);
        return;
    }
    code_indent(p);
    code_put_value(p, p->out, n->inputs.data[0]);
    code_puts(p, p->out, ".");
    code_puts(p, p->out, name);
    code_put_values(p, p->out, 1, n->inputs.data + 1, " = ", "\n");
}

static void code_print_container_index(code_printer *p, const node *n) {
    code_assign_names(p, 1, n->outputs.data);
    code_indent(p);
    code_put_value(p, p->out, n->outputs.data[0]);
    code_puts(p, p->out, " : ");
    code_put_type(p, p->out, n->outputs.data[0]->type);
    code_puts(p, p->out, " = ");
    code_put_value(p, p->out, n->inputs.data[0]);
    code_put_values(p, p->out, 1, n->inputs.data + 1, "[", "]\n");
}

static void code_note_types(code_printer *p, size_t n, ir_value *const *vs) {
    for (size_t i = 0; i < n; i++) code_note_type(p->prog, vs[i]->type);
}

static void code_print_node(code_printer *p, const node *n) {
    source_range around = p->range;
    p->range = source_original(n->range);
    code_note_types(p, n->inputs.len, n->inputs.data);
    code_note_types(p, n->outputs.len, n->outputs.data);
    switch (n->kind) {
    case N_IF: code_print_if(p, n); break;
    case N_LOOP: code_print_loop(p, n); break;
    case N_TUPLE_UNPACK:
    case N_LIST_UNPACK: code_print_unpack(p, n); break;
    case N_SET_ATTR: code_print_set_attr(p, n); break;
    case N_FORK: code_print_fork(p, n); break;
    case N_ENTER: code_print_enter(p, n); break;
    case N_EXIT: code_print_exit(p, n); break;
    case N_CONTAINER_INDEX: code_print_container_index(p, n); break;
    case N_CLOSURE:
    case N_FUSION_GROUP:
    case N_LOAD:
    case N_STORE:
    case N_RETURN:
    case N_BREAK:
    case N_CONTINUE:
        code_fail(p, CTSC_UNSUPPORTED, "%s cannot be written as code", node_kind_text(n));
        break;
    default: code_print_expression(p, n); break;
    }
    p->range = around;
}

static void code_print_block(code_printer *p, const block *b) {
    size_t open = p->bodies.len;
    if (++p->depth > CODE_MAX_DEPTH)
        code_fail(p, CTSC_LIMIT, "the program nests too deeply to be printed");
    for (const node *n = b->first; n && !code_failed(p); n = n->next)
        if (!code_is_constant(n)) code_print_node(p, n);
    if (!code_failed(p) && p->bodies.len != open)
        code_fail(p, CTSC_INTERNAL, "prim::Enter and prim::Exit in different blocks");
    p->depth--;
}

static void code_print_constants_of(code_printer *p, const block *b);

static void code_print_if_constant(code_printer *p, size_t n, ir_value *const *vs) {
    for (size_t i = 0; i < n; i++) {
        const node *def = vs[i]->def;
        if (def && code_is_constant(def) && !ptrmap_get(&p->exprs, vs[i])) code_print_node(p, def);
    }
}

/* Constants in the order of their first use. */
static void code_print_constants_of(code_printer *p, const block *b) {
    for (const node *n = b->first; n && !code_failed(p); n = n->next) {
        code_print_if_constant(p, n->inputs.len, n->inputs.data);
        for (size_t i = 0; i < n->blocks.len; i++) code_print_constants_of(p, n->blocks.data[i]);
    }
    code_print_if_constant(p, b->returns.len, b->returns.data);
}

void code_print_body(code_printer *p, const block *b) {
    code_scan_block(p, b);
    if (code_failed(p)) return;
    size_t begin = p->out->text.len;
    code_print_constants_of(p, b);
    code_print_block(p, b);
    if (b->returns.len && !code_failed(p)) {
        code_indent(p);
        code_put_values(p, p->out, b->returns.len, b->returns.data, "return ", "\n");
    }
    code_end_body(p, begin);
}
