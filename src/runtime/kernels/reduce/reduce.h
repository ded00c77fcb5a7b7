/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h - the engine of every operator that reduces dimensions.
 *
 * A reduction is a kind (what to do with values) run over a plan (where the values are).
 * The engine hands runs of contiguous values to the kind; the kind never sees strides,
 * and sees four element types only: float (also for half and bfloat16), double, int64
 * (for all integers and bool) and, where a kind provides them, bytes and complex numbers.
 * Tests: tests/unit/test_reduce.c
 */
#ifndef CTSC_RUNTIME_KERNELS_REDUCE_REDUCE_H
#define CTSC_RUNTIME_KERNELS_REDUCE_REDUCE_H

#include "runtime/kernels/engine/kernel.h"

/* Loops worth a version with wider vectors. */
#define REDUCE_HOT VECTOR_CLONES

/* What one result has seen so far. The kinds give the fields their meaning; n counts values. */
typedef struct reduce_acc {
    double f, g;
    int64_t i, at, n;
} reduce_acc;

typedef enum reduce_row {
    REDUCE_F32,
    REDUCE_F64,
    REDUCE_I64,
    REDUCE_U8,
    REDUCE_C64,
    REDUCE_C128,
    REDUCE_ROWS
} reduce_row;

typedef struct reduce_job reduce_job;

typedef struct reduce_kind {
    const char *name; /* in "not implemented for" */
    reduce_acc init;
    /* Folds n contiguous values, starting with index `first` within its result. */
    void (*step[REDUCE_ROWS])(const reduce_job *j, reduce_acc *a, const void *x, int64_t n,
                              int64_t first);
    /* Folds what a later part of the same result has seen. */
    void (*combine)(reduce_acc *a, const reduce_acc *later);
    void (*finish)(const reduce_job *j, const reduce_acc *a, int64_t result);
    /* The same as step for `cols` neighbouring results at once; float only; NULL: by transposing.
     */
    void (*columns)(const reduce_job *j, reduce_acc *accs, const float *x, int64_t rows,
                    int64_t stride, int64_t cols, int64_t first);
} reduce_kind;

struct reduce_job {
    const reduce_kind *kind;
    tensor *out, *indices; /* contiguous; indices (int64) only where the kind makes them */
    double p;              /* the kind's parameter */
    reduce_row row;
    /* Result a * cols + c has `inner` values, in runs of `run`:
     * value q * run + r is at a * so + c * sc + q * sq + r * sr. */
    const char *data;
    dtype dt;
    int64_t outer, cols, inner, run, so, sc, sq, sr;
    int64_t results, chunks, chunk; /* chunk: elements of one */
    reduce_acc *parts;              /* chunks * results, if a result is cut into several chunks */
};

/* A tensor of the reduction's shape. */
ctsc_status reduce_new_out(op_ctx *cx, const tensor *in, const bool *mask, bool keepdim, dtype dt,
                           tensor **out);
/* Runs j->kind over the masked dims of `in`. ordered: indices count in row-major order. */
ctsc_status reduce_run(op_ctx *cx, reduce_job *j, const tensor *in, const bool *mask, bool ordered);
/* Makes the output of dtype dt and runs the kind. */
ctsc_status reduce_to_new(op_ctx *cx, const reduce_kind *kind, double p, const tensor *in,
                          const bool *mask, bool keepdim, dtype dt, tensor **out);

/* A contiguous copy of `in` as dtype dt with the masked dims last: one row of values per result. */
ctsc_status reduce_rows(op_ctx *cx, const tensor *in, const bool *mask, dtype dt, tensor **out);

/* Stores a number as the job's output dtype (bool: != 0). */
void reduce_store(const reduce_job *j, int64_t result, double f, int64_t i);

/* The argument of the running overload with this name; a None value if it has none. */
const value *reduce_arg(const op_ctx *cx, const value *args, const char *name);
bool reduce_keepdim(const op_ctx *cx, const value *args);
/* dtype= of the overload, else the dtype of its out=, else `other`. */
ctsc_status reduce_dtype(op_ctx *cx, const value *args, dtype other, dtype *out);
/* mask for `dim`, which may be absent (all), an int or a list. */
ctsc_status reduce_mask(op_ctx *cx, const value *dim, int ndim, bool *mask);
/* Dims of an operator without identity: fails if a masked dim is empty. */
ctsc_status reduce_check_nonempty(op_ctx *cx, const char *name, const tensor *in, const bool *mask);
/* Fails unless the overload's out= argument, if it has one, has dtype dt. */
ctsc_status reduce_check_out(op_ctx *cx, const value *args, dtype dt);
/* Returns two results, into the overload's two out= arguments if it has them. Takes both. */
ctsc_status reduce_finish_two(op_ctx *cx, const value *args, tensor *first, tensor *second,
                              value *results);

/* Numbers of masked elements: the product of their sizes. */
int64_t reduce_count(const tensor *in, const bool *mask);

extern const reduce_kind reduce_kind_sum, reduce_kind_max, reduce_kind_min, reduce_kind_count;

static inline int64_t reduce_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t reduce_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
