/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssa.c - from prim::Load and prim::Store of variables to SSA.
 *
 * Four steps, each over the whole graph:
 *   1. control flow gets explicit Loads and Stores: a variable assigned in a branch, and
 *      known after both, becomes a return of both blocks, an output
 *      of the If, and a Store after it; a variable assigned in a
 *      loop's body and known before it becomes a carried value
 *          before:  y = Store; If { y = Store }        after:  %y = If { -> (%1) } { -> (%y.1) }
 *   2. break and continue say what they carry: both become ContinueStmt(condition, carried
 *      values...), which
 *      exits.c turns into the returns of the loop's body
 *   3. loop conditions move: a copy in front of the loop gives the initial condition, the
 *      block itself goes
 *      to the end of the body
 *   4. every Load is replaced by the value of the Store it sees
 * The block with a loop's condition takes no part in the first two: nothing assigned
 * there outlives it.
 *
 * Variables are handled in order of their names, as PyTorch does, so that the result
 * is deterministic.
 * Tests: tests/corpus
 */
#include "frontend/irgen/irgen.h"

#include <stdlib.h>

/* ---- 1: control flow ------------------------------------------------------------------------- */

typedef struct ssa_env { strmap vars; struct ssa_env *next; } ssa_env; /* name -> type */

typedef struct ssa_state { graph *g; diag *d; bool failed; } ssa_state;

static type *ssa_lookup(const ssa_env *env, const char *name) {
    for (; env; env = env->next) {
        type *t = strmap_get(&env->vars, name);
        if (t) return t;
    }
    return NULL;
}

static ir_value *ssa_load(graph *g, const char *name, type *t) { /* not inserted */
    node *n = node_new(g, N_LOAD, 0, NULL, 1);
    node_set_str(n, "name", name);
    n->outputs.data[0]->type = t;
    return n->outputs.data[0];
}

static node *ssa_store(graph *g, const char *name, ir_value *v) {
    node *n = node_new(g, N_STORE, 1, &v, 0);
    node_set_str(n, "name", name);
    return n;
}

static void ssa_name(graph *g, ir_value *v, const char *name) {
    const char *own = strchr(name, '$'); /* "x$3": the x of a comprehension */
    if (own) name = intern_n(&g->names, name, (size_t)(own - name));
    bool meaningful = name[0] != '_';
    for (const char *p = name + 1; !meaningful && *p; p++) meaningful = *p < '0' || *p > '9';
    if (meaningful) value_set_name(v, name);
}

static void ssa_block_output(graph *g, block *b, const char *name, type *t) {
    ir_value *v = ssa_load(g, name, t);
    block_append(b, v->def);
    block_add_return(b, v);
}

/* Adds an output for a variable and a Store after the node. */
static void ssa_node_output(graph *g, node *n, const char *name, type *t) {
    ir_value *out = node_add_output(n, t);
    ssa_name(g, out, name);
    node_insert_after(ssa_store(g, name, out), n);
}

static int ssa_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef VEC(const char *) name_list;

static void ssa_collect(graph *g, const ssa_env *env, const ssa_env *skip, name_list *out) {
    for (size_t i = 0; i < env->vars.cap; i++) {
        const char *name = env->vars.slots[i].key;
        if (name && !(skip && strmap_get(&skip->vars, name))) avec_push(&g->arena, out, name);
    }
}

static void ssa_flow_block(ssa_state *s, block *b, ssa_env *outer, ssa_env *env);

static void ssa_flow_if(ssa_state *s, node *n, ssa_env *env) {
    ssa_env branch[2];
    for (int k = 0; k < 2; k++) ssa_flow_block(s, n->blocks.data[k], env, &branch[k]);
    name_list names = {0};
    ssa_collect(s->g, &branch[0], NULL, &names);
    ssa_collect(s->g, &branch[1], &branch[0], &names);
    if (names.len) qsort(names.data, names.len, sizeof *names.data, ssa_compare);
    for (size_t i = 0; i < names.len; i++) {
        const char *name = names.data[i];
        type *t = strmap_get(&branch[0].vars, name), *f = strmap_get(&branch[1].vars, name);
        if (!t) t = ssa_lookup(env, name);
        if (!f) f = ssa_lookup(env, name);
        if (!t || !f) continue; /* local to one branch */
        type *u = type_unify(t, f, true);
        if (!u) continue; /* cannot be used afterwards: emission saw to it */
        ssa_block_output(s->g, n->blocks.data[0], name, t);
        ssa_block_output(s->g, n->blocks.data[1], name, f);
        ssa_node_output(s->g, n, name, u);
    }
    for (int k = 0; k < 2; k++) strmap_free(&branch[k].vars);
}

/* Loops of a body that was compiled into its call (irgen_inline.c) have been converted with it. */
static bool ssa_is_converted(const node *loop) { return loop->blocks.len == 1; }

static void ssa_flow_loop(ssa_state *s, node *n, ssa_env *env) {
    block *body = n->blocks.data[0];
    ssa_env inner;
    ssa_flow_block(s, body, env, &inner);
    name_list names = {0};
    ssa_collect(s->g, &inner, NULL, &names);
    if (names.len) qsort(names.data, names.len, sizeof *names.data, ssa_compare);
    node *first = body->first;
    for (size_t i = 0; i < names.len; i++) {
        const char *name = names.data[i];
        type *before = ssa_lookup(env, name), *within = strmap_get(&inner.vars, name);
        if (!before) continue; /* lives inside one iteration only */
        type *carried = type_unify(before, within, true);
        if (!carried) carried = before;
        ir_value *in = ssa_load(s->g, name, before);
        node_insert_before(in->def, n);
        node_add_input(n, in);
        ir_value *p = block_add_param(body, carried);
        ssa_name(s->g, p, name);
        node *st = ssa_store(s->g, name, p);
        if (first) node_insert_before(st, first);
        else block_append(body, st);
        ssa_block_output(s->g, body, name, within);
        ssa_node_output(s->g, n, name, carried);
    }
    strmap_free(&inner.vars);
}

static void ssa_flow_block(ssa_state *s, block *b, ssa_env *outer, ssa_env *env) {
    *env = (ssa_env){.next = outer};
    for (node *n = b->first; n; n = n->next) {
        if (arena_failed(&s->g->arena)) s->failed = true;
        if (s->failed) return;
        if (n->kind == N_IF) ssa_flow_if(s, n, env);
        else if (n->kind == N_LOOP && !ssa_is_converted(n)) ssa_flow_loop(s, n, env);
        else if (n->kind == N_STORE &&
                 !strmap_put(&env->vars, node_str(n, "name"), n->inputs.data[0]->type))
            s->failed = true;
    }
}

/* ---- 2: break and continue ------------------------------------------------------------------- */

static bool ssa_copy_block(graph *g, const block *from, node *at, ir_value *v, ir_value **out);

/* A break or continue of `loop` learns the condition and the carried values it goes on with. */
static bool ssa_jump(graph *g, node *jump, const node *loop) {
    const block *body = loop->blocks.data[0], *cond = loop->blocks.data[1];
    node *to = node_new(g, N_CONTINUE, 0, NULL, 0);
    to->range = jump->range;
    node_insert_after(to, jump);
    ir_value *c;
    if (jump->kind == N_BREAK) {
        graph_set_insert(g, to->owner, to);
        c = graph_constant_bool(g, false);
    } else if (!ssa_copy_block(g, cond, to, cond->returns.data[0], &c)) {
        return false;
    }
    node_add_input(to, c);
    for (size_t i = 0; i < body->returns.len; i++) { /* Loads at the body's end */
        const ir_value *v = body->returns.data[i];
        ir_value *in = ssa_load(g, node_str(v->def, "name"), v->type);
        node_insert_before(in->def, to);
        node_add_input(to, in);
    }
    node_remove(jump);
    return !arena_failed(&g->arena);
}

static bool ssa_jumps(graph *g, block *b, const node *loop) {
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        if (n->kind == N_LOOP) {
            if (!ssa_is_converted(n) && !ssa_jumps(g, n->blocks.data[0], n)) return false;
        } else if (n->kind == N_BREAK || n->kind == N_CONTINUE) {
            if (!ssa_jump(g, n, loop)) return false;
        } else {
            for (size_t i = 0; i < n->blocks.len; i++)
                if (!ssa_jumps(g, n->blocks.data[i], loop)) return false;
        }
    }
    return true;
}

/* ---- 3: loop conditions ---------------------------------------------------------------------- */

static ir_value *ssa_mapped(void *ctx, ir_value *v) {
    ir_value *to = ptrmap_get(ctx, v);
    return to ? to : v;
}

/* Copies the nodes of `from` in front of `at`; *out is what v became. False if out of memory. */
static bool ssa_copy_block(graph *g, const block *from, node *at, ir_value *v, ir_value **out) {
    ptrmap map = {0};
    bool ok = true;
    for (const node *n = from->first; n && ok; n = n->next) {
        node *c = node_clone(g, n, ssa_mapped, &map);
        if (arena_failed(&g->arena)) ok = false;
        else node_insert_before(c, at);
        for (size_t i = 0; ok && i < n->outputs.len; i++)
            ok = ptrmap_put(&map, n->outputs.data[i], c->outputs.data[i]);
    }
    *out = ssa_mapped(&map, v);
    ptrmap_free(&map);
    return ok;
}

static bool ssa_inline_conditions(graph *g, block *b) {
    for (node *n = b->first; n; n = n->next) {
        if (n->kind == N_LOOP && ssa_is_converted(n)) continue;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (!ssa_inline_conditions(g, n->blocks.data[i])) return false;
        if (n->kind != N_LOOP) continue;
        block *body = n->blocks.data[0], *cond = n->blocks.data[1];
        ir_value *c = cond->returns.data[0], *first;
        if (!ssa_copy_block(g, cond, n, c, &first)) return false;
        node_insert_input(n, 1, first);
        block_insert_return(body, 0, c);
        block_remove_return(cond, 0);
        if (cond->first) {
            node *end = node_new(g, N_CONSTANT, 0, NULL, 0);
            block_append(body, end);
            while (cond->first) node_move_before(cond->first, end);
            node_remove(end);
        }
        n->blocks.len = 1;
    }
    return true;
}

/* ---- 4: Loads and Stores go ------------------------------------------------------------------ */

static ir_value *ssa_value_of(const ssa_env *env, const char *name) {
    for (; env; env = env->next) {
        ir_value *v = strmap_get(&env->vars, name);
        if (v) return v;
    }
    return NULL;
}

static void ssa_erase_block(ssa_state *s, block *b, ssa_env *outer) {
    ssa_env env = {.next = outer};
    for (node *n = b->first, *next; n && !s->failed; n = next) {
        next = n->next;
        if (n->kind == N_STORE) {
            if (!strmap_put(&env.vars, node_str(n, "name"), n->inputs.data[0])) s->failed = true;
            node_remove(n);
        } else if (n->kind == N_LOAD) {
            ir_value *v = ssa_value_of(&env, node_str(n, "name"));
            if (!v) {
                diag_fail_at(s->d, CTSC_INTERNAL, n->range, "variable %s has no value here",
                             node_str(n, "name"));
                s->failed = true;
                break;
            }
            value_replace_uses(n->outputs.data[0], v);
            node_remove(n);
        } else {
            for (size_t i = 0; i < n->blocks.len; i++) ssa_erase_block(s, n->blocks.data[i], &env);
        }
    }
    strmap_free(&env.vars);
}

ctsc_status ssa_convert(graph *g, diag *d) {
    ssa_state s = {.g = g, .d = d};
    ssa_env env;
    ssa_flow_block(&s, g->root, NULL, &env);
    strmap_free(&env.vars);
    if (!s.failed && (!ssa_jumps(g, g->root, NULL) || !ssa_inline_conditions(g, g->root)))
        s.failed = true;
    if (!s.failed) ssa_erase_block(&s, g->root, NULL);
    if (d->status != CTSC_OK) return d->status;
    return s.failed || arena_failed(&g->arena) ? diag_no_memory(d) : CTSC_OK;
}
