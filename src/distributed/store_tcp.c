/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_tcp.c - a store in the memory of one process, asked by others over ZeroMQ (zmq.h).
 *
 * The server is a thread of that process; the process asks it like the others do.
 *
 * A request has three parts: its number (8 bytes); verb, number of keys, and their texts with ends
 * (1 byte, 8 bytes, ...); data and other (8 bytes: the length of data; both). A reply has two: the
 * number; a status (1 byte) and the answer. A number tells the reply to a request that was given up
 * from later ones. Requests that wait are kept until they can be answered, or until their sender
 * gives up (STORE_GIVE_UP).
 */
#include "distributed/store.h"

#include "distributed/zmq.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STORE_GIVE_UP = 100, TCP_MAX_KEYS = 1 << 20 };
static const char tcp_stop[] = "inproc://stop";

/* A request that waits: who asked, and a copy of it. */
typedef struct tcp_waiting {
    struct tcp_waiting *next;
    store_bytes from, number, head;
} tcp_waiting;

typedef struct tcp_server {
    const zmq_library *z;
    void *ctx, *socket, *stop;
    store_table *table;
    tcp_waiting *waiting;
    pthread_t thread;
} tcp_server;

/* A connection, which one thread uses at a time: a thread that waits keeps no other one waiting. */
typedef struct tcp_link {
    struct tcp_link *next;
    void *socket;
    uint64_t number; /* of its last request */
} tcp_link;

typedef struct tcp_store {
    ctsc_dist_store base;
    const zmq_library *z;
    void *ctx, *stop;   /* stop: ends the server's thread */
    tcp_server *server; /* NULL: another process is it */
    tcp_link *idle;
    pthread_mutex_t lock; /* of idle */
    char where[300];
} tcp_store;

/* ---- requests as bytes ----------------------------------------------------------------------- */

static bool bytes_keep(store_bytes *b, const void *data, size_t n) {
    if (!(b->data = malloc(n + 1))) return false;
    memcpy(b->data, data, n);
    b->bytes = n;
    return true;
}

/* Verb and keys. The keys' texts are lent. false: it is not one, or no memory. */
static bool request_read(store_bytes head, store_request *r, const char ***keys) {
    uint64_t n;
    if (head.bytes < 9) return false;
    memcpy(&n, head.data + 1, 8);
    if (n > TCP_MAX_KEYS || !(*keys = malloc((n + 1) * sizeof **keys))) return false;
    const char *at = head.data + 9, *end = head.data + head.bytes;
    for (uint64_t i = 0; i < n; i++) {
        const char *stop = memchr(at, '\0', (size_t)(end - at));
        if (!stop) return free(*keys), false;
        (*keys)[i] = at;
        at = stop + 1;
    }
    bool many = head.data[0] == STORE_WAIT || head.data[0] == STORE_CHECK;
    bool none = head.data[0] == STORE_COUNT;
    if (head.data[0] < STORE_SET || head.data[0] > STORE_COUNT || (!many && !none && n != 1))
        return free(*keys), false;
    *r = (store_request){.verb = (store_verb)head.data[0], .n = (size_t)n, .keys = *keys};
    return true;
}

static bool request_read_data(store_bytes data, store_request *r) {
    uint64_t n;
    if (data.bytes < 8) return false;
    memcpy(&n, data.data, 8);
    if (n > data.bytes - 8) return false;
    r->data = (store_bytes){data.data + 8, (size_t)n};
    r->other = (store_bytes){data.data + 8 + n, data.bytes - 8 - (size_t)n};
    return true;
}

static bool request_write(const store_request *r, store_bytes *head, store_bytes *data) {
    uint64_t n = r->n, own = r->data.bytes;
    head->bytes = 9;
    for (size_t i = 0; i < r->n; i++) head->bytes += strlen(r->keys[i]) + 1;
    data->bytes = 8 + r->data.bytes + r->other.bytes;
    head->data = malloc(head->bytes), data->data = malloc(data->bytes);
    if (!head->data || !data->data) return false;
    char *at = head->data;
    *at = (char)r->verb;
    memcpy(at + 1, &n, 8);
    at += 9;
    for (size_t i = 0; i < r->n; i++) at = stpcpy(at, r->keys[i]) + 1;
    memcpy(data->data, &own, 8);
    if (r->data.bytes) memcpy(data->data + 8, r->data.data, r->data.bytes);
    if (r->other.bytes) memcpy(data->data + 8 + own, r->other.data, r->other.bytes);
    return true;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void server_reply(tcp_server *s, store_bytes from, store_bytes number, ctsc_status st,
                         const store_bytes *answer) {
    char *text = malloc(answer->bytes + 1);
    if (!text) return; /* the sender's time passes */
    text[0] = (char)st;
    if (answer->bytes) memcpy(text + 1, answer->data, answer->bytes);
    s->z->zmq_send(s->socket, from.data, from.bytes, ZMQ_MORE | ZMQ_NOW);
    s->z->zmq_send(s->socket, number.data, number.bytes, ZMQ_MORE | ZMQ_NOW);
    s->z->zmq_send(s->socket, text, answer->bytes + 1, ZMQ_NOW);
    free(text);
}

/* Answers it if that is possible by now. */
static bool server_try(tcp_server *s, store_bytes from, store_bytes number,
                       const store_request *r) {
    store_bytes answer = {NULL, 0};
    ctsc_status st = CTSC_OK;
    if (!store_answer(s->table, r, &answer, &st)) return false;
    server_reply(s, from, number, st, &answer);
    free(answer.data);
    return true;
}

static void waiting_free(tcp_waiting *w) {
    free(w->from.data);
    free(w->number.data);
    free(w->head.data);
    free(w);
}

static void server_wait(tcp_server *s, store_bytes from, store_bytes number, store_bytes head) {
    tcp_waiting *w = calloc(1, sizeof *w);
    if (!w) return;
    if (!bytes_keep(&w->from, from.data, from.bytes) ||
        !bytes_keep(&w->number, number.data, number.bytes) ||
        !bytes_keep(&w->head, head.data, head.bytes)) {
        waiting_free(w);
        return;
    }
    w->next = s->waiting;
    s->waiting = w;
}

static bool bytes_equal(store_bytes a, store_bytes b) {
    return a.bytes == b.bytes && !memcmp(a.data, b.data, a.bytes);
}

/* Drops what the sender gave up; NULL number: answers what can be answered now. */
static void server_look(tcp_server *s, store_bytes from, const store_bytes *number) {
    for (tcp_waiting **at = &s->waiting, *w; (w = *at);) {
        const char **keys;
        store_request r;
        bool over;
        if (number) over = bytes_equal(w->from, from) && bytes_equal(w->number, *number);
        else if (!request_read(w->head, &r, &keys)) over = true;
        else {
            over = server_try(s, w->from, w->number, &r);
            free(keys);
        }
        if (!over) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        waiting_free(w);
    }
}

static void server_handle(tcp_server *s, zmq_msg *parts, int n) {
    store_bytes b[4] = {{NULL, 0}};
    const char **keys;
    store_request r;
    if (n != 4) return;
    for (int i = 0; i < 4; i++)
        b[i] = (store_bytes){s->z->zmq_msg_data(&parts[i]), s->z->zmq_msg_size(&parts[i])};
    if (b[2].bytes && b[2].data[0] == STORE_GIVE_UP) {
        server_look(s, b[0], &b[1]);
        return;
    }
    if (!request_read(b[2], &r, &keys)) return;
    if (request_read_data(b[3], &r)) {
        if (!server_try(s, b[0], b[1], &r)) server_wait(s, b[0], b[1], b[2]);
        else if (store_changes(r.verb) && s->waiting) server_look(s, b[0], NULL);
    }
    free(keys);
}

static void *server_main(void *arg) {
    tcp_server *s = arg;
    zmq_msg parts[ZMQ_FRAMES];
    zmq_item items[2] = {{s->socket, 0, ZMQ_READABLE, 0}, {s->stop, 0, ZMQ_READABLE, 0}};
    while (s->z->zmq_poll(items, 2, -1) >= 0 || s->z->zmq_errno() == EINTR) {
        if (items[1].revents) break;
        for (int n; (n = zmq_receive_all(s->z, s->socket, parts)) > 0;) {
            server_handle(s, parts, n);
            zmq_close_all(s->z, parts, n);
        }
    }
    return NULL;
}

static void server_free(tcp_server *s) {
    if (!s) return;
    for (tcp_waiting *w = s->waiting, *next; w; w = next) {
        next = w->next;
        waiting_free(w);
    }
    if (s->stop) s->z->zmq_close(s->stop);
    if (s->socket) s->z->zmq_close(s->socket);
    store_table_free(s->table);
    free(s);
}

static tcp_server *server_start(const zmq_library *z, void *ctx, int *port, ctsc_dist_error *e) {
    tcp_server *s = calloc(1, sizeof *s);
    if (!s || !(s->table = store_table_new())) return free(s), dist_no_memory(e), NULL;
    s->z = z, s->ctx = ctx;
    s->socket = zmq_socket_new(z, ctx, ZMQ_ROUTER, true, e);
    s->stop = z->zmq_socket(ctx, ZMQ_PULL);
    if (!s->socket || !s->stop || zmq_serve(z, s->socket, port, e) != CTSC_OK) {
        server_free(s);
        return NULL;
    }
    z->zmq_bind(s->stop, tcp_stop);
    if (pthread_create(&s->thread, NULL, server_main, s) == 0) return s;
    dist_fail(e, CTSC_LIMIT, "no thread for the store");
    server_free(s);
    return NULL;
}

/* ---- clients --------------------------------------------------------------------------------- */

static tcp_link *link_take(tcp_store *s, ctsc_dist_error *e) {
    pthread_mutex_lock(&s->lock);
    tcp_link *l = s->idle;
    if (l) s->idle = l->next;
    pthread_mutex_unlock(&s->lock);
    if (l) return l;
    if (!(l = calloc(1, sizeof *l))) return dist_no_memory(e), NULL;
    if ((l->socket = zmq_socket_new(s->z, s->ctx, ZMQ_DEALER, false, e))) {
        if (s->z->zmq_connect(l->socket, s->where) == 0) return l;
        dist_fail(e, CTSC_USAGE, "%s: %s", s->where, s->z->zmq_strerror(s->z->zmq_errno()));
        s->z->zmq_close(l->socket);
    }
    free(l);
    return NULL;
}

static void link_give(tcp_store *s, tcp_link *l) {
    pthread_mutex_lock(&s->lock);
    l->next = s->idle;
    s->idle = l;
    pthread_mutex_unlock(&s->lock);
}

static void link_send(const zmq_library *z, tcp_link *l, store_bytes head, store_bytes data) {
    z->zmq_send(l->socket, &l->number, sizeof l->number, ZMQ_MORE);
    z->zmq_send(l->socket, head.data, head.bytes, ZMQ_MORE);
    z->zmq_send(l->socket, data.data, data.bytes, 0);
}

/* Takes the next reply if it is to the last request; others are to some that were given up. */
static bool link_receive(const zmq_library *z, tcp_link *l, store_bytes *answer, ctsc_status *st) {
    zmq_msg parts[ZMQ_FRAMES];
    int n = zmq_receive_all(z, l->socket, parts);
    bool ours = n == 2 && z->zmq_msg_size(&parts[0]) == sizeof l->number &&
                !memcmp(z->zmq_msg_data(&parts[0]), &l->number, sizeof l->number) &&
                z->zmq_msg_size(&parts[1]) > 0;
    if (ours) {
        const char *text = z->zmq_msg_data(&parts[1]);
        *st = (ctsc_status)text[0];
        if (!bytes_keep(answer, text + 1, z->zmq_msg_size(&parts[1]) - 1)) *st = CTSC_LIMIT;
        else answer->data[answer->bytes] = '\0';
    }
    zmq_close_all(z, parts, n);
    return ours;
}

static ctsc_status tcp_ask(ctsc_dist_store *base, const store_request *r, int64_t deadline,
                           store_bytes *answer, ctsc_dist_error *e) {
    tcp_store *s = (tcp_store *)base;
    store_bytes head = {NULL, 0}, data = {NULL, 0};
    ctsc_status st = CTSC_OK;
    bool answered = false, written = request_write(r, &head, &data);
    tcp_link *l = written ? link_take(s, e) : NULL;
    if (l) {
        zmq_item item = {l->socket, 0, ZMQ_READABLE, 0};
        l->number++;
        link_send(s->z, l, head, data);
        do
            if (s->z->zmq_poll(&item, 1, (long)dist_left(deadline)) > 0)
                answered = link_receive(s->z, l, answer, &st);
        while (!answered && dist_left(deadline));
        char give_up[] = {STORE_GIVE_UP};
        if (!answered) link_send(s->z, l, (store_bytes){give_up, 1}, (store_bytes){give_up, 1});
        link_give(s, l);
    }
    free(head.data);
    free(data.data);
    if (!written) return dist_no_memory(e);
    if (!l) return CTSC_ENVIRONMENT;
    if (!answered)
        return dist_fail(e, CTSC_LIMIT, "the store at %s did not answer in time", s->where);
    return st == CTSC_OK ? st : dist_no_memory(e);
}

static void tcp_free(ctsc_dist_store *base) {
    tcp_store *s = (tcp_store *)base;
    if (s->server) {
        s->z->zmq_send(s->stop, "", 0, 0);
        pthread_join(s->server->thread, NULL);
        server_free(s->server);
    }
    if (s->stop) s->z->zmq_close(s->stop);
    for (tcp_link *l = s->idle, *next; l; l = next) {
        next = l->next;
        s->z->zmq_close(l->socket);
        free(l);
    }
    if (s->ctx) s->z->zmq_ctx_term(s->ctx);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

ctsc_status ctsc_dist_store_tcp(const char *host, int port, bool serve, int64_t timeout_ms,
                                ctsc_dist_store **out, ctsc_dist_error *e) {
    static const store_kind kind = {tcp_ask, tcp_free};
    const zmq_library *z = zmq_open(e);
    bool there;
    if (!z) return CTSC_ENVIRONMENT;
    tcp_store *s = calloc(1, sizeof *s);
    if (!s) return dist_no_memory(e);
    pthread_mutex_init(&s->lock, NULL);
    s->z = z;
    s->base = (ctsc_dist_store){&kind, timeout_ms, port};
    if (!(s->ctx = z->zmq_ctx_new()) ||
        (serve && !(s->server = server_start(z, s->ctx, &s->base.port, e))))
        goto failed;
    if (serve &&
        (!(s->stop = z->zmq_socket(s->ctx, ZMQ_PUSH)) || z->zmq_connect(s->stop, tcp_stop) != 0))
        goto failed;
    const char *colon = serve ? NULL : strchr(host, ':'); /* an address of IPv6 */
    snprintf(s->where, sizeof s->where, "tcp://%s%.255s%s:%d", colon ? "[" : "",
             serve ? "127.0.0.1" : host, colon ? "]" : "", s->base.port);
    /* Whoever is not there, or has another secret, does not answer. */
    if (ctsc_dist_store_check(&s->base, 0, NULL, &there, e) == CTSC_OK) {
        *out = &s->base;
        return CTSC_OK;
    }
    if (e && e->status == CTSC_LIMIT)
        dist_fail(e, CTSC_LIMIT,
                  "the store at %s did not answer within %lld ms: its process has not started, or "
                  "has another secret (CTSC_DIST_SECRET)",
                  s->where, (long long)timeout_ms);
failed:
    tcp_free(&s->base);
    return e && e->status ? e->status : CTSC_ENVIRONMENT;
}
