/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_traits.h - what is known of an operator: the last columns of a row of ops/NAME.def, one record
 * per overload (op.traits).
 *
 *     OP("aten::sigmoid", op_sigmoid, OP_INTO, FUSE(POINTWISE, 12), WORK(POINTWISE, 1), RANK(SAME), FLOATS_SAME, FLOATS_MADE, TWIN(FLOATS))
 *
 * Each word of a row initialises fields of the record, so the compiler refuses a row that sets a
 * field twice; a row that says nothing has 0. What many rows say together has one word
 * (the end of this file).
 *
 * Code that transforms, places, counts or runs operators reads these fields and has no list
 * of names of its own. Aliases (ops/aliases.def) have the traits of their targets; in-place
 * and out= overloads (op_derive.h) only what holds for them as well (op_traits_of_writes).
 *
 * After its key a row with CALLS can say which scalar function that is, where it has not the
 * operator's name: OP("aten::special_xlog1py" CALLED("xlog1py"), ...).
 */
#ifndef CTSC_IR_OP_OP_TRAITS_H
#define CTSC_IR_OP_OP_TRAITS_H

#include "ir/op/lowered.h"

#include <stdbool.h>

#define CALLED(name) "\1" name

/* ---- kinds ----------------------------------------------------------------------------------- */

/* FUSE(kind, cost): what part the operator can have in a kernel, and its cost in rough quarter
 * cycles per float32 element of vector code. */
typedef enum fusible_kind {
    FUSIBLE_NONE,
    FUSIBLE_POINTWISE, /* element by element, with broadcasting */
    /* an index map: unsqueeze, transpose, select, slice, expand, chunk's parts, ... */
    FUSIBLE_VIEW,
    FUSIBLE_REDUCE, /* sum, mean, max, argmax, var, norm, ... over dims */
    FUSIBLE_ROWS,   /* pointwise and reductions over the same dims: softmax, layer_norm, ... */
} fusible_kind;
enum { OP_COST_MAX = 255 };

/* CALLS(kind, operands): a pointwise operator's element is the scalar function
 * of its name (CALLED's) on this many tensors, followed by numbers. */
typedef enum call_kind {
    CALL_NOT,    /* the lowering has a rule for it (codegen/lower/lazy/lazy_ops.c) */
    CALL_FLOATS, /* of floating tensors only */
    CALL_REALS,  /* integers and bools become float32 */
} call_kind;

/* WORK(kind, a): floating-point operations and bytes of a call (runtime/observe/work.h). */
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

/* RANK(rule): the result's dims. */
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

/* TWIN(need): when the in-place call x.f_() is the same as x = f(x). */
typedef enum twin_need {
    TWIN_NEVER,
    TWIN_ALWAYS, /* dtype and shape are self's in both forms */
    TWIN_FLOATS, /* if self is floating and other operands are real numbers */
    TWIN_TYPES,  /* if dtype and sizes of self and other are known and agree */
} twin_need;

/* NEVER_FAILS(kind) */
typedef enum never_fails {
    FAILS_PERHAPS,
    NEVER_FAILS_NUMBERS, /* given nothing but ints, floats, bools and None */
    NEVER_FAILS_TENSORS, /* given a tensor alone: a question that each can answer */
    NEVER_FAILS_VALUES,  /* given anything */
} never_fails;

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

/* AUTOCAST(class): what autocast of the CPU makes of the arguments that are tensors.
 * SCRIPT_CAST(class): the same in scripts, where PyTorch has other lists (passes/autocast.c). */
typedef enum autocast_class {
    AUTOCAST_NONE,
    AUTOCAST_LOWER,  /* converted to autocast's dtype */
    AUTOCAST_FULL,   /* to float32; in scripts, unless an argument `dtype` says otherwise */
    AUTOCAST_WIDEST, /* to the widest dtype among them */
    SCRIPT_CAST_LOWER = AUTOCAST_LOWER,
    SCRIPT_CAST_FULL = AUTOCAST_FULL,
    SCRIPT_CAST_REFUSED = AUTOCAST_WIDEST, /* not within autocast */
} autocast_class;

/* COLLECTIVE(part): of a collective between processes, what passes/overlap.c moves apart. */
typedef enum collective_part {
    COLLECTIVE_NOT,
    COLLECTIVE_START, /* its results have no elements until they are waited for */
    COLLECTIVE_WAIT,  /* gives its argument, complete */
} collective_part;

/* STRIDES(rule): the memory order of the elements of new results (tensor/strides.h). */
typedef enum strides_rule {
    STRIDES_AS_MADE,  /* the function sees to it: row-major, or by one of these rules */
    STRIDES_ROWS,     /* row-major, though the function follows its operands */
    STRIDES_OPERANDS, /* as pointwise operators: by all arguments that are tensors */
    STRIDES_LIKE,     /* as the first argument, results of its shape */
    STRIDES_FORMAT,   /* channels last if the first argument has them so */
    STRIDES_PAD,      /* the same, where something is added; else as the first argument */
    STRIDES_CONV,     /* channels last if the first or the second has */
    STRIDES_CAT,      /* channels last if all tensors of the list have */
    STRIDES_STACK,
} strides_rule;

/* FAMILY(id): under what documents list the operator, and the page of graphs draws it. */
typedef enum operator_family {
    FAMILY_OF_FILE, /* that of the row's file (ops.def) */
#define FAMILY_NAME(id, text) FAMILY_##id,
#include "ir/op/op_family.def"
#undef FAMILY_NAME
    FAMILY_COUNT
} operator_family;

/* OUT_DTYPE(rule): an out= tensor whose dtype is not the result's. */
typedef enum out_dtype_rule {
    OUT_DTYPE_AS_MADE,   /* pointwise operators and what orders_out convert, others refuse it */
    OUT_DTYPE_CONVERTED, /* converted to, as most that end in a pointwise operator or a copy */
    OUT_DTYPE_EXACT,     /* refused, unless the result is a part of complex numbers */
} out_dtype_rule;

/* DEVICE_CHECK(as): what PyTorch calls the function that finds tensors on different devices. */
typedef enum device_check {
    CHECK_NAME,       /* by the overload's name */
    CHECK_STRUCTURED, /* by the operator's name alone */
    /* that of another operator, which runs in its place (runtime/cuda/dispatch.c) */
    CHECK_ADDMM,
    CHECK_MM,
    CHECK_INDEX_SELECT,
} device_check;

/* ---- the record ------------------------------------------------------------------------------ */

typedef struct op_traits {
    /* ---- effects, and how the function is called --------------------------------------------- */

    /* prints, raises, warns, draws from the generator: never removed or moved */
    bool side_effect : 1;
    /* draws random numbers (unless told not to train): never merged or folded */
    bool draws : 1;
    bool is_volatile : 1; /* may answer otherwise next time: never merged or folded */
    bool unsafe : 1;      /* touches files or the network: refused unless the program allows it */
    bool special : 1;     /* compiled to bytecode of its own; the function is NULL */
    /* the function serves the in-place and out= overloads too: it looks where its results go
     * (op_target) */
    bool into : 1;
    /* written in TorchScript (frontend/prelude/operators.py): op_host.composite_body is what it
     * does */
    bool composite : 1;
    /* a program's own (ctsc_register_op): what else its function does is unknown */
    bool foreign : 1;
    /* PyTorch alone lacks it: archives that are written call its body (op_host.composite_body) */
    bool ours : 1;

    /* ---- kernels ----------------------------------------------------------------------------- */

    fusible_kind fusible : 3;
    call_kind call : 2;
    unsigned call_operands : 2;
    unsigned cost : 8;
    lowered_op lowered : 8; /* the rule for it, where that has not the operator's name */

    /* ---- the result's dims and dtype --------------------------------------------------------- */

    rank_rule rank : 3;
    bool dtype_same : 1;  /* that of the first argument */
    bool floats_same : 1; /* that of the first argument, if it is floating */
    bool floats_kept : 1; /* floating, if that of the first argument is */
    bool floats_made : 1; /* floating or complex, unless an argument `dtype` says otherwise */

    /* ---- calls that cannot fail, and in-place calls ------------------------------------------ */

    bool total : 1;           /* works for every tensor, if all else is left at its default */
    bool total_on_floats : 1; /* for every float32 or float64 one */
    bool asks_strides : 1;    /* looks at how the elements are laid out, not only at them */
    twin_need twin : 2;
    strides_rule strides : 4;
    bool orders_out : 1; /* of an out= overload: what it resizes gets the base's order, too */
    out_dtype_rule out_dtype : 2;

    /* ---- work -------------------------------------------------------------------------------- */

    work_kind work : 5;
    unsigned work_arg : 5;

    /* ---- tensors on a device (runtime/cuda/dispatch.h); without any of these it becomes a kernel,
     * or the host does it ---- */

    bool on_device : 1; /* computes where its arguments are (kernels/engine/device_kernels.h) */
    /* touches no element: it asks for geometry, makes a view, calls other operators */
    bool device_blind : 1;
    /* made of other operators, where no kernel computes it: frontend/prelude/operators/device.py */
    bool device_body : 1;
    device_check device_check : 3;

    autocast_class autocast : 2;
    autocast_class script_cast : 2;
    operator_family family : 6;

    /* ---- gradients (runtime/autograd) -------------------------------------------------------- */

    bool no_gradient : 1; /* its results are constants as far as gradients go, whatever it takes */
    bool asks_gradient : 1; /* a program that has it records what it does */
    /* computes nothing but by operators that it calls (op_call): these are what is recorded */
    bool calls_others : 1;
    /* the sizes of its results depend on elements: a call is not a model of the next */
    bool sized_by_data : 1;

    collective_part collective : 2;

    /* ---- what neither schema nor effects say (ir/graph/alias_effects.c). Without the first three
     * an optimisation is lost; without the others it is wrong ---- */

    never_fails never_fails : 2;
    bool asks_geometry : 1; /* reads no element of its first argument, a tensor */
    /* a new tensor on the storage of the first argument, whatever the arguments are */
    bool makes_view : 1;
    bool reads_deeply : 1; /* looks into the elements of a list */
    /* in its own place: sizes, strides or the storage change, not only elements */
    bool reshapes : 1;
    /* or what shares memory with one, though the schema does not say so */
    bool may_return_argument : 1;
    unmarked_writes writes : 3;

    /* ---- dtypes that operators do not compute with (dtype_is_stored) ------------------------- */

    bool moves : 1; /* taken: the function copies or converts elements, whatever they are */
    /* in a wider dtype, to which they are converted; of itself it would refuse */
    bool widens : 1;
    /* the same of unsigned integers alone, whose values matter and not only their bits */
    bool widens_values : 1;
} op_traits;

/* Two thousand rows have one. */
_Static_assert(sizeof(op_traits) <= 12, "traits are three words of 32 bits");
_Static_assert(FUSIBLE_ROWS < 8 && CALL_REALS < 4 && WORK_RNN < 32 && RANK_OF_LIST < 8 &&
                   TWIN_TYPES < 4 && NEVER_FAILS_VALUES < 4 && AUTOCAST_WIDEST < 4 &&
                   LOWERED_COUNT <= 256 && STRIDES_STACK < 16 && FAMILY_COUNT <= 64 &&
                   CHECK_INDEX_SELECT < 8 && WRITES_COUNT <= 8 && COLLECTIVE_WAIT < 4 &&
                   OUT_DTYPE_EXACT < 4,
               "each kind fits into its field");

/* Two calls may differ: not to be merged, folded or run early. */
static inline bool op_traits_differ(op_traits t) { return t.draws || t.is_volatile; }

/* It takes dtypes that are only stored as they are. */
static inline bool op_traits_take_stored(op_traits t) {
    return t.moves || t.makes_view || t.asks_geometry || t.device_blind ||
           t.fusible == FUSIBLE_VIEW;
}

/* PyTorch generates the out= overloads of the others (clone.out, relu.out): row-major. */
static inline bool op_orders_out(op_traits t) {
    return t.strides == STRIDES_OPERANDS || t.strides == STRIDES_FORMAT ||
           t.strides == STRIDES_CAT ||
           (t.strides == STRIDES_AS_MADE && t.fusible == FUSIBLE_POINTWISE);
}

/* What holds for the in-place and out= overloads of an operator as well: effects, work, that the
 * function touches no element, and warnings. */
static inline op_traits op_traits_of_writes(op_traits t) {
    return (op_traits){
        .side_effect = t.side_effect,
        .draws = t.draws,
        .is_volatile = t.is_volatile,
        .unsafe = t.unsafe,
        .special = t.special,
        .into = t.into,
        .composite = t.composite,
        .widens = t.widens,
        .widens_values = t.widens_values,
        .foreign = t.foreign,
        .work = t.work,
        .work_arg = t.work_arg,
        .device_blind = t.device_blind,
        .reshapes = t.reshapes,
        .may_return_argument = t.may_return_argument,
        .writes = t.writes,
        .moves = t.moves,
        .strides = op_orders_out(t) ? t.strides : STRIDES_AS_MADE,
        .orders_out = op_orders_out(t),
        .out_dtype = t.out_dtype,
    };
}

/* ---- the words of rows ----------------------------------------------------------------------- */

/* clang-format off */
#define OP_SIDE_EFFECT      .side_effect = true
#define OP_DRAWS            .draws = true
#define OP_VOLATILE         .is_volatile = true
#define OP_UNSAFE           .unsafe = true
#define OP_SPECIAL          .special = true
#define OP_INTO             .into = true
#define OP_COMPOSITE        .composite = true
#define OP_OURS             .ours = true
#define FUSE(kind, n)       .fusible = FUSIBLE_##kind, .cost = (n)
#define LOWERED(name)       .lowered = LOWER_##name
#define CALLS(kind, n)      .call = CALL_##kind, .call_operands = (n)
#define WORK(kind, a)       .work = WORK_##kind, .work_arg = (a)
#define RANK(rule)          .rank = RANK_##rule
#define DTYPE_SAME          .dtype_same = true
#define FLOATS_SAME         .floats_same = true
#define FLOATS_KEPT         .floats_kept = true
#define FLOATS_MADE         .floats_made = true
#define TOTAL               .total = true
#define TOTAL_ON_FLOATS     .total_on_floats = true
#define AUTOCAST(class)     .autocast = AUTOCAST_##class
#define SCRIPT_CAST(class)  .script_cast = SCRIPT_CAST_##class
#define TWIN(need)          .twin = TWIN_##need
#define ASKS_STRIDES        .asks_strides = true
#define COLLECTIVE(part)    .collective = COLLECTIVE_##part
#define STRIDES(rule)       .strides = STRIDES_##rule
#define OUT_DTYPE(rule)     .out_dtype = OUT_DTYPE_##rule
#define ON_DEVICE           .on_device = true
#define DEVICE_BLIND        .device_blind = true
#define DEVICE_BODY         .device_body = true
#define DEVICE_CHECK(as)    .device_check = CHECK_##as
#define NO_GRADIENT         .no_gradient = true
#define ASKS_GRADIENT       .asks_gradient = true
#define CALLS_OTHERS        .calls_others = true
#define SIZED_BY_DATA       .sized_by_data = true
#define FAMILY(id)          .family = FAMILY_##id
#define NEVER_FAILS(kind)   .never_fails = NEVER_FAILS_##kind
#define ASKS_GEOMETRY       .asks_geometry = true
#define MAKES_VIEW          .makes_view = true
#define READS_DEEPLY        .reads_deeply = true
#define RESHAPES            .reshapes = true
#define MAY_RETURN_ARGUMENT .may_return_argument = true
#define WRITES(set)         .writes = WRITES_##set
#define MOVES               .moves = true
#define WIDENS              .widens = true
#define WIDENS_VALUES       .widens_values = true

/* What rows say together. */
#define RANDOM              OP_SIDE_EFFECT, OP_DRAWS /* draws from the generator in each call */
#define ELEMENT(cost)       OP_INTO, FUSE(POINTWISE, cost), WORK(POINTWISE, 1)
#define ELEMENT_CALL(cost, kind, n) ELEMENT(cost), CALLS(kind, n)
#define ELEMENTARY(cost)    ELEMENT_CALL(cost, REALS, 1), RANK(SAME), FLOATS_SAME, FLOATS_MADE, TWIN(FLOATS), TOTAL_ON_FLOATS
#define TENSOR_QUESTION     DEVICE_BLIND, NEVER_FAILS(TENSORS), ASKS_GEOMETRY
/* clang-format on */

#endif
