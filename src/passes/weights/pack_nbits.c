/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_nbits.c - products with constant weights that a program keeps as integers and makes floats
 * of at each call become ctsc::linear_nbits, which keeps them packed.
 *
 *     %f : Tensor = aten::to(%t, %float)                       # %t: int8 [k, n], a constant or its transpose
 *     %y : Tensor = aten::mm(%x, %f)
 *     %z : Tensor = aten::mul(%y, %scale)                      # a constant of n elements, viewed
 *
 *     ->  %z : Tensor = ctsc::linear_nbits(%x, %w', %scale', %none, %none, %8, %k, %k, %0)
 *
 *     %f : Tensor = torchao::dequantize_affine(%q, %block, %scale, %zero, ...)     # blocks [1, group]
 *     %y : Tensor = aten::linear(%x, %f, %bias)
 *
 *     ->  %y : Tensor = ctsc::linear_nbits(%x, %w', %scale', %zero', %bias, %bits, %group, %k, %0)
 *
 * or, where %x is a dequantize_affine of rows, ctsc::linear_nbits_rows of its integers;
 * aten::matmul by float8 converted to float32, transposed and scaled becomes aten::linear
 * by the floats; and aten::embedding(%f, %indices, ...) ctsc::embedding_nbits likewise.
 * torchao's weights arrive in this form (tests/pt2/cases_torchao.py). So do a constant of
 * qint8 followed by aten::dequantize, and two integers in a byte as `ctsc quantize`
 * writes them in PyTorch's operators (passes/quantise/quantise_weights.c). Activations
 * stay floats; results are rounded once where the program rounds products and scaled
 * products to 16 bits each. Runs before fold-tensors, which would keep the floats.
 * Tests: tests/cli/exported.test, tests/pt2
 */
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"
#include "tensor/device.h"
#include "tensor/quantiser.h"

#include <string.h>

enum { PACK_LEAST = 1024 }; /* elements */

/* Integers less `low` are what bits hold; zero: [n, groups], NULL where it is half of that. */
typedef struct pack_weights {
    const tensor *q; /* int8 [n, k] or, turned, [k, n] */
    bool turned;
    const tensor *scale, *zero; /* scale: n times groups elements */
    int64_t n, k, group;
    int bits;
} pack_weights;

static bool pack_is_ints(const tensor *t) {
    return t->dtype == DT_INT8 && t->ndim == 2 && t->numel >= PACK_LEAST &&
           tensor_device(t) == DEVICE_HOST;
}

static bool pack_is_scales(const tensor *t, int64_t count) {
    return (t->dtype == DT_FLOAT32 || dtype_is_half((dtype)t->dtype)) && t->numel == count &&
           tensor_is_contiguous(t) && tensor_device(t) == DEVICE_HOST;
}

/* ---- constants ------------------------------------------------------------------------------- */

static ir_value *pack_constant(node *at, tensor *t_take) {
    tensor *own;
    ctsc_status st = tensor_constant(NULL, t_take, &own);
    tensor_unref(t_take);
    return st == CTSC_OK ? graph_constant_before_take(at, value_tensor_take(own), TYPE_TENSOR)
                         : NULL;
}

static ir_value *pack_data(node *at, const pack_weights *w) {
    int64_t row = w->k * w->bits / 8, rs = w->q->strides[w->turned ? 1 : 0],
            cs = w->q->strides[w->turned ? 0 : 1];
    int up = 1 << (w->bits - 1), mask = (1 << w->bits) - 1;
    tensor *t;
    if (tensor_zeros(NULL, DT_UINT8, 2, (int64_t[]){w->n, row}, &t) != CTSC_OK) return NULL;
    for (int64_t j = 0; j < w->n; j++) {
        const int8_t *from = (const int8_t *)tensor_data(w->q) + j * rs;
        uint8_t *to = (uint8_t *)tensor_data(t) + j * row;
        for (int64_t i = 0; i < w->k; i++) {
            int64_t bit = i * w->bits;
            to[bit / 8] = (uint8_t)(to[bit / 8] | (((from[i * cs] + up) & mask) << bit % 8));
        }
    }
    return pack_constant(at, t);
}

/* As dt, which the program rounds them to. */
static ir_value *pack_scales(node *at, const pack_weights *w, dtype dt) {
    tensor *t, *rounded;
    int64_t sizes[] = {w->n, w->k / w->group};
    if (tensor_new(NULL, (dtype)w->scale->dtype, 2, sizes, &t) != CTSC_OK) return NULL;
    memcpy(tensor_data(t), tensor_data(w->scale), (size_t)t->numel * dtype_size((dtype)t->dtype));
    ctsc_status st = tensor_to_dtype(NULL, t, dt, &rounded);
    tensor_unref(t);
    return st == CTSC_OK ? pack_constant(at, rounded) : NULL;
}

static ir_value *pack_zeros(node *at, const pack_weights *w) {
    tensor *t;
    int64_t sizes[] = {w->n, w->k / w->group};
    bool any = false;
    for (int64_t i = 0; w->zero && i < w->zero->numel; i++)
        any |= ((const int8_t *)tensor_data(w->zero))[i] != 0;
    if (!any) return rewrite_none(at);
    if (tensor_new(NULL, DT_FLOAT32, 2, sizes, &t) != CTSC_OK) return NULL;
    for (int64_t i = 0; i < t->numel; i++) {
        int zero = ((const int8_t *)tensor_data(w->zero))[i];
        ((float *)tensor_data(t))[i] = (float)(zero + (1 << (w->bits - 1)));
    }
    return pack_constant(at, t);
}

/* ---- integers made floats, their sums scaled ------------------------------------------------- */

/* What v is, except for views that keep the order of elements
 * and conversions to dt; NULL: it is none of that dtype. */
static const tensor *pack_behind_views(const ir_value *v, int64_t dt) {
    tensor *t;
    int64_t to = -1;
    while (v->def && v->def->kind == N_OP && v->def->op && !known_tensor(v, &t)) {
        const node *n = v->def;
        bool cast = node_is_overload(n, SYM_TO_DTYPE) || node_is_overload(n, SYM__TO_COPY);
        if (cast && (!known_int(n->inputs.data[1], &to) || to != dt)) return NULL;
        if (!cast && !node_is_overload(n, SYM_VIEW) && !node_is_overload(n, SYM_RESHAPE) &&
            !node_is_overload(n, SYM_FLATTEN_USING_INTS))
            return NULL;
        v = n->inputs.data[0];
    }
    return known_tensor(v, &t) && (to == dt || t->dtype == dt) ? t : NULL;
}

/* The transpose of a matrix. */
static bool pack_is_turn(const node *n) {
    int64_t order[KNOWN_MAX_INTS];
    int dims = 0;
    return node_is_overload(n, SYM_T) ||
           (node_is_overload(n, SYM_PERMUTE) && known_ints(n->inputs.data[1], order, &dims) &&
            dims == 2 && order[0] == 1 && order[1] == 0);
}

/* v as int8 [k, n]: a constant, or the transpose of one. */
static bool pack_turned(const ir_value *v, pack_weights *w) {
    tensor *t;
    node *n = v->def;
    bool of = n && n->kind == N_OP && n->op && pack_is_turn(n);
    if (!known_tensor(of ? n->inputs.data[0] : v, &t) || !pack_is_ints(t)) return false;
    w->q = t;
    w->turned = !of;
    w->k = t->sizes[of ? 1 : 0], w->n = t->sizes[of ? 0 : 1];
    return true;
}

static bool pack_scaled_rule(node *n) {
    if (!node_is_overload(n, SYM_MUL_TENSOR)) return false;
    node *mm = rewrite_only_for(n, n->inputs.data[0]);
    if (!mm || !node_is_overload(mm, SYM_MM)) return false;
    node *cast = mm->inputs.data[1]->def;
    bool casts = cast && cast->kind == N_OP && cast->op &&
                 (node_is_overload(cast, SYM_TO_DTYPE) || node_is_overload(cast, SYM__TO_COPY));
    int64_t dt;
    pack_weights w = {.bits = 8};
    if (!casts || !known_int(cast->inputs.data[1], &dt) || !pack_turned(cast->inputs.data[0], &w))
        return false;
    w.group = w.k;
    w.scale = pack_behind_views(n->inputs.data[1], dt);
    bool fits = dt == DT_FLOAT32 || dtype_is_half(dt);
    if (!fits || !w.scale || !pack_is_scales(w.scale, w.n)) return false;
    ir_value *data = pack_data(n, &w), *scale = data ? pack_scales(n, &w, (dtype)dt) : NULL;
    if (!scale) return false;
    ir_value *in[] = {mm->inputs.data[0],
                      data,
                      scale,
                      rewrite_none(n),
                      rewrite_none(n),
                      rewrite_int(n, 8),
                      rewrite_int(n, w.k),
                      rewrite_int(n, w.k),
                      rewrite_int(n, 0)};
    ir_value *y = rewrite_op(n, op_of(SYM_CTSC_LINEAR_NBITS), 9, in);
    if (!y) return false;
    rewrite_result(n, y);
    node_remove(mm);
    return true;
}

/* ---- float8 ---------------------------------------------------------------------------------- */

/* v is float8 [n, k], a constant, as float32 and transposed; NULL: it is not. */
static const tensor *pack_float8(const ir_value *v) {
    const node *cast = v->def, *turn;
    tensor *t;
    int64_t dt;
    if (!cast || cast->kind != N_OP || !cast->op ||
        (!node_is_overload(cast, SYM_TO_DTYPE) && !node_is_overload(cast, SYM__TO_COPY)) ||
        !known_int(cast->inputs.data[1], &dt) || dt != DT_FLOAT32)
        return NULL;
    turn = cast->inputs.data[0]->def;
    if (!turn || turn->kind != N_OP || !turn->op || !pack_is_turn(turn) ||
        !known_tensor(turn->inputs.data[0], &t) || !dtype_is_float8((dtype)t->dtype) ||
        t->ndim != 2 || t->numel < PACK_LEAST || tensor_device(t) != DEVICE_HOST)
        return NULL;
    return t;
}

/* Scales of n columns, a constant [1, n] or the transpose of [n, 1]; NULL: others. */
static const tensor *pack_columns(const ir_value *v, int64_t n) {
    const node *turn = v->def;
    bool turned = turn && turn->kind == N_OP && turn->op && pack_is_turn(turn);
    tensor *t;
    return known_tensor(turned ? turn->inputs.data[0] : v, &t) && t->dtype == DT_FLOAT32 &&
                   pack_is_scales(t, n) && t->ndim == 2 && t->sizes[turned ? 0 : 1] == n
               ? t
               : NULL;
}

/* The weight as floats, once, instead of at each call; and a linear layer, which packs it. */
static bool pack_float8_rule(node *n) {
    if (!node_is_overload(n, SYM_MATMUL) && !node_is_overload(n, SYM_MM)) return false;
    node *mul = n->inputs.data[1]->def;
    int64_t dt;
    if (mul && mul->kind == N_OP && mul->op && node_is_overload(mul, SYM_TO_DTYPE) &&
        known_int(mul->inputs.data[1], &dt) && dt == DT_FLOAT32)
        mul = mul->inputs.data[0]->def;
    if (!mul || mul->kind != N_OP || !mul->op || !node_is_overload(mul, SYM_MUL_TENSOR))
        return false;
    const tensor *q = pack_float8(mul->inputs.data[0]),
                 *scale = q ? pack_columns(mul->inputs.data[1], q->sizes[0]) : NULL;
    tensor *wide = NULL, *w = NULL;
    if (!scale || tensor_to_dtype(NULL, (tensor *)q, DT_FLOAT32, &wide) != CTSC_OK) return false;
    ctsc_status st = tensor_new(NULL, DT_FLOAT32, 2, q->sizes, &w);
    for (int64_t j = 0; st == CTSC_OK && j < w->sizes[0]; j++)
        for (int64_t i = 0; i < w->sizes[1]; i++) TENSOR_AT(w, float)
    [j * w->sizes[1] + i] = TENSOR_AT(wide, float)[j * wide->strides[0] + i * wide->strides[1]] *
                            TENSOR_AT(scale, float)[j];
    tensor_unref(wide);
    ir_value *weight = st == CTSC_OK ? pack_constant(n, w) : NULL;
    ir_value *in[] = {n->inputs.data[0], weight, rewrite_none(n)};
    ir_value *y = weight ? rewrite_op(n, op_of(SYM_LINEAR), 3, in) : NULL;
    if (y) rewrite_result(n, y);
    return y != NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool pack_within(const ir_value *low, const ir_value *high, int64_t least, int64_t most) {
    int64_t a, b;
    return known_int(low, &a) && known_int(high, &b) && a >= least && b <= most;
}

/* v, dequantised in blocks of rows. */
static bool pack_affine(const ir_value *v, pack_weights *w) {
    enum { Q, BLOCK, SCALE, ZERO, TYPE, LOW, HIGH, TO };
    node *n = v->def;
    tensor *q, *scale, *zero = NULL;
    int64_t block[KNOWN_MAX_INTS], to;
    int dims;
    if (!n || n->kind != N_OP || !n->op || !node_is_overload(n, SYM_TORCHAO_DEQUANTIZE_AFFINE) ||
        !known_tensor(n->inputs.data[Q], &q) || !pack_is_ints(q) ||
        !known_tensor(n->inputs.data[SCALE], &scale) ||
        !known_ints(n->inputs.data[BLOCK], block, &dims) || dims != 2 ||
        !known_int(n->inputs.data[TO], &to) || to != scale->dtype)
        return false;
    if (!known_is_none(n->inputs.data[ZERO]) && !known_tensor(n->inputs.data[ZERO], &zero))
        return false;
    *w = (pack_weights){.q = q,
                        .scale = scale,
                        .zero = zero,
                        .n = q->sizes[0],
                        .k = q->sizes[1],
                        .group = block[1]};
    w->bits = pack_within(n->inputs.data[LOW], n->inputs.data[HIGH], -8, 7) ? 4 : 8;
    if (block[0] != 1 || w->group < 1 || w->k % w->group || w->group * w->bits % 8) return false;
    int64_t count = w->n * (w->k / w->group);
    return pack_is_scales(scale, count) &&
           (!zero || (zero->dtype == DT_INT8 && zero->numel == count &&
                      tensor_is_contiguous(zero) && tensor_device(zero) == DEVICE_HOST));
}

/* Constants that say they have four bits may have more: those stay. */
static bool pack_in_range(const pack_weights *w) {
    int least = -(1 << (w->bits - 1)), most = -least - 1;
    for (int64_t j = 0; j < w->n; j++)
        for (int64_t i = 0; i < w->k; i++) {
            int q =
                ((const int8_t *)tensor_data(w->q))[j * w->q->strides[0] + i * w->q->strides[1]];
            if (q < least || q > most) return false;
        }
    return true;
}

/* x, integers of 8 bits that were dequantised to float32 with a scale for each row of k; NULL: it
 * is something else. */
static const node *pack_rows(const ir_value *x, int64_t k) {
    enum { BLOCK = 1, ZERO = 3, TYPE = 4, TO = 7 };
    const node *n = x->def;
    int64_t block[KNOWN_MAX_INTS], from, to;
    int dims;
    if (!n || n->kind != N_OP || !n->op || !node_is_overload(n, SYM_TORCHAO_DEQUANTIZE_AFFINE) ||
        !known_ints(n->inputs.data[BLOCK], block, &dims) || dims < 1 || block[dims - 1] != k ||
        !known_int(n->inputs.data[TYPE], &from) || from != DT_INT8 ||
        !known_int(n->inputs.data[TO], &to) || to != DT_FLOAT32)
        return NULL;
    for (int i = 0; i < dims - 1; i++)
        if (block[i] != 1) return NULL;
    return n;
}

/* A product with w, or a look-up in it, in the place of n. */
static bool pack_replace(node *n, bool linear, const pack_weights *w) {
    ir_value *data = pack_data(n, w),
             *scale = data ? pack_scales(n, w, (dtype)w->scale->dtype) : NULL,
             *zero = scale ? pack_zeros(n, w) : NULL;
    if (!zero) return false;
    ir_value *bits = rewrite_int(n, w->bits), *group = rewrite_int(n, w->group),
             *k = rewrite_int(n, w->k), *y;
    const node *rows = linear ? pack_rows(n->inputs.data[0], w->k) : NULL;
    if (rows) {
        enum { SCALE = 2, ZERO = 3 };
        ir_value *in[] = {rows->inputs.data[0],
                          rows->inputs.data[SCALE],
                          rows->inputs.data[ZERO],
                          data,
                          scale,
                          zero,
                          n->inputs.data[2],
                          bits,
                          group,
                          k};
        y = rewrite_op(n, op_of(SYM_CTSC_LINEAR_NBITS_ROWS), 10, in);
    } else if (linear) {
        ir_value *in[] = {n->inputs.data[0], data, scale, zero, n->inputs.data[2], bits, group, k,
                          rewrite_int(n, 0)};
        y = rewrite_op(n, op_of(SYM_CTSC_LINEAR_NBITS), 9, in);
    } else {
        ir_value *in[] = {data, scale, zero, n->inputs.data[1], bits, group, k};
        y = rewrite_op(n, op_of(SYM_CTSC_EMBEDDING_NBITS), 7, in);
    }
    if (!y) return false;
    rewrite_result(n, y);
    return true;
}

/* ---- constants of qint8 ---------------------------------------------------------------------- */

/* Tensors that were made of a constant. */
typedef struct pack_own { tensor *q, *scale, *zero; } pack_own;

static void pack_own_free(pack_own *own) {
    tensor_unref(own->q);
    tensor_unref(own->scale);
    tensor_unref(own->zero);
}

static node *pack_made_by(const ir_value *v, op_symbol op) {
    node *n = v->def;
    return n && n->kind == N_OP && n->op && node_is_overload(n, op) ? n : NULL;
}

/* v, dequantised rows of a matrix; one scale for a row or for all, zero points that are 0. */
static bool pack_quantised(const ir_value *v, pack_weights *w, pack_own *own) {
    const node *n = pack_made_by(v, SYM_DEQUANTIZE_SELF);
    tensor *t;
    if (!n || !known_tensor(n->inputs.data[0], &t) || t->dtype != DT_QINT8 || t->ndim != 2 ||
        t->numel < PACK_LEAST || tensor_device(t) != DEVICE_HOST)
        return false;
    const quantiser *q = t->quantiser;
    bool whole = quantiser_per_tensor(q);
    if (whole ? q->zero_point != 0 : q->scheme != QSCHEME_CHANNEL_AFFINE || q->axis != 0)
        return false;
    for (int64_t i = 0; !whole && i < t->sizes[0]; i++)
        if (TENSOR_AT(q->zero_points, int64_t)[i]) return false;
    if (tensor_new(NULL, DT_INT8, 2, t->sizes, &own->q) != CTSC_OK ||
        tensor_new(NULL, DT_FLOAT32, 1, t->sizes, &own->scale) != CTSC_OK)
        return false;
    for (int64_t i = 0; i < t->sizes[0]; i++) {
        TENSOR_AT(own->scale, float)
        [i] = (float)(whole ? q->scale : TENSOR_AT(q->scales, double)[i]);
        for (int64_t k = 0; k < t->sizes[1]; k++) TENSOR_AT(own->q, int8_t)
        [i * t->sizes[1] +
            k] = ((const int8_t *)tensor_data(t))[i * t->strides[0] + k * t->strides[1]];
    }
    *w = (pack_weights){.q = own->q,
                        .scale = own->scale,
                        .n = t->sizes[0],
                        .k = t->sizes[1],
                        .group = t->sizes[1],
                        .bits = 8};
    return true;
}

/* ---- two in a byte --------------------------------------------------------------------------- */

/* The bytes p of stack([p & 15, p >> 4], -1); NULL: v is something else. */
static const tensor *pack_nibbles_of(const ir_value *v) {
    const node *stack = pack_made_by(v, SYM_STACK), *l = stack ? stack->inputs.data[0]->def : NULL;
    int64_t dim, mask, shift;
    tensor *p;
    if (!l || l->kind != N_LIST_CONSTRUCT || l->inputs.len != 2 ||
        !known_int(stack->inputs.data[1], &dim) || dim != -1)
        return NULL;
    const node *low = pack_made_by(l->inputs.data[0], SYM_BITWISE_AND_SCALAR),
               *high = pack_made_by(l->inputs.data[1], SYM_BITWISE_RIGHT_SHIFT_TENSOR_SCALAR);
    return low && high && low->inputs.data[0] == high->inputs.data[0] &&
                   known_int(low->inputs.data[1], &mask) && mask == 15 &&
                   known_int(high->inputs.data[1], &shift) && shift == 4 &&
                   known_tensor(low->inputs.data[0], &p) && p->dtype == DT_UINT8 && p->ndim == 2 &&
                   tensor_is_contiguous(p) && tensor_device(p) == DEVICE_HOST
               ? p
               : NULL;
}

static bool pack_nibbles_unpack(const tensor *p, pack_weights *w, const tensor *zero,
                                pack_own *own) {
    int64_t sizes[] = {w->n, w->k};
    if (tensor_new(NULL, DT_INT8, 2, sizes, &own->q) != CTSC_OK ||
        (zero && tensor_new(NULL, DT_INT8, 1, &zero->numel, &own->zero) != CTSC_OK))
        return false;
    for (int64_t i = 0; i < p->numel; i++) {
        uint8_t byte = TENSOR_AT(p, uint8_t)[i];
        TENSOR_AT(own->q, int8_t)[2 * i] = (int8_t)((byte & 15) - 8);
        TENSOR_AT(own->q, int8_t)[2 * i + 1] = (int8_t)((byte >> 4) - 8);
    }
    for (int64_t i = 0; zero && i < zero->numel; i++) {
        float z = TENSOR_AT(zero, float)[i];
        if (!(z >= 0 && z <= 15) || z != (float)(int)z) return false;
        TENSOR_AT(own->zero, int8_t)[i] = (int8_t)((int)z - 8);
    }
    w->q = own->q, w->zero = own->zero;
    return true;
}

/*     v = ((stack(...).view([n, groups, group]).to(float) - zero) * scale).view([n, k]) */
static bool pack_nibbles(const ir_value *v, pack_weights *w, pack_own *own) {
    int64_t whole[KNOWN_MAX_INTS], parts[KNOWN_MAX_INTS], to;
    int nwhole, nparts;
    tensor *scale, *zero = NULL;
    const node *back = pack_made_by(v, SYM_VIEW),
               *mul = back ? pack_made_by(back->inputs.data[0], SYM_MUL_TENSOR) : NULL,
               *sub = mul ? pack_made_by(mul->inputs.data[0], SYM_SUB_SCALAR) : NULL;
    if (mul && !sub && (sub = pack_made_by(mul->inputs.data[0], SYM_SUB_TENSOR)) &&
        !known_tensor(sub->inputs.data[1], &zero))
        return false;
    const node *cast = sub ? pack_made_by(sub->inputs.data[0], SYM_TO_DTYPE) : NULL,
               *view = cast ? pack_made_by(cast->inputs.data[0], SYM_VIEW) : NULL;
    const tensor *p = view ? pack_nibbles_of(view->inputs.data[0]) : NULL;
    if (!p || !known_ints(back->inputs.data[1], whole, &nwhole) || nwhole != 2 ||
        !known_ints(view->inputs.data[1], parts, &nparts) || nparts != 3 ||
        !known_int(cast->inputs.data[1], &to) || to != DT_FLOAT32 ||
        !known_number_is(sub->inputs.data[2], 1) ||
        (!zero && !known_number_is(sub->inputs.data[1], 8)) ||
        !known_tensor(mul->inputs.data[1], &scale))
        return false;
    *w = (pack_weights){.scale = scale, .n = whole[0], .k = whole[1], .group = parts[2], .bits = 4};
    bool fits = w->n > 0 && w->k > 0 && w->group > 0 && p->sizes[0] == w->n &&
                p->sizes[1] * 2 == w->k && parts[0] == w->n && w->k % w->group == 0 &&
                parts[1] == w->k / w->group && w->group % 2 == 0 && w->n * w->k >= PACK_LEAST;
    int64_t count = fits ? w->n * parts[1] : 0;
    fits = fits && pack_is_scales(scale, count) && scale->dtype == DT_FLOAT32 && scale->ndim == 3 &&
           scale->sizes[0] == w->n && scale->sizes[1] == parts[1] &&
           (!zero || (pack_is_scales(zero, count) && zero->dtype == DT_FLOAT32 && zero->ndim == 3 &&
                      zero->sizes[1] == parts[1]));
    return fits && pack_nibbles_unpack(p, w, zero, own);
}

static bool pack_weight_rule(node *n) {
    bool linear = node_is_overload(n, SYM_LINEAR);
    pack_own own = {NULL, NULL, NULL};
    pack_weights w;
    if (!linear && !node_is_overload(n, SYM_EMBEDDING)) return false;
    const ir_value *v = n->inputs.data[linear ? 1 : 0];
    bool known = (pack_affine(v, &w) && pack_in_range(&w)) || pack_quantised(v, &w, &own) ||
                 pack_nibbles(v, &w, &own);
    bool made = known && pack_replace(n, linear, &w);
    pack_own_free(&own);
    return made;
}

static bool pack_nbits_rule(const alias_db *db, node *n) {
    (void)db;
    return pack_scaled_rule(n) || pack_weight_rule(n) || pack_float8_rule(n);
}

bool pass_pack_nbits(pass_ctx *cx, graph *g) {
    if (cx->device != DEVICE_HOST) return false;
    return rewrite_each(cx, g, pack_nbits_rule);
}
