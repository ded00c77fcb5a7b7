/* SPDX-License-Identifier: Apache-2.0 */
/* convert_onnx.h - ctsc convert to .onnx (convert_onnx.c), for the command. */
#ifndef CTSC_CLI_CONVERT_CONVERT_ONNX_H
#define CTSC_CLI_CONVERT_CONVERT_ONNX_H

#include "cli/cli.h"

enum { CONVERT_AXES = 64, CONVERT_NAMES = 256 };

/* What its options say. */
typedef struct convert_onnx_args {
    int opset;                         /* 0: the usual one */
    const char *dynamic[CONVERT_AXES]; /* "x:0=batch" */
    size_t naxes;
    const char *input_names, *output_names; /* "a,b,c"; NULL: as the arguments are called */
    bool check;
    double tolerance; /* 0: the usual one */
} convert_onnx_args;

/* Writes call.method of m. Reports and returns the exit code on failure, 0 on success. */
int convert_onnx(const convert_onnx_args *a, cli_call *call, ctsc_module *m, const char *path,
                 ctsc_error *e);

/* The same of a call whose arguments are there. */
int convert_onnx_write(const convert_onnx_args *a, const char *method, ctsc_module *m, size_t nargs,
                       ctsc_value *const *args, const char *path, ctsc_error *e);

#endif
