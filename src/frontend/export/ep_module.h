/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_module.h - classes and objects for the state of a program that is made of a graph alone:
 * "layers.0.weight" is attribute weight of module 0 of module layers. Programs of torch.export and
 * those of ONNX (frontend/onnx) have their weights this way.
 */
#ifndef CTSC_FRONTEND_EXPORT_EP_MODULE_H
#define CTSC_FRONTEND_EXPORT_EP_MODULE_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

typedef enum ep_role { EP_PARAMETER, EP_BUFFER, EP_CONSTANT, EP_OBJECT } ep_role;

/* A module of the state. Slots are parallel to the attributes of its class. */
typedef struct ep_module {
    const char *path; /* "layers.0"; "" of the root */
    type *cls;
    struct ep_module *outer;
    const char *name; /* within it */
    ir_value *ir;     /* NULL: not read so far */
    VEC(value) slots; /* references; V_UNINIT where a submodule goes */
    VEC(struct ep_module *) subs;
    strmap index; /* attribute -> its slot + 1, as uintptr */
} ep_module;

/* A value of the state that a graph may read. */
typedef struct ep_state {
    ep_module *in;
    const char *name; /* attribute */
    ir_value *ir;     /* NULL: not read so far */
} ep_state;

/* All of them, and the graph of `forward`. The caller sets the first group before
 * ep_modules_begin. */
typedef struct ep_modules {
    unit *unit;
    arena *scratch;         /* of what ends with the import */
    const char *class_name; /* of the root, where `types` does not know */
    strmap types;           /* path -> "torch.nn.modules.linear.Linear" */
    diag *d;
    const char *record; /* for messages */
    graph *g;           /* owned, until it is a method's */
    ir_value *self;
    node *anchor; /* attributes are read before it */
    ep_module root;
    VEC(ep_module *) all; /* except for the root */
} ep_modules;

/* The class of the root, and the graph with its parameter `self`. */
bool ep_modules_begin(ep_modules *p);
/* The graph as a method of the root, which takes it: `names` are
 * those of the parameters after self. NULL: out of memory. */
function *ep_modules_forward(ep_modules *p, const char *const *names);
/* An attribute of that dotted name. Takes v. NULL, with a failure: the name cannot be one, or
 * there is one already. */
ep_state *ep_modules_add(ep_modules *p, const char *name, ep_role role, value v);
/* Its value in the graph. */
ir_value *ep_modules_read(ep_modules *p, ep_state *s);
/* A reference to the object of m and of what is in it; NULL: out of memory. */
object *ep_modules_object(ep_modules *p, ep_module *m);
void ep_modules_end(ep_modules *p);

#endif
