/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_code.c - functions as TorchScript source: names, and which expressions are
 * written in place.
 *
 *     %3 : Tensor = aten::mul(%x, %y)                    z = torch.add(torch.mul(x, y), 1)
 *     %z : Tensor = aten::add(%3, %2, %2)
 *
 * Method. What PyTorch's printer does, so that code looks as it does there. First a scan backwards
 * finds the values that may be written where they are used: used once, unnamed, and computed just
 * before, in the order in which evaluating the expression computes them. Then nodes are printed in
 * order. An expression that has become too long gets a name; so do all those that are to be
 * evaluated before it in the same expression, because effects must keep their order.
 *
 * Invariant: a value's expression is in p->exprs before anything that uses it is printed.
 * Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#include "frontend/codeprint/print_code_internal.h"

enum { CODE_LONG_LINE = 40 };

/* ---- failure --------------------------------------------------------------------------------- */

ctsc_status code_fail(code_printer *p, ctsc_status s, const char *fmt, ...) {
    if (p->prog->status != CTSC_OK) return p->prog->status;
    va_list ap;
    va_start(ap, fmt);
    p->prog->status = diag_fail_v(p->prog->d, s, p->range, fmt, ap);
    va_end(ap);
    return s;
}

bool code_failed(const code_printer *p) {
    code_program *g = p->prog;
    if (g->status == CTSC_OK &&
        (arena_failed(&p->scratch) || arena_failed(&g->arena) || p->out->text.failed))
        code_program_fail(g, diag_no_memory(g->d));
    return g->status != CTSC_OK;
}

void code_no_memory(code_printer *p) {
    if (p->prog->status == CTSC_OK) p->prog->status = diag_no_memory(p->prog->d);
}

/* ---- text that knows where it comes from ----------------------------------------------------- */

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

void code_puts(code_printer *p, code_text *t, const char *s) { code_write(p, t, s, strlen(s)); }

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
const code_expr *code_take(code_printer *p, code_text *t) {
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

void code_indent(code_printer *p) {
    for (int i = 0; i < p->level; i++) code_puts(p, p->out, "  ");
}

/* ---- names and uses -------------------------------------------------------------------------- */

/* Names that mean something to the parser of archives. */
static bool code_is_reserved(const char *name) {
    static const char *const names[] = {"_",
                                        "as",
                                        "aten",
                                        "attribute",
                                        "CONSTANTS",
                                        "fork",
                                        "getattr",
                                        "inf",
                                        "nan",
                                        "infj",
                                        "nanj",
                                        "ops",
                                        "__torch__",
                                        "and",
                                        "assert",
                                        "async",
                                        "await",
                                        "break",
                                        "class",
                                        "continue",
                                        "def",
                                        "del",
                                        "elif",
                                        "else",
                                        "except",
                                        "False",
                                        "finally",
                                        "for",
                                        "from",
                                        "global",
                                        "if",
                                        "import",
                                        "in",
                                        "is",
                                        "lambda",
                                        "None",
                                        "nonlocal",
                                        "not",
                                        "or",
                                        "pass",
                                        "raise",
                                        "return",
                                        "True",
                                        "try",
                                        "while",
                                        "with",
                                        "yield",
                                        "uninitialized",
                                        "unchecked_cast"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

/* candidate, or candidate0, candidate1, ...: the first that this function has not used. */
const char *code_unique(code_printer *p, const char *candidate) {
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

/* The variable's name in the source: without the ".1" that tells its values apart,
 * and an identifier. */
const char *code_base_name(code_printer *p, const ir_value *v) {
    if (!value_has_name(v)) return "_";
    size_t n = strlen(v->name), digits = n;
    while (digits && v->name[digits - 1] >= '0' && v->name[digits - 1] <= '9') digits--;
    if (digits > 1 && digits < n && v->name[digits - 1] == '.') n = digits - 1;
    char *s = arena_alloc(&p->scratch, n + 2), *w = s;
    if (!s) return "_";
    if (v->name[0] >= '0' && v->name[0] <= '9') *w++ = '_';
    for (size_t i = 0; i < n; i++) {
        char c = v->name[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
        *w++ = ok ? c : '_';
    }
    return s;
}

void code_assign_expr(code_printer *p, const ir_value *v, const code_expr *x) {
    if (!ptrmap_put(&p->exprs, v, (void *)x)) code_no_memory(p);
}

/* text stays where it is: in an arena, or constant. */
void code_assign_text(code_printer *p, const ir_value *v, const char *text) {
    code_expr *x = arena_new(&p->scratch, code_expr);
    x->s = text;
    x->len = strlen(text);
    code_assign_expr(p, v, x);
}

void code_assign_names(code_printer *p, size_t n, ir_value *const *vs) {
    for (size_t i = 0; i < n; i++)
        code_assign_text(p, vs[i], code_unique(p, code_base_name(p, vs[i])));
}

const code_expr *code_use(code_printer *p, const ir_value *v) {
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

void code_put_values(code_printer *p, code_text *t, size_t n, ir_value *const *vs, const char *open,
                     const char *close) {
    code_puts(p, t, open);
    for (size_t i = 0; i < n; i++) {
        if (i) code_puts(p, t, ", ");
        code_put_value(p, t, vs[i]);
    }
    code_puts(p, t, close);
}

/* ---- which values are written where they are used -------------------------------------------- */

bool code_is_constant(const node *n) { return n->kind == N_CONSTANT; }

static const node *code_skip_constants(const node *n) {
    while (n && code_is_constant(n)) n = n->prev;
    return n;
}

/* Printed as statements whatever becomes of their output. */
static bool code_is_statement(const node *n) {
    switch (n->kind) {
    case N_TUPLE_UNPACK:
    case N_LIST_UNPACK:
    case N_FORK:
    case N_ENTER:
    case N_CONTAINER_INDEX: return true;
    /* `if isinstance(x, T)` would make the parser refine x once more */
    case N_ISINSTANCE: return true;
    default: return n->blocks.len != 0;
    }
}

static bool code_can_inline(const ir_value *v) {
    const node *n = v->def;
    if (n->outputs.len != 1 || v->uses.len != 1 || code_is_statement(n)) return false;
    use u = v->uses.data[0];
    /* the author's name is kept, except for a name that is only returned */
    if (value_has_name(v) && u.user) return false;
    /* initial values of a loop are assigned before trip count and condition are evaluated */
    if (u.user && u.user->kind == N_LOOP && u.index >= 2) return false;
    return !u.user || u.user->kind != N_FORK; /* its body may mention it more than once */
}

static const node *code_scan_node(code_printer *p, const node *n);

/* at: the node that would be evaluated last before the user
 * of v. Returns the same for what is to the left of v. */
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

static const node *code_scan_values(code_printer *p, const node *at, size_t n,
                                    ir_value *const *vs) {
    at = code_skip_constants(at);
    for (size_t i = n; i-- > 0;) at = code_scan_value(p, at, vs[i]);
    return at;
}

void code_scan_block(code_printer *p, const block *b) {
    code_scan_values(p, b->last, b->returns.len, b->returns.data);
    for (const node *n = b->last; n; n = n->prev) code_scan_node(p, n);
}

static const node *code_scan_node(code_printer *p, const node *n) {
    if (ptrmap_get(&p->inlined, n)) return n;
    p->depth++;
    if (p->depth > 2 * CODE_MAX_DEPTH)
        code_fail(p, CTSC_LIMIT, "the program nests too deeply to be printed");
    for (size_t i = 0; i < n->blocks.len && !code_failed(p); i++)
        code_scan_block(p, n->blocks.data[i]);
    const node *at = code_scan_values(p, n->prev, n->inputs.len, n->inputs.data);
    p->depth--;
    return at;
}

/* ---- expressions and their names ------------------------------------------------------------- */

static bool code_is_long(const code_printer *p, const code_text *t) {
    return t->text.len + 2 * (size_t)p->level >= CODE_LONG_LINE;
}

/* outputs = expression */
void code_print_definition(code_printer *p, const node *n, const code_expr *x) {
    code_assign_names(p, n->outputs.len, n->outputs.data);
    code_indent(p);
    if (n->outputs.len) code_put_values(p, p->out, n->outputs.len, n->outputs.data, "", " = ");
    code_put_expr(p, p->out, x);
    code_puts(p, p->out, "\n");
}

typedef VEC(const ir_value *) code_parts;

/* Adds the expressions in row[0..upto] that are written in place and were not added before. False:
 * the row (known by key) has been looked at before. */
static bool code_collect_row(code_printer *p, const void *key, ir_value *const *row, int upto,
                             code_parts *out) {
    intptr_t seen = (intptr_t)ptrmap_get(&p->split, key);
    for (int i = upto; i >= (int)seen; i--) {
        const node *n = row[i]->def;
        if (n && !code_is_constant(n) && ptrmap_get(&p->inlined, n) && !vec_push(out, row[i]))
            code_no_memory(p);
    }
    if (upto + 1 > (int)seen && !ptrmap_put(&p->split, key, (void *)(intptr_t)(upto + 1)))
        code_no_memory(p);
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
        /* what the user is a part of: all to the left of it */
        u = u.user->outputs.data[0]->uses.data[0];
        u.index--;
    }
    for (size_t i = parts.len; i-- > 0;)
        code_print_definition(p, parts.data[i]->def, code_use(p, parts.data[i]));
    vec_free(&parts);
}

void code_print_expression(code_printer *p, const node *n) {
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

/* ---- functions ------------------------------------------------------------------------------- */

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
    alias_free(p->aliases);
    p->aliases = NULL;
    p->graph = NULL;
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
        code_fail(p, CTSC_INTERNAL,
                  "function '%s': its graph does not have the arguments of its schema", f->name);
        return;
    }
    p->graph = f->graph;
    code_print_signature(p, f, self_type);
    p->level++;
    code_print_body(p, f->graph->root);
    p->level--;
}
