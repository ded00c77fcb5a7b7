/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - starts the server, keeps it going, and ends it without losing a request.
 *
 * Threads. The main thread waits for signals and, fifty times a second, checks what has waited
 * too long. A second one watches the folder and loads models, a third accepts connections.
 * libmicrohttpd has its own, every model its own. OpenBLAS's were there before and do not block
 * signals: what comes while the main thread does not wait for it is theirs, so it has a handler.
 * Draining. After SIGTERM the server is no longer ready, accepts no new connections, and closes
 * each connection after its next answer. It ends when no request is left and idle connections
 * have stayed idle for a moment; a request that is only half there has three seconds to become
 * whole. A second signal, or the end of the time for draining, stops the models that still run.
 * Tests: tests/serve/client.py
 */
#include "sandbox/sandbox.h"
#include "serve/http.h"
#include "serve/isolate/spawner.h"
#include "serve/listener.h"
#include "serve/rpc.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 20, QUIET_MS = 400, PARTIAL_MS = 3000, STOP_MS = 3000 };

typedef struct watcher {
    repository *r;
    double seconds;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop, running;
    pthread_t thread;
} watcher;

/* What requests come in by. */
typedef struct doors { http *h; rpc *r; /* NULL: no gRPC */ } doors;

static void server_note(void *ctx, const char *text) {
    (void)ctx;
    fprintf(stderr, "ctsc serve: %s\n", text);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void *watcher_thread(void *arg) {
    watcher *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        uint64_t at = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec +
                      (uint64_t)(w->seconds * 1e9);
        t = (struct timespec){.tv_sec = (time_t)(at / 1000000000u),
                              .tv_nsec = (long)(at % 1000000000u)};
        pthread_cond_timedwait(&w->wake, &w->lock, &t);
        if (w->stop) break;
        pthread_mutex_unlock(&w->lock);
        repository_look(w->r, false);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void watcher_start(watcher *w, repository *r, double seconds) {
    *w = (watcher){.r = r, .seconds = seconds};
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    w->running = seconds > 0 && pthread_create(&w->thread, NULL, watcher_thread, w) == 0;
}

static void watcher_stop(watcher *w) {
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (w->running) pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
}

/* ---- running --------------------------------------------------------------------------------- */

static atomic_bool server_asked; /* a signal came to another thread than the main one */

static void server_on_signal(int signal) {
    (void)signal;
    atomic_store(&server_asked, true);
}

/* Waits a tick; true if one of the signals came. */
static bool server_signal(const sigset_t *set) {
    struct timespec tick = {.tv_nsec = TICK_MS * 1000000};
    return sigtimedwait(set, NULL, &tick) > 0 || atomic_exchange(&server_asked, false);
}

static void server_tend(server *s, const doors *d, access_log *log, unsigned tick) {
    repository_tend(&s->repository);
    if (tick % 5 == 0) log_flush(log);
    if (tick % 10 == 0) {
        log_tick(log);
        http_tend(d->h);
        if (d->r) rpc_tend(d->r);
    }
}

/* False: requests are left that cannot be stopped. */
static bool server_drain(server *s, const doors *d, access_log *log, const sigset_t *set) {
    const http *h = d->h;
    uint64_t start = clock_ns(), quiet = start, stopped = 0;
    atomic_store(&s->draining, true);
    fprintf(stderr, "ctsc serve: draining: %ld requests, %ld connections\n", http_in_flight(h),
            http_connections(h));
    http_quiesce(d->h);
    if (d->r) rpc_quiesce(d->r);
    for (unsigned tick = 0;; tick++) {
        bool again = server_signal(set);
        uint64_t now = clock_ns();
        server_tend(s, d, log, tick);
        bool partial = http_receiving(h) && now - start < PARTIAL_MS * 1000000ull;
        if (http_in_flight(h) || partial) quiet = now;
        else if (!http_connections(h) || now - quiet > QUIET_MS * 1000000ull) return true;
        if (!stopped && (again || now - start > s->o->drain_seconds * 1000000000ull)) {
            stopped = now;
            fprintf(stderr, "ctsc serve: stopping %ld requests\n", http_in_flight(h));
        }
        if (stopped) {
            repository_cancel(&s->repository); /* calls shared by several requests */
            http_cancel(d->h);
            if (d->r) rpc_cancel(d->r);
        }
        if (stopped && now - stopped > STOP_MS * 1000000ull) return http_in_flight(h) == 0;
    }
}

static char *server_read_token(const char *path) {
    char line[4096];
    FILE *f = fopen(path, "re");
    char *got = f ? fgets(line, sizeof line, f) : NULL;
    if (f) fclose(f);
    if (got) line[strcspn(line, "\r\n")] = '\0';
    return got && *line ? strdup(line) : NULL;
}

/* The sockets, so that clients wait instead of failing while models are loaded, and so that a
 * sandbox (sandbox.h) can close around what is not yet there. False: *why. */
static bool server_open(server *s, access_log *log, doors *d, char *why, size_t size) {
    d->h = http_open(s, log, why, size);
    if (d->h && s->o->grpc) d->r = rpc_open(s, log, why, size);
    return d->h && (d->r || !s->o->grpc) && (!s->o->sandbox || sandbox_seal(why));
}

static bool server_start(const doors *d, char *why, size_t size) {
    return http_start(d->h, why, size) && (!d->r || rpc_start(d->r, why, size));
}

static void server_close(doors *d) {
    if (d->r) rpc_stop(d->r);
    if (d->h) http_stop(d->h);
}

static void server_say(const char *host, const char *what, int port) {
    if (listener_path(host)) {
        fprintf(stderr, "ctsc serve: listening on %s\n", host);
        return;
    }
    bool v6 = strchr(host, ':') != NULL;
    fprintf(stderr, "ctsc serve: %s%s%s%s:%d\n", what, v6 ? "[" : "", host, v6 ? "]" : "", port);
}

static ctsc_status server_with(server *s, const sigset_t *set) {
    access_log log;
    watcher w;
    char why[SANDBOX_WHY];
    if (!log_open(&log, s->o->access_log)) {
        fprintf(stderr, "ctsc serve: cannot write the access log '%s': %s\n", s->o->access_log,
                strerror(errno));
        return CTSC_ENVIRONMENT;
    }
    doors d = {NULL, NULL};
    bool started = server_open(s, &log, &d, why, sizeof why);
    if (started) {
        repository_look(&s->repository, true);
        started = server_start(&d, why, sizeof why);
    }
    if (!started) {
        if (d.h) http_quiesce(d.h);
        if (d.r) rpc_quiesce(d.r);
        server_close(&d);
        fprintf(stderr, "ctsc serve: %s\n", why);
        log_close(&log);
        return CTSC_ENVIRONMENT;
    }
    server_say(s->o->host, "listening on http://", http_port(d.h));
    if (d.r) server_say(s->o->host, "gRPC on ", rpc_port(d.r));
    watcher_start(&w, &s->repository, s->o->poll_seconds);
    for (unsigned tick = 0; !server_signal(set); tick++) server_tend(s, &d, &log, tick);
    bool clean = server_drain(s, &d, &log, set);
    log_flush(&log);
    if (!clean) {
        fprintf(stderr, "ctsc serve: gave up waiting for running models\n");
        _exit(CTSC_LIMIT);
    }
    watcher_stop(&w);
    server_close(&d);
    log_close(&log);
    fprintf(stderr, "ctsc serve: done\n");
    return CTSC_OK;
}

/* Each connection is an open file; the default limit is often 1024. */
static void server_allow_files(const serve_options *o) {
    struct rlimit l;
    rlim_t want = (rlim_t)o->max_connections + 256;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur >= want) return;
    l.rlim_cur = l.rlim_max < want ? l.rlim_max : want;
    setrlimit(RLIMIT_NOFILE, &l);
}

/* Threads come and go with the models. The C library gives a new one whichever arena is free, up to
 * eight per core, and each arena keeps about what it held at most, much of it out of malloc_trim's
 * reach: memory would grow reload by reload until all of them had held a model. Few arenas do,
 * since most calls of malloc are answered from what a thread keeps for itself. */
static void server_share_arenas(long cores) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, (int)(1 + (cores > 0 ? cores : 1) / 8));
#else
    (void)cores;
#endif
}

static ctsc_status server_run(server *s, spawner *processes) {
    const serve_options *o = s->o;
    sigset_t set, old;
    struct sigaction act = {.sa_handler = server_on_signal, .sa_flags = SA_RESTART};
    s->stats.started_ms = clock_wall_ms();
    if (o->token_file && !(s->token = server_read_token(o->token_file))) {
        if (access(o->token_file, R_OK) != 0)
            fprintf(stderr, "ctsc serve: %s: %s\n", o->token_file, strerror(errno));
        else
            fprintf(stderr, "ctsc serve: there is no token in the first line of '%s'\n",
                    o->token_file);
        return CTSC_ENVIRONMENT;
    }
    server_allow_files(o);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    ctsc_set_threads(o->threads);
    if (o->flush_denormals && !ctsc_set_flush_denormals(true))
        fprintf(stderr, "ctsc serve: this processor cannot flush denormal numbers\n");
    ctsc_status st = CTSC_LIMIT;
    if (repository_init(&s->repository, o)) {
        s->repository.note = server_note;
        s->repository.spawner = processes;
        st = server_with(s, &set);
        repository_free(&s->repository);
    }
    /* The handlers stay: a signal that came late does not end a server that is done. */
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return st;
}

/* Models' processes come before everything they are not to have: the token, signals, threads. */
ctsc_status serve_run(const serve_options *options) {
    serve_options o = *options;
    server *s = calloc(1, sizeof *s);
    spawner processes;
    char why[SANDBOX_WHY];
    if (!s) {
        fputs("ctsc serve: out of memory\n", stderr);
        return CTSC_LIMIT;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    server_share_arenas(cores);
    if (o.http_threads < 1) o.http_threads = cores > 1 ? (int)cores : 2;
    if (o.instances < 1) o.instances = cores > 0 && !o.isolate ? (int)cores : 1;
    s->o = &o;
    spawner_options of_models = {o.threads, o.flush_denormals, o.sandbox};
    ctsc_status st = CTSC_ENVIRONMENT;
    if (o.isolate && !spawner_start(&processes, &of_models, why, sizeof why)) {
        fprintf(stderr, "ctsc serve: %s\n", why);
    } else {
        st = server_run(s, o.isolate ? &processes : NULL);
        if (o.isolate) spawner_stop(&processes);
    }
    free(s->token);
    free(s);
    return st;
}
