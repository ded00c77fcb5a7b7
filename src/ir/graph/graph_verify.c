/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_verify.c - checks the invariants that graph.h states.
 *
 * Method: one walk in execution order. A map holds the values defined so far in the block and those
 * around it; leaving a block takes its values out again.
 * Tests: tests/unit/test_graph.c
 */
#include "ir/graph/graph.h"

#include <stdarg.h>

typedef struct verifier {
    diag *diag;
    const graph *g;
    ptrmap visible; /* value -> itself while visible */
} verifier;

static ctsc_status verify_fail(verifier *v, const node *n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static ctsc_status verify_fail(verifier *v, const node *n, const char *fmt, ...) {
    strbuf text = STRBUF_INIT;
    va_list ap;
    sb_puts(&text, "broken graph: ");
    va_start(ap, fmt);
    sb_vprintf(&text, fmt, ap);
    va_end(ap);
    if (n) {
        sb_puts(&text, "\nat: ");
        node_print(n, NULL, &text);
    }
    sb_puts(&text, "\n");
    graph_print(v->g, NULL, &text);
    diag_fail(v->diag, CTSC_INTERNAL, "%s", sb_str(&text));
    sb_free(&text);
    return CTSC_INTERNAL;
}

static ctsc_status verify_block(verifier *v, const block *b, const node *parent);

/* A value as its definition: numbered, typed, and each use leads back to it. */
static ctsc_status verify_definition(verifier *v, ir_value *val, const node *n, const block *b,
                                     int i) {
    if (val->index != i) return verify_fail(v, n, "value %d has the wrong index", val->id);
    if (val->def != n) return verify_fail(v, n, "value %d has the wrong definition", val->id);
    if (val->owner != b) return verify_fail(v, n, "value %d has the wrong owner", val->id);
    if (!val->type) return verify_fail(v, NULL, "value %d has no type", val->id);
    if (val->name[0] && ptrmap_get(&v->g->named, val->name) != val)
        return verify_fail(v, n, "the name %s is not its value's", val->name);
    for (size_t k = 0; k < val->uses.len; k++) {
        const use *u = &val->uses.data[k];
        size_t len = u->user ? u->user->inputs.len : u->blk ? u->blk->returns.len : 0;
        if (u->index < 0 || (size_t)u->index >= len)
            return verify_fail(v, n, "use %zu of value %d leads nowhere", k, val->id);
        ir_value *back = u->user ? u->user->inputs.data[u->index] : u->blk->returns.data[u->index];
        if (back != val) return verify_fail(v, n, "use %zu of value %d is of another", k, val->id);
    }
    if (!ptrmap_put(&v->visible, val, val)) return diag_no_memory(v->diag);
    return CTSC_OK;
}

static ctsc_status verify_use(verifier *v, const ir_value *val, const node *n, const block *blk,
                              int index) {
    if (!val || !ptrmap_get(&v->visible, val))
        return verify_fail(v, n, "value %d is used where it is not defined", val ? val->id : -1);
    for (size_t i = 0; i < val->uses.len; i++) {
        const use *u = &val->uses.data[i];
        if (u->user == n && u->blk == blk && u->index == index) return CTSC_OK;
    }
    return verify_fail(v, n, "value %d does not know that it is used", val->id);
}

static bool verify_type(const ir_value *val, type_kind k) {
    return val->type->kind == k || val->type->kind == T_ANY;
}

static ctsc_status verify_if(verifier *v, const node *n) {
    if (n->inputs.len != 1 || n->blocks.len != 2)
        return verify_fail(v, n, "an If has one condition and two blocks");
    if (!verify_type(n->inputs.data[0], T_BOOL))
        return verify_fail(v, n, "the condition is not a bool");
    for (int i = 0; i < 2; i++) {
        const block *b = n->blocks.data[i];
        if (b->params.len) return verify_fail(v, n, "a branch has parameters");
        if (b->returns.len != n->outputs.len)
            return verify_fail(v, n, "a branch returns %zu values for %zu outputs", b->returns.len,
                               n->outputs.len);
    }
    return CTSC_OK;
}

static ctsc_status verify_loop(verifier *v, const node *n) {
    if (n->inputs.len < 2 || n->blocks.len != 1)
        return verify_fail(v, n, "a Loop has a trip count, a condition and one block");
    const block *b = n->blocks.data[0];
    size_t carried = n->inputs.len - 2;
    if (b->params.len != carried + 1 || b->returns.len != carried + 1 || n->outputs.len != carried)
        return verify_fail(v, n, "a Loop's inputs, parameters, returns and outputs do not match");
    if (!verify_type(n->inputs.data[0], T_INT) || !verify_type(n->inputs.data[1], T_BOOL) ||
        !verify_type(b->params.data[0], T_INT) || !verify_type(b->returns.data[0], T_BOOL))
        return verify_fail(v, n, "a Loop counts ints and tests bools");
    return CTSC_OK;
}

static ctsc_status verify_kind(verifier *v, const node *n) {
    if (n->kind < 0 || n->kind >= N_KIND_COUNT) return verify_fail(v, NULL, "unknown node kind");
    if (n->kind == N_IF) return verify_if(v, n);
    if (n->kind == N_LOOP) return verify_loop(v, n);
    if (n->kind == N_CONSTANT && (n->inputs.len || n->outputs.len != 1))
        return verify_fail(v, n, "a Constant has no inputs and one output");
    if (n->kind == N_OP && (!n->op_name || !n->op_name[0]))
        return verify_fail(v, n, "an operator without a name");
    const schema *s = n->op ? n->op->schema : NULL;
    if (!s) return CTSC_OK;
    size_t nargs = (size_t)s->nargs;
    if (s->vararg ? n->inputs.len < nargs : n->inputs.len != nargs)
        return verify_fail(v, n, "%s takes %zu arguments, not %zu", n->op->key, nargs,
                           n->inputs.len);
    if (!s->varret && n->outputs.len != (size_t)s->nreturns)
        return verify_fail(v, n, "%s gives %d results, not %zu", n->op->key, s->nreturns,
                           n->outputs.len);
    return CTSC_OK;
}

static ctsc_status verify_node(verifier *v, const node *n, const block *b) {
    if (n->owner != b || n->g != v->g) return verify_fail(v, NULL, "a node with the wrong owner");
    if (n->prev ? n->prev->next != n : b->first != n)
        return verify_fail(v, NULL, "the list of nodes is broken");
    for (size_t i = 0; i < n->inputs.len; i++) {
        TRY(verify_use(v, n->inputs.data[i], n, NULL, (int)i));
    }
    ctsc_status s = verify_kind(v, n);
    for (size_t i = 0; s == CTSC_OK && i < n->blocks.len; i++)
        s = verify_block(v, n->blocks.data[i], n);
    for (size_t i = 0; s == CTSC_OK && i < n->outputs.len; i++)
        s = verify_definition(v, n->outputs.data[i], n, b, (int)i);
    for (const attr *a = n->attrs; s == CTSC_OK && a; a = a->next)
        if (a->kind == ATTR_GRAPH) s = graph_verify(v->diag, a->u.g);
    return s;
}

/* Values that go out of scope; the map keeps their keys, without a value. */
static void verify_hide(verifier *v, size_t n, ir_value *const *vals) {
    for (size_t i = 0; i < n; i++) ptrmap_put(&v->visible, vals[i], NULL);
}

static ctsc_status verify_block(verifier *v, const block *b, const node *parent) {
    if (b->g != v->g || b->parent != parent)
        return verify_fail(v, parent, "a block with the wrong owner");
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; s == CTSC_OK && i < b->params.len; i++)
        s = verify_definition(v, b->params.data[i], NULL, b, (int)i);
    const node *last = NULL;
    for (const node *n = b->first; s == CTSC_OK && n; n = n->next) {
        s = verify_node(v, n, b);
        last = n;
    }
    if (s == CTSC_OK && b->last != last) s = verify_fail(v, parent, "a block with the wrong end");
    for (size_t i = 0; s == CTSC_OK && i < b->returns.len; i++)
        s = verify_use(v, b->returns.data[i], NULL, b, (int)i);
    verify_hide(v, b->params.len, b->params.data);
    for (const node *n = b->first; n && s == CTSC_OK; n = n->next)
        verify_hide(v, n->outputs.len, n->outputs.data);
    return s;
}

ctsc_status graph_verify(diag *d, const graph *g) {
    if (arena_failed(&g->arena)) return diag_no_memory(d);
    verifier v = {.diag = d, .g = g};
    ctsc_status s = verify_block(&v, g->root, NULL);
    ptrmap_free(&v.visible);
    return s;
}
