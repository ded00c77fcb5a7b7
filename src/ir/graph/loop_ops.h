/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_ops.h - which operators a native loop can hold.
 *
 * The table (loop_ops.def) is shared by the pass that puts loops into groups and by
 * the code that lowers them. It lists operations on Python numbers, and the operators
 * that query, index or write tensors; operators that compute elements of tensors are
 * those of FUSE of ops.def, and their in-place forms (add_) are derived from them.
 *
 *     LOOP_OP("aten::sin", NUMBERS, REAL1, "sin")
 */
#ifndef CTSC_IR_GRAPH_LOOP_OPS_H
#define CTSC_IR_GRAPH_LOOP_OPS_H

#include "ir/graph/graph.h"

/* What an operator does; text is an operator or function of the class. */
/* clang-format off */
#define LOOP_CLASSES(X)                                                                            \
    X(ARITH) X(COMPARE) X(LOGIC) X(DIVIDE) X(FLOORDIV) X(REMAINDER) X(TRUNCDIV) X(POW) X(INTPOW)   \
    X(REAL1) X(REAL2) X(TEST) X(ROUND) X(LEAST) X(ABS) X(NEG) X(NOT) X(SHIFT) X(GCD)               \
    X(CONVERT) X(RANGE_LENGTH) X(DERIVE_INDEX)                                                     \
    X(ITEM) X(QUERY) X(SIZES) X(LIST_GET) X(LIST_LEN)                                              \
    X(SELECT) X(SLICE) X(TRANSPOSE) X(UNSQUEEZE)                                                   \
    X(NEW) X(FILL_NEW) X(COPY) X(FILL) X(REDUCE) X(DOT)                                            \
    X(POINTWISE) X(IN_PLACE) X(VIEW) /* fusible ones */
/* clang-format on */

typedef enum loop_class {
    LOOP_NONE, /* no native loop can hold it */
#define LOOP_CLASS_ENUM(c) LOOP_##c,
    LOOP_CLASSES(LOOP_CLASS_ENUM)
#undef LOOP_CLASS_ENUM
    LOOP_CLASS_COUNT
} loop_class;

/* The class of an operator node; *text (may be NULL): its row's text, "" if it has none. */
loop_class loop_op_class(const node *n, const char **text);
/* aten::add.Tensor of aten::add_.Tensor; NULL: there is none. */
const op *loop_functional(const op *o);
/* Is t the type of a Python number (int, float, bool, Scalar)? */
bool loop_is_number(const type *t);
/* The object that v is, looked for through in-place operators, branches and iterations that pass
 * it on unchanged:
 *     %s = prim::Loop(%n, %true, %t)
 *       block0(%i, %u):
 *         %v = aten::add_(%u, %x, %one)               %s, %u, %v: all are %t
 *         -> (%true, %v) */
const ir_value *loop_object(const ir_value *v);
/* The same, and through views to what is viewed. */
const ir_value *loop_viewed(const ir_value *v);
/* Does the operator n write the elements of its first argument? */
bool loop_op_writes(const node *n);

#endif
