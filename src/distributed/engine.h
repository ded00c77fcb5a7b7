/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - what an engine is: something that moves bytes between the ranks of a world.
 *
 * Messages of one sender with equal slots arrive in order; a receiver posts exactly the bytes that
 * are sent. Functions may be called from any thread. After a time-out or the loss of a peer an
 * engine may refuse all further work; it never blocks beyond a time-out.
 */
#ifndef CTSC_DISTRIBUTED_ENGINE_H
#define CTSC_DISTRIBUTED_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of libctsc-gloo.so and of libctsc-dist.so. */
#define ENGINE_INTERFACE 2
#define ENGINE_ENTRY "ctsc_dist_engine"

typedef struct engine engine;
typedef struct engine_request engine_request;

typedef enum engine_outcome { ENGINE_DONE, ENGINE_LATE, ENGINE_LOST } engine_outcome;
enum { ENGINE_TEXT = 512 };

/* The store as an engine sees it. data: to be freed with free. */
typedef struct engine_store {
    void *ctx;
    bool (*set)(void *ctx, const char *key, const void *data, size_t bytes);
    bool (*get)(void *ctx, const char *key, int64_t timeout_ms, void **data, size_t *bytes);
} engine_store;

typedef struct engine_interface {
    int version;
    const char *name;
    /* Connects all ranks. rank, size: also where they go if the engine knows them itself. */
    engine *(*open)(int *rank, int *size, const engine_store *store, int64_t timeout_ms,
                    char why[ENGINE_TEXT]);
    void (*close)(engine *e);
    /* Begins to send to a rank, or to receive from one of n. NULL: lost. */
    engine_request *(*send)(engine *e, const void *data, size_t bytes, int to, uint64_t slot,
                            char why[ENGINE_TEXT]);
    engine_request *(*receive)(engine *e, void *data, size_t bytes, int n, const int *from,
                               uint64_t slot, char why[ENGINE_TEXT]);
    /* from: who sent what was received; may be NULL. */
    engine_outcome (*wait)(engine_request *r, int64_t timeout_ms, int *from, char why[ENGINE_TEXT]);
    void (*release)(engine_request *r); /* ends it, done or not: the memory is the caller's again */
    /* A collective has failed elsewhere: no rank is waited for any more. May be NULL. */
    void (*abandon)(engine *e);
} engine_interface;

/* NULL, and why. */
const engine_interface *engine_find(const char *name, char why[ENGINE_TEXT]);
const engine_interface *engine_mpi(char why[ENGINE_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
