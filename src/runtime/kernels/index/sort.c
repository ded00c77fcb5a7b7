/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort.c - sort, argsort, msort, topk and kthvalue.
 *
 * Method: an element becomes an unsigned integer that orders as the element does; a line of a
 * tensor becomes pairs of such a key and a position. Sorting is then a least-significant-digit
 * radix sort of bytes, which is stable and skips the digits all keys share; short lines are sorted
 * by insertion. PyTorch's default sort is not stable, and programs see the indices: lines with
 * equal elements are sorted again by its algorithm (select.c) unless stable=True. Lines are
 * divided among the threads.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/index/sort.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include "runtime/kernels/engine/device_kernels.h"

/* PyTorch sorts lines of up to SORT_STABLE_ANYWAY elements by insertion. */
enum { SORT_STABLE_ANYWAY = 16 };

/* ---- keys ------------------------------------------------------------------------------------ */

bool sort_has_order(dtype dt) { return !dtype_is_complex(dt) && !dtype_is_quantised(dt); }

static uint64_t sort_key_bits(uint64_t bits, int width) { /* of a float: sign and magnitude */
    uint64_t sign = UINT64_C(1) << (width - 1);
    if (bits == sign) bits = 0; /* -0 */
    return bits & sign ? ~bits & (sign | (sign - 1)) : bits | sign;
}

static uint64_t sort_key_f32(float v) {
    union {
        float f;
        uint32_t u;
    } x = {v};
    return v != v ? UINT32_MAX : sort_key_bits(x.u, 32);
}
static uint64_t sort_key_f64(double v) {
    union {
        double f;
        uint64_t u;
    } x = {v};
    return v != v ? UINT64_MAX : sort_key_bits(x.u, 64);
}
static uint64_t sort_key_f16(float16 v) {
    return (v.bits & 0x7fff) > 0x7c00 ? UINT16_MAX : sort_key_bits(v.bits, 16);
}
static uint64_t sort_key_bf16(bfloat16 v) {
    return (v.bits & 0x7fff) > 0x7f80 ? UINT16_MAX : sort_key_bits(v.bits, 16);
}

/*    dtype     element    key of v */
/* clang-format off */
#define SORT_TYPES(X)                                                                              \
    X(BOOL,     uint8_t,   v != 0)                                                                 \
    X(UINT8,    uint8_t,   v)                                                                      \
    X(INT8,     int8_t,    (uint8_t)(v ^ INT8_MIN))                                                \
    X(INT16,    int16_t,   (uint16_t)(v ^ INT16_MIN))                                              \
    X(INT32,    int32_t,   (uint32_t)(v ^ INT32_MIN))                                              \
    X(INT64,    int64_t,   (uint64_t)(v ^ INT64_MIN))                                              \
    X(FLOAT16,  float16,   sort_key_f16(v))                                                        \
    X(BFLOAT16, bfloat16,  sort_key_bf16(v))                                                       \
    X(FLOAT32,  float,     sort_key_f32(v))                                                        \
    X(FLOAT64,  double,    sort_key_f64(v))
/* clang-format on */

void sort_make_keys(dtype dt, const char *src, int64_t stride, int64_t n, bool descending,
                    sort_pair *out) {
    size_t item = dtype_size(dt);
    uint64_t flip = descending ? UINT64_MAX >> (64 - 8 * item) : 0;
    switch (dt) {
#define SORT_CASE(e, T, expression)                                                                \
    case DT_##e:                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T v = *(const T *)(src + i * stride);                                                  \
            out[i] = (sort_pair){(uint64_t)(expression) ^ flip, i};                                \
        }                                                                                          \
        break;
        SORT_TYPES(SORT_CASE)
#undef SORT_CASE
    default:
        for (int64_t i = 0; i < n; i++) out[i] = (sort_pair){0, i};
    }
}

bool sort_nan_key(dtype dt, uint64_t *key) {
    *key = UINT64_MAX >> (64 - 8 * dtype_size(dt));
    return dtype_is_float(dt);
}

void sort_pairs(sort_pair *a, sort_pair *scratch, int64_t n, size_t item) {
    if (n <= SORT_INSERTION) {
        for (int64_t i = 1; i < n; i++) {
            sort_pair v = a[i];
            int64_t to = i;
            for (; to > 0 && v.key < a[to - 1].key; to--) a[to] = a[to - 1];
            a[to] = v;
        }
        return;
    }
    sort_pair *from = a, *to = scratch;
    for (size_t digit = 0; digit < item; digit++) {
        int64_t starts[256] = {0}, sum = 0;
        int shift = (int)(8 * digit);
        for (int64_t i = 0; i < n; i++) starts[from[i].key >> shift & 255]++;
        if (starts[from[0].key >> shift & 255] == n) continue;
        for (int k = 0; k < 256; k++) {
            int64_t count = starts[k];
            starts[k] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) to[starts[from[i].key >> shift & 255]++] = from[i];
        sort_pair *t = from;
        from = to;
        to = t;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}

/* ---- lines of a tensor ----------------------------------------------------------------------- */

typedef enum sort_what { SORT_ALL, SORT_TOP, SORT_RANK } sort_what;

/* Sorts or selects in each line along dim; writes `count` results from place `first` of the order
 * on. */
typedef struct sort_job {
    const tensor *t;
    int dim;
    sort_what what;
    bool descending, in_order, stable;
    int64_t n, first, count; /* n: length of a line */
    tensor *values, *indices;
    atomic_bool no_memory;
} sort_job;

/* Offset, in elements, of line number `line` of a tensor. */
static int64_t sort_line_offset(const tensor *t, int dim, int64_t line) {
    int64_t offset = 0;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (i == dim) continue;
        offset += line % t->sizes[i] * t->strides[i];
        line /= t->sizes[i];
    }
    return offset;
}

/* In order; equal elements as PyTorch leaves them, which is the introsort's order unless stable. */
static void sort_line_all(const sort_job *job, const char *src, int64_t step, sort_pair *pairs,
                          sort_pair *scratch) {
    dtype dt = (dtype)job->t->dtype;
    int64_t n = job->n;
    sort_pairs(pairs, scratch, n, dtype_size(dt));
    if (job->stable || n <= SORT_STABLE_ANYWAY) return;
    for (int64_t i = 1; i < n; i++) {
        if (pairs[i].key != pairs[i - 1].key) continue;
        sort_make_keys(dt, src, step, n, job->descending, pairs);
        select_sort(pairs, n);
        return;
    }
}

static void sort_line(const sort_job *job, int64_t line, sort_pair *pairs, sort_pair *scratch) {
    dtype dt = (dtype)job->t->dtype;
    int64_t item = (int64_t)dtype_size(dt), n = job->n;
    int64_t step = (job->t->ndim ? job->t->strides[job->dim] : 1) * item;
    const char *src = (const char *)tensor_data(job->t) +
                      sort_line_offset(job->t, job->dim, line) * item;
    sort_make_keys(dt, src, step, n, job->descending, pairs);
    if (job->what == SORT_ALL) sort_line_all(job, src, step, pairs, scratch);
    else if (job->what == SORT_RANK) select_rank(pairs, n, job->first);
    else if (job->count <= n / 64) select_first_sorted(pairs, n, job->count);
    else select_first(pairs, n, job->count, job->in_order);

    bool scalar = job->values->ndim == 0;
    int64_t out_step = scalar ? 1 : job->values->strides[job->dim];
    int64_t at = sort_line_offset(job->values, job->dim, line);
    char *values = (char *)tensor_data(job->values) + at * item;
    int64_t *indices = TENSOR_AT(job->indices, int64_t) + at;
    for (int64_t i = 0; i < job->count; i++) indices[i * out_step] = pairs[job->first + i].index;
    move_gather_for((size_t)item)(job->count, values, out_step * item, (const char *)indices,
                                  out_step * (int64_t)sizeof *indices, step, src, 0);
}

static void sort_lines(void *ctx, int64_t begin, int64_t end) {
    sort_job *job = ctx;
    bool twice = job->what == SORT_ALL && job->n > SORT_INSERTION;
    size_t bytes;
    sort_pair *pairs = size_mul((size_t)job->n, (twice ? 2 : 1) * sizeof *pairs, &bytes)
                           ? mem_alloc(bytes)
                           : NULL;
    if (!pairs) {
        atomic_store(&job->no_memory, true);
        return;
    }
    for (int64_t line = begin; line < end; line++) sort_line(job, line, pairs, pairs + job->n);
    mem_free(pairs);
}

/* Fills in job's outputs: tensors like t, with size `kept` along dim. */
static ctsc_status sort_run(op_ctx *cx, sort_job *job, int64_t kept, tensor **out) {
    const tensor *t = job->t;
    int64_t sizes[TENSOR_MAX_DIMS];
    memcpy(sizes, t->sizes, t->ndim * sizeof *sizes);
    if (t->ndim) sizes[job->dim] = kept;
    TRY(tensor_new_on(cx->diag, tensor_device(t), (dtype)t->dtype, t->ndim, sizes, &job->values));
    ctsc_status status = tensor_new_on(cx->diag, tensor_device(t), DT_INT64, t->ndim, sizes,
                                       &job->indices);
    if (!status && tensor_cuda(t)) {
        status = on_device->sort(cx->diag, t, job->dim, job->descending, job->first, job->count,
                                 job->values, job->indices);
    } else if (!status && job->values->numel > 0) {
        int64_t grain = SORT_GRAIN / job->n;
        status = op_for(cx, job->values->numel / kept, grain ? grain : 1, sort_lines, job);
        if (!status && atomic_load(&job->no_memory)) status = diag_no_memory(cx->diag);
    }
    if (status) {
        tensor_unref(job->values);
        if (job->indices) tensor_unref(job->indices);
        return status;
    }
    out[0] = job->values;
    out[1] = job->indices;
    return CTSC_OK;
}

static ctsc_status sort_begin(op_ctx *cx, const tensor *t, int64_t dim, const char *name,
                              sort_job *job) {
    *job = (sort_job){.t = t};
    TRY(tensor_wrap_dim(cx->diag, dim, t->ndim, &job->dim));
    job->n = t->ndim ? t->sizes[job->dim] : 1;
    if (!sort_has_order((dtype)t->dtype)) return op_refuse_dtype(cx, name, (dtype)t->dtype);
    return CTSC_OK;
}

/* ---- sort ------------------------------------------------------------------------------------ */

static ctsc_status sort_all(op_ctx *cx, const tensor *t, int64_t dim, bool descending, bool stable,
                            tensor **out) {
    sort_job job;
    TRY(sort_begin(cx, t, dim, "sorting_kernel_method_name", &job));
    job.what = SORT_ALL;
    job.descending = descending;
    job.count = job.n;
    job.stable = stable;
    return sort_run(cx, &job, job.n, out);
}

/* (self, dim, descending, ...) or (self, *, stable, dim, descending, ...) */
static ctsc_status sort_by_args(op_ctx *cx, const value *args, tensor **out) {
    int at = schema_find_arg(cx->op->schema, "dim");
    bool stable = at == 2 && args[1].tag == V_BOOL && arg_bool(&args[1]);
    return sort_all(cx, arg_tensor(&args[0]), arg_int(&args[at]), arg_bool(&args[at + 1]), stable,
                    out);
}

/* out= tensors of another shape become such as the functional form gives, in the order of the
 * argument; their dtypes have to be right. */
static ctsc_status sort_shape_out(op_ctx *cx, const value *args, tensor *const *computed) {
    const schema *s = cx->op->schema;
    int64_t strides[TENSOR_MAX_DIMS];
    tensor_like_strides(arg_tensor(&args[0]), strides);
    for (int i = 0; s->has_alias_write && i < 2; i++) {
        tensor *target = args[s->nargs - 2 + i].u.tensor, *shaped;
        const tensor *t = computed[i];
        if (target->dtype != t->dtype)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "Expected out tensor to have dtype %s, but got %s instead",
                             dtype_cpp_name((dtype)t->dtype), dtype_cpp_name((dtype)target->dtype));
        if (tensor_same_shape(target, t)) continue;
        TRY(tensor_resize(cx->diag, target, t->ndim, t->sizes));
        TRY(tensor_view_raw(cx->diag, target, t->ndim, t->sizes, strides, target->offset, &shaped));
        tensor_swap_geometry(target, shaped);
        tensor_unref(shaped);
    }
    return CTSC_OK;
}

ctsc_status op_sort_tensor(op_ctx *cx, const value *args, value *results) {
    tensor *out[2];
    TRY(sort_by_args(cx, args, out));
    ctsc_status s = sort_shape_out(cx, args, out);
    if (s == CTSC_OK) return move_finish_many(cx, args, 2, out, results);
    for (int i = 0; i < 2; i++) tensor_unref(out[i]);
    return s;
}

ctsc_status op_argsort(op_ctx *cx, const value *args, value *results) {
    tensor *out[2];
    TRY(sort_by_args(cx, args, out));
    tensor_unref(out[0]);
    return op_finish(cx, args, out[1], results);
}

ctsc_status op_msort(op_ctx *cx, const value *args, value *results) {
    tensor *out[2];
    TRY(sort_all(cx, arg_tensor(&args[0]), 0, false, true, out)); /* the order shows in no index */
    tensor_unref(out[1]);
    return op_finish(cx, args, out[0], results);
}

/* ---- topk, kthvalue -------------------------------------------------------------------------- */

ctsc_status op_topk(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    sort_job job;
    tensor *out[2];
    TRY(sort_begin(cx, t, arg_int(&args[2]), "topk_cpu", &job));
    int64_t k = arg_int(&args[1]);
    if (k < 0 || k > job.n)
        return diag_fail(cx->diag, CTSC_FAILED, "selected index k out of range");
    if (t->dtype == DT_BOOL && t->ndim) return op_refuse_dtype(cx, "topk_cpu", DT_BOOL);
    if (t->ndim == 0) k = 1;
    job.what = SORT_TOP;
    job.descending = arg_bool(&args[3]);
    job.in_order = arg_bool(&args[4]);
    job.count = k;
    TRY(sort_run(cx, &job, k, out));
    return move_finish_many(cx, args, 2, out, results);
}

/* Drops dim from both results unless keepdim. */
static ctsc_status sort_drop_dim(op_ctx *cx, int dim, tensor **out) {
    for (int i = 0; i < 2; i++) {
        tensor *view;
        ctsc_status status = tensor_squeeze_dim(cx->diag, out[i], dim, &view);
        if (status) {
            tensor_unref(out[0]);
            tensor_unref(out[1]);
            return status;
        }
        tensor_unref(out[i]);
        out[i] = view;
    }
    return CTSC_OK;
}

ctsc_status op_kthvalue(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    sort_job job;
    tensor *out[2];
    TRY(sort_begin(cx, t, arg_int(&args[2]), "kthvalue_cpu", &job));
    int64_t k = arg_int(&args[1]);
    if (job.n == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "kthvalue(): Expected reduction dim %d to have non-zero size.", job.dim);
    if (k < 1 || k > job.n)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "kthvalue(): selected number k out of range for dimension %" PRId64,
                         arg_int(&args[2]) < 0 ? (int64_t)job.dim : arg_int(&args[2]));
    if (t->dtype == DT_BOOL && t->ndim) return op_refuse_dtype(cx, "kthvalue_cpu", DT_BOOL);
    job.what = SORT_RANK;
    job.first = k - 1;
    job.count = 1;
    TRY(sort_run(cx, &job, 1, out));
    if (t->ndim > 0 && !arg_bool(&args[3])) TRY(sort_drop_dim(cx, job.dim, out));
    return move_finish_many(cx, args, 2, out, results);
}
