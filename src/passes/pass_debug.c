/* SPDX-License-Identifier: Apache-2.0 */
/* pass_debug.c - shows graphs between passes, and verifies them (pass_debug.h). */
#include "passes/pass_debug.h"

#include "base/log.h"
#include "base/variables.h"

#include <pthread.h>
#include <string.h>

/* ---- what the environment asks for ----------------------------------------------------------- */

static struct { const char *print_after; bool verify; } debug_variables;

/* The next name of a list with commas, its length in *n; NULL: there is none. */
static const char *debug_next(const char **list, size_t *n) {
    const char *name = *list;
    if (!*name) return NULL;
    *n = strcspn(name, ",");
    *list = name + *n + (name[*n] == ',');
    return name;
}

static bool debug_is(const char *name, size_t n, const char *other) {
    return strlen(other) == n && !memcmp(name, other, n);
}

static bool debug_is_known(const char *name, size_t n) {
    for (const pass *p = pass_table; p->name; p++)
        if (debug_is(name, n, p->name)) return true;
    return debug_is(name, n, "all");
}

static void debug_read(void) {
    const char *list = variable_get(VARIABLE_PRINT_AFTER), *verify = variable_get(VARIABLE_VERIFY);
    debug_variables.print_after = list;
    debug_variables.verify = verify && strcmp(verify, "0") != 0;
    size_t n;
    for (const char *name; list && (name = debug_next(&list, &n));)
        if (!debug_is_known(name, n))
            log_print("ctsc: CTSC_PRINT_AFTER: there is no pass '%.*s' (ctsc opt --list)\n", (int)n,
                      name);
}

static bool debug_prints(const pass *p) {
    const char *list = debug_variables.print_after;
    size_t n;
    for (const char *name; list && (name = debug_next(&list, &n));)
        if (debug_is(name, n, p->name) || debug_is(name, n, "all")) return true;
    return false;
}

static bool debug_verifies(const pass_ctx *cx) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, debug_read);
    return debug_variables.verify || (cx->options && cx->options->verify_each);
}

/* ---- after a pass ---------------------------------------------------------------------------- */

static void debug_show(const pass_options *o, const graph *g, const pass *p, bool changed) {
    bool asked = o && o->print &&
                 (o->print_after_all || (o->print_after && !strcmp(o->print_after, p->name))),
         variable = debug_prints(p);
    if (!asked && !variable) return;
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "*** after %s (%s) ***\n", p->name, changed ? "changed" : "unchanged");
    graph_print(g, NULL, &sb);
    sb_putc(&sb, '\n');
    if (!sb.failed && asked) o->print(o->print_ctx, sb_str(&sb), sb.len);
    if (!sb.failed && variable) log_print("%s", sb_str(&sb));
    sb_free(&sb);
}

static ctsc_status debug_verify(pass_ctx *cx, const graph *g, const pass *p, const strbuf *before) {
    char path[LOG_PATH];
    ctsc_status s = graph_verify(cx->diag, g);
    if (s == CTSC_OK) return s;
    diag_note(cx->diag, (source_range){0}, "the graph is so after pass '%s'", p->name);
    bool left = !before->failed && log_leave(p->name, sb_str(before), before->len, path);
    if (left)
        diag_note(cx->diag, (source_range){0},
                  "what it was before: ctsc opt --passes %s --verify-each '%s'\n", p->name, path);
    if (debug_variables.verify)
        log_print("ctsc: the graph is damaged after pass '%s'%s%s%s%s%s\n", p->name,
                  left ? ": ctsc opt --passes " : "", left ? p->name : "",
                  left ? " --verify-each '" : "", left ? path : "", left ? "'" : "");
    return s;
}

void pass_debug_before(const pass_ctx *cx, const graph *g, strbuf *before) {
    if (debug_verifies(cx)) graph_print(g, &(graph_print_options){.locations = true}, before);
}

ctsc_status pass_debug_after(pass_ctx *cx, const graph *g, const pass *p, bool changed,
                             const strbuf *before) {
    debug_show(cx->options, g, p, changed);
    return debug_verifies(cx) ? debug_verify(cx, g, p, before) : CTSC_OK;
}
