/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise_insert.c - operators on floats become operators on quantised tensors
 * (quantise_insert.h).
 *
 * Method. One walk in execution order. `ints` has, for a float tensor, the quantised one that it
 * was made of or that was made of it: an operator that finds its arguments there takes these. What
 * an operator's result was is then a dequantisation of the new result, which dce removes where
 * nothing reads it; so no use has to be looked at.
 */
#include "passes/quantise/quantise_insert.h"

#include "tensor/device.h"

#include <math.h>
#include <string.h>

/* ---- layers ---------------------------------------------------------------------------------- */

enum { LAYER_LEAST = 2 }; /* elements of a row's worth of weight */

static bool layer_weight(ir_value *v, quantise_layer *l) {
    l->weight = v;
    return known_tensor(v, &l->w) && l->w->dtype == DT_FLOAT32 && l->w->ndim >= 2 && l->w->numel &&
           tensor_device(l->w) == DEVICE_HOST;
}

static bool layer_bias(ir_value *v, quantise_layer *l) {
    tensor *b;
    if (known_is_none(v)) return true;
    l->bias = v;
    return known_tensor(v, &b) && b->dtype == DT_FLOAT32 && b->ndim == 1 &&
           tensor_device(b) == DEVICE_HOST;
}

static bool layer_conv(node *n, quantise_layer *l) {
    static const char *const kinds[2][3] = {
        {"conv1d", "conv2d", "conv3d"},
        {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"},
    };
    const quantise_conv_kind *k = quantise_conv_kind_of(n);
    value geometry[QUANTISE_GEOMETRY] = {{0}};
    if (!k || !layer_weight(n->inputs.data[1], l) || !layer_bias(n->inputs.data[2], l) ||
        l->w->ndim != k->dims + 2)
        return false;
    l->x = n->inputs.data[0];
    l->kind = kinds[k->transposed][k->dims - 1];
    l->axis = k->transposed ? 1 : 0;
    bool known = quantise_conv_geometry(n, k, geometry);
    quantise_conv_release(geometry);
    return known;
}

static bool layer_linear(node *n, quantise_layer *l) {
    ir_value *const *in = n->inputs.data;
    bool is = false;
    l->kind = "linear";
    if (node_is_overload(n, SYM_LINEAR)) {
        l->x = in[0];
        is = layer_weight(in[1], l) && layer_bias(in[2], l);
    } else if (node_is_overload(n, SYM_ADDMM)) {
        l->x = in[1], l->turned = true;
        is = known_number_is(in[3], 1) && known_number_is(in[4], 1) && layer_weight(in[2], l) &&
             layer_bias(in[0], l);
    } else if (node_is_overload(n, SYM_MATMUL) || node_is_overload(n, SYM_MM)) {
        l->x = in[0], l->turned = true;
        l->kind = "matmul";
        is = layer_weight(in[1], l);
    }
    l->axis = l->turned ? 1 : 0;
    return is && l->w->ndim == 2;
}

static bool layer_is_bag(const node *n) {
    return node_is_overload(n, SYM_EMBEDDING_BAG) ||
           node_is_overload(n, SYM_EMBEDDING_BAG_PADDING_IDX);
}

/* Sums that leave no index out, where nothing but the sums is read. */
static bool bag_is_plain(const node *n) {
    enum { MODE = 4, PADDING = 8 };
    for (size_t i = 1; i < n->outputs.len; i++)
        if (n->outputs.data[i]->uses.len) return false;
    return known_number_is(n->inputs.data[MODE], 0) &&
           (n->inputs.len <= PADDING || known_is_none(n->inputs.data[PADDING]));
}

/* Does nothing but embeddings read the table, with results that packed rows give? */
static bool table_is_one(const quantise_layer *l) {
    for (size_t i = 0; i < l->weight->uses.len; i++) {
        const use *u = &l->weight->uses.data[i];
        if (u->index != 0 || !(node_is_overload(u->user, SYM_EMBEDDING) || layer_is_bag(u->user)))
            return false;
    }
    return node_is_overload(l->n, SYM_EMBEDDING) || bag_is_plain(l->n);
}

static bool layer_table(node *n, quantise_layer *l) {
    bool bag = layer_is_bag(n);
    if (!bag && !node_is_overload(n, SYM_EMBEDDING)) return false;
    *l = (quantise_layer){
        .n = n, .kind = bag ? "embedding_bag" : "embedding", .x = n->inputs.data[1]};
    if (!layer_weight(n->inputs.data[0], l) || l->w->ndim != 2) return false;
    l->table = table_is_one(l);
    return true;
}

bool quantise_layer_of(node *n, quantise_style style, quantise_layer *out) {
    if (n->kind != N_OP || !n->op || n->op->symbol == SYM_NONE) return false;
    quantise_layer l = {.n = n};
    bool is = layer_linear(n, &l);
    if (!is && style != QUANTISE_DYNAMIC && style != QUANTISE_WEIGHTS) {
        l = (quantise_layer){.n = n};
        is = layer_conv(n, &l);
    }
    if (!is && style == QUANTISE_WEIGHTS) is = layer_table(n, &l);
    if (!is && (style == QUANTISE_DYNAMIC || style == QUANTISE_WEIGHTS)) {
        l = (quantise_layer){.n = n};
        is = quantise_recurrent_of(n, &l);
    }
    if (is) *out = l;
    return is;
}

node *quantise_tail(const node *n) {
    double lo, hi;
    const ir_value *y = n->outputs.data[0];
    node *t = y->uses.len == 1 ? y->uses.data[0].user : NULL;
    return t && t->owner == n->owner && t->kind == N_OP && t->op && t->inputs.data[0] == y &&
                   quantise_bounds_of(t, &lo, &hi)
               ? t
               : NULL;
}

/* ---- all nodes ------------------------------------------------------------------------------- */

typedef void (*visit_node)(void *ctx, node *n);

static void visit_block(block *b, visit_node visit, void *ctx) {
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) visit_block(n->blocks.data[i], visit, ctx);
        visit(ctx, n);
    }
}

static void number_value(size_t *count, ir_value *v) {
    v->scratch = v->type->kind == T_TENSOR ? (void *)(uintptr_t)++*count : NULL;
}

static void number_node(void *ctx, node *n) {
    for (size_t i = 0; i < n->outputs.len; i++) number_value(ctx, n->outputs.data[i]);
    for (size_t k = 0; k < n->blocks.len; k++)
        for (size_t i = 0; i < n->blocks.data[k]->params.len; i++)
            number_value(ctx, n->blocks.data[k]->params.data[i]);
}

size_t quantise_number_values(graph *g) {
    size_t count = 0;
    for (size_t i = 0; i < g->root->params.len; i++) number_value(&count, g->root->params.data[i]);
    visit_block(g->root, number_node, &count);
    return count;
}

typedef struct layer_finder {
    quantise_style style;
    quantise_layers *out;
    bool failed;
} layer_finder;

static void find_node(void *ctx, node *n) {
    layer_finder *f = ctx;
    quantise_layer l;
    if (quantise_layer_of(n, f->style, &l) && !vec_push(f->out, l)) f->failed = true;
}

bool quantise_find_layers(graph *g, quantise_style style, quantise_layers *out) {
    layer_finder f = {style, out, false};
    visit_block(g->root, find_node, &f);
    return !f.failed;
}

/* ---- operators between quantised tensors ----------------------------------------------------- */

typedef enum insert_role { ROLE_JOIN, ROLE_SAME, ROLE_FUNCTION, ROLE_FIXED } insert_role;

static const struct insert_row {
    op_symbol op;
    insert_role role;
    const char *key;
    quantise_affine fixed;
} insert_rows[] = {
#define JOIN(symbol, key) {symbol, ROLE_JOIN, key, {0, 0}},
#define SAME(symbol) {symbol, ROLE_SAME, NULL, {0, 0}},
#define FUNCTION(symbol, key) {symbol, ROLE_FUNCTION, key, {0, 0}},
#define FIXED(symbol, scale, zero) {symbol, ROLE_FIXED, NULL, {scale, zero}},
#include "passes/quantise/quantise_insert.def"
#undef JOIN
#undef SAME
#undef FUNCTION
#undef FIXED
};

static const struct insert_row *insert_row_of(const node *n) {
    if (n->kind != N_OP || !n->op || n->op->symbol == SYM_NONE) return NULL;
    for (size_t i = 0; i < sizeof insert_rows / sizeof *insert_rows; i++)
        if (n->op->symbol == insert_rows[i].op) return &insert_rows[i];
    return NULL;
}

/* What a join joins: a list's elements, or its first two arguments. */
static ir_value *const *join_operands(const node *n, size_t *count) {
    if (!node_is_overload(n, SYM_CAT)) return *count = 2, n->inputs.data;
    node *l = known_fixed_list(n->inputs.data[0]);
    *count = l ? l->inputs.len : 0;
    return l ? l->inputs.data : NULL;
}

typedef struct wanted_visit {
    void (*wanted)(void *ctx, const ir_value *v);
    void *ctx;
} wanted_visit;

static void wanted_node(void *ctx, node *n) {
    const wanted_visit *w = ctx;
    const struct insert_row *row = insert_row_of(n);
    quantise_layer l;
    bool layer = quantise_layer_of(n, QUANTISE_STATIC, &l);
    size_t count = 0;
    if (layer) {
        w->wanted(w->ctx, l.x);
    } else if (row && row->role == ROLE_JOIN) {
        ir_value *const *operands = join_operands(n, &count);
        for (size_t i = 0; i < count; i++) w->wanted(w->ctx, operands[i]);
    } else if (!row || row->role != ROLE_FUNCTION) {
        return;
    }
    const node *tail = quantise_tail(n);
    w->wanted(w->ctx, n->outputs.data[0]);
    if (tail) w->wanted(w->ctx, tail->outputs.data[0]);
}

void quantise_wanted(graph *g, void (*wanted)(void *ctx, const ir_value *v), void *ctx) {
    wanted_visit w = {wanted, ctx};
    visit_block(g->root, wanted_node, &w);
}

/* ---- inserting ------------------------------------------------------------------------------- */

/* A float tensor's integers. */
typedef struct insert_ints { ir_value *q; quantise_affine a; } insert_ints;

/* Packed parameters of layers that share weight and bias. */
typedef struct insert_packed { const ir_value *bias; ir_value *packed; } insert_packed;

typedef struct inserter {
    diag *d;
    graph *g;
    const quantise_plan *p;
    ptrmap ints;   /* float value -> insert_ints, in the graph's arena */
    ptrmap packed; /* weight of a linear layer -> insert_packed, likewise */
    bool chains;   /* nothing is written: integers may go from one operator to the next */
    size_t layer;
    bool *made; /* by layer; NULL: nobody asks */
} inserter;

static quantise_affine insert_range(const inserter *s, const ir_value *v) {
    size_t i = quantise_number_of(v);
    return i && i <= s->p->nranges ? s->p->ranges[i - 1] : (quantise_affine){0, 0};
}

static ir_value *insert_float(node *at, double x) {
    return graph_constant_before_take(at, value_float(x), TYPE_FLOAT);
}

static ir_value *insert_op(node *at, const char *key, int n, ir_value *const *args) {
    return rewrite_op(at, op_find(key), n, args);
}

static const insert_ints *insert_known(const inserter *s, const ir_value *x) {
    return s->chains ? ptrmap_get(&s->ints, x) : NULL;
}

static const insert_ints *insert_note(inserter *s, ir_value *x, ir_value *q, quantise_affine a) {
    insert_ints *i = arena_new(&s->g->arena, insert_ints);
    *i = (insert_ints){q, a};
    if (!ptrmap_put(&s->ints, x, i)) s->g->arena.failed = true;
    return i;
}

/* x as integers for `by`: there, or made where x was. NULL: its range is not known. */
static const insert_ints *insert_ints_of(inserter *s, ir_value *x, node *by) {
    const insert_ints *known = insert_known(s, x);
    quantise_affine a = insert_range(s, x);
    if (known || a.scale == 0) return known;
    node *at = !s->chains ? by : x->def ? x->def->next : x->owner->first;
    ir_value *args[] = {x, insert_float(at, a.scale), rewrite_int(at, a.zero),
                        rewrite_int(at, DT_QUINT8)},
             *q = insert_op(at, "aten::quantize_per_tensor", 4, args);
    if (!q) return NULL;
    q->def->range = by->range;
    q->def->call = by->call;
    return insert_note(s, x, q, a);
}

/* q, integers of a, are what `end` made: it goes. */
static void insert_result(inserter *s, node *end, ir_value *q, quantise_affine a) {
    ir_value *y = end->outputs.data[0],
             *x = insert_op(q->def->next ? q->def->next : end, "aten::dequantize.self", 1, &q);
    x->scratch = y->scratch;
    x->def->range = end->range;
    x->def->call = end->call;
    insert_note(s, x, q, a);
    rewrite_result(end, x);
}

/* Can integers of a be outside of the bounds, by more than rounding? */
static bool insert_within(quantise_affine a, double lo, double hi) {
    double least = (double)-a.zero * a.scale, most = (double)(UINT8_MAX - a.zero) * a.scale;
    return least >= lo - a.scale / 2 && most <= hi + a.scale / 2;
}

/* The operator `key` on integers (args, then scale and
 * zero point) replaces n and the bound after it. */
static bool insert_replace(inserter *s, node *n, const char *key, int nargs, ir_value **args,
                           bool relu) {
    node *tail = s->chains ? quantise_tail(n) : NULL, *end = tail ? tail : n;
    quantise_affine a = insert_range(s, end->outputs.data[0]);
    double lo = -INFINITY, hi = INFINITY;
    char own[64];
    if (a.scale == 0 && tail) {
        tail = NULL, end = n;
        a = insert_range(s, n->outputs.data[0]);
    }
    if (a.scale == 0) return false;
    bool bound = tail && quantise_bounds_of(tail, &lo, &hi) && !insert_within(a, lo, hi);
    if (bound && relu && lo == 0 && isinf(hi) && strlen(key) + 6 < sizeof own) {
        /* "quantized::conv2d.new" -> "quantized::conv2d_relu.new" */
        size_t name = strcspn(key, ".");
        memcpy(own, key, name);
        memcpy(own + name, "_relu", 5);
        memcpy(own + name + 5, key + name, strlen(key) - name + 1);
        key = own;
        bound = false;
    }
    args[nargs] = insert_float(n, a.scale);
    args[nargs + 1] = rewrite_int(n, a.zero);
    ir_value *q = insert_op(n, key, nargs + 2, args);
    if (!q) return false;
    if (bound) { /* aten's own takes integers */
        ir_value *in[4] = {q};
        for (size_t i = 1; i < tail->inputs.len && i < 4; i++) in[i] = tail->inputs.data[i];
        for (size_t i = 1; i < tail->inputs.len && i < 4; i++)
            if (in[i]->def && in[i]->def->owner == n->owner && node_before(n, in[i]->def))
                node_move_before(in[i]->def, n); /* a constant */
        const op *o = node_is_overload(tail, SYM_RELU6) ? op_find("aten::hardtanh") : tail->op;
        if (o != tail->op) in[1] = insert_float(n, 0), in[2] = insert_float(n, 6);
        q = rewrite_op(n, o, o->schema->nargs, in);
    }
    insert_result(s, end, q, a);
    if (end != n) node_remove(n);
    return true;
}

/* Packed parameters of l, a constant that is made once for all layers of that weight; NULL: they
 * cannot be made. */
static ir_value *insert_pack(inserter *s, const quantise_layer *l) {
    bool conv = quantise_conv_kind_of(l->n) != NULL; /* whose geometry is a part of them */
    const insert_packed *known = conv ? NULL : ptrmap_get(&s->packed, l->weight);
    if (known && known->bias == l->bias) return known->packed;
    value v = quantise_layer_pack(l, s->p->weights.per_tensor);
    if (v.tag != V_OBJECT) return value_unref(v), NULL;
    ir_value *made = graph_constant_before_take(conv ? l->n : s->g->root->first, v, NULL);
    insert_packed *own = made && !conv && !known ? arena_new(&s->g->arena, insert_packed) : NULL;
    if (own) {
        *own = (insert_packed){l->bias, made};
        if (!ptrmap_put(&s->packed, l->weight, own)) s->g->arena.failed = true;
    }
    return made;
}

/* ---- static ---------------------------------------------------------------------------------- */

static bool insert_static_layer(inserter *s, const quantise_layer *l) {
    const quantise_conv_kind *k = quantise_conv_kind_of(l->n);
    char key[64] = "quantized::linear";
    quantise_affine a = insert_range(s, l->n->outputs.data[0]);
    if (a.scale == 0) return false;
    ir_value *packed = insert_pack(s, l);
    const insert_ints *x = packed ? insert_ints_of(s, l->x, l->n) : NULL;
    if (!x) return false;
    if (k) {
        size_t len = strcspn(k->prepack, "_");
        if (k->transposed) len += 1 + strcspn(k->prepack + len + 1, "_");
        memcpy(key, k->prepack, len);
        strcpy(key + len, k->transposed || k->dims == 1 ? "" : ".new");
    }
    ir_value *args[4] = {x->q, packed};
    return insert_replace(s, l->n, key, 2, args, !(k && k->transposed));
}

/* Integers of the sum would be so coarse that one operand were lost: a mask of -10000s. */
static bool join_is_coarse(quantise_affine out, quantise_affine in) {
    enum { COARSER = 32 };
    return out.scale > COARSER * in.scale;
}

static bool insert_join(inserter *s, node *n, const char *key) {
    enum { MOST = 64 };
    size_t count = 0;
    ir_value *const *operands = join_operands(n, &count);
    ir_value *q[MOST], *args[5];
    bool any = false, cat = node_is_overload(n, SYM_CAT);
    value c;
    quantise_affine out = insert_range(s, n->outputs.data[0]);
    if (!count || count > MOST || out.scale == 0 ||
        (node_is_overload(n, SYM_ADD_TENSOR) && !known_number_is(n->inputs.data[2], 1)))
        return false;
    for (size_t i = 0; i < count; i++) {
        const insert_ints *known = insert_known(s, operands[i]);
        quantise_affine a = known ? known->a : insert_range(s, operands[i]);
        any |= known != NULL;
        if (a.scale == 0 || ir_value_constant(operands[i], &c) ||
            (node_is_overload(n, SYM_ADD_TENSOR) && join_is_coarse(out, a)))
            return false;
    }
    for (size_t i = 0; any && i < count; i++) {
        const insert_ints *x = insert_ints_of(s, operands[i], n);
        if (!x) return false;
        q[i] = x->q;
    }
    if (!any) return false;
    args[0] = q[0], args[1] = q[1];
    if (cat) {
        node *l = node_new(n->g, N_LIST_CONSTRUCT, (int)count, q, 1);
        l->outputs.data[0]->type = type_list(TYPE_TENSOR);
        l->range = n->range;
        node_insert_before(l, n);
        args[0] = l->outputs.data[0], args[1] = n->inputs.data[1];
    }
    return insert_replace(s, n, key, 2, args, node_is_overload(n, SYM_ADD_TENSOR));
}

/* aten's own operator, of integers. */
static bool insert_same(inserter *s, node *n, const quantise_affine *fixed) {
    enum { MOST = 10 };
    ir_value *args[MOST];
    const insert_ints *x = insert_known(s, n->inputs.data[0]);
    if (!x || n->inputs.len > MOST || n->outputs.len != 1) return false;
    for (size_t i = 0; i < n->inputs.len; i++) args[i] = i ? n->inputs.data[i] : x->q;
    ir_value *q = rewrite_op(n, n->op, (int)n->inputs.len, args);
    if (q) insert_result(s, n, q, fixed ? *fixed : x->a);
    return q != NULL;
}

static bool insert_static(inserter *s, node *n) {
    const struct insert_row *row = insert_row_of(n);
    if (!s->chains || !(row || (n->kind == N_OP && n->op && quantise_moves(n)))) return false;
    if (!row || row->role == ROLE_SAME) return insert_same(s, n, NULL);
    if (row->role == ROLE_FIXED) return insert_same(s, n, &row->fixed);
    if (row->role == ROLE_JOIN) return insert_join(s, n, row->key);
    const insert_ints *x = insert_known(s, n->inputs.data[0]);
    ir_value *args[3] = {x ? x->q : NULL};
    return x && insert_replace(s, n, row->key, 1, args, false);
}

/* ---- the other styles ------------------------------------------------------------------------ */

static bool insert_dynamic(inserter *s, const quantise_layer *l) {
    ir_value *args[] = {l->x, insert_pack(s, l), rewrite_bool(l->n, s->p->reduce_range)},
             *y = args[1] ? insert_op(l->n, "quantized::linear_dynamic", 3, args) : NULL;
    if (y) rewrite_result(l->n, y);
    return y != NULL;
}

/* The table's rows packed. */
static bool insert_table(const quantise_layer *l) {
    enum { INDICES = 1, OFFSETS = 2, EACH = 6, LAST = 7 };
    node *n = l->n;
    value packed = quantise_table_pack(l);
    if (packed.tag != V_OBJECT) return value_unref(packed), false;
    ir_value *const *in = n->inputs.data, *w = graph_constant_before_take(n, packed, NULL),
                    *no = rewrite_bool(n, false), *y = NULL;
    if (!w) return false;
    if (layer_is_bag(n))
        y = insert_op(n, "quantized::embedding_bag_byte", 9,
                      (ir_value *[]){w, in[INDICES], in[OFFSETS], no, rewrite_int(n, 0), no,
                                     in[EACH], rewrite_none(n), in[LAST]});
    else y = insert_op(n, "quantized::embedding_byte", 3, (ir_value *[]){w, in[INDICES], no});
    if (y) rewrite_result(n, y);
    return y != NULL;
}

static bool insert_weights(const inserter *s, const quantise_layer *l) {
    if (l->table && quantise_weights_are_bytes(&s->p->weights)) return insert_table(l);
    ir_value *w = quantise_weight_value(l, &s->p->weights, s->p->decomposed);
    if (w && l->turned) { /* x @ w, b + x @ w */
        ir_value *args[] = {l->x, w, l->bias ? l->bias : rewrite_none(l->n)},
                 *y = insert_op(l->n, "aten::linear", 3, args);
        if (y) rewrite_result(l->n, y);
        return y != NULL;
    }
    for (size_t i = 0; w && i < l->n->inputs.len; i++)
        if (l->n->inputs.data[i] == l->weight) node_set_input(l->n, (int)i, w);
    return w != NULL;
}

static ir_value *insert_cast(node *at, ir_value *x, dtype dt) {
    ir_value *args[] = {x, rewrite_int(at, dt), rewrite_bool(at, false), rewrite_bool(at, false),
                        rewrite_none(at)};
    return insert_op(at, "aten::to.dtype", 5, args);
}

static ir_value *insert_half_constant(node *at, const ir_value *v) {
    tensor *t, *half;
    if (!known_tensor(v, &t) || tensor_to_dtype(NULL, t, DT_BFLOAT16, &half) != CTSC_OK)
        return NULL;
    return graph_constant_before_take(at, value_tensor_take(half), TYPE_TENSOR);
}

static bool insert_bf16(const quantise_layer *l) {
    node *n = l->n;
    ir_value *y = n->outputs.data[0];
    for (size_t i = 0; i < n->inputs.len; i++) {
        ir_value *v = n->inputs.data[i], *made = NULL;
        if (v == l->x) made = insert_cast(n, v, DT_BFLOAT16);
        else if (v == l->weight || v == l->bias) made = insert_half_constant(n, v);
        else continue;
        if (!made) return false;
        node_set_input(n, (int)i, made);
    }
    if (!n->next) return true;
    ir_value *back = insert_cast(n->next, y, DT_FLOAT32);
    back->def->range = n->range;
    value_replace_uses(y, back);
    node_set_input(back->def, 0, y);
    return true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool insert_layer(inserter *s, const quantise_layer *l) {
    if (l->parts) return quantise_recurrent(l, s->p);
    switch (s->p->style) {
    case QUANTISE_STATIC: return insert_static_layer(s, l);
    case QUANTISE_DYNAMIC: return insert_dynamic(s, l);
    case QUANTISE_WEIGHTS: return insert_weights(s, l);
    default: return insert_bf16(l);
    }
}

static void insert_node(inserter *s, node *n) {
    quantise_layer l;
    if (quantise_layer_of(n, s->p->style, &l)) {
        size_t number = s->layer++;
        bool made = !(s->p->keep && s->p->keep[number]) && insert_layer(s, &l);
        if (s->made) s->made[number] = made;
    } else if (s->p->style == QUANTISE_STATIC) {
        insert_static(s, n);
    }
}

/* Nodes are collected before any is changed: an operator removes those after it. */
typedef VEC(node *) node_list;

static void insert_collect(void *ctx, node *n) {
    node_list *l = ctx;
    if (!vec_push(l, n)) n->g->arena.failed = true;
}

ctsc_status quantise_insert(diag *d, graph *g, const quantise_plan *p, bool *made) {
    inserter s = {.d = d, .g = g, .p = p, .made = made, .chains = !known_graph_writes_tensors(g)};
    node_list nodes = {0};
    quantise_number_values(g);
    visit_block(g->root, insert_collect, &nodes);
    for (size_t i = 0; i < nodes.len && !arena_failed(&g->arena); i++)
        if (nodes.data[i]->owner) insert_node(&s, nodes.data[i]);
    vec_free(&nodes);
    ptrmap_free(&s.ints);
    ptrmap_free(&s.packed);
    return arena_failed(&g->arena) ? diag_no_memory(d) : CTSC_OK;
}
