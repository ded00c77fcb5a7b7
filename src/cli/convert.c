/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.c - ctsc convert: a model as a file of another format, which the file's ending says.
 */
#include "cli/cli.h"
#include "ctsc_onnx_tmp.h"

#include <stdlib.h>
#include <string.h>

enum { CONVERT_OPSET = 256, CONVERT_DYNAMIC, CONVERT_AXES = 64 };

typedef struct convert_args {
    cli_model model;
    cli_call call;
    const char *output;
    int opset;
    ctsc_onnx_axis axes[CONVERT_AXES];
    const char *dynamic[CONVERT_AXES];
    size_t naxes;
} convert_args;

static const struct argp_option convert_options[] = {
    {"opset", CONVERT_OPSET, "N", 0, "to .onnx: the version of ONNX's operators, 13 to 21 (17)", 0},
    {"dynamic", CONVERT_DYNAMIC, "INPUT:DIM[=NAME]", 0,
     "to .onnx: this dim of this argument (its name, or its number from 0) may have any size; once "
     "for each",
     0},
    {0},
};

static error_t convert_parse(int key, char *arg, struct argp_state *state) {
    convert_args *a = state->input;
    char *end;
    switch (key) {
    case CONVERT_OPSET:
        a->opset = (int)strtol(arg, &end, 10);
        if (*end || a->opset < 1) argp_error(state, "--opset: '%s' is no version", arg);
        break;
    case CONVERT_DYNAMIC:
        if (a->naxes == CONVERT_AXES) argp_error(state, "--dynamic: %d at most", CONVERT_AXES);
        a->dynamic[a->naxes++] = arg;
        break;
    case ARGP_KEY_ARG:
        if (a->output) return ARGP_ERR_UNKNOWN;
        if (a->model.path) a->output = arg;
        else a->model.path = arg;
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->call;
        break;
    case ARGP_KEY_END:
        if (!a->output) argp_error(state, "say where the result goes: ctsc convert MODEL FILE");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- ONNX ------------------------------------------------------------------------------------ */

/* The number of the argument of that name, "x", among "forward(Tensor x, Tensor y=None) -> ..."; -1:
 * there is none. */
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
static int onnx_axis(convert_args *a, const ctsc_module *m, size_t i) {
    const char *text = a->dynamic[i], *colon = strchr(text, ':');
    char *end;
    if (!colon) return cli_complain(CTSC_USAGE, "--dynamic %s: INPUT:DIM is expected", text);
    long input = strtol(text, &end, 10);
    if (end != colon) input = onnx_argument(m, a->call.method, text, (size_t)(colon - text));
    long dim = strtol(colon + 1, &end, 10);
    if (input < 0)
        return cli_complain(CTSC_USAGE, "--dynamic %s: the method has no such argument", text);
    if (end == colon + 1 || (*end && *end != '=') || dim < 0)
        return cli_complain(CTSC_USAGE, "--dynamic %s: INPUT:DIM is expected", text);
    a->axes[i] = (ctsc_onnx_axis){(int)input, (int)dim, *end ? end + 1 : NULL};
    if (!a->axes[i].name) {
        static char names[CONVERT_AXES][64];
        snprintf(names[i], sizeof names[i], "dim_%ld_%ld", input, dim);
        a->axes[i].name = names[i];
    }
    return 0;
}

static int convert_onnx(convert_args *a, ctsc_module *m, ctsc_error *e) {
    int code = (int)cli_read_inputs(&a->call.inputs, m, a->call.method, e);
    for (size_t i = 0; !code && i < a->naxes; i++) code = onnx_axis(a, m, i);
    ctsc_onnx_options o = {.size = sizeof o,
                           .method = a->call.method,
                           .opset = a->opset,
                           .naxes = a->naxes,
                           .axes = a->axes};
    if (!code && ctsc_module_save_onnx(m, a->output, a->call.inputs.nvalues, a->call.inputs.values,
                                       &o, e) != CTSC_OK)
        code = cli_report(e);
    if (code == CTSC_USAGE && !a->call.inputs.nspecs && !a->call.inputs.file)
        fputs("note: the arguments' sizes are given as for a call: --input 'float32[1,3,224,224]:rand'\n", stderr);
    return code;
}

/* ---- formats --------------------------------------------------------------------------------- */

static const struct {
    const char *ending;
    int (*function)(convert_args *a, ctsc_module *m, ctsc_error *e);
} convert_formats[] = {
    {".onnx", convert_onnx},
};

static const struct argp_child convert_children[] = CLI_CALL_CHILDREN;
const struct argp cmd_convert_argp = {
    convert_options,
    convert_parse,
    "MODEL FILE",
    "Writes a model as a file of another format, which FILE's ending says.\v"
    ".onnx: a method (--method) as a model of ONNX. The arguments of --input say dtypes and sizes, "
    "and which branches are taken; --dynamic lets sizes vary. docs/onnx.md says what is supported.",
    convert_children,
    NULL,
    NULL};

static bool convert_ends(const char *path, const char *ending) {
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

int cmd_convert(int argc, char **argv) {
    convert_args a = {0};
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    size_t i = 0, n = sizeof convert_formats / sizeof *convert_formats;
    if (!cli_call_init(&a.call, argc) || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_convert_argp, argc, argv, &a);
    while (i < n && !convert_ends(a.output, convert_formats[i].ending)) i++;
    int code = i < n ? cli_load(&a.model, &m, e)
                     : cli_complain(CTSC_USAGE, "convert: %s has none of the endings that are known",
                                    a.output);
    if (!code) code = convert_formats[i].function(&a, m, e);
    ctsc_module_free(m);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}
