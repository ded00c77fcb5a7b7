/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aot.h - a method of a module, ahead of time, as an object file for libctsc-rt.a; rt/rt_program.h
 * says what it consists of.
 *
 * Method. The method runs, at level 3, with the example arguments, and again with named dims at
 * other values, and with branches taken that these runs did not take (aot_run.c). What comes up on
 * the way is noted: operators, kernels that groups ask for, arguments of groups. Then the bytecode
 * is written with what it refers to (aot_tables.c), kernels are compiled for the target (their
 * nests depend on no processor), and packed weights are those that the runs have made.
 *
 * Refused are programs that call operators which the run-time library lacks and no kernel computes
 * (aot_ops.c), that change attributes of the module, or whose results have sizes that depend on
 * data.
 *
 *     aot.c          the order of these steps; the header file
 *     aot_run.c      runs, dims, branches, the size of the workspace
 *     aot_ops.c      which operators there are, kernels of single operators
 *     aot_tables.c   code, values and plans as the contents of sections
 *     aot_image.c, aot_elf.c   sections, object files
 *
 * Tests: tests/aot/
 */
#ifndef CTSC_RUNTIME_AOT_AOT_H
#define CTSC_RUNTIME_AOT_AOT_H

#include "runtime/program/module.h"

enum { AOT_DIMS = 8, AOT_PLACES = 16 };

/* A named dim: sizes of arguments (counted without self; tensors in lists are not) that are a
 * parameter of the compiled function. */
typedef struct aot_dim {
    const char *name;
    int64_t least, most;
    int nplaces;
    struct {
        int argument, dim;
    } places[AOT_PLACES];
} aot_dim;

typedef struct aot_options {
    const char *name; /* of the function, a C identifier */
    bool arm64;       /* else x86-64 */
    int isa;          /* the set that it is for (cpu/isa.h) */
    int ndims;
    aot_dim dims[AOT_DIMS];
} aot_options;

typedef struct aot_result {
    void *object; /* mem_free'd by the caller */
    size_t size;
    char *header; /* C; likewise */
    strbuf notes; /* for people: a line each */
    size_t workspace, weights, kernels;
    int instructions;
} aot_result;

/* args: of f, self included; they are examples, of the largest sizes where dims are named. */
ctsc_status aot_compile(const module *m, function *f, const aot_options *o, int nargs,
                        const value *args, diag *d, aot_result *out);
void aot_result_free(aot_result *r);

#endif
