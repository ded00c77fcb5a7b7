/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_program.h - a method compiled ahead of time: what the object file consists of, and the small
 * run-time library that it is linked with (libctsc-rt.a).
 *
 * What a compiled program is:
 *
 *     the kernels of its fusion groups           machine code, made by LLVM
 *     weights, those of dense layers packed      read-only data
 *     instructions, operators, plans of groups   tables, as this header defines them
 *     int NAME(in, out, workspace)               a function of three instructions that calls
 *                                                ctsc_rt_call with the tables
 *
 * Method. The instructions are the bytecode of the optimised method (runtime/code/bytecode.h), the
 * operators are the library's own functions: the sources of src/runtime/kernels, compiled once more
 * (packaging/rt.mk) over another floor: memory is the caller's workspace (rt_memory.c), there is
 * one thread, errors are a status and a message (rt_support.c). So what is computed is what the
 * interpreter computes, to the bit, and control flow, lists and sizes that are known only when the
 * program runs need nothing of their own. What the walker costs, about 20 ns for an instruction, is
 * lost beside the kernels.
 *
 * Rejected: one C or LLVM function per method, which calls the kernels with addresses fixed at
 * compile time. It spares the walker and the tables (some 5 KB for ResNet-18), but views, sizes
 * from data and loops would each need code of their own, and every operator a second interface
 * beside the one that its tests are for.
 *
 * Memory. A workspace is a heap (rt_memory.c) whose size the compiler knows: it runs the method
 * for arguments of the largest sizes, and gives each request of that run a place by the same rules
 * (aot_run.c in runtime/aot/). A program without branches on data repeats these requests exactly.
 *
 * Invariant: the tables have the layout of the structs of this header and of those that it
 * mentions. All architectures that are supported agree on it: 64 bits, little endian.
 *
 * Tests: tests/aot/
 */
#ifndef CTSC_RT_RT_PROGRAM_H
#define CTSC_RT_RT_PROGRAM_H

#include "codegen/cache/cache.h"
#include "codegen/lower/plan/group_plan.h"
#include "ir/op/op.h"
#include "runtime/code/bytecode.h"

enum { RT_VERSION = 1, RT_MAX_DIMS = 8, RT_SIZES = 8 };

/* What a compiled function returns. docs/aot.md says what they mean. */
typedef enum rt_status {
    RT_OK,
    RT_RAISED,          /* the program raised an exception */
    RT_WORKSPACE,       /* the workspace was too small: sizes larger than those compiled for */
    RT_UNSUPPORTED,     /* it came where it was not compiled to come */
    RT_RESULT,          /* a result has another dtype or other sizes than stated */
    RT_VERSION_MISMATCH /* the object and the library are not of one version, or instruction set */
} rt_status;

typedef struct rt_kernel {
    const group_plan *plan;
    kernel_fn fn;
    bool writes, scalars;
} rt_kernel;

struct rt_code;

/* A fusion group: its kernels, and its operators for arguments that fit none. */
typedef struct rt_group {
    int nparams, nresults;
    int nkernels;
    const rt_kernel *kernels;
    const struct rt_code *fallback; /* NULL: there is none */
} rt_group;

/* An operator that the program calls, or that one of its operators calls (op_call). One that is a
 * kernel of its own has a group in place of a function: its parameters are those arguments whose
 * bit is set in `params`. */
typedef struct rt_op {
    const op *op, *does; /* key, function, schema as far as functions look at it; does: whose */
    const rt_group *group;
    uint64_t params;
    int written; /* the argument that the result is copied to; -1: none */
    int nargs;
    const value *defaults;  /* nargs of them, for op_call */
    const value *constants; /* of a group: the arguments that are not parameters must be these */
} rt_op;

typedef struct rt_site {
    const rt_op *op;
    const rt_group *group;
    const struct rt_code *sub;
    int operands, nargs, nresults;
    int what; /* NEW_LIST: a list_kind; CAST, ISINSTANCE: a bit per value_tag that fits */
    int64_t imm, imm2;
} rt_site;

typedef struct rt_code {
    const instr *instrs;
    const rt_site *sites;
    const int32_t *operands;
    value *constants; /* counted: writable data */
    int nparams, nregisters, window;
} rt_code;

/* A tensor or number that the caller gives, or gets: in[i] and out[i]. */
typedef struct rt_port {
    /* value_tag: V_TENSOR, V_INT, V_FLOAT, V_BOOL; of parameters also V_TUPLE and V_LIST, of the
     * next `count` ports; V_NONE, which takes no place */
    uint8_t tag;
    uint8_t dtype;
    uint8_t ndim;
    int count;
    int64_t sizes[RT_SIZES]; /* size = sizes + sum over dims of factor * dim */
    int64_t factors[RT_SIZES][RT_MAX_DIMS];
    int64_t divisors[RT_SIZES]; /* of the sum; 1 as a rule */
} rt_port;

typedef struct rt_program {
    uint32_t version;
    uint32_t isa; /* that the kernels were compiled for */
    const rt_code *code;
    int nparams, ninputs, noutputs, ndims; /* ports */
    const rt_port *inputs, *outputs;
    const rt_op *const *ops; /* what op_call finds, NULL at the end */
    size_t workspace;
    int64_t most[RT_MAX_DIMS], least[RT_MAX_DIMS]; /* of named dims */
} rt_program;

/* in, out: a pointer per input and output; workspace: p->workspace bytes; dims: p->ndims of them.
 * What fails leaves a message at the start of the workspace. */
int ctsc_rt_call(const rt_program *p, const void *const *in, void *const *out, void *workspace,
                 const int64_t *dims);

#endif
