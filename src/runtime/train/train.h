/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.h - what training needs besides gradients: optimisers, schedules of learning rates,
 * clipping, batches.
 *
 *   optimizer.c         parameters, groups, and a step of all of them
 *   optimizer_rules.c   the numbers of a step, per optimiser (optimizers.def)
 *   optimizer_loops.c   what is done to the elements
 *   lbfgs.c             the one optimiser that calls back
 *   optimizer_state.c   state_dict and back
 *   schedules.c         learning rates over time
 *   clip.c              gradients held within bounds
 *   random_state.c      the saved state of random numbers
 *   loader.c            batches, in PyTorch's order
 *
 * Tests: tests/unit/test_optimizer.c, tests/interop/optimizers.py
 */
#ifndef CTSC_RUNTIME_TRAIN_TRAIN_H
#define CTSC_RUNTIME_TRAIN_TRAIN_H

#include "runtime/context/runtime.h"
#include "runtime/train/optimizer_loops.h"
#include "tensor/value.h"

struct function;

/* ---- optimisers ------------------------------------------------------------------------------ */

/* Numbers of all optimisers' hyperparameters in one
 * row; each restarts after OPTIMIZER's first. */
enum {
#define NAMES(...) 0
#define OPTIMIZER(id, name, scalars, tensors) FIRST_##id, BEFORE_##id = FIRST_##id - 1,
#define HYPER(id, field, key, kind, standard) HYPER_##id##_##field,
#include "runtime/train/optimizers.def"
#undef OPTIMIZER
#undef HYPER
#undef NAMES
    HYPER_COUNT
};
enum { OPTIMIZER_MAX_HYPERS = 16 };
typedef enum hyper_kind {
    HYPER_NUMBER,
    HYPER_INT,
    HYPER_FLAG,
    HYPER_FIRST,
    HYPER_SECOND,
    HYPER_FIXED,
    HYPER_ABSENT,
    HYPER_CHOICE
} hyper_kind;
typedef enum optimizer_id {
#define NAMES(...) 0
#define OPTIMIZER(id, name, scalars, tensors) OPTIMIZER_##id,
#define HYPER(id, field, key, kind, standard)
#include "runtime/train/optimizers.def"
#undef OPTIMIZER
#undef HYPER
#undef NAMES
    OPTIMIZER_COUNT
} optimizer_id;

typedef struct hyper_row { const char *name, *key; hyper_kind kind; double standard; } hyper_row;
typedef struct optimizer_row {
    const char *name;
    const char *scalars[2], *tensors[OPTIMIZER_STATES]; /* NULL after the last */
    const hyper_row *hypers;
    int nhypers;
} optimizer_row;
extern const optimizer_row optimizer_rows[OPTIMIZER_COUNT];

typedef struct optimizer_param {
    tensor *t; /* a reference */
    size_t group;
    bool started; /* has state */
    double step;
    double scalars[2]; /* as the row names them; rounded to float32, as PyTorch keeps them */
    tensor *state[OPTIMIZER_STATES]; /* of t's dtype and layout; NULL: not in use */
} optimizer_param;

typedef struct optimizer_group {
    double h[OPTIMIZER_MAX_HYPERS];
    size_t count;
    bool has_initial_lr; /* a scheduler has noted it */
    double initial_lr;
} optimizer_group;

struct lbfgs;

typedef struct optimizer {
    optimizer_id id;
    const optimizer_row *row;
    VEC(optimizer_param) params; /* group after group */
    VEC(optimizer_group) groups;
    VEC(optimizer_job) jobs; /* room of a step */
    struct lbfgs *lbfgs;     /* its state; NULL: none yet */
} optimizer;

typedef struct train_setting { const char *name; double value; } train_setting;
/* Gives the loss and leaves gradients. */
typedef ctsc_status (*train_closure)(void *ctx, diag *d, double *loss);

ctsc_status optimizer_new(diag *d, const char *name, optimizer **out);
void optimizer_free(optimizer *o); /* o may be NULL */
ctsc_status optimizer_add_group(diag *d, optimizer *o, const list *params, size_t nsettings,
                                const train_setting *settings);
ctsc_status optimizer_set(diag *d, optimizer *o, size_t group, const char *name, double v);
/* NULL: there is none */
const double *optimizer_hyper(const optimizer *o, size_t group, const char *name);
ctsc_status optimizer_step(diag *d, optimizer *o, train_closure closure, void *ctx, double *loss);
void optimizer_zero_grad(optimizer *o);
ctsc_status optimizer_state(diag *d, const optimizer *o, value *out);
ctsc_status optimizer_load_state(diag *d, optimizer *o, value state);

/* optimizer_rules.c: begins p's next step: its number, its scalars, and what the loop needs.
 * Parameters without state have been given it. */
void optimizer_prepare(const optimizer *o, optimizer_param *p, optimizer_job *j);
/* Which of the row's tensors p has under the group's settings, and what they start with.
 * False: not in use. */
bool optimizer_uses(const optimizer *o, const optimizer_group *g, int state, double *start);
/* step and scalars of a parameter without state */
void optimizer_start(const optimizer *o, optimizer_param *p);

/* lbfgs.c */
ctsc_status lbfgs_step(diag *d, optimizer *o, train_closure closure, void *ctx, double *loss);
void lbfgs_free(struct lbfgs *l);
ctsc_status lbfgs_state(diag *d, const optimizer *o, dict *into);
ctsc_status lbfgs_load_state(diag *d, optimizer *o, const dict *from);

/* ---- dicts of state -------------------------------------------------------------------------- */

/* into[key] = v, whose reference is taken. */
ctsc_status train_put(diag *d, dict *into, const char *key, value v);
/* from[key], borrowed; false: there is none. */
bool train_get(const dict *from, const char *key, value *out);
/* A number, or a tensor with one element. */
bool train_number(value v, double *out);
ctsc_status train_scalar(diag *d, double v, value *out); /* a 0-dim float32 tensor */

/* ---- gradients ------------------------------------------------------------------------------- */

tensor *train_grad(const tensor *t); /* borrowed; NULL: none */
void train_drop_grad(tensor *t);
/* t's elements are dense and distinct in memory. */
bool train_is_dense(const tensor *t);
bool train_same_layout(const tensor *a, const tensor *b); /* the same shape and strides */
/* New, uninitialised, dense, with t's strides if it is dense. */
ctsc_status train_new_like(diag *d, const tensor *t, dtype dt, tensor **out);
/* Refuses what cannot be trained: no floating point, another device. */
ctsc_status train_check(diag *d, const tensor *t);
ctsc_status clip_grad_norm(diag *d, const list *params, double max_norm, double norm_type,
                           double *norm);
ctsc_status clip_grad_value(diag *d, const list *params, double limit);

/* ---- random numbers -------------------------------------------------------------------------- */

/* A generator's state in the form of torch.get_rng_state, and back. */
ctsc_status train_random_state(diag *d, generator *g, tensor **out);
ctsc_status train_set_random_state(diag *d, generator *g, value state);

/* ---- schedulers ------------------------------------------------------------------------------ */

typedef struct scheduler scheduler;
typedef double (*train_lambda)(void *ctx, size_t group, int64_t epoch);
ctsc_status scheduler_new(diag *d, const char *name, optimizer *o, size_t nsettings,
                          const train_setting *settings, train_lambda fn, void *ctx,
                          scheduler **out);
void scheduler_free(scheduler *s);
ctsc_status scheduler_step(diag *d, scheduler *s, double metric);
ctsc_status scheduler_state(diag *d, const scheduler *s, value *out);
ctsc_status scheduler_load_state(diag *d, scheduler *s, value state);

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct loader loader;
typedef struct loader_options {
    int64_t batch;
    bool shuffle, drop_last, prefetch;
    uint64_t seed;
} loader_options;
ctsc_status loader_new(diag *d, value data, const loader_options *o, loader **out);
void loader_free(loader *l);
int64_t loader_batches(const loader *l);
ctsc_status loader_begin(diag *d, loader *l, int64_t epoch, int64_t batch);
ctsc_status loader_next(diag *d, loader *l, value *out); /* None after the last */

#endif
