/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_processes.c - the processes of ctsc launch: started, listened to, ended together.
 *
 * When one fails the others get SIGTERM, and SIGKILL after LAUNCH_GRACE_S seconds. A child whose
 * launcher is killed gets SIGTERM from the kernel. On a terminal the processes write there
 * themselves; elsewhere, and with --prefix, the launcher writes their lines, so that these stay
 * whole.
 */
#include "cli/cli.h"
#include "cli/launch/launcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAUNCH_GRACE_S = 10, LAUNCH_LINE = 4096, LAUNCH_LOOK_MS = 100, LAUNCH_NOT_FOUND = 127 };

/* One stream of a process, cut into lines. */
typedef struct launch_stream {
    int fd; /* -1: none, or at its end */
    FILE *to;
    size_t used;
    char line[LAUNCH_LINE];
} launch_stream;

typedef struct launch_process {
    pid_t pid; /* 0: it has ended */
    launch_stream streams[2];
} launch_process;

typedef struct launch {
    const launch_args *a;
    int attempt, running, code;
    bool pumps;     /* lines go through pipes */
    double kill_at; /* when those that still run are killed; 0: all may run */
    launch_process *list;
} launch;

static volatile sig_atomic_t launch_signal;
static void launch_note(int signal) { launch_signal = signal; }

static double launch_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- one process ----------------------------------------------------------------------------- */

static void launch_set(const char *name, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

static void launch_environment(const launch *l, int local) {
    const launch_args *a = l->a;
    int rank = a->node * a->processes + local, size = a->nodes * a->processes;
    launch_set("RANK", rank);
    launch_set("LOCAL_RANK", local);
    launch_set("WORLD_SIZE", size);
    launch_set("LOCAL_WORLD_SIZE", a->processes);
    launch_set("GROUP_RANK", a->node);
    launch_set("GROUP_WORLD_SIZE", a->nodes);
    launch_set("ROLE_RANK", rank);
    launch_set("ROLE_WORLD_SIZE", size);
    launch_set("MASTER_PORT", a->port);
    launch_set("TORCHELASTIC_RESTART_COUNT", l->attempt);
    launch_set("TORCHELASTIC_MAX_RESTARTS", a->restarts);
    setenv("TORCHELASTIC_RUN_ID", "ctsc", 1);
    setenv("ROLE_NAME", "default", 1);
    setenv("MASTER_ADDR", a->address, 1);
    if (a->processes > 1) setenv("OMP_NUM_THREADS", "1", 0);
}

/* The command line, which ends with the program's own. */
static char **launch_command(const launch_args *a) {
    size_t given = 0, n = 0, len = strlen(*a->program ? *a->program : "");
    while (a->program[given]) given++;
    char **line = calloc(given + 6, sizeof *line);
    bool source = len > 3 && !strcmp(*a->program + len - 3, ".py");
    if (!line) return NULL;
    if (a->module || (!a->plain && source)) {
        line[n++] = (char *)a->python;
        line[n++] = "-m";
        line[n++] = "ctsc";
    }
    if (a->module) line[n++] = "-m", line[n++] = (char *)a->module;
    memcpy(line + n, a->program, given * sizeof *line);
    return line;
}

/* A new process takes no signal before it has its own ways with them. */
static void launch_hold(int how) {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    sigprocmask(how, &both, NULL);
}

static void launch_child(const launch *l, int local, int out, int err) {
    char **line = launch_command(l->a);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    launch_hold(SIG_UNBLOCK);
    if (out >= 0) dup2(out, STDOUT_FILENO), dup2(err, STDERR_FILENO);
    launch_environment(l, local);
    if (line) execvp(line[0], line);
    fprintf(stderr, "ctsc: %s cannot be run: %s\n", line ? line[0] : "the program",
            strerror(errno));
    _exit(LAUNCH_NOT_FOUND);
}

static bool launch_start(launch *l, int local) {
    launch_process *p = &l->list[local];
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    if (l->pumps && (pipe(out) != 0 || pipe(err) != 0)) return false;
    p->streams[0] = (launch_stream){.fd = out[0], .to = stdout};
    p->streams[1] = (launch_stream){.fd = err[0], .to = stderr};
    fflush(NULL);
    launch_hold(SIG_BLOCK);
    p->pid = fork();
    if (p->pid != 0) launch_hold(SIG_UNBLOCK);
    else {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        if (out[0] >= 0) close(out[0]), close(err[0]);
        launch_child(l, local, out[1], err[1]);
    }
    if (out[1] >= 0) close(out[1]), close(err[1]);
    if (p->pid < 0) p->pid = 0;
    else l->running++;
    return p->pid != 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void launch_send(launch *l, int signal) {
    for (int i = 0; i < l->a->processes; i++)
        if (l->list[i].pid) kill(l->list[i].pid, signal);
}

static void launch_end(launch *l) {
    if (l->kill_at != 0) return;
    l->kill_at = launch_now() + LAUNCH_GRACE_S;
    launch_send(l, SIGTERM);
}

static void launch_ended(launch *l, int local, int status) {
    int rank = l->a->node * l->a->processes + local;
    l->list[local].pid = 0;
    l->running--;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    if (l->kill_at == 0 && !launch_signal) {
        l->code = CTSC_FAILED;
        if (WIFEXITED(status))
            fprintf(stderr, "ctsc: rank %d ended with status %d\n", rank, WEXITSTATUS(status));
        else
            fprintf(stderr, "ctsc: rank %d was ended by signal %d (%s)\n", rank, WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
    }
    launch_end(l);
}

static void launch_reap(launch *l) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int i = 0; i < l->a->processes; i++)
            if (l->list[i].pid == pid) launch_ended(l, i, status);
}

/* Writes whole lines, each after the rank if that is not negative; a longer one in pieces. */
static void launch_write(launch_stream *s, int rank, bool all) {
    char *end;
    while (s->used &&
           ((end = memchr(s->line, '\n', s->used)) || all || s->used == sizeof s->line)) {
        size_t n = end ? (size_t)(end - s->line) + 1 : s->used;
        if (rank >= 0) fprintf(s->to, "[rank%d]: ", rank);
        fwrite(s->line, 1, n, s->to);
        if (rank >= 0 && !end) fputc('\n', s->to);
        memmove(s->line, s->line + n, s->used -= n);
    }
    fflush(s->to);
}

static void launch_read(launch_stream *s, int rank) {
    ssize_t n = read(s->fd, s->line + s->used, sizeof s->line - s->used);
    if (n < 0 && errno == EINTR) return;
    if (n > 0) s->used += (size_t)n;
    launch_write(s, rank, n <= 0);
    if (n > 0) return;
    close(s->fd);
    s->fd = -1;
}

/* The rank that precedes the lines of process i; negative: none. */
static int launch_mark(const launch *l, int i) {
    return l->a->prefix ? l->a->node * l->a->processes + i : -1;
}

/* Waits for a while, or until there is something to read. */
static void launch_listen(launch *l) {
    int n = 2 * l->a->processes;
    struct pollfd *fds = calloc((size_t)n, sizeof *fds);
    for (int i = 0; fds && i < n; i++)
        fds[i] = (struct pollfd){l->list[i / 2].streams[i % 2].fd, POLLIN, 0};
    if (poll(fds, fds ? (nfds_t)n : 0, LAUNCH_LOOK_MS) > 0)
        for (int i = 0; i < n; i++)
            if (fds[i].revents) launch_read(&l->list[i / 2].streams[i % 2], launch_mark(l, i / 2));
    free(fds);
}

/* What is left of a stream whose process has ended; others may hold it open. */
static void launch_finish(launch_stream *s, int rank) {
    struct pollfd ready = {s->fd, POLLIN, 0};
    while (s->fd >= 0 && poll(&ready, 1, 0) > 0) launch_read(s, rank);
    if (s->fd < 0) return;
    launch_write(s, rank, true);
    close(s->fd);
}

int launch_once(const launch_args *a, int attempt, bool *signalled) {
    launch l = {.a = a, .attempt = attempt, .pumps = a->prefix || !isatty(STDOUT_FILENO)};
    l.list = calloc((size_t)a->processes, sizeof *l.list);
    struct sigaction on = {.sa_handler = launch_note};
    if (!l.list) return cli_complain(CTSC_LIMIT, "out of memory");
    sigaction(SIGINT, &on, NULL);
    sigaction(SIGTERM, &on, NULL);
    for (int i = 0; i < a->processes; i++)
        if (!launch_start(&l, i)) {
            l.code = cli_complain(CTSC_ENVIRONMENT, "process %d cannot be started: %s", i,
                                  strerror(errno));
            launch_end(&l);
            break;
        }
    while (l.running) {
        launch_listen(&l);
        launch_reap(&l);
        if (launch_signal && l.kill_at == 0) launch_end(&l), l.code = 128 + launch_signal;
        if (l.kill_at != 0 && launch_now() > l.kill_at) launch_send(&l, SIGKILL);
    }
    for (int i = 0; l.pumps && i < 2 * a->processes; i++)
        launch_finish(&l.list[i / 2].streams[i % 2], launch_mark(&l, i / 2));
    free(l.list);
    *signalled = launch_signal != 0;
    return l.code;
}
