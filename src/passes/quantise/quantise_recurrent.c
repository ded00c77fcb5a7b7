/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise_recurrent.c - recurrent layers and cells, and bags of embeddings, on integers
 * (quantise_insert.h).
 *
 *     %y, %h, %c = aten::lstm(%x, %state, %parameters, ...)
 *
 *     ->  %y, %h, %c = aten::quantized_lstm(%x, %state, %packed, ...)          dynamic
 *         %y, %h, %c = aten::lstm(%x, %state, %parameters', ...)               weights
 *
 * %packed is a list of CellParamsBase, one of each layer and direction, as PyTorch's
 * quantize_dynamic makes them; single cells take two LinearPackedParamsBase. %parameters' are
 * floats made of constant integers. The matrices of a layer are its parts; each is quantised as
 * the weight of a linear layer would be.
 *
 * What PyTorch has no operator for stays float, with that reason: dynamic layers rnn_tanh and
 * rnn_relu, and projections (proj_size).
 * Tests: tests/cli/quantize_recurrent.test, tests/unit/test_ptq.c, tests/onnx/quantize.py
 */
#include "passes/pass/rewrite.h"
#include "passes/quantise/quantise_insert.h"
#include "tensor/device.h"

#include <string.h>

enum { RECURRENT_ARGS = 16 };

typedef struct recurrent_row {
    op_symbol op;
    const char *kind, *dynamic; /* the operator on packed weights; NULL: there is none */
    int params;                 /* which argument: a list, or the first of a cell's four */
    int gates;
    bool cell;
} recurrent_row;

static const recurrent_row recurrent_rows[] = {
    {SYM_LSTM_INPUT, "lstm", "aten::quantized_lstm.input", 2, 4, false},
    {SYM_LSTM_DATA, "lstm", "aten::quantized_lstm.data", 3, 4, false},
    {SYM_GRU_INPUT, "gru", "aten::quantized_gru.input", 2, 3, false},
    {SYM_GRU_DATA, "gru", "aten::quantized_gru.data", 3, 3, false},
    {SYM_RNN_TANH_INPUT, "rnn_tanh", NULL, 2, 1, false},
    {SYM_RNN_TANH_DATA, "rnn_tanh", NULL, 3, 1, false},
    {SYM_RNN_RELU_INPUT, "rnn_relu", NULL, 2, 1, false},
    {SYM_RNN_RELU_DATA, "rnn_relu", NULL, 3, 1, false},
    {SYM_LSTM_CELL, "lstm_cell", "quantized::quantized_lstm_cell_dynamic", 2, 4, true},
    {SYM_GRU_CELL, "gru_cell", "quantized::quantized_gru_cell_dynamic", 2, 3, true},
    {SYM_RNN_TANH_CELL, "rnn_tanh_cell", "quantized::quantized_rnn_tanh_cell_dynamic", 2, 1, true},
    {SYM_RNN_RELU_CELL, "rnn_relu_cell", "quantized::quantized_rnn_relu_cell_dynamic", 2, 1, true},
};

static const recurrent_row *recurrent_row_of(const node *n) {
    for (size_t i = 0; i < sizeof recurrent_rows / sizeof *recurrent_rows; i++)
        if (n->op->symbol == recurrent_rows[i].op) return &recurrent_rows[i];
    return NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool part_is_float(const ir_value *v, tensor **t) {
    return known_tensor(v, t) && (*t)->dtype == DT_FLOAT32 && tensor_device(*t) == DEVICE_HOST &&
           (*t)->ndim >= 1 && (*t)->ndim <= 2 && (*t)->numel;
}

bool quantise_recurrent_of(node *n, quantise_layer *l) {
    const recurrent_row *row = recurrent_row_of(n);
    tensor *t;
    if (!row) return false;
    if (row->cell) {
        l->parts = n->inputs.data + row->params;
        l->nparts = 4;
    } else {
        node *list = known_fixed_list(n->inputs.data[row->params]);
        if (!list || !list->inputs.len) return false;
        l->parts = list->inputs.data;
        l->nparts = list->inputs.len;
    }
    for (size_t i = 0; i < l->nparts; i++)
        if (!(part_is_float(l->parts[i], &t) ||
              (row->cell && i >= 2 && known_is_none(l->parts[i]))))
            return false;
    l->n = n;
    l->kind = row->kind;
    l->x = n->inputs.data[0];
    l->weight = l->parts[0];
    return known_tensor(l->weight, &l->w) && l->w->ndim == 2;
}

bool quantise_part(const quantise_layer *l, size_t i, quantise_layer *part) {
    *part = (quantise_layer){.n = l->n, .kind = l->kind, .x = l->x, .weight = l->parts[i]};
    return known_tensor(l->parts[i], &part->w) && part->w->ndim == 2;
}

/* How many parts one layer and direction has; projections: a fifth, or a third without biases. */
static size_t recurrent_set(const quantise_layer *l, bool *projects) {
    const recurrent_row *row = recurrent_row_of(l->n);
    bool biases = true;
    if (row->cell) return *projects = false, 4;
    known_bool(l->n->inputs.data[row->params + 1], &biases);
    tensor *hidden;
    *projects = l->nparts > 1 && known_tensor(l->parts[1], &hidden) && hidden->ndim == 2 &&
                hidden->sizes[1] * row->gates != hidden->sizes[0];
    return (biases ? 4u : 2u) + *projects;
}

const char *quantise_unfit(const quantise_layer *l, quantise_style style,
                           const quantise_weights *how) {
    static const char kind[] = "its kind";
    bool projects;
    if (!l->parts) return NULL;
    if (style == QUANTISE_WEIGHTS) return how->bits == 8 ? NULL : kind;
    return recurrent_row_of(l->n)->dynamic && (recurrent_set(l, &projects), !projects) ? NULL
                                                                                       : kind;
}

/* ---- dynamic --------------------------------------------------------------------------------- */

/* A bias as it is, or zeros. */
static value recurrent_bias(const quantise_layer *matrix, const ir_value *bias) {
    tensor *t = NULL;
    value v;
    if (bias && ir_value_constant(bias, &v) && v.tag == V_TENSOR)
        return tensor_contiguous(NULL, v.u.tensor, &t) == CTSC_OK ? value_tensor_take(t)
                                                                  : value_none();
    return tensor_zeros(NULL, DT_FLOAT32, 1, &matrix->w->sizes[0], &t) == CTSC_OK
               ? value_tensor_take(t)
               : value_none();
}

enum { SET_IH, SET_HH, SET_BIAS_IH, SET_BIAS_HH, SET };

static void set_free(value *set) {
    for (int i = 0; i < SET; i++) value_unref(set[i]);
}

/* Packed matrices and biases of the set whose parts begin at `at`; false: they cannot be made. */
static bool set_pack(const quantise_layer *l, size_t at, size_t each, bool per_tensor, value *set) {
    bool ok = true;
    memset(set, 0, SET * sizeof *set);
    for (size_t i = 0; i < 2; i++) {
        quantise_layer part;
        ir_value *bias = each == 4 ? l->parts[at + 2 + i] : NULL;
        bool is = quantise_part(l, at + i, &part);
        part.bias = bias && !known_is_none(bias) ? bias : NULL;
        set[SET_IH + i] = is ? quantise_layer_pack(&part, per_tensor) : value_none();
        set[SET_BIAS_IH + i] = is ? recurrent_bias(&part, part.bias) : value_none();
        ok = ok && set[SET_IH + i].tag == V_OBJECT && set[SET_BIAS_IH + i].tag == V_TENSOR;
    }
    return ok;
}

/* What replaces the parameters: packed[0 .. *count). A cell's are its set. */
static bool recurrent_pack(const quantise_layer *l, const quantise_plan *p, value *packed,
                           size_t *count) {
    const recurrent_row *row = recurrent_row_of(l->n);
    bool projects, ok = true;
    size_t each = recurrent_set(l, &projects);
    *count = 0;
    if (l->nparts % each || projects) return false;
    if (row->cell) return *count = SET, set_pack(l, 0, each, p->weights.per_tensor, packed);
    for (size_t at = 0; ok && at < l->nparts; at += each) {
        value set[SET + 1];
        ok = set_pack(l, at, each, p->weights.per_tensor, set);
        set[SET] = value_bool(p->reduce_range);
        value cell = ok ? quantise_run("quantized::make_quantized_cell_params_dynamic", SET + 1,
                                       set)
                        : value_none();
        set_free(set);
        ok = cell.tag == V_OBJECT;
        packed[(*count)++] = cell;
    }
    return ok;
}

static size_t recurrent_room(const quantise_layer *l) { return l->nparts + SET; }

static void packed_free_all(value *packed, size_t count) {
    for (size_t i = 0; packed && i < count; i++) value_unref(packed[i]);
    mem_free(packed);
}

/* The results of n are those of `with`, which has as many. */
static void recurrent_replace(node *n, node *with) {
    for (size_t i = 0; i < n->outputs.len; i++) {
        ir_value *y = n->outputs.data[i], *z = with->outputs.data[i];
        z->scratch = y->scratch;
        rewrite_value(y, z);
    }
    node_remove(n);
}

static ir_value *recurrent_list(node *at, size_t n, ir_value *const *items) {
    node *l = node_new(at->g, N_LIST_CONSTRUCT, (int)n, items, 1);
    l->outputs.data[0]->type = type_list(items[0]->type);
    l->range = at->range;
    node_insert_before(l, at);
    return l->outputs.data[0];
}

/* The arguments of the operator on packed weights: n's own, with `given` at the parameters. */
static ir_value *recurrent_insert_op(const quantise_layer *l, ir_value *given) {
    const recurrent_row *row = recurrent_row_of(l->n);
    ir_value *args[RECURRENT_ARGS];
    int count = 0;
    for (size_t i = 0; i < l->n->inputs.len; i++) args[count++] = l->n->inputs.data[i];
    args[row->params] = given;
    args[row->params + 1] = rewrite_bool(l->n, true); /* packed weights always have biases */
    if (row->gates == 4) {                            /* dtype, use_dynamic */
        args[count++] = rewrite_int(l->n, DT_QINT8);
        args[count++] = rewrite_bool(l->n, true);
    }
    return rewrite_op(l->n, op_find(row->dynamic), count, args);
}

static bool recurrent_dynamic(const quantise_layer *l, const quantise_plan *p) {
    const recurrent_row *row = recurrent_row_of(l->n);
    size_t count = 0;
    value *packed = mem_zalloc(recurrent_room(l) * sizeof *packed);
    ir_value **made = mem_zalloc(recurrent_room(l) * sizeof *made), *y = NULL;
    bool ok = packed && made && recurrent_pack(l, p, packed, &count);
    for (size_t i = 0; ok && i < count; i++) {
        made[i] = graph_constant_before_take(l->n, packed[i],
                                             packed[i].tag == V_TENSOR ? TYPE_TENSOR : NULL);
        packed[i] = value_none();
        ok = made[i] != NULL;
    }
    if (ok && row->cell) {
        ir_value *args[] = {l->n->inputs.data[0], l->n->inputs.data[1], made[SET_IH],
                            made[SET_HH],         made[SET_BIAS_IH],    made[SET_BIAS_HH]};
        y = rewrite_op(l->n, op_find(row->dynamic), 6, args);
    } else if (ok) {
        y = recurrent_insert_op(l, recurrent_list(l->n, count, made));
    }
    packed_free_all(packed, count);
    mem_free(made);
    if (y) recurrent_replace(l->n, y->def);
    return y != NULL;
}

/* ---- weights --------------------------------------------------------------------------------- */

static bool recurrent_weights(const quantise_layer *l, const quantise_plan *p) {
    const recurrent_row *row = recurrent_row_of(l->n);
    ir_value **made = mem_zalloc(l->nparts * sizeof *made);
    bool ok = made != NULL;
    for (size_t i = 0; ok && i < l->nparts; i++) {
        quantise_layer part;
        made[i] = quantise_part(l, i, &part)
                      ? quantise_weight_value(&part, &p->weights, p->decomposed)
                      : l->parts[i];
        ok = made[i] != NULL;
    }
    if (ok && row->cell)
        for (size_t i = 0; i < l->nparts; i++) node_set_input(l->n, row->params + (int)i, made[i]);
    else if (ok) node_set_input(l->n, row->params, recurrent_list(l->n, l->nparts, made));
    mem_free(made);
    return ok;
}

bool quantise_recurrent(const quantise_layer *l, const quantise_plan *p) {
    if (quantise_unfit(l, p->style, &p->weights)) return false;
    return p->style == QUANTISE_DYNAMIC ? recurrent_dynamic(l, p) : recurrent_weights(l, p);
}

/* ---- the layer alone ------------------------------------------------------------------------- */

/* The parts as floats made of integers; false: they cannot be. */
static bool recurrent_round(const quantise_layer *l, const quantise_plan *p, value *made,
                            size_t *count) {
    for (*count = 0; *count < l->nparts; ++*count) {
        quantise_layer part;
        value v = value_none();
        bool matrix = quantise_part(l, *count, &part);
        tensor *t = matrix ? quantise_weight_rounded(&part, &p->weights) : NULL;
        if (matrix && !t) return false;
        if (t) v = value_tensor_take(t);
        else if (ir_value_constant(l->parts[*count], &v)) v = value_ref(v);
        made[*count] = v;
    }
    return true;
}

value quantise_recurrent_params(const quantise_layer *l, const quantise_plan *p) {
    size_t count = 0;
    value *made = mem_zalloc(recurrent_room(l) * sizeof *made);
    bool ok = made && !quantise_unfit(l, p->style, &p->weights) &&
              (p->style == QUANTISE_DYNAMIC ? recurrent_pack(l, p, made, &count)
                                            : recurrent_round(l, p, made, &count));
    bool tensors = ok && made[0].tag == V_TENSOR;
    type *elem = !ok ? NULL : tensors ? TYPE_TENSOR : made[0].u.object->cls;
    value out = value_none();
    if (ok && recurrent_row_of(l->n)->cell) {
        tuple *t = tuple_new(count, NULL);
        for (size_t i = 0; t && i < count; i++) t->items[i] = value_ref(made[i]);
        if (t) out = value_tuple_take(t);
    } else if (ok) {
        list *t = list_new(tensors ? LIST_TENSOR : LIST_VALUE, elem, count);
        if (t) out = value_list_take(t);
        for (size_t i = 0; t && i < count; i++)
            if (!list_append_take(t, value_ref(made[i]))) ok = false;
        if (!ok) value_set(&out, value_none());
    }
    packed_free_all(made, count);
    return out;
}

bool quantise_recurrent_run(const quantise_layer *l, quantise_style style, value params,
                            const value *inputs, value *results) {
    const recurrent_row *row = recurrent_row_of(l->n);
    bool dynamic = style == QUANTISE_DYNAMIC;
    const op *o = dynamic ? op_find(row->dynamic) : l->n->op;
    diag d = {0};
    value args[RECURRENT_ARGS];
    int n = (int)l->n->inputs.len;
    memcpy(args, inputs, (size_t)n * sizeof *args);
    if (row->cell) {
        memcpy(args + row->params, params.u.tuple->items, SET * sizeof *args);
    } else {
        args[row->params] = params;
        if (dynamic) args[row->params + 1] = value_bool(true);
        if (dynamic && row->gates == 4) {
            args[n++] = value_int(DT_QINT8);
            args[n++] = value_bool(true);
        }
    }
    op_ctx cx = {.diag = &d, .op = o, .nargs = n};
    bool ok = op_function(o, n, args)(&cx, args, results) == CTSC_OK;
    diag_clear(&d);
    return ok;
}
