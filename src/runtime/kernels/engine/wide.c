/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.c - widening and rounding, several results, texts of sizes (wide.h).
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/engine/wide.h"

#include <stdio.h>
#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------- */

ctsc_status wide_as(op_ctx *cx, tensor *t, dtype dt, tensor **out) {
    return t->dtype == dt ? tensor_contiguous(cx->diag, t, out)
                          : tensor_to_dtype(cx->diag, t, dt, out);
}

ctsc_status wide_input(op_ctx *cx, const char *name, tensor *t, tensor **out) {
    if (!dtype_is_float((dtype)t->dtype)) return op_refuse_dtype(cx, name, (dtype)t->dtype);
    return wide_as(cx, t,
                   tensor_device(t) == DEVICE_HOST ? wide_dtype((dtype)t->dtype) : (dtype)t->dtype,
                   out);
}

ctsc_status wide_as_optional(op_ctx *cx, const value *v, dtype dt, tensor **out) {
    tensor *t = arg_tensor_or_null(v);
    if (t) return wide_as(cx, t, dt, out);
    *out = NULL;
    return CTSC_OK;
}

ctsc_status wide_indices(op_ctx *cx, tensor *t, tensor **out) {
    return wide_as(cx, t, DT_INT64, out);
}

bool arg_ints_or_one(const value *v, int n, int64_t *out) {
    const int64_t *data;
    int len = arg_ints(v, &data);
    if (len != n && len != 1) return false;
    for (int i = 0; i < n; i++) out[i] = data[len == 1 ? 0 : i];
    return true;
}

const char *sizes_print(int ndim, const int64_t *sizes, sizes_text *text) {
    size_t used = 0, room = sizeof text->s;
    text->s[used++] = '[';
    for (int i = 0; i < ndim && used + 24 < room; i++)
        used += (size_t)snprintf(text->s + used, room - used, i ? ", %lld" : "%lld",
                                 (long long)sizes[i]);
    memcpy(text->s + used, "]", 2);
    return text->s;
}

/* ---- results --------------------------------------------------------------------------------- */

ctsc_status wide_round(op_ctx *cx, tensor **t, dtype dt) {
    if ((*t)->dtype == dt) return CTSC_OK;
    tensor *rounded = NULL;
    ctsc_status st = tensor_to_dtype(cx->diag, *t, dt, &rounded);
    tensor_unref(*t);
    *t = st == CTSC_OK ? rounded : NULL;
    return st;
}

ctsc_status wide_finish(op_ctx *cx, const value *args, tensor *computed, dtype dt, value *results) {
    TRY(wide_round(cx, &computed, dt));
    return op_finish(cx, args, computed, results);
}

ctsc_status op_finish_all(op_ctx *cx, const value *args, int n, tensor *const *computed,
                          value *results) {
    const schema *s = cx->op ? cx->op->schema : NULL;
    ctsc_status st = CTSC_OK;
    int arg = 0, done = 0;
    for (; done < n && st == CTSC_OK; done++) {
        if (s && s->has_alias_write) {
            while (arg < s->nargs && !(s->args[arg].alias && s->args[arg].alias->write)) arg++;
        }
        if (s && s->has_alias_write && arg < s->nargs && args[arg].tag == V_TENSOR)
            st = op_finish_out(cx, &args[arg++], computed[done], &results[done]);
        else st = op_return_tensor(&results[done], computed[done]);
    }
    if (st == CTSC_OK) return CTSC_OK;
    for (int i = done; i < n; i++) tensor_unref(computed[i]);
    for (int i = 0; i < done - 1; i++) value_set(&results[i], value_none());
    return st;
}
