/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_math.c - arithmetic, activations, products and reductions as nodes of ONNX.
 *
 * ONNX converts nothing by itself: arguments are cast to the dtype that torch computes in, which is
 * the result's except for comparisons.
 */
#include "frontend/onnx/onnx_out_internal.h"
#include "tensor/promote.h"

#include <math.h>

static dtype math_result(const out_call *c) {
    value v = c->res[0]->v[0];
    return v.tag == V_TENSOR ? (dtype)v.u.tensor->dtype
           : v.tag == V_INT  ? DT_INT64
           : v.tag == V_BOOL ? DT_BOOL
                             : DT_FLOAT32;
}

/* What bools and short integers are computed in, which engines have few operators for: 32 bits,
 * whose low ones are the same. */
static dtype math_whole(dtype dt) {
    return dt == DT_BOOL || dt == DT_INT8 || dt == DT_UINT8 || dt == DT_INT16 ? DT_INT32 : dt;
}

/* ---- element by element ---------------------------------------------------------------------- */

bool out_op_unary(out_call *c, const char *text) {
    return out_done(c, OUT(c->o, text, out_arg_as(c, 0, math_result(c))));
}

/* One operator after the other. */
bool out_op_chain(out_call *c, const char *text) {
    char own[64];
    const char *x = out_arg_as(c, 0, math_result(c));
    size_t n = strcspn(text, " ");
    memcpy(own, text, n);
    own[n] = '\0';
    x = x ? OUT(c->o, own, x) : NULL;
    return out_done(c, x ? OUT(c->o, text + n + 1, x) : NULL);
}

static const char *math_hardsigmoid(onnx_out *o, const char *x) {
    const char *y = x ? OUT(o, "HardSigmoid", x) : NULL;
    out_float(o, "alpha", 1.0 / 6);
    out_float(o, "beta", 0.5);
    return y;
}

bool out_op_hardsigmoid(out_call *c, const char *text) {
    (void)text;
    return out_done(c, math_hardsigmoid(c->o, out_arg(c, 0)));
}

bool out_op_hardswish(out_call *c, const char *text) {
    const char *x = out_arg(c, 0);
    (void)text;
    if (c->o->opset >= 14) return out_done(c, x ? OUT(c->o, "HardSwish", x) : NULL);
    const char *y = math_hardsigmoid(c->o, x);
    return out_done(c, y ? OUT(c->o, "Mul", x, y) : NULL);
}

bool out_op_silu(out_call *c, const char *text) {
    const char *x = out_arg(c, 0), *y = x ? OUT(c->o, "Sigmoid", x) : NULL;
    (void)text;
    return out_done(c, y ? OUT(c->o, "Mul", x, y) : NULL);
}

bool out_op_square(out_call *c, const char *text) {
    const char *x = out_arg_as(c, 0, math_result(c));
    (void)text;
    return out_done(c, x ? OUT(c->o, "Mul", x, x) : NULL);
}

bool out_op_mish(out_call *c, const char *text) {
    const char *x = out_arg(c, 0), *y = x ? OUT(c->o, "Softplus", x) : NULL;
    (void)text;
    y = y ? OUT(c->o, "Tanh", y) : NULL;
    return out_done(c, y ? OUT(c->o, "Mul", x, y) : NULL);
}

/* x * (1 + f(x)) / 2 */
static bool gelu_half(out_call *c, const char *x, const char *f) {
    onnx_out *o = c->o;
    dtype dt = math_result(c);
    const char *one = f ? OUT(o, "Add", f, out_const(o, dt, 1)) : NULL,
               *y = one ? OUT(o, "Mul", x, one) : NULL;
    return out_done(c, y ? OUT(o, "Mul", y, out_const(o, dt, 0.5)) : NULL);
}

bool out_op_gelu(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype dt = math_result(c);
    const char *x = out_arg(c, 0), *how = out_arg_text(c, 1);
    bool tanh = how && !strcmp(how, "tanh");
    (void)text;
    if (!x) return false;
    if (o->opset >= 20) {
        const char *y = OUT(o, "Gelu", x);
        out_text(o, "approximate", tanh ? "tanh" : "none");
        return out_done(c, y);
    }
    if (!tanh) {
        const char *y = OUT(o, "Div", x, out_const(o, dt, 1.4142135623730951));
        return gelu_half(c, x, y ? OUT(o, "Erf", y) : NULL);
    }
    const char *cube = OUT(o, "Mul", x, x);
    cube = cube ? OUT(o, "Mul", cube, x) : NULL;
    cube = cube ? OUT(o, "Mul", cube, out_const(o, dt, 0.044715)) : NULL;
    const char *sum = cube ? OUT(o, "Add", x, cube) : NULL;
    sum = sum ? OUT(o, "Mul", sum, out_const(o, dt, 0.7978845608028654)) : NULL;
    return gelu_half(c, x, sum ? OUT(o, "Tanh", sum) : NULL);
}

static bool math_clip(out_call *c, const char *low, const char *high) {
    dtype dt = math_result(c), in = math_whole(dt);
    return out_done(c, out_cast(c->o, OUT(c->o, "Clip", out_arg_as(c, 0, in), low, high), in, dt));
}

bool out_op_relu6(out_call *c, const char *text) {
    (void)text;
    dtype in = math_whole(math_result(c));
    return math_clip(c, out_const(c->o, in, 0), out_const(c->o, in, 6));
}

static const char *clip_bound(out_call *c, int i) {
    if (!out_given(c, i)) return "";
    if (c->args[i]->v[0].tag == V_TENSOR && out_t(c, i)->ndim)
        return out_refuse(c->o, "bounds that are tensors of several elements"), NULL;
    return out_arg_as(c, i, math_whole(math_result(c)));
}

bool out_op_clip(out_call *c, const char *text) {
    if (*text) {
        const char *bound = clip_bound(c, 1);
        return bound && (text[1] == 'i' ? math_clip(c, bound, "") : math_clip(c, "", bound));
    }
    const char *low = clip_bound(c, 1), *high = low ? clip_bound(c, 2) : NULL;
    return high && math_clip(c, low, high);
}

bool out_op_alpha(out_call *c, const char *text) {
    double alpha, one = 1, scale = 1;
    if (!out_arg_float(c, 1, &alpha)) return false;
    if (*text == 'E' && (!out_arg_float(c, 2, &scale) || !out_arg_float(c, 3, &one))) return false;
    if (scale != 1 || one != 1) return out_refuse(c->o, "scales other than 1");
    const char *y = OUT(c->o, text, out_arg(c, 0));
    out_float(c->o, "alpha", alpha);
    return out_done(c, y);
}

bool out_op_softplus(out_call *c, const char *text) {
    double beta, threshold;
    dtype dt = math_result(c);
    (void)text;
    if (!out_arg_float(c, 1, &beta) || !out_arg_float(c, 2, &threshold)) return false;
    if (threshold < 15) return out_refuse(c->o, "a threshold below 15");
    const char *x = out_arg(c, 0);
    if (x && beta != 1) x = OUT(c->o, "Mul", x, out_const(c->o, dt, beta));
    const char *y = x ? OUT(c->o, "Softplus", x) : NULL;
    if (y && beta != 1) y = OUT(c->o, "Div", y, out_const(c->o, dt, beta));
    return out_done(c, y);
}

bool out_op_prelu(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int64_t sizes[TENSOR_MAX_DIMS];
    int n = out_t(c, 0)->ndim > 1 ? out_t(c, 0)->ndim - 1 : out_t(c, 0)->ndim;
    const char *x = out_arg(c, 0), *slope = x ? out_arg(c, 1) : NULL;
    (void)text;
    for (int i = 0; i < n; i++) sizes[i] = i ? 1 : out_t(c, 1)->numel;
    slope = slope ? OUT(o, "Reshape", slope, out_const_ints(o, n, sizes)) : NULL;
    return out_done(c, slope ? OUT(o, "PRelu", x, slope) : NULL);
}

/* Of integers bit by bit: BitwiseAnd, which came with 18. */
static bool logical_bits(out_call *c, const char *text) {
    char own[16] = "Bitwise";
    dtype dt = math_result(c);
    if (c->o->opset < 18) return out_refuse(c->o, "bits of integers need operator set 18");
    strncat(own, text, sizeof own - sizeof "Bitwise");
    const char *x = out_arg_as(c, 0, dt);
    if (*text == 'N') return out_done(c, x ? OUT(c->o, own, x) : NULL);
    const char *y = x ? out_arg_as(c, 1, dt) : NULL;
    return out_done(c, y ? OUT(c->o, own, x, y) : NULL);
}

bool out_op_logical(out_call *c, const char *text) {
    bool logical = strstr(c->key, "logical") || strstr(c->key, "__not__") ||
                   c->res[0]->v[0].tag != V_TENSOR;
    if (!logical && math_result(c) != DT_BOOL) return logical_bits(c, text);
    const char *x = out_arg_as(c, 0, DT_BOOL);
    if (*text == 'N') return out_done(c, x ? OUT(c->o, text, x) : NULL);
    const char *y = x ? out_arg_as(c, 1, DT_BOOL) : NULL;
    return out_done(c, y ? OUT(c->o, text, x, y) : NULL);
}

/* IsInf, IsNaN: which take floats of 32 and 64 bits in all versions */
bool out_op_test(out_call *c, const char *text) {
    dtype dt = out_dt(c, 0) == DT_FLOAT64 ? DT_FLOAT64 : DT_FLOAT32;
    return out_done(c, OUT(c->o, text, out_arg_as(c, 0, dt)));
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

bool out_op_binary(out_call *c, const char *text) {
    bool flag = math_result(c) == DT_BOOL && !strcmp(text, "Mul");
    dtype dt = math_result(c), in = flag ? dt : math_whole(dt);
    const char *x = out_arg_as(c, 0, in), *y = x ? out_arg_as(c, 1, in) : NULL;
    return out_done(c, y ? out_cast(c->o, OUT(c->o, flag ? "And" : text, x, y), in, dt) : NULL);
}

/* x + alpha*y */
bool out_op_add(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype own = math_result(c), dt = own == DT_BOOL ? own : math_whole(own);
    double alpha = 1;
    bool back = *text == 'r';
    bool numbers = c->res[0]->v[0].tag != V_TENSOR;
    if (!numbers && out_given(c, 2) && !out_arg_float(c, 2, &alpha)) return false;
    const char *x = out_arg_as(c, back ? 1 : 0, dt),
               *y = x ? out_arg_as(c, back ? 0 : 1, dt) : NULL;
    if (dt == DT_BOOL) return out_done(c, y && *text == 'A' ? OUT(o, "Or", x, y) : NULL);
    if (alpha != 1 && back && y) y = OUT(o, "Mul", y, out_const(o, dt, alpha));
    else if (alpha != 1 && y) y = OUT(o, "Mul", y, out_const(o, dt, alpha));
    return out_done(c, y ? out_cast(o, OUT(o, back ? "Sub" : text, x, y), dt, own) : NULL);
}

bool out_op_div(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype own = math_result(c), dt = math_whole(own);
    const char *mode = *text ? text : c->nargs > 2 ? out_arg_text(c, 2) : NULL;
    const char *x = out_arg_as(c, 0, dt), *y = x ? out_arg_as(c, 1, dt) : NULL;
    if (!y) return false;
    bool whole = dtype_is_integral(dt);
    if (!mode || (whole && *mode == 't'))
        return out_done(c, out_cast(o, OUT(o, "Div", x, y), dt, own));
    if (*mode == 't') return out_refuse(o, "quotients of floats that are cut");
    if (!whole) {
        const char *q = OUT(o, "Div", x, y);
        return out_done(c, q ? OUT(o, "Floor", q) : NULL);
    }
    /* towards minus infinity: (x - mod(x, y)) / y */
    const char *rest = OUT(o, "Mod", x, y), *even = rest ? OUT(o, "Sub", x, rest) : NULL;
    return out_done(c, even ? out_cast(o, OUT(o, "Div", even, y), dt, own) : NULL);
}

bool out_op_remainder(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype dt = math_result(c);
    const char *x = out_arg_as(c, 0, dt), *y = x ? out_arg_as(c, 1, dt) : NULL;
    if (!y) return false;
    if (*text || dtype_is_integral(dt)) {
        const char *r = OUT(o, "Mod", x, y);
        if (*text) out_int(o, "fmod", 1);
        return out_done(c, r);
    }
    const char *q = OUT(o, "Div", x, y);
    q = q ? OUT(o, "Floor", q) : NULL;
    q = q ? OUT(o, "Mul", q, y) : NULL;
    return out_done(c, q ? OUT(o, "Sub", x, q) : NULL);
}

/* The dtype that operands are compared in. */
static dtype math_common(const out_call *c, int a, int b) {
    promotion p = PROMOTION_INIT;
    int at[] = {a, b};
    for (int i = 0; i < 2; i++) {
        bool t = c->args[at[i]]->v[0].tag == V_TENSOR;
        promotion_add(&p, out_dt(c, at[i]),
                      !t                      ? OPERAND_NUMBER
                      : out_t(c, at[i])->ndim ? OPERAND_TENSOR
                                              : OPERAND_ZERO_DIM);
    }
    return promotion_result(&p);
}

bool out_op_compare(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype dt = math_common(c, 0, 1);
    char own[16];
    size_t n = strcspn(text, "!");
    memcpy(own, text, n);
    own[n] = '\0';
    if (dt == DT_BOOL && *text != 'E') dt = DT_INT32;
    const char *x = out_arg_as(c, 0, dt), *y = x ? out_arg_as(c, 1, dt) : NULL,
               *r = y ? OUT(o, own, x, y) : NULL;
    /* x >= y is Not(x < y) only where there is no nan */
    if (r && text[n] && *text != 'E' && dtype_is_float(dt)) {
        const char *same = OUT(o, "Equal", x, y),
                   *other = same ? OUT(o, *text == 'L' ? "Greater" : "Less", x, y) : NULL;
        return out_done(c, other ? OUT(o, "Or", other, same) : NULL);
    }
    return out_done(c, r && text[n] ? OUT(o, "Not", r) : r);
}

/* Arguments p, yes and no. */
static bool math_where(out_call *c, int p, int yes, int no) {
    dtype dt = math_result(c), in = math_whole(dt);
    const char *cond = out_arg_as(c, p, DT_BOOL), *x = cond ? out_arg_as(c, yes, in) : NULL,
               *y = x ? out_arg_as(c, no, in) : NULL;
    return out_done(c, y ? out_cast(c->o, OUT(c->o, "Where", cond, x, y), in, dt) : NULL);
}

bool out_op_where(out_call *c, const char *text) {
    (void)text;
    return c->nargs == 3 ? math_where(c, 0, 1, 2) : out_refuse(c->o, "where of one argument");
}

bool out_op_masked_fill(out_call *c, const char *text) {
    (void)text;
    return math_where(c, 1, 2, 0);
}

bool out_op_addcmul(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype dt = math_result(c);
    double f;
    if (!out_arg_float(c, 3, &f)) return false;
    const char *x = out_arg_as(c, 0, dt), *a = x ? out_arg_as(c, 1, dt) : NULL,
               *b = a ? out_arg_as(c, 2, dt) : NULL, *y = b ? OUT(o, text, a, b) : NULL;
    if (y && f != 1) y = OUT(o, "Mul", y, out_const(o, dt, f));
    return out_done(c, y ? OUT(o, "Add", x, y) : NULL);
}

bool out_op_lerp(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype dt = math_result(c);
    (void)text;
    const char *x = out_arg_as(c, 0, dt), *y = x ? out_arg_as(c, 1, dt) : NULL,
               *w = y ? out_arg_as(c, 2, dt) : NULL, *d = w ? OUT(o, "Sub", y, x) : NULL;
    d = d ? OUT(o, "Mul", d, w) : NULL;
    return out_done(c, d ? OUT(o, "Add", x, d) : NULL);
}

/* ---- products -------------------------------------------------------------------------------- */

static const char *math_turn(onnx_out *o, const char *x, int n, const int64_t *order) {
    const char *y = x ? OUT(o, "Transpose", x) : NULL;
    out_ints(o, "perm", n, order);
    return y;
}

bool out_op_linear(out_call *c, const char *text) {
    static const int64_t turn[] = {1, 0};
    onnx_out *o = c->o;
    const char *x = out_arg(c, 0), *w = x ? out_arg(c, 1) : NULL, *y;
    bool bias = out_given(c, 2), constant = !c->args[1]->name;
    (void)text;
    if (!w) return false;
    const out_weight *ints = constant ? c->args[1]->ints : NULL;
    if (out_t(c, 0)->ndim == 2 && out_t(c, 1)->ndim == 2 && !ints &&
        dtype_is_float(math_result(c))) {
        y = bias ? OUT(o, "Gemm", x, w, out_arg(c, 2)) : OUT(o, "Gemm", x, w);
        out_int(o, "transB", 1);
        return out_done(c, y);
    }
    if (out_t(c, 1)->ndim != 2) return out_refuse(o, "a weight of other than 2 dims");
    tensor *transposed = NULL;
    if (ints) { /* in the order in which engines look for them */
        w = out_weight_floats(o, ints, true);
    } else if (constant && ptrmap_get(&o->attribute_names, out_t(c, 1))) {
        /* stored as it is read; once, for all uses */
        char *key = arena_printf(&o->scratch, "transposed %s", w);
        const char *known = key ? strmap_get(&o->constants, key) : NULL;
        if (!known) {
            if (tensor_transpose(o->d, out_t(c, 1), 0, 1, &transposed) != CTSC_OK) return false;
            known = out_tensor(o, transposed);
            tensor_unref(transposed);
            if (!known || !key || !strmap_put(&o->constants, key, (void *)(uintptr_t)known))
                return out_no_memory(o);
        }
        w = known;
    } else {
        w = math_turn(o, w, 2, turn);
    }
    y = w ? OUT(o, "MatMul", x, w) : NULL;
    if (y && bias) y = OUT(o, "Add", y, out_arg(c, 2));
    return out_done(c, y);
}

/* beta*self + alpha*(a @ b) */
bool out_op_addmm(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype dt = math_result(c);
    double beta, alpha;
    (void)text;
    if (!out_arg_float(c, 3, &beta) || !out_arg_float(c, 4, &alpha)) return false;
    dtype own = dt;
    dt = math_whole(dt);
    const char *a = out_arg_as(c, 1, dt), *b = a ? out_arg_as(c, 2, dt) : NULL,
               *y = b ? OUT(o, "MatMul", a, b) : NULL, *x;
    if (y && alpha != 1) y = OUT(o, "Mul", y, out_const(o, dt, alpha));
    if (y && beta != 0) {
        x = out_arg_as(c, 0, dt);
        if (x && beta != 1) x = OUT(o, "Mul", x, out_const(o, dt, beta));
        y = x ? OUT(o, "Add", x, y) : NULL;
    }
    return out_done(c, out_cast(o, y, dt, own));
}

bool out_op_einsum(out_call *c, const char *text) {
    onnx_out *o = c->o;
    out_value *list = c->args[1];
    const char *equation = out_arg_text(c, 0),
               **in = arena_array(&o->scratch, const char *, list->nitems + 1);
    (void)text;
    if (!equation || !list->items || !in) return out_refuse(o, "an equation that is not text");
    for (int i = 0; i < list->nitems; i++)
        if (!(in[i] = out_name(o, list->items[i]))) return false;
    const char *y = out_node(o, "Einsum", list->nitems, in);
    out_text(o, "equation", equation);
    return out_done(c, y);
}

/* May a row of the mask, added or of bools, leave nothing? */
static bool attention_may_be_dead(const out_value *mask) {
    const tensor *t = mask->v[0].u.tensor;
    if (mask->name || (t->dtype != DT_BOOL && t->dtype != DT_FLOAT32) || !tensor_is_contiguous(t) ||
        !t->ndim || !t->sizes[t->ndim - 1])
        return true;
    int64_t n = t->sizes[t->ndim - 1];
    for (int64_t row = 0; row < t->numel / n; row++) {
        bool alive = false;
        for (int64_t i = row * n; i < (row + 1) * n; i++)
            alive = alive || (t->dtype == DT_BOOL ? TENSOR_AT(t, bool)[i]
                                                  : TENSOR_AT(t, float)[i] != -INFINITY);
        if (!alive) return true;
    }
    return false;
}

/* Rows that the mask leaves nothing of are zeros, as in PyTorch; Softmax makes nan of them. */
static const char *attention_softmax(out_call *c, const char *s) {
    onnx_out *o = c->o;
    static const int64_t last = -1;
    dtype dt = math_result(c);
    const char *p = s ? OUT(o, "Softmax", s) : NULL;
    out_int(o, "axis", -1);
    if (!out_given(c, 3) || !attention_may_be_dead(c->args[3])) return p;
    const char *most = out_reduce(o, "ReduceMax", s, 1, &last, true),
               *dead = most ? OUT(o, "Equal", most, out_const(o, dt, -INFINITY)) : NULL;
    return dead && p ? OUT(o, "Where", dead, out_const(o, dt, 0), p) : NULL;
}

/* softmax(q k' scale + mask) v */
bool out_op_attention(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int64_t order[TENSOR_MAX_DIMS];
    double dropout, scale = 1 / sqrt((double)out_t(c, 0)->sizes[out_t(c, 0)->ndim - 1]);
    bool causal, grouped = false;
    dtype dt = math_result(c);
    int n = out_t(c, 1)->ndim;
    (void)text;
    if (!out_arg_float(c, 4, &dropout) || !out_arg_bool(c, 5, &causal) ||
        (out_given(c, 6) && !out_arg_float(c, 6, &scale)) ||
        (c->nargs > 7 && !out_arg_bool(c, 7, &grouped)))
        return false;
    if (dropout != 0) return out_refuse(o, "dropout");
    if (grouped) return out_refuse(o, "enable_gqa");
    if (!out_is_fixed(o, c->args[0], out_t(c, 0)->ndim - 1))
        return out_refuse(o, "heads of a dynamic size");
    for (int i = 0; i < n; i++) order[i] = i;
    order[n - 2] = n - 1;
    order[n - 1] = n - 2;
    const char *q = out_arg(c, 0), *k = q ? math_turn(o, out_arg(c, 1), n, order) : NULL,
               *v = k ? out_arg(c, 2) : NULL, *root = v ? out_const(o, dt, sqrt(scale)) : NULL;
    /* both by the root, as torch does: products stay small */
    q = root ? OUT(o, "Mul", q, root) : NULL;
    k = q ? OUT(o, "Mul", k, root) : NULL;
    const char *s = k ? OUT(o, "MatMul", q, k) : NULL;
    if (causal) {
        const tensor *tq = out_t(c, 0), *tk = out_t(c, 1);
        if (!out_is_fixed(o, c->args[0], tq->ndim - 2) || !out_is_fixed(o, c->args[1], n - 2))
            return out_refuse(o, "is_causal with dynamic sizes");
        int64_t sizes[] = {tq->sizes[tq->ndim - 2], tk->sizes[n - 2]};
        tensor *mask = NULL;
        if (tensor_new(o->d, dt, 2, sizes, &mask) != CTSC_OK) return false;
        for (int64_t i = 0; i < mask->numel; i++)
            dtype_store_float(dt, (char *)tensor_data(mask) + (size_t)i * dtype_size(dt),
                              i % sizes[1] > i / sizes[1] ? -INFINITY : 0);
        const char *m = out_tensor(o, mask);
        tensor_unref(mask);
        s = s && m ? OUT(o, "Add", s, m) : NULL;
    }
    if (s && out_given(c, 3) && out_t(c, 3)->dtype == DT_BOOL) {
        const char *m = out_arg(c, 3);
        m = m ? OUT(o, "Where", m, out_const(o, dt, 0), out_const(o, dt, -INFINITY)) : NULL;
        s = m ? OUT(o, "Add", s, m) : NULL;
    } else if (s && out_given(c, 3)) {
        s = OUT(o, "Add", s, out_arg_as(c, 3, dt));
    }
    s = attention_softmax(c, s);
    return out_done(c, s ? OUT(o, "MatMul", s, v) : NULL);
}

/* Attention of several heads with its projections, as the fast path of torch.nn.MultiheadAttention
 * records it; of one input alone. */
bool out_op_heads(out_call *c, const char *text) {
    static const int64_t apart[] = {2, 0, 3, 1, 4}, turn[] = {0, 1, 3, 2}, back[] = {0, 2, 1, 3},
                         matrix[] = {1, 0}, ones[] = {1, 1, 1}, zero = 0;
    onnx_out *o = c->o;
    dtype dt = math_result(c);
    int64_t width, heads;
    bool weights;
    const char *in[2], *part[3];
    (void)text;
    if (!out_arg_int(c, 3, &width) || !out_arg_int(c, 4, &heads) || !out_arg_bool(c, 10, &weights))
        return false;
    if (c->args[0] != c->args[1] || c->args[0] != c->args[2] || out_given(c, 9) || weights)
        return out_refuse(o, "with a mask, weights, or several inputs");
    int64_t sizes[] = {0, 0, 3, heads, width / heads}, flat[] = {0, 0, width};
    const char *x = out_arg(c, 0), *w = x ? math_turn(o, out_arg(c, 5), 2, matrix) : NULL,
               *y = w ? OUT(o, "MatMul", x, w) : NULL;
    y = y ? OUT(o, "Add", y, out_arg(c, 6)) : NULL;
    y = y ? OUT(o, "Reshape", y, out_const_ints(o, 5, sizes)) : NULL;
    in[0] = y ? math_turn(o, y, 5, apart) : NULL;
    in[1] = out_const_ints(o, 3, ones);
    if (!in[0] || !in[1] || !out_nodes(o, "Split", 2, in, 3, part)) return out_no_memory(o);
    out_int(o, "axis", 0);
    for (int i = 0; i < 3; i++)
        if (!(part[i] = OUT(o, "Squeeze", part[i], out_const_ints(o, 1, &zero)))) return false;
    const char *k = math_turn(o, part[1], 4, turn),
               *q = k ? OUT(o, "Mul", part[0], out_const(o, dt, 1 / sqrt((double)(width / heads))))
                      : NULL,
               *s = q ? OUT(o, "MatMul", q, k) : NULL;
    s = s ? OUT(o, "Softmax", s) : NULL;
    out_int(o, "axis", -1);
    s = s ? OUT(o, "MatMul", s, part[2]) : NULL;
    s = s ? math_turn(o, s, 4, back) : NULL;
    s = s ? OUT(o, "Reshape", s, out_const_ints(o, 3, flat)) : NULL;
    w = s ? math_turn(o, out_arg(c, 7), 2, matrix) : NULL;
    s = w ? OUT(o, "MatMul", s, w) : NULL;
    c->res[1]->name = ""; /* weights, which were not asked for */
    return out_done(c, s ? OUT(o, "Add", s, out_arg(c, 8)) : NULL);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* ReduceX, whose axes became an input with 18 (of ReduceSum with 13). n 0: all. */
const char *out_reduce(onnx_out *o, const char *type, const char *x, int n, const int64_t *axes,
                       bool keep) {
    bool input = o->opset >= 18 || !strcmp(type, "ReduceSum");
    const char *y;
    if (!x) return NULL;
    if (input && n) y = OUT(o, type, x, out_const_ints(o, n, axes));
    else y = OUT(o, type, x);
    if (!input && n) out_ints(o, "axes", n, axes);
    out_int(o, "keepdims", keep);
    return y;
}

/* (self, dim, keepdim) from argument `at` on, where the overload has them. */
static bool reduce_args(out_call *c, int at, int *n, int64_t *axes, bool *keep) {
    *n = 0;
    *keep = false;
    uint8_t tag = c->nargs > at ? c->args[at]->v[0].tag : V_NONE;
    bool dims = c->nargs > at + 1 && c->args[at + 1]->v[0].tag == V_BOOL;
    if (!dims) return true;
    if (tag != V_NONE && !out_arg_ints(c, at, -1, n, axes)) return false;
    return out_arg_bool(c, at + 1, keep);
}

bool out_op_reduce(out_call *c, const char *text) {
    int n;
    int64_t axes[TENSOR_MAX_DIMS];
    bool keep;
    if (c->args[0]->v[0].tag != V_TENSOR) return out_refuse(c->o, "sums of lists");
    if (!reduce_args(c, 1, &n, axes, &keep)) return false;
    dtype dt = math_result(c), in = math_whole(dt);
    const char *x = out_arg_as(c, 0, in);
    /* of one element; engines differ about axes of it */
    if (!out_t(c, 0)->ndim) return out_done(c, out_cast(c->o, x, in, dt));
    if (!out_t(c, 0)->numel && !strcmp(text, "ReduceMean")) { /* nan, which engines have as 0 */
        const char *sum = out_reduce(c->o, "ReduceSum", x, n, axes, keep);
        return out_done(c, sum ? OUT(c->o, "Div", sum, out_const(c->o, dt, 0)) : NULL);
    }
    return out_done(c, out_cast(c->o, out_reduce(c->o, text, x, n, axes, keep), in, dt));
}

/* max(x), max(x, dim, keepdim) -> (values, indices), max(x, y) */
bool out_op_max(out_call *c, const char *text) {
    onnx_out *o = c->o;
    char words[3][12], *at = words[0];
    int k = 0;
    for (const char *t = text;; t++) {
        if (*t == ' ' || !*t) {
            *at = '\0';
            if (!*t || ++k == 3) break;
            at = words[k];
        } else {
            *at++ = *t;
        }
    }
    dtype dt = math_result(c);
    if (c->res[0]->v[0].tag != V_TENSOR || (c->nargs == 2 && c->args[1]->v[0].tag == V_TENSOR)) {
        dtype in = math_whole(dt);
        const char *x = out_arg_as(c, 0, in), *y = x && c->nargs > 1 ? out_arg_as(c, 1, in) : NULL;
        return out_done(c, y ? out_cast(o, OUT(o, words[1], x, y), in, dt) : NULL);
    }
    dtype in = math_whole(dt);
    if (c->nargs == 1)
        return out_done(
            c, out_cast(o, out_reduce(o, words[0], out_arg_as(c, 0, in), 0, NULL, false), in, dt));
    int64_t dim;
    bool keep;
    if (!out_arg_int(c, 1, &dim) || !out_arg_bool(c, 2, &keep)) return false;
    if (!out_t(c, 0)->ndim) {
        c->res[1]->name = out_const_int(o, 0);
        return out_done(c, out_arg(c, 0)) && c->res[1]->name;
    }
    const char *x = out_arg_as(c, 0, in),
               *v = out_cast(o, out_reduce(o, words[0], x, 1, &dim, keep), in, dt),
               *i = v ? OUT(o, words[2], x) : NULL;
    out_int(o, "axis", dim);
    out_int(o, "keepdims", keep);
    return out_set(c, 0, v) && out_set(c, 1, i);
}

bool out_op_arg(out_call *c, const char *text) {
    static const int64_t all = -1;
    onnx_out *o = c->o;
    int64_t dim = 0;
    bool keep = false, flat = !out_given(c, 1);
    if ((!flat && !out_arg_int(c, 1, &dim)) || !out_arg_bool(c, 2, &keep)) return false;
    const char *x = out_arg_as(c, 0, math_whole(out_dt(c, 0)));
    if (!out_t(c, 0)->ndim) return out_done(c, out_const_int(o, 0));
    if (flat && keep) return out_refuse(o, "keepdim without a dim");
    if (x && flat) x = OUT(o, "Reshape", x, out_const_ints(o, 1, &all));
    const char *y = x ? OUT(o, text, x) : NULL;
    out_int(o, "axis", dim);
    out_int(o, "keepdims", keep);
    return out_done(c, y);
}

bool out_op_all(out_call *c, const char *text) {
    int n;
    int64_t axes[TENSOR_MAX_DIMS];
    bool keep;
    if (c->args[0]->v[0].tag != V_TENSOR || !reduce_args(c, 1, &n, axes, &keep))
        return out_refuse(c->o, "of a list");
    const char *x = out_cast(c->o, out_arg_as(c, 0, DT_BOOL), DT_BOOL, DT_INT32),
               *y = out_reduce(c->o, text, x, n, axes, keep);
    return out_done(c, out_cast(c->o, y, DT_INT32, math_result(c)));
}

bool out_op_cumsum(out_call *c, const char *text) {
    const char *x = out_arg_as(c, 0, math_result(c)), *dim = x ? out_arg(c, 1) : NULL;
    (void)text;
    return out_done(c, dim ? OUT(c->o, "CumSum", x, dim) : NULL);
}

static bool math_topk(out_call *c, const char *k, int64_t dim, bool largest, bool sorted) {
    dtype dt = math_result(c), own = math_whole(dt);
    const char *in[] = {out_arg_as(c, 0, own), k}, *out[2];
    if (!in[0] || !k || !out_nodes(c->o, "TopK", 2, in, 2, out)) return out_no_memory(c->o);
    out_int(c->o, "axis", dim);
    out_int(c->o, "largest", largest);
    out_int(c->o, "sorted", sorted);
    return out_set(c, 0, out_cast(c->o, out[0], own, dt)) && out_set(c, 1, out[1]);
}

bool out_op_topk(out_call *c, const char *text) {
    int64_t dim;
    bool largest, sorted;
    (void)text;
    return out_arg_int(c, 2, &dim) && out_arg_bool(c, 3, &largest) && out_arg_bool(c, 4, &sorted) &&
           math_topk(c, out_arg_1d(c, 1), dim, largest, sorted);
}

bool out_op_sort(out_call *c, const char *text) {
    int64_t dim;
    bool largest;
    int first = c->nargs == 4 ? 2 : 1; /* TopK is stable anyway */
    (void)text;
    if (!out_arg_int(c, first, &dim) || !out_arg_bool(c, first + 1, &largest)) return false;
    int at = out_dim(out_t(c, 0), dim);
    if (!out_is_fixed(c->o, c->args[0], at)) {
        int64_t place = at;
        const char *sizes = OUT(c->o, "Shape", out_arg(c, 0)),
                   *n = sizes ? OUT(c->o, "Gather", sizes, out_const_ints(c->o, 1, &place)) : NULL;
        out_int(c->o, "axis", 0);
        return math_topk(c, n, dim, largest, true);
    }
    return math_topk(c, out_const_ints(c->o, 1, &out_t(c, 0)->sizes[at]), dim, largest, true);
}
