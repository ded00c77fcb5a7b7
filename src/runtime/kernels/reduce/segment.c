/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.c - segment_reduce: one result for each of the segments that a dim is cut into, by their
 * lengths or by where they begin and end.
 *
 * Method. Data is [outer, along, inner]; the lengths are [outer, segments], so each row of the
 * outer dims has its own cuts. Each element of the result is reduced on its own, in order, rounding
 * to the dtype after each step as PyTorch does.
 * Tests: tests/unit/test_reduce.c
 */
#include "runtime/kernels/engine/move.h"

#include <math.h>

typedef enum segment_kind {
    SEGMENT_MAX,
    SEGMENT_MEAN,
    SEGMENT_MIN,
    SEGMENT_SUM,
    SEGMENT_PROD,
    SEGMENT_UNKNOWN
} segment_kind;

static const struct segment_row {
    const char *name;
    double start;
} segment_rows[] = {
    [SEGMENT_MAX] = {"max", -INFINITY}, [SEGMENT_MEAN] = {"mean", 0},
    [SEGMENT_MIN] = {"min", INFINITY},  [SEGMENT_SUM] = {"sum", 0},
    [SEGMENT_PROD] = {"prod", 1},
};

typedef struct segment_job {
    segment_kind kind;
    bool has_initial;
    double initial;
    dtype dt;
    int64_t outer, along, inner, segments;
    const int64_t *ends; /* [outer, segments + 1]: segment s of a row is [ends[s], ends[s + 1]) */
    const char *x;
    char *y;
} segment_job;

static double segment_step(segment_kind kind, double a, double v) {
    switch (kind) {
    case SEGMENT_MAX: return v != v || a < v ? v : a;
    case SEGMENT_MIN: return v != v || v < a ? v : a;
    case SEGMENT_PROD: return a * v;
    default: return a + v;
    }
}

/* One step at a time is rounded: doubles hold every product and sum of two narrower numbers well
 * enough that rounding twice is rounding once. */
static double segment_round(dtype dt, double v) {
    switch (dt) {
    case DT_FLOAT32: return (float)v;
    case DT_FLOAT16: return float16_to_float(float16_from_float((float)v));
    case DT_BFLOAT16: return bfloat16_to_float(bfloat16_from_float((float)v));
    default: return v;
    }
}

static void segment_range(void *ctx, int64_t begin, int64_t end) {
    const segment_job *j = ctx;
    size_t item = dtype_size(j->dt);
    for (int64_t r = begin; r < end; r++) {
        int64_t outer = r / j->segments, s = r % j->segments;
        const int64_t *ends = j->ends + outer * (j->segments + 1);
        int64_t count = ends[s + 1] - ends[s];
        for (int64_t i = 0; i < j->inner; i++) {
            double a = segment_round(j->dt,
                                     j->has_initial ? j->initial : segment_rows[j->kind].start);
            for (int64_t k = ends[s]; k < ends[s + 1]; k++) {
                double v = dtype_load_float(
                    j->dt, j->x + (size_t)((outer * j->along + k) * j->inner + i) * item);
                a = segment_round(j->dt, segment_step(j->kind, a, v));
            }
            if (j->kind == SEGMENT_MEAN && count == 0 && !j->has_initial) a = NAN;
            if (j->kind == SEGMENT_MEAN && count > 0) a = segment_round(j->dt, a / (double)count);
            dtype_store_float(j->dt, j->y + (size_t)(r * j->inner + i) * item, a);
        }
    }
}

/* ends[] of all rows, from lengths or from offsets, which it checks: n of them in a row. */
static ctsc_status segment_ends(op_ctx *cx, const segment_job *j, const tensor *cuts, bool offsets,
                                bool trusted, int64_t *ends) {
    const int64_t *from = TENSOR_AT(cuts, int64_t);
    for (int64_t r = 0; r < j->outer; r++) {
        int64_t at = 0;
        for (int64_t s = 0; s <= j->segments; s++) {
            if (offsets) at = *from++;
            else if (s > 0 && *from < 0)
                return diag_fail(cx->diag, CTSC_FAILED, "lengths contains negative value!");
            else if (s > 0 && __builtin_add_overflow(at, *from++, &at)) at = INT64_MAX;
            if (at < 0 || at > j->along || (s > 0 && at < ends[-1])) {
                if (offsets)
                    return diag_fail(
                        cx->diag, CTSC_FAILED,
                        "segment_reduce(): offsets must rise from 0 to data.size(axis)");
                trusted = false;
                at = j->along + 1;
                break;
            }
            *ends++ = at;
        }
        if (!offsets && !(trusted ? at <= j->along : at == j->along))
            return diag_fail(cx->diag, CTSC_FAILED,
                             "segment_reduce(): Expected all rows of lengths along axis to sum to "
                             "data.size(lengths.dim()-1) when !unsafe.");
    }
    return CTSC_OK;
}

/* What cuts the data: lengths or offsets, contiguous and int64. */
static ctsc_status segment_cuts(op_ctx *cx, const value *args, int axis, bool *offsets,
                                tensor **out) {
    const tensor *data = arg_tensor(&args[0]);
    tensor *lengths = arg_tensor_or_null(&args[2]), *begins = arg_tensor_or_null(&args[4]),
           *cuts = begins ? begins : lengths;
    *offsets = begins != NULL;
    const char *name = begins ? "offsets" : "lengths";
    if (data->numel == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Expected data.numel() > 0 to be true, but got false.");
    if (args[3].tag != V_NONE)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "segment_reduce(): indices based reduction is not supported yet.");
    if (!cuts)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "segment_reduce(): Either lengths or offsets must be defined.");
    if (cuts->ndim > data->ndim || axis != cuts->ndim - 1)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "segment_reduce(): Expected axis to be the last dimension of %s but got %d.", name,
            axis);
    for (int i = 0; i < axis; i++)
        if (cuts->sizes[i] != data->sizes[i])
            return diag_fail(cx->diag, CTSC_FAILED,
                             "segment_reduce(): %s and data must agree in the dims before the axis",
                             name);
    if (*offsets && cuts->sizes[axis] < 1)
        return diag_fail(cx->diag, CTSC_FAILED, "segment_reduce(): offsets must have an element");
    if (cuts->dtype != DT_INT64 && cuts->dtype != DT_INT32)
        return op_refuse_dtype(
            cx, begins ? "_segment_reduce_offsets_kernel1" : "_segment_reduce_lengths_kernel1",
            (dtype)cuts->dtype);
    return move_index_int64(cx, cuts, out);
}

static segment_kind segment_kind_of(const value *v) {
    segment_kind kind = 0;
    while (kind < SEGMENT_UNKNOWN && strcmp(v->u.str->bytes, segment_rows[kind].name)) kind++;
    return kind;
}

/* (data, reduce, lengths, indices, offsets, axis, unsafe, initial) */
ctsc_status op_segment_reduce(op_ctx *cx, const value *args, value *results) {
    tensor *data = arg_tensor(&args[0]), *cuts = NULL, *x = NULL, *out = NULL, *ends = NULL;
    int64_t sizes[TENSOR_MAX_DIMS];
    bool offsets;
    int axis;
    TRY(op_wrap_dim(cx, data, arg_int(&args[5]), &axis));
    segment_job j = {.kind = segment_kind_of(&args[1]),
                     .dt = (dtype)data->dtype,
                     .has_initial = args[7].tag != V_NONE,
                     .outer = 1,
                     .inner = 1};
    if (j.has_initial) j.initial = arg_float(&args[7]);
    if (j.kind == SEGMENT_UNKNOWN)
        return diag_fail(cx->diag, CTSC_FAILED, "unsupported reduction given! %s",
                         args[1].u.str->bytes);
    if (!dtype_is_float(j.dt)) return op_refuse_dtype(cx, "_segment_reduce_cpu", j.dt);
    TRY(segment_cuts(cx, args, axis, &offsets, &cuts));
    for (int i = 0; i < data->ndim; i++) {
        sizes[i] = data->sizes[i];
        if (i < axis) j.outer *= sizes[i];
        if (i > axis) j.inner *= sizes[i];
    }
    j.along = data->sizes[axis];
    sizes[axis] = j.segments = cuts->sizes[axis] - offsets;
    const int64_t table[] = {j.outer, j.segments + 1};
    ctsc_status st = tensor_contiguous(cx->diag, data, &x);
    if (!st) st = tensor_new(cx->diag, j.dt, data->ndim, sizes, &out);
    if (!st) st = tensor_new(cx->diag, DT_INT64, 2, table, &ends);
    if (!st) st = segment_ends(cx, &j, cuts, offsets, arg_bool(&args[6]), tensor_data(ends));
    if (!st && out->numel > 0) {
        j.ends = tensor_data(ends);
        j.x = tensor_data(x);
        j.y = tensor_data(out);
        int64_t work = (j.along / j.segments + 1) * j.inner;
        st = op_for(cx, j.outer * j.segments, work < 16384 ? 16384 / work : 1, segment_range, &j);
    }
    tensor_unref(x);
    tensor_unref(cuts);
    tensor_unref(ends);
    if (!st) return op_return_tensor(results, out);
    tensor_unref(out);
    return st;
}
