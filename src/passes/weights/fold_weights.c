/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold_weights.c - folds batch norms and constant factors that
 * follow a convolution or a linear layer into its constant weights.
 *
 *     %y = aten::conv2d(%x, %w, %b, ...)
 *     %z = aten::batch_norm(%y, %gamma, %beta, %mean, %var, %false, ...)     ->     %z = aten::conv2d(%x, %w2, %b2, ...)
 *
 *     batch norm while not training:  scale = gamma / sqrt(var + eps),  shift = beta - mean * scale
 *     y * c: scale c;  y / c: scale 1 / c;  y + c: shift c;  y - c: shift -c     (c: one number, or one per output channel)
 *     w2 = w * scale of w's output channel,  b2 = b * scale + shift
 *
 * Computed in float64 and rounded once. Results differ from the two steps by rounding, which is
 * why this is a separate pass, for frozen modules. The first result may have no reader but the
 * second step, except for queries of its shape. A linear layer's rank has to be known for a
 * batch norm. A convolution's input may lack the batch dim: then a following batch norm takes
 * rows for channels, and a factor of more dims adds one. Where that is unknown it is tested:
 *
 *     %d = aten::dim(%x);  %u = aten::ne(%d, 4);  prim::If(%u) {prim::RaiseException(...)} {}
 *
 * once for all that has its dims from %x. torch.jit.freeze does not ask (pass_ctx.batched).
 *
 * A folded weight is as large as the original, and `layout` needs none for most of the
 * convolutions. So its computation may be deferred (pass_ctx.put_off): until `make-weights`,
 * after `layout`, a convolution's folded weight has sizes and an origin, but no elements.
 * Tests: tests/ir/fold-weights, tests/interop/freeze.py
 */
#include "passes/weights/fold_weights.h"

#include "base/map.h"
#include "base/memory/pages.h"
#include "cpu/vector.h"
#include "passes/pass/pass.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

#include "tensor/strides.h"
#include <math.h>
#include <string.h>

/*    operator                 groups  transposed                spatial dimensions */
static const struct {
    op_symbol op;
    int groups;
    bool transposed;
    int spatial;
} weights_layers[] = {
    /* clang-format off */
    {SYM_LINEAR,           -1,     false,                    0},
    {SYM_CONV1D,           6,      false,                    1},
    {SYM_CONV2D,           6,      false,                    2},
    {SYM_CONV3D,           6,      false,                    3},
    {SYM_CONV_TRANSPOSE1D, 6,      true,                     1},
    {SYM_CONV_TRANSPOSE2D, 6,      true,                     2},
    {SYM_CONV_TRANSPOSE3D, 6,      true,                     3},
    {SYM__CONVOLUTION,     8,      false /* argument 6 */,   -1 /* the weight's */},
    /* clang-format on */
};

typedef struct weights_layer {
    node *n;               /* inputs 1 and 2 are weight and bias */
    tensor *weight, *bias; /* borrowed; bias may be NULL */
    bool transposed;       /* weight: (in, out / groups, ...); else (out, in / groups, ...) */
    int spatial;
    int64_t groups, channels; /* output channels */
} weights_layer;

/* What happens to output channel c: y * scale[c] + shift[c]. batched: if the result has a batch
 * dim. */
typedef struct weights_affine {
    double *scale, *shift;
    int64_t n;
    bool batched;
} weights_affine;

typedef struct weights_pass {
    pass_ctx *cx;
    ptrmap batched; /* values that have a batch dim, to the blocks where that is known */
} weights_pass;

/* ---- finding --------------------------------------------------------------------------------- */

static bool weights_is_real(const tensor *t) {
    return dtype_is_float((dtype)t->dtype) && t->numel > 0;
}

static bool weights_find_layer(ir_value *y, weights_layer *l) {
    size_t row = 0, rows = sizeof weights_layers / sizeof *weights_layers;
    node *n = y->def;
    if (!n || n->kind != N_OP || !n->op) return false;
    while (row < rows && !node_is_op(n, weights_layers[row].op)) row++;
    if (row == rows || n->inputs.len < 3) return false;
    *l = (weights_layer){n, NULL, NULL, weights_layers[row].transposed, weights_layers[row].spatial,
                         1, 0};
    if (!known_tensor(n->inputs.data[1], &l->weight) || !weights_is_real(l->weight)) return false;
    if (!known_is_none(n->inputs.data[2]) && !known_tensor(n->inputs.data[2], &l->bias))
        return false;
    int groups = weights_layers[row].groups;
    if (groups >= 0 && (!known_int(n->inputs.data[groups], &l->groups) || l->groups < 1))
        return false;
    if (l->spatial < 0) {
        l->spatial = l->weight->ndim - 2;
        if (!known_bool(n->inputs.data[6], &l->transposed)) return false;
    }
    if (l->weight->ndim != l->spatial + 2 || l->spatial < 0) return false;
    l->channels = l->transposed ? l->weight->sizes[1] * l->groups : l->weight->sizes[0];
    if (l->transposed && l->weight->sizes[0] % l->groups) return false;
    return !l->bias || (l->bias->ndim == 1 && l->bias->numel == l->channels &&
                        l->bias->dtype == l->weight->dtype);
}

/* Is `by`, in the same block, the only one that reads y's elements? */
static bool weights_only_reader(const ir_value *y, const node *by) {
    static const op_symbol shape[] = {SYM_DIM, SYM_SIZE, SYM_NUMEL};
    if (y->def->owner != by->owner) return false;
    int times = 0;
    for (size_t i = 0; i < y->uses.len; i++) {
        const node *n = y->uses.data[i].user;
        bool asks = false;
        for (size_t k = 0; n && k < sizeof shape / sizeof *shape; k++)
            asks |= node_is_op(n, shape[k]);
        if (n == by) times++;
        else if (!asks) return false;
    }
    return times == 1;
}

/* ---- the second step ------------------------------------------------------------------------- */

static bool weights_affine_new(weights_affine *a, int64_t n) {
    *a = (weights_affine){.n = n};
    a->scale = mem_alloc((size_t)n * 2 * sizeof(double));
    if (!a->scale) return false;
    a->shift = a->scale + n;
    for (int64_t i = 0; i < n; i++) a->scale[i] = 1, a->shift[i] = 0;
    return true;
}

/* t in dtype dt, without gaps, on the host. */
static ctsc_status weights_on_host(diag *d, tensor *t, dtype dt, tensor **out) {
    tensor *here, *typed;
    TRY(tensor_to_device(d, t, DEVICE_HOST, &here));
    ctsc_status s = tensor_to_dtype(d, here, dt, &typed);
    tensor_unref(here);
    if (s != CTSC_OK) return s;
    s = tensor_contiguous(d, typed, out);
    tensor_unref(typed);
    return s;
}

/* out[i] = element i of a constant of n elements, or of one; absent counts as None where
 * that is allowed. */
static bool weights_read(const weights_layer *l, const ir_value *v, bool optional, double absent,
                         double *out) {
    tensor *t, *c;
    if (optional && known_is_none(v)) {
        for (int64_t i = 0; i < l->channels; i++) out[i] = absent;
        return true;
    }
    if (!known_tensor(v, &t) || t->dtype != l->weight->dtype ||
        (t->numel != l->channels && t->numel != 1))
        return false;
    if (weights_on_host(NULL, t, DT_FLOAT64, &c) != CTSC_OK) return false;
    for (int64_t i = 0; i < l->channels; i++) out[i] = TENSOR_AT(c, double)[t->numel == 1 ? 0 : i];
    tensor_unref(c);
    return true;
}

/* Factors that leave weights far from the largest numbers: sums of infinite weights are nan where
 * an infinite multiple of a sum is not. */
static bool weights_is_moderate(const weights_affine *a) {
    for (int64_t i = 0; i < a->n; i++)
        if (!(fabs(a->scale[i]) <= 0x1p32) || !isfinite(a->shift[i])) return false;
    return true;
}

static bool weights_batch_norm(const weights_layer *l, const node *n, weights_affine *a) {
    bool training;
    value eps;
    tensor *mean, *var;
    if (n->inputs.len != 9 || !known_bool(n->inputs.data[5], &training) || training ||
        !ir_value_constant(n->inputs.data[7], &eps) || eps.tag != V_FLOAT ||
        (l->spatial == 0 && known_rank(l->n->inputs.data[0]) != 2))
        return false;
    if (!known_tensor(n->inputs.data[3], &mean) || !known_tensor(n->inputs.data[4], &var) ||
        mean->numel != l->channels || var->numel != l->channels || mean->ndim != 1 ||
        var->ndim != 1)
        return false;
    double *m = mem_alloc((size_t)l->channels * 2 * sizeof *m), *v = m ? m + l->channels : NULL;
    bool ok = m && weights_read(l, n->inputs.data[1], true, 1, a->scale) &&
              weights_read(l, n->inputs.data[2], true, 0, a->shift) &&
              weights_read(l, n->inputs.data[3], false, 0, m) &&
              weights_read(l, n->inputs.data[4], false, 0, v);
    for (int64_t i = 0; ok && i < l->channels; i++) {
        a->scale[i] /= sqrt(v[i] + eps.u.f);
        a->shift[i] -= m[i] * a->scale[i];
    }
    mem_free(m);
    a->batched = l->spatial > 0;
    return ok;
}

/* Does a constant tensor have one element, or one per channel, and not more dimensions
 * than the result? */
static bool weights_broadcasts(const weights_layer *l, const tensor *t) {
    int least = l->spatial ? l->spatial + 2 : 1; /* of the result */
    int channel = t->ndim - 1 - l->spatial;      /* the dimension of channels in t */
    if (t->dtype != l->weight->dtype || t->ndim > least) return false;
    if (t->numel == 1) return true;
    return channel >= 0 && t->numel == l->channels && t->sizes[channel] == l->channels;
}

static bool weights_operand(const weights_layer *l, const ir_value *v, bool *batched, double *out) {
    value c;
    if (!ir_value_constant(v, &c)) return false;
    if (c.tag == V_TENSOR) {
        *batched = l->spatial && c.u.tensor->ndim == l->spatial + 2;
        return weights_broadcasts(l, c.u.tensor) && weights_read(l, v, false, 0, out);
    }
    if (c.tag != V_INT && c.tag != V_FLOAT) return false;
    for (int64_t i = 0; i < l->channels; i++) out[i] = c.tag == V_INT ? (double)c.u.i : c.u.f;
    return true;
}

static bool weights_arithmetic(const weights_layer *l, const node *n, int other,
                               weights_affine *a) {
    bool mul = node_is_op(n, SYM_MUL), div = node_is_op(n, SYM_DIV), sub = node_is_op(n, SYM_SUB);
    int64_t alpha = 1;
    if (n->inputs.len == 3 && (mul || div || !known_int(n->inputs.data[2], &alpha) || alpha != 1))
        return false;
    if (other == 0 && (div || sub)) return false;
    if (!weights_operand(l, n->inputs.data[other], &a->batched, mul || div ? a->scale : a->shift))
        return false;
    for (int64_t i = 0; i < a->n; i++) {
        if (div) a->scale[i] = 1 / a->scale[i];
        if (sub) a->shift[i] = -a->shift[i];
    }
    return true;
}

/* ---- batch dims ------------------------------------------------------------------------------ */

enum { WEIGHTS_STEPS = 64 }; /* values looked at to find one that is known */

static bool weights_raises(const block *b) {
    const node *n = b->first;
    while (n && n->kind != N_RAISE) n = n->next;
    return n != NULL;
}

/* Does the program itself end in this block if v has another number of dims? */
static bool weights_is_asked(const ir_value *v, int rank, const block *b) {
    int64_t is;
    for (size_t i = 0; i < v->uses.len; i++) {
        const node *dim = v->uses.data[i].user;
        if (!dim || !node_is_op(dim, SYM_DIM)) continue;
        const ir_value *d = dim->outputs.data[0];
        for (size_t k = 0; k < d->uses.len; k++) {
            const node *ne = d->uses.data[k].user;
            if (!ne || !node_is_op(ne, SYM_NE) || !known_int(ne->inputs.data[1], &is) ||
                is != rank || ne->outputs.data[0]->uses.len != 1)
                continue;
            const node *check = ne->outputs.data[0]->uses.data[0].user;
            if (check && check->kind == N_IF && check->owner == b &&
                weights_raises(check->blocks.data[0]))
                return true;
        }
    }
    return false;
}

/* Is that known of v in b? */
static bool weights_knows(const weights_pass *p, const ir_value *v, const block *b) {
    const block *where = ptrmap_get(&p->batched, v);
    while (where && b && b != where) b = b->parent ? b->parent->owner : NULL;
    return where && b;
}

/* Has the result as many dims as the first argument? Also what is written in place. */
static bool weights_keeps_rank(const node *n) {
    size_t len = strlen(n->op_name);
    bool in_place = n->op->schema->has_alias_write && len && n->op_name[len - 1] == '_';
    return n->op->traits.rank == RANK_SAME || (in_place && !n->op->traits.reshapes);
}

/* Has v `rank` dims whenever it has one of rank and rank - 1, as the images of a convolution do? */
static bool weights_is_batched(const weights_pass *p, const ir_value *v, int rank, const block *b,
                               int *steps) {
    static const op_symbol joined[] = {SYM_ADD, SYM_SUB, SYM_MUL, SYM_DIV};
    for (; (*steps)-- > 0;) {
        int known = known_rank(v);
        const node *n = v->def;
        if (known >= 0) return known == rank;
        if (weights_knows(p, v, b) || weights_is_asked(v, rank, b)) return true;
        if (!n || n->kind != N_OP || !n->op || !n->inputs.len) return false;
        bool join = false;
        for (size_t i = 0; i < sizeof joined / sizeof *joined; i++)
            join |= node_is_op(n, joined[i]);
        if (join && weights_is_batched(p, n->inputs.data[1], rank, b, steps)) return true;
        if (node_is_op(n, SYM_CAT)) {
            const node *list = known_fixed_list(n->inputs.data[0]);
            if (!list || !list->inputs.len) return false;
            v = list->inputs.data[0];
        } else if (join || weights_keeps_rank(n)) v = n->inputs.data[0];
        else return false;
    }
    return false;
}

/* Has the layer's input a batch dim? Asks, where that is not known. False: it has none. */
static bool weights_batched(weights_pass *p, const weights_layer *l) {
    static const char why[] =
        "a convolution's input has no batch dim where this level of optimisation needs one: what "
        "follows is a part of its weights (levels 0 and 1 do it as it is written)";
    ir_value *x = l->n->inputs.data[0], *y = l->n->outputs.data[0];
    int rank = l->spatial + 2, known = known_rank(x), steps = WEIGHTS_STEPS;
    if (p->cx->batched) return true;
    if (known >= 0) return known == rank;
    if (!weights_is_asked(y, rank, l->n->owner) &&
        !weights_is_batched(p, x, rank, l->n->owner, &steps)) {
        ir_value *d = rewrite_op(l->n, op_find("aten::dim"), 1, &x);
        ir_value *differs[2] = {d, rewrite_int(l->n, rank)};
        ir_value *c = rewrite_op(l->n, op_find("aten::ne.int"), 2, differs);
        ir_value *said[2] = {rewrite_str(l->n, why), rewrite_str(l->n, "builtins.RuntimeError")};
        node *check = node_new(l->n->g, N_IF, 1, &c, 0);
        block *b = node_add_block(check);
        block_append(b, node_new(l->n->g, N_RAISE, 2, said, 0));
        node_add_block(check);
        node_insert_before(check, l->n);
        ptrmap_put(&p->batched, x, l->n->owner);
    }
    ptrmap_put(&p->batched, y, l->n->owner); /* without memory it is asked again */
    return true;
}

/* ---- new weights ----------------------------------------------------------------------------- */

/* How w's elements are multiplied: `inner` at a time, by the scale of their output channel. */
typedef struct weights_walk {
    int64_t rows, columns, per_group, inner;
    const double *scale;
    bool transposed;
} weights_walk;

static weights_walk weights_walk_of(const weights_layer *l, const weights_affine *a) {
    const tensor *w = l->weight;
    weights_walk k = {.rows = w->sizes[0],
                      .columns = l->transposed ? w->sizes[1] : 1,
                      .scale = a->scale,
                      .transposed = l->transposed};
    k.per_group = l->transposed ? k.rows / l->groups : 1;
    k.inner = w->numel / (k.rows * k.columns);
    return k;
}

static double weights_walk_scale(const weights_walk *k, int64_t row, int64_t column) {
    return k->scale[k->transposed ? row / k->per_group * k->columns + column : row];
}

#define WEIGHTS_HOT VECTOR_CLONES

WEIGHTS_HOT static void weights_multiply(float *restrict out, const float *restrict in, double by,
                                         int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = (float)((double)in[i] * by);
}

/* What is known of a folded weight. */
typedef struct weights_head {
    char *raw; /* its memory; NULL: the products are put off */
    size_t all;
    tensor *from, *factors; /* NULL: it is not said where it comes from */
} weights_head;

static void weights_release(void *head, void *data) {
    weights_head *h = head;
    (void)data;
    tensor_unref(h->from);
    tensor_unref(h->factors);
    page_pool_free(h->raw, h->all);
    mem_free(h);
}

static weights_head *weights_head_of(const storage *s) {
    return s->release == weights_release ? s->release_ctx : NULL;
}

bool folded_weight_origin(const tensor *w, tensor **from, tensor **factors) {
    const storage *s = w->storage;
    const weights_head *b = weights_head_of(s);
    if (!b || !b->factors || w->offset || w->dtype != DT_FLOAT32 ||
        !tensor_same_shape(w, b->from) || !tensor_is_contiguous(w))
        return false;
    *from = b->from;
    *factors = b->factors;
    return true;
}

/* Rows that are scaled as a whole. */
static void weights_say_origin(tensor *w, const weights_layer *l, const weights_walk *k) {
    weights_head *b = w->storage->release_ctx;
    tensor *factors;
    if (k->transposed || tensor_device(l->weight) != DEVICE_HOST ||
        tensor_new(NULL, DT_FLOAT64, 1, &k->rows, &factors) != CTSC_OK)
        return;
    memcpy(tensor_data(factors), k->scale, (size_t)k->rows * sizeof(double));
    b->from = tensor_ref(l->weight);
    b->factors = factors;
}

/* Its pages, if it is a part of a file. */
static void weights_drop(const tensor *w) {
    if (w->storage->of_file) pages_drop(w->storage->data, w->storage->nbytes);
}

/* Memory for the elements of h's weight, which are not there yet. */
static bool weights_take_memory(weights_head *h, storage *s) {
    size_t all = s->nbytes + TENSOR_ALIGNMENT;
    char *raw = page_pool_alloc(all);
    if (!raw) return false;
    h->raw = raw, h->all = all;
    s->data = raw + (-(uintptr_t)raw & (TENSOR_ALIGNMENT - 1));
    return true;
}

/* A tensor of t's sizes, without elements. */
static ctsc_status weights_new(diag *d, const tensor *t, tensor **out) {
    int64_t strides[TENSOR_MAX_DIMS], nbytes;
    weights_head *h = mem_zalloc(sizeof *h);
    storage *s = h ? storage_borrow(NULL, (size_t)t->numel * sizeof(float), weights_release, h)
                   : NULL;
    if (!s) {
        mem_free(h);
        return diag_no_memory(d);
    }
    ctsc_status st = tensor_layout(d, DT_FLOAT32, t->ndim, t->sizes, strides, &nbytes);
    if (st == CTSC_OK) st = tensor_on_storage(d, s, DT_FLOAT32, t->ndim, t->sizes, strides, 0, out);
    storage_unref(s);
    return st;
}

/* Who needs the elements of a deferred weight? `layout` takes the convolution's original
 * and its factors, and no other pass reads elements of a convolution's weight. */
static bool weights_put_off(const weights_pass *p, const weights_layer *l, const tensor *w) {
    return p->cx->put_off && l->spatial > 0 && weights_head_of(w->storage)->factors &&
           tensor_suggested_format(l->weight) == FORMAT_CONTIGUOUS;
}

/* float32, the common case, in one sweep: each product is rounded once, as below. */
static ctsc_status weights_fill(diag *d, const tensor *in, const weights_walk *k, tensor *out) {
    if (!weights_take_memory(weights_head_of(out->storage), out->storage)) return diag_no_memory(d);
    const float *x = TENSOR_AT(in, float);
    float *y = TENSOR_AT(out, float);
    for (int64_t r = 0; r < k->rows; r++)
        for (int64_t c = 0; c < k->columns; c++, x += k->inner, y += k->inner)
            weights_multiply(y, x, weights_walk_scale(k, r, c), k->inner);
    return CTSC_OK;
}

static tensor *weights_scaled_float(const weights_pass *p, const weights_layer *l,
                                    const weights_walk *k) {
    diag *d = p->cx->diag;
    tensor *in, *out;
    if (weights_on_host(d, l->weight, DT_FLOAT32, &in) != CTSC_OK) return NULL;
    ctsc_status st = weights_new(d, in, &out);
    if (st == CTSC_OK) {
        weights_say_origin(out, l, k);
        if (!weights_put_off(p, l, out)) st = weights_fill(d, in, k, out);
        if (st != CTSC_OK) tensor_unref(out);
    }
    tensor_unref(in);
    return st == CTSC_OK ? out : NULL;
}

/* The products that were put off, where w is such a weight. */
static ctsc_status weights_make_now(diag *d, tensor *w) {
    weights_head *h = weights_head_of(w->storage);
    if (!h || h->raw) return CTSC_OK;
    weights_walk k = {.rows = w->sizes[0],
                      .columns = 1,
                      .per_group = 1,
                      .inner = w->numel / w->sizes[0],
                      .scale = tensor_data(h->factors)};
    tensor *in;
    TRY(tensor_contiguous(d, h->from, &in));
    ctsc_status st = weights_fill(d, in, &k, w);
    tensor_unref(in);
    if (st == CTSC_OK) weights_drop(h->from);
    return st;
}

static tensor *weights_scaled(const weights_pass *p, const weights_layer *l,
                              const weights_affine *a) {
    diag *d = p->cx->diag;
    tensor *wide, *out = NULL;
    weights_walk k = weights_walk_of(l, a);
    if (weights_make_now(d, l->weight) != CTSC_OK) return NULL;
    if (l->weight->dtype == DT_FLOAT32) return weights_scaled_float(p, l, &k);
    if (weights_on_host(d, l->weight, DT_FLOAT64, &wide) != CTSC_OK) return NULL;
    tensor *w = NULL;
    if (tensor_clone(d, wide, &w) == CTSC_OK) {
        double *x = TENSOR_AT(w, double);
        for (int64_t r = 0; r < k.rows; r++)
            for (int64_t c = 0; c < k.columns; c++) {
                double s = weights_walk_scale(&k, r, c);
                for (int64_t i = 0; i < k.inner; i++) *x++ *= s;
            }
        if (tensor_to_dtype(d, w, (dtype)l->weight->dtype, &out) != CTSC_OK) out = NULL;
    }
    tensor_unref(w);
    tensor_unref(wide);
    return out;
}

static tensor *weights_shifted(diag *d, const weights_layer *l, const weights_affine *a) {
    tensor *b, *out = NULL;
    if (tensor_zeros(d, DT_FLOAT64, 1, &l->channels, &b) != CTSC_OK) return NULL;
    double *x = TENSOR_AT(b, double);
    if (l->bias && !weights_read(l, l->n->inputs.data[2], false, 0, x)) diag_no_memory(d);
    else {
        for (int64_t i = 0; i < l->channels; i++) x[i] = x[i] * a->scale[i] + a->shift[i];
        if (tensor_to_dtype(d, b, (dtype)l->weight->dtype, &out) != CTSC_OK) out = NULL;
    }
    tensor_unref(b);
    return out;
}

/* Where the layer's weight is. Takes t; NULL stays NULL. */
static tensor *weights_place(diag *d, const weights_layer *l, tensor *t) {
    tensor *there = NULL;
    if (t && tensor_to_device(d, t, tensor_device(l->weight), &there) != CTSC_OK) there = NULL;
    tensor_unref(t);
    return there;
}

/* A constant in front of n, with the name of the one it replaces. */
static void weights_set(node *n, int i, tensor *t) {
    ir_value *old = n->inputs.data[i],
             *c = graph_constant_before_take(n, value_tensor_take(t), NULL);
    if (value_has_name(old)) value_set_name(c, old->name);
    node_set_input(n, i, c);
}

/* In the memory format of the weight it is made of, which convolutions' results follow. Takes t;
 * NULL stays NULL. */
static tensor *weights_order(diag *d, const weights_layer *l, tensor *t) {
    int64_t strides[TENSOR_MAX_DIMS];
    tensor *ordered;
    memory_format format = tensor_suggested_format(l->weight);
    if (!t || format == FORMAT_CONTIGUOUS) return t;
    (void)format_strides(NULL, format, t->ndim, t->sizes, strides);
    return tensor_restrided_take(d, t, strides, &ordered) == CTSC_OK ? ordered : NULL;
}

static bool weights_fold(const weights_pass *p, const weights_layer *l, node *n,
                         const weights_affine *a) {
    diag *d = p->cx->diag;
    tensor *w = weights_place(d, l, weights_order(d, l, weights_scaled(p, l, a)));
    tensor *b = w ? weights_place(d, l, weights_shifted(d, l, a)) : NULL;
    if (!b) {
        tensor_unref(w);
        return false;
    }
    if (w->storage->data) weights_drop(l->weight);
    weights_set(l->n, 1, w);
    weights_set(l->n, 2, b);
    value_replace_uses(n->outputs.data[0], l->n->outputs.data[0]);
    node_remove(n);
    return true;
}

/* Of a tensor and another one or a number. */
static bool weights_is_arithmetic(const op *o) {
    switch (o->symbol) {
    case SYM_MUL_TENSOR:
    case SYM_MUL_SCALAR:
    case SYM_ADD_TENSOR:
    case SYM_ADD_SCALAR:
    case SYM_SUB_TENSOR:
    case SYM_SUB_SCALAR:
    case SYM_DIV_TENSOR:
    case SYM_DIV_SCALAR: return true;
    default: return false;
    }
}

static bool weights_node(weights_pass *p, node *n) {
    bool norm = node_is_op(n, SYM_BATCH_NORM);
    if (n->kind != N_OP || !n->op || n->outputs.len != 1 ||
        n->outputs.data[0]->type->kind != T_TENSOR || n->inputs.len < 2)
        return false;
    if (!norm && !weights_is_arithmetic(n->op)) return false;
    for (int i = 0; i < (norm ? 1 : 2); i++) {
        ir_value *y = n->inputs.data[i];
        weights_layer l;
        weights_affine a = {0};
        if (!weights_find_layer(y, &l) || !weights_only_reader(y, n)) continue;
        bool ok = weights_affine_new(&a, l.channels) &&
                  (norm ? weights_batch_norm(&l, n, &a) : weights_arithmetic(&l, n, 1 - i, &a)) &&
                  weights_is_moderate(&a) && (!a.batched || weights_batched(p, &l)) &&
                  weights_fold(p, &l, n, &a);
        mem_free(a.scale);
        if (ok) return true;
    }
    return false;
}

static bool weights_block(weights_pass *p, block *b) {
    bool changed = false;
    for (node *n = b->first, *next;
         n && p->cx->diag->status == CTSC_OK && !arena_failed(&b->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= weights_block(p, n->blocks.data[i]);
        changed |= weights_node(p, n);
    }
    return changed;
}

bool pass_fold_weights(pass_ctx *cx, graph *g) {
    weights_pass p = {.cx = cx};
    bool changed = weights_block(&p, g->root);
    ptrmap_free(&p.batched);
    return changed;
}

/* ---- what was put off ------------------------------------------------------------------------ */

static ctsc_status weights_make_block(diag *d, const block *b) {
    for (node *n = b->first; n; n = n->next) {
        value c;
        for (size_t i = 0; i < n->blocks.len; i++) TRY(weights_make_block(d, n->blocks.data[i]));
        for (size_t i = 0; i < n->inputs.len; i++)
            if (ir_value_constant(n->inputs.data[i], &c) && c.tag == V_TENSOR)
                TRY(weights_make_now(d, c.u.tensor));
    }
    return CTSC_OK;
}

bool pass_make_weights(pass_ctx *cx, graph *g) {
    (void)weights_make_block(cx->diag, g->root); /* the diagnostic ends the pipeline */
    return false;
}
