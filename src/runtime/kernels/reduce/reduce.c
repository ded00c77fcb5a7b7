/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c - the engine of every operator that reduces dimensions.
 *
 * Method: the kept dims collapse to at most two strided groups, the reduced ones too;
 * a tensor that does not allow it is copied with its reduced dims last. Contiguous
 * values are handed to the kind in place; others are transposed (and widened) through
 * a small buffer on the stack, a tile of results at a time, so that no case needs
 * code of its own and no worker allocates. Long reductions are cut into chunks, whose
 * partial results are folded in order. Rejected: an iterator with a kernel per dtype
 * and stride pattern; many times the code for the same speed in the cases that occur.
 * Invariants: the borders of chunks and tiles depend on shapes alone, so results do not depend on
 * threads.
 * Tests: tests/unit/test_reduce.c
 */
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/engine/kernel_tuning.h"

#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------- */

const value *reduce_arg(const op_ctx *cx, const value *args, const char *name) {
    static const value none = {.tag = V_NONE};
    const schema *s = cx->op->schema;
    for (int i = 0; i < s->nargs; i++)
        if (s->args[i].name && strcmp(s->args[i].name, name) == 0) return &args[i];
    return &none;
}

bool reduce_keepdim(const op_ctx *cx, const value *args) {
    const value *v = reduce_arg(cx, args, "keepdim");
    return v->tag != V_NONE && arg_bool(v);
}

ctsc_status reduce_dtype(op_ctx *cx, const value *args, dtype other, dtype *out) {
    int index;
    const tensor *target = op_target(cx, args, &index);
    const value *v = reduce_arg(cx, args, "dtype");
    if (v->tag == V_NONE && target && index > 0) {
        *out = (dtype)target->dtype;
        return CTSC_OK;
    }
    return arg_dtype(cx, v, other, out);
}

ctsc_status reduce_mask(op_ctx *cx, const value *dim, int ndim, bool *mask) {
    if (dim->tag != V_INT) return arg_dim_mask(cx, dim, ndim, mask);
    int d;
    TRY(tensor_wrap_dim(cx->diag, dim->u.i, ndim, &d));
    memset(mask, 0, sizeof *mask * TENSOR_MAX_DIMS);
    mask[d] = true;
    return CTSC_OK;
}

ctsc_status reduce_check_nonempty(op_ctx *cx, const char *name, const tensor *in,
                                  const bool *mask) {
    for (int i = 0; i < in->ndim; i++)
        if (mask[i] && in->sizes[i] == 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "%s: Expected reduction dim %d to have non-zero size.", name, i);
    return CTSC_OK;
}

static ctsc_status reduce_expect_dtype(op_ctx *cx, dtype want, const tensor *out) {
    return out->dtype == want ? CTSC_OK : op_refuse_out_dtype(cx, want, out);
}

ctsc_status reduce_check_out(op_ctx *cx, const value *args, dtype dt) {
    const tensor *out = op_target(cx, args, NULL);
    return out ? reduce_expect_dtype(cx, dt, out) : CTSC_OK;
}

ctsc_status reduce_finish_two(op_ctx *cx, const value *args, tensor *first, tensor *second,
                              value *results) {
    tensor *made[2] = {first, second};
    const schema *s = cx->op->schema;
    int n = 0;
    ctsc_status st = CTSC_OK;
    for (int i = 0; i < s->nargs && s->has_alias_write && n < 2; i++) {
        if (!s->args[i].alias || !s->args[i].alias->write) continue;
        st = reduce_expect_dtype(cx, (dtype)made[n]->dtype, args[i].u.tensor);
        if (st != CTSC_OK) break;
        st = op_finish_out(cx, &args[i], made[n], &results[n]);
        made[n++] = NULL; /* taken */
        if (st != CTSC_OK) break;
    }
    if (st == CTSC_OK && n == 0) {
        results[0] = value_tensor_take(first);
        results[1] = value_tensor_take(second);
        return CTSC_OK;
    }
    for (int i = 0; i < 2; i++) {
        tensor_unref(made[i]);
        if (st != CTSC_OK) value_set(&results[i], value_none());
    }
    return st;
}

/* ---- output ---------------------------------------------------------------------------------- */

ctsc_status reduce_new_out(op_ctx *cx, const tensor *in, const bool *mask, bool keepdim, dtype dt,
                           tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < in->ndim; i++) {
        if (!mask[i]) sizes[n++] = in->sizes[i];
        else if (keepdim) sizes[n++] = 1;
    }
    return tensor_new(cx->diag, dt, n, sizes, out);
}

void reduce_store(const reduce_job *j, int64_t result, double f, int64_t i) {
    dtype dt = (dtype)j->out->dtype;
    char *p = (char *)tensor_data(j->out) + (size_t)result * dtype_size(dt);
    bool whole = j->row == REDUCE_I64 || j->row == REDUCE_U8;
    if (dt == DT_FLOAT32) *(float *)p = whole ? (float)i : (float)f;
    else if (dt == DT_BOOL) *(uint8_t *)p = whole ? i != 0 : f != 0;
    else if (whole) dtype_store_int(dt, p, i);
    else dtype_store_float(dt, p, f);
}

/* ---- geometry -------------------------------------------------------------------------------- */

typedef struct reduce_group {
    int64_t size, stride;
} reduce_group;

/* Dims with mask[i] == reduced, merged where they step evenly. sorted: the order of the values is
 * free. */
static int reduce_collapse(const tensor *t, const bool *mask, bool reduced, bool sorted,
                           reduce_group *g) {
    int n = 0, merged = 0;
    for (int i = 0; i < t->ndim; i++)
        if (mask[i] == reduced && t->sizes[i] != 1)
            g[n++] = (reduce_group){t->sizes[i], t->strides[i]};
    for (int i = 1; sorted && i < n; i++)
        for (int k = i; k > 0 && g[k - 1].stride < g[k].stride; k--) {
            reduce_group swap = g[k];
            g[k] = g[k - 1];
            g[k - 1] = swap;
        }
    for (int i = 0; i < n; i++) {
        if (merged && g[merged - 1].stride == g[i].stride * g[i].size) {
            g[merged - 1].size *= g[i].size;
            g[merged - 1].stride = g[i].stride;
        } else {
            g[merged++] = g[i];
        }
    }
    return merged;
}

/* Fills in j's geometry; false: the dims do not collapse far enough. */
static bool reduce_describe(reduce_job *j, const tensor *in, const bool *mask, bool ordered) {
    reduce_group kept[TENSOR_MAX_DIMS], gone[TENSOR_MAX_DIMS];
    int nkept = reduce_collapse(in, mask, false, false, kept);
    int ngone = reduce_collapse(in, mask, true, !ordered, gone);
    if (nkept > 2 || ngone > 2) return false;
    if (ngone == 2 && gone[1].size < REDUCE_LEAST_RUN) return false;
    j->data = tensor_data(in);
    j->run = ngone ? gone[ngone - 1].size : 1;
    j->sr = ngone ? gone[ngone - 1].stride : 1;
    j->sq = ngone > 1 ? gone[0].stride : 0;
    j->inner = ngone > 1 ? j->run * gone[0].size : j->run;
    j->outer = nkept > 1 ? kept[0].size : 1;
    j->so = nkept > 1 ? kept[0].stride : 0;
    j->cols = nkept ? kept[nkept - 1].size : 1;
    j->sc = nkept ? kept[nkept - 1].stride : 0;
    return true;
}

int64_t reduce_count(const tensor *in, const bool *mask) {
    int64_t count = 1;
    for (int i = 0; i < in->ndim; i++)
        if (mask[i]) count *= in->sizes[i];
    return count;
}

ctsc_status reduce_rows(op_ctx *cx, const tensor *in, const bool *mask, dtype dt, tensor **out) {
    int64_t order[TENSOR_MAX_DIMS];
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < in->ndim; i++)
            if (mask[i] == (pass == 1)) order[n++] = i;
    tensor *permuted;
    TRY(tensor_permute(cx->diag, in, n, order, &permuted));
    ctsc_status st = permuted->dtype == dt ? tensor_clone(cx->diag, permuted, out)
                                           : tensor_to_dtype(cx->diag, permuted, dt, out);
    tensor_unref(permuted);
    return st;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool reduce_pick_row(reduce_job *j) {
    dtype dt = j->dt;
    if (dt == DT_FLOAT64) j->row = REDUCE_F64;
    else if (dtype_is_float(dt)) j->row = REDUCE_F32;
    else if ((dt == DT_UINT8 || dt == DT_BOOL) && j->kind->step[REDUCE_U8]) j->row = REDUCE_U8;
    else if (dtype_is_integral(dt)) j->row = REDUCE_I64;
    else if (dt == DT_COMPLEX64) j->row = REDUCE_C64;
    else if (dt == DT_COMPLEX128) j->row = REDUCE_C128;
    else return false;
    return j->kind->step[j->row] != NULL;
}

/* Does an element of the tensor have the type of the kind's rows? */
static bool reduce_is_plain(const reduce_job *j) {
    return j->dt == DT_FLOAT32 || j->dt == DT_FLOAT64 || j->dt == DT_INT64 || j->row == REDUCE_U8 ||
           j->row == REDUCE_C64 || j->row == REDUCE_C128;
}

/* buffer[c * rows + r] = the values at p + c * sc + r * sr. Reads along whichever side is denser.
 */
#define REDUCE_GATHER(R, T, GET)                                                                   \
    do {                                                                                           \
        const T *src_ = (const T *)p;                                                              \
        R *dst_ = buffer;                                                                          \
        if (sc < sr) {                                                                             \
            for (int64_t r_ = 0; r_ < rows; r_++)                                                  \
                for (int64_t c_ = 0; c_ < cols; c_++)                                              \
                    dst_[c_ * rows + r_] = GET(src_[c_ * sc + r_ * sr]);                           \
        } else {                                                                                   \
            for (int64_t c_ = 0; c_ < cols; c_++)                                                  \
                for (int64_t r_ = 0; r_ < rows; r_++)                                              \
                    dst_[c_ * rows + r_] = GET(src_[c_ * sc + r_ * sr]);                           \
        }                                                                                          \
    } while (0)
#define REDUCE_AS_IS(v) (v)
#define REDUCE_TRUTH(v) ((v) != 0)

static void reduce_gather(const reduce_job *j, const char *p, int64_t rows, int64_t cols,
                          void *buffer) {
    int64_t sr = j->sr, sc = j->sc;
    switch (j->dt) {
    case DT_FLOAT32: REDUCE_GATHER(float, float, REDUCE_AS_IS); break;
    case DT_FLOAT64: REDUCE_GATHER(double, double, REDUCE_AS_IS); break;
    case DT_FLOAT16:
        if (sr == 1 && cols == 1) float16_to_floats((const float16 *)p, buffer, (size_t)rows);
        else REDUCE_GATHER(float, float16, float16_to_float);
        break;
    case DT_BFLOAT16: REDUCE_GATHER(float, bfloat16, bfloat16_to_float); break;
    case DT_INT64: REDUCE_GATHER(int64_t, int64_t, REDUCE_AS_IS); break;
    case DT_COMPLEX64: REDUCE_GATHER(complex64, complex64, REDUCE_AS_IS); break;
    case DT_COMPLEX128: REDUCE_GATHER(complex128, complex128, REDUCE_AS_IS); break;
    case DT_INT32: REDUCE_GATHER(int64_t, int32_t, REDUCE_AS_IS); break;
    case DT_INT16: REDUCE_GATHER(int64_t, int16_t, REDUCE_AS_IS); break;
    case DT_INT8: REDUCE_GATHER(int64_t, int8_t, REDUCE_AS_IS); break;
    case DT_UINT8:
        if (j->row == REDUCE_U8) REDUCE_GATHER(uint8_t, uint8_t, REDUCE_AS_IS);
        else REDUCE_GATHER(int64_t, uint8_t, REDUCE_AS_IS);
        break;
    case DT_BOOL:
        if (j->row == REDUCE_U8) REDUCE_GATHER(uint8_t, uint8_t, REDUCE_TRUTH);
        else REDUCE_GATHER(int64_t, uint8_t, REDUCE_TRUTH);
        break;
    default: break;
    }
}

/* Folds values [first, first + n) of `cols` neighbouring results into accs.
 * The values are contiguous, the first one of the first result at p. */
static void reduce_tile_run(const reduce_job *j, reduce_acc *accs, const char *p, int64_t cols,
                            int64_t first, int64_t n) {
    static const uint8_t row_size[REDUCE_ROWS] = {
        4, 8, 8, 1, sizeof(complex64), sizeof(complex128)};
    const reduce_kind *kind = j->kind;
    int64_t size = (int64_t)dtype_size(j->dt);
    double buffer[REDUCE_BUFFER];
    if (reduce_is_plain(j) && (j->sr == 1 || n == 1)) {
        for (int64_t c = 0; c < cols; c++)
            kind->step[j->row](j, &accs[c], p + c * j->sc * size, n, first);
        return;
    }
    if (kind->columns && j->dt == DT_FLOAT32 && j->sc == 1 && cols >= 4) {
        kind->columns(j, accs, (const float *)p, n, j->sr, cols, first);
        return;
    }
    int64_t room = REDUCE_BUFFER / (j->row == REDUCE_C128 ? 2 : 1) / cols;
    for (int64_t done = 0; done < n; done += room) {
        int64_t rows = reduce_min_i64(room, n - done);
        reduce_gather(j, p + done * j->sr * size, rows, cols, buffer);
        for (int64_t c = 0; c < cols; c++)
            kind->step[j->row](j, &accs[c], (char *)buffer + c * rows * row_size[j->row], rows,
                               first + done);
    }
}

/* The same for values of several runs; p is where the results begin. */
static void reduce_tile(const reduce_job *j, reduce_acc *accs, const char *p, int64_t cols,
                        int64_t first, int64_t n) {
    int64_t size = (int64_t)dtype_size(j->dt);
    while (n > 0) {
        int64_t q = first / j->run, r = first % j->run, part = reduce_min_i64(n, j->run - r);
        reduce_tile_run(j, accs, p + (q * j->sq + r * j->sr) * size, cols, first, part);
        first += part;
        n -= part;
    }
}

/* Chunks of huge expanded tensors take so long that a limit is asked for before each: once it is
 * met, it stays so. */
static bool reduce_stopped(const reduce_job *j) { return j->chunk > REDUCE_CHUNK && limits_stop(); }

/* Units are (chunk, result), results fastest. */
static void reduce_range(void *ctx, int64_t begin, int64_t end) {
    const reduce_job *j = ctx;
    reduce_acc accs[REDUCE_TILE];
    int64_t size = (int64_t)dtype_size(j->dt);
    bool rows_dense = reduce_is_plain(j) && j->sr == 1;
    /* short rows share what a tile costs */
    int64_t few = reduce_min_i64(REDUCE_BUFFER / (j->inner + 1) + 1, REDUCE_TILE);
    for (int64_t u = begin; u < end && !reduce_stopped(j);) {
        int64_t chunk = u / j->results, result = u % j->results;
        int64_t a = result / j->cols, c = result % j->cols;
        int64_t tile = reduce_min_i64(end - u, j->cols - c);
        tile = reduce_min_i64(tile, rows_dense ? few : REDUCE_TILE);
        int64_t first = chunk * j->chunk, n = reduce_min_i64(j->inner - first, j->chunk);
        reduce_acc *into = j->parts ? j->parts + u : accs;
        for (int64_t i = 0; i < tile; i++) into[i] = j->kind->init;
        if (n > 0) reduce_tile(j, into, j->data + (a * j->so + c * j->sc) * size, tile, first, n);
        for (int64_t i = 0; i < tile && !j->parts; i++) j->kind->finish(j, &accs[i], result + i);
        u += tile;
    }
}

static void reduce_fold_parts(reduce_job *j) {
    for (int64_t r = 0; r < j->results; r++) {
        reduce_acc all = j->parts[r];
        for (int64_t k = 1; k < j->chunks; k++)
            j->kind->combine(&all, &j->parts[k * j->results + r]);
        j->kind->finish(j, &all, r);
    }
}

/* An expanded tensor may have more elements than there is memory for a part of each chunk. */
enum { REDUCE_CHUNKS = 1 << 20 };

static void reduce_cut(reduce_job *j) {
    j->chunk = REDUCE_CHUNK;
    while (j->inner / j->chunk >= REDUCE_CHUNKS) j->chunk *= 2;
    j->chunks = reduce_max_i64((j->inner + j->chunk - 1) / j->chunk, 1);
}

ctsc_status reduce_run(op_ctx *cx, reduce_job *j, const tensor *in, const bool *mask,
                       bool ordered) {
    j->dt = (dtype)in->dtype;
    j->parts = NULL;
    if (!reduce_pick_row(j)) {
        if (j->dt != DT_COMPLEX64 && j->dt != DT_COMPLEX128)
            return op_refuse_dtype(cx, j->kind->name, j->dt);
        return diag_fail(cx->diag, CTSC_FAILED, "\"%s\" not implemented for '%s'", j->kind->name,
                         dtype_table[j->dt].ir_name);
    }
    if (j->out->numel == 0) return CTSC_OK;
    tensor *copy = NULL;
    if (in->numel == 0) {
        *j = (reduce_job){.kind = j->kind,
                          .out = j->out,
                          .indices = j->indices,
                          .p = j->p,
                          .row = j->row,
                          .dt = j->dt,
                          .outer = 1,
                          .cols = j->out->numel,
                          .run = 1,
                          .sr = 1};
    } else if (!reduce_describe(j, in, mask, ordered)) {
        TRY(reduce_rows(cx, in, mask, j->dt, &copy));
        j->data = tensor_data(copy);
        j->outer = 1, j->so = 0;
        j->cols = j->out->numel;
        j->inner = j->run = j->sc = in->numel / j->out->numel;
        j->sq = 0, j->sr = 1;
    }
    j->results = j->outer * j->cols;
    reduce_cut(j);
    int64_t units = j->results * j->chunks;
    ctsc_status st = CTSC_OK;
    if (j->chunks > 1 && !(j->parts = mem_alloc(sizeof *j->parts * (size_t)units))) {
        st = diag_no_memory(cx->diag);
    } else {
        int64_t work = reduce_max_i64(reduce_min_i64(j->inner, j->chunk), 1);
        int64_t least = reduce_is_plain(j) && j->sr == 1 ? 1 : REDUCE_LINE;
        st = op_for(cx, units, reduce_max_i64(REDUCE_GRAIN / work, least), reduce_range, j);
        if (st == CTSC_OK && reduce_stopped(j)) st = limits_fail(cx->diag);
        if (st == CTSC_OK && j->parts) reduce_fold_parts(j);
    }
    mem_free(j->parts);
    tensor_unref(copy);
    return st;
}

ctsc_status reduce_to_new(op_ctx *cx, const reduce_kind *kind, double p, const tensor *in,
                          const bool *mask, bool keepdim, dtype dt, tensor **out) {
    reduce_job j = {.kind = kind, .p = p};
    TRY(reduce_new_out(cx, in, mask, keepdim, dt, &j.out));
    ctsc_status st = reduce_run(cx, &j, in, mask, false);
    if (st != CTSC_OK) tensor_unref(j.out);
    else *out = j.out;
    return st;
}
