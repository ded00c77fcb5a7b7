/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.c - copies between the host and the device, through pinned memory, and within the device.
 *
 * The device reads and writes pinned host memory by itself; from any other memory the driver
 * copies while the caller waits. So data to be written goes into a ring of pinned chunks
 * first. A chunk is filled by one write after the other; when it is full, an event is
 * recorded after its copies, and the chunk is filled again only after that. Data to be read
 * comes through two alternating blocks: one is copied out while the device fills the other.
 *
 * Ownership: pinned memory is kept for the life of the process.
 * Tests: tests/unit/test_cuda_device.c
 */
#include "cuda/capture_internal.h"
#include "cuda/cuda_internal.h"

enum { STAGING_ALIGN = 64 };

static CUdeviceptr staging_address(const void *p) { return (CUdeviceptr)(uintptr_t)p; }

static CUresult staging_make(cuda *c, staging_block *b) {
    void *host = NULL;
    if (b->host) return CUDA_SUCCESS;
    CUresult r = c->driver->cuEventCreate(&b->done, CU_EVENT_DISABLE_TIMING);
    if (r == CUDA_SUCCESS) r = c->driver->cuMemHostAlloc(&host, STAGING_CHUNK, 0);
    if (r == CUDA_SUCCESS) b->host = host;
    return r;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Makes room in the ring: *at is where, *room how much. */
static CUresult staging_room(cuda *c, char **at, size_t *room) {
    staging *s = &c->staging;
    CUresult r = CUDA_SUCCESS;
    if (s->filled == STAGING_CHUNK) {
        r = c->driver->cuEventRecord(s->ring[s->chunk].done, c->stream);
        if (r != CUDA_SUCCESS) return r;
        s->under_way[s->chunk] = true;
        s->chunk = (s->chunk + 1) % STAGING_CHUNKS;
        s->filled = 0;
    }
    staging_block *b = &s->ring[s->chunk];
    if (s->under_way[s->chunk]) r = c->driver->cuEventSynchronize(b->done);
    if (r == CUDA_SUCCESS) r = staging_make(c, b);
    if (r != CUDA_SUCCESS) return r;
    s->under_way[s->chunk] = false;
    *at = (char *)b->host + s->filled;
    *room = STAGING_CHUNK - s->filled;
    return CUDA_SUCCESS;
}

static ctsc_status staging_write(cuda *c, diag *d, CUdeviceptr to, const char *from,
                                 size_t nbytes) {
    while (nbytes) {
        char *at;
        size_t room;
        CUresult r = staging_room(c, &at, &room);
        if (r != CUDA_SUCCESS) return cuda_fail(c, d, r, "cuMemHostAlloc");
        size_t n = nbytes < room ? nbytes : room;
        memcpy(at, from, n);
        r = c->driver->cuMemcpyHtoDAsync(to, at, n, c->stream);
        if (r != CUDA_SUCCESS) return cuda_fail(c, d, r, "cuMemcpyHtoDAsync");
        c->staging.filled += (n + STAGING_ALIGN - 1) & ~(size_t)(STAGING_ALIGN - 1);
        to += n, from += n, nbytes -= n;
    }
    return CTSC_OK;
}

ctsc_status cuda_write(cuda *c, diag *d, void *device, const void *host, size_t nbytes) {
    if (nbytes == 0) return CTSC_OK;
    if (cuda_capturing) return cuda_capture_write(c, d, device, host, nbytes);
    TRY(cuda_lock(c, d));
    ctsc_status st = staging_write(c, d, staging_address(device), host, nbytes);
    cuda_unlock(c);
    return st;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A block for the calling thread alone; NULL: it failed. With the lock held. */
static staging_block *staging_take(cuda *c, diag *d) {
    staging_block *b = c->staging.reading;
    if (b) {
        c->staging.reading = b->next;
        return b;
    }
    b = mem_zalloc(sizeof *b);
    if (!b) {
        diag_no_memory(d);
        return NULL;
    }
    CUresult r = staging_make(c, b);
    if (r == CUDA_SUCCESS) return b;
    cuda_fail(c, d, r, "cuMemHostAlloc");
    mem_free(b);
    return NULL;
}

static void staging_give_back(cuda *c, staging_block *b) {
    if (!b) return;
    pthread_mutex_lock(&c->lock);
    b->next = c->staging.reading;
    c->staging.reading = b;
    pthread_mutex_unlock(&c->lock);
}

/* Asks for a chunk: it is in *slot when the block's event has happened. */
static ctsc_status staging_ask(cuda *c, diag *d, staging_block **slot, CUdeviceptr from,
                               size_t nbytes) {
    ctsc_status st = cuda_capture_refuse(d, "reading from the device");
    if (st == CTSC_OK) st = cuda_lock(c, d);
    if (st != CTSC_OK) return st;
    if (!*slot && !(*slot = staging_take(c, d))) st = d && d->status ? d->status : CTSC_LIMIT;
    if (st == CTSC_OK) {
        CUresult r = c->driver->cuMemcpyDtoHAsync((*slot)->host, from, nbytes, c->stream);
        if (r == CUDA_SUCCESS) r = c->driver->cuEventRecord((*slot)->done, c->stream);
        if (r != CUDA_SUCCESS) st = cuda_fail(c, d, r, "cuMemcpyDtoHAsync");
    }
    cuda_unlock(c);
    return st;
}

ctsc_status cuda_read(cuda *c, diag *d, void *host, const void *device, size_t nbytes) {
    staging_block *slots[2] = {NULL, NULL};
    char *to = host;
    CUdeviceptr from = staging_address(device);
    /* bytes: asked for so far; of the last chunk that is not copied out yet */
    size_t asked = 0, pending = 0;
    ctsc_status st = CTSC_OK;
    for (unsigned i = 0; st == CTSC_OK && (asked < nbytes || pending); i++) {
        size_t n = nbytes - asked < STAGING_CHUNK ? nbytes - asked : STAGING_CHUNK;
        if (n) st = staging_ask(c, d, &slots[i & 1], from + asked, n);
        if (st == CTSC_OK && pending) {
            staging_block *b = slots[~i & 1];
            CUresult r = c->driver->cuEventSynchronize(b->done);
            if (r == CUDA_SUCCESS) memcpy(to + asked - pending, b->host, pending);
            else st = cuda_fail(c, d, r, "cuEventSynchronize");
        }
        asked += n;
        pending = n;
    }
    /* After a failure a copy into a block may still be in progress:
     * the next user of the block comes after it in the stream. */
    staging_give_back(c, slots[0]);
    staging_give_back(c, slots[1]);
    return st;
}

/* ---- within the device ----------------------------------------------------------------------- */

ctsc_status cuda_move(cuda *c, diag *d, void *to, const void *from, size_t nbytes) {
    if (nbytes == 0) return CTSC_OK;
    if (cuda_capturing)
        return cuda_capture_add(c, d, (command){.kind = COMMAND_MOVE, .moved = nbytes},
                                (const void *[]){to, from}, 2 * sizeof to);
    ctsc_status st = cuda_lock(c, d);
    if (st != CTSC_OK) return st;
    CUresult r = c->driver->cuMemcpyDtoDAsync(staging_address(to), staging_address(from), nbytes,
                                              c->stream);
    if (r != CUDA_SUCCESS) st = cuda_fail(c, d, r, "cuMemcpyDtoDAsync");
    cuda_unlock(c);
    return st;
}

ctsc_status cuda_zero(cuda *c, diag *d, void *device, size_t nbytes) {
    if (nbytes == 0) return CTSC_OK;
    if (cuda_capturing)
        return cuda_capture_add(c, d, (command){.kind = COMMAND_ZERO, .moved = nbytes}, &device,
                                sizeof device);
    ctsc_status st = cuda_lock(c, d);
    if (st != CTSC_OK) return st;
    CUresult r = c->driver->cuMemsetD8Async(staging_address(device), 0, nbytes, c->stream);
    if (r != CUDA_SUCCESS) st = cuda_fail(c, d, r, "cuMemsetD8Async");
    cuda_unlock(c);
    return st;
}
