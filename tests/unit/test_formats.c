/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_formats.c - what files are by their content and by their names, and that what reads programs
 * and weights agrees with it.
 */
#include "support.h"

#include "ctsc.h"
#include "runtime/program/formats.h"

#include <unistd.h>

static ctsc_error *e;

static const char *content_of(const char *path) {
    const ctsc_format *f = NULL;
    if (ctsc_file_format(path, &f, e) != CTSC_OK) fail_msg("%s: %s", path, ctsc_error_message(e));
    return f ? f->name : "none";
}

static void test_content(void **state) {
    (void)state;
    static const struct { const char *path, *name; } files[] = {
        {"models/digits_cnn.pt", "torchscript"},
        {"tests/pt2/archives/EvenDim/model.pt2", "pt2"},
        {"tests/onnx/models/instance_norm/model.onnx", "onnx"},
        {"tests/cli/Inputs/checkpoints/model.pth", "state_dict"},
        {"tests/cli/Inputs/checkpoints/lightning.ckpt", "state_dict"},
        {"tests/cli/Inputs/checkpoints/model.safetensors", "safetensors"},
        {"tests/cli/Inputs/checkpoints/net.py", "none"},
        {"tests/cli/convert.test", "none"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_string_equal(content_of(files[i].path), files[i].name);
}

static void write_file(const char *path, const void *bytes, size_t len) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

/* First bytes, whatever the file is called: too few of them are nothing. */
static void test_beginnings(void **state) {
    (void)state;
    static const struct { const char *bytes; size_t len; const char *name; } files[] = {
        {"", 0, "none"},
        {"{", 1, "none"},
        {"{}", 2, "index"},
        {"\x08\0\0\0\0\0\0\0{", 9, "none"},
        {"\x02\0\0\0\0\0\0\0{}", 10, "safetensors"},
        {"{\"abc\": {}}", 11, "index"},
        {"\x08\x07\x12\x07", 4, "none"},
        {"\x08\x07\x12\x07p", 5, "onnx"},
        {"\x08\x02\x12\x07p", 5, "none"},
        {"\x08\x03\0\0\0\0\0\0{\"", 10, "safetensors"},
        {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e", 15, "state_dict"},
        {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14, "none"},
        {"PK\3", 3, "none"},
    };
    char path[] = "/tmp/ctsc-formats-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_file(path, files[i].bytes, files[i].len);
        assert_string_equal(content_of(path), files[i].name);
    }
    const ctsc_format *f = NULL;
    write_file(path, "PK\3\4 and nothing else", 21);
    assert_int_equal(ctsc_file_format(path, &f, e), CTSC_BAD_FILE);
    assert_null(f);
    unlink(path);
    assert_int_equal(ctsc_file_format(path, &f, e), CTSC_BAD_FILE);
    assert_int_equal(ctsc_file_format(NULL, &f, e), CTSC_USAGE);
}

static void ending_is(const char *path, const char *name, size_t len) {
    size_t got = 99;
    const ctsc_format *f = ctsc_format_by_ending(path, &got);
    assert_string_equal(f ? f->name : "none", name);
    assert_int_equal(got, f ? len : 99);
}

static void test_endings(void **state) {
    (void)state;
    ending_is("a/net.pt", "pt", 3);
    ending_is("net.pt2", "pt2", 4);
    ending_is("net.ts", "torchscript", 3);
    ending_is("net.ptl", "torchscript", 4);
    ending_is("pytorch_model.bin", "state_dict", 4);
    ending_is("pytorch_model.bin.index.json", "index", 15);
    ending_is("model.safetensors", "safetensors", 12);
    ending_is("model.safetensors.index.json", "index", 23);
    ending_is("model.onnx", "onnx", 5);
    ending_is("net.py", "python", 3);
    ending_is(".py", "none", 0); /* a name of its own */
    ending_is("config.json", "none", 0);
    ending_is("net", "none", 0);
    assert_null(ctsc_format_by_ending(NULL, NULL));
}

/* A row that claims to hold something has what reads it; only the row of .pt is no content. */
static void test_rows(void **state) {
    (void)state;
    const format *f;
    for (size_t i = 0; (f = format_at(i)) != NULL; i++) {
        const ctsc_format *c = ctsc_format_at(i);
        assert_ptr_equal(c, &f->shown);
        assert_ptr_equal(ctsc_format_find(c->name), c);
        bool any = !strcmp(c->name, "pt"), loads = f->archive || f->file;
        assert_int_equal(!f->begins && !f->records, any || c->holds == CTSC_FORMAT_SOURCE);
        assert_int_equal(loads, !any && (c->holds & CTSC_FORMAT_PROGRAM));
        assert_int_equal(f->archive || f->weights, !any && (c->holds & CTSC_FORMAT_WEIGHTS));
        assert_true(!c->model_ending || (c->holds & CTSC_FORMAT_PROGRAM));
    }
    assert_null(ctsc_format_at(99));
    assert_null(ctsc_format_find("TorchScript"));
    assert_null(ctsc_format_find(NULL));
}

/* Where a file holds something else than is asked for. */
static void test_refused(void **state) {
    (void)state;
    ctsc_module *m = NULL;
    ctsc_value *v = NULL;
    assert_int_equal(ctsc_module_load("tests/cli/Inputs/checkpoints/model.safetensors", &m, e),
                     CTSC_BAD_FILE);
    assert_string_equal(ctsc_error_message(e),
                        "tests/cli/Inputs/checkpoints/model.safetensors is not a zip archive, but "
                        "a safetensors file: weights without a program");
    assert_int_equal(ctsc_module_load("tests/cli/Inputs/checkpoints/model.pth", &m, e),
                     CTSC_BAD_FILE);
    assert_non_null(strstr(ctsc_error_message(e), "a file from torch.save()"));
    assert_int_equal(ctsc_state_load("tests/onnx/models/instance_norm/model.onnx", &v, e),
                     CTSC_BAD_FILE);
    assert_string_equal(ctsc_error_message(e),
                        "tests/onnx/models/instance_norm/model.onnx: not a file from torch.save(): "
                        "neither a zip archive nor a pickle");
    assert_null(m);
    assert_null(v);
}

/* Weights of a program: those of its module. */
static void test_weights_of_programs(void **state) {
    (void)state;
    static const char *const files[] = {"models/digits_cnn.pt",
                                        "tests/pt2/archives/MutatedBuffer/model.pt2"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ctsc_value *v = NULL;
        assert_int_equal(ctsc_state_load(files[i], &v, e), CTSC_OK);
        assert_true(ctsc_value_len(v) > 0);
        ctsc_value_free(v);
    }
}

int main(void) {
    e = ctsc_error_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content), cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_endings), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_weights_of_programs),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ctsc_error_free(e);
    return failed;
}
