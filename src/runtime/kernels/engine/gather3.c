/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather3.c - elements picked by an index per dim (wide.h).
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/wide.h"

#include <string.h>

typedef struct gather3_job {
    const char *src;
    char *dst;
    const int64_t *in, *out;
    int64_t *const *at;
    int64_t run_begin, run_len; /* the longest run of a row that is copied unchanged */
    size_t item;
} gather3_job;

static void gather3_row(const gather3_job *j, const char *src, char *dst, int64_t begin,
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

static void gather3_range(void *ctx, int64_t begin, int64_t end) {
    const gather3_job *j = ctx;
    const int64_t *in = j->in, *out = j->out;
    for (int64_t row = begin; row < end; row++) {
        int64_t h = row % out[1], d = row / out[1] % out[0], plane = row / out[1] / out[0];
        int64_t from = ((plane * in[0] + j->at[0][d]) * in[1] + j->at[1][h]) * in[2];
        const char *src = j->src + (size_t)from * j->item;
        char *dst = j->dst + (size_t)(row * out[2]) * j->item;
        gather3_row(j, src, dst, 0, j->run_begin);
        if (j->run_len)
            memcpy(dst + (size_t)j->run_begin * j->item,
                   src + (size_t)j->at[2][j->run_begin] * j->item, (size_t)j->run_len * j->item);
        gather3_row(j, src, dst, j->run_begin + j->run_len, out[2]);
    }
}

ctsc_status gather3(diag *d, const tensor *src, tensor *dst, int64_t planes, const int64_t in[3],
                    const int64_t out[3], int64_t *const at[3]) {
    if (dst->numel == 0) return CTSC_OK;
    if (tensor_cuda(dst)) return on_device->gather3(d, src, dst, planes, in, out, at);
    gather3_job j = {.src = tensor_data(src),
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
    return pool_for_limited(planes * out[0] * out[1], kernel_grain(out[2]), gather3_range, &j)
               ? CTSC_OK
               : limits_fail(d);
}
