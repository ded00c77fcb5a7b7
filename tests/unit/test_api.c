/* SPDX-License-Identifier: Apache-2.0 */
/* test_api.c - ctsc.h as a program uses it: values, tensors without copies, errors,
 * saving, threads. */
#include "support.h"

#include "ctsc.h"
#include "tensor/dtype.h"

#include <pthread.h>
#include <unistd.h>

/* Each row of dtypes.def agrees with what kernels ask of its number, with the tensors it makes and
 * with the names it is found by. */
static void api_dtypes(void **state) {
    (void)state;
    const ctsc_dtype_info *d;
    int64_t two = 2;
    size_t n = 0;
    for (; (d = ctsc_dtype_at(n)) != NULL; n++) {
        dtype dt = (dtype)d->dtype;
        ctsc_dtype_kind kind = dtype_is_complex(dt)                        ? CTSC_DTYPE_COMPLEX
                               : dtype_is_quantised(dt)                    ? CTSC_DTYPE_QUANTISED
                               : dtype_is_float(dt) || dtype_is_float8(dt) ? CTSC_DTYPE_FLOAT
                               : dt == DT_BOOL                             ? CTSC_DTYPE_BOOL
                               : dt == DT_UINT8 || dtype_is_unsigned(dt)   ? CTSC_DTYPE_UNSIGNED
                                                                           : CTSC_DTYPE_SIGNED;
        assert_int_equal(d->kind, kind);
        assert_int_equal(d->bytes, dtype_size(dt));
        assert_int_equal(d->use == CTSC_DTYPE_STORED, dtype_is_stored(dt));
        assert_ptr_equal(ctsc_dtype_describe(d->dtype), d);
        assert_ptr_equal(ctsc_dtype_find(d->name), d);
        if (d->other_name) assert_ptr_equal(ctsc_dtype_find(d->other_name), d);
        if (d->brief) assert_ptr_equal(ctsc_dtype_find(d->brief), d);
        if (d->method) assert_ptr_equal(dtype_of_method(d->method), d);
        if (d->use == CTSC_DTYPE_NAMED) continue;
        ctsc_value *t = NULL;
        assert_int_equal(ctsc_tensor_new(d->dtype, 1, &two, &t, NULL), CTSC_OK);
        ctsc_value_free(t);
    }
    assert_int_equal(n, 24);
    assert_null(ctsc_dtype_describe(-1));
    assert_null(ctsc_dtype_describe(16)); /* quint4x2 of PyTorch */
    assert_null(ctsc_dtype_describe(DT_COUNT));
    assert_null(ctsc_dtype_find("FP32"));
    assert_null(ctsc_dtype_find(NULL));
    assert_null(dtype_of_method("uint8"));
}

static void api_dtype_names(void **state) {
    (void)state;
    const ctsc_dtype_info *f = ctsc_dtype_describe(CTSC_FLOAT16);
    assert_string_equal(f->name, "float16");
    assert_string_equal(f->other_name, "half");
    assert_string_equal(f->type_name, "Half");
    assert_string_equal(f->brief, "f16");
    assert_string_equal(f->format, "e");
    assert_string_equal(f->typestr, "<f2");
    assert_string_equal(f->safetensors, "F16");
    assert_string_equal(f->wire, "FP16");
    assert_int_equal(f->onnx, 10);
    assert_int_equal(f->use, CTSC_DTYPE_COMPUTED);
    assert_null(ctsc_dtype_find("c128")->safetensors);
    assert_null(ctsc_dtype_find("complex64")->wire);
    assert_int_equal(ctsc_dtype_find("float8_e8m0fnu")->onnx, 24);
    assert_int_equal(ctsc_dtype_find("uint64")->use, CTSC_DTYPE_STORED);
    assert_int_equal(ctsc_dtype_find("chalf")->use, CTSC_DTYPE_NAMED);
    assert_int_equal(ctsc_dtype_find("qint8")->use, CTSC_DTYPE_NAMED);
}

static void api_values(void **state) {
    (void)state;
    ctsc_value *items[] = {ctsc_int_new(3), ctsc_float_new(2.5), ctsc_string_new("a\0b", 3),
                           ctsc_none_new(), ctsc_bool_new(true)};
    ctsc_value *t = ctsc_tuple_new(5, items), *l = ctsc_list_new(2, items);
    size_t len = 0;
    assert_int_equal(ctsc_value_kind(t), CTSC_KIND_TUPLE);
    assert_int_equal(ctsc_value_len(t), 5);
    ctsc_value *i = ctsc_value_item(t, 0), *s = ctsc_value_item(t, 2);
    assert_int_equal(ctsc_value_int(i), 3);
    assert_memory_equal(ctsc_value_string(s, &len), "a\0b", 3);
    assert_int_equal(len, 3);
    assert_null(ctsc_value_item(t, 5));
    /* the wrong kind reads as nothing */
    assert_int_equal(ctsc_value_int(s), 0);
    assert_string_equal(ctsc_value_string(i, NULL), "");
    assert_null(ctsc_tensor_data(i));
    char *text = ctsc_value_print(l);
    assert_string_equal(text, "[3, 2.5]");
    ctsc_string_free(text);
    ctsc_value_free(i), ctsc_value_free(s), ctsc_value_free(t), ctsc_value_free(l);
    for (int k = 0; k < 5; k++) ctsc_value_free(items[k]);
}

static void api_released(void *ctx, void *data) {
    (void)data;
    ++*(int *)ctx;
}

static void api_borrow(void **state) {
    float data[6] = {1, 2, 3, 4, 5, 6};
    int64_t sizes[] = {2, 3}, bad[] = {2, -1};
    int released = 0;
    ctsc_value *t = NULL, *same = NULL;
    ctsc_error *e = ctsc_error_new();
    (void)state;
    assert_int_equal(
        ctsc_tensor_borrow(CTSC_FLOAT32, 2, sizes, data, api_released, &released, &t, e), CTSC_OK);
    assert_ptr_equal(ctsc_tensor_data(t), data);
    assert_int_equal(ctsc_tensor_strides(t)[0], 3);
    assert_int_equal(ctsc_tensor_contiguous(t, &same, e), CTSC_OK);
    assert_ptr_equal(ctsc_tensor_data(same), data);
    ctsc_value_free(t);
    assert_int_equal(released, 0);
    ctsc_value_free(same);
    assert_int_equal(released, 1);
    /* refused: the callback is not called, the caller keeps the memory */
    t = NULL;
    assert_int_equal(ctsc_tensor_borrow(CTSC_FLOAT32, 2, bad, data, api_released, &released, &t, e),
                     CTSC_USAGE);
    assert_int_equal(
        ctsc_tensor_borrow(CTSC_FLOAT32, 65, sizes, data, api_released, &released, &t, e),
        CTSC_USAGE);
    assert_int_equal(
        ctsc_tensor_borrow((ctsc_dtype)99, 2, sizes, data, api_released, &released, &t, e),
        CTSC_USAGE);
    assert_int_equal(ctsc_tensor_borrow(CTSC_FLOAT32, 2, sizes, (char *)data + 1, api_released,
                                        &released, &t, e),
                     CTSC_USAGE);
    assert_null(t);
    assert_int_equal(released, 1);
    ctsc_error_free(e);
}

static void api_errors(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *out = NULL, *arg = ctsc_int_new(1);
    (void)state;
    assert_int_equal(ctsc_module_load("/nonexistent/x.pt", &m, e), CTSC_BAD_FILE);
    assert_int_equal(ctsc_error_status(e), CTSC_BAD_FILE);
    assert_non_null(strstr(ctsc_error_message(e), "/nonexistent/x.pt"));
    assert_int_equal(ctsc_module_load("/nonexistent/x.pt", &m, NULL), CTSC_BAD_FILE);
    assert_null(m);
    assert_int_equal(ctsc_module_load("models/digits_cnn.pt", &m, e), CTSC_OK);
    assert_int_equal(ctsc_error_status(e), CTSC_OK);
    assert_int_equal(ctsc_module_run(m, "nope", 0, NULL, NULL, &out, e), CTSC_USAGE);
    assert_non_null(strstr(ctsc_error_message(e), "classify"));
    assert_int_equal(ctsc_module_run(m, "forward", 0, NULL, NULL, &out, e), CTSC_USAGE);
    assert_non_null(strstr(ctsc_error_message(e), "missing"));
    assert_int_equal(ctsc_module_run(m, "forward", 1, &arg, NULL, &out, e), CTSC_USAGE);
    assert_non_null(strstr(ctsc_error_message(e), "Expected a value of type 'Tensor'"));
    assert_null(out);
    ctsc_value_free(arg);
    ctsc_module_free(m);
    assert_int_equal(ctsc_module_load("tests/corpus/lang/raise_value_error/model.pt", &m, e),
                     CTSC_OK);
    ctsc_value *in = NULL, *args[4];
    assert_int_equal(ctsc_value_load("tests/corpus/lang/raise_value_error/inputs.pt", &in, e),
                     CTSC_OK);
    size_t n = ctsc_value_len(in);
    for (size_t i = 0; i < n; i++) args[i] = ctsc_value_item(in, i);
    assert_int_equal(ctsc_module_run(m, "forward", n, args, NULL, &out, e), CTSC_FAILED);
    assert_string_equal(ctsc_error_exception(e), "builtins.ValueError");
    char *text = ctsc_error_render(e, false);
    assert_non_null(strstr(text, "source.py:"));
    assert_non_null(strstr(text, "^"));
    ctsc_string_free(text);
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    ctsc_value_free(in);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

static void api_step_limit(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *args[] = {ctsc_string_new("The", 3), ctsc_int_new(100000)}, *out = NULL;
    ctsc_run_options o = {.size = sizeof o, .max_steps = 2000};
    (void)state;
    assert_int_equal(ctsc_module_load("models/chargpt.pt", &m, e), CTSC_OK);
    assert_int_equal(ctsc_module_run(m, "generate", 2, args, &o, &out, e), CTSC_LIMIT);
    assert_null(out);
    ctsc_value_free(args[0]), ctsc_value_free(args[1]);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

static ctsc_module *api_compiled(const char *text) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return m;
}

/* The memory of a result holds its elements, unless lazy results are requested. */
static void api_lazy_results(void **state) {
    static const char text[] = "import torch\ndef forward(x: torch.Tensor):\n    y = x.conj()\n"
                               "    return y, [y.imag, x], {'a': 1}\n";
    (void)state;
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = api_compiled(text);
    ctsc_value *x = NULL, *out[2] = {NULL, NULL};
    int64_t n = 1;
    assert_int_equal(ctsc_tensor_new(CTSC_COMPLEX64, 1, &n, &x, e), CTSC_OK);
    float *data = ctsc_tensor_data(x);
    data[0] = 1, data[1] = 2;
    ctsc_run_options o = {.size = sizeof o, .lazy_results = true};
    assert_int_equal(ctsc_module_run(m, "forward", 1, &x, NULL, &out[0], e), CTSC_OK);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &x, &o, &out[1], e), CTSC_OK);
    for (int lazy = 0; lazy < 2; lazy++) {
        ctsc_value *y = ctsc_value_item(out[lazy], 0), *l = ctsc_value_item(out[lazy], 1),
                   *imag = ctsc_value_item(l, 0), *same = ctsc_value_item(l, 1);
        assert_int_equal(ctsc_tensor_is_lazy(y), lazy);
        assert_int_equal(ctsc_tensor_is_lazy(imag), lazy);
        assert_int_equal(ctsc_tensor_data(y) == data, lazy);
        assert_true(((float *)ctsc_tensor_data(y))[1] == (lazy ? 2 : -2));
        assert_true(*(float *)ctsc_tensor_data(imag) == (lazy ? 2 : -2));
        assert_true(ctsc_value_is(same, x) && !ctsc_value_is(y, x) && !ctsc_value_is(y, NULL));
        ctsc_value *all[] = {y, l, imag, same, out[lazy]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) ctsc_value_free(all[i]);
    }
    ctsc_value_free(x);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

/* Loops that have native code: around others, innermost, with a condition. */
static const char *const api_endless[] = {
    "import torch\ndef forward(n: int):\n    i = 0\n    while i < n:\n        i += 1\n    return "
    "i\n",
    "import torch\ndef forward(n: int):\n    k = 1\n    for i in range(n):\n        k = (k * 5 + "
    "i) % 1000003\n    return k\n",
    "import torch\ndef forward(n: int):\n    k = 1\n    for i in range(n):\n        for j in "
    "range(i % 3):\n            k = (k * 5 + j) % 1000003\n    return k\n",
};

static void *api_cancel_soon(void *c) {
    usleep(20000);
    ctsc_cancel_set(c);
    return NULL;
}

static void api_cancel_program(const char *text, int opt) {
    ctsc_error *e = ctsc_error_new();
    ctsc_cancel *c = ctsc_cancel_new();
    ctsc_module *m = api_compiled(text);
    ctsc_value *arg = ctsc_int_new(INT64_MAX), *few = ctsc_int_new(10), *out = NULL;
    ctsc_run_options o = {.size = sizeof o, .cancel = c},
                     t = {.size = sizeof t, .timeout_us = 20000};
    pthread_t other;
    assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
    assert_int_equal(pthread_create(&other, NULL, api_cancel_soon, c), 0);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &arg, &o, &out, e), CTSC_LIMIT);
    assert_non_null(strstr(ctsc_error_message(e), "cancelled"));
    pthread_join(other, NULL);
    /* still set */
    assert_int_equal(ctsc_module_run(m, "forward", 1, &few, &o, &out, e), CTSC_LIMIT);
    assert_true(ctsc_cancel_is_set(c));
    ctsc_cancel_clear(c);
    assert_false(ctsc_cancel_is_set(c));
    assert_int_equal(ctsc_module_run(m, "forward", 1, &few, &o, &out, e), CTSC_OK);
    ctsc_value_free(out), out = NULL;
    assert_int_equal(ctsc_module_run(m, "forward", 1, &arg, &t, &out, e), CTSC_LIMIT);
    assert_non_null(strstr(ctsc_error_message(e), "limit of time"));
    assert_null(out);
    ctsc_value_free(arg), ctsc_value_free(few), ctsc_module_free(m), ctsc_cancel_free(c),
        ctsc_error_free(e);
}

static void api_cancel(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof api_endless / sizeof *api_endless; i++)
        for (int opt = 0; opt <= 3; opt++) api_cancel_program(api_endless[i], opt);
}

static void api_memory_limit(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *grow = api_compiled("import torch\ndef forward(n: int):\n    l = [0]\n    for i "
                                     "in range(n):\n        l.append(i)\n"
                                     "    return len(l)\n"),
                *wide = api_compiled(
                    "import torch\ndef forward(n: int):\n    return torch.zeros(n).sum()\n");
    ctsc_value *many = ctsc_int_new(10000000), *few = ctsc_int_new(1000), *out = NULL;
    ctsc_run_options o = {.size = sizeof o, .max_bytes = 16 << 20};
    (void)state;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(ctsc_module_run(grow, "forward", 1, &many, &o, &out, e), CTSC_LIMIT);
        assert_int_equal(ctsc_module_run(wide, "forward", 1, &many, &o, &out, e), CTSC_LIMIT);
        assert_int_equal(ctsc_module_run(grow, "forward", 1, &few, &o, &out, e), CTSC_OK);
        ctsc_value_free(out), out = NULL;
        assert_int_equal(ctsc_module_run(wide, "forward", 1, &few, &o, &out, e), CTSC_OK);
        ctsc_value_free(out), out = NULL;
    }
    ctsc_value_free(many), ctsc_value_free(few), ctsc_module_free(grow), ctsc_module_free(wide),
        ctsc_error_free(e);
}

static void api_save(void **state) {
    char path[] = "/tmp/ctsc-test-XXXXXX", *why = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_value *v = NULL, *back = NULL;
    (void)state;
    close(mkstemp(path));
    assert_int_equal(ctsc_value_load("models/digits_test.pt", &v, e), CTSC_OK);
    assert_int_equal(ctsc_value_save(v, path, e), CTSC_OK);
    assert_int_equal(ctsc_value_load(path, &back, e), CTSC_OK);
    assert_true(ctsc_value_close(back, v, 0, 0, &why));
    assert_int_equal(ctsc_value_save(v, "/nonexistent/dir/x.pt", e), CTSC_ENVIRONMENT);
    unlink(path);
    ctsc_value_free(v), ctsc_value_free(back);
    ctsc_error_free(e);
}

typedef struct api_job { const ctsc_module *m; ctsc_value *in, *want; int wrong; } api_job;

static void *api_worker(void *arg) {
    api_job *j = arg;
    for (int k = 0; k < 10; k++) {
        ctsc_value *out = NULL;
        ctsc_status s = ctsc_module_run(j->m, "forward", 1, &j->in, NULL, &out, NULL);
        if (s != CTSC_OK || !ctsc_value_close(out, j->want, 0, 1e-4, NULL)) j->wrong++;
        ctsc_value_free(out);
    }
    return NULL;
}

/* One module, compiled on first use by whichever of eight threads comes first. */
static void api_threads(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *tuple = NULL, *want = NULL;
    (void)state;
    assert_int_equal(ctsc_module_load("models/digits_cnn.pt", &m, e), CTSC_OK);
    assert_int_equal(ctsc_value_load("models/digits_test.pt", &tuple, e), CTSC_OK);
    assert_int_equal(ctsc_value_load("models/digits_expected.pt", &want, e), CTSC_OK);
    ctsc_value *in = ctsc_value_item(tuple, 0);
    pthread_t threads[8];
    api_job jobs[8];
    for (int i = 0; i < 8; i++) {
        jobs[i] = (api_job){m, in, want, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, api_worker, &jobs[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].wrong, 0);
    }
    ctsc_value_free(in), ctsc_value_free(tuple), ctsc_value_free(want);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

/* A program of torch.export: arguments by name, checks, a buffer that calls write; saved as an
 * archive of TorchScript that goes on where it was. */
static void api_exported(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL, *saved = NULL;
    ctsc_value *t = NULL, *wrong = NULL, *out = NULL, *again = NULL, *next = NULL;
    float data[] = {1, 2, 3, 4};
    int64_t three = 3, four = 4;
    char path[] = "/tmp/test_api_XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(ctsc_module_load("tests/pt2/archives/MutatedBuffer/model.pt2", &m, e),
                     CTSC_OK);
    ctsc_signature *s = NULL;
    assert_int_equal(ctsc_module_signature(m, "forward", &s, e), CTSC_OK);
    assert_int_equal(ctsc_signature_argument_count(s), 1);
    assert_string_equal(ctsc_signature_argument(s, 0)->name, "x");
    ctsc_signature_free(s);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, &three, &t, e), CTSC_OK);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, &four, &wrong, e), CTSC_OK);
    memcpy(ctsc_tensor_data(t), data, sizeof data / 4 * 3);
    memcpy(ctsc_tensor_data(wrong), data, sizeof data);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &wrong, NULL, &out, e), CTSC_FAILED);
    assert_string_equal(ctsc_error_message(e),
                        "Expected input at *args[0].shape[0] to be equal to 3, but got 4");
    assert_int_equal(ctsc_module_run(m, "forward", 1, &t, NULL, &out, e), CTSC_OK);
    assert_int_equal(ctsc_module_save(m, path, e), CTSC_OK);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &t, NULL, &again, e), CTSC_OK);
    assert_false(ctsc_value_close(again, out, 0, 0, NULL)); /* the buffer has grown */
    assert_int_equal(ctsc_module_load(path, &saved, e), CTSC_OK);
    assert_int_equal(ctsc_module_run(saved, "forward", 1, &t, NULL, &next, e), CTSC_OK);
    assert_true(ctsc_value_close(next, again, 0, 0, NULL));
    ctsc_value_free(t), ctsc_value_free(wrong), ctsc_value_free(out);
    ctsc_value_free(again), ctsc_value_free(next);
    ctsc_module_free(m);
    ctsc_module_free(saved);
    ctsc_error_free(e);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(api_dtypes),   cmocka_unit_test(api_dtype_names),
        cmocka_unit_test(api_values),   cmocka_unit_test(api_borrow),
        cmocka_unit_test(api_errors),   cmocka_unit_test(api_step_limit),
        cmocka_unit_test(api_cancel),   cmocka_unit_test(api_memory_limit),
        cmocka_unit_test(api_save),     cmocka_unit_test(api_threads),
        cmocka_unit_test(api_exported), cmocka_unit_test(api_lazy_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
