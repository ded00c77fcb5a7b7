/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotary.c - ctsc::rotary: x * cos + cat([-x[split:], x[:split]]) * sin, along the last dim.
 *
 * The pass fuse-rotary makes it from these operators. Results are theirs, bit for bit:
 * in 16 bits both products and their sum are rounded. Anything but three tensors of one
 * dtype that broadcast to x's sizes is computed by the operators, one after the other.
 * Method. Some rows at a time, those of the longest of the leading dims. float16 is widened to
 * floats; bfloat16, whose conversions are shifts, in the loop.
 * Tests: tests/unit/test_rotary.c
 */
#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/engine/wide.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

enum { ROTARY_SOME = 1024 }; /* elements at a time */

typedef enum rotary_operand { ROTARY_X, ROTARY_COS, ROTARY_SIN, ROTARY_OPERANDS } rotary_operand;

typedef struct rotary_job {
    dtype dt;
    const char *data[ROTARY_OPERANDS];
    char *out;
    int64_t width, split;
    int ndim; /* leading dims; strides of operands, and of the result, in elements */
    int64_t sizes[TENSOR_MAX_DIMS], strides[ROTARY_OPERANDS][TENSOR_MAX_DIMS],
        written[TENSOR_MAX_DIMS];
    int along;           /* the leading dim whose rows are taken together, */
    int64_t rows, parts; /* rows at a time, and number of parts */
} rotary_job;

/* ---- rows ------------------------------------------------------------------------------------ */

/* p = x cos, q = turned(x) sin, of one row. */
static VECTOR_CLONES void rotary_products(const float *restrict x, const float *restrict c,
                                          const float *restrict s, int64_t n, int64_t split,
                                          float *restrict p, float *restrict q) {
    for (int64_t i = 0; i < n; i++) p[i] = x[i] * c[i];
    for (int64_t i = 0; i < n - split; i++) q[i] = -x[split + i] * s[i];
    for (int64_t i = 0; i < split; i++) q[n - split + i] = x[i] * s[n - split + i];
}

static VECTOR_CLONES void rotary_sum(float *restrict p, const float *restrict q, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i] += q[i];
}

static inline float rotary_wide(uint16_t x) { return float_of_bits((uint32_t)x << 16); }

/* The bits of x rounded to bfloat16, to nearest even, the rest 0; NaN stays NaN. */
static inline uint32_t rotary_narrow(float x) {
    union {
        float f;
        uint32_t u;
    } b = {x};
    uint32_t up = b.u + 0x7fff + (b.u >> 16 & 1);
    return (x != x ? b.u | 0x400000 : up) & 0xffff0000u;
}

static inline float rotary_rounded(float x) { return float_of_bits(rotary_narrow(x)); }

/* n elements of one row: x cos + z sin, or x cos - z sin. */
static inline __attribute__((always_inline)) void rotary_part(
    const uint16_t *restrict x, const uint16_t *restrict z, const uint16_t *restrict c,
    const uint16_t *restrict s, int64_t n, const bool minus, uint16_t *restrict y) {
    for (int64_t i = 0; i < n; i++) {
        float turned = rotary_wide(z[i]), p = rotary_rounded(rotary_wide(x[i]) * rotary_wide(c[i])),
              q = rotary_rounded((minus ? -turned : turned) * rotary_wide(s[i]));
        y[i] = (uint16_t)(rotary_narrow(p + q) >> 16);
    }
}

static VECTOR_CLONES void rotary_bfloat16(const uint16_t *x, const uint16_t *c, const uint16_t *s,
                                          int64_t n, int64_t split, uint16_t *y) {
    int64_t rest = n - split;
    rotary_part(x, x + split, c, s, rest, true, y);
    rotary_part(x + rest, x, c + rest, s + rest, split, false, y + rest);
}

/* Rows of an operand as floats, at stride *step: in place, or at `room`. */
static const float *rotary_floats(const rotary_job *j, const char *from, int64_t stride,
                                  int64_t rows, float *room, int64_t *step) {
    int64_t n = j->width;
    *step = stride;
    if (j->dt == DT_FLOAT32) return (const float *)(const void *)from;
    *step = n;
    if (n % 8 == 0) float16_rows_to_floats((const void *)from, stride, room, n, rows, n);
    else
        for (int64_t r = 0; r < rows; r++)
            halves_to_floats(DT_FLOAT16, from + r * stride * 2, room + r * n, n);
    return room;
}

static void rotary_round(float *p, int64_t n, uint16_t *room) {
    floats_to_halves(DT_FLOAT16, p, room, n);
    halves_to_floats(DT_FLOAT16, room, p, n);
}

/* at: where the first row begins, in elements of each operand. */
static void rotary_rows(const rotary_job *j, const int64_t *at, int64_t rows, char *out) {
    float room[ROTARY_OPERANDS][ROTARY_SOME], p[ROTARY_SOME], q[ROTARY_SOME];
    uint16_t narrow[ROTARY_SOME];
    const float *of[ROTARY_OPERANDS];
    int64_t step[ROTARY_OPERANDS], n = j->width, size = (int64_t)dtype_size(j->dt),
                                   to = j->written[j->along];
    for (int k = 0; k < ROTARY_OPERANDS; k++)
        of[k] = rotary_floats(j, j->data[k] + at[k] * size, j->strides[k][j->along], rows, room[k],
                              &step[k]);
    for (int64_t r = 0; r < rows; r++)
        rotary_products(of[ROTARY_X] + r * step[ROTARY_X], of[ROTARY_COS] + r * step[ROTARY_COS],
                        of[ROTARY_SIN] + r * step[ROTARY_SIN], n, j->split, p + r * n, q + r * n);
    if (j->dt == DT_FLOAT16) {
        rotary_round(p, rows * n, narrow);
        rotary_round(q, rows * n, narrow);
    }
    rotary_sum(p, q, rows * n);
    const char *from = (const char *)p;
    if (j->dt == DT_FLOAT16) {
        floats_to_halves(j->dt, p, narrow, rows * n);
        from = (const char *)narrow;
    }
    for (int64_t r = 0; r < rows; r++)
        memcpy(out + r * to * size, from + r * n * size, (size_t)(n * size));
}

/* The same of bfloat16. */
static void rotary_rows_bfloat16(const rotary_job *j, const int64_t *at, int64_t rows, char *out) {
    const uint16_t *of[ROTARY_OPERANDS];
    uint16_t *to = (uint16_t *)(void *)out;
    for (int k = 0; k < ROTARY_OPERANDS; k++)
        of[k] = (const uint16_t *)(const void *)j->data[k] + at[k];
    for (int64_t r = 0; r < rows; r++, to += j->written[j->along]) {
        rotary_bfloat16(of[ROTARY_X], of[ROTARY_COS], of[ROTARY_SIN], j->width, j->split, to);
        for (int k = 0; k < ROTARY_OPERANDS; k++) of[k] += j->strides[k][j->along];
    }
}

/* Parts [begin, end) of all rows. */
static void rotary_parts(void *ctx, int64_t begin, int64_t end) {
    const rotary_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[ROTARY_OPERANDS] = {0}, to = 0, first = i % j->parts * j->rows,
                rest = i / j->parts;
        for (int d = j->ndim - 1; d >= 0; d--) {
            int64_t index = first;
            if (d != j->along) index = rest % j->sizes[d], rest /= j->sizes[d];
            for (int k = 0; k < ROTARY_OPERANDS; k++) at[k] += index * j->strides[k][d];
            to += index * j->written[d];
        }
        (j->dt == DT_BFLOAT16 ? rotary_rows_bfloat16
                              : rotary_rows)(j, at, int64_min(j->rows, j->sizes[j->along] - first),
                                             j->out + to * (int64_t)dtype_size(j->dt));
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The strides of t's leading dims as x's; false: it has other sizes. */
static bool rotary_strides(const tensor *x, const tensor *t, int64_t *strides) {
    int more = x->ndim - t->ndim;
    if (more < 0 || t->ndim < 1 || t->dtype != x->dtype || tensor_device(t) != DEVICE_HOST)
        return false;
    for (int d = 0; d < x->ndim - 1; d++) {
        int64_t size = d < more ? 1 : t->sizes[d - more];
        if (size != 1 && size != x->sizes[d]) return false;
        strides[d] = size == 1 ? 0 : t->strides[d - more];
    }
    int64_t n = x->sizes[x->ndim - 1];
    return t->sizes[t->ndim - 1] == n && (t->strides[t->ndim - 1] == 1 || n == 1);
}

static bool rotary_fits(const value *args, rotary_job *j) {
    const tensor *x = arg_tensor(&args[0]);
    int64_t split = arg_int(&args[3]), dims[2] = {arg_int(&args[4]), arg_int(&args[5])};
    *j = (rotary_job){.dt = (dtype)x->dtype, .ndim = x->ndim - 1};
    if ((j->dt != DT_FLOAT32 && !dtype_is_half(j->dt)) || x->ndim < 2 || x->numel == 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (dims[i] != -1 && dims[i] != j->ndim) return false;
    j->width = x->sizes[j->ndim];
    j->split = split < 0 ? split + j->width : split;
    if (j->split < 0 || j->split > j->width || j->width > ROTARY_SOME) return false;
    for (int k = 0; k < ROTARY_OPERANDS; k++) {
        const tensor *t = arg_tensor(&args[k]);
        if (!rotary_strides(x, t, j->strides[k])) return false;
        j->data[k] = tensor_data(t);
    }
    for (int d = 0; d < j->ndim; d++) {
        j->sizes[d] = x->sizes[d];
        if (j->sizes[d] > j->sizes[j->along]) j->along = d;
    }
    j->rows = int64_min(j->sizes[j->along], ROTARY_SOME / j->width);
    j->parts = (j->sizes[j->along] + j->rows - 1) / j->rows;
    return true;
}

/* *x = key(*x, other), or of other first. */
static ctsc_status rotary_step(op_ctx *cx, const char *key, int nargs, value *args, value *x) {
    value result = value_none();
    TRY(op_call(cx, key, nargs, args, &result));
    value_set(x, result);
    return CTSC_OK;
}

static ctsc_status rotary_turned(op_ctx *cx, const value *args, value *turned) {
    value none = value_none(), low = value_none(), list_of = value_none();
    value second[] = {args[0], args[4], args[3], none, value_int(1)},
          first[] = {args[0], args[4], none, args[3], value_int(1)};
    TRY(op_call(cx, "aten::slice.Tensor", 5, second, turned));
    TRY(rotary_step(cx, "aten::neg", 1, (value[]){*turned}, turned));
    TRY(op_call(cx, "aten::slice.Tensor", 5, first, &low));
    list *l = list_new(LIST_TENSOR, NULL, 2);
    ctsc_status st = CTSC_OK;
    if (!l) {
        value_unref(low);
        return diag_no_memory(cx->diag);
    }
    list_of = value_list_take(l);
    if (!list_append_take(l, value_ref(*turned))) {
        value_unref(low);
        st = diag_no_memory(cx->diag);
    } else if (!list_append_take(l, low)) {
        st = diag_no_memory(cx->diag);
    }
    if (st == CTSC_OK) st = rotary_step(cx, "aten::cat", 2, (value[]){list_of, args[5]}, turned);
    value_unref(list_of);
    return st;
}

static ctsc_status rotary_in_steps(op_ctx *cx, const value *args, value *results) {
    value p = value_none(), turned = value_none();
    ctsc_status st = rotary_turned(cx, args, &turned);
    if (st == CTSC_OK)
        st = rotary_step(cx, "aten::mul.Tensor", 2, (value[]){turned, args[2]}, &turned);
    if (st == CTSC_OK) st = op_call(cx, "aten::mul.Tensor", 2, (value[]){args[0], args[1]}, &p);
    if (st == CTSC_OK)
        st = rotary_step(cx, "aten::add.Tensor", 3, (value[]){p, turned, value_int(1)}, &p);
    value_unref(turned);
    if (st == CTSC_OK) return op_return(results, p);
    value_unref(p);
    return st;
}

/* (self, cos, sin, split, slice_dim, cat_dim) */
OPERATOR(rotary) {
    rotary_job j;
    const tensor *x = arg_tensor(&args[0]);
    tensor *out;
    if (!rotary_fits(args, &j)) return rotary_in_steps(cx, args, results);
    TRY(tensor_new(cx->diag, j.dt, x->ndim, x->sizes, &out));
    j.out = tensor_data(out);
    for (int d = 0; d < j.ndim; d++) j.written[d] = out->strides[d];
    int64_t items = x->numel / j.width / j.sizes[j.along] * j.parts;
    pool_for(items, kernel_grain(8 * j.rows * j.width), rotary_parts, &j);
    return op_return_tensor(results, out);
}
