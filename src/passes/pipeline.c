/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline.c - which passes run when: the rows of pipeline.def that hold for a graph, as a list.
 *
 *     pipeline_simplify, _body, _inline     what PyTorch does to the graphs that it shows
 *     pipeline_freeze                       torch.jit.freeze
 *     pipeline_level_0                      runs the graph as written
 *     pipeline_prepare, _specialise, _level what is run at the other levels, in this order
 *
 * Tests: tests/unit/test_pipeline.c, tests/run.py (every group at every level)
 */
#include "passes/passes.h"

enum {
    SIMPLIFY = PIPELINE_SIMPLIFY,
    FREEZE = PIPELINE_FREEZE,
    PREPARE = PIPELINE_PREPARE,
    SPECIALISE = PIPELINE_SPECIALISE,
    OPTIMISE = PIPELINE_OPTIMISE,
};
enum { DEVICE = 1, UNPACKED = 2, PACKED = 4, REDUCED = 8, AUTO = 16, ANYWHERE = 31 };
#define CHOSEN NULL

static const struct { const char *pass; uint8_t stages, level, where; } pipeline_steps[] = {
#define STEP(stages, pass, level, where) {pass, stages, level, where},
#include "passes/pipeline.def"
#undef STEP
};

static int pipeline_where(const pass_ctx *cx) {
    if (cx->device != DEVICE_HOST) return DEVICE;
    if (cx->reduce.pass) return cx->reduce.error > 0 ? AUTO : REDUCED;
    return cx->unpacked ? UNPACKED : PACKED;
}

void pipeline_order(const pass_ctx *cx, pipeline_stage stage, int level, strbuf *out) {
    int where = pipeline_where(cx);
    bool comma = false;
    for (size_t i = 0; i < sizeof pipeline_steps / sizeof *pipeline_steps; i++) {
        if (!(pipeline_steps[i].stages & stage) || !(pipeline_steps[i].where & where) ||
            pipeline_steps[i].level > level)
            continue;
        const char *pass = pipeline_steps[i].pass ? pipeline_steps[i].pass : cx->reduce.pass;
        if (comma && *pass != ']') sb_putc(out, ',');
        sb_puts(out, pass);
        comma = *pass != '[';
    }
}

static ctsc_status pipeline_run(pass_ctx *cx, graph *g, pipeline_stage stage, int level) {
    strbuf order = STRBUF_INIT;
    pipeline_order(cx, stage, level, &order);
    ctsc_status s = order.failed ? diag_no_memory(cx->diag)
                                 : pass_run_list(cx, g, sb_str(&order), NULL);
    sb_free(&order);
    return s;
}

ctsc_status pipeline_simplify(graph *g, diag *d) {
    return pipeline_run(&(pass_ctx){.diag = d}, g, PIPELINE_SIMPLIFY, 0);
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

ctsc_status pipeline_freeze(pass_ctx *cx, graph *g, bool fold) {
    return pipeline_run(cx, g, PIPELINE_FREEZE, fold ? 2 : 1);
}

ctsc_status pipeline_level_0(pass_ctx *cx, graph *g) {
    return pipeline_run(cx, g, PIPELINE_PREPARE, 0);
}

ctsc_status pipeline_prepare(pass_ctx *cx, graph *g) {
    return pipeline_run(cx, g, PIPELINE_PREPARE, 1);
}

ctsc_status pipeline_specialise(pass_ctx *cx, graph *g, int level) {
    return pipeline_run(cx, g, PIPELINE_SPECIALISE, level);
}

bool pipeline_has_layout(const pass_ctx *cx) {
    return pipeline_where(cx) & (PACKED | REDUCED | AUTO);
}

ctsc_status pipeline_level(pass_ctx *cx, graph *g, int level) {
    return pipeline_run(cx, g, PIPELINE_OPTIMISE, level);
}
