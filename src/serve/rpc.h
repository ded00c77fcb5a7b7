/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc.h - gRPC beside HTTP: what the server asks of it, and the interface between the command and
 * libctsc-grpc.so, the one file that needs libgrpc.
 *
 * The library turns each call into an exchange, as if it had come over HTTP, and its response into
 * the answer. So requests are checked, run, counted and logged by the same code, and this
 * interface is one of functions that the command lends, and of sockets that it has accepted.
 */
#ifndef CTSC_SERVE_RPC_H
#define CTSC_SERVE_RPC_H

#include "serve/access_log.h"

#include <sys/socket.h>

/* ---- for the server (rpc.c) ------------------------------------------------------------------ */

typedef struct rpc rpc;

/* Opens the library and listens: connections wait. NULL: *why. */
rpc *rpc_open(server *s, access_log *log, char *why, size_t size);
/* Serves them. False: *why. */
bool rpc_start(rpc *r, char *why, size_t size);
int rpc_port(const rpc *r);
/* Ends calls on which a message has been arriving for too long. Called a few times a second. */
void rpc_tend(rpc *r);
/* Stops what the models run for calls. */
void rpc_cancel(rpc *r);
/* Takes no new connections and no new calls. */
void rpc_quiesce(rpc *r);
/* Closes all connections; after rpc_quiesce, when no request is in flight. r is gone then. */
void rpc_stop(rpc *r);

/* ---- for the library (src/serve/grpc) -------------------------------------------------------- */

enum { RPC_INTERFACE = 1 };

/* What the command lends. */
typedef struct rpc_host {
    server *s;
    access_log *log;
    bool (*allowed)(exchange *x);
    bool (*handle)(exchange *x);
    void (*keep_free)(void *kept);
    void (*log_request)(access_log *l, const exchange *x, const char *address, uint64_t total_ns);
    void (*log_trace)(char out[56], const char *header);
} rpc_host;

typedef struct rpc_door rpc_door;

/* What the library offers; the functions of the same names above say what they do. */
typedef struct rpc_interface {
    int version; /* RPC_INTERFACE */
    /* of the structures that both sides look into: another build's may differ */
    size_t exchange_size, server_size;
    rpc_door *(*open)(const rpc_host *host); /* NULL: it cannot be started */
    /* A new connection; fd is the door's. */
    void (*take)(rpc_door *d, int fd, const struct sockaddr *from, socklen_t len);
    void (*tend)(rpc_door *d);
    void (*cancel)(rpc_door *d);
    void (*quiesce)(rpc_door *d);
    void (*close)(rpc_door *d);
} rpc_interface;

#define RPC_ENTRY "ctsc_grpc_interface"
typedef const rpc_interface *(*rpc_entry)(void);

#endif
