/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unique.c - unique elements and unique slices, sorted or consecutive, with inverse and counts.
 *
 * Method: elements are sorted as keys (sort.h); equal neighbours form a group. Integers whose
 * range is no wider than their number are counted in a table instead. NaN equals nothing, not
 * even itself, so every NaN is a group. Slices are compared lexicographically by the keys of
 * their elements. What PyTorch returns in hash order (sorted=False) comes sorted here too.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/index/sort.h"

/* The groups found: which positions belong to which. */
typedef struct unique_groups {
    int64_t n;      /* groups */
    int64_t *first; /* position of the first member of each */
    int64_t *count; /* members of each */
    int64_t *of;    /* group of each position */
} unique_groups;

static void unique_free(unique_groups *g) {
    mem_free(g->first);
    mem_free(g->count);
    mem_free(g->of);
}

static ctsc_status unique_begin(op_ctx *cx, int64_t n, unique_groups *g) {
    size_t bytes;
    *g = (unique_groups){0};
    if (size_mul((size_t)n, sizeof *g->first, &bytes)) {
        g->first = mem_alloc(bytes);
        g->count = mem_alloc(bytes);
        g->of = mem_alloc(bytes);
    }
    if (g->first && g->count && g->of) return CTSC_OK;
    unique_free(g);
    return diag_no_memory(cx->diag);
}

/* The next position, in the order of groups, starts a group or joins the last one. */
static void unique_add(unique_groups *g, int64_t position, bool joins) {
    if (!joins) {
        g->first[g->n] = position;
        g->count[g->n++] = 0;
    }
    g->of[position] = g->n - 1;
    g->count[g->n - 1]++;
}

/* The range of the integers of t. False: no integers, none at all, or too wide for a table. */
static bool unique_range(const tensor *t, int64_t *low, int64_t *width) {
    dtype dt = (dtype)t->dtype;
    const char *p = tensor_data(t);
    if (!dtype_is_int(dt) || t->numel == 0) return false;
    int64_t min = INT64_MAX, max = INT64_MIN;
    if (dt == DT_INT64) {
        for (int64_t i = 0; i < t->numel; i++) {
            int64_t v = ((const int64_t *)p)[i];
            min = v < min ? v : min;
            max = v > max ? v : max;
        }
    } else {
        for (int64_t i = 0; i < t->numel; i++) {
            int64_t v = dtype_load_int(dt, p + (size_t)i * dtype_size(dt));
            min = v < min ? v : min;
            max = v > max ? v : max;
        }
    }
    *low = min;
    *width = 0;
    if ((uint64_t)max - (uint64_t)min >= (uint64_t)t->numel) return false;
    *width = max - min + 1;
    return true;
}

/* Calls DO with position i and the value v of each element of t, less low; from the
 * last to the first. */
#define UNIQUE_EACH(DO)                                                                            \
    if (dt == DT_INT64)                                                                            \
        for (int64_t i = t->numel - 1; i >= 0; i--) {                                              \
            int64_t v = ((const int64_t *)p)[i] - low;                                             \
            DO;                                                                                    \
        }                                                                                          \
    else                                                                                           \
        for (int64_t i = t->numel - 1; i >= 0; i--) {                                              \
            int64_t v = dtype_load_int(dt, p + (size_t)i * item) - low;                            \
            DO;                                                                                    \
        }

/* The groups of integers in [low, low + width), counted: first and count hold what is known of a
 * value until the groups are numbered. */
static ctsc_status unique_counted(op_ctx *cx, const tensor *t, int64_t low, int64_t width,
                                  bool inverse, unique_groups *g) {
    dtype dt = (dtype)t->dtype;
    const char *p = tensor_data(t);
    size_t item = dtype_size(dt);
    int64_t *group = inverse ? mem_alloc((size_t)width * sizeof *group) : NULL;
    if (inverse && !group) return diag_no_memory(cx->diag);
    ctsc_status status = unique_begin(cx, t->numel, g);
    if (!status) {
        memset(g->count, 0, (size_t)width * sizeof *g->count);
        UNIQUE_EACH(g->count[v]++; g->first[v] = i)
        for (int64_t v = 0; v < width; v++) {
            if (!g->count[v]) continue;
            g->first[g->n] = g->first[v]; /* n <= v */
            g->count[g->n] = g->count[v];
            if (group) group[v] = g->n;
            g->n++;
        }
        if (group) {
            UNIQUE_EACH(g->of[i] = group[v])
        }
    }
    mem_free(group);
    return status;
}

/* Groups of the elements of a contiguous tensor: of all that are equal, or of equal neighbours.
 * Without `inverse`, the group of each need not be told. */
static ctsc_status unique_elements(op_ctx *cx, const tensor *t, bool consecutive, bool inverse,
                                   unique_groups *g) {
    dtype dt = (dtype)t->dtype;
    int64_t item = (int64_t)dtype_size(dt), n = t->numel, low, width;
    if (!consecutive && unique_range(t, &low, &width))
        return unique_counted(cx, t, low, width, inverse, g);
    size_t bytes;
    sort_pair *pairs = size_mul((size_t)n, 2 * sizeof *pairs, &bytes) ? mem_alloc(bytes) : NULL;
    if (!pairs) return diag_no_memory(cx->diag);
    ctsc_status status = unique_begin(cx, n, g);
    if (!status) {
        uint64_t nan;
        bool has_nan = sort_nan_key(dt, &nan);
        sort_make_keys(dt, tensor_data(t), item, n, false, pairs);
        if (!consecutive) sort_pairs(pairs, pairs + n, n, (size_t)item);
        for (int64_t i = 0; i < n; i++) {
            bool joins = i > 0 && pairs[i].key == pairs[i - 1].key;
            unique_add(g, pairs[i].index, joins && !(has_nan && pairs[i].key == nan));
        }
    }
    mem_free(pairs);
    return status;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Rows of keys. */
typedef struct unique_rows {
    const uint64_t *keys;
    int64_t width;
    bool has_nan;
    uint64_t nan;
} unique_rows;

static int unique_compare(const unique_rows *r, int64_t a, int64_t b) {
    const uint64_t *x = r->keys + a * r->width, *y = r->keys + b * r->width;
    for (int64_t i = 0; i < r->width; i++) {
        if (r->has_nan && (x[i] == r->nan || y[i] == r->nan)) continue; /* neither is less */
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

static bool unique_same_row(const unique_rows *r, int64_t a, int64_t b) {
    if (unique_compare(r, a, b) != 0) return false;
    for (int64_t i = 0; r->has_nan && i < r->width; i++)
        if (r->keys[a * r->width + i] == r->nan || r->keys[b * r->width + i] == r->nan)
            return false;
    return true;
}

/* Few rows by insertion, the order in which PyTorch compares them: rows with NaN have none. */
static void unique_insert_rows(const unique_rows *r, int64_t *order, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        int64_t row = order[i], at = i;
        bool first = unique_compare(r, row, order[0]) < 0;
        while (at > 0 && (first || unique_compare(r, row, order[at - 1]) < 0)) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = row;
    }
}

enum { UNIQUE_FEW = 16 };

/* Stable merge sort of row numbers, bottom up. */
static void unique_sort_rows(const unique_rows *r, int64_t *order, int64_t *scratch, int64_t n) {
    if (n <= UNIQUE_FEW) {
        unique_insert_rows(r, order, n);
        return;
    }
    int64_t *from = order, *to = scratch;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t start = 0; start < n; start += 2 * run) {
            int64_t middle = start + run < n ? start + run : n;
            int64_t end = start + 2 * run < n ? start + 2 * run : n;
            int64_t a = start, b = middle;
            for (int64_t k = start; k < end; k++) {
                bool left = b == end || (a < middle && unique_compare(r, from[a], from[b]) <= 0);
                to[k] = left ? from[a++] : from[b++];
            }
        }
        int64_t *t = from;
        from = to;
        to = t;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
}

/* Groups of the n rows of a contiguous tensor. */
static ctsc_status unique_slices(op_ctx *cx, const tensor *rows, int64_t n, bool consecutive,
                                 unique_groups *g) {
    dtype dt = (dtype)rows->dtype;
    int64_t total = rows->numel, item = (int64_t)dtype_size(dt);
    unique_rows r = {.width = n ? total / n : 0};
    sort_pair *pairs = mem_alloc((size_t)total * sizeof *pairs);
    uint64_t *keys = mem_alloc((size_t)total * sizeof *keys);
    int64_t *order = mem_alloc((size_t)n * 2 * sizeof *order);
    ctsc_status status = pairs && keys && order ? unique_begin(cx, n, g) : diag_no_memory(cx->diag);
    if (!status) {
        sort_make_keys(dt, tensor_data(rows), item, total, false, pairs);
        for (int64_t i = 0; i < total; i++) keys[i] = pairs[i].key;
        r.keys = keys;
        r.has_nan = sort_nan_key(dt, &r.nan);
        for (int64_t i = 0; i < n; i++) order[i] = i;
        if (!consecutive) unique_sort_rows(&r, order, order + n, n);
        for (int64_t i = 0; i < n; i++)
            unique_add(g, order[i], i > 0 && unique_same_row(&r, order[i - 1], order[i]));
    }
    mem_free(pairs);
    mem_free(keys);
    mem_free(order);
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

/* An int64 tensor of these numbers; an empty one if they are not wanted. */
static ctsc_status unique_numbers(op_ctx *cx, bool wanted, int ndim, const int64_t *sizes,
                                  const int64_t *numbers, tensor **out) {
    const int64_t none = 0;
    if (!wanted) return tensor_new(cx->diag, DT_INT64, 1, &none, out);
    TRY(tensor_new(cx->diag, DT_INT64, ndim, sizes, out));
    if ((*out)->numel) memcpy(tensor_data(*out), numbers, (size_t)(*out)->numel * sizeof *numbers);
    return CTSC_OK;
}

static void unique_release(tensor **out) {
    for (int i = 0; i < 3; i++) tensor_unref(out[i]);
}

static ctsc_status unique_all(op_ctx *cx, tensor *t, bool consecutive, bool inverse, bool counts,
                              tensor **out) {
    tensor *flat;
    unique_groups g;
    out[0] = out[1] = out[2] = NULL;
    if (!sort_has_order((dtype)t->dtype)) return op_refuse_dtype(cx, "unique", (dtype)t->dtype);
    TRY(tensor_contiguous(cx->diag, t, &flat));
    ctsc_status status = unique_elements(cx, flat, consecutive, inverse, &g);
    if (!status) {
        size_t item = dtype_size((dtype)t->dtype);
        status = tensor_new(cx->diag, (dtype)t->dtype, 1, &g.n, &out[0]);
        if (!status && g.n > 0)
            move_gather_for(item)(g.n, tensor_data(out[0]), (int64_t)item, (const char *)g.first,
                                  sizeof *g.first, (int64_t)item, tensor_data(flat), 0);
        if (!status) status = unique_numbers(cx, inverse, t->ndim, t->sizes, g.of, &out[1]);
        if (!status) status = unique_numbers(cx, counts, 1, &g.n, g.count, &out[2]);
        unique_free(&g);
    }
    tensor_unref(flat);
    if (status) unique_release(out);
    return status;
}

static ctsc_status unique_check_dim(op_ctx *cx, const tensor *t, int dim) {
    int empty = 0;
    for (int i = 0; i < t->ndim; i++) empty += t->sizes[i] == 0;
    if (t->sizes[dim] == 0 && empty != 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Number of zero sized dimensions is more than one, so unique cannot be "
                         "applied ");
    if (t->sizes[dim] != 0 && empty != 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "There are 0 sized dimensions, and they aren't selected, so unique cannot "
                         "be applied");
    return CTSC_OK;
}

/* Rows `index` of `rows`, their dim moved to where it was: it stays the outermost in memory. */
static ctsc_status unique_pick(op_ctx *cx, tensor *rows, tensor *index, int dim, tensor **out) {
    const value pick[] = {value_tensor_take(rows), value_int(0), value_tensor_take(index)};
    int64_t order[TENSOR_MAX_DIMS];
    value picked = value_none();
    TRY(op_call(cx, "aten::index_select", 3, pick, &picked));
    for (int i = 0; i < rows->ndim; i++) order[i] = i < dim ? i + 1 : i == dim ? 0 : i;
    ctsc_status status = tensor_permute(cx->diag, picked.u.tensor, rows->ndim, order, out);
    value_unref(picked);
    return status;
}

static ctsc_status unique_dim(op_ctx *cx, tensor *t, int64_t at, bool consecutive, tensor **out) {
    tensor *moved, *rows = NULL;
    int64_t order[TENSOR_MAX_DIMS];
    int dim;
    unique_groups g;
    out[0] = out[1] = out[2] = NULL;
    if (t->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Dimension specified as %" PRId64 " but tensor has no dimensions", at);
    TRY(tensor_wrap_dim(cx->diag, at, t->ndim, &dim));
    if (!sort_has_order((dtype)t->dtype)) return op_refuse_dtype(cx, "unique_dim", (dtype)t->dtype);
    TRY(unique_check_dim(cx, t, dim));
    for (int i = 0; i < t->ndim; i++) order[i] = i > dim ? i : i - 1;
    order[0] = dim;
    TRY(tensor_permute(cx->diag, t, t->ndim, order, &moved));
    ctsc_status status = tensor_contiguous(cx->diag, moved, &rows);
    tensor_unref(moved);
    if (status) return status;
    int64_t n = t->sizes[dim];
    status = unique_slices(cx, rows, n, consecutive, &g);
    if (!status) {
        tensor *index = NULL;
        status = unique_numbers(cx, true, 1, &g.n, g.first, &index);
        if (!status) status = unique_pick(cx, rows, index, dim, &out[0]);
        tensor_unref(index);
        if (!status) status = unique_numbers(cx, true, 1, &n, g.of, &out[1]);
        if (!status) status = unique_numbers(cx, true, 1, &g.n, g.count, &out[2]);
        unique_free(&g);
    }
    tensor_unref(rows);
    if (status) unique_release(out);
    return status;
}

/* ---- operators ------------------------------------------------------------------------------- */

ctsc_status op_unique(op_ctx *cx, const value *args, value *results) { /* _unique */
    tensor *out[3];
    TRY(unique_all(cx, arg_tensor(&args[0]), false, arg_bool(&args[2]), false, out));
    tensor_unref(out[2]);
    return move_finish_many(cx, args, 2, out, results);
}

ctsc_status op_unique2(op_ctx *cx, const value *args, value *results) { /* _unique2 */
    tensor *out[3];
    bool counts = arg_bool(&args[3]), inverse = arg_bool(&args[2]);
    TRY(unique_all(cx, arg_tensor(&args[0]), false, inverse, counts, out));
    return move_finish_many(cx, args, 3, out, results);
}

ctsc_status op_unique_dim(op_ctx *cx, const value *args, value *results) {
    tensor *out[3];
    TRY(unique_dim(cx, arg_tensor(&args[0]), arg_int(&args[1]), false, out));
    return move_finish_many(cx, args, 3, out, results);
}

ctsc_status op_unique_dim_consecutive(op_ctx *cx, const value *args, value *results) {
    tensor *out[3];
    TRY(unique_dim(cx, arg_tensor(&args[0]), arg_int(&args[1]), true, out));
    return move_finish_many(cx, args, 3, out, results);
}

ctsc_status op_unique_consecutive(op_ctx *cx, const value *args, value *results) {
    tensor *t = arg_tensor(&args[0]), *out[3];
    if (args[3].tag == V_NONE || (arg_int(&args[3]) == 0 && t->ndim == 1)) {
        TRY(unique_all(cx, t, true, arg_bool(&args[1]), arg_bool(&args[2]), out));
    } else {
        TRY(unique_dim(cx, t, arg_int(&args[3]), true, out));
    }
    return move_finish_many(cx, args, 3, out, results);
}
