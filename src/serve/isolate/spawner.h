/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawner.h - the process that makes processes for models (`ctsc serve --isolate process`).
 *
 * It is forked before the server opens its sockets, loads a model or enters the sandbox, and does
 * nothing but fork: so a model's process begins without the server's connections, threads and
 * memory, and the server needs no right to make processes, or to end them, once it has begun.
 * When the server ends, in whatever way, the spawner and all it made end too.
 *
 * Threads: requests to it are one at a time, under its lock.
 */
#ifndef CTSC_SERVE_ISOLATE_SPAWNER_H
#define CTSC_SERVE_ISOLATE_SPAWNER_H

#include "ctsc.h"

#include <pthread.h>
#include <sys/types.h>

/* What models' processes are started with. */
typedef struct spawner_options {
    int threads; /* of a call */
    bool flush_denormals, sandbox;
} spawner_options;

typedef struct spawner {
    int socket;
    pid_t process;
    pthread_mutex_t lock;
} spawner;

/* What the server has of a model's process. */
typedef struct spawned {
    pid_t process;
    int socket; /* to it */
    int memory; /* shared with it (wire.h) */
} spawned;

/* Forks it. False: *why, in one line. */
bool spawner_start(spawner *s, const spawner_options *o, char *why, size_t size);
void spawner_stop(spawner *s);
/* Memory of that many bytes, which can be shared; -1: none. */
int spawner_memory(spawner *s, size_t size);
/* A process that runs worker_main (worker.h) with the archive's memory. archive: stays the
 * caller's. */
bool spawner_make(spawner *s, int archive, spawned *out);
/* Ends it if it has not ended. How it did, as waitpid says it; -1: that is not known. */
int spawner_end(spawner *s, pid_t process);

#endif
