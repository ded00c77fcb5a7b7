/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_recurrent.c - recurrent layers: LSTM, GRU and RNN, one node for each layer.
 *
 * Their gates are in another order than PyTorch's. Weights that were made of integers stay such:
 *
 *     aten::lstm, parameters dequantised constants    DequantizeLinear in front of W and R
 *     aten::quantized_lstm, quantized_gru             the same; ONNX has no form that quantises
 *                                                     the hidden state of each step
 * Tests: tests/onnx/calls.py, tests/onnx/quantize.py
 */
#include "frontend/onnx/onnx_out_internal.h"

enum { RECURRENT_LAYERS = 64 };

/* The parameters of one layer and direction. */
typedef struct recurrent_set {
    const tensor *w[2], *b[2]; /* input, hidden; b: NULL without biases */
    const out_weight *ints[2]; /* what w was made of, in rows; NULL: floats */
} recurrent_set;

typedef struct recurrent {
    recurrent_set *sets;
    int dirs, gates;
    bool biases;
} recurrent;

/* ---- parameters ------------------------------------------------------------------------------ */

/* Integers with a scale for all, or for each row. */
static const out_weight *recurrent_ints(const onnx_out *o, const tensor *t) {
    const out_weight *w = ptrmap_get(&o->made_of_ints, t);
    bool fits = w && w->bits == 8 && !w->block && w->q && w->q->ndim == 2 &&
                (!w->scale->ndim || w->axis == 0);
    return fits ? w : NULL;
}

static bool sets_of_tensors(onnx_out *o, recurrent *r, const list *params, size_t sets) {
    size_t each = r->biases ? 4 : 2;
    if (params->len != sets * each) return out_refuse(o, "with projections");
    for (size_t s = 0; s < sets; s++)
        for (int k = 0; k < 2; k++) {
            tensor *const *t = params->u.tensors + s * each + k;
            r->sets[s].w[k] = *t;
            r->sets[s].b[k] = r->biases ? t[2] : NULL;
            r->sets[s].ints[k] = recurrent_ints(o, *t);
        }
    return true;
}

/* Of objects of CellParamsBase. */
static bool sets_of_cells(onnx_out *o, recurrent *r, const list *cells, size_t sets) {
    if (cells->kind != LIST_VALUE || cells->len != sets) return out_refuse(o, "of these cells");
    r->biases = true;
    for (size_t s = 0; s < sets; s++)
        if (!out_weight_of_cell(o, cells->u.values[s], r->sets[s].ints, r->sets[s].b)) return false;
    for (size_t s = 0; s < sets; s++)
        for (int k = 0; k < 2; k++) r->sets[s].w[k] = r->sets[s].ints[k]->q;
    return true;
}

/* ---- in ONNX's order ------------------------------------------------------------------------- */

/* Rows of a parameter with its gates in ONNX's order, into `to`. */
static void gates_copy(char *to, const tensor *t, int gates, size_t row) {
    static const int orders[][4] = {{0}, {0}, {0}, {1, 0, 2}, {0, 3, 1, 2}};
    size_t each = (size_t)(t->sizes[0] / gates) * row;
    for (int i = 0; i < gates; i++)
        memcpy(to + (size_t)i * each, (char *)tensor_data(t) + (size_t)orders[gates][i] * each,
               each);
}

/* These n tensors of rows, each in ONNX's order, one below the other: [sizes...]. */
static tensor *gates_stack(onnx_out *o, int gates, int n, const tensor *const *from, int ndim,
                           const int64_t *sizes) {
    tensor *t = NULL;
    if (tensor_new(o->d, (dtype)from[0]->dtype, ndim, sizes, &t) != CTSC_OK) return NULL;
    char *to = tensor_data(t);
    for (int i = 0; i < n; i++) {
        tensor *w = NULL;
        if (tensor_contiguous(o->d, (tensor *)(uintptr_t)from[i], &w) != CTSC_OK)
            return tensor_unref(t), NULL;
        size_t size = dtype_size((dtype)w->dtype);
        gates_copy(to, w, gates, (size_t)(w->numel / w->sizes[0]) * size);
        to += (size_t)w->numel * size;
        tensor_unref(w);
    }
    if (vec_push(&o->held, t)) return t;
    return tensor_unref(t), out_no_memory(o), NULL;
}

/* Numbers for each row of a weight: its own, or its one. */
static const tensor *gates_spread(onnx_out *o, const tensor *t, int64_t rows) {
    tensor *wide = NULL, *own = NULL;
    if (t->ndim) return t;
    if (tensor_expand(o->d, t, 1, &rows, &wide) == CTSC_OK &&
        tensor_contiguous(o->d, wide, &own) != CTSC_OK)
        own = NULL;
    tensor_unref(wide);
    if (own && !vec_push(&o->held, own)) tensor_unref(own), own = NULL;
    return own;
}

/* Weights k (0 input, 1 hidden) of both directions as integers: [dirs, rows, columns]. */
static const char *gates_integers(onnx_out *o, const recurrent *r, const recurrent_set *s, int k) {
    enum { Q, SCALE, ZERO, PARTS };
    const tensor *from[PARTS][2];
    int64_t rows = s->w[k]->sizes[0], flat[] = {r->dirs * rows, s->w[k]->sizes[1]},
            sizes[] = {r->dirs, rows, flat[1]};
    out_weight all = {.bits = 8};
    for (int d = 0; d < r->dirs; d++) {
        const out_weight *w = s[d].ints[k];
        from[Q][d] = w->q;
        from[SCALE][d] = gates_spread(o, w->scale, rows);
        from[ZERO][d] = w->zero ? gates_spread(o, w->zero, rows) : NULL;
        if (!from[SCALE][d] || (w->zero && !from[ZERO][d])) return NULL;
    }
    all.q = gates_stack(o, r->gates, r->dirs, from[Q], 2, flat);
    all.scale = all.q ? gates_stack(o, r->gates, r->dirs, from[SCALE], 1, flat) : NULL;
    if (all.scale && from[ZERO][0])
        all.zero = gates_stack(o, r->gates, r->dirs, from[ZERO], 1, flat);
    const char *y = all.scale ? out_weight_floats(o, &all, false) : NULL;
    return y ? OUT(o, "Reshape", y, out_const_ints(o, 3, sizes)) : NULL;
}

static const char *gates_weight(onnx_out *o, const recurrent *r, const recurrent_set *s, int k) {
    bool ints = true;
    const tensor *from[2];
    int64_t sizes[] = {r->dirs, s->w[k]->sizes[0], s->w[k]->sizes[1]};
    for (int d = 0; d < r->dirs; d++) {
        from[d] = s[d].w[k];
        ints = ints && s[d].ints[k];
    }
    if (ints) return gates_integers(o, r, s, k);
    tensor *t = gates_stack(o, r->gates, r->dirs, from, 3, sizes);
    return t ? out_tensor(o, t) : NULL;
}

/* Input's and hidden biases of each direction one after the other. */
static const char *gates_biases(onnx_out *o, const recurrent *r, const recurrent_set *s) {
    const tensor *from[4];
    int64_t sizes[] = {r->dirs, 2 * s->b[0]->sizes[0]};
    for (int d = 0; d < r->dirs; d++) {
        from[2 * d] = s[d].b[0];
        from[2 * d + 1] = s[d].b[1];
    }
    tensor *t = gates_stack(o, r->gates, 2 * r->dirs, from, 2, sizes);
    return t ? out_tensor(o, t) : NULL;
}

/* ---- the layers ------------------------------------------------------------------------------ */

/* Rows [layer * dirs, (layer + 1) * dirs) of a state. */
static const char *recurrent_state(onnx_out *o, const char *h, int layer, int dirs, int layers) {
    int64_t from = (int64_t)layer * dirs, to = from + dirs, zero = 0;
    if (layers == 1 || !h) return h;
    return OUT(o, "Slice", h, out_const_ints(o, 1, &from), out_const_ints(o, 1, &to),
               out_const_ints(o, 1, &zero));
}

bool out_op_recurrent(out_call *c, const char *text) {
    static const int64_t first_two[] = {1, 0, 2}, steps[] = {0, 2, 1, 3};
    onnx_out *o = c->o;
    bool lstm = *text == 'L', gru = *text == 'G', relu = strchr(text, ' ') != NULL, train, both,
         batch_first;
    recurrent r = {.gates = lstm ? 4 : gru ? 3 : 1};
    int64_t layers;
    char type[8];
    if (!strstr(c->key, ".input")) return out_refuse(o, "of packed sequences");
    if (!out_arg_bool(c, 3, &r.biases) || !out_arg_int(c, 4, &layers) ||
        !out_arg_bool(c, 6, &train) || !out_arg_bool(c, 7, &both) ||
        !out_arg_bool(c, 8, &batch_first))
        return false;
    if (out_is_dynamic(c->args[2])) return out_refuse(o, "weights that are not constants");
    const list *params = c->args[2]->v[0].u.list;
    int dirs = r.dirs = both ? 2 : 1;
    if (out_t(c, 0)->ndim != 3 || train)
        return out_refuse(o, "without a batch, or in training mode");
    if (layers < 1 || layers > RECURRENT_LAYERS) return out_refuse(o, "this number of layers");
    size_t sets = (size_t)layers * (size_t)dirs;
    if (!(r.sets = arena_array(&o->scratch, recurrent_set, sets))) return out_no_memory(o);
    if (!(params->kind == LIST_TENSOR ? sets_of_tensors(o, &r, params, sets)
                                      : sets_of_cells(o, &r, params, sets)))
        return false;
    memcpy(type, text, strcspn(text, " "));
    type[strcspn(text, " ")] = '\0';
    const char *x = out_arg(c, 0), *h, *cell = NULL, *hs[RECURRENT_LAYERS], *cs[RECURRENT_LAYERS];
    out_value *hx = c->args[1];
    if (lstm && hx->items) {
        h = out_name(o, hx->items[0]);
        cell = h ? out_name(o, hx->items[1]) : NULL;
    } else if (lstm) {
        h = out_tensor(o, hx->v[0].u.list->u.tensors[0]);
        cell = h ? out_tensor(o, hx->v[0].u.list->u.tensors[1]) : NULL;
    } else {
        h = out_name(o, hx);
    }
    if (!x || !h || (lstm && !cell)) return false;
    if (batch_first) {
        x = OUT(o, "Transpose", x);
        out_ints(o, "perm", 3, first_two);
    }
    int64_t hidden = r.sets[0].w[1]->sizes[1], flat[] = {0, 0, dirs * hidden};
    for (int l = 0; x && l < layers; l++) {
        const recurrent_set *set = r.sets + l * dirs;
        const char *in[7], *out[3];
        in[0] = x;
        in[1] = gates_weight(o, &r, set, 0);
        in[2] = gates_weight(o, &r, set, 1);
        in[3] = r.biases ? gates_biases(o, &r, set) : "";
        in[4] = "";
        in[5] = recurrent_state(o, h, l, dirs, (int)layers);
        in[6] = lstm ? recurrent_state(o, cell, l, dirs, (int)layers) : "";
        for (int i = 0; i < 7; i++)
            if (!in[i]) return out_no_memory(o);
        if (!out_nodes(o, type, lstm ? 7 : 6, in, lstm ? 3 : 2, out)) return false;
        out_int(o, "hidden_size", hidden);
        out_text(o, "direction", both ? "bidirectional" : "forward");
        if (gru) out_int(o, "linear_before_reset", 1);
        if (relu) return out_refuse(o, "of relu");
        hs[l] = out[1];
        cs[l] = out[2];
        /* [steps, dirs, batch, hidden] */
        x = OUT(o, "Transpose", out[0]);
        out_ints(o, "perm", 4, steps);
        x = x ? OUT(o, "Reshape", x, out_const_ints(o, 3, flat)) : NULL;
    }
    if (x && batch_first) {
        x = OUT(o, "Transpose", x);
        out_ints(o, "perm", 3, first_two);
    }
    const char *hn = layers == 1 ? hs[0] : out_node(o, "Concat", (int)layers, hs);
    if (layers > 1) out_int(o, "axis", 0);
    if (!out_set(c, 0, x) || !out_set(c, 1, hn)) return false;
    if (!lstm) return true;
    const char *cn = layers == 1 ? cs[0] : out_node(o, "Concat", (int)layers, cs);
    if (layers > 1) out_int(o, "axis", 0);
    return out_set(c, 2, cn);
}
