/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.c - reductions of elements of any dtype (dist_fold).
 *
 * Method. Elements are folded in blocks: the first input's block is widened to the type that is
 * computed in, the others are folded into it one after the other, and the result is narrowed. Only
 * 16-bit floats have a wider type. So their sum is rounded once, however many ranks there are.
 * An average is the sum divided by the number of inputs, integers rounded towards zero. A bool is 0
 * or 1, sums and maxima of bools are "or", products and minima "and". NaN wins over every number,
 * as in aten::maximum.
 */
#include "distributed/dist.h"

#include "cpu/convert/half.h"

#include <string.h>

enum { FOLD_BLOCK = 1024 };

typedef struct complex64 { float re, im; } complex64;
typedef struct complex128 { double re, im; } complex128;

typedef struct fold_dtype {
    int dtype;
    size_t bytes;
    const char *name;
    char kind; /* 'b', 'i': also bitwise; 'f', 'c'; 'm': moved only */
} fold_dtype;

static const fold_dtype fold_dtypes[] = {
    {CTSC_UINT8, 1, "uint8", 'i'},
    {CTSC_INT8, 1, "int8", 'i'},
    {CTSC_INT16, 2, "int16", 'i'},
    {CTSC_INT32, 4, "int32", 'i'},
    {CTSC_INT64, 8, "int64", 'i'},
    {CTSC_FLOAT16, 2, "float16", 'f'},
    {CTSC_FLOAT32, 4, "float32", 'f'},
    {CTSC_FLOAT64, 8, "float64", 'f'},
    {CTSC_COMPLEX64, 8, "complex64", 'c'},
    {CTSC_COMPLEX128, 16, "complex128", 'c'},
    {CTSC_BOOL, 1, "bool", 'b'},
    {CTSC_BFLOAT16, 2, "bfloat16", 'f'},
    {CTSC_FLOAT8_E5M2, 1, "float8_e5m2", 'm'},
    {CTSC_FLOAT8_E4M3FN, 1, "float8_e4m3fn", 'm'},
    {CTSC_FLOAT8_E5M2FNUZ, 1, "float8_e5m2fnuz", 'm'},
    {CTSC_FLOAT8_E4M3FNUZ, 1, "float8_e4m3fnuz", 'm'},
    {CTSC_UINT16, 2, "uint16", 'i'},
    {CTSC_UINT32, 4, "uint32", 'i'},
    {CTSC_UINT64, 8, "uint64", 'i'},
    {CTSC_FLOAT8_E8M0FNU, 1, "float8_e8m0fnu", 'm'},
};

static const fold_dtype *fold_find(int dtype) {
    for (size_t i = 0; i < sizeof fold_dtypes / sizeof *fold_dtypes; i++)
        if (fold_dtypes[i].dtype == dtype) return &fold_dtypes[i];
    return NULL;
}

size_t dist_dtype_bytes(int dtype) {
    const fold_dtype *d = fold_find(dtype);
    return d ? d->bytes : 0;
}

const char *dist_dtype_name(int dtype) {
    const fold_dtype *d = fold_find(dtype);
    return d ? d->name : "?";
}

bool dist_can_fold(int dtype, ctsc_dist_reduce op, ctsc_dist_error *e) {
    static const char *const names[] = {"SUM", "AVG",  "PRODUCT", "MIN",
                                        "MAX", "BAND", "BOR",     "BXOR"};
    const fold_dtype *d = fold_find(dtype);
    bool bitwise = op >= CTSC_DIST_BAND, ordered = op == CTSC_DIST_MIN || op == CTSC_DIST_MAX;
    if ((unsigned)op > CTSC_DIST_BXOR)
        dist_fail(e, CTSC_USAGE, "there is no such reduction: %d", (int)op);
    else if (!d || d->kind == 'm')
        dist_fail(e, CTSC_UNSUPPORTED, "elements of %s cannot be reduced", dist_dtype_name(dtype));
    else if (bitwise && d->kind != 'i' && d->kind != 'b')
        dist_fail(e, CTSC_USAGE, "Cannot use ReduceOp.%s with non-integral dtype", names[op]);
    else if (ordered && d->kind == 'c')
        dist_fail(e, CTSC_USAGE, "ReduceOp.%s is not defined for complex elements", names[op]);
    else return true;
    return false;
}

/* ---- one pair of blocks ---------------------------------------------------------------------- */

#define FOLD_LOOP(expression)                                                                      \
    for (size_t i = 0; i < n; i++) {                                                               \
        a[i] = (expression);                                                                       \
    }                                                                                              \
    break

/* acc[i] = acc[i] op x[i], of one type. Sums of integers wrap around. */
#define FOLD_REAL(name, type, wrap)                                                                \
    static bool name##_arithmetic(type *restrict a, const type *restrict b, size_t n,              \
                                  ctsc_dist_reduce op) {                                           \
        switch (op) {                                                                              \
        case CTSC_DIST_SUM:                                                                        \
        case CTSC_DIST_AVG: FOLD_LOOP((type)((wrap)a[i] + (wrap)b[i]));                            \
        case CTSC_DIST_PRODUCT: FOLD_LOOP((type)((wrap)a[i] * (wrap)b[i]));                        \
        case CTSC_DIST_MIN: FOLD_LOOP(a[i] != a[i] || a[i] < b[i] ? a[i] : b[i]);                  \
        case CTSC_DIST_MAX: FOLD_LOOP(a[i] != a[i] || a[i] > b[i] ? a[i] : b[i]);                  \
        default: return false;                                                                     \
        }                                                                                          \
        return true;                                                                               \
    }
#define FOLD_INTEGER(name, type, wrap)                                                             \
    FOLD_REAL(name, type, wrap)                                                                    \
    static void fold_##name(void *acc, const void *x, size_t n, ctsc_dist_reduce op) {             \
        type *restrict a = acc;                                                                    \
        const type *restrict b = x;                                                                \
        if (name##_arithmetic(a, b, n, op)) return;                                                \
        switch (op) {                                                                              \
        case CTSC_DIST_BAND: FOLD_LOOP(a[i] & b[i]);                                               \
        case CTSC_DIST_BOR: FOLD_LOOP(a[i] | b[i]);                                                \
        default: FOLD_LOOP(a[i] ^ b[i]);                                                           \
        }                                                                                          \
    }
#define FOLD_FLOAT(name, type)                                                                     \
    FOLD_REAL(name, type, type)                                                                    \
    static void fold_##name(void *acc, const void *x, size_t n, ctsc_dist_reduce op) {             \
        name##_arithmetic(acc, x, n, op);                                                          \
    }

FOLD_INTEGER(u8, uint8_t, uint32_t)
FOLD_INTEGER(i8, int8_t, uint32_t)
FOLD_INTEGER(u16, uint16_t, uint32_t)
FOLD_INTEGER(i16, int16_t, uint32_t)
FOLD_INTEGER(u32, uint32_t, uint32_t)
FOLD_INTEGER(i32, int32_t, uint32_t)
FOLD_INTEGER(u64, uint64_t, uint64_t)
FOLD_INTEGER(i64, int64_t, uint64_t)
FOLD_FLOAT(f32, float)
FOLD_FLOAT(f64, double)

#define FOLD_COMPLEX(name, type)                                                                   \
    static void fold_##name(void *acc, const void *x, size_t n, ctsc_dist_reduce op) {             \
        type *restrict a = acc;                                                                    \
        const type *restrict b = x;                                                                \
        if (op == CTSC_DIST_PRODUCT)                                                               \
            for (size_t i = 0; i < n; i++)                                                         \
                a[i] = (type){a[i].re * b[i].re - a[i].im * b[i].im,                               \
                              a[i].re * b[i].im + a[i].im * b[i].re};                              \
        else                                                                                       \
            for (size_t i = 0; i < n; i++) a[i].re += b[i].re, a[i].im += b[i].im;                 \
    }
FOLD_COMPLEX(c64, complex64)
FOLD_COMPLEX(c128, complex128)

static void fold_bool(void *acc, const void *x, size_t n, ctsc_dist_reduce op) {
    bool all = op == CTSC_DIST_PRODUCT || op == CTSC_DIST_MIN || op == CTSC_DIST_BAND;
    fold_u8(acc, x, n, all ? CTSC_DIST_BAND : op == CTSC_DIST_BXOR ? op : CTSC_DIST_BOR);
}

typedef void (*fold_function)(void *acc, const void *x, size_t n, ctsc_dist_reduce op);

static fold_function fold_of(int dtype) {
    switch (dtype) {
    case CTSC_UINT8: return fold_u8;
    case CTSC_INT8: return fold_i8;
    case CTSC_INT16: return fold_i16;
    case CTSC_UINT16: return fold_u16;
    case CTSC_INT32: return fold_i32;
    case CTSC_UINT32: return fold_u32;
    case CTSC_INT64: return fold_i64;
    case CTSC_UINT64: return fold_u64;
    case CTSC_FLOAT64: return fold_f64;
    case CTSC_COMPLEX64: return fold_c64;
    case CTSC_COMPLEX128: return fold_c128;
    case CTSC_BOOL: return fold_bool;
    default: return fold_f32; /* and what is widened to it */
    }
}

/* ---- averages -------------------------------------------------------------------------------- */

#define FOLD_DIVIDE(type)                                                                          \
    do {                                                                                           \
        type *a = acc;                                                                             \
        for (size_t i = 0; i < count; i++) a[i] = (type)(a[i] / (type)n);                          \
    } while (0)

static void fold_divide(void *acc, size_t count, int dtype, int n) {
    switch (dtype) {
    case CTSC_BOOL: return;
    case CTSC_UINT8: FOLD_DIVIDE(uint8_t); return;
    case CTSC_INT8: FOLD_DIVIDE(int8_t); return;
    case CTSC_UINT16: FOLD_DIVIDE(uint16_t); return;
    case CTSC_INT16: FOLD_DIVIDE(int16_t); return;
    case CTSC_UINT32: FOLD_DIVIDE(uint32_t); return;
    case CTSC_INT32: FOLD_DIVIDE(int32_t); return;
    case CTSC_UINT64: FOLD_DIVIDE(uint64_t); return;
    case CTSC_INT64: FOLD_DIVIDE(int64_t); return;
    case CTSC_COMPLEX64:
        count *= 2;
        FOLD_DIVIDE(float);
        return;
    case CTSC_COMPLEX128:
        count *= 2;
        FOLD_DIVIDE(double);
        return;
    case CTSC_FLOAT64: FOLD_DIVIDE(double); return;
    default: FOLD_DIVIDE(float); return;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* A block in the type that is computed in: x itself, or widened into room. */
static const void *fold_widen(const void *x, size_t n, int dtype, float *room) {
    if (dtype == CTSC_FLOAT16) return float16_to_floats(x, room, n), room;
    if (dtype == CTSC_BFLOAT16) return bfloat16_to_floats(x, room, n), room;
    return x;
}

static void fold_narrow(void *out, const void *acc, size_t n, int dtype) {
    if (dtype == CTSC_FLOAT16) float16_from_floats(acc, out, n);
    else if (dtype == CTSC_BFLOAT16) bfloat16_from_floats(acc, out, n);
    else memcpy(out, acc, n * dist_dtype_bytes(dtype));
}

void dist_fold(void *out, const void *const *in, int n, size_t count, int dtype,
               ctsc_dist_reduce op) {
    _Alignas(DIST_WIDEST) char acc[FOLD_BLOCK * DIST_WIDEST];
    float room[FOLD_BLOCK];
    size_t bytes = dist_dtype_bytes(dtype);
    fold_function fold = fold_of(dtype);
    bool wide = dtype == CTSC_FLOAT16 || dtype == CTSC_BFLOAT16;
    for (size_t at = 0; at < count; at += FOLD_BLOCK) {
        size_t m = count - at < FOLD_BLOCK ? count - at : FOLD_BLOCK;
        const char *first = (const char *)in[0] + at * bytes;
        if (wide) fold_widen(first, m, dtype, (float *)acc);
        else memcpy(acc, first, m * bytes);
        for (int k = 1; k < n; k++)
            fold(acc, fold_widen((const char *)in[k] + at * bytes, m, dtype, room), m, op);
        if (op == CTSC_DIST_AVG) fold_divide(acc, m, dtype, n);
        fold_narrow((char *)out + at * bytes, acc, m, dtype);
    }
}
