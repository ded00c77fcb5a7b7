/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_linalg.c - the linalg norms: linalg_vector_norm, linalg_matrix_norm, linalg_norm,
 * nuclear_norm.
 *
 * Method: 1- and inf-norms of matrices are sums followed by minima or maxima. Singular values come
 * from one-sided Jacobi rotations in double (M. R. Hestenes, Inversion of matrices by
 * biorthogonalization and related results, 1958): short, and accurate also for the small ones.
 * Tests: tests/unit/test_reduce.c
 */
#include "runtime/kernels/reduce/reduce_norm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- dtypes ---------------------------------------------------------------------------------- */

static ctsc_status linalg_check_input(op_ctx *cx, const char *name, const tensor *in) {
    if (dtype_is_float((dtype)in->dtype) || in->dtype == DT_COMPLEX64 || in->dtype == DT_COMPLEX128)
        return CTSC_OK;
    if (in->dtype == DT_COMPLEX32) return op_refuse_dtype(cx, name, DT_COMPLEX32);
    return diag_fail(cx->diag, CTSC_FAILED,
                     "linalg.%s: Expected a floating point or complex tensor as input. Got %s",
                     name, dtype_table[in->dtype].ir_name);
}

/* dtype=, which may widen only. */
static ctsc_status linalg_dtype(op_ctx *cx, const value *args, const char *name, const tensor *in,
                                dtype *dt) {
    dtype from = (dtype)in->dtype;
    TRY(arg_dtype(cx, reduce_arg(cx, args, "dtype"), from, dt));
    if (dtype_is_integral(*dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.%s: dtype should be floating point or complex, but got %s", name,
                         dtype_table[*dt].ir_name);
    if (dtype_is_complex(*dt) != dtype_is_complex(from))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.%s: dtype should be %s for %s inputs, but got %s", name,
                         dtype_is_complex(from) ? "complex" : "real",
                         dtype_is_complex(from) ? "complex" : "real", dtype_table[*dt].ir_name);
    if (dtype_promote(from, *dt) != *dt)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.%s: the dtype of the input (%s) should be convertible without "
                         "narrowing to the specified dtype (%s)",
                         name, dtype_table[from].ir_name, dtype_table[*dt].ir_name);
    return CTSC_OK;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Orders without a value for no elements at all. */
static ctsc_status linalg_check_empty(op_ctx *cx, const tensor *in, const value *dim, double p) {
    const int64_t *dims;
    int n = arg_ints(dim, &dims), d;
    if (in->numel || (p >= 0 && p != INFINITY)) return CTSC_OK;
    if (n == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.vector_norm cannot compute the %g norm on an empty tensor because "
                         "the operation does not have an identity",
                         p);
    for (int i = 0; i < n; i++) {
        TRY(tensor_wrap_dim(cx->diag, dims[i], in->ndim, &d));
        if (in->sizes[d] == 0) /* no space after the number: PyTorch's words */
            return diag_fail(cx->diag, CTSC_FAILED,
                             "linalg.vector_norm cannot compute the %g norm on the dimension %lld"
                             "because this dimension is empty and the operation does not have an "
                             "identity",
                             p, (long long)dims[i]);
    }
    return CTSC_OK;
}

static ctsc_status linalg_vector(op_ctx *cx, const value *args, double p, const value *dim,
                                 tensor **out) {
    tensor *in = arg_tensor(&args[0]);
    bool mask[TENSOR_MAX_DIMS];
    dtype dt;
    TRY(linalg_check_input(cx, "vector_norm", in));
    TRY(linalg_dtype(cx, args, "vector_norm", in, &dt));
    TRY(linalg_check_empty(cx, in, dim, p));
    TRY(reduce_mask(cx, dim, in->ndim, mask));
    return norm_vector(cx, in, p, mask, reduce_keepdim(cx, args), dtype_part(dt), out);
}

ctsc_status op_linalg_vector_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    double p = arg_float(&args[1]);
    TRY(linalg_vector(cx, args, p, reduce_arg(cx, args, "dim"), &out));
    return op_finish(cx, args, out, results);
}

/* ---- singular values ------------------------------------------------------------------------- */

enum { SVD_SWEEPS = 60 };

/* Makes columns a and b (n values each) orthogonal; false if they are already. */
static bool linalg_rotate(double *a, double *b, int64_t n) {
    double aa = 0, bb = 0, ab = 0;
    for (int64_t i = 0; i < n; i++) aa += a[i] * a[i], bb += b[i] * b[i], ab += a[i] * b[i];
    if (!(fabs(ab) > 1e-15 * sqrt(aa * bb))) return false;
    double zeta = (bb - aa) / (2 * ab);
    double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int64_t i = 0; i < n; i++) {
        double x = a[i], y = b[i];
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
    return true;
}

/* Singular values of k vectors of n >= k values, which are overwritten: largest, smallest, sum. */
static void linalg_singular(double *vectors, int64_t k, int64_t n, double *most, double *least,
                            double *sum) {
    bool rotated = true;
    for (int sweep = 0; sweep < SVD_SWEEPS && rotated; sweep++) {
        rotated = false;
        for (int64_t a = 0; a < k; a++)
            for (int64_t b = a + 1; b < k; b++)
                rotated |= linalg_rotate(vectors + a * n, vectors + b * n, n);
    }
    *most = 0, *least = INFINITY, *sum = 0;
    for (int64_t a = 0; a < k; a++) {
        double squares = 0;
        for (int64_t i = 0; i < n; i++) squares += vectors[a * n + i] * vectors[a * n + i];
        double v = sqrt(squares);
        if (v > *most || isnan(v)) *most = v;
        if (v < *least || isnan(v)) *least = v;
        *sum += v;
    }
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct linalg_order {
    bool named;
    double p;         /* a number; of a named one: 'f' Frobenius, 'n' nuclear */
    const char *text; /* as the program wrote it, for the error */
} linalg_order;

/* PyTorch's svd refuses them too; so no rotation sees a NaN. m: matrices of n values. */
static ctsc_status linalg_check_finite(op_ctx *cx, const tensor *m, bool batch, int64_t n) {
    const double *x = tensor_data(m);
    for (int64_t i = 0; i < m->numel; i++) {
        if (isfinite(x[i])) continue;
        char which[48] = "";
        if (batch) snprintf(which, sizeof which, "(Batch element %lld): ", (long long)(i / n));
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.svd: %sThe algorithm failed to converge because the input matrix "
                         "contained non-finite values.",
                         which);
    }
    return CTSC_OK;
}

/* The matrices of pairs of doubles, rows x columns each, as real ones of twice the size, whose
 * singular values are the same, each twice. */
static ctsc_status linalg_embed(op_ctx *cx, tensor **m, int64_t rows, int64_t columns) {
    tensor *wide;
    int64_t size[3] = {rows && columns ? (*m)->numel / (rows * columns) : 0, 2 * rows, 2 * columns};
    TRY(tensor_new(cx->diag, DT_FLOAT64, 3, size, &wide));
    for (int64_t i = 0; i < size[0] * rows; i++) {
        const double *p = TENSOR_AT(*m, double) + i * 2 * columns;
        double *upper = TENSOR_AT(wide, double) + (i + i / rows * rows) * 2 * columns;
        double *lower = upper + rows * 2 * columns;
        for (int64_t c = 0; c < columns; c++) {
            upper[c] = lower[columns + c] = p[2 * c];
            upper[columns + c] = -p[2 * c + 1];
            lower[c] = p[2 * c + 1];
        }
    }
    tensor_unref(*m);
    *m = wide;
    return CTSC_OK;
}

/* [batch..., rows, columns] in double; op is 2, -2 or 'n'. */
static ctsc_status linalg_by_singular(op_ctx *cx, const tensor *in, const bool *mask, bool keepdim,
                                      double op, dtype dt, tensor **out) {
    tensor *m, *result;
    bool paired = dtype_is_complex((dtype)in->dtype);
    TRY(reduce_rows(cx, in, mask, paired ? DT_COMPLEX128 : DT_FLOAT64, &m));
    int64_t sizes[2], n = 0;
    for (int i = 0; i < in->ndim; i++)
        if (mask[i]) sizes[n++] = in->sizes[i];
    int64_t k = reduce_min_i64(sizes[0], sizes[1]);
    if (sizes[0] > sizes[1]) { /* vectors are the shorter side's */
        tensor *transposed, *dense;
        ctsc_status st = tensor_transpose(cx->diag, m, -1, -2, &transposed);
        if (st == CTSC_OK) {
            st = tensor_contiguous(cx->diag, transposed, &dense);
            tensor_unref(transposed);
        }
        tensor_unref(m);
        if (st != CTSC_OK) return st;
        m = dense;
    }
    ctsc_status st = CTSC_OK;
    int64_t longer = reduce_max_i64(sizes[0], sizes[1]), parts = paired ? 2 : 1;
    if (paired) st = linalg_embed(cx, &m, k, longer);
    if (st == CTSC_OK)
        st = linalg_check_finite(cx, m, in->ndim > 2, parts * parts * sizes[0] * sizes[1]);
    if (st == CTSC_OK) st = reduce_new_out(cx, in, mask, keepdim, dt, &result);
    for (int64_t i = 0; st == CTSC_OK && i < result->numel; i++) {
        double most = 0, least = 0, sum = 0;
        if (m->numel)
            linalg_singular(TENSOR_AT(m, double) + i * parts * k * parts * longer, parts * k,
                            parts * longer, &most, &least, &sum);
        dtype_store_float(dt, (char *)tensor_data(result) + (size_t)i * dtype_size(dt),
                          op == 2    ? most
                          : op == -2 ? least
                                     : sum / (double)parts);
    }
    tensor_unref(m);
    if (st == CTSC_OK) *out = result;
    return st;
}

/* Largest (p > 0) or smallest sum of magnitudes: over dim `sum`, then the minimum or maximum
 * over dim `pick`.
 * */
static ctsc_status linalg_by_sums(op_ctx *cx, const tensor *in, int sum, int pick, bool largest,
                                  bool keepdim, dtype dt, tensor **out) {
    bool first[TENSOR_MAX_DIMS] = {false}, second[TENSOR_MAX_DIMS] = {false};
    tensor *sums, *squeezed;
    first[sum] = second[pick] = true;
    TRY(norm_vector(cx, in, 1, first, true, dt, &sums));
    ctsc_status st = reduce_check_nonempty(cx, largest ? "amax()" : "amin()", sums, second);
    if (st == CTSC_OK)
        st = reduce_to_new(cx, largest ? &reduce_kind_max : &reduce_kind_min, 0, sums, second,
                           keepdim, dt, &squeezed);
    tensor_unref(sums);
    if (st != CTSC_OK || keepdim) return st == CTSC_OK ? (*out = squeezed, st) : st;
    st = tensor_squeeze_dim(cx->diag, squeezed, sum > pick ? sum - 1 : sum, out);
    tensor_unref(squeezed);
    return st;
}

/* The two dims of a matrix norm; the default is the last two. */
static ctsc_status linalg_matrix_dims(op_ctx *cx, const tensor *in, const value *dim, int *d) {
    const int64_t *dims;
    int n = arg_ints(dim, &dims);
    if (n != 2) {
        strbuf text = STRBUF_INIT;
        for (int i = 0; i < n; i++) sb_printf(&text, i ? ", %lld" : "%lld", (long long)dims[i]);
        ctsc_status st = diag_fail(cx->diag, CTSC_FAILED,
                                   "linalg.matrix_norm: dim must be a 2-tuple. Got %s",
                                   sb_str(&text));
        sb_free(&text);
        return st;
    }
    for (int i = 0; i < 2; i++) TRY(tensor_wrap_dim(cx->diag, dims[i], in->ndim, &d[i]));
    if (d[0] == d[1])
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.matrix_norm: dims must be different. Got (%lld, %lld)",
                         (long long)dims[0], (long long)dims[1]);
    return CTSC_OK;
}

static ctsc_status linalg_order_read(op_ctx *cx, const value *v, linalg_order *order) {
    *order = (linalg_order){.named = v->tag == V_STR};
    if (order->named) {
        order->text = v->u.str->bytes;
        if (strcmp(order->text, "fro") == 0) return order->p = 'f', CTSC_OK;
        if (strcmp(order->text, "nuc") == 0) return order->p = 'n', CTSC_OK;
        return diag_fail(cx->diag, CTSC_FAILED, "linalg.matrix_norm: Order %s not supported.",
                         order->text);
    }
    order->p = arg_float(v);
    double size = fabs(order->p);
    if (size == 1 || size == 2 || size == INFINITY) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "linalg.matrix_norm: Order %g not supported.",
                     order->p);
}

static ctsc_status linalg_matrix(op_ctx *cx, const value *args, const value *ord, const value *dim,
                                 tensor **out) {
    tensor *in = arg_tensor(&args[0]);
    bool keepdim = reduce_keepdim(cx, args), mask[TENSOR_MAX_DIMS] = {false};
    linalg_order order;
    dtype dt;
    int d[2];
    TRY(linalg_order_read(cx, ord, &order));
    if (in->ndim < 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
    TRY(linalg_check_input(cx, "matrix_norm", in));
    bool singular = order.named ? order.p == 'n' : fabs(order.p) == 2;
    dtype part = dtype_part((dtype)in->dtype);
    if (singular && part != DT_FLOAT32 && part != DT_FLOAT64)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.matrix_norm: Low precision dtypes not supported. Got %s",
                         dtype_table[in->dtype].ir_name);
    TRY(linalg_matrix_dims(cx, in, dim, d));
    TRY(linalg_dtype(cx, args, "matrix_norm", in, &dt));
    dt = dtype_part(dt);
    mask[d[0]] = mask[d[1]] = true;
    if (order.named && order.p == 'f') return norm_vector(cx, in, 2, mask, keepdim, dt, out);
    const bool empty = in->sizes[d[0]] == 0 || in->sizes[d[1]] == 0;
    if (!order.named && order.p > 0 && empty) return norm_vector(cx, in, 2, mask, keepdim, dt, out);
    if (!order.named && fabs(order.p) == 1)
        return linalg_by_sums(cx, in, d[0], d[1], order.p > 0, keepdim, dt, out);
    if (!order.named && isinf(order.p))
        return linalg_by_sums(cx, in, d[1], d[0], order.p > 0, keepdim, dt, out);
    if (!order.named && empty)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "amin(): Expected reduction dim -1 to have non-zero size.");
    return linalg_by_singular(cx, in, mask, keepdim, order.p, dt, out);
}

ctsc_status op_linalg_matrix_norm(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    TRY(linalg_matrix(cx, args, &args[1], &args[2], &out));
    return op_finish(cx, args, out, results);
}

/* ---- norm of a vector or a matrix, by what is asked for -------------------------------------- */

static ctsc_status linalg_norm_dims(op_ctx *cx, const tensor *in, const value *ord,
                                    const value *dim) {
    const int64_t *dims;
    int n = arg_ints(dim, &dims);
    if (!arg_is_none(dim) && n != 1 && n != 2) {
        strbuf text = STRBUF_INIT;
        tensor_print_sizes(n, dims, &text);
        ctsc_status st = diag_fail(cx->diag, CTSC_FAILED,
                                   "linalg.norm: If dim is specified, it %s be of length 1 or 2. "
                                   "Got %s",
                                   ord->tag == V_STR ? "mut" : "must", /* as PyTorch has it */
                                   sb_str(&text));
        sb_free(&text);
        return st;
    }
    if (arg_is_none(dim) && !arg_is_none(ord) && in->ndim != 1 && in->ndim != 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "linalg.norm: If dim is not specified but ord is, the input must be 1D or "
                         "2D. Got %dD.",
                         in->ndim);
    return CTSC_OK;
}

/* A list value for the dims 0 and 1, on the stack of the caller. */
typedef struct linalg_pair {
    list list;
    int64_t dims[2];
} linalg_pair;

static value linalg_pair_value(linalg_pair *pair) {
    *pair = (linalg_pair){.list = {.refs = 1, .kind = LIST_INT, .len = 2, .cap = 2},
                          .dims = {0, 1}};
    pair->list.u.ints = pair->dims;
    return (value){.tag = V_LIST, .u.list = &pair->list};
}

ctsc_status op_linalg_norm(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *out;
    const value *ord = &args[1], *dim = &args[2];
    const int64_t *dims;
    linalg_pair pair;
    TRY(linalg_norm_dims(cx, in, ord, dim));
    bool matrix = arg_is_none(dim) ? in->ndim == 2 : arg_ints(dim, &dims) == 2;
    if (ord->tag == V_STR || (!arg_is_none(ord) && matrix)) {
        value both = linalg_pair_value(&pair);
        TRY(linalg_matrix(cx, args, ord, arg_is_none(dim) ? &both : dim, &out));
    } else {
        double p = arg_is_none(ord) ? 2 : arg_float(ord);
        TRY(linalg_vector(cx, args, p, dim, &out));
    }
    return op_finish(cx, args, out, results);
}

ctsc_status op_nuclear_norm(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *out;
    const value *dim = reduce_arg(cx, args, "dim");
    bool mask[TENSOR_MAX_DIMS];
    const int64_t *dims;
    if (arg_is_none(dim) && in->ndim != 2)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "Expected a tensor with 2 dimensions, but got a tensor with %d dimension%s "
            "instead.",
            in->ndim, in->ndim == 1 ? "" : "s");
    if (!arg_is_none(dim) && arg_ints(dim, &dims) != 2)
        return diag_fail(cx->diag, CTSC_FAILED, "nuclear norm requires a 'dim' argument of size 2");
    int a, b;
    if (!arg_is_none(dim)) {
        TRY(tensor_wrap_dim(cx->diag, dims[0], in->ndim, &a));
        TRY(tensor_wrap_dim(cx->diag, dims[1], in->ndim, &b));
        if (a == b) return diag_fail(cx->diag, CTSC_FAILED, "duplicate or invalid dimensions");
    }
    TRY(reduce_mask(cx, dim, in->ndim, mask));
    dtype part = dtype_part((dtype)in->dtype);
    if (part != DT_FLOAT32 && part != DT_FLOAT64)
        return op_refuse_dtype(cx, "linalg_svd_cpu", (dtype)in->dtype);
    TRY(linalg_by_singular(cx, in, mask, reduce_keepdim(cx, args), 'n', part, &out));
    return op_finish(cx, args, out, results);
}
