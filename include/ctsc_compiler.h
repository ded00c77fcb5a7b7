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

typedef struct ctsc_opt_options {
    size_t size;             /* sizeof(ctsc_opt_options) */
    /* What to run, in order: "dce,pool-constants". A group in brackets is repeated until nothing changes:
     * "[peephole,fold-constants,dce],pool-constants". NULL or "" for none. */
    const char *passes;
    bool print_after_all;    /* the graph after each pass, to `print` */
    const char *print_after; /* the graph after the pass of this name; NULL: none */
    bool time_passes;        /* at the end a table: runs, changes and time of each pass */
    bool verify_each;        /* the verifier after each pass; else only at the end */
    void (*print)(void *ctx, const char *text, size_t len); /* NULL discards */
    void *ctx;
} ctsc_opt_options;

/* Reads a graph's text, verifies it, runs the passes, verifies the result and prints it. name: for messages. Free *out with
 * ctsc_string_free. */
CTSC_API ctsc_status ctsc_opt_text(const char *name, const char *text, size_t len, const ctsc_opt_options *o,
                                   char **out, ctsc_error *e);
/* The same for a method of a module: its graph with all calls inlined. */
CTSC_API ctsc_status ctsc_opt_module(const ctsc_module *m, const char *method, const ctsc_opt_options *o, char **out,
                                     ctsc_error *e);
/* Inlines the calls of a method that has not run yet, runs passes on its graph, verifying after each, and lets it run that way from now on. */
CTSC_API ctsc_status ctsc_module_apply_passes(ctsc_module *m, const char *method, const char *passes, ctsc_error *e);
/* Visits the passes in the order of their table. */
CTSC_API void ctsc_passes(void (*visit)(void *ctx, const char *name, const char *text), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
