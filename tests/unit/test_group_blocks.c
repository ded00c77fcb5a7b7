/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_group_blocks.c - reductions of many elements, in blocks: what they compute is what the
 * operators compute one by one, bit for bit the same however the work is cut, and for other sizes
 * than those the plan was made for.
 */
#include "group_support.h"

static codegen *blocks_codegen;

/* The layout of an argument in memory. */
typedef enum blocks_layout { PLAIN, TRANSPOSED, SPACED, WIDENED } blocks_layout;

typedef struct blocks_case {
    const char *program;
    dtype dt;
    blocks_layout layout;
    /* of all arguments; of a second call with the same plan */
    int64_t rows, cols, other_rows, other_cols;
    int nargs;
    int special; /* element 7 * special is NaN, if not 0; elements repeat in any case */
} blocks_case;

static value blocks_tensor(const blocks_case *c, int64_t rows, int64_t cols, int seed) {
    tensor *t, *view = NULL;
    bool turned = c->layout == TRANSPOSED, spaced = c->layout == SPACED,
         widened = c->layout == WIDENED;
    int64_t sizes[2] = {turned    ? cols
                        : widened ? 1
                                  : rows,
                        turned   ? rows
                        : spaced ? 2 * cols
                                 : cols};
    assert_int_equal(tensor_new(NULL, c->dt, 2, sizes, &t), CTSC_OK);
    uint32_t x = (uint32_t)seed * 2654435761u + 1;
    for (int64_t i = 0; i < t->numel; i++) {
        x = x * 1664525u + 1013904223u;
        char *at = (char *)tensor_data(t) + (size_t)i * dtype_size(c->dt);
        double v = (double)(x >> 16 & 1023) / 512 - 1;
        if (c->special && i == 7 * c->special) v = NAN;
        if (dtype_is_float(c->dt)) dtype_store_float(c->dt, at, v);
        else dtype_store_int(c->dt, at, (int64_t)(v * 100));
    }
    if (turned) assert_int_equal(tensor_transpose(NULL, t, 0, 1, &view), CTSC_OK);
    if (spaced) assert_int_equal(tensor_slice(NULL, t, 1, 1, 2 * cols, 2, &view), CTSC_OK);
    if (widened)
        assert_int_equal(tensor_expand(NULL, t, 2, (int64_t[]){rows, cols}, &view), CTSC_OK);
    if (view) tensor_unref(t);
    return value_tensor_take(view ? view : t);
}

static void blocks_run(const blocks_case *c, const graph *g, const group_plan *p, const kernel *k,
                       int64_t rows, int64_t cols) {
    value args[4], want[4], got[4], again[4];
    int64_t slots[512];
    diag d = {0};
    strbuf why = STRBUF_INIT;
    int n = (int)g->root->returns.len;
    for (int i = 0; i < c->nargs; i++) args[i] = blocks_tensor(c, rows, cols, i + 1);
    assert_true(p->slots.len <= 512);
    if (!plan_guards_hold(p, args, slots))
        fail_msg("%s: %lld x %lld do not fit", c->program, (long long)rows, (long long)cols);
    assert_int_equal(group_interpret(g, args, want, &d), CTSC_OK);
    group_launch(p, k, args, slots, 1, got);
    group_launch(p, k, args, slots, 3, again);
    double tolerance = c->dt == DT_FLOAT64    ? 1e-12
                       : c->dt == DT_FLOAT16  ? 2e-3
                       : c->dt == DT_BFLOAT16 ? 1.6e-2
                                              : 1e-5;
    for (int i = 0; i < n; i++) {
        if (!value_close(got[i], want[i], tolerance, tolerance, &why))
            fail_msg("%s: %s", c->program, sb_str(&why));
        const tensor *x = got[i].u.tensor, *y = again[i].u.tensor;
        assert_memory_equal(tensor_data(x), tensor_data(y),
                            (size_t)x->numel * dtype_size((dtype)x->dtype));
        value_unref(want[i]);
        value_unref(got[i]);
        value_unref(again[i]);
    }
    for (int i = 0; i < c->nargs; i++) value_unref(args[i]);
}

static void test_blocks(void **state) {
    (void)state;
    static const blocks_case cases[] = {
        {"d = sub.Tensor(a, b); q = mul.Tensor(d, d); y = mean(q); return y", DT_FLOAT32, PLAIN,
         300, 400, 70, 3, 2, 0},
        {"y = mse_loss(a, b); return y", DT_FLOAT32, TRANSPOSED, 300, 400, 1000, 99, 2, 0},
        {"y = mse_loss(a, b); return y", DT_FLOAT16, SPACED, 300, 400, 30, 40, 2, 0},
        {"y = sum(a); return y", DT_FLOAT64, PLAIN, 300, 400, 2, 40000, 1, 0},
        {"y = sum(a); return y", DT_INT64, PLAIN, 300, 400, 2, 40000, 1, 0},
        {"y = norm.Scalar(a); return y", DT_BFLOAT16, WIDENED, 300, 400, 2, 400, 1, 0},
        {"y = var(a); z = div.Tensor(a, y); return z, y", DT_FLOAT32, PLAIN, 300, 400, 3, 50, 1, 0},
        {"y = std.correction(a, [1], 0); return y", DT_FLOAT32, PLAIN, 2, 90000, 3, 50000, 1, 0},
        {"y = softmax.int(a, 1); return y", DT_FLOAT32, PLAIN, 1, 90000, 1, 33000, 1, 0},
        {"x = mul.Tensor(a, a); y = logsumexp(x, [0 1]); return y", DT_FLOAT32, SPACED, 300, 400,
         40, 30, 1, 0},
        {"y = max(a); z = min(a); return y, z", DT_FLOAT32, PLAIN, 300, 400, 4, 7, 1, 0},
        {"y = max(a); return y", DT_FLOAT32, PLAIN, 300, 400, 400, 300, 1, 5000},
        {"y = argmax(a); return y", DT_FLOAT32, PLAIN, 300, 400, 4, 7, 1, 0},
        {"y = argmin(a, None, True); return y", DT_INT32, PLAIN, 300, 400, 4, 7, 1, 0},
        {"x = mul.Tensor(a, a); y = argmax(x); return y", DT_FLOAT32, TRANSPOSED, 300, 400, 400,
         300, 1, 5000},
        {"x = neg(a); y, z = max.dim(x, 1); return y, z", DT_FLOAT32, PLAIN, 2, 90000, 3, 70000, 1,
         0},
        {"x = neg(a); y, z = min.dim(x, 1, True); return y, z", DT_FLOAT16, PLAIN, 1, 90000, 1,
         5000, 1, 0},
        {"y, z = max.dim(a, 1); return z", DT_FLOAT32, PLAIN, 30, 9000, 3, 12000, 1, 1000},
        /* a value that is stored while the block of the largest is looked through */
        {"i = argmax(a, 1, True); m = amax(a, [1], True); d = sub.Tensor(a, m); e = exp(d); p = "
         "mul.Tensor(e, i); s = sum.dim_IntList(p, [1], True); y = div.Tensor(e, s); return y, i",
         DT_FLOAT32, PLAIN, 30, 9000, 20, 12000, 1, 0},
        {"x = mul.Tensor(a, a); m, i = max.dim(x, 1, True); d = sub.Tensor(x, m); e = exp(d); p = "
         "mul.Tensor(e, i); s = sum.dim_IntList(p, [1], True); y = div.Tensor(e, s); return y",
         DT_FLOAT32, PLAIN, 2, 90000, 3, 70000, 1, 0},
        /* places of several extremes */
        {"y = argmax(a); z = argmin(a); return y, z", DT_FLOAT32, PLAIN, 300, 400, 4, 7, 1, 0},
        {"x = neg(a); y, i = max.dim(a, 1); z, j = min.dim(x, 1); return y, i, z, j", DT_FLOAT32,
         PLAIN, 2, 90000, 3, 70000, 1, 0},
        {"x = sin(a); y, i = max.dim(a, 1, True); z, j = min.dim(x, 1, True); p = add.Tensor(i, "
         "j); "
         "return p, y",
         DT_FLOAT32, PLAIN, 2, 90000, 3, 70000, 1, 0},
        /* two loops over reduced dims around the one that is cut */
        {"v = view(a, [2 4 -1]); w = view(a, [4 2 -1]); t = transpose.int(w, 0, 1); x = "
         "mul.Tensor(v, t); y = sum(x); return y",
         DT_FLOAT32, PLAIN, 8, 90000, 8, 70000, 1, 0},
        {"x = gt.Scalar(a, 0.99); y = any(x); z = all(x); return y, z", DT_FLOAT32, PLAIN, 300, 400,
         4, 7, 1, 0},
        {"y = count_nonzero(a); return y", DT_FLOAT32, PLAIN, 300, 400, 4, 7, 1, 0},
        {"m = mean(a); d = sub.Tensor(a, m); q = mul.Tensor(d, d); v = mean(q); e = add.Scalar(v, "
         "1e-5); r = rsqrt(e); z = mul.Tensor(d, r); "
         "return z, m",
         DT_FLOAT32, TRANSPOSED, 300, 400, 400, 300, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const blocks_case *c = &cases[i];
        value args[4];
        for (int k = 0; k < c->nargs; k++) args[k] = blocks_tensor(c, c->rows, c->cols, k + 1);
        graph *g = group_program(c->program, c->nargs, args);
        arena a;
        group_plan *p;
        const kernel *k;
        diag d = {0};
        arena_init(&a);
        assert_int_equal(group_lower(&a, g, args, NULL, &p, &d), CTSC_OK);
        if (!p) fail_msg("%s has no plan", c->program);
        if (codegen_kernel(blocks_codegen, p->nest, &k, &d) != CTSC_OK)
            fail_msg("%s\n  %s", c->program, diag_message(&d));
        blocks_run(c, g, p, k, c->rows, c->cols);
        blocks_run(c, g, p, k, c->other_rows, c->other_cols);
        arena_free(&a);
        graph_free(g);
        for (int j = 0; j < c->nargs; j++) value_unref(args[j]);
    }
}

int main(void) {
    diag d = {0};
    blocks_codegen = codegen_new(&(codegen_options){.folder = "", .library = getenv("CTSC_JIT")});
    if (!codegen_available(blocks_codegen, &d)) {
        printf("skipped: %s\n", diag_message(&d));
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    codegen_free(blocks_codegen);
    return failed;
}
