/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_traits.h - what is known of an operator: the last column of a row of ops/NAME.def, one word
 * per overload (op.traits).
 *
 *     OP("aten::sigmoid", op_sigmoid, OP_INTO | FUSE(POINTWISE, 12) | WORK(POINTWISE, 1) | RANK(SAME) | FLOATS_SAME | FLOATS_MADE | TWIN(FLOATS))
 *
 * Whoever transforms, places, counts or runs operators asks here, and has no list of names of its
 * own. Aliases (ops/aliases.def) have the traits of what they stand for; in-place and out=
 * overloads (op_derive.h) only what holds for them as well (OP_TRAITS_OF_WRITES).
 *
 * Behind its key a row can say what the lowering of kernels calls the operator, where that is not
 * its name: OP("aten::max.dim" LOWERED("max_dim"), ...).
 */
#ifndef CTSC_IR_OP_OP_TRAITS_H
#define CTSC_IR_OP_OP_TRAITS_H

#include <stdint.h>

typedef uint64_t op_traits;
/* clang-format off */
#define OP_TRAIT(bit)            (UINT64_C(1) << (bit))
#define OP_FIELD(x, first)       ((op_traits)(x) << (first))
#define OP_FIELD_OF(t, first, n) ((int)((t) >> (first) & ((UINT64_C(1) << (n)) - 1)))
#define LOWERED(name)            "\1" name
/* clang-format on */

/* ---- effects, and how the function is called ------------------------------------------------- */
/* clang-format off */
#define OP_SIDE_EFFECT OP_TRAIT(0) /* prints, raises, warns, draws random numbers: never removed or moved */
#define OP_RANDOM      OP_TRAIT(1) /* result differs from call to call: never merged or folded */
#define OP_UNSAFE      OP_TRAIT(2) /* touches files or the network: refused unless the program allows it */
#define OP_SPECIAL     OP_TRAIT(3) /* compiled to bytecode of its own; the function is NULL */
#define OP_INTO        OP_TRAIT(4) /* the function serves the in-place and out= overloads too: it looks where its results go (op_target) */
#define OP_COMPOSITE   OP_TRAIT(5) /* written in TorchScript (frontend/prelude/operators.py): op_host.composite_body is what it does */
#define OP_FOREIGN     OP_TRAIT(6) /* a program's own (ctsc_register_op): what its function does besides is not known */
#define OP_OURS        OP_TRAIT(7) /* PyTorch alone lacks it: archives that are written call its body (op_host.composite_body) */
/* clang-format on */

/* ---- kernels: FUSE(kind, cost), cost in rough quarter cycles per float32 element of vector code  */
typedef enum fusible_kind {
    FUSIBLE_NONE,
    FUSIBLE_POINTWISE, /* element by element, with broadcasting */
    /* an index map: unsqueeze, transpose, select, slice, expand, chunk's parts, ... */
    FUSIBLE_VIEW,
    FUSIBLE_REDUCE, /* sum, mean, max, argmax, var, norm, ... over dims */
    FUSIBLE_ROWS,   /* pointwise and reductions over the same dims: softmax, layer_norm, ... */
} fusible_kind;
/* clang-format off */
#define FUSE(kind, cost) (OP_FIELD(FUSIBLE_##kind, 8) | OP_FIELD(cost, 11))
#define OP_FUSIBLE(t)    ((fusible_kind)OP_FIELD_OF(t, 8, 3))
#define OP_COST(t)       OP_FIELD_OF(t, 11, 8)
#define OP_COST_MAX      255
/* clang-format on */

/* CALLS(kind, operands): of a pointwise one, its element is the scalar function of its name
 * (LOWERED's) on so many tensors and, behind them, numbers. */
typedef enum call_kind {
    CALL_NOT,    /* the lowering has a rule for it (codegen/lower/lazy_ops.c) */
    CALL_FLOATS, /* of floating tensors only */
    CALL_REALS,  /* integers and bools become float32 */
} call_kind;
#define CALLS(kind, operands) (OP_FIELD(CALL_##kind, 40) | OP_FIELD(operands, 42))
#define OP_CALL(t) ((call_kind)OP_FIELD_OF(t, 40, 2))
#define OP_CALL_OPERANDS(t) OP_FIELD_OF(t, 42, 2)

/* ---- work: WORK(kind, a), floating-point operations and bytes of a call (runtime/observe/work.h)  */
typedef enum work_kind {
    WORK_UNKNOWN,   /* no operations are made up where nothing is known */
    WORK_MOVE,      /* nothing */
    WORK_NEW,       /* nothing; no argument's elements are read */
    WORK_NONE,      /* nothing; nothing is written either */
    WORK_LOOKUP,    /* nothing; of argument a only as many elements are read as the result has */
    WORK_POINTWISE, /* `a` per element of the result */
    WORK_REDUCE,    /* one per element of argument a */
    /* matrix product, argument a on the left: two per element of the result and of
     * a's last dimension */
    WORK_PRODUCT,
    WORK_LINEAR, /* WORK_PRODUCT, and one per element of the result if there is an argument 2 */
    WORK_ADDED,  /* WORK_PRODUCT, and one per element of the result */
    /* convolution: two per element of the result and of the weight of one output channel; with bias
     * one more. Transposed (a = 1, or an argument says so): two per element of the input and of the
     * weight of one input channel. a = 2: the weight has output channels last */
    WORK_CONV,
    WORK_POOL, /* one per element of the result and of the window */
    /* further products: runtime/observe/work_dense.c */
    WORK_ADDBMM,
    WORK_TENSORDOT,
    WORK_EINSUM,
    WORK_BILINEAR,
    WORK_DISTANCE,
    WORK_ATTENTION, /* of query, key and value, arguments 0 to 2 */
    WORK_HEADS,     /* attention with its projections; a = 1: a whole layer of an encoder */
    WORK_RNN,       /* recurrent layers, or one cell, of `a` gates */
} work_kind;
#define WORK(kind, a) (OP_FIELD(WORK_##kind, 19) | OP_FIELD(a, 44))
#define OP_WORK(t) ((work_kind)OP_FIELD_OF(t, 19, 6))
#define OP_WORK_ARG(t) OP_FIELD_OF(t, 44, 5)

/* ---- the result's dims and dtype ------------------------------------------------------------- */
typedef enum rank_rule {
    RANK_UNKNOWN,
    RANK_0,
    RANK_1,
    RANK_2,
    RANK_3,
    RANK_SAME,    /* as the first argument */
    RANK_PLUS_1,  /* one more */
    RANK_OF_LIST, /* as many dims as the second argument has elements */
} rank_rule;
/* clang-format off */
#define RANK(rule)  OP_FIELD(RANK_##rule, 25)
#define OP_RANK(t)  ((rank_rule)OP_FIELD_OF(t, 25, 3))
#define DTYPE_SAME  OP_TRAIT(28) /* that of the first argument */
#define FLOATS_SAME OP_TRAIT(29) /* that of the first argument, if it is floating */
#define FLOATS_KEPT OP_TRAIT(30) /* floating, if that of the first argument is */
#define FLOATS_MADE OP_TRAIT(31) /* floating or complex, unless an argument `dtype` says otherwise */
/* clang-format on */

/* ---- calls that cannot fail, and in-place calls: x.f_() is x = f(x) -------------------------- */
/* works for every tensor, if all else is left at its default */
#define TOTAL OP_TRAIT(32)
#define TOTAL_ON_FLOATS OP_TRAIT(33) /* for every float32 or float64 one */
typedef enum twin_need {
    TWIN_NEVER,
    TWIN_ALWAYS, /* dtype and shape are self's in both forms */
    TWIN_FLOATS, /* if self is floating and other operands are real numbers */
    TWIN_TYPES,  /* if dtype and sizes of self and other are known and agree */
} twin_need;
#define TWIN(need) OP_FIELD(TWIN_##need, 34)
#define OP_TWIN(t) ((twin_need)OP_FIELD_OF(t, 34, 2))
#define ASKS_STRIDES OP_TRAIT(36) /* looks at how the elements lie, not only at them */

/* ---- tensors on a device (runtime/cuda/dispatch.h); without any of these it becomes a kernel, or the host does it  */
/* the function computes where its arguments are (kernels/engine/device_kernels.h) */
#define ON_DEVICE OP_TRAIT(37)
/* the function touches no element: it asks for geometry, makes a view, calls other operators */
#define DEVICE_BLIND OP_TRAIT(38)
/* made of other operators, where no kernel computes it: frontend/prelude/operators/device.py */
#define DEVICE_BODY OP_TRAIT(39)

/* ---- gradients (runtime/autograd) ------------------------------------------------------------ */
/* its results are constants as far as gradients go, whatever it takes */
#define NO_GRADIENT OP_TRAIT(49)
#define ASKS_GRADIENT OP_TRAIT(50) /* a program that has it records what it does */
/* the sizes of its results depend on elements: a call is no model of the next */
#define SIZED_BY_DATA OP_TRAIT(61)

/* ---- what neither schema nor effects say (ir/graph/alias_effects.c). Without the first three an optimisation is lost; without the others it is wrong  */
typedef enum never_fails {
    FAILS_PERHAPS,
    NEVER_FAILS_NUMBERS, /* given nothing but ints, floats, bools and None */
    NEVER_FAILS_TENSORS, /* given a tensor alone: a question that each can answer */
    NEVER_FAILS_VALUES,  /* given anything */
} never_fails;
#define NEVER_FAILS(kind) OP_FIELD(NEVER_FAILS_##kind, 51)
#define OP_NEVER_FAILS(t) ((never_fails)OP_FIELD_OF(t, 51, 2))
#define ASKS_GEOMETRY OP_TRAIT(53) /* reads no element of its first argument, a tensor */
/* a new tensor on the storage of the first argument, whatever the arguments are */
#define MAKES_VIEW OP_TRAIT(54)
#define READS_DEEPLY OP_TRAIT(55) /* looks into the elements of a list */
/* in its own place: sizes, strides or the storage change, not only elements */
#define RESHAPES OP_TRAIT(56)
/* or what shares memory with one, though the schema does not say so */
#define MAY_RETURN_ARGUMENT OP_TRAIT(57)
/* dtypes that operators do not compute with (dtype_is_stored): */
#define MOVES OP_TRAIT(62) /* taken: the function copies or converts elements, whatever they are */
/* in a wider dtype, to which they are converted; of itself it would refuse */
#define WIDENS OP_TRAIT(63)
#define OP_TAKES_STORED(t)                                                                         \
    (((t) & (MOVES | MAKES_VIEW | ASKS_GEOMETRY | DEVICE_BLIND)) || OP_FUSIBLE(t) == FUSIBLE_VIEW)
/* WRITES(set): arguments that are written though the schema does not say so. */
typedef enum unmarked_writes {
    WRITES_NOTHING,
    WRITES_STATISTICS, /* 3 and 4, unless argument 5 is False */
    WRITES_GATHERED,   /* 3 and 4 */
    WRITES_UPDATED,    /* 1 and 2 */
    WRITES_NOISE,      /* 1, unless argument 4 is False */
    WRITES_SELF,       /* 0 */
    WRITES_COUNT
} unmarked_writes;
#define WRITES(set) OP_FIELD(WRITES_##set, 58)
#define OP_WRITES(t) ((unmarked_writes)OP_FIELD_OF(t, 58, 3))

/* Effects, work, that the function touches no element, and warnings. */
#define OP_TRAITS_OF_WRITES                                                                        \
    (OP_FIELD(127, 0) | OP_FIELD(63, 19) | OP_FIELD(31, 44) | DEVICE_BLIND | RESHAPES |            \
     MAY_RETURN_ARGUMENT | OP_FIELD(7, 58) | MOVES)

#endif
