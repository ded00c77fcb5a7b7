/* SPDX-License-Identifier: Apache-2.0 */
/* lazy_internal.h - what the makers of lazy tensors share. */
#ifndef CTSC_CODEGEN_LOWER_LAZY_LAZY_INTERNAL_H
#define CTSC_CODEGEN_LOWER_LAZY_LAZY_INTERNAL_H

#include "codegen/lower/lazy/lazy.h"
#include "ir/graph/fusible.h"

typedef nest_expr *(*lazy_at_fn)(lazy *l, const lazy_tensor *t, nest_expr *const *index);

lazy_tensor *lazy_new(lazy *l, dtype dt, int ndim, nest_expr *const *sizes, lazy_at_fn at,
                      void *impl);
/* Notes that t is made of input, and adds to its cost. */
void lazy_add_input(lazy_tensor *t, const lazy_tensor *input);

/* An element of dtype from, as one of dtype to. Constants stay constants. */
nest_expr *lazy_convert(lazy *l, nest_expr *x, dtype from, dtype to);
/* x, made by arithmetic in f32, as half or bfloat16 memory would keep it; other
 * dtypes: x itself. */
nest_expr *lazy_round(lazy *l, nest_expr *x, dtype dt);

nest_expr *lazy_zero(lazy *l);
nest_expr *lazy_one(lazy *l);

/* ---- order (lazy_order.c) -------------------------------------------------------------------- */

/* t as a tensor without data, for the arguments at hand; its dims are in `room`. False: a size is
 * not known. */
typedef struct lazy_shape {
    tensor t;
    int64_t sizes[LAZY_MAX_DIMS], strides[LAZY_MAX_DIMS];
} lazy_shape;
LAZY_ASKED bool lazy_shape_of(lazy *l, const lazy_tensor *t, lazy_shape *room);
/* The strides that rule gives t, the result of an operator with these arguments. False: they are
 * not known. */
LAZY_ASKED bool lazy_set_order(lazy *l, strides_rule rule, int n, const lazy_arg *args,
                               lazy_tensor *t);
/* t's strides are these; where they are row-major, it counts as contiguous. */
LAZY_ASKED bool lazy_set_strides(lazy *l, lazy_tensor *t, const int64_t *strides);
/* Its dims from the outermost to the innermost; false: that is their own order. */
bool lazy_order(lazy *l, const lazy_tensor *t, int *order);

/* ---- arguments ------------------------------------------------------------------------------- */

/* The tensor or number an argument is; NULL for None and what is neither. */
const lazy_tensor *lazy_arg_tensor(lazy *l, const lazy_arg *a);
static inline bool lazy_arg_is_none(const lazy_arg *a) {
    return !a->t && !a->items && a->constant.tag == V_NONE;
}
/* A constant int or bool, or a number that becomes one (lazy->specialise). */
LAZY_ASKED bool lazy_arg_int(lazy *l, const lazy_arg *a, int64_t *out);
/* A constant number as a double. */
LAZY_ASKED bool lazy_arg_float(const lazy_arg *a, double *out);
LAZY_ASKED bool lazy_arg_bool(lazy *l, const lazy_arg *a, bool *out);
/* dtype argument; None gives other. */
LAZY_ASKED bool lazy_arg_dtype(lazy *l, const lazy_arg *a, dtype other, dtype *out);
/* The int expression an argument is. */
LAZY_ASKED bool lazy_arg_expr(lazy *l, const lazy_arg *a, nest_expr **out);
/* A list of ints as expressions. */
LAZY_ASKED bool lazy_arg_exprs(lazy *l, const lazy_arg *a, int max, int *n, nest_expr **out);
/* Constant ints; a single int counts as a list of one; None as an empty one. */
LAZY_ASKED bool lazy_arg_ints(lazy *l, const lazy_arg *a, int max, int *n, int64_t *out);
/* dim in [-n, n), n = max(ndim, 1). */
LAZY_ASKED bool lazy_wrap_dim(int64_t dim, int ndim, int *out);

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Arithmetic of i64 expressions; of constants it gives constants. div: of what is not negative, by
 * what is positive. */
nest_expr *lazy_size(lazy *l, nest_op op, nest_expr *x, nest_expr *y);
LAZY_ASKED static inline bool lazy_is_const(const nest_expr *x, int64_t *out) {
    if (x->op != NEST_CONST) return false;
    *out = x->u.i;
    return true;
}
/* Known, or agreed to be. */
LAZY_ASKED bool lazy_same_size(lazy *l, nest_expr *x, nest_expr *y);
bool lazy_is_positive(lazy *l, nest_expr *x);
LAZY_ASKED bool lazy_is_one(lazy *l, nest_expr *x);

/* ---- views ----------------------------------------------------------------------------------- */

/* index[d] of t is out[from[d]] * step[d] + start[d]; from[d] -1: start[d] alone. step NULL: all 1;
 * start NULL: all 0.
 * */
lazy_tensor *lazy_map(lazy *l, const lazy_tensor *t, int ndim, nest_expr *const *sizes,
                      const int *from, nest_expr *const *step, nest_expr *const *start);
/* Dim i of the view is dim order[i] of t. */
lazy_tensor *lazy_permute(lazy *l, const lazy_tensor *t, const int *order);
lazy_tensor *lazy_slice(lazy *l, const lazy_tensor *t, int dim, nest_expr *start, nest_expr *size,
                        int64_t step);

/* ---- operators ------------------------------------------------------------------------------- */

enum { LAZY_MAX_NUMBERS = 4 };

/* An operator's arithmetic: x holds its operands and then its numbers, all in the type of dtype dt,
 * but operands whose dtype the operator fixes (a mask). */
typedef struct lazy_emitter {
    nest_expr *(*emit)(lazy *l, const struct lazy_emitter *e, dtype dt, nest_expr *const *x);
    const char *call; /* a function of ir/scalar/scalar_ops.h, for emitters that call one */
    nest_op op;       /* for those that are one operation */
    int nx;           /* operands and numbers */
    bool
        /* gives one of its operands, or another value that half and bfloat16 have if its
         * operands are of them */
        exact;
    const struct custom_definition *custom; /* of lazy_custom.c */
} lazy_emitter;

/* The tensor of result dtype `result` whose elements e makes of n operands, each converted to
 * compute (or to its own dtypes[i], where dtypes is given) and broadcast, and of numbers. NULL: the
 * shapes do not fit. */
lazy_tensor *lazy_pointwise(lazy *l, const lazy_emitter *e, dtype compute, dtype result, int n,
                            const lazy_tensor *const *operands, const dtype *dtypes,
                            nest_expr *const *numbers);
/* Elements made of one operand by a function of ir/scalar/scalar_ops.h, or of two
 * by an operation. */
lazy_tensor *lazy_call(lazy *l, const char *function, const lazy_tensor *t);
lazy_tensor *lazy_binary(lazy *l, nest_op op, const lazy_tensor *x, const lazy_tensor *y);
/* The dtype that operands meet in. */
dtype lazy_promote(int n, const lazy_tensor *const *operands);

/* The lowering of a fusible operator (op.lowered). NULL: it cannot be done for these arguments. */
lazy_tensor *lazy_apply_pointwise(lazy *l, const op *o, const lazy_arg *args);
lazy_tensor *lazy_apply_view(lazy *l, lowered_op rule, const lazy_arg *args);
/* Of an operator with a scalar definition. */
lazy_tensor *lazy_apply_custom(lazy *l, const struct scalar_text *t, const lazy_arg *args);

/* ---- emitters (lazy_emit.c) ------------------------------------------------------------------ */

typedef nest_expr *lazy_emit_fn(lazy *l, const lazy_emitter *e, dtype dt, nest_expr *const *x);
lazy_emit_fn lazy_emit_call, lazy_emit_test, lazy_emit_op, lazy_emit_neg, lazy_emit_not,
    lazy_emit_copy, lazy_emit_square, lazy_emit_cube, lazy_emit_reciprocal, lazy_emit_relu,
    lazy_emit_minmax, lazy_emit_logic, lazy_emit_logical_not, lazy_emit_where, lazy_emit_scaled,
    lazy_emit_addcmul, lazy_emit_addcdiv, lazy_emit_clamp, lazy_emit_threshold,
    lazy_emit_leaky_relu, lazy_emit_abs, lazy_emit_sign, lazy_emit_batch_norm,
    lazy_emit_scale_shift, lazy_emit_pow_number;
/* A constant of dtype dt's type. */
nest_expr *lazy_const(lazy *l, dtype dt, double x);

#endif
