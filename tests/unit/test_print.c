/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_print.c - what print() writes, against texts of PyTorch 1.13.1's C++ printer.
 */
#include "support.h"

#include "tensor/value.h"

#include <math.h>

/* ---- tensors --------------------------------------------------------------------------------- */

typedef struct tensor_text {
    const char *name;
    dtype dt;
    int ndim;
    int64_t sizes[4];
    double elements[40];
    const char *text;
} tensor_text;

static const tensor_text tensor_texts[] = {
    {"zero_dim_int",
     DT_INT64,
     0,
     {0},
     {5},
     "5\n"
     "[ CPULongType{} ]"},
    {"zero_dim_float",
     DT_FLOAT32,
     0,
     {0},
     {2.5},
     "2.5\n"
     "[ CPUFloatType{} ]"},
    {"bool",
     DT_BOOL,
     1,
     {2},
     {1, 0},
     " 1\n"
     " 0\n"
     "[ CPUBoolType{2} ]"},
    {"ints",
     DT_INT64,
     2,
     {2, 2},
     {1, 22, -100, 4},
     "  1  22\n"
     "-100   4\n"
     "[ CPULongType{2,2} ]"},
    {"bytes",
     DT_UINT8,
     1,
     {2},
     {255, 0},
     " 255\n"
     "   0\n"
     "[ CPUByteType{2} ]"},
    {"floats",
     DT_FLOAT32,
     2,
     {2, 2},
     {1.5, -2.25, 0.1, 3},
     " 1.5000 -2.2500\n"
     " 0.1000  3.0000\n"
     "[ CPUFloatType{2,2} ]"},
    {"scaled",
     DT_FLOAT32,
     1,
     {2},
     {100000, 1.5},
     " 1.0000e+05\n"
     " 1.5000e+00\n"
     "[ CPUFloatType{2} ]"},
    {"small",
     DT_FLOAT64,
     1,
     {2},
     {0.001, 0.002},
     "0.001 *\n"
     " 1.0000\n"
     " 2.0000\n"
     "[ CPUDoubleType{2} ]"},
    {"wide",
     DT_FLOAT32,
     1,
     {3},
     {1e-10, 1, 1000},
     " 1.0000e-10\n"
     " 1.0000e+00\n"
     " 1.0000e+03\n"
     "[ CPUFloatType{3} ]"},
    {"big_ints",
     DT_INT64,
     1,
     {2},
     {1, 10000000000},
     " 1.0000e+00\n"
     " 1.0000e+10\n"
     "[ CPULongType{2} ]"},
    {"specials",
     DT_FLOAT32,
     1,
     {3},
     {1, NAN, -INFINITY},
     " 1\n"
     "nan\n"
     "-inf\n"
     "[ CPUFloatType{3} ]"},
    {"only_nan",
     DT_FLOAT32,
     1,
     {1},
     {NAN},
     "nan\n"
     "[ CPUFloatType{1} ]"},
    {"half",
     DT_FLOAT16,
     1,
     {2},
     {1.5, 0.1},
     " 1.5000\n"
     " 0.1000\n"
     "[ CPUHalfType{2} ]"},
    {"empty", DT_FLOAT32, 1, {0}, {0}, "[ CPUFloatType{0} ]"},
    {"empty_2d", DT_FLOAT32, 2, {0, 3}, {0}, "[ CPUFloatType{0,3} ]"},
    {"three",
     DT_INT64,
     3,
     {2, 2, 2},
     {0, 1, 2, 3, 4, 5, 6, 7},
     "(1,.,.) = \n"
     "  0  1\n"
     "  2  3\n"
     "\n"
     "(2,.,.) = \n"
     "  4  5\n"
     "  6  7\n"
     "[ CPULongType{2,2,2} ]"},
    {"four",
     DT_FLOAT32,
     4,
     {2, 1, 1, 2},
     {0.5, 1, 2, 3},
     "(1,1,.,.) = \n"
     "  0.5000  1.0000\n"
     "\n"
     "(2,1,.,.) = \n"
     "  2  3\n"
     "[ CPUFloatType{2,1,1,2} ]"},
    {"scaled_2d",
     DT_FLOAT32,
     2,
     {2, 2},
     {1500000, 2, 3, 4},
     " 1.5e+06        2\n"
     "       3        4\n"
     "[ CPUFloatType{2,2} ]"},
    {"columns",
     DT_INT64,
     2,
     {2, 20},
     {100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113,
      114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127,
      128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139},
     "Columns 1 to 16 100  101  102  103  104  105  106  107  108  109  110  111  112  113  114  "
     "115\n"
     " 120  121  122  123  124  125  126  127  128  129  130  131  132  133  134  135\n"
     "\n"
     "Columns 17 to 20 116  117  118  119\n"
     " 136  137  138  139\n"
     "[ CPULongType{2,20} ]"},
};

static tensor *tensor_of(const tensor_text *c) {
    tensor *t = NULL, *wide = NULL;
    assert_int_equal(tensor_new(NULL, DT_FLOAT64, c->ndim, c->sizes, &wide), CTSC_OK);
    memcpy(tensor_data(wide), c->elements, (size_t)wide->numel * sizeof(double));
    assert_int_equal(tensor_new(NULL, c->dt, c->ndim, c->sizes, &t), CTSC_OK);
    assert_int_equal(tensor_copy(NULL, t, wide), CTSC_OK);
    tensor_unref(wide);
    return t;
}

static void test_tensors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tensor_texts / sizeof *tensor_texts; i++) {
        const tensor_text *c = &tensor_texts[i];
        tensor *t = tensor_of(c);
        strbuf got = STRBUF_INIT;
        tensor_print(t, &got);
        if (strcmp(sb_str(&got), c->text))
            fail_msg("%s:\n%s\nnot\n%s", c->name, sb_str(&got), c->text);
        sb_free(&got);
        tensor_unref(t);
    }
}

/* A view prints its elements in its own order, not in memory order. */
static void test_strides(void **state) {
    (void)state;
    tensor *t = NULL, *v = NULL;
    int64_t sizes[] = {2, 3};
    assert_int_equal(tensor_new(NULL, DT_INT64, 2, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < 6; i++) ((int64_t *)tensor_data(t))[i] = i;
    assert_int_equal(tensor_transpose(NULL, t, 0, 1, &v), CTSC_OK);
    strbuf got = STRBUF_INIT;
    tensor_print(v, &got);
    assert_string_equal(sb_str(&got), " 0  3\n 1  4\n 2  5\n[ CPULongType{3,2} ]");
    sb_free(&got);
    tensor_unref(v);
    tensor_unref(t);
}

static void test_no_memory(void **state) {
    (void)state;
    static counting count;
    tensor *t = tensor_of(&tensor_texts[5]);
    mem_set_hook(counting_hook, &count);
    for (long k = 1; k < 8; k++) {
        strbuf got = STRBUF_INIT;
        count.requests = 0;
        count.fail_at = k;
        tensor_print(t, &got);
        count.fail_at = 0;
        assert_true(got.failed || !strcmp(sb_str(&got), tensor_texts[5].text));
        sb_free(&got);
    }
    mem_set_hook(NULL, NULL);
    tensor_unref(t);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void check(value v, const char *want) { /* takes v */
    strbuf got = STRBUF_INIT;
    value_print(v, &got);
    assert_string_equal(sb_str(&got), want);
    sb_free(&got);
    value_unref(v);
}

static void test_floats(void **state) {
    (void)state;
    static const struct { double x; const char *value, *constant; } rows[] = {
        {1, "1.", "1."},
        {0.1, "0.10000000000000001", "0.10000000000000001"},
        {-0.0, "0.", "-0."},
        {1e10, "10000000000.", "10000000000"},
        {1e17, "100000000000000000.", "1e+17"},
        {1e19, "1e+19", "1e+19"},
        {9.2233720368547758e18, "9.2233720368547758e+18", "9.2233720368547758e+18"},
        {1e20, "1e+20", "1e+20"},
        {123456789012.5, "123456789012.5", "123456789012.5"},
        {1e-7, "9.9999999999999995e-08", "9.9999999999999995e-08"},
        {5e-324, "4.9406564584124654e-324", "4.9406564584124654e-324"},
        {INFINITY, "inf", "inf"},
        {-INFINITY, "-inf", "-inf"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strbuf got = STRBUF_INIT;
        check(value_float(rows[i].x), rows[i].value);
        print_float(rows[i].x, &got);
        assert_string_equal(sb_str(&got), rows[i].constant);
        sb_free(&got);
    }
}

static value complex_of(double re, double im) {
    return (value){.tag = V_COMPLEX, .u.complex = complex_new(re, im)};
}
static value text(const char *s) { return value_str_take(str_new(s, strlen(s))); }

static void test_scalars(void **state) {
    (void)state;
    check(value_none(), "None");
    check(value_bool(true), "True");
    check(value_int(-7), "-7");
    check(complex_of(1, 2), "1.+2.j");
    check(complex_of(-1.5, -0.25), "-1.5-0.25j");
    check(complex_of(0, -0.0), "0.+0.j");
    check(value_device(0), "cpu");
    check(value_device(2), "cuda:1");
    check(value_device(VALUE_DEVICE_CUDA), "cuda");
    check(text("it's \"bare\""), "it's \"bare\"");
}

static void test_containers(void **state) {
    (void)state;
    list *l = list_new(LIST_FLOAT, NULL, 2);
    list_append_take(l, value_float(1));
    list_append_take(l, value_float(0.5));
    tuple *one = tuple_new(1, NULL), *two = tuple_new(2, NULL);
    one->items[0] = value_int(1);
    two->items[0] = value_list_take(l);
    two->items[1] = text("a");
    dict *d = dict_new(NULL, NULL);
    dict_set_take(d, text("k"), value_tuple_take(two));
    dict_set_take(d, text("e"), value_list_take(list_new(LIST_INT, NULL, 0)));
    check(value_tuple_take(one), "(1,)");
    check(value_tuple_take(tuple_new(0, NULL)), "()");
    check(value_dict_take(d), "{k: ([1., 0.5], a), e: []}");
}

/* A list that holds itself ends somewhere. */
static void test_cycle(void **state) {
    (void)state;
    list *l = list_new(LIST_VALUE, NULL, 1);
    value v = value_list_take(l);
    list_append_take(l, value_ref(v));
    strbuf got = STRBUF_INIT;
    value_print(v, &got);
    assert_non_null(strstr(sb_str(&got), "..."));
    sb_free(&got);
    list_clear(l);
    value_unref(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),   cmocka_unit_test(test_strides),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_floats),
        cmocka_unit_test(test_scalars),   cmocka_unit_test(test_containers),
        cmocka_unit_test(test_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
