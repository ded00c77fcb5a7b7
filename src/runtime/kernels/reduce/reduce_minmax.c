/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_minmax.c - largest and smallest values, with and without their place: amax, amin, aminmax,
 * max, min, argmax, argmin.
 *
 * Method: a block's minimum or maximum is found first, in vectors; only if it beats what was seen
 * before is the block searched for its place. NaN beats everything; of equals the first wins.
 * Tests: tests/unit/test_reduce.c
 */
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reduce/reduce_vec.h"

#include <math.h>

enum { MINMAX_BLOCK = 1024 };

/* ---- the minimum or maximum of a range ------------------------------------------------------- */

#define T float
#define NAME minmax_max_f32
#define I int32_t
#define OP >
#include "runtime/kernels/reduce/reduce_minmax_vector.h"

#define T float
#define NAME minmax_min_f32
#define I int32_t
#define OP <
#include "runtime/kernels/reduce/reduce_minmax_vector.h"

#define T double
#define NAME minmax_max_f64
#define I int64_t
#define OP >
#include "runtime/kernels/reduce/reduce_minmax_vector.h"

#define T double
#define NAME minmax_min_f64
#define I int64_t
#define OP <
#include "runtime/kernels/reduce/reduce_minmax_vector.h"

#define MINMAX_SCALAR(name, T, OP)                                                                 \
    REDUCE_HOT static T name(const T *x, int64_t n) {                                              \
        T best = x[0];                                                                             \
        for (int64_t k = 1; k < n; k++) best = x[k] OP best ? x[k] : best;                         \
        return best;                                                                               \
    }
MINMAX_SCALAR(minmax_max_i64, int64_t, >)
MINMAX_SCALAR(minmax_min_i64, int64_t, <)
MINMAX_SCALAR(minmax_max_u8, uint8_t, >)
MINMAX_SCALAR(minmax_min_u8, uint8_t, <)

/* ---- steps: f or i the minimum or maximum, at its index -------------------------------------- */

#define MINMAX_VALUE_STEP(name, T, FIELD, FOLD, OP)                                                \
    REDUCE_STEP(name, T, {                                                                         \
        T best = FOLD(x, n);                                                                       \
        if (best OP a->FIELD || best != best) a->FIELD = best;                                     \
    })
/* Once a NaN is the minimum or maximum nothing beats it. */
#define MINMAX_INDEX_STEP(name, T, FIELD, FOLD, OP)                                                \
    REDUCE_STEP(name, T, {                                                                         \
        for (int64_t b = 0; b < n && a->FIELD == a->FIELD; b += MINMAX_BLOCK) {                    \
            int64_t size = reduce_min_i64(n - b, MINMAX_BLOCK), k = 0;                             \
            T best = FOLD(x + b, size);                                                            \
            if (!(best OP a->FIELD || best != best)) continue;                                     \
            if (best != best)                                                                      \
                while (x[b + k] == x[b + k]) k++;                                                  \
            else                                                                                   \
                while (x[b + k] != best) k++;                                                      \
            a->FIELD = best;                                                                       \
            a->at = first + b + k;                                                                 \
        }                                                                                          \
    })
#define MINMAX_STEPS(prefix, which, OP, MAKE)                                                      \
    MAKE(prefix##_f32, float, f, minmax_##which##_f32, OP)                                         \
    MAKE(prefix##_f64, double, f, minmax_##which##_f64, OP)                                        \
    MAKE(prefix##_i64, int64_t, i, minmax_##which##_i64, OP)                                       \
    MAKE(prefix##_u8, uint8_t, i, minmax_##which##_u8, OP)
MINMAX_STEPS(amax_step, max, >, MINMAX_VALUE_STEP)
MINMAX_STEPS(amin_step, min, <, MINMAX_VALUE_STEP)
MINMAX_STEPS(argmax_step, max, >, MINMAX_INDEX_STEP)
MINMAX_STEPS(argmin_step, min, <, MINMAX_INDEX_STEP)

/* f and i never hold news at once: the unused one is as init left it. */
#define MINMAX_COMBINE(name, OP)                                                                   \
    static void name(reduce_acc *a, const reduce_acc *b) {                                         \
        if (isnan(a->f)) return;                                                                   \
        if (b->f OP a->f || isnan(b->f) || b->i OP a->i) *a = *b;                                  \
    }
MINMAX_COMBINE(amax_combine, >)
MINMAX_COMBINE(amin_combine, <)

static void minmax_finish(const reduce_job *j, const reduce_acc *a, int64_t result) {
    if (j->indices) TENSOR_AT(j->indices, int64_t)[result] = a->at;
    if (j->indices != j->out) reduce_store(j, result, a->f, a->i);
}

/* ---- columns --------------------------------------------------------------------------------- */

#define COLUMNS amax_columns
#define INDEX_COLUMNS argmax_columns
#define OP >
#include "runtime/kernels/reduce/reduce_minmax_columns.h"

#define COLUMNS amin_columns
#define INDEX_COLUMNS argmin_columns
#define OP <
#include "runtime/kernels/reduce/reduce_minmax_columns.h"

/* ---- kinds ----------------------------------------------------------------------------------- */

#define MINMAX_TABLE(prefix) {prefix##_f32, prefix##_f64, prefix##_i64, prefix##_u8}
#define MINMAX_LEAST {.f = -INFINITY, .i = INT64_MIN}
#define MINMAX_MOST {.f = INFINITY, .i = INT64_MAX}
const reduce_kind reduce_kind_max = {"max_values_cpu", MINMAX_LEAST,  MINMAX_TABLE(amax_step),
                                     amax_combine,     minmax_finish, amax_columns};
const reduce_kind reduce_kind_min = {"min_values_cpu", MINMAX_MOST,   MINMAX_TABLE(amin_step),
                                     amin_combine,     minmax_finish, amin_columns};
static const reduce_kind minmax_kind_argmax = {
    "argmax_cpu", MINMAX_LEAST,  MINMAX_TABLE(argmax_step),
    amax_combine, minmax_finish, argmax_columns};
static const reduce_kind minmax_kind_argmin = {
    "argmin_cpu", MINMAX_MOST,   MINMAX_TABLE(argmin_step),
    amin_combine, minmax_finish, argmin_columns};

/* ---- operators ------------------------------------------------------------------------------- */

static ctsc_status minmax_need_dim(op_ctx *cx, const char *name, const char *more) {
    return diag_fail(cx->diag, CTSC_FAILED,
                     "%s(): Expected reduction dim to be specified for input.numel() == 0.%s", name,
                     more);
}
#define MINMAX_MORE " Specify the reduction dim with the 'dim' argument."

/* Refuses an empty tensor unless what is reduced is not; names the dim as it was given. */
static ctsc_status minmax_check_dims(op_ctx *cx, const char *name, const tensor *in,
                                     const value *list) {
    const int64_t *dims;
    int n = arg_ints(list, &dims), dim;
    if (in->numel == 0 && n == 0) return minmax_need_dim(cx, name, MINMAX_MORE);
    for (int i = 0; i < n; i++) {
        TRY(tensor_wrap_dim(cx->diag, dims[i], in->ndim, &dim));
        if (in->ndim && in->sizes[dim] == 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "%s(): Expected reduction dim %lld to have non-zero size.", name,
                             (long long)dims[i]);
    }
    return CTSC_OK;
}

/* amax and amin: any dims, an empty list being all. */
static ctsc_status minmax_dims(op_ctx *cx, const value *args, bool max, value *results) {
    const char *name = max ? "amax" : "amin";
    tensor *in = arg_tensor(&args[0]), *out;
    const tensor *target = op_target(cx, args, NULL);
    bool mask[TENSOR_MAX_DIMS];
    TRY(minmax_check_dims(cx, name, in, &args[1]));
    TRY(reduce_mask(cx, &args[1], in->ndim, mask));
    if (target && target->dtype != in->dtype)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Expected the dtype for input and out to match, but got %s for input's "
                         "dtype and %s for out's dtype.",
                         dtype_table[in->dtype].ir_name, dtype_table[target->dtype].ir_name);
    TRY(reduce_to_new(cx, max ? &reduce_kind_max : &reduce_kind_min, 0, in, mask,
                      arg_bool(&args[2]), (dtype)in->dtype, &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_amax(op_ctx *cx, const value *args, value *results) {
    return minmax_dims(cx, args, true, results);
}
ctsc_status op_amin(op_ctx *cx, const value *args, value *results) {
    return minmax_dims(cx, args, false, results);
}

/* max(t) and min(t). */
static ctsc_status minmax_all(op_ctx *cx, const value *args, bool max, value *results) {
    tensor *in = arg_tensor(&args[0]), *out;
    bool mask[TENSOR_MAX_DIMS];
    TRY(arg_dim_mask(cx, &(value){.tag = V_NONE}, in->ndim, mask));
    if (in->numel == 0) return minmax_need_dim(cx, max ? "max" : "min", MINMAX_MORE);
    if (!dtype_is_float((dtype)in->dtype) && !dtype_is_integral((dtype)in->dtype))
        return op_refuse_dtype(cx, max ? "max_all" : "min_all", (dtype)in->dtype);
    TRY(reduce_to_new(cx, max ? &reduce_kind_max : &reduce_kind_min, 0, in, mask, false,
                      (dtype)in->dtype, &out));
    return op_finish(cx, args, out, results);
}

ctsc_status op_max_all(op_ctx *cx, const value *args, value *results) {
    return minmax_all(cx, args, true, results);
}
ctsc_status op_min_all(op_ctx *cx, const value *args, value *results) {
    return minmax_all(cx, args, false, results);
}

/* max(t, dim): values and indices. */
static ctsc_status minmax_dim(op_ctx *cx, const value *args, bool max, value *results) {
    tensor *in = arg_tensor(&args[0]);
    bool mask[TENSOR_MAX_DIMS], keepdim = arg_bool(&args[2]);
    reduce_job j = {.kind = max ? &minmax_kind_argmax : &minmax_kind_argmin};
    TRY(reduce_mask(cx, &args[1], in->ndim, mask));
    TRY(reduce_check_nonempty(cx, max ? "max()" : "min()", in, mask));
    TRY(reduce_new_out(cx, in, mask, keepdim, (dtype)in->dtype, &j.out));
    ctsc_status st = reduce_new_out(cx, in, mask, keepdim, DT_INT64, &j.indices);
    if (st == CTSC_OK) st = reduce_run(cx, &j, in, mask, true);
    if (st == CTSC_OK) return reduce_finish_two(cx, args, j.out, j.indices, results);
    tensor_unref(j.out);
    tensor_unref(j.indices);
    return st;
}

ctsc_status op_max_dim(op_ctx *cx, const value *args, value *results) {
    return minmax_dim(cx, args, true, results);
}
ctsc_status op_min_dim(op_ctx *cx, const value *args, value *results) {
    return minmax_dim(cx, args, false, results);
}

static ctsc_status minmax_arg(op_ctx *cx, const value *args, bool max, value *results) {
    const char *name = max ? "argmax" : "argmin";
    tensor *in = arg_tensor(&args[0]);
    bool mask[TENSOR_MAX_DIMS];
    reduce_job j = {.kind = max ? &minmax_kind_argmax : &minmax_kind_argmin};
    if (in->numel == 0 && arg_is_none(&args[1])) return minmax_need_dim(cx, name, "");
    TRY(reduce_mask(cx, &args[1], in->ndim, mask));
    TRY(reduce_check_nonempty(cx, max ? "argmax()" : "argmin()", in, mask));
    TRY(reduce_check_out(cx, args, DT_INT64));
    if (in->dtype == DT_BOOL && in->numel) return op_refuse_dtype(cx, j.kind->name, DT_BOOL);
    TRY(reduce_new_out(cx, in, mask, arg_bool(&args[2]), DT_INT64, &j.out));
    j.indices = j.out;
    ctsc_status st = reduce_run(cx, &j, in, mask, true);
    if (st == CTSC_OK) return op_finish(cx, args, j.out, results);
    tensor_unref(j.out);
    return st;
}

ctsc_status op_argmax(op_ctx *cx, const value *args, value *results) {
    return minmax_arg(cx, args, true, results);
}
ctsc_status op_argmin(op_ctx *cx, const value *args, value *results) {
    return minmax_arg(cx, args, false, results);
}

ctsc_status op_aminmax(op_ctx *cx, const value *args, value *results) {
    tensor *in = arg_tensor(&args[0]), *least, *most;
    bool mask[TENSOR_MAX_DIMS], keepdim = reduce_keepdim(cx, args);
    const value *dim = reduce_arg(cx, args, "dim");
    TRY(reduce_mask(cx, dim, in->ndim, mask));
    if (arg_is_none(dim) && in->numel == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "aminmax(): cannot compute aminmax over an empty dimension as the "
                         "operation has no identity.");
    TRY(reduce_check_nonempty(cx, "aminmax", in, mask));
    TRY(reduce_to_new(cx, &reduce_kind_min, 0, in, mask, keepdim, (dtype)in->dtype, &least));
    ctsc_status st = reduce_to_new(cx, &reduce_kind_max, 0, in, mask, keepdim, (dtype)in->dtype,
                                   &most);
    if (st == CTSC_OK) return reduce_finish_two(cx, args, least, most, results);
    tensor_unref(least);
    return st;
}
