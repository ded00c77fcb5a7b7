/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_internal.h - what the files that import models share. onnx.h is the map.
 *
 * Conventions: functions that give a value give NULL after a failure, which p->d has; those that
 * give a bool give false. Memory that lives as long as the import is in p->scratch.
 */
#ifndef CTSC_FRONTEND_ONNX_ONNX_INTERNAL_H
#define CTSC_FRONTEND_ONNX_ONNX_INTERNAL_H

#include "frontend/export/ep_module.h"
#include "frontend/onnx/onnx.h"
#include "frontend/onnx/onnx_wire.h"

enum {
    /* rows are written from 11 on; what did not change since works, too */
    ONNX_MIN_OPSET = 7,
    ONNX_MAX_OPSET = 28,
    ONNX_MAX_NODES = 4000000, /* of the graph that is made */
    ONNX_MAX_INTS = 4096,     /* elements of tensors that are also known as numbers */
    ONNX_MAX_IO = 4096,       /* inputs, and outputs */
};

struct onnx_scope;

/* Constant weights of few bits, [n, k] or (turned) [k, n], in the form of ctsc::linear_nbits. */
typedef struct onnx_nbits {
    struct onnx_value *data, *scale, *zero; /* zero: NULL where there is none */
    int64_t n, k, group;
    int bits;
    bool turned;
} onnx_nbits;

/* The value of a name. Usually a tensor; integers of at most one dim (mostly sizes)
 * are also known as numbers, and become a tensor only where one is needed. */
typedef struct onnx_value {
    const char *name;
    ir_value *ir;     /* as a tensor; NULL: not made so far */
    ep_state *state;  /* the weight it is; else NULL */
    tensor *constant; /* its elements, where they are known; held by the program */
    int nints;
    ir_value **ints; /* NULL: not known as numbers */
    int rank, dt;    /* -1: not known */
    /* the type in the file, where dt is a wider one that it is kept as; 0: it is no such */
    int narrow;
    int bits;                /* of elements of 2 or 4, which are bytes here (dt); else 0 */
    const onnx_nbits *nbits; /* the weights that it is the floats of; NULL: not known */
    struct onnx_scope *scope;
    bool absent; /* an input of a function that the call leaves out */
} onnx_value;

/* A call of a function of the model's own, whose nodes are being imported. */
typedef struct onnx_call {
    const Onnx__NodeProto *node;
    const Onnx__FunctionProto *function;
    const struct onnx_call *outer; /* the call that contains the node; NULL: none */
} onnx_call;

typedef struct onnx_program {
    diag *d;
    unit *unit;
    const char *record;
    const onnx_host *host;
    arena scratch;
    Onnx__ModelProto *model;
    graph *g;
    ep_modules modules;
    int opset;
    source *listing; /* a line per node, for messages; held by g */
    ptrmap places;   /* NodeProto -> where its line begins + 1, as uintptr */
    VEC(tensor *) held;
    strmap info;               /* name -> ValueInfoProto */
    strmap uses;               /* name -> how often it is read, as uintptr */
    strmap attributes;         /* names of attributes and modules that are taken */
    strmap tensors;            /* those of attributes */
    strmap stems;              /* name -> the next number to append to it, as uintptr */
    strmap functions;          /* "name\ndomain\noverload" -> FunctionProto */
    VEC(const char *) params;  /* names of the arguments */
    const Onnx__NodeProto *at; /* being imported, for messages; NULL: none */
    size_t index;              /* its number */
    const onnx_call *call;     /* the function that contains it; NULL: none */
    size_t made;
    int nesting;
} onnx_program;

/* A graph, and those around it. */
typedef struct onnx_scope {
    struct onnx_scope *outer;
    strmap names; /* -> onnx_value */
} onnx_scope;

/* A node of the model. */
typedef struct onnx_node {
    onnx_program *p;
    onnx_scope *sc;
    const Onnx__NodeProto *proto;
    int nin, nout;
    onnx_value **in; /* NULL: left out */
    const struct onnx_row *row;
    /* what inputs are, represented as int64 (onnx_op_unsigned.c); 0: none is */
    int unsigned_dt;
    bool unsigned_flip; /* with the topmost bit flipped */
} onnx_node;

/* One operator from one version on. */
typedef struct onnx_row {
    const char *domain; /* "": ONNX's own */
    const char *name;
    int since;
    bool (*fn)(onnx_node *n, const char *text); /* NULL: the text is a template */
    const char *text;
    const char *shape; /* rank and dtype of the result (onnx_rows.c) */
} onnx_row;

/* ---- onnx_model.c ---------------------------------------------------------------------------- */

/* The file is not what it should be: with the record, and the node if there is one. */
bool onnx_bad(onnx_program *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* It is, but ctsc does not know how to do it. */
bool onnx_unsupported(onnx_program *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool onnx_no_memory(onnx_program *p);
bool onnx_failed(const onnx_program *p);

bool onnx_version_is_known(onnx_program *p, int64_t version); /* of ONNX's operator set */

/* ---- onnx_data.c ----------------------------------------------------------------------------- */

/* The tensor of a message, held by the program. Large contents are taken out of the message. */
tensor *onnx_tensor_of(onnx_program *p, Onnx__TensorProto *t);
bool onnx_hold(onnx_program *p, tensor *t_take);
/* Bits of the elements of types that are bytes here; 0: any other. */
int onnx_type_bits(int64_t data_type);

/* ---- onnx_node.c ----------------------------------------------------------------------------- */

/* All nodes of a graph or function, its initialisers before them, where the insertion point of p->g
 * is. */
bool onnx_nodes(onnx_scope *sc, onnx_program *p, size_t count, Onnx__NodeProto *const *nodes);
onnx_value *onnx_value_new(onnx_scope *sc, onnx_program *p, const char *name);
onnx_value *onnx_name(onnx_scope *sc, onnx_program *p, const char *name);
bool onnx_import_node(onnx_scope *sc, onnx_program *p, const Onnx__NodeProto *proto); /* one node */
bool onnx_initializers(onnx_scope *sc, onnx_program *p, const Onnx__GraphProto *g);
/* v is that tensor, which the program holds: an attribute of the module, unless it is small. */
bool onnx_weight(onnx_program *p, onnx_value *v, tensor *x);

/* A value as a tensor, as numbers. */
ir_value *onnx_as_tensor(onnx_scope *sc, onnx_program *p, onnx_value *v);
bool onnx_has_ints(onnx_program *p, onnx_value *v); /* known one by one? then in v->ints */
ir_value *onnx_as_ints(onnx_scope *sc, onnx_program *p, onnx_value *v); /* an int[] */
ir_value *onnx_as_int(onnx_scope *sc, onnx_program *p, onnx_value *v);  /* the only element */
ir_value *onnx_as_float(onnx_scope *sc, onnx_program *p, onnx_value *v);
/* Whatever it is: a tensor, a sequence of these, or one of the two that may be None. */
ir_value *onnx_as_any(onnx_scope *sc, onnx_program *p, onnx_value *v);
bool onnx_is_sequence(const onnx_value *v);
bool onnx_is_optional(const onnx_value *v); /* may it be None? */
/* Its elements, if they are known now; scalars too. */
bool onnx_known_ints(onnx_program *p, onnx_value *v, int max, int *n, int64_t *out);
bool onnx_known_number(const onnx_value *v, double *out);

/* Input i: NULL if it is left out; onnx_need reports that. */
onnx_value *onnx_in(const onnx_node *n, int i);
onnx_value *onnx_need(onnx_node *n, int i);
ir_value *onnx_t(onnx_node *n, int i); /* it as a tensor, needed */
ir_value *onnx_t_or_none(onnx_node *n, int i);
ir_value *onnx_sequence(onnx_node *n, int i); /* it as a List[Tensor], needed */
bool onnx_wants(const onnx_node *n, int i);   /* is output i used? */
/* The dims that the model says of input i; NULL: it says nothing. */
const Onnx__TensorShapeProto *onnx_declared(const onnx_node *n, int i);
int64_t onnx_declared_size(const onnx_node *n, int i, int64_t dim); /* -1: it does not say */

/* Attributes; in functions that which the call gives. */
const Onnx__AttributeProto *onnx_attr(const onnx_node *n, const char *name);
/* The same of that type (ONNX_A_...; old files do not say it), refused if it is of another one. */
const Onnx__AttributeProto *onnx_attr_of(onnx_node *n, const char *name, int type);
int64_t onnx_attr_int(onnx_node *n, const char *name, int64_t otherwise);
double onnx_attr_float(onnx_node *n, const char *name, double otherwise);
/* its own memory; NULL: there is none and otherwise is NULL */
const char *onnx_attr_text(onnx_node *n, const char *name, const char *otherwise);
/* NULL: there is none */
const int64_t *onnx_attr_ints(onnx_node *n, const char *name, int *count);

/* Results. rank, dt: -1 where not known. */
bool onnx_out(onnx_node *n, int i, ir_value *v, int rank, int dt);
bool onnx_out_ints(onnx_node *n, int i, int count, ir_value *const *ints, int rank);
/* Output 0 is of that type of TensorProto, if its elements are kept as wider ones. */
void onnx_set_narrow(const onnx_node *n, int64_t type);

/* Making nodes: by key, arguments that are left out by default. */
ir_value *onnx_emit(onnx_program *p, const char *key, int n, ir_value *const *args);
#define ONNX_EMIT(p, key, ...)                                                                     \
    onnx_emit((p), (key), (int)(sizeof((ir_value *[]){__VA_ARGS__}) / sizeof(ir_value *)),         \
              (ir_value *[]){__VA_ARGS__})
ir_value *onnx_list(onnx_program *p, type *elem, int n, ir_value *const *items);
ir_value *onnx_ints(onnx_program *p, int n, const int64_t *ints); /* a constant */
ir_value *onnx_int(onnx_program *p, int64_t i);
ir_value *onnx_float(onnx_program *p, double f);
ir_value *onnx_bool(onnx_program *p, bool b);
ir_value *onnx_str(onnx_program *p, const char *s);
ir_value *onnx_none(onnx_program *p);
ir_value *onnx_none_of(onnx_program *p, type *t); /* of that optional type */
/* the parts of a list of this length */
bool onnx_unpack(onnx_program *p, ir_value *list, int n, ir_value **out);

/* ---- onnx_rows.c ----------------------------------------------------------------------------- */

/* The row of an operator for the model's version; NULL: it is not known. *since: of the oldest row,
 * where there are only newer ones. */
const onnx_row *onnx_find_row(const char *domain, const char *name, int opset, int *since);
bool onnx_template(onnx_node *n, const char *text);
/* Output 0, of the shape that the row says. */
bool onnx_result(onnx_node *n, ir_value *v);

/* ---- onnx_steps.c ---------------------------------------------------------------------------- */

/* The nodes that a text describes, of that operator set, in place of n. */
bool onnx_steps(onnx_node *n, const char *text, int opset);

/* ---- onnx_op_sequence.c ---------------------------------------------------------------------- */

/* Of that type in the file; NULL: it is neither one of a tensor nor one of a sequence. */
type *onnx_optional_type(const Onnx__TypeProto__Optional *o);

/* ---- onnx_op_flow.c -------------------------------------------------------------------------- */

/* v under another name, in another scope. */
bool onnx_alias(onnx_program *p, const onnx_value *v, onnx_scope *sc, const char *name);

/* Notes the functions of the model's own. */
bool onnx_functions(onnx_program *p);
/* The one that a node calls; NULL: none. */
const Onnx__FunctionProto *onnx_function(onnx_program *p, const Onnx__NodeProto *proto);
/* Its nodes in place of the call. */
bool onnx_inline(onnx_node *n, const Onnx__FunctionProto *f);
int64_t onnx_standard_version(size_t n, Onnx__OperatorSetIdProto *const *imports); /* -1: none */

/* ---- onnx_op_nn.c ---------------------------------------------------------------------------- */

/* A convolution of x with k, which have the dims of inputs 0 and `weight`; bias may be None. */
ir_value *onnx_conv(onnx_node *n, const onnx_value *weight, ir_value *x, ir_value *k,
                    ir_value *bias, int *rank);

/* ConvInteger of these inputs (zero points may be None), integers; NULL without a failure: pads
 * follow from the input's size. */
ir_value *onnx_conv_integer(onnx_node *n, const onnx_value *weight, ir_value *const *in, int *rank);

/* ---- onnx_op_math.c -------------------------------------------------------------------------- */

/* x as a type of TensorProto, by the node's saturate and round_mode. */
ir_value *onnx_cast(onnx_node *n, ir_value *x, int64_t to);

/* ---- onnx_op_unsigned.c ---------------------------------------------------------------------- */

/* Inputs of unsigned types that aten cannot compute with, as int64, where that helps. */
bool onnx_unsigned_begin(onnx_node *n);
/* *done: the node is one that uint64 has an own form of. */
bool onnx_unsigned_wide(onnx_node *n, bool *done);
/* A result of such a node. */
ir_value *onnx_unsigned_end(onnx_node *n, ir_value *v);

/* ---- onnx_op_nbits.c ------------------------------------------------------------------------- */

/* x times the floats of w: [..., k] to [..., n]. */
ir_value *onnx_nbits_linear(onnx_node *n, ir_value *x, const onnx_nbits *w, ir_value *bias,
                            int64_t level);
/* Notes with output 0 the weights that inputs 0 to 2 are, if they are; false after a failure. */
bool onnx_nbits_note(onnx_node *n, int64_t axis, int64_t block);

/* ---- onnx_op_*.c: the functions that rows name ----------------------------------------------- */

#define ONNX_ROW(op, first, fn, what, result) bool fn(onnx_node *n, const char *text);
#define ONNX_TEMPLATE(op, first, what, result)
#include "frontend/onnx/onnx_contrib.def"
#include "frontend/onnx/onnx_rows.def"
#undef ONNX_ROW
#undef ONNX_TEMPLATE

#endif
