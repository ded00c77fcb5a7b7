/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_names.c - names of dims: what a tensor keeps, how names are matched, what operators make of
 * them by the C interface.
 */
#include "support.h"

#include "runtime/names/names.h"

#include <ctsc.h>

static tensor *make(int ndim) {
    tensor *t;
    diag d = {0};
    int64_t sizes[4] = {2, 3, 4, 5};
    assert_int_equal(tensor_zeros(&d, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    return t;
}

static void keeping(void **state) {
    (void)state;
    diag d = {0};
    int dim = -1;
    tensor *t = make(2), *view;
    assert_false(tensor_has_names(t));
    assert_int_equal(tensor_set_names(&d, t, &(names_row){2, {"N", NULL}}), CTSC_OK);
    assert_string_equal(tensor_dim_name(t, 0), "N");
    assert_null(tensor_dim_name(t, 1));
    assert_true(tensor_kinds() & TENSOR_KIND_NAMED);
    names_row own = names_of(t); /* a tensor's names from its own */
    own.of[1] = "C";
    assert_int_equal(tensor_set_names(&d, t, &own), CTSC_OK);
    assert_int_equal(names_find(&d, t, "C", &dim), CTSC_OK);
    assert_int_equal(dim, 1);
    assert_int_equal(tensor_alias(&d, t, &view), CTSC_OK);
    assert_false(tensor_has_names(view));
    assert_int_equal(tensor_set_names(&d, t, &(names_row){2, {NULL, NULL}}), CTSC_OK);
    assert_null(t->names);
    tensor_unref(view);
    tensor_unref(t);
}

static void refused(const names_row *names, const char *words) {
    diag d = {0};
    tensor *t = make(2);
    assert_int_equal(tensor_set_names(&d, t, names), CTSC_FAILED);
    assert_non_null(strstr(diag_message(&d), words));
    assert_null(t->names);
    diag_clear(&d);
    tensor_unref(t);
}

static void refusals(void **state) {
    (void)state;
    refused(&(names_row){2, {"N", "N"}}, "duplicate names. Got names: ['N', 'N']");
    refused(&(names_row){1, {"N"}}, "Number of names (1) and number of dimensions");
    refused(&(names_row){2, {"N", "1x"}}, "got: '1x'");
    refused(&(names_row){2, {"N", ""}}, "got: ''");
    refused(&(names_row){2, {"N", "a-b"}}, "got: 'a-b'");
}

static void matching(void **state) {
    (void)state;
    diag d = {0};
    names_row a = {1, {"C"}};
    assert_int_equal(names_unify(&d, &a, &(names_row){3, {"N", NULL, NULL}}, "broadcast"), CTSC_OK);
    assert_int_equal(a.n, 3);
    assert_string_equal(a.of[0], "N");
    assert_null(a.of[1]);
    assert_string_equal(a.of[2], "C");
    assert_int_equal(names_unify(&d, &a, &(names_row){1, {"H"}}, "cat"), CTSC_FAILED);
    assert_non_null(strstr(diag_message(&d), "attempting to cat dims ['N', None, 'C']"));
    diag_clear(&d);
    assert_int_equal(names_unify(&d, &a, &(names_row){2, {"C", NULL}}, "broadcast"), CTSC_FAILED);
    assert_non_null(strstr(diag_message(&d), "Misaligned dims"));
    diag_clear(&d);
}

static void by_c(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    int64_t sizes[] = {2, 3};
    ctsc_value *names[] = {ctsc_string(s, "N"), ctsc_string(s, "C")},
               *list = ctsc_list(s, 2, names),
               *x = ctsc_op(s, "aten::rename", 2,
                            ctsc_op(s, "aten::ones", 1, ctsc_ints(s, 2, sizes)), list);
    assert_string_equal(ctsc_tensor_dim_name(x, 1), "C");
    assert_null(ctsc_tensor_dim_name(x, 2));
    assert_null(ctsc_tensor_dim_name(x, -1));
    assert_null(ctsc_tensor_dim_name(list, 0));
    ctsc_value *total = ctsc_op(s, "aten::sum.dim_DimnameList", 2, x, ctsc_list(s, 1, names));
    assert_int_equal(ctsc_tensor_ndim(total), 1);
    assert_string_equal(ctsc_tensor_dim_name(total, 0), "C");
    assert_null(ctsc_op(s, "aten::gelu", 1, x));
    assert_non_null(strstr(ctsc_error_message(ctsc_scope_error(s)),
                           "aten::gelu is not yet supported with named tensors"));
    ctsc_scope_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeping),
        cmocka_unit_test(refusals),
        cmocka_unit_test(matching),
        cmocka_unit_test(by_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
