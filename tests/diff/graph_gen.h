/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_gen.h - random well-typed graphs, and arguments that they run on.
 *
 * Method. The generator knows the value of everything it has built: it runs each operator on the
 * values at hand before it places the node, and drops what fails. So graphs are well-typed in
 * shapes as well, and nearly all of what is generated is run. Branches that are not taken and loops
 * that make no round are generated on values that are put back afterwards; of a loop the first
 * round is generated, the others are evaluated, and a loop that fails in one of them is dropped.
 * Avoided is what cannot be compared: random numbers, memory that nobody wrote, strides of results,
 * numbers near the ends of their range (there the order of a sum decides whether it overflows), and
 * writes to constants.
 */
#ifndef CTSC_TESTS_GRAPH_GEN_H
#define CTSC_TESTS_GRAPH_GEN_H

#include "coverage.h"

enum {
    GEN_MAX_ARGS = 8,
    GEN_MAX_DIMS = 5,
    GEN_MAX_NUMEL = 400,
    GEN_MAX_IMAGE = 4096,
    GEN_MAX_BYTES = 64 * GEN_MAX_IMAGE, /* of a storage */
    GEN_SIZES = 3
};

/* Where an argument comes from, so that others like it can be made. */
typedef enum gen_layout {
    LAYOUT_CONTIGUOUS,
    LAYOUT_TRANSPOSED,
    LAYOUT_SLICED,
    LAYOUT_EXPANDED,
    LAYOUT_APART, /* rows of a wider tensor, at a stride of a multiple of 4 KiB */
    LAYOUT_VIEW,
    LAYOUT_COUNT
} gen_layout;
typedef struct gen_argument {
    /* V_TENSOR, V_INT, V_FLOAT, V_BOOL, V_LIST (of tensors: `count` like this one) */
    value_tag tag;
    dtype dt;
    int ndim, count;
    int sizes[GEN_MAX_DIMS]; /* >= 0: a size of its own; ~k: sizes[k] of the case */
    gen_layout layout;
    int style;   /* of the numbers */
    int view_of; /* LAYOUT_VIEW: an earlier argument's storage */
} gen_argument;

typedef struct gen_case {
    graph *g;
    int nargs;
    gen_argument recipes[GEN_MAX_ARGS];
    int64_t sizes[GEN_SIZES];
    value args[GEN_MAX_ARGS];
    bool fails;  /* the last operator fails */
    bool images; /* made by gen_image.c, for the most part */
} gen_case;

typedef enum gen_focus { FOCUS_ANY, FOCUS_POINTWISE, FOCUS_SCALARS, FOCUS_COUNT } gen_focus;

/* Tables made once from the operator registry. images:
 * percentage of cases that are networks on images. */
typedef struct gen_ops gen_ops;
gen_ops *gen_ops_new(int images);
void gen_ops_free(gen_ops *ops);

/* false: nothing worth running came of this seed. */
bool gen_case_new(const gen_ops *ops, uint64_t seed, gen_case *out);
/* One where an operator of the first label makes what one of the second reads. False: it did not
 * come to that; miss says why. */
bool gen_case_pair(const gen_ops *ops, uint64_t seed, int first, int second, gen_case *out,
                   coverage_miss *miss);
void gen_case_free(gen_case *c);
/* g, a copy of the case's graph, learns the sizes and dtypes that its tensors have with the case's
 * arguments, as graphs of captured calls have them. False: a tensor's sizes change. */
bool gen_case_learn(const gen_case *c, graph *g);
/* Other arguments of the same make: other sizes, layouts and numbers. */
void gen_case_vary(gen_case *c, rng *r, int64_t max_size);
/* The same with one size so long that kernels cut it into blocks or tiles. */
void gen_case_stretch(gen_case *c, rng *r);

#endif
