/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_internal.h - what the files of this folder share: the parts of a `cuda`, and
 * the way into it.
 *
 * One lock per device orders its stream: a thread that queues work on the device holds it,
 * so that the work of one function stays together. Nobody waits for the device with
 * the lock held, except where memory has run out or the ring of pinned memory is full.
 */
#ifndef CTSC_CUDA_CUDA_INTERNAL_H
#define CTSC_CUDA_CUDA_INTERNAL_H

#include "base/map.h"
#include "cuda/cuda.h"
#include "cuda/library.h"
#include "cuda/replay.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- memory.c: blocks of device memory ------------------------------------------------------- */

enum {
    MEMORY_KINDS = 2, /* of segments: for small blocks, for large ones */
    MEMORY_BINS = 640,
};

typedef struct memory_block memory_block;

typedef struct memory {
    memory_block *bins[MEMORY_KINDS][MEMORY_BINS]; /* free blocks by size */
    uint64_t used[MEMORY_KINDS][MEMORY_BINS / 64]; /* a bit per bin that is not empty */
    /* hash table of the blocks that are handed out, by address */
    memory_block **live;
    size_t live_cap, live_count;
    memory_block *spare; /* descriptions of blocks that are no more */
    size_t limit;
    bool direct; /* nothing is kept (memory.c) */
    cuda_memory_stats stats;
} memory;

void memory_init(memory *m);
/* With the lock held: a block; its way back, false if there is none at p. */
ctsc_status memory_get(cuda *c, diag *d, size_t nbytes, void **out);
bool memory_give_back(cuda *c, void *p);

/* ---- staging.c: pinned host memory that bytes go through ------------------------------------- */

enum { STAGING_CHUNK = 1 << 20, STAGING_CHUNKS = 16 };

typedef struct staging_block {
    void *host;
    CUevent done;
    struct staging_block *next;
} staging_block;

typedef struct staging {
    staging_block ring[STAGING_CHUNKS]; /* for writing; host is NULL until first needed */
    /* its `done` is to be waited for before it is filled again */
    bool under_way[STAGING_CHUNKS];
    int chunk;              /* being filled */
    size_t filled;          /* bytes of it */
    staging_block *reading; /* free blocks for reading */
} staging;

/* ---- program.c ------------------------------------------------------------------------------- */

typedef struct programs {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    strmap table;
    cuda_program_stats stats; /* except for the launches */
} programs;

void programs_init(programs *p);

/* ---- replay.c -------------------------------------------------------------------------------- */

typedef struct replays {
    struct cuda_replay *first; /* all of the device */
    cuda_replay_stats stats;
} replays;

/* With the lock held, and nothing left to do for the device: gives back the memory that replays
 * keep for their next play. */
void replays_shrink(cuda *c);

/* ---- context.c ------------------------------------------------------------------------------- */

struct cuda {
    const cuda_driver *driver;
    int index;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    cuda_properties properties;
    atomic_int broken; /* a CUresult after which the context is of no use, or 0 */

    pthread_mutex_t lock; /* of the stream's order and of what follows */
    memory memory;
    staging staging;
    replays replays;
    int64_t launches;

    programs programs;
};

/* Enters the context and takes the device's lock. Fails, without the lock, if the
 * device is of no use. */
ctsc_status cuda_lock(cuda *c, diag *d);
void cuda_unlock(cuda *c);
/* Describes a failed call of the driver; remembers errors after which the device is of no use. r:
 * not CUDA_SUCCESS. */
ctsc_status cuda_fail(cuda *c, diag *d, CUresult r, const char *what);
/* cuda_launch with the lock held, without counting, of what has been checked. */
ctsc_status program_launch(cuda *c, diag *d, const cuda_kernel *k, const cuda_shape *s,
                           const void *params, size_t nbytes);
/* The driver's function of k. */
CUfunction program_function(const cuda_kernel *k);

#endif
