/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mail.c - messages between processes over ZeroMQ: what remote calls are made of.
 *
 * Each process serves one socket and leaves its address in the store; whoever has something for it
 * connects to that when it first does. Messages of one sender arrive in order. What was sent to a
 * process that has ended is dropped when this one ends, after MAIL_LINGER_MS.
 */
#include "distributed/store.h"

#include "distributed/zmq.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAIL_LINGER_MS = 5000, MAIL_KEY = 200, MAIL_WAKE_MS = 200 };

typedef struct mail_peer {
    struct mail_peer *next;
    int number;
    void *socket;
} mail_peer;

struct ctsc_dist_mail {
    const zmq_library *z;
    ctsc_dist_store *store;
    void *ctx, *socket; /* socket: what arrives */
    mail_peer *peers;
    pthread_mutex_t lock; /* of the peers and their sockets */
    char prefix[MAIL_KEY - 40];
};

static void mail_key(const ctsc_dist_mail *m, int number, char key[MAIL_KEY]) {
    snprintf(key, MAIL_KEY, "%s/mail/%d", m->prefix, number);
}

void ctsc_dist_mail_free(ctsc_dist_mail *m) {
    int linger = MAIL_LINGER_MS;
    if (!m) return;
    for (mail_peer *p = m->peers, *next; p; p = next) {
        next = p->next;
        m->z->zmq_setsockopt(p->socket, ZMQ_LINGER, &linger, sizeof linger);
        m->z->zmq_close(p->socket);
        free(p);
    }
    if (m->socket) m->z->zmq_close(m->socket);
    if (m->ctx) m->z->zmq_ctx_term(m->ctx);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

ctsc_status ctsc_dist_mail_open(ctsc_dist_store *store, const char *prefix, int self,
                                const char *host, ctsc_dist_mail **out, ctsc_dist_error *e) {
    const zmq_library *z = zmq_open(e);
    char key[MAIL_KEY], where[300];
    int port = 0;
    if (!z) return CTSC_ENVIRONMENT;
    ctsc_dist_mail *m = calloc(1, sizeof *m);
    if (!m) return dist_no_memory(e);
    m->z = z;
    m->store = store;
    pthread_mutex_init(&m->lock, NULL);
    snprintf(m->prefix, sizeof m->prefix, "%s", prefix);
    ctsc_status st = CTSC_ENVIRONMENT;
    if ((m->ctx = z->zmq_ctx_new()) && (m->socket = zmq_socket_new(z, m->ctx, ZMQ_ROUTER, true, e)))
        st = zmq_serve(z, m->socket, &port, e);
    const char *colon = strchr(host, ':'); /* an address of IPv6 */
    snprintf(where, sizeof where, "tcp://%s%.255s%s:%d", colon ? "[" : "", host, colon ? "]" : "",
             port);
    mail_key(m, self, key);
    if (st == CTSC_OK) st = ctsc_dist_store_set(store, key, where, strlen(where), e);
    if (st == CTSC_OK) *out = m;
    else ctsc_dist_mail_free(m);
    return st;
}

/* Under the lock. */
static mail_peer *mail_find(ctsc_dist_mail *m, int number, ctsc_dist_error *e) {
    char key[MAIL_KEY];
    void *where;
    size_t bytes;
    for (mail_peer *p = m->peers; p; p = p->next)
        if (p->number == number) return p;
    mail_key(m, number, key);
    if (ctsc_dist_store_get(m->store, key, -1, &where, &bytes, e) != CTSC_OK) return NULL;
    mail_peer *p = calloc(1, sizeof *p);
    if (!p) dist_no_memory(e);
    else if ((p->socket = zmq_socket_new(m->z, m->ctx, ZMQ_DEALER, false, e)) &&
             m->z->zmq_connect(p->socket, where) == 0) {
        p->number = number;
        p->next = m->peers;
        m->peers = p;
        free(where);
        return p;
    } else if (p->socket) {
        dist_fail(e, CTSC_ENVIRONMENT, "%.200s: %s", (char *)where,
                  m->z->zmq_strerror(m->z->zmq_errno()));
        m->z->zmq_close(p->socket);
    }
    free(where);
    free(p);
    return NULL;
}

ctsc_status ctsc_dist_mail_send(ctsc_dist_mail *m, int to, const void *data, size_t bytes,
                                ctsc_dist_error *e) {
    pthread_mutex_lock(&m->lock);
    mail_peer *p = mail_find(m, to, e);
    bool sent = p && m->z->zmq_send(p->socket, data, bytes, 0) >= 0;
    pthread_mutex_unlock(&m->lock);
    if (!p) return e && e->status ? e->status : CTSC_ENVIRONMENT;
    if (!sent)
        return dist_fail(e, CTSC_ENVIRONMENT, "a message to %d: %s", to,
                         m->z->zmq_strerror(m->z->zmq_errno()));
    return CTSC_OK;
}

ctsc_status ctsc_dist_mail_receive(ctsc_dist_mail *m, int64_t timeout_ms, void **data,
                                   size_t *bytes, ctsc_dist_error *e) {
    zmq_item item = {m->socket, 0, ZMQ_READABLE, 0};
    int64_t deadline = dist_now() + (timeout_ms < 0 ? INT64_MAX / 2 : timeout_ms);
    for (;;) {
        int64_t left = dist_left(deadline);
        m->z->zmq_poll(&item, 1, (long)(left < MAIL_WAKE_MS ? left : MAIL_WAKE_MS));
        zmq_msg parts[ZMQ_FRAMES];
        int n = zmq_receive_all(m->z, m->socket, parts);
        char *copy = NULL;
        if (n == 2) { /* the sender's connection, the message */
            *bytes = m->z->zmq_msg_size(&parts[1]);
            if ((copy = malloc(*bytes + 1))) memcpy(copy, m->z->zmq_msg_data(&parts[1]), *bytes);
        }
        zmq_close_all(m->z, parts, n);
        if (copy) return *data = copy, CTSC_OK;
        if (n == 2) return dist_no_memory(e);
        if (!dist_left(deadline)) return dist_fail(e, CTSC_LIMIT, "no message");
    }
}
