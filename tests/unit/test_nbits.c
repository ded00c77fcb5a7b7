/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_nbits.c - products with weights of 4 and 8 bits against float64: every set of kernels, any
 * shape, group, zero points and kind of rows, the same bits with any number of threads. Weights,
 * rows and results end at a page that cannot be touched.
 */
#include "support.h"

#include "amx_model.h"
#include "base/threads/thread_pool.h"
#include "fenced.h"
#include "runtime/kernels/matmul/nbits_matrix.h"
#include "ukernels.h"

#include <math.h>

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static bool random_one_in(int n) { return random_below(n) == 0; }
static float random_float(void) { return ((float)random_below(2000001) - 1e6f) * 1e-6f; }

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct nbits_case {
    nbits_source s;
    int64_t rows;
    dtype dt;
    nbits_rows as;
    uint8_t *q; /* [n][k] */
    float *scale, *zero, *bias;
    tensor *x, *out;
    nbits_matrix m;
    size_t bytes; /* of its data, fenced */
    bool rounds;  /* rows that become integers elsewhere may be rounded to bfloat16 */
    /* of rows that are integers; ints NULL: they are not */
    int8_t *ints;
    float *row_scale;
    int32_t *row_zero;
} nbits_case;

static void case_column(const void *ctx, int64_t j, uint8_t *q) {
    const nbits_case *c = ctx;
    memcpy(q, c->q + j * c->s.k, (size_t)c->s.k);
}

static float *random_floats(int64_t n) {
    float *f = malloc((size_t)n * sizeof *f + 1);
    for (int64_t i = 0; i < n; i++) f[i] = random_float();
    return f;
}

static double element(const tensor *t, int64_t i) {
    if (t->dtype == DT_FLOAT32) return (double)TENSOR_AT(t, float)[i];
    return t->dtype == DT_FLOAT16 ? (double)float16_to_float(TENSOR_AT(t, float16)[i])
                                  : (double)bfloat16_to_float(TENSOR_AT(t, bfloat16)[i]);
}

static void set_element(tensor *t, int64_t i, float f) {
    if (t->dtype == DT_FLOAT32) TENSOR_AT(t, float)[i] = f;
    else if (t->dtype == DT_FLOAT16) TENSOR_AT(t, float16)[i] = float16_from_float(f);
    else TENSOR_AT(t, bfloat16)[i] = bfloat16_from_float(f);
}

static void case_numbers(nbits_case *c) {
    int64_t all = c->s.n * nbits_groups(c->s.k, c->s.group);
    c->q = malloc((size_t)(c->s.n * c->s.k));
    for (int64_t i = 0; i < c->s.n * c->s.k; i++)
        c->q[i] = (uint8_t)random_below(c->s.bits == 4 ? 16 : 256);
    c->scale = random_floats(all);
    bool half = random_one_in(2);
    for (int64_t i = 0; i < all && half; i++)
        c->scale[i] = float16_to_float(float16_from_float(c->scale[i]));
    int zeros = (int)random_below(3);
    c->zero = zeros ? random_floats(all) : NULL;
    for (int64_t i = 0; i < all && zeros == 1; i++)
        c->zero[i] = (float)(random_below(c->s.bits == 4 ? 16 : 256) - (c->s.bits == 4 ? 8 : 128));
    c->bias = random_one_in(3) ? NULL : random_floats(c->s.n);
    c->s.scale = c->scale, c->s.zero = c->zero;
}

static void fence_data(nbits_case *c) {
    c->bytes = (size_t)(c->m.panels * nbits_panel_bytes(&c->m.form));
    uint8_t *fenced = fenced_alloc(NULL, c->bytes);
    memcpy(fenced, c->m.data, c->bytes);
    c->m.data = fenced;
}

/* Rows become integers with a scale each, and a zero point perhaps: their sums are exact. */
static void case_ints(nbits_case *c) {
    c->as = NBITS_AS_FLOATS, c->dt = DT_FLOAT32;
    tensor_unref(c->x), tensor_unref(c->out);
    assert_int_equal(tensor_new(NULL, c->dt, 2, (int64_t[]){c->rows, c->s.k}, &c->x), CTSC_OK);
    assert_int_equal(tensor_new(NULL, c->dt, 2, (int64_t[]){c->rows, c->s.n}, &c->out), CTSC_OK);
    c->ints = malloc((size_t)c->x->numel);
    c->row_scale = random_floats(c->rows);
    c->row_zero = random_one_in(3) ? NULL : malloc((size_t)c->rows * sizeof *c->row_zero);
    for (int64_t r = 0; r < c->rows && c->row_zero; r++)
        c->row_zero[r] = (int32_t)random_below(256) - 128;
    for (int64_t i = 0; i < c->x->numel; i++) {
        int64_t r = i / c->s.k;
        c->ints[i] = (int8_t)(random_below(256) - 128);
        set_element(c->x, i,
                    (float)(c->ints[i] - (c->row_zero ? c->row_zero[r] : 0)) * c->row_scale[r]);
    }
}

static bool pairs; /* cases of test_pairs */

static void case_make(nbits_case *c) {
    static const int64_t groups[] = {8, 16, 24, 32, 64, 128, 136, 256, 1 << 20};
    static const dtype dtypes[] = {DT_FLOAT32, DT_FLOAT32, DT_FLOAT16, DT_BFLOAT16};
    *c = (nbits_case){.rows = 1 + random_below(random_one_in(4) ? 40 : 5) + (pairs ? 15 : 0),
                      .rounds = pairs,
                      .dt = dtypes[random_below(4)],
                      .as = (nbits_rows)random_below(4)};
    c->s = (nbits_source){.n = 1 + random_below(random_one_in(4) ? 300 : 80),
                          .k = 1 + random_below(random_one_in(3) ? 600 : 70),
                          .group = groups[random_below(9)],
                          .bits = random_one_in(2) ? 4 : 8,
                          .column = case_column,
                          .ctx = c};
    if (random_one_in(6)) c->s.group = c->s.k;
    case_numbers(c);
    assert_int_equal(tensor_new(NULL, c->dt, 2, (int64_t[]){c->rows, c->s.k}, &c->x), CTSC_OK);
    assert_int_equal(tensor_new(NULL, c->dt, 2, (int64_t[]){c->rows, c->s.n}, &c->out), CTSC_OK);
    for (int64_t i = 0; i < c->x->numel; i++) set_element(c->x, i, random_float());
    assert_true(nbits_matrix_make(&c->m, &c->s));
    fence_data(c);
}

static void case_free(nbits_case *c) {
    fenced_free(NULL, c->m.data, c->bytes);
    nbits_matrix_free(&c->m);
    free(c->ints), free(c->row_scale), free(c->row_zero);
    free(c->q), free(c->scale), free(c->zero), free(c->bias);
    tensor_unref(c->x), tensor_unref(c->out);
}

static void case_run(nbits_case *c) {
    if (c->ints) {
        nbits_ints x = {c->ints, c->row_scale, c->row_zero};
        assert_int_equal(nbits_product_ints(NULL, &c->m, &x, c->rows, c->bias, tensor_data(c->out)),
                         CTSC_OK);
        return;
    }
    assert_int_equal(nbits_product(NULL, &c->m, c->as, c->dt, tensor_data(c->x), c->rows, c->bias,
                                   tensor_data(c->out)),
                     CTSC_OK);
}

/* Weight i of column j; *size: the magnitude of its parts, and of what is lost where the middle and
 * a zero point that is not an integer are added first. */
static double case_weight(const nbits_case *c, int64_t j, int64_t i, double *size) {
    int64_t g = j * nbits_groups(c->s.k, c->s.group) + i / c->s.group;
    double q = (double)c->q[j * c->s.k + i] - (c->s.bits == 4 ? 8 : 128),
           zero = c->zero ? (double)c->zero[g] : 0;
    double middle = zero != rint(zero) ? (c->s.bits == 4 ? 8 : 128) / 8.0 : 0;
    *size = (fabs(q) + fabs(zero) + middle) * fabs((double)c->scale[g]);
    return (q - zero) * (double)c->scale[g];
}

static void check_element(const nbits_case *c, int64_t r, int64_t j, const char *name) {
    double want = c->bias ? (double)c->bias[j] : 0, size = fabs(want), steps = 0,
           step = c->dt == DT_FLOAT16    ? 0x1p-11
                  : c->dt == DT_BFLOAT16 ? 0x1p-8
                                         : 0x1p-24,
           levels = c->as == NBITS_AS_BYTES ? 127 : NBITS_WIDE;
    int64_t segment = c->m.form.segment;
    for (int64_t at = 0; at < c->s.k; at += segment) {
        double most = 0, weights = 0, magnitude;
        for (int64_t i = at; i < c->s.k && i < at + segment; i++) {
            double x = element(c->x, r * c->s.k + i), w = case_weight(c, j, i, &magnitude);
            want += x * w, size += fabs(x) * magnitude;
            most = fmax(most, fabs(x)), weights += fabs(w);
        }
        if (c->as != NBITS_AS_FLOATS) steps += most / levels / 2 * weights * 1.001;
    }
    /* both factors, to bfloat16 */
    if (c->rounds && (c->as == NBITS_AS_BYTES || c->as == NBITS_AS_BRAINS) && !c->ints)
        steps += size * 0x1.02p-7;
    if (c->dt == DT_FLOAT16 && fabs(want) > 65000) return; /* infinity, perhaps */
    double got = element(c->out, r * c->s.n + j),
           bound = steps + size * (double)(c->s.k + 8) * 0x1p-23 + fabs(want) * step + 0x1p-24;
    if (!(fabs(got - want) <= bound + steps * step))
        fail_msg("%s: %d bits, groups of %lld, as %d, [%lld, %lld] to %lld: %.9g instead of %.9g, "
                 "bound %.3g",
                 name, c->s.bits, (long long)c->s.group, (int)c->as, (long long)c->rows,
                 (long long)c->s.k, (long long)c->s.n, got, want, bound);
}

static void check_columns(const nbits_case *c) {
    float *column = malloc((size_t)c->s.k * sizeof *column);
    for (int64_t j = 0; j < c->s.n; j += 7) {
        nbits_column(&c->m, j, column);
        for (int64_t i = 0; i < c->s.k; i++) {
            double size, want = case_weight(c, j, i, &size);
            assert_true(fabs((double)column[i] - want) <= size * 0x1p-22);
        }
    }
    free(column);
}

static void check_cases(int cases, const char *name) {
    for (int i = 0; i < cases; i++) {
        nbits_case c;
        case_make(&c);
        if (random_one_in(4)) case_ints(&c);
        pool_set_threads(1);
        case_run(&c);
        for (int64_t r = 0; r < c.rows; r++)
            for (int64_t j = 0; j < c.s.n; j++) check_element(&c, r, j, name);
        size_t bytes = (size_t)c.out->numel * dtype_size(c.dt);
        void *one = malloc(bytes);
        memcpy(one, tensor_data(c.out), bytes);
        pool_set_threads(2 + (int)random_below(2));
        case_run(&c);
        if (memcmp(one, tensor_data(c.out), bytes))
            fail_msg("%s: %d bits, groups of %lld, as %d, [%lld, %lld] to %lld: threads matter",
                     name, c.s.bits, (long long)c.s.group, (int)c.as, (long long)c.rows,
                     (long long)c.s.k, (long long)c.s.n);
        free(one);
        check_columns(&c);
        case_free(&c);
    }
}

static void test_shapes(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (const ukernel **u = usable_ukernels(UKERNEL_NBITS, UKERNEL_BYTES); *u; u++) {
        isa_limit((*u)->isa);
        check_cases((*u)->isa == ISA_PLAIN ? 300 : 1000, (*u)->name);
    }
    isa_limit(ISA_COUNT);
    tensor_set_allocator(NULL);
}

/* Many rows where pairs of bfloat16 are multiplied: by the model of tile registers, and as it is
 * done here. */
static void test_pairs(void **state) {
    (void)state;
    const quad_kernels *model = amx_model_record(UKERNEL_BF16);
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    pairs = true;
    ukernel_pretend(UKERNEL_QUAD, UKERNEL_BF16, model);
    check_cases(400, "model of tile registers");
    ukernel_pretend(UKERNEL_QUAD, UKERNEL_BF16, NULL);
    if (ukernel_quad(UKERNEL_BF16)) check_cases(1000, "pairs of bfloat16");
    pairs = false;
    tensor_set_allocator(NULL);
}

/* ---- the ends -------------------------------------------------------------------------------- */

/* The largest numbers of all: sums that no step on the way may saturate. */
static void test_largest(void **state) {
    (void)state;
    for (const ukernel **u = usable_ukernels(UKERNEL_NBITS, UKERNEL_BYTES); *u; u++) {
        isa_limit((*u)->isa);
        for (int turn = 0; turn < 60; turn++) {
            nbits_case c;
            case_make(&c);
            for (int64_t i = 0; i < c.x->numel; i++)
                set_element(c.x, i, random_one_in(9) ? -1.0f : turn % 2 ? 1.0f : -1.0f);
            fenced_free(NULL, c.m.data, c.bytes);
            nbits_matrix_free(&c.m);
            int top = c.s.bits == 4 ? 15 : 255;
            for (int64_t i = 0; i < c.s.n * c.s.k; i++)
                c.q[i] = (uint8_t)(turn % 3 == 0 ? top : turn % 3 == 1 ? 0 : random_below(2) * top);
            assert_true(nbits_matrix_make(&c.m, &c.s));
            fence_data(&c);
            case_run(&c);
            for (int64_t r = 0; r < c.rows; r++)
                for (int64_t j = 0; j < c.s.n; j++) check_element(&c, r, j, (*u)->name);
            case_free(&c);
        }
    }
    isa_limit(ISA_COUNT);
}

/* Rows that are not finite, tiny or zero. */
static void test_not_finite(void **state) {
    (void)state;
    static const float values[] = {INFINITY, -INFINITY, NAN, 0, 0x1p-140f};
    for (int turn = 0; turn < 300; turn++) {
        nbits_case c;
        case_make(&c);
        float value = values[turn % 5];
        for (int64_t i = 0; i < c.s.k; i++) set_element(c.x, i, value);
        case_run(&c);
        for (int64_t j = 0; j < c.s.n; j++) {
            double got = element(c.out, j), bias = c.bias ? (double)c.bias[j] : 0;
            if (isfinite(value)) assert_true(fabs(got - bias) <= fabs(bias) * 0x1p-8 + 0x1p-24);
            else if (c.scale[j] != 0 && !c.zero && c.s.k == 1 &&
                     c.q[j] != (c.s.bits == 4 ? 8 : 128))
                assert_true(isinf(value) ? isinf(got) : isnan(got));
        }
        case_free(&c);
    }
}

static void test_groups(void **state) {
    (void)state;
    assert_true(nbits_group_fits(100, 100) && nbits_group_fits(100, 1000));
    assert_true(nbits_group_fits(100, 8) && nbits_group_fits(100, 96));
    assert_false(nbits_group_fits(100, 12) || nbits_group_fits(100, 0) ||
                 nbits_group_fits(100, -8));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),  cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_largest), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
