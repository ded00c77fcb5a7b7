/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_tuning.h - the numbers of the lowering that were chosen because kernels are
 * faster with them.
 *
 * Machines: two cores of an AMD EPYC with AVX2 (docs/bench-ops.md) for loops of the processor,
 * an H200 (docs/bench-cuda.md) for those of a GPU. In brackets the benchmark that shows whether
 * a change is a gain: [kernels] make bench-kernels, [ops] make bench-ops, [models] make bench,
 * [cuda] make bench-cuda; [exact] numbers do not affect speed but rounding: tests know the
 * sums. Limits of a kernel's size are where they are checked (group_internal.h, lazy.h).
 */
#ifndef CTSC_CODEGEN_LOWER_PLAN_GROUP_TUNING_H
#define CTSC_CODEGEN_LOWER_PLAN_GROUP_TUNING_H

/* Shapes of loops and threads (group.c). */
enum {
    /* [ops] work worth a thread, in quarter cycles: some microseconds, ten times what
     * handing over costs */
    GROUP_GRAIN_COST = 64 * 1024,
    /* [kernels] elements of a reduction that may be unrolled in place, */
    GROUP_UNROLL_LIMIT = 32,
    GROUP_UNROLL_TINY = 4, /* [kernels] and those that are in any memory order; */
    GROUP_UNROLL_WIDE = 8, /* [training] of an output beside what is summed over its last dim */
};

/* Elements (group_pointwise.c). */
enum {
    POINT_AGAIN_COST = 24, /* [models] what is dearer is not computed over and over, */
    POINT_AGAIN_TIMES = 4, /* [models] more often than this */
    POINT_SHARED = 16,     /* [ops] iterations that the parallel loop should have */
    /* [kernels] an innermost loop up to this long is unrolled, if the one around is long */
    POINT_NARROW = 8,
    /* [models] other outputs must be smaller than the domain by this factor */
    POINT_BESIDE = 4,
    POINT_LITTLE = 4096, /* [models] elements that do not matter */
    /* [kernels] of an element, from which on prefetching is a small part */
    POINT_PREFETCH_COST = 8,
    /* [models] elements of an iteration, if there are iterations only to have a first one */
    POINT_BLOCK = 4096,
    /* [kernels] [cuda] a tile's side, where loads jump in memory */
    POINT_TILE = 64,
    /* [cuda] of tiles that are copied first: shared memory that a cooperative group has
     * without asking for more */
    POINT_STAGED_BYTES = 48 * 1024,
    POINT_TEAM = 256, /* [cuda] threads of a cooperative group that makes a tile */
};

/* Values of rows that stages keep (group_stages.c). */
enum {
    STAGES_STORE_COST = 8,     /* [kernels] what is cheaper is computed again */
    STAGES_LOCAL = 8192,       /* [kernels] elements of a row in a local buffer */
    STAGES_SHARED = 64 * 1024, /* [cuda] bytes of rows in a cooperative group's shared memory */
    /* [models] outputs of other shapes, made by one thread, are smaller than S by this factor */
    STAGES_BESIDE = 4,
    STAGES_LITTLE = 4096, /* [models] or all of it is no more elements than this */
    /* [ops] of elements up to which the argmin or argmax is better left to the operator */
    STAGES_SEEK_COST = 1,
};

/* Reductions of rows (group_rows.c). */
enum {
    ROWS_BLOCK = 4096, /* [exact] elements that are summed in float */
    ROWS_TINY = 64,    /* [ops] elements that are quickly looked through */
    /* [ops] a single row longer than this is better shared by threads, which one nest cannot; */
    ROWS_ALONE = 64 * 1024,
    ROWS_FEW = 4,          /* [ops] so are a few that are much longer */
    ROWS_WARP = 1024,      /* [cuda] elements of a row that a warp makes; */
    ROWS_LANE = 8,         /* [cuda] elements of each lane there; */
    ROWS_THREAD = 16,      /* [cuda] elements of each thread of a block; */
    ROWS_GROUPS = 128,     /* [cuda] fewer rows than this, */
    ROWS_LONG = 32 * 1024, /* [cuda] longer than this, are better shared by blocks */
};

/* Reductions of columns on the host (group_columns.c). */
enum {
    COLUMNS_TILE = 128,  /* [kernels] columns whose sums are kept at a time */
    COLUMNS_BLOCK = 256, /* [exact] floats that are added in float */
    /* [kernels] values that cost more are kept for the following stages */
    COLUMNS_KEEP_COST = 3,
    COLUMNS_FEW = 4, /* [ops] fewer tiles than this, */
    /* [ops] each of more elements than this, are better left to operators that share
     * them among threads */
    COLUMNS_ALONE = 512 * 1024,
    /* [kernels] elements of a column taken together, so that sums are loaded and stored less, */
    COLUMNS_TIMES = 4,
    COLUMNS_CHEAP = 8, /* [kernels] if they cost less than this */
};

/* Reductions of columns on a GPU (group_columns_cuda.c). */
enum {
    TILE_COLUMNS = 32, /* [cuda] of a tile */
    TILE_LANE = 16,    /* [cuda] elements of a column that a thread reads, */
    TILE_LANES = 32,   /* [cuda] if there are no more threads than this for it */
    TILE_FEW = 256,    /* [cuda] fewer tiles than this are cut, */
    TILE_CHUNK = 1024, /* [cuda] into chunks of this many elements of a column, */
    TILE_LONG = 2048,  /* [cuda] if columns are longer than this */
};

/* Reductions shared by threads (group_blocks.c). */
enum {
    /* [exact] elements of a block, some microseconds of work: sums of blocks are added up */
    BLOCKS_SIZE = 32 * 1024,
    BLOCKS_SUM = 4096,        /* [exact] elements that are summed in float */
    BLOCKS_TEAM = 256,        /* [cuda] threads of a cooperative group, */
    BLOCKS_CHUNK = 16 * 1024, /* [cuda] and its elements */
};

/* Loops of the program (loops/group_loop*.c). */
enum {
    /* [models] up to this many elements are unrolled, not looped over: their number is
     * part of the plan */
    LOOP_UNROLL = 4,
    LOOP_LANES = 4,  /* [exact] sums side by side, */
    LOOP_SHORT = 32, /* [exact] of at least this many elements */
    /* [kernels] iterations of an innermost loop between two looks at whether the call is to end */
    FLOW_STRIP = 1024,
};

#endif
