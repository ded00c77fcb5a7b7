/* SPDX-License-Identifier: Apache-2.0 */
/* Tests for ir/op/op_traits.h: what the rows of ir/ops say of operators agrees with itself and with
 * the schemas. */
#include "ir/op/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static op_traits traits_of(const char *key) {
    const op *o = op_find(key);
    if (!o) fail_msg("no operator %s", key);
    return o->traits;
}

/* ---- random numbers, and answers that change ------------------------------------------------- */

static void check_draws(void *ctx, const op *o) {
    op_traits t = o->traits;
    if (!o->fn) return;
    if (t.draws && t.is_volatile) fail_msg("%s draws, which says that it is volatile", o->key);
    if (t.is_volatile && t.side_effect) fail_msg("%s is volatile, and has an effect", o->key);
    if (schema_find_arg(o->schema, "generator") < 0) return;
    if (!t.draws) fail_msg("%s takes a generator, but its row does not say that it draws", o->key);
    ++*(int *)ctx;
}

static void test_draws(void **state) {
    (void)state;
    static const char *const draws[] = {"aten::rand", "aten::dropout_", "aten::lstm.input",
                                        "aten::scaled_dot_product_attention", "prims::normal"},
                             *const changes[] = {"aten::is_grad_enabled", "aten::_nnpack_available",
                                                 "aten::_get_tracing_state", "ctsc::image_join"},
                             *const neither[] = {"aten::add.Tensor", "aten::is_leaf",
                                                 "aten::fractional_max_pool2d"};
    int n = 0;
    op_visit(check_draws, &n);
    assert_true(n > 50);
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
        assert_true(traits_of(draws[i]).draws);
        assert_false(op_is_pure(op_find(draws[i])));
    }
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        assert_true(traits_of(changes[i]).is_volatile && !traits_of(changes[i]).draws);
        assert_false(op_is_pure(op_find(changes[i])));
    }
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++)
        assert_false(op_traits_differ(traits_of(neither[i])));
}

/* ---- what derived overloads have ------------------------------------------------------------- */

static void test_writes(void **state) {
    (void)state;
    op_traits all = {RANDOM,      OP_INTO,      OP_OURS, FUSE(POINTWISE, 3),  WORK(REDUCE, 2),
                     DTYPE_SAME,  TWIN(FLOATS), TOTAL,   DEVICE_BLIND,        ON_DEVICE,
                     NO_GRADIENT, MOVES,        WIDENS,  MAY_RETURN_ARGUMENT, WRITES(SELF)},
              kept = op_traits_of_writes(all);
    assert_true(kept.side_effect && kept.draws && kept.into && kept.device_blind && kept.moves);
    assert_true(kept.may_return_argument);
    assert_int_equal(kept.work, WORK_REDUCE);
    assert_int_equal(kept.work_arg, 2);
    assert_int_equal(kept.writes, WRITES_SELF);
    assert_false(kept.ours || kept.dtype_same || kept.total || kept.on_device || kept.no_gradient);
    assert_int_equal(kept.fusible, FUSIBLE_NONE);
    assert_int_equal(kept.cost, 0);
    assert_int_equal(kept.twin, TWIN_NEVER);
    /* an alias has all of it, the in-place form only this */
    assert_int_equal(traits_of("aten::multiply.Tensor").fusible, FUSIBLE_POINTWISE);
    assert_int_equal(traits_of("aten::mul_.Tensor").fusible, FUSIBLE_NONE);
    assert_int_equal(traits_of("aten::mul_.Tensor").work, WORK_POINTWISE);
}

/* Clusters mean what they are made of. */
static void test_words(void **state) {
    (void)state;
    static const op_traits one = {ELEMENTARY(12)}, all = {OP_INTO,         FUSE(POINTWISE, 12),
                                                          CALLS(REALS, 1), WORK(POINTWISE, 1),
                                                          RANK(SAME),      FLOATS_SAME,
                                                          FLOATS_MADE,     TWIN(FLOATS),
                                                          TOTAL_ON_FLOATS};
    assert_memory_equal(&one, &all, sizeof one);
    assert_int_equal(traits_of("aten::tanh").cost, 12);
    assert_int_equal(traits_of("aten::tanh").call, CALL_REALS);
    assert_int_equal(traits_of("aten::tanh").call_operands, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_draws), cmocka_unit_test(test_writes),
                                       cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
