/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background.h - one thread of the process for what no call should wait for: compiling kernels.
 *
 * Jobs are done one after the other, in the order they were added; one that somebody waits for
 * can go first. The thread is started when there is a job and ends when there is none, so that
 * an idle process has none of it. Where it cannot be started, background_add says so and the
 * caller does the job.
 *
 * Ownership: a job is in its owner's memory; the owner takes it back, or else waits for
 * it, before it frees that memory. A job holds everything it needs: its requesters may be
 * gone when it runs. The end: when the process exits, jobs that have not begun are
 * dropped, and the running one is waited for: before anything else if it is the main
 * thread that ends the process. dlclose keeps the library that contains this loaded. fork:
 * waits for the running job. The child has the waiting ones, and starts its own thread.
 * Tests: tests/unit/test_background.c
 */
#ifndef CTSC_BASE_BACKGROUND_H
#define CTSC_BASE_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>

typedef struct background_job {
    void (*run)(struct background_job *j);
    /* the rest is background.c's */
    struct background_job *next;
    bool waiting;
} background_job;

/* j, which is not waiting, is to run once. False, and nothing has happened: there is no thread. */
bool background_add(background_job *j);
/* j comes next, if it waits. */
void background_hurry(background_job *j);
/* True: j waited, and nobody will run it. */
bool background_take_back(background_job *j);
/* Until j neither waits nor runs (NULL: no job does). False: it was not so by `until`, on
 * clock_now's scale; UINT64_MAX: no bound. */
bool background_wait(const background_job *j, uint64_t until);
/* For tests: called on the thread before each job; NULL: nothing is. Only while no
 * job waits or runs. */
void background_set_hook(void (*before)(void *ctx), void *ctx);

#endif
