/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_data.h - what ctsc train learns from: files and folders, as tensors with a row per example.
 *
 * train_data.c asks the reader that knows the file. A reader gives tensors by name, or a table,
 * which the functions below turn into two: the features and the target.
 *
 *   train_folder.c   images in folders      train_csv.c      text
 *   train_parquet.c  Parquet                train_hdf5.c     HDF5
 *   train_table.c    rows and columns       train_apart.c    readers that get a process of their own
 *
 * All return the exit code, having said on stderr what is wrong.
 */
#ifndef CTSC_CLI_TRAIN_TRAIN_DATA_H
#define CTSC_CLI_TRAIN_TRAIN_DATA_H

#include "cli/cli.h"

enum { DATA_MAX = 64 }; /* tensors */

/* Names of classes, in the order of their numbers. */
typedef struct data_classes { char **names; size_t n; } data_classes;
void data_free_classes(data_classes *c);
/* Adds a copy of the name; false: out of memory. */
bool data_add_class(data_classes *c, const char *name);
/* The number of the class; -1: there is none of this name. */
int64_t data_find_class(const data_classes *c, const char *name);

/* How files are read. */
typedef struct data_reading {
    const char *target, *features; /* as of train_options */
    const ctsc_dtype_info *dtype;
    bool classifies;             /* the loss takes the numbers of classes */
    const data_classes *classes; /* of the training data, for that of validation; NULL: none yet */
} data_reading;

/* Tensors as they are read. */
typedef struct data_item { char *name; ctsc_value *value; } data_item;
typedef struct data_list {
    data_item items[DATA_MAX];
    size_t n;
    ctsc_value *target;   /* one that the reader knows for it */
    data_classes classes; /* of the target; none: it has numbers */
    bool images;          /* the first is of bytes from 0 to 255, which stand for 0 to 1 */
    bool chosen;          /* the reader has looked at `features` and `target` */
} data_list;
/* Takes v, also on failure. */
int data_put(data_list *l, const char *path, const char *name, ctsc_value *v);
void data_free(data_list *l);

/* What it comes to: a tuple, the target last. */
typedef struct train_data { ctsc_value *tensors; data_classes classes; bool images; } train_data;
int train_read_data(const char *const *files, size_t n, const data_reading *how, train_data *out,
                    ctsc_error *e);
void train_free_data(train_data *d);

/* ---- readers --------------------------------------------------------------------------------- */

typedef int data_reader(const char *path, const data_reading *how, data_list *l, ctsc_error *e);
data_reader data_read_csv, data_read_hdf5, data_read_parquet;
/* options: as of an image, "resize=64:crop=56", or "". */
int data_read_folder(const char *path, const char *options, const data_reading *how, data_list *l,
                     ctsc_error *e);
/* The same as read(path, how, l, e), in a child process: for libraries that do not promise to
 * survive any file. */
int data_read_apart(data_reader *read, const char *path, const data_reading *how, data_list *l,
                    ctsc_error *e);
/* A shared library and n of its functions, in this order; a name may be "a|b": the first
 * counts that is there. False: it is not installed, or lacks one. */
bool data_open_library(const char *const *libraries, size_t n, const char *const *names,
                       void **functions);
/* Called by such a reader once its library is there: from here on it can read path and
 * what libraries need, and reach nothing else (sandbox/sandbox.h), where the kernel has
 * what that takes. */
void data_enter_sandbox(const char *path);
/* The most bytes that data may take: three quarters of the machine's memory. */
int64_t data_memory(void);

/* ---- tables ---------------------------------------------------------------------------------- */

/* A table being read: the columns that count become a matrix and a target. */
typedef struct data_table {
    const char *path;
    const data_reading *how;
    size_t ncolumns, nfeatures, ntargets;
    char **names;
    int *roles; /* per column: TABLE_SKIP, the number of a feature, or -2 - that of a target */
    int64_t rows;
    ctsc_value *features; /* float32 or float64 [rows, nfeatures] */
    double *numbers;      /* [rows, ntargets] */
    char **texts;         /* [rows], of a single target that may be one */
    bool is_text;         /* a target that is not a number was seen */
} data_table;
enum { TABLE_SKIP = -1 };

int table_begin(data_table *t, const char *path, const data_reading *how, size_t ncolumns,
                const char *const *names, int64_t rows, ctsc_error *e);
/* A cell, for columns whose role is not TABLE_SKIP; row: from 0. text need not end in NUL. */
int table_put_text(data_table *t, int64_t row, size_t column, const char *text, size_t len);
int table_put_number(data_table *t, int64_t row, size_t column, double x);
int table_put_missing(const data_table *t, int64_t row, size_t column);
/* "path: row 3, column 'age': what" */
int table_complain(const data_table *t, int64_t row, size_t column, const char *what);
/* The features and the target, in l. */
int table_end(data_table *t, data_list *l, ctsc_error *e);
void table_free(data_table *t);

#endif
