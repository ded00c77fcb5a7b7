/* SPDX-License-Identifier: Apache-2.0 */
/* call_outputs.h - what a call of a model gave, as the protocol has it. */
#ifndef CTSC_SERVE_ISOLATE_CALL_OUTPUTS_H
#define CTSC_SERVE_ISOLATE_CALL_OUTPUTS_H

#include "ctsc.h"

/* What the server does with what a call prints (ctsc_run_options.print): nothing. */
void outputs_drop_print(void *ctx, const char *text, size_t len);

/* What a call gave, flattened: the items of tuples, lists and dicts one after the other;
 * tensors row-major. */
typedef struct outputs {
    size_t n, cap;
    ctsc_value **values;
    char **names; /* of dict entries; NULL: none of its own */
} outputs;
/* false: without memory, or nested too deeply */
bool outputs_add(outputs *o, const ctsc_value *result);
/* One more, as it is. name: NULL: none of its own. False: without memory. */
bool outputs_push(outputs *o, const ctsc_value *v, const char *name);
void outputs_free(outputs *o);

#endif
