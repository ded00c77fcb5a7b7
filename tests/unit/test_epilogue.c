/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_epilogue.c - the activations that convolutions end with: each set of vector code that this
 * processor can run, against the scalar functions and, where those lose digits, against double.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/scalar/scalar_ops.h"
#include "runtime/kernels/engine/epilogue.h"
#include "ukernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ACTIVATIONS = DENSE_SILU + 1, EDGES = 40, VALUES = 1 << 16 };

static const activation_kernels *record(const ukernel *u) { return u->record; }

static const activation_kernels *plain(void) {
    return plain_ukernel(UKERNEL_ACTIVATION, UKERNEL_F32);
}

static double reference(enum dense_activation a, double x) {
    switch (a) {
    case DENSE_PLAIN: return x;
    case DENSE_RELU: return x < 0 ? 0 : x;
    case DENSE_RELU6: return x < 0 ? 0 : x > 6 ? 6 : x;
    case DENSE_HARDSIGMOID: return scalar_hardsigmoid_f64(x);
    case DENSE_HARDSWISH: return scalar_hardswish_f64(x);
    case DENSE_SIGMOID: return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
    case DENSE_SILU: return x / (1 + exp(-x));
    case DENSE_GELU: return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case DENSE_GELU_TANH:
        return x / (1 + exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    }
    return x;
}

/* What a result may be off by: some units in its last place; gelu, of its argument's; silu and
 * gelu_tanh end at a sum that is infinite too early. */
static double allowed(enum dense_activation a, double x, double y) {
    double unit = 1.1920929e-7 * fabs(y), least = 1.5e-45;
    if (a == DENSE_GELU) return 2 * 1.1920929e-7 * fabs(x) + least;
    if (a == DENSE_GELU_TANH) return 3 * unit + 4e-7 * fabs(x) * (x < 0) + 1e-37 * fabs(x) + least;
    if (a == DENSE_SILU) return 3 * unit + 1e-37 * fabs(x) + least;
    if (a == DENSE_PLAIN || a == DENSE_RELU || a == DENSE_RELU6) return 0;
    if (a == DENSE_HARDSIGMOID || a == DENSE_HARDSWISH)
        return 3 * unit + 2.4e-7 * (fabs(x) < 4 ? fmin(1, fabs(x)) : 0) + least;
    return 3 * unit + least;
}

static const float edges[EDGES] = {
    0.0f,    -0.0f,    1e-45f, -1e-45f,  1e-38f,  -1e-38f, 1e-20f,   -1e-20f,   3.0f,     -3.0f,
    2.9999f, -2.9999f, 6.0f,   5.99999f, 6.0001f, -6.0f,   1.41421f, -1.41421f, 1.41422f, -1.41422f,
    87.0f,   -87.0f,   88.5f,  -88.5f,   88.8f,   -88.8f,  103.0f,   -103.0f,   104.5f,   -104.5f,
    1e10f,   -1e10f,   1e30f,  -1e30f,   3e38f,   -3e38f,  INFINITY, -INFINITY, NAN,      -NAN};

static float some_value(int i) {
    if (i < EDGES) return edges[i];
    float unit = (float)rand() / (float)RAND_MAX * 2 - 1;
    if (i % 4 == 0) return unit * 110;
    if (i % 4 == 1) return unit * 8;
    if (i % 4 == 2) return unit;
    return scalar_from_bits_f32((uint32_t)rand() ^ (uint32_t)rand() << 16);
}

static void check_value(const activation_kernels *k, enum dense_activation a, float x, float y) {
    float scalar = x;
    plain()->apply(a, &scalar, 1);
    if (isnan(scalar) || isnan(y)) {
        if (!isnan(scalar) || !isnan(y))
            fail_msg("%s, activation %d of %a: %a, not %a", isa_table[k->isa].name, a, x, y,
                     scalar);
        return;
    }
    if (isinf(scalar) || isinf(y)) {
        if (y != scalar)
            fail_msg("%s, activation %d of %a: %a, not %a", isa_table[k->isa].name, a, x, y,
                     scalar);
        return;
    }
    double want = reference(a, x);
    if (!(fabs(y - want) <= allowed(a, x, want)))
        fail_msg("%s, activation %d of %a (%g): %a, not %a; scalar %a", isa_table[k->isa].name, a,
                 x, x, y, want, scalar);
    if (a != DENSE_GELU && y == 0 && scalar == 0 && signbit(y) != signbit(scalar))
        fail_msg("%s, activation %d of %a: the sign of zero", isa_table[k->isa].name, a, x);
}

static void test_values(void **state) {
    (void)state;
    float *x = malloc(VALUES * sizeof *x), *y = malloc(VALUES * sizeof *y);
    for (int i = 0; i < VALUES; i++) x[i] = some_value(i);
    for (const ukernel **u = usable_ukernels(UKERNEL_ACTIVATION, UKERNEL_F32); *u; u++)
        for (int a = 0; a < ACTIVATIONS; a++) {
            memcpy(y, x, VALUES * sizeof *x);
            record(*u)->apply((enum dense_activation)a, y, VALUES);
            for (int i = 0; i < VALUES; i++)
                check_value(record(*u), (enum dense_activation)a, x[i], y[i]);
        }
    free(x);
    free(y);
}

/* Any number of elements: each as if alone, and none after them. */
static void test_lengths(void **state) {
    (void)state;
    for (const ukernel **u = usable_ukernels(UKERNEL_ACTIVATION, UKERNEL_F32); *u; u++)
        for (int a = 0; a < ACTIVATIONS; a++)
            for (int n = 0; n < 70; n++) {
                float rows[72];
                for (int i = 0; i < 72; i++) rows[i] = (float)(i - 36) / 7;
                record(*u)->apply((enum dense_activation)a, rows, n);
                for (int i = 0; i < 72; i++) {
                    float alone = (float)(i - 36) / 7;
                    if (i < n) record(*u)->apply((enum dense_activation)a, &alone, 1);
                    assert_memory_equal(&alone, &rows[i], sizeof alone);
                }
            }
}

static void test_finish(void **state) {
    (void)state;
    float other[50], rows[50];
    for (int a = 0; a < ACTIVATIONS; a++)
        for (int with = 0; with < 2; with++) {
            dense_epilogue after = {.other = with ? other : NULL, .activation = a};
            for (int i = 0; i < 50; i++) other[i] = (float)i / 10, rows[i] = (float)(i % 7) - 3;
            epilogue_rows(&after, rows + 3, 3, 44);
            for (int i = 0; i < 50; i++) {
                float want = (float)(i % 7) - 3;
                bool done = i >= 3 && i < 47;
                if (done && with) want += (float)i / 10;
                if (done) activation_apply((enum dense_activation)a, &want, 1);
                assert_memory_equal(&want, &rows[i], sizeof want);
            }
        }
    for (const ukernel **u = usable_ukernels(UKERNEL_ACTIVATION, UKERNEL_F32); *u; u++)
        for (int n = 0; n < 50; n++) {
            for (int i = 0; i < 50; i++) rows[i] = (float)i, other[i] = 1;
            record(*u)->add(rows, other, n);
            for (int i = 0; i < 50; i++) assert_true(rows[i] == (float)(i + (i < n)));
        }
}

static void test_bounds(void **state) {
    (void)state;
    for (int a = 0; a < ACTIVATIONS; a++) {
        float low = 7, high = 7;
        if (!activation_bounds((enum dense_activation)a, &low, &high)) {
            assert_true(low == 7 && high == 7);
            continue;
        }
        for (int i = 0; i < 1000; i++) {
            float x = some_value(i), y = x;
            plain()->apply((enum dense_activation)a, &y, 1);
            float bound = x < low ? low : x;
            bound = bound > high ? high : bound;
            assert_true(isnan(x) ? isnan(y) : bound == y);
        }
    }
}

int main(void) {
    srand(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_finish),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
