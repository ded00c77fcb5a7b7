/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_linear_nbits.c - ctsc::linear_nbits and ctsc::embedding_nbits, weights of 2, 4 and 8 bits as
 * files have them, against float64: packed and not, zero points of every kind, what is refused.
 * Tensors end at a page that cannot be touched.
 */
#include "support.h"

#include "base/threads/thread_pool.h"
#include "cpu/ukernel.h"
#include "fenced.h"
#include "ir/op/op.h"
#include "runtime/context/runtime.h"

#include <math.h>

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static bool random_one_in(int n) { return random_below(n) == 0; }

static double element(const tensor *t, int64_t i) {
    if (t->dtype == DT_FLOAT32) return (double)TENSOR_AT(t, float)[i];
    return t->dtype == DT_FLOAT16 ? (double)float16_to_float(TENSOR_AT(t, float16)[i])
                                  : (double)bfloat16_to_float(TENSOR_AT(t, bfloat16)[i]);
}

static tensor *random_tensor(dtype dt, int ndim, const int64_t *sizes) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, dt, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++) {
        float x = ((float)random_below(20001) - 10000) * 1e-4f;
        if (dt == DT_UINT8) TENSOR_AT(t, uint8_t)[i] = (uint8_t)random_below(256);
        else if (dt == DT_FLOAT32) TENSOR_AT(t, float)[i] = x;
        else if (dt == DT_FLOAT16) TENSOR_AT(t, float16)[i] = float16_from_float(x);
        else TENSOR_AT(t, bfloat16)[i] = bfloat16_from_float(x);
    }
    return t;
}

static tensor *constant(tensor *t_take) {
    tensor *own;
    assert_int_equal(tensor_constant(NULL, t_take, &own), CTSC_OK);
    tensor_unref(t_take);
    return own;
}

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct nbits_case {
    tensor *x, *w, *scale, *zero, *b; /* zero, b: may be NULL */
    int64_t rows, n, k, group, groups, level;
    int bits;
    dtype dt;
} nbits_case;

static nbits_case random_case(bool packed) {
    static const dtype dtypes[] = {DT_FLOAT32, DT_FLOAT16, DT_BFLOAT16};
    static const int64_t groups[] = {4, 16, 20, 32, 64, 128, 256};
    nbits_case c = {.rows = 1 + random_below(random_one_in(4) ? 30 : 4),
                    .n = 1 + random_below(90),
                    .k = 1 + random_below(300),
                    .group = groups[random_below(7)],
                    .bits = 2 << random_below(3),
                    .level = random_below(5),
                    .dt = dtypes[random_below(3)]};
    c.groups = (c.k + c.group - 1) / c.group;
    c.x = random_tensor(c.dt, 2, (int64_t[]){c.rows, c.k});
    c.w = random_tensor(DT_UINT8, 3, (int64_t[]){c.n, c.groups, c.group * c.bits / 8});
    if (packed) c.w = constant(c.w);
    c.scale = random_tensor(c.dt, 2, (int64_t[]){c.n, c.groups});
    if (random_one_in(2))
        c.zero = random_tensor(DT_UINT8, 2, (int64_t[]){c.n, (c.groups * c.bits + 7) / 8});
    else if (random_one_in(2)) c.zero = random_tensor(c.dt, 2, (int64_t[]){c.n, c.groups});
    c.b = random_one_in(2) ? random_tensor(c.dt, 1, &c.n) : NULL;
    return c;
}

static void case_free(nbits_case *c) {
    tensor_unref(c->x), tensor_unref(c->w), tensor_unref(c->scale), tensor_unref(c->zero);
    tensor_unref(c->b);
}

static value value_of(tensor *t) { return t ? value_tensor_take(t) : value_none(); }

static ctsc_status call(const char *key, int n, const value *args, value *y) {
    diag d = {0};
    runtime rt;
    runtime_init(&rt);
    ctsc_status st = op_call(&(op_ctx){.diag = &d, .rt = &rt}, key, n, args, y);
    diag_clear(&d);
    return st;
}

static ctsc_status case_linear(const nbits_case *c, value *y) {
    value args[] = {value_of(c->x),      value_of(c->w),  value_of(c->scale),
                    value_of(c->zero),   value_of(c->b),  value_int(c->bits),
                    value_int(c->group), value_int(c->k), value_int(c->level)};
    return call("ctsc::linear_nbits", 9, args, y);
}

/* Bits of number i of a row of bytes. */
static int bits_at(const tensor *t, int64_t row, int64_t bytes, int64_t i, int bits) {
    const uint8_t *p = TENSOR_AT(t, uint8_t) + row * bytes;
    return p[i * bits / 8] >> i * bits % 8 & ((1 << bits) - 1);
}

/* Weight i of row j; *size: the magnitude of its parts. */
static double case_weight(const nbits_case *c, int64_t j, int64_t i, double *size) {
    int64_t g = i / c->group;
    double zero = 1 << (c->bits - 1), scale = element(c->scale, j * c->groups + g);
    if (c->zero && c->zero->dtype == DT_UINT8)
        zero = bits_at(c->zero, j, (c->groups * c->bits + 7) / 8, g, c->bits);
    else if (c->zero) zero = element(c->zero, j * c->groups + g);
    double q = bits_at(c->w, j, c->groups * c->group * c->bits / 8, i, c->bits);
    *size = (q + fabs(zero) + 128) * fabs(scale);
    return (q - zero) * scale;
}

static void check(const nbits_case *c, const tensor *y, bool packed) {
    double step = c->dt == DT_FLOAT16    ? 0x1p-11
                  : c->dt == DT_BFLOAT16 ? 0x1p-8
                                         : 0x1p-24,
           levels = c->level == 4 ? 127 : 32384;
    assert_int_equal(y->dtype, c->dt);
    for (int64_t r = 0; r < c->rows; r++)
        for (int64_t j = 0; j < c->n; j++) {
            double want = c->b ? element(c->b, j) : 0, size = fabs(want), most = 0, weights = 0,
                   part;
            for (int64_t i = 0; i < c->k; i++) {
                double x = element(c->x, r * c->k + i), w = case_weight(c, j, i, &part);
                want += x * w, size += fabs(x) * part, weights += fabs(w);
                most = fmax(most, fabs(x));
            }
            /* without packing, weights are rounded to the dtype */
            double rounded = packed ? 0 : size * step,
                   rows = packed && c->level > 1 ? most / levels / 2 * weights * 1.001 : 0,
                   brains = packed && c->level > 2 && c->rows >= 16 && ukernel_quad(UKERNEL_BF16)
                                ? size * 0x1.02p-7
                                : 0,
                   bound = size * (double)(c->k + 8) * 0x1p-23 + fabs(want) * step + 0x1p-24,
                   got = element(y, r * c->n + j);
            if (!(fabs(got - want) <= (bound + rounded + rows + brains) * (1 + step)))
                fail_msg("%d bits, groups of %lld, level %lld, [%lld, %lld] to %lld: %.9g instead "
                         "of %.9g, bound %.3g",
                         c->bits, (long long)c->group, (long long)c->level, (long long)c->rows,
                         (long long)c->k, (long long)c->n, got, want, bound + rounded + rows);
        }
}

static void test_linear(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < 800; i++) {
        bool packed = !random_one_in(4);
        nbits_case c = random_case(packed);
        pool_set_threads(1 + (int)random_below(3));
        for (int again = 0; again < 2; again++) {
            value y;
            assert_int_equal(case_linear(&c, &y), CTSC_OK);
            check(&c, y.u.tensor, packed && (c.group % 8 == 0 || c.group >= c.k));
            value_unref(y);
        }
        case_free(&c);
    }
    tensor_set_allocator(NULL);
}

static void test_embedding(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < 300; i++) {
        nbits_case c = random_case(random_one_in(2));
        tensor *at;
        int64_t rows = random_below(6);
        assert_int_equal(
            tensor_new(NULL, random_one_in(2) ? DT_INT64 : DT_INT32, 2, (int64_t[]){2, rows}, &at),
            CTSC_OK);
        for (int64_t e = 0; e < at->numel; e++)
            if (at->dtype == DT_INT64) TENSOR_AT(at, int64_t)[e] = random_below(c.n);
            else TENSOR_AT(at, int32_t)[e] = (int32_t)random_below(c.n);
        value args[] = {value_of(c.w),     value_of(c.scale),  value_of(c.zero), value_of(at),
                        value_int(c.bits), value_int(c.group), value_int(c.k)},
              y;
        assert_int_equal(call("ctsc::embedding_nbits", 7, args, &y), CTSC_OK);
        assert_int_equal(y.u.tensor->dtype, c.dt);
        assert_int_equal(y.u.tensor->sizes[2], c.k);
        double step = c.dt == DT_FLOAT16 ? 0x1p-11 : c.dt == DT_BFLOAT16 ? 0x1p-8 : 0x1p-22;
        for (int64_t e = 0; e < y.u.tensor->numel; e++) {
            int64_t row = at->dtype == DT_INT64 ? TENSOR_AT(at, int64_t)[e / c.k]
                                                : TENSOR_AT(at, int32_t)[e / c.k];
            double size, want = case_weight(&c, row, e % c.k, &size);
            assert_true(fabs(element(y.u.tensor, e) - want) <= fabs(want) * step + size * 0x1p-22);
        }
        value_unref(y);
        if (rows) {
            if (at->dtype == DT_INT64) TENSOR_AT(at, int64_t)[0] = c.n;
            else TENSOR_AT(at, int32_t)[0] = -1;
            assert_int_equal(call("ctsc::embedding_nbits", 7, args, &y), CTSC_FAILED);
        }
        tensor_unref(at);
        case_free(&c);
    }
    tensor_set_allocator(NULL);
}

/* Sizes and bits that do not belong together; rows of the wrong length; no rows. */
static void test_refused(void **state) {
    (void)state;
    static const struct { int64_t k, group; int bits; } wrong[] = {
        {64, 32, 3},        {64, 0, 4},         {64, -32, 4}, {64, 31, 4}, {65, 32, 4},
        {128, 32, 4},       {64, 64, 4},        {0, 32, 4},   {64, 32, 8}, {64, 32, 2},
        {INT64_MAX, 32, 4}, {64, INT64_MAX, 4}, {64, 32, 0},  {-64, 32, 4}};
    nbits_case c = {.rows = 2, .n = 5, .k = 64, .group = 32, .bits = 4, .dt = DT_FLOAT32};
    value y;
    c.x = random_tensor(DT_FLOAT32, 2, (int64_t[]){2, 64});
    c.w = constant(random_tensor(DT_UINT8, 3, (int64_t[]){5, 2, 16}));
    c.scale = random_tensor(DT_FLOAT32, 2, (int64_t[]){5, 2});
    assert_int_equal(case_linear(&c, &y), CTSC_OK);
    value_unref(y);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        nbits_case bad = c;
        bad.k = wrong[i].k, bad.group = wrong[i].group, bad.bits = wrong[i].bits;
        assert_int_equal(case_linear(&bad, &y), CTSC_FAILED);
    }
    nbits_case bad = c;
    bad.x = random_tensor(DT_FLOAT32, 2, (int64_t[]){2, 63});
    assert_int_not_equal(case_linear(&bad, &y), CTSC_OK);
    tensor_unref(bad.x);
    bad.x = random_tensor(DT_FLOAT32, 2, (int64_t[]){0, 64});
    assert_int_equal(case_linear(&bad, &y), CTSC_OK);
    assert_int_equal(y.u.tensor->numel, 0);
    value_unref(y), tensor_unref(bad.x);
    bad = c;
    bad.zero = random_tensor(DT_UINT8, 2, (int64_t[]){5, 2});
    assert_int_equal(case_linear(&bad, &y), CTSC_FAILED);
    tensor_unref(bad.zero);
    case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
