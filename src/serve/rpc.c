/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc.c - opens libctsc-grpc.so on request (--grpc), and accepts its connections.
 *
 * The library is looked for next to the command, in ../lib and ../lib64 from there, and then where
 * the loader looks. The command listens itself: so the limits of connections are the same ones as
 * of HTTP, and libgrpc's own listener (as of 1.51) gives up for good when descriptors run out.
 * Tests: tests/serve/triton.py
 */
#include "serve/rpc.h"

#include "serve/listener.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char rpc_library[] = "libctsc-grpc.so";

struct rpc {
    server *s;
    access_log *log;
    const rpc_interface *in;
    rpc_door *door;
    listener listener;
};

/* ---- the library ----------------------------------------------------------------------------- */

/* NULL: *why, unless an earlier reason is there. missing: there is no such file. */
static const rpc_interface *rpc_try(const char *path, bool *missing, char *why, size_t size) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        *missing = strchr(path, '/') ? access(path, F_OK) != 0
                                     : text && !strncmp(text, rpc_library, sizeof rpc_library - 1);
        if (!*missing && !*why) snprintf(why, size, "gRPC: %s", text ? text : path);
        return NULL;
    }
    union {
        void *object;
        rpc_entry fn;
    } entry = {.object = dlsym(handle, RPC_ENTRY)};
    const rpc_interface *in = entry.object ? entry.fn() : NULL;
    *missing = false;
    if (in && in->version == RPC_INTERFACE && in->exchange_size == sizeof(exchange) &&
        in->server_size == sizeof(server))
        return in;
    if (!*why) snprintf(why, size, "gRPC: %s belongs to another version of ctsc", path);
    return NULL;
}

static const rpc_interface *rpc_find(char *why, size_t size) {
    static const char *const places[] = {"", "../lib/", "../lib64/"};
    char self[3072], path[4096];
    const rpc_interface *in = NULL;
    bool missing = true;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    *why = '\0';
    for (size_t i = 0; slash && !in && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%.*s%s%s", (int)(slash + 1 - self), self, places[i],
                 rpc_library);
        in = rpc_try(path, &missing, why, size);
    }
    if (!in && !*why) in = rpc_try(rpc_library, &missing, why, size);
    if (!in && !*why)
        snprintf(why, size,
                 "there is no %s for gRPC: 'make grpc' builds it where libgrpc is installed "
                 "(Debian: libgrpc-dev), or put it beside the command",
                 rpc_library);
    return in;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void rpc_take(void *ctx, int fd, const struct sockaddr *from, socklen_t len) {
    rpc *r = ctx;
    counter_add(&r->s->stats.connections, 1);
    counter_add(&r->s->stats.connections_total, 1);
    r->in->take(r->door, fd, from, len);
}

static bool rpc_room(void *ctx) {
    const server *s = ((rpc *)ctx)->s;
    return counter_get(&s->stats.connections) < s->o->max_connections;
}

/* ---- life ------------------------------------------------------------------------------------ */

rpc *rpc_open(server *s, access_log *log, char *why, size_t size) {
    const rpc_interface *in = rpc_find(why, size);
    rpc *r = in ? calloc(1, sizeof *r) : NULL;
    if (!r) return NULL;
    *r = (rpc){.s = s, .log = log, .in = in};
    r->listener = (listener){.take = rpc_take, .room = rpc_room, .ctx = r};
    if (listener_open(&r->listener, s->o->host, s->o->grpc_port, why, size)) return r;
    free(r);
    return NULL;
}

bool rpc_start(rpc *r, char *why, size_t size) {
    const rpc_host host = {.s = r->s,
                           .log = r->log,
                           .allowed = protocol_allowed,
                           .handle = protocol_handle,
                           .keep_free = infer_keep_free,
                           .log_request = log_request,
                           .log_trace = log_trace};
    r->door = r->in->open(&host);
    if (r->door && listener_start(&r->listener)) return true;
    snprintf(why, size, "the gRPC library could not be started");
    return false;
}

int rpc_port(const rpc *r) { return r->listener.port; }

void rpc_tend(rpc *r) { r->in->tend(r->door); }

void rpc_cancel(rpc *r) { r->in->cancel(r->door); }

void rpc_quiesce(rpc *r) {
    listener_stop(&r->listener);
    if (r->door) r->in->quiesce(r->door);
}

void rpc_stop(rpc *r) {
    if (r->door) r->in->close(r->door);
    free(r);
}
