/* SPDX-License-Identifier: Apache-2.0 */
/* test_alias.c - ir/graph/alias.h: what may share memory, what writes it, what may move. */
#include "support.h"

#include "ir/graph/alias.h"

typedef struct fixture { graph *g; alias_db *db; diag d; } fixture;

static fixture open_graph(const char *text) {
    fixture f = {0};
    assert_int_equal(graph_parse(&f.d, "test", text, strlen(text), &f.g), CTSC_OK);
    f.db = alias_new(f.g);
    assert_non_null(f.db);
    return f;
}

static void close_graph(fixture *f) {
    alias_free(f->db);
    graph_free(f->g);
    diag_clear(&f->d);
}

static ir_value *named(const fixture *f, const char *name) {
    ir_value *v = ptrmap_get(&f->g->named, intern(&f->g->names, name));
    assert_non_null(v);
    return v;
}

static node *maker(const fixture *f, const char *name) {
    node *n = named(f, name)->def;
    assert_non_null(n);
    return n;
}

static void check_share(const fixture *f, const char *a, const char *b, bool want) {
    if (alias_may_share(f->db, named(f, a), named(f, b)) != want)
        fail_msg("%s and %s: may share should be %d", a, b, want);
}

static void test_views_and_copies(void **state) {
    (void)state;
    fixture f = open_graph("graph(%x : Tensor,\n      %y : Tensor):\n"
                           "  %zero : int = prim::Constant[value=0]()\n"
                           "  %none : NoneType = prim::Constant()\n"
                           "  %a : Tensor = aten::cos(%x)\n"
                           "  %b : Tensor = aten::select(%a, %zero, %zero)\n"
                           "  %c : Tensor = aten::clone(%b, %none)\n"
                           "  %d : Tensor = aten::zero_(%b)\n"
                           "  %p : Tensor[] = aten::chunk(%c, %zero, %zero)\n"
                           "  %q : Tensor = aten::__getitem__(%p, %zero)\n"
                           "  %e : Tensor = aten::sin(%x)\n"
                           "  return (%q)\n");
    check_share(&f, "a", "b", true);
    check_share(&f, "a", "d", true);
    check_share(&f, "a", "c", false);
    check_share(&f, "c", "q", true);
    check_share(&f, "a", "x", false);
    check_share(&f, "x", "y", true); /* inputs may be the same tensor */
    assert_false(alias_may_share(f.db, named(&f, "zero"), named(&f, "zero")));
    assert_true(alias_may_reach(f.db, named(&f, "p"), named(&f, "c")));
    assert_false(alias_may_reach(f.db, named(&f, "c"), named(&f, "p")));
    assert_true(alias_escapes(f.db, named(&f, "x")));
    assert_true(alias_escapes(f.db, named(&f, "c")));
    assert_false(alias_escapes(f.db, named(&f, "a")));
    assert_true(alias_writes(f.db, maker(&f, "d")));
    assert_true(alias_writes_value(f.db, maker(&f, "d"), named(&f, "a")));
    assert_false(alias_writes_value(f.db, maker(&f, "d"), named(&f, "c")));
    assert_true(alias_written_after(f.db, named(&f, "a"), maker(&f, "c")));
    assert_false(alias_written_after(f.db, named(&f, "a"), maker(&f, "p")));
    close_graph(&f);
}

static void test_containers(void **state) {
    (void)state;
    fixture f = open_graph("graph(%x : Tensor):\n"
                           "  %zero : int = prim::Constant[value=0]()\n"
                           "  %k : str = prim::Constant[value=\"k\"]()\n"
                           "  %a : Tensor = aten::cos(%x)\n"
                           "  %b : Tensor = aten::sin(%x)\n"
                           "  %l : Tensor[] = prim::ListConstruct()\n"
                           "  %m : Tensor[] = aten::append(%l, %a)\n"
                           "  %n : Tensor[] = aten::list(%l)\n"
                           "  %e : Tensor = aten::__getitem__(%n, %zero)\n"
                           "  %t : (Tensor, int) = prim::TupleConstruct(%b, %zero)\n"
                           "  %d : Dict(str, Tensor) = prim::DictConstruct(%k, %b)\n"
                           "  %v : Tensor[] = aten::values(%d)\n"
                           "  %w : Tensor = aten::__getitem__(%v, %zero)\n"
                           "  %s : Tensor = aten::cat(%l, %zero)\n"
                           "  return (%s)\n");
    check_share(&f, "l", "m", true);
    check_share(&f, "l", "n", false);
    check_share(&f, "a", "e", true);
    check_share(&f, "a", "b", false);
    check_share(&f, "b", "w", true);
    assert_true(alias_may_reach(f.db, named(&f, "t"), named(&f, "b")));
    assert_true(alias_may_reach(f.db, named(&f, "n"), named(&f, "a")));
    assert_false(alias_may_reach(f.db, named(&f, "t"), named(&f, "a")));
    assert_true(alias_flows_out(f.db, named(&f, "a"))); /* into a list */
    assert_false(alias_flows_out(f.db, named(&f, "l")));
    assert_true(alias_can_move_before(f.db, maker(&f, "v"), maker(&f, "t")) == false); /* needs d */
    assert_false(alias_can_move_before(f.db, maker(&f, "n"), maker(&f, "m")));
    assert_true(alias_can_move_before(f.db, maker(&f, "t"), maker(&f, "l")));
    close_graph(&f);
}

static void test_blocks(void **state) {
    (void)state;
    fixture f = open_graph(
        "graph(%x : Tensor,\n      %c : bool,\n      %n : int):\n"
        "  %true : bool = prim::Constant[value=1]()\n"
        "  %one : int = prim::Constant[value=1]()\n"
        "  %a : Tensor = aten::cos(%x)\n"
        "  %b : Tensor = aten::sin(%x)\n"
        "  %o : Tensor? = prim::If(%c)\n"
        "    block0():\n      -> (%a)\n"
        "    block1():\n      %none : NoneType = prim::Constant()\n      -> (%none)\n"
        "  %u : Tensor = prim::unchecked_cast(%o)\n"
        "  %r : Tensor = prim::Loop(%n, %true, %b)\n"
        "    block0(%i : int, %p : Tensor):\n"
        "      %s : Tensor = aten::neg(%a)\n"
        "      %q : Tensor = aten::add_(%p, %s, %one)\n"
        "      %t : Tensor = aten::abs(%a)\n"
        "      %z : Tensor = aten::neg_(%a)\n"
        "      -> (%true, %q)\n"
        "  return (%r)\n");
    check_share(&f, "a", "u", true);
    check_share(&f, "b", "p", true);
    check_share(&f, "b", "r", true);
    check_share(&f, "a", "b", false);
    /* by the round before */
    assert_true(alias_written_between(f.db, named(&f, "a"), maker(&f, "a"), maker(&f, "s")));
    assert_false(alias_written_between(f.db, named(&f, "a"), maker(&f, "s"), maker(&f, "t")));
    assert_true(alias_written_after(f.db, named(&f, "a"), maker(&f, "z")));
    assert_true(alias_writes_value(f.db, maker(&f, "r"), named(&f, "b")));
    assert_true(alias_inputs_kept(f.db, maker(&f, "b"), maker(&f, "r")));
    assert_false(alias_inputs_kept(f.db, maker(&f, "s"), maker(&f, "r")));
    close_graph(&f);
}

static const char norm_text[] =
    "graph(%%x : Tensor,\n      %%w : Tensor,\n      %%m : Tensor,\n      %%v : Tensor):\n"
    "  %%t : bool = prim::Constant[value=%d]()\n"
    "  %%f : float = prim::Constant[value=0.1]()\n"
    "  %%y : Tensor = aten::batch_norm(%%x, %%w, %%w, %%m, %%v, %%t, %%f, %%f, %%t)\n"
    "  %%d : Tensor = aten::dropout(%%y, %%f, %%t)\n"
    "  return (%%d)\n";

/* What schemas do not say: statistics are written, and randomness is drawn, while training only. */
static void test_training(void **state) {
    (void)state;
    for (int training = 0; training < 2; training++) {
        char text[1024];
        snprintf(text, sizeof text, norm_text, training);
        fixture f = open_graph(text);
        assert_int_equal(alias_writes(f.db, maker(&f, "y")), training);
        assert_int_equal(alias_writes_value(f.db, maker(&f, "y"), named(&f, "m")), training);
        assert_int_equal(alias_writes_outside(f.db, maker(&f, "y")), training);
        assert_int_equal(node_is_random(maker(&f, "d")), training);
        assert_int_equal(node_has_visible_effects(maker(&f, "d")), training);
        check_share(&f, "y", "d", true); /* dropout that does nothing returns its argument */
        close_graph(&f);
    }
}

static void test_moving(void **state) {
    (void)state;
    fixture f = open_graph("graph(%x : Tensor,\n      %i : int):\n"
                           "  %zero : int = prim::Constant[value=0]()\n"
                           "  %a : Tensor = aten::cos(%x)\n"
                           "  %b : Tensor = aten::neg(%a)\n"
                           "  %c : Tensor = aten::zero_(%a)\n"
                           "  %d : Tensor = aten::exp(%x)\n"
                           "  %n : int = aten::size(%a, %zero)\n"
                           "  %s : int = aten::add(%i, %i)\n"
                           "   = prim::Print(%i)\n"
                           "  %e : Tensor = aten::sin(%x)\n"
                           "  %t : int = aten::mul(%i, %i)\n"
                           "  %o : (Tensor, Tensor, Tensor, Tensor, int, int, int) = "
                           "prim::TupleConstruct(%b, %c, %d, %e, %n, %s, %t)\n"
                           "  return (%o)\n");
    node *print = maker(&f, "s")->next;
    /* b reads what c writes */
    assert_false(alias_can_move_before(f.db, maker(&f, "c"), maker(&f, "b")));
    assert_false(alias_can_move_after(f.db, maker(&f, "b"), maker(&f, "c")));
    assert_true(alias_can_move_before(f.db, maker(&f, "d"), maker(&f, "a")));
    assert_true(alias_can_move_before(f.db, maker(&f, "s"), maker(&f, "a")));
    assert_true(alias_can_move_before(f.db, maker(&f, "t"), maker(&f, "a"))); /* cannot fail */
    assert_false(alias_can_move_before(f.db, maker(&f, "e"), print));         /* may fail */
    assert_false(alias_can_move_after(f.db, maker(&f, "a"), maker(&f, "b")));
    assert_true(node_may_raise(maker(&f, "a")));
    assert_false(node_may_raise(maker(&f, "s")));
    close_graph(&f);
}

/* What is not understood may do anything to what it can reach. */
static void test_unknown(void **state) {
    (void)state;
    fixture f = open_graph("graph(%x : Tensor):\n"
                           "  %a : Tensor = aten::cos(%x)\n"
                           "  %b : Tensor = aten::sin(%x)\n"
                           "  %c : Tensor = my::mystery(%a)\n"
                           "  %l : Tensor[] = prim::ListConstruct(%b)\n"
                           "  return (%c)\n");
    check_share(&f, "a", "c", true);
    check_share(&f, "a", "x", true);
    check_share(&f, "b", "c", false);
    assert_true(alias_writes_value(f.db, maker(&f, "c"), named(&f, "x")));
    assert_false(alias_writes_value(f.db, maker(&f, "c"), named(&f, "b")));
    assert_false(alias_can_move_before(f.db, maker(&f, "c"), maker(&f, "b")));
    close_graph(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_and_copies), cmocka_unit_test(test_containers),
        cmocka_unit_test(test_blocks),           cmocka_unit_test(test_training),
        cmocka_unit_test(test_moving),           cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
