/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tensor.c - dtypes, storages, views, copies and iteration.
 *
 * The expected promotions, 16-bit roundings, strides and messages were taken from PyTorch 1.13.1.
 */
#include "tensor/conjugate.h"
#include "tensor/iter.h"

#include "base/threads/thread_pool.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fenced.h"

/* ---- helpers --------------------------------------------------------------------------------- */

#define DIMS(...) ((int64_t[]){__VA_ARGS__})
#define NDIMS(...) ((int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t)))
#define SHAPE(...) NDIMS(__VA_ARGS__), DIMS(__VA_ARGS__)

#define assert_ok(call) assert_int_equal((call), CTSC_OK)

/* The call fails with this message. */
#define assert_fails(d, call, message)                                                             \
    do {                                                                                           \
        assert_int_not_equal((call), CTSC_OK);                                                     \
        assert_string_equal(diag_message(d), message);                                             \
        diag_clear(d);                                                                             \
    } while (0)

/* 0, 1, 2, ... in the given shape. */
static tensor *arange(dtype dt, int ndim, const int64_t *sizes) {
    tensor *t;
    assert_ok(tensor_new(NULL, dt, ndim, sizes, &t));
    for (int64_t i = 0; i < t->numel; i++)
        dtype_store_int(dt, (char *)tensor_data(t) + (size_t)i * dtype_size(dt), i);
    return t;
}

/* Sizes, strides and offset as text, e.g. "[2, 3] [3, 1] 0". */
static const char *geometry(const tensor *t) {
    static char text[256];
    strbuf sb = STRBUF_INIT;
    tensor_print_sizes(t->ndim, t->sizes, &sb);
    sb_putc(&sb, ' ');
    tensor_print_sizes(t->ndim, t->strides, &sb);
    sb_printf(&sb, " %d", (int)t->offset);
    snprintf(text, sizeof text, "%s", sb_str(&sb));
    sb_free(&sb);
    return text;
}

#define assert_view(call, view, want)                                                              \
    do {                                                                                           \
        assert_ok(call);                                                                           \
        assert_string_equal(geometry(view), want);                                                 \
        tensor_unref(view);                                                                        \
    } while (0)

/* Reads the element at an index through the strides. */
static double at(const tensor *t, const int64_t *index) {
    int64_t k = t->offset;
    for (int i = 0; i < t->ndim; i++) k += index[i] * t->strides[i];
    return dtype_load_float((dtype)t->dtype,
                            (char *)t->storage->data + (size_t)k * dtype_size((dtype)t->dtype));
}
#define AT(t, ...) at((t), DIMS(__VA_ARGS__))

/* ---- dtypes ---------------------------------------------------------------------------------- */

static void test_promotion(void **state) {
    (void)state;
    static const uint8_t ids[13] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15};
    static const uint8_t want[13][13] = {
        {0, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 15},
        {2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 15},
        {2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2, 15},
        {3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 3, 15},
        {4, 4, 4, 4, 4, 5, 6, 7, 8, 9, 10, 4, 15},
        {5, 5, 5, 5, 5, 5, 6, 7, 8, 9, 10, 5, 6},
        {6, 6, 6, 6, 6, 6, 6, 7, 9, 9, 10, 6, 6},
        {7, 7, 7, 7, 7, 7, 7, 7, 10, 10, 10, 7, 7},
        {8, 8, 8, 8, 8, 8, 9, 10, 8, 9, 10, 8, 9},
        {9, 9, 9, 9, 9, 9, 9, 10, 9, 9, 10, 9, 9},
        {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10},
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15},
        {15, 15, 15, 15, 15, 6, 6, 7, 9, 9, 10, 15, 15},
    };
    for (int i = 0; i < 13; i++)
        for (int j = 0; j < 13; j++)
            assert_int_equal(dtype_promote((dtype)ids[i], (dtype)ids[j]), want[i][j]);
    assert_int_equal(dtype_promote(DT_QINT8, DT_QINT8), DT_QINT8);
    assert_string_equal(dtype_table[DT_BFLOAT16].torch_name, "bfloat16");
    assert_int_equal(dtype_size(DT_COMPLEX128), 16);
}

static void test_half(void **state) {
    (void)state;
    static const struct {
        float f;
        uint16_t half, brain;
    } rows[] = {
        {65519.f, 0x7bff, 0x4780},        {65520.f, 0x7c00, 0x4780},
        {1e-8f, 0x0000, 0x322c},          {6e-8f, 0x0001, 0x3381},
        {2.98e-8f, 0x0000, 0x3300},       {1.0009765f, 0x3c01, 0x3f80},
        {1.00048828125f, 0x3c00, 0x3f80}, {1.0014648f, 0x3c02, 0x3f80},
        {-0.0f, 0x8000, 0x8000},          {3.14159f, 0x4248, 0x4049},
        {6.1e-5f, 0x03ff, 0x3880},        {1e9f, 0x7c00, 0x4e6e},
        {-INFINITY, 0xfc00, 0xff80},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(float16_from_float(rows[i].f).bits, rows[i].half);
        assert_int_equal(bfloat16_from_float(rows[i].f).bits, rows[i].brain);
    }
    assert_true(isnan(bfloat16_to_float(bfloat16_from_float(NAN))));
    /* Every half survives the way to float and back, and the two ways of doing it agree. */
    static float16 all[65536], back[65536];
    static float floats[65536];
    for (int i = 0; i < 65536; i++) all[i].bits = (uint16_t)i;
    float16_to_floats(all, floats, 65536);
    float16_from_floats(floats, back, 65536);
    for (int i = 0; i < 65536; i++) {
        float f = float16_to_float(all[i]);
        assert_memory_equal(&f, &floats[i], 4);
        assert_int_equal(float16_from_float(f).bits, back[i].bits);
        if (!isnan(f)) assert_int_equal(back[i].bits, i);
        /* Half-way points and their neighbours round alike both ways. */
        uint32_t u;
        memcpy(&u, &f, 4);
        float near[8];
        float16 rounded[8];
        for (int k = 0; k < 8; k++) {
            uint32_t v = u + 0xffc + (uint32_t)k;
            memcpy(&near[k], &v, 4);
        }
        float16_from_floats(near, rounded, 8);
        for (int k = 0; k < 8; k++)
            assert_int_equal(rounded[k].bits, float16_from_float(near[k]).bits);
    }
}

/* What a row of sums may have in it. */
static float half_sum(uint32_t *random) {
    static const uint32_t odd[] = {0x7fc00000, 0xffc00001, 0x7f800001, 0x7f800000, 0xff800000,
                                   0x00000001, 0x80400000, 0x007fffff, 0x80000000, 0x7f7fffff};
    *random = *random * 1664525u + 1013904223u;
    uint32_t r = *random >> 8;
    return r % 64 < 10 ? float_of_bits(odd[r % 64]) : ((float)(r % 200001) - 100000.0f) / 4099.0f;
}

/* Rows of sums as kernels store them, against the conversions of one number: all lengths, with
 * something to add and without, at the end of a page. */
static void test_half_rows(void **state) {
    (void)state;
    enum { MOST = 70, ROWS = 3 };
    uint32_t random = 1;
    for (int64_t n = 1; n <= MOST; n++)
        for (int kind = 0; kind < 6; kind++) {
            bool add = kind % 2, brain = kind < 4, settle = kind >= 2, twice = kind == 3;
            size_t count = (size_t)(ROWS * n);
            float *sums = fenced_alloc(NULL, count * sizeof *sums), want[ROWS * MOST];
            bfloat16 *other = fenced_alloc(NULL, (count + 3) / 4 * 8),
                     *out = fenced_alloc(NULL, (count + 3) / 4 * 8);
            for (size_t i = 0; i < count; i++) {
                sums[i] = half_sum(&random);
                other[i] = bfloat16_from_float((float)(int)(random >> 24) / 7.0f);
                float16 same = {other[i].bits};
                float more = brain ? bfloat16_to_float(other[i]) : float16_to_float(same), x;
                x = brain ? bfloat16_to_float(bfloat16_from_float(sums[i]))
                          : float16_to_float(float16_from_float(sums[i]));
                want[i] = !add && !settle ? sums[i] : add ? x + more : x;
                if (!settle) want[i] = want[i] < -3 ? -3 : want[i] > 6 ? 6 : want[i];
                if (!settle || (twice && add))
                    want[i] = bfloat16_to_float(bfloat16_from_float(want[i]));
            }
            bfloat16 *with = add ? other : NULL;
            if (!settle) bfloat16_rows_from_floats(sums, n, with, out, n, ROWS, n, -3, 6);
            else if (brain) bfloat16_settle(sums, n, with, n, twice, ROWS, n);
            else float16_settle(sums, n, (const float16 *)with, n, twice, ROWS, n);
            for (size_t i = 0; i < count; i++) {
                float got = settle ? sums[i] : bfloat16_to_float(out[i]);
                if (isnan(want[i])) assert_true(isnan(got));
                else assert_memory_equal(&got, &want[i], sizeof got);
            }
            fenced_free(NULL, sums, count * sizeof *sums);
            fenced_free(NULL, other, (count + 3) / 4 * 8);
            fenced_free(NULL, out, (count + 3) / 4 * 8);
        }
}

/* Codes that PyTorch 2.15 makes of these, in the order of the dtypes' numbers. */
static void test_float8(void **state) {
    (void)state;
    static const struct {
        float f;
        uint8_t codes[4];
    } rows[] = {
        {1.f, {0x3c, 0x38, 0x40, 0x40}},      {-0.f, {0x80, 0x80, 0, 0}},
        {448.f, {0x5f, 0x7e, 0x63, 0x80}},    {480.f, {0x60, 0x7e, 0x64, 0x80}},
        {INFINITY, {0x7c, 0x7e, 0x80, 0x80}}, {-1e9f, {0xfc, 0xfe, 0x80, 0x80}},
        {NAN, {0x7f, 0x7f, 0x80, 0x80}},      {61440.f, {0x7c, 0x7e, 0x80, 0x80}},
        {61439.f, {0x7b, 0x7e, 0x7f, 0x80}},  {240.f, {0x5c, 0x77, 0x60, 0x7f}},
        {0x1p-10f, {0x14, 0, 0x18, 0x01}},    {0x1.01p-10f, {0x14, 0x01, 0x18, 0x01}},
        {0x1p-17f, {0, 0, 0x01, 0}},          {1.0625f, {0x3c, 0x38, 0x40, 0x40}},
        {1.1875f, {0x3d, 0x3a, 0x41, 0x42}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 4; k++)
            assert_int_equal(float8_from_float((dtype)(DT_FLOAT8_E5M2 + k), rows[i].f),
                             rows[i].codes[k]);
    for (int k = 0; k < 4; k++) /* every code survives the way to float and back */
        for (int code = 0; code < 256; code++) {
            dtype dt = (dtype)(DT_FLOAT8_E5M2 + k);
            float f = float8_to_float(dt, (uint8_t)code);
            if (!isnan(f) && !isinf(f)) assert_int_equal(float8_from_float(dt, f), code);
        }
    static const struct {
        float f;
        uint8_t code;
    } exponents[] = {{0, 0},          {1, 127},     {1.5f, 128},    {1.4999f, 127},
                     {-2, 128},       {0.75f, 127}, {1e38f, 253},   {3.4e38f, 255},
                     {INFINITY, 255}, {NAN, 255},   {0x1p-127f, 0}, {0x1.7p-127f, 1},
                     {5e-39f, 0},     {6e-39f, 1},  {0x1p-126f, 1}};
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++)
        assert_int_equal(float8_from_float(DT_FLOAT8_E8M0FNU, exponents[i].f), exponents[i].code);
    for (int code = 0; code < 255; code++)
        assert_int_equal(
            float8_from_float(DT_FLOAT8_E8M0FNU, float8_to_float(DT_FLOAT8_E8M0FNU, (uint8_t)code)),
            code);
    assert_true(isnan(float8_to_float(DT_FLOAT8_E8M0FNU, 255)));
    /* 64 bits without a sign, to a float at once and back */
    uint64_t big = 0x8000008000000001u, back = 0;
    float f = 0;
    tensor *t, *to;
    assert_ok(tensor_new(NULL, DT_UINT64, 0, NULL, &t));
    memcpy(tensor_data(t), &big, sizeof big);
    assert_ok(tensor_to_dtype(NULL, t, DT_FLOAT32, &to));
    memcpy(&f, tensor_data(to), sizeof f);
    assert_true(f == (float)big);
    tensor_unref(to);
    dtype_store_float(DT_UINT64, &back, 0x1.8p63);
    assert_true(back == 0xc000000000000000u && dtype_load_float(DT_UINT64, &back) == 0x1.8p63);
    tensor_unref(t);
    assert_false(dtype_valid(16) || dtype_valid(22) || dtype_valid(30));
    assert_true(dtype_valid(23) && dtype_valid(29) && tensor_kinds() & TENSOR_KIND_STORED);
}

static void test_elements(void **state) {
    (void)state;
    static const struct {
        dtype dt;
        double from;
        int64_t to;
    } rows[] = {
        {DT_INT8, 300, 44},
        {DT_INT8, -300, -44},
        {DT_INT8, 3e9, 0},
        {DT_INT8, 70000, 112},
        {DT_UINT8, -1, 255},
        {DT_UINT8, -300, 212},
        {DT_UINT8, NAN, 0},
        {DT_INT16, 70000, 4464},
        {DT_INT16, 3e9, 0},
        {DT_INT32, 3e9, INT32_MIN},
        {DT_INT32, NAN, INT32_MIN},
        {DT_INT32, -2147483648.5, INT32_MIN},
        {DT_INT64, 3e9, 3000000000},
        {DT_INT64, 1e19, INT64_MIN},
        {DT_INT64, -INFINITY, INT64_MIN},
        {DT_BOOL, 0.5, 1},
        {DT_BOOL, NAN, 1},
        {DT_BOOL, 0, 0},
        {DT_FLOAT32, 16777217, 16777216},
        {DT_FLOAT16, 2049, 2048},
        {DT_BFLOAT16, 257, 256},
        {DT_COMPLEX64, -3, -3},
        {DT_COMPLEX32, 7, 7},
        {DT_COMPLEX128, 9, 9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char cell[16];
        dtype_store_float(rows[i].dt, cell, rows[i].from);
        assert_int_equal(dtype_load_int(rows[i].dt, cell), rows[i].to);
        /* The same through a copy, strided and not. */
        tensor *src, *dst, *every;
        assert_ok(tensor_new(NULL, DT_FLOAT64, 1, DIMS(20), &src));
        for (int k = 0; k < 20; k++) TENSOR_AT(src, double)[k] = rows[i].from;
        assert_ok(tensor_to_dtype(NULL, src, rows[i].dt, &dst));
        assert_int_equal(dtype_load_int(rows[i].dt, tensor_data(dst)), rows[i].to);
        tensor_unref(dst);
        assert_ok(tensor_slice(NULL, src, 0, 1, 20, 3, &every));
        assert_ok(tensor_to_dtype(NULL, every, rows[i].dt, &dst));
        assert_int_equal(tensor_item_int(dst), rows[i].to);
        tensor_unref(dst);
        tensor_unref(every);
        tensor_unref(src);
    }
    char cell[16];
    dtype_store_int(DT_UINT8, cell, -1);
    assert_int_equal(dtype_load_int(DT_UINT8, cell), 255);
    dtype_store_int(DT_BOOL, cell, 256);
    assert_int_equal(dtype_load_int(DT_BOOL, cell), 1);
    dtype_store_int(DT_FLOAT32, cell, INT64_C(9007199791611905)); /* would round twice by double */
    assert_true(dtype_load_float(DT_FLOAT32, cell) == 9007200328482816.0);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void test_making(void **state) {
    (void)state;
    diag d = {0};
    tensor *t;
    assert_view(tensor_new(&d, DT_FLOAT32, SHAPE(0, 3), &t), t, "[0, 3] [3, 1] 0");
    assert_view(tensor_new(&d, DT_FLOAT32, SHAPE(3, 0), &t), t, "[3, 0] [1, 1] 0");
    assert_view(tensor_new(&d, DT_FLOAT32, 0, NULL, &t), t, "[] [] 0");
    assert_view(tensor_zeros(&d, DT_INT8, SHAPE(1, 2, 1, 2, 1, 2, 1, 2), &t), t,
                "[1, 2, 1, 2, 1, 2, 1, 2] [16, 8, 8, 4, 4, 2, 2, 1] 0");
    assert_fails(&d, tensor_new(&d, DT_FLOAT32, SHAPE(2, -1), &t),
                 "Trying to create tensor with negative dimension -1: [2, -1]");
    assert_fails(&d, tensor_new(&d, DT_FLOAT32, SHAPE(INT64_C(1) << 40, INT64_C(1) << 40), &t),
                 "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]");
    assert_fails(&d, tensor_new(&d, DT_FLOAT32, SHAPE(INT64_C(1) << 62), &t),
                 "Storage size calculation overflowed with sizes=[4611686018427387904]");
    assert_int_equal(tensor_new(&d, DT_INT8, SHAPE(INT64_C(1) << 60), &t), CTSC_LIMIT);
    diag_clear(&d);
    assert_int_equal(tensor_new(&d, DT_INT8, 65, (int64_t[65]){0}, &t), CTSC_LIMIT);
    diag_clear(&d);
    assert_ok(tensor_scalar_float(&d, DT_BFLOAT16, 1.5, &t));
    assert_true(tensor_item_float(t) == 1.5);
    assert_int_equal((uintptr_t)tensor_data(t) % TENSOR_ALIGNMENT, 0);
    tensor_unref(t);
    tensor_unref(NULL);
}

static void count_release(void *ctx, void *data) {
    (void)data;
    ++*(int *)ctx;
}

static void test_storage(void **state) {
    (void)state;
    diag d = {0};
    float bytes[6] = {0, 1, 2, 3, 4, 5};
    int released = 0;
    storage *s = storage_borrow(bytes, sizeof bytes, count_release, &released);
    s->read_only = true;
    tensor *t, *u;
    assert_ok(tensor_on_storage(&d, s, DT_FLOAT32, SHAPE(2, 2), DIMS(3, 1), 1, &t));
    assert_true(AT(t, 1, 1) == 5);
    assert_fails(&d, tensor_on_storage(&d, s, DT_FLOAT32, SHAPE(2, 2), DIMS(3, 1), 2, &u),
                 "setStorage: sizes [2, 2], strides [3, 1], storage offset 2, and itemsize 4 "
                 "requiring a storage size of 28 are out of bounds for storage of size 24");
    assert_int_equal(tensor_on_storage(&d, s, DT_FLOAT32, SHAPE(2), DIMS(INT64_MAX), 0, &u),
                     CTSC_BAD_FILE);
    diag_clear(&d);
    assert_int_equal(tensor_on_storage(&d, s, DT_FLOAT32, SHAPE(2), DIMS(1), -1, &u),
                     CTSC_BAD_FILE);
    diag_clear(&d);
    assert_int_equal(tensor_on_storage(&d, s, DT_FLOAT32, SHAPE(-2), DIMS(1), 0, &u),
                     CTSC_BAD_FILE);
    diag_clear(&d);
    assert_view(tensor_on_storage(&d, s, DT_FLOAT32, SHAPE(0), DIMS(1), INT64_MAX, &u), u,
                "[0] [1] 0");
    storage_unref(s);
    assert_ok(tensor_make_writable(&d, t));
    assert_int_equal(released, 0);
    TENSOR_AT(t, float)[0] = 9;
    assert_true(bytes[1] == 1);
    assert_true(AT(t, 0, 0) == 9);
    tensor_unref(t);
    assert_int_equal(released, 1);
    /* Without a release function the data stays the caller's. */
    s = storage_borrow(bytes, sizeof bytes, NULL, NULL);
    storage_unref(s);
}

/* ---- views ----------------------------------------------------------------------------------- */

static void test_select_slice(void **state) {
    (void)state;
    diag d = {0};
    tensor *x = arange(DT_FLOAT32, SHAPE(2, 3)), *v, *scalar;
    assert_ok(tensor_scalar_int(&d, DT_INT64, 1, &scalar));
    assert_view(tensor_select(&d, x, 0, -1, &v), v, "[3] [1] 3");
    assert_view(tensor_select(&d, x, -1, 2, &v), v, "[2] [3] 2");
    assert_fails(&d, tensor_select(&d, x, 0, 5, &v),
                 "select(): index 5 out of range for tensor of size [2, 3] at dimension 0");
    assert_fails(&d, tensor_select(&d, x, 2, 0, &v),
                 "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    assert_fails(&d, tensor_select(&d, scalar, 0, 0, &v),
                 "select() cannot be applied to a 0-dim tensor.");
    assert_view(tensor_slice(&d, x, 1, 0, INT64_MAX, 2, &v), v, "[2, 2] [3, 2] 0");
    assert_view(tensor_slice(&d, x, 1, -2, -1, 1, &v), v, "[2, 1] [3, 1] 1");
    assert_view(tensor_slice(&d, x, 1, 2, 1, 1, &v), v, "[2, 0] [3, 1] 2");
    assert_view(tensor_slice(&d, x, 0, -99, 99, 1, &v), v, "[2, 3] [3, 1] 0");
    assert_view(tensor_slice(&d, x, 0, 7, 9, 1, &v), v, "[0, 3] [3, 1] 6");
    assert_ok(tensor_slice(&d, x, 0, 0, 2, INT64_MAX, &v));
    assert_int_equal(v->numel, 3);
    tensor_unref(v);
    assert_fails(&d, tensor_slice(&d, x, 0, 0, 1, 0, &v), "slice step must be positive");
    assert_fails(&d, tensor_slice(&d, scalar, 0, 0, 1, 1, &v),
                 "slice() cannot be applied to a 0-dim tensor.");
    tensor_unref(scalar);
    tensor_unref(x);
}

static void test_permute(void **state) {
    (void)state;
    diag d = {0};
    tensor *x = arange(DT_FLOAT32, SHAPE(2, 3)), *v, *scalar, *w;
    assert_ok(tensor_scalar_int(&d, DT_INT64, 1, &scalar));
    assert_view(tensor_transpose(&d, x, 0, -1, &v), v, "[3, 2] [1, 3] 0");
    assert_view(tensor_transpose(&d, scalar, 0, -1, &v), v, "[] [] 0");
    assert_fails(&d, tensor_transpose(&d, scalar, 0, 1, &v),
                 "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    assert_view(tensor_permute(&d, x, 2, DIMS(-1, 0), &v), v, "[3, 2] [1, 3] 0");
    assert_fails(&d, tensor_permute(&d, x, 2, DIMS(0, -2), &v),
                 "permute(): duplicate dims are not allowed.");
    assert_fails(&d, tensor_permute(&d, x, 3, DIMS(0, 1, 2), &v),
                 "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                 "length of the desired ordering of dimensions i.e. input.dim() = 2 is not equal "
                 "to len(dims) = 3");
    assert_view(tensor_unsqueeze(&d, x, 0, &v), v, "[1, 2, 3] [6, 3, 1] 0");
    assert_view(tensor_unsqueeze(&d, x, -1, &v), v, "[2, 3, 1] [3, 1, 1] 0");
    assert_fails(&d, tensor_unsqueeze(&d, x, 5, &v),
                 "Dimension out of range (expected to be in range of [-3, 2], but got 5)");
    assert_view(tensor_unsqueeze(&d, scalar, -1, &v), v, "[1] [1] 0");
    assert_ok(tensor_view(&d, x, SHAPE(1, 2, 1, 3, 1), &w));
    assert_string_equal(geometry(w), "[1, 2, 1, 3, 1] [6, 3, 3, 1, 1] 0");
    assert_view(tensor_squeeze(&d, w, &v), v, "[2, 3] [3, 1] 0");
    assert_view(tensor_squeeze_dim(&d, w, 2, &v), v, "[1, 2, 3, 1] [6, 3, 1, 1] 0");
    assert_view(tensor_squeeze_dim(&d, w, 1, &v), v, "[1, 2, 1, 3, 1] [6, 3, 3, 1, 1] 0");
    assert_view(tensor_squeeze_dim(&d, scalar, 0, &v), v, "[] [] 0");
    tensor_unref(w);
    tensor_unref(scalar);
    tensor_unref(x);
}

static void test_expand(void **state) {
    (void)state;
    diag d = {0};
    tensor *x = arange(DT_FLOAT32, SHAPE(2, 3)), *row = arange(DT_FLOAT32, SHAPE(1, 3)),
           *line = arange(DT_FLOAT32, SHAPE(3)), *column = arange(DT_FLOAT32, SHAPE(3, 1)), *v;
    assert_view(tensor_expand(&d, row, SHAPE(4, 3), &v), v, "[4, 3] [0, 1] 0");
    assert_view(tensor_expand(&d, row, SHAPE(1, -1), &v), v, "[1, 3] [3, 1] 0");
    assert_view(tensor_expand(&d, line, SHAPE(1, 3), &v), v, "[1, 3] [3, 1] 0");
    assert_view(tensor_expand(&d, line, SHAPE(2, 1, 3), &v), v, "[2, 1, 3] [0, 3, 1] 0");
    assert_view(tensor_expand(&d, column, SHAPE(2, 3, 4), &v), v, "[2, 3, 4] [0, 1, 0] 0");
    assert_view(tensor_expand(&d, row, SHAPE(0, 3), &v), v, "[0, 3] [0, 1] 0");
    assert_fails(&d, tensor_expand(&d, x, SHAPE(4, 3), &v),
                 "The expanded size of the tensor (4) must match the existing size (2) at "
                 "non-singleton dimension 0.  Target sizes: [4, 3].  Tensor sizes: [2, 3]");
    assert_fails(&d, tensor_expand(&d, x, SHAPE(3), &v),
                 "expand(torch.FloatTensor{[2, 3]}, size=[3]): the number of sizes provided (1) "
                 "must be greater or equal to the number of dimensions in the tensor (2)");
    assert_fails(&d, tensor_expand(&d, x, SHAPE(-1, 2, 3), &v),
                 "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                 "dimension 0");
    assert_fails(&d, tensor_expand(&d, row, SHAPE(INT64_MAX, 3), &v),
                 "numel: integer multiplication overflow");
    tensor *empty = arange(DT_FLOAT32, SHAPE(1, 1, 0));
    assert_view(tensor_expand(&d, empty, SHAPE(INT64_MAX, 1, 0), &v), v,
                "[9223372036854775807, 1, 0] [0, 1, 1] 0");
    assert_fails(&d, tensor_expand(&d, empty, SHAPE(INT64_MAX, 4, 0), &v),
                 "numel: integer multiplication overflow");
    tensor_unref(empty);
    tensor_unref(x);
    tensor_unref(row);
    tensor_unref(line);
    tensor_unref(column);
}

static void test_view(void **state) {
    (void)state;
    diag d = {0};
    tensor *x = arange(DT_FLOAT32, SHAPE(2, 3)), *big = arange(DT_FLOAT32, SHAPE(4, 6)), *v, *w;
    assert_view(tensor_view(&d, x, SHAPE(3, 2, -1), &v), v, "[3, 2, 1] [2, 1, 1] 0");
    assert_fails(&d, tensor_view(&d, x, SHAPE(5), &v),
                 "shape '[5]' is invalid for input of size 6");
    assert_fails(&d, tensor_view(&d, x, SHAPE(-1, 4), &v),
                 "shape '[-1, 4]' is invalid for input of size 6");
    assert_fails(&d, tensor_view(&d, x, SHAPE(-1, -1), &v), "only one dimension can be inferred");
    assert_fails(&d, tensor_view(&d, x, SHAPE(-2), &v), "invalid shape dimension -2");
    assert_fails(
        &d, tensor_view(&d, x, SHAPE(INT64_MAX, INT64_MAX), &v),
        "shape '[9223372036854775807, 9223372036854775807]' is invalid for input of size 6");
    assert_ok(tensor_transpose(&d, x, 0, 1, &w));
    assert_fails(&d, tensor_view(&d, w, SHAPE(6), &v),
                 "view size is not compatible with input tensor's size and stride (at least one "
                 "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
    assert_view(tensor_view(&d, w, SHAPE(3, 1, 2), &v), v, "[3, 1, 2] [1, 6, 3] 0");
    assert_ok(tensor_reshape(&d, w, SHAPE(-1), &v));
    assert_true(AT(v, 1) == 3 && AT(v, 5) == 5 && v->storage != x->storage);
    tensor_unref(v);
    assert_fails(&d, tensor_reshape(&d, w, SHAPE(-1, 5), &v),
                 "shape '[-1, 5]' is invalid for input of size 6");
    tensor_unref(w);
    assert_ok(tensor_slice(&d, big, 1, 0, 3, 1, &w));
    assert_view(tensor_view(&d, w, SHAPE(2, 2, 3), &v), v, "[2, 2, 3] [12, 6, 1] 0");
    assert_view(tensor_view(&d, w, SHAPE(4, 1, 3), &v), v, "[4, 1, 3] [6, 3, 1] 0");
    assert_int_not_equal(tensor_view(&d, w, SHAPE(3, 4), &v), CTSC_OK);
    diag_clear(&d);
    tensor_unref(w);
    assert_ok(tensor_new(&d, DT_FLOAT32, SHAPE(0, 3), &w));
    assert_view(tensor_view(&d, w, SHAPE(3, 0), &v), v, "[3, 0] [1, 1] 0");
    assert_view(tensor_view(&d, w, SHAPE(0, 5), &v), v, "[0, 5] [5, 1] 0");
    assert_fails(&d, tensor_view(&d, w, SHAPE(-1, 0), &v),
                 "cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified "
                 "dimension size -1 can be any value and is ambiguous");
    tensor_unref(w);
    assert_ok(tensor_scalar_int(&d, DT_INT8, 3, &w));
    assert_view(tensor_view(&d, w, SHAPE(1, 1), &v), v, "[1, 1] [1, 1] 0");
    assert_view(tensor_view(&d, w, 0, NULL, &v), v, "[] [] 0");
    tensor_unref(w);
    /* Strides of dimensions of one element may be anything. */
    assert_ok(tensor_as_strided(&d, x, SHAPE(1, 2), DIMS(INT64_MAX, 1), 0, &w));
    assert_ok(tensor_view(&d, w, SHAPE(2, 1), &v));
    tensor_unref(v);
    assert_ok(tensor_unsqueeze(&d, w, 0, &v));
    tensor_unref(v);
    tensor_unref(w);
    tensor_unref(big);
    tensor_unref(x);
}

static void test_as_strided(void **state) {
    (void)state;
    diag d = {0};
    tensor *x = arange(DT_FLOAT32, SHAPE(2, 3)), *v;
    assert_view(tensor_as_strided(&d, x, SHAPE(2, 2), DIMS(1, 1), 3, &v), v, "[2, 2] [1, 1] 3");
    assert_fails(&d, tensor_as_strided(&d, x, SHAPE(3, 3), DIMS(3, 1), 0, &v),
                 "setStorage: sizes [3, 3], strides [3, 1], storage offset 0, and itemsize 4 "
                 "requiring a storage size of 36 are out of bounds for storage of size 24");
    assert_fails(&d, tensor_as_strided(&d, x, SHAPE(3, 3), DIMS(3, -1), 0, &v),
                 "as_strided: Negative strides are not supported at the moment, got strides: "
                 "[3, -1]");
    assert_fails(&d, tensor_as_strided(&d, x, SHAPE(1), DIMS(1), -1, &v),
                 "Tensor: invalid storage offset -1");
    assert_fails(&d, tensor_as_strided(&d, x, SHAPE(3, -3), DIMS(3, 1), 0, &v),
                 "Storage size calculation overflowed with sizes=[3, -3] and strides=[3, 1]");
    tensor_unref(x);
}

static void test_asking(void **state) {
    (void)state;
    tensor *x = arange(DT_FLOAT32, SHAPE(4, 6)), *v;
    assert_true(tensor_is_contiguous(x));
    assert_false(tensor_may_overlap(x));
    static const struct {
        int64_t sizes[2], strides[2];
        bool contiguous, overlap;
    } rows[] = {
        {{3, 2}, {2, 1}, true, false},
        {{2, 3}, {1, 2}, false, false},
        {{1, 3}, {9, 1}, true, false},
        {{3, 1}, {1, 0}, true, false},
        {{2, 3}, {0, 1}, false, true},
        {{2, 3}, {2, 1}, false, true},
        {{0, 3}, {5, 7}, true, false},
        {{3, 3}, {1, 1}, false, true},
        {{3, 2}, {6, 2}, false, false},
        {{3, 2}, {2, 3}, false, true}, /* disjoint in fact, but not nested */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(tensor_as_strided(NULL, x, 2, rows[i].sizes, rows[i].strides, 0, &v));
        assert_int_equal(tensor_is_contiguous(v), rows[i].contiguous);
        assert_int_equal(tensor_may_overlap(v), rows[i].overlap);
        tensor_unref(v);
    }
    int k;
    assert_ok(tensor_wrap_dim(NULL, -1, 0, &k));
    assert_int_equal(k, 0);
    tensor_unref(x);
}

static void test_swap(void **state) {
    (void)state;
    tensor *a = arange(DT_FLOAT32, SHAPE(2, 3)), *b = arange(DT_INT64, SHAPE(1, 1, 1, 1, 1, 1, 4));
    tensor_swap_geometry(a, b);
    assert_string_equal(geometry(b), "[2, 3] [3, 1] 0");
    assert_int_equal(a->ndim, 7);
    assert_true(AT(b, 1, 2) == 5 && AT(a, 0, 0, 0, 0, 0, 0, 3) == 3);
    tensor_swap_geometry(a, b);
    assert_string_equal(geometry(a), "[2, 3] [3, 1] 0");
    tensor_swap_geometry(a, a);
    tensor_unref(a);
    assert_int_equal(b->sizes[6], 4);
    tensor_unref(b);
}

static void test_broadcast(void **state) {
    (void)state;
    diag d = {0};
    int n;
    int64_t sizes[TENSOR_MAX_DIMS];
    assert_ok(broadcast_sizes(&d, SHAPE(2, 1, 3), SHAPE(4, 1), &n, sizes));
    assert_int_equal(n, 3);
    assert_memory_equal(sizes, DIMS(2, 4, 3), 24);
    assert_ok(broadcast_sizes(&d, SHAPE(0, 1), SHAPE(1), &n, sizes));
    assert_memory_equal(sizes, DIMS(0, 1), 16);
    assert_ok(broadcast_sizes(&d, 0, NULL, 0, NULL, &n, sizes));
    assert_int_equal(n, 0);
    assert_fails(&d, broadcast_sizes(&d, SHAPE(2, 3), SHAPE(4), &n, sizes),
                 "The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
                 "dimension 1");
    assert_int_not_equal(broadcast_sizes(&d, SHAPE(0), SHAPE(2), &n, sizes), CTSC_OK);
    diag_clear(&d);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Copies between geometries and dtypes, checked against reading element by element. */
static void check_copy(tensor *dst, tensor *src) {
    diag d = {0};
    tensor *wide;
    assert_ok(tensor_expand(&d, src, dst->ndim, dst->sizes, &wide));
    double *want = test_malloc(sizeof(double) * (size_t)(dst->numel + 1));
    int64_t index[4] = {0};
    for (int64_t k = 0; k < dst->numel; k++) {
        want[k] = at(wide, index);
        for (int i = dst->ndim - 1; i >= 0 && ++index[i] == dst->sizes[i]; i--) index[i] = 0;
    }
    assert_ok(tensor_copy(&d, dst, src));
    for (int64_t k = 0; k < dst->numel; k++) {
        if (dst->dtype == DT_BOOL) want[k] = want[k] != 0;
        if (src->dtype == DT_FLOAT8_E8M0FNU) { /* it has no zero, and fractions */
            char room[16];
            dtype_store_float((dtype)dst->dtype, room, want[k]);
            want[k] = dtype_load_float((dtype)dst->dtype, room);
        } else if (dtype_is_float8((dtype)dst->dtype))
            want[k] = float8_to_float((dtype)dst->dtype,
                                      float8_from_float((dtype)dst->dtype, (float)want[k]));
        assert_true(at(dst, index) == want[k]);
        for (int i = dst->ndim - 1; i >= 0 && ++index[i] == dst->sizes[i]; i--) index[i] = 0;
    }
    test_free(want);
    tensor_unref(wide);
}

static void test_copy_pairs(void **state) {
    (void)state;
    for (int a = 0; a < DT_COUNT; a++)
        for (int b = 0; b < DT_COUNT; b++) {
            if (!dtype_valid(a) || !dtype_valid(b)) continue;
            tensor *src = arange((dtype)a, SHAPE(5, 11)), *dst = arange((dtype)b, SHAPE(5, 11));
            tensor *src_t, *dst_t, *row, *dst_odd;
            assert_ok(tensor_select(NULL, src, 0, 2, &row));
            assert_ok(tensor_transpose(NULL, src, 0, 1, &src_t));
            assert_ok(tensor_transpose(NULL, dst, 0, 1, &dst_t));
            assert_ok(tensor_slice(NULL, dst, 1, 1, 11, 2, &dst_odd));
            check_copy(dst, src);
            check_copy(dst_t, src_t);
            check_copy(dst, row);
            tensor *src_odd;
            assert_ok(tensor_slice(NULL, src, 1, 0, 10, 2, &src_odd));
            check_copy(dst_odd, src_odd);
            tensor *all[] = {src, dst, src_t, dst_t, row, dst_odd, src_odd};
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
        }
}

/* Large enough for tiles and for several threads. */
static void test_copy_transposed(void **state) {
    (void)state;
    static const dtype types[] = {DT_UINT8, DT_BFLOAT16, DT_FLOAT32, DT_INT64, DT_COMPLEX128};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tensor *src = arange(types[i], SHAPE(2, 130, 161)), *t, *copy, *one;
        assert_ok(tensor_transpose(NULL, src, 1, 2, &t));
        assert_ok(tensor_contiguous(NULL, t, &copy));
        for (int64_t b = 0; b < 2; b++)
            for (int64_t j = 0; j < 161; j++)
                for (int64_t k = 0; k < 130; k++)
                    assert_true(AT(copy, b, j, k) == AT(src, b, k, j));
        assert_ok(tensor_select(NULL, t, 0, 1, &one));
        tensor_unref(copy);
        assert_ok(tensor_clone(NULL, one, &copy));
        assert_true(AT(copy, 160, 129) == AT(src, 1, 129, 160));
        tensor_unref(copy);
        tensor_unref(one);
        tensor_unref(t);
        tensor_unref(src);
    }
}

static void test_copy_overlap(void **state) {
    (void)state;
    diag d = {0};
    tensor *x = arange(DT_FLOAT32, SHAPE(4, 4)), *t, *a, *b;
    assert_ok(tensor_transpose(&d, x, 0, 1, &t));
    assert_ok(tensor_copy(&d, x, t));
    for (int64_t i = 0; i < 16; i++)
        assert_true(AT(x, i / 4, i % 4) == (double)(i % 4 * 4 + i / 4));
    tensor_unref(t);
    tensor_unref(x);
    x = arange(DT_FLOAT32, SHAPE(100));
    assert_ok(tensor_slice(&d, x, 0, 0, 99, 1, &a));
    assert_ok(tensor_slice(&d, x, 0, 1, 100, 1, &b));
    assert_ok(tensor_copy(&d, b, a));
    for (int64_t i = 1; i < 100; i++) assert_true(AT(x, i) == (double)(i - 1));
    assert_ok(tensor_copy(&d, x, x));
    tensor_unref(a);
    tensor_unref(b);
    assert_ok(tensor_as_strided(&d, x, SHAPE(2, 3), DIMS(0, 1), 0, &a));
    b = arange(DT_FLOAT32, SHAPE(2, 3));
    assert_fails(&d, tensor_copy(&d, a, b),
                 "unsupported operation: more than one element of the written-to tensor refers to "
                 "a single memory location. Please clone() the tensor before performing the "
                 "operation.");
    assert_fails(&d, tensor_copy(&d, b, x),
                 "The size of tensor a (3) must match the size of tensor b (100) at non-singleton "
                 "dimension 1");
    tensor_unref(a);
    assert_ok(tensor_zeros(&d, DT_FLOAT32, SHAPE(2, 2, 3), &a));
    assert_fails(&d, tensor_copy(&d, b, a),
                 "output with shape [2, 3] doesn't match the broadcast shape [2, 2, 3]");
    tensor_unref(a);
    tensor_unref(b);
    tensor_unref(x);
}

static void test_copy_complex(void **state) {
    (void)state;
    tensor *src, *dst, *back;
    assert_ok(tensor_new(NULL, DT_COMPLEX64, SHAPE(2), &src));
    TENSOR_AT(src, complex64)[0] = (complex64){1, 2};
    TENSOR_AT(src, complex64)[1] = (complex64){-3, 4};
    assert_ok(tensor_to_dtype(NULL, src, DT_COMPLEX128, &dst));
    assert_true(TENSOR_AT(dst, complex128)[1].re == -3 && TENSOR_AT(dst, complex128)[1].im == 4);
    assert_ok(tensor_to_dtype(NULL, dst, DT_COMPLEX32, &back));
    assert_int_equal(TENSOR_AT(back, complex32)[0].im.bits, 0x4000);
    tensor_unref(back);
    assert_ok(tensor_to_dtype(NULL, dst, DT_INT32, &back));
    assert_int_equal(TENSOR_AT(back, int32_t)[1], -3);
    tensor_unref(src);
    assert_ok(tensor_to_dtype(NULL, back, DT_COMPLEX64, &src));
    assert_true(TENSOR_AT(src, complex64)[1].re == -3 && TENSOR_AT(src, complex64)[1].im == 0);
    tensor_unref(src);
    tensor_unref(back);
    tensor_unref(dst);
}

/* Conjugated and negated views are written and read through, by copies of any
 * dtype and geometry. */
static void test_lazy(void **state) {
    (void)state;
    tensor *t, *lazy, *twice, *part, *copy, *wide;
    assert_ok(tensor_new(NULL, DT_COMPLEX64, SHAPE(2, 2), &t));
    for (int i = 0; i < 4; i++) TENSOR_AT(t, complex64)[i] = (complex64){(float)i, (float)(10 * i)};
    assert_ok(tensor_lazy_view(NULL, t, true, true, &lazy));
    assert_true(tensor_is_lazy(lazy) && !tensor_is_lazy(t));
    assert_true(tensor_kinds() & TENSOR_KIND_LAZY);
    assert_ok(tensor_lazy_view(NULL, lazy, true, true, &twice));
    assert_false(tensor_is_lazy(twice));
    assert_ok(tensor_transpose(NULL, lazy, 0, 1, &part));
    assert_true(part->conjugated && part->negated);
    assert_ok(tensor_clone(NULL, part, &copy));
    assert_true(TENSOR_AT(copy, complex64)[1].re == -2 && TENSOR_AT(copy, complex64)[1].im == 20);
    assert_false(tensor_is_lazy(copy));
    assert_ok(tensor_to_dtype(NULL, part, DT_COMPLEX128, &wide));
    assert_true(TENSOR_AT(wide, complex128)[2].re == -1 && TENSOR_AT(wide, complex128)[2].im == 10);
    tensor_unref(wide);
    TENSOR_AT(copy, complex64)[1] = (complex64){7, 8};
    assert_ok(tensor_copy(NULL, part, copy));
    assert_true(TENSOR_AT(t, complex64)[2].re == -7 && TENSOR_AT(t, complex64)[2].im == 8);
    assert_true(TENSOR_AT(t, complex64)[1].re == 1 && TENSOR_AT(t, complex64)[1].im == 10);
    tensor_unref(copy);
    assert_ok(tensor_resolve(NULL, part, &copy)); /* in the order of its argument */
    assert_int_equal(copy->strides[0], 1);
    assert_true(TENSOR_AT(copy, complex64)[2].re == 7 && TENSOR_AT(copy, complex64)[2].im == 8);
    assert_ok(tensor_copy(NULL, t, lazy)); /* the same memory with other signs */
    assert_true(TENSOR_AT(t, complex64)[3].re == -3 && TENSOR_AT(t, complex64)[3].im == 30);
    tensor *all[] = {t, lazy, twice, part, copy};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
}

static void test_copy_read_only(void **state) {
    (void)state;
    static float bytes[4] = {1, 2, 3, 4};
    storage *s = storage_borrow(bytes, sizeof bytes, NULL, NULL);
    s->read_only = true;
    tensor *t, *one;
    assert_ok(tensor_on_storage(NULL, s, DT_FLOAT32, SHAPE(4), DIMS(1), 0, &t));
    storage_unref(s);
    assert_ok(tensor_scalar_float(NULL, DT_FLOAT64, 7, &one));
    assert_ok(tensor_copy(NULL, t, one));
    assert_true(AT(t, 3) == 7 && bytes[3] == 4);
    tensor_unref(t);
    tensor_unref(one);
}

/* ---- iteration ------------------------------------------------------------------------------- */

typedef struct iter_record {
    atomic_int calls;
} iter_record;

/* out = a * 100 + b, in int32. */
static void iter_combine(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    iter_record *r = ctx;
    atomic_fetch_add(&r->calls, 1);
    for (int64_t i = 0; i < n; i++)
        *(int32_t *)(p[0] + i * s[0]) += 100 * *(int32_t *)(p[1] + i * s[1]) +
                                         *(int32_t *)(p[2] + i * s[2]);
}

static void check_iter(tensor *out, tensor *a, tensor *b, bool ordered, int calls) {
    iter_record r = {0};
    tensor *operands[] = {out, a, b}, *wa, *wb, *zero;
    assert_ok(tensor_scalar_int(NULL, DT_INT32, 0, &zero));
    assert_ok(tensor_copy(NULL, out, zero));
    tensor_unref(zero);
    if (ordered) iter_run_ordered(out->ndim, out->sizes, 3, operands, iter_combine, &r);
    else iter_run(out->ndim, out->sizes, 3, operands, iter_combine, &r, 0);
    if (calls >= 0) assert_int_equal(r.calls, calls);
    assert_ok(tensor_expand(NULL, a, out->ndim, out->sizes, &wa));
    assert_ok(tensor_expand(NULL, b, out->ndim, out->sizes, &wb));
    int64_t index[8] = {0};
    for (int64_t k = 0; k < out->numel; k++) {
        assert_true(at(out, index) == 100 * at(wa, index) + at(wb, index));
        for (int i = out->ndim - 1; i >= 0 && ++index[i] == out->sizes[i]; i--) index[i] = 0;
    }
    tensor_unref(wa);
    tensor_unref(wb);
}

static void test_iter(void **state) {
    (void)state;
    tensor *out = arange(DT_INT32, SHAPE(3, 4, 5)), *a = arange(DT_INT32, SHAPE(3, 4, 5)),
           *row = arange(DT_INT32, SHAPE(5)), *column = arange(DT_INT32, SHAPE(4, 1)),
           *one = arange(DT_INT32, 0, NULL), *a_p, *out_p;
    check_iter(out, a, a, false, 1);   /* one run */
    check_iter(out, a, one, false, 1); /* a scalar does not split it */
    check_iter(out, a, row, false, 12);
    check_iter(out, column, row, true, 12);
    assert_ok(tensor_permute(NULL, out, 3, DIMS(2, 0, 1), &out_p));
    assert_ok(tensor_permute(NULL, a, 3, DIMS(2, 0, 1), &a_p));
    check_iter(out_p, a_p, a_p, false, 1); /* permuted alike: still one run */
    check_iter(out_p, a_p, a_p, true, 60 / 12);
    check_iter(out_p, a_p, one, false, 1);
    tensor_unref(a_p);
    assert_ok(tensor_permute(NULL, a, 3, DIMS(0, 2, 1), &a_p));
    tensor *small, *other;
    assert_ok(tensor_slice(NULL, a, 1, 1, 4, 2, &small));
    assert_ok(tensor_slice(NULL, out, 1, 0, 3, 2, &other));
    check_iter(other, small, row, false, 6);
    check_iter(other, small, small, false, 6);
    check_iter(one, one, one, false, 1);
    check_iter(one, one, one, true, 1);
    tensor *empty, *none;
    assert_ok(tensor_new(NULL, DT_INT32, SHAPE(3, 0, 5), &empty));
    assert_ok(tensor_new(NULL, DT_INT32, SHAPE(0, 1), &none));
    check_iter(empty, none, row, false, 0);
    check_iter(empty, empty, one, true, 0);
    tensor *all[] = {out, a, row, column, one, a_p, out_p, small, other, empty, none};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
}

/* Seven dimensions, none of which can be merged. */
static void test_iter_many_dims(void **state) {
    (void)state;
    tensor *a = arange(DT_INT32, SHAPE(4, 4, 4, 4, 4, 4, 4)), *out = NULL, *v = tensor_ref(a);
    for (int i = 0; i < 7; i++) {
        tensor *next;
        assert_ok(tensor_slice(NULL, v, i, i % 2, 4, 2, &next));
        tensor_unref(v);
        v = next;
    }
    assert_ok(tensor_new_like(NULL, v, DT_INT32, &out));
    check_iter(out, v, v, false, 64);
    tensor *p, *q;
    assert_ok(tensor_permute(NULL, v, 7, DIMS(6, 5, 4, 3, 2, 1, 0), &p));
    check_iter(out, p, v, false, 64);
    check_iter(out, p, p, true, 64);
    assert_ok(tensor_permute(NULL, out, 7, DIMS(3, 1, 5, 0, 6, 2, 4), &q));
    check_iter(q, p, v, false, -1);
    tensor_unref(q);
    tensor_unref(p);
    tensor_unref(v);
    tensor_unref(out);
    tensor_unref(a);
}

static void test_iter_threads(void **state) {
    (void)state;
    tensor *a = arange(DT_INT32, SHAPE(300, 700)), *row = arange(DT_INT32, SHAPE(700)), *out, *t;
    assert_ok(tensor_new_like(NULL, a, DT_INT32, &out));
    assert_ok(tensor_transpose(NULL, out, 0, 1, &t));
    for (int threads = 1; threads < 6; threads += 2) {
        pool_set_threads(threads);
        check_iter(out, a, a, false, 210000 / 32768 + 1);
        check_iter(out, a, row, false, -1);
    }
    tensor *square = arange(DT_INT32, SHAPE(700, 1));
    check_iter(t, square, square, false, -1);
    pool_set_threads(0);
    tensor_unref(square);
    tensor_unref(t);
    tensor_unref(out);
    tensor_unref(row);
    tensor_unref(a);
}

/* ---- no memory ------------------------------------------------------------------------------- */

typedef struct failing_allocator {
    long left, live;
} failing_allocator;

static void *failing_hook(void *ctx, void *p, size_t size) {
    failing_allocator *f = ctx;
    if (size == 0) {
        f->live--;
        free(p);
        return NULL;
    }
    if (f->left-- <= 0) return NULL;
    f->live += !p;
    return realloc(p, size);
}

static bool body_failures(void) {
    diag d = {0};
    static float bytes[100];
    tensor *x = NULL, *t = NULL, *flat = NULL, *wide = NULL, *half = NULL, *mapped = NULL;
    storage *s = NULL;
    ctsc_status status = tensor_zeros(&d, DT_FLOAT32, SHAPE(1, 1, 6, 3, 4, 5, 6), &x);
    if (!status) status = tensor_transpose(&d, x, 2, 6, &t);
    if (!status) status = tensor_reshape(&d, t, SHAPE(-1), &flat);
    if (!status) status = tensor_expand(&d, flat, SHAPE(3, 2160), &wide);
    if (!status) status = tensor_to_dtype(&d, wide, DT_FLOAT16, &half);
    if (!status) status = tensor_copy(&d, x, t);
    if (!status) {
        s = storage_borrow(bytes, sizeof bytes, NULL, NULL);
        if (!s) status = diag_no_memory(&d);
    }
    if (!status) status = tensor_on_storage(&d, s, DT_FLOAT32, SHAPE(100), DIMS(1), 0, &mapped);
    if (!status) {
        s->read_only = true;
        status = tensor_make_writable(&d, mapped);
    }
    if (!status) assert_int_equal(tensor_view(&d, t, SHAPE(-1), &wide), CTSC_FAILED);
    if (status) assert_int_equal(status, CTSC_LIMIT);
    assert_true(d.status != CTSC_OK);
    tensor *all[] = {x, t, flat, wide, half, mapped};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
    storage_unref(s);
    bool ok = !status && d.items.len == 1;
    diag_clear(&d);
    return ok;
}

static void test_failures(void **state) {
    (void)state;
    for (long n = 0; n < 1000; n++) {
        failing_allocator f = {.left = n};
        mem_set_hook(failing_hook, &f);
        bool done = body_failures();
        mem_set_hook(NULL, NULL);
        assert_int_equal(f.live, 0);
        if (done) return;
    }
    fail_msg("never succeeds");
}

static void *counting_alloc(void *ctx, size_t nbytes) {
    ++*(int *)ctx;
    return aligned_alloc(64, (nbytes + 127) / 64 * 64);
}

static void counting_free(void *ctx, void *p, size_t nbytes) {
    (void)nbytes;
    --*(int *)ctx;
    free(p);
}

static void test_allocator(void **state) {
    (void)state;
    int live = 0;
    tensor_set_allocator(&(tensor_allocator){counting_alloc, counting_free, &live});
    tensor *a = arange(DT_FLOAT32, SHAPE(3)), *b;
    assert_ok(tensor_clone(NULL, a, &b));
    assert_int_equal(live, 2);
    tensor_unref(a);
    tensor_unref(b);
    assert_int_equal(live, 0);
    tensor_set_allocator(NULL);
}

/* A new tensor's block has room for one thing, and only for its sole owner. */
static void test_room(void **state) {
    (void)state;
    int64_t sizes[1] = {5};
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 1, sizes, &t), CTSC_OK);
    tensor_ref(t);
    assert_null(tensor_room_take(t));
    tensor_unref(t);
    void *room = tensor_room_take(t);
    assert_int_equal(room != NULL, t->in_storage);
    assert_null(tensor_room_take(t));
    assert_false(tensor_room_give(t, sizes));
    if (room) assert_true(tensor_room_give(t, room));
    assert_ptr_equal(tensor_room_take(t), room);
    tensor_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),         cmocka_unit_test(test_promotion),
        cmocka_unit_test(test_half),         cmocka_unit_test(test_half_rows),
        cmocka_unit_test(test_float8),       cmocka_unit_test(test_elements),
        cmocka_unit_test(test_making),       cmocka_unit_test(test_storage),
        cmocka_unit_test(test_select_slice), cmocka_unit_test(test_permute),
        cmocka_unit_test(test_expand),       cmocka_unit_test(test_view),
        cmocka_unit_test(test_as_strided),   cmocka_unit_test(test_asking),
        cmocka_unit_test(test_swap),         cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_copy_pairs),   cmocka_unit_test(test_copy_transposed),
        cmocka_unit_test(test_copy_overlap), cmocka_unit_test(test_copy_complex),
        cmocka_unit_test(test_lazy),         cmocka_unit_test(test_copy_read_only),
        cmocka_unit_test(test_iter),         cmocka_unit_test(test_iter_many_dims),
        cmocka_unit_test(test_iter_threads), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_allocator),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
