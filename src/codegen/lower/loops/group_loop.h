/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_loop.h - internals of the lowering of loops: what
 * values are while a loop is lowered, and which file does what.
 *
 *     group_loop.c         the plan: arguments, results, what is decided in front of the loop
 *     group_loop_flow.c    blocks, loops, branches
 *     group_loop_number.c  operators on Python numbers, and what is known about the range of ints
 *     group_loop_view.c    places in tensors: select, slice, checks of indices
 *     group_loop_tensor.c  elements: reading, writing, pointwise operators, sums
 *
 * Every function that lowers something says false where it cannot: the group then has no plan.
 */
#ifndef CTSC_CODEGEN_LOWER_LOOPS_GROUP_LOOP_H
#define CTSC_CODEGEN_LOWER_LOOPS_GROUP_LOOP_H

#include "codegen/lower/lazy/lazy.h"
#include "codegen/lower/plan/group_plan.h"
#include "ir/graph/loop_ops.h"

enum {
    LOOP_MAX_BASES = 24,   /* tensor arguments */
    LOOP_MAX_CARRIED = 64, /* values carried through one loop */
};

/* A bound of an int: base + c, where base (NULL: 0) is the same number all through the kernel. */
typedef struct loop_bound { bool known; nest_expr *base; int64_t c; } loop_bound;

/* A tensor argument. */
typedef struct loop_base {
    int argument, number; /* number: among the bases */
    nest_buffer *buffer;
    dtype dt;
    int ndim;
    nest_expr *sizes[LAZY_MAX_DIMS], *strides[LAZY_MAX_DIMS];
    bool written;
    int last_write; /* on the clock */
} loop_base;

/* A place in a tensor argument. */
typedef struct loop_view {
    loop_base *base;
    int ndim;
    nest_expr *sizes[LAZY_MAX_DIMS], *strides[LAZY_MAX_DIMS];
    nest_expr *offset;
    /* of the base; a dim that is kept as a whole, -1: a slice of it, or a new one */
    int dims[LAZY_MAX_DIMS];
    bool whole; /* the argument itself */
} loop_view;

/* One of: a view; one element of a new tensor, in `value` (a variable, if the program writes to
 * it); elements still to be computed. */
typedef struct loop_tensor {
    dtype dt;
    int ndim;
    nest_expr *sizes[LAZY_MAX_DIMS];
    const loop_view *view;
    nest_expr *value;
    const lazy_tensor *lazy;
    uint32_t reads; /* of lazy: the bases it reads, a bit each */
    /* of lazy: the only place it reads in a written base; NULL: none, or several (many_sources) */
    const loop_view *source;
    bool many_sources;
    bool shares; /* may be a view of what it was made of */
    int made;    /* on the clock */
} loop_tensor;

typedef enum loop_kind {
    LOOP_UNSET,
    LOOP_NUMBER,
    LOOP_TENSOR,
    LOOP_CONSTANT,
    LOOP_LIST,
    LOOP_UNINIT
} loop_kind;

typedef struct loop_value {
    loop_kind kind;
    nest_expr *e;         /* NUMBER: bool, i64 or f64 */
    loop_bound low, high; /* of an int: bounds that it keeps, both ends included */
    nest_expr *root;      /* of an int: it is root + c */
    int64_t c;
    const struct loop_value *terms[2]; /* of a sum: what was added; else NULL */
    value constant;                    /* CONSTANT: None, a device, a string, a list; borrowed */
    struct loop_value **items;         /* LIST, of numbers */
    int nitems;
    loop_tensor *tensor;
} loop_value;

typedef struct loop_state {
    arena *a;
    const graph *g;
    const value *args;
    group_plan *p;
    nest *n;
    lazy l;
    ptrmap values;      /* ir_value -> loop_value */
    ptrmap written_new; /* objects made in the group that are written */
    loop_base bases[LOOP_MAX_BASES];
    int nbases, clock;
    int questions;               /* asked about one carried int so far */
    nest_stmt *fits;             /* if (...) fail(GROUP_UNFIT), at the top */
    VEC(nest_expr *) conditions; /* what has to hold for the kernel */
    VEC(nest_expr *) slot_exprs; /* by slot */
    bool failed;                 /* no memory */
} loop_state;

/* ---- values (group_loop.c) ------------------------------------------------------------------- */
loop_value *loop_get(loop_state *s, const ir_value *v); /* NULL: not known */
loop_value *loop_input(loop_state *s, const node *n, int i);
void loop_set(loop_state *s, const ir_value *v, loop_value *x);
loop_value *loop_number(loop_state *s, nest_expr *e);             /* computed here, once */
void loop_set_number(loop_state *s, const node *n, nest_expr *e); /* of n's output */
loop_value *loop_of_tensor(loop_state *s, loop_tensor *t);
/* The slot of a size or number that is known before the kernel; -1: it is not one. And its value
 * at specialisation. */
int loop_slot(loop_state *s, const nest_expr *e);
bool loop_evaluate(loop_state *s, const nest_expr *e, int64_t *out);
/* A condition on what is known before the kernel: is it so for the arguments at hand, and
 * will it be checked? */
bool loop_demand(loop_state *s, nest_expr *condition, bool holds);
/* A fault of n; sizes (may be NULL): of what the message's %s is about. 0: it cannot be worded. */
int64_t loop_fault(loop_state *s, const node *n, const char *message, int nsizes,
                   nest_expr *const *sizes);

/* ---- flow (group_loop_flow.c) ---------------------------------------------------------------- */
bool loop_lower_block(loop_state *s, const block *b);
/* false: v is of a type that is not a number's. */
bool loop_number_type(const type *t, nest_type *out);

/* ---- numbers (group_loop_number.c) ----------------------------------------------------------- */
bool loop_lower_number(loop_state *s, const node *n, loop_class cls, const char *text);
/* a number as another, as Python would */
nest_expr *loop_as(loop_state *s, nest_expr *e, nest_type t);
loop_bound loop_bound_const(int64_t c);
loop_bound loop_bound_add(loop_state *s, loop_bound a, loop_bound b, int sign);
loop_bound loop_bound_of(nest_expr *e); /* of a number that is known before the kernel */
/* Is the base far from where arithmetic wraps? Demanded, if it is not a size. */
bool loop_sane(loop_state *s, loop_bound b);
/* Is low >= 0? Is high < size? Known already, or demanded (then checked in front of the kernel). */
bool loop_not_negative(loop_state *s, loop_bound low);
bool loop_below(loop_state *s, loop_bound high, nest_expr *size);

/* ---- views (group_loop_view.c) --------------------------------------------------------------- */
bool loop_lower_view(loop_state *s, const node *n, loop_class cls, const char *text);
bool loop_lower_query(loop_state *s, const node *n, loop_class cls, const char *text);
/* Do elements with different indices in a and b never share memory? (the same views,
 * or different rows) */
bool loop_rows_apart(const loop_view *a, const loop_view *b);

/* ---- elements (group_loop_tensor.c) ---------------------------------------------------------- */
bool loop_lower_tensor(loop_state *s, const node *n, loop_class cls, const char *text);
/* The single element of t, read now; NULL: t has more, or none. */
nest_expr *loop_read_one(loop_state *s, const loop_tensor *t);
/* A new tensor of one element (ndim dims of size 1) that belongs to v. */
loop_tensor *loop_new_one(loop_state *s, const ir_value *v, dtype dt, int ndim, nest_expr *value);
/* e as memory of dtype dt would give it back */
nest_expr *loop_round(loop_state *s, dtype dt, nest_expr *e);

/* ---- group_loop.c ---------------------------------------------------------------------------- */

/* A group whose graph holds loops: as group_lower (group.h), which calls it. */
ctsc_status group_lower_loop(arena *a, const graph *g, const value *args, group_plan **out,
                             diag *d);

#endif
