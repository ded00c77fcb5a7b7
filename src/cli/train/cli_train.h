/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_train.h - the parts of `ctsc train`, and its options.
 *
 *   cmd_train.c         the command line            train_data.c       files to tensors (train_data.h)
 *   train_loop.c        epochs (train_loop.h)       train_begin.c      all that precedes them
 *   train_checkpoint.c  what resuming needs         train_augment.c    what is done to each batch
 *   train_tune.c        weights to begin with, and parameters that stay as they are
 *   train_log.c         tells what happens          train_share.c      processes that train together
 */
#ifndef CTSC_CLI_TRAIN_CLI_TRAIN_H
#define CTSC_CLI_TRAIN_CLI_TRAIN_H

#include "cli/cli.h"

enum { TRAIN_MAX_FILES = 16, TRAIN_MAX_SETTINGS = 16, TRAIN_MAX_PATTERNS = 16 };
enum { AUGMENT_MAX_NUMBERS = 64 };

typedef struct train_settings {
    ctsc_setting list[TRAIN_MAX_SETTINGS];
    size_t n;
    char text[512]; /* the names are in it */
} train_settings;

/* What is done to the first input of a batch: to images of [rows, channels, height, width] at
 * random while training, and to whatever has columns or channels, always. */
typedef struct train_augment {
    bool flip, vflip; /* half of the images: left and right, top and bottom change places */
    int crop;         /* pixels, zeros, added on each side before the original size is cut out */
    bool normalise;
    /* means, then deviations: one for all channels or one for each; none: those of the training
     * data */
    size_t nnumbers;
    double numbers[AUGMENT_MAX_NUMBERS];
} train_augment;

typedef struct train_options {
    cli_model model;
    const char *data[TRAIN_MAX_FILES], *valid[TRAIN_MAX_FILES];
    size_t ndata, nvalid;
    const char *target, *features; /* names, joined by ','; NULL: not told */
    const ctsc_dtype_info *dtype;  /* of the inputs; NULL: as they are, float32 of tables */
    double split;                  /* share of the rows that are kept for validation; 0: none */
    train_augment augment;
    const char *class_weights;              /* "balanced", "1,2.5"; NULL: none */
    const char *freeze[TRAIN_MAX_PATTERNS]; /* patterns of names */
    size_t nfreeze;
    const char *pretrained, *labels; /* files */
    const char *loss, *optimizer, *schedule, *output, *resume, *checkpoint, *log, *events;
    train_settings set, schedule_set; /* of the optimiser; of the schedule */
    /* checkpoint_every: steps, 0: epochs; patience: -1: no early stop */
    int64_t batch, epochs, checkpoint_every, patience;
    double clip_norm; /* 0: none */
    bool drop_last, in_order, distributed;
    bool bf16;          /* within autocast */
    bool checkpointed;  /* --checkpoint-layers */
    int64_t segments;   /* of it; 0: as few as max_bytes needs */
    uint64_t max_bytes; /* 0: not told */
    int threads;
} train_options;

/* "name=value,name=value" added to s; false: it is none. */
bool train_parse_settings(train_settings *s, const char *text);
bool train_has_setting(const train_settings *s, const char *name);
void train_add_setting(train_settings *s, const char *name, double value); /* name: borrowed */

/* ---- train_augment.c ------------------------------------------------------------------------- */

/* "flip,crop=4,normalise=0.5,0.5" added to a; false: it is none. */
bool augment_parse(train_augment *a, const char *text);
/* Completes a with the numbers of these training data, a tuple, and prints them where they were not
 * given. Returns the exit code. */
int augment_begin(train_augment *a, const ctsc_value *data, ctsc_error *e);
/* Replaces *batch, a tuple, by what the model is called with: images of bytes become floats from 0
 * to 1 (images: they are), and what a says. Draws from the random numbers of s. */
ctsc_status augment_batch(const train_augment *a, ctsc_scope *s, bool images, bool training,
                          ctsc_value **batch, ctsc_error *e);

/* ---- train_tune.c ---------------------------------------------------------------------------- */

/* Puts the tensors of a file into m whose names and sizes fit, and says which do not. */
int tune_pretrained(ctsc_module *m, const char *path, ctsc_error *e);
/* The parameters whose names match a pattern do not require gradients from now on: *frozen, a list.
 * *out: a list of the others. */
int tune_freeze(ctsc_module *m, const char *const *patterns, size_t n, ctsc_value **frozen,
                ctsc_value **out, ctsc_error *e);
/* They require them again, as in what is saved. frozen: may be NULL. */
ctsc_status tune_thaw(const ctsc_value *frozen, ctsc_error *e);

/* ---- train_log.c ----------------------------------------------------------------------------- */

typedef struct train_log {
    FILE *lines, *events;
    double began;                /* seconds */
    int64_t rows_done, rows_all; /* in this run */
} train_log;
int train_log_open(train_log *l, const train_options *o);
void train_log_close(train_log *l);
/* A line of what is known after a step or an epoch: names and numbers; false: it
 * cannot be written. */
bool train_log_numbers(train_log *l, int64_t step, size_t n, const ctsc_setting *numbers);
/* The progress line of a terminal. */
void train_log_progress(const train_log *l, int64_t epoch, int64_t epochs, int64_t batch,
                        int64_t batches, double loss);

/* train_loop.c: trains m. Returns the exit code. */
int train_run(const train_options *o, ctsc_module *m, ctsc_error *e);

#endif
