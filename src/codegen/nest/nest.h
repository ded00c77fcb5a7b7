/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest.h - the loop nest form: a small typed program over buffers that becomes one native function.
 *
 * Fusion groups, reductions and the scalar loops of programs are all lowered to it; llvm_emit.c
 * prints it for the CPU, cuda_emit.c for a GPU. An example, a += row sums of x * y, as
 * nest_print shows it:
 *
 *     nest row_dot(float32 *restrict x, float32 *restrict y, float32 *restrict a, int rows, int cols) {
 *         parallel for (i64 r = 0; r < rows; r += 1) {
 *             f32 s = 0;
 *             vector for (i64 c = 0; c < cols; c += 1)
 *                 s sum= x[r * cols + c] * y[r * cols + c];
 *             a[r] = a[r] + s;
 *         }
 *     }
 *
 * 1. Parameters. Buffers have an element dtype and are reached by index in elements, relative to
 *    the pointer that the caller passes (which need not be aligned). Sizes, strides and other
 *    integers are int64 inputs, real numbers are double inputs. A local buffer is an array of
 *    constant length that lives for one call.
 *    Scalars leave through buffers of one element.
 * 2. Types. Expressions are bool, u8, i8, i16, i32, i64, f32 or f64. half and bfloat16 exist in
 *    memory only: loads widen to f32, stores round to nearest even. Nothing converts
 *    implicitly; nest_cast does, with PyTorch's meaning (floats truncate, what does
 *    not fit becomes the most negative int, whose low bits narrower types keep).
 * 3. Expressions are pure and evaluated at the statement that contains them, once per
 *    statement, both arms of a select included: a load in it must be valid whatever the condition
 *    is. A node may be used any number of times. Integer arithmetic wraps. nest_div_index and
 *    nest_mod_index need operands that are not negative and a divisor that is not 0. Functions are
 *    those of ir/scalar/scalar_ops.h, by name.
 * 4. Statements: let and variable (declare), set, accumulate, store, for, while, if, break,
 *    continue, fail. A variable is known to the end of the block that declares it.
 * 5. accumulate (v sum= x, prod=, min=, max=) is the one place where floating-point order is free
 *    within the innermost loop around it. min and max give NaN if any x is NaN.
 * 6. for evaluates its bounds once; the step is a constant, negative ones count down. Its flags:
 *      vector    iterations are independent except accumulates: no store touches what another iteration reads
 *                or writes. Vectorised without looking at addresses. No break, no fail inside.
 *      parallel  iterations are independent, and the kernel's arguments begin and end replace the bounds: the
 *                caller cuts [begin, end) into chunks. At most one, at the top, step 1, only lets before it and nothing after.
 *      unroll    constant bounds: no loop remains.
 *      prefetch  a vector loop over a row: what it reads is fetched for the rows that follow, while there is something to compute.
 * 7. A restrict buffer shares no byte with another buffer, unless neither of the two is written.
 * 8. fail(code, value) ends the kernel: it returns code (> 0) and stores value through its
 *    argument `fault`.
 *    watch(code) asks the caller whether the kernel is to go on (kernel_call.stop); if not,
 *    it ends with code.
 * 9. A nest with a cooperative group: on a GPU nest->coop threads take an iteration of the parallel
 *    loop together (cuda_emit.h). Then each vector loop that is not inside another one may be cut
 *    between them anywhere, and what it stores is read only by later loops. A local buffer belongs
 *    to the iteration. Nothing is accumulated in a variable from outside such a loop in two ways.
 * 10. nest->contract lets a * b + c become one rounding, in the nest's arithmetic and in the
 *     functions called;
 *    nest->contract_inside lets it inside the functions, and in accumulations of a product.
 *
 * 11. nest->index32: addresses, bounds of loops and the ints they are made of are less than 2^30,
 *     so that 32 bits do for them.
 *
 * Ownership: everything is in the arena given to nest_new; check
 * arena_failed once the nest is built. A nest is built and used
 * by one thread at a time (printers keep notes in the nodes).
 * Tests: tests/unit/test_codegen.c
 */
#ifndef CTSC_CODEGEN_NEST_NEST_H
#define CTSC_CODEGEN_NEST_NEST_H

#include "base/diag.h"
#include "base/memory/mem.h"
#include "base/text/strbuf.h"
#include "tensor/dtype.h"

/*    enum  text    LLVM      bytes int    signed */
/* clang-format off */
#define NEST_TYPE_TABLE(X)                                                                         \
    X(BOOL, "bool", "i1",     1,    false, false)                                                  \
    X(U8,   "u8",   "i8",     1,    true,  false)                                                  \
    X(I8,   "i8",   "i8",     1,    true,  true)                                                   \
    X(I16,  "i16",  "i16",    2,    true,  true)                                                   \
    X(I32,  "i32",  "i32",    4,    true,  true)                                                   \
    X(I64,  "i64",  "i64",    8,    true,  true)                                                   \
    X(F32,  "f32",  "float",  4,    false, true)                                                   \
    X(F64,  "f64",  "double", 8,    false, true)
/* clang-format on */

typedef enum nest_type {
#define NEST_TYPE_ENUM(e, text, llvm, bytes, is_int, is_signed) NEST_##e,
    NEST_TYPE_TABLE(NEST_TYPE_ENUM)
#undef NEST_TYPE_ENUM
    NEST_TYPE_COUNT
} nest_type;

typedef struct nest_type_info {
    const char *name, *llvm;
    uint8_t bytes;
    bool is_int, is_signed;
} nest_type_info;
extern const nest_type_info nest_types[NEST_TYPE_COUNT];
static inline bool nest_is_float(nest_type t) { return t >= NEST_F32; }

/* How operands and results are typed:  L leaf  N numbers, same type  I integers or bools, same type
 * C numbers or bools, result bool  B bools  F one float operand  X checked separately */
/*    enum      args class text */
/* clang-format off */
#define NEST_OP_TABLE(X)                                                                           \
    X(CONST,     0,   'L', "")                                                                     \
    X(INPUT,     0,   'L', "")      /* int64 or double input */                                    \
    X(VAR,       0,   'L', "")                                                                     \
    X(LOAD,      1,   'X', "")                                                                     \
    X(ADD,       2,   'N', "+")                                                                    \
    X(SUB,       2,   'N', "-")                                                                    \
    X(MUL,       2,   'N', "*")                                                                    \
    X(DIV,       2,   'F', "/")                                                                    \
    X(DIV_INDEX, 2,   'I', "div")                                                                  \
    X(MOD_INDEX, 2,   'I', "mod")                                                                  \
    X(MIN,       2,   'N', "min")                                                                  \
    X(MAX,       2,   'N', "max")                                                                  \
    X(NEG,       1,   'N', "-")                                                                    \
    X(AND,       2,   'I', "&")                                                                    \
    X(OR,        2,   'I', "|")                                                                    \
    X(XOR,       2,   'I', "^")                                                                    \
    X(NOT,       1,   'I', "~")                                                                    \
    X(EQ,        2,   'C', "==")                                                                   \
    X(NE,        2,   'C', "!=")                                                                   \
    X(LT,        2,   'C', "<")                                                                    \
    X(LE,        2,   'C', "<=")                                                                   \
    X(GT,        2,   'C', ">")                                                                    \
    X(GE,        2,   'C', ">=")                                                                   \
    X(SELECT,    3,   'X', "?")                                                                    \
    X(CAST,      1,   'X', "")                                                                     \
    X(CALL,      0,   'X', "")
/* clang-format on */

typedef enum nest_op {
#define NEST_OP_ENUM(e, args, cls, text) NEST_##e,
    NEST_OP_TABLE(NEST_OP_ENUM)
#undef NEST_OP_ENUM
    NEST_OP_COUNT
} nest_op;

typedef struct nest_op_info {
    const char *text;
    uint8_t args;
    char cls;
} nest_op_info;
extern const nest_op_info nest_ops[NEST_OP_COUNT];

enum { NEST_MAX_ARGS = 4, NEST_MAX_DEPTH = 400, NEST_MAX_NESTING = 48, NEST_MAX_BUFFERS = 256 };

typedef struct nest_buffer {
    const char *name;
    dtype dt;
    bool is_restrict, written, local;
    int64_t length; /* of a local one, in elements */
    int index;      /* among the buffers (or the locals) */
} nest_buffer;

typedef struct nest_var {
    const char *name;
    nest_type type;
    bool is_mutable;
    int index;
} nest_var;

typedef struct nest_expr {
    nest_op op;
    nest_type type;
    uint16_t nargs;
    uint16_t depth;
    union {
        int64_t i;           /* CONST of an int type or bool */
        double f;            /* CONST of a float type */
        int input;           /* INPUT: index among the inputs of its type (I64 or F64) */
        nest_var *var;       /* VAR */
        nest_buffer *buffer; /* LOAD; args[0] is the index */
        const char *name;    /* CALL: "exp" means scalar_exp_T, T the type of the arguments */
    } u;
    struct nest_expr *args[NEST_MAX_ARGS];
    uint32_t mark, slot; /* notes of the code that walks the nest */
} nest_expr;

/* "any" and "all" are MAX and MIN of bools. */
typedef enum nest_acc { NEST_ACC_SUM, NEST_ACC_PROD, NEST_ACC_MIN, NEST_ACC_MAX } nest_acc;

typedef enum nest_stmt_kind {
    NEST_DECLARE,    /* var = value */
    NEST_SET,        /* var = value */
    NEST_ACCUMULATE, /* var = var acc value */
    NEST_STORE,      /* buffer[index] = value */
    NEST_FOR,
    NEST_WHILE, /* value: the condition */
    NEST_IF,
    NEST_BREAK,
    NEST_CONTINUE,
    NEST_FAIL,
    NEST_WATCH
} nest_stmt_kind;

enum { NEST_VECTOR = 1, NEST_PARALLEL = 2, NEST_UNROLL = 4, NEST_PREFETCH = 8 };

typedef struct nest_block {
    struct nest_stmt *first, *last;
} nest_block;

typedef struct nest_stmt {
    nest_stmt_kind kind;
    nest_var *var;          /* DECLARE, SET, ACCUMULATE, FOR */
    nest_buffer *buffer;    /* STORE */
    nest_expr *index;       /* STORE */
    nest_expr *value;       /* DECLARE, SET, ACCUMULATE, STORE, WHILE, IF, FAIL */
    nest_expr *begin, *end; /* FOR */
    int64_t step;           /* FOR */
    int64_t code;           /* FAIL, WATCH */
    unsigned flags;         /* FOR */
    bool unlikely;          /* IF */
    nest_acc acc;
    nest_block body, other; /* FOR, WHILE; IF: then and else */
    struct nest_stmt *next;
} nest_stmt;

typedef struct nest {
    arena *a;
    const char *name;
    bool contract, contract_inside;
    bool index32;
    /* threads that take an iteration together on a GPU: a power of 2, at most 1024; 0:
     * each takes its own */
    int coop;
    nest_buffer **buffers, **locals; /* NEST_MAX_BUFFERS places each, as in the next line */
    const char **ints, **floats;     /* names of the inputs */
    int nbuffers, nlocals, nints, nfloats, nvars;
    nest_block body;
    nest_stmt *open[NEST_MAX_NESTING]; /* while building: the statements that blocks are open of */
    bool in_else[NEST_MAX_NESTING];
    int nopen;
    bool overflow;  /* a limit was passed: nest_verify fails */
    uint32_t marks; /* last value of nest_expr.mark in use */
} nest;

/* ---- building -------------------------------------------------------------------------------- */

nest *nest_new(arena *a, const char *name);

enum { NEST_RESTRICT = 1 };
nest_buffer *nest_add_buffer(nest *n, const char *name, dtype dt, unsigned flags);
nest_buffer *nest_add_local(nest *n, const char *name, dtype dt, int64_t length);
nest_expr *nest_add_int(nest *n, const char *name);
nest_expr *nest_add_float(nest *n, const char *name);

nest_expr *nest_int(nest *n, int64_t i); /* i64 */
nest_expr *nest_const_int(nest *n, nest_type t, int64_t i);
nest_expr *nest_const_float(nest *n, nest_type t, double f);
nest_expr *nest_load(nest *n, nest_buffer *b, nest_expr *index);
nest_expr *nest_unary(nest *n, nest_op op, nest_expr *x);
nest_expr *nest_binary(nest *n, nest_op op, nest_expr *x, nest_expr *y);
nest_expr *nest_select(nest *n, nest_expr *c, nest_expr *x, nest_expr *y);
nest_expr *nest_cast(nest *n, nest_type t, nest_expr *x); /* x itself if it has that type */
nest_expr *nest_call(nest *n, const char *name, int nargs, nest_expr *const *args);
nest_expr *nest_call1(nest *n, const char *name, nest_expr *x);
/* "isnan", ...: a call that gives a bool */
nest_expr *nest_test(nest *n, const char *name, nest_expr *x);

/* The names a builder writes most. */
#define NEST_SHORT(name, OP)                                                                       \
    static inline nest_expr *nest_##name(nest *n, nest_expr *x, nest_expr *y) {                    \
        return nest_binary(n, NEST_##OP, x, y);                                                    \
    }
NEST_SHORT(add, ADD)
NEST_SHORT(sub, SUB)
NEST_SHORT(mul, MUL)
NEST_SHORT(div, DIV)
NEST_SHORT(div_index, DIV_INDEX)
NEST_SHORT(mod_index, MOD_INDEX)
#undef NEST_SHORT

nest_expr *nest_let(nest *n, const char *name, nest_expr *value);
nest_expr *nest_variable(nest *n, const char *name, nest_expr *init);
void nest_set(nest *n, nest_expr *var, nest_expr *value);
void nest_accumulate(nest *n, nest_expr *var, nest_acc acc, nest_expr *value);
void nest_store(nest *n, nest_buffer *b, nest_expr *index, nest_expr *value);
/* What follows, up to nest_end, is the body. nest_for gives the variable. */
nest_expr *nest_for(nest *n, const char *name, nest_expr *begin, nest_expr *end, unsigned flags);
nest_expr *nest_for_step(nest *n, const char *name, nest_expr *begin, nest_expr *end, int64_t step,
                         unsigned flags);
void nest_while(nest *n, nest_expr *condition);
void nest_if(nest *n, nest_expr *condition);
void nest_else(nest *n);
void nest_end(nest *n);
void nest_break(nest *n);
void nest_continue(nest *n);
void nest_fail(nest *n, int64_t code, nest_expr *value);
void nest_watch(nest *n, int64_t code);
/* if (!condition) fail(code, value), expected not to happen. */
void nest_require(nest *n, nest_expr *condition, int64_t code, nest_expr *value);

/* The type in which elements of dt are computed with; false for dtypes that have none
 * (complex, quantised). */
bool nest_type_of(dtype dt, nest_type *out);

/* ---- checking and printing ------------------------------------------------------------------- */

/* CTSC_INTERNAL with what is wrong; every consumer needs a nest that passes. */
ctsc_status nest_verify(nest *n, diag *d);
void nest_print(nest *n, strbuf *out);

/* For walkers: a number that no node's mark has. */
static inline uint32_t nest_fresh_mark(nest *n) { return ++n->marks; }

#endif
