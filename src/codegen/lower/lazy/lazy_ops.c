/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy_ops.c - pointwise operators as lazy tensors: which operands, in which dtype, with
 * which arithmetic.
 *
 * Operators whose row says CALLS are calls of their scalar function. Others have a
 * rule here, which op.lowered indexes. Most rules are: a number of operands that are
 * promoted together, a number of scalars, a dtype class, an emitter. The others have
 * their own maker, which mirrors the operator in runtime/kernels/pointwise_*.c. Cases
 * that PyTorch refuses are not lowered (NULL): the operator then reports them itself.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/lazy/lazy_internal.h"
#include "ir/op/autocast.h"

#include "tensor/promote.h"

#include <string.h>

typedef enum ops_kind {
    OPS_SAME, /* computes in the promoted dtype and returns it */
    OPS_REAL, /* integers are promoted to float32 first */
    OPS_TEST, /* computes in the promoted dtype, returns bool */
} ops_kind;

typedef struct ops_rule ops_rule;
typedef lazy_tensor *ops_maker(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args);

struct ops_rule {
    const char *function;
    ops_maker *make;
    ops_kind kind;
    const char *accepts; /* f: floats, i: integers, b: bool; after promotion */
    int operands, numbers;
    lazy_emit_fn *emit;
    nest_op op;
    bool exact;
};

/* ---- the tensor ------------------------------------------------------------------------------ */

typedef struct ops_tensor {
    lazy_emitter e;
    dtype compute, dtypes[LAZY_MAX_INPUTS];
    nest_expr *numbers[LAZY_MAX_NUMBERS];
} ops_tensor;

static nest_expr *ops_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const ops_tensor *p = t->impl;
    nest_expr *x[LAZY_MAX_INPUTS + LAZY_MAX_NUMBERS], *own[LAZY_MAX_DIMS];
    for (int i = 0; i < t->ninputs; i++) {
        const lazy_tensor *in = t->inputs[i];
        lazy_broadcast_index(l, in, t->ndim, t->sizes, index, own);
        x[i] = lazy_convert(l, lazy_at(l, in, own), in->dt, p->dtypes[i]);
    }
    for (int i = t->ninputs; i < p->e.nx; i++) x[i] = p->numbers[i - t->ninputs];
    nest_expr *r = p->e.emit(l, &p->e, p->compute, x);
    return p->e.exact ? r : lazy_round(l, r, t->dt);
}

static int ops_cost(const lazy_emitter *e) {
    if (!e->call) return e->op == NEST_DIV ? 3 : 1;
    static const char *const cheap[] = {"abs",   "maximum", "minimum", "floor", "ceil",
                                        "trunc", "round",   "isnan",   "isinf", "isfinite"};
    for (size_t i = 0; i < sizeof cheap / sizeof *cheap; i++)
        if (!strcmp(e->call, cheap[i])) return 1;
    return strcmp(e->call, "sqrt") ? 10 : 4;
}

lazy_tensor *lazy_pointwise(lazy *l, const lazy_emitter *e, dtype compute, dtype result, int n,
                            const lazy_tensor *const *operands, const dtype *dtypes,
                            nest_expr *const *numbers) {
    nest_expr *sizes[LAZY_MAX_DIMS];
    nest_type type;
    int ndim;
    if (n > LAZY_MAX_INPUTS || !nest_type_of(compute, &type) || !nest_type_of(result, &type))
        return NULL;
    if (!lazy_broadcast_sizes(l, n, operands, &ndim, sizes)) return NULL;
    ops_tensor *p = arena_new(l->a, ops_tensor);
    p->e = *e;
    p->compute = compute;
    lazy_tensor *t = lazy_new(l, result, ndim, sizes, ops_at, p);
    t->cost = ops_cost(e);
    for (int i = 0; i < n; i++) {
        lazy_add_input(t, operands[i]);
        p->dtypes[i] = dtypes ? dtypes[i] : compute;
    }
    if (e->nx > n) memcpy(p->numbers, numbers, sizeof *numbers * (size_t)(e->nx - n));
    return t;
}

dtype lazy_promote(int n, const lazy_tensor *const *operands) {
    promotion p = PROMOTION_INIT;
    for (int i = 0; i < n; i++) {
        const lazy_tensor *t = operands[i];
        if (t->is_number)
            promotion_add(&p, t->dt == DT_FLOAT64 ? DT_FLOAT32 : t->dt, OPERAND_NUMBER);
        else promotion_add(&p, t->dt, t->ndim > 0 ? OPERAND_TENSOR : OPERAND_ZERO_DIM);
    }
    return promotion_result(&p);
}

lazy_tensor *lazy_call(lazy *l, const char *function, const lazy_tensor *t) {
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_call, function, 0, 1, false}, t->dt, t->dt,
                          1, &t, NULL, NULL);
}

lazy_tensor *lazy_binary(lazy *l, nest_op op, const lazy_tensor *x, const lazy_tensor *y) {
    const lazy_tensor *both[2] = {x, y};
    dtype dt = lazy_promote(2, both);
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_op, NULL, op, 2, false}, dt, dt, 2, both,
                          NULL, NULL);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool ops_accepts(const char *classes, dtype dt) {
    nest_type type;
    char c = dt == DT_BOOL ? 'b' : dtype_is_float(dt) ? 'f' : 'i';
    return nest_type_of(dt, &type) && strchr(classes, c);
}

static bool ops_operands(lazy *l, int n, const lazy_arg *args, const lazy_tensor **out) {
    for (int i = 0; i < n; i++)
        if (!(out[i] = lazy_arg_tensor(l, &args[i]))) return false;
    return true;
}

static bool ops_is_bool(const lazy_tensor *t) { return t->dt == DT_BOOL; }

/* A Scalar argument as an element of dtype dt: not rounded to half; a float for an integer dtype
 * must be constant. */
static nest_expr *ops_number(lazy *l, const lazy_arg *a, dtype dt) {
    const lazy_tensor *t = lazy_arg_tensor(l, a);
    if (!t || !t->is_number) return NULL;
    dtype wide = dtype_is_half(dt) ? DT_FLOAT32 : dt;
    nest_expr *x = lazy_convert(l, lazy_at(l, t, NULL), t->dt, wide);
    return t->dt == DT_FLOAT64 && dtype_is_integral(dt) && x->op != NEST_CONST ? NULL : x;
}

/* May the number be turned into dt without a complaint? Numbers that are not constant: into dtypes
 * that hold all of theirs. */
static bool ops_number_fits(lazy *l, const lazy_arg *a, dtype dt) {
    double x;
    const lazy_tensor *t = lazy_arg_tensor(l, a);
    if (!t || !t->is_number) return false;
    if (!lazy_arg_float(a, &x))
        return dt == DT_BOOL || dt == DT_FLOAT64 || (dt == DT_INT64 && t->dt != DT_FLOAT64);
    return (dt == DT_INT64 && t->dt != DT_FLOAT64) || dtype_fits(dt, x);
}

/* The same for bounds of clamp: no number of an unsigned dtype is below 0. */
static bool ops_bound_fits(lazy *l, const lazy_arg *a, dtype dt) {
    double x;
    return ops_number_fits(l, a, dt) && !(dt == DT_UINT8 && lazy_arg_float(a, &x) && !(x >= 0));
}

static nest_expr *ops_constant(lazy *l, dtype dt, double x) { return lazy_const(l, dt, x); }

static lazy_tensor *ops_finish(lazy *l, const ops_rule *r, dtype dt, int n,
                               const lazy_tensor *const *operands, nest_expr *const *numbers,
                               int nnumbers) {
    lazy_emitter e = {r->emit, r->function, r->op, n + nnumbers, r->exact};
    if (r->emit != lazy_emit_call && r->emit != lazy_emit_test && r->emit != lazy_emit_minmax)
        e.call = NULL;
    return lazy_pointwise(l, &e, dt, r->kind == OPS_TEST ? DT_BOOL : dt, n, operands, NULL,
                          numbers);
}

/* The common case. */
static lazy_tensor *ops_plain(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)o;
    const lazy_tensor *x[LAZY_MAX_INPUTS];
    nest_expr *numbers[LAZY_MAX_NUMBERS];
    if (!ops_operands(l, r->operands, args, x)) return NULL;
    dtype dt = r->operands == 1 ? x[0]->dt : lazy_promote(r->operands, x);
    if (r->kind == OPS_REAL && dtype_is_integral(dt)) dt = DT_FLOAT32;
    if (!ops_accepts(r->accepts, dt)) return NULL;
    for (int i = 0; i < r->numbers; i++)
        if (!(numbers[i] = ops_number(l, &args[r->operands + i], dt))) return NULL;
    return ops_finish(l, r, dt, r->operands, x, numbers, r->numbers);
}

/* With another function than the row's name says. */
static lazy_tensor *ops_with(lazy *l, const char *function, lazy_emit_fn *emit, nest_op op,
                             dtype dt, int n, const lazy_tensor *const *x) {
    return ops_finish(l, &(ops_rule){.function = function, .emit = emit, .op = op}, dt, n, x, NULL,
                      0);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* x + alpha y, x - alpha y */
static lazy_tensor *ops_sum(lazy *l, nest_op op, const lazy_tensor *x, const lazy_tensor *y,
                            const lazy_arg *alpha) {
    const lazy_tensor *both[2] = {x, y}, *scale = lazy_arg_tensor(l, alpha);
    dtype dt = lazy_promote(2, both);
    if (!scale || !ops_accepts("fib", dt) || (op == NEST_SUB && (ops_is_bool(x) || ops_is_bool(y))))
        return NULL;
    double value;
    bool plain = lazy_arg_float(alpha, &value) && value == 1;
    if ((scale->dt == DT_BOOL && dt != DT_BOOL) ||
        (scale->dt == DT_FLOAT64 && dtype_is_integral(dt)))
        return NULL;
    if (plain) return ops_with(l, NULL, lazy_emit_op, op, dt, 2, both);
    if (dtype_is_half(dt) && !ops_number_fits(l, alpha, dt)) return NULL;
    nest_expr *number = ops_number(l, alpha, dt);
    if (number) number = lazy_round(l, number, dt);
    return number ? lazy_pointwise(l, &(lazy_emitter){lazy_emit_scaled, NULL, op, 3, false}, dt, dt,
                                   2, both, NULL, &number)
                  : NULL;
}
static lazy_tensor *ops_add(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    const lazy_tensor *x[2];
    if (!ops_operands(l, 2, args, x)) return NULL;
    bool reversed = o->lowered == LOWER_rsub;
    return ops_sum(l, r->op, x[reversed], x[!reversed], &args[2]);
}

/* Half beside a number, or a 0-dim tensor of another dtype, which stays a float
 * (runtime/kernels/pointwise/pointwise_binary.c)? */
static bool ops_stays_wide(dtype dt, const lazy_tensor *const *x) {
    return dtype_is_half(dt) && x[0]->dt == dt && x[1]->dt != dt && !x[1]->ndim;
}
static lazy_tensor *ops_product(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    const lazy_tensor *x[2];
    if (!ops_operands(l, 2, args, x)) return NULL;
    const dtype dt = lazy_promote(2, x), dtypes[2] = {dt, DT_FLOAT32};
    if (!ops_stays_wide(dt, x)) return ops_plain(l, r, o, args);
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_op, NULL, r->op, 2, false}, dt, dt, 2, x,
                          dtypes, NULL);
}

/* Integers are divided only by a constant that is not 0: all else may have to fail. */
static bool ops_divides(lazy *l, const lazy_arg *divisor, dtype dt) {
    int64_t by;
    if (!dtype_is_integral(dt) || l->divides_by_zero) return true;
    const lazy_tensor *t = lazy_arg_tensor(l, divisor);
    if (!t || !t->is_number || !lazy_arg_int(l, divisor, &by)) return false;
    nest_expr *element = lazy_convert(l, nest_int(l->n, by), DT_INT64, dt);
    return element->op == NEST_CONST && element->u.i != 0;
}
static lazy_tensor *ops_divide(lazy *l, const char *function, const lazy_arg *args) {
    const lazy_tensor *x[2];
    if (!ops_operands(l, 2, args, x)) return NULL;
    dtype dt = lazy_promote(2, x);
    if (!ops_accepts("fi", dt) || !ops_divides(l, &args[1], dt)) return NULL;
    const dtype dtypes[2] = {dt, DT_FLOAT32};
    if (!strncmp(function, "div", 3) && ops_stays_wide(dt, x))
        return lazy_pointwise(l, &(lazy_emitter){lazy_emit_call, function, 0, 2, false}, dt, dt, 2,
                              x, dtypes, NULL);
    if (!strncmp(function, "div", 3) && dtype_is_half(dt)) return NULL; /* rounds in between */
    return ops_with(l, function, lazy_emit_call, NEST_CALL, dt, 2, x);
}
static lazy_tensor *ops_remainder(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    return ops_divide(l, o->lowered == LOWER_floor_divide ? "div_floor" : r->function, args);
}
static lazy_tensor *ops_div_mode(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    if (args[2].t || args[2].items) return NULL;
    if (args[2].constant.tag == V_NONE)
        return ops_product(
            l, &(ops_rule){"div", ops_product, OPS_REAL, "f", 2, 0, lazy_emit_op, NEST_DIV}, o,
            args);
    (void)r;
    if (args[2].constant.tag != V_STR) return NULL;
    const char *mode = args[2].constant.u.str->bytes;
    return !strcmp(mode, "trunc")   ? ops_divide(l, "div_trunc", args)
           : !strcmp(mode, "floor") ? ops_divide(l, "div_floor", args)
                                    : NULL;
}

/* The exponents that PyTorch treats specially. */
static lazy_tensor *ops_power(lazy *l, const lazy_tensor *x, double exponent, dtype dt) {
    if (exponent == 2) return ops_with(l, NULL, lazy_emit_square, NEST_MUL, dt, 1, &x);
    if (exponent == 3) return ops_with(l, NULL, lazy_emit_cube, NEST_MUL, dt, 1, &x);
    if (dtype_is_integral(dt)) return NULL;
    if (exponent == 0.5) return ops_with(l, "sqrt", lazy_emit_call, NEST_CALL, dt, 1, &x);
    if (exponent == -0.5) return ops_with(l, "rsqrt", lazy_emit_call, NEST_CALL, dt, 1, &x);
    if (exponent == -1) return ops_with(l, NULL, lazy_emit_reciprocal, NEST_DIV, dt, 1, &x);
    return exponent == -2 ? ops_with(l, NULL, lazy_emit_reciprocal, NEST_MUL, dt, 1, &x) : NULL;
}
static lazy_tensor *ops_pow(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    (void)o;
    const lazy_tensor *x[2];
    double exponent;
    if (!ops_operands(l, 2, args, x)) return NULL;
    dtype dt = lazy_promote(2, x);
    if (!ops_accepts("fi", dt)) return NULL;
    if (x[1]->is_number) {
        int64_t whole;
        if (dtype_is_integral(dt) && (!lazy_arg_int(l, &args[1], &whole) || whole < 0)) return NULL;
        if (!x[0]->is_number && lazy_arg_float(&args[1], &exponent) &&
            !ops_number_fits(l, &args[1], dt))
            return NULL;
        lazy_tensor *known = lazy_arg_float(&args[1], &exponent) ? ops_power(l, x[0], exponent, dt)
                                                                 : NULL;
        if (known) return known;
    }
    return ops_with(l, "pow",
                    x[1]->is_number && dtype_is_float(dt) ? lazy_emit_pow_number : lazy_emit_call,
                    NEST_CALL, dt, 2, x);
}

/* addcmul, addcdiv: self + value * tensor1 * tensor2, ... / tensor2 */
static lazy_tensor *ops_addc(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    const lazy_tensor *x[3];
    if (!ops_operands(l, 3, args, x)) return NULL;
    if (r->op == NEST_DIV && dtype_is_integral(x[1]->dt) && dtype_is_integral(x[2]->dt))
        return NULL;
    return ops_plain(l, r, o, args);
}

static lazy_tensor *ops_lerp(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)o;
    const lazy_tensor *x[3];
    if (!ops_operands(l, 3, args, x) || x[0]->dt != x[1]->dt ||
        (!x[2]->is_number && x[2]->dt != x[0]->dt))
        return NULL;
    const dtype dt = x[0]->dt, dtypes[3] = {dt, dt, DT_FLOAT32};
    if (dtype_is_half(dt) && x[2]->is_number)
        return lazy_pointwise(l, &(lazy_emitter){lazy_emit_call, r->function, 0, 3, false}, dt, dt,
                              3, x, dtypes, NULL);
    return dtype_is_float(dt) ? ops_finish(l, r, dt, 3, x, NULL, 0) : NULL;
}

/* ---- selection ------------------------------------------------------------------------------- */

static lazy_tensor *ops_select(lazy *l, const lazy_tensor *mask, const lazy_tensor *a,
                               const lazy_tensor *b, dtype dt) {
    const lazy_tensor *x[3] = {mask, a, b};
    const dtype dtypes[3] = {DT_BOOL, dt, dt};
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_where, NULL, NEST_SELECT, 3, true}, dt, dt,
                          3, x, dtypes, NULL);
}
static lazy_tensor *ops_where(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    (void)o;
    const lazy_tensor *x[3];
    if (!ops_operands(l, 3, args, x) || (x[0]->dt != DT_BOOL && x[0]->dt != DT_UINT8)) return NULL;
    dtype dt = lazy_promote(2, x + 1);
    for (int i = 1; i < 3; i++)
        if (x[i]->is_number && dtype_is_int(dt) && !ops_number_fits(l, &args[i], dt)) return NULL;
    return ops_accepts("fib", dt) ? ops_select(l, x[0], x[1], x[2], dt) : NULL;
}
static lazy_tensor *ops_masked_fill(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    (void)o;
    const lazy_tensor *x[3];
    if (!ops_operands(l, 3, args, x) || x[1]->dt != DT_BOOL || x[2]->ndim > 0 ||
        !ops_accepts("fib", x[0]->dt))
        return NULL;
    if (x[2]->is_number && !ops_number_fits(l, &args[2], x[0]->dt) && !dtype_is_float(x[0]->dt))
        return NULL;
    return ops_select(l, x[1], x[2], x[0], x[0]->dt);
}

static double ops_lowest(dtype dt) {
    return dt == DT_UINT8   ? 0
           : dt == DT_INT8  ? -128
           : dt == DT_INT16 ? -32768
           : dt == DT_INT32 ? -0x1p31
                            : -0x1p63;
}
/* low, high: NULL where there is no bound. */
static lazy_tensor *ops_clamp_to(lazy *l, const lazy_tensor *self, const lazy_arg *low,
                                 const lazy_arg *high) {
    const lazy_tensor *x[3] = {self}, *bounds[2] = {NULL};
    const lazy_arg *given[2] = {low, high};
    bool tensors = false;
    int n = 1;
    for (int k = 0; k < 2; k++) {
        if (!given[k] || lazy_arg_is_none(given[k])) continue;
        if (!(bounds[k] = x[n++] = lazy_arg_tensor(l, given[k]))) return NULL;
        tensors |= !bounds[k]->is_number;
    }
    dtype dt = tensors || !dtype_is_float(self->dt) ? lazy_promote(n, x) : self->dt;
    if (n == 1 || !ops_accepts("fi", dt)) return NULL;
    for (int k = 0; k < 2; k++) {
        if (!bounds[k]) {
            double open = dtype_is_float(dt) ? -__builtin_inf() : ops_lowest(dt);
            if (k) open = dtype_is_float(dt) ? __builtin_inf() : dt == DT_UINT8 ? 255 : -(open + 1);
            nest_expr *bound = dt == DT_INT64 && k ? nest_int(l->n, INT64_MAX)
                                                   : ops_constant(l, dt, open);
            bounds[k] = lazy_scalar(l, dt, bound);
        } else if (bounds[k]->is_number && !tensors && !ops_bound_fits(l, given[k], dt) &&
                   !dtype_is_float(dt)) {
            return NULL;
        }
    }
    const lazy_tensor *all[3] = {self, bounds[0], bounds[1]};
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_clamp, NULL, NEST_SELECT, 3, true}, dt, dt,
                          3, all, NULL, NULL);
}
static lazy_tensor *ops_clamp(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    const lazy_tensor *self = lazy_arg_tensor(l, &args[0]);
    if (!self) return NULL;
    if (o->lowered == LOWER_clamp_min) return ops_clamp_to(l, self, &args[1], NULL);
    if (o->lowered == LOWER_clamp_max) return ops_clamp_to(l, self, NULL, &args[1]);
    return ops_clamp_to(l, self, &args[1], &args[2]);
}

/* hardtanh(self, min_val, max_val), relu6(self): the dtype stays. Of integers only bounds that they
 * hold. */
static lazy_tensor *ops_hardtanh(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    static const lazy_arg six[2] = {{.constant = {.tag = V_INT, .u.i = 0}},
                                    {.constant = {.tag = V_INT, .u.i = 6}}};
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    const lazy_arg *bounds = o->lowered == LOWER_relu6 ? six : args + 1;
    nest_expr *numbers[2];
    if (!x || !ops_accepts("fi", x->dt)) return NULL;
    for (int k = 0; k < 2; k++) {
        if (dtype_is_int(x->dt) && !ops_bound_fits(l, &bounds[k], x->dt)) return NULL;
        if (!(numbers[k] = ops_number(l, &bounds[k], x->dt))) return NULL;
    }
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_clamp, NULL, NEST_SELECT, 3, false}, x->dt,
                          x->dt, 1, &x, NULL, numbers);
}

/* ---- functions with modes -------------------------------------------------------------------- */

static lazy_tensor *ops_gelu(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    (void)o;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    const value *how = &args[1].constant;
    if (!x || !dtype_is_float(x->dt) || args[1].t || how->tag != V_STR) return NULL;
    bool tanh = !strcmp(how->u.str->bytes, "tanh");
    if (!tanh && strcmp(how->u.str->bytes, "none")) return NULL;
    return ops_with(l, tanh ? "gelu_tanh" : "gelu", lazy_emit_call, NEST_CALL, x->dt, 1, &x);
}

/* elu(self, alpha, scale, input_scale), selu(self), celu(self, alpha) */
static lazy_tensor *ops_elu(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946,
           input = 1; /* of selu */
    if (!x || !dtype_is_float(x->dt)) return NULL;
    if (o->lowered == LOWER_elu) {
        if (!lazy_arg_float(&args[1], &alpha) || !lazy_arg_float(&args[2], &scale) ||
            !lazy_arg_float(&args[3], &input))
            return NULL;
    } else if (o->lowered == LOWER_celu) {
        if (!lazy_arg_float(&args[1], &alpha) || alpha == 0) return NULL;
        scale = 1, input = 1 / alpha;
    }
    nest_expr *numbers[3] = {ops_constant(l, x->dt, alpha * scale), ops_constant(l, x->dt, scale),
                             ops_constant(l, x->dt, input)};
    if (o->lowered == LOWER_celu) numbers[0] = ops_constant(l, x->dt, alpha);
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_call, "elu", NEST_CALL, 4, false}, x->dt,
                          x->dt, 1, &x, NULL, numbers);
}

static lazy_tensor *ops_softshrink(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    double lambda;
    return lazy_arg_float(&args[1], &lambda) && !(lambda < 0) ? ops_plain(l, r, o, args) : NULL;
}

/* isnan, isfinite, ...: of integers all elements have the same answer. */
static lazy_tensor *ops_test(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    if (!x || dtype_is_float(x->dt)) return x ? ops_plain(l, r, o, args) : NULL;
    if (!dtype_is_integral(x->dt)) return NULL;
    if (o->lowered == LOWER_signbit) {
        if (x->dt != DT_BOOL && x->dt != DT_UINT8) {
            const lazy_tensor *both[2] = {x, lazy_scalar(l, x->dt, ops_constant(l, x->dt, 0))};
            return lazy_pointwise(l, &(lazy_emitter){lazy_emit_op, NULL, NEST_LT, 2, true}, x->dt,
                                  DT_BOOL, 2, both, NULL, NULL);
        }
    }
    nest_expr *answer = nest_const_int(l->n, NEST_BOOL, o->lowered == LOWER_isfinite);
    const lazy_tensor *both[2] = {lazy_scalar(l, DT_BOOL, answer), x};
    const dtype dtypes[2] = {DT_BOOL, x->dt};
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_copy, NULL, NEST_CAST, 2, true}, DT_BOOL,
                          DT_BOOL, 2, both, dtypes, NULL);
}

/* Rounding leaves integers alone. */
static lazy_tensor *ops_rounding(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    if (!x || !dtype_is_int(x->dt)) return x ? ops_plain(l, r, o, args) : NULL;
    return lazy_cast(l, x, x->dt);
}
static lazy_tensor *ops_round_decimals(lazy *l, const ops_rule *r, const op *o,
                                       const lazy_arg *args) {
    (void)r;
    (void)o;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    int64_t decimals;
    if (!x || !ops_accepts("fi", x->dt) || !lazy_arg_int(l, &args[1], &decimals)) return NULL;
    if (decimals < -300 || decimals > 300) return NULL;
    if (dtype_is_int(x->dt)) return lazy_cast(l, x, x->dt);
    if (decimals == 0) return ops_with(l, "round", lazy_emit_call, NEST_CALL, x->dt, 1, &x);
    double ten = 1;
    for (int64_t i = decimals < 0 ? -decimals : decimals; i > 0; i--) ten *= 10;
    nest_expr *numbers[2] = {ops_constant(l, x->dt, ten), ops_constant(l, x->dt, decimals < 0)};
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_call, "round_decimals", NEST_CALL, 3, false},
                          x->dt, x->dt, 1, &x, NULL, numbers);
}

/* nan_to_num(self, nan, posinf, neginf): absent bounds are the dtype's largest and lowest. */
static lazy_tensor *ops_nan_to_num(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    (void)o;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    if (!x || !ops_accepts("fib", x->dt)) return NULL;
    if (!dtype_is_float(x->dt)) return lazy_cast(l, x, x->dt);
    double high = x->dt == DT_FLOAT64   ? 1.7976931348623157e308
                  : x->dt == DT_FLOAT32 ? 3.4028234663852886e38
                  : x->dt == DT_FLOAT16 ? 65504.0
                                        : 3.3895313892515355e38;
    double defaults[3] = {0, high, -high};
    nest_expr *numbers[3];
    for (int k = 0; k < 3; k++) {
        numbers[k] = lazy_arg_is_none(&args[k + 1]) ? ops_constant(l, x->dt, defaults[k])
                                                    : ops_number(l, &args[k + 1], x->dt);
        if (!numbers[k]) return NULL;
    }
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_call, "nan_to_num", NEST_CALL, 4, false},
                          x->dt, x->dt, 1, &x, NULL, numbers);
}

static lazy_tensor *ops_logit(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    double eps = -1;
    if (!lazy_arg_is_none(&args[1]) && !lazy_arg_float(&args[1], &eps)) return NULL;
    if (!(eps >= 0)) return ops_plain(l, r, o, args);
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    if (!x) return NULL;
    const dtype dt = dtype_is_integral(x->dt) ? DT_FLOAT32 : x->dt;
    if (!ops_accepts("f", dt)) return NULL;
    eps = dtype_round(dt, eps);
    nest_expr *bounds[2] = {ops_constant(l, dt, eps),
                            ops_constant(l, dt, dtype_round(dt, 1 - eps))};
    return lazy_pointwise(l, &(lazy_emitter){lazy_emit_call, "logit_eps", NEST_CALL, 3, false}, dt,
                          dt, 1, &x, NULL, bounds);
}

/* ---- channels -------------------------------------------------------------------------------- */

/* A vector as a tensor of ndim dims, its element c at index c of dim 1. */
static const lazy_tensor *ops_channels(lazy *l, const lazy_tensor *v, const lazy_tensor *x) {
    nest_expr *sizes[LAZY_MAX_DIMS];
    if (v->ndim != 1 || x->ndim < 2 || !lazy_same_size(l, v->sizes[0], x->sizes[1])) return NULL;
    for (int i = 0; i < x->ndim; i++) sizes[i] = i == 1 ? x->sizes[1] : lazy_one(l);
    return lazy_map(l, v, x->ndim, sizes, (const int[]){1}, NULL, NULL);
}
static lazy_tensor *ops_prelu(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)o;
    const lazy_tensor *x[2];
    if (!ops_operands(l, 2, args, x) || x[0]->dt != x[1]->dt || !dtype_is_float(x[0]->dt) ||
        x[1]->ndim > 1)
        return NULL;
    if (x[1]->ndim == 1 && lazy_is_one(l, x[1]->sizes[0])) {
        x[1] = lazy_map(l, x[1], 0, NULL, (const int[]){-1}, NULL, NULL);
    } else if (x[1]->ndim == 1 && !(x[1] = ops_channels(l, x[1], x[0]))) {
        return NULL;
    }
    return ops_finish(l, r, x[0]->dt, 2, x, NULL, 0);
}
/* Is the tensor known to have elements? */
static bool ops_has_elements(lazy *l, const lazy_tensor *x) {
    for (int i = 0; i < x->ndim; i++)
        if (!lazy_is_positive(l, x->sizes[i])) return false;
    return true;
}
/* A weight or bias that is wider than the input gives a result of its own dtype where the input is
 * empty (norm_batch_empty), and of the input's otherwise. */
static lazy_tensor *ops_batch_norm(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)o;
    const lazy_tensor *x[5];
    bool training;
    if (!(x[0] = lazy_arg_tensor(l, &args[0])) || !dtype_is_float(x[0]->dt) || x[0]->ndim < 2)
        return NULL;
    if (!lazy_arg_bool(l, &args[5], &training) || training) return NULL;
    dtype dt = x[0]->dt, wide = dt == DT_FLOAT64 ? dt : DT_FLOAT32;
    for (int i = 1; i < 5; i++) {
        if (lazy_arg_is_none(&args[i]) && i < 3) {
            x[i] = lazy_scalar(l, wide, ops_constant(l, wide, i == 1));
            continue;
        }
        if (!(x[i] = lazy_arg_tensor(l, &args[i])) || (x[i]->dt != dt && x[i]->dt != wide))
            return NULL;
        if (x[i]->dt != dt && !ops_has_elements(l, x[0])) return NULL;
        if (!(x[i] = ops_channels(l, x[i], x[0]))) return NULL;
    }
    nest_expr *eps = ops_number(l, &args[7], wide);
    lazy_emitter e = {r->emit, NULL, NEST_DIV, 6, false};
    return eps ? lazy_pointwise(l, &e, wide, dt, 5, x, NULL, &eps) : NULL;
}
/* A batch norm of constants, whose channels come last: x * scale + shift, of
 * float32, as x' dtype. */
static lazy_tensor *ops_scale_last(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)o;
    const lazy_tensor *x[3];
    int64_t spatial;
    dtype dt;
    if (!ops_operands(l, 3, args, x) || !lazy_arg_int(l, &args[3], &spatial) ||
        !lazy_arg_dtype(l, &args[4], DT_FLOAT32, &dt) || x[0]->ndim != spatial + 2)
        return NULL;
    dtype in = x[0]->dt;
    if (in != dt && !(dt == DT_FLOAT32 && dtype_is_half(in))) return NULL;
    if (in != DT_FLOAT32 && !dtype_is_half(in)) return NULL;
    for (int i = 1; i < 3; i++)
        if (x[i]->dt != DT_FLOAT32 || x[i]->ndim != 1 ||
            !lazy_same_size(l, x[i]->sizes[0], x[0]->sizes[spatial + 1]))
            return NULL;
    lazy_emitter e = {r->emit, NULL, NEST_MUL, 3, false};
    return lazy_pointwise(l, &e, DT_FLOAT32, in, 3, x, NULL, NULL);
}
static lazy_tensor *ops_glu(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)o;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]), *halves[2];
    int64_t dim;
    int d;
    if (!x || x->ndim == 0 || !dtype_is_float(x->dt)) return NULL;
    if (!lazy_arg_int(l, &args[1], &dim) || !lazy_wrap_dim(dim, x->ndim, &d)) return NULL;
    nest_expr *two = nest_int(l->n, 2), *half = lazy_size(l, NEST_DIV_INDEX, x->sizes[d], two);
    if (!lazy_same_size(l, lazy_size(l, NEST_MUL, half, two), x->sizes[d])) return NULL;
    halves[0] = lazy_slice(l, x, d, lazy_zero(l), half, 1);
    halves[1] = lazy_slice(l, x, d, half, half, 1);
    return ops_finish(l, r, x->dt, 2, halves, NULL, 0);
}

/* ---- conversion and constants ---------------------------------------------------------------- */

static const lazy_arg *ops_named(const op *o, const lazy_arg *args, const char *name) {
    int i = schema_find_arg(o->schema, name);
    return i < 0 ? NULL : &args[i];
}

/* No other device, no other layout. */
static bool ops_stays_here(const lazy *l, const op *o, const lazy_arg *args) {
    const lazy_arg *device = ops_named(o, args, "device"), *layout = ops_named(o, args, "layout");
    if (device && (device->t || (device->constant.tag != V_NONE &&
                                 (l->elsewhere || device->constant.tag != V_DEVICE ||
                                  device->constant.u.device != 0))))
        return false;
    return !layout ||
           (!layout->t && (layout->constant.tag == V_NONE ||
                           (layout->constant.tag == V_INT && layout->constant.u.i == 0)));
}
/* The dtype of a tensor of any shape, which may be a constant. */
static bool ops_dtype_of(const lazy_arg *a, dtype *out) {
    if (!a->t && a->constant.tag != V_TENSOR) return false;
    *out = a->t ? a->t->dt : (dtype)a->constant.u.tensor->dtype;
    return true;
}
/* Of conversions whose name says to which dtype. */
static void ops_names_dtype(lowered_op rule, dtype *dt) {
    switch (rule) {
    case LOWER_to_uint8: *dt = DT_UINT8; break;
    case LOWER_to_int8: *dt = DT_INT8; break;
    case LOWER_to_int16: *dt = DT_INT16; break;
    case LOWER_to_int32: *dt = DT_INT32; break;
    case LOWER_to_int64: *dt = DT_INT64; break;
    case LOWER_to_float16: *dt = DT_FLOAT16; break;
    case LOWER_to_float32: *dt = DT_FLOAT32; break;
    case LOWER_to_float64: *dt = DT_FLOAT64; break;
    default: break;
    }
}
static lazy_tensor *ops_to(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    const lazy_arg *other = ops_named(o, args, "other"), *want = ops_named(o, args, "dtype");
    if (!x || x->is_number || !ops_stays_here(l, o, args)) return NULL;
    dtype dt = x->dt;
    ops_names_dtype(o->lowered, &dt);
    if (other && !ops_dtype_of(other, &dt)) return NULL;
    if (want && !lazy_arg_dtype(l, want, dt, &dt)) return NULL;
    return lazy_cast(l, x, dt);
}
static lazy_tensor *ops_autocast(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    int flag = autocast_flag(o->symbol, l->elsewhere),
        lower = autocast_lower(o->symbol, l->elsewhere);
    bool on = true;
    dtype dt = DT_FLOAT32;
    if (!x || x->is_number || (flag >= 0 && !lazy_arg_bool(l, &args[flag], &on)) ||
        (lower >= 0 && !lazy_arg_dtype(l, &args[lower], dt, &dt)))
        return NULL;
    return lazy_cast(l, x, autocast_dtype(o->symbol, x->dt, on, dt));
}
static lazy_tensor *ops_clone(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    (void)o;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    return x && !x->is_number ? lazy_cast(l, x, x->dt) : NULL;
}
static lazy_tensor *ops_full_like(lazy *l, const ops_rule *r, const op *o, const lazy_arg *args) {
    (void)r;
    const lazy_tensor *x = lazy_arg_tensor(l, &args[0]);
    const lazy_arg fixed = {.constant = value_int(o->lowered == LOWER_ones_like)};
    const lazy_arg *fill = o->lowered == LOWER_full_like ? &args[1] : &fixed,
                   *want = ops_named(o, args, "dtype");
    dtype dt;
    if (!x || x->is_number || !ops_stays_here(l, o, args)) return NULL;
    if (!lazy_arg_dtype(l, want, x->dt, &dt) || !ops_accepts("fib", dt)) return NULL;
    const lazy_tensor *number = lazy_arg_tensor(l, fill);
    if (!number || (!ops_number_fits(l, fill, dt) && !(dtype_is_float(dt) && fill->t))) return NULL;
    const lazy_tensor *both[2] = {number, x};
    const dtype dtypes[2] = {dt, x->dt};
    lazy_tensor *t = lazy_pointwise(l, &(lazy_emitter){lazy_emit_copy, NULL, NEST_CAST, 1, true},
                                    dt, dt, 2, both, dtypes, NULL);
    if (t) t->ninputs = 1; /* only the shape of x is used: no element is read */
    return t;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off: a table */
#define RULE(name, ...) [LOWER_##name] = {#name, __VA_ARGS__}
#define COMPARE(name, OP)                                                                          \
    RULE(name, ops_plain, OPS_TEST, "fib", 2, 0, lazy_emit_op, NEST_##OP, true)
#define LOGIC(name, OP)                                                                            \
    RULE(name, ops_plain, OPS_TEST, "fib", 2, 0, lazy_emit_logic, NEST_##OP, true)
#define BITS(name, OP) RULE(name, ops_plain, OPS_SAME, "ib", 2, 0, lazy_emit_op, NEST_##OP)
#define TEST(name) RULE(name, ops_test, OPS_TEST, "f", 1, 0, lazy_emit_test, NEST_CALL, true)
#define ROUNDING(name) RULE(name, ops_rounding, OPS_SAME, "f", 1, 0, lazy_emit_call, NEST_CALL)
#define MINMAX(name, OP)                                                                           \
    RULE(name, ops_plain, OPS_SAME, "fib", 2, 0, lazy_emit_minmax, NEST_##OP, true)
#define MADE(name, maker) RULE(name, maker, OPS_SAME, "fib", 0, 0, lazy_emit_call, NEST_CALL)

static const ops_rule ops_rules[LOWERED_VIEWS] = {
    /* function, maker, kind, dtypes, operands, numbers, emitter, operation, exact */
    RULE(add, ops_add, OPS_SAME, "fib", 2, 1, NULL, NEST_ADD),
    RULE(sub, ops_add, OPS_SAME, "fi", 2, 1, NULL, NEST_SUB),
    RULE(rsub, ops_add, OPS_SAME, "fi", 2, 1, NULL, NEST_SUB),
    RULE(mul, ops_product, OPS_SAME, "fib", 2, 0, lazy_emit_op, NEST_MUL),
    RULE(div, ops_product, OPS_REAL, "f", 2, 0, lazy_emit_op, NEST_DIV),
    MADE(div_mode, ops_div_mode),
    MADE(floor_divide, ops_remainder),
    MADE(remainder, ops_remainder),
    MADE(fmod, ops_remainder),
    MADE(pow, ops_pow),
    MINMAX(maximum, GT),
    MINMAX(minimum, LT),
    MINMAX(fmax, GT),
    MINMAX(fmin, LT),
    RULE(addcmul, ops_addc, OPS_SAME, "fi", 3, 1, lazy_emit_addcmul, NEST_MUL),
    RULE(addcdiv, ops_addc, OPS_SAME, "f", 3, 1, lazy_emit_addcdiv, NEST_DIV),
    RULE(lerp, ops_lerp, OPS_SAME, "f", 3, 0, lazy_emit_call, NEST_CALL),
    COMPARE(eq, EQ),
    COMPARE(ne, NE),
    COMPARE(lt, LT),
    COMPARE(le, LE),
    COMPARE(gt, GT),
    COMPARE(ge, GE),
    LOGIC(logical_and, AND),
    LOGIC(logical_or, OR),
    LOGIC(logical_xor, XOR),
    RULE(logical_not, ops_plain, OPS_TEST, "fib", 1, 0, lazy_emit_logical_not, NEST_NOT, true),
    BITS(bitwise_and, AND),
    BITS(bitwise_or, OR),
    BITS(bitwise_xor, XOR),
    RULE(bitwise_not, ops_plain, OPS_SAME, "ib", 1, 0, lazy_emit_not, NEST_NOT),
    RULE(lshift, ops_plain, OPS_SAME, "i", 2, 0, lazy_emit_call, NEST_CALL),
    RULE(rshift, ops_plain, OPS_SAME, "i", 2, 0, lazy_emit_call, NEST_CALL),
    MADE(where, ops_where),
    MADE(masked_fill, ops_masked_fill),
    MADE(clamp, ops_clamp),
    MADE(clamp_min, ops_clamp),
    MADE(clamp_max, ops_clamp),
    RULE(reciprocal, ops_plain, OPS_REAL, "f", 1, 0, lazy_emit_reciprocal, NEST_DIV),
    RULE(gcd, ops_plain, OPS_SAME, "i", 2, 0, lazy_emit_call, NEST_CALL),
    RULE(lcm, ops_plain, OPS_SAME, "i", 2, 0, lazy_emit_call, NEST_CALL),
    RULE(abs, ops_plain, OPS_SAME, "fi", 1, 0, lazy_emit_abs, NEST_CALL, true),
    RULE(neg, ops_plain, OPS_SAME, "fi", 1, 0, lazy_emit_neg, NEST_NEG, true),
    RULE(sign, ops_plain, OPS_SAME, "fib", 1, 0, lazy_emit_sign, NEST_CALL, true),
    RULE(square, ops_plain, OPS_SAME, "fi", 1, 0, lazy_emit_square, NEST_MUL),
    ROUNDING(floor),
    ROUNDING(ceil),
    ROUNDING(trunc),
    ROUNDING(round),
    MADE(round_decimals, ops_round_decimals),
    TEST(isnan),
    TEST(isinf),
    TEST(isfinite),
    TEST(isposinf),
    TEST(isneginf),
    TEST(signbit),
    MADE(nan_to_num, ops_nan_to_num),
    RULE(logit, ops_logit, OPS_REAL, "f", 1, 0, lazy_emit_call, NEST_CALL),
    RULE(relu, ops_plain, OPS_SAME, "fi", 1, 0, lazy_emit_relu, NEST_SELECT, true),
    MADE(relu6, ops_hardtanh),
    MADE(hardtanh, ops_hardtanh),
    MADE(gelu, ops_gelu),
    MADE(elu, ops_elu),
    MADE(selu, ops_elu),
    MADE(celu, ops_elu),
    RULE(leaky_relu, ops_plain, OPS_SAME, "f", 1, 1, lazy_emit_leaky_relu, NEST_MUL),
    RULE(prelu, ops_prelu, OPS_SAME, "f", 2, 0, lazy_emit_leaky_relu, NEST_MUL),
    RULE(softshrink, ops_softshrink, OPS_SAME, "f", 1, 1, lazy_emit_call, NEST_CALL),
    RULE(threshold, ops_plain, OPS_SAME, "fi", 1, 2, lazy_emit_threshold, NEST_SELECT),
    RULE(glu, ops_glu, OPS_SAME, "f", 2, 0, lazy_emit_call, NEST_CALL),
    RULE(batch_norm, ops_batch_norm, OPS_SAME, "f", 5, 1, lazy_emit_batch_norm, NEST_DIV),
    RULE(scale_channels_last, ops_scale_last, OPS_SAME, "f", 3, 1, lazy_emit_scale_shift, NEST_MUL),
    MADE(to, ops_to),
    MADE(autocast, ops_autocast),
    MADE(to_uint8, ops_to),
    MADE(to_int8, ops_to),
    MADE(to_int16, ops_to),
    MADE(to_int32, ops_to),
    MADE(to_int64, ops_to),
    MADE(to_float16, ops_to),
    MADE(to_float32, ops_to),
    MADE(to_float64, ops_to),
    MADE(clone, ops_clone),
    MADE(full_like, ops_full_like),
    MADE(zeros_like, ops_full_like),
    MADE(ones_like, ops_full_like),
};
/* clang-format on */

/* The table of operators knows better what a function costs. */
static lazy_tensor *ops_price(lazy_tensor *t, int cost) {
    if (!t || t->at != ops_at) return t;
    const ops_tensor *p = t->impl;
    int own = ops_cost(&p->e);
    if (p->e.call && cost > own) t->cost += cost - own;
    return t;
}

/* CALLS: the scalar function on operands and numbers, which needs no rule of its own. */
static lazy_tensor *ops_call(lazy *l, const op *o, const lazy_arg *args) {
    int operands = o->traits.call_operands;
    ops_rule r = {.function = o->called,
                  .kind = o->traits.call == CALL_REALS ? OPS_REAL : OPS_SAME,
                  .accepts = "f",
                  .operands = operands,
                  .numbers = o->schema->nargs - operands,
                  .emit = lazy_emit_call,
                  .op = NEST_CALL};
    return ops_plain(l, &r, o, args);
}

lazy_tensor *lazy_apply_pointwise(lazy *l, const op *o, const lazy_arg *args) {
    if (o->traits.call) return ops_price(ops_call(l, o, args), o->traits.cost);
    const ops_rule *r = o->lowered < LOWERED_VIEWS ? &ops_rules[o->lowered] : NULL;
    return r && r->make ? ops_price(r->make(l, r, o, args), o->traits.cost) : NULL;
}
