/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system_calls.c - the system calls that are left (sandbox.h).
 *
 * A filter in the kernel's packet language looks at the number of each call and at some arguments.
 * The list names what is allowed: files (which Landlock limits), memory, threads, time, and
 * sockets that exist. Everything else fails with EPERM, and what is newer than this list with
 * ENOSYS, so that the C library does without it.
 * Source of the format: Linux, Documentation/userspace-api/seccomp_filter.rst.
 */
#include "sandbox/sandbox.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define SANDBOX_MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define SANDBOX_MACHINE AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define SANDBOX_MACHINE AUDIT_ARCH_RISCV64
#endif

/* Calls that are allowed whatever their arguments are, those made most often first. */
static const int sandbox_allowed[] = {
    SYS_futex,
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_epoll_pwait,
    SYS_accept4,
    SYS_recvfrom,
    SYS_sendto,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_munmap,
    SYS_madvise,
    SYS_brk,
    SYS_mremap,
    SYS_sched_yield,
    /* files */
    SYS_openat,
    SYS_openat2,
    SYS_close,
    SYS_close_range,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_lseek,
    SYS_getdents64,
    SYS_getcwd,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_msync,
    SYS_fsync,
    SYS_fdatasync,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fadvise64,
#ifdef SYS_renameat
    SYS_renameat,
#endif
    SYS_renameat2,
    SYS_linkat,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_flock,
    SYS_utimensat,
    SYS_umask,
    SYS_copy_file_range,
    SYS_sendfile,
    /* threads and signals within the process */
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_getcpu,
    SYS_membarrier,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    /* the machine, time, random numbers */
    SYS_clock_getres,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_sysinfo,
    SYS_uname,
    SYS_getrusage,
    SYS_times,
    SYS_getrlimit,
    /* open sockets, and what waits for them */
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait2,
    SYS_eventfd2,
    SYS_ppoll,
    SYS_pselect6,
    SYS_accept,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
#ifdef __x86_64__
    /* calls that newer machines never had */
    SYS_open,
    SYS_creat,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_dup2,
    SYS_pipe,
    SYS_rename,
    SYS_unlink,
    SYS_mkdir,
    SYS_getdents,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_poll,
    SYS_select,
    SYS_eventfd,
    SYS_time,
    SYS_arch_prctl,
#endif
};

enum { FILTER_MAX = 1024 };

typedef struct filter {
    struct sock_filter code[FILTER_MAX];
    unsigned short n;
} filter;

static void filter_add(filter *f, uint16_t code, uint8_t yes, uint8_t no, uint32_t k) {
    if (f->n < FILTER_MAX) f->code[f->n++] = (struct sock_filter){code, yes, no, k};
}

static void filter_load(filter *f, size_t offset) {
    filter_add(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void filter_return(filter *f, uint32_t action) {
    filter_add(f, BPF_RET | BPF_K, 0, 0, action);
}

#define FILTER_ERROR(e) (SECCOMP_RET_ERRNO | (e))
/* The half of an argument that holds 32-bit numbers, on the machines above. */
#define FILTER_ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define FILTER_NUMBER offsetof(struct seccomp_data, nr)

/* Call `number` is allowed if its argument, of the bits in mask, equals `value`; `same`
 * false: if it differs. */
static void filter_if(filter *f, int number, int argument, uint32_t mask, uint32_t value,
                      bool same) {
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, (uint32_t)number);
    filter_load(f, FILTER_ARGUMENT(argument));
    filter_add(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, !same, same, value);
    filter_return(f, SECCOMP_RET_ALLOW);
    filter_return(f, FILTER_ERROR(EPERM));
}

/* Call `number` is allowed if its argument is one of the values. */
static void filter_among(filter *f, int number, int argument, const uint32_t *values, size_t n) {
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(2 * n + 2), (uint32_t)number);
    filter_load(f, FILTER_ARGUMENT(argument));
    for (size_t i = 0; i < n; i++) {
        filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, values[i]);
        filter_return(f, SECCOMP_RET_ALLOW);
    }
    filter_return(f, FILTER_ERROR(EPERM));
}

static void filter_rules(filter *f) {
    /* Terminals: their size and mode. Not TIOCSTI, which types into them. */
    static const uint32_t ioctls[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX};
    static const uint32_t prctls[] = {PR_SET_NAME, PR_GET_NAME, PR_GET_NO_NEW_PRIVS,
                                      0x53564d41 /* PR_SET_VMA: names of memory */};
    static const uint32_t fcntls[] = {F_DUPFD,      F_DUPFD_CLOEXEC, F_GETFD,      F_SETFD,
                                      F_GETFL,      F_SETFL,         F_GETLK,      F_SETLK,
                                      F_SETLKW,     F_OFD_SETLK,     F_OFD_SETLKW, F_GETPIPE_SZ,
                                      F_SETPIPE_SZ, F_GET_SEALS};
    uint32_t both = PROT_WRITE | PROT_EXEC;
    filter_if(f, SYS_mmap, 2, both, both, false);
    filter_if(f, SYS_mprotect, 2, both, both, false);
    filter_if(f, SYS_clone, 0, CLONE_THREAD, CLONE_THREAD, true);
    filter_if(f, SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid(), true);
    filter_if(f, SYS_prlimit64, 0, UINT32_MAX, 0, true); /* of this process */
    filter_among(f, SYS_ioctl, 1, ioctls, sizeof ioctls / sizeof *ioctls);
    filter_among(f, SYS_prctl, 0, prctls, sizeof prctls / sizeof *prctls);
    filter_among(f, SYS_fcntl, 1, fcntls, sizeof fcntls / sizeof *fcntls);
}

#ifdef SANDBOX_MACHINE
static void filter_make(filter *f) {
    filter_load(f, offsetof(struct seccomp_data, arch));
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SANDBOX_MACHINE);
    filter_return(f, SECCOMP_RET_KILL_PROCESS);
    filter_load(f, FILTER_NUMBER);
    for (size_t i = 0; i < sizeof sandbox_allowed / sizeof *sandbox_allowed; i++) {
        filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)sandbox_allowed[i]);
        filter_return(f, SECCOMP_RET_ALLOW);
    }
    filter_rules(f);
    /* Its flags are in memory, which filters do not see: the C library takes clone instead. The
     * numbers of x32 are above all others. */
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_clone3);
    filter_add(f, BPF_JMP | BPF_JGT | BPF_K, 0, 1, SYS_faccessat2);
    filter_return(f, FILTER_ERROR(ENOSYS));
    filter_return(f, FILTER_ERROR(EPERM));
}
#endif

/* LeakSanitizer looks for leaks from a process of its own, which cannot be made any more. */
#ifdef __SANITIZE_ADDRESS__
static bool sandbox_sealed;
int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) { return sandbox_sealed; }
#define SANDBOX_SEALED() (sandbox_sealed = true)
#else
#define SANDBOX_SEALED() ((void)0)
#endif

bool sandbox_seal(char why[SANDBOX_WHY]) {
#ifdef SANDBOX_MACHINE
    filter f = {.n = 0};
    filter_make(&f);
    struct sock_fprog program = {.len = f.n, .filter = f.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0) {
        SANDBOX_SEALED();
        return true;
    }
    snprintf(why, SANDBOX_WHY, "seccomp: %s", strerror(errno));
#else
    snprintf(why, SANDBOX_WHY, "there is no list of system calls for this kind of machine");
#endif
    return false;
}
