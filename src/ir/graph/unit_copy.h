/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_copy.h - takes objects of one program into another, with their classes and functions.
 *
 *     program A:  class Net, object net      ->      program B:  class Net (or ___torch_mangle_0.Net), object net
 *
 * Classes, enums, interfaces, named tuples and functions belong to a unit and die with it, and
 * their names are unique only there. So an object that moves gets new ones: a copy of each that it
 * mentions, under its own name where that is free. Tensors and containers of plain values are
 * shared, objects and containers of objects are copied. Functions are compiled for it, since a copy
 * has a graph but no source.
 *
 * Ownership: copies belong to the target unit. The source may be freed afterwards.
 * Threads: the source is read as saving reads it: nobody may change its objects meanwhile. The
 * target is the caller's alone, or locked.
 * Tests: tests/unit/test_trace.c
 */
#ifndef CTSC_IR_GRAPH_UNIT_COPY_H
#define CTSC_IR_GRAPH_UNIT_COPY_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

typedef struct unit_copy unit_copy;

/* NULL if out of memory. It remembers what it copied: types stay one type. */
unit_copy *unit_copy_new(unit *to);
void unit_copy_free(unit_copy *c); /* c may be NULL */
/* *out: a reference to v as the target knows it. */
ctsc_status unit_copy_value(unit_copy *c, diag *d, value v, value *out);
/* The target's type for t; t itself if it belongs to no program. */
ctsc_status unit_copy_type(unit_copy *c, diag *d, type *t, type **out);

#endif
