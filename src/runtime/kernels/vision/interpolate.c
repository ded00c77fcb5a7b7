/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpolate.c - aten::__interpolate and its relatives: what nn.functional.interpolate compiled to
 * in the archives of PyTorch 1.0 to 1.4. They choose an upsampling operator by mode and number of
 * dims.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/engine/wide.h"

#include <math.h>
#include <string.h>

typedef struct interpolate_mode {
    const char *mode;
    int ndim; /* of the input */
    const char *op;
    bool align, area;
} interpolate_mode;

/* clang-format off */
static const interpolate_mode interpolate_modes[] = {
    /* mode        input  operator                     corners  area */
    {"nearest",    3,     "aten::upsample_nearest1d",   false,  false},
    {"nearest",    4,     "aten::upsample_nearest2d",   false,  false},
    {"nearest",    5,     "aten::upsample_nearest3d",   false,  false},
    {"area",       3,     "aten::adaptive_avg_pool1d",  false,  true},
    {"area",       4,     "aten::adaptive_avg_pool2d",  false,  true},
    {"area",       5,     "aten::adaptive_avg_pool3d",  false,  true},
    {"linear",     3,     "aten::upsample_linear1d",    true,   false},
    {"bilinear",   4,     "aten::upsample_bilinear2d",  true,   false},
    {"bicubic",    4,     "aten::upsample_bicubic2d",   true,   false},
    {"trilinear",  5,     "aten::upsample_trilinear3d", true,   false},
};
/* clang-format on */

typedef struct interpolate_args {
    tensor *input;
    const value *size, *factor; /* each None, a number, or a list of them */
    const char *mode;
    const value *align;
    bool exact; /* the factors themselves count, not what the sizes make of them */
} interpolate_args;

/* Number i of `v`, a number for all dims or a list; false beyond the list's end. */
static bool interpolate_number(const value *v, int i, double *out) {
    if (v->tag != V_LIST) return *out = arg_float(v), true;
    const list *l = v->u.list;
    if ((size_t)i >= l->len) return false;
    *out = l->kind == LIST_FLOAT ? l->u.floats[i] : (double)l->u.ints[i];
    return true;
}

static ctsc_status interpolate_sizes(op_ctx *cx, const interpolate_args *a, int n, list *sizes) {
    const int64_t *given;
    double factor;
    if (arg_is_none(a->size) && arg_is_none(a->factor))
        return kernel_fail(cx, "either size or scale_factor should be defined");
    for (int i = 0; i < n; i++) {
        int64_t size = 0;
        if (a->size->tag == V_LIST) {
            if (arg_ints(a->size, &given) != n)
                return kernel_fail(cx, "It is expected output_size equals to %d, but got size %d",
                                   n, arg_ints(a->size, &given));
            size = given[i];
        } else if (!arg_is_none(a->size)) {
            size = arg_int(a->size);
        } else {
            if (!interpolate_number(a->factor, i, &factor))
                return kernel_fail(cx,
                                   "scale_factor shape must match input shape. Input is %dD, "
                                   "scale_factor size is %d",
                                   n, i);
            double out = floor((double)a->input->sizes[i + 2] * factor);
            if (!(out > -9e18 && out < 9e18))
                return kernel_fail(cx, "scale_factor is out of range");
            size = (int64_t)out;
        }
        if (!list_append_take(sizes, value_int(size))) return diag_no_memory(cx->diag);
    }
    return CTSC_OK;
}

static ctsc_status interpolate_refuse(op_ctx *cx, const interpolate_args *a) {
    int ndim = a->input->ndim;
    for (size_t i = 0; i < sizeof interpolate_modes / sizeof *interpolate_modes; i++) {
        const interpolate_mode *m = &interpolate_modes[i];
        if (ndim >= 3 && ndim <= 5 && m->align && strcmp(m->mode, a->mode) == 0)
            return kernel_fail(cx, "Got %dD input, but %s mode needs %dD input", ndim, a->mode,
                               m->ndim);
    }
    return kernel_fail(
        cx,
        "Input Error: Only 3D, 4D and 5D input Tensors supported (got %dD) for the modes: "
        "nearest | linear | bilinear | trilinear (got %s) ",
        ndim, a->mode);
}

static const interpolate_mode *interpolate_find(const interpolate_args *a) {
    for (size_t i = 0; i < sizeof interpolate_modes / sizeof *interpolate_modes; i++) {
        const interpolate_mode *m = &interpolate_modes[i];
        if (m->ndim == a->input->ndim && strcmp(m->mode, a->mode) == 0) return m;
    }
    return NULL;
}

static ctsc_status interpolate_run(op_ctx *cx, const interpolate_args *a, value *results) {
    bool plain = strcmp(a->mode, "nearest") == 0 || strcmp(a->mode, "area") == 0;
    if (plain && !arg_is_none(a->align))
        return kernel_fail(cx, "align_corners option can only be set with the interpolating modes: "
                               "linear | bilinear | bicubic | trilinear");
    const interpolate_mode *m = interpolate_find(a);
    if (!m) return interpolate_refuse(cx, a);
    int n = m->ndim - 2, nargs = 2;
    list *sizes = list_new(LIST_INT, TYPE_INT, (size_t)n);
    if (!sizes) return diag_no_memory(cx->diag);
    ctsc_status st = interpolate_sizes(cx, a, n, sizes);
    value args[6] = {{.tag = V_TENSOR, .u.tensor = a->input}, value_list_take(sizes)};
    if (m->align) args[nargs++] = value_bool(!arg_is_none(a->align) && arg_bool(a->align));
    for (int i = 0; i < n && !m->area && st == CTSC_OK; i++) {
        double factor;
        bool given = a->exact && !arg_is_none(a->factor) &&
                     interpolate_number(a->factor, i, &factor);
        args[nargs++] = given ? value_float(factor) : value_none();
    }
    if (st == CTSC_OK) st = op_call(cx, m->op, nargs, args, results);
    value_unref(args[1]);
    return st;
}

/* input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias */
ctsc_status op_interpolate(op_ctx *cx, const value *args, value *results) {
    interpolate_args a = {
        arg_tensor(&args[0]), &args[1], &args[2],
        args[3].u.str->bytes, &args[4], !arg_is_none(&args[5]) && !arg_bool(&args[5])};
    if (arg_bool(&args[6])) return kernel_fail(cx, "Antialias is not yet supported");
    return interpolate_run(cx, &a, results);
}

/* input, size, scale_factor, mode, align_corners */
ctsc_status op_upsample_legacy(op_ctx *cx, const value *args, value *results) {
    interpolate_args a = {arg_tensor(&args[0]), &args[1], &args[2],
                          args[3].u.str->bytes, &args[4], false};
    return interpolate_run(cx, &a, results);
}

/* input, size, scale_factor */
ctsc_status op_upsample_nearest_legacy(op_ctx *cx, const value *args, value *results) {
    const value none = value_none();
    interpolate_args a = {arg_tensor(&args[0]), &args[1], &args[2], "nearest", &none, false};
    return interpolate_run(cx, &a, results);
}

ctsc_status op_upsample_bilinear_legacy(op_ctx *cx, const value *args, value *results) {
    const value corners = value_bool(true);
    interpolate_args a = {arg_tensor(&args[0]), &args[1], &args[2], "bilinear", &corners, false};
    return interpolate_run(cx, &a, results);
}
