/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - what operator functions share: reading arguments, returning results, promotion, and
 * turning one functional definition into its in-place and out= forms.
 *
 * A kernel never checks the tag of an argument whose type the schema fixes: the compiler did. It
 * checks everything else (dims, shapes, dtypes) and words its errors as PyTorch does.
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_KERNEL_H
#define CTSC_RUNTIME_KERNELS_ENGINE_KERNEL_H

#include "base/memory/unbacked.h"
#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"
#include "cpu/vector.h"
#include "ir/op/op.h"
#include "runtime/context/runtime.h"
#include "tensor/iter.h"
#include "tensor/strides.h"

/* ---- arguments (borrowed) -------------------------------------------------------------------- */

/* Dim `dim` of t, which may count from the end, where a 0-dim t has none. */
ctsc_status op_wrap_dim(op_ctx *cx, const tensor *t, int64_t dim, int *out);

static inline tensor *arg_tensor(const value *v) { return v->u.tensor; }
static inline tensor *arg_tensor_or_null(
    const value *v) { /* Tensor? ; an undefined tensor is None */
    return v->tag == V_TENSOR ? v->u.tensor : NULL;
}
static inline int64_t arg_int(const value *v) { return v->tag == V_BOOL ? v->u.b : v->u.i; }
static inline int64_t arg_int_or(const value *v, int64_t other) {
    return v->tag == V_NONE ? other : arg_int(v);
}
static inline bool arg_bool(const value *v) { return v->tag == V_BOOL ? v->u.b : v->u.i != 0; }
/* float or Scalar argument as a double; of a complex number, the real part */
static inline double arg_float(const value *v) {
    return v->tag == V_FLOAT     ? v->u.f
           : v->tag == V_INT     ? (double)v->u.i
           : v->tag == V_COMPLEX ? v->u.complex->re
                                 : (double)v->u.b;
}
static inline bool arg_is_none(const value *v) { return v->tag == V_NONE; }
static inline dtype arg_dtype_or(const value *v, dtype other) { /* ScalarType? */
    return v->tag == V_NONE ? other : (dtype)v->u.i;
}
/* dtype argument from a program: checked. */
ctsc_status arg_dtype(op_ctx *cx, const value *v, dtype other, dtype *out);
/* MemoryFormat? argument; numbers that denote none give other, as in PyTorch. */
memory_format arg_format(const value *v, memory_format other);

/* ---- limits (base/threads/limits.h) ---------------------------------------------------------- */

/* Before an operator's loop of this many iterations where no tensor's size bounds them. */
static inline ctsc_status op_charge(op_ctx *cx, int64_t iterations) {
    return geometry_only() || limits_charge((uint64_t)iterations) ? CTSC_OK : limits_fail(cx->diag);
}
/* In a loop over many elements, where pool_for_limited is not used: whether it may go on, asked
 * every OP_CHUNK iterations. */
enum { OP_CHUNK = 1 << 14 };
static inline ctsc_status op_go_on(op_ctx *cx, int64_t i) {
    return i % OP_CHUNK == 0 && limits_stop() ? limits_fail(cx->diag) : CTSC_OK;
}
/* for (int64_t i = 0; i < n; i++), in chunks of OP_CHUNK between which it asks: a failing one
 * leaves the calling function. */
#define OP_LOOP(cx, i, n, ...)                                                                     \
    for (int64_t i##_begin = geometry_only() ? (n) : 0; i##_begin < (n); i##_begin += OP_CHUNK) {  \
        int64_t i##_end = (n) - i##_begin < OP_CHUNK ? (n) : i##_begin + OP_CHUNK;                 \
        TRY(op_go_on(cx, i##_begin));                                                              \
        for (int64_t i = i##_begin; i < i##_end; i++) __VA_ARGS__                                  \
    }
/* pool_for for what may take long: fails where a limit came between. */
static inline ctsc_status op_for(op_ctx *cx, int64_t n, int64_t grain,
                                 void (*fn)(void *ctx, int64_t begin, int64_t end), void *ctx) {
    return pool_for_limited(n, grain, fn, ctx) ? CTSC_OK : limits_fail(cx->diag);
}

/* ---- results --------------------------------------------------------------------------------- */

static inline ctsc_status op_return(value *results, value v) {
    results[0] = v;
    return CTSC_OK;
}
static inline ctsc_status op_return_tensor(value *results, tensor *t) { /* takes t */
    return op_return(results, value_tensor_take(t));
}
static inline ctsc_status op_return_self(value *results,
                                         const value *self) { /* in-place operators */
    return op_return(results, value_ref(*self));
}
/* "... not implemented for 'Half'": CTSC_UNSUPPORTED for dtypes ctsc lacks, in PyTorch's words:
 * "\"name\" not implemented for 'Half'" with CTSC_FAILED for those PyTorch refuses as well. */
ctsc_status op_refuse_dtype(op_ctx *cx, const char *name, dtype dt);

/* ---- one definition, three forms ------------------------------------------------------------- */

/* self.op_(...): computed holds the functional result; copied into self (shape must equal self's
 * after broadcasting, dtype must be castable: "result type Float can't be cast to the desired
 * output type Long"). Takes computed. */
ctsc_status op_finish_inplace(op_ctx *cx, const value *self, tensor *computed, value *results);
/* op(..., out=o): resizes o if its shape differs, checks its dtype, copies. Takes computed. */
ctsc_status op_finish_out(op_ctx *cx, const value *out, tensor *computed, value *results);
ctsc_status op_refuse_out_dtype(op_ctx *cx, dtype want, const tensor *out);
/* Finishes by the overload being run: schema with a written `self` as first argument -> in-place;
 * with an `out` argument -> out form; else returns computed. One function then serves all overloads
 * that agree in their leading arguments. */
ctsc_status op_finish(op_ctx *cx, const value *args, tensor *computed, value *results);
/* t.resize_(sizes): contiguous, keeping the handle. New elements are uninitialised. */
ctsc_status tensor_resize(diag *d, tensor *t, int ndim, const int64_t *sizes);

/* ---- promotion (torch.result_type) ----------------------------------------------------------- */

/* Operands may be tensors or numbers; 0-dim tensors and numbers matter only if their category (bool
 * < int < float < complex) is higher. */
dtype promote_operands(int n, const value *operands);
/* An operand (tensor or number) as a tensor of dtype dt: a reference to itself, a converted copy,
 * or a 0-dim tensor. */
ctsc_status operand_to_tensor(op_ctx *cx, const value *operand, dtype dt, tensor **out);

/* Reads all dims of an int[] argument. NULL-safe for None: n = 0. */
static inline int arg_ints(const value *v, const int64_t **data) {
    if (v->tag != V_LIST) return *data = NULL, 0;
    *data = v->u.list->u.ints;
    return (int)v->u.list->len;
}
/* The element of a tensor of one, wherever it is. */
ctsc_status op_read_int(op_ctx *cx, tensor *t, int64_t *out);
/* Reduction dims: wraps, refuses duplicates, fills mask[TENSOR_MAX_DIMS]; an empty or absent list
 * means all dims. */
ctsc_status arg_dim_mask(op_ctx *cx, const value *dims, int ndim, bool *mask);

/* The tensor the overload being run writes to (`self` of an in-place form, `out`), and which
 * argument that is; NULL for a functional overload. Pointwise kernels write there at once where
 * they may. */
tensor *op_target(const op_ctx *cx, const value *args, int *index);
/* "output with shape [3] doesn't match the broadcast shape [2, 3]" unless self has that shape. */
ctsc_status op_check_inplace_shape(op_ctx *cx, const tensor *self, int ndim, const int64_t *sizes);
/* May values of dtype `from` be written to a tensor of dtype `to` (torch.can_cast)? */
bool dtype_can_cast(dtype from, dtype to);
/* Does writing t while reading other need a copy in between? True if they share elements at
 * differing positions. */
bool tensor_partial_overlap(const tensor *t, const tensor *other);
ctsc_status op_refuse_partial_overlap(op_ctx *cx);

/* ---- one body, all dtypes -------------------------------------------------------------------- */

/*
 *     DISPATCH_REAL(dt, cx, "name", {
 *         const T *p = tensor_data(a);
 *         T *q = tensor_data(b);
 *         ACC sum = 0;
 *         for (int64_t i = 0; i < n; i++) sum += LOAD(p[i]);
 *         STORE(q, sum);
 *     });
 *
 * T is the element's C type and ACC the type to compute in: T itself, or float for half and
 * bfloat16. LOAD(x) turns an element into an ACC, STORE(p, v) writes an ACC. A dtype that is not
 * covered ends the calling function with op_refuse_dtype. The body must not `break` out of the
 * switch; it may return.
 *
 *     DISPATCH_REAL    all integers, double, float, half, bfloat16
 *     DISPATCH_ALL     the same and bool (T is uint8_t, ACC is bool: stores give 0 or 1)
 *     DISPATCH_FLOAT   double, float, half, bfloat16
 *     DISPATCH_WIDE    double, float
 *     DISPATCH_INT     the integers
 *     DISPATCH_BITS    any dtype by size alone, for moving elements (no LOAD and STORE)
 */
#define DISPATCH_CASE_(dt_, T_, ACC_, ...)                                                         \
    case dt_: {                                                                                    \
        typedef T_ T;                                                                              \
        typedef ACC_ ACC;                                                                          \
        (void)sizeof(T), (void)sizeof(ACC);                                                        \
        __VA_ARGS__                                                                                \
    } break;
#define DISPATCH_INT_CASES_(...)                                                                   \
    DISPATCH_CASE_(DT_UINT8, uint8_t, uint8_t, __VA_ARGS__)                                        \
    DISPATCH_CASE_(DT_INT8, int8_t, int8_t, __VA_ARGS__)                                           \
    DISPATCH_CASE_(DT_INT16, int16_t, int16_t, __VA_ARGS__)                                        \
    DISPATCH_CASE_(DT_INT32, int32_t, int32_t, __VA_ARGS__)                                        \
    DISPATCH_CASE_(DT_INT64, int64_t, int64_t, __VA_ARGS__)
#define DISPATCH_WIDE_CASES_(...)                                                                  \
    DISPATCH_CASE_(DT_FLOAT32, float, float, __VA_ARGS__)                                          \
    DISPATCH_CASE_(DT_FLOAT64, double, double, __VA_ARGS__)
#define DISPATCH_FLOAT_CASES_(...)                                                                 \
    DISPATCH_WIDE_CASES_(__VA_ARGS__)                                                              \
    DISPATCH_CASE_(DT_FLOAT16, float16, float, __VA_ARGS__)                                        \
    DISPATCH_CASE_(DT_BFLOAT16, bfloat16, float, __VA_ARGS__)
#define DISPATCH_(dt, cx, name, ...)                                                               \
    switch ((dtype)(dt)) {                                                                         \
        __VA_ARGS__                                                                                \
    default: return op_refuse_dtype(cx, name, (dtype)(dt));                                        \
    }

#define DISPATCH_REAL(dt, cx, name, ...)                                                           \
    DISPATCH_(dt, cx, name, DISPATCH_INT_CASES_(__VA_ARGS__) DISPATCH_FLOAT_CASES_(__VA_ARGS__))
#define DISPATCH_ALL(dt, cx, name, ...)                                                            \
    DISPATCH_(dt, cx, name,                                                                        \
              DISPATCH_INT_CASES_(__VA_ARGS__) DISPATCH_FLOAT_CASES_(__VA_ARGS__)                  \
                  DISPATCH_CASE_(DT_BOOL, uint8_t, bool, __VA_ARGS__))
#define DISPATCH_FLOAT(dt, cx, name, ...)                                                          \
    DISPATCH_(dt, cx, name, DISPATCH_FLOAT_CASES_(__VA_ARGS__))
#define DISPATCH_WIDE(dt, cx, name, ...) DISPATCH_(dt, cx, name, DISPATCH_WIDE_CASES_(__VA_ARGS__))
#define DISPATCH_INT(dt, cx, name, ...) DISPATCH_(dt, cx, name, DISPATCH_INT_CASES_(__VA_ARGS__))
#define DISPATCH_BITS(dt, ...)                                                                     \
    switch (dtype_size((dtype)(dt))) {                                                             \
        DISPATCH_CASE_(1, uint8_t, uint8_t, __VA_ARGS__)                                           \
        DISPATCH_CASE_(2, uint16_t, uint16_t, __VA_ARGS__)                                         \
        DISPATCH_CASE_(4, uint32_t, uint32_t, __VA_ARGS__)                                         \
        DISPATCH_CASE_(8, uint64_t, uint64_t, __VA_ARGS__)                                         \
        DISPATCH_CASE_(16, complex128, complex128, __VA_ARGS__)                                    \
    default: break;                                                                                \
    }

/*                   element    computes in */
#define KERNEL_PLAIN_TYPES(X)                                                                      \
    X(uint8_t) X(int8_t) X(int16_t) X(int32_t) X(int64_t) X(float) X(double)
#define KERNEL_LOAD_STORE(T)                                                                       \
    static inline T kernel_load_##T(T v) { return v; }                                             \
    static inline void kernel_store_##T(T *p, T v) { *p = v; }
KERNEL_PLAIN_TYPES(KERNEL_LOAD_STORE)
#undef KERNEL_LOAD_STORE
static inline void kernel_store_float16(float16 *p, float v) { *p = float16_from_float(v); }
static inline void kernel_store_bfloat16(bfloat16 *p, float v) { *p = bfloat16_from_float(v); }

#define KERNEL_GENERIC_(x, verb)                                                                   \
    _Generic((x),                                                                                  \
        uint8_t: kernel_##verb##_uint8_t,                                                          \
        int8_t: kernel_##verb##_int8_t,                                                            \
        int16_t: kernel_##verb##_int16_t,                                                          \
        int32_t: kernel_##verb##_int32_t,                                                          \
        int64_t: kernel_##verb##_int64_t,                                                          \
        float: kernel_##verb##_float,                                                              \
        double: kernel_##verb##_double,                                                            \
        float16: kernel_##verb##_float16,                                                          \
        bfloat16: kernel_##verb##_bfloat16)
/* clang-format off */
#define kernel_load_float16  float16_to_float
#define kernel_load_bfloat16 bfloat16_to_float
#define LOAD(x)              KERNEL_GENERIC_(x, load)(x)
#define STORE(p, v)          KERNEL_GENERIC_(*(p), store)((p), (v))
/* clang-format on */

#endif
