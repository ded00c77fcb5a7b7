/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq.c - opens ZeroMQ, and finds or makes the secret (zmq.h).
 *
 * The secret is 32 bytes, written as 64 hexadecimal digits: the variable CTSC_DIST_SECRET, else the
 * file dist-secret of the user's folder of caches, which the first process makes. So processes of
 * one user on one machine, or on machines that share home folders, need nothing; elsewhere the
 * variable is set.
 */
#include "distributed/zmq.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_BYTES = 32, SECRET_PATH = 4096 };

/* ---- the library ----------------------------------------------------------------------------- */

static zmq_library zmq_functions;
static bool zmq_opened;
static char zmq_why[256];

static void zmq_find(void) {
    void *handle = dlopen("libzmq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(zmq_why, sizeof zmq_why, "%s", dlerror());
        return;
    }
#define ZMQ_LOAD(result, name, arguments)                                                          \
    *(void **)&zmq_functions.zmq_##name = dlsym(handle, "zmq_" #name);                             \
    if (!zmq_functions.zmq_##name) {                                                               \
        snprintf(zmq_why, sizeof zmq_why, "libzmq.so.5 has no zmq_" #name);                        \
        return;                                                                                    \
    }
    ZMQ_FUNCTIONS(ZMQ_LOAD)
#undef ZMQ_LOAD
        zmq_opened = zmq_functions.zmq_has("curve") == 1;
    if (!zmq_opened) snprintf(zmq_why, sizeof zmq_why, "libzmq.so.5 was built without CURVE");
}

const zmq_library *zmq_open(ctsc_dist_error *e) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, zmq_find);
    if (zmq_opened) return &zmq_functions;
    dist_fail(e, CTSC_ENVIRONMENT,
              "stores over TCP and remote calls need ZeroMQ: %s; install it (Debian: libzmq5)",
              zmq_why);
    return NULL;
}

/* ---- the secret ------------------------------------------------------------------------------ */

static bool secret_parse(const char *text, uint8_t secret[SECRET_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    size_t n = strspn(text, "0123456789abcdefABCDEF");
    if (n != 2 * SECRET_BYTES || text[n + strspn(text + n, " \r\n")]) return false;
    for (size_t i = 0; i < 2 * SECRET_BYTES; i++) {
        const char *digit = strchr(digits, text[i] | (text[i] >= 'A' ? 0x20 : 0));
        secret[i / 2] = (uint8_t)(secret[i / 2] << 4 | (digit - digits));
    }
    return true;
}

/* Nobody else's file, and readable by nobody else. */
static bool secret_read(const char *path, uint8_t secret[SECRET_BYTES]) {
    char text[2 * SECRET_BYTES + 2] = "";
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool ok = fstat(fd, &info) == 0 && info.st_uid == geteuid() && !(info.st_mode & 077) &&
              read(fd, text, sizeof text - 1) > 0 && secret_parse(text, secret);
    close(fd);
    return ok;
}

/* A new secret in a file that appears whole: of processes that make one at once, all read the one
 * that was first. */
static bool secret_make(const char *path) {
    uint8_t secret[SECRET_BYTES];
    char text[2 * SECRET_BYTES + 2], fresh[SECRET_PATH + 32];
    if (getrandom(secret, sizeof secret, 0) != sizeof secret) return false;
    for (int i = 0; i < SECRET_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", secret[i]);
    text[2 * SECRET_BYTES] = '\n';
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return false;
    bool ok = write(fd, text, 2 * SECRET_BYTES + 1) == 2 * SECRET_BYTES + 1;
    ok = close(fd) == 0 && ok && (link(fresh, path) == 0 || errno == EEXIST);
    unlink(fresh);
    return ok;
}

static bool secret_of_user(uint8_t secret[SECRET_BYTES]) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char path[SECRET_PATH];
    bool own = xdg && *xdg == '/';
    if (!own && (!home || *home != '/')) return false;
    int n = snprintf(path, sizeof path, "%s%s", own ? xdg : home, own ? "" : "/.cache");
    if (n < 0 || n > SECRET_PATH - 40) return false;
    mkdir(path, 0700);
    strcpy(path + n, "/ctsc");
    mkdir(path, 0700);
    strcpy(path + n, "/ctsc/dist-secret");
    return secret_read(path, secret) || (secret_make(path) && secret_read(path, secret));
}

static bool secret_find(uint8_t secret[SECRET_BYTES], ctsc_dist_error *e) {
    const char *given = getenv("CTSC_DIST_SECRET");
    if (given && *given) {
        if (secret_parse(given, secret)) return true;
        dist_fail(e, CTSC_USAGE, "CTSC_DIST_SECRET is not 64 hexadecimal digits");
    } else {
        if (secret_of_user(secret)) return true;
        dist_fail(e, CTSC_ENVIRONMENT,
                  "there is no secret that the processes share, and no folder for one: set "
                  "CTSC_DIST_SECRET to 64 hexadecimal digits, the same for all of them");
    }
    return false;
}

/* ---- sockets --------------------------------------------------------------------------------- */

static ctsc_status zmq_fail(const zmq_library *z, const char *what, ctsc_dist_error *e) {
    return dist_fail(e, CTSC_ENVIRONMENT, "%s: %s", what, z->zmq_strerror(z->zmq_errno()));
}

/* Keys: of the server those of the secret, of a client new ones. */
static bool socket_secure(const zmq_library *z, void *s, bool serves, ctsc_dist_error *e) {
    uint8_t secret[SECRET_BYTES];
    char own[ZMQ_KEY], server[ZMQ_KEY], fresh[ZMQ_KEY], fresh_public[ZMQ_KEY];
    int yes = 1;
    if (!secret_find(secret, e)) return false;
    bool ok = z->zmq_z85_encode(own, secret, sizeof secret) &&
              z->zmq_curve_public(server, own) == 0;
    if (ok && serves)
        ok = z->zmq_setsockopt(s, ZMQ_CURVE_SERVER, &yes, sizeof yes) == 0 &&
             z->zmq_setsockopt(s, ZMQ_CURVE_SECRET, own, ZMQ_KEY) == 0;
    else if (ok)
        ok = z->zmq_curve_keypair(fresh_public, fresh) == 0 &&
             z->zmq_setsockopt(s, ZMQ_CURVE_SERVER_KEY, server, ZMQ_KEY) == 0 &&
             z->zmq_setsockopt(s, ZMQ_CURVE_PUBLIC, fresh_public, ZMQ_KEY) == 0 &&
             z->zmq_setsockopt(s, ZMQ_CURVE_SECRET, fresh, ZMQ_KEY) == 0;
    if (!ok) zmq_fail(z, "the keys of a connection", e);
    return ok;
}

void *zmq_socket_new(const zmq_library *z, void *ctx, int type, bool serves, ctsc_dist_error *e) {
    int none = 0, yes = 1;
    void *s = z->zmq_socket(ctx, type);
    if (!s) return zmq_fail(z, "a socket", e), NULL;
    z->zmq_setsockopt(s, ZMQ_SEND_MARK, &none, sizeof none); /* no limit of queued messages */
    z->zmq_setsockopt(s, ZMQ_RECEIVE_MARK, &none, sizeof none);
    z->zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none);
    z->zmq_setsockopt(s, ZMQ_IPV6, &yes, sizeof yes);
    if (socket_secure(z, s, serves, e)) return s;
    z->zmq_close(s);
    return NULL;
}

ctsc_status zmq_serve(const zmq_library *z, void *socket, int *port, ctsc_dist_error *e) {
    char endpoint[128];
    size_t bytes = sizeof endpoint;
    if (*port) snprintf(endpoint, sizeof endpoint, "tcp://*:%d", *port);
    else snprintf(endpoint, sizeof endpoint, "tcp://*:*");
    if (z->zmq_bind(socket, endpoint) != 0)
        return dist_fail(e, CTSC_ENVIRONMENT,
                         "The server socket has failed to listen on any local network address. "
                         "port: %d, message: %s",
                         *port, z->zmq_strerror(z->zmq_errno()));
    if (z->zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &bytes) == 0 &&
        strrchr(endpoint, ':'))
        *port = atoi(strrchr(endpoint, ':') + 1);
    return CTSC_OK;
}

int zmq_receive_all(const zmq_library *z, void *socket, zmq_msg parts[ZMQ_FRAMES]) {
    int n = 0;
    for (bool more = true; more; n++) {
        if (n == ZMQ_FRAMES) z->zmq_msg_close(&parts[--n]);
        z->zmq_msg_init(&parts[n]);
        if (z->zmq_msg_recv(&parts[n], socket, n ? 0 : ZMQ_NOW) < 0) {
            z->zmq_msg_close(&parts[n]);
            zmq_close_all(z, parts, n);
            return 0;
        }
        more = z->zmq_msg_more(&parts[n]);
    }
    return n;
}

void zmq_close_all(const zmq_library *z, zmq_msg *parts, int n) {
    for (int i = 0; i < n; i++) z->zmq_msg_close(&parts[i]);
}
