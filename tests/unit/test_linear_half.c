/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_linear_half.c - linear layers of float16 and bfloat16 whose weight is a constant, against
 * float64: on each instruction set that this processor has, and on AMX's tile registers, which need
 * none (amx_emulator.h); any shape, strided weights, the same bits with any number of threads.
 * Tensors end at a page that cannot be touched.
 */
#include "support.h"

#include "amx_emulator.h"
#include "base/threads/thread_pool.h"
#include "cpu/isa.h"
#include "fenced.h"
#include "ir/op/op.h"
#include "runtime/context/runtime.h"
#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/engine/kernel_settings.h"
#include "runtime/kernels/engine/wide.h"

#include <math.h>

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static bool random_one_in(int n) { return random_below(n) == 0; }

static double element(const tensor *t, int64_t i) {
    return t->dtype == DT_FLOAT16 ? (double)float16_to_float(TENSOR_AT(t, float16)[i])
                                  : (double)bfloat16_to_float(TENSOR_AT(t, bfloat16)[i]);
}

static tensor *random_tensor(dtype dt, int ndim, const int64_t *sizes) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, dt, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++) {
        float x = (float)(random_below(20001) - 10000) * 1e-4f;
        if (dt == DT_FLOAT16) TENSOR_AT(t, float16)[i] = float16_from_float(x);
        else TENSOR_AT(t, bfloat16)[i] = bfloat16_from_float(x);
    }
    return t;
}

typedef struct half_case {
    tensor *x, *w, *b; /* [rows, k], [n, k], [n] or NULL */
    int64_t rows, n, k;
    dtype dt;
} half_case;

/* The weight with a storage of its own, at times transposed in it, or every second column. */
static tensor *random_weight(const half_case *c) {
    tensor *whole, *view, *own;
    int how = (int)random_below(4);
    int64_t sizes[2] = {c->n, c->k}, strides[2] = {c->k, 1};
    if (how == 0) strides[0] = 1, strides[1] = c->n;
    if (how == 1) strides[0] = 2 * c->k, strides[1] = 2;
    int64_t all = (c->n - 1) * strides[0] + (c->k - 1) * strides[1] + 1;
    whole = random_tensor(c->dt, 1, &all);
    assert_int_equal(tensor_constant(NULL, whole, &own), CTSC_OK);
    assert_int_equal(tensor_as_strided(NULL, own, 2, sizes, strides, 0, &view), CTSC_OK);
    tensor_unref(whole), tensor_unref(own);
    return view;
}

static half_case random_case(dtype dt) {
    half_case c = {.rows = 1 + random_below(random_one_in(4) ? 150 : 9),
                   .n = 1 + random_below(random_one_in(4) ? 600 : 130),
                   .k = random_one_in(12) ? 1024 : 1 + random_below(random_one_in(4) ? 700 : 90),
                   .dt = dt};
    c.x = random_tensor(dt, 2, (int64_t[]){c.rows, c.k});
    c.w = random_weight(&c);
    c.b = random_one_in(3) ? NULL : random_tensor(dt, 1, &c.n);
    return c;
}

static value linear(const half_case *c) {
    diag d = {0};
    runtime rt;
    value r = value_none(), args[] = {value_tensor_take(c->x), value_tensor_take(c->w),
                                      c->b ? value_tensor_take(c->b) : value_none()};
    runtime_init(&rt);
    if (op_call(&(op_ctx){.diag = &d, .rt = &rt}, "ctsc::linear_prepacked", 3, args, &r) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    diag_clear(&d);
    return r;
}

/* Half a step of the result's dtype, and the rounding of k sums in float32. */
static void check(const half_case *c, const tensor *y, const char *isa) {
    double step = c->dt == DT_FLOAT16 ? 0x1p-11 : 0x1p-8;
    assert_int_equal(y->dtype, c->dt);
    for (int64_t r = 0; r < c->rows; r++)
        for (int64_t j = 0; j < c->n; j++) {
            double want = c->b ? element(c->b, j) : 0, size = fabs(want);
            for (int64_t i = 0; i < c->k; i++) {
                double product = element(c->x, r * c->k + i) *
                                 element(c->w, j * c->w->strides[0] + i * c->w->strides[1]);
                want += product, size += fabs(product);
            }
            double got = element(y, r * c->n + j),
                   bound = fabs(want) * step + size * (double)(c->k + 2) * 0x1p-23 + 0x1p-24;
            if (!(fabs(got - want) <= bound))
                fail_msg("%s, %s, [%lld, %lld] to %lld: %.9g instead of %.9g, bound %.3g", isa,
                         dtype_table[c->dt].torch_name, (long long)c->rows, (long long)c->k,
                         (long long)c->n, got, want, bound);
        }
}

/* ctsc::linear_epilogue: y, the result of the layer alone,
 * and then the operators after it, each of them rounded. */
static void check_epilogue(const half_case *c, tensor *y) {
    static const char *const names[] = {"none",        "relu",      "gelu",    "gelu_tanh", "relu6",
                                        "hardsigmoid", "hardswish", "sigmoid", "silu"};
    int which = (int)random_below(9);
    tensor *other = random_one_in(2) ? NULL : random_tensor(c->dt, 2, (int64_t[]){c->rows, c->n});
    diag d = {0};
    runtime rt;
    value r = value_none(), args[] = {value_tensor_take(c->x), value_tensor_take(c->w),
                                      c->b ? value_tensor_take(c->b) : value_none(),
                                      other ? value_tensor_take(other) : value_none(),
                                      value_str_take(str_new(names[which], strlen(names[which])))};
    op_ctx cx = {.diag = &d, .rt = &rt, .op = op_find("ctsc::linear_epilogue")};
    runtime_init(&rt);
    if (op_call(&cx, "ctsc::linear_epilogue", 5, args, &r) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    dense_epilogue after = {.other = other ? tensor_data(other) : NULL, .activation = which};
    float *sums = malloc((size_t)y->numel * sizeof *sums);
    halves_to_floats(c->dt, tensor_data(y), sums, y->numel);
    epilogue_halves(&after, c->dt, sums, 0, y->numel, tensor_data(y));
    assert_memory_equal(tensor_data(r.u.tensor), tensor_data(y), (size_t)y->numel * 2);
    free(sums);
    tensor_unref(other);
    value_unref(args[4]), value_unref(r);
    diag_clear(&d);
}

static void check_cases(dtype dt, int cases, const char *isa) {
    for (int i = 0; i < cases; i++) {
        half_case c = random_case(dt);
        pool_set_threads(1);
        value one = linear(&c);
        pool_set_threads(2 + (int)random_below(2));
        value more = linear(&c);
        check(&c, one.u.tensor, isa);
        assert_memory_equal(tensor_data(one.u.tensor), tensor_data(more.u.tensor),
                            (size_t)(c.rows * c.n) * 2);
        check_epilogue(&c, more.u.tensor);
        value_unref(one), value_unref(more);
        tensor_unref(c.x), tensor_unref(c.w), tensor_unref(c.b);
    }
}

static void on_amx(void *ctx, const quad_kernels *u) {
    (void)ctx;
    assert_ptr_equal(ukernel_quad(UKERNEL_BF16), u);
    check_cases(DT_BFLOAT16, 100, "amx");
}

static void test_shapes(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < ISA_COUNT; i++) {
        if (!isa_table[i].here || !(isa_detected() >> i & 1)) continue;
        isa_limit((isa)i);
        check_cases(DT_FLOAT16, 150, isa_table[i].name);
        check_cases(DT_BFLOAT16, 150, isa_table[i].name);
    }
    isa_limit(ISA_COUNT);
    amx_each(UKERNEL_BF16, on_amx, NULL);
    tensor_set_allocator(NULL);
}

/* What is not finite, and what only the rounding to the dtype makes infinite. */
static void test_ends(void **state) {
    (void)state;
    for (dtype dt = DT_FLOAT16;; dt = DT_BFLOAT16) {
        half_case c = {.rows = 1, .n = 40, .k = 30, .dt = dt};
        c.x = random_tensor(dt, 2, (int64_t[]){1, 30});
        c.w = random_weight(&c);
        for (int i = 0; i < 30; i++)
            if (dt == DT_FLOAT16) TENSOR_AT(c.x, float16)[i] = float16_from_float(60000);
            else TENSOR_AT(c.x, bfloat16)[i] = bfloat16_from_float(i == 3 ? INFINITY : 1);
        value y = linear(&c);
        for (int64_t j = 0; j < 40; j++) {
            double want = 0, got = element(y.u.tensor, j);
            for (int64_t i = 0; i < 30; i++)
                want += element(c.x, i) * element(c.w, j * c.w->strides[0] + i * c.w->strides[1]);
            if (dt == DT_FLOAT16 && fabs(want) > 70000) want = want > 0 ? INFINITY : -INFINITY;
            if (isnan(want)) assert_true(isnan(got));
            if (isinf(want)) assert_true(got == want);
        }
        value_unref(y);
        tensor_unref(c.x), tensor_unref(c.w);
        if (dt == DT_BFLOAT16) break;
    }
}

/* Without packing the general product does it; inputs may have no rows. */
static void test_others(void **state) {
    (void)state;
    half_case c = {.rows = 3, .n = 70, .k = 33, .dt = DT_BFLOAT16};
    c.x = random_tensor(c.dt, 2, (int64_t[]){3, 33});
    c.w = random_weight(&c);
    atomic_store(&kernel_no_packing, true);
    value y = linear(&c);
    check(&c, y.u.tensor, "unpacked");
    assert_null(atomic_load(&c.w->storage->derived));
    value_unref(y);
    atomic_store(&kernel_no_packing, false);
    y = linear(&c);
    check(&c, y.u.tensor, "packed");
    assert_non_null(atomic_load(&c.w->storage->derived));
    value_unref(y);
    tensor_unref(c.x);
    c.rows = 0;
    c.x = random_tensor(c.dt, 2, (int64_t[]){0, 33});
    y = linear(&c);
    assert_int_equal(y.u.tensor->sizes[0], 0);
    assert_int_equal(y.u.tensor->sizes[1], 70);
    value_unref(y);
    tensor_unref(c.x), tensor_unref(c.w);
}

/* ---- matrices of one constant ---------------------------------------------------------------- */

static value product(const char *op, tensor *x, tensor *w) {
    diag d = {0};
    runtime rt;
    value r = value_none(), args[] = {value_tensor_take(x), value_tensor_take(w)};
    runtime_init(&rt);
    if (op_call(&(op_ctx){.diag = &d, .rt = &rt}, op, 2, args, &r) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    diag_clear(&d);
    return r;
}

static tensor *selected(const tensor *t, int64_t i) {
    tensor *one;
    assert_int_equal(tensor_select(NULL, t, 0, i, &one), CTSC_OK);
    return one;
}

/* Experts are matrices of one tensor, [experts, n, k] or transposed: one at a time, or all. */
static void experts_try(dtype dt) {
    half_case c = {.rows = 1 + random_below(30),
                   .n = 1 + random_below(90),
                   .k = 1 + random_below(90),
                   .dt = dt};
    int64_t experts = 1 + random_below(5);
    bool turned = random_below(2);
    tensor *all = random_tensor(
               dt, 3, turned ? (int64_t[]){experts, c.k, c.n} : (int64_t[]){experts, c.n, c.k}),
           *own, *flipped, *x = random_tensor(dt, 3, (int64_t[]){experts, c.rows, c.k});
    assert_int_equal(tensor_constant(NULL, all, &own), CTSC_OK);
    assert_int_equal(tensor_transpose(NULL, own, 1, 2, &flipped), CTSC_OK);
    tensor *weights = turned ? flipped : own, *right = turned ? own : flipped;
    value batch = product("aten::bmm", x, right);
    for (int64_t i = experts; i-- > 0;) {
        tensor *w = selected(right, i), *of_batch = selected(batch.u.tensor, i);
        c.x = selected(x, i), c.w = selected(weights, i);
        tensor *dense;
        assert_int_equal(tensor_clone(NULL, c.x, &dense), CTSC_OK);
        value y = product(random_below(2) ? "aten::mm" : "aten::matmul", c.x, w);
        tensor_unref(c.x);
        c.x = dense;
        half_case moved = c;
        assert_int_equal(tensor_clone(NULL, c.w, &moved.w), CTSC_OK);
        check(&moved, y.u.tensor, "expert");
        assert_int_equal(tensor_clone(NULL, of_batch, &dense), CTSC_OK);
        check(&moved, dense, "experts");
        value_unref(y);
        tensor_unref(dense), tensor_unref(of_batch), tensor_unref(w), tensor_unref(moved.w);
        tensor_unref(c.x), tensor_unref(c.w);
    }
    assert_non_null(atomic_load(&own->storage->derived));
    value_unref(batch);
    tensor_unref(all), tensor_unref(own), tensor_unref(flipped), tensor_unref(x);
}

/* Views that overlap are not all kept; each is multiplied by. */
static void test_experts(void **state) {
    (void)state;
    for (int i = 0; i < 40; i++) experts_try(i % 2 ? DT_FLOAT16 : DT_BFLOAT16);
    half_case c = {.rows = 3, .n = 20, .k = 10, .dt = DT_BFLOAT16};
    int64_t many = 400, sizes[2] = {20, 10}, strides[2] = {10, 1};
    tensor *whole = random_tensor(c.dt, 1, &many), *own;
    assert_int_equal(tensor_constant(NULL, whole, &own), CTSC_OK);
    c.x = random_tensor(c.dt, 2, (int64_t[]){3, 10});
    for (int64_t i = 0; i < 60; i++) {
        tensor *view;
        assert_int_equal(tensor_as_strided(NULL, own, 2, sizes, strides, i, &view), CTSC_OK);
        half_case one = c;
        one.w = view;
        value y = linear(&one);
        assert_int_equal(tensor_clone(NULL, view, &one.w), CTSC_OK);
        check(&one, y.u.tensor, "views");
        value_unref(y);
        tensor_unref(view), tensor_unref(one.w);
    }
    tensor_unref(c.x), tensor_unref(whole), tensor_unref(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
