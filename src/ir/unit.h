/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.h - a compilation unit: the classes and functions of one program, and what keeps them alive.
 *
 * Functions are compiled when first needed: `compile` turns the definition into a graph,
 * under the unit's lock; the executor adds bytecode later.
 *
 * Ownership: counted. The module handle holds one reference, and so does every object, and every
 * container of class types (value_type_ref). Everything inside lives in the unit's arena.
 */
#ifndef CTSC_IR_UNIT_H
#define CTSC_IR_UNIT_H

#include "base/map.h"
#include "cpu/narrow.h"
#include "ir/schema.h"

#include <pthread.h>

typedef enum function_state {
    FUNCTION_DECLARED,
    FUNCTION_COMPILING,
    FUNCTION_READY,
    FUNCTION_FAILED
} function_state;

/* Codes of a function: as written, optimised, fused; and the same for programs that
 * record gradients. */
enum {
    FUNCTION_LEVELS = 3,
    FUNCTION_TAPED = FUNCTION_LEVELS,
    FUNCTION_CODES = 2 * FUNCTION_LEVELS
};
enum { FUNCTION_TAKES_UNKNOWN, FUNCTION_TAKES_NONE, FUNCTION_TAKES_GRADIENTS };

/* An argument or a part of the result, as a program that is a graph alone (torch.export, ONNX) says
 * it is. */
typedef struct port {
    const char *name; /* in that program; "": it has none */
    type *type;
    int dt;               /* of a tensor; -1: not known */
    int ndim;             /* -1: not known */
    const int64_t *sizes; /* -1: any */
} port;

/* A value of a graph, and its type as the program has it: "float32[batch,3,*]". */
typedef struct declared_value { const char *name, *type; } declared_value;

typedef struct function {
    const char *name;      /* "forward" */
    const char *qualified; /* "__torch__.Main.forward" */
    struct unit *unit;
    type *cls;      /* class of a method; NULL: free function */
    bool is_static; /* @staticmethod */
    /* arguments and return type; the return type is inferred when not declared, and then known
     * only once compiled */
    schema *schema;
    bool return_declared;
    /* One per argument after self, and one per value in the
     * flattened result; NULL: the program does not say */
    const port *inputs, *outputs;
    int noutputs;
    /* What the program says of values of its graph; ends with a name that is NULL. NULL: nothing */
    const declared_value *declared;
    function_state state;
    struct graph *graph;               /* NULL until compiled */
    const void *def;                   /* AST of the definition (frontend) */
    const void *scope;                 /* name resolution for the body (frontend) */
    struct code *code[FUNCTION_CODES]; /* bytecode (runtime); NULL until first run so */
    /* FUNCTION_TAKES_..., once somebody asked (runtime/autograd) */
    uint8_t takes_gradients;
    source_range range;
    diag *error; /* why compilation failed, state == FUNCTION_FAILED */
} function;

/* With how much precision layers with constant weights compute (ctsc_module_set_precision,
 * passes/weights/reduce_precision.c). Zeros: as they are written. */
typedef struct reduction {
    const char *pass; /* the last one of level 2; static; NULL: none */
    /* of reduce-int4w: elements that share a scale (0: as it chooses), and whether they have a zero
     * point */
    int group;
    bool zeros;
    /* above 0, every layer is reduced as it is fastest, as long as its error is at most this share
     * of its products, */
    double error;
    const narrow_row *ways[NARROW_KINDS]; /* and these are to choose from; NULL: not this one */
} reduction;

typedef struct unit {
    atomic_int refs;
    arena arena;
    interner names;
    pthread_mutex_t lock; /* recursive: compiling one function compiles others */
    /* stack address of the outermost compilation in progress; 0: none is */
    uintptr_t stack_base;
    strmap classes;        /* qualified name -> type */
    strmap functions;      /* qualified name -> function */
    VEC(type *) all_types; /* classes, interfaces, enums: for releasing their constants */
    type_table types;      /* structural types that mention them */
    bool closed;           /* by unit_close: nothing more can be compiled */
    /* that the program was moved to: new tensors are made there (as storage.device) */
    int device;
    reduction reduce; /* the precision of its layers */
    int autocast;     /* as pass_ctx.autocast: all of it is within torch.autocast; 0: none */
    bool permanent;   /* lives as long as the process, and its types in any program */
    VEC(function *) all_functions;
    VEC(source *) sources; /* references */
    value constants;       /* CONSTANTS of an archive: a tuple, or None */
    VEC(value) held;       /* references of what tables in the arena mention */
    /* Resolves a qualified name not seen so far (an archive's code files). May be NULL. */
    ctsc_status (*import)(struct unit *u, diag *d, const char *qualified);
    /* Compiles f's definition into f->graph; called with the lock held. */
    ctsc_status (*compile)(function *f, diag *d);
    /* Tidies a freshly emitted graph (src/passes installs it at load); NULL: leave it as it is. */
    ctsc_status (*simplify)(struct graph *g, diag *d);
    void *import_ctx;
    void (*import_ctx_free)(void *ctx);
    void (*code_free)(struct code *c); /* runtime's */
} unit;

/* What units ask of the graphs of their functions; graph_new (ir/graph/graph.c) installs it. */
typedef struct unit_graphs {
    void (*free)(struct graph *g);
    bool (*failed)(const struct graph *g); /* there was no memory for all of it */
} unit_graphs;
extern const unit_graphs *unit_graphs_installed;

unit *unit_new(void);
/* Forgets what was made of the functions' graphs: they are compiled again. Nothing of the unit
 * may run meanwhile. */
void unit_drop_codes(unit *u);
/* Forgets all functions and all names, for a front end that begins anew. Nothing of the
 * unit may be in use. */
void unit_restart(unit *u);
unit *unit_ref(unit *u);
void unit_unref(unit *u);
/* Keeps a reference until the unit is closed, for arena data that mentions
 * v without a reference of its own. false: out of memory, and v is gone. */
bool unit_hold(unit *u, value v_take);
/* A class's next constant; an enum's next member, whose value
 * class_add_members makes once all members are known. false: out of memory. */
bool class_add_constant(type *cls, const char *name, value v_take, type *t);
bool class_add_members(type *cls);
/* Releases constants and everything that could refer back to the unit; called when the
 * program is closed. */
void unit_close(unit *u);
function *unit_add_function(unit *u, const char *qualified, type *cls);
/* Looks up, importing on demand: a class/enum/interface/named tuple type or a function; neither is
 * an error by itself (both out-parameters NULL). */
ctsc_status unit_resolve(unit *u, diag *d, const char *qualified, type **cls, function **fn);
/* Makes sure f->graph exists. Reports recursion as PyTorch does. */
ctsc_status function_ensure_compiled(function *f, diag *d);
/* f could not be declared: its users get this message. */
void function_refuse(function *f, const diag *why);
/* Do objects of cls say themselves what is saved of them: __getstate__(self) -> T and
 * __setstate__(self, T) -> None? */
bool class_has_own_state(const type *cls);

#endif
