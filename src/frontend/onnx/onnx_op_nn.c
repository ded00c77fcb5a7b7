/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_nn.c - convolutions, pooling, normalisation, images, recurrent layers.
 *
 * Pads of ONNX have two sides. What aten's operators cannot say is padded in front of them.
 */
#include "base/text/text.h"
#include "frontend/onnx/onnx_internal.h"

#include <math.h>

enum { NN_MAX = 3 }; /* spatial dims */

/* ---- windows --------------------------------------------------------------------------------- */

typedef struct window {
    int n; /* spatial dims */
    int64_t kernel[NN_MAX], strides[NN_MAX], dilations[NN_MAX], begin[NN_MAX], end[NN_MAX];
    ir_value *sizes;  /* of a kernel that only a call knows; else NULL */
    bool same, lower; /* auto_pad: as many pads as the output needs */
    bool even;        /* begin and end are the same */
} window;

static bool window_attr(onnx_node *n, const char *name, int want, int64_t otherwise, int64_t *out) {
    int count;
    const int64_t *ints = onnx_attr_ints(n, name, &count);
    if (ints && count != want)
        return onnx_bad(n->p, "attribute '%s' has %d elements, not %d", name, count, want);
    for (int i = 0; i < want; i++) out[i] = ints ? ints[i] : otherwise;
    return !onnx_failed(n->p);
}

/* weight: dims as conv's has them; NULL: a pool. */
static bool window_read(onnx_node *n, const onnx_value *weight, window *w) {
    int count = 0;
    int64_t pads[2 * NN_MAX];
    const int64_t *kernel = onnx_attr_ints(n, "kernel_shape", &count);
    *w = (window){.even = true};
    w->n = kernel                         ? count
           : weight && weight->rank > 2   ? weight->rank - 2
           : weight && n->in[0]->rank > 2 ? n->in[0]->rank - 2
                                          : -1;
    if (w->n < 0 || w->n > NN_MAX || (!weight && w->n == 0))
        return onnx_unsupported(n->p, "windows of %d dims are not supported", w->n);
    const char *how = onnx_attr_text(n, "auto_pad", "NOTSET");
    if (!window_attr(n, "strides", w->n, 1, w->strides) ||
        !window_attr(n, "dilations", w->n, 1, w->dilations) ||
        !window_attr(n, "pads", 2 * w->n, 0, pads))
        return false;
    w->same = !strncmp(how, "SAME", 4);
    w->lower = !strcmp(how, "SAME_LOWER");
    bool unknown = false;
    for (int i = 0; i < w->n; i++) {
        bool valid = strcmp(how, "NOTSET") != 0 && *how;
        w->begin[i] = valid ? 0 : pads[i];
        w->end[i] = valid ? 0 : pads[w->n + i];
        w->kernel[i] = kernel ? kernel[i] : -1;
        if (!kernel && weight->constant && weight->constant->ndim == w->n + 2)
            w->kernel[i] = weight->constant->sizes[i + 2];
        if (w->begin[i] != w->end[i] || w->begin[i] < 0) w->even = false;
        if (w->kernel[i] < 0) unknown = true;
    }
    if (!w->same || !unknown || !strcmp(n->proto->op_type, "ConvTranspose")) return true;
    ir_value *k = onnx_t(n, 1), *sizes[NN_MAX];
    for (int i = 0; k && i < w->n; i++)
        sizes[i] = ONNX_EMIT(n->p, "aten::size.int", k, onnx_int(n->p, i + 2));
    return k && (w->sizes = onnx_list(n->p, TYPE_INT, w->n, sizes)) != NULL;
}

static ir_value *window_kernel(onnx_node *n, const window *w) {
    return w->sizes ? w->sizes : onnx_ints(n->p, w->n, w->kernel);
}

/* x with the pads around it; `fill` there. */
static ir_value *window_pad(onnx_node *n, const window *w, ir_value *x, double fill) {
    onnx_program *p = n->p;
    int64_t pads[2 * NN_MAX];
    if (w->same)
        return ONNX_EMIT(p, "ctsc::onnx_same_pad", x, window_kernel(n, w),
                         onnx_ints(p, w->n, w->strides), onnx_ints(p, w->n, w->dilations),
                         onnx_bool(p, w->lower), onnx_float(p, fill));
    for (int i = 0; i < w->n; i++) {
        pads[2 * i] = w->begin[w->n - 1 - i];
        pads[2 * i + 1] = w->end[w->n - 1 - i];
    }
    return ONNX_EMIT(p, "aten::constant_pad_nd", x, onnx_ints(p, 2 * w->n, pads),
                     onnx_float(p, fill));
}

/* Pads in front where the operator cannot; *own: what it does itself. */
static ir_value *window_input(onnx_node *n, const window *w, ir_value *x, double fill,
                              int64_t *own) {
    bool before = w->same || !w->even;
    for (int i = 0; i < w->n; i++) own[i] = before ? 0 : w->begin[i];
    return before && x ? window_pad(n, w, x, fill) : x;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

ir_value *onnx_conv(onnx_node *n, const onnx_value *weight, ir_value *x, ir_value *k,
                    ir_value *bias, int *rank) {
    static const char *const keys[] = {"aten::conv1d", "aten::conv2d", "aten::conv3d"};
    onnx_program *p = n->p;
    window w;
    int64_t pads[NN_MAX];
    if (!x || !k || !bias || !window_read(n, weight, &w)) return NULL;
    if (!w.n) return onnx_unsupported(p, "convolutions of no dims are not supported"), NULL;
    *rank = w.n + 2;
    if (!(x = window_input(n, &w, x, 0, pads))) return NULL;
    return ONNX_EMIT(p, keys[w.n - 1], x, k, bias, onnx_ints(p, w.n, w.strides),
                     onnx_ints(p, w.n, pads), onnx_ints(p, w.n, w.dilations),
                     onnx_int(p, onnx_attr_int(n, "group", 1)));
}

ir_value *onnx_conv_integer(onnx_node *n, const onnx_value *weight, ir_value *const *in,
                            int *rank) {
    onnx_program *p = n->p;
    window w;
    int64_t pads[2 * NN_MAX];
    *rank = -1;
    if (!window_read(n, weight, &w) || w.same || !w.n) return NULL;
    for (int i = 0; i < w.n; i++) pads[i] = w.begin[i], pads[w.n + i] = w.end[i];
    *rank = w.n + 2;
    return ONNX_EMIT(p, "ctsc::onnx_conv_integer", in[0], in[1], in[2], in[3],
                     onnx_ints(p, w.n, w.strides), onnx_ints(p, 2 * w.n, pads),
                     onnx_ints(p, w.n, w.dilations), onnx_int(p, onnx_attr_int(n, "group", 1)));
}

bool onnx_op_conv(onnx_node *n, const char *text) {
    onnx_value *weight = onnx_need(n, 1);
    int rank = -1;
    (void)text;
    if (!weight || !onnx_need(n, 0)) return false;
    ir_value *x = onnx_t(n, 0), *k = x ? onnx_t(n, 1) : NULL,
             *y = k ? onnx_conv(n, weight, x, k, onnx_t_or_none(n, 2), &rank) : NULL;
    return y && onnx_out(n, 0, y, rank, n->in[0]->dt);
}

/* y without this many elements at the sides. */
static ir_value *transpose_crop(onnx_node *n, const window *w, ir_value *y) {
    onnx_program *p = n->p;
    for (int i = 0; y && i < w->n; i++)
        if (w->begin[i] || w->end[i])
            y = ONNX_EMIT(p, "aten::slice.Tensor", y, onnx_int(p, i + 2), onnx_int(p, w->begin[i]),
                          w->end[i] ? onnx_int(p, -w->end[i]) : onnx_int(p, INT64_MAX),
                          onnx_int(p, 1));
    return y;
}

/* The size of the result is said, or follows from the strides; the pads follow from it. */
static ir_value *transpose_shaped(onnx_node *n, const window *w, ir_value *x, ir_value *y) {
    onnx_program *p = n->p;
    int count = 0;
    const int64_t *given = onnx_attr_ints(n, "output_shape", &count);
    if (given && count != w->n) return onnx_bad(p, "output_shape has %d elements", count), NULL;
    ir_value *shape = given ? onnx_ints(p, count, given)
                            : ONNX_EMIT(p, "ctsc::onnx_same_shape", x,
                                        onnx_ints(p, w->n, w->strides));
    return y && shape ? ONNX_EMIT(p, "ctsc::onnx_transpose_shape", y, shape,
                                  onnx_bool(p, w->lower || (given && !w->same)))
                      : NULL;
}

bool onnx_op_conv_transpose(onnx_node *n, const char *text) {
    static const char *const keys[] = {"aten::conv_transpose1d", "aten::conv_transpose2d.input",
                                       "aten::conv_transpose3d.input"};
    onnx_program *p = n->p;
    onnx_value *weight = onnx_need(n, 1);
    window w;
    int64_t extra[NN_MAX], none[NN_MAX] = {0};
    (void)text;
    if (!weight || !onnx_need(n, 0) || !window_read(n, weight, &w) ||
        !window_attr(n, "output_padding", w.n, 0, extra))
        return false;
    if (!w.n) return onnx_unsupported(p, "convolutions of no dims are not supported");
    bool shaped = onnx_attr(n, "output_shape") || w.same;
    for (int i = 0; shaped && i < w.n; i++) w.begin[i] = w.end[i] = 0;
    for (int i = 0; i < w.n; i++)
        if (!w.even && (w.begin[i] < 0 || w.end[i] < 0))
            return onnx_unsupported(p, "negative pads are not supported");
    ir_value *x = onnx_t(n, 0), *k = x ? onnx_t(n, 1) : NULL, *b = k ? onnx_t_or_none(n, 2) : NULL;
    if (!b) return false;
    ir_value *y = ONNX_EMIT(p, keys[w.n - 1], x, k, b, onnx_ints(p, w.n, w.strides),
                            onnx_ints(p, w.n, w.even ? w.begin : none), onnx_ints(p, w.n, extra),
                            onnx_int(p, onnx_attr_int(n, "group", 1)),
                            onnx_ints(p, w.n, w.dilations));
    if (shaped) y = transpose_shaped(n, &w, x, y);
    else if (y && !w.even) y = transpose_crop(n, &w, y);
    return onnx_out(n, 0, y, w.n + 2, n->in[0]->dt);
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* Bytes are pooled as quantised values with a scale of one: there are kernels
 * for that form (passes/quantise), and more kinds of pads and dims. */
static ir_value *pool_bytes(onnx_node *n, ir_value *x, bool back) {
    onnx_program *p = n->p;
    tensor *one = NULL;
    onnx_value scale = {.rank = 0, .dt = DT_FLOAT32};
    if (!x || tensor_new(p->d, DT_FLOAT32, 0, NULL, &one) != CTSC_OK || !onnx_hold(p, one))
        return NULL;
    *TENSOR_AT(one, float) = 1;
    scale.constant = one;
    ir_value *by = onnx_as_tensor(n->sc, p, &scale);
    if (!by) return NULL;
    if (!back) return ONNX_EMIT(p, "ctsc::onnx_dequantize", x, by, onnx_none(p), onnx_int(p, 1));
    return ONNX_EMIT(p, "ctsc::onnx_quantize", x, by, onnx_none(p), onnx_int(p, 1),
                     onnx_int(p, n->in[0]->dt), onnx_int(p, 0));
}

static bool max_pool_result(onnx_node *n, ir_value *y) {
    int dt = n->in[0]->dt;
    return onnx_result(n, dt == DT_INT8 || dt == DT_UINT8 ? pool_bytes(n, y, true) : y);
}

/* Pads of all sides, begins first. */
static ir_value *pool_pads(onnx_node *n, const window *w, ir_value *x) {
    onnx_program *p = n->p;
    int64_t pads[2 * NN_MAX];
    if (w->same)
        return ONNX_EMIT(p, "ctsc::onnx_same_pads", x, window_kernel(n, w),
                         onnx_ints(p, w->n, w->strides), onnx_ints(p, w->n, w->dilations),
                         onnx_bool(p, w->lower));
    for (int i = 0; i < w->n; i++) pads[i] = w->begin[i], pads[w->n + i] = w->end[i];
    return onnx_ints(p, 2 * w->n, pads);
}

/* Both results; indices are positions in `in`; x is `in` with pads. */
static bool max_pool_indices(onnx_node *n, const window *w, ir_value *in, ir_value *x,
                             const int64_t *pads) {
    static const char *const keys[] = {"aten::max_pool1d_with_indices",
                                       "aten::max_pool2d_with_indices",
                                       "aten::max_pool3d_with_indices"};
    onnx_program *p = n->p;
    ir_value *y = ONNX_EMIT(p, keys[w->n - 1], x, onnx_ints(p, w->n, w->kernel),
                            onnx_ints(p, w->n, w->strides), onnx_ints(p, w->n, pads),
                            onnx_ints(p, w->n, w->dilations),
                            onnx_bool(p, onnx_attr_int(n, "ceil_mode", 0) != 0));
    ir_value *around = in == x ? onnx_ints(p, 0, NULL) : pool_pads(n, w, in),
             *at = y && around
                       ? ONNX_EMIT(p, "ctsc::onnx_pool_indices", y->def->outputs.data[1], in, x,
                                   around, onnx_bool(p, onnx_attr_int(n, "storage_order", 0) != 0))
                       : NULL;
    return at && max_pool_result(n, y) && onnx_out(n, 1, at, n->in[0]->rank, DT_INT64);
}

bool onnx_op_max_unpool(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    window w;
    int64_t pads[2 * NN_MAX];
    (void)text;
    if (!onnx_need(n, 0) || !window_read(n, NULL, &w)) return false;
    for (int i = 0; i < w.n; i++) pads[i] = w.begin[i], pads[w.n + i] = w.end[i];
    ir_value *x = onnx_t(n, 0), *at = x ? onnx_t(n, 1) : NULL,
             *shape = at ? onnx_t_or_none(n, 2) : NULL;
    return shape &&
           onnx_out(n, 0,
                    ONNX_EMIT(p, "ctsc::onnx_max_unpool", x, at, shape, onnx_ints(p, w.n, w.kernel),
                              onnx_ints(p, w.n, w.strides), onnx_ints(p, 2 * w.n, pads)),
                    w.n + 2, n->in[0]->dt);
}

bool onnx_op_max_pool(onnx_node *n, const char *text) {
    static const char *const keys[] = {"aten::max_pool1d", "aten::max_pool2d", "aten::max_pool3d"};
    onnx_program *p = n->p;
    window w;
    int64_t pads[NN_MAX];
    (void)text;
    if (!onnx_need(n, 0) || !window_read(n, NULL, &w)) return false;
    int dt = n->in[0]->dt;
    bool bytes = dt == DT_INT8 || dt == DT_UINT8;
    if ((w.same || !w.even) && dt >= 0 && !bytes && !dtype_is_float((dtype)dt))
        return onnx_unsupported(p, "pads of two sizes for integers are not supported");
    bool wide = false; /* torch allows pads up to half the kernel */
    for (int i = 0; i < w.n; i++) wide = wide || w.begin[i] > w.kernel[i] / 2;
    if (wide) w.even = false;
    ir_value *in = onnx_t(n, 0);
    if (bytes) in = pool_bytes(n, in, false);
    ir_value *x = window_input(n, &w, in, -__builtin_inf(), pads);
    if (x && onnx_wants(n, 1)) return max_pool_indices(n, &w, in, x, pads);
    return x && max_pool_result(n, ONNX_EMIT(p, keys[w.n - 1], x, onnx_ints(p, w.n, w.kernel),
                                             onnx_ints(p, w.n, w.strides), onnx_ints(p, w.n, pads),
                                             onnx_ints(p, w.n, w.dilations),
                                             onnx_bool(p, onnx_attr_int(n, "ceil_mode", 0) != 0)));
}

/* A pool as sums over windows; last: its last argument, NULL: an lp pool, whose
 * power comes second. */
static ir_value *pool_any(onnx_node *n, const window *w, const char *key, ir_value *last) {
    onnx_program *p = n->p;
    int at = 0;
    ir_value *x = onnx_t(n, 0), *pads = x ? pool_pads(n, w, x) : NULL, *args[8];
    if (!pads) return NULL;
    args[at++] = x;
    if (!last) args[at++] = onnx_int(p, onnx_attr_int(n, "p", 2));
    args[at++] = onnx_ints(p, w->n, w->kernel);
    args[at++] = onnx_ints(p, w->n, w->strides);
    args[at++] = pads;
    args[at++] = onnx_ints(p, w->n, w->dilations);
    args[at++] = onnx_bool(p, onnx_attr_int(n, "ceil_mode", 0) != 0);
    if (last) args[at++] = last;
    return onnx_emit(p, key, at, args);
}

bool onnx_op_average_pool(onnx_node *n, const char *text) {
    static const char *const keys[] = {"aten::avg_pool1d", "aten::avg_pool2d", "aten::avg_pool3d"};
    onnx_program *p = n->p;
    window w;
    int64_t pads[NN_MAX];
    (void)text;
    if (!onnx_need(n, 0) || !window_read(n, NULL, &w)) return false;
    bool all = onnx_attr_int(n, "count_include_pad", 0) != 0,
         ceil = onnx_attr_int(n, "ceil_mode", 0) != 0;
    bool wide = false, spread = false;
    for (int i = 0; i < w.n; i++) {
        wide = wide || w.begin[i] > w.kernel[i] / 2;
        spread = spread || w.dilations[i] != 1;
    }
    if (wide) w.even = false;
    if (spread || (ceil && (w.same || !w.even || all))) {
        ir_value *y = pool_any(n, &w, "ctsc::onnx_average_pool", onnx_bool(p, all));
        return y && onnx_result(n, y);
    }
    ir_value *in = onnx_t(n, 0), *x = window_input(n, &w, in, 0, pads);
    if (!x) return false;
    ir_value *args[] = {x,
                        onnx_ints(p, w.n, w.kernel),
                        onnx_ints(p, w.n, w.strides),
                        onnx_ints(p, w.n, pads),
                        onnx_bool(p, ceil),
                        onnx_bool(p, all || x != in)};
    ir_value *y = onnx_emit(p, keys[w.n - 1], 6, args);
    if (x == in || all || !y) return onnx_result(n, y);
    /* each sum by the share of its window that is inside */
    ir_value *ones = ONNX_EMIT(p, "aten::ones_like", in);
    if (!ones || !(args[0] = window_pad(n, &w, ones, 0))) return false;
    ir_value *share = onnx_emit(p, keys[w.n - 1], 6, args);
    return share && onnx_result(n, ONNX_EMIT(p, "aten::div.Tensor", y, share));
}

bool onnx_op_lp_pool(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    window w;
    (void)text;
    if (!onnx_need(n, 0) || !window_read(n, NULL, &w)) return false;
    bool plain = w.even && !w.same && w.n == 2 && !onnx_attr_int(n, "ceil_mode", 0);
    for (int i = 0; i < w.n; i++) plain = plain && !w.begin[i] && w.dilations[i] == 1;
    if (!plain) {
        ir_value *y = pool_any(n, &w, "ctsc::onnx_lp_pool_any", NULL);
        return y && onnx_result(n, y);
    }
    ir_value *x = onnx_t(n, 0);
    return x && onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_lp_pool", x,
                                         onnx_int(p, onnx_attr_int(n, "p", 2)),
                                         onnx_ints(p, 2, w.kernel), onnx_ints(p, 2, w.strides)));
}

bool onnx_op_global_pool(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_need(n, 0);
    ir_value *x = v ? onnx_t(n, 0) : NULL;
    if (!x) return false;
    bool max = *text == 'm';
    if (*text == 'l')
        return onnx_result(
            n, ONNX_EMIT(p, "ctsc::onnx_global_lp_pool", x, onnx_int(p, onnx_attr_int(n, "p", 2))));
    if (!max && v->rank >= 3 && v->rank <= 5) {
        static const char *const keys[] = {"aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d",
                                           "aten::adaptive_avg_pool3d"};
        int64_t ones[] = {1, 1, 1};
        return onnx_result(n, ONNX_EMIT(p, keys[v->rank - 3], x, onnx_ints(p, v->rank - 2, ones)));
    }
    return onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_global_pool", x, onnx_bool(p, max)));
}

/* ---- normalisation --------------------------------------------------------------------------- */

bool onnx_op_batch_norm(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    ir_value *in[5];
    (void)text;
    for (int i = 0; i < 5; i++)
        if (!(in[i] = onnx_t(n, i))) return false;
    if (p->opset < 9 && !onnx_attr_int(n, "spatial", 1))
        return onnx_unsupported(p, "spatial=0 is not supported");
    if (onnx_attr_int(n, "training_mode", 0)) {
        ir_value *y = ONNX_EMIT(p, "ctsc::onnx_batch_norm_training", in[0], in[1], in[2], in[3],
                                in[4], onnx_float(p, onnx_attr_float(n, "epsilon", 1e-5)),
                                onnx_float(p, onnx_attr_float(n, "momentum", 0.9)));
        return y && onnx_result(n, y) && onnx_out(n, 1, y->def->outputs.data[1], 1, n->in[3]->dt) &&
               onnx_out(n, 2, y->def->outputs.data[2], 1, n->in[4]->dt);
    }
    return onnx_result(n, ONNX_EMIT(p, "aten::batch_norm", in[0], in[1], in[2], in[3], in[4],
                                    onnx_bool(p, false), onnx_float(p, 0.1),
                                    onnx_float(p, onnx_attr_float(n, "epsilon", 1e-5)),
                                    onnx_bool(p, true)));
}

/* Does the scale have the very dims from the axis on, and are they known? */
static bool norm_is_plain(const onnx_value *x, const onnx_value *scale, int64_t axis) {
    /* the axis counted from the end; 0: not known */
    int64_t dims = axis < 0 || x->rank < 0 ? axis < 0 ? axis : 0 : axis - x->rank;
    return scale->constant && dims && dims == -scale->rank;
}

/* The dims from the axis on; 0: they are not known. */
static int norm_dims(const onnx_value *x, int64_t axis, int64_t *dims) {
    int64_t count = axis < 0 ? -axis : x->rank - axis;
    if (count <= 0 || count > TENSOR_MAX_DIMS || (axis >= 0 && x->rank < 0)) return 0;
    for (int i = 0; i < count; i++) dims[i] = axis + i;
    return (int)count;
}

/* RMSNormalization, and what ONNX Runtime calls SimplifiedLayerNormalization. */
bool onnx_op_rms_norm(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_need(n, 0), *scale = v ? onnx_need(n, 1) : NULL;
    int64_t axis = onnx_attr_int(n, "axis", -1);
    ir_value *x = scale ? onnx_t(n, 0) : NULL, *weight = x ? onnx_t(n, 1) : NULL,
             *eps = weight ? onnx_float(p, onnx_attr_float(n, "epsilon", 1e-5)) : NULL;
    (void)text;
    if (!eps) return false;
    if (onnx_wants(n, 1)) {
        int dt = onnx_to_dtype(onnx_attr_int(n, "stash_type", 1));
        if (dt < 0) return onnx_unsupported(p, "this stash_type");
        ir_value *y = ONNX_EMIT(p, "ctsc::onnx_rms_norm_parts", x, weight, onnx_int(p, axis), eps,
                                onnx_int(p, dt));
        return y && onnx_result(n, y) && onnx_out(n, 1, y->def->outputs.data[1], v->rank, dt);
    }
    int64_t dims[TENSOR_MAX_DIMS];
    int count = norm_dims(v, axis, dims);
    /* squares of halves may overflow: these, and what is not known, are floats meanwhile */
    bool wide = v->dt != DT_FLOAT32 && v->dt != DT_FLOAT64;
    if (!count || v->dt < 0 || scale->dt < 0)
        return onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_rms_norm_parts", x, weight,
                                        onnx_int(p, axis), eps, onnx_int(p, DT_FLOAT32)));
    if (wide) x = ONNX_EMIT(p, "aten::to.dtype", x, onnx_int(p, DT_FLOAT32));
    ir_value *y = x ? ONNX_EMIT(p, "ctsc::onnx_rms_norm", x, weight, onnx_ints(p, count, dims), eps)
                    : NULL;
    if (y && (wide || v->dt != scale->dt))
        y = ONNX_EMIT(p, "aten::to.dtype", y, onnx_int(p, scale->dt));
    return y && onnx_result(n, y);
}

bool onnx_op_layer_norm(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_need(n, 0), *scale = v ? onnx_need(n, 1) : NULL;
    int64_t axis = onnx_attr_int(n, "axis", -1);
    (void)text;
    if (!scale) return false;
    ir_value *x = onnx_t(n, 0), *weight = x ? onnx_t(n, 1) : NULL,
             *bias = weight ? onnx_t_or_none(n, 2) : NULL,
             *eps = bias ? onnx_float(p, onnx_attr_float(n, "epsilon", 1e-5)) : NULL;
    if (!eps) return false;
    if (onnx_wants(n, 1) || onnx_wants(n, 2)) {
        int dt = onnx_to_dtype(onnx_attr_int(n, "stash_type", 1));
        if (dt < 0) return onnx_unsupported(p, "this stash_type");
        ir_value *y = ONNX_EMIT(p, "ctsc::onnx_layer_norm_parts", x, weight, bias,
                                onnx_int(p, axis), eps, onnx_int(p, dt));
        return y && onnx_result(n, y) && onnx_out(n, 1, y->def->outputs.data[1], v->rank, dt) &&
               onnx_out(n, 2, y->def->outputs.data[2], v->rank, dt);
    }
    if (!norm_is_plain(v, scale, axis))
        return onnx_result(
            n, ONNX_EMIT(p, "ctsc::onnx_layer_norm", x, weight, bias, onnx_int(p, axis), eps));
    return onnx_result(n, ONNX_EMIT(p, "aten::layer_norm", x,
                                    onnx_ints(p, scale->rank, scale->constant->sizes), weight, bias,
                                    eps));
}

/* ---- images ---------------------------------------------------------------------------------- */

typedef struct resize {
    int rank;
    ir_value *sizes; /* of all dims, an int[]; NULL: scales say it */
    double scales[64];
    ir_value *spatial; /* sizes of the spatial dims alone, where they are numbers */
    bool has_scales;
    const onnx_value *scaled; /* what says the scales */
    const char *mode, *place, *nearest;
} resize;

/* The elements of a constant of floats. */
static bool resize_floats(const onnx_value *v, int *count, double *out) {
    const tensor *t = v ? v->constant : NULL;
    if (!t || t->ndim != 1 || t->numel > 64 || !dtype_is_float((dtype)t->dtype)) return false;
    for (int64_t i = 0; i < t->numel; i++)
        out[i] = dtype_load_float((dtype)t->dtype,
                                  (char *)tensor_data(t) +
                                      (size_t)(i * t->strides[0]) * dtype_size((dtype)t->dtype));
    *count = (int)t->numel;
    return true;
}

static bool resize_target(onnx_node *n, onnx_value *scales, onnx_value *sizes, resize *r) {
    onnx_program *p = n->p;
    int count = 0;
    r->rank = n->in[0]->rank;
    r->scaled = scales;
    bool empty = scales && scales->constant && !scales->constant->numel;
    if (scales && !empty) {
        if (!resize_floats(scales, &count, r->scales))
            return onnx_unsupported(p, "scales that are computed when it runs are not supported");
        if (r->rank >= 0 && count != r->rank)
            return onnx_bad(p, "%d scales of %d dims", count, r->rank);
        r->rank = count;
        r->has_scales = true;
        for (int i = 0; i < count; i++)
            if (!(r->scales[i] > 0) || r->scales[i] > 1e6)
                return onnx_bad(p, "a scale is %g", r->scales[i]);
        return true;
    }
    if (!sizes) return onnx_bad(p, "there are no scales and no sizes");
    if (onnx_has_ints(p, sizes)) {
        if (r->rank >= 0 && sizes->nints != r->rank)
            return onnx_bad(p, "%d sizes of %d dims", sizes->nints, r->rank);
        r->rank = sizes->nints;
        if (r->rank > 2) r->spatial = onnx_list(p, TYPE_INT, r->rank - 2, sizes->ints + 2);
    }
    return (r->sizes = onnx_as_ints(n->sc, p, sizes)) != NULL;
}

/* pytorch_half_pixel to a size of one takes the first element, where torch takes the middle. *one:
 * this may be, and only a call knows. false: torch's operator cannot do it. */
static bool resize_first(const resize *r, bool *one) {
    *one = false;
    if (strcmp(r->place, "pytorch_half_pixel") != 0) return true;
    for (int i = 2; r->has_scales && i < r->rank; i++)
        if (r->scales[i] < 2) return false;
    *one = !r->has_scales;
    return true;
}

/* The operator of torch that does it; NULL: there is none. */
static const char *resize_key(const onnx_node *n, const resize *r, bool *align) {
    static const char *const nearest[] = {"aten::upsample_nearest1d.vec",
                                          "aten::upsample_nearest2d.vec",
                                          "aten::upsample_nearest3d.vec"},
                             *const exact[] = {"aten::_upsample_nearest_exact1d.vec",
                                               "aten::_upsample_nearest_exact2d.vec",
                                               "aten::_upsample_nearest_exact3d.vec"},
                             *const linear[] = {"aten::upsample_linear1d.vec",
                                                "aten::upsample_bilinear2d.vec",
                                                "aten::upsample_trilinear3d.vec"};
    bool half = !strcmp(r->place, "half_pixel") || !strcmp(r->place, "pytorch_half_pixel");
    int k = r->rank - 3, dt = n->in[0]->dt;
    *align = !strcmp(r->place, "align_corners");
    /* of integers torch rounds, and ONNX Runtime does not */
    if (dt < 0 || !dtype_is_float((dtype)dt)) return NULL;
    if (k < 0 || k > 2 || (r->has_scales && (r->scales[0] != 1 || r->scales[1] != 1))) return NULL;
    if (!r->has_scales && !r->spatial) return NULL;
    if (!strcmp(r->mode, "nearest")) {
        bool before = !strcmp(r->nearest, "floor") || !strcmp(r->nearest, "simple");
        /* torch's goes by the sizes where these are the same, or twice as large */
        for (int i = 2; r->has_scales && i < r->rank; i++)
            before = before && (r->scales[i] == floor(r->scales[i]) ||
                                (r->scales[i] < 1 && *r->nearest == 'f'));
        if (!strcmp(r->place, "asymmetric") && before) return nearest[k];
        return half && !strcmp(r->nearest, "round_prefer_ceil") ? exact[k] : NULL;
    }
    if (!half && !*align) return NULL;
    if (!strcmp(r->mode, "linear")) return linear[k];
    return !strcmp(r->mode, "cubic") && k == 1 ? "aten::upsample_bicubic2d.vec" : NULL;
}

static ir_value *resize_scales(onnx_program *p, const resize *r, int from) {
    ir_value *items[64];
    if (!r->has_scales) return onnx_none(p);
    for (int i = from; i < r->rank; i++) items[i - from] = onnx_float(p, r->scales[i]);
    return onnx_list(p, TYPE_FLOAT, r->rank - from, items);
}

static bool resize_any(onnx_node *n, const resize *r, const onnx_value *scales);

static bool resize_make(onnx_node *n, const resize *r) {
    onnx_program *p = n->p;
    bool align, one, nearest = !strcmp(r->mode, "nearest");
    const char *key = resize_first(r, &one) ? resize_key(n, r, &align) : NULL;
    ir_value *x = onnx_t(n, 0);
    if (!x) return false;
    if (key) {
        if (one && r->spatial) x = ONNX_EMIT(p, "ctsc::onnx_resize_first", x, r->spatial);
        if (!x) return false;
        ir_value *args[4] = {x, r->has_scales ? onnx_none(p) : r->spatial};
        int at = 2;
        if (!nearest) args[at++] = onnx_bool(p, align);
        args[at++] = resize_scales(p, r, 2);
        return args[1] && onnx_result(n, onnx_emit(p, key, at, args));
    }
    if (nearest || !strcmp(r->mode, "linear"))
        return onnx_result(n,
                           ONNX_EMIT(p, "ctsc::onnx_resize", x, r->sizes ? r->sizes : onnx_none(p),
                                     resize_scales(p, r, 0), onnx_str(p, r->mode),
                                     onnx_str(p, r->place), onnx_str(p, r->nearest)));
    return resize_any(n, r, r->scaled);
}

/* What torch's operators can do, of sizes or scales that are known. */
static bool resize_is_plain(onnx_node *n, const resize *r, const onnx_value *scales) {
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                         "asymmetric"};
    bool place = false, cubic = !strcmp(r->mode, "cubic");
    double floats[64];
    int count;
    for (int i = 0; i < 4; i++) place = place || !strcmp(r->place, places[i]);
    bool empty = scales && scales->constant && !scales->constant->numel;
    return place && !onnx_attr(n, "axes") && !onnx_attr_int(n, "antialias", 0) &&
           !onnx_attr_int(n, "exclude_outside", 0) &&
           (!cubic || onnx_attr_float(n, "cubic_coeff_a", -0.75) == -0.75) &&
           !strcmp(onnx_attr_text(n, "keep_aspect_ratio_policy", "stretch"), "stretch") &&
           (!scales || empty || resize_floats(scales, &count, floats));
}

/* All else: a matrix per dim. */
static bool resize_any(onnx_node *n, const resize *r, const onnx_value *scales) {
    onnx_program *p = n->p;
    int count = 0;
    const int64_t *axes = onnx_attr_ints(n, "axes", &count);
    bool upsample = n->nin <= 2, empty = scales && scales->constant && !scales->constant->numel;
    ir_value *x = onnx_t(n, 0), *roi = upsample ? onnx_none(p) : onnx_t_or_none(n, 1),
             *by = empty ? onnx_none(p) : onnx_t_or_none(n, upsample ? 1 : 2),
             *sizes = upsample ? onnx_none(p) : onnx_t_or_none(n, 3);
    if (!x || !roi || !by || !sizes) return false;
    if ((!scales || empty) && !onnx_in(n, 3))
        return onnx_bad(p, "there are no scales and no sizes");
    return onnx_result(
        n, ONNX_EMIT(p, "ctsc::onnx_resize_any", x, roi, by, sizes, onnx_ints(p, count, axes),
                     onnx_str(p, r->mode), onnx_str(p, r->place), onnx_str(p, r->nearest),
                     onnx_bool(p, onnx_attr_int(n, "antialias", 0) != 0),
                     onnx_bool(p, onnx_attr_int(n, "exclude_outside", 0) != 0),
                     onnx_float(p, onnx_attr_float(n, "cubic_coeff_a", -0.75)),
                     onnx_float(p, onnx_attr_float(n, "extrapolation_value", 0)),
                     onnx_str(p, onnx_attr_text(n, "keep_aspect_ratio_policy", "stretch"))));
}

bool onnx_op_resize(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    static const char *const places[] = {
        "half_pixel",           "pytorch_half_pixel", "align_corners",       "asymmetric",
        "half_pixel_symmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"};
    resize r = {.mode = onnx_attr_text(n, "mode", "nearest"),
                .place = onnx_attr_text(n, "coordinate_transformation_mode", "half_pixel"),
                .nearest = onnx_attr_text(n, "nearest_mode", "round_prefer_floor")};
    bool place = false;
    (void)text;
    for (int i = 0; i < 7; i++) place = place || !strcmp(r.place, places[i]);
    if (!place) return onnx_unsupported(p, "coordinates '%.40s' are not supported", r.place);
    if (strcmp(r.mode, "nearest") && strcmp(r.mode, "linear") && strcmp(r.mode, "cubic"))
        return onnx_unsupported(p, "mode '%.40s'", r.mode);
    if (!onnx_need(n, 0)) return false;
    if (!resize_is_plain(n, &r, onnx_in(n, 2))) return resize_any(n, &r, onnx_in(n, 2));
    return resize_target(n, onnx_in(n, 2), onnx_in(n, 3), &r) && resize_make(n, &r);
}

/* Upsample, whose scales are an attribute until 9, and Resize of 10. The nearest
 * element is the one before, or the one after where the scale is less than one. */
bool onnx_op_upsample(onnx_node *n, const char *text) {
    resize r = {.mode = onnx_attr_text(n, "mode", "nearest"), .place = "asymmetric"};
    r.nearest = *text ? text : "simple";
    if (!onnx_need(n, 0)) return false;
    if (!strcmp(r.mode, "bilinear") || !strcmp(r.mode, "trilinear")) r.mode = "linear";
    if (strcmp(r.mode, "nearest") && strcmp(r.mode, "linear"))
        return onnx_unsupported(n->p, "mode '%.40s'", r.mode);
    const Onnx__AttributeProto *a = onnx_attr_of(n, "scales", ONNX_A_FLOATS);
    if (onnx_failed(n->p)) return false;
    if (a) {
        if (a->n_floats > 64) return onnx_bad(n->p, "there are %zu scales", a->n_floats);
        r.rank = (int)a->n_floats;
        r.has_scales = true;
        for (int i = 0; i < r.rank; i++)
            if (!((r.scales[i] = a->floats[i]) > 0) || r.scales[i] > 1e6)
                return onnx_bad(n->p, "a scale is %g", r.scales[i]);
        return resize_make(n, &r);
    }
    if (!resize_is_plain(n, &r, onnx_in(n, 1))) return resize_any(n, &r, onnx_in(n, 1));
    return resize_target(n, onnx_in(n, 1), NULL, &r) && resize_make(n, &r);
}

/* One of the words, whose number torch uses; -1: none of them. */
static int nn_word(const char *text, const char *const *words) {
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], text)) return i;
    return -1;
}

bool onnx_op_grid_sample(onnx_node *n, const char *text) {
    static const char *const old[] = {"bilinear", "nearest", "bicubic", NULL},
                             *const new[] = {"linear", "nearest", "cubic", NULL},
                             *const paddings[] = {"zeros", "border", "reflection", NULL};
    onnx_program *p = n->p;
    const char *word = onnx_attr_text(n, "mode", p->opset < 20 ? "bilinear" : "linear");
    int mode = nn_word(word, old),
        padding = nn_word(onnx_attr_text(n, "padding_mode", "zeros"), paddings);
    (void)text;
    if (mode < 0) mode = nn_word(word, new);
    if (mode < 0 || padding < 0) return onnx_unsupported(p, "mode '%.40s'", word);
    ir_value *x = onnx_t(n, 0), *grid = x ? onnx_t(n, 1) : NULL;
    return grid &&
           onnx_result(n, ONNX_EMIT(p, "aten::grid_sampler", x, grid, onnx_int(p, mode),
                                    onnx_int(p, padding),
                                    onnx_bool(p, onnx_attr_int(n, "align_corners", 0) != 0)));
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* Activations: what each is called, and the numbers that it takes, of all directions. */
typedef struct recurrent_acts {
    bool plain, relu; /* those of torch's layers; of an RNN, the other one */
    int n;
    ir_value *names, *alphas, *betas;
} recurrent_acts;

/* Names, which numbers they take, and which these are where none are given. */
static const struct { const char *name; bool alpha, beta; double a, b; } recurrent_known[] = {
    {"Tanh", false, false, 0, 0},           {"Sigmoid", false, false, 0, 0},
    {"Relu", false, false, 0, 0},           {"Softsign", false, false, 0, 0},
    {"Softplus", false, false, 0, 0},       {"LeakyRelu", true, false, 0.01, 0},
    {"ThresholdedRelu", true, false, 1, 0}, {"Elu", true, false, 1, 0},
    {"Affine", true, true, 1, 0},           {"ScaledTanh", true, true, 1, 1},
    {"HardSigmoid", true, true, 0.2, 0.5},
};

/* Case does not matter. */
static int recurrent_find(ProtobufCBinaryData s) {
    for (int i = 0; i < (int)(sizeof recurrent_known / sizeof *recurrent_known); i++) {
        const char *name = recurrent_known[i].name;
        size_t k = 0;
        while (k < s.len && name[k] && (name[k] | 32) == (s.data[k] | 32)) k++;
        if (k == s.len && !name[k]) return i;
    }
    return -1;
}

/* The next number of an attribute, which says those of the activations that take one. */
static double recurrent_number(const Onnx__AttributeProto *a, bool takes, size_t *at,
                               double otherwise) {
    return takes && a && *at < a->n_floats ? (double)a->floats[(*at)++] : otherwise;
}

static bool recurrent_activations(onnx_node *n, bool lstm, bool rnn, recurrent_acts *acts) {
    enum { ACTS = 6 };
    onnx_program *p = n->p;
    ir_value *names[ACTS], *alphas[ACTS], *betas[ACTS];
    const Onnx__AttributeProto *a = onnx_attr(n, "activations"),
                               *alpha = onnx_attr_of(n, "activation_alpha", ONNX_A_FLOATS),
                               *beta = onnx_attr_of(n, "activation_beta", ONNX_A_FLOATS);
    int each = lstm  ? 3
               : rnn ? 1
                     : 2,
        ways = !strcmp(onnx_attr_text(n, "direction", "forward"), "bidirectional") ? 2 : 1;
    size_t at = 0, bt = 0;
    acts->n = each * ways;
    acts->plain = true;
    acts->relu = false;
    if (onnx_failed(p)) return false;
    if (a && a->n_strings && a->n_strings != (size_t)acts->n)
        return onnx_bad(p, "there are %zu activations, not %d", a->n_strings, acts->n);
    for (int i = 0; i < acts->n; i++) {
        int normal = !rnn && i % each == 0 ? 1 : 0; /* Sigmoid, then Tanh */
        int k = a && a->n_strings ? recurrent_find(a->strings[i]) : normal;
        if (k < 0) return onnx_unsupported(p, "an activation of another name than ONNX's");
        if (rnn && !i) acts->relu = k == 2;
        acts->plain = acts->plain && k == (acts->relu ? 2 : normal);
        names[i] = onnx_str(p, recurrent_known[k].name);
        alphas[i] = onnx_float(
            p, recurrent_number(alpha, recurrent_known[k].alpha, &at, recurrent_known[k].a));
        betas[i] = onnx_float(
            p, recurrent_number(beta, recurrent_known[k].beta, &bt, recurrent_known[k].b));
    }
    acts->names = onnx_list(p, TYPE_STR, acts->n, names);
    acts->alphas = onnx_list(p, TYPE_FLOAT, acts->n, alphas);
    acts->betas = onnx_list(p, TYPE_FLOAT, acts->n, betas);
    return acts->names && acts->alphas && acts->betas;
}

/* What torch's layers have not is computed step by step. */
static bool recurrent_is_plain(onnx_node *n, bool gru) {
    return !onnx_in(n, 4) && !onnx_in(n, 7) && !onnx_attr(n, "clip") &&
           !onnx_attr_int(n, "input_forget", 0) &&
           (!gru || onnx_attr_int(n, "linear_before_reset", 0));
}

/* layout 1: the batch in front. */
static ir_value *recurrent_turned(onnx_node *n, ir_value *v) {
    if (!v || !onnx_attr_int(n, "layout", 0) || v->type->kind == T_NONE) return v;
    return ONNX_EMIT(n->p, "aten::transpose.int", v, onnx_int(n->p, 0), onnx_int(n->p, 1));
}

static bool recurrent_outputs(onnx_node *n, ir_value *v) {
    onnx_program *p = n->p;
    bool turned = onnx_attr_int(n, "layout", 0) != 0;
    ir_value *y = v ? v->def->outputs.data[0] : NULL;
    if (turned && y) {
        const int64_t order[] = {2, 0, 1, 3};
        y = ONNX_EMIT(p, "aten::permute", y, onnx_ints(p, 4, order));
    }
    if (!y || !onnx_result(n, y)) return false;
    for (size_t i = 1; i < v->def->outputs.len; i++)
        if (!onnx_out(n, (int)i, recurrent_turned(n, v->def->outputs.data[i]), 3, n->in[0]->dt))
            return false;
    return true;
}

/* Weights W (1) or R (2); those of DynamicQuantizeLSTM are bytes, with scales and zero points. */
static ir_value *recurrent_weight(onnx_node *n, int i, bool quantised) {
    enum { SCALES = 6 }; /* W's are inputs 8 and 9, R's the next two */
    ir_value *w = onnx_t(n, i), *scale, *zero;
    if (!quantised || !w) return w;
    if (!(scale = onnx_t(n, SCALES + 2 * i)) || !(zero = onnx_t_or_none(n, SCALES + 2 * i + 1)))
        return NULL;
    return ONNX_EMIT(n->p, "ctsc::onnx_recurrent_weight", w, scale, zero);
}

static bool recurrent_make(onnx_node *n, const char *text, bool quantised) {
    onnx_program *p = n->p;
    bool lstm = strstr(text, "lstm") != NULL, rnn = strstr(text, "rnn") != NULL,
         plain = recurrent_is_plain(n, !lstm && !rnn);
    recurrent_acts acts = {0};
    ir_value *in[14];
    int at = 0;
    const char *way = onnx_attr_text(n, "direction", "forward");
    if (!recurrent_activations(n, lstm, rnn, &acts)) return false;
    plain = plain && acts.plain;
    for (int i = 0; i < 3; i++)
        if (!(in[at++] = i ? recurrent_weight(n, i, quantised) : onnx_t(n, i))) return false;
    in[0] = recurrent_turned(n, in[0]);
    if (!in[0] || !(in[at++] = onnx_t_or_none(n, 3)) ||
        !(in[at++] = recurrent_turned(n, onnx_t_or_none(n, 5))))
        return false;
    if (lstm && !(in[at++] = recurrent_turned(n, onnx_t_or_none(n, 6)))) return false;
    if (!plain && lstm && !(in[at++] = onnx_t_or_none(n, 7))) return false;
    if (!plain && !(in[at++] = onnx_t_or_none(n, 4))) return false;
    in[at++] = onnx_str(p, way);
    if (!plain) in[at++] = onnx_float(p, onnx_attr_float(n, "clip", 0));
    if (!plain && lstm) in[at++] = onnx_bool(p, onnx_attr_int(n, "input_forget", 0) != 0);
    if (!plain && !lstm && !rnn)
        in[at++] = onnx_bool(p, onnx_attr_int(n, "linear_before_reset", 0) != 0);
    if (plain && rnn) in[at++] = onnx_bool(p, acts.relu);
    if (!plain) {
        in[at++] = acts.names;
        in[at++] = acts.alphas;
        in[at++] = acts.betas;
    }
    const char *key = plain  ? text
                      : lstm ? "ctsc::onnx_lstm_steps"
                      : rnn  ? "ctsc::onnx_rnn_steps"
                             : "ctsc::onnx_gru_steps";
    return recurrent_outputs(n, onnx_emit(p, key, at, in));
}

bool onnx_op_recurrent(onnx_node *n, const char *text) { return recurrent_make(n, text, false); }

/* ONNX Runtime rounds activations to bytes as well; here they stay as they are. */
bool onnx_op_dynamic_lstm(onnx_node *n, const char *text) { return recurrent_make(n, text, true); }
