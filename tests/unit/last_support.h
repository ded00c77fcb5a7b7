/* SPDX-License-Identifier: Apache-2.0 */
/* last_support.h - operators on images whose channels come last, against those of PyTorch on the
 * same images with channels first. */
#ifndef CTSC_TESTS_LAST_SUPPORT_H
#define CTSC_TESTS_LAST_SUPPORT_H

#include "opcase.h"

#include "base/threads/thread_pool.h"
#include "runtime/kernels/engine/channels_last.h"

#include <math.h>

static int last_below(int n) { return rand() % n; }

/* [.., h, w, c] with `ndim` dims; some elements are NaN or infinite, if wanted. May be
 * a view with gaps. */
static tensor *last_image(dtype dt, int ndim, const int64_t sizes[4], bool special) {
    diag d = {0};
    tensor *t, *wide;
    int64_t room[4];
    bool gaps = last_below(5) == 0;
    for (int i = 0; i < ndim; i++) room[i] = sizes[4 - ndim + i];
    room[ndim - 1] += gaps;
    assert_int_equal(tensor_new(&d, dt, ndim, room, &wide), CTSC_OK);
    for (int64_t i = 0; i < wide->numel; i++) {
        double v = (double)(last_below(4001) - 2000) / 16;
        if (special && last_below(40) == 0)
            v = last_below(2) ? NAN : last_below(2) ? INFINITY : -INFINITY;
        char *p = (char *)tensor_data(wide) + (size_t)i * dtype_size(dt);
        if (dtype_is_float(dt)) dtype_store_float(dt, p, v);
        else dtype_store_int(dt, p, (int64_t)v & 127);
    }
    if (!gaps) return wide;
    assert_int_equal(tensor_slice(&d, wide, ndim - 1, 0, sizes[3], 1, &t), CTSC_OK);
    tensor_unref(wide);
    return t;
}

static ctsc_status last_call(const char *key, int n, const value *args, tensor **out, diag *d) {
    runtime *rt = calloc(1, sizeof *rt);
    const op *o = op_find(key);
    value result = value_none();
    if (!o || !o->fn) fail_msg("%s is not implemented", key);
    runtime_init(rt);
    op_ctx cx = {.diag = d, .op = o, .rt = rt};
    ctsc_status st = op_call(&cx, key, n, args, &result);
    free(rt);
    if (st == CTSC_OK) *out = result.u.tensor;
    return st;
}

/* Equal but for the last bits: `tolerance` is of the size of the elements. */
static void last_compare(const char *what, const tensor *got, const tensor *want,
                         double tolerance) {
    assert_int_equal(got->dtype, want->dtype);
    assert_true(tensor_same_shape(got, want));
    assert_true(tensor_is_contiguous(got) && tensor_is_contiguous(want));
    for (int64_t i = 0; i < got->numel; i++) {
        size_t at = (size_t)i * dtype_size((dtype)got->dtype);
        const char *p = (const char *)tensor_data(got) + at,
                   *q = (const char *)tensor_data(want) + at;
        double a = dtype_is_float((dtype)got->dtype) ? dtype_load_float((dtype)got->dtype, p)
                                                     : (double)dtype_load_int((dtype)got->dtype, p);
        double b = dtype_is_float((dtype)got->dtype) ? dtype_load_float((dtype)got->dtype, q)
                                                     : (double)dtype_load_int((dtype)got->dtype, q);
        if (isnan(a) ? !isnan(b) : a != b && !(fabs(a - b) <= tolerance))
            fail_msg("%s: element %d is %g, not %g", what, (int)i, a, b);
    }
}

/* ctsc::`last` with args, whose first is an image with channels last, is to give what aten::`first`
 * gives of the turned image; or fail as it does. */
static void last_check(const char *last, const char *first, int n, const value *args,
                       double tolerance) {
    diag d = {0}, e = {0};
    tensor *seen, *turned, *want = NULL, *got = NULL, *again;
    value call[8];
    assert_int_equal(channels_first_view(&d, args[0].u.tensor, 2, &seen), CTSC_OK);
    assert_int_equal(tensor_contiguous(&d, seen, &turned), CTSC_OK);
    for (int i = 0; i < n; i++) call[i] = args[i];
    call[0] = value_tensor_take(turned);
    ctsc_status expected = last_call(first, n, call, &want, &d),
                st = last_call(last, n, args, &got, &e);
    if (st != expected)
        fail_msg("%s: status %d, not %d: %s%s", last, st, expected, st ? diag_message(&e) : "",
                 expected ? diag_message(&d) : "");
    tensor_unref(seen);
    tensor_unref(turned);
    if (st != CTSC_OK) {
        assert_string_equal(diag_message(&e), diag_message(&d));
    } else {
        assert_int_equal(channels_last_view(&d, want, 2, &seen), CTSC_OK);
        assert_int_equal(tensor_contiguous(&d, seen, &turned), CTSC_OK);
        last_compare(last, got, turned, tolerance);
        pool_set_threads(3);
        assert_int_equal(last_call(last, n, args, &again, &e), CTSC_OK);
        pool_set_threads(1);
        last_compare(last, again, got, 0);
        tensor_unref(again);
        tensor_unref(seen);
        tensor_unref(turned);
        tensor_unref(want);
        tensor_unref(got);
    }
    diag_clear(&d);
    diag_clear(&e);
}

static value last_ints(int n, const int64_t *v) {
    list *l = list_new(LIST_INT, TYPE_INT, 4);
    for (int i = 0; i < n; i++) l->u.ints[l->len++] = v[i];
    return value_list_take(l);
}

static dtype last_dtype(void) {
    static const dtype all[] = {DT_FLOAT32,  DT_FLOAT32, DT_FLOAT32, DT_FLOAT32, DT_FLOAT64,
                                DT_BFLOAT16, DT_FLOAT16, DT_UINT8,   DT_INT64};
    return all[last_below(9)];
}

#endif
