/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_dense.c - the floating-point operations of products, convolutions, attention and
 * recurrent networks.
 *
 * The count is of what the operator means, from the sizes of its arguments and
 * results, independent of the algorithm (Winograd's makes fewer): two for each
 * multiply-add, padding and masked scores included; one for each element for a bias,
 * another tensor or an activation (ctsc::conv_epilogue and the like). Products of
 * quantised tensors count as those of floats do. Operators of one family name their
 * arguments alike ("bias", "transposed", "attn_mask") in any position, so arguments
 * are looked up by name where families differ in their order.
 *
 *     attention   scores 2 * width each; scaling 1, softmax 5, a mask or bias 1 per score; the sum of values 2 per score and column
 *     heads       projections of query, key and value, attention, projection of the result; of a layer also its two linear layers, with
 *                 one for the activation, two norms (7 each), two additions
 *     rnn         per step and layer: 2 per element of matrices, 1 per element of biases, and per hidden unit what the formula of the cell has
 *
 * Tests: tests/unit/test_work.c
 */
#include "runtime/observe/work_dense.h"

#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

/* per score: scaling and softmax; per element: a norm with weight and bias */
enum { SCORE = 6, NORM = 7 };

int64_t work_numel(value v) { return v.tag == V_TENSOR ? v.u.tensor->numel : 1; }

static int64_t work_last(value v) {
    return v.tag == V_TENSOR && v.u.tensor->ndim ? v.u.tensor->sizes[v.u.tensor->ndim - 1] : 1;
}

/* The argument called so; None if there is none. */
static value work_named(const work_call *c, const char *name) {
    for (int i = 0; i < c->nargs && i < c->o->schema->nargs; i++)
        if (!strcmp(c->o->schema->args[i].name, name)) return c->in[i];
    return value_none();
}

/* Elements of the named tensor; 0 without it. */
static int64_t work_named_numel(const work_call *c, const char *name) {
    value v = work_named(c, name);
    return v.tag == V_TENSOR ? v.u.tensor->numel : 0;
}

static bool work_named_true(const work_call *c, const char *name) {
    value v = work_named(c, name);
    return v.tag == V_BOOL && v.u.b;
}

/* ---- linear layers and convolutions ---------------------------------------------------------- */

/* How often each element of the result is changed after
 * the product: bias, another tensor, activation. */
static int64_t work_additions(const work_call *c) {
    value activation = work_named(c, "activation");
    const packed *p = c->nargs > 1 ? packed_in(&c->in[1]) : NULL;
    int64_t n = work_named(c, "bias").tag == V_TENSOR || (p && p->bias);
    n += work_named(c, "other").tag == V_TENSOR;
    return n + (activation.tag == V_STR && strcmp(activation.u.str->bytes, "none") != 0);
}

static int64_t work_conv(const work_call *c) {
    int a = c->o->traits.work_arg;
    const packed *p = c->nargs > 1 ? packed_in(&c->in[1]) : NULL;
    const tensor *w = p                                          ? p->weight
                      : c->nargs > 1 && c->in[1].tag == V_TENSOR ? c->in[1].u.tensor
                                                                 : NULL;
    bool transposed = a == 1 || work_named_true(c, "transposed");
    if (!w || !w->ndim) return 0;
    int64_t channels = w->sizes[a == 2 ? w->ndim - 1 : 0];
    if (!channels) return 0;
    return 2 * work_numel(transposed ? c->in[0] : c->out) * (w->numel / channels) +
           work_numel(c->out) * work_additions(c);
}

/* ---- products -------------------------------------------------------------------------------- */

/* self + the sum of batch1's matrices, each times batch2's. */
static int64_t work_addbmm(const work_call *c) {
    return 2 * work_numel(c->in[1]) * work_last(c->in[2]) + work_numel(c->out);
}

/* Summed over dims_self; the result has all others. */
static int64_t work_tensordot(const work_call *c) {
    const tensor *t = c->in[0].u.tensor;
    const list *dims = c->in[2].u.list;
    int64_t depth = 1;
    for (size_t i = 0; i < dims->len; i++) {
        int64_t d = dims->u.ints[i] < 0 ? dims->u.ints[i] + t->ndim : dims->u.ints[i];
        if (d >= 0 && d < t->ndim) depth *= t->sizes[d];
    }
    return 2 * work_numel(c->out) * depth;
}

/* For each output feature x1 @ (weight @ x2), and the bias. */
static int64_t work_bilinear(const work_call *c) {
    int64_t left = work_last(c->in[0]), right = work_last(c->in[1]);
    return work_numel(c->out) *
           (2 * left * right + 2 * left + (work_named(c, "bias").tag == V_TENSOR));
}

static int64_t work_einsum(const work_call *c) {
    value path = c->nargs > 2 ? c->in[2] : value_none();
    return einsum_work(c->in[0].u.str, c->in[1].u.list, path.tag == V_LIST ? path.u.list : NULL);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* rows: of queries, all heads and batches together. */
static int64_t work_scores(int64_t rows, int64_t keys, int64_t width, int64_t value_width,
                           bool mask) {
    return rows * keys * (2 * width + SCORE + mask + 2 * value_width);
}

static int64_t work_attention(const work_call *c) {
    const tensor *v = c->in[2].tag == V_TENSOR ? c->in[2].u.tensor : NULL;
    int64_t width = work_last(c->in[0]), value_width = work_last(c->in[2]);
    bool mask = work_named(c, "attn_mask").tag == V_TENSOR || work_named(c, "bias").tag == V_TENSOR;
    if (!v || v->ndim < 2 || !value_width) return 0;
    return work_scores(work_numel(c->out) / value_width, v->sizes[v->ndim - 2], width, value_width,
                       mask);
}

/* query, key, value: [batch, length, width] */
static int64_t work_heads(const work_call *c, const tensor *q, const tensor *k, const tensor *v) {
    value heads = work_named(c, "num_head");
    if (heads.tag == V_NONE) heads = work_named(c, "num_heads");
    if (heads.tag != V_INT || heads.u.i <= 0 || q->ndim != 3 || k->ndim != 3) return 0;
    /* rows of four projections, times width */
    int64_t width = q->sizes[2], own = width / heads.u.i, all = 2 * q->numel + k->numel + v->numel;
    bool mask = work_named(c, "mask").tag == V_TENSOR;
    return all * (2 * width + 1) +
           work_scores(q->sizes[0] * q->sizes[1] * heads.u.i, k->sizes[1], own, own, mask);
}

static int64_t work_encoder_layer(const work_call *c, const tensor *x) {
    int64_t wide = work_named_numel(c, "ffn_bias_1"),
            rows = x->ndim && x->sizes[x->ndim - 1] ? x->numel / x->sizes[x->ndim - 1] : 0;
    int64_t linear = rows * (2 * work_named_numel(c, "ffn_weight_1") + 2 * wide) +
                     rows * 2 * work_named_numel(c, "ffn_weight_2") + x->numel;
    return work_heads(c, x, x, x) + linear + x->numel * (2 * NORM + 2);
}

static int64_t work_with_heads(const work_call *c) {
    for (int i = 0; i < 3 && !c->o->traits.work_arg; i++)
        if (c->in[i].tag != V_TENSOR) return 0;
    if (c->in[0].tag != V_TENSOR) return 0;
    if (c->o->traits.work_arg) return work_encoder_layer(c, c->in[0].u.tensor);
    return work_heads(c, c->in[0].u.tensor, c->in[1].u.tensor, c->in[2].u.tensor);
}

/* ---- recurrent networks ---------------------------------------------------------------------- */

/* Per hidden unit, without the products. LSTM: four sums and activations;
 * c = f c + i g; h = o tanh(c). GRU: two sums, r * hn and its sum, three
 * activations; h = (1 - z) n + z h. Else a sum and an activation. */
static int64_t work_unit(int gates) {
    return gates == 4 ? 4 + 4 + 3 + 2 : gates == 3 ? 2 + 2 + 3 + 4 : 2;
}

/* Of one step, with these weights: matrices, then vectors. */
static int64_t work_parameters(tensor *const *params, size_t n) {
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += params[i] ? params[i]->numel * (params[i]->ndim == 2 ? 2 : 1) : 0;
    return sum;
}

static int64_t work_cell(const work_call *c, int gates) {
    tensor *params[4] = {NULL};
    for (int i = 0; i < 4 && 2 + i < c->nargs; i++)
        params[i] = c->in[2 + i].tag == V_TENSOR ? c->in[2 + i].u.tensor : NULL;
    const tensor *x = c->in[0].u.tensor;
    int64_t steps = x->ndim == 2 ? x->sizes[0] : 1,
            units = params[0] && params[0]->ndim ? params[0]->sizes[0] / gates : 0;
    return steps * (work_parameters(params, 4) + units * work_unit(gates));
}

static int64_t work_rnn(const work_call *c) {
    int gates = c->o->traits.work_arg;
    value params = work_named(c, "params"), layers = work_named(c, "num_layers");
    if (c->in[0].tag != V_TENSOR) return 0;
    if (params.tag != V_LIST || layers.tag != V_INT) return work_cell(c, gates);
    const tensor *x = c->in[0].u.tensor;
    const list *l = params.u.list;
    /* one direction of one layer */
    int64_t runs = layers.u.i * (1 + work_named_true(c, "bidirectional"));
    if (l->kind != LIST_TENSOR || runs <= 0 || l->len % (size_t)runs || !work_last(c->in[0]))
        return 0;
    int64_t steps = x->numel / work_last(c->in[0]), units = 0;
    for (int64_t i = 0; i < runs; i++) {
        const tensor *w = l->len ? l->u.tensors[(size_t)i * (l->len / (size_t)runs)] : NULL;
        units += w && w->ndim ? w->sizes[0] / gates : 0;
    }
    return steps * (work_parameters(l->u.tensors, l->len) + units * work_unit(gates));
}

int64_t work_dense(const work_call *c) {
    int a = c->o->traits.work_arg;
    int64_t results = work_numel(c->out);
    switch (c->o->traits.work) {
    case WORK_PRODUCT: return 2 * results * work_last(c->in[a]);
    case WORK_LINEAR: return results * (2 * work_last(c->in[a]) + work_additions(c));
    case WORK_ADDED: return results * (2 * work_last(c->in[a]) + 1);
    case WORK_CONV: return work_conv(c);
    case WORK_ADDBMM: return work_addbmm(c);
    case WORK_TENSORDOT: return work_tensordot(c);
    case WORK_EINSUM: return work_einsum(c);
    case WORK_BILINEAR: return work_bilinear(c);
    case WORK_DISTANCE: return 3 * results * work_last(c->in[0]);
    case WORK_ATTENTION: return work_attention(c);
    case WORK_HEADS: return work_with_heads(c);
    case WORK_RNN: return work_rnn(c);
    default: return 0;
    }
}
