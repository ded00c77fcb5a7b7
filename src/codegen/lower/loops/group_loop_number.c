/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_loop_number.c - operators on Python numbers, and bounds of ints.
 *
 * The results of operators are those of runtime/kernels/scalar/scalar.c: ints wrap at
 * 64 bits, an operator with an int and a float computes in double, bools count as ints.
 *
 * Bounds. A bound is base + c, base being a number known before the kernel. Bounds hold for the
 * numbers as they are, wrapped around or not, so a sum has bounds only if it cannot wrap: sizes are
 * below 2^62 by themselves, arguments that a bound rests on are demanded to be below 2^40,
 * constants are. A low bound without a high one belongs to numbers that count up from there by
 * small steps: they would have to count for years.
 * Tests: tests/unit/test_group_loop.c
 */
#include "codegen/lower/loops/group_loop.h"

#include <string.h>

#define LOOP_SANE ((int64_t)1 << 40)
#define LOOP_SMALL ((int64_t)1 << 30)

/* ---- bounds ---------------------------------------------------------------------------------- */

loop_bound loop_bound_const(int64_t c) {
    return (loop_bound){.known = c >= -LOOP_SANE && c <= LOOP_SANE, .c = c};
}

loop_bound loop_bound_of(nest_expr *e) {
    return e->op == NEST_CONST ? loop_bound_const(e->u.i) : (loop_bound){.known = true, .base = e};
}

static nest_expr *loop_bound_expr(loop_state *s, loop_bound b) {
    nest_expr *c = nest_int(s->n, b.c);
    return b.base ? nest_add(s->n, b.base, c) : c;
}

static nest_expr *loop_within(loop_state *s, nest_expr *e, int64_t limit) {
    return nest_binary(s->n, NEST_AND, nest_binary(s->n, NEST_GE, e, nest_int(s->n, -limit)),
                       nest_binary(s->n, NEST_LE, e, nest_int(s->n, limit)));
}

static bool loop_is_size(loop_state *s, const nest_expr *e) {
    return e->op == NEST_INPUT && s->p->slots.data[s->p->ints.data[e->u.input]].kind == SLOT_SIZE;
}

static bool loop_demand_within(loop_state *s, loop_bound b, int64_t limit) {
    int64_t now;
    if (!b.known) return false;
    nest_expr *e = loop_bound_expr(s, b);
    if (!b.base) return b.c >= -limit && b.c <= limit;
    return loop_evaluate(s, e, &now) &&
           loop_demand(s, loop_within(s, e, limit), now >= -limit && now <= limit);
}

bool loop_sane(loop_state *s, loop_bound b) {
    return b.known && (!b.base || loop_is_size(s, b.base) || loop_demand_within(s, b, LOOP_SANE));
}

/* a + b or a - b. */
loop_bound loop_bound_add(loop_state *s, loop_bound a, loop_bound b, int sign) {
    loop_bound none = {0}, out = {.known = true, .base = a.base, .c = a.c + sign * b.c};
    if (!a.known || !b.known || out.c > LOOP_SANE || out.c < -LOOP_SANE) return none;
    if (!b.base) return out;
    if (a.base == b.base && sign < 0) return loop_bound_const(out.c);
    if (!loop_demand_within(s, a, LOOP_SANE) || !loop_demand_within(s, b, LOOP_SANE)) return none;
    nest_expr *from = a.base ? a.base : nest_int(s->n, 0);
    out.base = sign < 0 ? nest_sub(s->n, from, b.base) : nest_add(s->n, from, b.base);
    return out;
}

bool loop_not_negative(loop_state *s, loop_bound low) {
    int64_t now;
    if (!low.known) return false;
    if (!low.base) return low.c >= 0;
    if (loop_is_size(s, low.base) && low.c >= 0) return true;
    nest_expr *e = loop_bound_expr(s, low);
    return loop_sane(s, low) && loop_evaluate(s, e, &now) &&
           loop_demand(s, nest_binary(s->n, NEST_GE, e, nest_int(s->n, 0)), now >= 0);
}

bool loop_below(loop_state *s, loop_bound high, nest_expr *size) {
    int64_t now, limit;
    if (!high.known || !loop_evaluate(s, size, &limit)) return false;
    if (high.base == size) return high.c < 0;
    if (!high.base && size->op == NEST_CONST) return high.c < size->u.i;
    nest_expr *e = loop_bound_expr(s, high);
    return loop_sane(s, high) && loop_evaluate(s, e, &now) &&
           loop_demand(s, nest_binary(s->n, NEST_LT, e, size), now < limit);
}

/* Is the number surely at least that? A size is never negative. */
static bool loop_at_least(loop_state *s, loop_bound b, int64_t least) {
    return b.known && b.c >= least && (!b.base || loop_is_size(s, b.base));
}

static void loop_range_mul(loop_state *s, loop_value *x, const loop_value *a, const loop_value *b) {
    if (!loop_at_least(s, a->low, 0) || !loop_at_least(s, b->low, 0)) return;
    if (!loop_demand_within(s, a->high, LOOP_SMALL) || !loop_demand_within(s, b->high, LOOP_SMALL))
        return;
    x->low = loop_bound_const(a->low.base || b->low.base ? 0 : a->low.c * b->low.c);
    if (!a->high.base && !b->high.base) x->high = loop_bound_const(a->high.c * b->high.c);
    else
        x->high = (loop_bound){
            true,
            nest_binary(s->n, NEST_MUL, loop_bound_expr(s, a->high), loop_bound_expr(s, b->high)),
            0};
}

/* ---- casts ----------------------------------------------------------------------------------- */

nest_expr *loop_as(loop_state *s, nest_expr *e, nest_type t) { return nest_cast(s->n, t, e); }

static bool loop_is_int(const nest_expr *e) { return e->type != NEST_F64; }

static bool loop_operands(loop_state *s, const node *n, int count, loop_value **out) {
    if ((int)n->inputs.len < count || n->outputs.len != 1) return false;
    for (int i = 0; i < count; i++) {
        out[i] = loop_input(s, n, i);
        if (!out[i] || out[i]->kind != LOOP_NUMBER) return false;
    }
    return true;
}

/* Both operands as the type they meet in. */
static nest_type loop_meet(loop_state *s, loop_value *const *x, nest_expr **e) {
    nest_type t = loop_is_int(x[0]->e) && loop_is_int(x[1]->e) ? NEST_I64 : NEST_F64;
    for (int i = 0; i < 2; i++) e[i] = loop_as(s, x[i]->e, t);
    return t;
}

/* ---- classes of operators -------------------------------------------------------------------- */

static nest_op loop_nest_op(const char *text) {
    static const struct { const char *text; nest_op op; } rows[] = {
        {"add", NEST_ADD}, {"sub", NEST_SUB}, {"mul", NEST_MUL}, {"lt", NEST_LT},
        {"le", NEST_LE},   {"gt", NEST_GT},   {"ge", NEST_GE},   {"eq", NEST_EQ},
        {"ne", NEST_NE},   {"and", NEST_AND}, {"or", NEST_OR},   {"xor", NEST_XOR}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].text, text)) return rows[i].op;
    return NEST_OP_COUNT;
}

/* -x of a constant folds by itself in nest_sub's absence: constants are computed here. */
static nest_expr *loop_fold_int(loop_state *s, nest_op op, const nest_expr *a, const nest_expr *b) {
    if (a->op != NEST_CONST || b->op != NEST_CONST || a->type != NEST_I64) return NULL;
    uint64_t x = (uint64_t)a->u.i, y = (uint64_t)b->u.i;
    return nest_int(s->n, (int64_t)(op == NEST_ADD ? x + y : op == NEST_SUB ? x - y : x * y));
}

static bool loop_arith(loop_state *s, const node *n, const char *text) {
    loop_value *x[2];
    nest_expr *e[2];
    if (!loop_operands(s, n, 2, x)) return false;
    nest_op op = loop_nest_op(text);
    nest_type t = loop_meet(s, x, e);
    nest_expr *folded = t == NEST_I64 ? loop_fold_int(s, op, e[0], e[1]) : NULL;
    loop_value *r = loop_number(s, folded ? folded : nest_binary(s->n, op, e[0], e[1]));
    loop_set(s, n->outputs.data[0], r);
    if (t != NEST_I64 || folded || x[0]->e->type != NEST_I64 || x[1]->e->type != NEST_I64)
        return true;
    const loop_value *a = x[0], *b = x[1];
    if (op == NEST_MUL) {
        loop_range_mul(s, r, a, b);
        return true;
    }
    int sign = op == NEST_ADD ? 1 : -1;
    if (sign > 0) r->terms[0] = a, r->terms[1] = b;
    r->low = loop_bound_add(s, a->low, sign > 0 ? b->low : b->high, sign);
    r->high = loop_bound_add(s, a->high, sign > 0 ? b->high : b->low, sign);
    if (!b->root) r->root = a->root, r->c = a->c + sign * b->c;
    else if (!a->root && sign > 0) r->root = b->root, r->c = a->c + b->c;
    return true;
}

static bool loop_compare(loop_state *s, const node *n, const char *text) {
    loop_value *x[2];
    nest_expr *e[2];
    if (!loop_operands(s, n, 2, x)) return false;
    loop_meet(s, x, e);
    loop_set_number(s, n, nest_binary(s->n, loop_nest_op(text), e[0], e[1]));
    return true;
}

static bool loop_logic(loop_state *s, const node *n, const char *text) {
    loop_value *x[2];
    if (!loop_operands(s, n, 2, x) || !loop_is_int(x[0]->e) || !loop_is_int(x[1]->e)) return false;
    nest_type t = x[0]->e->type == NEST_BOOL && x[1]->e->type == NEST_BOOL ? NEST_BOOL : NEST_I64;
    loop_set_number(
        s, n,
        nest_binary(s->n, loop_nest_op(text), loop_as(s, x[0]->e, t), loop_as(s, x[1]->e, t)));
    return true;
}

static bool loop_require_divisor(loop_state *s, const node *n, const loop_value *b, nest_expr *e,
                                 const char *message) {
    if (e->op == NEST_CONST) return e->u.i != 0;
    if (loop_at_least(s, b->low, 1)) return true;
    int64_t code = loop_fault(s, n, message, 0, NULL);
    if (!code) return false;
    nest_require(s->n, nest_binary(s->n, NEST_NE, e, nest_int(s->n, 0)), code, nest_int(s->n, 0));
    return true;
}

/* A divisor that is a power of two needs no division: its number of bits, -1 for others. */
static int loop_shift_of(const nest_expr *e) {
    if (e->op != NEST_CONST || e->u.i <= 0 || (e->u.i & (e->u.i - 1))) return -1;
    return __builtin_ctzll((unsigned long long)e->u.i);
}

static bool loop_floordiv(loop_state *s, const node *n) {
    loop_value *x[2];
    nest_expr *e[2], *r;
    if (!loop_operands(s, n, 2, x)) return false;
    if (loop_meet(s, x, e) == NEST_F64) {
        loop_set_number(s, n, nest_call1(s->n, "floor", nest_div(s->n, e[0], e[1])));
        return true;
    }
    if (!loop_require_divisor(s, n, x[1], e[1], "division by 0")) return false;
    int shift = loop_shift_of(e[1]);
    if (shift >= 0) r = nest_call(s->n, "rshift", 2, (nest_expr *[]){e[0], nest_int(s->n, shift)});
    else r = nest_call(s->n, "div_floor", 2, e);
    loop_value *v = loop_number(s, r);
    if (loop_at_least(s, x[0]->low, 0) && loop_at_least(s, x[1]->low, 1)) {
        v->low = loop_bound_const(0);
        v->high = x[0]->high;
    }
    loop_set(s, n->outputs.data[0], v);
    return true;
}

static bool loop_remainder(loop_state *s, const node *n) {
    loop_value *x[2];
    nest_expr *e[2], *r;
    if (!loop_operands(s, n, 2, x)) return false;
    if (loop_meet(s, x, e) == NEST_F64) {
        loop_set_number(s, n, nest_call(s->n, "remainder", 2, e));
        return true;
    }
    if (!loop_require_divisor(s, n, x[1], e[1], "integer division or modulo by zero")) return false;
    if (loop_shift_of(e[1]) >= 0)
        r = nest_binary(s->n, NEST_AND, e[0], nest_int(s->n, e[1]->u.i - 1));
    else r = nest_call(s->n, "remainder", 2, e);
    loop_value *v = loop_number(s, r);
    loop_bound least = loop_bound_add(s, x[1]->low, loop_bound_const(1), -1);
    if (x[1]->high.known && loop_not_negative(s, least)) {
        v->low = loop_bound_const(0);
        v->high = loop_bound_add(s, x[1]->high, loop_bound_const(1), -1);
    }
    loop_set(s, n->outputs.data[0], v);
    return true;
}

/* int(a / b), both ints */
static bool loop_truncdiv(loop_state *s, const node *n) {
    loop_value *x[2];
    nest_expr *e[2];
    if (!loop_operands(s, n, 2, x) || loop_meet(s, x, e) != NEST_I64) return false;
    if (!loop_require_divisor(s, n, x[1], e[1], "division by 0")) return false;
    loop_set_number(s, n, nest_call(s->n, "div_trunc", 2, e));
    return true;
}

static bool loop_divide(loop_state *s, const node *n) {
    loop_value *x[2];
    if (!loop_operands(s, n, 2, x)) return false;
    loop_set_number(s, n,
                    nest_div(s->n, loop_as(s, x[0]->e, NEST_F64), loop_as(s, x[1]->e, NEST_F64)));
    return true;
}

static bool loop_real(loop_state *s, const node *n, int count, const char *text) {
    loop_value *x[2];
    nest_expr *e[2];
    if (!loop_operands(s, n, count, x)) return false;
    for (int i = 0; i < count; i++) e[i] = loop_as(s, x[i]->e, NEST_F64);
    loop_set_number(s, n, nest_call(s->n, text, count, e));
    return true;
}

/* A float of any two numbers; zero has no negative powers. */
static bool loop_pow(loop_state *s, const node *n) {
    loop_value *x[2];
    if (!loop_operands(s, n, 2, x)) return false;
    nest_expr *b = loop_as(s, x[0]->e, NEST_F64), *e = loop_as(s, x[1]->e, NEST_F64),
              *zero = nest_const_float(s->n, NEST_F64, 0);
    bool fine = (b->op == NEST_CONST && b->u.f != 0) || (e->op == NEST_CONST && e->u.f >= 0) ||
                loop_at_least(s, x[0]->low, 1) || loop_at_least(s, x[1]->low, 0);
    int64_t code = fine ? 0 : loop_fault(s, n, "0.0 cannot be raised to a negative power", 0, NULL);
    if (!fine && !code) return false;
    if (!fine) {
        /* a NaN is not negative */
        nest_expr *none = nest_binary(s->n, NEST_EQ, b, zero),
                  *down = nest_binary(s->n, NEST_LT, e, zero);
        nest_require(s->n, nest_unary(s->n, NEST_NOT, nest_binary(s->n, NEST_AND, none, down)),
                     code, nest_int(s->n, 0));
    }
    loop_set_number(s, n, nest_call(s->n, "pow", 2, (nest_expr *[]){b, e}));
    return true;
}

/* int ** int as int; negative exponents go through double as in the interpreter. */
static bool loop_intpow(loop_state *s, const node *n) {
    loop_value *x[2];
    nest_expr *e[2];
    if (!loop_operands(s, n, 2, x) || loop_meet(s, x, e) != NEST_I64) return false;
    nest_expr *r = nest_call(s->n, "pow", 2, e);
    if (!loop_at_least(s, x[1]->low, 0)) {
        nest_expr *d[2] = {loop_as(s, e[0], NEST_F64), loop_as(s, e[1], NEST_F64)};
        nest_expr *whole = nest_cast(s->n, NEST_I64, nest_call(s->n, "pow", 2, d));
        r = nest_select(s->n, nest_binary(s->n, NEST_LT, e[1], nest_int(s->n, 0)), whole, r);
    }
    loop_set_number(s, n, r);
    return true;
}

static bool loop_test(loop_state *s, const node *n, const char *text) {
    loop_value *x[1];
    if (!loop_operands(s, n, 1, x)) return false;
    loop_set_number(s, n, nest_test(s->n, text, loop_as(s, x[0]->e, NEST_F64)));
    return true;
}

static bool loop_rounding(loop_state *s, const node *n, const char *text) {
    loop_value *x[1];
    if (!loop_operands(s, n, 1, x)) return false;
    nest_expr *e = x[0]->e;
    loop_set_number(s, n,
                    nest_cast(s->n, NEST_I64, loop_is_int(e) ? e : nest_call1(s->n, text, e)));
    return true;
}

/* Bounds that hold for both a and b. */
static loop_bound loop_either(loop_bound a, loop_bound b, bool low) {
    if (!a.known || !b.known || a.base != b.base) return (loop_bound){0};
    a.c = low ? (a.c < b.c ? a.c : b.c) : (a.c > b.c ? a.c : b.c);
    return a;
}

/* A bound of min(a, b) below, or of max(a, b) above: it has to hold for both. If one is a constant
 * and the other known before the kernel, which of the two is decided by what the arguments at hand
 * say, and demanded. */
static loop_bound loop_outer_bound(loop_state *s, loop_bound a, loop_bound b, bool low) {
    int64_t now;
    loop_bound same = loop_either(a, b, low), k = a.base ? b : a, v = a.base ? a : b;
    if (same.known || !a.known || !b.known || k.base || !v.base) return same;
    nest_expr *e = loop_bound_expr(s, v), *c = nest_int(s->n, k.c);
    if (!loop_evaluate(s, e, &now)) return same;
    loop_bound chosen = low ? k : v; /* low: v >= k, so k holds for both; high: v >= k, so v does */
    return loop_demand(s, nest_binary(s->n, NEST_GE, e, c), now >= k.c) ? chosen : same;
}

/* The other bound may be either's: the one that a check of an index can use. */
static loop_bound loop_inner_bound(loop_bound a, loop_bound b, bool low) {
    loop_bound same = loop_either(a, b, !low);
    if (same.known) return same;
    return low ? (a.base ? b : a) : (a.base ? a : b);
}

static void loop_least_range(loop_state *s, loop_value *v, loop_value *const *x, bool least) {
    loop_bound low[2] = {x[0]->low, x[1]->low}, high[2] = {x[0]->high, x[1]->high};
    v->low = least ? loop_outer_bound(s, low[0], low[1], true)
                   : loop_inner_bound(low[0], low[1], true);
    v->high = least ? loop_inner_bound(high[0], high[1], false)
                    : loop_outer_bound(s, high[0], high[1], false);
    if (!v->low.known || !v->high.known) v->low = v->high = (loop_bound){0};
}

/* min(a, b) is b < a ? b : a, max is b > a ? b : a. */
static bool loop_least(loop_state *s, const node *n, const char *text) {
    loop_value *x[2];
    nest_expr *e[2];
    if (!loop_operands(s, n, 2, x)) return false;
    bool ints = loop_meet(s, x, e) == NEST_I64;
    loop_value *v = loop_number(
        s, nest_select(s->n, nest_binary(s->n, loop_nest_op(text), e[1], e[0]), e[1], e[0]));
    loop_set(s, n->outputs.data[0], v);
    bool bounded = ints && x[0]->low.known && x[0]->high.known && x[1]->low.known &&
                   x[1]->high.known;
    if (!bounded) return true;
    loop_least_range(s, v, x, !strcmp(text, "lt"));
    return true;
}

static bool loop_sign(loop_state *s, const node *n, bool absolute) {
    loop_value *x[1];
    if (!loop_operands(s, n, 1, x)) return false;
    nest_type t = loop_is_int(x[0]->e) ? NEST_I64 : NEST_F64;
    nest_expr *e = loop_as(s, x[0]->e, t);
    if (absolute) {
        loop_set_number(s, n, nest_call1(s->n, "abs", e));
        return true;
    }
    loop_value *v = loop_number(s, nest_unary(s->n, NEST_NEG, e));
    loop_set(s, n->outputs.data[0], v);
    if (x[0]->e->type != NEST_I64) return true;
    v->low = loop_bound_add(s, loop_bound_const(0), x[0]->high, -1);
    v->high = loop_bound_add(s, loop_bound_const(0), x[0]->low, -1);
    return true;
}

static bool loop_not(loop_state *s, const node *n) {
    loop_value *x[1];
    if (!loop_operands(s, n, 1, x)) return false;
    loop_set_number(s, n, nest_unary(s->n, NEST_NOT, nest_cast(s->n, NEST_BOOL, x[0]->e)));
    return true;
}

/* The count modulo 64, as the processor takes it. */
static bool loop_shift(loop_state *s, const node *n, const char *text) {
    loop_value *x[2];
    nest_expr *e[2];
    if (!loop_operands(s, n, 2, x) || loop_meet(s, x, e) != NEST_I64) return false;
    e[1] = nest_binary(s->n, NEST_AND, e[1], nest_int(s->n, 63));
    loop_set_number(s, n, nest_call(s->n, text, 2, e));
    return true;
}

static bool loop_gcd(loop_state *s, const node *n) {
    loop_value *x[2];
    nest_expr *e[2];
    if (!loop_operands(s, n, 2, x) || loop_meet(s, x, e) != NEST_I64) return false;
    loop_set_number(s, n, nest_call(s->n, "gcd", 2, e));
    return true;
}

static bool loop_convert(loop_state *s, const node *n, const char *text) {
    loop_value *x[1];
    if (!loop_operands(s, n, 1, x)) return false;
    nest_type t = !strcmp(text, "int") ? NEST_I64 : !strcmp(text, "float") ? NEST_F64 : NEST_BOOL;
    if (x[0]->e->type == t) loop_set(s, n->outputs.data[0], x[0]);
    else loop_set_number(s, n, nest_cast(s->n, t, x[0]->e));
    return true;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* len(range(lo, hi, step)) */
static bool loop_range_length(loop_state *s, const node *n) {
    loop_value *x[3];
    if (!loop_operands(s, n, 3, x)) return false;
    nest_expr *lo = x[0]->e, *hi = x[1]->e, *step = x[2]->e, *zero = nest_int(s->n, 0),
              *one = nest_int(s->n, 1);
    if (lo->type != NEST_I64 || hi->type != NEST_I64 || step->op != NEST_CONST || step->u.i == 0 ||
        step->u.i == INT64_MIN)
        return false;
    bool up = step->u.i > 0;
    nest_expr *from = up ? lo : hi, *to = up ? hi : lo;
    nest_expr *span = nest_sub(s->n, to, from), *count = span;
    int64_t stride = up ? step->u.i : -step->u.i;
    if (stride != 1)
        count = nest_add(
            s->n, nest_div_index(s->n, nest_sub(s->n, span, one), nest_int(s->n, stride)), one);
    loop_value *v = loop_number(
        s, nest_select(s->n, nest_binary(s->n, NEST_LT, from, to), count, zero));
    v->low = loop_bound_const(0);
    loop_set(s, n->outputs.data[0], v);
    return true;
}

static bool loop_same_number(const ir_value *a, const ir_value *b) {
    value x, y;
    if (a == b) return true;
    return ir_value_constant(a, &x) && ir_value_constant(b, &y) && x.tag == V_INT &&
           y.tag == V_INT && x.u.i == y.u.i;
}

/* The aten::__range_length that the loop counts to whose variable v is; NULL: v
 * is something else. */
static const node *loop_range_of(const ir_value *v) {
    const node *loop = !v->def ? v->owner->parent : NULL;
    if (!loop || loop->kind != N_LOOP || v->index != 0) return NULL;
    const node *trip = loop->inputs.data[0]->def;
    return trip && loop_op_class(trip, NULL) == LOOP_RANGE_LENGTH ? trip : NULL;
}

/* lo + i * step, within range(lo, hi, step) if i counts that. */
static bool loop_derive_index(loop_state *s, const node *n) {
    loop_value *x[3];
    if (!loop_operands(s, n, 3, x)) return false;
    nest_expr *step = x[2]->e;
    for (int i = 0; i < 3; i++)
        if (x[i]->e->type != NEST_I64) return false;
    loop_value *v = loop_number(s, nest_add(s->n, x[1]->e, nest_mul(s->n, x[0]->e, step)));
    loop_set(s, n->outputs.data[0], v);
    const node *range = loop_range_of(n->inputs.data[0]);
    if (!range || step->op != NEST_CONST ||
        !loop_same_number(range->inputs.data[0], n->inputs.data[1]) ||
        !loop_same_number(range->inputs.data[2], n->inputs.data[2]))
        return true;
    const loop_value *hi = loop_input(s, range, 1);
    if (!hi || hi->kind != LOOP_NUMBER) return true;
    loop_bound one = loop_bound_const(1);
    v->low = step->u.i > 0 ? x[1]->low : loop_bound_add(s, hi->low, one, 1);
    v->high = step->u.i > 0 ? loop_bound_add(s, hi->high, one, -1) : x[1]->high;
    return true;
}

bool loop_lower_number(loop_state *s, const node *n, loop_class cls, const char *text) {
    switch (cls) {
    case LOOP_ARITH: return loop_arith(s, n, text);
    case LOOP_COMPARE: return loop_compare(s, n, text);
    case LOOP_LOGIC: return loop_logic(s, n, text);
    case LOOP_DIVIDE: return loop_divide(s, n);
    case LOOP_FLOORDIV: return loop_floordiv(s, n);
    case LOOP_REMAINDER: return loop_remainder(s, n);
    case LOOP_TRUNCDIV: return loop_truncdiv(s, n);
    case LOOP_POW: return loop_pow(s, n);
    case LOOP_INTPOW: return loop_intpow(s, n);
    case LOOP_REAL1: return loop_real(s, n, 1, text);
    case LOOP_REAL2: return loop_real(s, n, 2, text);
    case LOOP_TEST: return loop_test(s, n, text);
    case LOOP_ROUND: return loop_rounding(s, n, text);
    case LOOP_LEAST: return loop_least(s, n, text);
    case LOOP_ABS: return loop_sign(s, n, true);
    case LOOP_NEG: return loop_sign(s, n, false);
    case LOOP_NOT: return loop_not(s, n);
    case LOOP_SHIFT: return loop_shift(s, n, text);
    case LOOP_GCD: return loop_gcd(s, n);
    case LOOP_CONVERT: return loop_convert(s, n, text);
    case LOOP_RANGE_LENGTH: return loop_range_length(s, n);
    case LOOP_DERIVE_INDEX: return loop_derive_index(s, n);
    default: return false;
    }
}
