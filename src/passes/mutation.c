/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutation.c - replaces writes to new, private objects by operators that make new values
 * (functionalisation).
 *
 *     %a : Tensor = aten::batch_norm(...)                    %a : Tensor = aten::batch_norm(...)
 *     %b : Tensor = aten::relu_(%a)                   ->     %b : Tensor = aten::relu(%a)
 *     %c : Tensor = aten::mul(%a, %x)                        %c : Tensor = aten::mul(%b, %x)
 *
 *     %l : Tensor[] = prim::ListConstruct(%x)                %m : Tensor[] = prim::ListConstruct(%x, %y)
 *     %k : Tensor[] = aten::append(%l, %y)            ->     %z : Tensor = aten::cat(%m, %zero)
 *     %z : Tensor = aten::cat(%l, %zero)
 *
 * Method. The object is made by a node of the same block that makes fresh memory,
 * and no use of it before the write gives it another name: every use after the write
 * may then take the new value, and those before keep the old one. No alias analysis
 * is needed for that, and new values can be followed through chains of writes.
 *
 * Exactness. x.add_(y) keeps x's dtype and shape, add(x, y) need not. A table says what has to be
 * known of x: nothing (relu), that its dtype is floating (sigmoid, a number added), or the full
 * types of both operands. Where it is not known the write stays. Only which error a failing program
 * gives may change in its wording.
 * Tests: tests/ir/remove-mutation/
 */
#include "ir/graph/alias.h"
#include "passes/passes.h"

#include <stdio.h>
#include <string.h>

enum { MUTATION_MAX_LIST = 256, MUTATION_MAX_DEPTH = 32 };

/* ---- what is known of a tensor --------------------------------------------------------------- */

/* The `dtype` argument: absent counts as None. 1: floating; 0: something else; -1: None. */
static int mutation_dtype_argument(const node *n) {
    value v;
    int i = n->op ? schema_find_arg(n->op->schema, "dtype") : -1;
    if (i < 0 || i >= (int)n->inputs.len) return -1;
    if (!ir_value_constant(n->inputs.data[i], &v)) return 0;
    if (v.tag == V_NONE) return -1;
    return v.tag == V_INT && dtype_is_float((dtype)v.u.i);
}

static bool mutation_is_floating(const ir_value *v, int depth) {
    const tensor_info *info = v->type->kind == T_TENSOR ? v->type->tensor : NULL;
    if (info && info->dtype >= 0) return dtype_is_float((dtype)info->dtype);
    const node *n = v->def;
    if (!n || n->kind != N_OP || v->type->kind != T_TENSOR || depth > MUTATION_MAX_DEPTH)
        return false;
    int asked = mutation_dtype_argument(n);
    if (asked >= 0) return asked;
    op_traits known = n->op ? n->op->traits : (op_traits){0};
    if (known.floats_made) return true;
    return (known.dtype_same || known.floats_same || known.floats_kept) && n->inputs.len &&
           mutation_is_floating(n->inputs.data[0], depth + 1);
}

static bool mutation_real_number(const type *t) {
    return t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL || t->kind == T_NONE ||
           t->kind == T_STR;
}

/* Sizes and dtype are in the types, and `other` fits into self as it is. */
static bool mutation_types_agree(const ir_value *self, const ir_value *other) {
    const tensor_info *a = self->type->tensor,
                      *b = other->type->kind == T_TENSOR ? other->type->tensor : NULL;
    if (!a || !b || a->dtype < 0 || a->dtype != b->dtype || a->ndim < 0 || b->ndim < 0 ||
        b->ndim > a->ndim)
        return false;
    for (int i = 0; i < b->ndim; i++) {
        int64_t want = a->sizes ? a->sizes[a->ndim - b->ndim + i] : -1,
                have = b->sizes ? b->sizes[i] : -1;
        if (have < 0 || want < 0 || (have != want && have != 1)) return false;
    }
    return true;
}

static bool mutation_exact(const node *n, twin_need need) {
    const ir_value *self = n->inputs.data[0];
    if (need == TWIN_NEVER || need == TWIN_ALWAYS) return need == TWIN_ALWAYS;
    bool floating = mutation_is_floating(self, 0), numbers = true;
    for (size_t i = 1; i < n->inputs.len; i++)
        numbers = numbers && mutation_real_number(n->inputs.data[i]->type);
    if (numbers) return floating;
    return need == TWIN_TYPES && floating && mutation_types_agree(self, n->inputs.data[1]);
}

/* ---- privacy --------------------------------------------------------------------------------- */

static int mutation_number(block *b, int at) {
    for (node *n = b->first; n; n = n->next) {
        n->mark = at++;
        for (size_t i = 0; i < n->blocks.len; i++) at = mutation_number(n->blocks.data[i], at);
    }
    return at;
}

/* A use in m's block, or below it, by a node numbered less than `mark`. */
static bool mutation_before(const use *u, const node *m, int mark) {
    const block *b = u->user ? u->user->owner : u->blk;
    const node *n = u->user;
    while (b && b != m->owner) {
        n = b->parent;
        b = n ? n->owner : NULL;
    }
    return n && n->mark < mark;
}

/* The use reads, and makes no other name for the object. */
static bool mutation_only_reads(const use *u) {
    const node *n = u->user;
    if (!n || n->kind != N_OP || !n->op || n->op->schema->vararg ||
        u->index >= n->op->schema->nargs || node_returns_unmarked(n) ||
        node_writes_input(n, u->index))
        return false;
    bool result = false;
    for (size_t i = 0; i < n->outputs.len; i++)
        result |= alias_type_mutable(n->outputs.data[i]->type);
    const argument *a = &n->op->schema->args[u->index];
    if (a->type->kind == T_VAR) return false;
    if (a->type->kind == T_LIST && a->type->has_var) /* elements may go on, the list does not */
        return n->op->schema->nreturns == 0 || n->op->schema->returns[0].type->kind != T_LIST ||
               !n->op->schema->returns[0].alias;
    return !result || !a->alias;
}

static bool mutation_private(const ir_value *v, const node *m) {
    if (!v->def || v->def->owner != m->owner || v->def->outputs.len != 1 ||
        !node_makes_fresh(v->def))
        return false;
    for (size_t i = 0; i < v->uses.len; i++) {
        const use *u = &v->uses.data[i];
        if (u->user != m && mutation_before(u, m, m->mark) && !mutation_only_reads(u)) return false;
    }
    return true;
}

/* Uses of v after m, and of m's own result, become uses of `with`; m is removed. */
static void mutation_replace(node *m, ir_value *v, ir_value *with) {
    for (size_t i = v->uses.len; i-- > 0;) {
        use u = v->uses.data[i];
        /* m, and what was made for it, have m's number */
        if (mutation_before(&u, m, m->mark + 1)) continue;
        if (u.user) node_set_input(u.user, u.index, with);
        else block_set_return(u.blk, u.index, with);
    }
    for (size_t i = 0; i < m->outputs.len; i++) value_replace_uses(m->outputs.data[i], with);
    node_remove(m);
}

/* n in front of m, as if it were a part of it. */
static node *mutation_place(node *m, node *n) {
    n->range = m->range;
    n->call = m->call;
    n->scope = m->scope;
    n->mark = m->mark;
    node_insert_before(n, m);
    return n;
}

static ir_value *mutation_op(graph *g, node *m, const char *name, int nargs,
                             ir_value *const *args) {
    const op *o = op_match(name, nargs, args);
    return o && o->fn ? mutation_place(m, node_new_op(g, o, nargs, args))->outputs.data[0] : NULL;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static ir_value *mutation_twin(graph *g, node *m) {
    const char *name = m->op_name + 6;
    size_t len = strlen(name);
    char twin[64];
    if (len < 2 || len > 40 || name[len - 1] != '_' ||
        m->op->schema->args[0].type->kind != T_TENSOR)
        return NULL;
    snprintf(twin, sizeof twin, "aten::%.*s", (int)(len - 1), name);
    const op *o = op_match(twin, (int)m->inputs.len, m->inputs.data);
    if (!o || !mutation_exact(m, o->traits.twin)) return NULL;
    return mutation_op(g, m, twin, (int)m->inputs.len, m->inputs.data);
}

static ir_value *mutation_constant(node *m, value v) {
    ir_value *c = graph_constant_before_take(m, v, NULL);
    c->def->mark = m->mark;
    return c;
}

/* fill_(x, n), zero_(x): full_like(x, n). */
static ir_value *mutation_fill(graph *g, node *m, ir_value *number) {
    ir_value *none = mutation_constant(m, value_none());
    ir_value *args[] = {m->inputs.data[0], number, none, none, none, none, none};
    return mutation_op(g, m, "aten::full_like", 7, args);
}

/* Made from no tensor: in rows. */
static bool mutation_in_rows(const ir_value *x) {
    for (size_t i = 0; i < x->def->inputs.len; i++)
        if (x->def->inputs.data[i]->type->kind == T_TENSOR) return false;
    return x->def->kind == N_OP;
}

/* copy_(x, y): y in x's dtype, shape and order, and x's memory or y's must not be shared. */
static ir_value *mutation_copy(graph *g, node *m) {
    ir_value *x = m->inputs.data[0], *y = m->inputs.data[1];
    if (y->type->kind != T_TENSOR)
        return mutation_real_number(y->type) ? mutation_fill(g, m, y) : NULL;
    if (!mutation_in_rows(x)) {
        ir_value *args[] = {x, y, mutation_constant(m, value_bool(false))};
        return mutation_op(g, m, "aten::copy", 3, args);
    }
    ir_value *no = mutation_constant(m, value_bool(false)),
             *none = mutation_constant(m, value_none());
    ir_value *cast_args[] = {y, x, no, no, none};
    ir_value *cast = mutation_op(g, m, "aten::to", 5, cast_args);
    ir_value *wide_args[] = {cast, x};
    ir_value *wide = cast ? mutation_op(g, m, "aten::expand_as", 2, wide_args) : NULL;
    ir_value *copy_args[] = {wide, mutation_constant(m, value_int(0))}; /* contiguous */
    return wide ? mutation_op(g, m, "aten::clone", 2, copy_args) : NULL;
}

static ir_value *mutation_tensor(graph *g, node *m) {
    if (node_is_op(m, SYM_ZERO_)) return mutation_fill(g, m, mutation_constant(m, value_int(0)));
    if (node_is_op(m, SYM_FILL_) && mutation_real_number(m->inputs.data[1]->type))
        return mutation_fill(g, m, m->inputs.data[1]);
    if (node_is_op(m, SYM_COPY_)) return mutation_copy(g, m);
    return mutation_twin(g, m);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The constant index into a list of n elements; -1: not known or outside. */
static int mutation_index(const ir_value *v, size_t n, bool clip) {
    value c;
    if (!ir_value_constant(v, &c) || c.tag != V_INT) return -1;
    int64_t i = c.u.i < 0 ? c.u.i + (int64_t)n : c.u.i;
    if (clip) i = i<0 ? 0 : i>(int64_t) n ? (int64_t)n : i; /* as list.insert does */
    return i >= 0 && i < (int64_t)n + clip ? (int)i : -1;
}

static ir_value *mutation_list(graph *g, node *m) {
    node *made = m->inputs.data[0]->def;
    size_t n = made->inputs.len;
    if (made->kind != N_LIST_CONSTRUCT || n >= MUTATION_MAX_LIST) return NULL;
    bool append = node_is_op(m, SYM_APPEND), insert = node_is_op(m, SYM_INSERT),
         set = node_is_op(m, SYM__SET_ITEM);
    if (!append && !insert && !set) return NULL;
    int at = append ? (int)n : mutation_index(m->inputs.data[1], n, insert);
    ir_value *el = m->inputs.data[append ? 1 : 2];
    if (at < 0 || !type_is_subtype(el->type, type_elem(made->outputs.data[0]->type))) return NULL;
    node *list = node_new(g, N_LIST_CONSTRUCT, (int)n, made->inputs.data, 1);
    list->outputs.data[0]->type = made->outputs.data[0]->type;
    if (set) node_set_input(list, at, el);
    else node_insert_input(list, at, el);
    return mutation_place(m, list)->outputs.data[0];
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool mutation_node(graph *g, node *m) {
    if (m->kind != N_OP || !m->op || !m->op->schema->has_alias_write ||
        strncmp(m->op_name, "aten::", 6) || !m->inputs.len)
        return false;
    ir_value *v = m->inputs.data[0], *with = NULL;
    if (!node_writes_input(m, 0) || !mutation_private(v, m)) return false;
    if (v->type->kind == T_TENSOR) with = mutation_tensor(g, m);
    else if (v->type->kind == T_LIST) with = mutation_list(g, m);
    if (!with || arena_failed(&g->arena)) return false;
    if (v->type->kind == T_TENSOR) with->type = v->type;
    mutation_replace(m, v, with);
    return true;
}

static bool mutation_block(graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= mutation_block(g, n->blocks.data[i]);
        changed |= mutation_node(g, n);
    }
    return changed;
}

bool pass_remove_mutation(pass_ctx *cx, graph *g) {
    mutation_number(g->root, 1);
    bool changed = mutation_block(g, g->root);
    return pass_dce(cx, g) || changed; /* lists that were only extended, constants of attempts */
}
