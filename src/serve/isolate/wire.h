/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - values in memory that the server shares with a model's process (worker.h).
 *
 * The memory is a file without a name that can grow but not shrink. Its first page is for the two
 * ends' own use, values follow. The server reads what a process wrote as it reads a request: the
 * process may run a hostile model. Numbers are copied before they are checked, since the other side
 * can change them at any time, and sizes are held against the memory that there is.
 */
#ifndef CTSC_SERVE_ISOLATE_WIRE_H
#define CTSC_SERVE_ISOLATE_WIRE_H

#include "ctsc.h"

enum { WIRE_VALUES = 4096 }; /* where values begin */

typedef struct wire {
    int fd;
    void *page;  /* the first page, at an address that stays */
    char *base;  /* all of it; moves when it grows */
    size_t size; /* as far as it is mapped */
} wire;

typedef enum wire_status {
    WIRE_OK,
    WIRE_NO_MEMORY,
    WIRE_REFUSED /* a value of a kind that is not carried; bytes that are no value */
} wire_status;

/* Takes the descriptor over in any case. False: without memory. */
bool wire_open(wire *w, int fd_take);
void wire_close(wire *w); /* w may be all zeros */
/* Maps `size` bytes, and makes those that there are not. */
bool wire_reach(wire *w, size_t size);
/* Maps `size` bytes, which the other side says it made. */
bool wire_follow(wire *w, size_t size);
/* Gives back memory that a large call used. */
void wire_trim(wire *w);

/* Tensors, numbers, bools, strings, None, and lists of these. *at: where to write or read; moved to
 * what follows. A tensor is written row-major, and read into memory of its own. */
wire_status wire_put(wire *w, size_t *at, const ctsc_value *v);
wire_status wire_get(const wire *w, size_t *at, ctsc_value **out);

#endif
