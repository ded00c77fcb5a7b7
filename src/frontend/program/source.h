/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - programs from Python source: between the evaluator's objects (py.h) and the
 * emitter (irgen.h).
 *
 * The evaluator leaves Python objects: functions, classes, instances of nn.Module. This file's
 * functions make functions, class types and runtime objects of them, the way torch.jit.script does:
 *
 *   source.c           the program: entry, compile everything reachable, options
 *   source_names.c     what a free name or an attribute of a Python object is to the emitter: sugars
 *   source_call.c      calls of those that are not values
 *   source_keep.c       what objects hold, for a trace that runs twice
 *   source_layer.c      layers that functions make
 *   source_specialize.c functions for arguments of other types than Tensor
 *   source_expand.c    calls that become functions made for their arguments
 *   source_inline.c    functions that are compiled anew for a call
 *   source_types.c     Python types and annotations -> IR types; types inferred from objects
 *   source_value.c     objects -> runtime values
 *   source_function.c  names and signatures of functions
 *   source_class.c     script classes, NamedTuples, enums, interfaces, dataclasses
 *   source_plan.c      what an nn.Module instance has
 *   source_module.c    an nn.Module instance -> class type (shared between equal modules, else mangled), object
 *   source_archive.c   modules of archives that the program has loaded
 *   source_trace.c     instead of all that: the entry's forward is run by the evaluator, and traced (py_trace.h)
 *
 * Names: "__torch__." + the module's dotted name + the class's or function's; the program's own
 * file is named by its stem.
 * Ownership: everything lives in the unit's arena; the evaluator lives as long as the
 * unit can compile.
 * Tests: tests/lang, tests/corpus
 */
#ifndef CTSC_FRONTEND_PROGRAM_SOURCE_H
#define CTSC_FRONTEND_PROGRAM_SOURCE_H

#include "frontend/irgen/irgen.h"
#include "frontend/pyeval/core/py.h"

/* A script class, enum, named tuple or interface. */
typedef struct class_source {
    py_object *cls; /* PY_CLASS */
    type *type;
    bool failed; /* and why */
    const char *why;
    source_range where;
} class_source;

/* An attribute that distinguishes instances of a class:
 * they share a type only where it has equal values. */
typedef struct distinction {
    const py_object *cls;
    const char *name;
} distinction;

/* A function declared once more, for arguments of other types (source_specialize.c). */
typedef struct specialization {
    function *of, *made;
} specialization;

/* A layer that functions make and call (source_layer.c), and its methods as functions. One that is
 * a global variable has no class and arguments here. */
typedef struct made_layer {
    const py_object *cls;
    py_object *args, *named; /* PY_LIST: values; (name, value) */
    py_object *instance;
} made_layer;
typedef struct layer_method {
    const py_object *instance, *of;
    py_object *bound; /* PY_FUNCTION */
} layer_method;

/* One per unit that came from source; unit->import_ctx. */
typedef struct program {
    unit *unit;
    py py;
    py_object *main;    /* the program's own module */
    ptrmap functions;   /* py_function * -> function * (of free functions and static methods) */
    ptrmap classes;     /* py_class * -> class_source * */
    ptrmap class_types; /* type * -> class_source * */
    ptrmap modules;     /* py_object * (instance) -> struct module_type * */
    ptrmap objects;     /* py_object * (instance) -> object *: kept by `held` while compiling */
    VEC(struct module_type *) module_types;
    VEC(value) held;     /* released when the program is compiled */
    VEC(value) defaults; /* of named tuples: released with the program */
    /* found so far (source_static.c); the program is compiled anew for them */
    VEC(distinction) distinctions;
    /* plain classes whose instances have to be script objects; found so, too */
    VEC(const py_class *) wanted;
    strmap expansions; /* text -> the Python function made of it (source_expand.c) */
    VEC(specialization) specializations;
    VEC(made_layer) layers;
    VEC(layer_method) layer_methods;
    ptrmap callers;      /* function * that failed -> function * whose call had it compiled */
    int mangled;         /* next ___torch_mangle_N */
    int depth;           /* of nested declarations */
    int declaring;       /* classes being declared */
    bool tracing;        /* modules are made for a trace: forward and its hooks are not compiled */
    VEC(type *) pending; /* script classes in order of declaration; ... */
    size_t finished;     /* ... the first ones have their attributes */
    /* what came from archives; NULL: nothing so far, or everything is compiled */
    struct unit_copy *archives;
} program;
enum { SOURCE_MAX_DEPTH = 150 };

/* What ModuleList and the like are to the emitter. */
typedef enum container_kind {
    CONTAINER_NONE,
    CONTAINER_LIST,       /* ModuleList, Sequential */
    CONTAINER_DICT,       /* ModuleDict */
    CONTAINER_PARAMETERS, /* ParameterList */
    CONTAINER_PARAMETER_DICT,
} container_kind;

/* An attribute of an instance that is not data: a function, an operator, overloads. */
typedef struct module_member {
    const char *name;
    py_object *object;
} module_member;

typedef struct module_failed {
    const char *name;
    const char *why; /* PyTorch's hint, in parentheses */
} module_failed;

/* The Python side of a module's class type: class_info->source points at
 * it. Two instances of one Python class share it if everything here that
 * a method could notice is equal. A module of an archive has its own,
 * with only the first four members set; its class does not point back. */
typedef struct module_type {
    program *prog;
    type *cls;
    py_object *py_class; /* PY_CLASS of the instances */
    py_object *instance; /* the first of them */
    container_kind container;
    VEC(const char *) keys;    /* of a container: attribute names of its elements, in order */
    VEC(attribute) attributes; /* data, in PyTorch's order; submodules follow in `children` */
    VEC(attribute) children;   /* submodules: module class types or interfaces */
    VEC(constant_attribute) constants;
    VEC(module_member) functions; /* attributes that are functions */
    /* attributes that are methods of the module: self.forward = self.forward_fast */
    VEC(module_member) bound;
    VEC(module_failed) failed; /* attributes without a TorchScript type */
    VEC(py_object *) hooks, pre_hooks;
    VEC(function *) overloads; /* forward__0, ... */
    bool traced;               /* has no forward of its own: it was made while prog->tracing */
    bool part;                 /* traced, with a forward that is a trace: of one instance alone */
} module_type;

typedef struct source_trace_options {
    size_t n;
    const value *inputs;
    /* names[i] of an argument given by name; NULL where it is positional */
    const char *const *names;
    bool skip_check;
} source_trace_options;

typedef struct source_options {
    const char *entry; /* function or class; NULL: chosen (see below) */
    uint64_t seed;     /* torch.manual_seed before the entry's module is built */
    bool eval;         /* module.eval() before it is converted */
    /* a state_dict for the module built (its load_state_dict is called), or NULL */
    const value *state;
    const char *state_file; /* where it is from, for messages */
    /* trace the entry instead of compiling it (source_trace.c); NULL: compile it */
    const source_trace_options *trace;
} source_options;

typedef struct source_result {
    value root; /* the module's object: a reference */
    /* of a function program: the function, which its module has as `forward`; else NULL */
    function *entry;
} source_result;

/* Runs src and compiles its entry: `entry`, else the function `forward`, else the class `Main`
 * (built without arguments), else the only module class that no other one uses, else the only
 * scripted function. name: dotted module name ("net"). A function becomes the method `forward` of a
 * module of class __torch__.PlaceholderModule, as torch.jit.save does it. All functions and methods
 * that the result can reach are compiled; independent errors are all reported (diag_append). */
ctsc_status source_compile(diag *d, unit *u, const py_host *host, const source_options *o,
                           const char *name, source *src, source_result *out);

/* ---- what the emitter asks (scope_ops in irgen.h), and the files of this part ask each other - */

/* For functions of source programs. */
extern const scope_ops source_scope_ops;
sugar *source_name(emitter *e, source_range r, const char *name);
sugar *source_sugar(emitter *e, source_range r, py_object *o); /* scope_ops.object */
sugar *source_attribute(emitter *e, source_range r, const sugar *obj, const char *name);
sugar *source_object_attribute(emitter *e, source_range r, ir_value *obj, const char *name);
sugar *source_class_attribute(emitter *e, source_range r, const type *t, const char *name);
sugar *source_constant(emitter *e, source_range r, value v, type *t);
sugar *source_sequence(emitter *e, source_range r, ir_value *v);
sugar *source_call(emitter *e, const expr *call, const sugar *callee, type *hint);
function *source_specialized(emitter *e, function *f, int nargs, const actual *args);
bool source_inlined(emitter *e, source_range r, sugar *callee, inlinee *out);
/* ctx of an autograd function's forward; an autograd function's apply: forward, given one */
bool source_is_context(const sugar *s);
bool source_is_applied(const sugar *s);
sugar *source_context(emitter *e);
sugar *source_default_of(emitter *e, source_range r, const py_object *fn, size_t i);
function *source_method(emitter *e, type *cls, const char *name);
int source_isinstance(emitter *e, const type *t, const expr *x);
bool source_match_field(emitter *e, source_range r, const expr *cls, int64_t i, const char **name);
ctsc_status source_annotation(const scope *s, diag *d, const expr *x, type **out);
bool source_static_text(emitter *e, const expr *x, const char **out);
sugar *source_static_sugar(emitter *e, const expr *x);
sugar *source_elements(emitter *e, source_range r, py_object *o);
int source_static_truth(emitter *e, const expr *x);
const expr *source_predicate(emitter *e, const expr *call);
sugar *source_static_range(emitter *e, const expr *x);
bool source_static_int(emitter *e, const char *name, int64_t *out);
bool source_has_member(const emitter *e, const char *name);
void source_hint_assigned(emitter *e, const type *cls, const char *name, const type *was,
                          const type *is);

/* Notes whose call had f compiled, which does not compile. */
void source_refused(emitter *e, const function *f);
/* Is f, which does not compile, one that such a function has taken the place of, or such a one,
 * whose caller has the error? Or one whose caller compiled without it after all, since a branch
 * that calls it is never taken? Its class then does without it. */
bool source_given_up(program *g, function *f);
/* Is it a function whose calls are expanded? Such a call. */
bool source_is_expanded(const py_object *o);
sugar *source_expand_call(emitter *e, const expr *call, const py_object *fn);

/* A layer made by a call of its class in a function; NULL, mostly without an error: it cannot. */
sugar *source_layer(emitter *e, const expr *call, const py_object *cls);
/* Is it one that was made or called so? */
bool source_is_layer(const program *g, const py_object *o);
/* The function that a call of such a layer, or of a method of one, calls; NULL: it is none. */
const py_object *source_layer_callee(emitter *e, const py_object *o);

/* ---- source_static.c: what attributes that do not change tell; nothing unless e->lenient ----- */
/* Do the distinguishing attributes have equal values? */
bool source_static_same(program *g, py_object *a, py_object *b);
/* The value of an expression, for all instances alike; NULL: not known. */
py_object *source_static_value(emitter *e, const expr *x);
/* The plain object (of no type in TorchScript) that all instances have as that
 * attribute; NULL: none. */
py_object *source_static_object(emitter *e, const module_type *m, const char *name);

/* Notes, for the error just recorded, why an attribute that the program gives a value in __init__
 * has no type (source_hint.c). */
void source_hint_untyped(emitter *e, const module_type *m, const char *name);

/* ---- source_trace.c: the entry (a module or a function) as a traced module ------------------- */
bool source_trace(program *g, source_range r, py_object *entry, const source_options *o,
                  source_result *out);
/* As torch.jit.trace has been asked to trace it: note is its row of py.traced. */
bool source_trace_noted(program *g, py_object *entry, const py_object *note,
                        const source_options *o, source_result *out);
/* A part of a program that is compiled: forward becomes a method of root's class. */
bool source_trace_part(program *g, source_range r, py_object *part, const py_object *note,
                       object *root);
function *source_traced_function(program *g, source_range r, py_object *fn, const py_object *note,
                                 const char *name);
/* The module's part of source_options: its state, eval(). */
bool source_prepare(program *g, source_range r, py_object *module, const source_options *o);

/* ---- source_keep.c: what Python objects hold, for another run -------------------------------- */
typedef struct kept_object {
    py_object *o;
    py_object **values; /* items, or keys and values in turn */
    size_t n;
} kept_object;
typedef struct source_kept {
    VEC(kept_object) all;
    ptrmap seen;
} source_kept;
bool source_keep(source_kept *k, py *p, py_object *entry);
bool source_put_back(const source_kept *k, py *p);
void source_kept_free(source_kept *k);

/* ---- between the files of this part; failures are described in g->py.diag -------------------- */

/* Records a failure. Always NULL, and false where a bool is returned. */
void *source_fail(program *g, source_range r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool source_dropped(const py_object *fn); /* marked with torch.jit.unused or ignore */
sugar *source_string(emitter *e, const char *text);
/* Always NULL, with the error for a module that is a global variable. */
void *source_fail_global(emitter *e, source_range r, const py_object *o);
sugar *source_element(emitter *e, source_range r, ir_value *v, const char *key); /* v.key */
/* The IR type that an annotation means in env. */
type *source_type_of_expr(program *g, py_env *env, const expr *x);
/* Text (a string annotation, a type comment) as an expression. If it is found at r, it has
 * its ranges there. */
expr *source_parse_text(program *g, source_range r, const char *text);
/* Notes the plain classes of instances in o, a container that as an attribute has no type. */
bool source_want_classes(program *g, const py_object *o);
/* The IR type that a Python object names when used as a type; NULL with the reason in the diag. */
type *source_type_of_object(program *g, source_range r, py_object *o);
/* The type of a Python object used as a value (attributes, constants); NULL without an error, and
 * the reason in why: it has none. */
type *source_infer_type(program *g, py_object *o, strbuf *why);
/* The object as a runtime value of type t: a reference. */
bool source_value(program *g, source_range r, py_object *o, type *t, value *out);
/* Final[T], or Final alone. */
bool source_is_final(program *g, py_env *env, const expr *annotation);
/* An object of the class that torch.jit.save gives a function as its module; it has no methods. */
bool source_placeholder(program *g, value *root);
/* what has been declared, and what that declares on the way */
ctsc_status source_compile_all(program *g, diag *d);
/* "__torch__." + module + "." + name, unused so far (else mangled as PyTorch does). */
const char *source_qualify(program *g, const py_object *module, const char *name);
/* The function for a Python function, declared (not compiled). */
function *source_function(program *g, source_range r, py_object *fn);
/* The class type for a Python class, declared; a named tuple's is a T_TUPLE. */
type *source_class(program *g, source_range r, py_object *cls);
class_source *source_class_of(program *g, const type *t); /* NULL: not one of this program's */
/* One inherited from a base; NULL: none. */
function *source_class_method(program *g, class_source *c, const char *name);
/* What an instance of nn.Module has, without a type yet; NULL: an error. */
module_type *source_plan(program *g, source_range r, py_object *instance);
/* torch.jit.Attribute(value, type): is o one? Its parts. */
bool source_jit_attribute(py_object *o, py_object **v, py_object **declared);
bool source_is_module(const py_object *o); /* an instance of nn.Module */
/* instance._parameters and the like */
const py_dict *source_module_dict(const py_object *instance, const char *name);
/* The type and object for an instance of nn.Module. */
module_type *source_module_type(program *g, source_range r, py_object *instance);
/* false with PyTorch's error: super().__init__() has not run. */
bool source_module_initialized(program *g, source_range r, const py_object *instance);
bool source_module_object(program *g, source_range r, py_object *instance, value *out);
/* What an archive's class, value or module is in the program; NULL or false: the copying failed. */
type *source_archive_type(program *g, type *t);
bool source_archive_value(program *g, value v, value *out);
module_type *source_archive_module(program *g, const object *o, py_object *instance);
function *source_module_method(program *g, module_type *m, const char *name);
function *source_module_super(program *g, module_type *m, const py_object *behind,
                              const char *name);
/* Declares a function from an AST definition: parameters from annotations, type comment or
 * defaults; unannotated ones are Tensor, `self` is cls. name: of the method; qualified: full name.
 * fn: PY_FUNCTION. */
function *source_declare(program *g, py_object *fn, const char *qualified, type *cls,
                         module_type *module);
/* A PY_FUNCTION from the text of one `def`; file: what messages call its source. */
py_object *source_synthesize(program *g, const char *file, const strbuf *text, py_object *module,
                             py_env *env);
/* Declares what an interface's method, or a dropped one, needs: the signature only. */
bool source_signature(program *g, py_object *fn, py_env *env, type *self, schema **out,
                      bool *return_declared);

#endif
