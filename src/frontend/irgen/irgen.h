/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen.h - from the AST of a function to its graph.
 *
 * Method. Expressions are evaluated to sugars: a sugar is an SSA value, or something that exists
 * only while compiling (a namespace, a class, a builtin, a closure). Variables are written and read
 * by prim::Store and prim::Load nodes while emitting; ssa_convert then turns them into block
 * parameters and outputs. This is PyTorch's own scheme; following it yields its graphs, names
 * included. (Building SSA directly would need the set of variables a loop assigns before its body
 * has been typed.)
 *
 * Sources of functions: codeload/ has archives' code, program/ Python
 * source. Knowledge that only the latter has is requested through scope_ops.
 *
 *   irgen.c        functions, variables        irgen_stmt.c    statements
 *   irgen_assign.c assignments                 refine.c       conditions, refined types
 *   irgen_loop.c   loops, comprehensions
 *   irgen_expr.c   operators, literals         irgen_name.c    names, attributes
 *   irgen_index.c  subscripts                  irgen_format.c  f-strings, % and format
 *   irgen_call.c   calls                       irgen_builtin.c what builtin names mean
 *   irgen_match.c  patterns of match
 *   irgen_map.c    map, filter
 *   irgen_spread.c *s in calls and displays   irgen_inline.c calls compiled into their callers
 *   irgen_special.c forms of call with rules of their own   irgen_unknown.c calls that no schema admits
 *   match.c       overload resolution         ssa.c          Load/Store -> SSA
 *   exits.c       break, continue, return -> values
 *
 * Ownership: emission-time objects live in the emitter's scratch arena, nodes in the graph's.
 */
#ifndef CTSC_FRONTEND_IRGEN_IRGEN_H
#define CTSC_FRONTEND_IRGEN_IRGEN_H

#include "frontend/codeload/builtin_functions.h"
#include "frontend/codeload/importer.h"
#include "frontend/codeload/upgraders.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/suggest.h"
#include "ir/graph/graph.h"
#include "ir/unit.h"

struct module_type;
struct program;
struct py_env;
struct py_object;

/* What a name or an expression can be. */
typedef enum sugar_kind {
    SUGAR_VALUE, /* value */
    /* name: "torch", "torch.nn.functional", "ops", "ops.prim", "math": builtins live in it */
    SUGAR_NAMESPACE,
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
    SUGAR_PY,        /* py: a Python object that is not a value (source.h) */
    /* items: a sequence of known length whose elements need not be values; loops
     * over it are unrolled */
    SUGAR_TUPLE,
    SUGAR_ZIP,       /* items: zip(...) */
    SUGAR_ENUMERATE, /* items[0], start */
    SUGAR_REVERSED,  /* items[0] */
    SUGAR_SLICE,     /* slice(...): start, length (where it stops), step; NULL: left out */
} sugar_kind;

typedef struct sugar {
    sugar_kind kind;
    const char *name;
    int special;
    ir_value *value;
    function *fn;
    type *type;
    const func_def *def;
    ir_value *start, *step, *length; /* RANGE: length is where it stops; start NULL: from 0 by 1 */
    struct py_object *py;
    bool chain; /* TUPLE: the elements of a Sequential */
    /* of FUNCTION and METHOD: the overloads, if nitems > 0 (sugars of the same kind); of CLOSURE,
     * in source programs: the parameters' defaults, or NULL */
    struct sugar **items;
    int nitems;
    const char **keys;    /* TUPLE: of what **kwargs is, the names of the items */
    struct emitter *home; /* CLOSURE in source programs: where its free variables are ... */
    int names;            /* ... and which of them (frame.names) */
} sugar;

typedef struct variable {
    type *type;        /* of a simple variable */
    sugar *sugar;      /* of one that is not a value */
    const char *error; /* why it may not be used here (defined in one branch only) */
    /* what its Loads and Stores call it: its name, or "x$3" inside a comprehension */
    const char *slot;
    source_range where; /* of the assignment */
    /* with `error`: how it came to that */
    struct { source_range range; const char *text; } notes[3];
} variable;

typedef struct frame {
    block *blk;
    strmap vars; /* name -> variable */
    int names;   /* 0: the function's own; else a comprehension's: names that it sets are its own */
    struct frame *next;
} frame;

/* Where the body of a source program's function finds its names: function->scope. */
typedef struct scope {
    const struct scope_ops *ops;
    struct program *prog;       /* program/source.h */
    struct py_env *env;         /* globals and closures around the definition */
    struct module_type *module; /* of a module's method; NULL otherwise */
    struct py_object *fn;       /* the Python function */
} scope;

typedef struct emitter {
    unit *unit;
    function *fn; /* being compiled; NULL: a closure's body */
    graph *g;
    diag *diag;
    arena *scratch;
    frame *env;
    type *return_type;         /* declared, or NULL: inferred from the return statements */
    type *merged_return;       /* of the return statements so far */
    source_range first_return; /* the first of them */
    bool returned;             /* the block being emitted has returned or raised */
    /* of source programs: where free names are looked up; NULL: an archive's code */
    const scope *scope;
    int loops;          /* inside a loop that break and continue can leave */
    int unrolled;       /* inside an unrolled loop, which they cannot */
    int steps;          /* iterations unrolled so far: EMIT_MAX_STEPS */
    int comprehensions; /* so far: numbers their names */
    int depth;          /* nesting of expressions */
    /* of the call being emitted: its type, or how many values it is unpacked to;
     * NULL, 0: unknown */
    struct { type *type; int parts; } wanted;
    struct emitter *outer; /* of a closure's body: where free variables come from */
    node *capture;         /* the fork node that takes captured values as inputs */
    diag errors;           /* of statements that failed so far (irgen_recover.c) */
    /* the second attempt at a function, beyond what PyTorch's front end takes (irgen_function) */
    bool lenient;
    bool int_for_float; /* a call was given an int where it takes a float, and did not compile */
    /* of a body that is inlined into its caller (irgen_inline.c): the caller,
     * its values for the parameters of g, the nesting depth of such calls */
    struct emitter *caller;
    VEC(ir_value *) imported;
    int inlined;
    int calls; /* of the outermost caller: inlined so far */
    /* of a function defined in another one: that one, and frame.names where it was defined */
    struct emitter *home;
    int home_names;
} emitter;

/* A function whose body goes into its caller. */
typedef struct inlinee {
    const sugar *closure; /* defined in a compiled function; or */
    const func_def *def;
    const struct py_object *fn;
    const scope *scope;
    const function *declared; /* the same with a schema; NULL: there is none */
    sugar *self;              /* its first argument: the module; NULL: a free function */
    bool only;                /* it cannot be called otherwise */
} inlinee;

/* The submodules of a ModuleList and the like, by number, or of a ModuleDict and the like, by key:
 * names of attributes. */
typedef struct module_container {
    bool keyed;
    size_t nkeys;
    const char *const *keys;
} module_container;

/* What the emitter asks about a source program. */
typedef struct scope_ops {
    /* Where what the program's evaluator finds wrong is described: in the diagnostic of the
     * emitter that asks. */
    diag **(*diag)(const scope *s);
    /* A free name: NULL without an error if it is unknown. */
    sugar *(*name)(emitter *e, source_range r, const char *name);
    /* The sugar for a Python object: constants become values, functions and classes are declared,
     * the rest is SUGAR_PY. */
    sugar *(*object)(emitter *e, source_range r, struct py_object *o);
    /* obj.name where obj is SUGAR_PY. */
    sugar *(*attribute)(emitter *e, source_range r, const sugar *obj, const char *name);
    /* obj.name where obj is a value of a class made from source, and the class has no attribute,
     * constant or method of that name: properties, static methods, functions kept as attributes, a
     * container's keys/values/items/children/..., reasons of failed attributes. NULL without an
     * error: nothing known. */
    sugar *(*object_attribute)(emitter *e, source_range r, ir_value *obj, const char *name);
    /* C.name where C is a class made from source: static methods. NULL without an
     * error: nothing known. */
    sugar *(*class_attribute)(emitter *e, source_range r, const type *t, const char *name);
    /* A constant attribute: a tuple is made of its elements' constants, as PyTorch does it. */
    sugar *(*constant)(emitter *e, source_range r, value v, type *t);
    /* A module or container as a fixed sequence (SUGAR_TUPLE) to step through or unpack; NULL
     * without an error: it is none. */
    sugar *(*sequence)(emitter *e, source_range r, ir_value *v);
    /* False: modules of type t are not containers. */
    bool (*container)(const type *t, module_container *out);
    /* A call of SUGAR_PY. */
    sugar *(*call)(emitter *e, const expr *call, const sugar *callee, type *hint);
    /* f for such arguments, where parameters without annotations are given what is not a tensor;
     * NULL without an error: there is none. */
    function *(*specialized)(emitter *e, function *f, int nargs, const actual *args);
    /* The object that the body of the function being compiled is within, as in a with statement: of
     * a decorator. *out stays NULL: none. */
    bool (*within)(emitter *e, source_range r, ir_value **out);
    /* Can a call of it be compiled anew for its arguments? */
    bool (*inlined)(emitter *e, source_range r, sugar *callee, inlinee *out);
    /* Does nothing that is assigned to an attribute of s matter? */
    bool (*forgets)(const sugar *s);
    /* The default of fn's i-th parameter; NULL without an error: it has none. */
    sugar *(*default_of)(emitter *e, source_range r, const struct py_object *fn, size_t i);
    /* A method of an object's class, declared when first needed (methods that only forward
     * reaches); NULL: none. */
    function *(*method)(emitter *e, type *cls, const char *name);
    /* isinstance(module of type t, x), as Python has it: 1, 0, or -1 with the error. */
    int (*isinstance)(emitter *e, const type *t, const expr *x);
    /* The attribute that the i-th positional pattern of class `cls` looks at; *name = NULL:
     * the subject itself. */
    bool (*match_field)(emitter *e, source_range r, const expr *cls, int64_t i, const char **name);
    /* Annotations, evaluated in the scope. */
    ctsc_status (*annotation)(const scope *s, diag *d, const expr *x, type **out);
    /* What attributes that do not change tell, where e->lenient. */
    int (*static_truth)(emitter *e, const expr *x); /* 0, 1; -1: not known */
    /* range(...) as a sequence to unroll; NULL: not known */
    sugar *(*static_range)(emitter *e, const expr *x);
    /* self.name as an int */
    bool (*static_int)(emitter *e, const char *name, int64_t *out);
    /* an expression that is a str */
    bool (*static_text)(emitter *e, const expr *x, const char **out);
    /* what an expression is, if that can be a value or the emitter has another use for it */
    sugar *(*static_sugar)(emitter *e, const expr *x);
    /* the elements of a Python list, tuple or dict as a sequence; NULL without an
     * error: it is none */
    sugar *(*elements)(emitter *e, source_range r, struct py_object *o);
    /* x is not None, for exists(x) that says so; NULL: another call */
    const expr *(*predicate)(emitter *e, const expr *call);
    /* Notes, for the error just recorded, that the program gives the attribute a value of another
     * type in __init__. */
    void (*hint_assigned)(emitter *e, const type *cls, const char *name, const type *was,
                          const type *is);
    /* is there a self.name where a method is compiled? */
    bool (*has_member)(const emitter *e, const char *name);
    /* f, which the function being compiled calls, does not compile. */
    void (*refused)(emitter *e, const function *f);
} scope_ops;

/* irgen.c */
ctsc_status irgen_function(function *f, diag *d);
enum { EMIT_MAX_STEPS = 200000 };
frame *irgen_push_frame(emitter *e, block *b);
void irgen_pop_frame(emitter *e);
variable *irgen_find_variable(const emitter *e, const char *name);
/* Whose variable it is: e's, or that of a function around e's. */
const emitter *irgen_variable_home(const emitter *e, const char *name);
bool irgen_set_value(emitter *e, source_range r, const char *name, ir_value *v);
bool irgen_set_sugar(emitter *e, source_range r, const char *name, sugar *s, type *annotated);
/* NULL without error: unknown */
sugar *irgen_get_variable(emitter *e, source_range r, const char *name);
ir_value *irgen_fail(emitter *e, source_range r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool irgen_failed(const emitter *e);
ir_value *irgen_fork(emitter *e, const func_def *def, source_range r);
/* Binds `name` to s, which is never reassigned. */
bool irgen_bind(emitter *e, source_range r, const char *name, sugar *s);
/* A body whose parameters `bind` makes, without its returns: e->g is ready to be inlined. */
ctsc_status irgen_inlined_body(emitter *e, const func_def *def, bool (*bind)(emitter *e, void *ctx),
                               void *ctx);

/* irgen_inline.c */
/* s in the body being emitted: what it has of other graphs becomes e->g's. */
sugar *irgen_import(emitter *e, source_range r, const sugar *s);
sugar *irgen_closure(emitter *e, const func_def *def);
sugar *irgen_lambda(emitter *e, const expr *x);
sugar *irgen_inline_call(emitter *e, const expr *x, sugar *callee, const inlinee *to, type *hint);

/* irgen_recover.c: further errors after a statement that failed */
typedef struct irgen_mark {
    frame *env;
    block *blk;
    node *before;
    int loops, unrolled, depth;
    bool returned;
} irgen_mark;
irgen_mark irgen_here(const emitter *e);
/* Puts the failure aside and goes back to where st began; false: it is not an error of the
 * program's, or the last one to show. */
bool irgen_recover(emitter *e, const irgen_mark *at, const stmt *st);
/* false: the function fails for errors that have been put aside */
bool irgen_fail_silently(emitter *e);
void irgen_report(emitter *e); /* what was put aside becomes the failure */

/* irgen_stmt.c */
bool irgen_statements(emitter *e, const stmt_list *body);
/* In a block that ends without a value for a variable, some value of its type. */
void irgen_store_nothing(emitter *e, block *b, const variable *like, const char *name);

/* irgen_assign.c */
bool irgen_assign(emitter *e, const stmt *st);
bool irgen_annotated_assign(emitter *e, const stmt *st);
bool irgen_augmented_assign(emitter *e, const stmt *st);
bool irgen_assign_target(emitter *e, const expr *target, sugar *s, type *annotated);

/* irgen_loop.c: for, while, comprehensions; what can be stepped through */
bool irgen_for(emitter *e, const stmt *st);
bool irgen_while(emitter *e, const stmt *st);
/* LIST_COMP, DICT_COMP, GENERATOR (as a list) */
ir_value *irgen_comprehension(emitter *e, const expr *x, type *hint);
/* The elements of s if their number is known while compiling (tuples, SUGAR_TUPLE, module
 * containers, zip and enumerate of those), as a SUGAR_TUPLE; NULL without an error: it is not. */
sugar *irgen_static_elements(emitter *e, source_range r, sugar *s);
ir_value *irgen_range_length(emitter *e, source_range r, const sugar *s); /* of a RANGE */

/* refine.c: conditions, what is known while compiling, and what a branch learns about types */
typedef struct refinement {
    const char *name; /* of a variable */
    type *type;       /* what it has where the condition holds */
    /* the condition has assigned it, where it holds; NULL: its type is narrower */
    const variable *assigned;
    struct refinement *next;
} refinement;
typedef struct condition {
    ir_value *value; /* bool; made also where `known` says it all */
    /* -1: found out at run time; 0, 1: known while compiling: only one branch exists */
    int known;
    refinement *when_true, *when_false;
} condition;
bool irgen_condition_parts(emitter *e, const expr *x, condition *out);
/* Makes variables have their refined types from here on: prim::unchecked_cast and Store. */
bool irgen_refine(emitter *e, source_range r, const refinement *list);
/* irgen_match.c: E_CAPTURE, E_SHAPE, E_FIELD */
bool irgen_match_capture(emitter *e, const expr *x, condition *out);
bool irgen_match_shape(emitter *e, const expr *x, condition *out);
sugar *irgen_match_field(emitter *e, const expr *x);
/* The names that x assigns when it is evaluated. */
typedef VEC(const char *) name_vector;
bool irgen_assigned_names(emitter *e, const expr *x, name_vector *out);
/* isinstance(x, T) as an expression. */
ir_value *irgen_isinstance(emitter *e, const expr *call);

/* irgen_index.c */
ir_value *irgen_subscript(emitter *e, const expr *x, type *hint); /* x[...] as a value */
/* the same, where elements of containers need not be values */
sugar *irgen_subscript_sugar(emitter *e, const expr *x, type *hint);
bool irgen_assign_subscript(emitter *e, const expr *target, sugar *s);
/* x[...] op= value, for every kind of x. */
bool irgen_aug_subscript(emitter *e, const stmt *st);

/* irgen_format.c */
ir_value *irgen_fstring(emitter *e, const expr *x);
/* "text" % v and "text".format(...): fields that PyTorch's operators cannot fill are resolved
 * while compiling. */
ir_value *irgen_percent(emitter *e, const expr *x, ir_value *text);
ir_value *irgen_str_format(emitter *e, const expr *call, ir_value *text);

/* irgen_expr.c: NULL means that the diagnostic is filled */
sugar *irgen_sugar(emitter *e, const expr *x, type *hint);
ir_value *irgen_expr(emitter *e, const expr *x, type *hint);
ir_value *irgen_condition(emitter *e, const expr *x); /* a bool value */
/* v as a condition: bool(v), with a condition's error text */
ir_value *irgen_truth(emitter *e, source_range r, ir_value *v);
ir_value *irgen_as_value(emitter *e, source_range r, sugar *s);
sugar *sugar_of_value(emitter *e, ir_value *v);
sugar *sugar_new(emitter *e, sugar_kind kind);
sugar *irgen_new_sequence(emitter *e, int room); /* SUGAR_TUPLE without items */
/* "builtin", "module": for "... cannot be used as a value" */
const char *sugar_kind_text(const sugar *s);
/* irgen_name.c */
sugar *irgen_name(emitter *e, const expr *x);
sugar *irgen_attribute(emitter *e, source_range r, sugar *base, const char *name);
/* the variable that self.name is where only the method being compiled assigns it */
const char *irgen_local_attribute(emitter *e, const char *name);
/* would irgen_attribute find it? Emits nothing. */
bool irgen_has_attribute(emitter *e, sugar *base, const char *name);
/* The type that an expression names: in a source program's scope, or in an archive. */
static inline ctsc_status irgen_annotation(emitter *e, const expr *x, type **out) {
    return e->scope ? e->scope->ops->annotation(e->scope, e->diag, x, out)
                    : annotation_type(e->unit, e->diag, x, out);
}

/* irgen_expr.c again */
/* a op b, as an expression */
ir_value *irgen_binary_values(emitter *e, source_range r, operator_kind op, ir_value *a,
                              ir_value *b);
/* The operator of `a op= b` for a target of type t: in place on tensors and lists. NULL:
 * Python has none. */
const char *irgen_augmented_operator(operator_kind op, const type *t);
ir_value *irgen_list(emitter *e, source_range r, type *elem, int n, ir_value *const *values);
ir_value *irgen_tuple(emitter *e, source_range r, type *t, int n, ir_value *const *values);
bool irgen_unpack(emitter *e, source_range r, ir_value *v, size_t expected, ir_value ***out,
                  int *n);
/* In archives constants are at the top of the graph; they are pooled afterwards. */
ir_value *irgen_constant_take(emitter *e, value v, type *t);
/* An int constant that is nowhere in the source. */
ir_value *irgen_hidden_int(emitter *e, int64_t i);

/* irgen_call.c */
sugar *irgen_call(emitter *e, const expr *call, type *hint);
/* from the first-th positional one on */
bool irgen_arguments(emitter *e, const expr *call, size_t first, actual **out, int *n);
/* Calls the callee that a sugar denotes with values. */
sugar *irgen_call_sugar(emitter *e, source_range r, sugar *callee, int nargs, const actual *args,
                        type *hint);
ir_value *irgen_builtin(emitter *e, source_range r, const char *name, int nargs,
                        const actual *args);
/* this one, or an error */
ir_value *irgen_overload(emitter *e, source_range r, const op *o, int nargs, const actual *args);
ir_value *irgen_builtin_values(emitter *e, source_range r, const char *name, int n,
                               ir_value *const *args);
ir_value *irgen_method(emitter *e, source_range r, ir_value *self, const char *name, int nargs,
                       const actual *args);
ir_value *irgen_function_call(emitter *e, source_range r, function *f, int nargs,
                              const actual *args);
/* A method by name, also one that a source class declares only when needed; NULL: none. */
function *irgen_find_method(emitter *e, type *cls, const char *name);
/* torch.jit.fork(callee, args...): the call, in a subgraph of its own. */
ir_value *irgen_fork_call(emitter *e, source_range r, sugar *callee, int nargs, const actual *args);
/* irgen_spread.c */
typedef VEC(ir_value *) value_vector;
/* The constant that an int is: its own, or the one that a variable was last assigned in a straight
 * line before the Load v; sums of such. depth: 0 */
bool irgen_known_int(const emitter *e, const ir_value *v, int depth, int64_t *out);
/* The int or str that a variable has here, if the straight line before says so: a
 * counter, a key. */
bool irgen_known_variable(const emitter *e, const char *name, value *out);
bool irgen_has_starred(const expr_list *xs, size_t first);
/* Elements, from the first-th on, some of them starred: each evaluated once. *joined:
 * their number is known only at run time, and they are one list, the only value. */
bool irgen_starred(emitter *e, source_range r, const expr_list *xs, size_t first, value_vector *out,
                   bool *joined);
/* The values of *s in a call, or of tuple(s): of tuples,
 * module containers and sequences known at compile time. */
bool irgen_spread(emitter *e, source_range r, sugar *s, ir_value ***out, int *n);

/* irgen_unknown.c */
bool irgen_admits_unknown(const emitter *e); /* in archives alone */
/* A node that is refused when it is reached. known: the name is, and the arguments are not. */
ir_value *irgen_unknown(emitter *e, source_range r, const char *name, bool known, int nargs,
                        const actual *args);

/* irgen_builtin.c */
/* Builtins by their dotted Python names: "len", "builtins.zip", "math.floor", "torch.jit.annotate",
 * "typing.cast", "warnings.warn", ... and, in archives, "torch", "ops", "CONSTANTS". NULL without
 * an error: unknown. */
sugar *irgen_builtin_name(emitter *e, const char *name);
sugar *irgen_builtin_of_library(emitter *e, const char *name);
/* A hint appended to the error for an unknown operator:
 * a library with its namespace may be missing. */
void irgen_note_library(emitter *e, const char *op);
sugar *irgen_namespace_member(emitter *e, source_range r, const sugar *ns, const char *name);
/* irgen_special.c */
sugar *irgen_special_call(emitter *e, const expr *call, const sugar *form, type *hint);
/* int(x), bool(x), ... */
ir_value *irgen_cast(emitter *e, source_range r, type_kind to, ir_value *v);
ir_value *irgen_list_of(emitter *e, source_range r, sugar *s); /* list(s), of what is not a value */
/* x.float, x.tolist, ...: methods of tensors that are not operators; NULL: none of them. */
sugar *irgen_tensor_method(emitter *e, ir_value *self, const char *name);

/* match.c */
/* inputs: one value per argument of the schema, in order (more for varargs),
 * conversions emitted. */
typedef struct match_result {
    int ninputs;
    ir_value **inputs;
    int nreturns;
    type **returns;
} match_result;
/* The first of n schemas that fits, tried without conversions and then with; *which: its index.
 * NULL: match_explain's error. */
match_result *match_schemas(emitter *e, source_range r, const schema *const *list, int n, int nargs,
                            const actual *args, int *which);
/* Converts v for a destination of type t as assignments and returns do; v itself
 * if nothing helps. */
ir_value *match_convert(emitter *e, source_range r, type *t, ir_value *v, bool convert);

/* Why args do not fit a schema, appended to why, and which of them is to blame; NULL: one
 * that is missing. */
const actual *match_reason(emitter *e, const schema *s, int nargs, const actual *args, strbuf *why);
/* How far args are from fitting: 0 is closest. Counts every argument, where match_reason
 * stops at the first. */
int match_distance(emitter *e, const schema *s, int nargs, const actual *args);

/* explain.c: the error of a call that fits none of n schemas: the closest ones, each
 * with its reason. */
bool match_knows_keyword(const schema *s, const char *name);
/* Among several, s is never chosen: an int is a size before it is a dtype, x.view(-1). */
bool match_never(const schema *s);
/* A note, where the value is an Optional: how to check it. r: the expression that it came from. */
void explain_optional(emitter *e, source_range r, const ir_value *value);
void match_explain(emitter *e, source_range r, const schema *const *list, int n, int nargs,
                   const actual *args);

/* exits.c: break, continue and return become values and branches; after ssa_convert.
 *     before:  prim::If(%c) { prim::ReturnStmt(%x) } {}; ...   after:  %r, %did = prim::If(%c) {...}; prim::If(%did) ... */
ctsc_status exits_transform(graph *g, diag *d);

/* ssa.c */
ctsc_status ssa_convert(graph *g, diag *d);

#endif
