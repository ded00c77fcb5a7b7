/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pointwise.c - pointwise, creation, conversion and random operators against stored results of
 * PyTorch, and what those rows cannot say: aliasing, writable copies, overlap, scalar functions
 * over their range, lack of memory.
 *
 * A row of pointwise_cases.h is an operator, its arguments and its results as text:
 * f32[2,3]{1,2,3,4,5,6} is a tensor (a trailing t: transposed view), (1,2) an int[], 'x' a string;
 * "!text" is the error. Random operators run with seed 42.
 */
#include "support.h"

#include "ir/scalar/scalar_ops.h"
#include "runtime/kernels/engine/kernel.h"

#include <math.h>

typedef struct pointwise_case {
    const char *key, *args, *want;
} pointwise_case;

#include "pointwise_cases.h"

/* ---- values from text ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    dtype dt;
} pointwise_names[] = {
    {"f32", DT_FLOAT32}, {"f64", DT_FLOAT64}, {"f16", DT_FLOAT16}, {"bf16", DT_BFLOAT16},
    {"i64", DT_INT64},   {"i32", DT_INT32},   {"i16", DT_INT16},   {"i8", DT_INT8},
    {"u8", DT_UINT8},    {"b", DT_BOOL},
};

static const char *pointwise_find(const char *p, char c) {
    while (*p != c) p++;
    return p + 1;
}

static value pointwise_tensor(const char **text, dtype dt) {
    int64_t sizes[8];
    int ndim = 0;
    const char *p = pointwise_find(*text, '[');
    for (; *p != ']'; p += *p == ',') sizes[ndim++] = strtoll(p, (char **)&p, 10);
    p = pointwise_find(p, '{');
    tensor *t;
    assert_int_equal(tensor_new(NULL, dt, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++, p += *p == ',') {
        char *at = (char *)tensor_data(t) + (size_t)i * dtype_size(dt);
        if (dtype_is_float(dt)) dtype_store_float(dt, at, strtod(p, (char **)&p));
        else dtype_store_int(dt, at, strtoll(p, (char **)&p, 10));
    }
    p++;
    if (*p == 't') {
        tensor *turned;
        assert_int_equal(tensor_transpose(NULL, t, 0, 1, &turned), CTSC_OK);
        tensor_unref(t);
        t = turned;
        p++;
    }
    *text = p;
    return value_tensor_take(t);
}

static value pointwise_value(const char **text) {
    const char *p = *text;
    for (size_t i = 0; i < sizeof pointwise_names / sizeof *pointwise_names; i++) {
        size_t n = strlen(pointwise_names[i].name);
        if (strncmp(p, pointwise_names[i].name, n) == 0 && p[n] == '[')
            return pointwise_tensor(text, pointwise_names[i].dt);
    }
    if (*p == '(') {
        list *l = list_new(LIST_INT, TYPE_INT, 4);
        for (p++; *p != ')'; p += *p == ',')
            assert_true(list_append_take(l, value_int(strtoll(p, (char **)&p, 10))));
        *text = p + 1;
        return value_list_take(l);
    }
    if (*p == '\'') {
        const char *end = pointwise_find(p + 1, '\'');
        *text = end;
        return value_str_take(str_new(p + 1, (size_t)(end - p - 2)));
    }
    size_t n = strcspn(p, " ");
    *text = p + n;
    if (strncmp(p, "None", 4) == 0) return value_none();
    if (strncmp(p, "True", 4) == 0) return value_bool(true);
    if (strncmp(p, "False", 5) == 0) return value_bool(false);
    bool real = memchr(p, '.', n) || memchr(p, 'n', n) || memchr(p, 'e', n);
    return real ? value_float(strtod(p, NULL)) : value_int(strtoll(p, NULL, 10));
}

static int pointwise_values(const char *text, value *out) {
    int n = 0;
    while (*text) {
        out[n++] = pointwise_value(&text);
        while (*text == ' ') text++;
    }
    return n;
}

static void pointwise_release(int n, value *v) {
    for (int i = 0; i < n; i++) value_set(&v[i], value_none());
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool pointwise_close(double got, double want, double tol) {
    return got == want || (got != got && want != want) ||
           fabs(got - want) <= tol + tol * fabs(want);
}

static void pointwise_compare(const pointwise_case *c, value got, value want) {
    if (want.tag != V_TENSOR) {
        if (got.tag != want.tag ||
            (want.tag == V_FLOAT ? got.u.f != want.u.f : got.u.i != want.u.i))
            fail_msg("%s(%s): another result", c->key, c->args);
        return;
    }
    const tensor *g = got.u.tensor, *w = want.u.tensor;
    if (g->dtype != w->dtype || !tensor_same_shape(g, w))
        fail_msg("%s(%s): dtype or shape differs", c->key, c->args);
    dtype dt = (dtype)w->dtype;
    double tol = dt == DT_FLOAT64    ? 2e-7
                 : dt == DT_FLOAT16  ? 2e-3
                 : dt == DT_BFLOAT16 ? 2e-2
                                     : 1e-5;
    tensor *flat, *same;
    assert_int_equal(tensor_contiguous(NULL, (tensor *)g, &flat), CTSC_OK);
    assert_int_equal(tensor_contiguous(NULL, (tensor *)w, &same), CTSC_OK);
    for (int64_t i = 0; i < g->numel; i++) {
        size_t at = (size_t)i * dtype_size(dt);
        const char *a = (const char *)tensor_data(flat) + at,
                   *b = (const char *)tensor_data(same) + at;
        if (!dtype_is_float(dt) && dtype_load_int(dt, a) != dtype_load_int(dt, b))
            fail_msg("%s(%s): element %d is %lld", c->key, c->args, (int)i,
                     (long long)dtype_load_int(dt, a));
        if (dtype_is_float(dt) &&
            !pointwise_close(dtype_load_float(dt, a), dtype_load_float(dt, b), tol))
            fail_msg("%s(%s): element %d is %.9g, not %.9g", c->key, c->args, (int)i,
                     dtype_load_float(dt, a), dtype_load_float(dt, b));
    }
    tensor_unref(flat);
    tensor_unref(same);
}

/* ---- running --------------------------------------------------------------------------------- */

static ctsc_status pointwise_call(runtime *rt, diag *d, const char *key, int n, value *args,
                                  value *results) {
    op_ctx cx = {.diag = d, .rt = rt};
    return op_call(&cx, key, n, args, results);
}

static void pointwise_run(const pointwise_case *c, size_t n) {
    for (size_t k = 0; k < n; k++, c++) {
        value args[12], want[3], results[3] = {value_none(), value_none(), value_none()};
        int nargs = pointwise_values(c->args, args);
        runtime rt;
        diag d = {0};
        runtime_init(&rt);
        generator_seed(&rt.rng, 42);
        ctsc_status st = pointwise_call(&rt, &d, c->key, nargs, args, results);
        if (c->want[0] == '!') {
            if (st == CTSC_OK) fail_msg("%s(%s): no error", c->key, c->args);
            assert_string_equal(diag_message(&d), c->want + 1);
        } else {
            if (st != CTSC_OK) fail_msg("%s(%s): %s", c->key, c->args, diag_message(&d));
            int nwant = pointwise_values(c->want, want);
            for (int i = 0; i < nwant; i++) pointwise_compare(c, results[i], want[i]);
            pointwise_release(nwant, want);
        }
        diag_clear(&d);
        pointwise_release(nargs, args);
        pointwise_release(3, results);
    }
}

#define POINTWISE_TABLE(name)                                                                      \
    static void pointwise_##name(void **state) {                                                   \
        (void)state;                                                                               \
        pointwise_run(name##_cases, sizeof name##_cases / sizeof *name##_cases);                   \
    }
POINTWISE_TABLE(unary)
POINTWISE_TABLE(activations)
POINTWISE_TABLE(arithmetic)
POINTWISE_TABLE(comparisons)
POINTWISE_TABLE(selections)
POINTWISE_TABLE(creations)
POINTWISE_TABLE(random)
POINTWISE_TABLE(special)

/* ---- in place -------------------------------------------------------------------------------- */

static value pointwise_one(const char *text) { return pointwise_value(&text); }

/* A row of a matrix changes through its view, and nothing else does. */
static void pointwise_inplace_view(void **state) {
    (void)state;
    runtime rt;
    runtime_init(&rt);
    value base = pointwise_one("f32[2,3]{1,2,3,4,5,6}"), result = value_none();
    tensor *column;
    assert_int_equal(tensor_select(NULL, base.u.tensor, 1, 1, &column), CTSC_OK);
    value args[2] = {value_tensor_take(column), value_float(10)};
    assert_int_equal(pointwise_call(&rt, NULL, "aten::mul_.Scalar", 2, args, &result), CTSC_OK);
    assert_ptr_equal(result.u.tensor, column);
    value want = pointwise_one("f32[2,3]{1,20,3,4,50,6}");
    pointwise_compare(&(pointwise_case){"mul_", "view", ""}, base, want);
    value_unref(result);
    value_unref(args[0]);
    value_unref(want);
    value_unref(base);
}

static const char overlap_inside[] =
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory "
    "location. Please clone() the tensor before performing the operation.";
static const char overlap_between[] =
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation.";

static void pointwise_overlap(void **state) {
    (void)state;
    runtime rt;
    diag d = {0};
    runtime_init(&rt);
    value x = pointwise_one("f32[4]{1,2,3,4}"), result = value_none();
    tensor *head, *tail, *one, *wide;
    const int64_t three = 3;
    assert_int_equal(tensor_slice(NULL, x.u.tensor, 0, 0, 3, 1, &head), CTSC_OK);
    assert_int_equal(tensor_slice(NULL, x.u.tensor, 0, 1, 4, 1, &tail), CTSC_OK);
    assert_int_equal(tensor_slice(NULL, x.u.tensor, 0, 0, 1, 1, &one), CTSC_OK);
    assert_int_equal(tensor_expand(NULL, one, 1, &three, &wide), CTSC_OK);
    value args[3] = {value_tensor_take(head), value_tensor_take(tail), value_int(1)};
    assert_int_not_equal(pointwise_call(&rt, &d, "aten::add_.Tensor", 3, args, &result), CTSC_OK);
    assert_string_equal(diag_message(&d), overlap_between);
    diag_clear(&d);
    args[0] = value_tensor_take(wide);
    assert_int_not_equal(pointwise_call(&rt, &d, "aten::add_.Scalar", 3,
                                        (value[]){args[0], value_int(1), value_int(1)}, &result),
                         CTSC_OK);
    assert_string_equal(diag_message(&d), overlap_inside);
    diag_clear(&d);
    tensor_unref(head);
    tensor_unref(tail);
    tensor_unref(one);
    tensor_unref(wide);
    value_unref(x);
}

/* Weights in a read-only mapping are copied before the first write. */
static void pointwise_read_only(void **state) {
    (void)state;
    static const float weights[3] = {1, 2, 3};
    runtime rt;
    runtime_init(&rt);
    storage *s = storage_borrow((void *)weights, sizeof weights, NULL, NULL);
    s->read_only = true;
    const int64_t size = 3, stride = 1;
    tensor *t;
    assert_int_equal(tensor_on_storage(NULL, s, DT_FLOAT32, 1, &size, &stride, 0, &t), CTSC_OK);
    storage_unref(s);
    value arg = value_tensor_take(t), result = value_none();
    assert_int_equal(pointwise_call(&rt, NULL, "aten::neg_", 1, &arg, &result), CTSC_OK);
    assert_true(weights[1] == 2 && TENSOR_AT(t, float)[1] == -2);
    value_unref(result);
    value_unref(arg);
}

/* Integer arithmetic at the edges wraps and does not trap. */
static void pointwise_integer_edges(void **state) {
    (void)state;
    assert_true(scalar_div_floor_i64(INT64_MIN, -1) == INT64_MIN);
    assert_true(scalar_remainder_i64(INT64_MIN, -1) == 0);
    assert_true(scalar_neg_i32(INT32_MIN) == INT32_MIN);
    assert_true(scalar_abs_i8(-128) == -128);
    assert_true(scalar_mul_i16(300, 300) == (int16_t)90000);
    assert_true(scalar_lshift_i64(1, 64) == 0 && scalar_rshift_i64(-8, 70) == -1);
    assert_true(scalar_lshift_u8(1, 200) == 0 && scalar_rshift_u8(255, 9) == 0);
    assert_true(scalar_gcd_i64(INT64_MIN, 0) == INT64_MIN);
}

/* The polynomials of scalar_ops.h stay within four units in the last place of libm's double
 * functions. */
static void pointwise_precision(void **state) {
    (void)state;
    static const struct {
        const char *name;
        float (*got)(float);
        double (*want)(double);
        float low, high;
    } functions[] = {
        {"exp", scalar_exp_f32, exp, -87, 88},
        {"expm1", scalar_expm1_f32, expm1, -30, 88},
        {"log", scalar_log_f32, log, 1e-38f, 1e38f},
        {"log1p", scalar_log1p_f32, log1p, -0.99f, 1e6f},
        {"tanh", scalar_tanh_f32, tanh, -12, 12},
        {"erf", scalar_erf_f32, erf, -6, 6},
    };
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        for (int i = 0; i <= 40000; i++) {
            float x = functions[k].low +
                      (functions[k].high - functions[k].low) * ((float)i / 40000);
            double want = functions[k].want(x), got = functions[k].got(x);
            if (fabs(got - want) > 4.8e-7 * fabs(want) + 1e-38)
                fail_msg("%s(%.9g) is %.9g, not %.9g", functions[k].name, (double)x, got, want);
        }
}

/* What trunc_normal_ makes of uniform numbers is the same to the last bit, whether or not it is
 * made in vectors. */
static void pointwise_erfinv(void **state) {
    (void)state;
    enum { N = 70001 };
    const int64_t size = N;
    runtime rt;
    runtime_init(&rt);
    for (int step = 1; step < 4; step += 2) { /* in one piece, and with gaps */
        tensor *whole, *t;
        assert_int_equal(tensor_new(NULL, DT_FLOAT32, 1, &size, &whole), CTSC_OK);
        float *x = tensor_data(whole);
        for (int i = 0; i < N; i++)
            x[i] = i % 7 ? (float)i / (N / 2.0f) - 1.0f
                         : copysignf(ldexpf(1.0f + (float)i / N, -(i % 160)), i % 2 ? x[i] : -1.0f);
        x[0] = 1.5f, x[1] = -1.0f, x[2] = 0.0f, x[3] = -0.0f, x[4] = (float)NAN;
        assert_int_equal(tensor_slice(NULL, whole, 0, 0, N, step, &t), CTSC_OK);
        value arg = value_tensor_take(t), result = value_none();
        assert_int_equal(pointwise_call(&rt, NULL, "aten::erfinv", 1, &arg, &result), CTSC_OK);
        for (int i = 0; i < t->numel; i++) {
            float want = scalar_erfinv_f32(x[i * step]), got = TENSOR_AT(result.u.tensor, float)[i];
            if (memcmp(&want, &got, sizeof want) != 0 && want == want)
                fail_msg("erfinv(%a) is %a, not %a", (double)x[i * step], (double)got,
                         (double)want);
        }
        value_unref(result);
        value_unref(arg);
        tensor_unref(whole);
    }
}

/* The same numbers, whether they are drawn in blocks or, where dimensions are not in
 * order, one by one. */
static void pointwise_uniform_blocks(void **state) {
    (void)state;
    const int64_t sizes[] = {50, 70};
    tensor *filled[2];
    for (int turned = 0; turned < 2; turned++) {
        runtime rt;
        runtime_init(&rt);
        tensor *t, *view;
        assert_int_equal(tensor_new(NULL, DT_FLOAT32, 2, sizes, &t), CTSC_OK);
        assert_int_equal(turned ? tensor_transpose(NULL, t, 0, 1, &view)
                                : tensor_alias(NULL, t, &view),
                         CTSC_OK);
        value args[] = {value_tensor_take(view), value_float(-0.3), value_float(1.7), value_none()},
              result = value_none();
        assert_int_equal(pointwise_call(&rt, NULL, "aten::uniform_", 4, args, &result), CTSC_OK);
        value_unref(result);
        value_unref(args[0]);
        filled[turned] = t;
    }
    assert_memory_equal(tensor_data(filled[0]), tensor_data(filled[1]), 50 * 70 * sizeof(float));
    tensor_unref(filled[0]);
    tensor_unref(filled[1]);
}

/* ---- lack of memory -------------------------------------------------------------------------- */

static counting count;

/* Each allocation of a call fails in turn: CTSC_LIMIT or the right result, nothing leaked. */
static void pointwise_no_memory(void **state) {
    (void)state;
    static const pointwise_case cases[] = {
        {"aten::add.Tensor", "f32[2,3]{1,2,3,4,5,6} i64[3]{1,2,3} 2", ""},
        {"aten::where.self", "b[2]{1,0} f32[2]{1,2} f64[]{3}", ""},
        {"aten::clamp.Tensor", "i64[2]{1,2} f32[1]{0} None", ""},
        {"aten::prelu", "f32[1,2]{1,-2} f32[2]{1,2}", ""},
        {"aten::glu", "f32[2,2]{1,2,3,4} -1", ""},
        {"aten::log_sigmoid_forward", "f32[2]{1,2}", ""},
        {"aten::isclose", "f32[2]{1,2} f32[2]{1,2} 0.1 0.1 False", ""},
        {"aten::multinomial", "f32[3]{1,2,3} 2 False None", ""},
        {"aten::alpha_dropout", "f32[3]{1,2,3} 0.5 True", ""},
        {"aten::rrelu", "f32[3]{-1,2,3} 0.1 0.2 True None", ""},
        {"aten::normal.Tensor_Tensor", "f32[3]{-1,2,3} f32[1]{1} None", ""},
        {"aten::randperm", "5 3 None None None", ""},
        {"aten::fill_diagonal_", "f32[3,3]{1,2,3,4,5,6,7,8,9} 1 True", ""},
        {"aten::tril_indices", "3 3 0 None None None None", ""},
        {"aten::_tensor_to_list", "i32[2]{1,2}", ""},
        {"aten::mvlgamma", "f32[2]{2,3} 2", ""},
        {"aten::add.out", "f32[2]{1,2} f32[2]{1,2} 1 f32[0]{}", ""},
        {"aten::to.dtype", "f32[2]{1,2} 7 False True None", ""},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (long fail_at = 0, more = 1; more; fail_at++) {
            value args[12], results[3] = {value_none(), value_none(), value_none()};
            int n = pointwise_values(cases[k].args, args);
            runtime rt;
            diag d = {0};
            runtime_init(&rt);
            if (fail_at == 0) (void)op_find(cases[k].key); /* the registry allocates once */
            long live = count.live;
            count.requests = 0;
            count.fail_at = fail_at;
            ctsc_status st = pointwise_call(&rt, &d, cases[k].key, n, args, results);
            count.fail_at = 0;
            more = fail_at == 0 || count.requests >= fail_at;
            if (st != CTSC_OK && st != CTSC_LIMIT)
                fail_msg("%s: allocation %ld: %s", cases[k].key, fail_at, diag_message(&d));
            diag_clear(&d);
            pointwise_release(3, results);
            if (fail_at > 0 && count.live > live + 1) /* out= may have grown a storage */
                fail_msg("%s: allocation %ld leaks", cases[k].key, fail_at);
            pointwise_release(n, args);
        }
}

static int pointwise_setup(void **state) {
    (void)state;
    mem_set_hook(counting_hook, &count);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointwise_unary),        cmocka_unit_test(pointwise_activations),
        cmocka_unit_test(pointwise_arithmetic),   cmocka_unit_test(pointwise_comparisons),
        cmocka_unit_test(pointwise_selections),   cmocka_unit_test(pointwise_creations),
        cmocka_unit_test(pointwise_random),       cmocka_unit_test(pointwise_special),
        cmocka_unit_test(pointwise_inplace_view), cmocka_unit_test(pointwise_overlap),
        cmocka_unit_test(pointwise_read_only),    cmocka_unit_test(pointwise_integer_edges),
        cmocka_unit_test(pointwise_erfinv),       cmocka_unit_test(pointwise_uniform_blocks),
        cmocka_unit_test(pointwise_precision),    cmocka_unit_test(pointwise_no_memory),
    };
    return cmocka_run_group_tests(tests, pointwise_setup, NULL);
}
