/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ops.c - the operator registry: looking up, registering, calling; and that every row of
 * ops.def names an operator of schemas.txt.
 */
#include "ir/graph/graph.h"
#include "ir/op/op_family.h"
#include "runtime/ops/registry.h"

#include "ctsc_compiler.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- memory: the first test, while nothing is known yet -------------------------------------- */

static long allocations_left;

static void *failing_hook(void *ctx, void *p, size_t size) {
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(p, size) : NULL;
}

/* Growing steps, since the index alone takes many allocations. */
static void test_no_memory(void **state) {
    (void)state;
    const op *o = NULL;
    for (long n = 0; !o; n += n / 8 + 1) {
        assert_true(n < 1000000);
        allocations_left = n;
        mem_set_hook(failing_hook, NULL);
        o = op_find("aten::conv2d");
        mem_set_hook(NULL, NULL);
    }
    for (long n = 0;; n++) {
        allocations_left = n;
        mem_set_hook(failing_hook, NULL);
        o = op_find("aten::batch_norm");
        mem_set_hook(NULL, NULL);
        if (o) break;
        assert_true(n < 1000);
    }
    assert_string_equal(o->key, "aten::batch_norm");
}

/* ---- looking up ------------------------------------------------------------------------------ */

static void test_find(void **state) {
    (void)state;
    int n;
    const op *const *ops = op_overloads("aten::add", &n);
    assert_true(n > 5);
    assert_string_equal(ops[0]->key, "aten::add.Tensor");
    for (int i = 0; i < n; i++) {
        assert_string_equal(ops[i]->schema->name, "aten::add");
        assert_ptr_equal(op_find(ops[i]->key), ops[i]);
    }
    assert_ptr_equal(op_overloads("aten::add", &n), ops);
    assert_null(op_overloads("aten::no_such_thing", &n));
    assert_int_equal(n, 0);
    assert_null(op_find("aten::add.NoSuchOverload"));
    assert_null(op_find("add"));
    const char *near[3];
    assert_true(op_similar("aten::sigmod", near, 3) >= 1);
    assert_string_equal(near[0], "aten::sigmoid");
    assert_true(op_similar("reul", near, 3) >= 1);
}

static void test_bindings(void **state) {
    (void)state;
    const op_bindings *b = &op_host_installed->builtin;
    int row = 0;
    for (const char *key = b->keys; *key; key = op_next_key(key), row++) {
        const op *o = op_of_row(key);
        if (!o) fail_msg("%s of ops.def is not in schemas.txt", key);
        if (o->fn != b->functions[row] ||
            memcmp(&o->traits, &b->traits[row], sizeof o->traits) != 0)
            fail_msg("%s is in ops.def twice", key);
    }
}

static void visit(void *ctx, const op *o) {
    assert_non_null(o->schema);
    ++*(int *)ctx;
}

static void test_visit(void **state) {
    (void)state;
    int n = 0;
    op_visit(visit, &n);
    assert_true(n > 4000);
}

static void *look_up(void *ctx) {
    static const char *const names[] = {"aten::mul", "aten::sub", "aten::div", "aten::sum",
                                        "aten::where"};
    const op *const **found = ctx;
    int n;
    for (int i = 0; i < 5; i++) found[i] = op_overloads(names[i], &n);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    const op *const *found[4][5];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, found[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 1; i < 4; i++) assert_memory_equal(found[0], found[i], sizeof found[0]);
}

/* ---- registering and calling ----------------------------------------------------------------- */

static ctsc_status test_sum(op_ctx *cx, const value *args, value *results) {
    list *l = list_new(LIST_INT, TYPE_INT, 0);
    if (!l) return diag_no_memory(cx->diag);
    results[0] = value_list_take(l);
    if (args[1].u.i == 0) return diag_fail(cx->diag, CTSC_FAILED, "no zeros please");
    int64_t sum = args[0].u.i + args[1].u.i;
    for (size_t i = 0; i < args[2].u.list->len; i++) sum += args[2].u.list->u.ints[i];
    return list_append_take(l, value_int(sum)) ? CTSC_OK : diag_no_memory(cx->diag);
}

static void test_register(void **state) {
    (void)state;
    diag d = {0};
    assert_int_equal(op_register(&d, "mine::sum(int a, int b=3, int[2] c=10) -> int[]", test_sum,
                                 NULL, (op_traits){0}),
                     CTSC_OK);
    const op *o = op_find("mine::sum");
    assert_non_null(o);
    assert_true(op_is_pure(o));
    op_ctx cx = {.diag = &d};
    value args[] = {value_int(4), value_int(0)}, result;
    assert_int_equal(op_call(&cx, "mine::sum", 1, args, &result), CTSC_OK);
    assert_int_equal(result.u.list->u.ints[0], 27);
    value_unref(result);
    assert_int_equal(op_call(&cx, "mine::sum", 2, args, &result), CTSC_FAILED);
    assert_int_equal(result.tag, V_NONE);
    diag_clear(&d);
    assert_int_equal(op_call(&cx, "mine::sum", 0, args, &result), CTSC_USAGE);
    assert_string_equal(diag_message(&d), "mine::sum() is missing value for argument 'a'");
    diag_clear(&d);
    /* A further overload, and one in the place of another. */
    assert_int_equal(
        op_register(&d, "mine::sum.float(float a) -> float", NULL, NULL, (op_traits){OP_VOLATILE}),
        CTSC_OK);
    int n;
    const op *const *ops = op_overloads("mine::sum", &n);
    assert_int_equal(n, 2);
    assert_string_equal(ops[1]->key, "mine::sum.float");
    assert_int_equal(op_call(&cx, "mine::sum.float", 0, NULL, &result), CTSC_UNSUPPORTED);
    assert_string_equal(diag_message(&d), "operator mine::sum.float is not supported");
    diag_clear(&d);
    assert_int_equal(op_register(&d, "mine::sum(int a) -> int", NULL, NULL, (op_traits){0}),
                     CTSC_OK);
    ops = op_overloads("mine::sum", &n);
    assert_int_equal(n, 2);
    assert_int_equal(ops[0]->schema->nargs, 1);
    assert_int_equal(o->schema->nargs, 3); /* what was handed out stays valid */
    /* Of a name that PyTorch has. */
    assert_int_equal(op_register(&d, "aten::relu.mine(int a) -> int", NULL, NULL, (op_traits){0}),
                     CTSC_OK);
    ops = op_overloads("aten::relu", &n);
    assert_string_equal(ops[n - 1]->key, "aten::relu.mine");
    assert_int_equal(op_register(&d, "mine::broken(", NULL, NULL, (op_traits){0}), CTSC_FAILED);
    diag_clear(&d);
    assert_int_equal(op_register(&d, "nospace(int a) -> int", NULL, NULL, (op_traits){0}),
                     CTSC_USAGE);
    diag_clear(&d);
}

static void test_purity(void **state) {
    (void)state;
    static const schema reads = {.name = "x"}, writes = {.name = "x", .has_alias_write = true};
    op o = {.schema = &reads, .fn = test_sum};
    assert_true(op_is_pure(&o));
    o.traits = (op_traits){OP_SIDE_EFFECT};
    assert_false(op_is_pure(&o));
    o.traits = (op_traits){OP_DRAWS};
    assert_false(op_is_pure(&o));
    o.traits = (op_traits){OP_VOLATILE};
    assert_false(op_is_pure(&o));
    o.traits = (op_traits){0};
    o.schema = &writes;
    assert_false(op_is_pure(&o));
    o.schema = &reads;
    o.fn = NULL;
    assert_false(op_is_pure(&o));
}

/* ---- what documents say ---------------------------------------------------------------------- */

static void check_family(void *ctx, const op *o) {
    const char *family = op_family(o);
    int i = 0;
    while (op_family_name(i) && strcmp(op_family_name(i), family)) i++;
    if (!op_family_name(i)) fail_msg("%s is in family '%s', which is not listed", o->key, family);
    ++*(int *)ctx;
}

static void test_families(void **state) {
    (void)state;
    int n = 0;
    op_visit(check_family, &n);
    assert_true(n > 4000);
    static const struct { const char *key, *family; } cases[] = {
        {"aten::add.Tensor", "pointwise"},
        {"aten::mul_.Scalar", "pointwise"},
        {"aten::sum", "reductions"},
        {"aten::mean.names_dim", "named tensors"},
        {"aten::gelu_backward", "backward"},
        {"aten::max_pool2d", "pooling"},
        {"aten::_sparse_mm", "sparse"},
        {"aten::values.int", "lists and dicts"},
        {"quantized::linear", "quantised"},
        {"aten::linalg_svd.U", "linear algebra"},
        {"aten::relu_", "activations"},
        {"aten::linalg_matmul", "products and distances"},
        {"aten::_coalesced_", "sparse"},
        {"aten::_sparse_softmax.Dimname", "named tensors"},
        {"aten::zeros.names", "named tensors"},
        {"aten::conv2d", "convolution"},
        {"torchvision::nms", "torchvision"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(op_family(op_find(cases[i].key)), cases[i].family);
}

static void test_derived_from(void **state) {
    (void)state;
    char base[OP_KEY_LENGTH];
    assert_true(op_derived_from(op_find("aten::hardswish_"), base));
    assert_string_equal(base, "aten::hardswish");
    assert_true(op_derived_from(op_find("aten::multiply.Tensor"), base));
    assert_string_equal(base, "aten::mul.Tensor");
    assert_false(op_derived_from(op_find("aten::hardswish"), base));
    assert_string_equal(op_row_file("aten::hardswish"), "pointwise.def");
    assert_null(op_row_file("aten::hardswish_"));
}

/* Sorted, so that they are found; and none that is neither a name, nor a key, nor
 * a kind of node. */
static void test_symbols(void **state) {
    (void)state;
    for (int i = SYM_NONE + 1; i < SYM_COUNT; i++) {
        const char *text = op_symbol_text((op_symbol)i);
        int n;
        if (op_symbol_of(text) != (op_symbol)i) fail_msg("%s is not in its place", text);
        const op *o = op_of((op_symbol)i), *const *all = op_overloads(text, &n);
        bool kind = false;
#define IS_KIND(k, kind_text, pure) kind |= !strcmp(kind_text, text);
        NODE_KINDS(IS_KIND)
#undef IS_KIND
            if (!o && !n && !kind) fail_msg("%s is not an operator", text);
        if (o && o->symbol != (op_symbol)i) fail_msg("%s has another symbol", text);
        if (n && all[0]->name_symbol != (op_symbol)i) fail_msg("%s has another symbol", text);
    }
    assert_int_equal(op_symbol_of("aten::no_such_operator"), SYM_NONE);
    assert_int_equal(op_symbol_of(""), SYM_NONE);
    assert_null(op_of(SYM_NONE));
}

static void test_dtypes(void **state) {
    (void)state;
    const uint32_t ints = 1u << CTSC_UINT8 | 1u << CTSC_INT8 | 1u << CTSC_INT16 | 1u << CTSC_INT32 |
                          1u << CTSC_INT64;
    assert_int_equal(ctsc_operator_dtypes("aten::bitwise_and.Tensor"), ints | 1u << CTSC_BOOL);
    assert_true(ctsc_operator_dtypes("aten::conv2d") & 1u << CTSC_FLOAT32);
    assert_true(ctsc_operator_dtypes("aten::relu") & 1u << CTSC_BFLOAT16);
    assert_false(ctsc_operator_dtypes("aten::relu") & 1u << CTSC_BOOL);
    assert_int_equal(ctsc_operator_dtypes("aten::add.int"), 0); /* no tensors */
    assert_int_equal(ctsc_operator_dtypes("aten::save"), 0);    /* effects */
    assert_int_equal(ctsc_operator_dtypes("aten::no_such_operator"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_find),
        cmocka_unit_test(test_bindings),     cmocka_unit_test(test_visit),
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_register),
        cmocka_unit_test(test_purity),       cmocka_unit_test(test_families),
        cmocka_unit_test(test_derived_from), cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
