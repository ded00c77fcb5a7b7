/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - calls of a model in processes of its own (`ctsc serve --isolate process`).
 *
 * A process makes one call at a time, so each instance of a model has one. They share the archive,
 * and so weights that are used as they are, but not what is packed or compiled. A process that ends
 * by itself, because the model aborted it or the system ended it to get memory, fails the one call
 * that it was making; the next call starts another. So does one that does not stop when its time is
 * over: it is killed.
 *
 * The server opens the archive too, for names and graphs, but only after a process has loaded it
 * and lived. It calls no method.
 */
#ifndef CTSC_SERVE_ISOLATE_WORKER_H
#define CTSC_SERVE_ISOLATE_WORKER_H

#include "serve/isolate/call_outputs.h"
#include "serve/isolate/spawner.h"

typedef struct workers workers;

/* What a process does with the archive. */
typedef struct worker_setup {
    const char *method, *precision; /* precision NULL: as written */
    int opt;
    uint64_t max_bytes; /* of memory a process may have beside the archive; 0: no limit */
} worker_setup;

/* Starts a process of the model and has it load the archive. archive: its memory, taken over in any
 * case. setup: its texts stay. False: *why says why in one line. */
bool workers_new(spawner *s, int archive_take, const worker_setup *setup, workers **out, char *why,
                 size_t size);
/* Starts more, until there are n. No call is running. */
bool workers_fill(workers *w, int n, char *why, size_t size);
void workers_free(workers *w); /* no call is running; w may be NULL */

/* A call, and what became of it. */
typedef struct worker_task {
    size_t nargs;
    ctsc_value *const *args;
    const ctsc_run_options *ro; /* what the process stops the call by */
    const ctsc_cancel *cancel;  /* ends the process if that does not; NULL: nothing */
    bool kernels;               /* wait for them afterwards */
    outputs *results;
    bool died;        /* the process ended before the call did */
    bool again;       /* it ended before the call began */
    uint64_t took_ns; /* the call alone */
} worker_task;
/* By any thread, of at most as many at a time as there are processes. */
ctsc_status workers_call(workers *w, worker_task *t, ctsc_error *e);
/* The same in each of the processes, which are all free. */
ctsc_status workers_call_each(workers *w, worker_task *t, ctsc_error *e);

/* What a model's process does, from its birth on. */
_Noreturn void worker_main(int socket, int memory, int archive, const spawner_options *o);

#endif
