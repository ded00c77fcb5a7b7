/* SPDX-License-Identifier: Apache-2.0 */
/* view_weights.h - the tensors that a module holds, for the page of ctsc view, and what differs
 * between those of two. */
#ifndef CTSC_CLI_SHOW_VIEW_WEIGHTS_H
#define CTSC_CLI_SHOW_VIEW_WEIGHTS_H

#include "cli/cli.h"

/* [{"name": "fc.weight", "type": "float32[4,8]", "parameter": true}, ...] */
void view_weights(const ctsc_module *m, FILE *to);
/* What differs between two modules: [{"name", "state", ...}, ...] by the names of b, of which
 * state is "changed" (elements; "most": the largest difference, of float32 and float64), "type"
 * (dtype or dims), "added", "removed" (the name is a's) or "renamed" ("from": a's name of a tensor
 * that is equal). */
ctsc_status view_weights_differ(const ctsc_module *a, const ctsc_module *b, FILE *to);
/* A JSON string that a script element may hold. */
void view_string(FILE *to, const char *text);

#endif
