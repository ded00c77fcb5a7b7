/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline.c - which passes run when, in one place.
 */
#include "passes/passes.h"

#include <string.h>

const pass pass_table[] = {
#define PASS(name, fn, text) {name, fn, text},
#include "passes/passes.def"
#undef PASS
    {NULL, NULL, NULL},
};

const pass *pass_find(const char *name) {
    for (const pass *p = pass_table; p->name; p++)
        if (!strcmp(p->name, name)) return p;
    return NULL;
}

static ctsc_status pipeline_run(graph *g, diag *d, const char *const *names) {
    pass_ctx cx = {d};
    for (; *names; names++) {
        pass_find(*names)->fn(&cx, g);
        if (d->status != CTSC_OK) return d->status;
        if (arena_failed(&g->arena)) return diag_no_memory(d);
    }
    return CTSC_OK;
}

ctsc_status pipeline_simplify(graph *g, diag *d) {
    static const char *const names[] = {"normalize-ops", "lower-tuples", "fold-constants", "dce", "pool-constants", "order-outputs", NULL};
    return pipeline_run(g, d, names);
}

/* Dead code goes only where something changed, as in PyTorch: its inlined graphs still read submodules whose methods
 * use nothing of them. */
ctsc_status pipeline_body(graph *g, diag *d) {
    static bool (*const steps[])(pass_ctx *, graph *) = {pass_peephole, pass_fold_constants};
    pass_ctx cx = {d};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i](&cx, g)) pass_dce(&cx, g);
    pass_pool_constants(&cx, g);
    return d->status != CTSC_OK ? d->status : arena_failed(&g->arena) ? diag_no_memory(d) : CTSC_OK;
}

ctsc_status pipeline_inline(graph *g, diag *d) {
    static const char *const names[] = {"inline", NULL};
    return pipeline_run(g, d, names);
}
