/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_pointwise.h - what the schedules of pointwise groups share: group_pointwise.c, and
 * group_pointwise_cuda.c for a GPU.
 */
#ifndef CTSC_CODEGEN_LOWER_GROUP_POINTWISE_H
#define CTSC_CODEGEN_LOWER_GROUP_POINTWISE_H

#include "codegen/lower/group_internal.h"

/* What is made: outputs of the largest shape by the loops, the others beside them. */
typedef struct point_state {
    group_state *s;
    const lazy_tensor *domain;
    int outputs[GROUP_MAX_OUTPUTS], noutputs; /* of the domain's shape */
    int beside[GROUP_MAX_OUTPUTS], nbeside;
    /* of the domain's shape and a few elements more: what sums in place are made of */
    int wide[GROUP_MAX_OUTPUTS], nwide;
    nest_expr *index[LAZY_MAX_DIMS];
} point_state;

enum { POINT_MAX_STAGED = 64 };

/* A load that is copied first. Its address as the walk has it; rows: one element per iteration of
 * the loop around, too. */
typedef struct point_staged {
    const group_load *load;
    nest_buffer *local;
    bool rows;
} point_staged;

typedef struct group_staging {
    const group_walk *w; /* of the loops */
    point_staged loads[POINT_MAX_STAGED];
    int n;
    int pitch;               /* of a tile's rows */
    nest_expr **at;          /* what the walk's variables are now */
    nest_expr *row, *column; /* in the tile */
} group_staging;

/* Stores the outputs of the domain's shape at p->index. */
void point_store(point_state *p);
int point_cost(const group_state *s);
nest_expr *point_tiles(group_state *s, nest_expr *extent);
/* From here to point_end_staged, loads that are staged come from the tiles. */
void point_begin_staged(group_state *s, group_staging *g);
void point_end_staged(group_state *s);

/* The loops of a pointwise group on a GPU. w: of the domain; g: loads to go through tiles;
 * NULL: there are none. */
void point_flat(point_state *p, const group_walk *w, const group_loop *loops, int nloops);
void point_tiled_coop(point_state *p, const group_loop *loops, int nloops, group_staging *g);

#endif
