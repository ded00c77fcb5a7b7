/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg_power.c - powers and the exponential of matrices, Vandermonde matrices, tensorinv and
 * tensorsolve. Tests: tests/unit/test_linalg.c
 */
#include "runtime/kernels/linalg/linalg.h"

#include <math.h>
#include <string.h>

/* ---- powers ---------------------------------------------------------------------------------- */

/* *t = *t * by */
static ctsc_status power_multiply(diag *d, tensor **t, const tensor *by) {
    tensor *product;
    TRY(matmul_batched(d, *t, by, &product));
    tensor_unref(*t);
    *t = product;
    return CTSC_OK;
}

static ctsc_status power_identity(diag *d, const tensor *a, tensor **out) {
    tensor *t;
    dtype dt = (dtype)a->dtype;
    int64_t n = a->sizes[a->ndim - 1];
    size_t item = dtype_size(dt);
    TRY(tensor_new_like(d, a, dt, &t));
    memset(tensor_data(t), 0, (size_t)t->numel * item);
    for (int64_t i = 0; n && i < t->numel / (n * n); i++)
        for (int64_t k = 0; k < n; k++)
            dtype_store_int(dt, (char *)tensor_data(t) + (size_t)(i * n * n + k * n + k) * item, 1);
    *out = t;
    return CTSC_OK;
}

/* n >= 1, by squaring */
static ctsc_status power_compute(diag *d, tensor *a, uint64_t n, tensor **out) {
    tensor *square = tensor_ref(a), *result = NULL;
    ctsc_status st = CTSC_OK;
    for (; st == CTSC_OK && n; n >>= 1) {
        if (n & 1) {
            if (result) st = power_multiply(d, &result, square);
            else result = tensor_ref(square);
        }
        if (st == CTSC_OK && n > 1) st = power_multiply(d, &square, square);
    }
    tensor_unref(square);
    if (st != CTSC_OK) {
        tensor_unref(result);
        return st;
    }
    *out = result;
    return CTSC_OK;
}

/* (self, n) */
ctsc_status op_linalg_matrix_power(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *base, *t;
    int64_t n = arg_int(&args[1]);
    TRY(linalg_check_square(d, a, "linalg.matrix_power"));
    if (n == 0) {
        TRY(power_identity(d, a, &t));
        return linalg_finish(cx, args, 1, &t, results);
    }
    if (n < 0) {
        value inverse = value_none();
        TRY(op_call(cx, "aten::linalg_inv", 1, args, &inverse));
        base = inverse.u.tensor;
    } else {
        base = tensor_ref(a);
    }
    ctsc_status st = CTSC_OK;
    if (!gemm_supports((dtype)base->dtype)) st = op_refuse_dtype(cx, "bmm", (dtype)base->dtype);
    uint64_t times = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    if (st == CTSC_OK && n == -1) t = tensor_ref(base);
    else if (st == CTSC_OK)
        st = times == 1 ? tensor_clone(d, base, &t) : power_compute(d, base, times, &t);
    tensor_unref(base);
    return st == CTSC_OK ? linalg_finish(cx, args, 1, &t, results) : st;
}

/* ---- exponential ----------------------------------------------------------------------------- */

/*
 * e^A by scaling and squaring with the Pade approximant of order 13 (N. Higham, "The scaling and
 * squaring method for the matrix exponential revisited", 2005, whose constants these are), always
 * in double.
 */
static const double exp_pade[14] = {64764752532480000.0,
                                    32382376266240000.0,
                                    7771770303897600.0,
                                    1187353796428800.0,
                                    129060195264000.0,
                                    10559470521600.0,
                                    670442572800.0,
                                    33522128640.0,
                                    1323241920.0,
                                    40840800.0,
                                    960960.0,
                                    16380.0,
                                    182.0,
                                    1.0};
static const double exp_theta = 5.371920351148152;

/* Of one n x n matrix: the largest column sum of absolute values. */
static double exp_norm(const double *a, int64_t n) {
    double norm = 0;
    for (int64_t c = 0; c < n; c++) {
        double sum = 0;
        for (int64_t r = 0; r < n; r++) sum += fabs(a[r * n + c]);
        if (!(sum <= norm)) norm = sum;
    }
    return norm;
}

static ctsc_status exp_product(diag *d, int64_t n, const double *a, const double *b, double *out) {
    gemm_matrix ma = {a, n, 1}, mb = {b, n, 1};
    return gemm_run(d, DT_FLOAT64, n, n, n, gemm_one, ma, mb, gemm_zero, out, n);
}

/* out = x a6 + y a4 + z a2 + w I */
static void exp_combine(int64_t n, const double *a6, double x, const double *a4, double y,
                        const double *a2, double z, double w, double *out) {
    for (int64_t i = 0; i < n * n; i++) out[i] = x * a6[i] + y * a4[i] + z * a2[i];
    for (int64_t i = 0; i < n; i++) out[i * n + i] += w;
}

/* The numerator's odd (u) and even (v) part for a scaled matrix; room: 5 matrices. */
static ctsc_status exp_parts(diag *d, int64_t n, const double *a, double *room, double *u,
                             double *v) {
    const double *b = exp_pade;
    double *a2 = room, *a4 = a2 + n * n, *a6 = a4 + n * n, *t = a6 + n * n, *s = t + n * n;
    TRY(exp_product(d, n, a, a, a2));
    TRY(exp_product(d, n, a2, a2, a4));
    TRY(exp_product(d, n, a2, a4, a6));
    exp_combine(n, a6, b[13], a4, b[11], a2, b[9], 0, t);
    TRY(exp_product(d, n, a6, t, s));
    exp_combine(n, a6, b[7], a4, b[5], a2, b[3], b[1], t);
    for (int64_t i = 0; i < n * n; i++) t[i] += s[i];
    TRY(exp_product(d, n, a, t, u));
    exp_combine(n, a6, b[12], a4, b[10], a2, b[8], 0, t);
    TRY(exp_product(d, n, a6, t, v));
    exp_combine(n, a6, b[6], a4, b[4], a2, b[2], b[0], t);
    for (int64_t i = 0; i < n * n; i++) v[i] += t[i];
    return CTSC_OK;
}

/* Solves p x = q for n x n row-major matrices, by the shared LU code; q becomes x. */
static ctsc_status exp_solve(diag *d, int64_t n, const double *p, double *q) {
    int64_t size[2] = {n, n};
    tensor *tp = NULL, *tq = NULL, *lu = NULL, *pivots = NULL, *info = NULL, *cols = NULL;
    ctsc_status st = tensor_new(d, DT_FLOAT64, 2, size, &tp);
    if (st == CTSC_OK) st = tensor_new(d, DT_FLOAT64, 2, size, &tq);
    if (st == CTSC_OK) {
        memcpy(tensor_data(tp), p, (size_t)(n * n) * sizeof(double));
        memcpy(tensor_data(tq), q, (size_t)(n * n) * sizeof(double));
        st = linalg_lu_compute(d, tp, &lu, &pivots, &info);
    }
    if (st == CTSC_OK) st = linalg_columns(d, tq, &cols);
    if (st == CTSC_OK) st = linalg_lu_solve_columns(d, lu, pivots, cols, 'N');
    for (int64_t r = 0; st == CTSC_OK && r < n; r++)
        for (int64_t c = 0; c < n; c++) q[r * n + c] = TENSOR_AT(cols, double)[c * n + r];
    tensor_unref(tp);
    tensor_unref(tq);
    tensor_unref(lu);
    tensor_unref(pivots);
    tensor_unref(info);
    tensor_unref(cols);
    return st;
}

/* a: n x n, replaced by its exponential; room: 7 matrices */
static ctsc_status exp_matrix(diag *d, int64_t n, double *a, double *room) {
    double norm = exp_norm(a, n), *u = room + 5 * n * n, *v = u + n * n;
    if (!isfinite(norm)) {
        for (int64_t i = 0; i < n * n; i++) a[i] = NAN;
        return CTSC_OK;
    }
    int squarings = norm > exp_theta ? (int)ceil(log2(norm / exp_theta)) : 0;
    double scale = ldexp(1, -squarings);
    for (int64_t i = 0; i < n * n; i++) a[i] *= scale;
    TRY(exp_parts(d, n, a, room, u, v));
    for (int64_t i = 0; i < n * n; i++) {
        a[i] = v[i] + u[i];
        v[i] -= u[i];
    }
    TRY(exp_solve(d, n, v, a));
    for (int k = 0; k < squarings; k++) {
        TRY(exp_product(d, n, a, a, room));
        memcpy(a, room, (size_t)(n * n) * sizeof(double));
    }
    return CTSC_OK;
}

/* A complex matrix x + iy is the real one [x, -y; y, x] of twice the size, and so is its
 * exponential: an n x n matrix to there, or what is there back. */
static void exp_embed(int64_t n, double *pairs, double *real, bool back) {
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++) {
            double *p = pairs + 2 * (r * n + c), *q = real + r * 2 * n + c;
            if (back) {
                p[0] = q[0];
                p[1] = q[n * 2 * n];
            } else {
                q[0] = q[n * 2 * n + n] = p[0];
                q[n * 2 * n] = p[1];
                q[n] = -p[1];
            }
        }
}

/* (self) */
ctsc_status op_matrix_exp(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *wide, *t = NULL, *rounded = NULL;
    TRY(linalg_check_square(d, a, "linalg.matrix_exp"));
    bool paired = dtype_is_complex((dtype)a->dtype);
    if (!dtype_is_float((dtype)a->dtype) && !paired)
        return diag_fail(d, CTSC_FAILED,
                         "matrix_exp: Expected a floating point or complex tensor as input. Got %s",
                         dtype_table[a->dtype].ir_name);
    int64_t n = a->sizes[a->ndim - 1], side = paired ? 2 * n : n;
    size_t bytes;
    TRY(tensor_to_dtype(d, a, paired ? DT_COMPLEX128 : DT_FLOAT64, &wide));
    ctsc_status st = tensor_clone(d, wide, &t);
    tensor_unref(wide);
    if (st != CTSC_OK) return st;
    double *room = NULL; /* of exp_matrix, followed by the embedded matrix */
    if (size_mul((size_t)side, (size_t)side, &bytes) && size_mul(bytes, 8 * sizeof(double), &bytes))
        room = mem_alloc(bytes);
    if (!room) st = diag_no_memory(d);
    for (int64_t i = 0; st == CTSC_OK && n && !geometry_only() && i < t->numel / (n * n); i++) {
        double *numbers = TENSOR_AT(t, double) + i * n * n * (paired ? 2 : 1);
        double *matrix = paired ? room + 7 * side * side : numbers;
        if (paired) exp_embed(n, numbers, matrix, false);
        st = limits_stop() ? limits_fail(d) : exp_matrix(d, side, matrix, room);
        if (paired) exp_embed(n, numbers, matrix, true);
    }
    mem_free(room);
    if (st == CTSC_OK) st = tensor_to_dtype(d, t, (dtype)a->dtype, &rounded);
    tensor_unref(t);
    return st == CTSC_OK ? linalg_finish(cx, args, 1, &rounded, results) : st;
}

/* (input, coefficients): the sums of input[k] coefficients[i, k], a term of e^A's series in
 * PyTorch. The out= overload adds them to what `out` holds. */
ctsc_status op_compute_linear_combination(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *x = arg_tensor(&args[0]), *by = arg_tensor(&args[1]), *into = op_target(cx, args, NULL);
    tensor *rows = NULL, *product = NULL, *t = NULL;
    int64_t sizes[TENSOR_MAX_DIMS];
    if (x->ndim == 0 || x->numel == 0 || by->ndim != 2 || by->sizes[1] != x->sizes[0] ||
        by->dtype != x->dtype)
        return diag_fail(d, CTSC_FAILED,
                         "_compute_linear_combination: expected a tensor with elements, and a "
                         "matrix of its dtype with as many columns as it has rows");
    if (!gemm_supports((dtype)x->dtype)) return op_refuse_dtype(cx, "mm", (dtype)x->dtype);
    for (int i = 0; i < x->ndim; i++) sizes[i] = x->sizes[i];
    ctsc_status st = tensor_reshape(d, x, 2, (int64_t[]){sizes[0], x->numel / sizes[0]}, &rows);
    sizes[0] = by->sizes[0];
    if (st == CTSC_OK) st = matmul_batched(d, by, rows, &product);
    if (st == CTSC_OK) st = tensor_view(d, product, x->ndim, sizes, &t);
    tensor_unref(rows);
    tensor_unref(product);
    if (st != CTSC_OK || !into) return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
    value in[] = {args[cx->op->schema->nargs - 1], value_tensor_take(t), value_int(1)};
    st = op_call(cx, "aten::add_.Tensor", 3, in, results);
    value_unref(in[1]);
    return st;
}

/* ---- vander ---------------------------------------------------------------------------------- */

static void vander_complex(dtype dt, const char *x, int64_t n, char *out) {
    bool wide = dt == DT_COMPLEX128;
    double re = linalg_get(wide, x, 0), im = linalg_get(wide, x, 1), a = 1, b = 0;
    for (int64_t k = 0; k < n; k++) {
        linalg_put(wide, out, 2 * k, a);
        linalg_put(wide, out, 2 * k + 1, b);
        double next = a * re - b * im;
        b = a * im + b * re;
        a = next;
    }
}

/* (x, N): powers 0 to N - 1 along a new last dim */
ctsc_status op_linalg_vander(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *x = arg_tensor(&args[0]), *flat, *t;
    dtype dt = (dtype)x->dtype;
    int64_t n = arg_int_or(&args[1], x->ndim ? x->sizes[x->ndim - 1] : 1), sizes[TENSOR_MAX_DIMS];
    if (dt == DT_BOOL)
        return diag_fail(
            d, CTSC_FAILED,
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            "Bool");
    if (n <= 1) return diag_fail(d, CTSC_FAILED, "N must be greater than 1.");
    if (dt == DT_COMPLEX32) return op_refuse_dtype(cx, "linalg.vander", dt);
    if (x->ndim == TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    if (dtype_is_int(dt)) dt = DT_INT64; /* what cumprod makes of integers */
    int ndim = x->ndim ? x->ndim : 1;    /* a 0-dim tensor counts as one of one element */
    sizes[0] = 1;
    for (int i = 0; i < x->ndim; i++) sizes[i] = x->sizes[i];
    sizes[ndim] = n;
    TRY(tensor_contiguous(d, x, &flat));
    ctsc_status st = tensor_new(d, dt, ndim + 1, sizes, &t);
    for (int64_t i = 0; st == CTSC_OK && i < x->numel; i++) {
        const char *p = (char *)tensor_data(flat) + (size_t)i * dtype_size((dtype)x->dtype);
        char *q = (char *)tensor_data(t) + (size_t)(i * n) * dtype_size(dt);
        if (dtype_is_complex(dt)) {
            vander_complex(dt, p, n, q);
            continue;
        }
        double v = dtype_load_float((dtype)x->dtype, p), power = 1;
        uint64_t w = dt == DT_INT64 ? (uint64_t)dtype_load_int((dtype)x->dtype, p) : 0, whole = 1;
        for (int64_t k = 0; k < n; k++, q += dtype_size(dt)) {
            if (dt == DT_INT64) dtype_store_int(dt, q, (int64_t)whole);
            else dtype_store_float(dt, q, power);
            whole *= w;
            power = dt == DT_FLOAT64 ? power * v : (double)((float)power * (float)v);
        }
    }
    tensor_unref(flat);
    return st == CTSC_OK ? op_return_tensor(results, t) : st;
}

/* ---- tensorinv, tensorsolve ------------------------------------------------------------------ */

static ctsc_status tensorinv_mismatch(diag *d, const char *index, int64_t right, int64_t left) {
    return diag_fail(d, CTSC_FAILED,
                     "Expected self to satisfy the requirement prod(self.shape[%s:]) == "
                     "prod(self.shape[:%s]), but got %lld != %lld",
                     index, index, (long long)right, (long long)left);
}

/* (self, ind): the inverse of self seen as a matrix of its first ind dims by the others */
ctsc_status op_linalg_tensorinv(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *matrix, *t = NULL;
    int64_t ind = arg_int(&args[1]), sizes[TENSOR_MAX_DIMS], left = 1, right = 1;
    if (ind <= 0)
        return diag_fail(d, CTSC_FAILED,
                         "Expected a strictly positive integer for 'ind', but got %lld",
                         (long long)ind);
    int n = 0;
    for (int64_t i = ind; i < a->ndim; i++) right *= sizes[n++] = a->sizes[i];
    for (int64_t i = 0; i < ind && i < a->ndim; i++) left *= sizes[n++] = a->sizes[i];
    if (left != right) return tensorinv_mismatch(d, "ind", right, left);
    int64_t square[2] = {right, left};
    TRY(tensor_reshape(d, a, 2, square, &matrix));
    value in = value_tensor_take(matrix), inverse = value_none();
    ctsc_status st = op_call(cx, "aten::linalg_inv", 1, &in, &inverse);
    value_unref(in);
    if (st == CTSC_OK) st = tensor_reshape(d, inverse.u.tensor, a->ndim, sizes, &t);
    value_unref(inverse);
    return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
}

/* self with the given dims moved to the end */
static ctsc_status tensorsolve_move(diag *d, const tensor *a, const value *dims, tensor **out) {
    const int64_t *list;
    int n = arg_ints(dims, &list), at = 0;
    int64_t order[TENSOR_MAX_DIMS];
    bool moved[TENSOR_MAX_DIMS] = {false};
    if (n > a->ndim)
        return diag_fail(d, CTSC_FAILED, "movedim: Invalid source or destination dims");
    for (int i = 0; i < n; i++) {
        int dim;
        TRY(tensor_wrap_dim(d, list[i], a->ndim, &dim));
        if (moved[dim]) return diag_fail(d, CTSC_FAILED, "movedim: repeated dim in `source`");
        moved[dim] = true;
        order[a->ndim - n + i] = dim;
    }
    for (int i = 0; i < a->ndim; i++)
        if (!moved[i]) order[at++] = i;
    return tensor_permute(d, a, a->ndim, order, out);
}

/* (self, other, dims): x such that tensordot(self, x, x.ndim) == other */
ctsc_status op_linalg_tensorsolve(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a, *b = arg_tensor(&args[1]), *matrix = NULL, *vector = NULL, *t = NULL;
    TRY(tensorsolve_move(d, arg_tensor(&args[0]), &args[2], &a));
    int64_t left = 1, right = 1, square[2], flat = b->numel;
    for (int i = 0; i < a->ndim; i++) *(i < b->ndim ? &left : &right) *= a->sizes[i];
    ctsc_status st = left == right && left == flat
                         ? CTSC_OK
                         : tensorinv_mismatch(d, "other.ndim", right, flat);
    square[0] = left, square[1] = right;
    if (st == CTSC_OK) st = tensor_reshape(d, a, 2, square, &matrix);
    if (st == CTSC_OK) st = tensor_reshape(d, b, 1, &flat, &vector);
    if (st == CTSC_OK) {
        value in[2] = {value_tensor_take(matrix), value_tensor_take(vector)}, x = value_none();
        st = op_call(cx, "aten::linalg_solve", 2, in, &x);
        if (st == CTSC_OK) {
            int n = a->ndim > b->ndim ? a->ndim - b->ndim : 0;
            st = tensor_reshape(d, x.u.tensor, n, a->sizes + (a->ndim - n), &t);
        }
        value_unref(x);
    }
    tensor_unref(a);
    tensor_unref(matrix);
    tensor_unref(vector);
    return st == CTSC_OK ? linalg_finish(cx, args, 1, &t, results) : st;
}
