/* SPDX-License-Identifier: Apache-2.0 */
/*
 * combine.c - the inner loops that set, add to, multiply, raise or lower elements: along a line,
 * and through an index.
 *
 * Each dtype's arithmetic is given by a row of COMBINE_TYPES: how an element becomes a number to
 * compute with, how it is stored again, and its sum and product. COMBINE expands a row and an
 * operation to the two loops of a move_kernel.
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/engine/move.h"

typedef struct move16 {
    uint64_t w[2];
} move16;

/* ---- copying, by element size ---------------------------------------------------------------- */

#define T uint8_t
#define NAME(x) x##_1
#include "runtime/kernels/engine/combine_copy.h"

#define T uint16_t
#define NAME(x) x##_2
#include "runtime/kernels/engine/combine_copy.h"

#define T uint32_t
#define NAME(x) x##_4
#include "runtime/kernels/engine/combine_copy.h"

#define T uint64_t
#define NAME(x) x##_8
#include "runtime/kernels/engine/combine_copy.h"

#define T move16
#define NAME(x) x##_16
#include "runtime/kernels/engine/combine_copy.h"

move_scatter move_gather_for(size_t item) {
    switch (item) {
    case 1: return combine_gather_1;
    case 2: return combine_gather_2;
    case 4: return combine_gather_4;
    case 8: return combine_gather_8;
    default: return combine_gather_16;
    }
}

static move_kernel combine_copy(size_t item) {
    switch (item) {
    case 1: return (move_kernel){combine_run_1, combine_scatter_1};
    case 2: return (move_kernel){combine_run_2, combine_scatter_2};
    case 4: return (move_kernel){combine_run_4, combine_scatter_4};
    case 8: return (move_kernel){combine_run_8, combine_scatter_8};
    default: return (move_kernel){combine_run_16, combine_scatter_16};
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static inline complex64 combine_add_c64(complex64 a, complex64 b) {
    return (complex64){a.re + b.re, a.im + b.im};
}
static inline complex64 combine_mul_c64(complex64 a, complex64 b) {
    return (complex64){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline complex128 combine_add_c128(complex128 a, complex128 b) {
    return (complex128){a.re + b.re, a.im + b.im};
}
static inline complex128 combine_mul_c128(complex128 a, complex128 b) {
    return (complex128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

#define SAME(x) (x)
#define WRAP_ADD(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define WRAP_MUL(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define PLAIN_ADD(a, b) ((a) + (b))
#define PLAIN_MUL(a, b) ((a) * (b))
#define LOGIC_OR(a, b) ((a) | (b))
#define LOGIC_AND(a, b) ((a) & (b))
#define TRUTH(x) ((x) != 0)
/* NaN wins: x != x holds for NaN alone. */
#define PICK_MAX(a, b) ((a) != (a) || (a) >= (b) ? (a) : (b))
#define PICK_MIN(a, b) ((a) != (a) || (a) <= (b) ? (a) : (b))

/*    suffix  element    computes in  load               store                sum       product */
/* clang-format off */
#define COMBINE_REAL_TYPES(X)                                                                      \
    X(u8,   uint8_t,   int64_t,  SAME,              (uint8_t),           WRAP_ADD,  WRAP_MUL)      \
    X(i8,   int8_t,    int64_t,  SAME,              (int8_t),            WRAP_ADD,  WRAP_MUL)      \
    X(i16,  int16_t,   int64_t,  SAME,              (int16_t),           WRAP_ADD,  WRAP_MUL)      \
    X(i32,  int32_t,   int64_t,  SAME,              (int32_t),           WRAP_ADD,  WRAP_MUL)      \
    X(i64,  int64_t,   int64_t,  SAME,              (int64_t),           WRAP_ADD,  WRAP_MUL)      \
    X(b,    uint8_t,   int64_t,  TRUTH,             (uint8_t),           LOGIC_OR,  LOGIC_AND)     \
    X(f16,  float16,   float,    float16_to_float,  float16_from_float,  PLAIN_ADD, PLAIN_MUL)     \
    X(bf16, bfloat16,  float,    bfloat16_to_float, bfloat16_from_float, PLAIN_ADD, PLAIN_MUL)     \
    X(f32,  float,     float,    SAME,              (float),             PLAIN_ADD, PLAIN_MUL)     \
    X(f64,  double,    double,   SAME,              (double),            PLAIN_ADD, PLAIN_MUL)
/* clang-format on */

#define COMBINE(name, T, C, load, store, OP)                                                       \
    static void combine_run_##name(int64_t n, char *dst, int64_t ds, const char *src,              \
                                   int64_t ss) {                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T *to = (T *)(dst + i * ds);                                                           \
            C a = load(*to), b = load(*(const T *)(src + i * ss));                                 \
            *to = store(OP(a, b));                                                                 \
        }                                                                                          \
    }                                                                                              \
    static void combine_scatter_##name(int64_t n, char *dst, int64_t ds, const char *index,        \
                                       int64_t is, int64_t scale, const char *src, int64_t ss) {   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T *to = (T *)(dst + i * ds + *(const int64_t *)(index + i * is) * scale);              \
            C a = load(*to), b = load(*(const T *)(src + i * ss));                                 \
            *to = store(OP(a, b));                                                                 \
        }                                                                                          \
    }

#define COMBINE_REAL(s, T, C, load, store, add, mul)                                               \
    COMBINE(add_##s, T, C, load, store, add)                                                       \
    COMBINE(mul_##s, T, C, load, store, mul)                                                       \
    COMBINE(max_##s, T, C, load, store, PICK_MAX)                                                  \
    COMBINE(min_##s, T, C, load, store, PICK_MIN)
COMBINE_REAL_TYPES(COMBINE_REAL)

COMBINE(add_c64, complex64, complex64, SAME, SAME, combine_add_c64)
COMBINE(mul_c64, complex64, complex64, SAME, SAME, combine_mul_c64)
COMBINE(add_c128, complex128, complex128, SAME, SAME, combine_add_c128)
COMBINE(mul_c128, complex128, complex128, SAME, SAME, combine_mul_c128)

#define COMBINE_ENTRY(name) {combine_run_##name, combine_scatter_##name}
#define COMBINE_ROW(s)                                                                             \
    {{NULL, NULL},                                                                                 \
     COMBINE_ENTRY(add_##s),                                                                       \
     COMBINE_ENTRY(mul_##s),                                                                       \
     COMBINE_ENTRY(max_##s),                                                                       \
     COMBINE_ENTRY(min_##s)}
#define COMBINE_COMPLEX_ROW(s) {{NULL, NULL}, COMBINE_ENTRY(add_##s), COMBINE_ENTRY(mul_##s)}

static const move_kernel combine_table[DT_COMPUTED][MOVE_MIN + 1] = {
    [DT_UINT8] = COMBINE_ROW(u8),
    [DT_INT8] = COMBINE_ROW(i8),
    [DT_INT16] = COMBINE_ROW(i16),
    [DT_INT32] = COMBINE_ROW(i32),
    [DT_INT64] = COMBINE_ROW(i64),
    [DT_BOOL] = COMBINE_ROW(b),
    [DT_FLOAT16] = COMBINE_ROW(f16),
    [DT_BFLOAT16] = COMBINE_ROW(bf16),
    [DT_FLOAT32] = COMBINE_ROW(f32),
    [DT_FLOAT64] = COMBINE_ROW(f64),
    [DT_COMPLEX64] = COMBINE_COMPLEX_ROW(c64),
    [DT_COMPLEX128] = COMBINE_COMPLEX_ROW(c128),
};

move_kernel move_kernel_for(move_op op, dtype dt) {
    return op == MOVE_SET ? combine_copy(dtype_size(dt)) : combine_table[dt][op];
}
