/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_precision.c - layers with constant weights compute with less precision than they were
 * written with, where the module is to (ctsc_module_set_precision, docs/precision.md).
 *
 *     reduce-bf16     ctsc::linear_prepacked    ->  ctsc::linear_bf16
 *                     ctsc::conv_channels_last  ->  ctsc::conv_channels_last_bf16
 *                     whose results may stay bfloat16 (reduce_results.h)
 *     reduce-int8w    ctsc::linear_prepacked    ->  ctsc::linear_int8w
 *                     aten::embedding           ->  ctsc::embedding_int8w
 *     reduce-int4w    the same of 4 bits, with reduction.group and .zeros
 *
 *     choose-precision  aten::linear            ->  one of the above, or as it is
 *     reduce-auto     ctsc::conv_channels_last  ->  ctsc::conv_channels_last_bf16
 *
 * All but choose-precision run last: by then "layout" and "prepack" have found the layers, and
 * given their weights storages of their own. A table that is a layer's weight as well shares the
 * layer's storage, so that it is packed once.
 *
 * How choose-precision chooses. Whether a layer gets one row or many is unknown
 * here: one row costs reading the weights, many the multiplications
 * (narrow.def). So the form with the smallest product of both, bits / rate, is
 * taken among those that are faster in both, and whose error the caller allows.
 * Tests: tests/cli/precision.test, tests/unit/test_precision.c
 */
#include "passes/weights/reduce_precision.h"

#include "ir/op/conv_last_args.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"
#include "passes/weights/prepack.h"
#include "passes/weights/reduce_results.h"

#include <math.h>
#include <string.h>

static bool reduce_node(node *n, op_symbol from, op_symbol to) {
    if (!node_is_overload(n, from)) return false;
    ir_value *y = rewrite_op(n, op_of(to), (int)n->inputs.len, n->inputs.data);
    if (!y) return false;
    rewrite_result(n, y);
    return true;
}

static bool reduce_conv(node *n) {
    ir_value *in[CONV_LAST_BF16_ARGS];
    if (!node_is_overload(n, SYM_CTSC_CONV_CHANNELS_LAST) || n->inputs.len != CONV_LAST_ARGS)
        return false;
    memcpy(in, n->inputs.data, CONV_LAST_ARGS * sizeof *in);
    in[CONV_LAST_HALF_INPUT] = in[CONV_LAST_HALF_RESULT] = rewrite_bool(n, false);
    ir_value *y = rewrite_op(n, op_of(SYM_CTSC_CONV_CHANNELS_LAST_BF16), CONV_LAST_BF16_ARGS, in);
    if (y) rewrite_result(n, y);
    return y != NULL;
}

static bool reduce_bf16_rule(const alias_db *db, node *n) {
    (void)db;
    return reduce_node(n, SYM_CTSC_LINEAR_PREPACKED, SYM_CTSC_LINEAR_BF16) || reduce_conv(n);
}

bool pass_reduce_bf16(pass_ctx *cx, graph *g) {
    bool changed = rewrite_each(cx, g, reduce_bf16_rule);
    return reduce_results(g, true) || changed;
}

/* ---- weights alone --------------------------------------------------------------------------- */

enum { REDUCE_GROUP = 32 };

/* What a walk over the graph knows. */
typedef struct reduce_walk {
    graph *g;
    const reduction *how; /* of choose-precision */
    bool four;
    int64_t group; /* of four bits */
    bool zeros;
    VEC(tensor *) layers; /* weights of linear layers; borrowed from constants of the graph */
} reduce_walk;

/* The weight of a linear layer that has these elements; NULL: none. */
static tensor *reduce_layer(const reduce_walk *w, const tensor *t) {
    for (size_t i = 0; i < w->layers.len; i++) {
        tensor *layer = w->layers.data[i];
        if (tensor_data(layer) == tensor_data(t) && layer->dtype == t->dtype && layer->ndim == 2 &&
            layer->sizes[0] == t->sizes[0] && layer->sizes[1] == t->sizes[1] &&
            layer->strides[0] == t->strides[0] && layer->strides[1] == t->strides[1])
            return layer;
    }
    return NULL;
}

/* n becomes `to`, with its first `ninputs` inputs and what four bits need besides. */
static bool reduce_weights(const reduce_walk *w, node *n, op_symbol to, int ninputs) {
    ir_value *in[5];
    for (int i = 0; i < ninputs; i++) in[i] = n->inputs.data[i];
    if (w->four) in[ninputs++] = rewrite_int(n, w->group);
    if (w->four) in[ninputs++] = rewrite_bool(n, w->zeros);
    ir_value *y = rewrite_op(n, op_of(to), ninputs, in);
    if (y) rewrite_result(n, y);
    return y != NULL;
}

static bool reduce_linear(reduce_walk *w, node *n) {
    tensor *weight;
    if (!node_is_overload(n, SYM_CTSC_LINEAR_PREPACKED) ||
        !known_tensor(n->inputs.data[1], &weight))
        return false;
    tensor *same = reduce_layer(w, weight);
    if (!same) w->g->arena.failed |= !vec_push(&w->layers, weight);
    else if (same != weight)
        node_set_input(n, 1,
                       graph_constant_before_take(n, value_tensor_take(tensor_ref(same)),
                                                  n->inputs.data[1]->type));
    return reduce_weights(w, n, w->four ? SYM_CTSC_LINEAR_INT4W : SYM_CTSC_LINEAR_INT8W, 3);
}

static bool reduce_embedding(reduce_walk *w, node *n) {
    tensor *table;
    if (!node_is_overload(n, SYM_EMBEDDING) || !known_tensor(n->inputs.data[0], &table) ||
        !prepack_is_weight(table))
        return false;
    tensor *own = reduce_layer(w, table);
    if (own) tensor_ref(own);
    else if (tensor_constant(NULL, table, &own) != CTSC_OK) return false;
    node_set_input(n, 0,
                   graph_constant_before_take(n, value_tensor_take(own), n->inputs.data[0]->type));
    return reduce_weights(w, n, w->four ? SYM_CTSC_EMBEDDING_INT4W : SYM_CTSC_EMBEDDING_INT8W, 2);
}

static bool reduce_block(reduce_walk *w, block *b, bool (*rule)(reduce_walk *w, node *n)) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&w->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++)
            changed |= reduce_block(w, n->blocks.data[i], rule);
        if (n->kind == N_OP) changed |= rule(w, n);
    }
    return changed;
}

static bool reduce_walk_run(reduce_walk *w) {
    bool changed = reduce_block(w, w->g->root, reduce_linear);
    changed |= reduce_block(w, w->g->root, reduce_embedding);
    vec_free(&w->layers);
    return changed;
}

bool pass_reduce_int8w(pass_ctx *cx, graph *g) {
    (void)cx;
    return reduce_walk_run(&(reduce_walk){.g = g});
}

bool pass_reduce_int4w(pass_ctx *cx, graph *g) {
    return reduce_walk_run(
        &(reduce_walk){.g = g,
                       .four = true,
                       .group = cx->reduce.group ? cx->reduce.group : REDUCE_GROUP,
                       .zeros = cx->reduce.zeros});
}

/* ---- whatever is fastest --------------------------------------------------------------------- */

/* How far off a factor that is rounded to bfloat16, times another one, may be. */
#define REDUCE_BF16_ERROR (0x1p-7 + 0x1p-14)

/* The bound of docs/precision.md for `bits` of a group of n weights and activations of size 1;
 * *size gets their magnitudes. */
static double reduce_group_error(const float *w, int64_t n, int bits, double *size) {
    double low = 0, high = 0, sum = 0, half = bits == 4 ? 8 : 128, levels = bits == 4 ? 254 : 64768;
    for (int64_t i = 0; i < n; i++) {
        double x = (double)w[i];
        low = x < low ? x : low, high = x > high ? x : high;
        sum += fabs(x);
    }
    double most = high > -low ? high : -low, least = high > -low ? -low : high,
           step = most / half > least / (half - 1) ? most / half : least / (half - 1);
    *size += sum;
    return step / 2 * (double)n + (sum + step * (double)n) / levels;
}

/* The error of a layer over the sum of its products, where all activations are of one size. */
static double reduce_error(tensor *w, narrow_kind kind) {
    tensor *wide = NULL, *rows = NULL;
    double error = 0, size = 0;
    if (kind == NARROW_BF16) return REDUCE_BF16_ERROR;
    if (tensor_to_dtype(NULL, w, DT_FLOAT32, &wide) != CTSC_OK ||
        tensor_contiguous(NULL, wide, &rows) != CTSC_OK) {
        tensor_unref(wide);
        return INFINITY;
    }
    int64_t n = rows->sizes[0], k = rows->sizes[1], group = kind == NARROW_INT4W ? REDUCE_GROUP : k;
    const float *row = tensor_data(rows);
    for (int64_t j = 0; j < n; j++, row += k)
        for (int64_t at = 0; at < k; at += group)
            error += reduce_group_error(row + at, at + group < k ? group : k - at,
                                        kind == NARROW_INT4W ? 4 : 8, &size);
    tensor_unref(wide);
    tensor_unref(rows);
    return size > 0 && isfinite(error) ? error / size : INFINITY;
}

/* The best way for weight w; NARROW_KINDS: as it is. */
static narrow_kind reduce_choose(const reduction *r, tensor *w) {
    const narrow_row *bf16 = r->ways[NARROW_BF16];
    double bits = w->dtype == DT_FLOAT32 ? 32 : 16,
           rate = w->dtype == DT_BFLOAT16 && bf16 ? bf16->rate : 1, best = bits / rate;
    narrow_kind chosen = NARROW_KINDS;
    for (narrow_kind kind = 0; kind < NARROW_KINDS; kind++) {
        const narrow_row *way = r->ways[kind];
        if (way && way->bits < bits && way->rate > rate && w->sizes[0] >= way->columns &&
            way->bits / way->rate < best && reduce_error(w, kind) <= r->error)
            chosen = kind, best = way->bits / way->rate;
    }
    return chosen;
}

static bool choose_linear(reduce_walk *w, node *n) {
    static const op_symbol to[NARROW_KINDS] = {SYM_CTSC_LINEAR_BF16, SYM_CTSC_LINEAR_INT8W,
                                               SYM_CTSC_LINEAR_INT4W};
    tensor *weight;
    narrow_kind kind = prepack_fits(n, &weight) ? reduce_choose(w->how, weight) : NARROW_KINDS;
    ir_value *own = kind == NARROW_KINDS ? NULL : prepack_weight(n, weight);
    if (!own) return false;
    node_set_input(n, 1, own);
    w->four = kind == NARROW_INT4W;
    return reduce_weights(w, n, to[kind], 3);
}

bool pass_choose_precision(pass_ctx *cx, graph *g) {
    reduce_walk w = {.g = g, .how = &cx->reduce, .group = REDUCE_GROUP};
    return reduce_block(&w, g->root, choose_linear);
}

static bool reduce_auto_rule(const alias_db *db, node *n) {
    tensor *w;
    (void)db;
    return n->kind == N_OP && n->inputs.len > 1 && known_tensor(n->inputs.data[1], &w) &&
           w->dtype == DT_FLOAT32 && reduce_conv(n);
}

bool reduce_auto_convs(const pass_ctx *cx) {
    return cx->reduce.ways[NARROW_BF16] && cx->reduce.error >= REDUCE_BF16_ERROR;
}

bool pass_reduce_auto(pass_ctx *cx, graph *g) {
    if (!reduce_auto_convs(cx)) return false;
    bool changed = rewrite_each(cx, g, reduce_auto_rule);
    return reduce_results(g, false) || changed;
}

/* ---- names ----------------------------------------------------------------------------------- */

bool reduce_read_groups(const char *text, int *group, bool *zeros) {
    static const struct { const char *text; int group, zeros; } options[] = {
        {"32", 32, -1}, {"64", 64, -1}, {"128", 128, -1}, {"sym", 0, 0}, {"asym", 0, 1},
    };
    bool more = *text == ':';
    while (more) {
        size_t n = strcspn(++text, ","), i = 0, count = sizeof options / sizeof *options;
        while (i < count && (strlen(options[i].text) != n || strncmp(options[i].text, text, n)))
            i++;
        if (i == count) return false;
        if (options[i].group) *group = options[i].group;
        if (options[i].zeros >= 0) *zeros = options[i].zeros;
        text += n;
        more = *text == ',';
    }
    return *text == '\0';
}
