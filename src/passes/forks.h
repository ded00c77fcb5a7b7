/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks.h - which forked bodies may run in parallel
 * with their graph, and what has to wait for them.
 *
 * A fork has the meaning of running its body at once. The body may
 * run on another thread where the difference is not observable:
 *
 *  1. it has no effects: it writes nothing that was there before, prints nothing, draws
 *     no random numbers;
 *  2. nothing that it can reach is written while it runs, and nothing is printed that would come
 *     after its failure;
 *  3. only the forking frame knows its future, so that nothing else can wait for it.
 *
 * fork_runs_apart tests the first; fork_ends_before finds the nodes at which
 * the others would be violated: the frame's forks must have ended there.
 * Tests: tests/unit/test_forks.c
 */
#ifndef CTSC_PASSES_FORKS_H
#define CTSC_PASSES_FORKS_H

#include "ir/graph/alias.h"

/* n: a fork. All that the body calls is compiled for it. */
bool fork_runs_apart(const node *n);
/* db: of n's graph. runs_apart: of a fork. Nodes with blocks
 * are no such places, but nodes in their blocks may be. */
bool fork_ends_before(const alias_db *db, const node *n, bool runs_apart);

#endif
