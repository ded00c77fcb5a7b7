/* SPDX-License-Identifier: Apache-2.0 */
/* capture_internal.h - commands as replay.c reads them, and how the other files of this
 * folder write them. */
#ifndef CTSC_CUDA_CAPTURE_INTERNAL_H
#define CTSC_CUDA_CAPTURE_INTERNAL_H

#include "base/memory/vec.h"
#include "cuda/capture.h"

#include <stdint.h>

typedef enum command_kind {
    COMMAND_LAUNCH,
    COMMAND_MOVE,
    COMMAND_ZERO,
    COMMAND_WRITE,
    COMMAND_CALL
} command_kind;

/* One command for the device. Its parameters are bytes with addresses
 * at multiples of 8: a kernel's parameters, a call's, {to, from} of a
 * copy, {to} of a fill, {to, NULL} of a copy from the host. */
typedef struct command {
    command_kind kind;
    const cuda_kernel *kernel; /* COMMAND_LAUNCH */
    cuda_shape shape;
    cuda_call_fn fn;       /* COMMAND_CALL */
    size_t moved;          /* bytes: COMMAND_MOVE, COMMAND_ZERO, COMMAND_WRITE */
    size_t content;        /* COMMAND_WRITE: where in cuda_capture.contents */
    size_t params, nbytes; /* where in cuda_capture.bytes, and how many */
} command;

/* Memory that the call finds or makes. */
typedef struct capture_slot {
    uintptr_t base;
    size_t nbytes;
    /* the commands [born, freed) may use it; freed is SIZE_MAX while it is allocated */
    size_t born, freed;
} capture_slot;

struct cuda_capture {
    cuda *device;
    uintptr_t next; /* address of the next slot */
    size_t gap;     /* between slots */
    VEC(command) commands;
    VEC(capture_slot) slots;
    VEC(char) bytes;    /* parameters */
    VEC(char) contents; /* what was written from the host */
    int ninputs;
    bool no_memory;
    char refused[128]; /* what was asked for and cannot be captured */
};

/* The commands that the calling thread takes, or NULL. */
extern _Thread_local cuda_capture *cuda_capturing;

/* What cuda_launch and the like do while it captures. x: except for its parameters. */
ctsc_status cuda_capture_add(cuda *c, diag *d, command x, const void *params, size_t nbytes);
ctsc_status cuda_capture_alloc(cuda *c, diag *d, size_t nbytes, void **out);
ctsc_status cuda_capture_write(cuda *c, diag *d, void *to, const void *host, size_t nbytes);
/* False: p is no made-up address. */
bool cuda_capture_release(const void *p);

#endif
