/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_capture.h - records the operators that a taped call runs, those of its backward passes among
 * them, as a graph without control flow.
 *
 *     def forces(pos):                                graph(%pos : Tensor):
 *         pos = pos.detach().requires_grad_()           %1 : Tensor = aten::detach(%pos)
 *         e = energy(pos)                  ->           ...                                   operators of energy
 *         return -torch.autograd.grad([e], [pos])[0]    ...                                   operators of the formulas
 *                                                       return (%99)
 *
 * That graph is optimised and fused like any other, and serves all calls whose arguments
 * have the same signature: numbers, sizes and branches are constants of it. Tensors are
 * recognised by their handles. What the call found elsewhere (parameters, constants of
 * the code) becomes a parameter of the graph after the arguments ("external").
 *
 * A call that cannot be recorded continues as if unobserved (capture.why
 * gives the reason): it reads an element to decide something, makes tensors
 * whose sizes depend on elements, or keeps a gradient with earlier data.
 *
 * One capture per thread at a time.
 * Tests: tests/corpus/grad at every level, tests/autograd
 */
#ifndef CTSC_RUNTIME_AUTOGRAD_GRAD_CAPTURE_H
#define CTSC_RUNTIME_AUTOGRAD_GRAD_CAPTURE_H

#include "ir/graph/graph.h"
#include "ir/op/op.h"

typedef struct capture {
    graph *g;
    ptrmap values;           /* tensor -> its ir_value */
    VEC(tensor *) held;      /* whatever has an entry, so that no other tensor gets its address */
    size_t sweep;            /* at this many held, unshared ones are released */
    VEC(tensor *) externals; /* of parameters after the declared ones */
    VEC(uint32_t) versions;  /* of their storages, when they were met */
    const char *why;         /* recording has failed; NULL: not yet */
    int nodes;
    /* something may be written that was there before, or random numbers are drawn: another run
     * would not do the same */
    bool writes;
    bool draws; /* random numbers */
} capture;

/* What the thread records; NULL: nothing. */
extern _Thread_local capture *capture_current;

/* Begins with `ninputs` tensors as parameters. false: out of memory. */
bool capture_begin(capture *c, int ninputs, tensor *const *inputs);
/* The operator has run. Nothing to do where nobody records. */
void capture_call(capture *c, const op *o, int nargs, const value *args, int returns,
                  const value *results);
/* `alias` is another handle of what `of` is. */
void capture_alias(tensor *of, tensor *alias);
/* t is a parameter of the graph from now on, and no external: its number; -1: failed. */
int capture_parameter(capture *c, tensor *t);
/* Recording fails: why. */
void capture_fail(capture *c, const char *why);
/* Did an operator make t while recording? It may be a view of what was there before. */
bool capture_made(const capture *c, const tensor *t);
/* The graph returns what v is made of, as a t (NULL: what v looks like). */
void capture_return(capture *c, value v, type *t);
/* Takes the graph out (NULL if recording failed) and frees the rest but externals (where it has not
 * failed). */
graph *capture_end(capture *c);

#endif
