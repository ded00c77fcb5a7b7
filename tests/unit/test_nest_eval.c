/* SPDX-License-Identifier: Apache-2.0 */
/* test_nest_eval.c - the walker of loop nests (tests/diff/nest_eval.h) computes what kernels do,
 * and sees broken rules. */
#include "support.h"

#include "../diff/nest_eval.h"

#include <math.h>

typedef struct nest_case {
    arena a;
    nest *n;
    nest_buffer *x, *y;
    float in[8], out[8];
    uint8_t known[8];
    nest_memory memory[2];
    int64_t ints[1];
} nest_case;

/* A buffer to read and one to write, of 8 floats each, and an int. */
static nest_expr *case_begin(nest_case *c) {
    memset(c, 0, sizeof *c);
    assert_true(arena_init(&c->a));
    c->n = nest_new(&c->a, "test");
    c->x = nest_add_buffer(c->n, "x", DT_FLOAT32, NEST_RESTRICT);
    c->y = nest_add_buffer(c->n, "y", DT_FLOAT32, NEST_RESTRICT);
    for (int i = 0; i < 8; i++) c->in[i] = (float)(i + 1);
    c->memory[0] = (nest_memory){c->in, 8, NULL};
    c->memory[1] = (nest_memory){c->out, 8, c->known};
    return nest_add_int(c->n, "n");
}

/* The result; why: a part of what nest_eval_why is to say. */
static int64_t case_run(nest_case *c, int64_t n, uint64_t seed, const char *why) {
    rng order = {seed};
    assert_int_equal(nest_verify(c->n, NULL), CTSC_OK);
    nest_eval *e = nest_eval_new(c->n);
    c->ints[0] = n;
    int64_t code = nest_eval_run(e, c->memory, c->ints, NULL, 0, 0, &order);
    if (why) assert_non_null(strstr(nest_eval_why(e), why));
    nest_eval_free(e);
    return code;
}

static void test_computes(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) { /* in any order */
        nest_case c;
        nest_expr *n = case_begin(&c), *i = nest_for(c.n, "i", nest_int(c.n, 0), n, NEST_VECTOR);
        nest_expr *sum = nest_variable(c.n, "s", nest_const_float(c.n, NEST_F32, 0));
        nest_expr *k = nest_for_step(c.n, "k", n, nest_int(c.n, 0), -2, 0);
        nest_if(c.n, nest_binary(c.n, NEST_EQ, k, nest_int(c.n, 4)));
        nest_continue(c.n);
        nest_end(c.n);
        nest_accumulate(c.n, sum, NEST_ACC_SUM,
                        nest_load(c.n, c.x, nest_sub(c.n, k, nest_int(c.n, 1))));
        nest_end(c.n);
        nest_store(c.n, c.y, i,
                   nest_mul(c.n, nest_call1(c.n, "sqrt", nest_load(c.n, c.x, i)), sum));
        nest_end(c.n);
        assert_int_equal(case_run(&c, 8, seed, NULL), 0);
        for (int j = 0; j < 8; j++)
            assert_float_equal(c.out[j], sqrtf((float)(j + 1)) * (8 + 6 + 2), 1e-4);
        arena_free(&c.a);
    }
}

static void test_bounds(void **state) {
    (void)state;
    nest_case c;
    nest_expr *n = case_begin(&c);
    nest_expr *far = nest_load(c.n, c.x, n), *near = nest_load(c.n, c.x, nest_int(c.n, 0));
    nest_store(c.n, c.y, nest_int(c.n, 0),
               nest_select(c.n, nest_const_int(c.n, NEST_BOOL, 1), near, far));
    assert_int_equal(case_run(&c, 7, 1, NULL), 0);
    assert_int_equal(case_run(&c, 8, 1, "a load outside of x"), NEST_EVAL_WRONG);
    assert_int_equal(case_run(&c, -1, 1, "a load outside of x"), NEST_EVAL_WRONG);
    arena_free(&c.a);
    n = case_begin(&c);
    nest_store(c.n, c.y, n, nest_load(c.n, c.x, nest_int(c.n, 0)));
    assert_int_equal(case_run(&c, 8, 1, "a store outside of y"), NEST_EVAL_WRONG);
    arena_free(&c.a);
    n = case_begin(&c);
    nest_store(c.n, c.y, nest_int(c.n, 0), nest_load(c.n, c.x, nest_div_index(c.n, n, n)));
    assert_int_equal(case_run(&c, 0, 1, "a division of indices by 0"), NEST_EVAL_WRONG);
    arena_free(&c.a);
}

static void test_unwritten(void **state) {
    (void)state;
    nest_case c;
    case_begin(&c);
    nest_buffer *local = nest_add_local(c.n, "row", DT_FLOAT32, 2);
    nest_store(c.n, local, nest_int(c.n, 0), nest_load(c.n, c.x, nest_int(c.n, 3)));
    nest_store(c.n, c.y, nest_int(c.n, 0), nest_load(c.n, local, nest_int(c.n, 1)));
    assert_int_equal(case_run(&c, 0, 1, "a load of what nobody has written in row"),
                     NEST_EVAL_WRONG);
    arena_free(&c.a);
}

/* Rounds that depend on one another give another result in another order. */
static void test_order(void **state) {
    (void)state;
    int different = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        nest_case c;
        nest_expr *n = case_begin(&c);
        nest_store(c.n, c.y, nest_int(c.n, 0), nest_load(c.n, c.x, nest_int(c.n, 0)));
        nest_expr *i = nest_for(c.n, "i", nest_int(c.n, 1), n, NEST_VECTOR);
        nest_expr *before = nest_load(c.n, c.y, nest_sub(c.n, i, nest_int(c.n, 1)));
        nest_store(c.n, c.y, i, nest_add(c.n, before, nest_load(c.n, c.x, i)));
        nest_end(c.n);
        for (int k = 0; k < 8; k++) c.known[k] = 1;
        case_run(&c, 8, seed, NULL);
        different += c.out[7] != 36;
        arena_free(&c.a);
    }
    assert_true(different > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_computes), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_unwritten), cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
