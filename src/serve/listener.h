/* SPDX-License-Identifier: Apache-2.0 */
/* listener.h - takes new connections and hands them on, until it is told to stop. */
#ifndef CTSC_SERVE_LISTENER_H
#define CTSC_SERVE_LISTENER_H

#include "serve/serve.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

typedef struct listener {
    /* the descriptor, which does not block, is take's */
    void (*take)(void *ctx, int fd, const struct sockaddr *from, socklen_t len);
    bool (*room)(void *ctx); /* for one connection more; else it waits in the kernel's queue */
    void *ctx;
    const char *path; /* of a Unix socket; NULL: it is none */
    int fd, wake, port;
    bool running;
    pthread_t thread;
} listener;

/* The path of a Unix socket, which hosts name as "unix:PATH"; NULL: it is an address. */
const char *listener_path(const char *host);
/* Listens: connections wait from here on. host: stays. False: *why, and nothing
 * is to be stopped. */
bool listener_open(listener *l, const char *host, int port, char *why, size_t size);
/* False: no thread. */
bool listener_start(listener *l);
/* Takes over what the kernel has accepted by now, and listens no more; after
 * listener_open, once. */
void listener_stop(listener *l);

#endif
