/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias.c - answers questions about memory from the locations that alias_build.c found
 * (ir/graph/alias.h).
 *
 * Method. Once the walk is over, every location points at its root, and the writes are sorted
 * by location and by place in the graph, so that "is v written between a and b" is a binary
 * search for each location that v's memory consists of. Those are few: sets larger than
 * ALIAS_SET count as everything.
 * Tests: tests/unit/test_alias.c
 */
#include "ir/graph/alias_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ALIAS_SET = 48, ALIAS_FLOW = 256 };
enum { AT_NONE = -1, AT_ANY = -2 }; /* instead of a location: immutable; unknown to the database */

/* Locations; `all` once there are too many to list, or one is not known. */
typedef struct alias_set { int n, at[ALIAS_SET]; bool all; } alias_set;

/* ---- making ---------------------------------------------------------------------------------- */

static int alias_compare_writes(const void *a, const void *b) {
    const alias_write *x = a, *y = b;
    return x->location != y->location ? (x->location < y->location ? -1 : 1) : x->order - y->order;
}

/* Writes of the world become writes of each of its locations. */
static bool alias_spread_world(alias_db *db) {
    size_t n = db->writes.len;
    for (size_t i = 0; i < n; i++) {
        if (db->writes.data[i].location != ALIAS_WORLD) continue;
        alias_write w = db->writes.data[i];
        for (int f = 0; f < ALIAS_COUNT; f++) {
            w.location = db->world[f];
            if (f == 0) db->writes.data[i].location = w.location;
            else if (w.location != db->world[f - 1] && !vec_push(&db->writes, w)) return false;
        }
    }
    return true;
}

static bool alias_finish(alias_db *db) {
    if (db->failed) return false;
    for (size_t i = 0; i < db->locations.len; i++)
        db->locations.data[i].parent = alias_find(db, (int)i);
    for (int f = 0; f < ALIAS_COUNT; f++) db->world[f] = alias_find(db, db->world[f]);
    if (!alias_spread_world(db)) return false;
    for (size_t i = 0; i < db->writes.len; i++)
        db->writes.data[i].location = alias_find(db, db->writes.data[i].location);
    if (db->writes.len)
        qsort(db->writes.data, db->writes.len, sizeof *db->writes.data, alias_compare_writes);
    db->first_write = mem_zalloc((db->locations.len + 1) * sizeof *db->first_write);
    if (!db->first_write) return false;
    for (size_t l = 0, k = 0; l <= db->locations.len; l++) {
        while (k < db->writes.len && db->writes.data[k].location < (int)l) k++;
        db->first_write[l] = (int)k;
    }
    return true;
}

alias_db *alias_new(graph *g) {
    alias_db *db = mem_zalloc(sizeof *db);
    if (!db) return NULL;
    db->g = g;
    alias_build(db);
    if (alias_finish(db)) return db;
    alias_free(db);
    return NULL;
}

void alias_free(alias_db *db) {
    if (!db) return;
    vec_free(&db->locations);
    vec_free(&db->pending);
    vec_free(&db->places);
    vec_free(&db->writes);
    ptrmap_free(&db->values);
    ptrmap_free(&db->orders);
    mem_free(db->first_write);
    mem_free(db);
}

/* ---- sets of locations ----------------------------------------------------------------------- */

static int alias_at(const alias_db *db, const ir_value *v) {
    if (!alias_type_mutable(v->type)) return AT_NONE;
    intptr_t l = (intptr_t)ptrmap_get(&db->values, v);
    return l ? db->locations.data[l - 1].parent : AT_ANY;
}

static void alias_set_add(alias_set *s, int l) {
    if (l == AT_NONE) return;
    if (l == AT_ANY) s->all = true;
    for (int i = 0; i < s->n; i++)
        if (s->at[i] == l) return;
    if (s->n == ALIAS_SET) s->all = true;
    if (!s->all) s->at[s->n++] = l;
}

/* v's location, and with deep the ones it reaches. */
static void alias_set_value(const alias_db *db, alias_set *s, const ir_value *v, bool deep) {
    alias_set reached = {0};
    if (!deep) {
        alias_set_add(s, alias_at(db, v));
        return;
    }
    alias_set_add(&reached, alias_at(db, v));
    for (int i = 0; i < reached.n && !reached.all; i++)
        for (int f = 0; f < ALIAS_COUNT; f++) {
            int h = db->locations.data[reached.at[i]].held[f];
            if (h >= 0) alias_set_add(&reached, db->locations.data[h].parent);
        }
    s->all |= reached.all;
    for (int i = 0; i < reached.n; i++) alias_set_add(s, reached.at[i]);
}

static bool alias_sets_meet(const alias_set *a, const alias_set *b) {
    if (a->all || b->all) return (a->all || a->n) && (b->all || b->n);
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++)
            if (a->at[i] == b->at[k]) return true;
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool alias_may_share(const alias_db *db, const ir_value *a, const ir_value *b) {
    int x = alias_at(db, a), y = alias_at(db, b);
    if (a == b) return x != AT_NONE;
    return x != AT_NONE && y != AT_NONE && (x == y || x == AT_ANY || y == AT_ANY);
}

bool alias_may_reach(const alias_db *db, const ir_value *a, const ir_value *b) {
    alias_set from = {0}, to = {0};
    alias_set_value(db, &from, a, true);
    alias_set_value(db, &to, b, false);
    return alias_sets_meet(&from, &to);
}

bool alias_escapes(const alias_db *db, const ir_value *v) {
    int l = alias_at(db, v);
    return l == AT_ANY || (l >= 0 && db->locations.data[l].escapes);
}

/* Does a hold something of b: b itself, or what b holds? */
static bool alias_may_hold_of(const alias_db *db, const ir_value *a, const ir_value *b) {
    alias_set from = {0}, to = {0};
    alias_set_value(db, &from, a, true);
    alias_set_value(db, &to, b, true);
    return alias_sets_meet(&from, &to);
}

/* Uses that give the value itself, its storage, or what it holds to another name; pushed if new.
 * False: it is gone. */
static bool alias_flow_use(const alias_db *db, const ir_value *v, const use *u,
                           const ir_value **todo, int *n) {
    const node *by = u->user;
    if (by && by->kind == N_LIST_CONSTRUCT) {
        if (*n < ALIAS_FLOW) return todo[(*n)++] = by->outputs.data[0], true;
        return false;
    }
    if (!by || by->blocks.len || (by->kind != N_OP && by->kind != N_UNCHECKED_CAST)) {
        bool looks = by && (by->kind == N_ISINSTANCE || by->kind == N_PRINT ||
                            by->kind == N_GET_ATTR || (by->kind == N_SET_ATTR && u->index == 0));
        return looks;
    }
    if (by->kind == N_OP && !by->op) return false;
    for (size_t i = 0; i < by->outputs.len; i++) {
        if (!alias_may_hold_of(db, by->outputs.data[i], v) || node_makes_fresh(by)) continue;
        if (*n == ALIAS_FLOW) return false;
        todo[(*n)++] = by->outputs.data[i];
    }
    for (size_t i = 0; i < by->inputs.len; i++) /* append(list, v) */
        if ((int)i != u->index && by->op && by->op->schema->has_alias_write &&
            node_writes_input(by, (int)i) && alias_may_hold_of(db, by->inputs.data[i], v) &&
            by->inputs.data[i]->type->kind != T_TENSOR)
            return false;
    return true;
}

bool alias_flows_out(const alias_db *db, const ir_value *v) {
    const ir_value *todo[ALIAS_FLOW];
    int n = 0;
    todo[n++] = v;
    for (int at = 0; at < n; at++) {
        bool again = false;
        for (int i = 0; i < at; i++) again |= todo[i] == todo[at];
        for (size_t i = 0; !again && i < todo[at]->uses.len; i++)
            if (!alias_flow_use(db, todo[at], &todo[at]->uses.data[i], todo, &n)) return true;
    }
    return false;
}

int alias_location_count(const alias_db *db) { return (int)db->locations.len; }

bool alias_visit_locations(const alias_db *db, const ir_value *v, bool deep,
                           void (*visit)(void *ctx, int location), void *ctx) {
    alias_set s = {0};
    alias_set_value(db, &s, v, deep);
    for (int i = 0; i < s.n; i++) visit(ctx, s.at[i]);
    return !s.all;
}

/* ---- writes ---------------------------------------------------------------------------------- */

static int alias_order(const alias_db *db, const node *n) {
    return (int)(intptr_t)ptrmap_get(&db->orders, n);
}

static int alias_end(const alias_db *db, const node *n) {
    int o = alias_order(db, n);
    return o ? db->places.data[o].end : INT_MAX;
}

/* What a reader need not mind: elements written where it asks for sizes, other attributes. */
static bool alias_write_matters(const alias_write *w, node_read how, const node *reader) {
    if (how == READ_SHAPE && !w->reshapes) return false;
    bool attributes = reader && reader->kind == N_GET_ATTR && w->by->kind == N_SET_ATTR;
    return !attributes || !strcmp(node_str(reader, "name"), node_str(w->by, "name"));
}

/* A write of location l by a node numbered lo..hi. */
static bool alias_location_written(const alias_db *db, int l, int lo, int hi, node_read how,
                                   const node *reader) {
    int at = db->first_write[l], end = db->first_write[l + 1];
    for (int top = end; at < top;) {
        int mid = at + (top - at) / 2;
        if (db->writes.data[mid].order < lo) at = mid + 1;
        else top = mid;
    }
    for (; at < end && db->writes.data[at].order <= hi; at++)
        if (alias_write_matters(&db->writes.data[at], how, reader)) return true;
    return false;
}

static bool alias_any_write(const alias_db *db, int lo, int hi) {
    for (int o = lo; o <= hi && o < (int)db->places.len; o++)
        if (alias_writes(db, db->places.data[o].n)) return true;
    return false;
}

static bool alias_written(const alias_db *db, const ir_value *v, int lo, int hi, node_read how,
                          const node *reader) {
    alias_set s = {0};
    if (how == READ_NONE || lo > hi) return false;
    alias_set_value(db, &s, v, how == READ_DEEP);
    if (s.all) return alias_any_write(db, lo, hi);
    for (int i = 0; i < s.n; i++)
        if (alias_location_written(db, s.at[i], lo, hi, how, reader)) return true;
    return false;
}

static bool alias_node_unknown(const node *n) {
    return n->kind == N_OP ? !n->op || node_is_op(n, SYM_WAIT)
                           : n->kind == N_CALL_FUNCTION || n->kind == N_CALL_METHOD ||
                                 n->kind == N_FORK || n->kind == N_ENTER || n->kind == N_EXIT ||
                                 (n->kind >= N_LOAD && n->kind <= N_CLOSURE);
}

bool alias_writes(const alias_db *db, const node *n) {
    if (alias_node_unknown(n)) return true;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (node_writes_input(n, (int)i) && alias_type_mutable(n->inputs.data[i]->type))
            return true;
    for (size_t i = 0; i < n->blocks.len; i++)
        for (const node *m = n->blocks.data[i]->first; m; m = m->next)
            if (alias_writes(db, m)) return true;
    return false;
}

bool alias_writes_value(const alias_db *db, const node *n, const ir_value *v) {
    if (!alias_order(db, n)) return alias_type_mutable(v->type) && alias_writes(db, n);
    return alias_written(db, v, alias_order(db, n), alias_end(db, n), READ_DEEP, NULL);
}

/* Where n writes through input i; Tensor(a!)[] writes the elements. */
static void alias_set_written(const alias_db *db, const node *n, size_t i, alias_set *s) {
    const argument *a = n->kind == N_OP && n->op && i < (size_t)n->op->schema->nargs
                            ? &n->op->schema->args[i]
                            : NULL;
    if (node_writes_input(n, (int)i))
        alias_set_value(db, s, n->inputs.data[i], a && a->alias && a->alias->elem);
}

static bool alias_is_world(const alias_db *db, int l) {
    for (int f = 0; f < ALIAS_COUNT; f++)
        if (l == db->world[f]) return true;
    return false;
}

/* Does n write the world, or with `returned` also what the graph returns? */
static bool alias_writes_seen(const alias_db *db, const node *n, bool returned) {
    alias_set s = {0};
    if (alias_node_unknown(n)) return true;
    for (size_t i = 0; i < n->inputs.len; i++) alias_set_written(db, n, i, &s);
    for (int i = 0; i < s.n; i++)
        s.all |= returned ? db->locations.data[s.at[i]].escapes : alias_is_world(db, s.at[i]);
    for (size_t i = 0; i < n->blocks.len && !s.all; i++)
        for (const node *m = n->blocks.data[i]->first; m && !s.all; m = m->next)
            s.all = alias_writes_seen(db, m, returned);
    return s.all;
}

bool alias_writes_outside(const alias_db *db, const node *n) {
    return alias_writes_seen(db, n, true);
}

bool alias_writes_world(const alias_db *db, const node *n) {
    return alias_writes_seen(db, n, false);
}

bool alias_ever_written(const alias_db *db, const ir_value *v) {
    return alias_written(db, v, 1, INT_MAX - 1, READ_DEEP, NULL);
}

bool alias_ever_reshaped(const alias_db *db, const ir_value *v) {
    return alias_written(db, v, 1, INT_MAX - 1, READ_SHAPE, NULL);
}

/* The outermost loop around n that is not around `outside`; NULL: none. */
static const node *alias_loop_around(const node *n, const node *outside) {
    const node *loop = NULL;
    for (const block *b = n->owner; b && b->parent; b = b->parent->owner) {
        bool both = false;
        for (const block *o = outside ? outside->owner : NULL; o;
             o = o->parent ? o->parent->owner : NULL)
            both |= o == b;
        if (both) break;
        if (b->parent->kind != N_IF) loop = b->parent;
    }
    return loop;
}

bool alias_written_after(const alias_db *db, const ir_value *v, const node *n) {
    const node *loop = alias_loop_around(n, NULL);
    if (loop && alias_written(db, v, alias_order(db, loop), alias_end(db, n), READ_DEEP, NULL))
        return true;
    return alias_written(db, v, alias_end(db, n) + 1, INT_MAX - 1, READ_DEEP, NULL);
}

static bool alias_written_reading(const alias_db *db, const ir_value *v, const node *a,
                                  const node *b, node_read how, const node *reader) {
    if (!alias_order(db, a) || !alias_order(db, b)) return alias_type_mutable(v->type);
    const node *loop = alias_loop_around(b, a);
    return alias_written(db, v, alias_end(db, a) + 1,
                         loop ? alias_end(db, loop) : alias_order(db, b) - 1, how, reader);
}

bool alias_written_between(const alias_db *db, const ir_value *v, const node *a, const node *b) {
    return alias_written_reading(db, v, a, b, READ_DEEP, NULL);
}

bool alias_inputs_same(const alias_db *db, const node *a, const node *b) {
    for (size_t i = 0; i < b->inputs.len; i++)
        if (alias_written_reading(db, b->inputs.data[i], a, b, node_reads_input(b, (int)i), b))
            return false;
    return true;
}

bool alias_inputs_kept(const alias_db *db, const node *n, const node *around) {
    for (size_t i = 0; i < n->inputs.len; i++)
        if (alias_written(db, n->inputs.data[i], alias_order(db, around), alias_end(db, around),
                          node_reads_input(n, (int)i), n))
            return false;
    return alias_order(db, around) != 0;
}

/* ---- moving ---------------------------------------------------------------------------------- */

typedef struct alias_footprint { alias_set reads, shapes, writes, reshapes; } alias_footprint;

static void alias_footprint_of(const alias_db *db, const node *n, alias_footprint *f) {
    if (alias_node_unknown(n)) f->writes.all = f->reshapes.all = f->reads.all = true;
    bool reshapes = node_write_reshapes(n);
    for (size_t i = 0; i < n->inputs.len; i++) {
        const ir_value *v = n->inputs.data[i];
        node_read how = node_reads_input(n, (int)i);
        if (how != READ_NONE)
            alias_set_value(db, how == READ_SHAPE ? &f->shapes : &f->reads, v, how == READ_DEEP);
        alias_set_written(db, n, i, &f->writes);
        if (reshapes) alias_set_written(db, n, i, &f->reshapes);
    }
    for (size_t i = 0; i < n->blocks.len; i++)
        for (const node *m = n->blocks.data[i]->first; m; m = m->next) alias_footprint_of(db, m, f);
}

static bool alias_footprints_clash(const alias_footprint *a, const alias_footprint *b) {
    return alias_sets_meet(&a->writes, &b->writes) || alias_sets_meet(&a->writes, &b->reads) ||
           alias_sets_meet(&b->writes, &a->reads) || alias_sets_meet(&a->reshapes, &b->shapes) ||
           alias_sets_meet(&b->reshapes, &a->shapes);
}

/* Does `user`, or something in its blocks, use an output of `maker`? */
static bool alias_depends(const node *user, const node *maker) {
    for (size_t i = 0; i < maker->outputs.len; i++)
        for (size_t k = 0; k < maker->outputs.data[i]->uses.len; k++) {
            const use *u = &maker->outputs.data[i]->uses.data[k];
            for (const node *n = u->user ? u->user : u->blk->parent; n;
                 n = n->owner ? n->owner->parent : NULL)
                if (n == user) return true;
        }
    return false;
}

typedef struct alias_mover { alias_footprint print; bool effects, raises, outside; } alias_mover;

static void alias_mover_of(const alias_db *db, const node *n, alias_mover *m) {
    memset(m, 0, sizeof *m);
    alias_footprint_of(db, n, &m->print);
    m->effects = node_has_visible_effects(n) || node_is_random(n);
    m->raises = node_may_raise(n);
    m->outside = alias_writes_world(db, n);
}

static bool alias_swappable(const alias_mover *a, const alias_mover *b) {
    bool seen_a = a->effects || a->outside, seen_b = b->effects || b->outside;
    if ((a->effects && b->effects) || (seen_a && b->raises) || (seen_b && a->raises)) return false;
    return !alias_footprints_clash(&a->print, &b->print);
}

bool alias_independent(const alias_db *db, const node *a, const node *b) {
    alias_footprint first = {0}, second = {0};
    alias_footprint_of(db, a, &first);
    alias_footprint_of(db, b, &second);
    return !alias_depends(b, a) && !alias_footprints_clash(&first, &second);
}

bool alias_can_move_before(const alias_db *db, const node *n, const node *at) {
    alias_mover mine, other;
    if (n->owner != at->owner) return false;
    alias_mover_of(db, n, &mine);
    for (const node *m = n->prev; m; m = m->prev) {
        alias_mover_of(db, m, &other);
        if (alias_depends(n, m) || !alias_swappable(&mine, &other)) return false;
        if (m == at) return true;
    }
    return n == at;
}

bool alias_can_move_after(const alias_db *db, const node *n, const node *at) {
    alias_mover mine, other;
    if (n->owner != at->owner) return false;
    alias_mover_of(db, n, &mine);
    for (const node *m = n->next; m; m = m->next) {
        alias_mover_of(db, m, &other);
        if (alias_depends(m, n) || !alias_swappable(&mine, &other)) return false;
        if (m == at) return true;
    }
    return n == at;
}
