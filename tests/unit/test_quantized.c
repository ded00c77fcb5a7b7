/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_quantized.c - quantised tensors: what their integers are, which operators take them,
 * products of integers against plain loops, packed parameters and their state, running out of
 * memory on the way. Expected integers and texts are PyTorch 1.13.1's.
 */
#include "support.h"

#include "base/qengine.h"
#include "base/threads/thread_pool.h"
#include "ctsc.h"
#include "ir/op/op.h"
#include "runtime/context/runtime.h"
#include "tensor/quantiser.h"

#include <glob.h>
#include <math.h>
#include <unistd.h>

static counting count;

/* ---- calling --------------------------------------------------------------------------------- */

static ctsc_status call(const char *key, int n, const value *args, value *results, char *message) {
    diag d = {0};
    runtime rt;
    runtime_init(&rt);
    ctsc_status s = op_call(&(op_ctx){.diag = &d, .rt = &rt}, key, n, args, results);
    if (message) snprintf(message, 256, "%s", s == CTSC_OK ? "" : diag_message(&d));
    diag_clear(&d);
    return s;
}

static value floats(int ndim, const int64_t *sizes, const float *from) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, float)[i] = from ? from[i] : sinf((float)(i * 7 % 97)) * 2;
    return value_tensor_take(t);
}

static value quantised(value x, double scale, int64_t zero, dtype dt) {
    value args[] = {x, value_float(scale), value_int(zero), value_int(dt)}, r = value_none();
    assert_int_equal(call("aten::quantize_per_tensor", 4, args, &r, NULL), CTSC_OK);
    value_unref(x);
    return r;
}

static value some(int64_t a, int64_t b, double scale, int64_t zero, dtype dt) {
    return quantised(floats(2, (int64_t[]){a, b}, NULL), scale, zero, dt);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void test_integers(void **state) {
    (void)state;
    const float x[] = {-1, 0, 0.05f, 0.25f, 0.35f, 100, INFINITY, -INFINITY, NAN, 1e30f};
    const uint8_t want[] = {0, 5, 5, 7, 9, 255, 255, 0, 255, 255};
    value q = quantised(floats(1, (int64_t[]){10}, x), 0.1, 5, DT_QUINT8);
    assert_memory_equal(tensor_data(q.u.tensor), want, sizeof want);
    value back = value_none();
    assert_int_equal(call("aten::dequantize.self", 1, &q, &back, NULL), CTSC_OK);
    assert_true(TENSOR_AT(back.u.tensor, float)[4] == 4 * 0.1f);
    value_unref(back);
    value_unref(q);
}

static void test_print(void **state) {
    (void)state;
    strbuf out = STRBUF_INIT;
    value q = quantised(floats(1, (int64_t[]){2}, (float[]){-0.5f, 0.4f}), 0.1, 10, DT_QINT8);
    value_print(q, &out);
    assert_string_equal(sb_str(&out), "-0.5000\n 0.4000\n[ QuantizedCPUQInt8Type{2}, qscheme: "
                                      "per_tensor_affine, scale: 0.1000, zero_point: 10 ]");
    sb_free(&out);
    value_unref(q);
}

static void test_views(void **state) {
    (void)state;
    value q = some(4, 6, 0.05, 3, DT_QINT8), r = value_none();
    value args[] = {q, value_int(0), value_int(1)};
    assert_int_equal(call("aten::transpose.int", 3, args, &r, NULL), CTSC_OK);
    assert_ptr_equal(r.u.tensor->quantiser, q.u.tensor->quantiser);
    value copy = value_none();
    assert_int_equal(call("aten::clone", 1, &r, &copy, NULL), CTSC_OK);
    assert_true(quantiser_equal(copy.u.tensor->quantiser, q.u.tensor->quantiser));
    assert_int_equal(TENSOR_AT(copy.u.tensor, int8_t)[1], TENSOR_AT(q.u.tensor, int8_t)[6]);
    value_unref(copy);
    value_unref(r);
    value_unref(q);
}

/* Operators that are not made for them never see the integers. */
static void test_refused(void **state) {
    (void)state;
    static const char *const keys[] = {"aten::exp",   "aten::sum",        "aten::neg",
                                       "aten::sqrt",  "aten::abs",        "aten::cumsum",
                                       "aten::isnan", "aten::mul.Scalar", "aten::add.Tensor",
                                       "aten::exp_",  "aten::zero_",      "aten::bitwise_not"};
    value q = some(3, 4, 0.05, 3, DT_QUINT8), before = value_none();
    assert_int_equal(call("aten::clone", 1, &q, &before, NULL), CTSC_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        value args[] = {q, strstr(keys[i], ".Tensor") ? q : value_int(1)}, r = value_none();
        char message[256], want[64];
        bool two = strchr(keys[i], '.') || strstr(keys[i], "cumsum");
        assert_int_not_equal(call(keys[i], two ? 2 : 1, args, &r, message), CTSC_OK);
        snprintf(want, sizeof want, "Could not run 'aten::");
        if (!strstr(message, want) || !strstr(message, "'QuantizedCPU' backend"))
            fail_msg("%s: %s", keys[i], message);
    }
    assert_memory_equal(tensor_data(q.u.tensor), tensor_data(before.u.tensor), 12);
    value_unref(before);
    value_unref(q);
}

/* ---- products -------------------------------------------------------------------------------- */

static value packed_linear(value w, value b) {
    value args[] = {w, b}, r = value_none();
    assert_int_equal(call("quantized::linear_prepack", 2, args, &r, NULL), CTSC_OK);
    return r;
}

static void check_linear(int64_t rows, int64_t k, int64_t n) {
    value x = some(rows, k, 0.03, 121, DT_QUINT8), w = some(n, k, 0.02, 0, DT_QINT8),
          b = floats(1, &n, NULL), p = packed_linear(w, b), y = value_none();
    value args[] = {x, p, value_float(0.4), value_int(90)};
    assert_int_equal(call("quantized::linear", 4, args, &y, NULL), CTSC_OK);
    const uint8_t *xs = tensor_data(x.u.tensor), *ys = tensor_data(y.u.tensor);
    const int8_t *ws = tensor_data(w.u.tensor);
    float scale = 0.02f * 0.03f * (1 / 0.4f), inverse = 1 / (float)(0.02 * 0.03);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            int32_t sum = (int32_t)nearbyintf(TENSOR_AT(b.u.tensor, float)[j] * inverse);
            for (int64_t t = 0; t < k; t++) sum += (xs[i * k + t] - 121) * ws[j * k + t];
            float v = nearbyintf((float)sum * scale) + 90;
            assert_int_equal(ys[i * n + j], v < 0 ? 0 : v > 255 ? 255 : (int)v);
        }
    value_unref(y);
    value_unref(p);
    value_unref(b);
    value_unref(w);
    value_unref(x);
}

static void test_linear(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},    {1, 7, 17},     {3, 8, 16}, {5, 33, 40},
                                       {70, 64, 31}, {130, 129, 50}, {2, 300, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_linear(sizes[i][0], sizes[i][1], sizes[i][2]);
}

static void test_threads(void **state) {
    (void)state;
    value x = floats(2, (int64_t[]){200, 300}, NULL), w = some(150, 300, 0.02, 0, DT_QINT8),
          p = packed_linear(w, value_none()), y[2];
    for (int i = 0; i < 2; i++) {
        value args[] = {x, p};
        pool_set_threads(i + 1);
        y[i] = value_none();
        assert_int_equal(call("quantized::linear_dynamic", 2, args, &y[i], NULL), CTSC_OK);
    }
    pool_set_threads(0);
    assert_memory_equal(tensor_data(y[0].u.tensor), tensor_data(y[1].u.tensor),
                        200 * 150 * sizeof(float));
    value_unref(y[0]);
    value_unref(y[1]);
    value_unref(p);
    value_unref(w);
    value_unref(x);
}

/* ---- packed parameters ----------------------------------------------------------------------- */

static value list_of(int n, const int64_t *from) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    for (int i = 0; i < n; i++) l->u.ints[l->len++] = from[i];
    return value_list_take(l);
}

static void test_state(void **state) {
    (void)state;
    value w = quantised(floats(4, (int64_t[]){8, 2, 3, 3}, NULL), 0.02, 0, DT_QINT8),
          p = value_none(), s = value_none(), again = value_none(), s2 = value_none();
    value stride = list_of(2, (int64_t[]){2, 1}), padding = list_of(2, (int64_t[]){1, 0}),
          dilation = list_of(2, (int64_t[]){1, 2});
    value args[] = {w, value_none(), stride, padding, dilation, value_int(2)};
    assert_int_equal(call("quantized::conv2d_prepack", 6, args, &p, NULL), CTSC_OK);
    assert_int_equal(call("ctsc::packed_state", 1, &p, &s, NULL), CTSC_OK);
    const tuple *t = s.u.tuple;
    assert_int_equal(t->len, 3);
    assert_string_equal(t->items[0].u.str->bytes, "2");
    const int16_t want[] = {2, 2, 1, 1, 0, 1, 2, 0, 0, 2, 0},
                  *config = tensor_data(t->items[1].u.list->u.tensors[0]);
    assert_memory_equal(config, want, sizeof want);
    /* an object that is new takes the state; one that has its parameters does not, nor any
     * state that is not one */
    object *o = object_new(p.u.object->cls, 1);
    again = value_object_take(o);
    char message[256];
    value bad[] = {again, value_int(3)}, good[] = {again, s};
    assert_int_equal(call("ctsc::packed_set_state", 2, bad, NULL, message), CTSC_BAD_FILE);
    assert_int_equal(call("ctsc::packed_set_state", 2, good, NULL, NULL), CTSC_OK);
    assert_int_not_equal(call("ctsc::packed_set_state", 2, good, NULL, NULL), CTSC_OK);
    assert_int_equal(call("ctsc::packed_state", 1, &again, &s2, NULL), CTSC_OK);
    value wrong[] = {w, p};
    assert_int_not_equal(call("quantized::linear_dynamic", 2, wrong, &args[0], message), CTSC_OK);
    assert_non_null(strstr(message, "another kind"));
    value all[] = {s2, again, s, p, dilation, padding, stride, w};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) value_unref(all[i]);
}

/* ---- archives -------------------------------------------------------------------------------- */

/* Each is read, written and read again. */
static void test_archives(void **state) {
    (void)state;
    glob_t g;
    char path[] = "/tmp/ctsc-quantized-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(glob("tests/corpus/quantized/*/model.pt", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        ctsc_error *e = ctsc_error_new();
        ctsc_module *m = NULL, *again = NULL;
        if (ctsc_module_load(g.gl_pathv[i], &m, e) != CTSC_OK ||
            ctsc_module_save(m, path, e) != CTSC_OK || ctsc_module_load(path, &again, e) != CTSC_OK)
            fail_msg("%s: %s", g.gl_pathv[i], ctsc_error_render(e, false));
        ctsc_module_free(m);
        ctsc_module_free(again);
        ctsc_error_free(e);
    }
    globfree(&g);
    unlink(path);
}

/* Every allocation of a round through the kernels fails in turn. */
static ctsc_status round_of_calls(value x, value w, value b) {
    value p = value_none(), q = value_none(), y = value_none(), z = value_none(), s = value_none();
    value pack[] = {w, b},
          quantise[] = {x, value_float(0.03), value_int(100), value_int(DT_QUINT8)};
    ctsc_status st = call("quantized::linear_prepack", 2, pack, &p, NULL);
    if (st == CTSC_OK) st = call("aten::quantize_per_tensor", 4, quantise, &q, NULL);
    value linear[] = {q, p, value_float(0.4), value_int(90)},
          add[] = {q, q, value_float(0.05), value_int(7)};
    if (st == CTSC_OK) st = call("quantized::linear_relu", 4, linear, &y, NULL);
    if (st == CTSC_OK) st = call("quantized::add", 4, add, &z, NULL);
    if (st == CTSC_OK) st = call("ctsc::packed_state", 1, &p, &s, NULL);
    value all[] = {s, z, y, q, p};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) value_unref(all[i]);
    return st;
}

static void test_no_memory(void **state) {
    (void)state;
    value x = floats(2, (int64_t[]){3, 20}, NULL), w = some(9, 20, 0.02, 0, DT_QINT8),
          b = floats(1, (int64_t[]){9}, NULL);
    /* operators and classes are known from here on */
    assert_int_equal(round_of_calls(x, w, b), CTSC_OK);
    long live = count.live;
    bool done = false;
    for (long k = 1; !done && k < 2000; k++) {
        count.fail_at = count.requests + k;
        done = round_of_calls(x, w, b) == CTSC_OK;
        count.fail_at = 0;
        assert_int_equal(count.live, live);
    }
    assert_true(done);
    value_unref(b);
    value_unref(w);
    value_unref(x);
}

/* Names of engines. What they compute: tests/corpus/quantized. */
static void test_engines(void **state) {
    (void)state;
    qengine e;
    assert_int_equal(qengine_find("fbgemm", &e), QENGINE_KNOWN);
    assert_int_equal(e, QENGINE_FBGEMM);
    assert_int_equal(qengine_find("onednn", &e), QENGINE_UNSUPPORTED);
    assert_int_equal(qengine_find("x87", &e), QENGINE_UNKNOWN);
    assert_int_equal(ctsc_set_quantized_engine("none", NULL), CTSC_UNSUPPORTED);
    assert_int_equal(ctsc_set_quantized_engine(NULL, NULL), CTSC_USAGE);
    assert_int_equal(ctsc_set_quantized_engine("x86", NULL), CTSC_OK);
    assert_int_equal(qengine_get(), QENGINE_X86);
    assert_int_equal(ctsc_set_quantized_engine("qnnpack", NULL), CTSC_OK);
    assert_false(qengine_is_fbgemm());
}

static value sum_operand(int64_t q, double scale, int64_t zero) {
    float x = (float)(scale * (double)(q - zero));
    return quantised(floats(1, (int64_t[]){1}, &x), scale, zero, DT_QUINT8);
}

/* quantized::add of 0.25 (a - 131) and 0.125 (b - 7), to steps of 0.5 and zero point 90: ties,
 * which the engines break differently. */
static void test_engines_sums(void **state) {
    (void)state;
    static const int64_t a[] = {0, 6, 12, 18, 24, 30}, b[] = {3, 71, 115, 151, 195, 227},
                         want[2][6] = {{24, 44, 58, 70, 84, 94}, {23, 43, 57, 69, 83, 95}};
    static const qengine engines[] = {QENGINE_FBGEMM, QENGINE_QNNPACK};
    for (int i = 0; i < 2; i++) {
        qengine_set(engines[i]);
        for (int k = 0; k < 6; k++) {
            value args[] = {sum_operand(a[k], 0.25, 131), sum_operand(b[k], 0.125, 7),
                            value_float(0.5), value_int(90)},
                  out = value_none();
            assert_int_equal(call("quantized::add", 4, args, &out, NULL), CTSC_OK);
            assert_int_equal(*(uint8_t *)tensor_data(out.u.tensor), want[i][k]);
            value_unref(out);
            for (int n = 0; n < 2; n++) value_unref(args[n]);
        }
    }
    qengine_set(QENGINE_QNNPACK);
}

int main(void) {
    qengine_set(QENGINE_QNNPACK); /* what the numbers below were computed with */
    mem_set_hook(counting_hook, &count);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),     cmocka_unit_test(test_print),
        cmocka_unit_test(test_views),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_linear),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_state),        cmocka_unit_test(test_archives),
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_engines),
        cmocka_unit_test(test_engines_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
