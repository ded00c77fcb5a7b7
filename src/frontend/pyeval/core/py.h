/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py.h - the compile-time evaluator: runs the Python of a source file that runs before
 * any graph exists.
 *
 * What `python net.py` would do up to torch.jit.script(Net()) happens here: imports, global
 * assignments, function and class definitions, the construction of modules (with torch.nn's
 * layers, written in Python in prelude/), and initialisation of their weights through the same
 * operators that programs use. The results are Python objects; source.h turns them into types,
 * objects and graphs.
 *
 * Method. A tree walker over the parser's AST. Everything is an arena object without reference
 * counts: a compilation is short, bounded by a step limit and by the arena's size; tensors and
 * other counted values are noted in `held` and released when the evaluator goes; those of loops
 * that train, before (py_sweep.c). Python
 * exceptions are a failed diag whose `exception` is the class name ("builtins.ValueError");
 * try/except looks at it.
 *
 * The language:
 *   py_object.c     objects, their classes         py_dict.c       dicts, sets, hashing, equality
 *   py_attribute.c  o.name, variables              py_operator.c   + - < and their kin, truth
 *   py_eval.c       expressions                    py_index.c      o[i], len, in, iteration
 *   py_call.c       calls, binding of arguments    py_class.c      classes, instances, enums, exceptions
 *   py_stmt.c       statements                     py_import.c     modules, import
 * Python's library:
 *   py_builtin.c    Python's builtins              py_number.c     those about numbers: int, round, pow, ...
 *   py_container.c  methods of containers          py_reflect.c    those about objects: isinstance, super, type
 *   py_str.c        methods of strings             py_repr.c       str, repr
 *   py_format.c     format specs, %, str.format    py_classes.c    enum, namedtuple, dataclasses, copy
 *   py_math.c       math, cmath                    py_typing.c     typing, types as objects
 *   py_modules.c    which module is whose; the small ones
 * torch (py_torch.h):
 *   py_torch.c      the module `torch` and those below       py_ops.c          operators on objects
 *   py_tensor.c     tensors: attributes, methods, operators  py_tensor_data.c  tensors of nested sequences
 *   py_tensor_index.c  t[...]                                py_jit.c          torch.jit
 *   py_gradients.c  what is recorded; optimisers
 *   py_script.c     modules of archives: torch.jit.load     py_trace.c        the recording of operators, for traces
 *   prelude.c       the embedded Python files: torch.nn, torch.functional, ...
 *
 * Errors: functions returning py_object * or bool give NULL / false with the diagnostic
 * filled in p->diag.
 * Threads: one evaluator belongs to one thread.
 * Tests: tests/unit/test_py.c, tests/unit/test_py_torch.c, tests/lang
 */
#ifndef CTSC_FRONTEND_PYEVAL_CORE_PY_H
#define CTSC_FRONTEND_PYEVAL_CORE_PY_H

#include "frontend/syntax/ast.h"
#include "frontend/syntax/suggest.h"
#include "ir/graph/graph.h"
#include "ir/op/op.h"
#include "ir/unit.h"

typedef struct py py;
typedef struct py_object py_object;

/* Names of one scope: a module's globals, a function's locals, a class body. Insertion-ordered.
 * key NULL: deleted */
typedef struct py_dict_entry { py_object *key, *val; uint64_t hash; } py_dict_entry;
typedef struct py_dict {
    VEC(py_dict_entry) entries; /* len counts deleted ones too */
    uint32_t *index, nindex;    /* hash -> entry + 1; NULL while there are few entries */
    size_t len;                 /* live entries */
    py_object *missing;         /* defaultdict: what makes a missing value; else NULL */
    struct py_dict *attrs;      /* of an OrderedDict, which is a dict here; NULL: none */
} py_dict;

typedef struct py_env {
    py_dict *vars;         /* NULL: none */
    struct py_env *outer;  /* enclosing function's; NULL: only globals remain */
    py_object *module;     /* PY_MODULE whose globals end the search */
    const func_def *def;   /* of a function's locals */
    py_object *cls;        /* class whose method runs, for super() */
    bool is_class;         /* a class body: not visible from the functions in it */
    bool is_comprehension; /* of a comprehension's own variables */
    const char *qualname;  /* of the function or class; NULL or "<module>": none */
    py_object *result;     /* of the return statement that ended the function */
    struct py_env *caller; /* while it runs: what ran before */
    py_object *yields;     /* PY_LIST: what a generator has yielded so far; NULL: no generator */
    /* of a generator that is a context manager: what runs where it yields; NULL: it is none */
    struct py_with_body *body;
    VEC(const char *) globals, nonlocals; /* names so declared */
} py_env;

/*    kind       members of u */
typedef enum py_kind {
    /* v: None, bool, int, float, complex, str, Tensor, Device, ...; param: it is an nn.Parameter */
    PY_VALUE,
    PY_SYMBOL, /* v: its int value; symbol, name: "torch.float32" */
    PY_LIST,   /* seq */
    PY_TUPLE,  /* seq; cls: the NamedTuple class, or NULL */
    PY_SET,    /* seq */
    PY_DICT,   /* dict; ordered (OrderedDict too) */
    PY_RANGE,  /* range: start, stop, step */
    PY_SLICE,  /* slice: three objects */
    PY_ELLIPSIS,
    PY_NOT_IMPLEMENTED,
    PY_MODULE,   /* mod */
    PY_FUNCTION, /* fn */
    PY_METHOD,   /* method: self, fn (FUNCTION, BUILTIN or OPERATOR) */
    PY_BUILTIN,  /* builtin: a function of C, known by its dotted name */
    PY_OPERATOR, /* op_name: "aten::relu" (all its overloads), "torchvision::nms" */
    PY_CLASS,    /* cls */
    PY_INSTANCE, /* inst */
    PY_PROPERTY, /* property: getter, setter (or NULL) */
    PY_STATICMETHOD,
    PY_CLASSMETHOD, /* fn_object */
    PY_TYPE,        /* type: List[int] and the like: name, args */
    PY_SUPER,       /* super: search after class cls, self */
    /* seq: what is still to come. Generators and lazy builtins are run to their end at once */
    PY_ITERATOR,
    PY_KIND_COUNT
} py_kind;

typedef enum py_symbol { PY_DTYPE, PY_LAYOUT, PY_MEMORY_FORMAT, PY_QSCHEME } py_symbol;

/* How TorchScript is to treat a function, from its decorators. */
typedef enum py_script_mode {
    PY_DEFAULT,
    PY_SCRIPT,
    PY_EXPORT,
    PY_IGNORE,
    PY_UNUSED
} py_script_mode;

/* What torch.autocast for the CPU says of operators at module level. */
typedef struct py_autocast { bool on; dtype lower; } py_autocast;

typedef struct py_function {
    const func_def *def;  /* of a lambda: a def with one return statement */
    const char *qualname; /* "Net.forward" */
    py_env *closure;      /* scopes around the definition; its module ends the chain */
    py_object *module;
    py_object **defaults; /* parallel to def->params; NULL: none */
    py_object *cls;       /* class it was defined in, for super(); NULL: free */
    py_script_mode mode;
    /* @torch.no_grad() and the like: of its calls at module level */
    enum { PY_GRADIENTS_KEPT, PY_GRADIENTS_OFF, PY_GRADIENTS_ON } gradients;
    bool is_script_if_tracing;
    py_object *autocast; /* @torch.autocast(...): the object; NULL: none */
    /* @torch.jit._overload signatures seen before this definition. A function that ends its own
     * list is itself such a signature (py_is_overload): `def` copies the list of the one that has
     * its name in the same scope. */
    VEC(py_object *) overloads;
    py_dict *attrs; /* f.x = ...; NULL: none */
} py_function;

/* The parameters of a builtin, a function of C that Python code can call. */
#define PY_ARGS                                                                                    \
    py *p, source_range r, py_object *self, int nargs, py_object **args, int nkw,                  \
        const char *const *names, py_object **kwargs
#define PY_GIVEN nargs, args, nkw, names, kwargs /* py_bind's */
typedef py_object *(*py_builtin_fn)(PY_ARGS);
typedef struct py_row {
    const char *name; /* "len", "math.sqrt"; a table ends with {NULL, NULL} */
    py_builtin_fn fn;
} py_row;

typedef enum py_class_kind {
    PYC_PLAIN,
    PYC_BUILTIN, /* int, str, list, torch.Tensor, torch.device, ...: `make` constructs */
    PYC_MODULE,  /* torch.nn.Module and what derives from it */
    PYC_ENUM,
    PYC_NAMED_TUPLE, /* class N(NamedTuple), collections.namedtuple */
    PYC_INTERFACE,   /* @torch.jit.interface (is_module: it derived from nn.Module) */
    PYC_EXCEPTION,   /* BaseException and what derives from it */
} py_class_kind;

typedef struct py_annotation { const char *name; const expr *type; } py_annotation;

typedef struct py_class {
    const char *name;
    const char *qualname;        /* "Outer.Inner"; NULL: name */
    py_object *module;           /* PY_MODULE it was defined in; NULL: a builtin of Python */
    const class_def *def;        /* NULL: made by C */
    VEC(py_object *) bases, mro; /* mro[0] is the class itself (C3) */
    VEC(py_object *) subclasses; /* direct ones, in the order of their definition */
    py_class_kind kind;
    bool is_module, is_dataclass, is_script; /* is_script: @torch.jit.script */
    bool own_lookup;                         /* it, or a base, defines __getattribute__ */
    py_dict *attrs;
    VEC(py_annotation) annotations; /* `x: T` in the body, in order; own ones only */
    py_env *env;                    /* where annotations are evaluated */
    py_builtin_fn make;             /* PYC_BUILTIN; its self is the class called */
    VEC(const char *) fields;       /* PYC_NAMED_TUPLE, dataclass: names; */
    py_object **field_defaults;     /* ... and defaults (NULL: none), parallel */
    const expr **field_types;       /* ... and annotations (NULL: Tensor), parallel */
} py_class;

struct py_object {
    py_kind kind;
    union {
        struct { /* VALUE, SYMBOL */
            value v;
            bool param;
            py_symbol symbol;
            const char *name;
            py_dict *value_attrs; /* what a program has set on a tensor; NULL: nothing */
        };
        struct {
            VEC(py_object *) items;
            union {
                py_object *seq_cls;
                struct py_set_index *set_index;
            };
        } seq;
        py_dict *dict;
        struct { int64_t start, stop, step; } range;
        struct { py_object *start, *stop, *step; } slice;
        struct {
            const char *name;
            py_dict *globals;
            bool ready, is_package;
            source *src;
            /* of a stub: the module that was not found, "einops"; NULL: none. Its
             * attributes are stubs */
            const char *missing;
            source_range wanted; /* of a stub: the import, or where `reason` happened */
            /* of a stub for what a package's own code failed to make: that failure's
             * message; NULL: none */
            const char *reason;
            /* imports whose names are looked for when they are asked for; NULL: none */
            const stmt_list *lazy;
            /* found in a folder of the path, and not beside the program: its
             * failures leave stubs */
            bool foreign;
        } mod;
        py_function *fn;
        struct { py_object *self, *fn; } method;
        struct {
            const char *name;
            py_builtin_fn fn;
            bool method;
            const char *of;
            py_object *cls;
        } builtin;
        /* method: without self, args[0] becomes self; of: the type that self
                               * has to have, NULL: any; cls: the dataclass whose __init__ it is */
        const char *op_name;
        py_class *cls;
        /* scripted: given to torch.jit.script */
        struct { py_object *cls; py_dict *attrs; bool scripted; } inst;
        struct { py_object *getter, *setter; } property;
        py_object *fn_object;
        /* nargs -1: not subscripted */
        struct { const char *name; int nargs; py_object **args; } type;
        struct { py_object *cls, *self; } super;
    } u;
};

/* A trace and a second one of the same program (trace_keep_results), with the inputs of that;
 * result: what the program returned. */
typedef struct py_trace_check {
    const struct trace *recorded, *again;
    function *forward;
    size_t n;
    const value *args; /* the module first */
    value result;
    uint64_t seed;
} py_trace_check;

/* What module-level code that trains needs of its surroundings (torch/py_gradients.c). */
struct optimizer;
struct py_alive;
typedef struct py_training {
    /* Operators are recorded from now on. */
    void (*begin)(op_ctx *cx);
    /* Calls one; results: as of op_fn. */
    ctsc_status (*call)(op_ctx *cx, const op *o, int nargs, const value *args, int returns,
                        value *results);
    ctsc_status (*set_grad)(diag *d, tensor *t, tensor *grad); /* NULL: none */
    /* The outputs come of the inputs by a call whose gradients `gradients` gives: grads, one per
     * output, some NULL; out: one per input, new references or NULL. ctx: taken, also on failure;
     * given to `release` when nothing can be differentiated any more. */
    ctsc_status (*record)(diag *d, int ninputs, tensor *const *inputs, int noutputs,
                          tensor *const *outputs, void *ctx,
                          ctsc_status (*gradients)(void *ctx, diag *d, tensor *const *grads,
                                                   bool create_graph, tensor **out),
                          void (*release)(void *ctx));
    ctsc_status (*random_state)(op_ctx *cx, diag *d, tensor **out);
    ctsc_status (*set_random_state)(op_ctx *cx, diag *d, value state);
    ctsc_status (*optimizer_new)(diag *d, const char *name, struct optimizer **out);
    void (*optimizer_free)(void *o);
    ctsc_status (*optimizer_add_group)(diag *d, struct optimizer *o, const list *params, size_t n,
                                       const char *const *names, const double *numbers);
    ctsc_status (*optimizer_set)(diag *d, struct optimizer *o, size_t group, const char *name,
                                 double v);
    ctsc_status (*optimizer_step)(diag *d, struct optimizer *o,
                                  ctsc_status (*closure)(void *ctx, diag *d, double *loss),
                                  void *ctx, double *loss);
    void (*optimizer_zero_grad)(struct optimizer *o);
    ctsc_status (*optimizer_state)(diag *d, const struct optimizer *o, value *out);
    ctsc_status (*optimizer_load_state)(diag *d, struct optimizer *o, value state);
} py_training;

/* What the evaluator asks of its surroundings. */
typedef struct py_host {
    void *ctx;
    /* The text of module "a.b", from the folders that are searched (beside: from the program's own
     * only). *out = NULL if there is none; *is_folder then: there is a folder of that name. NULL:
     * no such modules. */
    ctsc_status (*read_module)(void *ctx, diag *d, const char *dotted, bool beside, source **out,
                               bool *is_folder);
    /* package of the program's file ("timm.models"), for its relative imports; NULL: none */
    const char *package;
    /* operators run in it: its runtime has the random generator and the sinks for print and warn */
    op_ctx *ops;
    void (*seed)(void *ctx, uint64_t seed); /* torch.manual_seed */
    uint64_t max_steps;                     /* statements and calls; 0: PY_MAX_STEPS */
    /* of the tensors, strings and lists made; 0: three quarters of the machine's memory */
    uint64_t max_bytes;
    /* print() at module level; NULL discards */
    void (*print)(void *ctx, const char *text, size_t len);
    /* torch.jit.load: *root, the module's object, is a reference. NULL: archives cannot be read,
     * and then nothing below is called. */
    ctsc_status (*load_archive)(void *ctx, diag *d, const char *path, value *root);
    /* torch.load: what a file of torch.save or safetensors holds. Set together
     * with load_archive. */
    ctsc_status (*load_file)(void *ctx, diag *d, const char *path, value *out);
    /* open(): a file of text (*out NULL: there is none), and what is at a path: 0 nothing, 1 a
     * file, 2 a folder. Set together with load_archive. */
    ctsc_status (*read_file)(void *ctx, diag *d, const char *path, source **out);
    int (*file_kind)(void *ctx, const char *path);
    /* Runs a method of such an object, which is the first argument, with its class's hooks. */
    ctsc_status (*call_method)(void *ctx, diag *d, function *f, size_t nargs, const value *args,
                               value *result);
    /* torch.jit.freeze: *frozen is an object like load_archive's; o stays as it is. */
    ctsc_status (*freeze)(void *ctx, diag *d, object *o, bool fold, value *frozen);
    /* Does a trace compute what the program did when it ran again? */
    ctsc_status (*check_trace)(void *ctx, diag *d, const struct py_trace_check *c);
    const py_training *training; /* NULL: there are no gradients */
    int rng;                     /* as ctsc_compile_options.rng */
    /* a dict: what the program's own module has before it runs; NULL: nothing */
    const value *globals;
    bool skip_init; /* torch.nn.init and random fills do nothing: the weights come from elsewhere */
} py_host;

/* An object with a counted value, which is its own; bytes: what held_bytes counts of it. */
typedef struct py_held { py_object *o; size_t bytes; } py_held;
typedef struct py_root { py_object *o; struct py_root *next, **at; } py_root;

struct py {
    arena *a; /* the unit's: function bodies compiled later still point into it */
    interner *names;
    diag *diag;
    py_host host;
    const struct py_library *library;
    strmap modules;         /* dotted name -> PY_MODULE; one that failed to run is NULL */
    py_object *sys_modules; /* PY_DICT, sys.modules: what programs see of them, and may replace */
    py_object *program;     /* the module of the program's own file */
    int catching;           /* try statements around that would catch an ImportError */
    VEC(py_held) held;      /* the objects with counted values */
    uint64_t made_bytes;    /* of all tensors so far */
    py_root *roots;         /* objects that others than objects refer to */
    /* where sources read are kept alive (the unit's list); NULL: in own_sources */
    VEC(source *) * sources;
    VEC(source *) own_sources;
    VEC(strmap *) maps; /* to be freed */
    py_object *none, *true_, *false_, *ellipsis, *not_implemented, *object_class;
    py_object *builtins; /* PY_MODULE "builtins" */
    int depth;           /* nesting of calls and expressions: PY_MAX_DEPTH */
    /* statements and calls so far, and equivalent work: PY_MAX_STEPS */
    uint64_t steps;
    size_t held_bytes; /* of the values in `held` */
    int no_grad;       /* inside torch.no_grad() */
    py_autocast autocast;
    bool records; /* what is called is recorded, for gradients */
    /* what graphs that may outlive the evaluator know of it
     * (torch/py_gradients.c); NULL: none do */
    struct py_alive *alive;
    strmap strings;     /* name -> its string object */
    py_object *raised;  /* the exception object of the failure in diag, if there is one */
    py_object *handled; /* the exception that an except clause is handling: for a bare raise */
    struct py_with_body *body; /* for the generator that is called next; NULL: none */
    const char *where;         /* qualified name of the function that runs, for error frames */
    py_env *env;   /* of the function, class body or module that runs: for super(), locals() */
    py_env *frame; /* of the latest that began and runs; its callers lead to all that run */
    /* what torch.jit.trace was given -> (its inputs, those by name or None, is it to be
     * checked?), for the entry */
    ptrmap traced;
    /* storages of tensors that host.skip_init has left without their random numbers */
    ptrmap unfilled;
    struct py_recorder *recorder; /* what is computed is recorded; NULL: it is not */
};
/* What is computed while it is in place becomes nodes of a trace (torch/py_trace.h). */
typedef struct py_recorder {
    struct trace *t;
    bool quiet;    /* no warnings */
    int paused;    /* nothing is recorded while > 0 */
    strmap warned; /* texts with their places */
    void *ctx;
    /* Calls a scripted function, or the method `name` of a scripted instance (fn NULL), as a
     * call of the graph. */
    py_object *(*script)(void *ctx, source_range r, py_object *fn, py_object *instance,
                         const char *name, int nargs, py_object **args, int nkw,
                         const char *const *names, py_object **kwargs);
    bool (*write)(void *ctx, const tensor *t); /* before an operator writes to t */
} py_recorder;

/* Is something recorded now? */
static inline bool py_tracing(const py *p) { return p->recorder && !p->recorder->paused; }

/* PY_MAX_ITEMS: of one list, range or string made by the evaluator. PY_MAX_BYTES: of the arena.
 * PY_STEP_ITEMS objects or PY_STEP_BYTES of data can be looked at in the time of a step. */
enum {
    PY_MAX_DEPTH = 2000,
    PY_MAX_STEPS = 50000000,
    PY_MAX_ITEMS = 10000000,
    PY_STEP_ITEMS = 8,
    PY_STEP_BYTES = 4096
};
static const size_t PY_MAX_BYTES = (size_t)2 << 30; /* matplotlib takes a third */

/* ---- the evaluator --------------------------------------------------------------------------- */

/* library: py_torch_library (torch/py_torch.h). */
bool py_init(py *p, arena *a, interner *names, diag *d, const py_host *host,
             const struct py_library *library);
void py_free(py *p);
/* Runs a file as module `name` ("net"). */
py_object *py_run_module(py *p, const char *name, source *src);
/* "torch.nn.functional". One that is not found raises inside try/except ImportError, and is
 * a stub elsewhere. */
py_object *py_import(py *p, source_range r, const char *dotted);
/* Is it a stub, or of one? */
static inline bool py_is_missing(const py_object *o);
/* The failure of a program that uses such a stub at r; returns NULL. */
py_object *py_fail_missing(py *p, source_range r, const py_object *stub);
py_object *py_eval(py *p, py_env *env, const expr *x);
bool py_exec(py *p, py_env *env, const stmt_list *body);
py_object *py_call(py *p, source_range r, py_object *callee, int nargs, py_object **args, int nkw,
                   const char *const *names, py_object **kwargs);
/* locals, closures, globals, builtins; NULL: unknown, no error */
py_object *py_lookup(py *p, const py_env *env, const char *name);
/* o.name with Python's rules; py_find returns NULL without an error where there is none. */
py_object *py_getattr(py *p, source_range r, py_object *o, const char *name);
py_object *py_find(py *p, source_range r, py_object *o, const char *name);
bool py_setattr(py *p, source_range r, py_object *o, const char *name, py_object *v);
/* In the class and its bases, without binding; NULL: none. */
py_object *py_class_find(const py_object *cls, const char *name);
bool py_is_subclass(const py_object *cls, const py_object *base);
bool py_isinstance(py *p, const py_object *o, const py_object *cls);
const py_object *py_class_of(py *p, const py_object *o); /* the class of any object */
py_object *py_fail(py *p, source_range r, const char *exception, const char *fmt, ...)
    __attribute__((format(printf, 4, 5))); /* exception: "TypeError"; returns NULL */
/* The class of the failure that has just been reported, "builtins.TypeError". Without memory for it
 * there is no exception but the lack of memory. */
void py_name_exception(py *p, const char *name);
/* The name of the i-th positional field in patterns of class cls; NULL: the object
 * itself, as in int(x). */
bool py_match_field(py *p, source_range r, const py_object *cls, int64_t i, const char **name);
bool py_truth(py *p, source_range r, py_object *o, bool *out);
/* Counts work that takes as long as this many statements; false when a limit is reached. */
bool py_work(py *p, source_range r, uint64_t steps);
uint64_t py_max_steps(const py *p);
/* Items of anything iterable, made now. */
bool py_iterate(py *p, source_range r, py_object *o, py_object ***items, int *n);
const char *py_type_name(const py_object *o); /* "int", "Tensor", "Net": for messages */
bool py_str(py *p, source_range r, py_object *o, bool repr, strbuf *out);
/* What tuple.__repr__ says, whatever the class of o has for it. */
bool py_tuple_repr(py *p, source_range r, py_object *o, strbuf *out);
bool py_equal(py *p, const py_object *a, const py_object *b);
/* a == b with user-defined __eq__. */
bool py_equal_objects(py *p, source_range r, py_object *a, py_object *b, bool *out);
/* comparisons too */
py_object *py_binary(py *p, source_range r, operator_kind op, py_object *a, py_object *b);
py_object *py_unary(py *p, source_range r, operator_kind op, py_object *a);
/* o[index]; several indices are a PY_TUPLE, slices PY_SLICE. */
py_object *py_subscript(py *p, source_range r, py_object *o, py_object *index);
bool py_set_subscript(py *p, source_range r, py_object *o, py_object *index, py_object *v);
bool py_length(py *p, source_range r, py_object *o, int64_t *out);
/* The underlying value of an object of a class derived from str, int or float,
 * or of a member of an enum that is also an int or a str; else the object. */
#define PY_PLAIN "<plain>" /* the attribute that holds it, except for enums */
const py_object *py_plain(const py_object *o);
/* The dict or list that an object of a class derived from one holds, the value of a member of an
 * enum; other objects are what they are. */
py_object *py_derived_plain(py *p, source_range r, py_object *o);
/* The arguments of a builtin by parameter name. spec: names separated by spaces, optional ones end
 * in "?" ("input dim? keepdim?"); out[i] is NULL for an optional one not given. */
bool py_bind(py *p, source_range r, const char *function, const char *spec, int nargs,
             py_object **args, int nkw, const char *const *names, py_object **kwargs,
             py_object **out);
/* The int, float or text in an object; false with a TypeError. */
bool py_as_int(py *p, source_range r, const py_object *o, int64_t *out);
bool py_as_float(py *p, source_range r, const py_object *o, double *out);
const char *py_as_text(const py_object *o); /* NULL: no string */

/* ---- objects --------------------------------------------------------------------------------- */

py_object *py_new(py *p, py_kind k);
py_object *py_value_take(py *p, value v); /* takes v's reference */
py_object *py_int(py *p, int64_t i);
py_object *py_float(py *p, double f);
py_object *py_bool(py *p, bool b);
py_object *py_string(py *p, const char *s, size_t n);
py_object *py_text(py *p, const char *s); /* the shared string object of a name */
py_object *py_builtin(py *p, const char *name, py_builtin_fn fn);
py_object *py_method(py *p, py_object *self, py_object *fn);
/* A class made by C with the given bases (none: object); in module's globals too,
 * if there is one. */
py_object *py_class_new(py *p, py_object *module, const char *name, int nbases, py_object **bases,
                        py_class_kind k);
py_object *py_instance(py *p, py_object *cls); /* without __init__ */
/* A builtin of Python, made when first asked for; NULL: there is none of that name. */
py_object *py_builtin_named(py *p, const char *name);
py_object *py_unsupported(py *p, source_range r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool py_append(py *p, py_object *list, py_object *item);
py_object *py_list(py *p, int n, py_object **items);
py_object *py_tuple(py *p, int n, py_object **items);
py_dict *py_dict_new(py *p);
py_object *py_dict_get(const py_dict *d, const char *name);
bool py_dict_set(py *p, py_dict *d, const char *name, py_object *v);
py_object *py_dict_get_key(py *p, const py_dict *d, const py_object *key);
bool py_dict_set_key(py *p, py_dict *d, py_object *key, py_object *v);
bool py_dict_remove(py *p, py_dict *d, const py_object *key);
static inline bool py_is_missing(const py_object *o) {
    return o && o->kind == PY_MODULE && o->u.mod.missing;
}
static inline bool py_is_none(const py_object *o) {
    return o->kind == PY_VALUE && o->u.v.tag == V_NONE;
}
/* A torch.Size: a tuple of that class; the other tuples of a class are named ones. */
static inline bool py_is_size(const py_object *o) {
    return o->kind == PY_TUPLE && o->u.seq.seq_cls && o->u.seq.seq_cls->u.cls->kind == PYC_BUILTIN;
}
static inline bool py_is_tensor(const py_object *o) {
    return o->kind == PY_VALUE && o->u.v.tag == V_TENSOR;
}

/* ---- torch ----------------------------------------------------------------------------------- */

/* An object as a runtime value of type t (NULL: inferred), a new reference; false with the
 * reason in the diag. */
bool py_to_value(py *p, source_range r, const py_object *o, type *t, value *out);
py_object *py_from_value(py *p, value v_take);
/* PY_TYPE names are "List", "Dict", "Tuple", "Optional", "Union", "Any", "Callable", "Final",
 * "ClassVar", "Type", "Future", "RRef", "Await", "Iterable", "Iterator", "Sequence", "Mapping",
 * "Set", "Generic", "TypeVar", "Literal", "NoReturn", "NamedTuple": without the module. Union's
 * args are flat, None in args is p->none, of Tuple[()] there are 0 args, ... is p->ellipsis. */
/* for what is not there (py_import.c) */
py_object *py_stub(py *p, source_range r, const char *dotted);
/* The object of an archive's module (torch.jit.load), borrowed; NULL: o is no such
 * module (py_script.c). */
object *py_archive_object(const py_object *o);
/* An attribute of an nn.Module's instance, in whichever registry it is; NULL: none. */
py_object *py_module_data(const py_object *instance, const char *name);

/* The file of module "torch.nn.modules.linear"; NULL: none (prelude.c). */
struct embedded *prelude_find(const char *dotted, bool *is_package);

/* ---- py_suggest.c: tries the names that o has */
void py_suggest_members(suggestion *s, const py_object *o);
/* Where a bare name is one that everybody imports, or one of a module that the file imports: a note
 * ("did you mean 'F.gelu'?"), and true. */
bool py_suggest_qualified(diag *d, const py_env *env, const char *name);

#endif
