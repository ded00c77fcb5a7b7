/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_server.c - calls, connections and threads: libgrpc around the protocol.
 *
 * Method. A call is a chain of steps, each begun by the one before it: it is new, its message is
 * there, its answer is there, the answer is sent; a stream then reads its next message. libgrpc
 * says on one of our threads when a step is done; a model's thread begins the sending where the
 * call had to wait for it. Beside the chain, libgrpc tells once when the client is done with the
 * call or has given it up, which cancels the exchange. A call goes when both have ended.
 * Limits. Messages have the size of HTTP's bodies, metadata that of its headers; compressed ones
 * are refused. At most as many calls as connections are taken; the others wait in libgrpc, at
 * most GRPC_STREAMS of a connection. A message has as long to arrive, and an answer to be read,
 * as over HTTP (grpc_door_tend).
 * Connections. libgrpc does not say when it closes one. Its descriptor then is not a socket of ours
 * any more, which grpc_door_tend finds out.
 * Tests: tests/serve/triton.py
 */
#include "serve/grpc/grpc_internal.h"

#include <arpa/inet.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    GRPC_STREAMS = 100,             /* calls of one connection at the same time */
    GRPC_SLOWEST_READER = 16 << 10, /* bytes a second, as http.c has it */
    GRPC_KEEP = 64 << 10            /* bytes of a buffer that a call keeps for the next one */
};

enum { STEP_NEW, STEP_MESSAGE, STEP_SENT, STEP_CLOSED, STEPS };

typedef struct call call;
typedef struct tag { call *c; int step; } tag;

struct call {
    exchange x; /* first */
    rpc_door *d;
    call *prev, *next; /* among those that live, or those that are free */
    grpc_call *rpc;
    grpc_call_details details;
    grpc_metadata_array metadata;
    const grpc_method *method;
    grpc_byte_buffer *received;
    int gone;         /* of STEP_CLOSED: the client gave up */
    atomic_int holds; /* the chain of steps, and STEP_CLOSED */
    /* initial metadata are sent; the status is; it counts as receiving */
    bool greeted, ended, receiving;
    ask ask;
    size_t received_bytes, sent_bytes;
    char *authorization;
    ctsc_cancel *cancel;
    void *keep; /* of x.keep */
    /* since when it does what it does; 0: that may take any time */
    atomic_uint_fast64_t since_ns, limit_ns;
    char address[INET6_ADDRSTRLEN];
    tag tags[STEPS];
};

typedef struct connection {
    struct connection *next;
    int fd;
    ino_t inode;
    char address[INET6_ADDRSTRLEN];
} connection;

struct rpc_door {
    rpc_host host;
    grpc_server *server;
    grpc_completion_queue *queue;
    grpc_server_credentials *credentials;
    pthread_t *threads;
    int nthreads;
    tag down;             /* the server takes no more calls */
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t changed;
    call *living, *free;
    long n;                       /* living */
    bool asked, closing, is_down; /* asked: a call is awaited */
    connection *connections;
};

/* ---- a call's memory ------------------------------------------------------------------------- */

static void call_clear(call *c) {
    buffer *const buffers[] = {&c->x.reply, &c->ask.path, &c->ask.body};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (buffers[i]->cap > GRPC_KEEP || buffers[i]->failed) buffer_free(buffers[i]);
        buffers[i]->len = 0;
    }
    scratch_free(&c->ask.memory);
}

static void call_free(call *c) {
    if (!c) return;
    call_clear(c);
    buffer_free(&c->x.reply);
    buffer_free(&c->ask.path);
    buffer_free(&c->ask.body);
    c->d->host.keep_free(c->keep);
    ctsc_cancel_free(c->cancel);
    free(c);
}

static call *call_new(rpc_door *d) {
    call *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->d = d;
    c->ask.max_body = d->host.s->o->max_body;
    c->ask.memory.most = 8 * c->ask.max_body + (1 << 20);
    c->cancel = ctsc_cancel_new();
    for (int i = 0; i < STEPS; i++) c->tags[i] = (tag){c, i};
    if (c->cancel) return c;
    call_free(c);
    return NULL;
}

/* Waits for the next call, if another one may live and none is awaited. */
static void door_ask(rpc_door *d) {
    call *c = NULL;
    pthread_mutex_lock(&d->lock);
    bool may = !d->asked && !d->closing && d->n < (long)d->host.s->o->max_connections;
    if (may && (c = d->free)) d->free = c->next;
    if (may) d->asked = true;
    pthread_mutex_unlock(&d->lock);
    if (!may) return;
    if (!c) c = call_new(d);
    if (c) {
        grpc_call_details_init(&c->details);
        grpc_metadata_array_init(&c->metadata);
        if (grpc_server_request_call(d->server, &c->rpc, &c->details, &c->metadata, d->queue,
                                     d->queue, &c->tags[STEP_NEW]) == GRPC_CALL_OK)
            return;
        call_free(c);
    }
    pthread_mutex_lock(&d->lock); /* without memory: when a call ends it is tried again */
    d->asked = false;
    pthread_mutex_unlock(&d->lock);
}

/* One of the two that hold the call is done with it. */
static void call_release(call *c) {
    rpc_door *d = c->d;
    if (atomic_fetch_sub(&c->holds, 1) != 1) return;
    pthread_mutex_lock(&d->lock);
    if (c->next) c->next->prev = c->prev;
    if (c->prev) c->prev->next = c->next;
    else d->living = c->next;
    pthread_mutex_unlock(&d->lock);
    grpc_call_unref(c->rpc);
    grpc_call_details_destroy(&c->details);
    grpc_metadata_array_destroy(&c->metadata);
    gpr_free(c->authorization);
    c->authorization = NULL;
    pthread_mutex_lock(&d->lock);
    c->next = d->free;
    d->free = c;
    d->n--;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    door_ask(d);
}

static void call_phase(call *c, uint64_t now, uint64_t limit_ns) {
    atomic_store_explicit(&c->limit_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&c->since_ns, now, memory_order_release);
    atomic_store_explicit(&c->limit_ns, limit_ns, memory_order_release);
}

static void call_receiving(call *c, bool yes) {
    if (yes == c->receiving) return;
    c->receiving = yes;
    if (yes) counter_add(&c->d->host.s->stats.receiving, 1);
    else atomic_fetch_sub(&c->d->host.s->stats.receiving, 1);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* As gRPC's codes are used by servers of this protocol. */
static grpc_status_code call_code(int status) {
    switch (status) {
    case 400: return GRPC_STATUS_INVALID_ARGUMENT;
    case 401: return GRPC_STATUS_UNAUTHENTICATED;
    case 403: return GRPC_STATUS_PERMISSION_DENIED;
    case 404: return GRPC_STATUS_NOT_FOUND;
    case 413: return GRPC_STATUS_RESOURCE_EXHAUSTED;
    case 405:
    case 415:
    case 501: return GRPC_STATUS_UNIMPLEMENTED;
    case 429:
    case 503: return GRPC_STATUS_UNAVAILABLE;
    case 499: return GRPC_STATUS_CANCELLED;
    case 504: return GRPC_STATUS_DEADLINE_EXCEEDED;
    default: return GRPC_STATUS_INTERNAL;
    }
}

/* Sends the message, which is taken over (NULL: none), and, unless the call is a stream that goes
 * on, the status. STEP_SENT follows. */
static void call_send(call *c, grpc_byte_buffer *message_take, bool last, grpc_status_code code,
                      const char *why) {
    grpc_op ops[3];
    size_t n = 0;
    grpc_slice text = grpc_slice_from_copied_string(why ? why : "");
    memset(ops, 0, sizeof ops);
    if (!c->greeted) ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
    c->greeted = true;
    c->ended = last;
    if (message_take) {
        ops[n].op = GRPC_OP_SEND_MESSAGE;
        ops[n++].data.send_message.send_message = message_take;
    }
    if (last) {
        ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
        ops[n].data.send_status_from_server.status = code;
        ops[n++].data.send_status_from_server.status_details = why ? &text : NULL;
    }
    call_phase(c, clock_ns(),
               c->d->host.s->o->receive_seconds * 1000000000ull +
                   (uint64_t)c->sent_bytes * 1000000000u / GRPC_SLOWEST_READER);
    grpc_call *rpc = c->rpc;
    grpc_call_ref(rpc); /* the step may be done, and c gone, before the call below returns */
    if (grpc_call_start_batch(rpc, ops, n, &c->tags[STEP_SENT], NULL) != GRPC_CALL_OK) abort();
    grpc_call_unref(rpc);
    grpc_slice_unref(text);
    if (message_take) grpc_byte_buffer_destroy(message_take);
}

/* NULL: out of memory, or more than a message may have. */
static grpc_byte_buffer *call_pack(call *c, const ProtobufCMessage *m) {
    size_t size = m ? protobuf_c_message_get_packed_size(m) : 0;
    if (!m || size > INT32_MAX) return NULL;
    grpc_slice s = grpc_slice_malloc(size);
    protobuf_c_message_pack(m, GRPC_SLICE_START_PTR(s));
    grpc_byte_buffer *out = grpc_raw_byte_buffer_create(&s, 1);
    grpc_slice_unref(s);
    c->sent_bytes = size;
    return out;
}

/* A stream's answer to one message that failed: the stream goes on. */
static grpc_byte_buffer *call_pack_error(call *c, char *why) {
    Rpc__StreamResponse s;
    rpc__stream_response__init(&s);
    s.error_message = why;
    return call_pack(c, &s.base);
}

/* The exchange's response as the answer. */
static void call_answer(call *c) {
    const exchange *x = &c->x;
    const grpc_method *m = c->method;
    char why[600] = "the answer is too large";
    int status = x->status;
    bool ok = status == 200 || (m->always && (status == 503 || status == 404));
    grpc_byte_buffer *message = NULL;
    c->sent_bytes = 0;
    if (!ok) {
        method_error(x, why, sizeof why);
    } else {
        message = call_pack(c, method_answer(m, &c->ask.memory, x));
        if (!message) ok = false, status = 413;
    }
    if (!ok && m->stream) message = call_pack_error(c, why);
    if (message) call_send(c, message, !m->stream, GRPC_STATUS_OK, NULL);
    else call_send(c, NULL, true, call_code(status), why);
}

/* ---- the exchange ---------------------------------------------------------------------------- */

static void call_done(exchange *x) { call_answer((call *)x); }

/* What the client sent along under a name; NULL: nothing. gpr_free frees it. */
static char *call_metadata(const call *c, const char *name) {
    for (size_t i = 0; i < c->metadata.count; i++)
        if (!grpc_slice_str_cmp(c->metadata.metadata[i].key, name))
            return grpc_slice_to_c_string(c->metadata.metadata[i].value);
    return NULL;
}

/* Ours, from monotonic or real time; 0: none. */
static uint64_t call_deadline(const call *c) {
    gpr_timespec infinite = gpr_inf_future(c->details.deadline.clock_type);
    if (!gpr_time_cmp(c->details.deadline, infinite)) return 0;
    gpr_timespec left = gpr_time_sub(c->details.deadline, gpr_now(c->details.deadline.clock_type));
    if (left.tv_sec > UINT32_MAX) return 0;
    return clock_ns() +
           (left.tv_sec < 0 ? 0 : (uint64_t)left.tv_sec * 1000000000u + (uint64_t)left.tv_nsec);
}

/* A new exchange, complete but for path and body. */
static void call_begin(call *c) {
    buffer reply = c->x.reply;
    char trace[sizeof c->x.trace];
    memcpy(trace, c->x.trace, sizeof trace);
    c->x = (exchange){.s = c->d->host.s,
                      .method = c->method->http,
                      .path = c->method->open ? "/v2/health/live" : "/v2",
                      .authorization = c->authorization,
                      .started_ns = clock_ns(),
                      .deadline_ns = call_deadline(c),
                      .cancel = c->cancel,
                      .done = call_done,
                      .keep = &c->keep,
                      .reply = reply};
    memcpy(c->x.trace, trace, sizeof trace);
}

/* x is as the log has it from here on. */
static void call_log(call *c) {
    exchange *x = &c->x;
    static const char none[] = "/";
    x->method = "gRPC";
    x->path = c->method ? c->method->name : none;
    x->body_len = c->received_bytes;
    x->reply.len = c->sent_bytes;
    c->d->host.log_request(c->d->host.log, x, c->address, clock_ns() - x->started_ns);
    counter_add(&c->d->host.s->stats.reply_bytes, c->sent_bytes);
}

/* An answer without a model. status is HTTP's. */
static void call_refuse(call *c, int status, const char *why) {
    grpc_byte_buffer *message = NULL;
    c->x.status = status;
    c->sent_bytes = 0;
    if (c->method && c->method->stream && status != 401) {
        char text[600];
        snprintf(text, sizeof text, "%s", why);
        message = call_pack_error(c, text);
    }
    if (message) call_send(c, message, false, GRPC_STATUS_OK, NULL);
    else call_send(c, NULL, true, call_code(status), why);
}

/* Reads the message. False: it is compressed, or there is no memory for it. */
static bool call_read(call *c, grpc_slice *out) {
    grpc_byte_buffer_reader reader;
    if (c->received->type != GRPC_BB_RAW ||
        c->received->data.raw.compression != GRPC_COMPRESS_NONE ||
        !grpc_byte_buffer_reader_init(&reader, c->received))
        return false;
    *out = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    return true;
}

/* The message is here: it is answered, now or later. */
static void call_work(call *c) {
    const grpc_method *m = c->method;
    exchange *x = &c->x;
    ask *a = &c->ask;
    grpc_slice message;
    call_begin(c);
    call_clear(c);
    bool read = call_read(c, &message);
    grpc_byte_buffer_destroy(c->received); /* the slice has what it had */
    c->received = NULL;
    if (!read) {
        call_refuse(c, 415, "compressed requests are not supported");
        return;
    }
    c->received_bytes = a->len = GRPC_SLICE_LENGTH(message);
    counter_add(&c->d->host.s->stats.body_bytes, a->len);
    a->bytes = GRPC_SLICE_START_PTR(message);
    a->header_length[0] = '\0';
    bool ok = !m->make || m->make(a);
    if (m->path && ok) buffer_puts(&a->path, m->path);
    buffer_putc(&a->path, '\0');
    buffer_putc(&a->body, '\0');
    if (ok && (a->path.failed || a->body.failed)) ok = ask_refuse(a, 500, "out of memory");
    scratch_free(&a->memory); /* the message is in the body now */
    grpc_slice_unref(message);
    if (!ok) {
        call_refuse(c, a->status, a->why);
        return;
    }
    x->path = a->path.data;
    x->body = a->body.data;
    x->body_len = a->body.len - 1;
    if (*a->header_length) x->header_length = a->header_length;
    if (c->d->host.handle(x)) call_answer(c); /* else c may be gone */
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void call_start(call *c, grpc_op_type op, int step) {
    grpc_op o = {.op = op};
    if (op == GRPC_OP_RECV_MESSAGE) o.data.recv_message.recv_message = &c->received;
    else o.data.recv_close_on_server.cancelled = &c->gone;
    if (grpc_call_start_batch(c->rpc, &o, 1, &c->tags[step], NULL) != GRPC_CALL_OK) abort();
}

/* A unary call's message has to arrive; a stream may be silent as long as a connection may. */
static void call_receive(call *c) {
    const serve_options *o = c->d->host.s->o;
    uint64_t seconds = (uint64_t)o->receive_seconds + (c->method->stream ? o->idle_seconds : 0);
    call_receiving(c, !c->method->stream);
    call_phase(c, clock_ns(), seconds * 1000000000u);
    call_start(c, GRPC_OP_RECV_MESSAGE, STEP_MESSAGE);
}

/* The address of "fd:12", libgrpc's name of a connection that it was given. */
static void call_find_address(call *c) {
    char *peer = grpc_call_get_peer(c->rpc);
    int fd = peer && !strncmp(peer, "fd:", 3) ? atoi(peer + 3) : -1;
    gpr_free(peer);
    *c->address = '\0';
    pthread_mutex_lock(&c->d->lock);
    for (const connection *k = c->d->connections; k; k = k->next)
        if (k->fd == fd) memcpy(c->address, k->address, sizeof c->address);
    pthread_mutex_unlock(&c->d->lock);
}

static void call_is_new(call *c, bool ok) {
    rpc_door *d = c->d;
    ctsc_cancel_clear(c->cancel);
    call_phase(c, clock_ns(), 0); /* before anybody finds it among the living */
    pthread_mutex_lock(&d->lock);
    d->asked = false;
    if (ok) {
        d->n++;
        c->prev = NULL;
        c->next = d->living;
        if (c->next) c->next->prev = c;
        d->living = c;
    }
    pthread_mutex_unlock(&d->lock);
    if (!ok) { /* the server is shut down */
        grpc_call_details_destroy(&c->details);
        grpc_metadata_array_destroy(&c->metadata);
        call_free(c);
        return;
    }
    door_ask(d);
    c->method = method_find((const char *)GRPC_SLICE_START_PTR(c->details.method),
                            GRPC_SLICE_LENGTH(c->details.method));
    c->greeted = c->ended = c->receiving = false;
    c->received_bytes = c->sent_bytes = 0;
    c->gone = 0;
    atomic_store(&c->holds, 2);
    counter_add(&d->host.s->stats.grpc_requests, 1);
    call_find_address(c);
    c->authorization = call_metadata(c, "authorization");
    char *trace = call_metadata(c, "traceparent");
    d->host.log_trace(c->x.trace, trace);
    gpr_free(trace);
    call_start(c, GRPC_OP_RECV_CLOSE_ON_SERVER, STEP_CLOSED);
    counter_add(&d->host.s->stats.in_flight, 1);
    if (!c->method) {
        c->x.started_ns = clock_ns();
        call_refuse(c, 501, "there is no such method");
        return;
    }
    call_begin(c);
    if (!d->host.allowed(&c->x)) {
        call_refuse(c, 401, "a bearer token is needed");
        return;
    }
    atomic_fetch_sub(&d->host.s->stats.in_flight, 1);
    call_receive(c);
}

static void call_has_message(call *c) {
    call_receiving(c, false);
    call_phase(c, clock_ns(), 0);
    counter_add(&c->d->host.s->stats.in_flight, 1);
    if (c->received) {
        call_work(c);
    } else if (c->method->stream) { /* the client has sent all */
        call_send(c, NULL, true, GRPC_STATUS_OK, NULL);
    } else {
        call_refuse(c, ctsc_cancel_is_set(c->cancel) ? 499 : 400, "the call has no message");
    }
}

static void call_is_sent(call *c, bool ok) {
    bool ended = c->ended;
    if (c->x.status) call_log(c);
    call_clear(c);
    c->x.status = 0;
    atomic_fetch_sub(&c->d->host.s->stats.in_flight, 1);
    if (ended || !ok) call_release(c);
    else call_receive(c);
}

static void call_is_closed(call *c) {
    if (c->gone) ctsc_cancel_set(c->cancel);
    call_release(c);
}

static void *door_thread(void *arg) {
    rpc_door *d = arg;
    for (;;) {
        grpc_event e = grpc_completion_queue_next(d->queue, gpr_inf_future(GPR_CLOCK_REALTIME),
                                                  NULL);
        if (e.type == GRPC_QUEUE_SHUTDOWN) return NULL;
        tag *t = e.tag;
        if (t == &d->down) {
            pthread_mutex_lock(&d->lock);
            d->is_down = true;
            pthread_cond_broadcast(&d->changed);
            pthread_mutex_unlock(&d->lock);
            continue;
        }
        switch (t->step) {
        case STEP_NEW: call_is_new(t->c, e.success); break;
        case STEP_MESSAGE: call_has_message(t->c); break;
        case STEP_SENT: call_is_sent(t->c, e.success); break;
        default: call_is_closed(t->c);
        }
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

static bool connection_open(const connection *k) {
    struct stat st;
    return fstat(k->fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == k->inode;
}

/* Forgets those that libgrpc has closed; the lock is held. */
static void door_forget(rpc_door *d) {
    for (connection **at = &d->connections; *at;) {
        connection *k = *at;
        if (connection_open(k)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        free(k);
        atomic_fetch_sub(&d->host.s->stats.connections, 1);
    }
}

static void connection_address(connection *k, const struct sockaddr *a) {
    if (a->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, k->address,
                  sizeof k->address);
    if (a->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, k->address,
                  sizeof k->address);
}

static void grpc_door_take(rpc_door *d, int fd, const struct sockaddr *from, socklen_t len) {
    (void)len;
    struct stat st;
    unsigned same = 0, most = d->host.s->o->max_connections_per_ip;
    connection *k = calloc(1, sizeof *k);
    bool ok = k && fstat(fd, &st) == 0;
    if (ok) {
        connection_address(k, from);
        k->fd = fd;
        k->inode = st.st_ino;
        pthread_mutex_lock(&d->lock);
        door_forget(d); /* one of them may have had this descriptor */
        for (const connection *o = d->connections; o; o = o->next)
            same += !strcmp(o->address, k->address);
        ok = !most || same < most;
        if (ok) k->next = d->connections, d->connections = k;
        pthread_mutex_unlock(&d->lock);
    }
    if (ok) {
        grpc_server_add_channel_from_fd(d->server, fd, d->credentials);
        return;
    }
    free(k);
    close(fd);
    atomic_fetch_sub(&d->host.s->stats.connections, 1);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void grpc_door_tend(rpc_door *d) {
    uint64_t now = clock_ns();
    pthread_mutex_lock(&d->lock);
    door_forget(d);
    for (call *c = d->living; c; c = c->next) {
        uint64_t limit = atomic_load_explicit(&c->limit_ns, memory_order_acquire),
                 since = atomic_load_explicit(&c->since_ns, memory_order_acquire);
        if (!limit || now < since || now - since < limit) continue;
        atomic_store_explicit(&c->limit_ns, 0, memory_order_relaxed);
        counter_add(&d->host.s->stats.receive_timeouts, 1);
        grpc_call_cancel_with_status(c->rpc, GRPC_STATUS_DEADLINE_EXCEEDED,
                                     "the message took too long", NULL);
    }
    pthread_mutex_unlock(&d->lock);
}

static void grpc_door_cancel(rpc_door *d) {
    pthread_mutex_lock(&d->lock);
    for (call *c = d->living; c; c = c->next) ctsc_cancel_set(c->cancel);
    pthread_mutex_unlock(&d->lock);
}

static void grpc_door_quiesce(rpc_door *d) {
    pthread_mutex_lock(&d->lock);
    bool before = d->closing;
    d->closing = true;
    pthread_mutex_unlock(&d->lock);
    if (!before) grpc_server_shutdown_and_notify(d->server, d->queue, &d->down);
}

static void grpc_door_close(rpc_door *d) {
    if (d->nthreads) {
        grpc_door_quiesce(d);
        grpc_server_cancel_all_calls(d->server);
        pthread_mutex_lock(&d->lock);
        while (!d->is_down || d->n) pthread_cond_wait(&d->changed, &d->lock);
        pthread_mutex_unlock(&d->lock);
    }
    grpc_completion_queue_shutdown(d->queue);
    for (int i = 0; i < d->nthreads; i++) pthread_join(d->threads[i], NULL);
    grpc_server_destroy(d->server);
    grpc_completion_queue_destroy(d->queue);
    grpc_server_credentials_release(d->credentials);
    grpc_shutdown();
    while (d->free) {
        call *c = d->free;
        d->free = c->next;
        call_free(c);
    }
    while (d->connections) {
        connection *k = d->connections;
        d->connections = k->next;
        free(k);
    }
    free(d->threads);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->changed);
    free(d);
}

static grpc_server *door_server(const serve_options *o) {
#define NUMBER(name, n)                                                                            \
    {.type = GRPC_ARG_INTEGER, .key = name, .value.integer = (n) < INT32_MAX ? (int)(n) : INT32_MAX}
    grpc_arg args[] = {
        NUMBER(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, o->max_body),
        NUMBER(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, INT32_MAX),
        NUMBER(GRPC_ARG_MAX_METADATA_SIZE, o->max_header),
        NUMBER(GRPC_ARG_MAX_CONCURRENT_STREAMS, GRPC_STREAMS),
        NUMBER(GRPC_ARG_MAX_CONNECTION_IDLE_MS, o->idle_seconds * 1000ull),
        NUMBER(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
    };
#undef NUMBER
    grpc_channel_args all = {sizeof args / sizeof *args, args};
    return grpc_server_create(&all, NULL);
}

static rpc_door *grpc_door_open(const rpc_host *host) {
    rpc_door *d = calloc(1, sizeof *d);
    int threads = host->s->o->http_threads;
    pthread_t *room = calloc((size_t)threads, sizeof *room);
    if (!d || !room) {
        free(d);
        free(room);
        return NULL;
    }
    *d = (rpc_door){.host = *host, .threads = room};
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    grpc_init();
    d->queue = grpc_completion_queue_create_for_next(NULL);
    d->credentials = grpc_insecure_server_credentials_create();
    d->server = door_server(host->s->o);
    grpc_server_register_completion_queue(d->server, d->queue, NULL);
    grpc_server_start(d->server);
    while (d->nthreads < threads &&
           pthread_create(&d->threads[d->nthreads], NULL, door_thread, d) == 0)
        d->nthreads++;
    if (d->nthreads) {
        door_ask(d);
        return d;
    }
    grpc_door_close(d);
    return NULL;
}

__attribute__((visibility("default"))) const rpc_interface *ctsc_grpc_interface(void);
const rpc_interface *ctsc_grpc_interface(void) {
    static const rpc_interface in = {.version = RPC_INTERFACE,
                                     .exchange_size = sizeof(exchange),
                                     .server_size = sizeof(server),
                                     .open = grpc_door_open,
                                     .take = grpc_door_take,
                                     .tend = grpc_door_tend,
                                     .cancel = grpc_door_cancel,
                                     .quiesce = grpc_door_quiesce,
                                     .close = grpc_door_close};
    return &in;
}
