/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - the differential fuzzer's parts: random numbers, evaluation of a graph node by node,
 * worlds, and outcomes that can be compared.
 *
 * A case is a graph and arguments for it (graph_gen.h). It is run unchanged and
 * after passes, and everything that a caller could observe must be the same:
 * results, the arguments' contents afterwards, which tensors share elements,
 * and whether it failed. Floats that differ are judged by noise (outcome.h).
 */
#ifndef CTSC_TESTS_DIFF_H
#define CTSC_TESTS_DIFF_H

#include "ir/graph/graph.h"
#include "runtime/context/runtime.h"

#include <stdlib.h>

/* ---- random numbers (splitmix64: S. Vigna, public domain algorithm) -------------------------- */

typedef struct rng { uint64_t state; } rng;

static inline uint64_t rng_next(rng *r) {
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static inline int64_t rng_range(rng *r, int64_t lo, int64_t hi) { /* both ends included */
    return lo + (int64_t)(rng_next(r) % (uint64_t)(hi - lo + 1));
}
static inline bool rng_chance(rng *r, int percent) { return (int)(rng_next(r) % 100) < percent; }
static inline double rng_real(rng *r, double lo, double hi) {
    return lo + (hi - lo) * (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* ---- copies of values ------------------------------------------------------------------------ */

/* Copies that share with each other what the originals share (storages, tensors, lists, tuples),
 * and nothing with them. */
void copy_values(size_t n, const value *from, value *to);

/* The contents of everything that some values reach, to go back to. */
typedef struct world_storage { storage *s; size_t at; } world_storage;
typedef struct world_tensor { tensor *t, saved; } world_tensor;
typedef struct world_list { list *l; size_t at, n; } world_list;
typedef struct world {
    VEC(world_storage) storages;
    VEC(world_tensor) tensors;
    VEC(world_list) lists;
    VEC(char) bytes;
    VEC(value) items;
} world;
void world_save(world *w, size_t n, const value *values);
void world_restore(world *w);
void world_free(world *w); /* it can be filled again */

/* ---- evaluation ------------------------------------------------------------------------------ */

/* Runs graphs node by node with the operators' functions: slower than the interpreter, independent
 * of it, and able to add noise. */
typedef struct evaluation {
    VEC(value) values; /* by ir_value.id; owned */
    runtime rt;
    diag *d;
    uint64_t steps;
    rng noise;
    bool noisy;   /* results are off by some units in the last place */
    bool coarse;  /* ... those of layers in the last place of a bfloat16 */
    bool cancels; /* ... and may become 0 where larger numbers were subtracted */
    /* What runs a prim::FusionGroup; NULL: there are none. */
    ctsc_status (*on_group)(void *ctx, struct evaluation *e, const node *n);
    void *ctx;
} evaluation;

enum { EVALUATION_STEPS = 20000 };

void evaluation_init(evaluation *e, diag *d);
void evaluation_clear(evaluation *e); /* forgets all values */
void evaluation_free(evaluation *e);
void evaluation_set_take(evaluation *e, const ir_value *v, value x);
static inline value evaluation_get(const evaluation *e, const ir_value *v) {
    return (size_t)v->id < e->values.len ? e->values.data[v->id] : value_none();
}
ctsc_status evaluate_op(evaluation *e, const op *o, int n, const value *args,
                        type *const *out_types, value *results);
ctsc_status evaluate_node(evaluation *e, const node *n);
ctsc_status evaluate_block(evaluation *e, const block *b);
/* Rounds of a loop from `from` on; the block's parameters but the first hold what is carried.
 * *last: how many rounds there were. */
ctsc_status evaluate_loop(evaluation *e, const node *n, int64_t from, bool go_on);
/* Parameters of g get references on args. */
ctsc_status evaluate_graph(evaluation *e, const graph *g, const value *args);

/* ---- outcomes -------------------------------------------------------------------------------- */

/* What a caller sees of a run. Numbers are kept in order: floats as doubles with one NaN,
 * all else as int64. */
typedef struct outcome {
    ctsc_status status;
    char *message;  /* of a failure */
    strbuf shape;   /* kinds, dtypes, sizes: equal text or not comparable */
    strbuf sharing; /* which tensors share elements, the same */
    strbuf order;   /* strides; compared of fusion groups alone (nests.c) */
    VEC(uint64_t) bits;
    VEC(uint8_t) kinds; /* of bits: a float's dtype, or OUTCOME_EXACT */
} outcome;
enum { OUTCOME_EXACT = 255 };

/* The arguments after a run, and what it returned. */
/* got shares as want does: native loops may return copies of what their operators pass on
 * (passes/fusion/fuse_loops.c), so that only what tensors hold is compared. */
void outcome_share_as(outcome *got, const outcome *want);
void outcome_record(outcome *o, ctsc_status status, const diag *d, size_t nargs, const value *args,
                    size_t nresults, const value *results);
void outcome_free(outcome *o);
/* Is there a number like that among the values: NaN, or with infinite, infinite or NaN? */
bool evaluation_has_odd(const evaluation *e, bool infinite);
bool outcome_equal(const outcome *a, const outcome *b);
void outcome_explain(const outcome *want, const outcome *got, strbuf *out);

/* Is got what rounding may make of want? Runs the graph up to `runs` times with noise and looks
 * whether results scatter that far. */
bool outcome_within_noise(const graph *g, size_t nargs, const value *args, const outcome *want,
                          const outcome *got, int runs, bool coarse, uint64_t seed);

#endif
