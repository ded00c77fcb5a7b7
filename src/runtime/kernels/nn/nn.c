/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nn.c - what the kernels of neural-network layers share: widening and rounding, several results,
 * gathers, sums.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/nn/nn.h"

#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/reduce/reduce_vec.h"

#include <stdio.h>
#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------- */

ctsc_status nn_as(op_ctx *cx, tensor *t, dtype dt, tensor **out) {
    return t->dtype == dt ? tensor_contiguous(cx->diag, t, out)
                          : tensor_to_dtype(cx->diag, t, dt, out);
}

ctsc_status nn_input(op_ctx *cx, const char *name, tensor *t, tensor **out) {
    if (!dtype_is_float((dtype)t->dtype)) return op_refuse_dtype(cx, name, (dtype)t->dtype);
    return nn_as(cx, t,
                 tensor_device(t) == DEVICE_HOST ? nn_compute((dtype)t->dtype) : (dtype)t->dtype,
                 out);
}

ctsc_status nn_as_optional(op_ctx *cx, const value *v, dtype dt, tensor **out) {
    tensor *t = arg_tensor_or_null(v);
    if (t) return nn_as(cx, t, dt, out);
    *out = NULL;
    return CTSC_OK;
}

ctsc_status nn_indices(op_ctx *cx, tensor *t, tensor **out) { return nn_as(cx, t, DT_INT64, out); }

bool nn_ints(const value *v, int n, int64_t *out) {
    const int64_t *data;
    int len = arg_ints(v, &data);
    if (len != n && len != 1) return false;
    for (int i = 0; i < n; i++) out[i] = data[len == 1 ? 0 : i];
    return true;
}

const char *nn_sizes(int ndim, const int64_t *sizes, nn_text *text) {
    size_t used = 0, room = sizeof text->s;
    text->s[used++] = '[';
    for (int i = 0; i < ndim && used + 24 < room; i++)
        used += (size_t)snprintf(text->s + used, room - used, i ? ", %lld" : "%lld",
                                 (long long)sizes[i]);
    memcpy(text->s + used, "]", 2);
    return text->s;
}

/* ---- results --------------------------------------------------------------------------------- */

ctsc_status nn_round(op_ctx *cx, tensor **t, dtype dt) {
    if ((*t)->dtype == dt) return CTSC_OK;
    tensor *rounded = NULL;
    ctsc_status st = tensor_to_dtype(cx->diag, *t, dt, &rounded);
    tensor_unref(*t);
    *t = st == CTSC_OK ? rounded : NULL;
    return st;
}

ctsc_status nn_finish(op_ctx *cx, const value *args, tensor *computed, dtype dt, value *results) {
    TRY(nn_round(cx, &computed, dt));
    return op_finish(cx, args, computed, results);
}

ctsc_status nn_finish_all(op_ctx *cx, const value *args, int n, tensor *const *computed,
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

/* ---- gathers --------------------------------------------------------------------------------- */

typedef struct nn_gather_job {
    const char *src;
    char *dst;
    const int64_t *in, *out;
    int64_t *const *at;
    int64_t run_begin, run_len; /* the longest stretch of a row that is copied as it is */
    size_t item;
} nn_gather_job;

static void nn_gather_row(const nn_gather_job *j, const char *src, char *dst, int64_t begin,
                          int64_t end) {
    const int64_t *at = j->at[2];
    DISPATCH_BITS(j->item == 1   ? DT_UINT8
                  : j->item == 2 ? DT_INT16
                  : j->item == 4 ? DT_INT32
                  : j->item == 8 ? DT_INT64
                                 : DT_COMPLEX128,
                  {
                      const T *p = (const T *)src;
                      T *q = (T *)dst;
                      for (int64_t i = begin; i < end; i++) q[i] = p[at[i]];
                  })
}

static void nn_gather_range(void *ctx, int64_t begin, int64_t end) {
    const nn_gather_job *j = ctx;
    const int64_t *in = j->in, *out = j->out;
    for (int64_t row = begin; row < end; row++) {
        int64_t h = row % out[1], d = row / out[1] % out[0], plane = row / out[1] / out[0];
        int64_t from = ((plane * in[0] + j->at[0][d]) * in[1] + j->at[1][h]) * in[2];
        const char *src = j->src + (size_t)from * j->item;
        char *dst = j->dst + (size_t)(row * out[2]) * j->item;
        nn_gather_row(j, src, dst, 0, j->run_begin);
        if (j->run_len)
            memcpy(dst + (size_t)j->run_begin * j->item,
                   src + (size_t)j->at[2][j->run_begin] * j->item, (size_t)j->run_len * j->item);
        nn_gather_row(j, src, dst, j->run_begin + j->run_len, out[2]);
    }
}

ctsc_status nn_gather3(diag *d, const tensor *src, tensor *dst, int64_t planes, const int64_t in[3],
                       const int64_t out[3], int64_t *const at[3]) {
    if (dst->numel == 0) return CTSC_OK;
    if (tensor_cuda(dst)) return on_device->gather3(d, src, dst, planes, in, out, at);
    nn_gather_job j = {.src = tensor_data(src),
                       .dst = tensor_data(dst),
                       .in = in,
                       .out = out,
                       .at = at,
                       .item = dtype_size((dtype)src->dtype)};
    for (int64_t b = 0, e; b < out[2]; b = e) {
        for (e = b + 1; e < out[2] && at[2][e] == at[2][e - 1] + 1;) e++;
        if (e - b > j.run_len) j.run_begin = b, j.run_len = e - b;
    }
    if (j.run_len < 8) j.run_len = 0, j.run_begin = 0;
    return pool_for_limited(planes * out[0] * out[1], nn_grain(out[2]), nn_gather_range, &j)
               ? CTSC_OK
               : limits_fail(d);
}

/* ---- sums ------------------------------------------------------------------------------------ */

enum { NN_LANES = 16, NN_BLOCK = 2048 };

#define T float
#define NAME nn_square_sum_f32
#include "runtime/kernels/nn/nn_square_sum.h"

#define T double
#define NAME nn_square_sum_f64
#include "runtime/kernels/nn/nn_square_sum.h"

double nn_sum_f32(const float *p, int64_t n) { return reduce_total_f32(p, n); }
double nn_sum_f64(const double *p, int64_t n) { return reduce_total_f64(p, n); }
