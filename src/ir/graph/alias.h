/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias.h - which values may share memory, which nodes write it, and what may therefore be merged,
 * moved or removed.
 *
 *     %y : Tensor = aten::view(%x, %shape)         %y and %x share storage
 *     %z : Tensor = aten::add_(%y, %one, %one)     writes what %x, %y and %z share
 *     %l : Tensor[] = prim::ListConstruct(%x)      %l holds %x
 *
 * Method. Every value of a mutable type belongs to a *location*: an abstract piece of memory.
 * Locations that may be the same are joined (union-find, after Steensgaard), and a location knows
 * the locations held in it, one per family of types (tensors, lists, dicts, objects, tuples,
 * others), so that an object with a tensor and a list does not mix them. One set of locations
 * represents the outside world: graph inputs, attributes of objects from outside, mutable
 * constants, arguments and results of calls. The effects of operators come from their schemas'
 * alias annotations: Tensor(a), Tensor(a!), (b|a), Tensor(a)[]; type variables tell how elements
 * travel (t[] self, t el). What schemas leave out (batch norm writes its running statistics while
 * training, dropout returns its argument when it does nothing) is in tables in alias_effects.c.
 * Unknown operators may do anything to what they can reach. Joining instead of keeping sets of
 * targets makes `c ? a : b` join a and b; in return construction costs about one step per use.
 *
 * Invariants. Answers err to one side only: "may" is never a wrong no. A database describes the
 * graph as it was when made; nodes that are removed or merged, and nodes without writes that are
 * moved to where alias_can_move_before allows, leave it valid. Values made later are taken to alias
 * everything. Queries change nothing, so a finished database may be read by several threads.
 *
 * Cost. alias_new: linear in nodes and uses (times the inverse Ackermann function). Questions about
 * writes: a binary search per location reached. alias_can_move_*: linear in the distance.
 *
 * Exceptions. Operators that fail on bad arguments end the run; which of two failing operators
 * fails first is not kept. What a program can see is kept: nothing that may fail crosses a print, a
 * raise, a call, or a write to memory that outlives the graph.
 * Tests: tests/unit/test_alias.c, tests/ir/{cse,licm,dce-writes,remove-mutation}
 */
#ifndef CTSC_IR_GRAPH_ALIAS_H
#define CTSC_IR_GRAPH_ALIAS_H

#include "ir/graph/graph.h"

typedef struct alias_db alias_db;

alias_db *alias_new(graph *g); /* NULL if out of memory */
void alias_free(alias_db *db);

/* ---- values ---------------------------------------------------------------------------------- */

/* Values of other types are copied or immutable, and belong to no location. */
bool alias_type_mutable(const type *t);
/* the same object or storage */
bool alias_may_share(const alias_db *db, const ir_value *a, const ir_value *b);
/* a holds b, directly or not, or shares with it */
bool alias_may_reach(const alias_db *db, const ir_value *a, const ir_value *b);
/* May outlive the graph or be known outside: an input, returned, stored outside, held by
 * something that is. */
bool alias_escapes(const alias_db *db, const ir_value *v);
/* Does the object itself, or something that shares its storage, flow into a return, a container, an
 * attribute or a call? Sharper than alias_escapes for new values that were joined with the world
 * only because they may be views of it. */
bool alias_flows_out(const alias_db *db, const ir_value *v);

/* Locations by number, for passes that keep sets of them: visits v's own and, if deep, all it
 * reaches. False: it may be any. */
int alias_location_count(const alias_db *db);
bool alias_visit_locations(const alias_db *db, const ir_value *v, bool deep,
                           void (*visit)(void *ctx, int location), void *ctx);

/* ---- writes ---------------------------------------------------------------------------------- */

bool alias_writes(const alias_db *db, const node *n); /* anything at all, nested blocks included */
/* v or what it holds */
bool alias_writes_value(const alias_db *db, const node *n, const ir_value *v);
bool alias_writes_outside(const alias_db *db, const node *n); /* memory that escapes */
/* memory seen outside even if the run fails: not only returned */
bool alias_writes_world(const alias_db *db, const node *n);
bool alias_ever_written(const alias_db *db, const ir_value *v);
/* a write that may change sizes, strides or length */
bool alias_ever_reshaped(const alias_db *db, const ir_value *v);
/* n's own count only in a later iteration of a loop */
bool alias_written_after(const alias_db *db, const ir_value *v, const node *n);
/* Between the end of a and the start of b, a dominating b. All iterations of loops that hold b
 * but not a count. */
bool alias_written_between(const alias_db *db, const ir_value *v, const node *a, const node *b);
/* Would b compute what its equal a computed? No input, as far as b reads it, is
 * written between them. */
bool alias_inputs_same(const alias_db *db, const node *a, const node *b);
/* No input of n, as far as n reads it, is written inside `around` (a loop). */
bool alias_inputs_kept(const alias_db *db, const node *n, const node *around);

/* ---- moving ---------------------------------------------------------------------------------- */

/* Whether n, which comes after `at` in the same block, can move before
 * it: dependencies, reads and writes, and effects all allow it. */
bool alias_can_move_before(const alias_db *db, const node *n, const node *at);
/* The same for n before `at` */
bool alias_can_move_after(const alias_db *db, const node *n, const node *at);
/* Neither of two nodes of a block, a first, needs what the other makes, or writes what
 * it reads or writes. Effects are not asked for. */
bool alias_independent(const alias_db *db, const node *a, const node *b);

/* ---- effects of single nodes (alias_effects.c) ----------------------------------------------- */

/* Seen from outside other than as a write: prints, warns, raises, draws random numbers, calls.
 * Nested blocks included. */
bool node_has_visible_effects(const node *n);
/* equal inputs may give other results; nested blocks not looked at */
bool node_is_random(const node *n);
bool node_may_raise(const node *n); /* nested blocks included */
/* Schema marks, and what schemas forget: batch norm writes its statistics unless `training` is
 * known to be False. */
bool node_writes_input(const node *n, int i);
/* May the write change more than a tensor's elements? */
bool node_write_reshapes(const node *n);

typedef enum node_read {
    READ_NONE,  /* passed on, not looked at */
    READ_SHAPE, /* sizes, strides, dtype */
    READ_SELF,  /* a container, not what its elements hold */
    READ_DEEP,
} node_read;
node_read node_reads_input(const node *n, int i);

typedef enum node_result {
    RESULT_NEW,  /* nobody else's, or perhaps a copy */
    RESULT_VIEW, /* a new tensor on an input's storage, always */
    RESULT_SAME, /* an object that existed before */
} node_result;
node_result node_makes(const node *n); /* of node kinds without writes */
/* No output may share memory with an input, whatever the arguments. */
bool node_makes_fresh(const node *n);
/* Output may be (a view of) a tensor argument although the schema does not say so. */
bool node_returns_unmarked(const node *n);

#endif
