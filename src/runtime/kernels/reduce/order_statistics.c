/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_statistics.c - order statistics: median, nanmedian, mode, quantile, nanquantile.
 *
 * Method: a row's values become int64 keys that compare like the values (NaN last, both zeros
 * equal), paired with their positions. Ties are ordered by position, so results are the same
 * everywhere; for mode by PyTorch's way of sorting. Medians select (C. A. R. Hoare, Algorithm 65:
 * Find, 1961), the others sort.
 * Tests: tests/unit/test_reduce.c
 */
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/reduce/reduce.h"
#include "tensor/strides.h"

#include <math.h>
#include <string.h>

typedef struct stats_pair {
    int64_t key, at;
} stats_pair;

static const int64_t stats_nan = INT64_MAX; /* the key of every NaN */

static bool stats_less(const stats_pair *a, const stats_pair *b) {
    return a->key < b->key || (a->key == b->key && a->at < b->at);
}

/* Doubles compare like their bits, once those of negative ones are complemented. */
static int64_t stats_key_of(double v) {
    int64_t bits;
    if (isnan(v)) return stats_nan;
    v += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static void stats_swap(stats_pair *a, stats_pair *b) {
    stats_pair t = *a;
    *a = *b;
    *b = t;
}

/* Puts the k-th smallest in its place. The pivot is the median of three; a range that does not
 * shrink well still ends, as positions make all pairs different. */
static stats_pair stats_select(stats_pair *p, int64_t n, int64_t k) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (stats_less(&p[mid], &p[low])) stats_swap(&p[mid], &p[low]);
        if (stats_less(&p[high], &p[low])) stats_swap(&p[high], &p[low]);
        if (stats_less(&p[high], &p[mid])) stats_swap(&p[high], &p[mid]);
        stats_pair pivot = p[mid];
        int64_t i = low, j = high;
        while (i <= j) {
            while (stats_less(&p[i], &pivot)) i++;
            while (stats_less(&pivot, &p[j])) j--;
            if (i <= j) stats_swap(&p[i++], &p[j--]);
        }
        if (k <= j) high = j;
        else if (k >= i) low = i;
        else break;
    }
    return p[k];
}

static void stats_sift(stats_pair *p, int64_t root, int64_t n) {
    stats_pair v = p[root];
    for (int64_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && stats_less(&p[child], &p[child + 1])) child++;
        if (!stats_less(&v, &p[child])) break;
        p[root] = p[child];
    }
    p[root] = v;
}

/* Quicksort down to short ranges, heap sort where it goes too deep, insertion at the end. */
static void stats_sort(stats_pair *p, int64_t n, int depth) {
    while (n > 16) {
        if (depth-- == 0) {
            for (int64_t i = n / 2; i-- > 0;) stats_sift(p, i, n);
            for (int64_t i = n; i-- > 1;) {
                stats_swap(&p[0], &p[i]);
                stats_sift(p, 0, i);
            }
            return;
        }
        stats_pair pivot = p[n / 2];
        int64_t i = 0, j = n - 1;
        while (i <= j) {
            while (stats_less(&p[i], &pivot)) i++;
            while (stats_less(&pivot, &p[j])) j--;
            if (i <= j) stats_swap(&p[i++], &p[j--]);
        }
        stats_sort(p, j + 1, depth);
        p += i;
        n -= i;
    }
    for (int64_t i = 1; i < n; i++) {
        stats_pair v = p[i];
        int64_t k = i;
        for (; k > 0 && stats_less(&v, &p[k - 1]); k--) p[k] = p[k - 1];
        p[k] = v;
    }
}

/* ---- the order of equals ----

   Which of several equal values mode names follows in PyTorch from how the C++ library sorts: quicksort around the median of the second, the
   middle and the last value, put first, until ranges have at most 16, and then insertion. The same steps are taken here, comparing keys alone. */

static void stats_median_first(stats_pair *p, stats_pair *a, stats_pair *b, stats_pair *c) {
    if (a->key < b->key) stats_swap(p, b->key < c->key ? b : a->key < c->key ? c : a);
    else stats_swap(p, a->key < c->key ? a : b->key < c->key ? c : b);
}

static void stats_sort_keys_coarsely(stats_pair *p, int64_t n, int depth) {
    while (n > 16) {
        if (depth-- == 0) { /* unlike PyTorch, but in order */
            stats_sort(p, n, 0);
            return;
        }
        stats_median_first(p, &p[1], &p[n / 2], &p[n - 1]);
        int64_t i = 1, j = n;
        for (;; i++) {
            while (p[i].key < p[0].key) i++;
            for (j--; p[0].key < p[j].key;) j--;
            if (i >= j) break;
            stats_swap(&p[i], &p[j]);
        }
        stats_sort_keys_coarsely(p + i, n - i, depth);
        n = i;
    }
}

static void stats_sort_keys(stats_pair *p, int64_t n) {
    int depth = 0;
    while (n >> (depth + 1)) depth++;
    stats_sort_keys_coarsely(p, n, 2 * depth);
    for (int64_t i = 1; i < n; i++) {
        stats_pair v = p[i];
        int64_t k = i;
        for (; k > 0 && v.key < p[k - 1].key; k--) p[k] = p[k - 1];
        p[k] = v;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { STATS_DEPTH = 64 };

typedef struct stats_job {
    enum { STATS_MEDIAN, STATS_NANMEDIAN, STATS_MODE, STATS_QUANTILE } what;
    const tensor *rows; /* int64 or double */
    int64_t n;
    tensor *values, *indices;
    /* quantiles */
    const double *q;
    int64_t nq;
    bool skip_nan;
    int interpolation;
    atomic_bool no_memory;
} stats_job;

/* Fills pairs from row r; returns the number of values that are not NaN. */
static int64_t stats_load(const stats_job *j, int64_t r, stats_pair *pairs) {
    int64_t valid = 0;
    if (j->rows->dtype == DT_INT64) {
        const int64_t *x = TENSOR_AT(j->rows, int64_t) + r * j->n;
        for (int64_t k = 0; k < j->n; k++) pairs[k] = (stats_pair){x[k], k};
        return j->n;
    }
    const double *x = TENSOR_AT(j->rows, double) + r * j->n;
    for (int64_t k = 0; k < j->n; k++) {
        pairs[k] = (stats_pair){stats_key_of(x[k]), k};
        valid += pairs[k].key != stats_nan;
    }
    return valid;
}

/* The result of row r is the row's element `at`. */
static void stats_put(const stats_job *j, int64_t r, int64_t at) {
    dtype dt = (dtype)j->values->dtype;
    char *p = (char *)tensor_data(j->values) + (size_t)r * dtype_size(dt);
    int64_t from = r * j->n + at;
    if (j->rows->dtype == DT_INT64) dtype_store_int(dt, p, TENSOR_AT(j->rows, int64_t)[from]);
    else dtype_store_float(dt, p, TENSOR_AT(j->rows, double)[from]);
    if (j->indices) TENSOR_AT(j->indices, int64_t)[r] = at;
}

static void stats_median_row(const stats_job *j, int64_t r, stats_pair *pairs) {
    int64_t valid = stats_load(j, r, pairs);
    if (valid < j->n && j->what == STATS_MEDIAN) { /* the first NaN */
        int64_t k = 0;
        while (pairs[k].key != stats_nan) k++;
        stats_put(j, r, k);
        return;
    }
    int64_t k = valid ? (valid - 1) / 2 : 0;
    stats_put(j, r, stats_select(pairs, j->n, k).at);
}

/* The most frequent value, the smallest of them, at the place of the last of its run. */
static void stats_mode_row(const stats_job *j, int64_t r, stats_pair *pairs) {
    stats_load(j, r, pairs);
    stats_sort_keys(pairs, j->n);
    int64_t best = 0, best_run = 0, run = 0;
    bool floats = j->rows->dtype != DT_INT64;
    for (int64_t k = 0; k < j->n; k++) {
        bool same = k > 0 && pairs[k].key == pairs[k - 1].key;
        run = same && !(floats && pairs[k].key == stats_nan) ? run + 1 : 1;
        if (run > best_run) best_run = run, best = pairs[k].at;
    }
    stats_put(j, r, best);
}

enum { QUANTILE_LINEAR, QUANTILE_LOWER, QUANTILE_HIGHER, QUANTILE_MIDPOINT, QUANTILE_NEAREST };

/* The value between two neighbours in the order, in the precision of the tensor. */
static double stats_blend(bool single, double low, double high, double w) {
    if (!single) return w < 0.5 ? low + w * (high - low) : high - (high - low) * (1 - w);
    float a = (float)low, b = (float)high, f = (float)w;
    return (double)(f < 0.5F ? a + f * (b - a) : b - (b - a) * (1 - f));
}

static void stats_quantile_row(const stats_job *j, int64_t r, stats_pair *pairs) {
    const double *x = TENSOR_AT(j->rows, double) + r * j->n;
    int64_t valid = stats_load(j, r, pairs);
    bool single = j->values->dtype == DT_FLOAT32, lost = valid == 0;
    stats_sort(pairs, j->n, STATS_DEPTH);
    if (!j->skip_nan) lost = valid < j->n, valid = j->n;
    for (int64_t i = 0; i < j->nq; i++) {
        double rank = j->q[i] * (double)(valid - 1), v = NAN;
        if (single) rank = (double)((float)j->q[i] * (float)(valid - 1));
        if (j->interpolation == QUANTILE_LOWER) rank = floor(rank);
        if (j->interpolation == QUANTILE_HIGHER) rank = ceil(rank);
        if (j->interpolation == QUANTILE_NEAREST) rank = nearbyint(rank);
        if (!lost) {
            double below = floor(rank), above = ceil(rank), w = rank - below;
            bool blends = j->interpolation == QUANTILE_LINEAR;
            if (j->interpolation == QUANTILE_MIDPOINT) blends = true, w = 0.5;
            v = x[pairs[(int64_t)below].at];
            if (blends) v = stats_blend(single, v, x[pairs[(int64_t)above].at], w);
        }
        if (single) TENSOR_AT(j->values, float)[r * j->nq + i] = (float)v;
        else TENSOR_AT(j->values, double)[r * j->nq + i] = v;
    }
}

static void stats_range(void *ctx, int64_t begin, int64_t end) {
    stats_job *j = ctx;
    size_t bytes;
    stats_pair *pairs = size_mul((size_t)j->n, sizeof *pairs, &bytes) ? mem_alloc(bytes) : NULL;
    if (!pairs) {
        atomic_store(&j->no_memory, true);
        return;
    }
    for (int64_t r = begin; r < end; r++) {
        if (j->what == STATS_MODE) stats_mode_row(j, r, pairs);
        else if (j->what == STATS_QUANTILE) stats_quantile_row(j, r, pairs);
        else stats_median_row(j, r, pairs);
    }
    mem_free(pairs);
}

/* Runs the job over the masked dims of `in`, which hold at least one value per result. */
static ctsc_status stats_run(op_ctx *cx, stats_job *j, const tensor *in, const bool *mask) {
    tensor *rows;
    if (in->numel == 0) return CTSC_OK;
    bool whole = dtype_is_integral((dtype)in->dtype);
    TRY(reduce_rows(cx, in, mask, whole ? DT_INT64 : DT_FLOAT64, &rows));
    j->rows = rows;
    j->n = reduce_count(in, mask);
    ctsc_status st = op_for(cx, in->numel / j->n, reduce_max_i64(STATS_GRAIN / j->n, 1),
                            stats_range, j);
    tensor_unref(rows);
    if (st != CTSC_OK) return st;
    return atomic_load(&j->no_memory) ? diag_no_memory(cx->diag) : CTSC_OK;
}

/* ---- median, mode ---------------------------------------------------------------------------- */

static ctsc_status stats_dim(op_ctx *cx, const value *args, int what, const char *name,
                             value *results) {
    tensor *in = arg_tensor(&args[0]);
    bool mask[TENSOR_MAX_DIMS], keepdim = arg_bool(&args[2]);
    TRY(reduce_mask(cx, &args[1], in->ndim, mask));
    TRY(reduce_check_nonempty(cx, name, in, mask));
    if (!dtype_is_float((dtype)in->dtype) && !dtype_is_integral((dtype)in->dtype))
        return op_refuse_dtype(cx, name, (dtype)in->dtype);
    if (in->dtype == DT_BOOL && what != STATS_MODE)
        return op_refuse_dtype(cx, "median_out", DT_BOOL);
    stats_job j = {.what = what};
    TRY(reduce_new_out(cx, in, mask, keepdim, (dtype)in->dtype, &j.values));
    ctsc_status st = reduce_new_out(cx, in, mask, keepdim, DT_INT64, &j.indices);
    if (st == CTSC_OK) st = stats_run(cx, &j, in, mask);
    if (st == CTSC_OK) return reduce_finish_two(cx, args, j.values, j.indices, results);
    tensor_unref(j.values);
    tensor_unref(j.indices);
    return st;
}

ctsc_status op_median_dim(op_ctx *cx, const value *args, value *results) {
    return stats_dim(cx, args, STATS_MEDIAN, "median()", results);
}
ctsc_status op_nanmedian_dim(op_ctx *cx, const value *args, value *results) {
    return stats_dim(cx, args, STATS_NANMEDIAN, "median()", results);
}
ctsc_status op_mode(op_ctx *cx, const value *args, value *results) {
    return stats_dim(cx, args, STATS_MODE, "mode()", results);
}

static ctsc_status stats_all(op_ctx *cx, const value *args, int what, value *results) {
    tensor *in = arg_tensor(&args[0]);
    bool mask[TENSOR_MAX_DIMS];
    dtype dt = (dtype)in->dtype;
    TRY(arg_dim_mask(cx, &(value){.tag = V_NONE}, in->ndim, mask));
    if (dt == DT_BOOL || (!dtype_is_float(dt) && !dtype_is_integral(dt)))
        return op_refuse_dtype(cx, "median_cpu", dt);
    stats_job j = {.what = what};
    TRY(tensor_scalar_float(cx->diag, dt, NAN, &j.values)); /* what nothing has for a median */
    ctsc_status st = stats_run(cx, &j, in, mask);
    if (st == CTSC_OK) return op_finish(cx, args, j.values, results);
    tensor_unref(j.values);
    return st;
}

ctsc_status op_median(op_ctx *cx, const value *args, value *results) {
    return stats_all(cx, args, STATS_MEDIAN, results);
}
ctsc_status op_nanmedian(op_ctx *cx, const value *args, value *results) {
    return stats_all(cx, args, STATS_NANMEDIAN, results);
}

/* ---- quantile -------------------------------------------------------------------------------- */

static ctsc_status quantile_mode(op_ctx *cx, const value *args, int *mode) {
    static const char *const names[] = {"linear", "lower", "higher", "midpoint", "nearest"};
    const value *given = reduce_arg(cx, args, "interpolation");
    const char *text = given->tag == V_STR ? given->u.str->bytes : "linear";
    for (int i = 0; i < 5; i++)
        if (strcmp(text, names[i]) == 0) return *mode = i, CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "quantile() interpolation must be one of linear, lower, higher, midpoint or "
                     "nearest, but got %s",
                     text);
}

static ctsc_status quantile_check(op_ctx *cx, const tensor *in, const tensor *q) {
    enum { QUANTILE_MOST = 1 << 24 }; /* ranks are floats */
    const char *why = NULL;
    if (in->numel == 0) why = "input tensor must be non-empty";
    else if (q && q->ndim > 1) why = "q must be a scalar or 1D tensor";
    else if (in->dtype != DT_FLOAT32 && in->dtype != DT_FLOAT64)
        why = "input tensor must be either float or double dtype";
    else if (q && q->dtype != in->dtype) why = "q tensor must be same dtype as the input tensor";
    else if (in->numel > QUANTILE_MOST) why = "input tensor is too large";
    return why ? diag_fail(cx->diag, CTSC_FAILED, "quantile() %s", why) : CTSC_OK;
}

/* The probabilities as doubles, checked; *q is the caller's to free. */
static ctsc_status quantile_read(op_ctx *cx, const value *arg, double **q, int64_t *n) {
    tensor *t = arg->tag == V_TENSOR ? arg->u.tensor : NULL;
    *n = t ? t->numel : 1;
    double *data = *q = mem_alloc(sizeof *data * (size_t)(*n + 1));
    if (!data) return diag_no_memory(cx->diag);
    for (int64_t i = 0; i < *n && t; i++) {
        int64_t at = t->ndim ? i * t->strides[0] : 0;
        data[i] = dtype_load_float((dtype)t->dtype, (char *)tensor_data(t) +
                                                        at * (int64_t)dtype_size((dtype)t->dtype));
        if (!(data[i] >= 0 && data[i] <= 1))
            return diag_fail(cx->diag, CTSC_FAILED,
                             "quantile() q values must be in the range [0, 1]");
    }
    if (!t) {
        data[0] = arg_float(arg);
        if (!(data[0] >= 0 && data[0] <= 1))
            return diag_fail(cx->diag, CTSC_FAILED,
                             "quantile() q must be in the range [0, 1] but got %g", data[0]);
    }
    return CTSC_OK;
}

/* The output: a leading dim for the probabilities if those are a list, the innermost in memory. */
static ctsc_status quantile_out(op_ctx *cx, const tensor *in, const bool *mask, bool keepdim,
                                bool list, int64_t nq, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS + 1], strides[TENSOR_MAX_DIMS + 1], step = nq;
    int n = 0;
    if (list) sizes[n++] = nq;
    for (int i = 0; i < in->ndim; i++) {
        if (!mask[i]) sizes[n++] = in->sizes[i];
        else if (keepdim) sizes[n++] = 1;
    }
    if (n > TENSOR_MAX_DIMS) return diag_fail(cx->diag, CTSC_LIMIT, "too many dimensions");
    for (int i = n - 1; i >= list; i--) {
        strides[i] = step;
        step *= sizes[i] ? sizes[i] : 1;
    }
    if (list) strides[0] = 1;
    return tensor_new_strided(cx->diag, DEVICE_HOST, (dtype)in->dtype, n, sizes, strides, out);
}

static ctsc_status quantile_run(op_ctx *cx, const value *args, bool skip_nan, value *results) {
    tensor *in = arg_tensor(&args[0]), *q = args[1].tag == V_TENSOR ? args[1].u.tensor : NULL;
    bool mask[TENSOR_MAX_DIMS];
    double *probabilities = NULL;
    stats_job j = {.what = STATS_QUANTILE, .skip_nan = skip_nan};
    TRY(quantile_mode(cx, args, &j.interpolation));
    TRY(quantile_check(cx, in, q));
    TRY(reduce_mask(cx, &args[2], in->ndim, mask));
    ctsc_status st = quantile_read(cx, &args[1], &probabilities, &j.nq);
    if (st == CTSC_OK)
        st = quantile_out(cx, in, mask, arg_bool(&args[3]), q && q->ndim == 1, j.nq, &j.values);
    if (st == CTSC_OK) {
        j.q = probabilities;
        st = stats_run(cx, &j, in, mask);
        if (st != CTSC_OK) tensor_unref(j.values);
    }
    mem_free(probabilities);
    return st == CTSC_OK ? op_finish(cx, args, j.values, results) : st;
}

ctsc_status op_quantile(op_ctx *cx, const value *args, value *results) {
    return quantile_run(cx, args, false, results);
}
ctsc_status op_nanquantile(op_ctx *cx, const value *args, value *results) {
    return quantile_run(cx, args, true, results);
}
