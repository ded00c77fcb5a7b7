/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise_layers.c - convolutions and linear layers on integers (quantise.h): weights of constants
 * as packed parameters, made while compiling.
 */
#include "passes/quantise/quantise.h"

#include <math.h>
#include <string.h>

/* ---- weights --------------------------------------------------------------------------------- */

/* Sums of this many products of bytes, plus zero-point terms, fit 32 bits. */
static bool weight_is_short(const tensor *w, int axis) {
    return w->numel && w->numel / w->sizes[axis] <= INT32_MAX / (UINT8_MAX * 256);
}

/* The integers of dt, with scales and zero points along `axis`, as a
 * contiguous tensor of qint8 with a quantiser for each index of it. */
static value weight_signed(const quantise_form *f, const tensor *w, int axis) {
    int64_t n = w->sizes[axis], count = quantise_form_vector(f),
            moved = f->dt == DT_UINT8 ? 128 : 0;
    if (count && count != n) return value_none();
    diag d = {0};
    tensor *out = NULL, *scales = NULL, *zeros = NULL;
    quantiser *q = NULL;
    bool made = tensor_new(&d, DT_FLOAT64, 1, &n, &scales) == CTSC_OK &&
                tensor_new(&d, DT_INT64, 1, &n, &zeros) == CTSC_OK &&
                tensor_new(&d, DT_QINT8, w->ndim, w->sizes, &out) == CTSC_OK;
    diag_clear(&d);
    for (int64_t i = 0; made && i < n; i++) {
        double scale = quantise_form_scale(f, count ? i : 0);
        int64_t zero = quantise_form_zero(f, count ? i : 0) - moved;
        made = (float)scale > 0 && !isinf((float)scale) && zero >= INT8_MIN && zero <= INT8_MAX;
        TENSOR_AT(scales, double)[i] = scale;
        TENSOR_AT(zeros, int64_t)[i] = zero;
    }
    if (made && !count)
        q = quantiser_new(TENSOR_AT(scales, double)[0], TENSOR_AT(zeros, int64_t)[0]);
    else if (made) q = quantiser_new_channels(QSCHEME_CHANNEL_AFFINE, scales, zeros, axis);
    const uint8_t *from = tensor_data(w);
    for (int64_t i = 0; q && i < w->numel; i++)
        TENSOR_AT(out, uint8_t)[i] = (uint8_t)(from[i] - moved);
    if (q) tensor_set_quantiser_take(out, q);
    else tensor_unref(out);
    tensor_unref(scales);
    tensor_unref(zeros);
    return q ? value_tensor_take(out) : value_none();
}

/* The integers t of f as weight_signed makes them. transposed: of two dims, which are exchanged,
 * and then features are along `axis`. None: they do not fit. */
static value weight_fit(const quantise_form *f, tensor *t, int axis, bool transposed) {
    diag d = {0};
    tensor *turned = NULL, *w = NULL;
    value made = value_none();
    int along = f->axis < 0 ? f->axis + t->ndim : f->axis;
    bool fits = t->dtype == f->dt && t->ndim > axis && t->numel && (!transposed || t->ndim == 2);
    if (fits && transposed) {
        fits = tensor_transpose(&d, t, 0, 1, &turned) == CTSC_OK;
        along = 1 - along;
    }
    if (fits && tensor_contiguous(&d, turned ? turned : t, &w) == CTSC_OK &&
        weight_is_short(w, axis) && (!quantise_form_vector(f) || along == axis))
        made = weight_signed(f, w, axis);
    diag_clear(&d);
    tensor_unref(turned);
    tensor_unref(w);
    return made;
}

/* The weight v, dequantised integers of constants, with its output features along `axis`. */
static value weight_of(const ir_value *v, int axis, bool transposed) {
    quantise_form f;
    const node *n = v->def;
    if (n && n->kind == N_OP && (node_is_overload(n, SYM_T) || node_is_overload(n, SYM_NUMPY_T)))
        return transposed ? weight_of(n->inputs.data[0], axis, false) : value_none();
    if (!n || !quantise_form_of(n, &f) || f.to_ints || (f.dt != DT_INT8 && f.dt != DT_UINT8))
        return value_none();
    value ints = quantise_constant(f.x), made = value_none();
    if (ints.tag == V_TENSOR) made = weight_fit(&f, ints.u.tensor, axis, transposed);
    value_unref(ints);
    return made;
}

value quantise_pack_matrix(const quantise_form *f, tensor *w) {
    value args[] = {weight_fit(f, w, 0, true), value_none()}, packed = value_none();
    if (args[0].tag == V_TENSOR) packed = quantise_run("quantized::linear_prepack", 2, args);
    value_unref(args[0]);
    return packed;
}

/* A bias of constants as floats; None with *fits: there is none. */
static value layer_bias(const ir_value *v, int64_t n, bool *fits) {
    if (!v || known_is_none(v)) return *fits = true, value_none();
    value b = quantise_constant(v);
    *fits = b.tag == V_TENSOR && b.u.tensor->dtype == DT_FLOAT32 && b.u.tensor->ndim == 1 &&
            b.u.tensor->numel == n;
    return b;
}

/* ---- layers ---------------------------------------------------------------------------------- */

typedef struct layer {
    const ir_value *x, *weight, *bias; /* bias: may be NULL */
    int axis;                          /* of the weight's output features */
    bool transposed;                   /* the weight, a matrix */
    const char *prepack, *op;
    const value *geometry; /* more arguments of `prepack` */
    int extra;
    int64_t groups; /* of a transposed convolution: axis counts those of one */
} layer;

/* The packed parameters; None: they cannot be made. */
static value layer_pack(const layer *l) {
    enum { MOST = 8 };
    value args[MOST], packed = value_none();
    bool fits = false;
    args[0] = weight_of(l->weight, l->axis, l->transposed);
    if (args[0].tag != V_TENSOR) return value_none();
    args[1] = layer_bias(l->bias, args[0].u.tensor->sizes[l->axis] * l->groups, &fits);
    for (int i = 0; i < l->extra; i++) args[2 + i] = l->geometry[i];
    if (fits) packed = quantise_run(l->prepack, 2 + l->extra, args);
    value_unref(args[0]);
    value_unref(args[1]);
    return packed;
}

static ir_value *layer_make(const layer *l, const quantise_target *to) {
    quantise_affine a;
    ir_value *x = quantise_source(l->x, &a);
    value packed = x ? layer_pack(l) : value_none();
    if (packed.tag != V_OBJECT) return value_unref(packed), NULL;
    ir_value *args[] = {x, graph_constant_before_take(to->at, packed, NULL)};
    return args[1] ? quantise_op(to, l->op, 2, args, true) : NULL;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* As many numbers as there are dims: these, or one for all. A new list, or None. */
static value conv_numbers(const ir_value *v, int dims) {
    int64_t ints[KNOWN_MAX_INTS];
    int n = 0;
    if (!known_ints(v, ints, &n) || (n != dims && n != 1)) return value_none();
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)dims);
    for (int i = 0; l && i < dims; i++) list_append_take(l, value_int(ints[n == 1 ? 0 : i]));
    return l ? value_list_take(l) : value_none();
}

/* Of the transposed, dilation comes after groups; their weights have one scale. */
static const quantise_conv_kind conv_kinds[] = {
    {SYM_CONV1D, 1, 3, {3, 4, 5}, 6, false, "quantized::conv1d_prepack"},
    {SYM_CONV2D, 2, 3, {3, 4, 5}, 6, false, "quantized::conv2d_prepack"},
    {SYM_CONV3D, 3, 3, {3, 4, 5}, 6, false, "quantized::conv3d_prepack"},
    {SYM_CONV_TRANSPOSE1D, 1, 4, {3, 4, 5, 7}, 6, true, "quantized::conv_transpose1d_prepack"},
    {SYM_CONV_TRANSPOSE2D_INPUT,
     2,
     4,
     {3, 4, 5, 7},
     6,
     true,
     "quantized::conv_transpose2d_prepack"},
    {SYM_CONV_TRANSPOSE3D_INPUT,
     3,
     4,
     {3, 4, 5, 7},
     6,
     true,
     "quantized::conv_transpose3d_prepack"},
};

/* The ones that traces have, which say in argument 6 whether they are transposed. */
static const quantise_conv_kind conv_general[2][3] = {
    {{SYM__CONVOLUTION, 1, 3, {3, 4, 5}, 8, false, "quantized::conv1d_prepack"},
     {SYM__CONVOLUTION, 2, 3, {3, 4, 5}, 8, false, "quantized::conv2d_prepack"},
     {SYM__CONVOLUTION, 3, 3, {3, 4, 5}, 8, false, "quantized::conv3d_prepack"}},
    {{SYM__CONVOLUTION, 1, 4, {3, 4, 7, 5}, 8, true, "quantized::conv_transpose1d_prepack"},
     {SYM__CONVOLUTION, 2, 4, {3, 4, 7, 5}, 8, true, "quantized::conv_transpose2d_prepack"},
     {SYM__CONVOLUTION, 3, 4, {3, 4, 7, 5}, 8, true, "quantized::conv_transpose3d_prepack"}},
};

const quantise_conv_kind *quantise_conv_kind_of(const node *n) {
    op_symbol op = n->op->symbol;
    bool transposed;
    for (size_t i = 0; i < sizeof conv_kinds / sizeof *conv_kinds; i++)
        if (op == conv_kinds[i].op) return &conv_kinds[i];
    if (op != SYM__CONVOLUTION && op != SYM__CONVOLUTION_DEPRECATED && op != SYM_CONVOLUTION)
        return NULL;
    int dims = known_rank(n->inputs.data[1]) - 2;
    return dims >= 1 && dims <= 3 && known_bool(n->inputs.data[6], &transposed)
               ? &conv_general[transposed][dims - 1]
               : NULL;
}

bool quantise_conv_geometry(const node *n, const quantise_conv_kind *k, value *geometry) {
    int64_t groups;
    bool known = known_int(n->inputs.data[k->groups], &groups);
    for (int i = 0; known && i < k->lists; i++) {
        geometry[i] = conv_numbers(n->inputs.data[k->places[i]], k->dims);
        known = geometry[i].tag == V_LIST;
    }
    if (known) geometry[k->lists] = value_int(groups);
    return known;
}

void quantise_conv_release(value *geometry) {
    for (int i = 0; i < QUANTISE_GEOMETRY; i++) value_unref(geometry[i]);
}

/* What n is as a layer, its geometry being in `geometry`, of QUANTISE_GEOMETRY; false:
 * it is not known.
 * To be released by quantise_conv_release. */
static bool conv_layer(const node *n, layer *l, value *geometry) {
    const quantise_conv_kind *k = quantise_conv_kind_of(n);
    if (!k || !quantise_conv_geometry(n, k, geometry)) return false;
    *l = (layer){.x = n->inputs.data[0],
                 .weight = n->inputs.data[1],
                 .bias = n->inputs.data[2],
                 .axis = k->transposed ? 1 : 0,
                 .prepack = k->prepack,
                 .op = "ctsc::quantised_conv",
                 .geometry = geometry,
                 .extra = k->lists + 1,
                 .groups = k->transposed ? geometry[k->lists].u.i : 1};
    return true;
}

value quantise_pack_conv(const node *n, const quantise_form *f, tensor *w) {
    int dims = w->ndim - 2, given = 0;
    int64_t pads[KNOWN_MAX_INTS], groups;
    if (dims < 1 || dims > 3 || !known_ints(n->inputs.data[5], pads, &given) || given != 2 * dims ||
        !known_int(n->inputs.data[7], &groups))
        return value_none();
    for (int i = 0; i < dims; i++)
        if (pads[i] != pads[dims + i] || pads[i] < 0) return value_none();
    list *padding = list_new(LIST_INT, TYPE_INT, (size_t)dims);
    for (int i = 0; padding && i < dims; i++) list_append_take(padding, value_int(pads[i]));
    value args[] = {weight_fit(f, w, 0, false),
                    value_none(),
                    conv_numbers(n->inputs.data[4], dims),
                    padding ? value_list_take(padding) : value_none(),
                    conv_numbers(n->inputs.data[6], dims),
                    value_int(groups)},
          packed = value_none();
    if (args[0].tag == V_TENSOR && args[2].tag == V_LIST && padding && args[4].tag == V_LIST)
        packed = quantise_run(conv_kinds[dims - 1].prepack, 6, args);
    for (int i = 0; i < 6; i++) value_unref(args[i]);
    return packed;
}

ir_value *quantise_conv(node *n, const quantise_target *to) {
    layer l;
    value geometry[QUANTISE_GEOMETRY] = {{0}};
    ir_value *made = conv_layer(n, &l, geometry) ? layer_make(&l, to) : NULL;
    quantise_conv_release(geometry);
    return made;
}

/* ---- linear layers --------------------------------------------------------------------------- */

static ir_value *linear_make(const quantise_target *to, const ir_value *x, const ir_value *w,
                             const ir_value *bias, bool transposed) {
    layer l = {.x = x,
               .weight = w,
               .bias = bias,
               .transposed = transposed,
               .prepack = "quantized::linear_prepack",
               .op = "ctsc::quantised_linear",
               .groups = 1};
    return layer_make(&l, to);
}

ir_value *quantise_linear(node *n, const quantise_target *to) {
    return linear_make(to, n->inputs.data[0], n->inputs.data[1], n->inputs.data[2], false);
}

ir_value *quantise_addmm(node *n, const quantise_target *to) {
    if (!known_number_is(n->inputs.data[3], 1) || !known_number_is(n->inputs.data[4], 1))
        return NULL;
    return linear_make(to, n->inputs.data[1], n->inputs.data[2], n->inputs.data[0], true);
}

/* With a constant, or of two tensors. */
ir_value *quantise_matmul(node *n, const quantise_target *to) {
    quantise_affine a, b;
    ir_value *made = linear_make(to, n->inputs.data[0], n->inputs.data[1], NULL, true);
    if (made) return made;
    ir_value *args[] = {quantise_source(n->inputs.data[0], &a),
                        quantise_source(n->inputs.data[1], &b)};
    return args[0] && args[1] ? quantise_op(to, "ctsc::quantised_matmul", 2, args, true) : NULL;
}

/* ---- to numbers ------------------------------------------------------------------------------ */

/* A linear layer, or a product with a constant matrix. */
static bool numbers_linear(const node *n, layer *l) {
    ir_value *const *in = n->inputs.data;
    *l = (layer){.prepack = "quantized::linear_prepack", .op = "ctsc::integer_linear", .groups = 1};
    l->transposed = n->op->symbol != SYM_LINEAR;
    switch (n->op->symbol) {
    case SYM_LINEAR: l->x = in[0], l->weight = in[1], l->bias = in[2]; return true;
    case SYM_MM:
    case SYM_MATMUL: l->x = in[0], l->weight = in[1]; return true;
    case SYM_ADDMM:
        l->x = in[1], l->weight = in[2], l->bias = in[0];
        return known_number_is(in[3], 1) && known_number_is(in[4], 1);
    default: return false;
    }
}

/* The scale of x times those of the weight's columns, as a constant. */
static value numbers_scale(const tensor *weight, double x) {
    diag d = {0};
    const quantiser *q = weight->quantiser;
    int64_t n = quantiser_per_tensor(q) ? 1 : weight->sizes[0];
    tensor *t;
    ctsc_status s = tensor_new(&d, DT_FLOAT32, 1, &n, &t);
    diag_clear(&d);
    if (s != CTSC_OK) return value_none();
    for (int64_t i = 0; i < n; i++) TENSOR_AT(t, float)
    [i] = (float)x * (float)(quantiser_per_tensor(q) ? q->scale : TENSOR_AT(q->scales, double)[i]);
    return value_tensor_take(t);
}

/* The zero point of f as a tensor of the integers' dtype. */
static value numbers_zero(const quantise_form *f) {
    diag d = {0};
    tensor *t = NULL;
    ctsc_status s = tensor_scalar_int(&d, f->dt, quantise_form_zero(f, 0), &t);
    diag_clear(&d);
    return s == CTSC_OK ? value_tensor_take(t) : value_none();
}

static bool numbers_make(node *n, layer *l) {
    enum { PACKED, ZERO, SCALE, BIAS_AT, MADE };
    quantise_form f;
    bool fits = false;
    if (!l->x->def || !quantise_form_of(l->x->def, &f) || f.to_ints || !quantise_form_is_plain(&f))
        return false;
    value w = weight_of(l->weight, l->axis, l->transposed), made[MADE] = {{0}};
    if (w.tag != V_TENSOR || (!l->extra && w.u.tensor->ndim != 2)) return value_unref(w), false;
    made[BIAS_AT] = layer_bias(l->bias, w.u.tensor->sizes[l->axis] * l->groups, &fits);
    made[SCALE] = numbers_scale(w.u.tensor, quantise_form_scale(&f, 0));
    made[ZERO] = numbers_zero(&f);
    value_unref(w);
    l->bias = NULL;
    if (fits) made[PACKED] = layer_pack(l);
    if (made[PACKED].tag != V_OBJECT || made[SCALE].tag != V_TENSOR || made[ZERO].tag != V_TENSOR) {
        for (int i = 0; i < MADE; i++) value_unref(made[i]);
        return false;
    }
    ir_value *args[1 + MADE] = {f.x};
    for (int i = 0; i < MADE; i++)
        args[1 + i] = made[i].tag == V_NONE ? rewrite_none(n)
                                            : graph_constant_before_take(n, made[i], NULL);
    ir_value *y = rewrite_op(n, op_find(l->op), 1 + MADE, args);
    if (y) rewrite_result(n, y);
    return y != NULL;
}

bool quantise_to_numbers(node *n) {
    layer l;
    value geometry[QUANTISE_GEOMETRY] = {{0}};
    bool linear = numbers_linear(n, &l);
    if (!linear && !quantise_conv_kind_of(n)) return false;
    bool known = linear || conv_layer(n, &l, geometry);
    if (!linear) l.op = "ctsc::integer_conv";
    bool made = known && numbers_make(n, &l);
    quantise_conv_release(geometry);
    return made;
}
