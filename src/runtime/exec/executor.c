/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.c - makes the codes of functions.
 *
 * Graphs are optimised under the unit's lock, once per function and level; running needs no lock.
 * Tests: tests/corpus at every level, tests/unit/test_steady.c, test_api.c
 */
#include "runtime/exec/executor.h"

#include "ir/graph/alias.h"
#include "passes/passes.h"
#include "runtime/kernels/engine/kernel_settings.h"

#include <string.h>

static bool executor_graph_changes_nothing(graph *g) {
    alias_db *db = alias_new(g);
    bool same = db != NULL;
    for (const node *n = g->root->first; n && same; n = n->next) same = !alias_writes_world(db, n);
    if (db) alias_free(db);
    return same;
}

/* Does a call of f leave what was there before as it is? self: the module f is a method of, where
 * its attributes may be taken for what they are now; else NULL. A function that is not understood
 * may do anything. */
static bool executor_changes_nothing(function *f, const object *self) {
    diag lost = {0};
    graph *g = f->graph || function_ensure_compiled(f, &lost) == CTSC_OK ? graph_clone(f->graph)
                                                                         : NULL;
    bool same = g && pipeline_inline(g, false, &lost) == CTSC_OK;
    if (self)
        same = same && pipeline_specialise(&(pass_ctx){.diag = &lost, .self = (object *)self}, g,
                                           1) == CTSC_OK;
    same = same && !arena_failed(&g->arena) && executor_graph_changes_nothing(g);
    graph_free(g);
    diag_clear(&lost);
    return same;
}

static bool executor_others_change_nothing(const class_info *c, const function *f,
                                           const object *self) {
    for (size_t i = 0; i < c->methods.len; i++) {
        function *other = c->methods.data[i];
        if (other != f && strncmp(other->name, "__", 2) != 0 &&
            !executor_changes_nothing(other, self))
            return false;
    }
    return true;
}

/* Is all that can happen to the module in f? Then what f leaves alone stays as it is. Batch norms
 * count their calls, but only in training: if every method, f among them, changes nothing of the
 * module as it is, then it remains as it is, and no call will ever find it otherwise. */
static bool executor_changes_only_by(const object *self, function *f) {
    const class_info *c = self->cls->cls;
    if (c->forward_hooks.len || c->forward_pre_hooks.len) return false;
    return executor_others_change_nothing(c, f, NULL) ||
           (executor_changes_nothing(f, self) && executor_others_change_nothing(c, f, self));
}

/* after: the input of the passes after it. */
static ctsc_status executor_freeze(function *f, graph *g, int level, const object *self,
                                   const pass_ctx *after) {
    if (!self || !executor_changes_only_by(self, f)) return CTSC_OK;
    pass_ctx cx = {.diag = after->diag,
                   .self = (object *)self,
                   .put_off = level >= 2 && pipeline_has_layout(after)};
    return pipeline_specialise(&cx, g, level);
}

static int executor_autocast(const function *f) { return f->unit ? f->unit->autocast : 0; }

/* Regions need calls to be inlined; all of a program does not, each function
 * converts for itself. */
static bool executor_casts(const function *f) { return pass_autocast_wanted(f->graph); }

static int executor_device(const function *f) { return f->unit ? f->unit->device : DEVICE_HOST; }

/* Passes know nothing of names of dims: code that gives some runs as it is written. */
static bool executor_names_dims(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (n->op && (n->op->traits.family == FAMILY_NAMED || op_named_base(n->op))) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (executor_names_dims(n->blocks.data[i])) return true;
    }
    return false;
}

/* What passes produced, including constants that were folded into
 * others, stays with the graph that they worked on: a copy is kept. */
ctsc_status executor_optimise(function *f, int level, const object *self, diag *d, graph **out) {
    if (!f->graph) TRY(function_ensure_compiled(f, d));
    graph *g = graph_clone(f->graph);
    if (!g) return diag_no_memory(d);
    pass_ctx cx = {
        .diag = d,
        .device = executor_device(f),
        .unpacked = atomic_load(&kernel_no_packing),
        .autocast = executor_autocast(f),
        .reduce = f->unit ? f->unit->reduce : (reduction){0},
    };
    ctsc_status s = pipeline_inline(g, false, d);
    bool plain = s == CTSC_OK && executor_names_dims(g->root);
    if (s == CTSC_OK) s = plain ? pipeline_level_0(&cx, g) : pipeline_prepare(&cx, g);
    if (s == CTSC_OK && !plain) s = executor_freeze(f, g, level, self, &cx);
    if (s == CTSC_OK && !plain) s = pipeline_level(&cx, g, level);
    graph *kept = s == CTSC_OK ? graph_clone(g) : NULL;
    graph_free(g);
    if (s == CTSC_OK && !kept) s = diag_no_memory(d);
    if (s == CTSC_OK) *out = kept;
    return s;
}

static const char *executor_name(const function *f) {
    return f->qualified ? f->qualified : f->name;
}

/* Where f calls what does not compile (and may never be reached), it runs as it is written. */
static ctsc_status executor_code_optimised(function *f, int level, const object *self, diag *d,
                                           code **out) {
    diag own = {0};
    graph *g = NULL;
    ctsc_status s = executor_optimise(f, level, self, &own, &g);
    if (s == CTSC_OK) s = code_new(&own, executor_name(f), g, out);
    if (s == CTSC_OK) (*out)->graph = g;
    else graph_free(g);
    /* no memory, or a bug of ours */
    if (s == CTSC_LIMIT || s == CTSC_INTERNAL || s == CTSC_USAGE) {
        diag_append(d, &own);
        return s;
    }
    diag_clear(&own);
    return s == CTSC_OK ? CTSC_OK : code_new(d, executor_name(f), f->graph, out);
}

/* Level 0: f as it is written, except for what every level does. */
static ctsc_status executor_code_plain(function *f, diag *d, code **out) {
    pass_ctx cx = {.diag = d, .device = executor_device(f), .autocast = executor_autocast(f)};
    bool cast = executor_casts(f);
    if (!cast && !executor_autocast(f) && !pass_scalar_constants_wanted(f->graph) &&
        executor_device(f) == DEVICE_HOST)
        return code_new(d, executor_name(f), f->graph, out);
    graph *g = graph_clone(f->graph);
    if (!g) return diag_no_memory(d);
    ctsc_status s = cast ? pipeline_inline(g, false, d) : CTSC_OK;
    if (s == CTSC_OK) s = pipeline_level_0(&cx, g);
    if (s == CTSC_OK) s = code_new(d, executor_name(f), g, out);
    if (s == CTSC_OK) (*out)->graph = g;
    else graph_free(g);
    return s;
}

/* Programs that take gradients: every operator leaves what its derivative needs, so nothing
 * is fused or moved. */
static ctsc_status executor_code_taped(function *f, int level, diag *d, code **out) {
    pass_ctx cx = {.diag = d, .device = executor_device(f), .autocast = executor_autocast(f)};
    diag own = {0};
    graph *g = graph_clone(f->graph);
    if (!g) return diag_no_memory(d);
    bool inlined = (!level && !executor_casts(f)) || pipeline_inline(g, false, &own) == CTSC_OK;
    diag_clear(&own);
    if (!inlined) { /* what it calls does not compile, and may never be reached */
        graph_free(g);
        g = graph_clone(f->graph);
        if (!g) return diag_no_memory(d);
    }
    ctsc_status s = pipeline_level_0(&cx, g);
    if (s == CTSC_OK) s = code_new_taped(d, executor_name(f), g, out);
    if (s == CTSC_OK) (*out)->graph = g;
    else graph_free(g);
    return s;
}

static ctsc_status executor_code(function *f, int level, const object *self, diag *d, code **out) {
    if (level >= FUNCTION_TAPED) return executor_code_taped(f, level - FUNCTION_TAPED, d, out);
    return level ? executor_code_optimised(f, level, self, d, out) : executor_code_plain(f, d, out);
}

static ctsc_status code_ensure_locked(function *f, int level, const object *self, diag *d) {
    if (f->code[level]) return CTSC_OK;
    if (!f->graph) TRY(function_ensure_compiled(f, d));
    code *c = NULL;
    TRY(executor_code(f, level, self, d, &c));
    if (f->unit) f->unit->code_free = code_free;
    __atomic_store_n(&f->code[level], c, __ATOMIC_RELEASE);
    return CTSC_OK;
}

ctsc_status code_ensure(function *f, int level, const object *self, diag *d) {
    if (__atomic_load_n(&f->code[level], __ATOMIC_ACQUIRE)) return CTSC_OK;
    if (f->unit) pthread_mutex_lock(&f->unit->lock);
    ctsc_status s = code_ensure_locked(f, level, self, d);
    if (f->unit) pthread_mutex_unlock(&f->unit->lock);
    return s;
}
