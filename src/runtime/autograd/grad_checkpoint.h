/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_checkpoint.h - gradient checkpointing: what a call computed on its way is computed again for
 * its gradients, instead of being kept from the call to its backward pass.
 *
 * Method. A captured call and its gradients are one graph without control flow (grad_pair.h), so no
 * layer has to be wrapped: the call's nodes are divided into segments, and what the gradients read
 * of a segment's inside is computed again, by copies of its nodes that stand before the first
 * reader. Kept is what crosses from one segment to the next, what random numbers were drawn for
 * (noise of zeros and ones as bools), and what a copy might compute otherwise (it, or what it
 * reads, is written later). The last segment is not computed again: its gradients come first.
 *
 *     forward:  s1 s2 s3                   s1 s2 s3
 *     backward:          g3 g2 g1    ->             g3 s2' g2 s1' g1
 *
 * Segments end where little crosses, which is between the layers of a sequence: of all divisions
 * into at most so many segments this takes the one whose largest inside is least, with ends that
 * are pushed to the narrowest place near by. What a step takes at its peak is found by going
 * through the graph, which knows all sizes.
 *
 * Rejected: a function around each layer whose gradient runs it again (torch.utils.checkpoint in
 * Python): calls of such are not captured, and a step would run as single operators.
 *
 * The first call, which is captured, need not keep what later ones do not: in a warm-up (`dry`) it
 * computes geometry alone (base/memory/unbacked.h).
 * Tests: tests/unit/test_checkpoint.c, tests/cli/train-checkpoint-layers.test
 */
#ifndef CTSC_RUNTIME_AUTOGRAD_GRAD_CHECKPOINT_H
#define CTSC_RUNTIME_AUTOGRAD_GRAD_CHECKPOINT_H

#include "runtime/autograd/grad_pair.h"

/* What a module's calls are to do (ctsc_module_set_checkpoints), and what became of it. */
typedef struct checkpoints {
    int64_t segments; /* 0: the fewest whose peak is at most max_bytes */
    uint64_t max_bytes;
    bool dry; /* the calls of now are made to be captured, not for their results */
    /* of the captured call whose peak is largest: */
    int64_t chosen;
    uint64_t peak, peak_without;
    char why[160]; /* a call could not be captured; "": all could */
} checkpoints;

/* Of the calls that the thread makes now; NULL: none. */
extern _Thread_local checkpoints *checkpoints_current;

/* Divides the captured call (p->nodes nodes of g, its gradients after them), and counts the nodes
 * that it adds to it in p. false: out of memory. */
bool checkpoint_graph(checkpoints *c, pair_plan *p, graph *g);
/* The most bytes that tensors take at a time while g runs, parameters aside. */
uint64_t checkpoint_peak(const graph *g);

#endif
