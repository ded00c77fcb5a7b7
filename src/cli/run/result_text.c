/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_text.c - results on a terminal: whole where they are small, summarised where not.
 *
 * Method. As PyTorch's torch/_tensor_str.py with its default options: columns of one width,
 * four digits after the point, exponents where magnitudes differ widely; more than 1000
 * elements are summarised by the first and last three along each dim. Smaller tensors are
 * printed as TorchScript's print does, unless their rows do not fit a line: what that prints
 * then ("Columns 1 to 8") is hard to read. The last line always says dtype and sizes.
 * Tests: tests/cli/result.test
 */
#include "cli/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_THRESHOLD = 1000, TEXT_EDGE = 3, TEXT_LINE = 80, TEXT_NUMBER = 32, TEXT_DIMS = 64 };

static int64_t text_elements(const ctsc_value *t) {
    int64_t n = 1;
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) n = cli_product(n, ctsc_tensor_sizes(t)[i]);
    return n;
}

/* Whether TorchScript's print cuts its rows into blocks of columns. */
static bool text_has_long_rows(const ctsc_value *v) {
    char *text = ctsc_tensor_ndim(v) >= 2 ? ctsc_value_print(v) : NULL;
    bool found = text && strstr(text, "Columns 1 to ");
    ctsc_string_free(text);
    return found;
}

/* Numbers that a double holds, and whole ones: others are printed as TorchScript does. */
static bool text_is_large(const ctsc_value *v) {
    if (ctsc_value_kind(v) != CTSC_KIND_TENSOR || ctsc_tensor_ndim(v) > TEXT_DIMS) return false;
    const ctsc_dtype_info *d = ctsc_dtype_describe(ctsc_tensor_dtype(v));
    if (!d || d->use != CTSC_DTYPE_COMPUTED || d->kind == CTSC_DTYPE_COMPLEX) return false;
    return text_elements(v) > TEXT_THRESHOLD || text_has_long_rows(v);
}

static bool text_has_large(const ctsc_value *v) {
    if (text_is_large(v)) return true;
    ctsc_kind kind = ctsc_value_kind(v);
    if (kind != CTSC_KIND_LIST && kind != CTSC_KIND_TUPLE && kind != CTSC_KIND_DICT) return false;
    bool large = false;
    for (size_t i = 0; i < ctsc_value_len(v) && !large; i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        large = item && text_has_large(item);
        ctsc_value_free(item);
    }
    return large;
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct text_format {
    const double *p;     /* elements in row-major order */
    const int64_t *ints; /* the same of integers, which doubles may not hold; else NULL */
    const int64_t *sizes;
    int ndim;
    int64_t edge; /* elements shown at each end of a dim that has more than two such ends */
    bool real, boolean, whole, exponents;
    int width;
    double least, most; /* of the absolute values that are finite and not zero */
    bool any;
} text_format;

/* p: in f->p. */
static void text_number(const text_format *f, const double *p, char out[TEXT_NUMBER]) {
    double x = *p;
    if (f->boolean) snprintf(out, TEXT_NUMBER, "%s", x ? "True" : "False");
    else if (f->ints && x >= 0)
        snprintf(out, TEXT_NUMBER, "%llu", (unsigned long long)f->ints[p - f->p]);
    else if (f->ints) snprintf(out, TEXT_NUMBER, "%lld", (long long)f->ints[p - f->p]);
    else if (!isfinite(x))
        snprintf(out, TEXT_NUMBER, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
    else if (f->exponents) snprintf(out, TEXT_NUMBER, "%.4e", x);
    else snprintf(out, TEXT_NUMBER, f->whole ? "%.0f." : "%.4f", x);
}

static int64_t text_shown(const text_format *f, int64_t n) {
    return n > 2 * f->edge ? 2 * f->edge : n;
}

/* Which index is shown at place i. */
static int64_t text_index(const text_format *f, int64_t n, int64_t i) {
    return n > 2 * f->edge && i >= f->edge ? n - 2 * f->edge + i : i;
}

static void text_see(text_format *f, const double *p) {
    double x = *p;
    double a = fabs(x);
    if (!isfinite(x) || x == 0) return;
    if (!f->any || a < f->least) f->least = a;
    if (!f->any || a > f->most) f->most = a;
    f->any = true;
    if (x != ceil(x)) f->whole = false;
}

static void text_widen(text_format *f, const double *p) {
    char text[TEXT_NUMBER];
    text_number(f, p, text);
    int n = (int)strlen(text);
    if (n > f->width) f->width = n;
}

static void text_walk(text_format *f, int dim, const double *p, int64_t numel,
                      void (*visit)(text_format *, const double *)) {
    if (dim == f->ndim) {
        visit(f, p);
        return;
    }
    int64_t n = f->sizes[dim], part = n ? numel / n : 0;
    for (int64_t i = 0; i < text_shown(f, n); i++)
        text_walk(f, dim + 1, p + text_index(f, n, i) * part, part, visit);
}

static void text_choose(text_format *f, int64_t numel) {
    f->whole = true;
    text_walk(f, 0, f->p, numel, text_see);
    if (f->real && f->any)
        f->exponents = f->most / f->least > 1000 || f->most > 1e8 || (!f->whole && f->least < 1e-4);
    text_walk(f, 0, f->p, numel, text_widen);
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void text_newline(int count, int indent) {
    while (count-- > 0) putchar('\n');
    printf("%*s", indent, "");
}

static void text_row(const text_format *f, const double *p, int64_t n, int indent) {
    int per_line = (TEXT_LINE - indent) / (f->width + 2), at = 0;
    if (per_line < 1) per_line = 1;
    putchar('[');
    for (int64_t i = 0; i < text_shown(f, n); i++) {
        bool gap = i == f->edge && n > 2 * f->edge;
        for (int part = gap ? 0 : 1; part < 2; part++, at++) {
            char text[TEXT_NUMBER] = " ...";
            if (part) text_number(f, p + text_index(f, n, i), text);
            if (at) putchar(',');
            if (at && at % per_line == 0) text_newline(1, indent + 1);
            else if (at) putchar(' ');
            printf("%*s", part ? f->width : 0, text);
        }
    }
    putchar(']');
}

static void text_dims(const text_format *f, int dim, const double *p, int64_t numel, int indent) {
    int64_t n = f->sizes[dim], part = n ? numel / n : 0;
    if (dim == f->ndim - 1) {
        text_row(f, p, n, indent);
        return;
    }
    putchar('[');
    for (int64_t i = 0; i < text_shown(f, n); i++) {
        int apart = f->ndim - dim - 1;
        if (i) putchar(','), text_newline(apart, indent + 1);
        if (i == f->edge && n > 2 * f->edge) printf("...,"), text_newline(apart, indent + 1);
        text_dims(f, dim + 1, p + text_index(f, n, i) * part, part, indent + 1);
    }
    putchar(']');
}

ctsc_status run_elements(const ctsc_value *t, ctsc_dtype dtype, ctsc_value **out, ctsc_error *e) {
    ctsc_value *here = NULL, *to = ctsc_int_new(dtype), *made = NULL;
    ctsc_status s = to ? ctsc_value_to(t, "cpu", &here, e) : CTSC_LIMIT;
    ctsc_value *const args[] = {here, to};
    if (s == CTSC_OK) s = ctsc_call("aten::to.dtype", 2, args, &made, e);
    if (s == CTSC_OK) s = ctsc_tensor_contiguous(made, out, e);
    ctsc_value_free(here);
    ctsc_value_free(to);
    ctsc_value_free(made);
    return s;
}

static int text_tensor(const ctsc_value *t, ctsc_error *e) {
    const ctsc_dtype_info *d = ctsc_dtype_describe(ctsc_tensor_dtype(t));
    bool real = d->kind == CTSC_DTYPE_FLOAT, boolean = d->kind == CTSC_DTYPE_BOOL;
    ctsc_value *doubles = NULL, *ints = NULL;
    ctsc_status s = run_elements(t, CTSC_FLOAT64, &doubles, e);
    if (s == CTSC_OK && !real && !boolean) s = run_elements(t, CTSC_INT64, &ints, e);
    if (s != CTSC_OK) {
        ctsc_value_free(doubles);
        return cli_report(e);
    }
    text_format f = {.p = ctsc_tensor_data(doubles),
                     .sizes = ctsc_tensor_sizes(t),
                     .ndim = ctsc_tensor_ndim(t),
                     .ints = ints ? ctsc_tensor_data(ints) : NULL,
                     .real = real,
                     .boolean = boolean};
    int64_t numel = text_elements(t);
    f.edge = numel > TEXT_THRESHOLD ? TEXT_EDGE : TEXT_THRESHOLD;
    text_choose(&f, numel);
    fputs("tensor(", stdout);
    text_dims(&f, 0, f.p, numel, 7);
    printf(")\n[ %s%sType{", ctsc_tensor_device(t) == -1 ? "CPU" : "CUDA", d->type_name);
    for (int i = 0; i < f.ndim; i++) printf("%s%lld", i ? "," : "", (long long)f.sizes[i]);
    fputs("} ]", stdout);
    ctsc_value_free(doubles);
    ctsc_value_free(ints);
    return 0;
}

static int text_value(const ctsc_value *v, ctsc_error *e) {
    ctsc_kind kind = ctsc_value_kind(v);
    if (text_is_large(v)) return text_tensor(v, e);
    if (!text_has_large(v)) {
        char *text = ctsc_value_print(v);
        if (!text) return cli_complain(CTSC_LIMIT, "out of memory");
        fputs(text, stdout);
        ctsc_string_free(text);
        return 0;
    }
    const char *marks = kind == CTSC_KIND_DICT ? "{}" : kind == CTSC_KIND_LIST ? "[]" : "()";
    int code = 0;
    putchar(marks[0]);
    for (size_t i = 0; i < ctsc_value_len(v) && !code; i++) {
        ctsc_value *item = ctsc_value_item(v, i),
                   *key = kind == CTSC_KIND_DICT ? ctsc_value_key(v, i) : NULL;
        if (i) fputs(", ", stdout);
        if (key) code = text_value(key, e), fputs(": ", stdout);
        if (!code) code = item ? text_value(item, e) : cli_complain(CTSC_LIMIT, "out of memory");
        ctsc_value_free(key);
        ctsc_value_free(item);
    }
    putchar(marks[1]);
    return code;
}

int run_print_result(const ctsc_value *v, ctsc_error *e) {
    int code = text_value(v, e);
    if (!code) putchar('\n');
    return code;
}

ctsc_value *run_first_tensor(const ctsc_value *v) {
    ctsc_kind kind = ctsc_value_kind(v);
    if (kind == CTSC_KIND_TENSOR) return ctsc_value_copy(v);
    if (kind != CTSC_KIND_LIST && kind != CTSC_KIND_TUPLE && kind != CTSC_KIND_DICT) return NULL;
    ctsc_value *found = NULL;
    for (size_t i = 0; i < ctsc_value_len(v) && !found; i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        if (item) found = run_first_tensor(item);
        ctsc_value_free(item);
    }
    return found;
}
