/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - records what a program computes, call by call, and makes a module of it.
 *
 *     C:  h = ctsc_relu(s, ctsc_linear(s, x, w, b))       graph(%self : __torch__.Traced, %x : Tensor):
 *         (w declared as "fc.weight", b as "fc.bias")        %fc : __torch__.Traced_fc = prim::GetAttr[name="fc"](%self)
 *                                                            ...
 *                                                            %3 : Tensor = aten::linear(%x, %weight, %bias)
 *                                                            %4 : Tensor = aten::relu(%3)
 *                                                            return (%4)
 *
 * Method. A trace maps every handle that a recorded call gave to the graph's
 * value (a handle is only an address to it), and every tensor, which it keeps
 * alive: tensors read out of containers, or in other handles, are recognised
 * by identity. A call comes as a graph of its own (call_graph.h), which is
 * appended to the trace's. Arguments that were not recorded become constants.
 *
 * Names: a declared tensor becomes an attribute when it is first used; "layer1.0.weight" is in
 * modules layer1 and 0, which have classes of their own. A trace can also be made in an
 * existing module (trace_new_in): its tensors are recognised by identity, its class gets the
 * method, and nothing is declared. In-place calls are recorded as such, on the values they were
 * made on: values that share memory in the program share it in the graph. A constant that the
 * graph writes to is copied first, so that each run starts from the program's initial values.
 *
 * Ownership: a trace owns its graph and unit until trace_finish hands them over. Handles
 * are not touched.
 * Tests: tests/unit/test_trace.c
 */
#ifndef CTSC_FRONTEND_TRACE_TRACE_H
#define CTSC_FRONTEND_TRACE_TRACE_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

typedef struct trace trace;

typedef enum trace_role { TRACE_PARAMETER, TRACE_BUFFER } trace_role;

/* One argument of a call, or a result. */
typedef struct trace_operand {
    const void *handle; /* NULL: none */
    value v;            /* borrowed */
} trace_operand;

/* A recorded call, in order. */
typedef struct trace_call {
    const char *op;  /* "aten::add" */
    ir_value *value; /* its result */
    value result;    /* a copy, where the trace keeps them (trace_keep_results); else None */
} trace_call;

typedef struct trace_sink {
    void (*warn)(void *ctx, const char *text); /* may be NULL */
    void *ctx;
} trace_sink;

/* u: where classes and the function go; a reference is taken. class_name: "Net" for __torch__.Net.
 * NULL: d says why. */
trace *trace_new(unit *u, diag *d, const char *class_name, trace_sink sink);
/* In a module that is there already: `root`, an object of a module class of u without
 * a method forward. */
trace *trace_new_in(unit *u, diag *d, object *root, trace_sink sink);
void trace_free(trace *t); /* t may be NULL */
/* trace_graph is to be there after trace_finish as well. */
void trace_keep_graph(trace *t);
/* From now on trace_call.result is filled in. */
void trace_keep_results(trace *t);

/* Declares an argument of forward. */
ctsc_status trace_input(trace *t, diag *d, const char *name, trace_operand x);
/* Declares v as attribute `name`, dotted. Of a value declared several times the last name before
 * its first use counts. */
ctsc_status trace_attribute(trace *t, diag *d, const char *name, trace_role role, trace_operand x);
/* Does the trace know where it comes from (other than as a constant)? */
bool trace_knows(const trace *t, trace_operand x);
/* Does what it is depend on the inputs, as far as the trace knows? Attributes do not. */
bool trace_follows(const trace *t, trace_operand x);
/* A container of operands that the program made: list or tuple, as v says. */
ctsc_status trace_container(trace *t, diag *d, trace_operand container, size_t n,
                            const trace_operand *items);
/* Item i of a list or tuple. */
ctsc_status trace_item(trace *t, diag *d, trace_operand container, size_t i, trace_operand item);
/* A call, in two steps. g: its graph (call_graph.h); it is copied. First, before the call changes
 * anything, the values of its arguments; in: room for
 * n. Then, when the call has been made, its record. */
ctsc_status trace_arguments(trace *t, diag *d, const char *op, const graph *g, size_t n,
                            const trace_operand *args, ir_value **in);
ctsc_status trace_record(trace *t, diag *d, const char *op, const graph *g, ir_value *const *in,
                         trace_operand result);
/* The parts of such a call for those who know the overload and make nodes themselves: where nodes
 * are put (at the end), an argument's value (want: the type asked for, or NULL), that of an object
 * in trace_new_in's root, and the record of a node that has been put there. */
graph *trace_target(trace *t);
ir_value *trace_value(trace *t, diag *d, trace_operand x, type *want, const char *op);
ir_value *trace_object(trace *t, diag *d, const object *o);
ctsc_status trace_record_node(trace *t, diag *d, const char *op, const node *n,
                              const trace_operand *results);
/* A submodule for object o of a module class of the trace's unit. key: its identity;
 * the same key gives the same submodule. *self: its value in the graph. */
ctsc_status trace_submodule(trace *t, diag *d, const void *key, const char *name, object *o,
                            ir_value **self);
object *trace_find_submodule(const trace *t, const void *key, ir_value **self); /* NULL: none yet */
/* Gives the graph's value a handle's name; for calls whose self is an object. */
void trace_bind_handle(trace *t, const void *handle, ir_value *v);

/* Ends the recording with what forward returns. */
ctsc_status trace_return(trace *t, diag *d, trace_operand result);
/* as recorded, nothing tidied; NULL once trace_finish took it */
const graph *trace_graph(const trace *t);
size_t trace_call_count(const trace *t);
const trace_call *trace_call_at(const trace *t, size_t i);
/* The module's object: of a class with a method forward. After trace_return, once.
 * *out: a reference. */
ctsc_status trace_finish(trace *t, diag *d, value *out);

#endif
