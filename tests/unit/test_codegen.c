/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_codegen.c - loop nests built by hand, compiled for several processors, against the same in
 * plain C; the verifier, the printer, and the kernel cache.
 *
 * Without libctsc-jit.so what needs machine code is skipped, with a message.
 */
#include "support.h"

#include "base/keyed_hash.h"
#include "codegen/cache/cache.h"
#include "codegen/cache/object.h"
#include "codegen_nests.h"
#include "ir/scalar/scalar_ops.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- running on every processor -------------------------------------------------------------- */

static const char *const levels[] = {"host", "sse2", "avx2", "avx512"};
enum { LEVELS = sizeof levels / sizeof *levels };
static codegen *generators[LEVELS];
static bool have_compiler;

static int codegen_setup(void **state) {
    (void)state;
    diag d = {0};
    for (int i = 0; i < LEVELS; i++)
        generators[i] = codegen_new(&(codegen_options){.cpu = levels[i], .folder = ""});
    have_compiler = codegen_available(generators[0], &d);
    if (!have_compiler) printf("test_codegen: kernels are skipped: %s\n", diag_message(&d));
    diag_clear(&d);
    return 0;
}
static int codegen_teardown(void **state) {
    (void)state;
    for (int i = 0; i < LEVELS; i++) codegen_free(generators[i]);
    return 0;
}

/* The kernel of n for level i; NULL if this machine cannot run it (it was
 * compiled all the same). */
static const kernel *compile_at(nest *n, int i) {
    const kernel *k = NULL;
    diag d = {0};
    if (codegen_kernel(generators[i], n, &k, &d) != CTSC_OK)
        fail_msg("%s: %s", levels[i], diag_message(&d));
    return codegen_runnable(generators[i]) ? k : NULL;
}

#define FOR_KERNELS(n, k)                                                                          \
    for (int level = 0; have_compiler && level < LEVELS; level++)                                  \
        for (const kernel *k = compile_at(n, level); k; k = NULL)

static float *floats_new(int64_t count) {
    float *p = malloc((size_t)(count + 1) * sizeof *p);
    for (int64_t i = 0; i < count; i++) p[i] = sinf((float)i * 0.37f) * 3;
    return p;
}

static bool near_float(float got, float want, float tol) {
    return got == want || fabsf(got - want) <= tol + tol * fabsf(want) ||
           (got != got && want != want);
}
static void floats_check(const float *got, const float *want, int64_t n, float tol,
                         const char *cpu) {
    for (int64_t i = 0; i < n; i++)
        if (!near_float(got[i], want[i], tol))
            fail_msg("%s: element %d is %.9g, not %.9g", cpu, (int)i, (double)got[i],
                     (double)want[i]);
}

/* ---- pointwise ------------------------------------------------------------------------------- */

static void codegen_power(void **state) {
    (void)state;
    arena a;
    arena_init(&a);
    nest *n = nests_power(&a, DT_FLOAT32, 10);
    static const int64_t sizes[] = {0, 1, 5, 31, 32, 33, 1000};
    FOR_KERNELS(n, k) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            float *x = floats_new(sizes[s]), *out = floats_new(sizes[s]),
                  *want = floats_new(sizes[s]);
            for (int64_t i = 0; i < sizes[s]; i++) {
                want[i] = x[i];
                for (int t = 0; t < 10; t++) want[i] *= x[i];
            }
            out[sizes[s]] = 77;
            /* in two pieces, as threads would */
            assert_int_equal(k->fn((void *[]){x, out}, &sizes[s], NULL, 0, sizes[s] / 3, NULL), 0);
            assert_int_equal(
                k->fn((void *[]){x, out}, &sizes[s], NULL, sizes[s] / 3, sizes[s], NULL), 0);
            floats_check(out, want, sizes[s], 0, levels[level]);
            assert_true(out[sizes[s]] == 77);
            /* in place */
            assert_int_equal(k->fn((void *[]){x, x}, &sizes[s], NULL, 0, sizes[s], NULL), 0);
            floats_check(x, want, sizes[s], 0, levels[level]);
            free(x), free(out), free(want);
        }
    }
    arena_free(&a);
}

/* out[r, c] = x[r, c] + row[c] * column[r], x with strides */
static void codegen_broadcast(void **state) {
    (void)state;
    enum { R = 13, C = 37, RS = 50 };
    arena a;
    arena_init(&a);
    nest *n = nest_new(&a, "broadcast");
    nest_buffer *x = nest_add_buffer(n, "x", DT_FLOAT32, 0),
                *row = nest_add_buffer(n, "row", DT_FLOAT32, NEST_RESTRICT),
                *column = nest_add_buffer(n, "column", DT_FLOAT32, NEST_RESTRICT),
                *out = nest_add_buffer(n, "out", DT_FLOAT32, 0);
    nest_expr *rows = nest_add_int(n, "rows"), *cols = nest_add_int(n, "cols"),
              *rs = nest_add_int(n, "rs"), *cs = nest_add_int(n, "cs");
    nest_expr *r = nest_for(n, "r", nest_int(n, 0), rows, NEST_PARALLEL);
    nest_expr *c = nest_for(n, "c", nest_int(n, 0), cols, NEST_VECTOR);
    nest_expr *v = nest_load(n, x, nest_add(n, nest_mul(n, r, rs), nest_mul(n, c, cs)));
    nest_store(n, out, nests_at(n, r, cols, c),
               nest_add(n, v, nest_mul(n, nest_load(n, row, c), nest_load(n, column, r))));
    nest_end(n);
    nest_end(n);
    FOR_KERNELS(n, k) {
        float *xs = floats_new(R * RS), *ys = floats_new(C), *zs = floats_new(R),
              *os = floats_new(R * C), *want = floats_new(R * C);
        for (int turned = 0; turned < 2; turned++) {
            int64_t ints[] = {R, C, turned ? 1 : RS, turned ? R : 1};
            for (int i = 0; i < R; i++)
                for (int j = 0; j < C; j++)
                    want[i * C + j] = xs[i * ints[2] + j * ints[3]] + ys[j] * zs[i];
            assert_int_equal(k->fn((void *[]){xs, ys, zs, os}, ints, NULL, 0, R, NULL), 0);
            floats_check(os, want, R * C, 0, levels[level]);
        }
        free(xs), free(ys), free(zs), free(os), free(want);
    }
    arena_free(&a);
}

/* Every function that has a float form here, against the same C function. */
static void codegen_functions(void **state) {
    (void)state;
    static const struct {
        const char *name;
        float (*fn)(float);
    } rows[] = {{"exp", scalar_exp_f32},         {"tanh", scalar_tanh_f32},
                {"erf", scalar_erf_f32},         {"sin", scalar_sin_f32},
                {"cos", scalar_cos_f32},         {"log", scalar_log_f32},
                {"sigmoid", scalar_sigmoid_f32}, {"gelu", scalar_gelu_f32},
                {"floor", scalar_floor_f32},     {"round", scalar_round_f32},
                {"log2", scalar_log2_f32},       {"exp2", scalar_exp2_f32},
                {"asin", scalar_asin_f32},       {"digamma", scalar_digamma_f32},
                {"lgamma", scalar_lgamma_f32},   {"mish", scalar_mish_f32}};
    enum { N = 99 };
    for (size_t f = 0; f < sizeof rows / sizeof *rows; f++) {
        arena a;
        arena_init(&a);
        nest *n = nest_new(&a, rows[f].name);
        nest_buffer *x = nest_add_buffer(n, "x", DT_FLOAT32, 0),
                    *out = nest_add_buffer(n, "out", DT_FLOAT32, 0);
        nest_expr *i = nest_for(n, "i", nest_int(n, 0), nest_int(n, N), NEST_VECTOR);
        nest_store(n, out, i, nest_call1(n, rows[f].name, nest_load(n, x, i)));
        nest_end(n);
        FOR_KERNELS(n, k) {
            float *xs = floats_new(N), *os = floats_new(N), *want = floats_new(N);
            xs[3] = INFINITY, xs[4] = -INFINITY, xs[5] = NAN, xs[6] = 0, xs[7] = -100,
            xs[8] = 1e30f;
            for (int j = 0; j < N; j++) want[j] = rows[f].fn(xs[j]);
            assert_int_equal(k->fn((void *[]){xs, os}, NULL, NULL, 0, 0, NULL), 0);
            floats_check(os, want, N, 0, levels[level]);
            free(xs), free(os), free(want);
        }
        arena_free(&a);
    }
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static const dtype all_dtypes[] = {DT_UINT8,   DT_INT8,     DT_INT16,   DT_INT32,   DT_INT64,
                                   DT_FLOAT16, DT_BFLOAT16, DT_FLOAT32, DT_FLOAT64, DT_BOOL};
enum { DTYPES = sizeof all_dtypes / sizeof *all_dtypes };

double dtype_load_float(dtype dt, const void *p);
int64_t dtype_load_int(dtype dt, const void *p);
void dtype_store_float(dtype dt, void *p, double v);
void dtype_store_int(dtype dt, void *p, int64_t v);

/* Every dtype into every other, as the library's element functions do it. */
static void codegen_casts(void **state) {
    (void)state;
    enum { N = 70 };
    for (int from = 0; from < DTYPES; from++)
        for (int to = 0; to < DTYPES; to++) {
            dtype df = all_dtypes[from], dt = all_dtypes[to];
            nest_type t = NEST_F32;
            arena a;
            arena_init(&a);
            nest *n = nest_new(&a, "cast");
            nest_buffer *x = nest_add_buffer(n, "x", df, 0),
                        *out = nest_add_buffer(n, "out", dt, 0);
            nest_expr *i = nest_for(n, "i", nest_int(n, 0), nest_int(n, N), NEST_VECTOR);
            nest_type_of(dt, &t);
            nest_store(n, out, i, nest_cast(n, t, nest_load(n, x, i)));
            nest_end(n);
            char in[N * 8], got[N * 8], want[N * 8];
            memset(got, 0, sizeof got);
            memset(want, 0, sizeof want);
            for (int j = 0; j < N; j++) {
                double v = j < 40   ? (j - 20) * 1.75
                           : j < 50 ? ldexp(1.5, 4 * (j - 40))
                           : j < 60 ? -ldexp(1.25, 3 * (j - 45))
                                    : ldexp(1.7, j - 78);
                if (j == 69 && dtype_is_float(df)) v = NAN;
                if (dtype_is_float(df)) dtype_store_float(df, in + (size_t)j * dtype_size(df), v);
                else dtype_store_int(df, in + (size_t)j * dtype_size(df), (int64_t)v);
                const char *p = in + (size_t)j * dtype_size(df);
                if (dtype_is_float(df))
                    dtype_store_float(dt, want + (size_t)j * dtype_size(dt),
                                      dtype_load_float(df, p));
                else dtype_store_int(dt, want + (size_t)j * dtype_size(dt), dtype_load_int(df, p));
            }
            FOR_KERNELS(n, k) {
                assert_int_equal(k->fn((void *[]){in, got}, NULL, NULL, 0, 0, NULL), 0);
                for (int j = 0; j < N; j++) {
                    size_t at = (size_t)j * dtype_size(dt);
                    double g = dtype_load_float(dt, got + at), w = dtype_load_float(dt, want + at);
                    if (memcmp(got + at, want + at, dtype_size(dt)) != 0 && (g == g || w == w))
                        fail_msg("%s: %s to %s, element %d: %g, not %g", levels[level],
                                 dtype_table[df].torch_name, dtype_table[dt].torch_name, j, g, w);
                }
            }
            arena_free(&a);
        }
}

/* Integer arithmetic and comparisons of every integer type. */
static void codegen_integers(void **state) {
    (void)state;
    arena a;
    arena_init(&a);
    nest *n = nest_new(&a, "integers");
    nest_buffer *x = nest_add_buffer(n, "x", DT_INT8, 0), *y = nest_add_buffer(n, "y", DT_UINT8, 0),
                *o = nest_add_buffer(n, "o", DT_INT8, 0), *p = nest_add_buffer(n, "p", DT_UINT8, 0),
                *q = nest_add_buffer(n, "q", DT_BOOL, 0);
    nest_expr *i = nest_for(n, "i", nest_int(n, 0), nest_int(n, 256), NEST_VECTOR);
    nest_expr *u = nest_let(n, "u", nest_load(n, x, i)), *v = nest_let(n, "v", nest_load(n, y, i));
    nest_store(
        n, o, i,
        nest_add(n, nest_mul(n, u, u),
                 nest_call(n, "div_floor", 2, (nest_expr *[]){u, nest_const_int(n, NEST_I8, -3)})));
    nest_store(n, p, i,
               nest_binary(n, NEST_MAX,
                           nest_binary(n, NEST_XOR, v, nest_const_int(n, NEST_U8, 0x55)),
                           nest_const_int(n, NEST_U8, 200)));
    nest_expr *less = nest_binary(n, NEST_LT, v, nest_const_int(n, NEST_U8, 130));
    nest_store(n, q, i,
               nest_binary(n, NEST_OR, nest_unary(n, NEST_NOT, less),
                           nest_binary(n, NEST_EQ, u, nest_const_int(n, NEST_I8, 7))));
    nest_end(n);
    FOR_KERNELS(n, k) {
        int8_t xs[256], os[256];
        uint8_t ys[256], ps[256], qs[256];
        for (int j = 0; j < 256; j++) xs[j] = (int8_t)j, ys[j] = (uint8_t)j;
        assert_int_equal(k->fn((void *[]){xs, ys, os, ps, qs}, NULL, NULL, 0, 0, NULL), 0);
        for (int j = 0; j < 256; j++) {
            assert_int_equal(os[j], (int8_t)(xs[j] * xs[j] + scalar_div_floor_i8(xs[j], -3)));
            assert_int_equal(ps[j], (ys[j] ^ 0x55) > 200 ? ys[j] ^ 0x55 : 200);
            assert_int_equal(qs[j], ys[j] >= 130 || xs[j] == 7);
        }
    }
    arena_free(&a);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void codegen_softmax(void **state) {
    (void)state;
    arena a;
    arena_init(&a);
    nest *n = nests_softmax(&a, DT_FLOAT32);
    FOR_KERNELS(n, k)
    for (int64_t cols = 0; cols < 140; cols += 1 + cols / 3) {
        int64_t ints[] = {3, cols};
        float *x = floats_new(3 * cols), *out = floats_new(3 * cols), *want = floats_new(3 * cols);
        if (cols > 4) x[cols + 2] = NAN, x[2 * cols] = -INFINITY;
        for (int r = 0; r < 3; r++) {
            double sum = 0, high = -INFINITY;
            for (int64_t c = 0; c < cols; c++)
                high = x[r * cols + c] > high || x[r * cols + c] != x[r * cols + c]
                           ? (double)x[r * cols + c]
                           : high;
            for (int64_t c = 0; c < cols; c++) sum += exp((double)x[r * cols + c] - high);
            for (int64_t c = 0; c < cols; c++)
                want[r * cols + c] = (float)(exp((double)x[r * cols + c] - high) / sum);
        }
        assert_int_equal(k->fn((void *[]){x, out}, ints, NULL, 0, 3, NULL), 0);
        floats_check(out, want, 3 * cols, 1e-6f, levels[level]);
        free(x), free(out), free(want);
    }
    arena_free(&a);
}

static void codegen_layer_norm(void **state) {
    (void)state;
    arena a;
    arena_init(&a);
    nest *n = nests_layer_norm(&a, "gelu_tanh");
    const double eps = 1e-5;
    FOR_KERNELS(n, k)
    for (int64_t cols = 1; cols < 200; cols += 1 + cols / 2) {
        int64_t ints[] = {2, cols};
        float *x = floats_new(2 * cols), *w = floats_new(cols), *b = floats_new(cols),
              *out = floats_new(2 * cols), *want = floats_new(2 * cols);
        for (int r = 0; r < 2; r++) {
            double mean = 0, var = 0;
            for (int64_t c = 0; c < cols; c++)
                mean += (double)scalar_gelu_tanh_f32(x[r * cols + c]) / (double)cols;
            for (int64_t c = 0; c < cols; c++)
                var += pow(scalar_gelu_tanh_f32(x[r * cols + c]) - mean, 2) / (double)cols;
            for (int64_t c = 0; c < cols; c++)
                want[r * cols + c] = (float)((scalar_gelu_tanh_f32(x[r * cols + c]) - mean) /
                                                 sqrt(var + eps) * w[c] +
                                             b[c]);
        }
        assert_int_equal(k->fn((void *[]){x, w, b, out}, ints, &eps, 0, 2, NULL), 0);
        floats_check(out, want, 2 * cols, cols == 1 ? 1e-2f : 1e-5f, levels[level]);
        free(x), free(w), free(b), free(out), free(want);
    }
    arena_free(&a);
}

static void codegen_distance(void **state) {
    (void)state;
    enum { R = 7, C = 131, D = 5 };
    arena a;
    arena_init(&a);
    nest *n = nests_distance(&a, D);
    FOR_KERNELS(n, k) {
        int64_t ints[] = {R, C};
        float *x = floats_new(R * D), *y = floats_new(C * D + 1), *out = floats_new(R * C),
              *want = floats_new(R * C);
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) {
                double s = 0;
                for (int m = 0; m < D; m++)
                    s += pow((double)x[i * D + m] - (double)y[j * D + m], 2);
                want[i * C + j] = (float)sqrt(s);
            }
        assert_int_equal(k->fn((void *[]){x, y, out}, ints, NULL, 0, 3, NULL), 0);
        floats_check(out, want, R * C, 1e-5f, levels[level]);
        free(x), free(y), free(out), free(want);
    }
    arena_free(&a);
}

/* Tiles of 8 by 8, sizes that are not multiples of it. */
static void codegen_transpose(void **state) {
    (void)state;
    enum { R = 19, C = 30 };
    arena a;
    arena_init(&a);
    nest *n = nest_new(&a, "transpose");
    nest_buffer *x = nest_add_buffer(n, "x", DT_INT16, NEST_RESTRICT),
                *out = nest_add_buffer(n, "out", DT_INT16, NEST_RESTRICT);
    nest_expr *rows = nest_add_int(n, "rows"), *cols = nest_add_int(n, "cols"),
              *eight = nest_int(n, 8);
    nest_expr *i0 = nest_for_step(n, "i0", nest_int(n, 0), rows, 8, 0),
              *j0 = nest_for_step(n, "j0", nest_int(n, 0), cols, 8, 0);
    nest_expr *j = nest_for(n, "j", j0, nest_binary(n, NEST_MIN, cols, nest_add(n, j0, eight)), 0);
    nest_expr *i = nest_for(n, "i", i0, nest_binary(n, NEST_MIN, rows, nest_add(n, i0, eight)),
                            NEST_VECTOR);
    nest_store(n, out, nests_at(n, j, rows, i), nest_load(n, x, nests_at(n, i, cols, j)));
    for (int k = 0; k < 4; k++) nest_end(n);
    FOR_KERNELS(n, k) {
        int16_t xs[R * C], os[R * C];
        for (int m = 0; m < R * C; m++) xs[m] = (int16_t)(m * 7), os[m] = -1;
        assert_int_equal(k->fn((void *[]){xs, os}, (int64_t[]){R, C}, NULL, 0, 0, NULL), 0);
        for (int m = 0; m < R * C; m++) assert_int_equal(os[m % C * R + m / C], xs[m]);
    }
    arena_free(&a);
}

/* ---- scalar loops ---------------------------------------------------------------------------- */

/* s = 0; for i in range(n): if i >= length: error(i); if x[i] < 0: break; if x[i] == 2:
 * continue; s += x[i]
 * */
static void codegen_early_exit(void **state) {
    (void)state;
    arena a;
    arena_init(&a);
    nest *n = nest_new(&a, "early_exit");
    nest_buffer *x = nest_add_buffer(n, "x", DT_FLOAT32, NEST_RESTRICT),
                *s = nest_add_buffer(n, "s", DT_FLOAT64, NEST_RESTRICT);
    nest_expr *count = nest_add_int(n, "n"), *length = nest_add_int(n, "length");
    nest_expr *sum = nest_variable(n, "sum", nest_const_float(n, NEST_F64, 0));
    nest_expr *i = nest_for(n, "i", nest_int(n, 0), count, 0);
    nest_require(n, nest_binary(n, NEST_LT, i, length), 3, i);
    nest_expr *v = nest_let(n, "v", nest_load(n, x, i));
    nest_if(n, nest_binary(n, NEST_LT, v, nest_const_float(n, NEST_F32, 0)));
    nest_break(n);
    nest_end(n);
    nest_if(n, nest_binary(n, NEST_EQ, v, nest_const_float(n, NEST_F32, 2)));
    nest_continue(n);
    nest_else(n);
    nest_set(n, sum, nest_add(n, sum, nest_cast(n, NEST_F64, v)));
    nest_end(n);
    nest_end(n);
    nest_store(n, s, nest_int(n, 0), sum);
    FOR_KERNELS(n, k) {
        float xs[] = {1, 2, 4, 8, -1, 16};
        double result = -1;
        kernel_call call = {.fault = -1};
        assert_int_equal(k->fn((void *[]){xs, &result}, (int64_t[]){6, 6}, NULL, 0, 0, &call), 0);
        assert_true(result == 13 && call.fault == -1);
        result = -1;
        assert_int_equal(k->fn((void *[]){xs, &result}, (int64_t[]){6, 3}, NULL, 0, 0, &call), 3);
        assert_true(result == -1 && call.fault == 3);
        assert_int_equal(k->fn((void *[]){xs, &result}, (int64_t[]){-5, 3}, NULL, 0, 0, &call), 0);
        assert_true(result == 0);
    }
    arena_free(&a);
}

/* The number of steps of Collatz's sequence: while, if, else, integer variables. */
static void codegen_while(void **state) {
    (void)state;
    arena a;
    arena_init(&a);
    nest *n = nest_new(&a, "collatz");
    nest_buffer *out = nest_add_buffer(n, "out", DT_INT64, 0);
    nest_expr *x = nest_variable(n, "x", nest_add_int(n, "start")),
              *steps = nest_variable(n, "steps", nest_int(n, 0));
    nest_while(n, nest_binary(n, NEST_NE, x, nest_int(n, 1)));
    nest_if(n, nest_binary(n, NEST_EQ,
                           nest_call(n, "remainder", 2, (nest_expr *[]){x, nest_int(n, 2)}),
                           nest_int(n, 0)));
    nest_set(n, x, nest_call(n, "div_floor", 2, (nest_expr *[]){x, nest_int(n, 2)}));
    nest_else(n);
    nest_set(n, x, nest_add(n, nest_mul(n, x, nest_int(n, 3)), nest_int(n, 1)));
    nest_end(n);
    nest_set(n, steps, nest_add(n, steps, nest_int(n, 1)));
    nest_end(n);
    nest_store(n, out, nest_int(n, 0), steps);
    FOR_KERNELS(n, k) {
        int64_t result = 0, start = 27;
        assert_int_equal(k->fn((void *[]){&result}, &start, NULL, 0, 0, NULL), 0);
        assert_int_equal(result, 111);
    }
    arena_free(&a);
}

static bool codegen_ask(void *ctx) {
    int *left = ctx;
    return (*left)-- == 0;
}

/* A watched loop ends when the caller says so, what it stored is stored, and nobody need ask. */
static void codegen_watch(void **state) {
    (void)state;
    arena a;
    arena_init(&a);
    nest *n = nest_new(&a, "watched");
    nest_buffer *out = nest_add_buffer(n, "out", DT_INT64, NEST_RESTRICT);
    nest_expr *i = nest_for(n, "i", nest_int(n, 0), nest_add_int(n, "n"), 0);
    nest_watch(n, 7);
    nest_store(n, out, nest_int(n, 0), i);
    nest_end(n);
    FOR_KERNELS(n, k) {
        int64_t result = -1, rounds = 100;
        int left = 1000;
        assert_int_equal(k->fn((void *[]){&result}, &rounds, NULL, 0, 0, &(kernel_call){0}), 0);
        assert_int_equal(result, 99);
        assert_int_equal(k->fn((void *[]){&result}, &rounds, NULL, 0, 0,
                               &(kernel_call){.stop = codegen_ask, .ctx = &left}),
                         0);
        assert_int_equal(left, 900);
        left = 5;
        assert_int_equal(k->fn((void *[]){&result}, &rounds, NULL, 0, 0,
                               &(kernel_call){.stop = codegen_ask, .ctx = &left}),
                         7);
        assert_int_equal(result, 4);
    }
    arena_free(&a);
}

/* Steps of both signs, up to the ends of int64, against Python's range. */
static void codegen_steps(void **state) {
    (void)state;
    static const int64_t ranges[][4] = {
        {0, 10, 3, 4},
        {10, 0, -3, 4},
        {0, 10, -1, 0},
        {5, 5, 2, 0},
        {INT64_MAX - 5, INT64_MAX, 4, 2},
        {INT64_MIN + 3, INT64_MIN, -2, 2},
        {INT64_MIN, INT64_MAX, INT64_MAX, 3},
    };
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        arena a;
        arena_init(&a);
        nest *n = nest_new(&a, "steps");
        nest_buffer *out = nest_add_buffer(n, "out", DT_INT64, 0);
        nest_expr *b = nest_add_int(n, "b"), *e = nest_add_int(n, "e"),
                  *count = nest_variable(n, "count", nest_int(n, 0)),
                  *last = nest_variable(n, "last", nest_int(n, 0));
        nest_expr *i = nest_for_step(n, "i", b, e, ranges[r][2], 0);
        nest_accumulate(n, count, NEST_ACC_SUM, nest_int(n, 1));
        nest_set(n, last, i);
        nest_end(n);
        nest_store(n, out, nest_int(n, 0), count);
        nest_store(n, out, nest_int(n, 1), last);
        FOR_KERNELS(n, k) {
            int64_t result[2];
            assert_int_equal(k->fn((void *[]){result}, ranges[r], NULL, 0, 0, NULL), 0);
            assert_int_equal(result[0], ranges[r][3]);
            if (result[0])
                assert_true(result[1] ==
                            (int64_t)((uint64_t)ranges[r][0] +
                                      (uint64_t)(result[0] - 1) * (uint64_t)ranges[r][2]));
        }
        arena_free(&a);
    }
}

/* ---- the form itself ------------------------------------------------------------------------- */

static void codegen_print(void **state) {
    (void)state;
    arena a;
    strbuf sb = STRBUF_INIT;
    arena_init(&a);
    nest *n = nest_new(&a, "row_dot");
    nest_buffer *x = nest_add_buffer(n, "x", DT_FLOAT32, NEST_RESTRICT),
                *out = nest_add_buffer(n, "a", DT_FLOAT16, 0);
    nest_expr *rows = nest_add_int(n, "rows"), *cols = nest_add_int(n, "cols");
    nest_expr *r = nest_for(n, "r", nest_int(n, 0), rows, NEST_PARALLEL);
    nest_expr *s = nest_variable(n, "s", nest_const_float(n, NEST_F32, 0.5));
    nest_expr *c = nest_for_step(n, "c", nest_int(n, 0), cols, 2, NEST_VECTOR);
    nest_expr *v = nest_load(n, x, nests_at(n, r, cols, c));
    nest_accumulate(n, s, NEST_ACC_SUM, nest_mul(n, v, v));
    nest_end(n);
    nest_if(n, nest_binary(n, NEST_GT, s, nest_const_float(n, NEST_F32, 1)));
    nest_fail(n, 2, r);
    nest_end(n);
    nest_store(n, out, r, nest_call1(n, "exp", nest_unary(n, NEST_NEG, s)));
    nest_end(n);
    nest_print(n, &sb);
    assert_string_equal(sb_str(&sb),
                        "nest row_dot(float32 *restrict x, float16 *a, int rows, int cols) {\n"
                        "    parallel for (r0 = 0; rows; 1) {\n"
                        "        f32 s1 = 0.5\n"
                        "        vector for (c2 = 0; cols; 2) {\n"
                        "            t0 := x[(r0 * cols) + c2]\n"
                        "            s1 sum= t0 * t0\n"
                        "        }\n"
                        "        if (s1 > 1.0) {\n"
                        "            fail(2, r0)\n"
                        "        }\n"
                        "        a[r0] = exp(-s1)\n"
                        "    }\n"
                        "}\n");
    assert_int_equal(nest_verify(n, NULL), CTSC_OK);
    /* shared nodes do not multiply: 2^60 paths */
    nest *deep = nest_new(&a, "deep");
    nest_buffer *b = nest_add_buffer(deep, "b", DT_FLOAT64, 0);
    nest_expr *p = nest_load(deep, b, nest_int(deep, 0));
    for (int i = 0; i < 60; i++) p = nest_mul(deep, p, p);
    nest_store(deep, b, nest_int(deep, 0), p);
    sb_clear(&sb);
    nest_print(deep, &sb);
    assert_true(sb.len < 4000);
    FOR_KERNELS(deep, k) {
        double one = 1;
        assert_int_equal(k->fn((void *[]){&one}, NULL, NULL, 0, 0, NULL), 0);
        assert_true(one == 1);
    }
    sb_free(&sb);
    arena_free(&a);
}

/* Each builds something wrong in an otherwise empty nest. */
static void wrong_types(nest *n) {
    nest_let(n, "x", nest_add(n, nest_int(n, 1), nest_const_float(n, NEST_F32, 1)));
}
static void wrong_scope(nest *n) {
    nest_if(n, nest_const_int(n, NEST_BOOL, 1));
    nest_expr *x = nest_variable(n, "x", nest_int(n, 1));
    nest_end(n);
    nest_set(n, x, nest_int(n, 2));
}
static void wrong_let(nest *n) { nest_set(n, nest_let(n, "x", nest_int(n, 1)), nest_int(n, 2)); }
static void wrong_parallel(nest *n) {
    nest_for(n, "i", nest_int(n, 0), nest_int(n, 2), 0);
    nest_for(n, "j", nest_int(n, 0), nest_int(n, 2), NEST_PARALLEL);
    nest_end(n);
    nest_end(n);
}
static void wrong_vector(nest *n) {
    nest_for(n, "i", nest_int(n, 0), nest_int(n, 2), NEST_VECTOR);
    nest_fail(n, 1, nest_int(n, 0));
    nest_end(n);
}
static void wrong_break(nest *n) { nest_break(n); }
static void wrong_open(nest *n) { nest_while(n, nest_const_int(n, NEST_BOOL, 0)); }
static void wrong_buffer(nest *n) {
    nest *other = nest_new(n->a, "other");
    nest_let(n, "x", nest_load(n, nest_add_buffer(other, "b", DT_FLOAT32, 0), nest_int(n, 0)));
}
static void wrong_step(nest *n) {
    nest_for_step(n, "i", nest_int(n, 0), nest_int(n, 2), 0, 0);
    nest_end(n);
}
static void wrong_dtype(nest *n) { nest_add_buffer(n, "c", DT_COMPLEX64, 0); }
static void wrong_depth(nest *n) {
    nest_expr *e = nest_int(n, 1);
    for (int i = 0; i < 1000; i++) e = nest_unary(n, NEST_NEG, e);
    nest_let(n, "x", e);
}

static void codegen_verify(void **state) {
    (void)state;
    static void (*const wrong[])(nest *) = {wrong_types,  wrong_scope, wrong_let,  wrong_parallel,
                                            wrong_vector, wrong_break, wrong_open, wrong_buffer,
                                            wrong_step,   wrong_dtype, wrong_depth};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        arena a;
        diag d = {0};
        arena_init(&a);
        nest *n = nest_new(&a, "wrong");
        wrong[i](n);
        if (nest_verify(n, &d) != CTSC_INTERNAL) fail_msg("wrong nest %d passes", (int)i);
        diag_clear(&d);
        arena_free(&a);
    }
}

/* A function that does not exist, and one with too many arguments, are errors, not crashes. */
static void codegen_bad_calls(void **state) {
    (void)state;
    for (int i = 0; i < 2 && have_compiler; i++) {
        arena a;
        diag d = {0};
        const kernel *k;
        arena_init(&a);
        nest *n = nest_new(&a, "bad");
        nest_expr *one = nest_const_float(n, NEST_F32, 1);
        nest_store(n, nest_add_buffer(n, "o", DT_FLOAT32, 0), nest_int(n, 0),
                   nest_call(n, i ? "exp" : "no_such", 2, (nest_expr *[]){one, one}));
        for (int again = 0; again < 2; again++) {
            assert_int_equal(codegen_kernel(generators[0], n, &k, &d), CTSC_INTERNAL);
            assert_non_null(strstr(diag_message(&d), i ? "scalar_exp_f32" : "scalar_no_such_f32"));
            diag_clear(&d);
        }
        arena_free(&a);
    }
}

/* ---- the cache ------------------------------------------------------------------------------- */

static void *cache_thread(void *ctx) {
    arena a;
    const kernel *k = NULL;
    arena_init(&a);
    codegen_kernel(ctx, nests_power(&a, DT_FLOAT64, 3), &k, NULL);
    arena_free(&a);
    return (void *)k;
}

static void codegen_threads(void **state) {
    (void)state;
    if (!have_compiler) skip();
    codegen *c = codegen_new(&(codegen_options){.folder = ""});
    pthread_t threads[8];
    void *k[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, cache_thread, c);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], &k[i]);
    for (int i = 0; i < 8; i++) assert_true(k[i] && k[i] == k[0]);
    assert_int_equal(codegen_get_stats(c).compiled, 1);
    codegen_free(c);
}

/* Cuts or changes every file of the folder; returns how many there are. */
static int folder_damage(const char *folder, int how) {
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[600];
        if (e->d_name[0] == '.') continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        int fd = open(path, O_RDWR);
        struct stat s;
        char byte;
        fstat(fd, &s);
        off_t at = how == 1 ? s.st_size / 2 : how == 2 ? 9 : s.st_size - 40;
        if (how == 0) {
        } else if (how == 4) {
            assert_int_equal(ftruncate(fd, s.st_size - 7), 0);
        } else if (how == 5) {
            unlink(path);
        } else {
            assert_int_equal(pread(fd, &byte, 1, at), 1);
            byte ^= 1;
            assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        close(fd);
    }
    closedir(dir);
    return n;
}

static void codegen_disk(void **state) {
    (void)state;
    if (!have_compiler) skip();
    char folder[] = "/tmp/ctsc-test-XXXXXX", inner[64];
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/a/b", folder);
    arena a;
    arena_init(&a);
    nest *n = nests_power(&a, DT_FLOAT32, 3);
#if defined(__x86_64__)
    enum { KEPT = 2 }; /* the kernel and the processor */
#else
    enum { KEPT = 1 };
#endif
    /* made, read, then made again after each damage and read once more */
    for (int round = 0; round < 10; round++) {
        codegen *c = codegen_new(&(codegen_options){.folder = inner});
        const kernel *k;
        float x[3] = {1, 2, 3}, out[3] = {0};
        assert_int_equal(codegen_kernel(c, n, &k, NULL), CTSC_OK);
        assert_int_equal(k->origin, round % 2 ? KERNEL_FROM_DISK : KERNEL_COMPILED);
        assert_int_equal(k->fn((void *[]){x, out}, (int64_t[]){3}, NULL, 0, 3, NULL), 0);
        assert_true(out[2] == 81);
        /* what is on disk needs no compiler; that knows what the compiler calls
         * the processor, too */
        assert_int_equal(codegen_get_stats(c).compiler, round % 2 == 0);
        codegen_free(c);
        assert_int_equal(folder_damage(inner, round % 2 ? (round + 1) / 2 : 0), KEPT);
    }
    /* others may write there: not trusted */
    chmod(inner, 0777);
    codegen *c = codegen_new(&(codegen_options){.folder = inner});
    const kernel *k;
    assert_int_equal(codegen_kernel(c, n, &k, NULL), CTSC_OK);
    codegen_free(c);
    folder_damage(inner, 5);
    chmod(inner, 0700);
    /* a small limit keeps the folder small */
    c = codegen_new(&(codegen_options){.folder = inner, .disk_limit = 12000});
    for (int i = 1; i < 12; i++)
        assert_int_equal(codegen_kernel(c, nests_power(&a, DT_FLOAT32, i), &k, NULL), CTSC_OK);
    codegen_free(c);
    assert_in_range(folder_damage(inner, 5), 1, 5);
    arena_free(&a);
    rmdir(inner);
    *strrchr(inner, '/') = 0;
    rmdir(inner);
    rmdir(folder);
}

/* A kernel of the folder, and where it came from. */
static kernel_origin folder_kernel(const char *folder, arena *a, int power) {
    codegen *c = codegen_new(&(codegen_options){.folder = folder});
    const kernel *k;
    float x[3] = {1, 2, 3}, out[3] = {0};
    assert_int_equal(codegen_kernel(c, nests_power(a, DT_FLOAT32, power), &k, NULL), CTSC_OK);
    kernel_origin origin = k->origin;
    assert_int_equal(k->fn((void *[]){x, out}, (int64_t[]){3}, NULL, 0, 3, NULL), 0);
    assert_true(out[0] == 1 && out[2] > out[1]);
    codegen_free(c);
    return origin;
}

/* Files of the folder: all that are not the secret. */
static int folder_list(const char *folder, char paths[4][300]) {
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir)) && n < 4;)
        if (e->d_name[0] != '.') snprintf(paths[n++], 300, "%s/%.200s", folder, e->d_name);
    closedir(dir);
    return n;
}

/* Only what was sealed under the user's secret is executed, under the name that
 * it was sealed as. */
static void codegen_sealed(void **state) {
    (void)state;
    if (!have_compiler) skip();
    char folder[] = "/tmp/ctsc-test-XXXXXX", cache[64], home[64], other[64], secret[128],
         inner[128];
    const char *names[] = {"HOME", "XDG_STATE_HOME"};
    char *before[2];
    struct stat s;
    assert_non_null(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(home, sizeof home, "%s/home", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    for (int i = 0; i < 2; i++) before[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
    arena a;
    arena_init(&a);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", home, 1);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_COMPILED);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_FROM_DISK);
    snprintf(secret, sizeof secret, "%s/.local/state/ctsc/kernels.secret", home);
    assert_int_equal(stat(secret, &s), 0);
    assert_true(s.st_size == KEYED_HASH_KEY && (s.st_mode & 07777) == 0600);
    /* whole files, of somebody else: another secret */
    setenv("XDG_STATE_HOME", other, 1);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_COMPILED);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_FROM_DISK);
    setenv("XDG_STATE_HOME", "relative", 1);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_COMPILED);
    /* a secret that others may read is none, nor is one of another length, or a link */
    assert_int_equal(chmod(secret, 0644), 0);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_COMPILED);
    assert_int_equal(stat(secret, &s), 0);
    assert_int_equal(s.st_mode & 07777, 0600);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_FROM_DISK);
    assert_int_equal(truncate(secret, 31), 0);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_COMPILED);
    snprintf(inner, sizeof inner, "%s/elsewhere", folder);
    assert_int_equal(rename(secret, inner), 0);
    assert_int_equal(symlink(inner, secret), 0);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_COMPILED);
    assert_int_equal(lstat(secret, &s), 0);
    assert_true(S_ISREG(s.st_mode));
    /* each byte of a file is sealed: also those that only the code behind the key depends on */
    char paths[4][300];
    int n = folder_list(cache, paths);
    for (int i = 0; i < n; i++) {
        if (!strrchr(paths[i], '/') || strrchr(paths[i], '/')[1] == 'p') continue;
        assert_int_equal(stat(paths[i], &s), 0);
        for (off_t at = 0; at < s.st_size; at += s.st_size / 40 + 1) {
            int fd = open(paths[i], O_RDWR);
            char byte;
            assert_int_equal(pread(fd, &byte, 1, at), 1);
            byte ^= 4;
            assert_int_equal(pwrite(fd, &byte, 1, at), 1);
            close(fd);
            assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_COMPILED);
        }
    }
    /* a service without a home: the secret lies with the kernels */
    folder_damage(cache, 5);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/proc/ctsc", 1);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_COMPILED);
    assert_int_equal(folder_kernel(cache, &a, 3), KERNEL_FROM_DISK);
    snprintf(inner, sizeof inner, "%s/.secret", cache);
    assert_int_equal(stat(inner, &s), 0);
    assert_int_equal(s.st_mode & 07777, 0600);
    arena_free(&a);
    for (int i = 0; i < 2; i++) {
        if (before[i]) setenv(names[i], before[i], 1);
        else unsetenv(names[i]);
        free(before[i]);
    }
    char remove[128];
    snprintf(remove, sizeof remove, "rm -rf '%s'", folder);
    assert_int_equal(system(remove), 0);
}

/* The bytes of the folder's object, whose function has the file's name; its size. */
static size_t folder_object(const char *folder, char *to, size_t room, char symbol[64]) {
    size_t size = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[600];
        if (e->d_name[0] != 'k') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        snprintf(symbol, 64, "%.*s", (int)strcspn(e->d_name, "."), e->d_name);
        int fd = open(path, O_RDONLY);
        ssize_t n = read(fd, to, room);
        close(fd);
        char *elf = n > 0 ? memmem(to, (size_t)n, "\177ELF", 4) : NULL;
        if (!elf) continue;
        size = (size_t)(to + n - elf);
        memmove(to, elf, size);
    }
    closedir(dir);
    return size;
}

/* Our loader takes what the compiler makes, and no object that was damaged makes it read or write
 * where it should not: run under AddressSanitizer that shows. */
static void codegen_makes_object(void **state) {
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    if (!have_compiler) skip();
    enum { ROOM = 1 << 16 };
    char folder[] = "/tmp/ctsc-test-XXXXXX", *object = malloc(ROOM);
    assert_non_null(mkdtemp(folder));
    arena a;
    arena_init(&a);
    nest *n = nest_new(&a, "calls");
    nest_buffer *x0 = nest_add_buffer(n, "x", DT_FLOAT32, 0),
                *o = nest_add_buffer(n, "out", DT_FLOAT32, 0);
    nest_expr *i0 = nest_for(n, "i", nest_int(n, 0), nest_add_int(n, "n"), NEST_PARALLEL),
              *args[] = {nest_const_float(n, NEST_F32, 7), nest_load(n, x0, i0)};
    nest_store(n, o, i0, nest_call(n, "fmod", 2, args));
    nest_end(n);
    codegen *c = codegen_new(&(codegen_options){.folder = folder});
    const kernel *k;
    assert_int_equal(codegen_kernel(c, n, &k, NULL), CTSC_OK);
    codegen_free(c);
    char symbol[64];
    size_t size = folder_object(folder, object, ROOM, symbol);
    assert_true(size > 64 && size < ROOM);
    object_code code;
    void *address;
    assert_true(object_load(object, size, symbol, &code, &address));
    float x[3] = {1, 2, 3}, out[3] = {0};
    union {
        void *address;
        kernel_fn fn;
    } entry = {address};
    assert_int_equal(entry.fn((void *[]){x, out}, (int64_t[]){3}, NULL, 0, 3, NULL), 0);
    for (int i = 0; i < 3; i++) assert_true(out[i] == fmodf(7, x[i]));
    object_unload(&code);
    assert_false(object_load(object, size, "no_such_symbol", &code, &address));
    for (size_t i = 0; i < 40000; i++) {
        size_t cut = i < size ? i : size, at = (i * 7919) % size;
        char *exact = malloc(cut ? cut : 1);
        memcpy(exact, object, cut);
        if (i >= size)
            exact[at] = (char)(exact[at] ^ (1 << i % 8)), exact[(at * 31) % size] ^= (char)i;
        if (object_load(exact, cut, symbol, &code, &address)) object_unload(&code);
        free(exact);
    }
    arena_free(&a);
    free(object);
    folder_damage(folder, 5);
    rmdir(folder);
}

static void codegen_absent(void **state) {
    (void)state;
    codegen *c = codegen_new(
        &(codegen_options){.folder = "", .library = "/nowhere/libctsc-jit.so"});
    arena a;
    diag d = {0};
    const kernel *k;
    arena_init(&a);
    assert_false(codegen_available(c, NULL));
    assert_int_equal(codegen_kernel(c, nests_power(&a, DT_FLOAT32, 1), &k, &d), CTSC_ENVIRONMENT);
    assert_non_null(strstr(diag_message(&d), "no compiler for kernels"));
    diag_clear(&d);
    arena_free(&a);
    codegen_free(c);
}

/* What a loop marked vector becomes: vectors, without run-time checks of addresses. */
static void codegen_vectors(void **state) {
    (void)state;
    if (!have_compiler) skip();
    arena a;
    char *text;
    arena_init(&a);
    nest *n = nests_softmax(&a, DT_FLOAT32);
    assert_int_equal(codegen_describe(generators[2], n, CODEGEN_OPTIMISED_IR, &text, NULL),
                     CTSC_OK);
    assert_non_null(strstr(text, "<8 x float>"));
    assert_null(strstr(text, "memcheck"));
    mem_free(text);
    assert_int_equal(codegen_describe(generators[3], n, CODEGEN_ASSEMBLY, &text, NULL), CTSC_OK);
    assert_non_null(strstr(text, "zmm"));
    assert_non_null(strstr(text, "vfmadd"));
    mem_free(text);
    assert_int_equal(
        codegen_describe(generators[0], nests_power(&a, DT_FLOAT32, 2), CODEGEN_IR, &text, NULL),
        CTSC_OK);
    assert_null(strstr(text, "contract"));
    mem_free(text);
    arena_free(&a);
}

/* A vector loop marked for prefetch fetches; what is left over of it, and its
 * neighbours, do not. */
static void codegen_ahead(void **state) {
    (void)state;
    if (!have_compiler) skip();
    arena a;
    char *text;
    arena_init(&a);
    nest *n = nests_softmax(&a, DT_FLOAT32);
    assert_int_equal(codegen_describe(generators[2], n, CODEGEN_OPTIMISED_IR, &text, NULL),
                     CTSC_OK);
    assert_null(strstr(text, "llvm.prefetch"));
    mem_free(text);
    nest_stmt *rows = n->body.first, *loop = NULL;
    while (rows->kind != NEST_FOR) rows = rows->next;
    for (nest_stmt *s = rows->body.first; s && !loop; s = s->next)
        if (s->kind == NEST_FOR) loop = s;
    assert_non_null(loop);
    loop->flags |= NEST_PREFETCH;
    assert_int_equal(codegen_describe(generators[2], n, CODEGEN_OPTIMISED_IR, &text, NULL),
                     CTSC_OK);
    int calls = 0;
    for (const char *p = text; (p = strstr(p, "call void @llvm.prefetch")); p++) calls++;
    assert_in_range(calls, 1, 4);                      /* a line each: of two vectors one */
    assert_null(strstr(text, "i32 1, i32 3, i32 1)")); /* the loop of the maximum stores nothing */
    mem_free(text);
    for (nest_stmt *s = loop->next; s; s = s->next)
        if (s->kind == NEST_FOR) s->flags |= NEST_PREFETCH;
    assert_int_equal(codegen_describe(generators[2], n, CODEGEN_OPTIMISED_IR, &text, NULL),
                     CTSC_OK);
    assert_non_null(strstr(text, "i32 1, i32 3, i32 1)")); /* to write */
    mem_free(text);
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codegen_power),      cmocka_unit_test(codegen_broadcast),
        cmocka_unit_test(codegen_functions),  cmocka_unit_test(codegen_casts),
        cmocka_unit_test(codegen_integers),   cmocka_unit_test(codegen_softmax),
        cmocka_unit_test(codegen_layer_norm), cmocka_unit_test(codegen_distance),
        cmocka_unit_test(codegen_transpose),  cmocka_unit_test(codegen_early_exit),
        cmocka_unit_test(codegen_while),      cmocka_unit_test(codegen_watch),
        cmocka_unit_test(codegen_steps),      cmocka_unit_test(codegen_print),
        cmocka_unit_test(codegen_verify),     cmocka_unit_test(codegen_bad_calls),
        cmocka_unit_test(codegen_threads),    cmocka_unit_test(codegen_disk),
        cmocka_unit_test(codegen_sealed),     cmocka_unit_test(codegen_makes_object),
        cmocka_unit_test(codegen_absent),     cmocka_unit_test(codegen_vectors),
        cmocka_unit_test(codegen_ahead),
    };
    return cmocka_run_group_tests(tests, codegen_setup, codegen_teardown);
}
