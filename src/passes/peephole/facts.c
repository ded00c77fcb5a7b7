/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - what a graph says about single values (facts.h).
 *
 * What operators do to their arguments is in ir/graph/alias_effects.c. The whole alias analysis (ir/graph/alias.h) knows more than the local
 * look taken here, but has to be made anew after each change; rules of peephole change the graph at every step.
 * Tests: tests/ir/peephole
 */
#include "passes/peephole/facts.h"
#include "ir/graph/alias.h"

#include <string.h>

enum { FACT_DEPTH = 16 };

/* ---- constants ---------------------------------------------------------------------------------------- */

bool fact_int(const ir_value *v, int64_t *out) {
    value c;
    if (!ir_value_constant(v, &c) || c.tag != V_INT) return false;
    *out = c.u.i;
    return true;
}

bool fact_bool(const ir_value *v, bool *out) {
    value c;
    if (!ir_value_constant(v, &c) || c.tag != V_BOOL) return false;
    *out = c.u.b;
    return true;
}

bool fact_is_none(const ir_value *v) {
    value c;
    return ir_value_constant(v, &c) && c.tag == V_NONE;
}

bool fact_number_is(const ir_value *v, int x) {
    value c;
    if (!ir_value_constant(v, &c)) return false;
    return (c.tag == V_INT && c.u.i == x) || (c.tag == V_FLOAT && c.u.f == x);
}

bool fact_tensor(const ir_value *v, tensor **out) {
    value c;
    if (!ir_value_constant(v, &c) || c.tag != V_TENSOR) return false;
    *out = c.u.tensor;
    return true;
}

bool fact_ints(const ir_value *v, int64_t *out, int *n) {
    value c;
    if (ir_value_constant(v, &c)) {
        if (c.tag != V_LIST || c.u.list->kind != LIST_INT || c.u.list->len > FACT_MAX_INTS) return false;
        *n = (int)c.u.list->len;
        for (int i = 0; i < *n; i++) out[i] = c.u.list->u.ints[i];
        return fact_list_kept(v);
    }
    const node *made = fact_fixed_list(v);
    if (!made || made->inputs.len > FACT_MAX_INTS) return false;
    *n = (int)made->inputs.len;
    for (int i = 0; i < *n; i++)
        if (!fact_int(made->inputs.data[i], &out[i])) return false;
    return true;
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

/* What follows about an operator's result. */
typedef enum fact_rule {
    FACT_SAME_RANK = 1,  /* as the first argument */
    FACT_SAME_DTYPE = 2, /* as the first argument */
    FACT_RANK_1 = 4, FACT_RANK_2 = 8, FACT_RANK_3 = 16,
    FACT_RANK_OF_LIST = 32, /* as many dimensions as the second argument has elements */
    FACT_RANK_PLUS_1 = 64,
    FACT_FLOATS = 128, /* float arguments keep their dtype */
} fact_rule;

static const struct { const char *op; int rule; } fact_rules[] = {
    {"aten::relu", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::neg", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::abs", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::sigmoid", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::tanh", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::exp", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::log", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::sqrt", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::rsqrt", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::sin", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::cos", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::erf", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::gelu", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::silu", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::contiguous", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::clone", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::detach", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::transpose", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::permute", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::t", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::slice", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::dropout", FACT_SAME_RANK | FACT_SAME_DTYPE},
    {"aten::layer_norm", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::batch_norm", FACT_SAME_RANK | FACT_FLOATS},
    {"aten::view", FACT_RANK_OF_LIST | FACT_SAME_DTYPE},
    {"aten::reshape", FACT_RANK_OF_LIST | FACT_SAME_DTYPE},
    {"aten::expand", FACT_RANK_OF_LIST | FACT_SAME_DTYPE},
    {"aten::unsqueeze", FACT_RANK_PLUS_1 | FACT_SAME_DTYPE},
    {"aten::squeeze", FACT_SAME_DTYPE},
    {"aten::mm", FACT_RANK_2 | FACT_SAME_DTYPE},
    {"aten::addmm", FACT_RANK_2 | FACT_SAME_DTYPE},
    {"aten::mv", FACT_RANK_1 | FACT_SAME_DTYPE},
    {"aten::bmm", FACT_RANK_3 | FACT_SAME_DTYPE},
    {"aten::baddbmm", FACT_RANK_3 | FACT_SAME_DTYPE},
};

static int fact_rule_of(const ir_value *v) {
    const node *n = v->def;
    if (!n || n->kind != N_OP || !n->op || !n->inputs.len || n->inputs.data[0]->type->kind != T_TENSOR) return 0;
    if (!strcmp(n->op->schema->overload, "dtype")) return 0; /* view(dtype), to(dtype) */
    for (size_t i = 0; i < sizeof fact_rules / sizeof *fact_rules; i++)
        if (!strcmp(n->op_name, fact_rules[i].op)) return fact_rules[i].rule;
    return 0;
}

static const tensor_info *fact_info(const ir_value *v) {
    return v->type->kind == T_TENSOR ? v->type->tensor : NULL;
}

static int fact_dtype_at(const ir_value *v, int depth) {
    const tensor_info *t = fact_info(v);
    if (t && t->dtype >= 0) return t->dtype;
    int rule = depth ? fact_rule_of(v) : 0;
    if (!(rule & (FACT_SAME_DTYPE | FACT_FLOATS))) return -1;
    int dt = fact_dtype_at(v->def->inputs.data[0], depth - 1);
    return dt >= 0 && (rule & FACT_FLOATS) && !dtype_is_float((dtype)dt) ? -1 : dt;
}

int fact_dtype(const ir_value *v) {
    return fact_dtype_at(v, FACT_DEPTH);
}

static int fact_rank_at(const ir_value *v, int depth) {
    const tensor_info *t = fact_info(v);
    if (t && t->ndim >= 0) return t->ndim;
    int rule = depth ? fact_rule_of(v) : 0, n;
    if (rule & FACT_SAME_RANK) return fact_rank_at(v->def->inputs.data[0], depth - 1);
    if (rule & FACT_RANK_1) return 1;
    if (rule & FACT_RANK_2) return 2;
    if (rule & FACT_RANK_3) return 3;
    if (rule & FACT_RANK_PLUS_1) {
        n = fact_rank_at(v->def->inputs.data[0], depth - 1);
        return n < 0 ? -1 : n + 1;
    }
    if (rule & FACT_RANK_OF_LIST && v->def->inputs.len > 1) {
        const node *made = fact_fixed_list(v->def->inputs.data[1]);
        return made ? (int)made->inputs.len : -1;
    }
    return -1;
}

int fact_rank(const ir_value *v) {
    return fact_rank_at(v, FACT_DEPTH);
}

int64_t fact_size(const ir_value *v, int64_t dim) {
    const tensor_info *t = fact_info(v);
    if (!t || t->ndim < 0 || !t->sizes) return -1;
    if (dim < 0) dim += t->ndim;
    return dim >= 0 && dim < t->ndim ? t->sizes[dim] : -1;
}

bool fact_sizes(const ir_value *v, int64_t *out, int *n) {
    const tensor_info *t = fact_info(v);
    if (!t || t->ndim < 0 || t->ndim > FACT_MAX_INTS || (t->ndim && !t->sizes)) return false;
    *n = t->ndim;
    for (int i = 0; i < *n; i++)
        if ((out[i] = t->sizes[i]) < 0) return false;
    return true;
}

/* ---- reading and writing --------------------------------------------------------------------------------- */

bool fact_writes_argument(const node *n, int i) {
    return n->kind != N_OP || !n->op || node_writes_input(n, i);
}

static bool fact_shares(const node *n, int i) {
    const schema *s = n->op->schema;
    return i >= s->nargs || s->args[i].alias || node_returns_unmarked(n);
}

/* Looks at how the elements lie, not only at them. */
static bool fact_asks_strides(const node *n) {
    static const char *const names[] = {"aten::stride", "aten::is_contiguous", "aten::storage_offset", "aten::data_ptr",
                                        "aten::is_set_to", "aten::is_non_overlapping_and_dense"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], n->op_name)) return true;
    return false;
}

static bool fact_read_at(const ir_value *v, bool views, int depth);

static bool fact_outputs_read(const node *n, int depth) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!fact_read_at(n->outputs.data[i], true, depth - 1)) return false;
    return true;
}

static bool fact_use_at(const use *u, bool views, int depth) {
    const node *n = u->user, *around = n ? NULL : u->blk->parent;
    if (depth == 0) return false;
    if (!n) /* leaves a branch */
        return views && around && around->kind == N_IF && fact_read_at(around->outputs.data[u->index], views, depth - 1);
    if (n->kind == N_PRINT) return true;
    if (n->kind == N_LIST_CONSTRUCT || (views && n->kind == N_UNCHECKED_CAST))
        return fact_read_at(n->outputs.data[0], views, depth - 1);
    if (views && n->kind == N_LIST_UNPACK) return fact_outputs_read(n, depth);
    if (n->kind != N_OP || !n->op || fact_writes_argument(n, u->index)) return false;
    if (n->op->schema->vararg && u->index >= n->op->schema->nargs) return !strcmp(n->op_name, "aten::format");
    if (!fact_shares(n, u->index)) return views || !fact_asks_strides(n);
    return views && fact_outputs_read(n, depth);
}

static bool fact_read_at(const ir_value *v, bool views, int depth) {
    for (size_t i = 0; i < v->uses.len; i++)
        if (!fact_use_at(&v->uses.data[i], views, depth)) return false;
    return true;
}

bool fact_use_reads(const use *u, bool views) {
    return fact_use_at(u, views, FACT_DEPTH);
}

bool fact_only_read(const ir_value *v) {
    return fact_read_at(v, true, FACT_DEPTH);
}

/* An element taken out of the list may be written without harm to the list. */
bool fact_list_kept(const ir_value *v) {
    for (size_t i = 0; i < v->uses.len; i++) {
        const node *n = v->uses.data[i].user;
        if (n && (n->kind == N_LIST_UNPACK || n->kind == N_PRINT)) continue;
        if (!n || n->kind != N_OP || !n->op || v->uses.data[i].index >= n->op->schema->nargs ||
            fact_writes_argument(n, v->uses.data[i].index))
            return false;
        for (size_t k = 0; k < n->outputs.len; k++) /* nothing returns the list itself */
            if (n->op->schema->args[v->uses.data[i].index].alias && n->outputs.data[k]->type == v->type) return false;
    }
    return true;
}

node *fact_fixed_list(const ir_value *v) {
    return v->def && v->def->kind == N_LIST_CONSTRUCT && fact_list_kept(v) ? v->def : NULL;
}

static bool fact_is_call(const node *n) {
    switch (n->kind) {
    case N_CALL_FUNCTION: case N_CALL_METHOD: case N_FORK: case N_ENTER: case N_EXIT: case N_CLOSURE: return true;
    default: return n->kind == N_OP && (!n->op || (n->op->flags & OP_UNSAFE));
    }
}

static bool fact_block_writes(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (fact_is_call(n)) return true;
        for (size_t i = 0; n->kind == N_OP && i < n->inputs.len; i++)
            if (fact_writes_argument(n, (int)i)) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (fact_block_writes(n->blocks.data[i])) return true;
    }
    return false;
}

bool fact_graph_writes(const graph *g) {
    return fact_block_writes(g->root);
}

static bool fact_block_reshapes(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (fact_is_call(n)) return true;
        for (size_t i = 0; n->kind == N_OP && i < n->inputs.len; i++)
            if (n->inputs.data[i]->type->kind != T_LIST && n->inputs.data[i]->type->kind != T_DICT && fact_writes_argument(n, (int)i) && node_write_reshapes(n)) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (fact_block_reshapes(n->blocks.data[i])) return true;
    }
    return false;
}

bool fact_graph_reshapes(const graph *g) {
    return fact_block_reshapes(g->root);
}

bool fact_is_fresh(const ir_value *v) {
    return v->def && v->def->kind == N_OP && v->type->kind == T_TENSOR && node_makes_fresh(v->def);
}
