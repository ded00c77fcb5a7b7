/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_compiler.c - ctsc_compiler.h: passes on graphs in text form.
 *
 * Tests: tests/ir
 */
#include "ctsc_compiler.h"
#include "passes/passes.h"
#include "runtime/api.h"

#include <string.h>

static ctsc_status api_run_passes(diag *d, graph *g, const char *passes) {
    pass_ctx cx = {d};
    while (*passes) {
        size_t n = strcspn(passes, ",");
        char name[64];
        if (n >= sizeof name) return diag_fail(d, CTSC_USAGE, "there is no pass of that name");
        memcpy(name, passes, n);
        name[n] = '\0';
        const pass *p = pass_find(name);
        if (!p) return diag_fail(d, CTSC_USAGE, "there is no pass '%s'", name);
        p->fn(&cx, g);
        if (d->status != CTSC_OK) return d->status;
        if (arena_failed(&g->arena)) return diag_no_memory(d);
        ctsc_status s = graph_verify(d, g);
        if (s != CTSC_OK) return s;
        passes += n + (passes[n] == ',');
    }
    return CTSC_OK;
}

ctsc_status ctsc_opt_text(const char *name, const char *text, size_t len, const char *passes, char **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    graph *g = NULL;
    ctsc_status s = graph_parse(d, name, text, len, &g);
    if (s == CTSC_OK) s = graph_verify(d, g);
    if (s == CTSC_OK) s = api_run_passes(d, g, passes);
    if (s == CTSC_OK) {
        strbuf sb = STRBUF_INIT;
        graph_print_options po = {.locations = true};
        graph_print(g, &po, &sb);
        char *t = sb_take(&sb);
        if (t) *out = t;
        else s = diag_no_memory(d);
    }
    if (g) graph_free(g);
    return api_leave(e, &own, s);
}

void ctsc_passes(void (*visit)(void *ctx, const char *name, const char *text), void *ctx) {
    for (const pass *p = pass_table; p->name; p++) visit(ctx, p->name, p->text);
}
