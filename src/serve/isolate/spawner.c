/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawner.c - the process that makes processes for models (spawner.h), and what the server says to
 * it: a packet each way for every request, with descriptors beside it.
 *
 * Tests: tests/serve/client.py
 */
#include "serve/isolate/spawner.h"

#include "serve/isolate/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPAWNER_MEMORY, SPAWNER_MAKE, SPAWNER_END };
enum { SPAWNER_FDS = 2 };

typedef struct spawner_packet {
    int32_t what;    /* asked */
    int32_t error;   /* answered: errno, or 0 */
    int32_t process; /* made; to end */
    int32_t status;  /* how it ended */
    uint64_t size;   /* of memory */
} spawner_packet;

/* ---- packets --------------------------------------------------------------------------------- */

typedef union spawner_control {
    struct cmsghdr align;
    char room[CMSG_SPACE(SPAWNER_FDS * sizeof(int))];
} spawner_control;

static bool spawner_send(int socket, const spawner_packet *p, const int *fds, size_t nfds) {
    spawner_control control = {0};
    struct iovec data = {(void *)p, sizeof *p};
    struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1};
    if (nfds) {
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(nfds * sizeof *fds);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(nfds * sizeof *fds);
        memcpy(CMSG_DATA(c), fds, nfds * sizeof *fds);
    }
    ssize_t n;
    do n = sendmsg(socket, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *p;
}

/* fds: those that came are the caller's, -1 where none did. */
static bool spawner_receive(int socket, spawner_packet *p, int fds[SPAWNER_FDS]) {
    spawner_control control = {0};
    struct iovec data = {p, sizeof *p};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    ssize_t n;
    for (int i = 0; i < SPAWNER_FDS; i++) fds[i] = -1;
    do n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_type == SCM_RIGHTS) memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    return n == (ssize_t)sizeof *p;
}

/* ---- the spawner ----------------------------------------------------------------------------- */

/* Memory that cannot shrink: whoever has mapped it can read it, whatever the others do. */
static int spawner_new_memory(size_t size, spawner_packet *answer) {
    int fd = memfd_create("ctsc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        answer->error = errno;
        return -1;
    }
    answer->error = size ? posix_fallocate(fd, 0, (off_t)size) : 0;
    if (!answer->error && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) answer->error = errno;
    if (!answer->error) return fd;
    close(fd);
    return -1;
}

/* A model's process: fds[0] is to become the server's end of its socket, fds[1] their memory. */
static void spawner_fork(int control, int archive, const spawner_options *o, spawner_packet *answer,
                         int fds[SPAWNER_FDS]) {
    int ends[2] = {-1, -1};
    fds[1] = spawner_new_memory(0, answer);
    if (fds[1] < 0) return;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        answer->error = errno;
        return;
    }
    fds[0] = ends[0];
    (void)fcntl(archive, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK);
    answer->process = fork();
    if (answer->process == 0) {
        close(control);
        close(ends[0]);
        worker_main(ends[1], fds[1], archive, o);
    }
    if (answer->process < 0) answer->error = errno;
    close(ends[1]);
}

static int spawner_reap(pid_t process) {
    int status = -1;
    pid_t got;
    kill(process, SIGKILL); /* one that has ended keeps its status */
    do got = waitpid(process, &status, 0);
    while (got < 0 && errno == EINTR);
    return got == process ? status : -1;
}

/* Terminals send SIGINT, service managers SIGTERM to all processes of a service: it is the server
 * that ends when its requests are answered, and then these do. */
_Noreturn static void spawner_main(int socket, const spawner_options *o) {
    spawner_packet p;
    int in[SPAWNER_FDS];
    sigset_t none;
    sigemptyset(&none);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_NAME, "ctsc-spawner");
    while (spawner_receive(socket, &p, in)) {
        spawner_packet answer = {.what = p.what, .status = -1};
        int out[SPAWNER_FDS] = {-1, -1};
        size_t n = 0;
        switch (p.what) {
        case SPAWNER_MEMORY: out[0] = spawner_new_memory((size_t)p.size, &answer), n = 1; break;
        case SPAWNER_MAKE: spawner_fork(socket, in[0], o, &answer, out), n = 2; break;
        case SPAWNER_END: answer.status = p.process > 0 ? spawner_reap(p.process) : -1; break;
        default: answer.error = EINVAL; break;
        }
        if (!spawner_send(socket, &answer, out, answer.error ? 0 : n)) break;
        for (int i = 0; i < SPAWNER_FDS; i++) {
            if (in[i] >= 0) close(in[i]);
            if (out[i] >= 0) close(out[i]);
        }
    }
    _exit(0);
}

/* ---- the server's end ------------------------------------------------------------------------ */

bool spawner_start(spawner *s, const spawner_options *o, char *why, size_t size) {
    int ends[2];
    *s = (spawner){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        snprintf(why, size, "--isolate: %s", strerror(errno));
        return false;
    }
    s->process = fork();
    if (s->process == 0) {
        close(ends[0]);
        spawner_main(ends[1], o);
    }
    close(ends[1]);
    if (s->process < 0) {
        snprintf(why, size, "--isolate: %s", strerror(errno));
        close(ends[0]);
        return false;
    }
    s->socket = ends[0];
    pthread_mutex_init(&s->lock, NULL);
    return true;
}

void spawner_stop(spawner *s) {
    if (s->socket < 0) return;
    close(s->socket);
    s->socket = -1;
    while (waitpid(s->process, NULL, 0) < 0 && errno == EINTR) {
    }
    pthread_mutex_destroy(&s->lock);
}

/* p: the question, then the answer. */
static bool spawner_ask(spawner *s, spawner_packet *p, int fd, int fds[SPAWNER_FDS]) {
    pthread_mutex_lock(&s->lock);
    bool ok = spawner_send(s->socket, p, &fd, fd >= 0) && spawner_receive(s->socket, p, fds);
    pthread_mutex_unlock(&s->lock);
    return ok && !p->error;
}

int spawner_memory(spawner *s, size_t size) {
    spawner_packet p = {.what = SPAWNER_MEMORY, .size = size};
    int fds[SPAWNER_FDS] = {-1, -1};
    return spawner_ask(s, &p, -1, fds) ? fds[0] : -1;
}

bool spawner_make(spawner *s, int archive, spawned *out) {
    spawner_packet p = {.what = SPAWNER_MAKE};
    int fds[SPAWNER_FDS] = {-1, -1};
    if (!spawner_ask(s, &p, archive, fds)) return false;
    *out = (spawned){p.process, fds[0], fds[1]};
    return true;
}

int spawner_end(spawner *s, pid_t process) {
    spawner_packet p = {.what = SPAWNER_END, .process = process};
    int fds[SPAWNER_FDS];
    return spawner_ask(s, &p, -1, fds) ? p.status : -1;
}
