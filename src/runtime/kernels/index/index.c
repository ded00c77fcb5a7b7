/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.c - indexing with tensors: x[i, :, mask] and x[i, :, mask] = y; plans for it and their
 * execution.
 *
 * Method: index_plan splits the result's shape into three parts: the kept dimensions in front,
 * the broadcast shape of the indices, and the kept dimensions after them. Masks become index
 * tensors by nonzero. For every position of the index shape one byte offset into self is
 * computed, with bounds checked, so that reading and writing only add offsets and move blocks.
 * If there are kept dimensions between indexed ones, the index shape comes first, as in NumPy.
 *
 * Writing goes in row-major order of the index shape, so that of two writes to one element the
 * later wins; several threads divide the reading only.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/index/index.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "tensor/promote.h"

#include "runtime/kernels/engine/device_kernels.h"

/* The indices, masks expanded: one per dimension of self, NULL where the dimension is kept. */
typedef struct index_set {
    int n;
    tensor *at[TENSOR_MAX_DIMS]; /* int64; owned */
} index_set;

static void index_set_free(index_set *s) {
    for (int i = 0; i < s->n; i++) tensor_unref(s->at[i]);
    s->n = 0;
}

static bool index_is_mask(const tensor *t) { return t->dtype == DT_BOOL || t->dtype == DT_UINT8; }

/* The coordinates where mask is true, one tensor per dimension of it. */
static ctsc_status index_add_mask(op_ctx *cx, const tensor *self, tensor *mask, index_set *s) {
    for (int i = 0; i < mask->ndim; i++) {
        int dim = s->n + i;
        if (dim < self->ndim && self->sizes[dim] == mask->sizes[i]) continue;
        strbuf sb = STRBUF_INIT;
        sb_puts(&sb, "The shape of the mask ");
        tensor_print_sizes(mask->ndim, mask->sizes, &sb);
        sb_printf(&sb, " at index %d does not match the shape of the indexed tensor ", i);
        tensor_print_sizes(self->ndim, self->sizes, &sb);
        ctsc_status status = diag_fail(cx->diag, CTSC_FAILED, "%s at index %d", sb_str(&sb), dim);
        sb_free(&sb);
        return status;
    }
    value in = value_tensor_take(mask), found = value_none();
    TRY(op_call(cx, "aten::nonzero", 1, &in, &found));
    ctsc_status status = CTSC_OK;
    for (int i = 0; !status && i < mask->ndim; i++) {
        status = tensor_select(cx->diag, found.u.tensor, 1, i, &s->at[s->n]);
        s->n += !status;
    }
    value_unref(found);
    return status;
}

static ctsc_status index_collect(op_ctx *cx, const tensor *self, const value *indices,
                                 index_set *s) {
    size_t n = indices->u.list->len;
    s->n = 0;
    if (n > (size_t)self->ndim)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "too many indices for tensor of dimension %d (got %zu)", self->ndim, n);
    for (size_t i = 0; i < n; i++) {
        tensor *t = arg_list_tensor(indices, i);
        bool narrow = t && t->dtype == DT_INT32; /* since PyTorch 2.0 */
        if (t && t->dtype != DT_INT64 && !narrow && !index_is_mask(t))
            return diag_fail(cx->diag, CTSC_FAILED,
                             "tensors used as indices must be long, int, byte or bool tensors");
        if (t && index_is_mask(t)) {
            TRY(index_add_mask(cx, self, t, s));
        } else if (s->n == self->ndim) {
            return diag_fail(cx->diag, CTSC_FAILED,
                             "too many indices for tensor of dimension %d (got %d)", self->ndim,
                             s->n + 1);
        } else if (narrow) {
            TRY(tensor_to_dtype(cx->diag, t, DT_INT64, &s->at[s->n]));
            s->n++;
        } else {
            s->at[s->n++] = t ? tensor_ref(t) : NULL;
        }
    }
    return CTSC_OK;
}

/* The shape all indices broadcast to. */
static ctsc_status index_shape(op_ctx *cx, const index_set *s, int *ndim, int64_t *sizes) {
    *ndim = 0;
    for (int i = 0; i < s->n; i++) {
        if (!s->at[i]) continue;
        if (!broadcast_sizes(NULL, *ndim, sizes, s->at[i]->ndim, s->at[i]->sizes, ndim, sizes))
            continue;
        strbuf sb = STRBUF_INIT;
        for (int k = 0; k < s->n; k++) {
            if (!s->at[k]) continue;
            if (sb.len) sb_puts(&sb, ", ");
            tensor_print_sizes(s->at[k]->ndim, s->at[k]->sizes, &sb);
        }
        ctsc_status status = diag_fail(cx->diag, CTSC_FAILED,
                                       "shape mismatch: indexing tensors could not be broadcast "
                                       "together with shapes %s",
                                       sb_str(&sb));
        sb_free(&sb);
        return status;
    }
    return CTSC_OK;
}

/* Adds dimension dim's part to every offset. */
static ctsc_status index_add_offsets(op_ctx *cx, const tensor *self, int dim, const tensor *index,
                                     int ndim, const int64_t *sizes, index_plan *p) {
    tensor *wide, *flat;
    int64_t size = self->sizes[dim];
    int64_t step = self->strides[dim] * (int64_t)dtype_size((dtype)self->dtype);
    TRY(tensor_expand(cx->diag, index, ndim, sizes, &wide));
    ctsc_status status = tensor_contiguous(cx->diag, wide, &flat);
    tensor_unref(wide);
    if (status) return status;
    const int64_t *at = TENSOR_AT(flat, int64_t);
    if (p->device) status = on_device->offsets_add(cx->diag, flat, dim, size, step, p->offsets);
    for (int64_t i = 0; !p->device && !geometry_only() && i < p->count; i++) {
        int64_t k = at[i];
        if (k < -size || k >= size) {
            status = diag_fail(cx->diag, CTSC_FAILED,
                               "index %" PRId64 " is out of bounds for dimension %d with size "
                               "%" PRId64,
                               k, dim, size);
            break;
        }
        p->offsets[i] += (k < 0 ? k + size : k) * step;
    }
    tensor_unref(flat);
    return status;
}

/* An index into a dimension without elements is an error even when nothing would be read. */
static ctsc_status index_check_empty(op_ctx *cx, const tensor *self, const index_set *s,
                                     int64_t count) {
    bool indexed_empty = false;
    for (int i = 0; i < s->n; i++) indexed_empty |= s->at[i] && self->sizes[i] == 0;
    if (!indexed_empty || count == 0) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "index is out of bounds for dimension with size 0");
}

/* Lays out the result's dimensions. */
static ctsc_status index_layout(op_ctx *cx, const tensor *self, const index_set *s, int nindex,
                                const int64_t *index_sizes, index_plan *p) {
    int64_t item = (int64_t)dtype_size((dtype)self->dtype);
    int first = -1, last = -1, indexed = 0;
    for (int i = 0; i < s->n; i++) {
        if (!s->at[i]) continue;
        if (first < 0) first = i;
        last = i;
        indexed++;
    }
    bool adjacent = indexed > 0 && last - first + 1 == indexed;
    if (self->ndim - indexed + nindex > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions",
                         TENSOR_MAX_DIMS);
    p->nfront = adjacent ? first : 0;
    p->nindex = nindex;
    for (int i = 0; i < nindex; i++) p->sizes[p->nfront + i] = index_sizes[i];
    for (int i = 0, front = 0, behind = p->nfront + nindex; i < self->ndim; i++) {
        if (i < s->n && s->at[i]) continue;
        int to = front < p->nfront ? front++ : behind++;
        p->sizes[to] = self->sizes[i];
        p->steps[to] = self->strides[i] * item;
    }
    p->ndim = self->ndim - indexed + nindex;
    p->numel = 1;
    bool empty = false, overflow = false;
    for (int i = 0; i < p->ndim; i++) {
        empty |= p->sizes[i] == 0;
        overflow |= __builtin_mul_overflow(p->numel, p->sizes[i] ? p->sizes[i] : 1, &p->numel);
    }
    if (empty) p->numel = 0;
    else if (overflow)
        return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
    return CTSC_OK;
}

void index_plan_end(index_plan *p) {
    if (p->device) cuda_free(p->device, p->offsets);
    else mem_free(p->offsets);
}

/* count offsets of 0, where self is. */
static ctsc_status index_new_offsets(op_ctx *cx, const tensor *self, index_plan *p) {
    size_t bytes;
    if (!size_mul((size_t)p->count, sizeof *p->offsets, &bytes)) return diag_no_memory(cx->diag);
    p->device = tensor_cuda(self);
    if (!p->device) return (p->offsets = mem_zalloc(bytes)) ? CTSC_OK : diag_no_memory(cx->diag);
    void *made;
    TRY(cuda_alloc(p->device, cx->diag, bytes, &made));
    p->offsets = made;
    ctsc_status status = cuda_zero(p->device, cx->diag, made, bytes);
    if (status) index_plan_end(p);
    return status;
}

static ctsc_status index_plan_make(op_ctx *cx, const tensor *self, const value *indices,
                                   index_plan *p) {
    index_set s;
    int nindex;
    int64_t sizes[TENSOR_MAX_DIMS];
    *p = (index_plan){.count = 1};
    ctsc_status status = index_collect(cx, self, indices, &s);
    if (!status) status = index_shape(cx, &s, &nindex, sizes);
    if (!status) status = index_layout(cx, self, &s, nindex, sizes, p);
    if (!status) {
        bool empty = false;
        for (int i = 0; i < nindex; i++) empty |= sizes[i] == 0;
        for (int i = 0; !status && i < nindex; i++)
            if (__builtin_mul_overflow(p->count, empty ? 1 : sizes[i], &p->count))
                status = diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
        if (empty) p->count = 0;
    }
    if (!status) status = index_check_empty(cx, self, &s, p->count);
    bool made = !status && !(status = index_new_offsets(cx, self, p));
    /* PyTorch checks bounds while it moves elements, so not at all when there are none. */
    for (int i = 0; !status && p->numel > 0 && i < s.n; i++)
        if (s.at[i]) status = index_add_offsets(cx, self, i, s.at[i], nindex, sizes, p);
    if (status && made) index_plan_end(p);
    index_set_free(&s);
    return status;
}

int64_t index_find_outside(const tensor *index, int64_t size, bool wrap) {
    const int64_t *at = TENSOR_AT(index, int64_t), least = wrap ? -size : 0;
    int64_t i = 0;
    if (tensor_cuda(index) || geometry_only()) return index->numel;
    while (i < index->numel && at[i] >= least && at[i] < size) i++;
    return i;
}

ctsc_status index_plan_dim(op_ctx *cx, const tensor *self, int dim, const tensor *index,
                           index_plan *p) {
    const int64_t *at = TENSOR_AT(index, int64_t), size = self->sizes[dim];
    int64_t step = self->strides[dim] * (int64_t)dtype_size((dtype)self->dtype);
    index_set s = {.n = dim + 1};
    s.at[dim] = (tensor *)index; /* borrowed: s is not freed */
    *p = (index_plan){.count = index->numel};
    TRY(index_layout(cx, self, &s, 1, &index->numel, p));
    TRY(index_new_offsets(cx, self, p));
    if (p->device) {
        ctsc_status status = on_device->offsets_add(cx->diag, index, dim, size, step, p->offsets);
        if (status) index_plan_end(p);
        return status;
    }
    for (int64_t i = 0; !geometry_only() && i < p->count; i++)
        p->offsets[i] = (at[i] < 0 ? at[i] + size : at[i]) * step;
    return CTSC_OK;
}

/* ---- the moves ------------------------------------------------------------------------------- */

/* One block per position of the front and index dimensions. Reading: self -> dense. Writing: dense
 * -> self. */
typedef struct index_job {
    const index_plan *p;
    move_geometry front,
        block; /* ds: in self; ss: in the dense tensor (0 for a broadcast scalar) */
    char *self;
    char *dense;
    int64_t row; /* bytes of a block in the dense tensor */
    int64_t item;
    move_run run;
} index_job;

static void index_job_setup(index_job *job, const index_plan *p, size_t item, bool scalar) {
    int behind = p->nfront + p->nindex;
    int64_t step = scalar ? 0 : (int64_t)item;
    job->p = p;
    job->item = (int64_t)item;
    job->row = step;
    for (int i = behind; i < p->ndim; i++) job->row *= p->sizes[i];
    int64_t dense = job->row;
    for (int i = behind; i < p->ndim; i++) {
        dense = p->sizes[i] ? dense / p->sizes[i] : 0;
        move_add_dim(&job->block, p->sizes[i], p->steps[i], dense);
    }
    move_collapse(&job->block);
    for (int i = 0; i < p->nfront; i++) move_add_dim(&job->front, p->sizes[i], p->steps[i], 0);
}

/* Byte offset in self of position n of the front dimensions. */
static int64_t index_front_offset(const index_job *job, int64_t n) {
    int64_t offset = 0;
    for (int i = job->front.ndim - 1; i >= 0; i--) {
        offset += n % job->front.sizes[i] * job->front.ds[i];
        n /= job->front.sizes[i];
    }
    return offset;
}

/* The geometry of a block seen from the dense side. */
static void index_block_reversed(const move_geometry *block, move_geometry *out) {
    out->ndim = block->ndim;
    for (int i = 0; i < block->ndim; i++) {
        out->sizes[i] = block->sizes[i];
        out->ds[i] = block->ss[i];
        out->ss[i] = block->ds[i];
    }
}

/* Blocks [begin, end), read. */
static void index_read(void *ctx, int64_t begin, int64_t end) {
    const index_job *job = ctx;
    const index_plan *p = job->p;
    const int64_t one = job->item;
    bool solid = job->block.ndim == 0 || (job->block.ndim == 1 && job->block.ds[0] == one);
    move_scatter gather = move_gather_for((size_t)one);
    move_geometry block;
    index_block_reversed(&job->block, &block);
    for (int64_t i = begin; i < end;) {
        int64_t at = i % p->count, n = p->count - at < end - i ? p->count - at : end - i;
        const char *self = job->self + index_front_offset(job, i / p->count);
        char *dense = job->dense + i * job->row;
        if (solid && job->row == one) {
            gather(n, dense, one, (const char *)(p->offsets + at), sizeof *p->offsets, 1, self, 0);
        } else if (solid) {
            for (int64_t k = 0; k < n; k++)
                memcpy(dense + k * job->row, self + p->offsets[at + k], (size_t)job->row);
        } else {
            for (int64_t k = 0; k < n; k++)
                move_apply(&block, job->run, dense + k * job->row, self + p->offsets[at + k]);
        }
        i += n;
    }
}

ctsc_status index_plan_read(op_ctx *cx, const tensor *self, const index_plan *p, tensor **out) {
    size_t item = dtype_size((dtype)self->dtype);
    tensor *result;
    TRY(tensor_new_on(cx->diag, tensor_device(self), (dtype)self->dtype, p->ndim, p->sizes,
                      &result));
    if (p->device) {
        ctsc_status status = on_device->blocks_read(cx->diag, self, p, result);
        if (status) tensor_unref(result);
        else *out = result;
        return status;
    }
    if (result->numel > 0) {
        index_job job = {.self = tensor_data(self),
                         .dense = tensor_data(result),
                         .run = move_kernel_for(MOVE_SET, (dtype)self->dtype).run};
        index_job_setup(&job, p, item, false);
        int64_t grain = INDEX_GRAIN / job.row;
        pool_for(p->numel / (job.row / (int64_t)item), grain ? grain : 1, index_read, &job);
    }
    *out = result;
    return CTSC_OK;
}

/* The result in the order of self, whose kept dims alone tell it. Takes t. */
static ctsc_status index_ordered(op_ctx *cx, const tensor *self, const index_plan *p, tensor *t,
                                 tensor **out) {
    int64_t steps[TENSOR_MAX_DIMS] = {0}, strides[TENSOR_MAX_DIMS];
    int64_t item = (int64_t)dtype_size((dtype)self->dtype);
    if (tensor_is_contiguous(self)) return *out = t, CTSC_OK;
    for (int i = 0; i < p->ndim; i++) steps[i] = p->steps[i] / item;
    tensor seen = {
        .ndim = (uint8_t)p->ndim, .numel = t->numel, .sizes = t->sizes, .strides = steps};
    tensor *operands[] = {&seen};
    broadcast_strides(p->ndim, t->sizes, 1, operands, strides);
    return tensor_restrided_take(cx->diag, t, strides, out);
}

ctsc_status op_index_tensor(op_ctx *cx, const value *args, value *results) {
    const tensor *self = arg_tensor(&args[0]);
    index_plan p;
    tensor *out;
    TRY(index_plan_make(cx, self, &args[1], &p));
    ctsc_status status = index_plan_read(cx, self, &p, &out);
    if (!status) status = index_ordered(cx, self, &p, out, &out);
    index_plan_end(&p);
    return status ? status : op_finish(cx, args, out, results);
}

static ctsc_status index_fail_values(op_ctx *cx, const tensor *values, const index_plan *p) {
    strbuf sb = STRBUF_INIT;
    tensor_print_sizes(values->ndim, values->sizes, &sb);
    sb_puts(&sb, " cannot be broadcast to indexing result of shape ");
    tensor_print_sizes(p->ndim, p->sizes, &sb);
    ctsc_status status = diag_fail(cx->diag, CTSC_FAILED,
                                   "shape mismatch: value tensor of shape %s", sb_str(&sb));
    sb_free(&sb);
    return status;
}

/* Do the values broadcast to the result, without making it larger? */
static bool index_values_fit(const tensor *values, const index_plan *p) {
    if (values->ndim > p->ndim) return false;
    for (int i = 0; i < values->ndim; i++) {
        int64_t size = p->sizes[p->ndim - values->ndim + i];
        if (values->sizes[i] != size && values->sizes[i] != 1) return false;
    }
    return true;
}

static void index_write(const index_job *job, const move_kernel *kernel) {
    const index_plan *p = job->p;
    int64_t rows = 1;
    for (int i = 0; i < job->front.ndim; i++) rows *= job->front.sizes[i];
    for (int64_t i = 0; i < rows; i++) {
        char *self = job->self + index_front_offset(job, i);
        const char *dense = job->dense + i * p->count * job->row;
        if (job->block.ndim == 0) {
            kernel->scatter(p->count, self, 0, (const char *)p->offsets, sizeof *p->offsets, 1,
                            dense, job->row);
            continue;
        }
        for (int64_t k = 0; k < p->count; k++)
            move_apply(&job->block, kernel->run, self + p->offsets[k], dense + k * job->row);
    }
}

ctsc_status index_plan_write(op_ctx *cx, tensor *self, const index_plan *p, tensor *values,
                             move_op op) {
    tensor *dense;
    bool scalar = values->numel == 1;
    if (p->numel == 0) return CTSC_OK;
    if (scalar) {
        dense = tensor_ref(values);
    } else {
        tensor *wide;
        TRY(tensor_expand(cx->diag, values, p->ndim, p->sizes, &wide));
        ctsc_status status = tensor_contiguous(cx->diag, wide, &dense);
        tensor_unref(wide);
        if (status) return status;
    }
    if (p->device) {
        ctsc_status status = on_device->blocks_write(cx->diag, self, p, dense,
                                                     (enum dense_combination)op);
        tensor_unref(dense);
        return status;
    }
    move_kernel kernel = move_kernel_for(op, (dtype)self->dtype);
    index_job job = {.self = tensor_data(self), .dense = tensor_data(dense)};
    index_job_setup(&job, p, dtype_size((dtype)self->dtype), scalar);
    index_write(&job, &kernel);
    tensor_unref(dense);
    return CTSC_OK;
}

/* self[indices] = values, or += them. */
static ctsc_status index_put(op_ctx *cx, tensor *self, const value *indices, tensor *values,
                             bool accumulate) {
    move_op op = accumulate ? MOVE_ADD : MOVE_SET;
    index_plan p;
    if (!move_kernel_for(op, (dtype)self->dtype).run)
        return op_refuse_dtype(cx, "index_put", (dtype)self->dtype);
    TRY(index_plan_make(cx, self, indices, &p));
    ctsc_status status = index_values_fit(values, &p) ? index_plan_write(cx, self, &p, values, op)
                                                      : index_fail_values(cx, values, &p);
    index_plan_end(&p);
    return status;
}

/* A single mask and a single value: PyTorch fills, and converts the value. */
static bool index_is_fill(const value *indices, const tensor *values) {
    int masks = 0, others = 0;
    for (size_t i = 0; i < indices->u.list->len; i++) {
        const tensor *t = arg_list_tensor(indices, i);
        if (t && index_is_mask(t)) masks++;
        else if (t) others++;
    }
    return values->numel == 1 && masks == 1 && others == 0;
}

/* The values in self's dtype, where PyTorch allows another. */
static ctsc_status index_values(op_ctx *cx, const tensor *self, const value *args, tensor **out) {
    tensor *values = arg_tensor(&args[2]);
    if (values->dtype == self->dtype) {
        /* A copy if it shares memory with what is written. */
        if (values->storage == self->storage) return tensor_clone(cx->diag, values, out);
        *out = tensor_ref(values);
        return CTSC_OK;
    }
    if (!arg_bool(&args[3]) && index_is_fill(&args[1], values)) {
        if (dtype_is_integral((dtype)self->dtype) && dtype_is_float((dtype)values->dtype) &&
            self->dtype != DT_BOOL) {
            /* what a device holds is not looked at */
            double v = tensor_device(values) == DEVICE_HOST ? tensor_item_float(values) : 0;
            int bits = 8 * (int)dtype_size((dtype)self->dtype) - (self->dtype != DT_UINT8);
            double limit = (double)(UINT64_C(1) << (bits > 63 ? 63 : bits));
            if (v != v || v >= limit || v < -limit)
                return diag_fail(cx->diag, CTSC_FAILED,
                                 "value cannot be converted to type %s without overflow",
                                 dtype_ctype_name((dtype)self->dtype));
        }
        return tensor_to_dtype(cx->diag, values, (dtype)self->dtype, out);
    }
    return diag_fail(cx->diag, CTSC_FAILED,
                     "Index put requires the source and destination dtypes match, got %s for the "
                     "destination and %s for the source.",
                     dtype_table[self->dtype].ir_name, dtype_table[values->dtype].ir_name);
}

ctsc_status op_index_put(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *values, *target;
    TRY(index_values(cx, self, args, &values));
    ctsc_status status = CTSC_OK;
    if (move_in_place(cx)) {
        status = tensor_make_writable(cx->diag, self);
        target = tensor_ref(self);
    } else {
        status = tensor_clone(cx->diag, self, &target);
        if (status) target = NULL;
    }
    if (!status) status = index_put(cx, target, &args[1], values, arg_bool(&args[3]));
    tensor_unref(values);
    if (!status) return move_finish(cx, args, target, results);
    tensor_unref(target);
    return status;
}
