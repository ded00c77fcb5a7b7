/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile.c - an operator that tries what a model that has taken over the process would try:
 * hostile::attempt("connect") says "done", or why not. For sandbox.test and tests/serve/client.py.
 */
#include <ctsc.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int try_read(const char *path) {
    char c;
    int fd = open(path, O_RDONLY);
    return fd < 0 ? -1 : (int)read(fd, &c, 1) - 1;
}

static int try_fork(void) {
    pid_t p = fork();
    if (p == 0) _exit(0);
    return p < 0 ? -1 : waitpid(p, NULL, 0) < 0;
}

static int try_exec(void) {
    char name[] = "/bin/true", *argv[] = {name, NULL}, *env[] = {NULL};
    return execve(name, argv, env);
}

static int try_both(void) {
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);
    return p == MAP_FAILED ? -1 : 0;
}

static int try_change(void) {
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void *nothing(void *p) { return p; }

static int try_thread(void) {
    pthread_t t;
    int code = pthread_create(&t, NULL, nothing, NULL);
    if (code) errno = code;
    return code ? -1 : pthread_join(t, NULL);
}

static int try_limit(void) {
    struct rlimit l = {1, 1};
    return (int)syscall(SYS_prlimit64, getppid(), RLIMIT_CPU, &l, NULL);
}

static int attempt(const char *what) {
    if (!strcmp(what, "read passwords")) return try_read("/etc/passwd");
    if (!strcmp(what, "read the environment")) return try_read("/proc/self/environ");
    if (!strcmp(what, "read memory")) return try_read("/proc/self/mem");
    if (!strcmp(what, "write")) return creat("hostile.txt", 0600) < 0 ? -1 : 0;
    if (!strcmp(what, "make a folder")) return mkdir("hostile", 0700);
    if (!strcmp(what, "remove the model")) return unlink("hostile.py");
    if (!strcmp(what, "tcp")) return socket(AF_INET, SOCK_STREAM, 0) < 0 ? -1 : 0;
    if (!strcmp(what, "udp")) return socket(AF_INET6, SOCK_DGRAM, 0) < 0 ? -1 : 0;
    if (!strcmp(what, "unix")) return socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? -1 : 0;
    if (!strcmp(what, "fork")) return try_fork();
    if (!strcmp(what, "exec")) return try_exec();
    if (!strcmp(what, "kill")) return kill(getppid(), SIGCONT);
    if (!strcmp(what, "trace")) return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (!strcmp(what, "limit the parent")) return try_limit();
    if (!strcmp(what, "type")) return ioctl(0, TIOCSTI, "x");
    if (!strcmp(what, "dump")) return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (!strcmp(what, "map code")) return try_both();
    if (!strcmp(what, "change code")) return try_change();
    if (!strcmp(what, "thread")) return try_thread();
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "nothing")) return 0;
    while (!strcmp(what, "hang")) sleep(1);
    errno = EINVAL;
    return -1;
}

static ctsc_status run(void *ctx, size_t nargs, ctsc_value *const *args, ctsc_value **results,
                       ctsc_error *e) {
    (void)ctx, (void)nargs, (void)e;
    size_t n;
    const char *text = attempt(ctsc_value_string(args[0], &n)) < 0 ? strerror(errno) : "done";
    results[0] = ctsc_string_new(text, strlen(text));
    return results[0] ? CTSC_OK : CTSC_LIMIT;
}

__attribute__((visibility("default"))) ctsc_status ctsc_library_init(ctsc_error *e);
ctsc_status ctsc_library_init(ctsc_error *e) {
    ctsc_op_options options = {.size = sizeof options, .flags = CTSC_OP_EFFECTS};
    return ctsc_register_op("hostile::attempt(str what) -> str", run, NULL, &options, e);
}
