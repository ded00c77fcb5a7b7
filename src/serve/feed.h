/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - the content of a response that is sent while it is still being made: text from one
 * thread to another.
 *
 * Ownership. A feed has two holders: who writes, until feed_end, and who reads, until feed_leave.
 * The second one of them frees it.
 */
#ifndef CTSC_SERVE_FEED_H
#define CTSC_SERVE_FEED_H

#include "serve/protocol.h"

#include <sys/types.h>

typedef struct feed feed;

/* For the response of x; NULL: out of memory. x->wake is called whenever a reader that waits has
 * something to read, on the writer's thread. */
feed *feed_new(exchange *x);

/* The writer's. False: there is no memory, and what the reader gets ends here. */
bool feed_put(feed *f, const buffer *text);
void feed_end(feed *f);

/* The reader's. How much was read; -1: the end; 0: nothing is there yet, and wait was called. */
ssize_t feed_take(feed *f, char *to, size_t room, void (*wait)(exchange *x));
/* False: it is still being written. Then cancel, which stops that, has been set, and is the
 * feed's. */
bool feed_leave(feed *f, ctsc_cancel *cancel);

#endif
