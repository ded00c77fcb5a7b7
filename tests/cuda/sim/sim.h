/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h - CUDA's driver and NVRTC without a device: what the files of this folder share.
 *
 * libcudasim.so replaces libcuda.so.1 and libnvrtc.so (CTSC_CUDA_DRIVER and
 * CTSC_NVRTC name it), with the functions of src/cuda/abi.h. It is a tool for
 * finding errors, so it is stricter than a device where that costs little:
 *
 *   arena.c    Device memory is host memory that can be touched only while the "device" works: a host access to it is a crash. Between
 *              allocations are inaccessible pages; the bytes up to them are checked when an allocation is freed.
 *   queue.c    What streams are asked for, in order, and recordings (graphs). By default it happens at once.
 *   compile.c  NVRTC: kernels are compiled by the host's C++ compiler after tests/cuda/shim.h into a shared object.
 *   real.c     The real NVRTC as a second reader of the kernels, on demand.
 *   launch.c   Runs a kernel, block by block; threads of a block take turns, and meet at barriers and in shuffles as on a device.
 *   races.c    Watches accesses to shared memory, on demand.
 *   driver.c   The functions of the driver.
 *   library.c, blas.c, dnn.c   cuBLASLt and cuDNN (library.h).
 *
 * In the environment:
 *   CTSC_SIM_ARCH=90            compute capability of the device
 *   CTSC_SIM_NEWEST=120         the newest architecture its NVRTC knows
 *   CTSC_SIM_MEMORY=BYTES       of the device (4 GiB)
 *   CTSC_SIM_DEVICES=N          how many there are (1)
 *   CTSC_SIM_LAZY=1             nothing happens until somebody waits: finds missing waits
 *   CTSC_SIM_REVERSE=1          threads take turns from last to first: finds missing barriers
 *   CTSC_SIM_RACES=1            kernels are watched for accesses to shared memory that no barrier orders
 *   CTSC_SIM_NO_CAPTURE=1       captures fail at their end
 *   CTSC_SIM_KEEP=FOLDER        keeps the sources that were compiled
 *   CTSC_SIM_NVRTC=FILE         the real libnvrtc.so, which compiles each program as well
 *   CXX                         the compiler (c++)
 *
 * One lock guards everything; a launch happens under it. Not simulated: more than one context,
 * textures, clusters, anything in PTX.
 */
#ifndef CTSC_TESTS_SIM_H
#define CTSC_TESTS_SIM_H

#include "../shim.h"
#include "cuda/abi.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_API __attribute__((visibility("default")))

/* The functions' prototypes, so that the compiler compares the definitions with the tables
 * that ctsc calls by. */
#define SIM_PROTOTYPE(name, symbol, params) SIM_API int symbol params;
CUDA_DRIVER_FUNCTIONS(SIM_PROTOTYPE)
CUDA_NVRTC_FUNCTIONS(SIM_PROTOTYPE)

/* A number from the environment. */
long long sim_setting(const char *name, long long otherwise);
/* For people: on standard error. */
void sim_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- arena.c --------------------------------------------------------------------------------- */

/* 0: out of memory. Aligned to 512 bytes. */
CUdeviceptr sim_arena_alloc(size_t nbytes);
/* False: p is no allocation. Ends the process if somebody wrote beside it. */
bool sim_arena_free(CUdeviceptr p);
/* Is all of this in one allocation? */
bool sim_arena_has(CUdeviceptr p, size_t nbytes);
/* Makes these bytes of device memory accessible, until sim_arena_close; or those around p, which
 * a kernel has just tried to access. False: it is not device memory, or was already accessible. */
bool sim_arena_touch(const void *p, size_t nbytes);
bool sim_arena_touch_around(const void *p);
void sim_arena_close(void);
size_t sim_arena_total(void);
size_t sim_arena_used(void);

/* ---- real.c ---------------------------------------------------------------------------------- */

/* False: NVRTC does not take the program; *log, the caller's, says why. */
bool sim_real_compile(const char *text, const char *name, int nheaders, const char *const *headers,
                      const char *const *header_names, char **log);

/* ---- launch.c -------------------------------------------------------------------------------- */

struct CUmod_st {
    void *library;
    const struct sim_image *image;
    struct CUfunc_st *functions;
};

struct CUfunc_st {
    CUmodule module;
    const struct sim_kernel *kernel;
    int dynamic; /* most bytes of dynamic shared memory */
    struct CUfunc_st *next;
};

typedef struct sim_launch {
    CUfunction function;
    struct dim3 grid, block;
    unsigned shared;
    const char *params;
} sim_launch;

/* Opens the memory that the kernel touches, and leaves it open. */
CUresult sim_run(const sim_launch *launch);

/* ---- races.c --------------------------------------------------------------------------------- */

/* A block begins; its shared memory is these two ranges. */
void sim_races_begin(const char *fixed, size_t nfixed, const char *dynamic, size_t ndynamic);
/* All threads of the block have met at a barrier; the lanes of a warp have, in __syncwarp. */
void sim_races_barrier(void);
void sim_races_warp(int warp);
/* The thread with whose access this one is in a race; -1: there is none. */
int sim_races_access(int thread, const char *p, unsigned nbytes, bool write);

/* ---- queue.c --------------------------------------------------------------------------------- */

typedef enum sim_kind { SIM_COPY, SIM_FILL, SIM_LAUNCH, SIM_CALL, SIM_RECORD } sim_kind;

/* One thing that a stream is asked for. */
typedef struct sim_work {
    sim_kind kind;
    void *to;
    const void *from;
    size_t nbytes;
    unsigned char byte;
    sim_launch launch;
    CUevent event;
    void (*call)(const void *bytes); /* opens the memory that it touches, and leaves it open */
    /* its own copy of what `from` or `launch.params` points to or `call` is given, or NULL */
    void *bytes;
    /* of a graph that can be launched: what it is a copy of in the graph it was made from */
    const struct sim_work *node;
    struct sim_work *next;
} sim_work;

struct CUevent_st {
    int pending; /* recordings in the queue */
};

struct CUgraph_st {
    sim_work *first, **last;
    CUgraphNode newest; /* the one that was captured last */
};

struct CUgraphExec_st {
    struct CUgraph_st graph;
};

struct CUstream_st {
    CUgraph capture; /* what goes into it goes there; or NULL */
    bool spoilt;     /* the capture was asked for something that cannot be captured */
};

/* The error after which the device does nothing any more, or 0. */
extern CUresult sim_broken;

/* How often the host has waited for the device so far: for events, for the stream, for memory that
 * is freed, for copies to memory that is not pinned. */
SIM_API long long cudasim_waits(void);
void sim_count_wait(void);

/* Adds a copy of w to what s has to do; bytes: of `bytes` to copy as well. */
CUresult sim_ask(CUstream s, const sim_work *w, size_t bytes);
/* Does all that was asked for. */
CUresult sim_finish(void);
/* As sim_ask for each work of g. */
CUresult sim_ask_graph(CUstream s, const struct CUgraph_st *g);
CUgraph sim_graph_new(void);
void sim_graph_clear(struct CUgraph_st *g);

/* ---- compile.c ------------------------------------------------------------------------------- */

/* In front of the shared object in an image. */
typedef struct sim_image_header {
    char magic[8];
    int32_t arch, virtual; /* 90; compiled as PTX */
    uint64_t size;
} sim_image_header;
extern const char sim_magic[8];

#endif
