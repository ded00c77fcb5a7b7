/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - the server's sockets: libmicrohttpd reads requests and writes responses, this file
 * collects bodies, keeps the limits, and hands whole requests to the protocol.
 *
 * Method. A few threads, each with an epoll of its own, serve all connections. A request
 * that must wait for a model suspends its connection; the thread that has the result resumes
 * it. What libmicrohttpd does not limit is how long a request may take to arrive: its
 * timeout is for silence, and a client that sends a byte now and then is never silent. So
 * every connection records when its current phase began, and http_tend shuts down sockets
 * that are in one for too long. It also finds clients that disconnected in the middle of a
 * request, which libmicrohttpd 0.9.75 with epoll does not notice if the end arrives together
 * with data, or while the connection is suspended: their requests are cancelled.
 * Invariants. A connection is in the list from STARTED to CLOSED; its descriptor is open as long.
 * Tests: tests/serve/client.py
 */
#include "serve/http.h"

#include "serve/feed.h"
#include "serve/listener.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HTTP_DROP_MOST = 16 << 20,
    HTTP_SLOWEST_READER = 16 << 10, /* bytes a second */
    /* bytes of a buffer that a connection keeps for its next request */
    HTTP_KEEP = 64 << 10,
    HTTP_FEED_BLOCK = 4096,   /* bytes that are sent at a time, at most */
    HTTP_GONE_NS = 100000000, /* before that nobody looks whether the client is gone */
    HTTP_SLACK = 64           /* libmicrohttpd takes what http_room_for let in, however it counts */
};

/* A connection, and the one request that it has at a time: its memory serves all of them. */
typedef struct http_connection {
    exchange x; /* first */
    struct http_connection *prev, *next;
    struct http *h;
    struct MHD_Connection *c;
    int fd;
    ctsc_cancel *cancel; /* of the request; NULL if out of memory */
    /* since when it does what it does; 0: that may take any time */
    atomic_uint_fast64_t since_ns, limit_ns;
    char *body;
    size_t cap, dropped;
    /* working: the whole request is there; refused: the response is there before
     * the body was read */
    bool too_large, working, refused;
    atomic_bool answered, answering; /* the response is ready; it is being sent */
    void *keep;                      /* of x.keep */
    char address[INET6_ADDRSTRLEN];
} http_connection;

struct http {
    server *s;
    access_log *log;
    struct MHD_Daemon *daemon;
    listener listener;
    /* threads that hand an answered connection back to libmicrohttpd, which may be done with it
     * before they are done with libmicrohttpd */
    atomic_int resuming;
    pthread_mutex_t lock; /* of the list */
    http_connection *connections;
};

/* ---- connections ----------------------------------------------------------------------------- */

/* A new phase: waiting for a request, receiving it, working on it, sending the answer. */
static void http_phase(http_connection *c, uint64_t now, uint64_t limit_ns) {
    /* never an old time with a new limit */
    atomic_store_explicit(&c->limit_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&c->since_ns, now, memory_order_release);
    atomic_store_explicit(&c->limit_ns, limit_ns, memory_order_release);
}

/* Between requests the connection may be silent for the idle time, which libmicrohttpd watches;
 * then a request may take its time to arrive. */
static uint64_t http_between_ns(const http *h) {
    return ((uint64_t)h->s->o->idle_seconds + h->s->o->receive_seconds) * 1000000000u;
}

static void http_address(const struct sockaddr *a, char *out, size_t size) {
    *out = '\0';
    if (a && a->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, out, (socklen_t)size);
    if (a && a->sa_family == AF_UNIX) snprintf(out, size, "unix");
    if (a && a->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, out, (socklen_t)size);
}

static void http_opened(http *h, struct MHD_Connection *mc, void **context) {
    http_connection *c = calloc(1, sizeof *c);
    const union MHD_ConnectionInfo *fd = MHD_get_connection_info(mc,
                                                                 MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *address = MHD_get_connection_info(
        mc, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *context = c;
    if (!c) return;
    c->h = h;
    c->c = mc;
    c->fd = fd ? fd->connect_fd : -1;
    c->cancel = ctsc_cancel_new();
    http_address(address ? address->client_addr : NULL, c->address, sizeof c->address);
    http_phase(c, clock_ns(), http_between_ns(h));
    pthread_mutex_lock(&h->lock);
    c->next = h->connections;
    if (c->next) c->next->prev = c;
    h->connections = c;
    pthread_mutex_unlock(&h->lock);
}

static void http_notify_connection(void *cls, struct MHD_Connection *mc, void **context,
                                   enum MHD_ConnectionNotificationCode what) {
    http *h = cls;
    http_connection *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        http_opened(h, mc, context);
        return;
    }
    atomic_fetch_sub(&h->s->stats.connections, 1);
    if (!c) return;
    pthread_mutex_lock(&h->lock);
    if (c->next) c->next->prev = c->prev;
    if (c->prev) c->prev->next = c->next;
    else h->connections = c->next;
    pthread_mutex_unlock(&h->lock);
    buffer_free(&c->x.reply);
    free(c->body);
    infer_keep_free(c->keep);
    ctsc_cancel_free(c->cancel);
    free(c);
}

/* The client has closed its side, and everything it sent has been read: an
 * incomplete request will never be completed, and the result of a running one
 * is hardly awaited by anybody (half-closed connections look the same). */
static bool http_is_gone(const http_connection *c) {
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    int unread = 0;
    return poll(&p, 1, 0) > 0 && ioctl(c->fd, FIONREAD, &unread) == 0 && unread == 0;
}

void http_tend(http *h) {
    uint64_t now = clock_ns();
    pthread_mutex_lock(&h->lock);
    for (http_connection *c = h->connections; c; c = c->next) {
        uint64_t limit = atomic_load_explicit(&c->limit_ns, memory_order_acquire),
                 since = atomic_load_explicit(&c->since_ns, memory_order_acquire);
        if (c->fd < 0 || now < since) continue;
        if (!limit) { /* it works */
            if (c->cancel && now - since >= HTTP_GONE_NS && http_is_gone(c))
                ctsc_cancel_set(c->cancel);
            continue;
        }
        bool late = now - since >= limit;
        if (!late && (atomic_load_explicit(&c->answering, memory_order_acquire) ||
                      now - since < HTTP_GONE_NS || !http_is_gone(c)))
            continue;
        shutdown(c->fd, SHUT_RDWR);
        c->fd = -1;
        if (late) counter_add(&h->s->stats.receive_timeouts, 1);
    }
    pthread_mutex_unlock(&h->lock);
}

void http_cancel(http *h) {
    pthread_mutex_lock(&h->lock);
    for (http_connection *c = h->connections; c; c = c->next)
        if (c->cancel) ctsc_cancel_set(c->cancel);
    pthread_mutex_unlock(&h->lock);
}

/* ---- responses ------------------------------------------------------------------------------- */

static void http_headers(const http_connection *r, struct MHD_Response *m) {
    char text[40];
    const exchange *x = &r->x;
    log_date(r->h->log, text);
    MHD_add_response_header(m, "Date", text);
    if (x->reply.len || x->feed) MHD_add_response_header(m, "Content-Type", x->type);
    if (x->feed) MHD_add_response_header(m, "Cache-Control", "no-store");
    if (x->json_len) {
        snprintf(text, sizeof text, "%zu", x->json_len);
        MHD_add_response_header(m, "Inference-Header-Content-Length", text);
    }
    if (x->retry_after) {
        snprintf(text, sizeof text, "%d", x->retry_after);
        MHD_add_response_header(m, "Retry-After", text);
    }
    if (x->allow) MHD_add_response_header(m, "Allow", x->allow);
    if (x->status == 401) MHD_add_response_header(m, "WWW-Authenticate", "Bearer");
    if (r->refused || atomic_load_explicit(&r->h->s->draining, memory_order_relaxed))
        MHD_add_response_header(m, "Connection", "close");
    if (x->type && !strncmp(x->type, "text/html", 9)) {
        MHD_add_response_header(m, "Content-Security-Policy",
                                "default-src 'none'; script-src 'unsafe-inline'; style-src "
                                "'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'");
        MHD_add_response_header(m, "X-Content-Type-Options", "nosniff");
    }
}

static void http_wait(exchange *x) { MHD_suspend_connection(((http_connection *)x)->c); }

static ssize_t http_read_feed(void *cls, uint64_t at, char *to, size_t room) {
    http_connection *r = cls;
    (void)at;
    ssize_t n = feed_take(r->x.feed, to, room, http_wait);
    if (n < 0) return MHD_CONTENT_READER_END_OF_STREAM;
    r->x.fed += (size_t)n;
    return n;
}

/* Gives the response to libmicrohttpd. The content stays the connection's until http_completed. */
static enum MHD_Result http_answer(http_connection *r) {
    static char nothing[1];
    const buffer *reply = &r->x.reply;
    struct MHD_Response *m =
        r->x.feed ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, HTTP_FEED_BLOCK,
                                                      http_read_feed, r, NULL)
                  : MHD_create_response_from_buffer(reply->len, reply->len ? reply->data : nothing,
                                                    MHD_RESPMEM_PERSISTENT);
    if (!m) return MHD_NO;
    http_headers(r, m);
    counter_add(&r->h->s->stats.responses_by_class[r->x.status / 100 % 6], 1);
    counter_add(&r->h->s->stats.reply_bytes, reply->len);
    atomic_store_explicit(&r->answering, true, memory_order_release);
    /* a feed takes as long as the model does: a client that hangs up cancels that */
    http_phase(r, clock_ns(),
               r->x.feed ? 0
                         : r->h->s->o->receive_seconds * 1000000000ull +
                               (uint64_t)reply->len * 1000000000u / HTTP_SLOWEST_READER);
    enum MHD_Result ok = MHD_queue_response(r->c, (unsigned)r->x.status, m);
    MHD_destroy_response(m);
    return ok;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void http_defer(exchange *x) { MHD_suspend_connection(((http_connection *)x)->c); }

static void http_wake(exchange *x) {
    http_connection *r = (http_connection *)x;
    http *h = r->h;
    atomic_fetch_add(&h->resuming, 1);
    MHD_resume_connection(r->c); /* r may be gone after this */
    atomic_fetch_sub(&h->resuming, 1);
}

static void http_done(exchange *x) {
    atomic_store_explicit(&((http_connection *)x)->answered, true, memory_order_release);
    http_wake(x);
}

/* "Content-Length" as far as it is a number. */
static bool http_content_length(struct MHD_Connection *c, uint64_t *out) {
    const char *text = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
        return false;
    *out = strtoull(text, NULL, 10);
    return true;
}

/* What a request says of where it ends, and to whom it is. */
typedef struct http_framing {
    int lengths, encodings, hosts;
    bool chunked, odd;
} http_framing;

static bool http_is_token(const char *text, size_t n) {
    static const char allowed[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < n; i++)
        if (!memchr(allowed, text[i], sizeof allowed - 1)) return false;
    return n > 0;
}

static enum MHD_Result http_field(void *ctx, enum MHD_ValueKind kind, const char *name, size_t n,
                                  const char *value, size_t size) {
    http_framing *f = ctx;
    (void)kind;
    f->odd |= !http_is_token(name, n);
    for (size_t i = 0; i < size; i++)
        f->odd |= ((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 127;
    if (f->odd) return MHD_YES;
    if (!strcasecmp(name, "Content-Length")) f->lengths++;
    if (!strcasecmp(name, "Host")) f->hosts++;
    if (!strcasecmp(name, "Transfer-Encoding")) {
        f->encodings++;
        f->chunked = value && !strcasecmp(value, "chunked");
    }
    return MHD_YES;
}

/* NULL, or why it is not clear where the request ends. Programs before this one, such as a proxy,
 * may have seen another end than the HTTP library does: what follows would be a request that they
 * have not looked at. RFC 9112 has such requests refused (2.2, 3.2, 5.1, 6.1, 6.3). */
static const char *http_misframed(struct MHD_Connection *c, const char *version) {
    http_framing f = {0};
    MHD_get_connection_values_n(c, MHD_HEADER_KIND, http_field, &f);
    bool first = strcmp(version, "HTTP/1.1") != 0;
    if (f.odd) return "a header has a character that is not allowed there";
    if (f.lengths > 1) return "the request has more than one Content-Length";
    if (f.lengths && f.encodings)
        return "the request has both Content-Length and Transfer-Encoding";
    if (f.encodings > 1 || (f.encodings && !f.chunked))
        return "the only Transfer-Encoding is chunked";
    if (f.encodings && first) return "HTTP/1.0 has no Transfer-Encoding";
    if (f.hosts > 1 || (!f.hosts && !first)) return "a request has one header Host";
    return NULL;
}

/* Room for n bytes of body and a NUL. */
static bool http_room(http_connection *r, size_t n) {
    if (n < r->cap) return true;
    size_t cap = n < 2 * r->cap ? 2 * r->cap : n + 1;
    char *more = realloc(r->body, cap);
    if (!more) return false;
    r->body = more;
    r->cap = cap;
    return true;
}

/* What can be said before the body is read. The response of a refusal closes the connection: its
 * body is never read. */
static enum MHD_Result http_begin(http *h, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, void **cls) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    http_connection *r = info ? info->socket_context : NULL;
    uint64_t length = 0, now = clock_ns();
    if (!r) return MHD_NO; /* there was no memory for the connection */
    *cls = r;
    buffer reply = r->x.reply;
    reply.len = 0;
    reply.failed = false;
    if (r->cancel) ctsc_cancel_clear(r->cancel);
    r->x = (exchange){.s = h->s,
                      .method = method,
                      .path = url,
                      .started_ns = now,
                      .cancel = r->cancel,
                      .defer = http_defer,
                      .done = http_done,
                      .wake = http_wake,
                      .keep = &r->keep,
                      .reply = reply};
    r->x.authorization = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    log_trace(r->x.trace, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "traceparent"));
    r->x.content_encoding = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Encoding");
    r->x.header_length = MHD_lookup_connection_value(c, MHD_HEADER_KIND,
                                                     "Inference-Header-Content-Length");
    r->too_large = r->refused = false;
    r->dropped = 0;
    atomic_store_explicit(&r->answered, false, memory_order_relaxed);
    counter_add(&h->s->stats.requests, 1);
    counter_add(&h->s->stats.receiving, 1);
    r->working = false;
    http_phase(r, now, h->s->o->receive_seconds * 1000000000ull);
    bool known = http_content_length(c, &length);
    const char *misframed = http_misframed(c, version);
    if (misframed) {
        r->refused = true;
        protocol_error(&r->x, 400, "%s", misframed);
    } else if (!protocol_allowed(&r->x)) {
        r->refused = true;
    } else if (known && length > h->s->o->max_body) {
        r->refused = true;
        protocol_error(&r->x, 413, "the request has %llu bytes, more than the %zu that are allowed",
                       (unsigned long long)length, h->s->o->max_body);
    }
    if (r->refused) return http_answer(r);
    return http_room(r, (size_t)(length < (1 << 20) ? length : 1 << 20)) ? MHD_YES : MHD_NO;
}

/* Some of the body. More than is allowed is read and forgotten, up to a point, so that the client
 * sees the answer. */
static enum MHD_Result http_collect(http_connection *r, const char *data, size_t n) {
    size_t have = r->x.body_len;
    if (r->too_large || n > r->h->s->o->max_body - have) {
        r->too_large = true;
        r->dropped += n;
        return r->dropped > HTTP_DROP_MOST ? MHD_NO : MHD_YES;
    }
    if (!http_room(r, have + n)) return MHD_NO;
    memcpy(r->body + have, data, n);
    r->x.body_len = have + n;
    return MHD_YES;
}

static enum MHD_Result http_whole(http_connection *r) {
    exchange *x = &r->x;
    x->started_ns = clock_ns();
    r->working = true;
    counter_add(&r->h->s->stats.in_flight, 1);
    atomic_fetch_sub(&r->h->s->stats.receiving, 1);
    r->body[x->body_len] = '\0';
    x->body = r->body;
    counter_add(&r->h->s->stats.body_bytes, x->body_len);
    http_phase(r, x->started_ns, 0);
    if (r->too_large)
        protocol_error(x, 413, "the request is larger than the %zu bytes that are allowed",
                       r->h->s->o->max_body);
    /* x may be answered already: it is not ours until we are called again */
    else if (!protocol_handle(x)) return MHD_YES;
    return http_answer(r);
}

static enum MHD_Result http_handle(void *cls, struct MHD_Connection *c, const char *url,
                                   const char *method, const char *version, const char *data,
                                   size_t *size, void **request) {
    http_connection *r = *request;
    if (!r) return http_begin(cls, c, url, method, version, request);
    if (r->refused) {
        *size = 0;
        return MHD_YES;
    }
    if (*size) {
        enum MHD_Result ok = http_collect(r, data, *size);
        *size = 0;
        return ok;
    }
    if (atomic_load_explicit(&r->answered, memory_order_acquire)) return http_answer(r);
    return http_whole(r);
}

/* The client has all of it, or is gone; what is being made for it is stopped. */
static void http_leave_feed(http_connection *r) {
    pthread_mutex_lock(&r->h->lock); /* http_tend looks at `cancel` */
    if (!feed_leave(r->x.feed, r->cancel)) r->cancel = ctsc_cancel_new();
    pthread_mutex_unlock(&r->h->lock);
    r->x.feed = NULL;
    counter_add(&r->h->s->stats.reply_bytes, r->x.fed);
}

static void http_completed(void *cls, struct MHD_Connection *c, void **request,
                           enum MHD_RequestTerminationCode why) {
    http *h = cls;
    http_connection *r = *request;
    (void)c, (void)why;
    if (!r) return;
    uint64_t now = clock_ns();
    if (r->x.feed) http_leave_feed(r);
    log_request(h->log, &r->x, r->address, now - r->x.started_ns);
    atomic_store_explicit(&r->answering, false, memory_order_release);
    http_phase(r, now, http_between_ns(h));
    atomic_fetch_sub(r->working ? &h->s->stats.in_flight : &h->s->stats.receiving, 1);
    if (r->x.reply.cap > HTTP_KEEP) buffer_free(&r->x.reply);
    if (r->cap > HTTP_KEEP) {
        free(r->body);
        r->body = NULL;
        r->cap = 0;
    }
    *request = NULL;
}

/* ---- listening ------------------------------------------------------------------------------- */

/* Counted before libmicrohttpd's thread has seen it, so that draining waits for it. */
static void http_take(void *ctx, int fd, const struct sockaddr *from, socklen_t len) {
    http *h = ctx;
    counter_add(&h->s->stats.connections, 1);
    counter_add(&h->s->stats.connections_total, 1);
    /* closes fd if it cannot take it */
    if (MHD_add_connection(h->daemon, fd, from, len) != MHD_YES)
        atomic_fetch_sub(&h->s->stats.connections, 1);
}

static bool http_room_for(void *ctx) {
    const server *s = ((http *)ctx)->s;
    return counter_get(&s->stats.connections) < s->o->max_connections;
}

static void http_free(http *h) {
    pthread_mutex_destroy(&h->lock);
    free(h);
}

http *http_open(server *s, access_log *log, char *why, size_t size) {
    http *h = calloc(1, sizeof *h);
    snprintf(why, size, "out of memory");
    if (!h) return NULL;
    *h = (http){
        .s = s, .log = log, .listener = {.take = http_take, .room = http_room_for, .ctx = h}};
    pthread_mutex_init(&h->lock, NULL);
    if (listener_open(&h->listener, s->o->host, s->o->port, why, size)) return h;
    http_free(h);
    return NULL;
}

bool http_start(http *h, char *why, size_t size) {
    const serve_options *o = h->s->o;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
                     MHD_USE_TURBO | MHD_USE_SUPPRESS_DATE_NO_CLOCK | MHD_USE_NO_LISTEN_SOCKET;
    h->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, http_handle, h, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)o->http_threads, MHD_OPTION_CONNECTION_LIMIT, o->max_connections + HTTP_SLACK,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, o->max_connections_per_ip,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->max_header, MHD_OPTION_CONNECTION_TIMEOUT,
        o->idle_seconds, MHD_OPTION_NOTIFY_COMPLETED, http_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, http_notify_connection, h, MHD_OPTION_END);
    if (h->daemon && listener_start(&h->listener)) return true;
    snprintf(
        why, size,
        "the HTTP library could not be started (more connections than open files are allowed?)");
    return false;
}

int http_port(const http *h) { return h->listener.port; }

long http_in_flight(const http *h) { return (long)counter_get(&h->s->stats.in_flight); }

long http_receiving(const http *h) { return (long)counter_get(&h->s->stats.receiving); }

long http_connections(const http *h) { return (long)counter_get(&h->s->stats.connections); }

void http_quiesce(http *h) { listener_stop(&h->listener); }

void http_stop(http *h) {
    while (atomic_load(&h->resuming)) sched_yield();
    if (h->daemon) MHD_stop_daemon(h->daemon);
    http_free(h);
}
