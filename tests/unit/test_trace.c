/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace.c - calling operators by name, and tracing: overloads, errors, scopes, recorded
 * graphs, warnings, checks, archives.
 *
 *     test_trace --save FOLDER      writes each case's archive, inputs and results: what tests/interop/traced.py reads
 */
#include "support.h"

#include "trace_cases.h"

#include <unistd.h>

static trace_world world;

typedef struct warnings { int count; char last[512]; } warnings;

static void note_warning(void *ctx, const char *text) {
    warnings *w = ctx;
    w->count++;
    snprintf(w->last, sizeof w->last, "%s", text);
}

#define assert_ok(s)                                                                               \
    do {                                                                                           \
        if (ctsc_scope_status(s) != CTSC_OK)                                                       \
            fail_msg("%s", ctsc_error_message(ctsc_scope_error(s)));                               \
    } while (0)
#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);                      \
    } while (0)

/* The scope failed with a status and a message; it is as new afterwards. */
static void assert_failed(ctsc_scope *s, ctsc_status st, const char *part) {
    assert_int_equal(ctsc_scope_status(s), st);
    assert_contains(ctsc_error_message(ctsc_scope_error(s)), part);
    ctsc_scope_reset(s);
    assert_int_equal(ctsc_scope_status(s), CTSC_OK);
}

static float at(const ctsc_value *t, int i) {
    assert_int_equal(ctsc_tensor_dtype(t), CTSC_FLOAT32);
    return ((const float *)ctsc_tensor_data(t))[i];
}

static ctsc_value *floats(ctsc_scope *s, int n, const float *from) {
    ctsc_value *t = cases_tensor(s, 1, (int64_t[]){n}, 1);
    memcpy(ctsc_tensor_data(t), from, (size_t)n * sizeof *from);
    return t;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void call_overloads(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *x = floats(s, 3, (float[]){1, 2, 3});
    assert_float_equal(at(ctsc_mul(s, x, x), 2), 9, 0);
    assert_float_equal(at(ctsc_mul(s, x, ctsc_float(s, 0.5)), 2), 1.5, 0);
    assert_int_equal(ctsc_value_int(ctsc_mul(s, ctsc_int(s, 6), ctsc_int(s, 7))), 42);
    assert_float_equal(ctsc_value_float(ctsc_div(s, ctsc_int(s, 1), ctsc_int(s, 2))), 0.5, 0);
    assert_float_equal(ctsc_value_float(ctsc_mul(s, ctsc_int(s, 3), ctsc_float(s, 0.5))), 1.5, 0);
    assert_float_equal(at(ctsc_op(s, "aten::mul.Scalar", 2, x, ctsc_int(s, 2)), 1), 4, 0);
    /* number first: a function of the library replaces the operator */
    assert_float_equal(at(ctsc_sub(s, ctsc_int(s, 10), x), 0), 9, 0);
    /* defaults, keywords, one int for int[2], a 0-dim tensor for an int */
    const char *const names[] = {NULL, NULL, "alpha"};
    ctsc_value *args[] = {x, x, ctsc_int(s, 10)};
    assert_float_equal(at(ctsc_scope_call(s, "aten::add", 3, names, args), 2), 33, 0);
    ctsc_value *image = cases_tensor(s, 4, (int64_t[]){1, 1, 4, 4}, 3);
    assert_int_equal(ctsc_tensor_sizes(ctsc_max_pool2d(s, image, 2, 2, 0))[3], 2);
    ctsc_value *zero = ctsc_op(s, "aten::tensor", 1, ctsc_int(s, 0));
    assert_int_equal(ctsc_tensor_ndim(ctsc_op(s, "aten::select", 3, image, zero, zero)), 3);
    assert_ok(s);
    /* several results are a tuple; derived and composite operators; lists */
    ctsc_value *max = ctsc_op(s, "aten::max", 2, x, ctsc_int(s, 0));
    assert_int_equal(ctsc_value_kind(max), CTSC_KIND_TUPLE);
    assert_float_equal(at(ctsc_item(s, max, 0), 0), 3, 0);
    assert_float_equal(at(ctsc_op(s, "aten::diff", 1, x), 1), 1, 0);
    assert_float_equal(at(ctsc_op(s, "aten::hypot_", 2, ctsc_clone(s, x), x), 0), 1.41421356f,
                       1e-6);
    assert_float_equal(at(ctsc_sum_dim(s, x, 0, false), 0), 6, 0);
    ctsc_value *index = ctsc_op(s, "aten::argsort", 1, ctsc_neg(s, x)),
               *list = ctsc_list(s, 1, &index);
    assert_float_equal(at(ctsc_op(s, "aten::index", 2, x, list), 0), 3, 0);
    assert_float_equal(
        at(ctsc_op(s, "aten::permute", 2, x, ctsc_list(s, 1, (ctsc_value *[]){ctsc_int(s, 0)})), 2),
        3, 0);
    ctsc_value *scalar = ctsc_op(s, "aten::sum", 1, x);
    assert_int_equal(
        ctsc_tensor_ndim(ctsc_op(s, "aten::permute", 2, scalar, ctsc_list(s, 0, NULL))), 0);
    /* nothing is given back */
    assert_int_equal(ctsc_value_kind(ctsc_op(s, "aten::manual_seed", 1, ctsc_int(s, 3))),
                     CTSC_KIND_NONE);
    assert_ok(s);
    ctsc_scope_free(s);
}

static void call_alone(void **state) {
    (void)state;
    ctsc_error *e = ctsc_error_new();
    ctsc_value *two = ctsc_int_new(2), *half = ctsc_float_new(0.5), *args[] = {two, half},
               *out = NULL, *text = ctsc_string_new("a", 1);
    assert_int_equal(ctsc_call("aten::mul", 2, args, &out, e), CTSC_OK);
    assert_float_equal(ctsc_value_float(out), 1, 0);
    ctsc_value_free(out);
    out = NULL;
    const char *const names[] = {NULL, "b"};
    assert_int_equal(ctsc_call_with("aten::add.int", 2, names, (ctsc_value *[]){two, two}, &out, e),
                     CTSC_OK);
    assert_int_equal(ctsc_value_int(out), 4);
    ctsc_value_free(out);
    out = NULL;
    assert_int_equal(ctsc_call("aten::mul", 2, (ctsc_value *[]){two, NULL}, &out, e), CTSC_USAGE);
    assert_int_equal(ctsc_call("aten::sqrt", 1, &text, &out, e), CTSC_FAILED);
    assert_contains(ctsc_error_message(e), "Arguments for call are not valid: aten::sqrt(str)");
    char *all = ctsc_error_render(e, false);
    assert_contains(
        all, "Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'");
    ctsc_string_free(all);
    assert_int_equal(ctsc_call("aten::sqrt", 1, &text, &out, NULL), CTSC_FAILED);
    assert_null(out);
    ctsc_value_free(two), ctsc_value_free(half), ctsc_value_free(text);
    ctsc_error_free(e);
}

static void call_errors(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    int64_t n3 = 3, n4 = 4;
    ctsc_value *x = cases_tensor(s, 1, &n3, 1), *y = cases_tensor(s, 1, &n4, 1);
    assert_null(ctsc_relu(s, ctsc_add(s, x, y)));
    assert_null(ctsc_int(s, 1));
    assert_null(ctsc_take(s, ctsc_int_new(1)));
    assert_failed(s, CTSC_FAILED, "The size of tensor a (3) must match the size of tensor b (4)");
    assert_null(ctsc_op(s, "aten::reluu", 0));
    assert_failed(s, CTSC_FAILED, "similar ones are aten::relu");
    assert_null(ctsc_op(s, "aten::mul.Nonsense", 0));
    assert_failed(s, CTSC_FAILED, "there is no operator 'aten::mul.Nonsense'");
    assert_null(ctsc_op(s, "aten::relu", 0));
    assert_failed(s, CTSC_FAILED, "Argument self not provided");
    assert_null(ctsc_op(s, "aten::relu", 1, ctsc_int(s, 1)));
    assert_failed(s, CTSC_FAILED, "instead found type 'int'");
    assert_null(ctsc_relu(s, NULL));
    assert_failed(s, CTSC_USAGE, "an argument is NULL");
    assert_null(ctsc_list(s, 1, (ctsc_value *[]){NULL}));
    assert_failed(s, CTSC_USAGE, "an argument is NULL");
    assert_null(ctsc_take(s, NULL));
    assert_failed(s, CTSC_USAGE, "an argument is NULL");
    assert_null(ctsc_item(s, ctsc_ints(s, 1, &n3), 1));
    assert_failed(s, CTSC_USAGE, "no item 1 among 1");
    assert_null(ctsc_item(s, ctsc_int(s, 1), 0));
    assert_failed(s, CTSC_USAGE, "neither a list nor a tuple");
    const char *const names[] = {"self", NULL};
    assert_null(ctsc_scope_call(s, "aten::add", 2, names,
                                (ctsc_value *[]){ctsc_int(s, 1), ctsc_int(s, 2)}));
    assert_failed(s, CTSC_USAGE, "a positional argument follows a keyword argument");
    const char *const wrong[] = {"a", "c"};
    assert_null(ctsc_scope_call(s, "aten::add.int", 2, wrong,
                                (ctsc_value *[]){ctsc_int(s, 1), ctsc_int(s, 2)}));
    assert_failed(s, CTSC_FAILED, "Keyword argument c unknown");
    assert_null(ctsc_attribute(s, world.first, "inner.shift"));
    assert_failed(s, CTSC_USAGE, "no attribute 'inner.shift'");
    assert_null(ctsc_run(s, world.first, "backward", 0, NULL));
    assert_failed(s, CTSC_USAGE, "no method 'backward'");
    assert_null(ctsc_run(s, NULL, "forward", 0, NULL));
    assert_failed(s, CTSC_USAGE, "the module is NULL");
    assert_int_equal(ctsc_scope_status(NULL), CTSC_LIMIT);
    assert_null(ctsc_relu(NULL, NULL));
    ctsc_scope_free(NULL);
    ctsc_scope_free(s);
}

/* ---- cases: every one traced, checked, run at every level, saved, loaded --------------------- */

static void case_inputs(const trace_case *c, ctsc_scope *s, int64_t n, ctsc_value **in) {
    for (int i = 0; i < c->ninputs; i++) in[i] = c->input(s, i, n);
    assert_ok(s);
}

static ctsc_module *case_trace(const trace_case *c, warnings *w) {
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *in[TRACE_CASE_INPUTS], *other[TRACE_CASE_INPUTS];
    case_inputs(c, s, 3, in);
    case_inputs(c, s, 5, other);
    ctsc_value *const *const others[] = {other};
    ctsc_trace_options o = {.size = sizeof o,
                            .name = "Case",
                            .warn = note_warning,
                            .ctx = w,
                            .check_count = 1,
                            .check_inputs = others};
    ctsc_module *m = NULL;
    ctsc_status st = ctsc_trace(c->fn, &world, (size_t)c->ninputs, in, &o, &m, e);
    if (st != CTSC_OK) fail_msg("%s: %s", c->name, ctsc_error_message(e));
    ctsc_scope_free(s);
    ctsc_error_free(e);
    return m;
}

/* What the function itself gives, and what it leaves in its inputs. */
static ctsc_value *case_expected(const trace_case *c, ctsc_scope *s, ctsc_value *const *in) {
    ctsc_value *want = c->fn(&world, s, (size_t)c->ninputs, in);
    assert_ok(s);
    return want;
}

static void case_run(const trace_case *c, const ctsc_module *m, int64_t n, const char *what) {
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *in[TRACE_CASE_INPUTS], *same[TRACE_CASE_INPUTS], *got = NULL;
    char *why = NULL;
    case_inputs(c, s, n, in);
    case_inputs(c, s, n, same);
    ctsc_value *want = case_expected(c, s, in);
    if (ctsc_module_run(m, "forward", (size_t)c->ninputs, same, NULL, &got, e) != CTSC_OK)
        fail_msg("%s, %s: %s", c->name, what, ctsc_error_message(e));
    if (!ctsc_value_close(got, want, 1e-5, 1e-6, &why))
        fail_msg("%s, %s, %d rows: %s", c->name, what, (int)n, why);
    for (int i = 0; i < c->ninputs; i++)
        if (!ctsc_value_close(same[i], in[i], 1e-5, 1e-6, &why))
            fail_msg("%s, %s, %d rows, its input: %s", c->name, what, (int)n, why);
    ctsc_value_free(got);
    ctsc_scope_free(s);
    ctsc_error_free(e);
}

static void cases_all(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/ctsc_test_trace_%d.pt", (int)getpid());
    for (int k = 0; k < TRACE_CASES; k++) {
        warnings w = {0};
        ctsc_error *e = ctsc_error_new();
        ctsc_module *m = case_trace(&trace_cases[k], &w), *loaded = NULL;
        for (int level = 0; level <= 3; level++) {
            char what[24];
            snprintf(what, sizeof what, "level %d", level);
            assert_int_equal(ctsc_module_set_opt(m, level, e), CTSC_OK);
            for (int round = 0; round < 3; round++) case_run(&trace_cases[k], m, 4 + round, what);
        }
        if (ctsc_module_save(m, path, e) != CTSC_OK ||
            ctsc_module_load(path, &loaded, e) != CTSC_OK)
            fail_msg("%s: %s", trace_cases[k].name, ctsc_error_message(e));
        ctsc_module_free(m);
        for (int round = 0; round < 2; round++)
            case_run(&trace_cases[k], loaded, 4 + round, "loaded");
        assert_int_equal(ctsc_module_freeze(loaded, true, e), CTSC_OK);
        case_run(&trace_cases[k], loaded, 6, "frozen");
        ctsc_module_free(loaded);
        ctsc_error_free(e);
        bool constant = !strcmp(trace_cases[k].name, "constant");
        if (w.count != constant)
            fail_msg("%s: %d warnings: %s", trace_cases[k].name, w.count, w.last);
    }
    unlink(path);
}

/* ---- what is recorded ------------------------------------------------------------------------ */

static char *graph_of(const ctsc_module *m) {
    char *text = NULL;
    assert_int_equal(ctsc_module_graph(m, "forward", 0, &text, NULL), CTSC_OK);
    return text;
}

static ctsc_module *trace_end(ctsc_scope *s, const ctsc_value *result) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    if (ctsc_trace_end(s, result, &m, e) != CTSC_OK) fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return m;
}

static void trace_graph_text(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *x = cases_rows(s, 0, 3);
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
    ctsc_value *in = ctsc_input(s, "x", x);
    /* numbers of the program's own are computed by it */
    ctsc_value *three = ctsc_add(s, ctsc_int(s, 1), ctsc_int(s, 2));
    ctsc_value *y = ctsc_add(
        s, ctsc_linear(s, in, ctsc_parameter(s, "fc.weight", world.weight[0]), NULL), three);
    ctsc_relu(s, x); /* x itself, in another handle, is the input too; this one is not used */
    ctsc_module *m = trace_end(s, ctsc_mul_(s, y, ctsc_sum(s, x)));
    char *text = graph_of(m);
    assert_string_equal(text, "graph(%self : __torch__.Traced,\n"
                              "      %x : Tensor):\n"
                              "  %7 : NoneType = prim::Constant()\n"
                              "  %9 : int = prim::Constant[value=3]()\n"
                              "  %10 : int = prim::Constant[value=1]()\n"
                              "  %fc : __torch__.Traced_fc = prim::GetAttr[name=\"fc\"](%self)\n"
                              "  %weight : Tensor = prim::GetAttr[name=\"weight\"](%fc)\n"
                              "  %8 : Tensor = aten::linear(%x, %weight, %7)\n"
                              "  %11 : Tensor = aten::add(%8, %9, %10)\n"
                              "  %14 : Tensor = aten::sum(%x, %7)\n"
                              "  %15 : Tensor = aten::mul_(%11, %14)\n"
                              "  return (%15)\n");
    ctsc_string_free(text);
    text = ctsc_module_method_schema(m, "forward");
    assert_string_equal(text, "forward(Tensor x) -> Tensor");
    ctsc_string_free(text);
    ctsc_module_free(m);
    ctsc_scope_free(s);
}

typedef struct attributes { int n; char text[512]; } attributes;

static void note_attribute(void *ctx, const ctsc_attribute_info *a) {
    attributes *all = ctx;
    size_t len = strlen(all->text);
    all->n++;
    snprintf(all->text + len, sizeof all->text - len, "%s%s ", a->name,
             a->is_parameter ? "(p)"
             : a->is_buffer  ? "(b)"
                             : "");
}

static void trace_attributes(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *x = cases_rows(s, 0, 3);
    assert_int_equal(ctsc_trace_begin(s, &(ctsc_trace_options){.size = sizeof(ctsc_trace_options),
                                                               .name = "Net"}),
                     CTSC_OK);
    ctsc_value *in = ctsc_input(s, "x", x);
    ctsc_value *scale = ctsc_attribute(s, world.first, "inner.scale"),
               *k = ctsc_parameter(s, "k", ctsc_int(s, 2));
    ctsc_buffer(s, "unused", world.weight[3]);
    ctsc_value *other = ctsc_parameter(s, "other.scale",
                                       ctsc_attribute(s, world.second, "inner.scale"));
    ctsc_value *y = ctsc_mul(s, ctsc_mul(s, ctsc_mul(s, in, scale), other), k);
    y = ctsc_matmul(s, y, ctsc_transpose(s, ctsc_buffer(s, "a.0.b", world.weight[0]), 0, 1));
    ctsc_module *m = trace_end(s, ctsc_add(s, y, ctsc_parameter(s, "late", world.weight[1])));
    attributes all = {0};
    ctsc_module_attributes(m, note_attribute, &all);
    assert_string_equal(all.text, "inner.scale(p) inner.training other.scale(p) other.training k "
                                  "a.0.b(b) a.0.training a.training late(p) training ");
    ctsc_module_free(m);
    ctsc_scope_free(s);
}

static void trace_warnings(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *x = cases_rows(s, 0, 3), *loose = cases_rows(s, 1, 3);
    warnings w = {0};
    assert_int_equal(ctsc_trace_begin(s, &(ctsc_trace_options){.size = sizeof(ctsc_trace_options),
                                                               .warn = note_warning,
                                                               .ctx = &w}),
                     CTSC_OK);
    ctsc_value *in = ctsc_input(s, "x", x), *sum = ctsc_sum(s, in), *rows = ctsc_size(s, in, 0);
    assert_int_equal(w.count, 0);
    /* a value that the program looks at; once is enough */
    double total = ctsc_value_float(ctsc_op(s, "aten::item", 1, sum));
    assert_int_equal(w.count, 1);
    assert_contains(w.last, "ctsc_value_float reads a traced value of type float");
    assert_int_equal(ctsc_value_int(rows), 3);
    ctsc_value_int(rows);
    assert_int_equal(w.count, 2);
    ctsc_tensor_data(in);
    assert_int_equal(w.count, 3);
    ctsc_tensor_sizes(in); /* sizes are constants, that is known */
    ctsc_value_int(ctsc_int(s, 3));
    assert_int_equal(w.count, 3);
    /* a tensor that comes from nowhere, once as well */
    ctsc_value *y = ctsc_add(s, ctsc_mul(s, in, loose), loose);
    assert_int_equal(w.count, 4);
    assert_contains(w.last, "becomes a constant of the trace (Float, sizes [3, 4])");
    ctsc_module *m = trace_end(s, ctsc_mul(s, y, ctsc_float(s, total)));
    assert_int_equal(w.count, 4);
    ctsc_value_int(rows); /* the trace is over */
    assert_int_equal(w.count, 4);
    ctsc_module_free(m);
    /* a result that depends on nothing */
    assert_int_equal(ctsc_trace_begin(s, &(ctsc_trace_options){.size = sizeof(ctsc_trace_options),
                                                               .warn = note_warning,
                                                               .ctx = &w}),
                     CTSC_OK);
    m = trace_end(s, ctsc_int(s, 3));
    assert_contains(w.last, "it is a constant");
    ctsc_module_free(m);
    ctsc_scope_free(s);
}

static void trace_errors(void **state) {
    (void)state;
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_module *m = NULL;
    ctsc_value *five = ctsc_int_new(5);
    assert_int_equal(ctsc_trace_end(s, five, &m, e), CTSC_USAGE);
    assert_int_equal(ctsc_trace_begin(s, &(ctsc_trace_options){.size = sizeof(ctsc_trace_options),
                                                               .name = "a.b"}),
                     CTSC_USAGE);
    assert_failed(s, CTSC_USAGE, "cannot be the name of a class");
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_USAGE);
    assert_failed(s, CTSC_USAGE, "tracing already");
    /* the scope's error is the trace's */
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
    ctsc_op(s, "aten::nothing", 0);
    assert_int_equal(ctsc_trace_end(s, NULL, &m, e), CTSC_FAILED);
    assert_contains(ctsc_error_message(e), "there is no operator");
    ctsc_scope_reset(s);
    /* names */
    static const struct { const char *first, *second, *why; } names[] = {
        {"x", "x", "two inputs called 'x'"},
        {"x", "a-b", "cannot be the name of an input"},
        {"self", "y", "cannot be the name of an input"},
        {"x", "lambda", "cannot be the name of an input"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
        ctsc_input(s, names[i].first, five);
        assert_null(ctsc_input(s, names[i].second, five));
        assert_failed(s, CTSC_USAGE, names[i].why);
    }
    static const char *const bad[] = {"",         "a..b",      ".a",  "a.",
                                      "training", "a.forward", "a b", "in.weight"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
        assert_null(ctsc_parameter(s, bad[i], world.weight[0]));
        assert_failed(s, CTSC_USAGE, "cannot be the name of an attribute");
    }
    static const char *const clash[][2] = {{"a", "a"}, {"a", "a.b"}, {"a.b", "a"}};
    for (size_t i = 0; i < sizeof clash / sizeof *clash; i++) {
        assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
        ctsc_value *a = ctsc_parameter(s, clash[i][0], world.weight[1]),
                   *b = ctsc_parameter(s, clash[i][1], world.weight[3]);
        assert_null(ctsc_add(s, a, b));
        assert_int_equal(ctsc_scope_status(s), CTSC_USAGE);
        ctsc_scope_reset(s);
    }
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
    ctsc_value *in = ctsc_input(s, "x", world.weight[1]);
    assert_null(ctsc_parameter(s, "p", in));
    assert_failed(s, CTSC_USAGE, "is an input");
    /* a program that goes away while it traces */
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
    ctsc_relu(s, ctsc_input(s, "x", world.weight[1]));
    ctsc_value_free(five);
    ctsc_scope_free(s);
    ctsc_error_free(e);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* The program's own branch on a value. */
static ctsc_value *planted_branch(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    ctsc_value *x = ctsc_relu(s, in[0]);
    bool large = ctsc_value_float(ctsc_op(s, "aten::item", 1, ctsc_sum(s, x))) > 50;
    return large ? ctsc_tanh(s, x) : ctsc_sigmoid(s, x);
}
/* A number that it read and computed with. */
static ctsc_value *planted_number(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    double top = ctsc_value_float(ctsc_op(s, "aten::item", 1, ctsc_max(s, in[0])));
    return ctsc_exp(s, ctsc_sub(s, in[0], ctsc_float(s, top)));
}
/* A size that it read. */
static ctsc_value *planted_size(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    ctsc_value *x = in[0];
    for (int64_t i = 0; i < ctsc_tensor_sizes(in[0])[0]; i++) x = ctsc_add(s, x, in[0]);
    return x;
}
/* It does not do the same twice. */
static ctsc_value *planted_state(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)n;
    return ctsc_mul(s, in[0], ctsc_int(s, ++*(int *)ctx));
}
static ctsc_value *planted_nothing(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)s, (void)n, (void)in;
    return NULL;
}

static void check_finds(ctsc_trace_fn fn, const char *part, const char *note) {
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    int calls = 0;
    ctsc_value *in = cases_rows(s, 0, 2),
               *other = ctsc_mul(s, cases_rows(s, 1, 4), ctsc_int(s, 100));
    ctsc_value *const *const others[] = {&other};
    ctsc_trace_options o = {.size = sizeof o, .check_count = 1, .check_inputs = others};
    ctsc_module *m = NULL;
    assert_int_equal(ctsc_trace(fn, &calls, 1, &in, &o, &m, e), CTSC_FAILED);
    assert_null(m);
    assert_contains(ctsc_error_message(e), part);
    char *all = ctsc_error_render(e, false);
    assert_contains(all, note);
    ctsc_string_free(all);
    /* without a check it is what was recorded */
    o.skip_check = true;
    assert_int_equal(ctsc_trace(fn, &calls, 1, &in, &o, &m, e), CTSC_OK);
    ctsc_module_free(m);
    ctsc_scope_free(s);
    ctsc_error_free(e);
}

static void trace_checks(void **state) {
    (void)state;
    check_finds(planted_branch,
                "its call number 4 is aten::tanh, where the trace has aten::sigmoid",
                "set 0 of check inputs");
    check_finds(planted_number, "call number 3, aten::sub, is the first that differs",
                "set 0 of check inputs");
    check_finds(planted_size,
                "the function made a call that the trace does not have: number 3, aten::add",
                "set 0 of check inputs");
    check_finds(planted_state, "call number 1, aten::mul, is the first that differs",
                "the example inputs");
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    assert_int_equal(ctsc_trace(planted_nothing, NULL, 0, NULL, NULL, &m, e), CTSC_USAGE);
    assert_int_equal(ctsc_trace(planted_nothing, NULL, 1, (ctsc_value *[]){NULL}, NULL, &m, e),
                     CTSC_USAGE);
    ctsc_error_free(e);
}

/* Random numbers: the module draws what a new program draws. */
static ctsc_value *random_noise(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *in) {
    (void)ctx, (void)n;
    return ctsc_op(s, "aten::dropout", 3,
                   ctsc_add(s, in[0], ctsc_op(s, "aten::rand_like", 1, in[0])), ctsc_float(s, 0.5),
                   ctsc_bool(s, true));
}

static void trace_random(void **state) {
    (void)state;
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *in = cases_rows(s, 0, 4);
    ctsc_module *m = NULL;
    if (ctsc_trace(random_noise, NULL, 1, &in, NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_module_free(m);
    ctsc_scope_free(s);
    ctsc_error_free(e);
}

/* ---- scripts --------------------------------------------------------------------------------- */

static void trace_script(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_error *e = ctsc_error_new();
    ctsc_module *own = NULL;
    assert_int_equal(
        ctsc_module_compile_text("loop.py", cases_script, strlen(cases_script), NULL, &own, e),
        CTSC_OK);
    ctsc_value *x = cases_rows(s, 0, 2);
    assert_int_equal(ctsc_trace_begin(s, &(ctsc_trace_options){.size = sizeof(ctsc_trace_options),
                                                               .name = "Loop"}),
                     CTSC_OK);
    ctsc_value *in = ctsc_input(s, "x", x), *pair = ctsc_run(s, own, "forward", 1, &in);
    ctsc_value *again = ctsc_run(s, own, "forward", 1, (ctsc_value *[]){ctsc_item(s, pair, 0)});
    ctsc_module *m = trace_end(s, ctsc_item(s, again, 0));
    char *text = graph_of(m), *inlined = NULL;
    assert_contains(text, "%loop : __torch__.loop.Loop = prim::GetAttr[name=\"loop\"](%self)");
    assert_contains(text, "prim::CallMethod[name=\"forward\"](%loop, %x,");
    assert_null(strstr(text, "loop_1"));
    assert_int_equal(ctsc_module_graph(m, "forward", CTSC_GRAPH_INLINED, &inlined, e), CTSC_OK);
    assert_contains(inlined, "prim::Loop");
    assert_contains(inlined, "prim::If");
    ctsc_string_free(text), ctsc_string_free(inlined);
    /* the trace does not need the module it was made with */
    ctsc_module_free(own);
    ctsc_value *got = NULL;
    assert_int_equal(ctsc_module_run(m, "forward", 1, &x, NULL, &got, e), CTSC_OK);
    ctsc_value_free(got);
    ctsc_module_free(m);
    ctsc_error_free(e);
    ctsc_scope_free(s);
}

/* ---- archives for PyTorch -------------------------------------------------------------------- */

static bool save_value(const char *folder, const char *name, const char *what, ctsc_scope *s,
                       size_t n, ctsc_value *const *items) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%s.pt", folder, name, what);
    ctsc_value *t = ctsc_tuple(s, n, items);
    return t && ctsc_value_save(t, path, NULL) == CTSC_OK;
}

static int save_all(const char *folder) {
    bool ok = true;
    for (int k = 0; k < TRACE_CASES; k++) {
        const trace_case *c = &trace_cases[k];
        warnings w = {0};
        char path[512];
        ctsc_module *m = case_trace(c, &w);
        snprintf(path, sizeof path, "%s/%s.pt", folder, c->name);
        ok &= ctsc_module_save(m, path, NULL) == CTSC_OK;
        ctsc_module_free(m);
        for (int round = 0; round < 2; round++) {
            ctsc_scope *s = ctsc_scope_new();
            ctsc_value *in[TRACE_CASE_INPUTS];
            case_inputs(c, s, 3 + 4 * round, in);
            ok &= save_value(folder, c->name, round ? "inputs2" : "inputs", s, (size_t)c->ninputs,
                             in);
            ctsc_value *out = case_expected(c, s, in);
            ok &= save_value(folder, c->name, round ? "expected2" : "expected", s, 1, &out);
            ctsc_scope_free(s);
        }
    }
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_overloads),   cmocka_unit_test(call_alone),
        cmocka_unit_test(call_errors),      cmocka_unit_test(cases_all),
        cmocka_unit_test(trace_graph_text), cmocka_unit_test(trace_attributes),
        cmocka_unit_test(trace_warnings),   cmocka_unit_test(trace_errors),
        cmocka_unit_test(trace_checks),     cmocka_unit_test(trace_random),
        cmocka_unit_test(trace_script),
    };
    ctsc_error *e = ctsc_error_new();
    if (!cases_world(&world, e)) {
        fprintf(stderr, "%s\n", ctsc_error_message(e));
        return 1;
    }
    int code = argc == 3 && !strcmp(argv[1], "--save") ? save_all(argv[2])
                                                       : cmocka_run_group_tests(tests, NULL, NULL);
    cases_world_free(&world);
    ctsc_error_free(e);
    return code;
}
