/* SPDX-License-Identifier: Apache-2.0 */
/* quantise_others.c - sums, products, batch norms, concatenation and pooling on
 * integers (quantise.h). */
#include "passes/quantise/quantise.h"

#include <math.h>

/* ---- two tensors ----------------------------------------------------------------------------- */

static ir_value *binary_make(node *n, const quantise_target *to, const char *key) {
    quantise_affine a, b;
    ir_value *args[] = {quantise_source(n->inputs.data[0], &a),
                        quantise_source(n->inputs.data[1], &b)};
    return args[0] && args[1] ? quantise_op(to, key, 2, args, true) : NULL;
}

ir_value *quantise_add(node *n, const quantise_target *to) {
    return known_number_is(n->inputs.data[2], 1) ? binary_make(n, to, "ctsc::quantised_add") : NULL;
}

ir_value *quantise_mul(node *n, const quantise_target *to) {
    return binary_make(n, to, "ctsc::quantised_mul");
}

/* ---- a line for each channel ----------------------------------------------------------------- */

/* The operator's results for the real values of 0 and 255, in each channel: it is
 * run on these, and the results of the integers between them are on a line. */
ir_value *quantise_batch_norm(node *n, const quantise_target *to) {
    enum { ARGS = 9 };
    quantise_affine a;
    bool training;
    value args[ARGS] = {value_none()}, y = value_none();
    diag d = {0};
    tensor *mean, *x = NULL, *line[2] = {NULL, NULL};
    ir_value *source = quantise_source(n->inputs.data[0], &a), *made = NULL;
    if (!source || n->inputs.len != ARGS || !known_bool(n->inputs.data[5], &training) || training ||
        !known_tensor(n->inputs.data[3], &mean) || mean->ndim != 1 || !mean->numel)
        return NULL;
    int64_t c = mean->numel, ends[] = {2, c};
    bool known = tensor_new(&d, DT_FLOAT32, 2, ends, &x) == CTSC_OK &&
                 tensor_new(&d, DT_FLOAT32, 1, &c, &line[0]) == CTSC_OK &&
                 tensor_new(&d, DT_FLOAT32, 1, &c, &line[1]) == CTSC_OK;
    diag_clear(&d);
    for (int64_t i = 0; known && i < 2 * c; i++)
        TENSOR_AT(x, float)[i] = (float)((i < c ? 0 : UINT8_MAX) - a.zero) * (float)a.scale;
    for (int i = 1; i < ARGS; i++) {
        args[i] = quantise_constant(n->inputs.data[i]);
        known &= args[i].tag != V_NONE || known_is_none(n->inputs.data[i]);
    }
    args[0] = (value){.tag = V_TENSOR, .u.tensor = x};
    if (known) y = quantise_run(n->op->key, ARGS, args);
    if (y.tag == V_TENSOR && y.u.tensor->dtype == DT_FLOAT32 && y.u.tensor->numel == 2 * c &&
        tensor_is_contiguous(y.u.tensor)) {
        const float *low = TENSOR_AT(y.u.tensor, float), *high = low + c;
        bool fits = true;
        for (int64_t i = 0; i < c; i++) {
            double start = low[i] / to->scale, end = high[i] / to->scale;
            TENSOR_AT(line[0], float)[i] = (float)((end - start) / UINT8_MAX);
            TENSOR_AT(line[1], float)[i] = (float)start;
            fits &= fabs(start) < 0x1p29 && fabs(end) < 0x1p29;
        }
        ir_value *inputs[] = {source,
                              graph_constant_before_take(to->at, value_tensor_take(line[0]), NULL),
                              graph_constant_before_take(to->at, value_tensor_take(line[1]), NULL)};
        if (fits && inputs[1] && inputs[2])
            made = quantise_op(to, "ctsc::quantised_line", 3, inputs, true);
        line[0] = line[1] = NULL;
    }
    value_unref(y);
    for (int i = 1; i < ARGS; i++) value_unref(args[i]);
    tensor_unref(x);
    tensor_unref(line[0]);
    tensor_unref(line[1]);
    return made;
}

/* ---- concatenation --------------------------------------------------------------------------- */

ir_value *quantise_cat(node *n, const quantise_target *to) {
    node *l = known_fixed_list(n->inputs.data[0]);
    if (!l || !l->inputs.len || !quantise_unbounded(to)) return NULL;
    node *made = node_new(n->g, N_LIST_CONSTRUCT, 0, NULL, 1);
    for (size_t i = 0; i < l->inputs.len; i++) {
        quantise_affine a;
        ir_value *x = quantise_source(l->inputs.data[i], &a);
        if (!x) return NULL;
        node_add_input(made, x);
    }
    made->outputs.data[0]->type = l->outputs.data[0]->type;
    made->range = to->at->range;
    node_insert_before(made, to->at);
    ir_value *args[] = {made->outputs.data[0], n->inputs.data[1]};
    return quantise_op(to, "quantized::cat", 2, args, false);
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* The number of dims, and the arguments after x unchanged, up to `count` with it. */
static ir_value *pool_make(node *n, const quantise_target *to, const char *key, int dims,
                           int count) {
    enum { MOST = 9 };
    quantise_affine a;
    ir_value *args[MOST], *x = quantise_source(n->inputs.data[0], &a);
    if (!x || !quantise_unbounded(to)) return NULL;
    args[0] = x;
    args[1] = rewrite_int(to->at, dims);
    for (int i = 1; i < count; i++)
        args[i + 1] = i < (int)n->inputs.len ? n->inputs.data[i] : rewrite_none(to->at);
    return quantise_op(to, key, count + 1, args, false);
}

ir_value *quantise_avg_pool(node *n, const quantise_target *to) {
    int dims = node_is_overload(n, SYM_AVG_POOL1D)   ? 1
               : node_is_overload(n, SYM_AVG_POOL2D) ? 2
                                                     : 3;
    return pool_make(n, to, "ctsc::quantised_avg_pool", dims, 7);
}

ir_value *quantise_adaptive_avg_pool(node *n, const quantise_target *to) {
    int dims = node_is_overload(n, SYM_ADAPTIVE_AVG_POOL1D)   ? 1
               : node_is_overload(n, SYM_ADAPTIVE_AVG_POOL2D) ? 2
                                                              : 3;
    return pool_make(n, to, "ctsc::quantised_adaptive_avg_pool", dims, 2);
}

/* Over all dims after the second, which are kept with size 1: a global pooling. */
ir_value *quantise_mean(node *n, const quantise_target *to) {
    int64_t dims[KNOWN_MAX_INTS];
    int count, rank = quantise_rank(n->inputs.data[0]);
    bool keep;
    quantise_affine a;
    if (rank < 3 || rank > 5 || !known_ints(n->inputs.data[1], dims, &count) || count != rank - 2 ||
        !known_bool(n->inputs.data[2], &keep) || !keep || !known_is_none(n->inputs.data[3]) ||
        !quantise_unbounded(to))
        return NULL;
    unsigned seen = 0;
    for (int i = 0; i < count; i++) {
        int64_t d = dims[i] < 0 ? dims[i] + rank : dims[i];
        if (d < 2 || d >= rank) return NULL;
        seen |= 1u << d;
    }
    if (seen != (1u << rank) - 4) return NULL;
    ir_value *x = quantise_source(n->inputs.data[0], &a), *one = rewrite_int(to->at, 1);
    if (!x) return NULL;
    ir_value *ones[] = {one, one, one};
    node *l = node_new(n->g, N_LIST_CONSTRUCT, count, ones, 1);
    l->outputs.data[0]->type = type_list(TYPE_INT);
    node_insert_before(l, to->at);
    ir_value *args[] = {x, rewrite_int(to->at, count), l->outputs.data[0]};
    return quantise_op(to, "ctsc::quantised_adaptive_avg_pool", 3, args, false);
}
