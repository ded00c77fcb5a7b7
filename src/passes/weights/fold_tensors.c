/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold_tensors.c - evaluates at compile time operators on constant tensors
 * only: a bias that is looked up in a table, its transpose, a mask.
 *
 *     %i : Tensor?[] = prim::ListConstruct(%index)
 *     %b : Tensor = aten::index(%table, %i)
 *     %p : Tensor = aten::permute(%b, %dims)       ->    %p : Tensor = prim::Constant[value=<Tensor>]()
 *
 * Method. One walk in execution order, so that a folded value feeds its users. The result
 * becomes one object for all calls: it must not be written or leave the graph, nor may its
 * inputs be written. Only cheap operators are folded, and sums, whose results are small:
 * each result stays in memory from then on. Views may be as large as what they see; so may floats
 * of a quantised constant, which every call would make anew (pack-nbits has taken those that can
 * be multiplied as integers). A mask
 * of positions that begins with an arange of constants is constant as well. Constant
 * tensors occur in graphs of frozen modules. What fails stays, to fail when it runs.
 * Tests: tests/ir/fold-tensors
 */
#include "passes/pass/rewrite.h"

enum { FOLD_ARGS = 16, FOLD_BYTES = 4 << 20, FOLD_RANGE = 1 << 16 };

typedef struct fold_tensors {
    graph *g;
    alias_db *alias;
    bool changed;
} fold_tensors;

/* arange(a, b) of ints that are not far apart. */
static bool fold_is_range(const node *n) {
    if (n->op->symbol != SYM_ARANGE && n->op->symbol != SYM_ARANGE_START) return false;
    for (int i = 0; i < (n->op->symbol == SYM_ARANGE ? 1 : 2); i++) {
        value c;
        if (!ir_value_constant(n->inputs.data[i], &c) || c.tag != V_INT || c.u.i < -FOLD_RANGE ||
            c.u.i > FOLD_RANGE)
            return false;
    }
    return true;
}

/* By what an element of the result costs. */
static bool fold_is_cheap(const op *o) {
    if (o->traits.makes_view || o->symbol == SYM_ARANGE || o->symbol == SYM_ARANGE_START ||
        o->symbol == SYM_DEQUANTIZE_SELF ||
        o->symbol == SYM_SUM_DIM_INTLIST) /* of the columns of a weight */
        return true;
    switch (o->traits.work) {
    case WORK_MOVE:
    case WORK_NONE:
    case WORK_LOOKUP:
    case WORK_POINTWISE: return true;
    /* of a tensor's own sizes */
    case WORK_NEW: return o->schema->nargs > 1 && strcmp(o->schema->args[1].name, "size");
    default: return false;
    }
}

/* A list of constants that nothing writes. A new reference; false: v is none, or out of memory. */
static bool fold_list(const fold_tensors *f, const ir_value *v, value *out) {
    const node *n = v->def;
    if (!n || n->kind != N_LIST_CONSTRUCT || alias_ever_written(f->alias, v)) return false;
    type *elem = v->type->elems[0];
    list *l = list_new(type_list_kind(elem), elem, n->inputs.len);
    *out = l ? value_list_take(l) : value_none();
    for (size_t i = 0; l && i < n->inputs.len; i++) {
        value c;
        if (!ir_value_constant(n->inputs.data[i], &c) || !list_append_take(l, value_ref(c))) {
            value_unref(*out);
            return false;
        }
    }
    return l;
}

static bool fold_argument(const fold_tensors *f, const ir_value *v, value *out, bool *tensors) {
    value c;
    if (!ir_value_constant(v, &c)) return fold_list(f, v, out);
    if (c.tag == V_TENSOR) {
        if (tensor_device(c.u.tensor) != DEVICE_HOST) return false;
        *tensors = true;
    }
    *out = value_ref(c);
    return true;
}

static bool fold_may(const fold_tensors *f, const node *n) {
    if (n->kind != N_OP || !n->op || !n->op->fn || n->outputs.len != 1 ||
        n->outputs.data[0]->type->kind != T_TENSOR || n->inputs.len > FOLD_ARGS ||
        n->op->schema->vararg || (int)n->inputs.len != n->op->schema->nargs)
        return false;
    const ir_value *out = n->outputs.data[0];
    return op_is_pure(n->op) && fold_is_cheap(n->op) && !node_has_visible_effects(n) &&
           !node_is_random(n) && !alias_writes(f->alias, n) && !alias_ever_written(f->alias, out) &&
           !alias_ever_reshaped(f->alias, out) && !alias_flows_out(f->alias, out);
}

/* Elements are counted, not bytes: an expanded view may have more bytes than an int64_t counts. */
static bool fold_is_small(const tensor *t) {
    return t->numel <= FOLD_BYTES / (int64_t)dtype_size((dtype)t->dtype);
}

static tensor *fold_compute(const node *n, const value *args) {
    diag d = {0};
    op_ctx cx = {.diag = &d,
                 .op = n->op,
                 .nargs = (int)n->inputs.len,
                 .out_types = &n->outputs.data[0]->type};
    value result = value_none();
    bool ok = op_function(n->op, cx.nargs, args)(&cx, args, &result) == CTSC_OK &&
              result.tag == V_TENSOR && tensor_device(result.u.tensor) == DEVICE_HOST &&
              (fold_is_small(result.u.tensor) || n->op->symbol == SYM_DEQUANTIZE_SELF ||
               (n->op->traits.makes_view && args[0].tag == V_TENSOR &&
                result.u.tensor->numel <= args[0].u.tensor->numel));
    diag_clear(&d);
    if (ok) return result.u.tensor;
    value_unref(result);
    return NULL;
}

static void fold_node(fold_tensors *f, node *n) {
    value args[FOLD_ARGS];
    size_t known = 0;
    if (!fold_may(f, n)) return;
    bool tensors = fold_is_range(n);
    while (known < n->inputs.len && fold_argument(f, n->inputs.data[known], &args[known], &tensors))
        known++;
    tensor *t = known == n->inputs.len && tensors ? fold_compute(n, args) : NULL;
    while (known) value_unref(args[--known]);
    if (!t) return;
    ir_value *c = graph_constant_before_take(n, value_tensor_take(t), NULL);
    if (!c || arena_failed(&f->g->arena)) return;
    if (value_has_name(n->outputs.data[0])) value_set_name(c, n->outputs.data[0]->name);
    value_replace_uses(n->outputs.data[0], c);
    node_remove(n);
    f->changed = true;
}

static void fold_block(fold_tensors *f, block *b) {
    for (node *n = b->first, *next; n && !arena_failed(&f->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) fold_block(f, n->blocks.data[i]);
        fold_node(f, n);
    }
}

bool pass_fold_tensors(pass_ctx *cx, graph *g) {
    (void)cx;
    fold_tensors f = {.g = g, .alias = alias_new(g)};
    if (f.alias) fold_block(&f, g->root);
    else g->arena.failed = true;
    alias_free(f.alias);
    return f.changed;
}
