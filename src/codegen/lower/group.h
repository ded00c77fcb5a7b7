/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - a fusion group, for arguments like those at hand, becomes one kernel.
 *
 *     graph(%x : Tensor, %b : Tensor):                      x: float32 (n, m), contiguous; b: float32 (m), contiguous
 *       %y : Tensor = aten::mul(%x, %x)              ->     nest group(float32 *x, float32 *b, float32 *out, int n, int m)
 *       %z : Tensor = aten::add(%y, %b, %one)               output: float32 (n, m)
 *       return (%z)
 *
 * A group is a graph of its own (attribute Subgraph of a prim::FusionGroup node): its parameters
 * are the group's arguments, tensors and ints, floats, bools; everything constant is inside. It is
 * lowered when it is first run with arguments of a new kind, so dtypes, ranks, layouts and the
 * pattern of broadcasting are known exactly; sizes stay symbolic. The plan says for which arguments
 * it holds (its conditions), and how numbers that the kernel needs follow from the arguments
 * (plan/group_plan.h).
 *
 * Groups that cannot be lowered, or would be slower than the operators one by one, have
 * no plan: the operators are then called one by one. So nothing in here reports errors
 * of programs; arguments that make an operator fail (sizes that do not broadcast) must
 * not pass a plan's guards. The only failures that a kernel reports itself are those of
 * native loops (index out of range, division by zero): plan->faults words them.
 *
 * Ownership: a plan and its nest are in the arena given to group_lower.
 * Tests: tests/unit/test_group.c
 */
#ifndef CTSC_CODEGEN_LOWER_GROUP_H
#define CTSC_CODEGEN_LOWER_GROUP_H

#include "codegen/lower/plan/group_plan.h"

/* The processor that the kernel is for: schedules differ. Of CUDA's, nests have cooperative groups
 * and say when 32 bits do for indices (nest.h, points 9 and 11). */
typedef enum group_target { GROUP_HOST, GROUP_CUDA } group_target;

typedef struct group_options {
    bool generic; /* no size becomes a constant for speed alone: for groups that meet many sizes */
    group_target target;
} group_options;

/* args: one value per parameter of g; options: NULL means all 0. *out: the plan,
 * or NULL if there is none for such arguments. Fails only if out of memory. */
ctsc_status group_lower(arena *a, const graph *g, const value *args, const group_options *options,
                        group_plan **out, diag *d);

#endif
