/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctsc_compiler.h - for people who work on the compiler: graphs as text, passes one by one.
 *
 * What programs need is in ctsc.h; this header may change from version to version.
 */
#ifndef CTSC_COMPILER_H
#define CTSC_COMPILER_H

#include "ctsc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a graph's text, runs the passes in order ("dce,pool-constants"; "" for none), with the verifier after each,
 * and prints the graph. name: for messages. Free *out with ctsc_string_free. */
CTSC_API ctsc_status ctsc_opt_text(const char *name, const char *text, size_t len, const char *passes,
                                   char **out, ctsc_error *e);
/* Visits the passes in the order of their table. */
CTSC_API void ctsc_passes(void (*visit)(void *ctx, const char *name, const char *text), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
