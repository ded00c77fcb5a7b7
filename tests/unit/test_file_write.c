/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_file_write.c - files that appear whole or not at all: written without a name until they are
 * whole, and by a temporary name where the file system cannot do that; a process that is killed.
 */
#include "support.h"

#include "runtime/archive/file_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/ctsc-write-XXXXXX";
static char target[64];

static int write_setup(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(target, sizeof target, "%s/file", folder);
    return 0;
}

static int write_teardown(void **state) {
    (void)state;
    unlink(target);
    return rmdir(folder); /* fails if a temporary file remains */
}

static int write_files(void) {
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void write_expect(const char *text) {
    char found[64] = "";
    FILE *f = fopen(target, "r");
    assert_non_null(f);
    assert_int_equal(fread(found, 1, sizeof found - 1, f), strlen(text));
    fclose(f);
    assert_string_equal(found, text);
}

/* 0, or the number of the step that failed. files: how many are there before the commit. */
static int write_one(const char *text, int files) {
    file_writer *w = NULL;
    diag d = {0};
    int failed = file_writer_open(&d, target, &w) != CTSC_OK        ? 1
                 : file_write(w, &d, text, strlen(text)) != CTSC_OK ? 2
                 : write_files() != files                           ? 3
                 : file_writer_commit(w, &d) != CTSC_OK             ? 4
                 : write_files() != 1                               ? 5
                                                                    : 0;
    file_writer_free(w);
    diag_clear(&d);
    return failed;
}

/* From now on no file of this process is without a name: openat with O_TMPFILE fails as it does on
 * file systems that lack it. */
static bool write_deny_unnamed(void) {
    const unsigned flag = O_TMPFILE & ~O_DIRECTORY;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flag, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* What a child process comes to: its exit status, or minus the signal that ended it. */
static int write_child(int (*run)(void)) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(run());
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int write_killed(void) {
    file_writer *w = NULL;
    diag d = {0};
    if (file_writer_open(&d, target, &w) != CTSC_OK) return 1;
    for (int i = 0; i < 100; i++)
        if (file_write(w, &d, folder, sizeof folder) != CTSC_OK) return 2;
    raise(SIGKILL);
    return 3;
}

static int write_named(void) {
    enum { CANNOT = 77 };
    if (!write_deny_unnamed()) return CANNOT;
    return write_one("named", 2); /* the old file and the temporary one */
}

static bool write_has_unnamed(void) {
    int fd = open(folder, O_WRONLY | O_TMPFILE, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void write_replaces(void **state) {
    (void)state;
    int unnamed = write_has_unnamed() ? 0 : 1;
    assert_int_equal(write_one("first", unnamed), 0);
    write_expect("first");
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(write_one("second", 1 + unnamed), 0);
    write_expect("second");
    struct stat st;
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void write_leaves_nothing(void **state) {
    (void)state;
    if (!write_has_unnamed()) skip();
    unlink(target);
    assert_int_equal(write_child(write_killed), -SIGKILL);
    assert_int_equal(write_files(), 0);
    assert_int_equal(write_one("old", 0), 0);
    assert_int_equal(write_child(write_killed), -SIGKILL);
    assert_int_equal(write_files(), 1);
    write_expect("old");
}

static void write_without_unnamed(void **state) {
    (void)state;
    assert_int_equal(write_one("old", write_has_unnamed() ? 1 : 2), 0);
    int code = write_child(write_named);
    if (code == 77) skip(); /* no seccomp here */
    assert_int_equal(code, 0);
    write_expect("named");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_replaces),
        cmocka_unit_test(write_leaves_nothing),
        cmocka_unit_test(write_without_unnamed),
    };
    return cmocka_run_group_tests(tests, write_setup, write_teardown);
}
