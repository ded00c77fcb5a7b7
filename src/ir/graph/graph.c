/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - builds and changes graphs: nodes, blocks, values, their uses and names.
 *
 * Invariants: a value's uses are exactly the inputs and returns that mention it, in the order
 * of their creation. `owner` of a node, and of its outputs, is the block that contains it.
 * Ownership: everything in the graph's arena; see graph.h.
 * Tests: tests/unit/test_graph.c
 */
#include "ir/graph/graph.h"

#include "ir/unit.h"

#include <ctype.h>

/* ---- the graph ------------------------------------------------------------------------------- */

static block *block_new(graph *g, node *parent) {
    block *b = arena_new(&g->arena, block);
    b->g = g;
    b->parent = parent;
    return b;
}

static bool graph_failed(const graph *g) { return arena_failed(&g->arena); }

static void graph_install(void) {
    static const unit_graphs functions = {graph_free, graph_failed};
    unit_graphs_installed = &functions;
}

graph *graph_new(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, graph_install);
    graph *g = mem_zalloc(sizeof *g);
    if (!g) return NULL;
    if (!arena_init(&g->arena)) {
        arena_free(&g->arena);
        mem_free(g);
        return NULL;
    }
    g->names.a = &g->arena;
    g->root = block_new(g, NULL);
    g->insert_block = g->root;
    if (!arena_failed(&g->arena)) return g;
    graph_free(g);
    return NULL;
}

void graph_free(graph *g) {
    if (!g) return;
    for (size_t i = 0; i < g->subgraphs.len; i++) graph_free(g->subgraphs.data[i]);
    for (size_t i = 0; i < g->held.len; i++) value_unref(g->held.data[i]);
    for (size_t i = 0; i < g->sources.len; i++) source_unref(g->sources.data[i]);
    for (size_t i = 0; i < g->units.len; i++) unit_unref(g->units.data[i]);
    vec_free(&g->subgraphs);
    vec_free(&g->held);
    vec_free(&g->sources);
    vec_free(&g->units);
    ptrmap_free(&g->source_set);
    ptrmap_free(&g->named);
    ptrmap_free(&g->name_suffix);
    strmap_free(&g->call_sites);
    interner_free(&g->names);
    arena_free(&g->arena);
    mem_free(g);
}

void graph_hold_source(graph *g, source *src) {
    if (!src || ptrmap_get(&g->source_set, src)) return;
    if (!ptrmap_put(&g->source_set, src, src) || !vec_push(&g->sources, src)) {
        g->arena.failed = true;
        return;
    }
    source_ref(src);
}

void graph_hold_unit(graph *g, struct unit *u) {
    for (size_t i = 0; i < g->units.len; i++)
        if (g->units.data[i] == u) return;
    if (vec_push(&g->units, u)) unit_ref(u);
    else g->arena.failed = true;
}

const call_site *graph_call_site(graph *g, source_range r, const char *callee, const char *path,
                                 const call_site *caller) {
    call_site key = {.range = r,
                     .callee = intern(&g->names, callee),
                     .path = path ? intern(&g->names, path) : NULL,
                     .caller = caller};
    const call_site *found = strmap_getn(&g->call_sites, (const char *)&key, sizeof key);
    if (found) return found;
    call_site *made = arena_new(&g->arena, call_site);
    *made = key;
    graph_hold_source(g, r.src);
    if (arena_failed(&g->arena)) return NULL;
    if (!strmap_putn(&g->call_sites, (const char *)made, sizeof *made, made))
        g->arena.failed = true;
    return made;
}

/* ---- values and uses ------------------------------------------------------------------------- */

static graph *value_graph(const ir_value *v) { return v->def ? v->def->g : v->owner->g; }

static ir_value *value_new(graph *g, type *t) {
    ir_value *v = arena_new(&g->arena, ir_value);
    v->type = t;
    v->id = g->next_id++;
    v->name = "";
    return v;
}

static void use_add(ir_value *v, node *user, block *blk, int index) {
    use u = {user, blk, index};
    avec_push(&value_graph(v)->arena, &v->uses, u);
}

static bool use_is(const use *u, const node *user, const block *blk, int index) {
    return u->user == user && u->blk == blk && u->index == index;
}

/* Searches from both ends: constants have thousands of uses, and passes
 * that walk a graph in either direction find theirs close to one end. */
static use *use_find(ir_value *v, const node *user, const block *blk, int index) {
    use *low = v->uses.data, *high = low + v->uses.len;
    while (low < high) {
        if (use_is(low, user, blk, index)) return low;
        if (use_is(--high, user, blk, index)) return high;
        low++;
    }
    return NULL;
}

static void use_remove(ir_value *v, const node *user, const block *blk, int index) {
    use *u = use_find(v, user, blk, index);
    if (!u) return;
    size_t rest = v->uses.len - 1 - (size_t)(u - v->uses.data);
    memmove(u, u + 1, rest * sizeof *u);
    v->uses.len--;
}

/* The places after `from` move by `by`. */
static void use_shift(ir_value **vs, size_t n, size_t from, int by, const node *user,
                      const block *blk) {
    /* From the far end when growing, so that no two places look alike on the way. */
    for (size_t k = from; k < n; k++) {
        size_t i = by > 0 ? n - 1 - (k - from) : k;
        use *u = use_find(vs[i], user, blk, (int)i - by);
        if (u) u->index = (int)i;
    }
}

typedef VEC(ir_value *) value_list;

/* Inputs of a node and returns of a block are alike: (user, blk) is (n, NULL) or (NULL, b). */
static void values_insert(graph *g, value_list *l, size_t at, ir_value *v, node *user, block *blk) {
    if (!avec_push(&g->arena, l, v)) return;
    if (at > l->len - 1) at = l->len - 1;
    memmove(l->data + at + 1, l->data + at, (l->len - 1 - at) * sizeof *l->data);
    l->data[at] = v;
    use_shift(l->data, l->len, at + 1, 1, user, blk);
    use_add(v, user, blk, (int)at);
}

static void values_remove(value_list *l, size_t at, node *user, block *blk) {
    use_remove(l->data[at], user, blk, (int)at);
    memmove(l->data + at, l->data + at + 1, (l->len - 1 - at) * sizeof *l->data);
    l->len--;
    use_shift(l->data, l->len, at, -1, user, blk);
}

static void values_set(value_list *l, size_t at, ir_value *v, node *user, block *blk) {
    use_remove(l->data[at], user, blk, (int)at);
    l->data[at] = v;
    use_add(v, user, blk, (int)at);
}

/* Puts a value that defines something into a list and renumbers. */
static void defs_insert(graph *g, value_list *l, size_t at, ir_value *v) {
    if (!avec_push(&g->arena, l, v)) return;
    if (at > l->len - 1) at = l->len - 1;
    memmove(l->data + at + 1, l->data + at, (l->len - 1 - at) * sizeof *l->data);
    l->data[at] = v;
    for (size_t i = at; i < l->len; i++) l->data[i]->index = (int)i;
}

static void defs_remove(value_list *l, size_t at) {
    value_set_name(l->data[at], "");
    memmove(l->data + at, l->data + at + 1, (l->len - 1 - at) * sizeof *l->data);
    l->len--;
    for (size_t i = at; i < l->len; i++) l->data[i]->index = (int)i;
}

#define INPUTS(n) ((value_list *)(void *)&(n)->inputs)
#define OUTPUTS(n) ((value_list *)(void *)&(n)->outputs)
#define PARAMS(b) ((value_list *)(void *)&(b)->params)
#define RETURNS(b) ((value_list *)(void *)&(b)->returns)

void node_add_input(node *n, ir_value *v) {
    values_insert(n->g, INPUTS(n), n->inputs.len, v, n, NULL);
}

void node_insert_input(node *n, int at, ir_value *v) {
    values_insert(n->g, INPUTS(n), (size_t)at, v, n, NULL);
}

void node_set_input(node *n, int i, ir_value *v) { values_set(INPUTS(n), (size_t)i, v, n, NULL); }

void node_remove_input(node *n, int i) { values_remove(INPUTS(n), (size_t)i, n, NULL); }

void node_clear_inputs(node *n) {
    for (size_t i = n->inputs.len; i-- > 0;) use_remove(n->inputs.data[i], n, NULL, (int)i);
    n->inputs.len = 0;
}

ir_value *node_insert_output(node *n, int at, type *t) {
    ir_value *v = value_new(n->g, t);
    v->def = n;
    v->owner = n->owner;
    defs_insert(n->g, OUTPUTS(n), (size_t)at, v);
    return v;
}

ir_value *node_add_output(node *n, type *t) {
    return node_insert_output(n, (int)n->outputs.len, t);
}

void node_remove_output(node *n, int i) { defs_remove(OUTPUTS(n), (size_t)i); }

ir_value *block_insert_param(block *b, int at, type *t) {
    ir_value *v = value_new(b->g, t);
    v->owner = b;
    defs_insert(b->g, PARAMS(b), (size_t)at, v);
    return v;
}

ir_value *block_add_param(block *b, type *t) {
    return block_insert_param(b, (int)b->params.len, t);
}

void block_remove_param(block *b, int i) { defs_remove(PARAMS(b), (size_t)i); }

void block_add_return(block *b, ir_value *v) {
    values_insert(b->g, RETURNS(b), b->returns.len, v, NULL, b);
}

void block_set_return(block *b, int i, ir_value *v) {
    values_set(RETURNS(b), (size_t)i, v, NULL, b);
}

void block_insert_return(block *b, int at, ir_value *v) {
    values_insert(b->g, RETURNS(b), (size_t)at, v, NULL, b);
}

void block_remove_return(block *b, int i) { values_remove(RETURNS(b), (size_t)i, NULL, b); }

void value_replace_uses(ir_value *old, ir_value *with) {
    if (old == with) return;
    for (size_t i = 0; i < old->uses.len; i++) {
        use *u = &old->uses.data[i];
        if (u->user) u->user->inputs.data[u->index] = with;
        else u->blk->returns.data[u->index] = with;
        use_add(with, u->user, u->blk, u->index);
    }
    old->uses.len = 0;
}

void value_replace_known(ir_value *old, ir_value *with) {
    if (with->type == TYPE_TENSOR && old->type->kind == T_TENSOR) with->type = old->type;
    value_replace_uses(old, with);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

node *node_new(graph *g, node_kind kind, int ninputs, ir_value *const *inputs, int noutputs) {
    node *n = arena_new(&g->arena, node);
    n->kind = kind;
    n->g = g;
    n->op_name = "";
    n->range = g->range;
    graph_hold_source(g, g->range.src);
    for (int i = 0; i < ninputs; i++) node_add_input(n, inputs[i]);
    for (int i = 0; i < noutputs; i++) node_add_output(n, TYPE_TENSOR);
    return n;
}

node *node_new_op(graph *g, const op *o, int ninputs, ir_value *const *inputs) {
    node *n = node_new(g, N_OP, ninputs, inputs, 0);
    n->op = o;
    n->op_name = o->schema->name;
    type_bindings b = {0};
    for (int i = 0; i < ninputs && i < o->schema->nargs; i++)
        if (o->schema->args[i].type->has_var)
            type_match(o->schema->args[i].type, inputs[i]->type, &b);
    for (int i = 0; i < o->schema->nreturns; i++) {
        type *t = type_substitute(o->schema->returns[i].type, &b);
        node_add_output(n, t ? t : TYPE_ANY);
    }
    return n;
}

block *node_add_block(node *n) {
    block *b = block_new(n->g, n);
    avec_push(&n->g->arena, &n->blocks, b);
    return b;
}

/* Links n into b before `at`, at the end if NULL. */
static void node_link(block *b, node *n, node *at) {
    n->owner = b;
    n->next = at;
    n->prev = at ? at->prev : b->last;
    if (n->prev) n->prev->next = n;
    else b->first = n;
    if (at) at->prev = n;
    else b->last = n;
    for (size_t i = 0; i < n->outputs.len; i++) n->outputs.data[i]->owner = b;
}

static void node_unlink(node *n) {
    block *b = n->owner;
    if (!b) return;
    if (b->g->insert_before == n) b->g->insert_before = n->next;
    if (n->prev) n->prev->next = n->next;
    else b->first = n->next;
    if (n->next) n->next->prev = n->prev;
    else b->last = n->prev;
    n->prev = n->next = NULL;
    n->owner = NULL;
}

void node_insert_before(node *n, node *at) { node_link(at->owner, n, at); }

void node_insert_after(node *n, node *at) { node_link(at->owner, n, at->next); }

void block_append(block *b, node *n) { node_link(b, n, NULL); }

void block_prepend(block *b, node *n) { node_link(b, n, b->first); }

node *graph_insert(graph *g, node *n) {
    node_link(g->insert_block, n, g->insert_before);
    return n;
}

void graph_set_insert(graph *g, block *b, node *before) {
    g->insert_block = b;
    g->insert_before = before;
}

void node_move_before(node *n, node *at) {
    if (n == at) return;
    node_unlink(n);
    node_link(at->owner, n, at);
}

void node_move_after(node *n, node *at) {
    if (n == at) return;
    node_unlink(n);
    node_link(at->owner, n, at->next);
}

static void block_dissolve(block *b) {
    for (size_t i = b->returns.len; i-- > 0;) use_remove(b->returns.data[i], NULL, b, (int)i);
    b->returns.len = 0;
    while (b->last) node_remove(b->last);
    for (size_t i = 0; i < b->params.len; i++) value_set_name(b->params.data[i], "");
}

void node_remove(node *n) {
    for (size_t i = 0; i < n->blocks.len; i++) block_dissolve(n->blocks.data[i]);
    node_clear_inputs(n);
    for (size_t i = 0; i < n->outputs.len; i++) value_set_name(n->outputs.data[i], "");
    node_unlink(n);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Splits "x.12" into "x" and 12; anything else is its own base with the number 1. */
static size_t name_split(const char *name, uint64_t *suffix) {
    const char *dot = strrchr(name, '.');
    *suffix = 1;
    if (!dot || !dot[1]) return strlen(name);
    uint64_t n = 0;
    for (const char *p = dot + 1; *p; p++) {
        if (!isdigit((unsigned char)*p) || n > UINT32_MAX) return strlen(name);
        n = n * 10 + (uint64_t)(*p - '0');
    }
    *suffix = n;
    return (size_t)(dot - name);
}

/* base.suffix, interned. Without printf: inlining names values by the thousand. */
static const char *name_numbered(graph *g, const char *base, uint64_t suffix) {
    enum { DIGITS = 20, SMALL = 256 };
    char digits[DIGITS], small[SMALL];
    size_t len = strlen(base), n = 0;
    char *text = len < SMALL - 1 - DIGITS ? small : arena_alloc(&g->arena, len + 1 + DIGITS);
    if (!text) return "";
    do digits[n++] = (char)('0' + suffix % 10);
    while (suffix /= 10);
    memcpy(text, base, len);
    text[len++] = '.';
    while (n) text[len++] = digits[--n];
    return intern_n(&g->names, text, len);
}

/* Gives v, whose name was just taken over by another value, the next free name of the same base. */
static void name_replace(graph *g, ir_value *v, const char *name) {
    uint64_t suffix;
    const char *base = intern_n(&g->names, name, name_split(name, &suffix));
    uint64_t last = (uint64_t)(uintptr_t)ptrmap_get(&g->name_suffix, base);
    if (last && suffix < last + 1) suffix = last + 1;
    const char *fresh;
    do {
        fresh = name_numbered(g, base, suffix++);
        if (arena_failed(&g->arena)) {
            v->name = "";
            return;
        }
    } while (ptrmap_get(&g->named, fresh));
    if (!ptrmap_put(&g->name_suffix, base, (void *)(uintptr_t)suffix)) g->arena.failed = true;
    v->name = "";
    value_set_name(v, fresh);
}

static bool name_is_number(const char *name) {
    for (const char *p = name; *p; p++)
        if (!isdigit((unsigned char)*p)) return false;
    return true;
}

void value_set_name(ir_value *v, const char *name) {
    graph *g = value_graph(v);
    if (v->name[0] && ptrmap_get(&g->named, v->name) == v) ptrmap_put(&g->named, v->name, NULL);
    v->name = "";
    if (!name[0] || name_is_number(name)) return;
    name = intern(&g->names, name);
    if (arena_failed(&g->arena)) return;
    ir_value *old = ptrmap_get(&g->named, name);
    if (old) name_replace(g, old, name);
    if (ptrmap_put(&g->named, name, v)) v->name = name;
    else g->arena.failed = true;
}

void value_copy_name(ir_value *to, const ir_value *from) {
    to->type = from->type;
    if (value_has_name(from)) value_set_name(to, from->name);
}
