/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_text.h - what an operator of a program's own does to one element, read from C text.
 *
 *     soft::clip(Tensor x, float limit) -> Tensor
 *     float clip(float x, float limit) { float a = fabsf(x); return a < limit ? x : copysignf(limit + log1pf(a - limit), x); }
 *
 * The text is such a function, its parameters standing for the schema's arguments in order, or only
 * the expression, over the names of the schema's arguments. What it may hold is said in ctsc.h
 * (ctsc_op_options). The result is a list of nodes, operands before their users, from which the
 * interpreter (runtime/kernels/pointwise/scalar_eval.c) and the code generator
 * (codegen/lower/lazy/lazy_custom.c) compute the same.
 *
 * Everything is computed in one type, float or double, chosen by the tensors of a call. Conditions
 * are nodes of their own kind: 0 and 1 where a number is wanted, "not 0" the other way. Integers
 * are real numbers as well, so what C would compute otherwise, their division, is refused.
 *
 * Ownership: everything is in the arena of the scalar_text, which is immutable once made.
 * Tests: tests/unit/test_scalar_text.c
 */
#ifndef CTSC_IR_SCALAR_SCALAR_TEXT_H
#define CTSC_IR_SCALAR_SCALAR_TEXT_H

#include "ir/graph/fusible.h"

/* enum, operands, whether the result is a condition, whether the operands are */
/* clang-format off */
#define SCALAR_NODE_TABLE(X)                                                                       \
    X(CONST, 0, false, false)                                                                      \
    X(ARG, 0, false, false)                                                                        \
    X(NEG, 1, false, false)                                                                        \
    X(NOT, 1, true, true)                                                                          \
    X(ADD, 2, false, false)                                                                        \
    X(SUB, 2, false, false)                                                                        \
    X(MUL, 2, false, false)                                                                        \
    X(DIV, 2, false, false)                                                                        \
    X(EQ, 2, true, false)                                                                          \
    X(NE, 2, true, false)                                                                          \
    X(LT, 2, true, false)                                                                          \
    X(LE, 2, true, false)                                                                          \
    X(GT, 2, true, false)                                                                          \
    X(GE, 2, true, false)                                                                          \
    X(AND, 2, true, true)                                                                          \
    X(OR, 2, true, true)                                                                           \
    X(SELECT, 3, false, false) /* the first operand is a condition */                              \
    X(CALL, 0, false, false)
/* clang-format on */

typedef enum scalar_op {
#define SCALAR_NODE_ENUM(e, operands, gives, takes) SCALAR_##e,
    SCALAR_NODE_TABLE(SCALAR_NODE_ENUM)
#undef SCALAR_NODE_ENUM
    SCALAR_OP_COUNT
} scalar_op;

/* Functions of <math.h> that are one of ir/scalar/scalar_ops.h: the name in C (the same with suffix
 * f is known too), the name there, operands, and rough cycles per element of vector code. */
#define SCALAR_FUNCTION_TABLE(X)                                                                   \
    X(fabs, abs, 1, 1)                                                                             \
    X(sqrt, sqrt, 1, 4)                                                                            \
    X(exp, exp, 1, 8)                                                                              \
    X(exp2, exp2, 1, 8)                                                                            \
    X(expm1, expm1, 1, 12)                                                                         \
    X(log, log, 1, 12)                                                                             \
    X(log2, log2, 1, 12)                                                                           \
    X(log10, log10, 1, 40)                                                                         \
    X(log1p, log1p, 1, 16)                                                                         \
    X(sin, sin, 1, 16)                                                                             \
    X(cos, cos, 1, 16)                                                                             \
    X(tan, tan, 1, 50)                                                                             \
    X(asin, asin, 1, 50)                                                                           \
    X(acos, acos, 1, 50)                                                                           \
    X(atan, atan, 1, 50)                                                                           \
    X(sinh, sinh, 1, 60)                                                                           \
    X(cosh, cosh, 1, 60)                                                                           \
    X(tanh, tanh, 1, 12)                                                                           \
    X(asinh, asinh, 1, 60)                                                                         \
    X(acosh, acosh, 1, 60)                                                                         \
    X(atanh, atanh, 1, 60)                                                                         \
    X(erf, erf, 1, 16)                                                                             \
    X(erfc, erfc, 1, 60)                                                                           \
    X(lgamma, lgamma, 1, 100)                                                                      \
    X(floor, floor, 1, 1)                                                                          \
    X(ceil, ceil, 1, 1)                                                                            \
    X(trunc, trunc, 1, 1)                                                                          \
    X(rint, round, 1, 1)                                                                           \
    X(nearbyint, round, 1, 1)                                                                      \
    X(pow, pow, 2, 30)                                                                             \
    X(atan2, atan2, 2, 60)                                                                         \
    X(hypot, hypot, 2, 30)                                                                         \
    X(fmod, fmod, 2, 40)                                                                           \
    X(copysign, copysign, 2, 1)                                                                    \
    X(fmin, fmin, 2, 2)                                                                            \
    X(fmax, fmax, 2, 2)

typedef enum scalar_function {
#define SCALAR_FUNCTION_ENUM(c, name, operands, cost) SCALAR_FN_##c,
    SCALAR_FUNCTION_TABLE(SCALAR_FUNCTION_ENUM)
#undef SCALAR_FUNCTION_ENUM
    SCALAR_FUNCTION_COUNT
} scalar_function;

enum {
    SCALAR_MAX_TEXT = 16384,
    SCALAR_MAX_NODES = 512,
    SCALAR_MAX_DEPTH = 96,   /* of the expression, names of locals looked through */
    SCALAR_MAX_NESTING = 64, /* of parentheses, calls, unary operators and ?: */
    SCALAR_MAX_ARGS = 32,
    SCALAR_MAX_TENSORS = 7,
    SCALAR_MAX_FUSED = 5, /* tensors of an operator that can be part of a kernel */
};

typedef struct scalar_node {
    uint8_t op;       /* scalar_op */
    uint8_t function; /* CALL: scalar_function */
    bool is_int;      /* an integer in C */
    bool uniform;     /* the same for all elements: made of constants and numbers */
    uint16_t depth;
    uint16_t args[3]; /* nodes, earlier ones */
    /* one of scalar_text.slots places for values; another node may have it once nothing reads
     * this one any more */
    uint16_t slot;
    int arg;       /* ARG: which argument of the schema */
    double number; /* CONST */
} scalar_node;

typedef struct scalar_text {
    op_traits traits; /* FUSE, if a kernel can hold it */
    int cost;
    arena arena;
    int nargs, ntensors;
    int nnodes, root, slots;
    const scalar_node *nodes;
    bool is_tensor[SCALAR_MAX_ARGS]; /* by argument of the schema */
} scalar_text;

typedef struct scalar_op_info {
    uint8_t operands;
    bool gives_condition, takes_conditions;
} scalar_op_info;
extern const scalar_op_info scalar_op_table[SCALAR_OP_COUNT];

typedef struct scalar_function_info {
    const char *c, *name; /* in <math.h>, and in ir/scalar/scalar_ops.h */
    uint8_t operands, cost;
} scalar_function_info;
extern const scalar_function_info scalar_functions[SCALAR_FUNCTION_COUNT];

static inline int scalar_operands(const scalar_node *n) {
    return n->op == SCALAR_CALL ? scalar_functions[n->function].operands
                                : scalar_op_table[n->op].operands;
}

/* Reads the definition of the operator with schema s. CTSC_FAILED: the text is not understood, with
 * the line and column; CTSC_USAGE: an operator with that schema cannot have a definition. Free with
 * scalar_text_free. */
ctsc_status scalar_text_parse(diag *d, const schema *s, const char *text, scalar_text **out);
void scalar_text_free(scalar_text *t); /* may be NULL */

#endif
