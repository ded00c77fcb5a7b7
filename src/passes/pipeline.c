/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline.c - which passes run when.
 *
 *     pipeline_simplify, _body, _inline     what PyTorch does to the graphs that it shows
 *     pipeline_freeze                       torch.jit.freeze
 *     pipeline_level_0                      what is run as it is written
 *     pipeline_prepare, _specialise, _level what is run at the other levels, in this order
 *
 * Tests: tests/cli/opt.test, tests/run.py (every group at every level)
 */
#include "passes/passes.h"

#define FREEZE "freeze,peephole,fold-constants,lower-tuples,dce"
#define TIDY "[fold-constants,peephole,cse,licm,dce-writes]"

ctsc_status pipeline_simplify(graph *g, diag *d) {
    pass_ctx cx = {.diag = d};
    return pass_run_list(
        &cx, g, "normalize-ops,lower-tuples,fold-constants,dce,pool-constants,order-outputs", NULL);
}

/* Dead code goes only where something changed, as in PyTorch: its inlined graphs still read
 * submodules whose methods use nothing of them. */
ctsc_status pipeline_body(pass_ctx *given, graph *g) {
    static const char *const steps[] = {"peephole-shown", "fold-constants"};
    pass_ctx cx = {.diag = given->diag, .shown = given->shown};
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && s == CTSC_OK; i++) {
        bool changed = false;
        s = pass_run_list(&cx, g, steps[i], &changed);
        if (s == CTSC_OK && changed) s = pass_run_list(&cx, g, "dce", NULL);
    }
    return s == CTSC_OK ? pass_run_list(&cx, g, "pool-constants", NULL) : s;
}

ctsc_status pipeline_inline(graph *g, bool shown, diag *d) {
    pass_ctx cx = {.diag = d, .shown = shown};
    return pass_run_list(&cx, g, "inline", NULL);
}

/* Freezing again and again: that batch norm does not write its statistics is known once
 * `training` is a constant. */
ctsc_status pipeline_freeze(pass_ctx *cx, graph *g, bool fold) {
    return pass_run_list(cx, g,
                         fold ? "inline,[" FREEZE
                                ",fuse-linear,fold-weights],pool-constants,order-outputs"
                              : "inline,[" FREEZE "],pool-constants,order-outputs",
                         NULL);
}

ctsc_status pipeline_level_0(pass_ctx *cx, graph *g) {
    return pass_run_list(cx, g, "scalar-constants,place", NULL);
}

ctsc_status pipeline_prepare(pass_ctx *cx, graph *g) {
    return pass_run_list(cx, g, "scalar-constants,decompose,place", NULL);
}

/* Folding batch norms into weights changes results by rounding: that is for the
 * level that fuses. */
ctsc_status pipeline_specialise(pass_ctx *cx, graph *g, int level) {
    return pass_run_list(
        cx, g, level < 2 ? "[" FREEZE "]" : "[" FREEZE ",fuse-linear,fold-weights],fold-tensors",
        NULL);
}

/* Loops over elements become kernels before small ones would be unrolled. `products`: what becomes
 * of products and convolutions before anything is fused. Behind layout, fusion groups work on
 * images whose channels come last; epilogues go into convolutions first. */
#define LEVEL_1 "lower-tuples,pool-constants,remove-mutation,unroll," TIDY ",pool-constants"
#define LEVEL_2(products, weights)                                                                 \
    "lower-tuples,pool-constants," TIDY ",join-sums,fuse-loops,remove-mutation,unroll," TIDY       \
    ",batch-mm," products "pool-constants,recompute,fuse-loops,fuse," weights "dce,reorder"
/* Convolutions of reduced precision write nowhere else. */
#define LAST "fuse-attention,layout,make-weights,fuse-epilogues-host,"

bool pipeline_has_layout(const pass_ctx *cx) {
    return cx->device == DEVICE_HOST && (!cx->unpacked || cx->reduce);
}

ctsc_status pipeline_level(pass_ctx *cx, graph *g, int level) {
    if (level < 2) return pass_run_list(cx, g, LEVEL_1, NULL);
    if (cx->device != DEVICE_HOST)
        return pass_run_list(cx, g, LEVEL_2("fuse-attention,fuse-epilogues,", ""), NULL);
    if (!pipeline_has_layout(cx)) return pass_run_list(cx, g, LEVEL_2("fuse-attention,", ""), NULL);
    if (!cx->reduce)
        return pass_run_list(cx, g, LEVEL_2(LAST "cat-in-place,", "slice-images,prepack,"), NULL);
    ctsc_status s = pass_run_list(cx, g, LEVEL_2(LAST, "slice-images,prepack,"), NULL);
    return s == CTSC_OK ? pass_run_list(cx, g, cx->reduce, NULL) : s;
}
