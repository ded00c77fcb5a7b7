/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peephole_math.c - rules of arithmetic, on numbers and on tensors.
 *
 *     %y : Float(3) = aten::mul(%x, %one)      %x : Float(3)      after:  %x
 *     %y : Tensor = aten::pow(%x, %two)                           after:  aten::mul(%x, %x)
 *     %b : int = aten::add(%a, %c3)  %c : int = aten::add(%b, %c4)   after:  %c = aten::add(%a, %c7)
 *
 * A Python scalar leaves a tensor's dtype alone only within the dtype's class: 1 turns bools to
 * ints, 1.0 turns ints to floats. So the tensor's dtype has to be known. Adding 0 is left alone for
 * floats: -0.0 + 0 is 0.0.
 * Tests: tests/ir/peephole/math.ir, tests/ir/peephole/math-kept.ir
 */
#include "passes/peephole/peephole.h"

#include <math.h>

/* tensor x op scalar c has x's dtype. */
static bool math_keeps_dtype(const ir_value *x, const ir_value *c) {
    int dt = known_dtype(x);
    if (dt < 0) return false;
    if (c->type->kind == T_INT) return dtype_is_float((dtype)dt) || dtype_is_int((dtype)dt);
    return c->type->kind == T_FLOAT && dtype_is_float((dtype)dt);
}

/* n(x, c): x, if c changes neither type nor dtype. */
static ir_value *math_identity(peephole *p, const node *n, ir_value *x, const ir_value *c) {
    if (peephole_is_tensor(x)) return math_keeps_dtype(x, c) ? peephole_copy(p, n, x) : NULL;
    return x->type == n->outputs.data[0]->type &&
                   (x->type->kind == T_INT || x->type->kind == T_FLOAT)
               ? x
               : NULL;
}

static bool math_ints(const node *n) {
    return n->inputs.len >= 2 && n->outputs.data[0]->type->kind == T_INT &&
           n->inputs.data[0]->type->kind == T_INT && n->inputs.data[1]->type->kind == T_INT;
}

/* 0, 0.0, but not -0.0 */
static bool math_is_zero(const ir_value *v) {
    value c;
    return ir_value_constant(v, &c) &&
           ((c.tag == V_INT && c.u.i == 0) || (c.tag == V_FLOAT && c.u.f == 0 && !signbit(c.u.f)));
}

/* The third argument of add and sub of tensors. */
static bool math_alpha_is_one(const node *n) {
    int64_t alpha;
    return n->inputs.len < 3 || (known_int(n->inputs.data[2], &alpha) && alpha == 1);
}

ir_value *rule_mul(peephole *p, node *n) {
    if (n->inputs.len != 2) return NULL;
    for (int i = 0; i < 2; i++) {
        ir_value *x = n->inputs.data[i], *c = n->inputs.data[1 - i];
        if (known_number_is(c, 1)) {
            ir_value *v = math_identity(p, n, x, c);
            if (v) return v;
        }
        if (math_ints(n) && known_number_is(c, 0)) return c;
    }
    return NULL;
}

/* a = b + k or b - k of ints, with constant k. */
static bool math_offset(const ir_value *a, ir_value **base, int64_t *k) {
    const node *n = a->def;
    bool minus = n && node_is_op(n, SYM_SUB);
    if (!n || !(minus || node_is_op(n, SYM_ADD)) || !math_ints(n) || n->inputs.len != 2)
        return false;
    for (int i = 0; i < (minus ? 1 : 2); i++) {
        if (!known_int(n->inputs.data[1 - i], k)) continue;
        if (minus) *k = (int64_t)(0 - (uint64_t)*k);
        *base = n->inputs.data[i];
        return true;
    }
    return false;
}

/* n = (b + j) + k: b + (j + k), wrapping as the two did. */
static ir_value *math_offsets(peephole *p, node *n) {
    ir_value *inner, *base;
    int64_t k, j;
    if (!math_offset(n->outputs.data[0], &inner, &k) || !math_offset(inner, &base, &j)) return NULL;
    int64_t sum = (int64_t)((uint64_t)j + (uint64_t)k);
    if (sum == 0) return base;
    ir_value *args[] = {base, peephole_constant(n, value_int(sum))};
    return peephole_new_op(p, n, op_of(SYM_ADD_INT), 2, args, NULL);
}

ir_value *rule_add(peephole *p, node *n) {
    if (n->inputs.len < 2) return NULL;
    if (math_ints(n)) {
        for (int i = 0; i < 2; i++)
            if (known_number_is(n->inputs.data[1 - i], 0)) return n->inputs.data[i];
        return math_offsets(p, n);
    }
    ir_value *x = n->inputs.data[0];
    int dt = peephole_is_tensor(x) ? known_dtype(x) : -1;
    if (dt < 0 || !dtype_is_int((dtype)dt) || !known_number_is(n->inputs.data[1], 0) ||
        !math_alpha_is_one(n))
        return NULL;
    return math_identity(p, n, x, n->inputs.data[1]);
}

ir_value *rule_sub(peephole *p, node *n) {
    if (n->inputs.len < 2) return NULL;
    if (math_is_zero(n->inputs.data[1]) && math_alpha_is_one(n))
        return math_identity(p, n, n->inputs.data[0], n->inputs.data[1]);
    if (!math_ints(n)) return NULL;
    return n->inputs.data[0] == n->inputs.data[1] ? peephole_constant(n, value_int(0))
                                                  : math_offsets(p, n);
}

/* Ints become floats by division. */
ir_value *rule_div(peephole *p, node *n) {
    if (n->inputs.len != 2 || !known_number_is(n->inputs.data[1], 1)) return NULL;
    ir_value *x = n->inputs.data[0];
    int dt = peephole_is_tensor(x) ? known_dtype(x) : -1;
    if (peephole_is_tensor(x) && (dt < 0 || !dtype_is_float((dtype)dt))) return NULL;
    return math_identity(p, n, x, n->inputs.data[1]);
}

ir_value *rule_floordiv(peephole *p, node *n) {
    (void)p;
    return math_ints(n) && known_number_is(n->inputs.data[1], 1) ? n->inputs.data[0] : NULL;
}

/* PyTorch squares by multiplication as well. */
ir_value *rule_pow(peephole *p, node *n) {
    ir_value *x = n->inputs.data[0], *c = n->inputs.data[1];
    if (!node_is_overload(n, SYM_POW_TENSOR_SCALAR) || !math_keeps_dtype(x, c)) return NULL;
    if (known_number_is(c, 1)) return peephole_copy(p, n, x);
    if (!known_number_is(c, 2)) return NULL;
    ir_value *args[] = {x, x};
    return peephole_new_op(p, n, op_of(SYM_MUL_TENSOR), 2, args, n->outputs.data[0]->type);
}

ir_value *rule_neg(peephole *p, node *n) {
    const node *inner = n->inputs.data[0]->def;
    if (!inner || !node_is_op(inner, SYM_NEG) || inner->op != n->op || n->inputs.len != 1)
        return NULL;
    ir_value *x = inner->inputs.data[0];
    if (!peephole_is_tensor(x))
        return x->type == n->outputs.data[0]->type && x->type->kind != T_COMPLEX ? x : NULL;
    int dt = known_dtype(x);
    return dt >= 0 && (dtype_is_float((dtype)dt) || dtype_is_int((dtype)dt))
               ? peephole_copy(p, n, x)
               : NULL;
}

ir_value *rule_idempotent(peephole *p, node *n) {
    ir_value *x = n->inputs.data[0];
    if (n->inputs.len != 1 || !peephole_is_tensor(x) || !x->def || x->def->kind != N_OP ||
        x->def->op != n->op)
        return NULL;
    return peephole_copy(p, n, x);
}
