/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - recordings of a call (replay.h), by capturing the device's stream.
 *
 * The capture is "relaxed": memory may be taken from the driver meanwhile. What cannot be captured is refused before the driver sees it, because
 * the driver would spoil the capture and say so only at its end.
 *
 * Ownership: a recording owns the blocks in its pool and its places; the blocks it has handed out return to the shared pool when both are gone.
 * Tests: tests/unit/test_cuda_replay.c
 */
#include "cuda/replay.h"

#include "cuda/cuda_internal.h"

#include <stdio.h>

typedef struct replay_place {
    void *p;
    size_t nbytes;
} replay_place;

struct cuda_replay {
    cuda *device;
    memory_pool pool;
    VEC(replay_place) places;
    CUgraphExec exec;  /* NULL until it has ended */
    int64_t launches;  /* the device's count when it began; then how many kernels it has */
    char refused[128]; /* what was asked for and cannot be recorded */
};

ctsc_status cuda_refuse_recording(cuda *c, diag *d, const char *what) {
    if (!c->recording) return CTSC_OK;
    snprintf(c->recording->refused, sizeof c->recording->refused, "%s", what);
    return diag_fail(d, CTSC_UNSUPPORTED, "a call cannot be recorded: %s", what);
}

ctsc_status cuda_replay_begin(cuda *c, diag *d, cuda_replay **out) {
    ctsc_status st = cuda_lock(c, d);
    if (st != CTSC_OK) return st;
    cuda_replay *r = NULL;
    if (c->recording) {
        st = diag_fail(d, CTSC_USAGE, "this thread is recording already");
        goto out;
    }
    r = mem_zalloc(sizeof *r);
    if (!r) {
        st = diag_no_memory(d);
        goto out;
    }
    CUresult result = c->driver->cuStreamBeginCapture(c->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result != CUDA_SUCCESS) {
        st = cuda_fail(c, d, result, "cuStreamBeginCapture");
        mem_free(r);
        goto out;
    }
    r->device = c;
    r->launches = c->launches;
    c->recording = r;
    c->recorder = pthread_self();
    c->memory.private_pool = &r->pool;
    *out = r;
out:
    cuda_unlock(c);
    return st;
}

ctsc_status cuda_replay_place(cuda_replay *r, diag *d, size_t nbytes, void **out) {
    void *p;
    if (!vec_reserve(&r->places, r->places.len + 1)) return diag_no_memory(d);
    ctsc_status st = cuda_alloc(r->device, d, nbytes, &p);
    if (st != CTSC_OK) return st;
    vec_push(&r->places, ((replay_place){p, nbytes}));
    *out = p;
    return CTSC_OK;
}

/* With the lock held: ends the capture. *graph may be NULL even then. */
static CUresult replay_stop(cuda_replay *r, CUgraph *graph) {
    cuda *c = r->device;
    *graph = NULL;
    CUresult result = c->driver->cuStreamEndCapture(c->stream, graph);
    r->launches = c->launches - r->launches;
    c->recording = NULL;
    c->memory.private_pool = NULL;
    pthread_cond_broadcast(&c->recorded);
    return result;
}

ctsc_status cuda_replay_end(cuda_replay *r, diag *d) {
    cuda *c = r->device;
    CUgraph graph = NULL;
    ctsc_status st = cuda_lock(c, d);
    if (st == CTSC_OK) {
        CUresult result = replay_stop(r, &graph);
        if (*r->refused) {
            st = diag_fail(d, CTSC_UNSUPPORTED, "a call cannot be recorded: %s", r->refused);
        } else {
            if (result == CUDA_SUCCESS) result = c->driver->cuGraphInstantiate(&r->exec, graph, 0);
            if (result != CUDA_SUCCESS) st = cuda_fail(c, d, result, "cuGraphInstantiate");
        }
        if (graph) c->driver->cuGraphDestroy(graph);
        cuda_unlock(c);
    }
    if (st != CTSC_OK) cuda_replay_free(r);
    return st;
}

ctsc_status cuda_replay_play(cuda_replay *r, diag *d, const void *const *arguments) {
    cuda *c = r->device;
    ctsc_status st = cuda_lock(c, d);
    if (st != CTSC_OK) return st;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; result == CUDA_SUCCESS && i < r->places.len; i++) {
        replay_place place = r->places.data[i];
        if (!arguments[i] || arguments[i] == place.p || !place.nbytes) continue;
        result = c->driver->cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)place.p, (CUdeviceptr)(uintptr_t)arguments[i], place.nbytes, c->stream);
    }
    if (result == CUDA_SUCCESS) result = c->driver->cuGraphLaunch(r->exec, c->stream);
    if (result != CUDA_SUCCESS) st = cuda_fail(c, d, result, "cuGraphLaunch");
    cuda_unlock(c);
    return st;
}

void cuda_replay_free(cuda_replay *r) {
    if (!r) return;
    cuda *c = r->device;
    CUgraph graph = NULL;
    bool usable = cuda_enter(c, NULL) == CTSC_OK;
    for (size_t i = 0; i < r->places.len; i++) cuda_free(c, r->places.data[i].p);
    pthread_mutex_lock(&c->lock);
    if (c->recording == r) replay_stop(r, &graph);
    memory_dissolve(&c->memory, &r->pool);
    if (usable && graph) c->driver->cuGraphDestroy(graph);
    if (usable && r->exec) c->driver->cuGraphExecDestroy(r->exec);
    pthread_mutex_unlock(&c->lock);
    vec_free(&r->places);
    mem_free(r);
}

int64_t cuda_replay_size(const cuda_replay *r) {
    return r->launches;
}
