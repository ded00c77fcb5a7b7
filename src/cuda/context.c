/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c - CUDA devices: finding and opening them, the way in for each call, what
 * their errors say.
 *
 * A device is opened once and stays open until the process ends: its primary context is shared with
 * other users of CUDA in the process (PyTorch, say), who outlive no one.
 * Tests: tests/unit/test_cuda_device.c
 */
#include "cuda/capture_internal.h"
#include "cuda/cuda_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { CONTEXT_MAX_DEVICES = 64 };

static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;
static cuda *context_devices[CONTEXT_MAX_DEVICES];
/* this process is a copy of one that had opened a device: the driver does not work in it */
static atomic_bool context_forked;

/* ---- errors ---------------------------------------------------------------------------------- */

static ctsc_status context_describe(const cuda_driver *driver, diag *d, ctsc_status status,
                                    CUresult r, const char *what) {
    const char *name = NULL, *text = NULL;
    if (driver->cuGetErrorName(r, &name) != CUDA_SUCCESS || !name)
        name = "an error this driver does not know";
    if (driver->cuGetErrorString(r, &text) != CUDA_SUCCESS || !text) text = "unknown error";
    return diag_fail(d, status, "CUDA error: %s (%s, code %d, in %s)", text, name, r, what);
}

/* After these the driver answers every call with the same error: something went wrong on
 * the device itself. */
static bool context_sticky(CUresult r) {
    return r == CUDA_ERROR_ECC_UNCORRECTABLE || r == CUDA_ERROR_ILLEGAL_ADDRESS ||
           r == CUDA_ERROR_LAUNCH_TIMEOUT || r == CUDA_ERROR_ASSERT ||
           (r >= CUDA_ERROR_HARDWARE_STACK_ERROR && r <= CUDA_ERROR_LAUNCH_FAILED);
}

ctsc_status cuda_fail(cuda *c, diag *d, CUresult r, const char *what) {
    ctsc_status status = CTSC_ENVIRONMENT;
    if (context_sticky(r)) {
        atomic_store(&c->broken, r);
        if (r != CUDA_ERROR_ECC_UNCORRECTABLE) status = CTSC_INTERNAL;
    }
    return context_describe(c->driver, d, status, r, what);
}

/* ---- the way in ------------------------------------------------------------------------------ */

static void context_child(void) { atomic_store(&context_forked, true); }

ctsc_status cuda_enter(cuda *c, diag *d) {
    int broken = atomic_load(&c->broken);
    if (atomic_load(&context_forked))
        return diag_fail(
            d, CTSC_ENVIRONMENT,
            "cuda:%d was opened before this process was forked; CUDA works in a new process only",
            c->index);
    if (broken) {
        ctsc_status st = context_describe(c->driver, d, CTSC_ENVIRONMENT, broken,
                                          "an earlier call");
        diag_note(d, (source_range){0}, "cuda:%d can not be used any more by this process",
                  c->index);
        return st;
    }
    CUresult r = c->driver->cuCtxSetCurrent(c->context);
    return r == CUDA_SUCCESS ? CTSC_OK : cuda_fail(c, d, r, "cuCtxSetCurrent");
}

ctsc_status cuda_lock(cuda *c, diag *d) {
    TRY(cuda_enter(c, d));
    pthread_mutex_lock(&c->lock);
    return CTSC_OK;
}

void cuda_unlock(cuda *c) { pthread_mutex_unlock(&c->lock); }

/* An event after all work queued so far: unlike the stream, it is
 * reached regardless of what other threads queue meanwhile. */
static ctsc_status context_mark(cuda *c, diag *d, CUevent *out) {
    CUevent event = NULL;
    ctsc_status st = cuda_capture_refuse(d, "waiting for the device");
    if (st == CTSC_OK) st = cuda_lock(c, d);
    if (st != CTSC_OK) return st;
    CUresult r = c->driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    if (r == CUDA_SUCCESS) r = c->driver->cuEventRecord(event, c->stream);
    if (r != CUDA_SUCCESS) st = cuda_fail(c, d, r, "cuEventRecord");
    cuda_unlock(c);
    if (st == CTSC_OK) *out = event;
    else if (event) c->driver->cuEventDestroy(event);
    return st;
}

ctsc_status cuda_wait(cuda *c, diag *d) {
    CUevent event;
    TRY(context_mark(c, d, &event));
    CUresult r = c->driver->cuEventSynchronize(event);
    c->driver->cuEventDestroy(event);
    return r == CUDA_SUCCESS ? CTSC_OK : cuda_fail(c, d, r, "cuEventSynchronize");
}

ctsc_status cuda_call(cuda *c, diag *d, cuda_call_fn fn, const void *params, size_t nbytes) {
    if (cuda_capturing)
        return cuda_capture_add(c, d, (command){.kind = COMMAND_CALL, .fn = fn}, params, nbytes);
    TRY(cuda_lock(c, d));
    ctsc_status st = fn(d, c->stream, params);
    cuda_unlock(c);
    return st;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* The driver, started; NULL and why. */
static const cuda_driver *context_start(diag *d, int *count) {
    const cuda_driver *driver = cuda_driver_open(d);
    if (!driver) return NULL;
    CUresult r = driver->cuInit(0);
    if (r == CUDA_SUCCESS) r = driver->cuDeviceGetCount(count);
    if (r == CUDA_SUCCESS && *count == 0) r = CUDA_ERROR_NO_DEVICE;
    if (r == CUDA_SUCCESS) return driver;
    context_describe(driver, d, CTSC_ENVIRONMENT, r, "cuInit");
    return NULL;
}

int cuda_device_count(diag *d) {
    int count = 0;
    return context_start(d, &count) ? count : 0;
}

static CUresult context_properties(cuda *c) {
    cuda_properties *p = &c->properties;
    int shared = 0, l2 = 0;
    const struct {
        int attribute, *out;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &p->major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &p->minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &p->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &p->threads_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &p->threads_per_block},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &p->clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &p->memory_clock_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &p->memory_bus_bits},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
    };
    CUresult r = c->driver->cuDeviceGetName(p->name, sizeof p->name, c->device);
    if (r == CUDA_SUCCESS) r = c->driver->cuDeviceTotalMem(&p->memory, c->device);
    if (r == CUDA_SUCCESS) r = c->driver->cuDriverGetVersion(&p->driver_version);
    for (size_t i = 0; r == CUDA_SUCCESS && i < sizeof wanted / sizeof *wanted; i++)
        if (c->driver->cuDeviceGetAttribute(wanted[i].out, wanted[i].attribute, c->device) !=
            CUDA_SUCCESS)
            *wanted[i].out = 0;
    /* Clocks and the like may be unknown to a driver. These not. */
    if (r == CUDA_SUCCESS && (!p->major || !p->multiprocessors || !p->threads_per_block || !shared))
        r = CUDA_ERROR_INVALID_DEVICE;
    p->shared_per_block = (size_t)shared;
    p->l2_bytes = (size_t)l2;
    return r;
}

static ctsc_status context_open(cuda *c, diag *d) {
    CUresult r = c->driver->cuDeviceGet(&c->device, c->index);
    if (r == CUDA_SUCCESS) r = context_properties(c);
    if (r != CUDA_SUCCESS) return cuda_fail(c, d, r, "cuDeviceGet");
    r = c->driver->cuDevicePrimaryCtxRetain(&c->context, c->device);
    if (r != CUDA_SUCCESS) return cuda_fail(c, d, r, "cuDevicePrimaryCtxRetain");
    TRY(cuda_enter(c, d));
    /* Work of other users of the context does not wait for ours, nor ours for it. */
    r = c->driver->cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING);
    return r == CUDA_SUCCESS ? CTSC_OK : cuda_fail(c, d, r, "cuStreamCreate");
}

static void context_watch_forks(void) { pthread_atfork(NULL, NULL, context_child); }

static ctsc_status context_new(diag *d, const cuda_driver *driver, int index, cuda **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    cuda *c = mem_zalloc(sizeof *c);
    if (!c) return diag_no_memory(d);
    pthread_once(&once, context_watch_forks);
    c->driver = driver;
    c->index = index;
    ctsc_status st = context_open(c, d);
    if (st != CTSC_OK) {
        mem_free(c);
        return st;
    }
    pthread_mutex_init(&c->lock, NULL);
    memory_init(&c->memory);
    programs_init(&c->programs);
    *out = c;
    return CTSC_OK;
}

ctsc_status cuda_open(diag *d, int index, cuda **out) {
    if (index < 0 || index >= CONTEXT_MAX_DEVICES)
        return diag_fail(d, CTSC_ENVIRONMENT, "there is no device cuda:%d", index);
    pthread_mutex_lock(&context_lock);
    cuda *c = context_devices[index];
    ctsc_status st = CTSC_OK;
    if (!c) {
        int count = 0;
        const cuda_driver *driver = context_start(d, &count);
        if (!driver) st = CTSC_ENVIRONMENT;
        else if (index >= count)
            st = diag_fail(d, CTSC_ENVIRONMENT, "there is no device cuda:%d: the driver has %d",
                           index, count);
        else st = context_new(d, driver, index, &c);
        if (st == CTSC_OK) context_devices[index] = c;
    }
    pthread_mutex_unlock(&context_lock);
    if (st == CTSC_OK) *out = c;
    return st;
}

int cuda_index(const cuda *c) { return c->index; }

const cuda_properties *cuda_get_properties(const cuda *c) { return &c->properties; }
