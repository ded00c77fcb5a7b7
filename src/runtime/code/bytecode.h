/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytecode.h - the register code of a function.
 *
 *       instr        |  op  | flags |    a    |    b    |    c    |     16 bytes
 *
 * Registers are numbered from 0; a call's arguments arrive in the first ones. An operand (V) is a
 * register's number, or ~k for constant k. Whatever needs more than three operands has a site: a
 * record with the operator, the function, types, and a run of operands in code->operands:
 * arguments, then the registers of the results (SITE_UNUSED for one that nothing reads).
 * OPERAND_LAST_USE marks the last use of a register: the instruction takes the value out of it.
 *
 * Ownership: a code owns its arrays, its sub-codes and groups, and holds references on its
 * constants; types, names, operators and sources are borrowed from the graph and its unit,
 * which outlive it.
 */
#ifndef CTSC_RUNTIME_CODE_BYTECODE_H
#define CTSC_RUNTIME_CODE_BYTECODE_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

typedef struct code code;
struct interp;
struct frame;

typedef enum opcode {
#define OPCODE(name, form, meaning) BC_##name,
#define FAST(name, key, meaning) BC_##name,
#define SITE(name, function, meaning) BC_##name,
#include "runtime/code/opcodes.def"
#undef OPCODE
#undef FAST
#undef SITE
    BC_COUNT
} opcode;

typedef struct opcode_info {
    const char *name, *form, *meaning;
    op_symbol replaces; /* of FAST: the operator */
} opcode_info;

extern const opcode_info opcode_table[BC_COUNT];

typedef struct instr {
    uint16_t op;
    uint16_t flags;
    int32_t a, b, c;
} instr;

enum {
    OPERAND_LAST_USE = 1 << 30,
    OPERAND_REGISTER = OPERAND_LAST_USE - 1, /* mask of the number */
    SITE_UNUSED = -1,
};

static inline bool operand_last_use(int32_t v) { return v >= 0 && (v & OPERAND_LAST_USE); }

typedef struct site {
    const op *op;
    function *fn;
    struct code *sub;
    struct code_group *group;
    const char *name;
    type *type;
    int types, ntypes; /* run in code->types */
    int operands;      /* start in code->operands */
    int nargs, nresults;
    int64_t imm, imm2;
} site;

/* What others keep with code. */
typedef struct code_extra { void (*free)(struct code_extra *x); } code_extra;

/* A fusion group at run time, which begins with this (exec/fused.h). */
typedef struct code_group {
    /* args: borrowed; results: one slot per return of the group's graph, each a new reference on
     * success. *native: whether a kernel ran. */
    ctsc_status (*run)(struct code_group *g, struct interp *in, const value *args, value *results,
                       bool *native);
    void (*free)(struct code_group *g);
    int nparams, nresults;
} code_group;

enum { CODE_GROUP_VALUES = 64 }; /* parameters that a group may have, and results */

/* What making and running code asks of the folders above; registry_install says whom. */
typedef struct code_host {
    /* code_ensure of exec/executor.h */
    ctsc_status (*ensure)(function *f, int level, const object *self, diag *d);
    /* g: the group's graph, which outlives the result. name: of the function whose part the group
     * is, for messages; borrowed. */
    ctsc_status (*group_new)(diag *d, const char *name, graph *g, code_group **out);
    /* what CALL_OP_TAPED does (autograd/tape.c) */
    ctsc_status (*call_taped)(struct frame *f, const site *s);
} code_host;
extern const code_host *code_host_installed;

struct code {
    const char *name; /* of the function, for call chains */
    VEC(instr) instrs;
    VEC(source_range) ranges; /* parallel to instrs */
    /* parallel as well: how inlined instructions came here; the graph's */
    VEC(const call_site *) calls;
    VEC(site) sites;
    VEC(int32_t) operands;
    VEC(value) constants;
    VEC(type *) types;
    VEC(struct code *) subs;
    VEC(code_group *) groups;
    /* its calls on devices (cuda/recordings.h), and those that were captured
     * (autograd/grad_program.c); NULL: none yet */
    code_extra *recordings, *programs;
    graph *graph; /* owned, if the code was made of a graph of its own (executor.c); else NULL */
    int nparams;
    /* >= 0: all there is is one fusion group, of the parameters from this one on, and its result;
     * -1: there is more to it */
    int whole_group;
    uint64_t unread; /* bit i: nothing reads parameter i, so that a call may leave it out */
    int nregisters;  /* parameters included */
    int window;      /* slots a site's arguments and results need at most */
};

static inline bool code_reads(const struct code *c, int param) {
    return param >= 64 || !(c->unread >> param & 1);
}
/* The slots of a frame: registers, then the window. */
static inline size_t code_frame_slots(const struct code *c) {
    return (size_t)c->nregisters + (size_t)c->window;
}

void code_free(code *c);
void code_print(const code *c, strbuf *out); /* disassembly, for people */
/* Translates a graph. name: of the function (borrowed). The graph's `scratch` and `mark` fields are
 * used meanwhile. */
ctsc_status code_new(diag *d, const char *name, graph *g, struct code **out);
/* The same for programs that take gradients: operators go through the tape. */
ctsc_status code_new_taped(diag *d, const char *name, graph *g, struct code **out);

#endif
