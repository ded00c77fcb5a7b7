/* SPDX-License-Identifier: Apache-2.0 */
/* test_spectral.c - stft against a transform known by hand, and istft as its inverse. */
#include "support.h"

#include "ir/op/op.h"
#include "runtime/context/runtime.h"

#include <math.h>

static value spectral_signal(int64_t n, dtype dt) {
    tensor *t = NULL;
    assert_int_equal(tensor_new(NULL, dt, 1, &n, &t), CTSC_OK);
    for (int64_t i = 0; i < n; i++)
        dtype_store_float(dt, (char *)t->storage->data + (size_t)i * dtype_size(dt),
                          sin(0.7 * (double)i) + 0.1 * (double)i);
    return value_tensor_take(t);
}

/* A pure cosine of bin 2 shows up in bin 2 alone, with n/2. */
static void spectral_cosine(void **state) {
    diag d = {0};
    op_ctx cx = {.diag = &d};
    int64_t n = 8;
    tensor *t = NULL;
    (void)state;
    assert_int_equal(tensor_new(&d, DT_FLOAT32, 1, &n, &t), CTSC_OK);
    for (int i = 0; i < 8; i++)
        TENSOR_AT(t, float)[i] = (float)cos(2 * 3.14159265358979 * 2 * i / 8);
    value args[8] = {value_tensor_take(t), value_int(8)}, r = value_none();
    args[7] = value_bool(false);
    args[5] = value_bool(false);
    assert_int_equal(op_call(&cx, "aten::stft", 8, args, &r), CTSC_OK);
    assert_int_equal(r.u.tensor->ndim, 3); /* bins, frames, 2 */
    assert_int_equal(r.u.tensor->sizes[0], 5);
    assert_int_equal(r.u.tensor->sizes[1], 1);
    for (int k = 0; k < 5; k++) {
        assert_true(fabsf(TENSOR_AT(r.u.tensor, float)[2 * k] - (k == 2 ? 4.0f : 0.0f)) < 1e-5f);
        assert_true(fabsf(TENSOR_AT(r.u.tensor, float)[2 * k + 1]) < 1e-5f);
    }
    value_unref(r);
    value_unref(args[0]);
    diag_clear(&d);
}

static void spectral_inverse(void **state) {
    diag d = {0};
    op_ctx cx = {.diag = &d};
    (void)state;
    for (int k = 0; k < 2; k++) {
        dtype dt = k ? DT_FLOAT64 : DT_FLOAT32;
        value x = spectral_signal(40, dt), f = value_none(), y = value_none(), why = value_none();
        value fargs[10] = {x, value_int(8), value_int(2), why, why, value_bool(true)};
        fargs[6] = value_str_take(str_new("reflect", 7));
        fargs[7] = value_bool(k);
        fargs[9] = value_bool(false);
        assert_int_equal(op_call(&cx, "aten::stft.center", 10, fargs, &f), CTSC_OK);
        value iargs[7] = {f, value_int(8), value_int(2), why, why, value_bool(true), value_bool(k)};
        assert_int_equal(op_call(&cx, "aten::istft", 7, iargs, &y), CTSC_OK);
        assert_int_equal(y.u.tensor->sizes[0], 40);
        strbuf sb = STRBUF_INIT;
        assert_true(value_close(y, x, 1e-5, 1e-5, &sb));
        sb_free(&sb);
        value_unref(fargs[6]), value_unref(x), value_unref(f), value_unref(y);
    }
    diag_clear(&d);
}

static void spectral_errors(void **state) {
    diag d = {0};
    op_ctx cx = {.diag = &d};
    value x = spectral_signal(10, DT_FLOAT32), r = value_none();
    (void)state;
    value args[8] = {x, value_int(0)};
    args[5] = value_bool(false);
    assert_int_equal(op_call(&cx, "aten::stft", 8, args, &r), CTSC_FAILED);
    diag_clear(&d);
    args[1] = value_int(11);
    assert_int_equal(op_call(&cx, "aten::stft", 8, args, &r), CTSC_FAILED);
    diag_clear(&d);
    args[1] = value_int(4);
    args[7] = value_bool(true);
    assert_int_equal(op_call(&cx, "aten::stft", 8, args, &r), CTSC_OK);
    assert_int_equal(r.u.tensor->dtype, DT_COMPLEX64);
    value_unref(r);
    diag_clear(&d);
    value_unref(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(spectral_cosine),
                                       cmocka_unit_test(spectral_inverse),
                                       cmocka_unit_test(spectral_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
