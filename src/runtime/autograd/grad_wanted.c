/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_wanted.c - which programs take gradients: those that reach an operator with ASKS_GRADIENT,
 * in calls and blocks as well.
 *
 * What a call through an interface reaches is not known; every method of that name counts.
 * Tests: tests/corpus/grad
 */
#include "passes/passes.h"
#include "runtime/autograd/autograd.h"

#include <string.h>

enum { WANTED_MAX_DEPTH = 128 };

typedef struct wanted {
    ptrmap seen; /* functions that were looked into */
    const unit *u;
    int depth;
    bool no_memory;
} wanted;

static bool wanted_block(wanted *w, const block *b);

static bool wanted_compiles(wanted *w, function *f) {
    diag lost = {0};
    ctsc_status s = f->graph ? CTSC_OK : function_ensure_compiled(f, &lost);
    w->no_memory |= s == CTSC_LIMIT;
    diag_clear(&lost);
    return s == CTSC_OK;
}

static bool wanted_function(wanted *w, function *f) {
    if (w->no_memory || w->depth == WANTED_MAX_DEPTH || ptrmap_get(&w->seen, f)) return false;
    w->no_memory |= !ptrmap_put(&w->seen, f, f);
    if (w->no_memory || !wanted_compiles(w, f)) return false;
    w->depth++;
    bool yes = wanted_block(w, f->graph->root);
    w->depth--;
    return yes;
}

static bool wanted_methods(wanted *w, const char *name) {
    for (size_t i = 0; w->u && i < w->u->all_functions.len; i++) {
        function *f = w->u->all_functions.data[i];
        if (f->cls && f->cls->kind == T_CLASS && !strcmp(f->name, name) && wanted_function(w, f))
            return true;
    }
    return false;
}

static bool wanted_call(wanted *w, const node *n) {
    function *f = inline_callee(n);
    if (f) return wanted_function(w, f);
    return n->kind == N_CALL_METHOD && wanted_methods(w, node_str(n, "name"));
}

/* An overload is resolved when code is made of the graph; here its name will do. */
static bool wanted_op(const node *n) {
    int count = 0;
    if (n->op) return n->op->traits.asks_gradient;
    const op *const *o = n->kind == N_OP && n->op_name ? op_overloads(n->op_name, &count) : NULL;
    return count && o[0]->traits.asks_gradient;
}

static bool wanted_node(wanted *w, const node *n) {
    if (n->kind == N_CALL_METHOD || n->kind == N_CALL_FUNCTION) return wanted_call(w, n);
    if (wanted_op(n)) return true;
    for (size_t i = 0; i < n->blocks.len; i++)
        if (wanted_block(w, n->blocks.data[i])) return true;
    for (const attr *a = n->attrs; a; a = a->next)
        if (a->kind == ATTR_GRAPH && wanted_block(w, a->u.g->root)) return true;
    return false;
}

static bool wanted_block(wanted *w, const block *b) {
    for (const node *n = b->first; n; n = n->next)
        if (wanted_node(w, n)) return true;
    return false;
}

static ctsc_status wanted_find(function *f, diag *d) {
    wanted w = {.u = f->unit};
    bool yes = wanted_function(&w, f);
    ptrmap_free(&w.seen);
    if (w.no_memory) return diag_no_memory(d);
    __atomic_store_n(&f->takes_gradients, yes ? FUNCTION_TAKES_GRADIENTS : FUNCTION_TAKES_NONE,
                     __ATOMIC_RELEASE);
    return CTSC_OK;
}

ctsc_status autograd_find_wanted(function *f, diag *d) {
    if (f->unit) pthread_mutex_lock(&f->unit->lock);
    ctsc_status s = wanted_find(f, d);
    if (f->unit) pthread_mutex_unlock(&f->unit->lock);
    return s;
}
