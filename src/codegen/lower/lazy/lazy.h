/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy.h - tensors inside a kernel: not memory, but what their element at an index is.
 *
 *     %d : Tensor = aten::sub(%a, %b, %one)       lazy_at(d, {i, k}) = a[i * sa + k] - b[k]
 *
 * A lazy tensor knows its dtype, its sizes as expressions of the kernel, and how to
 * make the expression of one element: loading it from a buffer, applying an operator
 * to elements of others, or mapping the index (views). Nothing is computed until
 * lazy_at is called, so intermediate tensors only cost recomputation for each use.
 *
 * Sizes: two dims of equal pointers are the same size; a dim that is the constant 1 broadcasts.
 * Where an operator needs two different expressions to be equal (broadcasting 'n' with 'm'),
 * lazy->equal is asked: it may note a condition and say yes. half and bfloat16 elements are f32
 * expressions, rounded after each operator as memory would round them. dtypes follow PyTorch:
 * numbers (lazy_number) take part in promotion as wrapped numbers, 0-dim tensors as 0-dim tensors.
 *
 * Files: lazy.c, what all share; lazy_ops.c, pointwise operators; lazy_custom.c, those of a
 * program's own; lazy_view.c, views; lazy_order.c, the memory order that elements would have.
 * Ownership: all is in lazy->a.
 * Tests: tests/unit/test_group.c
 */
#ifndef CTSC_CODEGEN_LOWER_LAZY_LAZY_H
#define CTSC_CODEGEN_LOWER_LAZY_LAZY_H

#include "codegen/nest/nest.h"
#include "ir/graph/graph.h"
#include "tensor/tensor.h"

enum { LAZY_MAX_DIMS = 8, LAZY_MAX_INPUTS = 5, LAZY_MAX_STEPS = 20000 };

/* A question whose answer "no" leaves its out-parameter untouched: code made of that would be wrong
 * without a sign, so the answer is looked at. */
#define LAZY_ASKED __attribute__((warn_unused_result))

/* The callbacks know the arguments that code is made for. Where one says yes, it has noted the
 * condition under which code may rely on it. NULL: only what constants tell. */
typedef struct lazy {
    nest *n;
    arena *a;
    /* May x and y be taken as equal sizes from now on? */
    bool (*equal)(void *ctx, nest_expr *x, nest_expr *y);
    /* Is the size 1? Then the dim broadcasts. */
    bool (*is_one)(void *ctx, nest_expr *x);
    bool (*positive)(void *ctx, nest_expr *x); /* Is x > 0? */
    /* The number x, which becomes a constant of the code. */
    bool (*specialise)(void *ctx, nest_expr *x, int64_t *out);
    /* What x is, without a condition: to choose what to ask. */
    bool (*peek)(void *ctx, const nest_expr *x, int64_t *out);
    /* The element of a buffer at an address, if it is not to be loaded from there; NULL: it is. */
    nest_expr *(*load)(void *ctx, nest_buffer *b, nest_expr *address);
    void *ctx;
    bool elsewhere; /* the tensors are on a device: the host is another one */
    /* an integer divided by 0 may be anything, as on a GPU; else nothing is made
     * that might do that */
    bool divides_by_zero;
    /* Owned by lazy.c; zero at the start. */
    nest_expr *zero, *one;
    uint32_t epoch; /* results of lazy_at made in an earlier one are not used again */
    int steps;      /* elements requested so far */
    /* an element could not be made (too many steps, a reduction out of place): the
     * nest is of no use */
    bool failed;
} lazy;

typedef struct lazy_memo {
    nest_expr *index[LAZY_MAX_DIMS], *value;
    uint32_t epoch;
} lazy_memo;

typedef struct lazy_tensor {
    dtype dt;
    int ndim;
    bool is_number; /* a Python number: 0-dim, promotes as a wrapped number */
    /* the layout it would have, operator by operator: row-major, or
     * these strides, for the arguments at hand (lazy_order.c) */
    bool contiguous;
    int64_t strides[LAZY_MAX_DIMS];
    nest_expr *sizes[LAZY_MAX_DIMS];
    /* The element at index (ndim expressions, each within its size), in the type
     * nest_type_of(dt). */
    nest_expr *(*at)(lazy *l, const struct lazy_tensor *t, nest_expr *const *index);
    /* rough quarter cycles per element, loads included, for deciding what to compute again */
    int cost;
    /* most reductions in sequence on the way to it; of pointwise tensors 0 */
    int depth;
    int ninputs;
    const struct lazy_tensor *inputs[LAZY_MAX_INPUTS]; /* what it is made of, for walkers */
    void *impl;
    /* the last answers: graphs share values, expressions must not grow with the number of paths */
    lazy_memo *memo;
} lazy_tensor;

/* strides: expressions, in elements; offset: NULL for 0. */
lazy_tensor *lazy_buffer(lazy *l, nest_buffer *b, int ndim, nest_expr *const *sizes,
                         nest_expr *const *strides, nest_expr *offset);
/* A 0-dim tensor that is the value of an expression; lazy_number: the Python number of an int,
 * float or bool expression. */
lazy_tensor *lazy_scalar(lazy *l, dtype dt, nest_expr *value);
lazy_tensor *lazy_number(lazy *l, nest_expr *value);

/* An argument of an operator: a tensor, or something else that is known. */
typedef struct lazy_arg {
    const lazy_tensor *t; /* tensors, and numbers that are not constant */
    /* t == NULL: the constant (None, bool, int, float, string, list of ints), borrowed */
    value constant;
    /* a list of numbers that are not all constant: nitems of them; else NULL */
    const struct lazy_arg *items;
    int nitems;
} lazy_arg;

/* The tensor that a pointwise operator or a view makes of its arguments (one per schema
 * argument); NULL: it cannot be expressed so (unknown operator, dtype without a nest type, sizes
 * not known to fit, ...). */
lazy_tensor *lazy_apply(lazy *l, const node *n, const lazy_arg *args);
/* The same of views with several results (chunk, split, unbind): out has room for `count`, which is
 * how many there must be. */
bool lazy_apply_list(lazy *l, const node *n, const lazy_arg *args, int count, lazy_tensor **out);
/* Asked twice with the same index expressions (pointers), it gives the same expression. */
nest_expr *lazy_at(lazy *l, const lazy_tensor *t, nest_expr *const *index);
/* From now on elements are made anew: a variable they refer to went out of scope, or a
 * binding changed. */
static inline void lazy_forget(lazy *l) { l->epoch++; }
/* The same value in another dtype, converted as Tensor.to does. */
lazy_tensor *lazy_cast(lazy *l, const lazy_tensor *t, dtype dt);
/* Index of t for an element of a shape (ndim, sizes) that t is broadcast to. */
void lazy_broadcast_index(lazy *l, const lazy_tensor *t, int ndim, nest_expr *const *sizes,
                          nest_expr *const *index, nest_expr **out);
/* Sizes of the broadcast of n tensors; false: not known to fit. */
bool lazy_broadcast_sizes(lazy *l, int n, const lazy_tensor *const *ts, int *ndim,
                          nest_expr **sizes);

#endif
