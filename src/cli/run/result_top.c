/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_top.c - ctsc run --top: the largest numbers of each row, with the names of their classes.
 *
 * A file of labels has a name per line, or is JSON: a list of names, or an object from indices to
 * names, where a name may be a list whose last text counts (ImageNet's class index is one).
 * Tests: tests/cli/result.test
 */
#include "cli/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct top_labels {
    json_t *json; /* NULL: lines */
    char *text, **lines;
    size_t n;
} top_labels;

static void top_free(top_labels *l) {
    json_decref(l->json);
    free(l->text);
    free(l->lines);
}

static int top_read(const char *path, top_labels *l) {
    size_t size = 0;
    FILE *f = fopen(path, "rb"), *to = open_memstream(&l->text, &size);
    char part[4096];
    for (size_t n; f && to && (n = fread(part, 1, sizeof part, f)) > 0;) fwrite(part, 1, n, to);
    int why = !f || ferror(f) ? errno : 0;
    if (f) fclose(f);
    if (!to || fclose(to) != 0) return cli_complain(CTSC_LIMIT, "out of memory");
    if (why) return cli_cannot_open(path, why);
    if (*l->text == '[' || *l->text == '{') {
        json_error_t e;
        l->json = json_loads(l->text, 0, &e);
        return l->json ? 0 : cli_complain(CTSC_BAD_FILE, "%s, line %d: %s", path, e.line, e.text);
    }
    for (const char *p = l->text; *p; p++) l->n += *p == '\n';
    l->lines = calloc(l->n + 1, sizeof *l->lines);
    if (!l->lines) return cli_complain(CTSC_LIMIT, "out of memory");
    l->n = 0;
    for (char *p = l->text; *p;) {
        char *end = p + strcspn(p, "\r\n");
        bool crlf = *end == '\r' && end[1] == '\n', more = *end != '\0';
        *end = '\0';
        l->lines[l->n++] = p;
        p = end + more + crlf;
    }
    return 0;
}

/* "": it has none. */
static const char *top_label(const top_labels *l, int64_t i) {
    char key[24];
    if (!l->json) return i < (int64_t)l->n ? l->lines[i] : "";
    snprintf(key, sizeof key, "%lld", (long long)i);
    json_t *x = json_is_array(l->json) ? json_array_get(l->json, (size_t)i)
                                       : json_object_get(l->json, key);
    if (json_is_array(x)) x = json_array_get(x, json_array_size(x) - 1);
    const char *text = json_string_value(x);
    return text ? text : "";
}

/* The places of the largest numbers, nan last, equal ones in their order: a pass for each. */
static void top_row(const double *p, int64_t n, int count, const top_labels *l) {
    int64_t last = -1;
    for (int k = 0; k < count && k < n; k++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++) {
            bool later = last < 0 || p[i] < p[last] || (p[i] == p[last] && i > last);
            if (later && !isnan(p[i]) && (best < 0 || p[i] > p[best])) best = i;
        }
        if (best < 0) return;
        const char *label = top_label(l, best);
        printf("%8lld  %12.6g%s%s\n", (long long)best, p[best], *label ? "  " : "", label);
        last = best;
    }
}

static int top_rows(const ctsc_value *t, int count, const top_labels *l, ctsc_error *e) {
    ctsc_value *flat = NULL;
    int ndim = ctsc_tensor_ndim(t);
    int64_t n = ndim ? ctsc_tensor_sizes(t)[ndim - 1] : 1, rows = 1;
    for (int i = 0; i < ndim - 1; i++) rows *= ctsc_tensor_sizes(t)[i];
    ctsc_status s = run_elements(t, CTSC_FLOAT64, &flat, e);
    for (int64_t r = 0; r < rows && s == CTSC_OK; r++) {
        if (rows > 1) printf("row %lld\n", (long long)r);
        top_row((const double *)ctsc_tensor_data(flat) + r * n, n, count, l);
    }
    ctsc_value_free(flat);
    return s == CTSC_OK ? 0 : cli_report(e);
}

int run_print_top(const ctsc_value *v, int count, const char *labels, ctsc_error *e) {
    top_labels l = {0};
    ctsc_value *t = run_first_tensor(v);
    int code = t ? 0 : cli_complain(CTSC_USAGE, "--top: the result has no tensor");
    if (!code && labels) code = top_read(labels, &l);
    if (!code) code = top_rows(t, count, &l, e);
    top_free(&l);
    ctsc_value_free(t);
    return code;
}
