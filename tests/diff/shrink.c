/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shrink.c - the smallest graph that still shows a difference: returns, nodes, branches and carried
 * values are taken away one by one, for as long as `bad` says that what is left differs.
 */
#include "shrink.h"

typedef struct shrinker {
    graph *g;
    bool (*bad)(void *ctx, graph *g);
    void *ctx;
} shrinker;

/* Node number `at` in the order of the text; constants do not count. */
static node *shrink_find(block *b, int *at) {
    for (node *n = b->first; n; n = n->next) {
        if (n->kind != N_CONSTANT && (*at)-- == 0) return n;
        for (size_t i = 0; i < n->blocks.len; i++) {
            node *found = shrink_find(n->blocks.data[i], at);
            if (found) return found;
        }
    }
    return NULL;
}

/* Something of the type that is visible at n: number `which` of them, from the nearest back. */
static ir_value *shrink_other(node *n, const type *t, int which) {
    for (size_t i = 0; i < n->inputs.len; i++)
        if (n->inputs.data[i]->type == t && which-- == 0) return n->inputs.data[i];
    for (block *b = n->owner; b; b = b->parent ? b->parent->owner : NULL) {
        for (node *p = b == n->owner ? n->prev : NULL; p; p = p->prev)
            for (size_t i = 0; i < p->outputs.len; i++)
                if (p->outputs.data[i]->type == t && which-- == 0) return p->outputs.data[i];
        for (size_t i = 0; i < b->params.len; i++)
            if (b->params.data[i]->type == t && which-- == 0) return b->params.data[i];
    }
    return NULL;
}

static bool shrink_drop(node *n, int which) {
    for (size_t i = 0; i < n->outputs.len; i++) {
        ir_value *v = n->outputs.data[i],
                 *other = v->uses.len ? shrink_other(n, v->type, which) : v;
        if (!other) return false;
        if (other != v) value_replace_uses(v, other);
    }
    node_remove(n);
    return true;
}

/* A branch, or one round of a loop, takes the place of its node. */
static bool shrink_flatten(node *n, int which) {
    if (n->kind != N_IF && (n->kind != N_LOOP || which > 0)) return false;
    block *b = n->blocks.data[which];
    if (n->kind == N_LOOP) {
        graph_set_insert(n->g, n->owner, n);
        value_replace_uses(b->params.data[0], graph_constant_int(n->g, 0));
        for (size_t i = 1; i < b->params.len; i++)
            value_replace_uses(b->params.data[i], n->inputs.data[i + 1]);
    }
    while (b->first) node_move_before(b->first, n);
    for (size_t i = 0; i < n->outputs.len; i++)
        value_replace_uses(n->outputs.data[i], b->returns.data[i + (n->kind == N_LOOP)]);
    node_remove(n);
    return true;
}

static bool shrink_output(node *n, int which) {
    if ((n->kind != N_IF && n->kind != N_LOOP) || which >= (int)n->outputs.len ||
        n->outputs.data[which]->uses.len)
        return false;
    if (n->kind == N_LOOP) {
        ir_value *p = n->blocks.data[0]->params.data[which + 1];
        value_replace_uses(p, n->inputs.data[which + 2]);
        block_remove_return(n->blocks.data[0], which + 1);
        block_remove_param(n->blocks.data[0], which + 1);
        node_remove_input(n, which + 2);
    } else {
        for (int i = 0; i < 2; i++) block_remove_return(n->blocks.data[i], which);
    }
    node_remove_output(n, which);
    return true;
}

static bool shrink_return(graph *g, int at) {
    if (at >= (int)g->root->returns.len) return false;
    block_remove_return(g->root, at);
    return true;
}

enum { SHRINK_RETURN, SHRINK_OUTPUT, SHRINK_FLATTEN, SHRINK_DROP, SHRINK_STEPS, SHRINK_WAYS = 5 };

/* One step on a copy; kept if it is still bad. *possible: was there such a step at all? */
static bool shrink_try(shrinker *s, int step, int at, int which, bool *possible) {
    graph *g = graph_clone(s->g);
    diag d = {0};
    int k = at;
    node *n = step == SHRINK_RETURN ? NULL : shrink_find(g->root, &k);
    switch (step) {
    case SHRINK_RETURN: *possible = shrink_return(g, at); break;
    case SHRINK_OUTPUT: *possible = n && shrink_output(n, which); break;
    case SHRINK_FLATTEN: *possible = n && shrink_flatten(n, which); break;
    default: *possible = n && shrink_drop(n, which); break;
    }
    bool good = *possible && graph_verify(&d, g) == CTSC_OK && s->bad(s->ctx, g);
    diag_clear(&d);
    graph_free(good ? s->g : g);
    if (good) s->g = g;
    return good;
}

static int shrink_count(const block *b) {
    int n = 0;
    for (const node *x = b->first; x; x = x->next) {
        n += x->kind != N_CONSTANT;
        for (size_t i = 0; i < x->blocks.len; i++) n += shrink_count(x->blocks.data[i]);
    }
    return n;
}

static bool shrink_round(shrinker *s, int step) {
    bool any = false, possible;
    int n = step == SHRINK_RETURN ? (int)s->g->root->returns.len : shrink_count(s->g->root);
    for (int at = n - 1; at >= 0; at--)
        for (int which = 0; which < (step == SHRINK_RETURN ? 1 : SHRINK_WAYS); which++)
            if (shrink_try(s, step, at, which, &possible)) {
                any = true;
                break;
            }
    return any;
}

static void shrink_dead_constants(block *b) {
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) shrink_dead_constants(n->blocks.data[i]);
        if (n->kind == N_CONSTANT && !n->outputs.data[0]->uses.len) node_remove(n);
    }
}

graph *shrink_graph(const graph *g, bool (*bad)(void *ctx, graph *g), void *ctx) {
    shrinker s = {graph_clone(g), bad, ctx};
    for (int round = 0; round < 10; round++) {
        bool any = false;
        for (int step = 0; step < SHRINK_STEPS; step++) any |= shrink_round(&s, step);
        if (!any) break;
    }
    shrink_dead_constants(s.g->root);
    return s.g;
}
