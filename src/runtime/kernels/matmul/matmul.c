/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.c - products of tensors: mm, bmm, mv, dot, matmul, linear and the forms that add to a
 * tensor.
 *
 * Method: everything ends in gemm_run or gemm_batch on the operands in place. A batch
 * that broadcasts, or is permuted, becomes a list of offsets instead of a copy; a batch
 * of matrices times a single one becomes one tall matrix. Tests: tests/unit/test_matmul.c
 */
#include "base/memory/recycle.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/matmul/linear_half.h"
#include "runtime/kernels/matmul/packed_weights.h"

/* ---- checks ---------------------------------------------------------------------------------- */

static ctsc_status matmul_check_dtypes(op_ctx *cx, const tensor *a, const tensor *b,
                                       const char *name) {
    if (a->dtype != b->dtype)
        return diag_fail(cx->diag, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    return gemm_supports((dtype)a->dtype) ? CTSC_OK : op_refuse_dtype(cx, name, (dtype)a->dtype);
}

static ctsc_status matmul_mismatch(diag *d, int64_t m, int64_t k1, int64_t k2, int64_t n) {
    return diag_fail(d, CTSC_FAILED,
                     "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                     (long long)m, (long long)k1, (long long)k2, (long long)n);
}

/* Last two dims of t. */
static int64_t matmul_rows(const tensor *t) { return t->sizes[t->ndim - 2]; }
static int64_t matmul_cols(const tensor *t) { return t->sizes[t->ndim - 1]; }

gemm_matrix gemm_of(const tensor *t) {
    return (gemm_matrix){tensor_data(t), t->strides[t->ndim - 2], t->strides[t->ndim - 1],
                         tensor_cuda(t)};
}

/* ---- batches --------------------------------------------------------------------------------- */

void gemm_offsets(const tensor *t, int nb, const int64_t *batch, int64_t count, int64_t *offsets) {
    int64_t index[TENSOR_MAX_DIMS] = {0}, stride[TENSOR_MAX_DIMS] = {0};
    int own = t->ndim - 2;
    for (int i = 0; i < own; i++) stride[nb - own + i] = t->sizes[i] == 1 ? 0 : t->strides[i];
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        offsets[i] = at;
        for (int dim = nb - 1; dim >= 0; dim--) {
            at += stride[dim];
            if (++index[dim] < batch[dim]) break;
            at -= stride[dim] * batch[dim];
            index[dim] = 0;
        }
    }
}

/* Are the rows of all matrices of t evenly spaced, so that they are one tall matrix? */
static bool matmul_is_tall(const tensor *t) {
    int64_t rows = t->sizes[t->ndim - 2], stride = t->strides[t->ndim - 2];
    bool started = rows != 1;
    for (int i = t->ndim - 3; i >= 0; i--) {
        if (t->sizes[i] == 1) continue;
        if (started && t->strides[i] != stride * rows) return false;
        if (!started) stride = t->strides[i];
        started = true;
        rows *= t->sizes[i];
    }
    return true;
}

/* The distance of the rows of a tall matrix. */
static int64_t matmul_tall_stride(const tensor *t) {
    for (int i = t->ndim - 2; i >= 0; i--)
        if (t->sizes[i] != 1) return t->strides[i];
    return t->sizes[t->ndim - 1];
}

static ctsc_status matmul_batch_into(diag *d, const tensor *a, const tensor *b, int nb,
                                     const int64_t *batch, int64_t count, tensor *out) {
    int64_t m = matmul_rows(a), k = matmul_cols(a), n = matmul_cols(b);
    size_t bytes;
    if (out->numel == 0) return CTSC_OK;
    if (tensor_cuda(a))
        return on_device->gemm_batch(d, a, b, nb, batch, gemm_one, gemm_zero, out, NULL);
    if (!size_mul((size_t)count, 2 * sizeof(int64_t), &bytes)) return diag_no_memory(d);
    int64_t *offsets = recycle_alloc(bytes);
    if (!offsets) return diag_no_memory(d);
    gemm_offsets(a, nb, batch, count, offsets);
    gemm_offsets(b, nb, batch, count, offsets + count);
    ctsc_status st = gemm_batch(d, (dtype)a->dtype, count, m, n, k, gemm_one, gemm_of(a), offsets,
                                gemm_of(b), offsets + count, gemm_zero, tensor_data(out));
    recycle_free(offsets, bytes);
    return st;
}

/* One matrix of a constant of 16 bits, which is kept packed; t: [..., rows, columns]. */
static ctsc_status matmul_by_weight(diag *d, tensor *a, const tensor *b, tensor *t, bool *done) {
    tensor *w;
    TRY(tensor_transpose(d, b, 0, 1, &w));
    ctsc_status st = linear_half(d, a, w, NULL, NULL, t, done);
    tensor_unref(w);
    return st;
}

/* The same of each batch. */
static ctsc_status matmul_by_weights(diag *d, const tensor *a, const tensor *b, tensor *t,
                                     bool *done) {
    *done = true;
    for (int64_t i = 0; *done && i < b->sizes[0]; i++) {
        tensor *of[3] = {NULL};
        ctsc_status st = tensor_select(d, a, 0, i, &of[0]);
        if (st == CTSC_OK) st = tensor_select(d, b, 0, i, &of[1]);
        if (st == CTSC_OK) st = tensor_select(d, t, 0, i, &of[2]);
        if (st == CTSC_OK) st = matmul_by_weight(d, of[0], of[1], of[2], done);
        for (int k = 0; k < 3; k++) tensor_unref(of[k]);
        if (st != CTSC_OK) return st;
    }
    return CTSC_OK;
}

/* *done: b is a constant of 16 bits whose matrices are kept packed, and t is the product. */
static ctsc_status matmul_by_halves(diag *d, const tensor *a, const tensor *b, tensor *t,
                                    bool *done) {
    *done = false;
    if (!b->storage->constant || !dtype_is_half((dtype)b->dtype) || a->dtype != b->dtype ||
        tensor_device(a) != DEVICE_HOST || tensor_device(b) != DEVICE_HOST || !t->numel)
        return CTSC_OK;
    if (b->ndim == 2) return matmul_by_weight(d, (tensor *)a, b, t, done);
    bool batches = a->ndim == 3 && b->ndim == 3 && a->sizes[0] == b->sizes[0];
    return batches ? matmul_by_weights(d, a, b, t, done) : CTSC_OK;
}

ctsc_status matmul_batched(diag *d, const tensor *a, const tensor *b, tensor **out) {
    int nb;
    int64_t sizes[TENSOR_MAX_DIMS];
    TRY(broadcast_sizes(d, a->ndim - 2, a->sizes, b->ndim - 2, b->sizes, &nb, sizes));
    if (nb + 2 > TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    int64_t count = 1, b_count = 1;
    for (int i = 0; i < nb; i++) count *= sizes[i];
    for (int i = 0; i < b->ndim - 2; i++) b_count *= b->sizes[i];
    sizes[nb] = matmul_rows(a);
    sizes[nb + 1] = matmul_cols(b);
    tensor *t;
    TRY(tensor_new_on(d, tensor_device(a), (dtype)a->dtype, nb + 2, sizes, &t));
    bool done;
    ctsc_status st = matmul_by_halves(d, a, b, t, &done);
    bool tall_rows = b_count == 1 && matmul_is_tall(a) && t->numel;
    if (st == CTSC_OK && !done && tall_rows) {
        gemm_matrix tall = {tensor_data(a), matmul_tall_stride(a), a->strides[a->ndim - 1],
                            tensor_cuda(a)};
        st = gemm_run(d, (dtype)a->dtype, count * sizes[nb], sizes[nb + 1], matmul_cols(a),
                      gemm_one, tall, gemm_of(b), gemm_zero, tensor_data(t), sizes[nb + 1]);
    } else if (st == CTSC_OK && !done) {
        st = matmul_batch_into(d, a, b, nb, sizes, count, t);
    }
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    *out = t;
    return CTSC_OK;
}

/* ---- matmul ---------------------------------------------------------------------------------- */

static ctsc_status matmul_dot(op_ctx *cx, const tensor *a, const tensor *b, tensor **out) {
    diag *d = cx->diag;
    if (a->ndim != 1 || b->ndim != 1)
        return diag_fail(d, CTSC_FAILED, "1D tensors expected, but got %dD and %dD tensors",
                         a->ndim, b->ndim);
    if (a->dtype != b->dtype)
        return diag_fail(d, CTSC_FAILED,
                         "dot : expected both vectors to have same dtype, but found %s and %s",
                         dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    long long an = a->sizes[0], bn = b->sizes[0];
    if (an != bn)
        return diag_fail(
            d, CTSC_FAILED,
            "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the "
            "same number of elements, but got %lld and %lld elements respectively",
            an, bn, an, bn);
    if (!gemm_supports((dtype)a->dtype)) return op_refuse_dtype(cx, "dot", (dtype)a->dtype);
    tensor *t;
    TRY(tensor_new_on(d, tensor_device(a), (dtype)a->dtype, 0, NULL, &t));
    gemm_matrix row = {tensor_data(a), 0, a->strides[0], tensor_cuda(a)},
                col = {tensor_data(b), b->strides[0], 1};
    ctsc_status st = gemm_run(d, (dtype)a->dtype, 1, 1, an, gemm_one, row, col, gemm_zero,
                              tensor_data(t), 1);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    *out = t;
    return CTSC_OK;
}

/* What PyTorch calls the operands once it has folded the longer one to a matrix; OK if they fit. */
static ctsc_status matmul_check_inner(diag *d, const tensor *a, const tensor *b) {
    int64_t k1 = matmul_cols(a), k2 = b->ndim == 1 ? b->sizes[0] : matmul_rows(b);
    if (a->ndim == 1) k1 = a->sizes[0];
    if (k1 == k2) return CTSC_OK;
    int64_t m = 1, n = 1;
    for (int i = 0; i < a->ndim - 1; i++) m *= a->sizes[i];
    for (int i = 0; i < b->ndim; i++)
        if (i != b->ndim - 2) n *= b->sizes[i];
    if (b->ndim == 1)
        return diag_fail(d, CTSC_FAILED, "size mismatch, got %lld, %lldx%lld,%lld", (long long)m,
                         (long long)m, (long long)k1, (long long)k2);
    if (b->ndim == 2) return matmul_mismatch(d, m, k1, k2, n);
    if (a->ndim == 1)
        return diag_fail(d, CTSC_FAILED, "size mismatch, got %lld, %lldx%lld,%lld", (long long)n,
                         (long long)n, (long long)k2, (long long)k1);
    if (a->ndim == 2) return matmul_mismatch(d, n, k2, k1, m);
    int nb;
    int64_t batch[TENSOR_MAX_DIMS], count = 1;
    TRY(broadcast_sizes(d, a->ndim - 2, a->sizes, b->ndim - 2, b->sizes, &nb, batch));
    for (int i = 0; i < nb; i++) count *= batch[i];
    return diag_fail(
        d, CTSC_FAILED,
        "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but "
        "got: [%lld, %lld].",
        (long long)count, (long long)k1, (long long)count, (long long)k2);
}

ctsc_status matmul_tensors(op_ctx *cx, tensor *a, tensor *b, tensor **out) {
    diag *d = cx->diag;
    if (a->ndim == 0 || b->ndim == 0)
        return diag_fail(
            d, CTSC_FAILED,
            "both arguments to matmul need to be at least 1D, but they are %dD and %dD", a->ndim,
            b->ndim);
    if (a->ndim == 1 && b->ndim == 1) return matmul_dot(cx, a, b, out);
    TRY(matmul_check_inner(d, a, b));
    TRY(matmul_check_dtypes(cx, a, b, a->ndim > 2 && b->ndim > 2 ? "bmm" : "addmm_impl_cpu_"));
    tensor *left = NULL, *right = NULL, *product = NULL;
    ctsc_status st = CTSC_OK;
    if (a->ndim == 1) st = tensor_unsqueeze(d, a, 0, &left);
    else left = tensor_ref(a);
    if (st == CTSC_OK && b->ndim == 1) st = tensor_unsqueeze(d, b, 1, &right);
    else if (st == CTSC_OK) right = tensor_ref(b);
    if (st == CTSC_OK) st = matmul_batched(d, left, right, &product);
    if (st == CTSC_OK && (a->ndim == 1 || b->ndim == 1)) {
        tensor *squeezed;
        st = tensor_squeeze_dim(d, product, a->ndim == 1 ? -2 : -1, &squeezed);
        if (st == CTSC_OK) {
            tensor_unref(product);
            product = squeezed;
        }
    }
    tensor_unref(left);
    tensor_unref(right);
    if (st != CTSC_OK) {
        tensor_unref(product);
        return st;
    }
    *out = product;
    return CTSC_OK;
}

ctsc_status op_matmul(op_ctx *cx, const value *args, value *results) {
    tensor *t;
    TRY(matmul_tensors(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), &t));
    return op_finish(cx, args, t, results);
}

ctsc_status op_mm(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *t;
    if (a->ndim != 2) return diag_fail(cx->diag, CTSC_FAILED, "self must be a matrix");
    if (b->ndim != 2) return diag_fail(cx->diag, CTSC_FAILED, "mat2 must be a matrix");
    TRY(matmul_tensors(cx, a, b, &t));
    return op_finish(cx, args, t, results);
}

ctsc_status op_mv(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *t;
    if (a->ndim != 2 || b->ndim != 1)
        return diag_fail(cx->diag, CTSC_FAILED, "vector + matrix @ vector expected, got 1, %d, %d",
                         a->ndim, b->ndim);
    TRY(matmul_check_inner(cx->diag, a, b));
    TRY(matmul_check_dtypes(cx, a, b, "addmv_impl_cpu"));
    TRY(matmul_tensors(cx, a, b, &t));
    return op_finish(cx, args, t, results);
}

ctsc_status op_dot(op_ctx *cx, const value *args, value *results) {
    tensor *t;
    TRY(matmul_dot(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), &t));
    return op_finish(cx, args, t, results);
}

/* vdot: the conjugate of self with other. */
ctsc_status op_vdot(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *t;
    if (!dtype_is_complex((dtype)a->dtype)) return op_dot(cx, args, results);
    value conjugate = value_none();
    TRY(op_call(cx, "aten::conj_physical", 1, args, &conjugate));
    ctsc_status st = matmul_dot(cx, conjugate.u.tensor, b, &t);
    value_unref(conjugate);
    return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
}

static ctsc_status matmul_check_batches(op_ctx *cx, const tensor *a, const tensor *b) {
    diag *d = cx->diag;
    if (a->ndim != 3) return diag_fail(d, CTSC_FAILED, "batch1 must be a 3D tensor");
    if (b->ndim != 3) return diag_fail(d, CTSC_FAILED, "batch2 must be a 3D tensor");
    if (a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1])
        return diag_fail(
            d, CTSC_FAILED,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] "
            "but got: [%lld, %lld].",
            (long long)a->sizes[0], (long long)a->sizes[2], (long long)b->sizes[0],
            (long long)b->sizes[1]);
    return matmul_check_dtypes(cx, a, b, "bmm");
}

ctsc_status op_bmm(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *t;
    TRY(matmul_check_batches(cx, a, b));
    TRY(matmul_batched(cx->diag, a, b, &t));
    return op_finish(cx, args, t, results);
}

/* All dims of t but the last folded into one. */
static ctsc_status matmul_fold(diag *d, const tensor *t, tensor **out) {
    int64_t sizes[2] = {1, t->sizes[t->ndim - 1]};
    for (int i = 0; i < t->ndim - 1; i++) sizes[0] *= t->sizes[i];
    return tensor_reshape(d, t, 2, sizes, out);
}

/* Contracts the last dims of a and b: rows of a by rows of b. */
static ctsc_status matmul_inner(op_ctx *cx, const tensor *a, const tensor *b, tensor **out) {
    diag *d = cx->diag;
    tensor *fa = NULL, *fb = NULL, *t = NULL;
    int64_t sizes[2 * TENSOR_MAX_DIMS];
    int n = a->ndim + b->ndim - 2;
    if (n > TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    for (int i = 0; i < a->ndim - 1; i++) sizes[i] = a->sizes[i];
    for (int i = 0; i < b->ndim - 1; i++) sizes[a->ndim - 1 + i] = b->sizes[i];
    ctsc_status st = matmul_fold(d, a, &fa);
    if (st == CTSC_OK) st = matmul_fold(d, b, &fb);
    if (st == CTSC_OK) st = tensor_new_on(d, tensor_device(a), (dtype)a->dtype, n, sizes, &t);
    if (st == CTSC_OK) {
        gemm_matrix right = {tensor_data(fb), fb->strides[1], fb->strides[0]};
        st = gemm_run(d, (dtype)a->dtype, fa->sizes[0], fb->sizes[0], fa->sizes[1], gemm_one,
                      gemm_of(fa), right, gemm_zero, tensor_data(t), fb->sizes[0]);
    }
    tensor_unref(fa);
    tensor_unref(fb);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    *out = t;
    return CTSC_OK;
}

ctsc_status op_inner(op_ctx *cx, const value *args, value *results) {
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *t = NULL;
    if (a->ndim == 0 || b->ndim == 0) {
        value product = value_none();
        TRY(op_call(cx, "aten::mul.Tensor", 2, args, &product));
        return op_finish(cx, args, product.u.tensor, results);
    }
    if (a->sizes[a->ndim - 1] != b->sizes[b->ndim - 1]) {
        strbuf sa = STRBUF_INIT, sb = STRBUF_INIT;
        tensor_print_sizes(a->ndim, a->sizes, &sa);
        tensor_print_sizes(b->ndim, b->sizes, &sb);
        diag_fail(
            cx->diag, CTSC_FAILED,
            "inner() the last dimension must match on both input tensors but got shapes %s and %s",
            sb_str(&sa), sb_str(&sb));
        sb_free(&sa);
        sb_free(&sb);
        return CTSC_FAILED;
    }
    TRY(matmul_check_dtypes(cx, a, b, a->ndim == 1 && b->ndim == 1 ? "dot" : "addmm_impl_cpu_"));
    TRY(matmul_inner(cx, a, b, &t));
    return op_finish(cx, args, t, results);
}

/* ---- linear ---------------------------------------------------------------------------------- */

static ctsc_status linear_check(op_ctx *cx, const tensor *input, const tensor *weight,
                                const tensor *bias, int64_t rows) {
    diag *d = cx->diag;
    int64_t k = input->sizes[input->ndim - 1];
    if (k != weight->sizes[1])
        return matmul_mismatch(d, rows, k, weight->sizes[1], weight->sizes[0]);
    if (bias && bias->dtype != weight->dtype)
        return diag_fail(d, CTSC_FAILED, "self and mat2 must have the same dtype");
    if (bias && input->dtype != weight->dtype)
        return diag_fail(d, CTSC_FAILED, "mat1 and mat2 must have the same dtype");
    return matmul_check_dtypes(cx, input, weight, "addmm_impl_cpu_");
}

/* Rows that are all the same. */
typedef struct linear_rows {
    const char *row;
    char *to;
    size_t size; /* of a row */
} linear_rows;

/* Short rows are copied many at a time. */
static void linear_fill_range(void *ctx, int64_t begin, int64_t end) {
    const linear_rows *r = ctx;
    char pattern[LINEAR_PATTERN], *to = r->to + (size_t)begin * r->size;
    const char *from = r->row;
    size_t left = (size_t)(end - begin) * r->size, piece = r->size;
    if (2 * r->size <= sizeof pattern && end - begin > 2) {
        for (piece = 0; piece + r->size <= sizeof pattern; piece += r->size)
            memcpy(pattern + piece, r->row, r->size);
        from = pattern;
    }
    for (; left > piece; left -= piece, to += piece) memcpy(to, from, piece);
    memcpy(to, from, left);
}

/* A bias as it usually is needs no views, whose counts on it would go from thread to thread. */
static bool linear_fill_rows(const tensor *bias, int64_t rows, tensor *out) {
    int64_t n = out->sizes[out->ndim - 1];
    linear_rows r = {.size = (size_t)n * dtype_size((dtype)out->dtype)};
    if (bias->ndim != 1 || bias->sizes[0] != n || bias->strides[0] != 1 ||
        bias->dtype != out->dtype || tensor_device(out) != DEVICE_HOST ||
        tensor_device(bias) != DEVICE_HOST)
        return false;
    if (!out->numel) return true;
    r.row = tensor_data(bias), r.to = tensor_data(out);
    pool_for(rows, (int64_t)(LINEAR_GRAIN / r.size) + 1, linear_fill_range, &r);
    return true;
}

/* Writes the bias, broadcast, to the rows x n elements of out. */
static ctsc_status linear_fill_bias(diag *d, const tensor *bias, int64_t rows, tensor *out) {
    int64_t sizes[2] = {rows, out->sizes[out->ndim - 1]};
    tensor *flat, *wide;
    if (linear_fill_rows(bias, rows, out)) return CTSC_OK;
    TRY(tensor_expand(d, bias, 2, sizes, &wide));
    ctsc_status st = tensor_view(d, out, 2, sizes, &flat);
    if (st == CTSC_OK) {
        st = tensor_copy(d, flat, wide);
        tensor_unref(flat);
    }
    tensor_unref(wide);
    return st;
}

static ctsc_status linear_by_vector(op_ctx *cx, tensor *input, tensor *weight, tensor *bias,
                                    tensor **out) {
    if (bias && input->ndim == 2)
        return diag_fail(cx->diag, CTSC_FAILED, "mat2 must be a matrix, got %d-D tensor",
                         weight->ndim);
    tensor *t;
    TRY(matmul_tensors(cx, input, weight, &t));
    if (bias) {
        value args[3] = {value_tensor_take(t), value_tensor_take(bias), value_int(1)};
        value sum = value_none();
        ctsc_status st = op_call(cx, "aten::add_.Tensor", 3, args, &sum);
        value_unref(sum);
        if (st != CTSC_OK) {
            tensor_unref(t);
            return st;
        }
    }
    *out = t;
    return CTSC_OK;
}

ctsc_status matmul_linear(op_ctx *cx, tensor *input, tensor *weight, tensor *bias, tensor **out) {
    return matmul_linear_with(cx, input, weight, bias, NULL, out);
}

/* The panels of a weight that never changes, where the product is of floats on the host; NULL:
 * there are none, or they do not fit. */
static const gemm_prepacked *linear_panels(const tensor *input, const tensor *weight,
                                           const tensor *bias) {
    if (!weight->storage->constant || input->dtype != DT_FLOAT32 ||
        tensor_device(input) != DEVICE_HOST)
        return NULL;
    if (bias && (bias->ndim != 1 || bias->sizes[0] != weight->sizes[0] ||
                 (bias->strides[0] != 1 && bias->sizes[0] != 1)))
        return NULL;
    return prepack_linear(weight);
}

/* Are all of one 16-bit dtype, on the host? */
static bool linear_is_half(const tensor *input, const tensor *weight, const tensor *bias) {
    return dtype_is_half((dtype)input->dtype) && weight->dtype == input->dtype &&
           (!bias || bias->dtype == input->dtype) && tensor_device(input) == DEVICE_HOST &&
           tensor_device(weight) == DEVICE_HOST;
}

/* What the product does of e, which is done then, after adding the bias. */
static dense_epilogue linear_epilogue(const tensor *bias, epilogue *e, const tensor *result) {
    const void *added = bias ? tensor_data(bias) : NULL;
    if (!epilogue_fits_host(e, result)) return (dense_epilogue){.bias = added};
    e->done = true;
    return epilogue_of(added, e);
}

typedef struct linear_finish {
    dense_epilogue after;
    float *rows;
} linear_finish;

static void linear_finish_range(void *ctx, int64_t begin, int64_t end) {
    const linear_finish *f = ctx;
    epilogue_rows(&f->after, f->rows + begin, begin, end - begin);
}

/* input times the panels, with the sizes of the result. */
static ctsc_status linear_by_panels(diag *d, tensor *input, const gemm_prepacked *panels,
                                    const tensor *bias, epilogue *e, int64_t rows,
                                    const int64_t *sizes, tensor **out) {
    tensor *t, *folded;
    TRY(tensor_new(d, DT_FLOAT32, input->ndim, sizes, &t));
    ctsc_status st = matmul_fold(d, input, &folded);
    if (st == CTSC_OK) {
        dense_epilogue after = linear_epilogue(bias, e, t);
        st = gemm_run_prepacked(d, panels, rows, gemm_of(folded), &after, tensor_data(t),
                                panels->n);
        tensor_unref(folded);
    }
    if (st == CTSC_OK) *out = t;
    else tensor_unref(t);
    return st;
}

ctsc_status matmul_linear_with(op_ctx *cx, tensor *input, tensor *weight, tensor *bias, epilogue *e,
                               tensor **out) {
    diag *d = cx->diag;
    if (weight->ndim > 2)
        return diag_fail(d, CTSC_FAILED,
                         "t() expects a tensor with <= 2 dimensions, but self is %dD",
                         weight->ndim);
    if (weight->ndim < 2 || input->ndim == 0) return linear_by_vector(cx, input, weight, bias, out);
    int64_t sizes[TENSOR_MAX_DIMS], rows = 1, n = weight->sizes[0], k = weight->sizes[1];
    for (int i = 0; i < input->ndim - 1; i++) rows *= sizes[i] = input->sizes[i];
    sizes[input->ndim - 1] = n;
    TRY(linear_check(cx, input, weight, bias, rows));
    const gemm_prepacked *panels = linear_panels(input, weight, bias);
    if (panels) return linear_by_panels(d, input, panels, bias, e, rows, sizes, out);
    tensor *t, *folded = NULL;
    TRY(tensor_new_on(d, tensor_device(input), (dtype)input->dtype, input->ndim, sizes, &t));
    if (linear_is_half(input, weight, bias)) {
        bool done;
        ctsc_status st = linear_half(d, input, weight, bias, e, t, &done);
        if (st == CTSC_OK && done) return *out = t, CTSC_OK;
        if (st != CTSC_OK) return tensor_unref(t), st;
    }
    /* On a device the product adds it, where it can. */
    cuda *there = tensor_cuda(input);
    bool along = bias && there && bias->ndim == 1 && bias->sizes[0] == n && bias->strides[0] == 1;
    ctsc_status st = bias && !along ? linear_fill_bias(d, bias, rows, t) : CTSC_OK;
    if (st == CTSC_OK) st = matmul_fold(d, input, &folded);
    if (st == CTSC_OK) {
        gemm_matrix right = {tensor_data(weight), weight->strides[1], weight->strides[0]};
        gemm_scale beta = bias && !along ? gemm_one : gemm_zero;
        bool with = epilogue_fits(e, t);
        dense_epilogue after = epilogue_of(along ? tensor_data(bias) : NULL, with ? e : NULL);
        if (there)
            st = on_device->gemm(d, there, (dtype)input->dtype, rows, n, k, gemm_one,
                                 gemm_of(folded), right, beta, tensor_data(t), n, &after);
        else
            st = gemm_run(d, (dtype)input->dtype, rows, n, k, gemm_one, gemm_of(folded), right,
                          beta, tensor_data(t), n);
        if (with) e->done = true;
    }
    if (st == CTSC_OK && epilogue_fits_host(e, t)) {
        linear_finish f = {linear_epilogue(NULL, e, t), tensor_data(t)};
        pool_for(t->numel, LINEAR_GRAIN / (int64_t)sizeof(float), linear_finish_range, &f);
    }
    tensor_unref(folded);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    *out = t;
    return CTSC_OK;
}

ctsc_status op_linear(op_ctx *cx, const value *args, value *results) {
    tensor *t;
    TRY(matmul_linear(cx, arg_tensor(&args[0]), arg_tensor(&args[1]), arg_tensor_or_null(&args[2]),
                      &t));
    return op_finish(cx, args, t, results);
}

/* ctsc::linear_prepacked: aten::linear whose weight is a constant by a storage of its own, which
 * matmul_linear packs (packed_weights.h) */
ctsc_status op_linear_prepacked(op_ctx *cx, const value *args, value *results) {
    return op_linear(cx, args, results);
}

/* ctsc::linear_epilogue: (input, weight, bias, other, activation) */
ctsc_status op_linear_epilogue(op_ctx *cx, const value *args, value *results) {
    epilogue e;
    tensor *t;
    TRY(epilogue_read(cx, &args[3], &args[4], &e));
    TRY(matmul_linear_with(cx, arg_tensor(&args[0]), arg_tensor(&args[1]),
                           arg_tensor_or_null(&args[2]), &e, &t));
    return epilogue_finish(cx, &e, t, results);
}
