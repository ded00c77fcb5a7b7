/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - operators that look values up: searchsorted, bucketize, isin.
 *
 * Method: numbers are compared in int64 if the operands' common type is an integer, else in
 * double, which holds every value of the smaller floating types.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/index/sort.h"

/* A tensor of the common type, contiguous and widened to int64 or double. */
static ctsc_status search_widen(op_ctx *cx, const value *operand, dtype common, tensor **out) {
    tensor *same, *wide;
    TRY(operand_to_tensor(cx, operand, common, &same));
    ctsc_status status = tensor_to_dtype(cx->diag, same,
                                         dtype_is_float(common) ? DT_FLOAT64 : DT_INT64, &wide);
    tensor_unref(same);
    if (status) return status;
    status = tensor_contiguous(cx->diag, wide, out);
    tensor_unref(wide);
    return status;
}

/* ---- searchsorted, bucketize ----------------------------------------------------------------- */

typedef struct search_job {
    const void *edges, *values; /* int64_t or double */
    const int64_t *order;       /* of the edges in their row, or NULL */
    bool floats, right, int32;
    int64_t nedges;  /* of a row */
    int64_t per_row; /* values that search in one row of edges */
    void *out;
} search_job;

/* Place of v among n edges: the first that is not less than v, or, if right, greater. */
#define SEARCH_ROW(name, T)                                                                        \
    static int64_t name(const T *edges, const int64_t *order, int64_t n, T v, bool right) {        \
        int64_t low = 0, high = n;                                                                 \
        while (low < high) {                                                                       \
            int64_t middle = low + (high - low) / 2;                                               \
            T edge = edges[order ? order[middle] : middle];                                        \
            if (right ? edge > v : edge >= v) high = middle;                                       \
            else low = middle + 1;                                                                 \
        }                                                                                          \
        return low;                                                                                \
    }
SEARCH_ROW(search_ints, int64_t)
SEARCH_ROW(search_doubles, double)

static void search_range(void *ctx, int64_t begin, int64_t end) {
    const search_job *job = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t start = job->per_row ? i / job->per_row * job->nedges : 0;
        const int64_t *order = job->order ? job->order + start : NULL;
        int64_t at = job->floats
                         ? search_doubles((const double *)job->edges + start, order, job->nedges,
                                          ((const double *)job->values)[i], job->right)
                         : search_ints((const int64_t *)job->edges + start, order, job->nedges,
                                       ((const int64_t *)job->values)[i], job->right);
        if (job->int32) ((int32_t *)job->out)[i] = (int32_t)at;
        else ((int64_t *)job->out)[i] = at;
    }
}

/* edges: a tensor; values: a tensor or number. sorter may be NULL. */
static ctsc_status search_sorted(op_ctx *cx, const value *edges, const value *values, bool int32,
                                 bool right, tensor *sorter, tensor **out) {
    const value both[] = {*edges, *values};
    dtype common = promote_operands(2, both);
    if (!sort_has_order(common) || common == DT_BOOL)
        return op_refuse_dtype(cx, "searchsorted_out_cpu", common);
    tensor *e = NULL, *v = NULL, *order = NULL, *result = NULL;
    ctsc_status status = search_widen(cx, edges, common, &e);
    if (!status) status = search_widen(cx, values, common, &v);
    if (!status && sorter) status = tensor_contiguous(cx->diag, sorter, &order);
    int64_t nedges = e && e->ndim ? e->sizes[e->ndim - 1] : 1;
    for (int64_t i = 0; !status && order && i < order->numel; i++) {
        int64_t k = TENSOR_AT(order, int64_t)[i];
        if (k < 0 || k >= nedges)
            status = diag_fail(cx->diag, CTSC_FAILED,
                               "torch.searchsorted(): sorter holds %" PRId64 ", which is out of "
                               "bounds for a boundaries tensor with %" PRId64 " elements in a row",
                               k, nedges);
    }
    if (!status)
        status = tensor_new(cx->diag, int32 ? DT_INT32 : DT_INT64, v->ndim, v->sizes, &result);
    if (!status && result->numel > 0) {
        bool rows = e->ndim > 1;
        search_job job = {.edges = tensor_data(e),
                          .values = tensor_data(v),
                          .order = order ? tensor_data(order) : NULL,
                          .floats = e->dtype == DT_FLOAT64,
                          .right = right,
                          .int32 = int32,
                          .nedges = nedges,
                          .out = tensor_data(result)};
        job.per_row = rows ? v->sizes[v->ndim - 1] : 0;
        pool_for(result->numel, SEARCH_GRAIN, search_range, &job);
    }
    tensor_unref(e);
    tensor_unref(v);
    tensor_unref(order);
    if (!status) *out = result;
    return status;
}

static ctsc_status search_fail_sizes(op_ctx *cx, const char *before, const tensor *a,
                                     const char *between, const tensor *b) {
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, before);
    tensor_print_sizes(a->ndim, a->sizes, &sb);
    sb_puts(&sb, between);
    tensor_print_sizes(b->ndim, b->sizes, &sb);
    ctsc_status status = diag_fail(cx->diag, CTSC_FAILED, "torch.searchsorted(): %s", sb_str(&sb));
    sb_free(&sb);
    return status;
}

static ctsc_status search_check_shapes(op_ctx *cx, const tensor *edges, const tensor *values,
                                       const tensor *sorter) {
    if (sorter && !tensor_same_shape(edges, sorter))
        return search_fail_sizes(cx,
                                 "boundary and sorter must have the same size, but got boundary "
                                 "tensor ",
                                 edges, "and got sorter tensor ", sorter);
    if (sorter && sorter->dtype != DT_INT64)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            "%s",
            dtype_table[sorter->dtype].ir_name);
    if ((!values || values->ndim == 0) && edges->ndim != 1 && edges->ndim != 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.searchsorted(): input value can be a scalar only when boundaries "
                         "tensor dimension is 1, but we got boundaries tensor dim(%d) and input "
                         "value's dim(0) numel(1)",
                         edges->ndim);
    if (edges->ndim == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.searchsorted(): boundaries tensor should have positive dimension, "
                         "but got 0 dimension");
    if (edges->ndim == 1) return CTSC_OK;
    bool match = edges->ndim == values->ndim;
    for (int i = 0; match && i < edges->ndim - 1; i++) match = edges->sizes[i] == values->sizes[i];
    if (match) return CTSC_OK;
    return search_fail_sizes(
        cx,
        "boundaries tensor should be 1 dimension or the first N-1 dimensions of "
        "boundaries tensor and input value tensor must match, but we got "
        "boundaries tensor ",
        edges, " and input value tensor ", values);
}

static ctsc_status search_check_out(op_ctx *cx, const value *args, bool int32) {
    const schema *s = cx->op->schema;
    if (!s->has_alias_write) return CTSC_OK;
    dtype dt = (dtype)arg_tensor(&args[s->nargs - 1])->dtype;
    if (dt == (int32 ? DT_INT32 : DT_INT64)) return CTSC_OK;
    return diag_fail(
        cx->diag, CTSC_FAILED,
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be "
        "Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we "
        "got output tensor's dtype %s and out_int32 flag is %s",
        dtype_table[dt].ir_name, int32 ? "True" : "False");
}

ctsc_status op_searchsorted(op_ctx *cx, const value *args, value *results) {
    const tensor *edges = arg_tensor(&args[0]);
    tensor *sorter = arg_tensor_or_null(&args[5]), *out;
    bool right = arg_bool(&args[3]);
    if (args[4].tag == V_STR) {
        const char *side = args[4].u.str->bytes;
        if (strcmp(side, "left") != 0 && strcmp(side, "right") != 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "torch.searchsorted(): side can only be 'left' or 'right' but got %s",
                             side);
        if (right && strcmp(side, "left") == 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "torch.searchsorted(): side and right can't be set to opposites, got "
                             "side of %s while right was True",
                             side);
        right |= strcmp(side, "right") == 0;
    }
    TRY(search_check_shapes(cx, edges, arg_tensor_or_null(&args[1]), sorter));
    TRY(search_check_out(cx, args, arg_bool(&args[2])));
    TRY(search_sorted(cx, &args[0], &args[1], arg_bool(&args[2]), right, sorter, &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_bucketize(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    if (arg_tensor(&args[1])->ndim != 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "boundaries tensor must be 1 dimension, but got dim(%d)",
                         arg_tensor(&args[1])->ndim);
    TRY(search_check_out(cx, args, arg_bool(&args[2])));
    TRY(search_sorted(cx, &args[1], &args[0], arg_bool(&args[2]), arg_bool(&args[3]), NULL, &out));
    return op_finish(cx, args, out, results);
}

/* ---- isin ------------------------------------------------------------------------------------ */

typedef struct search_isin_job {
    const char *values;
    dtype dt;
    const sort_pair *tests; /* sorted */
    int64_t ntests;
    bool invert, has_nan;
    uint64_t nan;
    uint8_t *out;
} search_isin_job;

static void search_isin_range(void *ctx, int64_t begin, int64_t end) {
    const search_isin_job *job = ctx;
    size_t item = dtype_size(job->dt);
    for (int64_t i = begin; i < end; i++) {
        sort_pair v;
        sort_make_keys(job->dt, job->values + (size_t)i * item, 0, 1, false, &v);
        int64_t low = 0, high = job->ntests;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (job->tests[middle].key >= v.key) high = middle;
            else low = middle + 1;
        }
        bool found = low < job->ntests && job->tests[low].key == v.key &&
                     !(job->has_nan && v.key == job->nan);
        job->out[i] = found != job->invert;
    }
}

static ctsc_status search_check_isin(op_ctx *cx, const value *v) {
    dtype dt = v->tag == V_TENSOR ? (dtype)v->u.tensor->dtype
               : v->tag == V_BOOL ? DT_BOOL
                                  : DT_INT64;
    if (dt != DT_BOOL && sort_has_order(dt)) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "Unsupported input type encountered for isin(): %s",
                     dtype_table[dt].ir_name);
}

ctsc_status op_isin(op_ctx *cx, const value *args, value *results) {
    TRY(search_check_isin(cx, &args[0]));
    TRY(search_check_isin(cx, &args[1]));
    dtype common = promote_operands(2, args);
    tensor *values = NULL, *tests = NULL, *out = NULL;
    sort_pair *pairs = NULL;
    ctsc_status status = search_widen(cx, &args[0], common, &values);
    if (!status) status = search_widen(cx, &args[1], common, &tests);
    if (!status) status = tensor_new(cx->diag, DT_BOOL, values->ndim, values->sizes, &out);
    if (!status) {
        pairs = mem_alloc((size_t)tests->numel * 2 * sizeof *pairs);
        if (!pairs) status = diag_no_memory(cx->diag);
    }
    if (!status) {
        dtype dt = (dtype)tests->dtype;
        search_isin_job job = {.values = tensor_data(values),
                               .dt = dt,
                               .tests = pairs,
                               .ntests = tests->numel,
                               .invert = arg_bool(&args[3]),
                               .out = tensor_data(out)};
        job.has_nan = sort_nan_key(dt, &job.nan);
        sort_make_keys(dt, tensor_data(tests), sizeof(int64_t), tests->numel, false, pairs);
        sort_pairs(pairs, pairs + tests->numel, tests->numel, sizeof(int64_t));
        pool_for(values->numel, SEARCH_GRAIN, search_isin_range, &job);
    }
    mem_free(pairs);
    tensor_unref(values);
    tensor_unref(tests);
    if (!status) return op_finish(cx, args, out, results);
    tensor_unref(out);
    return status;
}
