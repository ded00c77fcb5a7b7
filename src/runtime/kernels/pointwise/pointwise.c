/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise.c - the engine of the pointwise operators (see pointwise.h).
 *
 * Invariants: a loop never sees an output that shares elements with an input at other positions.
 * Where self or out would, PyTorch refuses; where it cannot tell, a fresh tensor is computed and
 * copied.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/pointwise/pointwise.h"
#include "runtime/kernels/engine/kernel_tuning.h"
#include "tensor/promote.h"

#include <string.h>

dtype pw_result_dtype(pw_kind kind, dtype dt) {
    return kind == PW_TO_BOOL ? DT_BOOL : kind == PW_TO_PART ? dtype_part(dt) : dt;
}

void pw_number_float(pw_numbers *n, int k, double v) {
    n->f[k] = v;
    n->c[k] = (complex128){v, 0};
    n->i[k] = v >= -9.2e18 && v <= 9.2e18 ? (int64_t)v : 0;
}

void pw_number(pw_numbers *n, int k, const value *v) {
    if (v->tag == V_FLOAT) {
        pw_number_float(n, k, v->u.f);
    } else if (v->tag == V_COMPLEX) {
        pw_number_float(n, k, v->u.complex->re);
        n->c[k].im = v->u.complex->im;
    } else {
        n->i[k] = arg_int(v);
        n->f[k] = (double)n->i[k];
        n->c[k] = (complex128){n->f[k], 0};
    }
}

static bool pw_fits(const value *v, dtype dt) {
    bool is_complex = v->tag == V_COMPLEX;
    if (dtype_is_complex(dt) || dt == DT_BOOL) return true;
    if (is_complex && v->u.complex->im != 0) return false;
    /* ints wrap, these do not */
    if ((dt == DT_UINT8 || dtype_is_unsigned(dt)) && (v->tag == V_FLOAT ? v->u.f
                                                      : is_complex      ? v->u.complex->re
                                                                        : 0) < 0)
        return false;
    /* an int that a double cannot represent exactly */
    if (dt == DT_INT64 && v->tag != V_FLOAT && !is_complex) return true;
    return dtype_fits(dt, is_complex          ? v->u.complex->re
                          : v->tag == V_FLOAT ? v->u.f
                                              : (double)arg_int(v));
}

ctsc_status pw_require_fits(op_ctx *cx, const value *v, dtype dt) {
    if (pw_fits(v, dt)) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "value cannot be converted to type %s without overflow",
                     dtype_ctype_name(dt));
}

ctsc_status pw_require_fits_value(op_ctx *cx, const value *v, dtype dt) {
    if (v->tag != V_TENSOR) return pw_require_fits(cx, v, dt);
    const tensor *t = v->u.tensor;
    const dtype from = (dtype)t->dtype;
    if (t->numel != 1 || from == dt || dtype_is_complex(from) || dtype_is_quantised(from) ||
        tensor_device(t) != DEVICE_HOST)
        return CTSC_OK;
    const value number = dtype_is_float(from) ? value_float(tensor_item_float(t))
                                              : value_int(tensor_item_int(t));
    return pw_require_fits(cx, &number, dt);
}

/* ---- operands -------------------------------------------------------------------------------- */

static void pw_operand_scalar(pw_operand *o, dtype dt) {
    /* One reference is the operand's own, so that taking and dropping another does not free it. */
    o->scalar_storage = (storage){
        .refs = 1, .data = o->scalar_data, .nbytes = sizeof o->scalar_data};
    o->scalar = (tensor){
        .refs = 1, .dtype = (uint8_t)dt, .numel = 1, .storage = &o->scalar_storage};
    o->scalar.sizes = o->scalar.strides = o->scalar.inline_dims;
    o->t = &o->scalar;
}

ctsc_status pw_operand_init(op_ctx *cx, pw_operand *o, const value *v, dtype dt) {
    o->owned = false;
    o->given = NULL;
    if (v->tag == V_TENSOR) {
        tensor *t = v->u.tensor;
        if (t->dtype == dt) {
            o->t = t;
            return CTSC_OK;
        }
        if (t->ndim > 0 || dtype_is_complex((dtype)t->dtype) || dtype_is_complex(dt) ||
            dtype_is_quantised((dtype)t->dtype)) {
            TRY(tensor_to_dtype(cx->diag, t, dt, &o->t));
            o->owned = true;
            o->given = t;
            return CTSC_OK;
        }
        pw_operand_scalar(o, dt);
        if (dtype_is_float((dtype)t->dtype))
            dtype_store_float(dt, o->scalar_data,
                              dtype_load_float((dtype)t->dtype, tensor_data(t)));
        else dtype_store_int(dt, o->scalar_data, dtype_load_int((dtype)t->dtype, tensor_data(t)));
        return CTSC_OK;
    }
    pw_operand_scalar(o, dt);
    if (v->tag == V_COMPLEX && dtype_is_complex(dt))
        dtype_store_complex(dt, o->scalar_data, v->u.complex->re, v->u.complex->im);
    /* of a complex number, callers have seen to the imaginary part */
    else if (v->tag == V_FLOAT || v->tag == V_COMPLEX)
        dtype_store_float(dt, o->scalar_data, arg_float(v));
    else dtype_store_int(dt, o->scalar_data, arg_int(v));
    return CTSC_OK;
}

void pw_operand_free(pw_operand *o) {
    if (o->owned) tensor_unref(o->t);
}

ctsc_status pw_require_same_dtype(op_ctx *cx, const value *a, const value *b, const char *name) {
    dtype want = (dtype)a->u.tensor->dtype, got = (dtype)b->u.tensor->dtype;
    if (want == got) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "expected dtype %s for `%s` but got dtype %s",
                     dtype_cpp_name(want), name, dtype_cpp_name(got));
}

#define PW_FIND_ZERO(T)                                                                            \
    {                                                                                              \
        const T *x = (const T *)(const void *)p[0];                                                \
        int zeros = 0;                                                                             \
        for (int64_t i = 0; s[0] == sizeof(T) && i < n; i++) zeros |= x[i] == 0;                   \
        for (int64_t i = 0; s[0] != sizeof(T) && i < n; i++)                                       \
            zeros |= *(const T *)(const void *)(p[0] + i * s[0]) == 0;                             \
        zero = zeros;                                                                              \
    }
PW_CLONES static void pw_find_zero(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    tensor **found = ctx; /* found[0]: the tensor, found[1]: not NULL once a zero was seen */
    bool zero = false;
    switch (dtype_size((dtype)found[0]->dtype)) {
    case 1: PW_FIND_ZERO(uint8_t) break;
    case 2: PW_FIND_ZERO(int16_t) break;
    case 4: PW_FIND_ZERO(int32_t) break;
    default: PW_FIND_ZERO(int64_t) break;
    }
    if (zero) found[1] = found[0];
}

ctsc_status pw_refuse_zero(op_ctx *cx, const value *divisor, dtype dt) {
    bool zero = false;
    if (!dtype_is_int(dt)) return CTSC_OK;
    if (divisor->tag == V_TENSOR) {
        tensor *t = divisor->u.tensor, *state[2] = {t, NULL};
        if (!iter_run_ordered_limited(t->ndim, t->sizes, 1, &t, pw_find_zero, state))
            return limits_fail(cx->diag);
        zero = state[1] != NULL;
    } else {
        zero = arg_int(divisor) == 0;
    }
    return zero ? diag_fail(cx->diag, CTSC_FAILED, "ZeroDivisionError") : CTSC_OK;
}

/* ---- runs as vectors ------------------------------------------------------------------------- */

/* Copies of an element, as many as fill whole cache lines. */
#define PW_FILL(T)                                                                                 \
    {                                                                                              \
        const T x = *(const T *)(const void *)from;                                                \
        const size_t n = ((bytes + PW_ALIGN - 1) & ~(size_t)(PW_ALIGN - 1)) / sizeof(T);           \
        for (size_t i = 0; i < n; i++) ((T *)room)[i] = x;                                         \
    }                                                                                              \
    break;
PW_CLONES static void pw_fill(void *room, const char *from, int64_t size, size_t bytes) {
    switch (size) {
    case 1: PW_FILL(uint8_t)
    case 2: PW_FILL(uint16_t)
    case 4: PW_FILL(uint32_t)
    case 8: PW_FILL(uint64_t)
    default: PW_FILL(complex128)
    }
}

/* n elements, their distances in bytes. */
#define PW_MOVE(T)                                                                                 \
    for (; n > 0; n--, to += s_to, from += s_from)                                                 \
        *(T *)(void *)to = *(const T *)(const void *)from;                                         \
    break;
static void pw_move(char *to, int64_t s_to, const char *from, int64_t s_from, int64_t size,
                    int64_t n) {
    if (s_to == size && s_from == size) {
        memcpy(to, from, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1: PW_MOVE(uint8_t)
    case 2: PW_MOVE(uint16_t)
    case 4: PW_MOVE(uint32_t)
    case 8: PW_MOVE(uint64_t)
    default: PW_MOVE(complex128)
    }
}

static char *pw_chunks_room(pw_chunks *c, int k) {
    return c->room[k] + (-(uintptr_t)c->room[k] & (PW_ALIGN - 1));
}

int64_t pw_chunks_begin(pw_chunks *c, pw_shape of, int64_t n, char *const *p, const int64_t *s) {
    const int64_t size = of.in_size, whole = n & -(int64_t)of.lanes;
    bool dense = s[0] == of.out_size, spread = false;
    for (int k = 0; k < of.inputs; k++) {
        dense &= s[k + 1] == size || s[k + 1] == 0;
        spread |= s[k + 1] == 0;
    }
    c->out = p[0];
    c->packed = 0;
    c->whole = c->done = dense ? whole : 0;
    c->chunk = spread && n > PW_CHUNK ? PW_CHUNK : whole;
    for (int k = 0; k < of.inputs; k++) {
        c->at[k] = p[k + 1];
        c->step[k] = c->chunk * s[k + 1];
        if (s[k + 1] != 0) continue;
        c->at[k] = pw_chunks_room(c, k + 1);
        pw_fill((char *)c->at[k], p[k + 1], size,
                (size_t)((n < PW_CHUNK ? n + of.lanes - 1 : PW_CHUNK) * size));
    }
    return c->done;
}

bool pw_chunks_rest(pw_chunks *c, pw_shape of, int64_t n, char *const *p, const int64_t *s) {
    const int64_t size = of.in_size, lanes = of.lanes;
    if (c->packed)
        pw_move(p[0] + c->done * s[0], s[0], c->out, of.out_size, of.out_size, c->packed);
    c->done += c->packed;
    if (c->done >= n) return false;
    /* The last vector once more, some elements further: they are there, and come to the same. */
    bool again = c->done > 0 && c->packed == 0;
    for (int k = 0; k < of.inputs; k++) again &= p[0] != p[k + 1];
    const int64_t part = n - c->done < PW_CHUNK ? n - c->done : PW_CHUNK;
    c->packed = again ? 0 : part;
    c->whole = c->chunk = again ? lanes : (part + lanes - 1) & -lanes;
    c->out = again ? p[0] + (n - lanes) * of.out_size : pw_chunks_room(c, 0);
    for (int k = 0; k < of.inputs; k++) {
        char *room = pw_chunks_room(c, k + 1);
        c->at[k] = again && s[k + 1] ? p[k + 1] + (n - lanes) * size : room;
        if (again || s[k + 1] == 0) continue; /* copies are there since the beginning */
        memset(room + (c->whole - lanes) * size, 0, PW_ALIGN);
        pw_move(room, size, p[k + 1] + c->done * s[k + 1], s[k + 1], size, part);
    }
    if (again) c->done = n;
    return true;
}

/* ---- half and bfloat16 ----------------------------------------------------------------------- */

PW_CLONES static void pw_brains_to_floats(const bfloat16 *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = scalar_from_bits_f32((uint32_t)x[i].bits << 16);
}
PW_CLONES static void pw_brains_from_floats(const float *x, bfloat16 *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = scalar_bits_f32(x[i]), rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
        y[i].bits = (uint16_t)(x[i] != x[i] ? 0x7fc0u : rounded);
    }
}

static void pw_half_load(dtype dt, int64_t n, const char *p, int64_t s, float *x) {
    bool half = dt == DT_FLOAT16;
    if (s == sizeof(uint16_t) && half)
        float16_to_floats((const float16 *)(const void *)p, x, (size_t)n);
    else if (s == sizeof(uint16_t)) pw_brains_to_floats((const bfloat16 *)(const void *)p, x, n);
    else
        for (int64_t i = 0; i < n; i++, p += s)
            x[i] = half ? float16_to_float(*(const float16 *)(const void *)p)
                        : bfloat16_to_float(*(const bfloat16 *)(const void *)p);
}

static void pw_half_store(dtype dt, int64_t n, char *p, int64_t s, const float *x) {
    bool half = dt == DT_FLOAT16;
    if (s == sizeof(uint16_t) && half) float16_from_floats(x, (float16 *)(void *)p, (size_t)n);
    else if (s == sizeof(uint16_t)) pw_brains_from_floats(x, (bfloat16 *)(void *)p, n);
    else
        for (int64_t i = 0; i < n; i++, p += s)
            if (half) *(float16 *)(void *)p = float16_from_float(x[i]);
            else *(bfloat16 *)(void *)p = bfloat16_from_float(x[i]);
}

void pw_half(iter_kernel loop, int inputs, dtype dt, bool to_bytes, void *ctx, int64_t n,
             char *const *p, const int64_t *s) {
    _Alignas(32) float room[PW_MAX_OPERANDS + 1][PW_HALF_BLOCK];
    char *q[PW_MAX_OPERANDS + 1];
    int64_t step[PW_MAX_OPERANDS + 1];
    for (int k = 0; k <= inputs; k++) {
        q[k] = (char *)room[k];
        step[k] = k > 0 && s[k] == 0 ? 0 : (int64_t)sizeof(float);
        if (step[k] == 0 && n > 0) pw_half_load(dt, 1, p[k], 0, room[k]);
    }
    if (to_bytes) step[0] = s[0];
    for (int64_t at = 0; at < n; at += PW_HALF_BLOCK) {
        int64_t part = n - at < PW_HALF_BLOCK ? n - at : PW_HALF_BLOCK;
        for (int k = 1; k <= inputs; k++)
            if (step[k]) pw_half_load(dt, part, p[k] + at * s[k], s[k], room[k]);
        if (to_bytes) q[0] = p[0] + at * s[0];
        loop(ctx, part, q, step);
        if (!to_bytes) pw_half_store(dt, part, p[0] + at * s[0], s[0], room[0]);
    }
}

void pw_half_number(iter_kernel loop, dtype dt, float y, int64_t n, char *const *p,
                    const int64_t *s) {
    _Alignas(32) float room[PW_HALF_BLOCK];
    char *const q[3] = {(char *)room, (char *)room, (char *)&y};
    const int64_t step[3] = {sizeof(float), sizeof(float), 0};
    for (int64_t at = 0; at < n; at += PW_HALF_BLOCK) {
        int64_t part = n - at < PW_HALF_BLOCK ? n - at : PW_HALF_BLOCK;
        pw_half_load(dt, part, p[1] + at * s[1], s[1], room);
        loop(NULL, part, q, step);
        pw_half_store(dt, part, p[0] + at * s[0], s[0], room);
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

typedef struct pw_output {
    tensor *t;      /* where the loop writes; owned */
    bool is_target; /* it is self or out */
    bool overlaps;  /* with itself: an element may be written several times, one after the other */
} pw_output;

/* A written tensor with a stride of 0 would get several values per element. */
static ctsc_status pw_check_spread(op_ctx *cx, const tensor *target) {
    for (int i = 0; i < target->ndim && target->numel > 0; i++)
        if (target->sizes[i] > 1 && target->strides[i] == 0)
            return diag_fail(
                cx->diag, CTSC_FAILED,
                "unsupported operation: more than one element of the written-to tensor "
                "refers to a single memory location. Please clone() the tensor before "
                "performing the operation.");
    return CTSC_OK;
}

static ctsc_status pw_check_cast(op_ctx *cx, dtype dt, const tensor *target) {
    if (dtype_can_cast(dt, (dtype)target->dtype)) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "result type %s can't be cast to the desired output type %s",
                     dtype_table[dt].ir_name, dtype_table[target->dtype].ir_name);
}

static ctsc_status pw_check_target(op_ctx *cx, const tensor *target, int n, pw_operand *operands,
                                   bool *shared) {
    *shared = false;
    bool dense = tensor_is_dense(target);
    for (int i = 0; i < n; i++) {
        tensor *t = operands[i].t;
        if (!tensor_partial_overlap(target, t)) continue;
        if (dense && tensor_is_dense(t) && !operands[i].owned) return op_refuse_partial_overlap(cx);
        *shared = true;
    }
    return CTSC_OK;
}

static ctsc_status pw_output_new(op_ctx *cx, int n, const pw_operand *operands, dtype dt, int ndim,
                                 const int64_t *sizes, tensor **out) {
    tensor *of[PW_MAX_OPERANDS];
    bool rows = true, odd = false, same = true;
    for (int i = 0; i < n; i++) {
        of[i] = operands[i].given ? operands[i].given : operands[i].t;
        rows = rows && tensor_is_contiguous(of[i]);
        odd = odd || !tensor_has_row_strides(of[i]);
        same = same && tensor_same_shape(of[0], of[i]);
    }
    if (rows && (same || !odd)) return tensor_new(cx->diag, dt, ndim, sizes, out);
    int64_t strides[TENSOR_MAX_DIMS];
    broadcast_strides(ndim, sizes, n, of, strides);
    return tensor_new_strided(cx->diag, DEVICE_HOST, dt, ndim, sizes, strides, out);
}

static ctsc_status pw_output_begin(op_ctx *cx, const value *args, int n, pw_operand *operands,
                                   dtype dt, int ndim, const int64_t *sizes, pw_output *out) {
    int index;
    tensor *target = op_target(cx, args, &index);
    out->is_target = out->overlaps = false;
    if (!target) return pw_output_new(cx, n, operands, dt, ndim, sizes, &out->t);
    bool shared;
    TRY(pw_check_target(cx, target, n, operands, &shared));
    TRY(pw_check_cast(cx, dt, target));
    bool part = !dtype_is_complex(dt) && dtype_is_complex((dtype)operands[0].t->dtype);
    if (dt != (dtype)target->dtype && !part && cx->op->traits.out_dtype == OUT_DTYPE_EXACT)
        return op_refuse_out_dtype(cx, dt, target);
    bool fits = target->ndim == ndim &&
                (!ndim || !memcmp(target->sizes, sizes, sizeof *sizes * (size_t)ndim));
    bool read = index == 0; /* such a tensor is not resized */
    for (int i = 0; i < cx->op->schema->nargs; i++)
        read = read || (i != index && args[i].tag == V_TENSOR && args[i].u.tensor == target);
    if (read) TRY(op_check_inplace_shape(cx, target, ndim, sizes));
    if (!fits) return pw_output_new(cx, n, operands, dt, ndim, sizes, &out->t);
    if (shared || target->dtype != dt) return tensor_new(cx->diag, dt, ndim, sizes, &out->t);
    TRY(tensor_make_writable(cx->diag, target));
    out->t = tensor_ref(target);
    out->is_target = true;
    out->overlaps = tensor_may_overlap(target);
    return CTSC_OK;
}

/* ---- strided inputs -------------------------------------------------------------------------- */

typedef struct pw_packed {
    iter_kernel loop;
    void *ctx;
    int n;                             /* inputs */
    int64_t size[PW_MAX_OPERANDS + 1]; /* of an element */
} pw_packed;

#define PW_PACK(T)                                                                                 \
    {                                                                                              \
        T *to = (T *)(void *)q;                                                                    \
        const T *from = (const T *)(const void *)p;                                                \
        if (s == 2 * (int64_t)sizeof(T))                                                           \
            for (int64_t i = 0; i < n; i++) to[i] = from[2 * i];                                   \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++) to[i] = *(const T *)(const void *)(p + i * s);         \
    }
PW_CLONES static void pw_pack(int64_t size, int64_t n, const char *p, int64_t s, char *q) {
    if (size == sizeof(uint32_t)) PW_PACK(uint32_t)
    else PW_PACK(uint64_t)
}

/* Strided inputs are copied together block by block, so that the loop is one over vectors. */
static void pw_packed_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const pw_packed *job = ctx;
    bool apart[PW_MAX_OPERANDS + 1] = {false}, any = false;
    for (int k = 1; k <= job->n; k++) any |= apart[k] = s[k] != 0 && s[k] != job->size[k];
    if (!any || s[0] != job->size[0] || n < PW_PACK_LEAST) {
        job->loop(job->ctx, n, p, s);
        return;
    }
    _Alignas(32) char room[PW_MAX_OPERANDS + 1][PW_PACK_BYTES];
    char *q[PW_MAX_OPERANDS + 1];
    int64_t step[PW_MAX_OPERANDS + 1], most = PW_PACK_BYTES / 8;
    for (int k = 0; k <= job->n; k++) step[k] = apart[k] ? job->size[k] : s[k];
    for (int64_t at = 0; at < n; at += most) {
        int64_t part = n - at < most ? n - at : most;
        for (int k = 0; k <= job->n; k++) {
            q[k] = apart[k] ? room[k] : p[k] + at * s[k];
            if (apart[k]) pw_pack(job->size[k], part, p[k] + at * s[k], s[k], room[k]);
        }
        job->loop(job->ctx, part, q, step);
    }
}

/* Are there such inputs, of real numbers of four or eight bytes? */
static bool pw_worth_packing(const tensor *out, int n, const pw_operand *operands, pw_packed *job) {
    bool apart = false;
    job->n = n;
    job->size[0] = (int64_t)dtype_size((dtype)out->dtype);
    for (int k = 0; k < n; k++) {
        const tensor *t = operands[k].t;
        if (t->dtype != DT_FLOAT32 && t->dtype != DT_FLOAT64) return false;
        job->size[k + 1] = (int64_t)dtype_size((dtype)t->dtype);
        apart |= t->numel > PW_PACK_LEAST && !tensor_is_contiguous(t);
    }
    return apart;
}

ctsc_status pw_loop(op_ctx *cx, const value *args, int n, pw_operand *operands, dtype dt,
                    iter_kernel loop, void *ctx, value *results) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = operands[0].t->ndim;
    const tensor *target = op_target(cx, args, NULL);
    if (target) TRY(pw_check_spread(cx, target));
    memcpy(sizes, operands[0].t->sizes, sizeof *sizes * (size_t)ndim);
    for (int i = 1; i < n; i++) {
        tensor *t = operands[i].t;
        if (t->ndim == 0) continue;
        TRY(broadcast_sizes(cx->diag, ndim, sizes, t->ndim, t->sizes, &ndim, sizes));
    }
    pw_output out;
    TRY(pw_output_begin(cx, args, n, operands, dt, ndim, sizes, &out));
    tensor *all[PW_MAX_OPERANDS + 1] = {out.t};
    for (int i = 0; i < n; i++) all[i + 1] = operands[i].t;
    pw_packed packed = {.loop = loop, .ctx = ctx};
    bool packs = pw_worth_packing(out.t, n, operands, &packed);
    iter_kernel run = packs ? pw_packed_run : loop;
    void *with = packs ? &packed : ctx;
    if (!(out.overlaps ? iter_run_ordered_limited(ndim, sizes, n + 1, all, run, with)
                       : iter_run_limited(ndim, sizes, n + 1, all, run, with, 0))) {
        tensor_unref(out.t);
        return limits_fail(cx->diag);
    }
    if (out.is_target) return op_return_tensor(results, out.t);
    return op_finish(cx, args, out.t, results);
}

/* What PyTorch looks at before it looks for a loop: shapes, and what is written to. */
static ctsc_status pw_check_shapes(op_ctx *cx, const value *args, int n, const value *values,
                                   const pw_op *op, dtype dt) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = 0, index;
    const tensor *target = op_target(cx, args, &index);
    if (target) TRY(pw_check_spread(cx, target));
    for (int i = 0; i < n; i++)
        if (values[i].tag == V_TENSOR)
            TRY(broadcast_sizes(cx->diag, ndim, sizes, values[i].u.tensor->ndim,
                                values[i].u.tensor->sizes, &ndim, sizes));
    if (target && index == 0) TRY(op_check_inplace_shape(cx, target, ndim, sizes));
    return target ? pw_check_cast(cx, pw_result_dtype(op->kind, dt), target) : CTSC_OK;
}

/* What has no loop for complex numbers here has none in PyTorch either. */
static ctsc_status pw_refuse(op_ctx *cx, const value *args, int n, const value *values,
                             const pw_op *op, dtype dt) {
    TRY(pw_check_shapes(cx, args, n, values, op, dt));
    bool is_complex = dt == DT_COMPLEX64 || dt == DT_COMPLEX128;
    if (!is_complex) return op_refuse_dtype(cx, op->name, dt);
    if (op->no_complex) return diag_fail(cx->diag, CTSC_FAILED, "%s", op->no_complex);
    return diag_fail(cx->diag, CTSC_FAILED, "\"%s\" not implemented for '%s'", op->name,
                     dtype_table[dt].ir_name);
}

ctsc_status pw_run_as(op_ctx *cx, const value *args, int n, const value *values, const pw_op *op,
                      dtype dt, const pw_numbers *numbers, value *results) {
    if (!op->loops[dt]) return pw_refuse(cx, args, n, values, op, dt);
    pw_operand operands[PW_MAX_OPERANDS];
    int made = 0;
    ctsc_status st = CTSC_OK;
    while (made < n && (st = pw_operand_init(cx, &operands[made], &values[made], dt)) == CTSC_OK)
        made++;
    if (st == CTSC_OK) {
        dtype result = pw_result_dtype(op->kind, dt);
        st = pw_loop(cx, args, n, operands, result, op->loops[dt], (void *)numbers, results);
    }
    while (made > 0) pw_operand_free(&operands[--made]);
    return st;
}

/* Most calls: floating-point or complex tensors of one dtype and shape without gaps, and numbers,
 * small enough for one thread. Nothing is to be promoted, broadcast or cut then. */

static bool pw_is_plain(const op_ctx *cx, int n, const value *values, const pw_op *op) {
    if (values[0].tag != V_TENSOR || !cx->op || cx->op->schema->has_alias_write) return false;
    const tensor *t = values[0].u.tensor;
    if (dtype_is_integral((dtype)t->dtype) || !op->loops[t->dtype] || t->ndim == 0 ||
        t->numel > PW_PLAIN_MAX || !tensor_is_contiguous(t))
        return false;
    for (int i = 1; i < n; i++) {
        if (values[i].tag == V_FLOAT || values[i].tag == V_INT) {
            if (!tensor_has_row_strides(t)) return false; /* as for a tensor of another shape */
            continue;
        }
        const tensor *u = values[i].u.tensor;
        if (values[i].tag != V_TENSOR || u->dtype != t->dtype || !tensor_same_shape(u, t) ||
            !tensor_is_contiguous(u))
            return false;
    }
    return true;
}

static ctsc_status pw_run_plain(op_ctx *cx, int n, const value *values, const pw_op *op,
                                const pw_numbers *numbers, value *results) {
    const tensor *t = values[0].u.tensor;
    dtype dt = (dtype)t->dtype, result = pw_result_dtype(op->kind, dt);
    tensor *out;
    TRY(tensor_new(cx->diag, result, t->ndim, t->sizes, &out));
    char *p[PW_MAX_OPERANDS + 1] = {tensor_data(out)};
    int64_t s[PW_MAX_OPERANDS + 1] = {(int64_t)dtype_size(result)};
    _Alignas(16) char scalars[PW_MAX_OPERANDS][16];
    for (int i = 0; i < n; i++) {
        bool is_tensor = values[i].tag == V_TENSOR;
        p[i + 1] = is_tensor ? tensor_data(values[i].u.tensor) : scalars[i];
        s[i + 1] = is_tensor ? (int64_t)dtype_size(dt) : 0;
        if (values[i].tag == V_FLOAT) dtype_store_float(dt, scalars[i], values[i].u.f);
        else if (!is_tensor) dtype_store_int(dt, scalars[i], values[i].u.i);
    }
    if (t->numel) op->loops[dt]((void *)numbers, t->numel, p, s);
    return op_return_tensor(results, out);
}

ctsc_status pw_run(op_ctx *cx, const value *args, int n, const value *values, const pw_op *op,
                   const pw_numbers *numbers, value *results) {
    if (pw_is_plain(cx, n, values, op)) return pw_run_plain(cx, n, values, op, numbers, results);
    dtype dt = n == 1 && values->tag == V_TENSOR ? (dtype)values->u.tensor->dtype
                                                 : promote_operands(n, values);
    if (op->kind == PW_REAL && dtype_is_integral(dt)) dt = DT_FLOAT32;
    return pw_run_as(cx, args, n, values, op, dt, numbers, results);
}
