/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_composite.c - operators that are written in TorchScript have bodies that fit their schemas;
 * overloads without a row follow from one with the same arguments.
 */
#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/ops/composite_texts.h"
#include "runtime/ops/registry.h"
#include "tensor/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int composites, derived;

/* Optional arguments may be declared by what they hold, numbers by any kind of them. */
static void check_body(const op *o) {
    diag d = {0};
    const function *f = op_composite_body(o, &d);
    if (!f) fail_msg("%s: %s", o->key, diag_message(&d));
    assert_ptr_equal(op_composite_body(o, &d), f);
    if (f->schema->nargs != o->schema->nargs)
        fail_msg("%s: %d parameters, not %d", o->key, f->schema->nargs, o->schema->nargs);
    for (int i = 0; i < f->schema->nargs; i++)
        if (strcmp(f->schema->args[i].name, o->schema->args[i].name))
            fail_msg("%s: parameter %d is %s, not %s", o->key, i, f->schema->args[i].name,
                     o->schema->args[i].name);
    for (const node *n = f->graph->root->first; n; n = n->next)
        if (n->kind == N_CALL_FUNCTION || n->kind == N_CALL_METHOD)
            fail_msg("%s: a call is left", o->key);
    const type *returned = f->graph->root->returns.data[0]->type;
    int returns = returned->kind == T_TUPLE ? returned->nelems : returned->kind == T_NONE ? 0 : 1;
    if (o->schema->nreturns != returns)
        fail_msg("%s: %d results, not %d", o->key, returns, o->schema->nreturns);
    composites++;
}

/* The base gets what is not written, but for an in-place operator's self. */
static void check_base(const op *o) {
    const op *base = op_find(o->fn_ctx);
    if (!base || !base->fn)
        fail_msg("%s follows from %s, which is not there", o->key, (const char *)o->fn_ctx);
    int n = 0;
    for (int i = 0; i < o->schema->nargs; i++)
        if (!i || !o->schema->args[i].alias || !o->schema->args[i].alias->write) n++;
    if (n != base->schema->nargs) fail_msg("%s gives %s %d arguments", o->key, base->key, n);
    derived++;
}

static void visit(void *ctx, const op *o) {
    (void)ctx;
    if (o->traits.composite) check_body(o);
    if (o->fn == op_derived_write || o->fn == op_derived_copy) check_base(o);
}

static void test_all(void **state) {
    (void)state;
    op_visit(visit, NULL);
    assert_true(composites > 10);
    assert_true(derived > 3);
}

static tensor *ones(int64_t n, dtype dt) {
    tensor *t;
    diag d = {0};
    assert_int_equal(tensor_new(&d, dt, 1, &n, &t), CTSC_OK);
    for (int64_t i = 0; i < n; i++)
        dtype_store_float(dt, (char *)tensor_data(t) + (size_t)i * dtype_size(dt), (double)(i * i));
    return t;
}

/* out= of an operator that knows nothing of it: written, resized; a dtype that does
 * not fit is refused. */
static void test_write(void **state) {
    (void)state;
    diag d = {0};
    op_ctx cx = {.diag = &d};
    tensor *x = ones(4, DT_FLOAT32), *out = ones(0, DT_FLOAT64), *whole = ones(3, DT_INT64);
    value args[6] = {value_tensor_take(x), value_int(1), value_int(-1),
                     value_none(),         value_none(), value_tensor_take(out)},
          result;
    assert_int_equal(op_call(&cx, "aten::diff.out", 6, args, &result), CTSC_OK);
    assert_ptr_equal(result.u.tensor, out);
    assert_int_equal(out->numel, 3);
    for (int i = 0; i < 3; i++) assert_true(((double *)tensor_data(out))[i] == 2 * i + 1);
    value_unref(result);
    args[5] = value_tensor_take(whole);
    assert_int_equal(op_call(&cx, "aten::diff.out", 6, args, &result), CTSC_FAILED);
    assert_string_equal(diag_message(&d),
                        "result type Float can't be cast to the desired output type Long");
    diag_clear(&d);
    args[1] = value_int(-1);
    assert_int_equal(op_call(&cx, "aten::diff", 3, args, &result), CTSC_FAILED);
    assert_string_equal(diag_message(&d), "order must be non-negative but got -1");
    diag_clear(&d);
    tensor_unref(x), tensor_unref(out), tensor_unref(whole);
}

/* ---- where functions are --------------------------------------------------------------------- */

static void test_texts(void **state) {
    (void)state;
    static const char *const paths[] = {
#define COMPOSITE_FILE(path) path,
#include "runtime/ops/composite.def"
#undef COMPOSITE_FILE
    };
    int functions = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        size_t len;
        const char *text = composite_text(paths[i], &len);
        if (!text) fail_msg("%s has no text", paths[i]);
        for (const char *p = text; (p = strstr(p, "\ndef ")); functions++) {
            char name[128];
            p += strlen("\ndef ");
            snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "("), p);
            const char *found = composite_path(name);
            if (!found) fail_msg("%s of %s is not in the index", name, paths[i]);
            size_t at = 0; /* that, or a file before: private functions share names */
            while (strcmp(paths[at], found)) at++;
            if (at > i) fail_msg("%s of %s is found in %s", name, paths[i], found);
        }
    }
    assert_true(functions > 1500);
    assert_string_equal(composite_path("diff"), "operators.py");
    assert_string_equal(composite_path("prims_mul"), "operators/prims.py");
    assert_null(composite_path("no_such_function"));
    assert_null(composite_text("no_such_file.py", &(size_t){0}));
    assert_string_equal(composite_derivative_of("mul__Tensor", 0), "mul__Tensor__d_self");
    assert_string_equal(composite_derivative_of("mul__Tensor", 1), "mul__Tensor__d_other");
    assert_null(composite_derivative_of("mul__Tensor", 2));
    assert_null(composite_derivative_of("no_such_function", 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_write),
                                       cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
