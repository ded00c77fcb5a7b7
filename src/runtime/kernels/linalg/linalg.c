/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg.c - what the linear algebra operators share.
 * Tests: tests/unit/test_linalg.c
 */
#include "runtime/kernels/linalg/linalg.h"
#include "runtime/kernels/engine/move.h"

#include <stdio.h>

ctsc_status linalg_describe(diag *d, const tensor *t, linalg_batch *out) {
    int64_t m = t->sizes[t->ndim - 2], n = t->sizes[t->ndim - 1], count = 1;
    if (m > INT32_MAX / 4 || n > INT32_MAX / 4)
        return diag_fail(d, CTSC_LIMIT, "matrix too large for LAPACK");
    for (int i = 0; i < t->ndim - 2; i++) count *= t->sizes[i];
    gemm_setup();
    *out = (linalg_batch){.count = geometry_only() ? 0 : count,
                          .m = (int)m,
                          .n = (int)n,
                          .wide = dtype_part((dtype)t->dtype) == DT_FLOAT64,
                          .paired = dtype_is_complex((dtype)t->dtype),
                          .item = dtype_size((dtype)t->dtype)};
    return CTSC_OK;
}

ctsc_status linalg_columns(diag *d, const tensor *t, tensor **out) {
    tensor *transposed;
    TRY(tensor_transpose(d, t, -2, -1, &transposed));
    ctsc_status st = tensor_clone(d, transposed, out);
    tensor_unref(transposed);
    return st;
}

ctsc_status linalg_rows(diag *d, tensor *t, tensor **out) {
    ctsc_status st = tensor_transpose(d, t, -2, -1, out);
    tensor_unref(t);
    return st;
}

ctsc_status linalg_new(diag *d, const tensor *t, dtype dt, int n, const int64_t *tail,
                       tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS + 2];
    int nb = t->ndim - 2;
    for (int i = 0; i < nb; i++) sizes[i] = t->sizes[i];
    for (int i = 0; i < n; i++) sizes[nb + i] = tail[i];
    return tensor_new(d, dt, nb + n, sizes, out);
}

void linalg_identity(tensor *t, int64_t n) {
    size_t item = dtype_size((dtype)t->dtype);
    if (geometry_only()) return;
    memset(tensor_data(t), 0, (size_t)t->numel * item);
    for (int64_t i = 0; n && i < t->numel / (n * n); i++)
        for (int64_t k = 0; k < n; k++)
            dtype_store_float((dtype)t->dtype,
                              (char *)tensor_data(t) + (size_t)(i * n * n + k * n + k) * item, 1);
}

void linalg_conjugate(tensor *t) {
    if (!dtype_is_complex((dtype)t->dtype) || geometry_only()) return;
    bool wide = t->dtype == DT_COMPLEX128;
    void *p = tensor_data(t);
    for (int64_t i = 1; i < 2 * t->numel; i += 2) linalg_put(wide, p, i, -linalg_get(wide, p, i));
}

void linalg_keep_triangle(tensor *t, int64_t rows, int64_t cols, bool upper) {
    size_t item = dtype_size((dtype)t->dtype);
    int64_t count = rows > 0 && cols > 0 ? t->numel / (rows * cols) : 0;
    for (int64_t i = 0; !geometry_only() && i < count; i++) {
        void *p = linalg_at(NULL, t, i, rows * cols);
        for (int64_t c = 0; c < cols; c++)
            for (int64_t r = 0; r < rows; r++)
                if (upper ? r > c : r < c) linalg_clear(item, p, c * rows + r);
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

ctsc_status linalg_check_matrix(diag *d, const tensor *t, const char *op, const char *arg) {
    if (t->ndim >= 2) return CTSC_OK;
    return diag_fail(d, CTSC_FAILED, "%s: The input tensor %s must have at least 2 dimensions.", op,
                     arg);
}

ctsc_status linalg_check_square(diag *d, const tensor *t, const char *op) {
    TRY(linalg_check_matrix(d, t, op, "A"));
    long long m = t->sizes[t->ndim - 2], n = t->sizes[t->ndim - 1];
    if (m == n) return CTSC_OK;
    return diag_fail(d, CTSC_FAILED,
                     "%s: A must be batches of square matrices, but they are %lld by %lld matrices",
                     op, m, n);
}

ctsc_status linalg_check_inexact(op_ctx *cx, const tensor *t, const char *op, const char *kernel) {
    dtype dt = (dtype)t->dtype;
    if (dtype_part(dt) == DT_FLOAT32 || dtype_part(dt) == DT_FLOAT64) return CTSC_OK;
    if (op && dtype_is_integral(dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s: Expected a floating point or complex tensor as input. Got %s", op,
                         dtype_table[dt].ir_name);
    return op_refuse_dtype(cx, kernel, dt);
}

ctsc_status linalg_check_same_dtype(diag *d, const tensor *a, const tensor *b, const char *op) {
    if (a->dtype == b->dtype) return CTSC_OK;
    return diag_fail(
        d, CTSC_FAILED,
        "%s: Expected A and B to have the same dtype, but found A of type %s and B of type "
        "%s instead",
        op, dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
}

ctsc_status linalg_broadcast(diag *d, tensor *a, tensor *b, tensor **wide_a, tensor **wide_b) {
    int nb;
    int64_t sizes[TENSOR_MAX_DIMS + 2];
    TRY(broadcast_sizes(d, a->ndim - 2, a->sizes, b->ndim - 2, b->sizes, &nb, sizes));
    if (nb + 2 > TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    tensor *const in[2] = {a, b};
    tensor *out[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        sizes[nb] = in[i]->sizes[in[i]->ndim - 2];
        sizes[nb + 1] = in[i]->sizes[in[i]->ndim - 1];
        ctsc_status st = tensor_expand(d, in[i], nb + 2, sizes, &out[i]);
        if (st != CTSC_OK) {
            tensor_unref(out[0]);
            return st;
        }
    }
    *wide_a = out[0];
    *wide_b = out[1];
    return CTSC_OK;
}

ctsc_status linalg_finish(op_ctx *cx, const value *args, int n, tensor **computed, value *results) {
    bool out_form = cx->op->schema->has_alias_write;
    const value *outs = args + cx->op->schema->nargs - n;
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < n; i++) {
        if (!out_form) {
            results[i] = value_tensor_take(computed[i]);
            continue;
        }
        if (st == CTSC_OK) st = move_shape_out(cx, outs[i].u.tensor, computed[i]);
        if (st == CTSC_OK) st = op_finish_out(cx, &outs[i], computed[i], &results[i]);
        else tensor_unref(computed[i]);
    }
    for (int i = 0; st != CTSC_OK && i < n; i++) value_set(&results[i], value_none());
    return st;
}

/* ---- complex numbers of floats --------------------------------------------------------------- */

static bool linalg_is_input(const schema *s, const value *args, int i) {
    return args[i].tag == V_TENSOR && !s->args[i].alias;
}

bool linalg_is_single_complex(const op_ctx *cx, const value *args) {
    const schema *s = cx->op->schema;
    bool single = false;
    for (int i = 0; i < s->nargs; i++) {
        if (!linalg_is_input(s, args, i)) continue;
        dtype dt = (dtype)args[i].u.tensor->dtype;
        if (dt == DT_COMPLEX64) single = true;
        else if (dtype_is_float(dt) || dtype_is_complex(dt)) return false; /* refused below */
    }
    return single;
}

ctsc_status linalg_to_single(diag *d, tensor **t) {
    tensor *single = NULL, *room;
    int64_t extent = 1;
    if (!*t || ((*t)->dtype != DT_COMPLEX128 && (*t)->dtype != DT_FLOAT64)) return CTSC_OK;
    dtype dt = (*t)->dtype == DT_COMPLEX128 ? DT_COMPLEX64 : DT_FLOAT32;
    /* with its strides, gaps among them */
    for (int i = 0; i < (*t)->ndim; i++)
        if ((*t)->sizes[i]) extent += ((*t)->sizes[i] - 1) * (*t)->strides[i];
    ctsc_status st = tensor_new(d, dt, 1, &extent, &room);
    if (st == CTSC_OK) {
        st = tensor_view_raw(d, room, (*t)->ndim, (*t)->sizes, (*t)->strides, 0, &single);
        tensor_unref(room);
    }
    if (st == CTSC_OK && (st = tensor_copy(d, single, *t)) != CTSC_OK) tensor_unref(single);
    tensor_unref(*t);
    *t = st == CTSC_OK ? single : NULL;
    return st;
}

ctsc_status linalg_all_to_single(diag *d, int n, tensor **const *t) {
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < n && st == CTSC_OK; i++)
        if (t[i]) st = linalg_to_single(d, t[i]);
    for (int i = 0; i < n && st != CTSC_OK; i++)
        if (t[i]) {
            tensor_unref(*t[i]);
            *t[i] = NULL;
        }
    return st;
}

enum { LINALG_ARGS = 16 };

ctsc_status linalg_in_double(op_ctx *cx, const value *args, value *results, op_fn fn) {
    const schema *s = cx->op->schema;
    value wide[LINALG_ARGS];
    ctsc_status st = CTSC_OK;
    int n = 0;
    for (; st == CTSC_OK && n < s->nargs && n < LINALG_ARGS; n++) {
        tensor *t = NULL;
        bool single = linalg_is_input(s, args, n) && args[n].u.tensor->dtype == DT_COMPLEX64;
        if (single) st = tensor_to_dtype(cx->diag, args[n].u.tensor, DT_COMPLEX128, &t);
        wide[n] = !single ? value_ref(args[n]) : t ? value_tensor_take(t) : value_none();
    }
    if (st == CTSC_OK) st = fn(cx, wide, results);
    while (n > 0) value_unref(wide[--n]);
    if (st != CTSC_OK || s->has_alias_write) return st;
    for (int i = 0; i < s->nreturns && st == CTSC_OK; i++)
        if (results[i].tag == V_TENSOR) {
            tensor *t = tensor_ref(results[i].u.tensor);
            st = linalg_to_single(cx->diag, &t);
            value_set(&results[i], t ? value_tensor_take(t) : value_none());
        }
    for (int i = 0; i < s->nreturns && st != CTSC_OK; i++) value_set(&results[i], value_none());
    return st;
}

int linalg_first_error(const tensor *info, int64_t *index) {
    const int32_t *p = tensor_data(info);
    for (int64_t i = 0; i < info->numel; i++)
        if (p[i]) {
            *index = i;
            return p[i];
        }
    return 0;
}

/* (info, api_name, *, is_matrix): decomposed programs call it after a factorisation. */
ctsc_status op_linalg_check_errors(op_ctx *cx, const value *args, value *results) {
    /* the first whose name is within api_name tells what info means */
    static const struct { const char *name, *before, *after; } rows[] = {
        {"inv", "The diagonal element ",
         " is zero, the inversion could not be completed because the input matrix is singular."},
        {"solve", "The solver failed because the input matrix is singular.", NULL},
        {"cholesky",
         "The factorization could not be completed because the input is not positive-definite "
         "(the leading minor of order ",
         " is not positive-definite)."},
        {"svd",
         "The algorithm failed to converge because the input matrix is ill-conditioned or has "
         "too many repeated singular values (error code: ",
         ")."},
        {"eig",
         "The algorithm failed to converge because the input matrix is ill-conditioned or has "
         "too many repeated eigenvalues (error code: ",
         ")."},
        {"lstsq",
         "The least squares solution could not be computed because the input matrix does not "
         "have full rank (error code: ",
         ")."},
        {"lu_factor", "The factor U has a zero on its diagonal, in row ", "."},
        {"", "Unknown error code ", "."},
    };
    const char *name = args[1].u.str->bytes;
    tensor *info = arg_tensor(&args[0]), *codes = NULL;
    int64_t index = 0;
    char batch[48] = "";
    (void)results;
    TRY(tensor_to_dtype(cx->diag, info, DT_INT32, &codes));
    tensor *flat = NULL;
    ctsc_status st = tensor_contiguous(cx->diag, codes, &flat);
    tensor_unref(codes);
    if (st != CTSC_OK) return st;
    int error = linalg_first_error(flat, &index);
    tensor_unref(flat);
    if (!error) return CTSC_OK;
    if (!arg_bool(&args[2]))
        snprintf(batch, sizeof batch, "(Batch element %lld): ", (long long)index);
    size_t row = 0;
    while (!strstr(name, rows[row].name)) row++;
    const char *after = rows[row].after;
    char code[16] = "";
    if (after) snprintf(code, sizeof code, "%d", error);
    return diag_fail(cx->diag, CTSC_FAILED, "%s: %s%s%s%s", name, batch, rows[row].before, code,
                     after ? after : "");
}
