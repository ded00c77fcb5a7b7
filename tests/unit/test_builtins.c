/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_builtins.c - strings, lists, dicts and numbers: the operators
 * of Python's builtins, against answers of PyTorch (builtin_cases.h),
 * and against expectations written here where an argument changes.
 */
#include "support.h"

#include "ir/op/op.h"
#include "runtime/context/runtime.h"

#include <math.h>

typedef struct builtin_case {
    const char *op, *args, *want, *error;
} builtin_case;

#include "builtin_cases.h"

/* ---- literals
 * --------------------------------------------------------------------------------------- */

static value literal(const char **at, type *t);

static void literal_space(const char **at) {
    while (**at == ' ' || **at == ',' || **at == ':') (*at)++;
}
static bool literal_word(const char **at, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*at, word, n)) return false;
    *at += n;
    return true;
}

static value literal_string(const char **at) {
    strbuf sb = STRBUF_INIT;
    for (++*at; **at != '\''; ++*at) {
        char c = **at;
        if (c == '\\') {
            c = *++*at;
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        sb_putc(&sb, c);
    }
    ++*at;
    value v = value_str_take(str_new(sb_str(&sb), sb.len));
    sb_free(&sb);
    return v;
}

static value literal_list(const char **at, type *t) {
    type *elem = t && t->kind == T_LIST && !t->has_var ? type_elem(t) : NULL;
    list *l = elem ? list_new(type_list_kind(elem), elem, 0) : NULL;
    for (++*at, literal_space(at); **at != ']'; literal_space(at)) {
        value v = literal(at, elem);
        if (!l) l = list_new(type_list_kind(type_of_value(v)), type_of_value(v), 0);
        list_append_take(l, v);
    }
    ++*at;
    return value_list_take(l ? l : list_new(LIST_VALUE, NULL, 0));
}

static value literal_tuple(const char **at) {
    value items[8];
    size_t n = 0;
    for (++*at, literal_space(at); **at != ')'; literal_space(at)) items[n++] = literal(at, NULL);
    ++*at;
    tuple *t = tuple_new(n, NULL);
    memcpy(t->items, items, n * sizeof *items);
    return value_tuple_take(t);
}

static value literal_dict(const char **at) {
    dict *d = dict_new(NULL, NULL);
    for (++*at, literal_space(at); **at != '}'; literal_space(at)) {
        value key = literal(at, NULL);
        literal_space(at);
        value val = literal(at, NULL);
        if (!d->key_type) {
            d->key_type = type_of_value(key);
            d->val_type = type_of_value(val);
        }
        dict_set_take(d, key, val);
    }
    ++*at;
    return value_dict_take(d);
}

static value literal_number(const char **at) {
    char *end;
    double x = strtod(*at, &end);
    size_t n = (size_t)(end - *at);
    bool whole = strcspn(*at, ".eni") >= n;
    value v = whole ? value_int(strtoll(*at, NULL, 10)) : value_float(x);
    *at = end;
    return v;
}

static value literal(const char **at, type *t) {
    if (literal_word(at, "None")) return value_none();
    if (literal_word(at, "True")) return value_bool(true);
    if (literal_word(at, "False")) return value_bool(false);
    if (literal_word(at, "complex(")) {
        double re = literal_number(at).u.f;
        literal_space(at);
        double im = literal_number(at).u.f;
        ++*at;
        return (value){.tag = V_COMPLEX, .u.complex = complex_new(re, im)};
    }
    if (**at == '\'') return literal_string(at);
    if (**at == '[') return literal_list(at, t);
    if (**at == '(') return literal_tuple(at);
    if (**at == '{') return literal_dict(at);
    return literal_number(at);
}

/* ---- running
 * ---------------------------------------------------------------------------------------- */

enum { BUILTIN_ARGS = 8 };

typedef struct call {
    value args[BUILTIN_ARGS];
    int n;
    strbuf text;
    ctsc_status status;
} call;

/* Runs the operator with allocation fail_at of it failing (0: none). */
static void call_run(call *c, const char *key, const char *args, counting *count, long fail_at) {
    const op *o = op_find(key);
    diag d = {0};
    runtime *rt = calloc(1, sizeof *rt);
    value results[4] = {value_none()};
    if (!o || !o->fn) fail_msg("%s is not implemented", key);
    c->n = 0;
    for (literal_space(&args); *args; literal_space(&args)) {
        type *t = c->n < o->schema->nargs ? o->schema->args[c->n].type : NULL;
        c->args[c->n++] = literal(&args, t);
    }
    runtime_init(rt);
    op_ctx cx = {.diag = &d, .rt = rt};
    count->requests = 0;
    count->fail_at = fail_at;
    c->status = op_call(&cx, key, c->n, c->args, results);
    count->fail_at = 0;
    int n = o->schema->nreturns;
    sb_clear(&c->text);
    if (c->status != CTSC_OK) sb_puts(&c->text, diag_message(&d));
    else if (n > 1) sb_putc(&c->text, '(');
    for (int i = 0; c->status == CTSC_OK && i < n; i++) {
        if (i) sb_puts(&c->text, ", ");
        value_print(results[i], &c->text);
    }
    if (c->status == CTSC_OK && n > 1) sb_putc(&c->text, ')');
    for (int i = 0; i < 4; i++) value_unref(results[i]);
    diag_clear(&d);
    free(rt);
}
static void call_release(call *c) {
    for (int i = 0; i < c->n; i++) value_unref(c->args[i]);
}

/* Equal up to the last digits of the numbers in it: the C library's functions are not exact. */
static bool text_close(const char *a, const char *b) {
    while (*a && *b) {
        char *ea, *eb;
        double x = strtod(a, &ea), y = strtod(b, &eb);
        if (ea == a || eb == b) {
            if (*a++ != *b++) return false;
            continue;
        }
        bool dot_a = ea[-1] == '.', dot_b = eb[-1] == '.';
        if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= 1e-13 * fabs(y))) return false;
        if (x == y && dot_a != dot_b) return false;
        a = ea;
        b = eb;
    }
    return *a == *b;
}

/* Says so and returns false if the row is not met. */
static bool builtin_check(const builtin_case *b, counting *count) {
    call c = {.text = STRBUF_INIT};
    call_run(&c, b->op, b->args, count, 0);
    const char *got = sb_str(&c.text);
    bool right = b->want ? c.status == CTSC_OK && text_close(got, b->want)
                         : c.status == CTSC_FAILED && strstr(got, b->error);
    if (!right)
        print_error("%s(%s)\n  gives %s%s\n  not   %s\n", b->op, b->args, c.status ? "!" : "", got,
                    b->want ? b->want : b->error);
    bool met = right;
    call_release(&c);
    long live = count->live;
    call_run(&c, b->op, b->args, count, 0);
    call_release(&c);
    long requests =
        count->requests; /* of what follows the operator too: failing those does no harm */
    for (long k = 1; k <= requests && k < 64; k++) {
        call_run(&c, b->op, b->args, count, k);
        right = c.status == CTSC_LIMIT ||
                (b->want ? text_close(sb_str(&c.text), b->want) : c.status != CTSC_OK);
        if (!right)
            print_error("%s(%s), allocation %ld fails: %s\n", b->op, b->args, k, sb_str(&c.text));
        met &= right;
        call_release(&c);
        c.n = 0;
    }
    sb_free(&c.text);
    if (count->live > live) print_error("%s(%s) loses memory\n", b->op, b->args);
    return met && count->live <= live;
}

static void builtin_check_all(const builtin_case *rows, size_t n) {
    static counting count;
    mem_set_hook(counting_hook, &count);
    op_find("aten::add.int"); /* the index of the operators stays */
    size_t met = 0;
    for (size_t i = 0; i < n; i++) met += builtin_check(&rows[i], &count);
    assert_int_equal(met, n);
}

static void test_answers(void **state) {
    (void)state;
    builtin_check_all(builtin_cases, sizeof builtin_cases / sizeof *builtin_cases);
}

/* ---- what PyTorch answers otherwise than Python, or with words of its own
 * --------------------------------- */

static void test_peculiar(void **state) {
    (void)state;
    static const builtin_case rows[] = {
        {"aten::remainder.int", "1, 0", NULL,
         "integer division or modulo by zero"}, /* PyTorch: a crash */
        {"aten::replace", "'ab', '', '-', -1", "-a-b-", NULL},
        {"aten::count", "'ab', '', 0, -1", "3", NULL},
        {"aten::__getitem__.str", "'abc', 3", NULL, "string index out of range"},
        {"aten::Int.str", "'12abc'", NULL, "invalid literal for int() with base 10: '12abc'"},
        {"aten::Float.str", "''", NULL, "could not convert string to float"},
        {"aten::__lshift__.int", "1, 64", "1", NULL},
        {"prim::abs.int", "-9223372036854775808", "-9223372036854775808", NULL},
        {"aten::floordiv.int", "-9223372036854775808, -1", "-9223372036854775808", NULL},
        {"aten::remainder.int", "-9223372036854775808, -1", "0", NULL},
        {"aten::device", "'cuda'", "cuda", NULL},
        {"aten::device", "'cuda:3'", "cuda:3", NULL},
        {"aten::device", "'disk'", NULL, "device type at start of device string: disk"},
        {"aten::device", "'disk:1'", NULL, "device type at start of device string: disk"},
        {"aten::device", "'cpu:1'", "cpu", NULL},
        {"aten::device", "'cuda:125'", "cuda:125", NULL},
        {"aten::device", "'cuda:126'", NULL, "Could not parse device index '126'"},
        {"aten::device", "'meta'", "meta", NULL},
        {"aten::device", "''", NULL, "Device string must not be empty"},
        {"aten::device", "':0'", NULL, "Invalid device string: ':0'"},
        {"aten::device", "'cuda:'", NULL, "Invalid device string: 'cuda:'"},
        {"aten::device", "'cuda:-1'", NULL, "Invalid device string: 'cuda:-1'"},
        {"aten::device", "'cuda:01'", NULL, "Invalid device string: 'cuda:01'"},
        {"aten::device", "'cuda:1x'", NULL, "Invalid device string: 'cuda:1x'"},
        {"aten::device", "'cuda1'", NULL, "Invalid device string: 'cuda1'"},
        {"aten::device", "'cuda:99999999999999999999'", NULL,
         "Could not parse device index '99999999999999999999' in device string "
         "'cuda:99999999999999999999'"},
        {"aten::_unwrap_optional", "None", NULL, "Unwrapping null optional"},
    };
    builtin_check_all(rows, sizeof rows / sizeof *rows);
}

/* Operators on any element type, which PyTorch's Python interface cannot call. */
static void test_generic(void **state) {
    (void)state;
    static const builtin_case rows[] = {
        {"aten::format", "'{} and {}', 1, 2.5", "1 and 2.5", NULL},
        {"aten::format", "'{}', 1, 2", "1", NULL},
        {"aten::format", "'{} {}', 1", NULL, "Too few arguments for format string: {} {}"},
        {"aten::format", "'{0}{', 1", "{0}{", NULL},
        {"aten::format", "'{}{}{}', ['a'], None, (1, 2.0)", "[a]None(1, 2.)", NULL},
        {"aten::percentFormat", "'%d %s', 1, 'x'", "1 x", NULL},
        {"aten::percentFormat", "'%f|%e', 2.5, 1234.5678", "2.500000|1.234568e+03", NULL},
        {"aten::percentFormat", "'%f', 1234.5678", "1234.567749", NULL}, /* a float32 */
        {"aten::percentFormat", "'%i%%', 3", "3%", NULL},
        {"aten::percentFormat", "'%c%c', 65, 'z'", "Az", NULL},
        {"aten::percentFormat", "'%d %d', 2.9, -2.9", "2 -2", NULL},
        {"aten::percentFormat", "'%d', 'x'", NULL,
         "%d requires a number for formatting, but got String"},
        {"aten::percentFormat", "'%c', 'xy'", NULL,
         "%c requires an int or char for formatting, but got String"},
        {"aten::percentFormat", "'%g', 1.0", NULL,
         "The specifier %g is not supported in TorchScript format strings"},
        {"aten::percentFormat", "'%s %s', 1", NULL, "Too few arguments for format string: %s %s"},
        {"aten::percentFormat", "'%s', 1, 2", NULL, "Too many arguments for format string: %s"},
        {"aten::percentFormat", "'%', 1", NULL, "Incomplete format specifier"},
        {"aten::len.t", "[1, 2]", "2", NULL},
        {"aten::__getitem__.t", "['a', 'b'], -1", "b", NULL},
        {"aten::__getitem__.t", "[1], 3", NULL, "list index out of range"},
        {"aten::add.t", "[1], [2, 3]", "[1, 2, 3]", NULL},
        {"aten::mul.left_t", "[1, 2], 2", "[1, 2, 1, 2]", NULL},
        {"aten::mul.right_", "-1, [1]", "[]", NULL},
        {"aten::slice.t", "[0, 1, 2, 3, 4, 5], None, None, -2", "[5, 3, 1]", NULL},
        {"aten::slice.t", "[0, 1, 2], -100, 2, 1", "[0, 1]", NULL},
        {"aten::slice.t", "[0, 1, 2], 0, 3, 0", NULL, "List slice should have non-zero step"},
        {"aten::list.t", "[1.5]", "[1.5]", NULL},
        {"aten::keys.str", "{'b': 2, 'a': 1}", "[b, a]", NULL},
        {"aten::values.str", "{'b': 2, 'a': 1}", "[2, 1]", NULL},
        {"aten::items.str", "{'b': 2, 'a': 1}", "[(b, 2), (a, 1)]", NULL},
        {"aten::__getitem__.Dict_str", "{'a': 1}, 'a'", "1", NULL},
        {"aten::__getitem__.Dict_str", "{'a': 1}, 'z'", NULL, "KeyError: z"},
        {"aten::get.str", "{'a': 1}, 'z'", "None", NULL},
        {"aten::get.default_str", "{'a': 1}, 'z', 9", "9", NULL},
        {"aten::__contains__.str", "{'a': 1}, 'a'", "True", NULL},
        {"aten::len.Dict_str", "{'a': 1}", "1", NULL},
        {"aten::popitem.str", "{}", NULL, "popitem(): dictionary is empty"},
        {"aten::pop.Dict_str", "{'a': 1}, 'z'", NULL, "KeyError: z"},
        {"aten::pop.Dict_default_str", "{'a': 1}, 'z', 7", "7", NULL},
        {"aten::copy.Dict_str", "{'a': 1}", "{a: 1}", NULL},
        {"aten::frexp", "-3.75", "(-0.9375, 2)", NULL},
        {"aten::modf", "-3.75", "(-0.75, -3.)", NULL},
        {"aten::slice.t", "[0, 1], None, None, -9223372036854775808", NULL,
         "List slice step is out of bounds"},
        {"aten::pow.int", "0, -2", NULL, "0.0 cannot be raised to a negative power"},
        {"aten::pow.float_int", "-0.0, -3", NULL, "0.0 cannot be raised to a negative power"},
        {"aten::pow.int_float", "0, -0.5", NULL, "0.0 cannot be raised to a negative power"},
        {"aten::pow.float", "0.0, 0.0", "1.", NULL},
        /* PyTorch's numbers: programs put things into buckets by them */
        {"aten::hash.generic", "5", "5", NULL},
        {"aten::hash.generic", "-3", "-3", NULL},
        {"aten::hash.generic", "True", "1", NULL},
        {"aten::hash.generic", "None", "0", NULL},
        {"aten::hash.generic", "-0.0", "0", NULL},
        {"aten::hash.generic", "1.5", "4982507072649106663", NULL},
        {"aten::hash.generic", "'a'", "4993892634952068459", NULL},
        {"aten::hash.generic", "(1, 'a')", "4993892805569072552", NULL},
        {"aten::hash.generic", "(2, 'a')", "4993892805569072617", NULL},
        {"aten::hash.generic", "(1, 2)", "175247769363", NULL},
        {"aten::hash.generic", "(1,)", "2654435770", NULL},
        {"aten::hash.generic", "(True, 2, 3)", "11093822460243", NULL},
        {"aten::hash.generic", "(None, 1.5)", "4982507248035406583", NULL},
        {"aten::hash.generic", "[1]", NULL, "unhashable type: 'List[int]'"},
        {"aten::hash.generic", "(1, [2])", NULL, "unhashable type: 'List[int]'"},
        {"aten::hash.generic", "{'a': 1}", NULL, "unhashable type: 'Dict[str, int]'"},
    };
    builtin_check_all(rows, sizeof rows / sizeof *rows);
}

/* ---- methods that change their object
 * ---------------------------------------------------------------------- */

typedef struct method_case {
    const char *op, *args, *after, *want;
} method_case;

static void test_methods(void **state) {
    (void)state;
    static const method_case rows[] = {
        {"aten::append.t", "[1], 2", "[1, 2]", NULL},
        {"aten::extend.t", "[1], [2, 3]", "[1, 2, 3]", NULL},
        {"aten::insert.t", "[1, 2], 0, 9", "[9, 1, 2]", NULL},
        {"aten::insert.t", "[1, 2], -1, 9", "[1, 9, 2]", NULL},
        {"aten::insert.t", "[1, 2], 100, 9", "[1, 2, 9]", NULL},
        {"aten::insert.t", "[1, 2], -100, 9", "[9, 1, 2]", NULL},
        {"aten::pop.t", "[1, 2, 3]", "[1, 2]", "3"},
        {"aten::pop.t", "[1, 2, 3], 0", "[2, 3]", "1"},
        {"aten::pop.t", "[1, 2, 3], -2", "[1, 3]", "2"},
        {"aten::pop.t", "[1], 3", "[1]", "list index out of range"},
        {"aten::remove.int", "[1, 2, 1], 1", "[2, 1]", NULL},
        {"aten::remove.str", "['a'], 'b'", "[a]", "list.remove(x): x not in list"},
        {"aten::reverse.t", "['a', 'b', 'c']", "[c, b, a]", NULL},
        {"aten::clear.t", "[1.5, 2.5]", "[]", NULL},
        {"aten::sort.int", "[3, 1, 2]", "[1, 2, 3]", NULL},
        {"aten::sort.int", "[3, 1, 2], True", "[3, 2, 1]", NULL},
        {"aten::sort.str", "['b', 'B', 'a']", "[B, a, b]", NULL},
        {"aten::sort.float", "[0.5, -1.0]", "[-1., 0.5]", NULL},
        {"aten::sort.bool", "[True, False]", "[False, True]", NULL},
        {"aten::sort.any", "[(2, 'b'), (1, 'z'), (1, 'a')]", "[(1, a), (1, z), (2, b)]", NULL},
        {"aten::_set_item.t", "[1, 2], -1, 9", "[1, 9]", NULL},
        {"aten::_set_item.t", "[1, 2], 2, 9", "[1, 2]", "list index out of range"},
        {"aten::Delete.t", "[1, 2, 3], 1", "[1, 3]", NULL},
        {"aten::add_.t", "[1], [2]", "[1, 2]", NULL},
        {"aten::mul_.t", "[1, 2], 2", "[1, 2, 1, 2]", NULL},
        {"aten::_set_item.str", "{'a': 1}, 'b', 2", "{a: 1, b: 2}", NULL},
        {"aten::_set_item.str", "{'a': 1, 'b': 2}, 'a', 3", "{a: 3, b: 2}", NULL},
        {"aten::Delete.Dict_str", "{'a': 1, 'b': 2}, 'a'", "{b: 2}", NULL},
        {"aten::Delete.Dict_int", "{1: 1}, 2", "{1: 1}", "KeyError"},
        {"aten::pop.Dict_str", "{'a': 1, 'b': 2}, 'a'", "{b: 2}", "1"},
        {"aten::popitem.str", "{'a': 1, 'b': 2}", "{b: 2}", "(a, 1)"},
        {"aten::setdefault.str", "{'a': 1}, 'a', 5", "{a: 1}", "1"},
        {"aten::setdefault.str", "{'a': 1}, 'b', 5", "{a: 1, b: 5}", "5"},
        {"aten::update.str", "{'a': 1}, {'b': 2, 'a': 3}", "{a: 3, b: 2}", NULL},
        {"aten::clear.str", "{'a': 1}", "{}", NULL},
    };
    static counting count;
    mem_set_hook(counting_hook, &count);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        call c = {.text = STRBUF_INIT};
        strbuf after = STRBUF_INIT;
        call_run(&c, rows[i].op, rows[i].args, &count, 0);
        value_print(c.args[0], &after);
        if (strcmp(sb_str(&after), rows[i].after) ||
            (rows[i].want && !strstr(sb_str(&c.text), rows[i].want)))
            fail_msg("%s(%s)\n  gives %s and leaves %s\n  not   %s", rows[i].op, rows[i].args,
                     sb_str(&c.text), sb_str(&after), rows[i].after);
        call_release(&c);
        sb_free(&c.text);
        sb_free(&after);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_peculiar),
        cmocka_unit_test(test_generic),
        cmocka_unit_test(test_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
