/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_precision.c - layers of reduced precision (docs/precision.md) against float64: no result is
 * further off than the bound that is documented; and rounded factors that are exact give exact
 * sums.
 *
 * Tensors end at a page that cannot be touched. What this processor cannot run is said. Layers of
 * bfloat16 are computed on AMX's tile registers too, which need no processor (amx_emulator.h).
 */
#include "support.h"

#include "amx_emulator.h"
#include "base/threads/thread_pool.h"
#include "fenced.h"
#include "ir/op/op.h"
#include "runtime/context/runtime.h"
#include "runtime/kernels/engine/kernel_settings.h"
#include "ukernels.h"

#include <math.h>

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static bool random_one_in(int n) { return random_below(n) == 0; }

/* whole: small integers, which every precision holds */
static tensor *random_floats(int ndim, const int64_t *sizes, bool whole) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(t, float)
    [i] = whole ? (float)(random_below(17) - 8) : ((float)random_below(2000001) - 1e6f) * 1e-6f;
    return t;
}

static tensor *constant(tensor *t_take) {
    tensor *own;
    assert_int_equal(tensor_constant(NULL, t_take, &own), CTSC_OK);
    tensor_unref(t_take);
    return own;
}

static value call(const char *key, int n, const value *args) {
    diag d = {0};
    runtime rt;
    value r = value_none();
    runtime_init(&rt);
    if (op_call(&(op_ctx){.diag = &d, .rt = &rt}, key, n, args, &r) != CTSC_OK)
        fail_msg("%s: %s", key, diag_message(&d));
    diag_clear(&d);
    return r;
}

static value value_of(tensor *t) { return t ? value_tensor_take(tensor_ref(t)) : value_none(); }

/* What is documented: of a sum of n products, `products` the sum of their magnitudes. */
static double bound_bf16(double products, double bias, int64_t n) {
    return products * 0x1.02p-7 + (products + fabs(bias)) * (double)(n + 2) * 0x1p-24;
}
/* ---- linear layers --------------------------------------------------------------------------- */

typedef struct linear_case {
    tensor *x, *w, *b; /* [rows, k], [n, k], [n] or NULL */
    int64_t rows, n, k;
    bool whole;
} linear_case;

static linear_case random_linear(void) {
    linear_case c = {.rows = 1 + random_below(random_one_in(3) ? 200 : 9),
                     .n = 1 + random_below(random_one_in(5) ? 600 : 130),
                     .k = random_one_in(12) ? 1024 : 1 + random_below(random_one_in(5) ? 900 : 90),
                     .whole = random_one_in(3)};
    c.x = random_floats(2, (int64_t[]){c.rows, c.k}, c.whole);
    c.w = constant(random_floats(2, (int64_t[]){c.n, c.k}, c.whole));
    c.b = random_one_in(3) ? NULL : random_floats(1, &c.n, c.whole);
    return c;
}

/* A way of computing; bits 0: with bfloat16. */
typedef struct linear_way {
    const char *key;
    int bits;
    int64_t group; /* elements that share a scale; 0: a row */
    bool zeros;
    double levels; /* of activations, on each side of 0 */
} linear_way;

/* The step of the weights of a group. */
static double weight_step(const linear_way *way, const float *w, int64_t n) {
    double low = 0, high = 0, half = (double)(1 << (way->bits - 1));
    for (int64_t i = 0; i < n; i++) low = fmin(low, (double)w[i]), high = fmax(high, (double)w[i]);
    double most = fmax(high, -low), least = fmin(high, -low);
    return (way->zeros ? (high - low) / (2 * half - 1) : fmax(most / half, least / (half - 1))) *
           (1 + 0x1p-10);
}

/* What a bound needs of a segment of weights (a), and of activations (b). */
typedef struct segment_sizes {
    double a_step, a_sum; /* of the weights' group; of magnitudes, each a step more */
    double b_most, b_sum;
} segment_sizes;

static int64_t segment_length(const linear_way *way, int64_t k) {
    int64_t group = way->group ? way->group : k;
    return group < 128 ? group : 128;
}

static void segments_of_weights(const linear_way *way, const float *w, int64_t k,
                                segment_sizes *to) {
    int64_t group = way->group ? way->group : k, length = segment_length(way, k);
    for (int64_t g = 0; g < k; g += group) {
        int64_t end = g + group < k ? g + group : k;
        double step = weight_step(way, w + g, end - g);
        for (int64_t at = g; at < end; at += length, to++) {
            to->a_step = step;
            to->a_sum = 0;
            for (int64_t i = at; i < at + length && i < end; i++)
                to->a_sum += fabs((double)w[i]) + step;
        }
    }
}

static void segments_of_row(const linear_way *way, const float *x, int64_t k, segment_sizes *to) {
    int64_t length = segment_length(way, k);
    for (int64_t at = 0; at < k; at += length, to++) {
        to->b_most = to->b_sum = 0;
        for (int64_t i = at; i < at + length && i < k; i++) {
            to->b_most = fmax(to->b_most, fabs((double)x[i]));
            to->b_sum += fabs((double)x[i]);
        }
    }
}

/* How far results may be off for what becomes of weights and activations. */
static double segments_bound(const linear_way *way, const segment_sizes *w, const segment_sizes *x,
                             int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i].b_sum * (way->zeros ? w[i].a_step : w[i].a_step / 2) +
               w[i].a_sum * x[i].b_most / way->levels / 2;
    return sum * 1.001;
}

/* y: two results of the same call. */
static void check_linear(const linear_case *c, const value y[2], const linear_way *way) {
    int64_t n = way->bits ? (c->k + segment_length(way, c->k) - 1) / segment_length(way, c->k) : 0;
    segment_sizes *of_w = calloc((size_t)n + 1, sizeof *of_w),
                  *of_x = calloc((size_t)(n * c->rows) + 1, sizeof *of_x);
    assert_true(of_w && of_x);
    for (int64_t r = 0; way->bits && r < c->rows; r++)
        segments_of_row(way, TENSOR_AT(c->x, float) + r * c->k, c->k, of_x + r * n);
    for (int64_t j = 0; j < c->n; j++) {
        const float *w = TENSOR_AT(c->w, float) + j * c->k;
        double bias = c->b ? (double)TENSOR_AT(c->b, float)[j] : 0;
        if (way->bits) segments_of_weights(way, w, c->k, of_w);
        for (int64_t r = 0; r < c->rows; r++) {
            const float *x = TENSOR_AT(c->x, float) + r * c->k;
            double want = bias, products = 0;
            for (int64_t i = 0; i < c->k; i++) {
                double product = (double)x[i] * (double)w[i];
                want += product;
                products += fabs(product);
            }
            double bound = way->bits ? segments_bound(way, of_w, of_x + r * n, n) +
                                           (products + fabs(bias)) * (double)(c->k + 8) * 0x1p-22
                           : c->whole ? 0
                                      : bound_bf16(products, bias, c->k);
            for (int again = 0; again < 2; again++) {
                double got = (double)TENSOR_AT(y[again].u.tensor, float)[r * c->n + j];
                if (!(fabs(got - want) <= bound))
                    fail_msg("%s, [%lld, %lld] to %lld: %.9g instead of %.9g, bound %.3g", way->key,
                             (long long)c->rows, (long long)c->k, (long long)c->n, got, want,
                             bound);
            }
        }
    }
    free(of_w);
    free(of_x);
}

static void check_linears(const linear_way *way, int cases) {
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < cases; i++) {
        linear_case c = random_linear();
        pool_set_threads(1 + (int)random_below(3));
        value args[] = {value_of(c.x), value_of(c.w), value_of(c.b), value_int(way->group),
                        value_bool(way->zeros)},
              y[2];
        for (int again = 0; again < 2; again++)
            y[again] = call(way->key, way->bits == 4 ? 5 : 3, args);
        check_linear(&c, y, way);
        value_unref(y[0]), value_unref(y[1]);
        for (int k = 0; k < 3; k++) value_unref(args[k]);
        tensor_unref(c.x), tensor_unref(c.w), tensor_unref(c.b);
    }
    tensor_set_allocator(NULL);
}

static void amx_linears(void *ctx, const quad_kernels *u) {
    (void)ctx;
    assert_ptr_equal(ukernel_quad(UKERNEL_BF16), u);
    check_linears(&(linear_way){.key = "ctsc::linear_bf16"}, 100);
}

static void test_linear_bf16(void **state) {
    (void)state;
    amx_each(UKERNEL_BF16, amx_linears, NULL);
    if (!ukernel_quad(UKERNEL_BF16)) {
        print_message("[          ] not run: vdpbf16ps, which this processor has not, or slow\n");
        return;
    }
    check_linears(&(linear_way){.key = "ctsc::linear_bf16"}, 500);
}

/* On each set of kernels. */
static void check_everywhere(const linear_way *way, int cases) {
    for (const ukernel **u = usable_ukernels(UKERNEL_NBITS, UKERNEL_BYTES); *u; u++) {
        isa_limit((*u)->isa);
        check_linears(way, cases);
    }
    isa_limit(ISA_COUNT);
}

static void test_linear_int8w(void **state) {
    (void)state;
    check_everywhere(&(linear_way){"ctsc::linear_int8w", 8, 0, false, 32384}, 200);
}

static void test_linear_int4w(void **state) {
    (void)state;
    for (int group = 32; group <= 128; group *= 2)
        for (int zeros = 0; zeros < 2; zeros++)
            check_everywhere(&(linear_way){"ctsc::linear_int4w", 4, group, zeros, 127}, 60);
}

/* ---- embeddings ------------------------------------------------------------------------------ */

static void check_embedding(const linear_way *way) {
    int64_t n = 1 + random_below(40), k = 1 + random_below(200), rows = random_below(7);
    tensor *w = constant(random_floats(2, (int64_t[]){n, k}, false)), *at;
    assert_int_equal(tensor_new(NULL, DT_INT64, 1, &rows, &at), CTSC_OK);
    for (int64_t i = 0; i < rows; i++) TENSOR_AT(at, int64_t)[i] = random_below(n);
    value args[] = {value_of(w), value_of(at), value_int(way->group), value_bool(way->zeros)},
          y = call(way->key, way->bits == 4 ? 4 : 2, args);
    int64_t group = way->group ? way->group : k;
    for (int64_t i = 0; i < rows * k; i++) {
        const float *row = TENSOR_AT(w, float) + TENSOR_AT(at, int64_t)[i / k] * k;
        int64_t g = i % k / group * group;
        double step = weight_step(way, row + g, g + group < k ? group : k - g) * 1.001;
        double off = fabs((double)TENSOR_AT(y.u.tensor, float)[i] - (double)row[i % k]);
        assert_true(off <= (way->zeros ? step : step / 2));
    }
    value_unref(y), value_unref(args[0]), value_unref(args[1]);
    tensor_unref(w), tensor_unref(at);
}

static void test_embeddings(void **state) {
    (void)state;
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < 200; i++) {
        check_embedding(&(linear_way){"ctsc::embedding_int8w", 8, 0, false, 0});
        check_embedding(&(linear_way){"ctsc::embedding_int4w", 4, 32 << i % 3, i % 2, 0});
    }
    tensor_set_allocator(NULL);
}

/* ---- what is left ---------------------------------------------------------------------------- */

/* What is not finite is computed as it was written, and so are other dtypes. */
static void test_others(void **state) {
    (void)state;
    static const char *const keys[] = {"ctsc::linear_bf16", "ctsc::linear_int8w"};
    for (int i = 0; i < 2; i++) {
        tensor *w = random_floats(2, (int64_t[]){5, 7}, true), *x, *wide;
        TENSOR_AT(w, float)[8] = INFINITY;
        w = constant(w);
        x = random_floats(2, (int64_t[]){3, 7}, true);
        TENSOR_AT(x, float)[1] = 2;
        value args[] = {value_of(x), value_of(w), value_none()}, y = call(keys[i], 3, args);
        assert_true(isinf(TENSOR_AT(y.u.tensor, float)[1]));
        assert_true(isfinite(TENSOR_AT(y.u.tensor, float)[0]));
        value_unref(y), value_unref(args[0]), value_unref(args[1]);
        assert_int_equal(tensor_to_dtype(NULL, x, DT_FLOAT64, &wide), CTSC_OK);
        value doubles[] = {value_of(wide), value_of(wide), value_none()};
        y = call(keys[i], 3, doubles);
        assert_int_equal(y.u.tensor->dtype, DT_FLOAT64);
        value_unref(y), value_unref(doubles[0]), value_unref(doubles[1]);
        tensor_unref(wide), tensor_unref(x), tensor_unref(w);
    }
}

/* ---- convolutions ---------------------------------------------------------------------------- */

typedef struct conv_case {
    int dims;
    tensor *x, *w, *b, *other; /* x: [N, spatial..., C], other as the result; both may be NULL */
    int64_t in[3], kernel[3], stride[3], padding[3], dilation[3], place[3], groups, batch, inputs,
        outputs;
    bool relu, whole;
    bool halves; /* the tensors are bfloat16 for the operator, and the same numbers here */
    bool half_input, half_other, half_result; /* some of them are */
} conv_case;

static conv_case random_conv(void) {
    conv_case c = {.dims = 1 + (int)random_below(3), .whole = random_one_in(3)};
    c.groups = random_one_in(4) ? 1 + random_below(3) : 1;
    bool far = c.groups == 1 && random_one_in(15); /* pixels that are copied for that */
    int64_t in = far ? 1024 : 1 + random_below(c.groups > 1 ? 10 : 40), sizes[5], w[5], y[5];
    if (c.groups > 1) in *= 2;
    c.inputs = in * c.groups;
    c.outputs = (random_one_in(4) ? 1 + random_below(20) : 16 + random_below(60)) * c.groups;
    c.batch = 1 + random_below(2);
    sizes[0] = y[0] = c.batch, sizes[1 + c.dims] = c.inputs, y[1 + c.dims] = c.outputs;
    w[0] = c.outputs, w[1] = in;
    for (int d = 0; d < 3; d++) {
        bool there = d >= 3 - c.dims;
        c.kernel[d] = there ? 1 + random_below(4) : 1;
        if (far || random_one_in(4)) c.kernel[d] = 1;
        c.stride[d] = there && !far && random_one_in(3) ? 1 + random_below(3) : 1;
        c.dilation[d] = there && random_one_in(4) ? 1 + random_below(3) : 1;
        c.padding[d] = there && !far && random_one_in(2) ? random_below(3) : 0;
        int64_t reach = c.dilation[d] * (c.kernel[d] - 1) + 1, least = reach - 2 * c.padding[d];
        c.in[d] = there ? (least < 1 ? 1 : least) + random_below(!far && random_one_in(6) ? 30 : 7)
                        : 1;
        c.place[d] = (c.in[d] + 2 * c.padding[d] - reach) / c.stride[d] + 1;
        if (!there) continue;
        int at = d - (3 - c.dims);
        sizes[1 + at] = c.in[d], w[2 + at] = c.kernel[d], y[1 + at] = c.place[d];
    }
    c.x = random_floats(2 + c.dims, sizes, c.whole);
    c.w = constant(random_floats(2 + c.dims, w, c.whole));
    c.b = random_one_in(3) ? NULL : random_floats(1, &c.outputs, c.whole);
    c.other = random_one_in(3) ? random_floats(2 + c.dims, y, c.whole) : NULL;
    c.relu = random_one_in(2);
    return c;
}

static void check_place(const conv_case *c, const tensor *y, int64_t n, int64_t o, int64_t k) {
    int64_t in = c->inputs / c->groups, taps = c->kernel[0] * c->kernel[1] * c->kernel[2],
            places = c->place[0] * c->place[1] * c->place[2],
            out[3] = {k / c->place[2] / c->place[1], k / c->place[2] % c->place[1],
                      k % c->place[2]};
    double bias = c->b ? (double)TENSOR_AT(c->b, float)[o] : 0, want = bias, products = 0;
    for (int64_t t = 0; t < taps; t++) {
        int64_t tap[3] = {t / c->kernel[2] / c->kernel[1], t / c->kernel[2] % c->kernel[1],
                          t % c->kernel[2]},
                at[3];
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            at[d] = out[d] * c->stride[d] - c->padding[d] + tap[d] * c->dilation[d];
            inside &= at[d] >= 0 && at[d] < c->in[d];
        }
        const float *x = TENSOR_AT(c->x, float) +
                         (((n * c->in[0] + at[0]) * c->in[1] + at[1]) * c->in[2] + at[2]) *
                             c->inputs +
                         o / (c->outputs / c->groups) * in,
                    *w = TENSOR_AT(c->w, float) + o * in * taps + t;
        for (int64_t i = 0; inside && i < in; i++) {
            double product = (double)x[i] * (double)w[i * taps];
            want += product, products += fabs(product);
        }
    }
    int64_t i = (n * places + k) * c->outputs + o;
    double other = c->other ? (double)TENSOR_AT(c->other, float)[i] : 0,
           bound = c->whole ? 0 : bound_bf16(products, fabs(bias) + fabs(other), in * taps),
           got = y->dtype == DT_BFLOAT16 ? (double)bfloat16_to_float(TENSOR_AT(y, bfloat16)[i])
                                         : (double)TENSOR_AT(y, float)[i];
    bool halves = c->halves || c->half_result;
    if (halves || (c->other && c->half_other)) bound += 0x1p-8 * fabs(want);
    want += other;
    if (halves && c->other) bound += 0x1p-8 * (fabs(want) + bound);
    if (c->relu && want < 0) want = 0;
    if (!(fabs(got - want) <= bound))
        fail_msg("%d dims, %lld to %lld channels, %lld groups, kernel %lld %lld %lld: %.9g instead "
                 "of %.9g, bound %.3g",
                 c->dims, (long long)c->inputs, (long long)c->outputs, (long long)c->groups,
                 (long long)c->kernel[0], (long long)c->kernel[1], (long long)c->kernel[2], got,
                 want, bound);
}

static value ints(int dims, const int64_t *from) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)dims);
    for (int d = 0; d < dims; d++) l->u.ints[l->len++] = from[3 - dims + d];
    return value_list_take(l);
}

/* *t, which may be NULL, gets the numbers that bfloat16 has; they are returned as such. */
static tensor *to_halves(tensor **t) {
    tensor *half, *wide;
    if (!*t) return NULL;
    assert_int_equal(tensor_to_dtype(NULL, *t, DT_BFLOAT16, &half), CTSC_OK);
    assert_int_equal(tensor_to_dtype(NULL, half, DT_FLOAT32, &wide), CTSC_OK);
    tensor_unref(*t);
    *t = wide;
    return half;
}

static void check_conv(conv_case *c) {
    static const int64_t zeros[3] = {0};
    str *text = str_new(c->relu ? "relu" : "none", 4);
    tensor *all[] = {c->x, c->w, c->b, c->other};
    if (c->halves) {
        all[0] = to_halves(&c->x), all[1] = constant(to_halves(&c->w));
        all[2] = to_halves(&c->b), all[3] = to_halves(&c->other);
    }
    if (c->half_input) all[0] = to_halves(&c->x);
    if (c->half_other) all[3] = to_halves(&c->other);
    value args[] = {value_of(all[0]),          value_of(all[1]),
                    value_of(all[2]),          ints(c->dims, c->stride),
                    ints(c->dims, c->padding), ints(c->dims, c->dilation),
                    value_bool(false),         ints(c->dims, zeros),
                    value_int(c->groups),      value_bool(true),
                    value_of(all[3]),          value_str_take(text),
                    value_bool(false),         value_none(),
                    value_bool(c->half_input), value_bool(c->half_result)};
    for (int again = 0; again < 2; again++) {
        value y = c->halves ? call("ctsc::conv_channels_last", 14, args)
                            : call("ctsc::conv_channels_last_bf16", 16, args);
        assert_int_equal(y.u.tensor->dtype, c->halves || c->half_result ? DT_BFLOAT16 : DT_FLOAT32);
        int64_t places = c->place[0] * c->place[1] * c->place[2];
        for (int64_t k = 0; k < c->batch * c->outputs * places; k++)
            check_place(c, y.u.tensor, k / places / c->outputs, k / places % c->outputs,
                        k % places);
        value_unref(y);
    }
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) value_unref(args[i]);
    for (int i = 0; i < 4; i++)
        if (c->halves || (i == 0 && c->half_input) || (i == 3 && c->half_other))
            tensor_unref(all[i]);
}

static void check_convs(int cases) {
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (int i = 0; i < cases; i++) {
        conv_case c = random_conv();
        c.halves = i % 4 == 3;
        c.half_input = !c.halves && random_one_in(2);
        c.half_other = !c.halves && random_one_in(2);
        c.half_result = !c.halves && random_one_in(2);
        /* sums of whole numbers are exact then */
        atomic_store(&kernel_no_winograd, c.halves || c.whole);
        pool_set_threads(1 + (int)random_below(3));
        check_conv(&c);
        tensor_unref(c.x), tensor_unref(c.w), tensor_unref(c.b), tensor_unref(c.other);
    }
    atomic_store(&kernel_no_winograd, false);
    tensor_set_allocator(NULL);
}

static void amx_convs(void *ctx, const quad_kernels *u) {
    (void)ctx;
    assert_ptr_equal(ukernel_quad(UKERNEL_BF16), u);
    check_convs(250);
}

static void test_conv_bf16(void **state) {
    (void)state;
    amx_each(UKERNEL_BF16, amx_convs, NULL);
    if (!ukernel_quad(UKERNEL_BF16)) {
        print_message("[          ] not run: vdpbf16ps, which this processor has not, or slow\n");
        return;
    }
    check_convs(600);
}

/* Where vdpbf16ps is slower than float32 (isa.def), the precision is refused; layers that have been
 * reduced are computed in float32. */
static void test_slow_bf16(void **state) {
    (void)state;
    if (isa_has(ISA_AMXINT8)) isa_limit(ISA_AVX512BF16);
    isa_slow_bits |= 1u << ISA_AVX512BF16;
    assert_null(ukernel_quad(UKERNEL_BF16));
    check_linears(&(linear_way){.key = "ctsc::linear_bf16"}, 50);
    check_convs(50);
    ctsc_module *m = NULL;
    assert_int_equal(ctsc_module_load("models/digits_cnn.pt", &m, NULL), CTSC_OK);
    assert_int_equal(ctsc_module_set_precision(m, "bf16", NULL), CTSC_UNSUPPORTED);
    ctsc_module_free(m);
    isa_limit(ISA_COUNT);
}

/* ---- modules --------------------------------------------------------------------------------- */

static void test_names(void **state) {
    (void)state;
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    assert_int_equal(ctsc_module_load("models/digits_cnn.pt", &m, e), CTSC_OK);
    assert_int_equal(ctsc_module_set_precision(m, "int8w", e), CTSC_OK);
    static const struct { const char *name; ctsc_status want; } fours[] = {
        {"int4w", CTSC_OK},          {"int4w:64", CTSC_OK},
        {"int4w:128,asym", CTSC_OK}, {"int4w:asym,32", CTSC_OK},
        {"int4w:sym", CTSC_OK},      {"int4w:", CTSC_USAGE},
        {"int4w:16", CTSC_USAGE},    {"int4w:32,", CTSC_USAGE},
        {"int4w32", CTSC_USAGE},     {"int4w:32asym", CTSC_USAGE},
        {"int8w:32", CTSC_USAGE},    {"int4w:32:64", CTSC_USAGE},
        {"auto", CTSC_OK},           {"auto:0.25", CTSC_OK},
        {"auto:1", CTSC_OK},         {"auto:", CTSC_USAGE},
        {"auto:1.01", CTSC_USAGE},   {"auto:0", CTSC_USAGE},
        {"auto:nan", CTSC_USAGE},    {"automatic", CTSC_USAGE},
    };
    for (size_t i = 0; i < sizeof fours / sizeof *fours; i++)
        assert_int_equal(ctsc_module_set_precision(m, fours[i].name, e), fours[i].want);
    assert_int_equal(ctsc_module_set_precision(m, "float32", e), CTSC_OK);
    assert_int_equal(ctsc_module_set_precision(m, "float16", e), CTSC_USAGE);
    assert_int_equal(ctsc_module_set_precision(m, NULL, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_set_precision(m, "bf16", e),
                     ukernel_quad(UKERNEL_BF16) ? CTSC_OK : CTSC_UNSUPPORTED);
    assert_int_equal(ctsc_module_set_autocast(m, CTSC_BFLOAT16, e), CTSC_OK);
    assert_int_equal(ctsc_module_set_autocast(m, CTSC_FLOAT16, e), CTSC_OK);
    assert_int_equal(ctsc_module_set_autocast(m, CTSC_FLOAT32, e), CTSC_OK);
    assert_int_equal(ctsc_module_set_autocast(m, CTSC_INT32, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_set_autocast(m, CTSC_FLOAT64, NULL), CTSC_USAGE);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

/* The largest of each row's numbers. */
static void best_of(const char *model, const char *inputs, const char *precision, int64_t *best,
                    int64_t *n, int64_t most) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *args = NULL, *first = NULL, *y = NULL;
    assert_int_equal(ctsc_module_load(model, &m, e), CTSC_OK);
    assert_int_equal(ctsc_module_set_precision(m, precision, e), CTSC_OK);
    assert_int_equal(ctsc_value_load(inputs, &args, e), CTSC_OK);
    first = ctsc_value_item(args, 0);
    assert_non_null(first);
    if (ctsc_module_run(m, "forward", 1, &first, NULL, &y, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    const float *p = ctsc_tensor_data(y);
    const int64_t *sizes = ctsc_tensor_sizes(y);
    int64_t columns = sizes[ctsc_tensor_ndim(y) - 1];
    *n = 1;
    for (int i = 0; i < ctsc_tensor_ndim(y) - 1; i++) *n *= sizes[i];
    assert_true(*n > 0 && *n <= most);
    for (int64_t r = 0; r < *n; r++) {
        best[r] = 0;
        for (int64_t c = 0; c < columns; c++)
            if (p[r * columns + c] > p[r * columns + best[r]]) best[r] = c;
    }
    ctsc_value_free(y), ctsc_value_free(first), ctsc_value_free(args);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

/* Of the 360 digits one may come out otherwise, of the 32 characters too; of four bits three. */
static void test_models(void **state) {
    (void)state;
    enum { MOST = 400 };
    static const struct {
        const char *model, *inputs;
    } models[] = {{"models/digits_cnn.pt", "models/digits_test.pt"},
                  {"models/chargpt.pt", "models/chargpt_prompts.pt"}};
    static const struct { const char *name; int64_t others; } precisions[] = {
        {"int8w", 1}, {"int4w", 3}, {"bf16", 1}};
    for (int i = 0; i < 2; i++) {
        int64_t want[MOST], got[MOST], n, others = 0;
        best_of(models[i].model, models[i].inputs, "float32", want, &n, MOST);
        for (int k = 0; k < (ukernel_quad(UKERNEL_BF16) ? 3 : 2); k++) {
            best_of(models[i].model, models[i].inputs, precisions[k].name, got, &n, MOST);
            for (int64_t r = 0; r < n; r++) others += want[r] != got[r];
            if (others > precisions[k].others)
                fail_msg("%s, %s: %lld of %lld differ", models[i].model, precisions[k].name,
                         (long long)others, (long long)n);
            others = 0;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_bf16),  cmocka_unit_test(test_linear_int8w),
        cmocka_unit_test(test_linear_int4w), cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_others),       cmocka_unit_test(test_conv_bf16),
        cmocka_unit_test(test_names),        cmocka_unit_test(test_models),
        cmocka_unit_test(test_slow_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
