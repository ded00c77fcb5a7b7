/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_show.c - what ctsc quantize tells: a line per layer, and of all of them. Tests:
 * tests/cli/quantize.test */
#include "cli/quantize/quantize.h"

#include <math.h>
#include <string.h>

enum { SHOW_TEXT = 32 };

static const char *show_sizes(const ctsc_quantize_layer *l, char *text, size_t size) {
    size_t n = 0;
    *text = '\0';
    for (int i = 0; i < l->ndim && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "x" : "", (long long)l->sizes[i]);
    return text;
}

/* 10 log10 of the power of the numbers over that of the error. */
static double show_sqnr(double error) { return -20 * log10(error); }

static const char *show_error(double error, char *text) {
    if (error < 0) return "-";
    snprintf(text, SHOW_TEXT, "%.3g%%", error * 100);
    return text;
}

static const char *show_decibels(double error, char *text) {
    if (error < 0) return "-";
    if (error == 0) return "exact";
    snprintf(text, SHOW_TEXT, "%.1f", show_sqnr(error));
    return text;
}

static const char *show_time(double us, char *text) {
    if (us < 0) return "-";
    snprintf(text, SHOW_TEXT,
             us >= 1e5   ? "%.0f"
             : us >= 1e4 ? "%.1f"
             : us >= 1e3 ? "%.2f"
                         : "%.3f",
             us / 1e3);
    return text;
}

static int show_wider(int width, const char *text) {
    int n = (int)strlen(text);
    return n > width ? n : width;
}

void quantize_show(const ctsc_quantize_report *r) {
    ctsc_quantize_summary s = {.size = sizeof s};
    ctsc_quantize_report_summary(r, &s);
    char a[SHOW_TEXT], b[SHOW_TEXT], c[SHOW_TEXT], d[SHOW_TEXT], t[SHOW_TEXT], u[SHOW_TEXT],
        sizes[96];
    int width = 5, kind = 4, shape = 6;
    ctsc_quantize_layer l = {.size = sizeof l};
    for (size_t i = 0; ctsc_quantize_report_layer(r, i, &l); i++) {
        width = show_wider(width, l.name), kind = show_wider(kind, l.kind);
        shape = show_wider(shape, show_sizes(&l, sizes, sizeof sizes));
    }
    width = width > 60 ? 60 : width;
    printf("%-*s  %-*s  %-*s %10s %10s %8s %5s %7s %8s\n", width, "layer", kind, "kind", shape,
           "weight", "float", "quantised", "error", "SQNR", "ms", "ms after");
    for (size_t i = 0; ctsc_quantize_report_layer(r, i, &l); i++) {
        printf("%-*s  %-*s  %-*s %10s %10s %8s %5s %7s %8s", width, l.name, kind, l.kind, shape,
               show_sizes(&l, sizes, sizeof sizes), cli_bytes((double)l.bytes, a, sizeof a),
               l.quantized ? cli_bytes((double)l.bytes_quantized, b, sizeof b) : "float",
               show_error(l.error, c), show_decibels(l.error, d), show_time(l.us, t),
               show_time(l.us_quantized, u));
        printf(l.quantized ? "\n" : "  stays float: %s\n", l.reason);
    }
    printf("%-*s  %-*s  %-*s %10s %10s %8s %5s %7s %8s\n", width, "all", kind, "", shape, "",
           cli_bytes((double)s.bytes, a, sizeof a),
           cli_bytes((double)s.bytes_quantized, b, sizeof b), show_error(s.error, c),
           show_decibels(s.error, d), show_time(s.us, t), show_time(s.us_quantized, u));
    printf("%zu of %zu layers quantised", s.quantized, s.layers);
    if (s.examples)
        printf("; errors of layers alone and, last, of the results, over %zu example%s", s.examples,
               s.examples == 1 ? "" : "s");
    putchar('\n');
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_known(double x) { return x < 0 || !isfinite(x) ? json_null() : json_real(x); }
static json_t *json_sqnr(double error) {
    return error > 0 && isfinite(error) ? json_real(show_sqnr(error)) : json_null();
}

static json_t *json_layer(const ctsc_quantize_layer *l) {
    json_t *sizes = json_array();
    for (int i = 0; i < l->ndim; i++) json_array_append_new(sizes, json_integer(l->sizes[i]));
    return json_pack("{ss ss sb ss? so sI sI so so so so}", "name", l->name, "kind", l->kind,
                     "quantized", l->quantized, "reason", l->reason, "sizes", sizes, "bytes",
                     (json_int_t)l->bytes, "bytes_quantized", (json_int_t)l->bytes_quantized,
                     "error", json_known(l->error), "sqnr", json_sqnr(l->error), "us",
                     json_known(l->us), "us_quantized", json_known(l->us_quantized));
}

int quantize_print_json(const quantize_args *a, const ctsc_quantize_report *r) {
    ctsc_quantize_summary s = {.size = sizeof s};
    ctsc_quantize_report_summary(r, &s);
    json_t *layers = json_array();
    ctsc_quantize_layer l = {.size = sizeof l};
    for (size_t i = 0; ctsc_quantize_report_layer(r, i, &l); i++)
        json_array_append_new(layers, json_layer(&l));
    return cli_print_json(json_pack(
        "{ss ss ss? so sI sI sI sI sI so so so so}", "method",
        a->options.method ? a->options.method : "static", "observer",
        a->options.observer ? a->options.observer : "minmax", "output", a->output, "layers", layers,
        "layer_count", (json_int_t)s.layers, "quantized", (json_int_t)s.quantized, "examples",
        (json_int_t)s.examples, "bytes", (json_int_t)s.bytes, "bytes_quantized",
        (json_int_t)s.bytes_quantized, "error", json_known(s.error), "sqnr", json_sqnr(s.error),
        "us", json_known(s.us), "us_quantized", json_known(s.us_quantized)));
}
