/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.h - the operator registry: every overload that PyTorch knows, and ctsc's support for it.
 *
 * Two sources feed it. ir/op/schemas.txt holds the schema of every overload of PyTorch 1.13 (with
 * the arguments that overloads gained since), in overload-resolution order within a name, and
 * ir/op/schemas_2.txt those that came later, which are tried after them; they are embedded in the
 * library, indexed by name at start and parsed on demand, so that a program using an operator ctsc
 * lacks still compiles and is refused only when that operator is reached. ops.def (and
 * ops/NAME.def, one per family) holds one row per implemented overload: its name, its function and
 * all that is known of it (op_traits.h).
 *
 *     OP("aten::relu", op_relu, 0)
 *
 * In-place and out= overloads, copies of views (`*_copy`) and other names of the same operator have
 * no rows: they are derived (op_derive.c) from the overload that computes the same. Operators that
 * are made of others are written in TorchScript.
 *
 * Adding an operator is adding a row and a function (docs/architecture.md shows it).
 * User-registered operators go through op_register as well.
 * Tests: tests/unit/test_ops.c
 */
#ifndef CTSC_IR_OP_OP_H
#define CTSC_IR_OP_OP_H

#include "ir/op/op_traits.h"
#include "ir/op/symbol.h"
#include "ir/schema.h"
#include "tensor/device.h"

#include <stdatomic.h>

struct interp; /* runtime/interp/interp.h */

/* What an operator function may use besides its arguments. One per running thread of a program. */
typedef struct op_ctx {
    diag *diag;          /* where failures are described */
    const struct op *op; /* the operator being run */
    struct runtime *rt;  /* random generator, output sinks, limits (runtime/context/runtime.h) */
    /* to call back into the program: methods of script classes; may be NULL */
    struct interp *interp;
    int nargs;              /* of a vararg operator: arguments given */
    type *const *out_types; /* static types of the results, where the node knows them; else NULL */
    /* how operators that the function calls are called (op_call), given all of their arguments;
     * NULL: as they are */
    ctsc_status (*call)(struct op_ctx *cx, const char *key, int nargs, const value *args,
                        value *results);
} op_ctx;

/* args: one value per schema argument (defaults filled in), borrowed. results: one slot per return,
 * None on entry; on success each holds a reference for the caller. On failure results are left
 * None. In-place operators return a new reference to their mutated argument. */
typedef ctsc_status (*op_fn)(op_ctx *cx, const value *args, value *results);

typedef struct op {
    const schema *schema;
    const char *key;               /* "aten::add.Tensor" */
    op_symbol symbol, name_symbol; /* of key and of schema->name */
    op_fn fn;                      /* NULL: known but not implemented (unless OP_SPECIAL) */
    /* what runs instead where a tensor argument is quantised (op_function); NULL: such
     * arguments are refused */
    op_fn quantised;
    /* of user-registered operators; of overloads derived as copies or writes: the key of the one
     * they follow from */
    void *fn_ctx;
    /* its derivative (runtime/autograd/grad_rules.h); NULL: nobody asked yet */
    _Atomic(const struct grad_rule *) gradient;
    /* how it runs where a tensor argument is on a device (runtime/cuda/dispatch.c); NULL:
     * nobody asked yet */
    _Atomic(const struct device_route *) route;
    op_traits traits;
    lowered_op lowered; /* the rule by which it becomes a part of kernels */
    /* the scalar function that computes an element, of a fusible one without a rule (CALLS) */
    const char *called;
    bool recent; /* PyTorch 1.13 has no such overload */
    /* what it does to one element, if that is known (ir/scalar/scalar_text.h); else NULL */
    const struct scalar_text *scalar;
} op;

/* All overloads of "aten::add" in resolution order; parsed at first use. *n = 0 if there are none.
 * The array lives as long as the process. Thread-safe. NULL with *n = 0 also without memory. */
const op *const *op_overloads(const char *name, int *n);
/* Whether there are operators of that namespace: "aten". */
bool op_space_known(const char *space);
/* A hint appended to the error for an unknown operator:
 * a library with its namespace may be missing. */
void op_note_library(diag *d, const char *name);
/* One overload by key ("aten::add.Tensor", "aten::relu"); NULL if unknown. */
const op *op_find(const char *key);
const op *op_of(op_symbol key);
/* The overload of a row of op_bindings: its key may be followed by CALLED's name. */
const op *op_of_row(const char *key);
/* Adds or replaces an overload. */
ctsc_status op_register(diag *d, const char *schema_text, op_fn fn, void *fn_ctx, op_traits traits);
/* The same with a scalar definition for the same schema, which is never freed; it may be NULL. */
ctsc_status op_register_scalar(diag *d, const char *schema_text, op_fn fn, void *fn_ctx,
                               op_traits traits, const struct scalar_text *scalar);
/* Functions and traits of overloads, by key. The keys are one text, each ends in a NUL and an empty
 * one ends them all: pointers to two thousand keys would weigh as much as the keys. After a key
 * there may be CALLED's name. */
typedef struct op_bindings {
    const char *keys;
    const op_fn *functions;
    const op_traits *traits; /* NULL: rows have none */
} op_bindings;
/* The next one, after what CALLED adds. */
static inline const char *op_next_key(const char *key) { return key + strlen(key) + 1; }
/* What a layer above provides, once, before an operator is looked up (runtime/ops/registry.c).
 * Without it every operator is known and none implemented. */
typedef struct op_host {
    op_bindings builtin; /* the rows of ops.def, sorted by nothing */
    /* the rows of ops/quantised_tensors.def: overloads that take quantised tensors, with
     * what they do then */
    op_bindings quantised;
    /* functions of derived overloads: they call the one that fn_ctx names */
    op_fn derived_write, derived_copy;
    op_fn composite; /* the function of OP_COMPOSITE overloads */
    /* runs operators with a tensor argument on a device */
    op_fn on_device;
    /* runs operators with an argument whose dims have names, and gives names to the results */
    op_fn with_names;
    /* of overloads that take names in place of dims: they call the one that fn_ctx names */
    op_fn by_name;
    /* What an OP_COMPOSITE or OP_OURS overload does. Compiled when first asked for, and free of
     * calls; NULL says why in d. Thread-safe. */
    struct function *(*composite_body)(const op *o, diag *d);
    /* Calls a function of the program back. */
    ctsc_status (*call)(op_ctx *cx, struct function *f, int nargs, const value *args, value *out);
    /* The i-th function of frontend/prelude/derivatives for the overload `key`; NULL:
     * there are no more. */
    const char *(*derivative)(const char *key, int i);
    /* A function of the operators' TorchScript by name, compiled as composite_body is;
     * NULL says why in d. */
    struct function *(*library_function)(const char *name, diag *d);
    /* What the writer of ONNX puts in place of an overload: function onnx_out_NAME__OVERLOAD, or
     * onnx_out_NAME, of the operators' TorchScript, where "onnx_out_" is the prefix. NULL: there
     * is none, or d says why. */
    struct function *(*written_body)(const op *o, const char *prefix, diag *d);
} op_host;
extern const op_host *op_host_installed;
/* What a call of o with these arguments runs; NULL where o->fn is. Every call of an operator's
 * function asks here: the one place where operators that know nothing of quantised tensors refuse
 * them, and where those for tensors of another device are found. Costs programs without any nothing
 * but a look at a flag. */
op_fn op_function_special(const op *o, int nargs, const value *args);
/* Whether o's function takes lazily conjugated and negated tensors; what calls it with resolved
 * ones (op_lazy.c). */
bool op_takes_lazy(const op *o);
ctsc_status op_with_resolved(op_ctx *cx, const value *args, value *results);
/* The function, or what runs it and brings its results into the order that its row states. */
op_fn op_function_in_order(const op *o, int nargs, const value *args);
static inline op_fn op_function(const op *o, int nargs, const value *args) {
    return tensor_kinds() || o->traits.strides ? op_function_special(o, nargs, args) : o->fn;
}
/* Refuses None where o's schema has a tensor: an argument of the program's that was None, or the
 * gradient of what has none. */
ctsc_status op_check_defined(diag *d, const op *o, int nargs, const value *args);
/* Refuses dtypes that meet in none, as PyTorch does: those that are
 * only stored, except for unsigned integers beside floating numbers. */
ctsc_status op_check_promotion(diag *d, dtype a, dtype b);
/* Calls visit for every known overload, in the order of schemas.txt. */
void op_visit(void (*visit)(void *ctx, const op *o), void *ctx);
/* The names of built-in operators in the order of schemas.txt; NULL after the last, and without
 * memory. */
const char *op_builtin_name(size_t i);
/* Names close to `name`, for "did you mean": up to max of them. */
int op_similar(const char *name, const char **out, int max);
enum { OP_KEY_LENGTH = 160 };
/* The overload that computes what o does (op_derive.h), whether or not o has a row of its own:
 * mul.Tensor for mul_.Tensor, mul.out and multiply.Tensor. */
bool op_twin_of(const op *o, char key[OP_KEY_LENGTH]);
/* What the lowering of kernels calls a fusible operator: "max_dim", "i0". */
static inline const char *op_lowered_text(const op *o) {
    return o->called ? o->called : lowered_text(o->lowered);
}
/* Implemented and free of effects: may be folded, merged, removed. */
bool op_is_pure(const op *o);

/* Has a tensor argument named dims, and are names computed here (tensor/dim_names.h)? */
bool op_wants_names(const op *o, int nargs, const value *args);
/* The overload that one with names in place of dims stands for ("sum.dim_IntList" for
 * "sum.dim_DimnameList"); NULL: it is none of these. */
const char *op_named_base(const op *o);

/* Runs an operator from C by key: args may be fewer than the schema has, the rest are defaults.
 * results must have room for all returns. The one way in which kernels use one another. */
ctsc_status op_call(op_ctx *cx, const char *key, int nargs, const value *args, value *results);
/* Told of each such call, with all of its arguments; NULL: nobody is. Of the whole process, for
 * tools that compile ahead of time (runtime/aot/), while nothing else runs. */
typedef struct op_listener {
    void (*called)(struct op_listener *l, const op *o, int nargs, const value *args);
} op_listener;
extern op_listener *op_listening;

#endif
