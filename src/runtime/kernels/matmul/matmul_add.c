/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul_add.c - products added to a tensor: addmm, addmv, addr, addbmm, baddbmm; and outer
 * products.
 *
 * Each makes a new tensor that holds `self` broadcast to the result's shape, and lets BLAS scale it
 * and add the product. The in-place and out= forms copy that result. Tests:
 * tests/unit/test_matmul.c
 */
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/matmul/gemm.h"

/* A new tensor of the given shape holding self, broadcast and converted; only the shape is checked
 * if beta is 0, because then nothing of self shows. */
static ctsc_status matmul_start(diag *d, const tensor *self, dtype dt, int ndim,
                                const int64_t *sizes, gemm_scale beta, tensor **out) {
    tensor *wide, *t;
    TRY(tensor_expand(d, self, ndim, sizes, &wide));
    ctsc_status st = tensor_new_on(d, tensor_device(self), dt, ndim, sizes, &t);
    if (st == CTSC_OK && !gemm_scale_is_zero(beta)) {
        st = tensor_copy(d, t, wide);
        if (st != CTSC_OK) tensor_unref(t);
    }
    tensor_unref(wide);
    if (st == CTSC_OK) *out = t;
    return st;
}

/* Ends an operator whose product was computed into t with status st. */
static ctsc_status matmul_end(op_ctx *cx, ctsc_status st, const value *args, tensor *t,
                              value *results) {
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    return op_finish(cx, args, t, results);
}

static ctsc_status matmul_refuse_unless_supported(op_ctx *cx, const tensor *t, const char *name) {
    return gemm_supports((dtype)t->dtype) ? CTSC_OK : op_refuse_dtype(cx, name, (dtype)t->dtype);
}

/* beta and alpha (args[3], args[4]) of a product of dtype dt: complex only if it is. */
static ctsc_status matmul_check_scales(op_ctx *cx, const value *args, dtype dt) {
    if (dtype_is_complex(dt)) return CTSC_OK;
    for (int i = 3; i <= 4; i++)
        if (args[i].tag == V_COMPLEX && args[i].u.complex->im != 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "value cannot be converted to type %s without overflow",
                             dt == DT_FLOAT64     ? "double"
                             : dtype_is_float(dt) ? "float"
                                                  : "int64_t");
    return CTSC_OK;
}

/* An in-place form must not broadcast self. */
static ctsc_status matmul_check_inplace(op_ctx *cx, const value *args, int ndim,
                                        const int64_t *sizes) {
    int index;
    tensor *self = op_target(cx, args, &index);
    bool same = !self || index != 0 || self->ndim == ndim;
    for (int i = 0; same && self && index == 0 && i < ndim; i++) same = self->sizes[i] == sizes[i];
    if (same) return CTSC_OK;
    strbuf have = STRBUF_INIT, want = STRBUF_INIT;
    tensor_print_sizes(self->ndim, self->sizes, &have);
    tensor_print_sizes(ndim, sizes, &want);
    diag_fail(cx->diag, CTSC_FAILED,
              "Bad in-place call: input tensor size %s and output tensor size %s should match",
              sb_str(&have), sb_str(&want));
    sb_free(&have);
    sb_free(&want);
    return CTSC_FAILED;
}

static ctsc_status addmm_compute(op_ctx *cx, const value *args, tensor **out) {
    diag *d = cx->diag;
    tensor *self = arg_tensor(&args[0]), *a = arg_tensor(&args[1]), *b = arg_tensor(&args[2]), *t;
    gemm_scale beta = gemm_scale_of(&args[3]), alpha = gemm_scale_of(&args[4]);
    if (a->ndim != 2)
        return diag_fail(d, CTSC_FAILED, "mat1 must be a matrix, got %d-D tensor", a->ndim);
    if (b->ndim != 2)
        return diag_fail(d, CTSC_FAILED, "mat2 must be a matrix, got %d-D tensor", b->ndim);
    int64_t m = a->sizes[0], k = a->sizes[1], n = b->sizes[1], sizes[2] = {m, n};
    if (k != b->sizes[0])
        return diag_fail(d, CTSC_FAILED,
                         "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                         (long long)m, (long long)k, (long long)b->sizes[0], (long long)n);
    if (self->dtype != b->dtype)
        return diag_fail(d, CTSC_FAILED, "self and mat2 must have the same dtype");
    if (a->dtype != b->dtype)
        return diag_fail(d, CTSC_FAILED, "mat1 and mat2 must have the same dtype");
    TRY(matmul_refuse_unless_supported(cx, a, "addmm_impl_cpu_"));
    TRY(matmul_check_scales(cx, args, (dtype)a->dtype));
    TRY(matmul_check_inplace(cx, args, 2, sizes));
    TRY(matmul_start(d, self, (dtype)a->dtype, 2, sizes, beta, &t));
    ctsc_status st = gemm_run(d, (dtype)a->dtype, m, n, k, alpha, gemm_of(a), gemm_of(b), beta,
                              tensor_data(t), n);
    if (st != CTSC_OK) {
        tensor_unref(t);
        return st;
    }
    *out = t;
    return CTSC_OK;
}

ctsc_status op_addmm(op_ctx *cx, const value *args, value *results) {
    tensor *t;
    TRY(addmm_compute(cx, args, &t));
    return op_finish(cx, args, t, results);
}

/* args[5]: gelu in place of relu */
ctsc_status op_addmm_activation(op_ctx *cx, const value *args, value *results) {
    tensor *t;
    TRY(addmm_compute(cx, args, &t));
    value sum = value_tensor_take(t), act = value_none();
    ctsc_status st = op_call(cx, arg_bool(&args[5]) ? "aten::gelu" : "aten::relu", 1, &sum, &act);
    value_unref(sum);
    if (st != CTSC_OK) return st;
    return op_finish(cx, args, act.u.tensor, results);
}

ctsc_status op_addmv(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *self = arg_tensor(&args[0]), *a = arg_tensor(&args[1]), *v = arg_tensor(&args[2]), *t;
    gemm_scale beta = gemm_scale_of(&args[3]), alpha = gemm_scale_of(&args[4]);
    if (a->ndim != 2 || v->ndim != 1 || self->ndim > 1)
        return diag_fail(d, CTSC_FAILED, "vector + matrix @ vector expected, got %d, %d, %d",
                         self->ndim, a->ndim, v->ndim);
    int64_t m = a->sizes[0], k = a->sizes[1];
    if (k != v->sizes[0] || (self->numel != m && self->numel != 1))
        return diag_fail(d, CTSC_FAILED, "size mismatch, got %lld, %lldx%lld,%lld",
                         (long long)self->numel, (long long)m, (long long)k,
                         (long long)v->sizes[0]);
    if (a->dtype != v->dtype)
        return diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[a->dtype].ir_name, dtype_table[v->dtype].ir_name);
    TRY(matmul_refuse_unless_supported(cx, a, "addmv_impl_cpu"));
    TRY(matmul_check_scales(cx, args, (dtype)a->dtype));
    TRY(matmul_check_inplace(cx, args, 1, &m));
    TRY(matmul_start(d, self, (dtype)a->dtype, 1, &m, beta, &t));
    gemm_matrix col = {tensor_data(v), v->strides[0], 1};
    ctsc_status st = gemm_run(d, (dtype)a->dtype, m, 1, k, alpha, gemm_of(a), col, beta,
                              tensor_data(t), 1);
    return matmul_end(cx, st, args, t, results);
}

static ctsc_status addr_check(op_ctx *cx, const value *args, dtype dt) {
    diag *d = cx->diag;
    for (int i = 1; i <= 2; i++)
        if (arg_tensor(&args[i])->ndim != 1)
            return diag_fail(d, CTSC_FAILED, "addr: Expected 1-D argument vec%d, but got %d-D", i,
                             arg_tensor(&args[i])->ndim);
    for (int i = 3; i <= 4; i++)
        if (!dtype_is_complex(dt) && args[i].tag == V_COMPLEX)
            return diag_fail(
                d, CTSC_FAILED,
                "For non-complex input tensors, argument %s must not be a complex number.",
                i == 3 ? "beta" : "alpha");
    for (int i = 3; i <= 4; i++)
        if (dtype_is_integral(dt) && args[i].tag == V_FLOAT)
            return diag_fail(d, CTSC_FAILED,
                             "For integral input tensors, argument %s must not be a floating point "
                             "number.",
                             i == 3 ? "beta" : "alpha");
    return CTSC_OK;
}

static ctsc_status addr_scale(op_ctx *cx, tensor **t, const value *factor) {
    value r = value_none();
    TRY(op_call(cx, "aten::mul.Scalar", 2,
                (const value[]){{.tag = V_TENSOR, .u.tensor = *t}, *factor}, &r));
    tensor_unref(*t);
    *t = r.u.tensor;
    return CTSC_OK;
}

ctsc_status op_addr(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    gemm_scale beta = gemm_scale_of(&args[3]), alpha = gemm_scale_of(&args[4]);
    dtype dt = promote_operands(3, args);
    TRY(addr_check(cx, args, dt));
    /* Bool is "or" of "and"s: counted in int64, where it is what differs from zero. */
    dtype work = dt == DT_BOOL ? DT_INT64 : dt;
    if (!gemm_supports(work)) return op_refuse_dtype(cx, "addr", dt);
    tensor *v1 = NULL, *v2 = NULL, *t = NULL;
    ctsc_status st = tensor_to_dtype(d, arg_tensor(&args[1]), work, &v1);
    if (st == CTSC_OK) st = tensor_to_dtype(d, arg_tensor(&args[2]), work, &v2);
    /* zero times NaN shows, which products leave out */
    if (st == CTSC_OK && gemm_scale_is_zero(alpha)) {
        st = addr_scale(cx, &v1, &args[4]);
        alpha = gemm_one;
    }
    if (st == CTSC_OK) {
        int64_t sizes[2] = {v1->sizes[0], v2->sizes[0]};
        st = matmul_start(d, arg_tensor(&args[0]), work, 2, sizes, beta, &t);
    }
    if (st == CTSC_OK) {
        gemm_matrix col = {tensor_data(v1), v1->strides[0], 1, tensor_cuda(v1)};
        gemm_matrix row = {tensor_data(v2), 1, v2->strides[0]};
        st = gemm_run(d, work, v1->sizes[0], v2->sizes[0], 1, alpha, col, row, beta, tensor_data(t),
                      v2->sizes[0]);
    }
    if (st == CTSC_OK && work != dt) {
        tensor *as_bool;
        st = tensor_to_dtype(d, t, dt, &as_bool);
        if (st == CTSC_OK) {
            tensor_unref(t);
            t = as_bool;
        }
    }
    tensor_unref(v1);
    tensor_unref(v2);
    return matmul_end(cx, st, args, t, results);
}

/* Serves ger as well. */
ctsc_status op_outer(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *col, *row;
    if (a->ndim != 1)
        return diag_fail(d, CTSC_FAILED, "outer: Expected 1-D argument self, but got %d-D",
                         a->ndim);
    if (b->ndim != 1)
        return diag_fail(d, CTSC_FAILED, "outer: Expected 1-D argument vec2, but got %d-D",
                         b->ndim);
    TRY(tensor_unsqueeze(d, a, 1, &col));
    ctsc_status st = tensor_unsqueeze(d, b, 0, &row);
    value product = value_none();
    if (st == CTSC_OK) {
        value factors[2] = {value_tensor_take(col), value_tensor_take(row)};
        st = op_call(cx, "aten::mul.Tensor", 2, factors, &product);
        tensor_unref(row);
    }
    tensor_unref(col);
    if (st != CTSC_OK) return st;
    return op_finish(cx, args, product.u.tensor, results);
}

/* ---- batches --------------------------------------------------------------------------------- */

static ctsc_status addbmm_check_dims(diag *d, const tensor *a, const tensor *b) {
    if (a->ndim != 3) return diag_fail(d, CTSC_FAILED, "batch1 must be a 3D tensor");
    if (b->ndim != 3) return diag_fail(d, CTSC_FAILED, "batch2 must be a 3D tensor");
    return CTSC_OK;
}

static ctsc_status addbmm_check_dtypes(op_ctx *cx, const tensor *a, const tensor *b) {
    if (a->dtype != b->dtype)
        return diag_fail(cx->diag, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    return matmul_refuse_unless_supported(cx, a, "bmm");
}

ctsc_status op_baddbmm(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *self = arg_tensor(&args[0]), *a = arg_tensor(&args[1]), *b = arg_tensor(&args[2]), *t;
    gemm_scale beta = gemm_scale_of(&args[3]), alpha = gemm_scale_of(&args[4]);
    TRY(addbmm_check_dims(d, a, b));
    int64_t n = a->sizes[0], sizes[3] = {n, a->sizes[1], b->sizes[2]};
    TRY(addbmm_check_dtypes(cx, a, b));
    TRY(matmul_check_scales(cx, args, (dtype)a->dtype));
    TRY(matmul_check_inplace(cx, args, 3, sizes));
    TRY(matmul_start(d, self, (dtype)a->dtype, 3, sizes, beta, &t));
    ctsc_status st = CTSC_OK;
    if (b->sizes[0] != n || b->sizes[1] != a->sizes[2])
        st = diag_fail(
            d, CTSC_FAILED,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] "
            "but got: [%lld, %lld].",
            (long long)n, (long long)a->sizes[2], (long long)b->sizes[0], (long long)b->sizes[1]);
    if (st == CTSC_OK && tensor_cuda(a)) {
        st = on_device->gemm_batch(d, a, b, 1, &n, alpha, beta, t, NULL);
        return matmul_end(cx, st, args, t, results);
    }
    int64_t *offsets = st == CTSC_OK ? mem_alloc((size_t)n * 2 * sizeof *offsets) : NULL;
    if (st == CTSC_OK && !offsets) st = diag_no_memory(d);
    if (st == CTSC_OK) {
        for (int64_t i = 0; i < n; i++) {
            offsets[i] = i * a->strides[0];
            offsets[n + i] = i * b->strides[0];
        }
        st = gemm_batch(d, (dtype)a->dtype, n, sizes[1], sizes[2], a->sizes[2], alpha, gemm_of(a),
                        offsets, gemm_of(b), offsets + n, beta, tensor_data(t));
    }
    mem_free(offsets);
    return matmul_end(cx, st, args, t, results);
}

ctsc_status op_addbmm(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *self = arg_tensor(&args[0]), *a = arg_tensor(&args[1]), *b = arg_tensor(&args[2]), *t;
    gemm_scale beta = gemm_scale_of(&args[3]), alpha = gemm_scale_of(&args[4]);
    TRY(addbmm_check_dims(d, a, b));
    int64_t m = a->sizes[1], n = b->sizes[2], sizes[2] = {m, n};
    if (a->sizes[0] != b->sizes[0])
        return diag_fail(d, CTSC_FAILED,
                         "batch1 and batch2 must have same number of batches, got %lld and %lld",
                         (long long)a->sizes[0], (long long)b->sizes[0]);
    if (a->sizes[2] != b->sizes[1])
        return diag_fail(
            d, CTSC_FAILED, "Incompatible matrix sizes for bmm (%lldx%lld and %lldx%lld)",
            (long long)m, (long long)a->sizes[2], (long long)b->sizes[1], (long long)n);
    TRY(addbmm_check_dtypes(cx, a, b));
    TRY(matmul_check_scales(cx, args, (dtype)a->dtype));
    TRY(matmul_start(d, self, (dtype)a->dtype, 2, sizes, beta, &t));
    gemm_matrix ma = gemm_of(a), mb = gemm_of(b);
    int64_t size = (int64_t)dtype_size((dtype)a->dtype);
    ctsc_status st = CTSC_OK;
    /* An empty batch still scales self. */
    if (a->sizes[0] == 0)
        st = gemm_run(d, (dtype)a->dtype, m, n, 0, alpha, ma, mb, beta, tensor_data(t), n);
    for (int64_t i = 0; st == CTSC_OK && i < a->sizes[0]; i++) {
        st = gemm_run(d, (dtype)a->dtype, m, n, a->sizes[2], alpha, ma, mb, i ? gemm_one : beta,
                      tensor_data(t), n);
        ma.p = (const char *)ma.p + a->strides[0] * size;
        mb.p = (const char *)mb.p + b->strides[0] * size;
    }
    int index;
    tensor *target = op_target(cx, args, &index);
    /* addbmm_ grows what it writes to */
    if (st == CTSC_OK && target && index == 0 && target->numel != t->numel)
        st = tensor_resize(d, target, 2, sizes);
    return matmul_end(cx, st, args, t, results);
}
