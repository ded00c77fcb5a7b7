/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - what operator functions share: reading arguments, returning results, promotion, and turning one
 * functional definition into its in-place and out= forms.
 *
 * A kernel never checks the tag of an argument whose type the schema fixes: the compiler did. It
 * checks everything else (dims, shapes, dtypes) and words its errors as PyTorch does.
 */
#ifndef CTSC_RUNTIME_KERNELS_KERNEL_H
#define CTSC_RUNTIME_KERNELS_KERNEL_H

#include "base/pool.h"
#include "ir/op.h"
#include "runtime/runtime.h"
#include "tensor/iter.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        ctsc_status try_status_ = (call);                                                          \
        if (try_status_ != CTSC_OK) return try_status_;                                            \
    } while (0)

/* ---- arguments (borrowed) --------------------------------------------------------------- */

static inline tensor *arg_tensor(const value *v) { return v->u.tensor; }
static inline tensor *arg_tensor_or_null(const value *v) { /* Tensor? ; an undefined tensor is None */
    return v->tag == V_TENSOR ? v->u.tensor : NULL;
}
static inline int64_t arg_int(const value *v) { return v->tag == V_BOOL ? v->u.b : v->u.i; }
static inline int64_t arg_int_or(const value *v, int64_t other) {
    return v->tag == V_NONE ? other : arg_int(v);
}
static inline bool arg_bool(const value *v) { return v->tag == V_BOOL ? v->u.b : v->u.i != 0; }
/* float or Scalar argument as a double */
static inline double arg_float(const value *v) {
    return v->tag == V_FLOAT ? v->u.f : v->tag == V_INT ? (double)v->u.i : (double)v->u.b;
}
static inline bool arg_is_none(const value *v) { return v->tag == V_NONE; }
static inline dtype arg_dtype_or(const value *v, dtype other) { /* ScalarType? */
    return v->tag == V_NONE ? other : (dtype)v->u.i;
}
/* dtype argument from a program: checked. */
ctsc_status arg_dtype(op_ctx *cx, const value *v, dtype other, dtype *out);

/* ---- results ----------------------------------------------------------------------------- */

static inline ctsc_status op_return(value *results, value v) {
    results[0] = v;
    return CTSC_OK;
}
static inline ctsc_status op_return_tensor(value *results, tensor *t) { /* takes t */
    return op_return(results, value_tensor_take(t));
}
static inline ctsc_status op_return_self(value *results, const value *self) { /* in-place operators */
    return op_return(results, value_ref(*self));
}
/* "... not implemented for 'Half'": CTSC_UNSUPPORTED for dtypes ctsc lacks, in PyTorch's words: "\"name\" not
 * implemented for 'Half'" with CTSC_FAILED for those PyTorch refuses as well. */
ctsc_status op_refuse_dtype(op_ctx *cx, const char *name, dtype dt);

/* ---- one definition, three forms -------------------------------------------------------------- */

/* self.op_(...): computed holds the functional result; copied into self (shape must equal self's after
 * broadcasting, dtype must be castable: "result type Float can't be cast to the desired output type Long"). Takes computed. */
ctsc_status op_finish_inplace(op_ctx *cx, const value *self, tensor *computed, value *results);
/* op(..., out=o): resizes o if its shape differs, checks castability, copies. Takes computed. */
ctsc_status op_finish_out(op_ctx *cx, const value *out, tensor *computed, value *results);
/* Finishes by the overload being run: schema with a written `self` as first argument -> in-place; with an
 * `out` argument -> out form; else returns computed. One function then serves all overloads that agree in
 * their leading arguments. */
ctsc_status op_finish(op_ctx *cx, const value *args, tensor *computed, value *results);
/* t.resize_(sizes): contiguous, keeping the handle. New elements are uninitialised. */
ctsc_status tensor_resize(diag *d, tensor *t, int ndim, const int64_t *sizes);

/* ---- promotion (torch.result_type) ---------------------------------------------------------------- */

/* Operands may be tensors or numbers; 0-dim tensors and numbers matter only if their category (bool < int <
 * float < complex) is higher. */
dtype promote_operands(int n, const value *operands);
/* An operand (tensor or number) as a tensor of dtype dt: a reference to itself, a converted copy, or a 0-dim tensor. */
ctsc_status operand_to_tensor(op_ctx *cx, const value *operand, dtype dt, tensor **out);

/* Reads all dims of an int[] argument. NULL-safe for None: n = 0. */
static inline int arg_ints(const value *v, const int64_t **data) {
    if (v->tag != V_LIST) return *data = NULL, 0;
    *data = v->u.list->u.ints;
    return (int)v->u.list->len;
}
/* Reduction dims: wraps, refuses duplicates, fills mask[TENSOR_MAX_DIMS]; an empty or absent list means all dims. */
ctsc_status arg_dim_mask(op_ctx *cx, const value *dims, int ndim, bool *mask);

/* Calls X(ctype, suffix) in a switch over dtypes:
 *     DISPATCH_REAL(dt, cx, "name", { T *p = ...; });
 * Inside, T is the element's C type and ACC the type to compute in (float for half and bfloat16: convert with LOAD/STORE). */
static inline float kernel_load_half(float16 h) { return float16_to_float(h); }

#endif
