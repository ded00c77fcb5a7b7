/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_group.c - groups of operators as one kernel: what it computes is what the operators compute
 * one by one, and a plan fits exactly where it may.
 */
#include "group_support.h"

#include "../diff/nest_eval.h"
#include "ir/graph/fusible.h"

static codegen *group_codegen;

static void group_check_run(const group_case *c, const char *text, const graph *g,
                            const group_plan *p, const kernel *k) {
    value args[16], got[16], want[16];
    int64_t slots[512];
    diag d = {0};
    int n = group_args(text, args), outputs = (int)g->root->returns.len;
    assert_true(p->slots.len <= 512);
    if (!plan_guards_hold(p, args, slots)) fail_msg("%s\n  %s do not fit", c->program, text);
    if (group_interpret(g, args, want, &d) != CTSC_OK)
        fail_msg("%s\n  %s\n  %s", c->program, text, diag_message(&d));
    for (int pieces = 1; pieces < 5; pieces += 3) {
        group_launch(p, k, args, slots, pieces, got);
        for (int i = 0; i < outputs; i++) group_compare(c->program, text, got[i], want[i]);
        group_unref(outputs, got);
    }
    group_unref(outputs, want);
    group_unref(n, args);
}

static void group_check(const group_case *c) {
    value args[16];
    int n = group_args(c->args, args);
    graph *g = group_program(c->program, n, args);
    arena a;
    group_plan *p;
    const kernel *k;
    diag d = {0};
    arena_init(&a);
    assert_int_equal(group_lower(&a, g, args, NULL, &p, &d), CTSC_OK);
    if (!p != c->none)
        fail_msg("%s\n  %s\n  %s", c->program, c->args, p ? "has a plan" : "has no plan");
    if (p) {
        if (codegen_kernel(group_codegen, p->nest, &k, &d) != CTSC_OK)
            fail_msg("%s\n  %s", c->program, diag_message(&d));
        if (getenv("SHOW_NEST")) {
            strbuf text = STRBUF_INIT;
            nest_print(p->nest, &text);
            printf("%s\n%s\n", c->program, sb_str(&text));
            sb_free(&text);
        }
        group_check_run(c, c->args, g, p, k);
        if (c->again) group_check_run(c, c->again, g, p, k);
        if (c->not) {
            value other[16];
            int64_t slots[512];
            int m = group_args(c->not, other);
            if (plan_guards_hold(p, other, slots)) fail_msg("%s\n  %s fit", c->program, c->not);
            group_unref(m, other);
        }
    }
    arena_free(&a);
    graph_free(g);
    group_unref(n, args);
}

static const group_case group_cases[] = {
#include "group_cases.h"
};

static void test_cases(void **state) {
    (void)state;
    const char *only = getenv("GROUP_CASE");
    for (size_t i = 0; i < sizeof group_cases / sizeof *group_cases; i++)
        if (!only || strstr(group_cases[i].program, only)) group_check(&group_cases[i]);
}

/* ---- every operator of the table ------------------------------------------------------------- */

/* Arguments that most operators take, by the types of the schema; NULL: not this one. */
static bool group_fill(const op *o, const char *const *tensors, strbuf *call, strbuf *args,
                       const char *number) {
    int used = 0;
    sb_printf(call, "y = %s(", o->key);
    for (int i = 0; i < o->schema->nargs; i++) {
        const argument *a = &o->schema->args[i];
        const type *t = a->type->kind == T_OPTIONAL ? a->type->elems[0] : a->type;
        if (i) sb_puts(call, ", ");
        if (t->kind == T_TENSOR) {
            sb_printf(args, "%s ", tensors[used < 2 ? used : 2]);
            sb_printf(call, "%c", 'a' + used++);
        } else if (t->kind == T_NUMBER && a->type->kind != T_OPTIONAL) {
            sb_puts(call, number);
        } else if (a->has_default) {
            break;
        } else if (t->kind == T_INT) {
            sb_puts(call, a->leaf_text && !strcmp(a->leaf_text, "ScalarType") ? "5" : "1");
        } else if (t->kind == T_FLOAT) {
            sb_puts(call, "0.25");
        } else if (t->kind == T_BOOL) {
            sb_puts(call, "False");
        } else {
            return false;
        }
    }
    while (call->len && (call->data[call->len - 1] == ' ' || call->data[call->len - 1] == ','))
        call->data[--call->len] = 0;
    sb_puts(call, "); return y");
    return true;
}

static nest_memory group_memory(const tensor *t, dtype dt) {
    return (nest_memory){tensor_data(t), (int64_t)(t->storage->nbytes / dtype_size(dt)) - t->offset,
                         NULL};
}

/* As group_launch does it, but the nest is walked: compiling takes its time. */
static void group_walk(const char *program, const group_plan *p, const value *args,
                       const int64_t *slots, value *results) {
    nest_memory memory[NEST_MAX_BUFFERS];
    group_binding c;
    rng order = {1};
    group_bind(&c, p, args, slots, results);
    for (size_t i = 0; i < p->buffers.len; i++)
        memory[i] = group_memory(c.tensors[i], p->nest->buffers[i]->dt);
    nest_eval *e = nest_eval_new(p->nest);
    for (size_t stage = 0; stage < group_stages(p); stage++) {
        int64_t begin, end;
        group_stage(p, slots, stage, &begin, &end);
        if (nest_eval_run(e, memory, c.ints, c.floats, begin, end, &order))
            fail_msg("%s\n  %s", program, nest_eval_why(e));
    }
    nest_eval_free(e);
    group_release(&c, p);
}

/* One operator with one set of arguments: a kernel only where it works, with the same result.
 * compiled: or walked. */
static bool group_check_operator(const char *program, const char *text, bool compiled, bool show) {
    value args[16], want[4], got[4];
    int64_t slots[512];
    int n = group_args(text, args);
    graph *g = group_program(program, n, args);
    arena a;
    group_plan *p;
    const kernel *k = NULL;
    diag d = {0};
    arena_init(&a);
    assert_int_equal(group_lower(&a, g, args, NULL, &p, &d), CTSC_OK);
    bool works = group_interpret(g, args, want, &d) == CTSC_OK;
    if (p && !works) fail_msg("%s\n  %s has a plan, but %s", program, text, diag_message(&d));
    if (!p && works && show) printf("no plan: %s   %s\n", program, text);
    if (p) {
        assert_true(plan_guards_hold(p, args, slots));
        if (compiled && codegen_kernel(group_codegen, p->nest, &k, &d) != CTSC_OK)
            fail_msg("%s\n  %s", program, diag_message(&d));
        if (compiled) group_launch(p, k, args, slots, 1, got);
        else group_walk(program, p, args, slots, got);
        group_compare(program, text, got[0], want[0]);
        group_unref(1, got);
    }
    if (works) group_unref(1, want);
    diag_clear(&d);
    arena_free(&a);
    graph_free(g);
    group_unref(n, args);
    return p;
}

static void test_operators(void **state) {
    (void)state;
    static const char *const tensors[][3] = {
        {"f32[2,4]{0.5 -1 2 nan 0.25 3 -0.75 inf}", "f32[2,4]{2 0.5 -3 1 0 2 nan 0.5}",
         "f32[4]{0.1 0.2 0.3 0.4}"},
        {"f64[2,4]{0.5 -1 2 nan 0.25 3 -0.75 inf}", "f64[4]{2 0.5 -3 1}",
         "f64[4]{0.1 0.2 0.3 0.4}"},
        {"f16[2,4]{0.5 -1 2 nan 0.25 3 -0.75 inf}", "f16[2,4]{2 0.5 -3 1 0 2 nan 0.5}",
         "f16[4]{0.1 0.2 0.3 0.4}"},
        {"bf16[2,4]{0.5 -1 2 nan 0.25 3 -0.75 inf}", "bf16[2,4]{2 0.5 -3 1 0 2 nan 0.5}",
         "bf16[4]{0.1 0.2 0.3 0.4}"},
        {"i64[2,4]{1 -2 3 0 5 7 -100 9}", "i64[2,4]{2 1 -3 5 4 3 2 1}", "i64[4]{3 1 2 1}"},
        {"i32[2,4]{1 -2 3 0 5 7 -100 9}", "i32[4]{2 1 -3 5}", "i32[4]{3 1 2 1}"},
        {"i16[2,4]{1 -2 3 0 5 7 -100 9}", "i16[2,4]{2 1 -3 5 4 3 2 1}", "i16[4]{3 1 2 1}"},
        {"i8[2,4]{1 -2 3 0 5 7 -100 127}", "i8[2,4]{2 1 -3 5 4 3 2 127}", "i8[4]{3 1 2 1}"},
        {"u8[2,4]{1 2 3 0 5 7 100 255}", "u8[2,4]{2 1 3 5 4 3 2 255}", "u8[4]{3 1 2 1}"},
        {"b[2,4]{1 0 1 0 1 1 0 0}", "b[2,4]{1 1 0 0 0 1 0 1}", "b[4]{1 0 0 1}"},
        {"f32[2,4]{0.5 -1 2 nan 0.25 3 -0.75 inf}", "i64[2,4]{2 1 -3 5 4 3 2 1}", "b[4]{1 0 0 1}"},
        {"i32[2,1]{3 4}", "f64[]{1.5}", "f32[]{2}"},
        {"b[2,4]{1 0 1 0 1 1 0 0}", "f32[2,4]{2 0.5 -3 1 0 2 nan 0.5}", "f16[4]{0.1 0.2 0.3 0.4}"},
        {"f32[]{0.5}", "f32[]{0.75}", "f32[]{2}"},
        {"f32[0,4]{}", "f32[4]{1 2 3 4}", "f32[1,1]{2}"},
    };
    static const char *const numbers[] = {"2", "0.75", "-1", "True"};
    const char *only = getenv("GROUP_OP");
    bool all = only || getenv("GROUP_ALL");
    int plans = 0;
    size_t i = 0;
    for (const char *key = op_host_installed->builtin.keys; *key; key = op_next_key(key)) {
        const op *o = op_of_row(key);
        assert_non_null(o);
        if (!op_fusible(o) || (only && !strstr(o->key, only))) continue;
        i++;
        bool has_number = false;
        for (int k = 0; k < o->schema->nargs; k++)
            has_number |= o->schema->args[k].type->kind == T_NUMBER;
        for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++)
            for (size_t k = 0; k < (has_number ? sizeof numbers / sizeof *numbers : 1); k++) {
                /* takes its time: GROUP_ALL=1 for all of them */
                bool compiled = all || (i + t + k) % 6 == 0;
                strbuf call = STRBUF_INIT, args = STRBUF_INIT;
                if (o->schema->returns[0].type->kind == T_TENSOR &&
                    group_fill(o, tensors[t], &call, &args, numbers[k]))
                    plans += group_check_operator(sb_str(&call), sb_str(&args), compiled,
                                                  getenv("GROUP_SHOW"));
                sb_free(&call);
                sb_free(&args);
            }
    }
    if (!only) assert_true(plans > 2000);
}

/* ---- without memory -------------------------------------------------------------------------- */

static void test_no_memory(void **state) {
    (void)state;
    static const group_case cases[] = {
        {"y = mul.Tensor(a, b); z = exp(y); return y, z", "f32[2,1]{2 3} f32[3]{1 2 3}"},
        {"l = chunk(a, 2, 0); p, q = unpack(l); y = softmax.int(p, 1); z = mul.Tensor(y, q); "
         "return z",
         "f32[2,3]{1 2 3 4 5 6}"},
        {"y = softmax.int(a, 0); z = sum.dim_IntList(y, [0]); return y, z",
         "f32[2,3]{1 2 3 4 5 6}"},
        {"x = unsqueeze(a, 1); y = sub.Tensor(x, b); z = mul.Tensor(y, y); w = sum.dim_IntList(z, "
         "[2]); return w",
         "f32[3,2]{1 2 3 4 5 6} f32[4,2]{1 0 2 0 3 0 4 1}"},
    };
    static counting count;
    mem_set_hook(counting_hook, &count);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        value args[16];
        int n = group_args(cases[i].args, args);
        graph *g = group_program(cases[i].program, n, args);
        long before = count.live;
        for (long fail_at = 0, total = 1; fail_at <= total; fail_at++) {
            arena a;
            group_plan *p;
            diag d = {0};
            count.requests = 0;
            count.fail_at = fail_at;
            bool ready = arena_init(&a);
            ctsc_status st = ready ? group_lower(&a, g, args, NULL, &p, &d) : CTSC_LIMIT;
            count.fail_at = 0;
            if (fail_at == 0) total = count.requests;
            assert_true(st == CTSC_LIMIT || (st == CTSC_OK && (p || fail_at > 0)));
            arena_free(&a);
            diag_clear(&d);
        }
        assert_int_equal(count.live, before);
        graph_free(g);
        group_unref(n, args);
    }
    mem_set_hook(NULL, NULL);
}

int main(void) {
    diag d = {0};
    group_codegen = codegen_new(&(codegen_options){.folder = "", .library = getenv("CTSC_JIT")});
    if (!codegen_available(group_codegen, &d)) {
        printf("skipped: %s\n", diag_message(&d));
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases),
                                       cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_no_memory)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    codegen_free(group_codegen);
    return failed;
}
