/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_group.h - process groups, and calls that run on them.
 *
 * Threads. A group runs one collective at a time: in the thread that calls, if nothing else runs or
 * waits, else in a thread of the group's, which exists from the first call that is only started.
 * Sends and receives do not queue. Ownership. A world is kept by its groups, a group by its works.
 */
#ifndef CTSC_DISTRIBUTED_PROCESS_GROUP_H
#define CTSC_DISTRIBUTED_PROCESS_GROUP_H

#include "distributed/dist.h"
#include "distributed/engine.h"

#include <pthread.h>
#include <stdatomic.h>

/* All processes, and what connects them. */
typedef struct dist_world {
    const engine_interface *engine;
    engine *link;
    ctsc_dist_store *store; /* NULL: none, messages explain less */
    int rank, size;
    int64_t number; /* how many worlds the store has connected before */
    atomic_int refs;
} dist_world;

enum { GROUP_NAME = 128, GROUP_WHAT = 256, GROUP_LOOK_MS = 1500 };

typedef struct near_segment near_segment; /* near.h */

struct ctsc_dist_group {
    dist_world *world;
    int rank, size;
    int *ranks;  /* of the world */
    uint64_t id; /* a hash of name and ranks */
    char name[GROUP_NAME];
    _Atomic int64_t timeout_ms;
    atomic_int refs;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    ctsc_dist_work *first, *last; /* that wait to run */
    bool running, stopping, has_thread;
    pthread_t thread;
    uint64_t calls;

    near_segment *near; /* of the collective that runs; NULL: there is none */
    bool met;           /* near_meet was here */

    char *scratch; /* of the collective that runs, kept for the next one */
    size_t scratch_bytes;
};

/* A call while it runs. */
typedef struct task {
    ctsc_dist_group *g;
    const ctsc_dist_call *call;
    int64_t deadline, timeout_ms;
    uint64_t slot;
    uint64_t number; /* of the collectives of its group */
    /* Of each tensor contiguous memory: its own, or a copy. */
    char **in, **out;
    size_t *in_bytes, *out_bytes;
    bool failed;
    ctsc_status status;
    char why[1024];
} task;

/* Says that the task failed; the first reason counts. */
void task_fail(task *t, ctsc_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A peer did not send in time. */
void task_fail_late(task *t, int peer);
/* What a call is: enough to say it, and to tell it from others. */
enum { CALL_DIMS = 6 };
typedef struct call_summary {
    uint64_t slot, number;
    int32_t op, dtype, ndim; /* dtype -1: there is no tensor that all ranks agree on */
    int64_t sizes[CALL_DIMS];
} call_summary;
call_summary call_summary_of(const task *t);
/* The call of a rank, for people. */
void call_describe(const ctsc_dist_group *g, const call_summary *c, int rank,
                   char text[GROUP_WHAT]);
/* The same of a task. */
void task_describe(const task *t, char text[GROUP_WHAT]);
/* Memory of the group, which runs one collective at a time. NULL: the task has failed. */
char *task_scratch(task *t, size_t bytes);

/* ---- messages of a task (message.c) ---------------------------------------------------------- */

typedef struct flight { engine_request *request; int peer; bool sends; } flight;
typedef struct flights { flight *list; size_t n, room; } flights;

/* Begins to send to a rank of the group, or to receive; phase tells the messages of a task apart.
 * Nothing happens where there are no bytes, or once the task has failed. */
void flights_send(flights *f, task *t, const void *data, size_t bytes, int peer, unsigned phase);
void flights_receive(flights *f, task *t, void *data, size_t bytes, int peer, unsigned phase);
/* Waits for all; the task has failed if one does. */
void flights_wait(flights *f, task *t);
void flights_free(flights *f); /* ends those that still run */

/* ---- collectives (collective.c) -------------------------------------------------------------- */

void collective_run(task *t);

/* ---- names (published.c) --------------------------------------------------------------------- */

/* It is found by no name from now on. */
void group_forget(const ctsc_dist_group *g);

/* ---- calls (process_group.c), checked -------------------------------------------------------- */

ctsc_status dist_start(ctsc_dist_group *g, const ctsc_dist_call *c, ctsc_dist_work **out,
                       ctsc_dist_error *e);
ctsc_status dist_finish(ctsc_dist_group *g, const ctsc_dist_call *c, ctsc_dist_error *e);

#endif
