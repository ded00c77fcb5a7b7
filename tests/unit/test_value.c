/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_value.c - values, lists, dicts, tuples, objects, and their comparison.
 */
#include "tensor/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- an allocator that counts, and fails ----------------------------------------------------- */

typedef struct failing_allocator {
    long left, live;
} failing_allocator;

static void *failing_hook(void *ctx, void *p, size_t size) {
    failing_allocator *f = ctx;
    if (size == 0) {
        f->live--;
        free(p);
        return NULL;
    }
    if (f->left-- <= 0) return NULL;
    f->live += !p;
    return realloc(p, size);
}

/* Runs a test with an allocator that sees whether everything was freed. */
static void counted(void (*body)(void)) {
    failing_allocator f = {.left = 1L << 40};
    mem_set_hook(failing_hook, &f);
    body();
    mem_set_hook(NULL, NULL);
    assert_int_equal(f.live, 0);
}

#define COUNTED_TEST(name)                                                                         \
    static void body_##name(void);                                                                 \
    static void test_##name(void **state) {                                                        \
        (void)state;                                                                               \
        counted(body_##name);                                                                      \
    }                                                                                              \
    static void body_##name(void)

/* ---- helpers --------------------------------------------------------------------------------- */

static value text(const char *s) { return value_str_take(str_new(s, strlen(s))); }

static value floats(int ndim, const int64_t *sizes, const float *data) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    memcpy(tensor_data(t), data, (size_t)t->numel * 4);
    return value_tensor_take(t);
}

static value pair(value a, value b) {
    tuple *t = tuple_new(2, NULL);
    t->items[0] = a;
    t->items[1] = b;
    return value_tuple_take(t);
}

static value list_of(list_kind kind, size_t n, const value *items) {
    list *l = list_new(kind, NULL, 0);
    for (size_t i = 0; i < n; i++) assert_true(list_append_take(l, items[i]));
    return value_list_take(l);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static value item_of(list_kind kind, int i) {
    tensor *t;
    switch (kind) {
    case LIST_INT: return value_int(i);
    case LIST_FLOAT: return value_float(i + 0.5);
    case LIST_BOOL: return value_bool(i % 2);
    case LIST_TENSOR:
        assert_int_equal(tensor_scalar_int(NULL, DT_INT64, i, &t), CTSC_OK);
        return value_tensor_take(t);
    default: return i % 3 ? text("x") : value_none();
    }
}

COUNTED_TEST(lists) {
    for (int kind = LIST_VALUE; kind <= LIST_TENSOR; kind++) {
        list *l = list_new((list_kind)kind, NULL, 3);
        value items[20];
        for (int i = 0; i < 20; i++) {
            items[i] = item_of((list_kind)kind, i);
            assert_true(list_fits((list_kind)kind, items[i]));
            assert_true(list_append_take(l, value_ref(items[i])));
        }
        assert_true(list_insert_take(l, 0, value_ref(items[5])));
        assert_true(list_insert_take(l, 10, value_ref(items[6])));
        list_set_take(l, 1, value_ref(items[7]));
        assert_int_equal(l->len, 22);
        int want[22] = {5, 7, 1, 2, 3, 4, 5, 6, 7, 8, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
        for (int i = 0; i < 22; i++) {
            value v = list_get(l, (size_t)i);
            assert_true(value_is(v, items[want[i]]));
            value_unref(v);
        }
        value v = list_remove_at(l, 10);
        assert_true(value_is(v, items[6]));
        value_unref(v);
        v = list_remove_at(l, 20);
        assert_true(value_is(v, items[19]));
        value_unref(v);
        assert_int_equal(l->len, 20);
        value_unref(value_list_take(l));
        for (int i = 0; i < 20; i++) {
            if (value_is_counted(items[i])) assert_int_equal(*items[i].u.refs, 1);
            value_unref(items[i]);
        }
    }
    assert_false(list_fits(LIST_INT, value_float(1)));
    assert_false(list_fits(LIST_TENSOR, value_none()));
}

/* ---- dicts ----------------------------------------------------------------------------------- */

static void check_order(const dict *d, size_t n, const int64_t *keys) {
    size_t k = 0;
    for (size_t i = 0; i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        assert_true(k < n);
        assert_int_equal(d->entries[i].key.u.i, keys[k++]);
    }
    assert_int_equal(k, n);
    assert_int_equal(d->len, n);
}

COUNTED_TEST(dict_order) {
    dict *d = dict_new(NULL, NULL);
    value v;
    assert_false(dict_get(d, value_int(1), &v));
    assert_false(dict_delete(d, value_int(1)));
    for (int64_t i = 0; i < 5; i++) assert_true(dict_set_take(d, value_int(9 - i), text("v")));
    assert_true(dict_set_take(d, value_int(7), text("w"))); /* keeps its place */
    check_order(d, 5, (int64_t[]){9, 8, 7, 6, 5});
    assert_true(dict_get(d, value_int(7), &v));
    assert_string_equal(v.u.str->bytes, "w");
    assert_true(dict_delete(d, value_int(8)));
    assert_false(dict_delete(d, value_int(8)));
    assert_true(dict_set_take(d, value_int(8), value_none())); /* goes to the end */
    check_order(d, 5, (int64_t[]){9, 7, 6, 5, 8});
    assert_true(dict_delete(d, value_int(8)));
    assert_true(dict_delete(d, value_int(5)));
    assert_int_equal(d->used, 4); /* 9, a hole, 7, 6 */
    dict_clear(d);
    check_order(d, 0, NULL);
    assert_true(dict_set_take(d, value_int(1), value_none()));
    check_order(d, 1, (int64_t[]){1});
    value_unref(value_dict_take(d));
}

/* Against a table indexed by key and a list of keys in order. */
COUNTED_TEST(dict_random) {
    enum { KEYS = 300 };
    static int64_t order[200000];
    static bool present[KEYS];
    static int64_t stamp[KEYS];
    memset(present, 0, sizeof present);
    dict *d = dict_new(NULL, NULL);
    uint32_t seed = 1;
    int64_t clock = 0;
    for (int step = 0; step < 60000; step++) {
        seed = seed * 1664525u + 1013904223u;
        int64_t key = (seed >> 8) % KEYS;
        bool fill = step / 5000 % 2 == 0;
        if ((seed >> 28) < (fill ? 11u : 4u)) {
            if (!present[key]) stamp[key] = clock;
            present[key] = true;
            order[clock++] = key;
            assert_true(dict_set_take(d, value_int(key), value_int(step)));
        } else {
            assert_int_equal(dict_delete(d, value_int(key)), present[key]);
            present[key] = false;
        }
        if (step % 500) continue;
        size_t n = 0;
        int64_t live[KEYS];
        for (int64_t i = 0; i < clock; i++)
            if (present[order[i]] && stamp[order[i]] == i) live[n++] = order[i];
        check_order(d, n, live);
        for (int64_t i = 0; i < KEYS; i++) {
            value v;
            assert_int_equal(dict_get(d, value_int(i), &v), present[i]);
        }
    }
    value_unref(value_dict_take(d));
}

COUNTED_TEST(dict_keys) {
    dict *d = dict_new(NULL, NULL);
    tensor *t, *u;
    assert_int_equal(tensor_scalar_int(NULL, DT_INT64, 1, &t), CTSC_OK);
    assert_int_equal(tensor_scalar_int(NULL, DT_INT64, 1, &u), CTSC_OK);
    assert_true(dict_set_take(d, value_float(0.0), value_int(1)));
    assert_true(dict_set_take(d, text("ab"), value_int(2)));
    assert_true(dict_set_take(d, value_tensor_take(tensor_ref(t)), value_int(3)));
    assert_true(dict_set_take(d, value_bool(true), value_int(4)));
    assert_true(dict_set_take(d, value_device(0), value_int(5)));
    value c = {.tag = V_COMPLEX, .u.complex = complex_new(1, -0.0)};
    assert_true(dict_set_take(d, c, value_int(6)));
    value v, s = text("ab"), e = {.tag = V_COMPLEX, .u.complex = complex_new(1, 0)};
    assert_true(dict_get(d, value_float(-0.0), &v) && v.u.i == 1);
    assert_true(dict_get(d, s, &v) && v.u.i == 2);
    assert_true(dict_get(d, value_tensor_take(t), &v) && v.u.i == 3);
    assert_false(dict_get(d, value_tensor_take(u), &v));
    assert_true(dict_get(d, value_bool(true), &v) && v.u.i == 4);
    assert_false(dict_get(d, value_bool(false), &v));
    assert_true(dict_get(d, value_device(0), &v) && v.u.i == 5);
    assert_true(dict_get(d, e, &v) && v.u.i == 6);
    value_unref(s);
    value_unref(e);
    tensor_unref(t);
    tensor_unref(u);
    value_unref(value_dict_take(d));
}

/* ---- payloads -------------------------------------------------------------------------------- */

static int type_refs;
static void count_type_ref(struct type *t) {
    (void)t;
    type_refs++;
}
static void count_type_unref(struct type *t) {
    (void)t;
    type_refs--;
}

COUNTED_TEST(types) {
    struct type *some = (struct type *)&type_refs;
    value_type_ref = count_type_ref;
    value_type_unref = count_type_unref;
    value all[] = {
        value_list_take(list_new(LIST_VALUE, some, 0)),
        value_list_take(list_new(LIST_INT, some, 4)),
        value_dict_take(dict_new(some, some)),
        value_tuple_take(tuple_new(1, some)),
        value_object_take(object_new(some, 2)),
        value_enum_take(enum_new(some, "RED", text("r"))),
        value_tuple_take(tuple_new(0, NULL)),
    };
    assert_int_equal(type_refs, 7);
    assert_int_equal(all[3].u.tuple->items[0].tag, V_NONE);
    assert_int_equal(all[4].u.object->slots[1].tag, V_UNINIT);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) value_unref(all[i]);
    assert_int_equal(type_refs, 0);
}

/* A chain of a million objects, in which every kind of container takes part. */
COUNTED_TEST(deep_free) {
    value chain = value_none();
    for (int i = 0; i < 1000000; i++) {
        value next;
        switch (i % 6) {
        case 0:
            next = value_object_take(object_new(NULL, 2));
            value_set(&next.u.object->slots[i % 2], chain);
            break;
        case 1:
            next = value_tuple_take(tuple_new(1, NULL));
            value_set(&next.u.tuple->items[0], chain);
            break;
        case 2: next = list_of(LIST_VALUE, 1, &chain); break;
        case 3:
            next = value_dict_take(dict_new(NULL, NULL));
            assert_true(dict_set_take(next.u.dict, value_int(1), chain));
            break;
        case 4: next = value_enum_take(enum_new(NULL, "A", chain)); break;
        default: {
            future *f = mem_zalloc(sizeof *f);
            f->refs = 1;
            f->result = chain;
            next = (value){.tag = V_FUTURE, .u.future = f};
        }
        }
        chain = next;
    }
    value_unref(chain);
}

static void release_capsule(void *ptr) { ++*(int *)ptr; }

COUNTED_TEST(capsule) {
    int released = 0;
    capsule *c = mem_zalloc(sizeof *c);
    *c = (capsule){.refs = 1, .kind = "k", .ptr = &released, .free = release_capsule};
    value v = {.tag = V_CAPSULE, .u.capsule = c};
    value_unref(value_ref(v));
    assert_int_equal(released, 0);
    value_unref(v);
    assert_int_equal(released, 1);
}

/* ---- == and is ------------------------------------------------------------------------------- */

static bool equal_and_free(value a, value b) {
    bool same = value_equal(a, b);
    assert_int_equal(value_equal(b, a), same);
    value_unref(a);
    value_unref(b);
    return same;
}

COUNTED_TEST(equal) {
    assert_true(equal_and_free(value_int(1), value_float(1)));
    assert_true(equal_and_free(value_bool(true), value_int(1)));
    assert_false(equal_and_free(value_int(INT64_MAX), value_float(0x1p63)));
    assert_false(equal_and_free(value_float(NAN), value_float(NAN)));
    assert_false(equal_and_free(value_none(), value_int(0)));
    assert_true(equal_and_free(text("a"), text("a")));
    assert_false(equal_and_free(text("a"), text("b")));
    assert_true(equal_and_free(value_device(1), value_device(1)));
    value c = {.tag = V_COMPLEX, .u.complex = complex_new(2, 0)};
    assert_true(equal_and_free(c, value_int(2)));
    value ints[] = {value_int(1), value_int(2)};
    assert_true(equal_and_free(list_of(LIST_INT, 2, ints), list_of(LIST_VALUE, 2, ints)));
    assert_false(equal_and_free(list_of(LIST_INT, 2, ints), list_of(LIST_INT, 1, ints)));
    assert_false(equal_and_free(list_of(LIST_INT, 2, ints), pair(value_int(1), value_int(2))));
    assert_true(equal_and_free(pair(text("a"), value_none()), pair(text("a"), value_none())));
    value d = value_dict_take(dict_new(NULL, NULL)), e = value_dict_take(dict_new(NULL, NULL));
    for (int64_t i = 0; i < 5; i++) {
        dict_set_take(d.u.dict, value_int(i), value_int(i));
        dict_set_take(e.u.dict, value_int(4 - i), value_int(4 - i));
    }
    assert_true(value_equal(d, e));
    dict_set_take(e.u.dict, value_int(2), value_none());
    assert_false(equal_and_free(d, e));
    value o = value_object_take(object_new(NULL, 0));
    assert_true(value_equal(o, o));
    assert_false(equal_and_free(o, value_object_take(object_new(NULL, 0))));
    value t = floats(0, NULL, (float[]){1});
    assert_true(value_is(t, t));
    assert_false(equal_and_free(t, floats(0, NULL, (float[]){1})));
    value l = list_of(LIST_VALUE, 0, NULL);
    assert_false(value_is(l, value_none()));
    value_unref(l);
    assert_true(value_is(value_none(), value_none()));
}

COUNTED_TEST(cyclic) {
    value a = list_of(LIST_VALUE, 0, NULL), b = list_of(LIST_VALUE, 0, NULL);
    list_append_take(a.u.list, value_ref(a));
    list_append_take(b.u.list, value_ref(b));
    assert_false(value_equal(a, b));
    strbuf why = STRBUF_INIT;
    assert_false(value_close(a, b, 0, 0, &why));
    sb_free(&why);
    list_clear(a.u.list);
    list_clear(b.u.list);
    value_unref(a);
    value_unref(b);
}

/* ---- comparison with tolerance --------------------------------------------------------------- */

/* Compares and frees; `want` is the explanation, NULL for "close". */
static void check_close(value a, value b, const char *want) {
    strbuf why = STRBUF_INIT;
    bool close = value_close(a, b, 1e-3, 1e-5, &why);
    assert_int_equal(value_close(a, b, 1e-3, 1e-5, NULL), close);
    assert_string_equal(sb_str(&why), want ? want : "");
    assert_int_equal(close, !want);
    sb_free(&why);
    value_unref(a);
    value_unref(b);
}

static value one_entry(value key, value val) {
    dict *d = dict_new(NULL, NULL);
    assert_true(dict_set_take(d, key, val));
    return value_dict_take(d);
}

COUNTED_TEST(close_scalars) {
    check_close(value_float(1), value_float(1.0005), NULL);
    check_close(value_float(NAN), value_float(NAN), NULL);
    check_close(value_float(INFINITY), value_float(INFINITY), NULL);
    check_close(value_float(INFINITY), value_float(-INFINITY), "float: inf, expected -inf");
    check_close(value_float(1), value_float(1.25), "float: 1, expected 1.25");
    check_close(value_float(1), value_float(INFINITY), "float: 1, expected inf");
    check_close(value_int(1), value_float(1), "int: expected float");
    check_close(value_bool(true), value_int(1), "bool: expected int");
    check_close(value_int(1000000), value_int(1000001), "int: 1000000, expected 1000001");
    check_close(text("a"), text("b"), "str: 'a', expected 'b'");
    check_close(value_none(), value_none(), NULL);
    check_close(value_object_take(object_new(NULL, 0)), value_object_take(object_new(NULL, 0)),
                "object: values of this type cannot be compared");
}

COUNTED_TEST(close_containers) {
    value ints[] = {value_int(1), value_int(2)};
    check_close(list_of(LIST_INT, 2, ints), list_of(LIST_VALUE, 2, ints), NULL);
    check_close(list_of(LIST_INT, 2, ints), list_of(LIST_INT, 1, ints),
                "list: 2 elements, expected 1");
    check_close(list_of(LIST_INT, 2, ints), pair(ints[0], ints[1]), "list: expected tuple");
    tuple *named = tuple_new(2, (struct type *)&type_refs);
    named->items[0] = ints[0];
    named->items[1] = ints[1];
    check_close(value_tuple_take(named), pair(ints[0], ints[1]), NULL);
    check_close(one_entry(text("x"), value_int(1)), one_entry(text("y"), value_int(1)),
                "dict: key 'x', expected 'y'");
    check_close(pair(value_none(), one_entry(text("x"), value_int(1))),
                pair(value_none(), one_entry(text("x"), value_float(1))),
                "int at [1]['x']: expected float");
    value a = one_entry(value_int(1), value_none()), b = one_entry(value_int(2), value_none());
    dict_set_take(a.u.dict, value_int(2), value_none());
    dict_set_take(b.u.dict, value_int(1), value_none());
    check_close(a, b, "dict: key 1, expected 2");
    check_close(one_entry(floats(0, NULL, (float[]){1}), value_int(1)),
                one_entry(floats(0, NULL, (float[]){1}), value_int(1)), NULL);
}

COUNTED_TEST(close_tensors) {
    const int64_t shape[] = {4, 3}, other[] = {3, 4};
    float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, NAN, INFINITY, 11, 12}, y[12];
    memcpy(y, x, sizeof x);
    check_close(floats(2, shape, x), floats(2, shape, y), NULL);
    check_close(floats(2, shape, x), floats(2, other, y), "tensor: shape [4, 3], expected [3, 4]");
    y[2] = 3.0625f;
    y[3] = 4.005f;
    y[0] = 0.995f;
    x[0] = 1.0f;
    value got = pair(value_int(1), one_entry(text("x"), floats(2, shape, x)));
    value want = pair(value_int(1), one_entry(text("x"), floats(2, shape, y)));
    check_close(
        got, want,
        "tensor at [1]['x']: 3 of 12 elements differ, largest |difference| 0.0625 at [0, 2]");
    y[5] = NAN;
    check_close(floats(2, shape, x), floats(2, shape, y),
                "tensor: 4 of 12 elements differ, largest |difference| nan at [1, 2]");
    tensor *i, *j;
    assert_int_equal(tensor_scalar_int(NULL, DT_INT64, 1, &i), CTSC_OK);
    assert_int_equal(tensor_scalar_int(NULL, DT_INT32, 1, &j), CTSC_OK);
    check_close(value_tensor_take(i), value_tensor_take(j), "tensor: dtype int64, expected int32");
    assert_int_equal(tensor_scalar_int(NULL, DT_INT64, 1000000, &i), CTSC_OK);
    assert_int_equal(tensor_scalar_int(NULL, DT_INT64, 1000001, &j), CTSC_OK);
    check_close(value_tensor_take(i), value_tensor_take(j),
                "tensor: 1 of 1 elements differ, largest |difference| 1 at []");
    assert_int_equal(tensor_zeros(NULL, DT_COMPLEX64, 1, (int64_t[]){2}, &i), CTSC_OK);
    assert_int_equal(tensor_zeros(NULL, DT_COMPLEX64, 1, (int64_t[]){2}, &j), CTSC_OK);
    TENSOR_AT(i, complex64)[1].im = 3;
    check_close(value_tensor_take(i), value_tensor_take(j),
                "tensor: 1 of 2 elements differ, largest |difference| 3 at [1]");
    /* A view against its contiguous copy. */
    got = floats(2, shape, x);
    assert_int_equal(tensor_transpose(NULL, got.u.tensor, 0, 1, &i), CTSC_OK);
    assert_int_equal(tensor_clone(NULL, i, &j), CTSC_OK);
    check_close(value_tensor_take(i), value_tensor_take(j), NULL);
    value_unref(got);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static bool body_failures(void) {
    bool ok = true;
    list *l = list_new(LIST_VALUE, NULL, 2);
    dict *d = dict_new(NULL, NULL);
    tuple *t = tuple_new(3, NULL);
    object *o = object_new(NULL, 3);
    complex_box *c = complex_new(1, 2);
    str *s = str_new("some text", 9);
    str *r = str_new_raw(3);
    enum_value *e = s ? enum_new(NULL, "A", value_ref(value_str_take(s))) : NULL;
    ok = l && d && t && o && c && s && r && e;
    for (int i = 0; ok && i < 40; i++) {
        ok = list_append_take(l, value_ref(value_str_take(s))) && ok;
        ok = dict_set_take(d, value_int(i), value_ref(value_str_take(s))) && ok;
        ok = list_insert_take(l, 0, value_int(i)) && ok;
        value v;
        for (int k = 0; k < i; k++) assert_true(dict_get(d, value_int(k), &v));
    }
    if (l) value_unref(value_list_take(l));
    if (d) value_unref(value_dict_take(d));
    if (t) value_unref(value_tuple_take(t));
    if (o) value_unref(value_object_take(o));
    if (e) value_unref(value_enum_take(e));
    if (s) {
        assert_int_equal(s->refs, 1);
        value_unref(value_str_take(s));
    }
    mem_free(c);
    mem_free(r);
    return ok;
}

static void test_failures(void **state) {
    (void)state;
    for (long n = 0; n < 1000; n++) {
        failing_allocator f = {.left = n};
        mem_set_hook(failing_hook, &f);
        bool done = body_failures();
        mem_set_hook(NULL, NULL);
        assert_int_equal(f.live, 0);
        if (done) return;
    }
    fail_msg("never succeeds");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_dict_order),
        cmocka_unit_test(test_dict_random),
        cmocka_unit_test(test_dict_keys),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_deep_free),
        cmocka_unit_test(test_capsule),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_cyclic),
        cmocka_unit_test(test_close_scalars),
        cmocka_unit_test(test_close_containers),
        cmocka_unit_test(test_close_tensors),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
