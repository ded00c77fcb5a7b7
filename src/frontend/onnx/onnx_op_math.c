/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_math.c - arithmetic, products, activations, reductions.
 *
 * Integers that are known as numbers (sizes) are computed as numbers. A product with a constant
 * matrix is aten::linear, as in the program that the model was exported from: the pass `linear`
 * adds the bias, and it gets packed weights and epilogues.
 */
#include "base/text/text.h"
#include "frontend/onnx/onnx_internal.h"

#include <float.h>
#include <math.h>

/* ---- two operands ---------------------------------------------------------------------------- */

static int math_dtype(const onnx_node *n) {
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && n->in[i]->dt >= 0) return n->in[i]->dt;
    return -1;
}

/* Numbers with numbers: *done, where both are, and one is not a constant anyway. */
static bool binary_ints(onnx_node *n, const char *key, bool *done) {
    onnx_program *p = n->p;
    onnx_value *a = onnx_in(n, 0), *b = onnx_in(n, 1);
    *done = false;
    if (!a || !b || (a->constant && b->constant) || (!a->ints && !b->ints) ||
        !onnx_has_ints(p, a) || !onnx_has_ints(p, b) ||
        (a->nints != b->nints && a->nints != 1 && b->nints != 1))
        return true;
    int count = a->nints == 1 ? b->nints : a->nints;
    ir_value **out = arena_array(&p->scratch, ir_value *, count + 1);
    if (!out) return onnx_no_memory(p);
    for (int i = 0; i < count; i++)
        if (!(out[i] = ONNX_EMIT(p, key, a->ints[a->nints == 1 ? 0 : i],
                                 b->ints[b->nints == 1 ? 0 : i])))
            return false;
    *done = true;
    return onnx_out_ints(n, 0, count, out, a->rank > b->rank ? a->rank : b->rank);
}

/* Is v a constant number, which shapes nothing beside a tensor of rank `other`? */
static bool binary_scalar(const onnx_value *v, const onnx_value *other, double *out) {
    return v->constant && onnx_known_number(v, out) &&
           (v->rank == 0 || (other->rank >= v->rank && !other->constant)) &&
           v->constant->dtype != DT_BOOL && isfinite(*out);
}

static ir_value *binary_number(onnx_program *p, const onnx_value *v, double f) {
    return dtype_is_float((dtype)v->constant->dtype) ? onnx_float(p, f)
                                                     : onnx_int(p, tensor_item_int(v->constant));
}

/* x * sigmoid(x), whose sigmoid nothing else reads, is silu(x). */
static ir_value *binary_silu(onnx_node *n) {
    for (int i = 0; i < 2; i++) {
        onnx_value *x = n->in[i], *s = n->in[1 - i];
        if (x->ir && s->ir && s->ir->def && s->scope == n->sc &&
            node_is_overload(s->ir->def, SYM_SIGMOID) && s->ir->def->inputs.data[0] == x->ir &&
            (uintptr_t)strmap_get(&n->p->uses, s->name) == 1)
            return ONNX_EMIT(n->p, "aten::silu", x->ir);
    }
    return NULL;
}

/* Keys of the forms of an operation. */
typedef struct binary_op {
    const char *name, *ints, *tensors, *number;
    const char *reversed; /* number first; NULL: none */
} binary_op;

static const binary_op binary_ops[] = {
    {"add", "aten::add.int", "aten::add.Tensor", "aten::add.Scalar", "aten::add.Scalar"},
    {"sub", "aten::sub.int", "aten::sub.Tensor", "aten::sub.Scalar", "aten::rsub.Scalar"},
    {"mul", "aten::mul.int", "aten::mul.Tensor", "aten::mul.Scalar", "aten::mul.Scalar"},
    {"div", "aten::__round_to_zero_floordiv.int", "aten::div.Tensor", "aten::div.Scalar", NULL},
};

/* Whole numbers are divided towards zero. */
static ir_value *binary_divide(onnx_node *n, int dt) {
    ir_value *a = onnx_t(n, 0), *b = a ? onnx_t(n, 1) : NULL;
    if (!b) return NULL;
    if (dt < 0) return ONNX_EMIT(n->p, "ctsc::onnx_div", a, b);
    ir_value *mode = onnx_str(n->p, "trunc");
    return mode ? ONNX_EMIT(n->p, "aten::div.Tensor_mode", a, b, mode) : NULL;
}

bool onnx_op_binary(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    const binary_op *o = binary_ops;
    while (strcmp(o->name, text)) o++;
    onnx_value *a = onnx_need(n, 0), *b = a ? onnx_need(n, 1) : NULL;
    bool done, divides = *text == 'd';
    double f;
    if (!b || !binary_ints(n, o->ints, &done)) return false;
    if (done) return true;
    int dt = math_dtype(n);
    ir_value *v = *text == 'm' ? binary_silu(n) : NULL, *x;
    if (v) return onnx_result(n, v);
    if (divides && (dt < 0 || !dtype_is_float((dtype)dt)))
        return onnx_result(n, binary_divide(n, dt));
    if (binary_scalar(b, a, &f)) {
        v = (x = onnx_t(n, 0)) ? ONNX_EMIT(p, o->number, x, binary_number(p, b, f)) : NULL;
    } else if (o->reversed && binary_scalar(a, b, &f)) {
        v = (x = onnx_t(n, 1)) ? ONNX_EMIT(p, o->reversed, x, binary_number(p, a, f)) : NULL;
    } else {
        x = onnx_t(n, 0);
        ir_value *y = x ? onnx_t(n, 1) : NULL;
        v = y ? ONNX_EMIT(p, o->tensors, x, y) : NULL;
    }
    if (!v) return onnx_no_memory(p);
    int rank = a->rank < 0 || b->rank < 0 ? -1 : a->rank > b->rank ? a->rank : b->rank;
    return onnx_out(n, 0, v, rank, dt);
}

bool onnx_op_pow(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *a = onnx_need(n, 0), *b = a ? onnx_need(n, 1) : NULL;
    double f;
    (void)text;
    ir_value *x = b ? onnx_t(n, 0) : NULL;
    if (!x) return false;
    bool floating = a->dt >= 0 && dtype_is_float((dtype)a->dt);
    if (floating && binary_scalar(b, a, &f))
        return onnx_result(n, ONNX_EMIT(p, "aten::pow.Tensor_Scalar", x, onnx_float(p, f)));
    ir_value *y = onnx_t(n, 1);
    return y && onnx_result(n, ONNX_EMIT(p,
                                         floating && a->dt == b->dt ? "aten::pow.Tensor_Tensor"
                                                                    : "ctsc::onnx_pow",
                                         x, y));
}

static bool math_two(onnx_node *n, const char *key) {
    ir_value *x = onnx_t(n, 0), *y = x ? onnx_t(n, 1) : NULL;
    return y && onnx_result(n, ONNX_EMIT(n->p, key, x, y));
}

bool onnx_op_mod(onnx_node *n, const char *text) {
    (void)text;
    return math_two(n,
                    onnx_attr_int(n, "fmod", 0) ? "aten::fmod.Tensor" : "aten::remainder.Tensor");
}

bool onnx_op_shift(onnx_node *n, const char *text) {
    const char *way = onnx_attr_text(n, "direction", "");
    (void)text;
    return math_two(n, !strcmp(way, "LEFT") ? "aten::bitwise_left_shift.Tensor"
                                            : "aten::bitwise_right_shift.Tensor");
}

bool onnx_op_compare(onnx_node *n, const char *text) {
    char key[40];
    text_print(key, sizeof key, "aten::%s.Tensor", text);
    return math_two(n, key);
}

bool onnx_op_variadic(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    bool mean = *text == 'm';
    ir_value *v = onnx_t(n, 0);
    for (int i = 1; v && i < n->nin; i++) {
        ir_value *x = onnx_t(n, i);
        v = x ? ONNX_EMIT(p, mean ? "aten::add.Tensor" : text, v, x) : NULL;
    }
    if (v && mean) v = ONNX_EMIT(p, "aten::div.Scalar", v, onnx_int(p, n->nin));
    return v && onnx_result(n, v);
}

/* ---- activations, casts ---------------------------------------------------------------------- */

/* A bound as a number: *known. false: there is none. */
static bool clip_bound(onnx_node *n, bool attributes, int i, double *out, bool *known) {
    const char *name = i == 1 ? "min" : "max";
    onnx_value *v = attributes ? NULL : onnx_in(n, i);
    *known = true;
    if (attributes) {
        if (!onnx_attr(n, name)) return false;
        *out = onnx_attr_float(n, name, 0);
        return true;
    }
    if (v) *known = onnx_known_number(v, out);
    return v != NULL;
}

static ir_value *clip_number(onnx_node *n, bool given, double f) {
    int dt = n->in[0]->dt;
    if (!given) return onnx_none(n->p);
    bool whole = dt >= 0 && dtype_is_integral((dtype)dt) && fabs(f) < 9e18;
    return whole ? onnx_int(n->p, (int64_t)f) : onnx_float(n->p, f);
}

static double clip_largest(dtype dt) {
    return dt == DT_FLOAT64    ? DBL_MAX
           : dt == DT_FLOAT16  ? 65504
           : dt == DT_BFLOAT16 ? 0x1.fep127
                               : (double)FLT_MAX;
}

bool onnx_op_clip(onnx_node *n, const char *text) {
    bool attributes = *text == 'a', known_low, known_high;
    double f[2];
    ir_value *x = onnx_t(n, 0);
    if (!x) return false;
    bool low = clip_bound(n, attributes, 1, &f[0], &known_low),
         high = clip_bound(n, attributes, 2, &f[1], &known_high);
    if (!known_low || !known_high) {
        ir_value *a = onnx_t_or_none(n, 1), *b = a ? onnx_t_or_none(n, 2) : NULL;
        if (b && n->in[0]->dt >= 0 && dtype_is_float((dtype)n->in[0]->dt) && (!low || !high)) {
            double most = clip_largest((dtype)n->in[0]->dt);
            x = ONNX_EMIT(n->p, "aten::clamp", x, low ? onnx_none(n->p) : onnx_float(n->p, -most),
                          high ? onnx_none(n->p) : onnx_float(n->p, most));
            if (!x) return false;
        }
        return b && onnx_result(n, ONNX_EMIT(n->p, "aten::clamp.Tensor", x, a, b));
    }
    if (!low && !high) return onnx_result(n, x);
    bool floating = n->in[0]->dt >= 0 && dtype_is_float((dtype)n->in[0]->dt);
    /* a bound that is left out is the largest finite number */
    if (floating) {
        double most = clip_largest((dtype)n->in[0]->dt);
        if (!low) f[0] = -most;
        if (!high) f[1] = most;
        low = high = true;
    }
    ir_value *a = clip_number(n, low, f[0]), *b = a ? clip_number(n, high, f[1]) : NULL;
    bool tanh = floating && low && high && f[0] <= f[1];
    return b && onnx_result(n, ONNX_EMIT(n->p, tanh ? "aten::hardtanh" : "aten::clamp", x, a, b));
}

bool onnx_op_hard_sigmoid(onnx_node *n, const char *text) {
    double alpha = onnx_attr_float(n, "alpha", 0.2), beta = onnx_attr_float(n, "beta", 0.5);
    (void)text;
    if (fabs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5)
        return onnx_template(n, "aten::hardsigmoid $0");
    return onnx_template(n, "ctsc::onnx_hard_sigmoid $0 @f:alpha=0.2 @f:beta=0.5");
}

bool onnx_op_abs(onnx_node *n, const char *text) {
    int dt = onnx_need(n, 0) ? n->in[0]->dt : -1;
    (void)text;
    /* as aten's has no kernel for the wide ones */
    if (dt == DT_UINT8 || dt == DT_UINT16 || dt == DT_UINT32 || dt == DT_UINT64)
        return onnx_op_identity(n, "");
    return onnx_template(n, "aten::abs $0");
}

bool onnx_op_is_inf(onnx_node *n, const char *text) {
    (void)text;
    return onnx_template(n, "ctsc::onnx_is_inf $0 @i:detect_negative=1 @i:detect_positive=1");
}

bool onnx_op_prelu(onnx_node *n, const char *text) {
    (void)text;
    return onnx_template(n, "ctsc::onnx_prelu $0 $1");
}

ir_value *onnx_cast(onnx_node *n, ir_value *x, int64_t to) {
    int dt = onnx_to_dtype(to);
    bool saturate = onnx_attr_int(n, "saturate", 1) != 0;
    if (!x) return NULL;
    bool is_signed;
    int bits = onnx_few_bits(to, &is_signed);
    if (bits)
        return ONNX_EMIT(n->p, "ctsc::onnx_few_bits", x, onnx_int(n->p, (1 << bits) - 1),
                         onnx_int(n->p, is_signed ? 1 << (bits - 1) : 0));
    if (to == ONNX_FLOAT4E2M1) return ONNX_EMIT(n->p, "ctsc::onnx_float4", x);
    if (dt == DT_FLOAT8_E8M0FNU) {
        const char *mode = onnx_attr_text(n, "round_mode", "up");
        if (strcmp(mode, "up") && strcmp(mode, "down") && strcmp(mode, "nearest"))
            return onnx_unsupported(n->p, "round_mode '%.40s'", mode), NULL;
        return ONNX_EMIT(n->p, "ctsc::onnx_float8_exponent", x, onnx_bool(n->p, saturate),
                         onnx_str(n->p, mode));
    }
    if (dtype_is_float8((dtype)dt))
        return ONNX_EMIT(n->p, "ctsc::onnx_float8", x, onnx_int(n->p, dt),
                         onnx_bool(n->p, saturate));
    return ONNX_EMIT(n->p, "aten::to.dtype", x, onnx_int(n->p, dt));
}

/* The result of a cast. */
static bool cast_out(onnx_node *n, ir_value *x, int64_t to) {
    int dt = onnx_kept_dtype(to);
    if (!x || !onnx_out(n, 0, onnx_cast(n, x, to), n->in[0]->rank, dt)) return false;
    onnx_set_narrow(n, to);
    return true;
}

bool onnx_op_cast(onnx_node *n, const char *text) {
    int64_t to = onnx_attr_int(n, "to", 0);
    int dt = onnx_to_dtype(to);
    onnx_value *v = onnx_need(n, 0);
    (void)text;
    if (!v) return false;
    if (onnx_kept_dtype(to) < 0)
        return onnx_type_name(to) ? onnx_unsupported(n->p, "casts to %s", onnx_type_name(to))
                                  : onnx_bad(n->p, "there is no type %lld", (long long)to);
    if (v->ints && !v->constant && (dt == DT_INT64 || dt == DT_INT32)) {
        if (!onnx_out_ints(n, 0, v->nints, v->ints, v->rank)) return false;
        onnx_value *out = n->nout ? strmap_get(&n->sc->names, n->proto->output[0]) : NULL;
        if (out) out->dt = dt;
        return true;
    }
    ir_value *x = onnx_t(n, 0);
    if (x && (v->narrow ? v->narrow == to : v->dt == dt)) {
        if (!onnx_out(n, 0, x, v->rank, v->dt)) return false;
        onnx_set_narrow(n, to);
        return true;
    }
    return cast_out(n, x, to);
}

/* The same bits, as another type of that size. */
bool onnx_op_bit_cast(onnx_node *n, const char *text) {
    int64_t to = onnx_attr_int(n, "to", 0);
    int dt = onnx_to_dtype(to);
    onnx_value *v = onnx_need(n, 0);
    ir_value *x = v ? onnx_t(n, 0) : NULL;
    (void)text;
    if (!x) return false;
    if (dt < 0 || v->narrow)
        return onnx_unsupported(n->p, "type %lld in place of another", (long long)to);
    if (v->dt >= 0 && dtype_size((dtype)v->dt) != dtype_size((dtype)dt))
        return onnx_bad(n->p, "elements of %s and %s differ in size", dtype_table[v->dt].torch_name,
                        dtype_table[dt].torch_name);
    return onnx_out(n, 0, ONNX_EMIT(n->p, "aten::view.dtype", x, onnx_int(n->p, dt)), v->rank, dt);
}

bool onnx_op_cast_like(onnx_node *n, const char *text) {
    onnx_value *like = onnx_need(n, 1);
    ir_value *x = like ? onnx_t(n, 0) : NULL;
    (void)text;
    if (!x) return false;
    if (like->narrow || like->dt >= 0)
        return cast_out(n, x, like->narrow ? like->narrow : onnx_from_dtype((dtype)like->dt));
    return math_two(n, "aten::type_as");
}

bool onnx_op_softmax(onnx_node *n, const char *text) {
    bool old = strchr(text, ' ') != NULL, log = strstr(text, "log_") != NULL;
    onnx_value *v = onnx_need(n, 0);
    if (!v) return false;
    int64_t axis = onnx_attr_int(n, "axis", old ? 1 : -1);
    ir_value *x = onnx_t(n, 0), *dim = x ? onnx_int(n->p, axis) : NULL;
    if (!dim) return false;
    /* until 13 all dims from the axis on were one */
    if (old && axis != -1 && (v->rank < 0 || axis != v->rank - 1))
        return onnx_result(
            n, ONNX_EMIT(n->p, "ctsc::onnx_softmax_flat", x, dim, onnx_bool(n->p, log)));
    return onnx_result(
        n, ONNX_EMIT(n->p, log ? "aten::log_softmax.int" : "aten::softmax.int", x, dim));
}

/* ---- products -------------------------------------------------------------------------------- */

static ir_value *math_linear(onnx_node *n, ir_value *x, onnx_value *w, bool turn, ir_value *bias) {
    ir_value *weight = onnx_as_tensor(n->sc, n->p, w);
    if (weight && turn) weight = ONNX_EMIT(n->p, "aten::t", weight);
    return weight && bias ? ONNX_EMIT(n->p, "aten::linear", x, weight, bias) : NULL;
}

static bool math_is_weight(const onnx_value *v) {
    return v->constant && v->constant->ndim == 2 && dtype_is_float((dtype)v->constant->dtype);
}

static int matmul_rank(const onnx_value *a, const onnx_value *b) {
    if (a->rank < 0 || b->rank < 0) return -1;
    if (a->rank == 1 || b->rank == 1) return a->rank + b->rank - 2 < 0 ? 0 : a->rank + b->rank - 2;
    return a->rank > b->rank ? a->rank : b->rank;
}

bool onnx_op_matmul(onnx_node *n, const char *text) {
    onnx_value *a = onnx_need(n, 0), *b = a ? onnx_need(n, 1) : NULL;
    ir_value *x = b ? onnx_t(n, 0) : NULL;
    (void)text;
    if (!x) return false;
    if (b->nbits && b->nbits->turned && !a->constant)
        return onnx_out(n, 0, onnx_nbits_linear(n, x, b->nbits, onnx_none(n->p), 0), a->rank,
                        b->dt);
    if (!math_is_weight(b) || a->constant) {
        ir_value *y = onnx_t(n, 1);
        return y && onnx_out(n, 0, ONNX_EMIT(n->p, "aten::matmul", x, y), matmul_rank(a, b),
                             math_dtype(n));
    }
    ir_value *v = math_linear(n, x, b, true, onnx_none(n->p));
    return v && onnx_out(n, 0, v, a->rank, b->dt);
}

/* beta*c + alpha*a*b */
static ir_value *gemm_general(onnx_node *n, ir_value *a, ir_value *b, double alpha, double beta) {
    onnx_program *p = n->p;
    if (!a || !b) return NULL;
    if (onnx_in(n, 2)) {
        ir_value *c = onnx_t(n, 2);
        return c ? ONNX_EMIT(p, "aten::addmm", c, a, b, onnx_float(p, beta), onnx_float(p, alpha))
                 : NULL;
    }
    ir_value *v = ONNX_EMIT(p, "aten::mm", a, b);
    return v && alpha != 1 ? ONNX_EMIT(p, "aten::mul.Scalar", v, onnx_float(p, alpha)) : v;
}

bool onnx_op_gemm(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    bool ta = onnx_attr_int(n, "transA", 0) != 0, tb = onnx_attr_int(n, "transB", 0) != 0;
    double alpha = onnx_attr_float(n, "alpha", 1), beta = onnx_attr_float(n, "beta", 1);
    onnx_value *w = onnx_need(n, 1), *c = onnx_in(n, 2);
    ir_value *a = w ? onnx_t(n, 0) : NULL;
    (void)text;
    if (a && ta) a = ONNX_EMIT(p, "aten::t", a);
    if (!a) return false;
    bool plain = alpha == 1 && (!c || (beta == 1 && c->constant && c->constant->ndim == 1));
    if (plain && math_is_weight(w) &&
        (!c || c->constant->sizes[0] == w->constant->sizes[tb ? 0 : 1])) {
        return onnx_result(n, math_linear(n, a, w, !tb, onnx_t_or_none(n, 2)));
    }
    if (plain && w->nbits && w->nbits->turned != tb && (!c || c->constant->sizes[0] == w->nbits->n))
        return onnx_result(n, onnx_nbits_linear(n, a, w->nbits, onnx_t_or_none(n, 2), 0));
    ir_value *b = onnx_t(n, 1);
    if (b && tb) b = ONNX_EMIT(p, "aten::t", b);
    return onnx_result(n, gemm_general(n, a, b, alpha, beta));
}

bool onnx_op_einsum(onnx_node *n, const char *text) {
    ir_value **in = arena_array(&n->p->scratch, ir_value *, n->nin + 1);
    (void)text;
    if (!in) return onnx_no_memory(n->p);
    for (int i = 0; i < n->nin; i++)
        if (!(in[i] = onnx_t(n, i))) return false;
    ir_value *list = onnx_list(n->p, TYPE_TENSOR, n->nin, in),
             *equation = list ? onnx_str(n->p, onnx_attr_text(n, "equation", "")) : NULL;
    return equation && onnx_result(n, ONNX_EMIT(n->p, "aten::einsum", equation, list));
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* The axes, which are an attribute in older versions; an empty list: all of them. *count: -1 where
 * it is not known. */
static ir_value *reduce_axes(onnx_node *n, int *count) {
    const int64_t *ints = onnx_attr_ints(n, "axes", count);
    onnx_value *v = onnx_in(n, 1);
    if (ints) return onnx_ints(n->p, *count, ints);
    if (!v) return *count = 0, onnx_ints(n->p, 0, NULL);
    *count = onnx_has_ints(n->p, v) ? v->nints : -1;
    return onnx_as_ints(n->sc, n->p, v);
}

/* aten's operator, and what ctsc::onnx_reduce calls it. */
static const struct { const char *name, *key; double ord; } reduce_ops[] = {
    {"max", "aten::amax", 0},
    {"min", "aten::amin", 0},
    {"mean", "aten::mean.dim", 0},
    {"sum", "aten::sum.dim_IntList", 0},
    {"l1", "aten::linalg_vector_norm", 1},
    {"l2", "aten::linalg_vector_norm", 2},
};

/* May the input have no elements, as far as the model says? Their maximum is an end of the dtype's
 * range, where PyTorch refuses. */
static bool reduce_may_be_empty(const onnx_node *n) {
    const Onnx__TensorShapeProto *shape = onnx_declared(n, 0);
    for (size_t i = 0; shape && i < shape->n_dim; i++)
        if (!shape->dim[i]->has_dim_value || shape->dim[i]->dim_value <= 0) return true;
    return !shape;
}

/* The key of the operator of aten that does it; NULL: there is none. count: of the axes, -1 where
 * they are not known. */
static const char *reduce_key(const onnx_node *n, const char *what, int count, double *ord) {
    int dt = n->in[0]->dt;
    bool order = !strcmp(what, "max") || !strcmp(what, "min");
    if (dt < 0 || (!dtype_is_float((dtype)dt) && !order) || n->in[0]->rank == 0) return NULL;
    if (count <= 0 && onnx_attr(n, "noop_with_empty_axes")) return NULL;
    if (order && reduce_may_be_empty(n)) return NULL;
    for (size_t i = 0; i < sizeof reduce_ops / sizeof *reduce_ops; i++)
        if (!strcmp(reduce_ops[i].name, what)) return *ord = reduce_ops[i].ord, reduce_ops[i].key;
    return NULL;
}

bool onnx_op_reduce(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int count;
    double ord = 0;
    onnx_value *v = onnx_need(n, 0);
    bool keep = onnx_attr_int(n, "keepdims", 1) != 0,
         noop = onnx_attr_int(n, "noop_with_empty_axes", 0) != 0;
    if (!v) return false;
    ir_value *x = onnx_t(n, 0), *axes = x ? reduce_axes(n, &count) : NULL,
             *keeps = axes ? onnx_bool(p, keep) : NULL, *out;
    if (!keeps) return onnx_no_memory(p);
    const char *key = reduce_key(n, text, count, &ord);
    if (!key)
        out = ONNX_EMIT(p, "ctsc::onnx_reduce", x, axes, keeps, onnx_bool(p, noop),
                        onnx_str(p, text));
    else if (ord != 0) out = ONNX_EMIT(p, key, x, onnx_float(p, ord), axes, keeps);
    else out = ONNX_EMIT(p, key, x, axes, keeps);
    int rank = keep || (noop && !count)   ? v->rank
               : v->rank < 0 || count < 0 ? -1
               : count                    ? v->rank - count
                                          : 0;
    if (noop && count < 0 && !keep) rank = -1;
    return onnx_out(n, 0, out, rank, v->dt);
}

bool onnx_op_arg(onnx_node *n, const char *text) {
    onnx_value *v = onnx_need(n, 0);
    bool keep = onnx_attr_int(n, "keepdims", 1) != 0;
    ir_value *x = v ? onnx_t(n, 0) : NULL;
    if (!x) return false;
    ir_value *axis = onnx_int(n->p, onnx_attr_int(n, "axis", 0)), *keeps = onnx_bool(n->p, keep),
             *out = onnx_attr_int(n, "select_last_index", 0)
                        ? ONNX_EMIT(n->p, "ctsc::onnx_arg_last", x, axis, keeps,
                                    onnx_bool(n->p, strstr(text, "argmin") != NULL))
                        : ONNX_EMIT(n->p, text, x, axis, keeps);
    return onnx_out(n, 0, out, keep || v->rank < 0 ? v->rank : v->rank - 1, DT_INT64);
}

/* CumSum and CumProd: the text is the operator's key. */
bool onnx_op_cumulative(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_need(n, 1);
    ir_value *x = v ? onnx_t(n, 0) : NULL, *axis = x ? onnx_as_int(n->sc, p, v) : NULL;
    bool exclusive = onnx_attr_int(n, "exclusive", 0) != 0,
         reverse = onnx_attr_int(n, "reverse", 0) != 0;
    if (!axis) return false;
    return onnx_result(n,
                       ONNX_EMIT(p, text, x, axis, onnx_bool(p, exclusive), onnx_bool(p, reverse)));
}

bool onnx_op_topk(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *k = onnx_need(n, 1);
    ir_value *x = k ? onnx_t(n, 0) : NULL, *count = x ? onnx_as_int(n->sc, p, k) : NULL;
    (void)text;
    if (!count) return false;
    /* of equal elements the first, which torch's topk does not promise */
    ir_value *v = ONNX_EMIT(p, "ctsc::onnx_topk", x, count,
                            onnx_int(p, onnx_attr_int(n, "axis", -1)),
                            onnx_bool(p, onnx_attr_int(n, "largest", 1) != 0));
    return v && onnx_result(n, v) &&
           onnx_out(n, 1, v->def->outputs.data[1], n->in[0]->rank, DT_INT64);
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* The dtype that the node says; -1 after a failure. like: input 0 says it else. */
static int random_dtype(onnx_node *n, bool like, int otherwise) {
    int64_t type = onnx_attr_int(n, "dtype", 0);
    int dt = type ? onnx_to_dtype(type) : like ? n->in[0]->dt : otherwise;
    if (dt < 0) onnx_unsupported(n->p, "the type of the result is not known");
    return dt;
}

/* The numbers are those of the program's generator, whatever the attribute seed is. */
bool onnx_op_random(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    bool like = n->nin > 0, normal = *text == 'm';
    int count = 0;
    const int64_t *given = onnx_attr_ints(n, "shape", &count);
    if ((like && !onnx_need(n, 0)) || (!like && !given)) return onnx_bad(p, "the shape is missing");
    int dt = random_dtype(n, like, DT_FLOAT32);
    if (dt < 0) return false;
    if (!dtype_is_float((dtype)dt)) return onnx_bad(p, "the numbers are to be integers");
    ir_value *x = like ? onnx_t(n, 0) : NULL,
             *shape = like ? (x ? ONNX_EMIT(p, "aten::size", x) : NULL)
                           : onnx_ints(p, count, given);
    double a = onnx_attr_float(n, normal ? "mean" : "low", 0),
           b = onnx_attr_float(n, normal ? "scale" : "high", 1);
    return shape && onnx_out(n, 0,
                             ONNX_EMIT(p, "ctsc::onnx_random", shape, onnx_int(p, dt),
                                       onnx_bool(p, normal), onnx_float(p, a), onnx_float(p, b)),
                             like ? n->in[0]->rank : count, dt);
}

bool onnx_op_bernoulli(onnx_node *n, const char *text) {
    ir_value *x = onnx_t(n, 0);
    int dt = x ? random_dtype(n, true, 0) : -1;
    (void)text;
    return dt >= 0 && onnx_out(n, 0, ONNX_EMIT(n->p, "ctsc::onnx_bernoulli", x, onnx_int(n->p, dt)),
                               n->in[0]->rank, dt);
}

bool onnx_op_multinomial(onnx_node *n, const char *text) {
    ir_value *x = onnx_t(n, 0);
    int dt = x ? random_dtype(n, false, DT_INT32) : -1;
    (void)text;
    return dt >= 0 && onnx_out(n, 0,
                               ONNX_EMIT(n->p, "ctsc::onnx_multinomial", x,
                                         onnx_int(n->p, onnx_attr_int(n, "sample_size", 1)),
                                         onnx_int(n->p, dt)),
                               2, dt);
}

/* ---- n-grams --------------------------------------------------------------------------------- */

bool onnx_op_tfidf(onnx_node *n, const char *text) {
    static const char *const lists[] = {"pool_int64s", "ngram_counts", "ngram_indexes"};
    onnx_program *p = n->p;
    const Onnx__AttributeProto *a = onnx_attr_of(n, "weights", ONNX_A_FLOATS);
    size_t count = a ? a->n_floats : 0;
    ir_value *args[9] = {onnx_t(n, 0)}, **weights;
    (void)text;
    if (!args[0]) return false;
    if (onnx_attr(n, "pool_strings")) return onnx_unsupported(p, "n-grams of strings");
    for (int i = 0; i < 3; i++) {
        int len;
        const int64_t *ints = onnx_attr_ints(n, lists[i], &len);
        if (!ints) return onnx_bad(p, "attribute '%s' is missing", lists[i]);
        args[i + 1] = onnx_ints(p, len, ints);
    }
    if (count > ONNX_MAX_INTS || !(weights = arena_array(&p->scratch, ir_value *, count + 1)))
        return onnx_bad(p, "there are %zu weights", count);
    for (size_t i = 0; i < count; i++) weights[i] = onnx_float(p, (double)a->floats[i]);
    args[4] = onnx_list(p, TYPE_FLOAT, (int)count, weights);
    args[5] = onnx_str(p, onnx_attr_text(n, "mode", "TF"));
    args[6] = onnx_int(p, onnx_attr_int(n, "min_gram_length", 1));
    args[7] = onnx_int(p, onnx_attr_int(n, "max_gram_length", 1));
    args[8] = onnx_int(p, onnx_attr_int(n, "max_skip_count", 0));
    for (int i = 1; i < 9; i++)
        if (!args[i]) return onnx_no_memory(p);
    return onnx_out(n, 0, onnx_emit(p, "ctsc::onnx_tfidf", 9, args), n->in[0]->rank, DT_FLOAT32);
}
