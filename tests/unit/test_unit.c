/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unit.c - compilation units: names, compiling on demand, recursion, failures, and the cycle
 * between a unit and the values it holds.
 */
#include "ir/graph/graph.h"
#include "ir/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- a front end of sorts -------------------------------------------------------------------- */

static int compiled;

/* "good": a graph; "self": calls itself; "bad": an error; "poor": no memory, the first time. */
static ctsc_status test_compile(function *f, diag *d) {
    static bool was_poor;
    compiled++;
    if (!strcmp(f->name, "self")) return function_ensure_compiled(f, d);
    if (!strcmp(f->name, "bad")) {
        diag_fail(d, CTSC_FAILED, "it does not type");
        diag_note(d, (source_range){0}, "a note");
        diag_frame(d, (source_range){0}, "outer");
        return CTSC_FAILED;
    }
    if (!strcmp(f->name, "poor") && !was_poor) {
        was_poor = true;
        return diag_no_memory(d);
    }
    if (!(f->graph = graph_new())) return diag_no_memory(d);
    graph_constant_str(f->graph, "hello", 5);
    return CTSC_OK;
}

static ctsc_status test_import(unit *u, diag *d, const char *qualified) {
    if (!strcmp(qualified, "__torch__.broken"))
        return diag_fail(d, CTSC_BAD_FILE, "cannot read it");
    if (!strcmp(qualified, "__torch__.C")) {
        type *c = type_class_new(u, T_CLASS, qualified);
        return strmap_put(&u->classes, class_name(c), c) ? CTSC_OK : diag_no_memory(d);
    }
    if (!strcmp(qualified, "__torch__.f") && !unit_add_function(u, qualified, NULL))
        return diag_no_memory(d);
    return CTSC_OK;
}

static unit *unit_for_test(void) {
    unit *u = unit_new();
    assert_non_null(u);
    u->compile = test_compile;
    u->import = test_import;
    compiled = 0;
    return u;
}

static void expect_error(ctsc_status got, ctsc_status want, diag *d, const char *message) {
    assert_int_equal(got, want);
    assert_string_equal(diag_message(d), message);
    diag_clear(d);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_resolve(void **state) {
    (void)state;
    unit *u = unit_for_test();
    diag d = {0};
    type *t = NULL;
    function *f = NULL;
    assert_int_equal(unit_resolve(u, &d, "__torch__.C", &t, &f), CTSC_OK);
    assert_true(t && !f);
    type *again;
    assert_int_equal(unit_resolve(u, &d, "__torch__.C", &again, &f), CTSC_OK);
    assert_ptr_equal(t, again);
    assert_int_equal(unit_resolve(u, &d, "__torch__.f", &t, &f), CTSC_OK);
    assert_true(!t && f);
    assert_string_equal(f->name, "f");
    assert_int_equal(unit_resolve(u, &d, "__torch__.nothing", &t, &f), CTSC_OK);
    assert_true(!t && !f);
    expect_error(unit_resolve(u, &d, "__torch__.broken", &t, &f), CTSC_BAD_FILE, &d,
                 "cannot read it");
    unit_unref(u);
}

static void test_compiling(void **state) {
    (void)state;
    unit *u = unit_for_test();
    diag d = {0};
    function *good = unit_add_function(u, "__torch__.good", NULL);
    assert_int_equal(function_ensure_compiled(good, &d), CTSC_OK);
    assert_int_equal(function_ensure_compiled(good, &d), CTSC_OK);
    assert_int_equal(compiled, 1);
    assert_non_null(good->graph);
    /* An error is kept, and told again with its notes and frames. */
    function *bad = unit_add_function(u, "__torch__.bad", NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(function_ensure_compiled(bad, &d), CTSC_FAILED);
        assert_int_equal(d.items.len, 3);
        expect_error(d.status, CTSC_FAILED, &d, "it does not type");
    }
    assert_int_equal(compiled, 2);
    function *self = unit_add_function(u, "__torch__.C.self", NULL);
    expect_error(function_ensure_compiled(self, &d), CTSC_FAILED, &d,
                 "function 'self' is called recursively. Recursive calls are not supported");
    /* Memory may be there the next time. */
    function *poor = unit_add_function(u, "__torch__.poor", NULL);
    expect_error(function_ensure_compiled(poor, &d), CTSC_LIMIT, &d, "out of memory");
    assert_int_equal(function_ensure_compiled(poor, &d), CTSC_OK);
    /* Nothing compiles once the program is closed. */
    unit_close(u);
    assert_null(good->graph);
    assert_int_equal(function_ensure_compiled(good, &d), CTSC_FAILED);
    diag_clear(&d);
    unit_unref(u);
}

/* Enum members refer to the unit that holds them; an object outlives the program's handle. */
static void test_cycles(void **state) {
    (void)state;
    unit *u = unit_for_test();
    type *color = type_class_new(u, T_ENUM, "__torch__.Color");
    assert_true(class_add_constant(color, "RED", value_int(1), color) && class_add_members(color));
    type *c = type_class_new(u, T_CLASS, "__torch__.C");
    object *o = object_new(c, 1);
    o->slots[0] = value_ref(color->cls->enum_members[0]);
    value_set(&u->constants, value_object_take(object_new(c, 0)));
    list *l = list_new(LIST_VALUE, type_list(c), 0);
    assert_true(atomic_load(&u->refs) >= 4);
    unit_close(u);
    unit_unref(u);
    assert_string_equal(class_name(o->cls), "__torch__.C");
    value_unref(value_object_take(o));
    assert_string_equal(class_name(type_elem(l->elem)), "__torch__.C");
    value_unref(value_list_take(l));
}

static long allocations_left;

static void *failing_hook(void *ctx, void *p, size_t size) {
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(p, size) : NULL;
}

static bool without_memory(long n) {
    diag d = {0};
    type *t = NULL;
    function *f = NULL;
    allocations_left = n;
    mem_set_hook(failing_hook, NULL);
    unit *u = unit_new();
    bool ok = u != NULL;
    if (ok) {
        u->compile = test_compile;
        u->import = test_import;
        ok = unit_resolve(u, &d, "__torch__.C", &t, &f) == CTSC_OK && t;
        if (ok) type_dict(TYPE_STR, type_list(t));
        f = ok ? unit_add_function(u, "__torch__.good", NULL) : NULL;
        ok = f && function_ensure_compiled(f, &d) == CTSC_OK && !arena_failed(&u->arena);
        f = ok ? unit_add_function(u, "__torch__.bad", NULL) : NULL;
        ok = f && function_ensure_compiled(f, &d) == CTSC_FAILED && f->error && d.items.len == 3;
    }
    unit_unref(u);
    diag_clear(&d);
    mem_set_hook(NULL, NULL);
    type_table_failed();
    return ok;
}

static void test_no_memory(void **state) {
    (void)state;
    for (long n = 0; !without_memory(n); n++) assert_true(n < 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_compiling),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
