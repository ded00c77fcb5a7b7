/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_internal.h - what trace.c (values) and trace_module.c (attributes, classes, the
 * finished module) share.
 */
#ifndef CTSC_FRONTEND_TRACE_TRACE_INTERNAL_H
#define CTSC_FRONTEND_TRACE_TRACE_INTERNAL_H

#include "frontend/trace/trace.h"

/* A module of the result: the root, or one on the path of a dotted
 * name. Its slots are parallel to its class's attributes. */
typedef struct trace_module {
    const char *path; /* "layer1.0"; "" of the root; NULL in a given root */
    type *cls;
    ir_value *ir;                    /* NULL: not read so far */
    struct trace_module *outer;      /* in a given root: which module contains it, ... */
    const char *name;                /* ... and as what */
    VEC(value) slots;                /* references; V_UNINIT where a submodule goes */
    VEC(struct trace_module *) subs; /* parallel to slots; NULL: a value */
} trace_module;

/* A declared value. */
typedef struct trace_declared {
    const char *name; /* the last one given before the first use */
    trace_role role;
    value v;          /* a reference */
    ir_value *ir;     /* NULL: not used so far */
    trace_module *in; /* of a given root: the module that has it; else NULL */
} trace_declared;

typedef struct trace_script { const void *key; object *o; ir_value *ir; } trace_script;

struct trace {
    arena arena;
    unit *unit;
    graph *g;
    trace_sink sink;
    trace_module root;
    VEC(trace_module *) modules; /* all but the root; in the arena */
    ir_value *self;
    node *anchor;     /* attributes are read before it, everything else comes after it */
    object *given;    /* the root's object, a reference; NULL: the trace makes it */
    ptrmap objects;   /* object in it -> trace_module */
    ptrmap handles;   /* handle -> ir_value */
    ptrmap tensors;   /* tensor -> ir_value */
    ptrmap constants; /* tensor -> ir_value: those that became constants */
    VEC(value) held;
    VEC(const char *) inputs;
    VEC(trace_call) calls;
    VEC(trace_declared *) declared;
    VEC(trace_script) scripts;
    ptrmap attribute_handles; /* handle -> trace_declared */
    ptrmap attribute_tensors; /* tensor -> trace_declared */
    strmap attribute_names;   /* name -> trace_declared, of those that are in use */
    bool keep_graph, keep_results;
};

/* trace.c */
void trace_warn(const trace *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
ctsc_status trace_status(const trace *t, diag *d);
/* Can n bytes be a name in Python? number: it may begin with a digit, as attributes may. */
bool trace_name_fits(const char *name, size_t n, bool number);
/* trace_module.c */
bool trace_begin_modules(trace *t, diag *d, const char *class_name);
bool trace_begin_given(trace *t, diag *d, object *root);
void trace_free_modules(trace *t);
/* The value of a declared operand, read from the module where it first is; NULL with d
 * clear: it is none. */
ir_value *trace_attribute_of(trace *t, diag *d, trace_operand x);

#endif
