/* SPDX-License-Identifier: Apache-2.0 */
/* alias_internal.h - the database that alias_build.c makes and alias.c answers from. */
#ifndef CTSC_IR_GRAPH_ALIAS_INTERNAL_H
#define CTSC_IR_GRAPH_ALIAS_INTERNAL_H

#include "ir/graph/alias.h"

/* Families of types: a location keeps what it holds separately for each family. A type that may be
 * several families (Any, unions) is MIXED and makes a location hold one thing for all of them. */
typedef enum alias_family {
    ALIAS_TENSOR,
    ALIAS_LIST,
    ALIAS_DICT,
    ALIAS_OBJECT,
    ALIAS_TUPLE,
    ALIAS_OTHER,
    ALIAS_COUNT,
    ALIAS_MIXED = ALIAS_COUNT,
    ALIAS_NONE, /* immutable: no location */
} alias_family;

typedef struct alias_location {
    int parent;            /* union-find; itself: a root */
    int held[ALIAS_COUNT]; /* locations held, -1: none so far */
    bool mixed;            /* all of held are one */
    bool escapes;
} alias_location;

typedef struct alias_write {
    int order; /* of the node */
    int location;
    bool reshapes;
    const node *by;
} alias_write;

/* Nodes are numbered from 1 in the order of the text, a node before what its blocks hold. end: the
 * last number inside n */
typedef struct alias_place { const node *n; int end; } alias_place;

typedef struct alias_pair { int a, b; } alias_pair;

struct alias_db {
    graph *g;
    VEC(alias_location) locations;
    VEC(alias_pair) pending; /* still to be joined */
    ptrmap values;           /* ir_value -> location + 1 */
    ptrmap orders;           /* node -> order */
    VEC(alias_place) places; /* by order */
    VEC(alias_write) writes; /* sorted by order; in alias.c by location, then order */
    int world[ALIAS_COUNT];
    int *first_write; /* per location: where its writes begin; one more at the end */
    bool failed;
};

enum { ALIAS_WORLD = -1 }; /* as the location of a write: everything outside */

alias_family alias_family_of(const type *t);
int alias_find(const alias_db *db, int location);
/* Makes db->locations, values, orders, places and writes. */
void alias_build(alias_db *db);

#endif
