/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise_table.c - functions of one element between conversions, as tables (quantise.h).
 *
 * Method. The operators from a quantisation back to dequantised integers of one tensor are run, in
 * float, on the 256 numbers that these can be; what comes out is quantised, and is the table. So
 * silu, gelu in its many spellings, hard swish, sums with numbers and another scale alone need no
 * rules, and are what operators on floats come to. What went through a table before is looked up in
 * it first: functions of functions, and products of a tensor with a function of it, are one table
 * of the first tensor.
 */
#include "passes/quantise/quantise.h"

#include "ir/graph/fusible.h"

#include <math.h>

enum { TABLE_SIZE = 256, TABLE_NODES = 32, TABLE_ARGS = 8 };

typedef struct table_walk {
    ir_value *source; /* of quint8; NULL: none was met yet */
    const ir_value *known[TABLE_NODES];
    value values[TABLE_NODES];
    int n;
} table_walk;

/* The real value of t for each integer of the tensor *source that t is a function of. */
static tensor *table_numbers(const ir_value *t, const quantise_affine *a, ir_value **source) {
    diag d = {0};
    int64_t size = TABLE_SIZE;
    tensor *numbers = NULL, *table = NULL;
    const node *n = t->def;
    *source = (ir_value *)(uintptr_t)t;
    if (n && node_is_overload(n, SYM_CTSC_QUANTISED_TABLE) &&
        known_tensor(n->inputs.data[1], &table))
        *source = n->inputs.data[0];
    if (tensor_new(&d, DT_FLOAT32, 1, &size, &numbers) != CTSC_OK) numbers = NULL;
    diag_clear(&d);
    for (int64_t i = 0; numbers && i < TABLE_SIZE; i++) {
        int64_t q = table ? TENSOR_AT(table, uint8_t)[i] : i;
        TENSOR_AT(numbers, float)[i] = (float)(q - a->zero) * (float)a->scale;
    }
    return numbers;
}

/* Dequantised integers; false: of others than those met before. */
static bool table_leaf(table_walk *w, const ir_value *t, const quantise_affine *a, value *out) {
    ir_value *source;
    tensor *numbers = table_numbers(t, a, &source);
    if (!w->source) w->source = source;
    if (!numbers || w->source != source) return tensor_unref(numbers), false;
    *out = value_tensor_take(numbers);
    return true;
}

static bool table_eval(table_walk *w, const ir_value *v, value *out);

static bool table_node(table_walk *w, const node *n, value *out) {
    value args[TABLE_ARGS];
    size_t have = 0;
    if (n->kind != N_OP || n->inputs.len > TABLE_ARGS || n->outputs.len != 1 ||
        (int)n->inputs.len != n->op->schema->nargs || fusible_node(n) != FUSIBLE_POINTWISE ||
        !op_is_pure(n->op) || w->n == TABLE_NODES)
        return false;
    while (have < n->inputs.len && table_eval(w, n->inputs.data[have], &args[have])) have++;
    *out = value_none();
    if (have == n->inputs.len) *out = quantise_run(n->op->key, (int)have, args);
    while (have) value_unref(args[--have]);
    if (out->tag != V_TENSOR || out->u.tensor->ndim != 1 || w->n == TABLE_NODES) {
        value_unref(*out);
        return false;
    }
    w->known[w->n] = n->outputs.data[0];
    w->values[w->n++] = value_ref(*out);
    return true;
}

/* v for each of the numbers, or what it is whatever they are. A new reference. */
static bool table_eval(table_walk *w, const ir_value *v, value *out) {
    quantise_affine a;
    value c;
    for (int i = 0; i < w->n; i++)
        if (w->known[i] == v) return *out = value_ref(w->values[i]), true;
    if (ir_value_constant(v, &c)) {
        if (c.tag == V_OBJECT ||
            (c.tag == V_TENSOR && (c.u.tensor->numel != 1 || c.u.tensor->ndim > 1)))
            return false;
        return *out = value_ref(c), true;
    }
    ir_value *source = quantise_source(v, &a);
    if (source) return table_leaf(w, source, &a, out);
    return v->def && table_node(w, v->def, out);
}

static ir_value *table_make(const table_walk *w, const tensor *y, const quantise_target *to) {
    diag d = {0};
    int64_t size = TABLE_SIZE;
    tensor *table;
    ctsc_status s = tensor_new(&d, DT_UINT8, 1, &size, &table);
    diag_clear(&d);
    if (s != CTSC_OK) return NULL;
    for (int i = 0; i < TABLE_SIZE; i++)
        TENSOR_AT(table, uint8_t)[i] = (uint8_t)quantise_number(to, TENSOR_AT(y, float)[i]);
    ir_value *args[] = {w->source,
                        graph_constant_before_take(to->at, value_tensor_take(table), NULL)};
    return args[1] ? quantise_op(to, "ctsc::quantised_table", 2, args, false) : NULL;
}

ir_value *quantise_table(const ir_value *v, const quantise_target *to) {
    table_walk w = {0};
    value y;
    ir_value *made = NULL;
    if (table_eval(&w, v, &y)) {
        const tensor *t = y.tag == V_TENSOR ? y.u.tensor : NULL;
        if (w.source && t && t->dtype == DT_FLOAT32 && t->numel == TABLE_SIZE &&
            tensor_is_contiguous(t))
            made = table_make(&w, t, to);
        value_unref(y);
    }
    while (w.n) value_unref(w.values[--w.n]);
    return made;
}
