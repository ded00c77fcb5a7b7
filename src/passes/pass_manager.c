/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_manager.c - runs passes.
 *
 * A list of passes is text: names with commas between them, and brackets around groups that are
 * repeated until nothing changes. pipeline.def makes the lists that levels run.
 * Tests: tests/cli/opt.test
 */
#include "passes/passes.h"

#include "base/clock.h"
#include "passes/pass_debug.h"

#include <string.h>

const pass pass_table[] = {
#define PASS(name, fn, text) {name, fn, text},
#include "passes/pass/passes.def"
#undef PASS
    {NULL, NULL, NULL},
};

static const pass *pass_find_n(const char *name, size_t len) {
    for (const pass *p = pass_table; p->name; p++)
        if (strlen(p->name) == len && !memcmp(p->name, name, len)) return p;
    return NULL;
}

const pass *pass_find(const char *name) { return pass_find_n(name, strlen(name)); }

/* ---- one pass -------------------------------------------------------------------------------- */

static ctsc_status pass_run(pass_ctx *cx, graph *g, const pass *p, bool *changed) {
    strbuf before = STRBUF_INIT;
    pass_debug_before(cx, g, &before);
    uint64_t begin = cx->times ? clock_now() : 0;
    bool did = p->fn(cx, g);
    if (cx->times) {
        pass_time *t = &cx->times[p - pass_table];
        t->nanoseconds += clock_now() - begin;
        t->runs++;
        t->changed += did;
    }
    *changed |= did;
    ctsc_status s = cx->diag->status;
    if (s == CTSC_OK && arena_failed(&g->arena)) s = diag_no_memory(cx->diag);
    if (s == CTSC_OK) s = pass_debug_after(cx, g, p, did, &before);
    sb_free(&before);
    return s;
}

void pass_print_times(const pass_ctx *cx, strbuf *out) {
    if (!cx->times) return;
    uint64_t all = 0;
    sb_printf(out, "%-20s %8s %8s %12s\n", "pass", "runs", "changed", "microseconds");
    for (int i = 0; i < PASS_COUNT; i++) {
        const pass_time *t = &cx->times[i];
        if (!t->runs) continue;
        all += t->nanoseconds;
        sb_printf(out, "%-20s %8d %8d %12.1f\n", pass_table[i].name, t->runs, t->changed,
                  (double)t->nanoseconds / 1e3);
    }
    sb_printf(out, "%-20s %8s %8s %12.1f\n", "total", "", "", (double)all / 1e3);
}

/* ---- lists of passes ------------------------------------------------------------------------- */

/* The bracket that closes the one at `at`; NULL: there is none. */
static const char *pass_group_end(const char *at, const char *end) {
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '[' && ++depth > PASS_MAX_NESTING) return NULL;
        if (*at == ']' && --depth == 0) return at;
    }
    return NULL;
}

static ctsc_status pass_run_span(pass_ctx *cx, graph *g, const char *at, const char *end,
                                 bool *changed);

static ctsc_status pass_repeat(pass_ctx *cx, graph *g, const char *at, const char *end,
                               bool *changed) {
    for (int round = 0; round < PASS_MAX_ROUNDS; round++) {
        bool again = false;
        TRY(pass_run_span(cx, g, at, end, &again));
        if (!again) break;
        *changed = true;
    }
    return CTSC_OK;
}

static ctsc_status pass_run_span(pass_ctx *cx, graph *g, const char *at, const char *end,
                                 bool *changed) {
    ctsc_status s = CTSC_OK;
    while (at < end && s == CTSC_OK) {
        if (*at == '[') {
            const char *close = pass_group_end(at, end);
            if (!close)
                return diag_fail(cx->diag, CTSC_USAGE,
                                 "brackets in a list of passes do not match, or nest too deeply");
            s = pass_repeat(cx, g, at + 1, close, changed);
            at = close + 1;
            if (at < end && *at != ',')
                return diag_fail(cx->diag, CTSC_USAGE,
                                 "a comma is missing after ']' in a list of passes");
        } else {
            const char *next = at;
            while (next < end && *next != ',') next++;
            const pass *p = pass_find_n(at, (size_t)(next - at));
            if (!p)
                return diag_fail(cx->diag, CTSC_USAGE, "there is no pass '%.*s'", (int)(next - at),
                                 at);
            s = pass_run(cx, g, p, changed);
            at = next;
        }
        if (at < end) at++; /* the comma */
    }
    return s;
}

ctsc_status pass_run_list(pass_ctx *cx, graph *g, const char *list, bool *changed) {
    bool own = false;
    return pass_run_span(cx, g, list, list + strlen(list), changed ? changed : &own);
}
