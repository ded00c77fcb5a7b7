/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_onnx.c - compares the results of an ONNX model with those
 * of the method that it was written from (ctsc convert --check).
 *
 * A model has a flat list of outputs: tensors, numbers as tensors of no dims, and a list
 * of numbers either as one output each or, where the model computes its length, as one.
 * Tests: tests/cli/convert.test
 */
#include "runtime/save/check_onnx.h"

#include "base/memory/vec.h"
#include "ir/op/op.h"
#include "tensor/tensor.h"

#include <math.h>

typedef VEC(tensor *) leaves;

static ctsc_status leaves_add(diag *d, leaves *out, tensor *t_take) {
    if (vec_push(out, t_take)) return CTSC_OK;
    tensor_unref(t_take);
    return diag_no_memory(d);
}

static void leaves_free(leaves *x) {
    for (size_t i = 0; i < x->len; i++) tensor_unref(x->data[i]);
    vec_free(x);
}

static bool leaves_are_numbers(const list *l) {
    return l->kind == LIST_INT || l->kind == LIST_FLOAT || l->kind == LIST_BOOL;
}

static ctsc_status leaves_number(diag *d, leaves *out, value v) {
    tensor *t = NULL;
    TRY(v.tag == V_FLOAT  ? tensor_scalar_float(d, DT_FLOAT64, v.u.f, &t)
        : v.tag == V_INT  ? tensor_scalar_int(d, DT_INT64, v.u.i, &t)
        : v.tag == V_BOOL ? tensor_scalar_int(d, DT_BOOL, v.u.b, &t)
                          : diag_fail(d, CTSC_UNSUPPORTED, "ONNX: such results are not compared"));
    return leaves_add(d, out, t);
}

/* A list of numbers as a tensor. */
static ctsc_status leaves_row(diag *d, leaves *out, list *l) {
    int64_t n = (int64_t)l->len;
    tensor *t = NULL;
    TRY(tensor_new(d, DT_FLOAT64, 1, &n, &t));
    for (int64_t i = 0; i < n; i++) {
        value v = list_get(l, (size_t)i);
        TENSOR_AT(t, double)[i] = v.tag == V_FLOAT ? v.u.f : v.tag == V_INT ? (double)v.u.i : v.u.b;
    }
    return leaves_add(d, out, t);
}

/* rows: lists of numbers are tensors */
static ctsc_status leaves_of(diag *d, value v, bool rows, leaves *out) {
    switch (v.tag) {
    case V_NONE: return CTSC_OK;
    case V_TENSOR: return leaves_add(d, out, tensor_ref(v.u.tensor));
    case V_LIST:
        if (rows && leaves_are_numbers(v.u.list)) return leaves_row(d, out, v.u.list);
        for (size_t i = 0; i < v.u.list->len; i++) {
            value item = list_get(v.u.list, i);
            ctsc_status s = leaves_of(d, item, rows, out);
            value_unref(item);
            if (s != CTSC_OK) return s;
        }
        return CTSC_OK;
    case V_TUPLE:
        for (size_t i = 0; i < v.u.tuple->len; i++)
            TRY(leaves_of(d, v.u.tuple->items[i], rows, out));
        return CTSC_OK;
    case V_DICT:
        for (size_t i = 0; i < v.u.dict->used; i++)
            if (v.u.dict->entries[i].key.tag != V_UNINIT)
                TRY(leaves_of(d, v.u.dict->entries[i].val, rows, out));
        return CTSC_OK;
    default: return leaves_number(d, out, v);
    }
}

/* In a row, as doubles. */
static ctsc_status check_doubles(diag *d, tensor *t, tensor **out) {
    tensor *wide = NULL;
    TRY(tensor_to_dtype(d, t, DT_FLOAT64, &wide));
    ctsc_status s = tensor_contiguous(d, wide, out);
    tensor_unref(wide);
    return s;
}

static ctsc_status check_elements(diag *d, size_t output, const tensor *a, const tensor *b,
                                  double tolerance, double *largest) {
    const double *x = TENSOR_AT(a, double), *y = TENSOR_AT(b, double);
    double most = 0, scale = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < a->numel; i++) {
        if (isfinite(y[i]) && fabs(y[i]) > scale) scale = fabs(y[i]);
        if (x[i] == y[i] || (isnan(x[i]) && isnan(y[i]))) continue;
        double by = isfinite(x[i]) && isfinite(y[i]) ? fabs(x[i] - y[i]) : INFINITY;
        if (by > most) most = by, at = i;
    }
    double part = most == 0 ? 0 : scale > 0 ? most / scale : INFINITY;
    if (most > 0 && most <= 1e-6 && part > tolerance) part = tolerance; /* next to nothing */
    if (part > *largest) *largest = part;
    if (part <= tolerance) return CTSC_OK;
    return diag_fail(d, CTSC_FAILED,
                     "ONNX: the model that was written gives other results: output %zu, element "
                     "%lld is %g instead of %g, of elements up to %g",
                     output, (long long)at, x[at], y[at], scale);
}

static ctsc_status check_leaf(diag *d, size_t output, tensor *got, tensor *want, double tolerance,
                              double *largest) {
    bool number = !want->ndim && want->dtype == DT_FLOAT64; /* which a model has in 32 bits */
    bool row = want->ndim == 1 && want->dtype == DT_FLOAT64;
    if (!tensor_same_shape(got, want))
        return diag_fail(d, CTSC_FAILED,
                         "ONNX: the model that was written gives other results: output %zu has "
                         "other sizes",
                         output);
    if (got->dtype != want->dtype && !number && !row)
        return diag_fail(d, CTSC_FAILED,
                         "ONNX: the model that was written gives other results: output %zu is of "
                         "%s instead of %s",
                         output, dtype_table[got->dtype].torch_name,
                         dtype_table[want->dtype].torch_name);
    tensor *a = NULL, *b = NULL;
    ctsc_status s = check_doubles(d, got, &a);
    if (s == CTSC_OK) s = check_doubles(d, want, &b);
    double own = !dtype_is_float((dtype)want->dtype) && !dtype_is_float8((dtype)want->dtype) ? 0
                 : want->dtype == DT_FLOAT16 || want->dtype == DT_BFLOAT16 ? 20 * tolerance
                                                                           : tolerance;
    if (s == CTSC_OK) s = check_elements(d, output, a, b, own, largest);
    tensor_unref(a);
    tensor_unref(b);
    return s;
}

ctsc_status check_onnx_results(diag *d, value got, value want, double tolerance, double *largest) {
    leaves a = {0}, b = {0};
    ctsc_status s = leaves_of(d, got, false, &a);
    if (s == CTSC_OK) s = leaves_of(d, want, false, &b);
    if (s == CTSC_OK && a.len != b.len) {
        leaves_free(&b);
        b = (leaves){0};
        s = leaves_of(d, want, true, &b);
    }
    if (s == CTSC_OK && a.len != b.len)
        s = diag_fail(d, CTSC_FAILED, "ONNX: the model that was written gives %zu results, not %zu",
                      a.len, b.len);
    for (size_t i = 0; s == CTSC_OK && i < a.len; i++)
        s = check_leaf(d, i, a.data[i], b.data[i], tolerance, largest);
    leaves_free(&a);
    leaves_free(&b);
    return s;
}

ctsc_status check_onnx_longer(diag *d, value *v, int dim) {
    list *two = list_new(LIST_TENSOR, TYPE_TENSOR, 2);
    if (!two) return diag_no_memory(d);
    value args[] = {value_list_take(two), value_int(dim)}, out = value_none();
    op_ctx cx = {.diag = d};
    bool ok = list_append_take(two, value_ref(*v)) && list_append_take(two, value_ref(*v));
    ctsc_status s = ok ? op_call(&cx, "aten::cat", 2, args, &out) : diag_no_memory(d);
    value_unref(args[0]);
    if (s == CTSC_OK) value_set(v, out);
    return s;
}
