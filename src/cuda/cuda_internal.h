/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_internal.h - what the files of this folder share: the parts of a `cuda`, and the way into it.
 *
 * One lock per device stands for the order of its stream: whoever asks the device for something holds it, so that what one function asks for
 * stays together. Nobody waits for the device with the lock held, but where memory has run out or the ring of pinned memory is full.
 */
#ifndef CTSC_CUDA_INTERNAL_H
#define CTSC_CUDA_INTERNAL_H

#include "base/map.h"
#include "cuda/cuda.h"
#include "cuda/library.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- memory.c: blocks of device memory ---- */

enum {
    MEMORY_KINDS = 2, /* of segments: for small blocks, for large ones */
    MEMORY_BINS = 640,
};

typedef struct memory_block memory_block;

/* Free blocks by size. There is one that all calls share, and one per recording (replay.c), whose blocks nobody else gets. */
typedef struct memory_pool {
    memory_block *bins[MEMORY_KINDS][MEMORY_BINS];
    uint64_t used[MEMORY_KINDS][MEMORY_BINS / 64]; /* a bit per bin that is not empty */
} memory_pool;

typedef struct memory {
    memory_pool shared;
    memory_pool *private_pool; /* of the recording that is under way, or NULL */
    memory_block **live;       /* hash table of the blocks that are handed out, by address */
    size_t live_cap, live_count;
    memory_block *spare; /* descriptions of blocks that are no more */
    size_t limit;
    bool direct; /* nothing is kept (memory.c) */
    cuda_memory_stats stats;
} memory;

void memory_init(memory *m);
/* p's blocks return to the shared pool, and those handed out will when they are freed. With the lock held. */
void memory_dissolve(memory *m, memory_pool *p);

/* ---- staging.c: pinned host memory that bytes go through ---- */

enum { STAGING_PIECE = 1 << 20, STAGING_PIECES = 16 };

typedef struct staging_block {
    void *host;
    CUevent done;
    struct staging_block *next;
} staging_block;

typedef struct staging {
    staging_block ring[STAGING_PIECES]; /* for writing; host is NULL until first needed */
    bool under_way[STAGING_PIECES];     /* its `done` is to be waited for before it is filled again */
    int piece;                          /* being filled */
    size_t filled;                      /* bytes of it */
    staging_block *reading;             /* free blocks for reading */
} staging;

/* ---- program.c ---- */

typedef struct programs {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    strmap table;
    cuda_program_stats stats; /* but for the launches */
} programs;

void programs_init(programs *p);

/* ---- context.c ---- */

struct cuda {
    const cuda_driver *driver;
    int index;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    cuda_properties properties;
    atomic_int broken; /* a CUresult after which the context is of no use, or 0 */

    pthread_mutex_t lock; /* of the stream's order and of what follows */
    pthread_cond_t recorded;
    struct cuda_replay *recording; /* being made, by `recorder` alone */
    pthread_t recorder;
    memory memory;
    staging staging;
    int64_t launches;

    programs programs;
};

/* Enters the context and takes the device's lock, once no other thread records. Fails, without the lock, if the device is of no use. */
ctsc_status cuda_lock(cuda *c, diag *d);
void cuda_unlock(cuda *c);
/* Describes a failed call of the driver; remembers errors after which the device is of no use. r: not CUDA_SUCCESS. */
ctsc_status cuda_fail(cuda *c, diag *d, CUresult r, const char *what);
/* While the calling thread records: that `what` cannot be part of a recording (replay.h). Else CTSC_OK. With the lock held. */
ctsc_status cuda_refuse_recording(cuda *c, diag *d, const char *what);

#endif
