/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_onnx.c - ctsc convert to .onnx: the arguments that say sizes, and the axes
 * that are dynamic.
 * Tests: tests/cli/convert.test
 */
#include "cli/convert/convert_onnx.h"

#include "cli/progress.h"

#include <stdlib.h>
#include <string.h>

/* The number of the argument of that name, "x", among "forward(Tensor x, Tensor y=None) -> ...";
 * -1: there is none. */
static int onnx_argument(const ctsc_module *m, const char *method, const char *name, size_t len) {
    char *text = ctsc_module_method_schema(m, method), *at = text ? strchr(text, '(') : NULL;
    int depth = 0, found = -1, number = 0;
    for (char *p = at ? at + 1 : NULL; p && *p && found < 0; p++) {
        size_t word = strcspn(p, ",)=");
        if (!depth && (p[-1] == ' ' || p[-1] == '(') && word == len && !strncmp(p, name, len) &&
            p[-1] == ' ')
            found = number;
        if (*p == '(' || *p == '[') depth++;
        if (*p == ')' && !depth) break;
        if (*p == ')' || *p == ']') depth--;
        if (*p == ',' && !depth) number++, p += p[1] == ' ';
    }
    ctsc_string_free(text);
    return found;
}

/* "x:0=batch" */
static int onnx_axis(const convert_onnx_args *a, const char *method, const ctsc_module *m, size_t i,
                     ctsc_onnx_axis *out) {
    const char *text = a->dynamic[i], *colon = strchr(text, ':');
    char *end;
    if (!colon) return cli_complain(CTSC_USAGE, "--dynamic %s: INPUT:DIM is expected", text);
    long input = strtol(text, &end, 10);
    if (end != colon) input = onnx_argument(m, method, text, (size_t)(colon - text));
    long dim = strtol(colon + 1, &end, 10);
    if (input < 0)
        return cli_complain(CTSC_USAGE, "--dynamic %s: the method has no such argument", text);
    if (end == colon + 1 || (*end && *end != '=') || dim < 0)
        return cli_complain(CTSC_USAGE, "--dynamic %s: INPUT:DIM is expected", text);
    *out = (ctsc_onnx_axis){(int)input, (int)dim, *end ? end + 1 : NULL};
    if (!out->name) {
        static char names[CONVERT_AXES][64];
        snprintf(names[i], sizeof names[i], "dim_%ld_%ld", input, dim);
        out->name = names[i];
    }
    return 0;
}

typedef struct onnx_names {
    char *text; /* cut into the names */
    const char *names[CONVERT_NAMES];
    size_t n;
} onnx_names;

/* "a,b,c"; given may be NULL */
static int onnx_split(const char *option, const char *given, onnx_names *out) {
    if (!given) return 0;
    if (!(out->text = strdup(given))) return cli_complain(CTSC_LIMIT, "out of memory");
    for (char *p = out->text; p;) {
        char *comma = strchr(p, ',');
        if (comma) *comma = '\0';
        if (!*p) return cli_complain(CTSC_USAGE, "%s %s: a name is empty", option, given);
        if (out->n == CONVERT_NAMES)
            return cli_complain(CTSC_USAGE, "%s: %d names at most", option, CONVERT_NAMES);
        out->names[out->n++] = p;
        p = comma ? comma + 1 : NULL;
    }
    return 0;
}

int convert_onnx(const convert_onnx_args *a, cli_call *call, ctsc_module *m, const char *path,
                 ctsc_error *e) {
    int code = (int)cli_read_inputs(&call->inputs, m, call->method, e);
    if (!code)
        code = convert_onnx_write(a, call->method, m, call->inputs.nvalues, call->inputs.values,
                                  path, e);
    if (code == CTSC_USAGE) cli_note_inputs(&call->inputs);
    return code;
}

int convert_onnx_write(const convert_onnx_args *a, const char *method, ctsc_module *m, size_t nargs,
                       ctsc_value *const *args, const char *path, ctsc_error *e) {
    ctsc_onnx_axis axes[CONVERT_AXES];
    int code = 0;
    for (size_t i = 0; !code && i < a->naxes; i++) code = onnx_axis(a, method, m, i, &axes[i]);
    onnx_names in = {0}, out = {0};
    double difference = 0;
    if (!code) code = onnx_split("--input-names", a->input_names, &in);
    if (!code) code = onnx_split("--output-names", a->output_names, &out);
    ctsc_onnx_options o = {.size = sizeof o,
                           .method = method,
                           .opset = a->opset,
                           .naxes = a->naxes,
                           .axes = axes,
                           .warn = cli_warn,
                           .progress = progress_shown() ? progress_told : NULL,
                           .ctx = (void *)(uintptr_t)path,
                           .ninput_names = in.n,
                           .noutput_names = out.n,
                           .input_names = in.names,
                           .output_names = out.names,
                           .check = a->check,
                           .tolerance = a->tolerance,
                           .difference = &difference};
    if (!code && ctsc_module_save_onnx(m, path, nargs, args, &o, e) != CTSC_OK)
        code = cli_report(e);
    progress_clear();
    if (!code && a->check)
        fprintf(stderr, "ctsc: checked%s: the largest difference is %.2g of the largest element\n",
                a->naxes ? ", with longer axes, too" : "", difference);
    free(in.text);
    free(out.text);
    return code;
}
