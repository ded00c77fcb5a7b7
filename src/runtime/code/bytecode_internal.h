/* SPDX-License-Identifier: Apache-2.0 */
/* bytecode_internal.h - shared by bytecode.c (translation) and bytecode_live.c (last uses). */
#ifndef CTSC_RUNTIME_CODE_BYTECODE_INTERNAL_H
#define CTSC_RUNTIME_CODE_BYTECODE_INTERNAL_H

#include "passes/forks.h"
#include "runtime/code/bytecode.h"

typedef VEC(ir_value *) value_list;

/* What ends in a block. */
typedef struct block_life {
    bool *last_use; /* per return: the value is used nowhere later */
    /* values of outside that this block never uses, though its sibling does: released first */
    value_list drops;
} block_life;

/* What ends at a node; its `scratch`. */
typedef struct node_life {
    bool *last_use;     /* per input: this is the value's last use */
    value_list drops;   /* released after the node: used last somewhere within it */
    value_list ends;    /* values whose register is free after the node */
    block_life *blocks; /* per nested block */
} node_life;

typedef struct translator {
    diag *d;
    code *c;
    arena scratch;
    ctsc_status status;
    source_range range;    /* of what is emitted */
    const call_site *call; /* likewise */
    VEC(int32_t) free_registers;
    block_life root;
    alias_db *forking; /* of the graph, if it has forks; else NULL */
    int depth;
    bool taped;      /* operators go through the tape (runtime/autograd) */
    ptrmap doubtful; /* values that may not be there, or not of their type: see tr_doubt */
} translator;

bool tr_no_memory(translator *tr); /* always false */
/* Fills in every node's node_life, and numbers the nodes of each block in `mark`. Clears the
 * scratch of all values. */
void tr_find_lives(translator *tr, graph *g);
block_life *tr_block_life(translator *tr, const block *b);

#endif
