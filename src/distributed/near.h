/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near.h - collectives of a group whose ranks are all on one machine: through memory that they
 * share, not through the engine.
 *
 * Method. A group has a segment, in which each rank has two buffers. A collective is a sequence of
 * rounds. In each of them a rank writes into one of its buffers what others need, says so, reads
 * what it needs from the buffers of others (folding straight from them), and says that it has read.
 * The buffers alternate, so that a rank may write the next round while others still read this one.
 * What a rank writes in which round follows from the call, which is the same on all ranks; nothing
 * else is agreed upon. Compared with messages, every element is written once however many ranks
 * read it, and received elements are folded where they are.
 *
 * The segment is anonymous memory (memfd_create) of the group's first rank, which others open by
 * /proc; so nothing stays behind whatever happens. They find it through the store, or by messages
 * where there is none (MPI), and all use it or none does: each says whether it could open it. A
 * token in the segment tells the process that is meant from another one of that number, in
 * another container.
 *
 * Faults. Beside its elements a rank writes what its call is. A rank that finds another call there,
 * that waits for longer than its time-out, or for a process that has ended, fails, and leaves the
 * reason in the segment: the others, who wait for it, fail with it at once. Whether a process lives
 * is known by its lock of a byte of the segment, which ends with it.
 *
 * CTSC_DIST_NEAR=0 turns all of this off, for comparisons. Messages (send, recv) always take the
 * engine.
 * Tests: tests/unit/test_dist.c, tests/distributed
 */
#ifndef CTSC_DISTRIBUTED_NEAR_H
#define CTSC_DISTRIBUTED_NEAR_H

#include "distributed/process_group.h"

/* Meets the other ranks of t's group, once: afterwards the group has its segment, or is known to
 * have none. */
void near_meet(task *t);
void near_free(near_segment *s);

/* Runs a collective in the group's segment. */
void near_run(task *t);

#endif
