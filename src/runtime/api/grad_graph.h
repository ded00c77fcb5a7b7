/* SPDX-License-Identifier: Apache-2.0 */
/* grad_graph.h - the graph of a call that gradients are taken of, as calls like it are run. */
#ifndef CTSC_RUNTIME_API_GRAD_GRAPH_H
#define CTSC_RUNTIME_API_GRAD_GRAPH_H

#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/context/runtime.h"

/* Calls f (not changed: n arguments, all it has, of the right types) until calls like this one are
 * a program, and gives that. Of a call whose results are differentiated by the caller *out has a
 * prim::DifferentiableGraph, and *backward is the program of its gradients; else *backward stays
 * NULL. *out stays NULL where such calls are no program (grad_program.h). rt: as of a new call,
 * taped if the caller wants gradients. */
ctsc_status grad_graph_for(function *f, runtime *rt, int n, const value *args, diag *d, graph **out,
                           graph **backward);

#endif
