/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peephole_list.c - rules of lists, tuples and dicts that nothing changes, of shapes and of bools.
 *
 *     %s : int[] = aten::size(%x)  %n : int = aten::__getitem__(%s, %1)    after:  %n = aten::size(%x, %1)
 *     %l : int[] = prim::ListConstruct(%a, %b)  %c : int = aten::len(%l)   after:  2
 *
 * A list counts as unchanged if every use of it is an operator that reads it: one that goes into a
 * container, a block's returns or a call may be changed elsewhere.
 * Tests: tests/ir/peephole/lists.ir, tests/ir/peephole/lists-kept.ir
 */
#include "passes/peephole/peephole.h"
#include "tensor/promote.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

ir_value *rule_dim(peephole *p, node *n) {
    int rank = known_rank(n->inputs.data[0]);
    return rank < 0 || peephole_graph_reshapes(p) ? NULL : peephole_constant(n, value_int(rank));
}

ir_value *rule_size(peephole *p, node *n) {
    const ir_value *x = n->inputs.data[0];
    int64_t dim, sizes[KNOWN_MAX_INTS];
    int rank;
    if (!peephole_is_tensor(x) || peephole_graph_reshapes(p)) return NULL;
    if (node_is_overload(n, SYM_SIZE_INT))
        return known_int(n->inputs.data[1], &dim) && known_size(x, dim) >= 0
                   ? peephole_constant(n, value_int(known_size(x, dim)))
                   : NULL;
    if (!node_is_overload(n, SYM_SIZE) || !known_sizes(x, sizes, &rank)) return NULL;
    ir_value *items[KNOWN_MAX_INTS];
    for (int i = 0; i < rank; i++) items[i] = peephole_constant(n, value_int(sizes[i]));
    return peephole_new_node(p, n, N_LIST_CONSTRUCT, rank, items, type_list(TYPE_INT));
}

ir_value *rule_numel(peephole *p, node *n) {
    int64_t sizes[KNOWN_MAX_INTS];
    int rank;
    uint64_t numel = 1;
    if (!known_sizes(n->inputs.data[0], sizes, &rank) || peephole_graph_reshapes(p)) return NULL;
    for (int i = 0; i < rank; i++) numel *= (uint64_t)sizes[i];
    return peephole_constant(n, value_int((int64_t)numel));
}

ir_value *rule_dtype_question(peephole *p, node *n) {
    (void)p;
    int dt = peephole_is_tensor(n->inputs.data[0]) ? known_dtype(n->inputs.data[0]) : -1;
    if (dt < 0) return NULL;
    if (node_is_op(n, SYM_PRIM_DTYPE)) return peephole_constant(n, value_int(dt));
    return peephole_constant(n,
                             value_bool(node_is_op(n, SYM_IS_COMPLEX) ? dtype_is_complex((dtype)dt)
                                                                      : dtype_is_float((dtype)dt)));
}

ir_value *rule_result_type(peephole *p, node *n) {
    promotion met = PROMOTION_INIT;
    int dts[2];
    (void)p;
    if (n->inputs.len != 2) return NULL;
    for (int i = 0; i < 2; i++) {
        const ir_value *x = n->inputs.data[i];
        if ((dts[i] = peephole_is_tensor(x) ? known_dtype(x) : -1) < 0) return NULL;
    }
    for (int i = 0; i < 2; i++) {
        int rank = dts[0] == dts[1] ? 1 : known_rank(n->inputs.data[i]);
        if (rank < 0) return NULL;
        promotion_add(&met, (dtype)dts[i], rank ? OPERAND_TENSOR : OPERAND_ZERO_DIM);
    }
    return peephole_constant(n, value_int(promotion_result(&met)));
}

ir_value *rule_device(peephole *p, node *n) {
    (void)p;
    const ir_value *x = n->inputs.data[0];
    int device = peephole_is_tensor(x) && x->type->tensor ? x->type->tensor->device : -1;
    if (device < 0) return NULL;
    return peephole_constant(n, node_is_op(n, SYM_PRIM_IS_CUDA) ? value_bool(device > 0)
                                                                : value_device(device));
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* x of a list x.size() that is only read. */
static ir_value *list_sized(peephole *p, const ir_value *l) {
    const node *n = l->def;
    if (!n || !node_is_op(n, SYM_SIZE) || n->inputs.len != 1 ||
        !peephole_is_tensor(n->inputs.data[0]) || !known_list_kept(l) || peephole_graph_reshapes(p))
        return NULL;
    return n->inputs.data[0];
}

ir_value *rule_len(peephole *p, node *n) {
    ir_value *l = n->inputs.data[0];
    if (l->type->kind != T_LIST) return NULL;
    const node *made = known_fixed_list(l);
    if (made) return peephole_constant(n, value_int((int64_t)made->inputs.len));
    ir_value *x = list_sized(p, l);
    return x ? peephole_new_op(p, n, op_of(SYM_DIM), 1, &x, NULL) : NULL;
}

static bool list_is_key(const ir_value *v, value *out) {
    return ir_value_constant(v, out) &&
           (out->tag == V_INT || out->tag == V_BOOL || out->tag == V_STR);
}

/* The value under a constant key of a dict with constant keys that is only read: the last of equal
 * keys. *known: there is such a dict and key. */
static ir_value *list_dict_find(const ir_value *d, const ir_value *key, bool *known) {
    const node *made = d->def;
    ir_value *found = NULL;
    value k, have;
    *known = false;
    if (!made || made->kind != N_DICT_CONSTRUCT || !list_is_key(key, &k) || !known_list_kept(d))
        return NULL;
    for (size_t i = 0; i + 1 < made->inputs.len; i += 2) {
        if (!list_is_key(made->inputs.data[i], &have)) return NULL;
        if (have.tag == k.tag && value_equal(have, k)) found = made->inputs.data[i + 1];
    }
    *known = true;
    return found;
}

ir_value *rule_getitem(peephole *p, node *n) {
    ir_value *l = n->inputs.data[0];
    int64_t i;
    bool known;
    if (l->type->kind == T_DICT) return list_dict_find(l, n->inputs.data[1], &known);
    if (l->type->kind != T_LIST || !known_int(n->inputs.data[1], &i)) return NULL;
    const node *made = known_fixed_list(l);
    if (made) {
        int64_t len = (int64_t)made->inputs.len;
        if (i < 0) i += len;
        return i >= 0 && i < len ? made->inputs.data[i] : NULL;
    }
    ir_value *args[] = {list_sized(p, l), n->inputs.data[1]};
    return args[0] ? peephole_new_op(p, n, op_of(SYM_SIZE_INT), 2, args, NULL) : NULL;
}

ir_value *rule_contains(peephole *p, node *n) {
    (void)p;
    bool known;
    if (n->inputs.data[0]->type->kind != T_DICT) return NULL;
    const ir_value *found = list_dict_find(n->inputs.data[0], n->inputs.data[1], &known);
    return known ? peephole_constant(n, value_bool(found != NULL)) : NULL;
}

ir_value *rule_list_add(peephole *p, node *n) {
    if (!node_is_overload(n, SYM_ADD_T)) return NULL;
    const node *a = known_fixed_list(n->inputs.data[0]), *b = known_fixed_list(n->inputs.data[1]);
    ir_value *items[KNOWN_MAX_INTS];
    size_t len = 0;
    if (!a || !b || a->inputs.len + b->inputs.len > KNOWN_MAX_INTS) return NULL;
    for (size_t i = 0; i < a->inputs.len; i++) items[len++] = a->inputs.data[i];
    for (size_t i = 0; i < b->inputs.len; i++) items[len++] = b->inputs.data[i];
    return peephole_new_node(p, n, N_LIST_CONSTRUCT, (int)len, items, n->outputs.data[0]->type);
}

/* A bound of a slice: absent, or a constant int; from the end if negative, clamped to the list. */
static bool list_bound(const ir_value *v, int64_t len, int64_t absent, int64_t *out) {
    if (known_is_none(v)) *out = absent;
    else if (!known_int(v, out)) return false;
    if (*out < 0) *out += len;
    if (*out < 0) *out = 0;
    if (*out > len) *out = len;
    return true;
}

ir_value *rule_list_slice(peephole *p, node *n) {
    if (!node_is_overload(n, SYM_SLICE_T)) return NULL;
    const node *made = known_fixed_list(n->inputs.data[0]);
    ir_value *items[KNOWN_MAX_INTS];
    int64_t begin, end, step;
    int count = 0;
    if (!made || made->inputs.len > KNOWN_MAX_INTS || !known_int(n->inputs.data[3], &step) ||
        step < 1)
        return NULL;
    int64_t len = (int64_t)made->inputs.len;
    if (!list_bound(n->inputs.data[1], len, 0, &begin) ||
        !list_bound(n->inputs.data[2], len, len, &end))
        return NULL;
    for (int64_t i = begin; i<end; i = step> end - i ? end : i + step)
        items[count++] = made->inputs.data[i];
    return peephole_new_node(p, n, N_LIST_CONSTRUCT, count, items, n->outputs.data[0]->type);
}

ir_value *rule_list_unpack(peephole *p, node *n) {
    const node *made = known_fixed_list(n->inputs.data[0]);
    if (!made || made->inputs.len != n->outputs.len) return NULL; /* another length raises */
    for (size_t i = 0; i < n->outputs.len; i++)
        value_replace_uses(n->outputs.data[i], made->inputs.data[i]);
    node_remove(n);
    p->changed = p->gone = true;
    return NULL;
}

ir_value *rule_tuple_slice(peephole *p, node *n) {
    const node *made = n->inputs.data[0]->def;
    int64_t begin = node_int(n, "beg"), end = node_int(n, "end");
    const type *t = n->outputs.data[0]->type;
    if (!made || made->kind != N_TUPLE_CONSTRUCT || t->kind != T_TUPLE || t->field_names ||
        begin < 0 || begin > end || end > (int64_t)made->inputs.len)
        return NULL;
    return peephole_new_node(p, n, N_TUPLE_CONSTRUCT, (int)(end - begin), made->inputs.data + begin,
                             n->outputs.data[0]->type);
}

/* ---- bools ----------------------------------------------------------------------------------- */

static bool list_bools(const node *n) {
    return n->inputs.len == 2 && n->inputs.data[0]->type->kind == T_BOOL &&
           n->inputs.data[1]->type->kind == T_BOOL;
}

ir_value *rule_not(peephole *p, node *n) {
    (void)p;
    const node *inner = n->inputs.data[0]->def;
    return inner && inner->kind == N_OP && inner->op == n->op ? inner->inputs.data[0] : NULL;
}

ir_value *rule_and_or(peephole *p, node *n) {
    (void)p;
    bool b, neutral = node_is_op(n, SYM___AND__);
    if (!list_bools(n)) return NULL;
    if (n->inputs.data[0] == n->inputs.data[1]) return n->inputs.data[0];
    for (int i = 0; i < 2; i++)
        if (known_bool(n->inputs.data[i], &b)) return n->inputs.data[b == neutral ? 1 - i : i];
    return NULL;
}

ir_value *rule_equal(peephole *p, node *n) {
    bool b, equal = node_is_op(n, SYM_EQ);
    ir_value *x = n->inputs.data[0];
    if (n->inputs.len != 2 || n->outputs.data[0]->type->kind != T_BOOL) return NULL;
    if (x == n->inputs.data[1] &&
        (x->type->kind == T_INT || x->type->kind == T_BOOL || x->type->kind == T_STR))
        return peephole_constant(n, value_bool(equal));
    for (int i = 0; i < 2 && list_bools(n); i++)
        if (known_bool(n->inputs.data[i], &b)) {
            x = n->inputs.data[1 - i];
            return b == equal ? x : peephole_new_op(p, n, op_of(SYM___NOT__), 1, &x, NULL);
        }
    return NULL;
}
