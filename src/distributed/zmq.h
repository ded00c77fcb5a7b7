/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq.h - ZeroMQ, opened when it is first needed, and the secret that connections ask for.
 *
 * ZeroMQ carries the messages of the TCP store and of remote calls: it frames, queues, connects
 * again, and encrypts (CURVE). Its binary interface has been the same since version 4.0, so what
 * is declared here needs no header of it. All servers of a launch have one key pair, which follows
 * from the secret. A client has to know the public key, which no message contains: who does not
 * know the secret cannot even begin to talk.
 */
#ifndef CTSC_DISTRIBUTED_ZMQ_H
#define CTSC_DISTRIBUTED_ZMQ_H

#include "distributed/dist.h"

typedef struct zmq_msg { _Alignas(void *) unsigned char room[64]; } zmq_msg;
typedef struct zmq_item {
    void *socket;
    int fd;
    short events, revents;
} zmq_item;

/* Functions of libzmq.so.5. */
#define ZMQ_FUNCTIONS(X)                                                                           \
    X(void *, ctx_new, (void))                                                                     \
    X(int, ctx_term, (void *ctx))                                                                  \
    X(void *, socket, (void *ctx, int type))                                                       \
    X(int, close, (void *socket))                                                                  \
    X(int, setsockopt, (void *socket, int option, const void *value, size_t bytes))                \
    X(int, getsockopt, (void *socket, int option, void *value, size_t *bytes))                     \
    X(int, bind, (void *socket, const char *endpoint))                                             \
    X(int, connect, (void *socket, const char *endpoint))                                          \
    X(int, send, (void *socket, const void *data, size_t bytes, int flags))                        \
    X(int, msg_init, (zmq_msg * m))                                                                \
    X(int, msg_recv, (zmq_msg * m, void *socket, int flags))                                       \
    X(void *, msg_data, (zmq_msg * m))                                                             \
    X(size_t, msg_size, (const zmq_msg *m))                                                        \
    X(int, msg_more, (const zmq_msg *m))                                                           \
    X(int, msg_close, (zmq_msg * m))                                                               \
    X(int, poll, (zmq_item * items, int n, long timeout_ms))                                       \
    X(int, has, (const char *capability))                                                          \
    X(char *, z85_encode, (char *text, const uint8_t *data, size_t bytes))                         \
    X(int, curve_keypair, (char *public_key, char *secret_key))                                    \
    X(int, curve_public, (char *public_key, const char *secret_key))                               \
    X(int, errno, (void))                                                                          \
    X(const char *, strerror, (int code))

typedef struct zmq_library {
#define ZMQ_FIELD(result, name, arguments) result(*zmq_##name) arguments;
    ZMQ_FUNCTIONS(ZMQ_FIELD)
#undef ZMQ_FIELD
} zmq_library;

/* Constants of its interface. */
enum {
    ZMQ_DEALER = 5,
    ZMQ_ROUTER = 6,
    ZMQ_PULL = 7,
    ZMQ_PUSH = 8,
    ZMQ_LINGER = 17,
    ZMQ_MAX_MESSAGE = 22,
    ZMQ_SEND_MARK = 23,
    ZMQ_RECEIVE_MARK = 24,
    ZMQ_LAST_ENDPOINT = 32,
    ZMQ_IPV6 = 42,
    ZMQ_CURVE_SERVER = 47,
    ZMQ_CURVE_PUBLIC = 48,
    ZMQ_CURVE_SECRET = 49,
    ZMQ_CURVE_SERVER_KEY = 50,
    ZMQ_READABLE = 1, /* of a zmq_item */
    ZMQ_NOW = 1,      /* flag: do not wait */
    ZMQ_MORE = 2,     /* flag: a further part of the message follows */
    ZMQ_KEY = 41,     /* bytes of a key as text, with its end */
    ZMQ_FRAMES = 8    /* more than any message of ours has */
};

/* NULL, with why and what to do. */
const zmq_library *zmq_open(ctsc_dist_error *e);
/* A context and a socket of it that serves, or connects: with the keys of the secret. */
void *zmq_socket_new(const zmq_library *z, void *ctx, int type, bool serves, ctsc_dist_error *e);
/* Binds a socket to a port of all addresses, 0: a free one; the port goes to *port. */
ctsc_status zmq_serve(const zmq_library *z, void *socket, int *port, ctsc_dist_error *e);
/* Receives all parts of a message, at most ZMQ_FRAMES; how many. Each is to be closed. */
int zmq_receive_all(const zmq_library *z, void *socket, zmq_msg parts[ZMQ_FRAMES]);
void zmq_close_all(const zmq_library *z, zmq_msg *parts, int n);

#endif
