/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - a CUDA device: its memory, its stream, its programs. Nothing here knows of
 * tensors or graphs.
 *
 * All of CUDA is opened at run time (library.h): the driver (libcuda.so.1) and the compiler of
 * kernels, NVRTC; cuBLASLt and cuDNN by their own users. ctsc builds, loads and works without any
 * of them; their users fail with CTSC_ENVIRONMENT and say what is missing. CTSC_CUDA_DRIVER
 * and CTSC_NVRTC in the environment name other files to open (docs/cuda.md lists all variables).
 *
 * One `cuda` per device and process, made at the first request, with the
 * device's primary context. All work goes to one stream of it, in the order
 * of requests from any thread, so freed memory may be reused by later work
 * without waiting, and a tensor made by one thread may be used by another.
 * Only cuda_read, cuda_wait and running out of memory wait for the device.
 *
 * A kernel that fails (an illegal address) is found out at one of the next calls; the device's
 * context is of no use then, each later call says so, and the host's side of the process goes on.
 *
 * Files: library.c, the functions of the driver and NVRTC; context.c, devices and errors;
 * memory.c, the caching allocator; staging.c, copies; program.c, source to loaded kernels, with
 * the cache of images on disk; capture.c and replay.c, calls that are captured once and then asked
 * for as a whole (replay.h).
 * All functions are thread-safe.
 * Tests: tests/unit/test_cuda_*.c, on a simulated device (tests/cuda/sim), so on any machine.
 */
#ifndef CTSC_CUDA_CUDA_H
#define CTSC_CUDA_CUDA_H

#include "base/diag.h"

typedef struct cuda cuda;

/* ---- devices --------------------------------------------------------------------------------- */

/* How many there are; 0 without a driver, or where it does not start: then why, in d
 * (which may be NULL). */
int cuda_device_count(diag *d);
/* index: from 0. Fails with CTSC_ENVIRONMENT. */
ctsc_status cuda_open(diag *d, int index, cuda **out);
int cuda_index(const cuda *c);

typedef struct cuda_properties {
    char name[256];
    int major, minor; /* compute capability */
    int multiprocessors, threads_per_multiprocessor, threads_per_block;
    int clock_khz, memory_clock_khz, memory_bus_bits;
    size_t memory;           /* bytes of the device */
    size_t shared_per_block; /* most bytes of shared memory a block can have when it asks for it */
    size_t l2_bytes;
    int driver_version; /* 12040: 12.4 */
} cuda_properties;
const cuda_properties *cuda_get_properties(const cuda *c);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Uninitialised, aligned to 512 bytes; nbytes 0 gives NULL. Out of memory: what the cache holds is
 * given back to the driver and it is tried again; then CTSC_LIMIT in PyTorch's words ("CUDA out of
 * memory. Tried to allocate 2.00 GiB (GPU 0; ..."). */
ctsc_status cuda_alloc(cuda *c, diag *d, size_t nbytes, void **out);
/* p: from cuda_alloc, or NULL. What was asked of the device before may still use it. */
void cuda_free(cuda *c, void *p);

typedef struct cuda_memory_stats {
    /* bytes in blocks that are handed out; taken from the driver */
    size_t live, reserved;
    size_t peak_live, peak_reserved; /* since the start or cuda_reset_peaks */
    int64_t allocations, from_cache, flushes;
} cuda_memory_stats;
cuda_memory_stats cuda_get_memory_stats(cuda *c);
void cuda_reset_peaks(cuda *c);
/* Most bytes to take from the driver; 0: no limit. CTSC_CUDA_MEMORY_LIMIT (bytes) in the
 * environment sets it at the start. */
void cuda_set_memory_limit(cuda *c, size_t nbytes);
/* Gives cached blocks back to the driver. Waits for the device. */
void cuda_empty_cache(cuda *c);

/* Waits, then copies. */
ctsc_status cuda_read(cuda *c, diag *d, void *host, const void *device, size_t nbytes);
/* host may be used again when it returns: the bytes went through pinned memory. */
ctsc_status cuda_write(cuda *c, diag *d, void *device, const void *host, size_t nbytes);
ctsc_status cuda_move(cuda *c, diag *d, void *to, const void *from, size_t nbytes);
ctsc_status cuda_zero(cuda *c, diag *d, void *device, size_t nbytes);
/* Until all that was asked is done. */
ctsc_status cuda_wait(cuda *c, diag *d);

/* ---- programs -------------------------------------------------------------------------------- */

/* CUDA C++ for NVRTC. The text with the names of its kernels is the program's identity: the same
 * text is compiled once, in this process and, through the folder of compiled kernels (base/disk.h),
 * in later ones. Headers is a NULL-ended list of name, text pairs for #include. */
typedef struct cuda_source {
    const char *text;
    size_t len;
    const char *name;           /* for messages: "group.cu" */
    const char *const *headers; /* may be NULL; they and their texts live as long as the process */
} cuda_source;

/* Compiled code, mem_alloc'd: a cubin for arch "sm_90", PTX text for "compute_90". Needs NVRTC,
 * no device. d: NVRTC's log if it fails. CTSC_ENVIRONMENT: there is no NVRTC, or it does not know
 * the architecture. */
ctsc_status cuda_compile(diag *d, const cuda_source *source, const char *arch, void **image,
                         size_t *size);
/* "NVRTC 13.0", or "" with why in d. */
const char *cuda_compiler(diag *d);

typedef struct cuda_kernel cuda_kernel;
/* The kernel `symbol` (extern "C") of a program, compiled and loaded at the first request; lives as
 * long as the process. shared: bytes of dynamic shared memory that launches of it may ask for. */
ctsc_status cuda_kernel_get(cuda *c, diag *d, const cuda_source *source, const char *symbol,
                            size_t shared, const cuda_kernel **out);

typedef struct cuda_shape {
    unsigned grid[3], block[3];
    size_t shared; /* bytes of dynamic shared memory of a block */
} cuda_shape;
/* params: the kernel's parameters as one struct in memory (its kernel takes that struct
 * by value), nbytes the struct's size, at most 4000. A grid of no blocks is no work. */
ctsc_status cuda_launch(cuda *c, diag *d, const cuda_kernel *k, const cuda_shape *shape,
                        const void *params, size_t nbytes);
/* How many blocks of this size the device runs at once, for grid-stride kernels. */
int cuda_resident_blocks(cuda *c, const cuda_kernel *k, int threads, size_t shared);

typedef struct cuda_program_stats {
    int64_t compiled, from_disk, launches;
    double compile_ms;
} cuda_program_stats;
cuda_program_stats cuda_get_program_stats(cuda *c);

/* ---- for other libraries of CUDA (cuBLASLt, cuDNN) ------------------------------------------- */

/* Makes the device's context the calling thread's, as they expect it. */
ctsc_status cuda_enter(cuda *c, diag *d);
/* Asks for what they do in the device's order: fn is called with the stream (a CUstream) and
 * must ask nothing else of this layer. It is called now, or, where the call is captured
 * (capture.h), once for each time it is done again. params: nbytes of it, copied, with addresses
 * at multiples of 8. */
typedef ctsc_status (*cuda_call_fn)(diag *d, void *stream, const void *params);
ctsc_status cuda_call(cuda *c, diag *d, cuda_call_fn fn, const void *params, size_t nbytes);

#endif
