/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_share.h - ctsc train --distributed: the rows of each batch are shared among processes.
 *
 * Every process has all of the data and goes through the same batches; of each it takes an equal
 * share of the rows, in the order of ranks. Losses are means over rows: each counts with its rows,
 * gradients and numbers are summed, and then all processes make the same step. So a run computes
 * what one process computes with whole batches, but for rounding (and for layers that look at
 * several rows at once, batch norms above all, which see a share). A checkpoint has nothing of the
 * number of processes in it.
 * Tests: tests/cli/train-distributed.test
 */
#ifndef CTSC_CLI_TRAIN_TRAIN_SHARE_H
#define CTSC_CLI_TRAIN_TRAIN_SHARE_H

#include "cli/cli.h"

typedef struct train_share train_share;

/* The group that the launcher describes. Returns the exit code. */
int share_begin(train_share **out);
void share_end(train_share *s);
int share_rank(const train_share *s); /* 0 without one */

/* Replaces *batch, a tuple, by this process's rows. *part: how much of the batch they are; 0: there
 * are fewer rows than processes, and one of them is taken for its shape. */
ctsc_status share_batch(const train_share *s, ctsc_scope *scope, ctsc_value **batch, double *part,
                        ctsc_error *e);
/* Sums over the processes: numbers, and the gradients of a list of parameters. */
ctsc_status share_numbers(const train_share *s, double *numbers, size_t n, ctsc_error *e);
ctsc_status share_gradients(const train_share *s, const ctsc_value *params, ctsc_error *e);

#endif
