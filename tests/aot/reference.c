/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.c - what the interpreter computes, as files for tests/aot/aot.py.
 *
 *     reference MODEL FOLDER [CPU] @inputs.pt | 'float32 1 3 8 8' ...
 *
 * Arguments are a file of torch.save, or made here; their elements, and those of the results of the
 * fourth call (weights are packed then, kernels compiled), are written as FOLDER/in0, out0, ... in
 * the order of the compiled function's. FOLDER/inputs.pt has the arguments.
 */
#include "ctsc_compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctsc_error *error;
static const char *folder;

static int fail(void) {
    fprintf(stderr, "%s\n", ctsc_error_message(error));
    exit(ctsc_error_status(error) ? (int)ctsc_error_status(error) : 1);
}

static void write_file(const char *what, int *n, const void *data, size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%d", folder, what, (*n)++);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) exit(99);
}

static void write_tensor(const char *what, int *n, const ctsc_value *v) {
    ctsc_value *t;
    size_t size = 1;
    if (ctsc_tensor_contiguous(v, &t, error) != CTSC_OK) fail();
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) size *= (size_t)ctsc_tensor_sizes(t)[i];
    write_file(what, n, ctsc_tensor_data(t),
               size * ctsc_dtype_describe(ctsc_tensor_dtype(t))->bytes);
    ctsc_value_free(t);
}

static void write_value(const char *what, int *n, const ctsc_value *v) {
    int64_t i;
    double f;
    bool b;
    ctsc_value *item;
    switch (ctsc_value_kind(v)) {
    case CTSC_KIND_TENSOR: write_tensor(what, n, v); break;
    case CTSC_KIND_INT: i = ctsc_value_int(v), write_file(what, n, &i, sizeof i); break;
    case CTSC_KIND_FLOAT: f = ctsc_value_float(v), write_file(what, n, &f, sizeof f); break;
    case CTSC_KIND_BOOL: b = ctsc_value_bool(v), write_file(what, n, &b, sizeof b); break;
    case CTSC_KIND_LIST:
    case CTSC_KIND_TUPLE:
    case CTSC_KIND_DICT:
        for (size_t k = 0; k < ctsc_value_len(v); k++) {
            item = ctsc_value_item(v, k);
            write_value(what, n, item);
            ctsc_value_free(item);
        }
        break;
    default: break;
    }
}

/* "float32 1 3 8 8": numbers of a generator; integers from 0 to 9. */
static ctsc_value *make(const char *spec) {
    char name[32];
    int64_t sizes[8], all = 1;
    int ndim = 0, at = 0, step;
    static uint32_t state = 12345;
    sscanf(spec, "%31s%n", name, &at);
    while (ndim < 8 && sscanf(spec + at, "%ld%n", &sizes[ndim], &step) == 1)
        at += step, all *= sizes[ndim++];
    bool ints = !strcmp(name, "int64");
    ctsc_value *t;
    if (ctsc_tensor_new(ints ? CTSC_INT64 : CTSC_FLOAT32, ndim, sizes, &t, error) != CTSC_OK)
        fail();
    for (int64_t i = 0; i < all; i++) {
        state = state * 1664525u + 1013904223u;
        if (ints) ((int64_t *)ctsc_tensor_data(t))[i] = state >> 16 & 7;
        else ((float *)ctsc_tensor_data(t))[i] = (float)(int32_t)state / 2147483648.0f;
    }
    return t;
}

int main(int argc, char **argv) {
    ctsc_module *m;
    ctsc_value *given = NULL, *args[32], *result = NULL;
    size_t nargs = 0;
    int n = 0;
    char path[4096];
    error = ctsc_error_new();
    folder = argv[2];
    ctsc_set_threads(1);
    if (strcmp(argv[3], "host") != 0 && ctsc_set_cpu(argv[3], error) != CTSC_OK) fail();
    if (ctsc_module_load(argv[1], &m, error) != CTSC_OK) fail();
    if (ctsc_module_set_opt(m, 3, error) != CTSC_OK) fail();
    for (int i = 4; i < argc && argv[i][0] != '@'; i++) args[nargs++] = make(argv[i]);
    if (argc > 4 && argv[4][0] == '@') {
        if (ctsc_value_load(argv[4] + 1, &given, error) != CTSC_OK) fail();
        for (; nargs < ctsc_value_len(given); nargs++) args[nargs] = ctsc_value_item(given, nargs);
    } else {
        given = ctsc_tuple_new(nargs, args);
    }
    snprintf(path, sizeof path, "%s/inputs.pt", folder);
    if (ctsc_value_save(given, path, error) != CTSC_OK) fail();
    for (size_t i = 0; i < nargs; i++) write_value("in", &n, args[i]);
    for (int i = 0; i < 4; i++) {
        ctsc_value_free(result);
        result = NULL;
        if (ctsc_module_run(m, "forward", nargs, args, NULL, &result, error) != CTSC_OK) fail();
    }
    n = 0;
    write_value("out", &n, result);
    return 0;
}
