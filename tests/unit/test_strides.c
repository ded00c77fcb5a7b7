/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_strides.c - the memory order of results, against torch 2.15: strides of pointwise
 * operators, of copies, of memory formats.
 */
#include "tensor/strides.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct geometry_case {
    const char *operands, *result; /* "sizes/strides, ..." */
} geometry_case;

/* abs, add, addcmul of random operands: row-major, reversed, rotated, channels last, with gaps,
 * expanded */
static const geometry_case pointwise[] = {
    /* clang-format off */
    {"1 1 1 1/1 1 1 1, 1 4 1 1/64 8 4 2", "1 4 1 1/4 1 1 1"},
    {"1 1 4/1 1 0, 4/1", "1 1 4/4 4 1"},
    {"1 1/1 1, 2 1/1 1, 2 1/4 2", "2 1/1 1"},
    {"1 2 1 1 1/2 1 1 1 1, 3 2 3 1 2/384 96 16 8 2", "3 2 3 1 2/12 6 2 2 1"},
    {"1 2 1 3/1 3 3 1, 4 1 1 1/16 8 4 2", "4 2 1 3/6 3 3 1"},
    {"1 2 1 4 2/1 1 2 2 8, 1 2 1 4 2/1 8 8 2 1", "1 2 1 4 2/1 1 2 2 8"},
    {"1 3 1 2/1 1 3 3, 2 3 1 2/1 4 4 2", "2 3 1 2/1 2 6 6"},
    {"1 3 1 3/1 1 3 3", "1 3 1 3/9 1 9 3"},
    {"1 3 1 4 3/36 1 36 9 3, 1 1 3/3 3 1", "1 3 1 4 3/36 1 36 9 3"},
    {"1 3 2 3 3/1 18 9 3 1, 4 3 2 3 3/1 4 12 24 72", "4 3 2 3 3/1 72 36 12 4"},
    {"1 3/3 1, 3 4 3/1 0 0", "3 4 3/12 3 1"},
    {"1 4 1/1 1 1, 3 1 2/1 3 3", "3 4 2/1 3 12"},
    {"1 4 4 2/512 64 8 2, 1 1 4 2/1 8 2 1", "1 4 4 2/32 8 2 1"},
    {"2 1 4/1 2 2", "2 1 4/1 2 2"},
    {"2 1 4/32 16 2, 4/1, 2 1 1/8 4 2", "2 1 4/4 4 1"},
    {"2 2 1 1/0 1 1 1", "2 2 1 1/2 1 1 1"},
    {"2 2 4/1 2 4, 1 1 4/32 16 2, 4/2", "2 2 4/1 2 4"},
    {"2 3/12 2, 1 1/1 1", "2 3/3 1"},
    {"2 4 1 1/64 8 4 2, 2 1 1 1/1 2 2 2, 2 4 1 1/64 8 4 2", "2 4 1 1/4 1 1 1"},
    {"2 4 1 3 1/384 48 24 4 2, 1 4 1 3 1/384 48 24 4 2", "2 4 1 3 1/12 3 3 1 1"},
    {"3 1 4 4/16 16 4 1, 3 2 4 1/0 1 0 1", "3 2 4 4/32 16 4 1"},
    {"3 2/0 1, 3 1/4 2", "3 2/2 1"},
    {"3 3 2/1 6 3, 3 3 2/6 2 1", "3 3 2/1 6 3"},
    {"3 4 2/8 2 1, 3 4 2/64 8 2", "3 4 2/8 2 1"},
    {"3 4 3 3 3/3456 432 72 12 2, 3 1 3 3 3/1 81 27 9 3", "3 4 3 3 3/108 27 9 3 1"},
    {"4 1 1/8 4 2, 3 1/1 1", "4 3 1/3 1 1"},
    {"4 1 2/1 4 4, 4 1 2/1 4 4, 1 3 1/1 0 1", "4 3 2/1 4 12"},
    {"4 1 2/1 8 4", "4 1 2/1 8 4"},
    {"4 1 4 4 1/4 4 0 1 1, 4 4 4 1/1 16 4 4", "4 4 4 4 1/64 1 16 4 4"},
    {"4 1 4 4 2/1024 512 64 8 2", "4 1 4 4 2/32 32 8 2 1"},
    {"4 2 1 1 4/1 4 8 8 8, 4 2 1 3 4/1 4 8 8 24", "4 2 1 3 4/1 4 8 8 24"},
    {"4 2 1 1/1 4 8 8, 1 2 1 3/1 3 3 1", "4 2 1 3/3 12 24 1"},
    {"4 2 3/3 0 1, 4 2 1/2 1 1", "4 2 3/6 3 1"},
    {"4 2 4 4 1/32 1 8 2 2, 4 2 4 1 4/1 4 8 32 32", "4 2 4 4 4/128 1 32 8 2"},
    {"4 3 1 1/1 4 4 4, 1 3 4 2/384 64 8 2", "4 3 4 2/8 32 2 1"},
    {"4 3 1/3 1 1, 4 3 3/72 12 2", "4 3 3/9 3 1"},
    {"4 3 2 1/96 16 4 2, 3 2 1/16 4 2, 2 1/1 1", "4 3 2 1/6 2 1 1"},
    {"4 3 3 1 2/18 1 6 6 3, 1 3 1 1 1/96 16 8 4 2", "4 3 3 1 2/18 1 6 6 3"},
    {"4 4/1 4, 4 4/4 1", "4 4/1 4"},
    {"4/2", "4/1"},
    /* clang-format on */
};

/* "2 3/3 1" and what follows it */
static const char *read_geometry(const char *text, tensor *t, int64_t *sizes, int64_t *strides) {
    int64_t *into[] = {sizes, strides};
    int n[2] = {0};
    for (int part = 0; part < 2; part++) {
        while (*text && *text != '/' && *text != ',') {
            char *end;
            into[part][n[part]] = strtoll(text, &end, 10);
            if (end == text) break;
            n[part]++;
            text = end;
        }
        if (*text) text++;
    }
    assert_int_equal(n[0], n[1]);
    *t = (tensor){.ndim = (uint8_t)n[0], .numel = 1, .sizes = sizes, .strides = strides};
    for (int i = 0; i < n[0]; i++) t->numel *= sizes[i];
    return text;
}

static void assert_strides(const char *what, int ndim, const int64_t *got, const int64_t *want) {
    for (int i = 0; i < ndim; i++)
        if (got[i] != want[i]) fail_msg("%s: stride %d is %lld", what, i, (long long)got[i]);
}

static void test_pointwise(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pointwise / sizeof *pointwise; i++) {
        tensor t[4], result, *operands[4];
        int64_t sizes[4][8], strides[4][8], want_sizes[8], want[8], got[TENSOR_MAX_DIMS];
        int n = 0;
        for (const char *at = pointwise[i].operands; *at; n++) {
            at = read_geometry(at, &t[n], sizes[n], strides[n]);
            operands[n] = &t[n];
        }
        read_geometry(pointwise[i].result, &result, want_sizes, want);
        broadcast_strides(result.ndim, want_sizes, n, operands, got);
        assert_strides(pointwise[i].operands, result.ndim, got, want);
    }
}

/* tensor, empty_like, suggested format, is_contiguous() by format */
static void test_formats(void **state) {
    (void)state;
    static const struct {
        const char *given, *like;
        memory_format suggested;
        bool rows, last, dense;
    } cases[] = {
        {"2 3 4 5/60 1 15 3", "2 3 4 5/60 1 15 3", FORMAT_CHANNELS_LAST, false, true, true},
        {"2 3 4 5/60 20 5 1", "2 3 4 5/60 20 5 1", FORMAT_CONTIGUOUS, true, false, true},
        {"2 3 2 5/60 1 30 3", "2 3 2 5/30 1 15 3", FORMAT_CHANNELS_LAST, false, false, false},
        {"2 1 4 5/20 20 5 1", "2 1 4 5/20 20 5 1", FORMAT_CONTIGUOUS, true, true, true},
        {"2 1 4 5/20 1 5 1", "2 1 4 5/20 1 5 1", FORMAT_CHANNELS_LAST, true, true, true},
        {"2 3 1 1/3 1 1 1", "2 3 1 1/3 1 1 1", FORMAT_CONTIGUOUS, true, true, true},
        {"2 3 1 1/3 1 3 3", "2 3 1 1/3 1 3 3", FORMAT_CHANNELS_LAST, true, true, true},
        {"2 3 2 2 2/24 1 12 6 3", "2 3 2 2 2/24 1 12 6 3", FORMAT_CHANNELS_LAST_3D, false, true,
         true},
        {"3 4/1 3", "3 4/1 3", FORMAT_CONTIGUOUS, false, false, true},
        {"3 4/0 1", "3 4/4 1", FORMAT_CONTIGUOUS, false, false, false},
        {"3 0 4/4 4 1", "3 0 4/4 4 1", FORMAT_CONTIGUOUS, true, false, true},
        {"4/2", "4/1", FORMAT_CONTIGUOUS, false, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tensor t, like;
        int64_t sizes[8], strides[8], want_sizes[8], want[8], got[TENSOR_MAX_DIMS];
        read_geometry(cases[i].given, &t, sizes, strides);
        read_geometry(cases[i].like, &like, want_sizes, want);
        tensor_like_strides(&t, got);
        assert_strides(cases[i].given, t.ndim, got, want);
        memory_format last = t.ndim == 5 ? FORMAT_CHANNELS_LAST_3D : FORMAT_CHANNELS_LAST;
        if (tensor_suggested_format(&t) != cases[i].suggested ||
            tensor_is_in_format(&t, FORMAT_CONTIGUOUS) != cases[i].rows ||
            tensor_is_in_format(&t, last) != cases[i].last || tensor_is_dense(&t) != cases[i].dense)
            fail_msg("%s", cases[i].given);
    }
}

static void test_copies(void **state) {
    (void)state;
    diag d = {0};
    tensor *t, *view, *copy, *same;
    assert_int_equal(tensor_new(&d, DT_FLOAT32, 3, (int64_t[]){2, 3, 4}, &t), CTSC_OK);
    for (int i = 0; i < 24; i++) TENSOR_AT(t, float)[i] = (float)i;
    assert_int_equal(tensor_permute(&d, t, 3, (int64_t[]){2, 0, 1}, &view), CTSC_OK);
    assert_int_equal(tensor_clone_in(&d, view, FORMAT_PRESERVE, &copy), CTSC_OK);
    assert_strides("preserve", 3, copy->strides, (int64_t[]){1, 12, 4});
    assert_memory_equal(tensor_data(copy), tensor_data(t), 24 * sizeof(float));
    assert_int_equal(tensor_restrided_take(&d, tensor_ref(copy), copy->strides, &same), CTSC_OK);
    assert_ptr_equal(same, copy);
    tensor_unref(same);
    assert_int_equal(tensor_restrided_take(&d, copy, (int64_t[]){6, 3, 1}, &same), CTSC_OK);
    assert_strides("restrided", 3, same->strides, (int64_t[]){6, 3, 1});
    assert_true(TENSOR_AT(same, float)[1] == 4 && TENSOR_AT(same, float)[6] == 1);
    assert_int_not_equal(tensor_clone_in(&d, view, FORMAT_CHANNELS_LAST, &copy), CTSC_OK);
    assert_string_equal(diag_message(&d), "required rank 4 tensor to use channels_last format");
    diag_clear(&d);
    tensor_unref(same);
    tensor_unref(view);
    tensor_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointwise),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
