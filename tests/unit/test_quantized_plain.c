/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_quantized_plain.c - conversions between numbers and plain integers, and products of integers
 * (kernels/quantised/quantized_plain.c, quantized_matmul.c), against plain loops: on every set of
 * kernels this processor has.
 */
#include "support.h"

#include "base/threads/thread_pool.h"
#include "ir/op/op.h"
#include "runtime/context/runtime.h"
#include "tensor/quantiser.h"
#include "ukernels.h"

#include <math.h>
#include <string.h>

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static ctsc_status try_call(const char *key, int n, const value *args, value *results) {
    diag d = {0};
    runtime rt;
    runtime_init(&rt);
    ctsc_status s = op_call(&(op_ctx){.diag = &d, .rt = &rt}, key, n, args, results);
    diag_clear(&d);
    return s;
}

static value call(const char *key, int n, const value *args) {
    value r[3] = {{0}};
    assert_int_equal(try_call(key, n, args, r), CTSC_OK);
    return r[0];
}

static tensor *random_floats(int ndim, const int64_t *sizes) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, float)[i] = (float)(random_below(20001) - 10000) / 600;
    return t;
}

static tensor *random_ints(dtype dt, int ndim, const int64_t *sizes) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, dt, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        dtype_store_int(dt, (char *)tensor_data(t) + i * (int64_t)dtype_size(dt),
                        dt == DT_UINT8 ? random_below(256) : random_below(256) - 128);
    return t;
}

/* Elements exchanged along the first two dims, as a view. */
static tensor *turned(tensor *t) {
    tensor *view;
    assert_int_equal(tensor_transpose(NULL, t, 0, 1, &view), CTSC_OK);
    tensor_unref(t);
    return view;
}

static const void *element(const tensor *t, const int64_t *at) {
    int64_t offset = 0;
    for (int d = 0; d < t->ndim; d++) offset += at[d] * t->strides[d];
    return (const char *)tensor_data(t) + offset * (int64_t)dtype_size((dtype)t->dtype);
}

static int64_t int_at(const tensor *t, const int64_t *at) {
    return dtype_load_int((dtype)t->dtype, element(t, at));
}

static void index_of(const tensor *t, int64_t i, int64_t *at) {
    for (int d = t->ndim - 1; d >= 0; d--) at[d] = i % t->sizes[d], i /= t->sizes[d];
}

/* ---- conversions ----------------------------------------------------------------------------- */

typedef struct conversion {
    tensor *x, *scale, *zero; /* of the whole, or of a dim */
    int64_t axis, lo, hi;
    dtype dt;
} conversion;

static conversion random_conversion(void) {
    static const dtype dtypes[] = {DT_UINT8, DT_INT8, DT_INT16};
    int64_t sizes[3], one = 1;
    conversion c = {.dt = dtypes[random_below(3)], .axis = random_below(3)};
    for (int d = 0; d < 3; d++) sizes[d] = random_below(20);
    c.x = random_floats(3, sizes);
    if (random_below(2)) c.x = turned(c.x);
    int64_t *count = random_below(2) ? &one : &c.x->sizes[c.axis];
    if (!*count) count = &one;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 1, count, &c.scale), CTSC_OK);
    for (int64_t i = 0; i < *count; i++)
        TENSOR_AT(c.scale, float)[i] = (float)(1 + random_below(99)) / 1000;
    c.zero = random_ints(c.dt, 1, count);
    c.hi = c.dt == DT_UINT8 ? 255 : c.dt == DT_INT8 ? 127 : 32767;
    c.lo = c.dt == DT_UINT8 ? 0 : -c.hi - 1;
    return c;
}

static void check_conversion(const conversion *c, const tensor *q, const tensor *back) {
    for (int64_t i = 0; i < c->x->numel; i++) {
        int64_t at[3], k;
        index_of(c->x, i, at);
        k = c->scale->numel == 1 ? 0 : at[c->axis];
        float scale = TENSOR_AT(c->scale, float)[k];
        int64_t zero = int_at(c->zero, &k), want;
        want = (int64_t)rintf(*(const float *)element(c->x, at) / scale) + zero;
        want = want < c->lo ? c->lo : want > c->hi ? c->hi : want;
        assert_int_equal(int_at(q, at), want);
        assert_true(*(const float *)element(back, at) == (float)(want - zero) * scale);
    }
}

static void test_conversions(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        conversion c = random_conversion();
        value args[] = {value_tensor_take(c.x),    value_tensor_take(c.scale),
                        value_tensor_take(c.zero), value_int(c.axis),
                        value_int(c.dt),           value_int(0)};
        value q = call("ctsc::onnx_quantize", 6, args);
        value more[] = {q, args[1], args[2], args[3]};
        value back = call("ctsc::onnx_dequantize", 4, more);
        check_conversion(&c, q.u.tensor, back.u.tensor);
        value_unref(q), value_unref(back);
        for (int k = 0; k < 3; k++) value_unref(args[k]);
    }
}

/* As numbers, with bounds; the reciprocal of the scale. */
static void test_decomposed(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        int64_t sizes[] = {random_below(9), random_below(9)}, zero = random_below(100);
        double scale = 0.001 * (double)(1 + random_below(60));
        tensor *x = random_floats(2, sizes);
        value args[] = {value_tensor_take(x), value_float(scale), value_int(zero),
                        value_int(3),         value_int(120),     value_int(DT_UINT8)};
        value q = call("quantized_decomposed::quantize_per_tensor", 6, args);
        for (int64_t k = 0; k < x->numel; k++) {
            float v = rintf(TENSOR_AT(x, float)[k] * (1 / (float)scale)) + (float)zero;
            v = v < 3 ? 3 : v > 120 ? 120 : v;
            assert_int_equal(TENSOR_AT(q.u.tensor, uint8_t)[k], (int)v);
        }
        args[0] = q;
        value back = call("quantized_decomposed::dequantize_per_tensor", 6, args);
        for (int64_t k = 0; k < x->numel; k++)
            assert_true(TENSOR_AT(back.u.tensor, float)[k] ==
                        (float)(TENSOR_AT(q.u.tensor, uint8_t)[k] - zero) * (float)scale);
        value_unref(q), value_unref(back);
        tensor_unref(x);
    }
}

/* ---- plain integers as quantised tensors ----------------------------------------------------- */

static void test_as_quantised(void **state) {
    (void)state;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        int64_t sizes[] = {5, 7}, table_size = 256;
        tensor *t = turned(random_ints(is_signed ? DT_INT8 : DT_UINT8, 2, sizes));
        value args[] = {value_tensor_take(t), value_float(0.5), value_int(3)};
        value q = call("ctsc::quantised", 3, args);
        assert_int_equal(q.u.tensor->dtype, DT_QUINT8);
        assert_int_equal(q.u.tensor->quantiser->zero_point, is_signed ? 131 : 3);
        assert_int_equal(q.u.tensor->storage == t->storage, !is_signed);
        value out[] = {q, args[1], args[2], value_int(t->dtype)};
        value ints = call("ctsc::quantised_ints", 4, out);
        tensor *table = random_ints(DT_UINT8, 1, &table_size);
        value look[] = {q, value_tensor_take(table), value_float(0.1), value_int(9)};
        value looked = call("ctsc::quantised_table", 4, look), r = {0};
        for (int64_t i = 0; i < t->numel; i++) {
            int64_t at[2];
            index_of(t, i, at);
            assert_int_equal(int_at(ints.u.tensor, at), int_at(t, at));
            assert_int_equal(*(const uint8_t *)element(looked.u.tensor, at),
                             TENSOR_AT(table, uint8_t)[int_at(t, at) + (is_signed ? 128 : 0)]);
        }
        look[1] = args[0]; /* no table */
        assert_int_equal(try_call("ctsc::quantised_table", 4, look, &r), CTSC_FAILED);
        value_unref(q), value_unref(ints), value_unref(looked);
        tensor_unref(t), tensor_unref(table);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

static int32_t product_at(const tensor *a, const tensor *b, int64_t az, int64_t bz,
                          const int64_t *at) {
    int64_t k = a->sizes[2], sum = 0, batch_a = a->sizes[0] == 1 ? 0 : at[0],
            batch_b = b->sizes[0] == 1 ? 0 : at[0];
    for (int64_t i = 0; i < k; i++)
        sum += (int_at(a, (int64_t[]){batch_a, at[1], i}) - az) *
               (int_at(b, (int64_t[]){batch_b, i, at[2]}) - bz);
    return (int32_t)sum;
}

/* Matrices in place, or exchanged, or one for the whole batch. */
static tensor *random_matrices(dtype dt, int64_t batch, int64_t rows, int64_t columns) {
    int64_t sizes[] = {random_below(3) ? batch : 1, rows, columns};
    tensor *view;
    if (random_below(2)) return random_ints(dt, 3, sizes);
    sizes[1] = columns, sizes[2] = rows;
    tensor *t = random_ints(dt, 3, sizes);
    assert_int_equal(tensor_transpose(NULL, t, 1, 2, &view), CTSC_OK);
    tensor_unref(t);
    return view;
}

static void check_products(void) {
    int64_t batch = 1 + random_below(10), m = 1 + random_below(30), k = random_below(70),
            n = 1 + random_below(50);
    dtype da = random_below(2) ? DT_UINT8 : DT_INT8, db = random_below(2) ? DT_UINT8 : DT_INT8;
    tensor *a = random_matrices(da, batch, m, k), *b = random_matrices(db, batch, k, n), *az, *bz;
    int64_t za = random_below(128), zb = random_below(128);
    tensor_scalar_int(NULL, da, za, &az), tensor_scalar_int(NULL, db, zb, &bz);
    value args[] = {value_tensor_take(a), value_tensor_take(b), value_tensor_take(az),
                    value_tensor_take(bz)};
    value y = call("ctsc::onnx_matmul_integer", 4, args);
    int64_t batches = a->sizes[0] > b->sizes[0] ? a->sizes[0] : b->sizes[0];
    assert_int_equal(y.u.tensor->numel, batches * m * n);
    for (int64_t i = 0; i < y.u.tensor->numel; i++) {
        int64_t at[3];
        index_of(y.u.tensor, i, at);
        assert_int_equal(TENSOR_AT(y.u.tensor, int32_t)[i], product_at(a, b, za, zb, at));
    }
    value_unref(y);
    for (int i = 0; i < 4; i++) value_unref(args[i]);
}

/* The same, of quint8, scaled and rounded. */
static void check_quantised_products(void) {
    int64_t m = 1 + random_below(20), k = 1 + random_below(70), n = 1 + random_below(40);
    tensor *a = random_matrices(DT_UINT8, 3, m, k), *b = random_matrices(DT_UINT8, 3, k, n);
    int64_t za = random_below(256), zb = random_below(256), zero = random_below(256);
    float sa = 0.02f, sb = 0.03f, scale = 0.01f * (float)(1 + random_below(30));
    value qa = call("ctsc::quantised", 3,
                    (value[]){value_tensor_take(a), value_float(sa), value_int(za)}),
          qb = call("ctsc::quantised", 3,
                    (value[]){value_tensor_take(b), value_float(sb), value_int(zb)}),
          y = call(
              "ctsc::quantised_matmul", 6,
              (value[]){qa, qb, value_float(scale), value_int(zero), value_int(2), value_int(200)});
    for (int64_t i = 0; i < y.u.tensor->numel; i++) {
        int64_t at[3];
        index_of(y.u.tensor, i, at);
        float want = rintf((float)product_at(a, b, za, zb, at) * (sa * sb / scale)) + (float)zero;
        want = want < 2 ? 2 : want > 200 ? 200 : want;
        assert_int_equal(TENSOR_AT(y.u.tensor, uint8_t)[i], (int)want);
    }
    value_unref(qa), value_unref(qb), value_unref(y);
    tensor_unref(a), tensor_unref(b);
}

/* Packed weights: sums, and numbers of them. */
static void check_integer_linear(void) {
    int64_t sizes[] = {1, 1 + random_below(20), 1 + random_below(60)}, n = 1 + random_below(40);
    dtype dt = random_below(2) ? DT_UINT8 : DT_INT8;
    tensor *x = random_ints(dt, 3, sizes), *zero, *w;
    int64_t za = random_below(128), shape[] = {n, sizes[2]};
    quantiser *q = quantiser_new(1, random_below(3) - 1);
    assert_int_equal(tensor_new_quantised(NULL, DT_QINT8, 2, shape, q, &w), CTSC_OK);
    for (int64_t i = 0; i < w->numel; i++)
        TENSOR_AT(w, int8_t)[i] = (int8_t)(random_below(256) - 128);
    tensor_scalar_int(NULL, dt, za, &zero);
    tensor *scale = random_floats(1, &n), *bias = random_floats(1, &n);
    value packed = call("quantized::linear_prepack", 2,
                        (value[]){value_tensor_take(w), value_none()});
    value args[] = {value_tensor_take(x), packed, value_tensor_take(zero), value_none(),
                    value_none()};
    value sums = call("ctsc::integer_linear", 5, args);
    args[3] = value_tensor_take(scale), args[4] = value_tensor_take(bias);
    value numbers = call("ctsc::integer_linear", 5, args);
    for (int64_t i = 0; i < sums.u.tensor->numel; i++) {
        int64_t row = i / n, j = i % n, want = 0;
        for (int64_t k = 0; k < sizes[2]; k++)
            want += (int_at(x, (int64_t[]){0, row, k}) - za) *
                    (TENSOR_AT(w, int8_t)[j * sizes[2] + k] - q->zero_point);
        assert_int_equal(TENSOR_AT(sums.u.tensor, int32_t)[i], want);
        float number = (float)want * TENSOR_AT(scale, float)[j] + TENSOR_AT(bias, float)[j];
        assert_true(fabsf(TENSOR_AT(numbers.u.tensor, float)[i] - number) <=
                    1e-6f * fabsf(number) + 1e-4f);
    }
    value_unref(sums), value_unref(numbers);
    quantiser_unref(q);
    for (int i = 0; i < 5; i++) value_unref(args[i]);
    tensor_unref(w);
}

/* A list of n ints. */
static value ints(int n, const int64_t *from) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    for (int i = 0; i < n; i++) list_append_take(l, value_int(from[i]));
    return value_list_take(l);
}

/* Convolutions of plain images, with one channel per group among them: sums, and numbers. */
static void check_integer_conv(void) {
    int64_t groups = 1 + random_below(random_below(2) ? 70 : 3), in = random_below(2) ? 1 : 3,
            out = random_below(2) ? 1 : 2, kernel[] = {1 + random_below(3), 1 + random_below(3)},
            size[] = {4 + random_below(5), 4 + random_below(9)}, pads[4],
            stride[] = {1 + random_below(2), 1 + random_below(2)}, one[] = {1, 1}, n = groups * out;
    bool even = random_below(2);
    for (int i = 0; i < 4; i++) pads[i] = i < 2 || !even ? random_below(2) : pads[i - 2];
    dtype dt = random_below(2) ? DT_UINT8 : DT_INT8, wt = random_below(2) ? DT_UINT8 : DT_INT8;
    tensor *x = random_ints(dt, 4, (int64_t[]){2, groups * in, size[0], size[1]}), *zero,
           *w = random_ints(wt, 4, (int64_t[]){n, in, kernel[0], kernel[1]}),
           *wz = random_ints(wt, 1, &n);
    int64_t za = random_below(128);
    tensor_scalar_int(NULL, dt, za, &zero);
    value args[] = {value_tensor_take(x),  value_tensor_take(w), value_tensor_take(zero),
                    value_tensor_take(wz), ints(2, stride),      ints(4, pads),
                    ints(2, one),          value_int(groups)};
    value sums = call("ctsc::onnx_conv_integer", 8, args);
    const tensor *y = sums.u.tensor;
    assert_int_equal(y->dtype, DT_INT32);
    for (int64_t i = 0; i < y->numel; i++) {
        int64_t at[4], want = 0;
        index_of(y, i, at);
        for (int64_t t = 0; t < in * kernel[0] * kernel[1]; t++) {
            int64_t c = t / kernel[1] / kernel[0], a = t / kernel[1] % kernel[0], b = t % kernel[1],
                    row = at[2] * stride[0] + a - pads[0], col = at[3] * stride[1] + b - pads[1];
            if (row < 0 || row >= size[0] || col < 0 || col >= size[1]) continue;
            want += (int_at(x, (int64_t[]){at[0], at[1] / out * in + c, row, col}) - za) *
                    (int_at(w, (int64_t[]){at[1], c, a, b}) - int_at(wz, &at[1]));
        }
        assert_int_equal(int_at(y, at), want);
    }
    value_unref(sums);
    for (int i = 0; i < 8; i++) value_unref(args[i]);
}

static void test_products(void **state) {
    (void)state;
    for (const ukernel **u = usable_ukernels(UKERNEL_QUAD, UKERNEL_BYTES); *u; u++) {
        isa_limit((*u)->isa);
        for (int i = 0; i < 150; i++) {
            pool_set_threads(1 + (int)random_below(3));
            check_products();
            check_quantised_products();
            check_integer_linear();
            check_integer_conv();
        }
        isa_limit(ISA_COUNT);
    }
}

/* ---- scales that the numbers choose ---------------------------------------------------------- */

static void check_dynamic(tensor *x) {
    value args[] = {value_tensor_take(x)}, r[3] = {{0}};
    assert_int_equal(try_call("ctsc::onnx_dynamic_quantize", 1, args, r), CTSC_OK);
    float lo = 0, hi = 0;
    for (int64_t i = 0; i < x->numel; i++) {
        lo = fminf(lo, TENSOR_AT(x, float)[i]);
        hi = fmaxf(hi, TENSOR_AT(x, float)[i]);
    }
    float scale = (lo == hi ? 1 : hi - lo) / 255, zero = rintf(fminf(fmaxf(-lo / scale, 0), 255));
    assert_true(TENSOR_AT(r[1].u.tensor, float)[0] == scale);
    assert_int_equal(TENSOR_AT(r[2].u.tensor, uint8_t)[0], (int)zero);
    for (int64_t i = 0; i < x->numel; i++) {
        float v = rintf(TENSOR_AT(x, float)[i] / scale) + zero;
        assert_int_equal(TENSOR_AT(r[0].u.tensor, uint8_t)[i], (int)fminf(fmaxf(v, 0), 255));
    }
    for (int i = 0; i < 3; i++) value_unref(r[i]);
}

static void test_dynamic(void **state) {
    (void)state;
    int64_t sizes[] = {3, 41};
    tensor *x = random_floats(2, sizes);
    check_dynamic(x);
    for (int64_t i = 0; i < x->numel; i++)
        TENSOR_AT(x, float)[i] = fabsf(TENSOR_AT(x, float)[i]) + 1;
    check_dynamic(x);
    memset(tensor_data(x), 0, (size_t)x->numel * sizeof(float));
    check_dynamic(x);
    tensor_unref(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions),  cmocka_unit_test(test_decomposed),
        cmocka_unit_test(test_as_quantised), cmocka_unit_test(test_products),
        cmocka_unit_test(test_dynamic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
