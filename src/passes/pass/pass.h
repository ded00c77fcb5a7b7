/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - what a pass is, for authors of passes.
 *
 * A pass is `bool pass_x(pass_ctx *, graph *)`: true if it changed something. It
 * leaves a valid graph, whatever it was given, unless memory ran out (arena_failed)
 * or ctx->diag says otherwise. passes.def lists the passes. rewrite.h has what
 * pattern-replacing passes share, value_analysis.h what can be known of values.
 * Tests: tests/ir/<pass>/
 */
#ifndef CTSC_PASSES_PASS_PASS_H
#define CTSC_PASSES_PASS_PASS_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

/* What a person who works on the compiler wants to see of a run. The library never prints: text
 * goes to `print`. */
typedef struct pass_options {
    bool print_after_all;    /* the graph after each pass */
    const char *print_after; /* after the pass of this name; NULL: none */
    bool verify_each;        /* the verifier after each pass: a failure names the pass */
    void (*print)(void *ctx, const char *text, size_t len);
    void *print_ctx;
} pass_options;

typedef struct pass_time { int runs, changed; uint64_t nanoseconds; } pass_time;

typedef struct pass_ctx {
    diag *diag;
    /* the module whose method the graph is: what `freeze` reads; NULL: not known; borrowed */
    object *self;
    bool put_off;  /* elements of folded weights wait for `make-weights` */
    bool unpacked; /* constant weights stay as they are (ctsc_set_packing) */
    bool batched;  /* images are taken to have a batch dim, as torch.jit.freeze does */
    /* the graph is shown and not run: as in PyTorch's, inputs of convolutions count as batched */
    bool shown;
    reduction reduce; /* of layers' precision */
    /* the dtype to which pass `autocast` converts all of the program; 0: only regions of its own */
    int autocast;
    /* where the module was moved to (pass place); DEVICE_HOST: nowhere */
    int device;
    /* the least result that is worth making again (pass recompute); 0: as usual */
    int64_t recompute_bytes;
    const pass_options *options; /* NULL: none */
    pass_time *times;            /* PASS_COUNT of them; NULL: not measured */
} pass_ctx;

#define PASS(name, fn, text) bool fn(pass_ctx *cx, graph *g);
#include "passes/pass/passes.def"
#undef PASS

/* How many there are. */
enum {
#define PASS(name, fn, text) PASS_NUMBER_##fn,
#include "passes/pass/passes.def"
#undef PASS
    PASS_COUNT
};

#endif
