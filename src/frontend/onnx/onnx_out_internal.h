/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_internal.h - what the files that write models share. onnx_out.h is the map.
 *
 * Conventions: functions that give a name give NULL after a failure, which o->d has, and take NULL
 * for a name as a failure before; those that give a bool give false.
 */
#ifndef CTSC_FRONTEND_ONNX_ONNX_OUT_INTERNAL_H
#define CTSC_FRONTEND_ONNX_ONNX_OUT_INTERNAL_H

#include "frontend/onnx/onnx_out.h"
#include "frontend/onnx/onnx_wire.h"

enum { OUT_WORLDS = 2, OUT_MAX_STEPS = 2000000, OUT_MAX_DEPTH = 64 };

/* Integers that a constant was made of, to be written in its place (onnx_out_weight.c). Tensors are
 * the walk's (onnx_out.held). */
typedef struct out_weight {
    tensor *q;     /* int8 */
    tensor *scale; /* float32: of no dims, along axis, or, in blocks, as many dims as q */
    tensor *zero;  /* int8, as scale; NULL: zero */
    int axis, bits;
    int64_t block; /* along axis; 0: none */
} out_weight;

/* A value of the program. The model has complex tensors as real ones with one more dim, the parts
 * (frontend/prelude/operators/onnx_out_complex.py). */
typedef struct out_value {
    value v[OUT_WORLDS];    /* references; the second only where there are two worlds */
    const char *name;       /* in the model; NULL: a constant */
    const char *init;       /* of a constant: its initialiser, once a node reads it */
    const out_weight *ints; /* of a constant: what it was made of; NULL: not known */
    bool tainted;           /* a number that follows from elements */
    bool fixed;          /* one that follows from sizes that may change, but was the same in both */
    bool stale;          /* written through another view since: to be read again */
    struct out_seq *seq; /* of a list whose length the model computes */
    bool gone;           /* of a branch or a loop's body that has been written: not to be named */
    struct out_frame *frame;      /* where it was made; NULL: not within a branch or body */
    const struct out_value *from; /* of a copy that a branch gives: what it gives */
    /* of a container that holds what is not a constant: its elements; of a dict its values */
    struct out_value **items;
    int nitems, cap;
} out_value;

/* How the second world's integers differ that are read from elements (onnx_out_sized.c). */
typedef enum out_shift { SHIFT_NONE, SHIFT_MORE, SHIFT_LESS, SHIFT_TWICE, SHIFT_COUNT } out_shift;

/* Storages that may be the same, which depends on the branch that is taken. */
typedef struct out_link { const storage *a, *b; } out_link;

/* An operator whose body is walked in its place (onnx_out_body.c). */
typedef struct out_body {
    const struct function *f;
    const node *at; /* the call */
    const struct out_body *outer;
} out_body;

typedef struct onnx_out {
    diag *d;
    const onnx_out_options *opt;
    size_t told, nall; /* nodes of its own block: that out_tell was told of; all */
    int worlds, opset;
    arena scratch;
    VEC(out_value *) values; /* all */
    VEC(tensor *) held;      /* of initialisers */
    VEC(Onnx__NodeProto *) nodes;
    VEC(Onnx__TensorProto *) tensors;
    VEC(Onnx__ValueInfoProto *) inputs, outputs;
    strmap names;           /* that are taken */
    ptrmap attributes;      /* storages of the module's tensors */
    ptrmap attribute_names; /* tensor -> "conv1.weight" */
    ptrmap initializers;    /* tensor of the module -> name */
    strmap constants;       /* bytes of small constants -> name */
    ptrmap env;             /* ir_value -> out_value */
    ptrmap listed;          /* storages of tensors in such lists */
    ptrmap made_of_ints;    /* tensor of such a constant -> out_weight */
    ptrmap warned;          /* nodes that were warned of */
    const node *at;         /* for messages */
    size_t steps, counter, nnodes, loops;
    struct out_frame *frame; /* the branch or body that is being written (onnx_out_flow.c) */
    VEC(out_link) links;
    bool two;   /* refused, because sizes change from branch to branch: two worlds would tell */
    bool sized; /* refused, because sizes follow from elements: a shift would tell */
    out_shift shift;
    int depth;
    const out_body *bodies; /* that are being walked, the innermost first */
} onnx_out;

/* An operator that is being written; its results are computed already. */
typedef struct out_call {
    onnx_out *o;
    const char *key; /* of the overload, in its form that returns */
    int nargs, nres;
    out_value **args, **res;
    type *const *out_types;
} out_call;

typedef struct out_row {
    const char *name; /* "aten::relu": all its overloads */
    bool (*fn)(out_call *c, const char *text);
    const char *text;
} out_row;

/* ---- onnx_out.c ------------------------------------------------------------------------------ */

bool out_refuse(onnx_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool out_no_memory(onnx_out *o);
bool out_failed(const onnx_out *o);
out_value *out_new(onnx_out *o);
bool out_is_dynamic(const out_value *x);
const out_row *out_find_row(const char *name);
out_value *out_get(onnx_out *o, const ir_value *v);
bool out_put(onnx_out *o, const ir_value *v, out_value *x);
out_value *out_constant(onnx_out *o, value v_take); /* the same in all worlds */
bool out_walk(onnx_out *o, const block *b);
bool out_refresh(onnx_out *o, out_value *x); /* a stale one is read again */
/* Runs the operator on the examples of world w. */
bool out_run(onnx_out *o, const op *op, int w, int nargs, out_value *const *args, int nres,
             out_value **res, type *const *out_types);
bool out_is_exact(const tensor *a, const tensor *b);
size_t out_len(const out_value *x); /* of containers */
out_value *out_item(onnx_out *o, const out_value *x, size_t i);
out_value *out_container(onnx_out *o, bool tuple, type *t, size_t n, out_value *const *items);

/* ---- onnx_out_body.c ------------------------------------------------------------------------- */

/* The TorchScript that replaces the operator in a model; NULL: none. paired: of complex numbers;
 * row: it has one */
struct function *body_find(onnx_out *o, const op *base, bool paired, bool row);
/* Walks it: the results are those of the call. called: base, or its form that writes in place */
bool body_walk(out_call *c, const op *called, const op *base, struct function *f);

/* ---- onnx_out_flow.c ------------------------------------------------------------------------- */

bool flow_if(onnx_out *o, const node *n, out_value *cond);
/* From iteration k on, which has the carried values `now`. */
bool flow_loop(onnx_out *o, const node *n, int64_t k, out_value *trips, out_value *cond,
               out_value *const *now);
/* x will be written; *dynamic is set where a node has to do it, whatever x is. */
bool flow_writes(onnx_out *o, const out_value *x, bool *dynamic);
void flow_drop(onnx_out *o, struct out_frame *f);
void flow_exchange(onnx_out *o, struct out_frame *f); /* nodes of o: those of f, and back */

/* ---- onnx_out_lists.c, onnx_out_numbers.c ---------------------------------------------------- */

/* A list whose length the model computes: a sequence of tensors, or a tensor of numbers. */
typedef struct out_seq {
    int dt;   /* of the elements; -1: not known yet */
    int ndim; /* likewise */
    bool numbers;
    Onnx__AttributeProto *empty; /* of SequenceEmpty: its dtype; NULL: another node made it */
} out_seq;

bool lists_open(onnx_out *o, const block *b);
bool lists_call(onnx_out *o, const node *n, out_value **args, bool *done);
int lists_type(const out_value *x); /* as out_graph takes it */
bool lists_may_open(const out_value *x);
/* Another list of the same elements, which is a value of the model. */
out_value *lists_copy(onnx_out *o, out_value *x);
/* r becomes one of like's kind, with examples of its own; it has no name yet. */
bool lists_like(onnx_out *o, const out_value *like, out_value *r);
/* x, whatever it is, as a value of the model of that kind. */
const char *lists_name(onnx_out *o, out_value *x, out_seq *s);
/* What is given where one branch gives a, of frame f, and the other b, of g; its name is to be the
 * node's output for *from_a and *from_b. */
out_value *lists_merge(onnx_out *o, struct out_frame *f, out_value *a, struct out_frame *g,
                       out_value *b, const char **from_a, const char **from_b);
bool lists_result(onnx_out *o, out_value *x, const char *name);
bool lists_mark(onnx_out *o, const out_value *x); /* x is an element of one */
const char *lists_join(onnx_out *o, out_value *x, int64_t dim, bool stack);
bool numbers_is(value v); /* a list of numbers? */
bool numbers_open(onnx_out *o, out_value *x);
bool numbers_example(onnx_out *o, const out_value *from, out_value *to);
const char *numbers_name(onnx_out *o, out_value *x); /* of any list of numbers, as a tensor */
dtype numbers_dtype(const list *l);                  /* of that */
bool numbers_output(onnx_out *o, const char *name, dtype dt);
const char *numbers_join(onnx_out *o, const char *a, out_value *b);
bool numbers_call(onnx_out *o, const node *n, out_value **args, bool *done);

/* ---- onnx_out_sized.c ------------------------------------------------------------------------ */

/* Of an operator whose arguments are not constants, before and after it is run. */
bool sized_before(const out_call *c, const op *base);
bool sized_after(const out_call *c, const op *base, bool tainted);
void sized_read(const onnx_out *o, out_value *x); /* a number that was read from elements */

/* ---- onnx_out_float8.c ----------------------------------------------------------------------- */

/* Writes the call as its row says. */
bool out_by_row(out_call *c, const out_row *row);

/* ---- onnx_out_weight.c ----------------------------------------------------------------------- */

/* What the call of constants, which has been run, made floats of. */
bool out_weight_note(out_call *c, const char *key);
/* The integers and biases, input's and hidden, of an object of CellParamsBase. */
bool out_weight_of_cell(onnx_out *o, value cell, const out_weight **ints, const tensor **bias);
/* The floats: DequantizeLinear. turned: of the transposed matrix */
const char *out_weight_floats(onnx_out *o, const out_weight *x, bool turned);

/* ---- onnx_out_quant.c ------------------------------------------------------------------------ */

bool out_is_quantised(const out_call *c);
bool out_quantised(out_call *c);

/* ---- onnx_out_model.c ------------------------------------------------------------------------ */

const char *out_fresh(onnx_out *o, const char *hint);
/* A node of one result, whose name is given; NULL among the names: left out if it is "". */
const char *out_node(onnx_out *o, const char *type, int n, const char *const *in);
#define OUT(o, type, ...)                                                                          \
    out_node((o), (type), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),           \
             (const char *[]){__VA_ARGS__})
/* A node of several. */
bool out_nodes(onnx_out *o, const char *type, int n, const char *const *in, int nout,
               const char **out);
/* Attributes of the latest node. */
void out_int(onnx_out *o, const char *name, int64_t i);
void out_float(onnx_out *o, const char *name, double f);
void out_text(onnx_out *o, const char *name, const char *s);
void out_ints(onnx_out *o, const char *name, int n, const int64_t *ints);
/* The first inputs, `numbers` of them, have no dims; of the others nothing is said of dims. Types
 * may be OUT_SEQUENCE + that of the elements. */
enum { OUT_SEQUENCE = 1 << 8 };
void out_graph(onnx_out *o, const char *name, size_t nnodes, Onnx__NodeProto **nodes, int nin,
               int numbers, const char *const *in, const int *in_types, int nout,
               const char *const *out);
/* Constants. */
const char *out_tensor(onnx_out *o, tensor *t);
const char *out_tensor_int4(onnx_out *o, const tensor *t);           /* int8 as INT4 */
const char *out_const_ints(onnx_out *o, int n, const int64_t *ints); /* of one dim */
const char *out_const_int(onnx_out *o, int64_t i);                   /* of none */
const char *out_const(onnx_out *o, dtype dt, double f);              /* of none */
/* A value's name; of a constant its initialiser. */
const char *out_name(onnx_out *o, out_value *x);
const char *out_cast(onnx_out *o, const char *name, dtype from, dtype to);
bool out_input(onnx_out *o, out_value *x, const char *name, int index);
bool out_output(onnx_out *o, const char *name, const tensor *t, const tensor *second);
bool out_output_sequence(onnx_out *o, const char *name, int type);
ctsc_status out_finish(onnx_out *o);
/* Tells options.progress that this node is written, if it is one of the method itself. */
void out_tell(onnx_out *o, const node *n);

/* ---- onnx_out_args.c: for the functions of rows ---------------------------------------------- */

static inline onnx_out *out_of(const out_call *c) { return c->o; }
bool out_are_complex(int n, out_value *const *x);     /* any of them, or of lists of tensors */
bool out_given(const out_call *c, int i);             /* there, and not None */
const tensor *out_t(const out_call *c, int i);        /* the example's tensor */
const tensor *out_r(const out_call *c);               /* the result's */
dtype out_dt(const out_call *c, int i);               /* of a tensor or number */
const char *out_arg(out_call *c, int i);              /* name */
const char *out_arg_as(out_call *c, int i, dtype dt); /* converted; numbers too */
bool out_arg_int(out_call *c, int i, int64_t *v);     /* a constant, else refused */
bool out_arg_float(out_call *c, int i, double *v);
bool out_arg_bool(out_call *c, int i, bool *v);
/* a constant list, of one element repeated n times where it has but one; n -1: any */
bool out_arg_ints(out_call *c, int i, int want, int *n, int64_t *ints);
const char *out_arg_text(out_call *c, int i); /* NULL: none */
int out_dim(const tensor *t, int64_t dim);    /* wrapped */
/* Numbers as tensors of one dim and one element; a list of them. */
const char *out_arg_1d(out_call *c, int i);
const char *out_value_1d(onnx_out *o, out_value *x);
const char *out_list_1d(onnx_out *o, out_value *x);
bool out_set(out_call *c, int i, const char *name);
bool out_done(out_call *c, const char *name); /* result 0 */
/* x, of example t, as a tensor of the result's sizes. list: what says them, or NULL */
const char *out_reshape(onnx_out *o, const char *x, const out_value *in, const out_value *like,
                        out_value *list);
/* ReduceX over these axes; n 0: over all (onnx_out_math.c). */
const char *out_reduce(onnx_out *o, const char *type, const char *x, int n, const int64_t *axes,
                       bool keep);
/* Is the size of dim i the same in all worlds? */
bool out_is_fixed(const onnx_out *o, const out_value *x, int i);

#define OUT_ROW(op, fn, what) bool fn(out_call *c, const char *text);
#include "frontend/onnx/onnx_out_rows.def"
#undef OUT_ROW

#endif
