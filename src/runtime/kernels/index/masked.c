/* SPDX-License-Identifier: Apache-2.0 */
/*
 * masked.c - operators that select by truth or by position in row-major order: nonzero,
 * masked_select, masked_scatter, take and put.
 *
 * Method: a mask becomes a contiguous run of bytes, 0 or 1. Its chunks are counted, the counts
 * summed to starting places, and the chunks then filled in, both passes by several threads.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/move.h"

/* A flat mask and how many of its chunks' elements are set in front of each. */
typedef struct masked_flags {
    tensor *t; /* contiguous, bool; owned */
    const uint8_t *at;
    int64_t n, chunks;
    int64_t *before; /* chunks + 1 of them; owned */
} masked_flags;

static void masked_flags_free(masked_flags *f) {
    tensor_unref(f->t);
    mem_free(f->before);
}

static void masked_count_chunks(void *ctx, int64_t begin, int64_t end) {
    masked_flags *f = ctx;
    for (int64_t c = begin; c < end; c++) {
        int64_t first = c * MASKED_CHUNK, sum = 0;
        int64_t n = f->n - first < MASKED_CHUNK ? f->n - first : MASKED_CHUNK;
        for (int64_t i = 0; i < n; i++) sum += f->at[first + i] != 0;
        f->before[c + 1] = sum;
    }
}

static ctsc_status masked_flags_make(op_ctx *cx, tensor *mask, masked_flags *f) {
    tensor *flat;
    *f = (masked_flags){0};
    TRY(tensor_to_dtype(cx->diag, mask, DT_BOOL, &flat));
    ctsc_status status = tensor_contiguous(cx->diag, flat, &f->t);
    tensor_unref(flat);
    if (status) return status;
    f->at = tensor_data(f->t);
    f->n = f->t->numel;
    f->chunks = (f->n + MASKED_CHUNK - 1) / MASKED_CHUNK;
    f->before = mem_zalloc((size_t)(f->chunks + 1) * sizeof *f->before);
    if (!f->before) {
        masked_flags_free(f);
        return diag_no_memory(cx->diag);
    }
    pool_for(f->chunks, 4, masked_count_chunks, f);
    for (int64_t c = 0; c < f->chunks; c++) f->before[c + 1] += f->before[c];
    return CTSC_OK;
}

static int64_t masked_total(const masked_flags *f) { return f->before[f->chunks]; }

/* ---- nonzero --------------------------------------------------------------------------------- */

typedef struct masked_nonzero_job {
    const masked_flags *f;
    int ndim;
    const int64_t *sizes;
    int64_t *out; /* coordinate d of the k-th element that is set is at d * total + k */
    int64_t total;
} masked_nonzero_job;

static void masked_nonzero_chunks(void *ctx, int64_t begin, int64_t end) {
    const masked_nonzero_job *job = ctx;
    const masked_flags *f = job->f;
    int ndim = job->ndim;
    for (int64_t c = begin; c < end; c++) {
        int64_t *at = job->out + f->before[c];
        int64_t first = c * MASKED_CHUNK;
        int64_t last = first + MASKED_CHUNK < f->n ? first + MASKED_CHUNK : f->n;
        for (int64_t i = first; i < last; i++) {
            if (!f->at[i]) continue;
            int64_t rest = i;
            for (int d = ndim - 1; d > 0; d--) {
                at[d * job->total] = rest % job->sizes[d];
                rest /= job->sizes[d];
            }
            if (ndim) *at = rest;
            at++;
        }
    }
}

/* t as contiguous flags on its device, and where they are set. */
static ctsc_status masked_places(op_ctx *cx, tensor *t, tensor **out) {
    tensor *flat, *flags;
    TRY(tensor_to_dtype(cx->diag, t, DT_BOOL, &flat));
    ctsc_status status = tensor_contiguous(cx->diag, flat, &flags);
    tensor_unref(flat);
    if (status) return status;
    status = on_device->places(cx->diag, flags, out);
    tensor_unref(flags);
    return status;
}

static ctsc_status masked_nonzero_on_device(op_ctx *cx, tensor *t, tensor **out) {
    tensor *places, *rows;
    TRY(masked_places(cx, t, &places));
    const int64_t sizes[] = {places->numel, t->ndim};
    ctsc_status status = tensor_new_on(cx->diag, tensor_device(t), DT_INT64, 2, sizes, &rows);
    if (!status) {
        status = on_device->coordinates(cx->diag, places, t, rows);
        if (status) tensor_unref(rows);
        else *out = rows;
    }
    tensor_unref(places);
    return status;
}

static ctsc_status masked_nonzero(op_ctx *cx, tensor *t, tensor **out) {
    masked_flags f;
    if (tensor_cuda(t)) return masked_nonzero_on_device(cx, t, out);
    TRY(masked_flags_make(cx, t, &f));
    const int64_t sizes[] = {masked_total(&f), t->ndim}, strides[] = {1, masked_total(&f)};
    ctsc_status status = tensor_new_strided(cx->diag, DEVICE_HOST, DT_INT64, 2, sizes, strides,
                                            out);
    if (!status) {
        masked_nonzero_job job = {&f, t->ndim, t->sizes, tensor_data(*out), masked_total(&f)};
        pool_for(f.chunks, 4, masked_nonzero_chunks, &job);
    }
    masked_flags_free(&f);
    return status;
}

/* nonzero and argwhere */
ctsc_status op_nonzero(op_ctx *cx, const value *args, value *results) {
    tensor *out;
    bool into = cx->op->schema->has_alias_write;
    if (into && arg_tensor(&args[1])->dtype != DT_INT64)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "nonzero: Expected out tensor to have scalar type Long but got scalar "
                         "type%s",
                         dtype_table[arg_tensor(&args[1])->dtype].ir_name);
    TRY(masked_nonzero(cx, arg_tensor(&args[0]), &out));
    ctsc_status st = into ? move_shape_out(cx, arg_tensor(&args[1]), out) : CTSC_OK;
    if (st == CTSC_OK) return op_finish(cx, args, out, results);
    tensor_unref(out);
    return st;
}

/* nonzero_numpy and where(condition): a tensor per dimension. */
ctsc_status op_nonzero_numpy(op_ctx *cx, const value *args, value *results) {
    tensor *t = arg_tensor(&args[0]), *line = NULL, *found;
    if (t->ndim == 0) {
        TRY(tensor_unsqueeze(cx->diag, t, 0, &line));
        t = line;
    }
    ctsc_status status = masked_nonzero(cx, t, &found);
    int n = t->ndim;
    tensor_unref(line);
    if (status) return status;
    list *l = NULL;
    status = move_list_new(cx, (size_t)n, &l);
    for (int i = 0; !status && i < n; i++) {
        tensor *column;
        status = tensor_select(cx->diag, found, 1, i, &column);
        if (!status) status = move_list_add(cx, l, column);
    }
    tensor_unref(found);
    if (!status) return op_return(results, value_list_take(l));
    if (l) value_unref(value_list_take(l));
    return status;
}

/* ---- masked_select, masked_scatter ----------------------------------------------------------- */

/* A mask as bool. Of other dtypes PyTorch reads the lowest byte of each element, which must be 0 or
 * 1 where it is used. */
static ctsc_status masked_flags_of(op_ctx *cx, const tensor *mask, bool used, tensor **out) {
    tensor *flat;
    if (mask->dtype == DT_BOOL) return *out = tensor_ref((tensor *)mask), CTSC_OK;
    /* a device does not check */
    if (tensor_cuda(mask)) return tensor_to_dtype(cx->diag, (tensor *)mask, DT_BOOL, out);
    TRY(tensor_clone(cx->diag, mask, &flat));
    size_t size = dtype_size((dtype)mask->dtype);
    const uint8_t *from = tensor_data(flat);
    ctsc_status st = tensor_new(cx->diag, DT_BOOL, mask->ndim, mask->sizes, out);
    bool fine = true;
    for (int64_t i = 0; st == CTSC_OK && i < mask->numel; i++) {
        TENSOR_AT(*out, uint8_t)[i] = from[(size_t)i * size] != 0;
        fine &= from[(size_t)i * size] <= 1;
    }
    tensor_unref(flat);
    if (st != CTSC_OK || fine || !used) return st;
    tensor_unref(*out);
    return diag_fail(cx->diag, CTSC_FAILED, "Mask tensor can take 0 and 1 values only");
}

typedef struct masked_select_job {
    const masked_flags *f;
    dtype dt;
    const void *src;
    void *dst;
} masked_select_job;

static void masked_select_chunks(void *ctx, int64_t begin, int64_t end) {
    const masked_select_job *job = ctx;
    const masked_flags *f = job->f;
    for (int64_t c = begin; c < end; c++) {
        int64_t first = c * MASKED_CHUNK;
        int64_t last = first + MASKED_CHUNK < f->n ? first + MASKED_CHUNK : f->n;
        DISPATCH_BITS(job->dt, {
            const T *src = job->src;
            T *to = (T *)job->dst + f->before[c];
            for (int64_t i = first; i < last; i++)
                if (f->at[i]) *to++ = src[i];
        });
    }
}

/* flat is contiguous, of the mask's shape. */
static ctsc_status masked_select_on_device(op_ctx *cx, const tensor *flat, tensor *mask,
                                           tensor **out) {
    tensor *places, *made;
    TRY(masked_places(cx, mask, &places));
    ctsc_status status = tensor_new_on(cx->diag, tensor_device(flat), (dtype)flat->dtype, 1,
                                       &places->numel, &made);
    if (!status) {
        status = on_device->rows(cx->diag, flat, flat->numel, places, made, false,
                                 DENSE_FAULT_POSITION);
        if (status) tensor_unref(made);
        else *out = made;
    }
    tensor_unref(places);
    return status;
}

ctsc_status op_masked_select(op_ctx *cx, const value *args, value *results) {
    const tensor *self = arg_tensor(&args[0]), *mask = arg_tensor(&args[1]);
    int64_t sizes[TENSOR_MAX_DIMS];
    int n;
    if (mask->dtype != DT_BOOL && mask->dtype != DT_UINT8)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "masked_select: expected BoolTensor or ByteTensor for mask");
    tensor *set;
    TRY(masked_flags_of(cx, mask, true, &set)); /* for what it refuses */
    tensor_unref(set);
    TRY(broadcast_sizes(cx->diag, mask->ndim, mask->sizes, self->ndim, self->sizes, &n, sizes));
    tensor *wide_mask = NULL, *wide = NULL, *flat = NULL, *out = NULL;
    masked_flags f = {0};
    ctsc_status status = tensor_expand(cx->diag, mask, n, sizes, &wide_mask);
    if (!status) status = tensor_expand(cx->diag, self, n, sizes, &wide);
    if (!status) status = tensor_contiguous(cx->diag, wide, &flat);
    if (!status && tensor_cuda(self)) {
        status = masked_select_on_device(cx, flat, wide_mask, &out);
    } else if (!status && !(status = masked_flags_make(cx, wide_mask, &f))) {
        int64_t total = masked_total(&f);
        status = tensor_new(cx->diag, (dtype)self->dtype, 1, &total, &out);
        if (!status) {
            masked_select_job job = {&f, (dtype)self->dtype, tensor_data(flat), tensor_data(out)};
            pool_for(f.chunks, 4, masked_select_chunks, &job);
        }
        masked_flags_free(&f);
    }
    tensor_unref(wide_mask);
    tensor_unref(wide);
    tensor_unref(flat);
    return status ? status : op_finish(cx, args, out, results);
}

/* State of the walk over self and mask: the next element of the source. */
typedef struct masked_fill_in {
    const char *next;
    size_t item;
} masked_fill_in;

static void masked_scatter_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    masked_fill_in *w = ctx;
    for (int64_t i = 0; i < n; i++) {
        if (!*(const uint8_t *)(p[1] + i * s[1])) continue;
        memcpy(p[0] + i * s[0], w->next, w->item);
        w->next += w->item;
    }
}

/* target where mask: the elements of source in turn. Both are of one shape. */
static ctsc_status masked_scatter(op_ctx *cx, tensor *target, tensor *wide, const tensor *source) {
    tensor *flat;
    masked_flags f;
    TRY(masked_flags_make(cx, wide, &f));
    ctsc_status status = CTSC_OK;
    if (source->numel < masked_total(&f))
        status = diag_fail(cx->diag, CTSC_FAILED,
                           "Number of elements of source < number of ones in mask");
    if (!status) status = tensor_clone(cx->diag, source, &flat);
    if (!status) {
        masked_fill_in w = {tensor_data(flat), dtype_size((dtype)target->dtype)};
        tensor *operands[] = {target, f.t};
        iter_run_ordered(target->ndim, target->sizes, 2, operands, masked_scatter_run, &w);
        tensor_unref(flat);
    }
    masked_flags_free(&f);
    return status;
}

/* The same in the memory order of target: where PyTorch writes in place,
 * this is the order in which a transposed tensor takes up its elements. */
static ctsc_status masked_scatter_in_memory_order(op_ctx *cx, tensor *target, const tensor *mask,
                                                  const tensor *source) {
    int64_t order[TENSOR_MAX_DIMS];
    tensor *wide, *to = NULL, *by = NULL;
    for (int i = 0; i < target->ndim; i++) {
        int at = i;
        for (; at > 0 && target->strides[order[at - 1]] < target->strides[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    TRY(tensor_expand(cx->diag, mask, target->ndim, target->sizes, &wide));
    ctsc_status status = tensor_permute(cx->diag, target, target->ndim, order, &to);
    if (!status) status = tensor_permute(cx->diag, wide, target->ndim, order, &by);
    if (!status) status = masked_scatter(cx, to, by, source);
    tensor_unref(wide);
    tensor_unref(to);
    tensor_unref(by);
    return status;
}

/* Where masked_scatter writes: self, or a copy of it that is as large as the mask. */
static ctsc_status masked_scatter_target(op_ctx *cx, const value *args, tensor *self,
                                         const tensor *mask, tensor **target) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int n;
    tensor *wide;
    if (move_in_place(cx)) return move_target(cx, args, target);
    TRY(broadcast_sizes(cx->diag, mask->ndim, mask->sizes, self->ndim, self->sizes, &n, sizes));
    TRY(tensor_expand(cx->diag, self, n, sizes, &wide));
    ctsc_status status = tensor_clone(cx->diag, wide, target);
    tensor_unref(wide);
    return status;
}

ctsc_status op_masked_scatter(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *target = NULL;
    const tensor *mask = arg_tensor(&args[1]), *source = arg_tensor(&args[2]);
    if (self->dtype != source->dtype)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "masked_scatter: expected self and source to have same dtypes but got%s "
                         "and %s",
                         dtype_table[self->dtype].ir_name, dtype_table[source->dtype].ir_name);
    tensor *set;
    TRY(masked_flags_of(cx, mask, self->numel > 0 || mask->ndim > self->ndim, &set));
    ctsc_status status = masked_scatter_target(cx, args, self, set, &target);
    if (!status) {
        status = masked_scatter_in_memory_order(cx, target, set, source);
        if (!status) status = move_finish(cx, args, target, results);
        else tensor_unref(target);
    }
    tensor_unref(set);
    return status;
}

/* ---- take, put ------------------------------------------------------------------------------- */

static ctsc_status masked_fail_position(op_ctx *cx, int64_t position, int64_t n) {
    return diag_fail(cx->diag, CTSC_FAILED,
                     "out of range: tried to access index %" PRId64 " on a tensor of %" PRId64
                     " elements.",
                     position, n);
}

ctsc_status op_take(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *index = arg_tensor(&args[1]);
    tensor *flat = NULL, *at = NULL, *out = NULL;
    if (index->dtype != DT_INT64)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "take(): Expected a long tensor for index, but got %s",
                         dtype_table[index->dtype].ir_name);
    if (self->numel == 0 && index->numel > 0)
        return diag_fail(cx->diag, CTSC_FAILED, "take(): tried to take from an empty tensor");
    size_t item = dtype_size((dtype)self->dtype);
    ctsc_status status = tensor_contiguous(cx->diag, self, &flat);
    if (!status) status = tensor_clone(cx->diag, index, &at);
    if (!status && tensor_cuda(self)) {
        status = tensor_new_on(cx->diag, tensor_device(self), (dtype)self->dtype, index->ndim,
                               index->sizes, &out);
        if (!status)
            status = on_device->rows(cx->diag, flat, flat->numel, at, out, true,
                                     DENSE_FAULT_POSITION);
        goto end;
    }
    for (int64_t i = 0; !status && !geometry_only() && i < at->numel; i++) {
        int64_t *k = TENSOR_AT(at, int64_t) + i;
        if (*k < -self->numel || *k >= self->numel)
            status = masked_fail_position(cx, *k, self->numel);
        else if (*k < 0) *k += self->numel;
    }
    if (!status) status = tensor_new(cx->diag, (dtype)self->dtype, index->ndim, index->sizes, &out);
    if (!status && out->numel > 0)
        move_gather_for(item)(at->numel, tensor_data(out), (int64_t)item, tensor_data(at),
                              sizeof(int64_t), (int64_t)item, tensor_data(flat), 0);
end:
    tensor_unref(flat);
    tensor_unref(at);
    if (!status) return op_finish(cx, args, out, results);
    tensor_unref(out);
    return status;
}

/* Byte offset of element n, in row-major order. */
static int64_t masked_offset(const tensor *t, int64_t n) {
    int64_t offset = 0;
    for (int i = t->ndim - 1; i >= 0; i--) {
        offset += n % t->sizes[i] * t->strides[i];
        n /= t->sizes[i];
    }
    return offset * (int64_t)dtype_size((dtype)t->dtype);
}

static ctsc_status masked_check_put(op_ctx *cx, const tensor *self, const tensor *index,
                                    const tensor *source) {
    if (index->dtype != DT_INT64)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "put_(): Expected a long tensor for index, but got %s",
                         dtype_table[index->dtype].ir_name);
    if (self->dtype != source->dtype)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "put_(): self and source expected to have the same dtype, but got "
                         "self.dtype = %s and source.dtype = %s",
                         dtype_table[self->dtype].ir_name, dtype_table[source->dtype].ir_name);
    if (index->numel != source->numel)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "put_(): Expected source and index to have the same number of elements, but "
            "got source.numel() = %" PRId64 ", index.numel() = %" PRId64,
            source->numel, index->numel);
    if (self->numel == 0 && index->numel > 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "put_(): Tried to put elements into an empty tensor");
    return CTSC_OK;
}

ctsc_status op_put(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *source = arg_tensor(&args[2]);
    tensor *at = NULL, *flat = NULL, *target = NULL;
    dtype dt = (dtype)self->dtype;
    TRY(masked_check_put(cx, self, arg_tensor(&args[1]), source));
    move_run run = move_kernel_for(arg_bool(&args[3]) ? MOVE_ADD : MOVE_SET, dt).run;
    if (!run) return op_refuse_dtype(cx, "put_", dt);
    if (move_in_place(cx)) TRY(move_refuse_overlap(cx, self, source));
    ctsc_status status = move_index_int64(cx, arg_tensor(&args[1]), &at);
    if (!status) status = tensor_contiguous(cx->diag, source, &flat);
    if (!status) status = move_target(cx, args, &target);
    for (int64_t i = 0; !status && !geometry_only() && i < at->numel; i++) {
        int64_t k = TENSOR_AT(at, int64_t)[i];
        if (k < -self->numel || k >= self->numel) {
            status = masked_fail_position(cx, k, self->numel);
            break;
        }
        char *to = (char *)tensor_data(target) + masked_offset(target, k < 0 ? k + self->numel : k);
        run(1, to, 0, (const char *)tensor_data(flat) + i * (int64_t)dtype_size(dt), 0);
    }
    tensor_unref(at);
    tensor_unref(flat);
    if (!status) return move_finish(cx, args, target, results);
    tensor_unref(target);
    return status;
}
