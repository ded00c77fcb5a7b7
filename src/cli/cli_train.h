/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_train.h - the parts of `ctsc train`: cmd_train.c reads options, train_loop.c trains,
 * train_data.c reads files, train_log.c tells what happens.
 */
#ifndef CTSC_CLI_CLI_TRAIN_H
#define CTSC_CLI_CLI_TRAIN_H

#include "cli/cli.h"

enum { TRAIN_MAX_FILES = 16, TRAIN_MAX_SETTINGS = 16 };

typedef struct train_settings {
    ctsc_setting list[TRAIN_MAX_SETTINGS];
    size_t n;
    char text[512]; /* the names are in it */
} train_settings;

typedef struct train_options {
    cli_model model;
    const char *data[TRAIN_MAX_FILES], *valid[TRAIN_MAX_FILES];
    size_t ndata, nvalid;
    const char *loss, *optimizer, *schedule, *output, *resume, *checkpoint, *log, *events;
    train_settings set, schedule_set; /* of the optimiser; of the schedule */
    /* checkpoint_every: steps, 0: epochs; patience: -1: no early stop */
    int64_t batch, epochs, checkpoint_every, patience;
    double clip_norm; /* 0: none */
    bool drop_last, in_order;
    bool bf16; /* within autocast */
    int threads;
} train_options;

/* "name=value,name=value" added to s; false: it is none. */
bool train_parse_settings(train_settings *s, const char *text);
bool train_has_setting(const train_settings *s, const char *name);
void train_add_setting(train_settings *s, const char *name, double value); /* name: borrowed */

/* train_data.c: the tensors of the files, as one tuple, the target last. Returns the exit code. */
int train_read_data(const char *const *files, size_t n, ctsc_value **out, ctsc_error *e);

/* train_log.c */
typedef struct train_log {
    FILE *lines, *events;
    bool terminal;
    double began, shown;         /* seconds */
    int64_t rows_done, rows_all; /* in this run */
} train_log;
int train_log_open(train_log *l, const train_options *o);
void train_log_close(train_log *l);
/* A line of what is known after a step or an epoch: names and numbers; false: it
 * cannot be written. */
bool train_log_numbers(train_log *l, int64_t step, size_t n, const ctsc_setting *numbers);
/* The progress line of a terminal. */
void train_log_progress(train_log *l, int64_t epoch, int64_t epochs, int64_t batch, int64_t batches,
                        double loss);
void train_log_clear(train_log *l);

/* train_loop.c: trains m. Returns the exit code. */
int train_run(const train_options *o, ctsc_module *m, ctsc_error *e);

#endif
