/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_code.c - functions as TorchScript source: names, statements, and which expressions are written in place.
 *
 *     %3 : Tensor = aten::mul(%x, %y)                    z = torch.add(torch.mul(x, y), 1)
 *     %z : Tensor = aten::add(%3, %2, %2)
 *
 * Method. What PyTorch's printer does, so that code looks as it does there. First a scan backwards finds the
 * values that may be written where they are used: used once, unnamed, and computed just before, in the order in which
 * evaluating the expression computes them. Then nodes are printed in order. An expression that has become too long gets a
 * name; so do all those that are to be evaluated before it in the same expression, because effects must keep their order.
 * Constants have no order: long ones are named at the top of the function, others are written where they are used.
 *
 * A loop that has both a trip count and a condition has no form in Python; it is printed as `while`, with a counter.
 *
 * Invariant: a value's expression is in p->exprs before anything that uses it is printed.
 * Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#include "frontend/print_code_internal.h"

enum { CODE_LONG_LINE = 40, CODE_MAX_DEPTH = 400 };

/* ---- failure ------------------------------------------------------------------------------------- */

ctsc_status code_fail(code_printer *p, ctsc_status s, const char *fmt, ...) {
    if (p->prog->status != CTSC_OK) return p->prog->status;
    strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&text, fmt, ap);
    va_end(ap);
    p->prog->status = diag_fail_at(p->prog->d, s, p->range, "%s", sb_str(&text));
    sb_free(&text);
    return s;
}

bool code_failed(const code_printer *p) {
    code_program *g = p->prog;
    if (g->status == CTSC_OK && (arena_failed(&p->scratch) || arena_failed(&g->arena) || p->out->text.failed))
        code_program_fail(g, diag_no_memory(g->d));
    return g->status != CTSC_OK;
}

static void code_no_memory(code_printer *p) {
    if (p->prog->status == CTSC_OK) p->prog->status = diag_no_memory(p->prog->d);
}

/* ---- text that knows where it comes from --------------------------------------------------------- */

static bool code_same_range(source_range a, source_range b) {
    return a.src == b.src && a.begin == b.begin && a.end == b.end;
}

static void code_add_place(code_printer *p, code_text *t, size_t offset, source_range r) {
    if (t->places.len && code_same_range(vec_last(&t->places).range, r)) return;
    code_place place = {offset, r};
    if (!vec_push(&t->places, place)) code_no_memory(p);
}

void code_write(code_printer *p, code_text *t, const char *s, size_t len) {
    if (!len) return;
    code_add_place(p, t, t->text.len, p->range);
    sb_write(&t->text, s, len);
}

void code_puts(code_printer *p, code_text *t, const char *s) {
    code_write(p, t, s, strlen(s));
}

static void code_put_expr(code_printer *p, code_text *t, const code_expr *x) {
    size_t base = t->text.len;
    if (!x->nplaces) { /* a name: it belongs to what mentions it */
        code_write(p, t, x->s, x->len);
        return;
    }
    for (size_t i = 0; i < x->nplaces; i++)
        code_add_place(p, t, base + x->places[i].offset, x->places[i].range);
    sb_write(&t->text, x->s, x->len);
}

/* Turns finished text into an expression, and frees it. */
static const code_expr *code_take(code_printer *p, code_text *t) {
    static const code_expr none = {"", 0, NULL, 0};
    code_expr *x = arena_new(&p->scratch, code_expr);
    code_place *places = arena_array(&p->scratch, code_place, t->places.len + 1);
    x->len = t->text.len;
    x->s = arena_strndup(&p->scratch, sb_str(&t->text), t->text.len);
    if (t->text.failed || !places || !x->s || arena_failed(&p->scratch)) {
        code_no_memory(p);
        x = (code_expr *)&none;
    } else {
        if (t->places.len) memcpy(places, t->places.data, t->places.len * sizeof *places);
        x->places = places;
        x->nplaces = t->places.len;
    }
    sb_free(&t->text);
    vec_free(&t->places);
    return x;
}

static void code_indent(code_printer *p) {
    for (int i = 0; i < p->level; i++) code_puts(p, p->out, "  ");
}

/* ---- names and uses ------------------------------------------------------------------------------ */

/* Names that mean something to the parser of archives. */
static bool code_is_reserved(const char *name) {
    static const char *const names[] = {
        "_", "as", "aten", "attribute", "CONSTANTS", "fork", "getattr", "inf", "nan", "infj", "nanj", "ops", "__torch__",
        "and", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "False",
        "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "None", "nonlocal", "not", "or", "pass",
        "raise", "return", "True", "try", "while", "with", "yield", "uninitialized", "unchecked_cast"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

/* candidate, or candidate0, candidate1, ...: the first that this function has not used. */
static const char *code_unique(code_printer *p, const char *candidate) {
    const char *name = candidate;
    strmap *suffixes = &p->file->suffixes;
    while (strmap_get(&p->used, name) || code_is_reserved(name)) {
        intptr_t k = (intptr_t)strmap_get(suffixes, name);
        const char *key = arena_strdup(&p->prog->arena, name);
        if (arena_failed(&p->prog->arena) || arena_failed(&p->scratch) ||
            !strmap_put(suffixes, key, (void *)(k + 1))) {
            code_no_memory(p);
            return "_";
        }
        name = arena_printf(&p->scratch, "%s%lld", candidate, (long long)k);
    }
    if (!strmap_put(&p->used, name, p)) code_no_memory(p);
    return name;
}

/* The variable's name in the source: without the ".1" that tells its values apart, and an identifier. */
static const char *code_base_name(code_printer *p, const ir_value *v) {
    if (!value_has_name(v)) return "_";
    size_t n = strlen(v->name), digits = n;
    while (digits && v->name[digits - 1] >= '0' && v->name[digits - 1] <= '9') digits--;
    if (digits > 1 && digits < n && v->name[digits - 1] == '.') n = digits - 1;
    char *s = arena_alloc(&p->scratch, n + 2), *w = s;
    if (!s) return "_";
    if (v->name[0] >= '0' && v->name[0] <= '9') *w++ = '_';
    for (size_t i = 0; i < n; i++) {
        char c = v->name[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        *w++ = ok ? c : '_';
    }
    return s;
}

static void code_assign_expr(code_printer *p, const ir_value *v, const code_expr *x) {
    if (!ptrmap_put(&p->exprs, v, (void *)x)) code_no_memory(p);
}

/* text stays where it is: in an arena, or constant. */
static void code_assign_text(code_printer *p, const ir_value *v, const char *text) {
    code_expr *x = arena_new(&p->scratch, code_expr);
    x->s = text;
    x->len = strlen(text);
    code_assign_expr(p, v, x);
}

static void code_assign_names(code_printer *p, size_t n, ir_value *const *vs) {
    for (size_t i = 0; i < n; i++) code_assign_text(p, vs[i], code_unique(p, code_base_name(p, vs[i])));
}

static const code_expr *code_use(code_printer *p, const ir_value *v) {
    static const code_expr unknown = {"None", 4, NULL, 0};
    const code_expr *x = ptrmap_get(&p->exprs, v);
    if (x) return x;
    code_fail(p, CTSC_INTERNAL, "the code printer met a value before its definition");
    return &unknown;
}

void code_put_value(code_printer *p, code_text *t, const ir_value *v) {
    code_put_expr(p, t, code_use(p, v));
}

bool code_is_name(code_printer *p, const ir_value *v) {
    return code_is_identifier(code_use(p, v)->s);
}

void code_put_values(code_printer *p, code_text *t, size_t n, ir_value *const *vs, const char *open, const char *close) {
    code_puts(p, t, open);
    for (size_t i = 0; i < n; i++) {
        if (i) code_puts(p, t, ", ");
        code_put_value(p, t, vs[i]);
    }
    code_puts(p, t, close);
}

/* ---- which values are written where they are used ------------------------------------------------- */

static bool code_is_constant(const node *n) {
    return n->kind == N_CONSTANT;
}

static const node *code_skip_constants(const node *n) {
    while (n && code_is_constant(n)) n = n->prev;
    return n;
}

/* Printed as statements whatever becomes of their output. */
static bool code_is_statement(const node *n) {
    switch (n->kind) {
    case N_TUPLE_UNPACK: case N_LIST_UNPACK: case N_FORK: case N_ENTER: case N_CONTAINER_INDEX: return true;
    /* `if isinstance(x, T)` would make the parser refine x once more */
    case N_ISINSTANCE: return true;
    default: return n->blocks.len != 0;
    }
}

static bool code_can_inline(const ir_value *v) {
    const node *n = v->def;
    if (n->outputs.len != 1 || v->uses.len != 1 || code_is_statement(n)) return false;
    use u = v->uses.data[0];
    if (value_has_name(v) && u.user) return false; /* the author's name is kept, except for a name that is only returned */
    /* initial values of a loop are assigned before trip count and condition are evaluated */
    if (u.user && u.user->kind == N_LOOP && u.index >= 2) return false;
    return !u.user || u.user->kind != N_FORK; /* its body may mention it more than once */
}

static const node *code_scan_node(code_printer *p, const node *n);

/* at: the node that would be evaluated last before what uses v. Returns the same for what stands to the left of v. */
static const node *code_scan_value(code_printer *p, const node *at, const ir_value *v) {
    const node *n = v->def;
    if (!n) return at;
    bool constant = code_is_constant(n);
    if (constant || (n == at && p->depth < CODE_MAX_DEPTH && code_can_inline(v))) {
        if (!constant) at = code_scan_node(p, n);
        if (!ptrmap_put(&p->inlined, n, (void *)n)) code_no_memory(p);
    }
    return at;
}

static const node *code_scan_values(code_printer *p, const node *at, size_t n, ir_value *const *vs) {
    at = code_skip_constants(at);
    for (size_t i = n; i-- > 0;) at = code_scan_value(p, at, vs[i]);
    return at;
}

static void code_scan_block(code_printer *p, const block *b) {
    code_scan_values(p, b->last, b->returns.len, b->returns.data);
    for (const node *n = b->last; n; n = n->prev) code_scan_node(p, n);
}

static const node *code_scan_node(code_printer *p, const node *n) {
    if (ptrmap_get(&p->inlined, n)) return n;
    p->depth++;
    if (p->depth > 2 * CODE_MAX_DEPTH) code_fail(p, CTSC_LIMIT, "the program nests too deeply to be printed");
    for (size_t i = 0; i < n->blocks.len && !code_failed(p); i++) code_scan_block(p, n->blocks.data[i]);
    const node *at = code_scan_values(p, n->prev, n->inputs.len, n->inputs.data);
    p->depth--;
    return at;
}

/* ---- expressions and their names ------------------------------------------------------------------ */

static bool code_is_long(const code_printer *p, const code_text *t) {
    return t->text.len + 2 * (size_t)p->level >= CODE_LONG_LINE;
}

/* outputs = expression */
static void code_print_definition(code_printer *p, const node *n, const code_expr *x) {
    code_assign_names(p, n->outputs.len, n->outputs.data);
    code_indent(p);
    if (n->outputs.len) code_put_values(p, p->out, n->outputs.len, n->outputs.data, "", " = ");
    code_put_expr(p, p->out, x);
    code_puts(p, p->out, "\n");
}

typedef VEC(const ir_value *) code_parts;

/* Adds the expressions in row[0..upto] that are written in place and were not added before. False: the row (known
 * by key) has been looked at before. */
static bool code_collect_row(code_printer *p, const void *key, ir_value *const *row, int upto, code_parts *out) {
    intptr_t seen = (intptr_t)ptrmap_get(&p->split, key);
    for (int i = upto; i >= (int)seen; i--) {
        const node *n = row[i]->def;
        if (n && !code_is_constant(n) && ptrmap_get(&p->inlined, n) && !vec_push(out, row[i])) code_no_memory(p);
    }
    if (upto + 1 > (int)seen && !ptrmap_put(&p->split, key, (void *)(intptr_t)(upto + 1))) code_no_memory(p);
    return seen == 0;
}

/*
 * v's expression is too long to be written in place: it gets a name, and so does everything that is
 * evaluated before it.
 *     r = foo(x.add_(b), long)    ->    _0 = x.add_(b);  _1 = long;  r = foo(_0, _1)
 */
static void code_split(code_printer *p, const ir_value *v) {
    code_parts parts = {0};
    for (use u = v->uses.data[0];;) {
        if (!u.user) {
            code_collect_row(p, u.blk, u.blk->returns.data, u.index, &parts);
            break;
        }
        bool first = code_collect_row(p, u.user, u.user->inputs.data, u.index, &parts);
        if (!first || !ptrmap_get(&p->inlined, u.user)) break;
        u = u.user->outputs.data[0]->uses.data[0]; /* what the user is a part of: all to the left of it */
        u.index--;
    }
    for (size_t i = parts.len; i-- > 0;) code_print_definition(p, parts.data[i]->def, code_use(p, parts.data[i]));
    vec_free(&parts);
}

static void code_print_expression(code_printer *p, const node *n) {
    code_text t = {0};
    code_put_node(p, &t, n);
    bool is_long = code_is_long(p, &t);
    const code_expr *x = code_take(p, &t);
    if (!ptrmap_get(&p->inlined, n) || (code_is_constant(n) && is_long)) {
        code_print_definition(p, n, x);
    } else {
        code_assign_expr(p, n->outputs.data[0], x);
        if (is_long) code_split(p, n->outputs.data[0]);
    }
}

/* ---- control flow ---------------------------------------------------------------------------------- */

static void code_print_block(code_printer *p, const block *b);
static void code_print_body(code_printer *p, const block *b);

/* What has been printed since `begin` is a body; Python wants it to hold something. */
static void code_end_body(code_printer *p, size_t begin) {
    if (p->out->text.len != begin) return;
    code_indent(p);
    code_puts(p, p->out, "pass\n");
}

/* a, b = x, y */
static void code_print_assignment(code_printer *p, size_t n, ir_value *const *to, ir_value *const *from) {
    if (!n) return;
    code_indent(p);
    code_put_values(p, p->out, n, to, "", " = ");
    code_put_values(p, p->out, n, from, "", "\n");
}

/* Does the parser need to be told the variable's type, which first gets a value of type `from`? As in PyTorch, types with members
 * are always spelled out. */
static bool code_needs_type(const ir_value *to, type *from) {
    return to->type->kind == T_OPTIONAL || to->type->kind == T_UNION || type_without_details(to->type) != from;
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

/* A single output gets its type where it is first assigned. Of several, values say it themselves where joining the types
 * of both branches, which the parser does, would not find it. */
static void code_print_results(code_printer *p, const node *n, int which) {
    size_t count = n->outputs.len;
    const block *b = n->blocks.data[which], *other = n->blocks.data[!which];
    const ir_value *out = n->outputs.data[0];
    code_indent(p);
    if (count == 1) {
        bool typed = which == 0 && code_needs_type(out, code_joined_type(b->returns.data[0], other->returns.data[0]));
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
    bool counted = !ir_value_constant(n->inputs.data[0], &trip) || trip.tag != V_INT || trip.u.i != INT64_MAX ||
                   b->params.data[0]->uses.len > 0;
    if (code_is_true(n->inputs.data[1]) && code_is_true(b->returns.data[0])) return counted ? LOOP_FOR : LOOP_WHILE;
    return counted ? LOOP_BOTH : LOOP_WHILE;
}

/* x : T = first value, for each carried value; the body's parameters go by the names of the loop's outputs. */
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

static void code_print_line(code_printer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
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
    const char *test = arena_printf(&p->scratch, "%s = torch.__and__(torch.lt(%s, %s), %s)", go, i, limit, go);
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

/* ---- statements ------------------------------------------------------------------------------------- */

static void code_print_unpack(code_printer *p, const node *n) {
    code_assign_names(p, n->outputs.len, n->outputs.data);
    code_indent(p);
    if (n->outputs.len) code_put_values(p, p->out, n->outputs.len, n->outputs.data, "", ", = ");
    code_put_values(p, p->out, 1, n->inputs.data, "", "\n");
}

static void code_print_set_attr(code_printer *p, const node *n) {
    const char *name = node_str(n, "name");
    if (!code_is_identifier(name)) {
        code_fail(p, CTSC_UNSUPPORTED, "assigning to attribute '%s', which is no identifier, cannot be written as code", name);
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
    case N_CLOSURE: case N_FUSION_GROUP: case N_LOAD: case N_STORE: case N_RETURN: case N_BREAK: case N_CONTINUE:
        code_fail(p, CTSC_UNSUPPORTED, "%s cannot be written as code", node_kind_text(n));
        break;
    default: code_print_expression(p, n); break;
    }
    p->range = around;
}

static void code_print_block(code_printer *p, const block *b) {
    size_t open = p->bodies.len;
    if (++p->depth > CODE_MAX_DEPTH) code_fail(p, CTSC_LIMIT, "the program nests too deeply to be printed");
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

static void code_print_body(code_printer *p, const block *b) {
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

/* ---- functions ---------------------------------------------------------------------------------------- */

void code_printer_init(code_printer *p, code_program *prog, code_file *f) {
    *p = (code_printer){.prog = prog, .file = f, .out = &f->text};
    if (!arena_init(&p->scratch)) code_no_memory(p);
}

/* A function's own names and expressions go; the printer is as new. */
static void code_reset(code_printer *p) {
    ptrmap_free(&p->exprs);
    ptrmap_free(&p->inlined);
    ptrmap_free(&p->split);
    strmap_free(&p->used);
    vec_free(&p->bodies);
}

void code_printer_free(code_printer *p) {
    code_reset(p);
    arena_free(&p->scratch);
}

static void code_print_signature(code_printer *p, const function *f, bool self_type) {
    const schema *sc = f->schema;
    const block *b = f->graph->root;
    code_indent(p);
    code_puts(p, p->out, "def ");
    code_puts(p, p->out, f->name);
    code_puts(p, p->out, "(");
    for (int i = 0; i < sc->nargs; i++) {
        const argument *a = &sc->args[i];
        const char *name = code_unique(p, a->name);
        code_note_type(p->prog, a->type);
        if (i) code_puts(p, p->out, ",\n    ");
        code_puts(p, p->out, name);
        if (i || self_type) {
            code_puts(p, p->out, ": ");
            code_put_type(p, p->out, a->type);
        }
        if (a->has_default) {
            code_puts(p, p->out, "=");
            code_put_constant(p, p->out, a->default_value, a->type);
        }
        code_assign_text(p, b->params.data[i], name);
    }
    code_puts(p, p->out, ") -> ");
    code_put_type(p, p->out, sc->returns[0].type);
    code_puts(p, p->out, ":\n");
}

void code_print_function(code_printer *p, function *f, bool self_type) {
    ctsc_status s = function_ensure_compiled(f, p->prog->d);
    if (s != CTSC_OK) {
        code_program_fail(p->prog, s);
        return;
    }
    code_reset(p);
    arena_free(&p->scratch);
    p->scratch = (arena){0};
    if (!arena_init(&p->scratch)) {
        code_no_memory(p);
        return;
    }
    p->range = (source_range){0}; /* a signature has no place, as in PyTorch */
    if (f->graph->root->params.len != (size_t)f->schema->nargs) {
        code_fail(p, CTSC_INTERNAL, "function '%s': its graph does not have the arguments of its schema", f->name);
        return;
    }
    code_print_signature(p, f, self_type);
    p->level++;
    code_print_body(p, f->graph->root);
    p->level--;
}
