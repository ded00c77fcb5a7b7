/* SPDX-License-Identifier: Apache-2.0 */
/* gen.h - shared by the files of the graph generator (graph_gen.h). */
#ifndef CTSC_TESTS_GEN_H
#define CTSC_TESTS_GEN_H

#include "graph_gen.h"

typedef struct gen {
    rng r;
    const gen_ops *ops;
    graph *g;
    evaluation e;
    diag d;
    VEC(ir_value *) scope; /* visible values, oldest first */
    /* of constant tensors: never written; borrowed from the graph's constants */
    VEC(storage *) constants;
    int64_t sizes[GEN_SIZES];
    int nodes_left, depth;
    gen_focus focus;
    bool images;   /* steps of gen_image.c, mostly */
    bool may_fail; /* what is placed next may fail, rarely */
    bool finished; /* an operator that fails was placed: nothing may follow */
    node *failed;
} gen;

/* A mark to go back to: what was placed in the current block, and became visible, since. */
typedef struct gen_mark { node *last; size_t scope; } gen_mark;
gen_mark gen_mark_here(const gen *G);
void gen_undo(gen *G, gen_mark m);

static inline value gen_value(const gen *G, const ir_value *v) { return evaluation_get(&G->e, v); }
static inline tensor *gen_tensor(const gen *G, const ir_value *v) {
    return gen_value(G, v).u.tensor;
}
void gen_show(gen *G, ir_value *v); /* makes it visible to what follows */

/* Places o applied to args, if it works on their values: the node, or NULL. Its results are
 * visible, if they are wanted. */
node *gen_place(gen *G, const op *o, ir_value *const *args, bool show);
/* The same by key; the first result. NULL: it failed, or an argument is NULL. */
ir_value *gen_emit(gen *G, const char *key, bool show, int n, ...);
void gen_evaluate(gen *G, const node *n); /* one that cannot fail */
ir_value *gen_list(gen *G, type *elem, int n, ir_value *const *items);

/* Constants are placed where they are needed. */
ir_value *gen_int(gen *G, int64_t i);
ir_value *gen_float(gen *G, double f);
ir_value *gen_bool(gen *G, bool b);
ir_value *gen_constant(gen *G, value take, type *t);
ir_value *gen_tensor_constant(gen *G, dtype dt, int ndim, const int64_t *sizes, int style);
/* An int of this value: a constant, or a visible one that happens to be it, or
 * some tensor's size. */
ir_value *gen_int_like(gen *G, int64_t i);

/* A visible value of the type (or a subtype) that `fits` likes; NULL: none was found. Recent
 * ones are likelier. */
ir_value *gen_pick(gen *G, const type *t, bool (*fits)(gen *G, ir_value *v, void *ctx), void *ctx);
ir_value *gen_pick_tensor(gen *G);

/* gen_op.c: one random operator. False: nothing was placed. */
bool gen_operator(gen *G);
int gen_image_percent(const gen_ops *ops);
/* The operator o; with: what one of its tensor arguments has to be, NULL: any. NULL: such arguments
 * do not work. Its results are visible. */
node *gen_apply(gen *G, const op *o, ir_value *with);
/* gen_container.c: lists and tuples */
bool gen_container(gen *G);
/* gen_composed.c: einsum; arithmetic of ints as tensors; broadcasting that is read several times */
bool gen_einsum(gen *G);
bool gen_number_tensor(gen *G);
bool gen_broadcast(gen *G);
bool gen_attention(gen *G);
/* gen_image.c: a step of a network on images; arguments for one */
bool gen_image_step(gen *G);
int gen_image_arguments(rng *r, int64_t *sizes, gen_argument *recipes);
/* gen_loop.c */
bool gen_element_loop(gen *G);
/* graph_gen.c */
void gen_statements(gen *G, int n);
bool gen_if(gen *G, ir_value *condition);
bool gen_counted_loop(gen *G);
void gen_save_scope(gen *G, world *w);
bool gen_outputs_fit(const gen *G, const node *n); /* n's, and all that is visible */

/* gen_input.c */
dtype gen_dtype(rng *r);
tensor *gen_fill_new(rng *r, dtype dt, int ndim, const int64_t *sizes, int style);
int gen_arguments(rng *r, const int64_t *sizes, gen_argument *recipes);
void gen_make_arguments(rng *r, int n, const gen_argument *recipes, const int64_t *sizes,
                        value *out);
enum { STYLE_MIXED, STYLE_INTEGERS, STYLE_POSITIVE, STYLE_SPECIAL, STYLE_COUNT };

#endif
