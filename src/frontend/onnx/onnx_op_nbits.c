/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_nbits.c - weights of 2, 4 and 8 bits with a scale for each block.
 *
 *     MatMulNBits(a, b, scales, zero points, groups, bias)     ctsc::linear_nbits
 *     GatherBlockQuantized(data, indices, scales, zeros)       ctsc::embedding_nbits
 *     DequantizeLinear(w, scales, zeros), block_size           noted with the result: MatMul and Gemm
 *                                                              become ctsc::linear_nbits, all else
 *                                                              reads the floats
 *
 * The form of ctsc::linear_nbits is MatMulNBits' own; constants of DequantizeLinear are put into it
 * here. Weights that are known to have 4 bits only are packed as such, whatever their type.
 */
#include "frontend/onnx/onnx_internal.h"

enum { NBITS_MAX_BLOCK = 1 << 24, NBITS_MAX_SIZE = INT32_MAX };

/* ---- MatMulNBits ----------------------------------------------------------------------------- */

/* Groups that follow one another, as without the input. */
static bool nbits_groups_follow(const onnx_value *v, int64_t k, int64_t block) {
    const tensor *t = v->constant;
    if (!t || t->dtype != DT_INT32 || !tensor_is_contiguous(t) || t->numel < k) return false;
    for (int64_t i = 0; i < k; i++)
        if (TENSOR_AT(t, int32_t)[i] != i / block) return false;
    return true;
}

bool onnx_op_matmul_nbits(onnx_node *n, const char *text) {
    enum { A, B, SCALES, ZEROS, GROUPS, BIAS };
    onnx_program *p = n->p;
    int64_t k = onnx_attr_int(n, "K", 0), width = onnx_attr_int(n, "N", 0),
            bits = onnx_attr_int(n, "bits", 4), block = onnx_attr_int(n, "block_size", 0);
    onnx_value *a = onnx_need(n, A), *groups = onnx_in(n, GROUPS);
    (void)text;
    if (!a) return false;
    if (k < 1 || k > NBITS_MAX_SIZE || width < 1 || width > NBITS_MAX_SIZE || block < 1 ||
        block > NBITS_MAX_BLOCK)
        return onnx_bad(p, "K %lld, N %lld, block_size %lld", (long long)k, (long long)width,
                        (long long)block);
    if ((bits != 2 && bits != 4 && bits != 8) || block * bits % 8)
        return onnx_unsupported(p, "weights of %lld bits in blocks of %lld", (long long)bits,
                                (long long)block);
    if (groups && !nbits_groups_follow(groups, k, block))
        return onnx_unsupported(p, "g_idx, groups whose elements do not follow one another");
    ir_value *x = onnx_t(n, A), *w = x ? onnx_t(n, B) : NULL, *s = w ? onnx_t(n, SCALES) : NULL,
             *z = s ? onnx_t_or_none(n, ZEROS) : NULL, *bias = z ? onnx_t_or_none(n, BIAS) : NULL;
    if (!bias) return false;
    ir_value *y = ONNX_EMIT(p, "ctsc::linear_nbits", x, w, s, z, bias, onnx_int(p, bits),
                            onnx_int(p, block), onnx_int(p, k),
                            onnx_int(p, onnx_attr_int(n, "accuracy_level", 0)));
    return onnx_out(n, 0, y, a->rank, a->dt);
}

/* ---- constants in that form ------------------------------------------------------------------ */

/* Weights with their scales as in the file; a row is [k] along `axis`. */
typedef struct nbits_given {
    const tensor *q, *scale, *zero; /* zero may be NULL; of q's dtype */
    int64_t n, k, group, groups;
    int axis, bits;
} nbits_given;

static int nbits_number(const tensor *t, const nbits_given *g, int64_t j, int64_t i) {
    int64_t at = g->axis ? j * t->strides[0] + i * t->strides[1]
                         : i * t->strides[0] + j * t->strides[1];
    return t->dtype == DT_INT8 ? ((const int8_t *)tensor_data(t))[at]
                               : ((const uint8_t *)tensor_data(t))[at];
}

static bool nbits_is_bytes(const tensor *t) { return t->dtype == DT_INT8 || t->dtype == DT_UINT8; }

static bool nbits_is_float(const tensor *t) {
    return t->dtype == DT_FLOAT32 || dtype_is_half((dtype)t->dtype);
}

/* Do all of a tensor's numbers fit four bits? */
static bool nbits_fit_four(const tensor *t, const nbits_given *g, int64_t count) {
    int low = t->dtype == DT_INT8 ? -8 : 0;
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < count; i++) {
            int v = nbits_number(t, g, j, i);
            if (v < low || v > low + 15) return false;
        }
    return true;
}

/* What x dequantised is made of; false: it is not of this kind. */
static bool nbits_read(const onnx_node *n, int64_t axis, int64_t block, nbits_given *g) {
    const onnx_value *x = onnx_in(n, 0), *s = onnx_in(n, 1), *z = onnx_in(n, 2);
    if (!x || !s || !x->constant || !s->constant || (z && !z->constant)) return false;
    const tensor *q = x->constant, *scale = s->constant, *zero = z ? z->constant : NULL;
    *g = (nbits_given){.q = q, .scale = scale, .zero = zero, .group = block, .axis = (int)axis};
    if (q->ndim != 2 || scale->ndim != 2 || axis < 0 || axis > 1 || !nbits_is_bytes(q) ||
        !nbits_is_float(scale) || q->numel == 0)
        return false;
    g->k = q->sizes[axis], g->n = q->sizes[1 - axis];
    g->groups = (g->k + block - 1) / block;
    bool fits = scale->sizes[axis] == g->groups && scale->sizes[1 - axis] == g->n &&
                (!zero || (zero->dtype == q->dtype && zero->ndim == 2 &&
                           zero->sizes[axis] == g->groups && zero->sizes[1 - axis] == g->n));
    if (!fits || block % 8) return false;
    g->bits = nbits_fit_four(q, g, g->k) && (!zero || nbits_fit_four(zero, g, g->groups)) ? 4 : 8;
    return true;
}

/* A tensor of the program's own, with a name of its own. */
static onnx_value *nbits_keep(onnx_node *n, tensor *t_take, const char *what) {
    onnx_program *p = n->p;
    char *name = arena_printf(&p->scratch, "%s.%s", n->proto->output[0], what);
    if (!onnx_hold(p, t_take)) return NULL;
    onnx_value *v = name ? onnx_value_new(n->sc, p, name) : NULL;
    if (!v) return onnx_no_memory(p), NULL;
    return onnx_weight(p, v, t_take) ? v : NULL;
}

static onnx_value *nbits_data(onnx_node *n, const nbits_given *g) {
    int64_t row = g->groups * (g->group * g->bits / 8);
    int up = g->q->dtype == DT_INT8 ? 1 << (g->bits - 1) : 0;
    tensor *t;
    if (tensor_zeros(n->p->d, DT_UINT8, 2, (int64_t[]){g->n, row}, &t) != CTSC_OK) return NULL;
    for (int64_t j = 0; j < g->n; j++) {
        uint8_t *to = (uint8_t *)tensor_data(t) + j * row;
        for (int64_t i = 0; i < g->k; i++) {
            int64_t bit = i * g->bits;
            to[bit / 8] = (uint8_t)(to[bit / 8] | (nbits_number(g->q, g, j, i) + up) << bit % 8);
        }
    }
    return nbits_keep(n, t, "nbits");
}

static onnx_value *nbits_scales(onnx_node *n, const nbits_given *g) {
    tensor *view, *t;
    int64_t sizes[] = {g->n, g->groups},
            strides[] = {g->scale->strides[1 - g->axis], g->scale->strides[g->axis]};
    if (tensor_as_strided(n->p->d, (tensor *)g->scale, 2, sizes, strides, g->scale->offset,
                          &view) != CTSC_OK)
        return NULL;
    ctsc_status st = tensor_clone(n->p->d, view, &t);
    tensor_unref(view);
    return st == CTSC_OK ? nbits_keep(n, t, "scales") : NULL;
}

/* As floats; without the file's those of integers with sign are half of what the bits hold, which
 * is what linear_nbits takes without any. */
static onnx_value *nbits_zeros(onnx_node *n, const nbits_given *g) {
    int up = g->q->dtype == DT_INT8 ? 1 << (g->bits - 1) : 0;
    tensor *t;
    if (tensor_new(n->p->d, DT_FLOAT32, 2, (int64_t[]){g->n, g->groups}, &t) != CTSC_OK)
        return NULL;
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->groups; i++) TENSOR_AT(t, float)
    [j * g->groups + i] = (float)((g->zero ? nbits_number(g->zero, g, j, i) : 0) + up);
    return nbits_keep(n, t, "zeros");
}

static const onnx_nbits *nbits_note(onnx_node *n, const nbits_given *g) {
    onnx_nbits *w = arena_new(&n->p->scratch, onnx_nbits);
    if (!w) return onnx_no_memory(n->p), NULL;
    bool none = !g->zero && g->q->dtype == DT_INT8;
    *w = (onnx_nbits){.data = nbits_data(n, g),
                      .scale = nbits_scales(n, g),
                      .zero = none ? NULL : nbits_zeros(n, g),
                      .n = g->n,
                      .k = g->k,
                      .group = g->group,
                      .bits = g->bits,
                      .turned = g->axis == 0};
    return w->data && w->scale && (w->zero || none) ? w : NULL;
}

ir_value *onnx_nbits_linear(onnx_node *n, ir_value *x, const onnx_nbits *w, ir_value *bias,
                            int64_t level) {
    onnx_program *p = n->p;
    ir_value *data = onnx_as_tensor(n->sc, p, w->data), *scale = onnx_as_tensor(n->sc, p, w->scale),
             *zero = w->zero ? onnx_as_tensor(n->sc, p, w->zero) : onnx_none(p);
    if (!data || !scale || !zero || !bias) return NULL;
    return ONNX_EMIT(p, "ctsc::linear_nbits", x, data, scale, zero, bias, onnx_int(p, w->bits),
                     onnx_int(p, w->group), onnx_int(p, w->k), onnx_int(p, level));
}

bool onnx_nbits_note(onnx_node *n, int64_t axis, int64_t block) {
    nbits_given given;
    if (!nbits_read(n, axis, block, &given)) return true;
    onnx_value *y = onnx_name(n->sc, n->p, n->proto->output[0]);
    return y && (y->nbits = nbits_note(n, &given)) != NULL;
}

/* ---- GatherBlockQuantized -------------------------------------------------------------------- */

/* Without zero points those of numbers with a type of their own are 0, of others half of what the
 * bits hold. */
static bool gather_read(onnx_node *n, int64_t bits, int64_t block, nbits_given *g) {
    const onnx_value *x = onnx_in(n, 0), *s = onnx_in(n, 2), *z = onnx_in(n, 3);
    if (!x || !s || !x->constant || !s->constant || (z && !z->constant)) return false;
    const tensor *q = x->constant, *scale = s->constant, *zero = z ? z->constant : NULL;
    if (q->ndim != 2 || !nbits_is_bytes(q) || scale->ndim != 2 || !nbits_is_float(scale) ||
        q->numel == 0)
        return false;
    *g = (nbits_given){.q = q, .scale = scale, .zero = zero, .group = block, .axis = 1};
    g->n = q->sizes[0], g->groups = scale->sizes[1];
    /* several numbers a byte where the type is uint8 */
    g->bits = (int)bits;
    g->k = x->bits ? q->sizes[1] : q->sizes[1] * 8 / bits;
    return g->groups == (g->k + block - 1) / block && scale->sizes[0] == g->n;
}

bool onnx_op_gather_nbits(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *x = onnx_need(n, 0), *at = x ? onnx_need(n, 1) : NULL,
               *s = at ? onnx_need(n, 2) : NULL;
    int64_t bits = onnx_attr_int(n, "bits", 4), block = onnx_attr_int(n, "block_size", 128),
            from = onnx_attr_int(n, "gather_axis", 0), by = onnx_attr_int(n, "quantize_axis", 1);
    nbits_given g;
    (void)text;
    if (!s) return false;
    if (x->bits) bits = x->bits;
    if ((bits != 4 && bits != 8) || block < 16 || block > NBITS_MAX_BLOCK || block % 8)
        return onnx_unsupported(p, "weights of %lld bits in blocks of %lld", (long long)bits,
                                (long long)block);
    if ((from != 0 && from != -2) || (by != 1 && by != -1) || !gather_read(n, bits, block, &g))
        return onnx_unsupported(p, "other than rows of a constant with blocks along its last axis");
    ir_value *indices = onnx_t(n, 1), *data = NULL, *scale = NULL, *zero = NULL;
    if (x->bits) {
        const onnx_nbits *w = nbits_note(n, &g);
        if (w) data = onnx_as_tensor(n->sc, p, w->data);
        if (w) scale = onnx_as_tensor(n->sc, p, w->scale);
        if (w) zero = w->zero ? onnx_as_tensor(n->sc, p, w->zero) : onnx_none(p);
    } else {
        data = onnx_t(n, 0), scale = onnx_t(n, 2), zero = onnx_t_or_none(n, 3);
    }
    if (!indices || !data || !scale || !zero) return false;
    return onnx_out(n, 0,
                    ONNX_EMIT(p, "ctsc::embedding_nbits", data, scale, zero, indices,
                              onnx_int(p, bits), onnx_int(p, block), onnx_int(p, g.k)),
                    at->rank < 0 ? -1 : at->rank + 1, s->dt);
}
