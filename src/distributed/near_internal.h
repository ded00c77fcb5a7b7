/* SPDX-License-Identifier: Apache-2.0 */
/* near_internal.h - segments and their rounds (near.c), for the collectives (near_collective.c). */
#ifndef CTSC_DISTRIBUTED_NEAR_INTERNAL_H
#define CTSC_DISTRIBUTED_NEAR_INTERNAL_H

#include "distributed/near.h"

/* What the ranks of a call tell one another. */
typedef struct near_call {
    call_summary what;
    uint64_t rounds; /* that this rank needs; 0: all know */
} near_call;

struct near_segment {
    int fd, size;
    size_t bytes, buffer; /* of all; of one buffer */
    struct near_head *head;
    unsigned round; /* that this rank is in */
    unsigned looks;
    bool first, writes; /* the first round of a call; this rank has written in it */
    near_call call;     /* this rank's */
};

/* A call: near_begin, then rounds: near_write gives this rank's buffer, near_written shows it,
 * near_read waits for a peer's, near_next ends the round. NULL: the task has failed. */
void near_begin(task *t);
char *near_write(task *t);
void near_written(task *t);
const char *near_read(task *t, int peer);
void near_next(task *t);
/* What a peer said of its call, in the first round, after near_read. */
const near_call *near_call_of(const task *t, int peer);
/* A peer has given another number of bytes than this rank takes. */
void near_fail_sizes(task *t, int peer, size_t given, size_t wanted);

#endif
