/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline.c - replaces calls by the bodies of the called functions.
 *
 *     %y = prim::CallMethod[name="forward"](%m, %x)     ->     %w = prim::GetAttr[name="weight"](%m)
 *                                                             %y = aten::linear(%x, %w, %b)
 *
 * Method. Each function called gets one body, made when first needed: a copy of its graph whose own
 * calls are inlined and which is then tidied (pipeline_body): the arguments its calls give are
 * constants often enough that most branches go. Bodies are shared by all calls: copied for each but
 * the last, which takes the body itself, so that code that is called once is not copied at each
 * level of calls around it. That is what PyTorch's inlined graphs look like. A method called
 * through an interface has no single body and stays a call. Depth and size are capped: nested calls
 * can double the graph at each level.
 * Tests: tests/cli/show.test, tests/corpus (graph.txt)
 */
#include "passes/passes.h"

enum { INLINE_MAX_DEPTH = 128, INLINE_MAX_BYTES = 256 << 20, INLINE_MAX_NESTING = 1500 };

typedef struct inline_body {
    graph *g;    /* NULL: not made yet, or taken by the last call */
    int nesting; /* of its blocks */
    int calls;   /* still to come, as far as counted */
} inline_body;

typedef struct inliner {
    pass_ctx *cx;
    ptrmap bodies; /* function * -> inline_body * */
    VEC(inline_body *) made;
    /* of the bodies being made; while counting, of the functions looked into */
    int depth;
    size_t bytes; /* of the bodies made */
} inliner;

function *inline_callee(const node *n) {
    value v;
    if (n->kind == N_CALL_FUNCTION && ir_value_constant(n->inputs.data[0], &v) &&
        v.tag == V_FUNCTION)
        return v.u.function;
    if (n->kind == N_CALL_METHOD && n->inputs.data[0]->type->kind == T_CLASS)
        return class_find_method(n->inputs.data[0]->type, node_str(n, "name"));
    return NULL;
}

static bool inline_block(inliner *in, graph *g, block *b);

static int inline_nesting(const block *b) {
    int most = 0;
    for (const node *n = b->first; n; n = n->next)
        for (size_t i = 0; i < n->blocks.len; i++) {
            int depth = 1 + inline_nesting(n->blocks.data[i]);
            if (depth > most) most = depth;
        }
    return most;
}

static inline_body *inline_body_of(inliner *in, function *f) {
    inline_body *b = ptrmap_get(&in->bodies, f);
    if (b) return b;
    b = mem_zalloc(sizeof *b);
    if (!b || !vec_push(&in->made, b)) {
        mem_free(b);
        diag_no_memory(in->cx->diag);
        return NULL;
    }
    return ptrmap_put(&in->bodies, f, b) ? b : (diag_no_memory(in->cx->diag), NULL);
}

/* How often is each function called? Each is visited once. Where this counts too
 * few (functions too deep are not inlined in the end), a body is made again. */
static bool inline_count(inliner *in, const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        function *f = inline_callee(n);
        inline_body *body = f ? inline_body_of(in, f) : NULL;
        if (f && !body) return false;
        if (f && !body->calls++ && in->depth < INLINE_MAX_DEPTH) {
            in->depth++;
            bool ok = function_ensure_compiled(f, in->cx->diag) == CTSC_OK &&
                      inline_count(in, f->graph->root);
            in->depth--;
            if (!ok) return false;
        }
        for (size_t i = 0; i < n->blocks.len; i++)
            if (!inline_count(in, n->blocks.data[i])) return false;
    }
    return true;
}

static bool inline_make_body(inliner *in, function *f, inline_body *body) {
    diag *d = in->cx->diag;
    if (function_ensure_compiled(f, d) != CTSC_OK) return false;
    graph *g = graph_clone(f->graph);
    if (!g) return diag_no_memory(d), false;
    in->depth++;
    bool ok = inline_block(in, g, g->root) && pipeline_body(in->cx, g) == CTSC_OK;
    in->depth--;
    if (!ok) {
        graph_free(g);
        return false;
    }
    body->g = g;
    body->nesting = inline_nesting(g->root);
    in->bytes += g->arena.total;
    return true;
}

static int inline_level(const block *b) {
    int level = 0;
    for (; b->parent; b = b->parent->owner) level++;
    return level;
}

static bool inline_call(inliner *in, graph *g, node *n, function *f) {
    if (in->depth > INLINE_MAX_DEPTH || in->bytes + g->arena.total > INLINE_MAX_BYTES) {
        diag_fail_at(in->cx->diag, CTSC_LIMIT, n->range, "calls nest too deeply to be inlined");
        return false;
    }
    inline_body *body = inline_body_of(in, f);
    if (!body || (!body->g && !inline_make_body(in, f, body))) return false;
    if (body->nesting + inline_level(n->owner) > INLINE_MAX_NESTING) {
        diag_fail_at(in->cx->diag, CTSC_LIMIT, n->range,
                     "the blocks of calls nest too deeply to be inlined");
        return false;
    }
    size_t skip = n->kind == N_CALL_FUNCTION;
    ir_value *outs[1];
    bool last = --body->calls <= 0;
    graph_inline_call(g, n, f->qualified ? f->qualified : f->name, body->g, last,
                      n->inputs.data + skip, outs);
    if (last) body->g = NULL;
    if (arena_failed(&g->arena)) return false;
    if (value_has_name(n->outputs.data[0]) && !value_has_name(outs[0])) {
        const char *name = n->outputs.data[0]->name;
        value_set_name(n->outputs.data[0], "");
        value_set_name(outs[0], name);
    }
    value_replace_uses(n->outputs.data[0], outs[0]);
    ir_value *callee = skip ? n->inputs.data[0] : NULL;
    node_remove(n);
    /* the constant that named the function */
    if (callee && !callee->uses.len) node_remove(callee->def);
    return true;
}

static bool inline_block(inliner *in, graph *g, block *b) {
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        function *f = inline_callee(n);
        if (f && !inline_call(in, g, n, f)) return false;
        if (f) continue;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (!inline_block(in, g, n->blocks.data[i])) return false;
    }
    return true;
}

bool pass_inline(pass_ctx *cx, graph *g) {
    inliner in = {.cx = cx};
    bool ok = inline_count(&in, g->root) && inline_block(&in, g, g->root);
    for (size_t i = 0; i < in.made.len; i++) {
        graph_free(in.made.data[i]->g);
        mem_free(in.made.data[i]);
    }
    vec_free(&in.made);
    ptrmap_free(&in.bodies);
    return ok;
}
