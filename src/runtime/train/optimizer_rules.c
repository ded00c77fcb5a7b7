/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer_rules.c - optimizers.def as tables, and the numbers of a step: step sizes and
 * corrections of biases, computed in double as PyTorch does.
 *
 * Formulas are those of torch.optim 1.13. NAdam's next product of momenta counts the present one
 * twice there, which later versions mended; here as there.
 * Tests: tests/unit/test_optimizer.c
 */
#include "runtime/train/train.h"

#include <math.h>

static const hyper_row hyper_rows[HYPER_COUNT] = {
#define NAMES(...) 0
#define OPTIMIZER(id, name, scalars, tensors)
#define HYPER(id, field, key, kind, standard)                                                      \
    [HYPER_##id##_##field] = {#field, key, HYPER_##kind, standard},
#include "runtime/train/optimizers.def"
#undef OPTIMIZER
#undef HYPER
#undef NAMES
};

enum { /* how many each optimiser has: COUNT_SGD = 0 + 1 + 1 ... */
       COUNT_NONE = 0
#define NAMES(...) 0
#define OPTIMIZER(id, name, scalars, tensors) , COUNT_##id = 0
#define HYPER(id, field, key, kind, standard) +1
#include "runtime/train/optimizers.def"
#undef OPTIMIZER
#undef HYPER
#undef NAMES
};

const optimizer_row optimizer_rows[OPTIMIZER_COUNT] = {
#define NAMES(...) {__VA_ARGS__}
#define OPTIMIZER(id, name, scalars, tensors)                                                      \
    [OPTIMIZER_##id] = {name, scalars, tensors, &hyper_rows[FIRST_##id], COUNT_##id},
#define HYPER(id, field, key, kind, standard)
#include "runtime/train/optimizers.def"
#undef OPTIMIZER
#undef HYPER
#undef NAMES
};

/* The group's setting of that name. */
#define H(id, field) (g->h[HYPER_##id##_##field - FIRST_##id])

bool optimizer_uses(const optimizer *o, const optimizer_group *g, int state, double *start) {
    *start = 0;
    if (!o->row->tensors[state]) return false;
    switch (o->id) {
    case OPTIMIZER_SGD: return H(SGD, momentum) != 0;
    case OPTIMIZER_ADAGRAD: *start = H(ADAGRAD, initial_accumulator_value); return true;
    case OPTIMIZER_RMSPROP:
        return state == 0 || (state == 1 ? H(RMSPROP, momentum) > 0 : H(RMSPROP, centered) != 0);
    case OPTIMIZER_ADAM: return state < 2 || H(ADAM, amsgrad) != 0;
    case OPTIMIZER_ADAMW: return state < 2 || H(ADAMW, amsgrad) != 0;
    case OPTIMIZER_RPROP: *start = state == 1 ? H(RPROP, lr) : 0; return true;
    default: return true;
    }
}

void optimizer_start(const optimizer *o, optimizer_param *p) {
    const optimizer_group *g = &o->groups.data[p->group];
    p->step = 0;
    p->scalars[0] = o->id == OPTIMIZER_ASGD ? (float)H(ASGD, lr) : 1;
    p->scalars[1] = 1;
}

static void prepare_sgd(const optimizer_group *g, optimizer_param *p, optimizer_job *j) {
    double momentum = H(SGD, momentum);
    bool first = p->step == 1;
    j->weight_decay = H(SGD, weight_decay);
    j->maximize = H(SGD, maximize) != 0;
    j->loop = momentum == 0           ? LOOP_sgd_plain
              : H(SGD, nesterov) != 0 ? LOOP_sgd_nesterov
                                      : LOOP_sgd_momentum;
    j->k[SGD_LR] = -H(SGD, lr);
    j->k[SGD_KEEP] = first ? 0 : momentum; /* the first gradient is taken whole */
    j->k[SGD_TAKE] = first ? 1 : 1 - H(SGD, dampening);
    j->k[SGD_MOMENTUM] = momentum;
}

static void prepare_adagrad(const optimizer_group *g, optimizer_param *p, optimizer_job *j) {
    j->weight_decay = H(ADAGRAD, weight_decay);
    j->maximize = H(ADAGRAD, maximize) != 0;
    j->loop = LOOP_adagrad;
    j->k[ADAGRAD_LR] = -(H(ADAGRAD, lr) / (1 + (p->step - 1) * H(ADAGRAD, lr_decay)));
    j->k[ADAGRAD_EPS] = H(ADAGRAD, eps);
}

static void prepare_adadelta(const optimizer_group *g, optimizer_job *j) {
    j->weight_decay = H(ADADELTA, weight_decay);
    j->maximize = H(ADADELTA, maximize) != 0;
    j->loop = LOOP_adadelta;
    j->k[ADADELTA_LR] = -H(ADADELTA, lr);
    j->k[ADADELTA_RHO] = H(ADADELTA, rho);
    j->k[ADADELTA_TAKE] = 1 - H(ADADELTA, rho);
    j->k[ADADELTA_EPS] = H(ADADELTA, eps);
}

static void prepare_rmsprop(const optimizer_group *g, optimizer_job *j) {
    j->weight_decay = H(RMSPROP, weight_decay);
    j->maximize = H(RMSPROP, maximize) != 0;
    j->loop = LOOP_rmsprop;
    j->k[RMSPROP_LR] = -H(RMSPROP, lr);
    j->k[RMSPROP_KEEP] = H(RMSPROP, alpha);
    j->k[RMSPROP_TAKE] = 1 - H(RMSPROP, alpha);
    j->k[RMSPROP_EPS] = H(RMSPROP, eps);
    j->k[RMSPROP_CENTERED] = H(RMSPROP, centered);
    j->k[RMSPROP_MOMENTUM] = H(RMSPROP, momentum);
}

static void prepare_betas(double b1, double b2, double eps, optimizer_job *j) {
    j->k[ADAM_BETA1] = b1;
    j->k[ADAM_TAKE1] = 1 - b1;
    j->k[ADAM_BETA2] = b2;
    j->k[ADAM_TAKE2] = 1 - b2;
    j->k[ADAM_EPS] = eps;
}

/* Adam and AdamW from the corrections of their biases on. */
static void prepare_adam(double b1, double b2, double eps, double lr, double decay, bool amsgrad,
                         double step, optimizer_job *j) {
    prepare_betas(b1, b2, eps, j);
    j->loop = amsgrad ? LOOP_amsgrad : LOOP_adam;
    j->k[ADAM_ROOT] = sqrt(1 - pow(b2, step));
    j->k[ADAM_STEP] = -(lr / (1 - pow(b1, step)));
    j->k[ADAM_DECAY] = decay;
}

static void prepare_adamax(const optimizer_group *g, optimizer_param *p, optimizer_job *j) {
    prepare_betas(H(ADAMAX, beta1), H(ADAMAX, beta2), H(ADAMAX, eps), j);
    j->weight_decay = H(ADAMAX, weight_decay);
    j->maximize = H(ADAMAX, maximize) != 0;
    j->loop = LOOP_adamax;
    j->k[ADAM_STEP] = -(H(ADAMAX, lr) / (1 - pow(H(ADAMAX, beta1), p->step)));
}

static void prepare_nadam(const optimizer_group *g, optimizer_param *p, optimizer_job *j) {
    double b1 = H(NADAM, beta1), lr = H(NADAM, lr), decay = H(NADAM, momentum_decay);
    double mu = b1 * (1 - 0.5 * pow(0.96, p->step * decay)),
           next = b1 * (1 - 0.5 * pow(0.96, (p->step + 1) * decay));
    p->scalars[0] = (float)(p->scalars[0] * mu); /* a float32 tensor in PyTorch */
    double product = p->scalars[0], product_next = (float)(product * mu * next);
    prepare_betas(b1, H(NADAM, beta2), H(NADAM, eps), j);
    j->weight_decay = H(NADAM, weight_decay);
    j->loop = LOOP_nadam;
    j->k[ADAM_ROOT] = 1 - pow(H(NADAM, beta2), p->step);
    j->k[ADAM_DECAY] = -lr * (1 - mu) / (1 - product);
    j->k[ADAM_STEP] = -lr * next / (1 - product_next);
}

static void prepare_radam(const optimizer_group *g, optimizer_param *p, optimizer_job *j) {
    double b2 = H(RADAM, beta2), b2t = pow(b2, p->step), lr = H(RADAM, lr);
    double most = 2 / (1 - b2) - 1, rho = most - 2 * p->step * b2t / (1 - b2t);
    prepare_betas(H(RADAM, beta1), b2, H(RADAM, eps), j);
    j->weight_decay = H(RADAM, weight_decay);
    j->loop = rho > 5 ? LOOP_radam : LOOP_radam_early;
    j->k[ADAM_DECAY] = 1 - pow(H(RADAM, beta1), p->step);
    j->k[ADAM_ROOT] = sqrt(1 - b2t);
    j->k[ADAM_STEP] =
        rho > 5 ? lr * sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)) : lr;
}

static void prepare_asgd(const optimizer_group *g, optimizer_param *p, optimizer_job *j) {
    double lr = H(ASGD, lr), lambd = H(ASGD, lambd), late = p->step - H(ASGD, t0);
    j->weight_decay = H(ASGD, weight_decay);
    j->maximize = H(ASGD, maximize) != 0;
    j->loop = p->scalars[1] == 1 ? LOOP_asgd_copy : LOOP_asgd;
    j->k[ASGD_KEEP] = 1 - lambd * p->scalars[0];
    j->k[ASGD_ETA] = p->scalars[0];
    j->k[ASGD_MU] = p->scalars[1];
    p->scalars[0] = (float)(lr / pow(1 + lambd * lr * p->step, H(ASGD, alpha)));
    p->scalars[1] = (float)(1 / (late > 1 ? late : 1));
}

static void prepare_rprop(const optimizer_group *g, optimizer_job *j) {
    j->maximize = H(RPROP, maximize) != 0;
    j->loop = LOOP_rprop;
    j->k[RPROP_MINUS] = H(RPROP, eta_minus);
    j->k[RPROP_PLUS] = H(RPROP, eta_plus);
    j->k[RPROP_MIN] = H(RPROP, step_min);
    j->k[RPROP_MAX] = H(RPROP, step_max);
}

void optimizer_prepare(const optimizer *o, optimizer_param *p, optimizer_job *j) {
    const optimizer_group *g = &o->groups.data[p->group];
    p->step++;
    j->maximize = false;
    j->weight_decay = 0;
    switch (o->id) {
    case OPTIMIZER_SGD: prepare_sgd(g, p, j); break;
    case OPTIMIZER_ADAGRAD: prepare_adagrad(g, p, j); break;
    case OPTIMIZER_ADADELTA: prepare_adadelta(g, j); break;
    case OPTIMIZER_RMSPROP: prepare_rmsprop(g, j); break;
    case OPTIMIZER_ADAM:
        prepare_adam(H(ADAM, beta1), H(ADAM, beta2), H(ADAM, eps), H(ADAM, lr), 1,
                     H(ADAM, amsgrad) != 0, p->step, j);
        j->weight_decay = H(ADAM, weight_decay);
        j->maximize = H(ADAM, maximize) != 0;
        break;
    case OPTIMIZER_ADAMW:
        prepare_adam(H(ADAMW, beta1), H(ADAMW, beta2), H(ADAMW, eps), H(ADAMW, lr),
                     1 - H(ADAMW, lr) * H(ADAMW, weight_decay), H(ADAMW, amsgrad) != 0, p->step, j);
        j->maximize = H(ADAMW, maximize) != 0;
        break;
    case OPTIMIZER_ADAMAX: prepare_adamax(g, p, j); break;
    case OPTIMIZER_NADAM: prepare_nadam(g, p, j); break;
    case OPTIMIZER_RADAM: prepare_radam(g, p, j); break;
    case OPTIMIZER_ASGD: prepare_asgd(g, p, j); break;
    case OPTIMIZER_RPROP: prepare_rprop(g, j); break;
    default: break; /* lbfgs.c */
    }
}
