/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_data.c - the examples of ctsc quantize: files as --inputs reads them, images, folders of
 * either.
 *
 *     a tensor             the one argument
 *     a tuple              the arguments
 *     a dict (.npz)        the arguments by name; where no name fits, by order. A target, as
 *                          `ctsc train` has one, is left out
 *     a list               an example each, of these forms
 *
 * The rows of tensors that all have as many are examples, `batch`
 * at a time, except for lists, whose items are taken as they are.
 * Tests: tests/cli/quantize.test
 */
#include "cli/inputs.h"
#include "cli/progress.h"
#include "cli/quantize/quantize.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void quantize_free(quantize_examples *x) {
    for (size_t i = 0; i < x->n; i++) ctsc_value_free(x->items[i]);
    free(x->items);
    *x = (quantize_examples){0};
}

static bool data_full(const quantize_examples *x) { return x->n >= x->most; }

/* args are borrowed. */
static int data_push(quantize_examples *x, size_t n, ctsc_value *const *args) {
    if (data_full(x)) return 0;
    if (!x->items && !(x->items = calloc(x->most, sizeof *x->items)))
        return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_value *t = ctsc_tuple_new(n, args);
    if (!t) return cli_complain(CTSC_LIMIT, "out of memory");
    x->items[x->n++] = t;
    return 0;
}

/* How many rows all of them have; -1: not the same. */
static int64_t data_rows(size_t n, ctsc_value *const *args) {
    int64_t rows = -1;
    for (size_t i = 0; i < n; i++) {
        if (ctsc_value_kind(args[i]) != CTSC_KIND_TENSOR || ctsc_tensor_ndim(args[i]) < 1)
            return -1;
        int64_t have = ctsc_tensor_sizes(args[i])[0];
        if (rows >= 0 && have != rows) return -1;
        rows = have;
    }
    return rows;
}

/* Rows from `begin` on of all arguments. */
static int data_slice(quantize_examples *x, size_t n, ctsc_value *const *args, int64_t begin,
                      int64_t count) {
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *parts[INPUTS_MOST];
    for (size_t i = 0; i < n; i++) parts[i] = ctsc_narrow(s, args[i], 0, begin, count);
    int code = ctsc_scope_status(s) == CTSC_OK ? data_push(x, n, parts)
                                               : cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_scope_free(s);
    return code;
}

static int data_rows_pushed(quantize_examples *x, int64_t batch, size_t n,
                            ctsc_value *const *args) {
    int64_t rows = batch ? data_rows(n, args) : -1;
    if (rows == 0) return 0;
    if (rows <= batch) return data_push(x, n, args);
    int code = 0;
    for (int64_t at = 0; !code && at + batch <= rows && !data_full(x); at += batch)
        code = data_slice(x, n, args, at, batch);
    return code;
}

/* ---- forms of a file ------------------------------------------------------------------------- */

static int data_add(quantize_examples *x, const char *file, const ctsc_signature *sig,
                    int64_t batch, const ctsc_value *v, int depth) {
    ctsc_value *args[INPUTS_MOST] = {NULL};
    ctsc_kind kind = ctsc_value_kind(v);
    size_t n = 0;
    int code = 0;
    if (kind == CTSC_KIND_LIST && !depth) {
        for (size_t i = 0; !code && i < ctsc_value_len(v) && !data_full(x); i++) {
            ctsc_value *item = ctsc_value_item(v, i);
            code = item ? data_add(x, file, sig, 0, item, 1)
                        : cli_complain(CTSC_LIMIT, "out of memory");
            ctsc_value_free(item);
        }
        return code;
    }
    if (kind == CTSC_KIND_DICT) {
        code = (int)inputs_of_dict(file, v, sig, "forward", args, &n);
    } else if (kind == CTSC_KIND_TUPLE && ctsc_value_len(v) <= INPUTS_MOST) {
        for (n = 0; !code && n < ctsc_value_len(v); n++)
            if (!(args[n] = ctsc_value_item(v, n)))
                code = cli_complain(CTSC_LIMIT, "out of memory");
    } else if (!(args[n++] = ctsc_value_copy(v))) {
        code = cli_complain(CTSC_LIMIT, "out of memory");
    }
    if (!code) code = data_rows_pushed(x, batch, n, args);
    for (size_t i = 0; i < INPUTS_MOST; i++) ctsc_value_free(args[i]);
    return code;
}

/* ---- files and folders ----------------------------------------------------------------------- */

static int data_file(quantize_examples *x, const char *path, const char *options,
                     const ctsc_signature *sig, int64_t batch, ctsc_error *e) {
    ctsc_value *v = NULL;
    int code;
    if (inputs_is_image(path)) code = inputs_image(path, options, &v);
    else if (*options)
        code = cli_complain(CTSC_USAGE, "%s is not an image, and takes no options", path);
    else code = ctsc_value_load(path, &v, e) == CTSC_OK ? 0 : cli_report(e);
    if (!code) code = data_add(x, path, sig, batch, v, 0);
    ctsc_value_free(v);
    return code;
}

static int data_visible(const struct dirent *d) { return d->d_name[0] != '.'; }

static int data_folder(quantize_examples *x, const char *path, const char *options,
                       const ctsc_signature *sig, int64_t batch, ctsc_error *e) {
    struct dirent **names = NULL;
    int n = scandir(path, &names, data_visible, alphasort), code = 0;
    if (n < 0) return cli_cannot_open(path, errno);
    for (int i = 0; i < n; i++) {
        size_t len = strlen(path) + strlen(names[i]->d_name) + 2;
        char *file = !code && !data_full(x) ? malloc(len) : NULL;
        if (file) {
            progress_say("%s: reading example %d of %d", path, i + 1, n);
            snprintf(file, len, "%s/%s", path, names[i]->d_name);
            code = data_file(x, file, options, sig, batch, e);
        }
        free(file);
        free(names[i]);
    }
    free(names);
    return code ? code : n ? 0 : cli_complain(CTSC_USAGE, "%s: the folder is empty", path);
}

/* "calib.npz", "images:imagenet" */
static int data_spec(quantize_examples *x, const char *spec, const ctsc_signature *sig,
                     int64_t batch, ctsc_error *e) {
    struct stat st;
    const char *options = "";
    char *path = inputs_path(spec, &options);
    if (!path) return cli_cannot_open(spec, ENOENT);
    int code = stat(path, &st) != 0  ? cli_cannot_open(path, errno)
               : S_ISDIR(st.st_mode) ? data_folder(x, path, options, sig, batch, e)
                                     : data_file(x, path, options, sig, batch, e);
    free(path);
    return code;
}

int quantize_read(quantize_args *a, const ctsc_module *m, quantize_examples *out, ctsc_error *e) {
    ctsc_signature *sig = NULL;
    *out = (quantize_examples){.most = a->samples};
    if (ctsc_module_signature(m, "forward", &sig, e) != CTSC_OK) return cli_report(e);
    int code = 0;
    for (size_t i = 0; !code && i < a->ndata; i++)
        code = data_spec(out, a->data[i], sig, a->batch, e);
    if (!code && (a->call.inputs.nspecs || a->call.inputs.file)) {
        code = (int)cli_read_inputs(&a->call.inputs, m, "forward", e);
        if (!code) code = data_push(out, a->call.inputs.nvalues, a->call.inputs.values);
    }
    if (!code && a->ndata && !out->n)
        code = cli_complain(CTSC_USAGE, "%s: there is no example in it", a->data[0]);
    ctsc_signature_free(sig);
    return code;
}
