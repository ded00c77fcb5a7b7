/* SPDX-License-Identifier: Apache-2.0 */
/* codegen_nests.h - loop nests built by hand, for tests/unit/test_codegen.c and bench/kernels.c. */
#ifndef CTSC_TESTS_CODEGEN_NESTS_H
#define CTSC_TESTS_CODEGEN_NESTS_H

#include "codegen/nest/nest.h"

/* out[i] = x[i]^(times + 1), by repeated multiplication. buffers x, out; ints n */
static inline nest *nests_power(arena *a, dtype dt, int times) {
    nest *n = nest_new(a, "power");
    nest_buffer *x = nest_add_buffer(n, "x", dt, 0), *out = nest_add_buffer(n, "out", dt, 0);
    nest_expr *i = nest_for(n, "i", nest_int(n, 0), nest_add_int(n, "n"),
                            NEST_PARALLEL | NEST_VECTOR);
    nest_expr *v = nest_let(n, "v", nest_load(n, x, i)), *p = v;
    for (int k = 0; k < times; k++) p = nest_mul(n, p, v);
    nest_store(n, out, i, p);
    nest_end(n);
    return n;
}

static inline nest_expr *nests_at(nest *n, nest_expr *row, nest_expr *width, nest_expr *column) {
    return nest_add(n, nest_mul(n, row, width), column);
}

/* Rows of softmax(x). buffers x, out; ints rows, cols */
static inline nest *nests_softmax(arena *a, dtype dt) {
    nest *n = nest_new(a, "softmax");
    nest_buffer *x = nest_add_buffer(n, "x", dt, 0), *out = nest_add_buffer(n, "out", dt, 0);
    nest_expr *rows = nest_add_int(n, "rows"), *cols = nest_add_int(n, "cols"), *c;
    nest_type t = NEST_F32;
    nest_type_of(dt, &t);
    n->contract = true;
    nest_expr *r = nest_for(n, "r", nest_int(n, 0), rows, NEST_PARALLEL);
    nest_expr *base = nest_let(n, "base", nest_mul(n, r, cols));
    nest_expr *high = nest_variable(n, "high", nest_const_float(n, t, -__builtin_inf()));
    c = nest_for(n, "c", nest_int(n, 0), cols, NEST_VECTOR);
    nest_accumulate(n, high, NEST_ACC_MAX, nest_load(n, x, nest_add(n, base, c)));
    nest_end(n);
    nest_expr *top = nest_let(n, "top", high),
              *sum = nest_variable(n, "sum", nest_const_float(n, t, 0));
    c = nest_for(n, "c", nest_int(n, 0), cols, NEST_VECTOR);
    nest_expr *e = nest_let(
        n, "e",
        nest_call1(n, "exp", nest_binary(n, NEST_SUB, nest_load(n, x, nest_add(n, base, c)), top)));
    nest_store(n, out, nest_add(n, base, c), e);
    nest_accumulate(n, sum, NEST_ACC_SUM, e);
    nest_end(n);
    nest_expr *scale = nest_let(n, "scale", nest_div(n, nest_const_float(n, t, 1), sum));
    c = nest_for(n, "c", nest_int(n, 0), cols, NEST_VECTOR);
    nest_store(n, out, nest_add(n, base, c),
               nest_mul(n, nest_load(n, out, nest_add(n, base, c)), scale));
    nest_end(n);
    nest_end(n);
    return n;
}

/* layer_norm(f(x)) over rows, f a function of scalar_ops or NULL. buffers x, weight, bias, out;
 * ints rows, cols; floats eps. cols > 0 */
static inline nest *nests_layer_norm(arena *a, const char *f) {
    nest *n = nest_new(a, "layer_norm");
    nest_buffer *x = nest_add_buffer(n, "x", DT_FLOAT32, 0),
                *w = nest_add_buffer(n, "weight", DT_FLOAT32, NEST_RESTRICT),
                *b = nest_add_buffer(n, "bias", DT_FLOAT32, NEST_RESTRICT),
                *out = nest_add_buffer(n, "out", DT_FLOAT32, 0);
    nest_expr *rows = nest_add_int(n, "rows"), *cols = nest_add_int(n, "cols"), *c,
              *zero = nest_const_float(n, NEST_F32, 0);
    nest_expr *eps = nest_cast(n, NEST_F32, nest_add_float(n, "eps"));
    n->contract = true;
    nest_expr *r = nest_for(n, "r", nest_int(n, 0), rows, NEST_PARALLEL);
    nest_expr *base = nest_let(n, "base", nest_mul(n, r, cols)),
              *count = nest_cast(n, NEST_F32, cols);
    nest_expr *sum = nest_variable(n, "sum", zero);
    c = nest_for(n, "c", nest_int(n, 0), cols, NEST_VECTOR);
    nest_expr *v = nest_load(n, x, nest_add(n, base, c));
    v = nest_let(n, "v", f ? nest_call1(n, f, v) : v);
    nest_store(n, out, nest_add(n, base, c), v);
    nest_accumulate(n, sum, NEST_ACC_SUM, v);
    nest_end(n);
    nest_expr *mean = nest_let(n, "mean", nest_div(n, sum, count)),
              *squares = nest_variable(n, "squares", zero);
    c = nest_for(n, "c", nest_int(n, 0), cols, NEST_VECTOR);
    nest_expr *d = nest_let(n, "d", nest_sub(n, nest_load(n, out, nest_add(n, base, c)), mean));
    nest_accumulate(n, squares, NEST_ACC_SUM, nest_mul(n, d, d));
    nest_end(n);
    nest_expr *scale = nest_let(
        n, "scale", nest_call1(n, "rsqrt", nest_add(n, nest_div(n, squares, count), eps)));
    c = nest_for(n, "c", nest_int(n, 0), cols, NEST_VECTOR);
    v = nest_mul(n, nest_sub(n, nest_load(n, out, nest_add(n, base, c)), mean), scale);
    nest_store(n, out, nest_add(n, base, c),
               nest_add(n, nest_mul(n, v, nest_load(n, w, c)), nest_load(n, b, c)));
    nest_end(n);
    nest_end(n);
    return n;
}

/* out[i, j] = sqrt(sum over k of (x[i, k] - y[j, k])^2), depth a constant. A tile of y is
 * transposed into a local array that rows of x then reuse. parallel: over tiles of NESTS_TILE
 * columns. buffers x, y, out; ints rows, cols */
enum { NESTS_TILE = 64 };
static inline nest *nests_distance(arena *a, int depth) {
    nest *n = nest_new(a, "distance");
    nest_buffer *x = nest_add_buffer(n, "x", DT_FLOAT32, NEST_RESTRICT),
                *y = nest_add_buffer(n, "y", DT_FLOAT32, NEST_RESTRICT),
                *out = nest_add_buffer(n, "out", DT_FLOAT32, NEST_RESTRICT);
    nest_buffer *turned = nest_add_local(n, "turned", DT_FLOAT32, (int64_t)NESTS_TILE * depth);
    nest_expr *rows = nest_add_int(n, "rows"), *cols = nest_add_int(n, "cols"), *j;
    nest_expr *tile = nest_int(n, NESTS_TILE), *deep = nest_int(n, depth);
    n->contract = true;
    nest_expr *tiles = nest_div_index(n, nest_add(n, cols, nest_int(n, NESTS_TILE - 1)), tile);
    nest_expr *t = nest_for(n, "t", nest_int(n, 0), tiles, NEST_PARALLEL);
    nest_expr *first = nest_let(n, "first", nest_mul(n, t, tile));
    nest_expr *width = nest_let(
        n, "width", nest_binary(n, NEST_MIN, tile, nest_binary(n, NEST_SUB, cols, first)));
    j = nest_for(n, "j", nest_int(n, 0), width, 0);
    nest_expr *k = nest_for(n, "k", nest_int(n, 0), deep, NEST_UNROLL);
    nest_store(n, turned, nests_at(n, k, tile, j),
               nest_load(n, y, nests_at(n, nest_add(n, first, j), deep, k)));
    nest_end(n);
    nest_end(n);
    nest_expr *i = nest_for(n, "i", nest_int(n, 0), rows, 0), *xs[64];
    for (int m = 0; m < depth; m++)
        xs[m] = nest_let(n, "x", nest_load(n, x, nests_at(n, i, deep, nest_int(n, m))));
    j = nest_for(n, "j", nest_int(n, 0), width, NEST_VECTOR);
    nest_expr *sum = nest_const_float(n, NEST_F32, 0);
    for (int m = 0; m < depth; m++) {
        nest_expr *d = nest_binary(
            n, NEST_SUB, xs[m], nest_load(n, turned, nest_add(n, nest_int(n, m * NESTS_TILE), j)));
        sum = m ? nest_add(n, sum, nest_mul(n, d, d)) : nest_mul(n, d, d);
    }
    nest_store(n, out, nests_at(n, i, cols, nest_add(n, first, j)), nest_call1(n, "sqrt", sum));
    nest_end(n);
    nest_end(n);
    nest_end(n);
    return n;
}

#endif
