/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepack.c - layers whose weight is a constant may keep it packed for their kernels
 * (runtime/kernels/matmul/packed_weights.h).
 *
 *     %w : Tensor = prim::Constant[value=<Tensor>]()
 *     %y : Tensor = aten::linear(%x, %w, %b)           ->     %y : Tensor = ctsc::linear_prepacked(%x, %w', %b)
 *
 * or ctsc::linear_epilogue, the same with %w'. %w' has the elements of %w in a
 * separate storage, since data derived from them is kept there. Parameters of
 * recurrent layers and weights within attention get separate storages, too,
 * and so do 16-bit matrices whose views are factors of products (experts);
 * operators recognise constants by these storages. Small weights stay: there
 * is little to gain. Runs after the passes that look for linear layers.
 * Tests: tests/cli/prepack.test
 */
#include "passes/weights/prepack.h"

#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"
#include "tensor/device.h"

enum { PREPACK_LEAST = 1024 }; /* elements */

/* The constant v with a storage of its own, in front of `at`; NULL: out of memory. */
static ir_value *prepack_own(node *at, const ir_value *v, const tensor *t) {
    tensor *own;
    if (tensor_constant(NULL, t, &own) != CTSC_OK) return NULL;
    ir_value *w = graph_constant_before_take(at, value_tensor_take(own), v->type);
    if (value_has_name(v)) value_set_name(w, v->name);
    return w;
}

bool prepack_is_large(const tensor *w) {
    return w->dtype == DT_FLOAT32 && w->ndim == 2 && w->numel >= PREPACK_LEAST &&
           tensor_device(w) == DEVICE_HOST;
}

static bool prepack_has_16_bits(const tensor *w) { return dtype_is_half((dtype)w->dtype); }

bool prepack_is_half(const tensor *w) {
    return prepack_has_16_bits(w) && w->ndim == 2 && w->numel >= PREPACK_LEAST &&
           tensor_device(w) == DEVICE_HOST;
}

bool prepack_is_weight(const tensor *w) { return prepack_is_large(w) || prepack_is_half(w); }

bool prepack_fits(const node *n, tensor **weight) {
    return node_is_overload(n, SYM_LINEAR) && known_tensor(n->inputs.data[1], weight) &&
           prepack_is_weight(*weight);
}

static bool prepack_same(const tensor *a, const tensor *b) {
    return tensor_data(a) == tensor_data(b) && a->dtype == b->dtype && a->ndim == b->ndim &&
           tensor_same_shape(a, b) && a->strides[0] == b->strides[0] &&
           a->strides[1] == b->strides[1];
}

/* A constant before v that is the same matrix, and has a storage of its own; NULL: none. */
static ir_value *prepack_before(const ir_value *v, const tensor *t) {
    tensor *seen;
    for (node *c = v->def->owner->first; c && c != v->def; c = c->next)
        if (c->outputs.len == 1 && known_tensor(c->outputs.data[0], &seen) &&
            seen->storage->constant && prepack_same(seen, t))
            return c->outputs.data[0];
    return NULL;
}

/* The weight with a storage of its own, before all others: layers of one matrix have the same. */
ir_value *prepack_weight(node *n, const tensor *t) {
    ir_value *v = n->inputs.data[1], *w = prepack_before(v, t);
    tensor *other;
    if (t->storage->constant || w) return w ? w : v;
    w = prepack_own(v->def->owner->first, v, t);
    for (size_t i = v->uses.len; w && i-- > 0;) {
        use u = v->uses.data[i];
        if (u.user && u.index == 1 && prepack_fits(u.user, &other)) node_set_input(u.user, 1, w);
    }
    return w;
}

static bool prepack_linear_rule(node *n) {
    tensor *weight;
    ir_value *w = prepack_fits(n, &weight) ? prepack_weight(n, weight) : NULL;
    ir_value *y = w ? rewrite_op(n, op_of(SYM_CTSC_LINEAR_PREPACKED), 3,
                                 (ir_value *[]){n->inputs.data[0], w, n->inputs.data[2]})
                    : NULL;
    if (!y) return false;
    rewrite_result(n, y);
    return true;
}

/* One that has an epilogue already (fuse_epilogues.c). */
static bool prepack_epilogue_rule(node *n) {
    tensor *weight;
    if (!node_is_overload(n, SYM_CTSC_LINEAR_EPILOGUE) ||
        !known_tensor(n->inputs.data[1], &weight) || !prepack_is_weight(weight) ||
        weight->storage->constant)
        return false;
    const ir_value *v = n->inputs.data[1];
    ir_value *w = prepack_is_half(weight) ? prepack_before(v, weight) : NULL;
    if (!w) w = prepack_own(n, v, weight);
    if (w) node_set_input(n, 1, w);
    return w != NULL;
}

/* Where a recurrent layer has the list of its parameters; -1: n is none. */
static int prepack_parameters(const node *n) {
    if (n->kind != N_OP || !n->op) return -1;
    switch (n->op->symbol) {
    case SYM_LSTM_INPUT:
    case SYM_GRU_INPUT:
    case SYM_RNN_TANH_INPUT:
    case SYM_RNN_RELU_INPUT: return 2;
    case SYM_LSTM_DATA:
    case SYM_GRU_DATA:
    case SYM_RNN_TANH_DATA:
    case SYM_RNN_RELU_DATA: return 3;
    default: return -1;
    }
}

/* An equal constant may replace a constant in any list, even a shared one. */
static bool prepack_recurrent_rule(node *n) {
    int at = prepack_parameters(n);
    node *list = at < 0 ? NULL : n->inputs.data[at]->def;
    bool changed = false;
    for (size_t i = 0; list && list->kind == N_LIST_CONSTRUCT && i < list->inputs.len; i++) {
        tensor *t;
        const ir_value *v = list->inputs.data[i];
        if (!known_tensor(v, &t) || (t->dtype != DT_FLOAT32 && !prepack_has_16_bits(t)) ||
            tensor_device(t) != DEVICE_HOST || t->storage->constant)
            continue;
        ir_value *own = prepack_own(list, v, t);
        if (own) node_set_input(list, (int)i, own), changed = true;
    }
    return changed;
}

/* Attention has linear layers inside, whose weights are these arguments. */
static const struct {
    op_symbol key;
    int weights[4]; /* -1 after the last */
} prepack_attention[] = {
    {SYM__NATIVE_MULTI_HEAD_ATTENTION, {5, 7, -1, -1}},
    {SYM__TRANSFORMER_ENCODER_LAYER_FWD, {3, 5, 14, 16}},
};

static bool prepack_attention_rule(node *n) {
    bool changed = false;
    for (size_t i = 0; i < sizeof prepack_attention / sizeof *prepack_attention; i++) {
        if (!node_is_overload(n, prepack_attention[i].key)) continue;
        for (int k = 0; k < 4 && prepack_attention[i].weights[k] >= 0; k++) {
            int at = prepack_attention[i].weights[k];
            tensor *t;
            if (!known_tensor(n->inputs.data[at], &t) || !prepack_is_weight(t) ||
                t->storage->constant)
                continue;
            ir_value *own = prepack_own(n, n->inputs.data[at], t);
            if (own) node_set_input(n, at, own), changed = true;
        }
    }
    return changed;
}

/* Weights of few bits are packed whatever their size: there is no other good way to multiply. */
static bool prepack_nbits_rule(node *n) {
    tensor *weight;
    if (!node_is_overload(n, SYM_CTSC_LINEAR_NBITS) || !known_tensor(n->inputs.data[1], &weight) ||
        weight->storage->constant || tensor_device(weight) != DEVICE_HOST)
        return false;
    ir_value *own = prepack_own(n, n->inputs.data[1], weight);
    if (own) node_set_input(n, 1, own);
    return own != NULL;
}

/* Is n a view of its first argument that has whole matrices of it? */
static bool prepack_is_view(const node *n) {
    return node_is_overload(n, SYM_SELECT_INT) || node_is_overload(n, SYM_TRANSPOSE_INT) ||
           node_is_overload(n, SYM_T);
}

/* A product with matrices of a constant of 16 bits: %w = select(%weights, 0, %i). */
static bool prepack_product_rule(node *n) {
    enum { VIEWS = 4 };
    if (!node_is_overload(n, SYM_MM) && !node_is_overload(n, SYM_BMM) &&
        !node_is_overload(n, SYM_MATMUL))
        return false;
    node *reader = n;
    int at = 1;
    const ir_value *v = n->inputs.data[at];
    for (int i = 0; i < VIEWS && v->def && prepack_is_view(v->def); i++) {
        reader = v->def, at = 0;
        v = reader->inputs.data[at];
    }
    tensor *t;
    if (!known_tensor(v, &t) || !prepack_has_16_bits(t) || t->ndim < 2 || t->ndim > 3 ||
        t->numel < PREPACK_LEAST || tensor_device(t) != DEVICE_HOST || t->storage->constant)
        return false;
    ir_value *own = prepack_own(reader, v, t);
    if (own) node_set_input(reader, at, own);
    return own != NULL;
}

static bool prepack_rule(const alias_db *db, node *n) {
    (void)db;
    if (prepack_nbits_rule(n) || prepack_product_rule(n)) return true;
    return prepack_linear_rule(n) || prepack_epilogue_rule(n) || prepack_recurrent_rule(n) ||
           prepack_attention_rule(n);
}

bool pass_prepack(pass_ctx *cx, graph *g) { return rewrite_each(cx, g, prepack_rule); }
