/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_schema.c - schema text: every line of src/ir/op/schemas.txt and schemas_2.txt comes back
 * unchanged, and what a parsed schema says.
 */
#include "base/text/embed.h"
#include "ir/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

EMBED(schemas, "src/ir/op/schemas.txt")
EMBED(schemas_2, "src/ir/op/schemas_2.txt")

static schema *parse(arena *a, const char *text) {
    diag d = {0};
    schema *s = NULL;
    if (schema_parse(&d, a, text, strlen(text), &s) != CTSC_OK) fail_msg("%s", diag_message(&d));
    diag_clear(&d);
    return s;
}

static void expect_same(arena *a, const char *text, size_t len) {
    diag d = {0};
    schema *s;
    strbuf sb = STRBUF_INIT;
    if (schema_parse(&d, a, text, len, &s) != CTSC_OK) fail_msg("%s", diag_message(&d));
    schema_print(s, &sb);
    if (sb.len != len || memcmp(sb_str(&sb), text, len))
        fail_msg("want %.*s\ngot  %s", (int)len, text, sb_str(&sb));
    sb_free(&sb);
    schema_free_values(s);
}

static int every_line(arena *a, embedded *from) {
    int n = 0;
    size_t len;
    const char *text = embedded_text(from, &len), *end = text + len;
    assert_non_null(text);
    for (const char *p = text; p < end; n++) {
        const char *e = memchr(p, '\n', (size_t)(end - p));
        if (!e) break;
        expect_same(a, p, (size_t)(e - p));
        p = e + 1;
    }
    return n;
}

static void test_every_line(void **state) {
    (void)state;
    arena a;
    assert_true(arena_init(&a));
    assert_true(every_line(&a, &schemas) > 4000);
    assert_true(every_line(&a, &schemas_2) > 300);
    arena_free(&a);
}

static void test_fields(void **state) {
    (void)state;
    arena a;
    assert_true(arena_init(&a));
    schema *s = parse(
        &a,
        "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, "
        "float p=2, *, ScalarType? dtype=None, str mode=\"a\\n\", bool[3] m=[True, False, True], "
        "MemoryFormat f=contiguous_format, Tensor(a!)[] out) -> (Tensor(a!), int[] n)");
    assert_string_equal(s->name, "aten::conv2d");
    assert_string_equal(s->overload, "");
    assert_int_equal(s->nargs, 10);
    assert_int_equal(s->nreturns, 2);
    assert_true(s->args[2].has_default && s->args[2].default_value.tag == V_NONE);
    assert_ptr_equal(s->args[2].type, type_optional(TYPE_TENSOR));
    /* One int for both. */
    const argument *stride = &s->args[3];
    assert_int_equal(stride->fixed_size, 2);
    assert_int_equal(stride->default_value.tag, V_LIST);
    assert_int_equal(stride->default_value.u.list->len, 2);
    assert_int_equal(stride->default_value.u.list->u.ints[1], 1);
    assert_int_equal(s->args[4].default_value.tag, V_FLOAT);
    assert_false(s->args[4].kwarg_only);
    assert_true(s->args[5].kwarg_only);
    assert_ptr_equal(s->args[5].type, type_optional(TYPE_INT));
    assert_string_equal(s->args[5].type_text, "ScalarType?");
    assert_string_equal(s->args[6].default_value.u.str->bytes, "a\n");
    assert_int_equal(s->args[7].default_value.u.list->kind, LIST_BOOL);
    assert_int_equal(s->args[8].default_value.u.i, 0);
    assert_true(s->has_alias_write && s->args[9].alias->write && s->args[9].alias->elem->write);
    assert_string_equal(s->args[9].alias->elem->before, "a");
    assert_string_equal(s->returns[1].name, "n");
    assert_int_equal(schema_find_arg(s, "weight"), 1);
    assert_int_equal(schema_find_arg(s, "nothing"), -1);
    schema_free_values(s);
    s = parse(&a, "aten::keys.str(Dict(str, t)(a -> *) self, ...) -> (str, t)[]");
    assert_true(s->vararg && !s->has_alias_write && s->args[0].type->has_var);
    assert_int_equal(s->nreturns, 1);
    assert_string_equal(s->args[0].alias->after, "*");
    arena_free(&a);
}

static void test_errors(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "aten::x",
        "aten::x(",
        "aten::x() ->",
        "aten::x(Tensor) -> Tensor",
        "aten::x(Nonsense a) -> int",
        "aten::x(int a=) -> int",
        "aten::x(int a=foo) -> int",
        "aten::x(int[ a) -> int",
        "aten::x(int a) -> int int int",
        "aten::x(str a=\"b) -> int",
        "aten::x(int[2] a=[1, \"b\"]) -> int",
        "aten::x(Tensor(a! a) -> int",
        "aten::x(Dict(int) a) -> int",
        "aten x(int a) -> int",
        "aten::x(int[99999999] a) -> int",
        "aten::x((((((((((((((((((((((((((((((((((((int a) -> int",
    };
    arena a;
    assert_true(arena_init(&a));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        diag d = {0};
        schema *s;
        if (schema_parse(&d, &a, bad[i], strlen(bad[i]), &s) == CTSC_OK)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(d.status, CTSC_FAILED);
        diag_clear(&d);
    }
    arena_free(&a);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static long allocations_left;

static void *failing_hook(void *ctx, void *p, size_t size) {
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(p, size) : NULL;
}

static void test_no_memory(void **state) {
    (void)state;
    static const char text[] =
        "aten::x(int[2] a=1, str b=\"some text\", str[2] c=[\"x\", \"y\"]) -> Tensor";
    for (long n = 0;; n++) {
        allocations_left = n;
        mem_set_hook(failing_hook, NULL);
        arena a;
        diag d = {0};
        schema *s = NULL;
        ctsc_status st = CTSC_LIMIT;
        if (arena_init(&a)) st = schema_parse(&d, &a, text, strlen(text), &s);
        if (st == CTSC_OK) schema_free_values(s);
        diag_clear(&d);
        arena_free(&a);
        mem_set_hook(NULL, NULL);
        if (st == CTSC_OK) break;
        assert_int_equal(st, CTSC_LIMIT);
        assert_true(n < 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_line),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
