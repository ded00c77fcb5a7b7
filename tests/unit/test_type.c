/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_type.c - interning, printing, subtypes, common types, and which values fit.
 */
#include "ir/graph/graph.h"
#include "ir/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- helpers --------------------------------------------------------------------------------- */

static type *tuple_of(int n, ...) {
    type *elems[8];
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n; i++) elems[i] = va_arg(ap, type *);
    va_end(ap);
    return type_tuple(n, elems);
}

static type *union_of(int n, ...) {
    type *elems[8];
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n; i++) elems[i] = va_arg(ap, type *);
    va_end(ap);
    return type_union(n, elems);
}

static void expect_text(const type *t, const char *graph, const char *python) {
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    type_print(t, &a);
    type_print_python(t, &b);
    assert_string_equal(sb_str(&a), graph);
    assert_string_equal(sb_str(&b), python);
    sb_free(&a);
    sb_free(&b);
}

/* A tensor type with all that is known: dtype, sizes, contiguous strides. */
static type *detailed(dtype dt, int n, const int64_t *sizes, const int64_t *strides) {
    tensor_info ti = {(int8_t)dt, (int8_t)n, 0, 0, strides != NULL, sizes, strides};
    return type_tensor_details(&ti);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void test_interning(void **state) {
    (void)state;
    assert_ptr_equal(type_list(TYPE_INT), type_list(TYPE_INT));
    assert_ptr_not_equal(type_list(TYPE_INT), type_list(TYPE_FLOAT));
    assert_ptr_equal(tuple_of(2, TYPE_INT, TYPE_STR), tuple_of(2, TYPE_INT, TYPE_STR));
    assert_ptr_equal(type_dict(TYPE_STR, type_list(TYPE_INT)),
                     type_dict(TYPE_STR, type_list(TYPE_INT)));
    assert_ptr_equal(type_var("t"), type_var("t"));
    assert_ptr_equal(type_optional(type_optional(TYPE_INT)), type_optional(TYPE_INT));
    assert_ptr_equal(type_optional(TYPE_NONE), TYPE_NONE);
    int64_t sizes[] = {2, 3}, strides[] = {3, 1};
    assert_ptr_equal(detailed(DT_FLOAT32, 2, sizes, strides),
                     detailed(DT_FLOAT32, 2, sizes, strides));
    assert_ptr_not_equal(detailed(DT_FLOAT32, 2, sizes, strides),
                         detailed(DT_FLOAT64, 2, sizes, strides));
    assert_ptr_equal(detailed(DT_FLOAT32, 2, sizes, strides)->tensor->sizes + 0,
                     detailed(DT_FLOAT32, 2, sizes, strides)->tensor->sizes);
    assert_true(type_var("t")->has_var && type_list(type_var("t"))->has_var);
    /* Enough of them to make the table grow. */
    type *t = TYPE_INT;
    for (int i = 0; i < 300; i++) t = type_list(t);
    type *u = TYPE_INT;
    for (int i = 0; i < 300; i++) u = type_list(u);
    assert_ptr_equal(t, u);
}

static void test_printing(void **state) {
    (void)state;
    expect_text(TYPE_TENSOR, "Tensor", "Tensor");
    expect_text(TYPE_NUMBER, "Scalar", "number");
    expect_text(type_list(type_list(TYPE_INT)), "int[][]", "List[List[int]]");
    expect_text(type_list(type_optional(TYPE_TENSOR)), "Tensor?[]", "List[Optional[Tensor]]");
    expect_text(tuple_of(1, TYPE_INT), "(int)", "Tuple[int]");
    expect_text(type_tuple(0, NULL), "()", "Tuple[()]");
    expect_text(type_optional(tuple_of(2, TYPE_INT, TYPE_STR)), "(int, str)?",
                "Optional[Tuple[int, str]]");
    expect_text(type_dict(TYPE_STR, type_future(TYPE_INT)), "Dict(str, Future(int))",
                "Dict[str, Future[int]]");
    expect_text(type_list(type_future(TYPE_INT)), "Future[int][]", "List[Future[int]]");
    int64_t sizes[] = {2, -1}, strides[] = {3, 1};
    expect_text(detailed(DT_FLOAT32, 2, sizes, strides),
                "Float(2, *, strides=[3, 1], requires_grad=0, device=cpu)", "Tensor");
    expect_text(detailed(DT_INT64, 0, NULL, NULL), "Long(requires_grad=0, device=cpu)", "Tensor");
    expect_text(type_dict(TYPE_STR, detailed(DT_INT64, 0, NULL, NULL)), "Dict(str, Tensor)",
                "Dict[str, Tensor]");
    const char *fields[] = {"x", "k"};
    type *elems[] = {TYPE_TENSOR, TYPE_INT};
    type *nt = type_named_tuple(NULL, "__torch__.P", 2, fields, elems);
    expect_text(nt, "NamedTuple(x : Tensor, k : int)", "__torch__.P");
    expect_text(type_dict(TYPE_STR, nt), "Dict(str, __torch__.P)", "Dict[str, __torch__.P]");
    expect_text(type_of_kind(T_ANY_LIST), "list", "list");
}

/* PyTorch: unions flatten, members with a common supertype merge, and they are sorted by kind. */
static void test_unions(void **state) {
    (void)state;
    expect_text(union_of(3, TYPE_INT, TYPE_STR, type_list(TYPE_INT)), "Union(int[], int, str)",
                "Union[List[int], int, str]");
    expect_text(union_of(2, TYPE_INT, TYPE_FLOAT), "Union(float, int)", "Union[float, int]");
    expect_text(union_of(3, TYPE_INT, TYPE_FLOAT, TYPE_COMPLEX), "Scalar", "number");
    expect_text(union_of(4, TYPE_INT, TYPE_FLOAT, TYPE_COMPLEX, TYPE_NONE), "Scalar?",
                "Optional[number]");
    expect_text(union_of(4, TYPE_INT, TYPE_FLOAT, TYPE_COMPLEX, TYPE_STR), "Union(, str, Scalar)",
                "Union[, str, number]");
    expect_text(union_of(2, TYPE_INT, type_optional(TYPE_STR)), "Union(int, NoneType, str)",
                "Union[int, NoneType, str]");
    expect_text(type_optional(union_of(2, TYPE_INT, TYPE_STR)), "Union(int, NoneType, str)",
                "Union[int, NoneType, str]");
    expect_text(union_of(4, TYPE_BOOL, TYPE_DEVICE, TYPE_NONE, TYPE_STR),
                "Union(NoneType, str, bool, Device)", "Union[NoneType, str, bool, Device]");
    assert_ptr_equal(union_of(2, TYPE_INT, TYPE_NONE), type_optional(TYPE_INT));
    assert_ptr_equal(union_of(2, TYPE_INT, TYPE_INT), TYPE_INT);
    assert_ptr_equal(type_without_none(union_of(3, TYPE_INT, TYPE_NONE, TYPE_STR)),
                     union_of(2, TYPE_INT, TYPE_STR));
    assert_ptr_equal(type_without_none(type_optional(TYPE_INT)), TYPE_INT);
}

/* ---- relations ------------------------------------------------------------------------------- */

static void test_subtypes(void **state) {
    (void)state;
    type *opt_int = type_optional(TYPE_INT), *is = union_of(2, TYPE_INT, TYPE_STR);
    assert_true(type_is_subtype(TYPE_INT, TYPE_ANY));
    assert_true(type_is_subtype(TYPE_INT, TYPE_NUMBER) &&
                type_is_subtype(TYPE_COMPLEX, TYPE_NUMBER));
    assert_false(type_is_subtype(TYPE_BOOL, TYPE_NUMBER) || type_is_subtype(TYPE_NUMBER, TYPE_INT));
    assert_false(type_is_subtype(TYPE_BOOL, TYPE_INT) || type_is_subtype(TYPE_INT, TYPE_FLOAT));
    assert_true(type_is_subtype(TYPE_NONE, opt_int) && type_is_subtype(TYPE_INT, opt_int));
    assert_false(type_is_subtype(opt_int, TYPE_INT) || type_is_subtype(TYPE_FLOAT, opt_int));
    assert_true(type_is_subtype(opt_int, type_optional(TYPE_NUMBER)));
    assert_true(type_is_subtype(TYPE_INT, is) && type_is_subtype(is, TYPE_ANY));
    assert_false(type_is_subtype(is, TYPE_INT) || type_is_subtype(opt_int, is));
    assert_true(type_is_subtype(opt_int, union_of(3, TYPE_INT, TYPE_STR, TYPE_NONE)));
    /* Lists and dicts are invariant, tuples covariant. */
    assert_false(type_is_subtype(type_list(TYPE_INT), type_list(opt_int)));
    assert_true(type_is_subtype(type_list(TYPE_INT), type_of_kind(T_ANY_LIST)));
    assert_false(type_is_subtype(type_dict(TYPE_STR, TYPE_INT), type_dict(TYPE_STR, opt_int)));
    assert_true(type_is_subtype(tuple_of(2, TYPE_INT, TYPE_NONE), tuple_of(2, opt_int, opt_int)));
    assert_false(type_is_subtype(tuple_of(1, TYPE_INT), tuple_of(2, TYPE_INT, TYPE_INT)));
    assert_true(type_is_subtype(type_future(TYPE_INT), type_future(TYPE_NUMBER)));
    /* What is known of tensors. */
    int64_t sizes[] = {2}, any[] = {-1};
    type *full = detailed(DT_FLOAT32, 1, sizes, NULL), *some = detailed(DT_FLOAT32, 1, any, NULL);
    assert_true(type_is_subtype(full, TYPE_TENSOR) && type_is_subtype(full, some));
    assert_false(type_is_subtype(TYPE_TENSOR, full) || type_is_subtype(some, full));
    assert_true(type_is_subtype(type_list(full), type_list(TYPE_TENSOR)));
}

static void test_named_tuples(void **state) {
    (void)state;
    const char *xk[] = {"x", "k"}, *ab[] = {"a", "b"};
    type *elems[] = {TYPE_INT, TYPE_INT}, *plain = type_tuple(2, elems);
    type *p = type_named_tuple(NULL, "P", 2, xk, elems),
         *q = type_named_tuple(NULL, "Q", 2, xk, elems);
    type *r = type_named_tuple(NULL, "R", 2, ab, elems);
    assert_true(type_is_subtype(p, plain));
    assert_false(type_is_subtype(plain, p));
    assert_true(type_is_subtype(p, q) && p != q);
    assert_false(type_is_subtype(p, r));
}

static void test_unify(void **state) {
    (void)state;
    assert_ptr_equal(type_unify(TYPE_INT, TYPE_NONE, false), type_optional(TYPE_INT));
    assert_null(type_unify(TYPE_INT, TYPE_FLOAT, false));
    assert_ptr_equal(type_unify(TYPE_INT, TYPE_FLOAT, true), union_of(2, TYPE_INT, TYPE_FLOAT));
    assert_ptr_equal(
        type_unify(tuple_of(2, TYPE_INT, TYPE_NONE), tuple_of(2, TYPE_NONE, TYPE_STR), false),
        tuple_of(2, type_optional(TYPE_INT), type_optional(TYPE_STR)));
    assert_null(type_unify(tuple_of(1, TYPE_INT), tuple_of(2, TYPE_INT, TYPE_INT), false));
    assert_null(type_unify(type_list(TYPE_INT), type_list(TYPE_FLOAT), false));
    int64_t a[] = {2, 3}, b[] = {2, 4}, both[] = {2, -1};
    type *ta = detailed(DT_FLOAT32, 2, a, NULL), *tb = detailed(DT_FLOAT32, 2, b, NULL);
    assert_ptr_equal(type_unify(ta, tb, false), detailed(DT_FLOAT32, 2, both, NULL));
    assert_ptr_equal(type_unify(ta, TYPE_TENSOR, false), TYPE_TENSOR);
    assert_ptr_equal(type_unify(type_list(ta), type_list(tb), false), type_list(tb));
    assert_ptr_equal(type_unify(type_future(TYPE_INT), type_future(TYPE_NONE), false),
                     type_future(type_optional(TYPE_INT)));
}

static void test_variables(void **state) {
    (void)state;
    type *t = type_var("t");
    type_bindings b = {0};
    assert_true(type_match(type_list(t), type_list(TYPE_STR), &b));
    assert_true(type_match(t, TYPE_STR, &b));
    assert_false(type_match(t, TYPE_INT, &b));
    assert_ptr_equal(type_substitute(type_optional(type_list(t)), &b),
                     type_optional(type_list(TYPE_STR)));
    assert_null(type_substitute(type_var("u"), &b));
    b.n = 0;
    assert_true(type_match(type_dict(TYPE_STR, t), type_dict(TYPE_STR, TYPE_INT), &b));
    assert_false(type_match(type_dict(TYPE_STR, t), type_dict(TYPE_INT, TYPE_INT), &b));
    assert_ptr_equal(type_substitute(t, &b), TYPE_INT);
}

/* ---- classes --------------------------------------------------------------------------------- */

static function *add_method(unit *u, type *cls, const char *qualified, type *arg, type *ret) {
    function *f = unit_add_function(u, qualified, cls);
    f->return_declared = true;
    f->schema = arena_new(&u->arena, schema);
    f->schema->nargs = 2;
    f->schema->args = arena_array(&u->arena, argument, 2);
    f->schema->args[0] = (argument){.name = "self", .type = cls};
    f->schema->args[1] = (argument){.name = "x", .type = arg};
    f->schema->nreturns = 1;
    f->schema->returns = arena_new(&u->arena, argument);
    f->schema->returns[0] = (argument){.name = "", .type = ret};
    avec_push(&u->arena, &cls->cls->methods, f);
    return f;
}

static void test_classes(void **state) {
    (void)state;
    unit *u = unit_new();
    assert_non_null(u);
    type *a = type_class_new(u, T_CLASS, "__torch__.A"),
         *b = type_class_new(u, T_CLASS, "__torch__.B");
    type *i = type_class_new(u, T_INTERFACE, "__torch__.I");
    type *e = type_class_new(u, T_ENUM, "__torch__.Color");
    add_method(u, i, "__torch__.I.go", TYPE_INT, TYPE_NUMBER);
    add_method(u, a, "__torch__.A.go", type_optional(TYPE_INT), TYPE_FLOAT);
    add_method(u, b, "__torch__.B.go", TYPE_STR, TYPE_FLOAT);
    assert_true(type_is_subtype(a, i));
    assert_false(type_is_subtype(b, i) || type_is_subtype(a, b));
    assert_true(type_is_subtype(a, type_optional(a)));
    assert_true(type_is_subtype(e, type_of_kind(T_ANY_ENUM)) &&
                type_is_subtype(a, type_of_kind(T_ANY_CLASS)));
    expect_text(type_list(a), "__torch__.A[]", "List[__torch__.A]");
    expect_text(i, "InterfaceType<I>", "__torch__.I");
    expect_text(e, "Enum<__torch__.Color>", "__torch__.Color");
    assert_ptr_equal(type_list(a), type_list(a));
    assert_ptr_equal(type_list(a)->owner, u);
    assert_true(type_list(a)->of_class);
    assert_non_null(class_find_method(a, "go"));
    assert_null(class_find_method(a, "stop"));
    attribute at = {.name = "w", .type = TYPE_TENSOR};
    avec_push(&u->arena, &a->cls->attributes, at);
    assert_int_equal(class_find_attribute(a, "w"), 0);
    assert_int_equal(class_find_attribute(a, "v"), -1);
    assert_null(class_find_constant(a, "w"));
    unit_unref(u);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_values(void **state) {
    (void)state;
    list *ints = list_new(LIST_INT, TYPE_INT, 0), *loose = list_new(LIST_VALUE, NULL, 0);
    list_append_take(ints, value_int(1));
    list_append_take(loose, value_int(1));
    list_append_take(loose, value_none());
    value vi = value_list_take(ints), vl = value_list_take(loose);
    type *opt = type_optional(TYPE_INT);
    assert_true(type_admits_value(type_list(TYPE_INT), vi));
    assert_false(type_admits_value(type_list(TYPE_FLOAT), vi));
    assert_false(type_admits_value(type_list(opt), vi)); /* it knows that it is a List[int] */
    assert_true(type_admits_value(type_list(opt), vl));
    assert_false(type_admits_value(type_list(TYPE_INT), vl));
    assert_true(type_admits_value(type_of_kind(T_ANY_LIST), vl));
    assert_ptr_equal(type_of_value(vi), type_list(TYPE_INT));
    assert_ptr_equal(type_of_value(vl), type_list(opt));
    tuple *tp = tuple_new(2, NULL);
    tp->items[0] = vi;
    tp->items[1] = value_float(2);
    value vt = value_tuple_take(tp);
    assert_true(type_admits_value(tuple_of(2, type_list(TYPE_INT), TYPE_FLOAT), vt));
    assert_true(type_admits_value(tuple_of(2, TYPE_ANY, TYPE_NUMBER), vt));
    assert_false(type_admits_value(tuple_of(1, TYPE_ANY), vt));
    assert_ptr_equal(type_of_value(vt), tuple_of(2, type_list(TYPE_INT), TYPE_FLOAT));
    dict *d = dict_new(NULL, NULL);
    dict_set_take(d, value_int(1), value_none());
    dict_set_take(d, value_int(2), value_bool(true));
    value vd = value_dict_take(d);
    assert_true(type_admits_value(type_dict(TYPE_INT, type_optional(TYPE_BOOL)), vd));
    assert_false(type_admits_value(type_dict(TYPE_STR, type_optional(TYPE_BOOL)), vd));
    assert_ptr_equal(type_of_value(vd), type_dict(TYPE_INT, type_optional(TYPE_BOOL)));
    assert_true(type_admits_value(union_of(2, TYPE_STR, TYPE_INT), value_int(3)));
    assert_false(type_admits_value(union_of(2, TYPE_STR, TYPE_INT), value_float(3)));
    tensor *t;
    int64_t sizes[] = {2, 3};
    assert_int_equal(tensor_zeros(NULL, DT_INT64, 2, sizes, &t), CTSC_OK);
    expect_text(type_of_constant(value_tensor_take(t)),
                "Long(2, 3, strides=[3, 1], requires_grad=0, device=cpu)", "Tensor");
    assert_ptr_equal(type_of_value(value_tensor_take(t)), TYPE_TENSOR);
    tensor_unref(t);
    value_unref(vt);
    value_unref(vl);
    value_unref(vd);
    assert_int_equal(type_list_kind(TYPE_TENSOR), LIST_TENSOR);
    assert_int_equal(type_list_kind(opt), LIST_VALUE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interning),    cmocka_unit_test(test_printing),
        cmocka_unit_test(test_unions),       cmocka_unit_test(test_subtypes),
        cmocka_unit_test(test_named_tuples), cmocka_unit_test(test_unify),
        cmocka_unit_test(test_variables),    cmocka_unit_test(test_classes),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
