/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functional_collectives.c - _c10d_functional::*: collectives of programs that torch.export makes
 * of models whose parts run in several processes.
 *
 *     %a = _c10d_functional::all_reduce(%x, "sum", "0")      started: %a has no elements yet
 *     ...                                                    what does not need them
 *     %b = _c10d_functional::wait_tensor(%a)                 %a, complete
 *
 * The last argument names the group (started.h). Every result is a new tensor; what is sent is a
 * copy of the argument, which the program may write as soon as the collective is started, as in
 * PyTorch. The pass `overlap` moves the two apart.
 * Tests: tests/distributed/exported.py (tests/python/test_py_distributed.py)
 */
#include "runtime/kernels/collective/started.h"
#include "runtime/kernels/engine/move.h"

#include <string.h>

/* A call that is being made up. */
typedef struct functional {
    op_ctx *cx;
    ctsc_dist_group *g;
    int rank, size;
} functional;

static ctsc_status functional_begin(op_ctx *cx, const value *group, functional *f) {
    f->cx = cx;
    return collective_group(cx, group, &f->g, &f->rank, &f->size);
}

/* The number of ranks that the program was made for, given before the group's name. */
static ctsc_status functional_begin_sized(op_ctx *cx, const value *size, functional *f) {
    TRY(functional_begin(cx, size + 1, f));
    if (arg_int(size) == f->size) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "%s: the program was made for a group of %lld ranks, and group %.100s has %d",
                     cx->op->key, (long long)arg_int(size), size[1].u.str->bytes, f->size);
}

static ctsc_status functional_reduction(op_ctx *cx, const value *v, ctsc_dist_reduce *out) {
    static const char *const names[] = {"sum", "avg",  "product", "min",
                                        "max", "band", "bor",     "bxor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], v->u.str->bytes)) {
            *out = (ctsc_dist_reduce)i;
            return CTSC_OK;
        }
    return diag_fail(cx->diag, CTSC_FAILED, "Unrecognized reduce_op: %.100s", v->u.str->bytes);
}

/* t as the library takes it: contiguous, as one row. */
static ctsc_dist_tensor functional_row(const tensor *t) {
    return (ctsc_dist_tensor){tensor_data(t), t->dtype, 1, &t->numel, NULL};
}

/* Part i of n of a contiguous tensor, whose elements are *count. */
static ctsc_dist_tensor functional_part(const tensor *t, int i, const int64_t *count) {
    char *at = (char *)tensor_data(t) + (size_t)(i * *count) * dtype_size((dtype)t->dtype);
    return (ctsc_dist_tensor){at, t->dtype, 1, count, NULL};
}

/* ---- starts, each of one tensor -------------------------------------------------------------- */

static ctsc_status functional_all_reduce(const functional *f, tensor *x, ctsc_dist_reduce how,
                                         tensor **out) {
    TRY(tensor_clone(f->cx->diag, x, out));
    if (geometry_only()) return CTSC_OK;
    ctsc_dist_tensor row = functional_row(*out);
    ctsc_dist_call call = {CTSC_DIST_ALL_REDUCE, how, 0, 0, -1, 1, 1, &row, &row};
    return collective_start(f->cx, f->g, &call, *out, NULL);
}

static ctsc_status functional_broadcast(const functional *f, tensor *x, int64_t root,
                                        tensor **out) {
    TRY(tensor_clone(f->cx->diag, x, out));
    if (geometry_only()) return CTSC_OK;
    if (root < 0 || root >= f->size)
        return diag_fail(f->cx->diag, CTSC_FAILED, "%s: rank %lld is not one of %d", f->cx->op->key,
                         (long long)root, f->size);
    ctsc_dist_tensor row = functional_row(*out);
    ctsc_dist_call call = {CTSC_DIST_BROADCAST, CTSC_DIST_SUM, (int)root, 0, -1, 1, 1, &row, &row};
    return collective_start(f->cx, f->g, &call, *out, NULL);
}

/* A tensor like x, but for the size of the first dimension. */
static ctsc_status functional_rows(const functional *f, const tensor *x, int64_t rows,
                                   tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    if (!x->ndim)
        return diag_fail(f->cx->diag, CTSC_FAILED, "%s: a tensor without dimensions has no parts",
                         f->cx->op->key);
    memcpy(sizes, x->sizes, x->ndim * sizeof *sizes);
    sizes[0] = rows;
    return tensor_new(f->cx->diag, (dtype)x->dtype, x->ndim, sizes, out);
}

/* This rank's tensor is sent from its place in the result. */
static ctsc_status functional_gather(const functional *f, tensor *x, tensor **out) {
    tensor *own;
    int64_t rows = x->ndim ? x->sizes[0] : 0, all;
    if (__builtin_mul_overflow(rows, f->size, &all)) return diag_no_memory(f->cx->diag);
    TRY(functional_rows(f, x, all, out));
    if (geometry_only()) return CTSC_OK;
    TRY(tensor_slice(f->cx->diag, *out, 0, f->rank * rows, (f->rank + 1) * rows, 1, &own));
    ctsc_status st = tensor_copy(f->cx->diag, own, x);
    tensor_unref(own);
    ctsc_dist_tensor *parts = st == CTSC_OK ? mem_alloc((size_t)f->size * sizeof *parts) : NULL;
    if (!parts) return st == CTSC_OK ? diag_no_memory(f->cx->diag) : st;
    for (int i = 0; i < f->size; i++) parts[i] = functional_part(*out, i, &x->numel);
    ctsc_dist_call call = {CTSC_DIST_ALL_GATHER, CTSC_DIST_SUM,   0,    0, -1, 1,
                           (size_t)f->size,      &parts[f->rank], parts};
    st = collective_start(f->cx, f->g, &call, *out, NULL);
    mem_free(parts);
    return st;
}

static ctsc_status functional_reduce_scatter(const functional *f, tensor *x, ctsc_dist_reduce how,
                                             tensor **out) {
    tensor *given = NULL;
    if (x->ndim && x->sizes[0] % f->size)
        return diag_fail(f->cx->diag, CTSC_FAILED,
                         "%s: input dimension 0 (%lld) must be a multiple of group_size %d",
                         f->cx->op->key, (long long)x->sizes[0], f->size);
    TRY(functional_rows(f, x, x->ndim ? x->sizes[0] / f->size : 0, out));
    if (geometry_only()) return CTSC_OK;
    ctsc_status st = tensor_clone(f->cx->diag, x, &given);
    ctsc_dist_tensor *parts = st == CTSC_OK ? mem_alloc((size_t)f->size * sizeof *parts) : NULL;
    if (!parts && st == CTSC_OK) st = diag_no_memory(f->cx->diag);
    for (int i = 0; parts && i < f->size; i++) parts[i] = functional_part(given, i, &(*out)->numel);
    ctsc_dist_tensor row = functional_row(*out);
    ctsc_dist_call call = {CTSC_DIST_REDUCE_SCATTER, how, 0,     0,   -1,
                           (size_t)f->size,          1,   parts, &row};
    if (st == CTSC_OK) st = collective_start(f->cx, f->g, &call, *out, given);
    mem_free(parts);
    tensor_unref(given);
    return st;
}

/* ---- parts of different sizes ---------------------------------------------------------------- */

/* One side of an exchange: the rows of a tensor, in n parts of `rows`; *counts: their elements. */
static void functional_split(const functional *f, const tensor *t, const int64_t *rows,
                             int64_t *counts, ctsc_dist_tensor *parts) {
    size_t item = dtype_size((dtype)t->dtype);
    int64_t row = 1;
    char *at = tensor_data(t);
    for (int i = 1; i < t->ndim; i++) row *= t->sizes[i];
    for (int i = 0; i < f->size; i++) {
        counts[i] = rows[i] * row;
        parts[i] = (ctsc_dist_tensor){at, t->dtype, 1, &counts[i], NULL};
        at += (size_t)counts[i] * item;
    }
}

/* The sum of n sizes, one for each rank. */
static ctsc_status functional_total(const functional *f, const char *what, const value *v,
                                    int64_t *sum) {
    const int64_t *sizes;
    int n = arg_ints(v, &sizes);
    bool bad = n != f->size;
    *sum = 0;
    for (int i = 0; i < n && !bad; i++)
        bad = sizes[i] < 0 || __builtin_add_overflow(*sum, sizes[i], sum);
    return bad ? diag_fail(f->cx->diag, CTSC_FAILED,
                           "%s: %s is not a list of a size for each of %d ranks", f->cx->op->key,
                           what, f->size)
               : CTSC_OK;
}

static ctsc_status functional_exchange(const functional *f, tensor *given, const int64_t *give,
                                       tensor *out, const int64_t *take) {
    size_t n = (size_t)f->size;
    ctsc_dist_tensor *parts = mem_alloc(2 * n * sizeof *parts);
    int64_t *counts = mem_alloc(2 * n * sizeof *counts);
    ctsc_status st = parts && counts ? CTSC_OK : diag_no_memory(f->cx->diag);
    if (st == CTSC_OK) functional_split(f, given, give, counts, parts);
    if (st == CTSC_OK) functional_split(f, out, take, counts + n, parts + n);
    ctsc_dist_call call = {CTSC_DIST_ALL_TO_ALL, CTSC_DIST_SUM, 0, 0, -1, n, n, parts, parts + n};
    if (st == CTSC_OK) st = collective_start(f->cx, f->g, &call, out, given);
    mem_free(parts);
    mem_free(counts);
    return st;
}

ctsc_status op_functional_all_to_all(op_ctx *cx, const value *args, value *results) {
    functional f;
    tensor *x = arg_tensor(&args[0]), *given = NULL, *out = NULL;
    const int64_t *give, *take;
    int64_t rows, given_rows;
    TRY(functional_begin(cx, &args[3], &f));
    TRY(functional_total(&f, "output_split_sizes", &args[1], &rows));
    TRY(functional_total(&f, "input_split_sizes", &args[2], &given_rows));
    arg_ints(&args[1], &take);
    arg_ints(&args[2], &give);
    if (x->ndim && x->sizes[0] != given_rows)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Split sizes doesn't match total dim 0 size: %lld rows in parts of %lld",
                         (long long)x->sizes[0], (long long)given_rows);
    TRY(functional_rows(&f, x, rows, &out));
    ctsc_status st = geometry_only() ? CTSC_OK : tensor_clone(cx->diag, x, &given);
    if (given) st = functional_exchange(&f, given, give, out, take);
    tensor_unref(given);
    if (st != CTSC_OK) return tensor_unref(out), st;
    return op_return_tensor(results, out);
}

/* Equal parts of a tensor along dim, one after the other in memory (`blocks`), or back. */
static ctsc_status functional_blocks(const functional *f, tensor *t, int dim, tensor *blocks,
                                     bool back) {
    int64_t part = t->sizes[dim] / f->size;
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < f->size && st == CTSC_OK; i++) {
        tensor *slice = NULL, *block = NULL;
        st = tensor_slice(f->cx->diag, t, dim, i * part, (i + 1) * part, 1, &slice);
        if (st == CTSC_OK) st = tensor_select(f->cx->diag, blocks, 0, i, &block);
        if (st == CTSC_OK)
            st = tensor_copy(f->cx->diag, back ? slice : block, back ? block : slice);
        tensor_unref(slice);
        tensor_unref(block);
    }
    return st;
}

/* The rows of `given` to all ranks, one to each, and theirs into out. It is done at the end. */
static ctsc_status functional_swap(const functional *f, tensor *given, tensor *out) {
    int64_t *ones = mem_alloc((size_t)f->size * sizeof *ones);
    if (!ones) return diag_no_memory(f->cx->diag);
    for (int i = 0; i < f->size; i++) ones[i] = 1;
    ctsc_status st = functional_exchange(f, given, ones, out, ones);
    mem_free(ones);
    return st == CTSC_OK ? collective_wait(f->cx, out) : st;
}

/* From parts along shard_dim to parts along gather_dim, as DTensors change their placement: what
 * was cut along gather_dim is whole, and cut along shard_dim instead. */
ctsc_status op_shard_dim_all_to_all(op_ctx *cx, const value *args, value *results) {
    functional f;
    tensor *x = arg_tensor(&args[0]), *given = NULL, *got = NULL, *out = NULL;
    int64_t sizes[TENSOR_MAX_DIMS], blocks[TENSOR_MAX_DIMS + 1];
    int gather, shard;
    TRY(functional_begin(cx, &args[3], &f));
    TRY(op_wrap_dim(cx, x, arg_int(&args[1]), &gather));
    TRY(op_wrap_dim(cx, x, arg_int(&args[2]), &shard));
    if (!x->ndim || x->ndim == TENSOR_MAX_DIMS || x->sizes[shard] % f.size)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                         "%s: dimension %d cannot be cut into %d equal parts", cx->op->key, shard,
                         f.size);
    memcpy(sizes, x->sizes, x->ndim * sizeof *sizes);
    sizes[shard] /= f.size;
    blocks[0] = f.size;
    memcpy(blocks + 1, sizes, x->ndim * sizeof *sizes);
    if (__builtin_mul_overflow(sizes[gather], f.size, &sizes[gather]))
        return diag_no_memory(cx->diag);
    ctsc_status st = tensor_new(cx->diag, (dtype)x->dtype, x->ndim, sizes, &out);
    if (st == CTSC_OK && !geometry_only()) {
        st = tensor_new(cx->diag, (dtype)x->dtype, x->ndim + 1, blocks, &given);
        if (st == CTSC_OK) st = tensor_new_like(cx->diag, given, (dtype)x->dtype, &got);
        if (st == CTSC_OK) st = functional_blocks(&f, x, shard, given, false);
        if (st == CTSC_OK) st = functional_swap(&f, given, got);
        if (st == CTSC_OK) st = functional_blocks(&f, out, gather, got, true);
    }
    tensor_unref(given);
    tensor_unref(got);
    if (st != CTSC_OK) return tensor_unref(out), st;
    return op_return_tensor(results, out);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* One of the collectives above; how: a reduction, or the root. */
typedef ctsc_status functional_one(const functional *f, tensor *x, int64_t how, tensor **out);

static ctsc_status one_all_reduce(const functional *f, tensor *x, int64_t how, tensor **out) {
    return functional_all_reduce(f, x, (ctsc_dist_reduce)how, out);
}
static ctsc_status one_gather(const functional *f, tensor *x, int64_t how, tensor **out) {
    (void)how;
    return functional_gather(f, x, out);
}
static ctsc_status one_reduce_scatter(const functional *f, tensor *x, int64_t how, tensor **out) {
    return functional_reduce_scatter(f, x, (ctsc_dist_reduce)how, out);
}

static ctsc_status functional_return(const functional *f, functional_one *one, const value *x,
                                     int64_t how, value *results) {
    tensor *out = NULL;
    ctsc_status st = one(f, arg_tensor(x), how, &out);
    if (st != CTSC_OK) return tensor_unref(out), st;
    return op_return_tensor(results, out);
}

/* Of each tensor of a list. */
static ctsc_status functional_return_all(const functional *f, functional_one *one, const value *all,
                                         int64_t how, value *results) {
    const list *given = all->u.list;
    list *made = NULL;
    TRY(move_list_new(f->cx, given->len, &made));
    ctsc_status st = CTSC_OK;
    for (size_t i = 0; i < given->len && st == CTSC_OK; i++) {
        tensor *out = NULL;
        st = one(f, given->u.tensors[i], how, &out);
        if (st != CTSC_OK) tensor_unref(out);
        else if (!list_append_take(made, value_tensor_take(out))) st = diag_no_memory(f->cx->diag);
    }
    if (st != CTSC_OK) return value_unref(value_list_take(made)), st;
    return op_return(results, value_list_take(made));
}

ctsc_status op_functional_all_reduce(op_ctx *cx, const value *args, value *results) {
    functional f;
    ctsc_dist_reduce how = CTSC_DIST_SUM;
    TRY(functional_reduction(cx, &args[1], &how));
    TRY(functional_begin(cx, &args[2], &f));
    return args[0].tag == V_LIST ? functional_return_all(&f, one_all_reduce, args, how, results)
                                 : functional_return(&f, one_all_reduce, args, how, results);
}

ctsc_status op_functional_broadcast(op_ctx *cx, const value *args, value *results) {
    functional f;
    TRY(functional_begin(cx, &args[2], &f));
    return functional_return(&f, functional_broadcast, args, arg_int(&args[1]), results);
}

ctsc_status op_functional_all_gather(op_ctx *cx, const value *args, value *results) {
    functional f;
    TRY(functional_begin_sized(cx, &args[1], &f));
    return args[0].tag == V_LIST ? functional_return_all(&f, one_gather, args, 0, results)
                                 : functional_return(&f, one_gather, args, 0, results);
}

ctsc_status op_functional_reduce_scatter(op_ctx *cx, const value *args, value *results) {
    functional f;
    ctsc_dist_reduce how = CTSC_DIST_SUM;
    TRY(functional_reduction(cx, &args[1], &how));
    TRY(functional_begin_sized(cx, &args[2], &f));
    return args[0].tag == V_LIST ? functional_return_all(&f, one_reduce_scatter, args, how, results)
                                 : functional_return(&f, one_reduce_scatter, args, how, results);
}

/* ---- between two ranks ----------------------------------------------------------------------- */

static ctsc_status functional_peer(op_ctx *cx, const value *args, functional *f,
                                   ctsc_dist_call *call) {
    TRY(functional_begin(cx, &args[3], f));
    int64_t peer = arg_int(&args[1]), tag = arg_int(&args[2]);
    if (peer < 0 || peer >= f->size || peer == f->rank || tag < 0 || tag > INT32_MAX)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "%s: no message between ranks %d and %lld of %d, tagged %lld", cx->op->key,
                         f->rank, (long long)peer, f->size, (long long)tag);
    if (!tensor_is_contiguous(arg_tensor(&args[0])))
        return diag_fail(cx->diag, CTSC_FAILED, "input tensor has to be contiguous");
    call->root = (int)peer;
    call->tag = (int)tag;
    call->timeout_ms = -1;
    return CTSC_OK;
}

/* The result, which has no elements, is what is waited for. */
ctsc_status op_functional_send(op_ctx *cx, const value *args, value *results) {
    functional f;
    ctsc_dist_call call = {.op = CTSC_DIST_SEND, .n_in = 1};
    tensor *x = arg_tensor(&args[0]), *given = NULL, *out = NULL;
    TRY(functional_peer(cx, args, &f, &call));
    TRY(tensor_new(cx->diag, (dtype)x->dtype, 1, (int64_t[]){0}, &out));
    ctsc_status st = geometry_only() ? CTSC_OK : tensor_clone(cx->diag, x, &given);
    ctsc_dist_tensor row = given ? functional_row(given) : (ctsc_dist_tensor){0};
    call.in = &row;
    if (given) st = collective_start(cx, f.g, &call, out, given);
    tensor_unref(given);
    if (st != CTSC_OK) return tensor_unref(out), st;
    return op_return_tensor(results, out);
}

/* Into the argument, which programs may read by its own name: it is there when this returns. */
ctsc_status op_functional_receive(op_ctx *cx, const value *args, value *results) {
    functional f;
    ctsc_dist_call call = {.op = CTSC_DIST_RECV, .n_out = 1};
    tensor *x = arg_tensor(&args[0]);
    TRY(functional_peer(cx, args, &f, &call));
    if (!geometry_only()) {
        ctsc_dist_tensor row = functional_row(x);
        call.out = &row;
        TRY(collective_start(cx, f.g, &call, x, NULL));
        TRY(collective_wait(cx, x));
    }
    return op_return_self(results, &args[0]);
}

ctsc_status op_functional_wait(op_ctx *cx, const value *args, value *results) {
    if (!geometry_only()) TRY(collective_wait(cx, arg_tensor(&args[0])));
    return op_return_self(results, &args[0]);
}

ctsc_status op_functional_wait_list(op_ctx *cx, const value *args, value *results) {
    const list *given = args[0].u.list;
    list *made = NULL;
    for (size_t i = 0; i < given->len && !geometry_only(); i++)
        TRY(collective_wait(cx, given->u.tensors[i]));
    TRY(move_list_new(cx, given->len, &made));
    for (size_t i = 0; i < given->len; i++)
        if (!list_append_take(made, value_tensor_take(tensor_ref(given->u.tensors[i]))))
            return value_unref(value_list_take(made)), diag_no_memory(cx->diag);
    return op_return(results, value_list_take(made));
}
