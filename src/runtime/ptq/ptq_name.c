/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptq_name.c - what layers are called (ptq.h): the module that they are in, "layer1.0.conv1", as
 * calls that were inlined or a trace's scopes tell it; else what their result is called; else their
 * kind and number. A module that is called twice has two layers, "fc" and "fc#2".
 */
#include "runtime/ptq/ptq.h"

#include <stdio.h>
#include <string.h>

bool ptq_fits(const char *pattern, const char *name) {
    const char *star = NULL, *again = NULL;
    while (*name) {
        if (*pattern == '*') star = pattern++, again = name;
        else if (*pattern == '?' || *pattern == *name) pattern++, name++;
        else if (star) pattern = star + 1, name = ++again;
        else return false;
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

/* The paths of the calls, from the outermost on. */
static void name_calls(const call_site *c, strbuf *sb) {
    if (!c) return;
    name_calls(c->caller, sb);
    if (c->path && *c->path) sb_printf(sb, "%s%s", sb->len ? "." : "", c->path);
}

/* "__module.features/__module.features.0" -> "features.0" */
static void name_scope(const char *scope, strbuf *sb) {
    const char *slash = strrchr(scope, '/'), *text = slash ? slash + 1 : scope;
    const char *dot = strchr(text, '.');
    if (dot && !strncmp(text, "__module", 8)) sb_puts(sb, dot + 1);
}

static const char *name_of(ptq_report *r, const node *n, const char *kind, size_t number) {
    strbuf sb = STRBUF_INIT;
    name_calls(n->call, &sb);
    if (!sb.len && n->scope) name_scope(n->scope, &sb);
    if (!sb.len && value_has_name(n->outputs.data[0])) sb_puts(&sb, n->outputs.data[0]->name);
    char *text = sb.len ? sb_take(&sb) : NULL;
    const char *name = text ? arena_printf(&r->arena, "%s", text)
                            : arena_printf(&r->arena, "%s_%zu", kind, number);
    mem_free(text);
    sb_free(&sb);
    return name;
}

/* How many of the layers before have that name. */
static size_t name_count(const ptq_report *r, size_t i, const char *name) {
    size_t n = 0;
    for (size_t k = 0; k < i; k++) {
        size_t len = strcspn(r->layers[k].name, "#");
        n += strlen(name) == len && !strncmp(name, r->layers[k].name, len);
    }
    return n;
}

ctsc_status ptq_name_layers(ptq *p) {
    ptq_report *r = p->report;
    for (size_t i = 0; i < r->n; i++) {
        const quantise_layer *l = &p->layers.data[i];
        const char *name = name_of(r, l->n, l->kind, i + 1);
        if (!name || arena_failed(&r->arena)) return diag_no_memory(p->d);
        size_t before = name_count(r, i, name);
        if (before) name = arena_printf(&r->arena, "%s#%zu", name, before + 1);
        if (!name || arena_failed(&r->arena)) return diag_no_memory(p->d);
        ptq_layer *to = &r->layers[i];
        to->name = name;
        to->kind = l->kind;
        to->ndim = l->w->ndim;
        for (int k = 0; k < l->w->ndim; k++) to->sizes[k] = l->w->sizes[k];
        for (size_t k = 0; k < p->o->nkeep; k++) p->named[i] |= ptq_fits(p->o->keep[k], name);
    }
    return CTSC_OK;
}
