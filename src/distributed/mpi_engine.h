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
 * Threads. MPI is asked for MPI_THREAD_MULTIPLE, and all calls are made under one lock, so that
 * MPI_THREAD_SERIALIZED does as well; what is less is refused. Whoever waits makes progress for
 * all. The end. MPI_Finalize waits for the other ranks, so it is left out once a message was lost:
 * mpirun then ends the job.
 */
#include "distributed/mpi_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MPI_PART = 1 << 30, MPI_SERIALIZED = 2, MPI_MULTIPLE = 3, MPI_SPINS = 2000 };

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
    bool ended;                                /* a message was lost: no MPI_Finalize */
} mpi;
static pthread_mutex_t mpi_lock = PTHREAD_MUTEX_INITIALIZER;

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

static void mpi_finish(void) {
    int over = 0;
    if (!mpi.ended && mpi.Finalized(&over) == 0 && !over) mpi.Finalize();
}

static bool mpi_begin(char why[ENGINE_TEXT]) {
    int yes = 0, given = 0;
    mpi.Initialized(&yes);
    if (yes) mpi.Query_thread(&given);
    else if (mpi.Init_thread(NULL, NULL, MPI_MULTIPLE, &given) != 0)
        return snprintf(why, ENGINE_TEXT, "MPI_Init_thread failed"), false;
    else atexit(mpi_finish);
    if (given >= MPI_SERIALIZED) return true;
    snprintf(why, ENGINE_TEXT, "this MPI offers threads of level %d, and 2 is needed", given);
    return false;
}

static engine *mpi_open(int *rank, int *size, const engine_store *store, int64_t timeout_ms,
                        char why[ENGINE_TEXT]) {
    int *limit = NULL, found = 0;
    (void)store, (void)timeout_ms;
    struct MPI_NAMED(link) *l = calloc(1, sizeof *l);
    if (!l) return snprintf(why, ENGINE_TEXT, "out of memory"), NULL;
    if (!mpi_begin(why)) return free(l), NULL;
    mpi.Comm_set_errhandler(mpi.world, mpi.returns);
    if (mpi.Comm_dup(mpi.world, &l->comm) != 0)
        return free(l), snprintf(why, ENGINE_TEXT, "MPI_Comm_dup failed"), NULL;
    mpi.Comm_set_errhandler(l->comm, mpi.returns);
    mpi.Comm_rank(l->comm, rank);
    mpi.Comm_size(l->comm, size);
    mpi.Comm_get_attr(mpi.world, MPI_TAG_LIMIT, &limit, &found);
    l->tags = found && limit ? *limit : 32767; /* what every MPI has */
    return (engine *)l;
}

/* The communicator stays: to free it is a collective. */
static void mpi_close(engine *e) { free(e); }

/* ---- messages -------------------------------------------------------------------------------- */

static mpi_request *mpi_request_new(size_t bytes, bool receives) {
    size_t n = bytes / MPI_PART + (bytes % MPI_PART != 0);
    mpi_request *r = calloc(1, sizeof *r + n * sizeof *r->parts);
    if (r) r->n = n, r->receives = receives, r->from = -1;
    for (size_t i = 0; r && i < n; i++) r->parts[i] = mpi.none;
    return r;
}

static void mpi_release(engine_request *request) {
    mpi_request *r = (mpi_request *)request;
    pthread_mutex_lock(&mpi_lock);
    for (size_t i = r->done; i < r->n; i++)
        if (memcmp(&r->parts[i], &mpi.none, sizeof mpi.none)) {
            if (r->receives) mpi.Cancel(&r->parts[i]);
            mpi.Request_free(&r->parts[i]);
        }
    pthread_mutex_unlock(&mpi_lock);
    free(r);
}

static engine_request *mpi_post(engine *e, void *data, size_t bytes, int peer, uint64_t slot,
                                bool receives, char why[ENGINE_TEXT]) {
    struct MPI_NAMED(link) *l = (struct MPI_NAMED(link) *)e;
    int tag = (int)((slot >> 1) % (uint64_t)l->tags), bad = 0;
    mpi_request *r = mpi_request_new(bytes, receives);
    if (!r) return snprintf(why, ENGINE_TEXT, "out of memory"), NULL;
    pthread_mutex_lock(&mpi_lock);
    for (size_t i = 0; i < r->n && !bad; i++) {
        char *at = (char *)data + i * MPI_PART;
        int n = (int)(bytes - i * MPI_PART < MPI_PART ? bytes - i * MPI_PART : MPI_PART);
        bad = receives ? mpi.Irecv(at, n, mpi.byte, peer, tag, l->comm, &r->parts[i])
                       : mpi.Isend(at, n, mpi.byte, peer, tag, l->comm, &r->parts[i]);
    }
    pthread_mutex_unlock(&mpi_lock);
    if (!bad) return (engine_request *)r;
    snprintf(why, ENGINE_TEXT, "MPI error %d", bad);
    mpi_release((engine_request *)r);
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

/* The parts that are done by now. An error, 0 for none. */
static int mpi_test(mpi_request *r) {
    MPI_STATUS status;
    int done = 1, bad = 0;
    pthread_mutex_lock(&mpi_lock);
    while (r->done < r->n && done && !bad) {
        done = 0;
        bad = mpi.Test(&r->parts[r->done], &done, &status);
        if (done && !bad) r->done++, r->from = status.MPI_SOURCE;
    }
    pthread_mutex_unlock(&mpi_lock);
    return bad;
}

static engine_outcome mpi_wait(engine_request *request, int64_t timeout_ms, int *from,
                               char why[ENGINE_TEXT]) {
    mpi_request *r = (mpi_request *)request;
    int64_t deadline = dist_now() + timeout_ms;
    for (int spins = 0;; spins++) {
        int bad = mpi_test(r);
        if (!bad && r->done == r->n) break;
        if (bad) snprintf(why, ENGINE_TEXT, "MPI error %d", bad);
        mpi.ended |= bad || (spins > MPI_SPINS && !dist_left(deadline));
        if (bad) return ENGINE_LOST;
        if (mpi.ended && !dist_left(deadline)) return ENGINE_LATE;
        if (spins < MPI_SPINS) sched_yield();
        else nanosleep(&(struct timespec){0, 50000}, NULL);
    }
    if (from) *from = r->from;
    return ENGINE_DONE;
}

const engine_interface *MPI_NAMED(engine)(void *library, char why[ENGINE_TEXT]) {
    static const engine_interface it = {ENGINE_INTERFACE, "mpi",       mpi_open, mpi_close,
                                        mpi_send,         mpi_receive, mpi_wait, mpi_release};
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
