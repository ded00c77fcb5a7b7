/* SPDX-License-Identifier: Apache-2.0 */
/* Tests for ir/op/op_traits.h: what the rows of ir/ops say of operators agrees with itself and with
 * the schemas. */
#include "ir/graph/fusible.h"

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

/* ---- autocast -------------------------------------------------------------------------------- */

static void check_autocast(void *ctx, const op *o) {
    if ((o->traits.autocast || o->traits.script_cast) && o->schema->has_alias_write)
        fail_msg("autocast would convert what %s writes", o->key);
    if (o->traits.autocast == AUTOCAST_NONE) return;
    ++((int *)ctx)[o->traits.autocast];
}

/* PyTorch's lists for CPUs (aten/src/ATen/autocast_mode.cpp). What is made of operators in them
 * there, and is one operator here, is as they are: einsum, nll_loss_nd. */
static void test_autocast(void **state) {
    (void)state;
    static const struct { const char *key; autocast_class class; } cases[] = {
        {"aten::mm", AUTOCAST_LOWER},          {"aten::conv2d.padding", AUTOCAST_LOWER},
        {"aten::prelu", AUTOCAST_LOWER},       {"aten::_addmm_activation", AUTOCAST_LOWER},
        {"aten::einsum", AUTOCAST_LOWER},      {"aten::linalg_matmul", AUTOCAST_LOWER},
        {"aten::nll_loss_nd", AUTOCAST_FULL},  {"aten::grid_sampler_2d", AUTOCAST_FULL},
        {"aten::prod.dim_int", AUTOCAST_FULL}, {"aten::inverse", AUTOCAST_FULL},
        {"aten::stack", AUTOCAST_WIDEST},      {"aten::index_copy", AUTOCAST_WIDEST},
        {"aten::convolution", AUTOCAST_NONE},  {"aten::_convolution", AUTOCAST_NONE},
        {"aten::mm.out", AUTOCAST_NONE},       {"aten::prelu_backward", AUTOCAST_NONE},
        {"aten::softmax.int", AUTOCAST_NONE},  {"aten::add.Tensor", AUTOCAST_NONE},
        {"aten::tensordot", AUTOCAST_LOWER},   {"aten::lstm.input", AUTOCAST_LOWER},
        {"aten::gru.input", AUTOCAST_FULL},    {"aten::dot", AUTOCAST_NONE},
    };
    int counts[4] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (traits_of(cases[i].key).autocast != cases[i].class)
            fail_msg("%s is of another class", cases[i].key);
    static const struct { const char *key; autocast_class class; } scripts[] = {
        {"aten::mm", AUTOCAST_LOWER},         {"aten::convolution", AUTOCAST_LOWER},
        {"aten::mv", AUTOCAST_LOWER},         {"aten::lstm_cell", AUTOCAST_LOWER},
        {"aten::dot", AUTOCAST_FULL},         {"aten::tensordot", AUTOCAST_FULL},
        {"aten::add.Tensor", AUTOCAST_FULL},  {"aten::log_softmax.int", AUTOCAST_FULL},
        {"aten::softmax.int", AUTOCAST_NONE}, {"aten::conv_transpose2d.input", AUTOCAST_NONE},
        {"aten::einsum", AUTOCAST_NONE},      {"aten::lstm.input", AUTOCAST_NONE},
        {"aten::cat", AUTOCAST_NONE},         {"aten::add_.Tensor", AUTOCAST_NONE},
        {"aten::mean", AUTOCAST_NONE},        {"aten::binary_cross_entropy", SCRIPT_CAST_REFUSED},
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (traits_of(scripts[i].key).script_cast != scripts[i].class)
            fail_msg("scripts do not treat %s so", scripts[i].key);
    op_visit(check_autocast, counts);
    assert_true(counts[AUTOCAST_LOWER] > 20 && counts[AUTOCAST_FULL] > 90);
    assert_true(counts[AUTOCAST_WIDEST] >= 3);
}

/* ---- lowering -------------------------------------------------------------------------------- */

static void check_lowered(void *ctx, const op *o) {
    bool *used = ctx;
    fusible_kind kind = op_fusible(o);
    if (!kind || o->scalar) return;
    lowered_op first = kind == FUSIBLE_POINTWISE ? LOWER_NONE + 1
                       : kind == FUSIBLE_VIEW    ? LOWERED_VIEWS
                                                 : LOWERED_REDUCTIONS,
               end = kind == FUSIBLE_POINTWISE ? LOWERED_VIEWS
                     : kind == FUSIBLE_VIEW    ? LOWERED_REDUCTIONS
                                               : LOWERED_COUNT;
    if (o->traits.call) {
        if (kind != FUSIBLE_POINTWISE) fail_msg("%s CALLS, but is not pointwise", o->key);
        if (!o->called || o->lowered) fail_msg("%s CALLS, and needs no rule", o->key);
    } else if (o->lowered < first || o->lowered >= end) {
        fail_msg("%s has FUSE, but no rule in lowered.def", o->key);
    }
    used[o->lowered] = true;
}

/* What the passes take in, the lowering knows; and each rule is somebody's. */
static void test_lowered(void **state) {
    (void)state;
    bool used[LOWERED_COUNT] = {false};
    op_visit(check_lowered, used);
    for (int i = LOWER_NONE + 1; i < LOWERED_COUNT; i++)
        if (!used[i]) fail_msg("no operator has the rule %s", lowered_text((lowered_op)i));
    assert_int_equal(op_find("aten::mul.Tensor")->lowered, LOWER_mul);
    assert_int_equal(op_find("aten::max.dim")->lowered, LOWER_max_dim);
    assert_int_equal(op_find("aten::multiply.Tensor")->lowered, LOWER_mul);
    assert_string_equal(op_lowered_text(op_find("aten::max.dim")), "max_dim");
    assert_string_equal(op_lowered_text(op_find("aten::special_modified_bessel_i0")), "i0");
    assert_string_equal(op_lowered_text(op_find("aten::tanh")), "tanh");
    assert_string_equal(op_lowered_text(op_find("aten::mm")), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws), cmocka_unit_test(test_writes), cmocka_unit_test(test_words),
        cmocka_unit_test(test_autocast), cmocka_unit_test(test_lowered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
