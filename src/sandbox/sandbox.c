/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - files limited by Landlock, and the program started again (sandbox.h).
 *
 * The kernel's header may be older than the kernel, so what is newer than Linux 5.13 is named here.
 * Source of the numbers: Linux, Documentation/userspace-api/landlock.rst.
 */
#include "sandbox/sandbox.h"

#include "ctsc_compiler.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <linux/landlock.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights of files that later versions added, with the version. */
enum {
    FS_REFER = 1 << 13,    /* 2 */
    FS_TRUNCATE = 1 << 14, /* 3 */
    FS_IOCTL_DEV = 1 << 15 /* 5 */
};
enum { NET_CONNECT_TCP = 1 << 1 };                          /* 4 */
enum { SCOPE_UNIX_SOCKET = 1 << 0, SCOPE_SIGNAL = 1 << 1 }; /* 6 */

/* landlock_ruleset_attr of version 6. */
typedef struct sandbox_handled { uint64_t fs, net, scoped; } sandbox_handled;

enum {
    FS_FIRST = (1 << 13) - 1, /* all of version 1 */
    FS_READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    FS_WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
               LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
               LANDLOCK_ACCESS_FS_REMOVE_FILE | FS_TRUNCATE,
    /* What can be said of a file that is not a folder. */
    FS_OF_FILES = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                  LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE
};

/* The process that was restarted, by its number: a child of it that finds the
 * variable is another. */
static const char sandbox_variable[] = "CTSC_SANDBOXED";

static bool sandbox_fail(char *why, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, SANDBOX_WHY, fmt, args);
    va_end(args);
    return false;
}

static uint64_t sandbox_rights(int interface) {
    uint64_t fs = FS_FIRST;
    if (interface >= 2) fs |= FS_REFER;
    if (interface >= 3) fs |= FS_TRUNCATE;
    if (interface >= 5) fs |= FS_IOCTL_DEV;
    return fs;
}

static bool sandbox_rule(sandbox *s, const char *path, uint64_t rights, char *why) {
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return true;
    rights &= sandbox_rights(s->interface);
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) rights &= FS_OF_FILES;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    long failed = syscall(SYS_landlock_add_rule, s->rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int error = errno;
    close(fd);
    return !failed || sandbox_fail(why, "%s: no rule for it: %s", path, strerror(error));
}

bool sandbox_allow(sandbox *s, const char *path, sandbox_right right, char why[SANDBOX_WHY]) {
    return sandbox_rule(s, path, right == SANDBOX_WRITE ? FS_WRITE : FS_READ, why);
}

bool sandbox_allow_folder_of(sandbox *s, const char *path, sandbox_right right,
                             char why[SANDBOX_WHY]) {
    char folder[PATH_MAX];
    if ((size_t)snprintf(folder, sizeof folder, "%s", path) >= sizeof folder)
        return sandbox_fail(why, "%.100s...: the path is too long", path);
    return sandbox_allow(s, dirname(folder), right, why);
}

/* ---- what every program needs ---------------------------------------------------------------- */

/* Libraries that are opened later, what they read of the machine, and what they expect of /dev. */
static const char *const sandbox_system[] = {
    "/lib",           "/lib64",           "/usr/lib",          "/usr/lib64",
    "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime",    "/proc/cpuinfo",
    "/proc/meminfo",  "/proc/stat",       "/proc/self/cgroup", "/sys/devices/system",
    "/sys/fs/cgroup", "/dev/null",        "/dev/zero",         "/dev/urandom"};

typedef struct sandbox_objects {
    sandbox *s;
    char *why;
    bool failed;
} sandbox_objects;

/* The folder of a loaded library can be read: those that it opens are beside it. The dynamic
 * loader, which the first object names, is executed at the restart. */
static int sandbox_object(struct dl_phdr_info *info, size_t size, void *ctx) {
    (void)size;
    sandbox_objects *o = ctx;
    for (int i = 0; i < info->dlpi_phnum && !o->failed; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            o->failed = !sandbox_rule(o->s,
                                      (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                                      FS_READ | LANDLOCK_ACCESS_FS_EXECUTE, o->why);
    if (!o->failed && *info->dlpi_name == '/')
        o->failed = !sandbox_allow_folder_of(o->s, info->dlpi_name, SANDBOX_READ, o->why);
    return o->failed;
}

/* Compiled kernels, the secret they are sealed under, and the library that compiles them where
 * it is a named one. */
static bool sandbox_kernels(sandbox *s, char *why) {
    char folder[PATH_MAX], secret[PATH_MAX];
    const char *compiler = getenv("CTSC_JIT");
    return (!ctsc_kernel_secret(secret, sizeof secret) ||
            sandbox_allow(s, secret, SANDBOX_READ, why)) &&
           (!ctsc_kernel_folder(folder, sizeof folder) ||
            sandbox_allow(s, folder, SANDBOX_READ, why)) &&
           (!compiler || sandbox_allow(s, compiler, SANDBOX_READ, why));
}

static bool sandbox_program(sandbox *s, char *why) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return sandbox_fail(why, "/proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    sandbox_objects o = {.s = s, .why = why};
    dl_iterate_phdr(sandbox_object, &o);
    if (o.failed || !sandbox_rule(s, self, FS_READ | LANDLOCK_ACCESS_FS_EXECUTE, why) ||
        !sandbox_allow_folder_of(s, self, SANDBOX_READ, why))
        return false;
    for (size_t i = 0; i < sizeof sandbox_system / sizeof *sandbox_system; i++)
        if (!sandbox_allow(s, sandbox_system[i], SANDBOX_READ, why)) return false;
    return sandbox_kernels(s, why) && sandbox_rule(s, "/dev/null", FS_WRITE, why);
}

/* ---- entering -------------------------------------------------------------------------------- */

bool sandbox_inside(void) {
    const char *process = getenv(sandbox_variable);
    return process && atol(process) == (long)getpid() &&
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

static void sandbox_close(sandbox *s) {
    close(s->rules);
    s->rules = -1;
}

bool sandbox_open(sandbox *s, char why[SANDBOX_WHY]) {
    *s = (sandbox){.rules = -1};
    s->interface = (int)syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
                                LANDLOCK_CREATE_RULESET_VERSION);
    if (s->interface < 1)
        return sandbox_fail(why, "this kernel has no Landlock (Linux 5.13, enabled): %s",
                            strerror(errno));
    sandbox_handled handled = {.fs = sandbox_rights(s->interface)};
    size_t size = sizeof handled.fs;
    if (s->interface >= 4) handled.net = NET_CONNECT_TCP, size += sizeof handled.net;
    if (s->interface >= 6)
        handled.scoped = SCOPE_UNIX_SOCKET | SCOPE_SIGNAL, size += sizeof handled.scoped;
    s->rules = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
    if (s->rules < 0) return sandbox_fail(why, "Landlock: %s", strerror(errno));
    if (sandbox_program(s, why)) return true;
    sandbox_close(s);
    return false;
}

/* Files, of the calling thread. */
static bool sandbox_limit(sandbox *s, char *why) {
    bool ok = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              syscall(SYS_landlock_restrict_self, s->rules, 0) == 0;
    if (!ok) sandbox_fail(why, "Landlock: %s", strerror(errno));
    return ok;
}

/* argv[0] becomes the program's path: within, libraries beside the program are found by it, since
 * /proc/self cannot be read, and a shell that found the program in PATH gave its name alone. */
void sandbox_restart(sandbox *s, char **argv, char why[SANDBOX_WHY]) {
    char process[24], self[PATH_MAX];
    snprintf(process, sizeof process, "%ld", (long)getpid());
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        argv[0] = self;
    }
    if (sandbox_limit(s, why)) {
        if (setenv(sandbox_variable, process, 1) == 0) {
            /* by its path, so that the process is named after the program, unless that has gone */
            if (n > 0) execv(self, argv);
            execv("/proc/self/exe", argv);
            sandbox_fail(why, "/proc/self/exe: %s", strerror(errno));
        } else {
            sandbox_fail(why, "out of memory");
        }
    }
    sandbox_close(s);
}

bool sandbox_enter(sandbox *s, char why[SANDBOX_WHY]) {
    bool ok = sandbox_limit(s, why) && sandbox_seal(why);
    sandbox_close(s);
    return ok;
}
