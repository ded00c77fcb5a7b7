/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.c - operators that put tensors together: cat, stack and their kin, block_diag, meshgrid,
 * products.
 *
 * Method: along the joined dimension every tensor contributes, for each index of the dimensions in
 * front, one block; the result is these blocks in turn. Contiguous tensors of the result's dtype
 * are moved block by block with memcpy, from several threads when there is much to move; others
 * are copied into a slice of the result, which converts as well. Stacking is joining along a
 * dimension of size 1.
 * Tests: tests/unit/test_shape.c
 */
#include "runtime/kernels/engine/kernel_tuning.h"
#include "runtime/kernels/engine/move.h"

/* The tensors to join, owned, and their blocks. */
typedef struct join_list {
    size_t n;
    tensor **tensors;
    int64_t *ends; /* bytes of blocks 0..i together, within one row of the result */
} join_list;

static ctsc_status join_begin(op_ctx *cx, size_t n, join_list *j) {
    *j = (join_list){0};
    j->tensors = mem_zalloc((n + 1) * sizeof *j->tensors);
    j->ends = mem_alloc((n + 1) * sizeof *j->ends);
    if (j->tensors && j->ends) return CTSC_OK;
    mem_free(j->tensors);
    mem_free(j->ends);
    return diag_no_memory(cx->diag);
}

static void join_end(join_list *j) {
    for (size_t i = 0; i < j->n; i++) tensor_unref(j->tensors[i]);
    mem_free(j->tensors);
    mem_free(j->ends);
}

/* torch.result_type: tensors with dimensions count before those without. */
static dtype join_dtype(const join_list *j) {
    bool have[2] = {false, false};
    dtype met[2] = {DT_FLOAT32, DT_FLOAT32};
    for (size_t i = 0; i < j->n; i++) {
        int zero = j->tensors[i]->ndim == 0;
        dtype dt = (dtype)j->tensors[i]->dtype;
        met[zero] = have[zero] ? dtype_promote(met[zero], dt) : dt;
        have[zero] = true;
    }
    if (!have[0] || !have[1]) return met[have[1] && !have[0]];
    if (dtype_can_cast(met[1], met[0])) return met[0]; /* of no higher category */
    if (!dtype_is_float(met[0]) || !dtype_is_complex(met[1])) return dtype_promote(met[0], met[1]);
    return met[0] == DT_FLOAT64   ? DT_COMPLEX128
           : met[0] == DT_FLOAT16 ? DT_COMPLEX32
                                  : DT_COMPLEX64;
}

/* Dtypes that meet in none are refused. */
static ctsc_status join_meet(op_ctx *cx, const join_list *j) {
    for (size_t i = 1; i < j->n; i++)
        TRY(op_check_promotion(cx->diag, (dtype)j->tensors[0]->dtype, (dtype)j->tensors[i]->dtype));
    return CTSC_OK;
}

typedef struct join_job {
    const join_list *j;
    char *dst;
    int64_t row; /* bytes of a row of the result */
} join_job;

/* Bytes [begin, end) of the result. */
static void join_move(void *ctx, int64_t begin, int64_t end) {
    const join_job *job = ctx;
    const int64_t *ends = job->j->ends;
    while (begin < end) {
        int64_t row = begin / job->row, at = begin % job->row;
        size_t low = 0, high = job->j->n - 1;
        while (low < high) { /* the first block that ends after `at` */
            size_t middle = (low + high) / 2;
            if (ends[middle] > at) high = middle;
            else low = middle + 1;
        }
        for (; begin < end && low < job->j->n; low++) {
            int64_t start = low ? ends[low - 1] : 0, block = ends[low] - start;
            int64_t n = ends[low] - at < end - begin ? ends[low] - at : end - begin;
            if (n <= 0) continue;
            const char *src = tensor_data(job->j->tensors[low]);
            memcpy(job->dst + begin, src + row * block + (at - start), (size_t)n);
            begin += n;
            at += n;
        }
    }
}

/* The whole result, tensor by tensor: for blocks so small that finding them would cost more. */
static void join_move_small(const join_list *j, const tensor *out, int64_t rows, int64_t row) {
    size_t item = dtype_size((dtype)out->dtype);
    for (size_t i = 0; i < j->n; i++) {
        int64_t start = i ? j->ends[i - 1] : 0, block = j->ends[i] - start;
        move_geometry g = {0};
        if (block == 0) continue;
        move_add_dim(&g, rows, row, block);
        move_add_dim(&g, block / (int64_t)item, (int64_t)item, (int64_t)item);
        /* cannot fail on the host */
        (void)move_copy(NULL, out, &g, item, (char *)tensor_data(out) + start,
                        tensor_data(j->tensors[i]));
    }
}

/* Copies each tensor into its slice of the result. */
static ctsc_status join_copy(op_ctx *cx, const join_list *j, int dim, tensor *out) {
    int64_t start = 0;
    for (size_t i = 0; i < j->n; i++) {
        tensor *slice;
        int64_t size = j->tensors[i]->sizes[dim];
        TRY(tensor_slice(cx->diag, out, dim, start, start + size, 1, &slice));
        ctsc_status status = tensor_copy(cx->diag, slice, j->tensors[i]);
        tensor_unref(slice);
        if (status) return status;
        start += size;
    }
    return CTSC_OK;
}

/* Joins tensors of equal rank whose other dimensions agree. */
static ctsc_status join_blocks(op_ctx *cx, join_list *j, dtype dt, int dim, tensor **out) {
    const tensor *first = j->tensors[0];
    int64_t sizes[TENSOR_MAX_DIMS], inner = (int64_t)dtype_size(dt);
    memcpy(sizes, first->sizes, first->ndim * sizeof *sizes);
    sizes[dim] = 0;
    bool plain = true;
    for (size_t i = 0; i < j->n; i++) {
        if (__builtin_add_overflow(sizes[dim], j->tensors[i]->sizes[dim], &sizes[dim]))
            return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
        plain &= j->tensors[i]->dtype == dt && tensor_is_contiguous(j->tensors[i]);
    }
    tensor *result;
    TRY(tensor_new_on(cx->diag, tensor_device(first), dt, first->ndim, sizes, &result));
    ctsc_status status = CTSC_OK;
    if (!plain || tensor_device(first) != DEVICE_HOST) {
        status = join_copy(cx, j, dim, result);
    } else if (result->numel > 0) {
        for (int i = dim + 1; i < first->ndim; i++) inner *= sizes[i];
        for (size_t i = 0; i < j->n; i++)
            j->ends[i] = (i ? j->ends[i - 1] : 0) + inner * j->tensors[i]->sizes[dim];
        join_job job = {j, tensor_data(result), inner * sizes[dim]};
        int64_t bytes = result->numel * (int64_t)dtype_size(dt);
        if (job.row / (int64_t)j->n < JOIN_SMALL)
            join_move_small(j, result, bytes / job.row, job.row);
        else if (bytes <= JOIN_GRAIN) join_move(&job, 0, bytes);
        else status = op_for(cx, bytes, JOIN_GRAIN, join_move, &job);
    }
    if (status) tensor_unref(result);
    else *out = result;
    return status;
}

/* ---- cat ------------------------------------------------------------------------------------- */

/* An empty 1-D tensor joins with anything: programs from before there were empty shapes do so. */
static bool join_skips(const tensor *t) { return t->ndim == 1 && t->sizes[0] == 0; }

static ctsc_status join_check(op_ctx *cx, const tensor *first, const tensor *t, int dim,
                              size_t position) {
    if (first->ndim != t->ndim)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Tensors must have same number of dimensions: got %d and %d", first->ndim,
                         t->ndim);
    for (int i = 0; i < t->ndim; i++)
        if (i != dim && first->sizes[i] != t->sizes[i])
            return diag_fail(cx->diag, CTSC_FAILED,
                             "Sizes of tensors must match except in dimension %d. Expected size "
                             "%" PRId64 " but got size %" PRId64 " for tensor number %zu in the "
                             "list.",
                             dim, first->sizes[i], t->sizes[i], position);
    return CTSC_OK;
}

/* Joins all of j; drops the legacy empty ones from it. */
static ctsc_status join_cat(op_ctx *cx, join_list *j, int64_t at, tensor **out) {
    if (j->n == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.cat(): expected a non-empty list of Tensors");
    TRY(join_meet(cx, j));
    dtype dt = join_dtype(j);
    const tensor *first = NULL;
    for (size_t i = 0; i < j->n; i++) {
        if (j->tensors[i]->ndim == 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "zero-dimensional tensor (at position %zu) cannot be concatenated", i);
        if (!first && !join_skips(j->tensors[i])) first = j->tensors[i];
    }
    if (!first) {
        const int64_t none = 0;
        return tensor_new_on(cx->diag, tensor_device(j->tensors[0]), dt, 1, &none, out);
    }
    int dim;
    TRY(tensor_wrap_dim(cx->diag, at, first->ndim, &dim));
    size_t kept = 0;
    ctsc_status status = CTSC_OK;
    for (size_t i = 0; i < j->n; i++) {
        tensor *t = j->tensors[i];
        if (!status && !join_skips(t)) {
            status = join_check(cx, first, t, dim, i);
            j->tensors[kept++] = t;
        } else if (!status) {
            tensor_unref(t);
        } else {
            j->tensors[kept++] = t; /* only to be released */
        }
    }
    j->n = kept;
    return status ? status : join_blocks(cx, j, dt, dim, out);
}

static ctsc_status join_take_all(op_ctx *cx, const value *tensors, join_list *j) {
    size_t n = tensors->u.list->len;
    TRY(join_begin(cx, n, j));
    for (; j->n < n; j->n++) j->tensors[j->n] = tensor_ref(arg_list_tensor(tensors, j->n));
    return CTSC_OK;
}

ctsc_status op_cat(op_ctx *cx, const value *args, value *results) {
    join_list j;
    tensor *out;
    TRY(join_take_all(cx, &args[0], &j));
    ctsc_status status = join_cat(cx, &j, arg_int(&args[1]), &out);
    join_end(&j);
    return status ? status : op_finish(cx, args, out, results);
}

/* ---- stack and similar ----------------------------------------------------------------------- */

ctsc_status op_stack(op_ctx *cx, const value *args, value *results) {
    const value *tensors = &args[0];
    size_t n = tensors->u.list->len;
    int dim;
    if (n == 0) return diag_fail(cx->diag, CTSC_FAILED, "stack expects a non-empty TensorList");
    const tensor *first = arg_list_tensor(tensors, 0);
    TRY(tensor_wrap_dim(cx->diag, arg_int(&args[1]), first->ndim + 1, &dim));
    for (size_t i = 1; i < n; i++) {
        const tensor *t = arg_list_tensor(tensors, i);
        if (tensor_same_shape(first, t)) continue;
        strbuf sb = STRBUF_INIT;
        tensor_print_sizes(first->ndim, first->sizes, &sb);
        sb_puts(&sb, " at entry 0 and ");
        tensor_print_sizes(t->ndim, t->sizes, &sb);
        ctsc_status status = diag_fail(
            cx->diag, CTSC_FAILED,
            "stack expects each tensor to be equal size, but got %s at entry %zu", sb_str(&sb), i);
        sb_free(&sb);
        return status;
    }
    join_list j;
    tensor *out = NULL;
    TRY(join_begin(cx, n, &j));
    ctsc_status status = CTSC_OK;
    for (; !status && j.n < n; j.n += !status)
        status = tensor_unsqueeze(cx->diag, arg_list_tensor(tensors, j.n), dim, &j.tensors[j.n]);
    if (!status) status = join_meet(cx, &j);
    if (!status) status = join_blocks(cx, &j, join_dtype(&j), dim, &out);
    join_end(&j);
    return status ? status : op_finish(cx, args, out, results);
}

typedef ctsc_status (*join_prepare)(op_ctx *cx, tensor *t, tensor **out);

static ctsc_status join_reshape(op_ctx *cx, tensor *t, int ndim, int64_t a, int64_t b, int64_t c,
                                tensor **out) {
    const int64_t sizes[] = {a, b, c};
    return tensor_reshape(cx->diag, t, ndim, sizes, out);
}

static ctsc_status join_row_1d(op_ctx *cx, tensor *t, tensor **out) { /* atleast_1d */
    return t->ndim == 0 ? join_reshape(cx, t, 1, 1, 0, 0, out) : (*out = tensor_ref(t), CTSC_OK);
}

static ctsc_status join_row_2d(op_ctx *cx, tensor *t, tensor **out) { /* atleast_2d */
    return t->ndim < 2 ? join_reshape(cx, t, 2, 1, t->numel, 0, out)
                       : (*out = tensor_ref(t), CTSC_OK);
}

static ctsc_status join_row_3d(op_ctx *cx, tensor *t, tensor **out) { /* atleast_3d */
    if (t->ndim < 2) return join_reshape(cx, t, 3, 1, t->numel, 1, out);
    if (t->ndim == 2) return tensor_unsqueeze(cx->diag, t, 2, out);
    *out = tensor_ref(t);
    return CTSC_OK;
}

static ctsc_status join_column(op_ctx *cx, tensor *t, tensor **out) {
    return t->ndim < 2 ? join_reshape(cx, t, 2, t->numel, 1, 0, out)
                       : (*out = tensor_ref(t), CTSC_OK);
}

/* name: for the error; dim -1: 0 for 1-D tensors, else 1. */
static ctsc_status join_stack(op_ctx *cx, const value *args, const char *name, join_prepare prepare,
                              int dim, value *results) {
    size_t n = args[0].u.list->len;
    if (n == 0) return diag_fail(cx->diag, CTSC_FAILED, "%s expects a non-empty TensorList", name);
    join_list j;
    tensor *out = NULL;
    TRY(join_begin(cx, n, &j));
    ctsc_status status = CTSC_OK;
    for (; !status && j.n < n; j.n += !status)
        status = prepare(cx, arg_list_tensor(&args[0], j.n), &j.tensors[j.n]);
    if (!status) {
        if (dim < 0) dim = j.tensors[0]->ndim == 1 ? 0 : 1;
        status = join_cat(cx, &j, dim, &out);
    }
    join_end(&j);
    return status ? status : op_finish(cx, args, out, results);
}

ctsc_status op_hstack(op_ctx *cx, const value *args, value *results) {
    return join_stack(cx, args, "hstack", join_row_1d, -1, results);
}

ctsc_status op_vstack(op_ctx *cx, const value *args, value *results) {
    return join_stack(cx, args, "vstack", join_row_2d, 0, results);
}

ctsc_status op_dstack(op_ctx *cx, const value *args, value *results) {
    return join_stack(cx, args, "dstack", join_row_3d, 2, results);
}

ctsc_status op_column_stack(op_ctx *cx, const value *args, value *results) {
    return join_stack(cx, args, "column_stack", join_column, 1, results);
}

/* ---- block_diag ------------------------------------------------------------------------------ */

ctsc_status op_block_diag(op_ctx *cx, const value *args, value *results) {
    size_t n = args[0].u.list->len;
    if (n == 0) {
        const int64_t empty[] = {1, 0};
        tensor *none;
        TRY(tensor_new(cx->diag, DT_FLOAT32, 2, empty, &none));
        return op_finish(cx, args, none, results);
    }
    join_list j;
    tensor *out = NULL;
    int64_t sizes[] = {0, 0}, at[] = {0, 0};
    TRY(join_take_all(cx, &args[0], &j));
    dtype dt = join_dtype(&j);
    ctsc_status status = CTSC_OK;
    for (size_t i = 0; !status && i < n; i++) {
        tensor *t = j.tensors[i];
        if (t->ndim > 2)
            status = diag_fail(cx->diag, CTSC_FAILED,
                               "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                               "Input %zu has %d dimensions",
                               i, t->ndim);
        else status = join_row_2d(cx, t, &j.tensors[i]);
        if (status) break;
        tensor_unref(t);
        if (__builtin_add_overflow(sizes[0], j.tensors[i]->sizes[0], &sizes[0]) ||
            __builtin_add_overflow(sizes[1], j.tensors[i]->sizes[1], &sizes[1]))
            status = diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
    }
    if (!status)
        status = tensor_zeros_on(cx->diag, tensor_device(j.tensors[0]), dt, 2, sizes, &out);
    for (size_t i = 0; !status && i < n; i++) {
        const tensor *t = j.tensors[i];
        tensor *block;
        status = tensor_view_raw(cx->diag, out, 2, t->sizes, out->strides,
                                 t->numel ? at[0] * out->strides[0] + at[1] : 0, &block);
        if (status) break;
        status = tensor_copy(cx->diag, block, t);
        tensor_unref(block);
        at[0] += t->sizes[0];
        at[1] += t->sizes[1];
    }
    join_end(&j);
    if (!status) return op_finish(cx, args, out, results);
    tensor_unref(out);
    return status;
}

/* ---- grids ----------------------------------------------------------------------------------- */

static ctsc_status join_meshgrid(op_ctx *cx, const value *tensors, bool swap, list **out) {
    size_t n = tensors->u.list->len;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    if (n == 0) return diag_fail(cx->diag, CTSC_FAILED, "meshgrid expects a non-empty TensorList");
    if (n > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "tensors have at most %d dimensions, got %zu",
                         TENSOR_MAX_DIMS, n);
    swap &= n > 1;
    for (size_t i = 0; i < n; i++) {
        const tensor *t = arg_list_tensor(tensors, i);
        if (t->ndim > 1) {
            strbuf sb = STRBUF_INIT;
            tensor_print(t, &sb);
            ctsc_status status = diag_fail(cx->diag, CTSC_FAILED,
                                           "torch.meshgrid: Expected 0D or 1D tensor in the tensor "
                                           "list but got: %s",
                                           sb_str(&sb));
            sb_free(&sb);
            return status;
        }
        if (t->dtype != arg_list_tensor(tensors, 0)->dtype)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "meshgrid expects all tensors to have the same dtype");
        size_t dim = swap && i < 2 ? 1 - i : i;
        sizes[dim] = t->numel;
    }
    list *l;
    TRY(move_list_new(cx, n, &l));
    ctsc_status status = CTSC_OK;
    for (size_t i = 0; !status && i < n; i++) {
        const tensor *t = arg_list_tensor(tensors, i);
        tensor *grid;
        memset(strides, 0, sizeof strides);
        strides[swap && i < 2 ? 1 - i : i] = t->ndim ? t->strides[0] : 1;
        status = tensor_view_raw(cx->diag, t, (int)n, sizes, strides, t->offset, &grid);
        if (!status) status = move_list_add(cx, l, grid);
    }
    if (status) value_unref(value_list_take(l));
    else *out = l;
    return status;
}

ctsc_status op_meshgrid(op_ctx *cx, const value *args, value *results) {
    bool swap = false;
    if (cx->op->schema->nargs > 1) {
        const char *indexing = args[1].u.str->bytes;
        swap = strcmp(indexing, "xy") == 0;
        if (!swap && strcmp(indexing, "ij") != 0 && args[0].u.list->len > 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but "
                             "received: %s",
                             indexing);
    }
    list *l;
    TRY(join_meshgrid(cx, &args[0], swap, &l));
    return op_return(results, value_list_take(l));
}

ctsc_status op_cartesian_prod(op_ctx *cx, const value *args, value *results) {
    size_t n = args[0].u.list->len;
    for (size_t i = 0; i < n; i++)
        if (arg_list_tensor(&args[0], i)->ndim != 1)
            return move_fail_sizes(cx, "Expect a 1D vector, but got shape ",
                                   arg_list_tensor(&args[0], i), "");
    if (n == 1) return op_return_tensor(results, tensor_ref(arg_list_tensor(&args[0], 0)));
    list *grids;
    TRY(join_meshgrid(cx, &args[0], false, &grids));
    join_list j;
    tensor *out = NULL;
    ctsc_status status = join_begin(cx, n, &j);
    if (status) {
        value_unref(value_list_take(grids));
        return status;
    }
    const int64_t column[] = {-1, 1}, none[] = {0, 1};
    for (; !status && j.n < n; j.n += !status) {
        const tensor *grid = grids->u.tensors[j.n];
        status = tensor_reshape(cx->diag, grid, 2, grid->numel ? column : none, &j.tensors[j.n]);
    }
    if (!status) status = join_blocks(cx, &j, (dtype)j.tensors[0]->dtype, 1, &out);
    join_end(&j);
    value_unref(value_list_take(grids));
    return status ? status : op_return_tensor(results, out);
}

/* Number of ways to draw r of n, or -1 when it does not fit. */
static int64_t join_count_draws(int64_t n, int64_t r, bool repeat) {
    if (repeat) n = n > 0 ? n + r - 1 : 0;
    if (n < r) return 0;
    if (r > n - r) r = n - r;
    int64_t count = 1;
    for (int64_t i = 1; i <= r; i++) {
        __int128 next = (__int128)count * (n - r + i) / i;
        if (next > INT64_MAX / 64) return -1;
        count = (int64_t)next;
    }
    return count;
}

/* The draw after this one, in lexicographic order. */
static void join_next_draw(int64_t *draw, int64_t n, int64_t r, bool repeat) {
    int64_t i = r - 1;
    while (i > 0 && draw[i] == (repeat ? n - 1 : n - r + i)) i--;
    draw[i]++;
    for (int64_t k = i + 1; k < r; k++) draw[k] = repeat ? draw[i] : draw[k - 1] + 1;
}

ctsc_status op_combinations(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    int64_t r = arg_int(&args[1]), none = 0;
    bool repeat = arg_bool(&args[2]);
    if (t->ndim != 1) return move_fail_sizes(cx, "Expect a 1D vector, but got shape ", t, "");
    if (r < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "Expect a non-negative number, but got %" PRId64,
                         r);
    tensor *out;
    if (r == 0) {
        TRY(tensor_new(cx->diag, (dtype)t->dtype, 1, &none, &out));
        return op_return_tensor(results, out);
    }
    if (r > TENSOR_MAX_DIMS) /* PyTorch makes a grid of r dimensions */
        return diag_fail(cx->diag, CTSC_LIMIT, "combinations of more than %d elements",
                         TENSOR_MAX_DIMS);
    int64_t n = t->sizes[0], count = join_count_draws(n, r, repeat);
    if (count < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "numel: integer multiplication overflow");
    const int64_t sizes[] = {count, r};
    TRY(tensor_new(cx->diag, (dtype)t->dtype, 2, sizes, &out));
    int64_t draw[TENSOR_MAX_DIMS], item = (int64_t)dtype_size((dtype)t->dtype);
    move_scatter pick = move_gather_for((size_t)item);
    for (int64_t i = 0; i < r; i++) draw[i] = repeat ? 0 : i;
    for (int64_t row = 0; row < count; row++) {
        pick(r, (char *)tensor_data(out) + row * r * item, item, (const char *)draw, sizeof *draw,
             t->strides[0] * item, tensor_data(t), 0);
        join_next_draw(draw, n, r, repeat);
    }
    return op_return_tensor(results, out);
}
