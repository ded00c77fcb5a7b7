/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_weight_grad.c - the gradients of convolutions' weights.
 *
 * Method. For each output position, a weight is multiplied by the input under its tap:
 * the entry of the unfolded matrix (conv_kernels.c) in the row of its tap. So the
 * gradient of a group's weights is one product, of the gradient of the outputs and the
 * transposed unfolded matrix, summed over all images. Threads share groups and rows of
 * that matrix: each makes the columns of the result for some input channels, image by
 * image, in blocks of output positions. Small images are done together (conv_together.h).
 * Tests: tests/unit/test_conv.c, tests/autograd
 */
#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "base/threads/thread_pool.h"
#include "runtime/kernels/conv/conv_together.h"
#include "runtime/kernels/engine/kernel.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <string.h>

typedef struct wgrad_job {
    const conv_shape *s;
    dtype dt;
    const char *input, *grad; /* grad: [channel][image] where images are done together */
    char *out;
    int64_t images;        /* done together; 0: one by one */
    int64_t chunk, chunks; /* input channels of a chunk; chunks of a group */
    int64_t block;         /* output positions that are unfolded at a time */
    size_t gathered, cols; /* bytes of scratch */
    atomic_int failed;     /* a ctsc_status */
} wgrad_job;

/* Some input channels of a group, and where they go. */
typedef struct wgrad_scratch {
    int64_t group, first, channels;
    char *scratch;
    bool begun; /* the result holds the sum so far */
} wgrad_scratch;

/* The positions of one (perhaps several as one) image: its input channels, its rows of grad. */
static ctsc_status wgrad_image(const wgrad_job *j, diag *d, const conv_shape *s, wgrad_scratch *p,
                               const char *in, const char *grad, int64_t grad_row) {
    int64_t size = (int64_t)dtype_size(j->dt), ci = s->in_channels / s->groups,
            co = s->out_channels / s->groups, rows = p->channels * s->kernel_size;
    char *cols = p->scratch + j->gathered,
         *out = j->out + (p->group * co * ci + p->first) * s->kernel_size * size;
    for (int64_t begin = 0; begin < s->out_size; begin += j->block) {
        int64_t n = int64_min(j->block, s->out_size - begin);
        conv_unfold(s, (size_t)size, in, p->channels, begin, begin + n, cols);
        gemm_matrix a = {grad + begin * size, grad_row, 1}, b = {cols, 1, n};
        TRY(gemm_run(d, j->dt, co, rows, n, gemm_one, a, b, p->begun ? gemm_one : gemm_zero, out,
                     ci * s->kernel_size));
        p->begun = true;
    }
    return CTSC_OK;
}

/* All images one by one, */
static ctsc_status wgrad_apart(const wgrad_job *j, diag *d, wgrad_scratch *p) {
    const conv_shape *s = j->s;
    int64_t size = (int64_t)dtype_size(j->dt), first = p->group * (s->in_channels / s->groups);
    for (int64_t i = 0; i < s->batch; i++)
        TRY(wgrad_image(j, d, s, p,
                        j->input + (i * s->in_channels + first + p->first) * s->in_size * size,
                        j->grad + (i * s->out_channels + p->group * (s->out_channels / s->groups)) *
                                      s->out_size * size,
                        s->out_size));
    return CTSC_OK;
}

/* or some at a time. */
static ctsc_status wgrad_together(const wgrad_job *j, diag *d, wgrad_scratch *p) {
    const conv_shape *s = j->s;
    int64_t size = (int64_t)dtype_size(j->dt), first = p->group * (s->in_channels / s->groups);
    for (int64_t i = 0, n; i < s->batch; i += n) {
        n = int64_min(j->images, s->batch - i);
        conv_shape t = conv_together_shape(s, n);
        for (int64_t k = 0; k < n; k++)
            for (int64_t c = 0; c < p->channels; c++)
                memcpy(p->scratch + (c * n + k) * s->in_size * size,
                       j->input +
                           ((i + k) * s->in_channels + first + p->first + c) * s->in_size * size,
                       (size_t)(s->in_size * size));
        int64_t row = s->batch * s->out_size;
        TRY(wgrad_image(
            j, d, &t, p, p->scratch,
            j->grad + (p->group * (s->out_channels / s->groups) * row + i * s->out_size) * size,
            row));
    }
    return CTSC_OK;
}

static ctsc_status wgrad_items(const wgrad_job *j, diag *d, int64_t begin, int64_t end) {
    const conv_shape *s = j->s;
    int64_t ci = s->in_channels / s->groups;
    wgrad_scratch p = {.scratch = recycle_alloc(j->gathered + j->cols)};
    if (!p.scratch) return diag_no_memory(d);
    ctsc_status st = CTSC_OK;
    for (int64_t i = begin; i < end && st == CTSC_OK; i++) {
        p.group = i / j->chunks;
        p.first = i % j->chunks * j->chunk;
        p.channels = int64_min(j->chunk, ci - p.first);
        p.begun = false;
        st = (j->images ? wgrad_together : wgrad_apart)(j, d, &p);
    }
    recycle_free(p.scratch, j->gathered + j->cols);
    return st;
}

static void wgrad_range(void *ctx, int64_t begin, int64_t end) {
    wgrad_job *j = ctx;
    ctsc_status st = wgrad_items(j, NULL, begin, end);
    if (st != CTSC_OK) atomic_store(&j->failed, (int)st);
}

/* Cuts the work; false: its parts are too large. */
static bool wgrad_cut(wgrad_job *j) {
    const conv_shape *s = j->s;
    int64_t ci = s->in_channels / s->groups, most = CONV_GRAD_ROWS / s->kernel_size;
    j->chunks = conv_parts(ci, most ? most : 1);
    j->chunk = conv_parts(ci, j->chunks);
    j->chunks = conv_parts(ci, j->chunk);
    j->images = conv_together_fits(s) ? conv_together_images(s) : 0;
    int64_t places = s->out_size * (j->images ? j->images : 1), rows, room;
    if (__builtin_mul_overflow(j->chunk, s->kernel_size, &rows)) return false;
    room = CONV_BLOCK / rows;
    j->block = int64_min(places, room < CONV_MIN_COLUMNS ? CONV_MIN_COLUMNS : room);
    size_t size = dtype_size(j->dt);
    return size_mul((size_t)(j->images * s->in_size), (size_t)j->chunk, &j->gathered) &&
           size_mul(j->gathered, size, &j->gathered) &&
           size_mul((size_t)rows, (size_t)j->block, &j->cols) &&
           size_mul(j->cols, size, &j->cols) && j->cols <= SIZE_MAX - j->gathered;
}

ctsc_status conv_weight_grad(diag *d, const conv_shape *s, dtype dt, const void *input,
                             const void *grad, void *out) {
    if (s->in_channels == 0 || s->out_channels == 0 || s->kernel_size == 0) return CTSC_OK;
    wgrad_job j = {.s = s, .dt = dt, .input = input, .grad = grad, .out = out};
    if (s->batch == 0 || s->out_size == 0) {
        memset(out, 0,
               (size_t)(s->out_channels * (s->in_channels / s->groups) * s->kernel_size) *
                   dtype_size(dt));
        return CTSC_OK;
    }
    size_t bytes = 0;
    char *gathered = NULL;
    if (!wgrad_cut(&j)) return diag_no_memory(d);
    if (j.images) {
        bytes = (size_t)(s->batch * s->out_channels * s->out_size) * dtype_size(dt);
        if (!(gathered = recycle_alloc(bytes))) return diag_no_memory(d);
        conv_together_gather(grad, s->batch, s->out_channels, s->out_size, dtype_size(dt),
                             gathered);
        j.grad = gathered;
    }
    bool whole = pool_for_limited(s->groups * j.chunks, 1, wgrad_range, &j);
    recycle_free(gathered, bytes);
    if (!whole) return limits_fail(d);
    int failed = atomic_load(&j.failed);
    if (failed == CTSC_OK) return CTSC_OK;
    return failed == CTSC_LIMIT ? diag_no_memory(d)
                                : diag_fail(d, (ctsc_status)failed, "convolution failed");
}

/* ---- the operator ---------------------------------------------------------------------------- */

/* A list argument, into the last n of CONV_DIMS. */
static ctsc_status wgrad_list(diag *d, const value *v, const char *name, int n, int64_t least,
                              int64_t *out) {
    const int64_t limit = (int64_t)1 << 40; /* keeps the sums of sizes from overflowing */
    const int64_t *data;
    int len = arg_ints(v, &data);
    if (len != n)
        return diag_fail(d, CTSC_FAILED, "expected %s of %d values, but got %d", name, n, len);
    for (int i = 0; i < n; i++) {
        if (data[i] < least || data[i] > limit)
            return diag_fail(d, CTSC_FAILED, "%s out of range: %lld", name, (long long)data[i]);
        out[CONV_DIMS - n + i] = data[i];
    }
    return CTSC_OK;
}

static ctsc_status wgrad_shape(diag *d, const value *args, conv_shape *s) {
    const tensor *moved = arg_tensor(&args[0]), *fixed = arg_tensor(&args[1]);
    int64_t groups = arg_int(&args[6]);
    int n = moved->ndim - 2;
    if (n < 1 || n > CONV_DIMS || fixed->ndim != moved->ndim)
        return diag_fail(d, CTSC_FAILED,
                         "expected two tensors of 3 to 5 dims, but got %d-dimensional and "
                         "%d-dimensional ones",
                         moved->ndim, fixed->ndim);
    if (moved->sizes[0] != fixed->sizes[0])
        return diag_fail(d, CTSC_FAILED, "batches of different sizes: %lld and %lld",
                         (long long)moved->sizes[0], (long long)fixed->sizes[0]);
    if (groups <= 0 || moved->sizes[1] % groups || fixed->sizes[1] % groups)
        return diag_fail(d, CTSC_FAILED, "%lld and %lld channels are no %lld groups",
                         (long long)moved->sizes[1], (long long)fixed->sizes[1], (long long)groups);
    *s = (conv_shape){.batch = moved->sizes[0],
                      .groups = groups,
                      .in_channels = moved->sizes[1],
                      .out_channels = fixed->sizes[1],
                      .in_size = 1,
                      .kernel_size = 1,
                      .out_size = 1};
    for (int i = 0; i < CONV_DIMS; i++)
        s->in[i] = s->kernel[i] = s->out[i] = s->stride[i] = s->dilation[i] = 1;
    TRY(wgrad_list(d, &args[2], "kernel", n, 0, s->kernel));
    TRY(wgrad_list(d, &args[3], "stride", n, 1, s->stride));
    TRY(wgrad_list(d, &args[4], "padding", n, 0, s->pad));
    TRY(wgrad_list(d, &args[5], "dilation", n, 1, s->dilation));
    for (int i = 0; i < n; i++) {
        s->in[CONV_DIMS - n + i] = moved->sizes[2 + i];
        s->out[CONV_DIMS - n + i] = fixed->sizes[2 + i];
    }
    for (int i = 0; i < CONV_DIMS; i++) {
        int64_t reach;
        s->in_size *= s->in[i];
        s->out_size *= s->out[i];
        if (__builtin_mul_overflow(s->kernel_size, s->kernel[i], &s->kernel_size) ||
            __builtin_mul_overflow(s->kernel[i], s->dilation[i], &reach) ||
            reach > (int64_t)1 << 60)
            return diag_fail(d, CTSC_LIMIT, "convolution parameter out of range");
    }
    return CTSC_OK;
}

/* Contiguous and in the dtype to compute in. */
static ctsc_status wgrad_prepare(diag *d, tensor *t, dtype work, tensor **out) {
    if ((dtype)t->dtype != work) return tensor_to_dtype(d, t, work, out);
    return tensor_contiguous(d, t, out);
}

static ctsc_status wgrad_compute(diag *d, const conv_shape *s, tensor *moved, tensor *fixed,
                                 tensor **out) {
    dtype dt = (dtype)moved->dtype, work = dtype_is_half(dt) ? DT_FLOAT32 : dt;
    int n = moved->ndim;
    int64_t sizes[CONV_DIMS + 2] = {s->out_channels, s->in_channels / s->groups};
    for (int i = 2; i < n; i++) sizes[i] = s->kernel[CONV_DIMS - n + i];
    tensor *in = NULL, *grad = NULL, *t = NULL;
    ctsc_status st = wgrad_prepare(d, moved, work, &in);
    if (st == CTSC_OK) st = wgrad_prepare(d, fixed, work, &grad);
    if (st == CTSC_OK) st = tensor_new(d, work, n, sizes, &t);
    if (st == CTSC_OK)
        st = conv_weight_grad(d, s, work, tensor_data(in), tensor_data(grad), tensor_data(t));
    if (st == CTSC_OK && work != dt) st = tensor_to_dtype(d, t, dt, out);
    else if (st == CTSC_OK) *out = tensor_ref(t);
    tensor_unref(in);
    tensor_unref(grad);
    tensor_unref(t);
    return st;
}

/* ctsc::conv_weight_grad(moved, fixed, kernel, stride, padding, dilation, groups): moved is read at
 * tap * dilation + stride * output - padding, fixed at each output. */
ctsc_status op_conv_weight_grad(op_ctx *cx, const value *args, value *results) {
    tensor *moved = arg_tensor(&args[0]), *fixed = arg_tensor(&args[1]), *out;
    conv_shape s;
    TRY(wgrad_shape(cx->diag, args, &s));
    if (moved->dtype != fixed->dtype)
        return diag_fail(cx->diag, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[moved->dtype].ir_name, dtype_table[fixed->dtype].ir_name);
    if (!gemm_supports((dtype)moved->dtype) || dtype_is_complex((dtype)moved->dtype))
        return op_refuse_dtype(cx, "slow_conv2d_cpu", (dtype)moved->dtype);
    TRY(wgrad_compute(cx->diag, &s, moved, fixed, &out));
    return op_return_tensor(results, out);
}
