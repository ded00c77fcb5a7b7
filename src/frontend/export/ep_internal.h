/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_internal.h - what the files of this room share. ep.h is the map.
 *
 * Conventions: functions that give a value give NULL after a failure, which p->d has; those that
 * give a bool give false. Memory that lives as long as the import is in p->scratch.
 */
#ifndef CTSC_FRONTEND_EXPORT_EP_INTERNAL_H
#define CTSC_FRONTEND_EXPORT_EP_INTERNAL_H

#include "frontend/export/ep.h"

#include <jansson.h>

enum {
    EP_MAX_JSON = 192 << 20, /* bytes of text: a tree of it takes up to sixteen times as much */
    EP_MAX_NESTING = 24,     /* graphs within graphs */
    EP_MAX_TREE = 64,        /* containers within containers */
    EP_MAX_NODES = 4000000,  /* of the graph that is made */
};

/* A nested argument or result. */
typedef enum ep_tree_kind { EP_LEAF, EP_TUPLE, EP_LIST, EP_DICT } ep_tree_kind;
typedef struct ep_tree {
    ep_tree_kind kind;
    const char *name; /* EP_TUPLE: of a named tuple's class; NULL: a plain one */
    int n;
    struct ep_tree **items;
    const char **fields; /* of a named tuple */
    value *keys;         /* of a dict: held by the program */
    int leaf;            /* of a leaf: its number */
    bool argument;       /* lists of items that differ are tuples */
    type *type;          /* once ep_tree_type has been there */
} ep_tree;

/* A leaf of the arguments. */
typedef struct ep_input {
    const char *name;       /* of the value; NULL: none */
    const json_t *constant; /* constant_input: what it has to be (a union); else NULL */
    const char *kind;       /* "as_tensor", "as_sym_int", ...: what it is */
    const char *path;       /* "*args[0]['x']", for messages */
    const char *access;     /* "L['x'][0]", as guards write it; NULL: not known */
    ir_value *ir;
} ep_input;

typedef struct ep_program {
    diag *d;
    unit *unit;
    const char *record;
    const ep_host *host;
    arena scratch;
    json_t *json;
    int major, minor;
    graph *g;
    ep_modules modules;
    VEC(value) held;     /* keys of dicts */
    strmap states;       /* name of a placeholder -> ep_state */
    strmap by_attribute; /* dotted name -> ep_state */
    strmap subclasses;   /* name of a value -> dotted name of the object it is (ep_subclass.c) */
    strmap symbols;      /* "s77" -> ir_value, an int */
    strmap sources;      /* a line of a stack trace -> source_range */
    VEC(ep_input) inputs;
    const json_t *named; /* treespec_namedtuple_fields */
    /* how nodes that are made came, as if calls of modules had been inlined */
    const call_site *call;
    const char *target; /* of the node that is imported, for messages; NULL: none */
    size_t index;       /* its number */
    int nesting;
    size_t made;
} ep_program;

/* Casts that an enclosing wrap_with_autocast asks for. */
typedef struct ep_autocast { bool on; dtype dt; bool device_cuda; } ep_autocast;

/* One graph of the program. Graphs do not see the names of those around them. */
typedef struct ep_scope {
    ep_program *p;
    const json_t *graph;
    bool outermost;
    strmap names; /* -> ir_value */
    strmap read;  /* names that nodes mention, once `collected` (ep_core.c) */
    bool collected;
    ep_autocast cast;
    struct ep_vmap *vmap; /* the innermost that has begun and not ended (ep_hop_loop.c) */
} ep_scope;

/* ---- ep_json.c ------------------------------------------------------------------------------- */
/* Takes out what is null, everywhere: archives of 2.2 write unions with all their members. */
void ep_drop_nulls(json_t *v);

json_t *ep_parse(diag *d, const char *record, const void *text, size_t len);
/* The file is not what it should be: with the record, and the node if there is one. */
bool ep_bad(ep_program *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* It is, but ctsc does not know how to do it. */
bool ep_unsupported(ep_program *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool ep_no_memory(ep_program *p);
static inline bool ep_failed(ep_program *p) {
    return p->d->status != CTSC_OK || arena_failed(&p->scratch) || arena_failed(&p->unit->arena) ||
           (p->g && arena_failed(&p->g->arena));
}
/* Fields of an object: *out is left as it is where it fails. `what` in messages is the key. */
const json_t *ep_object(ep_program *p, const json_t *o, const char *key);
const json_t *ep_array(ep_program *p, const json_t *o, const char *key);
const char *ep_text(ep_program *p, const json_t *o, const char *key);
/* The same where they may be missing or null: then NULL. */
const json_t *ep_optional(const json_t *o, const char *key);
/* Checks of values. */
bool ep_int(ep_program *p, const json_t *v, int64_t *out);
bool ep_float(ep_program *p, const json_t *v, double *out); /* "Infinity" and the like too */
bool ep_bool(ep_program *p, const json_t *v, bool *out);
const char *ep_string(ep_program *p, const json_t *v);
/* An object with exactly one key: that, and its value in *out. */
const char *ep_union(ep_program *p, const json_t *v, const json_t **out);

/* ---- ep_meta.c ------------------------------------------------------------------------------- */

/* the schema's number as PyTorch's */
bool ep_dtype(ep_program *p, const json_t *v, int64_t *out);
bool ep_layout(ep_program *p, const json_t *v, int64_t *out);
bool ep_memory_format(ep_program *p, const json_t *v, int64_t *out);
/* TensorMeta of a value; NULL: none */
const json_t *ep_meta(ep_program *p, const json_t *graph, const char *name);
/* What it says, as dtype and sizes of a port, which are left alone where there is none. */
bool ep_port(ep_program *p, const json_t *graph, const char *value, port *out);

/* ---- ep_pytree.c ----------------------------------------------------------------------------- */

/* The tree of a treespec's text; *leaves: how many it has. */
ep_tree *ep_tree_parse(ep_program *p, const char *spec, int *leaves);
ep_tree *ep_tree_tuple(ep_program *p, int n, ep_tree **items); /* of leaves: items NULL */
/* Gives the tree and all in it their types; leaf types by number. */
type *ep_tree_type(ep_program *p, ep_tree *t, type *const *leaves);
bool ep_tree_take_apart(ep_program *p, const ep_tree *t, ir_value *v, ir_value **leaves);
ir_value *ep_tree_build(ep_program *p, const ep_tree *t, ir_value *const *leaves);

/* ---- ep_signature.c, ep_check.c -------------------------------------------------------------- */

bool ep_import_program(ep_program *p);
bool ep_check_inputs(ep_program *p, const ep_scope *sc);

/* ---- ep_expr.c, ep_expr_emit.c --------------------------------------------------------------- */

typedef enum ep_expr_kind { EP_INT, EP_FLOAT, EP_BOOL, EP_SYMBOL, EP_PATH, EP_CALL } ep_expr_kind;
typedef struct ep_expr {
    ep_expr_kind kind;
    const char *name; /* symbol; path: "L['x']"; call: its canonical name (ep_expr.c) */
    int64_t i;
    double f;
    int n, depth;
    struct ep_expr **args;
} ep_expr;
/* NULL with p->d clear: it is of no form that is known */
ep_expr *ep_expr_parse(ep_program *p, const char *text);
/* Its value, if it is a whole number for symbol = at; symbol NULL: there is none. */
bool ep_expr_number(const ep_expr *e, const char *symbol, int64_t at, int64_t *out);
/* The only symbol in it that has no value in p->symbols; NULL: none. *more: there are several. */
const char *ep_expr_unknown(const ep_program *p, const ep_expr *e, bool *more);
/* As nodes; NULL with p->d clear: something in it has no value. */
ir_value *ep_expr_emit(ep_program *p, const ep_expr *e);

/* ---- ep_graph.c ------------------------------------------------------------------------------ */

ir_value *ep_name(ep_scope *sc, const char *name);
bool ep_define(ep_scope *sc, const char *name, ir_value *v);
/* All nodes of a graph, where the insertion point of p->g is. */
bool ep_nodes(ep_scope *sc);
/* The body of a graph of a higher-order operator: its inputs are args; its outputs go to *outs (n
 * of them), in p->scratch. */
bool ep_inline(ep_scope *outer, const json_t *graph, int nargs, ir_value *const *args,
               ep_autocast cast, int *n, ir_value ***outs);
/* Nodes by name: the overload that takes these values; NULL, with a failure: none does. */
ir_value *ep_emit(ep_program *p, const char *name, int n, ir_value *const *args);
/* By key, "aten::select.int", all arguments given. */
ir_value *ep_emit_key(ep_program *p, const char *key, int n, ir_value *const *args);
node *ep_insert(ep_program *p, node *n);

/* ---- ep_place.c ------------------------------------------------------------------------------ */

/* From here on nodes come from this node of the program. */
void ep_place_begin(ep_program *p, const json_t *n);
void ep_note_modules(ep_program *p, const json_t *graph, int depth); /* fills modules.types */

/* ---- ep_call.c, ep_args.c, ep_number.c, ep_hop.c, ep_hop_loop.c, ep_effect.c ----------------- */

typedef struct ep_node {
    ep_scope *sc;
    const json_t *json, *inputs, *outputs;
    const char *target;
} ep_node;

bool ep_call(ep_node *n, const char *key);
/* Names the values after the node's outputs from `first` on; a value that is NULL has to be as_none
 * there. There may be more values than outputs. */
bool ep_results(ep_node *n, int nvalues, ir_value *const *values, size_t first);
bool ep_bind(ep_scope *sc, const json_t *output, ir_value *v);
/* Argument `arg` (a union) as formal asks; formal NULL: as it is. */
ir_value *ep_argument(ep_scope *sc, const json_t *arg, const argument *formal);
ir_value *ep_conform(ep_program *p, ir_value *v, const argument *formal);
bool ep_is_number(const json_t *arg);
const json_t *ep_node_arg(ep_node *n, size_t i); /* the union of input i */
/* arguments given by name, and the rest by default, of the overload key; its results in *outs. name
 * "": by position; v: instead of arg */
typedef struct ep_actual { const char *name; const json_t *arg; ir_value *v; } ep_actual;
bool ep_call_op(ep_node *n, const char *key, size_t nactuals, const ep_actual *actuals, int *nouts,
                ir_value ***outs);
/* ep_core.c: calls another operator that computes the same, if there is one (*done). */
bool ep_core_call(ep_node *n, const char *key, size_t count, const ep_actual *actuals, bool *done);
bool ep_number(ep_node *n, const char *name);
bool ep_higher_order(ep_node *n, const char *name);
/* The state of that dotted name, by which the program calls `input`. */
bool ep_state_input(ep_program *p, ep_role role, const char *input, const char *name, bool saved);
bool ep_subclass_tensor(ep_node *n); /* torch.ops.export.access_subclass_inner_tensor */
bool ep_while_loop(ep_node *n);
bool ep_map(ep_node *n);
bool ep_scan(ep_node *n);
bool ep_associative_scan(ep_node *n);
bool ep_vmap(ep_node *n, const char *name); /* torch._functorch.predispatch.NAME */
void ep_vmap_pop(ep_scope *sc);
bool ep_auto_functionalized(ep_node *n);
bool ep_auto_functionalized_v2(ep_node *n);
bool ep_with_effects(ep_node *n);
bool ep_out_dtype(ep_node *n);
/* The graph of an argument as_graph. */
const json_t *ep_graph_arg(ep_node *n, size_t i);
/* The values of an argument that is a list of values, or one. */
bool ep_operands(ep_node *n, size_t i, int *count, ir_value ***out);

/* ---- ep_view.c ------------------------------------------------------------------------------- */

/* Views that PyTorch's strides allow, and ours may not, become reshapes. */
bool ep_views(ep_program *p);

#endif
