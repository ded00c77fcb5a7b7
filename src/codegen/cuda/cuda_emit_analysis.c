/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emit_analysis.c - what the CUDA printer has to know of a nest before it prints: which
 * variables are indices, and which buffers threads of a cooperative group exchange values through.
 *
 * A let is an index if it is used in an address, in a bound, or in the making of another such let.
 * Loops' variables are. Mutable variables never are: what programs count with may need 64 bits.
 * Tests: tests/unit/test_cuda_emit.c
 */
#include "codegen/cuda/cuda_emit_internal.h"

enum { NOTE_VALUE = 1, NOTE_INDEX = 2 };

typedef struct analysis_state {
    gpu_state *e;
    bool *loaded; /* as hazards */
    bool changed, fails;
} analysis_state;

static int analysis_place(const nest *n, const nest_buffer *b) {
    return b->index + (b->local ? n->nbuffers : 0);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static bool analysis_is_small(const gpu_state *e, const nest_expr *x, int depth);

/* An input, a variable or a constant: less than 2^30 if the nest has 32-bit indices (nest.h, point
 * 11). Mutable variables may count further. */
static bool analysis_is_small_leaf(const gpu_state *e, const nest_expr *x, int depth) {
    if (x->op == NEST_CONST) return x->u.i > -(1 << 30) && x->u.i < 1 << 30;
    if (x->op == NEST_INPUT) return true;
    if (x->op != NEST_VAR || x->u.var->is_mutable) return false;
    const gpu_var *v = &e->vars[x->u.var->index];
    return v->is_index || (depth == 0 && v->definition && analysis_is_small(e, v->definition, 1));
}

/* A leaf, or the sum or difference of two. */
static bool analysis_is_small(const gpu_state *e, const nest_expr *x, int depth) {
    if (x->op != NEST_ADD && x->op != NEST_SUB) return analysis_is_small_leaf(e, x, depth);
    return analysis_is_small_leaf(e, x->args[0], 1) && analysis_is_small_leaf(e, x->args[1], 1);
}

static bool analysis_is_index(const gpu_state *e, const nest_expr *x) {
    return x->op == NEST_VAR && e->vars[x->u.var->index].is_index;
}

bool gpu_compares_indices(const gpu_state *e, const nest_expr *x) {
    if (nest_ops[x->op].cls != 'C' || x->args[0]->type != NEST_I64) return false;
    return (analysis_is_index(e, x->args[0]) && analysis_is_small(e, x->args[1], 0)) ||
           (analysis_is_index(e, x->args[1]) && analysis_is_small(e, x->args[0], 0));
}

/* ---- indices --------------------------------------------------------------------------------- */

static void analysis_var(analysis_state *s, const nest_var *v) {
    gpu_var *own = &s->e->vars[v->index];
    if (own->is_index || v->is_mutable || v->type != NEST_I64) return;
    own->is_index = s->changed = true;
}

static void analysis_expr(analysis_state *s, nest_expr *x, bool index) {
    uint32_t how = index ? NOTE_INDEX : NOTE_VALUE;
    if (!x) return;
    if (x->mark != s->e->mark) x->slot = 0;
    x->mark = s->e->mark;
    if (x->slot & how) return;
    x->slot |= how;
    if (x->op == NEST_VAR && index) analysis_var(s, x->u.var);
    if (x->op == NEST_INPUT && index && x->type == NEST_I64) s->e->int_inputs[x->u.input] = true;
    if (x->op == NEST_LOAD) s->loaded[analysis_place(s->e->n, x->u.buffer)] = true;
    bool all = x->op == NEST_LOAD || gpu_compares_indices(s->e, x);
    for (int i = 0; i < x->nargs; i++)
        analysis_expr(s, x->args[i], all || (index && gpu_passes_index(x, i)));
}

static void analysis_block(analysis_state *s, const nest_block *b) {
    for (const nest_stmt *t = b->first; t; t = t->next) {
        s->e->mark = nest_fresh_mark(s->e->n);
        if (t->kind == NEST_FOR) analysis_var(s, t->var);
        if (t->kind == NEST_DECLARE) s->e->vars[t->var->index].definition = t->value;
        if (t->kind == NEST_FAIL || t->kind == NEST_WATCH) s->fails = true;
        analysis_expr(s, t->index, true);
        analysis_expr(s, t->begin, true);
        analysis_expr(s, t->end, true);
        analysis_expr(s, t->value, t->kind == NEST_DECLARE && s->e->vars[t->var->index].is_index);
        analysis_block(s, &t->body);
        analysis_block(s, &t->other);
    }
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void analysis_hazards(analysis_state *s) {
    const nest *n = s->e->n;
    for (int i = 0; n->coop && i < n->nbuffers; i++)
        s->e->hazards[i] = n->buffers[i]->written && s->loaded[i];
    for (int i = 0; n->coop && i < n->nlocals; i++)
        s->e->hazards[n->nbuffers + i] = s->loaded[n->nbuffers + i];
}

ctsc_status gpu_analyse(gpu_state *e, diag *d) {
    analysis_state s = {
        .e = e,
        .loaded = mem_zalloc((size_t)(e->n->nbuffers + e->n->nlocals + 1) * sizeof *s.loaded)};
    if (!s.loaded) return diag_no_memory(d);
    do { /* a let comes before its uses: as often as lets are made of lets */
        s.changed = false;
        analysis_block(&s, &e->n->body);
    } while (s.changed);
    analysis_hazards(&s);
    mem_free(s.loaded);
    return s.fails
               ? diag_fail(d, CTSC_UNSUPPORTED,
                           "loop nest %s can fail, which a GPU's kernel cannot report", e->n->name)
               : CTSC_OK;
}

bool gpu_stores_hazard(const gpu_state *e, const nest_block *body) {
    for (const nest_stmt *t = body->first; t; t = t->next) {
        if (t->kind == NEST_STORE && e->hazards[analysis_place(e->n, t->buffer)]) return true;
        if (gpu_stores_hazard(e, &t->body) || gpu_stores_hazard(e, &t->other)) return true;
    }
    return false;
}

/* ---- statements ------------------------------------------------------------------------------ */

nest_stmt *gpu_parallel_loop(const nest *n) {
    for (nest_stmt *t = n->body.first; t; t = t->next)
        if (t->kind == NEST_FOR && t->flags & NEST_PARALLEL) return t;
    return NULL;
}

bool gpu_declares(const nest_block *body, const nest_var *v) {
    for (const nest_stmt *t = body->first; t; t = t->next) {
        if ((t->kind == NEST_DECLARE || t->kind == NEST_FOR) && t->var == v) return true;
        if (gpu_declares(&t->body, v) || gpu_declares(&t->other, v)) return true;
    }
    return false;
}

static int analysis_accumulated(const nest_block *all, const nest_block *b, const nest_stmt **out,
                                int n, int max) {
    for (const nest_stmt *t = b->first; t && n >= 0; t = t->next) {
        bool known = t->kind != NEST_ACCUMULATE || gpu_declares(all, t->var);
        for (int i = 0; i < n && !known; i++) known = out[i]->var == t->var;
        if (!known && n == max) return -1;
        if (!known) out[n++] = t;
        n = analysis_accumulated(all, &t->body, out, n, max);
        if (n >= 0) n = analysis_accumulated(all, &t->other, out, n, max);
    }
    return n;
}

int gpu_accumulated(const nest_block *body, const nest_stmt **out, int max) {
    return analysis_accumulated(body, body, out, 0, max);
}
