/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_loops.h - the loops over elements that optimisers, clipping and LBFGS are made of. */
#ifndef CTSC_RUNTIME_TRAIN_OPTIMIZER_LOOPS_H
#define CTSC_RUNTIME_TRAIN_OPTIMIZER_LOOPS_H

#include "tensor/tensor.h"

/* What a loop is told beside the elements. Steps are negative: they are added. */
enum { SGD_LR, SGD_KEEP, SGD_TAKE, SGD_MOMENTUM };
enum { ADAGRAD_LR, ADAGRAD_EPS };
enum { ADADELTA_LR, ADADELTA_RHO, ADADELTA_TAKE, ADADELTA_EPS };
enum { RMSPROP_LR, RMSPROP_KEEP, RMSPROP_TAKE, RMSPROP_EPS, RMSPROP_CENTERED, RMSPROP_MOMENTUM };
enum { ADAM_BETA1, ADAM_TAKE1, ADAM_BETA2, ADAM_TAKE2, ADAM_EPS, ADAM_ROOT, ADAM_STEP, ADAM_DECAY };
enum { ASGD_KEEP, ASGD_ETA, ASGD_MU };
enum { RPROP_MINUS, RPROP_PLUS, RPROP_MIN, RPROP_MAX };
enum { OPTIMIZER_NUMBERS = 8, OPTIMIZER_STATES = 3, OPTIMIZER_BLOCK = 1024 };

#define OPTIMIZER_LOOPS(X)                                                                         \
    X(sgd_plain)                                                                                   \
    X(sgd_momentum)                                                                                \
    X(sgd_nesterov)                                                                                \
    X(adagrad)                                                                                     \
    X(adadelta)                                                                                    \
    X(rmsprop)                                                                                     \
    X(adam) X(amsgrad) X(adamax) X(nadam) X(radam) X(radam_early) X(asgd) X(asgd_copy) X(rprop)
typedef enum optimizer_loop {
#define LOOP_ENUM(name) LOOP_##name,
    OPTIMIZER_LOOPS(LOOP_ENUM)
#undef LOOP_ENUM
} optimizer_loop;

/* One parameter's part of a step. Elements of all arrays are in the same order; dt is
 * DT_FLOAT32 or DT_FLOAT64. */
typedef struct optimizer_job {
    optimizer_loop loop;
    dtype dt;
    bool maximize;       /* the gradient's sign is changed */
    double weight_decay; /* times the parameter is added to the gradient */
    double k[OPTIMIZER_NUMBERS];
    void *p;
    const void *g;
    void *state[OPTIMIZER_STATES];
    int64_t begin, n; /* of all jobs' elements: the first one's number */
} optimizer_job;

/* All jobs in one pass over their elements, on several threads. Jobs are in the order
 * of their elements. */
void optimizer_run(const optimizer_job *jobs, size_t njobs);

/* On elements of DT_FLOAT32 or DT_FLOAT64. */
void loop_scale(dtype dt, void *x, double factor, int64_t n);
void loop_clamp(dtype dt, void *x, double limit, int64_t n);
void loop_axpy(dtype dt, void *y, double factor, const void *x, int64_t n);
double loop_dot(dtype dt, const void *x, const void *y, int64_t n);

#endif
