/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move.c - strided copies, and the forms and results that shape and index operators share.
 *
 * Tests: tests/unit/test_shape.c, tests/unit/test_index.c
 */
#include "runtime/kernels/engine/move.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include "runtime/kernels/engine/device_kernels.h"

void move_add_dim(move_geometry *g, int64_t size, int64_t ds, int64_t ss) {
    g->sizes[g->ndim] = size;
    g->ds[g->ndim] = ds;
    g->ss[g->ndim++] = ss;
}

void move_collapse(move_geometry *g) {
    int n = 0;
    for (int i = 0; i < g->ndim; i++) {
        int64_t size = g->sizes[i];
        if (size == 1) continue;
        if (n > 0 && g->ds[n - 1] == size * g->ds[i] && g->ss[n - 1] == size * g->ss[i]) {
            g->sizes[n - 1] *= size;
        } else {
            g->sizes[n] = size;
            n++;
        }
        g->ds[n - 1] = g->ds[i];
        g->ss[n - 1] = g->ss[i];
    }
    g->ndim = n;
}

int64_t move_count(const move_geometry *g) {
    int64_t n = 1;
    for (int i = 0; i < g->ndim; i++) n *= g->sizes[i];
    return n;
}

/* Lines [begin, end) of the geometry, a line being its innermost dimension. */
static void move_lines(const move_geometry *g, move_run run, char *dst, const char *src,
                       int64_t begin, int64_t end) {
    int outer = g->ndim - 1;
    int64_t at[TENSOR_MAX_DIMS], rest = begin;
    for (int i = outer - 1; i >= 0; i--) {
        at[i] = rest % g->sizes[i];
        rest /= g->sizes[i];
        dst += at[i] * g->ds[i];
        src += at[i] * g->ss[i];
    }
    for (int64_t line = begin; line < end; line++) {
        run(g->sizes[outer], dst, g->ds[outer], src, g->ss[outer]);
        for (int i = outer - 1; i >= 0; i--) {
            dst += g->ds[i];
            src += g->ss[i];
            if (++at[i] < g->sizes[i]) break;
            dst -= at[i] * g->ds[i];
            src -= at[i] * g->ss[i];
            at[i] = 0;
        }
    }
}

void move_apply(const move_geometry *g, move_run run, char *dst, const char *src) {
    int64_t n = move_count(g);
    if (n == 0) return;
    if (g->ndim == 0) run(1, dst, 0, src, 0);
    else move_lines(g, run, dst, src, 0, n / g->sizes[g->ndim - 1]);
}

typedef struct move_job {
    move_geometry g;
    move_run run;
    char *dst;
    const char *src;
} move_job;

static void move_job_lines(void *ctx, int64_t begin, int64_t end) {
    move_job *job = ctx;
    move_lines(&job->g, job->run, job->dst, job->src, begin, end);
}

/* One long line is cut by position instead. */
static void move_job_line(void *ctx, int64_t begin, int64_t end) {
    move_job *job = ctx;
    job->run(end - begin, job->dst + begin * job->g.ds[0], job->g.ds[0],
             job->src + begin * job->g.ss[0], job->g.ss[0]);
}

ctsc_status move_copy(diag *d, const tensor *dst_tensor, const move_geometry *g, size_t item,
                      char *dst, const char *src) {
    if (tensor_cuda(dst_tensor))
        return on_device->move(d, tensor_cuda(dst_tensor), g, item, dst, src);
    move_job job = {.g = *g, .dst = dst, .src = src};
    job.run = move_kernel_for(MOVE_SET, item == 1   ? DT_UINT8
                                        : item == 2 ? DT_INT16
                                        : item == 4 ? DT_INT32
                                        : item == 8 ? DT_INT64
                                                    : DT_COMPLEX128)
                  .run;
    move_collapse(&job.g);
    int64_t n = move_count(&job.g);
    bool whole = true;
    if (n * (int64_t)item <= MOVE_GRAIN || job.g.ndim == 0) {
        move_apply(&job.g, job.run, dst, src);
    } else if (job.g.ndim == 1) {
        whole = pool_for_limited(n, MOVE_GRAIN / (int64_t)item, move_job_line, &job);
    } else {
        int64_t line = job.g.sizes[job.g.ndim - 1];
        int64_t grain = MOVE_GRAIN / (line * (int64_t)item);
        whole = pool_for_limited(n / line, grain > 0 ? grain : 1, move_job_lines, &job);
    }
    return whole ? CTSC_OK : limits_fail(d);
}

/* ---- forms of operators ---------------------------------------------------------------------- */

ctsc_status move_shape_out(op_ctx *cx, tensor *out, const tensor *computed) {
    tensor *shaped;
    int64_t reach = computed->numel > 0; /* elements from the first to the last */
    if (out == computed || out->dtype != computed->dtype || tensor_same_shape(out, computed))
        return CTSC_OK;
    for (int i = 0; computed->numel && i < computed->ndim; i++)
        reach += (computed->sizes[i] - 1) * computed->strides[i];
    TRY(tensor_resize(cx->diag, out, 1, &reach));
    TRY(tensor_view_raw(cx->diag, out, computed->ndim, computed->sizes, computed->strides,
                        out->offset, &shaped));
    tensor_swap_geometry(out, shaped);
    tensor_unref(shaped);
    return CTSC_OK;
}

bool move_in_place(const op_ctx *cx) {
    const schema *s = cx->op->schema;
    return s->nargs > 0 && s->args[0].alias && s->args[0].alias->write;
}

ctsc_status move_target(op_ctx *cx, const value *args, tensor **out) {
    tensor *self = arg_tensor(&args[0]);
    if (!move_in_place(cx)) return tensor_clone(cx->diag, self, out);
    TRY(move_refuse_internal_overlap(cx, self));
    TRY(tensor_make_writable(cx->diag, self));
    *out = tensor_ref(self);
    return CTSC_OK;
}

ctsc_status move_widen(op_ctx *cx, move_op op, tensor *target, tensor *source, tensor **wide_target,
                       tensor **wide_source) {
    const bool widens = dtype_is_half((dtype)target->dtype) && (op == MOVE_ADD || op == MOVE_MUL) &&
                        tensor_device(target) == DEVICE_HOST;
    if (!widens) {
        *wide_target = tensor_ref(target);
        *wide_source = tensor_ref(source);
        return CTSC_OK;
    }
    TRY(tensor_to_dtype(cx->diag, target, DT_FLOAT32, wide_target));
    ctsc_status status = tensor_to_dtype(cx->diag, source, DT_FLOAT32, wide_source);
    if (status) tensor_unref(*wide_target);
    return status;
}

ctsc_status move_narrow(op_ctx *cx, tensor *target, tensor *wide_target) {
    return wide_target == target ? CTSC_OK : tensor_copy(cx->diag, target, wide_target);
}

ctsc_status move_finish(op_ctx *cx, const value *args, tensor *target, value *results) {
    if (move_in_place(cx)) return op_return_tensor(results, target);
    return op_finish(cx, args, target, results);
}

ctsc_status move_finish_many(op_ctx *cx, const value *args, int n, tensor *const *computed,
                             value *results) {
    const schema *s = cx->op->schema;
    const alias_info *last = s->nargs ? s->args[s->nargs - 1].alias : NULL;
    if (!last || !last->write) {
        for (int i = 0; i < n; i++) results[i] = value_tensor_take(computed[i]);
        return CTSC_OK;
    }
    ctsc_status status = CTSC_OK;
    for (int i = 0; i < n; i++) {
        if (status) tensor_unref(computed[i]);
        else status = op_finish_out(cx, &args[s->nargs - n + i], computed[i], &results[i]);
    }
    for (int i = 0; status && i < n; i++) value_set(&results[i], value_none());
    return status;
}

ctsc_status move_list_new(op_ctx *cx, size_t reserve, list **out) {
    *out = list_new(LIST_TENSOR, TYPE_TENSOR, reserve);
    return *out ? CTSC_OK : diag_no_memory(cx->diag);
}

ctsc_status move_list_add(op_ctx *cx, list *l, tensor *t) {
    return list_append_take(l, value_tensor_take(t)) ? CTSC_OK : diag_no_memory(cx->diag);
}

ctsc_status move_return_ints(op_ctx *cx, int n, const int64_t *ints, value *results) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    if (!l) return diag_no_memory(cx->diag);
    for (int i = 0; i < n; i++) {
        if (list_append_take(l, value_int(ints[i]))) continue;
        value_unref(value_list_take(l));
        return diag_no_memory(cx->diag);
    }
    return op_return(results, value_list_take(l));
}

tensor *arg_list_tensor(const value *v, size_t i) {
    const list *l = v->u.list;
    if (l->kind == LIST_TENSOR) return l->u.tensors[i];
    return l->kind == LIST_VALUE ? arg_tensor_or_null(&l->u.values[i]) : NULL;
}

ctsc_status move_fail_sizes(op_ctx *cx, const char *before, const tensor *t, const char *after) {
    strbuf sb = STRBUF_INIT;
    tensor_print_sizes(t->ndim, t->sizes, &sb);
    ctsc_status status = diag_fail(cx->diag, CTSC_FAILED, "%s%s%s", before, sb_str(&sb), after);
    sb_free(&sb);
    return status;
}

ctsc_status move_refuse_internal_overlap(op_ctx *cx, const tensor *written) {
    for (int i = 0; i < written->ndim; i++)
        if (written->strides[i] == 0 && written->sizes[i] > 1)
            return diag_fail(
                cx->diag, CTSC_FAILED,
                "unsupported operation: more than one element of the written-to tensor "
                "refers to a single memory location. Please clone() the tensor before "
                "performing the operation.");
    return CTSC_OK;
}

/* From the first element to just after the last, where t fills its memory without gaps. */
static bool op_memory_span(const tensor *t, const char **begin, const char **end) {
    int64_t reach = 1;
    for (int i = 0; i < t->ndim; i++) reach += (t->sizes[i] - 1) * t->strides[i];
    *begin = tensor_data(t);
    *end = *begin + reach * (int64_t)dtype_size((dtype)t->dtype);
    return t->numel > 0 && reach == t->numel && !tensor_may_overlap(t);
}

ctsc_status move_refuse_overlap(op_ctx *cx, const tensor *written, const tensor *read) {
    const char *wb, *we, *rb, *re;
    if (written->storage != read->storage) return CTSC_OK;
    bool dense = op_memory_span(written, &wb, &we) && op_memory_span(read, &rb, &re);
    if (written != read && !(dense && wb < re && rb < we)) return CTSC_OK;
    return op_refuse_partial_overlap(cx);
}

ctsc_status move_index_int64(op_ctx *cx, tensor *index, tensor **out) {
    tensor *wide;
    TRY(tensor_to_dtype(cx->diag, index, DT_INT64, &wide));
    ctsc_status status = tensor_contiguous(cx->diag, wide, out);
    tensor_unref(wide);
    return status;
}
