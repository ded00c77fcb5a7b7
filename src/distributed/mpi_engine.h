/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_engine.h - MPI as an engine (engine.h), for one of its two binary interfaces: a template,
 * included by mpi_openmpi.c and mpi_mpich.c.
 *
 * Before it are defined: MPI_NAMED(name), a name of the instance; MPI_HANDLE, the type of
 * communicators, requests and data types; MPI_STATUS, a struct with MPI_SOURCE; MPI_SYMBOL_HANDLE(
 * library, name, number), a predefined handle; MPI_ANYWHERE and MPI_TAG_LIMIT, numbers. Functions
 * of MPI are looked up in the library, with these types.
 *
 * Threads. A thread of its own starts MPI and ends it, asking for MPI_THREAD_MULTIPLE. All calls
 * are made under one lock, so that MPI_THREAD_SERIALIZED does as well; where less is offered
 * (MPI_THREAD_FUNNELED or SINGLE), that thread makes all of them. CTSC_MPI_THREADS=funneled asks
 * for this, to test it. An MPI that the program started itself has to offer SERIALIZED.
 * Whoever waits makes progress for all. The end. MPI_Finalize waits for the other ranks, so it is
 * left out once a call has failed: mpirun then ends the job.
 */
#include "distributed/mpi_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MPI_PART = 1 << 30,
    MPI_FUNNELED = 1,
    MPI_SERIALIZED = 2,
    MPI_MULTIPLE = 3,
    MPI_SPINS = 2000
};

#define MPI_FUNCTIONS(X)                                                                           \
    X(Initialized, (int *yes))                                                                     \
    X(Init_thread, (int *argc, char ***argv, int wanted, int *given))                              \
    X(Query_thread, (int *given))                                                                  \
    X(Finalize, (void))                                                                            \
    X(Finalized, (int *yes))                                                                       \
    X(Comm_rank, (MPI_HANDLE comm, int *rank))                                                     \
    X(Comm_size, (MPI_HANDLE comm, int *size))                                                     \
    X(Comm_dup, (MPI_HANDLE comm, MPI_HANDLE * made))                                              \
    X(Comm_set_errhandler, (MPI_HANDLE comm, MPI_HANDLE handler))                                  \
    X(Comm_get_attr, (MPI_HANDLE comm, int key, void *value, int *found))                          \
    X(Isend, (const void *data, int n, MPI_HANDLE type, int to, int tag, MPI_HANDLE comm,          \
              MPI_HANDLE *request))                                                                \
    X(Irecv, (void *data, int n, MPI_HANDLE type, int from, int tag, MPI_HANDLE comm,              \
              MPI_HANDLE *request))                                                                \
    X(Test, (MPI_HANDLE * request, int *done, MPI_STATUS *status))                                 \
    X(Cancel, (MPI_HANDLE * request))                                                              \
    X(Request_free, (MPI_HANDLE * request))

static struct {
#define MPI_FIELD(name, arguments) int(*name) arguments;
    MPI_FUNCTIONS(MPI_FIELD)
#undef MPI_FIELD
        MPI_HANDLE world, byte, none, returns; /* the last: errors are returned */
    bool ended;                                /* a call has failed: no MPI_Finalize */
} mpi;

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct mpi_job { void (*run)(void *); void *arg; bool done; } mpi_job;
static pthread_mutex_t mpi_lock = PTHREAD_MUTEX_INITIALIZER; /* of all calls, and of what follows */
static pthread_cond_t mpi_changed = PTHREAD_COND_INITIALIZER;
static mpi_job *mpi_asked; /* of MPI's thread */
static bool mpi_funnels;   /* all calls are that thread's */

static void *mpi_main(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mpi_lock);
    for (;;) {
        while (!mpi_asked) pthread_cond_wait(&mpi_changed, &mpi_lock);
        mpi_asked->run(mpi_asked->arg);
        mpi_asked->done = true;
        mpi_asked = NULL;
        pthread_cond_broadcast(&mpi_changed);
    }
    return NULL;
}

/* In MPI's thread. */
static void mpi_ask(void (*run)(void *), void *arg) {
    mpi_job job = {run, arg, false};
    pthread_mutex_lock(&mpi_lock);
    while (mpi_asked) pthread_cond_wait(&mpi_changed, &mpi_lock);
    mpi_asked = &job;
    pthread_cond_broadcast(&mpi_changed);
    while (!job.done) pthread_cond_wait(&mpi_changed, &mpi_lock);
    pthread_mutex_unlock(&mpi_lock);
}

/* A call, in the thread that may make it. */
static void mpi_do(void (*run)(void *), void *arg) {
    if (mpi_funnels) return mpi_ask(run, arg);
    pthread_mutex_lock(&mpi_lock);
    run(arg);
    pthread_mutex_unlock(&mpi_lock);
}

struct MPI_NAMED(link) {
    MPI_HANDLE comm;
    int tags;
};
typedef struct mpi_request {
    size_t n, done; /* parts of a message of more than MPI_PART bytes */
    int from;
    bool receives;
    MPI_HANDLE parts[];
} mpi_request;

/* ---- the beginning and the end --------------------------------------------------------------- */

static void mpi_end(void *arg) {
    int over = 0;
    (void)arg;
    if (!mpi.ended && mpi.Finalized(&over) == 0 && !over) mpi.Finalize();
}
static void mpi_finish(void) { mpi_ask(mpi_end, NULL); }

static void mpi_start(void *arg) {
    int *given = arg;
    const char *asked = getenv("CTSC_MPI_THREADS");
    bool funnels = asked && !strcmp(asked, "funneled");
    if (mpi.Init_thread(NULL, NULL, funnels ? MPI_FUNNELED : MPI_MULTIPLE, given) != 0) *given = -1;
    mpi_funnels = funnels || *given < MPI_SERIALIZED;
}

static bool mpi_begin(char why[ENGINE_TEXT]) {
    static bool begun; /* here, and not by the program */
    int yes = 0, given = 0;
    pthread_t thread;
    mpi.Initialized(&yes);
    if (begun) return true;
    if (yes) {
        mpi.Query_thread(&given);
        if (given >= MPI_SERIALIZED) return true;
        snprintf(why, ENGINE_TEXT,
                 "the program started MPI with threads of level %d, and 2 is needed", given);
        return false;
    }
    if (pthread_create(&thread, NULL, mpi_main, NULL) != 0)
        return snprintf(why, ENGINE_TEXT, "no thread for MPI"), false;
    pthread_detach(thread);
    mpi_ask(mpi_start, &given);
    if (given < 0) return snprintf(why, ENGINE_TEXT, "MPI_Init_thread failed"), false;
    atexit(mpi_finish);
    return begun = true;
}

typedef struct mpi_joining {
    struct MPI_NAMED(link) * l;
    int *rank, *size;
    bool ok;
} mpi_joining;

static void mpi_join(void *arg) {
    mpi_joining *j = arg;
    int *limit = NULL, found = 0;
    mpi.Comm_set_errhandler(mpi.world, mpi.returns);
    j->ok = mpi.Comm_dup(mpi.world, &j->l->comm) == 0;
    if (!j->ok) return;
    mpi.Comm_set_errhandler(j->l->comm, mpi.returns);
    mpi.Comm_rank(j->l->comm, j->rank);
    mpi.Comm_size(j->l->comm, j->size);
    mpi.Comm_get_attr(mpi.world, MPI_TAG_LIMIT, &limit, &found);
    j->l->tags = found && limit ? *limit : 32767; /* what every MPI has */
}

static engine *mpi_open(int *rank, int *size, const engine_store *store, int64_t timeout_ms,
                        char why[ENGINE_TEXT]) {
    (void)store, (void)timeout_ms;
    mpi_joining j = {calloc(1, sizeof *j.l), rank, size, false};
    if (!j.l) return snprintf(why, ENGINE_TEXT, "out of memory"), NULL;
    if (!mpi_begin(why)) return free(j.l), NULL;
    mpi_do(mpi_join, &j);
    if (j.ok) return (engine *)j.l;
    free(j.l);
    return snprintf(why, ENGINE_TEXT, "MPI_Comm_dup failed"), NULL;
}

/* The communicator stays: to free it is a collective. */
static void mpi_close(engine *e) { free(e); }

static void mpi_abandon(engine *e) {
    (void)e;
    mpi.ended = true;
}

/* ---- messages -------------------------------------------------------------------------------- */

static mpi_request *mpi_request_new(size_t bytes, bool receives) {
    size_t n = bytes / MPI_PART + (bytes % MPI_PART != 0);
    mpi_request *r = calloc(1, sizeof *r + n * sizeof *r->parts);
    if (r) r->n = n, r->receives = receives, r->from = -1;
    for (size_t i = 0; r && i < n; i++) r->parts[i] = mpi.none;
    return r;
}

static void mpi_drop(void *arg) {
    mpi_request *r = arg;
    for (size_t i = r->done; i < r->n; i++)
        if (memcmp(&r->parts[i], &mpi.none, sizeof mpi.none)) {
            if (r->receives) mpi.Cancel(&r->parts[i]);
            mpi.Request_free(&r->parts[i]);
        }
}

static void mpi_release(engine_request *request) {
    mpi_request *r = (mpi_request *)request;
    if (r->done < r->n) mpi_do(mpi_drop, r);
    free(r);
}

typedef struct mpi_posting {
    mpi_request *r;
    MPI_HANDLE comm;
    char *data;
    size_t bytes;
    int peer, tag, bad;
} mpi_posting;

static void mpi_post_parts(void *arg) {
    mpi_posting *p = arg;
    for (size_t i = 0; i < p->r->n && !p->bad; i++) {
        size_t left = p->bytes - i * MPI_PART;
        char *at = p->data + i * MPI_PART;
        MPI_HANDLE *part = &p->r->parts[i];
        int n = (int)(left < MPI_PART ? left : MPI_PART);
        p->bad = p->r->receives ? mpi.Irecv(at, n, mpi.byte, p->peer, p->tag, p->comm, part)
                                : mpi.Isend(at, n, mpi.byte, p->peer, p->tag, p->comm, part);
    }
}

static engine_request *mpi_post(engine *e, void *data, size_t bytes, int peer, uint64_t slot,
                                bool receives, char why[ENGINE_TEXT]) {
    struct MPI_NAMED(link) *l = (struct MPI_NAMED(link) *)e;
    int tag = (int)((slot >> 1) % (uint64_t)l->tags);
    mpi_posting p = {mpi_request_new(bytes, receives), l->comm, data, bytes, peer, tag, 0};
    if (!p.r) return snprintf(why, ENGINE_TEXT, "out of memory"), NULL;
    mpi_do(mpi_post_parts, &p);
    if (!p.bad) return (engine_request *)p.r;
    snprintf(why, ENGINE_TEXT, "MPI error %d", p.bad);
    mpi_release((engine_request *)p.r);
    return NULL;
}

static engine_request *mpi_send(engine *e, const void *data, size_t bytes, int to, uint64_t slot,
                                char why[ENGINE_TEXT]) {
    return mpi_post(e, (void *)data, bytes, to, slot, false, why);
}

static engine_request *mpi_receive(engine *e, void *data, size_t bytes, int n, const int *from,
                                   uint64_t slot, char why[ENGINE_TEXT]) {
    if (n > 1 && bytes > MPI_PART)
        return snprintf(why, ENGINE_TEXT, "more than a GiB is received from a named rank"), NULL;
    return mpi_post(e, data, bytes, n == 1 ? from[0] : MPI_ANYWHERE, slot, true, why);
}

typedef struct mpi_testing { mpi_request *r; int bad; } mpi_testing;

/* The parts that are done by now. */
static void mpi_test(void *arg) {
    mpi_testing *t = arg;
    mpi_request *r = t->r;
    MPI_STATUS status;
    int done = 1;
    while (r->done < r->n && done && !t->bad) {
        done = 0;
        t->bad = mpi.Test(&r->parts[r->done], &done, &status);
        if (done && !t->bad) r->done++, r->from = status.MPI_SOURCE;
    }
}

static engine_outcome mpi_wait(engine_request *request, int64_t timeout_ms, int *from,
                               char why[ENGINE_TEXT]) {
    mpi_request *r = (mpi_request *)request;
    int64_t deadline = dist_now() + timeout_ms;
    for (int spins = 0;; spins++) {
        mpi_testing t = {r, 0};
        mpi_do(mpi_test, &t);
        if (!t.bad && r->done == r->n) break;
        if (t.bad) snprintf(why, ENGINE_TEXT, "MPI error %d", t.bad);
        mpi.ended |= t.bad || (spins > MPI_SPINS && !dist_left(deadline));
        if (t.bad) return ENGINE_LOST;
        if (mpi.ended && !dist_left(deadline)) return ENGINE_LATE;
        if (spins < MPI_SPINS) sched_yield();
        else nanosleep(&(struct timespec){0, 50000}, NULL);
    }
    if (from) *from = r->from;
    return ENGINE_DONE;
}

const engine_interface *MPI_NAMED(engine)(void *library, char why[ENGINE_TEXT]) {
    static const engine_interface it = {ENGINE_INTERFACE, "mpi",       mpi_open,
                                        mpi_close,        mpi_send,    mpi_receive,
                                        mpi_wait,         mpi_release, mpi_abandon};
#define MPI_LOAD(name, arguments)                                                                  \
    *(void **)&mpi.name = dlsym(library, "MPI_" #name);                                            \
    if (!mpi.name) return snprintf(why, ENGINE_TEXT, "MPI has no MPI_" #name), NULL;
    MPI_FUNCTIONS(MPI_LOAD)
#undef MPI_LOAD
        mpi.world = MPI_SYMBOL_HANDLE(library, "ompi_mpi_comm_world", 0x44000000);
    mpi.byte = MPI_SYMBOL_HANDLE(library, "ompi_mpi_byte", 0x4c00010d);
    mpi.none = MPI_SYMBOL_HANDLE(library, "ompi_request_null", 0x2c000000);
    mpi.returns = MPI_SYMBOL_HANDLE(library, "ompi_mpi_errors_return", 0x54000001);
    return &it;
}
