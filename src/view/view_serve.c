/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_serve.c - one page over HTTP.
 *
 * Threads: libmicrohttpd's own answers requests; the page does not change. The main one waits for a
 * signal, which is blocked in all others.
 * Tests: tests/view/serve.py
 */
#include "view/view.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { VIEW_CONNECTIONS = 32, VIEW_IDLE_SECONDS = 30 };

typedef struct view_answers { struct MHD_Response *page, *missing, *refused; } view_answers;

static enum MHD_Result view_answer(void *ctx, struct MHD_Connection *c, const char *url,
                                   const char *method, const char *version, const char *body,
                                   size_t *body_len, void **state) {
    const view_answers *a = ctx;
    static int seen;
    (void)version, (void)body;
    if (!*state) { /* the first call of a request comes before its body */
        *state = &seen;
        return MHD_YES;
    }
    if (*body_len) { /* nothing here reads one */
        *body_len = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") && strcmp(method, "HEAD"))
        return MHD_queue_response(c, MHD_HTTP_METHOD_NOT_ALLOWED, a->refused);
    bool page = !strcmp(url, "/");
    return MHD_queue_response(c, page ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND,
                              page ? a->page : a->missing);
}

static struct MHD_Response *view_response(const char *text, size_t len, const char *type) {
    struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(size_t)text,
                                                             MHD_RESPMEM_PERSISTENT);
    if (!r) return NULL;
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    return r;
}

/* The address to listen on: one of this machine, by name or number. */
static struct addrinfo *view_address(const char *host, int port) {
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    snprintf(service, sizeof service, "%d", port);
    return getaddrinfo(host, service, &hints, &found) ? NULL : found;
}

static void view_wait(const char *host, struct MHD_Daemon *d, const sigset_t *signals) {
    const union MHD_DaemonInfo *i = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
    bool v6 = strchr(host, ':') != NULL;
    fprintf(stderr, "listening on http://%s%s%s:%d (Ctrl-C ends it)\n", v6 ? "[" : "", host,
            v6 ? "]" : "", i ? i->port : 0);
    fflush(stderr);
    int got;
    sigwait(signals, &got);
}

static const char *view_run(const char *host, int port, view_answers *a) {
    sigset_t signals, before;
    struct addrinfo *at = view_address(host, port);
    if (!at) return "there is no such address";
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO |
                     (at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    struct MHD_Daemon *d = MHD_start_daemon(
        flags, (uint16_t)port, NULL, NULL, view_answer, a, MHD_OPTION_SOCK_ADDR, at->ai_addr,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)VIEW_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)VIEW_IDLE_SECONDS, MHD_OPTION_END);
    if (d) view_wait(host, d, &signals);
    if (d) MHD_stop_daemon(d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    freeaddrinfo(at);
    return d ? NULL : "the port is taken, or may not be used";
}

const char *view_serve(const char *host, int port, const char *page, size_t len) {
    static const char missing[] = "there is nothing here\n", refused[] = "only GET\n";
    view_answers a = {
        .page = view_response(page, len, "text/html; charset=utf-8"),
        .missing = view_response(missing, sizeof missing - 1, "text/plain"),
        .refused = view_response(refused, sizeof refused - 1, "text/plain"),
    };
    const char *why = a.page && a.missing && a.refused ? view_run(host, port, &a) : "out of memory";
    if (a.page) MHD_destroy_response(a.page);
    if (a.missing) MHD_destroy_response(a.missing);
    if (a.refused) MHD_destroy_response(a.refused);
    return why;
}
