/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - shared by the files of the pass "layout" (layout.c explains the pass).
 *
 *   layout.c         the walk, regions and their costs, the rewriting of the graph
 *   layout_rules.c   pointwise operators, joining and splitting, sizes, reductions, permutations
 *   layout_conv.c    convolutions, pools, padding: operators that have a version of their own for channels that come last
 *   layout_shuffle.c channels that are shuffled between groups
 *   layout_rules.def which rule is for which operator
 */
#ifndef CTSC_PASSES_LAYOUT_LAYOUT_H
#define CTSC_PASSES_LAYOUT_LAYOUT_H

#include "ir/graph/alias.h"
#include "passes/pass/pass.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

#include <limits.h>

enum {
    LAYOUT_MAX_SPATIAL = 3,
    LAYOUT_MAX_ARGS = 64,
    LAYOUT_ANY_RANK = INT_MAX,
    LAYOUT_CHANNELS = 64 /* where the number is not known */
};

/* The layout of x in the original program (tensor/strides.h),
 * which its readers outside of a region may observe. */
typedef enum layout_order {
    ORDER_UNKNOWN, /* nobody has said yet; row-major in the end */
    ORDER_ROWS,
    ORDER_LAST, /* channels last */
    ORDER_ASKED /* channels last if `lies_last`, a bool of the program, says so */
} layout_order;

/* x', for a value x. Of a list: the list of its elements' twins. */
typedef struct layout_twin {
    ir_value *last; /* NULL: there is none (any more) */
    int spatial;
    /* how many dims it has, where it gets by without an error; the order of dims makes sense
     * where least > spatial */
    int least, most;
    /* about how many; what a conversion costs follows from it, nothing else does */
    int64_t channels;
    bool own; /* memory that nothing else has */
    layout_order order;
    ir_value *lies_last;
    int region;
} layout_twin;

typedef struct layout_region { int above; double gain, cost; } layout_region;
typedef struct layout_made { node *n; int region; } layout_made;
typedef struct layout_change { node *n; int region; ir_value *plain; } layout_change;

typedef struct layout {
    graph *g;
    alias_db *db;
    arena scratch;
    ptrmap twins;               /* ir_value -> layout_twin */
    VEC(layout_region) regions; /* a forest: values that are converted together or not at all */
    VEC(layout_made) made;      /* new nodes, in the order they were made */
    VEC(layout_change) changes; /* nodes that have a counterpart among them */
    VEC(int) used;              /* regions whose twins the rule at work has used */
    node *at;                   /* the node that a rule works on; new nodes go in front of it */
    int region;                 /* theirs */
    /* set by rules whose result has its dims in the order it always had: what replaces it */
    ir_value *plain;
    bool failed; /* no memory */
} layout;

/* Makes the counterpart of n, and gives its outputs twins or sets l->plain. False: it cannot; what
 * it has made by then goes. */
typedef bool layout_rule(layout *l, node *n);
#define LAYOUT(key, rule) layout_rule rule;
#include "passes/layout/layout_rules.def"
#undef LAYOUT
layout_rule layout_pointwise;

/* ---- twins ----------------------------------------------------------------------------------- */

/* The twin of v that can be used at l->at; NULL: none. sure: one that has more than `spatial`
 * dims for certain. */
layout_twin *layout_find(layout *l, const ir_value *v, bool sure);
/* The same with this many spatial dims, which is then used. */
layout_twin *layout_use(layout *l, const ir_value *v, int spatial, bool sure);
/* The same, by a conversion if there is none; NULL: v is written later, or has a twin of another
 * kind. channels: about how many it has. */
layout_twin *layout_bring(layout *l, ir_value *v, int spatial, int64_t channels);
/* Gives v, an output of l->at, a twin that is like
 * `like` in all but `last`. NULL if out of memory. */
layout_twin *layout_give(layout *l, ir_value *v, ir_value *last, const layout_twin *like);

/* t has `like`'s layout, unless another layout has been set. */
static inline void layout_follow(layout_twin *t, const layout_twin *like) {
    if (t->order != ORDER_UNKNOWN) return;
    t->order = like->order;
    t->lies_last = like->lies_last;
}
/* An operator of the program sets the layout of v, whose twin has been given. */
void layout_say_order(layout *l, const ir_value *v, layout_order order);
/* t has the layout of v, a value outside of regions. */
void layout_ask_order(layout *l, layout_twin *t, ir_value *v);

/* ---- new nodes in front of l->at ------------------------------------------------------------- */

/* The first output; NULL: there is no such operator, or it has no function. */
ir_value *layout_op(layout *l, const op *o, int n, ir_value *const *args);
/* with other inputs */
node *layout_clone(layout *l, const node *n, int nargs, ir_value *const *args);
ir_value *layout_list(layout *l, int n, ir_value *const *elements, type *t);
ir_value *layout_constant_take(layout *l, value v);
ir_value *layout_int(layout *l, int64_t i);
ir_value *layout_ints(layout *l, int n, const int64_t *ints);

/* ---- dims ------------------------------------------------------------------------------------ */

/* A dim as it counts from the end (-1: the last), where it can be in only one of the ranks that the
 * value may have; 0: that is not known. Holds if the operator that gets it succeeds. */
int layout_from_end(const layout_twin *t, int64_t dim);
/* Dim v of the value whose twin is t, as one of t->last. *from_end (may be NULL): layout_from_end.
 * NULL if out of memory. */
ir_value *layout_dim(layout *l, const layout_twin *t, ir_value *v, int *from_end);

#endif
