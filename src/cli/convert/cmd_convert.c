/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_convert.c - ctsc convert: a model as a file of another format, which the file's ending says.
 */
#include "cli/convert/convert_onnx.h"

#include <stdlib.h>
#include <string.h>

enum { CONVERT_OPSET = 256, CONVERT_DYNAMIC };

typedef struct convert_args {
    cli_model model;
    cli_call call;
    const char *output;
    convert_onnx_args onnx;
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
        a->onnx.opset = (int)strtol(arg, &end, 10);
        if (*end || a->onnx.opset < 1) argp_error(state, "--opset: '%s' is no version", arg);
        break;
    case CONVERT_DYNAMIC:
        if (a->onnx.naxes == CONVERT_AXES) argp_error(state, "--dynamic: %d at most", CONVERT_AXES);
        a->onnx.dynamic[a->onnx.naxes++] = arg;
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

static int convert_to_onnx(convert_args *a, ctsc_module *m, ctsc_error *e) {
    return convert_onnx(&a->onnx, &a->call, m, a->output, e);
}

/* ---- formats --------------------------------------------------------------------------------- */

static const struct {
    const char *ending;
    int (*function)(convert_args *a, ctsc_module *m, ctsc_error *e);
} convert_formats[] = {
    {".onnx", convert_to_onnx},
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
                     : cli_complain(CTSC_USAGE,
                                    "convert: %s has none of the endings that are known", a.output);
    if (!code) code = convert_formats[i].function(&a, m, e);
    ctsc_module_free(m);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}
