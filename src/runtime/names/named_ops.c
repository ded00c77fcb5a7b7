/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_ops.c - operators that are about names of dims: rename, refine_names, align_to, flatten and
 * unflatten by name.
 *
 * Their results are views. What makes them is called without names (names_through), so that
 * programs that take gradients record it, and the results get theirs here. In a list of names "..."
 * stands for what it leaves out, "*" for none.
 * Tests: tests/python/test_py_named.py
 */
#include "runtime/kernels/engine/kernel.h"
#include "runtime/names/names.h"

#include <inttypes.h>
#include <string.h>

/* An operator called with names out of its way. */
static ctsc_status names_through(op_ctx *cx, const char *key, int nargs, const value *args,
                                 value *results) {
    names_suspend();
    ctsc_status s = op_call(cx, key, nargs, args, results);
    names_resume();
    return s;
}

/* results[0], a tensor, gets the names, or is released. */
static ctsc_status names_finish(op_ctx *cx, const names_row *row, value *results) {
    ctsc_status s = tensor_set_names(cx->diag, results[0].u.tensor, row);
    if (s != CTSC_OK) value_set(&results[0], value_none());
    return s;
}

static ctsc_status names_alias(op_ctx *cx, const value *self, const names_row *row,
                               value *results) {
    TRY(names_through(cx, "aten::alias", 1, self, results));
    return names_finish(cx, row, results);
}

/* A failure that shows one or two rows of names: each %s of fmt. */
static ctsc_status names_fail(op_ctx *cx, const char *fmt, const names_row *a, const names_row *b)
    __attribute__((nonnull(2, 3)));
static ctsc_status names_fail(op_ctx *cx, const char *fmt, const names_row *a, const names_row *b) {
    strbuf text = STRBUF_INIT;
    for (const char *p = fmt; *p; p++) {
        if (*p != '%') {
            sb_putc(&text, *p);
            continue;
        }
        if (a) names_print(a, &text);
        a = b;
    }
    ctsc_status s = diag_fail(cx->diag, CTSC_FAILED, "%s", sb_str(&text));
    sb_free(&text);
    return s;
}

/* ---- "..." ----------------------------------------------------------------------------------- */

static int names_ellipsis(const names_row *row) {
    for (int i = 0; i < row->n; i++)
        if (row->of[i] && !strcmp(row->of[i], "...")) return i;
    return -1;
}

static ctsc_status names_one_ellipsis(op_ctx *cx, const char *what, const names_row *row, int at) {
    for (int i = at + 1; at >= 0 && i < row->n; i++)
        if (row->of[i] && !strcmp(row->of[i], "..."))
            return diag_fail(cx->diag, CTSC_FAILED,
                             "%s: More than one Ellipsis ('...') found in names. This function "
                             "supports up to one Ellipsis.",
                             what);
    return CTSC_OK;
}

/* In the place of "..." the names that t has there. */
static ctsc_status names_fill(op_ctx *cx, const char *what, const tensor *t, names_row *row) {
    int at = names_ellipsis(row), left = t->ndim - (row->n - 1);
    TRY(names_one_ellipsis(cx, what, row, at));
    if (at < 0) return CTSC_OK;
    names_row out = {0};
    for (int i = 0; i < at; i++) out.of[out.n++] = row->of[i];
    for (int i = 0; i < left; i++) out.of[out.n++] = tensor_dim_name(t, at + i);
    for (int i = at + 1; i < row->n; i++) out.of[out.n++] = row->of[i];
    *row = out;
    return CTSC_OK;
}

/* ---- other names for the same dims ----------------------------------------------------------- */

static ctsc_status names_renamed(op_ctx *cx, const value *args, names_row *row) {
    const tensor *t = arg_tensor(&args[0]);
    if (arg_is_none(&args[1])) return *row = (names_row){.n = t->ndim}, CTSC_OK;
    TRY(names_given(cx, &args[1], row));
    return names_fill(cx, "rename", t, row);
}

ctsc_status op_rename(op_ctx *cx, const value *args, value *results) {
    names_row row;
    TRY(names_renamed(cx, args, &row));
    return names_alias(cx, args, &row, results);
}

ctsc_status op_rename_in_place(op_ctx *cx, const value *args, value *results) {
    names_row row;
    TRY(names_renamed(cx, args, &row));
    TRY(tensor_set_names(cx->diag, arg_tensor(&args[0]), &row));
    return op_return_self(results, &args[0]);
}

static ctsc_status names_refuse_refining(op_ctx *cx, const names_row *have, const names_row *want,
                                         int i) {
    char fmt[256];
    const char *x = have->of[i], *y = want->of[i];
    if (y)
        snprintf(fmt, sizeof fmt,
                 "refine_names: cannot coerce Tensor%% to Tensor%% because '%.64s' is different "
                 "from '%.64s' at index %d",
                 x, y, i);
    else
        snprintf(fmt, sizeof fmt,
                 "refine_names: cannot coerce Tensor%% to Tensor%% because '%.64s' is more "
                 "specific than None at index %d",
                 x, i);
    return names_fail(cx, fmt, have, want);
}

ctsc_status op_refine_names(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    names_row row, have = names_of(t);
    char fmt[192];
    TRY(names_given(cx, &args[1], &row));
    TRY(names_fill(cx, "refine_names", t, &row));
    if (row.n != t->ndim) {
        snprintf(fmt, sizeof fmt,
                 "refine_names: cannot coerce Tensor%% to Tensor%% because they have a different "
                 "number of dims (%d and %d respectively).",
                 t->ndim, row.n);
        return names_fail(cx, fmt, &have, &row);
    }
    for (int i = 0; i < row.n; i++)
        if (have.of[i] && !names_equal(have.of[i], row.of[i]))
            return names_refuse_refining(cx, &have, &row, i);
    return names_alias(cx, args, &row, results);
}

/* ---- dims in another order ------------------------------------------------------------------- */

/* A view of self whose dim i is its dim from[i], or a new one of size 1. */
static ctsc_status names_align(op_ctx *cx, const value *self, const names_row *row, const int *from,
                               value *results) {
    const tensor *t = arg_tensor(self);
    value args[4] = {*self, value_none(), value_none(), value_none()};
    list *sizes = list_new(LIST_INT, NULL, (size_t)row->n),
         *strides = list_new(LIST_INT, NULL, (size_t)row->n);
    bool ok = sizes && strides, more = row->n != t->ndim;
    for (int i = 0; ok && i < row->n; i++)
        ok = !more
                 ? list_append_take(sizes, value_int(from[i]))
                 : list_append_take(sizes, value_int(from[i] < 0 ? 1 : t->sizes[from[i]])) &&
                       list_append_take(strides, value_int(from[i] < 0 ? 0 : t->strides[from[i]]));
    if (sizes) args[1] = value_list_take(sizes);
    if (strides) args[2] = value_list_take(strides);
    ctsc_status s = !ok    ? diag_no_memory(cx->diag)
                    : more ? names_through(cx, "aten::as_strided", 4, args, results)
                           : names_through(cx, "aten::permute", 2, args, results);
    value_unref(args[1]);
    value_unref(args[2]);
    return s == CTSC_OK ? names_finish(cx, row, results) : s;
}

static int names_index(const names_row *row, const char *name) {
    for (int i = 0; name && i < row->n; i++)
        if (names_equal(row->of[i], name)) return i;
    return -1;
}

/* Dims that have a name get its place in row; all others come where "..." was (at, -1: nowhere). */
static ctsc_status names_align_to(op_ctx *cx, const value *self, const names_row *row, int at,
                                  value *results) {
    const tensor *t = arg_tensor(self);
    names_row have = names_of(t), out = {0};
    int from[TENSOR_MAX_DIMS];
    char fmt[256];
    for (int i = 0; i < have.n && at < 0; i++) {
        if (!have.of[i]) {
            snprintf(fmt, sizeof fmt,
                     "align_to: All input dims must be named. Found unnamed dim at index %d of "
                     "Tensor%%",
                     i);
            return names_fail(cx, fmt, &have, NULL);
        }
        if (names_index(row, have.of[i]) >= 0) continue;
        snprintf(fmt, sizeof fmt,
                 "align_to: Cannot find dim '%.64s' from Tensor%% in desired alignment %%.",
                 have.of[i]);
        return names_fail(cx, fmt, row, row);
    }
    for (int i = 0; i <= row->n; i++) {
        for (int k = 0; i == at && k < have.n; k++)
            if (names_index(row, have.of[k]) < 0 && out.n < TENSOR_MAX_DIMS)
                from[out.n] = k, out.of[out.n++] = have.of[k];
        if (i == row->n || out.n == TENSOR_MAX_DIMS) break;
        from[out.n] = names_index(&have, row->of[i]);
        out.of[out.n++] = row->of[i];
    }
    TRY(names_check(cx->diag, &out, out.n));
    return names_align(cx, self, &out, from, results);
}

ctsc_status op_align_to(op_ctx *cx, const value *args, value *results) {
    names_row row;
    TRY(names_given(cx, &args[1], &row));
    int at = names_ellipsis(&row);
    TRY(names_one_ellipsis(cx, "align_to", &row, at));
    for (int i = at; at >= 0 && i + 1 < row.n; i++) row.of[i] = row.of[i + 1];
    row.n -= at >= 0;
    return names_align_to(cx, args, &row, at, results);
}

ctsc_status op_align_as(op_ctx *cx, const value *args, value *results) {
    names_row row = names_of(arg_tensor(&args[1]));
    return names_align_to(cx, args, &row, -1, results);
}

ctsc_status op_align_tensors(op_ctx *cx, const value *args, value *results) {
    (void)args, (void)results;
    return diag_fail(cx->diag, CTSC_FAILED, "`align_tensors` not yet implemented.");
}

/* ---- dims joined and split ------------------------------------------------------------------- */

static ctsc_status names_flatten(op_ctx *cx, const value *self, int start, int end,
                                 const char *name, value *results) {
    value args[3] = {*self, value_int(start), value_int(end)};
    names_row have = names_of(arg_tensor(self)), row = {0};
    for (int i = 0; i < start; i++) row.of[row.n++] = have.of[i];
    row.of[row.n++] = strcmp(name, "*") ? name : NULL;
    for (int i = end + 1; i < have.n; i++) row.of[row.n++] = have.of[i];
    TRY(names_check(cx->diag, &row, row.n));
    TRY(names_through(cx, "aten::flatten.using_ints", 3, args, results));
    if (results[0].u.tensor == arg_tensor(self)) { /* nothing to flatten */
        value_set(&results[0], value_none());
        return names_alias(cx, self, &row, results);
    }
    return names_finish(cx, &row, results);
}

ctsc_status op_flatten_named(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    names_row dims, have = names_of(t);
    int first = 0, dim;
    TRY(names_given(cx, &args[1], &dims));
    if (!dims.n)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "flatten(tensor, dims, out_dim): dims cannot be empty");
    for (int i = 0; i < dims.n; i++) {
        TRY(names_find(cx->diag, t, dims.of[i] ? dims.of[i] : "*", &dim));
        if (!i) first = dim;
        else if (dim != first + i)
            return names_fail(
                cx, "flatten(tensor, dims, out_dim): dims % must be consecutive in Tensor%", &dims,
                &have);
    }
    return names_flatten(cx, args, first, first + dims.n - 1, args[2].u.str->bytes, results);
}

static ctsc_status names_flatten_range(op_ctx *cx, const value *args, int start, int end,
                                       value *results) {
    if (start > end)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "flatten() has invalid args: start_dim cannot come after end_dim");
    return names_flatten(cx, args, start, end, args[3].u.str->bytes, results);
}

ctsc_status op_flatten_named_range(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int start, end;
    TRY(names_find(cx->diag, t, args[1].u.str->bytes, &start));
    TRY(names_find(cx->diag, t, args[2].u.str->bytes, &end));
    return names_flatten_range(cx, args, start, end, results);
}

ctsc_status op_flatten_named_out(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int start, end;
    TRY(op_wrap_dim(cx, t, arg_int(&args[1]), &start));
    TRY(op_wrap_dim(cx, t, arg_int(&args[2]), &end));
    return names_flatten_range(cx, args, start, end, results);
}

static ctsc_status names_refuse_sizes(op_ctx *cx, const tensor *t, int dim, int n,
                                      const int64_t *sizes) {
    char fmt[320];
    strbuf sb = STRBUF_INIT;
    names_row have = names_of(t);
    tensor_print_sizes(n, sizes, &sb);
    snprintf(fmt, sizeof fmt,
             "unflatten: Provided sizes %.128s don't multiply up to the size of dim %d ('%.64s': "
             "%" PRId64 ") in Tensor%%",
             sb_str(&sb), dim, have.of[dim], t->sizes[dim]);
    sb_free(&sb);
    return names_fail(cx, fmt, &have, NULL);
}

ctsc_status op_unflatten_named(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    names_row made, have = names_of(t), row = {0};
    const int64_t *sizes;
    int n = arg_ints(&args[2], &sizes), dim, open = 0;
    int64_t product = 1;
    TRY(names_find(cx->diag, t, args[1].u.str->bytes, &dim));
    TRY(names_given(cx, &args[3], &made));
    if (!n) return diag_fail(cx->diag, CTSC_FAILED, "unflatten: sizes must be non-empty");
    if (made.n != n)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "unflatten: Expected the number of names (%d) to be that of sizes (%d)",
                         made.n, n);
    if (have.n - 1 + n > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions",
                         TENSOR_MAX_DIMS);
    bool fits = true;
    for (int i = 0; i < n; i++) {
        open += sizes[i] == -1;
        if (sizes[i] != -1) fits &= !__builtin_mul_overflow(product, sizes[i], &product);
    }
    if (!open && (!fits || product != t->sizes[dim]))
        return names_refuse_sizes(cx, t, dim, n, sizes);
    for (int i = 0; i < dim; i++) row.of[row.n++] = have.of[i];
    for (int i = 0; i < n; i++) row.of[row.n++] = made.of[i];
    for (int i = dim + 1; i < have.n; i++) row.of[row.n++] = have.of[i];
    TRY(names_check(cx->diag, &row, row.n));
    value given[3] = {args[0], value_int(dim), args[2]};
    TRY(names_through(cx, "aten::unflatten.int", 3, given, results));
    return names_finish(cx, &row, results);
}

ctsc_status op_diagonal_named(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    names_row have = names_of(t), row = {0};
    int a, b;
    TRY(names_find(cx->diag, t, args[2].u.str->bytes, &a));
    TRY(names_find(cx->diag, t, args[3].u.str->bytes, &b));
    for (int i = 0; i < have.n; i++)
        if (i != a && i != b) row.of[row.n++] = have.of[i];
    row.of[row.n++] = args[1].u.str->bytes;
    TRY(names_check(cx->diag, &row, row.n));
    value given[4] = {args[0], args[4], value_int(a), value_int(b)};
    TRY(names_through(cx, "aten::diagonal", 4, given, results));
    return names_finish(cx, &row, results);
}
