/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_conv.c - rules of the pass "layout" for operators with a version of their own for
 * channels that come last.
 * Tests: tests/ir/layout
 */
#include "passes/layout/layout.h"

#include "tensor/strides.h"

#include "ir/op/conv_last_args.h"
#include "passes/weights/fold_weights.h"
#include "tensor/device.h"

#include <math.h>
#include <string.h>

/* ---- convolutions ---------------------------------------------------------------------------- */

enum { CONV_ABSENT = -1, CONV_TRUE = -2 };

/*    operator                          dims  stride padding dilation transposed  output_padding groups      takes batches only */
static const struct layout_conv_row {
    op_symbol key;
    int spatial, stride, padding, dilation, transposed, output_padding, groups;
    bool batched;
} layout_convs[] = {
    /* clang-format off */
    {SYM_CONV1D,                    1,    3,     4,      5,       CONV_ABSENT, CONV_ABSENT,  6,          false},
    {SYM_CONV2D,                    2,    3,     4,      5,       CONV_ABSENT, CONV_ABSENT,  6,          false},
    {SYM_CONV3D,                    3,    3,     4,      5,       CONV_ABSENT, CONV_ABSENT,  6,          false},
    {SYM_CONV1D_PADDING,            1,    3,     4,      5,       CONV_ABSENT, CONV_ABSENT,  6,          false},
    {SYM_CONV2D_PADDING,            2,    3,     4,      5,       CONV_ABSENT, CONV_ABSENT,  6,          false},
    {SYM_CONV3D_PADDING,            3,    3,     4,      5,       CONV_ABSENT, CONV_ABSENT,  6,          false},
    {SYM_CONV_TRANSPOSE1D,          1,    3,     4,      7,       CONV_TRUE,   5,            6,          false},
    {SYM_CONV_TRANSPOSE2D_INPUT,    2,    3,     4,      7,       CONV_TRUE,   5,            6,          false},
    {SYM_CONV_TRANSPOSE3D_INPUT,    3,    3,     4,      7,       CONV_TRUE,   5,            6,          false},
    {SYM__CONVOLUTION,              0,    3,     4,      5,       6,           7,            8,          true},
    {SYM__CONVOLUTION_DEPRECATED,   0,    3,     4,      5,       6,           7,            8,          true},
    {SYM_CONVOLUTION,               0,    3,     4,      5,       6,           7,            8,          true},
    /* clang-format on */
};

typedef struct layout_convolution {
    const struct layout_conv_row *row;
    tensor *weight; /* borrowed */
    bool transposed;
    int spatial;
    int64_t groups, in, out; /* channels */
} layout_convolution;

static bool layout_find_conv(const node *n, layout_convolution *c) {
    size_t i = 0, rows = sizeof layout_convs / sizeof *layout_convs;
    while (i < rows && layout_convs[i].key != n->op->symbol) i++;
    if (i == rows) return false;
    *c = (layout_convolution){.row = &layout_convs[i],
                              .transposed = layout_convs[i].transposed == CONV_TRUE};
    if (!known_tensor(n->inputs.data[1], &c->weight) ||
        !known_int(n->inputs.data[c->row->groups], &c->groups) || c->groups < 1)
        return false;
    if (c->row->transposed >= 0 && !known_bool(n->inputs.data[c->row->transposed], &c->transposed))
        return false;
    const tensor *w = c->weight;
    c->spatial = w->ndim - 2;
    bool floats = w->dtype == DT_FLOAT32 || dtype_is_half((dtype)w->dtype);
    if (!floats || tensor_device(w) != DEVICE_HOST || !w->numel || c->spatial < 1 ||
        c->spatial > LAYOUT_MAX_SPATIAL)
        return false;
    c->in = c->transposed ? w->sizes[0] : w->sizes[1] * c->groups;
    c->out = c->transposed ? w->sizes[1] * c->groups : w->sizes[0];
    return c->row->spatial == 0 || c->row->spatial == c->spatial;
}

/* What the kernels for channels that come last are made for: whole images, or one channel per
 * group, or groups that fill vectors. */
static bool layout_conv_gains(const layout_convolution *c) {
    enum { GROUP = 16, OUT = 8 };
    int64_t per_group = c->in / c->groups;
    if (c->transposed || c->out < OUT) return false;
    return c->groups == 1 || per_group >= GROUP || (per_group == 1 && c->out == c->groups);
}

/* The list for a padding given as a word; NULL: there is none. */
static ir_value *layout_conv_padding(layout *l, const node *n, const layout_convolution *c) {
    ir_value *v = n->inputs.data[c->row->padding];
    int64_t stride[KNOWN_MAX_INTS], dilation[KNOWN_MAX_INTS], pad[LAYOUT_MAX_SPATIAL] = {0};
    int strides, dilations;
    value word;
    if (v->type->kind != T_STR) return v;
    if (!ir_value_constant(v, &word) || word.tag != V_STR) return NULL;
    if (!strcmp(word.u.str->bytes, "valid")) return layout_ints(l, c->spatial, pad);
    if (strcmp(word.u.str->bytes, "same")) return NULL;
    if (!known_ints(n->inputs.data[c->row->stride], stride, &strides) ||
        !known_ints(n->inputs.data[c->row->dilation], dilation, &dilations))
        return NULL;
    for (int i = 0; i < strides; i++)
        if (stride[i] != 1) return NULL;
    if (dilations != 1 && dilations != c->spatial) return NULL;
    for (int i = 0; i < c->spatial; i++) {
        int64_t d = dilation[dilations == 1 ? 0 : i], k = c->weight->sizes[2 + i];
        if (d < 1 || d > INT_MAX || k > INT_MAX || d * (k - 1) % 2) return NULL;
        pad[i] = d * (k - 1) / 2;
    }
    return layout_ints(l, c->spatial, pad);
}

/* The weight by a storage of its own: what kernels pack of it is kept there. Of one that a batch
 * norm was folded into the original, and what it is multiplied by (else *factors is None). */
static ir_value *layout_conv_weight(layout *l, const layout_convolution *c, ir_value **factors) {
    tensor *own, *from = c->weight, *by = NULL;
    if (c->transposed || !folded_weight_origin(c->weight, &from, &by)) from = c->weight, by = NULL;
    if (tensor_constant(NULL, from, &own) == CTSC_OK) {
        *factors = layout_constant_take(l, by ? value_tensor_take(tensor_ref(by)) : value_none());
        return layout_constant_take(l, value_tensor_take(own));
    }
    l->failed = true;
    return NULL;
}

/* What a convolution says of its argument. */
static void layout_conv_knows(const layout_convolution *c, layout_twin *x) {
    if (x->least > x->spatial) return;
    x->least = c->spatial + (c->row->batched ? 2 : 1);
    x->most = c->spatial + 2;
}

/* In multiplications per pixel. Kernels of one element are products in either order of
 * dims: what they gain (40% of a layer of 64 to 256 channels, 56 x 56) is less than turning
 * the result costs. Those of 16 bits have no such products. */
static double layout_conv_worth(const layout_convolution *c) {
    enum { PRODUCTS = 8 };
    bool product = c->weight->dtype == DT_FLOAT32 &&
                   c->weight->numel == c->weight->sizes[0] * c->weight->sizes[1];
    return (double)c->weight->numel / (product ? PRODUCTS : 1);
}

/* Channels last in the weight are so in the result. Of volumes PyTorch has such kernels for two
 * dtypes. */
static bool layout_weight_lies_last(const layout_convolution *c) {
    return tensor_suggested_format(c->weight) != FORMAT_CONTIGUOUS &&
           (c->spatial == 2 || c->weight->dtype != DT_FLOAT16);
}

bool layout_conv(layout *l, node *n) {
    layout_convolution c;
    if (!layout_find_conv(n, &c)) return false;
    bool gains = layout_conv_gains(&c);
    layout_twin *x = layout_use(l, n->inputs.data[0], c.spatial, false);
    if (!x && gains) x = layout_bring(l, n->inputs.data[0], c.spatial, c.in);
    ir_value *padding = x ? layout_conv_padding(l, n, &c) : NULL, *factors,
             *weight = padding ? layout_conv_weight(l, &c, &factors) : NULL;
    if (!weight) return false;
    ir_value *const *in = n->inputs.data;
    ir_value *none = layout_constant_take(l, value_none()),
             *transposed = layout_constant_take(l, value_bool(c.transposed));
    ir_value *output_padding = c.row->output_padding >= 0
                                   ? in[c.row->output_padding]
                                   : layout_ints(l, c.spatial, (int64_t[LAYOUT_MAX_SPATIAL]){0});
    ir_value *batched = layout_constant_take(l, value_bool(c.row->batched)),
             *plain = rewrite_str(n, "none");
    ir_value *written = layout_constant_take(l, value_bool(false));
    ir_value *args[CONV_LAST_ARGS] = {
        [CONV_LAST_INPUT] = x->last,
        [CONV_LAST_WEIGHT] = weight,
        [CONV_LAST_BIAS] = in[2],
        [CONV_LAST_STRIDE] = in[c.row->stride],
        [CONV_LAST_PADDING] = padding,
        [CONV_LAST_DILATION] = in[c.row->dilation],
        [CONV_LAST_TRANSPOSED] = transposed,
        [CONV_LAST_OUTPUT_PADDING] = output_padding,
        [CONV_LAST_GROUPS] = in[c.row->groups],
        [CONV_LAST_BATCHED] = batched,
        [CONV_LAST_OTHER] = none,
        [CONV_LAST_ACTIVATION] = plain,
        [CONV_LAST_WRITTEN] = written,
        [CONV_LAST_FACTORS] = factors,
    };
    ir_value *y = layout_op(l, op_of(SYM_CTSC_CONV_CHANNELS_LAST), CONV_LAST_ARGS, args);
    if (!y) return false;
    layout_conv_knows(&c, x);
    layout_twin like = *x;
    like.channels = c.out;
    if (layout_weight_lies_last(&c)) like.order = ORDER_LAST;
    layout_give(l, n->outputs.data[0], y, &like);
    if (gains && !l->failed) l->regions.data[l->region].gain += layout_conv_worth(&c);
    return true;
}

/* ---- pools and other operators on images ----------------------------------------------------- */

/* The overload "aten::NAME" or "aten::NAME.vec" as "ctsc::NAME_channels_last". */
static ir_value *layout_own_op(layout *l, const node *n, int nargs, ir_value *const *args) {
    char key[80] = "ctsc::";
    size_t len = strcspn(n->op->key, ".");
    if (len < 6 || len > 50) return NULL;
    memcpy(key + 6, n->op->key + 6, len - 6);
    strcpy(key + len, "_channels_last");
    return layout_op(l, op_find(key), nargs, args);
}

bool layout_image(layout *l, node *n) {
    ir_value *args[LAYOUT_MAX_ARGS];
    const layout_twin *t = layout_use(l, n->inputs.data[0], 2, true);
    if (!t || n->inputs.len > LAYOUT_MAX_ARGS) return false;
    for (size_t i = 1; i < n->inputs.len; i++) args[i] = n->inputs.data[i];
    args[0] = t->last;
    ir_value *y = layout_own_op(l, n, (int)n->inputs.len, args);
    return y && layout_give(l, n->outputs.data[0], y, t);
}

/* (self, output_size, [align_corners,] scales_h, scales_w), where no scales are given. */
bool layout_upsample(layout *l, node *n) {
    size_t scales = n->inputs.len - 2;
    const layout_twin *t = layout_use(l, n->inputs.data[0], 2, true);
    if (!t || scales < 2 || scales > 3 || !known_is_none(n->inputs.data[scales]) ||
        !known_is_none(n->inputs.data[scales + 1]))
        return false;
    ir_value *args[] = {t->last, n->inputs.data[1], n->inputs.data[2], n->inputs.data[scales]};
    ir_value *y = layout_own_op(l, n, (int)scales + 1, args);
    return y && layout_give(l, n->outputs.data[0], y, t);
}

/* Pairs for the last dims, the last one first: that of channels moves to the front. */
bool layout_pad(layout *l, node *n) {
    int64_t pad[KNOWN_MAX_INTS], permuted[KNOWN_MAX_INTS + 2];
    int count;
    value mode;
    bool named = n->op->symbol == SYM_PAD;
    const layout_twin *t = layout_find(l, n->inputs.data[0], true);
    if (!t || !(t = layout_use(l, n->inputs.data[0], t->spatial, true)) ||
        !known_ints(n->inputs.data[1], pad, &count) || count % 2)
        return false;
    if (named && (!ir_value_constant(n->inputs.data[2], &mode) || mode.tag != V_STR ||
                  strcmp(mode.u.str->bytes, "constant")))
        return false;
    int at = 2 * t->spatial, last = count > at;
    if (count > at && count < at + 2) return false;
    permuted[0] = last ? pad[at] : 0;
    permuted[1] = last ? pad[at + 1] : 0;
    for (int i = 0; i < count && i < at; i++) permuted[i + 2] = pad[i];
    for (int i = at + 2; i < count; i++) permuted[i] = pad[i];
    ir_value *args[] = {t->last, layout_ints(l, last ? count : count + 2, permuted),
                        n->inputs.data[2], named ? n->inputs.data[3] : NULL};
    return layout_give(l, n->outputs.data[0], layout_op(l, n->op, named ? 4 : 3, args), t);
}

/* ---- batch norms of constants ---------------------------------------------------------------- */

/* t: contiguous, owned; NULL: every element is `absent` */
typedef struct layout_vector { tensor *t; double absent; } layout_vector;

/* A vector of constants that stay, as many as `like` has and of its dtype, as float32; or None.
 * False: it is something else. */
static bool layout_read_vector(layout *l, const ir_value *v, bool optional, double absent,
                               const tensor *like, layout_vector *out) {
    tensor *t;
    *out = (layout_vector){.absent = absent};
    if (optional && known_is_none(v)) return true;
    if (!known_tensor(v, &t) || t->dtype != like->dtype || t->ndim != 1 ||
        t->numel != like->numel || tensor_device(t) != DEVICE_HOST || alias_ever_written(l->db, v))
        return false;
    return (t->dtype == DT_FLOAT32 ? tensor_contiguous(NULL, t, &out->t)
                                   : tensor_to_dtype(NULL, t, DT_FLOAT32, &out->t)) == CTSC_OK;
}

static double layout_vector_at(const layout_vector *v, int64_t i) {
    return v->t ? (double)TENSOR_AT(v->t, float)[i] : v->absent;
}

/* scale = weight / sqrt(variance + eps), shift = bias - mean * scale, rounded once. vectors:
 * weight, bias, mean, variance. */
static bool layout_scale_shift(layout *l, const layout_vector *vectors, double eps,
                               ir_value **scale, ir_value **shift) {
    tensor *made[2];
    int64_t n = vectors[2].t->numel;
    if (tensor_new(NULL, DT_FLOAT32, 1, &n, &made[0]) != CTSC_OK) return false;
    if (tensor_new(NULL, DT_FLOAT32, 1, &n, &made[1]) != CTSC_OK) {
        tensor_unref(made[0]);
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        double by = layout_vector_at(&vectors[0], i) / sqrt(layout_vector_at(&vectors[3], i) + eps);
        TENSOR_AT(made[0], float)[i] = (float)by;
        TENSOR_AT(made[1], float)
        [i] = (float)(layout_vector_at(&vectors[1], i) - layout_vector_at(&vectors[2], i) * by);
    }
    *scale = layout_constant_take(l, value_tensor_take(made[0]));
    *shift = layout_constant_take(l, value_tensor_take(made[1]));
    return true;
}

/* Those after convolutions are already in the weights
 * (fold-weights); this is for those before them. */
bool layout_batch_norm(layout *l, node *n) {
    bool training;
    value eps;
    layout_vector vectors[4] = {{0}};
    ir_value *const *in = n->inputs.data, *scale = NULL, *shift = NULL;
    const layout_twin *t = layout_find(l, in[0], true);
    if (!t || !known_bool(in[5], &training) || training || !ir_value_constant(in[7], &eps) ||
        eps.tag != V_FLOAT)
        return false;
    tensor *mean;
    if (!known_tensor(in[3], &mean) ||
        (mean->dtype != DT_FLOAT32 && !dtype_is_half((dtype)mean->dtype)))
        return false;
    bool ok = layout_read_vector(l, in[3], false, 0, mean, &vectors[2]) &&
              layout_read_vector(l, in[4], false, 0, mean, &vectors[3]) &&
              layout_read_vector(l, in[1], true, 1, mean, &vectors[0]) &&
              layout_read_vector(l, in[2], true, 0, mean, &vectors[1]) &&
              (t = layout_use(l, in[0], t->spatial, true)) &&
              layout_scale_shift(l, vectors, eps.u.f, &scale, &shift);
    for (int i = 0; i < 4; i++) tensor_unref(vectors[i].t);
    ir_value *y = NULL;
    if (ok) {
        ir_value *args[] = {t->last, scale, shift, layout_int(l, t->spatial),
                            layout_int(l, mean->dtype)};
        y = layout_op(l, op_of(SYM_CTSC_SCALE_CHANNELS_LAST), 5, args);
    }
    return y && layout_give(l, n->outputs.data[0], y, t);
}
