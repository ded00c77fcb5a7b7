/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_composed.c - steps that single operators chosen at random hardly come to: einsum, whose
 * arguments agree in ways that no schema tells; numbers that are computed as tensors, as in traces;
 * much that broadcasting makes of little, and reads several times (passes/fusion/recompute.c);
 * attention, written out (passes/fusion/fuse_attention.c).
 */
#include "gen.h"

#include <math.h>

/* ---- einsum ---------------------------------------------------------------------------------- */

enum { EINSUM_LETTERS = 10, EINSUM_OPERANDS = 3, EINSUM_DIMS = 4, EINSUM_WORK = 20000 };

typedef struct einsum {
    gen *G;
    const tensor *first;
    int nletters;
    int64_t sizes[EINSUM_LETTERS]; /* of each letter */
    char equation[64];
    size_t len;
} einsum;

static bool einsum_operand(gen *G, ir_value *v, void *ctx) {
    const einsum *e = ctx;
    const tensor *t = gen_tensor(G, v);
    return t->ndim <= EINSUM_DIMS && (t->ndim || rng_chance(&G->r, 10)) &&
           (!e->first || t->dtype == e->first->dtype);
}

/* A letter for a dim of this size: one that others have, too, or a new one; -1: there are too many.
 * taken: those of the operand's other dims. */
static int einsum_letter(einsum *e, int64_t size, unsigned taken) {
    rng *r = &e->G->r;
    int at = e->nletters ? (int)(rng_next(r) % (uint64_t)e->nletters) : 0;
    for (int i = 0; i < e->nletters && rng_chance(r, 85); i++) {
        int k = (at + i) % e->nletters;
        bool fits = e->sizes[k] == size || (size == 1 && rng_chance(r, 30));
        if (fits && (!(taken >> k & 1) || (e->sizes[k] == size && rng_chance(r, 8)))) return k;
    }
    if (e->nletters == EINSUM_LETTERS) return -1;
    e->sizes[e->nletters] = size;
    return e->nletters++;
}

static bool einsum_subscripts(einsum *e, const tensor *t) {
    unsigned taken = 0;
    for (int i = 0; i < t->ndim; i++) {
        int k = einsum_letter(e, t->sizes[i], taken);
        if (k < 0) return false;
        taken |= 1u << k;
        e->equation[e->len++] = (char)('a' + k);
    }
    return true;
}

/* Some of the letters, in any order. */
static void einsum_result(einsum *e) {
    rng *r = &e->G->r;
    int order[EINSUM_LETTERS];
    for (int i = 0; i < e->nletters; i++) order[i] = i;
    for (int i = e->nletters - 1; i > 0; i--) {
        int k = (int)(rng_next(r) % (uint64_t)(i + 1)), x = order[i];
        order[i] = order[k];
        order[k] = x;
    }
    e->equation[e->len++] = '-';
    e->equation[e->len++] = '>';
    for (int i = 0; i < e->nletters; i++)
        if (rng_chance(r, 65)) e->equation[e->len++] = (char)('a' + order[i]);
}

bool gen_einsum(gen *G) {
    einsum e = {.G = G};
    ir_value *items[EINSUM_OPERANDS];
    gen_mark m = gen_mark_here(G);
    int n = (int)rng_range(&G->r, 1, EINSUM_OPERANDS);
    double work = 1;
    for (int i = 0; i < n; i++) {
        if (!(items[i] = gen_pick(G, TYPE_TENSOR, einsum_operand, &e))) return false;
        if (!e.first) e.first = gen_tensor(G, items[i]);
        if (i) e.equation[e.len++] = ',';
        if (!einsum_subscripts(&e, gen_tensor(G, items[i]))) return false;
    }
    for (int i = 0; i < e.nletters; i++) work *= (double)e.sizes[i];
    if (work > EINSUM_WORK) return false;
    if (rng_chance(&G->r, 90)) einsum_result(&e);
    ir_value *equation = gen_constant(G, value_str_take(str_new(e.equation, e.len)), TYPE_STR);
    if (gen_emit(G, "aten::einsum", true, 2, equation, gen_list(G, TYPE_TENSOR, n, items)))
        return true;
    gen_undo(G, m);
    return false;
}

/* ---- numbers as tensors ---------------------------------------------------------------------- */

/* Any int, or a tensor's size, as a 0-dim tensor. */
static ir_value *number_tensor(gen *G) {
    ir_value *v = NULL, *t = rng_chance(&G->r, 50) ? gen_pick_tensor(G) : NULL;
    int n = t ? gen_tensor(G, t)->ndim : 0;
    if (n) v = gen_emit(G, "aten::size.int", false, 2, t, gen_int(G, rng_range(&G->r, -n, n - 1)));
    else if (rng_chance(&G->r, 50)) v = gen_pick(G, TYPE_INT, NULL, NULL);
    if (!v) v = gen_int(G, rng_range(&G->r, -2, 5));
    return gen_emit(G, "prim::NumToTensor.Scalar", false, 1, v);
}

static ir_value *number_step(gen *G, ir_value *t) {
    static const char *const keys[] = {"aten::add.Tensor",       "aten::sub.Tensor",
                                       "aten::mul.Tensor",       "aten::floor_divide",
                                       "aten::remainder.Tensor", "aten::div.Tensor"};
    ir_value *other = number_tensor(G);
    const char *key = keys[rng_next(&G->r) % (sizeof keys / sizeof *keys)];
    bool turned = rng_chance(&G->r, 30);
    return gen_emit(G, key, rng_chance(&G->r, 10), 2, turned ? other : t, turned ? t : other);
}

bool gen_number_tensor(gen *G) {
    gen_mark m = gen_mark_here(G);
    ir_value *t = number_tensor(G);
    for (int i = (int)rng_range(&G->r, 0, 3); t && i > 0; i--) t = number_step(G, t);
    const char *key = rng_chance(&G->r, 85) ? "aten::Int.Tensor" : "aten::Float.Tensor";
    if (t && gen_emit(G, key, true, 1, t)) return true;
    gen_undo(G, m);
    return false;
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

static bool broadcast_operand(gen *G, ir_value *v, void *ctx) {
    const tensor *t = gen_tensor(G, v);
    (void)ctx;
    return t->ndim >= 1 && t->ndim <= 3 && t->numel >= 3 && t->numel <= GEN_MAX_NUMEL / 5;
}

static ir_value *broadcast_reader(gen *G, ir_value *v) {
    static const char *const unary[] = {"aten::neg", "aten::relu", "aten::square", "aten::tanh",
                                        "aten::sign"},
                             *const binary[] = {"aten::mul.Tensor", "aten::add.Tensor",
                                                "aten::maximum", "aten::lt.Tensor"};
    if (rng_chance(&G->r, 40))
        return gen_emit(G, unary[rng_next(&G->r) % (sizeof unary / sizeof *unary)], true, 1, v);
    ir_value *other = rng_chance(&G->r, 50) ? v : gen_pick(G, TYPE_TENSOR, NULL, NULL);
    const char *key = binary[rng_next(&G->r) % (sizeof binary / sizeof *binary)];
    return gen_emit(G, key, true, 2, v, other);
}

/* [..., 1] and [k], one operation, and two readers or more with other things between them. */
bool gen_broadcast(gen *G) {
    static const char *const keys[] = {"aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor",
                                       "aten::mul.Tensor", "aten::ge.Tensor"};
    gen_mark m = gen_mark_here(G);
    ir_value *x = gen_pick(G, TYPE_TENSOR, broadcast_operand, NULL);
    if (!x) return false;
    const tensor *t = gen_tensor(G, x);
    int64_t k = rng_range(&G->r, 4, 17);
    if (k * t->numel > GEN_MAX_NUMEL) k = GEN_MAX_NUMEL / t->numel;
    dtype dt = rng_chance(&G->r, 80) ? (dtype)t->dtype : gen_dtype(&G->r);
    int style = (int)(rng_next(&G->r) % STYLE_COUNT);
    ir_value *many = gen_emit(G, "aten::unsqueeze", false, 2, x, gen_int(G, -1)),
             *few = gen_tensor_constant(G, dt, rng_chance(&G->r, 90), &k, style);
    bool turned = rng_chance(&G->r, 30);
    const char *key = keys[rng_next(&G->r) % (sizeof keys / sizeof *keys)];
    ir_value *v = gen_emit(G, key, true, 2, turned ? few : many, turned ? many : few);
    int readers = 0;
    for (int i = 0; v && i < 3 && !G->finished; i++) {
        readers += broadcast_reader(G, v) != NULL;
        if (rng_chance(&G->r, 60)) gen_operator(G);
    }
    if (readers || G->finished) return true;
    gen_undo(G, m);
    return false;
}

/* ---- attention ------------------------------------------------------------------------------- */

static bool attention_operand(gen *G, ir_value *v, void *ctx) {
    const tensor *t = gen_tensor(G, v);
    (void)ctx;
    return t->ndim >= 2 && dtype_is_float((dtype)t->dtype) && t->numel > 0 &&
           t->numel <= GEN_MAX_NUMEL / 4;
}

/* A number, or as a trace has it. */
static ir_value *attention_scale(gen *G, ir_value *q) {
    if (rng_chance(&G->r, 60)) return gen_float(G, (double)rng_range(&G->r, 1, 12) / 4);
    ir_value *n = gen_emit(G, "aten::size.int", false, 2, q, gen_int(G, -1)),
             *t = gen_emit(G, "prim::NumToTensor.Scalar", false, 1, n);
    return gen_emit(G, "aten::pow.Tensor_Scalar", false, 2, t, gen_float(G, 0.5));
}

static ir_value *attention_scaled(gen *G, ir_value *scores, ir_value *q) {
    ir_value *by = attention_scale(G, q);
    bool tensor = by && by->type->kind == T_TENSOR, divide = rng_chance(&G->r, 50);
    return gen_emit(G,
                    tensor ? (divide ? "aten::div.Tensor" : "aten::mul.Tensor")
                           : (divide ? "aten::div.Scalar" : "aten::mul.Scalar"),
                    false, 2, scores, by);
}

/* Elements after the diagonal, after a number, or anywhere. */
static ir_value *attention_hidden(gen *G, ir_value *scores) {
    ir_value *ones = gen_emit(G, "aten::ones_like", false, 2, scores, gen_int(G, DT_BOOL));
    switch (rng_next(&G->r) % 3) {
    case 0: return gen_emit(G, "aten::triu", false, 2, ones, gen_int(G, rng_range(&G->r, -2, 3)));
    case 1: return gen_emit(G, "aten::gt.Scalar", false, 2, scores, gen_float(G, 0.5));
    default: return gen_pick(G, TYPE_TENSOR, NULL, NULL);
    }
}

/* softmax(q k' scaled, biased, filled where hidden) v, some of it missing. */
bool gen_attention(gen *G) {
    static const double fills[] = {-INFINITY, -1e9, -30, 1};
    gen_mark m = gen_mark_here(G);
    rng *r = &G->r;
    ir_value *q = gen_pick(G, TYPE_TENSOR, attention_operand, NULL), *k = q, *v = q;
    if (rng_chance(r, 40)) k = gen_emit(G, "aten::neg", false, 1, q);
    if (rng_chance(r, 40)) v = gen_emit(G, "aten::tanh", false, 1, q);
    ir_value *t = gen_emit(G, "aten::transpose.int", false, 3, k, gen_int(G, -2), gen_int(G, -1)),
             *s = gen_emit(G, "aten::matmul", rng_chance(r, 10), 2, q, t);
    if (rng_chance(r, 70)) s = attention_scaled(G, s, q);
    if (rng_chance(r, 30))
        s = gen_emit(G, "aten::add.Tensor", false, 3, s, gen_pick_tensor(G), gen_int(G, 1));
    if (s && rng_chance(r, 50))
        s = gen_emit(G, "aten::masked_fill.Scalar", false, 3, s, attention_hidden(G, s),
                     gen_float(G, fills[rng_next(r) % (sizeof fills / sizeof *fills)]));
    s = gen_emit(G, "aten::softmax.int", rng_chance(r, 10), 2, s, gen_int(G, -1));
    if (gen_emit(G, "aten::matmul", true, 2, s, v)) return true;
    gen_undo(G, m);
    return false;
}
