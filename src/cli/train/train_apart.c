/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_apart.c - readers in a process of their own, and the libraries that they open.
 *
 * HDF5 and Parquet are read by libraries of others, which a damaged file may bring down, and which
 * are opened only when such a file is met. So a child process reads it, with limits to its memory
 * and time (a minute, and a second per MiB) and in a sandbox, and leaves what it found in a file
 * without a name; whatever happens to it is an error message here. What it leaves is not trusted
 * more than the file itself:
 *
 *     records of a page each, with their data, if they have any, on the pages that follow
 *     RECORD_ITEM     a tensor: dtype, sizes, bytes of data, a name
 *     RECORD_TARGET   the target, likewise
 *     RECORD_CLASS    a name
 *     RECORD_END      the list is complete
 *
 * Tests: tests/cli/train-data.test
 */
#include "cli/progress.h"
#include "cli/train/train_data.h"
#include "sandbox/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { APART_PAGE = 65536, APART_NAME = 1024, APART_DIMS = 8, APART_SECONDS = 60 };

typedef enum record_kind { RECORD_END = 1, RECORD_ITEM, RECORD_TARGET, RECORD_CLASS } record_kind;

typedef struct record {
    int32_t kind, dtype, ndim;
    int64_t sizes[APART_DIMS], bytes;
    char name[APART_NAME];
} record;

bool data_open_library(const char *const *libraries, size_t n, const char *const *names,
                       void **functions) {
    void *library = NULL;
    for (; *libraries && !library; libraries++) library = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < n; i++) {
        functions[i] = NULL;
        for (const char *p = names[i]; *p && !functions[i];) {
            char one[64];
            size_t len = strcspn(p, "|");
            snprintf(one, sizeof one, "%.*s", (int)len, p);
            functions[i] = dlsym(library, one);
            p += len + (p[len] == '|');
        }
        if (!functions[i]) return false;
    }
    return library != NULL;
}

void data_enter_sandbox(const char *path) {
    static const char *const folders[] = {"HDF5_PLUGIN_PATH", "LD_LIBRARY_PATH"};
    char why[SANDBOX_WHY];
    sandbox s;
    if (!sandbox_open(&s, why)) return;
    bool ok = sandbox_allow(&s, path, SANDBOX_READ, why);
    for (size_t i = 0; ok && i < sizeof folders / sizeof *folders; i++) {
        const char *p = getenv(folders[i]);
        while (ok && p && *p) {
            char folder[PATH_MAX];
            size_t len = strcspn(p, ":");
            snprintf(folder, sizeof folder, "%.*s", (int)len, p);
            ok = !len || sandbox_allow(&s, folder, SANDBOX_READ, why);
            p += len + (p[len] == ':');
        }
    }
    (void)sandbox_enter(&s, why);
}

/* ---- the child ------------------------------------------------------------------------------- */

static bool apart_write_all(int f, const void *data, size_t n) {
    for (const char *p = data; n;) {
        ssize_t done = write(f, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* Up to the next page. */
static bool apart_pad(int f) {
    off_t at = lseek(f, 0, SEEK_CUR), to = (at + APART_PAGE - 1) / APART_PAGE * APART_PAGE;
    return at >= 0 && lseek(f, to, SEEK_SET) == to && ftruncate(f, to) == 0;
}

static bool apart_write(int f, record_kind kind, const char *name, const ctsc_value *v) {
    record r = {.kind = (int32_t)kind};
    snprintf(r.name, sizeof r.name, "%s", name);
    if (v) {
        r.dtype = (int32_t)ctsc_tensor_dtype(v);
        r.ndim = ctsc_tensor_ndim(v);
        if (r.ndim > APART_DIMS) return false;
        r.bytes = (int64_t)ctsc_dtype_describe(r.dtype)->bytes;
        for (int i = 0; i < r.ndim; i++) r.bytes *= r.sizes[i] = ctsc_tensor_sizes(v)[i];
    }
    return apart_write_all(f, &r, sizeof r) && apart_pad(f) &&
           (!r.bytes || apart_write_all(f, ctsc_tensor_data(v), (size_t)r.bytes)) && apart_pad(f);
}

static bool apart_leave(int f, const data_list *l) {
    bool ok = true;
    for (size_t i = 0; i < l->n && ok; i++)
        ok = apart_write(f, RECORD_ITEM, l->items[i].name, l->items[i].value);
    for (size_t i = 0; i < l->classes.n && ok; i++)
        ok = apart_write(f, RECORD_CLASS, l->classes.names[i], NULL);
    if (ok && l->target) ok = apart_write(f, RECORD_TARGET, "", l->target);
    return ok && apart_write(f, RECORD_END, l->chosen ? "chosen" : "", NULL);
}

static int apart_child(data_reader *read, const char *path, const data_reading *how, int f,
                       ctsc_error *e) {
    data_list l = {.n = 0};
    struct stat st;
    struct rlimit no_core = {0, 0}, time = {APART_SECONDS, APART_SECONDS};
    if (stat(path, &st) == 0) time.rlim_cur = time.rlim_max += (rlim_t)(st.st_size >> 20);
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &time);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their memory counts too */
    int64_t memory = data_memory();
    struct rlimit limit = {(rlim_t)memory, (rlim_t)memory};
    if (memory < INT64_MAX) setrlimit(RLIMIT_DATA, &limit);
#endif
    int code = read(path, how, &l, e);
    if (!code && !apart_leave(f, &l)) code = cli_complain(CTSC_LIMIT, "out of memory");
    return code;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void apart_unmap(void *ctx, void *data) { munmap(data, (size_t)(uintptr_t)ctx); }

/* The tensor of r, whose data are at `at`; NULL: it is none. */
static ctsc_value *apart_tensor(int f, const record *r, off_t at) {
    const ctsc_dtype_info *d = ctsc_dtype_describe(r->dtype);
    ctsc_value *v = NULL;
    if (!d || d->use != CTSC_DTYPE_COMPUTED || r->ndim < 0 || r->ndim > APART_DIMS) return NULL;
    int64_t bytes = (int64_t)d->bytes;
    for (int i = 0; i < r->ndim; i++) {
        if (r->sizes[i] < 0) return NULL;
        bytes = cli_product(bytes, r->sizes[i]);
    }
    if (bytes != r->bytes) return NULL;
    if (!bytes) return ctsc_tensor_new(d->dtype, r->ndim, r->sizes, &v, NULL) == CTSC_OK ? v : NULL;
    void *data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, f, at);
    if (data == MAP_FAILED) return NULL;
    if (ctsc_tensor_borrow(d->dtype, r->ndim, r->sizes, data, apart_unmap, (void *)(uintptr_t)bytes,
                           &v, NULL) == CTSC_OK)
        return v;
    munmap(data, (size_t)bytes);
    return NULL;
}

/* What the child left; false: it is not whole. */
static bool apart_take(int f, const char *path, data_list *l) {
    struct stat st;
    record r;
    if (fstat(f, &st) != 0) return false;
    for (off_t at = 0; pread(f, &r, sizeof r, at) == (ssize_t)sizeof r;) {
        r.name[APART_NAME - 1] = '\0';
        at += APART_PAGE;
        if (r.bytes < 0 || r.bytes > st.st_size - at) return false;
        if (r.kind == RECORD_END) return l->chosen = !strcmp(r.name, "chosen"), true;
        if (r.kind == RECORD_CLASS) {
            if (!data_add_class(&l->classes, r.name)) return false;
            continue;
        }
        ctsc_value *v = apart_tensor(f, &r, at);
        if (!v) return false;
        if (r.kind == RECORD_TARGET && !l->target) l->target = v;
        else if (data_put(l, path, r.name, v) != 0) return false;
        at += (r.bytes + APART_PAGE - 1) / APART_PAGE * APART_PAGE;
    }
    return false;
}

int data_read_apart(data_reader *read, const char *path, const data_reading *how, data_list *l,
                    ctsc_error *e) {
    int status = 0, f = memfd_create("ctsc", MFD_CLOEXEC);
    if (f < 0) return cli_complain(CTSC_ENVIRONMENT, "%s: %s", path, strerror(errno));
    if (l->n || l->target)
        return close(f), cli_complain(CTSC_USAGE, "%s: is to be the first --data", path);
    progress_end();
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return close(f), cli_complain(CTSC_ENVIRONMENT, "fork: %s", strerror(errno));
    if (!child) _exit(apart_child(read, path, how, f, e));
    progress_say("%s: reading", path);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code < 0)
        code = cli_complain(CTSC_BAD_FILE,
                            "%s: the library that reads it failed (%s): the file is damaged", path,
                            strsignal(WTERMSIG(status)));
    else if (!code && !apart_take(f, path, l))
        code = cli_complain(CTSC_BAD_FILE, "%s: it could not be read", path);
    close(f);
    return code;
}
