/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channels_last.c - conversions between the layouts of images (engine/channels_last.h).
 * Tests: tests/unit/test_channels_last.c
 */
#include "runtime/kernels/engine/channels_last.h"

#include "runtime/kernels/engine/kernel.h"
#include "runtime/kernels/engine/move.h"

/* The dim `from` goes to the place `to`; those between move by one. */
static ctsc_status channels_move(diag *d, const tensor *t, int from, int to, tensor **out) {
    int64_t dims[TENSOR_MAX_DIMS];
    int step = from < to ? 1 : -1;
    for (int i = 0; i < t->ndim; i++) dims[i] = i;
    for (int i = from; i != to; i += step) dims[i] = i + step;
    dims[to] = from;
    return tensor_permute(d, t, t->ndim, dims, out);
}

ctsc_status channels_last_view(diag *d, const tensor *t, int spatial, tensor **out) {
    if (t->ndim <= spatial) return tensor_alias(d, t, out);
    return channels_move(d, t, t->ndim - 1 - spatial, t->ndim - 1, out);
}

ctsc_status channels_first_view(diag *d, const tensor *t, int spatial, tensor **out) {
    if (t->ndim <= spatial) return tensor_alias(d, t, out);
    return channels_move(d, t, t->ndim - 1, t->ndim - 1 - spatial, out);
}

typedef ctsc_status channels_view(diag *d, const tensor *t, int spatial, tensor **out);

/* A copy, also where the elements lie as wanted: what is written to one is not seen in the other. */
static ctsc_status channels_convert(op_ctx *cx, channels_view *view, const value *args, value *results) {
    tensor *seen, *t;
    int64_t spatial = arg_int(&args[1]);
    if (spatial < 1 || spatial > 3) return diag_fail(cx->diag, CTSC_FAILED, "%s: %lld spatial dimensions", cx->op->key, (long long)spatial);
    TRY(view(cx->diag, arg_tensor(&args[0]), (int)spatial, &seen));
    ctsc_status st = tensor_clone(cx->diag, seen, &t);
    tensor_unref(seen);
    return st == CTSC_OK ? op_return_tensor(results, t) : st;
}

ctsc_status op_to_channels_last(op_ctx *cx, const value *args, value *results) {
    return channels_convert(cx, channels_last_view, args, results);
}

ctsc_status op_to_channels_first(op_ctx *cx, const value *args, value *results) {
    return channels_convert(cx, channels_first_view, args, results);
}

/* ---- what is asked of images whose channels come last, in the order of those where they do not ---- */

/* Dim `dim` of the image that self is a turned one of: where it is in self. One that there is not stays as it is, for the operator that gets it to report. */
ctsc_status op_channels_last_dim(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    int64_t ndim = arg_tensor(&args[0])->ndim, dim = arg_int(&args[1]), spatial = arg_int(&args[2]), first = ndim - 1 - spatial;
    int64_t at = dim < 0 ? dim + ndim : dim;
    if (first < 0 || at < first || at >= ndim) return op_return(results, value_int(dim));
    return op_return(results, value_int(at == first ? ndim - 1 : at - 1));
}

ctsc_status op_channels_last_sizes(op_ctx *cx, const value *args, value *results) {
    tensor *seen;
    TRY(channels_first_view(cx->diag, arg_tensor(&args[0]), (int)arg_int(&args[1]), &seen));
    ctsc_status st = move_return_ints(cx, seen->ndim, seen->sizes, results);
    tensor_unref(seen);
    return st;
}
