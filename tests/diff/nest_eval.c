/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest_eval.c - see nest_eval.h.
 *
 * Method: expressions are numbered once; each statement computes a node at most once, as
 * compiled code does. Ints of all types are kept in an int64, floats in a double; every
 * operation brings its result back to its type. A double holds the exact sum, product or
 * quotient of two floats to more than twice their digits, so that rounding it to float
 * rounds once. What is accumulated in a variable is rounded when it is read: the order
 * of a sum being free, its exact value is what all orders should approximate.
 */
#include "nest_eval.h"

#include "base/map.h"
#include "codegen/cuda/nest_convert.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { EVAL_MAX_ROUNDS = 1 << 20, EVAL_MAX_STEPS = 1 << 26 };

typedef union nest_value { int64_t i; double f; } nest_value;
typedef void (*nest_function)(void);

struct nest_eval {
    nest *n;
    nest_value *vars, *values; /* values: of expressions, by number */
    uint64_t *made;            /* the statement that a value was made for */
    uint64_t statement;
    nest_function *functions; /* of calls, by number */
    nest_memory *memory, *locals;
    const int64_t *ints;
    const double *floats;
    rng *order;
    int64_t begin, end, steps;
    uint32_t numbered; /* the mark of expressions that have a number; -1: none has */
    int nvalues;
    bool tired; /* a limit was reached */
    char why[200];
};

typedef enum eval_end { EVAL_ON, EVAL_BREAK, EVAL_CONTINUE, EVAL_OUT } eval_end;

/* ---- numbers --------------------------------------------------------------------------------- */

static void eval_wrong(nest_eval *e, const char *what, const char *name, int64_t at) {
    if (!e->why[0]) snprintf(e->why, sizeof e->why, "%s %s (%lld)", what, name, (long long)at);
}

static void eval_tire(nest_eval *e) {
    eval_wrong(e, "too long", "", e->steps);
    e->tired = true;
}

static int64_t eval_narrow(nest_type t, uint64_t x) {
    switch (t) {
    case NEST_BOOL: return x & 1;
    case NEST_U8: return (uint8_t)x;
    case NEST_I8: return (int8_t)x;
    case NEST_I16: return (int16_t)x;
    case NEST_I32: return (int32_t)x;
    default: return (int64_t)x;
    }
}
static double eval_round(nest_type t, double x) { return t == NEST_F32 ? (double)(float)x : x; }

static nest_value eval_int(int64_t i) { return (nest_value){.i = i}; }
static nest_value eval_float(double f) { return (nest_value){.f = f}; }

/* As emit_cast and emit_float_to_int of llvm_emit.c say. */
static nest_value eval_cast(nest_type to, nest_type from, nest_value x) {
    if (nest_is_float(from) && nest_is_float(to)) return eval_float(eval_round(to, x.f));
    if (nest_is_float(to)) return eval_float(to == NEST_F32 ? (double)(float)x.i : (double)x.i);
    if (to == NEST_BOOL) return eval_int(nest_is_float(from) ? x.f != 0 : x.i != 0);
    if (!nest_is_float(from)) return eval_int(eval_narrow(to, (uint64_t)x.i));
    bool wide = to == NEST_I64 || to == NEST_U8;
    int64_t i = from == NEST_F32
                    ? (wide ? nest_to_i64_f32((float)x.f) : nest_to_i32_f32((float)x.f))
                    : (wide ? nest_to_i64_f64(x.f) : nest_to_i32_f64(x.f));
    return eval_int(eval_narrow(to, (uint64_t)i));
}

static nest_value eval_extreme(nest_type t, bool max, nest_value a, nest_value b) {
    if (!nest_is_float(t)) return (max ? a.i > b.i : a.i < b.i) ? a : b;
    if (a.f != a.f || b.f != b.f) return a.f != a.f ? a : b;
    return (max ? a.f > b.f : a.f < b.f) ? a : b;
}

static bool eval_compare(nest_op op, nest_type t, nest_value a, nest_value b) {
    bool real = nest_is_float(t);
    switch (op) {
    case NEST_EQ: return real ? a.f == b.f : a.i == b.i;
    case NEST_NE: return real ? a.f != b.f : a.i != b.i;
    case NEST_LT: return real ? a.f < b.f : a.i < b.i;
    case NEST_LE: return real ? a.f <= b.f : a.i <= b.i;
    case NEST_GT: return real ? a.f > b.f : a.i > b.i;
    default: return real ? a.f >= b.f : a.i >= b.i;
    }
}

static nest_value eval_real(nest_op op, nest_type t, double a, double b) {
    switch (op) {
    case NEST_ADD: return eval_float(eval_round(t, a + b));
    case NEST_SUB: return eval_float(eval_round(t, a - b));
    case NEST_MUL: return eval_float(eval_round(t, a * b));
    case NEST_DIV: return eval_float(eval_round(t, a / b));
    default: return eval_float(-a); /* NEST_NEG */
    }
}

static nest_value eval_whole(nest_eval *e, nest_op op, nest_type t, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b, r;
    if ((op == NEST_DIV_INDEX || op == NEST_MOD_INDEX) && b == 0) {
        eval_wrong(e, "a division of indices by 0,", op == NEST_DIV_INDEX ? "div" : "mod", a);
        y = 1;
    }
    switch (op) {
    case NEST_ADD: r = x + y; break;
    case NEST_SUB: r = x - y; break;
    case NEST_MUL: r = x * y; break;
    case NEST_DIV_INDEX: r = x / y; break;
    case NEST_MOD_INDEX: r = x % y; break;
    case NEST_AND: r = x & y; break;
    case NEST_OR: r = x | y; break;
    case NEST_XOR: r = x ^ y; break;
    case NEST_NOT: r = ~x; break;
    default: r = 0 - x; break; /* NEST_NEG */
    }
    return eval_int(eval_narrow(t, r));
}

/* ---- functions ------------------------------------------------------------------------------- */

/* All arguments are of one type, and so is the result, but that of a test, which is
 * an 8-bit number. */
#define EVAL_CALLS(T, field)                                                                       \
    {                                                                                              \
        const T a = (T)x[0].field, b = (T)x[1].field, c = (T)x[2].field, d = (T)x[3].field;        \
        if (tests)                                                                                 \
            r.i = nargs == 1 ? ((uint8_t (*)(T))f)(a) != 0 : ((uint8_t (*)(T, T))f)(a, b) != 0;    \
        else if (nargs == 1) r.field = ((T(*)(T))f)(a);                                            \
        else if (nargs == 2) r.field = ((T(*)(T, T))f)(a, b);                                      \
        else if (nargs == 3) r.field = ((T(*)(T, T, T))f)(a, b, c);                                \
        else r.field = ((T(*)(T, T, T, T))f)(a, b, c, d);                                          \
        break;                                                                                     \
    }

static nest_value eval_call(nest_function f, nest_type t, bool tests, int nargs,
                            const nest_value *x) {
    nest_value r = {0};
    switch (t) {
    case NEST_U8: EVAL_CALLS(uint8_t, i)
    case NEST_I8: EVAL_CALLS(int8_t, i)
    case NEST_I16: EVAL_CALLS(int16_t, i)
    case NEST_I32: EVAL_CALLS(int32_t, i)
    case NEST_I64: EVAL_CALLS(int64_t, i)
    case NEST_F32: EVAL_CALLS(float, f)
    case NEST_F64: EVAL_CALLS(double, f)
    default: break;
    }
    return r;
}
#undef EVAL_CALLS

static nest_function eval_find(nest_eval *e, const nest_expr *x) {
    char symbol[96];
    union { void *object; nest_function fn; } found;
    snprintf(symbol, sizeof symbol, "scalar_%s_%s", x->u.name, nest_types[x->args[0]->type].name);
    found.object = dlsym(RTLD_DEFAULT, symbol);
    if (!found.object) eval_wrong(e, "no function", symbol, x->nargs);
    return found.fn;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static nest_memory *eval_memory(nest_eval *e, const nest_buffer *b, int64_t at, bool write) {
    nest_memory *m = b->local ? &e->locals[b->index] : &e->memory[b->index];
    if (at < 0 || at >= m->length) {
        eval_wrong(e, write ? "a store outside of" : "a load outside of", b->name, at);
        return NULL;
    }
    if (!write && m->known && !m->known[at])
        eval_wrong(e, "a load of what nobody has written in", b->name, at);
    if (write && m->known) m->known[at] = 1;
    return m;
}

static nest_value eval_load(nest_eval *e, const nest_buffer *b, int64_t at) {
    nest_type t = NEST_BOOL;
    nest_memory *m = eval_memory(e, b, at, false);
    nest_type_of(b->dt, &t);
    if (!m) return nest_is_float(t) ? eval_float(0) : eval_int(0);
    const char *p = (const char *)m->data + (size_t)at * dtype_size(b->dt);
    return nest_is_float(t) ? eval_float(dtype_load_float(b->dt, p))
                            : eval_int(dtype_load_int(b->dt, p));
}

static void eval_store(nest_eval *e, const nest_buffer *b, int64_t at, nest_value v) {
    nest_type t = NEST_BOOL;
    nest_memory *m = eval_memory(e, b, at, true);
    nest_type_of(b->dt, &t);
    if (!m) return;
    char *p = (char *)m->data + (size_t)at * dtype_size(b->dt);
    if (nest_is_float(t)) dtype_store_float(b->dt, p, v.f);
    else dtype_store_int(b->dt, p, v.i);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static nest_value eval_expr(nest_eval *e, nest_expr *x);

static nest_value eval_node(nest_eval *e, nest_expr *x) {
    nest_value a[NEST_MAX_ARGS] = {{0}};
    for (int i = 0; i < x->nargs; i++) a[i] = eval_expr(e, x->args[i]);
    nest_type t = x->args[0]->type;
    if (x->op == NEST_LOAD) return eval_load(e, x->u.buffer, a[0].i);
    if (x->op == NEST_SELECT) return a[0].i ? a[1] : a[2];
    if (x->op == NEST_CAST) return eval_cast(x->type, t, a[0]);
    if (x->op == NEST_CALL) {
        nest_function *f = &e->functions[x->slot];
        if (!*f) *f = eval_find(e, x);
        return *f ? eval_call(*f, t, x->type == NEST_BOOL, x->nargs, a) : a[0];
    }
    if (x->op == NEST_MIN || x->op == NEST_MAX)
        return eval_extreme(t, x->op == NEST_MAX, a[0], a[1]);
    if (nest_ops[x->op].cls == 'C') return eval_int(eval_compare(x->op, t, a[0], a[1]));
    return nest_is_float(t) ? eval_real(x->op, t, a[0].f, a[1].f)
                            : eval_whole(e, x->op, t, a[0].i, a[1].i);
}

static nest_value eval_expr(nest_eval *e, nest_expr *x) {
    switch (x->op) {
    case NEST_CONST:
        return nest_is_float(x->type) ? eval_float(eval_round(x->type, x->u.f)) : eval_int(x->u.i);
    case NEST_INPUT:
        return x->type == NEST_I64 ? eval_int(e->ints[x->u.input])
                                   : eval_float(e->floats[x->u.input]);
    case NEST_VAR:
        return nest_is_float(x->type) ? eval_float(eval_round(x->type, e->vars[x->u.var->index].f))
                                      : e->vars[x->u.var->index];
    default: break;
    }
    if (e->made[x->slot] == e->statement) return e->values[x->slot];
    nest_value v = eval_node(e, x);
    e->made[x->slot] = e->statement;
    return e->values[x->slot] = v;
}

/* ---- statements ------------------------------------------------------------------------------ */

static eval_end eval_block(nest_eval *e, const nest_block *b, int64_t *code);

/* Round k of count, in an order of their own: forwards, backwards, or hopping by a step that
 * meets all of them. */
typedef struct eval_order { int64_t start, hop, count; } eval_order;

static eval_order eval_order_new(nest_eval *e, const nest_stmt *s, int64_t count) {
    eval_order o = {0, 1, count};
    if (!e->order || count < 2 || !(s->flags & (NEST_VECTOR | NEST_PARALLEL))) return o;
    o.start = rng_range(e->order, 0, count - 1);
    o.hop = rng_chance(e->order, 40) ? count - 1 : rng_range(e->order, 1, count - 1);
    for (int64_t a = o.hop, b = count; b;) { /* the hop's common divisor with count */
        int64_t rest = a % b;
        a = b;
        b = rest;
        if (!b && a != 1) o.hop = 1;
    }
    return o;
}

static int64_t eval_rounds(nest_eval *e, int64_t begin, int64_t end, int64_t step) {
    if (step > 0 ? begin >= end : begin <= end) return 0;
    uint64_t span = step > 0 ? (uint64_t)end - (uint64_t)begin : (uint64_t)begin - (uint64_t)end,
             by = (uint64_t)(step > 0 ? step : -step);
    uint64_t count = (span - 1) / by + 1;
    if (count > EVAL_MAX_ROUNDS) eval_tire(e);
    return count > EVAL_MAX_ROUNDS ? 0 : (int64_t)count;
}

static eval_end eval_for(nest_eval *e, const nest_stmt *s, int64_t *code) {
    bool parallel = s->flags & NEST_PARALLEL;
    int64_t begin = eval_expr(e, s->begin).i, end = eval_expr(e, s->end).i;
    if (parallel) begin = e->begin, end = e->end;
    eval_order o = eval_order_new(e, s, eval_rounds(e, begin, end, s->step));
    for (int64_t k = 0, at = o.start; k < o.count && !e->why[0]; k++, at = (at + o.hop) % o.count) {
        e->vars[s->var->index].i = begin + at * s->step;
        eval_end how = eval_block(e, &s->body, code);
        if (how == EVAL_OUT) return how;
        if (how == EVAL_BREAK) break;
    }
    return EVAL_ON;
}

static eval_end eval_while(nest_eval *e, const nest_stmt *s, int64_t *code) {
    while (!e->why[0]) {
        e->statement++;
        if (!eval_expr(e, s->value).i) break;
        eval_end how = eval_block(e, &s->body, code);
        if (how == EVAL_OUT) return how;
        if (how == EVAL_BREAK) break;
    }
    return EVAL_ON;
}

static void eval_accumulate(nest_eval *e, const nest_stmt *s) {
    nest_type t = s->var->type;
    nest_value *v = &e->vars[s->var->index], x = eval_expr(e, s->value);
    nest_op op = s->acc == NEST_ACC_SUM ? NEST_ADD : NEST_MUL;
    if (s->acc == NEST_ACC_MIN || s->acc == NEST_ACC_MAX)
        *v = eval_extreme(t, s->acc == NEST_ACC_MAX, *v, x);
    else
        *v = nest_is_float(t) ? eval_real(op, NEST_F64, v->f, x.f)
                              : eval_whole(e, op, t, v->i, x.i);
}

static eval_end eval_stmt(nest_eval *e, const nest_stmt *s, int64_t *code) {
    if (++e->steps > EVAL_MAX_STEPS) eval_tire(e);
    e->statement++;
    switch (s->kind) {
    case NEST_DECLARE:
    case NEST_SET: e->vars[s->var->index] = eval_expr(e, s->value); return EVAL_ON;
    case NEST_ACCUMULATE: eval_accumulate(e, s); return EVAL_ON;
    case NEST_STORE: {
        nest_value at = eval_expr(e, s->index), v = eval_expr(e, s->value);
        eval_store(e, s->buffer, at.i, v);
        return EVAL_ON;
    }
    case NEST_FOR: return eval_for(e, s, code);
    case NEST_WHILE: return eval_while(e, s, code);
    case NEST_IF: return eval_block(e, eval_expr(e, s->value).i ? &s->body : &s->other, code);
    case NEST_BREAK: return EVAL_BREAK;
    case NEST_CONTINUE: return EVAL_CONTINUE;
    case NEST_FAIL: *code = s->code; return EVAL_OUT;
    case NEST_WATCH: return EVAL_ON;
    }
    return EVAL_ON;
}

static eval_end eval_block(nest_eval *e, const nest_block *b, int64_t *code) {
    for (const nest_stmt *s = b->first; s && !e->why[0]; s = s->next) {
        eval_end how = eval_stmt(e, s, code);
        if (how != EVAL_ON) return how;
    }
    return EVAL_ON;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void eval_number(nest_eval *e, nest_expr *x) {
    if (!x || x->mark == e->numbered) return;
    x->mark = e->numbered;
    for (int i = 0; i < x->nargs; i++) eval_number(e, x->args[i]);
    x->slot = (uint32_t)e->nvalues++;
}
static void eval_number_block(nest_eval *e, const nest_block *b) {
    for (const nest_stmt *s = b->first; s; s = s->next) {
        nest_expr *const parts[] = {s->index, s->value, s->begin, s->end};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) eval_number(e, parts[i]);
        eval_number_block(e, &s->body);
        eval_number_block(e, &s->other);
    }
}

nest_eval *nest_eval_new(nest *n) {
    nest_eval *e = mem_zalloc(sizeof *e);
    e->n = n;
    e->numbered = nest_fresh_mark(n);
    eval_number_block(e, &n->body);
    e->vars = mem_zalloc(sizeof *e->vars * (size_t)(n->nvars + 1));
    e->values = mem_zalloc(sizeof *e->values * (size_t)(e->nvalues + 1));
    e->made = mem_zalloc(sizeof *e->made * (size_t)(e->nvalues + 1));
    e->functions = mem_zalloc(sizeof *e->functions * (size_t)(e->nvalues + 1));
    e->locals = mem_zalloc(sizeof *e->locals * (size_t)(n->nlocals + 1));
    for (int i = 0; i < n->nlocals; i++) {
        int64_t length = n->locals[i]->length;
        e->locals[i] = (nest_memory){mem_zalloc((size_t)length * dtype_size(n->locals[i]->dt) + 1),
                                     length, mem_zalloc((size_t)length + 1)};
    }
    return e;
}

void nest_eval_free(nest_eval *e) {
    if (!e) return;
    for (int i = 0; i < e->n->nlocals; i++) {
        mem_free(e->locals[i].data);
        mem_free(e->locals[i].known);
    }
    mem_free(e->locals);
    mem_free(e->functions);
    mem_free(e->made);
    mem_free(e->values);
    mem_free(e->vars);
    mem_free(e);
}

int64_t nest_eval_run(nest_eval *e, nest_memory *memory, const int64_t *ints, const double *floats,
                      int64_t begin, int64_t end, rng *order) {
    int64_t code = 0;
    e->memory = memory;
    e->ints = ints;
    e->floats = floats;
    e->begin = begin;
    e->end = end;
    e->order = order;
    e->steps = 0;
    for (int i = 0; i < e->n->nlocals; i++)
        memset(e->locals[i].known, 0, (size_t)e->locals[i].length);
    eval_block(e, &e->n->body, &code);
    if (e->tired) {
        e->tired = false;
        e->why[0] = 0;
        return NEST_EVAL_TIRED;
    }
    return e->why[0] ? NEST_EVAL_WRONG : code;
}

const char *nest_eval_why(const nest_eval *e) { return e->why; }
