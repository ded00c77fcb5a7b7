/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_internal.h - the lowering of a group of tensor operators: what its files share.
 *
 *     group.c            reads the graph into lazy tensors, decides, fills in the plan
 *     group_reduce*.c    reductions, softmax, norms, losses as lazy tensors (group_reduce.h)
 *     group_walk.c       which memory a value reads, and how the addresses move with the indices
 *     group_pointwise.c  schedule: every element of the outputs on its own
 *     group_pointwise_cuda.c  the same on a GPU
 *     group_stages.c     reductions that depend on one another: their shape, their order, which values are kept
 *     group_rows.c       schedule: reductions over the innermost dims, a row at a time
 *     group_blocks.c     schedule: few reductions of many elements, in blocks
 *     group_columns.c    schedule: reductions over other dims, a tile of columns at a time
 *     group_columns_cuda.c  the same on a GPU
 *
 * A graph is read twice. The first reading finds out which sizes have to be equal and which have to
 * be 1 (the plan's guards); in the second, equal sizes are one expression and known ones are
 * constants, so that addresses can be compared by looking at them.
 */
#ifndef CTSC_CODEGEN_LOWER_GROUP_INTERNAL_H
#define CTSC_CODEGEN_LOWER_GROUP_INTERNAL_H

#include "base/map.h"
#include "codegen/lower/group.h"
#include "codegen/lower/lazy/lazy_internal.h"

enum { GROUP_MAX_OUTPUTS = 32, GROUP_MAX_LOADS = 96, GROUP_MAX_REDUCTIONS = 16 };

/* What a size or int argument is in the second reading. */
typedef struct group_name {
    bool is_const;
    int64_t k;
    int argument, dim;
} group_name; /* dim -1: the int argument itself */

typedef struct group_product {
    nest_expr *x, *y, *xy;
} group_product;

/* A reduction: its result is not an expression of the index but what a loop has left in
 * `value`, for the row or column that the loop was at. In groups where reductions are unrolled,
 * it is a sum in place. */
typedef struct group_reduction {
    const lazy_tensor *src;
    lazy_tensor *t;
    nest_acc acc;
    bool mask[LAZY_MAX_DIMS]; /* dims of src that go */
    bool keepdim;
    /* it is the first place of this minmax, which is made of the same values; else NULL */
    const struct group_reduction *place_of;
    /* while code is made: the result, and at which index of t */
    nest_expr *value, *at[LAZY_MAX_DIMS];
} group_reduction;

/* A value of the graph, which a schedule may compute once and then have read from
 * where it is kept. */
typedef struct group_kept {
    lazy_tensor *t;
    const lazy_tensor *src;
    nest_expr *value, *at[LAZY_MAX_DIMS];
} group_kept;

/* The dims of an output in memory order, the outermost first, if that is not their
 * own order. Loops over elements follow memory: the lazy tensor then has its dims
 * in that order (`turned`). Where there are reductions, their dims decide. */
typedef struct group_order {
    bool permuted, turned;
    int dims[LAZY_MAX_DIMS];
} group_order;

typedef struct group_state {
    arena *a;
    const graph *g;
    const value *args;
    group_plan *p;
    lazy l;
    ptrmap values;    /* ir_value -> group_value */
    VEC(int64_t) now; /* what slots are for the arguments at hand */
    VEC(group_product) products;
    /* of the second reading: (LAZY_MAX_DIMS + 1) per argument; NULL in the first */
    const group_name *names;
    bool unroll;  /* reductions are sums in place */
    bool generic; /* sizes become constants only where operators need it */
    group_target target;
    nest_expr *domain; /* elements that the parallel loop goes through in all, at least */
    /* a schedule has specialised on a size, and needs the graph read again with it */
    bool again;
    group_reduction *reductions[GROUP_MAX_REDUCTIONS];
    int nreductions;
    VEC(group_kept *) kept;        /* in the order of computation */
    struct group_staging *staging; /* of loads: a schedule's (group_pointwise.c) */
    lazy_tensor *outputs[GROUP_MAX_OUTPUTS];
    group_order orders[GROUP_MAX_OUTPUTS];
    nest_buffer *buffers[GROUP_MAX_OUTPUTS];
    int noutputs;
} group_state;

/* ---- numbers (group.c) ----------------------------------------------------------------------- */

/* The slot that computes e; -1: no slots can. */
int group_slot_of(group_state *s, const nest_expr *e);
int64_t group_now(group_state *s, int slot);
/* Is t of the shape of what r sums over its few last elements, and needs no sums itself? */
bool group_is_wide(group_state *s, const lazy_tensor *t, const group_reduction *r);
/* What e is for the arguments at hand; other: if it is not known. */
int64_t group_value_of(group_state *s, const nest_expr *e, int64_t other);
/* x * y, the same expression for the same factors. */
nest_expr *group_mul(group_state *s, nest_expr *x, nest_expr *y);
nest_expr *group_numel(group_state *s, int ndim, nest_expr *const *sizes);
/* What the size e is for the arguments at hand; it is to be that for all others. False: it
 * cannot be known. */
LAZY_ASKED bool group_specialise(group_state *s, nest_expr *e, int64_t *out);

/* ---- reductions (group_reduce.c) ------------------------------------------------------------- */

/* out: the node's results, at most two. False: it cannot be done for these arguments. */
bool group_apply_reduce(group_state *s, const node *n, const lazy_arg *args, lazy_tensor **out);
lazy_tensor *group_keep(group_state *s, lazy_tensor *t);
group_reduction *group_reduction_of(const lazy_tensor *t); /* NULL: t is not a reduction */
group_kept *group_kept_of(const lazy_tensor *t);
/* The value that accumulates nothing, in the type of r's dtype. */
nest_expr *group_identity(group_state *s, const group_reduction *r);
/* Sets what a reduction or kept value is at an index; NULL: nothing any more. */
void group_bind_reduction(group_state *s, group_reduction *r, nest_expr *value,
                          nest_expr *const *at);
void group_bind_kept(group_state *s, group_kept *k, nest_expr *value, nest_expr *const *at);

/* ---- addresses (group_walk.c) ---------------------------------------------------------------- */

typedef struct group_load {
    nest_expr *load;
    /* by how much the address moves with each index; NULL: not linear in it */
    nest_expr *step[LAZY_MAX_DIMS];
} group_load;

typedef struct group_walk {
    int nvars;
    nest_expr *vars[LAZY_MAX_DIMS],
        *sizes[LAZY_MAX_DIMS]; /* the indices that values were requested at, and their extents */
    group_load loads[GROUP_MAX_LOADS];
    int nloads;
    bool too_many;
} group_walk;

/* Between begin and end, requested code goes to a separate
 * nest, which is discarded; end examines all loads in it. */
void group_walk_begin(group_state *s, group_walk *w, int nvars, nest_expr *const *sizes);
void group_walk_note(group_state *s, group_walk *w, nest_expr *value);
void group_walk_end(group_state *s, group_walk *w);
/* e, a part of what was noted, with other expressions in place of the variables. */
nest_expr *group_walk_put(group_state *s, const group_walk *w, nest_expr *e,
                          nest_expr *const *with);
/* Is e that? */
bool group_walk_is(const group_walk *w, const nest_expr *pattern, nest_expr *const *with,
                   const nest_expr *e);
/* Do x and y, integers, look the same? */
bool group_same(const nest_expr *x, const nest_expr *y);

/* Dims [first, last] as one loop: `extent` long, its variable the index of `last`,
 * the others at 0. */
typedef struct group_loop {
    int first, last;
    nest_expr *extent;
} group_loop;
/* The fewest loops over dims [first, end). */
int group_loops(group_state *s, const group_walk *w, int first, int end, group_loop *out);
/* The address of element `index` of a contiguous tensor. */
nest_expr *group_address(group_state *s, int ndim, nest_expr *const *sizes,
                         nest_expr *const *index);

/* The address of element `index` of output i; scattered: not that of a row-major tensor. */
nest_expr *group_output_address(group_state *s, int i, nest_expr *const *index);
static inline bool group_is_scattered(const group_state *s, int i) {
    return s->orders[i].permuted && !s->orders[i].turned;
}

/* ---- stages (group_stages.c) ----------------------------------------------------------------- */

enum { GROUP_MAX_STORED = 4 };

/* A value of full size that is read back in later stages from where the first has
 * materialised it. */
typedef struct group_materialised {
    group_kept *kept;
    nest_buffer *buffer;
    bool local;
} group_materialised;

/* Reductions of one shape over the same dims, in stages: a reduction whose operand needs another
 * one runs in a stage after it. */
typedef struct group_stages {
    group_state *s;
    int ndim;                 /* of a full value */
    bool mask[LAZY_MAX_DIMS]; /* dims that are reduced */
    nest_expr *sizes[LAZY_MAX_DIMS];
    group_reduction *reductions[GROUP_MAX_REDUCTIONS];
    int nreductions, last;        /* the last stage, of the outputs; the first is 1 */
    bool full[GROUP_MAX_OUTPUTS]; /* the output is of full size, */
    /* or has one element per result; the others are made beside, once */
    bool result[GROUP_MAX_OUTPUTS];
    int nbeside;
    /* loops over dims that stay, and over the others */
    group_loop kept[LAZY_MAX_DIMS], reduced[LAZY_MAX_DIMS];
    int nkept, nreduced;
    bool gathers;                    /* some loads jump from element to element of a row */
    nest_expr *index[LAZY_MAX_DIMS]; /* where the code is */
    group_materialised materialised[GROUP_MAX_STORED];
    int nmaterialised;
    bool used[GROUP_MAX_OUTPUTS]; /* the output holds a materialised value until the last stage */
    int64_t local_bytes;          /* of materialised rows */
} group_stages;

/* False: the reductions or the outputs do not fit together. */
bool group_stages_find(group_state *s, group_stages *f);
bool group_stages_loops(group_stages *f);
bool group_stages_is_inner(const group_stages *f); /* Is the innermost dim reduced? */
/* In iteration t of the parallel loop over [0, extent) (t NULL: there is none): the first makes
 * the outputs beside. */
void group_stages_beside(group_stages *f, nest_expr *t, nest_expr *extent);
/* Chooses what to store; local: rows in local buffers are possible. */
void group_stages_store(group_stages *f, bool local);
/* At the start of an element in `stage`: what earlier stages have materialised is read, what is new
 * is made and materialised. */
void group_stages_use(group_stages *f, int stage);
/* The last stage of an element: the outputs that have it. */
void group_stages_results(group_stages *f);
void group_stages_forget(group_stages *f); /* at the end of a loop */
/* One vector loop over elements [begin, end) of a row, counted as if all reduced dims were one.
 * Gives how many loops that is: none if no dim is reduced. */
int group_stages_open_flat(group_stages *f, nest_expr *begin, nest_expr *end);
/* The indices of reduced dims at element t of those. */
void group_stages_flat_index(group_stages *f, nest_expr *t);
/* The power of 2 that e is at most, and more than half of; the plan says so. */
int64_t group_bucket(group_state *s, nest_expr *e);
/* The index of t, which has one element per result, where the code is. */
void group_stages_index(const group_stages *f, const lazy_tensor *t, nest_expr *const *index,
                        nest_expr **out);
void group_stages_bind(group_stages *f, group_reduction *r, nest_expr *value,
                       nest_expr *const *index);
/* elements per result */
nest_expr *group_stages_width(const group_stages *f);
/* of a result among all */
nest_expr *group_stages_address(const group_stages *f, nest_expr *const *index);
/* per element of full size */
int group_stages_cost(const group_stages *f);
bool group_is_one(const nest_expr *e);
/* The minmax whose places are all that `stage` looks for; then only the first block that has the
 * minmax matters. NULL: none. */
const group_reduction *group_stages_arg(const group_stages *f, int stage);
/* Are positions of a minimum or maximum (argmin, argmax) needed among values directly
 * from memory? Then a second pass over all of it costs more than the operator. */
bool group_stages_seeks_plainly(const group_stages *f);
/* Does a reduction or an output read k? What only full_like(k) asks for, its shape, is not even
 * addressed: dims are joined as those tensors have them that are read. */
bool group_stages_needs_ever(const group_stages *f, const group_kept *k);
/* Is v, the minmax r of more elements, to take the place of best? */
nest_expr *group_is_better(group_state *s, const group_reduction *r, nest_expr *v, nest_expr *best);

/* ---- schedules ------------------------------------------------------------------------------- */

/* Fill the nest, buffers of outputs, range and grain. False: this schedule does not do. */
bool group_schedule_pointwise(group_state *s);
bool group_schedule_rows(group_state *s);
bool group_schedule_blocks(group_state *s);
bool group_schedule_columns(group_state *s);
bool group_schedule_columns_cuda(group_state *s);
/* Memory of `length` elements for the time of the call. */
nest_buffer *group_scratch(group_state *s, const char *name, dtype dt, nest_expr *length);
/* The number e as an input of the kernel, which the plan's ranges need as well. */
nest_expr *group_input(group_state *s, nest_expr *e);
nest_buffer *group_output_buffer(group_state *s, int i);
/* Output i by loops of its own, for the first iteration of the parallel loop (or beside none). */
void group_side_output(group_state *s, int i);
/* Makes the size e a constant of the next reading. False: it is one. */
bool group_ask_constant(group_state *s, nest_expr *e);
/* The parallel loop runs over [0, extent), each iteration costs about `cost` quarter cycles. */
void group_set_range(group_state *s, nest_expr *extent, nest_expr *work, int cost);

#endif
