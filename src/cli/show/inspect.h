/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.h - what ctsc inspect (cmd_inspect.c) and its table of layers (inspect_layers.c) share.
 * Everything is gathered as JSON first. */
#ifndef CTSC_CLI_SHOW_INSPECT_H
#define CTSC_CLI_SHOW_INSPECT_H

#include "cli/cli.h"
#include "ctsc_compiler.h"

const char *inspect_dtype(ctsc_dtype dt);
int64_t inspect_elements(const json_t *shape);
int64_t inspect_bytes(const json_t *tensor); /* of an object with dtype and shape */
/* [{"name", "class", "depth", "parameters", "calls", "output", "flops", "all_flops"}, ...]: with
 * inputs, what a call of the method did; NULL with the failure in e. attributes: the module's, as
 * cmd_inspect.c gathers them. */
json_t *inspect_layers(const ctsc_module *m, const cli_call *call, const json_t *attributes,
                       ctsc_error *e);
void inspect_print_layers(const json_t *layers);

/* Is there a tensor among the texts of --input whose sizes have names: float32[N,3,H,W]? */
bool inspect_has_symbols(const cli_inputs *in);
/* As inspect_layers for such inputs, with m on device meta: outputs are numbers and formulas of the
 * names, "?" where none was confirmed, and there are no flops. *basis: what they rest on. NULL:
 * said why; *code is the exit status. */
json_t *inspect_symbolic(const ctsc_module *m, const cli_call *call, const json_t *attributes,
                         json_t **basis, int *code, ctsc_error *e);

#endif
