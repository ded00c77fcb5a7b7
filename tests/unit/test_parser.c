/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_parser.c - lexer and parser: trees as S-expressions, ranges, messages, hostile text, no
 * memory.
 */
#include "frontend/syntax/ast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* ---- trees as text --------------------------------------------------------------------------- */

static void show(const expr *e, strbuf *out);

static void show_list(const expr_list *l, strbuf *out) {
    for (size_t i = 0; i < l->len; i++) {
        sb_putc(out, ' ');
        show(l->data[i], out);
    }
}

static void show_params(const param *params, size_t n, strbuf *out) {
    for (size_t i = 0; i < n; i++) {
        const param *p = &params[i];
        sb_printf(out, "%s%s%s%s", i ? " " : "",
                  p->star        ? "*"
                  : p->star_star ? "**"
                                 : "",
                  p->name, p->kwarg_only ? "!" : "");
        if (p->annotation) sb_putc(out, ':'), show(p->annotation, out);
        if (p->default_value) sb_putc(out, '='), show(p->default_value, out);
    }
}

static void show_parts(const char *head, const expr *e, strbuf *out) {
    sb_printf(out, "(%s", head);
    const expr *parts[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (parts[i]) sb_putc(out, ' '), show(parts[i], out);
    show_list(&e->items, out);
    sb_putc(out, ')');
}

static void show_comp(const char *head, const expr *e, strbuf *out) {
    sb_printf(out, "(%s", head);
    show_list(&e->keys, out);
    sb_putc(out, ' ');
    show(e->a, out);
    for (; e; e = e->c) {
        sb_puts(out, " for ");
        show(e->target, out);
        sb_puts(out, " in ");
        show(e->b, out);
        show_list(&e->items, out);
    }
    sb_putc(out, ')');
}

static void show_dict(const expr *e, strbuf *out) {
    sb_puts(out, "(dict");
    for (size_t i = 0; i < e->items.len; i++) {
        sb_putc(out, ' ');
        show(e->keys.data[i], out);
        sb_putc(out, ':');
        show(e->items.data[i], out);
    }
    sb_putc(out, ')');
}

static void show_slice(const expr *e, strbuf *out) {
    sb_puts(out, "(slice");
    const expr *parts[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++) {
        sb_putc(out, ' ');
        if (parts[i]) show(parts[i], out);
        else sb_putc(out, '_');
    }
    sb_putc(out, ')');
}

static void show_call(const expr *e, strbuf *out) {
    sb_puts(out, "(call ");
    show(e->a, out);
    show_list(&e->items, out);
    for (size_t i = 0; i < e->kwargs.len; i++) {
        const char *name = e->kwargs.data[i].name;
        sb_printf(out, " %s=", name ? name : "**");
        show(e->kwargs.data[i].value, out);
    }
    sb_putc(out, ')');
}

static void show_chain(const expr *e, strbuf *out) {
    sb_putc(out, '(');
    for (size_t i = 0; i < e->items.len; i++) {
        if (i) sb_printf(out, " %s ", operator_text(e->ops.data[i - 1]));
        show(e->items.data[i], out);
    }
    sb_putc(out, ')');
}

static void show(const expr *e, strbuf *out) {
    switch (e->kind) {
    case E_NAME: sb_puts(out, e->name); break;
    case E_INT: sb_printf(out, "%lld", (long long)e->i); break;
    case E_FLOAT: sb_printf(out, "%gf", e->f); break;
    case E_IMAGINARY: sb_printf(out, "%gj", e->f); break;
    case E_STR: sb_printf(out, "'%.*s'", (int)e->slen, e->s); break;
    case E_FSTRING: show_parts("fstring", e, out); break;
    case E_FORMAT:
        show_parts("format", e, out);
        if (e->name) sb_printf(out, "!%s", e->name);
        if (e->s) sb_printf(out, ":%s", e->s);
        break;
    case E_TRUE: sb_puts(out, "True"); break;
    case E_FALSE: sb_puts(out, "False"); break;
    case E_NONE: sb_puts(out, "None"); break;
    case E_ELLIPSIS: sb_puts(out, "..."); break;
    case E_UNARY:
    case E_BINARY:
    case E_BOOLOP:
    case E_COMPARE: show_parts(operator_text(e->op), e, out); break;
    case E_CHAIN: show_chain(e, out); break;
    case E_TERNARY: show_parts("if", e, out); break;
    case E_ATTR:
        show(e->a, out);
        sb_printf(out, ".%s", e->name);
        break;
    case E_SUBSCRIPT: show_parts(e->tuple_index ? "index*" : "index", e, out); break;
    case E_SLICE: show_slice(e, out); break;
    case E_CALL: show_call(e, out); break;
    case E_STARRED: show_parts("star", e, out); break;
    case E_TUPLE: show_parts("tuple", e, out); break;
    case E_LIST: show_parts("list", e, out); break;
    case E_SET: show_parts("set", e, out); break;
    case E_DICT: show_dict(e, out); break;
    case E_LIST_COMP: show_comp("listcomp", e, out); break;
    case E_DICT_COMP: show_comp("dictcomp", e, out); break;
    case E_SET_COMP: show_comp("setcomp", e, out); break;
    case E_YIELD: show_parts("yield", e, out); break;
    case E_YIELD_FROM: show_parts("yieldfrom", e, out); break;
    case E_UNPACK: show_parts("**", e, out); break;
    case E_GENERATOR: show_comp("gen", e, out); break;
    case E_LAMBDA:
        sb_puts(out, "(lambda [");
        show_params(e->params.data, e->params.len, out);
        sb_puts(out, "] ");
        show(e->a, out);
        sb_putc(out, ')');
        break;
    case E_WALRUS:
        sb_printf(out, "(:= %s ", e->name);
        show(e->a, out);
        sb_putc(out, ')');
        break;
    case E_CAPTURE:
    case E_SHAPE:
    case E_FIELD:
        sb_printf(out,
                  e->kind == E_CAPTURE ? "(capture %s "
                  : e->kind == E_SHAPE ? "(%s %d%s "
                                       : "(field ",
                  e->name, (int)e->i, e->tuple_index ? "+" : "");
        show(e->a, out);
        if (e->kind == E_FIELD)
            sb_puts(out, " "), show(e->b, out), sb_printf(out, " %d", (int)e->i);
        sb_putc(out, ')');
        break;
    case E_UNSUPPORTED: sb_printf(out, "(unsupported %s)", e->s); break;
    case E_KIND_COUNT: fail();
    }
}

static void show_body(const stmt_list *body, strbuf *out);

static void show_def(const func_def *f, strbuf *out) {
    sb_printf(out, "(def %s [", f->name);
    show_params(f->params.data, f->params.len, out);
    sb_puts(out, "]");
    if (f->returns) sb_puts(out, " -> "), show(f->returns, out);
    if (f->type_comment) sb_printf(out, " #%s", f->type_comment);
    if (f->decorators.len) sb_puts(out, " @"), show_list(&f->decorators, out);
    show_body(&f->body, out);
    sb_putc(out, ')');
}

static void show_imports(const stmt *s, strbuf *out) {
    for (size_t i = 0; i < s->imports.len; i++) {
        const import_name *n = &s->imports.data[i];
        sb_printf(out, " %s/%s/%s", n->module ? n->module : "-", n->name ? n->name : "-",
                  n->alias ? n->alias : "-");
    }
}

static void show_stmt(const stmt *s, strbuf *out) {
    static const char *const names[S_KIND_COUNT] = {
#define NAME(k) [S_##k] = #k,
        STMT_KINDS(NAME)
#undef NAME
    };
    if (s->kind == S_DEF) {
        show_def(s->def, out);
        return;
    }
    sb_printf(out, "(%s", names[s->kind]);
    if (s->kind == S_AUG_ASSIGN) sb_printf(out, " %s=", operator_text(s->op));
    show_list(&s->targets, out);
    const expr *parts[] = {s->annotation, s->value, s->message, s->cause};
    for (int i = 0; i < 4; i++) {
        if (!parts[i]) continue;
        sb_puts(out, i == 0 ? " : " : i == 1 && s->targets.len ? " = " : " ");
        show(parts[i], out);
    }
    if (s->type_comment) sb_printf(out, " #%s", s->type_comment);
    for (size_t i = 0; i < s->items.len; i++) {
        sb_putc(out, ' ');
        show(s->items.data[i].context, out);
        if (s->items.data[i].target) sb_puts(out, " as "), show(s->items.data[i].target, out);
    }
    show_imports(s, out);
    if (s->cls) {
        sb_printf(out, " %s", s->cls->name);
        show_list(&s->cls->bases, out);
        show_body(&s->cls->body, out);
    }
    if (s->body.len) show_body(&s->body, out);
    if (s->orelse.len) sb_puts(out, " else"), show_body(&s->orelse, out);
    sb_putc(out, ')');
}

static void show_body(const stmt_list *body, strbuf *out) {
    sb_puts(out, " {");
    for (size_t i = 0; i < body->len; i++) show_stmt(body->data[i], out);
    sb_putc(out, '}');
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct parsed {
    arena a;
    interner names;
    source *src;
    diag d;
    stmt_list body;
    ctsc_status status;
} parsed;

static void parse_text(parsed *p, const char *text, size_t len) {
    memset(p, 0, sizeof *p);
    assert_true(arena_init(&p->a));
    p->names.a = &p->a;
    p->src = source_new("t.py", text, len);
    assert_non_null(p->src);
    p->status = parse_module(&p->d, &p->a, &p->names, p->src, &p->body);
}

static void parsed_free(parsed *p) {
    diag_clear(&p->d);
    interner_free(&p->names);
    arena_free(&p->a);
    source_unref(p->src);
}

static void expect_tree(const char *text, const char *want) {
    parsed p;
    strbuf got = STRBUF_INIT;
    parse_text(&p, text, strlen(text));
    if (p.status == CTSC_OK) {
        for (size_t i = 0; i < p.body.len; i++) show_stmt(p.body.data[i], &got);
    } else {
        sb_puts(&got, diag_message(&p.d));
    }
    assert_string_equal(sb_str(&got), want);
    sb_free(&got);
    parsed_free(&p);
}

static void expect_expr(const char *text, const char *want) {
    strbuf whole = STRBUF_INIT;
    sb_printf(&whole, "(EXPR %s)", want);
    expect_tree(text, sb_str(&whole));
    sb_free(&whole);
}

/* The message, and the text its range covers. */
static void expect_error(const char *text, const char *message, const char *at) {
    parsed p;
    parse_text(&p, text, strlen(text));
    assert_int_equal(p.status, CTSC_FAILED);
    assert_string_equal(diag_message(&p.d), message);
    source_range r = p.d.items.data[0].range;
    assert_ptr_equal(r.src, p.src);
    assert_true(r.begin <= r.end && r.end <= strlen(text));
    assert_int_equal(r.end - r.begin, strlen(at));
    assert_memory_equal(text + r.begin, at, strlen(at));
    parsed_free(&p);
}

static void test_precedence(void **state) {
    (void)state;
    expect_expr("a + b * c", "(+ a (* b c))");
    expect_expr("a - b - c", "(- (- a b) c)");
    expect_expr("-a ** -b", "(- (** a (- b)))");
    expect_expr("a ** b ** c", "(** a (** b c))");
    expect_expr("not a == b", "(not (== a b))");
    expect_expr("a or b and not c", "(or a (and b (not c)))");
    expect_expr("a | b ^ c & d << e + f", "(| a (^ b (& c (<< d (+ e f)))))");
    expect_expr("a < b <= c != d", "(a < b <= c != d)");
    expect_expr("a is not b", "(is not a b)");
    expect_expr("a not in b", "(not in a b)");
    expect_expr("a if b else c if d else e", "(if a b (if c d e))");
    expect_expr("lambda x, y=1: x + y", "(lambda [x y=1] (+ x y))");
    expect_expr("a @ b // c % d", "(% (// (@ a b) c) d)");
    expect_expr("~a.b(c)[d]", "(~ (index (call a.b c) d))");
    expect_expr("(a + b) * c", "(* (+ a b) c)");
    expect_expr("-2 ** 2", "(- (** 2 2))");
    expect_expr("f(-1, 2)", "(call f -1 2)");
}

static void test_literals(void **state) {
    (void)state;
    expect_expr("0x1F", "31");
    expect_expr("0o17 + 0b101 + 1_000", "(+ (+ 15 5) 1000)");
    expect_expr("-9223372036854775808", "-9223372036854775808");
    expect_expr("(1., .5, 1e3, 1e-2, 2.5E+1, 3j, 1.5j, 1_0.0)",
                "(tuple 1f 0.5f 1000f 0.01f 25f 3j 1.5j 10f)");
    expect_expr("'a' \"b\" '''c\nd'''", "'abc\nd'");
    expect_expr("'\\n\\t\\\\\\'\\x41\\101\\u00e9\\q'", "'\n\t\\'AA\xc3\xa9\\q'");
    expect_expr("'\\303\\251'", "'\xc3\xa9'");
    expect_expr("r'\\n' u'x'", "'\\nx'");
    expect_expr("'a\\\nb'", "'ab'");
    expect_expr("b'x' b'y'", "(unsupported bytes literals aren't supported)");
    expect_expr("f'a{x}b{y + 1:.2f}{z!r}{{}}'",
                "(fstring 'a' (format x) 'b' (format (+ y 1)):.2f (format z)!r '{}')");
    expect_expr("'p' f'{x[\"k\"]}' 's'", "(fstring 'p' (format (index x 'k')) 's')");
    expect_expr("f'{x=}'", "(fstring 'x=' (format x)!r)");
    expect_expr("f''", "(fstring)");
    expect_expr("(True, False, None, ...)", "(tuple True False None ...)");
}

static void test_displays(void **state) {
    (void)state;
    expect_expr("[]", "(list)");
    expect_expr("[1, 2,]", "(list 1 2)");
    expect_expr("()", "(tuple)");
    expect_expr("(a,)", "(tuple a)");
    expect_expr("a, b,", "(tuple a b)");
    expect_expr("{}", "(dict)");
    expect_expr("{'a': 1, b: c,}", "(dict 'a':1 b:c)");
    expect_expr("{a, b}", "(set a b)");
    expect_expr("[x * y for x, y in z if x if y]", "(listcomp (* x y) for (tuple x y) in z x y)");
    expect_expr("{k: v for k, v in d.items()}", "(dictcomp k v for (tuple k v) in (call d.items))");
    expect_expr("any(x > 0 for x in y)", "(call any (gen (> x 0) for x in y))");
    expect_expr("[a for b in c for d in e]", "(listcomp a for b in c for d in e)");
    expect_expr("{a for b in c if b for d in e if d}", "(setcomp a for b in c b for d in e d)");
    expect_expr("{**a, 'b': c}", "(dict (** a):(** a) 'b':c)");
    expect_expr("(y := f(x))", "(:= y (call f x))");
    expect_expr("x[1:2, ::3, :, ..., None]",
                "(index* x (slice 1 2 _) (slice _ _ 3) (slice _ _ _) ... None)");
    expect_expr("x[(a, b)]", "(index* x a b)");
    expect_expr("x[a,]", "(index* x a)");
    expect_expr("f(*a, b, k=c, **d,)", "(call f (star a) b k=c **=d)");
    expect_expr("torch.random_(x, from=0)", "(call torch.random_ x from=0)");
    expect_expr("ops.prim.is(a.None)", "(call ops.prim.is a.None)");
}

static void test_statements(void **state) {
    (void)state;
    expect_tree("a = b = c", "(ASSIGN a b = c)");
    expect_tree("a, b, = t", "(ASSIGN (tuple a b) = t)");
    expect_tree("a, *b = t", "(ASSIGN (tuple a (star b)) = t)");
    expect_tree("x : Final[float] = 1.", "(ANN_ASSIGN x : (index Final float) = 1f)");
    expect_tree("x: int", "(ANN_ASSIGN x : int)");
    expect_tree("__annotations__[\"0\"] = T", "(ASSIGN (index __annotations__ '0') = T)");
    expect_tree("x //= 2; y @= z", "(AUG_ASSIGN //= x = 2)(AUG_ASSIGN @= y = z)");
    expect_tree("x = []  # type: List[int]  # noqa", "(ASSIGN x = (list) #List[int])");
    expect_tree("x = []  # type: ignore", "(ASSIGN x = (list))");
    expect_tree("if a: b\nelif c: d\nelse:\n  e",
                "(IF a {(EXPR b)} else {(IF c {(EXPR d)} else {(EXPR e)})})");
    expect_tree("while a:\n  break\nfor i, in x:\n  continue\n",
                "(WHILE a {(BREAK)})(FOR (tuple i) = x {(CONTINUE)})");
    expect_tree("for i in 1, 2:\n  pass\nelse:\n  pass",
                "(FOR i = (tuple 1 2) {(PASS)} else {(PASS)})");
    expect_tree("raise E(x) from None", "(RAISE (call E x) None)");
    expect_tree("raise", "(RAISE)");
    expect_tree("assert a, b", "(ASSERT a b)");
    expect_tree("del a, b[0]", "(DELETE a (index b 0))");
    expect_tree("with _4 as z, c:\n  pass", "(WITH _4 as z c {(PASS)})");
    expect_tree("with (a as b,\n      c,):\n  pass", "(WITH a as b c {(PASS)})");
    expect_tree("with (a).b:\n  pass", "(WITH a.b {(PASS)})");
    expect_tree(
        "import a.b as c, d\nfrom . import e\nfrom f.g import (h as i, j,)\nfrom k import *",
        "(IMPORT a.b/-/c d/-/-)(IMPORT -/e/-)(IMPORT f.g/h/i f.g/j/-)(IMPORT k/*/-)");
    expect_tree("global a, b", "(GLOBAL a b)");
    expect_tree("try:\n  a\nexcept E as e:\n  b\nfinally:\n  c", "(TRY {(EXPR a)})");
    expect_tree(
        "op_version_set = 1\nclass A(Module):\n  x : int\n  def f(self) -> int:\n    return 1\n",
        "(ASSIGN op_version_set = 1)(CLASS A Module {(ANN_ASSIGN x : int)"
        "(def f [self] -> int {(RETURN 1)})})");
}

static void test_match(void **state) {
    (void)state;
    expect_tree("match x:\n  case 1 | -2: a\n  case y if y > z: b\n  case _: c\n",
                "(IF (or (== x 1) (== x -2)) {(EXPR a)} else {(IF (and (capture y x) (> y z)) "
                "{(EXPR b)} else {(IF True {(EXPR c)})})})");
    expect_tree("match f(x):\n  case None: a\n",
                "(ASSIGN match$6 = (call f x))(IF (is match$6 None) {(EXPR a)})");
    expect_tree("match x:\n  case [a, *b, 3]: c\n",
                "(IF (and (and (and (sequence 2+ x) (capture a (index x 0))) (capture b (call list "
                "(index x (slice 1 -1 _))))) (== (index x -1) 3)) {(EXPR c)})");
    expect_tree("match x, y:\n  case 1, _: a\n", "(IF (== x 1) {(EXPR a)})");
    expect_tree("match x:\n  case P(a, n=1) as p: b\n",
                "(IF (and (and (and (call isinstance x P) (capture a (field x P 0))) (== x.n 1)) "
                "(capture p x)) {(EXPR b)})");
    expect_tree("match x:\n  case {'k': [_]}: a\n",
                "(IF (and (and (mapping 0+ x) (in 'k' x)) (sequence 1 (index x 'k'))) {(EXPR a)})");
    expect_tree("match x:\n  case (a): b\n", "(IF (capture a x) {(EXPR b)})");
    expect_tree("match = 1\nmatch[0]\nmatch(x)\n",
                "(ASSIGN match = 1)(EXPR (index match 0))(EXPR (call match x))");
    expect_error("match x:\n  case 1 +: a\n", "expected an expression, but found ':'", ":");
    expect_error("match x:\n  case f(a=1, b): a\n", "positional patterns follow keyword patterns",
                 "b");
    expect_error("match x:\n  case *: a\n", "expected a name after '*', but found ':'", ":");
}

static void test_functions(void **state) {
    (void)state;
    expect_tree("@torch.jit.script\ndef f(x, y: int = 1, *, z=None, **kw):\n    # type: (...) -> "
                "int\n    pass",
                "(def f [x y:int=1 z!=None **kw!] #(...) -> int @ torch.jit.script {(PASS)})");
    expect_tree("def f(x): # type: (int) -> int\n  return x",
                "(def f [x] #(int) -> int {(RETURN x)})");
    expect_tree("def f(x):\n  '''doc'''\n  # type: (int) -> int\n  return x",
                "(def f [x] #(int) -> int {(EXPR 'doc')(RETURN x)})");
    expect_tree(
        "def f(a,  # type: Tensor\n      b  # type: int\n      ):\n  # type: (...) -> int\n  pass",
        "(def f [a b] #(Tensor, int) -> int {(PASS)})");
    expect_tree("def f(a, /, *args): return a", "(def f [a *args] {(RETURN a)})");
    expect_tree("def f():\n  def g(): return 1\n  return g()",
                "(def f [] {(def g [] {(RETURN 1)})(RETURN (call g))})");
}

/* How deep a line is must not depend on the width of a tab; at: the indentation of the line
 * that is refused. */
static void test_tabs(void **state) {
    (void)state;
    static const struct { const char *text, *at; } cases[] = {
        {"if a:\n\tb\n\tc\n", NULL},
        {"if a:\n\tif b:\n\t    c\n\td\n", NULL},
        {"if a:\n    if b:\n    \tc\n    d\n", NULL},
        {"if a:\n    if b:\n\tc\n", "\t"},
        {"if a:\n\tb\n        c\n", "        "},
        {"if a:\n        b\n\tc\n", "\t"},
        {"if a:\n \tb\n\tc\n", "\t"},
        {"if a:\n\tif b:\n\t\tc\n        d\n", "        "},
        {"if a:\n    b\n\t\n  \t# no\n    c\n", NULL},
        {"f(a,\n\tb,\n    c)\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parsed p;
        if (cases[i].at) {
            expect_error(cases[i].text, "inconsistent use of tabs and spaces in indentation",
                         cases[i].at);
            continue;
        }
        parse_text(&p, cases[i].text, strlen(cases[i].text));
        assert_int_equal(p.status, CTSC_OK);
        parsed_free(&p);
    }
}

static void test_layout(void **state) {
    (void)state;
    expect_tree("\xef\xbb\xbf# hello\r\n\r\na = (1,\r\n  # inside\r\n     2)\r\n",
                "(ASSIGN a = (tuple 1 2))");
    expect_tree("a = 1 + \\\n  2\n", "(ASSIGN a = (+ 1 2))");
    expect_tree("if a:\n\tb\n\tc\n\n# back\nd", "(IF a {(EXPR b)(EXPR c)})(EXPR d)");
    expect_tree("if a:\n  if b:\n    c\n\n", "(IF a {(IF b {(EXPR c)})})");
    expect_tree("", "");
    expect_tree("   \n # only\n", "");
    expect_tree("print = type.union", "(ASSIGN print = type.union)");
}

static void test_messages(void **state) {
    (void)state;
    expect_error("x = 9223372036854775808",
                 "Integral constant out of range (must fit in a signed 64 bit integer)",
                 "9223372036854775808");
    expect_error("x = 99999999999999999999",
                 "Integral constant out of range (must fit in a signed 64 bit integer)",
                 "99999999999999999999");
    expect_error("if a\n  b", "expected ':' after the condition, but found end of line", "");
    expect_error("if a:\nb", "expected an indented block after the condition", "b");
    expect_error("f(a", "expected ')' after the arguments of the call, but found end of line", "");
    expect_error("x = 'abc", "unterminated string literal", "'abc");
    expect_error("x = 'abc\ny", "unterminated string literal", "'abc");
    expect_error("x = '''abc\n", "unterminated triple-quoted string literal", "'''abc\n");
    expect_error("x = = 1", "expected an expression, but found '='", "=");
    expect_error("1 = x", "cannot assign to this expression", "1");
    expect_error("f(a=1, b)", "positional argument follows keyword argument", "b");
    expect_error("  a\n b", "unexpected indent", "");
    expect_error("if a:\n    b\n  c", "unindent does not match any outer indentation level", "");
    expect_error("a b", "expected end of line, but found a name", "b");
    expect_error("a.1", "expected end of line, but found a number", ".1");
    expect_error("a$", "unexpected character '$'", "$");
    expect_error("x = '\\xg'", "truncated \\x escape: 2 hexadecimal digits must follow", "\\x");
    expect_error("x = 012",
                 "leading zeros in decimal integer literals are not permitted; use an 0o "
                 "prefix for octal integers",
                 "012");
    expect_error("x = 1z", "invalid number", "1z");
    expect_error("x = f'{a'", "f-string: expecting '}'", "{a");
    expect_error("x = f'{a b}'", "expected the end of the expression, but found a name", "b");
    expect_error("x[]", "expected an index between the brackets", "]");
    expect_error("for 1 in x: pass", "cannot assign to this expression", "1");
    expect_error("def f(x:\n  pass", "'(' was never closed", "(");
    expect_error("f(a, b)\ng(a\nh = [1, 2]\n", "'(' was never closed", "(");
    expect_error("f(a b)", "expected ')' after the arguments of the call, but found a name", "b");
    expect_error("f(a))", "unmatched ')'", ")");
    expect_error("f(a=1, a=2)", "keyword argument repeated: a", "a=2");
    expect_error("x = \xe2\x80\x9c"
                 "a\xe2\x80\x9d",
                 "invalid character", "\xe2\x80\x9c");
}

static void expect_range(const char *text, const expr *e, const char *want) {
    assert_int_equal(e->range.end - e->range.begin, strlen(want));
    assert_memory_equal(text + e->range.begin, want, strlen(want));
}

/* What is made of parts begins at its leftmost part; the parentheses around it do not count. */
static void test_ranges(void **state) {
    (void)state;
    const char *text = "y = (a.b + c[0]) * f(x, ) - d\n";
    parsed p;
    parse_text(&p, text, strlen(text));
    assert_int_equal(p.status, CTSC_OK);
    const expr *sub = p.body.data[0]->value, *mul = sub->a;
    expect_range(text, sub, "a.b + c[0]) * f(x, ) - d");
    expect_range(text, mul->a, "a.b + c[0]");
    expect_range(text, mul->a->a, "a.b");
    expect_range(text, mul->a->b, "c[0]");
    expect_range(text, mul->b, "f(x, )");
    expect_range(text, mul->b->items.data[0], "x");
    assert_int_equal(p.body.data[0]->range.begin, 0);
    assert_int_equal(p.body.data[0]->range.end, strlen(text) - 1);
    parsed_free(&p);
}

/* n times `open`, then "x", then n times `close`. */
static ctsc_status nest(const char *open, const char *close, int n) {
    strbuf text = STRBUF_INIT;
    for (int i = 0; i < n; i++) sb_puts(&text, open);
    sb_putc(&text, 'x');
    for (int i = 0; i < n; i++) sb_puts(&text, close);
    parsed p;
    parse_text(&p, sb_str(&text), text.len);
    ctsc_status s = p.status;
    parsed_free(&p);
    sb_free(&text);
    return s;
}

static void test_depth(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"(", ")"},   {"[", "]"},   {"-", ""},      {"not ", ""},     {"x[", "]"},
        {"f(", ")"},  {"{1:", "}"}, {"x ** ", ""},  {"lambda: ", ""}, {"x if x else ", ""},
        {"", " + x"}, {"", ".x"},   {"", " and x"}, {"await ", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(nest(pairs[i][0], pairs[i][1], 150), CTSC_OK);
        assert_int_equal(nest(pairs[i][0], pairs[i][1], 100000), CTSC_FAILED);
    }
    assert_int_equal(nest("if x: x\nel", "", 100000), CTSC_FAILED);
}

/* Every prefix of a program, and every program with one byte changed, parses or fails, no more. */
static const char *const sample =
    "class A(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n  def forward(self: "
    "__torch__.A,\n"
    "    x: Tensor=1.5e3) -> Tuple[int, str]:\n    # type: (int) -> int\n    _0 = f'{x!r:>{3}}' "
    "'b\\x41'\n"
    "    if bool(_0):\n      y, z, = {1: [a for a in b if not c], **d}\n    else:\n      pass\n"
    "    with (a as b, c): return (x[1:, ...], -0x7f,)\n";

static void test_hostile(void **state) {
    (void)state;
    size_t len = strlen(sample);
    char *copy = malloc(len + 1);
    assert_non_null(copy);
    parsed p;
    for (size_t n = 0; n < len; n++) {
        parse_text(&p, sample, n);
        parsed_free(&p);
        static const char bytes[] = {'\0', '(', ')', '\n', '\\', '\'', '{', '\xff', ' ', '#'};
        for (size_t b = 0; b < sizeof bytes; b++) {
            memcpy(copy, sample, len + 1);
            copy[n] = bytes[b];
            parse_text(&p, copy, len);
            parsed_free(&p);
        }
    }
    free(copy);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static void *failing_hook(void *ctx, void *p, size_t size) {
    long *left = ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    if (--*left < 0) return NULL;
    return realloc(p, size);
}

static void test_no_memory(void **state) {
    (void)state;
    strbuf text = STRBUF_INIT;
    for (int i = 0; i < 40; i++) sb_printf(&text, "x%d = [%d, 'abc', f'{y}']\n", i, i);
    sb_puts(&text, sample);
    char *copy = strdup(sb_str(&text));
    sb_free(&text);
    bool done = false;
    for (long n = 0; !done; n++) {
        long left = n;
        mem_set_hook(failing_hook, &left);
        parsed p = {0};
        if (arena_init(&p.a) && (p.src = source_new("t.py", copy, strlen(copy)))) {
            p.names.a = &p.a;
            p.status = parse_module(&p.d, &p.a, &p.names, p.src, &p.body);
            done = left >= 0;
            if (!done) assert_int_equal(p.status, CTSC_LIMIT);
            else assert_int_equal(p.status, CTSC_OK);
        }
        parsed_free(&p);
        mem_set_hook(NULL, NULL);
    }
    free(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence), cmocka_unit_test(test_literals),
        cmocka_unit_test(test_displays),   cmocka_unit_test(test_statements),
        cmocka_unit_test(test_match),      cmocka_unit_test(test_functions),
        cmocka_unit_test(test_tabs),       cmocka_unit_test(test_layout),
        cmocka_unit_test(test_messages),   cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_depth),      cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
