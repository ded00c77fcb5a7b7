/* SPDX-License-Identifier: Apache-2.0 */
/* ahead.h - ctsc compile --aot: options, and what they do. */
#ifndef CTSC_CLI_COMPILE_AHEAD_H
#define CTSC_CLI_COMPILE_AHEAD_H

#include "cli/cli.h"
#include "ctsc_compiler.h"

enum { AHEAD_DIMS = 8, AHEAD_NAME = 64 };

typedef struct cli_ahead {
    const char *object, *header, *arch, *cpu; /* NULL: not given */
    size_t ndims;
    ctsc_aot_dim dims[AHEAD_DIMS]; /* most is 0 until the arguments are there */
    char names[AHEAD_DIMS][AHEAD_NAME];
} cli_ahead;

/* NAME=ARG.DIM[,ARG.DIM...][:MIN]; false: it is not. */
bool cli_ahead_dim(cli_ahead *a, const char *text);
/* Writes the two files, and says what they are on stderr. */
int cli_ahead_compile(cli_ahead *a, const ctsc_module *m, const cli_inputs *in, ctsc_error *e);

#endif
