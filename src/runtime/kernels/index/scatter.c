/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter.c - gather, and the scatter family: elements moved along one dimension to where an index
 * tensor says.
 *
 * Method: self is seen with the shape of the index and a stride of 0 along the indexed dimension;
 * walking the three tensors together then gives, for each element, the address of its line in
 * self, to which index times the true stride is added. Bounds are checked run by run, before the
 * run moves. Gathering may use several threads; scattering goes in row-major order, so that of two
 * writes to one element the later wins and sums do not depend on the number of threads.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/move.h"
#include "runtime/kernels/pointwise/pointwise.h"

#include <math.h>
#include <stdio.h>

/* ---- the walk -------------------------------------------------------------------------------- */

/* Sizes and strides with 0-dim tensors taken as [1]. */
static int scatter_ndim(const tensor *t) { return t->ndim ? t->ndim : 1; }
static int64_t scatter_size(const tensor *t, int dim) { return t->ndim ? t->sizes[dim] : 1; }
static int64_t scatter_stride(const tensor *t, int dim) { return t->ndim ? t->strides[dim] : 1; }

typedef struct scatter_walk {
    move_scatter move;
    int64_t size, scale; /* of the indexed dimension: elements, bytes per step */
    atomic_bool outside; /* an index out of bounds was met */
} scatter_walk;

/* p: self (or out for gather), index, src (or self). */
static void scatter_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    scatter_walk *w = ctx;
    uint64_t size = (uint64_t)w->size, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t k = *(const uint64_t *)(p[1] + i * s[1]);
        worst = k > worst ? k : worst;
    }
    if (worst >= size) {
        atomic_store(&w->outside, true);
        return;
    }
    w->move(n, p[0], s[0], p[1], s[1], w->scale, p[2], s[2]);
}

/* The first index in row-major order that is out of bounds. */
typedef struct scatter_search {
    int64_t size, found;
    bool done;
} scatter_search;

static void scatter_search_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    scatter_search *w = ctx;
    for (int64_t i = 0; i < n && !w->done; i++) {
        int64_t k = *(const int64_t *)(p[0] + i * s[0]);
        if (k >= 0 && k < w->size) continue;
        w->found = k;
        w->done = true;
    }
}

static ctsc_status scatter_fail_outside(op_ctx *cx, tensor *index, int dim, int64_t size) {
    scatter_search w = {.size = size};
    iter_run_ordered(index->ndim, index->sizes, 1, &index, scatter_search_run, &w);
    return diag_fail(cx->diag, CTSC_FAILED,
                     "index %" PRId64 " is out of bounds for dimension %d with size %" PRId64,
                     w.found, dim, size);
}

/* t in the shape of the index; fixed: the dimension along which it does not move, or -1. */
static ctsc_status scatter_restride(op_ctx *cx, const tensor *t, const tensor *index, int fixed,
                                    tensor **out) {
    int64_t strides[TENSOR_MAX_DIMS];
    for (int i = 0; i < index->ndim; i++) strides[i] = i == fixed ? 0 : scatter_stride(t, i);
    return tensor_view_raw(cx->diag, t, index->ndim, index->sizes, strides, t->offset, out);
}

/* line and other have the index's shape; size, step: of dim in self. */
static ctsc_status scatter_on_device(op_ctx *cx, tensor *line, tensor *other, const tensor *index,
                                     int dim, int64_t size, int64_t step, move_op op, bool gather) {
    if (gather) return on_device->gather(cx->diag, line, other, index, dim, size, step);
    return on_device->scatter(cx->diag, line, other, index, dim, size, step,
                              (enum dense_combination)op);
}

/* self[..., index, ...] op= src, or out = self[..., index, ...] (gather: out is `moved`).
 * src of one element acts as a tensor of the index's shape. index has elements. */
static ctsc_status scatter_move(op_ctx *cx, const tensor *self, int dim, tensor *given,
                                tensor *moved, move_op op, bool gather) {
    tensor *line = NULL, *other = NULL, *index;
    scatter_walk w = {.size = scatter_size(self, dim)};
    w.scale = scatter_stride(self, dim) * (int64_t)dtype_size((dtype)self->dtype);
    TRY(tensor_to_dtype(cx->diag, given, DT_INT64, &index));
    ctsc_status status = scatter_restride(cx, self, index, dim, &line);
    if (!status) {
        int64_t still[TENSOR_MAX_DIMS] = {0};
        status = moved->ndim == 0 && !gather
                     ? tensor_view_raw(cx->diag, moved, index->ndim, index->sizes, still,
                                       moved->offset, &other)
                     : scatter_restride(cx, moved, index, -1, &other);
    }
    if (!status && tensor_cuda(index)) {
        status = scatter_on_device(cx, line, other, index, dim, w.size, scatter_stride(self, dim),
                                   op, gather);
    } else if (!status) {
        w.move = gather ? move_gather_for(dtype_size((dtype)self->dtype))
                        : move_kernel_for(op, (dtype)self->dtype).scatter;
        tensor *gathering[] = {other, index, line}, *scattering[] = {line, index, other};
        if (gather) iter_run(index->ndim, index->sizes, 3, gathering, scatter_run, &w, 0);
        else iter_run_ordered(index->ndim, index->sizes, 3, scattering, scatter_run, &w);
        if (atomic_load(&w.outside)) status = scatter_fail_outside(cx, index, dim, w.size);
    }
    tensor_unref(line);
    tensor_unref(other);
    tensor_unref(index);
    return status;
}

/* ---- gather ---------------------------------------------------------------------------------- */

static ctsc_status scatter_fail_shapes(op_ctx *cx, const char *before, const tensor *index,
                                       const tensor *self, int dim, const tensor *src) {
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, before);
    tensor_print_sizes(index->ndim, index->sizes, &sb);
    sb_puts(&sb, " to be smaller than self ");
    tensor_print_sizes(self->ndim, self->sizes, &sb);
    sb_printf(&sb, " apart from dimension %d", dim);
    if (src) {
        sb_puts(&sb, " and to be smaller size than src ");
        tensor_print_sizes(src->ndim, src->sizes, &sb);
    }
    ctsc_status status = diag_fail(cx->diag, CTSC_FAILED, "%s", sb_str(&sb));
    sb_free(&sb);
    return status;
}

static ctsc_status scatter_need_index(op_ctx *cx, const char *name, const tensor *index) {
    if (index->dtype == DT_INT64 || index->dtype == DT_INT32) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "%s(): Expected dtype int32/int64 for index", name);
}

static ctsc_status scatter_gather(op_ctx *cx, const tensor *self, int64_t at, tensor *index,
                                  tensor **out) {
    int dim;
    TRY(tensor_wrap_dim(cx->diag, at, self->ndim, &dim));
    if (index->numel > 0) {
        TRY(scatter_need_index(cx, "gather", index));
        if (scatter_ndim(self) != scatter_ndim(index))
            return diag_fail(
                cx->diag, CTSC_FAILED,
                "Index tensor must have the same number of dimensions as input tensor");
        for (int i = 0; i < index->ndim; i++) {
            if (i == dim || index->sizes[i] <= scatter_size(self, i)) continue;
            char before[80];
            snprintf(before, sizeof before, "Size does not match at dimension %d expected index ",
                     i);
            return scatter_fail_shapes(cx, before, index, self, dim, NULL);
        }
    }
    tensor *result;
    TRY(tensor_new_on(cx->diag, tensor_device(self), (dtype)self->dtype, index->ndim, index->sizes,
                      &result));
    ctsc_status status = CTSC_OK;
    if (index->numel > 0) status = scatter_move(cx, self, dim, index, result, MOVE_SET, true);
    if (status) tensor_unref(result);
    else *out = result;
    return status;
}

ctsc_status op_gather(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    TRY(scatter_gather(cx, arg_tensor(&args[0]), arg_int(&args[1]), arg_tensor(&args[2]), &out));
    return op_finish(cx, args, out, results);
}

/* a broadcast against b in all dimensions but dim. */
static ctsc_status scatter_broadcast_but(op_ctx *cx, const tensor *a, const tensor *b, int dim,
                                         tensor **out) {
    int64_t want[TENSOR_MAX_DIMS], sizes[TENSOR_MAX_DIMS];
    int n;
    memcpy(want, b->sizes, b->ndim * sizeof *want);
    if (a->ndim) want[dim] = a->sizes[dim];
    TRY(broadcast_sizes(cx->diag, a->ndim, a->sizes, b->ndim, want, &n, sizes));
    return tensor_expand(cx->diag, a, n, sizes, out);
}

/* Negative indices of take_along_dim count from the end: those become a copy without. */
static void scatter_find_negative(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    bool *found = ctx;
    for (int64_t i = 0; i < n; i++) *found |= *(const int64_t *)(const void *)(p[0] + i * s[0]) < 0;
}
static ctsc_status scatter_wrap(op_ctx *cx, int64_t size, tensor **index) {
    bool negative = false;
    tensor *t = *index, *wrapped;
    if (tensor_device(t) != DEVICE_HOST || t->dtype != DT_INT64) return CTSC_OK;
    iter_run_ordered(t->ndim, t->sizes, 1, &t, scatter_find_negative, &negative);
    if (!negative) return CTSC_OK;
    TRY(tensor_clone(cx->diag, t, &wrapped));
    for (int64_t i = 0; i < wrapped->numel; i++)
        TENSOR_AT(wrapped, int64_t)[i] += TENSOR_AT(wrapped, int64_t)[i] < 0 ? size : 0;
    tensor_unref(t);
    *index = wrapped;
    return CTSC_OK;
}

ctsc_status op_take_along_dim(op_ctx *cx, const value *args, value *results) {
    const tensor *self = arg_tensor(&args[0]), *given = arg_tensor(&args[1]);
    tensor *base = NULL, *index = NULL, *out = NULL;
    int dim = 0;
    ctsc_status status;
    if (args[2].tag == V_NONE) {
        status = tensor_reshape(cx->diag, self, 1, &self->numel, &base);
        if (!status) status = tensor_reshape(cx->diag, given, 1, &given->numel, &index);
    } else {
        if (self->ndim != given->ndim)
            return diag_fail(
                cx->diag, CTSC_FAILED,
                "torch.take_along_dim(): input and indices should have the same number "
                "of dimensions, but got %d dimensions for input, and %d dimensions for "
                "indices",
                self->ndim, given->ndim);
        if (given->dtype != DT_INT64)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "torch.take_along_dim(): dtype of indices should be Long but got %s",
                             dtype_table[given->dtype].ir_name);
        TRY(tensor_wrap_dim(cx->diag, arg_int(&args[2]), self->ndim, &dim));
        status = scatter_broadcast_but(cx, self, given, dim, &base);
        if (!status) status = scatter_broadcast_but(cx, given, self, dim, &index);
    }
    if (!status) status = scatter_wrap(cx, base->ndim ? base->sizes[dim] : 1, &index);
    if (!status) status = scatter_gather(cx, base, dim, index, &out);
    tensor_unref(base);
    tensor_unref(index);
    return status ? status : op_finish(cx, args, out, results);
}

/* ---- scatter --------------------------------------------------------------------------------- */

/* src: NULL for a number. */
static ctsc_status scatter_check(op_ctx *cx, const tensor *self, int dim, const tensor *index,
                                 const tensor *src) {
    if (index->numel > 0) TRY(scatter_need_index(cx, "scatter", index));
    if (src && src->dtype != self->dtype)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "scatter(): Expected self.dtype to be equal to src.dtype");
    if (index->numel == 0) return CTSC_OK;
    if (scatter_ndim(self) != scatter_ndim(index))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Index tensor must have the same number of dimensions as self tensor");
    if (src && scatter_ndim(src) != scatter_ndim(index))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Index tensor must have the same number of dimensions as src tensor");
    bool wrong = false;
    for (int i = 0; i < scatter_ndim(index); i++) {
        int64_t n = scatter_size(index, i);
        wrong |= i != dim && n > scatter_size(self, i);
        wrong |= src && n > scatter_size(src, i);
    }
    return wrong ? scatter_fail_shapes(cx, "Expected index ", index, self, dim, src) : CTSC_OK;
}

/* One scatter: what all overloads come to. */
typedef struct scatter_job {
    int dim;
    tensor *index;  /* borrowed */
    tensor *src;    /* owned; 0-dim for a number */
    tensor *target; /* owned */
    bool narrow;    /* half and bfloat16 are added one by one */
} scatter_job;

static void scatter_end(scatter_job *job) {
    tensor_unref(job->src);
    tensor_unref(job->target);
}

/* dim, index and source; reductions are looked at after them. */
static ctsc_status scatter_check_args(op_ctx *cx, const value *args, int *dim) {
    const tensor *self = arg_tensor(&args[0]);
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), self->ndim, dim));
    return scatter_check(cx, self, *dim, arg_tensor(&args[2]),
                         args[3].tag == V_TENSOR ? arg_tensor(&args[3]) : NULL);
}

/* A number as a 0-dim tensor like self. */
static ctsc_status scatter_number(op_ctx *cx, const value *number, const tensor *self,
                                  tensor **out) {
    tensor *here;
    TRY(operand_to_tensor(cx, number, (dtype)self->dtype, &here));
    ctsc_status status = tensor_to_device(cx->diag, here, tensor_device(self), out);
    tensor_unref(here);
    return status;
}

static ctsc_status scatter_begin(op_ctx *cx, const value *args, scatter_job *job) {
    tensor *self = arg_tensor(&args[0]);
    *job = (scatter_job){.index = arg_tensor(&args[2])};
    bool number = args[3].tag != V_TENSOR;
    TRY(scatter_check_args(cx, args, &job->dim));
    if (move_in_place(cx)) {
        TRY(move_refuse_overlap(cx, self, job->index));
        if (!number) TRY(move_refuse_overlap(cx, self, arg_tensor(&args[3])));
    }
    ctsc_status status = CTSC_OK;
    if (number) {
        TRY(pw_require_fits(cx, &args[3], (dtype)self->dtype));
        status = scatter_number(cx, &args[3], self, &job->src);
    } else {
        job->src = tensor_ref(arg_tensor(&args[3]));
    }
    if (!status) status = move_target(cx, args, &job->target);
    if (status) scatter_end(job);
    return status;
}

/* Writes job's src to its target with op. */
static ctsc_status scatter_write(op_ctx *cx, const scatter_job *job, tensor *src, move_op op) {
    dtype dt = (dtype)job->target->dtype;
    if (!move_kernel_for(op, dt).scatter)
        return op_refuse_dtype(cx, "scatter_gather_tensor_cpu_reduce", dt);
    if (job->index->numel == 0) return CTSC_OK;
    tensor *target, *source;
    TRY(move_widen(cx, job->narrow ? MOVE_SET : op, job->target, src, &target, &source));
    ctsc_status status = scatter_move(cx, target, job->dim, job->index, source, op, false);
    if (!status) status = move_narrow(cx, job->target, target);
    tensor_unref(target);
    tensor_unref(source);
    return status;
}

static ctsc_status scatter_finish(op_ctx *cx, const value *args, scatter_job *job,
                                  ctsc_status status, value *results) {
    tensor *target = job->target;
    job->target = NULL;
    scatter_end(job);
    if (!status) return move_finish(cx, args, target, results);
    tensor_unref(target);
    return status;
}

static ctsc_status scatter_op(op_ctx *cx, const value *args, move_op op, value *results) {
    scatter_job job;
    TRY(scatter_begin(cx, args, &job));
    return scatter_finish(cx, args, &job, scatter_write(cx, &job, job.src, op), results);
}

ctsc_status op_scatter(op_ctx *cx, const value *args, value *results) {
    return scatter_op(cx, args, MOVE_SET, results);
}

ctsc_status op_scatter_add(op_ctx *cx, const value *args, value *results) {
    return scatter_op(cx, args, MOVE_ADD, results);
}

/* scatter(..., reduce="add" or "multiply") */
ctsc_status op_scatter_with(op_ctx *cx, const value *args, value *results) {
    const char *reduce = args[4].u.str->bytes;
    int dim;
    TRY(scatter_check_args(cx, args, &dim));
    bool add = strcmp(reduce, "add") == 0;
    if (!add && strcmp(reduce, "multiply") != 0)
        return diag_fail(cx->diag, CTSC_FAILED, "reduce argument must be either add or multiply.");
    return scatter_op(cx, args, add ? MOVE_ADD : MOVE_MUL, results);
}

/* ---- scatter_reduce -------------------------------------------------------------------------- */

typedef enum scatter_kind {
    SCATTER_SUM,
    SCATTER_PROD,
    SCATTER_MEAN,
    SCATTER_AMAX,
    SCATTER_AMIN,
    SCATTER_KINDS
} scatter_kind;

/*                                     name    operation   starts from */
static const struct {
    const char *name;
    move_op op;
    double identity;
} scatter_kinds[] = {
    [SCATTER_SUM] = {"sum", MOVE_ADD, 0},          [SCATTER_PROD] = {"prod", MOVE_MUL, 1},
    [SCATTER_MEAN] = {"mean", MOVE_ADD, 0},        [SCATTER_AMAX] = {"amax", MOVE_MAX, -INFINITY},
    [SCATTER_AMIN] = {"amin", MOVE_MIN, INFINITY},
};

/* The value a reduction starts from, as a 0-dim tensor: for integers the least or greatest number.
 */
static ctsc_status scatter_identity(op_ctx *cx, scatter_kind kind, dtype dt, tensor **out) {
    double v = scatter_kinds[kind].identity;
    if (dtype_is_float(dt) || !isinf(v)) return tensor_scalar_float(cx->diag, dt, v, out);
    if (dt == DT_BOOL) return tensor_scalar_int(cx->diag, dt, v > 0, out);
    int bits = 8 * (int)dtype_size(dt);
    if (dt == DT_UINT8) return tensor_scalar_int(cx->diag, dt, v > 0 ? 255 : 0, out);
    int64_t most = (int64_t)(UINT64_MAX >> (65 - bits));
    return tensor_scalar_int(cx->diag, dt, v > 0 ? most : -most - 1, out);
}

/* p[0] /= p[1], counts in the same dtype; a count of 0 is taken as 1. */
static void scatter_divide_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    dtype dt = *(const dtype *)ctx;
    for (int64_t i = 0; i < n; i++) {
        char *to = p[0] + i * s[0];
        const char *count = p[1] + i * s[1];
        if (dtype_is_float(dt)) {
            double by = dtype_load_float(dt, count);
            if (by > 1) dtype_store_float(dt, to, dtype_load_float(dt, to) / by);
        } else {
            int64_t v = dtype_load_int(dt, to), by = dtype_load_int(dt, count);
            if (by == 0) continue;
            int64_t q = (int64_t)scalar_div_floor_i64(v, by);
            dtype_store_int(dt, to, q);
        }
    }
}

static ctsc_status scatter_divide(op_ctx *cx, const scatter_job *job, bool include_self) {
    tensor *counts, *one = NULL;
    dtype dt = (dtype)job->target->dtype;
    TRY(tensor_zeros(cx->diag, dt, job->target->ndim, job->target->sizes, &counts));
    char *at = tensor_data(counts);
    for (int64_t i = 0; include_self && i < counts->numel; i++, at += dtype_size(dt))
        dtype_store_int(dt, at, 1);
    ctsc_status status = tensor_scalar_int(cx->diag, dt, 1, &one);
    /* PyTorch counts by index_add */
    scatter_job count = {.dim = job->dim,
                         .index = job->index,
                         .target = counts,
                         .narrow = job->narrow && counts->ndim < 2};
    if (!status) status = scatter_write(cx, &count, one, MOVE_ADD);
    if (!status) {
        tensor *operands[] = {job->target, counts};
        iter_run(counts->ndim, counts->sizes, 2, operands, scatter_divide_run, &dt, 0);
    }
    tensor_unref(one);
    tensor_unref(counts);
    return status;
}

static ctsc_status scatter_reduced(op_ctx *cx, const value *args, bool narrow, value *results) {
    scatter_kind kind = SCATTER_SUM;
    int dim;
    TRY(scatter_check_args(cx, args, &dim));
    bool include_self = arg_bool(&args[5]);
    while (kind < SCATTER_KINDS && strcmp(args[4].u.str->bytes, scatter_kinds[kind].name) != 0)
        kind++;
    if (kind == SCATTER_KINDS)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "reduce argument must be either sum, prod, mean, amax or amin.");
    dtype dt = (dtype)arg_tensor(&args[0])->dtype;
    if ((dtype_is_complex(dt) && (narrow || kind > SCATTER_PROD)) ||
        (kind == SCATTER_MEAN && dt == DT_BOOL))
        return op_refuse_dtype(cx, "scatter_gather_tensor_cpu_reduce_mean", dt);
    scatter_job job;
    if (kind == SCATTER_MEAN && tensor_cuda(arg_tensor(&args[0])))
        return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                         "scatter_reduce with reduce=\"mean\" is not supported on CUDA devices");
    TRY(scatter_begin(cx, args, &job));
    job.narrow = narrow;
    ctsc_status status = CTSC_OK;
    if (!include_self) {
        tensor *identity = NULL, *there = NULL;
        status = scatter_identity(cx, kind, dt, &identity);
        if (!status)
            status = tensor_to_device(cx->diag, identity, tensor_device(job.target), &there);
        if (!status) status = scatter_write(cx, &job, there, MOVE_SET);
        tensor_unref(identity);
        tensor_unref(there);
    }
    if (!status) status = scatter_write(cx, &job, job.src, scatter_kinds[kind].op);
    if (!status && kind == SCATTER_MEAN && job.index->numel > 0)
        status = scatter_divide(cx, &job, include_self);
    return scatter_finish(cx, args, &job, status, results);
}

ctsc_status op_scatter_reduce(op_ctx *cx, const value *args, value *results) {
    return scatter_reduced(cx, args, false, results);
}

ctsc_status index_reduce_spread(op_ctx *cx, const value *args, value *results) {
    return scatter_reduced(cx, args, true, results);
}
