/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_graph.c - graphs: text and back, building and changing, names, cloning, verification,
 * memory.
 */
#include "ir/graph/graph.h"
#include "ir/unit.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- helpers --------------------------------------------------------------------------------- */

static graph *parse(const char *text) {
    diag d = {0};
    graph *g = NULL;
    if (graph_parse(&d, "test.ir", text, strlen(text), &g) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    return g;
}

static void expect_sound(const graph *g) {
    diag d = {0};
    if (graph_verify(&d, g) != CTSC_OK) fail_msg("%s", diag_message(&d));
}

static void expect_text(const graph *g, const char *want) {
    strbuf sb = STRBUF_INIT;
    graph_print(g, NULL, &sb);
    assert_string_equal(sb_str(&sb), want);
    sb_free(&sb);
}

/* text -> graph -> the same text; the copy prints the same but for numbers. */
static void expect_round_trip(const char *text) {
    graph *g = parse(text);
    expect_sound(g);
    expect_text(g, text);
    graph *c = graph_clone(g);
    assert_non_null(c);
    expect_sound(c);
    graph_free(g);
    graph_free(c);
}

static ir_value *named(graph *g, const char *name) {
    ir_value *v = ptrmap_get(&g->named, intern(&g->names, name));
    assert_non_null(v);
    return v;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *const round_trips[] = {
    "graph():\n  return ()\n",
    "graph(%x.1 : Tensor):\n  return (%x.1)\n",
    "graph(%x.1 : Tensor,\n      %n.1 : int):\n"
    "  %2 : int = prim::Constant[value=1]() # net.py:3:12\n"
    "  %y : Tensor = aten::add(%x.1, %x.1, %2), scope: __module.a/__module.a.b # /usr/lib/a "
    "b.py:10:0\n"
    "  return (%y)\n",
    "graph(%c : bool,\n      %x : Tensor):\n"
    "  %2 : int = prim::Constant[value=9223372036854775807]()\n"
    "  %y : Tensor = prim::If(%c)\n    block0():\n      %3 : Tensor = aten::relu(%x)\n      -> "
    "(%3)\n"
    "    block1():\n       = prim::If(%c)\n        block0():\n          -> ()\n        block1():\n "
    "         -> ()\n"
    "      -> (%x)\n"
    "  %z : Tensor = prim::Loop(%2, %c, %y)\n    block0(%i : int, %a : Tensor):\n"
    "      %7 : Tensor = aten::mul(%a, %y)\n      -> (%c, %7)\n"
    "  return (%z)\n",
    "graph(%s : __torch__.a.___torch_mangle_3.Main,\n      %l : int[][],\n      %o : Dict(str, "
    "Tensor?)?,\n"
    "      %t : (int, (str, float), ()),\n      %u : Union(int, NoneType, str),\n"
    "      %f : Future[(int, Tensor)][],\n      %e : Enum<__torch__.C>,\n      %n : NamedTuple(x : "
    "Tensor, y : int),\n"
    "      %d : Device,\n      %a : Any,\n      %r : RRef[int],\n      %w : Float(2, *, "
    "strides=[3, 1], requires_grad=1, device=cuda:1),\n"
    "      %v : HalfTensor,\n      %q : Tensor(requires_grad=0),\n      %p : InterfaceType<I>,\n   "
    "   %h : Function,\n"
    "      %g : Union(, str, Scalar),\n      %k : Bool()):\n"
    "  %w.1 : Tensor = prim::GetAttr[name=\"w\"](%s)\n"
    "   = prim::SetAttr[name=\"w\"](%s, %w.1)\n"
    "  %20 : bool = prim::isinstance[types=[int[], NoneType, __torch__.D, list]](%a)\n"
    "  %21 : Tensor[] = prim::ConstantChunk[chunks=2, dim=1](%w.1)\n"
    "  %22 : (int, str) = prim::TupleSlice[beg=0, end=2](%t)\n"
    "  %23 : Tensor = custom::op[sizes=[1, -2, 3], scale=0.5, empty=[], kind=Tensor?](%w.1)\n"
    "  return (%20, %22)\n",
    "graph():\n"
    "  %0 : float = prim::Constant[value=0.10000000000000001]()\n"
    "  %1 : float = prim::Constant[value=3.]()\n"
    "  %2 : float = prim::Constant[value=-inf]()\n"
    "  %3 : float = prim::Constant[value=1e+20]()\n"
    "  %4 : bool = prim::Constant[value=1]()\n"
    "  %5 : str = prim::Constant[value=\"q\\\"\\'\\\\ \\001\\177\\0)+\\n\\t\\v\\f\\r\\a\\b\"]()\n"
    "  %6 : NoneType = prim::Constant()\n"
    "  %7 : Device = prim::Constant[value=\"cuda:0\"]()\n"
    "  %8 : int[] = prim::Constant[value=[1, -2]]()\n"
    "  %9 : (int, str?, (bool)) = prim::Constant[value=(1, None, (True,))]()\n"
    "  %10 : Dict(str, int[]) = prim::Constant[value={\"a\": [1], \"b\": annotate(List[int], "
    "[])}]()\n"
    "  %11 : Long(requires_grad=0, device=cpu) = prim::Constant[value={-7}]()\n"
    "  %12 : Double(requires_grad=0, device=cpu) = prim::Constant[value={0.353553}]()\n"
    "  %13 : Float(4, 3, strides=[3, 1], requires_grad=0, device=cpu) = "
    "prim::Constant[value=<Tensor>]()\n"
    "  %14 : Float(2, strides=[1], requires_grad=0, device=cpu) = prim::Constant[value= 1.5000 "
    "-2.0000 [ CPUFloatType{2} ]]()\n"
    "  %15 : Function = prim::Constant[name=\"f\"]()\n"
    "  %16 : Enum<__torch__.C> = prim::Constant[value=__torch__.C.RED]()\n"
    "  %17 : complex = prim::Constant[value=2.+3.j]()\n"
    "  %18 : int?[] = prim::Constant[value=annotate(List[Optional[int]], [1, None])]()\n"
    "  return (%0)\n",
    "graph(%x.1 : Tensor):\n"
    "  %1 : Future[Tensor] = prim::fork_0(%x.1) # a.py:1:2\n"
    "  %2 : Future[Tensor] = prim::fork_1(%x.1)\n"
    "  %3 : Tensor = prim::FusionGroup_2[device=0](%x.1)\n"
    "  return (%1, %2)\n"
    "with prim::fork_0 = graph(%x.1 : Tensor):\n"
    "  %1 : Future[Tensor] = prim::fork_0(%x.1)\n  return (%1)\n"
    "with prim::fork_0 = graph(%y : Tensor):\n  return (%y)\n"
    "with prim::fork_1 = graph(%y : Tensor):\n  return (%y)\n"
    "with prim::FusionGroup_2 = graph(%y : Tensor):\n  return (%y)\n",
};

static void test_text(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof round_trips / sizeof *round_trips; i++)
        expect_round_trip(round_trips[i]);
}

/* What PyTorch itself printed. */
static void test_text_of_pytorch(void **state) {
    (void)state;
    static const char folder[] = "tests/ir/graphs";
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[512];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        char *text = calloc(1, 1 << 20);
        assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
        fclose(f);
        print_message("%s\n", path);
        expect_round_trip(text);
        free(text);
        n++;
    }
    closedir(dir);
    assert_true(n >= 20);
}

static void test_text_errors(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "graph",
        "graph(",
        "graph():\n",
        "graph():\n  return (%x)\n",
        "graph(%x : Tensor):\n  return (%x",
        "graph(%x : Tensor,\n  %x : int):\n  return (%x)\n",
        "graph(%x : Nonsense):\n  return (%x)\n",
        "graph(%x : Tensor):\n  %y : int = prim::Constant[value=a]()\n  return (%y)\n",
        "graph(%x : Tensor):\n  %y : int = prim::Constant[value=1()\n  return (%y)\n",
        "graph(%x : Tensor):\n  %y : str = prim::Constant[value=\"]()\n  return (%y)\n",
        "graph(%x : Tensor):\n  %y : str = prim::Constant[value=\"\\9]()\n  return (%y)\n",
        "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%y)\n  return (%y)\n",
        "graph(%x : Tensor):\n  %y : Tensor = relu(%x)\n  return (%y)\n",
        "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x) junk\n  return (%y)\n",
        "graph(%x : Tensor):\n   = prim::If(%x)\n    block0():\n  return (%x)\n",
        "graph(%x : Tensor):\n  %f : Future[Tensor] = prim::fork_0(%x)\n  return (%x)\n",
        "graph(%x : Float(2, strides=[1, 2])):\n  return (%x)\n",
        "graph(%x : Float(2):\n  return (%x)\n",
        "graph(%x : Float(99999999999999999999)):\n  return (%x)\n",
        "graph(%x : (int):\n  return (%x)\n",
        "graph(%99999999999 : int):\n  return (%99999999999)\n",
        "graph():\n  return ()\ngraph():\n",
        "graph():\n  %y : (int, int) = prim::Constant[value=(1, [2])]()\n  return (%y)\n",
        "graph():\n  %y : int[] = prim::Constant[value=[1, \"a\"]]()\n  return (%y)\n",
        "graph():\n  %y : Dict(str, int) = prim::Constant[value={\"a\": 1, \"b\"}]()\n  return "
        "(%y)\n",
        "graph():\n  %y : Float(9999999, 9999999) = prim::Constant[value=<Tensor>]()\n  return "
        "(%y)\n",
        "graph():\n  %y : Tensor = prim::Constant[value= 1 2 [ CPUFloatType{1} ]]()\n  return "
        "(%y)\n",
        "graph():\n  %y : Tensor = prim::Constant[value=(3,.,.) = 1 [ CPUFloatType{1,1,1} ]]()\n  "
        "return (%y)\n",
        "graph():\n  %y : Enum<a.C> = prim::Constant[value=b.D.X]()\n  return (%y)\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        diag d = {0};
        graph *g;
        if (graph_parse(&d, "bad.ir", bad[i], strlen(bad[i]), &g) == CTSC_OK)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(d.status, CTSC_BAD_FILE);
        diag_clear(&d);
    }
}

/* Text that nests without end is refused, not followed. */
static void test_text_depth(void **state) {
    (void)state;
    static const char *const open[] = {"(", "Dict(str, ", "Future["};
    for (size_t k = 0; k < 3; k++) {
        strbuf sb = STRBUF_INIT;
        diag d = {0};
        graph *g;
        sb_puts(&sb, "graph(%x : ");
        for (int i = 0; i < 100000; i++) sb_puts(&sb, open[k]);
        assert_int_equal(graph_parse(&d, "deep.ir", sb_str(&sb), sb.len, &g), CTSC_BAD_FILE);
        diag_clear(&d);
        sb_free(&sb);
    }
    strbuf sb = STRBUF_INIT;
    diag d = {0};
    graph *g;
    sb_puts(&sb, "graph(%c : bool):\n");
    for (int i = 0; i < 5000; i++) sb_puts(&sb, " = prim::If(%c)\nblock0():\n");
    assert_int_equal(graph_parse(&d, "deep.ir", sb_str(&sb), sb.len, &g), CTSC_BAD_FILE);
    diag_clear(&d);
    sb_free(&sb);
}

static void test_overloads(void **state) {
    (void)state;
    graph *g = parse("graph(%x : Tensor,\n      %i : int,\n      %l : str[],\n      %f : float):\n"
                     "  %a : Tensor = aten::mul(%x, %x)\n  %b : Tensor = aten::mul(%x, %i)\n"
                     "  %c : int = aten::mul(%i, %i)\n  %d : str = aten::__getitem__(%l, %i)\n"
                     "  %e : float = aten::mul(%i, %f)\n  %h : Tensor = aten::mul(%x)\n"
                     "  return (%a)\n");
    assert_string_equal(named(g, "a")->def->op->key, "aten::mul.Tensor");
    assert_string_equal(named(g, "b")->def->op->key, "aten::mul.Scalar");
    assert_string_equal(named(g, "c")->def->op->key, "aten::mul.int");
    assert_string_equal(named(g, "d")->def->op->key, "aten::__getitem__.t");
    assert_string_equal(named(g, "e")->def->op->key, "aten::mul.int_float");
    assert_null(named(g, "h")->def->op);
    graph_free(g);
}

/* ---- building -------------------------------------------------------------------------------- */

static void test_building(void **state) {
    (void)state;
    graph *g = graph_new();
    assert_non_null(g);
    ir_value *x = block_add_param(g->root, TYPE_TENSOR);
    value_set_name(x, "x");
    ir_value *one = graph_constant_int(g, 1);
    ir_value *in[] = {x, x, one};
    node *add = graph_insert(g, node_new_op(g, op_find("aten::add.Tensor"), 3, in));
    node *list = graph_insert(g, node_new(g, N_LIST_CONSTRUCT, 2, in, 1));
    list->outputs.data[0]->type = type_list(TYPE_TENSOR);
    ir_value *pair[] = {list->outputs.data[0], one};
    node *get = graph_insert(g, node_new_op(g, op_find("aten::__getitem__.t"), 2, pair));
    assert_ptr_equal(get->outputs.data[0]->type, TYPE_TENSOR);
    block_add_return(g->root, add->outputs.data[0]);
    block_add_return(g->root, get->outputs.data[0]);
    expect_sound(g);
    expect_text(
        g, "graph(%x : Tensor):\n  %1 : int = prim::Constant[value=1]()\n"
           "  %2 : Tensor = aten::add(%x, %x, %1)\n  %3 : Tensor[] = prim::ListConstruct(%x, %x)\n"
           "  %4 : Tensor = aten::__getitem__(%3, %1)\n  return (%2, %4)\n");
    /* Inputs and returns come and go anywhere; uses follow. */
    assert_int_equal(x->uses.len, 4);
    node_insert_input(list, 0, add->outputs.data[0]);
    node_insert_input(list, 1, x);
    expect_sound(g);
    node_remove_input(list, 0);
    node_remove_input(list, 2);
    node_set_input(list, 1, add->outputs.data[0]);
    expect_sound(g);
    block_insert_return(g->root, 0, x);
    block_insert_return(g->root, 1, x);
    block_remove_return(g->root, 2);
    block_set_return(g->root, 0, add->outputs.data[0]);
    expect_sound(g);
    expect_text(
        g, "graph(%x : Tensor):\n  %1 : int = prim::Constant[value=1]()\n"
           "  %2 : Tensor = aten::add(%x, %x, %1)\n  %3 : Tensor[] = prim::ListConstruct(%x, %2)\n"
           "  %4 : Tensor = aten::__getitem__(%3, %1)\n  return (%2, %x, %4)\n");
    value_replace_uses(add->outputs.data[0], x);
    assert_int_equal(add->outputs.data[0]->uses.len, 0);
    node_remove(add);
    expect_sound(g);
    node_clear_inputs(list);
    node_move_before(list, g->root->first);
    assert_ptr_equal(g->root->first, list);
    expect_sound(g);
    node_move_after(list, one->def);
    expect_sound(g);
    assert_true(node_before(one->def, list) && !node_before(list, one->def));
    value v;
    assert_true(ir_value_constant(one, &v) && v.tag == V_INT && v.u.i == 1);
    assert_false(ir_value_constant(x, &v));
    assert_true(ir_value_constant(graph_constant_none(g), &v) && v.tag == V_NONE);
    graph_free(g);
}

static void test_blocks(void **state) {
    (void)state;
    graph *g = parse(
        "graph(%c : bool,\n      %x : Tensor):\n  %n : int = prim::Constant[value=2]()\n"
        "  %y : Tensor = prim::If(%c)\n    block0():\n      %a : Tensor = aten::relu(%x)\n   "
        "   -> (%a)\n"
        "    block1():\n      -> (%x)\n  %b : Tensor = aten::neg(%y)\n  return (%b)\n");
    node *iff = named(g, "y")->def, *relu = named(g, "a")->def, *neg = named(g, "b")->def;
    node *n = named(g, "n")->def;
    assert_true(node_dominates(n, relu) && node_dominates(n, neg) && node_dominates(iff, neg));
    assert_false(node_dominates(relu, neg) || node_dominates(iff, relu) || node_dominates(neg, n));
    assert_int_equal(block_depth(relu->owner), 1);
    assert_int_equal(block_depth(g->root), 0);
    assert_false(node_has_side_effects(n));
    node_move_before(relu, iff);
    expect_sound(g);
    assert_ptr_equal(named(g, "a")->owner, g->root);
    /* A removed node takes its blocks' uses and names with it. */
    value_replace_uses(named(g, "y"), named(g, "x"));
    node_remove(iff);
    assert_int_equal(named(g, "a")->uses.len, 0);
    assert_null(ptrmap_get(&g->named, intern(&g->names, "y")));
    node_remove(named(g, "a")->def);
    expect_sound(g);
    expect_text(g, "graph(%c : bool,\n      %x : Tensor):\n  %n : int = prim::Constant[value=2]()\n"
                   "  %b : Tensor = aten::neg(%x)\n  return (%b)\n");
    graph_free(g);
}

static void test_attributes(void **state) {
    (void)state;
    graph *g = graph_new();
    node *n = graph_insert(g, node_new(g, N_OP, 0, NULL, 0));
    n->op_name = "my::op";
    int64_t ints[] = {1, 2};
    type *types[] = {TYPE_INT, TYPE_STR};
    node_set_int(n, "i", 7);
    node_set_str(n, "s", "a\"b");
    node_set_float(n, "f", 2);
    node_set_ints(n, "ints", 2, ints);
    node_set_type(n, "t", TYPE_TENSOR);
    node_set_types(n, "types", 2, types);
    node_set_int(n, "i", 8);
    expect_text(g, "graph():\n   = my::op[i=8, s=\"a\\\"b\", f=2., ints=[1, 2], t=Tensor, "
                   "types=[int, str]]()\n  return ()\n");
    assert_int_equal(node_int(n, "i"), 8);
    assert_string_equal(node_str(n, "s"), "a\"b");
    assert_string_equal(node_str(n, "none"), "");
    node_remove_attr(n, "s");
    assert_null(node_attr(n, "s"));
    graph_free(g);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The latest owner keeps a name; the former gets the base with the next number (PyTorch's
 * setDebugName). */
static void test_names(void **state) {
    (void)state;
    graph *g = graph_new();
    ir_value *v[6];
    for (int i = 0; i < 6; i++) v[i] = block_add_param(g->root, TYPE_INT);
    value_set_name(v[0], "x");
    value_set_name(v[1], "x");
    assert_string_equal(v[0]->name, "x.1");
    assert_string_equal(v[1]->name, "x");
    value_set_name(v[2], "x");
    assert_string_equal(v[1]->name, "x.3"); /* the number after the last one is left out */
    value_set_name(v[3], "x.1");
    assert_string_equal(v[3]->name, "x.1");
    assert_string_equal(v[0]->name, "x.5");
    value_set_name(v[4], "y.7");
    value_set_name(v[5], "y.7");
    assert_string_equal(v[4]->name, "y.8");
    value_set_name(v[5], "");
    assert_false(value_has_name(v[5]));
    value_set_name(v[5], "12"); /* numbers are not names */
    assert_false(value_has_name(v[5]));
    value_set_name(v[2], "x"); /* its own already */
    assert_string_equal(v[2]->name, "x");
    expect_sound(g);
    graph_free(g);
}

/* ---- copying --------------------------------------------------------------------------------- */

static void test_clone(void **state) {
    (void)state;
    graph *g = parse(round_trips[6]);
    graph *c = graph_clone(g);
    assert_non_null(c);
    graph_free(g);
    expect_sound(c);
    expect_text(c, round_trips[6]);
    graph_free(c);
    /* Values without names are numbered afresh, in order. */
    g = parse(
        "graph(%x : Tensor):\n  %40 : Tensor = aten::relu(%x)\n  %z : Tensor = aten::neg(%40)\n"
        "  %7 : Tensor = aten::abs(%z)\n  return (%7)\n");
    c = graph_clone(g);
    expect_text(
        c, "graph(%x : Tensor):\n  %1 : Tensor = aten::relu(%x)\n  %z : Tensor = aten::neg(%1)\n"
           "  %3 : Tensor = aten::abs(%z)\n  return (%3)\n");
    graph_free(g);
    graph_free(c);
}

static void test_inline(void **state) {
    (void)state;
    graph *g = parse(
        "graph(%x.1 : Tensor):\n  %f : Function = prim::Constant[name=\"f\"]()\n"
        "  %y : Tensor = prim::CallFunction(%f, %x.1)\n  %z : Tensor = prim::CallFunction(%f, %y)\n"
        "  return (%z)\n");
    graph *f = parse("graph(%a : Tensor):\n  %c : bool = prim::Constant[value=1]()\n"
                     "  %r : Tensor = prim::If(%c)\n    block0():\n      %n : Tensor = "
                     "aten::neg(%a)\n      -> (%n)\n"
                     "    block1():\n      -> (%a)\n  return (%r)\n");
    for (int i = 0; i < 2; i++) {
        node *call = named(g, i ? "z" : "y")->def;
        ir_value *args[] = {call->inputs.data[1]}, *outs[1];
        graph_inline(g, call->owner, call, f, args, outs);
        value_replace_uses(call->outputs.data[0], outs[0]);
        node_remove(call);
    }
    graph_free(f);
    expect_sound(g);
    expect_text(g, "graph(%x.1 : Tensor):\n  %f : Function = prim::Constant[name=\"f\"]()\n"
                   "  %c.1 : bool = prim::Constant[value=1]()\n  %r.1 : Tensor = prim::If(%c.1)\n"
                   "    block0():\n      %n.1 : Tensor = aten::neg(%x.1)\n      -> (%n.1)\n"
                   "    block1():\n      -> (%x.1)\n"
                   "  %c : bool = prim::Constant[value=1]()\n  %r : Tensor = prim::If(%c)\n"
                   "    block0():\n      %n : Tensor = aten::neg(%r.1)\n      -> (%n)\n"
                   "    block1():\n      -> (%r.1)\n  return (%r)\n");
    graph_free(g);
}

/* ---- verification ---------------------------------------------------------------------------- */

static void expect_broken(graph *g, const char *why) {
    diag d = {0};
    assert_int_equal(graph_verify(&d, g), CTSC_INTERNAL);
    if (!strstr(diag_message(&d), why)) fail_msg("%s", diag_message(&d));
    diag_clear(&d);
    graph_free(g);
}

static const char verify_text[] =
    "graph(%c : bool,\n      %x : Tensor):\n  %n : int = prim::Constant[value=2]()\n"
    "  %y : Tensor = prim::If(%c)\n    block0():\n      %a : Tensor = aten::relu(%x)\n      -> "
    "(%a)\n"
    "    block1():\n      -> (%x)\n"
    "  %z : Tensor = prim::Loop(%n, %c, %y)\n    block0(%i : int, %w : Tensor):\n      -> (%c, "
    "%w)\n  return (%z)\n";

static void test_verify(void **state) {
    (void)state;
    graph *g = parse(verify_text);
    node_move_after(named(g, "n")->def, named(g, "z")->def);
    expect_broken(g, "used where it is not defined");
    g = parse(verify_text);
    block_set_return(g->root, 0, named(g, "a"));
    expect_broken(g, "used where it is not defined");
    g = parse(verify_text);
    named(g, "y")->def->inputs.data[0] = named(g, "x");
    expect_broken(g, "is of another");
    g = parse(verify_text);
    node_set_input(named(g, "y")->def, 0, named(g, "x"));
    expect_broken(g, "not a bool");
    g = parse(verify_text);
    block_add_return(named(g, "y")->def->blocks.data[1], named(g, "x"));
    expect_broken(g, "returns 2 values for 1 outputs");
    g = parse(verify_text);
    node_add_input(named(g, "z")->def, named(g, "x"));
    expect_broken(g, "do not match");
    g = parse(verify_text);
    node_add_input(named(g, "a")->def, named(g, "x"));
    expect_broken(g, "aten::relu takes 1 arguments, not 2");
    g = parse(verify_text);
    node_add_output(named(g, "a")->def, TYPE_INT);
    expect_broken(g, "aten::relu gives 1 results, not 2");
    g = parse(verify_text);
    node_add_input(named(g, "n")->def, named(g, "x"));
    expect_broken(g, "a Constant has no inputs");
    g = parse(verify_text);
    named(g, "x")->uses.len = 0;
    expect_broken(g, "does not know that it is used");
    g = parse(verify_text);
    named(g, "w")->index = 0;
    expect_broken(g, "wrong index");
    g = parse(verify_text);
    named(g, "z")->def->prev = NULL;
    expect_broken(g, "list of nodes");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static long allocations_left;

static void *failing_hook(void *ctx, void *p, size_t size) {
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(p, size) : NULL;
}

/* Parses, copies, inlines and prints with the n-th allocation failing; leaks show in the sanitizer.
 */
static bool without_memory(const char *text, long n) {
    diag d = {0};
    graph *g = NULL, *c = NULL;
    strbuf sb = STRBUF_INIT;
    allocations_left = n;
    mem_set_hook(failing_hook, NULL);
    ctsc_status s = graph_parse(&d, "test.ir", text, strlen(text), &g);
    if (s == CTSC_OK) s = graph_verify(&d, g);
    if (s == CTSC_OK && !(c = graph_clone(g))) s = CTSC_LIMIT;
    if (s == CTSC_OK && g->root->returns.len < 4) {
        ir_value *outs[4], *args[32];
        for (size_t i = 0; i < c->root->params.len; i++) args[i] = c->root->params.data[i];
        graph_inline(c, c->root, NULL, g, args, outs);
        if (arena_failed(&c->arena)) s = CTSC_LIMIT;
    }
    if (s == CTSC_OK) graph_print(c, NULL, &sb);
    if (sb.failed) s = CTSC_LIMIT;
    sb_free(&sb);
    graph_free(c);
    graph_free(g);
    diag_clear(&d);
    mem_set_hook(NULL, NULL);
    type_table_failed();
    assert_true(s == CTSC_OK || s == CTSC_LIMIT);
    return s == CTSC_OK;
}

static void test_no_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof round_trips / sizeof *round_trips; i++)
        for (long n = 0; !without_memory(round_trips[i], n); n++) assert_true(n < 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),        cmocka_unit_test(test_text_of_pytorch),
        cmocka_unit_test(test_text_errors), cmocka_unit_test(test_text_depth),
        cmocka_unit_test(test_overloads),   cmocka_unit_test(test_building),
        cmocka_unit_test(test_blocks),      cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_names),       cmocka_unit_test(test_clone),
        cmocka_unit_test(test_inline),      cmocka_unit_test(test_verify),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
