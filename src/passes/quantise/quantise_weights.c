/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise_weights.c - constant weights as integers: of channels, of the whole, or of groups of a
 * row (quantise_insert.h).
 *
 * Bytes are symmetric, scale = largest magnitude / 127, as in PyTorch and ONNX Runtime. Four bits
 * without zero points have a scale that may be negative, so that the largest magnitude becomes
 * -8, since there is one more negative than positive number (as in MatMulNBits' own quantiser):
 * step = max(M / 8, m / 7), M the largest magnitude, m the largest of the other sign. With zero
 * points step = (max - min) / 15, where the range includes 0. A row of zeros has scale 1.
 * Tests: tests/unit/test_ptq.c
 */
#include "passes/quantise/quantise_insert.h"
#include "tensor/device.h"

#include <math.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

/* The weight as contiguous floats [rows, k], its output features first; and the sizes of its form
 * with features first. NULL: it has numbers that are not finite, or there is no memory. */
static tensor *rows_of(const quantise_layer *l) {
    tensor *w = NULL, *turned = NULL;
    if (l->turned && tensor_transpose(NULL, l->w, 0, 1, &turned) != CTSC_OK) return NULL;
    ctsc_status s = tensor_contiguous(NULL, turned ? turned : l->w, &w);
    tensor_unref(turned);
    if (s != CTSC_OK) return NULL;
    bool finite = true;
    for (int64_t i = 0; i < w->numel; i++) finite &= isfinite(TENSOR_AT(w, float)[i]) != 0;
    if (!finite) tensor_unref(w);
    return finite ? w : NULL;
}

/* The largest magnitude of each index of `axis`, or of all. */
static void rows_largest(const tensor *w, int axis, bool whole, double *out) {
    int64_t n = w->sizes[axis], inner = 1;
    for (int i = axis + 1; i < w->ndim; i++) inner *= w->sizes[i];
    for (int64_t c = 0; c < (whole ? 1 : n); c++) out[c] = 0;
    for (int64_t i = 0; i < w->numel; i++) {
        double m = fabs((double)TENSOR_AT(w, float)[i]), *o = &out[whole ? 0 : i / inner % n];
        *o = m > *o ? m : *o;
    }
}

static int8_t byte_of(double x, double scale) {
    double q = nearbyint(x / scale);
    return (int8_t)(q < -127 ? -127 : q > 127 ? 127 : q);
}

/* A scale by which floats can be divided, also where all of them are zero or next to it. */
static double scale_of(double largest) {
    double s = largest / 127;
    return s < 0x1p-100 ? 1 : (double)(float)s;
}

/* w (features along `axis`) as qint8. */
static tensor *bytes_of(const tensor *w, int axis, bool whole) {
    int64_t n = w->sizes[axis], inner = 1, count = whole ? 1 : n;
    tensor *scales = NULL, *zeros = NULL, *out = NULL;
    quantiser *q = NULL;
    for (int i = axis + 1; i < w->ndim; i++) inner *= w->sizes[i];
    bool ok = tensor_new(NULL, DT_FLOAT64, 1, &count, &scales) == CTSC_OK &&
              tensor_zeros(NULL, DT_INT64, 1, &count, &zeros) == CTSC_OK;
    if (ok) {
        double *s = TENSOR_AT(scales, double);
        rows_largest(w, axis, whole, s);
        for (int64_t i = 0; i < count; i++) s[i] = scale_of(s[i]);
        q = whole ? quantiser_new(s[0], 0)
                  : quantiser_new_channels(QSCHEME_CHANNEL_AFFINE, scales, zeros, axis);
        ok = q && tensor_new_quantised(NULL, DT_QINT8, w->ndim, w->sizes, q, &out) == CTSC_OK;
        for (int64_t i = 0; ok && i < w->numel; i++) TENSOR_AT(out, int8_t)
        [i] = byte_of((double)TENSOR_AT(w, float)[i], s[whole ? 0 : i / inner % n]);
    }
    quantiser_unref(q);
    tensor_unref(scales);
    tensor_unref(zeros);
    return ok ? out : NULL;
}

tensor *quantise_weight_bytes(const quantise_layer *l, bool per_tensor) {
    tensor *w = rows_of(l), *q = w ? bytes_of(w, l->turned ? 0 : l->axis, per_tensor) : NULL;
    tensor_unref(w);
    return q;
}

/* ---- packed parameters ----------------------------------------------------------------------- */

value quantise_layer_pack(const quantise_layer *l, bool per_tensor) {
    value args[2 + QUANTISE_GEOMETRY] = {{0}}, packed = value_none(), bias;
    const quantise_conv_kind *k = quantise_conv_kind_of(l->n);
    tensor *b = NULL;
    if (l->bias && (!ir_value_constant(l->bias, &bias) || bias.tag != V_TENSOR)) return packed;
    /* transposed convolutions have one scale in PyTorch */
    tensor *w = quantise_weight_bytes(l, per_tensor || (k && k->transposed));
    if (!w) return packed;
    args[0] = value_tensor_take(w);
    bool ok = !l->bias || tensor_contiguous(NULL, bias.u.tensor, &b) == CTSC_OK;
    if (ok && b) args[1] = value_tensor_take(b);
    if (ok && k && quantise_conv_geometry(l->n, k, args + 2))
        packed = quantise_run(k->prepack, 3 + k->lists, args);
    else if (ok && !k) packed = quantise_run("quantized::linear_prepack", 2, args);
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) value_unref(args[i]);
    return packed;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* From the smallest to the largest of the row: value = (byte - zero) * scale. */
static void table_row(const float *x, int64_t n, float *scale, float *zero, uint8_t *q) {
    double lo = n ? (double)x[0] : 0, hi = lo;
    for (int64_t i = 0; i < n; i++) {
        lo = fmin(lo, (double)x[i]);
        hi = fmax(hi, (double)x[i]);
    }
    double s = (hi - lo) / UINT8_MAX;
    *scale = s < 0x1p-100 ? 1 : (float)s;
    *zero = (float)(-lo / (double)*scale);
    for (int64_t i = 0; i < n; i++) {
        double b = nearbyint(((double)x[i] - lo) / (double)*scale);
        q[i] = (uint8_t)(b < 0 ? 0 : b > UINT8_MAX ? UINT8_MAX : b);
    }
}

/* The table as quint8 with a scale and a float zero point for each row; NULL: it cannot be. */
static tensor *table_bytes(const quantise_layer *l) {
    tensor *w = rows_of(l), *scales = NULL, *zeros = NULL, *out = NULL;
    quantiser *q = NULL;
    bool ok = w && tensor_new(NULL, DT_FLOAT32, 1, w->sizes, &scales) == CTSC_OK &&
              tensor_new(NULL, DT_FLOAT32, 1, w->sizes, &zeros) == CTSC_OK &&
              (q = quantiser_new_channels(QSCHEME_CHANNEL_FLOAT, scales, zeros, 0)) &&
              tensor_new_quantised(NULL, DT_QUINT8, w->ndim, w->sizes, q, &out) == CTSC_OK;
    for (int64_t i = 0; ok && i < w->sizes[0]; i++)
        table_row(TENSOR_AT(w, float) + i * w->sizes[1], w->sizes[1], TENSOR_AT(scales, float) + i,
                  TENSOR_AT(zeros, float) + i, TENSOR_AT(out, uint8_t) + i * w->sizes[1]);
    quantiser_unref(q);
    tensor_unref(w);
    tensor_unref(scales);
    tensor_unref(zeros);
    return ok ? out : NULL;
}

value quantise_table_pack(const quantise_layer *l) {
    tensor *q = table_bytes(l);
    value v = q ? value_tensor_take(q) : value_none(),
          packed = q ? quantise_run("quantized::embedding_bag_prepack", 1, &v) : value_none();
    value_unref(v);
    return packed;
}

/* ---- groups of a row ------------------------------------------------------------------------- */

typedef struct groups {
    int64_t n, k, group, count; /* count: groups of a row */
    tensor *q;                  /* int8 [n, k], from -8 to 7, or from -128 to 127 */
    tensor *scale;              /* float32 [n, count] */
    tensor *zero;               /* int8 [n, count]; NULL: zeros */
} groups;

static void groups_free(groups *g) {
    tensor_unref(g->q);
    tensor_unref(g->scale);
    tensor_unref(g->zero);
}

/* One group: least and most are the bounds of its integers. */
static void group_find(const float *x, int64_t n, const quantise_weights *how, float *scale,
                       int8_t *zero, int8_t *q) {
    int least = -(1 << (how->bits - 1)), most = -least - 1;
    double lo = 0, hi = 0, s;
    for (int64_t i = 0; i < n; i++) {
        lo = (double)x[i] < lo ? (double)x[i] : lo;
        hi = (double)x[i] > hi ? (double)x[i] : hi;
    }
    double large = hi > -lo ? hi : -lo, small = hi > -lo ? -lo : hi;
    if (how->zeros) s = (hi - lo) / (most - least);
    else s = fmax(large / -least, small / most) * (hi > -lo ? -1 : 1);
    if (fabs(s) < 0x1p-100) s = 1;
    *scale = (float)s;
    s = (double)*scale;
    double z = how->zeros ? nearbyint(least - lo / s) : 0;
    z = z < least ? least : z > most ? most : z;
    if (zero) *zero = (int8_t)z;
    for (int64_t i = 0; i < n; i++) {
        double v = nearbyint((double)x[i] / s) + z;
        q[i] = (int8_t)(v < least ? least : v > most ? most : v);
    }
}

static bool groups_of(const quantise_layer *l, const quantise_weights *how, groups *g) {
    tensor *w = l->w->ndim == 2 ? rows_of(l) : NULL;
    *g = (groups){0};
    if (!w) return false;
    g->n = w->sizes[0], g->k = w->sizes[1];
    g->group = how->group ? how->group : g->k;
    bool ok = g->k && g->k % g->group == 0 && g->group * how->bits % 8 == 0;
    if (ok) g->count = g->k / g->group;
    int64_t sizes[] = {g->n, g->count};
    ok = ok && tensor_new(NULL, DT_INT8, 2, w->sizes, &g->q) == CTSC_OK &&
         tensor_new(NULL, DT_FLOAT32, 2, sizes, &g->scale) == CTSC_OK &&
         (!how->zeros || tensor_new(NULL, DT_INT8, 2, sizes, &g->zero) == CTSC_OK);
    for (int64_t i = 0; ok && i < g->n * g->count; i++)
        group_find(TENSOR_AT(w, float) + i * g->group, g->group, how,
                   &TENSOR_AT(g->scale, float)[i], g->zero ? &TENSOR_AT(g->zero, int8_t)[i] : NULL,
                   TENSOR_AT(g->q, int8_t) + i * g->group);
    tensor_unref(w);
    if (!ok) groups_free(g);
    return ok;
}

/* ---- as values of the graph ------------------------------------------------------------------ */

static ir_value *weight_constant(node *at, tensor *t_take) {
    return t_take ? graph_constant_before_take(at, value_tensor_take(t_take), TYPE_TENSOR) : NULL;
}

static ir_value *weight_list(node *at, int n, ir_value *const *items, type *t) {
    node *l = node_new(at->g, N_LIST_CONSTRUCT, n, items, 1);
    l->outputs.data[0]->type = type_list(t);
    l->range = at->range;
    node_insert_before(l, at);
    return l->outputs.data[0];
}

static ir_value *weight_ints(node *at, int n, const int64_t *ints) {
    ir_value *items[4];
    for (int i = 0; i < n; i++) items[i] = rewrite_int(at, ints[i]);
    return weight_list(at, n, items, TYPE_INT);
}

static ir_value *weight_op(node *at, const char *key, int n, ir_value *const *args) {
    for (int i = 0; i < n; i++)
        if (!args[i]) return NULL;
    return rewrite_op(at, op_find(key), n, args);
}

/* torchao's form. */
static ir_value *groups_affine(node *at, const quantise_weights *how, groups *g) {
    int64_t block[] = {1, g->group}, low = -(1 << (how->bits - 1));
    ir_value *zero = g->zero ? weight_constant(at, tensor_ref(g->zero)) : rewrite_none(at),
             *args[] = {weight_constant(at, tensor_ref(g->q)),
                        weight_ints(at, 2, block),
                        weight_constant(at, tensor_ref(g->scale)),
                        zero,
                        rewrite_int(at, DT_INT8),
                        rewrite_int(at, low),
                        rewrite_int(at, -low - 1),
                        rewrite_int(at, DT_FLOAT32)};
    return weight_op(at, "torchao::dequantize_affine", 8, args);
}

/* Two integers, moved to be from 0 to 15, in a byte: the first is in its lower half. */
static tensor *groups_nibbles(const groups *g) {
    int64_t sizes[] = {g->n, g->k / 2};
    tensor *t;
    if (tensor_new(NULL, DT_UINT8, 2, sizes, &t) != CTSC_OK) return NULL;
    for (int64_t i = 0; i < t->numel; i++) {
        const int8_t *q = TENSOR_AT(g->q, int8_t) + 2 * i;
        TENSOR_AT(t, uint8_t)[i] = (uint8_t)((q[0] + 8) | ((q[1] + 8) << 4));
    }
    return t;
}

static tensor *groups_floats(const groups *g, bool zeros) {
    int64_t sizes[] = {g->n, g->count, 1};
    tensor *t;
    if (tensor_new(NULL, DT_FLOAT32, 3, sizes, &t) != CTSC_OK) return NULL;
    for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(t, float)
    [i] = zeros ? (float)(TENSOR_AT(g->zero, int8_t)[i] + 8) : TENSOR_AT(g->scale, float)[i];
    return t;
}

/* What PyTorch's own operators make of them (passes/weights/pack_nbits.c knows it again):
 *     ((stack([p & 15, p >> 4], -1).view([n, groups, group]).to(float) - zero) * scale).view([n, k])
 */
static ir_value *groups_plain(node *at, groups *g) {
    int64_t in_groups[] = {g->n, g->count, g->group}, whole[] = {g->n, g->k};
    ir_value *p = weight_constant(at, groups_nibbles(g)), *low[] = {p, rewrite_int(at, 15)},
             *high[] = {p, rewrite_int(at, 4)};
    ir_value *both[] = {weight_op(at, "aten::bitwise_and.Scalar", 2, low),
                        weight_op(at, "aten::bitwise_right_shift.Tensor_Scalar", 2, high)};
    if (!both[0] || !both[1]) return NULL;
    ir_value *stacked[] = {weight_list(at, 2, both, TYPE_TENSOR), rewrite_int(at, -1)};
    ir_value *viewed[] = {weight_op(at, "aten::stack", 2, stacked), weight_ints(at, 3, in_groups)};
    ir_value *cast[] = {weight_op(at, "aten::view", 2, viewed), rewrite_int(at, DT_FLOAT32),
                        rewrite_bool(at, false), rewrite_bool(at, false), rewrite_none(at)};
    ir_value *moved[] = {weight_op(at, "aten::to.dtype", 5, cast),
                         g->zero ? weight_constant(at, groups_floats(g, true)) : rewrite_int(at, 8),
                         rewrite_int(at, 1)};
    ir_value *scaled[] = {
        weight_op(at, g->zero ? "aten::sub.Tensor" : "aten::sub.Scalar", 3, moved),
        weight_constant(at, groups_floats(g, false))};
    ir_value *back[] = {weight_op(at, "aten::mul.Tensor", 2, scaled), weight_ints(at, 2, whole)};
    return weight_op(at, "aten::view", 2, back);
}

ir_value *quantise_weight_value(const quantise_layer *l, const quantise_weights *w,
                                bool decomposed) {
    node *at = l->n;
    ir_value *v = NULL;
    groups g;
    if (quantise_weights_are_bytes(w)) {
        tensor *q = quantise_weight_bytes(l, w->per_tensor);
        v = q ? weight_op(at, "aten::dequantize.self", 1, (ir_value *[]){weight_constant(at, q)})
              : NULL;
    } else if (groups_of(l, w, &g)) {
        v = decomposed || w->bits == 8 ? groups_affine(at, w, &g) : groups_plain(at, &g);
        groups_free(&g);
    }
    return v;
}

tensor *quantise_weight_rounded(const quantise_layer *l, const quantise_weights *w) {
    tensor *out = NULL, *turned = NULL;
    groups g;
    if (quantise_weights_are_bytes(w)) {
        tensor *q = l->table ? table_bytes(l) : quantise_weight_bytes(l, w->per_tensor);
        value v = q ? value_tensor_take(q) : value_none(),
              r = q ? quantise_run("aten::dequantize.self", 1, &v) : value_none();
        value_unref(v);
        out = r.tag == V_TENSOR ? r.u.tensor : NULL;
    } else if (groups_of(l, w, &g)) {
        if (tensor_new(NULL, DT_FLOAT32, 2, g.q->sizes, &out) == CTSC_OK)
            for (int64_t i = 0; i < out->numel; i++) {
                int z = g.zero ? TENSOR_AT(g.zero, int8_t)[i / g.group] : 0;
                TENSOR_AT(out, float)
                [i] = (float)(TENSOR_AT(g.q, int8_t)[i] - z) *
                      TENSOR_AT(g.scale, float)[i / g.group];
            }
        groups_free(&g);
    }
    if (!out || !l->turned) return out;
    ctsc_status s = tensor_transpose(NULL, out, 0, 1, &turned);
    tensor_unref(out);
    return s == CTSC_OK ? turned : NULL;
}

/* Scales of `axis` as a tensor of t's dims. */
static tensor *parts_scale(const tensor *t, const quantiser *q) {
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *s;
    bool one = quantiser_per_tensor(q);
    for (int i = 0; i < t->ndim; i++) sizes[i] = !one && i == q->axis ? t->sizes[i] : 1;
    if (tensor_new(NULL, DT_FLOAT32, one ? 0 : t->ndim, sizes, &s) != CTSC_OK) return NULL;
    for (int64_t i = 0; i < s->numel; i++)
        TENSOR_AT(s, float)[i] = (float)(one ? q->scale : TENSOR_AT(q->scales, double)[i]);
    return s;
}

bool quantise_weight_parts(const quantise_layer *l, const quantise_weights *w, tensor **q,
                           tensor **scale) {
    groups g;
    if (!quantise_weights_are_bytes(w)) {
        if (w->zeros || !groups_of(l, w, &g)) return false;
        return *q = g.q, *scale = g.scale, true;
    }
    tensor *t = quantise_weight_bytes(l, w->per_tensor);
    if (!t) return false;
    value v = value_tensor_take(t), ints = quantise_run("aten::int_repr", 1, &v);
    *scale = ints.tag == V_TENSOR ? parts_scale(t, t->quantiser) : NULL;
    value_unref(v);
    if (!*scale) return value_unref(ints), false;
    return *q = ints.u.tensor, true;
}

int64_t quantise_weight_size(const quantise_layer *l, const quantise_weights *w) {
    int64_t rows = l->w->sizes[l->axis], k = rows ? l->w->numel / rows : 0;
    if (quantise_weights_are_bytes(w) && l->table) return l->w->numel + rows * 8;
    if (quantise_weights_are_bytes(w)) return l->w->numel + (w->per_tensor ? 1 : rows) * 4;
    int64_t count = rows * (k / (w->group ? w->group : k ? k : 1));
    return l->w->numel * w->bits / 8 + count * (w->zeros ? 5 : 4);
}
