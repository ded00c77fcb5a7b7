/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_eval.c - runs scalar definitions (ir/scalar/scalar_text.h) in the interpreter.
 *
 * Method: iter_run cuts the work into runs; a run is computed in blocks of some hundred elements,
 * node after node, each a loop over buffers that the compiler vectorises. Buffers are floats, or
 * doubles where the result is float64; operands of other dtypes are converted as a block is read,
 * half and bfloat16 results as it is written. Nodes that are the same for all elements are
 * computed once per run.
 * Invariants: an element's value does not depend on its place in a block or a run.
 * Tests: tests/unit/test_scalar_text.c
 */
#include "runtime/kernels/pointwise/scalar_eval.h"

#include "ir/scalar/scalar_text.h"
#include "runtime/kernels/pointwise/pointwise.h"
#include "tensor/promote.h"

#include <string.h>

/* Bytes of the buffers of a run; a definition of the largest size has room for EVAL_LEAST elements
 * of double. Loops are over whole vectors of EVAL_LANES elements, so that they have no code for a
 * rest: the last one's elements beyond the run count for nothing. */
enum {
    EVAL_ROOM = 32768,
    EVAL_MOST = 512,
    EVAL_LEAST = EVAL_ROOM / (SCALAR_MAX_NODES * (int)sizeof(double)),
    EVAL_LANES = 8
};
_Static_assert(EVAL_LEAST % EVAL_LANES == 0, "a block is whole vectors");

typedef void eval_loop(void *out, const void *const *in, int64_t n);
typedef void eval_convert(void *out, const char *in, int64_t stride, int64_t n);
typedef void eval_fill(void *out, double x, int64_t n);

/* ---- loops ----------------------------------------------------------------------------------- */

/* o may be one of the operands. */
#define EVAL_EACH(T, EXPR, BETWEEN)                                                                \
    T *o = out;                                                                                    \
    const T *p0 = in[0], *p1 = in[1], *p2 = in[2];                                                 \
    const int64_t m = n & ~(int64_t)(EVAL_LANES - 1);                                              \
    PW_IVDEP                                                                                       \
    for (int64_t i = 0; i < m; i++) {                                                              \
        o[i] = (T)(EXPR);                                                                          \
        BETWEEN;                                                                                   \
    }                                                                                              \
    (void)p0, (void)p1, (void)p2;
/* For functions of libm, as those of double are. */
#define EVAL_PLAIN_LOOP(NAME, T, EXPR)                                                             \
    static void NAME(void *out, const void *const *in, int64_t n) {                                \
        EVAL_EACH(T, EXPR, PW_NO_VECTORS)                                                          \
    }
#define EVAL_LOOP(NAME, T, EXPR)                                                                   \
    PW_VECTOR static void NAME##_vectors(void *out, const void *const *in, int64_t n) {            \
        EVAL_EACH(T, EXPR, )                                                                       \
    }                                                                                              \
    static void NAME(void *out, const void *const *in, int64_t n) {                                \
        if (pw_has_vectors()) {                                                                    \
            NAME##_vectors(out, in, n);                                                            \
            return;                                                                                \
        }                                                                                          \
        EVAL_EACH(T, EXPR, PW_NO_VECTORS)                                                          \
    }

#define EVAL_OPS(T, S)                                                                             \
    EVAL_LOOP(eval_neg_##S, T, -p0[i])                                                             \
    EVAL_LOOP(eval_not_##S, T, p0[i] == 0)                                                         \
    EVAL_LOOP(eval_add_##S, T, p0[i] + p1[i])                                                      \
    EVAL_LOOP(eval_sub_##S, T, p0[i] - p1[i])                                                      \
    EVAL_LOOP(eval_mul_##S, T, p0[i] * p1[i])                                                      \
    EVAL_LOOP(eval_div_##S, T, p0[i] / p1[i])                                                      \
    EVAL_LOOP(eval_eq_##S, T, p0[i] == p1[i])                                                      \
    EVAL_LOOP(eval_ne_##S, T, p0[i] != p1[i])                                                      \
    EVAL_LOOP(eval_lt_##S, T, p0[i] < p1[i])                                                       \
    EVAL_LOOP(eval_le_##S, T, p0[i] <= p1[i])                                                      \
    EVAL_LOOP(eval_gt_##S, T, p0[i] > p1[i])                                                       \
    EVAL_LOOP(eval_ge_##S, T, p0[i] >= p1[i])                                                      \
    EVAL_LOOP(eval_and_##S, T, (p0[i] != 0) & (p1[i] != 0))                                        \
    EVAL_LOOP(eval_or_##S, T, (p0[i] != 0) | (p1[i] != 0))                                         \
    EVAL_LOOP(eval_select_##S, T, p0[i] != 0 ? p1[i] : p2[i])                                      \
    static void eval_fill_##S(void *out, double x, int64_t n) {                                    \
        T *o = out, v = (T)x;                                                                      \
        for (int64_t i = 0; i < n; i++) o[i] = v;                                                  \
    }
EVAL_OPS(float, f32)
EVAL_OPS(double, f64)

#define EVAL_ARGS1 p0[i]
#define EVAL_ARGS2 p0[i], p1[i]
#define EVAL_FUNCTION(c, name, operands, cost)                                                     \
    EVAL_LOOP(eval_call_##c##_f32, float, scalar_##name##_f32(EVAL_ARGS##operands))                \
    EVAL_PLAIN_LOOP(eval_call_##c##_f64, double, scalar_##name##_f64(EVAL_ARGS##operands))
SCALAR_FUNCTION_TABLE(EVAL_FUNCTION)

/* ---- conversions ----------------------------------------------------------------------------- */

#define EVAL_READ(NAME, T, S, VALUE)                                                               \
    static void NAME(void *out, const char *in, int64_t stride, int64_t n) {                       \
        T *o = out;                                                                                \
        if (stride == sizeof(S)) {                                                                 \
            const S *p = (const S *)(const void *)in;                                              \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const S x = p[i];                                                                  \
                o[i] = (T)(VALUE);                                                                 \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const S x = *(const S *)(const void *)(in + i * stride);                               \
            o[i] = (T)(VALUE);                                                                     \
        }                                                                                          \
    }
#define EVAL_READS(T, S)                                                                           \
    EVAL_READ(eval_read_u8_##S, T, uint8_t, x)                                                     \
    EVAL_READ(eval_read_i8_##S, T, int8_t, x)                                                      \
    EVAL_READ(eval_read_i16_##S, T, int16_t, x)                                                    \
    EVAL_READ(eval_read_i32_##S, T, int32_t, x)                                                    \
    EVAL_READ(eval_read_i64_##S, T, int64_t, x)                                                    \
    EVAL_READ(eval_read_bool_##S, T, uint8_t, x != 0)                                              \
    EVAL_READ(eval_read_float_##S, T, float, x)                                                    \
    EVAL_READ(eval_read_double_##S, T, double, x)                                                  \
    EVAL_READ(eval_read_half_##S, T, float16, float16_to_float(x))                                 \
    EVAL_READ(eval_read_bfloat_##S, T, bfloat16, bfloat16_to_float(x))                             \
    static eval_convert *const eval_reads_##S[DT_COMPUTED] = {                                     \
        [DT_UINT8] = eval_read_u8_##S,      [DT_INT8] = eval_read_i8_##S,                          \
        [DT_INT16] = eval_read_i16_##S,     [DT_INT32] = eval_read_i32_##S,                        \
        [DT_INT64] = eval_read_i64_##S,     [DT_BOOL] = eval_read_bool_##S,                        \
        [DT_FLOAT32] = eval_read_float_##S, [DT_FLOAT64] = eval_read_double_##S,                   \
        [DT_FLOAT16] = eval_read_half_##S,  [DT_BFLOAT16] = eval_read_bfloat_##S,                  \
    };
EVAL_READS(float, f32)
EVAL_READS(double, f64)

/* n results of a block into memory: in is packed. */
#define EVAL_WRITE(NAME, T, S, VALUE)                                                              \
    static void NAME(char *out, int64_t stride, const void *in, int64_t n) {                       \
        const S *p = in;                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const S x = p[i];                                                                      \
            *(T *)(void *)(out + i * stride) = VALUE;                                              \
        }                                                                                          \
    }
EVAL_WRITE(eval_write_float, float, float, x)
EVAL_WRITE(eval_write_double, double, double, x)
EVAL_WRITE(eval_write_half_one, float16, float, float16_from_float(x))
EVAL_WRITE(eval_write_bfloat, bfloat16, float, bfloat16_from_float(x))
static void eval_write_half(char *out, int64_t stride, const void *in, int64_t n) {
    if (stride == sizeof(float16)) float16_from_floats(in, (float16 *)(void *)out, (size_t)n);
    else eval_write_half_one(out, stride, in, n);
}

/* ---- the two types --------------------------------------------------------------------------- */

typedef struct eval_type {
    size_t size;
    dtype dt;
    eval_fill *fill;
    eval_convert *const *reads;
    eval_loop *ops[SCALAR_OP_COUNT], *functions[SCALAR_FUNCTION_COUNT];
} eval_type;

#define EVAL_TYPE_OPS(S)                                                                             \
    {                                                                                                \
        [SCALAR_NEG] = eval_neg_##S, [SCALAR_NOT] = eval_not_##S, [SCALAR_ADD] = eval_add_##S,       \
        [SCALAR_SUB] = eval_sub_##S, [SCALAR_MUL] = eval_mul_##S, [SCALAR_DIV] = eval_div_##S,       \
        [SCALAR_EQ] = eval_eq_##S,   [SCALAR_NE] = eval_ne_##S,   [SCALAR_LT] = eval_lt_##S,         \
        [SCALAR_LE] = eval_le_##S,   [SCALAR_GT] = eval_gt_##S,   [SCALAR_GE] = eval_ge_##S,         \
        [SCALAR_AND] = eval_and_##S, [SCALAR_OR] = eval_or_##S,   [SCALAR_SELECT] = eval_select_##S, \
    }
#define EVAL_FUNCTION_F32(c, name, operands, cost) [SCALAR_FN_##c] = eval_call_##c##_f32,
#define EVAL_FUNCTION_F64(c, name, operands, cost) [SCALAR_FN_##c] = eval_call_##c##_f64,
static const eval_type eval_f32 = {sizeof(float),      DT_FLOAT32,
                                   eval_fill_f32,      eval_reads_f32,
                                   EVAL_TYPE_OPS(f32), {SCALAR_FUNCTION_TABLE(EVAL_FUNCTION_F32)}};
static const eval_type eval_f64 = {sizeof(double),     DT_FLOAT64,
                                   eval_fill_f64,      eval_reads_f64,
                                   EVAL_TYPE_OPS(f64), {SCALAR_FUNCTION_TABLE(EVAL_FUNCTION_F64)}};

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct eval_call {
    const scalar_text *text;
    const eval_type *type;
    dtype result, dtypes[SCALAR_MAX_ARGS];
    /* by argument: which operand of the run a tensor is (0 is the result) */
    int operand[SCALAR_MAX_ARGS];
    double numbers[SCALAR_MAX_ARGS];
} eval_call;

typedef struct eval_run {
    const eval_call *call;
    const void *at[SCALAR_MAX_NODES]; /* values of the nodes in this block */
    char *room;
    int64_t block; /* elements a slot holds */
    char *const *p;
    const int64_t *s;
} eval_run;

static void *eval_slot(const eval_run *r, const scalar_node *n) {
    return r->room + (size_t)n->slot * (size_t)r->block * r->call->type->size;
}

static int64_t eval_padded(int64_t count) {
    return (count + EVAL_LANES - 1) & ~(int64_t)(EVAL_LANES - 1);
}

/* A tensor's elements from `from` on: in place, if they have the layout
 * that a loop needs, else copied to the node's slot, followed by zeros. */
static const void *eval_read(const eval_run *r, const scalar_node *n, int64_t from, int64_t count) {
    const eval_call *c = r->call;
    int k = c->operand[n->arg];
    const char *in = r->p[k] + from * r->s[k];
    const int64_t pad = eval_padded(count) - count;
    if (c->dtypes[n->arg] == c->type->dt && r->s[k] == (int64_t)c->type->size && pad == 0)
        return in;
    char *out = eval_slot(r, n);
    c->type->reads[c->dtypes[n->arg]](out, in, r->s[k], count);
    c->type->fill(out + (size_t)count * c->type->size, 0, pad);
    return out;
}

/* Computes nodes that are uniform, or those that are not. */
static void eval_nodes(eval_run *r, bool uniform, int64_t from, int64_t count) {
    const eval_call *c = r->call;
    for (int i = 0; i < c->text->nnodes; i++) {
        const scalar_node *n = &c->text->nodes[i];
        const void *in[3] = {NULL};
        void *out = eval_slot(r, n);
        if (n->uniform != uniform) continue;
        for (int k = 0; k < scalar_operands(n); k++) in[k] = r->at[n->args[k]];
        r->at[i] = out;
        if (n->op == SCALAR_CONST) c->type->fill(out, n->number, eval_padded(count));
        else if (n->op == SCALAR_ARG && uniform)
            c->type->fill(out, c->numbers[n->arg], eval_padded(count));
        else if (n->op == SCALAR_ARG) r->at[i] = eval_read(r, n, from, count);
        else
            (n->op == SCALAR_CALL ? c->type->functions[n->function]
                                  : c->type->ops[n->op])(out, in, eval_padded(count));
    }
}

static void eval_write(const eval_run *r, int64_t from, int64_t count) {
    const void *in = r->at[r->call->text->root];
    char *out = r->p[0] + from * r->s[0];
    switch (r->call->result) {
    case DT_FLOAT64: eval_write_double(out, r->s[0], in, count); break;
    case DT_FLOAT16: eval_write_half(out, r->s[0], in, count); break;
    case DT_BFLOAT16: eval_write_bfloat(out, r->s[0], in, count); break;
    default: eval_write_float(out, r->s[0], in, count); break;
    }
}

static void eval_kernel(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const eval_call *c = ctx;
    _Alignas(64) char room[EVAL_ROOM];
    int64_t block = EVAL_ROOM / ((int64_t)c->type->size * c->text->slots);
    block = block > EVAL_MOST    ? EVAL_MOST
            : block > 16         ? block / 16 * 16
            : block < EVAL_LEAST ? EVAL_LEAST
                                 : block;
    eval_run r = {.call = c, .room = room, .block = block, .p = p, .s = s};
    eval_nodes(&r, true, 0, block < n ? block : n);
    for (int64_t from = 0; from < n; from += block) {
        int64_t count = n - from < block ? n - from : block;
        eval_nodes(&r, false, from, count);
        eval_write(&r, from, count);
    }
}

/* ---- the operator ---------------------------------------------------------------------------- */

/* Arguments into c; the tensors after all[0] and the sizes they are broadcast to. */
static ctsc_status eval_arguments(op_ctx *cx, eval_call *c, const value *args, tensor **all,
                                  int *ndim, int64_t *sizes) {
    promotion met = PROMOTION_INIT;
    int n = 0;
    *ndim = 0;
    for (int i = 0; i < c->text->nargs; i++) {
        if (args[i].tag != V_TENSOR) {
            if (args[i].tag == V_COMPLEX)
                return diag_fail(cx->diag, CTSC_FAILED, "%s: a complex number for '%s'",
                                 cx->op->key, cx->op->schema->args[i].name);
            c->numbers[i] = arg_float(&args[i]);
            continue;
        }
        tensor *t = args[i].u.tensor;
        if (!eval_reads_f32[t->dtype]) /* complex or quantised */
            return diag_fail(cx->diag, CTSC_FAILED, "\"%s\" not implemented for '%s'", cx->op->key,
                             dtype_table[t->dtype].ir_name);
        c->dtypes[i] = (dtype)t->dtype;
        c->operand[i] = ++n;
        all[n] = t;
        promotion_add(&met, (dtype)t->dtype, t->ndim > 0 ? OPERAND_TENSOR : OPERAND_ZERO_DIM);
        TRY(broadcast_sizes(cx->diag, *ndim, sizes, t->ndim, t->sizes, ndim, sizes));
    }
    c->result = promotion_result(&met);
    if (dtype_is_integral(c->result)) c->result = DT_FLOAT32;
    c->type = c->result == DT_FLOAT64 ? &eval_f64 : &eval_f32;
    return CTSC_OK;
}

ctsc_status op_scalar_eval(op_ctx *cx, const value *args, value *results) {
    eval_call c = {.text = cx->op->scalar};
    tensor *all[SCALAR_MAX_TENSORS + 1];
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim;
    TRY(eval_arguments(cx, &c, args, all, &ndim, sizes));
    int64_t strides[TENSOR_MAX_DIMS];
    broadcast_strides(ndim, sizes, c.text->ntensors, all + 1, strides);
    TRY(tensor_new_strided(cx->diag, DEVICE_HOST, c.result, ndim, sizes, strides, &all[0]));
    iter_run(ndim, sizes, c.text->ntensors + 1, all, eval_kernel, &c, 0);
    return op_return_tensor(results, all[0]);
}
