/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise_fake.c - fake_quantize of constant parameters, as networks trained for quantisation have
 * it, is a quantisation and a dequantisation (quantise.h).
 *
 *     %y : Tensor = aten::fake_quantize_per_tensor_affine(%x, %scale, %zero, %lo, %hi)
 *
 *     ->  %q : Tensor = quantized_decomposed::quantize_per_tensor(%x, %scale, %zero, %lo, %hi, %type)
 *         %y : Tensor = quantized_decomposed::dequantize_per_tensor(%q, %scale, %zero, %lo, %hi, %type, None)
 *
 * fake_quantize keeps its input's dtype, the other two know float32 alone: it has to be known, or a
 * product of what becomes of the result with a float32 tensor would refuse anything else. Which are
 * rewritten is decided before any of them is, since what is known goes through them.
 */
#include "passes/quantise/quantise.h"

enum { FAKE_DEPTH = 4 };

/* Does a product with float32 follow? */
static bool fake_meets_float32(const ir_value *v, int depth) {
    for (size_t i = 0; i < v->uses.len && depth; i++) {
        const node *n = v->uses.data[i].user;
        if (!n || n->kind != N_OP || !n->op || n->outputs.len != 1) continue;
        if (n->op->traits.script_cast == SCRIPT_CAST_LOWER && !n->op->traits.composite) {
            if (known_dtype(n->outputs.data[0]) == DT_FLOAT32) return true;
        } else if ((n->op->traits.dtype_same || n->op->traits.floats_same) &&
                   v->uses.data[i].index == 0 &&
                   fake_meets_float32(n->outputs.data[0], depth - 1)) {
            return true;
        }
    }
    return false;
}

/* The dtype that holds all integers from lo to hi; -1: none that the pass knows. */
static int fake_dtype(const ir_value *lo_value, const ir_value *hi_value) {
    int64_t lo, hi;
    if (!known_int(lo_value, &lo) || !known_int(hi_value, &hi) || lo > hi) return -1;
    if (lo >= 0 && hi <= UINT8_MAX) return DT_UINT8;
    return lo >= INT8_MIN && hi <= INT8_MAX ? DT_INT8 : -1;
}

/* A constant tensor of one element as a number; NULL: it is none. */
static ir_value *fake_number(node *n, const ir_value *v, bool whole) {
    tensor *t;
    if (!known_tensor(v, &t) || t->numel != 1 || tensor_device(t) != DEVICE_HOST) return NULL;
    if (whole) return dtype_is_int((dtype)t->dtype) ? rewrite_int(n, tensor_item_int(t)) : NULL;
    return t->dtype == DT_FLOAT32
               ? graph_constant_before_take(n, value_float((double)*(float *)tensor_data(t)),
                                            TYPE_FLOAT)
               : NULL;
}

static bool fake_may(const node *n) {
    return n->kind == N_OP && n->op && n->outputs.len == 1 &&
           (known_dtype(n->inputs.data[0]) == DT_FLOAT32 ||
            fake_meets_float32(n->outputs.data[0], FAKE_DEPTH));
}

static bool fake_rewrite(node *n) {
    enum { X, SCALE, ZERO, REST };
    bool channels = node_is_overload(n, SYM_FAKE_QUANTIZE_PER_CHANNEL_AFFINE),
         tensors = node_is_overload(n, SYM_FAKE_QUANTIZE_PER_TENSOR_AFFINE_TENSOR_QPARAMS);
    ir_value *const *in = n->inputs.data, *args[8];
    tensor *known;
    value number;
    int rest = (int)n->inputs.len - REST, count = REST,
        dt = fake_dtype(in[n->inputs.len - 2], in[n->inputs.len - 1]);
    args[X] = in[X];
    args[SCALE] = tensors ? fake_number(n, in[SCALE], false) : in[SCALE];
    args[ZERO] = tensors ? fake_number(n, in[ZERO], true) : in[ZERO];
    bool known_all = channels
                         ? known_tensor(in[SCALE], &known) && known_tensor(in[ZERO], &known)
                         : args[SCALE] && args[ZERO] && ir_value_constant(args[SCALE], &number) &&
                               ir_value_constant(args[ZERO], &number);
    if (!known_all || dt < 0) return false;
    for (int i = 0; i < rest; i++) args[count++] = in[REST + i];
    args[count++] = rewrite_int(n, dt);
    op_symbol to_ints = channels ? SYM_QUANTIZED_DECOMPOSED_QUANTIZE_PER_CHANNEL
                                 : SYM_QUANTIZED_DECOMPOSED_QUANTIZE_PER_TENSOR,
              back = channels ? SYM_QUANTIZED_DECOMPOSED_DEQUANTIZE_PER_CHANNEL
                              : SYM_QUANTIZED_DECOMPOSED_DEQUANTIZE_PER_TENSOR;
    ir_value *q = rewrite_op(n, op_of(to_ints), count, args);
    args[X] = q;
    args[count++] = rewrite_none(n);
    ir_value *y = q ? rewrite_op(n, op_of(back), count, args) : NULL;
    if (y) rewrite_result(n, y);
    return y != NULL;
}

/* Scales and zero points of averages that are constants: n becomes one. */
static bool fake_parameters(node *n) {
    enum { ARGS = 5 };
    value args[ARGS];
    if (!node_is_overload(n, SYM_CTSC_FAKE_SCALE) && !node_is_overload(n, SYM_CTSC_FAKE_ZERO))
        return false;
    for (int i = 0; i < ARGS; i++)
        if (!ir_value_constant(n->inputs.data[i], &args[i])) return false;
    value made = quantise_run(n->op->key, ARGS, args);
    if (made.tag != V_TENSOR) return false;
    rewrite_result(n, graph_constant_before_take(n, made, NULL));
    return true;
}

typedef struct fake_nodes {
    graph *g;
    VEC(node *) found;
} fake_nodes;

static void fake_find(fake_nodes *f, block *b) {
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) fake_find(f, n->blocks.data[i]);
        if (fake_parameters(n)) continue;
        bool fake = node_is_overload(n, SYM_FAKE_QUANTIZE_PER_TENSOR_AFFINE) ||
                    node_is_overload(n, SYM_FAKE_QUANTIZE_PER_TENSOR_AFFINE_TENSOR_QPARAMS) ||
                    node_is_overload(n, SYM_FAKE_QUANTIZE_PER_CHANNEL_AFFINE);
        if (fake && fake_may(n)) f->g->arena.failed |= !vec_push(&f->found, n);
    }
}

bool quantise_fakes(graph *g) {
    fake_nodes f = {.g = g};
    bool changed = false;
    fake_find(&f, g->root);
    for (size_t i = 0; i < f.found.len && !arena_failed(&g->arena); i++)
        changed |= fake_rewrite(f.found.data[i]);
    vec_free(&f.found);
    return changed;
}
