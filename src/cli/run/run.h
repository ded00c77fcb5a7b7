/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - what ctsc run (cmd_run.c) prints of a result, and what it may touch. */
#ifndef CTSC_CLI_RUN_RUN_H
#define CTSC_CLI_RUN_RUN_H

#include "cli/cli.h"

/* Prints v as TorchScript's print does, but of tensors of more than a thousand elements the corners
 * alone, as PyTorch's repr does (result_text.c). */
int run_print_result(const ctsc_value *v, ctsc_error *e);
/* Prints the `count` largest numbers of each row of the first tensor in v, with what `labels`, a
 * file (NULL: none), calls them (result_top.c). */
int run_print_top(const ctsc_value *v, int count, const char *labels, ctsc_error *e);
/* The first tensor in v, in lists, tuples and dicts as well: a new handle; NULL: there is none. */
ctsc_value *run_first_tensor(const ctsc_value *v);
/* The elements of tensor t as that dtype, on the host, without gaps. */
ctsc_status run_elements(const ctsc_value *t, ctsc_dtype dtype, ctsc_value **out, ctsc_error *e);

/* Files of options; NULL: none. */
typedef struct run_files { const char *expect, *output, *labels; } run_files;
/* --sandbox: from here on the process reads only what the call needs (run_sandbox.c). Reports and
 * returns the exit code on failure. */
int run_enter_sandbox(const cli_model *m, const cli_call *c, const run_files *f);

#endif
