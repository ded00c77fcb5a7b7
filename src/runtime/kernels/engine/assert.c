/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assert.c - operators that check something and have no result: what exported programs say
 * of their inputs.
 * Tests: tests/unit/test_recent.c, tests/pt2
 */
#include "runtime/kernels/engine/kernel.h"

#include <inttypes.h>

static ctsc_status assert_failed(op_ctx *cx, const value *args) {
    bool message = cx->op->schema->nargs > 1;
    return diag_fail(cx->diag, CTSC_FAILED, "%s",
                     message ? args[1].u.str->bytes
                             : "Expected Tensor with single nonzero value, but got zero");
}

/* (self[, message]) */
ctsc_status op_assert_async(op_ctx *cx, const value *args, value *results) {
    value truth = value_none();
    (void)results;
    TRY(op_call(cx, "aten::Bool.Tensor", 1, args, &truth));
    return truth.u.b ? CTSC_OK : assert_failed(cx, args);
}

ctsc_status op_assert_scalar(op_ctx *cx, const value *args, value *results) {
    (void)results;
    bool truth = args[0].tag == V_BOOL ? args[0].u.b : arg_float(&args[0]) != 0;
    return truth ? CTSC_OK : assert_failed(cx, args);
}

static ctsc_status constrain(op_ctx *cx, const value *args, int64_t low) {
    int64_t size = arg_int(&args[0]), min = arg_int_or(&args[1], low),
            max = arg_int_or(&args[2], INT64_MAX);
    if (max < min)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "Max must be greater than or equal to min. Got min=%" PRId64 " max=%" PRId64, min, max);
    if (size >= min && size <= max) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "Invalid value range for %" PRId64 " between [%" PRId64 ", %" PRId64 "].",
                     size, min, max);
}

/* (size, min, max) */
ctsc_status op_constrain_range(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return constrain(cx, args, INT64_MIN);
}

ctsc_status op_constrain_size(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return constrain(cx, args, 0);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const tensor *assert_tensor(const value *v) { return v->u.tensor; }

/* (self, name, sizes, least, most): each size is sizes[i], where that is not -1, and
 * within its bounds. */
ctsc_status op_check_input(op_ctx *cx, const value *args, value *results) {
    const tensor *t = assert_tensor(&args[0]);
    const char *name = args[1].u.str->bytes;
    const list *sizes = args[2].u.list, *least = args[3].u.list, *most = args[4].u.list;
    (void)results;
    if ((size_t)t->ndim != sizes->len)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "Unexpected number of dimensions in input at %s.shape (expected %zu, got %d)", name,
            sizes->len, t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        long long size = t->sizes[i], want = sizes->u.ints[i],
                  low = (size_t)i < least->len ? least->u.ints[i] : 0,
                  high = (size_t)i < most->len ? most->u.ints[i] : INT64_MAX;
        const char *sign = want >= 0 && size != want ? "equal to"
                           : size < low              ? ">="
                           : size > high             ? "<="
                                                     : NULL;
        if (!sign) continue;
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Expected input at %s.shape[%d] to be %s %lld, but got %lld", name, i,
                         sign,
                         *sign == 'e'   ? want
                         : *sign == '>' ? low
                                        : high,
                         size);
    }
    return CTSC_OK;
}

static ctsc_status metadata_differs(op_ctx *cx, const char *what, int n, const int64_t *have,
                                    const list *want) {
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "Tensor %s mismatch! Expected: [", what);
    for (size_t i = 0; i < want->len; i++)
        sb_printf(&sb, "%s%lld", i ? ", " : "", (long long)want->u.ints[i]);
    sb_puts(&sb, "], Got: ");
    tensor_print_sizes(n, have, &sb);
    ctsc_status s = diag_fail(cx->diag, CTSC_FAILED, "%s", sb_str(&sb));
    sb_free(&sb);
    return s;
}

static bool metadata_equal(int n, const int64_t *have, const value *want) {
    if (want->tag == V_NONE) return true;
    return want->u.list->len == (size_t)n &&
           !memcmp(have, want->u.list->u.ints, (size_t)n * sizeof *have);
}

/* (a, size, stride, dtype, device, layout) */
ctsc_status op_assert_tensor_metadata(op_ctx *cx, const value *args, value *results) {
    const tensor *t = assert_tensor(&args[0]);
    (void)results;
    if (!metadata_equal(t->ndim, t->sizes, &args[1]))
        return metadata_differs(cx, "sizes", t->ndim, t->sizes, args[1].u.list);
    if (!metadata_equal(t->ndim, t->strides, &args[2]))
        return metadata_differs(cx, "strides", t->ndim, t->strides, args[2].u.list);
    int64_t dt = args[3].tag == V_INT ? args[3].u.i : t->dtype;
    if (dt == t->dtype) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "Tensor dtype mismatch! Expected: %s, Got: %s",
                     dtype_valid(dt) ? dtype_table[dt].ir_name : "another one",
                     dtype_table[t->dtype].ir_name);
}

/* (self, strides): strides of dims of one element do not count */
ctsc_status op_check_strides(op_ctx *cx, const value *args, value *results) {
    const tensor *t = assert_tensor(&args[0]);
    const int64_t *strides;
    int n = arg_ints(&args[1], &strides);
    (void)results;
    bool same = n == t->ndim;
    for (int i = 0; same && i < n; i++)
        same = t->sizes[i] == 1 || t->numel == 0 || t->strides[i] == strides[i];
    if (same) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                     "as_strided: a tensor has other strides than where the program was exported");
}
