/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interp_internal.h - shared by interp.c (the loop, calls) and the files of instruction functions.
 */
#ifndef CTSC_RUNTIME_INTERP_INTERP_INTERNAL_H
#define CTSC_RUNTIME_INTERP_INTERP_INTERNAL_H

#include "base/threads/float_mode.h"
#include "base/threads/limits.h"
#include "runtime/context/workspace.h"
#include "runtime/interp/interp.h"

enum { INTERP_MAX_DEPTH = 256 };

/* Fails if the program was cancelled or its time is over. */
ctsc_status interp_check_time(const struct interp *in);

/* An object whose __enter__ ran and whose __exit__ has not. */
typedef struct entered {
    value object;
    int depth; /* rt->depth of the frame */
} entered;

typedef struct interp {
    runtime *rt;
    diag *d;
    stack_chunk *top;
    VEC(entered) entered;
    /* rt's, where it has any: those of the thread meanwhile; and what they were before */
    limits limits, *outer_limits;
    float_mode outer_mode; /* likewise */
} interp;

/* What an instruction function works on. */
typedef struct frame {
    interp *in;
    const code *c;
    value *regs; /* c->nregisters of them, then c->window more */
    op_ctx cx;
    /* bodies that run separately and whose results nobody has fetched (fork.c); NULL: none */
    struct forked *forked;
    /* the fork that a failure belongs to, if it came up elsewhere; else NULL */
    const instr *blame;
} frame;

typedef ctsc_status (*site_fn)(frame *f, const site *s);

/* What CALL_OP and FUSED do where rt->watch sees operators and kernels. */
ctsc_status bc_call_op_watched(frame *f, const site *s);
ctsc_status bc_fused_watched(frame *f, const site *s);

#define SITE(name, function, meaning) ctsc_status function(frame *f, const site *s);
#define OPCODE(name, form, meaning)
#define FAST(name, key, meaning)
#include "runtime/code/opcodes.def"
#undef SITE
#undef OPCODE
#undef FAST

static inline const int32_t *site_operands(const frame *f, const site *s) {
    return f->c->operands.data + s->operands;
}
/* The value of an operand, in place. */
static inline value *operand_at(const frame *f, int32_t v) {
    return v < 0 ? &f->c->constants.data[~v] : &f->regs[v & OPERAND_REGISTER];
}
static inline value *site_arg(const frame *f, const site *s, int i) {
    return operand_at(f, site_operands(f, s)[i]);
}
/* Argument i as a reference of one's own: taken from a register at its last use, else counted. */
static inline value site_take(frame *f, const site *s, int i) {
    int32_t v = site_operands(f, s)[i];
    value *at = operand_at(f, v);
    if (!operand_last_use(v)) return value_ref(*at);
    value x = *at;
    *at = value_none();
    return x;
}
/* Releases the arguments whose last use this is. */
static inline void site_release(frame *f, const site *s) {
    const int32_t *operands = site_operands(f, s);
    for (int i = 0; i < s->nargs; i++)
        if (operand_last_use(operands[i])) value_set(operand_at(f, operands[i]), value_none());
}
/* Stores a result, whose reference is taken. */
static inline void site_result(frame *f, const site *s, int i, value v) {
    int32_t r = site_operands(f, s)[s->nargs + i];
    if (r == SITE_UNUSED) value_unref(v);
    else value_set(&f->regs[r], v);
}

/* An interpreter of rt's, with the stack its workspace keeps. */
void interp_begin(interp *in, runtime *rt, diag *d);
void interp_end(interp *in);
/* Waits for all that the frame has forked. Fails where a body met the end of the whole program. */
ctsc_status fork_join(frame *f);
/* Runs c with n arguments, which are taken (also on failure); *out is the caller's. */
ctsc_status interp_run(interp *in, const code *c, int n, value *args_take, value *out);
/* fn with arguments as above: translates it if need be. */
ctsc_status interp_run_function(interp *in, function *fn, int n, value *args_take, value *out);
/* Notes the calls that were inlined around a failure in code of `function`, as if
 * they had been made. */
void interp_note_calls(diag *d, const call_site *call, const char *function);
/* Calls method `name` of object with itself and then None for every further parameter, if it has
 * the method. */
ctsc_status interp_call_hook(interp *in, value object, const char *name, value *out);

#endif
