/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exits.c - break, continue and return become values and branches.
 *
 * Method. PyTorch's scheme, so that graphs have its structure. Jumps of loops are removed
 * first, then returns. A block that may have exited yields a bool "has exited" and the values
 * that travel to the exit's target; what follows in the block moves into the other branch of an
 * If on that bool:
 *     before:                          after:
 *       prim::If(%c)                     %done, %r = prim::If(%c)
 *         block0():                        block0():
 *           prim::ReturnStmt(%x)             -> (%true, %x)
 *         block1():                        block1():
 *           -> ()                            -> (%false, %uninitialized)
 *       rest...                          %r2 = prim::If(%done)
 *                                          block0():
 *                                            -> (%r)
 *                                          block1():
 *                                            rest...
 * A loop whose body may return carries both, and ends. Then an If whose condition is a constant in
 * either branch of the If before it is merged into that one, and a `for` that may end early becomes
 * a `while` with a counter.
 *
 * While it is open, the nodes between Enter and Exit of a `with` statement are in the body
 * of a prim::With, so that an exit from there skips the rest of the body, but not the Exit.
 *
 * Tests: tests/lang, tests/corpus
 */
#include "frontend/irgen/irgen.h"

/* each early exit nests what follows it */
enum { EXITS_MAX_DEPTH = 1000, EXITS_MAX_MOVES = 10000000 };

typedef VEC(ir_value *) value_list;

/* done: the transform's `yes`, `no` or `threw`, or a bool found out at run time */
typedef struct exit_pair { ir_value *done; value_list values; } exit_pair;

typedef enum exit_status { EXITS_WILL, EXITS_MIGHT, EXITS_WONT, EXITS_THROWS } exit_status;

typedef struct exits {
    graph *g;
    diag *d;
    node_kind kind; /* of the statements being removed */
    ir_value *yes, *no, *threw;
    block *target;         /* where they lead */
    VEC(ir_value *) units; /* Uninitialized values, one per type */
    int depth, moved;      /* nesting; nodes moved in all: depth times length is quadratic */
} exits;

static ir_value *exits_unit(exits *x, type *t) {
    for (size_t i = 0; i < x->units.len; i++)
        if (x->units.data[i]->type == t) return x->units.data[i];
    node *n = node_new(x->g, N_UNINITIALIZED, 0, NULL, 1);
    n->outputs.data[0]->type = t;
    block_prepend(x->g->root, n);
    avec_push(&x->g->arena, &x->units, n->outputs.data[0]);
    return n->outputs.data[0];
}

static exit_status exits_status(const exits *x, const exit_pair *p) {
    return p->done == x->yes     ? EXITS_WILL
           : p->done == x->no    ? EXITS_WONT
           : p->done == x->threw ? EXITS_THROWS
                                 : EXITS_MIGHT;
}

static bool exits_failed(const exits *x) {
    return x->d->status != CTSC_OK || arena_failed(&x->g->arena);
}

static void exits_push(exits *x, value_list *l, ir_value *v) { avec_push(&x->g->arena, l, v); }

static value_list exits_units_like(exits *x, ir_value *const *values, size_t n) {
    value_list l = {0};
    for (size_t i = 0; i < n; i++) exits_push(x, &l, exits_unit(x, values[i]->type));
    return l;
}

/* Adds an output that is t after one branch and f after the other. */
static ir_value *exits_if_output(node *n, ir_value *t, ir_value *f) {
    block_add_return(n->blocks.data[0], t);
    block_add_return(n->blocks.data[1], f);
    type *u = type_unify(t->type, f->type, true);
    return node_add_output(n, u ? u : TYPE_ANY);
}

static node *exits_new_if(exits *x, ir_value *cond) {
    node *n = node_new(x->g, N_IF, 1, &cond, 0);
    node_add_block(n);
    node_add_block(n);
    return n;
}

/* ---- the transform --------------------------------------------------------------------------- */

static exit_pair exits_block(exits *x, block *b);

static exit_pair exits_loop(exits *x, node *n) {
    block *body = n->blocks.data[0];
    exit_pair p = exits_block(x, body);
    exit_status s = exits_status(x, &p);
    /* the loop may run no iteration: what its body throws says nothing about the loop */
    if (s == EXITS_WONT || s == EXITS_THROWS || exits_failed(x)) return (exit_pair){.done = x->no};
    node *stop = exits_new_if(x, p.done);
    block_append(body, stop);
    block_set_return(body, 0, exits_if_output(stop, x->no, body->returns.data[0]));
    exit_pair out = {0};
    node_add_input(n, x->no);
    block_add_param(body, TYPE_BOOL);
    block_add_return(body, p.done);
    out.done = node_add_output(n, TYPE_BOOL);
    for (size_t i = 0; i < p.values.len; i++) {
        ir_value *v = p.values.data[i];
        node_add_input(n, exits_unit(x, v->type));
        block_add_param(body, v->type);
        block_add_return(body, v);
        exits_push(x, &out.values, node_add_output(n, v->type));
    }
    return out;
}

static exit_status exits_either(exit_status a, exit_status b) {
    if (a == EXITS_THROWS) return b;
    if (b == EXITS_THROWS || a == b) return a;
    return EXITS_MIGHT;
}

static bool exits_has_values(exit_status s) { return s == EXITS_WILL || s == EXITS_MIGHT; }

static exit_pair exits_if(exits *x, node *n) {
    exit_pair t = exits_block(x, n->blocks.data[0]), f = exits_block(x, n->blocks.data[1]);
    exit_status ts = exits_status(x, &t), fs = exits_status(x, &f), s = exits_either(ts, fs);
    if (!exits_has_values(s) || exits_failed(x))
        return (exit_pair){.done = s == EXITS_THROWS ? x->threw : x->no};
    if (!exits_has_values(ts)) t.values = exits_units_like(x, f.values.data, f.values.len);
    else if (!exits_has_values(fs)) f.values = exits_units_like(x, t.values.data, t.values.len);
    exit_pair out = {.done = s == EXITS_WILL ? x->yes : exits_if_output(n, t.done, f.done)};
    for (size_t i = 0; i < t.values.len && i < f.values.len; i++)
        exits_push(x, &out.values, exits_if_output(n, t.values.data[i], f.values.data[i]));
    return out;
}

/* What follows `first` in the block runs only if there was no exit. */
static exit_pair exits_guard(exits *x, block *b, const exit_pair *p, node *first) {
    node *n = exits_new_if(x, p->done);
    node_insert_before(n, first);
    block *exited = n->blocks.data[0], *rest = n->blocks.data[1];
    node *end = node_new(x->g, N_CONSTANT, 0, NULL, 0);
    block_append(rest, end);
    for (; n->next; x->moved++) node_move_before(n->next, end);
    node_remove(end);
    for (size_t i = 0; i < b->returns.len; i++) {
        ir_value *v = b->returns.data[i];
        block_add_return(exited, exits_unit(x, v->type));
        block_add_return(rest, v);
        block_set_return(b, (int)i, node_add_output(n, v->type));
    }
    node *again = node_new(x->g, x->kind, (int)p->values.len, p->values.data, 0);
    block_append(exited, again);
    return exits_if(x, n);
}

/* Removes the nodes after an exit; uses of their
 * values that remain are never evaluated. */
static void exits_delete_from(exits *x, block *b, node *first) {
    if (!first) return;
    for (node *n = b->last, *prev;; n = prev) {
        prev = n->prev;
        for (size_t i = 0; i < n->outputs.len; i++) {
            ir_value *v = n->outputs.data[i];
            if (v->uses.len) value_replace_uses(v, exits_unit(x, v->type));
        }
        bool last = n == first;
        node_remove(n);
        if (last) break;
    }
}

static void exits_arrive(exits *x, block *b, const exit_pair *p) {
    exit_status s = exits_status(x, p);
    if (!exits_has_values(s) || p->values.len != b->returns.len) return;
    if (s == EXITS_WILL) {
        for (size_t i = 0; i < b->returns.len; i++) block_set_return(b, (int)i, p->values.data[i]);
        return;
    }
    node *n = exits_new_if(x, p->done);
    block_append(b, n);
    for (size_t i = 0; i < b->returns.len; i++)
        block_set_return(b, (int)i, exits_if_output(n, p->values.data[i], b->returns.data[i]));
}

static exit_pair exits_nodes(exits *x, block *b) {
    exit_pair p = {.done = x->no};
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        if (exits_failed(x)) break;
        if (n->kind == N_RAISE) {
            p = (exit_pair){.done = x->threw};
        } else if (n->kind == x->kind) {
            p = (exit_pair){.done = x->yes};
            for (size_t i = 0; i < n->inputs.len; i++) exits_push(x, &p.values, n->inputs.data[i]);
            node_remove(n);
        } else if (n->kind == N_IF) {
            p = exits_if(x, n);
        } else if (n->kind == N_LOOP) {
            p = exits_loop(x, n);
        } else if (n->kind == N_WITH) {
            p = exits_block(x, n->blocks.data[0]);
        }
        exit_status s = exits_status(x, &p);
        if (s == EXITS_WONT) continue;
        if (s != EXITS_MIGHT) exits_delete_from(x, b, next);
        else if (next) p = exits_guard(x, b, &p, next);
        break;
    }
    return p;
}

static exit_pair exits_block(exits *x, block *b) {
    exit_pair p = {.done = x->no};
    if (x->depth >= EXITS_MAX_DEPTH || x->moved > EXITS_MAX_MOVES) {
        diag_fail_at(
            x->d, CTSC_FAILED, b->parent ? b->parent->range : x->g->range,
            "too many statements that leave a loop or a function early follow one another");
        return p;
    }
    x->depth++;
    block *before = x->target;
    bool loop = b->parent && b->parent->kind == N_LOOP;
    if (x->kind == N_CONTINUE ? loop : !b->parent) x->target = b;
    p = exits_nodes(x, b);
    if (x->target == b && !exits_failed(x)) {
        exits_arrive(x, b, &p);
        p = (exit_pair){.done = x->no}; /* here it ends */
    }
    x->target = before;
    x->depth--;
    return p;
}

static void exits_remove(graph *g, diag *d, node_kind kind) {
    exits x = {.g = g, .d = d, .kind = kind};
    graph_set_insert(g, g->root, g->root->first);
    x.yes = graph_constant_bool(g, true);
    x.no = graph_constant_bool(g, false);
    x.threw = exits_unit(&x, TYPE_BOOL);
    if (!arena_failed(&g->arena)) exits_block(&x, g->root);
}

/* ---- with ------------------------------------------------------------------------------------ */

static bool exits_inside(const block *b, const block *of) {
    for (; b; b = b->parent ? b->parent->owner : NULL)
        if (b == of) return true;
    return false;
}

/* Values made in a With's body and used after it become its outputs. */
static void exits_with_outputs(node *with) {
    block *body = with->blocks.data[0];
    for (node *n = body->first; n; n = n->next)
        for (size_t i = 0; i < n->outputs.len; i++) {
            ir_value *v = n->outputs.data[i], *out = NULL;
            for (size_t k = 0; k < v->uses.len;) {
                use u = v->uses.data[k];
                if (exits_inside(u.user ? u.user->owner : u.blk, body)) {
                    k++;
                    continue;
                }
                if (!out) {
                    block_add_return(body, v);
                    out = node_add_output(with, v->type);
                    k = 0; /* the list of uses has changed */
                    continue;
                }
                if (u.user) node_set_input(u.user, u.index, out);
                else block_set_return(u.blk, u.index, out);
                k = 0;
            }
        }
}

/* before:  Enter; nodes...; Exit        after:  Enter; With { nodes... } { Exit } */
static void exits_fold_with(graph *g, node *enter, node *exit) {
    node *with = node_new(g, N_WITH, 0, NULL, 0);
    node_insert_after(with, enter);
    block *body = node_add_block(with), *leave = node_add_block(with);
    node *end = node_new(g, N_CONSTANT, 0, NULL, 0);
    block_append(body, end);
    while (with->next != exit) node_move_before(with->next, end);
    node_remove(end);
    end = node_new(g, N_CONSTANT, 0, NULL, 0);
    block_append(leave, end);
    node_move_before(exit, end);
    node_remove(end);
    exits_with_outputs(with);
}

/* The Exit of an Enter: for the same object, after it in its block. */
static node *exits_matching(const node *enter) {
    int open = 0;
    for (node *n = enter->next; n; n = n->next) {
        if (n->kind == N_ENTER) open++;
        else if (n->kind == N_EXIT && open-- == 0)
            return n->inputs.data[0] == enter->inputs.data[0] ? n : NULL;
    }
    return NULL;
}

static void exits_fold_withs(graph *g, block *b) {
    for (node *n = b->first; n && !arena_failed(&g->arena); n = n->next) {
        node *exit = n->kind == N_ENTER ? exits_matching(n) : NULL;
        if (exit) exits_fold_with(g, n, exit);
        for (size_t i = 0; i < n->blocks.len; i++) exits_fold_withs(g, n->blocks.data[i]);
    }
}

static void exits_unfold_withs(graph *g, block *b) {
    for (node *n = b->first, *next; n && !arena_failed(&g->arena); n = next) {
        for (size_t i = 0; i < n->blocks.len; i++) exits_unfold_withs(g, n->blocks.data[i]);
        next = n->next;
        if (n->kind != N_WITH) continue;
        for (size_t i = 0; i < n->outputs.len; i++)
            value_replace_uses(n->outputs.data[i], n->blocks.data[0]->returns.data[i]);
        while (n->blocks.data[0]->returns.len) block_remove_return(n->blocks.data[0], 0);
        for (size_t i = 0; i < 2; i++)
            while (n->blocks.data[i]->first) node_move_before(n->blocks.data[i]->first, n);
        node_remove(n);
    }
}

/* ---- consecutive Ifs ------------------------------------------------------------------------- */

static bool exits_constant_bool(const ir_value *v, bool *out) {
    value c;
    if (!ir_value_constant(v, &c) || c.tag != V_BOOL) return false;
    *out = c.u.b;
    return true;
}

/* In the blocks of nodes from `n` on: outputs of `from` become what `as` returns for them. */
static void exits_use_returns(node *n, const node *from, const block *as) {
    for (; n; n = n->next) {
        for (size_t i = 0; i < n->inputs.len; i++) {
            const ir_value *v = n->inputs.data[i];
            if (v->def == from) node_set_input(n, (int)i, as->returns.data[v->index]);
        }
        for (size_t k = 0; k < n->blocks.len; k++) {
            block *b = n->blocks.data[k];
            exits_use_returns(b->first, from, as);
            for (size_t i = 0; i < b->returns.len; i++) {
                const ir_value *v = b->returns.data[i];
                if (v->def == from) block_set_return(b, (int)i, as->returns.data[v->index]);
            }
        }
    }
}

/* Moves a block of the second If to the end of the first's. */
static void exits_append_block(graph *g, const node *first, block *to, block *from) {
    exits_use_returns(from->first, first, to);
    node *end = node_new(g, N_CONSTANT, 0, NULL, 0);
    block_append(to, end);
    while (from->first) node_move_before(from->first, end);
    node_remove(end);
    while (from->returns.len) {
        ir_value *v = from->returns.data[0];
        block_remove_return(from, 0);
        block_add_return(to, v->def == first ? to->returns.data[v->index] : v);
    }
}

/* before:  %a = If(%c) { -> (%true) } { -> (%false) }; If(%a) { X } { Y }        after:  If(%c) { X } { Y } */
static bool exits_merge_ifs(graph *g, node *first) {
    node *second = first->next;
    if (first->kind != N_IF || !second || second->kind != N_IF) return false;
    const ir_value *cond = second->inputs.data[0];
    bool t, f;
    if (cond->def != first) return false;
    if (!exits_constant_bool(first->blocks.data[0]->returns.data[cond->index], &t) ||
        !exits_constant_bool(first->blocks.data[1]->returns.data[cond->index], &f) || t == f)
        return false;
    exits_append_block(g, first, first->blocks.data[0], second->blocks.data[t ? 0 : 1]);
    exits_append_block(g, first, first->blocks.data[1], second->blocks.data[f ? 0 : 1]);
    for (size_t i = 0; i < second->outputs.len; i++) {
        ir_value *old = second->outputs.data[i], *new = node_add_output(first, old->type);
        value_replace_uses(old, new);
        value_copy_name(new, old);
    }
    node_remove(second);
    return true;
}

/* Merges what can be merged into n. Where two blocks now meet, the node at the seam
 * may go on with it. */
static void exits_merge_into(graph *g, node *n) {
    while (n->kind == N_IF && !arena_failed(&g->arena)) {
        node *seam[2] = {n->blocks.data[0]->last, n->blocks.data[1]->last};
        if (!exits_merge_ifs(g, n)) return;
        for (int i = 0; i < 2; i++)
            if (seam[i]) exits_merge_into(g, seam[i]);
    }
}

static void exits_merge_block(graph *g, block *b) {
    for (node *n = b->first; n; n = n->next)
        for (size_t i = 0; i < n->blocks.len; i++) exits_merge_block(g, n->blocks.data[i]);
    for (node *n = b->first; n; n = n->next) exits_merge_into(g, n);
}

/* ---- loops that may end early ---------------------------------------------------------------- */

/* A loop with both a trip count and a condition counts by itself. */
static void exits_count_trips(graph *g, node *n) {
    block *body = n->blocks.data[0];
    value trip;
    bool first, next;
    bool always = exits_constant_bool(n->inputs.data[1], &first) && first;
    bool goes_on = exits_constant_bool(body->returns.data[0], &next) && next;
    bool counted = !ir_value_constant(n->inputs.data[0], &trip) || trip.tag != V_INT ||
                   trip.u.i != INT64_MAX || body->params.data[0]->uses.len;
    if (!counted || (always && goes_on)) return;
    ir_value *max = n->inputs.data[0];
    graph_set_insert(g, n->owner, n);
    ir_value *zero = graph_constant_int(g, 0), *one = graph_constant_int(g, 1);
    ir_value *gt[] = {max, zero}, *and[2];
    ir_value *cond =
        graph_insert(g, node_new_op(g, op_find("aten::gt.int"), 2, gt))->outputs.data[0];
    node_set_input(n, 0, graph_constant_int(g, INT64_MAX));
    if (!always) {
        and[0] = cond;
        and[1] = n->inputs.data[1];
        cond =
            graph_insert(g, node_new_op(g, op_find("aten::__and__.bool"), 2, and))->outputs.data[0];
    }
    node_set_input(n, 1, cond);
    node_add_output(n, TYPE_INT);
    node_add_input(n, zero);
    ir_value *i = block_add_param(body, TYPE_INT), *old = body->params.data[0];
    value_set_name(old, "");
    value_replace_uses(old, i);
    graph_set_insert(g, body, NULL);
    ir_value *add[] = {i, one}, *lt[] = {NULL, max};
    lt[0] = graph_insert(g, node_new_op(g, op_find("aten::add.int"), 2, add))->outputs.data[0];
    block_add_return(body, lt[0]);
    and[0] = graph_insert(g, node_new_op(g, op_find("aten::lt.int"), 2, lt))->outputs.data[0];
    and[1] = body->returns.data[0];
    block_set_return(
        body, 0,
        graph_insert(g, node_new_op(g, op_find("aten::__and__.bool"), 2, and))->outputs.data[0]);
}

static void exits_count_block(graph *g, block *b) {
    for (node *n = b->first; n && !arena_failed(&g->arena); n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++) exits_count_block(g, n->blocks.data[i]);
        if (n->kind == N_LOOP) exits_count_trips(g, n);
    }
}

/* ---- a graph --------------------------------------------------------------------------------- */

/* Is there any exit except a return at the function's end, or anything after a raise? */
static bool exits_exist(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (n->kind == N_CONTINUE || (n->kind == N_RETURN && (b->parent || n->next))) return true;
        if (n->kind == N_RAISE && n->next) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (exits_exist(n->blocks.data[i])) return true;
    }
    return false;
}

ctsc_status exits_transform(graph *g, diag *d) {
    block *root = g->root;
    source_range before = g->range;
    g->range = (source_range){0}; /* what is made here has no place in the source */
    if (exits_exist(root)) {
        exits_fold_withs(g, root);
        exits_remove(g, d, N_CONTINUE);
        if (d->status == CTSC_OK && !arena_failed(&g->arena)) exits_remove(g, d, N_RETURN);
        exits_unfold_withs(g, root);
    } else if (root->last && root->last->kind == N_RETURN) {
        block_set_return(root, 0, root->last->inputs.data[0]);
        node_remove(root->last);
    }
    if (d->status == CTSC_OK) {
        exits_merge_block(g, root);
        exits_count_block(g, root);
    }
    g->range = before;
    graph_set_insert(g, root, NULL);
    if (d->status != CTSC_OK) return d->status;
    return arena_failed(&g->arena) ? diag_no_memory(d) : CTSC_OK;
}
