/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peephole_view.c - rules of views, casts and copies of tensors.
 *
 *     %y : Tensor = aten::transpose(%x, %0, %1)  %z : Tensor = aten::transpose(%y, %1, %0)    after:  %x
 *     %y : Float(2, 3) = aten::to(%x, %6, %false, %false, %none)      %x : Float(2, 3)        after:  %x
 *
 * A program that would have raised must still raise: x.t().t()
 * is x only if x is known to have at most two dimensions.
 * Tests: tests/ir/peephole/views.ir, tests/ir/peephole/views-kept.ir
 */
#include "ir/op/autocast.h"
#include "passes/peephole/peephole.h"

/* The node before n, if it is of the same operator. */
static const node *view_inner(const node *n) {
    const node *inner = n->inputs.data[0]->def;
    return inner && inner->kind == N_OP && inner->op && inner->op == n->op ? inner : NULL;
}

ir_value *rule_t(peephole *p, node *n) {
    const node *inner = view_inner(n);
    int rank = inner ? known_rank(inner->inputs.data[0]) : -1;
    return rank >= 0 && rank <= 2 ? peephole_view_of(p, n, inner->inputs.data[0]) : NULL;
}

/* dims[0..1] of a transposition, counted from the front. */
static bool view_dims(const node *n, int rank, int64_t *dims) {
    int64_t count = rank > 0 ? rank : 1;
    for (int i = 0; i < 2; i++) {
        if (rank < 0 || !known_int(n->inputs.data[i + 1], &dims[i]) || dims[i] < -count ||
            dims[i] >= count)
            return false;
        if (dims[i] < 0) dims[i] += count;
    }
    return true;
}

ir_value *rule_transpose(peephole *p, node *n) {
    int64_t a[2], b[2];
    ir_value *x = n->inputs.data[0];
    if (!node_is_overload(n, SYM_TRANSPOSE_INT) || !view_dims(n, known_rank(x), a)) return NULL;
    if (a[0] == a[1]) return peephole_view_of(p, n, x);
    const node *inner = view_inner(n);
    if (!inner || !view_dims(inner, known_rank(inner->inputs.data[0]), b)) return NULL;
    bool same = (a[0] == b[0] && a[1] == b[1]) || (a[0] == b[1] && a[1] == b[0]);
    return same ? peephole_view_of(p, n, inner->inputs.data[0]) : NULL;
}

/* A permutation of 0..n-1, its negative entries wrapped. */
static bool view_permutation(const ir_value *v, int64_t *dims, int *n) {
    if (!known_ints(v, dims, n)) return false;
    uint64_t seen = 0;
    for (int i = 0; i < *n; i++) {
        if (dims[i] < 0) dims[i] += *n;
        if (dims[i] < 0 || dims[i] >= *n || (seen >> dims[i] & 1)) return false;
        seen |= 1ull << dims[i];
    }
    return true;
}

static bool view_is_identity(const int64_t *dims, int n) {
    for (int i = 0; i < n; i++)
        if (dims[i] != i) return false;
    return true;
}

static ir_value *view_int_list(peephole *p, node *at, const int64_t *ints, int n) {
    ir_value *items[KNOWN_MAX_INTS];
    for (int i = 0; i < n; i++) items[i] = peephole_constant(at, value_int(ints[i]));
    return peephole_new_node(p, at, N_LIST_CONSTRUCT, n, items, type_list(TYPE_INT));
}

ir_value *rule_permute(peephole *p, node *n) {
    int64_t outer[KNOWN_MAX_INTS], first[KNOWN_MAX_INTS], both[KNOWN_MAX_INTS];
    int count, other;
    ir_value *x = n->inputs.data[0];
    if (!view_permutation(n->inputs.data[1], outer, &count)) return NULL;
    if (view_is_identity(outer, count))
        return known_rank(x) == count ? peephole_view_of(p, n, x) : NULL;
    const node *inner = view_inner(n);
    if (!inner || !view_permutation(inner->inputs.data[1], first, &other) || other != count)
        return NULL;
    x = inner->inputs.data[0];
    for (int i = 0; i < count; i++) both[i] = first[outer[i]];
    if (peephole_graph_reshapes(p)) return NULL;
    if (view_is_identity(both, count))
        return known_rank(x) == count ? peephole_view_of(p, n, x) : NULL;
    ir_value *args[] = {x, view_int_list(p, n, both, count)};
    return peephole_new_op(p, n, op_of(SYM_PERMUTE), 2, args, n->outputs.data[0]->type);
}

ir_value *rule_contiguous(peephole *p, node *n) {
    ir_value *x = n->inputs.data[0];
    int64_t format, before;
    if (n->inputs.len != 2 || !known_int(n->inputs.data[1], &format)) return NULL;
    if (format == 0 && peephole_is_contiguous(x)) return peephole_view_of(p, n, x);
    const node *inner = view_inner(n);
    return inner && known_int(inner->inputs.data[1], &before) && before == format
               ? peephole_view_of(p, n, x)
               : NULL;
}

ir_value *rule_detach(peephole *p, node *n) {
    return view_inner(n) ? peephole_view_of(p, n, n->inputs.data[0]) : NULL;
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* to(x, dtype, non_blocking, copy=False, memory_format=None); x itself where
 * nothing has to change. */
ir_value *rule_to(peephole *p, node *n) {
    bool prim = node_is_overload(n, SYM_TO_PRIM_DTYPE), copy;
    int64_t want;
    ir_value *x = n->inputs.data[0];
    if ((!prim && !node_is_overload(n, SYM_TO_DTYPE)) || !known_int(n->inputs.data[1], &want))
        return NULL;
    if (!known_bool(n->inputs.data[3], &copy) || copy ||
        (!prim && !known_is_none(n->inputs.data[4])))
        return NULL;
    /* -1 is what is not known */
    return want >= 0 && known_dtype(x) == want ? peephole_view_of(p, n, x) : NULL;
}

/* On the host's arguments alone: a program elsewhere converts when it runs. */
ir_value *rule_autocast(peephole *p, node *n) {
    op_symbol key = n->op->symbol;
    int flag = autocast_flag(key, false), lower = autocast_lower(key, false);
    ir_value *x = n->inputs.data[0];
    int64_t to = DT_FLOAT32;
    bool on = true, elsewhere = false;
    if ((flag >= 0 && (!known_bool(n->inputs.data[flag], &on) ||
                       !known_bool(n->inputs.data[flag - 1], &elsewhere))) ||
        elsewhere || (lower >= 0 && !known_int(n->inputs.data[lower], &to)) || !dtype_valid(to))
        return NULL;
    int have = known_dtype(x);
    if (have < 0 || !dtype_valid(have)) return NULL;
    dtype dt = autocast_dtype(key, (dtype)have, on, (dtype)to);
    if ((int)dt == have) return peephole_view_of(p, n, x);
    ir_value *no = peephole_constant(n, value_bool(false)),
             *none = peephole_constant(n, value_none());
    ir_value *in[] = {x, peephole_constant(n, value_int(dt)), no, no, none};
    return peephole_new_op(p, n, op_of(SYM_TO_DTYPE), 5, in, n->outputs.data[0]->type);
}

static int view_device(const ir_value *v) {
    return v->type->kind == T_TENSOR && v->type->tensor ? v->type->tensor->device : -1;
}

ir_value *rule_type_as(peephole *p, node *n) {
    ir_value *x = n->inputs.data[0];
    const ir_value *y = n->inputs.data[1];
    int dt = known_dtype(x);
    return dt >= 0 && dt == known_dtype(y) && view_device(x) >= 0 &&
                   view_device(x) == view_device(y)
               ? peephole_view_of(p, n, x)
               : NULL;
}

ir_value *rule_dropout(peephole *p, node *n) {
    value c;
    bool train;
    if (n->inputs.len != 3 || !known_bool(n->inputs.data[2], &train) || train) return NULL;
    /* a probability outside 0..1 raises */
    if (!ir_value_constant(n->inputs.data[1], &c) || c.tag != V_FLOAT ||
        !(c.u.f >= 0 && c.u.f <= 1))
        return NULL;
    (void)p;
    return n->inputs.data[0];
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool view_same_sizes(const ir_value *x, const ir_value *list, bool keep) {
    int64_t have[KNOWN_MAX_INTS], want[KNOWN_MAX_INTS];
    int n, m;
    if (!known_sizes(x, have, &n) || !known_ints(list, want, &m) || n != m) return false;
    for (int i = 0; i < n; i++)
        if (have[i] != want[i] && !(keep && want[i] == -1)) return false;
    return true;
}

ir_value *rule_expand(peephole *p, node *n) {
    return view_same_sizes(n->inputs.data[0], n->inputs.data[1], true)
               ? peephole_view_of(p, n, n->inputs.data[0])
               : NULL;
}

/* Is a reshaping of x to these sizes always possible? */
static bool view_fits(const ir_value *x, const ir_value *list) {
    int64_t have[KNOWN_MAX_INTS], want[KNOWN_MAX_INTS];
    int n, m;
    if (!known_ints(list, want, &m)) return false;
    if (m == 1 && want[0] == -1) return true;
    if (!known_sizes(x, have, &n)) return false;
    uint64_t a = 1, b = 1;
    for (int i = 0; i < n; i++) a *= (uint64_t)have[i];
    for (int i = 0; i < m; i++) {
        if (want[i] < 0) return false;
        b *= (uint64_t)want[i];
    }
    return a == b;
}

/* view(view(x, a), b): where x is contiguous, nothing is copied on the way and the first step
 * cannot fail. A reshape may copy, and its result must not be written then. */
ir_value *rule_view(peephole *p, node *n) {
    ir_value *x = n->inputs.data[0];
    if (n->inputs.len != 2 || node_is_overload(n, SYM_VIEW_DTYPE)) return NULL;
    if (view_same_sizes(x, n->inputs.data[1], false)) return peephole_view_of(p, n, x);
    const node *inner = x->def;
    bool reshapes = node_is_op(n, SYM_RESHAPE) && inner && node_is_op(inner, SYM_RESHAPE);
    if (!inner || !(reshapes || node_is_op(inner, SYM_VIEW) || node_is_op(inner, SYM_RESHAPE)) ||
        node_is_overload(inner, SYM_VIEW_DTYPE) || inner->inputs.len != 2)
        return NULL;
    x = inner->inputs.data[0];
    if (!view_fits(x, inner->inputs.data[1]) || peephole_graph_reshapes(p)) return NULL;
    if (!peephole_is_contiguous(x) && !(reshapes && peephole_copy(p, n, x))) return NULL;
    ir_value *args[] = {x, n->inputs.data[1]};
    return peephole_new_op(p, n, n->op, 2, args, n->outputs.data[0]->type);
}

ir_value *rule_alias(peephole *p, node *n) { return peephole_view_of(p, n, n->inputs.data[0]); }

/* x[:] */
ir_value *rule_slice_all(peephole *p, node *n) {
    int64_t dim, from = 0, to = INT64_MAX, step;
    ir_value *x = n->inputs.data[0], *first, *last;
    if (!node_is_overload(n, SYM_SLICE_TENSOR) || !known_int(n->inputs.data[1], &dim) ||
        !known_int(n->inputs.data[4], &step) ||
        (!known_is_none(first = n->inputs.data[2]) && !known_int(first, &from)) ||
        (!known_is_none(last = n->inputs.data[3]) && !known_int(last, &to)) || from || step != 1)
        return NULL;
    int rank = known_rank(x);
    int64_t size = known_size(x, dim);
    bool whole = rank > 0 && dim >= -rank && dim < rank &&
                 (to == INT64_MAX || (size >= 0 && to >= size));
    return whole ? peephole_view_of(p, n, x) : NULL;
}

ir_value *rule_squeeze(peephole *p, node *n) {
    const node *inner = n->inputs.data[0]->def;
    int64_t a, b;
    if (!node_is_overload(n, SYM_SQUEEZE_DIM) || !inner || !node_is_op(inner, SYM_UNSQUEEZE) ||
        !known_int(n->inputs.data[1], &a) || !known_int(inner->inputs.data[1], &b) || a != b)
        return NULL;
    ir_value *x = inner->inputs.data[0];
    int rank = known_rank(x);
    if (a != 0 && a != -1 && (rank < 0 || a > rank || a < -rank - 1)) return NULL;
    return peephole_view_of(p, n, x);
}

/* The result is contiguous, so that the one tensor has to be. */
ir_value *rule_cat(peephole *p, node *n) {
    int64_t dim;
    const node *list = known_fixed_list(n->inputs.data[0]);
    if (!node_is_overload(n, SYM_CAT) || !list || list->inputs.len != 1 ||
        !known_int(n->inputs.data[1], &dim))
        return NULL;
    ir_value *x = list->inputs.data[0];
    int rank = known_rank(x);
    if (rank < 1 || dim < -rank || dim >= rank || !peephole_is_contiguous(x)) return NULL;
    return peephole_copy(p, n, x);
}
