/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - the IR: typed SSA with structured control flow.
 *
 *     graph(%x.1 : Tensor):
 *       %2 : int = prim::Constant[value=1]()
 *       %y : Tensor = aten::add(%x.1, %x.1, %2)
 *       return (%y)
 *
 * A graph owns a root block; a block has parameters, a list of nodes in execution order, and
 * returns; a node has a kind, inputs, outputs, attributes and nested blocks. A value has one
 * definition (a node's output or a block's parameter) and the list of its uses. prim::If has two
 * blocks without parameters whose returns are the node's outputs. prim::Loop(max_trip, cond,
 * carried...) has one block (i, carried...) that returns (cond, carried...).
 *
 * Invariants (graph_verify checks them): every use is dominated by its definition, where blocks see
 * the values of enclosing blocks; use lists match inputs; If and Loop have the shapes above; a node
 * with an operator has the operator's argument count.
 *
 * Ownership: everything lives in the graph's arena and dies with graph_free; removed nodes are
 * unlinked, their memory stays until then. Constant values are counted and released by graph_free.
 * Names follow PyTorch: see value_set_name.
 * Tests: tests/unit/test_graph.c, tests/ir/
 */
#ifndef CTSC_IR_GRAPH_GRAPH_H
#define CTSC_IR_GRAPH_GRAPH_H

#include "base/map.h"
#include "ir/op/op.h"
#include "ir/type.h"

typedef struct graph graph;
typedef struct block block;
typedef struct node node;
typedef struct ir_value ir_value;

/* Node kinds that the compiler itself knows. Everything else is N_OP, named by its operator.
 *    kind               text                        effect: may be removed when unused */
/* clang-format off */
#define NODE_KINDS(X)                                                                              \
    X(OP,                "",                         0)                                            \
    X(CONSTANT,          "prim::Constant",           1)                                            \
    X(IF,                "prim::If",                 0)                                            \
    X(LOOP,              "prim::Loop",               0)                                            \
    X(LIST_CONSTRUCT,    "prim::ListConstruct",      1)                                            \
    X(LIST_UNPACK,       "prim::ListUnpack",         1)                                            \
    X(TUPLE_CONSTRUCT,   "prim::TupleConstruct",     1)                                            \
    X(TUPLE_UNPACK,      "prim::TupleUnpack",        1)                                            \
    X(TUPLE_INDEX,       "prim::TupleIndex",         1)                                            \
    X(TUPLE_SLICE,       "prim::TupleSlice",         1)                                            \
    X(DICT_CONSTRUCT,    "prim::DictConstruct",      1)                                            \
    X(GET_ATTR,          "prim::GetAttr",            1)                                            \
    X(SET_ATTR,          "prim::SetAttr",            0)                                            \
    X(CALL_FUNCTION,     "prim::CallFunction",       0)                                            \
    X(CALL_METHOD,       "prim::CallMethod",         0)                                            \
    X(CREATE_OBJECT,     "prim::CreateObject",       1)                                            \
    X(UNCHECKED_CAST,    "prim::unchecked_cast",     1)                                            \
    X(UNINITIALIZED,     "prim::Uninitialized",      1)                                            \
    X(ISINSTANCE,        "prim::isinstance",         1)                                            \
    X(RAISE,             "prim::RaiseException",     0)                                            \
    X(PRINT,             "prim::Print",              0)                                            \
    X(FORK,              "prim::fork",               0)                                            \
    X(ENTER,             "prim::Enter",              0)                                            \
    X(EXIT,              "prim::Exit",               0)                                            \
    X(TOLIST,            "prim::tolist",             1)                                            \
    X(CONTAINER_INDEX,   "prim::ModuleContainerIndex", 1)                                          \
    X(LOAD,              "prim::Load",               1) /* of a variable, before conversion to SSA */ \
    X(STORE,             "prim::Store",              0)                                            \
    X(LOOP_CONDITION,    "prim::LoopCondition",      0) /* before conversion to SSA */             \
    X(RETURN,            "prim::ReturnStmt",         0) /* return, break, continue: before exits   \
                                                           are transformed */                      \
    X(BREAK,             "prim::BreakStmt",          0)                                            \
    X(CONTINUE,          "prim::ContinueStmt",       0)                                            \
    X(WITH,              "prim::With",               0) /* while exits are transformed */          \
    X(CLOSURE,           "prim::Closure",            1)                                            \
    X(FUSION_GROUP,      "prim::FusionGroup",        0)
/* clang-format on */

typedef enum node_kind {
#define NODE_ENUM(k, text, pure) N_##k,
    NODE_KINDS(NODE_ENUM)
#undef NODE_ENUM
    N_KIND_COUNT
} node_kind;

typedef struct use {
    node *user; /* NULL: a return of `blk` */
    block *blk;
    int index; /* which input / which return */
} use;

struct ir_value {
    type *type;
    node *def;        /* NULL: a parameter of `owner` */
    block *owner;     /* block whose parameter this is; else the block of def */
    int index;        /* among the outputs / parameters */
    int id;           /* number printed when there is no name */
    const char *name; /* interned, "" if none */
    VEC(use) uses;
    void *scratch; /* of the running pass */
};

typedef enum attr_kind {
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_STR,
    ATTR_INTS,
    ATTR_TYPE,
    ATTR_TYPES,
    ATTR_VALUE,
    ATTR_GRAPH
} attr_kind;

typedef struct attr {
    const char *name; /* interned: "value", "name", "beg", ... */
    attr_kind kind;
    union {
        int64_t i;
        double f;
        const char *s;
        struct { int n; int64_t *data; } ints;
        type *t;
        struct { int n; type **data; } types;
        value v; /* counted; the graph holds the reference */
        graph *g;
    } u;
    struct attr *next;
} attr;

/* How nodes came into a graph: the call whose place the callee's body took. Chains lead outwards.
 * Equal ones are the same pointer. */
typedef struct call_site {
    source_range range; /* of the call */
    const char *callee; /* interned */
    /* of a module's method: where the module is, seen from the calling method's own: "layer1.0", ""
     * of itself. NULL: not known, or no method. Interned */
    const char *path;
    /* how the call itself came; NULL: it stood in the graph's own function */
    const struct call_site *caller;
} call_site;

struct node {
    node_kind kind;
    const op *op;        /* of N_OP, once resolved; also of kinds whose text is an operator's */
    const char *op_name; /* of N_OP: "aten::add" */
    graph *g;
    block *owner; /* NULL while not inserted */
    node *prev, *next;
    VEC(ir_value *) inputs, outputs;
    VEC(block *) blocks;
    attr *attrs;
    source_range range;
    const call_site *call; /* of inlined nodes, for messages; NULL: the graph's own */
    bool range_hidden; /* for messages only: PyTorch's graph text shows no place for this node */
    /* prim::Uninitialized and prim::unchecked_cast from an
     * archive's code: the reader of the result checks it */
    bool doubtful;
    /* of traced nodes: "__module.conv1", printed as ", scope: ..."; NULL: none */
    const char *scope;
    void *scratch;
    int mark;
};

struct block {
    graph *g;
    node *parent; /* NULL: the root */
    VEC(ir_value *) params, returns;
    node *first, *last;
};

struct graph {
    arena arena;
    interner names; /* attribute names, value names */
    block *root;
    int next_id;
    ptrmap named;             /* debug name (interned) -> ir_value */
    ptrmap name_suffix;       /* base name (interned) -> last suffix used (as intptr) */
    VEC(value) held;          /* references of constants, released by graph_free */
    VEC(graph *) subgraphs;   /* of attributes, and what is left of bodies whose nodes were taken */
    VEC(source *) sources;    /* references of ranges */
    ptrmap source_set;        /* the same, for looking up */
    VEC(struct unit *) units; /* references: of a parsed graph's class types */
    /* Where new nodes go: before `insert_before` in insert_block, at its end if NULL. */
    block *insert_block;
    node *insert_before;
    source_range range; /* given to new nodes */
    strmap call_sites;  /* the bytes of each -> itself */
};

/* NULL if out of memory. After building or changing a graph, look at arena_failed(&g->arena). */
graph *graph_new(void);
void graph_free(graph *g);

/* Keeps a source alive as long as g. Ranges given to nodes by hand need it. */
void graph_hold_source(graph *g, source *src);
void graph_hold_unit(graph *g, struct unit *u);

/* ---- building: new nodes are placed at the insertion point and get g->range ------------------ */

/* not inserted; outputs of type Tensor */
node *node_new(graph *g, node_kind kind, int ninputs, ir_value *const *inputs, int noutputs);
/* outputs from the schema's returns */
node *node_new_op(graph *g, const op *o, int ninputs, ir_value *const *inputs);
node *graph_insert(graph *g, node *n); /* at the insertion point; returns n */
void node_insert_before(node *n, node *at);
void node_insert_after(node *n, node *at);
void block_append(block *b, node *n);
void block_prepend(block *b, node *n);
void graph_set_insert(graph *g, block *b, node *before);
block *node_add_block(node *n);
ir_value *node_add_output(node *n, type *t);
ir_value *node_insert_output(node *n, int at, type *t);
void node_add_input(node *n, ir_value *v);
void node_insert_input(node *n, int at, ir_value *v);
void node_set_input(node *n, int i, ir_value *v);
void node_remove_input(node *n, int i);
void node_clear_inputs(node *n);
void node_remove_output(node *n, int i); /* has no uses */
ir_value *block_add_param(block *b, type *t);
ir_value *block_insert_param(block *b, int at, type *t);
void block_remove_param(block *b, int i); /* has no uses */
void block_add_return(block *b, ir_value *v);
void block_set_return(block *b, int i, ir_value *v);
void block_insert_return(block *b, int at, ir_value *v);
void block_remove_return(block *b, int i);

/* Constants. Takes v's reference. The output's type is t, or type_of_value(v) when NULL. */
ir_value *graph_constant_take(graph *g, value v, type *t);
/* The same directly before `at`, wherever the insertion
 * point is, and without a source location. */
ir_value *graph_constant_before_take(node *at, value v, type *t);
ir_value *graph_constant_int(graph *g, int64_t i);
ir_value *graph_constant_bool(graph *g, bool b);
ir_value *graph_constant_none(graph *g);
ir_value *graph_constant_str(graph *g, const char *s, size_t len);
/* The constant v is, if v is one: borrowed in *out. None is prim::Constant without a value. */
bool ir_value_constant(const ir_value *v, value *out);

/* ---- changing -------------------------------------------------------------------------------- */

void value_replace_uses(ir_value *old, ir_value *with);
/* The same where both are one tensor: what is known of old is known of `with`. */
void value_replace_known(ir_value *old, ir_value *with);
/* unlinks; its outputs have no uses left; its inputs lose theirs; nested blocks go with it */
void node_remove(node *n);
void node_move_before(node *n, node *at);
void node_move_after(node *n, node *at);
/* Copies the nodes of src's root before `at` (at the end of blk if NULL), its parameters replaced
 * by args; outs receives the copies of its returns.
 *     before:  %y = prim::CallFunction(%f, %x)        after:  ...body of f with %x..., */
void graph_inline(graph *dst, block *blk, node *at, const graph *src, ir_value *const *args,
                  ir_value **outs);
/* The same for a call of `callee`, whose arguments are args: its body's nodes come with the call in
 * their chains. take: body is given up, its nodes are moved instead of copied. The result is the
 * same, down to names and numbers. */
void graph_inline_call(graph *dst, node *call, const char *callee, graph *body, bool take,
                       ir_value *const *args, ir_value **outs);
const call_site *graph_call_site(graph *g, source_range r, const char *callee, const char *path,
                                 const call_site *caller);
/* not inserted */
node *node_clone(graph *dst, const node *n, ir_value *(*map)(void *ctx, ir_value *v), void *ctx);
graph *graph_clone(const graph *g); /* NULL if out of memory */

/* Names a value. If another value has the name, that one is renamed name.1, name.2, ... (PyTorch's
 * rule: the latest owner keeps the plain name). "" clears. */
void value_set_name(ir_value *v, const char *name);
static inline bool value_has_name(const ir_value *v) { return v->name[0] != '\0'; }
void value_copy_name(ir_value *to, const ir_value *from); /* type and name */

/* ---- attributes ------------------------------------------------------------------------------ */

attr *node_attr(const node *n, const char *name); /* NULL: none */
void node_set_int(node *n, const char *name, int64_t i);
void node_set_float(node *n, const char *name, double f);
void node_set_ints(node *n, const char *name, int count, const int64_t *ints);
void node_set_str(node *n, const char *name, const char *s);
void node_set_type(node *n, const char *name, type *t);
void node_set_types(node *n, const char *name, int count, type *const *types);
void node_set_value_take(node *n, const char *name, value v);
void node_set_graph(node *n, const char *name, graph *g); /* g becomes owned by n's graph */
void node_remove_attr(node *n, const char *name);
const char *node_str(const node *n, const char *name); /* "" if absent */
int64_t node_int(const node *n, const char *name);

/* ---- asking ---------------------------------------------------------------------------------- */

const char *node_kind_text(const node *n);   /* "aten::add", "prim::If" */
node_kind node_kind_named(const char *text); /* of "prim::If"; N_OP: it is none of these */
/* What node_kind_text says, where C code knows it by that name; else SYM_NONE. */
op_symbol node_symbol(const node *n);
static inline bool node_is_op(const node *n, op_symbol name) { return node_symbol(n) == name; }
static inline bool node_is_overload(const node *n, op_symbol key) {
    return n->kind == N_OP && n->op && n->op->symbol == key;
}
/* itself or anything nested; writes to arguments count */
bool node_has_side_effects(const node *n);
bool node_dominates(const node *a, const node *b); /* a's outputs are visible at b */
bool node_before(const node *a, const node *b);    /* same block */
int block_depth(const block *b);
bool block_holds(const block *b, node_kind kind); /* a node of this kind, at any depth? */

/* The first overload of "aten::add" that takes inputs of these types, all given by
 * position; NULL: none. */
const op *op_match(const char *name, int ninputs, ir_value *const *inputs);

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct graph_print_options {
    bool locations; /* "# file:line:col" */
} graph_print_options;

/* PyTorch's form. */
void graph_print(const graph *g, const graph_print_options *o, strbuf *out);
void node_print(const node *n, const graph_print_options *o, strbuf *out);
/* Reads what graph_print wrote, and verifies it. Lines that begin with # are comments. */
ctsc_status graph_parse(diag *d, const char *name, const char *text, size_t len, graph **out);
/* A broken invariant is described in d (CTSC_INTERNAL), with the graph's text. */
ctsc_status graph_verify(diag *d, const graph *g);

#endif
