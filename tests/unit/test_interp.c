/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_interp.c - translation to bytecode and its execution: graphs given as text, programs given
 * as the code of an archive; limits, errors with places, arguments from outside, no memory.
 */
#include "frontend/codeload/importer.h"
#include "frontend/irgen/irgen.h"
#include "runtime/exec/executor.h"
#include "runtime/interp/interp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions from IR text ------------------------------------------------------------------ */

typedef struct ir_function {
    function f;
    graph *g;
} ir_function;

static void ir_load(ir_function *t, const char *text) {
    diag d = {0};
    memset(t, 0, sizeof *t);
    if (graph_parse(&d, "test.ir", text, strlen(text), &t->g) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    if (graph_verify(&d, t->g) != CTSC_OK) fail_msg("%s", diag_message(&d));
    t->f = (function){.name = "f", .qualified = "f", .graph = t->g, .state = FUNCTION_READY};
}

static void ir_free(ir_function *t) {
    code_free(t->f.code[0]);
    graph_free(t->g);
}

static ctsc_status ir_run(ir_function *t, runtime *rt, int n, const value *args, diag *d,
                          strbuf *out) {
    value v = value_none();
    ctsc_status s = interp_call(rt, &t->f, n, args, d, &v);
    if (s == CTSC_OK) value_print(v, out);
    value_unref(v);
    return s;
}

/* Runs the graph on ints; compares the result's text, or the error's message. */
static void expect_ir(const char *text, const char *want, int n, const int64_t *ints) {
    ir_function t;
    ir_load(&t, text);
    runtime rt;
    runtime_init(&rt);
    value args[8];
    for (int i = 0; i < n; i++) args[i] = value_int(ints[i]);
    diag d = {0};
    strbuf out = STRBUF_INIT;
    if (ir_run(&t, &rt, n, args, &d, &out) != CTSC_OK) sb_puts(&out, diag_message(&d));
    assert_string_equal(sb_str(&out), want);
    assert_int_equal(rt.depth, 0);
    sb_free(&out);
    diag_clear(&d);
    ir_free(&t);
}

#define EXPECT_IR(text, want, ...)                                                                 \
    expect_ir(text, want, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),               \
              (int64_t[]){__VA_ARGS__})

static void test_straight(void **state) {
    (void)state;
    EXPECT_IR("graph(%a : int, %b : int):\n"
              "  %2 : int = prim::Constant[value=10]()\n"
              "  %c : int = aten::mul(%a, %2)\n"
              "  %d : int = aten::add(%c, %b)\n"
              "  %e : int = aten::neg(%d)\n"
              "  return (%e)\n",
              "-42", 4, 2);
    EXPECT_IR("graph(%a : int, %b : int):\n  return (%b)\n", "2", 1, 2);
    EXPECT_IR("graph(%a : int, %b : int):\n  return (%b, %b, %a)\n", "(2, 2, 1)", 1, 2);
    EXPECT_IR("graph(%a : int):\n  %0 : str = prim::Constant[value=\"x\"]()\n  return (%0)\n", "x",
              1);
    EXPECT_IR("graph(%a : int):\n  return ()\n", "None", 1);
}

static void test_if(void **state) {
    (void)state;
    static const char *const text = "graph(%a : int, %b : int):\n"
                                    "  %l : int[] = prim::ListConstruct(%a, %b)\n"
                                    "  %c : bool = aten::lt(%a, %b)\n"
                                    "  %x : int[], %y : int = prim::If(%c)\n"
                                    "    block0():\n"
                                    "      %n : int = aten::len(%l)\n"
                                    "      -> (%l, %n)\n"
                                    "    block1():\n"
                                    "      %m : int[] = prim::ListConstruct(%b)\n"
                                    "      -> (%m, %b)\n"
                                    "  %t : (int[], int) = prim::TupleConstruct(%x, %y)\n"
                                    "  return (%t)\n";
    EXPECT_IR(text, "([1, 2], 2)", 1, 2);
    EXPECT_IR(text, "([1], 1)", 2, 1);
}

static void test_loops(void **state) {
    (void)state;
    /* the two carried values change places */
    EXPECT_IR("graph(%n : int):\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %0 : int = prim::Constant[value=0]()\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %a : int, %b : int = prim::Loop(%n, %t, %0, %1)\n"
              "    block0(%i : int, %x : int, %y : int):\n"
              "      %z : int = aten::add(%x, %y)\n"
              "      -> (%t, %y, %z)\n"
              "  return (%a, %b)\n",
              "(55, 89)", 10);
    EXPECT_IR("graph(%n : int, %p : int, %q : int):\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %a : int, %b : int, %c : int = prim::Loop(%n, %t, %p, %q, %p)\n"
              "    block0(%i : int, %x : int, %y : int, %z : int):\n"
              "      -> (%t, %y, %x, %x)\n"
              "  return (%a, %b, %c)\n",
              "(8, 7, 7)", 3, 7, 8);
    /* a list stays in its place and goes to another one as well */
    EXPECT_IR("graph(%n : int):\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %e : int[] = prim::ListConstruct(%n)\n"
              "  %g : int[] = prim::ListConstruct()\n"
              "  %a : int[], %b : int[] = prim::Loop(%n, %t, %e, %g)\n"
              "    block0(%i : int, %x : int[], %y : int[]):\n"
              "      -> (%t, %x, %x)\n"
              "  return (%a, %b)\n",
              "([2], [2])", 2);
    EXPECT_IR("graph(%n : int):\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %e : int[] = prim::ListConstruct(%n)\n"
              "  %g : int[] = prim::ListConstruct()\n"
              "  %b : int[], %a : int[] = prim::Loop(%n, %t, %g, %e)\n"
              "    block0(%i : int, %y : int[], %x : int[]):\n"
              "      -> (%t, %x, %y)\n"
              "  return (%a, %b)\n",
              "([], [3])", 3);
    /* while: a condition that is computed, and an index that is not used */
    EXPECT_IR("graph(%n : int):\n"
              "  %m : int = prim::Constant[value=9223372036854775807]()\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %2 : int = prim::Constant[value=2]()\n"
              "  %c : bool = aten::lt(%1, %n)\n"
              "  %r : int = prim::Loop(%m, %c, %1)\n"
              "    block0(%i : int, %x : int):\n"
              "      %y : int = aten::mul(%x, %2)\n"
              "      %d : bool = aten::lt(%y, %n)\n"
              "      -> (%d, %y)\n"
              "  return (%r)\n",
              "128", 100);
    EXPECT_IR("graph(%n : int, %k : int):\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %0 : int = prim::Constant[value=0]()\n"
              "  %r : int = prim::Loop(%n, %t, %0)\n"
              "    block0(%i : int, %x : int):\n"
              "      %s : int = prim::Loop(%i, %t, %x)\n"
              "        block0(%j : int, %y : int):\n"
              "          %p : int = aten::mul(%j, %k)\n"
              "          %q : int = aten::add(%p, %y)\n"
              "          -> (%t, %q)\n"
              "      -> (%t, %s)\n"
              "  return (%r)\n",
              "40", 5, 4);
    EXPECT_IR("graph(%n : int):\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %r : int = prim::Loop(%n, %t, %n)\n"
              "    block0(%i : int, %x : int):\n"
              "      -> (%t, %i)\n"
              "  return (%r)\n",
              "-3", -3);
}

static void test_containers(void **state) {
    (void)state;
    EXPECT_IR("graph(%a : int, %b : int):\n"
              "  %k : str = prim::Constant[value=\"k\"]()\n"
              "  %l : int[] = prim::ListConstruct(%a, %b)\n"
              "  %x : int, %y : int = prim::ListUnpack(%l)\n"
              "  %t : (int, int, str) = prim::TupleConstruct(%y, %x, %k)\n"
              "  %p : int, %q : int, %r : str = prim::TupleUnpack(%t)\n"
              "  %s : (int, str) = prim::TupleSlice[beg=1, end=3](%t)\n"
              "  %m : int = prim::Constant[value=-1]()\n"
              "  %u : str = prim::TupleIndex(%s, %m)\n"
              "  %d : Dict(str, int) = prim::DictConstruct(%u, %q)\n"
              "  %i : int = aten::__getitem__(%l, %m)\n"
              "  return (%p, %d, %i)\n",
              "(2, {k: 1}, 2)", 1, 2);
    EXPECT_IR("graph(%a : int):\n"
              "  %l : int[] = prim::ListConstruct(%a, %a, %a)\n"
              "  %x : int, %y : int = prim::ListUnpack(%l)\n"
              "  return (%x)\n",
              "Expected 2 elements in a list but found 3", 1);
    EXPECT_IR("graph(%a : int):\n"
              "  %l : int[] = prim::ListConstruct(%a)\n"
              "  %x : int = aten::__getitem__(%l, %a)\n"
              "  return (%x)\n",
              "list index out of range", 1);
    EXPECT_IR("graph(%a : int):\n"
              "  %l : int[] = prim::ListConstruct(%a)\n"
              "  %x : bool = prim::isinstance[types=[int[]]](%l)\n"
              "  %y : bool = prim::isinstance[types=[str, int]](%l)\n"
              "  return (%x, %y)\n",
              "(True, False)", 1);
}

static void test_raise(void **state) {
    (void)state;
    ir_function t;
    ir_load(&t, "graph(%a : int):\n"
                "  %m : str = prim::Constant[value=\"bad 100%\"]()\n"
                "  %c : str = prim::Constant[value=\"builtins.ValueError\"]()\n"
                "   = prim::RaiseException(%m, %c)\n"
                "  return (%a)\n");
    runtime rt;
    runtime_init(&rt);
    diag d = {0};
    strbuf out = STRBUF_INIT;
    value one = value_int(1);
    assert_int_equal(ir_run(&t, &rt, 1, &one, &d, &out), CTSC_FAILED);
    assert_string_equal(diag_message(&d), "bad 100%");
    assert_string_equal(d.exception, "builtins.ValueError");
    diag_clear(&d);
    ir_free(&t);
}

static const char *const endless = "graph(%n : int):\n"
                                   "  %t : bool = prim::Constant[value=1]()\n"
                                   "  %m : int = prim::Constant[value=9223372036854775807]()\n"
                                   "  %r : int = prim::Loop(%m, %t, %n)\n"
                                   "    block0(%i : int, %x : int):\n"
                                   "      -> (%t, %i)\n"
                                   "  return (%r)\n";

static void test_limits(void **state) {
    (void)state;
    ir_function t;
    ir_load(&t, endless);
    runtime rt;
    runtime_init(&rt);
    diag d = {0};
    value one = value_int(1);
    strbuf out = STRBUF_INIT;
    rt.steps_left = 100000;
    assert_int_equal(ir_run(&t, &rt, 1, &one, &d, &out), CTSC_LIMIT);
    assert_string_equal(diag_message(&d), "the program exceeded its limit of steps");
    diag_clear(&d);
    atomic_bool cancelled = true;
    runtime_init(&rt);
    rt.cancelled = &cancelled;
    assert_int_equal(ir_run(&t, &rt, 1, &one, &d, &out), CTSC_LIMIT);
    assert_string_equal(diag_message(&d), "the program was cancelled");
    diag_clear(&d);
    ir_free(&t);
}

/* A function that calls itself, which the compiler would refuse. */
static void test_recursion(void **state) {
    (void)state;
    ir_function t;
    ir_load(&t, "graph(%n : int):\n"
                "  %f : Function = prim::Constant[name=\"f\"]()\n"
                "  %r : int = prim::CallFunction(%f, %n)\n"
                "  return (%r)\n");
    value self = {.tag = V_FUNCTION, .u.function = &t.f};
    node_set_value_take(t.g->root->first, "value", self);
    runtime rt;
    runtime_init(&rt);
    diag d = {0};
    value one = value_int(1);
    strbuf out = STRBUF_INIT;
    assert_int_equal(ir_run(&t, &rt, 1, &one, &d, &out), CTSC_LIMIT);
    assert_string_equal(diag_message(&d), "calls are nested too deeply (more than 256 levels)");
    assert_int_equal(rt.depth, 0);
    diag_clear(&d);
    ir_free(&t);
}

static void test_disassembly(void **state) {
    (void)state;
    ir_function t;
    ir_load(&t, "graph(%a : int, %l : int[]):\n"
                "  %b : int = aten::add(%a, %a)\n"
                "  %m : int[] = prim::ListConstruct(%b, %a)\n"
                "  %k : int[] = aten::add(%m, %l)\n"
                "  return (%k)\n");
    diag d = {0};
    assert_int_equal(code_ensure(&t.f, 0, NULL, &d), CTSC_OK);
    strbuf out = STRBUF_INIT;
    code_print(t.f.code[0], &out);
    assert_string_equal(sb_str(&out), "f: 2 parameters, 4 registers\n"
                                      "    0  ADD_INT r2 r0 r0\n"
                                      "    1  CALL_OP r2 <- aten::add.int(r0, r0)\n"
                                      "    2  NEW_LIST r3 <-(r2!, r0!)\n"
                                      "    3  CALL_OP r2 <- aten::add.t(r3!, r1!)\n"
                                      "    4  RETURN r2\n");
    sb_free(&out);
    ir_free(&t);
}

/* ---- programs -------------------------------------------------------------------------------- */

static const char *const program =
    "class Counter(Module):\n"
    "  n : int\n"
    "  def __init__(self: __torch__.Counter, n: int) -> NoneType:\n"
    "    self.n = n\n"
    "    return None\n"
    "  def bump(self: __torch__.Counter, by: int=1) -> int:\n"
    "    self.n = torch.add(self.n, by)\n"
    "    return self.n\n"
    "class Unset:\n"
    "  n : List[int]\n"
    "  def __init__(self: __torch__.Unset) -> NoneType:\n"
    "    return None\n"
    "class Scope:\n"
    "  n : List[int]\n"
    "  def __init__(self: __torch__.Scope, n: List[int]) -> NoneType:\n"
    "    self.n = n\n"
    "    return None\n"
    "  def __enter__(self: __torch__.Scope) -> int:\n"
    "    _0 = torch.append(self.n, 1)\n"
    "    return torch.len(self.n)\n"
    "  def __exit__(self: __torch__.Scope, type: Any, value: Any, tb: Any) -> NoneType:\n"
    "    _0 = torch.append(self.n, 2)\n"
    "    print(self.n)\n"
    "    return None\n"
    "def fail(x: int) -> int:\n"
    "  if torch.gt(x, 3):\n"
    "    ops.prim.RaiseException(\"too large\", \"builtins.RuntimeError\")\n"
    "  else:\n"
    "    pass\n"
    "  return torch.neg(x)\n"
    "def objects(x: int) -> Tuple[int, int]:\n"
    "  c = __torch__.Counter.__new__(__torch__.Counter)\n"
    "  _0 = (c).__init__(x, )\n"
    "  a = (c).bump()\n"
    "  b = (c).bump(10, )\n"
    "  return (a, b)\n"
    "def unset(x: int) -> int:\n"
    "  c = __torch__.Unset.__new__(__torch__.Unset)\n"
    "  return torch.len(c.n)\n"
    "def scoped(x: int) -> Tuple[int, List[int]]:\n"
    "  l = annotate(List[int], [])\n"
    "  s = __torch__.Scope.__new__(__torch__.Scope)\n"
    "  _0 = (s).__init__(l, )\n"
    "  with s as k:\n"
    "    _1 = torch.append(l, torch.add(k, __torch__.fail(x, )))\n"
    "  return (x, l)\n"
    "def forked(x: int) -> int:\n"
    "  def __forked_function():\n"
    "    return __torch__.fail(x, )\n"
    "  a = fork(__forked_function)\n"
    "  print(\"after fork\", x, [1.5, 2.])\n"
    "  return torch.add(torch.wait(a), 1)\n"
    "def branchy(x: int) -> List[int]:\n"
    "  out = annotate(List[int], [])\n"
    "  for i in range(x):\n"
    "    if torch.eq(torch.remainder(i, 2), 0):\n"
    "      _0 = torch.append(out, i)\n"
    "    else:\n"
    "      _0 = torch.append(out, torch.neg(i))\n"
    "  return out\n"
    "def strings(x: int) -> str:\n"
    "  d = {\"a\": [\"b\", \"c\"], \"d\": annotate(List[str], [])}\n"
    "  s = \"\"\n"
    "  for i in range(x):\n"
    "    s = torch.add(torch.add(s, (d[\"a\"])[0]), str(i))\n"
    "  return s\n";

typedef struct program_run {
    unit *u;
    diag d;
    strbuf printed;
} program_run;

static ctsc_status program_read(void *ctx, diag *d, const char *name, source **out) {
    (void)ctx;
    *out = NULL;
    if (strcmp(name, "__torch__.py") != 0) return CTSC_OK;
    *out = source_new("code/__torch__.py", program, strlen(program));
    return *out ? CTSC_OK : diag_no_memory(d);
}

static void program_print(void *ctx, const char *text, size_t len) { sb_write(ctx, text, len); }

/* Loads the program, runs function `name` on x. Everything but p->d and p->printed is released. */
static ctsc_status program_call(program_run *p, const char *name, int64_t x, strbuf *out) {
    memset(p, 0, sizeof *p);
    p->u = unit_new();
    if (!p->u) return diag_no_memory(&p->d);
    importer_host host = {.read_code = program_read};
    function *f = NULL;
    type *cls = NULL;
    ctsc_status s = importer_attach(&p->d, p->u, &host, 10);
    p->u->compile = irgen_function;
    if (s == CTSC_OK) s = unit_resolve(p->u, &p->d, name, &cls, &f);
    if (s == CTSC_OK && !f) s = diag_fail(&p->d, CTSC_FAILED, "no function %s", name);
    runtime rt;
    runtime_init(&rt);
    rt.print = program_print;
    rt.sink_ctx = &p->printed;
    value arg = value_int(x), v = value_none();
    if (s == CTSC_OK) s = interp_call(&rt, f, 1, &arg, &p->d, &v);
    if (s == CTSC_OK) value_print(v, out);
    value_unref(v);
    assert_int_equal(rt.depth, 0);
    return s;
}

static void program_free(program_run *p) {
    diag_clear(&p->d);
    sb_free(&p->printed);
    if (p->u) unit_close(p->u);
    unit_unref(p->u);
}

static void expect_program(const char *name, int64_t x, const char *want, const char *printed) {
    program_run p;
    strbuf out = STRBUF_INIT;
    if (program_call(&p, name, x, &out) != CTSC_OK) sb_puts(&out, diag_message(&p.d));
    assert_string_equal(sb_str(&out), want);
    assert_string_equal(sb_str(&p.printed), printed);
    sb_free(&out);
    program_free(&p);
}

static void test_programs(void **state) {
    (void)state;
    expect_program("__torch__.objects", 5, "(6, 16)", "");
    expect_program("__torch__.unset", 5, "attribute 'n' was read before it was assigned", "");
    expect_program("__torch__.branchy", 5, "[0, -1, 2, -3, 4]", "");
    expect_program("__torch__.strings", 3, "b0b1b2", "");
    expect_program("__torch__.forked", 2, "-1", "after fork 2 [1.5, 2.]\n");
    expect_program("__torch__.scoped", 3, "(3, [1, -2, 2])", "[1, -2, 2]\n");
    /* the error of a fork comes up where it is waited for; __exit__ runs when the body fails */
    expect_program("__torch__.forked", 4, "too large", "after fork 4 [1.5, 2.]\n");
    expect_program("__torch__.scoped", 4, "too large", "[1, 2]\n");
}

/* The place of the error, then the calls that led to it. */
static void test_places(void **state) {
    (void)state;
    program_run p;
    strbuf out = STRBUF_INIT;
    assert_int_equal(program_call(&p, "__torch__.scoped", 4, &out), CTSC_FAILED);
    assert_string_equal(p.d.exception, "builtins.RuntimeError");
    assert_int_equal(p.d.items.len, 2);
    const diag_item *error = &p.d.items.data[0], *frame = &p.d.items.data[1];
    uint32_t line, column;
    source_position(error->range.src, error->range.begin, &line, &column);
    assert_int_equal(line, 27);
    assert_int_equal(frame->kind, DIAG_FRAME);
    assert_string_equal(frame->text, "__torch__.scoped");
    source_position(frame->range.src, frame->range.begin, &line, &column);
    assert_int_equal(line, 45);
    sb_free(&out);
    program_free(&p);
}

/* ---- arguments from outside ------------------------------------------------------------------ */

static void expect_args(const char *schema_text, int n, const value *args, const char *want) {
    arena a;
    assert_true(arena_init(&a));
    diag d = {0};
    schema *sc = NULL;
    assert_int_equal(schema_parse(&d, &a, schema_text, strlen(schema_text), &sc), CTSC_OK);
    function f = {.name = "f", .schema = sc};
    value full[8];
    strbuf out = STRBUF_INIT;
    if (interp_check_args(&f, n, args, &d, full) == CTSC_OK) {
        for (int i = 0; i < sc->nargs; i++) {
            if (i) sb_putc(&out, ' ');
            value_print(full[i], &out);
            value_unref(full[i]);
        }
    } else {
        sb_puts(&out, diag_message(&d));
    }
    assert_string_equal(sb_str(&out), want);
    sb_free(&out);
    diag_clear(&d);
    schema_free_values(sc);
    arena_free(&a);
}

static void test_arguments(void **state) {
    (void)state;
    value ints[] = {value_int(1), value_int(2), value_int(3), value_int(4)};
    expect_args("f(int x, float y, float z=1.5) -> int", 2, ints, "1 2. 1.5");
    expect_args("f(int x, int y) -> int", 1, ints,
                "f() is missing value for argument 'y'. Declaration: f(int x, int y) -> int");
    expect_args("f(int x) -> int", 2, ints,
                "f() expected at most 1 argument(s) but received 2 argument(s). "
                "Declaration: f(int x) -> int");
    expect_args(
        "f(int x, Tensor y) -> int", 2, ints,
        "f() Expected a value of type 'Tensor' for argument 'y' but instead found type 'int'.\n"
        "Position: 1\nDeclaration: f(int x, Tensor y) -> int");
    expect_args("f(int? x, bool[]? y=None) -> int", 1, ints, "1 None");
    /* an untyped list of ints, as files and tuples give it */
    list *l = list_new(LIST_VALUE, NULL, 0);
    assert_true(list_append_take(l, value_int(1)) && list_append_take(l, value_bool(true)));
    value lv = value_list_take(l);
    expect_args("f(float[] x) -> int", 1, &lv, "[1., 1.]");
    expect_args("f(int[] x) -> int", 1, &lv, "[1, 1]");
    expect_args("f((int, bool) x) -> int", 1, &lv, "(1, True)");
    expect_args(
        "f((int, bool, int) x) -> int", 1, &lv,
        "f() Expected a value of type 'Tuple[int, bool, int]' for argument 'x' but instead found "
        "type 'List[Union[int, bool]]'.\nPosition: 0\nDeclaration: f((int, bool, int) x) -> int");
    value_unref(lv);
    tuple *t = tuple_new(2, NULL);
    t->items[0] = value_int(1);
    t->items[1] = value_bool(false);
    value tv = value_tuple_take(t);
    expect_args("f((float, bool) x) -> int", 1, &tv, "(1., False)");
    expect_args("f(int[] x) -> int", 1, &tv, "[1, 0]");
    expect_args("f(bool[] x) -> int", 1, &tv, "[True, False]");
    value_unref(tv);
    /* numbers for a bool, a text for a device, but not where a Union has others to choose from */
    value numbers[] = {value_float(0.5), value_int(0)}, text = value_str_take(str_new("cuda:1", 6)),
          word = value_str_take(str_new("gpu", 3));
    expect_args("f(bool x, bool? y) -> int", 2, numbers, "True False");
    expect_args("f(Union(bool, str) x) -> int", 1, ints,
                "f() Expected a value of type 'Union[str, bool]' for argument 'x' but instead "
                "found type 'int'.\n"
                "Position: 0\nDeclaration: f(Union(str, bool) x) -> int");
    expect_args("f(Device x) -> int", 1, &text, "cuda:1");
    expect_args("f(Device? x) -> int", 1, &text, "cuda:1");
    expect_args(
        "f(Device x) -> int", 1, &word,
        "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, ort, "
        "xla, "
        "lazy, vulkan, mps, meta, hpu, privateuseone device type at start of device string: gpu");
    expect_args(
        "f(bool x) -> int", 1, &word,
        "f() Expected a value of type 'bool' for argument 'x' but instead found type 'str'.\n"
        "Position: 0\nDeclaration: f(bool x) -> int");
    value_unref(text);
    value_unref(word);
}

/* ---- the generator --------------------------------------------------------------------------- */

/* The values that the C++ standard gives for std::mt19937 with its default seed. */
static void test_generator(void **state) {
    (void)state;
    generator g;
    generator_seed(&g, 5489);
    assert_int_equal(generator_u32(&g), 3499211612u);
    for (int i = 2; i < 10000; i++) generator_u32(&g);
    assert_int_equal(generator_u32(&g), 4123659995u);
    generator_seed(&g, 5489);
    uint64_t high = generator_u64(&g) >> 32;
    assert_int_equal(high, 3499211612u);
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

/* Compiles everything, then translates and runs with every allocation failing in turn. */
static void expect_no_memory(const char *name, int64_t x) {
    bool done = false;
    for (long n = 0; !done; n++) {
        long left = n;
        program_run p = {.u = unit_new()};
        importer_host host = {.read_code = program_read};
        function *f = NULL;
        type *cls = NULL;
        assert_int_equal(importer_attach(&p.d, p.u, &host, 10), CTSC_OK);
        p.u->compile = irgen_function;
        assert_int_equal(unit_resolve(p.u, &p.d, name, &cls, &f), CTSC_OK);
        for (size_t i = 0; i < p.u->all_functions.len; i++)
            assert_int_equal(function_ensure_compiled(p.u->all_functions.data[i], &p.d), CTSC_OK);
        runtime rt;
        runtime_init(&rt);
        rt.print = program_print;
        rt.sink_ctx = &p.printed;
        value arg = value_int(x), v = value_none();
        mem_set_hook(failing_hook, &left);
        ctsc_status s = interp_call(&rt, f, 1, &arg, &p.d, &v);
        done = left >= 0;
        mem_set_hook(NULL, NULL);
        /* A with statement's __exit__ may be what fails, and is forgotten. */
        if (!done && s != CTSC_OK) assert_int_equal(s, CTSC_LIMIT);
        if (done) assert_int_equal(s, CTSC_OK);
        value_unref(v);
        program_free(&p);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    static const char *const names[] = {"__torch__.objects", "__torch__.branchy",
                                        "__torch__.strings", "__torch__.forked",
                                        "__torch__.scoped"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) expect_no_memory(names[i], 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_straight),  cmocka_unit_test(test_if),
        cmocka_unit_test(test_loops),     cmocka_unit_test(test_containers),
        cmocka_unit_test(test_raise),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_recursion), cmocka_unit_test(test_disassembly),
        cmocka_unit_test(test_programs),  cmocka_unit_test(test_places),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_generator),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
