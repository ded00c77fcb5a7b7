/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cat_in_place.c - convolutions write directly into the concatenation of their results.
 *
 *     %a = ctsc::conv_channels_last(%x, ...)                  %a = ctsc::conv_channels_last.placed(%x, ..., None, 96, 0)
 *     %b = aten::relu(%y)                                     %b = aten::relu(%y)
 *     %l = prim::ListConstruct(%a, %b)             ->         %p = ctsc::place_channels(%b, %a, 96, 64)
 *     %c = aten::cat(%l, -1)                                  %l = prim::ListConstruct(%a, %p)
 *                                                             %c = ctsc::cat_placed(%l, -1, 96)
 *
 * Channels-last images are joined along their last dim: each part is some
 * columns of the rows of the whole. A convolution can skip the others
 * when it stores (engine/channels_place.h), and then its part need not be
 * moved. Parts made by other operators are copied into place, as before.
 *
 * Method. The joins of a block are visited from its end. One that joins the first parts of a
 * later one, and so on, as in DenseNet, uses the same memory: it is a view of the later one's
 * first channels. The number of channels of a part is known for convolutions and for operators
 * that keep or join them, and queried for others, if they exist before all that is placed.
 *
 * A part may be placed if it is made in the block of the join, by a
 * convolution that adds nothing, and if only such joins read it: other
 * readers would see gaps between its pixels. Nothing that shares the memory
 * is written, here or by a caller: a returned view would share memory with
 * other results. The operators are marked as random: merging two of them
 * would give two results one place, and so would hoisting one out of a loop.
 * Tests: tests/ir/cat-in-place, tests/unit/test_conv_last.c
 */
#include "ir/op/conv_last_args.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"
#include "passes/weights/reduce_precision.h"

#include <stdlib.h>
#include <string.h>

enum {
    JOIN_PARTS = 256, /* at most */
    JOIN_DEPTH = 40,  /* joins that are looked through for a number of channels */
};

typedef struct join {
    node *cat, *list;
    bool by_itself; /* it is one of a later one's first parts: its memory is that one's */
    int later;      /* which */
} join;

typedef struct joiner {
    graph *g;
    alias_db *db;
    VEC(join) joins; /* of a block, from its end */
    bool failed, changed;
} joiner;

/* ---- channels -------------------------------------------------------------------------------- */

static bool join_is_conv(const node *n) {
    return n && n->kind == N_OP && n->op && node_is_overload(n, SYM_CTSC_CONV_CHANNELS_LAST) &&
           n->inputs.len == CONV_LAST_ARGS;
}

static bool join_is_cat(const node *n) {
    return n->kind == N_OP && n->op &&
           (node_is_overload(n, SYM_CAT) || node_is_overload(n, SYM_CTSC_CAT_PLACED));
}

static bool join_conv_channels(const node *n, int64_t *out) {
    tensor *w;
    bool transposed;
    int64_t groups;
    if (!known_tensor(n->inputs.data[CONV_LAST_WEIGHT], &w) || w->ndim < 2 ||
        !known_bool(n->inputs.data[CONV_LAST_TRANSPOSED], &transposed) ||
        !known_int(n->inputs.data[CONV_LAST_GROUPS], &groups) || groups < 1)
        return false;
    *out = w->sizes[0];
    return !transposed || !__builtin_mul_overflow(w->sizes[1], groups, out);
}

/* Where the number is that of the convolutions it comes from. */
static bool join_channels(const ir_value *v, int depth, int64_t *out) {
    const node *n = v->def;
    if (!n || n->kind != N_OP || !n->op || depth <= 0) return false;
    if (join_is_conv(n)) return join_conv_channels(n, out);
    op_symbol s = n->op->symbol;
    if (s == SYM_CTSC_MAX_POOL2D_CHANNELS_LAST || s == SYM_CTSC_AVG_POOL2D_CHANNELS_LAST)
        return join_channels(n->inputs.data[0], depth - 1, out);
    const node *list = join_is_cat(n) && known_number_is(n->inputs.data[1], -1)
                           ? known_fixed_list(n->inputs.data[0])
                           : NULL;
    *out = 0;
    for (size_t i = 0; list && i < list->inputs.len; i++) {
        int64_t part;
        if (!join_channels(list->inputs.data[i], depth - 1, &part) ||
            __builtin_add_overflow(*out, part, out))
            return false;
    }
    return list != NULL;
}

/* ---- which joins ----------------------------------------------------------------------------- */

static bool join_fits(const joiner *j, node *n, join *out) {
    if (n->kind != N_OP || !n->op || !node_is_overload(n, SYM_CAT) ||
        !known_number_is(n->inputs.data[1], -1))
        return false;
    node *list = known_fixed_list(n->inputs.data[0]);
    if (!list || list->owner != n->owner || list->outputs.data[0]->uses.len != 1 ||
        list->inputs.len < 1 || list->inputs.len > JOIN_PARTS ||
        alias_ever_written(j->db, n->outputs.data[0]))
        return false;
    for (size_t i = 0; i < list->inputs.len; i++)
        for (size_t k = 0; k < i; k++)
            if (list->inputs.data[i] == list->inputs.data[k]) return false;
    *out = (join){.cat = n, .list = list, .by_itself = true, .later = -1};
    return true;
}

static bool join_begins(const node *list, const node *longer) {
    if (list->inputs.len >= longer->inputs.len) return false;
    return !memcmp(list->inputs.data, longer->inputs.data,
                   list->inputs.len * sizeof *list->inputs.data);
}

/* The join of the block, among those found, that v is a part of through `list`; -1: none. */
static int join_of_list(const joiner *j, const node *list) {
    for (size_t i = 0; i < j->joins.len; i++)
        if (j->joins.data[i].list == list) return (int)i;
    return -1;
}

static int join_root(const joiner *j, int i) {
    return i >= 0 && !j->joins.data[i].by_itself ? j->joins.data[i].later : i;
}

/* Is v a convolution's result that nothing but joins in `root`'s memory reads? */
static bool join_places(const joiner *j, int root, const ir_value *v) {
    const node *n = v->def;
    if (!join_is_conv(n) || n->owner != j->joins.data[root].cat->owner ||
        !known_is_none(n->inputs.data[CONV_LAST_OTHER]) || alias_ever_written(j->db, v))
        return false;
    for (size_t i = 0; i < v->uses.len; i++)
        if (!v->uses.data[i].user || join_root(j, join_of_list(j, v->uses.data[i].user)) != root)
            return false;
    return true;
}

static void join_find(joiner *j, block *b) {
    join one;
    j->joins.len = 0;
    for (node *n = b->last; n && !j->failed; n = n->prev)
        if (join_fits(j, n, &one) && !vec_push(&j->joins, one)) j->failed = true;
    for (size_t i = 1; i < j->joins.len; i++) {
        join *a = &j->joins.data[i];
        for (size_t k = 0; k < i && a->by_itself; k++) {
            const join *later = &j->joins.data[k];
            if (!later->by_itself || !join_begins(a->list, later->list) ||
                alias_flows_out(j->db, a->cat->outputs.data[0]))
                continue;
            a->by_itself = false;
            a->later = (int)k;
        }
    }
}

/* ---- rewriting ------------------------------------------------------------------------------- */

/* The part to place, and before which node: a convolution
 * itself, or the first list with the part. */
typedef struct join_part {
    node *at;
    ir_value *v, *channels, *offset; /* the latter two: ints */
    int64_t known;                   /* channels, or -1 */
    bool conv;
} join_part;

static node *join_first_list(const joiner *j, int root, const ir_value *v) {
    node *first = j->joins.data[root].list;
    for (size_t i = 0; i < v->uses.len; i++) {
        node *user = v->uses.data[i].user;
        if (user && join_root(j, join_of_list(j, user)) == root && node_before(user, first))
            first = user;
    }
    return first;
}

/* Parts of the join; false: it is none that gains, or a number is not known in time. */
static bool join_parts(const joiner *j, int root, join_part *parts, int n, node **first) {
    const node *list = j->joins.data[root].list;
    bool gains = false;
    *first = NULL;
    for (int i = 0; i < n; i++) {
        join_part *p = &parts[i];
        *p = (join_part){.v = list->inputs.data[i], .known = -1};
        p->conv = join_places(j, root, p->v);
        p->at = p->conv ? p->v->def : join_first_list(j, root, p->v);
        if (!join_channels(p->v, JOIN_DEPTH, &p->known)) p->known = -1;
        if (p->conv && p->known < 0) return false;
        gains |= p->conv;
        if (!*first || node_before(p->at, *first)) *first = p->at;
    }
    for (int i = 0; i < n && gains; i++) {
        const node *def = parts[i].v->def;
        if (parts[i].known >= 0) continue;
        if (def && (def == *first || !node_dominates(def, *first))) return false;
    }
    return gains;
}

/* Numbers of channels and sums of them, in front of all that is placed. False without operators. */
static bool join_offsets(join_part *parts, int n, node *first, ir_value **width) {
    ir_value *sum = rewrite_int(first, 0);
    int64_t known = 0; /* -1: it is not a constant */
    for (int i = 0; i < n && sum; i++) {
        parts[i].offset = sum;
        ir_value *size = parts[i].known >= 0
                             ? rewrite_int(first, parts[i].known)
                             : rewrite_op(first, op_of(SYM_SIZE_INT), 2,
                                          (ir_value *[]){parts[i].v, rewrite_int(first, -1)});
        if (!size) return false;
        size->type = TYPE_INT;
        if (known >= 0 && parts[i].known >= 0 &&
            !__builtin_add_overflow(known, parts[i].known, &known)) {
            sum = rewrite_int(first, known);
            continue;
        }
        known = -1;
        sum = rewrite_op(first, op_of(SYM_ADD_INT), 2, (ir_value *[]){sum, size});
        if (sum) sum->type = TYPE_INT;
    }
    *width = sum;
    return sum != NULL;
}

/* The value in its place; NULL without an operator. */
static ir_value *join_place(join_part *p, ir_value *beside, ir_value *width) {
    ir_value *args[CONV_LAST_ARGS + 3];
    int k = 0;
    if (p->conv)
        for (; k < CONV_LAST_ARGS; k++) args[k] = p->at->inputs.data[k];
    else args[k++] = p->v;
    args[k++] = beside ? beside : rewrite_none(p->at);
    args[k++] = width;
    args[k++] = p->offset;
    ir_value *y = rewrite_op(
        p->at, op_of(p->conv ? SYM_CTSC_CONV_CHANNELS_LAST_PLACED : SYM_CTSC_PLACE_CHANNELS), k,
        args);
    if (y && p->conv) rewrite_result(p->at, y);
    return y;
}

static int join_compare(const void *a, const void *b) {
    const join_part *p = *(join_part *const *)a, *q = *(join_part *const *)b;
    if (p->at == q->at) return p < q ? -1 : 1;
    return node_before(p->at, q->at) ? -1 : 1;
}

static void join_exchange(const joiner *j, int root, ir_value *v, ir_value *with) {
    for (size_t i = 0; i < j->joins.len; i++) {
        node *list = j->joins.data[i].list;
        if (join_root(j, (int)i) != root) continue;
        for (size_t k = 0; k < list->inputs.len; k++)
            if (list->inputs.data[k] == v) node_set_input(list, (int)k, with);
    }
}

static void join_rewrite(joiner *j, int root) {
    join_part parts[JOIN_PARTS], *order[JOIN_PARTS];
    node *first;
    ir_value *width, *beside = NULL;
    int n = (int)j->joins.data[root].list->inputs.len;
    if (n < 2 || !join_parts(j, root, parts, n, &first) || !join_offsets(parts, n, first, &width))
        return;
    for (int i = 0; i < n; i++) order[i] = &parts[i];
    qsort(order, (size_t)n, sizeof *order, join_compare);
    for (int i = 0; i < n; i++) {
        ir_value *v = order[i]->v, *y = join_place(order[i], beside, width);
        if (!y) return; /* what is placed so far is what it was */
        if (!order[i]->conv) join_exchange(j, root, v, y);
        beside = y;
    }
    for (size_t i = 0; i < j->joins.len; i++) {
        node *cat = j->joins.data[i].cat;
        if (join_root(j, (int)i) != root) continue;
        ir_value *y = rewrite_op(cat, op_of(SYM_CTSC_CAT_PLACED), 3,
                                 (ir_value *[]){cat->inputs.data[0], cat->inputs.data[1], width});
        if (!y) return;
        rewrite_result(cat, y);
        j->joins.data[i].cat = y->def;
    }
    j->changed = true;
}

static void join_block(joiner *j, block *b) {
    for (node *n = b->first; n; n = n->next)
        for (size_t i = 0; i < n->blocks.len; i++) join_block(j, n->blocks.data[i]);
    join_find(j, b);
    for (size_t i = 0; i < j->joins.len && !j->failed && !arena_failed(&j->g->arena); i++)
        if (j->joins.data[i].by_itself) join_rewrite(j, (int)i);
}

bool pass_cat_in_place(pass_ctx *cx, graph *g) {
    if (reduce_auto_convs(cx)) return false; /* such convolutions have no such form */
    joiner j = {.g = g, .db = alias_new(g)};
    if (j.db) join_block(&j, g->root);
    if (!j.db || j.failed) diag_no_memory(cx->diag);
    if (j.db) alias_free(j.db);
    vec_free(&j.joins);
    return j.changed;
}
