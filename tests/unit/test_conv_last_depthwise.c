/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_conv_last_depthwise.c - depthwise convolutions with channels last: random shapes against
 * sums in double, with each set of kernels that this processor can run; all of them must agree to
 * the last bit. What is read and written ends at pages that must not be touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"
#include "runtime/kernels/conv/conv_last_depthwise.h"
#include "runtime/kernels/engine/wide.h"
#include "ukernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory between pages that cannot be touched; n floats that begin (front) or end there --- */

typedef struct guarded {
    char *map;
    size_t length;
    float *data;
} guarded;

static guarded guarded_new(int64_t n, bool front) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)n * sizeof(float),
           whole = (bytes + page - 1) / page * page;
    guarded g = {.length = whole + 2 * page};
    g.map = mmap(NULL, g.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    if (whole) assert_int_equal(mprotect(g.map + page, whole, PROT_READ | PROT_WRITE), 0);
    g.data = (float *)(g.map + page + (front ? 0 : whole - bytes));
    return g;
}

static void guarded_free(guarded *g) { munmap(g->map, g->length); }

/* ---- cases ----------------------------------------------------------------------------------- */

static int below(int n) { return rand() % n; }

static bool finish_shape(conv_shape *s) {
    s->in_size = s->kernel_size = s->out_size = 1;
    for (int i = 0; i < CONV_DIMS; i++) {
        int64_t span = s->in[i] + 2 * s->pad[i] - s->dilation[i] * (s->kernel[i] - 1) - 1;
        if (span < 0) return false;
        s->out[i] = span / s->stride[i] + 1;
        s->in_size *= s->in[i], s->out_size *= s->out[i], s->kernel_size *= s->kernel[i];
    }
    return true;
}

static conv_shape random_shape(void) {
    static const int usual[] = {3, 5, 7, 3, 5, 1, 2, 4, 9};
    conv_shape s;
    do {
        int dims = below(8) == 0 ? 3 : below(6) == 0 ? 1 : 2;
        s = (conv_shape){.batch = 1 + below(2),
                         .in = {1, 1, 1},
                         .kernel = {1, 1, 1},
                         .stride = {1, 1, 1},
                         .dilation = {1, 1, 1}};
        s.groups = s.in_channels = s.out_channels = below(30) == 0 ? 512 + below(64)
                                                                   : 1 + below(80);
        int k = usual[below(9)], stride = 1 + below(below(4) ? 2 : 3),
            dilation = below(4) ? 1 : 1 + below(4);
        for (int i = 3 - dims; i < 3; i++) {
            s.in[i] = 1 + below(dims == 3 ? 7 : dims == 2 ? 24 : 60);
            s.kernel[i] = below(6) ? k : 1 + below(5);
            s.stride[i] = below(6) ? stride : 1 + below(4);
            s.dilation[i] = below(6) ? dilation : 1 + below(4);
            s.pad[i] = below(3) ? s.dilation[i] * (s.kernel[i] - 1) / 2
                                : below((int)(s.kernel[i] * s.dilation[i]) + 2);
        }
    } while (!finish_shape(&s));
    return s;
}

static double reference(const conv_shape *s, const float *in, const float *weight,
                        const float *bias, int64_t n, const int64_t o[3], int64_t c, double *size) {
    double sum = bias ? bias[c] : 0;
    *size = fabs(sum);
    for (int64_t z = 0; z < s->kernel[0]; z++)
        for (int64_t y = 0; y < s->kernel[1]; y++)
            for (int64_t x = 0; x < s->kernel[2]; x++) {
                int64_t at[3] = {o[0] * s->stride[0] - s->pad[0] + z * s->dilation[0],
                                 o[1] * s->stride[1] - s->pad[1] + y * s->dilation[1],
                                 o[2] * s->stride[2] - s->pad[2] + x * s->dilation[2]};
                bool inside = true;
                for (int i = 0; i < 3; i++) inside = inside && at[i] >= 0 && at[i] < s->in[i];
                if (!inside) continue;
                double v =
                    (double)in[(((n * s->in[0] + at[0]) * s->in[1] + at[1]) * s->in[2] + at[2]) *
                                   s->in_channels +
                               c] *
                    weight[c * s->kernel_size + (z * s->kernel[1] + y) * s->kernel[2] + x];
                sum += v, *size += fabs(v);
            }
    return sum;
}

static void fill(float *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i] = (float)(below(2001) - 1000) / 500;
}

typedef struct shaped {
    conv_shape s;
    /* out: of one thread, of several, of another set of kernels */
    guarded in, weight, packed, bias, other, out[3];
    bool with_bias, with_other;
    enum dense_activation activation;
} shaped;

static void shaped_new(shaped *k) {
    const conv_shape *s = &k->s;
    bool front = below(2);
    int64_t results = s->batch * s->out_size * s->out_channels;
    k->in = guarded_new(s->batch * s->in_size * s->in_channels, front);
    k->weight = guarded_new(s->kernel_size * s->out_channels, front);
    k->packed = guarded_new(s->kernel_size * s->out_channels, front);
    k->bias = guarded_new(s->out_channels, front);
    k->other = guarded_new(results, front);
    for (int i = 0; i < 3; i++) k->out[i] = guarded_new(results, front);
    fill(k->in.data, s->batch * s->in_size * s->in_channels);
    fill(k->weight.data, s->kernel_size * s->out_channels);
    fill(k->bias.data, s->out_channels);
    fill(k->other.data, results);
    k->with_bias = below(3) > 0, k->with_other = below(3) == 0;
    k->activation = (enum dense_activation)below(DENSE_SILU + 1);
}

static void shaped_free(shaped *k) {
    guarded *all[] = {&k->in,    &k->weight, &k->packed, &k->bias,
                      &k->other, &k->out[0], &k->out[1], &k->out[2]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

static void run(shaped *k, const depthwise_kernels *kernel, float *out) {
    diag d = {0};
    dense_epilogue after = {.bias = k->with_bias ? k->bias.data : NULL,
                            .other = k->with_other ? k->other.data : NULL,
                            .activation = k->activation};
    memset(out, 0xff, (size_t)(k->s.batch * k->s.out_size * k->s.out_channels) * sizeof *out);
    assert_int_equal(conv_last_depthwise_with(kernel, &d, &k->s, DT_FLOAT32, k->in.data,
                                              k->packed.data, &after, out),
                     CTSC_OK);
}

/* Images of 16 bits get the sums of those images as floats, rounded as epilogue_halves does. */
static void check_half(shaped *k, const depthwise_kernels *kernel, dtype dt) {
    diag d = {0};
    const conv_shape *s = &k->s;
    int64_t n = s->batch * s->in_size * s->in_channels,
            results = s->batch * s->out_size * s->out_channels;
    shaped wide = *k;
    bool front = below(2);
    guarded in = guarded_new((n + 1) / 2, front), other = guarded_new((results + 1) / 2, front),
            out = guarded_new((results + 1) / 2, front), want = guarded_new(results, front);
    /* after an odd number there is room for one more: those that end at a page are even */
    floats_to_halves(dt, k->in.data, in.data, n);
    floats_to_halves(dt, k->other.data, other.data, results);
    wide.in = guarded_new(n, front);
    halves_to_floats(dt, in.data, wide.in.data, n);
    wide.with_other = false, wide.activation = DENSE_PLAIN;
    run(&wide, kernel, want.data);
    dense_epilogue after = {.bias = k->with_bias ? k->bias.data : NULL,
                            .other = k->with_other ? other.data : NULL,
                            .activation = k->activation};
    epilogue_halves(&after, dt, want.data, 0, results, want.data);
    for (int threads = 1; threads <= 3; threads += 2) {
        pool_set_threads(threads);
        memset(out.data, 0xff, (size_t)results * sizeof(float16));
        assert_int_equal(
            conv_last_depthwise_with(kernel, &d, s, dt, in.data, k->packed.data, &after, out.data),
            CTSC_OK);
        assert_memory_equal(out.data, want.data, (size_t)results * sizeof(float16));
    }
    guarded *all[] = {&in, &other, &out, &want, &wide.in};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

static void check_results(const shaped *k) {
    const conv_shape *s = &k->s;
    const float *y = k->out[0].data;
    for (int64_t n = 0, at = 0; n < s->batch; n++)
        for (int64_t p = 0; p < s->out_size; p++)
            for (int64_t c = 0; c < s->out_channels; c++, at++) {
                int64_t o[3] = {p / s->out[2] / s->out[1], p / s->out[2] % s->out[1],
                                p % s->out[2]};
                double size, sum = reference(s, k->in.data, k->weight.data,
                                             k->with_bias ? k->bias.data : NULL, n, o, c, &size);
                if (k->with_other) sum += k->other.data[at], size += fabs(k->other.data[at]);
                float want = (float)sum;
                ((const activation_kernels *)plain_ukernel(UKERNEL_ACTIVATION, UKERNEL_F32))
                    ->apply(k->activation, &want, 1);
                if (!(fabs(y[at] - want) <= 1e-6 * (size + 1)))
                    fail_msg("activation %d, channel %d of %d, output %d: %g, not %g",
                             k->activation, (int)c, (int)s->out_channels, (int)p, y[at], want);
            }
}

static void check_shape(shaped *k) {
    size_t bytes = (size_t)(k->s.batch * k->s.out_size * k->s.out_channels) * sizeof(float);
    bool first = true;
    shaped_new(k);
    conv_last_depthwise_pack(&k->s, k->weight.data, k->packed.data);
    for (const ukernel **u = usable_ukernels(UKERNEL_DEPTHWISE, UKERNEL_F32); *u; u++) {
        const depthwise_kernels *kernels = (*u)->record;
        if (k->s.out_channels < kernels->lanes) continue;
        float *to = k->out[first ? 0 : 2].data;
        pool_set_threads(1);
        run(k, kernels, to);
        pool_set_threads(3);
        run(k, kernels, k->out[1].data);
        assert_memory_equal(to, k->out[1].data, bytes);
        if (first) check_results(k);
        else assert_memory_equal(to, k->out[0].data, bytes);
        first = false;
        if (below(4) == 0) check_half(k, kernels, below(2) ? DT_FLOAT16 : DT_BFLOAT16);
    }
    pool_set_threads(0);
    shaped_free(k);
}

static void test_random(void **state) {
    (void)state;
    for (int i = 0; i < 4000; i++) {
        shaped k = {.s = random_shape()};
        if (k.s.batch * k.s.out_size * k.s.out_channels > 60000) continue;
        check_shape(&k);
    }
}

/* Widths around those of tiles, channels around those of vectors and blocks. */
static void test_edges(void **state) {
    (void)state;
    static const int channels[] = {8, 15, 16, 17, 31, 33, 511, 512, 513};
    for (int width = 1; width <= 24; width++)
        for (int kernel = 3; kernel <= 7; kernel += 2)
            for (int stride = 1; stride <= 2; stride++) {
                shaped k = {.s = {.batch = 1,
                                  .in = {1, 1 + below(5), width},
                                  .kernel = {1, 3, kernel},
                                  .stride = {1, stride, stride},
                                  .pad = {0, 1, kernel / 2},
                                  .dilation = {1, 1, 1}}};
                k.s.groups = k.s.in_channels = k.s.out_channels = channels[below(9)];
                if (finish_shape(&k.s)) check_shape(&k);
            }
}

/* Pads are left out, not multiplied: an infinite weight does not make NaN of them. NaN
 * goes through bounds. */
static void test_special(void **state) {
    (void)state;
    shaped k = {.s = {.batch = 1,
                      .groups = 16,
                      .in_channels = 16,
                      .out_channels = 16,
                      .in = {1, 3, 9},
                      .kernel = {1, 3, 3},
                      .stride = {1, 1, 1},
                      .pad = {0, 1, 1},
                      .dilation = {1, 1, 1}}};
    assert_true(finish_shape(&k.s));
    shaped_new(&k);
    k.with_bias = k.with_other = false, k.activation = DENSE_RELU6;
    for (int i = 0; i < 27 * 16; i++) k.in.data[i] = i % 16 == 3 ? NAN : 1;
    for (int i = 0; i < 9 * 16; i++) k.weight.data[i] = i % 9 == 0 ? INFINITY : 1;
    conv_last_depthwise_pack(&k.s, k.weight.data, k.packed.data);
    for (const ukernel **u = usable_ukernels(UKERNEL_DEPTHWISE, UKERNEL_F32); *u; u++) {
        const depthwise_kernels *kernels = (*u)->record;
        run(&k, kernels, k.out[0].data);
        for (int p = 0; p < 27; p++)
            for (int c = 0; c < 16; c++) {
                float y = k.out[0].data[p * 16 + c];
                if (c == 3) assert_true(isnan(y));
                int rows = p / 9 == 1 ? 3 : 2, columns = p % 9 == 0 || p % 9 == 8 ? 2 : 3;
                bool infinite = p >= 9 && p % 9; /* the first tap is inside */
                if (c != 3) assert_true(y == (infinite || rows * columns > 6 ? 6 : rows * columns));
            }
    }
    shaped_free(&k);
}

static void test_fits(void **state) {
    (void)state;
    conv_shape s = {.batch = 1,
                    .groups = 16,
                    .in_channels = 16,
                    .out_channels = 16,
                    .in = {1, 9, 9},
                    .kernel = {1, 3, 3},
                    .stride = {1, 1, 1},
                    .dilation = {1, 1, 1}};
    assert_true(finish_shape(&s));
    bool here = ukernel_best(UKERNEL_DEPTHWISE, UKERNEL_F32);
    assert_true(conv_last_depthwise_fits(&s) == here);
    s.out_channels = 32; /* two outputs per input */
    assert_false(conv_last_depthwise_fits(&s));
    s.out_channels = s.in_channels = s.groups = 3;
    assert_false(conv_last_depthwise_fits(&s));
    s.out_channels = s.in_channels = 16, s.groups = 1;
    assert_false(conv_last_depthwise_fits(&s));
    s.groups = 16, s.batch = 0;
    diag d = {0};
    if (here)
        assert_int_equal(
            conv_last_depthwise(&d, &s, DT_FLOAT32, NULL, NULL, &(dense_epilogue){0}, NULL),
            CTSC_OK);
}

int main(void) {
    srand(3);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
