/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener.c - the socket that listens, and the thread that accepts.
 *
 * libmicrohttpd could do this, but not stop doing it: when several of its threads watch
 * the socket, MHD_quiesce_daemon (as of 1.0.1) takes it out of each one's epoll set
 * while that thread, if it is awake, does the same; the second one ends the process.
 * Tests: tests/serve/client.py
 */
#include "serve/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    LISTENER_QUEUE = 1024,
    LISTENER_WAIT_MS = 20 /* for room, or for what accept lacks: descriptors, memory */
};

static int listener_bind(const char *host, int port, char *why, size_t size) {
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *all = NULL;
    int fd = -1, on = 1;
    snprintf(service, sizeof service, "%d", port);
    int code = getaddrinfo(host, service, &hints, &all);
    if (code) {
        snprintf(why, size, "cannot listen on '%s': %s", host, gai_strerror(code));
        return -1;
    }
    for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, LISTENER_QUEUE) == 0) break;
        snprintf(why, size, "cannot listen on %s port %d: %s", host, port, strerror(errno));
        close(fd);
        fd = -1;
    }
    freeaddrinfo(all);
    return fd;
}

/* A socket that a server left when it was killed. */
static bool listener_is_left(const struct sockaddr_un *at) {
    struct stat st;
    if (lstat(at->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode)) return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool left = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 &&
                errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return left;
}

static int listener_bind_path(const char *path, char *why, size_t size) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const struct sockaddr *where = (const struct sockaddr *)&at;
    if (!*path || strlen(path) >= sizeof at.sun_path) {
        snprintf(why, size, "cannot listen on a socket whose path is not of 1 to %zu bytes",
                 sizeof at.sun_path - 1);
        return -1;
    }
    strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool bound = fd >= 0 && bind(fd, where, sizeof at) == 0;
    if (!bound && fd >= 0 && errno == EADDRINUSE) {
        bound = listener_is_left(&at) && unlink(path) == 0 && bind(fd, where, sizeof at) == 0;
        if (!bound) errno = EADDRINUSE;
    }
    if (bound && listen(fd, LISTENER_QUEUE) == 0) return fd;
    snprintf(why, size, "cannot listen on the socket %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

const char *listener_path(const char *host) { return strncmp(host, "unix:", 5) ? NULL : host + 5; }

static int listener_port(int fd) {
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &len) != 0) return 0;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

bool listener_open(listener *l, const char *host, int port, char *why, size_t size) {
    l->path = listener_path(host);
    l->fd = l->path ? listener_bind_path(l->path, why, size) : listener_bind(host, port, why, size);
    if (l->fd < 0) return false;
    l->port = listener_port(l->fd);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->wake >= 0) return true;
    snprintf(why, size, "cannot listen: %s", strerror(errno));
    close(l->fd);
    return false;
}

/* 0: one was accepted; EAGAIN: there is none; else what the next one has to wait for. */
static int listener_accept(listener *l) {
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    if (!l->room(l->ctx)) return EBUSY;
    int fd = accept4(l->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return errno == EINTR || errno == ECONNABORTED ? 0 : errno;
    l->take(l->ctx, fd, (struct sockaddr *)&from, len);
    return 0;
}

static int listener_accept_all(listener *l) {
    int why;
    while (!(why = listener_accept(l))) {
    }
    return why;
}

static void *listener_thread(void *arg) {
    listener *l = arg;
    struct pollfd of[] = {{.fd = l->wake, .events = POLLIN}, {.fd = l->fd, .events = POLLIN}};
    while (!of[0].revents) {
        bool none = listener_accept_all(l) == EAGAIN;
        /* connections that cannot be accepted would not let it wait */
        poll(of, none ? 2 : 1, none ? -1 : LISTENER_WAIT_MS);
    }
    return NULL;
}

bool listener_start(listener *l) {
    return l->running = pthread_create(&l->thread, NULL, listener_thread, l) == 0;
}

void listener_stop(listener *l) {
    if (l->running) {
        eventfd_write(l->wake, 1);
        pthread_join(l->thread, NULL);
        listener_accept_all(l);
    }
    close(l->wake);
    close(l->fd);
    if (l->path) unlink(l->path);
}
