/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.h - the parts of `ctsc quantize`: cmd_quantize.c reads options and writes files,
 * quantize_data.c reads examples, quantize_show.c shows the table.
 */
#ifndef CTSC_CLI_QUANTIZE_QUANTIZE_H
#define CTSC_CLI_QUANTIZE_QUANTIZE_H

#include "cli/cli.h"
#include "cli/convert/convert_onnx.h"

enum { QUANTIZE_MAX_FILES = 64, QUANTIZE_MAX_PATTERNS = 64 };

typedef struct quantize_args {
    cli_model model;
    cli_call call;
    const char *data[QUANTIZE_MAX_FILES], *keep[QUANTIZE_MAX_PATTERNS], *output;
    size_t ndata, nkeep;
    ctsc_quantize_options options;
    convert_onnx_args onnx;
    size_t samples; /* examples at most */
    int64_t batch;  /* rows of an example; 0: a file is one */
    bool json, dry;
} quantize_args;

/* Calls of forward: each a tuple of arguments. */
typedef struct quantize_examples {
    ctsc_value **items;
    size_t n, most;
} quantize_examples;

/* What --data, --input and --inputs give. Reports and returns the exit code on failure; to be freed
 * whatever it is. */
int quantize_read(quantize_args *a, const ctsc_module *m, quantize_examples *out, ctsc_error *e);
void quantize_free(quantize_examples *x);

void quantize_show(const ctsc_quantize_report *r);
int quantize_print_json(const quantize_args *a, const ctsc_quantize_report *r);

#endif
