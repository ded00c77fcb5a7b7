/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_reduce.h - how operators are made of reductions and of arithmetic on whole tensors.
 *
 *     group_reduce.c        reductions, and sum, mean, minmaxes, softmax, ...
 *     group_reduce_index.c  position of a minimum or maximum: argmax, max with a dim
 *     group_reduce_norm.c   norms, variance with its mean, layer_norm, group_norm, similarity
 *     group_reduce_loss.c   losses
 *
 * All of it takes NULL for "there is none" and gives NULL then, so that makers read as formulas.
 */
#ifndef CTSC_CODEGEN_LOWER_GROUP_REDUCE_H
#define CTSC_CODEGEN_LOWER_GROUP_REDUCE_H

#include "codegen/lower/group_internal.h"

/* What a reduction is over. */
typedef struct reduced_over {
    const lazy_tensor *x;
    bool mask[LAZY_MAX_DIMS], keepdim;
    nest_expr *count;    /* elements of x per result */
    lazy_tensor *second; /* the operator's second result, if it has two */
} reduced_over;

/* What an operator makes of its arguments; rule: op.lowered. */
typedef lazy_tensor *reduced_maker(group_state *s, lowered_op rule, const node *n,
                                   const lazy_arg *args, reduced_over *o);

/* ---- arithmetic on whole tensors ------------------------------------------------------------- */

lazy_tensor *reduced_add(group_state *s, const lazy_tensor *x, const lazy_tensor *y);
lazy_tensor *reduced_sub(group_state *s, const lazy_tensor *x, const lazy_tensor *y);
lazy_tensor *reduced_mul(group_state *s, const lazy_tensor *x, const lazy_tensor *y);
lazy_tensor *reduced_div(group_state *s, const lazy_tensor *x, const lazy_tensor *y);
lazy_tensor *reduced_call(group_state *s, const char *function, const lazy_tensor *x);
lazy_tensor *reduced_cast(group_state *s, const lazy_tensor *x, dtype dt);
/* condition ? x : y, all broadcast; x and y of one dtype. */
lazy_tensor *reduced_where(group_state *s, const lazy_tensor *condition, const lazy_tensor *x,
                           const lazy_tensor *y);
/* x op y for a comparison. */
lazy_tensor *reduced_compare(group_state *s, nest_op op, const lazy_tensor *x,
                             const lazy_tensor *y);
lazy_tensor *reduced_constant(group_state *s, dtype dt, double x);
dtype reduced_wide(dtype dt); /* what dt is computed in */

/* ---- reductions ------------------------------------------------------------------------------ */

void reduced_set_count(group_state *s, reduced_over *o);
/* The count as a 0-dim tensor of dtype dt. */
lazy_tensor *reduced_count(group_state *s, const reduced_over *o, dtype dt);
lazy_tensor *reduced_of(group_state *s, const reduced_over *o, const lazy_tensor *src,
                        nest_acc acc);
/* The same, always keeping dims: for use beside x. */
lazy_tensor *reduced_beside(group_state *s, const reduced_over *o, const lazy_tensor *src,
                            nest_acc acc);
/* The sum of o->x, in dtype dt. */
lazy_tensor *reduced_sum_as(group_state *s, const reduced_over *o, dtype dt);
/* The norm of o->x of order p. */
lazy_tensor *reduced_norm_of(group_state *s, const reduced_over *o, double p, dtype dt);
/* The mean of x in its computing type, beside x. */
lazy_tensor *reduced_center(group_state *s, const reduced_over *o, const lazy_tensor *x);
/* t, which has dims of size 1 where o reduces, without them unless they are to be kept. */
lazy_tensor *reduced_drop(group_state *s, const reduced_over *o, lazy_tensor *t);

/* ---- arguments ------------------------------------------------------------------------------- */

/* NULL: the operator has no such argument. */
const lazy_arg *reduced_named(const node *n, const lazy_arg *args, const char *name);
bool reduced_dtype(group_state *s, const node *n, const lazy_arg *args, dtype other, dtype *out);

/* ---- makers ---------------------------------------------------------------------------------- */

reduced_maker reduced_place, reduced_minmax_and_place, reduced_norm, reduced_pairwise,
    reduced_cosine, reduced_instance_norm, reduced_group_norm, reduced_loss;

#endif
