/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_mm.c - merges small products of one tensor with several constant matrices.
 *
 *     %q = aten::linear(%x, %wq, %bq)             %y = aten::linear(%x, %w, %b)         w: wq above wk above wv
 *     %k = aten::linear(%x, %wk, %bk)      ->     %q = aten::slice(%y, -1, 0, 8, 1)
 *     %v = aten::linear(%x, %wv, %bv)             %k = aten::slice(%y, -1, 8, 16, 1)    ...
 *
 * Method. The first product of a block decides on the operator and on what is multiplied; the
 * others must be allowed to move to its place (alias.h). A separate tensor becomes a view, so a
 * result takes part only if that is not observable: it is read, directly or through views, by
 * operators whose results do not depend on the layout of its elements. aten::view, which does
 * depend on it, becomes aten::reshape there. Nothing writes, returns, stores or asks for strides.
 *
 * Profit. The saving is the cost of a call, about 0.6 us each; the arithmetic takes
 * as long either way. Four products of 32 x 32 take 4.0 us for one row and 99 us for
 * 256 rows, one product 1.9 and 78 us; four of 256 x 256 take 27.9 and 2940 us, one
 * 25.6 and 2890 us (one thread, AVX-512). Beyond that there is no measurable gain,
 * and each merged weight takes memory a second time: hence the limit. Not adopted
 * from PyTorch's pass of this purpose: sums of products, and products with different
 * left sides, where joining the operands would be done at each call. Results may
 * differ by rounding: a column's place in a product decides which kernel computes it.
 * Tests: tests/ir/batch-mm
 */
#include "ir/graph/alias.h"
#include "ir/graph/fusible.h"
#include "passes/pass/pass.h"
#include "passes/pass/value_analysis.h"

#include <string.h>

enum { BATCH_MAX_ELEMENTS = 256 * 256, BATCH_MAX_PRODUCTS = 64, BATCH_DEPTH = 12 };

/*    operator          x  weight  bias  dimension of the weight that is the result's last */
static const struct batch_row { op_symbol key; int x, weight, bias, dim; } batch_rows[] = {
    /* clang-format off */
    {SYM_LINEAR,    0, 1,      2,    0},
    {SYM_MM,        0, 1,      -1,   1},
    {SYM_MATMUL,    0, 1,      -1,   1},
    {SYM_ADDMM,     1, 2,      0,    1},
    /* clang-format on */
};

typedef struct batch {
    const struct batch_row *row;
    node *first;
    VEC(node *) products; /* first among them */
} batch;

typedef struct batcher {
    graph *g;
    alias_db *alias;
    VEC(batch) batches;
    ptrmap taken; /* products that are in a batch */
    bool failed;
} batcher;

/* ---- which products -------------------------------------------------------------------------- */

static const struct batch_row *batch_row_of(const node *n) {
    if (n->kind != N_OP || !n->op || n->outputs.len != 1) return NULL;
    for (size_t i = 0; i < sizeof batch_rows / sizeof *batch_rows; i++)
        if (n->op->symbol == batch_rows[i].key) return &batch_rows[i];
    return NULL;
}

static tensor *batch_weight(const struct batch_row *r, const node *n) {
    tensor *t = NULL;
    return known_tensor(n->inputs.data[r->weight], &t) ? t : NULL;
}

static tensor *batch_bias(const struct batch_row *r, const node *n) {
    tensor *t = NULL;
    return r->bias >= 0 && known_tensor(n->inputs.data[r->bias], &t) ? t : NULL;
}

/* A small constant weight of at least two columns (of one column, the order of strides could be
 * told), and a bias that fits or none. */
static bool batch_candidate(const batcher *b, const struct batch_row *r, const node *n) {
    const tensor *w = batch_weight(r, n), *bias = batch_bias(r, n);
    if (!w || w->ndim != 2 || !dtype_is_float((dtype)w->dtype) || w->numel > BATCH_MAX_ELEMENTS ||
        w->sizes[r->dim] < 2 || w->numel == 0 ||
        alias_ever_written(b->alias, n->inputs.data[r->weight]))
        return false;
    if (r->bias < 0) return true;
    if (!bias) return r->key == SYM_LINEAR && known_is_none(n->inputs.data[r->bias]);
    if (bias->ndim != 1 || bias->numel != w->sizes[r->dim] || bias->dtype != w->dtype ||
        alias_ever_written(b->alias, n->inputs.data[r->bias]))
        return false;
    return n->inputs.len < 5 ||
           (known_number_is(n->inputs.data[3], 1) && known_number_is(n->inputs.data[4], 1));
}

static bool batch_alike(const struct batch_row *r, const node *a, const node *n) {
    const tensor *v = batch_weight(r, a), *w = batch_weight(r, n);
    return a->op == n->op && a->owner == n->owner && a->inputs.data[r->x] == n->inputs.data[r->x] &&
           v->dtype == w->dtype && v->sizes[1 - r->dim] == w->sizes[1 - r->dim] &&
           !batch_bias(r, a) == !batch_bias(r, n);
}

/* ---- readers of the results ------------------------------------------------------------------ */

/* Products compute the same from any layout; questions about shape and dtype do not look at it. */
static bool batch_reader(const node *n) {
    switch (n->op->name_symbol) {
    case SYM_MM:
    case SYM_MATMUL:
    case SYM_LINEAR:
    case SYM_ADDMM:
    case SYM_BMM:
    case SYM_BADDBMM:
    case SYM_MV:
    case SYM_SIZE:
    case SYM_DIM:
    case SYM_NUMEL:
    case SYM_LEN:
    case SYM_PRIM_DTYPE:
    case SYM_PRIM_DEVICE:
    case SYM_IS_FLOATING_POINT: return !n->op->schema->has_alias_write;
    default: return false;
    }
}

/* Index maps that exist for any layout; aten::view is made to (batch_relax). */
static bool batch_view(const node *n) {
    switch (n->op->symbol) {
    case SYM_TRANSPOSE_INT:
    case SYM_T:
    case SYM_PERMUTE:
    case SYM_UNSQUEEZE:
    case SYM_SELECT_INT:
    case SYM_SLICE_TENSOR:
    case SYM_NARROW:
    case SYM_CHUNK:
    case SYM_SPLIT_TENSOR:
    case SYM_SPLIT_WITH_SIZES:
    case SYM_UNBIND_INT:
    case SYM_RESHAPE:
    case SYM_FLATTEN_USING_INTS:
    case SYM_EXPAND:
    case SYM_VIEW: return true;
    default: return false;
    }
}

static bool batch_any_layout(const ir_value *v, int depth);

static bool batch_outputs_any_layout(const node *n, int depth) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!batch_any_layout(n->outputs.data[i], depth - 1)) return false;
    return true;
}

static bool batch_use_any_layout(const use *u, int depth) {
    const node *n = u->user;
    if (!n || depth == 0) return false;
    if (n->kind == N_LIST_UNPACK) return batch_outputs_any_layout(n, depth);
    if (n->kind != N_OP || !n->op || n->inputs.data[u->index]->type->kind != T_TENSOR) return false;
    if (batch_view(n)) return u->index == 0 && batch_outputs_any_layout(n, depth);
    if (batch_reader(n)) return true;
    fusible_kind kind = op_fusible(n->op);
    return kind && kind != FUSIBLE_VIEW && node_makes_fresh(n);
}

static bool batch_any_layout(const ir_value *v, int depth) {
    for (size_t i = 0; i < v->uses.len; i++)
        if (!batch_use_any_layout(&v->uses.data[i], depth)) return false;
    return true;
}

/* ---- planning -------------------------------------------------------------------------------- */

static void batch_plan(batcher *b, const struct batch_row *r, node *first) {
    const ir_value *x = first->inputs.data[r->x];
    batch made = {.row = r, .first = first};
    b->failed |= !vec_push(&made.products, first);
    for (size_t i = 0; i < x->uses.len && made.products.len < BATCH_MAX_PRODUCTS; i++) {
        node *n = x->uses.data[i].user;
        if (!n || n == first || x->uses.data[i].index != r->x || batch_row_of(n) != r ||
            ptrmap_get(&b->taken, n))
            continue;
        if (!batch_candidate(b, r, n) || !batch_alike(r, first, n) || !node_before(first, n) ||
            !batch_any_layout(n->outputs.data[0], BATCH_DEPTH) ||
            !alias_can_move_before(b->alias, n, first))
            continue;
        b->failed |= !vec_push(&made.products, n);
    }
    if (made.products.len < 2 || b->failed || !vec_push(&b->batches, made)) {
        vec_free(&made.products);
        return;
    }
    for (size_t i = 0; i < made.products.len; i++)
        b->failed |= !ptrmap_put(&b->taken, made.products.data[i], first);
}

static void batch_block(batcher *b, block *blk) {
    for (node *n = blk->first; n && !b->failed; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++) batch_block(b, n->blocks.data[i]);
        const struct batch_row *r = batch_row_of(n);
        if (!r || n->inputs.data[r->x]->uses.len < 2 || ptrmap_get(&b->taken, n)) continue;
        if (batch_candidate(b, r, n) && batch_any_layout(n->outputs.data[0], BATCH_DEPTH))
            batch_plan(b, r, n);
    }
}

/* ---- doing ----------------------------------------------------------------------------------- */

/* t without gaps, on the host. */
static ctsc_status batch_read(diag *d, tensor *t, tensor **out) {
    tensor *here;
    TRY(tensor_to_device(d, t, DEVICE_HOST, &here));
    ctsc_status s = tensor_contiguous(d, here, out);
    tensor_unref(here);
    return s;
}

/* Takes t. NULL if it cannot be moved. */
static tensor *batch_move(diag *d, tensor *t, int device) {
    tensor *there;
    ctsc_status s = tensor_to_device(d, t, device, &there);
    tensor_unref(t);
    return s == CTSC_OK ? there : NULL;
}

/* The tensors side by side along `dim`. count of them, from get. */
static tensor *batch_join(diag *d, const batch *bt,
                          tensor *(*get)(const struct batch_row *, const node *), int dim) {
    tensor *out, *model = get(bt->row, bt->first);
    int64_t sizes[2] = {model->sizes[0], model->ndim > 1 ? model->sizes[1] : 1};
    sizes[dim] = 0;
    for (size_t i = 0; i < bt->products.len; i++)
        sizes[dim] += get(bt->row, bt->products.data[i])->sizes[dim];
    if (tensor_new(d, (dtype)model->dtype, model->ndim, sizes, &out) != CTSC_OK) return NULL;
    size_t item = (size_t)dtype_size((dtype)model->dtype), done = 0;
    int64_t rows = dim ? sizes[0] : 1;
    size_t pitch = (size_t)out->numel / (size_t)rows * item;
    for (size_t i = 0; i < bt->products.len; i++) {
        tensor *t;
        if (batch_read(d, get(bt->row, bt->products.data[i]), &t) != CTSC_OK) {
            tensor_unref(out);
            return NULL;
        }
        size_t bytes = (size_t)t->numel / (size_t)rows * item;
        for (int64_t k = 0; k < rows; k++)
            memcpy(TENSOR_AT(out, char) + (size_t)k * pitch + done,
                   TENSOR_AT(t, char) + (size_t)k * bytes, bytes);
        done += bytes;
        tensor_unref(t);
    }
    return batch_move(d, out, tensor_device(model));
}

/* aten::view of a tensor whose layout has changed becomes aten::reshape, which always works. */
static void batch_relax(ir_value *v, const op *reshape, int depth) {
    for (size_t i = 0; i < v->uses.len && depth > 0; i++) {
        node *n = v->uses.data[i].user;
        bool list = n->kind == N_LIST_UNPACK;
        if (!list && (n->kind != N_OP || !batch_view(n))) continue;
        if (!list && n->op->symbol == SYM_VIEW) n->op = reshape, n->op_name = reshape->schema->name;
        for (size_t k = 0; k < n->outputs.len; k++) {
            ir_value *out = n->outputs.data[k];
            if (out->type->kind == T_TENSOR) out->type = TYPE_TENSOR; /* its strides are others */
            batch_relax(out, reshape, depth - 1);
        }
    }
}

static void batch_replace(node *n, ir_value *with, const op *reshape) {
    ir_value *y = n->outputs.data[0];
    if (value_has_name(y)) {
        const char *name = y->name;
        value_set_name(y, "");
        value_set_name(with, name);
    }
    value_replace_uses(y, with);
    batch_relax(with, reshape, BATCH_DEPTH);
    node_remove(n);
}

static node *batch_insert(graph *g, const node *like, const op *o, int n, ir_value *const *inputs) {
    node *made = graph_insert(g, node_new_op(g, o, n, inputs));
    made->call = like->call;
    made->scope = like->scope;
    made->range_hidden = like->range_hidden;
    return made;
}

/* The product of everything, before the first. */
static ir_value *batch_product(batcher *b, diag *d, const batch *bt) {
    const struct batch_row *r = bt->row;
    node *first = bt->first;
    graph *g = b->g;
    bool biased = batch_bias(r, first) != NULL;
    tensor *w = batch_join(d, bt, batch_weight, r->dim),
           *bias = w && biased ? batch_join(d, bt, batch_bias, 0) : NULL;
    if (!w || (biased && !bias)) {
        tensor_unref(w);
        return NULL;
    }
    ir_value *inputs[8];
    int n = (int)first->inputs.len;
    g->range = (source_range){0};
    for (int i = 0; i < n; i++) inputs[i] = first->inputs.data[i];
    inputs[r->weight] = graph_constant_take(g, value_tensor_take(w), NULL);
    if (biased) inputs[r->bias] = graph_constant_take(g, value_tensor_take(bias), NULL);
    g->range = first->range;
    return batch_insert(g, first, first->op, n, inputs)->outputs.data[0];
}

static bool batch_do(batcher *b, diag *d, const batch *bt) {
    const op *slice = op_of(SYM_SLICE_TENSOR), *reshape = op_of(SYM_RESHAPE);
    graph *g = b->g;
    if (!slice || !reshape || bt->first->inputs.len > 8) return false;
    graph_set_insert(g, bt->first->owner, bt->first);
    ir_value *all = batch_product(b, d, bt);
    if (!all) return false;
    ir_value *parts[BATCH_MAX_PRODUCTS];
    int64_t at = 0;
    for (size_t i = 0; i < bt->products.len; i++) {
        int64_t width = batch_weight(bt->row, bt->products.data[i])->sizes[bt->row->dim];
        g->range = (source_range){0};
        ir_value *args[] = {all, graph_constant_int(g, -1), graph_constant_int(g, at),
                            graph_constant_int(g, at + width), graph_constant_int(g, 1)};
        g->range = bt->products.data[i]->range;
        parts[i] = batch_insert(g, bt->products.data[i], slice, 5, args)->outputs.data[0];
        at += width;
    }
    g->range = (source_range){0};
    graph_set_insert(g, g->root, NULL);
    for (size_t i = 0; i < bt->products.len; i++)
        batch_replace(bt->products.data[i], parts[i], reshape);
    return true;
}

bool pass_batch_mm(pass_ctx *cx, graph *g) {
    batcher b = {.g = g, .alias = alias_new(g)};
    bool changed = false;
    if (b.alias) batch_block(&b, g->root);
    for (size_t i = 0; i < b.batches.len; i++) {
        if (!b.failed && !arena_failed(&g->arena))
            changed |= batch_do(&b, cx->diag, &b.batches.data[i]);
        vec_free(&b.batches.data[i].products);
    }
    if (!b.alias || b.failed) g->arena.failed = true;
    vec_free(&b.batches);
    ptrmap_free(&b.taken);
    alias_free(b.alias);
    return changed;
}
