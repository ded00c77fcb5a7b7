/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_derivatives.c - each function of frontend/prelude/derivatives belongs to an operator that
 * ctsc has, compiles, and fits its schema.
 */
#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/autograd/grad_rules.h"
#include "runtime/ops/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int formulas, bodies, complaints;

/* Goes on: all of them are to be seen at once. */
#define complain(...) (complaints++, fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))

static int returns_of(const function *f) {
    type *t = f->graph->root->returns.data[0]->type;
    return t->kind == T_TUPLE ? t->nelems : 1;
}

static void check_body(const op *o, const function *f) {
    const schema *s = o->schema;
    if (f->schema->nargs != s->nargs)
        complain("%s: its body has %d parameters, not %d", o->key, f->schema->nargs, s->nargs);
    for (int i = 0; i < s->nargs && i < f->schema->nargs; i++)
        if (strcmp(f->schema->args[i].name, s->args[i].name))
            complain("%s: parameter %d of its body is %s, not %s", o->key, i,
                     f->schema->args[i].name, s->args[i].name);
    if (returns_of(f) != s->nreturns)
        complain("%s: its body has %d results, not %d", o->key, returns_of(f), s->nreturns);
    bodies++;
}

static void check_formula(const op *o, const grad_formula *f) {
    if (returns_of(f->fn) != f->ninputs)
        complain("%s: a derivative has %d results, not %d", o->key, returns_of(f->fn), f->ninputs);
    for (int i = 0; i < f->nparams; i++)
        if (f->params[i].need == NEED_WANTED && f->ninputs < 2 &&
            o->schema->args[f->inputs[0]].type->kind != T_LIST)
            complain("%s: a derivative of one argument asks which are wanted", o->key);
    formulas++;
}

static void visit(void *ctx, const op *o) {
    (void)ctx;
    diag d = {0};
    const grad_rule *r;
    if (!o->fn) return;
    if (grad_rule_of(o, &d, &r) != CTSC_OK) {
        complain("%s: %s", o->key, diag_message(&d));
        diag_clear(&d);
        return;
    }
    if (r->base != o) return;
    if (r->kind == RULE_BODY) check_body(o, r->body);
    for (int i = 0; i < r->nformulas; i++) check_formula(o, &r->formulas[i]);
    if (r->kind == RULE_MISSING && getenv("CTSC_TEST_LIST")) printf("no derivative: %s\n", o->key);
}

static void test_all(void **state) {
    (void)state;
    op_visit(visit, NULL);
    assert_int_equal(complaints, 0);
    assert_true(formulas > 100);
    assert_true(bodies > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
