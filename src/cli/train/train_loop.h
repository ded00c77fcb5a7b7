/* SPDX-License-Identifier: Apache-2.0 */
/* train_loop.h - a training that is under way, for train_begin.c, train_loop.c and
 * train_checkpoint.c. All return the exit code unless they say otherwise. */
#ifndef CTSC_CLI_TRAIN_TRAIN_LOOP_H
#define CTSC_CLI_TRAIN_TRAIN_LOOP_H

#include "cli/train/cli_train.h"
#include "cli/train/train_data.h"
#include "cli/train/train_share.h"

typedef struct trainer {
    const train_options *o;
    ctsc_module *m;
    ctsc_error *e;
    ctsc_scope *s;
    ctsc_value *params, *frozen; /* that are trained; that --freeze took out */
    ctsc_optimizer *opt;
    ctsc_scheduler *schedule; /* NULL: none */
    bool by_batch;            /* it steps after each */
    ctsc_loader *data, *valid;
    data_classes classes;
    bool images; /* the first input is of bytes */
    train_augment augment;
    const char *op;      /* of the loss; NULL: a method */
    bool classifies;     /* the target is a class: accuracy can be told */
    bool compared;       /* loop_compare has seen a result */
    ctsc_value *weights; /* of the classes, NULL: none */
    ctsc_value *batch_now;
    train_share *share; /* NULL: this process trains alone */
    double part;        /* of the present batch, that is this process's */
    bool stopping;      /* one of the processes was told to end */
    train_log log;
    int64_t epoch, batch, step, rows; /* rows: of this epoch so far, in loss_sum */
    double loss_sum, best;
    double correct;         /* rows of this epoch so far that were right; NaN: not known */
    double batch_correct;   /* those of the present batch */
    double busy;            /* microseconds of this epoch's steps in this run, */
    int64_t busy_rows;      /* and their rows */
    int64_t bad;            /* epochs since the best one */
    ctsc_value *best_state; /* NULL: none kept */
    char options[2048];     /* what a checkpoint must have been made with */
} trainer;

/* train_begin.c: the data, the optimiser, what a checkpoint has, the first programs. */
int loop_begin(trainer *t);

/* train_loop.c: the scope's error as that of e. */
ctsc_status loop_scope_error(trainer *t, ctsc_error *e);

/* train_checkpoint.c */
int loop_save(trainer *t, const char *path);
int loop_resume(trainer *t);
int loop_keep_best(trainer *t);

#endif
