/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_rules.c - rules of the pass "layout" for what needs no kernel of its own: the same
 * operator does its work on twins, with dims permuted.
 * Tests: tests/ir/layout
 */
#include "passes/layout/layout.h"

#include "tensor/strides.h"

#include "ir/graph/fusible.h"

#include <string.h>

/* ---- pointwise ------------------------------------------------------------------------------- */

/* The pointwise operator that n is, or whose in-place form it is; NULL: neither. */
static const op *layout_function(const node *n) {
    const char *key = n->op->key, *end = strchr(key, '.');
    size_t len = end ? (size_t)(end - key) : strlen(key);
    char name[64];
    if (op_fusible(n->op) == FUSIBLE_POINTWISE)
        return n->op->schema->has_alias_write ? NULL : n->op;
    if (len < 2 || key[len - 1] != '_' || strlen(key) >= sizeof name) return NULL;
    memcpy(name, key, len - 1);
    strcpy(name + len - 1, key + len);
    const op *o = op_find(name);
    return o && op_fusible(o) == FUSIBLE_POINTWISE ? o : NULL;
}

/* The number of spatial dims of the first argument that has a twin; 0: none has. */
static int layout_spatial(layout *l, const node *n) {
    for (size_t i = 0; i < n->inputs.len; i++) {
        const layout_twin *t = n->inputs.data[i]->type->kind == T_TENSOR
                                   ? layout_find(l, n->inputs.data[i], true)
                                   : NULL;
        if (t) return t->spatial;
    }
    return 0;
}

/* A constant that is broadcast, permuted; NULL: out of memory. */
static ir_value *layout_turn_constant(layout *l, const tensor *c, int spatial) {
    int64_t dims[TENSOR_MAX_DIMS];
    tensor *seen, *permuted;
    for (int i = 0; i < c->ndim; i++) dims[i] = i < c->ndim - 1 - spatial ? i : i + 1;
    dims[c->ndim - 1] = c->ndim - 1 - spatial;
    if (tensor_permute(NULL, c, c->ndim, dims, &seen) != CTSC_OK) return NULL;
    ctsc_status st = tensor_clone(NULL, seen, &permuted);
    tensor_unref(seen);
    return st == CTSC_OK ? layout_constant_take(l, value_tensor_take(permuted)) : NULL;
}

/* The replacement of v, which is broadcast with images of this many
 * spatial dims. Adds to *all what it may add to the rank of the result. */
static ir_value *layout_operand(layout *l, ir_value *v, int spatial, layout_twin *all) {
    const layout_twin *t;
    tensor *c;
    int rank = known_rank(v);
    if ((t = layout_find(l, v, true))) t = layout_use(l, v, spatial, true);
    else if (rank == 0) return v;
    else if (rank > 0 && rank <= spatial)
        return layout_op(l, op_of(SYM_UNSQUEEZE), 2, (ir_value *[]){v, layout_int(l, -1)});
    else if (rank > 0 && known_tensor(v, &c)) {
        if (alias_ever_written(l->db, v)) return NULL;
        if (rank > all->least) all->least = rank;
        if (rank > all->most) all->most = rank;
        return layout_turn_constant(l, c, spatial);
    } else if (rank > 0)
        t = layout_bring(l, v, spatial, all->channels ? all->channels : LAYOUT_CHANNELS);
    if (!t) return NULL;
    if (t->least > all->least) all->least = t->least;
    if (t->most > all->most) all->most = t->most;
    if (t->channels > all->channels) all->channels = t->channels;
    layout_follow(all, t);
    return t->last;
}

/* An operator whose result's layout follows from an argument or its row. False: not certain. */
static bool layout_set_format(const node *n, layout_twin *t) {
    int64_t format;
    int at = schema_find_arg(n->op->schema, "memory_format");
    if (n->op->traits.strides == STRIDES_ROWS) t->order = ORDER_ROWS;
    if (at < 0 || known_is_none(n->inputs.data[at])) return true;
    if (!known_int(n->inputs.data[at], &format)) return false;
    if (format == FORMAT_CONTIGUOUS) t->order = ORDER_ROWS;
    if (format > FORMAT_PRESERVE) t->order = ORDER_LAST;
    return true;
}

bool layout_pointwise(layout *l, node *n) {
    ir_value *args[LAYOUT_MAX_ARGS];
    const op *o = layout_function(n);
    bool writes = o != n->op;
    int spatial = o ? layout_spatial(l, n) : 0;
    if (!spatial || n->inputs.len > LAYOUT_MAX_ARGS || n->outputs.len != 1 ||
        n->outputs.data[0]->type->kind != T_TENSOR)
        return false;
    const layout_twin *first = layout_find(l, n->inputs.data[0], true);
    if (writes && !(first && first->own && first->spatial == spatial)) return false;
    layout_twin all = {.spatial = spatial};
    for (size_t i = 0; i < n->inputs.len; i++) {
        ir_value *v = n->inputs.data[i];
        if (v->type->kind == T_LIST || v->type->kind == T_OPTIONAL) return false;
        args[i] = v->type->kind == T_TENSOR ? layout_operand(l, v, spatial, &all) : v;
        if (!args[i]) return false;
    }
    if (!layout_set_format(n, &all)) return false;
    layout_twin *t = layout_give(
        l, n->outputs.data[0], layout_clone(l, n, (int)n->inputs.len, args)->outputs.data[0], &all);
    if (writes) {
        t->own = true;
        t->least = first->least;
        t->most = first->most;
    }
    return true;
}

/* (self, other, ...): of `other` nothing counts but what kind of tensor it is. */
bool layout_convert(layout *l, node *n) {
    ir_value *args[LAYOUT_MAX_ARGS];
    const layout_twin *t = layout_find(l, n->inputs.data[0], true),
                      *other = layout_find(l, n->inputs.data[1], false);
    if ((!t && !other) || n->inputs.len > LAYOUT_MAX_ARGS) return false;
    if (t && !(t = layout_use(l, n->inputs.data[0], t->spatial, true))) return false;
    if (other && !layout_use(l, n->inputs.data[1], other->spatial, false)) return false;
    for (size_t i = 0; i < n->inputs.len; i++) args[i] = n->inputs.data[i];
    if (t) args[0] = t->last;
    if (other) args[1] = other->last;
    layout_twin like = {.order = ORDER_UNKNOWN};
    if (t) like = *t;
    if (!layout_set_format(n, &like)) return false;
    ir_value *y = layout_clone(l, n, (int)n->inputs.len, args)->outputs.data[0];
    if (t) return layout_give(l, n->outputs.data[0], y, &like);
    l->plain = y;
    return true;
}

bool layout_not(layout *l, node *n) {
    (void)l, (void)n;
    return false;
}

/* ---- what returns its argument --------------------------------------------------------------- */

bool layout_same(layout *l, node *n) {
    const layout_twin *t = layout_find(l, n->inputs.data[0], true);
    return t && (t = layout_use(l, n->inputs.data[0], t->spatial, true)) &&
           layout_give(l, n->outputs.data[0], t->last, t);
}

bool layout_dropout(layout *l, node *n) {
    bool training;
    return known_bool(n->inputs.data[2], &training) && !training && layout_same(l, n);
}

bool layout_contiguous(layout *l, node *n) {
    if (!known_number_is(n->inputs.data[1], 0) || !layout_same(l, n)) return false;
    layout_say_order(l, n->outputs.data[0], ORDER_ROWS);
    return true;
}

/* ---- joining and splitting ------------------------------------------------------------------- */

/* Twins of a list's elements. Those without are converted: joined
 * tensors have one rank, or are empty vectors, which are unchanged. */
static bool layout_elements(layout *l, const node *list, int spatial, ir_value **out,
                            layout_twin *all) {
    for (size_t i = 0; i < list->inputs.len; i++) {
        ir_value *v = list->inputs.data[i];
        layout_twin *t = layout_use(l, v, spatial, true);
        if (!t) t = layout_bring(l, v, spatial, LAYOUT_CHANNELS);
        if (!t) return false;
        out[i] = t->last;
        all->channels += t->channels;
        if (t->order == ORDER_ROWS) all->order = ORDER_ROWS;
        layout_follow(all, t);
        if (t->least <= spatial) continue;
        if (t->least > all->least) all->least = t->least;
        if (t->most < all->most) all->most = t->most;
        all->last = t->last;
    }
    return all->least <= all->most;
}

bool layout_cat(layout *l, node *n) {
    ir_value *elements[LAYOUT_MAX_ARGS];
    const node *list = known_fixed_list(n->inputs.data[0]);
    int from_end, spatial = list ? layout_spatial(l, list) : 0;
    layout_twin all = {.spatial = spatial, .most = LAYOUT_ANY_RANK};
    if (!spatial || list->inputs.len > LAYOUT_MAX_ARGS ||
        !layout_elements(l, list, spatial, elements, &all))
        return false;
    ir_value *dim = layout_dim(l, &all, n->inputs.data[1], &from_end);
    if (!dim) return false;
    if (from_end && from_end != -1 - spatial) all.channels /= (int64_t)list->inputs.len;
    ir_value *made = layout_list(l, (int)list->inputs.len, elements, n->inputs.data[0]->type);
    return layout_give(l, n->outputs.data[0], layout_op(l, n->op, 2, (ir_value *[]){made, dim}),
                       &all);
}

/* A list is there for its elements alone. */
static bool layout_taken_apart(const ir_value *list) {
    for (size_t i = 0; i < list->uses.len; i++) {
        const node *n = list->uses.data[i].user;
        if (!n || !(n->kind == N_LIST_UNPACK ||
                    (n->kind == N_OP && n->op && n->op->symbol == SYM___GETITEM___T)))
            return false;
    }
    return true;
}

bool layout_split(layout *l, node *n) {
    const layout_twin *t = layout_find(l, n->inputs.data[0], true);
    if (!t || n->inputs.len != 3 || !layout_taken_apart(n->outputs.data[0]) ||
        !(t = layout_use(l, n->inputs.data[0], t->spatial, true)))
        return false;
    ir_value *dim = layout_dim(l, t, n->inputs.data[2], NULL);
    if (!dim) return false;
    node *made = layout_clone(l, n, 3, (ir_value *[]){t->last, n->inputs.data[1], dim});
    return layout_give(l, n->outputs.data[0], made->outputs.data[0], t);
}

bool layout_unpack(layout *l, node *n) {
    const layout_twin *t = layout_find(l, n->inputs.data[0], true);
    if (!t || !(t = layout_use(l, n->inputs.data[0], t->spatial, true))) return false;
    node *made = layout_clone(l, n, 1, &(ir_value *){t->last});
    for (size_t i = 0; i < n->outputs.len; i++)
        layout_give(l, n->outputs.data[i], made->outputs.data[i], t);
    return true;
}

bool layout_element(layout *l, node *n) {
    const layout_twin *t = layout_find(l, n->inputs.data[0], true);
    if (!t || !(t = layout_use(l, n->inputs.data[0], t->spatial, true))) return false;
    node *made = layout_clone(l, n, 2, (ir_value *[]){t->last, n->inputs.data[1]});
    return layout_give(l, n->outputs.data[0], made->outputs.data[0], t);
}

/* ---- operators with a dim -------------------------------------------------------------------- */

/* (self, dim, ...), and the order of dims stays. */
static ir_value *layout_with_dim(layout *l, node *n, const layout_twin **t) {
    ir_value *args[LAYOUT_MAX_ARGS];
    *t = layout_find(l, n->inputs.data[0], true);
    if (!*t || n->inputs.len > LAYOUT_MAX_ARGS ||
        !(*t = layout_use(l, n->inputs.data[0], (*t)->spatial, true)))
        return NULL;
    for (size_t i = 2; i < n->inputs.len; i++) args[i] = n->inputs.data[i];
    args[0] = (*t)->last;
    args[1] = layout_dim(l, *t, n->inputs.data[1], NULL);
    return args[1] ? layout_clone(l, n, (int)n->inputs.len, args)->outputs.data[0] : NULL;
}

bool layout_slice(layout *l, node *n) {
    const layout_twin *t;
    ir_value *y = layout_with_dim(l, n, &t);
    return y && layout_give(l, n->outputs.data[0], y, t);
}

bool layout_softmax(layout *l, node *n) {
    if (!layout_slice(l, n)) return false;
    layout_say_order(l, n->outputs.data[0], ORDER_ROWS);
    return true;
}

bool layout_size(layout *l, node *n) {
    const layout_twin *t;
    return (l->plain = layout_with_dim(l, n, &t)) != NULL;
}

bool layout_sizes(layout *l, node *n) {
    const layout_twin *t = layout_find(l, n->inputs.data[0], true);
    if (!t || !(t = layout_use(l, n->inputs.data[0], t->spatial, true))) return false;
    l->plain = layout_op(l, op_of(SYM_CTSC_CHANNELS_LAST_SIZES), 2,
                         (ir_value *[]){t->last, layout_int(l, t->spatial)});
    return l->plain != NULL;
}

/* What is the same in any order of dims. */
bool layout_ask(layout *l, node *n) {
    ir_value *args[LAYOUT_MAX_ARGS];
    const layout_twin *t = layout_find(l, n->inputs.data[0], true);
    if (!t || n->inputs.len > LAYOUT_MAX_ARGS ||
        !(t = layout_use(l, n->inputs.data[0], t->spatial, true)))
        return false;
    args[0] = t->last;
    for (size_t i = 1; i < n->inputs.len; i++) args[i] = n->inputs.data[i];
    l->plain = layout_clone(l, n, (int)n->inputs.len, args)->outputs.data[0];
    return true;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Dims of a reduction, permuted. *count: how many there are. *reduced: the spatial dims
 * among them as bits, bit 0 the last one. *channels: is theirs one of them? False: a dim's
 * place is not known. */
static bool layout_dims(layout *l, const layout_twin *t, const ir_value *list, ir_value **out,
                        int *count, unsigned *reduced, bool *channels) {
    int64_t dims[KNOWN_MAX_INTS];
    *reduced = 0;
    *channels = false;
    if (!known_ints(list, dims, count)) return false;
    /* if one dim is there only with all that there may be, then all there may be are there */
    layout_twin full = *t;
    for (int i = 0; i < *count; i++)
        if (t->most != LAYOUT_ANY_RANK && dims[i] == t->most - 1) full.least = t->most;
    for (int i = 0; i < *count; i++) {
        int from_end = layout_from_end(&full, dims[i]);
        out[i] = layout_dim(l, t, layout_int(l, dims[i]), NULL);
        if (!out[i] || !from_end) return false;
        if (from_end >= -t->spatial) *reduced |= 1u << (-1 - from_end);
        *channels |= from_end == -1 - t->spatial;
    }
    return true;
}

/* (self, dims, keepdim, ...). Without keepdim the dims that are left are in the old order where the
 * channels or all spatial dims are gone. */
bool layout_reduce(layout *l, node *n) {
    ir_value *dims[KNOWN_MAX_INTS], *args[LAYOUT_MAX_ARGS];
    int count = 0, gone = 0;
    unsigned reduced;
    bool keep, channels;
    const layout_twin *t = layout_find(l, n->inputs.data[0], true);
    if (!t || n->inputs.len > LAYOUT_MAX_ARGS || !known_bool(n->inputs.data[2], &keep) ||
        !(t = layout_use(l, n->inputs.data[0], t->spatial, true)))
        return false;
    for (size_t i = 0; i < n->inputs.len; i++) args[i] = n->inputs.data[i];
    args[0] = t->last;
    if (!layout_dims(l, t, n->inputs.data[1], dims, &count, &reduced, &channels) || !count)
        return false;
    args[1] = layout_list(l, count, dims, type_list(TYPE_INT));
    ir_value *y = layout_clone(l, n, (int)n->inputs.len, args)->outputs.data[0];
    layout_twin like = *t;
    like.order = ORDER_ROWS;
    for (unsigned bits = reduced; bits; bits &= bits - 1) gone++;
    if (!keep && (channels || gone == t->spatial)) {
        l->plain = y;
        return true;
    }
    if (!keep && gone != count) return false;
    like.spatial -= keep ? 0 : gone;
    like.least -= keep ? 0 : gone; /* below what is certain, at worst */
    like.most -= keep || like.most == LAYOUT_ANY_RANK ? 0 : gone;
    return layout_give(l, n->outputs.data[0], y, &like);
}

/* ---- permutations ---------------------------------------------------------------------------- */

/* Keeps all dims where they are; fails where there are fewer. */
static ir_value *layout_check_rank(layout *l, ir_value *v, const layout_twin *t, int rank) {
    int64_t dims[LAYOUT_MAX_SPATIAL + 2];
    if (t ? t->least == rank && t->most == rank : known_rank(v) == rank) return v;
    for (int i = 0; i < rank; i++) dims[i] = i;
    return layout_op(l, op_of(SYM_PERMUTE), 2, (ir_value *[]){v, layout_ints(l, rank, dims)});
}

/* Is it (0, 2, ..., n - 1, 1), or with back (0, n - 1, 1, ..., n - 2)? */
static bool layout_order_is(const int64_t *dims, int n, bool back) {
    if (n < 3 || n > LAYOUT_MAX_SPATIAL + 2) return false;
    for (int i = 0; i < n; i++) {
        int64_t want = i == 0 ? 0 : back ? (i == 1 ? n - 1 : i - 1) : i == n - 1 ? 1 : i + 1;
        if (dims[i] != want && dims[i] != want - n) return false;
    }
    return true;
}

bool layout_permute(layout *l, node *n) {
    int64_t dims[KNOWN_MAX_INTS];
    int count;
    ir_value *x = n->inputs.data[0];
    if (!known_ints(n->inputs.data[1], dims, &count)) return false;
    const layout_twin *t = layout_find(l, x, true);
    if (t && t->spatial == count - 2 && layout_order_is(dims, count, false)) {
        if (!(t = layout_use(l, x, t->spatial, true))) return false;
        return (l->plain = layout_check_rank(l, t->last, t, count)) != NULL;
    }
    if (t || !layout_order_is(dims, count, true)) return false;
    layout_twin like = {
        .spatial = count - 2, .least = count, .most = count, .channels = LAYOUT_CHANNELS};
    ir_value *y = layout_check_rank(l, x, NULL, count);
    layout_ask_order(l, &like,
                     layout_clone(l, n, (int)n->inputs.len, n->inputs.data)->outputs.data[0]);
    layout_twin *made = y ? layout_give(l, n->outputs.data[0], y, &like) : NULL;
    if (made) made->own = false;
    return made != NULL;
}

enum { LAYOUT_RANK_DEPTH = 12 };

/* Does n exchange the last two dims of a tensor of three dims? And of one of another rank: of any
 * (*any), or does it fail there (*three)? Dims 1 and -1 are one dim where there are two. */
static bool layout_exchanges_last(const node *n, bool *any, bool *three) {
    int64_t a, b;
    if (!known_int(n->inputs.data[1], &a) || !known_int(n->inputs.data[2], &b)) return false;
    *any = a < 0 && b < 0;
    *three = a >= 0 && b >= 0;
    a += a < 0 ? 3 : 0, b += b < 0 ? 3 : 0;
    return (a == 1 && b == 2) || (a == 2 && b == 1);
}

/* As known_rank. Where dims 1 and 2 were exchanged there are three: the counterpart fails
 * otherwise. */
static int layout_rank(const ir_value *v) {
    bool any, three;
    for (int i = 0; i < LAYOUT_RANK_DEPTH && v->type->kind == T_TENSOR; i++) {
        int rank = known_rank(v);
        const node *n = v->def;
        if (rank >= 0 || !n || n->kind != N_OP || !n->op || !n->inputs.len) return rank;
        if (n->op->symbol == SYM_TRANSPOSE_INT && n->mark &&
            layout_exchanges_last(n, &any, &three) && three)
            return 3;
        bool linear = n->op->symbol == SYM_LINEAR && known_rank(n->inputs.data[1]) == 2;
        if (n->op->traits.rank != RANK_SAME && !linear) return -1;
        v = n->inputs.data[0];
    }
    return -1;
}

/* The one spatial dim and the channels: what is made is the twin itself, or has its argument for a
 * twin. */
bool layout_transpose(layout *l, node *n) {
    ir_value *x = n->inputs.data[0];
    const layout_twin *t = layout_find(l, x, true),
                      like = {.spatial = 1, .least = 3, .most = 3, .channels = LAYOUT_CHANNELS};
    bool any, three;
    if (!layout_exchanges_last(n, &any, &three)) return false;
    if (t && t->spatial == 1) {
        bool images = t->least == 3 && t->most == 3;
        if ((!any && !three && !images) || !(t = layout_use(l, x, 1, true))) return false;
        if (any || images) l->plain = t->last;
        else /* changes nothing, but has to find the dim */
            l->plain = layout_op(l, n->op, 3,
                                 (ir_value *[]){t->last, layout_int(l, 2), layout_int(l, 2)});
        return l->plain != NULL;
    }
    if (t || layout_rank(x) != 3) return false;
    layout_twin *made = layout_give(l, n->outputs.data[0], x, &like);
    if (made) made->own = false;
    return made != NULL;
}
