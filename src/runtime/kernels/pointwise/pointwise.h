/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise.h - the engine of the pointwise operators: operands, outputs, and the loop
 * templates.
 *
 * An operator is a pw_op: one loop per dtype it computes in, and how its dtypes are found. pw_run
 * brings the operands to the computing dtype (numbers and 0-dim tensors without allocating), finds
 * the output (a fresh tensor, or self or out where writing there at once is safe) and lets iter_run
 * call the loop.
 *
 * The loops are macros over the functions of ir/scalar/scalar_ops.h and
 * ir/scalar/scalar_ops_complex.h. Each has a form for contiguous operands, one for each operand
 * that stays the same, and a strided one; the first ones become vector code.
 */
#ifndef CTSC_RUNTIME_KERNELS_POINTWISE_POINTWISE_H
#define CTSC_RUNTIME_KERNELS_POINTWISE_POINTWISE_H

#include "cpu/isa.h"
#include "cpu/vector.h"
#include "ir/scalar/scalar_ops_complex.h"
#include "runtime/kernels/engine/kernel.h"

/* In-place operands may coincide with the output, element by element; nothing else overlaps. */
#ifdef __clang__
#define PW_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define PW_IVDEP _Pragma("GCC ivdep")
#endif

/* The vector form of a loop is for processors with AVX2; others take single elements. Where
 * the compiler's target is another one, its vectors do. Without FMA, which no loop has:
 * code is smaller. */
#if defined(__x86_64__) && defined(__GNUC__)
#define PW_VECTOR VECTOR_LOOPS __attribute__((target("avx2")))
static inline bool pw_has_vectors(void) { return isa_has(ISA_AVX2); }
#else
#define PW_VECTOR VECTOR_LOOPS
static inline bool pw_has_vectors(void) { return true; }
#endif
/* Functions that have no form for single elements. */
#define PW_CLONES VECTOR_CLONES

enum { PW_MAX_OPERANDS = 4, PW_MAX_INPUTS = 3, PW_MAX_NUMBERS = 4 };

/* The numbers of an operator (slope, alpha, bounds): f for real computing dtypes, i for integer
 * ones, c for complex ones. */
typedef struct pw_numbers {
    double f[PW_MAX_NUMBERS];
    int64_t i[PW_MAX_NUMBERS];
    complex128 c[PW_MAX_NUMBERS];
} pw_numbers;

typedef enum pw_kind {
    PW_SAME,    /* computes in the promoted dtype and returns it */
    PW_REAL,    /* integers are promoted to float32 first */
    PW_TO_BOOL, /* computes in the promoted dtype, returns bool */
    PW_TO_PART, /* computes in the promoted dtype, returns the dtype of a complex one's parts */
} pw_kind;

typedef struct pw_op {
    const char *name; /* as refusals name it: "relu_cpu" */
    pw_kind kind;
    iter_kernel loops[DT_COMPUTED]; /* NULL: refused */
    /* how complex64 and complex128 are refused; NULL: as other dtypes are */
    const char *no_complex;
} pw_op;

/* Operand v (tensor, number) as a tensor of dtype dt. `t` is borrowed, converted, or on the stack.
 */
typedef struct pw_operand {
    tensor *t;
    tensor *given; /* what it was converted from: strides of results follow that; or NULL */
    bool owned;
    tensor scalar; /* a 0-dim tensor without allocations */
    storage scalar_storage;
    _Alignas(16) char scalar_data[16];
} pw_operand;

ctsc_status pw_operand_init(op_ctx *cx, pw_operand *o, const value *v, dtype dt);
void pw_operand_free(pw_operand *o);

/* Runs loop over the broadcast shape of n operands. The output has dtype dt; it is returned or goes
 * where the overload says (op_target). The loop's operand 0 is the output. ctx reaches the loop as
 * it is. */
ctsc_status pw_loop(op_ctx *cx, const value *args, int n, pw_operand *operands, dtype dt,
                    iter_kernel loop, void *ctx, value *results);
/* The common case: op applied to n operands. numbers may be NULL. */
ctsc_status pw_run(op_ctx *cx, const value *args, int n, const value *operands, const pw_op *op,
                   const pw_numbers *numbers, value *results);
/* The dtype of the results of an operator that computes in dt. */
dtype pw_result_dtype(pw_kind kind, dtype dt);
/* The same, computing in dtype dt. */
ctsc_status pw_run_as(op_ctx *cx, const value *args, int n, const value *operands, const pw_op *op,
                      dtype dt, const pw_numbers *numbers, value *results);
/* Operands that are all of one dtype: "expected dtype float for `end` but got dtype double". */
ctsc_status pw_require_same_dtype(op_ctx *cx, const value *a, const value *b, const char *name);
/* ZeroDivisionError if the divisor (number or integer tensor) holds a zero. */
ctsc_status pw_refuse_zero(op_ctx *cx, const value *divisor, dtype dt);
/* "value cannot be converted to type uint8_t without overflow" unless number v fits into dt. */
ctsc_status pw_require_fits(op_ctx *cx, const value *v, dtype dt);
/* The same for a number, or a 0-dim tensor used as one. */
ctsc_status pw_require_fits_value(op_ctx *cx, const value *v, dtype dt);
/* Sets number k, a lower (0) or upper (1) bound of clamp in dtype dt: beyond an integer dtype's end
 * it is that end, and refused where it would leave no number. */
ctsc_status pw_clamp_bound(op_ctx *cx, dtype dt, const value *bound, int k, pw_numbers *numbers);
/* Sets number k from a Scalar argument. */
void pw_number(pw_numbers *n, int k, const value *v);
void pw_number_float(pw_numbers *n, int k, double v);

/* Runs a loop of float over n elements of half or bfloat16 (dt): the inputs are widened and the
 * results rounded in blocks. to_bytes: the results are bytes, which the loop writes itself. */
void pw_half(iter_kernel loop, int inputs, dtype dt, bool to_bytes, void *ctx, int64_t n,
             char *const *p, const int64_t *s);

/* The same of a loop of two inputs whose second one is a number that half has no room for: y stays
 * a float. */
void pw_half_number(iter_kernel loop, dtype dt, float y, int64_t n, char *const *p,
                    const int64_t *s);

/* ---- loop templates -------------------------------------------------------------------------- */

/* A loop function NAME of K inputs. TO, TI: output and input element types. STEP reads x, y, z (TI)
 * and writes through o (TO *). NUMS declares what STEP needs from `numbers`. There are three kinds,
 * since a loop that becomes vector code is large, and a copy of it for each pattern of strides
 * would be what most of the library consists of:
 *
 *   PW_CHEAP_LOOP   vectors, whichever inputs stay the same (pw_chunks), and a loop over single elements for what is left and for gaps
 *   PW_MATH_LOOP    for long expressions: vectors; remainders and strided elements are copied together for them
 *   PW_PLAIN_LOOP   single elements, for what does not become vectors: most functions that call libm
 */
#define PW_PLAIN_LOOP(K, NAME, TO, TI, NUMS, STEP)                                                 \
    static void NAME(void *ctx, int64_t n, char *const *p, const int64_t *s) {                     \
        enum { DONE = 0 };                                                                         \
        PW_NUMBERS(NUMS)                                                                           \
        PW_ELEMENTS(K, TO, TI, STEP, DONE)                                                         \
    }
#define PW_CHEAP_LOOP(K, NAME, TO, TI, NUMS, STEP)                                                 \
    PW_VECTOR static int64_t NAME##_vectors(void *ctx, int64_t n, char *const *p,                  \
                                            const int64_t *s) {                                    \
        PW_NUMBERS(NUMS)                                                                           \
        PW_LAST_SAME##K(TO, TI, STEP) pw_chunks c;                                                 \
        const int64_t done = pw_chunks_begin(&c, PW_SHAPE(K, TO, TI), n, p, s);                    \
        PW_VECTORS(K, TO, TI, STEP)                                                                \
        return done;                                                                               \
    }                                                                                              \
    static void NAME(void *ctx, int64_t n, char *const *p, const int64_t *s) {                     \
        PW_NUMBERS(NUMS)                                                                           \
        const int64_t done = n < PW_LANES(TO) || !pw_has_vectors() ? 0                             \
                                                                   : NAME##_vectors(ctx, n, p, s); \
        PW_ELEMENTS(K, TO, TI, STEP, done)                                                         \
    }
#define PW_MATH_LOOP(K, NAME, TO, TI, NUMS, STEP)                                                  \
    PW_VECTOR static void NAME##_vectors(void *ctx, int64_t n, char *const *p, const int64_t *s) { \
        PW_NUMBERS(NUMS)                                                                           \
        pw_chunks c;                                                                               \
        pw_chunks_begin(&c, PW_SHAPE(K, TO, TI), n, p, s);                                         \
        do {                                                                                       \
            PW_VECTORS(K, TO, TI, STEP)                                                            \
        } while (pw_chunks_rest(&c, PW_SHAPE(K, TO, TI), n, p, s));                                \
    }                                                                                              \
    static void NAME(void *ctx, int64_t n, char *const *p, const int64_t *s) {                     \
        enum { DONE = 0 };                                                                         \
        PW_NUMBERS(NUMS)                                                                           \
        if (pw_has_vectors()) {                                                                    \
            NAME##_vectors(ctx, n, p, s);                                                          \
            return;                                                                                \
        }                                                                                          \
        PW_ELEMENTS(K, TO, TI, STEP, DONE)                                                         \
    }

#define PW_NUMBERS(NUMS)                                                                           \
    const pw_numbers *numbers = ctx;                                                               \
    (void)numbers;                                                                                 \
    NUMS;
/* The number of turns is a multiple of the lanes for all to see: the compiler adds no
 * code for a rest. */
#define PW_VECTORS(K, TO, TI, STEP)                                                                \
    TO *out = (TO *)(void *)c.out;                                                                 \
    for (int64_t turn = 0, left = c.whole; left > 0; turn++, left -= c.chunk) {                    \
        const int64_t m = (left < c.chunk ? left : c.chunk) & ~(int64_t)(PW_LANES(TO) - 1);        \
        PW_EACH##K(PW_VECTOR_BEGIN, TI) PW_IVDEP for (int64_t i = 0; i < m; i++) {                 \
            PW_EACH##K(PW_VECTOR_INPUT, TI) TO *o = &out[i];                                       \
            STEP;                                                                                  \
        }                                                                                          \
        out += m;                                                                                  \
    }
/* A number on the right, the most common of operands that stay the same, stays in a register. */
#define PW_LAST_SAME1(TO, TI, STEP)
#define PW_LAST_SAME2(TO, TI, STEP)                                                                \
    if (s[0] == sizeof(TO) && s[1] == sizeof(TI) && s[2] == 0) {                                   \
        const int64_t m = n & ~(int64_t)(PW_LANES(TO) - 1);                                        \
        TO *out = (TO *)(void *)p[0];                                                              \
        const TI *xs = (const TI *)(const void *)p[1], y = *(const TI *)(const void *)p[2];        \
        PW_IVDEP                                                                                   \
        for (int64_t i = 0; i < m; i++) {                                                          \
            TI x = xs[i];                                                                          \
            TO *o = &out[i];                                                                       \
            STEP;                                                                                  \
        }                                                                                          \
        return m;                                                                                  \
    }
#define PW_LAST_SAME3(TO, TI, STEP)
#define PW_ELEMENTS(K, TO, TI, STEP, DONE)                                                         \
    const int64_t sq = s[0];                                                                       \
    char *q = p[0] + DONE * sq;                                                                    \
    PW_EACH##K(PW_ELEMENT_BEGIN, DONE) for (int64_t i = DONE; i < n; i++) {                        \
        PW_EACH##K(PW_ELEMENT_INPUT, TI) TO *o = (TO *)(void *)q;                                  \
        STEP;                                                                                      \
        q += sq;                                                                                   \
        PW_NO_VECTORS;                                                                             \
    }
#define PW_EACH1(DO, A) DO(0, x, A)
#define PW_EACH2(DO, A) DO(0, x, A) DO(1, y, A)
#define PW_EACH3(DO, A) DO(0, x, A) DO(1, y, A) DO(2, z, A)
#define PW_VECTOR_BEGIN(k, v, TI)                                                                  \
    const TI *v##s = (const TI *)(const void *)(c.at[k] + turn * c.step[k]);
#define PW_VECTOR_INPUT(k, v, TI) TI v = v##s[i];
#define PW_ELEMENT_BEGIN(k, v, DONE)                                                               \
    const int64_t v##_step = s[k + 1];                                                             \
    const char *v##_at = p[k + 1] + DONE * v##_step;
#define PW_ELEMENT_INPUT(k, v, TI)                                                                 \
    TI v = *(const TI *)(const void *)v##_at;                                                      \
    v##_at += v##_step;

/* Elements in the widest vectors; in several where a byte is made of more than one. */
#define PW_LANES(TO) (sizeof(TO) == 1 ? 32 : sizeof(TO) == 2 ? 16 : sizeof(TO) == 4 ? 8 : 4)
/* The loop is about to do its last few elements, or such with gaps: a compiler's vectors would be a
 * second copy for nothing. */
#define PW_NO_VECTORS __asm__ volatile("")

enum { PW_CHUNK = 128, PW_CHUNK_BYTES = PW_CHUNK * (int)sizeof(complex128), PW_ALIGN = 64 };

/* A run of n elements as vectors. An input that stays the same becomes a chunk of copies, which is
 * read again and again. */
typedef struct pw_chunks {
    int64_t whole;                 /* elements in vectors, */
    int64_t chunk;                 /* and how many of them at a time */
    char *out;                     /* where they go */
    const char *at[PW_MAX_INPUTS]; /* the first chunk of each input, */
    int64_t step[PW_MAX_INPUTS];   /* and how far the next one is */
    /* for what is left: elements that are complete, and those that wait in room[0] */
    int64_t done, packed;
    char room[PW_MAX_INPUTS + 1][PW_CHUNK_BYTES + PW_ALIGN];
} pw_chunks;

/* What a loop is over: its inputs, the bytes of an element of its output and of its inputs, the
 * elements of a vector. */
typedef struct pw_shape {
    uint8_t inputs, out_size, in_size, lanes;
} pw_shape;
#define PW_SHAPE(K, TO, TI) ((pw_shape){K, sizeof(TO), sizeof(TI), PW_LANES(TO)})

/* Begins with the elements that are in vectors without gaps, and returns how many they are. */
int64_t pw_chunks_begin(pw_chunks *c, pw_shape of, int64_t n, char *const *p, const int64_t *s);
/* Continues with a chunk of the others, copied together; false: there are none left. */
bool pw_chunks_rest(pw_chunks *c, pw_shape of, int64_t n, char *const *p, const int64_t *s);

/* Declares the first k numbers as n0, n1, ... of type T, converted once per run. */
/* clang-format off */
#define PW_NUMS0(T, m)
#define PW_NUMS1(T, m) const T n0 = (T)numbers->m[0]
#define PW_NUMS2(T, m) PW_NUMS1(T, m); const T n1 = (T)numbers->m[1]
#define PW_NUMS3(T, m) PW_NUMS2(T, m); const T n2 = (T)numbers->m[2]
#define PW_COMPLEX_NUMS0(T)
#define PW_COMPLEX_NUMS1(T) T n0; n0.re = numbers->c[0].re; n0.im = numbers->c[0].im
#define PW_COMMA0
#define PW_COMMA1   , n0
#define PW_COMMA2   , n0, n1
#define PW_COMMA3   , n0, n1, n2
#define PW_ARGS1 x
#define PW_ARGS2 x, y
#define PW_ARGS3 x, y, z
/* clang-format on */

/* The loops of half and bfloat16: float's, a block at a time (pw_half). */
#define PW_HALF_LOOPS(op, K, TO_BYTES)                                                             \
    static void op##_f16_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {            \
        pw_half(op##_f32_loop, K, DT_FLOAT16, TO_BYTES, ctx, n, p, s);                             \
    }                                                                                              \
    static void op##_bf16_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {           \
        pw_half(op##_f32_loop, K, DT_BFLOAT16, TO_BYTES, ctx, n, p, s);                            \
    }
/* The loops of operator `op` with K inputs (1, 2, 3) and N numbers (0 to 3). KIND, KIND64:
 * CHEAP, MATH or PLAIN. */
#define PW_REAL_LOOPS(op, K, N) PW_REAL_LOOPS_OF(CHEAP, CHEAP, op, K, N)
#define PW_REAL_LOOPS_OF(KIND, KIND64, op, K, N)                                                   \
    PW_##KIND##_LOOP(K, op##_f32_loop, float, float, PW_NUMS##N(float, f),                         \
                     *o = scalar_##op##_f32(PW_ARGS##K PW_COMMA##N))                               \
        PW_REAL_LOOPS_BUT_F32(KIND64, op, K, N)
#define PW_REAL_LOOPS_BUT_F32(KIND64, op, K, N)                                                    \
    PW_##KIND64##_LOOP(K, op##_f64_loop, double, double, PW_NUMS##N(double, f),                    \
                       *o = scalar_##op##_f64(PW_ARGS##K PW_COMMA##N)) PW_HALF_LOOPS(op, K, false)
#define PW_INT_LOOP(KIND, op, K, N, sfx, T)                                                        \
    PW_##KIND##_LOOP(K, op##_##sfx##_loop, T, T, PW_NUMS##N(T, i),                                 \
                     *o = scalar_##op##_##sfx(PW_ARGS##K PW_COMMA##N))
#define PW_INT_LOOPS(op, K, N) PW_INT_LOOPS_OF(CHEAP, op, K, N)
#define PW_INT_LOOPS_OF(KIND, op, K, N)                                                            \
    PW_INT_LOOP(KIND, op, K, N, u8, uint8_t)                                                       \
    PW_INT_LOOP(KIND, op, K, N, i8, int8_t)                                                        \
    PW_INT_LOOP(KIND, op, K, N, i16, int16_t)                                                      \
    PW_INT_LOOP(KIND, op, K, N, i32, int32_t)                                                      \
    PW_INT_LOOP(KIND, op, K, N, i64, int64_t)
/* Of operators whose results wrap: bytes with a sign are as good as those without. */
#define PW_WRAPPING_LOOPS(op, K, N)                                                                \
    PW_INT_LOOP(CHEAP, op, K, N, u8, uint8_t)                                                      \
    PW_BYTES_ALIKE(op)                                                                             \
    PW_INT_LOOP(CHEAP, op, K, N, i16, int16_t)                                                     \
    PW_INT_LOOP(CHEAP, op, K, N, i32, int32_t)                                                     \
    PW_INT_LOOP(CHEAP, op, K, N, i64, int64_t)
#define PW_BYTES_ALIKE(op)                                                                         \
    static void op##_i8_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {             \
        op##_u8_loop(ctx, n, p, s);                                                                \
    }
/* Vectors are for complex64 alone. */
#define PW_COMPLEX_LOOPS(KIND, op, K, N)                                                           \
    PW_##KIND##_LOOP(K, op##_c64_loop, complex64, complex64, PW_COMPLEX_NUMS##N(complex64),        \
                     *o = scalar_##op##_c64(PW_ARGS##K PW_COMMA##N))                               \
        PW_PLAIN_LOOP(K, op##_c128_loop, complex128, complex128, PW_COMPLEX_NUMS##N(complex128),   \
                      *o = scalar_##op##_c128(PW_ARGS##K PW_COMMA##N))
/* Complex functions whose results are of another type. */
#define PW_COMPLEX_LOOPS_TO(KIND, op, K, T64, T128)                                                \
    PW_##KIND##_LOOP(K, op##_c64_loop, T64, complex64, , *o = (T64)scalar_##op##_c64(PW_ARGS##K))  \
        PW_PLAIN_LOOP(K, op##_c128_loop, T128, complex128, ,                                       \
                      *o = (T128)scalar_##op##_c128(PW_ARGS##K))
#define PW_COMPLEX_TEST_LOOPS(op, K) PW_COMPLEX_LOOPS_TO(PLAIN, op, K, uint8_t, uint8_t)
/* Real functions whose result is 0 or 1. */
#define PW_TEST_LOOPS(op, K)                                                                       \
    PW_CHEAP_LOOP(K, op##_f32_loop, uint8_t, float, , *o = scalar_##op##_f32(PW_ARGS##K))          \
    PW_CHEAP_LOOP(K, op##_f64_loop, uint8_t, double, , *o = scalar_##op##_f64(PW_ARGS##K))         \
    PW_HALF_LOOPS(op, K, true)

/* Table entries. */
#define PW_REAL_ROW(op)                                                                            \
    [DT_FLOAT32] = op##_f32_loop, [DT_FLOAT64] = op##_f64_loop, [DT_FLOAT16] = op##_f16_loop,      \
    [DT_BFLOAT16] = op##_bf16_loop
#define PW_COMPLEX_ROW(op) [DT_COMPLEX64] = op##_c64_loop, [DT_COMPLEX128] = op##_c128_loop
#define PW_INT_ROW(op)                                                                             \
    [DT_UINT8] = op##_u8_loop, [DT_INT8] = op##_i8_loop, [DT_INT16] = op##_i16_loop,               \
    [DT_INT32] = op##_i32_loop, [DT_INT64] = op##_i64_loop

#endif
