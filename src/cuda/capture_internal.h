/* SPDX-License-Identifier: Apache-2.0 */
/* capture_internal.h - commands as replay.c reads them, and how the other files of this
 * folder write them. */
#ifndef CTSC_CUDA_CAPTURE_INTERNAL_H
#define CTSC_CUDA_CAPTURE_INTERNAL_H

#include "base/vec.h"
#include "cuda/capture.h"

#include <stdint.h>

typedef enum note_kind { NOTE_LAUNCH, NOTE_MOVE, NOTE_ZERO, NOTE_WRITE, NOTE_CALL } note_kind;

/* One thing the device is asked for. Its parameters are bytes in which addresses lie at multiples
 * of 8: a kernel's parameters, a call's, {to, from} of a copy, {to} of a filling, {to, NULL} of
 * what comes from the host. */
typedef struct note {
    note_kind kind;
    const cuda_kernel *kernel; /* NOTE_LAUNCH */
    cuda_shape shape;
    cuda_call_fn fn;       /* NOTE_CALL */
    size_t moved;          /* bytes: NOTE_MOVE, NOTE_ZERO, NOTE_WRITE */
    size_t content;        /* NOTE_WRITE: where in cuda_capture.contents */
    size_t params, nbytes; /* where in cuda_capture.bytes, and how many */
} note;

/* Memory that the call finds or makes. */
typedef struct note_slot {
    uintptr_t base;
    size_t nbytes;
    /* the commands [born, freed) may use it; freed is SIZE_MAX while it is allocated */
    size_t born, freed;
} note_slot;

struct cuda_capture {
    cuda *device;
    uintptr_t next; /* address of the next slot */
    size_t gap;     /* between slots */
    VEC(note) commands;
    VEC(note_slot) slots;
    VEC(char) bytes;    /* parameters */
    VEC(char) contents; /* what was written from the host */
    int ninputs;
    bool no_memory;
    char refused[128]; /* what was asked for and cannot be noted */
};

/* The commands that the calling thread takes, or NULL. */
extern _Thread_local cuda_capture *cuda_noting;

/* What cuda_launch and the like do while it captures. x: but for its parameters. */
ctsc_status cuda_capture_add(cuda *c, diag *d, note x, const void *params, size_t nbytes);
ctsc_status cuda_capture_alloc(cuda *c, diag *d, size_t nbytes, void **out);
ctsc_status cuda_capture_write(cuda *c, diag *d, void *to, const void *host, size_t nbytes);
/* False: p is no made-up address. */
bool cuda_capture_release(const void *p);

#endif
