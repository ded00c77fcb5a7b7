/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.h - from the AST of a function to its graph.
 *
 * Method. Expressions are evaluated to sugars: a sugar is an SSA value, or something that exists only while
 * compiling (a namespace, a class, a builtin, a closure). Variables are written and read by prim::Store and
 * prim::Load nodes while emitting; ssa_convert then turns them into block parameters and outputs. This is PyTorch's own
 * scheme; following it yields its graphs, names included. (Building SSA directly would need the set of variables
 * a loop assigns before its body has been typed.)
 *
 *   importer.c    archive code -> classes and functions, on demand
 *   annotation.c  type expressions
 *   emit.c        functions, variables        emit_stmt.c   statements
 *   emit_expr.c   expressions                 emit_call.c   calls and builtin names
 *   match.c       overload resolution         ssa.c         Load/Store -> SSA
 *
 * Ownership: emission-time objects live in the emitter's scratch arena, nodes in the graph's.
 */
#ifndef CTSC_FRONTEND_EMIT_H
#define CTSC_FRONTEND_EMIT_H

#include "frontend/ast.h"
#include "ir/unit.h"

/* What a name or an expression can be. */
typedef enum sugar_kind {
    SUGAR_VALUE,     /* value */
    SUGAR_NAMESPACE, /* name: "torch", "torch.nn.functional", "ops", "ops.prim", "math": builtins live in it */
    SUGAR_QUALIFIED, /* name: "__torch__.a.b", resolved when something of it is needed */
    SUGAR_CONSTANTS, /* the archive's CONSTANTS */
    SUGAR_BUILTIN,   /* name: "aten::add"; self: value or NULL */
    SUGAR_SPECIAL,   /* special: a form of its own (annotate, isinstance, ...) */
    SUGAR_FUNCTION,  /* function */
    SUGAR_METHOD,    /* self, name (of a class or interface) */
    SUGAR_CLASS,     /* type: class, enum or named tuple */
    SUGAR_NEW,       /* type: C.__new__ */
    SUGAR_CLOSURE,   /* def */
    SUGAR_RANGE,     /* range(...): length, start, step */
} sugar_kind;

typedef struct sugar {
    sugar_kind kind;
    const char *name;
    int special;
    ir_value *value;
    function *fn;
    type *type;
    const func_def *def;
    ir_value *start, *step, *length; /* RANGE; start NULL: from 0 by 1 */
} sugar;

typedef struct variable {
    type *type;        /* of a simple variable */
    sugar *sugar;      /* of one that is no value */
    const char *error; /* why it may not be used here (defined in one branch only) */
} variable;

typedef struct frame {
    block *blk;
    strmap vars; /* name -> variable */
    struct frame *next;
} frame;

typedef struct actual { /* an argument of a call */
    const char *name;   /* of a keyword argument, else NULL */
    ir_value *value;
    source_range range;
} actual;

typedef struct emitter {
    unit *unit;
    function *fn;      /* being compiled; NULL: a closure's body */
    graph *g;
    diag *diag;
    arena *scratch;
    frame *env;
    type *return_type; /* declared, or NULL: inferred from the return statement */
    bool returned;     /* the block being emitted has returned or raised */
    int depth;         /* nesting of expressions */
    struct emitter *outer;     /* of a closure's body: where free variables come from */
    node *capture;             /* the fork node that takes captured values as inputs */
} emitter;

/* emit.c */
ctsc_status emit_function(function *f, diag *d);
frame *emit_push_frame(emitter *e, block *b);
void emit_pop_frame(emitter *e);
variable *emit_find_variable(const emitter *e, const char *name);
bool emit_set_value(emitter *e, source_range r, const char *name, ir_value *v);
bool emit_set_sugar(emitter *e, source_range r, const char *name, sugar *s, type *annotated);
sugar *emit_get_variable(emitter *e, source_range r, const char *name); /* NULL without error: unknown */
ir_value *emit_fail(emitter *e, source_range r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool emit_failed(const emitter *e);
ir_value *emit_captured(emitter *e, const char *name, ir_value *outer);
ir_value *emit_fork(emitter *e, const func_def *def, source_range r);

/* emit_stmt.c */
bool emit_statements(emitter *e, const stmt_list *body);
bool emit_assign_target(emitter *e, const expr *target, sugar *s, type *annotated);

/* emit_expr.c: NULL means that the diagnostic is filled */
sugar *emit_sugar(emitter *e, const expr *x, type *hint);
ir_value *emit_expr(emitter *e, const expr *x, type *hint);
ir_value *emit_condition(emitter *e, const expr *x); /* a bool value */
ir_value *emit_as_value(emitter *e, source_range r, sugar *s);
sugar *sugar_of_value(emitter *e, ir_value *v);
sugar *sugar_new(emitter *e, sugar_kind kind);
sugar *emit_attribute(emitter *e, source_range r, sugar *base, const char *name);
ir_value *emit_subscript(emitter *e, const expr *x, type *hint);
ir_value *emit_list(emitter *e, source_range r, type *elem, int n, ir_value *const *values);
ir_value *emit_tuple(emitter *e, source_range r, type *t, int n, ir_value *const *values);
bool emit_unpack(emitter *e, source_range r, ir_value *v, size_t expected, ir_value ***out, int *n);
/* In archives constants stand at the top of the graph; pooled afterwards. */
ir_value *emit_constant_take(emitter *e, value v, type *t);

/* emit_call.c */
sugar *emit_call(emitter *e, const expr *call, type *hint);
sugar *emit_builtin_name(emitter *e, const char *name); /* range, int, annotate, torch, ...; NULL: unknown */
sugar *emit_namespace_member(emitter *e, source_range r, const sugar *ns, const char *name);
ir_value *emit_builtin(emitter *e, source_range r, const char *name, int nargs, const actual *args);
ir_value *emit_builtin_values(emitter *e, source_range r, const char *name, int n, ir_value *const *args);
ir_value *emit_method(emitter *e, source_range r, ir_value *self, const char *name, int nargs, const actual *args);
ir_value *emit_function_call(emitter *e, source_range r, function *f, int nargs, const actual *args);
ir_value *emit_cast(emitter *e, source_range r, type_kind to, ir_value *v); /* int(x), bool(x), ... */

/* match.c */
/* Fits args to a schema and emits the conversions; inputs receives one value per argument, in order (more for varargs).
 * NULL: no fit, the reason appended to why (if not NULL). */
typedef struct match_result { int ninputs; ir_value **inputs; int nreturns; type **returns; } match_result;
match_result *match_schema(emitter *e, source_range r, const schema *s, int nargs, const actual *args,
                           bool convert, strbuf *why);
/* Converts v for a destination of type t as assignments and returns do; v itself if nothing helps. */
ir_value *match_convert(emitter *e, source_range r, type *t, ir_value *v, bool convert);
bool match_is_empty_list(const ir_value *v); /* a literal [] without a type of its own */

/* annotation.c */
ctsc_status annotation_type(unit *u, diag *d, const expr *x, type **out);

/* ssa.c */
ctsc_status ssa_convert(graph *g, diag *d);

/* importer.c */
ctsc_status importer_declare_function(unit *u, diag *d, const func_def *def, const char *qualified,
                                      type *cls, function **out);
/* A literal (number, string, None, list, tuple, negative number) as a value of type t. */
ctsc_status importer_literal(unit *u, diag *d, const expr *x, type *t, value *out);

#endif
