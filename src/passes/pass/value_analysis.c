/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value_analysis.c - what a graph says about single values (value_analysis.h).
 *
 * What operators do to their arguments is in ir/graph/alias_effects.c. The whole alias analysis
 * (ir/graph/alias.h) knows more than the local look taken here, but has to be made anew after each
 * change; rules of peephole change the graph at every step.
 * Tests: tests/ir/peephole
 */
#include "passes/pass/value_analysis.h"
#include "ir/graph/alias.h"

enum { KNOWN_DEPTH = 16 };

/* ---- constants ------------------------------------------------------------------------------- */

bool known_int(const ir_value *v, int64_t *out) {
    value c;
    if (!ir_value_constant(v, &c) || c.tag != V_INT) return false;
    *out = c.u.i;
    return true;
}

bool known_bool(const ir_value *v, bool *out) {
    value c;
    if (!ir_value_constant(v, &c) || c.tag != V_BOOL) return false;
    *out = c.u.b;
    return true;
}

bool known_is_none(const ir_value *v) {
    value c;
    return ir_value_constant(v, &c) && c.tag == V_NONE;
}

bool known_number_is(const ir_value *v, int x) {
    value c;
    if (!ir_value_constant(v, &c)) return false;
    return (c.tag == V_INT && c.u.i == x) || (c.tag == V_FLOAT && c.u.f == x);
}

bool known_tensor(const ir_value *v, tensor **out) {
    value c;
    if (!ir_value_constant(v, &c) || c.tag != V_TENSOR) return false;
    *out = c.u.tensor;
    return true;
}

bool known_ints(const ir_value *v, int64_t *out, int *n) {
    value c;
    if (ir_value_constant(v, &c)) {
        if (c.tag != V_LIST || c.u.list->kind != LIST_INT || c.u.list->len > KNOWN_MAX_INTS)
            return false;
        *n = (int)c.u.list->len;
        for (int i = 0; i < *n; i++) out[i] = c.u.list->u.ints[i];
        return known_list_kept(v);
    }
    const node *made = known_fixed_list(v);
    if (!made || made->inputs.len > KNOWN_MAX_INTS) return false;
    *n = (int)made->inputs.len;
    for (int i = 0; i < *n; i++)
        if (!known_int(made->inputs.data[i], &out[i])) return false;
    return true;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* What the operator's row says of its result (ir/op/op_traits.h); all 0: nothing. */
static op_traits known_traits(const ir_value *v) {
    const node *n = v->def;
    if (!n || n->kind != N_OP || !n->op) return (op_traits){0};
    bool of_tensor = n->inputs.len && n->inputs.data[0]->type->kind == T_TENSOR;
    return of_tensor || n->op->traits.rank == RANK_0 ? n->op->traits : (op_traits){0};
}

static const tensor_info *known_info(const ir_value *v) {
    return v->type->kind == T_TENSOR ? v->type->tensor : NULL;
}

/* The sizes that a parameter is checked to have before anything else is done (models of ONNX and
 * programs of torch.export begin like that); -1: any. */
static bool known_checked(const ir_value *v, int64_t *sizes, int *n) {
    bool found = false;
    if (v->def || v->type->kind != T_TENSOR) return false;
    for (size_t i = 0; i < v->uses.len; i++) {
        const node *user = v->uses.data[i].user;
        if (!user || user->kind != N_OP || !user->op) continue;
        if (known_writes_argument(user, v->uses.data[i].index)) return false;
        if (!found && user->op->symbol == SYM_CTSC_CHECK_INPUT && !user->owner->parent)
            found = known_ints(user->inputs.data[2], sizes, n);
    }
    return found;
}

static int known_dtype_at(const ir_value *v, int depth);

/* The floating dtype in which all tensors that a pointwise operator takes agree, besides bools
 * and numbers: the result's. */
static int known_dtype_met(const node *n, int depth) {
    int met = -1;
    for (size_t i = 0; i < n->inputs.len; i++) {
        const ir_value *x = n->inputs.data[i];
        type_kind k = x->type->kind;
        const char *name = n->op->schema->args[i].name;
        if (!strcmp(name, "condition")) continue;
        bool dtype_given = !strcmp(name, "dtype") && k != T_NONE;
        if (k != T_TENSOR &&
            (dtype_given || (k != T_INT && k != T_FLOAT && k != T_BOOL && k != T_NONE)))
            return -1;
        int dt = k == T_TENSOR ? known_dtype_at(x, depth) : DT_BOOL;
        if (dt == DT_BOOL) continue;
        if (dt < 0 || !dtype_is_float((dtype)dt) || (met >= 0 && met != dt)) return -1;
        met = dt;
    }
    return met;
}

/* That a conversion names; or a product's: its factors are of one dtype, so where one's is known to
 * be floating, it is the result's. */
static int known_dtype_made(const node *n, int depth) {
    op_symbol key = n->op->symbol;
    int64_t dt;
    if (key == SYM_TO_DTYPE || key == SYM_TO_PRIM_DTYPE)
        return known_int(n->inputs.data[1], &dt) && dtype_valid(dt) ? (int)dt : -1;
    if (n->op->traits.script_cast != SCRIPT_CAST_LOWER || n->op->traits.composite ||
        n->op->schema->nreturns != 1)
        return -1;
    for (int i = 0; i < 2 && (size_t)i < n->inputs.len; i++) {
        if (n->inputs.data[i]->type->kind != T_TENSOR) continue;
        int have = known_dtype_at(n->inputs.data[i], depth);
        if (have >= 0 && dtype_is_float((dtype)have)) return have;
    }
    return -1;
}

static int known_dtype_at(const ir_value *v, int depth) {
    const tensor_info *t = known_info(v);
    if (t && t->dtype >= 0) return t->dtype;
    op_traits known = depth ? known_traits(v) : (op_traits){0};
    int made = depth && v->def && v->def->kind == N_OP && v->def->op
                   ? known_dtype_made(v->def, depth - 1)
                   : -1;
    if (made >= 0) return made;
    if (known.floats_kept && known.fusible == FUSIBLE_POINTWISE)
        return known_dtype_met(v->def, depth - 1);
    if (!known.dtype_same && !known.floats_same) return -1;
    int dt = known_dtype_at(v->def->inputs.data[0], depth - 1);
    return dt >= 0 && known.floats_same && !dtype_is_float((dtype)dt) ? -1 : dt;
}

int known_dtype(const ir_value *v) { return known_dtype_at(v, KNOWN_DEPTH); }

static int known_rank_at(const ir_value *v, int depth) {
    const tensor_info *t = known_info(v);
    int64_t sizes[KNOWN_MAX_INTS];
    int n;
    if (t && t->ndim >= 0) return t->ndim;
    if (known_checked(v, sizes, &n)) return n;
    if (!depth) return -1;
    rank_rule rule = known_traits(v).rank;
    switch (rule) {
    case RANK_UNKNOWN: return -1;
    case RANK_0: return 0;
    case RANK_1: return 1;
    case RANK_2: return 2;
    case RANK_3: return 3;
    case RANK_SAME:
    case RANK_PLUS_1:
        n = known_rank_at(v->def->inputs.data[0], depth - 1);
        return n < 0 ? -1 : n + (rule == RANK_PLUS_1);
    case RANK_OF_LIST: {
        const node *made = v->def->inputs.len > 1 ? known_fixed_list(v->def->inputs.data[1]) : NULL;
        return made ? (int)made->inputs.len : -1;
    }
    }
    return -1;
}

int known_rank(const ir_value *v) { return known_rank_at(v, KNOWN_DEPTH); }

/* Sizes, -1 those that are not known. */
static bool known_shape(const ir_value *v, int64_t *out, int *n) {
    const tensor_info *t = known_info(v);
    if (!t || t->ndim < 0) return known_checked(v, out, n);
    if (t->ndim > KNOWN_MAX_INTS || (t->ndim && !t->sizes)) return false;
    *n = t->ndim;
    for (int i = 0; i < *n; i++) out[i] = t->sizes[i];
    return true;
}

int64_t known_size(const ir_value *v, int64_t dim) {
    int64_t sizes[KNOWN_MAX_INTS];
    int n;
    if (!known_shape(v, sizes, &n)) return -1;
    if (dim < 0) dim += n;
    return dim >= 0 && dim < n ? sizes[dim] : -1;
}

bool known_sizes(const ir_value *v, int64_t *out, int *n) {
    if (!known_shape(v, out, n)) return false;
    for (int i = 0; i < *n; i++)
        if (out[i] < 0) return false;
    return true;
}

/* ---- reading and writing --------------------------------------------------------------------- */

bool known_writes_argument(const node *n, int i) {
    return n->kind != N_OP || !n->op || node_writes_input(n, i);
}

static bool known_shares(const node *n, int i) {
    const schema *s = n->op->schema;
    if (i >= s->nargs || s->args[i].alias || node_returns_unmarked(n)) return true;
    for (int k = 0; k < s->nreturns; k++) /* a list of the same elements */
        if (s->args[i].type->has_var && s->returns[k].type->has_var) return true;
    return false;
}

static bool known_asks_strides(const node *n) { return n->op && n->op->traits.asks_strides; }

static bool known_read_at(const ir_value *v, bool views, int depth);

static bool known_outputs_read(const node *n, int depth) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!known_read_at(n->outputs.data[i], true, depth - 1)) return false;
    return true;
}

static bool known_use_at(const use *u, bool views, int depth) {
    const node *n = u->user, *around = n ? NULL : u->blk->parent;
    if (depth == 0) return false;
    if (!n) /* leaves a branch */
        return views && around && around->kind == N_IF &&
               known_read_at(around->outputs.data[u->index], views, depth - 1);
    if (n->kind == N_PRINT) return true;
    if (n->kind == N_LIST_CONSTRUCT || (views && n->kind == N_UNCHECKED_CAST))
        return known_read_at(n->outputs.data[0], views, depth - 1);
    if (views && n->kind == N_LIST_UNPACK) return known_outputs_read(n, depth);
    if (n->kind != N_OP || !n->op || known_writes_argument(n, u->index)) return false;
    if (n->op->schema->vararg && u->index >= n->op->schema->nargs) return node_is_op(n, SYM_FORMAT);
    if (!known_shares(n, u->index)) return views || !known_asks_strides(n);
    return views && known_outputs_read(n, depth);
}

static bool known_read_at(const ir_value *v, bool views, int depth) {
    for (size_t i = 0; i < v->uses.len; i++)
        if (!known_use_at(&v->uses.data[i], views, depth)) return false;
    return true;
}

bool known_use_reads(const use *u, bool views) { return known_use_at(u, views, KNOWN_DEPTH); }

bool known_only_read(const ir_value *v) { return known_read_at(v, true, KNOWN_DEPTH); }

/* An element taken out of the list may be written without harm to the list. */
bool known_list_kept(const ir_value *v) {
    for (size_t i = 0; i < v->uses.len; i++) {
        const node *n = v->uses.data[i].user;
        if (n && (n->kind == N_LIST_UNPACK || n->kind == N_PRINT)) continue;
        if (!n || n->kind != N_OP || !n->op || v->uses.data[i].index >= n->op->schema->nargs ||
            known_writes_argument(n, v->uses.data[i].index))
            return false;
        for (size_t k = 0; k < n->outputs.len; k++) /* nothing returns the list itself */
            if (n->op->schema->args[v->uses.data[i].index].alias &&
                n->outputs.data[k]->type == v->type)
                return false;
    }
    return true;
}

node *known_fixed_list(const ir_value *v) {
    return v->def && v->def->kind == N_LIST_CONSTRUCT && known_list_kept(v) ? v->def : NULL;
}

static bool known_is_call(const node *n) {
    switch (n->kind) {
    case N_CALL_FUNCTION:
    case N_CALL_METHOD:
    case N_FORK:
    case N_ENTER:
    case N_EXIT:
    case N_CLOSURE: return true;
    default: return n->kind == N_OP && (!n->op || n->op->traits.unsafe);
    }
}

/* A list whose elements are numbers or texts: to write it changes no tensor. */
static bool known_is_plain_list(const type *t) {
    type_kind k = t->kind == T_LIST ? t->elems[0]->kind : T_TENSOR;
    return k == T_INT || k == T_FLOAT || k == T_BOOL || k == T_STR;
}

/* lists: writes to lists without tensors count */
static bool known_block_writes(const block *b, bool lists) {
    for (const node *n = b->first; n; n = n->next) {
        if (known_is_call(n)) return true;
        for (size_t i = 0; n->kind == N_OP && i < n->inputs.len; i++)
            if (known_writes_argument(n, (int)i) &&
                (lists || !known_is_plain_list(n->inputs.data[i]->type)))
                return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (known_block_writes(n->blocks.data[i], lists)) return true;
    }
    return false;
}

bool known_graph_writes(const graph *g) { return known_block_writes(g->root, true); }
bool known_graph_writes_tensors(const graph *g) { return known_block_writes(g->root, false); }

static bool known_block_reshapes(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (known_is_call(n)) return true;
        for (size_t i = 0; n->kind == N_OP && i < n->inputs.len; i++)
            if (n->inputs.data[i]->type->kind != T_LIST &&
                n->inputs.data[i]->type->kind != T_DICT && known_writes_argument(n, (int)i) &&
                node_write_reshapes(n))
                return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (known_block_reshapes(n->blocks.data[i])) return true;
    }
    return false;
}

bool known_graph_reshapes(const graph *g) { return known_block_reshapes(g->root); }

bool known_is_fresh(const ir_value *v) {
    return v->def && v->def->kind == N_OP && v->type->kind == T_TENSOR && node_makes_fresh(v->def);
}
