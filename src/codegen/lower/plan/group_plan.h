/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_plan.h - what the lowering of a group leaves: the nest, for which arguments it holds, and
 * how the numbers it needs follow from them.
 *
 * Numbers: a plan has a list of int64 *slots*, computed in order at each call: sizes and strides of
 * arguments, int arguments, constants, and arithmetic on earlier slots.
 *
 * Ownership: a plan is in the arena that its builder is given.
 * Tests: tests/unit/test_group.c
 */
#ifndef CTSC_CODEGEN_LOWER_PLAN_GROUP_PLAN_H
#define CTSC_CODEGEN_LOWER_PLAN_GROUP_PLAN_H

#include "codegen/nest/nest.h"
#include "ir/graph/graph.h"
#include "tensor/tensor.h"
#include "tensor/value.h"

/* ---- numbers --------------------------------------------------------------------------------- */

typedef enum slot_kind {
    SLOT_SIZE,   /* sizes[b] of tensor argument a */
    SLOT_STRIDE, /* strides[b] of tensor argument a, in elements */
    SLOT_INT,    /* int or bool argument a */
    SLOT_CONST,  /* k */
    SLOT_ADD,
    SLOT_SUB,
    SLOT_MUL,
    SLOT_MIN,
    SLOT_MAX,   /* of slots a, b */
    SLOT_DIV,   /* floor division of slot a by slot b; 0 if b is 0 */
    SLOT_NUMEL, /* number of elements of tensor argument a */
} slot_kind;

typedef struct group_slot { slot_kind kind; int a, b; int64_t k; } group_slot;

/* ---- conditions ------------------------------------------------------------------------------ */

/* What one argument has to be like. */
typedef struct group_argument {
    value_tag tag; /* V_TENSOR, V_INT, V_FLOAT, V_BOOL, V_NONE */
    dtype dt;      /* of a tensor */
    int ndim;
    /* a tensor must be contiguous; else any strides do, but those that `guards` fix */
    bool contiguous;
    /* the kernel writes to it: it must be writable and share no storage with another
     * tensor argument */
    bool written;
    bool specialised; /* its value is part of the plan (an int used as a dim, a bool): `known` */
    int64_t known;
} group_argument;

/* a == b; a < b; a == k; a > 0; |a| < 2^30 */
typedef enum guard_kind {
    SLOTS_EQUAL,
    SLOTS_ASCEND,
    SLOT_IS,
    SLOT_POSITIVE,
    SLOT_SMALL
} guard_kind;
typedef struct group_guard { guard_kind kind; int a, b; int64_t k; } group_guard;

/* ---- the plan -------------------------------------------------------------------------------- */

typedef struct group_output {
    /* V_TENSOR: fresh; V_INT, V_FLOAT, V_BOOL: one element of int64, float64,
     * bool in a buffer */
    value_tag tag;
    dtype dt;
    int ndim;
    /* slots; in memory order, where that differs from the dims' own */
    int sizes[TENSOR_MAX_DIMS];
    bool permuted;
    uint8_t order[TENSOR_MAX_DIMS]; /* if permuted: the i-th of these is dim order[i] */
    /* >= 0: no buffer: the output is argument `alias` itself (a tensor that a native loop
     * wrote to); else -1 */
    int alias;
} group_output;

/* Data of tensor argument `index`; of output `index`; or memory for the time of the call, as many
 * bytes as slot `index` says. */
typedef enum buffer_kind { BUFFER_ARGUMENT, BUFFER_OUTPUT, BUFFER_SCRATCH } buffer_kind;
typedef struct group_buffer { buffer_kind kind; int index; } group_buffer;

/* What a nonzero result of the kernel means: message has one %lld for the
 * fault's value, or none; %s is replaced by the sizes "[2, 3]" of `nsizes`
 * slots. exception: NULL if the interpreter names none either. */
typedef struct group_fault {
    int64_t code;
    const char *exception, *message;
    const call_site *call; /* how the node came there, as range the graph's */
    source_range range;
    int nsizes;
    const int *sizes;
} group_fault;
/* Results of kernels. */
enum {
    /* these numbers are not what it was made for: it has done nothing, the group is
     * to be interpreted */
    GROUP_UNFIT = 1,
    GROUP_STOPPED, /* the caller stopped it (kernel_call.stop) */
    GROUP_FIRST_FAULT
};

/* The shapes of loops that a group can become. A group_*.c has each. */
/* clang-format off */
#define GROUP_SCHEDULE_TABLE(X)                                                                    \
    X(LOOP,          "loop")              /* group_loop.c: loops of the program */                 \
    X(ELEMENTS,      "elements")          /* group_pointwise.c: one loop, or nested ones, */       \
    X(NARROW,        "narrow")            /* the last of which is short and unrolled, */           \
    X(BESIDE,        "elements beside")   /* or iterations of a block each, and other outputs in the first, */               \
    X(TILES,         "tiles")             /* or tiles; operands with strided access are copied, */ \
    X(IN_PLACE,      "sums in place")     /* or any of these, with reductions of a few elements unrolled */           \
    X(ROWS,          "rows")              /* group_rows.c, */                                      \
    X(LONG_ROWS,     "long rows")         /* summed in blocks */                                   \
    X(BLOCKS,        "blocks")            /* group_blocks.c */                                     \
    X(COLUMNS,       "columns")           /* group_columns.c, */                                   \
    X(LONG_COLUMNS,  "long columns")      /* summed in blocks */                                   \
    X(CUDA_ELEMENTS, "CUDA elements")     /* group_pointwise_cuda.c */                             \
    X(CUDA_TILES,    "CUDA tiles")                                                                 \
    X(CUDA_IN_PLACE, "CUDA sums in place")                                                         \
    X(CUDA_ROWS,     "CUDA rows")                                                                  \
    X(CUDA_BLOCKS,   "CUDA blocks")                                                                \
    X(CUDA_COLUMNS,  "CUDA columns")      /* group_columns_cuda.c, */                              \
    X(CUDA_CHUNKS,   "CUDA columns in chunks") /* each summed by several blocks */
/* clang-format on */

typedef enum group_schedule {
#define GROUP_SCHEDULE_ENUM(e, text) GROUP_##e,
    GROUP_SCHEDULE_TABLE(GROUP_SCHEDULE_ENUM)
#undef GROUP_SCHEDULE_ENUM
    GROUP_SCHEDULES
} group_schedule;

typedef struct group_plan {
    nest *nest;
    group_schedule schedule;
    VEC(group_argument) arguments; /* one per parameter */
    VEC(group_slot) slots;
    VEC(group_guard) guards;
    VEC(group_buffer) buffers; /* in the order of the nest's */
    VEC(int) ints;             /* slots, in the order of the nest's ints */
    VEC(int) floats;           /* float arguments, in the order of the nest's floats */
    VEC(group_output) outputs; /* one per return of the graph */
    VEC(group_fault) faults;
    int range_begin, range_end; /* slots: the parallel loop's range; -1: the nest has none */
    /* slots that grow, the last one range_end: iterations before a barrier are done when those
     * after it begin; none: there are no such places */
    VEC(int) barriers;
    /* slot: chunks of that range worth handing to a thread are at least so long */
    int grain_size;
    VEC(nest_expr *) exprs; /* of slots, where plan_expr made them; NULL elsewhere */
} group_plan;

/* Sizes and strides of an output, a tensor. */
void plan_output_layout(const group_output *o, const int64_t *slots, int64_t *sizes,
                        int64_t *strides);

/* What a kernel is called with, in arrays of the caller; scalars: outputs that are not tensors. */
typedef struct plan_frame {
    void **buffers;
    int64_t *ints;
    double *floats;
    int64_t *scalars;
} plan_frame;
/* Makes the outputs, and fills f but for scratch buffers. results: as many values, None. Fails
 * without memory; what is in results then is the caller's to release. */
ctsc_status plan_bind(const group_plan *p, const int64_t *slots, const value *args,
                      const plan_frame *f, diag *d, value *results);
/* The bytes of all scratch buffers, and their places from `at` on, which is aligned. */
enum { PLAN_SCRATCH_ALIGN = 64 };
int64_t plan_scratch_bytes(const group_plan *p, const int64_t *slots);
void plan_bind_scratch(const group_plan *p, const int64_t *slots, char *at, const plan_frame *f);
/* Outputs that are not tensors, once the kernel has run. */
void plan_read_scalars(const group_plan *p, const int64_t *scalars, value *results);

/* Describes fault `code` (GROUP_FIRST_FAULT or more) in d, as the interpreter would. slots: the
 * values of p->slots. */
ctsc_status group_describe_fault(const group_plan *p, const int64_t *slots, int64_t code,
                                 int64_t fault, diag *d);

/* Do these arguments fit the plan? If so, slots holds the values of p->slots.len slots. Quick and
 * without allocations: runs at every call. */
bool plan_guards_hold(const group_plan *p, const value *args, int64_t *slots);
/* The value of one slot, from those before it. */
int64_t plan_slot_value(const group_plan *p, int slot, const value *args, const int64_t *slots);

/* The specialisation key: what lowering may look at in these arguments, without sizes other than 1,
 * as a number. Arguments of one key have one plan, or none. */
uint64_t group_key(int n, const value *args);

/* A copy in another arena, without the nest. Look at arena_failed. */
group_plan *plan_copy(arena *a, const group_plan *p);

/* For builders of plans. Equal slots are made once. */
int plan_slot(group_plan *p, arena *a, slot_kind kind, int x, int y, int64_t k);
int plan_size(group_plan *p, arena *a, int argument, int dim);
int plan_stride(group_plan *p, arena *a, int argument, int dim);
int plan_const(group_plan *p, arena *a, int64_t k);
void plan_relate(group_plan *p, arena *a, guard_kind kind, int x, int y, int64_t k); /* once */
/* The nest's int input for a slot (constants become constants). The same expression
 * for the same slot. */
nest_expr *plan_expr(group_plan *p, arena *a, int slot);

#endif
