/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_nn.c - convolutions, pooling, normalisation and images
 * as nodes of ONNX.
 */
#include "frontend/onnx/onnx_out_internal.h"

enum { NN_DIMS = 3 };

/* ---- convolutions ---------------------------------------------------------------------------- */

typedef struct conv_args {
    int n;
    int64_t stride[NN_DIMS], pad[NN_DIMS], dilation[NN_DIMS], extra[NN_DIMS], groups;
    const char *auto_pad; /* "same", "valid"; NULL: pad */
} conv_args;

/* Tensors without a batch get one. */
static bool conv_write(out_call *c, const conv_args *a, bool transposed) {
    onnx_out *o = c->o;
    const tensor *t = out_t(c, 0), *w = out_t(c, 1);
    if (!dtype_is_float((dtype)t->dtype)) return out_refuse(o, "of integers");
    int64_t pads[2 * NN_DIMS], zero = 0;
    bool single = t->ndim == a->n + 1;
    const char *x = out_arg(c, 0);
    if (x && single) x = OUT(o, "Unsqueeze", x, out_const_ints(o, 1, &zero));
    const char *k = x ? out_arg(c, 1) : NULL, *type = transposed ? "ConvTranspose" : "Conv",
               *y = !k                ? NULL
                    : out_given(c, 2) ? OUT(o, type, x, k, out_arg(c, 2))
                                      : OUT(o, type, x, k);
    for (int i = 0; i < a->n; i++) {
        int64_t total = a->auto_pad && *a->auto_pad == 's' ? a->dilation[i] * (w->sizes[i + 2] - 1)
                                                           : 0;
        pads[i] = a->auto_pad ? total / 2 : a->pad[i];
        pads[a->n + i] = a->auto_pad ? total - total / 2 : a->pad[i];
    }
    if (y) {
        out_ints(o, "kernel_shape", a->n, w->sizes + 2);
        out_ints(o, "strides", a->n, a->stride);
        out_ints(o, "pads", 2 * a->n, pads);
        out_ints(o, "dilations", a->n, a->dilation);
        out_int(o, "group", a->groups);
    }
    if (y && transposed) out_ints(o, "output_padding", a->n, a->extra);
    if (y && single) y = OUT(o, "Squeeze", y, out_const_ints(o, 1, &zero));
    return out_done(c, y);
}

bool out_op_conv(out_call *c, const char *text) {
    conv_args a = {.n = out_t(c, 1)->ndim - 2, .auto_pad = out_arg_text(c, 4)};
    int n;
    (void)text;
    return out_arg_ints(c, 3, a.n, &n, a.stride) &&
           (a.auto_pad || out_arg_ints(c, 4, a.n, &n, a.pad)) &&
           out_arg_ints(c, 5, a.n, &n, a.dilation) && out_arg_int(c, 6, &a.groups) &&
           conv_write(c, &a, false);
}

bool out_op_conv_transpose(out_call *c, const char *text) {
    conv_args a = {.n = out_t(c, 1)->ndim - 2};
    int n;
    (void)text;
    return out_arg_ints(c, 3, a.n, &n, a.stride) && out_arg_ints(c, 4, a.n, &n, a.pad) &&
           out_arg_ints(c, 5, a.n, &n, a.extra) && out_arg_int(c, 6, &a.groups) &&
           out_arg_ints(c, 7, a.n, &n, a.dilation) && conv_write(c, &a, true);
}

bool out_op_convolution(out_call *c, const char *text) {
    conv_args a = {.n = out_t(c, 1)->ndim - 2};
    int n;
    bool transposed;
    (void)text;
    if (a.n < 1 || a.n > NN_DIMS) return out_refuse(c->o, "of %d dims", a.n);
    return out_arg_ints(c, 3, a.n, &n, a.stride) && out_arg_ints(c, 4, a.n, &n, a.pad) &&
           out_arg_ints(c, 5, a.n, &n, a.dilation) && out_arg_bool(c, 6, &transposed) &&
           out_arg_ints(c, 7, a.n, &n, a.extra) && out_arg_int(c, 8, &a.groups) &&
           conv_write(c, &a, transposed);
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* ONNX counts places in the whole tensor, PyTorch in a channel's plane. x, at: with a batch */
static bool pool_indices(out_call *c, const char *x, const char *at, int n, bool single) {
    onnx_out *o = c->o;
    int64_t zero = 0, two = 2, most = INT64_MAX;
    const char *sizes = OUT(o, "Shape", x),
               *plane = sizes ? OUT(o, "Slice", sizes, out_const_ints(o, 1, &two),
                                    out_const_ints(o, 1, &most), out_const_ints(o, 1, &zero))
                              : NULL,
               *count = plane ? OUT(o, "ReduceProd", plane) : NULL;
    out_int(o, "keepdims", 0);
    const tensor *t = out_t(c, 0);
    int64_t area = 1;
    bool fixed = true;
    for (int i = t->ndim - n; i < t->ndim; i++) {
        area *= t->sizes[i];
        fixed = fixed && out_is_fixed(o, c->args[0], i);
    }
    const char *y = count ? OUT(o, "Mod", at, fixed ? out_const_int(o, area) : count) : NULL;
    if (y && single) y = OUT(o, "Squeeze", y, out_const_ints(o, 1, &zero));
    return out_set(c, 1, y);
}

bool out_op_pool(out_call *c, const char *text) {
    onnx_out *o = c->o;
    bool max = *text == 'M', ceil, all = true;
    int n = c->key[strcspn(c->key, "123")] - '0', count;
    int64_t kernel[TENSOR_MAX_DIMS], stride[TENSOR_MAX_DIMS], pad[2 * TENSOR_MAX_DIMS],
        dilation[TENSOR_MAX_DIMS], zero = 0;
    bool single = out_t(c, 0)->ndim == n + 1;
    if (!dtype_is_float(out_dt(c, 0))) return out_refuse(o, "of integers");
    if (!out_arg_ints(c, 1, n, &count, kernel) || !out_arg_ints(c, 2, -1, &count, stride))
        return false;
    if (!count) memcpy(stride, kernel, sizeof kernel);
    else if (!out_arg_ints(c, 2, n, &count, stride)) return false;
    if (!out_arg_ints(c, 3, n, &count, pad)) return false;
    if (max && !out_arg_ints(c, 4, n, &count, dilation)) return false;
    if (!out_arg_bool(c, max ? 5 : 4, &ceil) || (!max && !out_arg_bool(c, 5, &all))) return false;
    if (!max && out_given(c, 6)) return out_refuse(o, "divisor_override");
    memcpy(pad + n, pad, sizeof *pad * (size_t)n);
    const char *x = out_arg(c, 0);
    if (x && single) x = OUT(o, "Unsqueeze", x, out_const_ints(o, 1, &zero));
    const char *out[2] = {NULL, NULL};
    if (!x || !out_nodes(o, text, 1, &x, c->nres > 1 ? 2 : 1, out)) return false;
    const char *y = out[0];
    out_ints(o, "kernel_shape", n, kernel);
    out_ints(o, "strides", n, stride);
    out_ints(o, "pads", 2 * n, pad);
    out_int(o, "ceil_mode", ceil);
    if (max) out_ints(o, "dilations", n, dilation);
    else out_int(o, "count_include_pad", all);
    if (single) y = OUT(o, "Squeeze", y, out_const_ints(o, 1, &zero));
    return out_done(c, y) && (c->nres == 1 || pool_indices(c, x, out[1], n, single));
}

/* [out, in]: row i has the mean of the window of output i */
static const char *adaptive_matrix(onnx_out *o, dtype dt, int64_t in, int64_t out,
                                   bool transposed) {
    int64_t sizes[] = {transposed ? in : out, transposed ? out : in};
    tensor *t = NULL;
    if (tensor_zeros(o->d, dt, 2, sizes, &t) != CTSC_OK) return NULL;
    for (int64_t i = 0; i < out; i++) {
        int64_t from = i * in / out, to = ((i + 1) * in + out - 1) / out;
        for (int64_t k = from; k < to; k++)
            dtype_store_float(dt,
                              (char *)tensor_data(t) +
                                  (size_t)(transposed ? k * out + i : i * in + k) * dtype_size(dt),
                              1.0 / (double)(to - from));
    }
    const char *name = out_tensor(o, t);
    tensor_unref(t);
    return name;
}

/* Windows of several sizes, as products with matrices. */
static bool adaptive_general(out_call *c, int n, const int64_t *out) {
    onnx_out *o = c->o;
    const tensor *t = out_t(c, 0);
    dtype dt = (dtype)t->dtype;
    const char *x = out_arg(c, 0);
    if (n > 2) return out_refuse(o, "windows of several sizes in 3 dims");
    if (x) x = OUT(o, "MatMul", x, adaptive_matrix(o, dt, t->sizes[t->ndim - 1], out[n - 1], true));
    if (x && n == 2) {
        const char *m = adaptive_matrix(o, dt, t->sizes[t->ndim - 2], out[0], false);
        x = m ? OUT(o, "MatMul", m, x) : NULL;
    }
    return out_done(c, x);
}

bool out_op_adaptive(out_call *c, const char *text) {
    onnx_out *o = c->o;
    const tensor *t = out_t(c, 0);
    bool max = *text == 'M', one = true, even = true, fixed = true;
    int n = c->key[strcspn(c->key, "123")] - '0';
    int64_t kernel[NN_DIMS], out[NN_DIMS];
    for (int i = 0; i < n; i++) {
        int d = t->ndim - n + i;
        int64_t in = t->sizes[d];
        out[i] = out_r(c)->sizes[d];
        one = one && out[i] == 1;
        fixed = fixed && out_is_fixed(o, c->args[0], d);
        even = even && out[i] && in % out[i] == 0;
        kernel[i] = out[i] ? in / out[i] : 0;
    }
    if (c->nres > 1) c->res[1]->name = ""; /* indices: nobody may read them */
    const char *x = out_arg(c, 0);
    bool batch = t->ndim == n + 2;
    if (!x) return false;
    if (one && batch) return out_done(c, OUT(o, max ? "GlobalMaxPool" : "GlobalAveragePool", x));
    if (!fixed) return out_refuse(o, "of dynamic sizes, to other than one element");
    if (!even || !batch)
        return max ? out_refuse(o, "windows of several sizes") : adaptive_general(c, n, out);
    const char *y = OUT(o, text, x);
    out_ints(o, "kernel_shape", n, kernel);
    out_ints(o, "strides", n, kernel);
    return out_done(c, y);
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* A vector of n of that argument, or of `otherwise` where it is None. */
static const char *norm_vector(out_call *c, int i, int64_t n, double otherwise) {
    tensor *t = NULL;
    dtype dt = (dtype)out_t(c, 0)->dtype;
    if (out_given(c, i)) return out_arg(c, i);
    if (tensor_new(c->o->d, dt, 1, &n, &t) != CTSC_OK) return NULL;
    for (int64_t k = 0; k < n; k++)
        dtype_store_float(dt, (char *)tensor_data(t) + (size_t)k * dtype_size(dt), otherwise);
    const char *name = out_tensor(c->o, t);
    tensor_unref(t);
    return name;
}

/* By the batch's own mean and variance. The running ones, which it updates, may not be read any
 * more; those of a module are a program's that is being trained. */
static bool batch_norm_train(out_call *c, double eps) {
    onnx_out *o = c->o;
    const tensor *t = out_t(c, 0);
    int64_t axes[TENSOR_MAX_DIMS], sizes[TENSOR_MAX_DIMS];
    int n = 0;
    for (int i = 3; i < 5; i++) {
        if (!out_given(c, i)) continue;
        if (ptrmap_get(&o->attributes, out_t(c, i)->storage))
            return out_refuse(o, "in training mode: call eval() before");
        c->args[i]->name = "";
    }
    for (int i = 0; i < t->ndim; i++) {
        if (i != 1) axes[n++] = i;
        sizes[i] = i == 1 ? -1 : 1;
    }
    const char *x = out_arg(c, 0), *mean = out_reduce(o, "ReduceMean", x, n, axes, true),
               *d = mean ? OUT(o, "Sub", x, mean) : NULL, *square = d ? OUT(o, "Mul", d, d) : NULL,
               *var = out_reduce(o, "ReduceMean", square, n, axes, true);
    var = var ? OUT(o, "Add", var, out_const(o, (dtype)t->dtype, eps)) : NULL;
    var = var ? OUT(o, "Sqrt", var) : NULL;
    const char *y = var ? OUT(o, "Div", d, var) : NULL;
    for (int i = 1; y && i < 3; i++) {
        if (!out_given(c, i)) continue;
        const char *w = OUT(o, "Reshape", out_arg(c, i), out_const_ints(o, t->ndim, sizes));
        y = w ? OUT(o, i == 1 ? "Mul" : "Add", y, w) : NULL;
    }
    return out_done(c, y);
}

bool out_op_batch_norm(out_call *c, const char *text) {
    bool training;
    double eps;
    int64_t n = out_t(c, 0)->ndim > 1 ? out_t(c, 0)->sizes[1] : 1;
    (void)text;
    if (!out_arg_bool(c, 5, &training) || !out_arg_float(c, 7, &eps)) return false;
    if (training || !out_given(c, 3)) return batch_norm_train(c, eps);
    const char *x = out_arg(c, 0), *w = x ? norm_vector(c, 1, n, 1) : NULL,
               *b = w ? norm_vector(c, 2, n, 0) : NULL, *m = b ? out_arg(c, 3) : NULL,
               *v = m ? out_arg(c, 4) : NULL,
               *y = v ? OUT(c->o, "BatchNormalization", x, w, b, m, v) : NULL;
    out_float(c->o, "epsilon", eps);
    return out_done(c, y);
}

bool out_op_instance_norm(out_call *c, const char *text) {
    bool own;
    double eps;
    int64_t n = out_t(c, 0)->sizes[1];
    (void)text;
    if (!out_arg_bool(c, 5, &own) || !out_arg_float(c, 7, &eps)) return false;
    if (!own) return out_refuse(c->o, "with running statistics");
    const char *x = out_arg(c, 0), *w = x ? norm_vector(c, 1, n, 1) : NULL,
               *b = w ? norm_vector(c, 2, n, 0) : NULL,
               *y = b ? OUT(c->o, "InstanceNormalization", x, w, b) : NULL;
    out_float(c->o, "epsilon", eps);
    return out_done(c, y);
}

/* (x - mean) / sqrt(var + eps) * w + b, over the last n dims */
static const char *norm_unfused(out_call *c, const char *x, int n, double eps) {
    onnx_out *o = c->o;
    int64_t axes[TENSOR_MAX_DIMS];
    dtype dt = (dtype)out_t(c, 0)->dtype;
    for (int i = 0; i < n; i++) axes[i] = i - n;
    const char *mean = OUT(o, "ReduceMean", x);
    out_ints(o, "axes", n, axes);
    const char *d = mean ? OUT(o, "Sub", x, mean) : NULL, *sq = d ? OUT(o, "Mul", d, d) : NULL,
               *var = sq ? OUT(o, "ReduceMean", sq) : NULL;
    out_ints(o, "axes", n, axes);
    var = var ? OUT(o, "Add", var, out_const(o, dt, eps)) : NULL;
    var = var ? OUT(o, "Sqrt", var) : NULL;
    return var ? OUT(o, "Div", d, var) : NULL;
}

bool out_op_layer_norm(out_call *c, const char *text) {
    onnx_out *o = c->o;
    double eps;
    int n;
    int64_t shape[TENSOR_MAX_DIMS];
    (void)text;
    if (!out_arg_ints(c, 1, -1, &n, shape) || !out_arg_float(c, 4, &eps)) return false;
    const char *x = out_arg(c, 0), *y, *w = NULL;
    if (!x) return false;
    if (o->opset < 17) {
        y = norm_unfused(c, x, n, eps);
        if (y && out_given(c, 2)) y = OUT(o, "Mul", y, out_arg(c, 2));
        if (y && out_given(c, 3)) y = OUT(o, "Add", y, out_arg(c, 3));
        return out_done(c, y);
    }
    if (out_given(c, 2)) {
        w = out_arg(c, 2);
    } else {
        tensor *t = NULL;
        dtype dt = (dtype)out_t(c, 0)->dtype;
        if (tensor_new(o->d, dt, n, shape, &t) != CTSC_OK) return false;
        for (int64_t k = 0; k < t->numel; k++)
            dtype_store_float(dt, (char *)tensor_data(t) + (size_t)k * dtype_size(dt), 1);
        w = out_tensor(o, t);
        tensor_unref(t);
    }
    y = !w                ? NULL
        : out_given(c, 3) ? OUT(o, "LayerNormalization", x, w, out_arg(c, 3))
                          : OUT(o, "LayerNormalization", x, w);
    out_int(o, "axis", -n);
    out_float(o, "epsilon", eps);
    return out_done(c, y);
}

/* As instances of `groups` channels, followed by weights. */
bool out_op_group_norm(out_call *c, const char *text) {
    onnx_out *o = c->o;
    const tensor *t = out_t(c, 0);
    int64_t groups, sizes[] = {0, 0, -1}, vector[TENSOR_MAX_DIMS];
    double eps;
    (void)text;
    if (!out_arg_int(c, 1, &groups) || !out_arg_float(c, 4, &eps)) return false;
    sizes[1] = groups;
    const char *x = out_arg(c, 0), *one = NULL, *zero = NULL;
    for (int k = 0; x && k < 2; k++) {
        tensor *v = NULL;
        if (tensor_zeros(o->d, (dtype)t->dtype, 1, &groups, &v) != CTSC_OK) return false;
        for (int64_t i = 0; k == 0 && i < groups; i++)
            dtype_store_float((dtype)t->dtype,
                              (char *)tensor_data(v) + (size_t)i * dtype_size((dtype)t->dtype), 1);
        *(k ? &zero : &one) = out_tensor(o, v);
        tensor_unref(v);
    }
    x = x ? OUT(o, "Reshape", x, out_const_ints(o, 3, sizes)) : NULL;
    x = x && one && zero ? OUT(o, "InstanceNormalization", x, one, zero) : NULL;
    out_float(o, "epsilon", eps);
    x = x ? out_reshape(o, x, NULL, c->res[0], NULL) : NULL;
    vector[0] = t->sizes[1];
    for (int i = 1; i < t->ndim - 1; i++) vector[i] = 1;
    for (int k = 2; x && k < 4; k++) {
        if (!out_given(c, k)) continue;
        const char *v = OUT(o, "Reshape", out_arg(c, k), out_const_ints(o, t->ndim - 1, vector));
        x = v ? OUT(o, k == 2 ? "Mul" : "Add", x, v) : NULL;
    }
    return out_done(c, x);
}

bool out_op_softmax(out_call *c, const char *text) {
    int64_t dim;
    if (!out_arg_int(c, 1, &dim)) return false;
    const char *x = out_arg_as(c, 0, (dtype)out_r(c)->dtype), *y = x ? OUT(c->o, text, x) : NULL;
    out_int(c->o, "axis", out_dim(out_t(c, 0), dim));
    return out_done(c, y);
}

bool out_op_dropout(out_call *c, const char *text) {
    bool train;
    (void)text;
    if (!out_arg_bool(c, 2, &train)) return false;
    return train ? out_refuse(c->o, "in training mode: call eval() before")
                 : out_done(c, out_arg(c, 0));
}

/* ---- images ---------------------------------------------------------------------------------- */

/* To the result's sizes; by scales where these are dynamic. */
/* mode: "nearest exact" as PyTorch has it */
static bool image_resize(out_call *c, const char *mode, bool align, const double *scales) {
    onnx_out *o = c->o;
    bool exact = strstr(mode, " exact") != NULL;
    const tensor *t = out_t(c, 0), *r = out_r(c);
    bool fixed = true;
    for (int i = 2; i < r->ndim; i++) fixed = fixed && out_is_fixed(o, c->res[0], i);
    const char *x = out_arg(c, 0), *y = NULL;
    if (!x) return false;
    if (scales) {
        int64_t n = r->ndim;
        tensor *s = NULL;
        if (tensor_new(o->d, DT_FLOAT32, 1, &n, &s) != CTSC_OK) return false;
        for (int i = 0; i < r->ndim; i++) TENSOR_AT(s, float)[i] = i < 2 ? 1 : (float)scales[i - 2];
        const char *name = out_tensor(o, s);
        tensor_unref(s);
        y = name ? OUT(o, "Resize", x, "", name) : NULL;
    } else if (fixed) {
        const char *sizes;
        if (out_is_fixed(o, c->args[0], 0)) {
            sizes = out_const_ints(o, r->ndim, r->sizes);
        } else {
            int64_t zero = 0, two = 2;
            const char *shape = OUT(o, "Shape", x),
                       *head = shape ? OUT(o, "Slice", shape, out_const_ints(o, 1, &zero),
                                           out_const_ints(o, 1, &two))
                                     : NULL;
            sizes = head ? OUT(o, "Concat", head, out_const_ints(o, r->ndim - 2, r->sizes + 2))
                         : NULL;
            out_int(o, "axis", 0);
        }
        y = sizes ? OUT(o, "Resize", x, "", "", sizes) : NULL;
    } else if (out_given(c, 1) && c->args[1]->items && c->args[1]->nitems == r->ndim - 2) {
        int64_t zero = 0, two = 2;
        const char *shape = OUT(o, "Shape", x),
                   *head = shape ? OUT(o, "Slice", shape, out_const_ints(o, 1, &zero),
                                       out_const_ints(o, 1, &two))
                                 : NULL,
                   *sizes = head ? OUT(o, "Concat", head, out_list_1d(o, c->args[1])) : NULL;
        out_int(o, "axis", 0);
        y = sizes ? OUT(o, "Resize", x, "", "", sizes) : NULL;
    } else {
        return out_refuse(o, "to sizes that are dynamic");
    }
    (void)t;
    out_text(o, "mode", *mode == 'n' ? "nearest" : mode);
    out_text(o, "coordinate_transformation_mode",
             *mode == 'n' && !exact ? "asymmetric"
             : align                ? "align_corners"
                                    : "half_pixel");
    if (*mode == 'n') out_text(o, "nearest_mode", exact ? "round_prefer_ceil" : "floor");
    if (*mode == 'c') out_float(o, "cubic_coeff_a", -0.75);
    return out_done(c, y);
}

static bool image_scales(out_call *c, int i, double *scales, bool *given) {
    *given = out_given(c, i) && !out_given(c, 1);
    if (!*given) return true;
    value v = c->args[i]->v[0];
    int n = out_r(c)->ndim - 2;
    if (c->args[i]->items) return out_refuse(c->o, "scales that are not constants");
    for (int k = 0; k < n; k++)
        scales[k] = v.tag == V_FLOAT ? v.u.f
                    : v.tag == V_LIST && v.u.list->kind == LIST_FLOAT && (int)v.u.list->len > k
                        ? v.u.list->u.floats[k]
                        : 1;
    return true;
}

bool out_op_upsample(out_call *c, const char *text) {
    bool align = false, vec = strstr(c->key, ".vec") != NULL, given = false;
    double scales[NN_DIMS];
    bool nearest = *text == 'n';
    if (!nearest && !out_arg_bool(c, 2, &align)) return false;
    if (vec && !image_scales(c, nearest ? 2 : 3, scales, &given)) return false;
    return image_resize(c, text, align, given ? scales : NULL);
}

bool out_op_interpolate(out_call *c, const char *text) {
    const char *mode = out_arg_text(c, 3);
    bool align = false, given;
    double scales[NN_DIMS];
    (void)text;
    if (!mode || (out_given(c, 4) && !out_arg_bool(c, 4, &align)) ||
        !image_scales(c, 2, scales, &given))
        return false;
    bool linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear") ||
                  !strcmp(mode, "trilinear");
    const char *own = !strcmp(mode, "nearest")   ? "nearest"
                      : linear                   ? "linear"
                      : !strcmp(mode, "bicubic") ? "cubic"
                                                 : NULL;
    return own ? image_resize(c, own, align, given ? scales : NULL)
               : out_refuse(c->o, "mode '%.40s'", mode);
}

bool out_op_grid_sampler(out_call *c, const char *text) {
    static const char *const modes[] = {"bilinear", "nearest", "bicubic"},
                             *const new[] = {"linear", "nearest", "cubic"},
                             *const paddings[] = {"zeros", "border", "reflection"};
    onnx_out *o = c->o;
    int64_t mode, padding;
    bool align;
    (void)text;
    if (!out_arg_int(c, 2, &mode) || !out_arg_int(c, 3, &padding) || !out_arg_bool(c, 4, &align))
        return false;
    if (o->opset < 16 || mode < 0 || mode > 2 || padding < 0 || padding > 2)
        return out_refuse(o, "needs operator set 16");
    const char *x = out_arg(c, 0), *g = x ? out_arg(c, 1) : NULL,
               *y = g ? OUT(o, "GridSample", x, g) : NULL;
    out_text(o, "mode", o->opset < 20 ? modes[mode] : new[mode]);
    out_text(o, "padding_mode", paddings[padding]);
    out_int(o, "align_corners", align);
    return out_done(c, y);
}
